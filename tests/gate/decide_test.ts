// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { type Verdict, withCeilings } from "../../lib/gate/decide.ts";
import { decide } from "../support/deciding.ts";
import type { Unit } from "../../lib/gate/evidence.ts";
import { completePolicy, type RatePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule, stakesOf } from "../../lib/gate/sequential.ts";
import { bettingLowerBound } from "../../lib/statistics/betting_bound.ts";
import { type Bounds, clopperPearson } from "../../lib/statistics/proportions.ts";
import { asJson, once } from "../support/records.ts";

/** Decides over units and, up to the number of planned trials, missing ones. */
function decideOf(units: readonly Unit[], planned: number, policy: RatePolicy): Verdict {
  const missing = Math.max(0, planned - trialsOf(units));
  return decide([...units, ...Array(missing).fill({ solved: 0, valid: 0, trials: 1 })], policy);
}

/** Decides over graphs that were run once and all planned. */
function gate(solved: number, trials: number, policy: RatePolicy): Verdict {
  return decideOf(once(solved, trials - solved), trials, policy);
}

/** `count` graphs of which `solved` of `valid` of `trials` trials were solved. */
function graphs(count: number, solved: number, valid: number, trials = valid): Unit[] {
  return new Array(count).fill({ solved, valid, trials });
}

function trialsOf(units: readonly Unit[]): number {
  return units.reduce((sum, { trials }) => sum + trials, 0);
}

/** The bounds of bets that put up the stakes of the policy, beside those for all questions. */
function betBounds(worst: readonly number[], best: readonly number[], policy: RatePolicy): Bounds {
  const lambda = stakesOf(completePolicy(policy));
  const lowest = (values: readonly number[], stake: number) =>
    bettingLowerBound(values, 0.95, { stake: (mean) => Math.min(0.98, stake * mean) });
  return {
    lower: lowest(worst, lambda.pass),
    upper: 1 - lowest(best.map((mean) => 1 - mean), -lambda.fail),
  };
}

function assertBounds(evidence: Bounds, bounds: Bounds): void {
  assertAlmostEquals(evidence.lower, bounds.lower, 1e-12);
  assertAlmostEquals(evidence.upper, bounds.upper, 1e-12);
}

function moreTrialsOf(verdict: Verdict): number | null {
  assert(verdict.kind === "undecided", verdict.kind);
  return verdict.moreTrials;
}

Deno.test("decide() passes from exactly the count on whose lower bound reaches the floor", () => {
  for (
    const [trials, policy] of [[100, { successRate: 0.8 }], [60, { successRate: 0.5 }]] as const
  ) {
    const floor = policy.successRate - 0.05;
    for (let solved = 0; solved <= trials; solved++) {
      const reached = clopperPearson(solved, trials, 0.95).lower >= floor;
      assertEquals(gate(solved, trials, policy).kind === "pass", reached, `${solved}`);
    }
  }
});

Deno.test("decide() passes when the lower bound is exactly the floor, not a hair below it", () => {
  const { lower } = clopperPearson(90, 100, 0.95);
  assertEquals(gate(90, 100, { successRate: lower, margin: 0 }).kind, "pass");
  const above = lower + 2e-16;
  assertNotEquals(above, lower);
  assertEquals(gate(90, 100, { successRate: above, margin: 0 }).kind, "undecided");
});

Deno.test("decide() fails when the upper bound is below the success rate, not when it is that", () => {
  const { upper } = clopperPearson(60, 100, 0.95);
  assertEquals(gate(60, 100, { successRate: upper, margin: 0 }).kind, "undecided");
  assertEquals(gate(60, 100, { successRate: upper + 2e-16, margin: 0 }).kind, "fail");
});

Deno.test("decide() prefers pass where both bounds would decide", () => {
  // 4,600 of 5,000: the true rate is proved to be above 0.9, and to be below 0.94.
  assertEquals(gate(4_600, 5_000, { successRate: 0.94 }).kind, "pass");
  assertEquals(gate(4_600, 5_000, { successRate: 0.94, margin: 0 }).kind, "fail");
});

Deno.test("decide() with margin 0 asks for proof of the rate itself", () => {
  assertEquals(gate(95, 100, { successRate: 0.9, margin: 0 }).kind, "undecided");
  assertEquals(gate(96, 100, { successRate: 0.9, margin: 0 }).kind, "pass");
  assertEquals(gate(92, 100, { successRate: 0.9 }).kind, "pass");
  assertEquals(gate(10_000, 10_000, { successRate: 1, margin: 0 }).kind, "undecided");
  assertEquals(gate(9_999, 10_000, { successRate: 1, margin: 0 }).kind, "fail");
});

