import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import { fork } from "../../../lib/base/random.ts";
import { InfrastructureError, type ModelRequest } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { complicateNumber } from "../../../lib/perturbations/queries/_numbers.ts";
import { modelWriter } from "../../../lib/perturbations/queries/model_writer.ts";
import { findParameters, type Query } from "../../../lib/perturbations/queries/literals.ts";
import { perturbQuery } from "../../../lib/perturbations/queries/perturb.ts";
import { WRITER } from "../../../lib/perturbations/queries/_query_writer.ts";
import fc from "../../support/fast_check.ts";

const SEEDS = Array.from({ length: 60 }, (_, seed) => seed);

/** All that the writer says of a value, over many seeds. */
function said(way: "complicate" | "distract", value: JsonValue): Set<string | undefined> {
  const parameter = { name: "p", value, spans: [] };
  return new Set(SEEDS.map((seed) => WRITER[way](parameter, fork(seed, "p"))));
}

// Oracles that know nothing of the code: an adder, and a reader of number words.

/** What `700 + 31` is, in units of the last digit, so that nothing is rounded. */
function added(text: string): string {
  const [, one, sign, other] = /^(-?[\d.]+) ([-+]) ([\d.]+)$/.exec(text)!;
  const places = Math.max(...[one!, other!].map((part) => (part.split(".")[1] ?? "").length));
  const units = (part: string) => {
    const [whole, fraction = ""] = part.split(".");
    return BigInt(whole! + fraction.padEnd(places, "0"));
  };
  const sum = sign === "+" ? units(one!) + units(other!) : units(one!) - units(other!);
  const digits = String(sum < 0n ? -sum : sum).padStart(places + 1, "0");
  const point = digits.length - places;
  return String(Number(`${sum < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}0`));
}

const SMALL = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
  "sixteen seventeen eighteen nineteen"
).split(" ");
const TENS = " - twenty thirty forty fifty sixty seventy eighty ninety".split(" ").slice(1);
const LARGE = ["thousand", "million", "billion", "trillion", "quadrillion"];

/** What number words say. */
function read(words: string): number {
  if (words.startsWith("minus ")) return -read(words.slice("minus ".length));
  const [mantissa, power] = words.split(" times ten to the power of ");
  const [whole, fraction] = mantissa!.split(" point ");
  let [total, group] = [0, 0];
  for (const word of whole!.split(/[ -]/)) {
    if (LARGE.includes(word)) {
      [total, group] = [total + group * 1000 ** (LARGE.indexOf(word) + 1), 0];
    } else if (word === "hundred") group *= 100;
    else if (SMALL.includes(word)) group += SMALL.indexOf(word);
    else {
      assert(TENS.includes(word), `${word} is no number`);
      group += 10 * (TENS.indexOf(word) + 1);
    }
  }
  const digits = fraction?.split(" ").map((word) => SMALL.indexOf(word)).join("") ?? "0";
  return Number(`${total + group}.${digits}e${power === undefined ? 0 : read(power)}`);
}

