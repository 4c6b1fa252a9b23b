// The ready benchmark of the five dimensions as users run it: the suite, the cases beside it, and one report.

import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import type { MetricRecord } from "../support/reports.ts";

const SUITE = `${ROOT}/fixtures/suites/dimensions.jsonc`;

Deno.test("the five dimensions are measured over generated tasks and cases together (Pipeline, Evaluation Framework)", async () => {
  await using place = await folder();
  const [generated, cases] = [place.file("generated.jsonl"), place.file("cases/")];
  const run = await toolgate([
    ...["run", SUITE, "--model", "sim:planner", "--out", generated],
    ...["--perturbation", "none", "--perturbation", "flaky"],
  ]);
  assertEquals(run.code, 0, run.all);
  assertStringIncludes(run.stdout, "Five dimensions of tool use");
  const tests = await deno(
    [
      ...["test", "--no-check", "--no-prompt", "--allow-env", "--allow-read", "--allow-write"],
      ...["--allow-net=127.0.0.1", `${ROOT}/fixtures/benchmarks/dimensions.ts`],
      ...["--", `--out=${cases}`],
    ],
  );
  assertEquals(tests.code, 0, tests.all);
  const own = [...Deno.readDirSync(cases)].map(({ name }) => `${cases}${name}`).sort();
  assertEquals(own.length, 1);

  const refused = await toolgate(["report", generated, ...own]);
  assertEquals(refused.code, 2, refused.all);
  assertStringIncludes(refused.stderr, "their tasks must be the same");

  const json = place.file("report.json");
  const reported = await toolgate(
    ["report", generated, ...own, "--different-tasks", "--json", json],
  );
  assertEquals(reported.code, 0, reported.all);
  const { metrics: { dimensions }, seed } = JSON.parse(Deno.readTextFileSync(json));
  assertEquals([dimensions.length, seed], [9, 1], "one model");
  const scoreOf = (dimension: string) => {
    const own = dimensions.find((one: MetricRecord) => one["dimension"] === dimension);
    assertEquals(own.simulated, true);
    return own;
  };
  // Trials of 60 graphs and of 15 cases, of which 20 and 5 take one call.
  assertEquals(
    ["selection_f1", "right_arguments", "result_interpretation", "multi_step_planning"]
      .map(scoreOf).map(({ score, score_of }) => [score, score_of]),
    [[1, 75], [1, 75], [1, 75], [1, 50]],
  );
  // The planner tries again twice; flaky functions outlast that now and then.
  const recovery = scoreOf("error_recovery");
  assert(recovery.score > 0.9 && recovery.score < 1, `${recovery.score}`);
  // A case fails in three ways in the same trial of it.
  assert(recovery.units > 15 && recovery.units <= 60 + 15, `${recovery.units} graphs and cases`);
  assert(recovery.score_of >= 3 * 15 + recovery.units - 15, `${recovery.score_of} faults`);
  const overall = scoreOf("overall_finer");
  assertAlmostEquals(overall.score, (4 + recovery.score) / 5, 1e-12);
  assert(overall.score_lower > 0.9 && overall.score_lower < overall.score);
});
