// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { parseWith } from "../../lib/base/input.ts";
import { fork } from "../../lib/base/random.ts";
import { conclude } from "../../lib/gate/decide.ts";
import { exitCodeOf, worstKind } from "../../lib/gate/decide_trials.ts";
import { RATES, type Unit } from "../../lib/gate/evidence.ts";
import { completePolicy, type GatePolicy, hypothesesOf, isUpgrade } from "../../lib/gate/policy.ts";
import {
  Bets,
  drawDifference,
  drawOutcome,
  type Sample,
  SEQUENTIAL_RULE,
  sequentialBounds,
  type SequentialRule,
  sequentialRule,
  simulateGates,
  stakesOf,
} from "../../lib/gate/sequential.ts";
import { blocksOfWave } from "../../lib/gate/waves.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";
import { sequentialEnds } from "../support/exact_gates.ts";
import fc from "../support/fast_check.ts";

const SOLVED: Sample = { worst: 1, best: 1 };
const FAILED: Sample = { worst: 0, best: 0 };
const LOST: Sample = { worst: -1, best: -1 };
const UNKNOWN: Sample = { worst: 0, best: 1 };

function ruleOf(policy: GatePolicy, blockSize = 1): SequentialRule {
  return sequentialRule(completePolicy(policy), blockSize);
}

function betsOf(policy: GatePolicy, blockSize = 1): Bets {
  return new Bets(ruleOf(policy, blockSize), hypothesesOf(completePolicy(policy)));
}

function times(count: number, sample: Sample): Sample[] {
  return new Array(count).fill(sample);
}

/** Looks after every block of `blockSize` samples. */
function lookAll(bets: Bets, samples: readonly Sample[], blockSize = 1): Bets {
  for (let start = 0; start < samples.length; start += blockSize) {
    bets.look(samples.slice(start, start + blockSize));
  }
  return bets;
}

Deno.test("sequentialRule() knows the fixed sizes", () => {
  const sizes: [GatePolicy, number][] = [
    [{ successRate: 0.7 }, 960],
    [{ successRate: 0.8 }, 756],
    [{ successRate: 0.9 }, 474],
    [{ successRate: 0.7, margin: 0.1 }, 248],
    [{ baseline: "old", margin: 0.05, discordance: 0.2 }, 875],
  ];
  for (const [policy, fixedSize] of sizes) assertEquals(ruleOf(policy).fixedSize, fixedSize);
});

Deno.test("sequentialRule() ends at 1.5 times the fixed size, in whole blocks", () => {
  for (const policy of [{ successRate: 0.9 }, { baseline: "old", margin: 0.1 }]) {
    for (const blockSize of [1, 2, 5, 7, 12, 24, 1_000]) {
      const rule = ruleOf(policy, blockSize);
      assertEquals(rule.blockSize, blockSize);
      assertEquals(rule.largestSize, Math.ceil(1.5 * rule.fixedSize / blockSize) * blockSize);
    }
  }
});

Deno.test("sequentialRule() takes its errors from confidence and power, as round numbers", () => {
  const { alpha, beta } = ruleOf({ successRate: 0.8, confidence: 0.95, power: 0.9 });
  assertEquals([alpha, beta], [0.05, 0.1]);
  const strict = ruleOf({ successRate: 0.8, confidence: 0.99 });
  assertEquals([strict.alpha, strict.beta], [0.01, 0.01]);
  assertGreater(strict.fixedSize, 756);
});

Deno.test("sequentialRule() refuses a margin of 0", () => {
  for (const policy of [{ successRate: 0.8, margin: 0 }, { baseline: "old", margin: 0 }]) {
    assertThrows(() => ruleOf(policy), RangeError, "Cannot plan a gate as it needs 0 < margin <");
  }
});

