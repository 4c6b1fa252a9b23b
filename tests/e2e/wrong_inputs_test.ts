// Wrong inputs as users make them, each in a process of its own project: what is said, in how many lines, with
// which exit code. `deno run -A tests/support/wrong_inputs.ts` prints them all with their seconds.

import {
  assert,
  assertEquals,
  assertGreaterOrEqual,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { deno, readLines } from "../support/child.ts";
import {
  contentOf,
  toldOf,
  WRONG_INPUTS,
  wrongProject,
  wrongServers,
} from "../support/wrong_inputs.ts";

const project = await wrongProject();
Deno.test.afterAll(async () => await project[Symbol.asyncDispose]());

Deno.test("every wrong input gets one message of at most three lines, and changes no file", async (context) => {
  await using servers = await wrongServers();
  const before = contentOf(project);
  const inputs = Object.entries(WRONG_INPUTS).flatMap(([kind, all]) =>
    all.map((input) => ({ ...input, kind }))
  );
  assertGreaterOrEqual(inputs.length, 80);
  const told = await toldOf(inputs, { project, ...servers });
  for (const [place, input] of inputs.entries()) {
    const { kind, what, says, line, notes = 0, code = line === undefined ? 1 : 2 } = input;
    await context.step(`${kind}: ${line === undefined ? "" : "toolgate: "}${what}`, () => {
      const { message, frames, times, code: ended, all } = told[place]!;
      assertMatch(message, says, all);
      assertEquals([ended, times], [code, 1], all);
      assertLessOrEqual(message.split("\n").length, 3 + notes, all);
      assertEquals(frames.filter((frame) => frame.includes("/lib/")), [], all);
      assert(!/\[object |TypeError: Cannot read/.test(message.replace(/^assert threw.*/, "")), all);
    });
  }
  // The first of two benchmarks with one journal has it.
  const { "both.jsonl": _, ...after } = contentOf(project);
  assertEquals(after, before);
});

Deno.test("a benchmark that cannot be used fails as one test of its own, and whatever --filter leaves out", async () => {
  const test = project.write(
    "refused_test.ts",
    `import { benchmark, grid } from "@toolgate/toolgate";

const tasks = grid({ core: 2, depth: 1 });
benchmark("refused", {
  ...{ model: "sim:planner", tasks, seed: 1 },
  gate: { successRate: 80 },
});
benchmark("fine", { model: "sim:planner", tasks, seed: 1, graphs: 1, journal: "fine.jsonl" });
`,
  );
  const run = (...flags: string[]) =>
    deno(["test", "--no-check", "--no-prompt", "--allow-all", ...flags, test], {
      cwd: project.path,
    });
  const { code, stdout, all } = await run("--junit-path=junit.xml");
  assertEquals(code, 1, all);
  assertMatch(stdout, /^refused => \.\/refused_test\.ts:4:1$/m, all);
  assert(!stdout.includes("uncaught"), all);
  const report = Deno.readTextFileSync(project.file("junit.xml"));
  assertMatch(report, /<testsuite name="\.\/refused_test\.ts" tests="2" .*failures="1">/);
  assertMatch(
    report,
    /<testcase name="refused" .*line="4" col="1">\s*<failure message="[^"]*must be at most 1: it is 80/,
  );
  assertEquals(readLines(project.file("fine.jsonl")).length, 2);
  Deno.removeSync(project.file("fine.jsonl"));
  const other = await run("--filter=fine");
  assertEquals(other.code, 1, other.all);
  assertStringIncludes(other.stdout, "at gate.successRate: must be at most 1: it is 80");
});
