// Short names of models.

import { assert, assertEquals } from "@std/assert";
import { printable } from "../../lib/base/json.ts";
import { columnsOf } from "../../lib/base/wrap.ts";
import { shortNames } from "../../lib/reports/_short_names.ts";
import fc from "../support/fast_check.ts";
import { HOSTILE, STEERING } from "../support/records.ts";

Deno.test("shortNames() are cut in the middle, and numbered where they would be equal", () => {
  const names = ["a", "b"].map((middle) => `${"x".repeat(20)}${middle}${"y".repeat(20)}`);
  assertEquals([...shortNames([...names, "gpt-5"], 120).forms.values()], [
    ...[`${"x".repeat(14)}…${"y".repeat(14)}`, `${"x".repeat(12)}…${"y".repeat(12)} (2)`],
  ]);
});

Deno.test("shortNames() has the forms of long names alone: of at most 30 columns, or a fifth of a terminal", () => {
  const names = ["m".repeat(30), "m".repeat(31), "m".repeat(40), "m".repeat(41)];
  const shortened = (width: number) => [...shortNames(names, width).forms.keys()];
  assertEquals(shortened(80), names.slice(1));
  assertEquals(shortened(200), names.slice(3));
  assertEquals(shortened(Infinity), []);
});

const PART = fc.constantFrom(
  ...["sim:", "noisy?", "a=1", "a=2", "stale=0.015", "&", "/", "models", ";", ",", "@", " ", "…"],
  ...["x".repeat(29), "abcdefghij", "日本語の長い名前", HOSTILE, "(2)"],
  ...["a", "b"].map((middle) => `${"x".repeat(20)}${middle}${"y".repeat(20)}`),
);

Deno.test("shortNames() are unique, fit, and leave short names as they are", () => {
  const names = fc.array(fc.array(PART, { minLength: 1, maxLength: 9 }), { maxLength: 9 })
    .map((all) => all.map((parts) => parts.join("")));
  fc.assert(
    fc.property(names, fc.constantFrom(40, 80, 200), (names, width) => {
      const most = Math.max(30, width / 5);
      const { forms, shorten } = shortNames(names, width);
      const distinct = [...new Set(names)];
      const shown = distinct.map(shorten);
      assertEquals(new Set(shown).size, distinct.length, JSON.stringify(shown));
      for (const name of distinct) {
        const isLong = columnsOf(printable(name, Infinity)) > most;
        assertEquals(forms.has(name), isLong, name);
        if (!isLong) assertEquals(shorten(name), name);
      }
      for (const form of forms.values()) {
        assert(columnsOf(form) <= most && !STEERING.test(form), form);
      }
    }),
    { numRuns: 1000 },
  );
});
