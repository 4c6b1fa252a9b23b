/**
 * The mistakes of the simulated model that knows the truth: which there are, which a question leaves room
 * for, which are made, and what they make of the true calls.
 * @module
 */

import type { TRUTH_MISTAKES } from "../models/simulated_name.ts";
import { ANSWER_MISTAKES } from "../models/simulated_name.ts";
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
 * A rate, 0..1, for each kind of mistake. Every question in every repetition is one opportunity of each that
 * it leaves room for ({@linkcode possibleMistakes}); every pair to be judged is one of `judge`.
 *
 * | mistake | the model | where | false by `published` | false by `strict` |
 * | --- | --- | --- | --- | --- |
 * | `syntax` | ends too soon for its answer to be read | in texts | `syntaxValid` and all others | the same |
 * | `fence` | puts its answer in fences | in texts | nothing | `syntaxValid` and all others |
 * | `route` | leaves out a call, or makes one of another function of the domain | there is another function, or several calls | `routingExact`, `structural`, `exact` | the same |
 * | `key` | misnames an argument | a call has one | `structural`, `exact` | the same |
 * | `value` | gives an argument another value | a call has one that is not `"$$$"` or `{}` | `exact` | the same |
 * | `extra` | adds an argument | the truth has the arguments of a call, if none | nothing | `exact` |
 * | `judge` | rates without a score | it is asked to judge | | |
 *
 * Texts are what is asked for in the modes `parameters` and `routing`. In `routing` all of the first three
 * that make anything false make `routingExact` false, and the others have no place. A score is right where
 * none of the mistakes that are made makes it false.
 */
export type TruthRates = Readonly<Record<typeof TRUTH_MISTAKES[number], number>>;

/** A question, and the functions that are on offer for it. */
export interface KnownQuestion {
  /** The question. */
  readonly question: CallQuestion;
  /** The functions on offer. */
  readonly functions: readonly ApiFunction[];
}

/** What mistakes are drawn from. */
export interface MistakeDraws {
  /** The rates; those that are left out are 0. */
  readonly rates: Partial<TruthRates>;
  /** The seed of the model. */
  readonly seed: number;
  /** The `seed` of the request, which is the number of the repetition; 0 where there is none. */
  readonly repetition: number;
}

/**
 * The mistakes that a question leaves room for in a mode; others do not happen, whatever their rates are.
 *
 * @example Usage
 * ```ts
 * import { possibleMistakes } from "./truth_mistakes.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const question = {
 *   id: "w1",
 *   domain: "weather",
 *   messages: [{ role: "user", content: "Will it rain?" }] as const,
 *   truth: { API: ["forecast"], parameters: [{ city: "$$$" }] },
 *   difficulty: "easy",
 * } as const;
 * const known = { question, functions: [] };
 * assertEquals(possibleMistakes(known, "parameters"), ["syntax", "fence", "key", "extra"]);
 * assertEquals(possibleMistakes(known, "tools"), ["key", "extra"]);
 * ```
 */
export function possibleMistakes(known: KnownQuestion, mode: CallMode): AnswerMistake[] {
  const { truth } = known.question;
  const calls = callsOf(truth);
  const last = truth.API.at(-1) ?? "";
  const isText = mode !== "tools";
  const hasArguments = mode !== "routing";
  const has: Readonly<Record<AnswerMistake, boolean>> = {
    // Quotes and brackets do not count in lists of names, so that a name must be lost.
    syntax: isText && (hasArguments || normalizeOutput(last) !== ""),
    fence: isText,
    route: calls.length > 1 || calls.some(({ name }) => othersThan(name, known).length > 0),
    key: hasArguments && namedArguments(calls).length > 0,
    value: hasArguments && namedArguments(calls).some(isTold),
    extra: hasArguments && calls.some(({ given }) => isJsonObject(given)),
  };
  return ANSWER_MISTAKES.filter((mistake) => has[mistake]);
}

/**
 * The mistakes that `sim:truth` makes of a question, each by its own rate and apart from all others. The
 * first number of the stream of seed, repetition, id of the question and mistake must be below the rate.
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

/** The calls that some mistakes make of the true ones; mistakes in texts leave them as they are. */
export function spoilCalls(
  known: KnownQuestion,
  mistakes: readonly AnswerMistake[],
  draws: Omit<MistakeDraws, "rates">,
): CallTruth {
  let calls = callsOf(known.question.truth);
  for (const [mistake, spoil] of SPOILERS) {
    if (!mistakes.includes(mistake)) continue;
    const stream = streamOf(known, mistake, draws);
    // Its first number tells whether the mistake is made.
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

/** A call, with its arguments if the truth tells them. */
interface TrueCall {
  readonly name: string;
  readonly given: JsonValue | undefined;
}

function callsOf({ API, parameters }: CallTruth): readonly TrueCall[] {
  return API.map((name, place) => ({ name, given: parameters[place] }));
}

/** An argument by the place of its call. */
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

/** Whether a value other than that of an argument is wrong by both rules. */
function isTold({ value }: NamedArgument): boolean {
  return value !== PLACEHOLDER && !(isJsonObject(value) && Object.keys(value).length === 0);
}

/** The functions of the domain that do not pass for the one of a name. */
function othersThan(name: string, { functions }: KnownQuestion): string[] {
  return functions.map((other) => other.name)
    .filter((other) => normalizeOutput(other) !== normalizeOutput(name));
}

type Spoiler = (
  calls: readonly TrueCall[],
  stream: Stream,
  known: KnownQuestion,
) => readonly TrueCall[];

/** What each mistake makes of calls. A call is lost only when all else is done to it. */
const SPOILERS: readonly (readonly [AnswerMistake, Spoiler])[] = [
  ["value", (calls, stream) => {
    const { place, key, value } = sample(namedArguments(calls).filter(isTold), stream)!;
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
    // A true name that was misspelt before must not come back.
    const taken = namesOf(Object.entries(truth.parameters[place] as JsonObject));
    return withEntries(calls, place, (entries) => {
      const name = freeName("note", [...taken, ...namesOf(entries)]);
      return [...entries, [name, "extra"]];
    });
  }],
  ["route", (calls, stream, known) => {
    const places = calls.flatMap(({ name }, place) => {
      const others = othersThan(name, known);
      return others.length === 0 ? [] : [{ place, others }];
    });
    const isLost = places.length === 0 || (calls.length > 1 && stream.prng() < 0.5);
    if (isLost) return calls.toSpliced(randomIntegerBetween(0, calls.length - 1, stream), 1);
    const { place, others } = sample(places, stream)!;
    return calls.with(place, { ...calls[place]!, name: sample(others, stream)! });
  }],
];

/** The calls with other arguments of one. */
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

/** A name that is not taken. */
function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  while (taken.includes(name)) name += "_";
  return name;
}

/** Another value of the same type, where the type has one. */
function otherValue(value: JsonValue): JsonValue {
  if (typeof value === "string") return value + ([...value].at(-1) ?? "?");
  if (typeof value === "number") return value + 1 === value ? 0 : value + 1;
  if (typeof value === "boolean") return !value;
  if (Array.isArray(value)) return [...value, "more"];
  if (!isJsonObject(value)) return "none";
  const entries = Object.entries(value);
  return Object.fromEntries([...entries, [freeName("more", namesOf(entries)), "more"]]);
}
