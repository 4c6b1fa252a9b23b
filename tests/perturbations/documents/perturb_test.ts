import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/base/json.ts";
import { fork } from "../../../lib/base/random.ts";
import { withoutExamples } from "../../../lib/perturbations/documents/_examples.ts";
import {
  choosePair,
  newOrder,
  perturbTools,
  UNRELATED_DESCRIPTIONS,
} from "../../../lib/perturbations/documents/perturb.ts";
import {
  type DocumentMethod,
  isOn,
  PERTURBATION_METHODS,
} from "../../../lib/perturbations/methods.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import type { Tool, ToolSchema } from "../../../lib/tools/tool.ts";
import { applyChanges } from "../../support/changes.ts";
import fc from "../../support/fast_check.ts";

const DOCUMENT_METHODS = PERTURBATION_METHODS.filter((id): id is DocumentMethod =>
  isOn(id, "document")
);
const SEEDS = Array.from({ length: 60 }, (_, seed) => seed);

function toolOf(properties: JsonObject, rest: JsonObject = {}): ToolSchema {
  return {
    name: "tool",
    description: "Does it.",
    parameters: { type: "object", properties, ...rest },
  };
}

/** Checks that nothing was made anew. */
function assertSame(actual: unknown, expected: unknown): void {
  assert(actual === expected, "it is the very same");
}

/** The one tool after a method. */
function after(method: DocumentMethod, tool: ToolSchema, seed = 7): ToolSchema {
  return perturbTools(method, [tool], seed).value[0]!;
}

function propertiesAfter(method: DocumentMethod, tool: ToolSchema, seed = 7): JsonObject {
  return after(method, tool, seed).parameters["properties"] as JsonObject;
}

/** What a parameter may become, over many seeds. */
function variants(method: DocumentMethod, schema: JsonValue, rest: JsonObject = {}): Set<string> {
  return new Set(
    SEEDS.map((seed) =>
      JSON.stringify(propertiesAfter(method, toolOf({ x: schema }, rest), seed)["x"])
    ),
  );
}

const CITY = { type: "string", description: "The city." };
const DAY = { type: "string", description: "The day." };
const BARE = { type: "string" };

/** An object whose keys may be `__proto__` too. */
function object(...entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  return Object.fromEntries(entries);
}

// RD

Deno.test("perturbTools() by RD removes descriptions of required parameters, at each level by its own (Butterfly 4.1, A.3.1)", () => {
  const inner = { type: "object", description: "Whom.", properties: { city: CITY, day: DAY } };
  const tool = toolOf({
    city: CITY,
    day: DAY,
    who: { ...inner, required: ["day"] },
    list: { type: "array", description: "All.", items: { ...inner, required: ["city"] } },
  }, { required: ["city", "list"] });
  assertEquals(
    perturbTools("RD", [tool], 7).changes.map((change) => "path" in change && change.path),
    [
      "/0/parameters/properties/city/description",
      "/0/parameters/properties/who/properties/day/description",
      "/0/parameters/properties/list/description",
      "/0/parameters/properties/list/items/properties/city/description",
    ],
  );
  assertEquals(propertiesAfter("RD", tool)["city"], BARE);
});

Deno.test("perturbTools() by RD takes alternatives and definitions of required parameters along", () => {
  const referring = { $ref: "#/$defs/city" };
  const tool = (required: string[]) =>
    toolOf({ a: { anyOf: [CITY, { type: "null" }] }, b: referring, c: referring }, {
      $defs: { city: CITY, day: DAY },
      required,
    });
  assertEquals(after("RD", tool(["a", "b", "c"])).parameters, {
    ...tool(["a", "b", "c"]).parameters,
    properties: { a: { anyOf: [BARE, { type: "null" }] }, b: referring, c: referring },
    $defs: { city: BARE, day: DAY },
  });
  assertEquals(after("RD", tool(["b"])), tool(["b"]), "an optional one refers to it too");
});

// RE

