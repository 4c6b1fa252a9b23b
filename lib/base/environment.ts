/**
 * Environment variables, read without asking for the permission.
 * @module
 */

import { isGranted } from "#runtime";
import defer * as process from "node:process";

/** Returns a variable that is set, not empty, and may be read; nobody is asked for the permission. */
export function environmentVariable(name: string): string | undefined {
  return isGranted({ name: "env", variable: name }) ? process.env[name] || undefined : undefined;
}
