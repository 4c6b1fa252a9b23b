import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import {
  anyOf,
  anything,
  inAnyOrder,
  matching,
  optional,
} from "../../../lib/calls/expected/matchers.ts";
import { matchMembers, maximumMatching } from "../../../lib/calls/values/_matching.ts";
import { checkIgnored, expectsNothing } from "../../../lib/calls/values/ignored.ts";
import { ANY_ITEM, parsePath, type PathStep, pathText } from "../../../lib/calls/values/paths.ts";
import { differingTexts, valueText } from "../../../lib/calls/values/text.ts";
import fc from "../../support/fast_check.ts";

/** Partners by what fits, and how many pairs were asked about, each once. */
function matched<T>(
  expected: readonly T[],
  actual: readonly T[],
  fits: (expected: T, actual: T) => boolean,
) {
  const asked = new Set<string>();
  const partners = matchMembers(expected, actual, (one, other) => {
    assert(!asked.has(`${one} ${other}`), `${one} ${other} was asked about twice`);
    asked.add(`${one} ${other}`);
    return fits(expected[one]!, actual[other]!);
  });
  return { partners, asked: asked.size };
}

Deno.test("matchMembers() compares equal members once each, in whatever order they stand", () => {
  const count = 500;
  const numbers = Array.from({ length: count }, (_, index) => index);
  const shuffled = numbers.toSorted((one, other) => one * 7 % count - other * 7 % count);
  const kinds: ((index: number) => unknown)[] = [
    (index) => ({ id: index, in: { list: [index] } }),
    (index) => [index, "x"],
    (index) => new Date(index),
    (index) => new URL(`https://a.example/${index}`),
    (index) => new Uint16Array([index]),
    (index) => ({ [`k${index}`]: null }),
    (index) => ({ long: "x".repeat(50) + index }),
  ];
  for (const [kind, make] of kinds.entries()) {
    const keys = new Map(numbers.map((index) => [make(index), index]));
    const expected = [...keys.keys()];
    const actual = shuffled.map((index) => expected[index]!);
    const same = (one: unknown, other: unknown) => keys.get(one) === keys.get(other);
    assertEquals(matched(expected, actual, same), {
      partners: numbers.map((index) => shuffled.indexOf(index)),
      asked: count,
    }, `kind ${kind}`);
  }
  // The order of keys is of no account.
  const swapped = shuffled.map((x) => ({ y: 0, x }));
  const sorted = (value: object) => Object.entries(value).toSorted().join();
  const sameKeys = (one: object, other: object) => sorted(one) === sorted(other);
  assertEquals(matched(numbers.map((x) => ({ x, y: 0 })), swapped, sameKeys).asked, count);
});

Deno.test("maximumMatching() pairs hundreds with hundreds, and follows chains through all of them", () => {
  const count = 600;
  const all = Array.from({ length: count }, (_, index) => index);
  assertEquals(new Set(maximumMatching(all.map(() => all))).size, count);
  // Only the last one's coming shifts all others by one.
  const chain = [...all.map((index) => [index, index + 1]), [0]];
  assertEquals(maximumMatching(chain), [...all.map((index) => index + 1), 0]);
});

const whole = matching(() => true, "what it likes");

