/**
 * The runtime Deno: what has no equal in its `node:` modules. `node.ts` exports the same names.
 * @module
 */

import type { Permission } from "./_types.ts";

export type { Permission } from "./_types.ts";

/** Returns whether Deno has a permission. */
export function isGranted(permission: Permission): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

/** Gives up a permission for all of its kind. */
export function giveUp(name: Permission["name"]): void {
  Deno.permissions.revokeSync({ name });
}