Deno.test("perturbTools() by RE removes examples of the tool, of schemas, of texts and of what returns (Butterfly 4.1, A.3.1)", () => {
  const tool: ToolSchema = {
    name: "tool",
    description: "Tells the weather. Example: weather in Rome.",
    parameters: {
      type: "object",
      examples: [{ city: "Rome" }],
      properties: {
        city: { type: "string", description: "The city (e.g. Rome).", examples: ["Rome"] },
        days: { type: "array", items: { type: "string", example: "Monday" } },
        only: { type: "string", description: "Example: x." },
        examples: { type: "string", description: "Kept." },
      },
    },
    examples: [{ city: "Rome" }],
    returns: { type: "object", properties: { sun: { type: "number", examples: [1] } } },
  };
  assertEquals(after("RE", tool), {
    name: "tool",
    description: "Tells the weather.",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", description: "The city." },
        days: { type: "array", items: { type: "string" } },
        only: { type: "string" },
        examples: { type: "string", description: "Kept." },
      },
    },
    returns: { type: "object", properties: { sun: { type: "number" } } },
  });
});

Deno.test("withoutExamples() removes what gives examples, and tidies what is around it", () => {
  for (
    const [text, rest] of [
      ["The city. Example: Paris.", "The city."],
      ["The city. Examples: Paris, Rome. Required.", "The city. Required."],
      ["The city. For example, Paris or Rome (Italy. There.). Required.", "The city. Required."],
      ["An example is Paris. Examples include Rome. Required.", "Required."],
      ["The city (e.g., Paris (France), Rome) to go to", "The city to go to"],
      [
        "The city (the capital, e.g. Paris) or none. Required.",
        "The city (the capital) or none. Required.",
      ],
      ["The city [for instance Paris], no other", "The city, no other"],
      ["The city, e.g. Paris.", "The city."],
      ["The city: e.g. Paris.", "The city."],
      ["The city, e.g. Paris; else none.", "The city; else none."],
      ["e.g. Paris.", ""],
      ["The city (e.g. Paris", "The city"],
      ["The version, e.g. 1.5.2. Required.", "The version. Required."],
      ["The site, e.g. https://a.b/c?d=e. Required.", "The site. Required."],
      ["The home, e.g. 'St. Ives. Cornwall'. Required.", "The home. Required."],
      ["The time, e.g. 10 a.m. today. Required.", "The time. Required."],
      ["The list, e.g. Paris, Rome, etc. Required.", "The list. Required."],
      ['The JSON. Example: {"a": "b. C"}. Required.', "The JSON. Required."],
      ["The city.\n\nExamples:\n- Paris\n- Rome\n\nRequired.", "The city.\n\nRequired."],
      ["For example,\nParis or\nrome. Required.", "Required."],
      ["- e.g. Paris\n- Rome", "- Rome"],
      ["都市。例えば。e.g. パリ。必須。", "都市。例えば。必須。"],
      ["For (e.g. x) example, Paris. Required.", "Required."],
    ] as const
  ) assertEquals(withoutExamples(text), rest, text);
});

Deno.test("withoutExamples() leaves other texts alone", () => {
  for (
    const text of [
      "",
      "  Two  spaces ,and . odd points ",
      "Use examples from the corpus: all.",
      "This is an example: not.",
      "i.e. the city",
      "The path `e.g./x`. The text 'e.g. Paris'.",
      "Counterexamples: none. Leg. Peg. Regex.",
      "(city) [day] {x}",
      "line\n\n\nline\t\ud800",
    ]
  ) assertEquals(withoutExamples(text), text);
});

// WD

Deno.test("perturbTools() by WD replaces every description of a parameter, each by another one (Butterfly 4.1, A.3.1)", () => {
  const tool = toolOf({
    city: CITY,
    bare: BARE,
    empty: { type: "string", description: "" },
    days: { type: "array", description: "Days.", items: DAY },
    description: { type: "string", description: "A text." },
  }, { description: "All of it." });
  const { value: [changed], changes } = perturbTools("WD", [tool], 7);
  assertEquals(changes.length, 4);
  const texts = changes.map((change) => change.kind === "value" && change.after as string);
  assertEquals(new Set(texts).size, 4);
  for (const text of texts) assert(UNRELATED_DESCRIPTIONS.includes(text as string));
  assertEquals(changed!.description, tool.description);
  assertEquals(changed!.parameters["description"], "All of it.");
  const { bare, empty } = changed!.parameters["properties"] as JsonObject;
  assertEquals([bare, empty], [BARE, { type: "string", description: "" }]);
});

