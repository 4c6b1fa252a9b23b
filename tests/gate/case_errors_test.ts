// How often gates over cases of own tests err, in simulations. Cases are fixed and have
// unequal rates; trials of a case are independent draws. Each claim stands beside a wrong rule that breaks it, so that
// the test is seen to tell them apart.
// Runs without counters of lines.

import { assert, assertEquals, assertGreater, assertLess, assertLessOrEqual } from "@std/assert";
import type { Prng } from "@std/random";
import {
  casesKind,
  type CaseUnits,
  changedCases,
  checkCases,
  withCases,
} from "../../lib/gate/decide.ts";
import { decide } from "../support/deciding.ts";
import type { Unit } from "../../lib/gate/evidence.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { fork } from "../../lib/base/random.ts";
import { bettingRatioBound } from "../../lib/statistics/betting_bound.ts";
import { binomialProbability } from "../../lib/statistics/distributions.ts";
import { clopperPearson } from "../../lib/statistics/proportions.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";

const GATES = drawsOf(10_000);
const ERROR = 0.05;
/** What chance alone may add. */
const NOISE = noiseOf(ERROR, GATES);

/** The share of gates in which something happens. */
function shareOf(purpose: string, happens: (prng: Prng) => boolean, gates = GATES): number {
  const { prng } = fork("cases", purpose);
  let count = 0;
  for (let gate = 0; gate < gates; gate++) if (happens(prng)) count++;
  return count / gates;
}

/** Draws how many of the trials of a case are solved. */
function drawer(trials: number, rate: number): (prng: Prng) => number {
  const sums: number[] = [];
  let sum = 0;
  for (let count = 0; count < trials; count++) {
    sums.push(sum += binomialProbability(count, trials, rate));
  }
  return (prng) => {
    const place = prng();
    let count = 0;
    while (count < trials && place >= sums[count]!) count++;
    return count;
  };
}

