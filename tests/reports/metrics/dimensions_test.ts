import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { estimateMean, jointMean } from "../../../lib/statistics/clustered_mean.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { RECOVERY_ENDS } from "../../../lib/calls/recovery.ts";
import { FAULTS } from "../../../lib/tools/fault.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import fc from "../../support/fast_check.ts";
import { having, recordsOf, tablesOf, textsOf } from "../../support/reports.ts";
import { faulted, plain, record } from "../../support/records.ts";

/** The dimensions as the article defines them, and with finer scores of the first two. */
const OTHERS = ["result_interpretation", "multi_step_planning", "error_recovery"];
const ARTICLE = ["tool_selection", "argument_correctness", ...OTHERS, "overall"];
const FINER = ["selection_f1", "right_arguments", ...OTHERS, "overall_finer"];

/** The scores of a single model, with what is known of them. */
function scoresOf(trials: readonly TrialSummary[], dimensions: readonly string[]) {
  const records = new Map(recordsOf("dimensions", trials).map((one) => [one["dimension"], one]));
  return dimensions.map((dimension) => {
    const own = records.get(dimension);
    const [lower, upper] = [own?.["score_lower"] ?? null, own?.["score_upper"] ?? null];
    return {
      mean: own?.["score"] as number | null | undefined,
      interval: lower === null ? null : { lower, upper } as { lower: number; upper: number },
      count: own?.["score_of"],
      units: own?.["units"],
    };
  });
}

const meansOf = (trials: readonly TrialSummary[], dimensions: readonly string[]) =>
  scoresOf(trials, dimensions).map(({ mean }) => mean);

const unit = (sum: number, count: number) => ({ sum, count });

Deno.test("dimensions are means over graphs, and of all of them (Pipeline, Evaluation Framework)", () => {
  const all = { tool_selection: 1, argument_correctness: 0.5, multi_step_planning: 1 };
  const trials = [
    plain({ ...all, result_interpretation: 1 }, { seed: 1 }),
    plain({ ...all, result_interpretation: 0 }, { seed: 1, repetition: 2 }),
    plain({ ...all, argument_correctness: 1, multi_step_planning: 0 }, { seed: 2 }),
    faulted(["recovered", "gave_up"], { seed: 1 }),
    faulted(["recovered"], { seed: 2 }),
    faulted(["recovered"], { seed: 3 }),
  ];
  const parts = [
    [unit(2, 2), unit(1, 1), unit(0, 0)],
    [unit(1, 2), unit(1, 1), unit(0, 0)],
    [unit(1, 2), unit(0, 0), unit(0, 0)],
    [unit(2, 2), unit(0, 1), unit(0, 0)],
    [unit(1, 2), unit(1, 1), unit(1, 1)],
  ];
  const scores = scoresOf(trials, FINER);
  assertEquals(scores, [
    ...parts.map((own) => estimateMean(own)),
    { ...jointMean(parts), count: 5, units: null },
  ]);
  assertEquals(scores.slice(0, 5).map(({ mean }) => mean), [1, 2 / 3, 0.5, 2 / 3, 0.75]);
  assertAlmostEquals(scores[5]!.mean!, (1 + 2 / 3 + 0.5 + 2 / 3 + 0.75) / 5, 1e-12);
  assertEquals(scores[5]!.interval, null, "one of them rests on a single graph");
});

Deno.test("dimensions have the article's tool selection and argument correctness in a mean of their own (Pipeline, Benchmarking Tool Use)", () => {
  const one = { tool_selection: 6 / 7, argument_correctness: 0.5 };
  const two = { tool_selection: 1, argument_correctness: 1 };
  const trials = [
    plain({ ...one, exact_selection: 0, first_arguments: 1, multi_step_planning: 1 }, { seed: 1 }),
    plain({ ...two, exact_selection: 1, first_arguments: 1, multi_step_planning: 0 }, { seed: 2 }),
    faulted(["recovered", "gave_up"], { seed: 3 }),
  ];
  assertEquals(meansOf(trials, ARTICLE), [0.5, 1, null, 0.5, 0.5, (0.5 + 1 + 0.5 + 0.5) / 4]);
  assertEquals(scoresOf(trials, ARTICLE)[0]!.interval, wilson(1, 2));
  assertEquals(scoresOf(trials, ARTICLE)[2], { mean: null, interval: null, count: 0, units: 0 });
  assertEquals(scoresOf(trials, ARTICLE)[5]!.count, 4, "one was not measured");
  const finer = meansOf(trials, FINER);
  assertEquals(finer.slice(0, 5), [(6 / 7 + 1) / 2, 0.75, null, 0.5, 0.5]);
  assertAlmostEquals(finer[5]!, ((6 / 7 + 1) / 2 + 0.75 + 0.5 + 0.5) / 4, 1e-12);
});

Deno.test("giving up is right where permission is denied, and slow counts for nothing", () => {
  const recoveryOf = (...trials: TrialSummary[]) => meansOf(trials, ["error_recovery"])[0];
  assertEquals(recoveryOf(faulted(["gave_up"], {}, "permission_denied")), 1);
  assertEquals(recoveryOf(faulted(["recovered"], {}, "permission_denied")), 0);
  assertEquals(recoveryOf(faulted(["gave_up"], {}, "not_found")), 0);
  assertEquals(recoveryOf(faulted(["recovered"], {}, "slow")), undefined);
  assertEquals(
    recoveryOf(faulted(["recovered"], {}, "slow"), faulted(["repeated"], { seed: 2 })),
    0,
  );
});

