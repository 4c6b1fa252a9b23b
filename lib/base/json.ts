/**
 * JSON values: their types, a canonical text for each, JSON pointers, and text that is safe to print.
 * @module
 */

/** Any value that JSON can carry; an integer that a number would round is a bigint. */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. Keys may come from a model: read them with `Object.hasOwn`. */
export interface JsonObject {
  /** A value by its key. */
  [key: string]: JsonValue;
}

/** Whether `value` is an object of any kind: not `null`, but also an array. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Whether `value` is an object, neither `null` nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object without its undefined properties: a property that may be undefined becomes optional. */
export type Defined<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/**
 * Returns `fields` without the undefined ones: for what users compare or print, and where a spread must not replace
 * what stands before it.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const result: Partial<T> = {};
  // The engine makes a hash table of a long object whose names come from a list.
  for (const key in fields) if (fields[key] !== undefined) result[key] = fields[key];
  return result as unknown as Defined<T>;
}

/** Returns the value of a field; `undefined` where `value` has no field of this name of its own. */
export function fieldOf(value: unknown, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Escapes a key for a JSON pointer (RFC 6901). */
export function pointerPart(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Returns the key of an escaped part of a JSON pointer. */
export function pointerKey(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Returns the keys of a JSON pointer. */
export function pointerKeys(pointer: string): string[] {
  return pointer.split("/").slice(1).map(pointerKey);
}

/** Decodes a part of a URL; one that is malformed stays. */
export function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Returns the JSON text of `value` with the keys of every object sorted, so that equal values have equal
 * texts. Keys whose value is `undefined` are left out, as `JSON.stringify` does. Keys that are whole numbers come
 * first, by their size, as they do in every object.
 */
export function canonicalJson(value: unknown): string {
  // With a function that replaces values JSON.stringify takes several times as long.
  if (typeof value === "string" || typeof value === "number") return JSON.stringify(value);
  if (typeof value === "bigint") return jsonText(integerOf(value));
  if (typeof value !== "object" || value === null) return jsonText(value);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function" && toJSON !== withDigits) {
    return canonicalJson(toJSON.call(value));
  }
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += (text === "" ? "" : ",") + (canonicalJson(item) ?? "null");
    return `[${text}]`;
  }
  for (const key of sortedKeys(value)) {
    const inner = canonicalJson((value as Record<string, unknown>)[key]);
    if (inner === undefined) continue;
    text += (text === "" ? "" : ",") + JSON.stringify(key) + ":" + inner;
  }
  return `{${text}}`;
}

function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  if (keys.length < 2) return keys;
  keys.sort();
  return keys.some((key) => key <= "9\uffff" && key >= "0")
    ? Object.keys(Object.fromEntries(keys.map((key) => [key, 0])))
    : keys;
}

/** Levels of lists and objects in a text that is parsed, at most: each takes 200 bytes while it is open. */
const MAX_TEXT_LEVELS = 200_000;

/** Returns whether a text can be parsed as JSON without taking hundreds of times its own memory. */
export function isShallowText(text: string): boolean {
  if (text.length <= MAX_TEXT_LEVELS) return true;
  let [levels, isWithinText] = [0, false];
  for (let at = 0; at < text.length && levels <= MAX_TEXT_LEVELS; at++) {
    const char = text[at];
    if (char === '"') isWithinText = !isWithinText;
    else if (isWithinText && char === "\\") at++;
    else if (isWithinText) continue;
    else if (char === "{" || char === "[") levels++;
    else if (char === "}" || char === "]") levels--;
  }
  return levels <= MAX_TEXT_LEVELS;
}

/**
 * Returns the parsed value of `text` as {@linkcode exactJson} does, or `undefined` if it is not JSON (JSON itself has no
 * `undefined`), or one that would take too much memory.
 */
export function parseJson(text: string): JsonValue | undefined {
  if (!isShallowText(text)) return undefined;
  try {
    return exactJson(text);
  } catch {
    return undefined;
  }
}

/** An integer that may be beyond 2^53: other texts are parsed several times as fast. */
export const LONG_DIGITS = /(?<![\w."])\d{16,}(?![\w."])/;

/**
 * Returns the parsed value of `text`. An integer is a bigint where a number would show other digits than were written;
 * `JSON.stringify` writes it where it stands unless a key `toJSON` stands beside it, and {@linkcode jsonText} everywhere.
 *
 * @throws {SyntaxError} If it is not JSON.
 */
