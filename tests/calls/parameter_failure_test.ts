import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { type JsonObject, type JsonValue, parseJson } from "../../lib/base/json.ts";
import {
  absent,
  anyOf,
  anything,
  inAnyOrder,
  matching,
  optional,
} from "../../lib/calls/expected/matchers.ts";
import { differencesOf } from "../../lib/calls/expected/checked_call.ts";
import type { ExpectedValue } from "../../lib/tools/expected_call.ts";
import { viewCalls } from "../../lib/calls/_parameter_failure.ts";
import { PARAMETER_VIEW, type ParameterView } from "../../lib/calls/trace.ts";
import { PARAMETER_FAILURE_TYPES } from "../../lib/calls/failure_types.ts";
import { argumentCheck } from "../../lib/tools/schema/validate.ts";
import { rougeL } from "../../lib/calls/values/_rouge.ts";
import fc from "../support/fast_check.ts";

type Expected = Readonly<Record<string, ExpectedValue>>;

/** Failures as `type path`, sorted; the type by its first letters. */
function told({ failures, undecided = [] }: ParameterView): string[] {
  return [
    ...failures.map(({ type, parameter }) => `${type.split("_")[0]} ${parameter}`),
    ...undecided.map(({ types, parameter }) =>
      `${types.map((type) => type.split("_")[0]).join(" or ")} ${parameter}`
    ),
  ].sort();
}

interface Options {
  readonly schema?: JsonObject | undefined;
  readonly ignore?: readonly string[];
}

/** A call as it is recorded. */
function made(written: string, tool = "tool") {
  return { tool, arguments: parseJson(written), written };
}

/** One call of a tool beside the one call that is right. */
function view(given: JsonValue, expected: Expected, { schema, ignore = [] }: Options = {}) {
  const [only] = viewCalls(
    [made(JSON.stringify(given))],
    [{ tool: "tool", arguments: expected, ignore }],
    () => schema,
  );
  assertEquals(only!.oracle, 1);
  return only!;
}

/** One call that corresponds to nothing. */
function lone(given: JsonValue, schema: JsonObject | undefined): ParameterView {
  const [only] = viewCalls([made(JSON.stringify(given))], [], () => schema);
  assertEquals(only!.oracle, null);
  return only!;
}

const objectOf = (properties: JsonObject, others: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...others,
});

const ADDRESS = objectOf({ street: { type: "string" }, zip: { type: "integer" } }, {
  required: ["zip"],
});
const FORECAST = objectOf({
  city: { type: "string", minLength: 2, maxLength: 20 },
  days: { type: "integer", minimum: 1, maximum: 14 },
  unit: { enum: ["C", "F"], default: "C" },
  address: ADDRESS,
  tags: { type: "array", items: { type: "string" }, maxItems: 3 },
  points: { type: "array", items: objectOf({ x: { type: "number" } }, { required: ["x"] }) },
  labels: { type: "object", additionalProperties: { type: "string" } },
  mail: { type: "string", format: "email" },
}, { required: ["city"] });

const PARIS = { city: "Paris" };

/** What is given, what is right, and what comes of it. */
type Row = [given: JsonValue, expected: Expected, string[]];

function check(rows: readonly Row[], options: Options): void {
  for (const [given, expected, outcome] of rows) {
    assertEquals(
      told(view(given, expected, options)),
      outcome.toSorted(),
      `${JSON.stringify(given)} beside ${JSON.stringify(expected)}`,
    );
  }
}

Deno.test("viewCalls() finds names that are hallucinated, at any depth that lists names (Butterfly 3)", () => {
  check([
    [{ ...PARIS, town: 1 }, PARIS, ["hallucination /town"]],
    [{ ...PARIS, toString: 1, constructor: {} }, PARIS, [
      "hallucination /toString",
      "hallucination /constructor",
    ]],
    // What is in it is no matter of its own, nor is it when it is expected.
    [{ ...PARIS, town: { zip: "x" } }, PARIS, ["hallucination /town"]],
    [{ ...PARIS, town: 1 }, { ...PARIS, town: 2 }, ["hallucination /town"]],
    [{ ...PARIS, "a/b~c": 1 }, PARIS, ["hallucination /a~1b~0c"]],
    // Any name is declared where the schema says so.
    [{ ...PARIS, labels: { a: "b" } }, { ...PARIS, labels: { a: "b" } }, []],
  ], { schema: FORECAST });
});

Deno.test("viewCalls() takes names as declared wherever a schema can declare them", () => {
  const point = objectOf({ x: { type: "integer" } }, { additionalProperties: false });
  const expected = { x: 1, y: 2 };
  const hallucinated = ["hallucination /y"];
  const table: [JsonObject, string[]][] = [
    [objectOf({ x: {} }), hallucinated],
    [objectOf({ x: {} }, { additionalProperties: false }), hallucinated],
    [objectOf({ x: {} }, { additionalProperties: true }), []],
    [objectOf({ x: {} }, { additionalProperties: { type: "integer" } }), []],
    [objectOf({ x: {} }, { additionalProperties: { type: "string" } }), ["specification /y"]],
    [objectOf({ x: {} }, { unevaluatedProperties: false }), hallucinated],
    [objectOf({ x: {} }, { unevaluatedProperties: true }), []],
    [objectOf({ x: {} }, { patternProperties: { "^[yz]$": {} } }), []],
    [objectOf({ x: {} }, { patternProperties: { "^z$": {} } }), hallucinated],
    [objectOf({ x: {} }, { required: ["y"] }), []],
    [{ type: "object" }, []],
    [{}, []],
    [{ type: "object", additionalProperties: false }, ["hallucination /x", ...hallucinated]],
    [objectOf({}), ["hallucination /x", ...hallucinated]],
    [{ $ref: "#/$defs/p", $defs: { p: point } }, hallucinated],
    [{ $ref: "#/$defs/p", $defs: { p: objectOf({ x: {}, y: {} }) } }, []],
    [{ allOf: [objectOf({ x: {} }), objectOf({ y: {} })] }, []],
    [{ allOf: [objectOf({ x: {} }), objectOf({ z: {} })] }, hallucinated],
    [{ anyOf: [objectOf({ x: {} }), objectOf({ y: {} })] }, []],
    [
      objectOf({ x: {} }, { $ref: "#p", $defs: { p: { $anchor: "p", ...objectOf({ y: {} }) } } }),
      [],
    ],
    [{ ...objectOf({ x: {} }), if: { required: ["x"] }, then: objectOf({ y: {} }) }, []],
    [objectOf({ x: {}, y: {} }, { propertyNames: { maxLength: 0 } }), [
      "hallucination /x",
      ...hallucinated,
    ]],
  ];
  for (const [schema, outcome] of table) check([[expected, expected, outcome]], { schema });
  const unnameable = {
    allOf: [objectOf({ x: { type: "string" } }), { propertyNames: { maxLength: 0 } }],
  };
  check([[{ x: 1 }, { x: 1 }, ["hallucination /x"]]], { schema: unnameable });
});

