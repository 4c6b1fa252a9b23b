/**
 * Numbers as text: shares in percent, differences in points, p-values.
 * @module
 */

/** A share in percent, with enough decimals for what is not all, or none, not to look so. */
export function percent(share: number): string {
  let decimals = 1;
  const shown = () => Number((100 * share).toFixed(decimals));
  while (decimals < 8 && ((shown() === 100 && share < 1) || (shown() === 0 && share > 0))) {
    decimals++;
  }
  return `${(100 * share).toFixed(decimals)}%`;
}

/** A difference of shares in percentage points; small ones with more decimals. */
export function points(share: number): string {
  const exact = 100 * share;
  const value = Number(exact.toFixed(Math.abs(exact) < 1 ? 3 : 1));
  return `${value === 0 ? 0 : value} ${Math.abs(value) === 1 ? "point" : "points"}`;
}

/** A p-value, never rounded to nothing. */
export function probability(value: number): string {
  return value < 0.0001 ? "below 0.0001" : value.toFixed(4);
}
