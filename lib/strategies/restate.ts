/**
 * The strategy that reminds a model of all it knows (FuncBenchGen, section 4.6.1).
 * @module
 */

import { isJsonObject, type JsonValue, parseJson } from "../json.ts";
import type { Strategy } from "../strategy.ts";

/** Under this key each result lists the variables known so far. */
const KNOWN = "known_variables";

/**
 * Every function result, the error of a refused call included, also lists all variables known so far
 * with their values, wrong ones included: what the prompt gave and what was returned by the end of
 * the step, the last return winning. The results of one reply's calls therefore list the same.
 */
export const restate: Strategy = (options, loop) => loop({ ...options, write: restated });

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
  const list = { [KNOWN]: Object.fromEntries(known) };
  const returned = parseJson(content);
  // A text that is no object cannot take a key, but a line behind it.
  return isJsonObject(returned)
    ? JSON.stringify({ ...returned, ...list })
    : `${content}\n${JSON.stringify(list)}`;
}
