import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLessOrEqual,
  assertThrows,
} from "@std/assert";
import { checkCeilings } from "../../lib/gate/_ceiling_checks.ts";
import { type Ceilings, signsOf } from "../../lib/gate/ceilings.ts";
import { comparesWithin, FinishedTrials, plannedDecisions } from "../../lib/gate/decisions.ts";
import { binomialProbability } from "../../lib/statistics/distributions.ts";
import { rateBounds } from "../../lib/gate/evidence.ts";
import type { CeilingCheck } from "../../lib/gate/decide.ts";
import { InputError } from "../../lib/base/errors.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import type { Prices } from "../../lib/models/prices.ts";
import { clopperPearson, tango } from "../../lib/statistics/proportions.ts";
import type { RepairEvent } from "../../lib/calls/trace.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import {
  asJson,
  failureOf,
  planOf,
  record,
  stageOf,
  type TrialTraits,
} from "../support/records.ts";

const WRONG = { failures: [failureOf("incorrect_value")] };

/** How trials, of one candidate and perhaps of a baseline `old`, keep ceilings. */
function checksOf(
  trials: readonly Trial[],
  atMost: Ceilings,
  { gate = { successRate: 0.5 }, anytime = false, prices }: {
    gate?: GatePolicy;
    anytime?: boolean;
    prices?: Prices;
  } = {},
) {
  const policy = completePolicy({ ...gate, atMost });
  const scores = new FinishedTrials(comparesWithin(policy, undefined));
  for (const trial of trials) scores.add(trial);
  const [contest] = plannedDecisions(planOf(trials), policy);
  const { graphs, subject: { perturbation } } = contest!;
  return asJson(checkCeilings({ graphs, scores, policy, perturbation }, anytime, prices));
}

/** The ceilings of them that are exceeded. */
function exceeded(...arguments_: Parameters<typeof checksOf>): CeilingCheck[] {
  return checksOf(...arguments_).filter((check) => check.exceeded);
}

/** So many trials, each on a graph of its own, of which the first few have other traits. */
function some(count: number, trials: number, traits: TrialTraits, all: TrialTraits = {}): Trial[] {
  return Array.from(
    { length: trials },
    (_, place) => record({ seed: place + 1, ...all, ...(place < count ? traits : {}) }),
  );
}

/** The ids of trials. */
const idsOf = (trials: readonly Trial[]) => trials.map(({ id }) => id);

const UPGRADE = { gate: { baseline: "old" } };

const PRICED = { prices: { m: { input: 1_000_000, output: 0 } } };
/** A trial that costs `usd` dollars. */
const paid = (usd: number) => ({ usage: { inputTokens: usd, outputTokens: 0 } });

Deno.test("checkCeilings() bounds the cost of a solved trial by what all trials cost", () => {
  const wrong = { outcome: "wrong_answer" } as const;
  // Half are solved, each trial costs 2 dollars: 4 for each solved one.
  const trials = some(50, 100, wrong, paid(2));
  const check = (limit: number, all = trials) => checksOf(all, { usdPerSolved: limit }, PRICED)[0]!;
  const { seen, lower } = check(4);
  assertEquals(seen, 4);
  assert(lower! > 3 && lower! < 4, `${lower}`);
  assertEquals([lower! * 0.999, lower!, 4].map((limit) => check(limit).exceeded), [
    true,
    false,
    false,
  ]);
  // A few trials prove little: what was seen is above the limit, the truth may not be.
  assertEquals(check(3.9, some(2, 4, wrong, paid(2))).exceeded, false);
  // Where nothing was solved, any cost is too much, and no cost is none.
  const vain = some(3, 3, wrong, paid(1));
  assertEquals(check(1_000, vain), {
    ...{ ceiling: "usdPerSolved", limit: 1_000, seen: null },
    ...{ lower: check(1_000, vain).lower, exceeded: true },
  });
  assertEquals(check(1, some(3, 3, wrong, paid(0))).exceeded, false);
  // Invalid trials count as solved for nothing.
  const spoiled = trials.map((trial, place) =>
    place % 10 === 0 ? { ...trial, outcome: "invalid" as const, solved: false } : trial
  );
  const solvedForNothing = trials.map((trial, place) =>
    place % 10 === 0 ? { ...trial, ...paid(0), outcome: "solved" as const, solved: true } : trial
  );
  assertEquals(check(4, spoiled).lower, check(4, solvedForNothing).lower);
  assertThrows(() => checksOf(trials, { usdPerSolved: 1 }), InputError, "price");
});

