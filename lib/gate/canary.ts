/**
 * A drift canary: whether the success rate of a served model dropped, by a small sample of the same distribution of
 * tasks each day.
 *
 * "No drift" means that the rate is at least the lower bound of the reference's, less a tolerance. Bets against it are
 * started each day and summed up ({@linkcode DriftSum}).
 * @module
 */

import { z } from "zod";
import {
  lackOfCoverage,
  laterAttempts,
  rateBounds,
  sumUnits,
  type Unit,
  unitSample,
} from "./evidence.ts";
import { completePolicy } from "./policy.ts";
import { cannot, InputError } from "../base/errors.ts";
import { parseWith } from "../base/input.ts";
import { defined } from "../base/json.ts";
import { countText, grouped, percent, points, sum } from "../base/numbers.ts";
import { fork } from "../base/random.ts";
import { bisectWhole } from "../statistics/distributions.ts";
import { type DriftStake, driftStakes, DriftSum, driftThreshold } from "../statistics/drift.ts";
import { clopperPearson } from "../statistics/proportions.ts";
import { listed } from "./_case_text.ts";

/** One day's sample of tasks, in whole blocks: as many graphs of each cell. */
export interface CanaryDay {
  /** Its UTC date, such as `2026-11-12`: all that ran on it is one sample. */
  readonly date: string;
  /** Its graphs, each with all trials on it. */
  readonly units: readonly Unit[];
}

/** When an alarm is raised. */
export interface CanaryPolicy {
  /** How far below the lower bound of the reference's rate is still no drift, from 0, below `drop`; default 0.01. */
  readonly tolerance?: number;
  /** The drop of the rate that should be found soonest, above 0, below 1; default 0.05. */
  readonly drop?: number;
  /** The confidence of the lower bound of the reference's rate, above 0.5, below 1; default 0.95. */
  readonly confidence?: number;
  /** The share of a day's trials that must be valid at the first attempt, for it to be used; default 0.95. */
  readonly coverage?: number;
  /** The number of models that are watched together; default 1. */
  readonly models?: number;
  /**
   * Whether the run of the reference ended before its plan did, such as by a sequential gate: its bound must then hold
   * whenever it ended; default false.
   */
  readonly stopped?: boolean;
}

/** A policy with its defaults. */
export type CompleteCanaryPolicy = Required<CanaryPolicy>;

/** A day as it was watched. */
export interface WatchedDay extends Pick<Unit, "solved" | "valid" | "trials"> {
  /** Its UTC date. */
  readonly date: string;
  /** The share of valid trials that were solved; `null` without any. */
  readonly rate: number | null;
  /** The sum of bets after it. */
  readonly sum: number;
  /** Why it was not used: no bet was started or changed; omitted if it was. */
  readonly unused?: string;
}

/** What days show of a model, against its reference. */
export interface CanaryVerdict {
  /**
   * `alarm` once the sum has reached the threshold, whatever came later; `invalid` if the last day cannot be used, or
   * there is none; else `quiet`.
   */
  readonly kind: "alarm" | "quiet" | "invalid";
  /** Why it is invalid; omitted otherwise. */
  readonly reason?: string;
  /** The trials that days are compared with. */
  readonly reference: {
    /** Valid trials that were solved. */
    readonly solved: number;
    /** Trials whose outcome is not `invalid`. */
    readonly valid: number;
    /** The share of valid trials that were solved. */
    readonly rate: number;
    /** The lower bound of the true rate, one-sided. */
    readonly lower: number;
    /** About how many trials it takes to bet on the planned drop itself; omitted where these are enough. */
    readonly needed?: number;
  };
  /** The lowest rate that is no drift. */
  readonly nullRate: number;
  /** The sum that raises an alarm. */
  readonly threshold: number;
  /** The sum of bets after the last day. */
  readonly sum: number;
  /**
   * The chance that a drop by `drop` on the first day would have been found by the last one, by 200 simulations of days
   * of the same sizes; omitted unless it is quiet.
   */
  readonly power?: number;
  /** The day on which the sum first reached the threshold; omitted without an alarm. */
  readonly alarmed?: string;
  /** The day since which the rate is most likely lower, as it was estimated on `alarmed`; omitted without an alarm. */
  readonly since?: string;
  /** All days, in order. */
  readonly days: readonly WatchedDay[];
}

/** The probability of a false alarm within a year, at most. */
export const YEARLY_ERROR = 0.05;
/** Days of a year. */
const YEAR = 365;

