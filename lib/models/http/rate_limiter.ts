/**
 * Rate limiters: limit the requests to a model at a time and per minute, so that a server's rate limits slow
 * a run down but do not fail it.
 * @module
 */

import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { cannot } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { estimatedTokens } from "./_estimate.ts";

/** Rate limits of a model of a server. */
export interface RateLimits {
  /** Requests that may begin within any 60 seconds. Default: unlimited. */
  requestsPerMinute?: number;
  /** Tokens that may be read and written within any 60 seconds. Default: unlimited. */
  tokensPerMinute?: number;
}

/** Options of a {@linkcode RateLimiter}. */
export interface RateLimiterOptions extends RateLimits {
  /** Called on the first refusal, with the milliseconds that the server asks to wait, if it does. */
  readonly onSlowed?: (retryAfter: number | undefined) => void;
  /** Called the first time that the given limits delay requests for long, with the milliseconds. */
  readonly onHeld?: (milliseconds: number) => void;
  /** Called when a request waits for long, with the milliseconds and for what. */
  readonly onWait?: (milliseconds: number, what: Wait) => void;
  /** Source of time. Default: the system clock. */
  readonly clock?: Clock;
}

/** What a request waits for: the time that the server asked to wait, or the first reply of all. */
export type Wait = "asked" | "silent";

/** What a refusal says, compared with the same request's next one. */
export interface Refusal {
  /** Requests that the model had answered by then. */
  readonly answered: number;
  /** Requests that the model had refused by then. */
  readonly refused: number;
  /** Whether the limit is of this request alone: others get replies, so that nobody else need wait. */
  readonly isOwn: boolean;
  /** The time since which waiting has been of no use; `undefined` while asking less often helps. */
  readonly vainSince: number | undefined;
}

/** Permission for one request, from its begin to its end. */
export interface Permit {
  /** How often the limiter had lowered its concurrency when the request began. */
  readonly era: number;
  /** Tokens that it is expected to take; 0 without a limit for tokens. */
  readonly reserved: number;
}

interface Waiter {
  readonly size: number;
  readonly again: boolean;
  readonly since: number;
  readonly resolve: (place: Permit) => void;
}

/** Milliseconds to wait for a server, at most: beyond that the request fails. */
export const MAX_WAIT = 600_000;

const MINUTE = 60_000;

/** Milliseconds of delay from which on the user is notified. */
const LONG = 5_000;

/**
 * Limits the requests to one model of a server. Each request takes a permit, and returns it when it ends.
 *
 * A refusal halves the number of requests that may be under way. While all permits are in use, each success
 * adds a fraction of one: one more after a round of successes, and much later near a number that the server
 * has refused before (additive increase, multiplicative decrease: Chiu and Jain 1989).
 */
export class RateLimiter {
  /** Source of time. */
  readonly clock: Clock;

  readonly #requests: number;
  readonly #tokens: number;
  readonly #calls: Pick<RateLimiterOptions, "onSlowed" | "onHeld" | "onWait">;
  #toldUntil = 0;
  #toldHeld = false;
  #toldSilent = false;
  /** Requests that may be under way, at most, with fractions; no limit before the first refusal. */
  #most = Infinity;
  /** Number of requests under way when it was last lowered. */
  #refusedAt = 0;
  #era = 0;
  #underWay = 0;
  #refusals = 0;
  #answered = 0;
  #aloneSince: number | undefined;
  /** Refusals of single requests since the last reply. */
  #alone = 0;
  #waited = 0;
  #pausedUntil = 0;
  readonly #queue: Waiter[] = [];
  /** Ring buffer of the times at which the last `#requests` requests began, the oldest at `#oldest`. */
  readonly #begun: number[] = [];
  #oldest = 0;
  /** Tokens of requests that ended within the last minute, and tokens reserved for those under way. */
  readonly #taken: { readonly at: number; readonly tokens: number }[] = [];
  #takenInAll = 0;
  #reserved = 0;
  #samples = 0;
  #mean = 0;
  #timer: { readonly due: number; readonly stop: AbortController } | undefined;

