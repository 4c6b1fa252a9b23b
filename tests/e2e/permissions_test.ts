// The table of docs/ci.md: every row is run with just what it says, and with less; and what lib/ does where Deno was
// not given a permission. Whatever needs permissions for paths of its own shares a process with others, as it can
// make no use of theirs.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { MARK } from "../../lib/base/secrets.ts";
import { addRelease, readHistory } from "../../lib/runs/history/history.ts";
import { copy } from "../support/ci.ts";
import { countingServer, deno, type Folder, folder, ROOT } from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { LINKED } from "../support/project_files.ts";
import { recordFile, writeRecords } from "../support/history.ts";

const PAGE = Deno.readTextFileSync(`${ROOT}/docs/ci.md`);

interface Row {
  readonly what: string;
  readonly net: string;
  readonly read: string;
  readonly write: string;
}

const ROWS: readonly Row[] = [
  .../^\| what +\| `--allow-net`.*\n\|[ -|]*\n((?:\|.*\n)+)/m.exec(PAGE)![1]!.matchAll(
    /^\| `(.+?)` *\| (.*?) *\| (.*?) *\| (.*?) *\|$/gm,
  ),
].map(([, what, net, read, write]) => ({ what: what!, net: net!, read: read!, write: write! }));

/** The rows of the command line that come to an end; the others are shown by cli_test.ts and live_test.ts. */
const COMMANDS = ROWS.filter(({ what }) => !/^(deno test|simulate$|view )/.test(what));

/** What the words of the table stand for here. */
const suiteAt = (url: string, graphs = 1) =>
  JSON.stringify({
    ...{ name: "s", seed: 1, graphs, models: [{ model: "m", baseURL: url }] },
    tasks: [{ core: 2, depth: 1 }],
    gate: { successRate: 0.5, margin: 0.4 },
  });

/** The folder with everything that rows read, each in a folder of its own, so that each is allowed by itself. */
async function prepare(place: Folder, url: string): Promise<string> {
  const whole = place.file("whole");
  for (const name of ["journals", "suites", "files", "f", "page", "b", "l", "mine"]) {
    Deno.mkdirSync(`${whole}/${name}`, { recursive: true });
  }
  Deno.writeTextFileSync(`${whole}/mine/deno.json`, LINKED);
  const recorded = place.write("recorded.jsonc", suiteAt(url));
  for (
    const { code, all } of await toolgates([
      ["run", place.write("j.jsonc", suiteAt(url, 20)), "--out", `${whole}/journals/f.jsonl`],
      ["run", recorded, "--record", `${whole}/r`],
    ])
  ) assertEquals(code, 0, all);
  writeRecords(`${whole}/history`, [{ date: "2026-06-01" }]);
  const release = recordFile({ date: "2026-06-01", graphs: 200 });
  const watched = { path: `${whole}/watched`, shown: "watched" };
  writeRecords(watched.path, [release, { date: "2026-06-02" }]);
  addRelease(watched, release, { name: "v1", anchor: false }, readHistory([watched]));
  Deno.copyFileSync(`${ROOT}/fixtures/documents/tool.json`, `${whole}/files/tool.json`);
  Deno.copyFileSync(`${ROOT}/fixtures/call_sets/outputs.jsonl`, `${whole}/files/outputs.jsonl`);
  return whole;
}

/** The line of a row in a folder. */
function lineOf(what: string, at: string): string[] {
  const suite = `${at}/suites/suite.jsonc`;
  const journal = `${at}/journals/f.jsonl`;
  const page = ["--html", `${at}/page/page.html`];
  const words: Record<string, string[]> = {
    "run SUITE": ["run", suite],
    "run SUITE --out F": ["run", suite, "--out", `${at}/f/f.jsonl`],
    "run SUITE --record D": ["run", suite, "--record", `${at}/d`],
    "run SUITE --replay D": ["run", suite, "--replay", `${at}/r`],
    "gate F": ["gate", journal],
    "check F": ["check", journal],
    "report F": ["report", journal],
    "report F --html PAGE": ["report", journal, ...page],
    "report F --csv DIR": ["report", journal, "--csv", `${at}/csv`],
    "accept F --out B": ["accept", journal, "--out", `${at}/b/b.json`],
    "accept F --to DIR": ["accept", journal, "--name", "v1", "--to", `${at}/releases`],
    "history add F --to DIR": ["history", "add", journal, "--to", `${at}/history`],
    "canary DIR": ["canary", `${at}/watched`, "--max-age", "99999"],
    "history show DIR": ["history", "show", `${at}/history`],
    "history show DIR --html PAGE": ["history", "show", `${at}/history`, ...page],
    "export F --format hermes --out L": [
      ...["export", journal, "--format", "hermes", "--out", `${at}/l/l.jsonl`],
    ],
    "selfcheck F": ["selfcheck", journal, "--gates", "100"],
    "plan SUITE": ["plan", suite],
    "generate": ["generate", "--core", "2", "--depth", "1"],
    "perturb FILE": ["perturb", `${at}/files/tool.json`, "--method", "RD"],
    "score stability FILE": ["score", "stability", `${at}/files/outputs.jsonl`],
    "init FOLDER": ["init", `${at}/mine`],
    "deno test FILE": [],
    "deno test FILE -- --out=F": ["--", `--out=${at}/f/f.jsonl`],
    "deno test FILE -- --report=PAGE": ["--", `--report=${at}/page/page.html`],
  };
  const line = words[what];
  assert(line !== undefined, `docs/ci.md has a row that nobody runs: ${what}`);
  return line;
}