Deno.test("perturbTools() by WD gives no description that the tool had, and repeats only when out of others", () => {
  const all = UNRELATED_DESCRIPTIONS;
  assertEquals(new Set(all).size, all.length);
  const described = (texts: readonly string[]) =>
    toolOf(object(...texts.map((description, place) => [`p${place}`, { description }] as const)));
  for (const count of [10, all.length - 1, all.length]) {
    const own = all.slice(0, count);
    const { changes } = perturbTools("WD", [described(own)], 7);
    const texts = changes.map((change) => change.kind === "value" ? change.after as string : "");
    assertEquals(changes.length, count === all.length ? 0 : count);
    assert(texts.every((text) => !own.includes(text)));
    assertEquals(new Set(texts).size, Math.min(texts.length, all.length - count));
  }
});

// WT

Deno.test("perturbTools() by WT changes a type to any that is outside of it, and to no other (Butterfly 4.1, A.3.1)", () => {
  const targets = (schema: JsonValue) =>
    [...variants("WT", schema)].map((text) => JSON.parse(text).type as string).toSorted();
  const [a, b, i, o, s] = ["array", "boolean", "integer", "object", "string"] as const;
  for (
    const [schema, types] of [
      [{ type: "integer" }, [a, b, o]],
      [{ type: "number" }, [a, b, o]],
      [{ type: "string" }, [a, b, i, o]],
      [{ type: "boolean" }, [a, i, o, s]],
      [{ type: "null" }, [a, b, i, o, s]],
      [{ type: "array" }, [b, i, o, s]],
      [{ type: "object" }, [a, b, i, s]],
      [{ enum: ["a", 1] }, [a, b, o]],
      [{ enum: ["a", null] }, [a, b, i, o]],
      [{ const: true }, [a, i, o, s]],
      [{ type: ["string", "null"] }, [a, b, i, o]],
      [{ type: ["integer", "boolean"] }, [a, o]],
      [{ type: "string", nullable: true }, [a, b, i, o]],
      [{ anyOf: [{ type: "string" }, { type: "boolean" }] }, [a, i, o]],
      [{ oneOf: [{ const: 1 }, { type: "null" }] }, [a, b, o]],
      [{ allOf: [{ type: "string" }, { minLength: 3 }] }, [a, b, i, o]],
      [{ anyOf: [{ anyOf: [{ type: "array" }, { type: "object" }] }, { type: "string" }] }, [b, i]],
      [{ if: { minLength: 2 }, then: { type: "string" }, else: { type: "null" } }, [a, b, i, o]],
    ] as const
  ) assertEquals(targets(schema as unknown as JsonValue), [...types], JSON.stringify(schema));
});

Deno.test("perturbTools() by WT leaves alone what takes values of any type", () => {
  for (
    const schema of [
      {},
      true,
      { description: "d" },
      { minLength: 3 },
      { not: { type: "string" } },
      { anyOf: [{ type: "string" }, {}] },
      { type: ["string", "integer", "boolean", "array", "object"] },
      { $ref: "#/$defs/any" },
      { anyOf: [{ type: "string" }, { $ref: "#/$defs/any" }] },
      { anyOf: [{ type: "string" }, { $ref: "https://example.com/schema" }] },
      { type: "array", items: {} },
      { type: "object", propertyNames: { type: "string" }, properties: { y: {} } },
    ] as JsonValue[]
  ) assertEquals(variants("WT", schema, { $defs: { any: {} } }), new Set([JSON.stringify(schema)]));
});

Deno.test("perturbTools() by WT drops what is of the old type, and says what providers need of the new one", () => {
  const schema = {
    title: "Count",
    minimum: 1,
    type: "integer",
    description: "How many.",
    default: 3,
    examples: [2],
    enum: [1, 2, 3],
  };
  const old = { minimum: 1, type: "integer", enum: [1, 2, 3] };
  assertEquals(
    variants("WT", schema),
    new Set([
      { title: "Count", type: "boolean", description: "How many." },
      { title: "Count", type: "array", description: "How many.", items: old },
      {
        title: "Count",
        type: "object",
        description: "How many.",
        properties: { value: old },
        required: ["value"],
        additionalProperties: false,
      },
    ].map((made) => JSON.stringify(made))),
  );
});

