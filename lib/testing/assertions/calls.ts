/**
 * Assertions on tool calls, in the style of `@std/assert`. Whichever fails tells the call and the argument
 * that were wrong, the nearest call where none was right, and the calls that were made. One that could not
 * fail, whatever was called, is refused.
 *
 * Where the record has tools, only calls of these can be expected. What a matcher cannot tell, because it
 * throws, passes no assertion. A call that was refused, as its arguments do not conform or there is no such
 * tool, is none of the expected ones; where there should be no call, it counts as one.
 *
 * A call that met a fault, which a perturbation such as `timeout` put in its way, had no result and is to be
 * made again. It does not count: neither as one of the expected calls nor as one that is not expected or
 * failed. So the same assertions hold with and without faults, and judge the model, not the fault. Where there
 * should be no call, it counts: it was asked for. A call that was merely `slow` is like any other.
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
import {
  type AssertionStory,
  checkUse,
  counted,
  differenceLines,
  fail,
  listed,
  lostLines,
  missingLines,
  nameOfCall,
  nearestLines,
  spareLines,
} from "./messages.ts";
import { type CallExpectation, CheckedCall } from "../../calls/expected/expected_call.ts";
import { parseWith } from "../../base/input.ts";
import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";

/** How often calls are expected; each is a whole number from 0 on. */
export interface CallCount {
  /** The fewest; default 0. */
  readonly atLeast?: number;
  /** The most; default any number. */
  readonly atMost?: number;
}

/** What a score must reach at least; each is above 0 and at most 1. */
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
 * Asserts that an expected call was made, and not refused. One that met a fault of a perturbation does not
 * count.
 *
 * @param options `times`: exactly how often, from 1 on; default once or more.
 * @throws {AssertionError} Otherwise; the message tells how the nearest call differs.
 * @throws {InputError} If what is expected or an option cannot be used.
 *
 * @example Usage
 * ```ts
 * import { assertCalled } from "./calls.ts";
 * import { recordedCalls } from "../../calls/record.ts";
 * import { matchingText } from "../../calls/expected/oracle.ts";
 * import { Toolbox } from "../../trials/executors/toolbox.ts";
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
 * Asserts that no such call was made, nor tried: one that was refused or met a fault counts, too.
 *
 * @throws {AssertionError} Otherwise, and where a matcher cannot tell.
 * @throws {InputError} If what is expected cannot be used: of a tool that there is not it would always hold.
 *
 * @example Usage
 * ```ts
 * import { assertNotCalled } from "./calls.ts";
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
 * Asserts that no call was made at all, nor tried: those that were refused or met a fault count, too.
 *
 * @throws {AssertionError} Otherwise.
 *
 * @example Usage
 * ```ts
 * import { assertNoCalls } from "./calls.ts";
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
 * Asserts how many calls were made: of one kind or, where `expected` is `undefined`, of all. Refused calls
 * count among all, but for calls of one kind only where there must be none. Calls that met a fault of a
 * perturbation count only where there must be none.
 *
 * @param count Exactly how many, or the fewest and the most.
 * @throws {AssertionError} Otherwise, and where a matcher cannot tell.
 * @throws {InputError} If what is expected cannot be used, or any count would do.
 *
 * @example Usage
 * ```ts
 * import { assertCallCount } from "./calls.ts";
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
    const what = (made: number) =>
      `${checked} was called ${timesText(made)}, not ${rangeText(range, timesText)}`;
    return assertCounted(record, checked, range, { what, message });
  }
  const { calls } = record;
  const made = range.atMost === 0 ? calls.length : withoutLost(calls).length;
  if (made >= range.atLeast && made <= range.atMost) return;
  const what = `The number of calls should be ${rangeText(range, String)}, but is ${made}`;
  fail({ what, message, lines: made < calls.length ? lostLines(calls) : [], calls });
}

