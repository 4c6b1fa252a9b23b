// The upgrade gate: what decideUpgrade() says of two models on the very same graphs.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertNotEquals,
} from "@std/assert";
import { normalQuantile } from "../../lib/statistics/distributions.ts";
import {
  type DifferenceEvidence,
  type Pair,
  pairSample,
  type Unit,
} from "../../lib/gate/evidence.ts";
import { decideUpgrade } from "../support/deciding.ts";
import { completePolicy, type UpgradePolicy } from "../../lib/gate/policy.ts";
import { stakesOf } from "../../lib/gate/sequential.ts";
import { bettingLowerBound } from "../../lib/statistics/betting_bound.ts";
import { mcNemar, tango, tangoStatistic } from "../../lib/statistics/proportions.ts";
import { asJson, pairsOf } from "../support/records.ts";

const POLICY: UpgradePolicy = { baseline: "old" };
const [SOLVED, FAILED, UNKNOWN] = [[1, 1], [0, 1], [0, 0]].map(([solved, valid]): Unit => ({
  solved: solved!,
  valid: valid!,
  trials: 1,
})) as [Unit, Unit, Unit];

function evidenceOf(pairs: readonly Pair[], policy = POLICY): DifferenceEvidence {
  const { evidence } = decideUpgrade(pairs, policy);
  assert(evidence?.of === "difference" && !("fresh" in evidence));
  return evidence;
}

/** Pairs in which what is unknown is filled in. */
function filled(pairs: readonly Pair[], candidate: Unit, baseline: Unit): Pair[] {
  const fill = (unit: Unit, other: Unit) => unit.valid === 0 ? other : unit;
  return pairs.map((pair) => ({
    candidate: fill(pair.candidate, candidate),
    baseline: fill(pair.baseline, baseline),
  }));
}

Deno.test("decideUpgrade() passes, and fails, from exactly the counts on that Tango's score allows", () => {
  const z = normalQuantile(0.95);
  const pairs = 40;
  const kinds = new Set<string>();
  for (const margin of [0.05, 0.15, 0]) {
    for (let gained = 0; gained <= pairs; gained++) {
      for (let lost = 0; gained + lost <= pairs; lost++) {
        const verdict = decideUpgrade(
          pairsOf({ gained, lost, both: pairs - gained - lost }),
          { ...POLICY, margin },
          { advise: false },
        );
        const passes = tangoStatistic(gained, lost, pairs, -margin) >= z;
        const fails = !passes && tango(gained, lost, pairs, 0.95).upper < 0;
        const expected = passes ? "pass" : fails ? "fail" : "undecided";
        assertEquals(verdict.kind, expected, `${gained} gained, ${lost} lost, margin ${margin}`);
        kinds.add(verdict.kind);
      }
    }
  }
  assertEquals(kinds.size, 3);
});

Deno.test("decideUpgrade() passes when the lower bound is exactly the margin, not a hair below it", () => {
  const pairs = pairsOf({ both: 150, gained: 20, lost: 25, neither: 55 });
  const { lower, upper } = tango(20, 25, 250, 0.95);
  assertEquals(decideUpgrade(pairs, { ...POLICY, margin: -lower }).kind, "pass");
  assertEquals(decideUpgrade(pairs, { ...POLICY, margin: -lower - 2e-16 }).kind, "undecided");
  assertGreater(upper, 0);
});

Deno.test("decideUpgrade() shows its evidence", () => {
  const verdict = decideUpgrade(pairsOf({ both: 60, gained: 8, lost: 4, neither: 28 }), {
    ...POLICY,
    margin: 0.1,
  });
  assertEquals(asJson(verdict), {
    kind: "pass",
    evidence: {
      of: "difference",
      graphs: 100,
      candidate: 0.68,
      baseline: 0.64,
      difference: 0.04,
      gained: 8,
      lost: 4,
      valid: 200,
      unknown: 0,
      mcNemar: mcNemar(8, 4),
      ...tango(8, 4, 100, 0.95),
      method: "tango",
    },
  });
});

