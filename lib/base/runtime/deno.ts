/**
 * The runtime Deno: what has no equal in its `node:` modules. `node.ts` exports the same names.
 * @module
 */

import {
  type Child,
  type ChildStart,
  type Handle,
  isLockedSoon,
  lockedError,
  type LockedFile,
  type ModuleNeeds,
  type Permission,
  type ProgramStart,
  type Server,
} from "./_types.ts";

export type { Child, ChildEnd, LockedFile, Permission, Server } from "./_types.ts";

/** Returns whether Deno has a permission. */
export function isGranted(permission: Permission): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

/** Gives up a permission for all of its kind. */
export function giveUp(name: Permission["name"]): void {
  Deno.permissions.revokeSync({ name });
}

/** Returns whether an output goes to a terminal. */
export function isTerminal(output: "stdout" | "stderr"): boolean {
  return Deno[output].isTerminal();
}

/**
 * Returns the columns of the terminal, which may be stdin's.
 *
 * @throws If there is none.
 */
export function columns(): number | undefined {
  return Deno.consoleSize().columns;
}

/**
 * Opens a file for writing, or creates a new one, and locks it until it is closed or the process ends.
 *
 * @throws If it cannot be opened; with the code `EBUSY` if another process writes to it.
 */
export function openLocked(path: string, { create }: { readonly create: boolean }): LockedFile {
  const file = Deno.openSync(path, { read: !create, write: true, createNew: create });
  // A program that this process is just starting still holds the lock of a file that was closed.
  if (!isLockedSoon(() => file.tryLockSync(true))) {
    file.close();
    throw lockedError();
  }
  return {
    get size() {
      return file.statSync().size;
    },
    truncate: (size) => file.truncateSync(size),
    write(text) {
      file.seekSync(0, Deno.SeekMode.End);
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    },
    close: () => file.close(),
  };
}

/**
 * Starts a server.
 *
 * @throws If it cannot listen.
 */
// deno-lint-ignore require-await -- other runtimes wait.
export async function serve(
  handle: Handle,
  { hostname, port }: { readonly hostname: string; readonly port: number },
): Promise<Server> {
  const controller = new AbortController();
  const { signal } = controller;
  const server = Deno.serve({ hostname, port, signal, onListen: () => {} }, handle);
  return {
    ...{ port: server.addr.port, finished: server.finished },
    ref: () => server.ref(),
    unref: () => server.unref(),
    shutdown: () => server.shutdown(),
    stop: () => controller.abort(),
  };
}

/** Returns options of `fetch` by which requests share connections, or have one each. */
export function httpClient({ isKept = true }: { readonly isKept?: boolean } = {}): RequestInit {
  const client = Deno.createHttpClient(isKept ? {} : { poolMaxIdlePerHost: 0 });
  return { client } as RequestInit;
}

/**
 * Starts a program. `node:child_process` would ask for a permission to read the environment.
 *
 * @throws If it cannot be started.
 */
export function startChild(
  { command: [name, ...args], env, cwd, isHeard }: ChildStart,
): Child | Promise<never> {
  const output = isHeard ? "piped" : "null";
  return new Deno.Command(name!, {
    ...{ args, env, clearEnv: true, detached: true },
    ...{ stdin: "piped", stdout: output, stderr: output, cwd },
  }).spawn();
}

/** Whether a module is the program that was started. */
export function isMain({ main }: ImportMeta): boolean {
  return main;
}

/** Returns what runs a file of tests, with flags. Types were checked where the tests are written: that takes long. */
export function testStart(file: string, flags: readonly string[]): ProgramStart {
  const options = ["-A", "--no-check", "--no-prompt"];
  return { command: [Deno.execPath(), "test", ...options, file, "--", ...flags] };
}

/** Returns the command that runs a module as a program, with no more permissions than it needs. */
export function moduleCommand(url: string, { host, variable }: ModuleNeeds): string[] {
  return [
    ...[Deno.execPath(), "run", "--quiet", "--no-prompt", "--no-config", "--no-lock"],
    ...[`--allow-net=${host}`, `--allow-env=${variable}`, url],
  ];
}