const POLICY = z.strictObject({
  tolerance: z.number().min(0).lt(1).default(0.01),
  drop: z.number().gt(0).lt(1).default(0.05),
  confidence: z.number().gt(0.5).lt(1).default(0.95),
  coverage: z.number().gt(0).max(1).default(0.95),
  models: z.int().min(1).max(1_000_000).default(1),
  stopped: z.boolean().default(false),
}).refine(
  // Else a rate that is lower by the drop is no drift, however many trials the reference has.
  ({ tolerance, drop }) => tolerance < drop,
  { path: ["tolerance"], message: "tolerance (default 0.01) must be below drop (default 0.05)" },
);

/**
 * Checks a policy and fills in its defaults.
 *
 * @throws {InputError} If it is not usable.
 */
export function completeCanary(policy: CanaryPolicy): CompleteCanaryPolicy {
  return parseWith(POLICY, policy, "the policy of a drift canary");
}

/** What is bet against, and how. */
interface CanaryBets {
  readonly nullRate: number;
  readonly threshold: number;
  /** None if no drop can be distinguished from the reference. */
  readonly stakes: readonly DriftStake[];
  /** About how many trials of a reference it takes to bet on the planned drop; omitted where these are enough. */
  readonly needed?: number;
}

/** Returns the bets for a reference with this rate, of which `lower` is the lower bound. */
function canaryBets(
  { rate, lower }: { readonly rate: number; readonly lower: number },
  { tolerance, drop, confidence, models }: CompleteCanaryPolicy,
): CanaryBets {
  const nullRate = lower - tolerance;
  const threshold = driftThreshold(YEAR, YEARLY_ERROR, models);
  const stakes = nullRate > 0 ? driftStakes(nullRate, rate, drop) : [];
  if (rate <= drop || rate - drop < nullRate) return { nullRate, threshold, stakes };
  const needed = bisectWhole(1, MAX_REFERENCE, (trials) => {
    const bound = clopperPearson(Math.floor(rate * trials), trials, confidence).lower;
    return rate - drop < bound - tolerance;
  });
  return { nullRate, threshold, stakes, needed: Number(needed.toPrecision(2)) };
}

/** The largest reference that is suggested. */
const MAX_REFERENCE = 10_000_000;

/** Says why no drop can be distinguished from a reference of this rate, and what would help. */
function tooSmall(
  rate: number,
  { needed }: CanaryBets,
  { drop, tolerance }: CompleteCanaryPolicy,
): string {
  const action = `Cannot tell a drop of ${points(drop)} from a reference of ${percent(rate)}`;
  if (needed === undefined) return `${action}: take a smaller drop`;
  const size = grouped(needed);
  return `${action} with so few trials: it takes at least about ${size} with a tolerance of ` +
    points(tolerance);
}

/**
 * Watches a served model for drift: whether its success rate dropped below the lower bound of the reference's, less the
 * tolerance. Without a drift of any of the `models` watched together there is an alarm in at most 5% of years, provided
 * that the true rate of each reference is not below its bound, that the rate of no day is lower, and that neither
 * whether a day can be used nor how many trials it has depends on how well the model does in it.
 *
 * An invalid or missing trial counts as solved. A day of which too few trials were valid at the first attempt is not used:
 * it neither raises an alarm nor lowers the sum. An alarm stays until days before a new reference are left out.
 *
 * @param reference The units of the reference: graphs of the same distribution, and as many of each cell.
 * @param days The days since the reference, by date.
 * @throws {InputError} If the policy, a unit or a date is not usable, or the reference too small to tell any drop.
 *
 * @example Usage
 * ```ts
 * import { type Unit, watchForDrift } from "@toolgate/toolgate/gate";
 * import { assertEquals } from "@std/assert";
 *
 * const sample = (solved: number, trials: number): Unit[] =>
 *   Array.from({ length: trials }, (_, n) => ({ solved: n < solved ? 1 : 0, valid: 1, trials: 1 }));
 * const days = Array.from({ length: 28 }, (_, n) => ({
 *   date: `2026-02-${`${n + 1}`.padStart(2, "0")}`,
 *   units: sample(n < 14 ? 45 : 38, 50),
 * }));
 * const { kind, since, alarmed } = watchForDrift(sample(900, 1000), days);
 * assertEquals([kind, since, alarmed], ["alarm", "2026-02-15", "2026-02-19"]);
 * ```
 */
