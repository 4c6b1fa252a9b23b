/**
 * The gate: whether a model's success rate is good enough, with known error rates, and an honest
 * "undecided" where the trials cannot tell.
 * @module
 */

import { z } from "zod";
import { bettingLowerBound, type Bounds, clopperPearson } from "./statistics.ts";

/** What an absolute gate asks for, as users write it. */
export interface RatePolicy {
  /** The success rate that is wanted, above 0, at most 1. */
  readonly successRate: number;
  /** How far below it is still good enough, from 0, below `successRate`; default 0.05. */
  readonly margin?: number;
  /** The confidence of each one-sided bound; default 0.95. */
  readonly confidence?: number;
  /** The share of the planned trials that must be valid; default 0.95. */
  readonly coverage?: number;
  /** What an undecided gate does to `deno test`; default `fail`. */
  readonly undecided?: "fail" | "pass";
}

/** The policy as suites and plans hold it. */
export const RATE_POLICY: z.ZodType<RatePolicy> = z.strictObject({
  successRate: z.number().gt(0).max(1),
  margin: z.number().min(0).lt(1).exactOptional(),
  confidence: z.number().gt(0.5).lt(1).exactOptional(),
  coverage: z.number().gt(0).max(1).exactOptional(),
  undecided: z.enum(["fail", "pass"]).exactOptional(),
}).refine(({ successRate, margin = 0.05 }) => margin < successRate, {
  message: "margin (default 0.05) must be below successRate",
  path: ["margin"],
});

/** A policy with its defaults. */
export type CompleteRatePolicy = Required<RatePolicy>;

/** The defaults of a policy filled in; its values are checked where they are read. */
export function completePolicy(policy: RatePolicy): CompleteRatePolicy {
  return { margin: 0.05, confidence: 0.95, coverage: 0.95, undecided: "fail", ...policy };
}

/** The independent unit: one graph with all its trials. */
export interface Unit {
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials that ended, and not as `invalid`. */
  readonly valid: number;
  /** Planned trials: valid, invalid and missing ones. */
  readonly trials: number;
}

/** The numbers under a verdict. */
export interface Evidence extends Bounds {
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials that are no `invalid` ones. */
  readonly valid: number;
  /** Planned trials that are invalid or missing. */
  readonly unknown: number;
  /** The share of valid trials that were solved. */
  readonly rate: number;
  /** How the bounds were found: exactly, or by bets on the means of repeated graphs. */
  readonly method: "clopper-pearson" | "betting";
}

/** What a gate says. Everything but `invalid` comes with its evidence. */
export type Verdict =
  | { readonly kind: "pass" | "fail"; readonly evidence: Evidence }
  | {
    readonly kind: "undecided";
    readonly evidence: Evidence;
    /** How many more trials would probably decide; `null` when a million would not. */
    readonly moreTrials: number | null;
  }
  | { readonly kind: "invalid"; readonly reason: string; readonly evidence?: Evidence };

/** The kinds of verdicts, the worst first. */
export const VERDICT_KINDS = ["fail", "invalid", "undecided", "pass"] as const;

/**
 * Decides an absolute gate of fixed size: it passes when the lower bound reaches
 * `successRate - margin`, fails when the upper bound is below `successRate`, and is undecided
 * otherwise. It is invalid without trials or with too few valid ones.
 *
 * Bounds are Clopper and Pearson's when every graph is run once. Repetitions of a graph are not
 * independent, so then the bounds are those of bets on graph means. What is invalid or missing counts
 * as the worst case of each bound: trials fail to end for reasons that may go with hard tasks, and
 * leaving them out would let a gate pass on what it did not see.
 *
 * @example Usage
 * ```ts
 * import { decide } from "./gate.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const units = Array.from({ length: 200 }, (_, n) => ({ solved: n < 190 ? 1 : 0, valid: 1, trials: 1 }));
 * assertEquals(decide(units, { successRate: 0.9 }).kind, "pass");
 * assertEquals(decide(units, { successRate: 0.99, margin: 0 }).kind, "fail");
 * assertEquals(decide([], { successRate: 0.9 }).kind, "invalid");
 * ```
 */
export function decide(units: readonly Unit[], policy: RatePolicy): Verdict {
  const { successRate, margin, confidence, coverage } = completePolicy(policy);
  const valid = sum(units, (unit) => unit.valid);
  const trials = sum(units, (unit) => unit.trials);
  if (trials === 0) return { kind: "invalid", reason: "there are no trials" };
  if (valid === 0) return { kind: "invalid", reason: `none of ${trials} planned trials is valid` };
  const evidence = weigh(units, confidence);
  // The smallest part of a trial is no reason, where the product is not exact.
  if (valid < coverage * trials - 1e-9) {
    return {
      kind: "invalid",
      reason: `${valid} of ${trials} planned trials are valid, ` +
        `fewer than the coverage of ${percent(coverage)} asks for`,
      evidence,
    };
  }
  const floor = successRate - margin;
  if (evidence.lower >= floor) return { kind: "pass", evidence };
  if (evidence.upper < successRate) return { kind: "fail", evidence };
  return { kind: "undecided", evidence, moreTrials: moreTrials(units, policy) };
}

