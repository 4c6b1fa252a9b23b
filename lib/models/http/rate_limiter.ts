/**
 * RateLimiters: how many requests a model gets at a time and in a minute, so that a server's limits slow a run
 * down and do not spoil it.
 * @module
 */

import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";

/** What a model of a server may be asked for. */
export interface RateLimits {
  /** Requests that may begin within any 60 seconds; default unlimited. */
  requestsPerMinute?: number;
  /** Tokens that may be read and written within any 60 seconds; default unlimited. */
  tokensPerMinute?: number;
}

/** Options of a {@linkcode RateLimiter}. */
export interface RateLimiterOptions extends RateLimits {
  /** Hears of the first refusal, with the milliseconds that the server asks to wait, if it does. */
  readonly onSlowed?: (retryAfter: number | undefined) => void;
  /** Hears of the first time that the limits given hold requests back for long, with the milliseconds. */
  readonly onHeld?: (milliseconds: number) => void;
  /** Where time comes from; default the system. */
  readonly clock?: Clock;
}

/** A request that is under way. */
export interface Permit {
  /** How often the limiter had been lowered when it began. */
  readonly era: number;
  /** Tokens that it is expected to take; 0 where tokens have no limit. */
  readonly reserved: number;
}

interface Waiter {
  readonly size: number;
  readonly again: boolean;
  readonly since: number;
  readonly resolve: (place: Permit) => void;
}

/** Milliseconds of waiting for a server beyond which a person should see that it fails. */
export const LONGEST_WAIT = 600_000;

const MINUTE = 60_000;

/** Milliseconds of silence after which a person wonders. */
const LONG = 5_000;

/** Characters of a request for one token of it, as a first guess. */
const CHARACTERS_A_TOKEN = 4;

/**
 * Requests of one model of a server, by whoever makes them: each takes a place, and tells how it ended.
 *
 * A refusal halves how many may be under way; while all of these are in use, each success adds a part of
 * one, so that there is one more after a round of them, and much later where the server has refused that
 * many before (additive increase, multiplicative decrease: Chiu and Jain 1989).
 *
 * @example Usage
 * ```ts
 * import { RateLimiter } from "./rate_limiter.ts";
 * import { retrying } from "./retry.ts";
 * import { assertEquals } from "@std/assert";
 *
 * // Shared by all who ask the same model.
 * const limiter = new RateLimiter({ requestsPerMinute: 500 });
 * const ask = retrying((_: { signal?: AbortSignal }) => Promise.resolve({ text: "hello" }), { limiter });
 * assertEquals((await ask({})).text, "hello");
 * assertEquals([limiter.underWay, limiter.refusals], [0, 0]);
 * ```
 */
export class RateLimiter {
  /** Where time comes from. */
  readonly clock: Clock;

  readonly #requests: number;
  readonly #tokens: number;
  readonly #onSlowed: RateLimiterOptions["onSlowed"];
  #onHeld: RateLimiterOptions["onHeld"];
  /** The most that may be under way, in parts of one too; no limit before the first refusal. */
  #most = Infinity;
  /** How many were under way when it was lowered last. */
  #refusedAt = 0;
  #era = 0;
  #underWay = 0;
  #refusals = 0;
  #aloneSince: number | undefined;
  #waited = 0;
  #pausedUntil = 0;
  readonly #queue: Waiter[] = [];
  /** When the last requests began: at most as many as may in a minute, the oldest at `#oldest`. */
  readonly #begun: number[] = [];
  #oldest = 0;
  /** What requests took that ended within the last minute, and what is reserved for those under way. */
  readonly #taken: { readonly at: number; readonly tokens: number }[] = [];
  #takenInAll = 0;
  #reserved = 0;
  #samples = 0;
  #mean = 0;
  #timer: { readonly due: number; readonly stop: AbortController } | undefined;

