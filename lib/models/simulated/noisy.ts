/**
 * The simulated model that errs at stated rates.
 * @module
 */

import { randomIntegerBetween, sample } from "@std/random";
import { fork, forkSeed, type Stream } from "../../random.ts";
import { type Argument, intend, type Intention, type Plan, planReply } from "./planning.ts";
import { type Conversation, type FunctionReading, readConversation } from "./reading.ts";
import { composeAnswer, type OutgoingCall, type SimulatedModel } from "./wire.ts";

/** The kinds of mistakes. */
export const MISTAKES = ["early", "stale", "distract", "hallucinate", "arity", "quit"] as const;

/**
 * A rate, 0..1, for each kind of mistake. An opportunity is one right call that the model intends;
 * of `distract`, a reply with calls in which a distractor could be called; of `quit`, a reply that
 * would have made calls.
 *
 * | mistake | the model |
 * | --- | --- |
 * | `hallucinate` | calls an invented name; it sees the error and tries again |
 * | `arity` | drops an argument; it sees the error and tries again |
 * | `stale` | gives another variable's value; a quarter as often if the last result restates it |
 * | `early` | also calls a function that needs what this call has yet to return, and believes it |
 * | `distract` | also calls, rightly, a function that is not needed; each at most once |
 * | `quit` | ends with a text without a number |
 *
 * At most one of the first three spoils a call.
 */
export type MistakeRates = Readonly<Record<typeof MISTAKES[number], number>>;

/** How a noisy model errs. */
export interface NoisyOptions {
  /** The rates of its mistakes. */
  readonly rates: MistakeRates;
  /**
   * How many messages back it reads values right; default any number. A value is older when more
   * messages than these came after the one that gave it, each reply and each result being one. In
   * every call it gives the value of another variable in place of an older one, unless the last
   * result restates it: always, and in each reply the same for the same variable.
   */
  readonly memory?: number;
  /** What its noise is drawn from. */
  readonly seed: number;
}

/** What the mistakes of one reply are made from. */
interface Situation {
  readonly rates: MistakeRates;
  readonly memory: number;
  readonly conversation: Conversation;
  readonly plan: Plan;
  /** The values at hand, for mistaking one for another. */
  readonly values: readonly number[];
  readonly inventedNames: ReadonlyMap<string, string>;
  readonly stream: (mistake: string, functionName?: string) => Stream;
}

/**
 * A simulated model that plans like the planner but errs as `options` say. Whether it errs is
 * drawn per seed, `seed` field of the request, first user message, step, mistake and function,
 * never from the conversation as a whole: runs that differ in strategy share their noise.
 */
export function createNoisy(name: string, options: NoisyOptions): SimulatedModel {
  const { rates, memory = Infinity, seed } = options;
  return {
    name,
    reply(request) {
      const conversation = readConversation(request);
      const inventedNames = inventNames(conversation.functions);
      const meant = new Map(Array.from(inventedNames, ([real, invented]) => [invented, real]));
      const plan = planReply(conversation, (called) => meant.get(called));
      if (plan.intentions.length === 0) return composeAnswer(name, request, plan.text, []);

      const key = forkSeed(seed, request.seed ?? 0, conversation.prompt);
      const stream = (mistake: string, functionName = "") =>
        fork(key, conversation.step, mistake, functionName);
      const values = [...plan.values.values()];
      const situation = { rates, memory, conversation, plan, values, inventedNames, stream };
      if (hits(rates.quit, stream("quit"))) {
        return composeAnswer(name, request, "I stop here, without the value.", []);
      }
      const calls = [
        ...plan.intentions.map((intention) => spoil(intention, situation)),
        ...callEarly(situation),
        ...callDistractor(situation),
      ];
      return composeAnswer(name, request, plan.text, calls);
    },
  };
}

/** Reads a value that is known, or another in its place if it is too old. */
function recall(
  { variable, value }: Pick<Argument, "variable" | "value">,
  situation: Situation,
): number {
  const { memory, conversation, values, stream } = situation;
  const { ages, restated } = conversation;
  if ((ages.get(variable) ?? 0) <= memory || restated.get(variable) === value) return value;
  return sample(values.filter((other) => other !== value), stream("memory", variable)) ?? value;
}

