/**
 * Permissions: what a process does not need, it gives up.
 * @module
 */

/** What some work may need beside variables of the environment. */
export type Need = "net" | "read" | "write";

const NEEDS: readonly Need[] = ["net", "read", "write"];

/** What nothing here ever needs. */
const NEVER = ["run", "ffi", "sys", "import"] as const;

/**
 * Gives up every permission but `needs` and that to read the environment, for good: whatever this process
 * was given, a fault in it can do no more than its work.
 */
export function keepOnly(needs: readonly Need[]): void {
  for (const name of [...NEVER, ...NEEDS.filter((need) => !needs.includes(need))]) {
    Deno.permissions.revokeSync({ name });
  }
}
