import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { writeCallPrompt } from "../../../lib/tasks/questions/prompt.ts";
import {
  CALL_FORMATS,
  type CallFormat,
  readPrediction,
} from "../../../lib/tasks/questions/scoring.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import fc from "../../support/fast_check.ts";

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
  const example = {
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
