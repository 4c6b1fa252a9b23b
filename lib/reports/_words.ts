/**
 * Words of a report: own tests pass or fail, tasks and questions are solved or not.
 * @module
 */

import { isCase } from "../tasks/task_kind.ts";
import { isWholeQuestion } from "./cells.ts";
import type { Outcome, Trial } from "../trials/trial.ts";

/** The words for what a report is about. */
export interface ReportWords {
  /** What a cell is called: all trials of a test, on tasks of one size, or on questions asked in one way. */
  readonly cell: "cell" | "test" | "questions";
  /** What tasks are called. */
  readonly tasks: "tasks" | "tests" | "questions";
  /** The title of the headline. */
  readonly headline: string;
  /** The title of success by cell. */
  readonly byCell: string;
  /** What success is called. */
  readonly solved: "solved" | "passed";
  /** What the lack of it is called. */
  readonly unsolved: "not solved" | "failed";
  /** Outcomes whose name is not the one that journals have. */
  readonly outcomes: Partial<Readonly<Record<Outcome, string>>>;
  /** Behaviours that say nothing here. */
  readonly hidden: readonly string[];
}

const TASKS: ReportWords = {
  cell: "cell",
  tasks: "tasks",
  headline: "Success",
  byCell: "Success by cell",
  solved: "solved",
  unsolved: "not solved",
  outcomes: {},
  hidden: [],
};

const QUESTIONS: ReportWords = {
  ...TASKS,
  cell: "questions",
  tasks: "questions",
  byCell: "Success by difficulty",
};

const TESTS: ReportWords = {
  cell: "test",
  tasks: "tests",
  headline: "Results",
  byCell: "Tests",
  solved: "passed",
  unsolved: "failed",
  outcomes: { solved: "passed", wrong_answer: "failed" },
  // A model that calls a tool without a word does as it was asked.
  hidden: ["silent"],
};

/** Returns the words for a report; those of own tests where all of its trials are of tests. */
export function reportWords(
  { unit, trials }: { readonly unit: string; readonly trials: readonly Pick<Trial, "task">[] },
): ReportWords {
  if (unit === "trial") return TESTS;
  const isOfQuestions = unit === "question" && trials.some(({ task }) => isWholeQuestion(task));
  return isOfQuestions ? QUESTIONS : TASKS;
}

/** Returns the words for a trial on a page. */
export function trialWords({ task }: Pick<Trial, "task">): ReportWords {
  return isCase(task) ? TESTS : TASKS;
}
