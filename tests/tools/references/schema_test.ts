import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/2020";
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { resultParameter } from "../../../lib/tools/references/schema.ts";
import { Symbols } from "../../../lib/tools/references/symbol_table.ts";
import fc from "../../support/fast_check.ts";
import { escaped, EVALUATE, plain, toolOf } from "../../support/names.ts";

const NAME_SCHEMA = {
  type: "string",
  description:
    "The @name of a known value, in place of the value itself; @name.field for a field of it.",
  pattern: "^@[A-Za-z_][A-Za-z0-9_]*(\\.[^.@\\s]+)*$",
};

Deno.test("Symbols.offer() gives the article's example, and leaves the tool as it was (Indirection, Adding a Level of Indirection)", () => {
  const before = structuredClone(EVALUATE);
  assertEquals(new Symbols().offer(EVALUATE), {
    ...EVALUATE,
    parameters: {
      type: "object",
      properties: {
        expression: {
          type: "string",
          description: "A mathematical expression represented as a string.",
        },
        result: {
          type: "string",
          description:
            "Descriptive unique variable @name for the result of evaluating the function.",
          pattern: "^@[A-Za-z_][A-Za-z0-9_]*$",
        },
      },
      required: ["expression", "result"],
      additionalProperties: false,
    },
  });
  assertEquals(EVALUATE, before);
});

/** How the position of a parameter is offered. */
function offered(schema: JsonValue): JsonValue {
  const { parameters } = new Symbols().offer(toolOf({ x: schema }));
  return (parameters["properties"] as JsonObject)["x"]!;
}

Deno.test("Symbols.offer() leaves positions alone that take every name already", () => {
  for (
    const schema of [
      true,
      {},
      { type: "string" },
      { type: "string", minLength: 1, maxLength: 200 },
      { anyOf: [{ type: "string" }, { type: "null" }] },
      { allOf: [{ type: "string" }, { maxLength: 80 }] },
    ] as JsonValue[]
  ) assertEquals(offered(schema), schema);
});

Deno.test("Symbols.offer() lets all other positions take a name", () => {
  for (
    const schema of [
      { type: "integer", minimum: 3 },
      { const: "a" },
      { type: "string", format: "date" },
      { type: "string", minLength: 3 },
      { type: "string", maxLength: 10 },
      { not: { type: "string" } },
      { allOf: [{ type: "string" }, { format: "email" }] },
      { $ref: "https://example.com/schema" },
    ] as JsonObject[]
  ) assertEquals(offered(schema), { anyOf: [schema, NAME_SCHEMA] });
});

Deno.test("Symbols.offer() lets a path stand for a value, and none for the name of a result", () => {
  const { parameters } = new Symbols().offer(toolOf({ x: { type: "integer" } }));
  for (
    const name of [
      "@Order",
      "@Order.total",
      "@O.lines.0.sku",
      "@O.e-mail",
      "@O.größe",
      "@O.__proto__",
    ]
  ) {
    assert(accepts(parameters, { x: name, result: "@R" }), name);
    assertEquals(accepts(parameters, { x: 1, result: name }), !name.includes("."), name);
  }
  for (const name of ["@Order.", "@Order..a", "@.a", "@1.a", "@O.a b", "@O.a@b", "2*@O.a", "@O "]) {
    assert(!accepts(parameters, { x: name, result: "@R" }), name);
  }
});

Deno.test("Symbols.offer() adds a name to alternatives, not to each of them", () => {
  const kinds = [{ type: "integer" }, { type: "boolean" }];
  assertEquals(offered({ description: "d", anyOf: kinds }), {
    description: "d",
    anyOf: [...kinds, NAME_SCHEMA],
  });
  assertEquals(offered({ oneOf: kinds }), { anyOf: [...kinds, NAME_SCHEMA] });
  assertEquals(offered({ type: "integer", anyOf: kinds }), {
    anyOf: [{ type: "integer", anyOf: kinds }, NAME_SCHEMA],
  });
});

