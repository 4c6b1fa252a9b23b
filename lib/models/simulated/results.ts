/**
 * What can be read from the text that came back for a call.
 * @module
 */

import { isJsonObject, parseJson } from "../../json.ts";
import type { Value } from "./wire.ts";

/** The value that a result gives for `variable`; `undefined` if it refuses. */
export function readValue(text: string, variable: string): Value | undefined {
  const symbol = readSymbol(text);
  if (symbol !== undefined) return symbol;
  const parsed = parseJson(text);
  // Its own return stands before anything restated.
  if (isJsonObject(parsed)) {
    if (Object.hasOwn(parsed, "error")) return undefined;
    const value = Object.hasOwn(parsed, variable) ? parsed[variable] : undefined;
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  }
  for (const [name, value] of statements(text)) {
    if (name === variable) return value;
  }
  return undefined;
}

/** The variables whose values a result gives besides that of `variable`, which it answers. */
export function readRestated(
  text: string,
  variable: string | undefined,
): ReadonlyMap<string, Value> {
  const said = [...statements(text)];
  if (readSymbol(text) !== undefined) return new Map(said);
  // The first statement of what it answers is the answer; a further one restates it.
  const answer = said.findIndex(([name]) => name === variable);
  return new Map(said.filter((_, place) => place !== answer));
}

/** The symbol that a result consists of, on its first line. */
function readSymbol(text: string): string | undefined {
  const end = text.indexOf("\n");
  return /^"?(@\w+)"?$/.exec((end === -1 ? text : text.slice(0, end)).trim())?.[1];
}

/** Statements like `aargww = 123`, `"aargww": 123` and `"aargww": "@aargww"`, in order. */
function* statements(text: string): Generator<[string, Value]> {
  const statement = /\b([A-Za-z_]\w*)"?[ \t]*[=:][ \t]*(?:(-?\d{1,15})(?!\w|\.\d)|"?(@\w+))/g;
  for (const [, name, number, symbol] of text.matchAll(statement)) {
    yield [name!, symbol ?? Number(number)];
  }
}
