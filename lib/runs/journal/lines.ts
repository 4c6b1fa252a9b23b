/**
 * Journals: files of one JSON object a line. Finished work is appended at once, so that it survives when the
 * process dies. Each line ends with a checksum that takes in the line before, so that none can be changed, doubled or
 * taken out of the middle unnoticed.
 * @module
 */

import { type LockedFile, openLocked } from "#runtime";
import { cannot, errorCode, InputError, orCannot, reasonOf } from "../../base/errors.ts";
import { sha256 } from "../../base/hash.ts";
import { assertVersion, concatBytes, isUtf16 } from "../../base/input.ts";
import { isJsonObject, jsonText, type JsonValue, parseJson } from "../../base/json.ts";
import { OpenFile } from "../../base/open_file.ts";
import { makeFolder, openNew, orUnwritable, unwritable } from "../../base/output_file.ts";

/** A journal that is not as its run wrote it, or of which its run wrote nothing. */
export class BrokenJournalError extends InputError {}

/** The place of a line in its file. */
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
  /** The parsed line, without its checksum. */
  readonly value: JsonValue;
}

/** The end of a journal. */
export interface JournalEnd {
  /** The number of values. */
  readonly count: number;
  /** Bytes of a torn last line, left by a process that died while writing; 0 for none. */
  readonly tornBytes: number;
  /** The beginning of the torn last line. */
  readonly torn: string;
  /** Bytes of the file without the torn last line. */
  readonly wholeBytes: number;
  /** Whether the last whole line lacks its line break. */
  readonly unended: boolean;
  /** The checksum of the last whole line, empty if there is none; `undefined` if the lines have no checksums. */
  readonly sum: string | undefined;
}

/** How journals are read. */
export interface ReadingOptions {
  /** Whether a journal may have no checksums, such as those of other tools; default `false`. */
  readonly unchecked?: boolean | undefined;
  /** Whether the lines were checked a moment ago, by this process; default `false`. */
  readonly again?: boolean;
}

/** What stands before the checksum of a line, which is its last property: 64 hexadecimal digits. */
const SUM = ',"sum":"';
const SUMMED = /^,"sum":"[0-9a-f]{64}"\}$/;
const SUM_LENGTH = SUM.length + 66;

/** Returns the line of an object, whose checksum takes in that of the line before, and this checksum. */
export function chainedLine(value: object, before: string): readonly [line: string, sum: string] {
  const head = jsonText(value).slice(0, -1);
  const sum = sha256(before + head);
  return [`${head}${SUM}${sum}"}\n`, sum];
}

/** Parses a line; `undefined` if it is no JSON. */
function parseLine(text: string) {
  const line = text.trimEnd();
  const [head, tail] = [line.slice(0, -SUM_LENGTH), line.slice(-SUM_LENGTH)];
  if (!SUMMED.test(tail)) return { value: parseJson(line), head, sum: undefined };
  return { value: parseJson(`${head}}`), head, sum: tail.slice(SUM.length, -2) };
}

/**
 * Yields the lines of a journal, which may be far larger than memory. A last line without a line break that
 * is not JSON is torn: it is dropped and reported in the returned end.
 *
 * @throws {InputError} If the file cannot be read, any other line is not JSON, or its checksum does not follow from it
 * and the line before; the message names the file and the line.
 */
export function* journalLines(
  path: string,
  { unchecked = false, again = false }: ReadingOptions = {},
): Generator<JournalLine, JournalEnd, void> {
  using file = openFile(path);
  const chunk = new Uint8Array(CHUNK_BYTES);
  let pending: Uint8Array[] = [];
  let [count, line, start] = [0, 1, 0];
  let before: string | undefined = "";
  const checked = (text: string): JsonValue | undefined => {
    const { value, head, sum } = parseLine(text);
    if (again) return value;
    if (value === undefined) return undefined;
    assertVersion(value, `${path}, line ${line}`);
    if (sum === undefined && count === 0 && !unchecked && isJournalLine(value)) {
      throw cannot(
        `use ${path}, line ${line}`,
        "each line of a journal must have a checksum",
        "it has none; gate, check, accept, report, export and history add take a journal of another tool " +
          "with --unchecked",
      );
    }
    const isUnchecked = sum === undefined && (count === 0 || before === undefined);
    if (!isUnchecked && (before === undefined || sum !== sha256(before + head))) {
      throw new BrokenJournalError(
        `Cannot use ${path}, line ${line} as the checksum of a line must follow from it and the line before: ` +
          "it was changed, or is not where its run wrote it",
      );
    }
    before = sum;
    count++;
    return value;
  };
  for (let filled = fill(chunk, file, path); filled.length > 0; filled = fill(chunk, file, path)) {
    let from = 0;
    for (let end; (end = filled.indexOf(LINE_BREAK, from)) >= 0; from = end + 1) {
      // Lines are separated before decoding, as a chunk may end within a character.
      const bytes = concatBytes([...pending, filled.subarray(from, end)]);
      pending = [];
      const text = decoder.decode(bytes);
      const value = checked(text);
      if (value !== undefined) {
        yield { value, line, start, bytes: bytes.length };
      } else if (text.trim() !== "") {
        const message = `Cannot use ${path}: line ${line} is not JSON`;
        if (count > 0 && before !== undefined) throw new BrokenJournalError(message);
        throw new InputError(message + insteadOf(path));
      }
      line++;
      start += bytes.length + 1;
    }
    pending.push(filled.slice(from));
    if (pending.length > MAX_LINE_LENGTH / CHUNK_BYTES) {
      throw new InputError(`Cannot use ${path}: line ${line} is longer than any line of a journal`);
    }
  }
  const bytes = concatBytes(pending);
  const text = decoder.decode(bytes);
  const value = checked(text);
  if (value === undefined) {
    const end = { count, tornBytes: bytes.length, torn: text.slice(0, 100), wholeBytes: start };
    return { ...end, unended: false, sum: before };
  }
  yield { value, line, start, bytes: bytes.length };
  const wholeBytes = start + bytes.length;
  return { count, tornBytes: 0, torn: "", wholeBytes, unended: true, sum: before };
}

