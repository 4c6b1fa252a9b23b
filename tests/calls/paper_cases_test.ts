// The Butterfly paper's cases of parameter failures, by what its figures show of them, and its similarity of texts.

import { assertAlmostEquals, assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { viewCalls } from "../../lib/calls/parameter_failure.ts";
import { rougeL } from "../../lib/calls/values/text.ts";
import fc from "../support/fast_check.ts";

const TEXT = { type: "string" };

/** The types of failures of one call, with the parameters that show them. */
function failuresOf(
  tool: string,
  schema: JsonObject,
  given: JsonObject,
  right: JsonObject,
): string[] {
  const [view] = viewCalls(
    [{ tool, arguments: given, written: JSON.stringify(given) }],
    [{ tool, arguments: right }],
    () => schema,
  );
  return view!.failures.map(({ type, parameter }) => `${type} ${parameter}`).sort();
}

Deno.test("a call without the country that the question names is missing information, as in Figure 6 (Butterfly 3, A.4)", () => {
  const schema = {
    type: "object",
    properties: { names: TEXT, country_id: TEXT },
    required: ["names"],
  };
  const right = { names: "Alex", country_id: "US" };
  assertEquals(failuresOf("predict_gender", schema, { names: "Alex" }, right), [
    "missing_information /country_id",
  ]);
  assertEquals(failuresOf("predict_gender", schema, right, right), []);
});

Deno.test("a parameter that the tool does not know is a hallucinated name, as in Figure 8 (Butterfly 3, A.4)", () => {
  const schema = {
    type: "object",
    properties: { board: TEXT, page: TEXT },
    required: ["board"],
  };
  const right = { board: "mu", page: "5" };
  assertEquals(failuresOf("get_threads", schema, { board: "mu", page_size: "5" }, right), [
    "hallucination_name /page_size",
    "missing_information /page",
  ]);
});

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
