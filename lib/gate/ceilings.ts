/**
 * Ceilings: what a gate allows at most, and whether trials prove that it is exceeded.
 * @module
 */

import type { DecisionGraph, FinishedTrials } from "./decisions.ts";
import type { ScoredTrial } from "./variant.ts";
import { differenceBounds, rateBounds, sum, type Unit } from "./evidence.ts";
import type { CeilingCheck } from "./decide.ts";
import { type FailureType, PARAMETER_FAILURE_TYPES } from "../calls/failure_types.ts";
import { type CompletePolicy, SIGNS } from "./policy.ts";
import { type Prices, trialCost } from "../models/prices.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** Options of {@linkcode checkCeilings}. */
export interface CeilingOptions {
  /** Needed for a ceiling of cost. */
  readonly prices?: Prices;
  /** Whether the trials were ended by what they showed, so that bounds must hold at any time. */
  readonly anytime: boolean;
}

/**
 * Holds `graphs` against the ceilings of a policy. A share is exceeded when that is proved at the
 * policy's confidence, by the bounds of the gate, what is invalid counting as not showing it: each
 * ceiling by itself is exceeded by a model that is just at it at most as often as the gate errs. Means of
 * tokens and cost, which have no largest value, are exceeded when what was seen is above them.
 *
 * @throws {InputError} If a price is needed and not there.
 */
export function checkCeilings(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  policy: CompletePolicy,
  { prices = {}, anytime }: CeilingOptions,
): CeilingCheck[] {
  const { failures = {}, failureShifts = {}, behaviours = {}, tokens, usd } = policy.atMost;
  const checks: CeilingCheck[] = [];
  const weigh = (ceiling: string, limit: number, seen: number, lower: number | null) => {
    checks.push({ ceiling, limit, seen, lower, exceeded: (lower ?? seen) > limit });
  };
  const shareOf = (shows: (trial: ScoredTrial) => boolean) => {
    const units = graphs.map(({ candidate }) => scores.unit(candidate, shows));
    return { seen: seenIn(units), lower: rateBounds(units, policy, anytime).lower };
  };
  for (const [type, limit] of Object.entries(failures) as [FailureType, number][]) {
    const { seen, lower } = shareOf(fails(type));
    weigh(`failures.${type}`, limit, seen, lower);
  }
  const { parameterFailures = {}, flips } = policy.atMost;
  for (const type of PARAMETER_FAILURE_TYPES) {
    const limit = parameterFailures[type];
    if (limit === undefined) continue;
    const { seen, lower } = shareOf((trial) =>
      (trial as TrialSummary).parameters?.calls.some((types) => types.includes(type)) === true
    );
    weigh(`parameterFailures.${type}`, limit, seen, lower);
  }
  if (flips !== undefined && graphs.some(({ unperturbed }) => unperturbed.length > 0)) {
    const units = graphs.map((graph) => scores.flips(graph.candidate, graph.unperturbed));
    weigh("flips", flips, seenIn(units), rateBounds(units, policy, anytime).lower);
  }
  for (const sign of SIGNS) {
    const limit = behaviours[sign];
    if (limit === undefined) continue;
    const { seen, lower } = shareOf((trial) => signsOf(trial as TrialSummary).includes(sign));
    weigh(`behaviours.${sign}`, limit, seen, lower);
  }
  for (const [type, limit] of Object.entries(failureShifts) as [FailureType, number][]) {
    const pairs = graphs.map(({ candidate, baseline }) => ({
      candidate: scores.unit(candidate, fails(type)),
      baseline: scores.unit(baseline, fails(type)),
    }));
    const { difference, lower } = differenceBounds(pairs, policy, anytime);
    weigh(`failureShifts.${type}`, limit, difference, lower);
  }
  const trials = graphs.flatMap(({ candidate }) => scores.of(candidate) as TrialSummary[])
    .filter(({ outcome }) => outcome !== "invalid");
  const mean = (valueOf: (trial: TrialSummary) => number) => sum(trials, valueOf) / trials.length;
  if (tokens !== undefined) {
    weigh("tokens", tokens, mean(({ usage }) => usage.inputTokens + usage.outputTokens), null);
  }
  if (usd !== undefined) {
    // What infrastructure spoiled is no cost of the model, in dollars as in tokens.
    weigh("usd", usd, mean(({ replaced: _, ...trial }) => trialCost(trial, prices)), null);
  }
  return checks;
}

function seenIn(units: readonly Unit[]): number {
  return sum(units, ({ solved }) => solved) / sum(units, ({ valid }) => valid);
}

function fails(type: FailureType): (trial: ScoredTrial) => boolean {
  return ({ failures }) => failures.some((failure) => failure.type === type);
}

/** The behaviours of a trial, and whether it was solved without the target's return. */
export function signsOf(
  { behaviours, solved, grounded }: Pick<TrialSummary, "behaviours" | "solved" | "grounded">,
): string[] {
  return [...behaviours, ...(solved && !grounded ? ["ungrounded"] : [])];
}
