/**
 * Cases: what a gate claims of each case of a suite of own tests.
 *
 * Cases are fixed, and trials of a case are independent draws, so that each case has a rate of its own.
 * @module
 */

import { rateBounds, sumUnits, type Unit } from "./evidence.ts";
import type { CompletePolicy } from "./policy.ts";
import { binomialUpperTail } from "../statistics/distributions.ts";
import { type Bounds, clopperPearson } from "../statistics/proportions.ts";

/** One case of a variant, with the trials of it. */
export interface CaseUnits {
  /** Its name. */
  readonly case: string;
  /** Its trials, each a unit. */
  readonly units: readonly Unit[];
}

/** The check of one case against `every`. */
export interface CaseCheck extends Bounds {
  /** The name of the case. */
  readonly case: string;
  /** Whether its rate is proved to reach the floor, or to be below it. */
  readonly kind: "pass" | "fail" | "undecided";
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials whose outcome is not `invalid`. */
  readonly valid: number;
  /** Planned trials. */
  readonly trials: number;
  /** The lower bound of its rate, at the gate's confidence; invalid trials count as failed. */
  readonly lower: number;
  /** The upper bound, adjusted for the number of cases (Holm); invalid trials count as solved. */
  readonly upper: number;
}

/**
 * Checks that each case reaches a floor. All cases must be proved to, so that their lower bounds need no adjustment: a
 * suite with a case below the floor passes no more often than that case alone would (intersection-union test). One
 * case below it is enough to fail, so that upper bounds are adjusted.
 *
 * @param anytime Whether results could end the run early, so that bounds must hold at any time.
 * @see Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", 1982.
 * @see Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
 */
export function checkCases(
  cases: readonly CaseUnits[],
  floor: number,
  policy: CompletePolicy,
  anytime: boolean,
): CaseCheck[] {
  const boundsAt = (units: readonly Unit[], confidence: number) =>
    rateBounds(units, { ...policy, confidence }, anytime);
  const error = 1 - policy.confidence;
  const uppers = cases.map(({ units }) => boundsAt(units, 1 - error / cases.length).upper);
  const order = uppers.map((_, place) => place).sort((one, other) => uppers[one]! - uppers[other]!);
  // Each case that is proved to be below the floor leaves fewer to adjust for; the others cannot come before it.
  let [proved, largest] = [0, 0];
  for (const place of order) {
    const { upper } = boundsAt(cases[place]!.units, 1 - error / (cases.length - proved));
    largest = Math.max(largest, upper);
    uppers[place] = largest;
    if (largest < floor) proved++;
  }
  return cases.map(({ case: name, units }, place): CaseCheck => {
    const { lower } = boundsAt(units, policy.confidence);
    return {
      case: name,
      kind: uppers[place]! < floor ? "fail" : lower >= floor ? "pass" : "undecided",
      ...sumUnits(units),
      lower,
      upper: uppers[place]!,
    };
  });
}

/** Returns what the checks say together. */
export function casesKind(checks: readonly CaseCheck[]): CaseCheck["kind"] {
  if (checks.some(({ kind }) => kind === "fail")) return "fail";
  return checks.every(({ kind }) => kind === "pass") ? "pass" : "undecided";
}

/** Returns the fewest trials of a case that prove it to reach a floor if all of them are solved. */
export function fewestClean(floor: number, confidence: number): number {
  // As a product of chances it is floor^n; the bound itself decides, so that the two never disagree.
  let trials = Math.max(1, Math.floor(Math.log(1 - confidence) / Math.log(floor)) - 1);
  while (clopperPearson(trials, trials, confidence).lower < floor) trials++;
  return trials;
}

/** Returns how many failed trials a case may have and still be proved to reach a floor; -1 if it never is. */
export function mostFailed(trials: number, floor: number, confidence: number): number {
  // Failures are as rare as the floor is high: few steps.
  let failed = -1;
  while (binomialUpperTail(trials - failed - 1, trials, floor) <= 1 - confidence) failed++;
  return failed;
}
