/**
 * Writes the answers of the simulated model that knows the truth.
 * @module
 */

import type { CallFormat } from "../tasks/questions/scoring.ts";
import type { CallTruth } from "../tasks/questions/question_set.ts";
import { isJsonObject, jsonText, type JsonValue } from "../base/json.ts";

/** The form of an answer: names in brackets, or calls with their arguments. */
export type AnswerForm = "names" | CallFormat;

/** The mistakes in a text. */
export interface TextMistakes {
  /** Whether it is cut off so that it cannot be parsed. */
  readonly cut: boolean;
  /** Whether it is in a fenced code block. */
  readonly fenced: boolean;
}

/**
 * Writes an answer with these calls, which parses by either rule unless it is cut. A list of names that is cut
 * lacks the last one.
 */
export function writeAnswer(
  calls: CallTruth,
  form: AnswerForm,
  { cut, fenced }: TextMistakes = { cut: false, fenced: false },
): string {
  const text = cut ? CUT[form](calls) : WHOLE[form](calls);
  // A list of names has no language to name in the fence.
  return fenced ? `\`\`\`${form === "names" ? "" : form}\n${text}\n\`\`\`` : text;
}

type WriteCalls = (calls: CallTruth) => string;

const WHOLE: Readonly<Record<AnswerForm, WriteCalls>> = {
  names: ({ API }) => `[${API.map(quoted).join(", ")}]`,
  json: ({ API, parameters }) => `{"API": ${jsonList(API)}, "parameters": ${jsonList(parameters)}}`,
  yaml: ({ API, parameters }) =>
    `API:${yamlList(API.map((name) => [safeJson(name)]))}\n` +
    `parameters:${yamlList(parameters.map(yamlLines))}`,
};

const CUT: Readonly<Record<AnswerForm, WriteCalls>> = {
  names: ({ API }) =>
    `[${API.map((name, place) => place + 1 < API.length ? quoted(name) : "'").join(", ")}`,
  json: (calls) => openEnded(WHOLE.json(calls)),
  yaml: (calls) => openEnded(WHOLE.yaml(calls)),
};

/** Cuts a text before its last string or list is closed, so that it cannot be parsed. */
function openEnded(text: string): string {
  const quote = text.lastIndexOf('"');
  return text.slice(0, quote === -1 ? text.lastIndexOf("]") : quote);
}

function quoted(name: string): string {
  return name.includes("'") ? `"${name}"` : `'${name}'`;
}

/** A value as JSON that both rules parse correctly: the published one replaces ' by " and deletes fences. */
function safeJson(value: JsonValue): string {
  return jsonText(value).replaceAll("'", "\\u0027").replaceAll("`", "\\u0060");
}

function jsonList(values: readonly JsonValue[]): string {
  return `[${values.map(safeJson).join(", ")}]`;
}

/** A YAML list of items, each given as lines. */
function yamlList(items: readonly (readonly string[])[]): string {
  if (items.length === 0) return " []";
  return items.map(([first, ...others]) =>
    [`\n  - ${first}`, ...others.map((line) => `    ${line}`)].join("\n")
  ).join("");
}

/** Each key of an object on its own line, with JSON values, as JSON is valid YAML. */
function yamlLines(value: JsonValue): string[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [safeJson(value)];
  return Object.entries(value).map(([key, own]) => `${safeJson(key)}: ${safeJson(own)}`);
}

/** A plan: one numbered step for each call. */
export function writePlan({ API, parameters }: CallTruth): string {
  const steps = API.map((name, place) =>
    `${place + 1}. ${name}(${safeJson(parameters[place] ?? {})})`
  );
  return [...steps, "The answer is what these calls return."].join("\n");
}
