import { assert, assertEquals, assertThrows } from "@std/assert";
import type { CallExpectation, ExpectedCall } from "../../../lib/tools/expected_call.ts";
import { CheckedCall, differencesOf } from "../../../lib/calls/expected/checked_call.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import {
  absent,
  anyOf,
  anything,
  inAnyOrder,
  matching,
  optional,
} from "../../../lib/calls/expected/matchers.ts";
import { made, toolWith } from "../../support/calls.ts";
import fc from "../../support/fast_check.ts";

const SEARCH = toolWith("search", {
  text: { type: "string" },
  limit: { type: "integer", default: 10 },
  unit: { $ref: "#/$defs/unit", default: "km" },
  filters: {
    type: "object",
    properties: { sort: { enum: ["date", "name"], default: "date" }, since: { type: "string" } },
  },
  pages: { type: "array", items: { properties: { size: { default: 20 } } } },
  area: { default: { x: 0, y: 0 } },
});

/** How arguments differ from expected ones, each difference as a line. */
function linesOf(given: JsonValue, expected: Omit<ExpectedCall, "tool">, tool = SEARCH): string[] {
  return differencesOf(made("search", given), { tool: "search", ...expected }, tool)
    .map(({ path, kind, expected, actual }) => `${path} ${kind} ${expected} | ${actual}`);
}

Deno.test("differencesOf() tells each argument, and part of one, that is not as expected", () => {
  const table: [given: JsonValue, expected: Omit<ExpectedCall, "tool">, lines: string[]][] = [
    [{ text: "pen" }, {}, []],
    [{ text: "pen", x: 1 }, { arguments: { text: "ink", y: 2 } }, [
      'arguments.text different "ink" | "pen"',
      "arguments.y missing 2 | nothing",
      "arguments.x unexpected nothing | 1",
    ]],
    [{ text: "pen", x: [{ a: 1, b: 2 }] }, { match: "partial", arguments: { x: [{ a: 1 }] } }, []],
    [{ text: "pen", force: true }, {
      match: "partial",
      arguments: { text: anything(), force: absent() },
    }, ["arguments.force different left out | true"]],
    [{ items: [{ id: 1, n: 1 }, { id: 2, n: 2 }] }, {
      arguments: { items: [{ n: 1 }, { n: 3 }] },
      ignore: ["items[*].id"],
    }, ["arguments.items[1].n different 3 | 2"]],
    [{ text: "Rome" }, { arguments: { text: anyOf("Paris", "Lyon"), x: optional(1) } }, [
      'arguments.text different any of "Paris", "Lyon" | "Rome"',
    ]],
    [["pen"], { arguments: { text: "pen" } }, ['arguments different {"text":"pen"} | ["pen"]']],
    [null, { arguments: {} }, ["arguments different {} | null"]],
    [JSON.parse('{"__proto__":1}'), { arguments: JSON.parse('{"__proto__":2}') }, [
      "arguments.__proto__ different 2 | 1",
    ]],
  ];
  for (const [given, expected, lines] of table) assertEquals(linesOf(given, expected), lines);
});

Deno.test("differencesOf() lets defaults of the schema be given and left out, unless they are refused", () => {
  const table: [given: JsonValue, expected: JsonObject, lines: string[]][] = [
    [{ text: "pen", limit: 10 }, { text: "pen" }, []],
    [{ text: "pen" }, { text: "pen", limit: 10 }, []],
    [{ text: "pen", limit: 11 }, { text: "pen" }, ["arguments.limit unexpected nothing | 11"]],
    [{ text: "pen" }, { text: "pen", limit: 11 }, ["arguments.limit missing 11 | nothing"]],
    [{ limit: "10" }, {}, ['arguments.limit unexpected nothing | "10"']],
    [{ limit: 10 }, { limit: 11 }, ["arguments.limit different 11 | 10"]],
    [{ unit: "km" }, {}, []],
    [{ filters: { since: "2026", sort: "date" } }, { filters: { since: "2026" } }, []],
    [{ filters: { since: "2026" } }, { filters: { since: "2026", sort: "date" } }, []],
    [{ filters: { since: "2026" } }, { filters: { since: "2026", sort: "name" } }, [
      'arguments.filters.sort missing "name" | nothing',
    ]],
    [{ pages: [{}, { size: 20 }] }, { pages: [{ size: 20 }, {}] }, []],
    [{ area: { y: 0, x: 0 } }, {}, []],
    [{}, { area: { y: 0, x: 0 } }, []],
    [{ area: { x: 0 } }, {}, ['arguments.area unexpected nothing | {"x":0}']],
    // A parameter of the same name elsewhere has no default.
    [{ filters: { limit: 10 } }, { filters: {} }, [
      "arguments.filters.limit unexpected nothing | 10",
    ]],
  ];
  for (const [given, expected, lines] of table) {
    assertEquals(linesOf(given, { arguments: expected }), lines);
  }
  const refused = { defaults: "refused" } as const;
  assertEquals(linesOf({ limit: 10 }, { arguments: {}, ...refused }), [
    "arguments.limit unexpected nothing | 10",
  ]);
  assertEquals(linesOf({}, { arguments: { limit: 10 }, ...refused }), [
    "arguments.limit missing 10 | nothing",
  ]);
  const unknown = { tool: "search", arguments: {} };
  assertEquals(differencesOf(made("search", { limit: 10 }), unknown, undefined).length, 1);
  assertEquals(linesOf({}, { arguments: { limit: anyOf(5, 10), unit: anyOf("m") } }), [
    'arguments.unit missing any of "m" | nothing',
  ]);
});