Deno.test("error recovery is of faults alone, and not of what else is perturbed", () => {
  const ids = ["timeout:3", "timeout+flaky:0.5", "RD+timeout", "timeout+rename", "RD"];
  const counts = ids.map((perturbation) =>
    scoresOf([faulted(["recovered"], { perturbation })], ["error_recovery"])[0]!.count
  );
  assertEquals(counts, [1, 1, undefined, undefined, undefined]);
});

Deno.test("dimensions leave out trials that do not count", () => {
  const trials = [
    plain({ tool_selection: 1 }, { outcome: "invalid" }),
    faulted(["recovered"], { changed: false }),
    record(),
  ];
  assertEquals(recordsOf("dimensions", trials), []);
});

Deno.test("dimensions keep models and strategies apart, and faults of one with its other trials", () => {
  const trials = [
    plain({ tool_selection: 1 }, { model: "a" }),
    plain({ tool_selection: 0 }, { model: "sim:b", simulated: true }),
    plain({ tool_selection: 0 }, { model: "a", strategy: "restate" }),
    faulted(["gave_up"], { model: "a" }),
  ];
  const scores = (dimension: string) =>
    having(recordsOf("dimensions", trials), { dimension }).map((
      { name, simulated, score },
    ) => [name, simulated, score]);
  assertEquals(scores("selection_f1"), [
    ["a", false, 1],
    ["sim:b (simulated)", true, 0],
    ["a + restate", false, 0],
  ]);
  assertEquals(scores("error_recovery").map(([, , score]) => score), [0, null, null]);
});

Deno.test("dimensions know no order of trials, and stay from 0 to 1", () => {
  const share = fc.nat({ max: 8 }).map((eighths) => eighths / 8);
  const hit = fc.constantFrom(0, 1);
  const dimensions = fc.record({
    tool_selection: share,
    argument_correctness: share,
    result_interpretation: hit,
    multi_step_planning: hit,
  }, { requiredKeys: [] });
  const seed = fc.nat({ max: 4 });
  const trial = fc.oneof(
    fc.record({ dimensions, seed }).map((one) => plain(one.dimensions, { seed: one.seed })),
    fc.record({
      seed,
      ends: fc.array(fc.constantFrom(...RECOVERY_ENDS), { maxLength: 3 }),
      fault: fc.constantFrom(...FAULTS),
    }).map(({ seed, ends, fault }) => faulted(ends, { seed }, fault)),
  );
  fc.assert(fc.property(fc.array(trial, { maxLength: 12 }), (trials) => {
    const scores = scoresOf(trials, FINER);
    const turned = scoresOf(trials.toReversed(), FINER);
    for (const [place, { mean, interval }] of scores.entries()) {
      const other = turned[place]!;
      assertEquals(typeof other.mean, typeof mean);
      assertEquals(other.interval === null, interval === null);
      if (typeof mean !== "number") continue;
      assertAlmostEquals(other.mean!, mean, 1e-12);
      if (interval === null) continue;
      assertAlmostEquals(other.interval!.lower, interval.lower, 1e-6);
      assertAlmostEquals(other.interval!.upper, interval.upper, 1e-6);
      assert(0 <= interval.lower && interval.lower <= mean + 1e-12);
      assert(mean - 1e-12 <= interval.upper && interval.upper <= 1);
    }
    const known = scores.slice(0, -1).flatMap(({ mean }) => mean ?? []);
    const overall = scores.at(-1)!;
    if (overall.mean === undefined) return assertEquals(known, []);
    assertEquals(overall.count, known.length);
    const sum = known.reduce((total, mean) => total + mean, 0);
    assertAlmostEquals(overall.mean!, sum / known.length, 1e-12);
  }));
});

const MEASURED = [
  plain({
    exact_selection: 1,
    first_arguments: 1,
    tool_selection: 1,
    argument_correctness: 0.5,
  }, { seed: 1 }),
  plain({
    exact_selection: 0,
    first_arguments: 1,
    tool_selection: 0.5,
    argument_correctness: 1,
  }, { seed: 2 }),
  faulted(["recovered"], { seed: 1 }),
  faulted(["recovered", "recovered"], { seed: 2 }),
];

Deno.test("dimensions are shown where faults were met, and say what was not measured (Pipeline, Tool Use Benchmark Results)", () => {
  assertEquals(tablesOf("dimensions", MEASURED.slice(0, 2)), []);
  assertEquals(textsOf(tablesOf("dimensions", MEASURED)[0]), [
    ["model", "dimension", "score", "95% interval", "n"],
    ["m", "tool selection", "0.50", "0.09 to 0.91", "2"],
    ["m", "argument correctness", "1.00", "0.34 to 1.00", "2"],
    ["m", "result interpretation", "not measured", "-", "0"],
    ["m", "multi-step planning", "not measured", "-", "0"],
    ["m", "error recovery", "1.00", "0.34 to 1.00", "3"],
    ["m", "overall", "0.83", "0.50 to 0.97", "3"],
    ["m", "selection F1", "0.75", "0.01 to 0.999", "2"],
    ["m", "calls with right arguments", "0.75", "0.01 to 0.999", "2"],
    ["m", "overall with these", "0.83", "0.42 to 0.95", "3"],
  ]);
});