/**
 * Reads one line again.
 *
 * @throws {InputError} If the file cannot be read, or has changed in that place.
 */
export function readLineAgain(path: string, { line, start, bytes }: JournalPlace): JsonValue {
  using file = openFile(path);
  const { value } = parseLine(decoder.decode(fill(new Uint8Array(bytes), file, path, start)));
  if (value !== undefined) return value;
  throw new InputError(`Cannot use ${path}: line ${line} was changed while it was in use`);
}

/** Whether a first line is that of a journal: of another file its reader says what it is. */
function isJournalLine(value: JsonValue): boolean {
  return isJsonObject(value) && ["plan", "trial", "resume", "end"].includes(`${value["kind"]}`);
}

/** Bytes by which a file of another kind is recognized. */
const HEAD_BYTES = 4_000;

/** Says what a file is that is no journal, as `: it is ...`; empty if it is of no kind that users mistake for one. */
function insteadOf(path: string): string {
  using file = openFile(path);
  const head = fill(new Uint8Array(HEAD_BYTES), file, path);
  const text = decoder.decode(head).trimStart();
  const kind = isUtf16(head)
    ? "UTF-16, and a journal is UTF-8"
    : /^<(?:!|html)/i.test(text)
    ? "a page (HTML), and no journal"
    : /^\{[^]*"kind":\s*"record"/.test(text)
    ? "the record of a run, and no journal"
    : /^[{/](?!.*"kind":\s*"(?:plan|trial)")[^]*"(?:tasks|models)":/.test(text)
    ? "a suite, and no journal: run it with --out to make one"
    : head.includes(0)
    ? "no text"
    : undefined;
  return kind === undefined ? "" : `: it is ${kind}`;
}

const LINE_BREAK = "\n".charCodeAt(0);
const CHUNK_BYTES = 2 ** 20;
/** Far longer than any trial: a file without a line break for so long is no journal. */
const MAX_LINE_LENGTH = 2 ** 28;

const decoder = new TextDecoder();

function openFile(path: string): OpenFile {
  return orCannot(`read ${path}`, () => new OpenFile(path, "r"));
}

/** Reads the next bytes, or those at a position, as {@linkcode OpenFile.read}. */
function fill(chunk: Uint8Array, file: OpenFile, path: string, position?: number): Uint8Array {
  return orCannot(`read ${path}`, () => file.read(chunk, position));
}

/** The notice of a torn last line. */
export function tornNotice(path: string, bytes: number): string {
  return `Dropped a torn last line of ${path} (${bytes} bytes)`;
}

/** A journal that is open for appending. */
export class JournalWriter implements Disposable {
  readonly #path: string;
  readonly #file: LockedFile;
  /** The checksum of the last line. */
  #sum: string;
  #broken: InputError | undefined;

  private constructor(path: string, file: LockedFile, sum = "") {
    this.#path = path;
    this.#file = file;
    this.#sum = sum;
  }

  /**
   * Creates a new journal and its folders.
   *
   * @throws {InputError} If the file already exists or cannot be written.
   */
  static create(path: string): JournalWriter {
    makeFolder(path, "the journal");
    const file = openNew(path, "the journal", () => openJournal(path, true));
    if (file === undefined) throw JournalWriter.existing(path);
    return new JournalWriter(path, file);
  }

  /** The error for a journal that already exists: finished work is never overwritten. */
  static existing(path: string): InputError {
    return cannot(
      `begin the journal ${path}`,
      "there is such a file already",
      "continue it with --resume, or name another one",
    );
  }

  /**
   * Continues a journal that was read: a torn last line is removed first.
   *
   * @throws {InputError} If it cannot be written.
   */
  static append(path: string, end: JournalEnd): JournalWriter {
    return orUnwritable(path, "the journal", () => {
      const file = openJournal(path, false);
      if (file.size !== end.wholeBytes + end.tornBytes) {
        file.close();
        throw cannot(`continue ${path}`, "another run has just written to it");
      }
      file.truncate(end.wholeBytes);
      if (end.unended) file.write("\n");
      return new JournalWriter(path, file, end.sum);
    });
  }

  /**
   * Appends an object as a line. The line has left this process when it returns.
   *
   * @throws {InputError} If it cannot be written.
   */
  write(value: object): void {
    // After a partial line, as on a full disk, another one would corrupt the middle of the file.
    if (this.#broken !== undefined) throw this.#broken;
    try {
      const [line, sum] = chainedLine(value, this.#sum);
      this.#file.write(line);
      this.#sum = sum;
    } catch (error) {
      this.#broken = unwritable(this.#path, "the journal", error);
      throw this.#broken;
    }
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/** Opens a journal: two runs writing to one would tear each other's lines. */
function openJournal(path: string, create: boolean): LockedFile {
  try {
    return openLocked(path, { create });
  } catch (error) {
    if (errorCode(error) !== "EBUSY") throw error;
    throw cannot(`write the journal ${path}`, reasonOf(error));
  }
}
