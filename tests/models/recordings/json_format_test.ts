import { assert, assertEquals } from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import { formatJson } from "../../../lib/models/recordings/_file.ts";
import fc from "../../support/fast_check.ts";

Deno.test("formatJson() writes any JSON value, whatever its texts and keys", () => {
  fc.assert(fc.property(
    fc.jsonValue({ stringUnit: fc.character() }),
    fc.nat(8),
    (value, spaces) => {
      const text = formatJson(value as JsonValue, " ".repeat(spaces));
      assertEquals(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    },
  ));
});

Deno.test("formatJson() keeps on a line what fits there, and takes apart what does not", () => {
  const long = "x".repeat(80);
  assertEquals(
    formatJson({ empty: {}, none: [], usage: { read: 1, all: [1, 2] }, said: [long, null] }, "  "),
    `{
    "empty": {},
    "none": [],
    "usage": { "read": 1, "all": [1, 2] },
    "said": ["${long}", null]
  }`,
  );
  const lines = formatJson(Array.from({ length: 50 }, () => "ab")).split("\n");
  assertEquals([lines.length, lines[1]], [52, '  "ab",']);
});

Deno.test("formatJson() takes time that grows with the text, however deep it nests", () => {
  let deep: JsonValue = "x".repeat(1_000_000);
  for (let level = 0; level < 900; level++) deep = [deep];
  // Looking at all of it on each of 900 levels would take minutes.
  assert(formatJson(deep).length > 1_000_000);
});
