import {
  assert,
  assertEquals,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { isSymbol, replaceReferences } from "../../../lib/tools/references/syntax.ts";
import {
  errorOfResult,
  Symbols,
  valueOfResult,
} from "../../../lib/tools/references/symbol_table.ts";
import type { Refusal } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";
import { escaped, EVALUATE, plain, toolOf } from "../../support/names.ts";
import { STEERING } from "../../support/records.ts";

const LIST = [1, "two", { three: null }];
const GIVEN: [string, JsonValue][] = [
  ["N", 3],
  ["F", -0.5],
  ["T", true],
  ["Nil", null],
  ["S", "Paris"],
  ["L", LIST],
  ["O", { a: 1 }],
  ["Digits", "42"],
];

function symbolsOf(given = GIVEN): Symbols {
  return new Symbols(given);
}

/** Reads one argument `x` of a schema; gives what it resolves to. */
function resolved(schema: JsonValue, written: JsonValue, given = GIVEN): JsonValue {
  const read = symbolsOf(given).read(
    toolOf({ x: schema }),
    JSON.stringify({ x: written, result: "@R" }),
  );
  assert("resolved" in read, JSON.stringify(read));
  assertEquals(read.name, "R");
  return JSON.parse(read.resolved)["x"];
}

function refusal(read: ReturnType<Symbols["read"]>): Refusal {
  assert("error" in read, `${JSON.stringify(read).slice(0, 1_000)} is not refused`);
  assertNotMatch(read.error, STEERING);
  return read;
}

Deno.test("read() resolves names with their types where no string is expected (Indirection, Adding a Level of Indirection)", () => {
  for (const [name, value] of GIVEN) {
    assertEquals(resolved({ type: "integer" }, `@${name}`), value);
    assertEquals(resolved({}, `@${name}`), value);
    assertEquals(resolved({ type: ["string", "integer"] }, `@${name}`), value);
    assertEquals(resolved({ type: "array", items: { type: "integer" } }, [`@${name}`]), [value]);
    assertEquals(resolved({ type: "object" }, { k: [{ l: `@${name}` }] }), { k: [{ l: value }] });
    assertEquals(resolved({ $ref: "#/no/such" }, `@${name}`), value);
  }
  assertEquals(resolved({ anyOf: [{ type: "integer" }, { type: "null" }] }, "@Nil"), null);
  assertEquals(resolved({ type: "integer" }, "@@N"), "@@N");
  assertEquals(resolved({ type: "integer" }, 7), 7);
});

Deno.test("read() replaces names inside strings by the text of their values", () => {
  const text = { type: "string" };
  for (
    const [written, meant] of [
      ["@N", "3"],
      ["@S", "Paris"],
      ["@Digits", "42"],
      ["2×@N+@F", "2×3+-0.5"],
      ["@T/@Nil/@S/@Digits", "true/null/Paris/42"],
      ["see @L and @O.", 'see [1,"two",{"three":null}] and {"a":1}.'],
      ["(@N)[@N]`@N`**@N**", "(3)[3]`3`**3**"],
      ["@N@N", "3@N"],
      ["bob@example.com", "bob@example.com"],
      ["合計は@Nです", "合計は3です"],
      ["a@N _@N 1@N", "a@N _@N 1@N"],
      ["@@N", "@N"],
      ["@@nobody", "@nobody"],
      ["@ N @1 @-@", "@ N @1 @-@"],
      ["@@ @@@", "@@ @@@"],
    ] as const
  ) {
    assertEquals(resolved(text, written), meant, written);
    if (written.length > 8) assertEquals(resolved({}, written), meant, written);
  }
});

const ORDER = {
  id: 7,
  total: 30,
  customer: { name: "Ann", "e-mail": null },
  lines: [{ sku: "pen" }, { sku: "ink" }],
  "total-5": true,
  "größe": "L",
};
const PATHS: [string, JsonValue][] = [
  ["Order", ORDER],
  ["List", [1, [2, 3], "x"]],
  ["Name", "Ann"],
  ["Sum", 3],
  ["Odd", JSON.parse('{"__proto__":{"length":1},"a.b":1,"-":2,"0":3,"":4}')],
];

Deno.test("read() follows paths to parts of values, with their types where no string is expected", () => {
  for (
    const [written, value] of [
      ["@Order", ORDER],
      ["@Order.total", 30],
      ["@Order.customer", ORDER.customer],
      ["@Order.customer.name", "Ann"],
      ["@Order.customer.e-mail", null],
      ["@Order.lines.1.sku", "ink"],
      ["@Order.total-5", true],
      ["@Order.größe", "L"],
      ["@List.0", 1],
      ["@List.1.1", 3],
      ["@Odd.__proto__.length", 1],
      ["@Odd.0", 3],
    ] as [string, JsonValue][]
  ) {
    for (
      const schema of [{ type: "integer" }, {}, { type: ["string", "object"] }] as JsonObject[]
    ) {
      assertEquals(resolved(schema, written, PATHS), value, written);
    }
    const text = typeof value === "string" ? value : JSON.stringify(value);
    assertEquals(resolved({ type: "string" }, written, PATHS), text);
    assertEquals(
      resolved({ type: "string" }, `(${written}.) ${written}`, PATHS),
      `(${text}.) ${text}`,
    );
    const path = written.slice(1);
    assertEquals(new Symbols(PATHS).get(path), value);
    assertEquals(new Symbols(PATHS).reveal(path), JSON.stringify(value));
    assertEquals(new Symbols(PATHS).reveal(written), JSON.stringify(value));
  }
});

Deno.test("read() ends paths where no part can follow", () => {
  for (
    const [written, meant] of [
      ["Hello @Name.", "Hello Ann."],
      ["Hello @Name.Welcome", "Hello Ann.Welcome"],
      ["@Sum.5 @Sum.a @Sum..", "3.5 3.a 3.."],
      ["@Order.total.5", "30.5"],
      ["@Order.total-3", "30-3"],
      ["@Order.total--@Order.id-", "30--7-"],
      ["@Order.customer.e-mail-x", "null-x"],
      ["@List.0-1 @List.0.1", "1-1 1.1"],
      ["@Order.idです", "7です"],
      ["@Order.total.customer", "30.customer"],
      ["@Order.customer.name@Sum", "Ann@Sum"],
      ["@List. @List... @List.-", '[1,[2,3],"x"]. [1,[2,3],"x"]... [1,[2,3],"x"].-'],
      ["@@Order.total", "@Order.total"],
      ["@@Order.nope", "@Order.nope"],
    ] as const
  ) {
    assertEquals(resolved({ type: "string" }, written, PATHS), meant, written);
    assertEquals(new Symbols(PATHS).resolve(written), meant, written);
  }
});

Deno.test("read() refuses a path that leads nowhere, and says where one may lead", () => {
  const order = "@Order has the fields id, total, customer, lines, total-5, größe";
  for (
    const [written, words] of [
      ["@Order.sum", `There is no @Order.sum: ${order}`],
      [
        "@Order.customer.Name",
        "no @Order.customer.Name: @Order.customer has the fields name, e-mail",
      ],
      ["@Order.tota", `There is no @Order.tota: ${order}`],
      ["@Order.total_", `There is no @Order.total_: ${order}`],
      ["@Order.ids-x", `There is no @Order.ids-x: ${order}`],
      ["@List.3", "There is no @List.3: @List is a list with items from 0 to 2"],
      ["@List.1.2", "There is no @List.1.2: @List.1 is a list with items from 0 to 1"],
      ["@List.length", "There is no @List.length: @List is a list"],
      ["@Odd.constructor", "@Odd has the fields 0, __proto__ and 3 more"],
      ["@Odd.__proto__.a", "@Odd.__proto__ has the fields length"],
    ] as const
  ) {
    for (
      const [schema, text] of [[{ type: "string" }, `a ${written}, b`], [
        { type: "integer" },
        written,
      ]]
    ) {
      const tool = toolOf({ x: schema as JsonObject });
      const call = JSON.stringify({ x: text, result: "@R" });
      const { error, fault } = refusal(new Symbols(PATHS).read(tool, call));
      assertStringIncludes(error, words);
      assertEquals(fault.wrongType, ["x"]);
    }
    const symbols = new Symbols(PATHS);
    assertStringIncludes(JSON.parse(symbols.reveal(written)).error, words);
    assertEquals(symbols.get(written.slice(1)), undefined);
    // Nobody can mend a final text.
    assertEquals(symbols.resolve(`a ${written}, @Sum`), `a ${written}, 3`);
    assertEquals(symbols.render(`a ${written}, @Sum`), `a ${written}, @Sum=3`);
  }
  const nothing = new Symbols([["Empty", []], ["None", { "a b": 1 }]]);
  assertStringIncludes(nothing.reveal("Empty.0"), "@Empty is an empty list");
  assertStringIncludes(nothing.reveal("None.a"), "@None has no fields that can be named");
  for (
    const path of [
      "Order.",
      ".Order",
      "Order..total",
      "Order.total.",
      "Sum.5",
      "Name.x",
      "Order total",
    ]
  ) {
    assertStringIncludes(new Symbols(PATHS).reveal(path), "There is no value named");
  }
});

Deno.test("read() tells at most 20 fields, and none that steers a terminal", () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}_`, 1]));
  const symbols = new Symbols([["Many", { "\u001b[31m": 1, ["k".repeat(300)]: 2, ...many }]]);
  const written = JSON.stringify({
    expression: `@Many.x @Many.${"y-".repeat(5_000)}`,
    result: "@R",
  });
  const { error } = refusal(symbols.read(EVALUATE, written));
  assertEquals(
    Object.keys(many).filter((key) => error.includes(key)),
    Object.keys(many).slice(0, 20),
  );
  assertStringIncludes(error, "and 12 more");
  assert(error.length < 2_000, error);
});

Deno.test("read() never takes a path for the name of a result", () => {
  for (const result of ["@Order.total", "@New.field", "@New."]) {
    const { error } = refusal(
      new Symbols(PATHS).read(EVALUATE, JSON.stringify({ expression: "1", result })),
    );
    assertStringIncludes(error, "Parameter result must name the result");
  }
});

Deno.test("read() finds strings in what a schema is put together from", () => {
  const schemas: [JsonObject, JsonValue][] = [
    [{ type: ["string", "null"] }, "3"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "3"],
    [{ allOf: [{ type: "string" }, { minLength: 1 }] }, "3"],
    [{ type: "string", allOf: [{ description: "d" }] }, "3"],
    [{ enum: ["1", "3"] }, "3"],
    [{ const: "3" }, "3"],
    [{ $ref: "#/properties/x/$defs/s", $defs: { s: { type: "string" } } }, "3"],
    [{ oneOf: [{ type: "string" }, {}] }, 3],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, 3],
    [{ enum: ["3", 3] }, 3],
    [{ anyOf: [{ type: "string" }, true] }, 3],
  ];
  for (const [schema, meant] of schemas) {
    assertEquals(resolved(schema, "@N"), meant, JSON.stringify(schema));
  }
  assertEquals(resolved({ type: ["string", "null"] }, "@Nil"), null);
  assertEquals(resolved({ type: "string" }, "@Nil"), "null");
  assertEquals(resolved({ type: ["string", "null"] }, "@Nil."), "null.");
});

Deno.test("read() follows references as they are written in URLs, and no others", () => {
  const $defs = { "a/b ~": { type: "string" }, c: { type: "integer" } };
  for (
    const [$ref, meant] of [
      ["#/$defs/a~1b%20~0", "3"],
      ["#/$defs/c", 3],
      ["#/$defs/c/type/none", 3],
      ["#/$defs/%E0%A4%A", 3],
      ["#a/b", 3],
      ["other#/$defs/a~1b%20~0", 3],
      ["#/__proto__", 3],
      [7, 3],
    ] as const
  ) {
    const read = symbolsOf().read(toolOf({ x: { $ref } }, { $defs }), '{"x":"@N","result":"@R"}');
    assertEquals(read, { name: "R", resolved: JSON.stringify({ x: meant }) }, String($ref));
  }
});

Deno.test("read() takes the alternative that fits the rest of an object", () => {
  const kind = (name: string, type: string) => ({
    type: "object",
    properties: { kind: { const: name }, value: { type } },
    required: ["kind", "value"],
  });
  const either = { oneOf: [kind("number", "number"), kind("text", "string"), { type: "null" }] };
  assertEquals(resolved(either, { kind: "number", value: "@N" }), { kind: "number", value: 3 });
  assertEquals(resolved(either, { kind: "text", value: "@N" }), { kind: "text", value: "3" });
  assertEquals(resolved(either, { kind: "@S", value: "@N" }), { kind: "Paris", value: 3 });
  assertEquals(resolved(either, { kind: "none", value: "@N" }), { kind: "none", value: 3 });
  const other = {
    properties: { kind: { enum: ["other"] }, text: { type: "string" } },
    required: ["kind", "text"],
  };
  const named = { anyOf: [kind("number", "number"), other] };
  named.anyOf[0]!.properties = { ...named.anyOf[0]!.properties, text: { type: "number" } };
  assertEquals(resolved(named, { kind: "@S", text: "@N" }), { kind: "Paris", text: "3" });
  assertEquals(resolved(named, { kind: "other", text: "@N" }), { kind: "other", text: "3" });
  const lists: JsonObject = {
    anyOf: [{ type: "array", items: { type: "string" } }, { type: "object" }],
  };
  assertEquals(resolved(lists, ["@N"]), ["3"]);
});

Deno.test("read() follows each kind of place in objects and lists", () => {
  const text = { type: "string" };
  const number = { type: "number" };
  for (
    const [schema, written, meant] of [
      [{ prefixItems: [text], items: number }, ["@N", "@N"], ["3", 3]],
      [{ items: [text], additionalItems: number }, ["@N", "@N"], ["3", 3]],
      [{ items: [text], additionalItems: false }, ["@N", "@N"], ["3", 3]],
      [{ properties: { a: text }, additionalProperties: number }, { a: "@N", b: "@N" }, {
        a: "3",
        b: 3,
      }],
      [{ patternProperties: { "^a": text } }, { a: "@N" }, { a: "3" }],
      [{ if: { required: ["a"] }, then: { properties: { a: text } } }, { a: "@N" }, { a: "3" }],
      [{ allOf: [{ properties: { a: text } }, { properties: { b: number } }] }, {
        a: "@N",
        b: "@N",
      }, { a: "3", b: 3 }],
    ] as [JsonObject, JsonValue, JsonValue][]
  ) assertEquals(resolved(schema, written), meant, JSON.stringify(schema));
});

Deno.test("read() leaves listed values alone, whatever they look like, and keys", () => {
  assertEquals(resolved({ enum: ["@latest", "@N"] }, "@latest"), "@latest");
  assertEquals(resolved({ enum: ["@latest", "@N"] }, "@N"), "@N");
  assertEquals(resolved({ type: "object" }, { "@N": 1 }), { "@N": 1 });
});

Deno.test("read() keeps arguments with names of Object.prototype", () => {
  const proto = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"integer"}}');
  const read = symbolsOf().read(
    toolOf(proto),
    '{"__proto__":"@N","constructor":"@N","toString":{"__proto__":["@S"]},"result":"@__proto__"}',
  );
  assertEquals(read, {
    name: "__proto__",
    resolved: '{"__proto__":"3","constructor":3,"toString":{"__proto__":["Paris"]}}',
  });
  const symbols = new Symbols([["__proto__", 1], ["constructor", { a: 2 }]]);
  assertEquals(symbols.resolve("@__proto__ @constructor @toString"), '1 {"a":2} @toString');
  assertEquals(symbols.names(), ["__proto__", "constructor"]);
  assert(!symbols.has("toString"));
});

Deno.test("read() refuses arguments that are no object, or nest too deep", () => {
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  for (
    const written of [
      "",
      "{",
      "[]",
      "null",
      '"x"',
      "7",
      deep,
      `{"expression":${deep}}`,
      '{"x":1e999}',
    ]
  ) {
    const { fault, error } = refusal(symbolsOf().read(EVALUATE, written));
    assertEquals(fault, { missing: [], unexpected: [], wrongType: [], malformed: true });
    assertStringIncludes(error, "JSON object");
  }
});

Deno.test("read() refuses a call that does not name its result by a new name (Indirection, Adding a Level of Indirection)", () => {
  const symbols = symbolsOf();
  symbols.reserve("Running");
  for (
    const [result, words] of [
      [undefined, "it is missing"],
      [7, "it is 7"],
      [null, "it is null"],
      ["Sum", 'it is "Sum"'],
      ["@", "@Result"],
      ["@1", "@Result"],
      ["@a b", "@Result"],
      ["@Sum\u001b[31m", "@Result"],
      [`@${"a".repeat(65)}`, "at most 64"],
      ["@N", "@N is taken. Known names: @N, @F,"],
      ["@N", "such as @N_2"],
      ["@Running", "such as @Running_2"],
      ["@Sum", "such as @Sum_3"],
      ["@Sum_2", "such as @Sum_3"],
    ] as const
  ) {
    const written = JSON.stringify({ expression: "1", result });
    const read = refusal(symbols.read(EVALUATE, written, new Set(["Sum", "Sum_2"])));
    assertStringIncludes(read.error, words);
    assertStringIncludes(read.error, "Parameter result must");
    assertEquals(read.fault, {
      missing: result === undefined ? ["result"] : [],
      unexpected: [],
      wrongType: result === undefined ? [] : ["result"],
      malformed: false,
    });
  }
  const longest = "a".repeat(64);
  assert("name" in symbols.read(EVALUATE, `{"result":"@${longest}"}`));
  const again = refusal(symbols.read(EVALUATE, `{"result":"@${longest}"}`, new Set([longest])));
  const [, free] = /such as @(\w+)/.exec(again.error)!;
  assert(isSymbol(free!) && free !== longest);
});

Deno.test("read() refuses names without a value, and says what is known", () => {
  const two = toolOf({ text: { type: "string" }, number: { type: "integer" } });
  const { error, fault } = refusal(
    symbolsOf().read(two, '{"text":"a @Sum of @N","number":"@Next","result":"@Next"}'),
  );
  assertEquals(fault, {
    missing: [],
    unexpected: [],
    wrongType: ["text", "number"],
    malformed: false,
  });
  assertEquals(
    error,
    "There is no value named @Sum, @Next, as in text, number. The name of a result is known from " +
      "the next reply on. Known names: @N, @F, @T, @Nil, @S, @L, @O, @Digits. Where the text @Sum " +
      "itself is meant, write @@Sum",
  );
  const typed = refusal(new Symbols().read(two, '{"number":"@Next","result":"@R"}'));
  assertStringIncludes(typed.error, "No name is known yet");
  assert(!typed.error.includes("@@"));
});

Deno.test("read() refuses a text around a name where no text is expected", () => {
  const expected = "Where no text is expected, write one @name by itself, or a value: x is ";
  for (
    const [schema, written, told] of [
      [{ type: "integer" }, "2*@N", '"2*@N"'],
      [{ type: "integer" }, "@N ", '"@N "'],
      [{ type: "integer" }, "@O.a-1", '"@O.a-1"'],
      [{ enum: [1, 2] }, "\u001b@N\n", '"\\u001b@N\\n"'],
      [{ type: "array", items: { type: "integer" } }, [1, "@N+1"], '"@N+1"'],
      [{ type: "integer" }, `@N ${"x".repeat(500)}`, `"@N ${"x".repeat(95)}…`],
    ] as [JsonObject, JsonValue, string][]
  ) {
    const tool = toolOf({ x: schema });
    const written2 = JSON.stringify({ x: written, result: "@R" });
    const { error, fault } = refusal(symbolsOf().read(tool, written2));
    assertEquals([error, fault.wrongType, fault.malformed], [expected + told, ["x"], false]);
  }
  // What is wrong with a name is said first.
  const two = toolOf({ x: { type: "integer" }, y: { type: "null" } });
  const { error, fault } = refusal(
    symbolsOf().read(two, '{"x":"2*@Sum","y":"@Nil!","result":"@R"}'),
  );
  assertEquals(error.split(". ").map((sentence) => sentence.slice(0, 34)), [
    "There is no value named @Sum, as i",
    "The name of a result is known from",
    "Known names: @N, @F, @T, @Nil, @S,",
    "Where no text is expected, write o",
  ]);
  assertEquals(fault.wrongType, ["x", "y"]);
  // No reference is in these: the schema has to say what is wrong with them.
  for (const text of ["@@N", "bob@N.com", "@ N", "seven"]) {
    assertEquals(resolved({ type: "integer" }, text), text);
  }
});