Deno.test("decide() shows its evidence", () => {
  const verdict = decideOf(once(17, 3, 1), 21, { successRate: 0.5 });
  // The one that is unknown is the worst case of each bound.
  const { lower } = clopperPearson(17, 21, 0.95);
  const { upper } = clopperPearson(18, 21, 0.95);
  assertEquals(asJson(verdict), {
    kind: "pass",
    evidence: {
      of: "rate",
      graphs: 21,
      solved: 17,
      valid: 20,
      unknown: 1,
      rate: 0.85,
      lower,
      upper,
      method: "clopper-pearson",
    },
  });
});

Deno.test("decide() counts what is unknown as the worst case of each bound, invalid or missing", () => {
  const policy = { successRate: 0.7, coverage: 0.5 };
  for (const [solved, failed, unknown] of [[90, 5, 5], [50, 20, 30], [0, 60, 40], [60, 0, 40]]) {
    const planned = solved! + failed! + unknown!;
    const { evidence } = decide(once(solved!, failed!, unknown!), policy);
    assertEquals(evidence!.unknown, unknown);
    assertEquals(evidence!.lower, clopperPearson(solved!, planned, 0.95).lower);
    assertEquals(evidence!.upper, clopperPearson(solved! + unknown!, planned, 0.95).upper);
    assertEquals(decideOf(once(solved!, failed!), planned, policy).evidence, evidence);
  }
});

Deno.test("decide() takes the confidence of the policy", () => {
  assertEquals(gate(83, 100, { successRate: 0.8, confidence: 0.95 }).kind, "pass");
  assertEquals(gate(83, 100, { successRate: 0.8, confidence: 0.99 }).kind, "undecided");
  assertEquals(gate(82, 100, { successRate: 0.8, confidence: 0.9 }).kind, "pass");
});

Deno.test("decide() is invalid without trials, planned or run", () => {
  const policy = { successRate: 0.8 };
  assertEquals(decideOf([], 0, policy), { kind: "invalid", reason: "there are no trials" });
  assertEquals(decideOf([], 10, policy), {
    kind: "invalid",
    reason: "none of 10 planned trials is valid",
  });
});

Deno.test("decide() is invalid with fewer valid trials than the coverage asks for", () => {
  const policy = { successRate: 0.5 };
  assertEquals(decideOf(once(95, 0, 5), 100, policy).kind, "pass");
  const verdict = decideOf(once(94, 0, 6), 100, policy);
  assert(verdict.kind === "invalid");
  assertEquals(
    verdict.reason,
    "94 of 100 planned trials are valid, fewer than the coverage of 95% requires",
  );
  assertEquals(verdict.evidence?.unknown, 6);
});

Deno.test("decide() is valid with exactly the share that the coverage asks for, whatever the share", () => {
  for (let percent = 1; percent <= 100; percent++) {
    const verdict = decideOf(once(percent, 0), 100, {
      successRate: 0.01,
      margin: 0,
      coverage: percent / 100,
    });
    assertNotEquals(verdict.kind, "invalid", `coverage ${percent / 100}`);
  }
});

Deno.test("decide() bets on graph means as soon as one graph was repeated", () => {
  const units = [...once(20, 5), { solved: 1, valid: 2, trials: 2 }];
  const verdict = decideOf(units, 27, { successRate: 0.6 });
  assert(verdict.kind !== "invalid");
  assertEquals(verdict.evidence.method, "betting");
  const means = [...new Array(20).fill(1), ...new Array(5).fill(0), 0.5];
  assertBounds(verdict.evidence, betBounds(means, means, { successRate: 0.6 }));
});

Deno.test("decide() does not take repetitions of a graph for independent trials", () => {
  // Eight graphs, each solved always or never: 400 trials, but eight draws.
  const units = [...graphs(7, 50, 50), ...graphs(1, 0, 50)];
  assertEquals(gate(350, 400, { successRate: 0.85 }).kind, "pass");
  assertEquals(decideOf(units, 400, { successRate: 0.85 }).kind, "undecided");
});

Deno.test("decide() counts a repeated graph without a valid trial as the worst case of each bound", () => {
  const whole = graphs(60, 3, 3);
  const spoiled = [...whole, ...graphs(2, 0, 0, 3)];
  const verdict = decideOf(spoiled, 186, { successRate: 0.7 });
  assert(verdict.kind !== "invalid");
  const means = new Array(60).fill(1);
  assertBounds(
    verdict.evidence,
    betBounds([...means, 0, 0], [...means, 1, 1], { successRate: 0.7 }),
  );
  assertEquals([verdict.evidence.valid, verdict.evidence.unknown], [180, 6]);
  const clean = decideOf(whole, 180, { successRate: 0.7 });
  assert(clean.kind !== "invalid");
  assertGreater(clean.evidence.lower, verdict.evidence.lower);
});

