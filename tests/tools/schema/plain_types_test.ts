import { assert, assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import {
  acceptText,
  acceptTypeOf,
  isTypeWord,
  schemaOfWords,
  wordsByName,
  wordsOfSchema,
} from "../../../lib/tools/schema/plain_types.ts";
import fc from "../../support/fast_check.ts";

Deno.test("schemaOfWords() knows words for types, and takes all others for descriptions", () => {
  const table: [JsonValue, JsonObject][] = [
    ["string", { type: "string" }],
    ["str", { type: "string" }],
    ["number", { type: "number" }],
    ["float", { type: "number" }],
    ["int", { type: "integer" }],
    ["integer", { type: "integer" }],
    ["bool", { type: "boolean" }],
    ["boolean", { type: "boolean" }],
    ["object", { type: "object" }],
    ["dict", { type: "object" }],
    ["array", { type: "array" }],
    ["list", { type: "array" }],
    ["", { type: "string" }],
    ["String", { type: "string", description: "String" }],
    ["VISA/MASTER", { type: "string", description: "VISA/MASTER" }],
    ["constructor", { type: "string", description: "constructor" }],
    [60000, { type: "number", description: "60000" }],
    [true, { type: "boolean", description: "true" }],
    [["a", "b"], { type: "array", description: '["a","b"]' }],
    [{}, { type: "object", properties: {} }],
    [{ a: { b: "int" } }, {
      type: "object",
      properties: { a: { type: "object", properties: { b: { type: "integer" } } } },
    }],
  ];
  for (const [words, schema] of table) assertEquals(schemaOfWords(words), schema);
  assert(isTypeWord("dict") && !isTypeWord("toString"));
});

Deno.test("wordsOfSchema() tells types, choices and descriptions in words", () => {
  const table: [JsonValue, JsonValue][] = [
    [{ type: "string" }, "string"],
    [{ type: ["number", "string"] }, "number"],
    [{ type: "string", description: "M/F" }, "M/F"],
    [{ type: "string", description: "number" }, "string (number)"],
    [{ type: "boolean", description: "or not" }, "boolean (or not)"],
    [{ description: "whatever" }, "whatever"],
    [{ enum: ["x", 1, null] }, "x/1/null"],
    [{ type: ["object", "string"], properties: { a: { type: "string" } } }, { a: "string" }],
    [{ properties: { a: {} } }, { a: "any" }],
    [{ type: "integer", properties: {} }, "integer"],
    [{ anyOf: [] }, "any"],
    [true, "any"],
  ];
  for (const [schema, words] of table) assertEquals(wordsOfSchema(schema), words);
});

/** Words that documents have, any keys among them. */
const words: fc.Arbitrary<JsonValue> = fc.letrec<{ words: JsonValue }>((tie) => ({
  words: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("string", "number", "integer", "boolean", "array"),
    fc.constantFrom("VISA/MASTER", "cat/dog/...", "\ud800", "2024-01-01"),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__", "constructor", "1"), tie("words")),
  ),
})).words;

Deno.test("wordsOfSchema() undoes schemaOfWords(), text taken or not", () => {
  fc.assert(fc.property(words, (given) => {
    assertEquals(wordsOfSchema(schemaOfWords(given)), given);
    assertEquals(wordsOfSchema(acceptText(schemaOfWords(given))), given);
    assertEquals(wordsByName({ x: schemaOfWords(given) }), { x: given });
  }));
});

Deno.test("acceptText() and acceptTypeOf() extend a schema, and return it unchanged if it fits already", () => {
  const conforms = (schema: JsonObject, value: JsonValue) =>
    argumentCheck({
      name: "f",
      description: "",
      parameters: { type: "object", properties: { x: schema } },
    })({ x: value }) === undefined;
  fc.assert(
    fc.property(words, fc.jsonValue({ maxDepth: 3 }), (given, value) => {
      const schema = schemaOfWords(given);
      const before = JSON.stringify(schema);
      assert(conforms(acceptText(schema), "$$$"));
      const wider = acceptTypeOf(schema, value as JsonValue);
      assert(conforms(wider, value as JsonValue), JSON.stringify([wider, value]));
      if (conforms(schema, value as JsonValue)) assertEquals(wider, schema);
      assertEquals(JSON.stringify(schema), before);
    }),
    { numRuns: 60 },
  );
  assertEquals(acceptTypeOf({ type: "integer" }, 2), { type: "integer" });
  assertEquals(acceptTypeOf({ type: "integer" }, 2.5), { type: ["integer", "number"] });
  assertEquals(acceptTypeOf({ type: ["object", "string"] }, 1), {
    type: ["object", "string", "number"],
  });
  assertEquals(acceptText({ type: "object", properties: { a: { type: "number" } } }), {
    type: ["object", "string"],
    properties: { a: { type: ["number", "string"] } },
  });
});
