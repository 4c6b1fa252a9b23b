/**
 * The mistakes of the simulated model that knows the truth: their kinds, which a question allows, which are
 * drawn, and their effects on the true calls.
 * @module
 */

import { ANSWER_MISTAKES, type TRUTH_MISTAKES } from "../models/simulated_name.ts";
import { writeValue } from "./_arguments.ts";
import type { Draws } from "./_wire.ts";
import { randomIntegerBetween, sample } from "@std/random";
import {
  type ApiFunction,
  type CallQuestion,
  type CallTruth,
  PLACEHOLDER,
} from "../tasks/questions/question_set.ts";
import type { CallMode } from "../tasks/questions/scoring.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { fork, type Stream } from "../base/random.ts";
import { normalizeOutput } from "../tasks/questions/stability.ts";

/** A kind of mistake in answers. */
export type AnswerMistake = typeof ANSWER_MISTAKES[number];

/**
 * A rate from 0 to 1 for each kind of mistake. Every question in every repetition is an opportunity for each
 * that it allows ({@linkcode possibleMistakes}); every pair to judge is one for `judge`.
 *
 * | mistake | the model | where | false by `published` | false by `strict` |
 * | --- | --- | --- | --- | --- |
 * | `syntax` | cuts its answer off so that it cannot be parsed | in texts | `syntaxValid` and all others | the same |
 * | `fence` | puts its answer in fences | in texts | nothing | `syntaxValid` and all others |
 * | `route` | leaves out a call, or makes one of another function of the domain | there is another function, or several calls | `routingExact`, `structural`, `exact` | the same |
 * | `key` | misnames an argument | a call has one | `structural`, `exact` | the same |
 * | `value` | gives an argument another value | a call has one that is not `"$$$"` or `{}` | `exact` | the same |
 * | `extra` | adds an argument of an invented name | the truth has the arguments of a call, if none | nothing | `exact` |
 * | `optional` | adds an argument that the function declares and the truth does not have | likewise, and there is one | nothing | `exact` |
 * | `judge` | rates without a score | it is asked to judge | | |
 *
 * Of calls in a chain `value` alone is made: another id of the world in one call, chosen so that it leads to another
 * answer, and the model goes on with what it gets.
 *
 * Answers are texts in the modes `parameters` and `routing`. In `routing` each of the first three that makes any
 * score false makes `routingExact` false, and the others do not occur. A score is right if no mistake that was
 * made makes it false.
 */
export type TruthRates = Readonly<Record<typeof TRUTH_MISTAKES[number], number>>;

/** A question with its functions. */
export interface KnownQuestion {
  /** The question. */
  readonly question: CallQuestion;
  /** The functions. */
  readonly functions: readonly ApiFunction[];
  /** Whether its calls are made in one reply, not one after another. */
  readonly atOnce?: boolean;
}

/** The rates and seeds that determine mistakes. */
export type MistakeDraws = Draws<TruthRates>;

/** Returns the mistakes that a question allows in a mode; others do not occur at any rate. */
export function possibleMistakes(known: KnownQuestion, mode: CallMode): AnswerMistake[] {
  const { truth } = known.question;
  const calls = callsOf(truth);
  const last = truth.API.at(-1) ?? "";
  const isText = mode !== "tools";
  const hasArguments = mode !== "routing";
  const has: Readonly<Record<AnswerMistake, boolean>> = {
    // Quotes and brackets are ignored in lists of names, so a cut must remove a name.
    syntax: isText && (hasArguments || normalizeOutput(last) !== ""),
    fence: isText,
    route: calls.length > 1 || calls.some(({ name }) => otherFunctions(name, known).length > 0),
    key: hasArguments && namedArguments(calls).length > 0,
    value: hasArguments && namedArguments(calls).some(isSpecific),
    extra: hasArguments && calls.some(({ given }) => isJsonObject(given)),
    optional: hasArguments && spareArguments(calls, known).length > 0,
  };
  return ANSWER_MISTAKES.filter((mistake) => has[mistake]);
}

/**
 * Draws the mistakes that `sim:truth` makes in a question, each independently by its rate. A mistake is made if
 * the first number of the stream of seed, repetition, question id and mistake is below the rate.
 */
export function drawMistakes(
  known: KnownQuestion,
  mode: CallMode,
  { rates, ...draws }: MistakeDraws,
): AnswerMistake[] {
  return possibleMistakes(known, mode).filter((mistake) =>
    streamOf(known, mistake, draws).prng() < (rates[mistake] ?? 0)
  );
}

/** Applies mistakes to the true calls; mistakes in texts do not change them. */
export function spoilCalls(
  known: KnownQuestion,
  mistakes: readonly AnswerMistake[],
  draws: Omit<MistakeDraws, "rates">,
): CallTruth {
  let calls = callsOf(known.question.truth);
  for (const [mistake, spoil] of SPOILERS) {
    if (!mistakes.includes(mistake)) continue;
    const stream = streamOf(known, mistake, draws);
    // Its first number determines whether the mistake is made.
    stream.prng();
    calls = spoil(calls, stream, known);
  }
  return {
    API: calls.map(({ name }) => name),
    parameters: calls.flatMap(({ given }) => given === undefined ? [] : [given]),
  };
}

function streamOf(
  { question: { id } }: KnownQuestion,
  mistake: AnswerMistake,
  { seed, repetition }: Omit<MistakeDraws, "rates">,
): Stream {
  return fork(seed, repetition, id, mistake);
}

