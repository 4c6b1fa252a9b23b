// The architecture: an ordered list of rooms, one folder of lib/ each, whose imports go down only.

import { assert, assertEquals } from "@std/assert";

const LIB = new URL("../../lib/", import.meta.url);

/** The rooms, the lowest first: each imports only itself and rooms before it. */
const ROOMS = [
  "base",
  "statistics",
  "tools",
  "tasks",
  "chains",
  "calls",
  "models",
  "simulated",
  "perturbations",
  "trials",
  "gate",
  "runs",
  "reports",
  "toolkit",
  "integrations",
  "testing",
  "cli",
];

Deno.test("docs/architecture.md lists every room, on its floor", () => {
  const text = Deno.readTextFileSync(new URL("../../docs/architecture.md", import.meta.url));
  const rows = [...text.matchAll(/^\|\s+(\d+) \| `(\w+)\/`/gm)]
    .map(([, floor, room]) => [Number(floor), room]);
  assertEquals(rows.toReversed(), ROOMS.map((room, place) => [place + 1, room]));
});

/** Rooms that import nothing of lib/. */
const GROUND = ["base", "statistics"];

/** The imports that go up: they are loaded when a simulated model, or one of a provider, is first asked. */
const LAZY = [
  "models/connect imports simulated/server",
  "models/connect imports integrations/ai_sdk/provided",
];

/** Files that name `Deno`, one of them in a message; all others run in any runtime. */
const USES_DENO = ["base/runtime/deno", "cli/init", "testing/_interruption", "testing/_runners"];

interface Source {
  /** Path in `lib/`, without the extension. */
  readonly name: string;
  readonly room: string;
  readonly text: string;
  /** Import specifiers, as written. */
  readonly specifiers: readonly string[];
  /** The modules of `lib/` it imports, by name. */
  readonly modules: readonly string[];
}

/** Imports begin at the start of a line; those of examples follow a star. */
function specifiersIn(text: string): string[] {
  const statement = /^(?:import|export)\b(?:[^"';]*?\bfrom)?\s*["']([^"']+)["']/gm;
  const dynamic = /^(?!\s*(?:\*|\/\/)).*\bimport\(\s*["']([^"']+)["']/gm;
  return [statement, dynamic].flatMap((one) => [...text.matchAll(one)].map(([, path]) => path!));
}

function namesIn(folder: URL, prefix = ""): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? namesIn(new URL(`${name}/`, folder), `${prefix}${name}/`)
      : name.endsWith(".ts") && !name.endsWith(".d.ts")
      ? [prefix + name.slice(0, -".ts".length)]
      : []
  ).sort();
}

/** The modules of lib/ that deno.json gives a name, each runtime its own. */
const OWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  "@std/random": ["base/std/random"],
  "#runtime": ["base/runtime/deno", "base/runtime/node"],
};

const roomOf = (name: string) => name.split("/")[0]!;

function readSource(name: string): Source {
  const url = new URL(`${name}.ts`, LIB);
  const text = Deno.readTextFileSync(url);
  const specifiers = specifiersIn(text);
  const modules = specifiers.flatMap((specifier) => {
    const own = OWN_NAMES[specifier];
    if (own !== undefined) return own;
    // Texts of the report's page are no modules.
    if (!specifier.startsWith(".") || !specifier.endsWith(".ts")) return [];
    return [new URL(specifier, url).href.slice(LIB.href.length).replace(/\.ts$/, "")];
  });
  return { name, room: roomOf(name), text, specifiers, modules };
}

const SOURCES = namesIn(LIB).map(readSource);

/** The root entry, whose imports make files public as those of a room's entry do. */
const ENTRY = readSource("../mod");

/** The files of lib/ that are entries. */
const ENTRIES: ReadonlySet<string> = new Set(
  Object.values<string>(
    JSON.parse(Deno.readTextFileSync(new URL("../deno.json", LIB))).exports,
  ).filter((path) => path.startsWith("./lib/")).map((path) => path.slice("./lib/".length, -3)),
);

