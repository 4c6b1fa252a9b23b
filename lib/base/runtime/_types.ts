/**
 * Shared types of the runtimes.
 * @module
 */

/** A permission as Deno names it; without a path, variable or host, all of its kind. */
export type Permission =
  | { readonly name: "read" | "write"; readonly path?: string }
  | { readonly name: "env"; readonly variable?: string }
  | { readonly name: "net"; readonly host?: string }
  | { readonly name: "run"; readonly command?: string }
  | { readonly name: "ffi" | "import" | "sys" };

/** An open file that no other process writes to. */
export interface LockedFile {
  /** Its size, in bytes. */
  readonly size: number;
  /** Cuts it off behind as many bytes. */
  truncate(size: number): void;
  /** Writes all of a text at its end. */
  write(text: string): void;
  /** Closes it, and lets others write to it. */
  close(): void;
}

/** The error of a file that another process writes to; its message is the reason. A lock may be a file of its own. */
export function lockedError(lock?: string): Error {
  const hint = lock === undefined ? "" : `; if none is, delete ${lock}`;
  return Object.assign(new Error(`another run is writing to it${hint}`), { code: "EBUSY" });
}

/** Tries to lock something 20 times, within 200 ms: what holds it may be about to let go. */
export function isLockedSoon(lock: () => boolean): boolean {
  for (let tries = 0; tries < 20; tries++) {
    if (lock()) return true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
  return false;
}
