/**
 * Checks of ceilings: whether trials prove that one is exceeded, and why that cannot be seen.
 * @module
 */

import { mean, sum } from "../base/numbers.ts";
import { commonKinds } from "../base/text_kind.ts";
import type { Prices } from "../models/prices.ts";
import { bettingRatioBound } from "../statistics/betting_bound.ts";
import { bisectWhole } from "../statistics/distributions.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { cellDraws, FRESH_DRAWS } from "./_fresh_draws.ts";
import { type CeilingMeasure, ceilingsOf, isValid, type LimitedCeiling } from "./ceilings.ts";
import type { CeilingCheck } from "./decide.ts";
import type { DecisionGraph, FinishedTrials } from "./decisions.ts";
import { DIFFERENCES, evidenceOf, rateBounds, rateOf, sumUnits } from "./evidence.ts";
import type { CompletePolicy } from "./policy.ts";
import { hasFailedFirst, isCounted, isUnwatched, unwatchedText } from "./variant.ts";

/** What ceilings are checked over: the graphs of one variant. */
export interface CheckedGraphs {
  readonly graphs: readonly DecisionGraph[];
  readonly scores: FinishedTrials;
  readonly policy: CompletePolicy;
  /** The perturbation of the variant. */
  readonly perturbation: string;
  /** The graphs of a baseline that ran on different ones. */
  readonly fresh?: readonly DecisionGraph[] | undefined;
}

/** A planned trial: its id, itself if it has ended, and its trial without the perturbation. */
interface PlannedSummary {
  readonly id: string;
  readonly trial: TrialSummary | undefined;
  readonly plain: TrialSummary | undefined;
}

/** The planned trials of each graph; none without ceilings. */
function plannedOf({ graphs, scores, policy }: CheckedGraphs): PlannedSummary[][] {
  if (Object.keys(policy.atMost).length === 0) return [];
  const found = (name: string | undefined) =>
    scores.of([name ?? ""])[0] as TrialSummary | undefined;
  return graphs.map(({ candidate, unperturbed }) =>
    candidate.map((id, place) => ({ id, trial: found(id), plain: found(unperturbed[place]) }))
  );
}

/** The ceilings of a policy that are about a variant. */
function ceilingsOver({ policy, perturbation }: CheckedGraphs): LimitedCeiling[] {
  return ceilingsOf(policy.atMost)
    .filter(({ needs }) => needs?.perturbation?.(perturbation) !== false);
}

/** Trials that a check names, at most. */
const MAX_TRIALS = 3;

/**
 * Checks graphs against the ceilings of a policy. A share is exceeded if that is proved at the policy's confidence, by
 * the bounds of the gate; invalid trials count as not showing it. A model that is exactly at a ceiling exceeds it at most
 * as often as the gate errs, for each ceiling separately; so do the cost of a solved trial, by bets that need no upper
 * limit, unless none was solved, and the 95th percentile of times, by the share of trials above it. Means of tokens and
 * cost are exceeded if the observed mean is above the ceiling.
 *
 * @param anytime Whether results could end the run early, so that bounds must hold at any time.
 * @throws {InputError} If a required price is missing.
 */
export function checkCeilings(
  over: CheckedGraphs,
  anytime: boolean,
  prices: Prices = {},
): CeilingCheck[] {
  const planned = plannedOf(over);
  return ceilingsOver(over).flatMap(({ path, limit, measure }) => {
    const found = measured(measure, planned, over, anytime, prices);
    if (found === undefined) return [];
    const { seen, lower, isVain = false, shows = () => false } = found;
    const exceeded = isVain || (lower ?? seen!) > limit;
    const showing = exceeded ? planned.flat().filter(shows).slice(0, MAX_TRIALS) : [];
    const trials = showing.length === 0 ? undefined : showing.map(({ id }) => id);
    return [{ ceiling: path, limit, seen, lower, exceeded, trials }];
  });
}

/** What trials say of a ceiling. */
interface Measured extends Pick<CeilingCheck, "seen" | "lower"> {
  /** Whether it is exceeded whatever the limit, as something was paid for nothing. */
  readonly isVain?: boolean;
  /** Whether a trial shows it; omitted for what no single one shows. */
  readonly shows?: (planned: PlannedSummary) => boolean;
}

