/**
 * Backoff: how long to wait before retrying something that failed.
 * @module
 */

const MAX_BACKOFF = 8_000;

/**
 * Returns the milliseconds to wait after `attempts` failed attempts: `first` after one, doubling with
 * each, at most 8,000, reduced by up to half at random so that clients that failed together do not
 * retry together.
 *
 * @param draw Random number from 0 (half of the wait) to 1 (all of it).
 */
export function backoffAfter(attempts: number, first: number, draw: number): number {
  const step = Math.min(first * 2 ** Math.min(attempts - 1, 30), MAX_BACKOFF);
  return step * (0.5 + draw / 2);
}

/** Headers of a response, in the type of any HTTP library. */
export interface ReadableHeaders {
  /** Returns the text of a header; names are case-insensitive. */
  get(name: string): string | null | undefined;
}

/**
 * Returns the milliseconds that a server asks to wait, from `retry-after-ms` or from `retry-after` (seconds
 * or a date); `undefined` if neither holds a finite wait.
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