Deno.test("perturbTools() by WT keeps containers with their parts, and changes these", () => {
  const kind = (schema: JsonValue, seed = 7) =>
    propertiesAfter("WT", toolOf({ x: schema }), seed)["x"] as JsonObject;
  const typesOf = (schema: JsonValue, ...path: string[]) =>
    new Set(
      SEEDS.map((seed) =>
        path.reduce<JsonValue>((inner, key) => (inner as JsonObject)[key]!, kind(schema, seed))
      ),
    );
  const whole = { type: "boolean" };
  for (
    const [schema, ...path] of [
      [{ type: "object", properties: { a: whole } }, "properties", "a", "type"],
      [{ type: "object", additionalProperties: whole }, "additionalProperties", "type"],
      [{ type: "object", patternProperties: { "^a": whole } }, "patternProperties", "^a", "type"],
      [{ type: "array", items: whole }, "items", "type"],
      [{ type: "array", prefixItems: [whole], items: false }, "prefixItems", "0", "type"],
      [{ type: "array", items: { type: "array", items: whole } }, "items", "items", "type"],
      [{ if: {}, then: { properties: { a: whole } } }, "then", "properties", "a", "type"],
      [
        { anyOf: [{ type: "object", properties: { a: whole } }] },
        "anyOf",
        "0",
        "properties",
        "a",
        "type",
      ],
    ] as const
  ) {
    const plain = schema as unknown as JsonObject;
    assertEquals(typesOf(plain, ...path), new Set(["array", "integer", "object", "string"]));
    assertEquals(typesOf({ ...plain, type: plain["type"] ?? "object" }, "type").size, 1);
  }
});

Deno.test("perturbTools() by WT leaves the schema of all arguments an object", () => {
  const root = { type: ["object", "null"], description: "All.", minProperties: 1 };
  for (const parameters of [root, { ...root, properties: {} }]) {
    const tool = { name: "tool", description: "", parameters };
    for (const seed of SEEDS) assertEquals(after("WT", tool, seed), tool);
  }
});

Deno.test("perturbTools() by WT changes beside a container what is none", () => {
  const part = { type: "object", properties: { a: {} } };
  for (const text of variants("WT", { anyOf: [part, { type: "null" }, { type: "object" }] })) {
    const { anyOf: [first, second, third] } = JSON.parse(text);
    assertEquals([first, third], [part, { type: "object" }]);
    assertNotEquals(second.type, "null");
    assertNotEquals(second.type, "object");
  }
});

Deno.test("perturbTools() by WT keeps all that references lead to", () => {
  const referred: readonly (readonly [JsonObject, string])[] = [
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "#/properties/x/anyOf/0"],
    [{ type: "string", not: { const: "a" } }, "#/properties/x/not"],
    [{ type: "string", $defs: { y: BARE } }, "#/properties/x/$defs/y"],
    [{ type: "string", $anchor: "here" }, "#here"],
    [{ allOf: [{ type: "object", properties: {} }] }, "#/properties/x/allOf/0/properties"],
  ];
  for (const [schema, $ref] of referred) {
    for (const seed of SEEDS.slice(0, 5)) {
      const tool = toolOf({ x: schema, y: { $ref } }, { $id: "https://example.com/root" });
      argumentCheck(tool);
      argumentCheck(after("WT", tool, seed));
    }
  }
});

// SD

Deno.test("perturbTools() by SD swaps the descriptions of two parameters, at any depth (Butterfly 4.1, A.3.1)", () => {
  const tool = toolOf({ city: CITY, who: { type: "object", properties: { day: DAY } } });
  const { value: [changed], changes } = perturbTools("SD", [tool], 7);
  assertEquals(changed!.parameters["properties"], {
    city: { type: "string", description: "The day." },
    who: { type: "object", properties: { day: { type: "string", description: "The city." } } },
  });
  assertEquals(changes.length, 2);
});

Deno.test("perturbTools() by SD moves a description where only one of two has one", () => {
  assertEquals(propertiesAfter("SD", toolOf({ city: CITY, x: BARE })), { city: BARE, x: CITY });
  for (const seed of SEEDS) {
    const tool = toolOf({ city: CITY, x: BARE, day: DAY });
    assertEquals(propertiesAfter("SD", tool, seed), {
      city: { type: "string", description: "The day." },
      x: BARE,
      day: { type: "string", description: "The city." },
    }, "a pair with two descriptions comes first");
  }
});

