import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { spansToRemove } from "../../../lib/perturbations/_removal.ts";
import type { Change, QueryMethod } from "../../../lib/perturbations/methods.ts";
import { parseQuery } from "../../../lib/perturbations/queries/file.ts";
import {
  findParameters,
  type Query,
  type QueryParameter,
  type Span,
} from "../../../lib/perturbations/queries/literals.ts";
import { perturbQuery } from "../../../lib/perturbations/queries/perturb.ts";
import type { QueryWriter } from "../../../lib/perturbations/queries/_query_writer.ts";
import fc from "../../support/fast_check.ts";

const METHODS: readonly QueryMethod[] = ["RP_F", "RP_L", "CP", "AN"];

/** A query in which the arguments are found. */
function queryOf(text: string, arguments_: JsonObject): Query {
  return { text, parameters: findParameters(text, [{ arguments: arguments_ }]) };
}

/** What is found, as `name: text` at each place. */
function found(text: string, ...calls: JsonObject[]): string[] {
  return findParameters(text, calls.map((own) => ({ arguments: own }))).map(({ name, spans }) =>
    `${name}: ${spans.map(({ start, end }) => `${start} ${text.slice(start, end)}`).join(", ")}`
  );
}

/** The text that the changes make, and a check that they say what was there, in order and apart. */
function remade(text: string, changes: readonly Change[]): string {
  let [made, place] = ["", 0];
  for (const change of changes) {
    assert(change.kind === "text");
    const { start, end, before, after } = change;
    assert(start >= place && end >= start && end <= text.length, JSON.stringify(change));
    assertEquals(text.slice(start, end), before);
    assertNotEquals(before, after, "a change changes something");
    made += text.slice(place, start) + after;
    place = end;
  }
  return made + text.slice(place);
}

const at = (text: string, { start, end }: Span) => text.slice(start, end);

// findParameters

Deno.test("findParameters() finds texts and numbers at their places, in order", () => {
  const text = "Book 2 seats from Rome to Paris on 2026-03-04, budget 731.5";
  const calls = { to: "Paris", from: "Rome", seats: 2, budget: 731.5, date: "2026-03-04" };
  assertEquals(findParameters(text, [{ arguments: calls }]), [
    { name: "seats", value: 2, spans: [{ start: 5, end: 6 }] },
    { name: "from", value: "Rome", spans: [{ start: 18, end: 22 }] },
    { name: "to", value: "Paris", spans: [{ start: 26, end: 31 }] },
    { name: "date", value: "2026-03-04", spans: [{ start: 35, end: 45 }] },
    { name: "budget", value: 731.5, spans: [{ start: 54, end: 59 }] },
  ]);
});

Deno.test("findParameters() looks for the longest first, and claims each place once", () => {
  assertEquals(found("From New York", { a: "York", b: "New York" }), ["b: 5 New York"]);
  assertEquals(found("York, New York", { a: "York", b: "New York" }), [
    "a: 0 York",
    "b: 6 New York",
  ]);
  assertEquals(found("new york", { a: "York", b: "New York" }), ["b: 0 new york"]);
});

Deno.test("findParameters() gives all places of a value to the first parameter that has it", () => {
  assertEquals(found("Rome, Rome", { a: "Rome", b: "Rome" }, { a: "Rome" }), ["a: 0 Rome, 6 Rome"]);
  assertEquals(found("5 or 5", { number: 5, text: "5" }), ["number: 0 5, 5 5"]);
});

Deno.test("findParameters() ignores case only where a value is not there as it is written", () => {
  assertEquals(found("PARIS", { city: "Paris" }), ["city: 0 PARIS"]);
  assertEquals(found("Tell us of the US", { country: "US" }), ["country: 15 US"]);
  assertEquals(found("paris or Paris", { city: "Paris" }), ["city: 9 Paris"]);
  // Two letters are words of their own too often.
  assertEquals(found("what is in it", { a: "IN", b: "IT" }), []);
  // Offsets hold where lower case is longer than upper case.
  assertEquals(found("İİİ paris", { city: "Paris" }), ["city: 4 paris"]);
});

