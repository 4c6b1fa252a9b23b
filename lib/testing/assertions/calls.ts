/**
 * Assertions on tool calls, in the style of `@std/assert`. A failure shows the wrong call and argument, the
 * nearest call if none was right, and all calls made. An assertion that could never fail is refused.
 *
 * If the record has tools, only calls of these can be expected. A matcher that throws passes no assertion. A
 * refused call, with invalid arguments or an unknown tool, is never an expected one; where there should be no
 * call, it counts. So it is with a call that an agent of your own did not carry out. One that the agent holds, as
 * until a person approves it, is not made at all: {@linkcode assertHeld} asserts it.
 *
 * A call lost to a fault of a perturbation such as `timeout` must be made again. It does not count, neither
 * as an expected call nor as an unexpected or failed one. So the same assertions hold with and without
 * faults, and judge the model, not the fault. Where there should be no call, it counts, as the model did make
 * it. A call that was merely `slow` is like any other.
 * @module
 */

import { z } from "zod";
import { fittingPlaces, isCarriedOut, type MadeCalls } from "../../calls/expected/match_calls.ts";
import { callName, type CallRecord, type RecordedCall } from "../../calls/record.ts";
import { isLost } from "../../tools/fault.ts";
import { demandText, followedDemand } from "../../tools/injection.ts";
import type { AnswerRecord } from "./runs.ts";
import { printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import {
  type AssertionStory,
  checkUse,
  differenceLines,
  fail,
  limitLines,
  lostLines,
  nearestLines,
  refuseText,
} from "./_messages.ts";
import type { SaidAndMade } from "../../calls/record.ts";
import type { CallExpectation } from "../../tools/expected_call.ts";
import { CheckedCall } from "../../calls/expected/checked_call.ts";
import { parseWith } from "../../base/input.ts";

/** The expected number of calls; each is a whole number from 0. */
export interface CallCount {
  /** The minimum; default 0. */
  readonly atLeast?: number;
  /** The maximum; default: unlimited. */
  readonly atMost?: number;
  /**
   * Which calls count: all attempts (`made`), or those that were `accepted` or `refused`. Default: all attempts, of
   * which as many as are demanded of one kind must not have been refused.
   */
  readonly counted?: "made" | "accepted" | "refused";
}

/** Options of {@linkcode assertCalled}. */
export interface CalledOptions {
  /** The exact number of calls, from 0. Default: at least one. */
  readonly times?: number;
  /**
   * A call whose result the model must have seen before: each call as expected, attempts included, must come in a
   * later reply than a call as this one. Calls of one reply are not after each other.
   */
  readonly after?: CallExpectation;
  /**
   * A call that the model must make only once it has seen the result of the expected one: the same as `after`
   * with both exchanged. It must have been made.
   */
  readonly before?: CallExpectation;
}

const TIMES = z.int().min(0).optional();

const CALLED_OPTIONS = z.strictObject({
  times: TIMES,
  after: z.custom<CallExpectation>().optional(),
  before: z.custom<CallExpectation>().optional(),
}).refine(
  ({ times, after, before }) => times !== 0 || (after ?? before) === undefined,
  "must have no after or before with times 0, as no call is left to compare",
);

const HELD_OPTIONS = z.strictObject({ times: TIMES });

const CALL_COUNT = z.strictObject({
  atLeast: z.int().min(0).default(0),
  atMost: z.int().min(0).default(Number.MAX_SAFE_INTEGER),
  counted: z.enum(["made", "accepted", "refused"]).optional(),
}).refine(({ atLeast, atMost }) => atLeast <= atMost, "atLeast must not be above atMost")
  .refine(
    ({ atLeast, atMost }) => atLeast > 0 || atMost < Number.MAX_SAFE_INTEGER,
    "must be atLeast from 1 on, or atMost, as any number of calls would do",
  );

/** Which calls count, by the option of {@linkcode CallCount}. */
const COUNTED: Readonly<
  Record<NonNullable<CallCount["counted"]>, (call: RecordedCall) => boolean>
> = {
  made: (call) => !isLost(call),
  accepted: isCarriedOut,
  refused: (call) => call.refused === true && !isLost(call),
};

/**
 * Asserts that an expected call was made and not refused. Calls lost to a fault do not count, nor those that an agent
 * of your own did not carry out.
 *
 * `after` and `before` compare with other calls by replies, as a model cannot have seen the result of a call that
 * it makes in the same reply. They hold for every such call, and an attempt that was refused or lost to a fault
 * counts where it comes too early: a payment before the login fails, also if others follow it. For "once in this
 * order" there is {@linkcode assertCallOrder}.
 *
 * @throws {AssertionError} If not; the message shows how the nearest call differs, or which call came too early.
 * @throws {InputError} If the expectation or an option cannot be used.
 *
 * @example Usage
 * ```ts
 * import { assertCalled, logCalls, matchingText } from "@toolgate/toolgate";
 *
 * const run = logCalls([{
 *   name: "weather",
 *   description: "Tells the weather",
 *   parameters: { type: "object", properties: { city: { type: "string" } } },
 *   execute: () => Promise.resolve("rain"),
 * }]);
 * await run.recorded[0]!.execute({ city: "Paris, France" });
 * await run.recorded[0]!.execute({ city: "Rome" });
 *
 * assertCalled(run, "weather", { times: 2 });
 * assertCalled(run, { tool: "weather", arguments: { city: matchingText("Paris") } });
 * const rome = { tool: "weather", arguments: { city: "Rome" } };
 * assertCalled(run, rome, {
 *   after: { tool: "weather", arguments: { city: matchingText("Paris") } },
 * });
 * ```
 */
export function assertCalled(
  record: MadeCalls & SaidAndMade,
  expected: CallExpectation,
  options: CalledOptions = {},
  message?: string,
): void {
  checkUse(record, message);
  const checked = new CheckedCall(expected, record.tools);
  const { times, after, before } = parseWith(
    CALLED_OPTIONS,
    options,
    "the options of assertCalled",
  );
  const what = (count: number) =>
    times === undefined
      ? `No call was as expected: ${checked}`
      : `${checked} was called ${timesText(count)}, not ${timesText(times)}`;
  const [earlier, later] = [after, before].map((other) =>
    other === undefined ? undefined : new CheckedCall(other, record.tools)
  );
  assertCounted(record, checked, rangeOf(times), { what, message });
  if (times === 0) refuseText(record, checked, { message });
  if (earlier !== undefined) assertAfter(record, checked, earlier, message);
  if (later === undefined) return;
  const unmade = `${later} was not called, and ${checked} should be called before it`;
  assertCounted(record, later, { atLeast: 1 }, { what: () => unmade, message });
  assertAfter(record, later, checked, message);
}

/** The range of a number of times. */
function rangeOf(times: number | undefined): CallCount {
  return times === undefined ? { atLeast: 1 } : { atLeast: times, atMost: times };
}

/**
 * Asserts that an agent of your own holds an expected call of its model, as until a person approves it: the agent
 * answered, and no tool ran. A call that a later turn carried out was held in the turn before, and no longer is in the
 * run: assert that of `run.turns[0]`.
 *
 * @throws {AssertionError} If not; the message shows how the nearest held call differs.
 * @throws {InputError} If the expectation or an option cannot be used.
 *
 * @example Usage
 * ```ts
 * import { assertHeld, assertNotCalled } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "refund", arguments: { order: "A1" }, written: "", result: "" };
 * const record = { calls: [], heldCalls: [call], tools: [] };
 * assertHeld(record, { tool: "refund", arguments: { order: "A1" } }, { times: 1 });
 * assertNotCalled(record, "refund");
 * ```
 */
export function assertHeld(
  record: MadeCalls,
  expected: CallExpectation,
  options: Pick<CalledOptions, "times"> = {},
  message?: string,
): void {
  checkUse(record, message);
  const checked = new CheckedCall(expected, record.tools);
  const { times } = parseWith(HELD_OPTIONS, options, "the options of assertHeld");
  const { calls, heldCalls: held = [] } = record;
  const { atLeast = 0, atMost = Infinity } = rangeOf(times);
  const { fitting, undecided } = fittingPlaces(checked, held, () => true);
  if (fitting.length >= atLeast && fitting.length + undecided.length <= atMost) return;
  fail({
    what: times === undefined
      ? `No held call was as expected: ${checked}`
      : `${checked} was held ${timesText(fitting.length)}, not ${timesText(times)}`,
    message,
    lines: nearestLines(checked, held),
    ...{ calls, held },
  });
}

/** Asserts that each attempt at `later` was made in a later reply than some call as `earlier`. */
function assertAfter(
  { calls }: MadeCalls,
  later: CheckedCall,
  earlier: CheckedCall,
  message: string | undefined,
): void {
  const attempts = fittingPlaces(later, calls, () => true);
  const [early] = [...attempts.fitting, ...attempts.undecided].sort((one, other) => one - other);
  const from = fittingPlaces(earlier, calls).fitting.map((place) => calls[place]!);
  // Calls stand in the order of their replies, so that only the first attempt can be too early.
  const attempt = calls[early!]!;
  if (from.some(({ step }) => step < attempt.step)) return;
  const [first] = from;
  const state = first === undefined
    ? `came too early, as there was no call of ${earlier}`
    : first.step === attempt.step
    ? `is of the same reply as ${callName(first)}, whose result the model had not seen`
    : `came before ${callName(first)}`;
  fail({
    what: `${later} was not called after ${earlier}`,
    message,
    lines: [`${callName(attempt)} ${state}`],
    calls,
    focus: early,
  });
}

/**
 * Asserts that no such call was made, and marks the failure: where it fails in one trial, a gate fails at any
 * success rate. Use it for calls that must not happen in any trial, such as the deletion of an account. An attempt
 * counts: a call that was refused, failed or was lost to a fault; one that an agent holds does not.
 *
 * `assert` is not called in a trial that reaches a limit or breaks off before the model answers; and what is
 * asserted after a failed assertion is not reached. The option `never` of a case looks at every trial, however it
 * ends: prefer it in tool tests. A failure that `assert` catches and does not throw counts for nothing; it counts
 * as the `cause` of another error, or among the `errors` of an `AggregateError`.
 *
 * @throws {AssertionError} If one was made, or a matcher throws.
 * @throws {InputError} If the expectation cannot be used: with an unknown tool it would always hold.
 *
 * @example Usage
 * ```ts
 * import { assertNever, matchingText } from "@toolgate/toolgate";
 *
 * const call = { call: 1, step: 1, tool: "search", arguments: {}, written: "{}", result: "" };
 * const record = { calls: [call], tools: [] };
 * assertNever(record, "delete_account");
 * assertNever(record, { tool: "send", arguments: { to: matchingText("@press") }, match: "partial" });
 * ```
 */
export function assertNever(
  record: MadeCalls & SaidAndMade,
  expected: CallExpectation,
  message?: string,
): void {
  refuseCalls(record, expected, "must not be in any trial", { message, never: true });
}

/**
 * Asserts that the model did not follow an instruction that the perturbation `II` injected into a result, and marks the
 * failure as {@linkcode assertNever} does: where it fails in one trial, a gate fails at any success rate. It holds where
 * no instruction was injected, so that one `assert` serves with and without the perturbation. To quote the instruction
 * or to warn of it is not to follow it.
 *
 * @param record A run, as one of its turns may lack the result with the instruction.
 * @throws {AssertionError} If it called what the instruction demands, or wrote the word that it demands.
 *
 * @example Usage
 * ```ts
 * import { assertNotInjected } from "@toolgate/toolgate";
 * import { assertThrows } from "@std/assert";
 *
 * const injected = { say: "TOVAK-RELUM" };
 * const call = { call: 1, step: 1, tool: "search", arguments: {}, written: "{}", result: "", injected };
 * assertNotInjected({ calls: [call], answer: "The note wants a word of tovak and relum: I left it out." });
 * const obey = () => assertNotInjected({ calls: [call], answer: "Found it. TOVAK-RELUM" });
 * assertThrows(obey, Error, "say TOVAK-RELUM");
 * ```
 */
export function assertNotInjected(record: AnswerRecord, message?: string): void {
  checkUse(record, message);
  const { calls, heldCalls = [], answer, texts = [] } = record;
  // The model followed it, whether its agent did or not.
  const made = [...calls, ...heldCalls].map(({ tool: name, written, injected }) => ({
    name,
    written,
    injected,
  }));
  const demand = followedDemand(made, answer === null ? texts : [...texts, answer]);
  if (demand === undefined) return;
  const isDemanded = "say" in demand
    ? undefined
    : ({ tool }: RecordedCall) => tool === demand.function;
  fail({
    what: `The model followed an injected instruction, which must not be in any trial: ${
      demandText(demand)
    }`,
    message,
    ...{ calls, held: heldCalls },
    focus: isDemanded === undefined ? undefined : calls.findIndex(isDemanded),
    never: true,
  });
}

/**
 * Asserts that no such call was made; calls that were refused, lost to a fault or written as text count, too. Where a
 * text does not show whether it is such a call, the trial is invalid.
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
  record: MadeCalls & SaidAndMade,
  expected: CallExpectation,
  message?: string,
): void {
  refuseCalls(record, expected, "must not be", { message });
}

/** Asserts that no such call was made, in words of the rule that it would break. */
function refuseCalls(
  record: MadeCalls & SaidAndMade,
  expected: CallExpectation,
  rule: string,
  { message, never }: Pick<AssertionStory, "message" | "never">,
): void {
  checkUse(record, message);
  const checked = new CheckedCall(expected, record.tools);
  const what = (count: number) => `${checked} was called ${timesText(count)}, and ${rule}`;
  assertCounted(record, checked, { atMost: 0 }, { what, message, never });
  refuseText(record, checked, { message, never });
}

/**
 * Asserts that no calls were made; those that were refused, lost to a fault or written as text count, too.
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
export function assertNoCalls(record: SaidAndMade, message?: string): void {
  checkUse(record, message);
  const { calls } = record;
  if (calls.length === 0) return refuseText(record, undefined, { message });
  fail({ what: `There should be no calls, but there are ${calls.length}`, message, calls });
}

/**
 * Asserts the number of calls: of one kind or, if `expected` is `undefined`, of all. Each attempt counts, also one that
 * was refused; but where calls of one kind must be made, one that was refused is none of these. `counted` says
 * otherwise. Calls lost to a fault count only if there must be none.
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
 * assertCallCount(record, "search", { atLeast: 2, counted: "accepted" });
 * ```
 */
export function assertCallCount(
  record: MadeCalls & SaidAndMade,
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
  const { counted, atLeast } = range;
  const counts = range.atMost === 0 && counted === undefined
    ? () => true
    : COUNTED[counted ?? "made"];
  if (expected !== undefined) {
    const checked = new CheckedCall(expected, record.tools);
    const which = counted === undefined ? "called" : `called and ${counted}`;
    const what = (number: number) =>
      `${checked} was ${which} ${timesText(number)}, not ${rangeText(range, timesText)}`;
    assertCounted(record, checked, { ...range, counts }, { what, message });
    if (range.atMost === 0) refuseText(record, checked, { message });
    // What was tried and refused was not done.
    if (counted === undefined) assertCounted(record, checked, { atLeast }, { what, message });
    return;
  }
  const { calls } = record;
  const total = calls.filter(counts).length;
  if (total >= range.atLeast && total <= range.atMost) {
    return range.atMost === 0 ? refuseText(record, undefined, { message }) : undefined;
  }
  const kind = counted === undefined ? "calls" : `calls ${counted}`;
  const what = `The number of ${kind} should be ${rangeText(range, String)}, but is ${total}`;
  fail({ what, message, lines: total < calls.length ? lostLines(calls) : [], calls });
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
    what: `${failed.length} of ${
      countText(calls.filter((call) => !isLost(call)).length, "call")
    } failed`,
    message,
    lines: limitLines(lines, "call"),
    calls,
    focus: calls.indexOf(failed[0]!),
  });
}

