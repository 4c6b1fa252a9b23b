/**
 * Shares: counts out of a total, with their intervals.
 * @module
 */

import { shareInterval } from "./metrics.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import type { TrialSummary } from "../../trials/summary.ts";

/** A count out of a total. */
export interface Share {
  /** Number of items counted. */
  readonly count: number;
  /** Total number of items. */
  readonly of: number;
  /** The share, from 0 to 1; `null` without any items. */
  readonly rate: number | null;
  /**
   * Two-sided 95% interval of the share: Wilson's, or from the clustered standard error where tasks were
   * repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
}

/** Returns the share of `items` for which `shows` is true. */
export function shareOf<T extends Pick<TrialSummary, "task">>(
  items: readonly T[],
  shows: (item: T) => boolean,
): Share {
  return {
    ...countOf(items.filter(shows).length, items.length),
    interval: shareInterval(items, shows),
  };
}

/** Returns a share without an interval. */
export function countOf(count: number, of: number): Pick<Share, "count" | "of" | "rate"> {
  return { count, of, rate: of === 0 ? null : count / of };
}