export function exactJson(text: string): JsonValue {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, keepDigits);
  } catch (error) {
    // Only a reviver overflows the stack.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

/**
 * Returns the parsed value of `text` as {@linkcode parseJson} does, but that a whole number with a point or an exponent,
 * such as `5.0`, stays a text that {@linkcode jsonText} writes and {@linkcode isFraction} knows.
 */
export function writtenJson(text: string): JsonValue | undefined {
  const value = parseJson(text);
  if (value === undefined || !/\d[.eE]/.test(text)) return value;
  return JSON.parse(text, function (this: object, key, inner, context?: Source) {
    const { source = "" } = context ?? {};
    return Number.isInteger(inner) && /[.eE]/.test(source)
      ? RAW.rawJSON(source)
      : keepDigits.call(this, key, inner, context);
  });
}

/** Returns a value with numbers in place of the texts that {@linkcode writtenJson} keeps. */
export function asNumbers(value: JsonValue): JsonValue {
  return isObject(value) ? exactJson(jsonText(value)) : value;
}

/** Whether a value is the text of a whole number with a point or an exponent. */
export function isFraction(value: unknown): boolean {
  return RAW.isRawJSON(value);
}

/** Returns the JSON text of a value, which may have bigints. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    // With a function JSON.stringify takes several times as long.
    return JSON.stringify(value, (_, inner) => rawDigits(inner), indent);
  }
}

/** What a reviver of `JSON.parse` gets of a number beside its value. */
interface Source {
  readonly source?: string;
}

/** A reviver of `JSON.parse`. */
function keepDigits(
  this: object,
  _: string,
  value: unknown,
  { source = "" }: Source = {},
): unknown {
  if (typeof value !== "number") return value;
  const integer = exactNumber(value, source);
  if (typeof integer === "bigint") writesDigits(this);
  return integer;
}

/** Digits of an integer that is kept, at most: BigInt takes more than linear time. */
const MAX_DIGITS = 4_000;

/** Returns a number that was parsed from `source`; a bigint if that is an integer of which it shows other digits. */
export function exactNumber(value: number, source: string): number | bigint {
  if (Number.isSafeInteger(value) || source.length > MAX_DIGITS) return value;
  return /^-?\d+$/.test(source) && digitsOf(value) !== source ? BigInt(source) : value;
}

/** Returns a value of YAML with the integers that numbers round as bigints; `texts` has each scalar as text. */
export function withDigitsOf(texts: unknown, value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) {
    return typeof value === "number" ? exactNumber(value, String(texts)) : value;
  }
  const inner = (key: string | number, own: JsonValue) => withDigitsOf(Object(texts)[key], own);
  if (Array.isArray(value)) return value.map((own, place) => inner(place, own));
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, inner(key, own)]));
}

/** Returns the number that shows all digits of an integer; the integer itself if there is none. */
export function integerOf(integer: bigint): number | bigint {
  const number = Number(integer);
  return digitsOf(number) === String(integer) ? number : integer;
}

/** Returns the shortest decimal of an integer, without an exponent. */
function digitsOf(value: number): string {
  const [decimal = "", exponent = "0"] = String(value).split("e+");
  const [whole, fraction = ""] = decimal.split(".");
  return whole + fraction.padEnd(Number(exponent), "0");
}

/** Has `JSON.stringify` write the bigints of a list or an object; `false` if it has another `toJSON`, as a model may write. */
export function writesDigits(holder: object): boolean {
  if (Object.hasOwn(holder, "toJSON")) return Reflect.get(holder, "toJSON") === withDigits;
  return Reflect.defineProperty(holder, "toJSON", { value: withDigits });
}

/** The `toJSON` of a list or an object with bigints: code of users writes arguments with `JSON.stringify`, too. */
function withDigits(this: object): object {
  if (Array.isArray(this)) return this.map(rawDigits);
  return Object.fromEntries(Object.entries(this).map(([key, inner]) => [key, rawDigits(inner)]));
}

/** Returns what `JSON.stringify` writes as the digits of a bigint; any other value stays. */
export function rawDigits(value: unknown): unknown {
  return typeof value === "bigint" ? RAW.rawJSON(String(value)) : value;
}

// The types of TypeScript do not have it yet.
const RAW = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** Returns whether a value is a bigint, or has one in it. */
export function hasBigint(value: unknown): boolean {
  const parts = new Set([value]);
  for (const part of parts) {
    if (typeof part === "bigint") return true;
    if (isObject(part)) Object.values(part).forEach((inner) => parts.add(inner));
  }
  return false;
}

/** Returns a value with the nearest numbers in place of bigints, for what checks schemas, which knows no others. */
export function withNumbers<T>(value: T): T {
  return hasBigint(value) ? nearestNumbers(value) as T : value;
}

/** Returns a schema whose bounds are numbers, as copies of it may be written; what a value may be keeps its digits. */
export function withNumberBounds<T extends JsonValue>(schema: T): T {
  if (!hasBigint(schema)) return schema;
  return JSON.parse(jsonText(schema), function (this: object, key, value, context?: Source) {
    return BOUND.test(key) ? value : keepDigits.call(this, key, value, context);
  });
}

const BOUND = /^(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)$/;

function nearestNumbers(value: unknown): unknown {
  if (typeof value === "bigint") return nearestNumber(value);
  if (Array.isArray(value)) return value.map(nearestNumbers);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, nearestNumbers(inner)]),
  );
}

