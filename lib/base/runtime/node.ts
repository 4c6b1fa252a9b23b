/**
 * Node, and runtimes with its modules: what `deno.ts` exports, under the same names.
 * @module
 */

import type { Permission } from "./_types.ts";

export type { Permission } from "./_types.ts";

/** Returns true: there are no permissions. */
export function isGranted(_permission: Permission): boolean {
  return true;
}

/** Does nothing: there are no permissions. */
export function giveUp(_name: Permission["name"]): void {}
