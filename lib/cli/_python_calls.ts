/**
 * Calls that are written in Python, such as `[f(a=1, b='x')]`, as BFCL asks models for that have no tools.
 * @module
 */

import { type JsonValue, writtenJson } from "../base/json.ts";
import { readTolerantJson } from "../base/json_repair.ts";

/** A name and what follows it, a name as a value, a bracket, or a text, a number or a sign that JSON has as well. */
const TOKEN =
  /\s*(?:([\p{L}_][\p{L}\d_.]*)\s*([(=]?)|([[\](){}])|("(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|[-+\d.eE]+|[,:]))\s*/uy;

/**
 * Returns the calls of a text, with or without brackets around them, as a list of `{name: arguments}` with numbers as
 * they were written; `undefined` if it is anything else. Nothing is evaluated: arguments have names, and are literals,
 * lists, tuples, dictionaries, calls, or single names, which are texts.
 */
export function readPythonCalls(text: string): JsonValue | undefined {
  const plain = text.replaceAll(/^[`'\s]+|[`'\s]+$/g, "");
  const open: string[] = [];
  let json = "";
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < plain.length;) {
    const [token, name, behind, bracket, other] = TOKEN.exec(plain) ?? [];
    if (token === undefined) return undefined;
    if (bracket !== undefined && "])}".includes(bracket)) json += open.pop() ?? bracket;
    else if (bracket !== undefined || behind === "(") {
      json += bracket === "{" ? "{" : name === undefined ? "[" : `{${JSON.stringify(name)}:{`;
      open.push(bracket === "{" ? "}" : name === undefined ? "]" : "}}");
    } else if (name !== undefined) {
      json += /^(True|False|None)$/.test(name) ? name : JSON.stringify(name);
      if (behind === "=") json += ":";
    } else json += other;
  }
  const whole = json.startsWith("[") ? json : `[${json}]`;
  const read = open.length === 0 ? readTolerantJson(whole, 0) : undefined;
  return read?.end === whole.length ? writtenJson(read.json) : undefined;
}
