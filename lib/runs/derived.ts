/**
 * Derives journals again before anything is decided over them: where the truth is data, each line must say what
 * its own events give.
 * @module
 */

import type { Baseline } from "./baseline.ts";
import { canonicalJson, defined, printable } from "../base/json.ts";
import { cannot, InputError, reasonOf } from "../base/errors.ts";
import { countText } from "../base/numbers.ts";
import {
  type DerivedTrials,
  type JournalFile,
  type PlanLine,
  readTrialLines,
} from "./journal/journal.ts";
import { JUDGING_RULES } from "../trials/executors/answer.ts";
import { createExecutor } from "../trials/executors/generated.ts";
import { type Derivation, deriveAgain, scoresDifference } from "../trials/derive.ts";
import type { Trial } from "../trials/trial.ts";
import {
  generateTask,
  GENERATOR_VERSION,
  generatorText,
  type Task,
} from "../tasks/generated/task.ts";
import { isCase, isGenerated, isQuestion } from "../trials/executors/task_kind.ts";
import { openTask, type TaskOpener } from "../trials/executors/tasks.ts";
import { planHash } from "./resolved_suite.ts";
import { strategyChoice, strategyName } from "../trials/strategies/entry.ts";
import { withCallSets } from "./question_tasks.ts";

/** Journals whose trials are derived again. */
export interface JournalsToDerive {
  readonly paths: readonly string[];
  /** What deriving each of them came to, where that was done as they were read. */
  readonly derived?: readonly DerivedTrials[];
}

/**
 * Derives the trials of journals again, and returns notices about those that stand as recorded although their
 * truth is data.
 *
 * @throws {InputError} If a line disagrees with its own events; the message has file, line, trial and field.
 */
export async function deriveJournals(
  { paths, derived: known }: JournalsToDerive,
): Promise<string[]> {
  const recorded = new Map<string, number>();
  let earlier = 0;
  for (const derived of known ?? (await readAndDerive(paths)).map((file) => file.derived)) {
    if ("fault" in derived) throw derived.fault;
    earlier += derived.earlier;
    for (const [why, count] of derived.recorded) {
      recorded.set(why, (recorded.get(why) ?? 0) + count);
    }
  }
  const notices = [...recorded].map(([why, count]) =>
    `taken as recorded, not derived again: ${countText(count, "trial")} ${why}`
  );
  return earlier === 0 ? notices : [
    ...notices,
    `judged by version 1 of the rules, of which today's is ${JUDGING_RULES}: ` +
    `${countText(earlier, "trial")} (docs/contracts.md says what differs)`,
  ];
}

/**
 * Reads journals, and derives their trials while these are at hand. What a line disagrees in is an error of
 * {@linkcode deriveJournals} only, as journals with other faults are decided over without it.
 *
 * @throws {InputError} Like {@linkcode readJournalFile}.
 */
export async function readAndDerive(
  paths: readonly string[],
): Promise<(JournalFile & { readonly derived: DerivedTrials })[]> {
  const files = [];
  for (const path of paths) {
    const recorded = new Map<string, number>();
    let earlier = 0;
    let fault: { readonly fault?: unknown } = {};
    let derive: ReturnType<typeof derivationOf> | undefined;
    using lines = readTrialLines(path);
    let next = lines.next();
    for (; !next.done; next = lines.next()) {
      const { trial, line, plan } = next.value;
      if (trial.rules === undefined && !isCase(trial.task)) earlier++;
      if ("fault" in fault) continue;
      try {
        derive ??= derivationOf(path, plan);
        const derivation = await derive(trial);
        if (derivation.kind === "recorded" && derivation.why !== undefined) {
          recorded.set(derivation.why, (recorded.get(derivation.why) ?? 0) + 1);
        }
        if (derivation.kind === "differs") throw disagreement(path, line, trial, derivation);
      } catch (error) {
        fault = { fault: error };
      }
    }
    files.push({ ...next.value, derived: { recorded, earlier, ...fault } });
  }
  return files;
}