/** The folders of commands. */
const DIRS: Readonly<Record<string, string>> = {
  ...{ history: "history", canary: "watched", accept: "releases", report: "csv" },
};

/** The flags of a row in a folder for paths, each by itself. */
function pathFlags({ what, read, write }: Row, at: string): string[] {
  const folders: Record<string, string> = {
    "SUITE": "suites/suite.jsonc",
    "F": "journals",
    "FILE": "files",
    "F's folder": "f",
    "PAGE's folder": "page",
    "B's folder": "b",
    "L's folder": "l",
    "FOLDER": "mine",
    "DIR": DIRS[what.split(" ")[0]!]!,
    "D": what.endsWith("--replay D") ? "r" : "d",
  };
  return [["read", read], ["write", write]].flatMap(([access, cell]) =>
    cell!.split(", ").filter((word) => word !== "").map((word) => {
      assert(folders[word] !== undefined, `${what}: ${word}`);
      return `--allow-${access}=${at}/${folders[word]}`;
    })
  );
}

/** Every file below a folder. */
function filesBelow(path: string): string[] {
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${path}/${name}`) : [`${path}/${name}`]
  ).sort();
}

/** How many files a row writes. */
function written({ what, write }: Row): number {
  const several: Record<string, number> = {
    "init FOLDER": 4,
    "report F --csv DIR": 12,
    // A recording, and the manifest.
    "run SUITE --record D": 2,
  };
  return several[what] ?? (write === "" ? 0 : 1);
}

const GIVEN = ["--no-prompt", "--no-check", "--config", `${ROOT}/deno.json`];

Deno.test("the table of permissions has its rows", () => {
  assertEquals([ROWS.length, COMMANDS.length], [27, 22]);
});

Deno.test("each row of a command runs with what it says, and says what else it lacks", async (context) => {
  await using place = await folder();
  await using server = countingServer();
  // No line may reach this one. What the table gives no network asks there, and so does what lacks it.
  await using other = countingServer();
  const whole = await prepare(place, other.url);
  const asked = other.requests;

  /** A row in a folder of its own; `missing` is the flag that it was not given. */
  interface Told {
    readonly row: Row;
    readonly missing: string | undefined;
    readonly at: string;
    readonly flags: readonly string[];
  }
  const all = COMMANDS.flatMap((row, number) => {
    const needs = pathFlags(row, "");
    const net = row.net === "" ? [] : ["--allow-net=127.0.0.1"];
    return [undefined, ...net, ...needs].map((missing, index): Told => {
      const at = place.file(`${number}_${index}`);
      const left = needs.filter((flag) => flag !== missing);
      return { row, missing, at, flags: left.map((flag) => flag.replace("=", `=${at}`)) };
    });
  });
  for (const { row, missing, at } of all) {
    copy(whole, at);
    const reached = row.net !== "" && !missing?.startsWith("--allow-net");
    Deno.writeTextFileSync(`${at}/suites/suite.jsonc`, suiteAt(reached ? server.url : other.url));
  }
  const before = new Set(filesBelow(place.path));
  const child = await deno([
    ...["run", ...GIVEN, `--allow-net=${new URL(server.url).host}`],
    ...all.flatMap(({ flags }) => flags),
    `${ROOT}/tests/support/permitted_lines.ts`,
    JSON.stringify(all.map(({ row, at }) => lineOf(row.what, at))),
  ]);
  assertEquals(child.code, 0, child.all);
  const ended: { code: number; told: string }[] = JSON.parse(child.stdout);
  for (const [index, { row, missing, at }] of all.entries()) {
    const { code, told } = ended[index]!;
    if (missing === undefined) {
      await context.step(row.what, () => {
        assertEquals(code, 0, told);
        // Nothing is written but what was asked for.
        const files = filesBelow(at).filter((file) => !before.has(file));
        assertEquals(files.length, written(row), files.join());
      });
    } else {
      await context.step(`${row.what} without ${missing}`, () => {
        const [flag, path] = missing.split("=") as [string, string];
        assert(code !== 0, told);
        assertStringIncludes(told, flag);
        assertStringIncludes(told, path.startsWith("/") ? `${at}${path}` : path);
      });
    }
  }
  assertEquals(other.requests, asked, "a command went round its permissions");
});

Deno.test("each row of deno test runs with what it says", async (context) => {
  await using place = await folder();
  await using server = countingServer();
  await using other = countingServer();
  const benchmarkAt = (name: string, url: string) =>
    place.write(
      `${name}.ts`,
      `import { benchmark } from "${ROOT}/mod.ts";
       benchmark("${name}", {
         model: { model: "m", baseURL: "${url}" },
         tasks: { core: 2, depth: 1 },
         seed: 1,
         graphs: 1,
       });`,
    );
  const file = benchmarkAt("reached", server.url);
  const rows = ROWS.filter(({ what }) => what.startsWith("deno test"));
  assertEquals(rows.map(({ net }) => net), rows.map(() => "the models"));
  const run = (row: Row, at: string, flags: readonly string[], ...files: string[]) => {
    for (const name of ["f", "page"]) Deno.mkdirSync(`${at}/${name}`, { recursive: true });
    const given = [...GIVEN, `--allow-net=${new URL(server.url).host}`, ...flags];
    return deno(["test", ...given, file, ...files, ...lineOf(row.what, at)], { cwd: place.path });
  };
  for (const [number, row] of rows.entries()) {
    const at = place.file(`${number}`);
    const needs = pathFlags(row, at);
    // The run without files has no other permission to lack than that for another server.
    const files = needs.length === 0 ? [benchmarkAt("not_reached", other.url)] : [];
    await context.step(row.what, async () => {
      const { code, stdout, all } = await run(row, at, needs, ...files);
      assertEquals(code, files.length, all);
      assertMatch(stdout, /reached > .* \.\.\. ok/, all);
      if (files.length > 0) {
        assertMatch(stdout, /1 passed .*\| 1 failed/, all);
        assertStringIncludes(stdout, `--allow-net=${new URL(other.url).host}`);
        assertEquals(other.requests, 0);
      }
      assertEquals(filesBelow(at).length, written(row), filesBelow(at).join());
    });
  }
});

Deno.test("keepOnly() leaves a command nothing that it does not need", async () => {
  await using place = await folder();
  await using server = countingServer();
  const suite = place.write("suite.jsonc", suiteAt(server.url, 20));
  const journal = place.file("f.jsonl");
  const withAgent = (more: object) =>
    place.write(
      `agent${Object.keys(more).join()}.jsonc`,
      JSON.stringify({
        ...JSON.parse(suiteAt(server.url)),
        agent: { command: ["true"], ...more },
      }),
    );
  const generate = ["generate", "--core", "2", "--depth", "1"];
  const table: [left: string, line: string[]][] = [
    ["net,read,write,env", ["run", suite, "--out", journal]],
    ["read,env", generate],
    ["read,write,env", ["gate", journal]],
    ["read,env", ["report", journal]],
    ["read,write,env", ["report", journal, `--json=${place.file("r.json")}`]],
    ["read,env", ["selfcheck", journal, "--gates", "100"]],
    ["net,read,env", ["run", suite]],
    ["net,read,run,env", ["run", withAgent({})]],
    ["net,read,write,run,env", ["run", withAgent({ mcp: true })]],
  ];
  const names = ["net", "read", "write", "run", "ffi", "sys", "import", "env"] as const;
  for (const [left, line] of table) {
    const { code, revoked, all } = await toolgate(line);
    assertEquals(code, 0, all);
    const given: readonly string[] = revoked;
    assertEquals(names.filter((name) => !given.includes(name)).join(), left, all);
  }
  // Once a command is over, its process shows what is left to it, whatever was given.
  const spy = place.write(
    "spy.ts",
    `const exit = Deno.exit;
     Deno.exit = (code) => {
       const left = ${JSON.stringify(names)}.filter((name) =>
         Deno.permissions.querySync({ name } as Deno.PermissionDescriptor).state === "granted");
       console.error("left: " + left.join());
       return exit(code);
     };`,
  );
  const told = await deno([
    ...["run", "-A", "--no-check", "--preload", spy, `${ROOT}/lib/cli/main.ts`, ...generate],
  ]);
  assertEquals(told.code, 0, told.all);
  assertStringIncludes(told.stderr, "left: read,env\n", told.all);
});

/** Runs a program that imports a module of lib/base/, and prints what it gives as JSON. */
async function told(
  place: Folder,
  module: string,
  program: string,
  permissions: readonly string[],
  env = {},
  // deno-lint-ignore no-explicit-any
): Promise<any> {
  const url = JSON.stringify(`file://${ROOT}/lib/base/${module}`);
  const path = place.write(
    "program.ts",
    `import * as lib from ${url};\nconsole.log(JSON.stringify((${program})()));`,
  );
  const { code, stdout, all } = await deno(["run", ...GIVEN, ...permissions, path], {
    cwd: place.path,
    env,
  });
  assertEquals(code, 0, all);
  return JSON.parse(stdout);
}

