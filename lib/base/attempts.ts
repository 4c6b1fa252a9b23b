/**
 * Attempts: the one place that decides, after an attempt has failed, how long to wait for another one, or
 * that there will be none. Requests to models and calls of tools follow it.
 * @module
 */

/** The limits of the attempts at one thing. */
export interface AttemptRules {
  /** Attempts after the first one. */
  readonly retries: number;
  /** Milliseconds before the second attempt, doubling with each, at most 8,000. */
  readonly backoff: number;
  /** Milliseconds that the other side may ask to wait, and that refused attempts may wait in total. */
  readonly longestPause: number;
}

/**
 * The limits of the attempts at one call of a tool, by default (Pipeline, "Robust Tool Execution": `max_retries`, and
 * pauses of `2 ** attempt` seconds).
 */
export const TOOL_ATTEMPTS: AttemptRules = { retries: 3, backoff: 1_000, longestPause: 60_000 };

/** How an attempt failed. */
export interface AttemptFault {
  /** Whether another attempt may succeed; default `true`. */
  readonly retryable?: boolean;
  /** Milliseconds that the other side asks to wait. */
  readonly retryAfter?: number | undefined;
  /**
   * Set if it was refused as there were too many requests: such an attempt does not count as a retry while
   * waiting may help.
   */
  readonly refused?: {
    /** Milliseconds for which waiting has been of no use; omitted while asking less often helps. */
    readonly vainFor?: number | undefined;
    /** Whether others are not refused: then only many refusals show that this one always will be. */
    readonly isOwn?: boolean;
  };
}

/**
 * Why there is no further attempt: it cannot succeed (`final`), all were made (`retries`), the other side
 * asks to wait for too long (`pause`), or no time is left for the wait (`time`).
 */
export type GiveUp = "final" | "retries" | "pause" | "time";

/** What to do after a failed attempt: wait for a number of milliseconds and try again, or give up. */
export type NextAttempt = { readonly wait: number } | { readonly giveUp: GiveUp };

const MAX_BACKOFF = 8_000;

/** Milliseconds of refusals before one is final: most limits are per minute, and one has then passed. */
const PATIENCE = 90_000;

/** Refusals of one thing alone before one is final, at least: chance may refuse a few. */
const MIN_OWN = 8;

/**
 * Counts the failed attempts at one thing.
 *
 * | the attempt failed, and | next |
 * | --- | --- |
 * | cannot succeed | give up: `final` |
 * | was not refused, after all retries | give up: `retries` |
 * | the other side asks to wait for too long | give up: `pause` |
 * | was refused, where asking less often helps | wait, without counting it |
 * | was refused in vain for a minute and a half, more often than there are retries | give up: `retries` |
 * | the same, while others are not refused, more than eight times | give up: `retries` |
 * | the wait ends after the time that is left | give up: `time` |
 * | otherwise | wait for the backoff, or longer if the other side asks for it |
 */
export class Attempts {
  readonly #rules: AttemptRules;
  readonly #draw: () => number;
  #failed = 0;
  #counted = 0;
  #refusals = 0;
  #waited = 0;

  /** Counts none yet; `draw` returns random numbers from 0 to 1, for the jitter of waits. */
  constructor(rules: AttemptRules, draw: () => number) {
    this.#rules = rules;
    this.#draw = draw;
  }

  /** Number of failed attempts. */
  get failed(): number {
    return this.#failed;
  }

  /** Decides after a failed attempt; `left` are the milliseconds that the next one may begin in. */
  next(fault: AttemptFault, left: number = Infinity): NextAttempt {
    const { retryable = true, retryAfter = 0, refused } = fault;
    const { retries, backoff, longestPause } = this.#rules;
    const step = backoffAfter(++this.#failed, backoff, this.#draw());
    if (!retryable) return { giveUp: "final" };
    if (refused === undefined && ++this.#counted > retries) return { giveUp: "retries" };
    if (retryAfter > longestPause) return { giveUp: "pause" };
    const wait = Math.max(retryAfter, Math.min(step, longestPause));
    if (refused !== undefined) {
      this.#refusals++;
      const { vainFor, isOwn = false } = refused;
      const isVain = vainFor !== undefined && (vainFor >= PATIENCE || (retries === 0 && !isOwn));
      const enough = isOwn ? Math.max(retries, MIN_OWN) : retries;
      // One that waited while others were refused need not collect as many refusals of its own.
      const isHopeless = !isOwn && vainFor !== undefined && vainFor >= longestPause;
      if (isHopeless || (isVain && this.#refusals > enough)) return { giveUp: "retries" };
      this.#waited += wait;
      if (this.#waited > longestPause) return { giveUp: "pause" };
    }
    return wait >= left ? { giveUp: "time" } : { wait };
  }
}

/**
 * Returns the milliseconds to wait after `attempts` failed attempts: `first` after one, doubling with
 * each, at most 8,000, reduced by up to half at random so that clients that failed together do not
 * retry together.
 *
 * @param draw Random number from 0 (half of the wait) to 1 (all of it).
 */
export function backoffAfter(attempts: number, first: number, draw: number): number {
  const step = Math.min(first * 2 ** Math.min(attempts - 1, 30), MAX_BACKOFF);
  return step * (0.5 + draw / 2);
}

/** Headers of a response, in the type of any HTTP library. */
export interface ReadableHeaders {
  /** Returns the text of a header; names are case-insensitive. */
  get(name: string): string | null | undefined;
}

/**
 * Returns the milliseconds that a server asks to wait, from `retry-after-ms` or from `retry-after` (seconds
 * or a date); `undefined` if neither holds a finite wait.
 */
export function retryAfterOf(
  headers: ReadableHeaders | undefined,
  now: number = Date.now(),
): number | undefined {
  const milliseconds = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (milliseconds >= 0 && milliseconds < Infinity) return milliseconds;
  const text = headers?.get("retry-after") ?? "";
  const seconds = Number.parseFloat(text);
  if (seconds >= 0) return seconds * 1000 < Infinity ? seconds * 1000 : undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
