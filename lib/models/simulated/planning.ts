/**
 * Backward chaining from the variable asked for: the core that all simulated models share.
 * @module
 */

import type { Conversation, FunctionReading, Variable } from "./reading.ts";

/** An argument of a call: the parameter, the variable that belongs there, and its value. */
export interface Argument {
  readonly parameter: string;
  readonly variable: string;
  readonly value: number;
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
  /** Every variable with a value: inputs, then returns in their order, the last return winning. */
  readonly values: ReadonlyMap<string, number>;
  /** All functions that the target depends on, called or not. */
  readonly needed: ReadonlySet<FunctionReading>;
  /** The functions that are still to be called: what depends on a value already had is not. */
  readonly open: readonly FunctionReading[];
  /** The variable that belongs to a parameter, if there is one. */
  readonly variableOf: (parameter: Variable) => string | undefined;
}

/** A call that is refused is made twice more, then its function is given up. */
const MOST_REFUSALS = 3;

/**
 * Plans one reply, in time linear in the conversation and the functions. As every reply that calls
 * brings a value or a refusal, and both are bounded, conversations end.
 *
 * @param meant The function that the caller of a name that does not exist had in mind, if known.
 */
export function planReply(
  conversation: Conversation,
  meant: (name: string) => string | undefined = () => undefined,
): Plan {
  const { target, inputs, functions } = conversation;
  const { producers, variableOf } = link(conversation);
  const values = new Map(inputs);
  const refusals = new Map<string, number>();
  for (const { name, value } of conversation.calls) {
    const output = functions.get(name)?.output;
    if (output !== undefined && value !== undefined) {
      values.set(output.name, value);
    } else {
      const refused = functions.has(name) ? name : meant(name);
      if (refused !== undefined) refusals.set(refused, (refusals.get(refused) ?? 0) + 1);
    }
  }
  const needed = ancestors(target, producers, variableOf, inputs);
  const open = [...ancestors(target, producers, variableOf, values)];
  const plan = { intentions: [], values, needed, open, variableOf };

  const value = target === undefined ? undefined : values.get(target);
  if (value !== undefined) return { ...plan, text: `${target} = ${value}` };

  const hopeless = open.some((candidate) =>
    (refusals.get(candidate.name) ?? 0) >= MOST_REFUSALS ||
    candidate.parameters.some((parameter) => variableOf(parameter) === undefined)
  );
  const intentions = hopeless || !conversation.mayCall
    ? []
    : open.flatMap((candidate) => intend(candidate, values, variableOf) ?? []);
  const text = intentions.length > 0
    ? `I call the functions whose inputs are known, to get variable ${target}.`
    : `I cannot determine the value of ${
      target === undefined ? "a variable" : `variable ${target}`
    }: ` +
      "something that it depends on cannot be had.";
  return { ...plan, text, intentions };
}

/** The call of `candidate` with the values at hand, or `undefined` where one is missing. */
export function intend(
  candidate: FunctionReading,
  values: ReadonlyMap<string, number>,
  variableOf: Plan["variableOf"],
): Intention | undefined {
  const arguments_: Argument[] = [];
  for (const parameter of candidate.parameters) {
    const variable = variableOf(parameter);
    const value = variable === undefined ? undefined : values.get(variable);
    if (variable === undefined || value === undefined) return undefined;
    arguments_.push({ parameter: parameter.name, variable, value });
  }
  return { function: candidate, arguments: arguments_ };
}

/**
 * Inputs are linked to parameters by name, outputs by type and subtype, or by name where the
 * descriptions give no types (FuncBenchGen, appendix B.2).
 */
function link({ inputs, functions }: Conversation) {
  const producers = new Map<string, FunctionReading>();
  const byType = new Map<string, string>();
  for (const candidate of functions.values()) {
    const { output } = candidate;
    if (output === undefined || producers.has(output.name)) continue;
    producers.set(output.name, candidate);
    if (output.type !== undefined && !byType.has(output.type)) byType.set(output.type, output.name);
  }
  const variableOf = ({ name, type }: Variable) => {
    if (inputs.has(name)) return name;
    if (type !== undefined) return byType.get(type);
    return producers.has(name) ? name : undefined;
  };
  return { producers, variableOf };
}

/**
 * The functions that `target` depends on, not looking behind variables that are `had`. Their order
 * follows from the dependencies alone, not from the order of the tools.
 */
function ancestors(
  target: string | undefined,
  producers: ReadonlyMap<string, FunctionReading>,
  variableOf: Plan["variableOf"],
  had: ReadonlyMap<string, number>,
): ReadonlySet<FunctionReading> {
  const found = new Set<FunctionReading>();
  const wanted = target === undefined ? [] : [target];
  for (let variable = wanted.pop(); variable !== undefined; variable = wanted.pop()) {
    const producer = had.has(variable) ? undefined : producers.get(variable);
    if (producer === undefined || found.has(producer)) continue;
    found.add(producer);
    for (const parameter of producer.parameters) {
      const needed = variableOf(parameter);
      if (needed !== undefined) wanted.push(needed);
    }
  }
  return found;
}
