/**
 * Calls that are written in Python, such as `[f(a=1, b='x')]`, as BFCL asks models for that have no tools.
 * @module
 */

import { type JsonObject, type JsonValue, writtenJson } from "../base/json.ts";
import { readTolerantJson } from "../base/json_repair.ts";

/** A name and what follows it, a name as a value, a bracket, or a text, a number or a sign that JSON has as well. */
const TOKEN =
  /\s*(?:([\p{L}_][\p{L}\d_.]*)\s*([(=]?)|([[\](){}])|("(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|[-+\d.eE]+|[,:]))\s*/uy;

/**
 * Returns the calls of a text, with or without brackets around them, as a list of `{name: arguments}` with numbers as
 * they were written; `undefined` if it is anything else. Nothing is evaluated: arguments are literals, lists, tuples,
 * dictionaries, calls, or single names, which are texts. As in BFCL, those of a call without a name are left out.
 */
export function readPythonCalls(text: string): JsonValue | undefined {
  const plain = text.replaceAll(/^[`\s]+|[`\s]+$/g, "").replace(/^(?!\[)/, "[")
    .replace(/(?<!\])$/, "]");
  const open: string[] = [];
  let json = "";
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < plain.length;) {
    const [token, name, behind, bracket, other] = TOKEN.exec(plain) ?? [];
    if (token === undefined || name?.includes(".") && behind !== "(") return undefined;
    // Python joins texts that stand side by side, and has texts in three quotes.
    if (/^["']/.test(other ?? "") && /["']$/.test(json)) return undefined;
    const isArgument = open.at(-1) === "}}" && /[{,]$/.test(json) && bracket !== ")";
    // No argument has such a name.
    if (isArgument && behind !== "=") json += `" ${TOKEN.lastIndex}":`;
    if (bracket !== undefined && "])}".includes(bracket)) json += open.pop() ?? bracket;
    else if (bracket !== undefined || behind === "(") {
      json += bracket === "{" ? "{" : name === undefined ? "[" : `{${JSON.stringify(name)}:{`;
      open.push(bracket === "{" ? "}" : name === undefined ? "]" : "}}");
    } else if (name !== undefined) {
      json += /^(True|False|None)$/.test(name) ? name : JSON.stringify(name);
      if (behind === "=") json += ":";
    } else json += other;
  }
  const read = open.length === 0 ? readTolerantJson(json, 0) : undefined;
  const calls = read?.end === json.length ? writtenJson(read.json) : undefined;
  for (const given of [calls ?? []].flat().flatMap((call) => Object.values(Object(call)))) {
    for (const key of Object.keys(Object(given))) {
      if (key.startsWith(" ")) delete (given as JsonObject)[key];
    }
  }
  return calls;
}
