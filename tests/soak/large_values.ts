// Comparisons of values with hundreds of thousands of parts.

import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { valueDifferences } from "../../lib/calls/values/differences.ts";

const differences = (actual: unknown, expected: unknown) =>
  valueDifferences(actual, expected, { name: "v" });

Deno.test("a value may have hundreds of thousands of parts that are not expected", () => {
  // More than a call takes arguments.
  const keys = Array.from({ length: 150_000 }, (_, index) => index);
  const many = Object.fromEntries(keys.map((key) => [`k${key}`, key]));
  assertEquals(differences({ many }, { many: {} }).length, keys.length);
  assertEquals(differences({ keys }, { keys: [] }).length, keys.length);
  assertEquals(differences(new Set(keys), new Set()).length, keys.length);
});

Deno.test("getters that make new objects for ever are refused", () => {
  class Endless {
    get next() {
      return new Endless();
    }
  }
  assertThrows(
    () => differences(new Endless(), new Endless()),
    InputError,
    "Cannot compare values as they must not have more than 500000 parts",
  );
});
