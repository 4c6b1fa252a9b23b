import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonValue } from "../../../lib/base/json.ts";
import {
  absent,
  alignCalls,
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
  type OracleCall,
  type OracleValue,
} from "../../../lib/calls/expected/oracle.ts";
import { oracleOf } from "../../../lib/calls/parameter_views.ts";
import type { CallEvent, TraceEvent } from "../../../lib/calls/trace.ts";
import fc from "../../support/fast_check.ts";

const even = matching((value) => Number(value) % 2 === 0, "an even number");

Deno.test("meets() compares values as JSON, and asks matchers wherever they stand", () => {
  const own = JSON.parse('{"__proto__":1}');
  const table: [JsonValue, OracleValue, boolean][] = [
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
  const table: [JsonValue, OracleValue, boolean][] = [
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
  const calls = [{ tool: "f", arguments: { x: 2 } }, { tool: "f", arguments: {} }];
  assertEquals(alignCalls(calls, [{ tool: "f", arguments: { x: absent() } }]), [null, 0]);
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
  const table: [JsonValue, OracleValue[], boolean][] = [
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

/** Calls as `name` or `name=value`, the value being the argument `x`. */
const callsOf = (written: string) =>
  written.split(" ").filter((one) => one !== "").map((one) => {
    const [tool, x] = one.split("=");
    return { tool: tool!, arguments: x === undefined ? {} : { x } };
  });

Deno.test("alignCalls() pairs calls with the oracle's by name, in order", () => {
  const table: [calls: string, oracle: string, (number | null)[]][] = [
    ["", "", []],
    ["", "a b", []],
    ["a b", "", [null, null]],
    ["a b c", "a b c", [0, 1, 2]],
    // Calls too many, and too few.
    ["z a z b z", "a b", [null, 0, null, 1, null]],
    ["a c", "a b c", [0, 2]],
    ["c", "a b c", [2]],
    ["a a a", "a", [0, null, null]],
    ["a", "a a a", [0]],
    // In another order: one of the two, and with nothing else to choose by, the first call.
    ["b a", "a b", [1, null]],
    ["b a=1", "a=1 b", [null, 0]],
    ["b=1 a=2", "a=1 b=1", [1, null]],
    ["c a b", "a b c", [null, 0, 1]],
    // More calls outweigh better arguments.
    ["c=1 a b", "a=2 b=2 c=1", [null, 0, 1]],
    // Of calls of one name, those that are right.
    ["a=1 a=2 a=3", "a=2", [null, 0, null]],
    ["a=3", "a=1 a=2 a=3", [2]],
    ["a=2 a=3", "a=1 a=2 a=3", [1, 2]],
    ["a=1 a=9 a=2", "a=1 a=2", [0, null, 1]],
    ["a=9 a=8", "a=1 a=2", [0, 1]],
    ["a=2 a=1", "a=1 a=2", [0, 1]],
    ["a=2 a=1 a=2", "a=1 a=2", [null, 0, 1]],
    // The earliest, call by call.
    ["x a", "a a", [null, 0]],
    ["a x a", "a a a", [0, null, 1]],
    ["a b a", "a b a b a", [0, 1, 2]],
    ["toString __proto__", "__proto__ toString", [1, null]],
  ];
  for (const [calls, oracle, expected] of table) {
    assertEquals(alignCalls(callsOf(calls), callsOf(oracle)), expected, `${calls} | ${oracle}`);
  }
});

Deno.test("alignCalls() counts arguments that are right, by matchers too, and none of what is no object", () => {
  const at = (calls: JsonValue[], oracle: OracleCall["arguments"]) =>
    alignCalls(calls.map((given) => ({ tool: "f", arguments: given })), [
      { tool: "f", arguments: oracle },
    ]).indexOf(0);
  assertEquals(at([{ x: 1 }, { x: 1, y: 2 }, { x: 1, y: 2, z: 3 }], { x: 1, y: 2 }), 1);
  assertEquals(at([{ x: 1 }, { x: 4 }], { x: even }), 1);
  assertEquals(at([{ y: [1, 2] }, { x: 0, y: [1] }], { x: 1, y: [1] }), 1);
  assertEquals(at([{}, { toString: 1 }], { toString: anything() }), 1);
  assertEquals(at([[1], "x", null, { x: 1 }], { x: 1 }), 3);
  const unread = [{ tool: "f", arguments: undefined }];
  assertEquals(alignCalls(unread, [{ tool: "f", arguments: { x: 1 } }]), [0]);
});

/** Every way to pair calls in order, slowly. */
function* everyAlignment(
  calls: Parameters<typeof alignCalls>[0],
  oracle: readonly OracleCall[],
  from = 0,
): Generator<(number | null)[]> {
  const [first, ...others] = calls;
  if (first === undefined) return yield [];
  for (const rest of everyAlignment(others, oracle, from)) yield [null, ...rest];
  for (let other = from; other < oracle.length; other++) {
    if (oracle[other]!.tool !== first.tool) continue;
    for (const rest of everyAlignment(others, oracle, other + 1)) yield [other, ...rest];
  }
}

Deno.test("alignCalls() finds what trying all alignments finds", () => {
  const keys = ["x", "y"];
  const call = fc.record({
    tool: fc.constantFrom("a", "b"),
    arguments: fc.dictionary(fc.constantFrom(...keys), fc.constantFrom("1", "2")),
  });
  const few = fc.array(call, { maxLength: 6 });
  let ties = 0;
  fc.assert(
    fc.property(few, few, (calls, oracle) => {
      const scored = [...everyAlignment(calls, oracle)].map((pairs) => {
        const paired = pairs.flatMap((other, place) =>
          other === null ? [] : [{ given: calls[place]!, expected: oracle[other]! }]
        );
        const right = paired.map(({ given, expected }) =>
          keys.filter((key) =>
            key in expected.arguments && given.arguments[key] === expected.arguments[key]
          ).length
        );
        const rank = [
          -paired.length,
          -right.reduce((sum, count) => sum + count, 0),
          ...pairs.map((other) => other ?? Infinity),
        ];
        return { pairs, rank };
      });
      scored.sort(({ rank: one }, { rank: other }) => {
        const place = one.findIndex((value, index) => value !== other[index]);
        return place < 0 ? 0 : one[place]! - other[place]!;
      });
      const [best, second] = scored;
      if (
        second !== undefined && best!.rank.slice(0, 2).join() === second.rank.slice(0, 2).join()
      ) {
        ties++;
      }
      assertEquals(alignCalls(calls, oracle), best!.pairs);
    }),
    { numRuns: 500 },
  );
  assert(ties > 100, `${ties} ties`);
});

Deno.test("alignCalls() aligns a thousand calls with a thousand others", () => {
  const many = Array.from({ length: 1_000 }, (_, x) => ({ tool: "f", arguments: { x, y: 0 } }));
  assertEquals(alignCalls(many, many), many.map((_, index) => index));
  const shifted = many.slice(500).concat(many.slice(0, 500));
  assertEquals(alignCalls(shifted, many).filter((other) => other === null).length, 0);
});

const EVENT: CallEvent = {
  kind: "call",
  call: 1,
  step: 1,
  function: "f",
  arguments: '{"x":1}',
  result: "{}",
};

Deno.test("oracleOf() takes the calls of a trace that have no failure, with what they mean", () => {
  const detail = { nearest: null };
  const events: readonly TraceEvent[] = [
    { kind: "over_limit", function: "f", limit: 1 },
    EVENT,
    { ...EVENT, failure: { type: "function_not_found", detail, root: true } },
    { ...EVENT, function: "g", arguments: '{"x":"@a"}', resolved: '{"x":{"y":[731]}}' },
    { ...EVENT, arguments: '{"x":"731","y":"5","__proto__":1}', coerced: ["x"] },
    { kind: "answer", text: "x = 1", value: 1 },
  ];
  assertEquals(oracleOf(events), [
    { tool: "f", arguments: { x: 1 } },
    { tool: "g", arguments: { x: { y: [731] } } },
    { tool: "f", arguments: JSON.parse('{"x":731,"y":"5","__proto__":1}') },
  ]);
  assertEquals(oracleOf([]), []);
});

Deno.test("oracleOf() refuses arguments that it cannot read", () => {
  for (const text of ["", "{", "[]", "null", '{"x":"cut of']) {
    assertThrows(
      () => oracleOf([EVENT, { ...EVENT, call: 7, arguments: text }]),
      InputError,
      "Cannot take a trace for an oracle as the arguments of its calls must be JSON objects: " +
        "those of call 7 are none",
    );
  }
});