Deno.test("stakesOf() bets Wald's likelihood ratio on rates", () => {
  for (
    const [successRate, margin] of [[0.1, 0.05], [0.5, 0.05], [0.7, 0.1], [0.95, 0.05]] as const
  ) {
    const { pass, fail } = stakesOf(completePolicy({ successRate, margin }));
    const edge = successRate - margin;
    // Solved and failed graphs, first against the edge, then against the success rate.
    assertAlmostEquals(1 + pass * (1 - edge), successRate / edge, 1e-12);
    assertAlmostEquals(1 - pass * edge, (1 - successRate) / (1 - edge), 1e-12);
    assertAlmostEquals(1 + fail * (1 - successRate), edge / successRate, 1e-12);
    assertAlmostEquals(1 - fail * successRate, (1 - edge) / (1 - successRate), 1e-12);
  }
});

Deno.test("stakesOf() bets the edge over the second moment on differences", () => {
  const { pass, fail } = stakesOf(
    completePolicy({ baseline: "old", margin: 0.05, discordance: 0.2 }),
  );
  assertAlmostEquals(pass, 0.05 / 0.2025, 1e-12);
  assertAlmostEquals(fail, -0.05 / 0.2, 1e-12);
});

/** Policies of both kinds. */
const POLICIES: fc.Arbitrary<GatePolicy> = fc.tuple(
  fc.double({ min: 0.05, max: 1, noNaN: true }),
  fc.double({ min: 0.1, max: 0.95, noNaN: true }),
  fc.boolean(),
).map(([whole, part, isRate]) =>
  isRate
    ? { successRate: whole, margin: whole * part }
    : { baseline: "old", discordance: whole, margin: whole * part }
);

Deno.test("stakesOf() never risks all of the capital", () => {
  fc.assert(fc.property(POLICIES, (policy) => {
    const complete = completePolicy(policy);
    const { pass, fail } = stakesOf(complete);
    const hypotheses = hypothesesOf(complete);
    for (const value of "baseline" in policy ? [-1, 0, 1] : [0, 1]) {
      assertGreater(1 + pass * (value - hypotheses.pass), 0);
      assertGreater(1 + fail * (value - hypotheses.fail), 0);
    }
  }));
});

Deno.test("Bets ends with whichever capital is multiplied first", () => {
  const policy = { successRate: 0.7 };
  const gains = [Math.log(0.7 / 0.65), Math.log(0.35 / 0.3)] as const;
  const [toPass, toFail] = gains.map((gain) => Math.ceil(Math.log(20) / gain));
  assertEquals([toPass, toFail], [41, 20]);
  const passed = lookAll(betsOf(policy), times(100, SOLVED));
  assertEquals([passed.decision, passed.units], ["pass", 41]);
  const failed = lookAll(betsOf(policy), times(100, FAILED));
  assertEquals([failed.decision, failed.units], ["fail", 20]);
});

Deno.test("Bets changes nothing any more after its decision", () => {
  const bets = lookAll(betsOf({ successRate: 0.7 }), times(41, SOLVED));
  assertEquals(bets.decision, "pass");
  for (let more = 0; more < 500; more++) assertEquals(bets.look([FAILED]), "pass");
  assertEquals([bets.decision, bets.units], ["pass", 41]);
});

Deno.test("Bets looks only after whole blocks", () => {
  const policy = { successRate: 0.7 };
  // Enough for a pass by itself, if somebody looked in between.
  const block = [...times(45, SOLVED), ...times(15, FAILED)];
  assertEquals(lookAll(betsOf(policy), block).decision, "pass");
  const bets = betsOf(policy, block.length);
  assertEquals(bets.look(block), undefined);
  assertEquals([bets.decision, bets.units], [undefined, 60]);
});

Deno.test("Bets takes what is unknown as the worst case of either bet", () => {
  const policy = { successRate: 0.7 };
  assertEquals(lookAll(betsOf(policy), times(1_000, UNKNOWN)).decision, undefined);
  // What just suffices to decide does so no more beside two of them.
  const unknown = times(2, UNKNOWN);
  const [passing, failing] = [times(41, SOLVED), times(20, FAILED)];
  assertEquals(lookAll(betsOf(policy), passing).decision, "pass");
  assertEquals(lookAll(betsOf(policy), [...unknown, ...passing]).decision, undefined);
  assertEquals(lookAll(betsOf(policy), failing).decision, "fail");
  assertEquals(lookAll(betsOf(policy), [...unknown, ...failing]).decision, undefined);
});

