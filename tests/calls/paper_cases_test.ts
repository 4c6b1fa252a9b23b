// The Butterfly paper's cases of parameter failures, by what its figures show of them.

import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { viewCalls } from "../../lib/calls/parameter_failure.ts";

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
