/**
 * Retrying: the one place that decides how long a model is waited for, and how often it is asked
 * again.
 * @module
 */

import { backoffAfter } from "../../base/backoff.ts";
import { SYSTEM_CLOCK } from "../../base/clock.ts";
import { inTime } from "../../base/deadline.ts";
import { InputError } from "../../base/errors.ts";
import type { Usage } from "../../tools/message.ts";
import {
  InfrastructureError,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../model.ts";
import { fork, freshSeed } from "../../base/random.ts";
import { LONGEST_WAIT, RateLimiter, type RateLimits } from "./rate_limiter.ts";

/** How patient to be with a model, and how much to ask of it. */
export interface RetryPolicy extends RateLimits {
  /** Attempts after the first one; default 3. */
  retries?: number;
  /** Milliseconds that one attempt may take; default 600,000 (ten minutes). */
  requestTimeout?: number;
  /** Milliseconds before the first retry, doubling with each, jittered, at most 8,000; default 500. */
  backoff?: number;
  /**
   * Shared by all who ask the same model of a server; its limits are those that hold. By default there is
   * none, or with `requestsPerMinute` or `tokensPerMinute` one of its own.
   */
  limiter?: RateLimiter;
}

/**
 * Asks a model once, without retrying. It should stop when `signal` aborts; if it does not, it is
 * left behind.
 *
 * @throws {InfrastructureError} If no usable reply came; `retryable` says whether to ask again.
 */
export type Attempt<
  Request extends Asked = ModelRequest,
  Reply extends object = Omit<ModelReply, "duration">,
> = (request: Request, signal: AbortSignal) => Promise<Reply>;

/** What is to be known of any request, for a model's reply or anything else. */
export type Asked = Pick<ModelRequest, "timeLimit" | "signal">;

/**
 * A model's `reply` that makes up to `1 + retries` attempts.
 *
 * An attempt is stopped when `request.signal` aborts, when `requestTimeout` passes, or when it has
 * taken `request.timeLimit` by itself: waiting and failed attempts do not count. A retryable
 * {@linkcode InfrastructureError} is met with a pause of its `retryAfter`, however long, or of the
 * backoff if that is longer; anything else that an attempt throws is thrown at once. The reply's
 * `duration` is that of the successful attempt.
 *
 * With a limiter, each attempt first takes a place there. One that is refused for its rate while others
 * are under way is none of the `retries`, as slowing down is what helps then. Nor is one that is refused alone,
 * as long as such limits use to last: only after 90 seconds of nothing but refusals is it the last one, if it
 * had been refused more often than `retries` say, and after ten minutes whatever these say. With `retries` 0 it
 * is so at once.
 *
 * The function that is returned throws
 * - {@linkcode InfrastructureError} if the last attempt failed; the message says how many were made,
 *   and the cause is the attempt's own error;
 * - {@linkcode TimeLimitError} if one attempt took `request.timeLimit`;
 * - the reason of `request.signal` as soon as that aborts, also during a pause.
 *
 * @throws {InputError} If `retries` is no whole number from 0, `requestTimeout` not above 0,
 * `backoff` below 0, or `requestsPerMinute` or `tokensPerMinute` no whole number from 1.
 *
 * @example Usage
 * ```ts
 * import { retrying } from "./retry.ts";
 * import { InfrastructureError } from "../model.ts";
 * import { assertEquals } from "@std/assert";
 *
 * let attempts = 0;
 * const reply = retrying(() => {
 *   attempts++;
 *   if (attempts < 3) throw new InfrastructureError("Too busy", { retryable: true });
 *   const usage = { inputTokens: 0, outputTokens: 0 };
 *   return Promise.resolve({
 *     text: "hello",
 *     calls: [],
 *     finish: "stop",
 *     usage,
 *     served: "parrot",
 *     repairs: [],
 *   });
 * }, { backoff: 1 });
 *
 * const context = { trial: "example", repetition: 1, request: 1 };
 * const { text } = await reply({ messages: [], tools: [], context });
 * assertEquals([text, attempts], ["hello", 3]);
 * ```
 */
export function retrying<
  Request extends Asked = ModelRequest,
  Reply extends object = Omit<ModelReply, "duration">,
>(
  attempt: Attempt<Request, Reply>,
  policy: RetryPolicy = {},
): (request: Request) => Promise<Reply & Pick<ModelReply, "duration">> {
  const { retries = 3, requestTimeout = 600_000, backoff = 500 } = policy;
  if (!Number.isInteger(retries) || retries < 0) {
    throw new InputError(`Cannot retry as retries must be a whole number from 0: it is ${retries}`);
  }
  if (!(requestTimeout > 0)) {
    throw new InputError(`Cannot retry as requestTimeout must be above 0: it is ${requestTimeout}`);
  }
  if (!(backoff >= 0)) {
    throw new InputError(`Cannot retry as backoff must be at least 0: it is ${backoff}`);
  }
  const limiter = policy.limiter ?? ownThrottle(policy);
  const clock = limiter?.clock ?? SYSTEM_CLOCK;
  const { prng } = fork(freshSeed(), "backoff");
  return async (request) => {
    const { signal } = request;
    let failed = 0;
    let refusals = 0;
    let waited = 0;
    for (let made = 1;; made++) {
      signal?.throwIfAborted();
      const entering = limiter?.enter(request, made > 1);
      const place = entering instanceof Promise ? await entering : entering;
      const startedAt = performance.now();
      try {
        const reply = await bounded(attempt, request, requestTimeout);
        const duration = performance.now() - startedAt;
        limiter?.succeeded(place!, tokensOf(reply));
        return { ...reply, duration };
      } catch (error) {
        const isRefused = limiter !== undefined && isRateLimit(error);
        if (!isRefused) limiter?.failed(place!);
        const own = backoffAfter(made, backoff, prng());
        const alone = isRefused ? limiter.refused(place!, error.retryAfter, own) : undefined;
        signal?.throwIfAborted();
        if (!(error instanceof InfrastructureError)) throw error;
        if (!error.retryable) throw counted(error, made);
        if (!isRefused && ++failed > retries) throw counted(error, made);
        const wait = error.retryAfter ?? 0;
        if (wait > LONGEST_WAIT) {
          throw counted(tooLong(error, `the server asks to wait ${inSeconds(wait)}`), made);
        }
        const pause = Math.max(wait, own);
        if (!isRefused) {
          await clock.pause(pause, signal);
          continue;
        }
        refusals++;
        // Most limits are by the minute: before one has passed, nobody knows that waiting is in vain.
        const isVain = alone !== undefined && (retries === 0 || alone >= PATIENCE);
        // Whoever has waited for others' refusals need not wait for as many of its own.
        const isHopeless = alone !== undefined && alone >= LONGEST_WAIT;
        if (isHopeless || (isVain && refusals > retries)) throw counted(error, made);
        waited += pause;
        if (waited > LONGEST_WAIT) {
          throw counted(tooLong(error, `rate limits ask to wait ${inSeconds(waited)}`), made);
        }
        // Where all wait for as long, it waits for its place, ahead of those that are new.
        if (alone === undefined && own > wait) await limiter.rest(own, signal);
      }
    }
  };
}

/** Milliseconds for which nothing but refusals must come before one is final: a minute, and some more. */
const PATIENCE = 90_000;

function ownThrottle({ requestsPerMinute, tokensPerMinute }: RateLimits): RateLimiter | undefined {
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) return undefined;
  return new RateLimiter({
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
  });
}