Deno.test("viewCalls() finds information that is missing, at any depth (Butterfly 3)", () => {
  check([
    [{}, PARIS, ["missing /city"]],
    // Required though it is not expected.
    [{}, {}, ["missing /city"]],
    [PARIS, { ...PARIS, days: anything() }, ["missing /days"]],
    // What may be left out is not missing.
    [PARIS, { ...PARIS, days: optional(3) }, []],
    [{ ...PARIS, days: 3 }, { ...PARIS, days: optional(3) }, []],
    [{ ...PARIS, days: 2 }, { ...PARIS, days: optional(3) }, ["task /days"]],
    [PARIS, { ...PARIS, days: absent() }, []],
    [{ ...PARIS, address: {} }, { ...PARIS, address: {} }, ["missing /address/zip"]],
    [{ ...PARIS, labels: {} }, { ...PARIS, labels: { a: "b" } }, ["missing /labels/a"]],
  ], { schema: FORECAST });
  const dependent = objectOf({ a: {}, b: {} }, { dependentRequired: { a: ["b"] } });
  check([[{ a: 1 }, { a: 1 }, ["missing /b"]]], { schema: dependent });
  const conditional = objectOf({ a: {}, b: {} }, {
    if: { required: ["a"] },
    then: { required: ["b"] },
  });
  check([[{ a: 1 }, { a: 1 }, ["missing /b"]]], { schema: conditional });
  const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", dependencies: { a: ["b"] } };
  check([[{ a: 1 }, { a: 1 }, ["missing /b"]]], { schema: draft7 });
});

Deno.test("viewCalls() finds information that is redundant, but for defaults and what is ignored (Butterfly 3)", () => {
  check([
    [{ ...PARIS, days: 3 }, PARIS, ["redundant /days"]],
    [{ ...PARIS, unit: "F" }, PARIS, ["redundant /unit"]],
    [{ ...PARIS, unit: "C" }, PARIS, []],
    [{ ...PARIS, address: { zip: 1, street: "a" } }, { ...PARIS, address: { zip: 1 } }, [
      "redundant /address/street",
    ]],
    [{ ...PARIS, labels: { a: "b" } }, { ...PARIS, labels: {} }, ["redundant /labels/a"]],
    [{ ...PARIS, tags: [] }, PARIS, ["redundant /tags"]],
    // What the function cannot take weighs more.
    [{ ...PARIS, days: 99 }, PARIS, ["specification /days"]],
  ], { schema: FORECAST });
  check([
    [{ ...PARIS, days: 3 }, PARIS, []],
    [PARIS, PARIS, []],
    [PARIS, { ...PARIS, days: 3 }, []],
    [{ ...PARIS, days: 4 }, { ...PARIS, days: 3 }, []],
    [{ ...PARIS, days: "3" }, PARIS, ["specification /days"]],
    [{ ...PARIS, town: 3 }, PARIS, ["hallucination /town"]],
    [{}, {}, ["missing /city"]],
    // Only parameters themselves are allowed.
    [{ ...PARIS, labels: { days: "3" } }, { ...PARIS, labels: {} }, ["redundant /labels/days"]],
  ], { schema: FORECAST, ignore: ["days", "town", "city"] });
  const nested = objectOf({
    page: objectOf({
      size: { default: { of: [10, 0] } },
      from: { type: "integer", default: null },
    }),
    shared: { $ref: "#/$defs/shared" },
  }, { $defs: { shared: { type: "integer", default: 7 } } });
  check([
    [{ page: { size: { of: [10, 0] } } }, { page: {} }, []],
    [{ page: { size: { of: [0, 10] } } }, { page: {} }, ["redundant /page/size"]],
    [{ shared: 7 }, {}, []],
    [{ shared: 8 }, {}, ["redundant /shared"]],
  ], { schema: nested });
});

Deno.test("viewCalls() finds nothing wrong with what assertions accept, and only with that", () => {
  const value = fc.letrec<{ value: JsonValue; right: ExpectedValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2, depthIdentifier: "value" },
      fc.constantFrom(1, 2),
      fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2 }),
      fc.array(tie("value"), { maxLength: 2 }),
    ),
    right: fc.oneof(
      { maxDepth: 2, depthIdentifier: "right" },
      fc.constantFrom(1, 2),
      fc.dictionary(fc.constantFrom("a", "b"), tie("right"), { maxKeys: 2 }),
      fc.array(tie("right"), { maxLength: 2 }),
      tie("right").map(optional),
      fc.tuple(tie("right"), tie("right")).map((both) => anyOf(...both)),
      fc.array(tie("right"), { maxLength: 2 }).map((all) => inAnyOrder(...all)),
    ),
  }));
  const keyed = <Value>(inner: fc.Arbitrary<Value>) =>
    fc.dictionary(fc.constantFrom("a", "b"), inner, { maxKeys: 2 });
  const call = fc.record({
    tool: fc.constant("tool"),
    arguments: keyed(value.right),
    match: fc.constantFrom("exact" as const, "partial" as const),
    ignore: fc.subarray(["a", "b.a", "a[*]", "[*].b", "b[*].a"], { maxLength: 2 }),
  }, { requiredKeys: ["tool"] });
  const seen = { right: 0, wrong: 0 };
  fc.assertAll(
    fc.property(keyed(value.value), call, (given, expected) => {
      const one = made(JSON.stringify(given));
      const [accepted, faultless] = [
        () => differencesOf(one, expected, undefined).length === 0,
        () => told(viewCalls([one], [expected], () => undefined)[0]!).length === 0,
      ].map((find) => {
        try {
          return find() ? "right" : "wrong";
        } catch (error) {
          assert(error instanceof InputError);
          return error.message;
        }
      });
      if (accepted === "right" || accepted === "wrong") seen[accepted]++;
      assertEquals(faultless, accepted);
    }),
    { numRuns: 1_200 },
  );
  assert(seen.right > 100 && seen.wrong > 100, JSON.stringify(seen));
});