Deno.test("the default of one parameter is not that of another one with the same value", () => {
  const place = (unit: string) => ({ properties: { unit: { default: unit } } });
  const tool = toolWith("route", { from: place("km"), to: place("miles") });
  const [given, expected] = [{}, { unit: "km" }];
  const route = { tool: "route", arguments: { from: expected, to: expected } };
  const paths = differencesOf(made("route", { from: given, to: given }), route, tool)
    .map(({ path }) => path);
  assertEquals(paths, ["arguments.to.unit"]);
});

Deno.test("differencesOf() tells another tool, and arguments that are no JSON", () => {
  const expected = { tool: "search", arguments: { text: "pen" } };
  assertEquals(differencesOf(made("serach", { text: "ink" }), expected, undefined), [
    { path: "tool", expected: '"search"', actual: '"serach"', kind: "different" },
    { path: "arguments.text", expected: '"pen"', actual: '"ink"', kind: "different" },
  ]);
  const broken = { tool: "search", arguments: undefined, written: '{"text":\u0007' };
  assertEquals(differencesOf(broken, expected, SEARCH), [{
    path: "arguments",
    expected: '{"text":"pen"}',
    actual: 'no JSON: {"text":\\u0007',
    kind: "different",
  }]);
  assertEquals(differencesOf(broken, "search", SEARCH), []);
  assertEquals(differencesOf(made("search", 7), "search", SEARCH), []);
});

Deno.test("differencesOf() tells that a matcher threw, and of a default, too", () => {
  const judge = matching(() => {
    throw new Error("not asked yet");
  }, "kind words");
  for (const given of [{ text: "pen", limit: 3 }, { text: "pen" }] as JsonObject[]) {
    const expected = { tool: "search", arguments: { text: "pen", limit: judge } };
    const [{ error, expected: what, ...rest } = { expected: "" }, ...others] = differencesOf(
      made("search", given),
      expected,
      SEARCH,
    );
    assertEquals([what, error, others], ["kind words", "not asked yet", []], JSON.stringify(rest));
  }
});

Deno.test("expected calls that cannot be used are refused", () => {
  const circle: Record<string, JsonValue> = {};
  circle["self"] = [circle];
  const call = (rest: object) => ({ tool: "search", ...rest }) as CallExpectation;
  const table: [expected: unknown, message: string][] = [
    ["", "at tool: "],
    [7, "Cannot use an expected call:\n  at the top: "],
    [undefined, "Cannot use an expected call:\n  at the top: "],
    [{}, "at tool: "],
    [call({ arguements: {} }), 'Unrecognized key: "arguements"'],
    [call({ match: "loose" }), "at match: "],
    [call({ defaults: true }), "at defaults: "],
    [call({ ignore: "date" }), "at ignore: "],
    [call({ ignore: ["a", "b..c"] }), 'Cannot use path "b..c"'],
    [
      call({ arguments: { to: matching(() => true, "whole") }, ignore: ["to.id"] }),
      "Cannot ignore to.id as a path must not end in a matcher",
    ],
    [
      call({ arguments: { items: inAnyOrder({ id: 1 }) }, ignore: ["items[0].id"] }),
      "Cannot ignore items[0].id as a path must not end in a matcher",
    ],
    [call({ arguments: [] }), "at arguments: must be a plain object"],
    [call({ arguments: new Map() }), "at arguments: must be a plain object"],
    [call({ arguments: null }), "at arguments: must be a plain object"],
    [
      call({ arguments: { a: [{ b: undefined }] } }),
      "Cannot expect a call of search as its arguments must be values of JSON or matchers: " +
      "arguments.a[0].b is undefined, and what may be left out is optional() or absent()",
    ],
    [call({ arguments: { a: NaN } }), "arguments.a is NaN"],
    [
      call({ arguments: { a: [optional(2 ** 53)] } }),
      "arguments.a[0] is 9007199254740992, a rounded number: write an integer beyond 2^53 as bigint",
    ],
    [call({ arguments: { a: () => 1 } }), "arguments.a is a function"],
    [call({ arguments: { a: new Date() } }), "arguments.a is of class Date"],
    [
      "serach",
      "Cannot expect a call of serach as it must be one of the tools: there is no tool of this " +
      "name, and the nearest is search",
    ],
    ["Search", "the nearest is search"],
    [`${"x".repeat(10_000)}`, "the nearest is "],
  ];
  for (const [expected, message] of table) {
    const tools = [toolWith("delete"), SEARCH, toolWith("move")];
    assertThrows(() => new CheckedCall(expected as CallExpectation, tools), InputError, message);
  }
  // Where no tools are known, any may be.
  assertEquals(new CheckedCall("anything").tool, "anything");
  assertEquals(linesOf({}, { arguments: circle }).length, 1);
});