/** Draws the solved trials of all cases. */
function suiteDrawer(rates: readonly number[], trials: number): (prng: Prng) => number[] {
  const drawers = rates.map((rate) => drawer(trials, rate));
  return (prng) => drawers.map((draw) => draw(prng));
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Trials that ended, `solved` of them solved. */
function once(solved: number, trials: number): Unit[] {
  return Array.from({ length: trials }, (_, place) => ({
    ...{ solved: place < solved ? 1 : 0, valid: 1, trials: 1 },
  }));
}

/** What a function gives for counts is computed once for each. */
function remembered<T>(compute: (count: number) => T): (count: number) => T {
  const known = new Map<number, T>();
  return (count) => known.getOrInsertComputed(count, () => compute(count));
}

/** Cases of very unequal rates, whose mean is given: half of them easy, half hard. */
function unequal(mean: number, cases: number): number[] {
  const spread = Math.min(mean, 1 - mean);
  return Array.from(
    { length: cases },
    (_, place) => place < cases / 2 ? mean + spread : mean - spread,
  );
}

Deno.test("decide() errs in at most 5% of gates over cases of unequal rates, as looking after each round does not", () => {
  const [cases, trials] = [12, 20];
  // Without a margin every gate that errs is one that fails.
  for (const [mean, margin, wrong] of [[0.8, 0.1, "pass"], [0.9, 0, "fail"]] as const) {
    const kindOf = remembered((solved) =>
      decide(once(solved, cases * trials), { successRate: 0.9, margin }, { advise: false }).kind
    );
    for (const rates of [unequal(mean, cases), new Array<number>(cases).fill(mean)]) {
      const draw = suiteDrawer(rates, trials);
      const error = shareOf(`absolute ${rates[0]}`, (prng) => kindOf(total(draw(prng))) === wrong);
      assertLessOrEqual(error, ERROR + NOISE, `${mean}`);
    }
  }
  // The wrong rule: to look after every round, and to stop once the bound is good.
  const round = suiteDrawer(new Array<number>(cases).fill(0.8), 1);
  const passes = remembered((solved) =>
    clopperPearson(solved % 1000, Math.floor(solved / 1000), 0.95).lower >= 0.8
  );
  const looking = shareOf("absolute, looking", (prng) => {
    let solved = 0;
    for (let rounds = 1; rounds <= trials; rounds++) {
      solved += total(round(prng));
      if (passes(1000 * rounds * cases + solved)) return true;
    }
    return false;
  });
  assertGreater(looking, 2 * ERROR);
});

/** The chances of each number of solved trials, where all have rates of their own. */
function poissonBinomial(rates: readonly number[]): number[] {
  let chances = [1];
  for (const rate of rates) {
    chances = [...chances, 0].map((chance, count) =>
      chance * (1 - rate) + (chances[count - 1] ?? 0) * rate
    );
  }
  return chances;
}

Deno.test("clopperPearson() is conservative for unequal rates, but for few expected failures, then in the third decimal (Hoeffding 1956)", () => {
  let [largest, largestRare] = [0, 0];
  for (const size of [10, 20, 40]) {
    for (let failed = 0; failed < size / 2; failed++) {
      // The rate at which a gate of this size errs in exactly 5%, as it passes with that number of failures.
      const { lower } = clopperPearson(size - failed, size, 0.95);
      for (const easy of [0, 1, Math.floor(size / 2)]) {
        // Some trials never fail, the others fail more often: the same mean.
        const other = 1 - (1 - lower) * size / (size - easy);
        if (other < 0) continue;
        const rates = Array.from({ length: size }, (_, place) => place < easy ? 1 : other);
        const passing = total(poissonBinomial(rates).slice(size - failed));
        // The critical count lies at least one from the expected one.
        if (size * (1 - lower) - failed >= 1) largest = Math.max(largest, passing);
      }
    }
  }
  assertLessOrEqual(largest, ERROR + 1e-9);
  // A rate so close to 1 that a single failure is a proof: less than 0.05 failures are expected.
  for (const size of [3, 10, 40]) {
    const { upper } = clopperPearson(size - 1, size, 0.95);
    for (const one of [0, 0.5]) {
      const others = (upper * size - (1 - (1 - upper) * size * one)) / (size - 1);
      assert(others > 0 && (1 - upper) * size < 0.052);
      const rates = [1 - (1 - upper) * size * one, ...new Array<number>(size - 1).fill(others)];
      largestRare = Math.max(largestRare, 1 - poissonBinomial(rates).at(-1)!);
    }
    // All failures of one case: it fails as often as failures are expected.
    largestRare = Math.max(largestRare, (1 - upper) * size);
  }
  assertGreater(largestRare, ERROR);
  assertLess(largestRare, ERROR + 0.0015);
});

/** The kind of a gate on every case, by the counts of its solved trials. */
function everyKind(policy: GatePolicy, counts: readonly number[], trials: number): string {
  const cases = counts.map((solved, place): CaseUnits => ({
    case: `${place}`,
    units: UNITS(1000 * trials + solved),
  }));
  return casesKind(checkCases(cases, 0.9, completePolicy(policy), false));
}

const UNITS = remembered((key) => once(key % 1000, Math.floor(key / 1000)));

Deno.test("checkCases() passes a suite with one case at the floor, and fails one with all at it, in at most 5%", () => {
  // As many trials as one case needs: its chance to pass at the floor is close to 5%.
  const [cases, trials] = [8, 29];
  const policy = { every: 0.9 };
  // Verdicts depend on the counts alone, whatever their order: few of them are different.
  const known = new Map<string, string>();
  const kindOf = (counts: readonly number[]) =>
    known.getOrInsertComputed(
      counts.toSorted((one, other) => one - other).join(),
      () => everyKind(policy, counts, trials),
    );
  const oneLow = suiteDrawer([0.9, ...new Array<number>(cases - 1).fill(1)], trials);
  const passing = shareOf("every, one at the floor", (prng) => kindOf(oneLow(prng)) === "pass");
  assertLessOrEqual(passing, ERROR + NOISE);
  assertGreater(passing, 0.04);
  const mixed = suiteDrawer([0.9, 0.9, 0.9, 0.9, 0.97, 0.98, 0.99, 1], trials);
  const failing = shareOf("every, half at the floor", (prng) => kindOf(mixed(prng)) === "fail");
  assertLessOrEqual(failing, ERROR + NOISE);
  // The wrong rules: to look at the mean alone, and not to adjust for the number of cases.
  const meanOf = remembered((solved) => clopperPearson(solved, cases * trials, 0.95));
  const upperOf = remembered((solved) => clopperPearson(solved, trials, 0.95).upper);
  const byMean = shareOf("every, by the mean", (prng) => meanOf(total(oneLow(prng))).lower >= 0.9);
  const unadjusted = shareOf(
    "every, unadjusted",
    (prng) => mixed(prng).some((solved) => upperOf(solved) < 0.9),
  );
  assertGreater(byMean, 0.9);
  assertGreater(unadjusted, ERROR + NOISE);
});

Deno.test("withCases() gives { every } one chance to err: the mean alone fails no gate", () => {
  const [cases, trials] = [8, 60];
  const policy = completePolicy({ every: 0.9 });
  const kindOf = remembered((key) => {
    const solved = [key % 1000, Math.floor(key / 1000)];
    const counts = Array.from({ length: cases }, (_, place) => solved[place < 4 ? 0 : 1]!);
    const units = counts.map((count, place) => ({ case: `${place}`, units: once(count, trials) }));
    const mean = decide(units.flatMap((one) => one.units), policy, { advise: false });
    return [mean.kind, withCases(mean, units, policy, false).kind];
  });
  // All a little low: the mean is proved to be below the floor, and no case is.
  assertEquals(kindOf(1000 * 52 + 51), ["fail", "undecided"]);
  assertEquals(kindOf(1000 * 30 + 60)[1], "fail");
});

Deno.test("changedCases() marks an unchanged case in at most 5% of comparisons, as unadjusted tests do not", () => {
  const [cases, trials] = [12, 10];
  const rates = Array.from({ length: cases }, (_, place) => 0.4 + 0.05 * place);
  const draw = suiteDrawer(rates, trials);
  const unit = (solved: number): Unit => ({ solved, valid: trials, trials });
  let marked = 0;
  let unadjusted = 0;
  const { prng } = fork("cases", "changed");
  for (let gate = 0; gate < GATES; gate++) {
    const [own, other] = [draw(prng), draw(prng)];
    // Case 0 has really changed: marks of it are right.
    own[0] = 0;
    const compared = own.map((solved, place) => ({
      case: `${place}`,
      candidate: unit(solved),
      baseline: unit(place === 0 ? trials : other[place]!),
    }));
    // What is only proved of one case at a time, without regard to the others.
    const alone = compared.slice(1).some((one) =>
      marksAlone(one.candidate.solved, one.baseline.solved)
    );
    const { changed } = changedCases(compared, 0.95, false);
    if (changed.some((one) => one.case !== "0" && one.proved)) marked++;
    if (alone) unadjusted++;
    assert(changed.find((one) => one.case === "0")!.proved);
  }
  assertLessOrEqual(marked / GATES, ERROR + NOISE);
  assertGreater(unadjusted / GATES, ERROR + NOISE);

  function marksAlone(solved: number, before: number): boolean {
    return alonePairs(1000 * solved + before);
  }
});

const alonePairs = remembered((key) =>
  changedCases(
    [{
      case: "",
      candidate: { solved: Math.floor(key / 1000), valid: 10, trials: 10 },
      baseline: { solved: key % 1000, valid: 10, trials: 10 },
    }],
    0.95,
    false,
  ).changed.some(({ proved }) => proved)
);

Deno.test("bettingRatioBound() exceeds the true cost of a solved trial in at most 5%, as the observed one does not", () => {
  // Costs of most trials are alike, and one in fifty is very dear; the easy cases are cheap.
  const [rounds, ratio] = [20, 1];
  const outlays = (prng: Prng) =>
    Array.from({ length: 4 * rounds }, (_, place) => {
      const [rate, cost] = place % 4 < 2 ? [0.9, 0.35] : [0.7, 0.65];
      const dear = prng() < 0.02;
      return { gain: prng() < rate! ? 1 : 0, cost: dear ? cost! * 31 : cost! };
    });
  // E cost = 0.5 * (0.98 + 0.62), E gain = 0.8.
  assertEquals(0.5 * 1.6 / 0.8, ratio);
  const counts = { proved: 0, observed: 0 };
  const { prng } = fork("cases", "costs");
  const gates = drawsOf(600);
  for (let gate = 0; gate < gates; gate++) {
    const drawn = outlays(prng);
    if (bettingRatioBound(drawn, 0.95) > ratio) counts.proved++;
    const cost = drawn.reduce((sum, one) => sum + one.cost, 0);
    if (cost / drawn.reduce((sum, one) => sum + one.gain, 0) > ratio) counts.observed++;
  }
  assertLessOrEqual(counts.proved / gates, ERROR);
  assertGreater(counts.observed / gates, 0.2);
});
