/**
 * Sums and means, and numbers as text.
 * @module
 */

/** Returns the sum of a number of each item. */
export function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

/** Returns the mean of values; `null` without any. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values, Number) / values.length;
}

/** Returns the least of sorted values that a share of them does not exceed: the nearest rank. */
export function ranked(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1]!;
}

/** Formats a share in percent, with enough decimals that only exactly 0 and 1 print as 0% and 100%. */
export function percent(share: number): string {
  let decimals = 1;
  const rounded = () => Number((100 * share).toFixed(decimals));
  while (decimals < 8 && ((rounded() === 100 && share < 1) || (rounded() === 0 && share > 0))) {
    decimals++;
  }
  return `${(100 * share).toFixed(decimals)}%`;
}

/** Formats a difference of shares in percentage points; small ones get more decimals. */
export function points(share: number): string {
  const exact = 100 * share;
  const value = Number(exact.toFixed(Math.abs(exact) < 1 ? 3 : 1));
  return `${value === 0 ? 0 : value} ${Math.abs(value) === 1 ? "point" : "points"}`;
}

/** Formats a p-value, never rounded to zero. */
export function probability(value: number): string {
  return value < 0.0001 ? "below 0.0001" : value.toFixed(4);
}

/** Formats US dollars to the cent. */
export function dollars(usd: number): string {
  return `$${usd.toFixed(2)}`;
}

/** Whether a number of milliseconds can be how long something took: files may claim anything, and sums must be finite. */
export function isDuration(milliseconds: number): boolean {
  return milliseconds >= 0 && milliseconds <= Number.MAX_SAFE_INTEGER;
}

/** Formats a number of things, such as `2 calls`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Formats a whole number with thousands separators. */
export function grouped(value: number): string {
  // Locale data takes as long to load as a table takes to render.
  return Number.isSafeInteger(value)
    ? String(value).replace(/\B(?=(?:\d{3})+$)/g, ",")
    : value.toLocaleString("en-US");
}
