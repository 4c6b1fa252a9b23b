/**
 * Declared results: whether what a tool returned is what it says that it returns.
 * @module
 */

import { cannot, reasonOf } from "../../base/errors.ts";
import { type JsonObject, type JsonValue, parseJson, printable } from "../../base/json.ts";
import type { Tool } from "../tool.ts";
import { valueCheck } from "./validate.ts";

/** Results that a library takes or gives, beside those that the JSON Schema shown to models allows. */
interface DeclaredResult {
  /** The JSON Schema of what the library gives. */
  readonly schema: JsonObject;
  /** Whether the library takes a value. */
  readonly takes: (value: JsonValue) => boolean;
}

/** What libraries say of results, by the JSON Schemas shown to models: copies of a tool share these. */
const DECLARED = new WeakMap<JsonObject, DeclaredResult>();

/** Adds what a library says of results to the JSON Schema that is shown. */
export function declareResult(returns: JsonObject, declared: DeclaredResult): void {
  DECLARED.set(returns, declared);
}

/** Returns why a text is not what its tool declares to return; `undefined` if it is. */
export type ReturnCheck = (content: string) => string | undefined;

/**
 * Returns a check of what a tool returns; `undefined` if it declares nothing. A text that is JSON may be meant as that
 * value or as the text.
 *
 * @throws {InputError} If what it declares is not a JSON Schema.
 */
export function returnCheck(
  { name, returns, unsafePatterns }: Pick<Tool, "name" | "returns" | "unsafePatterns">,
): ReturnCheck | undefined {
  if (returns === undefined) return undefined;
  const { schema = returns, takes = () => false }: Partial<DeclaredResult> =
    DECLARED.get(returns) ?? {};
  try {
    const check = valueCheck(schema, unsafePatterns);
    return (content) => {
      const value = parseJson(content);
      const values = value === undefined ? [content] : [content, value];
      const faults = values.map((one) => takes(one) ? undefined : check(one));
      return faults.includes(undefined)
        ? undefined
        : `The tool returned what its schema does not allow: ${faults.at(-1)}`;
    };
  } catch (error) {
    throw cannot(
      `offer tool ${printable(name, 80)}`,
      "its declared result must be a JSON Schema",
      reasonOf(error),
    );
  }
}