/** Whole numbers, numbers with decimals, and any others. */
const NUMBERS = fc.oneof(
  fc.integer({ min: -(10 ** 15), max: 10 ** 15 }),
  fc.integer({ min: -1200, max: 1200 }),
  fc.tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 1, max: 4 }))
    .map(([units, places]) => Number(`${units}e-${places}`)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

Deno.test("complicateNumber() says the number, by arithmetic or words, and never its digits", () => {
  fc.assert(
    fc.property(NUMBERS, fc.nat(), (value, seed) => {
      const told = complicateNumber(value, fork(seed));
      assertEquals(told, complicateNumber(value, fork(seed)));
      assert(!told.includes(String(value)), `${value}: ${told}`);
      assert(!/^-|\.\d*0\b/.test(told), `${told} is no way to write numbers`);
      if (/\d/.test(told)) assertEquals(added(told), String(value + 0), told);
      // Numbers of more than 16 digits are written digit by digit.
      else if (String(Math.abs(value)).replace(/\..*/, "").length <= 16) {
        assertEquals(read(told), value + 0, told);
      }
    }),
    {
      numRuns: 3000,
      examples: [[0, 1], [1, 2], [-1, 3], [1e15, 4], [-1e15, 5], [-0, 6], [5e-324, 7]],
    },
  );
});

Deno.test("complicateNumber() uses sums, differences and words for most numbers", () => {
  for (const value of [2, 9, 31, 731, 205, 3.14, 999_999]) {
    const kinds = SEEDS.map((seed) => complicateNumber(value, fork(seed)))
      .map((told) => / ([-+]) /.exec(told)?.[1] ?? "words");
    assertEquals([...new Set(kinds)].sort(), ["+", "-", "words"], String(value));
  }
});

Deno.test("WRITER.complicate() says values by their kinds", () => {
  const cases: [JsonValue, string[]][] = [
    ["2026-03-04", ["the fourth of March 2026", "the day before the fifth of March 2026"]],
    ["2026/12/31", ["the day before the first of January 2027"]],
    ["2024-03-01", ["the day after the twenty-ninth of February 2024"]],
    ["March 4th, 2026", ["the fourth of March 2026"]],
    ["21 Mar 2026", ["the twenty-first of March 2026"]],
    ["AB-1234", ["the code spelled A, B, -, one, two, three, four"]],
    ["0049", ["the code spelled zero, zero, four, nine"]],
    ["USD", ["the code spelled U, S, D"]],
    ["03/04/2026", ["the code spelled zero, three, /, zero, four, /, two, zero, two, six"]],
    ["2026-02-30", [
      "the code spelled two, zero, two, six, -, zero, two, -, three, zero",
    ]],
    ["25:00", ["the code spelled two, five, :, zero, zero"]],
    ["a.b@x.org", ["the code spelled a, ., b, @, x, ., o, r, g"]],
    [" Paris\n", ["the word spelled P, a, r, i, s"]],
    ["Paris, Texas", ['"Paris," followed by "Texas"', '"Texas" preceded by "Paris,"']],
    ["bitcoin", ["the word spelled b, i, t, c, o, i, n", '"nioctib" read backwards']],
    ["dark matter", ['"dark" followed by "matter"', '"matter" preceded by "dark"']],
    ["the", ["t h e"]],
    ["<,", ["< ,"]],
    ["北京", ["the word spelled 北, 京"]],
    ["a\u0000\ud800", ["the word spelled a, U+0000, U+D800"]],
    ["731", ["(700 + 31)", "seven hundred thirty-one"]],
    ["1,234", ["one thousand two hundred thirty-four"]],
    [731, ["(700 + 31)", "seven hundred thirty-one"]],
  ];
  for (const [value, phrases] of cases) {
    const all = said("complicate", value);
    for (const phrase of phrases) {
      assert(all.has(phrase), `${value}: ${[...all].join(" | ")} is not ${phrase}`);
    }
  }
});

Deno.test("WRITER.distract() changes a letter of a single word, and of other texts a word", () => {
  for (const sentence of said("distract", "Ghent")) {
    const told = sentence!.match(/\S{5}/g)!
      .filter((one) => [...one].filter((letter, place) => letter !== "Ghent"[place]).length < 2);
    assertEquals(told.length, 1, sentence);
  }
  for (const text of ["北京", "Москва", "dark matter", "x".repeat(60)]) {
    for (const sentence of said("distract", text)) {
      assertMatch(sentence!, / (about|had|mentioned) .*[A-Za-z]{5,}(\.| instead| yesterday)/);
    }
  }
});

Deno.test("WRITER knows nothing of what is neither a text nor a number", () => {
  for (const value of [true, null, [], ["Paris"], { a: "Paris" }, "", " \n"]) {
    assertEquals([...said("complicate", value)], [undefined]);
    assertEquals([...said("distract", value)], [undefined]);
  }
});

Deno.test("WRITER.distract() tells another value of the same kind, in the same form", () => {
  const cases: [JsonValue, RegExp][] = [
    [731, /\b[678]\d\d\b/],
    [-5, /-\d\b/],
    [3.14, /\b[23](\.\d{1,2})?\b/],
    ["2026-03-04", /\b2026-0[23]-\d\d\b/],
    ["March 4, 2026", /\b(February|March) \d{1,2}, 2026\b/],
    ["AB-1234", /\b[A-Z]{2}-\d{4}\b/],
    ["anna@example.com", /\b[a-z]{4}@[a-z]{7}\.com\b/],
    ["https://x.org/a", /https:\/\/[a-z]\.org\/a/],
    ["dark matter", /\bdark [a-z]+|[a-z]+ matter\b/],
    ["Bitcoin", / (about|had|mentioned) [A-Z][a-z]+\b/],
  ];
  for (const [value, form] of cases) {
    for (const sentence of said("distract", value)) {
      assert(form.test(sentence!), `${value}: ${sentence}`);
      assert(/^[A-Z].*(\.|https:\S+)$/.test(sentence!), sentence);
    }
    assert(said("distract", value).size > 3, `${value}: it is always the same`);
  }
});

const VALUES: fc.Arbitrary<string | number> = fc.oneof(
  NUMBERS,
  fc.string({ unit: fc.character() }),
  fc.string({ minLength: 1, maxLength: 400 }),
  fc.date({ noInvalidDate: true, min: new Date("1000-01-01"), max: new Date("9990-01-01") })
    .map((date) => date.toISOString().slice(0, 10)),
  fc.stringMatching(/^[0-2]?[0-9]:[0-5][0-9]( ?[ap]m)?$/),
  fc.stringMatching(/^[A-Z0-9]{2,4}-[0-9]{1,6}$/),
  fc.emailAddress(),
  fc.webUrl({ withQueryParameters: true }),
  fc.lorem({ maxCount: 200 }),
  fc.constantFrom(
    "Paris",
    "TOKYO",
    "czech republic",
    "Rio de Janeiro",
    "New South Wales",
    "Victoria",
  ),
  fc.constantFrom(
    "spelled",
    "the word",
    "code",
    "what",
    "together",
    "and",
    "read backwards",
    "U+0000",
  ),
  fc.constantFrom(
    "followed by",
    '"a" "b"',
    "a a a a",
    "x".repeat(5_000),
    `a${" ".repeat(50_000)}b c`,
    "word ".repeat(500),
    "\ud800\udc00".repeat(40),
  ),
);

Deno.test("perturbQuery() never writes the value, and not at any length", () => {
  fc.assert(
    fc.property(VALUES, fc.nat(), (value, seed) => {
      const text = String(value);
      const parameters = [{ name: "p", value, spans: [{ start: 0, end: text.length }] }];
      const literal = text.normalize("NFC").toLowerCase();
      for (const method of ["CP", "AN"] as const) {
        const [change] = perturbQuery(method, { text, parameters }, { seed }).changes;
        if (change === undefined) continue;
        const written = change.after as string;
        assertNotEquals(written.trim(), "");
        if (String(value).isWellFormed()) assert(written.isWellFormed(), written);
        if (literal.length > 3) {
          assert(!written.normalize("NFC").toLowerCase().includes(literal), `${value}: ${written}`);
        }
        const most = method === "AN" ? 450 : Math.max(450, String(value).length + 60);
        assert(written.length <= most, `${written.length} characters`);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("WRITER.complicate() says most values of a kind in one way at least", () => {
  fc.assert(
    fc.property(VALUES, fc.nat(), (value, seed) => {
      if (typeof value === "string" && [...value.trim()].length < 2) return;
      const written = WRITER.complicate({ name: "p", value, spans: [] }, fork(seed));
      assert(written !== undefined, JSON.stringify(value));
    }),
    { numRuns: 1000 },
  );
});

const TEXT = "From Rome to Paris for 731 euros.";
const QUERY: Query = {
  text: TEXT,
  parameters: findParameters(TEXT, [{ arguments: { from: "Rome", to: "Paris", price: 731 } }]),
};
const ONE: Query = { text: TEXT, parameters: QUERY.parameters.slice(1, 2) };
const [PARIS] = ONE.parameters;

/** A model that says these texts one after another, and the requests that it got. */
function saying(...replies: (string | ScriptedReply)[]) {
  const requests: ModelRequest[] = [];
  const model = scripted("double", (request) => {
    const reply = replies[requests.push(request) - 1];
    assert(reply !== undefined, "it is asked too often");
    return typeof reply === "string" ? { text: reply } : reply;
  });
  return { model, requests };
}

/** Why a text for Paris cannot be used; `undefined` when it is used, as it stands. */
async function faultOf(text: string, method: "CP" | "AN" = "CP"): Promise<string | undefined> {
  const { model } = saying(text);
  const writer = await modelWriter(model, ONE, method, { retries: 0 });
  return writer.fallbacks[0]?.reason;
}

Deno.test("modelWriter() asks once for each parameter, and writes what it got (Butterfly 4.2, A.3.2)", async () => {
  const phrases = ["the capital of Italy", "the city of light", "seven hundred and thirty-one"];
  const { model, requests } = saying(...phrases);
  const writer = await modelWriter(model, QUERY, "CP");
  assertEquals(requests.length, 3);
  assertEquals(
    perturbQuery("CP", QUERY, { seed: 1, writer }).value.text,
    "From the capital of Italy to the city of light for seven hundred and thirty-one euros.",
  );
  assertEquals(writer.fallbacks, []);
  for (const [place, { messages, tools, context }] of requests.entries()) {
    const { name, value } = QUERY.parameters[place]!;
    assertEquals([messages.length, messages[0]!.role, tools.length], [1, "user", 0]);
    assertStringIncludes(messages[0]!.content, TEXT);
    assertStringIncludes(messages[0]!.content, `${name}: ${value}`);
    assertEquals(context, { trial: "perturb", repetition: 1, request: place + 1, stage: "CP" });
  }
});

Deno.test("modelWriter() asks for a sentence where one is to be appended", async () => {
  const { model, requests } = saying("My sister went to Lyon.");
  const writer = await modelWriter(model, ONE, "AN");
  assertEquals(
    perturbQuery("AN", ONE, { seed: 1, writer }).value.text,
    `${TEXT} My sister went to Lyon.`,
  );
  assertStringIncludes(requests[0]!.messages[0]!.content, "one sentence");
  // For the other method it has asked nothing.
  assertEquals(
    writer.complicate(PARIS!, fork(1, "x")),
    WRITER.complicate(PARIS!, fork(1, "x")),
  );
});

Deno.test("modelWriter() takes one printable line without any value of the query", async () => {
  const usable = ["the city of light", "Σίτυ", "x".repeat(300), "it's a “city”"];
  for (const text of usable) assertEquals(await faultOf(text), undefined, text);
  const faults: [string, RegExp][] = [
    ["", /empty/],
    [" \n ", /empty/],
    ["the city\nof light", /more than one line/],
    ["a\r\nb", /more than one line/],
    ["x".repeat(301), /longer than 300 characters/],
    ["red \u001b[31mcity", /printed/],
    ["a\tb", /printed/],
    ["half \ud800", /printed/],
    ["a\u202eb", /printed/],
    ["the PARISIAN region", /contains a value/],
  ];
  for (const [text, reason] of faults) {
    const fault = await faultOf(text);
    assert(fault !== undefined && reason.test(fault), `${JSON.stringify(text)}: ${fault}`);
  }
  const { model } = saying("north of Rome", "north of Rome", "north of Lyon");
  const writer = await modelWriter(model, QUERY, "CP", { retries: 0 });
  assertEquals(writer.fallbacks.map(({ name }) => name), ["from", "to"]);
});

Deno.test("modelWriter() takes quotes away that stand around all of it", async () => {
  const cases: [string, string][] = [
    [' "the city of light" \n', "the city of light"],
    ["`the city`", "the city"],
    ["“the city”", "the city"],
    ['"a" and "b"', '"a" and "b"'],
    ["'tis", "'tis"],
  ];
  for (const [text, written] of cases) {
    const writer = await modelWriter(saying(text).model, ONE, "CP");
    assertEquals(writer.complicate(PARIS!, fork(1)), written);
  }
});

Deno.test("modelWriter() with AN takes nothing that is there already", async () => {
  assertEquals(await faultOf("for", "AN"), "the query contains it already");
  assertEquals(await faultOf("for", "CP"), undefined);
  const { model } = saying("It was Lyon.", "It was Lyon.", "It was Milan.", "It was 700.");
  const writer = await modelWriter(model, QUERY, "AN");
  assertEquals(
    perturbQuery("AN", QUERY, { seed: 1, writer }).value.text,
    `${TEXT} It was Lyon. It was Milan. It was 700.`,
  );
});

Deno.test("modelWriter() takes no text for two parameters", async () => {
  const { model } = saying("I cannot help.", "I cannot help.", "a city", "a city");
  const { fallbacks } = await modelWriter(model, QUERY, "CP", { retries: 0 });
  assertEquals(fallbacks, [{
    name: "to",
    reason: "the model wrote the same for another parameter",
  }]);
});

Deno.test("modelWriter() asks again as often as it is told, and then falls back", async () => {
  const { model, requests } = saying("Paris", "in Paris", "", "never asked for");
  const writer = await modelWriter(model, ONE, "CP", { retries: 2 });
  assertEquals(requests.map(({ context }) => context.request), [1, 2, 3]);
  assertEquals(writer.fallbacks, [{ name: "to", reason: "it is empty" }]);
  assertEquals(perturbQuery("CP", ONE, { seed: 5, writer }), perturbQuery("CP", ONE, { seed: 5 }));
  const second = saying("Paris", "the city of light", "never asked for");
  const good = await modelWriter(second.model, ONE, "CP");
  assertEquals([second.requests.length, good.fallbacks], [2, []]);
  assertEquals(good.complicate(PARIS!, fork(1)), "the city of light");
});

Deno.test("modelWriter() does not use a text that was cut off", async () => {
  const { model } = saying({ text: "the city of", finish: "length" }, "a b");
  const writer = await modelWriter(model, ONE, "CP");
  assertEquals(writer.complicate(PARIS!, fork(1)), "a b");
  const cut = saying({ text: "the city of", finish: "length" });
  const { fallbacks } = await modelWriter(cut.model, ONE, "CP", { retries: 0 });
  assertEquals(fallbacks, [{ name: "to", reason: "the model ran out of tokens" }]);
});

Deno.test("modelWriter() throws what the model throws", async () => {
  const failure = new InfrastructureError("no such server");
  const failing = scripted("double", () => {
    throw failure;
  });
  const thrown = await assertRejects(() => modelWriter(failing, ONE, "CP"), InfrastructureError);
  assert(thrown === failure);
});

Deno.test("modelWriter() takes hostile names, values and queries", async () => {
  const text = "{value} {name} \ud800 Paris";
  const hostile: Query = {
    text,
    parameters: [
      { name: "__proto__", value: "Paris", spans: [{ start: 17, end: 22 }] },
      { name: "constructor", value: ["Paris"], spans: [{ start: 0, end: 7 }] },
      { name: "n".repeat(5_000), value: true, spans: [{ start: 8, end: 14 }] },
    ],
  };
  const { model, requests } = saying("one", "two", "three");
  const writer = await modelWriter(model, hostile, "CP");
  assertEquals(perturbQuery("CP", hostile, { seed: 1, writer }).value.text, "two three \ud800 one");
  const prompts = requests.map(({ messages }) => messages[0]!.content);
  assertStringIncludes(prompts[0]!, "{value} {name} \ufffd Paris\n");
  assertStringIncludes(prompts[1]!, "constructor: {value}\n");
  assert(prompts.every((prompt) => prompt.isWellFormed() && prompt.length < 2_000));
  const none = await modelWriter(saying().model, { text, parameters: [] }, "AN");
  assertEquals(none.fallbacks, []);
});
