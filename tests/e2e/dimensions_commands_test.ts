// The ready benchmark of the five dimensions as users run it: the suite, the cases beside it, and one report.

import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import type { Report } from "../../lib/reports/report.ts";
import { deno, folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

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
  const { dimensions: [metrics, ...others], seed }: Report = JSON.parse(
    Deno.readTextFileSync(json),
  );
  assertEquals([others, seed], [[], 1]);
  const { dimensions, overall, missing, simulated } = metrics!;
  assertEquals([missing, simulated], [[], true]);
  // Trials of 60 graphs and of 15 cases, of which 20 and 5 take one call.
  assertEquals(dimensions.slice(0, 4).map(({ mean, count }) => [mean, count]), [
    ...[[1, 75], [1, 75], [1, 75], [1, 50]],
  ]);
  // The planner tries again twice; flaky functions outlast that now and then.
  const recovery = dimensions[4]!;
  assert(recovery.mean! > 0.9 && recovery.mean! < 1, `${recovery.mean}`);
  // A case fails in three ways in the same trial of it.
  assert(recovery.units > 15 && recovery.units <= 60 + 15, `${recovery.units} graphs and cases`);
  assert(recovery.count >= 3 * 15 + recovery.units - 15, `${recovery.count} faults`);
  assertAlmostEquals(overall.mean!, (4 + recovery.mean!) / 5, 1e-12);
  assert(overall.interval!.lower > 0.9 && overall.interval!.lower < overall.mean!);
});