Deno.test("checkCeilings() finds the 95th percentile of times exceeded from the share of slower trials on that proves it", () => {
  for (let slow = 0; slow <= 30; slow++) {
    // Times of slow trials are all different.
    const trials = some(0, 200, {}).map((trial, place) => ({
      ...trial,
      durationMs: place < slow ? 10_000 + place : 500,
    }));
    const isProved = clopperPearson(slow, 200, 0.95).lower > 0.05;
    const check = checksOf(trials, { p95Seconds: 9.5 })[0]!;
    assertEquals(check.exceeded, isProved, `${slow} slow trials`);
    assertEquals(check.seen, slow > 10 ? (10_000 + slow - 11) / 1000 : 0.5);
    if (!isProved) continue;
    // The bound is a time that more than 5% of trials are proved to take.
    const above = trials.filter(({ durationMs }) => durationMs / 1000 >= check.lower!).length;
    assert(clopperPearson(above, 200, 0.95).lower > 0.05);
    assert(clopperPearson(above - 1, 200, 0.95).lower <= 0.05);
    assertEquals(checksOf(trials, { p95Seconds: check.lower! })[0]!.exceeded, false);
  }
  // Invalid trials, however long they took, prove nothing; nor does a single slow one.
  const spoiled = some(30, 200, { outcome: "invalid", durationMs: 99_000 });
  assertEquals(checksOf(spoiled, { p95Seconds: 1 })[0]!.exceeded, false);
  const few = some(1, 20, { durationMs: 99_000 });
  assertEquals(checksOf(few, { p95Seconds: 1 })[0]!.exceeded, false);
});

Deno.test("checkCeilings() of no ceilings is nothing, whatever the trials", () => {
  assertEquals(checksOf(some(90, 100, { ...WRONG, behaviours: ["silent"] }), {}), []);
});

Deno.test("checkCeilings() finds a share exceeded whose lower bound is above its ceiling, not at it", () => {
  for (let count = 0; count <= 60; count++) {
    const { lower } = clopperPearson(count, 60, 0.95);
    const trials = some(count, 60, WRONG);
    for (const limit of [0, 0.2, lower]) {
      assertEquals(checksOf(trials, { failures: { incorrect_value: limit } }), [{
        ceiling: "failures.incorrect_value",
        limit,
        seen: count / 60,
        lower,
        exceeded: lower > limit,
        ...(lower > limit ? { trials: idsOf(trials.slice(0, Math.min(count, 3))) } : {}),
      }]);
    }
  }
});

Deno.test("checkCeilings() errs as seldom as the gate where the true share is just the ceiling", () => {
  for (const limit of [0.05, 0.2, 0.5]) {
    let share = 0;
    for (let count = 0; count <= 80; count++) {
      const checks = exceeded(some(count, 80, WRONG), { failures: { incorrect_value: limit } });
      if (checks.length > 0) share += binomialProbability(count, 80, limit);
    }
    assertLessOrEqual(share, 0.05 + 1e-9);
    assert(share > 0.01, "a ceiling that is never exceeded would keep its error too");
  }
});

Deno.test("checkCeilings() counts trials, however many calls of a type they have, of that type alone", () => {
  const many = {
    failures: [...WRONG.failures, ...WRONG.failures, failureOf("function_not_found")],
  };
  const [check] = exceeded(some(30, 60, many), { failures: { incorrect_value: 0.1 } });
  assertEquals(check!.seen, 0.5);
  assertEquals(exceeded(some(30, 60, many), { failures: { value_not_yet_known: 0 } }), []);
});

