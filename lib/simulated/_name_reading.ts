/**
 * Reading by names: what functions seem to produce and take to a model that leans on names alone.
 * @module
 */

import type { FunctionReading, Slot } from "./_functions.ts";

/**
 * Returns the functions as their names suggest them. A function produces the variable whose name its own ends
 * with, such as `find_room_price`, also where its description says otherwise; only where its name suggests none,
 * it produces what the description says. A parameter takes the variable whose name its own ends with, such as
 * `given_room_price`. Types and subtypes count for nothing.
 */
export function leanOnNames(
  functions: ReadonlyMap<string, FunctionReading>,
): ReadonlyMap<string, FunctionReading> {
  const variables = new Map<string, string>();
  for (const { outputs } of functions.values()) {
    for (const { name } of outputs) variables.set(wordsOf(name).join(" "), name);
  }
  /** The variable with the longest name that `name` ends with. */
  const suggestedBy = (name: string) => {
    const words = wordsOf(name);
    const endings = words.map((_, from) => words.slice(from).join(" "));
    return variables.get(endings.find((ending) => variables.has(ending)) ?? "");
  };
  const named = (variable: string): Slot => ({ name: variable, type: variable });
  return new Map(Array.from(functions, ([key, one]) => {
    const { name, outputs, parameters } = one;
    const suggested = suggestedBy(name);
    const isOwn = suggested === undefined || outputs.some((output) => output.name === suggested);
    return [key, {
      ...one,
      outputs: isOwn ? outputs.map((output) => named(output.name)) : [named(suggested)],
      parameters: parameters.map((parameter) => ({
        name: parameter.name,
        type: suggestedBy(parameter.name),
      })),
    }];
  }));
}

/** Words of a name that are read, from its end: no more of them are compared. */
const MAX_WORDS = 12;

/** The last words of a name, whether it is written as `room_price` or `roomPrice`. */
function wordsOf(name: string): string[] {
  return name.replaceAll(/([a-z\d])(?=[A-Z])/g, "$1_").toLowerCase().split("_").slice(-MAX_WORDS);
}