Deno.test("read() names unknown names wherever they stand, and tells what else is wrong", () => {
  for (
    const [schema, written] of [
      [{ type: "integer" }, "@Sum"],
      [{ enum: ["a"] }, "@Sum"],
      [{}, ["x", { y: "the @Sum" }]],
      [{ type: "array", items: { type: "integer" } }, [1, "@Sum"]],
    ] as [JsonObject, JsonValue][]
  ) {
    const { error, fault } = refusal(
      symbolsOf().read(toolOf({ x: schema }), JSON.stringify({ x: written })),
    );
    assertStringIncludes(error, "no value named @Sum");
    assertStringIncludes(error, "Parameter result must");
    assertEquals([fault.missing, fault.wrongType], [["result"], ["x"]]);
  }
  const long = "p".repeat(300);
  const read = symbolsOf().read(EVALUATE, `{"${long}":"@${"q".repeat(300)}","result":"@R"}`);
  assertEquals(refusal(read).fault.wrongType, ["p".repeat(100)]);
  assert(refusal(read).error.length < 1_000);
});

Deno.test("read() tells at most 20 names, the newest", () => {
  const names = Array.from({ length: 30 }, (_, index) => `name_${index}_`);
  const symbols = new Symbols(names.map((name) => [name, 1]));
  const unknown = JSON.stringify({
    expression: names.map((name) => `@un${name}`).join(" "),
    result: "@R",
  });
  const { error } = refusal(symbols.read(EVALUATE, unknown));
  assertEquals(names.filter((name) => error.includes(`@${name}`)), names.slice(10));
  assertStringIncludes(error, "and 10 older ones");
  assertEquals(names.filter((name) => error.includes(`@un${name}`)).length, 20);
});

