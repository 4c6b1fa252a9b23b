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

/**
 * Calls to be made, all the same time after they were asked for. They share one timer: making one for each takes
 * as long as all else about the deadline of a request.
 */
class Alarms {
  readonly #delay: number;
  /** In the order in which they are due. */
  readonly #waiting = new Set<{ readonly due: number; readonly wake: () => void }>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer rings. */
  #rings = 0;

  constructor(delay: number) {
    this.#delay = delay;
  }

  /** Returns a function that takes the call back. */
  add(wake: () => void): () => void {
    const alarm = { due: performance.now() + this.#delay, wake };
    this.#waiting.add(alarm);
    if (this.#timer === undefined) this.#set(alarm.due);
    return () => {
      this.#waiting.delete(alarm);
      if (this.#waiting.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (alarms.get(this.#delay) === this) alarms.delete(this.#delay);
    };
  }

  #set(due: number): void {
    // One that was called may have asked again, and so set a timer that is too late for others.
    clearTimeout(this.#timer);
    this.#rings = due;
    this.#timer = setTimeout(this.#ring, Math.ceil(Math.max(0, due - performance.now())));
  }

  readonly #ring = () => {
    this.#timer = undefined;
    const now = this.#rings;
    for (const alarm of this.#waiting) {
      if (alarm.due > now) return this.#set(alarm.due);
      this.#waiting.delete(alarm);
      alarm.wake();
    }
    if (alarms.get(this.#delay) === this) alarms.delete(this.#delay);
  };
}

/** All that are waiting, by their delay in milliseconds. */
const alarms = new Map<number, Alarms>();

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
    const delay = Math.min(milliseconds, MAX_TIMER);
    return alarms.getOrInsertComputed(delay, () => new Alarms(delay)).add(wake);
  },
};
