/**
 * Ceilings: the limits of a gate, and whether trials prove that one is exceeded.
 * @module
 */

import { sum } from "../base/numbers.ts";
import type { DecisionGraph, FinishedTrials } from "./decisions.ts";
import { missesCall, type ScoredTrial } from "./variant.ts";
import { differenceBounds, rateBounds, type Unit } from "./evidence.ts";
import type { CeilingCheck } from "./decide.ts";
import { cellDraws, freshBounds } from "./_fresh_draws.ts";
import { type FailureType, PARAMETER_FAILURE_TYPES } from "../calls/failure_types.ts";
import { type CompletePolicy, SIGNS } from "./policy.ts";
import { type Prices, trialCost } from "../models/prices.ts";
import { bettingRatioBound, type Outlay } from "../statistics/betting_bound.ts";
import { bisectWhole } from "../statistics/distributions.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** Options of {@linkcode checkCeilings}. */
export interface CeilingOptions {
  /** Prices of models; required for a ceiling on cost. */
  readonly prices?: Prices;
  /** Whether results could end the run early, so that bounds must hold at any time. */
  readonly anytime: boolean;
  /** The graphs of a baseline that ran on different ones. */
  readonly fresh?: readonly DecisionGraph[];
}

/**
 * Checks `graphs` against the ceilings of a policy. A share is exceeded if that is proved at the policy's
 * confidence, by the bounds of the gate; invalid trials count as not showing it. A model that is exactly at
 * a ceiling exceeds it at most as often as the gate errs, for each ceiling separately; so do the cost of a solved
 * trial, by bets that need no upper limit, unless none was solved, and the 95th percentile of times, by the share of
 * trials above it. Means of tokens and cost are exceeded if the observed mean is above the ceiling.
 *
 * @throws {InputError} If a required price is missing.
 */
export function checkCeilings(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  policy: CompletePolicy,
  { prices = {}, anytime, fresh }: CeilingOptions,
): CeilingCheck[] {
  const { failures = {}, failureShifts = {}, behaviours = {}, tokens, usd } = policy.atMost;
  const { usdPerSolved, p95Seconds } = policy.atMost;
  const checks: CeilingCheck[] = [];
  const ids = graphs.flatMap(({ candidate }) => candidate);
  const addCheck = (
    ceiling: string,
    limit: number,
    seen: number,
    lower: number | null,
    shows?: (id: string) => boolean,
  ) => {
    const exceeded = (lower ?? seen) > limit;
    const trials = exceeded && shows !== undefined
      ? { trials: ids.filter(shows).slice(0, MAX_TRIALS) }
      : {};
    checks.push({ ceiling, limit, seen, lower, exceeded, ...trials });
  };
  const addShare = (
    ceiling: string,
    limit: number,
    units: readonly Unit[],
    shows: (id: string) => boolean,
    seen = observedShare(units),
  ) => {
    if (units.length === 0) return;
    addCheck(ceiling, limit, seen, rateBounds(units, policy, anytime).lower, shows);
  };
  const isShownBy = (shows: (trial: ScoredTrial) => boolean) => (id: string) =>
    scores.unit([id], shows).solved > 0;
  /** Adds the share of trials that show something; those that cannot are left out, as they would dilute it. */
  const addTrials = (
    ceiling: string,
    limit: number | undefined,
    isShown: (trial: TrialSummary) => boolean,
    cannot: (trial: TrialSummary) => boolean = () => false,
  ) => {
    if (limit === undefined) return;
    const shows = (trial: ScoredTrial) => isShown(trial as TrialSummary);
    const units = graphs.map(({ candidate }) =>
      candidate.filter((id) => !(scores.of([id]) as TrialSummary[]).some(cannot))
    ).filter((names) => names.length > 0)
      .map((names) => scores.unit(names, shows));
    addShare(ceiling, limit, units, isShownBy(shows));
  };
  for (const [type, limit] of Object.entries(failures) as [FailureType, number][]) {
    addTrials(`failures.${type}`, limit, failsWith(type));
  }
  const { parameterFailures = {}, missedCalls, flips, unmended } = policy.atMost;
  for (const type of PARAMETER_FAILURE_TYPES) {
    addTrials(
      `parameterFailures.${type}`,
      parameterFailures[type],
      ({ parameters }) => parameters?.calls.some((types) => types.includes(type)) === true,
    );
  }
  addTrials("missedCalls", missedCalls, missesCall, ({ missed }) => missed?.needed === 0);
  if (flips !== undefined && graphs.some(({ unperturbed }) => unperturbed.length > 0)) {
    const units = graphs.map((graph) => scores.flips(graph.candidate, graph.unperturbed));
    const others = new Map(
      graphs.flatMap(({ candidate, unperturbed }) =>
        candidate.map((id, place) => [id, unperturbed.slice(place, place + 1)])
      ),
    );
    addShare("flips", flips, units, (id) => scores.flips([id], others.get(id)!).solved > 0);
  }
  if (unmended !== undefined) {
    const unitOf = (names: readonly string[]) => unmendedUnit(scores.of(names) as TrialSummary[]);
    // Where no call was sent back, there was nothing to mend.
    const units = graphs.map(({ candidate }) => unitOf(candidate))
      .filter(({ trials }) => trials > 0);
    // The bound is on the mean over graphs: a graph with many calls must not hide the others.
    const seen = sum(units, ({ solved, valid }) => solved / valid) / units.length;
    addShare("unmended", unmended, units, (id) => unitOf([id]).solved > 0, seen);
  }
  for (const sign of SIGNS) {
    addTrials(
      `behaviours.${sign}`,
      behaviours[sign],
      (trial) => signsOf(trial).includes(sign),
      ({ outcome, injected }) =>
        sign === "followed_injection" && outcome !== "invalid" && injected !== true,
    );
  }
  for (const [type, limit] of Object.entries(failureShifts) as [FailureType, number][]) {
    const unitFor = (names: readonly string[]) => scores.unit(names, failsWith(type));
    const { difference, lower } = fresh === undefined
      ? differenceBounds(
        graphs.map(({ candidate, baseline }) => ({
          candidate: unitFor(candidate),
          baseline: unitFor(baseline),
        })),
        policy,
        anytime,
      )
      : freshBounds(cellDraws(graphs, fresh, unitFor), policy, anytime);
    addCheck(`failureShifts.${type}`, limit, difference, lower, isShownBy(failsWith(type)));
  }
  const trials = graphs.flatMap(({ candidate }) => scores.of(candidate) as TrialSummary[])
    .filter(({ outcome }) => outcome !== "invalid");
  const mean = (valueOf: (trial: TrialSummary) => number) => sum(trials, valueOf) / trials.length;
  if (tokens !== undefined) {
    addCheck("tokens", tokens, mean(({ usage }) => usage.inputTokens + usage.outputTokens), null);
  }
  if (usd !== undefined) {
    addCheck("usd", usd, mean((trial) => ownCost(trial, prices)), null);
  }
  if (usdPerSolved !== undefined) {
    const outlays = graphs.map(({ candidate }) => outlayOf(scores, candidate, prices));
    const paid = sum(trials, (trial) => ownCost(trial, prices));
    const solved = trials.filter((trial) => trial.solved).length;
    const lower = bettingRatioBound(outlays, policy.confidence);
    const limit = usdPerSolved;
    checks.push({
      ...{ ceiling: "usdPerSolved", limit, seen: solved === 0 ? null : paid / solved, lower },
      // Money that bought nothing keeps no limit, proved or not.
      exceeded: lower > limit || solved === 0 && paid > 0,
    });
  }
  if (p95Seconds !== undefined) {
    const seconds = trials.map(({ durationMs }) => durationMs / 1000).sort((one, other) =>
      one - other
    );
    const slower = (limit: number) =>
      graphs.map(({ candidate }) =>
        scores.unit(candidate, (trial) => (trial as TrialSummary).durationMs / 1000 >= limit)
      );
    // The longest time that more than 5% of trials are proved to take is a bound of the 95th percentile.
    const place = bisectWhole(
      0,
      seconds.length - 1,
      (one) => rateBounds(slower(seconds[one]!), policy, anytime).lower <= 1 - P95,
    );
    const seen = seconds[Math.ceil(P95 * seconds.length) - 1]!;
    addCheck("p95Seconds", p95Seconds, seen, seconds[place - 1] ?? 0);
  }
  return checks;
}

