/**
 * The mistakes of simulated models: each of them, and what it makes of a call.
 * @module
 */

import type { MISTAKES } from "../models/simulated_name.ts";
import { randomIntegerBetween, sample } from "@std/random";
import type { Stream } from "../base/random.ts";
import { writeCall } from "./arguments.ts";
import type { FunctionReading } from "./functions.ts";
import { type Argument, argumentsOf, intend, type Intention, type Plan } from "./planning.ts";
import type { Conversation } from "./reading.ts";
import type { OutgoingCall, Value } from "./wire.ts";

/**
 * A rate, 0..1, for each kind of mistake. An opportunity is one right call that the model intends;
 * of `distract`, a reply with calls in which a distractor could be called; of `quit`, a reply that
 * would have made calls; of `copy`, one numeric value that it copies into a right call; of `averse` and
 * `ignore`, a question that is no generated task, such as those of probes.
 *
 * | mistake | the model |
 * | --- | --- |
 * | `hallucinate` | calls an invented name; it sees the error and tries again |
 * | `arity` | drops an argument; it sees the error and tries again |
 * | `stale` | gives another variable's value; a quarter as often if the last result restates it |
 * | `early` | also calls a function that needs what this call has yet to return, and believes it |
 * | `distract` | also calls, rightly, a function that is not needed; each at most once |
 * | `quit` | ends with a text without a number |
 * | `copy` | changes one digit of a number, whose length stays; names are copied right |
 * | `averse` | answers a question by itself, without the tool that it should ask |
 * | `ignore` | answers what it thinks itself, against what the tool that it asked has said |
 *
 * At most one of the first three spoils a call, and `copy` none that they spoil. A call that it is asked
 * to repair is a new opportunity, but nothing else is called then. Where it must call, it never quits.
 *
 * Where it is asked for a plan or a list of functions, the answer is an opportunity of `quit`, and a list
 * of all functions one of `distract`; each function that it puts on a list is one of `hallucinate`.
 */
export type MistakeRates = Readonly<Record<typeof MISTAKES[number], number>>;

/** What the mistakes of one reply are made from. */
export interface Situation {
  readonly rates: MistakeRates;
  readonly memory: number;
  readonly conversation: Conversation;
  readonly plan: Plan;
  /** The values at hand, for mistaking one for another. */
  readonly values: readonly Value[];
  readonly inventedNames: ReadonlyMap<string, string>;
  readonly nameResult: (called: FunctionReading) => string;
  readonly stream: (mistake: string, ...what: readonly string[]) => Stream;
}

/** Reads a value that is known, or another in its place if it is too old. */
function recall(
  { variable, value }: Pick<Argument, "variable" | "value">,
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

/** Whether a mistake of this rate is made. */
export function hits(rate: number, { prng }: Stream): boolean {
  return prng() < rate;
}

/** The intended call, or what one of the mistakes makes of it. */
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
    // What was misread is no right value, and a name has no digits to confuse.
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

/** Calls of functions that need what the intended calls of this reply have yet to return. */
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
  // What is called with references to this reply waits for it.
  const called = new Set(plan.intentions.map((intention) => intention.function));
  return plan.intentions.flatMap(({ function: { name, output } }) => {
    const early = stream("early", name);
    const waiting = (consumers.get(output?.name ?? "") ?? [])
      .filter((consumer) => !called.has(consumer));
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

/** A right call of one function that is not needed, if one can be called and was not before. */
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
 * A name that does not exist for each that does: the letters after the last underscore, moved by
 * half the alphabet. It does not change with the step, so that a later reply can tell which
 * function a refused name stood for (`meant`).
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

/** Sorts functions, so that what is drawn of them does not depend on the order of the tools. */
export function byName(left: FunctionReading, right: FunctionReading): number {
  return left.name < right.name ? -1 : 1;
}