Deno.test("Bets fails a model that should solve all at its first failure", () => {
  const policy = { successRate: 1 };
  const failed = lookAll(betsOf(policy), [...times(10, SOLVED), FAILED, ...times(90, SOLVED)]);
  assertEquals([failed.decision, failed.units], ["fail", 11]);
  const { largestSize } = ruleOf(policy);
  const passed = lookAll(betsOf(policy), times(largestSize, SOLVED));
  assertEquals(passed.decision, "pass");
  assertLess(passed.units, largestSize);
});

/** How the graphs of a gate come about. */
interface CallAttempts {
  readonly policy: GatePolicy;
  readonly blockSize: number;
  /** Where between the least and the most that a graph can show the mean lies, from 0 to 1. */
  readonly mean: number;
  /** Trials of each graph. */
  readonly trials: number;
  readonly seed: number;
}

const COURSES: fc.Arbitrary<CallAttempts> = fc.record({
  policy: POLICIES,
  blockSize: fc.integer({ min: 1, max: 6 }),
  mean: fc.double({ min: 0, max: 1, noNaN: true }),
  trials: fc.integer({ min: 1, max: 4 }),
  seed: fc.nat(),
});

/** A rule as a policy's, however many graphs it would take. */
function openRule(policy: GatePolicy, blockSize: number): SequentialRule {
  const lambda = stakesOf(completePolicy(policy));
  return { lambda, alpha: 0.05, beta: 0.05, blockSize, fixedSize: 1_000, largestSize: 2_000 };
}

/** Blocks of graphs, of which one in ten is unknown in part. */
function blocksOf({ policy, blockSize, mean, trials, seed }: CallAttempts): Sample[][] {
  const { prng } = fork(seed, "course");
  const least = leastOf(policy);
  const draw = (): Sample => {
    let share = 0;
    for (let trial = 0; trial < trials; trial++) share += prng() < mean ? 1 / trials : 0;
    const unknown = prng() < 0.1 ? prng() : 0;
    const worst = least + (1 - least) * share * (1 - unknown);
    return { worst, best: worst + (1 - least) * unknown };
  };
  return Array.from({ length: 40 }, () => Array.from({ length: blockSize }, draw));
}

function leastOf(policy: GatePolicy): 0 | -1 {
  return "baseline" in policy ? -1 : 0;
}

Deno.test("sequentialBounds() reach the hypotheses exactly when the bets end", () => {
  const ends = new Set<string | undefined>();
  fc.assert(
    fc.property(COURSES, (course) => {
      const { policy, blockSize } = course;
      const rule = openRule(policy, blockSize);
      const hypotheses = hypothesesOf(completePolicy(policy));
      const bets = new Bets(rule, hypotheses);
      const blocks: Sample[][] = [];
      for (const block of blocksOf(course)) {
        blocks.push(block);
        if (bets.look(block) !== undefined) break;
      }
      ends.add(bets.decision);
      const { lower, upper } = sequentialBounds(blocks, rule, leastOf(policy));
      assertEquals(lower >= hypotheses.pass, bets.decision === "pass");
      // One block may ruin both, and then it is a pass.
      if (bets.decision !== "pass") assertEquals(upper < hypotheses.fail, bets.decision === "fail");
      assertLessOrEqual(lower, upper);
      assertGreaterOrEqual(lower, leastOf(policy));
      assertLessOrEqual(upper, 1);
    }),
    { numRuns: 500 },
  );
  assertEquals(ends.size, 3);
});

Deno.test("sequentialBounds() know nothing without a look", () => {
  const rule = ruleOf({ successRate: 0.7 });
  const { lower, upper } = sequentialBounds([], rule, 0);
  assertAlmostEquals(lower, 0, 1e-12);
  assertAlmostEquals(upper, 1, 1e-12);
  const differences = sequentialBounds([], rule, -1);
  assertAlmostEquals(differences.lower, -1, 1e-12);
  assertAlmostEquals(differences.upper, 1, 1e-12);
});

