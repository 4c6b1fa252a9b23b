import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { defined, type JsonObject, type JsonValue } from "../../../lib/base/json.ts";
import { truthCheck } from "../../../lib/tasks/questions/_load_common.ts";
import {
  ERROR_CLASSES,
  type ErrorClass,
  errorClassesOf,
} from "../../../lib/tasks/questions/error_classes.ts";
import {
  type CallTruth,
  type Comparison,
  PLACEHOLDER,
} from "../../../lib/tasks/questions/question_set.ts";
import {
  type QuestionScores,
  readPrediction,
  scorePrediction,
  SCORING_RULES,
  type ScoringOptions,
} from "../../../lib/tasks/questions/scoring.ts";
import fc from "../../support/fast_check.ts";
import { GOLDEN, outsideTest } from "../../support/outside_data.ts";

const STRICT = { rule: "strict" } as const;
const YAML = { format: "yaml" } as const;

const TRUTH: CallTruth = {
  API: ["find", "book"],
  parameters: [{ what: "room" }, { id: "$$$", guest: { name: "Ada", age: 36 }, nights: 2 }],
};
const RIGHT = {
  API: ["find", "book"],
  parameters: [
    { what: "room" },
    { id: "R1", guest: { name: "Ada", age: 36 }, nights: 2 },
  ] as JsonObject[],
};

/** The right answer with other parameters of its second call. */
function booking(changes: JsonObject): string {
  return JSON.stringify({
    ...RIGHT,
    parameters: [{ what: "room" }, { ...RIGHT.parameters[1], ...changes }],
  });
}

/** The scores as a word, such as `TTFT`, in the order of the table; `-` for null. */
function word(scores: QuestionScores): string {
  const { syntaxValid, structural, exact, routingExact } = scores;
  return [syntaxValid, structural, exact, routingExact]
    .map((score) => score === null ? "-" : score ? "T" : "F").join("");
}

/** A record of the expected scores. */
interface GoldenRecord {
  readonly n: number;
  readonly kind: "para" | "routing";
  readonly case: string;
  readonly prediction: string;
  readonly groundTruth: CallTruth;
  readonly expected: Partial<QuestionScores>;
  readonly paperReading?: Partial<QuestionScores>;
}

function goldenRecords(folder: string): GoldenRecord[] {
  const text = Deno.readTextFileSync(`${folder}/callnavi_scoring.json`);
  return JSON.parse(text).records;
}

/** Where scores are not what is expected. */
function deviations(
  record: GoldenRecord,
  expected: Partial<QuestionScores>,
  rule: ScoringOptions["rule"],
) {
  const mode = record.kind === "para" ? "parameters" : "routing";
  const scores = scorePrediction(record.prediction, record.groundTruth, { rule: rule!, mode });
  const names = ["syntaxValid", "structural", "exact", "routingExact"] as const;
  return names.flatMap((name) =>
    expected[name] === undefined || expected[name] === scores[name]
      ? []
      : [`${record.n} ${name} is ${scores[name]}`]
  );
}

outsideTest(
  "the published rule scores what the authors' code does, but for accidents (CallNavi 5.1)",
  GOLDEN,
  (path) => {
    const records = goldenRecords(path);
    assertEquals(records.length, 395);
    assertEquals(records.flatMap((record) => deviations(record, record.expected, "published")), [
      // NaN is no JSON.
      "287 syntaxValid is false",
      "287 structural is false",
      "287 exact is false",
      "287 routingExact is false",
      // An empty text is no list of parameters, and neither is an object of one.
      "326 structural is false",
      "326 exact is false",
      "330 structural is false",
      "330 exact is false",
      // True is not 1.
      "341 exact is false",
    ]);
    // A text is no answer that has an API, though it has the letters of one.
    const text = records.find(({ n }) => n === 265)!;
    assertEquals(word(scorePrediction(text.prediction, text.groundTruth)), "TFFF");
  },
);

outsideTest("the strict rule scores as the paper reads (CallNavi 5.1)", GOLDEN, (path) => {
  const read = goldenRecords(path).filter(({ paperReading }) => paperReading !== undefined);
  assertEquals(read.map(({ n }) => n), [278, 279, 281, 287, 323, 328, 332, 335, 339, 341]);
  assertEquals(read.flatMap((record) => deviations(record, record.paperReading!, "strict")), []);
});