/** Whether asking less often is what helps. */
function isRateLimit(error: unknown): error is InfrastructureError {
  return error instanceof InfrastructureError && error.retryable && error.rateLimited;
}

/** The tokens that a reply took, where it tells. */
function tokensOf(reply: { readonly usage?: Partial<Usage> }): number | undefined {
  const { inputTokens, outputTokens } = reply.usage ?? {};
  return inputTokens === undefined || outputTokens === undefined
    ? undefined
    : inputTokens + outputTokens;
}

function inSeconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1000)} seconds`;
}

function tooLong(error: InfrastructureError, why: string): InfrastructureError {
  return new InfrastructureError(`${error.message}; ${why}, too long`, { cause: error });
}

/** One attempt that ends in time, whether or not it listens to its signal. */
async function bounded<Request extends Asked, Reply extends object>(
  attempt: Attempt<Request, Reply>,
  request: Request,
  requestTimeout: number,
): Promise<Reply> {
  const { signal, timeLimit = Infinity } = request;
  const outOfTime = () =>
    timeLimit <= requestTimeout
      ? new TimeLimitError(`The time limit of ${Math.max(0, timeLimit)} ms was reached`)
      : new InfrastructureError(
        `Cannot wait longer for a reply: ${requestTimeout} ms have passed`,
        {
          retryable: true,
        },
      );
  if (timeLimit <= 0) throw outOfTime();
  const timeout = Math.min(timeLimit, requestTimeout);
  return await inTime((own) => attempt(request, own), { timeout, outOfTime, signal });
}

/** `error`, with the number of attempts in its message. */
function counted(error: InfrastructureError, made: number): InfrastructureError {
  const { message, retryable, retryAfter, rateLimited } = error;
  return new InfrastructureError(`${message} (${made} attempt${made === 1 ? "" : "s"})`, {
    cause: error,
    retryable,
    rateLimited,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}