Deno.test("checkCeilings() takes what is invalid for not showing it", () => {
  const trials = [
    ...some(30, 50, WRONG),
    ...some(10, 10, { ...WRONG, outcome: "invalid" }).map((trial, place) => ({
      ...trial,
      id: `invalid ${place}`,
      task: { ...trial.task, seed: 1000 + place },
    })),
  ];
  const [check] = exceeded(trials, { failures: { incorrect_value: 0.1 } });
  assertEquals(check!.seen, 30 / 50);
  assertEquals(check!.lower, clopperPearson(30, 60, 0.95).lower);
});

Deno.test("checkCeilings() takes the confidence of the policy", () => {
  const atMost = { failures: { incorrect_value: 0.4 } };
  const lowerOf = (confidence: number) =>
    exceeded(some(40, 60, WRONG), atMost, { gate: { successRate: 0.5, confidence } })[0]?.lower;
  assertEquals(lowerOf(0.9), clopperPearson(40, 60, 0.9).lower);
  assertEquals(lowerOf(0.9999999), undefined);
});

Deno.test("checkCeilings() bounds shares by bets where graphs were repeated, or trials ended early", () => {
  const twice = [1, 2].flatMap((repetition) => some(30, 60, WRONG, { repetition }));
  const policy = completePolicy({ successRate: 0.5 });
  const atMost = { failures: { incorrect_value: 0.1 } };
  const units = [
    ...new Array(30).fill({ solved: 2, valid: 2, trials: 2 }),
    ...new Array(30).fill({ solved: 0, valid: 2, trials: 2 }),
  ];
  assertEquals(exceeded(twice, atMost)[0]!.lower, rateBounds(units, policy, false).lower);
  const once = units.map(({ solved }) => ({ solved: solved / 2, valid: 1, trials: 1 }));
  const [early] = exceeded(some(30, 60, WRONG), atMost, { anytime: true });
  assertEquals(early!.lower, rateBounds(once, policy, true).lower);
  assert(early!.lower! < clopperPearson(30, 60, 0.95).lower);
});

Deno.test("checkCeilings() takes a ceiling of 0 for kept where repeated graphs show nothing", () => {
  const twice = [1, 2].flatMap((repetition) => some(0, 8, {}, { repetition }));
  const [check] = checksOf(twice, { failures: { incorrect_value: 0 } });
  assertEquals([check!.lower, check!.exceeded], [0, false]);
});

Deno.test("signsOf() are the behaviours, and ungrounded where it was solved without the return", () => {
  assertEquals(signsOf(record()), []);
  assertEquals(signsOf(record({ behaviours: ["silent"], grounded: false })), [
    "silent",
    "ungrounded",
  ]);
  assertEquals(signsOf(record({ outcome: "no_answer", grounded: false })), []);
});

Deno.test("checkCeilings() finds a share that rose over the baseline's by more than is allowed", () => {
  const trials = [...some(50, 80, WRONG), ...some(10, 80, WRONG, { model: "old" })];
  const shift = (limit: number) => ({ failureShifts: { incorrect_value: limit } });
  // Both have the first ten; the candidate alone the next forty.
  const { lower } = tango(40, 0, 80, 0.95);
  assertEquals(exceeded(trials, shift(0.1), UPGRADE), [
    {
      ...{ ceiling: "failureShifts.incorrect_value", limit: 0.1, seen: 0.5, lower, exceeded: true },
      trials: idsOf(trials.slice(0, 3)),
    },
  ]);
  assertEquals(exceeded(trials, shift(lower), UPGRADE), []);
  const fewer = [...some(10, 80, WRONG), ...some(50, 80, WRONG, { model: "old" })];
  assertEquals(exceeded(fewer, shift(0), UPGRADE), []);
});

Deno.test("checkCeilings() takes what is invalid on either side for the least rise", () => {
  const trials = [
    ...some(20, 40, { outcome: "invalid" }, WRONG),
    ...some(10, 40, { outcome: "invalid" }, { model: "old" }),
  ];
  const atMost = { failureShifts: { incorrect_value: 0 } };
  // Ten graphs are unknown on both sides, ten on the candidate's, twenty show the rise.
  const [check] = exceeded(trials, atMost, UPGRADE);
  assertEquals(check!.lower, tango(20, 10, 40, 0.95).lower);
  // Where the baseline's trials are missing, it may have failed just so.
  assertEquals(exceeded(trials.slice(0, 40 + 20), atMost, UPGRADE), []);
});

