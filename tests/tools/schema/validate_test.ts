import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import {
  acceptText,
  acceptTypeOf,
  isTypeWord,
  schemaOfWords,
  wordsByName,
  wordsOfSchema,
} from "../../../lib/tools/schema/plain_types.ts";
import { argumentCheck, schemaErrors } from "../../../lib/tools/schema/validate.ts";
import fc from "../../support/fast_check.ts";

const DIALECTS = ["http://json-schema.org/draft-07/schema#", undefined];

/** Whether a value conforms, as all ways to check it agree, in old dialects and new ones. */
function conforms(value: JsonValue, rules: JsonObject): boolean {
  const verdicts = DIALECTS.flatMap(($schema) => {
    const dialect: JsonObject = $schema === undefined ? {} : { $schema };
    const parameters = { ...dialect, type: "object", properties: { x: rules } };
    const check = argumentCheck({ name: "f", description: "", parameters });
    return [
      check({ x: value }) === undefined,
      schemaErrors(parameters, { x: value }).errors.length === 0,
    ];
  });
  assertEquals(new Set(verdicts).size, 1, JSON.stringify([value, rules, verdicts]));
  return verdicts[0]!;
}

Deno.test("multipleOf takes fractions for what they are meant to be", () => {
  const table: [value: number, multipleOf: number, right: boolean][] = [
    [19.99, 0.01, true],
    [1.1, 0.1, true],
    [-0.3, 0.1, true],
    [9_999_999.99, 0.01, true],
    [0, 0.01, true],
    [1e21, 10, true],
    [19.999, 0.01, false],
    [0.005, 0.01, false],
    [1.5, 1, false],
    [7, 2, false],
    [8, 2, true],
  ];
  for (const [value, multipleOf, right] of table) {
    assertEquals(conforms(value, { multipleOf }), right, `${value} of ${multipleOf}`);
  }
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), (cents) => {
      assert(conforms(cents / 100, { multipleOf: 0.01 }));
      assert(!conforms((cents + 0.5) / 100, { multipleOf: 0.01 }));
    }),
    { numRuns: 25 },
  );
});

Deno.test("what is no pattern at all is refused", () => {
  for (const $schema of DIALECTS) {
    const dialect: JsonObject = $schema === undefined ? {} : { $schema };
    const parameters = { ...dialect, properties: { x: { pattern: "[" } } };
    assertThrows(
      () => argumentCheck({ name: "f", description: "", parameters }),
      InputError,
      "Cannot offer tool f as its parameters must be a JSON Schema: Invalid regular expression",
    );
    assertThrows(() => schemaErrors({ ...parameters }, {}), InputError, "must be a JSON Schema");
  }
  const { errors } = schemaErrors({ properties: { x: { format: "regex" } } }, { x: "[" });
  assertEquals(errors.map(({ keyword }) => keyword), ["format"]);
});

Deno.test("argumentCheck() refuses schemas that no check of a value comes to an end with, which no model is to blame for", () => {
  const ref = (level: number) => ({ $ref: `#/$defs/S${level}` });
  const of = ($defs: JsonObject) => ({
    ...{ name: "it", description: "" },
    parameters: { type: "object", properties: { a: ref(0) }, $defs },
  });
  assertThrows(
    () => argumentCheck(of({ S0: { allOf: [{ not: ref(0) }] } })),
    InputError,
    "/properties/a has a schema that refers to itself, and not for a part of it",
  );
  const twice = Array.from({ length: 40 }, (_, level) => [
    `S${level}`,
    level === 39 ? { type: "string" } : { allOf: [ref(level + 1), ref(level + 1)] },
  ]);
  assertThrows(
    () => argumentCheck(of(Object.fromEntries(twice))),
    InputError,
    "/properties/a applies more than 100000 schemas to one value",
  );
});

Deno.test("schemaOfWords() knows words for types, and takes all others for descriptions", () => {
  const table: [JsonValue, JsonObject][] = [
    ...Object.entries({
      ...{ string: "string", str: "string", number: "number", float: "number", int: "integer" },
      ...{ integer: "integer", bool: "boolean", boolean: "boolean", object: "object" },
      ...{ dict: "object", array: "array", list: "array" },
    }).map(([word, type]): [JsonValue, JsonObject] => [word, { type }]),
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
});