Deno.test("viewCalls() refuses the field of expected calls that only assertions know", () => {
  for (const defaults of ["allowed", "refused"] as const) {
    assertThrows(
      () => viewCalls([], [{ tool: "book", defaults }], () => undefined),
      InputError,
      "Cannot expect a call of book as only assertions take defaults: failure types always accept a " +
        `default that is given, and never one that is left out; here it is ${defaults}`,
    );
  }
});

Deno.test("viewCalls() finds values that mismatch the specification, and never converts one (Butterfly 3)", () => {
  const table: [schema: JsonObject, right: JsonValue, wrong: JsonValue[]][] = [
    [{ type: "integer" }, 731, ["731", 7.5, null, true, [731], { of: 731 }]],
    [{ type: "number" }, 0.5, ["0.5", null]],
    [{ type: "boolean" }, true, ["true", 1, 0, null]],
    [{ type: "string" }, "x", [1, null, ["x"]]],
    [{ type: "null" }, null, ["", 0, "null"]],
    [{ type: ["string", "null"] }, null, [1]],
    [{ enum: ["C", "F", 1] }, "C", ["c", "K", "1", null]],
    [{ const: { a: 1 } }, { a: 1 }, [1, { a: 2 }]],
    [{ type: "integer", minimum: 1, maximum: 14 }, 3, [0, 15]],
    [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5, [0, 1]],
    [{ type: "integer", multipleOf: 5 }, 10, [11]],
    [{ type: "string", minLength: 2, maxLength: 3 }, "ab", ["a", "abcd", ""]],
    [{ type: "string", pattern: "^\\d{3}$" }, "731", ["73", "7310"]],
    [{ type: "array", minItems: 1, maxItems: 2, uniqueItems: true }, [1], [[], [1, 2, 3], [1, 1]]],
    [{ type: "array", contains: { type: "integer" } }, [1, "a"], [["a", "b"]]],
    [{ type: "object", minProperties: 1 }, { a: 1 }, [{}]],
    [{ not: { type: "string" } }, 1, ["x"]],
    [{ type: "string", format: "date" }, "2024-02-29", ["2023-02-29", "29.02.2024", "today", ""]],
    [{ type: "string", format: "date-time" }, "2024-02-29T12:00:00Z", ["2024-02-29"]],
    [{ type: "string", format: "email" }, "a@example.org", ["a@", "a example.org"]],
    [{ type: "string", format: "uri" }, "https://example.org", ["example.org"]],
    [{ type: "string", format: "url" }, "https://example.org", ["example", "http://"]],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, 1, ["1"]],
    [{ anyOf: [{ format: "date" }, { format: "email" }] }, "2024-01-01", ["x"]],
    [{ oneOf: [{ type: "integer" }, { minimum: 5 }] }, 3, [7]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 1, [3]],
    [{ if: { type: "string" }, then: { minLength: 2 } }, "ab", ["a"]],
    [{ if: { type: "string" }, then: false }, 1, ["a"]],
    [{ $ref: "#/$defs/d" }, 1, ["1"]],
  ];
  const $defs = { d: { type: "integer" } };
  for (const [x, right, wrong] of table) {
    const schema = objectOf({ x }, JSON.stringify(x).includes("$defs") ? { $defs } : {});
    check([[{ x: right }, { x: right }, []]], { schema });
    for (const one of wrong) {
      const mismatch = ["specification /x"];
      // It is one beside any expected call, and beside none.
      check([[{ x: one }, { x: right }, mismatch], [{ x: one }, { x: one }, mismatch]], { schema });
      check([[{ x: one }, {}, mismatch]], { schema });
      assertEquals(told(lone({ x: one }, schema)), mismatch);
    }
  }
});

Deno.test("viewCalls() passes over formats that it does not know, in silence", () => {
  const { warn } = console;
  const warnings: unknown[] = [];
  console.warn = (...words) => warnings.push(words);
  try {
    const schema = objectOf({ x: { type: "string", format: "made-up" } });
    check([[{ x: "anything" }, { x: "anything" }, []]], { schema });
  } finally {
    console.warn = warn;
  }
  assertEquals(warnings, []);
});

Deno.test("viewCalls() tells mismatches where they are, and each parameter once", () => {
  check([
    [{ city: 1, days: 99 }, { ...PARIS, days: 3 }, ["specification /city", "specification /days"]],
    [{ ...PARIS, address: "here" }, { ...PARIS, address: { zip: 1 } }, ["specification /address"]],
    [{ ...PARIS, address: { zip: "1" } }, { ...PARIS, address: { zip: 1 } }, [
      "specification /address/zip",
    ]],
    [{ ...PARIS, tags: ["a", 1] }, { ...PARIS, tags: ["a", "1"] }, ["specification /tags/1"]],
    [{ ...PARIS, tags: ["b", 1] }, { ...PARIS, tags: ["a", "1"] }, [
      "specification /tags/1",
      "task /tags",
    ]],
    [{ ...PARIS, tags: ["a", "b", "c", "d"] }, { ...PARIS, tags: ["a"] }, ["specification /tags"]],
    [{ ...PARIS, labels: { a: 1 } }, { ...PARIS, labels: { a: "1" } }, ["specification /labels/a"]],
  ], { schema: FORECAST });
});

