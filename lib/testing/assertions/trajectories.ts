/**
 * Assertions on the calls of a run as a whole: their order, which there are, and how well they fit the expected ones.
 * @module
 */

import { callName, type RecordedCall } from "../../calls/record.ts";
import { isLost } from "../../tools/fault.ts";
import {
  checkExpectedCalls,
  compareTrajectory,
  fittingPlaces,
  type MadeCalls,
  scoreCalls,
  type TrajectoryMode,
} from "../../calls/expected/match_calls.ts";
import { checkUse, fail, missingLines, nearestLines, refuseText, spareLines } from "./_messages.ts";
import type { SaidAndMade } from "../../calls/record.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import type { CheckedCall } from "../../calls/expected/checked_call.ts";
import { defined } from "../../base/json.ts";
import { cannot } from "../../base/errors.ts";
import { z } from "zod";
import { countText } from "../../base/numbers.ts";
import { parseWith } from "../../base/input.ts";

/** The minimum of each score; above 0 and at most 1. */
export interface ScoreThresholds {
  /** The share of the calls made that were expected. */
  readonly precision?: number;
  /** The share of the expected calls that were made. */
  readonly recall?: number;
  /** The harmonic mean of both. */
  readonly f1?: number;
}

const SHARE = z.number().gt(0).max(1).optional();

const SCORE_THRESHOLDS = z.strictObject({ precision: SHARE, recall: SHARE, f1: SHARE }).refine(
  (thresholds) => Object.keys(defined(thresholds)).length > 0,
  "must have precision, recall or f1, as any score would do",
);

/**
 * Asserts that the calls, in any order, reach a score, which `scoreCalls()` computes. A refused call is never an
 * expected one and lowers the precision; calls lost to a fault do not count.
 *
 * @throws {AssertionError} If not; the message shows the missing and unexpected calls.
 * @throws {InputError} If a threshold cannot be used, or no threshold or call is given.
 *
 * @example Usage
 * ```ts
 * import { assertCallScore } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "search", arguments: {}, written: "{}", result: "" };
 * const record = { calls: [call, { ...call, call: 2 }], tools: [] };
 * assertCallScore(record, ["search"], { precision: 0.5, recall: 1 });
 * ```
 */
export function assertCallScore(
  record: MadeCalls,
  expected: readonly CallExpectation[],
  thresholds: ScoreThresholds,
  message?: string,
): void {
  checkUse(record, message);
  const checked = checkExpectedCalls(expected, record.tools);
  refuseNone(checked, "assertCallScore");
  const limits = parseWith(SCORE_THRESHOLDS, thresholds, "the thresholds of assertCallScore");
  const score = scoreCalls(record, expected);
  const missed = (["precision", "recall", "f1"] as const).filter((name) =>
    score[name] < (limits[name] ?? 0)
  );
  if (missed.length === 0) return;
  const { missing, unexpected } = compareTrajectory(record, expected, "unordered");
  const spare = unexpected.map((place) => record.calls[place]!);
  fail({
    what: `The calls do not reach their score: ${
      missed.map((name) => `${name} is ${shareText(score[name])} and should be ${limits[name]}`)
        .join(", ")
    }`,
    message,
    lines: [
      `${score.matched} right of ${
        countText(score.made, "call")
      } made and ${score.expected} expected`,
      ...missingLines(checked, missing, withLost(spare, record.calls)),
      ...spareLines(spare),
    ],
    ...{ calls: record.calls, held: record.heldCalls },
    focus: unexpected[0],
  });
}

/** A share, rounded down so that it never seems to reach a limit that it does not. */
function shareText(share: number): string {
  return String(Math.floor(share * 1_000) / 1_000);
}

