/**
 * Runs again: the one trial that `--only` selects, and the command that selects it.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { cannot } from "../base/errors.ts";
import { isCase, type TaskSpec } from "../trials/executors/task_kind.ts";
import type { Plan } from "../runs/plan.ts";
import { parseTrialId, type PlannedTrial } from "../trials/trial_id.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { shownFile } from "../base/user_code.ts";
import type { Trial } from "../trials/trial.ts";

/** The trial of `--only`: from the plan or, after a fresh seed, from the id alone. */
export function onlyTrials(plan: Plan, id: string): readonly PlannedTrial[] {
  const planned = plan.trials.filter((trial) => trial.id === id);
  if (planned.length > 0) return planned;
  const key = parseTrialId(id);
  if (key === undefined) {
    throw cannot(`run --only=${id}`, "that is no trial id");
  }
  // The file may have several benchmarks; the id belongs to those that match all but its task.
  const isKnown = plan.trials.some((trial) =>
    trial.model === key.model && trial.strategy === key.strategy &&
    trial.perturbation === key.perturbation && isOfKind(key.task, trial.task)
  );
  return isKnown ? [{ ...key, id, index: 0, block: 0 }] : [];
}

/** Whether a benchmark with one task could have the other: each case is its own benchmark. */
function isOfKind(one: TaskSpec, other: TaskSpec): boolean {
  if (isCase(one)) return isCase(other) && one.case === other.case;
  return !isCase(other);
}

/** Whether a benchmark of this file has the trial of `--only`, and whether a test checks that. */
const rerun = { found: false, watched: false };

/** Returns a test that fails unless some benchmark of the file has the trial; `undefined` where none is needed. */
export function rerunTest(found: boolean, id: string): (() => void) | undefined {
  rerun.found ||= found;
  if (found || rerun.watched) return undefined;
  rerun.watched = true;
  return () => {
    if (rerun.found) return;
    throw new AssertionError(
      `Cannot run --only=${id} as nothing in this file has its task, model, strategy and perturbation`,
    );
  };
}

/** The path of a file at a URL, from the working directory if it is in there. */
function pathFrom(url: string | URL): string {
  const file = decodeURIComponent(new URL(url).pathname);
  const here = `${Deno.cwd()}/`;
  return file.startsWith(here) ? file.slice(here.length) : file;
}

/** The path of a file or folder beside the test file, which is the module that Deno began with. */
export function besideTestFile(name: string): string {
  return pathFrom(new URL(name, Deno.mainModule));
}

/** The command that runs a trial of the file at `origin` again. */
export function rerunLine(origin: string, { id }: Trial): string {
<<<<<<< HEAD
  return `deno test -A ${shellQuote(shownFile(origin))} -- --only=${shellQuote(id)}`;
=======
  return `deno test -A ${shellQuote(pathFrom(origin))} -- --only=${shellQuote(id)}`;
>>>>>>> 3e09eab (Match recordings by content, each for one trial, and say how many replies are old and new)
}