Deno.test("viewCalls() tells what keeps a value from the likeliest of several alternatives", () => {
  const kind = (name: string, properties: JsonObject) =>
    objectOf({ kind: { const: name }, ...properties }, {
      required: ["kind", ...Object.keys(properties)],
    });
  const circle = kind("circle", { r: { type: "number" } });
  const box = kind("box", { w: { type: "number" }, h: { type: "number" } });
  const disk = kind("disk", { r: { type: "string" } });
  const $defs = { disk, circle, box };
  const named: JsonObject[] = [{ $ref: "#/$defs/disk" }, { $ref: "#/$defs/circle" }, {
    $ref: "#/$defs/box",
  }, {
    type: "null",
  }];
  for (const keyword of ["anyOf", "oneOf"]) {
    for (const alternatives of [named, [disk, circle, box, { type: "null" }]]) {
      const schema = objectOf({
        // Errors of what stands beside are not taken for those of the alternatives.
        name: { type: "string" },
        shape: { [keyword]: alternatives },
        all: { type: "array", items: { [keyword]: alternatives } },
      }, { $defs });
      check([
        [{ shape: null }, { shape: null }, []],
        [{ shape: "box" }, { shape: "box" }, ["specification /shape"]],
        [{ shape: { kind: "circle", r: "1" } }, { shape: { kind: "circle", r: 1 } }, [
          "specification /shape/r",
        ]],
        [{ shape: { kind: "box", w: 1 } }, { shape: { kind: "box", w: 1, h: 2 } }, [
          "missing /shape/h",
        ]],
        [{ shape: { kind: "box", w: 1, h: null } }, { shape: { kind: "box", w: 2, h: 3 } }, [
          "specification /shape/h",
          "task /shape/w",
        ]],
        [{ name: 1, shape: { kind: "box", w: "1", h: 1 } }, {
          name: "n",
          shape: { kind: "box", w: 1, h: 1 },
        }, ["specification /name", "specification /shape/w"]],
        [{ all: [{ kind: "circle", r: "1" }, { kind: "box", w: 1, h: "" }] }, {}, [
          "redundant /all",
          "specification /all/0/r",
          "specification /all/1/h",
        ]],
      ], { schema });
    }
  }
  const either = [
    objectOf({ a: {} }, { required: ["a"] }),
    objectOf({ b: { type: "integer" } }, { required: ["b"] }),
  ];
  check([[{ x: { b: "1" } }, { x: { b: 1 } }, ["specification /x/b"]]], {
    schema: objectOf({ x: { anyOf: either } }),
  });
  const deep = objectOf({ b: objectOf({ c: { type: "integer" }, d: { type: "integer" } }) });
  check([[{ x: { b: { c: "", d: "" } } }, {}, [
    "redundant /x",
    "specification /x/b/c",
    "specification /x/b/d",
  ]]], { schema: objectOf({ x: { anyOf: [{ type: "string" }, deep] } }) });
  const needs = { anyOf: [{ required: ["a"] }, { required: ["b"] }] };
  check([[{}, { b: 1 }, ["missing /a", "missing /b"]], [{ b: 1 }, { b: 1 }, []]], {
    schema: objectOf({ a: {}, b: {} }, needs),
  });
});

Deno.test("viewCalls() finds values that deviate from the task, at the deepest key, lists as a whole (Butterfly 3)", () => {
  const right = {
    ...PARIS,
    days: 3,
    address: { street: "Rue 1", zip: 75 },
    tags: ["a", "b"],
    points: [{ x: 1 }],
  };
  const without = (changes: JsonObject) => ({ ...right, ...changes });
  check([
    [right, right, []],
    [without({ city: "paris", days: 4 }), right, ["task /city", "task /days"]],
    [without({ address: { zip: 75, street: "Rue 1" } }), right, []],
    [without({ tags: ["b", "a"] }), right, ["task /tags"]],
    [without({ tags: [] }), right, ["task /tags"]],
    [{ days: 3.0, city: "Paris" }, { city: "Paris", days: JSON.parse("3e0") }, []],
  ], { schema: FORECAST });
  const even = matching((value) => Number(value) % 2 === 0, "an even number");
  check([
    [without({ city: "Rome" }), { ...right, city: anyOf("Rome", "Roma") }, []],
    [without({ days: 5 }), { ...right, days: even }, ["task /days"]],
    [without({ days: "4" }), { ...right, days: even }, ["specification /days"]],
    [right, { ...right, address: { street: anything(), zip: even } }, ["task /address/zip"]],
    [right, { ...right, address: anyOf({ zip: 1 }) }, ["task /address"]],
    [without({ address: { zip: 75, no: 1 } }), { ...right, address: anyOf({ zip: 75 }) }, [
      "hallucination /address/no",
    ]],
    [right, { ...right, tags: ["a", anyOf("c")] }, ["task /tags"]],
  ], { schema: FORECAST });
});

