/**
 * Assertions on what a run comes to beside its calls: the answer, the state that it left behind, and what
 * it took.
 * @module
 */

import { z } from "zod";
import type { CallRecord } from "../../calls/record.ts";
import { checkMessage, checkUse, counted, differenceLines, fail } from "./messages.ts";
import { checkIgnored, expectsNothing } from "../../calls/values/ignored.ts";
import { parseWith } from "../../base/input.ts";
import { InputError, reasonOf } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { isMatcher, type Matcher, matchingText, mayBeAbsent } from "../../calls/expected/oracle.ts";
import { valueDifferences } from "../../calls/values/differences.ts";
import { parsePath } from "../../calls/values/paths.ts";

/** How states are compared. */
export interface StateOptions {
  /** `partial` allows further keys, map entries and set members, wherever; default `exact`. */
  readonly match?: "exact" | "partial";
  /**
   * Parts whose value, or absence, is of no account: `updatedAt`, `orders[*].id`. A star stands for every
   * item of a list, member of a set, entry of a map or key of an object.
   */
  readonly ignore?: readonly string[];
}

/** The most that a run may take; each from 0 on. */
export interface RunBudget {
  /** Calls. */
  readonly calls?: number;
  /** Model replies. */
  readonly replies?: number;
  /** Tokens read. */
  readonly inputTokens?: number;
  /** Tokens written. */
  readonly outputTokens?: number;
  /** Tokens read and written. */
  readonly tokens?: number;
  /** Seconds, those of the tools included, without waiting, retries and failed attempts. */
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

/** So much of an answer is shown. */
const LONGEST_ANSWER = 1_000;

/**
 * Asserts that the final text contains a text, matches a regular expression, or is what a matcher takes.
 *
 * @throws {AssertionError} Otherwise, and where there is no answer; the message shows it.
 * @throws {InputError} If what is expected is empty, or none of these.
 *
 * @example Usage
 * ```ts
 * import { assertAnswer } from "./runs.ts";
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
    `the answer is ${printable(JSON.stringify(answer.slice(0, LONGEST_ANSWER)), LONGEST_ANSWER)}`,
  ];
  let isRight: boolean;
  try {
    isRight = matcher.matches(answer);
  } catch (error) {
    const reason = printable(reasonOf(error), 300);
    const what = `Whether the answer is ${description} cannot be told, as that threw: ${reason}`;
    return fail({ what, message, lines, calls });
  }
  if (!isRight) fail({ what: `The answer is not ${description}`, message, lines, calls });
}

/**
 * Asserts that objects of one's own are in an expected state: what the calls have made of them. They are
 * compared by their values, as `assertEquals` does ({@linkcode valueDifferences} says how), and matchers may
 * stand anywhere in what is expected.
 *
 * @throws {AssertionError} Otherwise; the message tells the path of everything that differs.
 * @throws {InputError} If an option cannot be used, or if any state would do: nothing is expected, or
 * nothing that is not ignored.
 *
 * @example Usage
 * ```ts
 * import { assertState } from "./runs.ts";
 * import { matchingText } from "../../calls/expected/oracle.ts";
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
    throw new InputError(
      "Cannot use assertState as something must be expected: what is, match and ignore leave nothing " +
        "of, and any state would do",
    );
  }
  checkIgnored(expected, paths);
  const differences = valueDifferences(actual, expected, { name: "state", partial, ignore: paths });
  if (differences.length === 0) return;
  const what = `The state is not as expected: ${counted(differences.length, "difference")}`;
  fail({ what, message, lines: differenceLines(differences) });
}

/**
 * Asserts that a run took no more than a budget. Whatever was done counts, calls that were refused or met a fault
 * of a perturbation among it.
 *
 * @throws {AssertionError} Otherwise; the message tells each limit that was exceeded.
 * @throws {InputError} If a limit is unknown, negative or no number, if there is none, or if replies or
 * tokens are limited where nobody counted any, as in the run of an agent of one's own.
 *
 * @example Usage
 * ```ts
 * import { assertBudget } from "./runs.ts";
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
  const taken = takenBy(record);
  refuseUncounted(limits, taken);
  const lines = BUDGET_KEYS.flatMap((key) => {
    const limit = limits[key];
    if (limit === undefined || taken[key] <= limit) return [];
    return [`${WORDS[key]}: at most ${limit}, but it took ${taken[key]}`];
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

function takenBy(
  { calls, replies, usage, durationMs }: Parameters<typeof assertBudget>[0],
): Required<RunBudget> {
  const { inputTokens, outputTokens } = usage;
  return {
    ...{ calls: calls.length, replies, inputTokens, outputTokens, seconds: durationMs / 1_000 },
    tokens: inputTokens + outputTokens,
  };
}

/** A limit on what nobody has counted could not be exceeded. */
function refuseUncounted(limits: RunBudget, taken: Required<RunBudget>): void {
  const uncounted = [
    ...(taken.replies === 0 ? ["replies"] as const : []),
    ...(taken.tokens === 0 ? ["inputTokens", "outputTokens", "tokens"] as const : []),
  ];
  const limited = uncounted.find((key) => limits[key] !== undefined);
  if (limited === undefined) return;
  throw new InputError(
    `Cannot limit ${limited} as somebody must have counted ${
      limited === "replies" ? "the replies" : "the tokens"
    } of the run: there are none, as where an agent of one's own was asked, or a server tells none`,
  );
}
