import { assert, assertEquals, assertThrows } from "@std/assert";
import { PLACEHOLDER } from "../../../lib/tasks/questions/question_set.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import { truthCheck } from "../../../lib/tasks/questions/_check_truth.ts";
import fc from "../../support/fast_check.ts";

const U = PLACEHOLDER;

function checkOf(parameters: JsonObject) {
  return truthCheck({ name: "f", description: "", parameters: { type: "object", ...parameters } });
}

Deno.test("truthCheck() tells what is missing, unexpected or wrong", () => {
  const check = checkOf({
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
    required: ["city"],
    additionalProperties: false,
    minProperties: 1,
  });
  const table: [JsonValue, string | undefined][] = [
    [{ city: "Oslo", days: 2 }, undefined],
    [{ city: U, days: U }, undefined],
    [{ days: 2 }, ": missing city"],
    [{ days: U }, ": missing city"],
    [{ city: "Oslo", days: 0 }, ": wrong days"],
    [{ city: U, days: "2" }, ": wrong days"],
    [{ city: "Oslo", town: U }, ": unexpected town"],
    [{ days: "two", "__proto__ ": 1 }, ": missing city; unexpected __proto__ ; wrong days"],
    [{ city: "Oslo", "a\u001b[31m": 1 }, ": unexpected a\\u001b[31m"],
    [JSON.parse('{"city": "Oslo", "__proto__": 1}'), ": unexpected __proto__"],
  ];
  for (const [given, expected] of table) {
    assertEquals(check(given), expected, JSON.stringify(given));
  }
  assertEquals(checkOf({ minProperties: 2 })({ a: U }), "");
});

Deno.test("truthCheck() takes a placeholder for any value of its place", () => {
  const table: [schema: JsonObject, fits: JsonValue[], fails: JsonValue[]][] = [
    [{ type: "integer" }, [U, 1], ["1", "$$", [U]]],
    [{ type: ["boolean", "null"] }, [U], ["$$$$", { a: U }]],
    [{ enum: ["a", "b"] }, [U, "a"], ["c"]],
    [{ const: 5 }, [U], [6]],
    [{ type: "string", pattern: "^[a-z]+$" }, [U, "a"], ["A"]],
    [{ type: "string", minLength: 5 }, [U, "abcde"], ["abcd"]],
    [{ type: "string", format: "date" }, [U, "2024-02-29"], ["today"]],
    [{ type: "string", maxLength: 2 }, [U, "ab"], ["abc"]],
    [{ type: "integer", nullable: true }, [U, null], ["x", [U]]],
    [{ type: "array", items: { type: "integer" } }, [U, [U, 1]], [[U, "1"]]],
    [{ prefixItems: [{ type: "integer" }, { type: "null" }] }, [[U, U]], [[U, 1]]],
    [{ type: "array", uniqueItems: true }, [[U, U]], [[1, 1]]],
    [{ contains: { const: 1 } }, [[2, U]], [[2]]],
    [{ contains: { const: 1 }, maxContains: 1 }, [[1, U]], [[1, 1]]],
    [
      { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      [U, { n: U }],
      [{ m: U }, { n: "x", m: U }],
    ],
    [{ additionalProperties: { type: "integer" } }, [{ a: U }], [{ a: U, b: "x" }]],
    [{ patternProperties: { "^a": { type: "integer" } } }, [{ ab: U }], [{ ab: U, a: "x" }]],
    [{ propertyNames: { maxLength: 2 } }, [{ a: U }], [{ abc: U }, { [U]: U }]],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, [U], ["x", [U]]],
    [
      { anyOf: [{ properties: { n: { const: 1 } } }, { maxProperties: 0 }] },
      [{ n: U }],
      [{ n: 2 }, { n: 2, m: U }],
    ],
    // Once it is known it is one of the two.
    [{ oneOf: [{ type: "integer" }, { type: "string" }] }, [U, 1], [null, [U]]],
    [
      { oneOf: [{ properties: { a: { const: 1 } } }, { properties: { a: { const: 2 } } }] },
      [{ a: U }],
      [{ a: 3 }, { a: 3, b: U }],
    ],
    [
      { allOf: [{ type: "integer" }, { minimum: 2 }] },
      [U, 2],
      [1, "x", [U]],
    ],
    [{ type: "array", not: { contains: { const: 1 } } }, [[U]], [[1]]],
    [{ not: { type: "string" } }, [U], ["x"]],
    [
      { if: { properties: { a: { const: 1 } } }, then: { required: ["b"] } },
      [{ a: U }, { a: 2 }],
      [{ a: 1 }],
    ],
    [
      {
        if: { required: ["a"] },
        then: { properties: { a: { type: "integer" } } },
        unevaluatedProperties: false,
      },
      [{ a: U }, { a: 1 }],
      [{ a: U, b: 1 }],
    ],
    [{ $ref: "#/$defs/n" }, [U, 3, [U, [U]]], ["x", [U, ["x"]]]],
    [{ $ref: "#/properties/other/allOf/0" }, [U, 3], [2]],
    [{ dependentSchemas: { a: { required: ["b"] } } }, [{ a: U, b: U }], [{ a: U }]],
    [true as unknown as JsonObject, [U], []],
    [false as unknown as JsonObject, [], [U, 1]],
  ];
  const $defs = {
    n: { anyOf: [{ type: "integer" }, { type: "array", items: { $ref: "#/$defs/n" } }] },
  };
  const other = { type: "integer", oneOf: [{}], allOf: [{ minimum: 3 }] };
  for (const [schema, fits, fails] of table) {
    const check = checkOf({ $defs, properties: { x: schema, other } });
    for (const x of fits) assertEquals(check({ x }), undefined, JSON.stringify([schema, x]));
    for (const x of fails) assert(check({ x }) !== undefined, JSON.stringify([schema, x]));
  }
});

