/**
 * What to do in one reply: the core that all simulated models share.
 * @module
 */

import type { FunctionReading, Variable } from "./functions.ts";
import { ancestors, link, type Links } from "./linking.ts";
import type { CallRefusal, Conversation } from "./reading.ts";
import type { Value } from "./wire.ts";

/** An argument of a call: the parameter, the variable that belongs there, and its value. */
export interface Argument {
  readonly parameter: string;
  readonly variable: string;
  readonly value: Value;
}

/** A right call, as far as what was returned before is right. */
export interface Intention {
  readonly function: FunctionReading;
  readonly arguments: readonly Argument[];
}

/** What to do in one reply. */
export interface Plan {
  /** What to say: the answer, why there is none, or a sentence that goes with calls. */
  readonly text: string;
  /** What to call; empty when the text ends the conversation. */
  readonly intentions: readonly Intention[];
  /** Whether nothing else may be called: one call was asked for. */
  readonly alone: boolean;
  /** Every variable with a value: inputs, then returns in their order, the last return winning. */
  readonly values: ReadonlyMap<string, Value>;
  /** All functions that the target depends on, called or not. */
  readonly needed: ReadonlySet<FunctionReading>;
  /** The functions that are still to be called: what depends on a value already had is not. */
  readonly open: readonly FunctionReading[];
  /** The variable that belongs to a parameter, if there is one. */
  readonly variableOf: Links["variableOf"];
}

/**
 * What each call that brought no value costs of the patience with its function: a call that is refused, or
 * whose function fails, is made twice more, and one that could not be read is written 19 times more. What
 * refers to a result that did not come is at no fault, and it happens once: see {@linkcode chain}.
 */
const COSTS: Readonly<Record<CallRefusal, number>> = {
  refused: 20,
  failed: 20,
  denied: 60,
  malformed: 3,
  dangling: 0,
};
/** A function that has cost so much is given up. */
const PATIENCE = 60;
/** So many variables that are missing are told. */
const MOST_TOLD = 20;

/**
 * Plans one reply, in time linear in the conversation and the functions. As every reply that calls
 * brings a value or a refusal, and both are bounded, conversations end, unless calls are demanded.
 *
 * @param meant The function that the caller of a name that does not exist had in mind, if known.
 */
export function planReply(
  conversation: Conversation,
  meant: (name: string) => string | undefined = () => undefined,
): Plan {
  const { target, inputs, functions, mayCall, mustCall, repair, chosen } = conversation;
  const links = link(conversation);
  const { variableOf } = links;
  const { values, costs } = readReturns(conversation, meant);
  const needed = ancestors(target, links, inputs);
  const open = [...ancestors(target, links, values)];
  const plan = { intentions: [], alone: false, values, needed, open, variableOf };
  const named = (name: string) => functions.get(name) ?? functions.get(meant(name) ?? "");

  const asked = chosen ?? (repair === undefined ? undefined : named(repair.name));
  if (asked !== undefined && mayCall) {
    const text = `I call ${asked.name}, as I am asked to.`;
    return { ...plan, text, alone: true, intentions: [insist(asked, plan, repair?.arguments)] };
  }

  const value = target === undefined ? undefined : values.get(target);
  const missing = missingFor(open, variableOf);
  const hopeless = missing.size > 0 ||
    open.some(({ name }) => (costs.get(name) ?? 0) >= PATIENCE);
  const intentions = value !== undefined || hopeless || !mayCall
    ? []
    : open.flatMap((candidate) => intend(candidate, values, variableOf) ?? []);
  const tried = (candidate: FunctionReading) => costs.has(candidate.name);
  if (intentions.length > 0) {
    const text = `I call the functions whose inputs are known, to get variable ${target}.`;
    return repair === undefined
      ? { ...plan, text, intentions: chain(intentions, plan, tried) }
      : { ...plan, text, alone: true, intentions: intentions.slice(0, 1) };
  }
  const last = conversation.calls.findLast(({ name }) => named(name) !== undefined)?.name;
  const again = last === undefined ? functions.values().next().value : named(last);
  if (mustCall && again !== undefined) {
    const text = `I have to call a function, so I call ${again.name}.`;
    return { ...plan, text, intentions: [insist(again, plan)] };
  }
  if (value !== undefined) return { ...plan, text: `${target} = ${value}` };
  const reason = inWords(missing) || "something that it depends on cannot be had";
  return { ...plan, text: cannotDetermine(conversation, reason) };
}

/** What is said where there is no answer. */
export function cannotDetermine({ target }: Pick<Conversation, "target">, reason: string): string {
  const what = target === undefined ? "a variable" : `variable ${target}`;
  return `I cannot determine the value of ${what}: ${reason}.`;
}

/** The parameters of functions to which no variable belongs. */
function missingFor(
  open: readonly FunctionReading[],
  variableOf: Plan["variableOf"],
): ReadonlySet<string> {
  const parameters = open.flatMap((candidate) => candidate.parameters);
  return new Set(
    parameters.filter((one) => variableOf(one) === undefined).map(({ name }) => name),
  );
}

