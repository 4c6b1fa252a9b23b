/**
 * DecidedVariant expectations: asks the judges that matchers stand for, before assertions compare.
 * @module
 */

import type { CallRecord } from "../../calls/record.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonValue, printable } from "../../base/json.ts";
import { type JudgeScore, notAsked } from "../../models/judge/score.ts";
import { LikeMatcher, TOO_DEEP, valueKey } from "../../models/judge/like_matcher.ts";
import { LookAhead } from "../../runs/prefetch.ts";
import { InfrastructureError } from "../../models/model.ts";
import {
  isList,
  isMatcher,
  type Matcher,
  mayBeAbsent,
  type OracleValue,
} from "../../calls/expected/oracle.ts";
import { Position } from "../../tools/schema/position.ts";

/** Options of {@linkcode askJudges}. */
export interface AskJudgesOptions {
  /** Aborts the requests. */
  readonly signal?: AbortSignal;
}

/** Of what happened, what is judged. */
export type JudgedRecord =
  & Pick<CallRecord, "calls" | "answer">
  & Partial<Pick<CallRecord, "tools">>;

/** A call that is expected; it may say more, which is of no account here. */
interface Call {
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, OracleValue>>;
  readonly defaults?: unknown;
}

/** So many questions are asked at the same time. */
const CONCURRENCY = 8;
/** Whoever writes what is expected by hand stays far below. */
const DEEPEST = 500;

/**
 * `expected` once its judges were asked: each matcher of a judge (`judge.like(...)`) knows the scores of
 * just the values that this run can have it compared with. These are the values at its place in the
 * arguments of each call of that function, or its default where it is left out; or the answer. Equal questions are asked once, at most eight
 * at the same time; without matchers of judges nothing is asked.
 *
 * @param expected A call, a list of calls, or what an answer is compared with; comes back in the same form.
 * @throws {InfrastructureError} If a judge could not be asked, or gave no score: a trial is then `invalid`.
 * @throws {InputError} If it is none of these or nests deeper than 500 levels, or a judge cannot be connected.
 * @throws The reason of the signal, if that aborts the requests.
 *
 * @example Usage
 * ```ts
 * import { judge } from "../../models/judge/judge.ts";
 * import { judged } from "./ask_judges.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { meets } from "../../calls/expected/oracle.ts";
 * import { Toolbox } from "../../trials/executors/toolbox.ts";
 * import { recordedCalls } from "../../calls/record.ts";
 * import { assert } from "@std/assert";
 *
 * using toolbox = new Toolbox([]);
 * await toolbox.execute([{ id: "1", name: "reply", arguments: '{"text":"Many thanks!"}' }]);
 * const run = { calls: recordedCalls(toolbox.events), answer: "Done." };
 *
 * await using polite = judge({ model: scripted("double", [{ text: "[[0.95]]" }]) });
 * const [reply] = await judged(run, [
 *   { tool: "reply", arguments: { text: polite.like("thanks the customer") } },
 * ]);
 * assert(meets(run.calls[0]!.arguments!, reply!.arguments));
 * ```
 */
export async function askJudges<Expected>(
  record: JudgedRecord,
  expected: Expected,
  { signal }: AskJudgesOptions = {},
): Promise<Expected> {
  const compared = comparedIn(record, expected);
  // Refuses what nests too deep before anything is paid for.
  replaceIn(expected, (likeness) => likeness);
  const questions = new Questions();
  for (const { given, value, position } of compared) questions.collect(given, value, position);
  await questions.ask(signal);
  return replaceIn(expected, (likeness) => questions.settled(likeness)) as Expected;
}

/** What happened, and what it is compared with. */
interface Compared {
  readonly given: JsonValue;
  readonly value: OracleValue;
  /** What the tool's JSON Schema says of it, where its defaults count. */
  readonly position?: Position | undefined;
}

/** What of a record is compared with what. */
function comparedIn({ calls, answer, tools = [] }: JudgedRecord, expected: unknown): Compared[] {
  if (isMatcher(expected)) return answer === null ? [] : [{ given: answer, value: expected }];
  return callsIn(expected).flatMap(({ tool, arguments: value = {}, defaults }) => {
    const schema = defaults === "refused"
      ? undefined
      : tools.find(({ name }) => name === tool)?.parameters;
    const position = schema === undefined ? undefined : new Position(schema);
    return calls.flatMap((made): Compared[] =>
      made.tool === tool && made.arguments !== undefined
        ? [{ given: made.arguments, value, position }]
        : []
    );
  });
}

/**
 * The calls that are expected; none where a name, or a text or pattern for an answer, stands alone.
 *
 * @throws {InputError} If it is neither, as a matcher in it would stay unasked.
 */
