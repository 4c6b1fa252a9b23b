import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonValue } from "../../../lib/base/json.ts";
import {
  absent,
  anyOf,
  anything,
  closeTo,
  inAnyOrder,
  isMatcher,
  matching,
  matchingText,
  mayBeAbsent,
  meets,
  optional,
} from "../../../lib/calls/expected/matchers.ts";
import type { ExpectedValue } from "../../../lib/tools/expected_call.ts";
import fc from "../../support/fast_check.ts";

const even = matching((value) => Number(value) % 2 === 0, "an even number");

Deno.test("meets() compares values as JSON, and asks matchers wherever they stand", () => {
  const own = JSON.parse('{"__proto__":1}');
  const table: [JsonValue, ExpectedValue, boolean][] = [
    [1, 1, true],
    [1, JSON.parse("1.0"), true],
    [0, -0, true],
    [1, "1", false],
    [1, true, false],
    ["a", "A", false],
    ["\ud800", "\ud800", true],
    ["\u00e9", "e\u0301", false],
    [null, null, true],
    [{}, null, false],
    [null, {}, false],
    [[], {}, false],
    [{}, [], false],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1, b: 2 }, { a: 1 }, false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ b: 1 }, { a: 1 }, false],
    [{ toString: 1 }, {}, false],
    [{ a: 1 }, { toString: anything() }, false],
    [own, own, true],
    [own, {}, false],
    [{}, own, false],
    [[1, 2], [1, 2], true],
    [[2, 1], [1, 2], false],
    [[1], [1, 2], false],
    [[1, 2], [1], false],
    [2, anyOf(1, 2), true],
    [3, anyOf(1, 2), false],
    [{ a: [1] }, anyOf([1], { a: [1] }), true],
    [4, anyOf(1, even), true],
    [{ a: 4 }, anyOf({ a: even }), true],
    [3, anyOf(1, even), false],
    [null, anything(), true],
    [{ a: [4, "x"] }, { a: [even, anything()] }, true],
    [{ a: [5, "x"] }, { a: [even, anything()] }, false],
  ];
  for (const [given, expected, right] of table) {
    assertEquals(meets(given, expected), right, `${JSON.stringify([given, expected])}`);
  }
});

Deno.test("matchers say what they take, and what of it can be listed", () => {
  const table: [ReturnType<typeof anything>, string, JsonValue[] | undefined][] = [
    [anything(), "anything", undefined],
    [even, "an even number", undefined],
    [anyOf("a", 2, [null]), 'any of "a", 2, [null]', ["a", 2, [null]]],
    [anyOf("a", even), 'any of "a", an even number', ["a"]],
    [anyOf(anyOf("a", "b"), "c"), 'any of any of "a", "b", "c"', ["a", "b", "c"]],
    [anyOf({ a: even }), 'any of {"a":"an even number"}', undefined],
    [matching(() => true, "red\u001b[31m"), "red\\u001b[31m", undefined],
    [closeTo(1.5, 0.1), "1.5 give or take 0.1", undefined],
    [matchingText('a"b'), 'a text with "a\\"b"', undefined],
    [matchingText(/a\/b/gi), "a text that matches /a\\/b/gi", undefined],
    [inAnyOrder("a", even), 'in any order ["a", an even number]', undefined],
    [absent(), "left out", undefined],
    [optional("a"), '"a" or left out', ["a"]],
    [optional(anyOf("a", even)), 'any of "a", an even number or left out', ["a"]],
    [anyOf(absent(), "a"), 'any of left out, "a"', ["a"]],
  ];
  for (const [matcher, description, values] of table) {
    assertEquals([matcher.description, matcher.values], [description, values]);
    assertEquals("values" in matcher, values !== undefined);
    assertEquals(JSON.stringify({ matcher }), JSON.stringify({ matcher: description }));
  }
  assert(matching(() => true, "x".repeat(1_000)).description.length <= 200);
  assertThrows(() => anyOf(), InputError, "there must be at least one");
});

Deno.test("meets() takes what may be left out for right where it is, and where it is right", () => {
  const table: [JsonValue, ExpectedValue, boolean][] = [
    [{}, { a: optional(1) }, true],
    [{ a: 1 }, { a: optional(1) }, true],
    [{ a: 2 }, { a: optional(1) }, false],
    [{ a: null }, { a: optional(1) }, false],
    [{ b: 1 }, { a: optional(1) }, false],
    [{ a: 4 }, { a: optional(even) }, true],
    [{}, { a: absent() }, true],
    [{ a: null }, { a: absent() }, false],
    [{}, { a: anyOf(absent(), 1) }, true],
    [{ a: 1 }, { a: anyOf(absent(), 1) }, true],
    [{}, { a: anyOf(1, optional(2)) }, true],
    [{}, { a: anyOf(1, 2) }, false],
    [{}, { a: anything() }, false],
    [{}, { __proto__: null, toString: optional(1) }, true],
    [{ a: {} }, { a: { b: optional(1) } }, true],
    [[], [optional(1)], false],
    [1, optional(1), true],
    [{ a: 1, c: 1 }, { a: 1, b: optional(2) }, false],
  ];
  for (const [given, expected, right] of table) {
    assertEquals(meets(given, expected), right, `${JSON.stringify([given, expected])}`);
  }
  assert(mayBeAbsent(absent()) && mayBeAbsent(optional(1)) && mayBeAbsent(anyOf(2, absent())));
  assert(!mayBeAbsent(anything()) && !mayBeAbsent(undefined) && !mayBeAbsent({ optional: true }));
});