/** Imports between modules of lib/ that `isWrong` finds, one line each. */
function importsThat(isWrong: (from: Source, module: string) => boolean): string[] {
  return SOURCES.flatMap((source) =>
    source.modules.filter((module) => isWrong(source, module))
      .map((module) => `${source.name} imports ${module}`)
  );
}

Deno.test("specifiersIn() finds every kind of import, and none in comments", () => {
  const text = [
    'import one from "1";',
    "import {",
    "  type Two,",
    "  two,",
    '} from "2";',
    'import "3";',
    'export * from "4";',
    'export type { Five } from "5";',
    'const six = await import("6");',
    ' * import { no } from "7";',
    '// import { no } from "8";',
    'export const nine = "9";',
  ].join("\n");
  assertEquals(specifiersIn(text).sort(), ["1", "2", "3", "4", "5", "6"]);
});

Deno.test("every file of lib/ is in a room", () => {
  assertEquals(SOURCES.filter(({ room }) => !ROOMS.includes(room)).map(({ name }) => name), []);
  assert(SOURCES.some(({ modules }) => modules.length > 0), "no import was found at all");
});

Deno.test("imports between rooms go down", () => {
  const up = importsThat(({ room }, module) => ROOMS.indexOf(roomOf(module)) > ROOMS.indexOf(room));
  assertEquals([...new Set(up)], LAZY);
});

Deno.test("the rooms on the ground import nothing of lib/", () => {
  const wrong = importsThat(({ room }, module) => GROUND.includes(room) && roomOf(module) !== room);
  assertEquals(wrong, []);
});

Deno.test("a file is named with _ exactly where only its own room imports it", () => {
  // Entries are for users; the commands of cli/ are imported by its main.ts alone.
  const named = SOURCES.filter(({ name, room }) => room !== "cli" && !ENTRIES.has(name));
  const imported = new Set([
    ...ENTRY.modules,
    ...SOURCES.flatMap(({ name, room, modules }) =>
      modules.filter((module) => roomOf(module) !== room || name.endsWith("/mod"))
    ),
  ]);
  const isPrivate = (name: string) => name.split("/").at(-1)!.startsWith("_");
  const wrong = named.filter(({ name }) => isPrivate(name) === imported.has(name));
  assertEquals(wrong.map(({ name }) => name), []);
});

Deno.test("comments of lib/ name files that exist", () => {
  const paths = SOURCES.map(({ name }) => `/${name}.ts`);
  const wrong = SOURCES.flatMap(({ name, text }) =>
    text.split("\n").filter((line) => /^\s*(?:\/\/|\/?\*)/.test(line))
      .flatMap((line) => [...line.matchAll(/`(?!tests\/)([\w./-]+\.ts)`/g)])
      .filter(([, file]) => !paths.some((path) => path.endsWith(`/${file}`)))
      .map(([, file]) => `${name} names ${file}`)
  );
  assertEquals(wrong, []);
});

