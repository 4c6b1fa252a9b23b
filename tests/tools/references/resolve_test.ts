import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { planCalls } from "../../../lib/tools/references/call_order.ts";
import {
  ANY_REFERENCE,
  checkableArguments,
  resolveReferences,
} from "../../../lib/tools/references/resolve.ts";
import { MAX_TEXT_LENGTH } from "../../../lib/tools/references/syntax.ts";
import { Symbols } from "../../../lib/tools/references/symbol_table.ts";
import { REFERENCE_PATTERN } from "../../../lib/tools/references/schema.ts";
import fc from "../../support/fast_check.ts";
import { assertLinearWork, FACTOR } from "../../support/growth.ts";

const ORDER: JsonObject = {
  id: 7,
  note: null,
  paid: false,
  customer: { name: "Ann", "e-mail": "ann@example.com", größe: 3 },
  lines: [{ sku: "pen", tags: [["red"]] }, { sku: "ink" }],
};
const RESULTS = new Map<string, JsonValue>([
  ["1", ORDER],
  ["call_order", ORDER],
  ["2", "Rome"],
  ["3", 21.5],
  ["4", ["a", { b: 1 }]],
  ["5", null],
  ["6", ""],
  ["7", []],
]);

/** What one argument stands for. */
function meant(written: JsonValue, parameters?: JsonObject): JsonValue {
  const { values, errors } = resolveReferences(
    { x: written },
    RESULTS,
    parameters === undefined ? {} : { parameters },
  );
  assertEquals(errors, [], JSON.stringify(written));
  return values["x"]!;
}

/** Why one argument stands for nothing. */
function fault(written: JsonValue, parameters: JsonObject = {}): string {
  const { errors, faults } = resolveReferences({ x: written }, RESULTS, { parameters });
  assertEquals(faults, ["x"]);
  return errors.join(" | ");
}

// What references mean

Deno.test("resolveReferences() puts values in the place of whole texts, with their types (Pipeline, Advanced Call Patterns)", () => {
  const table: [string, JsonValue][] = [
    ["$1.id", 7],
    ["$1.note", null],
    ["$1.paid", false],
    ["$1.customer", ORDER["customer"]!],
    ["$call_order.customer.name", "Ann"],
    ["$1.customer.e-mail", "ann@example.com"],
    ["$1.customer.größe", 3],
    ["$1.lines.0.sku", "pen"],
    ["$1.lines[1].sku", "ink"],
    ["$1.lines[0].tags[0].0", "red"],
    ["$4[0]", "a"],
    ["$4[1].b", 1],
  ];
  for (const [written, value] of table) {
    assertEquals(meant(written), value);
    assertEquals(meant([{ deep: written }]), [{ deep: value }]);
    assert(new RegExp(REFERENCE_PATTERN, "u").test(written), written);
  }
});

Deno.test("resolveReferences() lets any one field name what is no object or list (Pipeline, Advanced Call Patterns)", () => {
  assertEquals(meant("$2.city"), "Rome");
  assertEquals(meant("$3.anything_at_all"), 21.5);
  assertEquals(meant("$5.value"), null);
  assertEquals(meant("$6.text"), "");
  assertEquals(meant("Weather in $2.city: $3.degrees degrees"), "Weather in Rome: 21.5 degrees");
  assertEquals(fault("$2.city.name"), "There is no $2.city.name: $2.city is no object or list");
  assertEquals(meant("Go to $2.city.Then rest"), "Go to Rome.Then rest");
});

Deno.test("resolveReferences() writes values into longer texts, and leaves what is around them", () => {
  const table: [string, string][] = [
    ["Weather in $2.city", "Weather in Rome"],
    ["$2.city, $2.city.", "Rome, Rome."],
    ["($1.customer.name)", "(Ann)"],
    ["id-$1.id", "id-7"],
    ["order_$1.id!", "order_7!"],
    ["$1.lines.0.sku$1.lines.1.sku", "penink"],
    ["lines: $1.lines.1", 'lines: {"sku":"ink"}'],
    ["note: $1.note, paid: $1.paid", "note: null, paid: false"],
    ["$1.id-3", "7-3"],
    ["größer als $1.id。", "größer als 7。"],
  ];
  for (const [written, text] of table) assertEquals(meant(written), text);
});

