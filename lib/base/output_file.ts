/**
 * Output files, written for people.
 * @module
 */

import defer * as paths from "node:path";
import { attempt, cannot, cannotFile, InputError, orCannot } from "./errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "./json.ts";

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
    () => Deno.mkdirSync(folder, { recursive: true }),
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
  open(path, what, {}).close();
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
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return;
  // Of a device nothing can be lost, and of anything else writing gives the error.
  const text = attempt(() => Deno.statSync(path).isFile && Deno.readTextFileSync(path)) || "";
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
  const bytes = new Uint8Array(start.length);
  const length = orUnwritable(shown, what, () => {
    using file = Deno.openSync(path);
    return file.readSync(bytes);
  });
  if (length === null || new TextDecoder().decode(bytes) === start) return;
  throw cannot(`write ${what} ${shown}`, `only ${kind} may be replaced`, "another file is there");
}

/** Opens a file, and creates its parent folders. Messages name `shown`, which it will become. */
function open(path: string, what: string, how: Deno.OpenOptions, shown = path): Deno.FsFile {
  const options = { write: true, create: true, ...how };
  try {
    return Deno.openSync(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw unwritable(shown, what, error);
  }
  makeFolder(shown, what);
  return orUnwritable(shown, what, () => Deno.openSync(path, options));
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
  readonly #file: Deno.FsFile;

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
    const file = !links ? open(part, what, { createNew: true }, path) : isReplaceable(path, part)
      // The permission may cover only the final path.
      ? attempt(() => open(part, what, { createNew: true }))
      : undefined;
    this.#part = file === undefined ? path : part;
    this.#file = file ?? open(path, what, { truncate: true });
  }

  /** Appends text. */
  write(text: string): void {
    orUnwritable(this.#path, this.#what, () => writeAll(this.#file, text));
  }

  /** Moves the file to its place. */
  finish(): void {
    if (this.#part === this.#path) return;
    orUnwritable(this.#path, this.#what, () => Deno.renameSync(this.#part, this.#path));
  }

  /** Closes the file; an unfinished one is deleted. */
  [Symbol.dispose](): void {
    this.#file.close();
    if (this.#part === this.#path) return;
    // It may have been moved to its place.
    attempt(() => Deno.removeSync(this.#part));
  }
}

function isLink(path: string): boolean {
  return attempt(() => Deno.lstatSync(path).isSymlink) ?? false;
}

/** Whether the existing file may be replaced: a device may not. */
function isReplaceable(path: string, part: string): boolean {
  // Deno requires read permission to rename a file.
  const query = { name: "read", path: part } as const;
  if (Deno.permissions.querySync(query).state !== "granted") return false;
  try {
    return Deno.lstatSync(path).isFile;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
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
  using file = openNew(path, what);
  if (file === undefined) return false;
  try {
    writeAll(file, text);
  } catch (error) {
    // Half of it would look like a damaged one.
    Deno.removeSync(path);
    throw unwritable(path, what, error);
  }
  return true;
}

/** Opens a file where there is none; `undefined` if one is there. */
export function openNew(path: string, what: string): Deno.FsFile | undefined {
  try {
    return Deno.openSync(path, { write: true, createNew: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw unwritable(path, what, error);
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
  const file = openNew(path, what);
  if (file === undefined) return;
  file.close();
  Deno.removeSync(path);
}

/** Whether there is nothing at a path. Where that cannot be read, something may be there. */
export function isMissing(path: string): boolean {
  try {
    Deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Whether there is something at a path, as far as that can be read. */
export function isThere(path: string): boolean {
  return attempt(() => Deno.statSync(path)) !== undefined;
}

/** Removes a file, if there is one. */
export function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw cannotFile(`remove ${path}`, error);
  }
}

/** Writes all of `text`. */
export function writeAll(file: Pick<Deno.FsFile, "writeSync">, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let offset = 0; offset < bytes.length;) {
    offset += file.writeSync(bytes.subarray(offset));
  }
}

/** Returns the real path of a file, as one file may have several paths; as far as links can be read. */
export function resolvePath(path: string): string {
  const whole = paths.resolve(path);
  for (let parent = whole; paths.dirname(parent) !== parent; parent = paths.dirname(parent)) {
    // It may not exist yet, nor its folders.
    const real = attempt(() => Deno.realPathSync(parent));
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
  if (!(error instanceof Deno.errors.NotCapable)) return error;
  const [, access] = /^Requires (read|write) access to ".*\.part"/.exec(error.message) ?? [];
  if (access === undefined) return error;
  return new Deno.errors.NotCapable(`it needs --allow-${access}=${paths.dirname(path)}`);
}
