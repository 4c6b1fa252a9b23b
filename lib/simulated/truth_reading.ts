/**
 * What can be read from a request that asks a question of a call set.
 * @module
 */

import { type ChatRequest, textOf } from "./wire.ts";
import type { AnswerForm } from "./truth_writing.ts";

/** What is asked for. */
export type Asked =
  /** A rating of a prediction. */
  | { readonly kind: "judge"; readonly prediction: string; readonly truth: string }
  | AskedOf;

/** What is asked for of a question; `question` is its text, perhaps with more behind it. */
export type AskedOf =
  & { readonly question: string }
  & (
    /** Calls that are made. */
    | { readonly kind: "call"; readonly repair: boolean }
    /** Calls that are written down; `again` where what was written before could not be read. */
    | { readonly kind: "answer"; readonly form: AnswerForm; readonly again: boolean }
    /** What strategies ask before: a plan, names, the last call, and the whole list. */
    | { readonly kind: "plan" | "route" | "final" | "missing" }
  );

/** Reads what a request asks for. Texts are known by what stands around a question, which may say anything. */
export function readAsked({ messages, tools }: ChatRequest): Asked {
  const said = messages.flatMap(({ role, content }) => role === "user" ? [textOf(content)] : []);
  const first = said[0] ?? "";
  const last = said.at(-1) ?? "";
  if ((tools ?? []).length > 0) {
    const repair = said.length > 1 && messages.at(-1)?.role === "user" && isFix(last);
    return { kind: "call", question: first, repair };
  }
  const judged = readJudged(first);
  if (judged !== undefined) return judged;
  const { question, behind } = readQuestion(first);
  if (said.length === 1) return { question, ...readKind(behind) };
  // It quotes the answer, which may say anything.
  const again = last.startsWith("The following answer cannot be read");
  const isMissing = !again && last.includes("fill in the missing information");
  if (isMissing) return { kind: "missing", question };
  return { kind: "answer", question, form: formOf(behind), again };
}

/** Whether a call that was made does not fit its schema. */
function isFix(text: string): boolean {
  return text.startsWith("The following tool call has invalid arguments");
}

const JUDGE = "You will be given a predicted API calling JSON and ground truth couple.";
const PREDICTED = "\n======Begin predict JSON======\n";
const BETWEEN = "\n======End of predict JSON======\n======Begin of ground truth JSON======\n";
const JUDGED = "\n======End of ground truth JSON======";

/** The couple that a judge gets, whose values hold no delimiters (CallNavi, appendix B.2). */
function readJudged(text: string): Asked | undefined {
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

// No line of a list of functions in JSON or YAML begins like these, but one of a question may.
const BEFORE = "\n=======API list end=======\n=======Question start=======\n";
const BEHIND = "\n=======Question end=======\n";
const LISTED = "\n\nThese functions are on offer, as a JSON list:\n";

/** The question of a prompt, and what stands behind it. */
function readQuestion(text: string): { readonly question: string; readonly behind: string } {
  const start = text.indexOf(BEFORE);
  const end = text.lastIndexOf(BEHIND);
  const listed = text.lastIndexOf(LISTED);
  if (listed > end) return { question: text.slice(0, listed), behind: text.slice(listed) };
  if (start === -1 || end < start) return { question: text, behind: "" };
  return { question: text.slice(start + BEFORE.length, end), behind: text.slice(end) };
}

function readKind(behind: string) {
  if (behind.startsWith(LISTED)) return { kind: "plan" } as const;
  if (behind.includes("a correct last one task API name")) return { kind: "final" } as const;
  if (behind.includes("the correct API names to call")) return { kind: "route" } as const;
  return { kind: "answer", form: formOf(behind), again: false } as const;
}

function formOf(behind: string): AnswerForm {
  if (behind.includes("only API names in brackets")) return "names";
  return behind.includes("in YAML style") ? "yaml" : "json";
}