Deno.test("resolveReferences() leaves alone what is no reference", () => {
  for (
    const text of [
      "$5",
      "$5.00",
      "$1.5 billion",
      "$1.",
      "$1 .id",
      "$1..id",
      "$1[",
      "$1[0",
      "$1[a]",
      "$1[-1]",
      "$1[00]",
      "$",
      "$$",
      "$$$",
      "$$5",
      "$$x$$",
      "$.id",
      "$ 1.id",
      "${1.id}",
      "€1.id",
      "1.id",
      "@1.id",
      "#1.id",
      "$1,id",
      "$-1.id",
      "C$",
    ]
  ) {
    assertEquals(meant(text), text);
    assertEquals(checkableArguments(JSON.stringify({ x: text }), {}), undefined, text);
  }
  assertEquals(meant({ "$1.id": 1 }), { "$1.id": 1 }, "keys are no values");
});

Deno.test("resolveReferences() reads two dollar signs before a reference as one", () => {
  const table: [string, string][] = [
    ["$$1.id", "$1.id"],
    ["costs $$$1.id", "costs $7"],
    ["$$$$1.id", "$$1.id"],
    ["$$$$$1.id", "$$7"],
    ["$$nobody.field", "$nobody.field"],
    ["$$1[0]", "$1[0]"],
    ["$$ $1.id", "$$ 7"],
  ];
  for (const [written, text] of table) assertEquals(meant(written), text);
});

Deno.test("resolveReferences() can give any text, if dollar signs are doubled before references", () => {
  const pieces = fc.constantFrom(
    "$",
    "$$",
    "1",
    "2",
    ".",
    ".id",
    "id",
    "[0]",
    "a-",
    " ",
    "ß",
    "😀",
  );
  const texts = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(""));
  fc.assert(fc.property(texts, (text) => {
    const written = text.replaceAll(/\$+(?=[\w-]+(?:\.[a-zß_]|\[\d))/gi, (signs) => signs + signs);
    assertEquals(meant(written), text);
  }));
});

/** A value, and the way to every part of it that can be named. */
const structures = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.constantFrom("a", "b_1", "name", "e-mail", "__proto__", "constructor", "length", "0"),
      tie("value"),
      { maxKeys: 4 },
    ),
  ),
})).value;

function partsIn(value: JsonValue, path = ""): [path: string, value: JsonValue][] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  const steps = Array.isArray(value)
    ? value.map((inner, index) => [index % 2 === 0 ? `[${index}]` : `.${index}`, inner] as const)
    : Object.entries(value).map(([key, inner]) => [`.${key}`, inner] as const);
  return [[path, value], ...steps.flatMap(([step, inner]) => partsIn(inner, path + step))];
}

Deno.test("resolveReferences() finds every part of every value", () => {
  fc.assert(fc.property(structures, (inner) => {
    const results = new Map([["1", { root: inner }], ["id_of-it", { root: inner }]]);
    for (const [path, value] of partsIn(inner, ".root")) {
      for (const name of results.keys()) {
        const { values, errors } = resolveReferences({ x: `$${name}${path}` }, results);
        assertEquals(errors, []);
        assertEquals(values, { x: value });
        const text = typeof value === "object" ? JSON.stringify(value) : String(value);
        const inText = resolveReferences({ x: `<$${name}${path}>` }, results).values;
        assertEquals(inText, { x: `<${text}>` });
      }
    }
  }));
});

Deno.test("resolveReferences() gives values as the schema asks for them", () => {
  const of = (schema: JsonValue): JsonObject => ({ type: "object", properties: { x: schema } });
  assertEquals(meant("$1.id", of({ type: "integer" })), 7);
  assertEquals(meant("$1.id", of({ type: "string" })), "7");
  assertEquals(meant("$1.note", of({ type: ["string", "null"] })), null);
  assertEquals(meant("$1.id", of({ enum: ["$1.id", "b"] })), "$1.id", "it is listed as it stands");
  assertEquals(
    fault("2*$1.id", of({ type: "integer" })),
    'Where no text is expected, write one $call.field by itself, or a value: x is "2*$1.id"',
  );
});

