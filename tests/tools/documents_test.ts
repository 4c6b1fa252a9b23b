import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { parseToolDocuments } from "../../lib/tools/documents.ts";
import fc from "../support/fast_check.ts";

const PARAMETERS = {
  type: "object",
  properties: {
    city: { type: ["string", "null"], description: "The city.", enum: ["Rome", null] },
    days: { type: "array", items: { type: "integer" }, minItems: 1 },
    description: true,
  },
  required: ["city"],
  additionalProperties: false,
};

Deno.test("parseToolDocuments() takes one document or a list, in toolgate's form and OpenAI's two", () => {
  const parts = { name: "tool", description: "Does it.", parameters: PARAMETERS, strict: true };
  const more = { examples: [{ city: "Rome" }], returns: { type: "string" } };
  for (
    const [document, tool] of [
      [{ ...parts, ...more }, { ...parts, ...more }],
      [{ type: "function", function: parts }, parts],
      [{ type: "function", function: { ...parts, ...more } }, { ...parts, ...more }],
      [{ type: "function", ...parts }, parts],
      [{ name: "tool", parameters: {} }, { name: "tool", description: "", parameters: {} }],
      [
        { type: "function", name: "tool", description: null, parameters: null, strict: null },
        { name: "tool", description: "", parameters: { type: "object", properties: {} } },
      ],
      [
        { type: "function", function: { name: "tool" }, further: 1 },
        { name: "tool", description: "", parameters: { type: "object", properties: {} } },
      ],
    ] as const
  ) {
    assertEquals(parseToolDocuments(document, "tool.json"), [tool]);
    assertEquals(parseToolDocuments([document, { name: "other", parameters: {} }], "tool.json"), [
      tool,
      { name: "other", description: "", parameters: {} },
    ]);
  }
  assertEquals(parseToolDocuments([], "tool.json"), []);
});

Deno.test("parseToolDocuments() takes MCP's form, and what tools/list answers, without what is for hosts", () => {
  const listed = {
    name: "db.query",
    title: "Query",
    inputSchema: PARAMETERS,
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: true },
    _meta: { "x/y": 1 },
  };
  const parts = { parameters: PARAMETERS, returns: { type: "object" } };
  assertEquals(parseToolDocuments({ tools: [listed], nextCursor: "2" }, "tools.json"), [
    { name: "db.query", description: "Query", ...parts },
  ]);
  const described = { ...listed, description: "Queries rows" };
  assertEquals(parseToolDocuments(described, "tools.json")[0]!.description, "Queries rows");
  assertThrows(
    () => parseToolDocuments({ ...listed, inputSchema: { type: "objekt" } }, "tools.json"),
    InputError,
    "at inputSchema.type: expected one of",
  );
});

Deno.test("parseToolDocuments() keeps schemas as they are, the order of their keys and odd names too", () => {
  const text =
    '{"properties":{"b":{"type":"string"},"__proto__":{"items":[{},true]},"a":{"$ref":"#"}},"x-own":[3]}';
  const [tool] = parseToolDocuments({ name: "tool", parameters: JSON.parse(text) }, "tool.json");
  assertEquals(JSON.stringify(tool!.parameters), text);
});

/** The faults that are found in a document, without the name of its source. */
function faultsOf(document: unknown): string {
  const error = assertThrows(() => parseToolDocuments(document, "tool.json"), InputError);
  const [first, ...faults] = error.message.split("\n");
  assertEquals(first, "Cannot use tool.json:");
  return faults.join("\n").replace(/^ {2}/, "");
}