Deno.test("expected calls are told in words", () => {
  const table: [expected: CallExpectation, words: string][] = [
    ["search", "search"],
    [{ tool: "sea\nrch" }, "sea\\nrch"],
    [{ tool: "search", arguments: { text: anyOf("a", 1) } }, 'search({"text":any of "a", 1})'],
    [{ tool: "search", arguments: {}, match: "partial" }, "search({}, and others)"],
    [
      { tool: "search", arguments: { a: 1 }, ignore: ["date", "items[*].id"] },
      'search({"a":1}, except date, items[*].id)',
    ],
  ];
  for (const [expected, words] of table) assertEquals(`${new CheckedCall(expected)}`, words);
});

Deno.test("arguments and expectations may nest by thousands", () => {
  const deep = (levels: number, end: JsonValue): JsonObject => {
    let value = end;
    for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
    return { value };
  };
  const expected = { tool: "f", arguments: deep(3_000, 1) };
  const tool = toolWith("f", { value: {} });
  assertEquals(differencesOf(made("f", deep(3_000, 1)), expected, tool), []);
  assertEquals(differencesOf(made("f", deep(3_000, 2)), expected, tool).length, 1);
  const written = '{"value":' + "[".repeat(100_000) + "]".repeat(100_000) + "}";
  const given = { tool: "f", arguments: JSON.parse(written), written };
  assertEquals(differencesOf(given, expected, tool).length, 1);
  assertEquals(differencesOf(given, { tool: "f", arguments: {} }, tool).length, 1);
});

Deno.test("how arguments are compared counts within matchers, too", () => {
  const admin = anyOf({ k: "admin" }, { k: "root" });
  const items = inAnyOrder({ n: 1, id: 0 }, { n: 2, id: 0 });
  const filters = anyOf({ since: "2026" }, { since: "2025" });
  const table: [given: JsonObject, expected: Omit<ExpectedCall, "tool">, right: boolean][] = [
    [{ to: { k: "root", y: 2 } }, { arguments: { to: admin } }, false],
    [{ to: { k: "root", y: 2 } }, { arguments: { to: admin }, match: "partial" }, true],
    [{ to: { k: "user", y: 2 } }, { arguments: { to: admin }, match: "partial" }, false],
    [{ to: { k: "root", y: 2 } }, { arguments: { to: admin }, ignore: ["to.y"] }, true],
    [{ to: { k: "user" } }, { arguments: { to: admin }, ignore: ["to.k"] }, true],
    [{ to: { k: "root", y: 2 } }, { arguments: { to: optional(admin) }, match: "partial" }, true],
    [{}, { arguments: { to: optional(admin) }, match: "partial" }, true],
    [
      { to: [{ k: "root", y: 2 }] },
      { arguments: { to: inAnyOrder(admin) }, match: "partial" },
      true,
    ],
    [{ items: [{ n: 2, id: 7 }, { n: 1, id: 8 }] }, { arguments: { items } }, false],
    [
      { items: [{ n: 2, id: 7 }, { n: 1, id: 8 }] },
      { arguments: { items }, ignore: ["items[*].id"] },
      true,
    ],
    [{ items: [{ n: 2 }, { n: 1 }] }, { arguments: { items }, ignore: ["items[*].id"] }, true],
    [{ items: [{ n: 2 }, { n: 2 }] }, { arguments: { items }, ignore: ["items[*].id"] }, false],
    [{ items: [{ n: 2 }] }, { arguments: { items }, ignore: ["items[*].id"] }, false],
    [{ items: [{ n: 2 }] }, { arguments: { items }, ignore: ["items[*].n"] }, false],
    [{ items: [7] }, { arguments: { items }, ignore: ["items[*]"] }, true],
    [{ items: 7 }, { arguments: { items }, ignore: ["items[*]"] }, false],
    [{ items: {} }, { arguments: { items: inAnyOrder() } }, false],
    [
      { items: [{ n: 2, id: 0, x: 1 }, { n: 1, id: 0 }] },
      { arguments: { items }, match: "partial" },
      true,
    ],
    [
      { items: [{ n: 1, id: 0 }, { n: 2, id: 0 }, { n: 3 }] },
      { arguments: { items }, match: "partial" },
      false,
    ],
    [{ filters: { since: "2025", sort: "date" } }, { arguments: { filters } }, true],
    [{ filters: { since: "2025", sort: "name" } }, { arguments: { filters } }, false],
    [
      { filters: { since: "2025", sort: "date" } },
      { arguments: { filters }, defaults: "refused" },
      false,
    ],
    [{ pages: [{ n: 2, size: 20 }, { n: 1 }] }, {
      arguments: { pages: inAnyOrder({ n: 1 }, { n: 2 }) },
    }, true],
    [{ pages: [{ n: 2, size: 21 }, { n: 1 }] }, {
      arguments: { pages: inAnyOrder({ n: 1 }, { n: 2 }) },
    }, false],
    [{ pages: 7 }, { arguments: { pages: inAnyOrder({ n: 1 }) } }, false],
  ];
  for (const [given, expected, right] of table) {
    const lines = linesOf(given, expected);
    assertEquals(lines.length, right ? 0 : 1, JSON.stringify([given, expected, lines]));
  }
});

