import { assert, assertEquals } from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import {
  absent,
  anything,
  closeTo,
  inAnyOrder,
  matching,
  meets,
  optional,
} from "../../../lib/calls/expected/matchers.ts";
import {
  type ComparisonOptions,
  isUndecided,
  valueDifferences,
} from "../../../lib/calls/values/differences.ts";
import { parsePath } from "../../../lib/calls/values/paths.ts";
import fc from "../../support/fast_check.ts";

/** The differences of a value named `v`, each as one line. */
function linesOf(
  actual: unknown,
  expected: unknown,
  { ignore = [], ...rest }: { ignore?: string[]; partial?: boolean } = {},
): string[] {
  const options: ComparisonOptions = { name: "v", ignore: ignore.map(parsePath), ...rest };
  return valueDifferences(actual, expected, options).map((difference) => {
    const { path, kind, expected, actual, error } = difference;
    return `${path} ${kind} ${expected} | ${actual}${error === undefined ? "" : ` (${error})`}`;
  });
}

class Point {
  constructor(readonly x: number, readonly y: number) {}
}
class Cart {
  #items: string[];
  constructor(...items: string[]) {
    this.#items = items;
  }
  get items() {
    return [...this.#items];
  }
}
class Sealed {
  #value: number;
  constructor(value: number) {
    this.#value = value;
  }
  reveal() {
    return this.#value;
  }
}

Deno.test("valueDifferences() tells each part of JSON that differs, by its path and in order", () => {
  const own = JSON.parse('{"__proto__":1,"constructor":2,"7":3}');
  const table: [actual: unknown, expected: unknown, lines: string[]][] = [
    [1, 1, []],
    [0, -0, []],
    [1, "1", ['v different "1" | 1']],
    [null, {}, ["v different {} | null"]],
    [[], {}, ["v different {} | []"]],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [{ a: 1, c: 3 }, { a: 2, b: 2 }, [
      "v.a different 2 | 1",
      "v.b missing 2 | nothing",
      "v.c unexpected nothing | 3",
    ]],
    [{ a: { b: [{ c: 1 }, 2] } }, { a: { b: [{ c: 2 }, 2, 3] } }, [
      "v.a.b[0].c different 2 | 1",
      "v.a.b[2] missing 3 | nothing",
    ]],
    [[1, 2, 3], [1], ["v[1] unexpected nothing | 2", "v[2] unexpected nothing | 3"]],
    [{ a: undefined }, {}, ["v.a unexpected nothing | undefined"]],
    [own, JSON.parse('{"__proto__":1,"constructor":2,"7":3}'), []],
    [own, {}, [
      "v.7 unexpected nothing | 3",
      "v.__proto__ unexpected nothing | 1",
      "v.constructor unexpected nothing | 2",
    ]],
    [{}, own, [
      "v.7 missing 3 | nothing",
      "v.__proto__ missing 1 | nothing",
      "v.constructor missing 2 | nothing",
    ]],
    [{ toString: 1 }, { toString: 1 }, []],
    [{ "a.b": { "": 1 } }, { "a.b": { "": 2 } }, ['v["a.b"][""] different 2 | 1']],
    [{ "\u202e": 1 }, {}, ['v["\\u202e"] unexpected nothing | 1']],
    [{ x: "\ud800" }, { x: "\ud801" }, ['v.x different "\\ud801" | "\\ud800"']],
  ];
  for (const [actual, expected, lines] of table) assertEquals(linesOf(actual, expected), lines);
});

Deno.test("valueDifferences() asks matchers wherever they stand", () => {
  const even = matching((value) => Number(value) % 2 === 0, "an even number");
  const table: [actual: unknown, expected: unknown, lines: string[]][] = [
    [4, even, []],
    [{ a: [4, "x"] }, { a: [even, anything()] }, []],
    [{ a: [5, "x"] }, { a: [even, anything()] }, ["v.a[0] different an even number | 5"]],
    [{}, { a: even }, ["v.a missing an even number | nothing"]],
    [{}, { a: optional(1), b: absent(), c: { d: 1 } }, ['v.c missing {"d":1} | nothing']],
    [{ a: 2, b: 1 }, { a: optional(1), b: absent() }, [
      "v.a different 1 or left out | 2",
      "v.b different left out | 1",
    ]],
    [new Set([4, 5]), new Set([closeTo(4.4, 0.5), closeTo(4.9, 1)]), []],
    [new Set([4, 9]), new Set([closeTo(4.4, 0.5), closeTo(4.9, 1)]), [
      "v missing 4.9 give or take 1 | nothing",
      "v unexpected nothing | 9",
    ]],
    // What the first could take as well, only the second can take.
    [new Set([4, 5]), new Set([closeTo(4.5, 1), closeTo(4, 0.1)]), []],
    [new Map([["a", 4]]), new Map([["a", even]]), []],
  ];
  for (const [actual, expected, lines] of table) assertEquals(linesOf(actual, expected), lines);
});

Deno.test("valueDifferences() tells what a matcher throws, and that it decides nothing", () => {
  const judge = matching(() => {
    throw new Error("no judge was\u001b[31m asked");
  }, "kind words");
  const promised = matching((() => Promise.resolve(false)) as unknown as () => boolean, "later");
  assertEquals(linesOf({ a: 1 }, { a: judge }), [
    "v.a different kind words | 1 (no judge was\\u001b[31m asked)",
  ]);
  assertEquals(linesOf(1, promised), [
    "v different later | 1 (Cannot match later as its predicate must give true or false: " +
    "it gave a promise)",
  ]);
  const options = { name: "v" };
  assert(isUndecided(valueDifferences([1, 2], [judge, judge], options)));
  assert(!isUndecided(valueDifferences([1, 2], [judge, 3], options)));
  assert(!isUndecided(valueDifferences([1, 2], [1, 2], options)));
});

Deno.test("valueDifferences() compares values of every kind by what can be seen of them", () => {
  const now = new Date(5);
  const key = { k: 1 };
  const equal: [actual: unknown, expected: unknown][] = [
    [/a/g, /a/g],
    [new URL("https://a.example"), new URL("https://a.example/")],
    [new URLSearchParams("a=1"), new URLSearchParams({ a: "1" })],
    [new Map([[key, [1]], [{ k: 2 }, [2]]]), new Map([[{ k: 2 }, [2]], [{ k: 1 }, [1]]])],
    [new Set([new Set([1]), new Set([2])]), new Set([new Set([2]), new Set([1])])],
    [new Uint8Array([1, 2]).buffer, new Uint8Array([1, 2]).buffer],
    [new Point(1, 2), new Point(1, 2)],
    [new Cart("pen"), new Cart("pen")],
    [new RangeError("far"), new RangeError("far")],
    [{ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 1 }],
    [Deno, Deno],
  ];
  for (const [actual, expected] of equal) assertEquals(linesOf(actual, expected), []);
  const different: [actual: unknown, expected: unknown, lines: string[]][] = [
    [new Date(0), now, [
      "v different Date 1970-01-01T00:00:00.005Z | Date 1970-01-01T00:00:00.000Z",
    ]],
    [/a/g, /a/i, ["v different RegExp /a/i | RegExp /a/g"]],
    [new Map([["a", 1], ["b", 2]]), new Map([["a", 2], ["c", 3]]), [
      "v.a different 2 | 1",
      "v.c missing 3 | nothing",
      "v.b unexpected nothing | 2",
    ]],
    [new Map([[1, { x: 1 }]]), new Map([[1, { x: 2 }]]), ["v[1].x different 2 | 1"]],
    [new Map([[key, 1]]), new Map([[{ k: 1 }, 2]]), [
      'v missing [{"k":1},2] | nothing',
      'v unexpected nothing | [{"k":1},1]',
    ]],
    [new Set([1, 2]), new Set([2, 3]), ["v missing 3 | nothing", "v unexpected nothing | 1"]],
    [new Set([{ a: 1 }]), new Set([{ a: 2 }]), [
      'v missing {"a":2} | nothing',
      'v unexpected nothing | {"a":1}',
    ]],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3]), ["v[1] different 3 | 2"]],
    [new Uint8Array(1).buffer, new Uint8Array([1]).buffer, ["v[0] different 1 | 0"]],
    [new Point(1, 2), new Point(1, 3), ["v.y different 3 | 2"]],
    [new Point(1, 2), { x: 1, y: 2 }, ['v different {"x":1,"y":2} | Point {"x":1,"y":2}']],
    [new Cart("pen"), new Cart("ink"), ['v.items[0] different "ink" | "pen"']],
    [new Cart("pen"), new Point(1, 2), [
      'v different Point {"x":1,"y":2} | Cart {"items":["pen"]}',
    ]],
    // What cannot be seen cannot be held equal.
    [new Sealed(1), new Sealed(1), ["v different Sealed {} | Sealed {}, but not the same"]],
    [new WeakSet(), new WeakSet(), ["v different WeakSet {} | WeakSet {}, but not the same"]],
    [Promise.resolve(1), Promise.resolve(1), [
      "v different Promise {} | Promise {}, but not the same",
    ]],
    [Object.assign(Promise.resolve(1), { n: 1 }), Object.assign(Promise.resolve(2), { n: 1 }), [
      'v different Promise {"n":1} | Promise {"n":1}, but not the same',
    ]],
    [new RangeError("far"), new RangeError("near"), ['v.message different "near" | "far"']],
    [{ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 2 }, ["v[Symbol(s)] different 2 | 1"]],
    [1n, 2n, ["v different 2n | 1n"]],
    [[undefined], [null], ["v[0] different null | undefined"]],
  ];
  for (const [actual, expected, lines] of different) {
    assertEquals(linesOf(actual, expected), lines);
  }
});