Deno.test("resolveReferences() says which parts there are where one is not", () => {
  assertEquals(
    fault("$1.total"),
    "There is no $1.total: $1 has the fields id, note, paid, customer, lines",
  );
  assertEquals(
    fault("$call_order.lines.2.sku"),
    "There is no $call_order.lines.2: $call_order.lines is a list with items from 0 to 1",
  );
  assertEquals(fault("$4.first"), "There is no $4.first: $4 is a list with items from 0 to 1");
  assertEquals(fault("$4[2]"), "There is no $4.2: $4 is a list with items from 0 to 1");
  assertEquals(fault("$7[0]"), "There is no $7.0: $7 is an empty list");
  assertEquals(
    fault("$8.field and $9.field"),
    "$8, $9 have no result, as in x: what is referred to was refused or has failed",
  );
  for (const path of ["__proto__", "constructor", "toString", "length"]) {
    assertStringIncludes(fault(`$1.${path}`), `There is no $1.${path}`);
    assertStringIncludes(fault(`$4.${path}`), `There is no $4.${path}`);
  }
});

Deno.test("resolveReferences() leaves what it was given as it was", () => {
  const written = { x: ["$1.id", { y: "$1.customer" }] };
  const before = structuredClone({ written, results: [...RESULTS] });
  resolveReferences(written, RESULTS);
  assertEquals({ written, results: [...RESULTS] }, before);
});

Deno.test("resolveReferences() has brackets to itself: names for values go without", () => {
  const symbols = new Symbols([["L", [1]]]);
  assertEquals(symbols.resolve("@L[0] @L.0"), "[1][0] 1");
});

// The order of calls

/** Calls that refer to others by their places. */
function callsOf(needs: readonly (readonly number[])[], ids = false) {
  return needs.map((own, place) => ({
    id: `call_${place}`,
    arguments: Object.fromEntries(
      own.map((
        need,
        at,
      ) => [`p${at}`, `${at % 2 === 0 ? "" : "text "}$${ids ? `call_${need}` : need + 1}.v`]),
    ),
  }));
}

/** Random graphs: of each call, the places that it refers to. */
const graphs = fc.integer({ min: 1, max: 12 }).chain((count) =>
  fc.array(fc.uniqueArray(fc.nat({ max: count - 1 }), { maxLength: 3 }), {
    minLength: count,
    maxLength: count,
  })
);

/** The longest way down from each call; infinite where a way leads in a circle. Slow, and plain. */
function heightsOf(needs: readonly (readonly number[])[]): number[] {
  const heightOf = (place: number, above: ReadonlySet<number>): number => {
    if (above.has(place)) return Infinity;
    const within = new Set(above).add(place);
    return Math.max(-1, ...needs[place]!.map((need) => heightOf(need, within))) + 1;
  };
  return [...needs.keys()].map((place) => heightOf(place, new Set()));
}

Deno.test("planCalls() puts each call right behind those that it refers to, and refuses circles (Pipeline, Advanced Call Patterns)", () => {
  fc.assert(fc.property(graphs, fc.boolean(), (drawn, ids) => {
    // What refers to itself is refused as that, and no part of any circle.
    const needs = drawn.map((own, place) => own.includes(place) ? [] : own);
    const heights = heightsOf(needs);
    const { levels, refusals } = planCalls(callsOf(needs, ids), { depth: 100 });
    const planned = heights.map((_, place) => levels.findIndex((level) => level.includes(place)));
    assertEquals(planned, heights.map((height) => height === Infinity ? -1 : height));
    assertEquals(levels.flat().length + refusals.size, needs.length);
    for (const level of levels) assertEquals(level, level.toSorted((one, other) => one - other));
    for (const [place, { error, fault }] of refusals) {
      assertStringIncludes(error, "in a circle");
      const lost = needs[place]!.flatMap((need, at) =>
        heights[need] === Infinity ? [`p${at}`] : []
      );
      assertEquals(fault.wrongType, lost);
    }
  }));
});

Deno.test("planCalls() carries out chains of as many calls as are allowed (Pipeline, Advanced Call Patterns)", () => {
  const chain = callsOf([[1], [2], [3], [4], [5], []]);
  const { levels, refusals } = planCalls(chain);
  assertEquals(levels, [[5], [4], [3], [2], [1]]);
  assertEquals(
    refusals,
    new Map([[0, {
      error:
        "$2 makes it call 6 of a chain, as in p0: a chain of calls that refer to each other may have 5",
      fault: { missing: [], unexpected: [], wrongType: ["p0"], malformed: false },
    }]]),
  );
  assertEquals(planCalls(chain, { depth: 1 }).levels, [[5]]);
  assertEquals(planCalls(chain, { depth: 6 }).refusals.size, 0);
});