Deno.test("checkIgnored() refuses paths that lead into matchers that know of no parts", () => {
  const table: [expected: unknown, path: string, refused: boolean][] = [
    [{ to: whole }, "to", false],
    [{ to: whole }, "to.id", true],
    [{ to: whole }, "from.id", false],
    [{ to: { id: whole } }, "to.id", false],
    [{ to: { id: whole } }, "to.id[0]", true],
    [{ to: anything() }, "to.id", true],
    [whole, "to", true],
    [{ to: anyOf({ id: 1 }, whole) }, "to.id", false],
    [{ to: anyOf("ann", whole) }, "to.id", true],
    [{ to: optional(anyOf(whole)) }, "to.id", true],
    [{ to: optional(anyOf({ id: 1 })) }, "to.id", false],
    [{ items: inAnyOrder({ id: 1 }) }, "items[*].id", false],
    [{ items: inAnyOrder({ id: 1 }) }, "items[*]", false],
    [{ items: inAnyOrder({ id: 1 }) }, "items[0].id", true],
    [{ items: inAnyOrder({ id: 1 }) }, "items.id", true],
    [{ items: inAnyOrder({ in: inAnyOrder({ id: 1 }) }) }, "items[*].in[*].id", false],
    [{ items: inAnyOrder({ in: inAnyOrder({ id: 1 }) }) }, "items[*].in[1].id", true],
    [{ items: inAnyOrder(whole, whole) }, "items[*].id", true],
    // Of one place it can be ignored, be it there or not.
    [{ items: inAnyOrder(whole, {}) }, "items[*].id", false],
    [{ items: inAnyOrder(whole, {}) }, "items[*].in.id", false],
    [{ items: [whole, { name: "pen" }] }, "items[*].id", false],
    [{ items: [whole, { name: "pen" }] }, "items[0].id", true],
    [new Map([["a", { to: whole }]]), "a.to.id", true],
    [new Map([["a", { to: whole }]]), "[*].to.id", true],
    [new Set([{ to: whole }]), "[*].to.id", true],
    [{ "0": whole }, "[0].id", false],
    [{ "a.b": whole }, '["a.b"].id', true],
    [JSON.parse('{"__proto__":1}'), "constructor.name", false],
    [7, "a.b", false],
  ];
  for (const [expected, written, refused] of table) {
    const paths = [parsePath("other"), parsePath(written)].slice(expected === whole ? 1 : 0);
    if (!refused) checkIgnored(expected, paths);
    else {
      const { message } = assertThrows(() => checkIgnored(expected, paths), InputError);
      assertEquals(
        message,
        `Cannot ignore ${written} as a path must not end in a matcher: it leads into one that gets ` +
          "the whole value, or to one item of a list in any order, where only [*] can be used",
      );
    }
  }
});

Deno.test("checkIgnored() comes to an end where a part can be reached in many ways", () => {
  let shared: unknown = { to: whole };
  for (let level = 0; level < 60; level++) shared = { left: shared, right: shared };
  checkIgnored(shared, [parsePath("[*]".repeat(60) + ".to")]);
  assertThrows(() => checkIgnored(shared, [parsePath("[*]".repeat(60) + ".to.id")]), InputError);
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  checkIgnored(circle, [parsePath("self.self.self.id")]);
});

Deno.test("expectsNothing() tells what any object of its kind would meet", () => {
  const table: [expected: unknown, ignore: string[], exact: boolean, partial: boolean][] = [
    [{}, [], false, true],
    [new Map(), [], false, true],
    [[], [], false, false],
    [{ a: 1 }, [], false, false],
    [{ a: 1 }, ["a"], false, true],
    [{ a: 1 }, ["a.b", "b"], false, false],
    [{ a: 1, b: 2 }, ["a", "b"], false, true],
    [{ a: 1, b: 2 }, ["[*]"], true, true],
    [{ a: 1 }, ["[*].b"], false, false],
    [{ a: { b: 1 } }, ["a.b"], false, false],
    [[1, 2], ["[*]"], true, true],
    [new Uint8Array(2), ["[*]"], true, true],
    [new Map([["a", 1]]), ["a"], false, true],
    [new Map([[{ a: 1 }, 1]]), ["a"], false, false],
    [new Map([[{ a: 1 }, 1]]), ["[*]"], true, true],
    [new Set([1]), ["[0]"], false, false],
    [new Set([1]), ["[*]"], true, true],
    [[], ["length"], false, false],
    [new Date(0), ["[*]"], false, false],
    [Promise.resolve(1), ["[*]"], false, false],
    [7, ["[*]"], false, false],
    [whole, ["[*]"], false, false],
    [anyOf({ a: 1 }, { b: 1 }), ["a"], false, true],
    [anyOf({ a: 1 }, { b: 1 }), ["c"], false, false],
    [optional({}), [], false, true],
    [inAnyOrder(1, 2), [], false, false],
    [inAnyOrder(1, 2), ["[*]"], true, true],
  ];
  for (const [expected, ignore, exact, partial] of table) {
    const paths = ignore.map(parsePath);
    assertEquals(
      [expectsNothing(expected, false, paths), expectsNothing(expected, true, paths)],
      [exact, partial],
      Deno.inspect([expected, ignore]),
    );
  }
});

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

