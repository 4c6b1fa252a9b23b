/**
 * Shared types of the runtimes.
 * @module
 */

/** A permission as Deno names it; without a path, variable or host, all of its kind. */
export type Permission =
  | { readonly name: "read" | "write"; readonly path?: string }
  | { readonly name: "env"; readonly variable?: string }
  | { readonly name: "net"; readonly host?: string }
  | { readonly name: "run"; readonly command?: string }
  | { readonly name: "ffi" | "import" | "sys" };
