/**
 * Process groups: runs a program without a shell, and ends it with everything that it started.
 * @module
 */

import * as fs from "node:fs";
import process from "node:process";
import { type Child, type ChildEnd, isGranted, startChild } from "#runtime";
import { concatBytes } from "./input.ts";
import { attempt, errorCode } from "./errors.ts";
import { printable } from "./json.ts";
import { redact } from "./redact.ts";

/** A program to start. */
export interface Launch {
  /** Its name or path, and its arguments as they are. */
  readonly command: readonly string[];
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that it runs in; default: that of this process. */
  readonly cwd?: string;
  /** A file that is removed if this process ends before the program does. */
  readonly file?: string;
}

/** A program to run. */
export interface Program extends Launch {
  /** What it reads from standard input. */
  readonly input: string;
  /** Milliseconds that it may take. */
  readonly timeout: number;
  /** Ends it when it aborts. */
  readonly signal?: AbortSignal;
}

/** A program that was started, and all that it starts: once the program has ended, what is left of it is killed. */
export interface ProcessGroup {
  /** The program. */
  readonly child: Child;
  /** Resolves once all has ended; programs that left the group are not waited for. */
  readonly ended: Promise<ChildEnd>;
  /** Ends all of it by SIGTERM, and by SIGKILL {@linkcode GRACE} later. */
  readonly end: () => Promise<ChildEnd>;
}

/** How a program ended, and what it wrote. */
export interface GroupEnded extends ChildEnd {
  /** The beginning of its standard output, at most {@linkcode MAX_OUTPUT} bytes. */
  readonly output: string;
  /** The end of its standard error, at most {@linkcode MAX_ERRORS} bytes. */
  readonly errors: string;
  /** Why it was ended; omitted if it ended by itself. */
  readonly stopped?: "time" | "output" | "signal";
}

/** Bytes of standard output, at most: a program that writes more is ended. */
export const MAX_OUTPUT = 2 ** 20;
/** Bytes of standard error that are kept, at most. */
export const MAX_ERRORS = 2 ** 16;
/** Characters of a part of standard error that is quoted, at most. */
const MAX_QUOTE = 300;
/** Milliseconds between SIGTERM and SIGKILL, and that output may stay open after the end. */
export const GRACE = 2_000;

/** The groups that run, by their first process, and the file that goes with each. */
const running = new Map<Child, string | undefined>();

/**
 * Starts a program in a process group of its own, all of which is killed when this process ends.
 *
 * @throws What {@linkcode startFault} explains.
 */
export async function startGroup({ command, env, cwd, file }: Launch): Promise<ProcessGroup> {
  const child = startChild({ command, env, cwd, isHeard: true });
  if (child instanceof Promise) return await child;
  let hasEnded = false;
  const status = child.status.then((end) => {
    hasEnded = true;
    // At once, as the group's number may be another's later.
    kill(child, "SIGKILL");
    return end;
  });
  if (running.size === 0) process.on("exit", killAll);
  running.set(child, file);
  // At once, as this process may end at any time.
  const unwatch = watch(child.pid, file);
  const ended = status.then(async (end) => {
    await unwatch?.();
    running.delete(child);
    if (running.size === 0) process.off("exit", killAll);
    return end;
  });
  return {
    child,
    ended,
    async end() {
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        if (!hasEnded) kill(child, signal);
        await within(GRACE, ended);
      }
      return await ended;
    },
  };
}

/**
 * Runs a program in a process group of its own, and returns once all of the group has ended.
 *
 * @throws What {@linkcode startGroup} does.
 */
export async function runGroup(program: Program): Promise<GroupEnded> {
  const { input, timeout, signal } = program;
  const { child, ended, end } = await startGroup(program);

  const stopped = Promise.withResolvers<NonNullable<GroupEnded["stopped"]>>();
  const stop = () => stopped.resolve("signal");
  const timer = setTimeout(() => stopped.resolve("time"), timeout);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();

  const outputReader = child.stdout.getReader();
  const errorReader = child.stderr.getReader();
  const output = readText(outputReader, (kept, chunk) => {
    if (kept.length + chunk.length > MAX_OUTPUT) stopped.resolve("output");
    return kept.length < MAX_OUTPUT ? concatBytes([kept, chunk]).subarray(0, MAX_OUTPUT) : kept;
  });
  const errors = readText(
    errorReader,
    (kept, chunk) => concatBytes([kept, chunk]).subarray(-MAX_ERRORS),
  );
  const written = write(child.stdin, input);
  await Promise.race([ended, stopped.promise]);
  clearTimeout(timer);
  signal?.removeEventListener("abort", stop);
  const how = await end();
  // A program that left the group may hold its output open.
  await within(GRACE, Promise.all([output, errors, written]));
  await Promise.all([outputReader.cancel(), errorReader.cancel()]);
  return {
    ...{ ...how, output: await output, errors: await errors },
    // The first reason counts, whichever way it then ended.
    stopped: await Promise.race([stopped.promise, undefined]),
  };
}

