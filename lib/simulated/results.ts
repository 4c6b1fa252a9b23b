/**
 * What can be read from the text that came back for a call.
 * @module
 */

import { isJsonObject, parseJson } from "../base/json.ts";
import type { Value } from "./wire.ts";

/**
 * The value that a result gives for `variable`; `undefined` if it refuses. A name that differs only in
 * letter case and underscores is taken for the variable's, where its own does not stand, and a text that
 * is broken JSON is read by its statements. Nothing else is guessed: a value under another name says
 * nothing, and a text such as `"ID_512"` is no whole number.
 */
export function readValue(text: string, variable: string): Value | undefined {
  const symbol = readSymbol(text);
  if (symbol !== undefined) return symbol;
  const parsed = parseJson(text);
  let isOwn = likeness(variable);
  // Its own return stands before anything restated.
  if (isJsonObject(parsed)) {
    if (Object.hasOwn(parsed, "error")) return undefined;
    if (Object.hasOwn(parsed, variable)) isOwn = (name) => name === variable;
    const key = Object.keys(parsed).find(isOwn);
    const value = key === undefined ? undefined : parsed[key];
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  }
  const said = [...statements(text)];
  const own = said.find(([name]) => name === variable) ?? said.find(([name]) => isOwn(name));
  return own?.[1];
}

/** Why a result gives no value: the tool may not be used, it failed, or the call was refused. */
export type Refusal = "denied" | "failed" | "refused";

/** What tools say when they fail (Pipeline, "Error Handling and Retry Logic"). */
const DENIED = /permission denied/i;
const FAILED =
  /tim(?:ed|e) ?out|rate limit|too many requests|not found|\binvalid\b|temporarily unavailable|try again/i;

/** A page, such as servers on the way give in place of a result. */
const PAGE = /^\s*<(?:!doctype|html)\b/i;

/**
 * Why a result gives no value for `variable`. Where it is no JSON object, the tool failed; but where no
 * variable is known that it should give, any text may be a result, other than a page.
 */
export function readRefusal(text: string, variable: string | undefined): Refusal {
  const parsed = parseJson(text);
  if (!isJsonObject(parsed)) {
    return variable === undefined && !PAGE.test(text) ? "refused" : "failed";
  }
  if (!Object.hasOwn(parsed, "error")) return "refused";
  const said = JSON.stringify(parsed["error"]);
  if (DENIED.test(said)) return "denied";
  return FAILED.test(said) ? "failed" : "refused";
}

/** Whether a name differs from that of `variable` in nothing but letter case and underscores. */
function likeness(variable: string): (name: string) => boolean {
  const letters = (name: string) => name.replaceAll("_", "").toLowerCase();
  const own = letters(variable);
  return (name) => letters(name) === own;
}

/** The variables whose values a result gives besides that of `variable`, which it answers. */
export function readRestated(
  text: string,
  variable: string | undefined,
): ReadonlyMap<string, Value> {
  const said = [...statements(text)];
  if (readSymbol(text) !== undefined) return new Map(said);
  // The first statement of what it answers is the answer; a further one restates it.
  const isLike = variable === undefined ? () => false : likeness(variable);
  const answer = said.findIndex(([name]) => isLike(name));
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
