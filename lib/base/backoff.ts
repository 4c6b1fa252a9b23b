/**
 * Backoff: how long is waited before something that failed is tried again.
 * @module
 */

/** Where time comes from: the system's, or one that a test turns by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits so many milliseconds, or throws the signal's reason as soon as that aborts. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `wake` after so many milliseconds, unless what comes back is called before. */
  after(milliseconds: number, wake: () => void): () => void;
}

// Timers hold 31 bits; a longer one would fire at once.
const LONGEST_TIMER = 2 ** 31 - 1;

/** The system's time. Whoever turns the machine's clock does not change it. */
export const SYSTEM_CLOCK: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  async pause(milliseconds, signal) {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal?.reason);
    const timer = setTimeout(resolve, Math.min(milliseconds, LONGEST_TIMER));
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  },
  after(milliseconds, wake) {
    const timer = setTimeout(wake, Math.min(milliseconds, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};

const LONGEST_BACKOFF = 8_000;

/**
 * Milliseconds to wait after so many failed attempts: `first` after one, doubling with each, at most
 * 8,000, and somewhere in the upper half of that, so that those who failed together do not come back
 * together.
 *
 * @param draw Where in that half, from 0 to 1.
 *
 * @example Usage
 * ```ts
 * import { backoffAfter } from "./backoff.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([1, 2, 3].map((made) => backoffAfter(made, 500, 1)), [500, 1000, 2000]);
 * assertEquals(backoffAfter(99, 500, 0), 4000);
 * ```
 */
export function backoffAfter(made: number, first: number, draw: number): number {
  const step = Math.min(first * 2 ** Math.min(made - 1, 30), LONGEST_BACKOFF);
  return step * (0.5 + draw / 2);
}

/** Headers of a response, of whichever library. */
export interface ReadableHeaders {
  /** The text of a header, in whatever case it is asked for. */
  get(name: string): string | null | undefined;
}

/**
 * Milliseconds that a server asks to wait: seconds or a date, or the finer `retry-after-ms`; `undefined` where
 * these say nothing, or a number without end.
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