Deno.test("viewCalls() takes values that break a rule of the description for mismatches (Butterfly 3, A.4)", () => {
  const region = { type: "string", description: "The region, as an abbreviation such as AU." };
  const trends = objectOf({ query: { type: "string" }, region });
  const bitcoin = { query: "Bitcoin" };
  check([
    // Fig. 1: the form of the value is wrong, or only the country is.
    [{ ...bitcoin, region: "Australia" }, { ...bitcoin, region: "AU" }, ["specification /region"]],
    [{ ...bitcoin, region: "US" }, { ...bitcoin, region: "AU" }, ["task /region"]],
    // Fig. 5: the task names no region. That the tool takes none, no document says.
    [{ ...bitcoin, region: "worldwide" }, bitcoin, ["specification /region"]],
    [{ ...bitcoin, region: "US" }, bitcoin, ["redundant /region"]],
    // What is right is never blamed, and shows that a rule was misread.
    [{ ...bitcoin, region: "Australia" }, { ...bitcoin, region: "Australia" }, []],
    [{ ...bitcoin, region: "Austria" }, { ...bitcoin, region: "Australia" }, ["task /region"]],
  ], { schema: trends });
  const table: [
    description: string,
    right: JsonValue,
    mismatches: JsonValue[],
    others: JsonValue[],
  ][] = [
    ["Sort order: one of asc, desc.", "asc", ["ascending"], ["desc"]],
    ["Must be 'day' or 'week'", "day", ["month"], ["week"]],
    ['Allowed values are "a b", "c"', "c", ["a"], ["a b"]],
    ["Either of the two", "one", [], ["x y z"]],
    ["Can be any of these colours, such as 'red' or 'blue'", "red", [], ["green"]],
    ["One of red, blue, etc.", "red", [], ["green"]],
    ["Number of results, between 1 and 50", 3, [0, 51], [4, 50]],
    ["Results (1-1,000)", 3, [1001], [1000]],
    ["At least 5, at most 9", 7, [4, 10], [5, 9]],
    ["Must not exceed 100. Default 10.", 7, [101], [100]],
    ["A positive integer", 7, [0, -1], [1]],
    ["Usually between 1 and 5", 3, [], [9]],
    ["Between 2 and 4 characters", "abc", ["a", "abcde"], ["ab"]],
    ["Two-letter country code (ISO 3166-1 alpha-2)", "AU", ["AUS", "A1"], ["us"]],
    ["Currency (ISO 4217)", "EUR", ["euro"], ["USD"]],
    ["Currency, ISO 4217 or its name", "EUR", [], ["euro"]],
    ["The date, YYYY-MM-DD", "2024-01-02", ["02.01.2024", "tomorrow"], ["2024-01-03"]],
    ["DD/MM/YYYY or YYYY-MM-DD", "2024-01-02", ["2024"], ["02/01/2024"]],
    ["Start (ISO 8601)", "2024-01-02T10:00:00Z", ["Jan 2"], ["2024-01-02"]],
    ["E-mail address of the guest", "a@example.org", ["Ann"], ["b@example.org"]],
    ["Exactly 5 digits", "12345", ["1234"], ["54321"]],
  ];
  for (const [description, right, mismatches, others] of table) {
    const schema = objectOf({ x: { description } });
    const rows = (values: readonly JsonValue[], type: string) =>
      values.map((x): [JsonValue, Expected, string[]] => [{ x }, { x: right }, [`${type} /x`]]);
    check([...rows(mismatches, "specification"), ...rows(others, "task")], { schema });
  }
});

Deno.test("viewCalls() takes what the task says in the wrong parameter for a deviation (Butterfly 3, A.4)", () => {
  const arxiv = objectOf({
    search_query: { type: "string" },
    id_list: { type: "string" },
    max_results: { type: "integer", default: 10 },
    tags: { type: "array" },
  });
  const search = { search_query: "astrophysics dark matter" };
  const three = { ...search, max_results: 3 };
  check([
    [{ ...search, id_list: "0,1,2,3" }, three, ["missing /max_results", "task /id_list"]],
    [{ ...search, tags: [{ x: 3 }] }, three, ["missing /max_results", "task /tags"]],
    [{ id_list: "Astrophysics, dark matter" }, search, ["missing /search_query", "task /id_list"]],
    // Another value, and one beside all that is expected, was added only.
    [{ ...search, id_list: "0,1,2,33" }, three, ["missing /max_results", "redundant /id_list"]],
    [{ ...three, id_list: "0,1,2,3" }, three, ["redundant /id_list"]],
    [{ id_list: "" }, { search_query: "" }, ["missing /search_query", "redundant /id_list"]],
  ], { schema: arxiv });
  // Fig. 7: nothing is missing.
  const jobs = objectOf({ query: { type: "string" }, gl: { type: "string" } });
  const tech = { query: "tech industry" };
  check([[{ ...tech, gl: "us" }, tech, ["redundant /gl"]]], { schema: jobs });
});

Deno.test("viewCalls() leaves undecided what needs a schema", () => {
  const right = { a: 1, b: { c: "x", d: [1, { e: 2 }] } };
  const without = (changes: JsonObject) => ({ ...right, ...changes });
  check([
    [right, right, []],
    [{ a: 1 }, right, ["missing /b"]],
    [without({ a: "1" }), right, ["specification or task /a"]],
    [without({ b: 1 }), right, ["specification or task /b"]],
    [without({ f: 1 }), right, ["hallucination or redundant /f"]],
    [without({ b: { c: "x", d: [1, { e: 2, g: 3 }] } }), right, [
      "hallucination or redundant /b/d/1/g",
    ]],
    [without({ a: 7 }), { ...right, a: anyOf(6, 7) }, []],
  ], {});
  check([[without({ f: 1 }), right, []], [{ b: right.b }, right, []]], { ignore: ["f", "a"] });
  assertEquals("undecided" in view(right, right), false);
  assertEquals("undecided" in view({}, right), false);
});

Deno.test("viewCalls() finds one mismatch in arguments that are of no use", () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const broken = ["", "{", "[]", "null", "7", '"{}"', "{}{}", "{'a':1}", '{"a":NaN}'];
  for (const text of [...broken, deep(501), deep(100_000), "[".repeat(100_000)]) {
    const calls = [made(text)];
    const expected = [{ tool: "tool", arguments: { a: 1 } }];
    const schemas = [{ type: "object" }, undefined];
    for (const schema of schemas) {
      const [only] = viewCalls(calls, expected, () => schema);
      assertEquals([told(only!), only!.oracle], [["specification "], 1], text.slice(0, 20));
    }
    const alone = schemas.map((schema) => told(viewCalls(calls, [], () => schema)[0]!));
    assertEquals(alone, [["specification "], []]);
  }
  const [whole] = viewCalls(
    [made(deep(500))],
    [{ tool: "tool", arguments: JSON.parse(deep(500)) }],
    () => ({ type: "object", properties: { a: { $ref: "#" } } }),
  );
  // A number is no object, but its schema does not ask for one below.
  assertEquals(told(whole!), [`specification ${"/a".repeat(250)}`]);
});

