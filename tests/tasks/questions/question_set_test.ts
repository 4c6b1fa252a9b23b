import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import { writeCallPrompt } from "../../../lib/tasks/questions/prompt.ts";
import { difficultyOf, documentOf } from "../../../lib/tasks/questions/question_set.ts";
import {
  CALL_FORMATS,
  type CallFormat,
  readPrediction,
} from "../../../lib/tasks/questions/scoring.ts";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../../../lib/tasks/questions/stability.ts";
import fc from "../../support/fast_check.ts";
import { CALLNAVI, GOLDEN, outsideTest } from "../../support/outside_data.ts";

Deno.test("difficultyOf() counts calls, and looks for placeholders at any depth (CallNavi 4.1)", () => {
  const table: [string[], JsonValue[], string][] = [
    [[], [], "easy"],
    [["a"], [{ x: "$$$" }], "easy"],
    [["a", "b"], [{ x: 1 }, {}], "medium"],
    [["a", "b"], [], "medium"],
    [["a", "b"], [{ x: "costs $$$ more" }, {}], "medium"],
    [["a", "b"], [{ "$$$": 1 }, {}], "medium"],
    [["a", "b"], [{}, { x: "$$$" }], "hard"],
    [["a", "b"], [{ x: { y: [null, "$$$"] } }, {}], "hard"],
  ];
  for (const [API, parameters, difficulty] of table) {
    assertEquals(difficultyOf({ API, parameters }), difficulty);
  }
});

Deno.test("documentOf() writes any tool in CallNavi's layout, keys in its order", () => {
  const parameters = {
    type: "object",
    properties: {
      b: { type: "string", description: "north/south" },
      a: { type: "object", properties: { n: { type: "number" } } },
      ["__proto__"]: { type: "boolean" },
    },
    required: ["b"],
  };
  const returns = { type: "string", description: "Status" };
  assertEquals(
    JSON.stringify(documentOf({ name: "f", description: "F.", parameters, returns })),
    '{"name":"f","description":"F.","parameters":{"b":"north/south","a":{"n":"number"},' +
      '"__proto__":"boolean"},"returnParameter":"Status"}',
  );
  assertEquals(documentOf({ name: "g", description: "", parameters: { type: "object" } }), {
    name: "g",
    description: "",
    parameters: {},
  });
});

/** Whether what a set says of functions in words comes back from their tools. */
function assertInverse(path: string): number {
  let words = 0;
  for (const functions of loadCallSet(path).domains.values()) {
    for (const { document, tool } of functions) {
      const { parameters, returnParameter } = document;
      const back = documentOf(tool);
      assertEquals(back["name"], document["name"]!);
      assertEquals(back["description"], document["description"]!);
      if (Array.isArray(parameters)) {
        assertEquals(Object.keys(back["parameters"]!), parameters);
        continue;
      }
      assertEquals(spelled(back["parameters"]!), spelled(parameters!));
      if (!Array.isArray(returnParameter)) assertEquals(back["returnParameter"], returnParameter);
      words++;
    }
  }
  return words;
}

/** Words as they come back: each type has one name, and examples of numbers come as descriptions. */
function spelled(words: JsonValue): JsonValue {
  if (words === "int") return "integer";
  if (words === "list") return "array";
  if (typeof words === "number") return `number (${words})`;
  if (typeof words !== "object" || words === null || Array.isArray(words)) return words;
  return Object.fromEntries(Object.entries(words).map(([key, word]) => [key, spelled(word)]));
}

Deno.test("documentOf() gives back the documents of a set", () => {
  assertEquals(
    assertInverse(new URL("../../../fixtures/call_sets/city", import.meta.url).pathname),
    5,
  );
});

outsideTest("documentOf() gives back all documents of CallNavi", CALLNAVI, (path) => {
  assertEquals(assertInverse(path), 486);
});

const FUNCTIONS = [
  { name: "getBalance", parameters: { z: "string", a: "number" }, description: "Tells it: now." },
  { name: "pay", description: "", parameters: ["amount"] },
];

/** A prompt for a question. */
function prompt(mode: "parameters" | "routing", input: CallFormat, output: CallFormat): string {
  return writeCallPrompt(FUNCTIONS, "What is it?", { mode, input, output });
}

