/**
 * Journals: files of one JSON value a line, to which finished work is appended so that nothing of it
 * is lost when the process dies.
 * @module
 */

import { fileReason, InputError } from "../../base/errors.ts";
import { type JsonValue, parseJson } from "../../base/json.ts";
import { makeFolder, unwritable, writeAll } from "../../base/output_file.ts";

/** Where a line stands in its file. */
export interface JournalPlace {
  /** Its number, from 1. */
  readonly line: number;
  /** The bytes before it. */
  readonly start: number;
  /** Its own bytes, without the line break. */
  readonly bytes: number;
}

/** A line of a journal. */
export interface JournalLine extends JournalPlace {
  /** What it holds. */
  readonly value: JsonValue;
}

/** How a journal ends. */
export interface JournalEnd {
  /** How many values it holds. */
  readonly count: number;
  /** Bytes of a torn last line, which a process left that died while writing; 0 for none. */
  readonly tornBytes: number;
  /** The beginning of the torn last line. */
  readonly torn: string;
  /** Bytes of everything but the torn last line. */
  readonly wholeBytes: number;
  /** Whether the last whole line lacks its line break. */
  readonly unended: boolean;
}

/**
 * The lines of a journal, one after another: it may be far larger than memory. A last line without a
 * line break that is no JSON is torn: it is left out, and what is returned at the end tells of it.
 *
 * @throws {InputError} If the file cannot be read, or any other line is no JSON; the message names
 * the file and the line.
 */
export function* journalLines(path: string): Generator<JournalLine, JournalEnd, void> {
  using file = open(path);
  const chunk = new Uint8Array(CHUNK_BYTES);
  let begun: Uint8Array[] = [];
  let [count, line, start] = [0, 1, 0];
  for (let read = fill(chunk, file, path); read.length > 0; read = fill(chunk, file, path)) {
    let from = 0;
    for (let end; (end = read.indexOf(LINE_BREAK, from)) >= 0; from = end + 1) {
      // Lines are told apart before they are decoded, as a chunk may end within a character.
      const bytes = joined([...begun, read.subarray(from, end)]);
      begun = [];
      const text = decoder.decode(bytes);
      const value = parseJson(text);
      if (value !== undefined) {
        count++;
        yield { value, line, start, bytes: bytes.length };
      } else if (text.trim() !== "") {
        throw new InputError(`Cannot use ${path}: line ${line} is not JSON`);
      }
      line++;
      start += bytes.length + 1;
    }
    begun.push(read.slice(from));
    if (begun.length > LONGEST_LINE / CHUNK_BYTES) {
      throw new InputError(`Cannot use ${path}: line ${line} is longer than any line of a journal`);
    }
  }
  const bytes = joined(begun);
  const text = decoder.decode(bytes);
  const value = parseJson(text);
  if (value === undefined) {
    const torn = text.slice(0, 100);
    return { count, torn, tornBytes: bytes.length, wholeBytes: start, unended: false };
  }
  yield { value, line, start, bytes: bytes.length };
  const wholeBytes = start + bytes.length;
  return { count: count + 1, torn: "", tornBytes: 0, wholeBytes, unended: true };
}

/**
 * Reads a journal: hands each line to `take`, and tells how it ends.
 *
 * @throws {InputError} As {@linkcode journalLines} does.
 */
export function readJournal(path: string, take: (line: JournalLine) => void): JournalEnd {
  using lines = journalLines(path);
  for (;;) {
    const { done, value } = lines.next();
    if (done) return value;
    take(value);
  }
}

/**
 * Reads one line again.
 *
 * @throws {InputError} If the file cannot be read, or has something else in that place by now.
 */