Deno.test("closeTo() takes numbers within its tolerance, both bounds included", () => {
  const table: [JsonValue, number, number, boolean][] = [
    [1, 1, 0, true],
    [1.1, 1, 0.1, true],
    [0.9, 1, 0.1, true],
    [1.1001, 1, 0.1, false],
    [0.3, 0.1, 0.2, true],
    [-0.3, -0.1, 0.2, true],
    [1e21, 1e21, 0, true],
    [1e21 + 1e6, 1e21, 0, false],
    [1, 1.0000001, 0, false],
    ["1", 1, 1, false],
    [null, 0, 1, false],
    [[1], 1, 1, false],
  ];
  for (const [given, value, tolerance, right] of table) {
    assertEquals(closeTo(value, tolerance).matches(given), right, `${given} ${value} ${tolerance}`);
  }
  fc.assert(fc.property(fc.integer(), fc.nat(), fc.integer(), (value, tolerance, given) => {
    const isClose = Math.abs(given - value) <= tolerance;
    assertEquals(closeTo(value, tolerance).matches(given), isClose);
    assert(closeTo(value, tolerance).matches(value + tolerance));
    assert(!closeTo(value, tolerance).matches(value - tolerance - 1));
  }));
  for (const [value, tolerance] of [[NaN, 1], [1, NaN], [Infinity, 1], [1, Infinity], [1, -1]]) {
    assertThrows(
      () => closeTo(value!, tolerance!),
      InputError,
      `the tolerance 0 or more: the value is ${value}, the tolerance ${tolerance}`,
    );
  }
});

Deno.test("matchingText() finds a text or a pattern, and carries nothing from one text to the next", () => {
  const table: [JsonValue, string | RegExp, boolean][] = [
    ["in Paris", "Paris", true],
    ["in paris", "Paris", false],
    ["in paris", /PARIS/i, true],
    ["a.b", ".", true],
    ["ab", ".", false],
    ["$&", "$&", true],
    ["xay", /a/y, false],
    ["ay", /a/y, true],
    [7, "7", false],
    [["Paris"], "Paris", false],
    [null, /null/, false],
  ];
  for (const [given, pattern, right] of table) {
    assertEquals(matchingText(pattern).matches(given), right, `${given} ${pattern}`);
  }
  for (const flags of ["g", "y", "gy", "gv"]) {
    const pattern = new RegExp("a+", flags);
    pattern.lastIndex = 2;
    const matcher = matchingText(pattern);
    for (let time = 0; time < 3; time++) assert(matcher.matches("aaa"), `${flags} ${time}`);
    assertEquals(pattern.lastIndex, 2);
  }
  for (const pattern of ["", new RegExp(""), /(?:)/g]) {
    assertThrows(() => matchingText(pattern), InputError, "the pattern must not be empty");
  }
  for (const pattern of [7, null, undefined, { source: "a" }]) {
    assertThrows(() => matchingText(pattern as never), InputError, "must be a text or a regular");
  }
});

Deno.test("inAnyOrder() takes a list for what is in it, whatever its order", () => {
  const table: [JsonValue, ExpectedValue[], boolean][] = [
    [[], [], true],
    [["b", "a"], ["a", "b"], true],
    [["a", "a", "b"], ["a", "b", "b"], false],
    [["a"], ["a", "a"], false],
    [["a", "b"], ["a"], false],
    [[{ x: 1 }, [2]], [[2], { x: 1 }], true],
    // What the first takes, only the second can take.
    [[2, 4], [even, 2], true],
    [[2, 4], [anyOf(2, 4), anyOf(2, 6), even], false],
    ["ab", ["a", "b"], false],
    [{ 0: "a" }, ["a"], false],
  ];
  for (const [given, items, right] of table) {
    assertEquals(inAnyOrder(...items).matches(given), right, JSON.stringify([given, items]));
  }
});

Deno.test("a predicate that gives no boolean, such as a promise, is refused", () => {
  const slip = matching((() => Promise.resolve(false)) as unknown as () => boolean, "later");
  assertThrows(
    () => meets(1, slip),
    InputError,
    "Cannot match later as its predicate must give true or false: it gave a promise",
  );
  const other = matching((() => undefined) as unknown as () => boolean, "nothing");
  assertThrows(() => meets(1, anyOf(2, other)), InputError, "it gave undefined");
});

Deno.test("nothing that JSON can carry passes for a matcher", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => assert(!isMatcher(value))));
  const { description, values } = anyOf(1);
  for (const value of [{ description, values, matches: true }, JSON.parse(JSON.stringify(even))]) {
    assertEquals(isMatcher(value), false);
    assertEquals(meets(1, value), false);
  }
  assert(isMatcher(even));
});
