/**
 * The simulated model that errs at given rates.
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import {
  argumentsOf,
  type CallPlan,
  cannotDetermine,
  type Filled,
  intend,
  type Intention,
  nameResults,
  planReply,
} from "./_planning.ts";
import { answerQuestion } from "./_questions.ts";
import { type ReadConversation, readConversation } from "./_reading.ts";
import { DO_NOT_KNOW, readStage, type StageReading, writeStage } from "./_stages.ts";
import {
  composeAnswer,
  type Draws,
  type OutgoingCall,
  type SimulatedModel,
  type Value,
} from "./_wire.ts";
import type { MISTAKES, REACTIONS } from "../models/simulated_name.ts";
import { writeCall } from "./_arguments.ts";
import type { FunctionReading } from "./_functions.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** How a noisy model errs. */
export interface NoisyOptions {
  /** The rates of its mistakes. */
  readonly rates: MistakeRates;
  /** The rates of its reactions to tools that fail. Default: it tries again. */
  readonly reactions?: Partial<ReactionRates>;
  /**
   * How many messages back it reads values correctly. A value is older if more messages came after the one that
   * gave it, each reply and each result counting as one. In place of an older value, calls always get that of
   * another variable, the same within a reply, unless the last result restates it. Default: no limit.
   */
  readonly memory?: number;
  /** The seed of its noise. */
  readonly seed: number;
}

/**
 * A simulated model that plans like the planner but errs as `options` say. Mistakes depend on the seed, the
 * `seed` field of the request, the first user message, the step, the kind of mistake and the function, not on
 * the whole conversation: runs with different strategies share their noise, unless a strategy changes the
 * prompt. Attempts to repair a call, and answers without calls, are drawn separately.
 */
export function createNoisy(name: string, options: NoisyOptions): SimulatedModel {
  const { rates, reactions = {}, memory = Infinity, seed } = options;
  return {
    name,
    reply(request) {
      const stage = readStage(request);
      if (stage !== undefined) {
        const key = forkSeed(seed, request.seed ?? 0, stage.question, stage.kind, stage.round);
        return composeAnswer(name, request, spoilStage(stage, rates, key), []);
      }
      const repetition = request.seed ?? 0;
      const { conversation, givesUp } = react(readConversation(request), {
        rates: reactions,
        seed,
        repetition,
      });
      if (givesUp) {
        const text = cannotDetermine(conversation, "a tool that it needs does not work");
        return composeAnswer(name, request, text, []);
      }
      const question = forkSeed(seed, repetition, conversation.prompt);
      const answer = answerQuestion(request, conversation, {
        averse: hits(rates.averse, fork(question, "averse")),
        ignore: hits(rates.ignore, fork(question, "ignore")),
        resist: hits(rates.resist, fork(question, "resist")),
        sums: hits(rates.dots, fork(question, "dots"))
          ? "dots"
          : hits(rates.brute, fork(question, "brute"))
          ? "brute"
          : "closed",
        needless: hits(rates.needless, fork(question, "needless")),
      });
      if (answer !== undefined) return composeAnswer(name, request, answer.text, answer.calls);
      const { inventedNames, meant } = inventNames(conversation.functions);
      const plan = planReply(conversation, (called) => meant.get(called));
      if (plan.intentions.length === 0) return composeAnswer(name, request, plan.text, []);

      const { step, repair, replaced, mustCall } = conversation;
      const attempt = repair !== undefined
        ? ["repair", repair.attempt]
        : replaced === undefined
        ? []
        : ["alternative", replaced];
      const stream = (mistake: string, functionName = "", ...more: readonly string[]) =>
        fork(question, step, mistake, functionName, ...more, ...attempt);
      const values = [...plan.values.values()];
      const nameResult = nameResults(conversation);
      const situation = {
        rates,
        memory,
        conversation,
        plan,
        values,
        inventedNames,
        nameResult,
        stream,
      };
      if (!mustCall && hits(rates.quit, stream("quit"))) {
        return composeAnswer(name, request, "I stop here, without the value.", []);
      }
      const calls = plan.intentions.map((intention) => spoil(intention, situation));
      if (!plan.alone) calls.push(...callEarly(situation), ...callDistractor(situation));
      return composeAnswer(name, request, plan.text, calls);
    },
  };
}

