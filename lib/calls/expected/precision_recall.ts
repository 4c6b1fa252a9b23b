/**
 * Call scores: precision and recall of calls, where one wrong call should not fail all.
 * @module
 */

import { type MadeCalls, matchCalls } from "./match_calls.ts";
import type { CallExpectation } from "./expected_call.ts";
import { isLost } from "../../tools/fault.ts";

/** How many of the calls are right. Shares are from 0 to 1. */
export interface CallScore {
  /** The share of the calls made that were expected; where none was made, 1 if none was expected, else 0. */
  readonly precision: number;
  /** The share of the expected calls that were made; where none was expected, 1 if none was made, else 0. */
  readonly recall: number;
  /** The harmonic mean of both; 0 where both are. */
  readonly f1: number;
  /** How many calls were expected, made, and not refused. */
  readonly matched: number;
  /** How many calls were made, refused ones included. */
  readonly made: number;
  /** How many calls were expected. */
  readonly expected: number;
}

/**
 * Scores the calls that were made, in whatever order: each counts for one expected call at most, and as
 * many count as possible. A call that was refused counts as made, and for none of the expected ones; one
 * that a fault kept from its result does not count.
 *
 * @throws {InputError} If what is expected cannot be used, or there is no such tool.
 *
 * @example Usage
 * ```ts
 * import { scoreCalls } from "./precision_recall.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = { call: 1, step: 1, tool: "search", arguments: {}, written: "{}", result: "" };
 * const record = { calls: [call, { ...call, call: 2 }, { ...call, call: 3 }], tools: [] };
 * const { precision, recall, f1 } = scoreCalls(record, ["search"]);
 * assertEquals([precision, recall, f1], [1 / 3, 1, 0.5]);
 * ```
 */
export function scoreCalls(record: MadeCalls, expected: readonly CallExpectation[]): CallScore {
  const matched = expected.length - matchCalls(record, expected).missing.length;
  const made = record.calls.filter((call) => !isLost(call)).length;
  const isEmpty = made + expected.length === 0;
  const share = (count: number, of: number) => isEmpty ? 1 : of === 0 ? 0 : count / of;
  return {
    precision: share(matched, made),
    recall: share(matched, expected.length),
    f1: share(2 * matched, made + expected.length),
    ...{ matched, made, expected: expected.length },
  };
}
