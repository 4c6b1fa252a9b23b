/**
 * Sequential gates: bets against the two hypotheses, which end a run as soon as one of them is refuted.
 *
 * The capital of a bet is the product of `1 + lambda (x - x0)` over units. If the mean of `x` is on the
 * hypothesis' side of `x0`, the capital is a supermartingale, which reaches `1 / alpha` with probability
 * at most `alpha`, however often one looks (Ville, 1939). That holds for any distribution of units and for
 * cells of unequal difficulty, as long as looks come in plan order and after whole blocks in which every
 * cell has its graph.
 *
 * @see Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024.
 * @module
 */

import type { Prng } from "@std/random";
import { z } from "zod";
import { type CompletePolicy, type Hypotheses, hypothesesOf, isUpgrade } from "./policy.ts";
import { type GateChances, pairedSampleSize, rateSampleSize } from "../statistics/sample_size.ts";
import { bisect } from "../statistics/distributions.ts";
import type { Bounds } from "../statistics/proportions.ts";

const error = z.number().gt(0).lt(0.5);
const units = z.int().min(1);

/** The schema of rules in plans. */
export const SEQUENTIAL_RULE = z.strictObject({
  /** The signed stakes of the bets that end with pass and with fail. */
  lambda: z.strictObject({ pass: z.number().gt(0), fail: z.number().lt(0) }),
  /** The error of passing: the highest probability that a model at the edge of the margin passes. */
  alpha: error,
  /** The error of failing: the highest probability that a model that is just good enough fails. */
  beta: error,
  /** The number of units, that is graphs, between two looks: one of every cell. */
  blockSize: units,
  /** The number of units that a gate of fixed size would need. */
  fixedSize: units,
  /** The number of units at which the gate ends undecided: 1.5 times the fixed size, in whole blocks. */
  largestSize: units,
});

/** The rule by which a sequential gate stops, as fixed in its plan. */
export type SequentialRule = Readonly<z.infer<typeof SEQUENTIAL_RULE>>;

/**
 * The value of one unit: the mean outcome of a graph, 0..1, or the difference of two, -1..1. With invalid
 * trials it is anywhere between `worst` and `best`.
 */
export interface Sample {
  readonly worst: number;
  readonly best: number;
}

/** The largest stake, as a share of the one that could lose everything at once. */
const MAX_STAKE = 0.95;

/**
 * Returns the signed stakes against the two hypotheses of a policy: the edge over the second moment of the
 * value bet on, if the other hypothesis just holds. For rates of graphs that ran once, the capital is then
 * Wald's likelihood ratio. Without a gap between the two there is no edge, and they are 0.
 */
export function stakesOf(policy: CompletePolicy): SequentialRule["lambda"] {
  const { pass, fail, gap } = hypothesesOf(policy);
  if (isUpgrade(policy)) {
    return {
      pass: Math.min(gap / (policy.discordance + gap ** 2), MAX_STAKE / (1 - gap)),
      fail: -Math.min(gap / policy.discordance, MAX_STAKE),
    };
  }
  return {
    pass: pass < 1 ? Math.min(gap / (pass * (1 - pass)), MAX_STAKE / pass) : 0,
    // A rate of 1 is refuted by one failure.
    fail: fail < 1 ? -gap / (fail * (1 - fail)) : -1 / (1 - policy.power),
  };
}

/**
 * Returns the rule of a sequential gate.
 *
 * @throws {RangeError} If nothing is between what passes and what fails.
 */
export function sequentialRule(policy: CompletePolicy, blockSize: number): SequentialRule {
  const { confidence, power } = policy;
  const { gap } = hypothesesOf(policy);
  const fixedSize = isUpgrade(policy)
    ? pairedSampleSize(gap, policy.discordance, { confidence, power })
    : rateSampleSize(policy.successRate, gap, { confidence, power });
  return {
    lambda: stakesOf(policy),
    alpha: round(1 - confidence),
    beta: round(1 - power),
    blockSize,
    fixedSize,
    largestSize: Math.ceil(1.5 * fixedSize / blockSize) * blockSize,
  };
}

/** Removes rounding errors such as that of 1 - 0.95, as people read plans. */
function round(error: number): number {
  return Number(error.toPrecision(12));
}

/** The state of the bets of one gate. */
export class Bets {
  #pass = 0;
  #fail = 0;
  #units = 0;
  #decision: "pass" | "fail" | undefined;