Deno.test("no modules import each other in a circle", () => {
  const byName = new Map(SOURCES.map((source) => [source.name, source]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (name: string, path: readonly string[]) => {
    if (path.includes(name)) {
      circles.push([...path.slice(path.indexOf(name)), name].join(" -> "));
      return;
    }
    if (done.has(name)) return;
    for (const module of byName.get(name)?.modules ?? []) visit(module, [...path, name]);
    done.add(name);
  };
  for (const name of byName.keys()) visit(name, []);
  assertEquals(circles, []);
});

Deno.test("lib/ never imports an entry: neither by its file nor itself by its published name", () => {
  const wrong = SOURCES.flatMap(({ name, specifiers, modules }) =>
    [
      ...modules.filter((module) =>
        // The command line reads tools as a file of the user's does.
        ENTRIES.has(module) && !(name === "cli/_tool_source" && /^integrations\//.test(module)) ||
        module.startsWith("../")
      ),
      ...specifiers.filter((specifier) => specifier.includes("toolgate")),
    ].map((imported) => `${name} imports ${imported}`)
  );
  assertEquals(wrong, []);
});

Deno.test("Deno is named in the files listed here alone", () => {
  const uses = SOURCES.filter(({ text }) => /^(?!\s*(?:\/?\*|\/\/)).*\bDeno\./m.test(text))
    .map(({ name }) => name);
  assert(uses.includes("base/runtime/deno"));
  assertEquals(uses.filter((name) => !USES_DENO.includes(name)), []);
});

/** What entries make public, as `file#name`: true for values, false for what is a type alone. */
function publicNames(): ReadonlyMap<string, boolean> {
  const found = new Map([["cli/main#main", true]]);
  const exported = /^export (type )?\{([^}]*)\} from "([^"]+)";$/gm;
  for (const { name, text } of [ENTRY, ...SOURCES.filter(({ name }) => name.endsWith("/mod"))]) {
    for (const [, type, names, path] of text.matchAll(exported)) {
      const { href } = new URL(path!, new URL(`${name}.ts`, LIB));
      for (const [, own, symbol] of names!.matchAll(/(type )?(\w+)/g)) {
        const key = `${href.slice(LIB.href.length, -".ts".length)}#${symbol}`;
        found.set(key, found.get(key) === true || (type ?? own) === undefined);
      }
    }
  }
  // Entries of integrations/ hold what they export.
  const declared = /^export (?:async )?(function|interface|type) (\w+)/gm;
  for (const { name, text } of SOURCES.filter(({ room }) => room === "integrations")) {
    if (!ENTRIES.has(name)) continue;
    for (const [, kind, symbol] of text.matchAll(declared)) {
      found.set(`${name}#${symbol}`, kind === "function");
    }
  }
  return found;
}