Deno.test("read() refuses names that would make a call grow beyond measure", () => {
  const symbols = new Symbols([["Big", "x".repeat(3_000_000)], ["L", ["y".repeat(3_000_000)]]]);
  for (const expression of ["@Big ".repeat(4), "@L ".repeat(4), ["@L", "@L", "@L", "@L"]]) {
    const written = JSON.stringify({ expression, result: "@R" });
    const { error, fault } = refusal(symbols.read(toolOf({ expression: {} }), written));
    assertStringIncludes(error, "longer than 10000000 characters");
    assertEquals(fault.wrongType, ["expression"]);
  }
  assert(symbols.resolve("@Big ".repeat(10)).length < 11_000_000);
});

Deno.test("read() and resolve() are at ease with texts of hundreds of thousands of characters", () => {
  const symbols = symbolsOf();
  for (
    const [text, meant] of [
      ["@".repeat(200_000), "@".repeat(200_000)],
      ["@N ".repeat(66_000), "3 ".repeat(66_000)],
      ["@@@N ".repeat(40_000), "@@N ".repeat(40_000)],
      ["@" + "é".repeat(200_000), "@" + "é".repeat(200_000)],
      ["a@".repeat(100_000), "a@".repeat(100_000)],
      ["@N" + ".a".repeat(100_000), "3" + ".a".repeat(100_000)],
      ["@O.a" + "-a".repeat(100_000), "1" + "-a".repeat(100_000)],
      [`@O.a${"-a".repeat(99)} `.repeat(1_000), `1${"-a".repeat(99)} `.repeat(1_000)],
    ] as const
  ) {
    assert(symbols.resolve(text) === meant);
    const read = symbols.read(EVALUATE, JSON.stringify({ expression: text, result: "@R" }));
    assert("resolved" in read && JSON.parse(read.resolved)["expression"] === meant);
  }
  const items = JSON.stringify({ x: new Array(40_000).fill("@N"), result: "@R" });
  const read = symbols.read(toolOf({ x: { type: "array", items: { type: "integer" } } }), items);
  assert("resolved" in read && read.resolved.length === 80_000 + '{"x":[]}'.length - 1);
});