function disagreement(
  path: string,
  line: number,
  { id }: Trial,
  { field, recorded, derived }: Extract<Derivation, { readonly kind: "differs" }>,
): InputError {
  return new InputError(
    `Cannot judge ${path}, line ${line}: trial ${printable(id, 500)} disagrees with its own ` +
      `events: ${printable(field)} is ${recorded}, and its events give ${derived}`,
  );
}

/**
 * Returns what derives the trials of a plan; without one they can only be compared with themselves. Journals of one
 * plan share its hash: where each agrees with it, all are derived with the same limits.
 */
function derivationOf(
  path: string,
  plan: PlanLine | undefined,
): (trial: Trial) => Promise<Derivation> {
  if (plan !== undefined && planHash(plan) !== plan.planHash) {
    throw cannot(
      `judge ${path}`,
      "its plan line must agree with its own hash",
      "it was changed, or made by another version",
    );
  }
  const whyNone = plan === undefined
    ? "without a plan, which names their limits"
    : plan.resolved.generator !== GENERATOR_VERSION
    ? generatorText(plan.resolved.generator)
    : undefined;
  const sets: ReturnType<typeof setsOf> = plan === undefined ? { open: openTask } : setsOf(plan);
  const open = openerOf(sets.open);
  const strategies = new Map(
    plan?.resolved.strategies.map((entry) => [strategyName(entry), strategyChoice(entry)]),
  );
  const { limits = {}, references = false } = plan?.resolved ?? {};
  return async (trial) => {
    const strategy = strategies.get(trial.strategy);
    const why = isCase(trial.task)
      ? undefined
      : whyNone ?? (isQuestion(trial.task) ? sets.missing : undefined);
    return plan !== undefined && why === undefined && strategy !== undefined
      ? await deriveAgain(trial, { limits, references, strategy, open })
      : (plan === undefined ? undefined : scoresDifference(trial)) ??
        { kind: "recorded", ...defined({ why }) };
  };
}

/**
 * Derives the trials of a baseline, if it is a journal: a file of accepted results holds no events. One of
 * version 1 does not tell its trials apart either.
 *
 * @throws {InputError} Like {@linkcode deriveJournals}.
 */
export async function deriveBaseline({ file, plan }: Baseline): Promise<string[]> {
  if (plan !== undefined && "kind" in plan && plan.kind === "baseline") {
    const isFirst = "v" in plan && plan.v === 1;
    return isFirst ? [UNTOLD] : [];
  }
  const notices = await deriveJournals({ paths: [file] });
  return notices.map((notice) => `of the baseline: ${notice}`);
}

const UNTOLD = "the baseline is of version 1: whether single trials are shared cannot be told";

/** The call sets of a plan, or why they cannot be read. */
function setsOf(
  { suite, resolved, places }: PlanLine,
): { readonly open: TaskOpener; readonly missing?: string } {
  try {
    const plan = { suite, resolved, trials: [], ...defined({ places }) };
    return { open: withCallSets(plan).open ?? openTask };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return {
      open: openTask,
      missing: `of a call set that cannot be read (${reasonOf(error)})`,
    };
  }
}

/** Trials of a task follow each other in most journals, and a few others run at the same time. */
const MAX_TASKS = 64;

/** Opens tasks without generating those of the last trials again, and without the time that faults take. */
function openerOf(openOther: TaskOpener): TaskOpener {
  const tasks = new Map<string, Task>();
  return (spec, options) => {
    const at = { ...options, waits: false };
    if (!isGenerated(spec)) return openOther(spec, at);
    const key = canonicalJson(spec);
    const task = tasks.get(key) ?? generateTask(spec);
    tasks.delete(key);
    tasks.set(key, task);
    for (const [oldest] of tasks) {
      if (tasks.size <= MAX_TASKS) break;
      tasks.delete(oldest);
    }
    return createExecutor(task, at);
  };
}