/** What is not given; a name with digits is left out, as they could be taken for an answer. */
function inWords(missing: ReadonlySet<string>): string {
  return [...missing].filter((name) => !/\d/.test(name)).slice(0, MOST_TOLD)
    .map((name) => `variable ${name} is not given`).join(", ");
}

/** What was returned so far, and what each function that was tried in vain has cost. */
function readReturns(
  { inputs, functions, calls }: Conversation,
  meant: (name: string) => string | undefined,
) {
  const values = new Map(inputs);
  const costs = new Map<string, number>();
  for (const { name, value, refusal = "refused" } of calls) {
    const output = functions.get(name)?.output;
    if (output !== undefined && value !== undefined) {
      values.set(output.name, value);
    } else {
      const refused = functions.has(name) ? name : meant(name);
      if (refused === undefined) continue;
      costs.set(refused, (costs.get(refused) ?? 0) + COSTS[refusal]);
    }
  }
  return { values, costs };
}

/** The call of `candidate` with the values at hand, or `undefined` where one is missing. */
export function intend(
  candidate: FunctionReading,
  values: Plan["values"],
  variableOf: Plan["variableOf"],
): Intention | undefined {
  return fill(candidate, variableOf, (variable) => values.get(variable));
}

/** The call of `candidate` with the values that its parameters get, or `undefined` where one gets none. */
function fill(
  candidate: FunctionReading,
  variableOf: Plan["variableOf"],
  valueOf: (variable: string, parameter: Variable) => Value | undefined,
): Intention | undefined {
  const arguments_: Argument[] = [];
  for (const parameter of candidate.parameters) {
    const variable = variableOf(parameter);
    const value = variable === undefined ? undefined : valueOf(variable, parameter);
    if (variable === undefined || value === undefined) return undefined;
    arguments_.push({ parameter: parameter.name, variable, value });
  }
  return { function: candidate, arguments: arguments_ };
}

/** So many calls of one reply may wait for each other. */
const LONGEST_CHAIN = 5;

/**
 * The calls, and behind them those that wait for nothing but results of these, where their parameters take
 * references such as `$1.x`: the result x of the first call of the reply. What was `tried` before waits for
 * the values themselves.
 */
function chain(
  intentions: readonly Intention[],
  { open, values, variableOf }: Pick<Plan, "open" | "values" | "variableOf">,
  tried: (candidate: FunctionReading) => boolean,
): readonly Intention[] {
  const chained = [...intentions];
  const called = new Set(intentions.map((intention) => intention.function));
  let waiting = open.filter((one) => one.references.size > 0 && !called.has(one) && !tried(one));
  const results = new Map<string, string>();
  for (let length = 2; length <= LONGEST_CHAIN && waiting.length > 0; length++) {
    for (const [place, { function: { output, result } }] of chained.entries()) {
      // Where results get names, these are all that is to be had of them.
      if (output === undefined || result !== undefined) continue;
      results.set(output.name, `$${place + 1}.${output.name}`);
    }
    const next = waiting.flatMap((candidate) =>
      fill(candidate, variableOf, (variable, { name }) =>
        values.get(variable) ??
          (candidate.references.has(name) ? results.get(variable) : undefined)) ?? []
    );
    if (next.length === 0) break;
    chained.push(...next);
    for (const intention of next) called.add(intention.function);
    waiting = waiting.filter((one) => !called.has(one));
  }
  return chained;
}

/** A call that must be made, known inputs or not: with what was `given` before, or anything known. */
function insist(
  candidate: FunctionReading,
  { values, variableOf }: Pick<Plan, "values" | "variableOf">,
  given: ReadonlyMap<string, Value> = new Map(),
): Intention {
  const any = values.values().next().value ?? 0;
  const arguments_ = candidate.parameters.map((parameter): Argument => {
    const variable = variableOf(parameter) ?? parameter.name;
    const value = values.get(variable) ?? given.get(parameter.name) ?? any;
    return { parameter: parameter.name, variable, value };
  });
  return { function: candidate, arguments: arguments_ };
}

/**
 * The name that the result of each further call gets, in a conversation where results have names:
 * that of the variable, with a number behind it where the name was mentioned before.
 */
export function nameResults({ symbols }: Conversation): (called: FunctionReading) => string {
  const given = new Set<string>();
  return ({ name, output }) => {
    const first = `@${output?.name ?? name.replaceAll(/\W/g, "_")}`;
    let free = first;
    for (let count = 2; symbols.has(free) || given.has(free); count++) free = `${first}_${count}`;
    given.add(free);
    return free;
  };
}

/** The arguments of a call by parameter, its result's name included where it needs one. */
export function argumentsOf(
  intention: Intention,
  nameResult: (called: FunctionReading) => string,
  valueOf: (argument: Argument) => Value = ({ value }) => value,
): Map<string, Value> {
  const { function: called } = intention;
  const values = new Map(
    intention.arguments.map((argument) => [argument.parameter, valueOf(argument)]),
  );
  if (called.result !== undefined) values.set(called.result, nameResult(called));
  return values;
}