Deno.test("simulateGates() draws cell after cell, and the same from the same seed", () => {
  const policy = completePolicy({ successRate: 0.8, margin: 0.1 });
  const rule = sequentialRule(policy, 3);
  const places: number[] = [];
  const simulate = (seed: number) => {
    const { prng } = fork(seed, "gates");
    return simulateGates(rule, policy, 200, (place) => {
      places.push(place);
      return drawOutcome(prng, 0.75);
    });
  };
  const chances = simulate(1);
  assert(places.every((place, draw) => place === draw % 3));
  assertAlmostEquals(places.length / 200, chances.units, 1e-9);
  assertAlmostEquals(chances.pass + chances.fail + chances.undecided, 1, 1e-12);
  assertEquals(simulate(1), chances);
  assertNotEquals(simulate(2), chances);
});

Deno.test("simulateGates() ends undecided at the largest size", () => {
  const policy = completePolicy({ successRate: 0.8, margin: 0.1 });
  const rule = sequentialRule(policy, 5);
  assertEquals(simulateGates(rule, policy, 3, () => UNKNOWN), {
    pass: 0,
    fail: 0,
    undecided: 1,
    units: rule.largestSize,
  });
});

Deno.test("drawOutcome() and drawDifference() draw what they are asked for", () => {
  const draws = 20_000;
  const { prng } = fork(3, "draws");
  const countOf = (draw: () => Sample) => {
    const values = Array.from({ length: draws }, draw);
    assert(values.every(({ worst, best }) => worst === best));
    return (value: number) => values.filter(({ worst }) => worst === value).length / draws;
  };
  const outcomes = countOf(() => drawOutcome(prng, 0.7));
  assertAlmostEquals(outcomes(1), 0.7, 0.01);
  assertAlmostEquals(outcomes(0), 0.3, 0.01);
  const differences = countOf(() => drawDifference(prng, 0.3, -0.1));
  assertAlmostEquals(differences(1), 0.1, 0.01);
  assertAlmostEquals(differences(-1), 0.2, 0.01);
  assertAlmostEquals(differences(0), 0.7, 0.01);
});

Deno.test("SEQUENTIAL_RULE refuses what is none", () => {
  const rule = ruleOf({ successRate: 0.7 }, 6);
  const { lambda } = rule;
  const faults: [string, unknown][] = [
    ["lambda.pass", { ...rule, lambda: { ...lambda, pass: 0 } }],
    ["lambda.fail", { ...rule, lambda: { ...lambda, fail: 0.2 } }],
    ["lambda.fail", { ...rule, lambda: { pass: lambda.pass } }],
    ["alpha", { ...rule, alpha: 0 }],
    ["beta", { ...rule, beta: 0.5 }],
    ["blockSize", { ...rule, blockSize: 0 }],
    ["fixedSize", { ...rule, fixedSize: 959.5 }],
    ["largestSize", { ...rule, largestSize: null }],
    ["looks", { ...rule, looks: 3 }],
  ];
  for (const [name, fault] of faults) {
    assertThrows(() => parseWith(SEQUENTIAL_RULE, fault, "it"), InputError, name);
  }
});

/** How gates end, exactly, for a model that is just good enough and for one worse by the margin. */
function exactly(given: GatePolicy, blockSize: number) {
  const policy = completePolicy(given);
  const [kinds, chances] = isUpgrade(policy)
    ? [[LOST, FAILED, SOLVED], (mean: number) => {
      const { discordance } = policy;
      return [(discordance - mean) / 2, 1 - discordance, (discordance + mean) / 2];
    }]
    : [[FAILED, SOLVED], (mean: number) => [1 - mean, mean]];
  const endsAt = (mean: number) => {
    const shares = chances(mean);
    const world = { kinds, cells: blockSize, chances: () => shares };
    return sequentialEnds(world, given, (sample) => sample);
  };
  const { pass, fail } = hypothesesOf(policy);
  return { good: endsAt(fail), worse: endsAt(pass) };
}