Deno.test("findParameters() keeps to words, in any script", () => {
  const none: [string, JsonValue][] = [
    ["Parisian", "Paris"],
    ["snake_case", "case"],
    ["Ångström", "ngström"],
    ["cafe\u0301", "cafe"],
    ["x2", 2],
    ["😀x", "\ude00x"],
    ["x😀", "x\ud83d"],
    ["กกิ", "กก"],
  ];
  for (const [text, value] of none) assertEquals(found(text, { value }), [], text);
  assertEquals(found("(Paris)", { value: "Paris" }), ["value: 1 Paris"]);
  assertEquals(found("Paris's", { value: "Paris" }), ["value: 0 Paris"]);
  assertEquals(found("Größe: Ärger.", { value: "Ärger" }), ["value: 7 Ärger"]);
  // Scripts without spaces have no such words.
  assertEquals(found("我要去北京旅游", { value: "北京" }), ["value: 3 北京"]);
  assertEquals(found("2026年", { value: 2026 }), ["value: 0 2026"]);
});

Deno.test("findParameters() tells numbers from parts of numbers", () => {
  for (const text of ["15", "0.5", "5.5", "-5", "(-5)", "5,000", "1.5.1"]) {
    assertEquals(found(text, { n: 5 }), [], text);
  }
  for (const text of ["5", "5.", "5, 6", "4,5,6", "3-5", "$5", "5%", "5km/h is 5"]) {
    assertEquals(found(text, { n: 5 }).length, 1, text);
  }
  assertEquals(found("1,500 or 500", { n: 500 }), ["n: 9 500"]);
  assertEquals(found("3-5", { n: -5 }), []);
  assertEquals(found("at -5 degrees", { n: -5 }), ["n: 3 -5"]);
  assertEquals(found("1234 or 1,234", { n: 1234 }), ["n: 0 1234, 8 1,234"]);
  assertEquals(found("1,234,567.5", { n: 1234567.5 }), ["n: 0 1,234,567.5"]);
});

Deno.test("findParameters() names values within others by their paths", () => {
  const arguments_ = { address: { city: "Rome", lines: ["Via Appia", { no: 12 }] } };
  assertEquals(found("Via Appia 12, Rome", arguments_), [
    "address.lines.0: 0 Via Appia",
    "address.lines.1.no: 10 12",
    "address.city: 14 Rome",
  ]);
});

Deno.test("findParameters() leaves out what is empty, a single letter, no text, or not there", () => {
  const arguments_ = { a: "", b: "x", c: true, d: null, e: "Lima", f: " ", g: "?", h: [], i: {} };
  assertEquals(found("x true null ?  Rome", arguments_), []);
});

Deno.test("findParameters() takes keys and values of any kind", () => {
  const hostile = JSON.parse(
    '{"__proto__":"Rome","constructor":{"toString":"Lima"},"1":"(.*)+$","2":"\\ud800"}',
  );
  assertEquals(found("Rome Lima (.*)+$ \ud800", hostile), [
    "__proto__: 0 Rome",
    "constructor.toString: 5 Lima",
    "1: 10 (.*)+$",
  ]);
  let deep: JsonValue = "Rome";
  for (let depth = 0; depth < 20_000; depth++) deep = [deep];
  assertEquals(findParameters("Rome", [{ arguments: { deep } }]).length, 1);
});

Deno.test("findParameters() copes with long texts and many values", () => {
  const text = Array.from({ length: 10_000 }, (_, number) => `word${number % 500}`).join(" ");
  const arguments_ = Object.fromEntries(
    Array.from({ length: 500 }, (_, number) => [`p${number}`, `word${number}`]),
  );
  const parameters = findParameters(text, [{ arguments: arguments_ }]);
  assertEquals(parameters.length, 500);
  assert(parameters.every(({ spans }) => spans.length === 20));
  assertEquals(findParameters("a".repeat(100_000), [{ arguments: { a: "a".repeat(50_000) } }]), []);
  // A value that overlaps itself: at the second place it is by itself.
  const long = "ab ".repeat(30_000) + "ab";
  const spans = [{ start: 2, end: long.length + 2 }];
  assertEquals(findParameters(`x ${long}`, [{ arguments: { long } }]), [
    { name: "long", value: long, spans },
  ]);
  assertEquals(found(`x${long} ${long.slice(0, 80)}`, { long: long.slice(0, 80) }).length, 1);
  const inner = `${"ab ".repeat(40)}a`;
  assertEquals(findParameters(`${"ab ".repeat(80)}a`, [{ arguments: { inner } }])[0]?.spans, [
    { start: 120, end: 241 },
  ]);
});

// RP_F and RP_L

/** What is left when the text between the marks is removed. */
function without(marked: string): string {
  const spans: Span[] = [];
  let text = "";
  for (const [number, part] of marked.split(/[<>]/).entries()) {
    if (number % 2 === 1) spans.push({ start: text.length, end: text.length + part.length });
    text += part;
  }
  const query = { text, parameters: [{ name: "x", value: "x", spans }] };
  const { value, changes } = perturbQuery("RP_F", query, { seed: 1 });
  assertEquals(remade(text, changes), value.text);
  assertEquals(value.parameters, []);
  return value.text;
}

