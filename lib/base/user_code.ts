/**
 * The user's own code: where in it an error was thrown.
 * @module
 */

import { reasonOf } from "./errors.ts";
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

/** At most this many characters of a stack are searched. */
const MAX_STACK_LENGTH = 10_000;

/** Returns whether a URL is of this library or another one. */
export function isForeign(url: string): boolean {
  return FOREIGN.some((part) => url.includes(part));
}

/** Returns the places in the user's files that the stack of an error names, the innermost first. */
export function placesOf({ stack = "", message }: Error): string[] {
  // The message may contain text that looks like a frame.
  const frames = stack.slice(Math.max(0, stack.indexOf(message)) + message.length);
  return frames.slice(0, MAX_STACK_LENGTH).split("\n")
    .flatMap((frame) => /^\s+at .*?(file:[^\s)]+)\)?$/.exec(frame)?.[1] ?? [])
    .filter((url) => !isForeign(url));
}

/**
 * Returns the place in the user's file where an error was thrown, such as `tools_test.ts:31:5`; `undefined`
 * if its stack does not name it.
 */
export function placeOf(error: unknown): string | undefined {
  let place: string | undefined;
  try {
    if (error instanceof Error) [place] = placesOf(error);
  } catch {
    // Anything may be thrown, also what throws when it is looked at.
  }
  if (place === undefined) return undefined;
  const here = new URL(`file://${Deno.cwd()}/`).href;
  return printable(place.startsWith(here) ? place.slice(here.length) : place, 500);
}

/** Returns the place of an error as words behind others; empty if it is unknown. */
export function atPlace(error: unknown): string {
  const at = placeOf(error);
  return at === undefined ? "" : ` at ${at}`;
}

function kindOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.constructor.name}` : typeof error;
  } catch {
    return typeof error;
  }
}

/** Describes an error that the user's code threw, and its place: `it threw TypeError at ...: ...`. */
export function thrownText(error: unknown): string {
  return `it threw ${printable(kindOf(error), 60)}${atPlace(error)}: ${
    printable(redact(reasonOf(error)), 500)
  }`;
}
