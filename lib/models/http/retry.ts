/**
 * Retrying: the one place that decides how long to wait for a model, and how often to repeat a request.
 * @module
 */

import { defined } from "../../base/json.ts";
import { backoffAfter } from "../../base/backoff.ts";
import { SYSTEM_CLOCK } from "../../base/clock.ts";
import { inTime } from "../../base/deadline.ts";
import { cannot } from "../../base/errors.ts";
import type { Usage } from "../../tools/message.ts";
import {
  InfrastructureError,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../model.ts";
import { fork, freshSeed } from "../../base/random.ts";
import { countText } from "../../base/numbers.ts";
import { MAX_WAIT, RateLimiter, type RateLimits } from "./rate_limiter.ts";

/** Retries, timeouts and rate limits of requests to a model. */
export interface RetryPolicy extends RateLimits {
  /** Attempts after the first one. Default: 3. */
  retries?: number;
  /** Milliseconds that one attempt may take. Default: 600,000 (ten minutes). */
  requestTimeout?: number;
  /** Milliseconds before the first retry, doubling with each, jittered, at most 8,000. Default: 500. */
  backoff?: number;
  /**
   * Rate limiter shared by all requests to the same model of a server; its limits apply. Default: none, or a
   * new one with `requestsPerMinute` or `tokensPerMinute`.
   */
  limiter?: RateLimiter;
}

/**
 * Asks a model once, without retrying. It should stop when `signal` aborts; if it does not, its result is
 * ignored.
 *
 * @throws {InfrastructureError} If there is no usable reply; `retryable` says whether to ask again.
 */
export type Attempt<
  Request extends Asked = ModelRequest,
  Reply extends object = Omit<ModelReply, "duration">,
> = (request: Request, signal: AbortSignal) => Promise<Reply>;

/** The fields of any request, for a model's reply or anything else, that retrying uses. */
export type Asked = Pick<ModelRequest, "timeLimit" | "signal">;

/**
 * Creates a model's `reply` that makes up to `1 + retries` attempts.
 *
 * An attempt is stopped when `request.signal` aborts, when `requestTimeout` passes, or when it alone has
 * taken `request.timeLimit`: waiting and failed attempts do not count. After a retryable
 * {@linkcode InfrastructureError} it waits for its `retryAfter`, or for the backoff if that is longer; any
 * other error is thrown at once. The reply's `duration` is that of the successful attempt.
 *
 * With a limiter, each attempt first waits for a permit. A rate limit (429) while other requests are under
 * way does not count as a retry, as slowing down helps then. Nor does one of a single request under way,
 * until nothing but refusals has come for 90 seconds: then the attempt is the last one if it was refused
 * more than `retries` times, and after ten minutes in any case. With `retries` 0 it is the last one at once.
 *
 * The returned function throws
 * - {@linkcode InfrastructureError} if the last attempt failed; the message says how many were made,
 *   and the cause is the attempt's own error;
 * - {@linkcode TimeLimitError} if one attempt took `request.timeLimit`;
 * - the reason of `request.signal` as soon as that aborts, also during a pause.
 *
 * @throws {InputError} If `retries` is not a whole number from 0, `requestTimeout` not above 0, `backoff`
 * below 0, or `requestsPerMinute` or `tokensPerMinute` not a whole number from 1.
 *
 * @example Usage
 * ```ts
 * import { InfrastructureError } from "@toolgate/toolgate";
 * import { retrying } from "@toolgate/toolgate/models";
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
    throw cannot("retry", "retries must be a whole number from 0", `it is ${retries}`);
  }
  if (!(requestTimeout > 0)) {
    throw cannot("retry", "requestTimeout must be above 0", `it is ${requestTimeout}`);
  }
  if (!(backoff >= 0)) {
    throw cannot("retry", "backoff must be at least 0", `it is ${backoff}`);
  }
  const limiter = policy.limiter ?? ownLimiter(policy);
  const clock = limiter?.clock ?? SYSTEM_CLOCK;
  const { prng } = fork(freshSeed(), "backoff");
  return async (request) => {
    const { signal } = request;
    let failed = 0;
    let refusals = 0;
    let waited = 0;
    for (let attempts = 1;; attempts++) {
      signal?.throwIfAborted();
      const entering = limiter?.enter(request, attempts > 1);
      const place = entering instanceof Promise ? await entering : entering;
      const startedAt = performance.now();
      try {
        const reply = await bounded(attempt, request, requestTimeout);
        const duration = performance.now() - startedAt;
        limiter?.succeeded(place!, replyTokens(reply));
        return { ...reply, duration };
      } catch (error) {
        const isRefused = limiter !== undefined && isRateLimit(error);
        if (!isRefused) limiter?.failed(place!);
        const own = backoffAfter(attempts, backoff, prng());
        const refusedFor = isRefused ? limiter.refused(place!, error.retryAfter, own) : undefined;
        signal?.throwIfAborted();
        if (!(error instanceof InfrastructureError)) throw error;
        if (!error.retryable) throw withAttempts(error, attempts);
        if (!isRefused && ++failed > retries) throw withAttempts(error, attempts);
        const wait = error.retryAfter ?? 0;
        if (wait > MAX_WAIT) {
          throw withAttempts(
            tooLong(error, `the server asks to wait ${inSeconds(wait)}`),
            attempts,
          );
        }
        const pause = Math.max(wait, own);
        if (!isRefused) {
          await clock.pause(pause, signal);
          continue;
        }
        refusals++;
        // Most limits are per minute: only after one has passed is waiting known to be useless.
        const isVain = refusedFor !== undefined && (retries === 0 || refusedFor >= PATIENCE);
        // A request that waited during others' refusals need not collect as many of its own.
        const isHopeless = refusedFor !== undefined && refusedFor >= MAX_WAIT;
        if (isHopeless || (isVain && refusals > retries)) throw withAttempts(error, attempts);
        waited += pause;
        if (waited > MAX_WAIT) {
          throw withAttempts(
            tooLong(error, `rate limits ask to wait ${inSeconds(waited)}`),
            attempts,
          );
        }
        // Otherwise all requests wait, and this one waits for its permit, ahead of new ones.
        if (refusedFor === undefined && own > wait) await limiter.rest(own, signal);
      }
    }
  };
}

/** Milliseconds of nothing but refusals before one is final: a minute, and some more. */
const PATIENCE = 90_000;

function ownLimiter({ requestsPerMinute, tokensPerMinute }: RateLimits): RateLimiter | undefined {
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) return undefined;
  return new RateLimiter(defined({ requestsPerMinute, tokensPerMinute }));
}

/** Returns whether an error is a rate limit that asking less often helps against. */
function isRateLimit(error: unknown): error is InfrastructureError {
  return error instanceof InfrastructureError && error.retryable && error.rateLimited;
}

/** Returns the tokens that a reply took; `undefined` if it does not say. */
function replyTokens(reply: { readonly usage?: Partial<Usage> }): number | undefined {
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

/** Makes one attempt that ends in time, whether or not it observes its signal. */
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

/** Returns `error` with the number of attempts in its message. */
function withAttempts(error: InfrastructureError, attempts: number): InfrastructureError {
  const { message, retryable, retryAfter, rateLimited } = error;
  return new InfrastructureError(`${message} (${countText(attempts, "attempt")})`, {
    cause: error,
    retryable,
    rateLimited,
    ...defined({ retryAfter }),
  });
}