  /**
   * Creates a limiter without any request under way.
   *
   * @throws {InputError} If a limit is not a whole number from 1.
   */
  constructor(options: RateLimiterOptions = {}) {
    assertRates(options);
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity } = options;
    this.#requests = requestsPerMinute;
    this.#tokens = tokensPerMinute;
    this.#calls = options;
    this.clock = options.clock ?? SYSTEM_CLOCK;
  }

  /** Number of requests that may be under way at present. */
  get most(): number {
    return Math.floor(this.#most);
  }

  /** Number of requests under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Number of requests that wait for a permit. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Number of requests that the server refused because of a rate limit. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Number of requests that got a reply. */
  get answered(): number {
    return this.#answered;
  }

  /** Milliseconds that requests have waited in total, for a permit and after a refusal. */
  get waited(): number {
    return this.#waited;
  }

  /**
   * Returns a permit for a request: at once if no limit applies, otherwise in order, repeated requests
   * (`again`) first. Each permit must be returned once, by `succeeded`, `failed` or `refused`.
   *
   * @throws The reason of the request's signal, if that aborts while it waits.
   */
  enter(request: { readonly signal?: AbortSignal }, again = false): Permit | Promise<Permit> {
    const size = this.#tokens === Infinity ? 0 : estimatedTokens(request);
    const free = this.#queue.length === 0 && this.#underWay < this.most;
    if (free && this.#delay(size) === 0) return this.#begin(size);
    return this.#wait({ size, again }, request.signal);
  }

  /** Returns the permit of a request that got a reply of `tokens` tokens; `undefined` if unknown. */
  succeeded(place: Permit, tokens: number | undefined): void {
    this.#answered++;
    this.#aloneSince = undefined;
    this.#alone = 0;
    // A success below the limit says nothing about how many requests the server allows.
    if (this.#most !== Infinity && this.#underWay >= this.most) this.#raise();
    if (this.#tokens !== Infinity) this.#take(tokens ?? place.reserved);
    this.#leave(place);
  }

  /** Returns the permit of a request that failed, was aborted, or ran out of time. */
  failed(place: Permit): void {
    this.#leave(place);
  }

  /**
   * Returns the permit of a request that was refused because of a rate limit. That halves the number of
   * requests that may be under way, once for all of those under way; and if the server asks to wait, all
   * requests wait. If the request was the only one under way, all also wait for `backoff`, which is given how
   * many single ones were refused since the last reply.
   *
   * If since the request's refusal before, `last`, more requests got a reply than were refused, the limit is
   * probably of this request alone, such as for its size: then only it waits, and one request less may be
   * under way; if it is refused so again, others are no longer slowed down at all.
   */
  refused(
    place: Permit,
    retryAfter: number | undefined,
    { backoff = () => 0, last }: {
      readonly backoff?: (refusals: number) => number;
      readonly last?: Refusal | undefined;
    } = {},
  ): Refusal {
    const isOwn = last !== undefined &&
      this.#answered - last.answered > this.#refusals - last.refused;
    const now = this.clock.now();
    if (this.#refusals++ === 0) {
      this.#calls.onSlowed?.(retryAfter);
      this.#toldUntil = now + (retryAfter ?? 0);
    }
    const counts = { answered: this.#answered, refused: this.#refusals, isOwn };
    const isOld = place.era < this.#era;
    const isAlone = !isOld && this.#underWay === 1;
    if (isOwn && last.isOwn) {
      // It is refused again and again, and so its refusals say nothing about the others.
      this.#refusedAt = 0;
    } else if (!isOld && !isAlone) {
      this.#era++;
      this.#refusedAt = this.#underWay;
      this.#most = Math.max(1, isOwn ? this.#underWay - 1 : Math.floor(this.#underWay / 2));
    }
    if (isOwn) {
      this.#leave(place);
      return { ...counts, vainSince: last.isOwn ? last.vainSince : now };
    }
    this.#aloneSince = isAlone ? this.#aloneSince ?? now : undefined;
    this.#alone = isAlone ? this.#alone + 1 : 0;
    // A request that must wait for longer fails, and no other has to wait for it.
    const wait = retryAfter ?? 0;
    if (wait <= MAX_WAIT) this.#pause(isAlone ? Math.max(wait, backoff(this.#alone)) : wait);
    this.#leave(place);
    return { ...counts, vainSince: this.#aloneSince };
  }

  /** Warns that the server asks to wait for long, unless the last such wait still goes on. */
  tellAsked(milliseconds: number): void {
    const now = this.clock.now();
    if (milliseconds < LONG || now < this.#toldUntil) return;
    this.#toldUntil = now + milliseconds;
    this.#calls.onWait?.(milliseconds, "asked");
  }

  /** Warns, once, that the model has not replied for that long. */
  tellSilent(milliseconds: number): void {
    if (!this.#toldSilent && this.#answered === 0) this.#calls.onWait?.(milliseconds, "silent");
    this.#toldSilent = true;
  }

  /** Delays all requests that have not begun. */
  #pause(milliseconds: number): void {
    if (milliseconds <= 0) return;
    this.#pausedUntil = Math.max(this.#pausedUntil, this.clock.now() + milliseconds);
  }

  /**
   * Delays one request that was refused.
   *
   * @throws The reason of the signal, as soon as that aborts.
   */
  async rest(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    this.#waited += milliseconds;
    await this.clock.pause(milliseconds, signal);
  }

  /** Adds one permit per round of successes, and a tenth of that near a number that was refused before. */
  #raise(): void {
    const isNear = this.#most + 1 >= this.#refusedAt && this.#most < this.#refusedAt;
    this.#most += (isNear ? 0.1 : 1) / this.#most;
  }

  #begin(size: number): Permit {
    this.#underWay++;
    if (this.#requests !== Infinity) {
      this.#begun[this.#oldest] = this.clock.now();
      this.#oldest = (this.#oldest + 1) % this.#requests;
    }
    const reserved = this.#expected(size);
    this.#reserved += reserved;
    return { era: this.#era, reserved };
  }

  #leave({ reserved }: Permit): void {
    this.#underWay--;
    this.#reserved -= reserved;
    if (this.#queue.length > 0) this.#admit();
  }

  async #wait(
    options: Pick<Waiter, "size" | "again">,
    signal: AbortSignal | undefined,
  ): Promise<Permit> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter: Waiter = { ...options, since: this.clock.now(), resolve };
    const giveUp = () => {
      const place = this.#queue.indexOf(waiter);
      if (place < 0) return;
      this.#queue.splice(place, 1);
      this.#waited += this.clock.now() - waiter.since;
      reject(signal?.reason);
      this.#admit();
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    const firstNew = options.again ? this.#queue.findIndex(({ again }) => !again) : -1;
    this.#queue.splice(firstNew < 0 ? this.#queue.length : firstNew, 0, waiter);
    this.#admit();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Begins, in order, all waiting requests that need not wait longer. */
  #admit(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      // The next request that ends calls this again.
      if (this.#underWay >= this.most) break;
      const delay = this.#delay(first.size);
      if (delay > 0) {
        this.#reportHeld(delay);
        return this.#wakeIn(delay);
      }
      this.#queue.shift();
      this.#waited += this.clock.now() - first.since;
      first.resolve(this.#begin(first.size));
    }
    this.#wakeIn(Infinity);
  }

  /** Reports a long delay once; one that the server asks for is reported by `onSlowed`. */
  #reportHeld(delay: number): void {
    if (delay < LONG || delay === Infinity || this.#pausedUntil > 0 || this.#toldHeld) return;
    this.#calls.onHeld?.(delay);
    this.#toldHeld = true;
  }

  /** Calls `#admit` again after `delay` milliseconds, and not before. */
  #wakeIn(delay: number): void {
    const due = this.clock.now() + delay;
    if (this.#timer !== undefined && this.#timer.due === due) return;
    this.#timer?.stop.abort();
    this.#timer = undefined;
    if (due === Infinity) return;
    const stop = new AbortController();
    const timer = this.#timer = { due, stop };
    this.clock.pause(delay, stop.signal).then(() => {
      if (this.#timer === timer) this.#timer = undefined;
      this.#admit();
    }, () => {});
  }

  /** Milliseconds until pauses and rate limits let a request begin; Infinity until others have ended. */
  #delay(size: number): number {
    const limited = this.#requests !== Infinity || this.#tokens !== Infinity;
    if (this.#pausedUntil === 0 && !limited) return 0;
    const now = this.clock.now();
    if (this.#pausedUntil <= now) this.#pausedUntil = 0;
    const nextBegin = (this.#begun[this.#oldest] ?? -Infinity) + MINUTE;
    return Math.max(0, this.#pausedUntil - now, nextBegin - now, this.#tokenDelay(size, now));
  }

  #tokenDelay(size: number, now: number): number {
    if (this.#tokens === Infinity) return 0;
    while (this.#taken.length > 0 && this.#taken[0]!.at + MINUTE <= now) {
      this.#takenInAll -= this.#taken.shift()!.tokens;
    }
    let over = this.#takenInAll + this.#reserved + this.#expected(size) - this.#tokens;
    if (over <= 0) return 0;
    for (const { at, tokens } of this.#taken) {
      over -= tokens;
      if (over <= 0) return at + MINUTE - now;
    }
    return Infinity;
  }

  /** Tokens that a request will probably take, from the mean of earlier ones; at most the limit. */
  #expected(size: number): number {
    if (this.#tokens === Infinity) return 0;
    return Math.min(this.#tokens, Math.ceil(this.#samples === 0 ? size : this.#mean));
  }

  #take(claimed: number): void {
    // A server's claim must not delay requests for ever; whole numbers are summed without rounding errors.
    const tokens = claimed >= 0 ? Math.min(Math.ceil(claimed), this.#tokens) : 0;
    this.#samples++;
    this.#mean += (tokens - this.#mean) / this.#samples;
    this.#taken.push({ at: this.clock.now(), tokens });
    this.#takenInAll += tokens;
  }
}

/**
 * Checks rate limits.
 *
 * @throws {InputError} If a limit is not a whole number from 1.
 */
export function assertRates({ requestsPerMinute, tokensPerMinute }: RateLimits): void {
  for (const [name, limit] of Object.entries({ requestsPerMinute, tokensPerMinute })) {
    if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) continue;
    throw cannot("limit requests", `${name} must be a whole number from 1 on`, `it is ${limit}`);
  }
}

/**
 * Rate limiters by server, model and limits.
 */
export class RateLimiters {
  readonly #report: (line: string) => void;
  readonly #known = new Map<string, { readonly who: string; readonly limiter: RateLimiter }>();

  /** Calls `report` with a line when a model is first slowed down, and once more by {@linkcode tellWaiting}. */
  constructor(report: (line: string) => void = () => {}) {
    this.#report = report;
  }

  /** Returns the limiter of a model at an address: the same one for the same limits. */
  of(baseURL: string, model: string, limits: RateLimits): RateLimiter {
    const { requestsPerMinute, tokensPerMinute } = limits;
    const { origin, host } = URL.canParse(baseURL)
      ? new URL(baseURL)
      : { origin: baseURL, host: baseURL };
    const key = JSON.stringify([origin, model, requestsPerMinute, tokensPerMinute]);
    const known = this.#known.get(key);
    if (known !== undefined) return known.limiter;
    const who = `${printable(model, 100)} at ${printable(host, 100)}`;
    const limiter = new RateLimiter({
      requestsPerMinute,
      tokensPerMinute,
      onSlowed: (retryAfter) => {
        const wish = retryAfter === undefined ? "" : `, and asks to wait ${seconds(retryAfter)}`;
        this.#report(`${who} refuses requests as they are too many (429)${wish}: slowing down`);
      },
      onWait: (milliseconds, what) => {
        this.#report(
          what === "asked"
            ? `${who} asks to wait ${seconds(milliseconds)} before a request is sent again`
            : `${who} has not replied yet, after ${seconds(milliseconds)} ` +
              "(requestTimeout, or --request-timeout, limits the wait)",
        );
      },
      onHeld: (milliseconds) => {
        this.#report(
          `Requests to ${who} are delayed by the given rate limits: the next one begins in ` +
            seconds(milliseconds),
        );
      },
    });
    this.#known.set(key, { who, limiter });
    return limiter;
  }

  /** Reports how often and for how long each model was slowed down, if it was. */
  tellWaiting(): void {
    for (const { who, limiter } of this.#known.values()) {
      const { refusals, waited } = limiter;
      const time = `requests waited ${seconds(waited)} in total`;
      if (refusals > 0) {
        this.#report(`${who} refused ${countText(refusals, "request")}; ${time}`);
      } else if (waited >= 1_000) {
        this.#report(`Requests to ${who} were delayed by the given rate limits; ${time}`);
      }
    }
  }
}

function seconds(milliseconds: number): string {
  const rounded = Math.max(milliseconds > 0 ? 0.1 : 0, Math.round(milliseconds / 100) / 10);
  return countText(rounded, "second");
}
