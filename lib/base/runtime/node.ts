/**
 * Node, and runtimes with its modules: what `deno.ts` exports, under the same names.
 * @module
 */

import * as fs from "node:fs";
import * as os from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { OpenFile } from "../open_file.ts";
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
  const { O_APPEND, O_RDWR } = fs.constants;
  const folder = fs.realpathSync(create ? dirname(path) : path);
  const unlock = lock(`${create ? join(folder, basename(path)) : folder}.lock`);
  try {
    const file = new OpenFile(path, create ? "ax" : O_RDWR | O_APPEND);
    return Object.assign(file, {
      // In Windows, what is appended to cannot be cut off.
      truncate: (size: number) => fs.truncateSync(path, size),
      close() {
        file[Symbol.dispose]();
        unlock();
      },
    });
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Locks by a file that is there as long as its process; one that a killed process has left is replaced.
 *
 * @returns What unlocks it.
 */
function lock(path: string): () => void {
  const own = nameOf(process.pid);
  if (!isLockedSoon(() => isLocked(path, own))) throw lockedError(path);
  const unlock = () => {
    process.off("exit", unlock);
    if (readIfThere(path) === own) fs.unlinkSync(path);
  };
  process.on("exit", unlock);
  return unlock;
}

/**
 * Makes the file of a lock; returns `false` where another process is about to.
 *
 * @throws If one has it.
 */
function isLocked(path: string, own: string): boolean {
  if (isWritten(path, own)) return true;
  const text = readIfThere(path);
  const [, pid, host] = /^(\d{1,9}) \d* (.+)$/.exec(text) ?? [];
  if (pid === undefined) return false;
  if (host !== thisHost() || isRunning(Number(pid)) && nameOf(Number(pid)) === text) {
    throw lockedError(path);
  }
  // Of all processes that find it left behind, one at a time makes this file, which then becomes the lock; one that is
  // late finds the lock of another.
  const next = `${path}.new`;
  if (!isWritten(next, own)) return false;
  const isLeft = readIfThere(path) === text;
  if (isLeft) fs.renameSync(next, path);
  else fs.unlinkSync(next);
  return isLeft;
}

/** Names a process: its number, when it began, as numbers are given again, and its machine. Linux alone shows when. */
function nameOf(pid: number): string {
  // The name of the program comes before, in parentheses, and may have any characters.
  const began = readIfThere(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ")[19] ?? "";
  return `${pid} ${began} ${thisHost()}`;
}

/** Names this machine; in Linux also the container, in which processes have numbers of their own. */
function thisHost(): string {
  const container = "/proc/self/ns/pid";
  return `${os.hostname()} ${fs.existsSync(container) ? fs.readlinkSync(container) : ""}`;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // One of another user's is refused, and runs.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
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

/**
 * Returns options for `fetch` that let a reply take as long as toolgate waits for it: Node and bun would end it after
 * 300 seconds. The runtime keeps connections, and sends no call again that changes something.
 */
export function httpClient(_options?: { readonly isKept?: boolean }): RequestInit {
  // The class of its connections has no other name.
  const known = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  const Dispatcher = known?.constructor;
  const dispatcher = Dispatcher && new Dispatcher({ headersTimeout: 0, bodyTimeout: 0 });
  return { dispatcher, timeout: false } as RequestInit;
}

/**
 * Starts a program.
 *
 * @return A promise that rejects if it cannot be started.
 * @throws If it cannot be started.
 */
export function startChild(
  { command: [name, ...args], env, cwd, isHeard }: ChildStart,
): Child | Promise<never> {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const { Readable, Writable } = process.getBuiltinModule("node:stream");
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
  if (child.pid === undefined) return new Promise((_, reject) => child.once("error", reject));
  // What cannot be signalled has ended.
  child.on("error", () => {});
  const web = (stream: typeof child.stdout) => Readable.toWeb(stream ?? Readable.from([]));
  return {
    ...{ pid: child.pid, status, stdin: Writable.toWeb(child.stdin!) },
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
