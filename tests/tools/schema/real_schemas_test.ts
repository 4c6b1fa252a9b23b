// Schemas as real tools have them: OpenAPI's dialect, older drafts, small mistakes, and MCP servers' tools.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import { InputError } from "../../../lib/base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/base/json.ts";
import { assertTools, tool } from "../../../lib/tools/define_tool.ts";
import { offerNames, offerReferences } from "../../../lib/tools/references/schema.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import { violationsOf } from "../../../lib/tools/schema/violations.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { exampleOf } from "../../support/examples.ts";
import { MCP, outsideTest } from "../../support/outside_data.ts";

const NAMED = { name: "own", description: "Does something" };

function made(parameters: JsonObject): Tool {
  return tool({ ...NAMED, parameters, returns: "done" });
}

/** Whether a tool takes arguments, as its call and its scores agree. */
async function takes(own: Tool, given: JsonObject): Promise<boolean> {
  const called = await own.execute(given).then(() => true, () => false);
  assertEquals(violationsOf(own.parameters, given).length === 0, called, JSON.stringify(given));
  return called;
}

const LEAF: JsonObject = {
  type: "object",
  properties: { x: { type: "integer" } },
  required: ["x"],
};

Deno.test("tool() takes the keywords that real schemas have, and means by them what they mean", async () => {
  const table: [rules: JsonObject, right: readonly JsonValue[], wrong: readonly JsonValue[]][] = [
    // OpenAPI 3.0
    [{ nullable: true }, [null, 1, "x"], []],
    [{ nullable: false, type: ["string", "null"] }, ["x", null], [1]],
    [{ type: "string", nullable: true }, ["x", null], [1]],
    [{ type: "string", nullable: true, enum: ["a"] }, ["a", null], ["b", 1]],
    [{ nullable: true, $ref: "#/$defs/leaf" }, [{ x: 1 }, null], [{}, 1]],
    [{ nullable: true, allOf: [{ $ref: "#/$defs/leaf" }] }, [{ x: 1 }, null], [{}, 1]],
    [{ nullable: true, anyOf: [{ type: "string" }, LEAF] }, ["x", { x: 1 }, null], [{}, 1]],
    [{ nullable: true, oneOf: [{ type: "string", nullable: true }] }, ["x", null], [1]],
    [{ nullable: "yes", type: "string" }, ["x"], [null]],
    [{ $ref: "#/components/schemas/Odd" }, [null, "x"], [1]],
    [
      {
        ...{ type: "string", example: "x", xml: { name: "y" }, externalDocs: {}, "x-order": 1 },
        ...{
          deprecated: "yes",
          readOnly: "no",
          discriminator: { propertyName: "k" },
          examples: {},
        },
      },
      ["x"],
      [1],
    ],
    [
      {
        discriminator: { propertyName: "k" },
        oneOf: [{ $ref: "#/$defs/leaf" }, { type: "string" }],
      },
      [{ x: 1 }, "a"],
      [{}, 1],
    ],
    // Draft 3 and 4
    [{ minimum: 1, exclusiveMinimum: true }, [2, 1.5], [1, 0]],
    [{ maximum: 1, exclusiveMaximum: true, exclusiveMinimum: false }, [0], [1, 2]],
    [{ minimum: 1, exclusiveMinimum: false }, [1], [0]],
    [{ exclusiveMinimum: true }, [0], []],
    [{ type: "string", id: "#name", required: true }, ["x"], [1]],
    [{ properties: { y: { type: "string", required: true } } }, [{ y: "a" }], [{}, { y: 1 }]],
    [
      { type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false },
      [["a", 1], ["a"]],
      [[1], ["a", "b"], ["a", 1, 2]],
    ],
    [{ type: "array", items: [] }, [[], [1]], [1]],
    [{ type: "object", properties: { id: { type: "string" } } }, [{ id: "a" }], [{ id: 1 }]],
    // Draft 2019-09
    [
      { $recursiveAnchor: true, properties: { of: { $ref: "#/$defs/tree" } } },
      [{ of: {} }, { of: { next: {} } }],
      [{ of: 1 }],
    ],
    // What serializers leave
    [{ type: "string", enum: null, minLength: null, pattern: null, description: null }, ["x"], [1]],
    [{ required: ["x", "x"], type: ["object", "object"] }, [{ x: 1 }], [{}]],
    [{ enum: [], anyOf: [], type: "string" }, ["x"], [1]],
    [{ const: null }, [null], [1]],
    [{ enum: ["a", "a", null] }, ["a", null], ["b"]],
    [{ $schema: "http://json-schema.org/draft-07/schema#", $comment: 1, type: "string" }, ["x"], [
      1,
    ]],
    [{ $ref: "#/$defs/List<a b>" }, [[1]], [1]],
  ];
  const root: JsonObject = {
    type: "object",
    required: ["at"],
    $defs: {
      leaf: LEAF,
      "List<a b>": { type: "array" },
      tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } },
    },
    components: { schemas: { Odd: { nullable: true, anyOf: [{ type: "string" }] } } },
  };
  for (const [rules, right, wrong] of table) {
    const dialects: JsonObject[] = [{}, { $schema: "http://json-schema.org/draft-04/schema#" }];
    for (const dialect of dialects) {
      const own = made({ ...dialect, ...root, properties: { at: rules } });
      const shown = JSON.stringify([dialect, rules]);
      for (const at of right) assert(await takes(own, { at }), `${shown} ${JSON.stringify(at)}`);
      for (const at of wrong) assert(!await takes(own, { at }), `${shown} ${JSON.stringify(at)}`);
      assert(!await takes(own, {}), shown);
      // Models see the schema as it was.
      assertEquals(own.parameters["properties"], { at: rules });
    }
  }
});