Deno.test("choosePair() draws any pair that differs", () => {
  const pairs = (...texts: (string | undefined)[]) =>
    new Set(SEEDS.map((seed) => String(choosePair(texts, fork(seed, "pair"))))).values().toArray()
      .toSorted();
  assertEquals(pairs("a", "b", "a", undefined), ["0,1", "1,2"]);
  assertEquals(pairs("a", "b", "c"), ["0,1", "0,2", "1,2"]);
  assertEquals(pairs("a", undefined, "a", undefined), ["0,1", "0,3", "1,2", "2,3"]);
  for (const texts of [[], ["a"], ["a", "a"], [undefined, undefined]]) {
    assertEquals(pairs(...texts), ["undefined"]);
  }
});

// CO

Deno.test("perturbTools() by CO shows the parameters of each object in another order (Butterfly 4.1, A.3.1)", () => {
  const tool = toolOf({ a: BARE, b: { type: "object", properties: { c: BARE, d: BARE } } });
  assertEquals(
    JSON.stringify(propertiesAfter("CO", tool)),
    JSON.stringify({ b: { type: "object", properties: { d: BARE, c: BARE } }, a: BARE }),
  );
  assertEquals(perturbTools("CO", [tool], 7).changes, [
    { kind: "order", path: "/0/parameters/properties", before: ["a", "b"], after: ["b", "a"] },
    {
      kind: "order",
      path: "/0/parameters/properties/b/properties",
      before: ["c", "d"],
      after: ["d", "c"],
    },
  ]);
});

Deno.test("perturbTools() by CO leaves keys where they are that cannot be moved", () => {
  const keys = (...names: string[]) =>
    new Set(
      SEEDS.map((seed) =>
        Object.keys(propertiesAfter(
          "CO",
          toolOf(object(...names.map((key) => [key, BARE] as const))),
          seed,
        )).join()
      ),
    );
  assertEquals(keys("b", "7", "a", "0"), new Set(["0,7,a,b"]));
  assertEquals(keys("2", "1"), new Set(["1,2"]));
  assertEquals(keys("1", "a"), new Set(["1,a"]));
  assertEquals(keys("01", "4294967295"), new Set(["4294967295,01"]));
  assertEquals(keys("__proto__", "a"), new Set(["a,__proto__"]));
});

Deno.test("newOrder() draws every order but the one there is (Butterfly A.3.1)", () => {
  const orders = (count: number) =>
    new Map(
      Object.entries(Object.groupBy(
        Array.from({ length: 2000 }, (_, seed) => String(newOrder(count, fork(seed, "order")))),
        (order) => order,
      )).map(([order, times]) => [order, times!.length]),
    );
  assertEquals([...orders(0).keys(), ...orders(1).keys()], ["undefined", "undefined"]);
  assertEquals([...orders(2).keys()], ["1,0"]);
  const three = orders(3);
  assertEquals([...three.keys()].toSorted(), ["0,2,1", "1,0,2", "1,2,0", "2,0,1", "2,1,0"]);
  // 400 each, give or take six standard deviations.
  for (const times of three.values()) assert(times > 290 && times < 510, String(times));
});

// All of them

Deno.test("perturbTools() leaves a tool alone that it can do nothing about", () => {
  for (const method of DOCUMENT_METHODS) {
    const tools = [toolOf({}), { name: "none", description: "", parameters: {} }];
    const result = perturbTools(method, tools, 7);
    assertSame(result.value, tools);
    assertEquals([result.changed, result.changes], [false, []]);
    assertEquals(perturbTools(method, [], 7).changed, false);
  }
  const one = [toolOf({ city: CITY })];
  for (const method of ["SD", "CO", "RE", "RD"] as const) {
    assertSame(perturbTools(method, one, 7).value, one);
  }
});

Deno.test("perturbTools() keeps what else a tool has", async () => {
  const tool: Tool = {
    ...toolOf({ city: CITY, day: DAY }, { required: ["city"] }),
    strict: true,
    examples: [{ city: "Rome" }],
    execute: ({ city }) => Promise.resolve(`${city}!`),
  };
  for (const method of DOCUMENT_METHODS) {
    const { value: [changed], changed: isChanged } = perturbTools(method, [tool], 7);
    assert(isChanged);
    // Decoding held to wrong types could give no others.
    assertEquals(changed!.strict, method === "WT" ? undefined : true);
    assertEquals(await changed!.execute({ city: "Rome" }), "Rome!");
  }
});

