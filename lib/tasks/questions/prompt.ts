/**
 * The prompts for call sets (CallNavi, appendix B.1), whose inputs and outputs are in JSON or YAML
 * (appendix E.4).
 * @module
 */

import defer * as yaml from "@std/yaml";
import { PLACEHOLDER } from "./question_set.ts";
import type { CallFormat, CallMode } from "./scoring.ts";
import type { JsonObject } from "../../base/json.ts";

/** What a prompt asks for, and how. */
export interface CallPromptOptions {
  /** Calls with their parameters, or the names of the functions alone. */
  readonly mode: Exclude<CallMode, "tools">;
  /** How the functions are listed. */
  readonly input: CallFormat;
  /** How the answer should be written. */
  readonly output: CallFormat;
}

/**
 * The prompt for a question: the functions on offer, the question, and what the answer should look like, in
 * the words of the paper. A list of names in brackets is YAML, too, so that in
 * `routing` only the word for its form changes with `output`.
 *
 * @param functions The documents of the functions on offer, listed as they are.
 *
 * @example Usage
 * ```ts
 * import { writeCallPrompt } from "./prompt.ts";
 * import { assert } from "@std/assert";
 *
 * const functions = [{ name: "getBalance", parameters: { accountID: "string" } }];
 * const options = { mode: "routing", input: "yaml", output: "json" } as const;
 * const prompt = writeCallPrompt(functions, "What is the balance of 987654?", options);
 * assert(prompt.includes("- name: getBalance\n  parameters:\n    accountID: string\n"));
 * assert(prompt.endsWith("NO explanation and NO parameters in the answer!"));
 * ```
 */
export function writeCallPrompt(
  functions: readonly JsonObject[],
  question: string,
  { mode, input, output }: CallPromptOptions,
): string {
  return `Give the API list with descriptions below, then give the question in a chatbot, please give me the correct API that should be called.
=======API list start=======
${LISTED[input](functions)}
=======API list end=======
=======Question start=======
${question}
=======Question end=======
${ASKED[mode][output]}`;
}

/** The functions as a text. */
const LISTED: Readonly<Record<CallFormat, (functions: readonly JsonObject[]) => string>> = {
  json: (functions) => JSON.stringify(functions),
  yaml: (functions) => yaml.stringify(functions, { lineWidth: -1, useAnchors: false }).trimEnd(),
};

/** What calls look like. */
const FORMS: Readonly<Record<CallFormat, string>> = {
  json:
    `{'API': ['getCustomerDetails', 'depositFunds'], 'parameters':[{"parameter1ForCall1": "***" },{"parameter1ForCall2": "***", "parameter2ForCall2": "***"}]}`,
  yaml: `API:
  - getCustomerDetails
  - depositFunds
parameters:
  - parameter1ForCall1: "***"
  - parameter1ForCall2: "***"
    parameter2ForCall2: "***"`,
};

const ASKED: Readonly<Record<CallPromptOptions["mode"], Readonly<Record<CallFormat, string>>>> = {
  routing: {
    json: askNames("in only one line"),
    yaml: askNames("as a YAML list in only one line"),
  },
  parameters: {
    json: askCalls("JSON", ` ${FORMS.json} `),
    yaml: askCalls("YAML", `\n${FORMS.yaml}\n`),
  },
};

function askNames(how: string): string {
  return `Given the user question, and the APIs, classify and give a correct API name to call. The answer should be formatted ${how}, and only API names in brackets look like "['getCustomerDetails', 'depositFunds']" or "['getCustomerDetails']". NO explanation and NO parameters in the answer!`;
}

function askCalls(style: string, form: string): string {
  return `Given the user question, and the APIs, classify and give a correct API name and parameters to call. The answer should be formatted including API names and parameters in ${style} style, which looks like:${form}If we cannot get some parameter information from the question, set these parameters to "${PLACEHOLDER}". NO explanation/notes in the answer!`;
}
