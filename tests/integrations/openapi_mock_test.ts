// Results that are made up fit the schema of the operation, and depend on seed and arguments alone.

import { assert, assertEquals, assertLess, assertNotEquals, assertRejects } from "@std/assert";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { isIsolated, type StoppableTool } from "../../lib/tools/tool.ts";
import { schemaErrors } from "../../lib/tools/schema/validate.ts";
import fc from "../support/fast_check.ts";

interface Options {
  readonly seed?: number;
  readonly components?: JsonObject;
  readonly openapi?: string;
  readonly type?: string;
  readonly unsafePatterns?: boolean;
}

/** A tool whose result has a schema. */
async function toolOf(schema: JsonValue, options: Options = {}): Promise<StoppableTool> {
  const { components = {}, openapi = "3.1.0", type = "application/json", ...rest } = options;
  const [tool] = await openApiTools({
    openapi,
    info: { title: "", version: "" },
    paths: {
      "/": {
        get: {
          operationId: "it",
          parameters: [{ name: "q", in: "query", schema: {} }],
          responses: { 200: { description: "", content: { [type]: { schema } } } },
        },
      },
    },
    components: { schemas: components },
  }, rest);
  return tool!;
}

async function resultOf(schema: JsonValue, options?: Options): Promise<JsonValue> {
  return JSON.parse(await (await toolOf(schema, options)).execute({}));
}

/** Schemas of values without parts, all of which some value fits. */
const PLAIN: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constantFrom<JsonObject>(
    { type: "boolean" },
    { type: "null" },
    { type: ["string", "null"] },
    { enum: ["a", 1, null] },
    { type: "string", enum: ["abc", "d"], maxLength: 1 },
    { const: { a: 1 } },
    {},
  ),
  fc.constantFrom(
    ...["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "url"],
    ...["uri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex"],
    "of-my-own",
  ).map((format) => ({ type: "string", format })),
  fc.constantFrom(
    ...[
      "^[A-Z]{2}\\d{4}$",
      "^(a|b)+c?$",
      "^\\w+@\\w+\\.com$",
      "[^a-z]",
      "^(?!x)[a-z]{3,}$",
      "\\bab\\b",
    ],
    ...["^sk_[a-z0-9]{24}$", "^\\p{Lu}\\p{Ll}*$", "^$"],
  ).map((pattern) => ({ type: "string", pattern })),
  fc.tuple(fc.nat(40), fc.nat(40)).map(([minLength, more]) => ({
    ...{ type: "string", minLength, maxLength: minLength + more },
  })),
  fc.tuple(fc.constantFrom("integer", "number"), fc.integer(), fc.nat(), fc.boolean(), fc.boolean())
    .map(([type, low, span, isAbove, isBelow]) => ({
      type,
      [isAbove ? "exclusiveMinimum" : "minimum"]: low,
      [isBelow ? "exclusiveMaximum" : "maximum"]: low + span + 2,
    })),
  fc.constantFrom("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum").chain((keyword) =>
    fc.record({ type: fc.constantFrom("integer", "number"), [keyword]: fc.integer() })
  ),
  fc.constantFrom<JsonObject>(
    { type: "number", multipleOf: 0.01 },
    { type: "integer", multipleOf: 7, minimum: 10, maximum: 14 },
    { type: "number", minimum: 0.1, maximum: 0.11 },
  ),
);