Deno.test("perturbTools() draws for each tool by itself", () => {
  const properties = object(
    ..."abcdefgh".split("").map((key) =>
      [key, { type: "string", description: `The ${key}. (e.g. ${key})` }] as const
    ),
  );
  const tools = ["one", "two", "three"].map((name): ToolSchema => ({
    ...toolOf(properties, { required: ["a"] }),
    name,
  }));
  for (const method of DOCUMENT_METHODS) {
    const { value } = perturbTools(method, tools, 7);
    assertEquals(perturbTools(method, [tools[2]!, tools[0]!], 7).value, [value[2]!, value[0]!]);
    if (method === "RD" || method === "RE") continue;
    const texts = value.map(({ parameters }) => JSON.stringify(parameters));
    assertEquals(new Set(texts).size, 3, `${method} draws for names`);
    assertNotEquals(text(perturbTools(method, tools, 8).value), text(value));
  }
});

Deno.test("perturbTools() takes parameters that are called like keywords for parameters", () => {
  const names = ["description", "examples", "type", "properties", "required", "__proto__"];
  const tool = toolOf(
    object(...names.map((name) => [name, { type: "string", description: `D ${name}` }] as const)),
    { required: names },
  );
  const changed = (method: DocumentMethod) => Object.entries(propertiesAfter(method, tool));
  assertEquals(changed("RD"), names.map((name) => [name, BARE]));
  assertEquals(perturbTools("RE", [tool], 7).changed, false);
  for (const [, schema] of changed("WT")) assertNotEquals((schema as JsonObject)["type"], "string");
  for (const [name, schema] of changed("WD")) {
    assertNotEquals((schema as JsonObject)["description"], `D ${name}`);
  }
  assertEquals(changed("CO").map(([name]) => name).toSorted(), names.toSorted());
  const { changes } = perturbTools("SD", [tool], 7);
  assertEquals(changes.length, 2);
});

Deno.test("perturbTools() takes schemas that refer to themselves", () => {
  const tree = {
    type: "object",
    description: "A tree.",
    properties: {
      value: { type: "integer", description: "Its value." },
      next: { $ref: "#/$defs/tree" },
    },
    required: ["value", "next"],
  };
  const tool = toolOf({ tree: { $ref: "#/$defs/tree" }, all: { $ref: "#" } }, { $defs: { tree } });
  const loops = toolOf({ x: { $ref: "#/properties/x" }, y: { $ref: "#/$defs/y" } }, {
    $defs: { y: { anyOf: [{ $ref: "#/$defs/z" }, CITY] }, z: { $ref: "#/$defs/y" } },
  });
  for (const method of DOCUMENT_METHODS) {
    const { value, changed } = perturbTools(method, [tool], 7);
    assertEquals(changed, method !== "RE", method);
    argumentCheck(value[0]!);
    const isChanged = ["WD", "CO", "WT"].includes(method);
    assertEquals(perturbTools(method, [loops], 7).changed, isChanged);
  }
});

Deno.test("perturbTools() copes with deep schemas, or refuses them", () => {
  const nested = (depth: number) => {
    let schema: JsonObject = { type: "string", description: "Deep." };
    for (let level = 0; level < depth; level++) {
      schema = level % 2 === 0 ? { type: "array", items: schema } : { anyOf: [schema] };
    }
    return toolOf({ x: schema, y: CITY }, { required: ["y"] });
  };
  for (const method of DOCUMENT_METHODS) {
    assertEquals(perturbTools(method, [nested(900)], 7).changed, method !== "RE");
    assertThrows(
      () => perturbTools(method, [nested(50_000)], 7),
      InputError,
      "Cannot perturb tool tool as its schemas must nest at most 1000 deep: they nest deeper",
    );
  }
});

// Properties over schemas of every shape

/** A schema, and a value that it takes, in which every parameter with a type is there. */
interface Pair {
  readonly schema: JsonValue;
  readonly value: JsonValue;
  /** Whether some part of it has a type. */
  readonly typed: boolean;
}

