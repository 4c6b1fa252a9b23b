/**
 * Deadlines: work that ends in time, whether or not it listens to its signal.
 * @module
 */

import { type Clock, SYSTEM_CLOCK } from "./clock.ts";

/** How long work is waited for. */
export interface Deadline {
  /** Milliseconds; default for ever. */
  readonly timeout?: number;
  /** The error that it ends with then. */
  readonly outOfTime: () => unknown;
  /** Ends it with its reason as soon as it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Where time comes from; default the system. */
  readonly clock?: Clock;
}

/**
 * What comes of work, if it comes in time. Its own signal aborts when it is no longer waited for; if it
 * does not stop then, it is left behind, and whatever it still throws is of no account.
 *
 * @throws What the work throws, `outOfTime()`, or the reason of the signal.
 *
 * @example Usage
 * ```ts
 * import { inTime } from "./deadline.ts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const outOfTime = () => new RangeError("too late");
 * assertEquals(await inTime(() => Promise.resolve(42), { timeout: 1000, outOfTime }), 42);
 * await assertRejects(() => inTime(() => new Promise(() => {}), { timeout: 1, outOfTime }), RangeError);
 * ```
 */
export async function inTime<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { timeout = Infinity, outOfTime, signal, clock = SYSTEM_CLOCK }: Deadline,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const stopped = Promise.withResolvers<never>();
  // Work that throws before it is waited for leaves nobody else to hear of an abortion.
  stopped.promise.catch(() => {});
  const stop = (reason: unknown) => {
    // The rejection comes first, so that it wins over what the work makes of the abortion.
    stopped.reject(reason);
    controller.abort(reason);
  };
  const forward = () => stop(signal?.reason);
  signal?.addEventListener("abort", forward, { once: true });
  // Every request has a deadline, so that it must cost next to nothing.
  const forgetTimer = timeout === Infinity
    ? undefined
    : clock.after(timeout, () => stop(outOfTime()));
  try {
    // The race also watches the loser, so that its late rejection is a handled one.
    return await Promise.race([stopped.promise, work(controller.signal)]);
  } finally {
    forgetTimer?.();
    signal?.removeEventListener("abort", forward);
  }
}
