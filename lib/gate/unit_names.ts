/**
 * What the independent units of trials are called: graphs, questions, or trials of a case.
 * @module
 */

import { isCase, isProbe, isQuestion } from "../trials/executors/task_kind.ts";

/** Words for units. */
export interface UnitNames {
  /** One of them. */
  readonly one: string;
  /** Several of them. */
  readonly many: string;
  /** Several of them, where nothing else tells what they are of. */
  readonly whole: string;
  /** Several of them, on which a model works. */
  readonly ofModel: string;
  /** What two models share that work on the same ones. */
  readonly same: string;
  /** The option that sets how many there are; `null` where they are what they are. */
  readonly option: string | null;
}

/** The words for tasks that are generated. */
export const GRAPHS: UnitNames = wordsOf("graph", { ofModel: "graphs of a model" });

const QUESTIONS = wordsOf("question", { option: null });
const PROBES = wordsOf("question", {});
const CASE = wordsOf("trial", { whole: "trials of one case", same: "case", option: "trials" });
const CASES = wordsOf("trial", { whole: "trials of cases", same: "cases", option: "trials" });
const TASKS = wordsOf("task", { ofModel: "tasks of a model" });

/**
 * The words for the units of `tasks`, which may be those of a plan or of trials: of one kind where all are,
 * else `task`.
 *
 * @example Usage
 * ```ts
 * import { unitNames } from "./unit_names.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const trials = [{ case: "refunds", seed: 1 }, { case: "refunds", seed: 2 }];
 * assertEquals(unitNames([task]).many, "graphs");
 * assertEquals(unitNames(trials).whole, "trials of one case");
 * assertEquals(unitNames([task, ...trials]).one, "task");
 * ```
 */
export function unitNames(tasks: Iterable<object>): UnitNames {
  const kinds = new Set<UnitNames>();
  const cases = new Set<unknown>();
  for (const task of tasks) {
    kinds.add(kindOf(task));
    if (isCase(task)) cases.add(task.case);
  }
  const [first = GRAPHS, ...others] = kinds;
  if (first === CASE && cases.size > 1 && others.length === 0) return CASES;
  if (others.length === 0) return first;
  return [...kinds].every(({ one }) => one === first.one) ? QUESTIONS : TASKS;
}

/** Tasks of other tools are taken for graphs. */
function kindOf(task: object): UnitNames {
  if (isQuestion(task)) return QUESTIONS;
  if (isProbe(task)) return PROBES;
  return isCase(task) ? CASE : GRAPHS;
}

function wordsOf(
  one: string,
  { whole = `${one}s`, ofModel = whole, same = `${one}s`, option = "graphs" }: {
    readonly [Word in Exclude<keyof UnitNames, "one" | "many">]?: UnitNames[Word];
  },
): UnitNames {
  return { one, many: `${one}s`, whole, ofModel, same, option };
}
