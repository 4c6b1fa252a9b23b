/**
 * Simulated models by their names.
 * @module
 */

import { jsonText, parseJson } from "../base/json.ts";
import {
  BREAKS,
  MISTAKES,
  REACTIONS,
  type Reading,
  readSimulatedName,
  TRUTH_MISTAKES,
} from "../models/simulated_name.ts";
import { createNoisy, hits, type MistakeRates, type ReactionRates } from "./_noisy.ts";
import { createTruth, type Truths, truthsOf } from "./_truth.ts";
import type { TruthRates } from "./_truth_mistakes.ts";
import {
  answerWith,
  type ChatCall,
  type ChatRequest,
  composeAnswer,
  contentText,
  type Draws,
  type SimulatedModel,
} from "./_wire.ts";
import { writeCall } from "./_arguments.ts";
import { argumentsOf, nameResults, planReply } from "./_planning.ts";
import { answerQuestion } from "./_questions.ts";
import { readConversation } from "./_reading.ts";
import { readStage, writeStage } from "./_stages.ts";
import { readTextRequest, slipsOf } from "./_text_formats.ts";
import { fork, type Stream } from "../base/random.ts";
import { readInstruction } from "../tools/injection.ts";
import { randomIntegerBetween, sample } from "@std/random";
import type { TextFormat } from "../models/formats/format.ts";

/**
 * Returns the simulated model with a name, one of
 *
 * - `sim:planner?reads=`,
 * - `sim:noisy?early=&stale=&distract=&hallucinate=&arity=&key=&quit=&copy=&averse=&ignore=`,
 *   `&resist=&dots=&brute=&needless=&inject=`, `&giveup=&invent=`,
 *   `&breakFormat=&hopeless=&memory=&seed=`, and
 * - `sim:truth?syntax=&fence=&route=&key=&value=&extra=&optional=&judge=&seed=`,
 *
 * with rates from 0 to 1 and a whole number as seed, all 0 by default; {@linkcode MistakeRates},
 * {@linkcode ReactionRates}, {@linkcode BreakRates} and {@linkcode TruthRates} describe them. `giveup` and
 * `invent` must sum to at most 1. `memory` is a whole number of at least 1: values given more messages ago are
 * misread unless the last result restates them; if omitted, none are. `reads` is what a planner leans on alone:
 * `descriptions` and no names, `names` and no descriptions, or the `types` that schemas show and no other sign
 * of a type.
 *
 * @param truths The questions that `sim:truth` knows. Default: none.
 *
 * @throws {InputError} If the model or an option is unknown, or a value is out of range.
 */
export function parseSimulatedModel(
  name: string,
  truths: Truths = truthsOf([]),
): SimulatedModel {
  const { base, values, reads } = readSimulatedName(name);
  const seed = values.get("seed") ?? 0;
  const model = create(name, base, { values, seed, truths, reads });
  const rates: BreakRates = ratesOf(BREAKS, values);
  return withTextFormats(model, { rates, seed });
}

/** Creates the model without text formats and broken calls. */
function create(
  name: string,
  base: string,
  { values, seed, truths, reads }: {
    readonly values: ReadonlyMap<string, number>;
    readonly seed: number;
    readonly truths: Truths;
    readonly reads?: Reading;
  },
): SimulatedModel {
  switch (base) {
    case "sim:noisy": {
      const rates: MistakeRates = ratesOf(MISTAKES, values);
      const reactions: ReactionRates = ratesOf(REACTIONS, values);
      const memory = values.get("memory");
      const noisy = createNoisy(name, { rates, reactions, seed, memory });
      return rates.inject === 0 ? noisy : withInjections(noisy, { rate: rates.inject, seed });
    }
    case "sim:truth": {
      const rates: TruthRates = ratesOf(TRUTH_MISTAKES, values);
      return createTruth(name, truths, { rates, seed });
    }
    default:
      return createPlanner(name, reads);
  }
}

/** The rates of all kinds, 0 if not given. */
function ratesOf<Kind extends string>(
  kinds: readonly Kind[],
  values: ReadonlyMap<string, number>,
): Record<Kind, number> {
  const rates = kinds.map((kind) => [kind, values.get(kind) ?? 0]);
  return Object.fromEntries(rates) as Record<Kind, number>;
}