Deno.test("what a matcher within a matcher throws is told, but where it does not matter", () => {
  const judge = matching(() => {
    throw new Error("not\u0007 asked yet");
  }, "kind words");
  const lines = (given: JsonValue, text: ReturnType<typeof anyOf>) =>
    differencesOf(made("f", { text: given }), { tool: "f", arguments: { text } }, undefined)
      .map(({ path, error }) => `${path} ${error}`);
  const unasked = ["arguments.text not\\u0007 asked yet"];
  const different = ["arguments.text undefined"];
  assertEquals(lines("Hi", anyOf(judge)), unasked);
  assertEquals(lines({ a: "Hi" }, anyOf({ a: judge })), unasked);
  assertEquals(lines({ a: "Hi", b: 1 }, anyOf({ a: judge, b: 2 })), different);
  assertEquals(lines({ a: "Hi" }, anyOf({ a: "Hi" }, { a: judge })), []);
  assertEquals(lines(["Hi", 1], inAnyOrder(1, judge)), unasked);
  assertEquals(lines(["Hi", 1], inAnyOrder(1, judge, judge)), different);
  assertEquals(lines(["Hi", 1], inAnyOrder(anyOf("Hi", judge), 1)), []);
  assertEquals(lines([{ a: "Hi", b: 1 }], inAnyOrder({ a: judge, b: 2 })), different);
});

Deno.test("a call of the tool is expected even where all of its arguments are ignored", () => {
  const expected = { tool: "f", arguments: { a: 1 }, match: "partial", ignore: ["a"] } as const;
  const differing = (tool: string, given: JsonValue) =>
    differencesOf(made(tool, given), expected, undefined).map(({ path }) => path);
  assertEquals(differing("f", { b: 2 }), []);
  assertEquals(differing("g", { a: 1 }), ["tool"]);
});

Deno.test("a matcher of one value takes what that value takes, however arguments are compared", () => {
  const inner = fc.oneof(fc.nat({ max: 1 }), fc.dictionary(fc.constantFrom("x", "y"), fc.nat(1)));
  const given = fc.dictionary(fc.constantFrom("a", "b"), inner, { maxKeys: 2 });
  const how = fc.record({
    match: fc.constantFrom("exact" as const, "partial" as const),
    ignore: fc.subarray(["a", "a.x", "[*].y", "b.x"]),
    defaults: fc.constantFrom("allowed" as const, "refused" as const),
  });
  const nested = { properties: { x: { default: 0 } } };
  const tool = toolWith("search", { a: nested, b: { ...nested, default: 1 } });
  let right = 0;
  fc.assertAll(
    fc.property(given, given, how, (one, other, options) => {
      const kinds = [anyOf, optional, (value: JsonValue) => anyOf(value, value), null];
      const [first, ...others] = kinds.map((kind) => {
        const values = Object.entries(other).map(([key, value]) =>
          [key, kind === null || !(key in one) ? value : kind(value)] as const
        );
        return linesOf(one, { arguments: Object.fromEntries(values), ...options }, tool).length > 0;
      });
      for (const outcome of others) assertEquals(outcome, first);
      const listed = { arguments: { l: inAnyOrder(other) }, ...options, ignore: [] };
      const plain = { arguments: { l: [other] }, ...options, ignore: [] };
      assertEquals(
        linesOf({ l: [one] }, listed).length > 0,
        linesOf({ l: [one] }, plain).length > 0,
      );
      if (!first) right++;
    }),
    { numRuns: 800 },
  );
  const share = right / fc.runsOf(800);
  assert(share > 0.25 && share < 0.9, `${share} right`);
});
