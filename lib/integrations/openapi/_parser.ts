/**
 * Checks documents, and brings them to OpenAPI 3.1, whose schemas are JSON Schemas: both by Scalar's parser.
 * @module
 */

import { upgrade } from "@scalar/openapi-upgrader";
import { validate } from "@scalar/openapi-validator";
import { cannot } from "../../base/errors.ts";
import { type JsonObject, pointerKeys, printable } from "../../base/json.ts";

/**
 * Returns a document as one of OpenAPI 3.1. Its schemas are not checked here: a tool checks its own.
 *
 * @throws {InputError} If it is not valid; names `source` and the place.
 */
export function parsedDocument(document: JsonObject, source: string): JsonObject {
  const parsed = upgrade(document, "3.1") as unknown as JsonObject;
  const { valid, errors = [] } = validate(parsed);
  if (valid) return parsed;
  const [{ message, path = "" } = { message: "it is not valid" }] = errors;
  const keys = typeof path === "string" ? pointerKeys(path) : path;
  throw cannot(
    `use ${source}`,
    "it must follow the specification of OpenAPI",
    `at ${printable(keys.join(" > "), 300) || "the top"}: ${printable(message, 300)}`,
  );
}
