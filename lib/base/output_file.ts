/**
 * Output files, written for people.
 * @module
 */

import { isGranted } from "#runtime";
import defer * as fs from "node:fs";
import defer * as paths from "node:path";
import {
  attempt,
  cannot,
  cannotFile,
  errorCode,
  InputError,
  notCapable,
  orCannot,
  reasonOf,
} from "./errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "./json.ts";
import { OpenFile } from "./open_file.ts";

/**
 * Creates the parent folders of `path`. `what` names the output in messages, such as `the report to`.
 *
 * @throws {InputError} If they cannot be created.
 */
export function makeFolder(path: string, what: string): void {
  const folder = folderOf(path);
  if (folder === "") return;
  orCannot(
    `write ${what} ${path}: its folder`,
    () => fs.mkdirSync(folder, { recursive: true }),
  );
}

/** The folder of a path; empty for the working folder. */
function folderOf(path: string): string {
  return path.replace(/[/\\]?[^/\\]*$/, "");
}

/**
 * Checks that `path` can be written, without changing its content.
 *
 * @throws {InputError} If it cannot be written.
 */
export function assertWritable(path: string, what: string): void {
  open(path, what, fs.constants.O_WRONLY | fs.constants.O_CREAT)[Symbol.dispose]();
}

/**
 * Checks that a path is no link, through which a file would be lost that nobody named. Links of the system, such as
 * `/dev/stdout`, lead to what is open already.
 *
 * @throws {InputError} If it is a link.
 */
export function assertNoLink(path: string, what: string, shown = path): void {
  if (isLink(path) && !path.startsWith("/dev/")) throw linked(shown, what);
}

function linked(path: string, what: string): InputError {
  return cannot(`write ${what} ${path}`, "it must be a file of its own", "it is a link");
}

/**
 * Checks that a file replaces nothing but its own kind: a suite, a baseline or a file of the user's would be lost.
 * An empty file, and what may not be read, may be replaced.
 *
 * @param kind What may be replaced, in words; `isOwn` says whether a JSON object, which is empty for other files,
 * or a text is it.
 * @throws {InputError} If another file is there.
 */
export function assertReplaceable(
  path: string,
  what: string,
  { kind, isOwn, shown = path }: {
    readonly kind: string;
    readonly isOwn: (value: JsonObject, text: string) => boolean;
    readonly shown?: string;
  },
): void {
  if (!isGranted({ name: "read", path })) return;
  // Of a device nothing can be lost, and of anything else writing gives the error.
  const text = attempt(() => fs.statSync(path).isFile() && fs.readFileSync(path, "utf8")) || "";
  const value = parseJson(text);
  if (text === "" || isOwn(value !== undefined && isJsonObject(value) ? value : {}, text)) return;
  throw cannot(`write ${what} ${shown}`, `only ${kind} may be replaced`, "another file is there");
}

/**
 * Checks that a text file replaces nothing but one that begins with `start`, or is empty. `kind` says in words what
 * may be replaced.
 *
 * @throws {InputError} If another file is there, or what is there cannot be read.
 */
export function assertBegins(
  path: string,
  what: string,
  { kind, start, shown = path }: {
    readonly kind: string;
    readonly start: string;
    readonly shown?: string;
  },
): void {
  if (isMissing(path)) return;
  const bytes = orUnwritable(shown, what, () => {
    using file = new OpenFile(path, "r");
    return file.read(new Uint8Array(start.length));
  });
  if (bytes.length === 0 || new TextDecoder().decode(bytes) === start) return;
  throw cannot(`write ${what} ${shown}`, `only ${kind} may be replaced`, "another file is there");
}

/** Opens a file, and creates its parent folders. Messages name `shown`, which it will become. */
function open(path: string, what: string, flags: string | number, shown = path): OpenFile {
  try {
    return new OpenFile(path, flags);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw unwritable(shown, what, error);
  }
  makeFolder(shown, what);
  return orUnwritable(shown, what, () => new OpenFile(path, flags));
}

/** Options of {@linkcode Output}. */
export interface OutputOptions {
  /** Whether a link is followed, and stays one; default `true`. */
  readonly links?: boolean;
}

/**
 * A file that replaces the existing one only once it is complete: half a report would look like a whole
 * one.
 */
export class Output implements Disposable {
  readonly #path: string;
  readonly #what: string;
  readonly #part: string;
  readonly #file: OpenFile;

  /**
   * Starts to write a file, and creates its parent folders. `what` names the output in messages, such as
   * `the report to`.
   *
   * @throws {InputError} If it cannot be written, or is a link that must not be followed.
   */
  constructor(path: string, what: string, { links = true }: OutputOptions = {}) {
    this.#path = path;
    this.#what = what;
    if (!links && isLink(path)) throw linked(path, what);
    // Nobody can guess the name, and put a file there or a link.
    const part = `${path}.${crypto.randomUUID()}.part`;
    const file = !links ? open(part, what, "wx", path) : isReplaceable(path, part)
      // The permission may cover only the final path.
      ? attempt(() => open(part, what, "wx"))
      : undefined;
    this.#part = file === undefined ? path : part;
    this.#file = file ?? open(path, what, "w");
  }

