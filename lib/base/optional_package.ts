/**
 * Packages that few users need, and that toolgate's own package leaves to them.
 * @module
 */

import defer * as process from "node:process";
import { cannot, reasonOf } from "./errors.ts";

/** Returns the command that adds packages to the project of the user. */
export function installLine(packages: readonly string[]): string {
  return process.versions["deno"] === undefined
    ? `npm install ${packages.join(" ")}`
    : `deno add ${packages.map((name) => `npm:${name}`).join(" ")}`;
}

/** Says why packages could not be loaded, and how to install those that are not there. */
export function unloaded(packages: readonly string[], error: unknown): string {
  const isMissing = Object(error).code === "ERR_MODULE_NOT_FOUND";
  const state = isMissing ? `run: ${installLine(packages)}` : reasonOf(error).split("\n")[0];
  return `${packages.join(" and ")} must be ${isMissing ? "installed" : "loaded"}: ${state}`;
}

/**
 * Loads a module that needs packages.
 *
 * @throws {InputError} If they cannot be loaded.
 */
export async function loadOptional<T>(
  action: string,
  packages: readonly string[],
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw cannot(action, unloaded(packages, error));
  }
}