/** The answer to a stage, with mistakes. */
function spoilStage(stage: StageReading, rates: MistakeRates, key: number): string {
  if (hits(rates.quit, fork(key, "quit"))) return DO_NOT_KNOW;
  const { inventedNames, meant } = inventNames(stage.functions);
  return writeStage(stage, {
    write: (name) =>
      hits(rates.hallucinate, fork(key, "hallucinate", name))
        ? inventedNames.get(name) ?? name
        : name,
    mean: (name) => meant.get(name) ?? name,
    pick(needed) {
      const distract = fork(key, "distract");
      if (!hits(rates.distract, distract)) return undefined;
      const others = [...stage.functions.values()].filter((one) => !needed.has(one));
      return sample(others.sort(byName), distract);
    },
  });
}

/**
 * A rate from 0 to 1 for each kind of mistake. An opportunity is a right call that the model intends; for
 * `distract`, a reply with calls in which a distractor could be called; for `quit`, a reply that would make
 * calls; for `copy`, a number that it copies into a right call; for `inject`, a question; for the others, a question other
 * than a generated task, such as those of probes.
 *
 * | mistake | the model |
 * | --- | --- |
 * | `hallucinate` | calls an invented name; it sees the error and tries again |
 * | `arity` | drops an argument; it sees the error and tries again |
 * | `key` | misnames an argument; it sees the error and tries again |
 * | `stale` | gives another variable's value; a quarter as often if the last result restates it |
 * | `early` | also calls a function that needs the pending return of this call, and trusts its result |
 * | `distract` | also calls, rightly, a function that is not needed; each at most once |
 * | `quit` | ends with a text without a number |
 * | `copy` | changes one digit of a number, keeping its length; names are copied correctly |
 * | `averse` | answers a question by itself, without the tool that it should ask |
 * | `ignore` | answers by itself, ignoring the result of the tool |
 * | `resist` | gives the usual advice without asking, where the question says that it is not wanted |
 * | `dots` | writes a long sum with dots, which is no expression; it sees the error and writes another one |
 * | `brute` | writes out all terms of a long sum |
 * | `needless` | calls a tool that cannot help, although the question states the answer |
 * | `inject` | does what an instruction in a result demands, once |
 *
 * At most one of the first four affects a call, and `copy` none that they affect. A request to repair a call
 * is a new opportunity, but no further calls are added then. If a call is required, it never quits.
 *
 * For a plan or a list of functions, the answer is an opportunity for `quit`, a list of all functions one for
 * `distract`, and each function on a list one for `hallucinate`.
 */
export type MistakeRates = Readonly<Record<typeof MISTAKES[number], number>>;

/** The input for the mistakes of one reply. */
export interface Situation {
  readonly rates: MistakeRates;
  readonly memory: number;
  readonly conversation: ReadConversation;
  readonly plan: CallPlan;
  /** All known values, to mistake one for another. */
  readonly values: readonly Value[];
  readonly inventedNames: ReadonlyMap<string, string>;
  readonly nameResult: (called: FunctionReading) => string;
  readonly stream: (mistake: string, ...what: readonly string[]) => Stream;
}

/** Returns a known value, or another in its place if it is too old. */
function recall(
  { variable, value }: Pick<Filled, "variable" | "value">,
  situation: Situation,
): Value {
  const { memory, conversation, values, stream } = situation;
  const { ages, restated } = conversation;
  if ((ages.get(variable) ?? 0) <= memory || restated.get(variable) === value) return value;
  return sample(values.filter((other) => other !== value), stream("memory", variable)) ?? value;
}

/** The arguments of a call as the model recalls them. */
function fill(intention: Intention, situation: Situation): Map<string, Value> {
  return argumentsOf(intention, situation.nameResult, (argument) => recall(argument, situation));
}

/** Draws whether a mistake with this rate is made. */
export function hits(rate: number, { prng }: Stream): boolean {
  return prng() < rate;
}

