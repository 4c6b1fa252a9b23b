/**
 * Permissions: a process gives up those it does not need.
 * @module
 */

/** A permission that a command may need in addition to environment variables. */
export type Need = "net" | "read" | "write" | "run";

const NEEDS: readonly Need[] = ["net", "read", "write", "run"];

/** Permissions that no command needs. */
const NEVER = ["ffi", "sys", "import"] as const;

/** What the command needs, whatever suite it reads. */
let needed: readonly Need[] = NEEDS;

/**
 * Gives up every permission but `needs`, what an agent may need where a suite decides that, and that to read the
 * environment, for good, so that a bug or an attack can do no more than the command's work.
 */
export function keepOnly(needs: readonly Need[], mayHaveAgent = false): void {
  needed = needs;
  const kept = [...needs, ...(mayHaveAgent ? ["run", "write"] : [])];
  for (const name of [...NEVER, ...NEEDS.filter((need) => !kept.includes(need))]) {
    Deno.permissions.revokeSync({ name });
  }
}

/**
 * Gives up, for good, what the agent of a suite does not need: that to run programs, unless it is one, and that to
 * write files, unless it gets the configuration of an MCP server, or the command writes.
 */
export function keepForAgent({ agent }: { readonly agent?: { readonly mcp?: unknown } }): void {
  if (agent === undefined) Deno.permissions.revokeSync({ name: "run" });
  if (agent?.mcp === undefined && !needed.includes("write")) {
    Deno.permissions.revokeSync({ name: "write" });
  }
}
