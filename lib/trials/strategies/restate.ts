/**
 * The strategy that reminds a model of all it knows (FuncBenchGen, section 4.6.1).
 * @module
 */

import { isJsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import type { Strategy } from "./stage.ts";

/** Under this key each result lists the variables known so far. */
const KNOWN = "known_variables";

/**
 * Every function result, the error of a refused call included, also lists all variables known so far
 * with their values, wrong ones included: what the prompt gave and what was returned by the end of
 * the step, the last return winning. The results of one reply's calls therefore list the same.
 */
export const restate: Strategy = (options, next) =>
  next({
    ...options,
    write: (answered, known) => {
      const { write } = options;
      const texts = write?.(answered, known) ?? answered.map(({ content }) => content);
      return texts.map((text) => restated(text, known));
    },
  });

/**
 * What a function returned, and all variables that are known.
 *
 * @example Usage
 * ```ts
 * import { restated } from "./restate.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const known = new Map([["mfmjsy", 731], ["aargww", 123]]);
 * assertEquals(
 *   restated('{"aargww":123}', known),
 *   '{"aargww":123,"known_variables":{"mfmjsy":731,"aargww":123}}',
 * );
 * ```
 */
export function restated(content: string, known: ReadonlyMap<string, JsonValue>): string {
  const list = JSON.stringify({ [KNOWN]: Object.fromEntries(known) });
  const returned = parseJson(content);
  // A text that is no object cannot take a key, nor one that has it, but a line behind it.
  if (!isJsonObject(returned) || Object.hasOwn(returned, KNOWN)) return `${content}\n${list}`;
  // The text itself stays as it is: written anew, long numbers would lose digits.
  const open = content.trimEnd().slice(0, -1).trimEnd();
  return `${open}${Object.keys(returned).length === 0 ? "" : ","}${list.slice(1)}`;
}
