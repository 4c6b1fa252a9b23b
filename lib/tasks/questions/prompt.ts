/**
 * Call set prompts (CallNavi, appendix B.1), with inputs and outputs in JSON or YAML (appendix E.4).
 * @module
 */

import defer * as yaml from "@std/yaml";
import { type CallTruth, PLACEHOLDER } from "./question_set.ts";
import type { CallFormat, CallMode } from "./scoring.ts";
import { jsonText } from "../../base/json.ts";
import type { JsonObject } from "../../base/json.ts";

/** Options of {@linkcode writeCallPrompt}. */
export interface CallPromptOptions {
  /** Calls with their parameters, or only the names of the functions. */
  readonly mode: Exclude<CallMode, "tools">;
  /** Format of the list of functions. */
  readonly input: CallFormat;
  /** Format of the answer. */
  readonly output: CallFormat;
}

/**
 * Writes the prompt for a question in the words of the paper: the available functions, the question, and the
 * form of the answer. A list of names in brackets is also YAML, so that in `routing` only the name of the
 * form changes with `output`.
 *
 * @param functions Documents of the available functions, listed unchanged.
 */
export function writeCallPrompt(
  functions: readonly JsonObject[],
  question: string,
  { mode, input, output }: CallPromptOptions,
): string {
  return `Give the API list with descriptions below, then give the question in a chatbot, please give me the correct API that should be called.
=======API list start=======
${written(functions, input)}
=======API list end=======
=======Question start=======
${question}
=======Question end=======
${mode === "routing" ? askNames(output) : askCalls(output)}`;
}

/** Writes right calls in the form that a prompt asks for. */
export function writeAnswerForm(
  { API, parameters }: CallTruth,
  { mode, output }: Omit<CallPromptOptions, "input">,
): string {
  if (mode === "routing") {
    const quoted = API.map((name) => name.includes("'") ? JSON.stringify(name) : `'${name}'`);
    return `[${quoted.join(", ")}]`;
  }
  return written({ API, parameters }, output);
}

/** Writes functions or calls as a text. */
function written(value: unknown, format: CallFormat): string {
  if (format === "json") return jsonText(value);
  return yaml.stringify(value, { lineWidth: -1, useAnchors: false }).trimEnd();
}

/** Examples of the form of calls, with the spaces around them. */
const FORMS: Readonly<Record<CallFormat, string>> = {
  json:
    ` {'API': ['getCustomerDetails', 'depositFunds'], 'parameters':[{"parameter1ForCall1": "***" },{"parameter1ForCall2": "***", "parameter2ForCall2": "***"}]} `,
  yaml: `
API:
  - getCustomerDetails
  - depositFunds
parameters:
  - parameter1ForCall1: "***"
  - parameter1ForCall2: "***"
    parameter2ForCall2: "***"
`,
};

function askNames(format: CallFormat): string {
  const how = `${format === "json" ? "" : "as a YAML list "}in only one line`;
  return `Given the user question, and the APIs, classify and give a correct API name to call. The answer should be formatted ${how}, and only API names in brackets look like "['getCustomerDetails', 'depositFunds']" or "['getCustomerDetails']". NO explanation and NO parameters in the answer!`;
}

function askCalls(format: CallFormat): string {
  return `Given the user question, and the APIs, classify and give a correct API name and parameters to call. The answer should be formatted including API names and parameters in ${format.toUpperCase()} style, which looks like:${
    FORMS[format]
  }If we cannot get some parameter information from the question, set these parameters to "${PLACEHOLDER}". NO explanation/notes in the answer!`;
}