const NAMES = [
  "city",
  "description",
  "examples",
  "type",
  "properties",
  "items",
  "__proto__",
  "constructor",
  "7",
  "a/b",
  "~1",
  "名前",
];
const DEFINITIONS: Readonly<Record<string, Pair>> = {
  count: {
    schema: { type: "integer", minimum: 0, description: "How many." },
    value: 3,
    typed: true,
  },
  "a/b": { schema: { enum: ["x"], description: "Which." }, value: "x", typed: true },
};

const ANNOTATIONS = fc.record({
  description: fc.constantFrom("", "One.", "Two.", "One (e.g. 1).", "Example: 2."),
  title: fc.constant("T"),
  examples: fc.constant([1]),
  default: fc.constant(null),
}, { requiredKeys: [] });

const LEAVES: readonly Pair[] = [
  { schema: { type: "integer", minimum: 1 }, value: 3, typed: true },
  { schema: { type: "number" }, value: 1.5, typed: true },
  { schema: { type: "string", pattern: "^a" }, value: "ab", typed: true },
  { schema: { type: ["string", "null"] }, value: null, typed: true },
  { schema: { enum: ["a", "b"] }, value: "b", typed: true },
  { schema: { type: "boolean" }, value: false, typed: true },
  { schema: { type: "string", nullable: true }, value: null, typed: true },
  { schema: { type: "array" }, value: [1], typed: true },
  { schema: { type: "object" }, value: { k: 1 }, typed: true },
  {
    schema: { anyOf: [{ type: "integer" }, { type: "null", description: "N." }] },
    value: 1,
    typed: true,
  },
  { schema: {}, value: "any", typed: false },
  ...Object.entries(DEFINITIONS).flatMap(([name, { value }]): Pair[] => {
    const $ref = `#/$defs/${name.replace("/", "~1")}`;
    return [
      { schema: { $ref }, value, typed: true },
      { schema: { anyOf: [{ $ref }, { type: "null" }] }, value, typed: true },
    ];
  }),
];

const pairs = (names: readonly string[]) =>
  fc.letrec<{ pair: Pair; bare: Pair }>((tie) => ({
    pair: fc.tuple(tie("bare"), ANNOTATIONS).map(([{ schema, ...rest }, annotations]) => ({
      ...rest,
      schema: isJsonObject(schema) ? { ...schema, ...annotations } as JsonObject : schema,
    })),
    bare: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom(...LEAVES),
      fc.uniqueArray(fc.tuple(fc.constantFrom(...names), tie("pair"), fc.boolean()), {
        selector: ([name]) => name,
        maxLength: 4,
        minLength: 1,
      }).map((parts): Pair => ({
        schema: {
          type: "object",
          properties: object(...parts.map(([name, { schema }]) => [name, schema] as const)),
          required: parts.flatMap(([name, , isRequired]) => isRequired ? [name] : []),
          additionalProperties: false,
        },
        value: object(...parts.map(([name, { value }]) => [name, value] as const)),
        typed: parts.some(([, { typed }]) => typed),
      })),
      tie("pair").map(({ schema, value, typed }) => ({
        schema: { type: "array", items: schema },
        value: [value, value],
        typed,
      })),
      tie("pair").map(({ schema, value, typed }) => ({
        schema: { type: "object", additionalProperties: schema },
        value: { k: value },
        typed,
      })),
      tie("pair").map(({ schema, value, typed }): Pair => ({
        schema: {
          if: { type: "object", properties: { z: { type: "string" } } },
          then: { properties: { k: schema } },
        },
        value: { k: value },
        typed,
      })),
      tie("pair").map(({ schema, value, typed }): Pair => ({
        schema: { anyOf: [{ type: "array", prefixItems: [schema] }, { type: "null" }] },
        value: [value],
        typed,
      })),
    ),
  })).pair;

interface Case {
  readonly tool: ToolSchema;
  readonly value: JsonObject;
  readonly typed: boolean;
}