/**
 * Asserts that expected calls were made in this order, and not refused; others may stand between them.
 * Calls of one step count in the order in which they were written. One that met a fault of a perturbation does
 * not count.
 *
 * @throws {AssertionError} Otherwise.
 * @throws {InputError} If what is expected cannot be used, or nothing is.
 *
 * @example Usage
 * ```ts
 * import { assertCallOrder } from "./calls.ts";
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
          `${before === undefined ? "" : ` after ${nameOfCall(before)}`}: ${one}`,
          ...(earlier === undefined
            ? nearestLines(one, calls.slice(next))
            : [`it was made before: ${nameOfCall(earlier)}`]).map((line) => `  ${line}`),
        ],
        calls,
        focus: next,
      });
    }
    next = found + 1;
  });
}

/**
 * Asserts that the calls are the expected ones, as the mode takes it: `exact`, `unordered`, `subset` or
 * `superset` ({@linkcode TrajectoryMode}). The order of expectations matters to `exact` alone. A refused call
 * is none of the expected ones. One that met a fault of a perturbation is left out, as if it had not been made.
 *
 * @throws {AssertionError} Otherwise; the message tells which calls are missing and which are not expected.
 * @throws {InputError} If there is no such mode, or what is expected cannot be used, or is nothing where
 * that would always hold.
 *
 * @example Usage
 * ```ts
 * import { assertTrajectory } from "./calls.ts";
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
 * Asserts that no call failed: none was refused, named no tool, or had an error for its result. One that met
 * a fault of a perturbation does not count: it is at no fault itself.
 *
 * @throws {AssertionError} Otherwise; the message tells the error of every call that failed.
 *
 * @example Usage
 * ```ts
 * import { assertNoFailedCalls } from "./calls.ts";
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
  const lines = failed.map((call) => `${nameOfCall(call)}: ${printable(call.error!, 300)}`);
  fail({
    what: `${failed.length} of ${counted(withoutLost(calls).length, "call")} failed`,
    message,
    lines: listed(lines, "call"),
    calls,
    focus: calls.indexOf(failed[0]!),
  });
}

/**
 * Asserts that the calls, in whatever order, reach a score ({@linkcode CallScore}). A refused call is none of
 * the expected ones, and takes from the precision; one that met a fault of a perturbation does not count.
 *
 * @returns The score.
 * @throws {AssertionError} Otherwise; the message tells which calls are missing and which are not expected.
 * @throws {InputError} If a threshold cannot be used, none is given, or no call is expected.
 *
 * @example Usage
 * ```ts
 * import { assertCallScore } from "./calls.ts";
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
  const short = (["precision", "recall", "f1"] as const).filter((name) =>
    score[name] < (limits[name] ?? 0)
  );
  if (short.length === 0) return score;
  const { missing, unexpected } = compareTrajectory(record, expected, "unordered");
  const spare = unexpected.map((place) => record.calls[place]!);
  return fail({
    what: `The calls do not reach their score: ${
      short.map((name) => `${name} is ${shareText(score[name])} and should be ${limits[name]}`)
        .join(", ")
    }`,
    message,
    lines: [
      `${score.matched} right of ${
        counted(score.made, "call")
      } made and ${score.expected} expected`,
      ...missingLines(checked, missing, withLost(spare, record.calls)),
      ...spareLines(spare),
    ],
    calls: record.calls,
    focus: unexpected[0],
  });
}

/** What a count of calls has to say where it is wrong. */
interface CountStory extends Pick<AssertionStory, "message"> {
  readonly what: (count: number) => string;
}

/**
 * Asserts how many calls are as expected; those of which a matcher cannot tell might be, or not. Where there
 * must be none, refused ones count.
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
        nameOfCall(call),
        ...differenceLines(expected.differencesOf(call)).map((line) => `  ${line}`),
      ];
    });
    fail({
      what: `Whether ${expected} was called as it should be cannot be told`,
      ...{ message, lines: listed(lines, "line"), calls, focus: undecided[0] },
    });
  }
  const isFitting = new Set(fitting);
  const lines = fewest < atLeast
    ? nearestLines(expected, calls.filter((_, place) => !isFitting.has(place)))
    : listed(fitting.map((place) => nameOfCall(calls[place]!)), "call");
  const focus = fewest < atLeast ? 0 : fitting.at(-1);
  fail({ what: what(fewest), message, lines, calls, focus });
}

/** The calls that count: a fault kept the others from their results. */
function withoutLost(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return calls.filter((call) => !isLost(call));
}

/** Those of the calls that may be nearest to one that is missing: the ones to spare, and those that met a fault. */
function withLost(
  spare: readonly RecordedCall[],
  calls: readonly RecordedCall[],
): readonly RecordedCall[] {
  const isSpare = new Set(spare);
  return calls.filter((call) => isSpare.has(call) || isLost(call));
}

function refuseNone(expected: readonly CheckedCall[], assertion: string): void {
  if (expected.length > 0) return;
  throw new InputError(
    `Cannot use ${assertion} as at least one call must be expected: there are none, and it would ` +
      `hold whatever was called (assertNoCalls asserts that nothing was)`,
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

/** A share, rounded down so that it never seems to reach what it does not. */
function shareText(share: number): string {
  return String(Math.floor(share * 1_000) / 1_000);
}