Deno.test("Symbols.offer() keeps parameters with names of Object.prototype", () => {
  const parameters = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"type":"null"}}}',
  );
  const before = JSON.stringify(parameters);
  const made = new Symbols().offer({ name: "t", description: "", parameters });
  assertEquals(JSON.stringify(parameters), before);
  assertEquals(Object.keys(made.parameters["properties"] as JsonObject), [
    "__proto__",
    "constructor",
    "result",
  ]);
  assertStringIncludes(JSON.stringify(made), '"__proto__":{"anyOf":[{"type":"integer"}');
  assertEquals(({} as JsonObject)["anyOf"], undefined);
});

Deno.test("resultParameter() gives a name that the tool does not use, in a branch neither", () => {
  assertEquals(resultParameter(EVALUATE), "result");
  const own = toolOf({ result: { type: "integer" } });
  assertEquals(resultParameter(own), "result_name");
  assertEquals(resultParameter(toolOf({ result: true, result_name: true })), "result_name_2");
  const branches = { anyOf: [{ $ref: "#/$defs/a" }], $defs: { a: { properties: { result: {} } } } };
  assertEquals(resultParameter(toolOf({}, branches)), "result_name");
  const { parameters } = new Symbols().offer(own);
  assertEquals(parameters["required"], ["result", "result_name"]);
  assertEquals(
    new Symbols([["N", 3]]).read(own, '{"result":"@N","result_name":"@M"}'),
    { name: "M", resolved: '{"result":3}' },
  );
});

const DRAFTS = {
  "draft-07": new Ajv({ strict: false, validateFormats: false }),
  "2020-12": new Ajv2020({ strict: false, validateFormats: false }),
};
type Draft = keyof typeof DRAFTS;

/** Tells which values are valid. */
function validator(schema: JsonObject, draft: Draft): (value: unknown) => boolean {
  const validate = DRAFTS[draft].compile(schema);
  DRAFTS[draft].removeSchema(schema);
  return (value) => validate(value) as boolean;
}

function accepts(schema: JsonObject, value: unknown): boolean {
  return validator(schema, "2020-12")(value);
}

Deno.test("Symbols.offer() keeps schemas valid whose root is put together", () => {
  const closed = { type: "object", additionalProperties: false, required: ["a"] };
  const whole = { ...closed, properties: { a: { type: "integer" } } };
  const other = { ...closed, properties: { b: { type: "integer" } }, required: ["b"] };
  const roots: JsonObject[] = [
    whole,
    { $ref: "#/$defs/all", $defs: { all: whole } },
    { $ref: "#/definitions/all", definitions: { all: { $ref: "#/definitions/b" }, b: whole } },
    { type: "object", anyOf: [other, whole] },
    { type: "object", oneOf: [{ $ref: "#/$defs/a" }, other], $defs: { a: whole } },
    { allOf: [{ ...whole }, { minProperties: 1, maxProperties: 1 }] },
    { ...whole, maxProperties: 1, minProperties: 1 },
    { properties: { a: { type: "integer" } }, unevaluatedProperties: false },
    {},
  ];
  for (const parameters of roots) {
    const { parameters: made } = new Symbols().offer({ name: "t", description: "", parameters });
    const text = JSON.stringify(parameters);
    assert(accepts(parameters, { a: 1 }), text);
    assert(accepts(made, { a: 1, result: "@R" }), text);
    assert(accepts(made, { a: "@A", result: "@R" }), text);
    assert(!accepts(made, { a: 1 }), text);
    assert(!accepts(made, { a: 1, result: "R" }), text);
    assertEquals(made["type"], "object");
  }
});

Deno.test("Symbols.offer() keeps what schemas say of themselves: recursion, and places within", () => {
  const tree = z.object({
    size: z.int(),
    get parts() {
      return z.array(tree);
    },
  });
  const recursive = z.toJSONSchema(tree) as JsonObject;
  const { parameters } = new Symbols().offer({ name: "t", description: "", parameters: recursive });
  const inner = { size: "@N", parts: [{ size: 1, parts: "@Parts" }, "@Tree"] };
  assert(accepts(parameters, { ...inner, result: "@R" }));
  assert(!accepts(parameters, { size: 1, parts: [{ ...inner, result: "@R" }], result: "@R" }));
  const known = { ...recursive, $id: "https://example.com/tree" };
  const { parameters: again } = new Symbols().offer({ ...EVALUATE, parameters: known });
  assert(accepts(again, { ...inner, result: "@R" }));
  const { parameters: within } = new Symbols().offer(toolOf({
    a: { type: "object", properties: { deep: { type: "array", items: { type: "integer" } } } },
    b: { $ref: "#/properties/a/properties/deep" },
    c: { $ref: "#/properties/a/properties/deep/items" },
  }, { $defs: { moved_1: { type: "null" } } }));
  assert(accepts(within, { a: { deep: [1, "@N"] }, b: ["@N", 1], c: "@N", result: "@R" }));
  assert(accepts(within, { a: "@N", b: "@N", c: 7, result: "@R" }));
  assert(!accepts(within, { a: {}, b: ["no"], c: 1, result: "@R" }));
});