Deno.test("decide() counts an invalid trial of a graph as the worst case of each bound", () => {
  const policy = { successRate: 0.7, coverage: 0.5 };
  const evidenceOf = (units: Unit[]) => decide(units, policy).evidence!;
  const partly = evidenceOf(graphs(80, 1, 2, 3));
  assertEquals(partly.lower, evidenceOf(graphs(80, 1, 3)).lower);
  assertEquals(partly.upper, evidenceOf(graphs(80, 2, 3)).upper);
});

Deno.test("decide() says how many more trials would decide: that many do, one fewer does not", () => {
  for (const successRate of [0.6, 0.8, 0.9]) {
    for (const trials of [20, 45, 130]) {
      for (let solved = 0; solved <= trials; solved++) {
        const verdict = gate(solved, trials, { successRate });
        if (verdict.kind !== "undecided" || verdict.moreTrials === null) continue;
        const decides = (count: number) =>
          gate(Math.round(solved / trials * count), count, { successRate }).kind !== "undecided";
        const enough = trials + verdict.moreTrials;
        assert(decides(enough), `${solved} of ${trials} and ${verdict.moreTrials} more`);
        assert(!decides(enough - 1), `${solved} of ${trials} and ${verdict.moreTrials} more`);
      }
    }
  }
});

Deno.test("decide() says that no number of trials would decide where the rate is exactly the one asked for", () => {
  assertEquals(moreTrialsOf(gate(45, 50, { successRate: 0.9, margin: 0 })), null);
  assertEquals(moreTrialsOf(gate(50, 50, { successRate: 1, margin: 0 })), null);
  // With a margin every rate is decided some day.
  assert(moreTrialsOf(gate(45, 50, { successRate: 0.9 })) !== null);
});

Deno.test("decide() over repeated graphs says how many more trials would decide by its own bounds", () => {
  // 52 of 60 graphs are always solved. The bets cannot tell; exact bounds on 300 trials could.
  const units = [...graphs(52, 5, 5), ...graphs(8, 0, 5)];
  const policy = { successRate: 0.85 };
  const more = moreTrialsOf(decideOf(units, trialsOf(units), policy));
  assert(more !== null);
  const copies = Math.ceil((trialsOf(units) + more) / trialsOf(units) * 1.1);
  const grown = Array.from({ length: copies }, () => units).flat();
  const verdict = decideOf(grown, trialsOf(grown), policy);
  assertNotEquals(verdict.kind, "undecided", `${more} more trials do not decide`);
});

Deno.test("decide() of a run that a budget stopped bets, as it was not ended by its plan", () => {
  const stopped = "the budget of 9 tokens was reached";
  const policy = { successRate: 0.8 };
  const units = once(150, 20);
  const verdict = decide(units, policy, { stopped });
  assert(verdict.kind === "pass");
  assertEquals([verdict.stopped, verdict.evidence.method], [stopped, "betting"]);
  const means = [...new Array(150).fill(1), ...new Array(20).fill(0)];
  assertBounds(verdict.evidence, betBounds(means, means, policy));
  const { evidence } = decide(units, policy);
  assertLess(verdict.evidence.lower, evidence!.lower);
  assertGreater(verdict.evidence.upper, evidence!.upper);
  const open = decide(once(15, 3), policy, { stopped });
  assert(open.kind === "undecided");
  assert(open.moreTrials !== null && open.moreTrials > 0);
});

Deno.test("decide() works out how many more trials would decide only when it is to", () => {
  const verdict = decide(once(40, 10), { successRate: 0.8 }, { advise: false });
  assert(verdict.kind === "undecided");
  assertEquals(verdict.moreTrials, null);
});

Deno.test("decide() tells the coverage as it was written", () => {
  for (let percent = 2; percent <= 100; percent++) {
    const policy = { successRate: 0.5, coverage: percent / 100 };
    const verdict = decide(once(1, 0, 1000), policy);
    assert(verdict.kind === "invalid");
    assertStringIncludes(verdict.reason, `the coverage of ${percent}% requires`);
  }
});

