/**
 * Permissions: a process gives up those it does not need.
 * @module
 */

/** A permission that a command may need in addition to environment variables. */
export type Need = "net" | "read" | "write" | "run";

const NEEDS: readonly Need[] = ["net", "read", "write", "run"];

/** Permissions that no command needs. */
const NEVER = ["ffi", "sys", "import"] as const;

/**
 * Gives up every permission but `needs` and that to read the environment, for good, so that a bug or an attack
 * can do no more than the command's work.
 */
export function keepOnly(needs: readonly Need[]): void {
  for (const name of [...NEVER, ...NEEDS.filter((need) => !needs.includes(need))]) {
    Deno.permissions.revokeSync({ name });
  }
}

/** Gives up the permission to run programs, for good, unless a suite has an agent that is one. */
export function keepRun(suite: { readonly agent?: unknown }): void {
  if (suite.agent === undefined) Deno.permissions.revokeSync({ name: "run" });
}
