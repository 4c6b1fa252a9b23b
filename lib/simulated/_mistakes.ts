/**
 * The mistakes of simulated models, and their effects on calls.
 * @module
 */

import type { MISTAKES } from "../models/simulated_name.ts";
import { randomIntegerBetween, sample } from "@std/random";
import type { Stream } from "../base/random.ts";
import { writeCall } from "./_arguments.ts";
import type { FunctionReading } from "./_functions.ts";
import { argumentsOf, type CallPlan, type Filled, intend, type Intention } from "./_planning.ts";
import type { ReadConversation } from "./_reading.ts";
import type { OutgoingCall, Value } from "./_wire.ts";

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
 * | `inject` | does what an instruction in a result demands, once |
 *
 * At most one of the first three affects a call, and `copy` none that they affect. A request to repair a call
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
  const consumers = new Map<string, FunctionReading[]>();
  for (const candidate of plan.open) {
    for (const variable of new Set(candidate.parameters.map(plan.variableOf))) {
      if (variable === undefined) continue;
      const sharing = consumers.get(variable);
      if (sharing === undefined) consumers.set(variable, [candidate]);
      else sharing.push(candidate);
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
