import { assertEquals } from "@std/assert";
import { impossibleFailures } from "../../lib/calls/possible_failures.ts";
import { anything, optional } from "../../lib/calls/expected/matchers.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import type { ExpectedCall } from "../../lib/tools/expected_call.ts";

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
    }]
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
    const refuses of [closed, { unevaluatedProperties: false }, { propertyNames: { enum: ["a"] } }]
  ) {
    assertEquals(impossible({ type: "object", ...refuses }, {}).includes("hallucination"), false);
  }
});