/** The arguments of a call as the model recalls them. */
function fill(intention: Intention, situation: Situation): Map<string, number> {
  return new Map(
    intention.arguments.map((argument) => [argument.parameter, recall(argument, situation)]),
  );
}

function hits(rate: number, { prng }: Stream): boolean {
  return prng() < rate;
}

/** The intended call, or what one of the first three mistakes makes of it. */
function spoil(intention: Intention, situation: Situation): OutgoingCall {
  const { rates, stream, inventedNames } = situation;
  const { name } = intention.function;
  const arguments_ = fill(intention, situation);
  if (hits(rates.hallucinate, stream("hallucinate", name))) {
    return { name: inventedNames.get(name) ?? name, arguments: arguments_ };
  }
  const arity = stream("arity", name);
  const dropped = sample(intention.arguments, arity);
  if (dropped !== undefined && hits(rates.arity, arity)) {
    arguments_.delete(dropped.parameter);
    return { name, arguments: arguments_ };
  }
  const stale = stream("stale", name);
  const mistaken = sample(intention.arguments, stale);
  if (mistaken !== undefined) {
    const { parameter, variable, value } = mistaken;
    const restated = situation.conversation.restated.get(variable) === value;
    if (hits(restated ? rates.stale / 4 : rates.stale, stale)) {
      const others = situation.values.filter((other) => other !== value);
      arguments_.set(parameter, sample(others, stale) ?? value);
    }
  }
  return { name, arguments: arguments_ };
}

/** Calls of functions that need what the intended calls of this reply have yet to return. */
function callEarly(situation: Situation): OutgoingCall[] {
  const { rates, plan, values, stream } = situation;
  if (rates.early === 0) return [];
  const consumers = new Map<string, FunctionReading[]>();
  for (const candidate of plan.open) {
    for (const variable of new Set(candidate.parameters.map(plan.variableOf))) {
      if (variable === undefined) continue;
      const sharing = consumers.get(variable);
      if (sharing === undefined) consumers.set(variable, [candidate]);
      else sharing.push(candidate);
    }
  }
  const called = new Set<FunctionReading>();
  return plan.intentions.flatMap(({ function: { name, output } }) => {
    const early = stream("early", name);
    const waiting = (consumers.get(output?.name ?? "") ?? [])
      .filter((consumer) => !called.has(consumer));
    if (!hits(rates.early, early)) return [];
    const consumer = sample(waiting, early);
    if (consumer === undefined) return [];
    called.add(consumer);
    const arguments_ = new Map(consumer.parameters.map((parameter) => {
      const variable = plan.variableOf(parameter);
      const value = variable === undefined ? undefined : plan.values.get(variable);
      const given = variable === undefined || value === undefined
        ? sample(values, early) ?? randomIntegerBetween(100, 999, early)
        : recall({ variable, value }, situation);
      return [parameter.name, given];
    }));
    return [{ name: consumer.name, arguments: arguments_ }];
  });
}

/** A right call of one function that is not needed, if one can be called and was not before. */
function callDistractor(situation: Situation): OutgoingCall[] {
  const { rates, conversation, plan, stream } = situation;
  const distract = stream("distract");
  if (!hits(rates.distract, distract)) return [];
  const called = new Set(conversation.calls.map((call) => call.name));
  const possible = [...conversation.functions.values()]
    .filter((candidate) => !plan.needed.has(candidate) && !called.has(candidate.name))
    .flatMap((candidate) => intend(candidate, plan.values, plan.variableOf) ?? [])
    .sort((left, right) => (left.function.name < right.function.name ? -1 : 1));
  const distractor = sample(possible, distract);
  if (distractor === undefined) return [];
  return [{ name: distractor.function.name, arguments: fill(distractor, situation) }];
}

/**
 * A name that does not exist for each that does: the letters after the last underscore, moved by
 * half the alphabet. It does not change with the step, so that a later reply can tell which
 * function a refused name stood for.
 */
function inventNames(functions: ReadonlyMap<string, unknown>): ReadonlyMap<string, string> {
  return new Map(Array.from(functions.keys(), (name) => {
    const start = name.lastIndexOf("_") + 1;
    let invented = name.slice(0, start) +
      name.slice(start).replace(/[a-z]/g, (letter) => {
        return String.fromCharCode((letter.charCodeAt(0) - 97 + 13) % 26 + 97);
      });
    while (functions.has(invented)) invented += "x";
    return [name, invented];
  }));
}