/** Measures a ceiling; `undefined` if there is nothing to look at. */
function measured(
  measure: CeilingMeasure,
  planned: readonly (readonly PlannedSummary[])[],
  { graphs, scores, policy, fresh }: CheckedGraphs,
  anytime: boolean,
  prices: Prices,
): Measured | undefined {
  const validOf = (own: readonly PlannedSummary[]) => own.map(({ trial }) => trial).filter(isValid);
  const valid = validOf(planned.flat());
  switch (measure.of) {
    case "share": {
      const tally = ({ trial, plain }: PlannedSummary) => measure.tally(trial, plain);
      const units = planned.map((own) => sumUnits(own.map(tally)))
        .filter(({ trials }) => trials > 0);
      if (units.length === 0) return undefined;
      const { solved, valid } = sumUnits(units);
      const seen = measure.isMeanOfGraphs
        ? mean(units.map((unit) => unit.solved / unit.valid))
        : solved / valid;
      const { lower } = rateBounds(units, policy, anytime);
      return { seen, lower, shows: (one) => tally(one).solved > 0 };
    }
    case "shift": {
      const shows = ({ trial }: PlannedSummary) => isValid(trial) && measure.shows(trial);
      const unitFor = (names: readonly string[]) => scores.unit(names, measure.shows);
      const pairs = graphs.map(({ candidate, baseline }) => ({
        candidate: unitFor(candidate),
        baseline: unitFor(baseline),
      }));
      const evidence = fresh === undefined
        ? evidenceOf(pairs, DIFFERENCES, policy, anytime)
        : evidenceOf(cellDraws(graphs, fresh, unitFor), FRESH_DRAWS, policy, anytime);
      return { seen: rateOf(evidence), lower: evidence.lower, shows };
    }
    case "mean":
      return { seen: mean(valid.map((trial) => measure.amount(trial, prices))), lower: null };
    case "price": {
      const amountOf = (trials: readonly TrialSummary[]) =>
        sum(trials, (trial) => measure.amount(trial, prices));
      // Trials that are unknown count as solved for nothing.
      const outlays = planned.map((own) => {
        const known = validOf(own);
        const failed = known.filter(({ solved }) => !solved).length;
        return { cost: amountOf(known) / own.length, gain: 1 - failed / own.length };
      });
      const paid = amountOf(valid);
      const solved = valid.filter((trial) => trial.solved).length;
      return {
        seen: solved === 0 ? null : paid / solved,
        lower: bettingRatioBound(outlays, policy.confidence),
        // Money that bought nothing keeps no limit, proved or not.
        isVain: solved === 0 && paid > 0,
      };
    }
    case "percentile": {
      const amounts = valid.map(measure.amount).sort((one, other) => one - other);
      const least = (limit: number) =>
        rateBounds(
          planned.map((own) => {
            const known = validOf(own);
            const above = known.filter((trial) => measure.amount(trial) >= limit).length;
            return { solved: above, valid: known.length, trials: own.length };
          }),
          policy,
          anytime,
        ).lower;
      // The largest amount that more than the rest of trials are proved to reach is a bound of the percentile.
      const place = bisectWhole(
        0,
        amounts.length - 1,
        (one) => least(amounts[one]!) <= 1 - measure.share,
      );
      return {
        seen: amounts[Math.ceil(measure.share * amounts.length) - 1]!,
        lower: amounts[place - 1] ?? 0,
      };
    }
  }
}

/** Why a ceiling cannot be checked over graphs; `undefined` if all can. */
export function uncheckedCeiling(over: CheckedGraphs): string | undefined {
  const planned = plannedOf(over).flat();
  const counted = planned.flatMap(({ trial }) => trial ?? []).filter(isCounted);
  for (const { path, measure, needs, isUnknown = () => false } of ceilingsOver(over)) {
    const unknown = counted.filter(isUnknown).length;
    if (unknown > 0) {
      return `${unknown} of ${counted.length} trials lack the comparison of their calls with the right ones, so ` +
        `that atMost.${path} cannot be checked`;
    }
    const isSeen = needs?.unseen === undefined || measure.of !== "share" ||
      planned.some(({ trial, plain }) => measure.tally(trial, plain).valid > 0);
    if (!isSeen) return needs.unseen;
  }
}

/** Why ceilings cannot be checked on an agent: its requests were not seen, and what was not seen must not pass. */
export function unwatchedAgents(over: CheckedGraphs): string | undefined {
  const { graphs, scores, fresh = [] } = over;
  const hidden = ceilingsOver(over).filter(({ isHidden }) => isHidden);
  const shifts = hidden.filter(({ measure }) => measure.of === "shift");
  const lacking = (
    names: readonly string[],
    whose: string,
    ceilings: readonly LimitedCeiling[],
  ) => {
    const trials = scores.of(names).filter(isCounted);
    const unseen = Map.groupBy(trials.filter(isUnwatched), hasFailedFirst);
    // Of tokens a part may have been seen: nobody can tell.
    if (unseen.size === 0 || ceilings.length === 0) return undefined;
    const died = unseen.get(true) ?? [];
    const what = [...unseen].map(([hasDied, own]) =>
      `in ${own.length} of ${trials.length} trials${whose} ${unwatchedText(hasDied)}`
    );
    const [common] = commonKinds(died.flatMap(({ reason }) => reason ?? []));
    return `${what.join(", and ")}, so that ${
      ceilings.map(({ path }) => `atMost.${path}`).join(", ")
    } cannot be checked` +
      (!unseen.has(false)
        ? ""
        : ": let it ask through the fetch or baseURL that it is given, with the functions under their names, and " +
          "call none by itself (docs/agents.md)") +
      (common === undefined
        ? ""
        : `; most often (${common.count} of ${died.length}) ${common.text}`);
  };
  return lacking(graphs.flatMap(({ candidate }) => candidate), "", hidden) ??
    lacking(
      [...graphs.flatMap(({ baseline }) => baseline), ...fresh.flatMap((graph) => graph.candidate)],
      " of the baseline",
      shifts,
    );
}