Deno.test("perturbQuery() with RP removes what would dangle", () => {
  const cases: [string, string][] = [
    ["Book a flight to <Paris> tomorrow.", "Book a flight to tomorrow."],
    ["Book a flight to <Paris>.", "Book a flight to."],
    ["<Paris>", ""],
    ["<Paris>.", ""],
    ["from Rome, <Paris>, Lima", "from Rome, Lima"],
    ["from Rome, <Paris>.", "from Rome."],
    ["from Rome; <Paris>!", "from Rome!"],
    ["<Paris>, please", "please"],
    ["Hello. <Paris>. Thanks.", "Hello. Thanks."],
    ["It is (<Paris>, France).", "It is (France)."],
    ["in the capital (<Paris>) now", "in the capital now"],
    ["in the capital ( <Paris> ).", "in the capital."],
    ['find "<dark matter>".', "find."],
    ["find [(<x>)] now", "find now"],
    ['say "<x> y"', 'say "y"'],
    ['the "best" <x> "worst"', 'the "best" "worst"'],
    ["<Paris>'s weather in <Paris>", "'s weather in"],
    ["call(<x>)now", "call()now"],
    ["<x> and <x> or <x> <x> not", "and or not"],
    ["a <x>, <x>, <x> b", "a, b"],
    ["a\n<x>\nb", "a\nb"],
    ["a\n  <x>.  \nb", "a\nb"],
    ["a\n\n<x>\n\nb", "a\n\nb"],
    ["a\n<x>\n<x>\nb", "a\nb"],
    ["- Rome\n- <x>\n- Lima", "- Rome\n- Lima"],
    ["  <x> y", "  y"],
    ["a <x> .NET b", "a .NET b"],
    ["a <x> 5", "a 5"],
    ["去<北京>、上海。", "去、上海。"],
    ['say "a!" <x> "b"', 'say "a!" "b"'],
    ["a\n<x>\n\nb", "a\n\nb"],
    ["Wait.<x>, now", "Wait. now"],
    ["a (<x> <x>) <x>", "a"],
    ["Dear Bob,\n<x>\nThanks", "Dear Bob,\nThanks"],
    ["no  spaces <x> touched  elsewhere , here", "no  spaces touched  elsewhere , here"],
  ];
  for (const [marked, left] of cases) assertEquals(without(marked), left, marked);
});

Deno.test("perturbQuery() with RP_F and RP_L goes by place, whatever the order of the parameters (Butterfly 4.2, A.3.2)", () => {
  const query = queryOf("Rome to Paris to Lima", { z: "Lima", a: "Paris", m: "Rome" });
  const shuffled = { ...query, parameters: query.parameters.toReversed() };
  for (const one of [query, shuffled]) {
    assertEquals(perturbQuery("RP_F", one, { seed: 1 }).value.text, "to Paris to Lima");
    assertEquals(perturbQuery("RP_L", one, { seed: 1 }).value.text, "Rome to Paris to");
  }
});

Deno.test("perturbQuery() with RP removes all information of a parameter, and no other value (Butterfly 4.2, A.3.2)", () => {
  const text = "Find x.\nVariable a = 731\nVariable b = 205";
  const query: Query = {
    text,
    parameters: [
      {
        name: "a",
        value: 731,
        spans: [{ start: 21, end: 24 }],
        information: [{ start: 8, end: 24 }],
      },
      {
        name: "b",
        value: 205,
        spans: [{ start: 38, end: 41 }],
        information: [{ start: 25, end: 41 }, { start: -3, end: 900 }],
      },
    ],
  };
  const first = perturbQuery("RP_F", query, { seed: 1 });
  assertEquals(first.value, {
    text: "Find x.\nVariable b = 205",
    parameters: [
      {
        name: "b",
        value: 205,
        spans: [{ start: 21, end: 24 }],
        information: [{ start: 8, end: 24 }],
      },
    ],
  });
  const last = perturbQuery("RP_L", query, { seed: 1 });
  assertEquals(last.value.text, "Find x.\nVariable a = 731");
  assertEquals(perturbQuery("RP_F", first.value, { seed: 1 }).value, {
    text: "Find x.",
    parameters: [],
  });
  // What dangles may be the value of another parameter.
  const comma = { text: "a, b", parameters: [spanned("a", 0, 1), spanned(",", 1, 2)] };
  assertEquals(perturbQuery("RP_F", comma, { seed: 1 }).value.text, ", b");
});