/** Tools with parameters of some names, and arguments that they take. */
const cases = (names: readonly string[]): fc.Arbitrary<Case> =>
  fc.tuple(
    fc.uniqueArray(fc.tuple(fc.constantFrom(...names), pairs(names)), {
      selector: ([name]) => name,
      maxLength: 5,
    }),
    fc.subarray([...names]),
    fc.constantFrom("Does it.", "Does it, e.g. now.", "名前"),
    fc.boolean(),
  ).map(([parts, required, description, hasExamples]) => {
    const value = object(...parts.map(([name, own]) => [name, own.value] as const));
    const parameters = {
      type: "object",
      properties: object(...parts.map(([name, { schema }]) => [name, schema] as const)),
      required: required.filter((name) => Object.hasOwn(value, name)),
      $defs: object(
        ...Object.entries(DEFINITIONS).map(([name, { schema }]) => [name, schema] as const),
      ),
    };
    return {
      tool: {
        name: "tool",
        description,
        parameters,
        ...(hasExamples ? { examples: [value] } : {}),
      },
      value,
      typed: parts.some(([, { typed }]) => typed),
    };
  });

const CASES = cases(NAMES);
/** Ajv passes over a parameter that is called `__proto__`. */
const CHECKED_CASES = cases(NAMES.filter((name) => name !== "__proto__"));

/** Checks a property of every method on tools of every shape. */
function everyCase(
  check: (given: Case, method: DocumentMethod, seed: number) => void,
  methods = DOCUMENT_METHODS,
  { given = CASES, runs = 40 } = {},
): void {
  for (const method of methods) {
    fc.assert(fc.property(given, fc.nat(), (own, seed) => check(own, method, seed)), {
      numRuns: runs,
    });
  }
}

/** The text of tools, by which the order of keys counts. */
function text(tools: readonly ToolSchema[]): string {
  return JSON.stringify(tools);
}

Deno.test("perturbTools() tells exactly what it changes, the same each time, on tools of every shape", () => {
  let changed = 0;
  everyCase(({ tool }, method, seed) => {
    const tools = [tool, { ...tool, name: "other" }];
    const before = text(tools);
    const result = perturbTools(method, tools, seed);
    assertEquals(text(tools), before, "the input stays");
    assertEquals(perturbTools(method, structuredClone(tools), seed), result);
    assertEquals(result.changed, result.changes.length > 0);
    if (!result.changed) return assertSame(result.value, tools);
    changed++;
    assertNotEquals(text(result.value), before);
    const rebuilt = applyChanges(tools as unknown as JsonValue, result.changes);
    assertEquals(JSON.stringify(rebuilt), text(result.value));
    for (const change of result.changes) {
      assert(change.kind === "value" || change.kind === "order");
      assertNotEquals(JSON.stringify(change.before), JSON.stringify(change.after));
    }
  });
  assert(changed > 30, String(changed));
});

/** Whether arguments conform to a tool's schema. */
function takerOf(tool: ToolSchema): (value: JsonValue) => boolean {
  const check = argumentCheck(tool);
  return (value) => check(value) === undefined;
}

Deno.test("perturbTools() changes no value that is taken, but by WT", () => {
  everyCase(
    ({ tool, value }, method, seed) => {
      const [before, perturbed] = [tool, after(method, tool, seed)].map(takerOf);
      assert(before!(value) && perturbed!(value));
      for (const key of [...Object.keys(value), "unknown"]) {
        for (const other of [null, "zzz", -1, {}]) {
          const wrong = object(...Object.entries(value).filter(([own]) => own !== key), [
            key,
            other,
          ]);
          assertEquals(perturbed!(wrong), before!(wrong));
        }
        const missing = object(...Object.entries(value).filter(([own]) => own !== key));
        assertEquals(perturbed!(missing), before!(missing));
      }
    },
    DOCUMENT_METHODS.filter((method) => method !== "WT"),
    { given: CHECKED_CASES, runs: 15 },
  );
});

Deno.test("perturbTools() by WT makes schemas that take none of the right values", () => {
  let typed = 0;
  everyCase(
    (given, method, seed) => {
      assert(takerOf(given.tool)(given.value));
      assertEquals(takerOf(after(method, given.tool, seed))(given.value), !given.typed);
      if (given.typed) typed++;
    },
    ["WT"],
    { given: CHECKED_CASES, runs: 200 },
  );
  assert(typed > 8, String(typed));
});

Deno.test("perturbTools() by RD and RE leaves nothing to do", () => {
  everyCase(({ tool }, method, seed) => {
    const once = perturbTools(method, [tool], seed).value;
    assertSame(perturbTools(method, once, seed).value, once);
  }, ["RD", "RE"]);
});