outsideTest(
  "where a text is plain JSON, the rules differ only as the paper reads",
  GOLDEN,
  (path) => {
    const plain = goldenRecords(path).filter(({ kind, prediction, paperReading }) =>
      kind === "para" && paperReading === undefined &&
      readPrediction(prediction, STRICT) !== undefined && !/['`]/.test(prediction)
    );
    assert(plain.length > 250, `${plain.length}`);
    const differing = plain.flatMap((record) => {
      const own = scorePrediction(record.prediction, record.groundTruth, STRICT);
      const published = scorePrediction(record.prediction, record.groundTruth);
      return word(own) === word(published) ? [] : [`${record.n}: ${word(published)} ${word(own)}`];
    });
    assertEquals(differing, [
      // Names are written as they are, in a list.
      "272: TFFT TFFF",
      "274: TFFT TFFF",
      // {} stands for itself alone.
      "309: TTTT TTFT",
      "310: TTTT TTFT",
      // {} is no list.
      "325: TTTT TFFT",
      // A parameter more than none is one too many; null is no object.
      "329: TTTT TTFT",
      "331: TTTT TFFT",
    ]);
  },
);

Deno.test("scorePrediction() by the published rule", () => {
  const json = JSON.stringify(RIGHT);
  const table: [JsonValue, string][] = [
    [json, "TTTT"],
    [RIGHT, "TTTT"],
    [`\`\`\`json\n${json}\n\`\`\``, "TTTT"],
    [json.replaceAll('"', "'"), "TTTT"],
    [booking({ more: 1 }), "TTTT"],
    [JSON.stringify({ ...RIGHT, note: "x" }), "TTTT"],
    [booking({ note: "it's" }), "FFFF"],
    [booking({ id: { any: ["thing"] } }), "TTTT"],
    [booking({ nights: "2" }), "TTFT"],
    [booking({ nights: true }), "TTFT"],
    [booking({ guest: { age: 36, name: "Ada" } }), "TTTT"],
    [booking({ guest: { name: "Ada", age: 36, more: 1 } }), "TTFT"],
    [booking({ guest: "$$$" }), "TTFT"],
    [booking({ guest: [] }), "TTFT"],
    [JSON.stringify({ ...RIGHT, parameters: RIGHT.parameters.toReversed() }), "TFFT"],
    [JSON.stringify({ ...RIGHT, parameters: [...RIGHT.parameters, {}] }), "TFFT"],
    [JSON.stringify({ ...RIGHT, API: ["find", "Book"] }), "TFFT"],
    [JSON.stringify({ ...RIGHT, API: "find,book" }), "TFFT"],
    [JSON.stringify({ ...RIGHT, API: [["find"], "book"] }), "TFFT"],
    [JSON.stringify({ ...RIGHT, API: ["find", { book: 1 }] }), "TFFF"],
    [JSON.stringify({ ...RIGHT, API: ["book", "find"] }), "TFFF"],
    [JSON.stringify({ ...RIGHT, API: ["find"] }), "TFFF"],
    [JSON.stringify({ API: RIGHT.API }), "TFFT"],
    [JSON.stringify({ parameters: RIGHT.parameters }), "TFFF"],
    ["", "FFFF"],
    ["book it", "FFFF"],
    [null, "TFFF"],
    [5, "TFFF"],
    [[], "TFFF"],
  ];
  for (const [prediction, expected] of table) {
    assertEquals(word(scorePrediction(prediction, TRUTH)), expected, JSON.stringify(prediction));
  }
});

Deno.test("scorePrediction() by the strict rule", () => {
  const nested: CallTruth = {
    ...TRUTH,
    parameters: [{ what: { list: ["$$$", 1], text: "$$$" } }, {}],
  };
  const none = { API: ["a", "b"], parameters: [] };
  const empty = { API: ["find"], parameters: [{ filter: {} }] };
  const json = JSON.stringify(RIGHT);
  const table: [JsonValue, CallTruth, string][] = [
    [json, TRUTH, "TTTT"],
    [` ${json}\n`, TRUTH, "TTTT"],
    [`\`\`\`json\n${json}\n\`\`\``, TRUTH, "FFFF"],
    [json.replaceAll('"', "'"), TRUTH, "FFFF"],
    [booking({ more: 1 }), TRUTH, "TTFT"],
    [booking({ note: "it's" }), TRUTH, "TTFT"],
    [JSON.stringify({ ...RIGHT, note: "x" }), TRUTH, "TTFT"],
    [booking({ guest: { age: 36, name: "Ada" } }), TRUTH, "TTTT"],
    [booking({ nights: true }), TRUTH, "TTFT"],
    [JSON.stringify({ ...RIGHT, API: "find,book" }), TRUTH, "TFFF"],
    [JSON.stringify({ ...RIGHT, API: ["find", "Book"] }), TRUTH, "TFFF"],
    [
      { API: [...TRUTH.API], parameters: [{ what: { list: [[7], 1], text: null } }, {}] },
      nested,
      "TTTT",
    ],
    [
      { API: [...TRUTH.API], parameters: [{ what: { list: [[7], 2], text: null } }, {}] },
      nested,
      "TTFT",
    ],
    [{ API: [...TRUTH.API], parameters: [{ what: "$$$" }, {}] }, nested, "TTFT"],
    [{ API: ["a", "b"], parameters: [{}, {}] }, none, "TTTT"],
    [{ API: ["a", "b"], parameters: [] }, { ...none, parameters: [{}, {}] }, "TTTT"],
    [{ API: ["a", "b"], parameters: [{}] }, none, "TFFT"],
    [{ API: ["a", "b"], parameters: [{}, { x: 1 }] }, none, "TTFT"],
    [{ API: ["find"], parameters: [{ filter: {} }] }, empty, "TTTT"],
    [{ API: ["find"], parameters: [{ filter: { x: 1 } }] }, empty, "TTFT"],
    [{ API: [], parameters: [] }, { API: [], parameters: [] }, "TTTT"],
  ];
  for (const [prediction, truth, expected] of table) {
    const scores = scorePrediction(prediction, truth, STRICT);
    assertEquals(word(scores), expected, JSON.stringify(prediction));
  }
});

Deno.test("scorePrediction() of routing reads lists of names, loosely or strictly (CallNavi 6.3)", () => {
  const table: [JsonValue, published: boolean, strict: boolean][] = [
    ["['find', 'book']", true, true],
    ['["find","book"]', true, true],
    [" [ \"find\" ,\n'book' ] ", true, true],
    [["find", "book"], true, true],
    ["[find, book]", true, false],
    ["find,book", true, false],
    ["['Find', 'BOOK']", true, false],
    ["`['find', 'book']`", true, false],
    ["['find'], ['book']", true, false],
    ["['find,book']", true, false],
    ["['find' 'book']", false, false],
    ["['find', 'book',]", false, false],
    ["['book', 'find']", false, false],
    ["['find', 'book', 'book']", false, false],
    ["I call ['find', 'book']", false, false],
    ["", false, false],
    ["[]", false, false],
    [null, false, false],
  ];
  for (const [prediction, ...expected] of table) {
    for (const [place, rule] of SCORING_RULES.entries()) {
      const scores = scorePrediction(prediction, TRUTH, { mode: "routing", rule });
      const routed = expected[place] ? "T" : "F";
      assertEquals(word(scores), `---${routed}`, JSON.stringify([prediction, rule]));
    }
  }
  const nothing = { API: [], parameters: [] };
  assertEquals(scorePrediction("[ ]", nothing, { mode: "routing", ...STRICT }).routingExact, true);
  assertEquals(scorePrediction("", nothing, { mode: "routing", ...STRICT }).routingExact, false);
});

Deno.test("scorePrediction() of native calls washes nothing", () => {
  const truth = { API: ["say"], parameters: [{ text: "it's ```" }] };
  const called = { API: ["say"], parameters: [{ text: "it's ```" }] };
  const tools = { mode: "tools" } as const;
  for (const rule of SCORING_RULES) {
    assertEquals(word(scorePrediction(called, truth, { ...tools, rule })), "TTTT");
    assertEquals(word(scorePrediction(JSON.stringify(called), truth, { ...tools, rule })), "TTTT");
    assertEquals(word(scorePrediction("{'API': []}", truth, { ...tools, rule })), "FFFF");
    const malformed = { API: ["say"], parameters: ['{"text":'] };
    assertEquals(word(scorePrediction(malformed, truth, { ...tools, rule })), "TFFT");
  }
  assertEquals(word(scorePrediction(called, truth)), "FFFF");
});

Deno.test("scorePrediction() reads YAML, with fences or as it is (CallNavi E.4)", () => {
  const truth = {
    API: ["f"],
    parameters: [{ day: "2024-08-01", at: "12:30", n: 3, who: "O'Hara" }],
  };
  const text =
    "API: [f]\nparameters:\n  - day: 2024-08-01\n    at: 12:30\n    n: 3\n    who: O'Hara\n";
  const table: [string, string, string][] = [
    [text, "TTTT", "TTTT"],
    [`\`\`\`yaml\n${text}\`\`\``, "TTTT", "FFFF"],
    [text.replace("n: 3", 'n: "3"'), "TTFT", "TTFT"],
    [text.replace("n: 3", "n: .nan"), "FFFF", "FFFF"],
    [text.replace("n: 3", "n: .inf"), "FFFF", "FFFF"],
    [text.replace("n: 3", "n: !!binary AAAA"), "FFFF", "FFFF"],
    [text.replace("n: 3", "n: 3\n    n: 4"), "FFFF", "FFFF"],
    [text.replace("n: 3", "<<: {n: 3}"), "TFFT", "TFFT"],
    [text.replace("- day", "- &call\n    day"), "TTTT", "TTTT"],
    [text.replace("n: 3", "n: &n 3\n    m: *n"), "TTTT", "TTFT"],
    [JSON.stringify({ ...truth }), "TTTT", "TTTT"],
    ["", "FFFF", "FFFF"],
    [" \n", "FFFF", "FFFF"],
    ["f(n=3)", "FFFF", "FFFF"],
    // By the grammar of YAML each of these is a text, a number or nothing.
    ["I am sorry, I cannot help.", "FFFF", "FFFF"],
    ["<html>\n<body>Too many requests</body>\n</html>", "FFFF", "FFFF"],
    ['"API"', "FFFF", "FFFF"],
    ["|\n  API: [f]", "FFFF", "FFFF"],
    ["5", "FFFF", "FFFF"],
    ["null", "FFFF", "FFFF"],
    ["# nothing", "FFFF", "FFFF"],
    ["```yaml\nI am sorry.\n```", "FFFF", "FFFF"],
    ["[]", "TFFF", "TFFF"],
    ["- f", "TFFF", "TFFF"],
    ["{}", "TFFF", "TFFF"],
    [`${text}---\n${text}`, "FFFF", "FFFF"],
    ["API: [f", "FFFF", "FFFF"],
  ];
  for (const [prediction, published, strict] of table) {
    assertEquals(word(scorePrediction(prediction, truth, YAML)), published, prediction);
    assertEquals(
      word(scorePrediction(prediction, truth, { ...YAML, ...STRICT })),
      strict,
      prediction,
    );
  }
});

Deno.test("readPrediction() drops the fences of YAML by the published rule alone, however they are written", () => {
  for (const word of ["yaml", "yml", "YAML", "YML", "Yaml", "yMl", ""]) {
    const text = `\`\`\`${word}\nAPI: [f]\n\`\`\`\n`;
    assertEquals(readPrediction(text, YAML), { API: ["f"] }, word);
    assertEquals(readPrediction(text, { ...YAML, ...STRICT }), undefined, word);
  }
  // Another language's name is none of the fence.
  assertEquals(readPrediction("```json\n{}\n```", YAML), undefined);
  assertEquals(readPrediction("```yaml\nAPI: [f]\n```"), undefined);
});

Deno.test("readPrediction() gives the value of a text, whatever its keys", () => {
  const value = readPrediction('{"__proto__":{"x":1},"constructor":2,"1":3}', STRICT);
  assertEquals(JSON.stringify(value), '{"1":3,"__proto__":{"x":1},"constructor":2}');
  const yaml = readPrediction("__proto__:\n  x: 1\n'7': \"\\ud800\"\n", YAML);
  assertEquals(Object.keys(yaml as JsonObject).sort(), ["7", "__proto__"]);
  assertEquals(readPrediction("null"), null);
  assertEquals(readPrediction("nul"), undefined);
});

Deno.test("readPrediction() reads YAML up to a length, and a smaller one where aliases may be", () => {
  const text = (start: string, length: number) => start + "x".repeat(length - start.length);
  const plain = text("- ", 100_000);
  assertEquals(readPrediction(plain, YAML), [plain.slice(2)]);
  assertEquals(readPrediction(`${plain}x`, YAML), undefined);
  const aliased = text("- &a 1\n- *a\n- ", 10_000);
  assertEquals((readPrediction(aliased, YAML) as JsonValue[]).slice(0, 2), [1, 1]);
  assertEquals(readPrediction(`${aliased}x`, YAML), undefined);
});

Deno.test("keys that every object has are no parameters", () => {
  const truth = { API: ["f"], parameters: [JSON.parse('{"__proto__":1,"constructor":"c"}')] };
  const table: [string, string][] = [
    ['{"__proto__":1,"constructor":"c"}', "TTTT"],
    ['{"__proto__":2,"constructor":"c"}', "TTFT"],
    ['{"constructor":"c"}', "TFFT"],
    ['{"__proto__":1}', "TFFT"],
    ["{}", "TFFT"],
  ];
  for (const [given, expected] of table) {
    for (const rule of SCORING_RULES) {
      const text = `{"API":["f"],"parameters":[${given}]}`;
      assertEquals(word(scorePrediction(text, truth, { rule })), expected, text);
    }
  }
  assertEquals(
    word(scorePrediction('{"__proto__":{"API":["f"],"parameters":[{}]}}', truth)),
    "TFFF",
  );
});

/** Texts that take too long, too much or too deep a stack where they are read carelessly. */
function hostileTexts(): Map<string, string> {
  const [deep, long] = [10_000, 1_000_000];
  const nested = `${"[".repeat(deep)}${"]".repeat(deep)}`;
  return new Map([
    ["nested", nested],
    ["nested names", `{"API":${nested},"parameters":[{}]}`],
    ["nested argument", `{"API":["find","book"],"parameters":[{"what":${nested}},{}]}`],
    ["nested objects", `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`],
    ["open brackets", "[".repeat(100_000)],
    ["long", `{"API":["find"],"parameters":["${"x".repeat(long)}"]}`],
    ["fences", "`".repeat(long)],
    ["quotes", "'".repeat(long / 10)],
    ["names", `[${"'find',".repeat(long / 100)}'book']`],
    ["spaces", `['find'${" ".repeat(long)}x]`],
    ["commas", `['find',${" ".repeat(long)}]`],
    ["surrogates", "\ud800".repeat(1_000)],
    ["null characters", "\0".repeat(1_000)],
  ]);
}

/** The same for YAML. */
function hostileYaml(): Map<string, string> {
  const grown = Array.from(
    { length: 30 },
    (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(", ")}]`,
  );
  return new Map([
    ["laughs", ["a0: &a0 [x, x]", ...grown].join("\n")],
    ["endless list", "&a [*a]"],
    ["endless object", "&a {API: [find, book], parameters: *a}"],
    ["long key", `a: &s ${"x".repeat(5_000)}\nb:\n  ? [*s${", *s".repeat(1_000)}]\n  : 1`],
    ["nested", "[".repeat(90_000)],
    ["nested blocks", "- ".repeat(40_000)],
    ["nested objects", "{a: ".repeat(20_000)],
    ["questions", "? ".repeat(40_000)],
    ["long", `API: [find]\n${"x".repeat(4_000_000)}`],
    ["aliases", `a: &a 1\nb: [${"*a, ".repeat(200_000)}]`],
  ]);
}

Deno.test("hostile predictions score false in every mode, and throw nothing", () => {
  for (const [texts, format] of [[hostileTexts(), "json"], [hostileYaml(), "yaml"]] as const) {
    for (const [name, text] of texts) {
      for (const rule of SCORING_RULES) {
        for (const mode of ["parameters", "routing", "tools"] as const) {
          const options = { rule, mode, format };
          const { structural, exact, routingExact } = scorePrediction(text, TRUTH, options);
          assertEquals(
            [structural ?? false, exact ?? false, routingExact],
            [false, false, false],
            name,
          );
        }
        const errors = errorClassesOf(text, TRUTH, ["find", "book"], { rule, format });
        assert(errors.length > 0, name);
      }
    }
  }
});

Deno.test("hostile values score false, and throw nothing", () => {
  let deep: JsonValue = 1;
  for (let level = 0; level < 10_000; level++) deep = level % 2 === 0 ? [deep] : { API: deep };
  const values: JsonValue[] = [
    deep,
    { API: deep, parameters: [] },
    { API: ["find", "book"], parameters: deep },
    { API: ["find", "book"], parameters: [{ what: deep }, {}] },
    { API: ["find", null], parameters: [null, null] },
    JSON.parse('{"API":["find","book"],"parameters":[{"__proto__":{"what":"room"}},{}]}'),
  ];
  for (const value of values) {
    for (const rule of SCORING_RULES) {
      for (const mode of ["parameters", "tools", "routing"] as const) {
        const { exact, structural } = scorePrediction(value, TRUTH, { rule, mode });
        assertEquals([exact ?? false, structural ?? false], [false, false]);
        assert(errorClassesOf(value, TRUTH, ["find", "book"], { rule, mode }).length > 0);
      }
    }
  }
});

/** Arguments of any JSON, with placeholders among them. */
const value = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 1, arbitrary: fc.constantFrom("$$$", {}, [], "it's", "```", "\ud800") },
) as fc.Arbitrary<JsonValue>;
const key = fc.oneof(fc.constantFrom("a", "b", "c", "__proto__", "constructor", "1"), fc.string());
const parameters = fc.dictionary(key, value, { maxKeys: 4 });
const names = fc.constantFrom("find", "book", "pay", "toString");
const truths: fc.Arbitrary<CallTruth> = fc.array(fc.tuple(names, parameters), { maxLength: 4 })
  .map((calls) => ({
    API: calls.map(([name]) => name),
    parameters: calls.map(([, given]) => given),
  }));

/** A truth as a prediction. */
function answerOf({ API, parameters }: CallTruth): JsonObject {
  return { API: [...API], parameters: [...parameters] };
}

Deno.test("the truth itself is right by both rules, in every mode and form (CallNavi 5.1, 6.3)", () => {
  fc.assert(fc.property(truths, (truth) => {
    const answer = answerOf(truth);
    const text = JSON.stringify(answer);
    assertEquals(word(scorePrediction(text, truth, STRICT)), "TTTT");
    // Quotes and fences in values are washed, too.
    if (!/'|```/.test(text)) assertEquals(word(scorePrediction(text, truth)), "TTTT");
    for (const rule of SCORING_RULES) {
      const options = { rule, mode: "tools" } as const;
      assertEquals(word(scorePrediction(answer, truth, options)), "TTTT");
      assertEquals(errorClassesOf(answer, truth, [], options), []);
      const routing = { rule, mode: "routing" } as const;
      assert(scorePrediction(answer["API"]!, truth, routing).routingExact);
    }
  }));
});

type Call = readonly [name: string, given: JsonObject];

Deno.test("scores imply each other: exact, structural, valid; and routing by both (CallNavi 5.1)", () => {
  const text = fc.oneof(
    fc.string(),
    truths.map((truth) => JSON.stringify(answerOf(truth))),
    fc.jsonValue({ maxDepth: 3 }).map((one) => JSON.stringify(one)),
  );
  const options = fc.record({
    rule: fc.constantFrom(...SCORING_RULES),
    mode: fc.constantFrom("parameters", "routing", "tools"),
    format: fc.constantFrom("json", "yaml"),
  }) as fc.Arbitrary<Required<ScoringOptions>>;
  fc.assert(
    fc.property(text, truths, options, (prediction, truth, given) => {
      const scores = scorePrediction(prediction, truth, given);
      const { syntaxValid, structural, exact, routingExact } = scores;
      if (given.mode === "routing") {
        assertEquals([syntaxValid, structural, exact], [null, null, null]);
      }
      if (exact === true) assert(structural);
      if (structural === true) assert(syntaxValid && routingExact);
      // Whatever is wrong has a class, and nothing else has.
      const errors = errorClassesOf(prediction, truth, ["find"], given);
      assertEquals(errors.length === 0, exact ?? routingExact);
      assertEquals(errors, ERROR_CLASSES.filter((one) => errors.includes(one)));
    }),
    { numRuns: 400 },
  );
});

const [H, U, L] = ERROR_CLASSES;

Deno.test("errorClassesOf() tells invented functions, bad forms and bad steps apart (CallNavi F.1, F.2, F.3)", () => {
  const good = JSON.stringify(RIGHT);
  const wrong = booking({ nights: 3 });
  const calls = (API: string[], parameters: JsonValue[]) => JSON.stringify({ API, parameters });
  const [find, book] = [RIGHT.parameters[0]!, RIGHT.parameters[1]!];
  const table: [JsonValue, published: ErrorClass[], strict: ErrorClass[]][] = [
    [good, [], []],
    [`\`\`\`json\n${good}\n\`\`\``, [], [U]],
    [`\`\`\`json\n${wrong}\n\`\`\``, [U, L], [U, L]],
    // The prompt itself has the quotes of Python.
    [wrong.replaceAll('"', "'"), [L], [U, L]],
    [`${good}\n(I assume that it is a room)`, [U], [U]],
    ["book(id=1)", [U], [U]],
    ["{}", [U], [U]],
    ["5", [U], [U]],
    [wrong, [L], [L]],
    [calls(["find"], [find]), [L], [L]],
    [calls(["book", "find"], [book, find]), [L], [L]],
    [calls(["find", "book", "pay"], [find, book, {}]), [L], [L]],
    [calls(["find", "book"], [find]), [L], [L]],
    [calls(["find", "reserve"], [find, book]), [H], [H]],
    [calls(["search", "reserve"], [{}, {}]), [H], [H]],
    [calls(["find", "book", "reserve"], [find, book, {}]), [H], [H]],
    [calls(["search"], [find]), [H, L], [H, L]],
    [calls(["reserve", "find"], [book, find]), [H, L], [H, L]],
    [calls(["find", "reserve"], [{}, book]), [H, L], [H, L]],
    [calls(["find", "book"], [find, book, {}]), [L], [L]],
    [JSON.stringify({ ...RIGHT, note: "I am sure" }), [], [U]],
    [JSON.stringify({ ...RIGHT, API: "reserve" }), [H, U, L], [H, U, L]],
    [JSON.stringify({ API: "find", parameters: find }), [U, L], [U, L]],
    [JSON.stringify({ ...RIGHT, parameters: {} }), [U, L], [U, L]],
    [JSON.stringify({ ...RIGHT, parameters: "find" }), [U, L], [U, L]],
    [calls(["find", "book"], [null, "book"]), [U, L], [U, L]],
    // Only the published way of reading stumbles over it.
    [booking({ note: "it's" }), [U], [L]],
  ];
  for (const [prediction, ...expected] of table) {
    for (const [place, rule] of SCORING_RULES.entries()) {
      const found = errorClassesOf(prediction, TRUTH, ["find", "book", "pay"], { rule });
      assertEquals(found, expected[place], `${rule}: ${prediction}`);
    }
  }
});

Deno.test("errorClassesOf() tells the wrong API of an answer with a note behind it, and the other errors of the paper's examples (CallNavi C.1, C.2, F.1, F.2)", () => {
  // Appendix C.1
  const baggage = { API: ["getBaggageStatus"], parameters: [{ baggageId: "BAG123" }] };
  const invented: JsonObject = {
    API: ["getLostBaggageReport", "updateBaggageStatus"],
    parameters: [{ baggageId: "BAG 123" }, {}],
  };
  assertEquals(errorClassesOf(invented, baggage, ["getBaggageStatus"]), [H]);
  // Appendix C.2
  const cards = { API: ["getATMCardList"], parameters: [{ accountID: "123456" }] };
  const listed = ["getATMCardList", "getCustomerCreditCards"];
  const noted = `{
    "API": "getCustomerCreditCards "],
    "parameters": [{"customerID": "123456"}]
}
( Assuming that ATM cards are considered credit cards for this specific API )`;
  assertEquals(errorClassesOf(noted, cards, listed), [U, L]);
  // With its brackets closed, of a name that nobody offers, and of the right calls behind a note.
  const closed = noted.replace('"API": ', '"API": [');
  assertEquals(errorClassesOf(closed, cards, listed), [U, L]);
  assertEquals(errorClassesOf(closed, cards, ["getATMCardList"]), [H, U]);
  const right = `Of course!\n${JSON.stringify(cards)}\nThat is all.`;
  assertEquals(errorClassesOf(right, cards, listed), [U]);
  const inYaml = "API:\n  - getCustomerCreditCards\nparameters:\n  - customerID: 1\n(Assuming: so)";
  assertEquals(errorClassesOf(inYaml, cards, listed, { format: "yaml" }), [U, L]);
  // Appendix F.2
  const details = { API: ["getCustomerDetails"], parameters: [{ customerID: "12345" }] };
  const fenced =
    '```json\n{"API": "getCustomerDetails", "parameters": {"customerID": "12345"}}\n```';
  assertEquals(errorClassesOf(fenced, details, ["getCustomerDetails"]), [U]);
});

Deno.test("errorClassesOf() counts the truth's own functions as on offer", () => {
  const truth = { API: ["unlisted"], parameters: [{ a: 1 }] };
  assertEquals(errorClassesOf('{"API":["unlisted"],"parameters":[{"a":2}]}', truth, []), [L]);
  assertEquals(errorClassesOf('{"API":["listed"],"parameters":[{"a":1}]}', truth, ["listed"]), [L]);
});

Deno.test("errorClassesOf() finds a sentence badly written where YAML is asked for", () => {
  for (const rule of SCORING_RULES) {
    for (const text of ["I am sorry, I cannot help.", "<p>no</p>", "f(n=3)"]) {
      assertEquals(errorClassesOf(text, TRUTH, ["find"], { ...YAML, rule }), [U], text);
    }
  }
});

Deno.test("errorClassesOf() of routing", () => {
  const table: [string, published: ErrorClass[], strict: ErrorClass[]][] = [
    ["['find', 'book']", [], []],
    ["find, book", [], [U]],
    ["['find']", [L], [L]],
    ["['book', 'find']", [L], [L]],
    ["['find', 'reserve']", [H], [H]],
    ["['reserve']", [H, L], [H, L]],
    ["```python\n['find', 'pay']\n```", [U, L], [U, L]],
    ["find", [U, L], [U, L]],
    ["I would call find and then book.", [U], [U]],
    ["", [U], [U]],
  ];
  for (const [prediction, ...expected] of table) {
    for (const [place, rule] of SCORING_RULES.entries()) {
      const options = { rule, mode: "routing" } as const;
      const found = errorClassesOf(prediction, TRUTH, ["find", "book", "pay"], options);
      assertEquals(found, expected[place], `${rule}: ${prediction}`);
    }
  }
});

Deno.test("a truth may allow several values or none, also within objects and lists of them", () => {
  const truth = {
    API: ["f"],
    parameters: [{
      a: { anyOf: ["x", 2] },
      b: { optional: true },
      c: { anyOf: [1], optional: true },
      d: { k: { anyOf: [1, 2] }, l: { optional: true } },
      e: [{ k: { anyOf: ["y"], optional: true } }],
    }],
  } as const;
  const right = { a: "x", d: { k: 1 }, e: [{}] };
  const table: [given: JsonObject, isRight: boolean][] = [
    [right, true],
    [{ ...right, a: 2, b: [7], c: 1, d: { k: 2, l: null }, e: [{ k: "y" }] }, true],
    [{ ...right, a: { anyOf: ["x", 2] } }, false],
    [{ ...right, c: 2 }, false],
    [{ ...right, d: { k: 3 } }, false],
    [{ ...right, d: { l: 1 } }, false],
    [{ ...right, e: [{ k: "z" }] }, false],
    [{ d: { k: 1 }, e: [{}] }, false],
  ];
  for (const rule of SCORING_RULES) {
    for (const [given, isRight] of table) {
      const text = JSON.stringify({ API: ["f"], parameters: [given] });
      for (const mode of ["parameters", "tools"] as const) {
        const { exact } = scorePrediction(text, truth as unknown as CallTruth, { rule, mode });
        assertEquals(exact, isRight, `${rule} ${mode} ${text}`);
      }
    }
  }
});

Deno.test("a set says how its calls are compared: written and made ones, and by both rules", () => {
  const functions = [{
    ...{ name: "f", document: {} },
    tool: {
      ...{ name: "f", description: "" },
      parameters: { type: "object", properties: { n: { type: "integer" }, t: { type: "string" } } },
    },
  }];
  const truth: CallTruth = { API: ["f", "f"], parameters: [{ n: 1 }, { t: "Port Ellen" }] };
  const calls = (...parameters: string[]) =>
    `{"API": ["f", "f"], "parameters": [${parameters.join(", ")}]}`;
  const inOrder = calls('{"n": 1}', '{"t": "Port Ellen"}');
  const table: [text: string, comparison: Comparison, isRight: boolean][] = [
    [inOrder, {}, true],
    [inOrder, { order: "any", text: "normalized", numbers: "as written" }, true],
    [calls('{"t": "Port Ellen"}', '{"n": 1}'), {}, false],
    [calls('{"t": "Port Ellen"}', '{"n": 1}'), { order: "any" }, true],
    [calls('{"n": 1}', '{"n": 1}'), { order: "any" }, false],
    [calls('{"n": 1}', '{"t": "port-ellen"}'), {}, false],
    [calls('{"n": 1}', '{"t": "port-ellen"}'), { text: "normalized" }, true],
    [calls('{"n": 1.0}', '{"t": "Port Ellen"}'), {}, true],
    [calls('{"n": 1.0}', '{"t": "Port Ellen"}'), { numbers: "as written" }, false],
  ];
  for (const [text, comparison, isRight] of table) {
    for (const rule of SCORING_RULES) {
      for (const mode of ["parameters", "tools"] as const) {
        const options = { rule, mode, comparison, functions } as const;
        const shown = `${text} ${JSON.stringify(options)}`;
        assertEquals(scorePrediction(text, truth, options).exact, isRight, shown);
        const errors = errorClassesOf(text, truth, ["f"], options);
        assertEquals(errors, isRight ? [] : ["logical_error"], shown);
      }
    }
  }
  const names = { API: ["g", "f"], parameters: [] };
  for (const rule of SCORING_RULES) {
    const routed = (order?: "any") =>
      scorePrediction("['f', 'g']", names, {
        rule,
        mode: "routing",
        comparison: defined({ order }),
      });
    assertEquals([routed().routingExact, routed("any").routingExact], [false, true]);
  }
});

const OPEN = PLACEHOLDER;

function checkOf(parameters: JsonObject) {
  return truthCheck({ name: "f", description: "", parameters: { type: "object", ...parameters } });
}

Deno.test("truthCheck() tells what is missing, unexpected or wrong", () => {
  const check = checkOf({
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
    required: ["city"],
    additionalProperties: false,
    minProperties: 1,
  });
  const table: [JsonValue, string | undefined][] = [
    [{ city: "Oslo", days: 2 }, undefined],
    [{ city: OPEN, days: OPEN }, undefined],
    [{ days: 2 }, "city"],
    [{ days: OPEN }, "city"],
    [{ city: "Oslo", days: 0 }, "days"],
    [{ city: OPEN, days: "2" }, "days"],
    [{ city: "Oslo", town: OPEN }, "town"],
    [JSON.parse('{"city": "Oslo", "__proto__": 1}'), "__proto__"],
  ];
  for (const [given, expected] of table) {
    const fault = check(given);
    assertEquals(fault?.includes(expected!), expected === undefined ? undefined : true, fault);
  }
  assertEquals(checkOf({ minProperties: 2 })({ a: 1 }) === undefined, false);
  assertEquals(checkOf({ minProperties: 2 })({ a: OPEN }), undefined);
});

Deno.test("truthCheck() throws where the schema is none, and neither changes it nor follows it without end", () => {
  assertThrows(() => checkOf({ required: 5 }), InputError, "must be a JSON Schema");
  const parameters = { type: "object", properties: { a: { type: "integer" }, b: { $ref: "#" } } };
  const before = JSON.stringify(parameters);
  const check = truthCheck({ name: "f", description: "", parameters });
  let given: JsonObject = { a: OPEN };
  for (let level = 0; level < 90; level++) given = { a: OPEN, b: given };
  assertEquals(check(given), undefined);
  assertEquals(check({ a: OPEN, b: { a: "x" } })?.includes("b/a"), true);
  assertEquals(check({ a: OPEN, b: { a: "x", b: { a: OPEN } } }), undefined);
  assertEquals(JSON.stringify(parameters), before);
});

// Answers to questions scored anew: sections 5.1 and 5.3 of the CallNavi paper, in a few lines each.

interface Calls {
  readonly API: readonly string[];
  readonly parameters: readonly JsonObject[];
}

/** Whether two trees are identical, but for placeholders of the truth. */
function identical(truth: JsonValue, given: JsonValue): boolean {
  if (truth === "$$$") return true;
  if (typeof truth !== "object" || truth === null) return truth === given;
  if (typeof given !== "object" || given === null) return false;
  if (Array.isArray(truth) !== Array.isArray(given)) return false;
  const [own, other] = [Object.entries(truth), Object.entries(given)];
  return own.length === other.length && own.every(([key, value]) => {
    const found = other.find(([name]) => name === key);
    return found !== undefined && identical(value, found[1]);
  });
}

/** Whether the calls are the right ones, and include the right names of parameters. */
function alike(truth: Calls, given: Calls): boolean {
  return truth.API.join() === given.API.join() &&
    truth.parameters.length === given.parameters.length &&
    truth.parameters.every((of, place) =>
      Object.keys(of).every((key) => Object.keys(given.parameters[place]!).includes(key))
    );
}

const leaf = fc.oneof(
  fc.constantFrom<JsonValue>("$$$", "a", "b", 1, 2, true, null),
  fc.array(fc.constantFrom<JsonValue>("a", 1, "$$$"), { maxLength: 2 }),
  fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom<JsonValue>("a", "$$$", 2), {
    minKeys: 1,
    noNullPrototype: true,
  }),
);
const anyParameters = fc.dictionary(fc.constantFrom("p", "q", "r"), leaf, {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});
const calls = fc.array(fc.tuple(fc.constantFrom("find", "book"), anyParameters), {
  minLength: 1,
  maxLength: 3,
}).map((all): Calls => ({ API: all.map(([name]) => name), parameters: all.map(([, of]) => of) }));

/** A truth, and an answer that is often nearly it. */
const pairs = calls.chain((truth) =>
  fc.tuple(
    fc.constant(truth),
    fc.oneof(
      calls,
      fc.constant(truth),
      fc.constant({ ...truth, parameters: [...truth.parameters, { p: "a" }] }),
      fc.tuple(fc.nat(), anyParameters).map(([place, other]): Calls => ({
        ...truth,
        parameters: truth.parameters.with(place % truth.parameters.length, other),
      })),
      fc.tuple(fc.nat(), leaf).map(([place, value]): Calls => {
        const at = place % truth.parameters.length;
        const [key] = Object.keys(truth.parameters[at]!);
        return {
          ...truth,
          parameters: truth.parameters.with(at, { ...truth.parameters[at], [key!]: value }),
        };
      }),
    ),
  )
);

Deno.test("structural accuracy and exact match are those of two trees compared anew, placeholders left out (CallNavi 5.1)", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(pairs, ([truth, given]) => {
      const scores = scorePrediction(JSON.stringify(given), truth as never, { rule: "strict" });
      const structural = alike(truth, given);
      const exact = structural && identical(truth as never, given as never);
      assertEquals(
        [scores.syntaxValid, scores.structural, scores.exact],
        [true, structural, exact],
      );
      seen.add(`${structural} ${exact}`);
    }),
    { numRuns: 2_000 },
  );
  assertEquals(seen.size, 3, "wrong calls, right calls with wrong values, and right ones");
});