Deno.test("writeOutput() does with whatever permission lets a file be written", async (context) => {
  await using place = await folder();
  // Two names of one file tell whether it was written to or another has taken its place.
  const cases: [permissions: string[], written: "in place" | "beside" | "not at all"][] = [
    [["--allow-write=FOLDER"], "in place"],
    [["--allow-write=FOLDER/r.html"], "in place"],
    [["--allow-read=FOLDER", "--allow-write=FOLDER/r.html"], "in place"],
    [["--allow-read=FOLDER/r.html", "--allow-write=FOLDER"], "in place"],
    [["--allow-read=FOLDER/r.html", "--allow-write=FOLDER/r.html"], "in place"],
    [["--allow-read=FOLDER", "--allow-write=FOLDER"], "beside"],
    [["--allow-read=FOLDER"], "not at all"],
  ];
  const flags = cases.flatMap(([permissions], number) => {
    const at = place.file(`${number}`);
    Deno.mkdirSync(at);
    Deno.writeTextFileSync(`${at}/r.html`, "old");
    Deno.linkSync(`${at}/r.html`, `${at}/twin`);
    return permissions.map((one) => one.replace("FOLDER", at));
  });
  const errors: string[] = await told(
    place,
    "output_file.ts",
    `() => [...Array(${cases.length}).keys()].map((number) => {
      try {
        return lib.writeOutput(number + "/r.html", "text", "the report to") ?? "";
      } catch (error) {
        return error.message;
      }
    })`,
    flags,
  );
  for (const [number, [permissions, written]] of cases.entries()) {
    await context.step(permissions.join(" "), () => {
      const read = (name: string) => Deno.readTextFileSync(place.file(`${number}/${name}`));
      assertMatch(
        errors[number]!,
        written === "not at all"
          ? /^Cannot write the report to 6\/r\.html: Deno was not given the permission/
          : /^$/,
      );
      assertEquals(
        [read("r.html"), read("twin")],
        [written === "not at all" ? "old" : "text", written === "in place" ? "text" : "old"],
      );
      assertEquals([...Deno.readDirSync(place.file(`${number}`))].length, 2);
    });
  }
});

Deno.test("resolvePath() tells names apart as far as it may without permission to read", async () => {
  await using place = await folder();
  place.write("a", "");
  const names = JSON.stringify(["a", "./a", "gone/../a", "b"]);
  const [a, ...others] = await told(
    place,
    "output_file.ts",
    `() => ${names}.map(lib.resolvePath)`,
    [],
  );
  assertEquals(others, [a, a, `${place.path}/b`]);
  assert(a !== others[2]);
});

Deno.test("hideSecrets() knows the environment's secrets where all of it may be read", async () => {
  await using place = await folder();
  const env = {
    SHOP_TOKEN: "token-of-the-environment",
    SERVER_KEY: "/a/path/to/the/key",
    DB_PASSWORD: "postgres",
    SHOP_NAME: "ordinary-long-value",
  };
  const rest = "/a/path/to/the/key postgres ordinary-long-value";
  const program = `() => lib.hideSecrets("token-of-the-environment ${rest}")`;
  const hidden = (permission: string) => told(place, "secrets.ts", program, [permission], env);
  assertEquals(await hidden("--allow-env"), `${MARK} ${rest}`);
  assertEquals(await hidden("--allow-env=OTHER"), `token-of-the-environment ${rest}`);
});
