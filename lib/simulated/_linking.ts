/**
 * Linking: which function a simulated model believes to produce which variable, from what it has read, and which
 * functions a variable depends on.
 * @module
 */

import type { FunctionReading, Slot } from "./_functions.ts";
import type { Value } from "./_wire.ts";

/** The given values and the functions of a question. */
export interface KnownValues {
  /** The values of given variables. */
  readonly inputs: ReadonlyMap<string, Value>;
  /** The functions, by name. */
  readonly functions: ReadonlyMap<string, FunctionReading>;
  /** Whether names are read for the words of types, as the question says that they have them. */
  readonly namesTell: boolean;
}

/** How functions depend on each other. */
export interface Links {
  /** The function that produces a variable, by the variable's name. */
  readonly producers: ReadonlyMap<string, FunctionReading>;
  /** The variable that belongs to a parameter, if there is one. */
  readonly variableOf: (parameter: Slot) => string | undefined;
}

/**
 * Links functions: inputs to parameters by name, outputs by type and subtype, or by name if the descriptions
 * give no types (FuncBenchGen, appendix B.2). Names that tell types come before descriptions.
 */
export function link({ inputs, functions, namesTell }: KnownValues): Links {
  const producers = new Map<string, FunctionReading>();
  const byType = new Map<string, string>();
  const byWords = new Map<string, string>();
  for (const candidate of functions.values()) {
    for (const { name, type } of candidate.outputs) {
      if (producers.has(name)) continue;
      producers.set(name, candidate);
      if (type !== undefined && !byType.has(type)) byType.set(type, name);
      const words = typeWordsOf(name);
      if (words !== undefined && !byWords.has(words)) byWords.set(words, name);
    }
  }
  const variableOf = ({ name, type }: Slot) => {
    if (inputs.has(name)) return name;
    const told = namesTell ? byWords.get(typeWordsOf(name) ?? "") : undefined;
    if (told !== undefined) return told;
    if (type !== undefined) return byType.get(type);
    return producers.has(name) ? name : undefined;
  };
  return { producers, variableOf };
}

/** The second and third words of a name such as `bujxe_uxe_muw` or `bujxeUxeMuwId`; `undefined` if it has fewer. */
function typeWordsOf(name: string): string | undefined {
  const words = name.replaceAll(/([a-z])(?=[A-Z])/g, "$1_").toLowerCase().split("_");
  return words.length < 3 ? undefined : words.slice(1, 3).join(" ");
}

/**
 * The functions that `target` depends on, ignoring dependencies of variables that are `known`. Their order
 * depends on the dependencies alone, not on the order of the tools.
 */
export function ancestors(
  target: string | undefined,
  { producers, variableOf }: Links,
  known: ReadonlyMap<string, unknown>,
): ReadonlySet<FunctionReading> {
  const found = new Set<FunctionReading>();
  const pending = target === undefined ? [] : [target];
  for (let variable = pending.pop(); variable !== undefined; variable = pending.pop()) {
    const producer = known.has(variable) ? undefined : producers.get(variable);
    if (producer === undefined || found.has(producer)) continue;
    found.add(producer);
    for (const parameter of producer.parameters) {
      const needed = variableOf(parameter);
      if (needed !== undefined) pending.push(needed);
    }
  }
  return found;
}

/** The producers of the inputs of `consumer`, each once, except those of variables that are `known`. */
export function producersFor(
  consumer: FunctionReading,
  { producers, variableOf }: Links,
  known: ReadonlyMap<string, unknown>,
): ReadonlySet<FunctionReading> {
  return new Set(consumer.parameters.flatMap((parameter) => {
    const variable = variableOf(parameter);
    if (variable === undefined || known.has(variable)) return [];
    return producers.get(variable) ?? [];
  }));
}

/**
 * The functions that `target` depends on, in an order in which they can be called: those furthest from the
 * target first.
 */
export function inOrder(
  target: string | undefined,
  links: Links,
  known: ReadonlyMap<string, unknown>,
): readonly FunctionReading[] {
  const needed = ancestors(target, links, known);
  const waiting = new Map(Array.from(needed, (one) => [one, 0]));
  const parents = new Map(Array.from(needed, (one) => [one, producersFor(one, links, known)]));
  for (const above of parents.values()) {
    for (const parent of above) waiting.set(parent, (waiting.get(parent) ?? 0) + 1);
  }
  // From the target up: a function is ready when all its consumers are done. Functions in a cycle never are;
  // they go first, in the order found.
  const distances = new Map<FunctionReading, number>();
  const ready = [...needed].filter((one) => waiting.get(one) === 0);
  for (const one of ready) {
    const distance = distances.get(one) ?? 0;
    distances.set(one, distance);
    for (const parent of parents.get(one) ?? []) {
      distances.set(parent, Math.max(distances.get(parent) ?? 0, distance + 1));
      const left = waiting.get(parent)! - 1;
      waiting.set(parent, left);
      if (left === 0) ready.push(parent);
    }
  }
  const rank = (one: FunctionReading) => waiting.get(one) === 0 ? distances.get(one)! : Infinity;
  return [...needed].sort((left, right) => {
    const [one, other] = [rank(left), rank(right)];
    return one === other ? 0 : other - one;
  });
}
