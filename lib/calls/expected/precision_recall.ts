/**
 * Call scores: precision and recall of calls, for when one wrong call should not fail everything.
 * @module
 */

import { type MadeCalls, matchCalls } from "./match_calls.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import { isLost } from "../../tools/fault.ts";

/** How many calls are right. Shares are from 0 to 1. */
export interface CallScore {
  /** The share of the calls made that were expected; if none was made, 1 if none was expected, else 0. */
  readonly precision: number;
  /** The share of the expected calls that were made; if none was expected, 1 if none was made, else 0. */
  readonly recall: number;
  /** The harmonic mean of both; 0 if both are 0. */
  readonly f1: number;
  /** Number of calls that were expected, made, and not refused. */
  readonly matched: number;
  /** Number of calls made, refused ones included. */
  readonly made: number;
  /** Number of calls expected. */
  readonly expected: number;
}

/**
 * Scores the calls that were made, in any order: each matches at most one expected call, and as many match
 * as possible. A refused call counts as made and matches none; a call that an injected fault kept from its
 * result does not count.
 *
 * @throws {InputError} If an expected call is invalid, or there is no such tool.
 *
 * @example Usage
 * ```ts
 * import { scoreCalls } from "@toolgate/toolgate/calls";
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