Deno.test("tool() takes a schema that refers to its root as draft 2019-09 does", async () => {
  const own = made({
    $schema: "https://json-schema.org/draft/2019-09/schema",
    $recursiveAnchor: true,
    type: "object",
    properties: { name: { type: "string" }, of: { $recursiveRef: "#" } },
    required: ["name"],
  });
  assert(await takes(own, { name: "a", of: { name: "b" } }));
  assert(!await takes(own, { name: "a", of: { of: {} } }));
});

Deno.test("tool() takes parameters that are an object by a reference or by alternatives", async () => {
  const $defs = {
    leaf: LEAF,
    named: { properties: { name: { type: "string" } }, required: ["name"] },
    again: { $ref: "#/$defs/leaf" },
  };
  const table: [parameters: JsonObject, right: JsonObject, wrong: JsonObject][] = [
    [{ $ref: "#/$defs/leaf" }, { x: 1 }, { x: "a" }],
    [{ $ref: "#/$defs/again" }, { x: 1 }, {}],
    [{ $ref: "#/$defs/named" }, { name: "a" }, {}],
    [{ anyOf: [{ $ref: "#/$defs/leaf" }, { $ref: "#/$defs/named" }] }, { name: "a" }, { y: 1 }],
    [{ oneOf: [{ $ref: "#/$defs/leaf" }, { type: "null" }] }, { x: 1 }, {}],
    [{ allOf: [{ $ref: "#/$defs/leaf" }, { $ref: "#/$defs/named" }] }, { x: 1, name: "a" }, {
      x: 1,
    }],
    [{ allOf: [{ $ref: "#/$defs/leaf" }, { description: "more" }] }, { x: 1 }, {}],
    [{ type: ["object", "null"], required: ["x"] }, { x: 1 }, {}],
    [{ properties: { x: { type: "integer" } } }, { x: 1 }, { x: "a" }],
  ];
  for (const [rules, right, wrong] of table) {
    const own = made({ ...rules, $defs });
    assert(await takes(own, right), JSON.stringify(rules));
    assert(!await takes(own, wrong), JSON.stringify(rules));
    // Providers want to read that it is an object.
    assertEquals([own.parameters["type"]].flat()[0], "object");
    for (const offered of [offerNames(own), offerReferences(own)]) argumentCheck(offered);
  }
  const others: JsonObject[] = [
    {},
    { $ref: "#/$defs/none" },
    { $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
    { anyOf: [LEAF, { type: "string" }] },
    { anyOf: [{ type: "null" }] },
    { allOf: [{ type: "string" }] },
    { type: ["string", "null"], properties: {} },
  ];
  for (const parameters of others) {
    assertThrows(() => made(parameters), InputError, "must be the schema of an object");
  }
});

Deno.test("tool() checks formats of JSON Schema, and no others", async () => {
  const table: [rules: JsonObject, right: readonly JsonValue[], wrong: readonly JsonValue[]][] = [
    [{ format: "date" }, ["2024-02-29", 7], ["2023-02-29", "today"]],
    [{ format: "date-time" }, ["2024-02-29T12:00:00Z"], ["2024-02-29", "noon"]],
    [{ format: "time" }, ["12:00:00Z"], ["12:00:00", "25:00:00Z"]],
    [{ format: "duration" }, ["P1DT2H"], ["1 day"]],
    [{ format: "email" }, ["a@example.org"], ["a@", "a example.org"]],
    [{ format: "hostname" }, ["example.org"], ["-a-", "a b"]],
    [{ format: "ipv4" }, ["127.0.0.1"], ["127.0.0.256"]],
    [{ format: "ipv6" }, ["::1"], ["1::2::3"]],
    [{ format: "uri" }, ["https://example.org/a"], ["example.org"]],
    [{ format: "uri-reference" }, ["../a"], ["a b"]],
    [{ format: "uuid" }, ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
    [{ format: "json-pointer" }, ["/a"], ["a"]],
    [{ format: "regex" }, ["^a+$", "[\\w-.]"], ["(", "[a"]],
    // OpenAPI's, and whatever else there is.
    [{ format: "int32" }, [1e12, 1.5, "x"], []],
    [{ format: "binary" }, ["x"], []],
    [{ format: "made-up" }, ["x"], []],
    [{ format: 7 }, ["x"], []],
    // Libraries write it for times of a clock without an offset, with a pattern that refuses one.
    [{ format: "time", pattern: "^\\d\\d:\\d\\d$" }, ["12:00"], ["12:00:00Z"]],
    [{ format: "date-time", pattern: "^[-\\d]+T[:\\d]+$" }, ["2024-02-29T12:00:00"], ["noon"]],
  ];
  for (const [rules, right, wrong] of table) {
    const own = made({ type: "object", properties: { at: rules } });
    for (const at of right) assert(await takes(own, { at }), `${JSON.stringify([rules, at])}`);
    for (const at of wrong) assert(!await takes(own, { at }), `${JSON.stringify([rules, at])}`);
    // The same where the first schema with a format is compiled for another draft.
    const old = made({ $schema: "http://json-schema.org/draft-07/schema#", ...own.parameters });
    for (const at of wrong) assert(!await takes(old, { at }), `${JSON.stringify([rules, at])}`);
  }
});

Deno.test("tool() leaves formats and patterns of zod to zod", async () => {
  const own = tool({
    ...NAMED,
    parameters: z.object({
      mail: z.email().optional(),
      at: z.iso.time().optional(),
      when: z.iso.datetime({ local: true }).optional(),
      page: z.url().optional(),
      twice: z.string().regex(/^(.)\1$/).optional(),
    }),
    returns: "done",
  });
  const right = {
    ...{ mail: "a@example.org", at: "12:00:00", when: "2024-02-29T12:00:00", twice: "aa" },
    page: "https://example.org/ü",
  };
  for (const [key, value] of Object.entries(right)) {
    assertEquals(await own.execute({ [key]: value }), "done", key);
    assertEquals(violationsOf(own.parameters, { [key]: value }), [], key);
    const refused = await own.execute({ [key]: "a b" }).then(() => false, () => true);
    assert(refused, key);
  }
  // References are offered beside the same values.
  const check = argumentCheck(offerReferences(own));
  assertEquals([check(right), check({ at: "$1.time" })], [undefined, undefined]);
});

Deno.test("assertTools() tells once what OpenAI refuses in a strict tool", () => {
  const lines: string[] = [];
  const { error } = console;
  console.error = (line: string) => void lines.push(line);
  try {
    const inner = { type: "object", properties: { z: {} }, additionalProperties: false };
    const parameters = {
      type: "object",
      properties: { x: { type: "string" }, y: inner },
      required: ["y"],
    };
    const given = { ...NAMED, execute: () => Promise.resolve(""), strict: true };
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const tools: Tool[] = [
      { ...given, parameters },
      { ...given, name: "open", parameters: { type: "object", properties: {} } },
      { ...given, name: "lax", strict: false, parameters },
      { ...given, name: "right", parameters: { ...inner, required: ["z"] } },
      {
        ...given,
        name: "many",
        parameters: {
          type: "object",
          properties: Object.fromEntries(names.map((name) => [name, {}])),
          additionalProperties: false,
        },
      },
    ];
    assertTools(tools);
    assertTools(tools);
  } finally {
    console.error = error;
  }
  assertEquals(lines, [
    "Tool own is strict, and OpenAI refuses it: every parameter must be required: x, " +
    "/properties/y/properties/z; additionalProperties must be false: its parameters",
    "Tool open is strict, and OpenAI refuses it: additionalProperties must be false: its parameters",
    "Tool many is strict, and OpenAI refuses it: every parameter must be required: " +
    "a, b, c, d, e and 2 more",
  ]);
});

outsideTest("tool() takes the tools of MCP servers, and checks their calls", MCP, async (path) => {
  const published: readonly {
    readonly name: string;
    readonly server: string;
    readonly description?: string;
    readonly inputSchema: JsonObject;
  }[] = JSON.parse(await Deno.readTextFile(`${path}/tools.json`));
  assertEquals(published.length, 152);
  let refused = 0;
  for (const { name, server, description = "", inputSchema: parameters } of published) {
    const own = tool({ name, description, parameters, returns: "done" });
    for (const every of [false, true]) {
      const given = exampleOf(parameters, { every }) as JsonObject;
      const shown = `${server} ${name} ${JSON.stringify(given)}`;
      assert(await takes(own, given), shown);
      assertEquals(argumentCheck(offerReferences(own))(given), undefined, shown);
      const { required } = parameters;
      for (const key of Array.isArray(required) ? required : []) {
        const { [String(key)]: _, ...less } = given;
        assert(!await takes(own, less), `${shown} without ${key}`);
        refused++;
      }
    }
    const { properties } = parameters;
    const [first] = Object.entries(isJsonObject(properties) ? properties : {}).filter(([, inner]) =>
      isJsonObject(inner) && typeof inner["type"] === "string"
    );
    if (first === undefined) continue;
    const { type } = first[1] as { type: string };
    const wrong = {
      ...exampleOf(parameters) as JsonObject,
      [first[0]]: type === "string" ? 7 : "x",
    };
    assert(!await takes(own, wrong), `${server} ${name} ${JSON.stringify(wrong)}`);
  }
  assert(refused > 100, String(refused));
});