Deno.test("Symbols.offer() counts the result's name where parameters are counted", () => {
  const { parameters } = new Symbols().offer(toolOf({ a: {} }, { minProperties: 1, required: [] }));
  assert(!accepts(parameters, { result: "@R" }) && accepts(parameters, { a: 1, result: "@R" }));
});

Deno.test("Symbols.offer() drops an OpenAPI discriminator, as a name may stand in its place", () => {
  const oneOf: JsonObject[] = [{ type: "object", properties: { kind: { const: "a" } } }, {
    type: "null",
  }];
  const { anyOf, ...others } = offered({ oneOf, discriminator: { propertyName: "kind" } }) as {
    anyOf: JsonValue[];
  };
  assertEquals([anyOf.length, others], [3, {}]);
});

Deno.test("Symbols.offer() leaves hostile schemas as deep as they are", () => {
  let deep: JsonValue = { type: "integer" };
  for (let depth = 0; depth < 5_000; depth++) deep = { type: "array", items: deep };
  new Symbols().offer(toolOf({ deep }));
  const cycle = { x: { $ref: "#/$defs/a" }, y: { anyOf: [{ $ref: "#/$defs/a" }] } };
  const made = new Symbols().offer(
    toolOf(cycle, { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }),
  );
  assert("result" in (made.parameters["properties"] as JsonObject));
});

interface Sample {
  readonly schema: JsonObject;
  readonly value: JsonValue;
}

/** A schema, and a value that is valid by it. */
const samplesOf = (draft: Draft) =>
  fc.letrec<{ sample: Sample }>((tie) => ({
    sample: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.integer().map((value) => ({ schema: { type: "integer" }, value: value + 0 })),
      fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
      fc.constant({ schema: { type: "null" }, value: null }),
      fc.string().map((value) => ({ schema: { type: "string" }, value })),
      fc.option(fc.string()).map((value) => ({ schema: { type: ["string", "null"] }, value })),
      fc.constantFrom("red", "green").map((value) => ({
        schema: { type: "string", enum: ["red", "green"] },
        value,
      })),
      fc.integer({ min: 1, max: 9 }).map((day) => ({
        schema: { type: "string", pattern: "^2026-01-0\\d$" },
        value: `2026-01-0${day}`,
      })),
      plain.map((value) => ({ schema: {}, value })),
      fc.tuple(tie("sample"), fc.nat({ max: 3 })).map(([{ schema, value }, size]) => ({
        schema: { type: "array", items: schema },
        value: new Array(size).fill(value),
      })),
      fc.array(tie("sample"), { minLength: 1, maxLength: 3 }).map((all) => ({
        schema: {
          type: "array",
          [draft === "2020-12" ? "prefixItems" : "items"]: all.map(({ schema }) => schema),
          [draft === "2020-12" ? "items" : "additionalItems"]: false,
          minItems: all.length,
        },
        value: all.map(({ value }) => value),
      })),
      fc.uniqueArray(
        fc.tuple(fc.constantFrom("a", "b", "toString", "constructor", "result"), tie("sample")),
        { selector: ([name]) => name, maxLength: 3 },
      ).map((all) => ({
        schema: {
          type: "object",
          properties: Object.fromEntries(all.map(([name, { schema }]) => [name, schema])),
          required: all.map(([name]) => name),
          additionalProperties: false,
        },
        value: Object.fromEntries(all.map(([name, { value }]) => [name, value])),
      })),
      fc.tuple(fc.constantFrom("x", "y"), tie("sample")).map(([name, { schema, value }]) => ({
        schema: { type: "object", additionalProperties: schema },
        value: { [name]: value },
      })),
      fc.tuple(tie("sample"), tie("sample"), fc.constantFrom("anyOf", "oneOf"), fc.boolean()).map(
        ([{ schema, value }, other, keyword, first]) => ({
          schema: {
            [keyword]: [
              {
                type: "object",
                properties: { kind: { const: "one" }, it: schema },
                required: ["kind"],
              },
              {
                type: "object",
                properties: { kind: { const: "two" }, it: other.schema },
                required: ["kind"],
              },
            ],
          },
          value: first ? { kind: "one", it: value } : { kind: "two", it: other.value },
        }),
      ),
      tie("sample").map(({ schema, value }) => ({
        schema: { description: "one of two", anyOf: [schema, { type: "null" }] },
        value,
      })),
    ),
  })).sample;

