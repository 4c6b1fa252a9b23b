/**
 * Backoff: how long is waited before something that failed is tried again.
 * @module
 */

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