Deno.test("partial allows more in objects, maps, sets and instances, and nothing else", () => {
  const table: [actual: unknown, expected: unknown, lines: string[]][] = [
    [{ a: [1, 2] }, { a: [1] }, ["v.a[1] unexpected nothing | 2"]],
    [{ a: 1 }, { a: 1, b: 2 }, ["v.b missing 2 | nothing"]],
    [new Map([["a", 1], ["b", 2]]), new Map([["a", 1]]), []],
    [new Set([{ a: 1, b: 2 }, { a: 3 }]), new Set([{ a: 1 }]), []],
    [new Set([{ a: 1, b: 2 }, { a: 3 }]), new Set([{ a: 2 }]), ['v missing {"a":2} | nothing']],
    [new Cart("pen"), { items: ["pen"] }, []],
    [new Cart("pen"), { items: ["ink"] }, ['v.items[0] different "ink" | "pen"']],
    [new Map(), {}, ["v different {} | Map {}"]],
    [[1], {}, ["v different {} | [1]"]],
    [new Date(0), {}, ["v different {} | Date 1970-01-01T00:00:00.000Z"]],
    [{ x: 1, y: 2 }, new Point(1, 2), ['v different Point {"x":1,"y":2} | {"x":1,"y":2}']],
  ];
  for (const [actual, expected, lines] of table) {
    assertEquals(linesOf(actual, expected, { partial: true }), lines);
  }
});

