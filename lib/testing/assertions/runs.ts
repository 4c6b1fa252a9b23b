/**
 * Assertions on a run's answer, the state that it left behind, and its cost.
 * @module
 */

import { z } from "zod";
import type { CallRecord } from "../../calls/record.ts";
import { printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { checkMessage, checkUse, differenceLines, fail } from "./_messages.ts";
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

const WHOLE = z.int().min(0).exactOptional();

const RUN_BUDGET = z.strictObject({
  calls: WHOLE,
  replies: WHOLE,
  inputTokens: WHOLE,
  outputTokens: WHOLE,
  tokens: WHOLE,
  seconds: z.number().min(0).exactOptional(),
}).refine(
  (limits) => Object.keys(limits).length > 0,
  "must have a limit, as any run would do",
);

/** At most this many characters of an answer are shown. */
const MAX_ANSWER_LENGTH = 1_000;

/**
 * Asserts that the final text contains a text, matches a regular expression, or is accepted by a matcher.
 *
 * @throws {AssertionError} If not, or if there is no answer; the message shows the answer.
 * @throws {InputError} If the expectation is empty, or none of these.
 *
 * @example Usage
 * ```ts
 * import { assertAnswer } from "@toolgate/toolgate";
 *
 * const record = { answer: "It rains in Paris.", calls: [] };
 * assertAnswer(record, "Paris");
 * assertAnswer(record, /\brains?\b/i);
 * ```
 */
export function assertAnswer(
  record: Pick<CallRecord, "answer" | "calls">,
  expected: string | RegExp | Matcher,
  message?: string,
): void {
  checkUse(record, message);
  const matcher = isMatcher(expected) ? expected : matchingText(expected);
  const { answer, calls } = record;
  const { description } = matcher;
  if (answer === null) {
    if (mayBeAbsent(matcher)) return;
    return fail({ what: `There is no answer, and it should be ${description}`, message, calls });
  }
  const lines = [
    `the answer is ${
      printable(JSON.stringify(answer.slice(0, MAX_ANSWER_LENGTH)), MAX_ANSWER_LENGTH)
    }`,
  ];
  let isRight: boolean;
  try {
    isRight = matcher.matches(answer);
  } catch (error) {
    const reason = printable(reasonOf(error), 300);
    const what =
      `Whether the answer is ${description} cannot be decided, as the matcher threw: ${reason}`;
    return fail({ what, message, lines, calls });
  }
  if (!isRight) fail({ what: `The answer is not ${description}`, message, lines, calls });
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
 * @throws {AssertionError} If not; the message shows each exceeded limit.
 * @throws {InputError} If a limit is unknown, negative or no number, if there is none, or if replies or
 * tokens are limited that were not counted, as in the run of a custom agent.
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
  record: Pick<CallRecord, "calls" | "replies" | "usage" | "durationMs">,
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
  if (lines.length === 0) return;
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
    ...{ calls: calls.length, replies, inputTokens, outputTokens, seconds: durationMs / 1_000 },
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
  throw cannot(
    `limit ${limit}`,
    `the ${limit === "replies" ? "replies" : "tokens"} of the run must be counted`,
    "there are none, as with a custom agent, or a server that reports none",
  );
}