/**
 * Asserts that expected calls were made in this order and not refused; other calls may be between them. Calls
 * of one step count in the order in which they were written. Calls lost to a fault do not count.
 *
 * @throws {AssertionError} If not.
 * @throws {InputError} If the expectation cannot be used or is empty.
 *
 * @example Usage
 * ```ts
 * import { assertCallOrder } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "login", arguments: {}, written: "{}", result: "" };
 * const record = { calls: [call, { ...call, call: 2, step: 2, tool: "pay" }], tools: [] };
 * assertCallOrder(record, ["login", "pay"]);
 * ```
 */
export function assertCallOrder(
  record: MadeCalls,
  expected: readonly CallExpectation[],
  message?: string,
): void {
  checkUse(record, message);
  const { calls } = record;
  const checked = checkExpectedCalls(expected, record.tools);
  refuseNone(checked, "assertCallOrder");
  let next = 0;
  checked.forEach((one, place) => {
    const fitting = fittingPlaces(one, calls).fitting;
    const found = fitting.find((other) => other >= next);
    if (found === undefined) {
      const before = next === 0 ? undefined : calls[next - 1];
      const [earlier] = fitting.map((other) => calls[other]!);
      return fail({
        what: "The calls were not made in the expected order",
        message,
        lines: [
          `expected call ${place + 1} of ${checked.length} was not made` +
          `${before === undefined ? "" : ` after ${callName(before)}`}: ${one}`,
          ...(earlier === undefined
            ? nearestLines(one, calls.slice(next))
            : [`it was made before: ${callName(earlier)}`]).map((line) => `  ${line}`),
        ],
        ...{ calls, held: record.heldCalls },
        focus: next,
      });
    }
    next = found + 1;
  });
}

/**
 * Asserts that the calls are the expected ones, by the mode: `exact`, `unordered`, `subset` or `superset`
 * ({@linkcode TrajectoryMode}). The order of expectations matters only for `exact`. A refused call is never
 * an expected one. Calls lost to a fault are ignored.
 *
 * @throws {AssertionError} If not; the message shows the missing and unexpected calls.
 * @throws {InputError} If the mode is unknown, or the expectation cannot be used, or is empty where it would
 * then always hold.
 *
 * @example Usage
 * ```ts
 * import { assertTrajectory } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "login", arguments: {}, written: "{}", result: "" };
 * const record = { calls: [call, { ...call, call: 2, step: 2, tool: "pay" }], tools: [] };
 * assertTrajectory(record, ["login", "pay"]);
 * assertTrajectory(record, ["pay", "login", "log_out"], "subset");
 * ```
 */
export function assertTrajectory(
  record: MadeCalls & SaidAndMade,
  expected: readonly CallExpectation[],
  mode: TrajectoryMode = "exact",
  message?: string,
): void {
  checkUse(record, message);
  const checked = checkExpectedCalls(expected, record.tools);
  if (mode === "superset") refuseNone(checked, "assertTrajectory");
  const { holds, missing, unexpected } = compareTrajectory(record, expected, mode);
  if (holds) {
    if (checked.length === 0) refuseText(record, undefined, { message });
    return;
  }
  const { calls } = record;
  const spare = unexpected.map((place) => calls[place]!);
  fail({
    what: `The calls are not the expected ones (${mode})`,
    message,
    lines: [
      ...(mode === "subset" ? [] : missingLines(checked, missing, withLost(spare, calls))),
      ...(mode === "superset" ? [] : spareLines(spare)),
    ],
    ...{ calls, held: record.heldCalls },
    focus: unexpected[0],
  });
}

function refuseNone(expected: readonly CheckedCall[], assertion: string): void {
  if (expected.length > 0) return;
  throw cannot(
    `use ${assertion}`,
    "at least one call must be expected",
    "there are none, and it would hold whatever was called (assertNoCalls asserts that nothing was)",
  );
}

/** The calls that may be nearest to a missing one: unexpected calls, and those lost to a fault. */
function withLost(
  spare: readonly RecordedCall[],
  calls: readonly RecordedCall[],
): readonly RecordedCall[] {
  const isSpare = new Set(spare);
  return calls.filter((call) => isSpare.has(call) || isLost(call));
}