Deno.test("planCalls() knows calls by number and by an id that no other has (Pipeline, Advanced Call Patterns)", () => {
  const written = { a: "$1.x", b: "$x-1_Y.x", c: "$7.x" };
  const { levels, refusals, names } = planCalls([
    { id: "x-1_Y", arguments: {} },
    { id: "7", arguments: {} },
    { id: "", arguments: {} },
    { arguments: {} },
    { id: "1", arguments: {} },
    { id: "twice", arguments: {} },
    { id: "user", arguments: written },
    { id: "twice", arguments: {} },
    { id: "lost", arguments: { a: "$twice.x", b: "$9.x" } },
  ]);
  // A number is a place: $7 is the call that says so, and $1 not the fifth, whose id it is.
  assertEquals(refusals.get(6)?.fault.wrongType, ["c"]);
  assertEquals(
    refusals.get(8)?.error,
    "$9 is the call itself, as in b: no call can wait for what it returns itself. " +
      "$twice is the id of several calls, as in a: its calls are $1 to $9",
  );
  assertEquals(levels, [[0, 1, 2, 3, 4, 5, 7]]);
  assertEquals(names, [
    ...[["1", "x-1_Y"], ["2"], ["3"], ["4"], ["5"], ["6"], ["7", "user"], ["8"], ["9", "lost"]],
  ]);
});

Deno.test("planCalls() refuses references to no call, and says how to write such a text", () => {
  const of = (...written: JsonObject[]) =>
    planCalls(written.map((given) => ({ arguments: given }))).refusals.get(0);
  assertEquals(of({ x: "$2.a", y: ["$HOME.b $0.c"], z: "$5" }), {
    error: "each of $2, $HOME, $0 is no call of this reply, as in x, y: its only call is $1. " +
      "Where the text itself is meant, write $$2",
    fault: { missing: [], unexpected: [], wrongType: ["x", "y"], malformed: false },
  });
  assertEquals(of({ x: "$$2.a $$$$HOME.b" }), undefined);
  for (const name of ["__proto__", "constructor", "toString"]) {
    assertStringIncludes(of({ x: `$${name}.a` }, {})!.error, `$${name} is no call of this reply`);
  }
});

Deno.test("planCalls() looks for references in nothing that is no JSON object", () => {
  for (const text of ["", "[", '"$2.a"', '["$2.a"]', "null", "$2.a"]) {
    assertEquals(planCalls([{ arguments: text }, { arguments: "{}" }]).levels, [[0, 1]]);
  }
  assertEquals(planCalls([{ arguments: '{"x":"\\u00242.a"}' }, { arguments: "{}" }]).levels, [[1], [
    0,
  ]]);
  assertEquals(planCalls([]), { levels: [], refusals: new Map(), names: [] });
});

// The shape of calls

Deno.test("checkableArguments() takes references to fit where they may stand", () => {
  const parameters: JsonObject = {
    type: "object",
    properties: {
      n: { type: "integer" },
      s: { type: "string", maxLength: 3 },
      e: { enum: ["$1.a"] },
      l: { type: "array", items: { type: "number" } },
    },
  };
  const of = (written: JsonObject) => checkableArguments(JSON.stringify(written), parameters);
  assertEquals(of({ n: "$1.a", s: "in $2.b!", l: [1, "$x[0].y"] }), {
    ...{ n: ANY_REFERENCE, s: ANY_REFERENCE, l: [1, ANY_REFERENCE] },
  });
  assertEquals(of({ n: "2*$1.a", s: "$1.b" }), { n: "2*$1.a", s: ANY_REFERENCE });
  assertEquals(of({ e: "$1.a" }), undefined);
  assertEquals(of({ n: 1, s: "$$1.a" }), { n: 1, s: "$1.a" });
  assertEquals(of({ n: 1, s: "$5" }), undefined);
  assertEquals(checkableArguments("no JSON $1.a", parameters), undefined);
  assert(new RegExp(REFERENCE_PATTERN, "u").test(ANY_REFERENCE));
});

// Hostile calls

