import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { anything, optional } from "../../lib/calls/expected/matchers.ts";
import {
  checkSchema,
  checkValues,
  FAILURE_TYPES,
  type FailureCause,
  FAILURES,
  functionNotFound,
  type Knowledge,
} from "../../lib/calls/failure_types.ts";
import { impossibleFailures } from "../../lib/calls/impossible_failures.ts";
import { rougeL } from "../../lib/calls/values/_rouge.ts";
import type { ExpectedCall } from "../../lib/tools/expected_call.ts";
import type { SchemaFault } from "../../lib/tools/tool.ts";
import fc from "../support/fast_check.ts";
import { TASK } from "../support/handmade.ts";

const TARGET = TASK.functions.find(({ name }) => name === "func_tgt")!;
const SOURCE = TASK.functions.find(({ name }) => name === "func_src")!;

/** Arguments as a model writes them. */
function textOf(written: string | JsonObject): string {
  return typeof written === "string" ? written : JSON.stringify(written);
}

Deno.test("FAILURE_TYPES are the paper's, in the order of its predicates (FuncBenchGen 4.6)", () => {
  assertEquals(FAILURE_TYPES.filter((type) => FAILURES[type].of !== "chain"), [
    "function_not_found",
    "wrong_number_of_inputs",
    "value_not_yet_known",
    "incorrect_value",
  ]);
});

Deno.test("functionNotFound() tells the nearest existing name", () => {
  const names = ["func_abc", "func_abd", "func_xyz"];
  const table: [string, string][] = [
    ["func_xy", "func_xyz"],
    ["func_abd ", "func_abd"],
    ["Func_xyz", "func_xyz"],
    ["functions.func_abc", "func_abc"],
    ["", "func_abc"],
  ];
  for (const [name, nearest] of table) {
    const expected: FailureCause = { type: "function_not_found", detail: { nearest } };
    assertEquals(functionNotFound(name, names), expected, name);
  }
  for (const name of ["__proto__", "constructor", "\ud800"]) {
    const { detail } = functionNotFound(name, names);
    assert("nearest" in detail && names.includes(detail.nearest!));
  }
});

Deno.test("functionNotFound() takes the first of names that are equally near", () => {
  const { detail } = functionNotFound("func_a", ["func_b", "func_c"]);
  assertEquals(detail, { nearest: "func_b" });
});

Deno.test("functionNotFound() has no nearest name where there is none, or no likeness to look for", () => {
  assertEquals(functionNotFound("func_a", []).detail, { nearest: null });
  assertEquals(functionNotFound("x".repeat(101), ["func_a"]).detail, { nearest: null });
  assertEquals(functionNotFound("x".repeat(100), ["func_a"]).detail, { nearest: "func_a" });
});

const WELL = { missing: [], unexpected: [], wrongType: [], malformed: false };

function assertFault(written: string | JsonObject, fault: Partial<SchemaFault>, of = TARGET): void {
  const expected = { type: "wrong_number_of_inputs", detail: { ...WELL, ...fault } };
  assertEquals<unknown>(checkSchema(of, textOf(written)), expected, textOf(written));
}

Deno.test("checkSchema() takes every JSON form of a whole number", () => {
  for (
    const [text, value] of [
      ["731", 731],
      ["731.0", 731],
      ["7.31e2", 731],
      ["-5", -5],
      ["0", 0],
      ["9007199254740991", 2 ** 53 - 1],
    ] as const
  ) {
    assertEquals(checkSchema(SOURCE, `{"given":${text}}`), { values: [value], coerced: [] });
  }
});

Deno.test("checkSchema() takes whole numbers written as text if nothing is lost, and marks them", () => {
  for (const value of [731, 0, -731, 2 ** 53 - 1, -(2 ** 53 - 1)]) {
    assertEquals(checkSchema(SOURCE, textOf({ given: String(value) })), {
      values: [value],
      coerced: ["given"],
    });
  }
  assertEquals(checkSchema(TARGET, textOf({ one: 1, two: "2" })), {
    values: [1, 2],
    coerced: ["two"],
  });
});

