/**
 * The runtime Deno: what has no equal in its `node:` modules. `node.ts` exports the same names.
 * @module
 */

import process from "node:process";
import type { Handle, ModuleNeeds, Permission, Server } from "./_types.ts";

export type { Permission, Server } from "./_types.ts";

/** Returns whether Deno has a permission. */
export function isGranted(permission: Permission): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

/** Gives up a permission for all of its kind. */
export function giveUp(name: Permission["name"]): void {
  Deno.permissions.revokeSync({ name });
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

/** Returns the command that runs a module as a program, with no more permissions than it needs. */
export function moduleCommand(url: string, { host, variable }: ModuleNeeds): string[] {
  return [
    ...[process.execPath, "run", "--quiet", "--no-prompt", "--no-config", "--no-lock"],
    ...[`--allow-net=${host}`, `--allow-env=${variable}`, url],
  ];
}