Deno.test("nested calls survive arguments that nest too deep", () => {
  const deep = (levels: number, text: string) =>
    `{"x":${"[".repeat(levels)}${JSON.stringify(text)}${"]".repeat(levels)}}`;
  const calls = (text: string) => [{ arguments: text }, { arguments: "{}" }];
  assertEquals(planCalls(calls(deep(400, "$2.a"))).levels, [[1], [0]]);
  const { levels, refusals } = planCalls(calls(deep(5_000, "$2.a")));
  assertEquals(levels, [[1]]);
  assertEquals(
    refusals.get(0)?.error,
    "References are looked for in arguments that nest at most 500 deep",
  );
  assertEquals(planCalls(calls(deep(5_000, "$5"))).levels, [[0, 1]]);
  assertEquals(checkableArguments(deep(5_000, "$2.a"), {}), undefined);
  const written = JSON.parse(deep(5_000, "$2.a"));
  assertEquals(resolveReferences(written, RESULTS).faults, ["x"]);
  const result = { a: JSON.parse(deep(5_000, "b")) };
  assertStringIncludes(
    resolveReferences({ x: "$1.a" }, new Map([["1", result]])).errors.join(),
    "$1 has no result",
  );
});

Deno.test("nested calls keep keys such as __proto__ to themselves", () => {
  const results = new Map<string, JsonValue>([["__proto__", JSON.parse('{"__proto__":{"a":1}}')]]);
  const { values } = resolveReferences(
    JSON.parse('{"__proto__":"$__proto__.__proto__.a","constructor":"$__proto__.__proto__"}'),
    results,
  );
  assertEquals(JSON.stringify(values), '{"__proto__":1,"constructor":{"a":1}}');
  assertEquals(Object.getPrototypeOf(values), Object.prototype);
  assertEquals(({} as Record<string, unknown>)["a"], undefined);
});

Deno.test("nested calls bound how long their arguments can grow", () => {
  const half = "x".repeat(MAX_TEXT_LENGTH / 2);
  const results = new Map<string, JsonValue>([["1", { half }], ["2", { list: [half] }]]);
  assertEquals(resolveReferences({ x: "$1.half$1.half" }, results).errors, []);
  const told =
    `With the values of its names, the call is longer than ${MAX_TEXT_LENGTH} characters`;
  for (const x of ["$1.half$1.half$1.half", ["$1.half", "$2.list", "$2.list.0"]]) {
    assertEquals(resolveReferences({ x }, results).errors, [told]);
  }
});

Deno.test("nested calls take time that is linear in what a model writes", () => {
  const texts: ((size: number) => string)[] = [
    (size) => "$1.a".repeat(size / 4),
    (size) => "$".repeat(size),
    (size) => `${"$".repeat(size)}1.a`,
    (size) => `$1${".a".repeat(size / 2)}`,
    (size) => `$2${".a".repeat(size / 2)}`,
    (size) => `$1${"[0]".repeat(size / 3)}`,
    (size) => `$${"a".repeat(size)}.b`,
    (size) => "$a".repeat(size / 2),
    (size) => `$1.${"a-".repeat(size / 2)}`,
    (size) => "$1.a-".repeat(size / 5),
    (size) => `$1.${"[".repeat(size)}`,
    (size) => "$9.a".repeat(size / 4),
  ];
  const results = new Map<string, JsonValue>([["1", { a: "" }], ["2", "b"]]);
  for (const [place, text] of texts.entries()) {
    const work = (size: number) => {
      const x = text(size);
      return () => {
        planCalls([{ arguments: { x } }, { arguments: {} }]);
        resolveReferences({ x }, results);
        checkableArguments(JSON.stringify({ x }), {});
      };
    };
    assertLinearWork(work(10_000), work(FACTOR * 10_000), `text ${place}`);
  }
});

Deno.test("nested calls work on replies of 10,000 calls, in whatever way they refer to each other", () => {
  const count = 10_000;
  const places = [...new Array(count).keys()];
  const chain = places.map((place) => place === 0 ? [] : [place - 1]);
  assertEquals(planCalls(callsOf(chain), { depth: count }).levels.length, count);
  assertEquals(planCalls(callsOf(chain)).refusals.size, count - 5);
  const ring = places.map((place) => [(place + 1) % count]);
  assertEquals(planCalls(callsOf(ring)).refusals.size, count);
  const star = places.map((place) => place === 0 ? places.slice(1) : []);
  assertEquals(planCalls(callsOf(star)).levels, [places.slice(1), [0]]);
  const lost = {
    arguments: Object.fromEntries(places.map((place) => [`p${place}`, `$${place + 2}.v`])),
  };
  const { error, fault } = planCalls([lost]).refusals.get(0)!;
  assert(error.length < 1_000, error);
  assert(fault.wrongType.length <= 20);
});