Deno.test("paths into long values take no longer than the text that they make", () => {
  const long = { list: new Array(100_000).fill("x"), text: "y".repeat(1_000_000) };
  const symbols = new Symbols([["Long", long]]);
  const text = "@Long.list @Long.text ".repeat(20_000);
  assert(symbols.render(text).length < 20_000 * 300);
  assert(symbols.resolve(text).length < 11_000_000);
  const { error } = refusal(
    symbols.read(EVALUATE, JSON.stringify({ expression: text, result: "@R" })),
  );
  assertStringIncludes(error, "longer than 10000000 characters");
  const wide = new Symbols([[
    "W",
    Object.fromEntries(long.list.map((x, index) => [x + index, 1])),
  ]]);
  const missing = Array.from({ length: 5_000 }, (_, index) => `@W.no${index}`).join(" ");
  const read = wide.read(EVALUATE, JSON.stringify({ expression: missing, result: "@R" }));
  assert(refusal(read).error.length < 2_000);
  let deep: JsonValue = 7;
  for (let depth = 0; depth < 400; depth++) deep = { a: deep };
  const path = `D${".a".repeat(400)}`;
  assertEquals(new Symbols([["D", deep]]).get(path), 7);
  assertEquals(new Symbols([["D", deep]]).resolve(`@${path}.a.`), "7.a.");
});

