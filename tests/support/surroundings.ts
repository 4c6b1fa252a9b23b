/**
 * Where tests run: the folder of the project, and what processes and commands get to know of the environment.
 */

/** The project's folder. */
export const ROOT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** The few variables of the environment that every child and every command gets. */
export function keptVariables(): Record<string, string> {
  return Object.fromEntries(["PATH", "HOME", "DENO_DIR"].flatMap((variable) => {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    const value = state === "granted" ? Deno.env.get(variable) : undefined;
    return value === undefined ? [] : [[variable, value]];
  }));
}