Deno.test("parseToolDocuments() names the path of what is wrong, at any depth", () => {
  const schema = "must be a schema, an object (or true, or false)";
  const types = '"null"|"boolean"|"integer"|"number"|"string"|"array"|"object"';
  const invalid = (expected: string, received: string) =>
    `: expected ${expected}, received ${received}`;
  for (
    const [parameters, fault] of [
      [3, ": must be an object"],
      [[], ": must be an object"],
      [{ properties: [] }, `.properties${invalid("record", "array")}`],
      [{ properties: { city: 3 } }, `.properties.city: ${schema}`],
      [{ properties: { city: null } }, `.properties.city: ${schema}`],
      [{ properties: { "a b": [] } }, `.properties["a b"]: ${schema}`],
      [
        { properties: { properties: { properties: 1 } } },
        `.properties.properties.properties${invalid("record", "number")}`,
      ],
      [{ patternProperties: { a: "x" } }, `.patternProperties.a: ${schema}`],
      [{ $defs: { a: { definitions: 1 } } }, `.$defs.a.definitions${invalid("record", "number")}`],
      [{ required: "city" }, `.required${invalid("array", "string")}`],
      [{ required: ["city", 2] }, `.required[1]${invalid("string", "number")}`],
      [{ items: { description: 7 } }, `.items.description${invalid("string", "number")}`],
      [
        { items: [{}, { type: "strin" }] },
        `.items[1].type: expected one of ${types}: it is "strin"; did you mean string?`,
      ],
      [{ prefixItems: [{}, 4] }, `.prefixItems[1]: ${schema}`],
      [{ prefixItems: {} }, `.prefixItems${invalid("array", "object")}`],
      [
        { anyOf: [{ type: ["string", "x"] }] },
        `.anyOf[0].type[1]: expected one of ${types}: it is "x"`,
      ],
      [{ oneOf: [{ enum: "a" }] }, `.oneOf[0].enum${invalid("array", "string")}`],
      [{ allOf: [{ additionalProperties: "no" }] }, `.allOf[0].additionalProperties: ${schema}`],
      [{ if: { not: 1 } }, `.if.not: ${schema}`],
      [{ then: { else: { contains: [] } } }, `.then.else.contains: ${schema}`],
      [{ dependencies: { a: ["b"], c: 1 } }, `.dependencies.c: ${schema}`],
    ] as const
  ) {
    const tool = { name: "tool", parameters };
    const other = { name: "other", parameters: {} };
    assertEquals(faultsOf(tool), `at parameters${fault}`);
    assertEquals(faultsOf([other, tool]), `at [1].parameters${fault}`);
    const chat = { type: "function", function: tool };
    assertEquals(faultsOf([chat]), `at [0].function.parameters${fault}`);
    assertEquals(faultsOf({ type: "function", ...tool }), `at parameters${fault}`);
    assertEquals(faultsOf({ ...other, returns: parameters }), `at returns${fault}`);
  }
});

Deno.test("parseToolDocuments() refuses what is no document", () => {
  const tool = { name: "tool", parameters: {} };
  for (
    const [document, fault] of [
      [null, "at the top: expected object, received null"],
      ["tool", "at the top: expected object, received string"],
      [[3], "at [0]: expected object, received number"],
      [{ name: "tool" }, "at parameters: must be an object"],
      [{ ...tool, name: "" }, "at name: must not be empty"],
      [
        { ...tool, description: 3 },
        "at description: expected string, received number",
      ],
      [{ ...tool, strict: "yes" }, "at strict: expected boolean, received string"],
      [{ ...tool, examples: [{}, 3] }, "at examples[1]: must be an object"],
      [
        { ...tool, further: 3 },
        'at the top: Unrecognized key: "further"; there are name, description, examples, returns, ' +
        "parameters, strict",
      ],
      [{ ...tool, type: "web_search" }, 'at type: expected "function": it is "web_search"'],
      [{ function: tool }, 'at type: it is missing: expected "function"'],
      [
        { type: "function", function: 3 },
        "at function: expected object, received number",
      ],
      [[tool, tool], 'at [1].name: must be another than those before: it is "tool"'],
      [
        [tool, { type: "function", function: tool }],
        'at [1].function.name: must be another than those before: it is "tool"',
      ],
    ] as const
  ) assertEquals(faultsOf(document), fault, JSON.stringify(document));
});

Deno.test("parseToolDocuments() refuses schemas that nest without end", () => {
  let schema: JsonObject = {};
  for (let level = 0; level < 20_000; level++) schema = { properties: { x: { anyOf: [schema] } } };
  assertEquals(
    faultsOf({ name: "tool", parameters: schema }),
    "at parameters: must nest at most 1000 schemas deep: it nests deeper",
  );
  let deep: JsonValue = [];
  for (let level = 0; level < 20_000; level++) deep = [deep];
  const parameters = { default: deep };
  const [tool] = parseToolDocuments({ name: "tool", parameters }, "tool.json");
  assert(tool!.parameters["default"] === deep, "values are no schemas");
});

Deno.test("parseToolDocuments() takes any value that JSON has, or says what is wrong", () => {
  const key = fc.constantFrom(
    "name",
    "parameters",
    "function",
    "type",
    "properties",
    "items",
    "anyOf",
    "required",
    "description",
    "__proto__",
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, 3, "x", "function", "object", true),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries) =>
        Object.fromEntries(entries)
      ),
    ),
  }));
  let read = 0;
  fc.assert(
    fc.property(
      fc.oneof(value, value.map((parameters) => ({ name: "tool", parameters }))),
      (document) => {
        const before = JSON.stringify(document);
        try {
          for (const { name, parameters } of parseToolDocuments(document, "tool.json")) {
            assertEquals([typeof name, typeof parameters], ["string", "object"]);
            read++;
          }
        } catch (error) {
          if (!(error instanceof InputError)) throw error;
          assert(error.message.startsWith("Cannot use tool.json:\n  at "), error.message);
        }
        assertEquals(JSON.stringify(document), before);
      },
    ),
    { numRuns: 1000 },
  );
  assert(read > 8, String(read));
});