Deno.test("sequentialRule() saves half of the graphs of a suite with one cell, and nearly always decides", () => {
  for (
    const policy of [
      { successRate: 0.5, margin: 0.1 },
      { successRate: 0.9, margin: 0.05 },
      { baseline: "old", margin: 0.2, discordance: 0.4 },
    ]
  ) {
    const { good, worse } = exactly(policy, 1);
    for (const { units, undecided } of [good, worse]) {
      assertLessOrEqual(units, 0.55 * ruleOf(policy).fixedSize, JSON.stringify(policy));
      assertLessOrEqual(undecided, 0.03, JSON.stringify(policy));
    }
  }
});

// Waves of a sequential gate: how a plan is cut, and how often a gate that looks after each of them errs.

const WAVES_SEED = 20261124;

Deno.test("blocksOfWave() cuts a plan into contiguous waves that differ by at most one block", () => {
  const plans = fc.integer({ min: 1, max: 1_000_000 }).chain((blocks) =>
    fc.tuple(fc.constant(blocks), fc.integer({ min: 1, max: Math.min(blocks, 300) }))
  );
  fc.assert(fc.property(plans, ([blocks, of]) => {
    let next = 0;
    const sizes = new Set<number>();
    for (let index = 1; index <= of; index++) {
      const { first, end } = blocksOfWave({ index, of }, blocks);
      assertEquals(first, next);
      sizes.add(end - first);
      next = end;
    }
    assertEquals(next, blocks);
    assertLessOrEqual(Math.max(...sizes) - Math.min(...sizes), 1);
    assertGreater(Math.min(...sizes), 0);
  }));
});

Deno.test("worstKind() goes on while a verdict needs it and none is invalid, also where one has failed", () => {
  const of = (...kinds: Parameters<typeof exitCodeOf>[0][]) => {
    const kind = worstKind(kinds.map((kind) => ({ kind })));
    return [kind, exitCodeOf(kind)];
  };
  assertEquals(of("continue", "pass"), ["continue", 4]);
  assertEquals(of("fail", "continue"), ["continue", 4]);
  assertEquals(of("continue", "invalid"), ["invalid", 3]);
  assertEquals(of("fail", "continue", "invalid"), ["fail", 1]);
  assertEquals(of("undecided", "continue"), ["continue", 4]);
  assertEquals(of("fail", "invalid"), ["fail", 1]);
});

const WAVES = 6;

const POLICY = completePolicy({ successRate: 0.8, margin: 0.2 });
const RULE = sequentialRule(POLICY, 2);
const BLOCKS = RULE.largestSize / RULE.blockSize;

const RIGHT: Unit = { solved: 1, valid: 1, trials: 1 };
const WRONG: Unit = { solved: 0, valid: 1, trials: 1 };

/** The verdict of the gate over the first waves, as `gate` replays them. */
function soFar(units: readonly Unit[], index: number) {
  const { end } = blocksOfWave({ index, of: WAVES }, BLOCKS);
  return conclude(units.slice(0, end * RULE.blockSize), RATES, POLICY, {
    rule: RULE,
    ...(index < WAVES ? { next: { index: index + 1, of: WAVES } } : {}),
  }).kind;
}

/** The share of gates that come to `error`, on two cells of unequal rates whose mean is `rate`. */
function errorRate(
  rate: number,
  error: "pass" | "fail",
  gates: number,
): number {
  const { prng } = fork(WAVES_SEED, "waves", error);
  let errors = 0;
  for (let gate = 0; gate < gates; gate++) {
    const units = Array.from({ length: RULE.largestSize }, (_, place) => {
      const own = place % 2 === 0 ? rate + 0.1 : rate - 0.1;
      return prng() < own ? RIGHT : WRONG;
    });
    for (let wave = 1; wave <= WAVES; wave++) {
      const kind = soFar(units, wave);
      if (kind === "continue") continue;
      if (kind === error) errors++;
      break;
    }
  }
  return errors / gates;
}

Deno.test("a gate over waves errs no more often than it promises", () => {
  const gates = drawsOf(4_000);
  const passes = errorRate(0.6, "pass", gates);
  const fails = errorRate(0.8, "fail", gates);
  for (const share of [passes, fails]) {
    assertLess(share, 0.05 + noiseOf(0.05, gates), `${passes} and ${fails}`);
    assertGreater(share, 0.01, "so rare an error is no test of the bound");
  }
});
