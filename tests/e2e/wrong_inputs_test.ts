// Wrong inputs as users make them, in processes of a project of their own: what permissions leave out, and benchmarks
// that cannot be used. All else is checked in the process of the tests, see tests/testing/wrong_inputs_test.ts.

import {
  assert,
  assertEquals,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { deno, readLines } from "../support/child.ts";
import { toldWithout, WITHOUT_PERMISSIONS, wrongProject } from "../support/wrong_inputs.ts";

const project = await wrongProject();
Deno.test.afterAll(async () => await project[Symbol.asyncDispose]());

Deno.test("every permission that is missing is named in one message, for files and commands", async (context) => {
  const groups = Map.groupBy(
    WITHOUT_PERMISSIONS,
    ({ permissions, line }) => JSON.stringify([permissions, line]),
  );
  for (const inputs of groups.values()) {
    const told = await toldWithout(inputs[0]!.permissions!, inputs, project);
    for (const [place, { what, says, line, notes = 0 }] of inputs.entries()) {
      await context.step(`${line === undefined ? "" : "toolgate: "}${what}`, () => {
        const { message, frames, times, code, all } = told[place]!;
        assertMatch(message, says, all);
        assertEquals([code, times], [line === undefined ? 1 : 2, 1], all);
        assertLessOrEqual(message.split("\n").length, 3 + notes, all);
        assertEquals(frames.filter((frame) => frame.includes("/lib/")), [], all);
      });
    }
  }
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