Deno.test("bind() binds each name once, for good (Indirection, Adding a Level of Indirection)", () => {
  const symbols = new Symbols();
  assertEquals([symbols.has("A"), symbols.get("A"), symbols.names()], [false, undefined, []]);
  symbols.reserve("A");
  assertEquals(symbols.has("A"), false);
  symbols.bind("A", null);
  assertEquals([symbols.has("A"), symbols.get("A"), symbols.names()], [true, null, ["A"]]);
  assertThrows(() => symbols.bind("A", 1), InputError, "Cannot bind @A as a name stands for one");
  symbols.reserve("B");
  symbols.release("B");
  assert("name" in symbols.read(EVALUATE, '{"expression":"1","result":"@B"}'));
});

Deno.test("Symbols() refuses what is given under no name, twice, or is no JSON", () => {
  let deep: JsonValue = [];
  for (let depth = 0; depth < 10_000; depth++) deep = [deep];
  for (
    const given of [
      [["first name", 1]],
      [["@X", 1]],
      [["", 1]],
      [["1st", 1]],
      [["é", 1]],
      [["x".repeat(65), 1]],
      [["x\u001b[31m", 1]],
      [["A", 1], ["A", 2]],
      [["A", NaN]],
      [["A", undefined as unknown as JsonValue]],
      [["A", new Map() as unknown as JsonValue]],
      [["A", { at: new Date() } as unknown as JsonValue]],
      [["A", deep]],
    ] as [string, JsonValue][][]
  ) {
    const { message } = assertThrows(() => new Symbols(given), InputError, "Cannot bind @");
    assertNotMatch(message, STEERING);
  }
});