/**
 * A simulated model that chains backward from the requested variable, over types and subtypes or names. Where
 * the question says what the words of names mean, it trusts these more than descriptions and schemas. In
 * each reply it calls all needed functions whose inputs are known. It ends with a text like `bujxe = 512`, or
 * says that the value cannot be determined and which variables are not given.
 *
 * It trusts what it reads, so that wrong documents, questions and returns affect its calls: arguments have the
 * types that schemas declare, a parameter without a type has no producer, and it understands sums but not
 * number words. It reads returns tolerantly: keys in another letter case or with other underscores, and
 * truncated JSON. If a refusal says that whole numbers are expected, it gives these against the schema, too.
 *
 * A function that fails is called at most twice more, and one that is denied or gone is not called again: it calls
 * another function that produces the same variable, or says that the value cannot be determined. If parameters accept references to results of the same reply, it also
 * makes calls that wait for nothing else, in chains of at most five calls.
 *
 * It passes other questions to the tool with a single parameter, and answers with its result.
 *
 * @param reads What it leans on in place of all this: `descriptions` or `names` alone link parameters, or schemas
 * alone decide the `types` of values.
 */
function createPlanner(name: string, reads?: Reading): SimulatedModel {
  return {
    name,
    reply(request) {
      const stage = readStage(request, reads);
      if (stage !== undefined) return composeAnswer(name, request, writeStage(stage), []);
      const conversation = readConversation(request, reads);
      const answer = answerQuestion(request, conversation);
      if (answer !== undefined) return composeAnswer(name, request, answer.text, answer.calls);
      const { text, intentions } = planReply(conversation);
      const nameResult = nameResults(conversation);
      const calls = intentions.map((intention) =>
        writeCall(intention.function, argumentsOf(intention, nameResult))
      );
      return composeAnswer(name, request, text, calls);
    },
  };
}

/**
 * Wraps a model so that it also understands the text formats and replies in them, with one call in a reply if
 * the format allows no more.
 *
 * @param breaks How often it breaks the format of its calls.
 */
function withTextFormats(
  model: SimulatedModel,
  breaks: Pick<BreakDraws, "rates" | "seed">,
): SimulatedModel {
  const { name } = model;
  return {
    name,
    reply(request) {
      const textRequest = readTextRequest(request);
      const chatRequest = textRequest?.request ?? request;
      const answer = model.reply(chatRequest);
      const [choice] = answer.choices;
      const { content, tool_calls: calls = [] } = choice.message;
      const broken = calls.length === 0 ? undefined : drawBroken(chatRequest, breaks);
      if (textRequest !== undefined) {
        const { format } = textRequest;
        const text = broken === undefined
          ? format.writeCalls(content, calls.map((call) => call.function))
          : breakText(format, { text: content, calls }, broken);
        return answerWith(name, request, text, []);
      }
      if (broken === undefined) return answer;
      const tool_calls = breakCalls(calls, broken.kind, broken.stream);
      return { ...answer, choices: [{ ...choice, message: { ...choice.message, tool_calls } }] };
    },
  };
}

/** Draws whether and how the calls of a reply are broken; returns the stream for further draws. */
function drawBroken(request: ChatRequest, { rates, seed }: Pick<BreakDraws, "rates" | "seed">) {
  if (!rates.breakFormat) return undefined;
  const { prompt, step, repair } = readConversation(request);
  const draws: BreakDraws = {
    rates,
    seed,
    repetition: request.seed ?? 0,
    attempt: repair?.attempt ?? 0,
  };
  const kind = drawBreak(prompt, step, draws);
  if (kind === undefined) return undefined;
  const stream = breakStream(prompt, step, draws);
  // Its first two numbers determine whether and how.
  stream.prng();
  stream.prng();
  return { kind, stream };
}

/**
 * Wraps a model so that it does what an instruction in a result demands, in a share of the questions: it makes a
 * demanded call in its next reply, if calls are allowed, and ends its answer with a demanded word.
 */
function withInjections(
  model: SimulatedModel,
  { rate, seed }: { readonly rate: number; readonly seed: number },
): SimulatedModel {
  const { name } = model;
  return {
    name,
    reply(request) {
      const answer = model.reply(request);
      const demand =
        request.messages.flatMap((message) =>
          message.role === "tool" ? readInstruction(contentText(message.content)) ?? [] : []
        )[0];
      if (demand === undefined) return answer;
      const question = request.messages.find(({ role }) => role === "user");
      const stream = fork(seed, request.seed ?? 0, contentText(question?.content), "inject");
      if (!hits(rate, stream)) return answer;
      const { content, tool_calls: calls = [] } = answer.choices[0].message;
      if ("say" in demand) {
        return calls.length > 0
          ? answer
          : answerWith(name, request, `${content} ${demand.say}`.trim(), calls);
      }
      const { function: called, arguments: input } = demand;
      const arguments_ = jsonText(input);
      if (request.tool_choice === "none" || wasMade(request, called, arguments_)) return answer;
      const call: ChatCall = {
        id: `call_injected_${request.messages.length}`,
        type: "function",
        function: { name: called, arguments: arguments_ },
      };
      const others = request.parallel_tool_calls === false ? [] : calls;
      return answerWith(name, request, content, [...others, call]);
    },
  };
}

