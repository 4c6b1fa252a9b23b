// `toolgate init` as users run it: in a folder of their own outside of the clone, whose tasks and CI file are
// then carried out.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { command, deno, folder, ROOT } from "../support/child.ts";
import { copyProject, runScript, writeNpx } from "../support/ci.ts";
import { toolgate } from "../support/command_line.ts";
import { configOf, contents, write } from "../support/project_files.ts";

const FILES = [
  ".github/workflows/toolgate.yml",
  ".gitignore",
  "deno.json",
  "tool_tests/benchmark.ts",
  "tool_tests/weather_test.ts",
];

async function git(cwd: string, ...line: string[]): Promise<string> {
  const own = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
  const { code, stdout, stderr } = await command("git", [...own, ...line], { cwd }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("toolgate init sets up an empty folder whose CI file is green in a clean checkout", async (context) => {
  await using place = await folder();
  await writeNpx(place);
  // A clone that CI can reach, and a project beside it.
  const clone = place.file("home/toolgate");
  copyProject(clone);
  /** Runs the command of a copy of toolgate. */
  const init = async (
    copy: string,
    read: string,
    write: string,
    cwd: string,
    ...line: string[]
  ) => {
    const ended = await deno([
      ...["run", "--no-check", "--no-prompt", "--allow-env", `--allow-read=${read}`],
      ...[`--allow-write=${write}`, `${copy}/lib/cli/main.ts`, "init", ...line],
    ], { cwd, env: { DENO_DIR: place.file("cache") } });
    assertEquals([ended.code, ended.stderr], [0, ""], ended.all);
    return ended.stdout;
  };

  await context.step("names each variable that CI needs", async () => {
    const variables = "CI gets toolgate by variables: TOOLGATE_REPOSITORY, its address, and " +
      "TOOLGATE_COMMIT, its commit,\nwhich the clone here does not tell.\n";
    const [seen, hidden] = [place.file("seen"), place.file("hidden")];
    assertStringIncludes(await init(clone, "/", seen, place.path, seen), variables);
    // An empty file is one without settings for Deno, too.
    write(place, { "hidden/deno.json": "" });
    const told = await init(clone, hidden, hidden, place.path, hidden);
    assertStringIncludes(told, variables);
    assertEquals(Object.keys(configOf(`${hidden}/deno.json`)), ["links", "imports", "tasks"]);
  });

  await git(clone, "init", "--quiet");
  await git(clone, "add", ".");
  await git(clone, "commit", "--quiet", "--message=toolgate");
  const commit = await git(clone, "rev-parse", "HEAD");
  await git(clone, "remote", "add", "origin", "git@example.com:someone/toolgate.git");
  const home = place.file("home/mine");
  Deno.mkdirSync(home);
  await git(home, "init", "--quiet");
  const made = await init("../toolgate", place.path, home, home);
  const files = (path: string) =>
    Object.keys(contents(path)).filter((name) => !name.startsWith(".git/"));
  assertEquals(files(home), FILES);
  for (const name of FILES) assertStringIncludes(made, `wrote  ${name}\n`);
  assertEquals(configOf(`${home}/deno.json`).links, ["../toolgate"]);
  const line = made.trimEnd().split("\n").find((line) => line.length > 80);
  assertEquals(line, undefined, "a line is too long for most terminals");

  await git(home, "add", ".");
  await git(home, "commit", "--quiet", "--message=mine");
  Deno.mkdirSync(place.file("ci"));
  await git(place.file("ci"), "clone", "--quiet", "../home/mine");
  const checkout = place.file("ci/mine");
  place.write("summary.md", "");
  // deno-lint-ignore no-explicit-any
  const { steps } = (parseYaml(Deno.readTextFileSync(`${checkout}/${FILES[0]}`)) as any)
    .jobs.toolgate;
  // deno-lint-ignore no-explicit-any
  const stepOf = (name: string) => steps.find((step: any) => step.name?.startsWith(name));
  const runStep = async (name: string, repository: string) => {
    const step = stepOf(name);
    const values: Record<string, string> = {
      "vars.TOOLGATE_REPOSITORY || 'https://example.com/someone/toolgate.git'": repository,
      "secrets.OPENAI_API_KEY": "",
    };
    const variables = Object.fromEntries(
      Object.entries<string>(step.env ?? {}).map(([name, text]) => [
        name,
        text.replace(/^\$\{\{ (.*) \}\}$/, (_, expression) => {
          assert(expression in values, `nobody knows what ${expression} is`);
          return values[expression]!;
        }),
      ]),
    );
    return await runScript(step.run, checkout, place, variables);
  };

  await context.step("says what is missing where no repository is known", async () => {
    const { code, output } = await runStep("Get toolgate", "");
    assertEquals(code, 1, output);
    assertMatch(output, /^::error::Cannot get toolgate as TOOLGATE_REPOSITORY .* must be set/);
  });
  await context.step("gets toolgate at the commit of the clone, also twice", async () => {
    for (const _ of [1, 2]) {
      const { code, output } = await runStep("Get toolgate", clone);
      assertEquals(code, 0, output);
    }
    assertEquals(await git(place.file("ci/toolgate"), "rev-parse", "HEAD"), commit);
  });
  await context.step("tests", async () => {
    const { code, output } = await runStep("Test", "");
    assertEquals(code, 0, output);
    assertStringIncludes(output, "asks for the weather ... ok");
  });
  await context.step("checks types, of which all but a wrong one are right", async () => {
    const wrong = place.write(
      "ci/mine/tool_tests/wrong_test.ts",
      "export const one: string = 1;\n",
    );
    const { code, output } = await runStep("Check types", "");
    Deno.removeSync(wrong);
    assertEquals(code, 1, output);
    assertEquals(output.match(/TS\d+/g), ["TS2322"], output);
  });
  await context.step("decides, in the summary of the job", async () => {
    const { code, output } = await runStep("Decide", "");
    assertEquals(code, 0, output);
    assertStringIncludes(output, "PASS: ");
    assertMatch(Deno.readTextFileSync(place.file("summary.md")), /tool calling[^]*pass/i);
  });
  await context.step("gets toolgate as by the lines of docs/ci.md", () => {
    const [, lines, last] = /```console\n(git init [^]*?\n)(npx .*)\n```/
      .exec(Deno.readTextFileSync(`${ROOT}/docs/ci.md`))!;
    const { run, env } = stepOf("Get toolgate");
    assertStringIncludes(run.replaceAll('"$TOOLGATE_FOLDER"', env.TOOLGATE_FOLDER), lines!);
    assertStringIncludes(stepOf("Test").run, last!);
  });
  await context.step("fits deno fmt and deno lint", async () => {
    for (const line of [["fmt", "--check"], ["lint"]]) {
      const { code, all } = await deno(line, { cwd: checkout });
      assertEquals(code, 0, all);
    }
  });
});

Deno.test("toolgate init adds to a project of npm what it lacks, and changes nothing else", async () => {
  await using place = await folder();
  const own = {
    "package.json": JSON.stringify({
      type: "commonjs",
      scripts: { test: "exit 1" },
      dependencies: { mine: "file:../mine" },
    }),
    "node_modules/mine/package.json": `{ "name": "mine" }`,
    "tsconfig.json": `{ "compilerOptions": { "lib": ["es2020"], "types": ["jest"] } }`,
    "deno.jsonc": `{
  // Ours.
  "imports": {
    "zod": "npm:zod@^3.25.0", // not yet 4
  },
  "tasks": { "test": "exit 1" }
}
`,
    ".gitignore": "node_modules\nresults",
    "tool_tests/mine_test.ts": "",
    "tool_tests/benchmark.ts": `import "@toolgate/toolgate";\nDeno.test("mine", () => {});\n`,
  };
  write(place, own);
  const made = await toolgate(["init", place.path]);
  assertEquals([made.code, made.stderr], [0, ""], made.all);
  const after = contents(place.path);
  const { "deno.jsonc": _, ".gitignore": ignored, ...rest } = own;
  for (const [name, text] of Object.entries(rest)) assertEquals(after[name], text, name);
  assertEquals(after[".gitignore"], `${ignored}\n/coverage/\n`);
  for (const part of ["// Ours.", '"zod": "npm:zod@^3.25.0",', "// not yet 4"]) {
    assertStringIncludes(after["deno.jsonc"]!, part);
  }
  const { imports, tasks, nodeModulesDir, compilerOptions } = configOf(place.file("deno.jsonc"));
  assertEquals([imports.zod, tasks.test], ["npm:zod@^3.25.0", "exit 1"]);
  assertEquals([nodeModulesDir, compilerOptions], ["none", undefined]);
  for (
    const line of [
      "added  to deno.jsonc:",
      "         tasks toolgate:test, edit, bench, toolgate",
      "left   import zod: it is another version; the test imports npm:zod@^4.6.7 itself",
      "left   tsconfig.json: toolgate is not written for it; there is no task check",
      "left   task test: it is another one; toolgate:test is that of toolgate",
      "left   tool_tests/benchmark.ts: it is there",
      "  deno task toolgate:test ",
    ]
  ) assertStringIncludes(made.stdout, line);
  const workflow = after[".github/workflows/toolgate.yml"]!;
  assertStringIncludes(workflow, "deno@2.9.6 task toolgate:test --allow-env=GITHUB_ACTIONS");
  assertEquals([workflow.includes("Check types"), tasks.check], [false, undefined]);

  // What it wrote runs at once, and leaves node_modules to npm.
  const ran = await deno(["task", "toolgate:test"], { cwd: place.path });
  assertEquals(ran.code, 0, ran.all);
  assertStringIncludes(ran.stdout, "asks for the weather ... ok");
  const modules = (name: string) => name.startsWith("node_modules/");
  assertEquals(Object.keys(contents(place.path)).filter(modules), [
    "node_modules/mine/package.json",
  ]);

  const before = contents(place.path);
  const again = await toolgate(["init", place.path]);
  assertEquals([again.code, again.stderr], [0, ""], again.all);
  assertEquals(/^(wrote|added)/m.test(again.stdout), false, again.all);
  assertEquals(contents(place.path), before);
});

Deno.test("the task bench of toolgate init is short, and tells how its run ended", async () => {
  await using place = await folder();
  const made = await toolgate(["init", place.path]);
  assertMatch(made.stdout, /\n {2}deno task edit /);
  const benchmark = Deno.readTextFileSync(place.file("tool_tests/benchmark.ts"));
  const bench = async (text: string) => {
    place.write("tool_tests/benchmark.ts", text);
    return await deno(["task", "--quiet", "bench"], { cwd: place.path });
  };
  const passed = await bench(benchmark);
  assertEquals([passed.code, passed.stderr], [0, ""], passed.all);
  assertStringIncludes(passed.stdout, "PASS: ");
  assert(passed.stdout.split("\n").length <= 40, passed.all);
  assertStringIncludes(Deno.readTextFileSync(place.file("results/bench.html")), "PASS");
  const failed = await bench(
    benchmark.replace("sim:planner", "sim:noisy?quit=0.9").replace("graphs: 26", "graphs: 4"),
  );
  assertEquals(failed.code, 1, failed.all);
  assertStringIncludes(failed.stdout, "FAIL: ");
  assertEquals(/ \.\.\. (ok|ignored)/.test(failed.stdout), false, failed.all);
  const broken = await bench(`${benchmark}(`);
  assertEquals(broken.code, 1, broken.all);
  assertEquals(/PASS|FAIL: /.test(broken.all), false, broken.all);
});