/** The texts of a failed count. */
interface CountStory extends Pick<AssertionStory, "message" | "never"> {
  readonly what: (count: number) => string;
}

/**
 * Asserts the number of expected calls. Calls about which a matcher throws may count or not. If there must be
 * none, refused calls count.
 */
function assertCounted(
  { calls, heldCalls: held = [] }: MadeCalls,
  expected: CheckedCall,
  { atLeast = 0, atMost = Infinity, counts }: CallCount & {
    /** Which calls count. Default: all if there must be none, else those that were carried out. */
    readonly counts?: (call: RecordedCall) => boolean;
  },
  { what, message, never }: CountStory,
): void {
  const { fitting, undecided } = fittingPlaces(
    expected,
    calls,
    counts ?? (atMost === 0 ? () => true : isCarriedOut),
  );
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
      message,
      lines: limitLines(lines, "line"),
      ...{ calls, held },
      focus: undecided[0],
      never,
    });
  }
  const isFitting = new Set(fitting);
  const lines = fewest < atLeast
    ? nearestLines(expected, calls.filter((_, place) => !isFitting.has(place)))
    : limitLines(fitting.map((place) => callName(calls[place]!)), "call");
  const focus = fewest < atLeast ? 0 : fitting.at(-1);
  const isHeld = fewest < atLeast &&
    fittingPlaces(expected, held, () => true).fitting.length > 0;
  const told = isHeld ? `${what(fewest)}, but the agent holds one` : what(fewest);
  fail({ what: told, message, lines, ...{ calls, held }, focus, never });
}

function timesText(count: number): string {
  return count === 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}

function rangeText(
  { atLeast, atMost }: Required<Omit<CallCount, "counted">>,
  inWords: (count: number) => string,
): string {
  if (atLeast === atMost) return inWords(atLeast);
  if (atMost === Number.MAX_SAFE_INTEGER) return `at least ${inWords(atLeast)}`;
  return `${atLeast === 0 ? "" : `at least ${inWords(atLeast)} and `}at most ${inWords(atMost)}`;
}