/** A call, with its arguments if the truth has them. */
interface TrueCall {
  readonly name: string;
  readonly given: JsonValue | undefined;
}

function callsOf({ API, parameters }: CallTruth): readonly TrueCall[] {
  return API.map((name, place) => ({ name, given: parameters[place] }));
}

/** An argument, with the index of its call. */
interface NamedArgument {
  readonly place: number;
  readonly key: string;
  readonly value: JsonValue;
}

function namedArguments(calls: readonly TrueCall[]): NamedArgument[] {
  return calls.flatMap(({ given }, place) =>
    isJsonObject(given) ? Object.entries(given).map(([key, value]) => ({ place, key, value })) : []
  );
}

/** Whether any other value of an argument would be wrong by both rules. */
function isSpecific({ value }: NamedArgument): boolean {
  return value !== PLACEHOLDER && !(isJsonObject(value) && Object.keys(value).length === 0);
}

/** The names of functions in the domain that are not equivalent to a name. */
function otherFunctions(name: string, { functions }: KnownQuestion): string[] {
  return functions.map((other) => other.name)
    .filter((other) => normalizeOutput(other) !== normalizeOutput(name));
}

/** Arguments that functions declare and calls do not have, with values that their schemas allow. */
function spareArguments(
  calls: readonly TrueCall[],
  { functions }: KnownQuestion,
): readonly NamedArgument[] {
  return calls.flatMap(({ name, given }, place) => {
    const schema = functions.find((one) => one.name === name)?.tool.parameters ?? {};
    const { properties } = schema;
    if (!isJsonObject(properties) || !isJsonObject(given)) return [];
    return Object.entries(properties).filter(([key]) => !Object.hasOwn(given, key))
      .map(([key, own]): NamedArgument => {
        const listed = isJsonObject(own) && Array.isArray(own["enum"]) ? own["enum"] : [];
        // The default would be no more than what happens anyway.
        const other = listed.find((value) => isJsonObject(own) && value !== own["default"]);
        return { place, key, value: other ?? writeValue({ schema }, key, SPARE) };
      });
  });
}

/** What is written for an argument that was not asked for. */
const SPARE = 3;

type Spoiler = (
  calls: readonly TrueCall[],
  stream: Stream,
  known: KnownQuestion,
) => readonly TrueCall[];

/** The effect of each mistake on calls. `route` is last, as it may remove a call. */
const SPOILERS: readonly (readonly [AnswerMistake, Spoiler])[] = [
  ["value", (calls, stream) => {
    const { place, key, value } = sample(namedArguments(calls).filter(isSpecific), stream)!;
    return withEntries(
      calls,
      place,
      (entries) => entries.map((entry) => entry[0] === key ? [key, otherValue(value)] : entry),
    );
  }],
  ["key", (calls, stream) => {
    const { place, key } = sample(namedArguments(calls), stream)!;
    return withEntries(calls, place, (entries) => {
      const other = freeName(`${key}_`, namesOf(entries));
      return entries.map((entry) => entry[0] === key ? [other, entry[1]] : entry);
    });
  }],
  ["extra", (calls, stream, { question: { truth } }) => {
    const places = calls.flatMap(({ given }, place) => isJsonObject(given) ? [place] : []);
    const place = sample(places, stream)!;
    // The new name must not equal a true one that was misspelt before.
    const taken = namesOf(Object.entries(truth.parameters[place] as JsonObject));
    return withEntries(calls, place, (entries) => {
      const name = freeName("note", [...taken, ...namesOf(entries)]);
      return [...entries, [name, "extra"]];
    });
  }],
  ["optional", (calls, stream, known) => {
    // A name must not come twice, however another mistake changed the call.
    const spare = spareArguments(calls, known);
    if (spare.length === 0) return calls;
    const { place, key, value } = sample(spare, stream)!;
    return withEntries(calls, place, (entries) => [...entries, [key, value]]);
  }],
  ["route", (calls, stream, known) => {
    const places = calls.flatMap(({ name }, place) => {
      const others = otherFunctions(name, known);
      return others.length === 0 ? [] : [{ place, others }];
    });
    const isLost = places.length === 0 || (calls.length > 1 && stream.prng() < 0.5);
    if (isLost) return calls.toSpliced(randomIntegerBetween(0, calls.length - 1, stream), 1);
    const { place, others } = sample(places, stream)!;
    return calls.with(place, { ...calls[place]!, name: sample(others, stream)! });
  }],
];

/** The calls with the arguments of one changed. */
function withEntries(
  calls: readonly TrueCall[],
  place: number,
  change: (entries: readonly [string, JsonValue][]) => readonly [string, JsonValue][],
): readonly TrueCall[] {
  const { name, given } = calls[place]!;
  const entries = change(Object.entries(given as JsonObject));
  return calls.with(place, { name, given: Object.fromEntries(entries) });
}

function namesOf(entries: readonly [string, JsonValue][]): string[] {
  return entries.map(([name]) => name);
}

/** A name that is not in `taken`. */
function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  while (taken.includes(name)) name += "_";
  return name;
}

/** Another value, of the same type if it has one. */
function otherValue(value: JsonValue): JsonValue {
  if (typeof value === "string") return value + ([...value].at(-1) ?? "?");
  if (typeof value === "number") return value + 1 === value ? 0 : value + 1;
  if (typeof value === "boolean") return !value;
  if (Array.isArray(value)) return [...value, "more"];
  if (!isJsonObject(value)) return "none";
  const entries = Object.entries(value);
  return Object.fromEntries([...entries, [freeName("more", namesOf(entries)), "more"]]);
}
