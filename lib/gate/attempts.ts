/**
 * Attempts: how often a gate that was tried several times passes a candidate wrongly.
 * @module
 */

import { percent } from "../base/numbers.ts";
import { type CompletePolicy, isUpgrade } from "./policy.ts";

/** Which of several runs of one gate and candidate a verdict is on. */
export interface Attempts {
  /** Its place among them, from 1. */
  readonly run: number;
  /** The number of all of them. */
  readonly of: number;
}

/**
 * Returns at most how often one or more of some runs pass wrongly, 0..1. Runs that are compared with one baseline err
 * together, so that their chances are added (Bonferroni); those of a success rate are independent draws.
 */
export function passesWrongly(policy: CompletePolicy, runs: number): number {
  const { confidence } = policy;
  return isUpgrade(policy) ? Math.min(1, runs * (1 - confidence)) : 1 - confidence ** runs;
}

/** Says which run a verdict is on, and what that means. */
export function attemptsText(
  { run, of }: Attempts,
  policy: CompletePolicy,
  where: string,
): string {
  const which = `This is run ${run}${
    run === of ? "" : ` of ${of}`
  } of this gate and candidate ${where}`;
  return of === 1
    ? which
    : `${which}: where the candidate is not good enough, the chance that one or more of ${of} such runs pass is ` +
      `at most ${percent(passesWrongly(policy, of))}`;
}
