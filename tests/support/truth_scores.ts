/**
 * What the mistakes of `sim:truth` do to scores, found apart from the code, and how it is asked.
 */

import {
  type CallFormat,
  type CallMode,
  type QuestionScores,
  scorePrediction,
  type ScoringRule,
} from "../../lib/tasks/questions/scoring.ts";
import type { CallSet } from "../../lib/tasks/questions/question_set.ts";
import { writeCallPrompt } from "../../lib/tasks/questions/prompt.ts";
import type { JsonValue } from "../../lib/base/json.ts";
import type { AnswerMistake, KnownQuestion } from "../../lib/simulated/_truth_mistakes.ts";
import type { ChatMessage, ChatRequest, SimulatedModel } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { truthsOf } from "../../lib/simulated/_truth.ts";

type Score = keyof QuestionScores;

const ALL: readonly Score[] = ["syntaxValid", "structural", "exact", "routingExact"];

/** The scores that a mistake makes false, by rule. */
const FALSIFIED: Readonly<Record<AnswerMistake, Readonly<Record<ScoringRule, readonly Score[]>>>> =
  {
    syntax: { published: ALL, strict: ALL },
    fence: { published: [], strict: ALL },
    route: {
      published: ["structural", "exact", "routingExact"],
      strict: ["structural", "exact", "routingExact"],
    },
    key: { published: ["structural", "exact"], strict: ["structural", "exact"] },
    value: { published: ["exact"], strict: ["exact"] },
    extra: { published: [], strict: ["exact"] },
    optional: { published: [], strict: ["exact"] },
  };

/** Every mistake in answers. */
export const EVERY_MISTAKE = Object.keys(FALSIFIED) as AnswerMistake[];

/** The scores of an answer with these mistakes, by both rules. */
export function scoresWith(
  mistakes: readonly AnswerMistake[],
  mode: CallMode,
): Record<ScoringRule, QuestionScores> {
  return {
    published: scoresBy("published", mistakes, mode),
    strict: scoresBy("strict", mistakes, mode),
  };
}

function scoresBy(
  rule: ScoringRule,
  mistakes: readonly AnswerMistake[],
  mode: CallMode,
): QuestionScores {
  const wrong = new Set(mistakes.flatMap((mistake) => FALSIFIED[mistake][rule]));
  const routingExact = !wrong.has("routingExact");
  if (mode === "routing") {
    return { syntaxValid: null, structural: null, exact: null, routingExact };
  }
  return {
    syntaxValid: !wrong.has("syntaxValid"),
    structural: !wrong.has("structural"),
    exact: !wrong.has("exact"),
    routingExact,
  };
}

/** The ways in which a question can be asked. */
export const WAYS: readonly { readonly mode: CallMode; readonly format: CallFormat }[] = [
  { mode: "parameters", format: "json" },
  { mode: "parameters", format: "yaml" },
  { mode: "routing", format: "json" },
  { mode: "routing", format: "yaml" },
  { mode: "tools", format: "json" },
];

/** The questions of a set with the functions on offer for them. */
export function knownIn({ questions, domains }: CallSet): KnownQuestion[] {
  return questions.map((question) => ({ question, functions: domains.get(question.domain)! }));
}

/** `sim:truth` of such a name, that knows sets. */
export function truthModel(options: string, ...sets: readonly CallSet[]): SimulatedModel {
  return parseSimulatedModel(`sim:truth${options}`, truthsOf(sets));
}

/** What a model says, without tools. */
export function sayingOf(
  model: SimulatedModel,
  texts: readonly string[],
  others: Partial<ChatRequest> = {},
): string {
  const messages = texts.map((content, place): ChatMessage => ({
    role: place % 2 === 0 ? "user" : "assistant",
    content,
  }));
  const { choices: [{ message }] } = model.reply({ model: model.name, messages, ...others });
  return message.content;
}

/** What a model predicts for a question: a text, or the calls that it has made natively. */
export function predictionOf(
  model: SimulatedModel,
  { question, functions }: KnownQuestion,
  { mode, format }: typeof WAYS[number],
  seed = 0,
): JsonValue {
  const text = question.messages.flatMap(({ role, content }) => role === "user" ? [content] : [])
    .join("\n\n");
  if (mode !== "tools") {
    const documents = functions.map(({ document }) => document);
    const asked = { mode, input: "json", output: format } as const;
    return sayingOf(model, [writeCallPrompt(documents, text, asked)], { seed });
  }
  const tools = functions.map(({ tool }) => ({ type: "function" as const, function: tool }));
  const messages: ChatMessage[] = [{ role: "user", content: `${text}\n\nCall them.` }];
  const API: string[] = [];
  const parameters: JsonValue[] = [];
  while (API.length < 50) {
    const { choices: [{ message }] } = model.reply({ model: model.name, messages, tools, seed });
    const calls = message.tool_calls ?? [];
    if (calls.length === 0) break;
    messages.push(message);
    for (const { id, function: called } of calls) {
      API.push(called.name);
      parameters.push(JSON.parse(called.arguments));
      messages.push({ role: "tool", tool_call_id: id, content: "{}" });
    }
  }
  return { API, parameters };
}

/** The scores of what a model predicts for a question, by both rules. */
export function scoresOf(
  model: SimulatedModel,
  known: KnownQuestion,
  way: typeof WAYS[number],
  seed = 0,
): Record<ScoringRule, QuestionScores> {
  const prediction = predictionOf(model, known, way, seed);
  const { truth } = known.question;
  // Calls that are made have arguments, if none; a list without any says less.
  const isBare = way.mode === "tools" && truth.parameters.length === 0;
  const held = isBare ? { ...truth, parameters: truth.API.map(() => ({})) } : truth;
  const by = (rule: ScoringRule) => scorePrediction(prediction, held, { ...way, rule });
  return { published: by("published"), strict: by("strict") };
}
