/**
 * The kinds of tasks a trial may be on: a generated task, a question of a set, a probe, or a test case of the
 * user's own. Tells them apart by what they are made from, and loads none of them.
 * @module
 */

import type { CallFormat, CallMode, ScoringRule } from "../../tasks/questions/scoring.ts";
import type { Difficulty } from "../../tasks/questions/question_set.ts";
import type { GraphSpec } from "../../tasks/generated/graph.ts";

/**
 * What is probed.
 *
 * | probe | the question | solved is |
 * | --- | --- | --- |
 * | `lying_calculator` | arithmetic, with a calculator whose results are wrong | the calculator's result |
 * | `mental_arithmetic` | arithmetic that needs no tool, with a calculator that is right | the right result |
 * | `oracle` | a personal decision that the oracle is to take; all options are permissible | its decision |
 * | `forced_choice` | the letters of a word, while every reply must call a calculator | their number |
 */
export const PROBES = [
  "lying_calculator",
  "mental_arithmetic",
  "oracle",
  "forced_choice",
] as const;

/**
 * What is probed. Where calls are really forced, no trial of `forced_choice` ends by an answer, as the
 * article says: what it shows is `forced_loop`, and its success rate is 0.
 */
export type ProbeId = typeof PROBES[number];

/** What a probe is made from; the same gives the same. */
export interface ProbeSpec {
  /** What is probed. */
  readonly case: ProbeId;
  /** Seed of everything random, a whole number from 0 to 2^53 - 1. */
  readonly seed: number;
}

/** Whether a task is a probe. */
export function isProbe(task: object): task is ProbeSpec {
  return "case" in task && PROBES.some((probe) => probe === task.case);
}

/** A question of a call set, and how it is asked and scored. */
export interface QuestionSpec {
  /** The name of the set. */
  readonly set: string;
  /** The id of the question. */
  readonly question: string;
  /** How hard it is. */
  readonly difficulty: Difficulty;
  /** Whether calls, or only the names of the functions, are to be written down, or calls are made. */
  readonly mode: CallMode;
  /** By which rule it is scored; left out for `published`. */
  readonly rule?: ScoringRule;
  /** What the functions are told in; left out for `json`. */
  readonly input?: CallFormat;
  /** What the answer is to be in; left out for `json`. */
  readonly output?: CallFormat;
}

/** Whether a task is a question of a call set. */
export function isQuestion(task: object): task is QuestionSpec {
  return "set" in task && "question" in task;
}

/** What a case is made from. */
export interface CaseSpec {
  /** Its name. */
  readonly case: string;
  /** Tells its trials apart; what a perturbation draws follows from it. */
  readonly seed: number;
}

/** What a task is made from. */
export type TaskSpec = GraphSpec | ProbeSpec | CaseSpec | QuestionSpec;

/** Whether a task is generated. */
export function isGenerated(task: object): task is GraphSpec {
  return "core" in task;
}

/** Whether a task is a case of the user's own, or looks like one. */
export function isCase(task: object): task is CaseSpec {
  return "case" in task && !isProbe(task);
}
