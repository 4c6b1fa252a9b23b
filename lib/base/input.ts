/**
 * User input: files and values, read and checked once, at the edge.
 * @module
 */

import { parse as parseJsonc } from "@std/jsonc";
import defer * as fs from "node:fs";
import defer * as jsonc from "jsonc-parser";
import type { Node } from "jsonc-parser";
import { z } from "zod";
import {
  exactJson,
  isWithin,
  type JsonValue,
  LONG_DIGITS,
  printable,
  writtenJson,
} from "./json.ts";
import { didYouMean, nearestName, nearestOrAll } from "./nearest_name.ts";
import { redactRecord } from "./redact.ts";
import { attempt, cannot, cannotFile, InputError, reasonOf } from "./errors.ts";

/**
 * Reads a file.
 *
 * @param most Its bytes, at most; default: any number.
 * @throws {InputError} If it cannot be read, or is larger; the message names the file.
 */
export function readBytes(path: string | URL, most = Infinity): Uint8Array {
  let size: number;
  try {
    size = most === Infinity ? 0 : fs.statSync(path).size;
    if (size <= most) return fs.readFileSync(path);
  } catch (error) {
    throw cannotFile(`read ${path}`, error);
  }
  throw cannot(`read ${path}`, `it must have at most ${most} bytes`, `it has ${size}`);
}

/**
 * Reads a text file.
 *
 * @param most Its bytes, at most; default: any number.
 * @throws {InputError} If it cannot be read, is larger, or is UTF-16; the message names the file.
 */
export function readText(path: string | URL, most = Infinity): string {
  const bytes = readBytes(path, most);
  if (isUtf16(bytes)) throw cannot(`use ${path}`, "its text must be UTF-8", "it is UTF-16");
  return new TextDecoder().decode(bytes);
}

/** A line of a file of JSON lines: its value with numbers as they were written, and its place for messages. */
export interface JsonLine {
  /** The value. */
  readonly value: JsonValue;
  /** The file, and the number of the line. */
  readonly source: string;
}

/**
 * Reads a file of JSON lines, without those that are blank.
 *
 * @throws {InputError} If the file cannot be read, or a line is not JSON.
 */
export function readJsonLines(path: string): JsonLine[] {
  return readText(path).split("\n").flatMap((text, place) => {
    if (text.trim() === "") return [];
    const source = `${path}, line ${place + 1}`;
    const value = writtenJson(text);
    if (value === undefined) throw new InputError(`Cannot use ${source}: it is not JSON`);
    return [{ value, source }];
  });
}

/** Returns a text without the mark that programs of Windows begin UTF-8 with, which is no part of JSON or YAML. */
export function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/**
 * Reads a text file that will be written back: to the byte, with any mark that it begins with.
 *
 * @throws {InputError} If it cannot be read, or is not UTF-8, so that its other bytes would be lost.
 */
export function readExactly(path: string): string {
  const bytes = readBytes(path);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw cannot(`add to ${path}`, "its text must be UTF-8", "it has other bytes");
  }
}

/** Returns all bytes of some parts, in order. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let size = 0;
  for (const part of parts) {
    bytes.set(part, size);
    size += part.length;
  }
  return bytes;
}

/** Whether a text begins with a mark of UTF-16, as programs of Windows write it. */
export function isUtf16([first, second]: Uint8Array): boolean {
  return first === 0xff && second === 0xfe || first === 0xfe && second === 0xff;
}

/**
 * Replaces the position in a parser's message with line and column. What it quotes is left out unless it is short: it
 * may be a key.
 */
function withLine(message: string, text: string): string {
  const unquoted = message.replace(/ "[^]{4,}" in /, " in ");
  return unquoted.replace(/position (\d+)/, (_, position) => {
    const rows = text.slice(0, Number(position)).split("\n");
    return `line ${rows.length}, column ${rows.at(-1)!.length + 1}`;
  });
}

/** Makes zod report the faulty value too, and say what is wrong in the words of this library where a schema has none. */
export const WITH_INPUT: z.core.ParseContext<z.core.$ZodIssue> = {
  reportInput: true,
  error: wordsOf,
};

/**
 * Says what is wrong by the code of an issue; `undefined` leaves that to zod. Nothing is said of types and values yet:
 * those of all members of a union are listed together.
 */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  switch (issue.code) {
    case "unrecognized_keys":
      return keysMessage(issue);
    case "too_small":
      if (issue.minimum === 1 && (issue.origin === "string" || issue.origin === "array")) {
        return "must not be empty";
      }
      return boundMessage(issue.inclusive ? "at least" : "above", issue.minimum, input);
    case "too_big":
      return boundMessage(issue.inclusive ? "at most" : "below", issue.maximum, input);
    case "invalid_key":
      return `a key ${issue.issues[0]?.message}`;
    case "invalid_type":
    case "invalid_value":
      return "";
    case "invalid_union":
      return issue.errors.length === 0 ? undefined : "";
  }
}