Deno.test("what is to be ignored has no differences, whether it is there or not", () => {
  const table: [actual: unknown, expected: unknown, ignore: string[], lines: string[]][] = [
    [{ date: 1 }, {}, ["date"], []],
    [{}, { date: 2 }, ["date"], []],
    [{ a: { date: 1 }, date: 1 }, { a: { date: 2 }, date: 2 }, ["a.date"], [
      "v.date different 2 | 1",
    ]],
    [[{ id: 1, x: 1 }, { id: 2 }], [{ id: 3, x: 2 }, {}], ["[*].id"], ["v[0].x different 2 | 1"]],
    [[{ id: 1 }, { id: 2 }], [{ id: 3 }, { id: 4 }], ["[0].id"], ["v[1].id different 4 | 2"]],
    [{ a: [1, 2] }, { a: [1] }, ["a[1]"], []],
    [{ a: [1, 2, 3] }, { a: [] }, ["a[*]"], []],
    [{ 0: 1 }, { 0: 2 }, ["[0]"], ["v.0 different 2 | 1"]],
    [{ 0: 1 }, { 0: 2 }, ["0"], []],
    [{ "*": 1, b: 2 }, { "*": 2, b: 3 }, ['["*"]'], ["v.b different 3 | 2"]],
    [new Map([["a", { t: 1 }]]), new Map([["a", { t: 2 }]]), ["a.t"], []],
    [new Set([{ t: 1, x: 1 }]), new Set([{ t: 2, x: 1 }]), ["[*].t"], []],
    [new Cart("pen"), new Cart("ink"), ["items"], []],
  ];
  for (const [actual, expected, ignore, lines] of table) {
    assertEquals(linesOf(actual, expected, { ignore }), lines);
  }
});

