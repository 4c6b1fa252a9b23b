/**
 * Parses requests with a question of a call set.
 * @module
 */

import { type ChatRequest, contentText } from "./wire.ts";
import type { AnswerForm } from "./_truth_writing.ts";

/** A parsed request. */
export type TruthRequest =
  /** A rating of a prediction. */
  | { readonly kind: "judge"; readonly prediction: string; readonly truth: string }
  | QuestionRequest;

/** A request about a question; `question` is its text, perhaps with more after it. */
export type QuestionRequest =
  & { readonly question: string }
  & (
    /** Native calls. */
    | { readonly kind: "call"; readonly repair: boolean }
    /** Calls as text; `again` if the answer before could not be parsed. */
    | { readonly kind: "answer"; readonly form: AnswerForm; readonly again: boolean }
    /** Earlier stages of strategies: a plan, names, the last call, and the whole list. */
    | { readonly kind: "plan" | "route" | "final" | "missing" }
  );

/** Parses a request by the text around the question, as the question may contain anything. */
export function readTruthRequest({ messages, tools }: ChatRequest): TruthRequest {
  const texts = messages.filter(({ role }) => role === "user")
    .map(({ content }) => contentText(content));
  const first = texts[0] ?? "";
  const last = texts.at(-1) ?? "";
  if ((tools ?? []).length > 0) {
    const repair = texts.length > 1 && messages.at(-1)?.role === "user" && isFix(last);
    return { kind: "call", question: first, repair };
  }
  const judgeRequest = readJudged(first);
  if (judgeRequest !== undefined) return judgeRequest;
  const { question, after } = readQuestion(first);
  if (texts.length === 1) return { question, ...readKind(after) };
  // Such a message quotes the answer, which may contain anything.
  const again = last.startsWith("The following answer cannot be read");
  const isMissing = !again && last.includes("fill in the missing information");
  if (isMissing) return { kind: "missing", question };
  return { kind: "answer", question, form: formOf(after), again };
}

/** Whether a message requests the repair of a call. */
function isFix(text: string): boolean {
  return text.startsWith("The following tool call has invalid arguments");
}

const JUDGE = "You will be given a predicted API calling JSON and ground truth couple.";
const PREDICTED = "\n======Begin predict JSON======\n";
const BETWEEN = "\n======End of predict JSON======\n======Begin of ground truth JSON======\n";
const JUDGED = "\n======End of ground truth JSON======";

/** The prediction and truth for a judge, which do not contain the delimiters (CallNavi, appendix B.2). */
function readJudged(text: string): TruthRequest | undefined {
  const start = text.indexOf(PREDICTED);
  const between = text.indexOf(BETWEEN, start);
  const end = text.indexOf(JUDGED, between);
  if (!text.startsWith(JUDGE) || start === -1 || between === -1 || end === -1) return undefined;
  return {
    kind: "judge",
    prediction: text.slice(start + PREDICTED.length, between),
    truth: text.slice(between + BETWEEN.length, end),
  };
}

// No line of a list of functions in JSON or YAML begins like these, but a line of a question may.
const BEFORE = "\n=======API list end=======\n=======Question start=======\n";
const BEHIND = "\n=======Question end=======\n";
const LISTED = "\n\nThese functions are on offer, as a JSON list:\n";

/** The question of a prompt, and the text after it. */
function readQuestion(text: string): { readonly question: string; readonly after: string } {
  const start = text.indexOf(BEFORE);
  const end = text.lastIndexOf(BEHIND);
  const listed = text.lastIndexOf(LISTED);
  if (listed > end) return { question: text.slice(0, listed), after: text.slice(listed) };
  if (start === -1 || end < start) return { question: text, after: "" };
  return { question: text.slice(start + BEFORE.length, end), after: text.slice(end) };
}

function readKind(after: string) {
  if (after.startsWith(LISTED)) return { kind: "plan" } as const;
  if (after.includes("a correct last one task API name")) return { kind: "final" } as const;
  if (after.includes("the correct API names to call")) return { kind: "route" } as const;
  return { kind: "answer", form: formOf(after), again: false } as const;
}

function formOf(after: string): AnswerForm {
  if (after.includes("only API names in brackets")) return "names";
  return after.includes("in YAML style") ? "yaml" : "json";
}
