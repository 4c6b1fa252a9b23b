/**
 * Assertions on tool calls, in the style of `@std/assert`. A failure shows the wrong call and argument, the
 * nearest call if none was right, and all calls made. An assertion that could never fail is refused.
 *
 * If the record has tools, only calls of these can be expected. A matcher that throws passes no assertion. A
 * refused call, with invalid arguments or an unknown tool, is never an expected one; where there should be no
 * call, it counts.
 *
 * A call lost to a fault of a perturbation such as `timeout` must be made again. It does not count, neither
 * as an expected call nor as an unexpected or failed one. So the same assertions hold with and without
 * faults, and judge the model, not the fault. Where there should be no call, it counts, as the model did make
 * it. A call that was merely `slow` is like any other.
 * @module
 */

import { z } from "zod";
import {
  checkExpectedCalls,
  compareTrajectory,
  fittingPlaces,
  type MadeCalls,
  type TrajectoryMode,
} from "../../calls/expected/match_calls.ts";
import type { CallRecord, RecordedCall } from "../../calls/record.ts";
import { isLost } from "../../tools/fault.ts";
import { type CallScore, scoreCalls } from "../../calls/expected/precision_recall.ts";
import { printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import {
  type AssertionStory,
  callName,
  checkUse,
  differenceLines,
  fail,
  limitLines,
  lostLines,
  missingLines,
  nearestLines,
  spareLines,
} from "./_messages.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import { CheckedCall } from "../../calls/expected/checked_call.ts";
import { parseWith } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";

/** The expected number of calls; each is a whole number from 0. */
export interface CallCount {
  /** The minimum; default 0. */
  readonly atLeast?: number;
  /** The maximum; default: unlimited. */
  readonly atMost?: number;
}

/** The minimum of each score; above 0 and at most 1. */
export interface ScoreThresholds {
  /** The share of the calls made that were expected. */
  readonly precision?: number;
  /** The share of the expected calls that were made. */
  readonly recall?: number;
  /** The harmonic mean of both. */
  readonly f1?: number;
}

const CALLED_OPTIONS = z.strictObject({ times: z.int().min(1).exactOptional() });

const CALL_COUNT = z.strictObject({
  atLeast: z.int().min(0).default(0),
  atMost: z.int().min(0).default(Number.MAX_SAFE_INTEGER),
}).refine(({ atLeast, atMost }) => atLeast <= atMost, "atLeast must not be above atMost")
  .refine(
    ({ atLeast, atMost }) => atLeast > 0 || atMost < Number.MAX_SAFE_INTEGER,
    "must be atLeast from 1 on, or atMost, as any number of calls would do",
  );

const SHARE = z.number().gt(0).max(1).exactOptional();

const SCORE_THRESHOLDS = z.strictObject({ precision: SHARE, recall: SHARE, f1: SHARE }).refine(
  (thresholds) => Object.keys(thresholds).length > 0,
  "must have precision, recall or f1, as any score would do",
);

/**
 * Asserts that an expected call was made and not refused. Calls lost to a fault do not count.
 *
 * @param options `times`: the exact number of calls, from 1; default: at least one.
 * @throws {AssertionError} If not; the message shows how the nearest call differs.
 * @throws {InputError} If the expectation or an option cannot be used.
 *
 * @example Usage
 * ```ts
 * import { assertCalled, matchingText } from "@toolgate/toolgate";
 * import { recordedCalls } from "@toolgate/toolgate/calls";
 * import { Toolbox } from "@toolgate/toolgate/trials";
 *
 * const weather = {
 *   name: "weather",
 *   description: "Tells the weather",
 *   parameters: { type: "object", properties: { city: { type: "string" } } },
 *   execute: () => Promise.resolve("rain"),
 * };
 * using toolbox = new Toolbox([weather]);
 * await toolbox.execute([{ id: "1", name: "weather", arguments: '{"city":"Paris, France"}' }]);
 *
 * const record = { calls: recordedCalls(toolbox.events), tools: [weather] };
 * assertCalled(record, "weather", { times: 1 });
 * assertCalled(record, { tool: "weather", arguments: { city: matchingText("Paris") } });
 * ```
 */
export function assertCalled(
  record: MadeCalls,
  expected: CallExpectation,
  options: { readonly times?: number } = {},
  message?: string,
): void {
  checkUse(record, message);
  const checked = new CheckedCall(expected, record.tools);
  const { times } = parseWith(CALLED_OPTIONS, options, "the options of assertCalled");
  const range = times === undefined ? { atLeast: 1 } : { atLeast: times, atMost: times };
  const what = (count: number) =>
    times === undefined
      ? `No call was as expected: ${checked}`
      : `${checked} was called ${timesText(count)}, not ${timesText(times)}`;
  assertCounted(record, checked, range, { what, message });
}

/**
 * Asserts that no such call was made; calls that were refused or lost to a fault count, too.
 *
 * @throws {AssertionError} If one was, or a matcher throws.
 * @throws {InputError} If the expectation cannot be used: with an unknown tool it would always hold.
 *
 * @example Usage
 * ```ts
 * import { assertNotCalled } from "@toolgate/toolgate";
 * import { assertThrows } from "@std/assert";
 *
 * const tool = { name: "delete_order", description: "", parameters: {} };
 * assertNotCalled({ calls: [], tools: [tool] }, "delete_order");
 * const slip = () => assertNotCalled({ calls: [], tools: [tool] }, "delete_ordr");
 * assertThrows(slip, Error, "the nearest is delete_order");
 * ```
 */
export function assertNotCalled(
  record: MadeCalls,
  expected: CallExpectation,
  message?: string,
): void {
  checkUse(record, message);
  const checked = new CheckedCall(expected, record.tools);
  const what = (count: number) => `${checked} was called ${timesText(count)}, and must not be`;
  assertCounted(record, checked, { atMost: 0 }, { what, message });
}

/**
 * Asserts that no calls were made; those that were refused or lost to a fault count, too.
 *
 * @throws {AssertionError} If any were.
 *
 * @example Usage
 * ```ts
 * import { assertNoCalls } from "@toolgate/toolgate";
 *
 * assertNoCalls({ calls: [] });
 * ```
 */
export function assertNoCalls(record: Pick<CallRecord, "calls">, message?: string): void {
  checkUse(record, message);
  const { calls } = record;
  if (calls.length === 0) return;
  fail({ what: `There should be no calls, but there are ${calls.length}`, message, calls });
}

/**
 * Asserts the number of calls: of one kind or, if `expected` is `undefined`, of all. Refused calls count
 * among all, but among calls of one kind only if there must be none. Calls lost to a fault count only if
 * there must be none.
 *
 * @param count The exact number, or the minimum and maximum.
 * @throws {AssertionError} If it is another number, or a matcher throws.
 * @throws {InputError} If the expectation cannot be used, or any count would pass.
 *
 * @example Usage
 * ```ts
 * import { assertCallCount } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "search", arguments: {}, written: "{}", result: "" };
 * const record = { calls: [call, { ...call, call: 2 }], tools: [] };
 * assertCallCount(record, "search", 2);
 * assertCallCount(record, undefined, { atMost: 3 });
 * ```
 */
export function assertCallCount(
  record: MadeCalls,
  expected: CallExpectation | undefined,
  count: number | CallCount,
  message?: string,
): void {
  checkUse(record, message);
  const range = parseWith(
    CALL_COUNT,
    typeof count === "number" ? { atLeast: count, atMost: count } : count,
    "the count of assertCallCount",
  );
  if (expected !== undefined) {
    const checked = new CheckedCall(expected, record.tools);
    const what = (number: number) =>
      `${checked} was called ${timesText(number)}, not ${rangeText(range, timesText)}`;
    return assertCounted(record, checked, range, { what, message });
  }
  const { calls } = record;
  const total = range.atMost === 0 ? calls.length : withoutLost(calls).length;
  if (total >= range.atLeast && total <= range.atMost) return;
  const what = `The number of calls should be ${rangeText(range, String)}, but is ${total}`;
  fail({ what, message, lines: total < calls.length ? lostLines(calls) : [], calls });
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
        calls,
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
  record: MadeCalls,
  expected: readonly CallExpectation[],
  mode: TrajectoryMode = "exact",
  message?: string,
): void {
  checkUse(record, message);
  const checked = checkExpectedCalls(expected, record.tools);
  if (mode === "superset") refuseNone(checked, "assertTrajectory");
  const { holds, missing, unexpected } = compareTrajectory(record, expected, mode);
  if (holds) return;
  const { calls } = record;
  const spare = unexpected.map((place) => calls[place]!);
  fail({
    what: `The calls are not the expected ones (${mode})`,
    message,
    lines: [
      ...(mode === "subset" ? [] : missingLines(checked, missing, withLost(spare, calls))),
      ...(mode === "superset" ? [] : spareLines(spare)),
    ],
    calls,
    focus: unexpected[0],
  });
}

/**
 * Asserts that no call failed: none was refused, named an unknown tool, or returned an error. Calls lost to a
 * fault do not count.
 *
 * @throws {AssertionError} If any failed; the message shows the error of each.
 *
 * @example Usage
 * ```ts
 * import { assertNoFailedCalls } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "login", arguments: {}, written: "{}", result: "fine" };
 * assertNoFailedCalls({ calls: [call] });
 * ```
 */
export function assertNoFailedCalls(record: Pick<CallRecord, "calls">, message?: string): void {
  checkUse(record, message);
  const { calls } = record;
  const failed = calls.filter((call) => call.error !== undefined && !isLost(call));
  if (failed.length === 0) return;
  const lines = failed.map((call) => `${callName(call)}: ${printable(call.error!, 300)}`);
  fail({
    what: `${failed.length} of ${countText(withoutLost(calls).length, "call")} failed`,
    message,
    lines: limitLines(lines, "call"),
    calls,
    focus: calls.indexOf(failed[0]!),
  });
}

/**
 * Asserts that the calls, in any order, reach a score ({@linkcode CallScore}). A refused call is never an
 * expected one and lowers the precision; calls lost to a fault do not count.
 *
 * @returns The score.
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
): CallScore {
  checkUse(record, message);
  const checked = checkExpectedCalls(expected, record.tools);
  refuseNone(checked, "assertCallScore");
  const limits = parseWith(SCORE_THRESHOLDS, thresholds, "the thresholds of assertCallScore");
  const score = scoreCalls(record, expected);
  const missed = (["precision", "recall", "f1"] as const).filter((name) =>
    score[name] < (limits[name] ?? 0)
  );
  if (missed.length === 0) return score;
  const { missing, unexpected } = compareTrajectory(record, expected, "unordered");
  const spare = unexpected.map((place) => record.calls[place]!);
  return fail({
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
    calls: record.calls,
    focus: unexpected[0],
  });
}

/** The texts of a failed count. */
interface CountStory extends Pick<AssertionStory, "message"> {
  readonly what: (count: number) => string;
}

/**
 * Asserts the number of expected calls. Calls about which a matcher throws may count or not. If there must be
 * none, refused calls count.
 */
function assertCounted(
  { calls }: MadeCalls,
  expected: CheckedCall,
  { atLeast = 0, atMost = Infinity }: CallCount,
  { what, message }: CountStory,
): void {
  const { fitting, undecided } = fittingPlaces(expected, calls, atMost === 0);
  const fewest = fitting.length;
  const most = fewest + undecided.length;
  if (fewest >= atLeast && most <= atMost) return;
  if (fewest <= atMost && most >= atLeast) {
    const lines = undecided.flatMap((place) => {
      const call = calls[place]!;
      return [
        callName(call),
        ...differenceLines(expected.differencesOf(call)).map((line) => `  ${line}`),
      ];
    });
    fail({
      what: `Whether ${expected} was called as it should be cannot be decided`,
      ...{ message, lines: limitLines(lines, "line"), calls, focus: undecided[0] },
    });
  }
  const isFitting = new Set(fitting);
  const lines = fewest < atLeast
    ? nearestLines(expected, calls.filter((_, place) => !isFitting.has(place)))
    : limitLines(fitting.map((place) => callName(calls[place]!)), "call");
  const focus = fewest < atLeast ? 0 : fitting.at(-1);
  fail({ what: what(fewest), message, lines, calls, focus });
}

/** The calls that count: those not lost to a fault. */
function withoutLost(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return calls.filter((call) => !isLost(call));
}

/** The calls that may be nearest to a missing one: unexpected calls, and those lost to a fault. */
function withLost(
  spare: readonly RecordedCall[],
  calls: readonly RecordedCall[],
): readonly RecordedCall[] {
  const isSpare = new Set(spare);
  return calls.filter((call) => isSpare.has(call) || isLost(call));
}

function refuseNone(expected: readonly CheckedCall[], assertion: string): void {
  if (expected.length > 0) return;
  throw cannot(
    `use ${assertion}`,
    "at least one call must be expected",
    "there are none, and it would hold whatever was called (assertNoCalls asserts that nothing was)",
  );
}

function timesText(count: number): string {
  return count === 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}

function rangeText(
  { atLeast, atMost }: Required<CallCount>,
  inWords: (count: number) => string,
): string {
  if (atLeast === atMost) return inWords(atLeast);
  if (atMost === Number.MAX_SAFE_INTEGER) return `at least ${inWords(atLeast)}`;
  return `${atLeast === 0 ? "" : `at least ${inWords(atLeast)} and `}at most ${inWords(atMost)}`;
}

/** A share, rounded down so that it never seems to reach a limit that it does not. */
function shareText(share: number): string {
  return String(Math.floor(share * 1_000) / 1_000);
}
