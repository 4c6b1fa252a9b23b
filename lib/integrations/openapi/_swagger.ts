/**
 * Documents of Swagger 2.0, which Scalar's parser rewrites.
 * @module
 */

import { upgrade } from "@scalar/openapi-upgrader";
import { attempt, cannot } from "../../base/errors.ts";
import { isWithin, type JsonObject } from "../../base/json.ts";

/** Levels and values of a document of Swagger 2.0, at most: all of it is rewritten, and it may hold itself. */
const SWAGGER = { levels: 500, values: 5_000_000 };

/**
 * Returns a document of Swagger 2.0 as one of OpenAPI 3.0.
 *
 * @throws {InputError} If it cannot be rewritten.
 */
export function fromSwagger(document: JsonObject, source: string): JsonObject {
  const rewritten = isWithin(document, SWAGGER)
    ? attempt(() => upgrade(structuredClone(document), "3.0") as unknown as JsonObject)
    : undefined;
  if (rewritten !== undefined) return rewritten;
  throw cannot(
    `use ${source}`,
    "a document of Swagger 2.0 must be one that can be rewritten as OpenAPI 3.0",
    "convert it, as by npx swagger2openapi, and give the result",
  );
}