/**
 * Kills the group in its argument once its input ends, which it does with the process that holds the other end, and
 * removes the file in the next one, if any.
 */
const WATCH = 'read -r _; kill -s KILL -- "-$1"; [ -z "$2" ] || PATH=/bin:/usr/bin rm -f -- "$2"';

/**
 * Starts a process that kills a group when this process ends in a way that runs no code here: by SIGKILL, by SIGHUP,
 * or by Ctrl-C under `deno test`. It is in a group of its own, which no terminal signals. Returns what ends it;
 * `undefined` where there is no shell for it, or it must not be run: then only the event `exit` ends the group.
 */
function watch(group: number, file = ""): (() => Promise<void>) | undefined {
  // Asked before: the runtime would else ask the user.
  if (!mayRun()) return undefined;
  const command = ["/bin/sh", "-c", WATCH, "sh", `${group}`, file];
  const watcher = attempt(() => startChild({ command, env: {}, cwd: "/", isHeard: false }));
  if (watcher instanceof Promise) return void watcher.catch(() => {});
  return watcher && (async () => {
    // Before its input ends, as the group's number may be another's by now.
    kill(watcher, "SIGKILL");
    await watcher.status;
    await watcher.stdin.close().catch(() => {});
  });
}

/** Sends a signal to all processes of a group, and to its first one, which may have left it. */
function kill(child: Child, signal: "SIGTERM" | "SIGKILL"): void {
  // Windows has no groups that can be signalled, and a permission for some programs alone signals none.
  attempt(() => mayRun() && process.kill(-child.pid, signal));
  attempt(() => child.kill(signal));
}

/** Ends all groups when this process exits. */
function killAll(): void {
  for (const [child, file] of running) {
    kill(child, "SIGKILL");
    attempt(() => file && fs.unlinkSync(file));
  }
}

/**
 * The end of what a program wrote to standard error, as words behind others; the line that most likely says why first.
 * Empty if it wrote nothing.
 */
export function errorsText(errors: string): string {
  // A secret that was cut is no longer recognised: all that was kept is redacted first.
  const lines = redact(errors.trim()).split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  // Runtimes write stacks and their version below what went wrong.
  const named = lines.findLastIndex((line) => /^\w*error\b/i.test(line));
  const place = named < 0 ? lines.length - 1 : named;
  const why = lines[place];
  if (why === undefined) return "";
  const before = lines.slice(0, place).join(" | ");
  const end = before.length > MAX_QUOTE
    ? `…${before.slice(-MAX_QUOTE).replace(/^[\uDC00-\uDFFF]/, "")}`
    : before;
  const last = lines.at(-1)!;
  // An error may be one that the program got over.
  const isMore = place < lines.length - 1 && !BELOW_ERRORS.test(last);
  return `; standard error: ${printable(why, MAX_QUOTE)}${
    end === "" ? "" : `, after: ${printable(end, 2 * MAX_QUOTE)}`
  }${isMore ? `, then: ${printable(last, MAX_QUOTE)}` : ""}`;
}

/** What runtimes write below an error: frames, what follows them, and their version. */
const BELOW_ERRORS = /^(at |[\]})^]|[\w.]+ v\d|(info|hint|code): )/i;

/** Waits for work, at most for a number of milliseconds. */
export async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

/** Writes the whole input, as far as the program reads it. */
async function write(stdin: WritableStream<Uint8Array>, input: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch {
    // It need not read its input: what matters is what it answers.
  }
}

/** Reads a stream to its end, and returns as text what `keep` keeps of its bytes. */
async function readText(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  keep: (kept: Uint8Array, chunk: Uint8Array) => Uint8Array,
): Promise<string> {
  let kept = new Uint8Array(0) as Uint8Array;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    kept = keep(kept, read.value);
  }
  return new TextDecoder().decode(kept);
}

/** Returns those of some variables that may be read without a prompt and are set. */
export function readVariables(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((variable) => {
    const value = isGranted({ name: "env", variable }) ? process.env[variable] : undefined;
    return value === undefined ? [] : [[variable, value]];
  }));
}

/** Whether programs may be run, and ended: a list of programs permits only the first. */
export function mayRun(): boolean {
  return isGranted({ name: "run" });
}

/** Returns why a program could not be started, in a folder if one was named. */
export function startFault(
  error: unknown,
  cwd?: string,
): "missing" | "folder" | "forbidden" | undefined {
  const code = errorCode(error);
  if (code === "EACCES") return "forbidden";
  if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
  // Of both it is said that there is no such program.
  const isFolder = (path: string) =>
    fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const isKnown = cwd !== undefined && attempt(() => isFolder(cwd)) === false;
  return isKnown ? "folder" : "missing";
}
