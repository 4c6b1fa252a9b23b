import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { estimateMean, jointMean } from "../../../lib/statistics/clustered_mean.ts";
import {
  DIMENSIONS,
  type DimensionScores,
  measureDimensions,
} from "../../../lib/reports/metrics/_dimensions.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { FAULTS } from "../../../lib/tools/fault.ts";
import { RECOVERY_ENDS } from "../../../lib/calls/recovery.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import fc from "../../support/fast_check.ts";
import { variantName } from "../../../lib/gate/variant.ts";
import { faulted, plain, record } from "../../support/records.ts";

const unit = (sum: number, count: number) => ({ sum, count });

Deno.test("measureDimensions() takes the mean of each dimension over graphs, and of all of them (Pipeline, Evaluation Framework)", () => {
  const all = { tool_selection: 1, argument_correctness: 0.5, multi_step_planning: 1 };
  const [metrics, ...others] = measureDimensions([
    plain({ ...all, result_interpretation: 1 }, { seed: 1 }),
    plain({ ...all, result_interpretation: 0 }, { seed: 1, repetition: 2 }),
    plain({ ...all, argument_correctness: 1, multi_step_planning: 0 }, { seed: 2 }),
    faulted(["recovered", "gave_up"], { seed: 1 }),
    faulted(["recovered"], { seed: 2 }),
    faulted(["recovered"], { seed: 3 }),
  ]);
  assertEquals(others, []);
  const { subject, simulated, dimensions, overall, missing } = metrics!;
  assertEquals(variantName(subject), "m");
  assertEquals([simulated, missing], [false, []]);
  const parts = [
    [unit(2, 2), unit(1, 1), unit(0, 0)],
    [unit(1, 2), unit(1, 1), unit(0, 0)],
    [unit(1, 2), unit(0, 0), unit(0, 0)],
    [unit(2, 2), unit(0, 1), unit(0, 0)],
    [unit(1, 2), unit(1, 1), unit(1, 1)],
  ];
  assertEquals(
    dimensions,
    DIMENSIONS.map((dimension, place) => ({ dimension, ...estimateMean(parts[place]!) })),
  );
  assertEquals(dimensions.map(({ mean }) => mean), [1, 2 / 3, 0.5, 2 / 3, 0.75]);
  assertEquals(dimensions.map(({ count, units }) => [count, units]), [
    ...[[3, 2], [3, 2], [2, 1], [3, 2], [4, 3]],
  ]);
  assertEquals(overall, jointMean(parts));
  assertAlmostEquals(overall.mean!, (1 + 2 / 3 + 0.5 + 2 / 3 + 0.75) / 5, 1e-12);
  assertEquals(overall.interval, null, "one of them rests on a single graph");
});

Deno.test("measureDimensions() has the article's tool selection and argument correctness in a mean of their own (Pipeline, Benchmarking Tool Use)", () => {
  const one = { tool_selection: 6 / 7, argument_correctness: 0.5 };
  const two = { tool_selection: 1, argument_correctness: 1 };
  const [metrics] = measureDimensions([
    plain({ ...one, exact_selection: 0, first_arguments: 1, multi_step_planning: 1 }, { seed: 1 }),
    plain({ ...two, exact_selection: 1, first_arguments: 1, multi_step_planning: 0 }, { seed: 2 }),
    faulted(["recovered", "gave_up"], { seed: 3 }),
  ]);
  const means = (scores: DimensionScores) => scores.dimensions.map(({ mean }) => mean);
  const { article } = metrics!;
  assertEquals(means(article), [0.5, 1, null, 0.5, 0.5]);
  assertEquals(article.overall.mean, (0.5 + 1 + 0.5 + 0.5) / 4);
  assertEquals(article.missing, ["result_interpretation"]);
  assertEquals(article.dimensions[0]!.interval, wilson(1, 2));
  assertEquals(means(metrics!), [(6 / 7 + 1) / 2, 0.75, null, 0.5, 0.5]);
  assertAlmostEquals(metrics!.overall.mean!, ((6 / 7 + 1) / 2 + 0.75 + 0.5 + 0.5) / 4, 1e-12);
});