Deno.test("checkSchema() refuses texts that are no whole number, or lose something of one", () => {
  for (
    const text of [
      ...["0731", "731.0", "1e3", " 731", "731 ", "731\n", "+731", "--1", "7_31", "1,731", "0x2db"],
      ...["731n", "", " ", "-", "-01", "-0", "٧٣١", "９", "9007199254740992", "NaN", "Infinity"],
      ...["alpha", "true"],
    ]
  ) assertFault({ given: text }, { wrongType: ["given"] }, SOURCE);
});

Deno.test("checkSchema() refuses every value that is no whole number", () => {
  for (
    const value of ["1.5", "1e999", "9007199254740992", "true", "null", "[731]", '{"a":1}', "[]"]
  ) {
    assertFault(`{"given":${value}}`, { wrongType: ["given"] }, SOURCE);
  }
  for (const given of [NaN, Infinity, 0.1]) {
    assertFault({ given }, { wrongType: ["given"] }, SOURCE);
  }
});

Deno.test("checkSchema() tells what is missing, unexpected and of a wrong type, all at once (FuncBenchGen 4.6)", () => {
  assertFault("{}", { missing: ["one", "two"] });
  assertFault('{"one":1}', { missing: ["two"] });
  assertFault('{"one":1,"two":2,"b":3,"a":4}', { unexpected: ["b", "a"] });
  assertFault('{"two":null,"three":3}', {
    missing: ["one"],
    unexpected: ["three"],
    wrongType: ["two"],
  });
  assertFault({ one: 1, two: undefined } as unknown as JsonObject, { missing: ["two"] });
});

Deno.test("checkSchema() calls arguments malformed that do not parse to an object", () => {
  for (
    const text of ["", " ", "{", "[]", "[1,2]", "null", "731", "true", '"x"', "{'one':1}", "NaN"]
      .concat('{"one":1,}', "{one:1}", '{"one":1}{"two":2}', "undefined", '```{"one":1}```')
  ) assertFault(text, { malformed: true });
});

Deno.test("checkSchema() takes the last of two equal keys, as JSON parsers do", () => {
  assertEquals(checkSchema(SOURCE, '{"given":1,"given":2}'), { values: [2], coerced: [] });
});

Deno.test("checkSchema() is not fooled by names that objects inherit", () => {
  for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    assertFault(`{"given":1,"${key}":2}`, { unexpected: [key] }, SOURCE);
    const made = { ...SOURCE, parameters: [{ ...SOURCE.parameters[0]!, name: key }] };
    assertFault("{}", { missing: [key] }, made);
    assertEquals(checkSchema(made, `{"${key}":2}`), { values: [2], coerced: [] });
  }
  assertFault(
    '{"__proto__":{"given":731}}',
    { missing: ["given"], unexpected: ["__proto__"] },
    SOURCE,
  );
});

const NOTHING: Knowledge = {
  isEstablished: () => false,
  ownerOf: () => undefined,
  wrongReturn: () => undefined,
};

function check(values: number[], known: Partial<Knowledge>): FailureCause | undefined {
  return checkValues(TARGET, values, TASK.values, { ...NOTHING, ...known });
}

Deno.test("checkValues() prefers a wrong return to another variable as origin, and asks rightly", () => {
  const asked: unknown[] = [];
  const failure = check([7, 8], {
    wrongReturn: (value, variable) => {
      asked.push([value, variable]);
      return value === 7 ? 4 : undefined;
    },
    ownerOf: () => "given",
  });
  assertEquals(asked, [[7, "alpha"], [8, "beta"]]);
  assertEquals<unknown>(failure?.detail, {
    arguments: [
      { parameter: "one", variable: "alpha", given: 7, origin: "wrong_return", originCall: 4 },
      {
        parameter: "two",
        variable: "beta",
        given: 8,
        origin: "other_variable",
        originVariable: "given",
      },
    ],
  });
});

const closed = { additionalProperties: false };
const text = { type: "string" };

/** The types that calls of one tool cannot show, by the first words of their names. */
function impossible(parameters: JsonObject, ...calls: Omit<ExpectedCall, "tool">[]): string[] {
  const expected = calls.map((call) => ({ tool: "t", ...call }));
  return impossibleFailures(expected, [{ name: "t", parameters }])
    .map((type) => type.split("_")[0]!);
}