function spanned(value: JsonValue, start: number, end: number): QueryParameter {
  return { name: String(value), value, spans: [{ start, end }] };
}

Deno.test("perturbQuery() drops parameters whose place goes with another one", () => {
  const query = {
    text: "fly to Paris (France) now",
    parameters: [
      { ...spanned("Paris", 7, 12), information: [{ start: 7, end: 21 }] },
      spanned("France", 14, 20),
    ],
  };
  assertEquals(perturbQuery("RP_F", query, { seed: 1 }).value, {
    text: "fly to now",
    parameters: [],
  });
});

// CP and AN

/** A writer that says what a table has. */
function told(phrases: Readonly<Record<string, string>>): QueryWriter {
  const write = ({ value }: QueryParameter) => phrases[String(value)];
  return { complicate: write, distract: write };
}

Deno.test("perturbQuery() with CP puts phrases in all places of the values (Butterfly 4.2, A.3.2)", () => {
  const text = "Paris, then Rome, then Paris";
  const query = queryOf(text, { a: "Paris", b: "Rome" });
  const writer = told({ Paris: "the city of light" });
  const { value, changes } = perturbQuery("CP", query, { seed: 1, writer });
  assertEquals(value, {
    text: "the city of light, then Rome, then the city of light",
    parameters: [
      { name: "a", value: "Paris", spans: [{ start: 0, end: 17 }, { start: 35, end: 52 }] },
      { name: "b", value: "Rome", spans: [{ start: 24, end: 28 }] },
    ],
  });
  assertEquals(changes, [
    { kind: "text", start: 0, end: 5, before: "Paris", after: "the city of light" },
    { kind: "text", start: 23, end: 28, before: "Paris", after: "the city of light" },
  ]);
});

Deno.test("perturbQuery() moves places that touch a change", () => {
  const parameters = [spanned("a", 0, 1), spanned("b", 1, 2), spanned("c", 2, 3)];
  const writer = told({ b: "<second>" });
  assertEquals(perturbQuery("CP", { text: "abc", parameters }, { seed: 1, writer }).value, {
    text: "a<second>c",
    parameters: [spanned("a", 0, 1), spanned("b", 1, 9), spanned("c", 9, 10)],
  });
});

Deno.test("perturbQuery() takes nothing from a writer that gives a value away", () => {
  const query = queryOf("Paris, IN, 731 and 5", { a: "Paris", b: "IN", c: 731, d: 5 });
  for (const leak of ["Parisian", "PARIS!", "in IN", "1731", "5 - 4", " "]) {
    const writer = told({ Paris: leak, IN: leak, 731: leak, 5: leak });
    for (const method of ["CP", "AN"] as const) {
      assert(perturbQuery(method, query, { seed: 1, writer }).value === query, leak);
    }
  }
  const fine = told({ Paris: "within 15" });
  assertEquals(perturbQuery("CP", query, { seed: 1, writer: fine }).changes.length, 1);
  // What stands in the text for a value counts too, and letters put together of two characters.
  const states = {
    text: "the States, Zu\u0308rich",
    parameters: [spanned("US", 4, 10), spanned("Zu\u0308rich", 12, 19)],
  };
  for (const leak of ["all states of it", "in z\u00fcrich"]) {
    const writer = told({ US: leak });
    assertEquals(perturbQuery("CP", states, { seed: 1, writer }).changed, false, leak);
  }
});

Deno.test("perturbQuery() takes nothing from a writer that gives a long value away", () => {
  const address = "the second floor of the yellow house behind the old station, entrance ".repeat(
    2,
  );
  const [one, other] = [`${address}A`, `${address}BC`];
  const query = queryOf(`${one}; ${other}`, { one, other });
  assertEquals(query.parameters.map(({ name }) => name), ["one", "other"]);
  const ab = "ab".repeat(50);
  const cases: [string, boolean][] = [
    [`x${other.toUpperCase()}x`, false],
    [`${address}${other}`, false],
    [`${other.slice(1)}`, true],
    [`${address}B and C`, true],
    [address.slice(0, 64), true],
  ];
  for (const [leak, isUsed] of cases) {
    const made = perturbQuery("CP", query, { seed: 1, writer: told({ [one]: leak }) });
    assertEquals(made.changed, isUsed, leak);
  }
  const repeated = queryOf(`${ab}c and d2`, { long: `${ab}c`, short: "d2" });
  for (const [leak, isUsed] of [[`${ab}${ab}c`, false], [`${ab}${ab}${ab}`, true]] as const) {
    const made = perturbQuery("CP", repeated, { seed: 1, writer: told({ d2: leak }) });
    assertEquals(made.changed, isUsed, leak);
  }
});

