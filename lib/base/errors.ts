/**
 * Errors for users: one class for unusable input, and the reasons of other errors in plain words.
 * @module
 */

import defer * as paths from "node:path";
import { printable } from "./json.ts";
import { redactRecord } from "./redact.ts";

/**
 * Unusable input. The message is for the user: action, rule, state; one line or a few.
 */
export class InputError extends Error {
  /** The name of the class. */
  override name = "InputError";

  /** Makes the error. Its message may quote files and servers, so keys and control characters go. */
  constructor(message: string) {
    super(
      redactRecord(message).split("\n").map((line) => printable(line, MAX_LINE_LENGTH)).join("\n"),
    );
    hideOwnFrames(this);
  }
}

const MAX_LINE_LENGTH = 2_000;

/** Where this library lies. */
const LIBRARY = new URL("../", import.meta.url).href;

/** Leaves out the frames of this library above the user's: what is wrong is wrong where it is called. */
export function hideOwnFrames(error: Error): void {
  // Read from another error: once an error's own stack was read, Deno ignores what replaces it.
  const { stack } = new Error();
  const frames = `${stack}`.split("\n").filter((line) => /^ {4}at /.test(line));
  const first = frames.findIndex((frame) =>
    frame.includes("file:") && !frame.includes(LIBRARY) && !/\/(npm|node_modules)\//.test(frame)
  );
  const kept = first < 0 ? [] : frames.slice(first);
  // Deno takes lines that begin with "at" for frames, and would show those of the message twice.
  error.stack = [`${error.name}: ${inOneLine(error.message)}`, ...kept].join("\n");
}

/** Returns a message in one line. */
export function inOneLine(message: string): string {
  return message.trim().replaceAll(/:\s*\n\s*/g, ": ").replaceAll(/\s*\n\s*/g, "; ");
}

/**
 * Returns the error `Cannot ACTION as RULE: STATE`, on one line; without a state, the rule says it all. What its parts
 * quote is made printable here.
 */
export function cannot(action: string, rule: string, state?: string): InputError {
  const message = `Cannot ${action} as ${rule}${state === undefined ? "" : `: ${state}`}`;
  return new InputError(printable(message, Infinity));
}

/** Returns the error of an action on a file that failed: `Cannot ACTION: REASON`. */
export function cannotFile(action: string, error: unknown): InputError {
  return new InputError(`Cannot ${action}: ${fileReason(error)}`);
}

/**
 * Returns what work with a file gives.
 *
 * @throws {InputError} If it fails; the message names the action.
 */
export function orCannot<T>(action: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw cannotFile(action, error);
  }
}

/** Returns what work returns; `undefined` if it throws, or of errors of a class only where it throws such a one. */
export function attempt<T>(
  work: () => T,
  kind?: abstract new (...options: never[]) => unknown,
): T | undefined {
  try {
    return work();
  } catch (error) {
    if (kind !== undefined && !(error instanceof kind)) throw error;
    return undefined;
  }
}

/** Whether a thrown value is an error of a class; of a hostile one, such as a proxy, nothing can be asked. */
export function isErrorOf<Kind>(
  error: unknown,
  kind: abstract new (...options: never[]) => Kind,
): error is Kind {
  return attempt(() => error instanceof kind) ?? false;
}

/** Returns the message of an error, without the prefix of its class; anything may be thrown. */
export function reasonOf(error: unknown): string {
  return attempt(() => `${error instanceof Error ? error.message : String(error)}`) ??
    "a value that has no text";
}

/** Returns an error and its causes, the outermost first. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; isErrorOf(cause, Error) && causes.length < 8; cause = cause.cause) {
    causes.push(cause);
  }
  return causes;
}

/** Returns why a server could not be reached: the innermost cause, without the address, in which a key may be. */
export function networkReason(error: unknown): string {
  return reasonOf(causesOf(error).at(-1) ?? error)
    .replace(/^error sending request for url \(.*?\): /, "");
}

/** Returns the code of an error of the system, such as `ENOENT`; `NotCapable` where Deno lacks a permission. */
export function errorCode(error: unknown): string | undefined {
  return attempt(() => {
    const { name, code } = error as Error & { code?: string };
    return name === "NotCapable" ? name : code;
  });
}

const FILE_REASONS: ReadonlyMap<string | undefined, string> = new Map([
  ["ENOENT", "there is no such file or folder"],
  ["EACCES", "the system does not permit it"],
  ["EPERM", "the system does not permit it"],
  ["EISDIR", "it is a folder"],
  ["EEXIST", "there is a file in its place"],
  ["ENOTDIR", "a part of its path is no folder"],
]);

/** Returns why a file operation failed, in plain words. */
export function fileReason(error: unknown): string {
  const code = errorCode(error);
  if (code === "NotCapable") {
    return `Deno was not given the permission: ${withFlag(reasonOf(error).split(",")[0]!)}`;
  }
  return FILE_REASONS.get(code) ?? reasonOf(error);
}

/** Returns the error of a permission that Deno lacks for a path, as Deno itself would throw it. */
export function notCapable(access: string, path: string): Error {
  return Object.assign(new Error(`it needs --allow-${access}=${path}`), { name: "NotCapable" });
}

/** Adds the flag that allows what Deno refused: for reading the file, for writing its folder. */
function withFlag(refusal: string): string {
  const [, access, file] = /^Requires (read|write) access to "(.+)"$/.exec(refusal) ?? [];
  if (access === undefined || file === undefined) return refusal;
  const folder = paths.dirname(file);
  const allowed = access === "read" || folder === "." ? file : folder;
  return `${refusal}; allow it with --allow-${access}=${allowed}`;
}
