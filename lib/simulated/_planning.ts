/**
 * Planning of one reply: the core that all simulated models share.
 * @module
 */

import type { FunctionReading, Slot } from "./_functions.ts";
import { ancestors, link, type Links } from "./_linking.ts";
import type { CallRefusal, ReadConversation } from "./_reading.ts";
import type { Value } from "./_wire.ts";

/** An argument of a call: the parameter, the variable that belongs there, and its value. */
export interface Filled {
  readonly parameter: string;
  readonly variable: string;
  readonly value: Value;
}

/** A call that is right if the values returned before are. */
export interface Intention {
  readonly function: FunctionReading;
  readonly arguments: readonly Filled[];
}

/** The plan of one reply. */
export interface CallPlan {
  /** The text: the answer, why there is none, or a sentence that accompanies calls. */
  readonly text: string;
  /** The calls; empty if the text ends the conversation. */
  readonly intentions: readonly Intention[];
  /** Whether no further call may be added, as a single one was requested. */
  readonly alone: boolean;
  /** All known values: inputs, then returns in order, the last return of a variable winning. */
  readonly values: ReadonlyMap<string, Value>;
  /** All functions that the target depends on, called or not. */
  readonly needed: ReadonlySet<FunctionReading>;
  /** The functions still to call, without those needed only for values already known. */
  readonly open: readonly FunctionReading[];
  /** The variable that belongs to a parameter, if there is one. */
  readonly variableOf: Links["variableOf"];
}

/**
 * How much patience with a function each call without a value costs: a call that is refused, or whose function
 * fails, is repeated at most twice, and one that could not be parsed 19 times. A reference to a missing result
 * costs nothing, as it happens only once: see {@linkcode chain}.
 */
const COSTS: Readonly<Record<CallRefusal, number>> = {
  refused: 20,
  failed: 20,
  denied: 60,
  gone: 60,
  malformed: 3,
  dangling: 0,
};
/** A function is given up after costs of this sum. */
const PATIENCE = 60;
/** How many missing variables are named in a text. */
const MAX_LISTED = 20;

/**
 * Plans one reply, in time linear in the conversation and the functions. Every reply with calls brings values
 * or refusals, and both are bounded, so conversations end unless calls are required.
 *
 * @param meantName Returns the function meant by a name that does not exist, if known.
 */
