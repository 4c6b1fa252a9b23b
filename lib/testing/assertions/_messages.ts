/**
 * Assertion messages: describe what was wrong with calls, and which were made.
 * @module
 */

import defer * as diff from "diff/array";
import { nearestCall } from "../../calls/expected/match_calls.ts";
import {
  callName,
  deedText,
  type RecordedCall,
  type SaidAndMade,
  type WrittenCall,
  writtenIn,
} from "../../calls/record.ts";
import { assertReadable, isWrittenAs } from "../../calls/expected/never.ts";
import { textCalls } from "../../models/formats/text_call.ts";
import type { CheckedCall } from "../../calls/expected/checked_call.ts";
import { isLost, lossText } from "../../tools/fault.ts";
import { cannot } from "../../base/errors.ts";
import { FailedAssertion } from "../../calls/assertion_text.ts";
import { isJsonObject, isObject, isWithin, jsonText, printable } from "../../base/json.ts";
import { MAX_PATH_LENGTH, type ValueDifference } from "../../calls/values/differences.ts";
import { className } from "../../calls/values/parts.ts";
import { valueText } from "../../calls/values/text.ts";
import { countText } from "../../base/numbers.ts";
import { messageLines, showerOf, type ShowText, tellStory } from "../../reports/story_lines.ts";
import { storyAsked } from "../_flags.ts";
import { isMatcher } from "../../calls/expected/matchers.ts";
import { pathText } from "../../calls/values/paths.ts";

/** At most this many calls are shown. */
const MAX_CALLS = 12;
/** At most this many differences of one call, and this many wrong calls, are listed. */
const MAX_LISTED = 10;
/** At most this many missing calls are listed. */
const MAX_MISSING = 5;
/** At most this many characters of a name are shown. */
const MAX_NAME_LENGTH = 60;

/** The parts of a failure message. */
export interface AssertionStory {
  /** What failed, without a full stop. */
  readonly what: string;
  /** The user's message, shown after it. */
  readonly message?: string | undefined;
  /** Details, one per line. */
  readonly lines?: readonly string[];
  /** The calls that were made; omitted if they are irrelevant. */
  readonly calls?: readonly RecordedCall[];
  /** The calls that an agent holds, shown after them; default none. */
  readonly held?: readonly RecordedCall[] | undefined;
  /** The place of a call that must be shown; default: the first. */
  readonly focus?: number | undefined;
  /** Whether it is about a call that must not happen in any trial. */
  readonly never?: boolean | undefined;
}

/**
 * Fails an assertion. The message is brief unless `--story=full` is set; trials keep the whole one.
 *
 * @throws {AssertionError} Always, with all parts of the message.
 */
export function fail(parts: AssertionStory): never {
  const story = storyAsked();
  const whole = messageOf(parts, MAX_CALLS);
  const told = story === "full"
    ? messageOf(parts, Infinity)
    : tellStory(messageLines(whole), story);
  throw new FailedAssertion(told, { whole, never: parts.never === true });
}

function messageOf(
  { what, message, lines = [], calls, held = [], focus }: AssertionStory,
  most: number,
): string {
  const head = `${what}${message === undefined ? "." : `: ${printable(message, 500)}`}`;
  const details = [
    ...lines,
    ...(calls === undefined ? [] : callLines(calls, focus, most)),
    ...(held.length === 0 ? [] : callLines(held, 0, most, "held")),
  ];
  return [head, ...details.map((line) => `  ${line}`)].join("\n");
}

/**
 * Checks the arguments that all assertions share.
 *
 * @throws {InputError} If the record is none, such as a promise, or the message is no text.
 */
export function checkUse(
  record: { readonly calls: readonly RecordedCall[] },
  message: string | undefined,
): void {
  if (!Array.isArray(record?.calls)) {
    const state = isObject(record) ? className(record) : String(record);
    throw cannot(
      "assert anything",
      "what it is asserted of must be a record with a list of calls",
      `it is ${printable(state, MAX_NAME_LENGTH)}`,
    );
  }
  checkMessage(message);
}

/**
 * Checks the user's message of an assertion.
 *
 * @throws {InputError} If it is no text: options come before it.
 */
export function checkMessage(message: string | undefined): void {
  if (message === undefined || typeof message === "string") return;
  throw cannot(
    "assert anything",
    "the message, the last argument, must be a text",
    `it is ${valueText(message)}`,
  );
}

/**
 * The calls that were made, one per line.
 *
 * @param focus The place of a call that must be shown.
 * @param most At most this many calls are listed; all of them with their whole texts.
 */
function callLines(
  calls: readonly RecordedCall[],
  focus = 0,
  most = MAX_CALLS,
  what: "made" | "held" = "made",
): readonly string[] {
  if (calls.length === 0) return ["calls made: none"];
  const end = Math.min(Math.max(most, focus + 2), calls.length);
  const start = Math.max(0, end - most);
  const show = showerOf(most === Infinity ? "full" : "brief");
  const lost = calls.filter(isLost).length;
  return [
    `calls ${what}: ${calls.length}${lost === 0 ? "" : `, ${lost} of them met a fault`}`,
    ...(start > 0 ? [`  ... ${start} before`] : []),
    ...calls.slice(start, end).map((call) => `  ${describeRecordedCall(call, show)}`),
    ...(end < calls.length ? [`  ... ${calls.length - end} after`] : []),
  ];
}

