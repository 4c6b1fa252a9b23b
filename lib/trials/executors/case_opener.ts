/**
 * Opening of cases: for a trial with all that is made for it, and to look at them without.
 * @module
 */

import { CaseExecutor } from "./_case.ts";
import type { ToolCase } from "./tool_case.ts";
import { type CaseSpec, isCase, type TaskSpec } from "./task_kind.ts";
import { openTask, type TaskOpener } from "./tasks.ts";
import { setUpCase } from "./_case_set_up.ts";

/** Returns what opens tasks: cases by name, under a variant of settings if there is one; others by `openTask()`. */
export function caseOpener<State>(
  caseOf: (name: string, variant: string | undefined) => ToolCase<State> | undefined,
): TaskOpener {
  const find = (spec: TaskSpec, variant: string | undefined) =>
    isCase(spec) ? caseOf(spec.case, variant) : undefined;
  const open: TaskOpener = (spec, { variant, ...options } = {}) => {
    const found = find(spec, variant);
    return found === undefined
      ? openTask(spec, options)
      : new CaseExecutor(found, spec as CaseSpec, options);
  };
  const begin: TaskOpener["begin"] = async (spec, { variant, ...options }, setUpOptions) => {
    const found = find(spec, variant);
    if (found === undefined) return openTask(spec, options);
    const setUp = await setUpCase(found, setUpOptions);
    try {
      return new CaseExecutor(found, spec as CaseSpec, options, setUp);
    } catch (error) {
      await setUp.release();
      throw error;
    }
  };
  return Object.assign(open, { begin });
}
