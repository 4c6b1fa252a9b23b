/**
 * Files that are written for people.
 * @module
 */

import defer * as paths from "node:path";
import { fileReason, InputError } from "./errors.ts";

/**
 * Makes the folders on the way to `path`; `what` is to be written there, such as `the report to`.
 *
 * @throws {InputError} If they cannot be made.
 */
export function makeFolder(path: string, what: string): void {
  const folder = path.replace(/[/\\]?[^/\\]*$/, "");
  if (folder === "") return;
  try {
    Deno.mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new InputError(`Cannot write ${what} ${path}: its folder: ${fileReason(error)}`);
  }
}

/**
 * Makes sure that `path` can be written, and keeps what it holds.
 *
 * @throws {InputError} If it cannot be written.
 */
export function assertWritable(path: string, what: string): void {
  open(path, what, {}).close();
}

/** Opens a file, and makes the folders on the way to it. */
function open(path: string, what: string, how: Deno.OpenOptions): Deno.FsFile {
  const options = { write: true, create: true, ...how };
  try {
    return Deno.openSync(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw unwritable(path, what, error);
  }
  makeFolder(path, what);
  try {
    return Deno.openSync(path, options);
  } catch (error) {
    throw unwritable(path, what, error);
  }
}

/**
 * A file that takes the place of what was there once it is whole, and not before: half a report would
 * look like one.
 */
export class Output implements Disposable {
  readonly #path: string;
  readonly #what: string;
  readonly #part: string;
  readonly #file: Deno.FsFile;

  /**
   * Begins to write a file, and makes the folders on the way to it; `what` is written, such as `the
   * report to`.
   *
   * @throws {InputError} If it cannot be written.
   */
  constructor(path: string, what: string) {
    this.#path = path;
    this.#what = what;
    // Whatever has its name already, such as a journal, is not ours to write over.
    const part = `${path}.${Deno.pid}.part`;
    const file = isReplaceable(path, part) ? openIfAllowed(part, what) : undefined;
    this.#part = file === undefined ? path : part;
    this.#file = file ?? open(path, what, { truncate: true });
  }

  /** Appends text. */
  write(text: string): void {
    try {
      writeAll(this.#file, text);
    } catch (error) {
      throw unwritable(this.#path, this.#what, error);
    }
  }

  /** Puts the file in its place. */
  finish(): void {
    try {
      if (this.#part !== this.#path) Deno.renameSync(this.#part, this.#path);
    } catch (error) {
      throw unwritable(this.#path, this.#what, error);
    }
  }

  /** Closes the file; what was not finished is gone. */
  [Symbol.dispose](): void {
    this.#file.close();
    if (this.#part === this.#path) return;
    try {
      Deno.removeSync(this.#part);
    } catch {
      // It is in its place.
    }
  }
}

/** Whether another file may take the place of what is there: that of a device may not. */
function isReplaceable(path: string, part: string): boolean {
  // To rename a file takes leave to read it.
  const query = { name: "read", path: part } as const;
  if (Deno.permissions.querySync(query).state !== "granted") return false;
  try {
    return Deno.lstatSync(path).isFile;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Permission may be given for the very file, and for none beside it. */
function openIfAllowed(path: string, what: string): Deno.FsFile | undefined {
  try {
    return open(path, what, { createNew: true });
  } catch {
    return undefined;
  }
}

/**
 * Writes a whole file, and makes the folders on the way to it.
 *
 * @throws {InputError} If it cannot be written.
 */
export function writeOutput(path: string, text: string, what: string): void {
  using output = new Output(path, what);
  output.write(text);
  output.finish();
}

/** Writes all of `text`. */
export function writeAll(file: Deno.FsFile, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    written += file.writeSync(bytes.subarray(written));
  }
}

/**
 * Where a path leads, as one file may have many of them; as far as that may be looked up.
 */
export function placeOf(path: string): string {
  const whole = paths.resolve(path);
  for (let known = whole; paths.dirname(known) !== known; known = paths.dirname(known)) {
    try {
      return paths.join(Deno.realPathSync(known), paths.relative(known, whole));
    } catch {
      // It may be yet to be made, and its folders too.
    }
  }
  return whole;
}

/** Why a file cannot be written. */
export function unwritable(path: string, what: string, error: unknown): InputError {
  return new InputError(`Cannot write ${what} ${path}: ${fileReason(error)}`);
}