Deno.test("decideUpgrade() takes what is unknown on either side for the worst case of each bound", () => {
  const policy = { ...POLICY, coverage: 0.5 };
  const known = pairsOf({ both: 60, gained: 10, lost: 12, neither: 18 });
  const spoiled: Pair[] = [
    ...known,
    ...new Array(4).fill({ candidate: UNKNOWN, baseline: SOLVED }),
    ...new Array(3).fill({ candidate: UNKNOWN, baseline: FAILED }),
    ...new Array(2).fill({ candidate: SOLVED, baseline: UNKNOWN }),
    ...new Array(5).fill({ candidate: FAILED, baseline: UNKNOWN }),
    ...new Array(1).fill({ candidate: UNKNOWN, baseline: UNKNOWN }),
  ];
  const seen = evidenceOf(spoiled, policy);
  assertEquals(seen.lower, evidenceOf(filled(spoiled, FAILED, SOLVED)).lower);
  assertEquals(seen.upper, evidenceOf(filled(spoiled, SOLVED, FAILED)).upper);
  // What is shown beside the bounds is of the graphs on which both have a valid trial.
  const whole = evidenceOf(known);
  assertEquals(
    [seen.candidate, seen.baseline, seen.difference, seen.gained, seen.lost, seen.mcNemar],
    [whole.candidate, whole.baseline, whole.difference, whole.gained, whole.lost, whole.mcNemar],
  );
  assertEquals([seen.graphs, seen.valid, seen.unknown], [115, 214, 16]);
});

Deno.test("decideUpgrade() does not pass on what infrastructure hid, of either model", () => {
  const hidden = (pair: Pair) => [...pairsOf({ both: 400 }), ...new Array(40).fill(pair)];
  const policy = { ...POLICY, coverage: 0.9 };
  assertEquals(decideUpgrade(pairsOf({ both: 440 }), policy).kind, "pass");
  assertEquals(
    decideUpgrade(hidden({ candidate: UNKNOWN, baseline: SOLVED }), policy).kind,
    "undecided",
  );
  assertEquals(
    decideUpgrade(hidden({ candidate: FAILED, baseline: UNKNOWN }), policy).kind,
    "undecided",
  );
  // Beside a failure of the baseline, no end of the candidate's trial would have been a loss.
  assertEquals(
    decideUpgrade(hidden({ candidate: UNKNOWN, baseline: FAILED }), policy).kind,
    "pass",
  );
});

Deno.test("decideUpgrade() is invalid without trials, and where no graph has a valid one of both", () => {
  assertEquals(decideUpgrade([], POLICY), { kind: "invalid", reason: "there are no trials" });
  const never = new Array(3).fill({ candidate: UNKNOWN, baseline: UNKNOWN });
  assertEquals(decideUpgrade(never, POLICY), {
    kind: "invalid",
    reason: "none of 6 planned trials is valid",
  });
  const apart = [
    ...new Array(50).fill({ candidate: SOLVED, baseline: UNKNOWN }),
    ...new Array(50).fill({ candidate: UNKNOWN, baseline: SOLVED }),
  ];
  assertEquals(decideUpgrade(apart, { ...POLICY, coverage: 0.3 }), {
    kind: "invalid",
    reason: "none of 100 graphs has a valid trial of both",
  });
});

Deno.test("decideUpgrade() counts the trials of both against the coverage", () => {
  const some = (unknown: number): Pair[] => [
    ...pairsOf({ both: 400 - unknown }),
    ...new Array(unknown).fill({ candidate: SOLVED, baseline: UNKNOWN }),
  ];
  assertNotEquals(decideUpgrade(some(40), POLICY).kind, "invalid");
  const verdict = decideUpgrade(some(41), POLICY);
  assert(verdict.kind === "invalid");
  assertEquals(
    verdict.reason,
    "759 of 800 planned trials are valid, fewer than the coverage of 95% requires",
  );
  assertEquals(verdict.evidence?.unknown, 41);
});

