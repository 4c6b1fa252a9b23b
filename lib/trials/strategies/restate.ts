/**
 * The strategy that restates all known variables in each result (FuncBenchGen, section 4.6.1).
 * @module
 */

import { isJsonObject, jsonText, type JsonValue, parseJson, withField } from "../../base/json.ts";
import type { Strategy } from "./_stages.ts";

/** The key that holds the known variables in each result. */
const KNOWN = "known_variables";

/**
 * Adds all variables known so far to each function result, including errors and wrong values: those given in
 * the prompt and those returned by the end of the step; the last return wins. The results of one reply's
 * calls therefore list the same.
 */
export const restate: Strategy = (options, next) =>
  next({
    ...options,
    write: (answered, known) => {
      const { write } = options;
      const texts = write?.(answered, known) ?? answered.map(({ content }) => content);
      return texts.map((text) => withKnownVariables(text, known));
    },
  });

/** Adds all known variables to a result. */
export function withKnownVariables(content: string, known: ReadonlyMap<string, JsonValue>): string {
  const variables = Object.fromEntries(known);
  const returned = parseJson(content);
  // A result that is no object, or has the key already, gets an extra line.
  return isJsonObject(returned) && !Object.hasOwn(returned, KNOWN)
    ? withField(content, returned, [KNOWN, variables])
    : `${content}\n${jsonText({ [KNOWN]: variables })}`;
}
