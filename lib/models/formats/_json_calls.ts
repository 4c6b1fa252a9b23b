/**
 * JSON calls: reads the variants in which models write the name and the arguments of a call.
 *
 * | written | becomes |
 * | --- | --- |
 * | `function`, `function_name`, `tool`, `tool_name`, `action` | the key `name` |
 * | `parameters`, `params`, `args`, `input`, `action_input`, `tool_input` | the key `arguments` |
 * | `{"type": "function", "function": {…}}` | the call within |
 * | a list of calls | these calls |
 * | no arguments, `null`, an empty text | `{}` |
 * | a string with the JSON of the arguments | these arguments |
 * | `name(…)`, `name[…]`, `name {…}`, with JSON for arguments | the call |
 * | no name, arguments next to the name, arguments that are not an object | unreadable |
 *
 * @module
 */

import { isJsonObject, parseJson } from "../../base/json.ts";
import { jsonParts, stickyEnd } from "../../base/json_slices.ts";
import { readTolerantJson, type TolerantJson } from "../../base/json_repair.ts";
import type { ToolCall } from "../../tools/tool.ts";

/** A call in the text of a reply, readable or not. */
export interface ReadCall extends Omit<ToolCall, "id"> {
  /** Whether its name and arguments could be read; if not, the arguments are the text as written. */
  readonly isReadable: boolean;
  /** Descriptions of its repairs, which continue "call 1 had ...". */
  readonly repairs: readonly string[];
}

/** Arguments in a reply, readable or not. */
export type ArgumentsRead = Omit<ReadCall, "name">;

const NAME_KEYS = ["name", "function", "function_name", "tool", "tool_name", "action"];
const ARGUMENT_KEYS = "arguments parameters params args input action_input tool_input".split(" ");
/** Keys next to a name that are not arguments. */
const OTHER_KEYS = ["id", "type", "call_id"];

/** Reads the calls in JSON: those of a list, or one. */
export function callsFromJson({ json, value, repairs }: TolerantJson): ReadCall[] {
  if (!Array.isArray(value)) return [withRepairs(callFromJson(json), repairs)];
  return jsonParts(json).map((part) =>
    withRepairs(callFromJson(part.json), [...repairs, "a list around it"])
  );
}

/** Returns the call with further repairs. */
function withRepairs(call: ReadCall, repairs: readonly string[]): ReadCall {
  return { ...call, repairs: [...repairs, ...call.repairs] };
}

/** Reads the call in the JSON of an object. */
function callFromJson(json: string, wrapped = false): ReadCall {
  const parts = json.startsWith("{") ? jsonParts(json) : [];
  const fields = new Map(parts.map((part) => [part.key!, part.json]));
  const inner = fields.get("function");
  if (!wrapped && inner?.startsWith("{")) {
    return withRepairs(callFromJson(inner, true), ["an object around it"]);
  }
  const nameKey = NAME_KEYS.find((key) => fields.get(key)?.startsWith('"'));
  const name = nameKey === undefined ? "" : String(parseJson(fields.get(nameKey)!)).trim();
  const argumentKey = ARGUMENT_KEYS.find((key) => fields.has(key));
  const beside = [...fields.keys()].some((key) => key !== nameKey && !OTHER_KEYS.includes(key));
  if (nameKey === undefined || name === "" || (argumentKey === undefined && beside)) {
    return { name, arguments: json, isReadable: false, repairs: [] };
  }
  const given = fields.get(argumentKey ?? "");
  const read = given === undefined ? NO_ARGUMENTS : argumentsFromJson(given);
  const odd = [nameKey, argumentKey].filter((key) =>
    key !== NAME_KEYS[0] && key !== ARGUMENT_KEYS[0]
  );
  const repairs = odd.flatMap((key) => key === undefined ? [] : [`the key ${key}`]);
  return withRepairs({ ...read, name }, repairs);
}

/** The reading of missing arguments. */
export const NO_ARGUMENTS: ArgumentsRead = {
  arguments: "{}",
  isReadable: true,
  repairs: ["no arguments"],
};

/** Reads arguments from JSON. */
export function argumentsFromJson(json: string): ArgumentsRead {
  const value = parseJson(json);
  if (isJsonObject(value)) return { arguments: json, isReadable: true, repairs: [] };
  if (value === null || (typeof value === "string" && value.trim() === "")) return NO_ARGUMENTS;
  const inner = typeof value === "string" ? wholeObject(value) : undefined;
  if (inner === undefined) return { arguments: json, isReadable: false, repairs: [] };
  const repairs = ["its arguments written as a text", ...inner.repairs];
  return { arguments: inner.json, isReadable: true, repairs };
}

