/**
 * What users hand in: files and values, read and checked once, at the edge.
 * @module
 */

import { parse as parseJsonc } from "@std/jsonc";
import { z } from "zod";

/** Input that cannot be used. Its message is for the user: action, rule, state; one line or a few. */
export class InputError extends Error {
  /** The name of the class. */
  override name = "InputError";
}

/** The text of an error's cause, without the prefix of its class. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Reads a text file.
 *
 * @throws {InputError} If it cannot be read; the message names the file.
 */
export function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    throw new InputError(`Cannot read ${path}: ${fileReason(error)}`);
  }
}

/** Why a file operation failed, in words. */
export function fileReason(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file or folder";
  if (error instanceof Deno.errors.PermissionDenied) return "the system does not permit it";
  if (error instanceof Deno.errors.NotCapable) {
    return `Deno was not given the permission: ${error.message.split(",")[0]}`;
  }
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder";
  return reasonOf(error);
}

/**
 * Checks `value` against `schema`.
 *
 * @throws {InputError} Naming `source` and, for each fault, the path in it and the rule.
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, source: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) =>
    `  at ${z.core.toDotPath(issue.path) || "the top"}: ${issue.message}`
  );
  throw new InputError(`Cannot use ${source}:\n${faults.join("\n")}`);
}

/**
 * Reads a JSON file with comments and checks it.
 *
 * @throws {InputError} Naming the file and what is wrong with it.
 */
export function readJsonc<T>(path: string, schema: z.ZodType<T>): T {
  const text = readText(path);
  let value: unknown;
  try {
    value = parseJsonc(text);
  } catch (error) {
    throw new InputError(`Cannot use ${path}: it is not JSON with comments: ${reasonOf(error)}`);
  }
  return parseWith(schema, value, path);
}