  /**
   * Has no request under way yet.
   *
   * @throws {InputError} If a limit is no whole number from 1 on.
   */
  constructor(options: RateLimiterOptions = {}) {
    assertRates(options);
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity } = options;
    const { onSlowed, onHeld, clock } = options;
    this.#requests = requestsPerMinute;
    this.#tokens = tokensPerMinute;
    this.#onSlowed = onSlowed;
    this.#onHeld = onHeld;
    this.clock = clock ?? SYSTEM_CLOCK;
  }

  /** The most requests that may be under way at present. */
  get most(): number {
    return Math.floor(this.#most);
  }

  /** Requests that are under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Requests that wait for a place. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** How often the server has refused a request for its rate. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Milliseconds that requests have waited, all together: for a place, and after a refusal. */
  get waited(): number {
    return this.#waited;
  }

  /**
   * A place for a request: at once where no limit is near, so that nothing is waited for, else in the
   * order of asking, those that ask `again` first. Each place is to be given back once, by one of the
   * methods that follow.
   *
   * @throws The reason of the request's signal, if that aborts while it waits.
   */
  enter(request: { readonly signal?: AbortSignal }, again = false): Permit | Promise<Permit> {
    const size = this.#tokens === Infinity ? 0 : sizeOf(request);
    const free = this.#queue.length === 0 && this.#underWay < this.most;
    if (free && this.#delay(size) === 0) return this.#begin(size);
    return this.#wait({ size, again }, request.signal);
  }

  /** A request was replied to, and took so many tokens; `undefined` if nobody knows. */
  succeeded(place: Permit, tokens: number | undefined): void {
    this.#aloneSince = undefined;
    // What was never needed says nothing about what the server allows.
    if (this.#most !== Infinity && this.#underWay >= this.most) this.#raise();
    if (this.#tokens !== Infinity) this.#take(tokens ?? place.reserved);
    this.#leave(place);
  }

  /** A request failed, was given up, or ran out of time. */
  failed(place: Permit): void {
    this.#leave(place);
  }

  /**
   * A request was refused for its rate. That halves how many may be under way, once for all of them; and
   * where the server asks to wait, all requests do. One that was alone lets all wait for its `backoff`, too.
   *
   * @return Milliseconds for which nothing but refusals of single requests has come; `undefined` where
   * others were under way, so that slowing down is the cure.
   */
  refused(place: Permit, retryAfter: number | undefined, backoff = 0): number | undefined {
    if (this.#refusals++ === 0) this.#onSlowed?.(retryAfter);
    const isOld = place.era < this.#era;
    const isAlone = !isOld && this.#underWay === 1;
    if (!isOld && !isAlone) {
      this.#era++;
      this.#refusedAt = this.#underWay;
      this.#most = Math.max(1, Math.floor(this.#underWay / 2));
    }
    const now = this.clock.now();
    this.#aloneSince = isAlone ? this.#aloneSince ?? now : undefined;
    // Whoever is asked to wait for longer fails, and nobody else has to wait for that.
    const wait = retryAfter ?? 0;
    if (wait <= LONGEST_WAIT) this.#pause(isAlone ? Math.max(wait, backoff) : wait);
    this.#leave(place);
    return this.#aloneSince === undefined ? undefined : now - this.#aloneSince;
  }

  /** Lets all requests wait that have not begun. */
  #pause(milliseconds: number): void {
    if (milliseconds <= 0) return;
    this.#pausedUntil = Math.max(this.#pausedUntil, this.clock.now() + milliseconds);
  }

  /**
   * Lets one request wait that was refused.
   *
   * @throws The reason of the signal, as soon as that aborts.
   */
  async rest(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    this.#waited += milliseconds;
    await this.clock.pause(milliseconds, signal);
  }

  /** A whole place more with each round of those under way, and much slower where it was refused before. */
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
    asked: Pick<Waiter, "size" | "again">,
    signal: AbortSignal | undefined,
  ): Promise<Permit> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter: Waiter = { ...asked, since: this.clock.now(), resolve };
    const giveUp = () => {
      const place = this.#queue.indexOf(waiter);
      if (place < 0) return;
      this.#queue.splice(place, 1);
      this.#waited += this.clock.now() - waiter.since;
      reject(signal?.reason);
      this.#admit();
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    const firstNew = asked.again ? this.#queue.findIndex(({ again }) => !again) : -1;
    this.#queue.splice(firstNew < 0 ? this.#queue.length : firstNew, 0, waiter);
    this.#admit();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Lets in, in their order, all who need not wait longer. */
  #admit(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      // Whoever leaves asks again.
      if (this.#underWay >= this.most) break;
      const delay = this.#delay(first.size);
      if (delay > 0) {
        this.#tellHeld(delay);
        return this.#wakeIn(delay);
      }
      this.#queue.shift();
      this.#waited += this.clock.now() - first.since;
      first.resolve(this.#begin(first.size));
    }
    this.#wakeIn(Infinity);
  }

  /** Tells it once; what the server itself asks for is told elsewhere, and what others wait for ends soon. */
  #tellHeld(delay: number): void {
    if (delay < LONG || delay === Infinity || this.#pausedUntil > 0) return;
    this.#onHeld?.(delay);
    this.#onHeld = undefined;
  }

  /** Asks again after so many milliseconds, and not before. */
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

  /** Milliseconds until pauses and minutes let a request begin; Infinity until others have ended. */
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

  /** Tokens of a request, as those before it say; one of more than the limit takes all of it. */
  #expected(size: number): number {
    if (this.#tokens === Infinity) return 0;
    return Math.min(this.#tokens, Math.ceil(this.#samples === 0 ? size : this.#mean));
  }

  #take(claimed: number): void {
    // Nobody waits for ever because of what a server claims: whole numbers add up to what was added.
    const tokens = claimed >= 0 ? Math.min(Math.ceil(claimed), this.#tokens) : 0;
    this.#samples++;
    this.#mean += (tokens - this.#mean) / this.#samples;
    this.#taken.push({ at: this.clock.now(), tokens });
    this.#takenInAll += tokens;
  }
}

/**
 * Refuses limits that nobody could keep.
 *
 * @throws {InputError} If a limit is no whole number from 1 on.
 */
export function assertRates({ requestsPerMinute, tokensPerMinute }: RateLimits): void {
  for (const [name, limit] of Object.entries({ requestsPerMinute, tokensPerMinute })) {
    if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) continue;
    throw new InputError(
      `Cannot limit requests as ${name} must be a whole number from 1 on: it is ${limit}`,
    );
  }
}

/** Tokens of a request, by its length. */
function sizeOf(request: object): number {
  try {
    return Math.ceil(JSON.stringify(request).length / CHARACTERS_A_TOKEN);
  } catch {
    // What nests too deep to be written down fails where it is to be sent.
    return 1;
  }
}

/**
 * RateLimiters by what they are for.
 *
 * @example Usage
 * ```ts
 * import { RateLimiters } from "./rate_limiter.ts";
 * import { assert } from "@std/assert";
 *
 * const limiters = new RateLimiters(console.error);
 * const one = limiters.of("https://api.openai.com/v1", "gpt-5", {});
 * assert(limiters.of("https://api.openai.com/v1/", "gpt-5", {}) === one);
 * ```
 */
export class RateLimiters {
  readonly #tell: (line: string) => void;
  readonly #known = new Map<string, { readonly who: string; readonly limiter: RateLimiter }>();

  /** `tell` gets a line when a model is first slowed down or held back, and one about each when all is over. */
  constructor(tell: (line: string) => void = () => {}) {
    this.#tell = tell;
  }

  /** The limiter of a model at an address: the same for all who ask it with the same limits. */
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
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
      ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
      onSlowed: (retryAfter) => {
        const wish = retryAfter === undefined ? "" : `, and asks to wait ${seconds(retryAfter)}`;
        this.#tell(`${who} refuses requests as they are too many (429)${wish}: slowing down`);
      },
      onHeld: (milliseconds) => {
        this.#tell(
          `${who} is asked no faster than the limits given allow: the next request begins in ` +
            seconds(milliseconds),
        );
      },
    });
    this.#known.set(key, { who, limiter });
    return limiter;
  }

  /** Tells how often and for how long each model was slowed down; of the others nothing. */
  tellWaiting(): void {
    for (const { who, limiter } of this.#known.values()) {
      const { refusals, waited } = limiter;
      const time = `requests waited ${seconds(waited)}, all together`;
      if (refusals > 0) {
        this.#tell(`${who} refused ${refusals} request${refusals === 1 ? "" : "s"}; ${time}`);
      } else if (waited >= 1_000) {
        this.#tell(`${who} was asked no faster than the limits given allow; ${time}`);
      }
    }
  }
}

function seconds(milliseconds: number): string {
  const rounded = Math.max(milliseconds > 0 ? 0.1 : 0, Math.round(milliseconds / 100) / 10);
  return `${rounded} second${rounded === 1 ? "" : "s"}`;
}
