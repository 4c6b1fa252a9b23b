/**
 * Dimension scores: the dimensions of tool use in one trial, as values from 0 to 1.
 * @module
 */

import { callSignature } from "../calls/behaviour.ts";
import { isCase, isGenerated } from "./executors/task_kind.ts";
import { type CallEvent, callsOf } from "../calls/trace.ts";
import type { Trial } from "./trial.ts";

/** The dimensions of tool use in a trial; those it says nothing about are omitted. */
export interface TrialDimensions {
  /** The F1 score of the functions called against those needed. */
  readonly tool_selection?: number;
  /** The share of calls to existing functions that have correct arguments. */
  readonly argument_correctness?: number;
  /** Whether the answer uses what the calls returned, as 1 or 0; omitted if they returned too little. */
  readonly result_interpretation?: number;
  /** Whether a task of several calls was solved, as 1 or 0. */
  readonly multi_step_planning?: number;
}

/**
 * Returns the dimensions of tool use in a trial. Returns `undefined` for perturbed trials, probes,
 * questions, cases without known correct calls, and if calls were dropped from the events.
 *
 * - Tool selection: F1 of the functions called against those needed, which is 1 only if both are the same
 *   (Pipeline, "Benchmarking Tool Use"). Needed are the core functions of a generated task, or the tools of
 *   a case's expected calls. Names of functions that do not exist count as called.
 * - Argument correctness: the share of calls to existing functions with correct arguments, by the task's
 *   own check or the case's correct calls. A repeated call of a needed tool is correct if it equals a
 *   correct one; a call of a tool that is not needed, if it conforms to its schema.
 * - Result interpretation: 1 if the trial is solved and grounded. Only if all core functions returned their
 *   true values, or all correct calls of a case succeeded.
 * - Multi-step planning: 1 if solved. Only tasks of depth 1 or more, and cases of at least two correct
 *   calls.
 */
export function dimensionsOf(trial: Trial): TrialDimensions | undefined {
  const { task, perturbation, calls: count, events } = trial;
  if (perturbation !== "none") return undefined;
  const calls = callsOf(events);
  if (calls.length < count) return undefined;
  if (isGenerated(task)) return generatedDimensions(trial, task, calls);
  if (!isCase(task) || trial.needed === undefined) return undefined;
  return caseDimensions(trial, new Set(trial.needed), calls);
}

function generatedDimensions(
  { solved, grounded }: Trial,
  { core, depth }: { readonly core: number; readonly depth: number },
  all: readonly CallEvent[],
): TrialDimensions {
  // Requests answered without a function, such as looking up a value, are no calls of the task.
  const calls = all.filter(({ role, failure }) => role !== undefined || failure !== undefined);
  const existing = calls.filter(({ role }) => role !== undefined);
  const ofCore = existing.filter(({ role }) => role === "core");
  const returned = ofCore.filter((call) =>
    call.failure === undefined && call.returned !== undefined
  );
  const couldAnswer = solved && grounded || functionNames(returned).size >= core;
  return {
    tool_selection: f1(functionNames(ofCore).size, functionNames(calls).size, core),
    ...correctShare(existing.map(({ failure }) => failure === undefined)),
    ...(couldAnswer ? { result_interpretation: Number(solved && grounded) } : {}),
    ...(depth > 0 ? { multi_step_planning: Number(solved) } : {}),
  };
}

function caseDimensions(
  { solved, grounded, minimumCalls }: Trial,
  needed: ReadonlySet<string>,
  all: readonly CallEvent[],
): TrialDimensions {
  const calls = all.filter((call) =>
    call.failure !== undefined || call.parameters !== undefined || needed.has(call.function)
  );
  const called = functionNames(calls);
  // Only calls that are wrong in some way have a view.
  const right = calls.filter(isRight);
  const texts = new Set(right.map(callSignature));
  const correct = calls.flatMap((call) => {
    const { failure, parameters } = call;
    if (failure?.type === "function_not_found") return [];
    if (failure !== undefined || parameters === undefined) return [failure === undefined];
    if (parameters.failures.length > 0) return [false];
    if (parameters.undecided !== undefined) return [];
    return [
      parameters.oracle !== null || !needed.has(call.function) || texts.has(callSignature(call)),
    ];
  });
  const fewest = minimumCalls ?? 0;
  const couldAnswer = fewest > 0 &&
    right.filter(({ error }) => error === undefined).length >= fewest;
  return {
    tool_selection: f1(
      [...called].filter((name) => needed.has(name)).length,
      called.size,
      needed.size,
    ),
    ...correctShare(correct),
    ...(couldAnswer ? { result_interpretation: Number(solved && grounded) } : {}),
    ...(fewest > 1 ? { multi_step_planning: Number(solved) } : {}),
  };
}

function isRight({ failure, parameters }: CallEvent): boolean {
  return failure === undefined && parameters === undefined;
}

function functionNames(calls: readonly CallEvent[]): Set<string> {
  return new Set(calls.map((call) => call.function));
}

/** The F1 score of two sets from their sizes and that of their intersection; 1 if both are empty. */
function f1(common: number, called: number, needed: number): number {
  return called + needed === 0 ? 1 : 2 * common / (called + needed);
}

function correctShare(correct: readonly boolean[]): Pick<TrialDimensions, "argument_correctness"> {
  if (correct.length === 0) return {};
  return { argument_correctness: correct.filter((right) => right).length / correct.length };
}
