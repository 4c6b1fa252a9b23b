/**
 * The names of independent units in messages: graphs, core graphs, questions, or trials of a case.
 * @module
 */

import { isCase, isGenerated, isProbe, isQuestion } from "../tasks/task_kind.ts";
import type { GraphSpec } from "../tasks/graphs/graph.ts";
import { unitKey } from "./variant.ts";
import { getOrInsert } from "../base/get_or_insert.ts";

/** Names of units. */
export interface UnitNames {
  /** Singular. */
  readonly one: string;
  /** Plural. */
  readonly many: string;
  /** Plural, specific enough to be used without context. */
  readonly whole: string;
  /** Plural, with the model that they belong to. */
  readonly ofModel: string;
  /** What two compared models have in common. */
  readonly same: string;
  /** The option that sets their number; `null` if it is fixed. */
  readonly option: string | null;
}

/** The names for generated tasks. */
export const GRAPHS: UnitNames = unitWords("graph", { ofModel: "graphs of a model" });

/** The names for generated tasks of which some share their core graph. */
export const CORES = unitWords("core graph", { ofModel: "core graphs of a model" });
const QUESTIONS = unitWords("question", { option: null });
const PROBES = unitWords("question", {});
const CASE = unitWords("trial", { whole: "trials of one case", same: "case", option: "trials" });
const TASKS = unitWords("task", { ofModel: "tasks of a model" });

/**
 * Returns the names for the units of `tasks`, from a plan or from trials: those of their kind if all share it,
 * else `task`.
 */
export function unitNames(tasks: Iterable<object>): UnitNames {
  const kinds = new Set<UnitNames>();
  const cases = new Set<unknown>();
  const bySeed = new Map<number, GraphSpec>();
  let isShared = false;
  for (const task of tasks) {
    kinds.add(taskUnitNames(task));
    if (isCase(task)) cases.add(task.case);
    if (!isGenerated(task)) continue;
    isShared ||= sharesCore(task, getOrInsert(bySeed, task.seed, task));
  }
  const [first = GRAPHS, ...others] = kinds;
  if (first === GRAPHS && isShared && others.length === 0) return CORES;
  if (first === CASE && cases.size > 1 && others.length === 0) return casesNames(cases.size);
  if (others.length === 0) return first;
  return [...kinds].every(({ one }) => one === first.one) ? QUESTIONS : TASKS;
}

/** The names for trials of several cases. */
function casesNames(cases: number): UnitNames {
  return unitWords("trial", { whole: `trials of ${cases} cases`, same: "cases", option: "trials" });
}

/** Whether two tasks have the same core graph, with other irrelevant functions. */
function sharesCore(task: GraphSpec, other: GraphSpec): boolean {
  const { connected, disconnected } = task;
  return (connected !== other.connected || disconnected !== other.disconnected) &&
    unitKey(task) === unitKey(other);
}

/** Returns the names for one task; tasks of unknown kinds count as graphs. */
function taskUnitNames(task: object): UnitNames {
  if (isQuestion(task)) return QUESTIONS;
  if (isProbe(task)) return PROBES;
  return isCase(task) ? CASE : GRAPHS;
}

function unitWords(
  one: string,
  { whole = `${one}s`, ofModel = whole, same = `${one}s`, option = "graphs" }: {
    readonly [Word in Exclude<keyof UnitNames, "one" | "many">]?: UnitNames[Word];
  },
): UnitNames {
  return { one, many: `${one}s`, whole, ofModel, same, option };
}