Deno.test("values in the places of placeholders are right, and values that the question has must be as it has them (CallNavi E.1, E.2)", () => {
  const exact = (truth: Calls, ...of: JsonObject[]) =>
    scorePrediction(JSON.stringify({ API: truth.API, parameters: of }), truth, { rule: "strict" })
      .exact;
  const hard: Calls = {
    API: ["getCustomerCreditCards", "getCreditCardDetails", "getCurrencyExchangeRates"],
    parameters: [
      { customerID: "123155" },
      { creditCardNumber: "$$$" },
      { currencyPair: "$$$" },
    ],
  };
  const [customer, card, pair]: JsonObject[] = [
    { customerID: "123155" },
    { creditCardNumber: "4000 1" },
    { currencyPair: "EUR/JPY" },
  ];
  assertEquals(exact(hard, customer!, card!, pair!), true);
  assertEquals(exact(hard, ...hard.parameters), true);
  assertEquals(exact(hard, { customerID: "123156" }, card!, pair!), false);
  const medium = {
    API: ["getWireTransferDetails", "cancelWireTransfer"],
    parameters: [{ transferID: "WT987654" }, { transferID: "WT987654" }],
  };
  assertEquals(exact(medium, ...medium.parameters), true);
  assertEquals(exact(medium, { transferID: "WT987654" }, { transferID: "$$$" }), false);
});
