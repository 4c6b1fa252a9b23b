/**
 * Scores of trials on questions of call sets, made by hand.
 */

import type { QuestionScores } from "../../lib/tasks/questions/scoring.ts";
import type { QuestionSpec } from "../../lib/tasks/task_kind.ts";
import { type ScoredAnswer, summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import { record, type TrialTraits } from "./records.ts";

/** What an answer is worth, each more than the one before. */
export const WORTHS = ["nothing", "syntax", "routing", "structure", "exact"] as const;

/** What an answer is worth. */
export type Worth = typeof WORTHS[number];

/** The scores of an answer that is worth so much. */
export function scoresOf(worth: Worth, mode: QuestionSpec["mode"] = "parameters"): QuestionScores {
  const level = WORTHS.indexOf(worth);
  const routingExact = level >= 2;
  if (mode === "routing") {
    return { syntaxValid: null, structural: null, exact: null, routingExact };
  }
  return { syntaxValid: level >= 1, routingExact, structural: level >= 3, exact: level >= 4 };
}

/** A question; an easy one of the set `shop` by default. */
export function question(id: string, traits: Partial<QuestionSpec> = {}): QuestionSpec {
  return { set: "shop", question: id, difficulty: "easy", mode: "parameters", ...traits };
}

/** A trial whose answer was scored. */
export function answered(
  task: QuestionSpec,
  worth: Worth,
  { answer = {}, ...traits }: TrialTraits & { readonly answer?: Partial<ScoredAnswer> } = {},
): TrialSummary {
  const scores = scoresOf(worth, task.mode);
  const right = task.mode === "routing" ? scores.routingExact : scores.exact;
  return {
    ...summarize(record({
      ...{ task, outcome: right ? "solved" : "wrong_answer" },
      ...{ calls: 0, minimumCalls: task.difficulty === "easy" ? 1 : 2 },
      ...traits,
    })),
    scored: { scores, errors: [], output: worth, ...answer },
  };
}

/** A trial that has ended without an answer that could be scored. */
export function unanswered(task: QuestionSpec, traits: TrialTraits): TrialSummary {
  return summarize(record({ task, calls: 0, ...traits }));
}
