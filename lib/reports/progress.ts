/**
 * Progress of a run: counts its trials as they end, and says how it stands, in words or as a bar.
 * @module
 */

import { dollars, percent } from "../base/numbers.ts";
import {
  hasFailedFirst,
  isUnwatched,
  UNKNOWN_IF_UNWATCHED,
  unwatchedText,
} from "../gate/variant.ts";
import { modelName } from "../models/entry.ts";
import { costOfAll, isUncounted, spentUsage } from "../models/prices.ts";
import type { Plan } from "../runs/plan.ts";
import { allChoices } from "../runs/resolved_suite.ts";
import type { Run } from "../runs/run.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** Milliseconds between two lines of progress. */
export const LINE_PAUSE = 10_000;

/** Milliseconds before the first line under `deno test`, where nothing else shows that a run has begun. */
export const FIRST_PAUSE = 2_000;

/** The status of a run. */
export interface RunStatus {
  /** Number of trials, without those that turned out not to be needed. */
  readonly total: number;
  /** Number of trials that have ended, those of a resumed journal included. */
  readonly done: number;
  /** Number of trials that the journal had before. */
  readonly resumed: number;
  readonly solved: number;
  readonly invalid: number;
  /** Number of trials that have begun and not ended. */
  readonly inFlight: number;
  /** Input and output tokens. */
  readonly tokens: number;
  /** Cost in US dollars; `undefined` where a model has no price. */
  readonly usd: number | undefined;
  /** Seconds since the run began. */
  readonly seconds: number;
}

/** Estimates the seconds left at the pace so far; `undefined` before the first trial has ended. */
export function secondsLeft({ total, done, resumed, seconds }: RunStatus): number | undefined {
  // Trials of a resumed journal say nothing about the pace.
  const ranHere = done - resumed;
  return ranHere <= 0 ? undefined : seconds * (total - done) / ranHere;
}

/**
 * Returns the figures of a status, those that matter less behind the others. It has no interval: one that is watched is
 * wrong more often than it says.
 */
function figuresOf(status: RunStatus): string[] {
  const { total, done, solved, invalid, inFlight, tokens, usd } = status;
  const valid = done - invalid;
  const left = secondsLeft(status);
  const rate = valid === 0 ? "" : ` (${percent(solved / valid)})`;
  return [
    `${solved} solved${rate}`,
    ...(left === undefined || done >= total ? [] : [`${duration(left)} left`]),
    `${invalid} invalid`,
    ...(usd === undefined ? [] : [dollars(usd)]),
    ...(done < total ? [`${inFlight} in flight`] : []),
    `${tokens} tokens`,
  ];
}

/** Describes a status in words. */
export function describeStatus(status: RunStatus): string {
  return [`${status.done}/${status.total} trials`, ...figuresOf(status)].join(", ");
}

/** Columns of the bar: one of varying length would flicker. */
const BAR = 10;

/** Draws a status as one line of at most `width` columns: a bar, and the figures that fit. */
export function drawStatus(status: RunStatus, width: number): string {
  const { total, done } = status;
  const share = total === 0 ? 1 : done / total;
  const full = Math.floor(share * BAR);
  const bar = `[${"=".repeat(full)}${"-".repeat(BAR - full)}] `;
  const parts = [`${Math.floor(100 * share)}% ${done}/${total}`, ...figuresOf(status)];
  while (parts.length > 1 && bar.length + parts.join("  ").length > width) parts.pop();
  return (bar + parts.join("  ")).slice(0, width);
}

/** Returns seconds in words. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Counts the trials of a run. */
export class RunProgress {
  readonly #plan: Pick<Plan, "resolved" | "prices" | "budget">;
  readonly #counts = { done: 0, resumed: 0, solved: 0, invalid: 0, tokens: 0, needless: 0 };
  /** US dollars so far; `null` once a cost is unknown. */
  #usd: number | null;
  /** Whether it was said that an agent's requests are not seen. */
  #isUnwatchedTold = false;

  /** For a run of `plan`. */
  constructor(plan: Pick<Plan, "resolved" | "prices" | "budget">) {
    this.#plan = plan;
    const { prices = {}, resolved } = plan;
    const hasPrices = allChoices(resolved).models.every((entry) =>
      Object.hasOwn(prices, modelName(entry))
    );
    this.#usd = hasPrices ? 0 : null;
  }

  /** Counts a trial that has ended, or turned out not to be needed; returns what must be printed at once, if anything. */
  count(trial: TrialSummary | SkippedTrial, resumed: boolean): string | undefined {
    const counts = this.#counts;
    if (trial.kind === "needless") {
      counts.needless++;
      return undefined;
    }
    const { outcome, solved } = trial;
    const { inputTokens, outputTokens } = spentUsage(trial);
    counts.done++;
    if (resumed) counts.resumed++;
    if (solved) counts.solved++;
    if (outcome === "invalid") counts.invalid++;
    counts.tokens += inputTokens + outputTokens;
    const cost = costOfAll([trial], this.#plan.prices ?? {});
    this.#usd = this.#usd === null || cost === null ? null : this.#usd + cost;
    if (resumed || this.#isUnwatchedTold || !isUnwatched(trial)) return undefined;
    this.#isUnwatchedTold = true;
    return this.#unwatchedNote(trial);
  }

  /** Says what cannot be known of an agent, and which limits cannot hold. */
  #unwatchedNote(trial: TrialSummary): string {
    const hasNoTokens = isUncounted(trial);
    const { budget, resolved } = this.#plan;
    const hasLimit = [resolved, ...Object.values(resolved.tests ?? {})].some(({ limits }) =>
      limits?.tokens !== undefined || limits?.steps !== undefined
    );
    const limited = [
      ...(budget === undefined ? [] : ["the budget"]),
      ...(hasLimit ? ["limits of tokens and steps"] : []),
    ];
    return `not watched: ${unwatchedText(hasFailedFirst(trial))}, ${UNKNOWN_IF_UNWATCHED}` +
      (hasNoTokens ? ", nor tokens" : "") +
      (limited.length === 0 || !hasNoTokens ? "" : `, and ${limited.join(" and ")} cannot hold`) +
      ": let it ask through the fetch or baseURL that it is given (docs/agents.md)";
  }

  /** Number of trials that have ended, those of a resumed journal included. */
  get done(): number {
    return this.#counts.done;
  }

  /** Returns how a run stands that began at `began`, as `performance.now()` counts. */
  status(run: Pick<Run, "trials" | "inFlight">, began: number): RunStatus {
    const { needless, ...counts } = this.#counts;
    return {
      ...counts,
      total: run.trials.length - needless,
      inFlight: run.inFlight,
      usd: this.#usd ?? undefined,
      seconds: (performance.now() - began) / 1000,
    };
  }
}
