/**
 * Deadlines: work that ends in time, whether or not it listens to its signal.
 * @module
 */

import { type Clock, SYSTEM_CLOCK } from "./clock.ts";

/** How long to wait for work. */
export interface Deadline {
  /** Milliseconds; default: no limit. */
  readonly timeout?: number;
  /** Makes the error to throw when the time is up. */
  readonly outOfTime: () => unknown;
  /** Ends the wait with its reason as soon as it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Source of time; default: the system's clock. */
  readonly clock?: Clock;
}

/**
 * Returns the result of work that ends in time. When the wait is over, the signal passed to the work
 * aborts; work that does not stop then is abandoned, and its later errors are ignored.
 *
 * @throws The work's error, `outOfTime()`, or the signal's reason.
 */
export async function inTime<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { timeout = Infinity, outOfTime, signal, clock = SYSTEM_CLOCK }: Deadline,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const stopped = Promise.withResolvers<never>();
  // If the work throws synchronously, nothing else handles this rejection.
  stopped.promise.catch(() => {});
  const stop = (reason: unknown) => {
    // Reject first, so that this reason wins over the error the work throws on abort.
    stopped.reject(reason);
    controller.abort(reason);
  };
  const forward = () => stop(signal?.reason);
  signal?.addEventListener("abort", forward, { once: true });
  // Every request has a deadline, so it must cost next to nothing.
  const forgetTimer = timeout === Infinity
    ? undefined
    : clock.after(timeout, () => stop(outOfTime()));
  try {
    // The race also handles the loser's late rejection.
    return await Promise.race([stopped.promise, work(controller.signal)]);
  } finally {
    forgetTimer?.();
    signal?.removeEventListener("abort", forward);
  }
}