Deno.test("truthCheck() says nothing where a reference leads into what a placeholder opens", () => {
  const check = checkOf({
    properties: { a: { oneOf: [{ type: "integer" }] }, b: { $ref: "#/properties/a/oneOf/0" } },
  });
  assertEquals([check({ b: 1 }), check({ b: "x" }), check({ b: "x", a: U })], [
    ...[undefined, ": wrong b", undefined],
  ]);
});

Deno.test("truthCheck() throws where the schema is none, and neither changes it nor follows it without end", () => {
  assertThrows(() => checkOf({ required: 5 }), InputError, "must be a JSON Schema");
  const parameters = { type: "object", properties: { a: { type: "integer" }, b: { $ref: "#" } } };
  const before = JSON.stringify(parameters);
  const check = truthCheck({ name: "f", description: "", parameters });
  let given: JsonObject = { a: U };
  for (let level = 0; level < 90; level++) given = { a: U, b: given };
  assertEquals(check(given), undefined);
  assertEquals(check({ a: U, b: { a: "x" } }), ": wrong b");
  assertEquals(JSON.stringify(parameters), before);
});

Deno.test("truthCheck() never minds a placeholder in what conforms, and is plain where there is none", () => {
  const key = fc.constantFrom("a", "b", "__proto__", "constructor", "1");
  const leaf = fc.constantFrom<JsonObject[]>(
    { type: "integer" },
    { type: "string", maxLength: 3 },
    { enum: ["x", 1, null] },
    {},
  );
  const schema: fc.Arbitrary<JsonObject> = fc.letrec<{ any: JsonObject }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant("array"), items: tie("any") }),
      fc.record({ anyOf: fc.array(tie("any"), { minLength: 1, maxLength: 2 }) }),
      fc.dictionary(key, tie("any")).map((properties): JsonObject => ({
        type: "object",
        properties,
        additionalProperties: false,
      })),
    ),
  })).any;
  const value = fc.letrec<{ any: JsonValue }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<JsonValue[]>(1, "x", "long", null, true),
      fc.array(tie("any"), { maxLength: 2 }),
      fc.dictionary(key, tie("any"), { maxKeys: 2 }),
    ),
  })).any;
  const seen = { conforms: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.dictionary(key, schema),
      fc.dictionary(key, value),
      fc.nat(),
      (own, given, at) => {
        const parameters = { type: "object", properties: own, additionalProperties: false };
        const tool = { name: "f", description: "", parameters };
        const [plain, check] = [argumentCheck(tool)(given), truthCheck(tool)];
        assertEquals(check(given) === undefined, plain === undefined);
        seen[plain === undefined ? "conforms" : "refused"]++;
        const open = withPlaceholder(given, at) as JsonObject;
        if (plain === undefined) assertEquals(check(open), undefined, JSON.stringify([own, open]));
      },
    ),
    { numRuns: 150 },
  );
  assert(seen.conforms > 10 && seen.refused > 50, JSON.stringify(seen));
});

/** The value with a placeholder in the place of one of its values, found by going down some way. */
function withPlaceholder(value: JsonValue, at: number, level = 0): JsonValue {
  if (level > 0 && (at % 3 === 0 || typeof value !== "object" || value === null)) return U;
  const next = Math.floor(at / 3);
  const entries = Object.entries(value as JsonObject);
  if (entries.length === 0) return level === 0 ? value : U;
  const [name, inner] = entries[next % entries.length]!;
  const changed = withPlaceholder(inner, next, level + 1);
  return Array.isArray(value)
    ? value.with(Number(name), changed)
    : Object.fromEntries(entries.map(([key, own]) => [key, key === name ? changed : own]));
}