Deno.test("what is public has examples, each function and class, and nothing else has any", () => {
  const symbols = publicNames();
  const wrong = SOURCES.flatMap(({ name: file, text }) => {
    const tell = (index: number, what: string) =>
      `lib/${file}.ts:${text.slice(0, index).split("\n").length}: ${what}`;
    const declarations = [...text.matchAll(
      /^(?:export )?(?:async )?(?:abstract )?(function\*?|class|const|interface|type) (\w+)/gm,
    )].map(({ index, 1: kind, 2: name }) => ({ index, kind, name }));
    const shown = new Set<string>();
    const lone = [...text.matchAll(/^( *) \* @example/gm)].flatMap(({ index, 1: indent }) => {
      const isMember = indent !== "";
      const { name } = isMember
        ? declarations.findLast((declaration) => declaration.index < index)!
        : declarations.find((declaration) => declaration.index > index)!;
      if (!isMember) shown.add(name!);
      return symbols.has(`${file}#${name}`) ? [] : [tell(index, `${name} is not public`)];
    });
    const bare = declarations.flatMap(({ index, kind, name }) => {
      if (symbols.get(`${file}#${name}`) !== true || shown.has(name!)) return [];
      return /^(function|class)/.test(kind!) ? [tell(index, `${name} has no example`)] : [];
    });
    // Readers copy examples, so these import as users do.
    const odd = [...text.matchAll(/^ *\* .*\bfrom "\..*/gm)]
      .map(({ index, 0: line }) => tell(index, `an example has${line.replace(/^ *\*/, "")}`));
    return [...lone, ...bare, ...odd];
  });
  assertEquals(wrong, []);
});

/** The packages that files of integrations/ import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "integrations/ai_sdk/_conversation": ["zod"],
  "integrations/ai_sdk/_language_model": ["zod"],
  "integrations/mcp": ["zod"],
  "integrations/mcp/_client": ["@modelcontextprotocol/client", "node:url", "zod"],
  "integrations/mcp/_connection": ["@modelcontextprotocol/client"],
  "integrations/mcp/_content": ["zod"],
  "integrations/openapi": ["zod"],
  "integrations/openapi/_document": ["@std/yaml"],
  "integrations/openapi/_parser": ["@scalar/openapi-upgrader", "@scalar/openapi-validator"],
  "integrations/openapi/_swagger": ["@scalar/openapi-upgrader"],
};

Deno.test("integrations/ takes packages in the files listed here only: what it needs of a framework, the caller gives", () => {
  const taken = SOURCES.filter(({ room }) => room === "integrations").flatMap(
    ({ name, specifiers }) => {
      const packages = specifiers.filter((specifier) => !specifier.startsWith("."));
      return packages.length === 0 ? [] : [[name, [...new Set(packages)].sort()]];
    },
  );
  assertEquals(Object.fromEntries(taken), PACKAGES);
  const elsewhere = SOURCES.filter(({ name, specifiers }) =>
    !(name in PACKAGES) && specifiers.some((one) => one.startsWith("@modelcontextprotocol/client"))
  );
  assertEquals(elsewhere.map(({ name }) => name), []);
  const entries = SOURCES.filter(({ name, room }) => room === "integrations" && ENTRIES.has(name));
  assert(entries.length > 0, "no integration is an entry");
  const users = entries.flatMap(({ name }) =>
    loadedBy(`lib/${name}.ts`).some((path) => path.includes("scalar")) ? [name] : []
  );
  // The parser of OpenAPI takes a third of a second, and is loaded by the first document.
  assertEquals(users, []);
});

Deno.test("lib/ draws no random numbers but from a seed", () => {
  // The copy of @std/random keeps the standard library's defaults.
  const wrong = SOURCES.filter(({ name, text }) =>
    !name.startsWith("base/std/") && text.includes("Math.random")
  );
  assertEquals(wrong.map(({ name }) => name), []);
});

Deno.test("lib/ has no default exports", () => {
  const wrong = SOURCES.filter(({ text }) =>
    /^export\s+default\b|^export\s*\{[^}]*\bdefault\b/m.test(text)
  );
  assertEquals(wrong.map(({ name }) => name), []);
});

/** What no entry for tests and numbers may load before it is needed: each costs a start of `deno test`. */
const HEAVY = [
  /^(vega|vega-lite|@viz-js\/viz|ajv|ajv\/2020|ajv-formats|re2js|openai|diff|js-rouge|string-width)$/,
  /^(@std\/yaml|node:(?!(?:fs|path|process|url)$).*|@modelcontextprotocol\/.*)$/,
  /^lib\/(simulated|toolkit|cli)\//,
  /^lib\/reports\/(page|figures|tables)\//,
  /\.(css|js)$/,
];

/** The modules and packages that an entry loads at its start: neither types, nor what is deferred. */
function loadedBy(entry: string): string[] {
  const statement =
    /^(?:import|export)\s+(type\s+|defer\s+)?(?:(\{[^}]*\}|\*(?:\s+as\s+\w+)?|\w+)\s+from\s*)?["']([^"']+)["']/gm;
  const root = new URL("../../", import.meta.url);
  const found = new Set([entry]);
  for (const path of found) {
    if (!path.endsWith(".ts")) continue;
    const url = new URL(path, root);
    for (const [, mode, names, specifier] of Deno.readTextFileSync(url).matchAll(statement)) {
      const items = names?.replaceAll(/[{}]/g, "").split(",").map((item) => item.trim())
        .filter((item) => item !== "") ?? [];
      const areTypes = items.length > 0 && items.every((item) => item.startsWith("type "));
      if (mode !== undefined || areTypes) continue;
      const own = OWN_NAMES[specifier!]?.[0];
      if (own !== undefined) found.add(`lib/${own}.ts`);
      else if (!specifier!.startsWith(".")) found.add(specifier!);
      else found.add(new URL(specifier!, url).href.slice(root.href.length));
    }
  }
  return [...found];
}

for (const entry of ["mod.ts", "lib/gate/mod.ts"]) {
  Deno.test(`${entry} loads nothing heavy before it is needed`, () => {
    const loaded = loadedBy(entry);
    assert(loaded.length > 5, "no import was found at all");
    assertEquals(loaded.filter((path) => HEAVY.some((heavy) => heavy.test(path))), []);
  });
}

Deno.test("the gate loads neither tasks nor models, and nothing of Node", () => {
  const roomsOf = (entry: string) =>
    new Set(
      loadedBy(entry).filter((path) => path.startsWith("lib/")).map((path) => path.split("/")[1]),
    );
  for (const room of ["tasks", "simulated", "perturbations", "runs", "reports", "testing"]) {
    assert(!roomsOf("lib/gate/mod.ts").has(room), room);
  }
  assertEquals(loadedBy("lib/gate/mod.ts").filter((path) => path.startsWith("node:")), []);
});
