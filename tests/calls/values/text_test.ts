import { assert, assertEquals } from "@std/assert";
import { anyOf, anything } from "../../../lib/calls/expected/matchers.ts";
import { differingTexts, valueText } from "../../../lib/calls/values/text.ts";
import fc from "../../support/fast_check.ts";

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