class Point {
  #secret = 3;
  constructor(readonly x: number) {}
  get y() {
    return this.#secret;
  }
}

Deno.test("valueText() writes values of every kind on one line", () => {
  const circle: unknown[] = [];
  circle.push(circle);
  const table: [value: unknown, text: string][] = [
    [null, "null"],
    [undefined, "undefined"],
    [-0, "0"],
    [NaN, "NaN"],
    [5n, "5n"],
    [Symbol("s"), "Symbol(s)"],
    [function named() {}, "function named"],
    ["a\nb\u001b[31m\ud800", '"a\\nb\\u001b[31m\\ud800"'],
    [[1, ["x"], {}], '[1,["x"],{}]'],
    [JSON.parse('{"__proto__":{"constructor":1}}'), '{"__proto__":{"constructor":1}}'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [
      { city: anyOf("Rome", "Roma"), days: [anything()] },
      '{"city":any of "Rome", "Roma","days":[anything]}',
    ],
    [new Date(0), "Date 1970-01-01T00:00:00.000Z"],
    [new Date(NaN), "Date Invalid Date"],
    [/a+/g, "RegExp /a+/g"],
    [new URL("https://a.example/b"), "URL https://a.example/b"],
    [new Map<unknown, unknown>([["a", 1], [{}, 2]]), 'Map {"a" => 1,[{},2]}'],
    [new Set(["a", {}]), 'Set {"a",{}}'],
    [new Uint8Array([1, 2]), "Uint8Array [1,2]"],
    [new Point(1), 'Point {"x":1,"y":3}'],
    [new TypeError("no"), 'TypeError {"message":"no"}'],
  ];
  for (const [value, text] of table) assertEquals(valueText(value), text);
  assertEquals(valueText(circle, 8), "[[[[[[[…");
});

Deno.test("valueText() is short, however large or deep a value is", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = level % 2 === 0 ? [deep] : { a: deep };
  const large = [deep, "x".repeat(1_000_000), Array(1_000_000).fill(0), "\u0000".repeat(1_000)];
  for (const value of large) {
    const text = valueText(value);
    assertEquals(text.length, 100);
    assert(text.endsWith("…"));
  }
  fc.assert(fc.property(fc.anything({ withMap: true, withSet: true }), (value) => {
    assert(valueText(value, 30).length <= 30);
  }));
});

Deno.test("differingTexts() shows where texts part, and what looks alike", () => {
  const long = "a".repeat(300);
  const table: [one: unknown, other: unknown, texts: [string, string]][] = [
    ["1", 1, ['"1"', "1"]],
    [`${long}x`, `${long}y`, [`"…${"a".repeat(20)}x"`, `"…${"a".repeat(20)}y"`]],
    [`x${long}`, `y${long}`, [`"x${"a".repeat(97)}…`, `"y${"a".repeat(97)}…`]],
    [long, `${long}b`, [`"…${"a".repeat(20)}"`, `"…${"a".repeat(20)}b"`]],
    ["\u00e9", "e\u0301", ['"\\u00e9"', '"e\\u0301"']],
    ["\ufb01", "fi", ['"\ufb01"', '"fi"']],
    [[1], new Point(1), ["[1]", 'Point {"x":1,"y":3}']],
    [Promise, Promise, ["function Promise", "function Promise, but not the same"]],
  ];
  for (const [one, other, texts] of table) assertEquals(differingTexts(one, other), texts);
});
