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

/** A server on this machine. */
export interface Server {
  /** The port that it listens on. */
  readonly port: number;
  /** Settles when it has closed. */
  readonly finished: Promise<void>;
  /** Keeps the process alive, as it does from the beginning. */
  readonly ref: () => void;
  /** Lets the process end. */
  readonly unref: () => void;
  /** Takes no more requests, and closes once those that it has are answered. */
  readonly shutdown: () => Promise<void>;
  /** Closes at once. */
  readonly stop: () => void;
}

/** Answers a request, whose signal aborts when the client goes away; must not reject. */
export type Handle = (request: Request) => Promise<Response>;

/** A program to start in a process group of its own. */
export interface ChildStart {
  /** Its name or path, and its arguments as they are. */
  readonly command: readonly string[];
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that it runs in; default: that of this process. */
  readonly cwd?: string | undefined;
  /** Whether what it writes is read. */
  readonly isHeard: boolean;
}

/** A program that was started. */
export interface Child {
  readonly pid: number;
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** Resolves when it ends. */
  readonly status: Promise<ChildEnd>;
  /** Sends it a signal. */
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => void;
}

/** The end of a program. */
export interface ChildEnd {
  /** The exit code; above 128 if a signal ended it. */
  readonly code: number;
  /** The signal that ended it; `null` if none did. */
  readonly signal: string | null;
}

/** What starts a program. */
export interface ProgramStart {
  /** Its path, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Variables that its environment has besides those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What a program needs that is a module. */
export interface ModuleNeeds {
  /** The host and port that it sends requests to. */
  readonly host: string;
  /** The environment variable that it reads. */
  readonly variable: string;
}