  /** Appends text. */
  write(text: string): void {
    orUnwritable(this.#path, this.#what, () => this.#file.write(text));
  }

  /** Moves the file to its place. */
  finish(): void {
    if (this.#part === this.#path) return;
    orUnwritable(this.#path, this.#what, () => fs.renameSync(this.#part, this.#path));
  }

  /** Closes the file; an unfinished one is deleted. */
  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
    if (this.#part === this.#path) return;
    // It may have been moved to its place.
    attempt(() => fs.unlinkSync(this.#part));
  }
}

function isLink(path: string): boolean {
  return attempt(() => fs.lstatSync(path).isSymbolicLink()) ?? false;
}

/** Whether the existing file may be replaced: a device may not. */
function isReplaceable(path: string, part: string): boolean {
  // Deno requires read permission to rename a file.
  if (!isGranted({ name: "read", path: part })) return false;
  try {
    return fs.lstatSync(path).isFile();
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}

/**
 * Writes a whole file, and creates its parent folders.
 *
 * @throws {InputError} If it cannot be written.
 */
export function writeOutput(
  path: string,
  text: string,
  what: string,
  options: OutputOptions = {},
): void {
  using output = new Output(path, what, options);
  output.write(text);
  output.finish();
}

/**
 * Writes a whole file where there is none, and creates its parent folders. Returns whether it did: of several
 * processes one does, and what is there is never touched.
 *
 * @throws {InputError} If it cannot be written.
 */
export function writeNewOutput(path: string, text: string, what: string): boolean {
  makeFolder(path, what);
  using file = openNew(path, what, (path) => new OpenFile(path, "wx"));
  if (file === undefined) return false;
  try {
    file.write(text);
  } catch (error) {
    // Half of it would look like a damaged one.
    fs.unlinkSync(path);
    throw unwritable(path, what, error);
  }
  return true;
}

/** Returns the file that `open` makes where there is none; `undefined` if one is there. */
export function openNew<T>(path: string, what: string, open: (path: string) => T): T | undefined {
  try {
    return open(path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw unwritable(path, what, error);
    if (!isLink(path) || !isMissing(path)) return undefined;
    throw cannot(`write ${what} ${path}`, "it must be a file", "it is a link to nowhere");
  }
}

/**
 * Checks that {@linkcode writeNewOutput} can write a file, as far as its folder is there. Nothing is left there.
 *
 * @throws {InputError} If it cannot.
 */
export function assertCreatable(path: string, what: string): void {
  const folder = folderOf(path);
  if (folder !== "" && isMissing(folder)) return;
  const file = openNew(path, what, (path) => new OpenFile(path, "wx"));
  if (file === undefined) return;
  file[Symbol.dispose]();
  fs.unlinkSync(path);
}

/** Whether there is nothing at a path. Where that cannot be read, something may be there. */
export function isMissing(path: string): boolean {
  try {
    fs.statSync(path);
    return false;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}

/** Whether there is something at a path, as far as that can be read. */
export function isThere(path: string): boolean {
  return attempt(() => fs.statSync(path)) !== undefined;
}

/** Removes a file, if there is one. */
export function removeIfThere(path: string): void {
  try {
    fs.unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw cannotFile(`remove ${path}`, error);
  }
}

/** Returns the real path of a file, as one file may have several paths; as far as links can be read. */
export function resolvePath(path: string): string {
  const whole = paths.resolve(path);
  for (let parent = whole; paths.dirname(parent) !== parent; parent = paths.dirname(parent)) {
    // It may not exist yet, nor its folders.
    const real = attempt(() => fs.realpathSync(parent));
    if (real !== undefined) return paths.join(real, paths.relative(parent, whole));
  }
  return whole;
}

/**
 * Returns what work with a file that is written gives.
 *
 * @throws {InputError} If it fails.
 */
export function orUnwritable<T>(path: string, what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof InputError ? error : unwritable(path, what, error);
  }
}

/** Makes the error for a file that cannot be written. */
export function unwritable(path: string, what: string, error: unknown): InputError {
  return cannotFile(`write ${what} ${path}`, besides(path, error));
}

/** Names the folder where Deno refused a part file beside `path`, whose name is another one each time. */
function besides(path: string, error: unknown): unknown {
  if (errorCode(error) !== "NotCapable") return error;
  const [, access] = /^Requires (read|write) access to ".*\.part"/.exec(reasonOf(error)) ?? [];
  return access === undefined ? error : notCapable(access, paths.dirname(path));
}