Deno.test("viewCalls() takes any nesting of what is expected", () => {
  const levels = 5_000;
  const x = JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
  assertEquals(view({}, { x }).failures, [
    { type: "missing_information", parameter: "/x", expected: "…" },
  ]);
  assertEquals(told(view({ x: { a: { a: 1 } } }, { x })), ["specification or task /x/a/a"]);
});

Deno.test("viewCalls() holds each call against the one that it is aligned with, and its own schema (Butterfly 4, 5.2)", () => {
  const schemas = new Map([["forecast", FORECAST], ["locate", objectOf({ name: {} })]]);
  const calls: [string, JsonValue][] = [
    ["nothing", { x: 1 }],
    ["locate", { name: "Seine" }],
    ["forecast", { city: "Rome" }],
    ["forecast", { city: "Paris", days: 3 }],
    ["__proto__", {}],
  ];
  const views = viewCalls(
    calls.map(([tool, given]) => made(JSON.stringify(given), tool)),
    [
      { tool: "locate", arguments: { name: "Paris" } },
      { tool: "search", arguments: {} },
      { tool: "forecast", arguments: { city: "Paris", days: 4 } },
    ],
    (tool) => schemas.get(tool),
  );
  assertEquals(views.map((one) => [one.oracle, ...told(one)]), [
    [null],
    [1, "task /name"],
    [null],
    [3, "task /days"],
    [null],
  ]);
  assertEquals(viewCalls([], [{ tool: "a", arguments: {} }], () => undefined), []);
});

Deno.test("viewCalls() keeps what was given, what is right, and how alike they are", () => {
  const schema = objectOf({
    city: { type: "string", maxLength: 30 },
    days: { type: "integer" },
    on: { type: "boolean" },
    tags: { type: "array" },
  }, { required: ["on"] });
  const failure = (given: JsonObject, expected: Expected) => {
    const { failures } = view({ on: true, ...given }, { on: true, ...expected }, { schema });
    assertEquals(failures.length, 1);
    const { type: _, parameter: __, ...rest } = failures[0]!;
    return rest;
  };
  const three = "the cat sat";
  const table: [JsonObject, Expected, unknown][] = [
    [{ city: three }, { city: "the cat" }, { given: three, expected: "the cat", similarity: 0.8 }],
    [{ city: 7 }, { city: "the cat" }, { given: 7, expected: "the cat" }],
    [{ days: three }, { days: 7 }, { given: three, expected: 7 }],
    [{ town: "a" }, { town: "b" }, { given: "a", expected: "b" }],
    [{ city: "a" }, {}, { given: "a" }],
    [{}, { city: three }, { expected: three }],
    [{ city: `${three} ${"x".repeat(30)}` }, { city: three }, {
      given: `${three} ${"x".repeat(30)}`,
      expected: three,
      similarity: 6 / 7,
    }],
    [{ city: three }, { city: anyOf("cat", "the cat", 7) }, {
      given: three,
      expected: 'any of "cat", "the cat", 7',
      similarity: 0.8,
    }],
    [{ city: three }, { city: matching(() => false, "nothing") }, {
      given: three,
      expected: "nothing",
    }],
    [{ tags: ["a", 1] }, { tags: ["a", anyOf(2, 3)] }, {
      given: ["a", 1],
      expected: ["a", "any of 2, 3"],
    }],
  ];
  for (const [given, expected, kept] of table) {
    assertEquals<unknown>(failure(given, expected), kept, JSON.stringify(given));
  }
  assertEquals(view({ city: "a" }, { on: true, city: "a" }, { schema }).failures, [
    { type: "missing_information", parameter: "/on", expected: true },
  ]);
  const odd = objectOf({ "a/b~c": { type: "integer" } });
  assertEquals(view({ "a/b~c": "1" }, { "a/b~c": 1 }, { schema: odd }).failures, [
    { type: "specification_mismatch", parameter: "/a~1b~0c", given: "1", expected: 1 },
  ]);
  const long = matching(() => false, "y".repeat(1_000));
  assertEquals(failure({ days: 1 }, { days: long }), { given: 1, expected: long.description });
  const [broken] = viewCalls(
    [made("{broken", "t")],
    [{ tool: "t", arguments: {} }],
    () => schema,
  );
  assertEquals(broken!.failures, [
    { type: "specification_mismatch", parameter: "", given: "{broken" },
  ]);
});

Deno.test("viewCalls() keeps only so much of what a model writes", () => {
  const schema = objectOf({ text: { type: "string" }, tags: { type: "array" } });
  const given = (changes: JsonObject) => {
    const { failures } = view({ ...changes }, { text: "x", tags: [] }, { schema });
    return failures.find(({ type }) => type === "task_deviation")!.given;
  };
  assertEquals(given({ text: "y".repeat(198) }), "y".repeat(198));
  assertEquals(given({ text: "y".repeat(199) }), `${"y".repeat(199)}…`);
  assertEquals(given({ text: "y".repeat(1e6) }), `${"y".repeat(199)}…`);
  assertEquals(given({ text: `${"y".repeat(198)}😀😀` }), `${"y".repeat(198)}…`);
  assertEquals(given({ tags: new Array(99).fill(1) }), new Array(99).fill(1));
  assertEquals(given({ tags: new Array(100).fill(1) }), `[${"1,".repeat(99)}…`);
  const long = "n".repeat(1_000);
  const names = view({ [long]: 1, [`${long}2`]: 2 }, {}, { schema });
  assertEquals(names.failures.map(({ parameter }) => parameter), [
    `/${"n".repeat(100)}`,
    `/${"n".repeat(100)}`,
  ]);
  let nested: JsonObject = { zip: 1 };
  for (let level = 0; level < 50; level++) nested = { [`${level}${"k".repeat(30)}`]: nested };
  const paths = view(nested, { x: 1 }).undecided ?? [];
  assert(paths.every(({ parameter }) => parameter.length <= 500));
  assert(view({}, { x: long }).failures.every(({ expected }) => String(expected).length === 200));
});

