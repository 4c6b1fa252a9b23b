/**
 * Journals: files of one JSON value a line, to which finished work is appended so that nothing of it
 * is lost when the process dies.
 * @module
 */

import { fileReason, InputError, readBytes } from "./input.ts";
import { type JsonValue, parseJson } from "./json.ts";

/** What a journal holds. */
export interface JournalContent {
  /** Its values, in order. */
  readonly lines: readonly { readonly value: JsonValue; readonly line: number }[];
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
 * Reads a journal. A last line without a line break that is no JSON is torn: it is left out and
 * counted.
 *
 * @throws {InputError} If the file cannot be read, or any other line is no JSON; the message names
 * the file and the line.
 */
export function readJournal(path: string): JournalContent {
  const bytes = readBytes(path);
  // A line may be cut within a character, so the last line is told apart before it is decoded.
  const wholeBytes = bytes.lastIndexOf(LINE_BREAK) + 1;
  const decoder = new TextDecoder();
  const rows = decoder.decode(bytes.subarray(0, wholeBytes)).split("\n").slice(0, -1);
  const lines = rows.flatMap((row, index) => {
    const line = index + 1;
    const value = parseJson(row);
    if (value !== undefined) return [{ value, line }];
    if (row.trim() === "") return [];
    throw new InputError(`Cannot use ${path}: line ${line} is not JSON`);
  });
  const last = decoder.decode(bytes.subarray(wholeBytes));
  const value = parseJson(last);
  if (value !== undefined) {
    lines.push({ value, line: rows.length + 1 });
    return { lines, torn: "", tornBytes: 0, wholeBytes: bytes.length, unended: true };
  }
  const torn = last.slice(0, 100);
  return { lines, torn, tornBytes: bytes.length - wholeBytes, wholeBytes, unended: false };
}

const LINE_BREAK = "\n".charCodeAt(0);

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
    const folder = path.replace(/[/\\]?[^/\\]*$/, "");
    try {
      if (folder !== "") Deno.mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw new InputError(`Cannot write the journal ${path}: its folder: ${fileReason(error)}`);
    }
    try {
      return new JournalWriter(path, Deno.openSync(path, { write: true, createNew: true })).#lock();
    } catch (error) {
      if (error instanceof InputError) throw error;
      if (error instanceof Deno.errors.AlreadyExists) throw JournalWriter.existing(path);
      throw new InputError(`Cannot write the journal ${path}: ${fileReason(error)}`);
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
  static append(path: string, content: JournalContent): JournalWriter {
    try {
      const writer = new JournalWriter(path, Deno.openSync(path, { read: true, write: true }));
      writer.#lock();
      if (writer.#file.statSync().size !== content.wholeBytes + content.tornBytes) {
        writer.#file.close();
        throw new InputError(`Cannot continue ${path} as another run has just written to it`);
      }
      writer.#file.truncateSync(content.wholeBytes);
      writer.#file.seekSync(0, Deno.SeekMode.End);
      if (content.unended) writer.#write("\n");
      return writer;
    } catch (error) {
      if (error instanceof InputError) throw error;
      throw new InputError(`Cannot write the journal ${path}: ${fileReason(error)}`);
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
      this.#broken = new InputError(`Cannot write the journal ${this.#path}: ${fileReason(error)}`);
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
    const bytes = new TextEncoder().encode(text);
    for (let written = 0; written < bytes.length;) {
      written += this.#file.writeSync(bytes.subarray(written));
    }
  }
}