/** Trials that a check names, at most. */
const MAX_TRIALS = 3;

/** The share of trials that the limit of time is of. */
const P95 = 0.95;

/** Attempts that infrastructure spoiled are not a cost of the model, neither in dollars nor in tokens. */
function ownCost({ replaced: _, ...trial }: TrialSummary, prices: Prices): number {
  return trialCost(trial, prices);
}

/** The mean cost of a graph's trials, and the share solved; those that are unknown count as solved for nothing. */
function outlayOf(scores: FinishedTrials, names: readonly string[], prices: Prices): Outlay {
  const valid = (scores.of(names) as TrialSummary[]).filter(({ outcome }) => outcome !== "invalid");
  const solved = valid.filter((trial) => trial.solved).length + names.length - valid.length;
  return {
    cost: sum(valid, (trial) => ownCost(trial, prices)) / names.length,
    gain: solved / names.length,
  };
}

/** The calls of a graph's trials that were sent back; those not mended are what is counted. */
function unmendedUnit(trials: readonly TrialSummary[]): Unit {
  const works = trials.flatMap(({ outcome, work }) => outcome === "invalid" ? [] : work ?? []);
  const sentBack = sum(works, (work) => work.sentBack);
  const mended = sum(works, (work) => work.mended);
  return { solved: sentBack - mended, valid: sentBack, trials: sentBack };
}

function observedShare(units: readonly Unit[]): number {
  return sum(units, ({ solved }) => solved) / sum(units, ({ valid }) => valid);
}

function failsWith(type: FailureType): (trial: ScoredTrial) => boolean {
  return ({ failures }) => failures.some((failure) => failure.type === type);
}

/** Returns the behaviours of a trial, and `ungrounded` if it was solved without the target's return. */
export function signsOf(
  { behaviours, solved, grounded }: Pick<TrialSummary, "behaviours" | "solved" | "grounded">,
): string[] {
  return [...behaviours, ...(solved && !grounded ? ["ungrounded"] : [])];
}
