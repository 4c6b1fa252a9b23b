/**
 * Checks documents, and brings them to OpenAPI 3.1, whose schemas are JSON Schemas: both by Scalar's parser.
 * @module
 */

import { upgrade } from "@scalar/openapi-upgrader";
import { validate } from "@scalar/openapi-validator";
import { cannot, type InputError } from "../../base/errors.ts";
import { type JsonObject, pointerKeys, printable } from "../../base/json.ts";
import { placeOf } from "./_document.ts";
import { getOrInsert } from "../../base/get_or_insert.ts";

/**
 * Returns a document as one of OpenAPI 3.1, and adds to `faults` why operations are not valid, by method and path.
 * Its schemas are not checked here: a tool checks its own.
 *
 * @throws {InputError} If it is not valid elsewhere; names `source` and the place.
 */
export function parsedDocument(
  document: JsonObject,
  source: string,
  faults: Map<string, InputError>,
): JsonObject {
  const parsed = upgrade(document, "3.1") as unknown as JsonObject;
  for (const { message, path: at = "" } of validate(parsed).errors ?? []) {
    const keys = typeof at === "string" ? pointerKeys(at) : at;
    const fault = cannot(
      `use ${source}`,
      "it must follow the specification of OpenAPI",
      `at ${printable(keys.join(" > "), 300) || "the top"}: ${printable(message, 300)}`,
    );
    const [field, path, method] = keys;
    if (field !== "paths" || path === undefined || method === undefined) throw fault;
    getOrInsert(faults, placeOf({ path, method }), fault);
  }
  return parsed;
}
