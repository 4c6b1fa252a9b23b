import { assertEquals } from "@std/assert";
import { jsonParts } from "../../lib/base/json_slices.ts";
import fc from "../support/fast_check.ts";
import { assertLinear } from "../support/growth.ts";

Deno.test("jsonParts() gives what an object or a list holds as it is written", () => {
  const container = fc.oneof(
    fc.dictionary(fc.string(), fc.jsonValue()),
    fc.array(fc.jsonValue()),
  );
  fc.assert(fc.property(container, fc.nat(3), (value, indent) => {
    const parts = jsonParts(JSON.stringify(value, null, indent));
    assertEquals(
      parts.map(({ key, json }) => [key, JSON.parse(json)]),
      Array.isArray(value)
        ? value.map((held) => [undefined, JSON.parse(JSON.stringify(held))])
        : Object.entries(value).map(([key, held]) => [key, JSON.parse(JSON.stringify(held))]),
    );
  }));
});

Deno.test("jsonParts() keeps digits that a double would lose", () => {
  assertEquals(jsonParts('{"n": 12345678901234567890, "m": [1.0]}'), [
    { key: "n", json: "12345678901234567890" },
    { key: "m", json: "[1.0]" },
  ]);
});

Deno.test("jsonParts() takes time that is linear in the text", () => {
  for (const held of ["1", '"a\\\\"', '{"b": [1]}', " "]) {
    assertLinear((text) => jsonParts(`[${text}1]`), "", `${held === " " ? " " : `${held},`}`);
  }
});
