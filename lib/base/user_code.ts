/**
 * The user's own code: where in it an error was thrown.
 * @module
 */

import defer * as process from "node:process";
import defer * as urls from "node:url";
import { attempt, inOneLine, InputError, isErrorOf, reasonOf } from "./errors.ts";
import { printable } from "./json.ts";
import { redact } from "./redact.ts";

/** Files of this library and of others. */
const FOREIGN = [
  new URL("../", import.meta.url).href,
  new URL("../../mod.ts", import.meta.url).href,
  "/node_modules/",
  "/npm/",
  "https://",
  "ext:",
];

/** At most this many frames lead from a file to one of its calls. */
const MAX_FRAMES = 200;
/** At most this many characters of a stack are searched. */
const MAX_STACK_LENGTH = 10_000;

/** Returns whether a URL is of this library or another one. */
export function isForeign(url: string): boolean {
  return FOREIGN.some((part) => url.includes(part));
}

/** Returns the URL of a file, whose path may have characters that a URL cannot have. */
export function fileURLOf(path: string): string {
  const url = new URL("file:///");
  url.pathname = path.replaceAll("%", "%25");
  return url.href;
}

/** Returns the URL of the working folder, with which stacks begin the places of files in it. */
function here(): string {
  return fileURLOf(`${process.cwd()}/`);
}

/** Returns the path of a file by its URL: from the working folder, if it is in there. */
export function shownFile(url: string): string {
  const file = decodeURIComponent(new URL(url).pathname);
  const folder = `${process.cwd()}/`;
  return file.startsWith(folder) ? file.slice(folder.length) : file;
}

/** Returns the file and the line of a place in a stack; the file as {@linkcode shownFile} has it. */
export function lineOf(place: string): { file: string; line: number } {
  return { file: shownFile(fileOf(place)), line: Number(place.split(":").at(-2)) };
}

/** Returns the URL of the file of a place in a stack, where only the working folder is written as in a URL. */
function fileOf(place: string): string {
  const file = place.replace(/:\d+:\d+$/, "");
  const folder = here();
  return fileURLOf(
    file.startsWith(folder)
      ? `${process.cwd()}/${file.slice(folder.length)}`
      : file.slice("file://".length),
  );
}