Deno.test("measureDimensions() says what was not measured, and takes the mean of the others", () => {
  const [metrics] = measureDimensions([
    plain({ tool_selection: 1 }, { seed: 1 }),
    plain({ tool_selection: 0, argument_correctness: 1 }, { seed: 2 }),
  ]);
  assertEquals(metrics!.overall.mean, 0.75);
  assertEquals(metrics!.missing, [
    "result_interpretation",
    "multi_step_planning",
    "error_recovery",
  ]);
  const { mean, interval, count } = metrics!.dimensions[4]!;
  assertEquals([mean, interval, count], [null, null, 0]);
});

Deno.test("measureDimensions() takes giving up for right where permission is denied, and slow for nothing", () => {
  const recoveryOf = (...trials: TrialSummary[]) =>
    measureDimensions(trials)[0]?.dimensions.at(-1)?.mean;
  assertEquals(recoveryOf(faulted(["gave_up"], {}, "permission_denied")), 1);
  assertEquals(recoveryOf(faulted(["recovered"], {}, "permission_denied")), 0);
  assertEquals(recoveryOf(faulted(["gave_up"], {}, "not_found")), 0);
  assertEquals(recoveryOf(faulted(["recovered"], {}, "slow")), undefined);
  assertEquals(
    recoveryOf(faulted(["recovered"], {}, "slow"), faulted(["repeated"], { seed: 2 })),
    0,
  );
});

Deno.test("measureDimensions() counts faults alone, and not what else is perturbed", () => {
  const ids = ["timeout:3", "timeout+flaky:0.5", "RD+timeout", "timeout+rename", "RD"];
  const counts = ids.map((perturbation) => {
    const [metrics] = measureDimensions([faulted(["recovered"], { perturbation })]);
    return metrics?.dimensions.at(-1)?.count ?? 0;
  });
  assertEquals(counts, [1, 1, 0, 0, 0]);
});

Deno.test("measureDimensions() leaves out trials that do not count", () => {
  assertEquals(
    measureDimensions([
      plain({ tool_selection: 1 }, { outcome: "invalid" }),
      faulted(["recovered"], { changed: false }),
      record(),
    ]),
    [],
  );
});

Deno.test("measureDimensions() keeps models and strategies apart, and faults of one with its other trials", () => {
  const all = measureDimensions([
    plain({ tool_selection: 1 }, { model: "a" }),
    plain({ tool_selection: 0 }, { model: "sim:b", simulated: true }),
    plain({ tool_selection: 0 }, { model: "a", strategy: "restate" }),
    faulted(["gave_up"], { model: "a" }),
  ]);
  assertEquals(
    all.map(({ subject, simulated, dimensions }) => [
      ...[subject.model, subject.strategy, simulated],
      ...[dimensions[0]!.mean, dimensions[4]!.mean],
    ]),
    [
      ["a", "plain", false, 1, 0],
      ["sim:b", "plain", true, 0, null],
      ["a", "restate", false, 0, null],
    ],
  );
});

Deno.test("measureDimensions() knows no order of trials, and stays from 0 to 1", () => {
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
    const [metrics] = measureDimensions(trials);
    const [turned] = measureDimensions(trials.toReversed());
    assertEquals(turned === undefined, metrics === undefined);
    if (metrics === undefined) return;
    const scores = [...metrics.dimensions, metrics.overall];
    for (const [place, { mean, interval }] of scores.entries()) {
      const other = [...turned!.dimensions, turned!.overall][place]!;
      assertEquals(other.mean === null, mean === null);
      assertEquals(other.interval === null, interval === null);
      if (mean === null) continue;
      assertAlmostEquals(other.mean!, mean, 1e-12);
      if (interval === null) continue;
      assertAlmostEquals(other.interval!.lower, interval.lower, 1e-6);
      assertAlmostEquals(other.interval!.upper, interval.upper, 1e-6);
      assert(0 <= interval.lower && interval.lower <= mean + 1e-12);
      assert(mean - 1e-12 <= interval.upper && interval.upper <= 1);
    }
    const known = metrics.dimensions.flatMap(({ mean }) => mean ?? []);
    assertEquals(metrics.missing.length, DIMENSIONS.length - known.length);
    const sum = known.reduce((total, mean) => total + mean, 0);
    assertAlmostEquals(metrics.overall.mean!, sum / known.length, 1e-12);
  }));
});
