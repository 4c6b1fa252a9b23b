/**
 * Retrying: sends requests to a model until one gets a reply, as far as that may help (`base/attempts.ts`).
 * @module
 */

import { Attempts, backoffAfter, type GiveUp } from "../../base/attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { inTime } from "../../base/deadline.ts";
import { cannot } from "../../base/errors.ts";
import type { Usage } from "../../tools/message.ts";
import type { FailedAttempt } from "../../calls/trace.ts";
import {
  InfrastructureError,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../model.ts";
import { fork, freshSeed } from "../../base/random.ts";
import { countText } from "../../base/numbers.ts";
import { MAX_WAIT, RateLimiter, type RateLimits, type Refusal } from "./rate_limiter.ts";

/** Retries, timeouts and rate limits of requests to a model. */
export interface RetryPolicy extends RateLimits {
  /** Attempts after the first one. Default: 3. */
  retries?: number;
  /**
   * Milliseconds that one attempt may take. Default: 300,000 (five minutes). A request without a whole reply in
   * time is not sent again.
   */
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

/** The server of a request, of which an attempt may get no answer. */
export interface AskedServer {
  /** The model and its host, for messages. */
  readonly who: string;
  /**
   * Whether the server is alive: it answered another request since the attempt began (`since`, in the
   * milliseconds of `performance.now()`), or it answers a small one now.
   */
  isAlive(since: number, signal: AbortSignal | undefined): Promise<boolean>;
}

/**
 * Creates a model's `reply` that makes up to `1 + retries` attempts.
 *
 * An attempt is stopped when `request.signal` aborts, when `requestTimeout` passes, or when it alone has
 * taken `request.timeLimit`: waiting and failed attempts do not count. After a retryable
 * {@linkcode InfrastructureError} it waits for its `retryAfter`, or for the backoff if that is longer; any
 * other error is thrown at once. The reply's `duration` is that of the successful attempt, and `failed` are
 * the attempts before it.
 *
 * Silence cannot tell a dead server from a slow model, so that with `server` an attempt without a whole answer
 * is never repeated: another one could draw another reply. It is the server's fault if that is not alive, or
 * if no reply of the model ever came within `requestTimeout`, else the model's. Without `server`, a
 * `timeLimit` is the model's fault, and a `requestTimeout` one that may pass.
 *
 * With a limiter, each attempt first waits for a permit. A rate limit (429) while other requests are under
 * way does not count as a retry, as slowing down helps then. The table in `base/attempts.ts` says how long a
 * request that is only refused goes on. With `retries` 0 the first refusal is the last one.
 *
 * The returned function throws
 * - {@linkcode InfrastructureError} if the last attempt failed; the message says how many were made,
 *   and the cause is the attempt's own error;
 * - {@linkcode TimeLimitError} if one attempt took `request.timeLimit`, or if a live server gave no answer
 *   within `requestTimeout`;
 * - the reason of `request.signal` as soon as that aborts, also during a pause.
 *
 * @throws {InputError} If `retries` is not a whole number from 0, `requestTimeout` not above 0, `backoff`
 * below 0, or `requestsPerMinute` or `tokensPerMinute` not a whole number from 1.
 */
export function retrying<
  Request extends Asked = ModelRequest,
  Reply extends object = Omit<ModelReply, "duration">,
>(
  attempt: Attempt<Request, Reply>,
  policy: RetryPolicy = {},
  server?: AskedServer,
): (request: Request) => Promise<Reply & Pick<ModelReply, "duration" | "failed">> {
  const { retries = 3, requestTimeout = 300_000, backoff = 500 } = policy;
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
  const rules = { retries, backoff, longestPause: MAX_WAIT };
  return async (request) => {
    const { signal } = request;
    const attempts = new Attempts(rules, prng);
    const failed: FailedAttempt[] = [];
    let last: Refusal | undefined;
    while (true) {
      signal?.throwIfAborted();
      // Only once ahead of others: a request that is refused for ever must let them pass.
      const entering = limiter?.enter(request, attempts.failed === 1);
      const place = entering instanceof Promise ? await entering : entering;
      const startedAt = performance.now();
      const noticed = watchSilence(limiter, clock);
      try {
        const reply = await bounded(attempt, request, requestTimeout).finally(noticed);
        const duration = performance.now() - startedAt;
        limiter?.succeeded(place!, replyTokens(reply));
        // An attempt may have failed within itself.
        const { failed: within = [] } = reply as Pick<ModelReply, "failed">;
        const all = [...failed, ...within];
        return { ...reply, duration, ...(all.length === 0 ? {} : { failed: all }) };
      } catch (error) {
        const refusal = limiter !== undefined && isRateLimit(error)
          ? limiter.refused(place!, error.retryAfter, {
            backoff: (refusals) => backoffAfter(refusals, backoff, prng()),
            last,
          })
          : undefined;
        if (refusal === undefined) limiter?.failed(place!);
        signal?.throwIfAborted();
        const fault = error instanceof Silence
          ? silenceFault(
            error,
            server && {
              who: server.who,
              isNew: !error.ofTrial && limiter?.answered === 0,
              isAlive: await server.isAlive(startedAt, signal),
            },
          )
          : error;
        if (!(fault instanceof InfrastructureError)) throw fault;
        addFailed(failed, fault);
        const { retryable, retryAfter } = fault;
        const next = attempts.next({
          ...{ retryable, retryAfter },
          refused: refusal && {
            vainFor: refusal.vainSince === undefined ? undefined : clock.now() - refusal.vainSince,
            isOwn: refusal.isOwn,
          },
        });
        if ("giveUp" in next) {
          // Nothing but refusals came for long, or the server says that nothing else will come.
          const isLimited = refusal !== undefined && !refusal.isOwn;
          const { giveUp } = next;
          const hasTools = "tools" in request && Object(request.tools).length > 0;
          throw withAttempts(fault, { attempts, failed, giveUp, isLimited, hasTools });
        }
        const { wait } = next;
        if ((retryAfter ?? 0) === wait) limiter?.tellAsked(wait);
        last = refusal;
        if (refusal === undefined) await clock.pause(wait, signal);
        else if (refusal.isOwn) await limiter!.rest(wait, signal);
        // Otherwise all requests wait, and this one for its permit: those that wait to be sent may be refused
        // as well.
        else if (refusal.vainSince === undefined && wait > (retryAfter ?? 0)) {
          await limiter!.rest(wait, signal);
        }
      }
    }
  };
}

/** Milliseconds without any reply of a model, after which a line says that the run is waiting for it. */
const LONG_SILENCE = 30_000;

/** Warns when a model that has never replied stays silent, until the returned function is called. */
function watchSilence(limiter: RateLimiter | undefined, clock: Clock): (() => void) | undefined {
  if (limiter === undefined || limiter.answered > 0) return undefined;
  return clock.after(LONG_SILENCE, () => limiter.tellSilent(LONG_SILENCE));
}

/** Failed attempts of infrastructure that are kept of a request, at most: a rate limit may cause hundreds. */
const MAX_KEPT = 20;

/** Keeps every attempt of unclear cause, as these decide whether a trial was valid at the first go. */
function addFailed(
  failed: FailedAttempt[],
  { fault, failed: added }: InfrastructureError,
) {
  if (fault === "infrastructure" && failed.length >= MAX_KEPT) return;
  failed.push(...added);
}

function ownLimiter({ requestsPerMinute, tokensPerMinute }: RateLimits): RateLimiter | undefined {
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) return undefined;
  return new RateLimiter({ requestsPerMinute, tokensPerMinute });
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

/** An attempt without any answer until its time was up. */
class Silence extends Error {
  /** `ofTrial` says whether the trial's own time was up, not that of a request. */
  constructor(message: string, readonly ofTrial: boolean) {
    super(message);
  }
}

/** Returns the error that silence is: the model's, if its server is alive and has replied before. */
function silenceFault(
  { message, ofTrial }: Silence,
  server: { readonly who: string; readonly isNew: boolean; readonly isAlive: boolean } | undefined,
): TimeLimitError | InfrastructureError {
  if (server === undefined) {
    return ofTrial
      ? new TimeLimitError(message)
      : new InfrastructureError(message, { retryable: true });
  }
  const { who, isNew, isAlive } = server;
  const permanent = { permanent: "refused" } as const;
  if (!isAlive) {
    return new InfrastructureError(
      `Cannot get a reply of ${who} as its server is silent: ${message}, and neither another request nor a ` +
        "small one afterwards was answered",
      permanent,
    );
  }
  if (isNew) {
    return new InfrastructureError(
      `Cannot get a reply of ${who} as it has never replied: ${message}; if it needs longer, raise ` +
        "requestTimeout (--request-timeout)",
      permanent,
    );
  }
  return ofTrial
    ? new TimeLimitError(message)
    : new TimeLimitError(`${message}, though the server answers others`, { ofRequest: true });
}

/** Makes one attempt that ends in time, whether or not it observes its signal. */
async function bounded<Request extends Asked, Reply extends object>(
  attempt: Attempt<Request, Reply>,
  request: Request,
  requestTimeout: number,
): Promise<Reply> {
  const { signal, timeLimit = Infinity } = request;
  if (timeLimit <= 0) throw new TimeLimitError("The time limit of 0 ms was reached");
  const timeout = Math.min(timeLimit, requestTimeout);
  const outOfTime = () =>
    timeLimit <= requestTimeout
      ? new Silence(`The time limit of ${timeLimit} ms was reached`, true)
      : new Silence(`no whole reply came within ${requestTimeout / 1000} seconds`, false);
  return await inTime((own) => attempt(request, own), { timeout, outOfTime, signal });
}

const SAME = "; the same error came each time: the server may be unable to read calls of the model";

/** Returns `error` with the number of attempts in its message, and why the server's wish was not heeded. */
function withAttempts(
  error: InfrastructureError,
  { attempts, failed, giveUp, isLimited, hasTools }: {
    readonly attempts: Attempts;
    readonly failed: readonly FailedAttempt[];
    readonly giveUp: GiveUp;
    readonly isLimited: boolean;
    readonly hasTools: boolean;
  },
): InfrastructureError {
  const { message, retryable, retryAfter, rateLimited, status, fault } = error;
  const permanent = error.permanent ?? (isLimited ? "limit" : undefined);
  const wish = retryAfter === undefined || retryAfter <= MAX_WAIT
    ? "rate limits ask to wait for more than ten minutes"
    : `the server asks to wait ${Math.round(retryAfter / 1000)} seconds`;
  const isSame = hasTools && status === 500 && failed.length > 1 &&
    failed.every((one) => one.message === message);
  const reason = giveUp === "pause" ? `; ${wish}, too long` : isSame ? SAME : "";
  return new InfrastructureError(`${message}${reason} (${countText(attempts.failed, "attempt")})`, {
    ...{ cause: error, retryable, rateLimited, fault, failed },
    retryAfter,
    status,
    permanent,
  });
}