Deno.test("a star stands for every part: items, members, entries of maps and keys of objects", () => {
  const one = { a: { t: 1, x: 1 }, b: { t: 2 } };
  const other = { a: { t: 3, x: 2 }, b: { t: 4 }, c: {} };
  const lines = ["v.a.x different 2 | 1", "v.c missing {} | nothing"];
  const ignore = ["[*].t"];
  assertEquals(linesOf(one, other, { ignore }), lines);
  const maps = [one, other].map((value) => new Map(Object.entries(value)));
  assertEquals(linesOf(maps[0], maps[1], { ignore }), lines);
  assertEquals(linesOf(one, other, { ignore: ["[*]"] }), []);
  const numbered = new Map([[7, { t: 1 }]]);
  assertEquals(linesOf(numbered, new Map([[7, { t: 2 }]]), { ignore }), []);
  const by = Symbol("by");
  assertEquals(linesOf({ [by]: { t: 1 } }, { [by]: { t: 2 } }, { ignore }), []);
  const keyed = (t: number) => new Map([[{ k: 1 }, { t }]]);
  assertEquals(linesOf(keyed(1), keyed(2), { ignore: ["[*][1].t"] }), []);
  const orders = (t: number) => ({ orders: new Map([["o1", { lines: [{ t }] }]]) });
  assertEquals(linesOf(orders(1), orders(2), { ignore: ["orders[*].lines[*].t"] }), []);
  assertEquals(linesOf(orders(1), orders(2), { ignore: ["orders[*].t"] }).length, 1);
  // A key that is a star is but a key.
  assertEquals(linesOf({ "*": 1, b: 1 }, { "*": 2, b: 1 }, { ignore: ['["*"]'] }), []);
  assertEquals(linesOf({ b: 1 }, { b: 2 }, { ignore: ['["*"]'] }).length, 1);
});

Deno.test("sets and lists in any order of a thousand members are compared, in whatever order", () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => index);
  const shuffled = numbers.toSorted((one, other) => one * 7 % 1_000 - other * 7 % 1_000);
  const make = (id: number) => ({ id, name: `n${id}`, in: { list: [id] } });
  const again = (id: number) => ({ in: { list: [id] }, name: `n${id}`, id });
  const actual = numbers.map(make);
  const expected = shuffled.map(again);
  assertEquals(linesOf(new Set(actual), new Set(expected)), []);
  assertEquals(linesOf(actual, inAnyOrder(...expected)), []);
  assertEquals(
    linesOf(
      new Map(actual.map((key) => [key, 1])),
      new Map(expected.map((key) => [key, 1])),
    ),
    [],
  );
  const partial = numbers.map((id) => ({ id }));
  assertEquals(linesOf(new Set(actual), new Set(partial), { partial: true }), []);
  const other = { ...make(0), name: "other" };
  assertEquals(linesOf(new Set(actual), new Set(expected.with(0, other as never))).length, 2);
  assertEquals(linesOf(actual, inAnyOrder(...expected.with(0, other as never))).length, 1);
});

Deno.test("of members that stand for more than one, each finds its own", () => {
  const [both, one] = [{ a: 1, b: 2 }, { a: 1 }];
  const expected = new Set([one, { a: 1, b: absent() }]);
  // The first takes both, and one of them is the very same: only that will do for the second.
  assertEquals(linesOf(new Set([one, both]), expected, { partial: true }), []);
  assertEquals(linesOf(new Set([both, one]), expected, { partial: true }), []);
});

Deno.test("one object in two places is compared in both where something is ignored in one", () => {
  const [one, other] = [{ t: 1, list: [1] }, { t: 2, list: [1] }];
  const ignore = ["a.t"];
  const line = "v.b.t different 2 | 1";
  assertEquals(linesOf({ a: one, b: one }, { a: other, b: other }, { ignore }), [line]);
  assertEquals(linesOf({ b: one, a: one }, { b: other, a: other }, { ignore }), [line]);
});

Deno.test("a pair of members that was tried in vain is not taken for equal later", () => {
  const [one, two] = [{ n: 1 }, { n: 2 }];
  const actual = { set: new Set([one, two]), last: one };
  const expected = { set: new Set([{ n: 1 }, two]), last: two };
  assertEquals(linesOf(actual, expected), ["v.last.n different 2 | 1"]);
});

interface Node {
  next?: Node;
  members?: Set<Node>;
  map?: Map<Node, Node>;
  n: number;
}

/** A value that leads back to itself in every way. */
function circle(n: number): Node {
  const node: Node = { n };
  node.next = { n, next: node };
  node.members = new Set([node]);
  node.map = new Map([[node, node]]);
  return node;
}