/** A frame in a file, whose path may have spaces and parentheses; but none of evaluated text. */
const FRAME =
  /^\s+at (?!.*\(eval at )(?:async )?(?:.*? \()?((?:file:|\/|[A-Za-z]:[\\/]).+:\d+:\d+)\)?$/;

/** Returns the place that a frame of a stack names, as Deno writes it: other runtimes write paths. */
function frameOf(line: string): string | undefined {
  const place = FRAME.exec(line)?.[1];
  if (place === undefined || place.startsWith("file:")) return place;
  const [, path, row, column] = /^(.+):(\d+):(\d+)$/s.exec(place)!;
  const folder = `${process.cwd()}/`;
  const file = path!.startsWith(folder) ? here() + path!.slice(folder.length) : `file://${path}`;
  return `${file}:${row}:${column}`;
}

/** Returns the places in the user's files that the stack of an error names, the innermost first. */
export function placesOf({ stack = "", message }: Error): string[] {
  // The message may contain text that looks like a frame.
  const at = stack.indexOf(message);
  const frames = at < 0 ? stack : stack.slice(at + message.length);
  return frames.slice(0, MAX_STACK_LENGTH).split("\n")
    .flatMap((frame) => frameOf(frame) ?? [])
    .filter((place) => !isForeign(fileOf(place)));
}

/** A place in a file. */
export interface CodePlace {
  readonly url: string;
  readonly line: number;
  readonly column: number;
}

/** Returns the path of a file and the place in it, for a place in a stack. */
export function pathOf(place: string): string {
  return urls.fileURLToPath(fileOf(place)) + /:\d+:\d+$/.exec(place)![0];
}

/**
 * Returns the places in files that lead to the call of a function, which must be under way, the innermost first;
 * none if they cannot be found out.
 */
export function callersOf(called: (...args: never) => unknown): CodePlace[] {
  // What formats stacks may be a runner's, which knows the sources, or the user's own, which writes anything.
  const callers = stackOf(called, "stackTraceLimit");
  return callers.length > 0 ? callers : stackOf(called, "stackTraceLimit", "prepareStackTrace");
}

/** Returns the places in a stack that no setting of the user's cuts short or, if it is among these names, formats. */
function stackOf(
  called: (...args: never) => unknown,
  ...names: ("stackTraceLimit" | "prepareStackTrace")[]
): CodePlace[] {
  const own = names.map((name) => Object.getOwnPropertyDescriptor(Error, name));
  try {
    for (const name of names) {
      const value = name === "stackTraceLimit" ? MAX_FRAMES : undefined;
      Object.defineProperty(Error, name, { value, configurable: true, writable: true });
    }
    const captured: { stack?: string } = {};
    Error.captureStackTrace(captured, called);
    return `${captured.stack}`.split("\n").flatMap((frame) => {
      const place = frameOf(frame);
      if (place === undefined) return [];
      const [line, column] = place.split(":").slice(-2).map(Number) as [number, number];
      return [{ url: fileOf(place), line, column }];
    });
  } catch {
    // They may be locked.
    return [];
  } finally {
    for (const [index, name] of names.entries()) {
      if (own[index] === undefined) Reflect.deleteProperty(Error, name);
      else Reflect.defineProperty(Error, name, own[index]);
    }
  }
}

/**
 * Returns the place in the user's file where an error was thrown, such as `tools_test.ts:31:5`; `undefined`
 * if its stack does not name it.
 */
export function placeOf(error: unknown): string | undefined {
  // Anything may be thrown, also what throws when it is looked at.
  const place = attempt(() => error instanceof Error ? placesOf(error)[0] : undefined);
  if (place === undefined) return undefined;
  const folder = here();
  return printable(place.startsWith(folder) ? place.slice(folder.length) : place, 500);
}

/** Returns a place like that of a call. */
export function placeText({ url, line, column }: CodePlace): string {
  const file = shownFile(url);
  return `${file.startsWith("/") ? "file://" : ""}${file}:${line}:${column}`;
}

/** Returns a stack whose only frame is such a place. */
export function stackAt(name: string, place: string | undefined): string {
  if (place === undefined) return name;
  return `${name}\n    at ${place.startsWith("file:") ? "" : here()}${place}`;
}

/** Returns the place of an error as words behind others; empty if it is unknown. */
export function atPlace(error: unknown): string {
  const at = placeOf(error);
  return at === undefined ? "" : ` at ${at}`;
}

function kindOf(error: unknown): string {
  return attempt(() => error instanceof Error ? `${error.constructor.name}` : typeof error) ??
    typeof error;
}

/** Describes an error that the user's code threw, and its place: `threw TypeError at ...: ...`. */
export function thrownText(error: unknown): string {
  return `threw ${printable(kindOf(error), 60)}${atPlace(error)}: ${
    printable(
      redact(isErrorOf(error, InputError) ? inOneLine(reasonOf(error)) : reasonOf(error)),
      500,
    )
  }`;
}

/** Errors that the language throws at mistakes of a program; code that throws on purpose has better ones. */
const MISTAKES: readonly unknown[] = [TypeError, ReferenceError, RangeError, SyntaxError];

/** Describes an error that shows a mistake in a program, and its place; `undefined` for any other. */
export function mistakeText(error: unknown): string | undefined {
  return attempt(() =>
    error instanceof Error && MISTAKES.includes(error.constructor)
      ? `${error.constructor.name}${atPlace(error)}`
      : undefined
  );
}

/** Names the kind of a value that code of the user's returned in place of what it must. */
export function kindText(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