Deno.test("writeCallPrompt() asks for names in the words of the paper (CallNavi 6.3, B.1)", () => {
  assertEquals(
    prompt("routing", "json", "json"),
    `Give the API list with descriptions below, then give the question in a chatbot, please give me the correct API that should be called.
=======API list start=======
[{"name":"getBalance","parameters":{"z":"string","a":"number"},"description":"Tells it: now."},{"name":"pay","description":"","parameters":["amount"]}]
=======API list end=======
=======Question start=======
What is it?
=======Question end=======
Given the user question, and the APIs, classify and give a correct API name to call. The answer should be formatted in only one line, and only API names in brackets look like "['getCustomerDetails', 'depositFunds']" or "['getCustomerDetails']". NO explanation and NO parameters in the answer!`,
  );
});

Deno.test("writeCallPrompt() asks for calls in the words of the paper (CallNavi 6.3, B.1)", () => {
  const [, asked] = prompt("parameters", "json", "json").split("=======Question end=======\n");
  assertEquals(
    asked,
    `Given the user question, and the APIs, classify and give a correct API name and parameters to call. The answer should be formatted including API names and parameters in JSON style, which looks like: {'API': ['getCustomerDetails', 'depositFunds'], 'parameters':[{"parameter1ForCall1": "***" },{"parameter1ForCall2": "***", "parameter2ForCall2": "***"}]} If we cannot get some parameter information from the question, set these parameters to "$$$". NO explanation/notes in the answer!`,
  );
});

Deno.test("writeCallPrompt() lists functions in YAML, in the order of their keys", () => {
  const text = prompt("routing", "yaml", "json");
  const list = text.split(/=======API list (?:start|end)=======\n/)[1]!;
  assertEquals(
    list,
    `- name: getBalance
  parameters:
    z: string
    a: number
  description: 'Tells it: now.'
- name: pay
  description: ''
  parameters:
    - amount
`,
  );
});

Deno.test("writeCallPrompt() writes long texts on one line, and shared ones in full", () => {
  const [long, shared] = ["word ".repeat(100).trim(), { a: "string" }];
  const functions = ["f", "g"].map((name) => ({ name, description: long, parameters: shared }));
  const options = { mode: "parameters", input: "yaml", output: "json" } as const;
  const text = writeCallPrompt(functions, "?", options);
  assertEquals(text.split(`\n  description: ${long}\n  parameters:\n    a: string\n`).length, 3);
});

Deno.test("the four configurations differ in list and form alone, and say which form it is (CallNavi E.4)", () => {
  for (const output of CALL_FORMATS) {
    for (const input of CALL_FORMATS) {
      const whole = prompt("parameters", input, output);
      const other = prompt("parameters", "json", output);
      assertEquals(whole.split("API list end")[1], other.split("API list end")[1]);
      assertStringIncludes(whole, `parameters in ${output.toUpperCase()} style`);
      assertEquals(whole.includes(output === "json" ? "YAML" : "JSON"), false);
      assertStringIncludes(whole, 'set these parameters to "$$$"');
    }
  }
  assertStringIncludes(prompt("routing", "json", "yaml"), "formatted as a YAML list in only one");
});

Deno.test("the forms that prompts show are read as calls", () => {
  const example: JsonObject = {
    API: ["getCustomerDetails", "depositFunds"],
    parameters: [
      { parameter1ForCall1: "***" },
      { parameter1ForCall2: "***", parameter2ForCall2: "***" },
    ],
  };
  for (const output of CALL_FORMATS) {
    const form = prompt("parameters", "json", output)
      .split("which looks like:")[1]!.split("If we cannot")[0]!;
    assertEquals(readPrediction(form, { format: output }), example);
  }
});

Deno.test("questions and functions stand in prompts as they are, whatever they hold", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("{question}", "$&", "$1", "${x}", "{tools} $` $'", "\ud800", "%s"),
  );
  fc.assert(
    fc.property(text, fc.dictionary(text, text), (question, words) => {
      const functions: JsonObject[] = [{ name: question, parameters: words }];
      const options = { mode: "parameters", output: "json" } as const;
      const json = writeCallPrompt(functions, question, { ...options, input: "json" });
      assert(json.includes(`\n${JSON.stringify(functions)}\n=======API list end`));
      assert(json.includes(`Question start=======\n${question}\n=======Question end`));
      const yaml = writeCallPrompt(functions, "?", { ...options, input: "yaml" });
      const list = yaml.slice(
        yaml.indexOf("start=======\n") + "start=======\n".length,
        yaml.lastIndexOf("\n=======API list end"),
      );
      if (JSON.stringify(functions).includes("\\ud800")) return;
      assertEquals(parseYaml(list), JSON.parse(JSON.stringify(functions)));
    }),
  );
});

