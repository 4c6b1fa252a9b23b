/**
 * How the simulated model that knows the truth writes calls down.
 * @module
 */

import type { CallFormat } from "../tasks/questions/scoring.ts";
import type { CallTruth } from "../tasks/questions/question_set.ts";
import { isJsonObject, type JsonValue } from "../base/json.ts";

/** What an answer is to look like: names in brackets, or calls with their arguments. */
export type AnswerForm = "names" | CallFormat;

/** What may be wrong with a text. */
export interface TextMistakes {
  /** It ends too soon to be read. */
  readonly cut: boolean;
  /** It stands in fences. */
  readonly fenced: boolean;
}

/**
 * An answer with these calls, which parses by either rule, unless it is cut. A list of names that is cut
 * lacks the last one.
 *
 * @example Usage
 * ```ts
 * import { writeAnswer } from "./truth_writing.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const calls = { API: ["findStop"], parameters: [{ place: "O'Hara Square" }] };
 * assertEquals(writeAnswer(calls, "names"), "['findStop']");
 * assertEquals(
 *   writeAnswer(calls, "json"),
 *   '{"API": ["findStop"], "parameters": [{"place":"O\\u0027Hara Square"}]}',
 * );
 * assertEquals(writeAnswer(calls, "names", { cut: true, fenced: false }), "['");
 * ```
 */
export function writeAnswer(
  calls: CallTruth,
  form: AnswerForm,
  { cut, fenced }: TextMistakes = { cut: false, fenced: false },
): string {
  const text = cut ? CUT[form](calls) : WHOLE[form](calls);
  // A list of names is of no language that fences could name.
  return fenced ? `\`\`\`${form === "names" ? "" : form}\n${text}\n\`\`\`` : text;
}

type Writer = (calls: CallTruth) => string;

const WHOLE: Readonly<Record<AnswerForm, Writer>> = {
  names: ({ API }) => `[${API.map(quoted).join(", ")}]`,
  json: ({ API, parameters }) => `{"API": ${jsonList(API)}, "parameters": ${jsonList(parameters)}}`,
  yaml: ({ API, parameters }) =>
    `API:${yamlList(API.map((name) => [plain(name)]))}\n` +
    `parameters:${yamlList(parameters.map(yamlLines))}`,
};

const CUT: Readonly<Record<AnswerForm, Writer>> = {
  names: ({ API }) =>
    `[${API.map((name, place) => place + 1 < API.length ? quoted(name) : "'").join(", ")}`,
  json: (calls) => openEnded(WHOLE.json(calls)),
  yaml: (calls) => openEnded(WHOLE.yaml(calls)),
};

/** A text that ends before its last string, or last list, is closed: none such parses. */
function openEnded(text: string): string {
  const quote = text.lastIndexOf('"');
  return text.slice(0, quote === -1 ? text.lastIndexOf("]") : quote);
}

function quoted(name: string): string {
  return name.includes("'") ? `"${name}"` : `'${name}'`;
}

/** A value as JSON that either rule reads as it is meant: the published one takes ' for " and deletes fences. */
function plain(value: JsonValue): string {
  return JSON.stringify(value).replaceAll("'", "\\u0027").replaceAll("`", "\\u0060");
}

function jsonList(values: readonly JsonValue[]): string {
  return `[${values.map(plain).join(", ")}]`;
}

/** A list of which each item has some lines. */
function yamlList(items: readonly (readonly string[])[]): string {
  if (items.length === 0) return " []";
  return items.map(([first, ...others]) =>
    [`\n  - ${first}`, ...others.map((line) => `    ${line}`)].join("\n")
  ).join("");
}

/** Each key of an object on its own line; JSON is YAML, too. */
function yamlLines(value: JsonValue): string[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [plain(value)];
  return Object.entries(value).map(([key, own]) => `${plain(key)}: ${plain(own)}`);
}

/** A plan: one numbered step for each call. */
export function writePlan({ API, parameters }: CallTruth): string {
  const steps = API.map((name, place) =>
    `${place + 1}. ${name}(${plain(parameters[place] ?? {})})`
  );
  return [...steps, "The answer is what these calls return."].join("\n");
}