/** Names the keys that an object does not have, and those that are probably meant. */
function keysMessage({ keys, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>) {
  const known = inst instanceof z.core.$ZodObject ? Object.keys(inst._zod.def.shape) : [];
  const names = keys.map((key) => JSON.stringify(key)).join(", ");
  const meant = keys.map((key) => nearestName(key, known));
  return `Unrecognized key${keys.length === 1 ? "" : "s"}: ${names}` +
    (keys.length === 1
      ? nearestOrAll(keys[0]!, known)
      : meant.every((one) => one !== undefined)
      ? `; did you mean ${meant.join(" and ")}?`
      : "");
}

/** States what there may be, and what there is: `expected string or object, received number`. */
function typeMessage(expected: readonly string[], input: unknown): string {
  const types = expected.join(" or ");
  if (input === undefined) return `it is missing: expected ${types}`;
  const isOdd = typeof input === "number" && !Number.isFinite(input);
  return `expected ${types}, received ${isOdd ? input : z.core.util.parsedType(input)}`;
}

/** States the bound that a number breaks, and the number; `undefined` for what is no number. */
function boundMessage(rule: string, bound: number | bigint, input: unknown): string | undefined {
  return typeof input === "number" ? `must be ${rule} ${bound}: it is ${input}` : undefined;
}

/**
 * Checks `value` against `schema`.
 *
 * @throws {InputError} If it does not fit; names `source` and, for each fault, the path in it and the rule.
 */
export function parseWith<T>(
  schema: z.ZodType<T>,
  value: unknown,
  source: string,
  context: typeof WITH_INPUT = WITH_INPUT,
): T {
  const result = schema.safeParse(value, context);
  if (result.success) return result.data;
  const found = result.error.issues.slice(0, MAX_ISSUES).flatMap((issue) => issueFaults(issue));
  // Names that nothing has come first: what is missing is most often what they should have been.
  const causesFirst = found.toSorted((one, other) => Number(other.isName) - Number(one.isName));
  const shown = causesFirst.slice(0, MAX_FAULTS).map(({ path, message }) =>
    `  at ${printable(z.core.toDotPath(path)) || "the top"}: ${
      printable(redactRecord(message), 300)
    }`
  );
  const more = found.length - shown.length + Math.max(0, result.error.issues.length - MAX_ISSUES);
  throw new InputError(
    `Cannot use ${source}:\n${shown.join("\n")}${more > 0 ? `; and ${more} more` : ""}`,
  );
}

/**
 * Checks options by their schema, and returns them as they are: models and tools stay the same objects.
 *
 * @throws {InputError} If they do not fit; names `source` and, for each fault, the path and the rule.
 */
export function checkOptions<T>(schema: z.ZodType<T>, options: unknown, source: string): T {
  // They are checked once: compiling their schemas would take longer than that.
  parseWith(schema, options, source, { ...WITH_INPUT, jitless: true });
  return options as T;
}

/** Returns a schema of values for which a rule holds, such as `be a text`. */
export function must<T>(rule: string, holds: (value: unknown) => boolean): z.ZodType<T> {
  return z.custom<T>(holds, {
    error: ({ input }) =>
      input === undefined
        ? `it is missing: it must ${rule}`
        : `must ${rule}: it is ${shown(input)}`,
    abort: true,
  });
}

/** The schema of functions, of whatever they take and return. */
export const FUNCTION: z.ZodType = z.any().check(({ value, issues }) => {
  if (typeof value === "function") return;
  issues.push({ code: "invalid_type", expected: "function", input: value });
});

/** The schema of a whole number of options that no file has. */
export const whole = (least: number): z.ZodType<number> =>
  z.int({ error: ({ input }) => `must be a whole number from ${least} on: it is ${shown(input)}` })
    .min(least);

/** A value in a message: as JSON, if it is any. */
function shown(value: unknown): string {
  // JSON has no NaN.
  const text = attempt(() => typeof value === "number" ? String(value) : JSON.stringify(value));
  return printable(text ?? `a ${typeof value}`, 100);
}

/** Faults that are shown, at most: a message has at most three lines. */
const MAX_FAULTS = 2;
/** Issues that are looked at, at most: one mistake may repeat in each line of a long list. */
const MAX_ISSUES = 1_000;

interface InputFault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Whether it is a name that nothing has. */
  readonly isName: boolean;
}

/**
 * Returns the faults of an issue. For a union, those of the member that the value is nearest to, or one
 * fault that lists all members if it is near none.
 */
function issueFaults(issue: z.core.$ZodIssue, above: readonly PropertyKey[] = []): InputFault[] {
  const path = [...above, ...issue.path];
  const expected = expectedBy(issue);
  const message = expected === undefined
    ? issue.message
    : isOtherName(issue)
    ? `expected ${expected}: it is ${JSON.stringify(printable(issue.input, 60))}` +
      didYouMean(issue.input, issue.values.map(String))
    : typeMessage(expected, issue.input);
  const isName = issue.code === "unrecognized_keys";
  if (issue.code !== "invalid_union" || issue.message !== "") return [{ path, message, isName }];
  const kinds = nearestKinds(issue.errors)
    .map((issues) => tellingOf(issues).flatMap((inner) => issueFaults(inner, path)));
  const deepest = (faults: readonly InputFault[]) =>
    Math.max(...faults.map((fault) => fault.path.length));
  const own = kinds.toSorted((one, other) => deepest(other) - deepest(one))[0]!;
  if (kinds.length === 1 || deepest(own) > path.length) return own;
  const messages = [...new Set(kinds.flat().map((fault) => fault.message))];
  return [{ path, message: message || messages.join(", or "), isName }];
}