Deno.test("electionStability() of the paper's examples (CallNavi 5.3, D)", () => {
  const table: [string, number | null][] = [
    ["AAAAA", 1],
    ["AABBC", 0],
    ["AABCD", 0.25],
    ["AAABB", 1 / 3],
    ["AAABC", 0.5],
    ["AAAAB", 0.75],
    ["ABCDE", 0],
    ["A", 1],
    ["", null],
  ];
  for (const [outputs, stability] of table) {
    assertEquals(electionStability([...outputs]), stability, outputs);
  }
  assertEquals(electionStability(["__proto__", "constructor", "__proto__"]), 0.5);
});

/** Levenshtein's distance as it is defined, in code points. */
function distance(one: readonly string[], other: readonly string[]): number {
  let row = [...other.keys(), other.length];
  for (const [place, character] of one.entries()) {
    const next = [place + 1];
    for (const [at, own] of other.entries()) {
      next.push(Math.min(next[at]! + 1, row[at + 1]! + 1, row[at]! + (own === character ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}

Deno.test("levenshteinStability() is the mean likeness to the first, in code points (CallNavi 5.3)", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "\u{1f600}", "\u{1f601}", "\ud83d", "\u00e9"),
  });
  fc.assert(
    fc.property(text, fc.array(text, { minLength: 1, maxLength: 4 }), (first, later) => {
      const expected = later.map((other) => {
        const [one, two] = [[...first], [...other]];
        const longest = Math.max(one.length, two.length);
        return longest === 0 ? 1 : 1 - distance(one, two) / longest;
      });
      const mean = expected.reduce((sum, alike) => sum + alike, 0) / later.length;
      assertAlmostEquals(levenshteinStability([first, ...later])!, mean, 1e-14);
    }),
  );
});

Deno.test("levenshteinStability() of few outputs, and of those that are alike", () => {
  assertEquals(levenshteinStability([]), null);
  assertEquals(levenshteinStability(["a"]), null);
  assertEquals(levenshteinStability(["", ""]), 1);
  assertEquals(levenshteinStability(["", "a"]), 0);
  assertEquals(levenshteinStability(["wxyz", "abcd", "abcd"]), 0, "the first one counts");
  assertAlmostEquals(levenshteinStability(["\u{1f600}b", "\u{1f601}b"])!, 0.5);
});

Deno.test("levenshteinStability() compares long outputs as far as 20,000 code points", () => {
  const start = "\u{1f600}".repeat(19_999);
  const scores = ["aa", "ab", "ba"].map((end) => levenshteinStability([`${start}aa`, start + end]));
  assertEquals(scores[0], 1);
  assertEquals(scores[1], 1);
  assertAlmostEquals(scores[2]!, 1 - 1 / 20_000, 1e-12);
  const huge = ["a", "b"].map((letter) => letter.repeat(5_000_000));
  assertEquals(levenshteinStability(huge), 0);
});

Deno.test("normalizeOutput() drops quotes, brackets, spaces, line breaks, backticks and backslashes (CallNavi 5.3)", () => {
  assertEquals(normalizeOutput(" [\"A\", 'b'\n`c`\\]"), "a,bc");
  assertEquals(normalizeOutput("{x:\t(1)}\r;"), "{x:\t(1)}\r;");
  fc.assert(fc.property(fc.string({ unit: fc.character() }), (text) => {
    const normal = normalizeOutput(text);
    assert(!/["'[\]\n `\\]/.test(normal));
    assertEquals(normalizeOutput(`['${text}' ]\n`), normal);
  }));
});

Deno.test("stabilities are within 0 and 1, whatever the order of votes", () => {
  const outputs = fc.array(fc.constantFrom("a", "b", "cc", "", "\ud800"), { minLength: 2 });
  fc.assert(fc.property(outputs, (given) => {
    const election = electionStability(given)!;
    for (const score of [election, levenshteinStability(given)!]) assert(score >= 0 && score <= 1);
    assertEquals(electionStability(given.toReversed()), election);
    assertEquals(election === 1, new Set(given).size === 1);
  }));
});

outsideTest("stabilities are those of another program (CallNavi 5.3)", GOLDEN, (folder) => {
  const { records } = JSON.parse(Deno.readTextFileSync(`${folder}/stability.json`));
  assert(records.length > 10);
  for (const { n, outputs, election, levenshtein, normalized } of records) {
    const texts = outputs.map(normalizeOutput);
    assertEquals(texts, normalized.outputs, `${n}`);
    for (const [given, expected] of [[outputs, { election, levenshtein }], [texts, normalized]]) {
      assertAlmostEquals(electionStability(given) ?? -1, expected.election ?? -1, 1e-15, `${n}`);
      const own = levenshteinStability(given);
      assertAlmostEquals(own ?? -1, expected.levenshtein ?? -1, 1e-15, `${n}`);
    }
  }
});