function callsIn(expected: unknown): Call[] {
  const parts: unknown[] = Array.isArray(expected) ? expected : [expected];
  return parts.flatMap((part) => {
    if (typeof part !== "object" || part === null || part instanceof RegExp) return [];
    if (isCall(part)) return [part];
    throw new InputError(
      "Cannot ask judges as what is expected must be a call, a list of calls, or what an answer is " +
        "compared with: there is something that names no tool",
    );
  });
}

function isCall(value: unknown): value is Call {
  return isJsonObject(value) && typeof value["tool"] === "string";
}

/** What the judges are to be asked, and what they gave. */
class Questions {
  /** Each question once, by judge, and by what its values should be like and are. */
  readonly #known = new Map<object, Map<string, Question>>();
  /** The questions of each matcher, by the texts of their values. */
  readonly #byLikeness = new Map<LikeMatcher, Map<string, Question>>();

  /** Collects the questions about a value that will be compared with what is expected. */
  collect(given: JsonValue, expected: OracleValue, position?: Position): void {
    if (expected instanceof LikeMatcher) return this.#add(given, expected);
    if (isMatcher(expected)) {
      for (const one of expected.held?.values ?? []) {
        for (const value of comparedWith(given, expected)) {
          // Of a list any item may be the one that is meant: its place is not known.
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
          // What is left out may have a default that is right.
          for (const value of inner?.defaults ?? []) this.collect(value, one, inner);
        }
      }
    }
  }

  /** Asks all of them. */
  async ask(signal: AbortSignal | undefined): Promise<void> {
    const open = [...this.#known.values()].flatMap((questions) => [...questions.values()]);
    const ask = async (index: number) => {
      const question = open[index]!;
      const { likeness, value } = question;
      question.score = await likeness.question.ask(value, signal === undefined ? {} : { signal });
    };
    await new LookAhead(open.length, ask, { concurrency: CONCURRENCY }).all();
    // A judge that is down says nothing against the model under test.
    const silent = open.find(({ score }) => score.score === null && !score.unfit);
    if (silent === undefined) return;
    const { name } = silent.likeness.question.judge;
    throw new InfrastructureError(
      `Cannot judge by ${printable(name, 100)}: ${silent.score.why ?? "it does not say why"}`,
    );
  }

  /** A matcher that knows what the judge gave. */
  settled(likeness: LikeMatcher): LikeMatcher {
    const questions = [...this.#byLikeness.get(likeness) ?? []];
    return likeness.settled(new Map(questions.map(([text, { score }]) => [text, score])));
  }

  #add(value: JsonValue, likeness: LikeMatcher): void {
    const { judge, truth } = likeness.question;
    const text = valueKey(value);
    const ofJudge = this.#known.get(judge) ?? new Map<string, Question>();
    this.#known.set(judge, ofJudge);
    const key = JSON.stringify([truth, text]);
    const question = ofJudge.get(key) ?? { likeness, value, score: NEVER_ASKED };
    if (text !== TOO_DEEP) ofJudge.set(key, question);
    const own = this.#byLikeness.get(likeness) ?? new Map<string, Question>();
    this.#byLikeness.set(likeness, own.set(text, question));
  }
}

/** What of a value a matcher compares with the expectations that it is made of. */
function comparedWith(given: JsonValue, { held }: Matcher): readonly JsonValue[] {
  if (!held?.items) return [given];
  // A model may return many items, of which each would be paid for.
  return Array.isArray(given) && given.length === held.values.length ? given : [];
}

interface Question {
  readonly likeness: LikeMatcher;
  readonly value: JsonValue;
  score: JudgeScore;
}

/** Holds for values that no judge is asked about. */
const NEVER_ASKED = notAsked("the value nests too deep", true);

/** What is expected, with each matcher of a judge replaced. */
function replaceIn(expected: unknown, by: (likeness: LikeMatcher) => LikeMatcher): unknown {
  if (isMatcher(expected)) return replace(expected, by);
  if (Array.isArray(expected)) return expected.map((one) => replaceIn(one, by));
  if (!isCall(expected) || expected.arguments === undefined) return expected;
  return { ...expected, arguments: replace(expected.arguments, by) };
}

function replace(
  expected: OracleValue,
  by: (likeness: LikeMatcher) => LikeMatcher,
  depth = 0,
): OracleValue {
  if (depth > DEEPEST) {
    throw new InputError(
      `Cannot ask judges as what is expected must nest at most ${DEEPEST} levels deep`,
    );
  }
  const within = (one: OracleValue) => replace(one, by, depth + 1);
  if (expected instanceof LikeMatcher) return by(expected);
  if (isMatcher(expected)) {
    return expected.held?.replace(expected.held.values.map(within)) ?? expected;
  }
  if (isList(expected)) return expected.map(within);
  if (!isJsonObject(expected)) return expected;
  return Object.fromEntries(Object.entries(expected).map(([key, one]) => [key, within(one)]));
}
