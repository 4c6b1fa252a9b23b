/**
 * Calls in JSON: what models write for the name and the arguments of a call.
 *
 * | written | becomes |
 * | --- | --- |
 * | `function`, `tool`, `tool_name`, `action` | the key `name` |
 * | `parameters`, `args`, `input`, `action_input`, `tool_input` | the key `arguments` |
 * | `{"type": "function", "function": {…}}` | the call within |
 * | a list of calls | these calls |
 * | no arguments, `null`, an empty text | `{}` |
 * | a text that holds the JSON of the arguments | these arguments |
 * | `name(…)`, `name[…]`, `name {…}`, with JSON for arguments | the call |
 * | no name, arguments beside the name, arguments that are no object | unreadable |
 *
 * @module
 */

import type { WrittenCall } from "./format.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import { jsonParts, stickyEnd } from "../../base/json_slices.ts";
import { readTolerantJson, type TolerantJson } from "../../base/json_repair.ts";

/** A call that was read, or could not be. */
export interface ReadCall extends WrittenCall {
  /** Whether its name and arguments could be read; if not, the arguments are what was written. */
  readonly isReadable: boolean;
  /** What had to be repaired in it, in words that go on from "call 1 had". */
  readonly repairs: readonly string[];
}

/** Arguments that were read, or could not be. */
export type ReadArguments = Omit<ReadCall, "name">;

const NAME_KEYS = ["name", "function", "tool", "tool_name", "action"];
const ARGUMENT_KEYS = ["arguments", "parameters", "args", "input", "action_input", "tool_input"];
/** Keys that may stand beside a name without being arguments. */
const OTHER_KEYS = ["id", "type", "call_id"];

/** The calls that JSON stands for: those of a list, or one. */
export function callsOf({ json, value, repairs }: TolerantJson): ReadCall[] {
  if (!Array.isArray(value)) return [repaired(callOf(json), repairs)];
  return jsonParts(json).map((part) =>
    repaired(callOf(part.json), [...repairs, "a list around it"])
  );
}

/** The call, in which more had to be repaired. */
function repaired(call: ReadCall, repairs: readonly string[]): ReadCall {
  return { ...call, repairs: [...repairs, ...call.repairs] };
}

/** The call that the JSON of an object stands for. */
function callOf(json: string, wrapped = false): ReadCall {
  const parts = json.startsWith("{") ? jsonParts(json) : [];
  const fields = new Map(parts.map((part) => [part.key!, part.json]));
  const inner = fields.get("function");
  if (!wrapped && inner?.startsWith("{")) {
    return repaired(callOf(inner, true), ["an object around it"]);
  }
  const nameKey = NAME_KEYS.find((key) => fields.get(key)?.startsWith('"'));
  const name = nameKey === undefined ? "" : String(parseJson(fields.get(nameKey)!)).trim();
  const argumentKey = ARGUMENT_KEYS.find((key) => fields.has(key));
  const beside = [...fields.keys()].some((key) => key !== nameKey && !OTHER_KEYS.includes(key));
  if (nameKey === undefined || name === "" || (argumentKey === undefined && beside)) {
    return { name, arguments: json, isReadable: false, repairs: [] };
  }
  const given = fields.get(argumentKey ?? "");
  const read = given === undefined ? NONE : argumentsOf(given);
  const odd = [nameKey, argumentKey].filter((key) =>
    key !== NAME_KEYS[0] && key !== ARGUMENT_KEYS[0]
  );
  const repairs = odd.flatMap((key) => key === undefined ? [] : [`the key ${key}`]);
  return repaired({ ...read, name }, repairs);
}

/** What stands for arguments where there are none. */
export const NONE: ReadArguments = {
  arguments: "{}",
  isReadable: true,
  repairs: ["no arguments"],
};

/** The arguments that JSON stands for. */
export function argumentsOf(json: string): ReadArguments {
  const value = parseJson(json);
  if (isJsonObject(value)) return { arguments: json, isReadable: true, repairs: [] };
  if (value === null || (typeof value === "string" && value.trim() === "")) return NONE;
  const inner = typeof value === "string" ? wholeObject(value) : undefined;
  if (inner === undefined) return { arguments: json, isReadable: false, repairs: [] };
  const repairs = ["its arguments written as a text", ...inner.repairs];
  return { arguments: inner.json, isReadable: true, repairs };
}

/** The object that is all of a text. */
function wholeObject(text: string): TolerantJson | undefined {
  const read = readTolerantJson(text, 0);
  return isJsonObject(read?.value) && text.slice(read.end).trim() === "" ? read : undefined;
}

/** Whether JSON of an object or a list begins here, behind spaces and a code fence. */
export function beginsJson(text: string, at: number): boolean {
  return stickyEnd(JSON_BEGIN, text, at) !== undefined;
}