Deno.test("withCeilings() fails a verdict for one that was exceeded, and keeps what it would have been", () => {
  const kept = { ceiling: "usd", limit: 1, seen: 1, lower: null, exceeded: false };
  const exceeded = { ceiling: "tokens", limit: 1, seen: 3, lower: null, exceeded: true };
  for (const [solved, failed] of [[90, 10], [50, 50], [80, 20]] as const) {
    const verdict = gate(solved, solved + failed, { successRate: 0.85 });
    assertEquals(withCeilings(verdict, []), verdict);
    assertEquals(withCeilings(verdict, [kept]) as unknown, { ...verdict, ceilings: [kept] });
    const { kind: otherwise, evidence } = asJson(verdict);
    const ceilings = [kept, exceeded];
    assertEquals<unknown>(asJson(withCeilings(verdict, ceilings)), {
      kind: "fail",
      evidence,
      ceilings,
      otherwise,
    });
  }
  const invalid = decideOf([], 5, { successRate: 0.85 });
  assertEquals(withCeilings(invalid, [exceeded]), invalid);
});

// The absolute gate that stops by a rule: what decide() says of it, looked at from outside.

/** A sequential gate and its rule, with `cells` cells. */
function sequential(cells: number, traits: Partial<RatePolicy> = {}) {
  const policy = { successRate: 0.8, sequential: true, ...traits };
  return { policy, rule: sequentialRule(completePolicy(policy), cells) };
}

/** Graphs of a model that solves all but every nth. */
function allBut(every: number, count: number): Unit[] {
  const [solved, failed] = once(1, 1) as [Unit, Unit];
  return Array.from({ length: count }, (_, place) => place % every === 0 ? failed : solved);
}

Deno.test("decide() by a rule stops at the look that decides, and looks at no graph after it", () => {
  const { policy, rule } = sequential(6);
  for (const [units, kind] of [[allBut(20, 900), "pass"], [allBut(2, 900), "fail"]] as const) {
    const verdict = decide(units, policy, { rule });
    const { graphs, method, lower, upper } = verdict.evidence!;
    assertEquals([verdict.kind, method, graphs % 6], [kind, "sequential", 0]);
    assertLess(graphs, rule.fixedSize);
    assert(kind === "pass" ? lower >= 0.75 : upper < 0.8);
    // Whatever comes after, and be it nothing, changes nothing.
    const first = units.slice(0, graphs);
    for (const rest of [[], once(0, 300), once(300, 0), once(0, 0, 300)]) {
      assertEquals(decide([...first, ...rest], policy, { rule }), verdict);
    }
    // At the look before, it had not been decided.
    assertEquals(decide(first.slice(0, graphs - 6), policy, { rule }).kind, "invalid");
  }
});

Deno.test("decide() by a rule is invalid where the run was interrupted", () => {
  const { policy, rule } = sequential(6);
  const verdict = decide(allBut(5, 24), policy, { rule });
  assert(verdict.kind === "invalid");
  assertStringIncludes(
    verdict.reason,
    `the run was interrupted: 24 of ${rule.largestSize} graphs were run, and the gate has not decided`,
  );
  assertEquals(decide(once(5, 0), policy, { rule }).kind, "invalid");
});

Deno.test("decide() by a rule is undecided at its largest size, and never looks beyond", () => {
  const { policy, rule } = sequential(6);
  // Seven in nine lie between the two rates.
  const open = Array.from({ length: rule.largestSize }, (_, place) =>
    once(1, 1)[
      place % 9 < 7 ? 0 : 1
    ]!);
  const verdict = decide(open, policy, { rule });
  assert(verdict.kind === "undecided", verdict.kind);
  assertEquals(verdict.evidence.graphs, rule.largestSize);
  assertEquals([verdict.moreTrials, verdict.stopped], [null, undefined]);
  for (const more of [once(600, 0), once(0, 600)]) {
    assertEquals(decide([...open, ...more], policy, { rule }), verdict);
  }
});

Deno.test("decide() by a rule is undecided where a budget ended the run before it had decided", () => {
  const { policy, rule } = sequential(6);
  const stopped = "the budget of 9 tokens was reached";
  const open = decide(allBut(5, 24), policy, { rule, stopped });
  assert(open.kind === "undecided");
  assertEquals([open.stopped, open.moreTrials, open.evidence.graphs], [stopped, null, 24]);
  // What ended the run after it had decided does not matter.
  const good = allBut(20, 900);
  assertEquals(decide(good, policy, { rule, stopped }), decide(good, policy, { rule }));
});

Deno.test("decide() by a rule asks for coverage of the graphs that it looked at, and of no others", () => {
  const { policy, rule } = sequential(1);
  const decided = decide(once(400, 0), policy, { rule }).evidence!.graphs;
  const after = [...once(decided, 0), ...once(0, 0, 400)];
  assertEquals(decide(after, policy, { rule }).kind, "pass");
  const before = [...once(0, 0, 4), ...once(400, 0)];
  const verdict = decide(before, policy, { rule });
  assert(verdict.kind === "invalid");
  assertStringIncludes(verdict.reason, "fewer than the coverage of 95% requires");
});
