/**
 * Clocks: the system's time, or a time that a test controls.
 * @module
 */

/** A source of time: the system's clock, or one that a test moves by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits `milliseconds`; throws the signal's reason as soon as it aborts. */
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `wake` after `milliseconds`, unless the returned function is called first. */
  after(milliseconds: number, wake: () => void): () => void;
}

// Timers hold 31 bits; a longer delay would fire at once.
const MAX_TIMER = 2 ** 31 - 1;

/** The system's time. Changes of the machine's clock do not affect it. */
export const SYSTEM_CLOCK: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  async pause(milliseconds, signal) {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal?.reason);
    const timer = setTimeout(resolve, Math.min(milliseconds, MAX_TIMER));
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  },
  after(milliseconds, wake) {
    const timer = setTimeout(wake, Math.min(Math.max(0, milliseconds), MAX_TIMER));
    return () => clearTimeout(timer);
  },
};