Deno.test("viewCalls() keeps at most 50 failures of a call, and each type that there is", () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`made_up_${n}`, n]));
  const right = { ...PARIS, days: 3, address: { zip: 1 } };
  const { failures } = view(
    { ...many, days: 4, address: { zip: "1" }, mail: "a@example.org" },
    right,
    {
      schema: FORECAST,
    },
  );
  assertEquals(failures.length, 50);
  assertEquals([...new Set(failures.map(({ type }) => type))], [...PARAMETER_FAILURE_TYPES]);
  const { undecided, failures: none } = view(many, {});
  assertEquals([undecided?.length, none], [50, []]);
});

Deno.test("viewCalls() keeps names of Object.prototype, numbers as names, and broken characters apart", () => {
  const properties = JSON.parse('{"__proto__":{"type":"integer"},"constructor":{},"7":{}}');
  const right = JSON.parse('{"__proto__":1,"constructor":2,"7":3,"\\ud800":4}');
  const schema = objectOf({ ...properties, "\ud800": {} }, { required: ["__proto__"] });
  Object.defineProperty(schema["properties"], "__proto__", {
    value: { type: "integer" },
    enumerable: true,
  });
  check([
    [right, right, []],
    [JSON.parse('{"__proto__":{"a":1},"constructor":2,"7":3,"\\ud800":4}'), right, [
      "specification /__proto__",
    ]],
    [{}, right, ["missing /__proto__", "missing /constructor", "missing /7", "missing /\ud800"]],
  ], { schema });
  check([[JSON.parse('{"__proto__":1}'), {}, ["hallucination /__proto__"]]], {
    schema: objectOf({ x: {} }),
  });
});

Deno.test("viewCalls() refuses what is no schema, wherever in it that is", () => {
  for (
    const schema of [
      { type: "strin" },
      objectOf({ x: { type: "strin" } }),
      objectOf({ x: { $ref: "#/no" } }),
      objectOf({ x: 1 }),
      objectOf({}, { required: "x" }),
      objectOf({ x: { pattern: "(" } }),
    ]
  ) {
    const error = assertThrows(() => view({}, {}, { schema: schema as JsonObject }), InputError);
    assertStringIncludes(error.message, "must be a JSON Schema");
  }
  // One that refers to itself takes nothing, as where calls are refused.
  assertEquals(told(view({ x: 1 }, { x: 1 }, { schema: { $ref: "#" } })), ["specification "]);
});

Deno.test("viewCalls() comes to an end with hostile texts and lists", () => {
  const url = objectOf({ x: { type: "string", format: "url" } });
  for (const x of [`http://a${":".repeat(1e6)}`, `http://example.org/${"a".repeat(2_000)}`]) {
    check([[{ x }, { x }, ["specification /x"]]], { schema: url });
  }
  const items = { anyOf: [ADDRESS, { type: "null" }] };
  const schema = objectOf({ x: { anyOf: [{ type: "array", items }, { type: "null" }] } });
  const { failures } = view({ x: new Array(20_000).fill("") }, { x: [] }, { schema });
  assertEquals([failures.length, failures[0]?.parameter], [50, "/x/0"]);
});

Deno.test("rougeL() compares texts by their words in order, in any case (Butterfly 5.2)", () => {
  const table: [string, string, number][] = [
    ["the cat sat", "the cat sat", 1],
    ["the cat sat", "the cat", 0.8],
    ["cat the", "the cat", 0.5],
    ["a b c d", "a x c y", 0.5],
    ["Paris, France", "Paris", 0.5],
    ["Paris", "paris", 1],
    ["ÅNGSTRÖM Street", "ångström street 5", 0.8],
    ["the cats", "the cat", 0.5],
    ["東京都", "東京", 0],
    ["2024-01-02", "2024-01-03", 0],
    ["", "", 1],
    [" ", " ", 1],
    ["", " ", 0],
    ["\u0085", "a", 0],
    ["\ud800", "a", 0],
    ["First b. Second d.", "Second d. First b.", 0.4],
  ];
  for (const [one, other, score] of table) {
    assert(Math.abs(rougeL(one, other) - score) < 1e-9, `${one} | ${other}: ${rougeL(one, other)}`);
  }
  assertEquals(rougeL("a ".repeat(2_000), `${"a ".repeat(1_000)}${"b ".repeat(1_000)}`), 1);
  // As many sentences as these are more than the library compares.
  assert(rougeL("A. ".repeat(600), `${"A. ".repeat(600)}b`) > 0.99);
  for (const part of ["a. ", "'", '"', "''", ".'", "can't ", "’", "\n"]) {
    const score = rougeL(part.repeat(50_000), part.repeat(2_000).slice(1));
    assert(score >= 0 && score <= 1 + 1e-9, `${part}: ${score}`);
  }
});

Deno.test("PARAMETER_VIEW reads what viewCalls() gives, and more", () => {
  for (const one of [view({ a: 1, b: 2 }, { a: 2, c: null }), lone(PARIS, FORECAST)]) {
    const later = { ...one, later: 1 };
    assertEquals<unknown>(PARAMETER_VIEW.parse(JSON.parse(JSON.stringify(later))), later);
  }
  for (
    const wrong of [
      {},
      { oracle: 0, failures: [] },
      { oracle: 1 },
      { oracle: 1, failures: [{ type: "other", parameter: "/x" }] },
      { oracle: 1, failures: [{ type: "task_deviation" }] },
      { oracle: 1, failures: [], undecided: [{ parameter: "/x" }] },
    ]
  ) assert(!PARAMETER_VIEW.safeParse(wrong).success, JSON.stringify(wrong));
});