  /** Starts with both capitals at 1. */
  constructor(private readonly rule: SequentialRule, private readonly hypotheses: Hypotheses) {}

  /** The number of units up to the decision. */
  get units(): number {
    return this.#units;
  }

  /** The decision; `undefined` while there is none. */
  get decision(): "pass" | "fail" | undefined {
    return this.#decision;
  }

  /** Bets on one whole block and looks at the capital; after a decision nothing changes any more. */
  look(block: readonly Sample[]): "pass" | "fail" | undefined {
    if (this.#decision !== undefined) return this.#decision;
    const { lambda, alpha, beta } = this.rule;
    for (const { worst, best } of block) {
      this.#pass += Math.log1p(lambda.pass * (worst - this.hypotheses.pass));
      this.#fail += Math.log1p(lambda.fail * (best - this.hypotheses.fail));
    }
    this.#units += block.length;
    if (this.#pass >= -Math.log(alpha)) this.#decision = "pass";
    else if (this.#fail >= -Math.log(beta)) this.#decision = "fail";
    return this.#decision;
  }
}

/**
 * Returns bounds of the mean that hold at every look: the means that the same stakes do not refute. The lower
 * bound reaches the hypothesis of passing exactly when the bet does.
 *
 * @param least The smallest possible value of a unit: 0 for rates, -1 for differences.
 */
export function sequentialBounds(
  blocks: readonly (readonly Sample[])[],
  rule: SequentialRule,
  least: 0 | -1,
): Bounds {
  const { lambda, alpha, beta } = rule;
  const worst = blocks.map((block) => block.map((sample) => sample.worst));
  const best = blocks.map((block) => block.map((sample) => -sample.best));
  return {
    lower: lowestMean(worst, lambda.pass, alpha, least, 1),
    upper: -lowestMean(best, -lambda.fail, beta, -1, -least),
  };
}

/** Returns the smallest mean, from `least` to `most`, with a capital below 1 / error at every look. */
function lowestMean(
  blocks: readonly (readonly number[])[],
  stake: number,
  error: number,
  least: number,
  most: number,
): number {
  const ruined = (mean: number) => {
    // A smaller stake if this one could lose more than everything.
    const safe = Math.min(stake, 1 / (mean - least));
    let capital = 0;
    for (const block of blocks) {
      for (const value of block) capital += Math.log1p(safe * (value - mean));
      if (capital >= -Math.log(error)) return true;
    }
    return false;
  };
  const range = most - least;
  return least + range * bisect((place) => !ruined(least + range * place));
}

/** The outcomes of simulated sequential gates, as shares of them. */
export interface SequentialChances extends GateChances {
  /** The mean number of units per gate. */
  readonly units: number;
}

/** Simulates sequential gates. `draw` returns one unit at a time, cell after cell. */
export function simulateGates(
  rule: SequentialRule,
  policy: CompletePolicy,
  gates: number,
  draw: (place: number) => Sample,
): SequentialChances {
  const counts = { pass: 0, fail: 0, undecided: 0 };
  let units = 0;
  const block: Sample[] = [];
  for (let gate = 0; gate < gates; gate++) {
    const bets = new Bets(rule, hypothesesOf(policy));
    while (bets.decision === undefined && bets.units < rule.largestSize) {
      for (let place = 0; place < rule.blockSize; place++) block[place] = draw(place);
      bets.look(block);
    }
    counts[bets.decision ?? "undecided"]++;
    units += bets.units;
  }
  const shareOf = (count: number) => count / gates;
  return {
    pass: shareOf(counts.pass),
    fail: shareOf(counts.fail),
    undecided: shareOf(counts.undecided),
    units: units / gates,
  };
}

const SOLVED: Sample = { worst: 1, best: 1 };
const TIED: Sample = { worst: 0, best: 0 };
const LOST: Sample = { worst: -1, best: -1 };

/** Draws the result on one graph for a model with this success rate. */
export function drawOutcome(prng: Prng, rate: number): Sample {
  return prng() < rate ? SOLVED : TIED;
}

/** Draws the difference on one graph; exactly one of the models solves it with probability `discordance`. */
export function drawDifference(prng: Prng, discordance: number, difference: number): Sample {
  const place = prng();
  if (place < (discordance + difference) / 2) return SOLVED;
  return place < discordance ? LOST : TIED;
}