Deno.test("impossibleFailures() finds by the schemas which failures no call can show", () => {
  const city = { type: "object", properties: { city: text }, required: ["city"], ...closed };
  const rome = { arguments: { city: "Rome" } };
  // All that is declared is expected.
  assertEquals(impossible(city, rome), ["redundant"]);
  assertEquals(impossible(city, rome, rome), ["redundant"]);
  // One call that leaves a parameter out is enough, and so is one that is declared besides.
  assertEquals(impossible(city, rome, { arguments: {} }), []);
  const two = { ...city, properties: { city: text, unit: text } };
  assertEquals(impossible(two, rome), []);
  assertEquals(impossible(two, { arguments: { city: "Rome", unit: optional("C") } }), [
    "redundant",
  ]);
  assertEquals(impossible(two, { ...rome, ignore: ["unit"] }), ["redundant"]);
  assertEquals(impossible(two, { ...rome, match: "partial" }), ["redundant"]);
  // At any depth.
  const nested = (inner: JsonObject) => ({ type: "object", properties: { at: inner }, ...closed });
  assertEquals(impossible(nested(city), { arguments: { at: { city: "Rome" } } }), ["redundant"]);
  assertEquals(impossible(nested(two), { arguments: { at: { city: "Rome" } } }), []);
  const list = { type: "array", items: two };
  assertEquals(impossible(nested(list), { arguments: { at: [{ city: "Rome" }] } }), []);
  // What may declare more is possible.
  for (
    const more of [{ additionalProperties: true }, { patternProperties: { a: {} } }, {
      allOf: [{}],
    }] as JsonObject[]
  ) {
    assertEquals(impossible({ ...city, ...more }, rome).includes("redundant"), false);
  }
});

Deno.test("impossibleFailures() needs keys for names and omissions, and arguments for deviations", () => {
  const open = { type: "object", additionalProperties: true };
  assertEquals(impossible(open), ["hallucination", "missing", "redundant", "task"]);
  assertEquals(impossible(open, { arguments: { a: 1 } }), ["hallucination"]);
  assertEquals(impossible({ ...open, required: ["a"] }), ["hallucination", "redundant", "task"]);
  assertEquals(impossible({ type: "object", properties: {} }), ["missing", "redundant", "task"]);
  assertEquals(impossible(open, { arguments: { a: anything() } }), ["hallucination"]);
  assertEquals(
    impossible({ type: "object", properties: { a: text } }, { arguments: { a: optional("x") } }),
    ["missing", "redundant"],
  );
});

Deno.test("impossibleFailures() counts a schema that refuses all keys among those that list keys", () => {
  for (
    const refuses of [closed, { unevaluatedProperties: false }, {
      propertyNames: { enum: ["a"] },
    }] as JsonObject[]
  ) {
    assertEquals(impossible({ type: "object", ...refuses }, {}).includes("hallucination"), false);
  }
});

// The Butterfly paper's cases of parameter failures, by what its figures show of them, and its similarity of texts.

/** The length of the longest common subsequence, by trying what to leave out. */
function common(one: readonly string[], other: readonly string[]): number {
  const [first, ...rest] = one;
  if (first === undefined || other.length === 0) return 0;
  const without = common(rest, other);
  const place = other.indexOf(first);
  return place < 0 ? without : Math.max(without, 1 + common(rest, other.slice(place + 1)));
}

Deno.test("the similarity of texts is the F1 of their longest common subsequence of words (Butterfly 5.2)", () => {
  const words = fc.array(fc.constantFrom("new", "york", "rome", "city", "5"), {
    minLength: 1,
    maxLength: 7,
  });
  fc.assert(fc.property(words, words, (one, other) => {
    const [recall, precision] = [one, other].map(({ length }) => common(one, other) / length);
    const f1 = recall === 0 ? 0 : 2 * recall! * precision! / (recall! + precision!);
    assertAlmostEquals(rougeL(one.join(" "), other.join(" ")), f1, 1e-12);
  }));
});