Deno.test("checkCeilings() finds a mean of tokens exceeded when what was seen is above it, not at it", () => {
  const trials = [10, 20, 60].map((inputTokens, seed) =>
    record({ seed, usage: { inputTokens, outputTokens: 10 } })
  );
  const check = { ceiling: "tokens", seen: 40, lower: null };
  assertEquals(checksOf(trials, { tokens: 40 }), [{ ...check, limit: 40, exceeded: false }]);
  assertEquals(checksOf(trials, { tokens: 39.9 }), [{ ...check, limit: 39.9, exceeded: true }]);
});

Deno.test("checkCeilings() leaves invalid trials out of means", () => {
  const huge = { usage: { inputTokens: 1_000_000, outputTokens: 0 }, outcome: "invalid" } as const;
  assertEquals(checksOf(some(20, 60, huge), { tokens: 11.5 })[0]!.seen, 12);
});

Deno.test("checkCeilings() takes the mean cost by the price table, which must have the model", () => {
  const prices = { m: { input: 1_000, output: 10_000 } };
  // Ten tokens read and two written a trial come to 3 cents.
  const [check] = exceeded(some(0, 30, {}), { usd: 0.029 }, { prices });
  assertAlmostEquals(check!.seen!, 0.03, 1e-12);
  assertEquals(exceeded(some(0, 30, {}), { usd: 0.031 }, { prices }), []);
  assertThrows(() => checksOf(some(0, 30, {}), { usd: 1 }), InputError, "the cost of model m");
});

Deno.test("checkCeilings() tells of every ceiling, kept or exceeded, in one order", () => {
  const traits: TrialTraits = { ...WRONG, behaviours: ["silent"] };
  const trials = [...some(50, 60, traits), ...some(0, 60, {}, { model: "old" })];
  const atMost: Ceilings = {
    tokens: 1,
    failureShifts: { incorrect_value: 0 },
    behaviours: { silent: 0 },
    failures: { incorrect_value: 0, function_not_found: 0 },
  };
  assertEquals(checksOf(trials, atMost, UPGRADE).map((one) => [one.ceiling, one.exceeded]), [
    ["failures.function_not_found", false],
    ["failures.incorrect_value", true],
    ["behaviours.silent", true],
    ["failureShifts.incorrect_value", true],
    ["tokens", true],
  ]);
});

Deno.test("checkCeilings() names the first valid trials that show what is exceeded, at most three", () => {
  const shown: [Ceilings, object][] = [
    [{ failures: { incorrect_value: 0.1 } }, WRONG],
    [{ parameterFailures: { task_deviation: 0.1 } }, {
      parameters: { calls: [[], ["task_deviation"]], undecided: [] },
    }],
    [{ missedCalls: 0.1 }, { missed: { needed: 3, missed: 1 } }],
    [{ behaviours: { silent: 0.1 } }, { behaviours: ["silent"] }],
    [{ behaviours: { ungrounded: 0.1 } }, { grounded: false }],
    [{ behaviours: { followed_injection: 0.1 } }, {
      ...{ behaviours: ["followed_injection"], injected: true },
    }],
    // Of those that have a user all show it, of all the half.
    [{ behaviours: { assumed_input: 0.6 } }, { behaviours: ["assumed_input"], user: {} }],
    [{ unmended: 0.1 }, { work: { sentBack: 2, mended: 1 } }],
  ];
  const plain = {
    ...{ missed: { needed: 3, missed: 0 }, injected: true, work: { sentBack: 1, mended: 1 } },
    ...{ parameters: { calls: [["other"]], undecided: [] }, perturbation: "II" },
  };
  for (const [atMost, traits] of shown) {
    const trials = some(0, 60, {}).map((trial, place) => ({
      ...{ ...trial, ...plain, ...(place % 2 === 0 ? {} : traits) },
      ...(place === 1 ? { outcome: "invalid" as const, solved: false } : {}),
    }));
    const [check] = exceeded(trials, atMost);
    const three = [3, 5, 7].map((place) => trials[place]!.id);
    assertEquals(check?.trials, three, JSON.stringify(atMost));
  }
});

