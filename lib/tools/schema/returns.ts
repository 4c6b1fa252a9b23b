/**
 * Declared results: whether what a tool returned is what it says that it returns.
 * @module
 */

import { cannot, reasonOf } from "../../base/errors.ts";
import { type JsonObject, parseJson, printable } from "../../base/json.ts";
import type { Tool } from "../tool.ts";
import { type ValueCheck, valueCheck } from "./validate.ts";

/** Returns why a text is not what its tool declares to return; `undefined` if it is. */
export type ReturnCheck = (content: string) => string | undefined;

/**
 * Returns a check of what a tool returns; `undefined` if it declares nothing. A text that is JSON may be meant as that
 * value or as the text.
 *
 * @throws {InputError} If what it declares is not a JSON Schema.
 */
export function returnCheck(
  { name, returns, checkResult, unsafePatterns }: Pick<
    Tool,
    "name" | "returns" | "checkResult" | "unsafePatterns"
  >,
): ReturnCheck | undefined {
  if (returns === undefined) return undefined;
  const check = checkResult ??
    resultCheck(`tool ${printable(name, 80)}`, returns, unsafePatterns);
  return (content) => {
    const value = parseJson(content);
    const values = value === undefined ? [content] : [content, value];
    const faults = values.map(check);
    return faults.includes(undefined)
      ? undefined
      : `The tool returned what its schema does not allow: ${faults.at(-1)}`;
  };
}

/**
 * Returns a check of values by the schema of a declared result.
 *
 * @throws {InputError} If it is not a JSON Schema.
 */
export function resultCheck(
  subject: string,
  schema: JsonObject,
  unsafePatterns: boolean | undefined,
): ValueCheck {
  try {
    return valueCheck(schema, unsafePatterns);
  } catch (error) {
    throw cannot(
      `offer ${subject}`,
      "its declared result must be a JSON Schema",
      reasonOf(error),
    );
  }
}