Deno.test("perturbQuery() asks a writer again while it gives a value away", () => {
  const query = queryOf("to Paris", { city: "Paris" });
  let asked = 0;
  const writer: QueryWriter = {
    complicate: () => ++asked < 5 ? "in Paris" : "the city of light",
    distract: () => undefined,
  };
  assertEquals(perturbQuery("CP", query, { seed: 1, writer }).value.text, "to the city of light");
  assertEquals(asked, 5);
});

Deno.test("perturbQuery() with AN appends a sentence for each parameter, and moves nothing (Butterfly 4.2, A.3.2)", () => {
  const writer = told({ Paris: "Lyon is near.", Rome: "I was in Milan." });
  const cases: [string, string][] = [
    ["Rome to Paris.", " I was in Milan. Lyon is near."],
    ["Rome to Paris?", " I was in Milan. Lyon is near."],
    ["Rome to Paris", "\nI was in Milan. Lyon is near."],
    ["Rome to Paris\n", "I was in Milan. Lyon is near."],
  ];
  for (const [text, after] of cases) {
    const query = queryOf(text, { a: "Paris", b: "Rome" });
    const { value, changes } = perturbQuery("AN", query, { seed: 1, writer });
    assertEquals(value, { ...query, text: text + after });
    assertEquals(changes, [
      { kind: "text", start: text.length, end: text.length, before: "", after },
    ]);
  }
});

Deno.test("perturbQuery() with AN goes on with other sentences where some would give a value away", () => {
  const text = "731 of my friend, mentioned before: 642, 553, 464.";
  const query = queryOf(text, { a: "friend", b: "mentioned", c: 731, d: 642, e: 553, f: 464 });
  for (let seed = 1; seed <= 20; seed++) {
    const sentences = perturbQuery("AN", query, { seed }).value.text.slice(text.length);
    assertEquals(sentences.trim().split(/(?<=\.) /).length, 6, sentences);
    assert(!/friend|mentioned/.test(sentences), sentences);
  }
});

Deno.test("perturbQuery() and findParameters() take a query of a thousand parameters", () => {
  const words = Array.from({ length: 1_000 }, (_, number) => `item ${number * 7919 % 100_003}x`);
  const text = words.join(", ");
  const parameters = findParameters(text, [{ arguments: { words } }]);
  assertEquals(parameters.length, 1_000);
  for (const method of ["CP", "AN"] as const) {
    assert(perturbQuery(method, { text, parameters }, { seed: 1 }).changed);
  }
});

Deno.test("perturbQuery() leaves a query without parameters as it is (Butterfly 5.1)", () => {
  const bare: Query = { text: "What time is it?", parameters: [] };
  const nowhere = { ...bare, parameters: [{ ...spanned("x", 3, 99) }, { ...spanned("y", 5, 5) }] };
  for (const query of [bare, nowhere]) {
    for (const method of METHODS) {
      const made = perturbQuery(method, query, { seed: 1 });
      assert(made.value === query);
      assertEquals([made.changed, made.changes], [false, []]);
    }
  }
});

Deno.test("perturbQuery() draws for each parameter by itself", () => {
  const many = queryOf("from 731 to 642 at 553", { a: 731, b: 642, c: 553 });
  const one = { ...many, parameters: many.parameters.slice(1, 2) };
  for (let seed = 1; seed <= 20; seed++) {
    const whole = perturbQuery("CP", many, { seed });
    const [alone] = perturbQuery("CP", one, { seed }).changes;
    assertEquals(whole.changes[1], alone);
  }
  const texts = new Set(
    Array.from({ length: 100 }, (_, seed) => perturbQuery("CP", one, { seed }).value.text),
  );
  assert(texts.size > 10, "the seed decides");
  // Calls share the names of their parameters, and say different things of each all the same.
  const same = { ...many, parameters: many.parameters.map((own) => ({ ...own, name: "n" })) };
  const draws = new Set<number>();
  const writer: QueryWriter = {
    complicate: (_, stream) => `draw ${draws.add(stream.prng()).size}`,
    distract: () => undefined,
  };
  perturbQuery("CP", same, { seed: 1, writer });
  assertEquals(draws.size, 3);
});

// Properties

