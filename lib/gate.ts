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
  /** Trials that are no `invalid` ones. */
  readonly valid: number;
  /** Trials, invalid ones too. */
  readonly trials: number;
}

/** The numbers under a verdict. */
export interface Evidence extends Bounds {
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials that are no `invalid` ones. */
  readonly valid: number;
  /** Trials that infrastructure spoiled. */
  readonly invalid: number;
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
    /** How many more trials would probably decide; `null` when no number of them would. */
    readonly moreTrials: number | null;
  }
  | { readonly kind: "invalid"; readonly reason: string; readonly evidence?: Evidence };

/** The kinds of verdicts, the worst first. */
export const VERDICT_KINDS = ["fail", "invalid", "undecided", "pass"] as const;

/**
 * Decides an absolute gate of fixed size: it passes when the lower bound reaches
 * `successRate - margin`, fails when the upper bound is below `successRate`, and is undecided
 * otherwise. It is invalid without trials or with too few valid ones among the `planned`.
 *
 * Bounds are Clopper and Pearson's when every graph was run once. Repetitions of a graph are not
 * independent, so then the bounds are those of bets on graph means, where a graph without a valid
 * trial counts as the worst case of each.
 *
 * @example Usage
 * ```ts
 * import { decide } from "./gate.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const units = Array.from({ length: 200 }, (_, n) => ({ solved: n < 190 ? 1 : 0, valid: 1, trials: 1 }));
 * assertEquals(decide(units, 200, { successRate: 0.9 }).kind, "pass");
 * assertEquals(decide(units, 200, { successRate: 0.99, margin: 0 }).kind, "fail");
 * assertEquals(decide([], 200, { successRate: 0.9 }).kind, "invalid");
 * ```
 */
export function decide(units: readonly Unit[], planned: number, policy: RatePolicy): Verdict {
  const { successRate, margin, confidence, coverage } = completePolicy(policy);
  const valid = sum(units, (unit) => unit.valid);
  const trials = sum(units, (unit) => unit.trials);
  if (planned === 0 || trials === 0) return { kind: "invalid", reason: "there are no trials" };
  if (valid === 0) return { kind: "invalid", reason: `all ${trials} trials are invalid` };
  const evidence = weigh(units, confidence);
  if (valid < coverage * planned) {
    return {
      kind: "invalid",
      reason: `${valid} of ${planned} planned trials are valid, ` +
        `fewer than the coverage of ${percent(coverage)} asks for`,
      evidence,
    };
  }
  const floor = successRate - margin;
  if (evidence.lower >= floor) return { kind: "pass", evidence };
  if (evidence.upper < successRate) return { kind: "fail", evidence };
  return { kind: "undecided", evidence, moreTrials: moreTrials(evidence, policy) };
}

function weigh(units: readonly Unit[], confidence: number): Evidence {
  const solved = sum(units, (unit) => unit.solved);
  const valid = sum(units, (unit) => unit.valid);
  const trials = sum(units, (unit) => unit.trials);
  const counts = { solved, valid, invalid: trials - valid, rate: solved / valid };
  if (units.every((unit) => unit.trials === 1)) {
    return { ...counts, ...clopperPearson(solved, valid, confidence), method: "clopper-pearson" };
  }
  const means = (worst: number) =>
    units.map((unit) => unit.valid === 0 ? worst : unit.solved / unit.valid);
  return {
    ...counts,
    lower: bettingLowerBound(means(0), confidence),
    upper: 1 - bettingLowerBound(means(1).map((mean) => 1 - mean), confidence),
    method: "betting",
  };
}

/** The largest number of trials that is thought about. */
const MOST_TRIALS = 1_000_000;

/** At the rate seen so far, how many more trials until the exact bounds decide. */
function moreTrials({ rate, valid }: Evidence, policy: RatePolicy): number | null {
  const { successRate, margin, confidence } = completePolicy(policy);
  const decides = (trials: number) => {
    const { lower, upper } = clopperPearson(Math.round(rate * trials), trials, confidence);
    return lower >= successRate - margin || upper < successRate;
  };
  let above = valid;
  while (!decides(above)) {
    above *= 2;
    if (above > MOST_TRIALS) return null;
  }
  let below = valid;
  while (above - below > 1) {
    const middle = Math.floor((above + below) / 2);
    if (decides(middle)) above = middle;
    else below = middle;
  }
  return Math.max(1, above - valid);
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
 * assertStringIncludes(describeVerdict(decide([], 10, policy), policy), "INVALID");
 * ```
 */
export function describeVerdict(verdict: Verdict, policy: RatePolicy): string {
  const { successRate, margin, confidence } = completePolicy(policy);
  const asked = `a success rate of ${percent(successRate)}` +
    (margin === 0 ? "" : `, or at most ${points(margin)} below it`);
  const { kind, evidence } = verdict;
  const seen = evidence === undefined
    ? ""
    : `${evidence.solved} of ${evidence.valid} valid trials were solved ` +
      `(${percent(evidence.rate)}); the true rate is at least ${percent(evidence.lower)} and at ` +
      `most ${percent(evidence.upper)}, each with ${percent(confidence)} confidence` +
      (evidence.method === "betting" ? " (by graph, as graphs were repeated)" : "") + "." +
      (evidence.invalid === 0 ? "" : ` ${evidence.invalid} invalid trials do not count.`);
  switch (kind) {
    case "pass":
      return `PASS: the model shows ${asked}. ${seen}`;
    case "fail":
      return `FAIL: the model does not show ${asked}. ${seen}`;
    case "undecided":
      return `UNDECIDED: these trials cannot tell whether the model has ${asked}. ${seen} ` +
        (verdict.moreTrials === null
          ? "At this rate no number of further trials would decide."
          : `At this rate about ${verdict.moreTrials} further trials would decide.`);
    case "invalid":
      return `INVALID: nothing can be said, as ${verdict.reason}.${seen === "" ? "" : ` ${seen}`}`;
  }
}

function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

function points(share: number): string {
  return `${Number((100 * share).toFixed(1))} points`;
}
