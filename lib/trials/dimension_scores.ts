/**
 * What one trial tells of the dimensions of tool use, as values from 0 to 1.
 * @module
 */

import { canonicalJson, parseJson } from "../base/json.ts";
import { isWithin } from "../base/json_depth.ts";
import { isCase, isGenerated } from "./executors/task_kind.ts";
import { type CallEvent, callsOf } from "../calls/trace.ts";
import type { Trial } from "./trial.ts";

/** What a trial without a fault tells: a value for each dimension that it has something to say of. */
export interface TrialDimensions {
  /** The F1 score of the functions that were called beside those that are needed. */
  readonly tool_selection?: number;
  /** The share of calls to functions that there are whose arguments are right. */
  readonly argument_correctness?: number;
  /** Whether the answer is what the calls had returned, as 1 or 0, where they had returned it. */
  readonly result_interpretation?: number;
  /** Whether a task of several calls was solved, as 1 or 0. */
  readonly multi_step_planning?: number;
}

/**
 * What a trial tells of the dimensions of tool use; `undefined` where it tells nothing: of perturbed
 * trials, of probes and questions, of cases whose right calls are not known, and where calls were dropped from
 * the events.
 *
 * - Tool selection: F1 of the set of functions that were called and the set of those that are needed, which is
 *   1 exactly when both are the same (Pipeline, "Benchmarking Tool Use"). Needed are the core functions of a
 *   generated task, and the tools of a case's oracle. Names that no function has count as called.
 * - Argument correctness: the share of calls to functions that there are whose arguments are right: nothing is
 *   wrong with them by the task's own check, or beside the case's right calls. A further call of a tool
 *   that a case needs is right if it repeats a right one; one of a tool that it does not need, if it
 *   conforms to its schema.
 * - Result interpretation: only where the answer was to be had, as all core functions had returned their
 *   true values, or all right calls of a case were made and carried out: 1 if the trial is solved, and
 *   grounded.
 * - Multi-step planning: only tasks of depth 1 or more, and cases of two right calls or more: 1 if solved.
 *
 * @example Usage
 * ```ts
 * import { dimensionsOf } from "./dimension_scores.ts";
 * import { scripted } from "../models/scripted.ts";
 * import { runTrial } from "./trial.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const trial = await runTrial(task, scripted("shrug", () => ({ text: "I cannot tell." })));
 * assertEquals(dimensionsOf(trial), { tool_selection: 0, multi_step_planning: 0 });
 * ```
 */
export function dimensionsOf(trial: Trial): TrialDimensions | undefined {
  const { task, perturbation, calls: count, events } = trial;
  if (perturbation !== "none") return undefined;
  const calls = callsOf(events);
  if (calls.length < count) return undefined;
  if (isGenerated(task)) return ofGenerated(trial, task, calls);
  if (!isCase(task) || trial.needed === undefined) return undefined;
  return ofCase(trial, new Set(trial.needed), calls);
}

function ofGenerated(
  { solved, grounded }: Trial,
  { core, depth }: { readonly core: number; readonly depth: number },
  all: readonly CallEvent[],
): TrialDimensions {
  // What is answered without a function, such as looking at a value, is no call of the task.
  const calls = all.filter(({ role, failure }) => role !== undefined || failure !== undefined);
  const existing = calls.filter(({ role }) => role !== undefined);
  const ofCore = existing.filter(({ role }) => role === "core");
  const returned = ofCore.filter((call) =>
    call.failure === undefined && call.returned !== undefined
  );
  const had = solved && grounded || namesOf(returned).size >= core;
  return {
    tool_selection: f1(namesOf(ofCore).size, namesOf(calls).size, core),
    ...shareOf(existing.map(({ failure }) => failure === undefined)),
    ...(had ? { result_interpretation: Number(solved && grounded) } : {}),
    ...(depth > 0 ? { multi_step_planning: Number(solved) } : {}),
  };
}

function ofCase(
  { solved, grounded, minimumCalls }: Trial,
  needed: ReadonlySet<string>,
  all: readonly CallEvent[],
): TrialDimensions {
  const calls = all.filter((call) =>
    call.failure !== undefined || call.parameters !== undefined || needed.has(call.function)
  );
  const called = namesOf(calls);
  // Only what is wrong in some way has a view.
  const right = calls.filter(isRight);
  const texts = new Set(right.map(textOf));
  const judged = calls.flatMap((call) => {
    const { failure, parameters } = call;
    if (failure?.type === "function_not_found") return [];
    if (failure !== undefined || parameters === undefined) return [failure === undefined];
    if (parameters.failures.length > 0) return [false];
    if (parameters.undecided !== undefined) return [];
    return [parameters.oracle !== null || !needed.has(call.function) || texts.has(textOf(call))];
  });
  const fewest = minimumCalls ?? 0;
  const had = fewest > 0 && right.filter(({ error }) => error === undefined).length >= fewest;
  return {
    tool_selection: f1(
      [...called].filter((name) => needed.has(name)).length,
      called.size,
      needed.size,
    ),
    ...shareOf(judged),
    ...(had ? { result_interpretation: Number(solved && grounded) } : {}),
    ...(fewest > 1 ? { multi_step_planning: Number(solved) } : {}),
  };
}

function isRight({ failure, parameters }: CallEvent): boolean {
  return failure === undefined && parameters === undefined;
}

function namesOf(calls: readonly CallEvent[]): Set<string> {
  return new Set(calls.map((call) => call.function));
}

/** F1 of two sets of so many, which have so many in common; of two empty ones, that are the same, 1. */
function f1(common: number, called: number, needed: number): number {
  return called + needed === 0 ? 1 : 2 * common / (called + needed);
}

function shareOf(judged: readonly boolean[]): Pick<TrialDimensions, "argument_correctness"> {
  if (judged.length === 0) return {};
  return { argument_correctness: judged.filter((right) => right).length / judged.length };
}

/** What is nested deeper is compared as it was written. */
const MOST_NESTING = 500;

/** A call as a text: the same of calls that are equal. */
function textOf({ function: name, arguments: written, resolved = written }: CallEvent): string {
  const value = parseJson(resolved);
  const plain = value !== undefined && isWithin(value, { levels: MOST_NESTING });
  return JSON.stringify([name, plain ? canonicalJson(value) : resolved]);
}
