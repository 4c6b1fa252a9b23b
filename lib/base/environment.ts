/**
 * Environment variables, read without asking for the permission.
 * @module
 */

/** Returns a variable that is set, not empty, and may be read; nobody is asked for the permission. */
export function environmentVariable(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) || undefined : undefined;
}
