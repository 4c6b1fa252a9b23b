import { assert, assertEquals } from "@std/assert";
import { isWithin } from "../../lib/base/json_depth.ts";
import fc from "../support/fast_check.ts";

/** How deep a value goes, worked out slowly. */
function levelsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}

/** How many values there are, worked out slowly. */
function valuesOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return 1 + Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 0);
}

Deno.test("isWithin() counts levels and values of any JSON value", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
    const [levels, values] = [levelsOf(value), valuesOf(value)];
    assert(isWithin(value, { levels }));
    assert(isWithin(value, { levels, values }));
    assert(!isWithin(value, { levels, values: values - 1 }));
    if (levels > 0) assert(!isWithin(value, { levels: levels - 1 }));
  }));
});

Deno.test("isWithin() does not overflow the stack, and ends where values do not", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 200_000; level++) deep = [deep];
  assertEquals([199_999, 200_000].map((levels) => isWithin(deep, { levels })), [false, true]);
  const endless: unknown[] = [];
  endless.push(endless);
  assert(!isWithin(endless, { levels: 1_000 }));
  // Two to the power of a hundred places.
  let doubled: unknown = 1;
  for (let level = 0; level < 100; level++) doubled = { one: doubled, other: doubled };
  assert(!isWithin(doubled, { levels: 1_000, values: 10_000 }));
});
