import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { ANY_ITEM, parsePath, type PathStep, pathText } from "../../../lib/calls/values/paths.ts";
import fc from "../../support/fast_check.ts";

Deno.test("parsePath() reads keys, indexes and stars", () => {
  const table: [written: string, steps: PathStep[]][] = [
    ["date", ["date"]],
    ["filters.since", ["filters", "since"]],
    ["items[0].id", ["items", 0, "id"]],
    ["items[*].id", ["items", ANY_ITEM, "id"]],
    ["[0][10]", [0, 10]],
    ['a["b.c"].d', ["a", "b.c", "d"]],
    ['[""]["*"]["\\u0041\\""]', ["", "*", 'A"']],
    ["items.0", ["items", "0"]],
    ["größe.日本-x.$id", ["größe", "日本-x", "$id"]],
    ["__proto__.constructor", ["__proto__", "constructor"]],
    ["a b", ["a b"]],
  ];
  for (const [written, steps] of table) assertEquals(parsePath(written), steps, written);
});

Deno.test("parsePath() refuses what is no path, and tells where it goes wrong", () => {
  const table: [written: unknown, state: string][] = [
    ["", "it is empty"],
    [7, "it is of type number"],
    [["a"], "it is of type object"],
    [".a", "it is invalid at character 1"],
    ["a.", "it is invalid at character 2"],
    ["a..b", "it is invalid at character 2"],
    ["a[", "it is invalid at character 2"],
    ["a[-1]", "it is invalid at character 2"],
    ["a[01]", "it is invalid at character 2"],
    ["a[0]b", "it is invalid at character 5"],
    ["a[x]", "it is invalid at character 2"],
    ["a['b']", "it is invalid at character 2"],
    ['a["\\x"]', "it is invalid at character 2"],
    ["items.*.id", "it is invalid at character 6"],
    ["a]", "it is invalid at character 2"],
    ['a"b', "it is invalid at character 2"],
  ];
  for (const [written, state] of table) {
    const { message } = assertThrows(() => parsePath(written as string), InputError);
    assert(message.startsWith("Cannot use path "), message);
    assert(message.endsWith(`: ${state}`), `${written}: ${message}`);
  }
});

Deno.test("parsePath() reads what pathText() writes, whatever the keys are", () => {
  const key = fc.oneof(
    fc.string({ unit: fc.character() }),
    fc.constantFrom("*", "", "0", ".", "]", '"', "\\", "__proto__", "\ud800", "a.b", "[0]"),
  );
  const step = fc.oneof(key, fc.nat({ max: 999_999_999 }), fc.constant(ANY_ITEM));
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      assertEquals(parsePath(pathText(steps)), steps);
    }),
    { numRuns: 300 },
  );
  assertEquals(pathText(["items", 0, "a.b", ANY_ITEM, "c"]), 'items[0]["a.b"][*].c');
});