/** Counts the units and finds the bounds, as if there were `copies` times as many of the same. */
function weigh(units: readonly Unit[], confidence: number, copies = 1): Evidence {
  const solved = sum(units, (unit) => unit.solved);
  const valid = sum(units, (unit) => unit.valid);
  const trials = sum(units, (unit) => unit.trials);
  const counts = { solved, valid, unknown: trials - valid, rate: solved / valid };
  if (units.every((unit) => unit.trials === 1)) {
    const grown = Math.round(copies * trials);
    const bound = (successes: number) =>
      clopperPearson(Math.round(grown * successes / trials), grown, confidence);
    const lower = bound(solved).lower;
    const upper = bound(solved + counts.unknown).upper;
    return { ...counts, lower, upper, method: "clopper-pearson" };
  }
  const worst = units.map((unit) => unit.solved / unit.trials);
  const best = units.map((unit) => (unit.solved + unit.trials - unit.valid) / unit.trials);
  return {
    ...counts,
    lower: bettingLowerBound(worst, confidence, copies),
    upper: 1 - bettingLowerBound(best.map((mean) => 1 - mean), confidence, copies),
    method: "betting",
  };
}

/** The largest number of trials that is thought about. */
const MOST_TRIALS = 1_000_000;

/** If all went on as so far, how many more trials until the bounds decide. */
function moreTrials(units: readonly Unit[], policy: RatePolicy): number | null {
  const { successRate, margin, confidence } = completePolicy(policy);
  const planned = sum(units, (unit) => unit.trials);
  const decides = (trials: number) => {
    const { lower, upper } = weigh(units, confidence, trials / planned);
    return lower >= successRate - margin || upper < successRate;
  };
  let [below, above] = [planned, 2 * planned];
  while (!decides(above)) {
    if (above > MOST_TRIALS) return null;
    [below, above] = [above, 2 * above];
  }
  while (above - below > 1) {
    const middle = Math.floor((above + below) / 2);
    if (decides(middle)) above = middle;
    else below = middle;
  }
  return above - planned;
}

/**
 * The verdict as a paragraph that a release manager understands.
 *
 * @example Usage
 * ```ts
 * import { decide, describeVerdict } from "./gate.ts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const policy = { successRate: 0.9 };
 * assertStringIncludes(describeVerdict(decide([], policy), policy), "INVALID");
 * ```
 */
export function describeVerdict(verdict: Verdict, policy: RatePolicy): string {
  const { successRate, margin, confidence } = completePolicy(policy);
  const floor = percent(successRate - margin);
  const enough = margin === 0
    ? `at least ${floor}`
    : `at least ${floor}, which is ${percent(successRate)} less a margin of ${points(margin)}`;
  const { kind, evidence } = verdict;
  const counted = evidence === undefined
    ? ""
    : `${evidence.solved} of ${evidence.valid} valid trials were solved (${
      percent(evidence.rate)
    }).`;
  const bounded = evidence === undefined ? "" : `${counted} The true rate is at least ` +
    `${percent(Math.floor(1000 * evidence.lower) / 1000)} and at most ` +
    `${percent(Math.ceil(1000 * evidence.upper) / 1000)}, each with ${percent(confidence)} ` +
    "confidence" + (evidence.method === "betting" ? " (by graph, as graphs were repeated)" : "") +
    (evidence.unknown === 0
      ? "."
      : `; ${evidence.unknown} invalid or missing trials count as the worst case of each.`);
  switch (kind) {
    case "pass":
      return `PASS: the true success rate is ${enough}. ${bounded}`;
    case "fail":
      return `FAIL: the true success rate is below ${percent(successRate)}. ${bounded}`;
    case "undecided":
      return `UNDECIDED: these trials cannot tell whether the true success rate is ${enough}. ` +
        `${bounded} ` +
        (verdict.moreTrials === null
          ? "If it went on like this, not even a million trials would decide."
          : `If it went on like this, about ${verdict.moreTrials} further trials would decide.`);
    case "invalid":
      return `INVALID: nothing can be said, as ${verdict.reason}. ${counted}`.trimEnd();
  }
}

function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

/** A share in percent, with enough decimals for what is not all, or none, not to look so. */
export function percent(share: number): string {
  let decimals = 1;
  const shown = () => Number((100 * share).toFixed(decimals));
  while (decimals < 8 && ((shown() === 100 && share < 1) || (shown() === 0 && share > 0))) {
    decimals++;
  }
  return `${(100 * share).toFixed(decimals)}%`;
}

function points(share: number): string {
  return `${Number((100 * share).toFixed(1))} points`;
}