Deno.test("resolve() does not look again at what it has filled in", () => {
  const symbols = new Symbols([["A", "@B and @@B $& $1"], ["B", 1]]);
  assertEquals(symbols.resolve("@A"), "@B and @@B $& $1");
  const read = symbols.read(EVALUATE, '{"expression":"@A.","result":"@R"}');
  assertEquals(read, { name: "R", resolved: '{"expression":"@B and @@B $& $1."}' });
});

Deno.test("render() shows names with their values, long and hostile ones cut (Indirection, Adding a Level of Indirection)", () => {
  const symbols = new Symbols([["Sum", 3], ["Long", "x".repeat(500)], ["Bad", "a\u001b[31m\nb"]]);
  assertEquals(symbols.render("The sum of 1 + 2 is `@Sum`."), "The sum of 1 + 2 is `@Sum=3`.");
  assertEquals(symbols.render("@Long"), `@Long=${"x".repeat(99)}…`);
  assertEquals(symbols.render("@Bad"), "@Bad=a\\u001b[31m\\nb");
  assertEquals(symbols.render("@@Sum, @Other, bob@Sum"), "@Sum, @Other, bob@Sum");
  const parts = new Symbols([["Order", { total: 30, notes: ["x".repeat(500), "a\u001b[31m"] }]]);
  assertEquals(
    parts.render("@Order.total.5 of `@Order.total`."),
    "@Order.total=30.5 of `@Order.total=30`.",
  );
  assertEquals(parts.render("@Order.notes.0"), `@Order.notes.0=${"x".repeat(99)}…`);
  assertEquals(parts.render("@Order.notes.1"), "@Order.notes.1=a\\u001b[31m");
});

