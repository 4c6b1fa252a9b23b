import { assertEquals } from "@std/assert";
import type { ExpressionKind } from "../../../lib/calls/expressions.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import type { ProbeId } from "../../../lib/tasks/task_kind.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { recordsOf, tablesOf, textsOf } from "../../support/reports.ts";
import { record, type TrialTraits } from "../../support/records.ts";

function asked(probe: ProbeId, seed: number, traits: TrialTraits = {}): TrialSummary {
  return summarize(record({ task: { case: probe, seed }, ...traits }));
}

Deno.test("probes have shares of valid trials of each kind, simulated models called so", () => {
  const simulated = { model: "sim:a", simulated: true } as const;
  const trials = [
    asked("oracle", 1, { behaviours: ["silent"], ...simulated }),
    asked("oracle", 2, { outcome: "wrong_answer", behaviours: ["aversion"], ...simulated }),
    asked("oracle", 3, { outcome: "invalid", behaviours: ["silent"], ...simulated }),
    asked("needless_call", 1, { behaviours: ["needless_call"], grounded: false }),
    record(),
  ];
  assertEquals(textsOf(tablesOf("probes", trials, {}, "terminal")[0]), [
    [
      ...["model", "probe", "trials", "solved", "aversion", "needless_call", "ignored_result"],
      ...["silent", "forced_loop", "ungrounded"],
    ],
    [
      ...[
        "sim:a (simulated)",
        "oracle",
        "3",
        "50.0% of 2",
        "50.0% of 2",
        "-",
        "0.0% of 2",
      ],
      ...["50.0% of 2", "0.0% of 2", "0.0% of 2"],
    ],
    [
      ...["m", "needless_call", "1", "100.0% of 1", "0.0% of 1", "100.0% of 1"],
      ...["0.0% of 1", "0.0% of 1", "0.0% of 1", "100.0% of 1"],
    ],
  ]);
  const [{ aversion_lower: lower, aversion_upper: upper, aversion_of }] = recordsOf(
    "probes",
    trials,
  ) as [
    Record<string, number>,
  ];
  assertEquals([{ lower, upper }, aversion_of], [wilson(1, 2), 2]);
  assertEquals(recordsOf("probes", [record()]), []);
});

Deno.test("probes have clustered intervals where questions were repeated", () => {
  const [found] = recordsOf(
    "probes",
    [[true, true], [true, false], [false, false]].flatMap((answers, seed) =>
      answers.map((isAverse, place) =>
        asked("oracle", seed, {
          repetition: place + 1,
          behaviours: isAverse ? ["aversion"] : [],
        })
      )
    ),
  );
  const { aversion_lower: lower, aversion_upper: upper } = found!;
  assertEquals({ lower, upper }, clusteredInterval([[1, 1], [1, 0], [0, 0]]));
});

/** 40 trials of a probe, of which so many answer without asking, and others ignore the decision. */
function arm(probe: "oracle" | "oracle_conflict", averse: number, ignored: number) {
  return Array.from({ length: 40 }, (_, seed) =>
    asked(probe, seed, {
      behaviours: seed < averse ? ["aversion"] : seed < averse + ignored ? ["ignored_result"] : [],
    }));
}

Deno.test("the oracle stands beside the oracle against the usual advice (Indirection, Alignment-based resistance)", () => {
  const trials = [...arm("oracle", 3, 0), ...arm("oracle_conflict", 15, 4)];
  // Newcombe's interval from the two Wilson intervals, worked out apart.
  const wilsonOf = (count: number) => {
    const [z2, n, p] = [1.959963984540054 ** 2, 40, count / 40];
    const half = Math.sqrt(z2) * Math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    const middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    return [Math.max(0, middle - half), middle + half, p] as const;
  };
  const between = (one: number, other: number) => {
    const [[l1, u1, p1], [l2, u2, p2]] = [wilsonOf(one), wilsonOf(other)];
    return [p1 - p2 - Math.hypot(p1 - l1, u2 - p2), p1 - p2 + Math.hypot(u1 - p1, p2 - l2)]
      .map((bound) => `${bound < 0 ? "-" : "+"}${Math.abs(100 * bound).toFixed(1)}`).join(" to ");
  };
  assertEquals(textsOf(tablesOf("conflict", trials, {}, "terminal")[0]), [
    ["model", "behaviour", "oracle", "conflict", "difference", "95% interval"],
    ["m", "aversion", "7.5% of 40", "37.5% of 40", "+30.0", between(15, 3)],
    ["m", "ignored_result", "0.0% of 40", "10.0% of 40", "+10.0", between(4, 0)],
  ]);
  const repeated = [...trials, asked("oracle", 0, { repetition: 2 })];
  assertEquals(recordsOf("conflict", repeated)[0]!["difference_lower"], null);
  assertEquals(recordsOf("conflict", arm("oracle", 3, 0)), [], "there is nothing to compare");
});

Deno.test("behaviours stand beside those of plain on the same probes (Indirection, Ignoring function results)", () => {
  const instructed = arm("oracle", 2, 0).map((trial) => ({ ...trial, strategy: "instruct" }));
  const [head, ...rows] = textsOf(
    tablesOf("remedies", [...arm("oracle", 6, 4), ...instructed], {}, "terminal")[0]!,
  );
  assertEquals(
    head!.join(),
    "model,behaviour,plain,with it,difference,95% interval,gained,lost,McNemar p",
  );
  assertEquals(rows.map((row) => row.toSpliced(5, 1)), [
    ["m + instruct", "aversion", "15.0%", "5.0%", "-10.0", "0", "4", "0.1250"],
    ["m + instruct", "ignored_result", "10.0%", "0.0%", "-10.0", "0", "4", "0.1250"],
  ]);
  assertEquals(recordsOf("remedies", arm("oracle", 6, 4)), []);
});

Deno.test("expressions are counted by how long sums were written (Indirection, Computational overconfidence)", () => {
  const written = (kinds: readonly ExpressionKind[], seed: number): TrialSummary => ({
    ...asked("mental_arithmetic", seed),
    expressions: kinds,
  });
  const trials = [
    written(["invalid", "closed_form"], 1),
    written(["brute_force"], 2),
    written(["other", "other", "brute_force", "closed_form", "closed_form"], 3),
    asked("mental_arithmetic", 4),
  ];
  assertEquals(textsOf(tablesOf("expressions", trials)[0]!), [
    ["model", "calls", "invalid", "brute force", "closed form", "other"],
    ["m", "8", "12.5%", "25.0%", "37.5%", "25.0%"],
  ]);
  assertEquals(recordsOf("expressions", [asked("oracle", 1)]), []);
});