/** Returns the finite number that is nearest to an integer. */
export function nearestNumber(integer: bigint): number {
  const { MAX_VALUE } = Number;
  return Math.max(-MAX_VALUE, Math.min(MAX_VALUE, Number(integer)));
}

/**
 * Adds a field to an object within its own text: parsed and rewritten, long numbers would lose digits.
 *
 * @param text The text of `object`.
 */
export function withField(
  text: string,
  object: JsonObject,
  [name, value]: [string, JsonValue],
): string {
  const open = text.trimEnd().slice(0, -1).trimEnd();
  const comma = Object.keys(object).length === 0 ? "" : ",";
  return `${open}${comma}${JSON.stringify(name)}:${jsonText(value)}}`;
}

// Control characters (line breaks and tabs too), lone surrogates, invisible characters that reorder or hide text, and
// what XML cannot hold, as JUnit reports are.
const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\u{e0000}-\u{e007f}]/gu;

// Commands to the runner of a CI job: `##[error]` (GitHub, Azure), `##vso[...]` (Azure) and `##teamcity[...]`
// anywhere in a line, and `::error::` (GitHub) where a line begins, apart from spaces. The end of a text may come
// to stand before a bracket. An address such as `::1` is no command.
// Sources: ActionCommand.cs of github.com/actions/runner; "Logging commands" of Azure Pipelines; "Service messages"
// of TeamCity.
const MARKED_COMMAND = /#(?=#\w*(?:\[|$))/g;
const LINE_COMMAND = /^(\s*):(?=:(?!\d))/;

/** A text of ASCII that is returned as it is, as most are. */
const PLAIN = /^(?! *:)[ !"$-~]*$/;

/**
 * Returns `text` on one line, without characters that could control a terminal and without commands to the runner
 * of a CI job, cut to about `limit` characters. All text from a model or a server passes through here before it is
 * printed.
 */
export function printable(text: string, limit = 200): string {
  if (text.length <= limit && PLAIN.test(text)) return text;
  const result = text.slice(0, limit + 1).replace(UNPRINTABLE, (character) => {
    const short = SHORT_ESCAPES[character];
    if (short !== undefined) return short;
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  }).replace(MARKED_COMMAND, "\\u0023").replace(LINE_COMMAND, "$1\\u003a");
  if (result.length <= limit) return result;
  return cutText(result, Math.max(0, limit - 1)) + "…";
}

/** Returns a line without a command to the runner of a CI job where it begins. */
export function withoutLineCommand(line: string): string {
  return line.replace(LINE_COMMAND, "$1\\u003a");
}

/**
 * Like {@linkcode printable}, but of a longer text both ends are kept, as it may differ at either, and how much was
 * left out between them is said.
 */
export function printableEnds(text: string, limit = 200): string {
  if (text.length <= limit) return printable(text, Infinity);
  const half = Math.max(0, Math.floor((limit - 24) / 2));
  const end = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, "");
  const start = cutText(text, half);
  const left = text.length - start.length - end.length;
  return `${printable(start, Infinity)}[... ${left} characters ...]${printable(end, Infinity)}`;
}

/** Returns at most the first `length` characters of `text`, and cuts no character in two. */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

/** Returns the first `most` of several names, and how many more there are. */
export function listText(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Like {@linkcode printable}, but keeps line breaks: for views of whole texts. */
export function printableLines(text: string, limit = 20_000): string {
  if (text.length <= limit && PLAIN.test(text)) return text;
  const whole = text.length > limit ? `${cutText(text, limit)}…` : text;
  return whole.split(/\r?\n/).map((line) => printable(line, Infinity)).join("\n");
}

/** Returns the JSON text of `value` for a terminal or the log of a CI job: it is read as the same value. */
export function printableJson(value: unknown, indent?: number): string {
  // These characters are within strings only, where each may be escaped.
  return jsonText(value, indent).replace(
    UNPRINTABLE_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What JSON leaves as it is and no terminal or runner should get. */
const UNPRINTABLE_JSON =
  /#(?=#\w*\[)|[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** How large a value may be. */
interface Extent {
  /** How many levels of lists and objects there may be. */
  readonly levels: number;
  /** How many values there may be; a value held in several places counts in each. Default: any number. */
  readonly values?: number;
}

/**
 * Returns whether `value` is within the limits. A deeper value could overflow the stack of recursive code;
 * a circular one, or one that holds the same value in very many places, would take forever to walk.
 */
export function isWithin(value: unknown, { levels, values = Infinity }: Extent): boolean {
  let [left, level] = [values - 1, [value].filter(isObject)];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levels) return false;
    const below: object[] = [];
    for (const container of level) {
      const children = Array.isArray(container) ? container : Object.values(container);
      left -= children.length;
      if (left < 0) return false;
      for (const inner of children) if (isObject(inner)) below.push(inner);
    }
    level = below;
  }
  return left >= 0;
}
