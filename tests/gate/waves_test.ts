// Waves of a sequential gate: how a plan is cut, and how often a gate that looks after each of them errs.

import { assertEquals, assertGreater, assertLess, assertLessOrEqual } from "@std/assert";
import { fork } from "../../lib/base/random.ts";
import { decide, decideSoFar } from "../../lib/gate/decide.ts";
import { exitCodeOf, worstKind } from "../../lib/gate/decide_trials.ts";
import type { Unit } from "../../lib/gate/evidence.ts";
import { completePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import { blocksOfWave } from "../../lib/gate/waves.ts";
import fc from "../support/fast_check.ts";

const SEED = 20261124;

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

/** Gates at each point, as in the other simulations of error rates. */
const GATES = 10_000;
const WAVES = 6;

const POLICY = completePolicy({ successRate: 0.8, margin: 0.2 });
const RULE = sequentialRule(POLICY, 2);
const BLOCKS = RULE.largestSize / RULE.blockSize;

const SOLVED: Unit = { solved: 1, valid: 1, trials: 1 };
const FAILED: Unit = { solved: 0, valid: 1, trials: 1 };

/** The verdict of the gate over the first waves, as `gate` replays them. */
function soFar(units: readonly Unit[], index: number) {
  const { end } = blocksOfWave({ index, of: WAVES }, BLOCKS);
  return decideSoFar(units.slice(0, end * RULE.blockSize), POLICY, {
    rule: RULE,
    ...(index < WAVES ? { next: { index: index + 1, of: WAVES } } : {}),
  }).kind;
}

/** A gate as one would first write it: after each wave it decides as if its size had been fixed before. */
function asIfFixed(units: readonly Unit[], index: number) {
  const { end } = blocksOfWave({ index, of: WAVES }, BLOCKS);
  const { kind } = decide(units.slice(0, end * RULE.blockSize), POLICY, { advise: false });
  // It passes as soon as it can, and waits with all else.
  return kind === "pass" || index === WAVES ? kind : "continue";
}

/** The share of gates that come to `error`, on two cells of unequal rates whose mean is `rate`. */
function errorRate(
  rate: number,
  error: "pass" | "fail",
  verdictAfter: (units: readonly Unit[], wave: number) => string,
  gates = GATES,
): number {
  const { prng } = fork(SEED, "waves", error);
  let errors = 0;
  for (let gate = 0; gate < gates; gate++) {
    const units = Array.from({ length: RULE.largestSize }, (_, place) => {
      const own = place % 2 === 0 ? rate + 0.1 : rate - 0.1;
      return prng() < own ? SOLVED : FAILED;
    });
    for (let wave = 1; wave <= WAVES; wave++) {
      const kind = verdictAfter(units, wave);
      if (kind === "continue") continue;
      if (kind === error) errors++;
      break;
    }
  }
  return errors / gates;
}

Deno.test("a gate over waves errs no more often than it promises", () => {
  const passes = errorRate(0.6, "pass", soFar);
  const fails = errorRate(0.8, "fail", soFar);
  // Three standard deviations of 10,000 gates at 5% are 0.65 points.
  for (const share of [passes, fails]) {
    assertLess(share, 0.05 + 0.0066, `${passes} and ${fails}`);
    assertGreater(share, 0.01, "so rare an error is no test of the bound");
  }
});

Deno.test("a gate that looks after each wave as if its size were fixed errs far more often", () => {
  const share = errorRate(0.6, "pass", asIfFixed, 2_000);
  assertGreater(share, 0.1);
});