Deno.test("valueOfResult() reads JSON, and keeps the text where that would lose something", () => {
  for (
    const [text, value] of [
      ["3", 3],
      [" -2.5\n", -2.5],
      ["1e21", 1e21],
      ["true", true],
      ["null", null],
      ['"3"', "3"],
      ['{"a":[1]}', { a: [1] }],
      ["", ""],
      ["Paris", "Paris"],
      ["007", "007"],
      ["{", "{"],
      ["1e999", "1e999"],
      ["9007199254740993", 9007199254740993n],
      ["9007199254740991", 9007199254740991],
      ["-9007199254740992", -9007199254740992],
      ["-0", -0],
    ] as [string, JsonValue][]
  ) assertEquals(valueOfResult(text), value);
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  assertEquals(valueOfResult(deep), deep);
});

Deno.test("errorOfResult() finds an object with no key but error", () => {
  assertEquals(errorOfResult('{"error":"no"}'), "no");
  assertEquals(errorOfResult('{"error":{"code":1}}'), '{"code":1}');
  for (
    const text of [
      '{"error":"no","a":1}',
      '{"a":1}',
      "error",
      "[]",
      "null",
      '{"__proto__":{"error":1}}',
    ]
  ) {
    assertEquals(errorOfResult(text), undefined, text);
  }
});

Deno.test("a text of any kind can be written, and comes out as it was", () => {
  const unit = fc.constantFrom("@", "@", "a", "N", "1", "_", "é", "合", ".", " ", "\u0000", "🜁");
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 20 }), (text) => {
      const written = escaped(text);
      assertEquals(replaceReferences(written, () => "!"), text);
      assertEquals(symbolsOf().resolve(written), text);
      assertEquals(resolved({ type: "string" }, written), text);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("values of any type come out as they went in, where no string is expected", () => {
  fc.assert(
    fc.property(plain, plain, (one, other) => {
      const symbols = new Symbols([["One", one], ["__proto__", other]]);
      const written = '{"a":"@One","b":["@__proto__",{"c":"@One"}],"result":"@R"}';
      const read = symbols.read(toolOf({ a: { type: "number" }, b: {} }), written);
      assert("resolved" in read);
      assertEquals(JSON.parse(read.resolved), { a: one, b: [other, { c: one }] });
    }),
    { numRuns: 300 },
  );
});
