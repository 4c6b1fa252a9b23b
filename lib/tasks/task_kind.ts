/**
 * Task kinds: a generated task, a question of a set, a probe, or a case. Distinguishes specs without loading
 * the code of any kind.
 * @module
 */

import type { CallFormat, CallMode, ScoringRule } from "./questions/scoring.ts";
import type { Difficulty } from "./questions/question_set.ts";
import type { GraphSpec } from "./graphs/graph.ts";

/** The probes that `"all"` means in a suite. */
export const USUAL_PROBES = [
  "lying_calculator",
  "mental_arithmetic",
  "oracle",
  "forced_choice",
] as const;

/**
 * The probes.
 *
 * | probe | the question | solved is |
 * | --- | --- | --- |
 * | `lying_calculator` | arithmetic, with a calculator whose results are wrong | the calculator's result |
 * | `mental_arithmetic` | arithmetic that needs no tool, with a correct calculator | the right result |
 * | `oracle` | a personal decision left to the oracle; all options are permissible | its decision |
 * | `forced_choice` | the letters of a word, while every reply must call a calculator | their number |
 * | `oracle_conflict` | as `oracle`, but the oracle decides against what people are usually advised | its decision |
 * | `forced_function` | as `forced_choice`, with a second function that could answer and is not the one to call | their number |
 * | `needless_call` | a number that the question itself states, with a calculator, which may be called and cannot help | that number |
 */
export const PROBES: readonly [
  "lying_calculator",
  "mental_arithmetic",
  "oracle",
  "forced_choice",
  "oracle_conflict",
  "forced_function",
  "needless_call",
] = [...USUAL_PROBES, "oracle_conflict", "forced_function", "needless_call"];

/** Probes in which every reply must call a function that cannot help. */
export const FORCED_PROBES = ["forced_choice", "forced_function"] as const;

/**
 * The id of a probe. If calls are really forced, no trial of `forced_choice` or `forced_function` ends with an
 * answer, as the article says: it shows `forced_loop`, and its success rate is 0.
 */
export type ProbeId = typeof PROBES[number];

/** The spec of a probe; equal specs give equal probes. */
export interface ProbeSpec {
  /** The probe. */
  readonly case: ProbeId;
  /** The seed of all random choices, a whole number from 0 to 2^53 - 1. */
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
  /** Its difficulty. */
  readonly difficulty: Difficulty;
  /** Whether calls, or only the names of functions, are written as text, or tools are called. */
  readonly mode: CallMode;
  /** The scoring rule; omitted for `published`. */
  readonly rule?: ScoringRule;
  /** The format of the functions; omitted for `json`. */
  readonly input?: CallFormat;
  /** The format of the answer; omitted for `json`. */
  readonly output?: CallFormat;
}

/** Whether a task is a question of a call set. */
export function isQuestion(task: object): task is QuestionSpec {
  return "set" in task && "question" in task;
}

/** Returns the spec of a question without default values. */
export function briefQuestion(spec: QuestionSpec): QuestionSpec {
  const { set, question, difficulty, mode, rule, input, output } = spec;
  return {
    ...{ set, question, difficulty, mode },
    ...(rule === undefined || rule === "published" ? {} : { rule }),
    ...(input === undefined || input === "json" ? {} : { input }),
    ...(output === undefined || output === "json" ? {} : { output }),
  };
}

/** The spec of a case. */
export interface CaseSpec {
  /** Its name. */
  readonly case: string;
  /** Distinguishes its trials; the random choices of a perturbation follow from it. */
  readonly seed: number;
}

/** The spec of a task. */
export type TaskSpec = GraphSpec | ProbeSpec | CaseSpec | QuestionSpec;

/** Whether a task is generated. */
export function isGenerated(task: object): task is GraphSpec {
  return "core" in task;
}

/**
 * Returns a task, or a cell, without its irrelevant functions. Generated tasks that have this and the seed in
 * common share their core: its functions, their values, and the question.
 */
export function coreOf<T extends object>(task: T): T {
  return isGenerated(task) ? { ...task, connected: 0, disconnected: 0 } : task;
}

/** Whether a task is a case, or looks like one. */
export function isCase(task: object): task is CaseSpec {
  return "case" in task && !isProbe(task);
}
