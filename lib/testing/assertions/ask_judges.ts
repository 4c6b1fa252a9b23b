/**
 * Judged expectations: asks the judges of matchers before assertions compare.
 * @module
 */

import type { ExpectedCall } from "../../tools/expected_call.ts";
import type { CallRecord } from "../../calls/record.ts";
import { cannot } from "../../base/errors.ts";
import { isJsonObject, type JsonValue, printable } from "../../base/json.ts";
import { type JudgeScore, notAsked, unusableText } from "../../models/judge/score.ts";
import { LikeMatcher, TOO_DEEP, valueKey } from "../../models/judge/like_matcher.ts";
import { LookAhead } from "../../runs/prefetch.ts";
import { type AnswerOptions, type AnswerRecord, textsOf } from "./runs.ts";
import { InfrastructureError } from "../../models/model.ts";
import { isList, isMatcher, mayBeAbsent } from "../../calls/expected/matchers.ts";
import type { ExpectedValue, Matcher } from "../../tools/expected_call.ts";
import { Position } from "../../tools/schema/position.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** Options of {@linkcode askJudges}. */
export interface AskJudgesOptions {
  /** Aborts the requests. */
  readonly signal?: AbortSignal;
  /** Which replies an expected answer will be compared with: as in the options of `assertAnswer`. */
  readonly replies?: AnswerOptions["replies"];
}

/** The parts of a run that are judged. */
export type JudgedRecord =
  & Pick<CallRecord, "calls" | "answer">
  & Partial<Pick<CallRecord, "tools">>
  & Pick<AnswerRecord, "texts">;

/** At most this many requests run at the same time. */
const CONCURRENCY = 8;
/** Far deeper than any expectation written by hand. */
const MAX_DEPTH = 500;

/**
 * Returns `expected` after asking its judges: each matcher of a judge (`judge.like(...)`) has the scores of
 * all values that this run can compare it with. These are the values at its place in the arguments of each
 * call of that function, or its default if it is omitted; or the answer. Equal questions are asked once, at
 * most eight at the same time; without matchers of judges nothing is asked.
 *
 * @param expected A call, a list of calls, or an expected answer; returned in the same form.
 * @throws {InfrastructureError} If a judge could not be asked or gave no score: the trial is then `invalid`.
 * @throws {InputError} If `expected` is none of these or nests deeper than 500 levels, or a judge cannot be
 * connected.
 * @throws The reason of the signal, if it aborts the requests.
 *
 * @example Usage
 * ```ts
 * import { askJudges, assertCalled, judge, logCalls, scripted, tool } from "@toolgate/toolgate";
 * import { z } from "zod";
 *
 * const reply = tool({
 *   name: "reply",
 *   description: "Sends a reply",
 *   parameters: z.object({ text: z.string() }),
 *   returns: "sent",
 * });
 * const run = logCalls([reply]);
 * await run.recorded[0]!.execute({ text: "Many thanks!" });
 *
 * const polite = judge({ model: scripted("double", [{ text: "[[0.95]]" }]) });
 * const expected = { tool: "reply", arguments: { text: polite.like("thanks the customer") } };
 * assertCalled(run, await askJudges(run, expected));
 * ```
 */
export async function askJudges<Expected>(
  record: JudgedRecord,
  expected: Expected,
  { signal, replies = "last" }: AskJudgesOptions = {},
): Promise<Expected> {
  const comparisons = comparisonsIn(record, expected, replies);
  // Refuses expectations that nest too deep before anything is paid for.
  replaceIn(expected, (likeness) => likeness);
  const questions = new Questions();
  for (const { given, value, position } of comparisons) questions.collect(given, value, position);
  await questions.ask(signal);
  return replaceIn(expected, (likeness) => questions.settled(likeness)) as Expected;
}

/** A value of the run and the value expected in its place. */
interface Comparison {
  readonly given: JsonValue;
  readonly value: ExpectedValue;
  /** The tool's JSON Schema at this place, if defaults count. */
  readonly position?: Position | undefined;
}

/** The values of a record that will be compared. */
function comparisonsIn(
  { calls, answer, texts, tools = [] }: JudgedRecord,
  expected: unknown,
  replies: NonNullable<AnswerOptions["replies"]>,
): Comparison[] {
  if (isMatcher(expected)) {
    const given = replies === "last" ? answer ?? [] : textsOf(texts);
    return [given].flat().map((text) => ({ given: text, value: expected }));
  }
  return callsIn(expected).flatMap(({ tool, arguments: value = {}, defaults }) => {
    const schema = defaults === "refused"
      ? undefined
      : tools.find(({ name }) => name === tool)?.parameters;
    const position = schema === undefined ? undefined : new Position(schema);
    return calls.flatMap((call): Comparison[] =>
      call.tool === tool && call.arguments !== undefined
        ? [{ given: call.arguments, value, position }]
        : []
    );
  });
}

/**
 * The expected calls; none for names, texts and patterns.
 *
 * @throws {InputError} If a value is none of these, as its matchers would not be asked.
 */
function callsIn(expected: unknown): ExpectedCall[] {
  const parts: unknown[] = Array.isArray(expected) ? expected : [expected];
  return parts.flatMap((part) => {
    if (typeof part !== "object" || part === null || part instanceof RegExp) return [];
    if (isCall(part)) return [part];
    throw cannot(
      "ask judges",
      "the expectation must be a call, a list of calls, or an expected answer",
      "a part of it names no tool",
    );
  });
}

