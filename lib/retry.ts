/**
 * Retrying: the one place that decides how long a model is waited for, and how often it is asked
 * again.
 * @module
 */

import { backoffAfter, SYSTEM_CLOCK } from "./backoff.ts";
import { inTime } from "./deadline.ts";
import { InputError } from "./input.ts";
import {
  InfrastructureError,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "./model.ts";
import { fork, freshSeed } from "./random.ts";

/** How patient to be with a model. */
export interface RetryPolicy {
  /** Attempts after the first one; default 3. */
  retries?: number;
  /** Milliseconds that one attempt may take; default 600,000 (ten minutes). */
  requestTimeout?: number;
  /** Milliseconds before the first retry, doubling with each, jittered, at most 8,000; default 500. */
  backoff?: number;
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
 * The function that is returned throws
 * - {@linkcode InfrastructureError} if the last attempt failed; the message says how many were made,
 *   and the cause is the attempt's own error;
 * - {@linkcode TimeLimitError} if one attempt took `request.timeLimit`;
 * - the reason of `request.signal` as soon as that aborts, also during a pause.
 *
 * @throws {InputError} If `retries` is no whole number from 0, `requestTimeout` not above 0, or
 * `backoff` below 0.
 *
 * @example Usage
 * ```ts
 * import { retrying } from "./retry.ts";
 * import { InfrastructureError } from "./model.ts";
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
  const { prng } = fork(freshSeed(), "backoff");
  return async (request) => {
    for (let made = 1;; made++) {
      request.signal?.throwIfAborted();
      const startedAt = performance.now();
      try {
        const reply = await bounded(attempt, request, requestTimeout);
        return { ...reply, duration: performance.now() - startedAt };
      } catch (error) {
        request.signal?.throwIfAborted();
        if (!(error instanceof InfrastructureError)) throw error;
        if (!error.retryable || made > retries) throw counted(error, made);
        const wait = error.retryAfter ?? 0;
        if (wait > LONGEST_WAIT) {
          const seconds = Math.round(wait / 1000);
          const message = `${error.message}; the server asks to wait ${seconds} seconds, too long`;
          throw counted(new InfrastructureError(message, { cause: error }), made);
        }
        const pause = Math.max(wait, backoffAfter(made, backoff, prng()));
        await SYSTEM_CLOCK.pause(pause, request.signal);
      }
    }
  };
}

/** Milliseconds beyond which a server's wish to wait is a failure that a person should see. */
const LONGEST_WAIT = 600_000;

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
  const { message, retryable, retryAfter } = error;
  return new InfrastructureError(`${message} (${made} attempt${made === 1 ? "" : "s"})`, {
    cause: error,
    retryable,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}