export function planReply(
  conversation: ReadConversation,
  meantName: (name: string) => string | undefined = () => undefined,
): CallPlan {
  const { target, inputs, functions, mayCall, mustCall, repair, chosen } = conversation;
  const links = link({ ...conversation, functions: withoutGone(conversation) });
  const { variableOf } = links;
  const { values, costs } = readReturns(conversation, meantName);
  const needed = ancestors(target, links, inputs);
  const open = [...ancestors(target, links, values)];
  const plan = { intentions: [], alone: false, values, needed, open, variableOf };
  const lookUp = (name: string) => functions.get(name) ?? functions.get(meantName(name) ?? "");

  const demanded = chosen ?? (repair === undefined ? undefined : lookUp(repair.name));
  if (demanded !== undefined && mayCall) {
    const text = `I call ${demanded.name}, as I am asked to.`;
    return { ...plan, text, alone: true, intentions: [insist(demanded, plan, repair?.arguments)] };
  }

  const { replaced } = conversation;
  if (replaced !== undefined && mayCall) {
    const meant = functions.has(replaced)
      ? producerBeside(replaced, conversation)
      : lookUp(replaced);
    const intention = meant === undefined ? undefined : intend(meant, values, variableOf);
    return intention === undefined
      ? { ...plan, text: "none" }
      : { ...plan, text: `I call ${meant!.name} instead.`, alone: true, intentions: [intention] };
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
  const last = conversation.calls.findLast(({ name }) => lookUp(name) !== undefined)?.name;
  const repeated = last === undefined ? functions.values().next().value : lookUp(last);
  if (mustCall && repeated !== undefined) {
    const text = `I have to call a function, so I call ${repeated.name}.`;
    return { ...plan, text, intentions: [insist(repeated, plan)] };
  }
  if (value !== undefined) return { ...plan, text: `${target} = ${value}` };
  const reason = describeMissing(missing) || "something that it depends on cannot be had";
  return { ...plan, text: cannotDetermine(conversation, reason) };
}

/** Another function than `name` that produces the same variable, if there is one. */
function producerBeside(name: string, conversation: ReadConversation): FunctionReading | undefined {
  const [output] = conversation.functions.get(name)?.outputs ?? [];
  return withoutGone(conversation).values().find((other) =>
    output !== undefined && other.name !== name &&
    other.outputs.some((own) => own.name === output.name)
  );
}

/** The functions on offer without those that are gone for good: another one may do the same. */
function withoutGone({ functions, calls }: ReadConversation): ReadConversation["functions"] {
  const gone = new Set(calls.flatMap(({ name, refusal }) => refusal === "gone" ? [name] : []));
  if (gone.size === 0) return functions;
  return new Map([...functions].filter(([name]) => !gone.has(name)));
}

/** The text of a reply without an answer. */
export function cannotDetermine(
  { target }: Pick<ReadConversation, "target">,
  reason: string,
): string {
  const what = target === undefined ? "a variable" : `variable ${target}`;
  return `I cannot determine the value of ${what}: ${reason}.`;
}

/** The parameters of functions that have no variable. */
function missingFor(
  open: readonly FunctionReading[],
  variableOf: CallPlan["variableOf"],
): ReadonlySet<string> {
  const parameters = open.flatMap((candidate) => candidate.parameters);
  return new Set(
    parameters.filter((one) => variableOf(one) === undefined).map(({ name }) => name),
  );
}

/** Names the missing variables; not those with digits, which could be taken for an answer. */
function describeMissing(missing: ReadonlySet<string>): string {
  return [...missing].filter((name) => !/\d/.test(name)).slice(0, MAX_LISTED)
    .map((name) => `variable ${name} is not given`).join(", ");
}

/** The values returned so far, and the cost of each function that was called without success. */
function readReturns(
  { inputs, functions, calls }: ReadConversation,
  meant: (name: string) => string | undefined,
) {
  const values = new Map(inputs);
  const costs = new Map<string, number>();
  for (const { name, values: returned, refusal } of calls) {
    const named = [...returned].filter(([variable]) => variable !== "");
    for (const [variable, value] of named) values.set(variable, value);
    // A return that lacks an output is tried again only for the sake of that output.
    if (named.length === 0 || refusal !== undefined) {
      const refused = functions.has(name) ? name : meant(name);
      if (refused === undefined) continue;
      costs.set(refused, (costs.get(refused) ?? 0) + COSTS[refusal ?? "refused"]);
    }
  }
  return { values, costs };
}

/** The call of `candidate` with the known values, or `undefined` if one is missing. */
export function intend(
  candidate: FunctionReading,
  values: CallPlan["values"],
  variableOf: CallPlan["variableOf"],
): Intention | undefined {
  return fill(candidate, variableOf, (variable) => values.get(variable));
}

/** The call of `candidate` with the values of its parameters, or `undefined` if one has none. */
function fill(
  candidate: FunctionReading,
  variableOf: CallPlan["variableOf"],
  valueOf: (variable: string, parameter: Slot) => Value | undefined,
): Intention | undefined {
  const arguments_: Filled[] = [];
  for (const parameter of candidate.parameters) {
    const variable = variableOf(parameter);
    const value = variable === undefined ? undefined : valueOf(variable, parameter);
    if (variable === undefined || value === undefined) return undefined;
    arguments_.push({ parameter: parameter.name, variable, value });
  }
  return { function: candidate, arguments: arguments_ };
}

/** The longest chain of references in one reply, in calls. */
const MAX_CHAIN_LENGTH = 5;

/**
 * Appends calls that wait for nothing but results of the calls before, if their parameters accept references
 * such as `$1.x`, the result x of the reply's first call. Functions `tried` before wait for the values instead.
 */
function chain(
  intentions: readonly Intention[],
  { open, values, variableOf }: Pick<CallPlan, "open" | "values" | "variableOf">,
  tried: (candidate: FunctionReading) => boolean,
): readonly Intention[] {
  const chained = [...intentions];
  const called = new Set(intentions.map((intention) => intention.function));
  let waiting = open.filter((one) => one.references.size > 0 && !called.has(one) && !tried(one));
  const results = new Map<string, string>();
  for (let length = 2; length <= MAX_CHAIN_LENGTH && waiting.length > 0; length++) {
    for (const [place, { function: { outputs, result } }] of chained.entries()) {
      // A result with a name is available through that name only.
      if (result !== undefined) continue;
      for (const output of outputs) results.set(output.name, `$${place + 1}.${output.name}`);
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

/** A call that is required even if inputs are unknown: these get the `given` values, or any known one. */
function insist(
  candidate: FunctionReading,
  { values, variableOf }: Pick<CallPlan, "values" | "variableOf">,
  given: ReadonlyMap<string, Value> = new Map(),
): Intention {
  const any = values.values().next().value ?? 0;
  const arguments_ = candidate.parameters.map((parameter): Filled => {
    const variable = variableOf(parameter) ?? parameter.name;
    const value = values.get(variable) ?? given.get(parameter.name) ?? any;
    return { parameter: parameter.name, variable, value };
  });
  return { function: candidate, arguments: arguments_ };
}

/**
 * Returns a function that names the results of further calls, in a conversation where results have names:
 * after the variable, with a number appended if the name was mentioned before.
 */
export function nameResults({ symbols }: ReadConversation): (called: FunctionReading) => string {
  const taken = new Set<string>();
  return ({ name, outputs: [output, ...others] }) => {
    // The name of a result with several variables is that of none of them.
    const own = others.length === 0 ? output?.name : undefined;
    const first = `@${own ?? name.replaceAll(/\W/g, "_")}`;
    let free = first;
    for (let count = 2; symbols.has(free) || taken.has(free); count++) free = `${first}_${count}`;
    taken.add(free);
    return free;
  };
}

/** The arguments of a call by parameter, including the name of its result if it needs one. */
export function argumentsOf(
  intention: Intention,
  nameResult: (called: FunctionReading) => string,
  valueOf: (argument: Filled) => Value = ({ value }) => value,
): Map<string, Value> {
  const { function: called } = intention;
  const values = new Map(
    intention.arguments.map((argument) => [argument.parameter, valueOf(argument)]),
  );
  if (called.result !== undefined) values.set(called.result, nameResult(called));
  return values;
}
