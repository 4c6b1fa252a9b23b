/**
 * Node, and runtimes with its modules: what `deno.ts` exports, under the same names.
 * @module
 */

import * as fs from "node:fs";
import * as os from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { shellQuote } from "../shell_quote.ts";
import {
  type Child,
  type ChildEnd,
  type ChildStart,
  isLockedSoon,
  lockedError,
  type LockedFile,
  type ModuleNeeds,
  type Permission,
  type ProgramStart,
} from "./_types.ts";

export { serve } from "./_node_server.ts";
export type { Child, ChildEnd, LockedFile, Permission, Server } from "./_types.ts";

/** Returns true: there are no permissions. */
export function isGranted(_permission: Permission): boolean {
  return true;
}

/** Does nothing: there are no permissions. */
export function giveUp(_name: Permission["name"]): void {}

/** Returns whether an output goes to a terminal. */
export function isTerminal(output: "stdout" | "stderr"): boolean {
  return process[output].isTTY === true;
}

/** Returns the columns of the terminal; `undefined` if there is none. */
export function columns(): number | undefined {
  return process.stdout.columns ?? process.stderr.columns;
}

/**
 * Opens a file for writing, or creates a new one, and locks it until it is closed or the process ends.
 *
 * @throws If it cannot be opened; with the code `EBUSY` if another process writes to it.
 */
export function openLocked(path: string, { create }: { readonly create: boolean }): LockedFile {
  const file = fs.openSync(path, create ? "wx" : "r+");
  let unlock = () => {};
  try {
    unlock = lock(`${fs.realpathSync(path)}.lock`);
  } catch (error) {
    fs.closeSync(file);
    throw error;
  }
  return {
    get size() {
      return fs.fstatSync(file).size;
    },
    truncate: (size) => fs.ftruncateSync(file, size),
    write(text) {
      const bytes = new TextEncoder().encode(text);
      const end = fs.fstatSync(file).size;
      for (let at = 0; at < bytes.length;) {
        at += fs.writeSync(file, bytes, at, bytes.length - at, end + at);
      }
    },
    close() {
      fs.closeSync(file);
      unlock();
    },
  };
}

/** The process that holds a lock; its file has this as JSON. */
interface Holder {
  readonly pid: number;
  /** The machine, or the container on it, in which that number is one process. */
  readonly host: string;
  /** When the process began, as the system counts it: numbers of processes are given again. */
  readonly start?: string | undefined;
}

/**
 * Locks by a file that is there as long as its process; one that a killed process has left is replaced.
 *
 * @returns What unlocks it.
 */
function lock(path: string): () => void {
  const own = JSON.stringify(
    { pid: process.pid, host: thisHost(), start: startOf(process.pid) } satisfies Holder,
  );
  let state: Error | undefined;
  if (!isLockedSoon(() => (state = tryLock(path, own)) === undefined)) throw state;
  const unlock = () => {
    process.off("exit", unlock);
    if (readIfThere(path) === own) fs.unlinkSync(path);
  };
  process.on("exit", unlock);
  return unlock;
}

/** Makes the file of a lock; returns why it cannot. */
function tryLock(path: string, own: string): Error | undefined {
  if (isWritten(path, own)) return undefined;
  const text = readIfThere(path);
  const holder = holderIn(text);
  const isOther = holder?.host !== thisHost();
  if (isOther || isRunning(holder)) {
    return lockedError(isOther ? held(path) : undefined);
  }
  // Of all processes that find it left behind, one makes this file, which then becomes the lock. It may come late, and
  // find the lock of another one.
  const next = `${path}.new`;
  if (!isWritten(next, own)) return lockedError(held(next));
  if (readIfThere(path) === text) return void fs.renameSync(next, path);
  fs.unlinkSync(next);
  return lockedError();
}

function held(path: string): string {
  return `another run may be writing to it; if none is, delete ${path}`;
}

/** Writes a new file; returns `false` where one is there. */
function isWritten(path: string, text: string): boolean {
  try {
    fs.writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readIfThere(path: string): string {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Reads who holds a lock; `undefined` of a text that is none, or not yet written. */
function holderIn(text: string): Holder | undefined {
  try {
    const { pid, host, start } = JSON.parse(text);
    return Number.isSafeInteger(pid) && pid > 0 ? { pid, host, start } : undefined;
  } catch {
    return undefined;
  }
}

/** Names this machine; and on Linux the container, in which processes have numbers of their own. */
function thisHost(): string {
  try {
    return `${os.hostname()} ${fs.readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return os.hostname();
  }
}

function isRunning({ pid, start }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process is there, too.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  return start === startOf(pid);
}

/** When a process began; `undefined` where the system does not show that, as none but Linux does. */
function startOf(pid: number): string | undefined {
  // The name of the program comes before, in parentheses, and may have any characters.
  return readIfThere(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ")[19];
}

/** Returns nothing for `fetch`: the runtime keeps connections, and sends no call again that changes something. */
export function httpClient(_options?: { readonly isKept?: boolean }): RequestInit {
  return {};
}

/**
 * Starts a program.
 *
 * @throws If it cannot be started.
 */
export async function startChild(
  { command: [name, ...args], env, cwd, isHeard }: ChildStart,
): Promise<Child> {
  const { spawn } = await import("node:child_process");
  const { Readable, Writable } = await import("node:stream");
  const output = isHeard ? "pipe" : "ignore";
  const child = spawn(name!, args, {
    // Every environment that does not have the name gets its value.
    ...{ env: { NODE_V8_COVERAGE: undefined, ...env }, cwd, detached: true },
    stdio: ["pipe", output, output],
  });
  const status = new Promise<ChildEnd>((resolve) =>
    child.once(
      "exit",
      (code, signal) => resolve({ code: code ?? 128 + os.constants.signals[signal!], signal }),
    )
  );
  await new Promise<void>((resolve, reject) => child.once("spawn", resolve).on("error", reject));
  const web = (stream: typeof child.stdout) => Readable.toWeb(stream ?? Readable.from([]));
  return {
    ...{ pid: child.pid!, status, stdin: Writable.toWeb(child.stdin!) },
    ...{ stdout: web(child.stdout), stderr: web(child.stderr) } as Pick<Child, "stdout" | "stderr">,
    kill: (signal) => child.kill(signal),
  };
}

/** Whether a module is the program that was started; its name may be a link to it. */
export function isMain({ main, url }: Partial<ImportMeta>): boolean {
  const started = process.argv[1];
  return main ?? (started !== undefined && fs.realpathSync(started) === fileURLToPath(url!));
}

/** Returns what runs a file of tests, with flags. */
export function testStart(file: string, flags: readonly string[]): ProgramStart {
  const { execPath, execArgv, versions } = process;
  return {
    command: [execPath, ...execArgv, versions["bun"] === undefined ? "--test" : "test", file],
    // Within a test nothing would be run.
    env: { TOOLGATE_FLAGS: flags.map(shellQuote).join(" "), NODE_TEST_CONTEXT: undefined },
  };
}

/** Returns the command that runs a module as a program. */
export function moduleCommand(url: string, _needs: ModuleNeeds): string[] {
  return [process.execPath, fileURLToPath(url)];
}
