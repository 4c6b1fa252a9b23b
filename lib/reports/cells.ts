/**
 * Cells: what trials on tasks of one kind are called, and which tasks have sizes.
 * @module
 */

import { canonicalJson, type JsonValue } from "../base/json.ts";
import type { GraphSpec } from "../tasks/graphs/graph.ts";
import { DIFFICULTIES, type Difficulty } from "../tasks/questions/question_set.ts";
import { CALL_FORMATS, CALL_MODES, SCORING_RULES } from "../tasks/questions/scoring.ts";
import { isQuestion, type QuestionSpec } from "../tasks/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** Returns the fields of a trial's task without its seed, in words; of a case its name, of a question how it is asked. */
export function cellName(trial: Pick<TrialSummary, "task">): string {
  return cellParts(trial).join(", ");
}

/** Returns the parts of {@linkcode cellName}: a name may have commas of its own. */
export function cellParts({ task }: Pick<TrialSummary, "task">): string[] {
  if (isWholeQuestion(task)) return questionParts(task, task.difficulty);
  const { seed: _, ...sizes } = task as unknown as Record<string, JsonValue>;
  return Object.entries(sizes).map(([name, value]) => {
    const text = typeof value === "object" ? canonicalJson(value) : String(value);
    return name === "case" ? text : `${name} ${text}`;
  });
}

/** A trial on a generated task. */
export type GeneratedSummary = TrialSummary & { readonly task: GraphSpec };

/** The sizes that every generated task has. */
const SIZES = ["core", "depth", "connected", "disconnected"] as const;

/** Whether a trial's task has the sizes of a generated one: journals of other tools may have any. */
export function isSized(trial: TrialSummary): trial is GeneratedSummary {
  const sizes: Partial<Record<string, unknown>> = { ...trial.task };
  return SIZES.every((size) => Number.isSafeInteger(sizes[size]));
}

/** Whether a task is a complete question: journals of other tools may have tasks that look similar. */
export function isWholeQuestion(task: object): task is QuestionSpec {
  if (!isQuestion(task)) return false;
  const { set, question, difficulty, mode, rule, input, output } = task;
  return typeof set === "string" && typeof question === "string" &&
    DIFFICULTIES.includes(difficulty) && CALL_MODES.includes(mode) &&
    (rule === undefined || SCORING_RULES.includes(rule)) &&
    [input, output].every((format) => format === undefined || CALL_FORMATS.includes(format));
}

/** How a question is asked. */
type AskedQuestion = Pick<QuestionSpec, "set" | "mode" | "rule" | "input" | "output">;

/** Returns how a question is asked, such as `callnavi parameters, yaml to json`, without defaults. */
export function questionWords(question: AskedQuestion): string {
  return questionParts(question).join(", ");
}

function questionParts(
  { set, mode, rule = "published", input = "json", output = "json" }: AskedQuestion,
  difficulty?: Difficulty,
): string[] {
  return [
    `${set} ${mode}`,
    ...(difficulty === undefined ? [] : [difficulty]),
    ...(input === "json" && output === "json" ? [] : [`${input} to ${output}`]),
    ...(rule === "published" ? [] : [rule]),
  ];
}

/** Whether a trial can make calls: in most modes of call sets an answer is only a text. */
export function canCall({ task }: Pick<TrialSummary, "task">): boolean {
  return !isWholeQuestion(task) || task.mode === "tools";
}
