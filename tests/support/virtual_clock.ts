/**
 * Time that stands still while anything is done, and jumps to whatever is waited for next: what takes
 * minutes is tested at once, and always goes the same way.
 */

import { clearImmediate, setImmediate } from "node:timers";
import type { Clock } from "../../lib/base/clock.ts";

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** A clock that moves on when somebody waits for it. */
export class VirtualClock implements Clock, Disposable {
  /** How long each pause was asked to be, in order; those that were given up as well. */
  readonly pauses: number[] = [];
  #now = 0;
  #sleepers: Sleeper[] = [];
  #timer: ReturnType<typeof setImmediate> | undefined;

  now(): number {
    return this.#now;
  }

  async pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
    this.pauses.push(milliseconds);
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { due: this.#now + milliseconds, wake: resolve };
    const stop = () => {
      this.#sleepers = this.#sleepers.filter((one) => one !== sleeper);
      if (this.#sleepers.length === 0) this[Symbol.dispose]();
      reject(signal?.reason);
    };
    // What would never wake must not turn the clock to infinity.
    if (milliseconds !== Infinity) this.#sleepers.push(sleeper);
    signal?.addEventListener("abort", stop, { once: true });
    if (this.#sleepers.length > 0) this.#turn();
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  after(milliseconds: number, wake: () => void): () => void {
    const stop = new AbortController();
    this.pause(milliseconds, stop.signal).then(wake, () => {});
    return () => stop.abort();
  }

  /** How many wait. */
  get waiting(): number {
    return this.#sleepers.length;
  }

  /** Stops for good whatever still waits. */
  [Symbol.dispose](): void {
    clearImmediate(this.#timer);
    this.#timer = undefined;
    this.#sleepers = [];
  }

  /** Wakes one sleeper after another, each once all that the last one set going has come to rest. */
  #turn(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setImmediate(() => {
      this.#timer = undefined;
      const next = this.#sleepers.toSorted((one, other) => one.due - other.due)[0];
      if (next === undefined) return;
      this.#sleepers = this.#sleepers.filter((one) => one !== next);
      this.#now = next.due;
      next.wake();
      if (this.#sleepers.length > 0) this.#turn();
    });
  }
}
