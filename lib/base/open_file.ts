/**
 * Open files.
 * @module
 */

import defer * as fs from "node:fs";

/** An open file, which is closed at the end of its scope. */
export class OpenFile implements Disposable {
  readonly #descriptor: number;

  /**
   * Opens a file.
   *
   * @param flags As those of `fs.openSync()`.
   * @throws If it cannot be opened.
   */
  constructor(path: string, flags: string | number) {
    this.#descriptor = fs.openSync(path, flags);
  }

  /** The size of the file, in bytes; 0 of what is no file, such as a pipe. */
  get size(): number {
    return fs.fstatSync(this.#descriptor).size;
  }

  /**
   * Reads the next bytes; returns the filled part of `chunk`, which is empty at the end of the file.
   *
   * @param position Where to read; default: behind what was read last.
   */
  read(chunk: Uint8Array, position: number | null = null): Uint8Array {
    const length = fs.readSync(this.#descriptor, chunk, 0, chunk.length, position);
    return chunk.subarray(0, length);
  }

  /** Writes all of a text. */
  write(text: string): void {
    const bytes = new TextEncoder().encode(text);
    for (let offset = 0; offset < bytes.length;) {
      offset += fs.writeSync(this.#descriptor, bytes, offset);
    }
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    fs.closeSync(this.#descriptor);
  }
}