const JSON_BEGIN = /\s*(?:(?:```|~~~|``|`)\w{0,20}\s*)?[{[]/y;

/** The calls of a text that holds nothing else, all of them of functions on offer; else none. */
export function bareCalls(text: string, names: readonly string[]): ReadCall[] {
  const calls: ReadCall[] = [];
  const offered = new Set(names);
  let at = 0;
  while (beginsJson(text, at)) {
    const read = readTolerantJson(text, at);
    if (read === undefined) return [];
    const found = callsOf(read);
    if (!found.every(({ name, isReadable }) => isReadable && offered.has(name))) return [];
    for (const call of found) calls.push(repaired(call, ["nothing around it"]));
    at = skipped(text, read.end, BETWEEN);
    for (let end = skipped(text, at, TAG); end > at; end = skipped(text, at, TAG)) {
      at = skipped(text, end, BETWEEN);
    }
  }
  return at === text.length ? calls : [];
}

const BETWEEN = /[\s,;]*/y;
/** Servers drop the one that opens a call, where it is a token of its own. */
const TAG = /<\/?(?:tool_call|tool_use|function_call)>/iy;
const BEHIND = /[\s\]})]*/y;

/** Where the signs of a pattern end; here, where there are none. */
function skipped(text: string, at: number, pattern: RegExp): number {
  return stickyEnd(pattern, text, at) ?? at;
}

/** Where the text goes on behind closing brackets that nothing has opened; and whether there are any. */
export function behindBrackets(text: string, at: number): { end: number; any: boolean } {
  const end = skipped(text, at, BEHIND);
  return { end, any: text.slice(at, end).trim() !== "" };
}

/**
 * The call that a text stands for which begins with a name: of a function on offer, or one behind which there
 * is a round bracket. What is in brackets is never evaluated.
 */
export function namedCall(text: string, names: readonly string[]): ReadCall | undefined {
  const { name, end } = plainName(text);
  const rest = text.slice(end).trim();
  if (!names.includes(name) && (!rest.startsWith("(") || name === "")) return undefined;
  const inner = /^[([]/.test(rest) ? rest.slice(1) : rest;
  if (/^[\s)\]`*]*$/.test(inner)) return { ...NONE, name };
  const read = beginsJson(inner, 0) ? readTolerantJson(inner, 0) : undefined;
  if (!isJsonObject(read?.value)) {
    return { name, arguments: rest, isReadable: false, repairs: [] };
  }
  const repairs = ["its arguments beside its name", ...read.repairs];
  return { name, arguments: read.json, isReadable: true, repairs };
}

/** The name with which a text begins, without what models put around it, and where the text goes on. */
function plainName(text: string): { name: string; end: number } {
  const found = NAME.exec(text);
  return { name: found?.[1] ?? "", end: found?.[0].length ?? 0 };
}

const NAME = /^[\s`'"*[<]{0,9}([\p{L}\p{N}_$.:/@-]{0,299}[\p{L}\p{N}_$])[`'"*\]>]{0,9}/u;

/** The name that a text stands for, without what models put around it, and what had to be repaired. */
export function nameOf(
  text: string,
  names: readonly string[],
): { name: string; repairs: readonly string[] } {
  const whole = text.trim();
  if (names.includes(whole)) return { name: whole, repairs: [] };
  const { name } = plainName(whole);
  if (names.includes(name)) return { name, repairs: ["signs around its name"] };
  const bare = whole.replace(/^[`'"*[<]{1,9}/, "");
  const cut = bare.slice(0, -9) + bare.slice(-9).replace(/[`'"*\]>]{1,9}$/, "");
  return { name: cut, repairs: cut === whole ? [] : ["signs around its name"] };
}

/** Arguments that no environment takes for an object, so that it refuses the call as malformed. */
export function unreadable(written: string): string {
  // Parsing what is no JSON takes long, as it throws.
  const isObject = /^\s*\{/.test(written) && isJsonObject(parseJson(written));
  return isObject ? JSON.stringify(written) : written;
}

/** The call that stands in a text which cannot be read: its name, where that can be found, and the rest. */
export function unreadableCall(text: string): ReadCall {
  const beginning = text.slice(0, REACH);
  const name = NAME_WITHIN.exec(beginning)?.[1] ?? "";
  const found = name === "" ? null : ARGUMENTS_WITHIN.exec(beginning);
  const written = found === null
    ? text.trim()
    : text.slice(found.index + found[0].length).trim().replace(/\}$/, "").trim();
  return { name, arguments: written, isReadable: false, repairs: [] };
}

const NAME_WITHIN = /name["'“”]?\s{0,9}:\s{0,9}["'“”]([^"'“”\n]{1,300})["'“”]/;
const ARGUMENTS_WITHIN = /["'“”]?(?:arguments|parameters)["'“”]?\s{0,9}:/;
/** Name and arguments begin at the beginning, so that no more is searched for them. */
const REACH = 10_000;