/** Schemas of values with parts, which may lead back to the whole. */
const SCHEMA = fc.letrec<{ schema: JsonObject; inner: JsonObject }>((tie) =>
  ({
    schema: fc.oneof({ maxDepth: 4 }, PLAIN, tie("inner")),
    inner: fc.oneof(
      fc.record({ type: fc.constant("array"), items: tie("schema") }),
      fc.tuple(tie("schema"), fc.nat(4)).map(([items, minItems]) => ({
        ...{ type: "array", items, minItems, maxItems: minItems + 1 },
      })),
      fc.record({
        type: fc.constant("array"),
        prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({
        type: fc.constant("object"),
        additionalProperties: tie("schema"),
        minProperties: fc.nat(3),
      }),
      fc.dictionary(
        fc.constantFrom("a", "b", "c", "constructor", "$ref"),
        tie("schema"),
        { noNullPrototype: true },
      )
        .chain((properties) =>
          fc.record({
            type: fc.constantFrom<JsonValue>("object", ["object", "null"]),
            properties: fc.constant(properties),
            required: fc.subarray(Object.keys(properties)),
            ...({ additionalProperties: fc.boolean() }),
          })
        ),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc.tuple(tie("schema"), tie("schema")).map(([one, other]) => ({
        oneOf: [
          { type: "object", required: ["one"], properties: { one }, additionalProperties: false },
          {
            type: "object",
            required: ["other"],
            properties: { other },
            additionalProperties: false,
          },
        ],
      })),
      fc.tuple(tie("schema"), tie("schema")).map(([one, other]) => ({
        allOf: [
          { type: "object", properties: { one }, required: ["one"] },
          { properties: { other }, required: ["other"] },
          { $ref: "#/components/schemas/Base" },
        ],
      })),
      fc.constant({ anyOf: [{ type: "string" }, { $ref: "#/components/schemas/Node" }] }),
      fc.constant({ $ref: "#/components/schemas/Node" }),
    ),
  }) as never
).schema as fc.Arbitrary<JsonObject>;

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const COMPONENTS: JsonObject = {
  Base: {
    type: "object",
    required: ["id"],
    properties: { id: { type: "string", format: "uuid" } },
  },
  Node: {
    allOf: [ref("Base")],
    required: ["next", "all"],
    properties: {
      next: { anyOf: [ref("Node"), { type: "null" }] },
      all: { type: "array", items: ref("Node") },
      map: { type: "object", additionalProperties: ref("Node") },
    },
  },
};

Deno.test("openApiTools() makes up results that fit their schema, the same ones for a seed", async () => {
  await fc.assert(
    fc.asyncProperty(SCHEMA, fc.nat(), async (schema, seed) => {
      const value = await resultOf(schema, { seed, components: COMPONENTS });
      const { errors } = schemaErrors({ ...schema, components: { schemas: COMPONENTS } }, value);
      assertEquals(errors.map(({ instancePath, message }) => `${instancePath} ${message}`), []);
      assertEquals(await resultOf(schema, { seed, components: COMPONENTS }), value);
      assertLess(JSON.stringify(value).length, 100_000);
    }),
    { numRuns: 120 },
  );
});

Deno.test("openApiTools() finds results of schemas that few drawn values fit, and of odd ones", async () => {
  const branch = (properties: JsonObject) => ({ type: "object", required: ["kind"], properties });
  const oneOf = [branch({ kind: {}, a: {} }), branch({ kind: {}, b: { type: "integer" } })];
  const twice = Array.from({ length: 13 }, (_, level): [string, JsonObject] => [
    `Twice${level}`,
    level === 0 ? branch({}) : { allOf: [ref(`Twice${level - 1}`), ref(`Twice${level - 1}`)] },
  ]);
  const components = Object.fromEntries(twice);
  for (
    const schema of [
      { type: "string", pattern: "[A-z]", minLength: 24 },
      { type: "array", minItems: 8, items: { oneOf: [{ type: "string" }, { enum: ["cat"] }] } },
      // What both branches take is of the one that is named.
      { discriminator: { propertyName: "kind" }, oneOf },
      { type: "integer", minimum: -(2 ** 63), maximum: 2 ** 63 },
      { type: "integer", exclusiveMinimum: -(2 ** 63) },
      ref("Twice12"),
      { type: "array", minItems: 2, items: [{ type: "integer" }] },
      { type: "object", minProperties: 1, propertyNames: { enum: ["x", "y"] } },
    ] as JsonObject[]
  ) {
    const { discriminator: _, ...rest } = schema;
    const checked = "discriminator" in schema ? { anyOf: oneOf } : rest;
    const result = await resultOf(schema, { components });
    const { errors } = schemaErrors({ ...checked, components: { schemas: components } }, result);
    assertEquals(errors, [], JSON.stringify(schema));
  }
});

Deno.test("openApiTools() leaves out of results what may be left out and cannot be checked", async () => {
  const text = { type: "string" };
  const schema = {
    type: "object",
    required: ["a"],
    properties: { a: text, b: { type: "string", pattern: "^(a|(?=b)\\w)+$" } },
  };
  for (const seed of [1, 2, 3]) {
    assertEquals(Object.keys(await resultOf(schema, { seed }) as JsonObject), ["a"]);
  }
  await assertRejects(
    () => resultOf({ ...schema, required: ["b"] }),
    InfrastructureError,
    "cannot be checked in linear time",
  );
});

Deno.test("openApiTools() makes up no result that is an error alone, unless it must be one", async () => {
  const schema = { type: "object", properties: { error: { type: "string" }, data: {} } };
  for (let seed = 0; seed < 20; seed++) {
    assertNotEquals(Object.keys(await resultOf(schema, { seed }) as JsonObject), ["error"]);
  }
  const { error } = await resultOf({
    ...schema,
    maxProperties: 1,
    required: ["error"],
  }) as JsonObject;
  assertEquals(typeof error, "string");
});

Deno.test("openApiTools() makes up results that have the values of arguments of the same names, where these fit", async () => {
  const text = { type: "string", maxLength: 3 };
  const inner = { type: "object", properties: { q: {} }, required: ["q"] };
  const properties = { q: text, inner };
  const tool = await toolOf({ type: "object", properties, required: ["inner"] });
  const q = async (given: string) => JSON.parse(await tool.execute({ q: given }));
  assertEquals((await q("A7")).q, "A7");
  // One within another is of something else, as an order has a customer.
  assertNotEquals((await q("A7")).inner.q, "A7");
  assertNotEquals((await q("longer")).q, "longer");
});

Deno.test("openApiTools() makes up other results for other seeds and other arguments", async () => {
  const schema = {
    type: "object",
    required: ["id"],
    properties: { id: { type: "string", format: "uuid" } },
  };
  const [one, other] = await Promise.all([1, 2].map((seed) => toolOf(schema, { seed })));
  const first = await one!.execute({ q: "a" });
  assertEquals(await one!.execute({ q: "a" }), first);
  assertNotEquals(await one!.execute({ q: "b" }), first);
  assertNotEquals(await other!.execute({ q: "a" }), first);
  // The order in which a model writes arguments says nothing.
  const nested = (q: JsonValue) => one!.execute({ q });
  assertEquals(await nested({ a: 1, b: 2 }), await nested({ b: 2, a: 1 }));
  assert(isIsolated(one!));
  assert(!isIsolated({ ...one! }));
});

Deno.test("openApiTools() makes up the same bytes on every machine", async () => {
  const schema = {
    type: "object",
    required: ["id", "name", "at", "price", "tags"],
    properties: {
      id: { type: "integer" },
      name: { type: "string" },
      at: { type: "string", format: "date-time" },
      price: { type: "number" },
      tags: { type: "array", items: { type: "string", maxLength: 8 } },
    },
  };
  const tool = await toolOf(schema);
  assertEquals(
    await tool.execute({ q: "a" }),
    '{"id":76906,"name":"Tisulo Kadoka","at":"2021-07-28T00:44:47Z","price":90256.66,"tags":["Vetipa K","Kamika N"]}',
  );
});

Deno.test("openApiTools() makes up results of no content, of texts and of the lowest success", async () => {
  const result = async (responses: JsonObject) => {
    const paths = { "/": { get: { operationId: "it", responses } } };
    const [tool] = await openApiTools({
      openapi: "3.0.0",
      info: { title: "", version: "" },
      paths,
    });
    return await tool!.execute({});
  };
  const of = (value: JsonValue, type = "application/json") => ({
    description: "",
    content: { [type]: { schema: { enum: [value] } } },
  });
  assertEquals(await result({ 204: { description: "" } }), "null");
  assertEquals(await result({ 400: of("bad") }), "null");
  assertEquals(await result({ 201: of("made"), 202: of("later"), 400: of("bad") }), '"made"');
  assertEquals(await result({ "2xx": of("any"), default: of("bad") }), '"any"');
  assertEquals(await result({ default: of("any"), 404: of("bad"), "x-note": {} }), '"any"');
  assertEquals(await result({ 200: of("a,b", "text/csv") }), "a,b");
  assertEquals(await result({ 200: of(1, "application/vnd.api+json; v=1") }), "1");
  assert((await result({ 200: { description: "", content: { "text/plain": {} } } })).length > 0);
});

Deno.test("openApiTools() ends a trial whose result cannot be made up, soon", async () => {
  const endless = { type: "object", required: ["next"], properties: { next: ref("Endless") } };
  for (
    const schema of [
      ref("Endless"),
      false,
      { type: "string", minLength: 5, maxLength: 4 },
      { type: "integer", minimum: 0.2, maximum: 0.8 },
      { type: "array", minItems: 1_000_000_000 },
      { type: "array", minItems: 2, maxItems: 2, uniqueItems: true, items: { const: 1 } },
      { type: "string", pattern: "^(a{1000}){1000}$" },
      { type: "string", pattern: "^(?=b)a$" },
      { type: "string", pattern: "^(a)\\1$" },
      { type: "string", pattern: "^((((){900}){900}){900}){900}$" },
      { allOf: [{ type: "string" }, { type: "integer" }] },
      {
        type: "array",
        minItems: 1000,
        items: { type: "array", minItems: 1000, items: { type: "array", minItems: 1000 } },
      },
      // Few enough values, and 36 MB of texts.
      {
        type: "array",
        minItems: 60,
        items: { type: "array", minItems: 60, items: { type: "string", minLength: 10_000 } },
      },
    ]
  ) {
    const tool = await toolOf(schema as JsonValue, { components: { Endless: endless } });
    await assertRejects(
      () => tool.execute({}),
      InfrastructureError,
      "Cannot make up a result of GET / as it must fit its schema",
    );
  }
});

Deno.test("openApiTools() makes up results of patterns that are not linear, if it may run them", async () => {
  const schema = { type: "string", pattern: "^a(?=b)[b-d]$" };
  assertEquals(await resultOf(schema, { unsafePatterns: true }), "ab");
});
