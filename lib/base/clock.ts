/**
 * Clocks: the system's time, or one that a test sets.
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