/** The types and values that an issue expects; `undefined` if it is about more, or its schema says it. */
function expectedBy(issue: z.core.$ZodIssue): readonly string[] | undefined {
  if (issue.message !== "") return undefined;
  if (issue.code === "invalid_type") return [issue.expected];
  if (issue.code === "invalid_value") {
    const values = issue.values.map((value) => JSON.stringify(value)).join("|");
    return [issue.values.length === 1 ? values : `one of ${values}`];
  }
  if (issue.code !== "invalid_union") return undefined;
  const all = issue.errors.flatMap(tellingOf)
    .map((inner) => inner.path.length === 0 ? expectedBy(inner) : undefined);
  return all.every((some) => some !== undefined) ? [...new Set(all.flat())] : undefined;
}

/** Returns the union members a value is nearest to: of its type, with the fewest unknown keys. */
function nearestKinds(kinds: readonly z.core.$ZodIssue[][]): readonly z.core.$ZodIssue[][] {
  const fitting = kinds.filter((issues) => !issues.some(isOtherKind));
  const unknownKeys = (issues: readonly z.core.$ZodIssue[]) =>
    issues.flatMap((issue) =>
      issue.code === "unrecognized_keys" && issue.path.length === 0 ? issue.keys : []
    ).length;
  const least = Math.min(...fitting.map(unknownKeys));
  const best = fitting.filter((issues) => unknownKeys(issues) === least);
  if (best.length > 0) return best;
  const named = kinds.filter((issues) =>
    issues.some((issue) => isOtherName(issue) && issue.values.length > 1)
  );
  return named.length === 0 ? kinds : named;
}

/** The issues that tell something: of a value of another type no bound does. */
function tellingOf(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  return issues.some(isOtherKind) ? issues.filter(isOtherKind) : issues;
}

/** Whether the value itself has the wrong type, not just a part of it. */
function isOtherKind(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === "invalid_union") {
    return issue.errors.every((issues) => issues.some(isOtherKind));
  }
  return issue.code === "invalid_type" || issue.code === "invalid_value";
}

/** Whether the value is a text where there are others. */
function isOtherName(
  issue: z.core.$ZodIssue,
): issue is z.core.$ZodIssueInvalidValue & { readonly input: string } {
  return issue.code === "invalid_value" && typeof issue.input === "string";
}

/**
 * Refuses a file of another version of its format, whose other rules are not known here.
 *
 * @throws {InputError} If `value` is of one; names `source`.
 */
export function assertVersion(value: unknown, source: string): void {
  const version: unknown = Object(value).v;
  if (typeof version !== "number" || version === 1) return;
  throw new InputError(
    `Cannot use ${source}: it is of version ${version} of the format, and this toolgate reads 1`,
  );
}

/**
 * Reads a JSON file with comments and checks it.
 *
 * @throws {InputError} If it cannot be used; names the file and the fault.
 */
export function readJsonc<T>(path: string, schema: z.ZodType<T>): T {
  const text = readText(path);
  let value: unknown;
  try {
    value = parseJsonc(text);
    if (LONG_DIGITS.test(text)) value = exactValue(jsonc.parseTree(text)!, text);
  } catch (error) {
    throw new InputError(
      `Cannot use ${path}: it is not JSON with comments: ${withLine(reasonOf(error), text)}`,
    );
  }
  assertShallow(value, path);
  // Those have formats of their own, and are not written by people.
  const { kind } = Object(value);
  if (kind === "record" || kind === "recording") {
    throw new InputError(`Cannot use ${path}: it is a ${kind}, and another kind of file is needed`);
  }
  // Most such files do not say theirs.
  assertVersion(value, path);
  return parseWith(schema, value, path);
}

/** Returns the value of a JSON tree as `exactJson` does. */
function exactValue({ type, children = [], offset, length }: Node, text: string): JsonValue {
  if (type === "array") return children.map((item) => exactValue(item, text));
  if (type !== "object") return exactJson(text.slice(offset, offset + length));
  return Object.fromEntries(
    children.map(({ children: [key, value] = [] }) => [key!.value, exactValue(value!, text)]),
  );
}

/** Far deeper than people write, and shallow enough for recursive code not to overflow the stack. */
const MAX_LEVELS = 500;

/** Returns whether recursive code can take a value: whether it nests at most 500 levels deep. */
export function isShallow(value: unknown): boolean {
  return isWithin(value, { levels: MAX_LEVELS });
}

/**
 * Rejects values that nest too deep for recursive code.
 *
 * @throws {InputError} If `value` nests too deep; names `source`.
 */
export function assertShallow(value: unknown, source: string): void {
  if (isShallow(value)) return;
  throw new InputError(
    `Cannot use ${source}: it must nest at most ${MAX_LEVELS} levels deep, and nests deeper`,
  );
}
