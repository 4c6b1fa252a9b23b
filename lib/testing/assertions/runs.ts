/**
 * Assertions on a run's answer, the state that it left behind, and its cost.
 * @module
 */

import { z } from "zod";
import { asks } from "../../calls/questions.ts";
import type { CallRecord } from "../../calls/record.ts";
import { defined, printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import {
  checkMessage,
  checkUse,
  differenceLines,
  diffLines,
  fail,
  refuseText,
} from "./_messages.ts";
import type { SaidAndMade } from "../../calls/record.ts";
import { checkIgnored, expectsNothing } from "../../calls/values/ignored.ts";
import { parseWith } from "../../base/input.ts";
import { cannot, reasonOf } from "../../base/errors.ts";
import { isMatcher, matchingText, mayBeAbsent } from "../../calls/expected/matchers.ts";
import type { Matcher } from "../../tools/expected_call.ts";
import { valueDifferences } from "../../calls/values/differences.ts";
import { parsePath } from "../../calls/values/paths.ts";

/** Options for comparing states. */
export interface StateOptions {
  /** `partial` allows further keys, map entries and set members everywhere; default `exact`. */
  readonly match?: "exact" | "partial";
  /**
   * Paths to ignore, whether present or not: `updatedAt`, `orders[*].id`. A star matches every item of a
   * list, member of a set, entry of a map or key of an object.
   */
  readonly ignore?: readonly string[];
}

/** The answer of a run or a turn, and what else the model said. */
export type AnswerRecord = Pick<CallRecord, "answer" | "calls" | "heldCalls"> & {
  /** The texts of the model, one for each reply that has any, in order. */
  readonly texts?: readonly string[];
};

/** Options of {@linkcode assertAnswer}. */
export interface AnswerOptions {
  /**
   * Which replies are looked at, of all turns: the `last` alone, which is the answer (default); `any`, of which one
   * must be right; or `every` one that has a text.
   */
  readonly replies?: "last" | "any" | "every";
}

const ANSWER_OPTIONS = z.strictObject({
  replies: z.enum(["last", "any", "every"]).default("last"),
});

/** The limits of a run; each from 0. */
export interface RunBudget {
  /** Calls. */
  readonly calls?: number;
  /** Model replies. */
  readonly replies?: number;
  /** Input tokens. */
  readonly inputTokens?: number;
  /** Output tokens. */
  readonly outputTokens?: number;
  /** Input and output tokens together. */
  readonly tokens?: number;
  /** Seconds, including tools, without waiting, retries and failed attempts. */
  readonly seconds?: number;
}

const STATE_OPTIONS = z.strictObject({
  match: z.enum(["exact", "partial"]).default("exact"),
  ignore: z.array(z.string()).default([]),
});

const WHOLE = z.int().min(0).optional();

const RUN_BUDGET = z.strictObject({
  calls: WHOLE,
  replies: WHOLE,
  inputTokens: WHOLE,
  outputTokens: WHOLE,
  tokens: WHOLE,
  seconds: z.number().min(0).optional(),
}).refine(
  (limits) => Object.keys(defined(limits)).length > 0,
  "must have a limit, as any run would do",
);

/** At most this many characters of an answer are shown. */
const MAX_ANSWER_LENGTH = 1_000;

/**
 * Asserts that the final text contains a text, matches a regular expression, or is accepted by a matcher; with
 * `replies`, one or every text that the model wrote, also between calls and in earlier turns.
 *
 * @param options Which replies are looked at; in their place the message may stand.
 * @throws {AssertionError} If not, or if there is no answer; the message shows the answer.
 * @throws {InputError} If the expectation is empty, or none of these, or other replies than the last are asked
 * for of a record that has no `texts`, such as that of a custom agent.
 *
 * @example Usage
 * ```ts
 * import { assertAnswer } from "@toolgate/toolgate";
 *
 * const record = { answer: "It rains in Paris.", calls: [] };
 * assertAnswer(record, "Paris");
 * assertAnswer(record, /\brains?\b/i);
 *
 * const talk = { answer: "Goodbye!", calls: [], texts: ["It rains in Paris.", "Goodbye!"] };
 * assertAnswer(talk, "Paris", { replies: "any" });
 * assertAnswer(talk, /[.!]$/, { replies: "every" });
 * ```
 */
export function assertAnswer(
  record: AnswerRecord,
  expected: string | RegExp | Matcher,
  options: AnswerOptions | string = {},
  message: string | undefined = typeof options === "string" ? options : undefined,
): void {
  checkUse(record, message);
  const { replies } = parseWith(
    ANSWER_OPTIONS,
    typeof options === "string" ? {} : options,
    "the options of assertAnswer",
  );
  const matcher = isMatcher(expected) ? expected : matchingText(expected);
  const { answer, texts, calls } = record;
  const { description } = matcher;
  const isLast = replies === "last";
  const all = !isLast ? textsOf(texts) : answer === null ? [] : [answer];
  if (all.length === 0) {
    if (isLast && mayBeAbsent(matcher)) return;
    const none = isLast ? "There is no answer" : "No reply has a text";
    return fail({ what: `${none}, and it should be ${description}`, message, calls });
  }
  const wrong = all.flatMap((text, place) => {
    const verdict = verdictOf(matcher, text);
    if (verdict === true) return [];
    const name = isLast ? "the answer" : `reply ${place + 1} of ${all.length}`;
    const reasons = verdict === false
      ? reasonsOf(matcher, text)
      : [`that cannot be decided, as the matcher threw: ${verdict}`];
    return [[`${name} is ${quoted(text)}`, ...reasons.map((line) => `  ${line}`)]];
  });
  if (wrong.length === 0 || replies === "any" && wrong.length < all.length) return;
  const more = wrong.length - MAX_TEXTS;
  fail({
    what: isLast
      ? `The answer is not ${description}`
      : replies === "any"
      ? `No reply is ${description}`
      : `${wrong.length} of ${all.length} replies ${
        wrong.length === 1 ? "is" : "are"
      } not ${description}`,
    message,
    lines: [
      ...wrong.slice(0, MAX_TEXTS).flat(),
      ...(more > 0 ? [`... ${more} more`] : []),
      // One line is compared at a glance.
      ...(isLast && typeof expected === "string" && expected.includes("\n")
        ? diffLines(all[0]!, expected)
        : []),
    ],
    calls,
  });
}

/** Options of {@linkcode assertAsked}. */
export interface AskedOptions {
  /** A tool: the question must come before its first call. Default: at any time. */
  readonly before?: string;
}

const ASKED_OPTIONS = z.strictObject({ before: z.string().min(1).optional() });

/**
 * Asserts that the model asked the user something, and that he had the chance to answer: the last text of a turn, but
 * not that of the last turn, has a question or a request such as "please", and contains a text, matches a regular expression, or is
 * accepted by a matcher. A tool of `before` that was never called was not called too early.
 *
 * @throws {AssertionError} If not; the message lists what the model asked.
 * @throws {InputError} If the expectation is empty, an option is unknown, or there is no tool `before`.
 *
 * @example Usage
 * ```ts
 * import { assertAsked } from "@toolgate/toolgate";
 *
 * const turns = [
 *   { answer: "Which order is it?", calls: [] },
 *   { answer: "It is cancelled.", calls: [] },
 * ];
 * assertAsked({ turns }, /\border\b/, { before: "cancel_order" });
 * ```
 */
export function assertAsked(
  record: { readonly turns: readonly (AnswerRecord & Partial<Pick<CallRecord, "tools">>)[] },
  expected: string | RegExp | Matcher,
  options: AskedOptions | string = {},
  message: string | undefined = typeof options === "string" ? options : undefined,
): void {
  checkMessage(message);
  const given = typeof options === "string" ? {} : options;
  const { before } = parseWith(ASKED_OPTIONS, given, "the options of assertAsked");
  const matcher = isMatcher(expected) ? expected : matchingText(expected);
  const { turns = [] } = record;
  const names = turns.flatMap(({ tools = [] }) => tools.map(({ name }) => name));
  if (before !== undefined && names.length > 0 && !names.includes(before)) {
    const state = `there is no tool ${printable(before, 80)}`;
    throw cannot("use assertAsked", "before must name a tool", state);
  }
  const called = turns.findIndex(({ calls }) => calls.some(({ tool }) => tool === before));
  const asked = turns.flatMap(({ answer }, turn) => {
    if (answer === null || !asks(answer)) return [];
    const isLate = called >= 0 && turn >= called;
    const isLast = turn === turns.length - 1;
    const isRight = !isLate && !isLast && verdictOf(matcher, answer) === true;
    const why = (isLate ? ", too late" : "") + (isLast ? ", and ended there" : "");
    return [{ isRight, line: `turn ${turn + 1} asked ${quoted(answer)}${why}` }];
  });
  if (asked.some(({ isRight }) => isRight)) return;
  const more = asked.length - MAX_TEXTS;
  fail({
    what: `The model did not ask the user ${matcher.description}` +
      (before === undefined ? "" : ` before it called ${printable(before, 80)}`),
    message,
    lines: [
      asked.length === 0 ? "it asked nothing" : asked.slice(0, MAX_TEXTS).map(({ line }) => line),
      more > 0 ? `... ${more} more` : [],
    ].flat(),
    calls: turns.flatMap(({ calls }) => calls),
  });
}

/** Texts that are shown, at most. */
const MAX_TEXTS = 10;

/**
 * The texts of a record.
 *
 * @throws {InputError} If it has none, as where nobody recorded them.
 */
export function textsOf(texts: readonly string[] | undefined): readonly string[] {
  if (Array.isArray(texts)) return texts;
  throw cannot(
    "look at other replies than the last",
    "the record must have texts, as the run and the turns of a tool test have",
    "there are none",
  );
}

/** Whether a matcher takes a text, or why it threw. */
function verdictOf(matcher: Matcher, text: string): boolean | string {
  try {
    return matcher.matches(text);
  } catch (error) {
    return printable(reasonOf(error), 300);
  }
}

/** Why a matcher did not take a text. */
function reasonsOf(matcher: Matcher, text: string): readonly string[] {
  return (matcher.explain?.(text) ?? []).map((reason) => printable(reason, MAX_ANSWER_LENGTH));
}

function quoted(text: string): string {
  return printable(JSON.stringify(text.slice(0, MAX_ANSWER_LENGTH)), MAX_ANSWER_LENGTH);
}

/**
 * Asserts that the user's objects are in an expected state after the calls. They are compared by value, like
 * `assertEquals` does ({@linkcode valueDifferences} has the details), and matchers may be anywhere in the
 * expectation.
 *
 * @throws {AssertionError} If not; the message shows the path of each difference.
 * @throws {InputError} If an option cannot be used, or any state would pass: nothing is expected, or all of
 * it is ignored.
 *
 * @example Usage
 * ```ts
 * import { assertState, matchingText } from "@toolgate/toolgate";
 *
 * const orders = new Map([["a7", { total: 30, placed: new Date(), note: "by phone" }]]);
 * assertState(orders, new Map([["a7", { total: 30, note: matchingText("phone") }]]), {
 *   ignore: ["a7.placed"],
 * });
 * assertState(orders, new Map([["a7", { total: 30 }]]), { match: "partial" });
 * ```
 */
export function assertState(
  actual: unknown,
  expected: unknown,
  options: StateOptions = {},
  message?: string,
): void {
  checkMessage(message);
  const { match, ignore } = parseWith(STATE_OPTIONS, options, "the options of assertState");
  const partial = match === "partial";
  const paths = ignore.map(parsePath);
  if (expectsNothing(expected, partial, paths)) {
    throw cannot(
      "use assertState",
      "something must be expected",
      "match and ignore leave nothing to compare, so that any state would pass",
    );
  }
  checkIgnored(expected, paths);
  const differences = valueDifferences(actual, expected, { name: "state", partial, ignore: paths });
  if (differences.length === 0) return;
  const what = `The state is not as expected: ${countText(differences.length, "difference")}`;
  fail({ what, message, lines: differenceLines(differences) });
}

/**
 * Asserts that a run stayed within a budget. All calls count, including those refused or lost to a fault.
 *
 * @throws {AssertionError} If not, or if replies or tokens are limited and no reply was seen, as with an agent that asks
 * its model unseen; the message shows each exceeded limit.
 * @throws {InputError} If a limit is unknown, negative or no number, if there is none, or if tokens are limited that
 * the server does not report.
 *
 * @example Usage
 * ```ts
 * import { assertBudget } from "@toolgate/toolgate";
 *
 * const usage = { inputTokens: 900, outputTokens: 40 };
 * assertBudget({ calls: [], replies: 1, usage, durationMs: 800 }, { tokens: 1_000, seconds: 2 });
 * ```
 */
export function assertBudget(
  record: SaidAndMade & Pick<CallRecord, "replies" | "usage" | "durationMs">,
  budget: RunBudget,
  message?: string,
): void {
  checkUse(record, message);
  const limits = parseWith(RUN_BUDGET, budget, "the budget of assertBudget");
  const amounts = amountsOf(record);
  refuseUncounted(limits, amounts);
  const lines = BUDGET_KEYS.flatMap((key) => {
    const limit = limits[key];
    if (limit === undefined || amounts[key] <= limit) return [];
    return [`${WORDS[key]}: at most ${limit}, but it took ${amounts[key]}`];
  });
  if (lines.length === 0) {
    if (limits.calls === 0) refuseText(record, undefined, { message });
    return;
  }
  fail({ what: "The budget is exceeded", message, lines, calls: record.calls });
}

const WORDS: Readonly<Record<keyof RunBudget, string>> = {
  calls: "calls",
  replies: "replies",
  inputTokens: "tokens read",
  outputTokens: "tokens written",
  tokens: "tokens",
  seconds: "seconds",
};

const BUDGET_KEYS = Object.keys(WORDS) as (keyof RunBudget)[];

function amountsOf(
  { calls, replies, usage, durationMs }: Parameters<typeof assertBudget>[0],
): Required<RunBudget> {
  const { inputTokens, outputTokens } = usage;
  return {
    calls: calls.length,
    replies,
    inputTokens,
    outputTokens,
    seconds: durationMs / 1_000,
    tokens: inputTokens + outputTokens,
  };
}

/** A limit on something that was not counted could not be exceeded. */
function refuseUncounted(limits: RunBudget, amounts: Required<RunBudget>): void {
  const uncounted = [
    ...(amounts.replies === 0 ? ["replies"] as const : []),
    ...(amounts.tokens === 0 ? ["inputTokens", "outputTokens", "tokens"] as const : []),
  ];
  const limit = uncounted.find((key) => limits[key] !== undefined);
  if (limit === undefined) return;
  if (amounts.replies === 0) {
    // An agent that could leave a trial out by hiding would hide when it needs much.
    return fail({
      what:
        `Nobody knows how many ${
          WORDS[limit]
        } it took: no reply of its model was seen, as where an agent ` +
        "does not ask through the fetch or baseURL that it is given",
    });
  }
  throw cannot(
    `limit ${limit}`,
    "the tokens of the run must be counted",
    "there are none, as with a server that reports none",
  );
}