function isCall(value: unknown): value is ExpectedCall {
  return isJsonObject(value) && typeof value["tool"] === "string";
}

/** The questions to the judges, and their scores. */
class Questions {
  /** Each question once, by judge and by its truth and value. */
  readonly #known = new Map<object, Map<string, JudgeQuestion>>();
  /** The questions of each matcher, by the texts of their values. */
  readonly #byLikeness = new Map<LikeMatcher, Map<string, JudgeQuestion>>();

  /** Collects the questions about a value that will be compared. */
  collect(given: JsonValue, expected: ExpectedValue, position?: Position): void {
    if (expected instanceof LikeMatcher) return this.#add(given, expected);
    if (isMatcher(expected)) {
      for (const one of expected.held?.values ?? []) {
        for (const value of comparedValues(given, expected)) {
          // Any item of a list may be meant, so that its position is unknown.
          this.collect(value, one, value === given ? position : undefined);
        }
      }
    } else if (isList(expected)) {
      if (!Array.isArray(given)) return;
      const within = position?.within(given);
      expected.slice(0, given.length)
        .forEach((one, index) => this.collect(given[index]!, one, within?.(index)));
    } else if (isJsonObject(expected) && isJsonObject(given)) {
      const within = position?.within(given);
      for (const [key, one] of Object.entries(expected)) {
        const inner = within?.(key);
        if (Object.hasOwn(given, key)) this.collect(given[key]!, one, inner);
        else if (!mayBeAbsent(one)) {
          // An omitted argument may have a correct default.
          for (const value of inner?.defaults ?? []) this.collect(value, one, inner);
        }
      }
    }
  }

  /** Asks all questions. */
  async ask(signal: AbortSignal | undefined): Promise<void> {
    const pending = [...this.#known.values()].flatMap((questions) => [...questions.values()]);
    const ask = async (index: number) => {
      const question = pending[index]!;
      const { likeness, value } = question;
      question.score = await likeness.question.ask(value, { signal });
    };
    await new LookAhead(pending.length, ask, { concurrency: CONCURRENCY }).all();
    // A judge that is down is not the tested model's failure.
    const unanswered = pending.find(({ score }) => score.score === null && !score.unfit);
    if (unanswered === undefined) return;
    const { name } = unanswered.likeness.question.judge;
    throw new InfrastructureError(
      `Cannot judge by ${printable(name, 100)}: ${unusableText(unanswered.score)}`,
    );
  }

  /** The matcher with the scores of its values. */
  settled(likeness: LikeMatcher): LikeMatcher {
    const questions = [...this.#byLikeness.get(likeness) ?? []];
    return likeness.settled(new Map(questions.map(([text, { score }]) => [text, score])));
  }

  #add(value: JsonValue, likeness: LikeMatcher): void {
    const { judge, truth, rubric } = likeness.question;
    const text = valueKey(value);
    const ofJudge = getOrInsertComputed(this.#known, judge, () => new Map());
    const key = JSON.stringify([rubric === undefined, truth, text]);
    const question = ofJudge.get(key) ?? { likeness, value, score: NEVER_ASKED };
    if (text !== TOO_DEEP) ofJudge.set(key, question);
    getOrInsertComputed(
      this.#byLikeness,
      likeness,
      () => new Map(),
    ).set(text, question);
  }
}

/** The values that a matcher compares with its parts. */
function comparedValues(given: JsonValue, { held }: Matcher): readonly JsonValue[] {
  if (!held?.items) return [given];
  // A model may return many items, each of which would be paid for.
  return Array.isArray(given) && given.length === held.values.length ? given : [];
}

interface JudgeQuestion {
  readonly likeness: LikeMatcher;
  readonly value: JsonValue;
  score: JudgeScore;
}

/** The score of values about which no judge is asked. */
const NEVER_ASKED = notAsked("the value nests too deep", true);

/** The expectation with each matcher of a judge replaced. */
function replaceIn(expected: unknown, by: (likeness: LikeMatcher) => LikeMatcher): unknown {
  if (isMatcher(expected)) return replace(expected, by);
  if (Array.isArray(expected)) return expected.map((one) => replaceIn(one, by));
  if (!isCall(expected) || expected.arguments === undefined) return expected;
  return { ...expected, arguments: replace(expected.arguments, by) };
}

function replace(
  expected: ExpectedValue,
  by: (likeness: LikeMatcher) => LikeMatcher,
  depth = 0,
): ExpectedValue {
  if (depth > MAX_DEPTH) {
    throw cannot("ask judges", `the expectation must nest at most ${MAX_DEPTH} levels deep`);
  }
  const within = (one: ExpectedValue) => replace(one, by, depth + 1);
  if (expected instanceof LikeMatcher) return by(expected);
  if (isMatcher(expected)) {
    return expected.held?.replace(expected.held.values.map(within)) ?? expected;
  }
  if (isList(expected)) return expected.map(within);
  if (!isJsonObject(expected)) return expected;
  return Object.fromEntries(Object.entries(expected).map(([key, one]) => [key, within(one)]));
}