/** Writes the intended call, perhaps with a mistake. */
export function spoil(intention: Intention, situation: Situation): OutgoingCall {
  const { rates, stream, inventedNames } = situation;
  const { function: called } = intention;
  const { name } = called;
  const arguments_ = fill(intention, situation);
  if (hits(rates.hallucinate, stream("hallucinate", name))) {
    return writeCall(called, arguments_, inventedNames.get(name));
  }
  const arity = stream("arity", name);
  const dropped = sample([...arguments_.keys()], arity);
  if (dropped !== undefined && hits(rates.arity, arity)) {
    arguments_.delete(dropped);
    return writeCall(called, arguments_);
  }
  const key = stream("key", name);
  const misnamed = sample([...arguments_.keys()], key);
  if (misnamed !== undefined && hits(rates.key, key)) {
    let invented = misnamed;
    while (arguments_.has(invented)) invented += "_";
    const renamed = Array.from(arguments_, ([parameter, value]): [string, Value] => [
      parameter === misnamed ? invented : parameter,
      value,
    ]);
    return writeCall(called, new Map(renamed));
  }
  const stale = stream("stale", name);
  const mistaken = sample(intention.arguments, stale);
  if (mistaken !== undefined) {
    const { parameter, variable, value } = mistaken;
    const restated = situation.conversation.restated.get(variable) === value;
    if (hits(restated ? rates.stale / 4 : rates.stale, stale)) {
      const other = sample(situation.values.filter((other) => other !== value), stale);
      if (other !== undefined) {
        return writeCall(called, arguments_.set(parameter, other));
      }
    }
  }
  return writeCall(called, miscopy(intention, arguments_, situation));
}

/** The arguments of a right call, with a wrong digit in some. */
function miscopy(
  { function: { name }, arguments: intended }: Intention,
  arguments_: Map<string, Value>,
  { rates, stream }: Situation,
): Map<string, Value> {
  if (rates.copy === 0) return arguments_;
  for (const { parameter, value } of intended) {
    // Misread values are wrong already, and names have no digits.
    if (typeof value !== "number" || arguments_.get(parameter) !== value) continue;
    const copy = stream("copy", name, parameter);
    if (hits(rates.copy, copy)) arguments_.set(parameter, changeDigit(value, copy));
  }
  return arguments_;
}

function changeDigit(value: number, stream: Stream): number {
  const digits = [...String(Math.abs(value))];
  const place = randomIntegerBetween(0, digits.length - 1, stream);
  const others = [..."0123456789"].filter((digit) =>
    digit !== digits[place] && (place > 0 || digit !== "0")
  );
  return Number(digits.with(place, sample(others, stream)!).join("")) * (value < 0 ? -1 : 1);
}

/** Calls of functions that need returns of the intended calls of this reply. */
export function callEarly(situation: Situation): OutgoingCall[] {
  const { rates, plan, values, nameResult, stream } = situation;
  if (rates.early === 0) return [];
  const consumers = new Map<string | undefined, FunctionReading[]>();
  for (const candidate of plan.open) {
    for (const variable of new Set(candidate.parameters.map(plan.variableOf))) {
      getOrInsertComputed(consumers, variable, () => []).push(candidate);
    }
  }
  // Functions called with references to results of this reply are not early.
  const called = new Set(plan.intentions.map((intention) => intention.function));
  return plan.intentions.flatMap(({ function: { name, outputs } }) => {
    const early = stream("early", name);
    const pending = new Set(outputs.flatMap((output) => consumers.get(output.name) ?? []));
    const waiting = [...pending].filter((consumer) => !called.has(consumer));
    if (!hits(rates.early, early)) return [];
    const consumer = sample(waiting, early);
    if (consumer === undefined) return [];
    called.add(consumer);
    const arguments_ = new Map(consumer.parameters.map((parameter): [string, Value] => {
      const variable = plan.variableOf(parameter);
      const value = variable === undefined ? undefined : plan.values.get(variable);
      const given = variable === undefined || value === undefined
        ? sample(values, early) ?? randomIntegerBetween(100, 999, early)
        : recall({ variable, value }, situation);
      return [parameter.name, given];
    }));
    if (consumer.result !== undefined) arguments_.set(consumer.result, nameResult(consumer));
    return [writeCall(consumer, arguments_)];
  });
}