/** A call and its outcome, on one line. */
function describeRecordedCall(recorded: RecordedCall, show: ShowText): string {
  const { call, step, tool, arguments: given, written, result, error } = recorded;
  const { refused, agentDid } = recorded;
  // Only plain values are shown one by one.
  const isPlain = isJsonObject(given) &&
    Object.values(given).every((value) => typeof value !== "object");
  const argumentsText = isPlain
    ? Object.entries(given).map(([key, value]) => `${key}=${valueText(value, Infinity)}`).join(", ")
    : written;
  const failed = agentDid !== undefined
    ? `${deedText(agentDid)}: `
    : refused
    ? "refused: "
    : isLost(recorded)
    ? `${lossText(recorded)}: `
    : error === undefined
    ? ""
    : "failed: ";
  const outcome = agentDid === "held" ? deedText(agentDid) : failed + show(error ?? result, 80);
  return `${call}. step ${step} ${show(tool, MAX_NAME_LENGTH)}(${
    show(argumentsText, 120)
  }) -> ${outcome}`;
}

/** The calls that were lost to a fault and do not count, one per line. */
export function lostLines(calls: readonly RecordedCall[]): readonly string[] {
  const lines = calls.filter(isLost)
    .map((one) => `call ${one.call} does not count: ${lossText(one)}`);
  return limitLines(lines, "call");
}

/** The call that is nearest to an expected one, and its differences; empty if there is none. */
export function nearestLines(
  expected: CheckedCall,
  calls: readonly RecordedCall[],
): readonly string[] {
  const nearest = nearestCall(expected, { calls, tools: [] });
  if (nearest === undefined) return [];
  const { call, differences } = nearest;
  // Of a call that its agent left out the name says it, and only a wrong one has an error.
  const reason = call.refused && (call.agentDid === undefined || call.error !== undefined)
    ? [`it was refused: ${printable(call.error ?? call.result, 300)}`]
    : [];
  return [
    `nearest is ${callName(call)}`,
    ...[
      ...reason,
      ...lostLines([call]),
      ...differenceLines(differences),
      ...argumentDiff(expected, call, differences),
    ].map((line) => `  ${line}`),
  ];
}