export function readLineAgain(path: string, { line, start, bytes }: JournalPlace): JsonValue {
  using file = open(path);
  const rest = new Uint8Array(bytes);
  file.seekSync(start, Deno.SeekMode.Start);
  for (let size = 0; size < bytes;) {
    const read = fill(rest.subarray(size), file, path);
    if (read.length === 0) break;
    size += read.length;
  }
  const value = parseJson(decoder.decode(rest));
  if (value !== undefined) return value;
  throw new InputError(`Cannot use ${path}: line ${line} was changed while it was in use`);
}

const LINE_BREAK = "\n".charCodeAt(0);
const CHUNK_BYTES = 2 ** 20;
/** Far beyond any trial; what has no line break for so long is no journal. */
const LONGEST_LINE = 2 ** 28;

const decoder = new TextDecoder();

function open(path: string): Deno.FsFile {
  try {
    return Deno.openSync(path);
  } catch (error) {
    throw new InputError(`Cannot read ${path}: ${fileReason(error)}`);
  }
}

/** The part of `chunk` that was filled with what comes next; an empty one at the end of the file. */
function fill(chunk: Uint8Array<ArrayBuffer>, file: Deno.FsFile, path: string): Uint8Array {
  try {
    return chunk.subarray(0, file.readSync(chunk) ?? 0);
  } catch (error) {
    throw new InputError(`Cannot read ${path}: ${fileReason(error)}`);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
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

/** What is said of a torn last line. */
export function tornNotice(path: string, bytes: number): string {
  return `Dropped a torn last line of ${path} (${bytes} bytes)`;
}

/** A journal that is open for appending. */
export class JournalWriter implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #broken: InputError | undefined;

  private constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Begins a new journal; folders on the way to it are made.
   *
   * @throws {InputError} If there is such a file already, or it cannot be written.
   */
  static create(path: string): JournalWriter {
    makeFolder(path, "the journal");
    try {
      return new JournalWriter(path, Deno.openSync(path, { write: true, createNew: true })).#lock();
    } catch (error) {
      if (error instanceof InputError) throw error;
      if (error instanceof Deno.errors.AlreadyExists) throw JournalWriter.existing(path);
      throw unwritable(path, "the journal", error);
    }
  }

  /** The error for a journal that is there already: finished work is never overwritten. */
  static existing(path: string): InputError {
    return new InputError(
      `Cannot begin the journal ${path} as there is such a file already: ` +
        "continue it with --resume, or name another one",
    );
  }

  /**
   * Continues a journal that was read: its torn last line is cut off first.
   *
   * @throws {InputError} If it cannot be written.
   */
  static append(path: string, end: JournalEnd): JournalWriter {
    try {
      const writer = new JournalWriter(path, Deno.openSync(path, { read: true, write: true }));
      writer.#lock();
      if (writer.#file.statSync().size !== end.wholeBytes + end.tornBytes) {
        writer.#file.close();
        throw new InputError(`Cannot continue ${path} as another run has just written to it`);
      }
      writer.#file.truncateSync(end.wholeBytes);
      writer.#file.seekSync(0, Deno.SeekMode.End);
      if (end.unended) writer.#write("\n");
      return writer;
    } catch (error) {
      if (error instanceof InputError) throw error;
      throw unwritable(path, "the journal", error);
    }
  }

  /**
   * Appends one value as a line. When it returns, the line has left this process.
   *
   * @throws {InputError} If it cannot be written.
   */
  write(value: unknown): void {
    // After half a line, as on a full disk, another one would spoil the middle of the file.
    if (this.#broken !== undefined) throw this.#broken;
    try {
      this.#write(JSON.stringify(value) + "\n");
    } catch (error) {
      this.#broken = unwritable(this.#path, "the journal", error);
      throw this.#broken;
    }
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }

  /** Two runs that wrote to one journal would tear each other's lines. */
  #lock(): this {
    if (this.#file.tryLockSync(true)) return this;
    this.#file.close();
    throw new InputError(`Cannot write the journal ${this.#path} as another run is writing to it`);
  }

  #write(text: string): void {
    writeAll(this.#file, text);
  }
}