/** The value as a model may write it: names for some of its parts, signs doubled in its texts. */
function withNames(
  value: JsonValue,
  choose: () => boolean,
  bound: Map<string, JsonValue>,
): JsonValue {
  if (choose()) {
    const name = `v${bound.size}`;
    bound.set(name, value);
    return `@${name}`;
  }
  if (typeof value === "string") return escaped(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, choose, bound));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withNames(inner, choose, bound)]),
  );
}

for (const draft of ["draft-07", "2020-12"] as const) {
  Deno.test(`offered schemas of ${draft} take values and names, and names read back as the values`, () => {
    let names = 0;
    fc.assertAll(
      fc.property(
        fc.uniqueArray(
          fc.tuple(fc.constantFrom("p", "q", "constructor", "result"), samplesOf(draft)),
          {
            selector: ([name]) => name,
            minLength: 1,
            maxLength: 3,
          },
        ),
        fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
        (all, choices) => {
          const own = toolOf(Object.fromEntries(all.map(([name, { schema }]) => [name, schema])));
          const before = JSON.stringify(own);
          const values = Object.fromEntries(all.map(([name, { value }]) => [name, value]));
          assert(validator(own.parameters, draft)(values), "the sample is wrong");
          const accepts = validator(new Symbols().offer(own).parameters, draft);
          const parameter = resultParameter(own);
          assert(accepts({ ...values, [parameter]: "@R" }));
          assert(!accepts(values));

          const bound = new Map<string, JsonValue>();
          const written = Object.fromEntries(
            Object.entries(values).map(([name, value]) => [
              name,
              withNames(value, () => choices.next().value === 0, bound),
            ]),
          );
          names += bound.size;
          const call = { ...written, [parameter]: "@R" };
          // Where a text must have a form, the doubled signs of its escape may break that.
          assert(accepts(call), JSON.stringify(call));
          const read = new Symbols(bound).read(own, JSON.stringify(call));
          assert("resolved" in read, JSON.stringify(read));
          assertEquals(JSON.parse(read.resolved), JSON.parse(JSON.stringify(values)));
          assertEquals(JSON.stringify(own), before);
        },
      ),
      { numRuns: 60 },
    );
    assert(names > 40, `${names} names`);
  });
}

Deno.test("offered schemas keep OpenAI's strict form: closed objects that require all they have", () => {
  const strict = (schema: JsonValue): void => {
    if (typeof schema !== "object" || schema === null) return;
    if (!Array.isArray(schema) && schema["type"] === "object") {
      assertEquals(schema["additionalProperties"], false);
      assertEquals(schema["required"], Object.keys(schema["properties"] as JsonObject));
    }
    assert(Array.isArray(schema) || !("oneOf" in schema));
    Object.values(schema).forEach(strict);
  };
  const point = toolOf({ x: { type: "number" }, y: { type: "number" } }).parameters;
  const { parameters, strict: kept } = new Symbols().offer({
    ...toolOf({
      points: { type: "array", items: { $ref: "#/$defs/point" } },
      best: { anyOf: [{ $ref: "#/$defs/point" }, { type: "null" }] },
    }, { $defs: { point } }),
    strict: true,
  });
  strict(parameters);
  assert(accepts(parameters, { points: [{ x: "@N", y: 1 }], best: null, result: "@R" }));
  assertEquals(kept, true);
  assertEquals(["anyOf", "oneOf", "allOf"].filter((keyword) => keyword in parameters), []);
});