/** Where something can be changed in a value. */
interface Site {
  /** The keys and indexes that lead there. */
  readonly path: readonly (string | number)[];
  /** Another value that conforms, where there is one; objects have none. */
  readonly other?: JsonValue;
}

interface Sample {
  readonly schema: JsonObject;
  readonly value: JsonValue;
  readonly sites: readonly Site[];
}

const leaf = (schema: JsonObject, value: JsonValue, other: JsonValue): Sample => ({
  schema,
  value,
  sites: [{ path: [], other }],
});

const two = <T>(values: fc.Arbitrary<T>) => fc.tuple(values, values).filter(([a, b]) => a !== b);

const NAMES = ["a", "b~/", "toString", "constructor", "7", "é"];

/** A schema, and a value that is valid by it. */
const { object } = fc.letrec<{ sample: Sample; object: Sample; list: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    two(fc.integer({ min: 1, max: 14 })).map(([value, other]) =>
      leaf({ type: "integer", minimum: 1, maximum: 14 }, value, other)
    ),
    two(fc.string()).map(([value, other]) => leaf({ type: "string" }, value, other)),
    two(fc.constantFrom("red", "green")).map(([value, other]) =>
      leaf({ enum: ["red", "green"] }, value, other)
    ),
    two(fc.integer({ min: 10, max: 28 })).map(([day, other]) =>
      leaf({ type: "string", format: "date" }, `2024-02-${day}`, `2024-02-${other}`)
    ),
    fc.boolean().map((value) => leaf({ type: ["boolean", "null"] }, value, null)),
    { weight: 4, arbitrary: tie("object") },
    { weight: 2, arbitrary: tie("list") },
    tie("sample").map(({ schema, ...rest }) => ({
      schema: { anyOf: [schema, { type: "null" }] },
      ...rest,
    })),
  ),
  list: fc.tuple(tie("sample"), fc.nat({ max: 3 })).map(([{ schema, value, sites }, size]) => ({
    schema: { type: "array", items: schema },
    value: new Array(size).fill(value),
    sites: Array.from(
      { length: size },
      (_, index) => sites.map(({ path, ...rest }) => ({ path: [index, ...path], ...rest })),
    ).flat(),
  })),
  object: fc.tuple(
    fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie("sample"), fc.boolean()), {
      selector: ([name]) => name,
      maxLength: 4,
    }),
    fc.boolean(),
  ).map(([all, closed]) => ({
    schema: objectOf(Object.fromEntries(all.map(([name, { schema }]) => [name, schema])), {
      required: all.flatMap(([name, _, required]) => required ? [name] : []),
      ...(closed ? { additionalProperties: false } : {}),
    }),
    value: Object.fromEntries(all.map(([name, { value }]) => [name, value])),
    sites: [
      { path: [] },
      ...all.flatMap(([name, { sites }]) =>
        sites.map(({ path, ...rest }) => ({ path: [name, ...path], ...rest }))
      ),
    ],
  })),
}));

type Parent = Record<string | number, JsonValue>;

/** A copy in which something was done where a path leads. */
function changed(
  value: JsonValue,
  path: Site["path"],
  change: (parent: Parent, key: string | number) => void,
): JsonObject {
  // Items of a list may be one and the same.
  const copy: Parent = JSON.parse(JSON.stringify({ value }));
  const all = ["value", ...path];
  const parent = all.slice(0, -1).reduce<JsonValue>(
    (inner, key) => (inner as Parent)[key]!,
    copy,
  );
  change(parent as Parent, all.at(-1)!);
  return copy["value"] as JsonObject;
}

const toPointer = (path: Site["path"]) =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

Deno.test("viewCalls() finds nothing in a right call, and exactly what was done to it in others (Butterfly 3, 5.2)", () => {
  const done = { missing: 0, hallucination: 0, task: 0, nested: 0 };
  fc.assertAll(
    fc.property(object, fc.boolean(), fc.nat(), ({ schema: own, value, sites }, whole, pick) => {
      // With a keyword of no meaning, the schema is not taken apart.
      const schema = whole ? { ...own, $comment: "" } : own;
      const right = value as JsonObject;
      const outcome = (given: JsonObject) => told(view(given, right, { schema }));
      const refusal = argumentCheck({ name: "t", description: "", parameters: schema })(right);
      assertEquals(refusal, undefined, "the sample is wrong");
      assertEquals(outcome(right), []);
      assertEquals(told(lone(right, schema)), []);

      const chosen = (some: readonly Site[]) => some[pick % Math.max(1, some.length)];
      const dropped = chosen(sites.filter(({ path }) => typeof path.at(-1) === "string"));
      if (dropped !== undefined) {
        const { path } = dropped;
        const given = changed(right, path, (parent, key) => delete parent[key]);
        assertEquals(outcome(given), [`missing ${toPointer(path)}`]);
        done.missing++;
        if (path.length > 1) done.nested++;
      }

      const { path: place } = chosen(sites.filter(({ other }) => other === undefined))!;
      const added = changed(right, place, (parent, key) => {
        (parent[key] as JsonObject)["made up"] = pick;
      });
      assertEquals(outcome(added), [`hallucination ${toPointer([...place, "made up"])}`]);
      done.hallucination++;

      const other = chosen(sites.filter((site) => site.other !== undefined));
      if (other !== undefined) {
        const { path } = other;
        const given = changed(right, path, (parent, key) => {
          parent[key] = other.other!;
        });
        const list = path.findIndex((key) => typeof key === "number");
        const where = list < 0 ? path : path.slice(0, list);
        assertEquals(outcome(given), [`task ${toPointer(where)}`]);
        assertEquals(told(view(given, right)), [`specification or task ${toPointer(where)}`]);
        done.task++;
      }
    }),
    { numRuns: 70 },
  );
  assert(Math.min(...Object.values(done)) > 12, JSON.stringify(done));
});