export function watchForDrift(
  reference: readonly Unit[],
  days: readonly CanaryDay[],
  policy: CanaryPolicy = {},
): CanaryVerdict {
  const complete = completeCanary(policy);
  const observed = observeReference(reference, complete);
  const bets = canaryBets(observed, complete);
  const { nullRate, threshold, stakes, needed } = bets;
  if (stakes.length === 0) throw new InputError(tooSmall(observed.rate, bets, complete));
  const drift = new DriftSum(nullRate, stakes);
  /** The dates of days that were used. */
  const used: string[] = [];
  let alarm: Pick<CanaryVerdict, "alarmed" | "since"> | undefined;
  const watched = days.map(({ date, units }): WatchedDay => {
    assertUnits(date, units);
    const { solved, valid, trials } = sumUnits(units);
    const unused = whyUnused(units, complete.coverage);
    if (unused === undefined) {
      used.push(date);
      drift.add(units.map((unit) => [unitSample(unit).best, 1]));
      // Later days may be good again, and would tell less of when it began.
      if (drift.sum >= threshold) alarm ??= { alarmed: date, since: used[drift.start]! };
    }
    const rate = valid === 0 ? null : solved / valid;
    return { ...{ date, solved, valid, trials, rate, sum: drift.sum }, ...defined({ unused }) };
  });
  const last = watched.at(-1);
  const reason = last === undefined
    ? "there is no day yet"
    : last.unused && `the last day, ${last.date}, cannot be used: ${last.unused}`;
  const kind = alarm !== undefined ? "alarm" : reason === undefined ? "quiet" : "invalid";
  const sizes = watched.filter(({ unused }) => unused === undefined).map(({ trials }) => trials);
  return {
    kind,
    ...(alarm === undefined ? defined({ reason }) : {}),
    reference: { ...observed, ...defined({ needed }) },
    nullRate,
    threshold,
    sum: drift.sum,
    ...(kind === "quiet" ? { power: powerOf(bets, observed.rate - complete.drop, sizes) } : {}),
    ...alarm,
    days: watched,
  };
}

/** Simulations of {@linkcode powerOf}: their share is within 7 points in 95% of runs. */
const SIMULATIONS = 200;

/** Returns how often days of these sizes raise an alarm if the rate of all of them is this low. */
function powerOf(
  { nullRate, threshold, stakes }: CanaryBets,
  rate: number,
  sizes: readonly number[],
): number {
  const { prng } = fork("power of a canary");
  const found = Array.from({ length: SIMULATIONS }, () => {
    const drift = new DriftSum(nullRate, stakes);
    return sizes.some((trials) => {
      const solved = Array.from({ length: trials }, prng).filter((draw) => draw < rate).length;
      return drift.add([[1, solved], [0, trials - solved]]) >= threshold;
    });
  });
  return found.filter(Boolean).length / SIMULATIONS;
}

function observeReference(units: readonly Unit[], complete: CompleteCanaryPolicy) {
  assertUnits("the reference", units);
  const { solved, valid } = sumUnits(units);
  const { confidence, coverage, stopped } = complete;
  // Trials that were tried again until they were right would make a reference that nothing keeps up with.
  const fault = whyUnused(units, coverage);
  if (fault !== undefined) throw cannot("watch for drift", "the reference must be usable", fault);
  // Without a margin nothing is staked on where the rate is expected: it is bounded, whatever it is.
  const policy = completePolicy({ successRate: 1, margin: 0, confidence });
  const { lower } = rateBounds(units, policy, stopped);
  return { solved, valid, rate: solved / valid, lower };
}

/** Why units cannot be used, at a share that must be valid at the first attempt; `undefined` if they can. */
export function whyUnused(units: readonly Unit[], coverage: number): string | undefined {
  const { valid, trials } = sumUnits(units);
  if (trials === 0) return "there are no trials";
  if (valid === 0) return `none of ${trials} planned trials is valid`;
  return lackOfCoverage({ valid, unknown: trials - valid, ...laterAttempts(units) }, { coverage });
}

function assertUnits(whose: string, units: readonly Unit[]): void {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
  const odd = units.find(({ solved, valid, trials, replaced = 0, resampled = 0 }) =>
    ![solved, valid, trials, replaced, resampled].every(isCount) ||
    solved > valid || valid > trials || replaced + resampled > valid || trials === 0
  );
  if (odd === undefined) return;
  throw cannot(
    "watch for drift",
    `units of ${whose} must have whole numbers with 0 <= solved <= valid <= trials and trials >= 1`,
    `one has ${odd.solved} of ${odd.valid} of ${odd.trials}`,
  );
}

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
    headline(verdict, drop),
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

function headline(
  { kind, reason, nullRate, since, alarmed, power = 0 }: CanaryVerdict,
  drop: number,
): string {
  const rate = percent(nullRate);
  if (kind === "invalid") return `INVALID: ${reason}.`;
  if (kind === "quiet") {
    return `QUIET: no drop found; one of ${
      points(drop)
    } since the first day would have been found in ${Math.round(100 * power)}% of such runs.`;
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