Deno.test("decideUpgrade() bets on graph means as soon as one graph was repeated, by either model", () => {
  const twice = { solved: 2, valid: 2, trials: 2 };
  for (
    const pair of [{ candidate: twice, baseline: SOLVED }, { candidate: SOLVED, baseline: twice }]
  ) {
    const seen = evidenceOf([...pairsOf({ both: 90, lost: 5 }), pair]);
    assertEquals([seen.method, seen.mcNemar], ["betting", null]);
  }
});

Deno.test("decideUpgrade() bets the stakes of its policy, on differences that are brought to 0..1", () => {
  const twice = (solved: number): Unit => ({ solved, valid: 2, trials: 2 });
  const pairs: Pair[] = Array.from({ length: 200 }, (_, place) => ({
    candidate: twice(place % 10 === 0 ? 1 : 2),
    baseline: twice(place % 15 === 0 ? 0 : 2),
  }));
  const shares = pairs.map(({ candidate, baseline }) => (candidate.solved - baseline.solved) / 2);
  const lambda = stakesOf(completePolicy(POLICY));
  const lowest = (values: readonly number[], stake: number) =>
    2 * bettingLowerBound(values.map((value) => (value + 1) / 2), 0.95, {
        stake: (mean) => Math.min(0.98, 2 * stake * mean),
      }) - 1;
  const { lower, upper } = evidenceOf(pairs);
  assertAlmostEquals(lower, lowest(shares, lambda.pass), 1e-12);
  assertAlmostEquals(upper, -lowest(shares.map((share) => -share), -lambda.fail), 1e-12);
});

Deno.test("decideUpgrade() does not take repetitions of a graph for independent graphs", () => {
  const often = (pairs: readonly Pair[], times: number): Pair[] =>
    pairs.map((pair) => {
      const repeat = ({ solved }: Unit) => ({
        solved: times * solved,
        valid: times,
        trials: times,
      });
      return { candidate: repeat(pair.candidate), baseline: repeat(pair.baseline) };
    });
  const pairs = pairsOf({ both: 150, gained: 15, lost: 15, neither: 20 });
  const [two, ten] = [2, 10].map((times) => evidenceOf(often(pairs, times)));
  assertAlmostEquals(ten!.lower, two!.lower, 1e-12);
  assertAlmostEquals(ten!.upper, two!.upper, 1e-12);
  assertEquals([two!.difference, two!.gained, two!.lost], [0, 15, 15]);
});

Deno.test("decideUpgrade() takes each graph for as much as any other, however often it was run", () => {
  const pairs: Pair[] = [
    { candidate: { solved: 1, valid: 4, trials: 4 }, baseline: SOLVED },
    { candidate: SOLVED, baseline: { solved: 1, valid: 2, trials: 2 } },
    { candidate: FAILED, baseline: FAILED },
  ];
  const seen = evidenceOf(pairs);
  assertAlmostEquals(seen.candidate, (0.25 + 1 + 0) / 3, 1e-12);
  assertAlmostEquals(seen.baseline, (1 + 0.5 + 0) / 3, 1e-12);
  assertAlmostEquals(seen.difference, -0.25 / 3, 1e-12);
  assertEquals([seen.gained, seen.lost], [1, 1]);
});

Deno.test("pairSample() is the difference of the shares, at its worst and at its best", () => {
  const some = (solved: number, valid: number, trials: number) => ({ solved, valid, trials });
  assertEquals(pairSample({ candidate: SOLVED, baseline: FAILED }), { worst: 1, best: 1 });
  assertEquals(pairSample({ candidate: some(1, 2, 4), baseline: some(2, 3, 4) }), {
    worst: 0.25 - 0.75,
    best: 0.75 - 0.5,
  });
  assertEquals(pairSample({ candidate: UNKNOWN, baseline: UNKNOWN }), { worst: -1, best: 1 });
});