const WORDS = [
  ...["Paris", "New York", "York", "731", "1,234", "dark matter", "AB-12", "北京", "x@y.org", "İ"],
  ...[
    "(",
    ")",
    '"',
    ",",
    ".",
    "\n",
    "\r\n",
    " ",
    "  ",
    "-",
    "to",
    "and",
    "😀",
    "e\u0301",
    "\ud800",
  ],
];

const TEXTS = fc.oneof(
  fc.array(fc.constantFrom(...WORDS), { maxLength: 30 }).map((words) => words.join(" ")),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 30 }).map((words) => words.join("")),
  fc.string({ unit: fc.character(), maxLength: 60 }),
  fc.string({ maxLength: 60 }),
);

const VALUES: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(
    "Paris",
    "york",
    731,
    1234,
    "dark matter",
    "AB-12",
    "北京",
    "x@y.org",
    "to",
  ),
  fc.string({ unit: fc.character(), maxLength: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom<JsonValue>(true, null, ["Paris"], { __proto__: null, a: "Paris" }),
);

/** Queries whose values were found, and queries whose places are anywhere, also beyond the text. */
const QUERIES: fc.Arbitrary<Query> = TEXTS.chain((text) => {
  const place = fc.integer({ min: -2, max: text.length + 2 });
  const span = fc.tuple(place, fc.integer({ min: -1, max: 12 }))
    .map(([start, length]) => ({ start, end: start + length }));
  const spans = fc.array(span, { maxLength: 3 });
  const parameter = fc.record({
    name: fc.constantFrom("city", "n", "__proto__", ""),
    value: VALUES,
    spans,
    information: spans,
  }, { requiredKeys: ["name", "value", "spans"] });
  return fc.oneof(
    fc.array(VALUES, { maxLength: 6 }).map((list) => queryOf(text, { list })),
    fc.array(parameter, { maxLength: 4 }).map((parameters) => ({ text, parameters })),
  );
});

const METHOD = fc.constantFrom(...METHODS);

Deno.test("perturbQuery() gives the text that its changes make, the same each time, whatever the query", () => {
  fc.assert(
    fc.property(QUERIES, METHOD, fc.integer(), (query, method, seed) => {
      const before = structuredClone(query);
      const made = perturbQuery(method, query, { seed });
      assertEquals(query, before, "the query itself stays");
      assertEquals(remade(query.text, made.changes), made.value.text);
      assertEquals(made.changed, made.changes.length > 0);
      if (!made.changed) assert(made.value === query);
      assertEquals(perturbQuery(method, query, { seed }), made);
    }),
    { numRuns: 500 },
  );
});

Deno.test("perturbQuery() moves the places of parameters along", () => {
  fc.assert(
    fc.property(QUERIES, METHOD, fc.integer(), (query, method, seed) => {
      const { value, changes, changed } = perturbQuery(method, query, { seed });
      if (!changed) return;
      const originals = query.parameters.flatMap(({ spans }) =>
        spans.map((one) => at(query.text, one))
      );
      const phrases = changes.flatMap((change) => change.kind === "text" ? [change.after] : []);
      const spans = value.parameters.flatMap((parameter) => parameter.spans);
      for (const [place, span] of spans.entries()) {
        assert(span.start >= 0 && span.start < span.end && span.end <= value.text.length);
        const said = at(value.text, span);
        assert([...originals, ...(method === "CP" ? phrases : [])].includes(said), said);
        assert(
          spans.slice(place + 1).every(({ start, end }) => start >= span.end || end <= span.start),
        );
      }
      if (method === "AN") assert(value.text.startsWith(query.text));
    }),
    { numRuns: 500 },
  );
});

/** Places at which nothing but spaces, points, brackets, quotes and marks of lists may go. */
const DANGLING = /^[\s\p{Zs}()[\]{}"'`“”‘’«»„‚「」『』（）【】,;:.!?…、，；：。！？*•–-]*$/u;

Deno.test("perturbQuery() with RP removes every place of one parameter, and else what dangles only", () => {
  fc.assert(
    fc.property(QUERIES, fc.constantFrom<QueryMethod>("RP_F", "RP_L"), (query, method) => {
      const found = query.parameters.filter(({ spans, information }) =>
        information === undefined && spans.length > 0
      );
      const { text } = query;
      // Found parameters are in order and have places of their own.
      const own = {
        text,
        parameters: findParameters(text, found.map(({ value }) => ({ arguments: { value } }))),
      };
      const target = own.parameters.at(method === "RP_F" ? 0 : -1);
      const { value, changes } = perturbQuery(method, own, { seed: 1 });
      if (target === undefined) return;
      assertEquals(value.parameters.length, own.parameters.length - 1);
      const gone = changes.flatMap((change) => change.kind === "text" ? [change] : []);
      assert(gone.every(({ after }) => after === ""));
      const isGone = ({ start, end }: Span) =>
        gone.some((one) => one.start <= start && one.end >= end);
      assert(target.spans.every(isGone));
      let rest = "";
      for (const { start, end } of gone) {
        for (let place = start; place < end; place++) {
          const isOwn = target.spans.some((span) => span.start <= place && place < span.end);
          if (!isOwn) rest += text[place];
        }
      }
      assert(DANGLING.test(rest), JSON.stringify(rest));
    }),
    { numRuns: 500 },
  );
});

Deno.test("perturbQuery() with CP and AN writes no value of the query", () => {
  const values = fc.array(
    fc.oneof(
      fc.constantFrom<JsonValue>("Paris", "France", "2026-03-04", "10:30", "AB-1234", "x@y.org"),
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.stringMatching(/^[A-Za-z]{3,9}( [a-z]{3,6}){0,3}$/),
    ),
    { minLength: 1, maxLength: 5 },
  );
  fc.assert(
    fc.property(
      values,
      fc.constantFrom<QueryMethod>("CP", "AN"),
      fc.integer(),
      (list, method, seed) => {
        const query = queryOf(list.map(String).join(" | "), { list });
        const { changes } = perturbQuery(method, query, { seed });
        const written = changes.map((change) => change.kind === "text" ? change.after : "").join(
          "\n",
        );
        for (const { value } of query.parameters) {
          const literal = String(value).toLowerCase();
          if (literal.length > 2) {
            assert(
              !written.toLowerCase().includes(literal),
              `${literal}: ${written}`,
            );
          } else assertEquals(found(written, { value }), [], `${literal}: ${written}`);
        }
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("perturbQuery() composes: what comes of a method can go through any other", () => {
  fc.assert(
    fc.property(
      QUERIES,
      fc.array(METHOD, { minLength: 2, maxLength: 5 }),
      fc.integer(),
      (query, methods, seed) => {
        let now = query;
        let changedOnce = false;
        for (const method of methods) {
          const { value, changes, changed } = perturbQuery(method, now, { seed });
          assertEquals(remade(now.text, changes), value.text);
          changedOnce ||= changed;
          now = value;
        }
        // Places that moved are right ones: each parameter can still be removed.
        while (changedOnce && now.parameters.length > 0) {
          const { parameters } = now;
          now = perturbQuery("RP_F", now, { seed }).value;
          assert(now.parameters.length < parameters.length);
        }
      },
    ),
    { numRuns: 500 },
  );
  const query = queryOf("From Rome to Paris.", { a: "Rome", b: "Paris" });
  const complicated = perturbQuery("CP", query, { seed: 1 }).value;
  assertEquals(
    complicated.text,
    "From the word spelled R, o, m, e to the word spelled P, a, r, i, s.",
  );
  assertEquals(perturbQuery("RP_L", complicated, { seed: 1 }).value, {
    text: "From the word spelled R, o, m, e to.",
    parameters: [{ name: "a", value: "Rome", spans: [{ start: 5, end: 32 }] }],
  });
});

Deno.test("perturbQuery() copes with long queries", () => {
  const text = "Paris , ( Rome )\n".repeat(6_000);
  const query = queryOf(text, { a: "Paris", b: "Rome" });
  assertEquals(perturbQuery("RP_F", query, { seed: 1 }).value.text.includes("Paris"), false);
  assertEquals(perturbQuery("RP_L", query, { seed: 1 }).value.text.includes("Rome"), false);
  const spaces = `${" ".repeat(100)}<x>${",".repeat(50_000)}`;
  assertEquals(without(spaces), "");
});

// parseQuery

Deno.test("parseQuery() reads values that are told with their places, named, or in calls", () => {
  const query = "Fly from Rome to the States on 2026-03-04, 2 seats";
  const parsed = parseQuery({
    query,
    parameters: [{ name: "to", value: "US", start: 17, end: 27 }, { name: "from", value: "Rome" }],
    calls: [{ name: "fly", arguments: { from: "Rome", seats: 2, when: { day: "2026-03-04" } } }],
  }, "q.json");
  assertEquals(parsed, {
    text: query,
    parameters: [
      { name: "from", value: "Rome", spans: [{ start: 9, end: 13 }] },
      { name: "to", value: "US", spans: [{ start: 17, end: 27 }] },
      { name: "when.day", value: "2026-03-04", spans: [{ start: 31, end: 41 }] },
      { name: "seats", value: 2, spans: [{ start: 43, end: 44 }] },
    ],
  });
  assertEquals(parseQuery({ query }, "q.json"), { text: query, parameters: [] });
});

Deno.test("parseQuery() refuses what it cannot use, with the path and the rule", () => {
  const query = "To Paris 😀";
  const one = (more: JsonObject) => ({
    query,
    parameters: [{ name: "city", value: "Paris", ...more }],
  });
  const cases: [unknown, RegExp][] = [
    ["To Paris", /^Cannot use q\.json:\n {2}at the top: .*expected object/],
    [{ parameters: [] }, /at query: .*expected string/],
    [{ query, calls: [{}] }, /at calls\[0\]\.arguments: must be an object/],
    [{ query, calls: [{ arguments: [] }] }, /at calls\[0\]\.arguments: must be an object/],
    [{ query, text: "x" }, /Unrecognized key: "text"/],
    [{ query, parameters: [{ name: "x" }] }, /at parameters\[0\]\.value: is needed/],
    [{ query, parameters: [{ value: 1 }] }, /at parameters\[0\]\.name: /],
    [one({ start: 3 }), /at parameters\[0\]\.end: is needed where start is given/],
    [one({ end: 3 }), /at parameters\[0\]\.start: is needed where end is given/],
    [one({ start: -1, end: 3 }), /at parameters\[0\]\.start: must be at least 0: it is -1/],
    [one({ start: 3, end: 3 }), /at parameters\[0\]\.end: must be above start, 3: it is 3/],
    [one({ start: 3, end: 12 }), /\.end: must be at most 11, the length of the query: it is 12/],
    [one({ start: 3, end: 10 }), /\.end: must not be in the middle of a character: it is 10/],
    [one({ start: 0.5, end: 3 }), /at parameters\[0\]\.start: /],
    [one({ value: "Lima" }), /at parameters\[0\]\.value: must occur in the query.*it is Lima/],
    [one({ value: ["Lima"] }), /it is a list, an object or null/],
    [
      {
        query,
        parameters: [
          { name: "a", value: "Paris", start: 3, end: 8 },
          { name: "b", value: "x", start: 7, end: 9 },
        ],
      },
      /at parameters\[1\]: must not overlap another one: it is at 7 to 9/,
    ],
    [
      { query, parameters: [{ name: "a", value: "Paris" }, { name: "b", value: "Paris" }] },
      /at parameters\[1\]\.value: must occur in the query, by itself and apart from other values/,
    ],
  ];
  for (const [value, message] of cases) {
    const error = assertThrows(() => parseQuery(value, "q.json"), InputError);
    assert(message.test(error.message), error.message);
  }
});

Deno.test("parseQuery() takes any value that JSON has, or says what is wrong", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.string(), (value, query) => {
    for (const file of [value, { query, parameters: value }, { query, calls: value }]) {
      try {
        parseQuery(file, "q.json");
      } catch (error) {
        assert(error instanceof InputError, String(error));
      }
    }
  }));
});

/** What is left of a text. */
function rest(text: string, spans: readonly { start: number; end: number }[]): string {
  let left = "";
  let from = 0;
  for (const { start, end } of spansToRemove(text, spans)) {
    left += text.slice(from, start);
    from = end;
  }
  return left + text.slice(from);
}

Deno.test("parts that are removed take what dangles along, also where the next one begins at a point", () => {
  const text = "a. X : Y b";
  assertEquals(rest(text, [{ start: 3, end: 4 }, { start: 5, end: 8 }]), "a. b");
});

Deno.test("any parts of any text are removed, and the work ends", () => {
  const character = fc.constantFrom(..."ab .,;:!?-()[]\"'\n\tXé😀");
  const texts = fc.array(character, { maxLength: 30 }).map((own) => own.join(""));
  const places = fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 4 });
  fc.assert(
    fc.property(texts, places, (text, pairs) => {
      const spans = pairs.map(([one, other]) => {
        const [start, end] = [one, other].map((place) => Math.min(place, text.length));
        return { start: Math.min(start!, end!), end: Math.max(start!, end!) };
      });
      const removed = spansToRemove(text, spans);
      for (const { start, end } of spans) {
        for (let place = start; place < end; place++) {
          assert(removed.some((part) => part.start <= place && place < part.end), `${place}`);
        }
      }
    }),
    { numRuns: 2000 },
  );
});
