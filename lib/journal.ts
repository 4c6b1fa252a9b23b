/**
 * Journals: files of one JSON value a line, to which finished work is appended so that nothing of it
 * is lost when the process dies.
 * @module
 */

import { fileReason, InputError, readText } from "./input.ts";
import type { JsonValue } from "./json.ts";

/** What a journal holds. */
export interface JournalContent {
  /** Its values, in order. */
  readonly lines: readonly { readonly value: JsonValue; readonly line: number }[];
  /** Bytes of a torn last line, which a process left that died while writing; 0 for none. */
  readonly tornBytes: number;
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
  const text = readText(path);
  const rows = text.split("\n");
  const last = rows.at(-1)!;
  const lines: { value: JsonValue; line: number }[] = [];
  let tornBytes = 0;
  let unended = false;
  for (const [index, row] of rows.entries()) {
    if (row.trim() === "") continue;
    try {
      lines.push({ value: JSON.parse(row), line: index + 1 });
      unended = index === rows.length - 1;
    } catch {
      if (index < rows.length - 1) {
        throw new InputError(`Cannot use ${path}: line ${index + 1} is not JSON`);
      }
      tornBytes = new TextEncoder().encode(last).length;
    }
  }
  const wholeBytes = new TextEncoder().encode(text).length - tornBytes;
  return { lines, tornBytes, wholeBytes, unended };
}

/** What is said of a torn last line. */
export function tornNotice(path: string, bytes: number): string {
  return `Dropped a torn last line of ${path} (${bytes} bytes)`;
}

/** A journal that is open for appending. */
export class JournalWriter implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;

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
    try {
      this.#write(JSON.stringify(value) + "\n");
    } catch (error) {
      throw new InputError(`Cannot write the journal ${this.#path}: ${fileReason(error)}`);
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