Deno.test("values that go in circles, deep ones and those with many ways to each part come to an end", () => {
  assertEquals(linesOf(circle(1), circle(1)), []);
  assert(linesOf(circle(1), circle(2)).includes("v.n different 2 | 1"));
  const deep = (end: number) => {
    let value: unknown = end;
    for (let level = 0; level < 50_000; level++) value = level % 2 === 0 ? [value] : { a: value };
    return value;
  };
  assertEquals(linesOf(deep(1), deep(1)), []);
  const [line, ...others] = linesOf(deep(1), deep(2));
  assert(line!.startsWith("v.a[0].a[0]") && line!.endsWith("… different 2 | 1"), line);
  assertEquals(others, []);
  const shared = (end: number) => {
    let value: unknown = { end };
    for (let level = 0; level < 60; level++) value = { left: value, right: value };
    return value;
  };
  assertEquals(linesOf(shared(1), shared(1)), []);
  assertEquals(linesOf(shared(1), shared(2)).length, 1);
});

const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(1, 2, "1", null, true, ""),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__", "0"), tie("value"), { maxKeys: 3 }),
  ),
})).value;

/** What partial allows, said another way. */
function isWithin(expected: JsonValue, actual: JsonValue): boolean {
  if (typeof expected !== "object" || expected === null) return expected === actual;
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(expected) !== Array.isArray(actual)) return false;
  if (Array.isArray(expected) && expected.length !== (actual as JsonValue[]).length) return false;
  return Object.entries(expected).every(([key, value]) =>
    Object.hasOwn(actual, key) && isWithin(value, (actual as Record<string, JsonValue>)[key]!)
  );
}

/** Pairs that are often alike. */
const pairs = fc.tuple(json, json, fc.nat({ max: 2 })).map(([one, other, kind]) =>
  [one, kind === 0 ? other : kind === 1 ? structuredClone(one) : altered(one)] as const
);

/** The value without the last thing in it. */
function altered(value: JsonValue): JsonValue {
  const text = JSON.stringify(value);
  return JSON.parse(text.replace(/"a":1|"1"/, (part) => part === '"1"' ? "1" : '"a":1,"b":9'));
}

Deno.test("there are no differences exactly where a value meets what is expected", () => {
  let alike = 0;
  let within = 0;
  fc.assertAll(
    fc.property(pairs, ([expected, actual]) => {
      const isRight = meets(actual, expected);
      const partial = linesOf(actual, expected, { partial: true }).length === 0;
      assertEquals(linesOf(actual, expected).length === 0, isRight);
      assertEquals(partial, isWithin(expected, actual));
      if (isRight) alike++;
      else if (partial) within++;
    }),
    { numRuns: 1_000 },
  );
  assert(alike > 250 && within > 2, `${alike} alike, ${within} within`);
});

Deno.test("values of every kind differ exactly where assertEquals() says so", () => {
  const kinds = { withMap: true, withSet: true, withDate: true, withBigInt: true, maxDepth: 3 };
  const value = fc.anything({ ...kinds, withNullPrototype: true, withTypedArray: true });
  let different = 0;
  fc.assertAll(
    fc.property(fc.clone(value, 2), value, ([one, same], other) => {
      assertEquals(linesOf(one, same), []);
      const isEqual = isSame(one, other);
      assertEquals(linesOf(one, other).length === 0, isEqual);
      assertEquals(linesOf({ in: [one] }, { in: [other] }).length === 0, isEqual);
      if (!isEqual) different++;
    }),
    { numRuns: 500 },
  );
  assert(different > 300, `${different} different`);
});

function isSame(one: unknown, other: unknown): boolean {
  try {
    assertEquals(one, other);
    return true;
  } catch {
    return false;
  }
}

Deno.test("what stands at an ignored path never changes the differences", () => {
  fc.assert(
    fc.property(json, json, json, json, (one, other, here, there) => {
      const at = (value: JsonValue, ...own: JsonValue[]) =>
        own.length === 0 ? { value, list: [{}] } : { value, x: own[0]!, list: [{ x: own[0]! }] };
      const ignore = ["x", "list[*].x"];
      const plain = linesOf(at(one), at(other));
      assertEquals(linesOf(at(one, here), at(other, there), { ignore }), plain);
      assertEquals(linesOf(at(one, here), at(other), { ignore }), plain);
      assertEquals(linesOf(at(one), at(other, there), { ignore }), plain);
    }),
    { numRuns: 200 },
  );
});