/** The block of arguments that differ within objects, lists or long texts: elsewhere the paths say it all. */
function argumentDiff(
  expected: CheckedCall,
  call: RecordedCall,
  differences: readonly ValueDifference[],
): readonly string[] {
  const isPlain = differences.every((one) =>
    /^arguments\.[^.[]*$/.test(one.path) && !/…|\\n/.test(`${one.expected}${one.actual}`)
  );
  if (isPlain || call.tool !== expected.tool || !isJsonObject(call.arguments)) return [];
  return valueDiffLines(call.arguments, expected.arguments, "arguments", differences);
}

/** The missing calls, each with the nearest of the unexpected ones. */
export function missingLines(
  expected: readonly CheckedCall[],
  missing: readonly number[],
  spare: readonly RecordedCall[],
): readonly string[] {
  const lines = missing.slice(0, MAX_MISSING).flatMap((place) => [
    `expected call ${place + 1} of ${expected.length} was not made: ${expected[place]}`,
    ...nearestLines(expected[place]!, spare).map((line) => `  ${line}`),
  ]);
  const more = missing.length - MAX_MISSING;
  return more > 0 ? [...lines, `... ${countText(more, "more expected call")} not made`] : lines;
}

/** The unexpected calls, one per line. */
export function spareLines(spare: readonly RecordedCall[]): readonly string[] {
  return limitLines(spare.map((call) => `${callName(call)} is not expected`), "call");
}

/** The differences, one per line. */
export function differenceLines(differences: readonly ValueDifference[]): readonly string[] {
  const lines = differences.slice(0, MAX_LISTED).flatMap((difference) => [
    describeDifference(difference),
    ...(difference.reasons ?? []).map((reason) => `  ${reason}`),
  ]);
  const more = differences.length - MAX_LISTED;
  return more > 0 ? [...lines, `... ${countText(more, "more difference")}`] : lines;
}

/** The first of the lines, and the number of further ones. */
export function limitLines(lines: readonly string[], what: string): readonly string[] {
  if (lines.length <= MAX_LISTED) return lines;
  return [
    ...lines.slice(0, MAX_LISTED),
    `... ${countText(lines.length - MAX_LISTED, `more ${what}`)}`,
  ];
}

function describeDifference(difference: ValueDifference): string {
  const { path, expected, actual, kind, error } = difference;
  const isThere = kind === "missing" ? "it is missing" : `it is ${actual}`;
  if (error !== undefined) {
    return `${path} could not be compared with ${expected}: ${error}; ${isThere}`;
  }
  if (kind === "missing") return `${path} is missing: expected ${expected}`;
  if (kind === "unexpected") return `${path} is unexpected: it is ${actual}`;
  return `${path} is different: expected ${expected}, but it is ${actual}`;
}

/** Asserts that no such call, or none at all, was written as text: that is no call, and not "no call" either. */
export function refuseText(
  { calls, tools = [], answer, texts = [answer ?? ""], ...record }: SaidAndMade,
  expected: CheckedCall | undefined,
  { message, never }: Pick<AssertionStory, "message" | "never"> = {},
): void {
  const names = tools.map(({ name }) => name);
  const written = record.written ??
    texts.flatMap((text, place) =>
      writtenIn(`text ${place + 1} of the model`, textCalls(text, names))
    );
  const meant = (call: WrittenCall) =>
    expected === undefined ? call.tool !== "" : isWrittenAs(call, expected);
  const one = written.find(meant);
  if (one !== undefined) {
    const which = expected ?? printable(one.tool, 100);
    const what = `${which} should not be called, and ${one.where} calls it as text`;
    return fail({ what, message, calls, never });
  }
  assertReadable(expected ?? "a function", written);
}

/** Lines of a text that are compared, at most. */
const MAX_COMPARED = 200;
/** Lines of a block, at most. */
const MAX_LINES = 30;
/** Characters of a line, at most. */
const MAX_LINE_LENGTH = 200;
/** Equal lines that are shown before and after ones that differ. */
const CONTEXT = 2;

/**
 * A block in which lines that are only there begin with `-`, and ones that were expected with `+`; empty if both
 * are the same. It has no colours: trials, job logs and reports keep it as it is.
 */
export function diffLines(actual: string, expected: string): readonly string[] {
  const [there, wanted] = [actual, expected].map((text) =>
    text.split(/\r?\n/, MAX_COMPARED).map((line) => printable(line, MAX_LINE_LENGTH))
  ) as [string[], string[]];
  const all = diff.diffArrays(there, wanted).flatMap(({ added, removed, value }) =>
    value.map((line) => ({ sign: added ? "+" : removed ? "-" : " ", line }))
  );
  if (all.every(({ sign }) => sign === " ")) return [];
  const isNear = (place: number) =>
    all.slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1).some(({ sign }) => sign !== " ");
  const near = all.filter((_, place) => isNear(place));
  const more = near.length - MAX_LINES;
  return [
    "[Diff] Actual / Expected",
    ...near.slice(0, MAX_LINES).map(({ sign, line }) => `${sign}   ${line}`),
    ...(more > 0 ? [`... ${more} more lines`] : []),
  ];
}

/** Returns the block of a value and what was expected in its place, of which the differences are known. */
function valueDiffLines(
  actual: unknown,
  expected: unknown,
  name: string,
  differences: readonly ValueDifference[],
): readonly string[] {
  // No one would read more, and text of a deeper value could overflow the stack.
  if (![actual, expected].every((value) => isWithin(value, { levels: 50, values: 10_000 }))) {
    return [];
  }
  const kinds = new Map(differences.map(({ path, kind }) => [path, kind]));
  const wanted = asExpected(actual, expected, [name], kinds);
  return diffLines(linesOf(actual), linesOf(wanted));
}

/** A value as it would have to be: parts that are right stay as they are, also where others would be right, too. */
function asExpected(
  actual: unknown,
  expected: unknown,
  steps: readonly unknown[],
  kinds: ReadonlyMap<string, ValueDifference["kind"]>,
): unknown {
  const path = placeOf(steps);
  const kind = kinds.get(path);
  if (kind === "missing" || kind === "different") return shown(expected);
  if (!kinds.keys().some((other) => other.startsWith(path))) return actual;
  const within = (one: unknown, other: unknown, step: unknown) =>
    kinds.get(placeOf([...steps, step])) === "unexpected"
      ? undefined
      : asExpected(one, other, [...steps, step], kinds);
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const length = Math.max(actual.length, expected.length);
    return Array.from({ length }, (_, place) => within(actual[place], expected[place], place))
      .filter((one) => one !== undefined);
  }
  if (!isJsonObject(actual) || !isJsonObject(expected)) return actual;
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, within(actual[key], expected[key], key)]),
  );
}

/** The path to a value as differences have it. */
function placeOf(steps: readonly unknown[]): string {
  return printable(pathText(steps), MAX_PATH_LENGTH);
}

/** An expected value with the descriptions of its matchers. */
function shown(expected: unknown): unknown {
  if (isMatcher(expected)) return `(${expected.description})`;
  if (Array.isArray(expected)) return expected.map(shown);
  if (!isJsonObject(expected)) return expected;
  return Object.fromEntries(Object.entries(expected).map(([key, one]) => [key, shown(one)]));
}

/** A value on several lines; texts of several lines keep theirs. */
function linesOf(value: unknown): string {
  return (jsonText(value, 2) ?? String(value)).replace(
    /^( *)(.*)$/gm,
    (_, space: string, line: string) => space + line.replaceAll("\\n", `\\n\n${space}  `),
  );
}