function wasMade({ messages }: ChatRequest, name: string, written: string): boolean {
  return messages.some((message) =>
    message.role === "assistant" &&
    (message.tool_calls ?? []).some((call) =>
      call.function.name === name && call.function.arguments === written
    )
  );
}

/**
 * How often a model breaks the format of its calls. An opportunity is any reply with calls, in all formats.
 *
 * - `breakFormat`: the share of these replies that are broken, from 0 to 1.
 * - `hopeless`: the share of broken replies, from 0 to 1, that no parser can understand; all others can be
 *   repaired without guessing.
 *
 * A call that was refused because it could not be parsed is repeated at most 19 times.
 */
export type BreakRates = Readonly<Record<typeof BREAKS[number], number>>;

/** How a reply is broken: repairable, or beyond understanding. */
export type Break = "mendable" | "hopeless";

/** The rates and seeds that determine broken calls. */
export interface BreakDraws extends Draws<BreakRates> {
  /** How often it was asked to repair a call of this step, including this time. Default: 0. */
  readonly attempt?: number;
}

/**
 * Returns how `sim:noisy` breaks a reply with calls; `undefined` if it does not.
 *
 * @param prompt The first user message.
 * @param step The number of earlier replies with calls.
 */
export function drawBreak(prompt: string, step: number, draws: BreakDraws): Break | undefined {
  const { rates: { breakFormat = 0, hopeless = 0 } } = draws;
  const { prng } = breakStream(prompt, step, draws);
  if (!(prng() < breakFormat)) return undefined;
  return prng() < hopeless ? "hopeless" : "mendable";
}

/** The stream of a break: its first two numbers determine whether and how, the others the text. */
export function breakStream(
  prompt: string,
  step: number,
  { seed, repetition, attempt = 0 }: BreakDraws,
): Stream {
  return fork(seed, repetition, prompt, step, "format", attempt);
}

/** Native calls, one of them broken. */
export function breakCalls(
  calls: readonly ChatCall[],
  kind: Break,
  stream: Stream,
): readonly ChatCall[] {
  const place = drawIndex(calls, stream);
  const call = calls[place]!;
  const { name, arguments: json } = call.function;
  if (kind === "hopeless") {
    return calls.with(place, { ...call, function: { name, arguments: garble(json, stream) } });
  }
  const broken = sample([
    { ...call, id: "" },
    { ...call, function: { name, arguments: parseJson(json) } },
  ], stream);
  // Broken calls do not conform to the type.
  return calls.with(place, broken as ChatCall);
}

/** The text of a reply, one of its calls broken. */
export function breakText(
  format: TextFormat,
  { text, calls }: { readonly text: string; readonly calls: readonly ChatCall[] },
  { kind, stream }: { readonly kind: Break; readonly stream: Stream },
): string {
  const place = drawIndex(calls, stream);
  const { name, arguments: json } = calls[place]!.function;
  const write = (args: string) => {
    const given = calls.map((call) => call.function);
    return format.writeCalls(text, given.with(place, { name, arguments: args }));
  };
  if (kind === "hopeless") return write(garble(json, stream));
  const loose = LOOSE.flatMap((loosen) => loosen(json) ?? []);
  return sample(
    [...loose.map(write), ...slipsOf(format).map((slip) => slip(write(json)))],
    stream,
  )!;
}

/** Draws the index of the broken call. */
function drawIndex(calls: readonly ChatCall[], stream: Stream): number {
  return randomIntegerBetween(0, calls.length - 1, stream);
}

/** Arguments beyond understanding: cut off before the first value, or words. */
function garble(json: string, stream: Stream): string {
  const words = "the values that are known by now";
  const colon = json.indexOf('":') + '":'.length;
  return colon < '":'.length
    ? words
    : sample([words, json.slice(0, '{"x'.length), json.slice(0, colon)], stream)!;
}

/** Frequent slips in the JSON of arguments; each returns `undefined` if it does not apply. */
const LOOSE: readonly ((json: string) => string | undefined)[] = [
  (json) => json === "{}" ? undefined : `${json.slice(0, -1)},}`,
  (json) => json.slice(0, -1),
];
