/**
 * Dimension scores: the dimensions of tool use in one trial, as values from 0 to 1.
 * @module
 */

import { callSignature } from "../calls/behaviour.ts";
import { isCase, isGenerated } from "./executors/task_kind.ts";
import { PARAMETER_FAILURES } from "../calls/failure_types.ts";
import { type CallEvent, callsOf } from "../calls/trace.ts";
import type { Trial } from "./trial.ts";

/** The dimensions of tool use in a trial; those it says nothing about are omitted. */
export interface TrialDimensions {
  /** Whether the set of functions called is the set of those needed, as 1 or 0. */
  readonly exact_selection?: number;
  /** Whether the first call has the right arguments, as 1 or 0; omitted without calls. */
  readonly first_arguments?: number;
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
 * - Tool selection: whether the set of functions called equals the set needed (Pipeline, "Benchmarking Tool
 *   Use"), and the F1 score of the two sets, which is 1 exactly then. Needed are the core functions of a generated
 *   task, or the tools of a case's expected calls. Names of functions that do not exist count as called.
 * - Argument correctness: whether the first call has every argument of a right call, with its value (Pipeline);
 *   further arguments do not count, and a call that is none of the right ones has none of theirs. Omitted for
 *   trials without calls, and where no call is right. And the share of calls to existing functions with correct
 *   arguments, by the task's own check or the case's correct calls. A repeated call of a needed tool is correct
 *   if it equals a correct one; a call of a tool that is not needed, if it conforms to its schema.
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
    ...selection(functionNames(ofCore).size, functionNames(calls).size, core),
    ...firstArguments(calls, ({ role }) => role === "core"),
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
    ...selection([...called].filter((name) => needed.has(name)).length, called.size, needed.size),
    ...(needed.size === 0 ? {} : firstArguments(calls, ({ function: name }) => needed.has(name))),
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

/**
 * How well two sets agree, from their sizes and that of their intersection: whether they are the same, and their F1
 * score, which is 1 if both are empty.
 */
function selection(
  common: number,
  called: number,
  needed: number,
): Pick<TrialDimensions, "exact_selection" | "tool_selection"> {
  return {
    exact_selection: Number(common === called && common === needed),
    tool_selection: called + needed === 0 ? 1 : 2 * common / (called + needed),
  };
}

/** Whether the first call has the arguments of a right call. */
function firstArguments(
  [first]: readonly CallEvent[],
  isNeeded: (call: CallEvent) => boolean,
): Pick<TrialDimensions, "first_arguments"> {
  if (first === undefined) return {};
  const { failure, parameters } = first;
  if (parameters === undefined) {
    return { first_arguments: Number(failure === undefined && isNeeded(first)) };
  }
  const { oracle, failures, undecided } = parameters;
  // Of the right call the article looks at its arguments alone, whatever stands beyond them.
  const isRight = oracle !== null &&
    failures.every(({ type }) => PARAMETER_FAILURES[type].of === "surplus");
  return isRight && undecided !== undefined ? {} : { first_arguments: Number(isRight) };
}

function correctShare(correct: readonly boolean[]): Pick<TrialDimensions, "argument_correctness"> {
  if (correct.length === 0) return {};
  return { argument_correctness: correct.filter((right) => right).length / correct.length };
}
