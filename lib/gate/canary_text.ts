/**
 * Verdicts of a drift canary as text.
 * @module
 */

import {
  type CanaryPolicy,
  type CanaryVerdict,
  completeCanary,
  type WatchedDay,
  YEARLY_ERROR,
} from "./canary.ts";
import { listed } from "./_case_text.ts";
import { countText, grouped, percent, points, sum } from "../base/numbers.ts";

/**
 * Returns a verdict as lines for a terminal: what it says, and the numbers behind it.
 */
export function canaryLines(verdict: CanaryVerdict, policy: CanaryPolicy = {}): string[] {
  const { tolerance, confidence, drop, models } = completeCanary(policy);
  const { reference, nullRate, threshold, days, since } = verdict;
  const used = days.filter(({ unused }) => unused === undefined);
  const others = days.filter(({ unused }) => unused !== undefined);
  const { solved, valid, rate, lower, needed } = reference;
  return [
    headline(verdict),
    `the sum of bets is ${amount(verdict.sum)}, and ${
      amount(threshold)
    } is the threshold: without ` +
    `a drift it is reached ${models === 1 ? "" : `by any of ${models} models `}in at most ` +
    `${percent(YEARLY_ERROR)} of years`,
    `reference: solved ${solved} of ${valid} valid trials (${percent(rate)}), true rate at least ` +
    `${percent(lower)} with ${percent(confidence)} confidence; ` +
    `a rate down to ${percent(nullRate)}, with a tolerance of ${points(tolerance)}, is no drift`,
    ...(needed === undefined ? [] : [
      `the reference is too small to find a drop of ${points(drop)}, only larger ones: ` +
      `that takes at least about ${grouped(needed)} trials`,
    ]),
    ...(since === undefined
      ? []
      : [`since ${since}: ${solvedText(used.filter(({ date }) => date >= since))}`]),
    `all days: ${solvedText(used)}`,
    ...listed(
      others.toReversed(),
      ({ date, unused }) => `not used: ${date}, as ${unused}`,
      "day",
    ),
  ];
}

function headline({ kind, reason, nullRate, since, alarmed }: CanaryVerdict): string {
  const rate = percent(nullRate);
  if (kind === "invalid") return `INVALID: ${reason}.`;
  if (kind === "quiet") {
    return `QUIET: it is not proved that the true success rate dropped below ${rate}.`;
  }
  return `ALARM: since ${since} the true success rate is below ${rate}. That was proved on ${alarmed}; ` +
    `when it began is an estimate. The alarm stays until another release is accepted.`;
}

function solvedText(days: readonly WatchedDay[]): string {
  const solved = sum(days, (day) => day.solved);
  const valid = sum(days, (day) => day.valid);
  return (valid === 0
    ? ""
    : `solved ${solved} of ${valid} valid trials (${percent(solved / valid)}), `) +
    `${countText(days.length, "day")} used`;
}

/** A sum of bets, which may be huge. */
function amount(sum: number): string {
  if (sum >= 1e9) return sum.toExponential(1);
  return sum < 1_000 ? String(Number(sum.toPrecision(3))) : grouped(Math.round(sum));
}