Deno.test("checkCeilings() names trials whose outcome changes under a check, and none of what no trial shows", () => {
  const trials = [
    ...some(20, 60, { outcome: "wrong_answer" }, { perturbation: "reorder" }),
    ...some(5, 60, { outcome: "wrong_answer" }),
  ];
  const [flips] = exceeded(trials, { flips: 0.1 });
  assertEquals(flips?.trials, idsOf(trials.slice(5, 8)));
  const [tokens] = exceeded(trials, { tokens: 1 });
  assertEquals(tokens?.trials, undefined);
});

Deno.test("checkCeilings() prices other models that took part by their own names, and no spoiled try", () => {
  const usage = { inputTokens: 100, outputTokens: 0 };
  const trial = { ...record({ usage, stages: [stageOf("large", 40)] }), replaced: usage };
  const prices = { m: { input: 1e6, output: 0 }, large: { input: 1e7, output: 0 } };
  const [check] = checksOf([trial], { usd: 1 }, { prices });
  assertAlmostEquals(check!.seen!, 60 + 400, 1e-9);
});

/** The event of a call that was sent back, mended or not. */
function repairEvent(isMended: boolean): RepairEvent {
  const event = {
    kind: "repair",
    function: "f",
    arguments: "{}",
    error: "no",
    attempts: 1,
  } as const;
  return isMended ? { ...event, repaired: '{"x":1}' } : event;
}

Deno.test("checkCeilings() bounds the share of calls sent back that were not mended (Pipeline, Key Takeaways)", () => {
  const strategy = "repair";
  const trials = (unmended: number, sent: number) =>
    Array.from({ length: 60 }, (_, place) =>
      record({
        seed: place + 1,
        strategy,
        events: place < sent ? [repairEvent(place >= unmended)] : [],
      }));
  for (const [unmended, sent, limit] of [[9, 40, 0.22], [20, 40, 0.22], [20, 40, 0.5]] as const) {
    const { lower } = clopperPearson(unmended, sent, 0.95);
    const checks = checksOf(trials(unmended, sent).map(summarize) as never, { unmended: limit });
    assertEquals(checks, [
      {
        ...{ ceiling: "unmended", limit, seen: unmended / sent, lower, exceeded: lower > limit },
        ...(lower > limit ? { trials: idsOf(trials(3, 3).slice(0, 3)) } : {}),
      },
    ]);
  }
  assertEquals(exceeded(trials(20, 40).map(summarize) as never, { unmended: 0.22 }).length, 1);
  assertEquals(checksOf(trials(0, 0).map(summarize) as never, { unmended: 0 }), []);
  // Several calls of one graph are no independent draws, and invalid trials show none.
  const several = Array.from({ length: 8 }, (_, place) =>
    summarize(record({
      seed: place + 1,
      strategy,
      events: new Array(10).fill(repairEvent(place >= 4)),
    })));
  const [check] = checksOf(several as never, { unmended: 0.3 });
  assertEquals([check!.seen, check!.exceeded], [0.5, false]);
  assert(check!.lower! < clopperPearson(40, 80, 0.95).lower);
  // The bound and its text are means over tasks, however many calls one of them has.
  const uneven = Array.from({ length: 20 }, (_, place) =>
    summarize(record({
      seed: place + 1,
      strategy,
      events: new Array(place < 5 ? 9 : 1).fill(repairEvent(place < 5)),
    })));
  assertEquals(checksOf(uneven as never, { unmended: 0.3 })[0]!.seen, 15 / 20);
  const spoiled = trials(20, 40).map((trial) => ({
    ...trial,
    outcome: "invalid" as const,
    solved: false,
  }));
  assertEquals(checksOf(spoiled.map(summarize) as never, { unmended: 0.22 }), []);
});