/** Reads a text that is one JSON object and nothing else. */
function wholeObject(text: string): TolerantJson | undefined {
  const read = readTolerantJson(text, 0);
  return isJsonObject(read?.value) && text.slice(read.end).trim() === "" ? read : undefined;
}

/** Returns whether JSON of an object or a list begins here, after spaces and a code fence. */
export function beginsJson(text: string, at: number): boolean {
  return stickyEnd(JSON_BEGIN, text, at) !== undefined;
}

const JSON_BEGIN = /\s*(?:(?:```|~~~|``|`)\w{0,20}\s*)?[{[]/y;

/** Reads the calls of a text that contains only calls of available functions; otherwise returns none. */
export function bareCalls(text: string, names: Iterable<string>): ReadCall[] {
  const calls: ReadCall[] = [];
  const offered = names instanceof Set ? names : new Set(names);
  let at = 0;
  while (beginsJson(text, at)) {
    const read = readTolerantJson(text, at);
    if (read === undefined) return [];
    const found = callsFromJson(read);
    if (!found.every(({ name, isReadable }) => isReadable && offered.has(name))) return [];
    for (const call of found) calls.push(withRepairs(call, ["nothing around it"]));
    at = skip(text, read.end, BETWEEN);
    for (let end = skip(text, at, TAG); end > at; end = skip(text, at, TAG)) {
      at = skip(text, end, BETWEEN);
    }
  }
  return at === text.length ? calls : [];
}

const BETWEEN = /[\s,;]*/y;
/** Servers drop the opening tag of a call if it is a single token. */
const TAG = /<\/?(?:tool_call|tool_use|function_call)>/iy;
const BEHIND = /[\s\]})]*/y;

/** Returns the index after a match of a pattern at `at`; `at` if there is none. */
function skip(text: string, at: number, pattern: RegExp): number {
  return stickyEnd(pattern, text, at) ?? at;
}

/** Skips closing brackets that nothing has opened; returns the index after them, and whether there are `any`. */
export function skipClosingBrackets(text: string, at: number): { end: number; any: boolean } {
  const end = skip(text, at, BEHIND);
  return { end, any: text.slice(at, end).trim() !== "" };
}

/**
 * Reads the call in a text that begins with a name: that of an available function, or one followed by a round
 * bracket; and the index after it. The text in brackets is never evaluated.
 */
export function namedCall(
  text: string,
  names: readonly string[],
): ReadCall & { readonly end: number } | undefined {
  const { name, end } = plainName(text);
  const rest = text.slice(end).trim();
  if (!names.includes(name) && (!rest.startsWith("(") || name === "")) return undefined;
  const inner = /^[([]/.test(rest) ? rest.slice(1) : rest;
  const call = { name, arguments: rest, isReadable: false, repairs: [], end: text.length };
  if (/^[\s)\]`*]*$/.test(inner)) return { ...call, ...NO_ARGUMENTS };
  const read = beginsJson(inner, 0) ? readTolerantJson(inner, 0) : undefined;
  if (!isJsonObject(read?.value)) return /^[([{]/.test(rest) ? call : { ...call, end };
  const repairs = ["its arguments beside its name", ...read.repairs];
  const behind = skipClosingBrackets(text, text.trimEnd().length - inner.length + read.end).end;
  return { ...call, arguments: read.json, isReadable: true, repairs, end: behind };
}

/** Returns the name with which a text begins, without the signs around it, and the index after it. */
function plainName(text: string): { name: string; end: number } {
  const found = NAME.exec(text);
  return { name: found?.[1] ?? "", end: found?.[0].length ?? 0 };
}

const NAME = /^[\s`'"*[<]{0,9}([\p{L}\p{N}_$.:/@-]{0,299}[\p{L}\p{N}_$])[`'"*\]>]{0,9}/u;

/** Returns the function name in a text, without the signs around it, and the repairs. */
export function functionName(
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

/** Returns arguments that no environment parses as an object, so that it refuses the call as malformed. */
export function unreadable(written: string): string {
  // Parsing invalid JSON is slow, as it throws.
  const isObject = /^\s*\{/.test(written) && isJsonObject(parseJson(written));
  return isObject ? JSON.stringify(written) : written;
}

/** Returns an unreadable call: its name, if that can be found, and the rest of the text as arguments. */
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
/** Characters searched for name and arguments, at most. */
const REACH = 10_000;
