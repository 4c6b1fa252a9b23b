/** Small documents of OpenAPI. */

import type { JsonObject } from "../../lib/base/json.ts";

/** A document with some paths and components. */
export function documentOf(paths: JsonObject, more: JsonObject = {}): JsonObject {
  return { openapi: "3.0.3", info: { title: "Test", version: "1" }, paths, ...more };
}

export const OK: JsonObject = { 200: { description: "It went well" } };

/** A document with one operation, `GET /it` unless it says otherwise. */
export function single(operation: JsonObject, more: JsonObject = {}, at = "get"): JsonObject {
  return documentOf({ "/it": { [at]: { operationId: "it", responses: OK, ...operation } } }, more);
}

export function resultOf(schema: JsonObject): JsonObject {
  return { 200: { description: "", content: { "application/json": { schema } } } };
}

export function bodyOf(
  schema: JsonObject,
  more: JsonObject = {},
  type = "application/json",
): JsonObject {
  return { requestBody: { content: { [type]: { schema } }, ...more } };
}

/** A document with three operations, of which one has no id. */
export const PETS = documentOf({
  "/pets": {
    get: {
      operationId: "pets.list",
      summary: "Lists pets",
      description: "All of them.",
      tags: ["pets"],
      responses: OK,
    },
    post: { operationId: "pets.create", tags: ["pets", "write"], responses: OK },
  },
  "/pets/{id}": {
    parameters: [
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      { name: "lang", in: "query", schema: { type: "string" } },
    ],
    get: {
      parameters: [{ name: "lang", in: "query", schema: { enum: ["en", "de"] } }],
      responses: OK,
    },
  },
});