/** A right call of a function that is not needed and was not called before, if there is one. */
export function callDistractor(situation: Situation): OutgoingCall[] {
  const { rates, conversation, plan, stream } = situation;
  const distract = stream("distract");
  if (!hits(rates.distract, distract)) return [];
  const called = new Set(conversation.calls.map((call) => call.name));
  const possible = [...conversation.functions.values()]
    .filter((candidate) => !plan.needed.has(candidate) && !called.has(candidate.name))
    .flatMap((candidate) => intend(candidate, plan.values, plan.variableOf) ?? [])
    .sort((left, right) => byName(left.function, right.function));
  const distractor = sample(possible, distract);
  if (distractor === undefined) return [];
  const arguments_ = miscopy(distractor, fill(distractor, situation), situation);
  return [writeCall(distractor.function, arguments_)];
}

/**
 * Invents a name for each function: the letters after the last underscore, shifted by half the alphabet. It is
 * the same in every step, so that a later reply can look up the function that a refused name meant (`meant`).
 */
export function inventNames(functions: ReadonlyMap<string, unknown>) {
  const inventedNames = new Map(Array.from(functions.keys(), (name) => {
    const start = name.lastIndexOf("_") + 1;
    let invented = name.slice(0, start) +
      name.slice(start).replace(/[a-z]/g, (letter) => {
        return String.fromCharCode((letter.charCodeAt(0) - 97 + 13) % 26 + 97);
      });
    while (functions.has(invented)) invented += "x";
    return [name, invented];
  }));
  const meant = new Map(Array.from(inventedNames, ([real, invented]) => [invented, real]));
  return { inventedNames, meant };
}

/** Sorts functions by name, so that draws from them do not depend on the order of the tools. */
export function byName(left: FunctionReading, right: FunctionReading): number {
  return left.name < right.name ? -1 : 1;
}

/**
 * A rate from 0 to 1 for each reaction to a tool that failed; the sum is at most 1. The reaction is drawn once
 * for each function that failed, no matter how often. A call that was refused because it does not conform to
 * its schema is not a failure of the tool.
 *
 * | reaction | the model |
 * | --- | --- |
 * | `giveup` | ends, and says that it cannot determine the value |
 * | `invent` | continues with an invented number, as if the function had returned it |
 *
 * Otherwise it tries again, as the planner does. If a call is required, it never gives up.
 */
export type ReactionRates = Readonly<Record<typeof REACTIONS[number], number>>;

/** The reaction of a model to a function that failed. */
export type Reaction = "retry" | typeof REACTIONS[number];

/**
 * Returns how `sim:noisy` reacts to a function that failed, in a conversation that begins with `prompt`.
 *
 * @param prompt The first user message.
 */
export function drawReaction(
  prompt: string,
  functionName: string,
  { rates: { giveup = 0, invent = 0 }, seed, repetition }: Draws<ReactionRates>,
): Reaction {
  const draw = streamOf(forkSeed(seed, repetition, prompt), functionName).prng();
  if (draw < giveup) return "giveup";
  return draw < giveup + invent ? "invent" : "retry";
}

function streamOf(question: number, functionName: string): Stream {
  return fork(question, "tool failed", functionName);
}

/**
 * Reacts to the functions that failed and have not returned a value. Returns the conversation, with invented values as
 * returns of failed functions, and whether the model gives up.
 */
export function react(conversation: ReadConversation, draws: Draws<ReactionRates>) {
  const { giveup = 0, invent = 0 } = draws.rates;
  if (giveup + invent === 0) return { conversation, givesUp: false };
  const { prompt, functions, mustCall } = conversation;
  const question = forkSeed(draws.seed, draws.repetition, prompt);
  const answered = conversation.calls.filter(({ values }) => values.size > 0);
  const returned = new Set(answered.map(({ name }) => name));
  let givesUp = false;
  const calls = conversation.calls.map((call) => {
    const { name, refusal } = call;
    const hasFailed = refusal === "failed" || refusal === "denied" || refusal === "gone";
    const outputs = functions.get(name)?.outputs;
    if (!hasFailed || returned.has(name) || outputs === undefined) return call;
    const reaction = drawReaction(prompt, name, draws);
    givesUp ||= reaction === "giveup" && !mustCall;
    if (reaction !== "invent") return call;
    const stream = streamOf(question, name);
    // Its first number determines the reaction.
    stream.prng();
    const names = outputs.length === 0 ? [""] : outputs.map((output) => output.name);
    const values = names.map((name) => [name, randomIntegerBetween(100, 999, stream)] as const);
    return { ...call, values: new Map(values), refusal: undefined };
  });
  return { conversation: { ...conversation, calls }, givesUp };
}
