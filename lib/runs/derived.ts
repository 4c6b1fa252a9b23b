/**
 * Derives journals again before anything is decided over them: where the truth is data, each line must say what
 * its own events give.
 * @module
 */

import type { Baseline } from "./baseline.ts";
import { canonicalJson, defined, printable } from "../base/json.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { countText } from "../base/numbers.ts";
import {
  type DerivedTrials,
  type JournalFile,
  readPlanLine,
  readTrialLines,
} from "./journal/journal.ts";
import { type PlanLine, trialsOfLine } from "./journal/plan_line.ts";
import { isAsPlanned } from "./journal/_problems.ts";
import { createExecutor } from "../trials/executors/generated.ts";
import { type Derivation, deriveAgain, scoresDifference } from "../trials/derive.ts";
import type { Trial } from "../trials/trial.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import {
  generateTask,
  GENERATOR_VERSION,
  generatorText,
  type Task,
} from "../tasks/generated/task.ts";
import { isCase, isGenerated, isQuestion } from "../trials/executors/task_kind.ts";
import { openTask, type TaskOpener } from "../trials/executors/tasks.ts";
import { strategyChoice, strategyName } from "../trials/strategies/entry.ts";
import { withCallSets } from "./question_tasks.ts";

/** Journals with the plan that their first lines share, which must agree with its own hash. */
export interface JournalsOfPlan {
  readonly paths: readonly string[];
  /** `undefined` in journals written by other tools. */
  readonly plan: PlanLine | undefined;
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
  { paths, plan, derived = [] }: JournalsOfPlan,
): Promise<string[]> {
  const all = [...derived];
  const derivation = new TrialDerivation(plan);
  for (const path of derived.length === 0 ? paths : []) {
    const trials = derivation.start();
    for (const { trial, line } of readTrialLines(path)) {
      const found = await trials.take(trial);
      if (found !== undefined) throw disagreement(path, line, trial, found);
    }
    all.push(trials.derived);
  }
  const recorded = new Map<string, number>();
  for (const [why, count] of all.flatMap((one) => [...one])) {
    recorded.set(why, (recorded.get(why) ?? 0) + count);
  }
  return [...recorded].map(([why, count]) =>
    `taken as recorded, not derived again: ${countText(count, "trial")} ${why}`
  );
}

/**
 * Reads journals, and derives their trials while these are at hand: those that one plan has, as far as all is well.
 * Anything else is left to {@linkcode deriveJournals}, once it is known whether the journals can be decided over.
 *
 * @throws {InputError} Like {@linkcode readJournalFile}.
 */
export async function readAndDerive(paths: readonly string[]): Promise<JournalFile[]> {
  const files: JournalFile[] = [];
  let common: { readonly key: string; readonly of: PlannedDerivation | undefined } | undefined;
  for (const path of paths) {
    let trials: DerivingTrials | undefined;
    let isWell = true;
    using lines = readTrialLines(path);
    let next = lines.next();
    for (; !next.done; next = lines.next()) {
      if (!isWell) continue;
      const { trial, plan } = next.value;
      if (trials === undefined) {
        const key = canonicalJson([plan?.planHash, plan?.resolved, plan?.places]);
        common ??= { key, of: plannedDerivation(plan) };
        trials = common.key === key ? common.of?.derivation.start() : undefined;
      }
      isWell = trials !== undefined && isAsPlanned(trial, common!.of!.planned) &&
        await trials.take(trial).then((found) => found === undefined, () => false);
    }
    files.push({ ...next.value, ...(isWell && trials ? { derived: trials.derived } : {}) });
  }
  return files;
}

/** A plan that agrees with its own hash. */
interface PlannedDerivation {
  readonly planned: readonly PlannedTrial[];
  readonly derivation: TrialDerivation;
}

function plannedDerivation(plan: PlanLine | undefined): PlannedDerivation | undefined {
  const planned = plan && trialsOfLine(plan);
  return planned && { planned, derivation: new TrialDerivation(plan) };
}

function disagreement(
  path: string,
  line: number,
  { id }: Trial,
  { field, recorded, derived }: Disagreement,
): InputError {
  return new InputError(
    `Cannot judge ${path}, line ${line}: trial ${printable(id, 500)} disagrees with its own ` +
      `events: ${printable(field)} is ${recorded}, and its events give ${derived}`,
  );
}

type Disagreement = Extract<Derivation, { readonly kind: "differs" }>;

/** Derives trials of a plan; without one they can only be compared with themselves. */
class TrialDerivation {
  readonly #plan: PlanLine | undefined;
  readonly #whyNone: string | undefined;
  readonly #sets: ReturnType<typeof setsOf>;
  readonly #open: TaskOpener;
  readonly #strategies: ReadonlyMap<string, ReturnType<typeof strategyChoice>>;

  constructor(plan: PlanLine | undefined) {
    this.#plan = plan;
    this.#whyNone = plan === undefined
      ? "without a plan, which names their limits"
      : plan.resolved.generator !== GENERATOR_VERSION
      ? generatorText(plan.resolved.generator)
      : undefined;
    this.#sets = plan === undefined ? { open: openTask } : setsOf(plan);
    this.#open = openerOf(this.#sets.open);
    this.#strategies = new Map(
      plan?.resolved.strategies.map((entry) => [strategyName(entry), strategyChoice(entry)]),
    );
  }

  /** Begins with the trials of a journal. */
  start(): DerivingTrials {
    return new DerivingTrials((trial) => this.#derive(trial));
  }

  async #derive(trial: Trial): Promise<Derivation> {
    const plan = this.#plan;
    const { limits = {}, references = false } = plan?.resolved ?? {};
    const strategy = this.#strategies.get(trial.strategy);
    const why = isCase(trial.task)
      ? undefined
      : this.#whyNone ?? (isQuestion(trial.task) ? this.#sets.missing : undefined);
    return plan !== undefined && why === undefined && strategy !== undefined
      ? await deriveAgain(trial, { limits, references, strategy, open: this.#open })
      : (plan === undefined ? undefined : scoresDifference(trial)) ??
        { kind: "recorded", ...defined({ why }) };
  }
}

/** The trials of a journal, as they are derived. */
class DerivingTrials {
  readonly derived = new Map<string, number>();
  readonly #derive: (trial: Trial) => Promise<Derivation>;

  constructor(derive: (trial: Trial) => Promise<Derivation>) {
    this.#derive = derive;
  }

  /** Derives the next trial, and returns how it disagrees with its own events. */
  async take(trial: Trial): Promise<Disagreement | undefined> {
    const derivation = await this.#derive(trial);
    if (derivation.kind === "differs") return derivation;
    if (derivation.kind === "recorded" && derivation.why !== undefined) {
      this.derived.set(derivation.why, (this.derived.get(derivation.why) ?? 0) + 1);
    }
    return undefined;
  }
}

/**
 * Derives the trials of a baseline, if it is a journal: a record holds no events.
 *
 * @throws {InputError} Like {@linkcode deriveJournals}.
 */
export async function deriveBaseline({ file, plan }: Baseline): Promise<string[]> {
  if (plan !== undefined && "kind" in plan && plan.kind === "record") return [];
  const notices = await deriveJournals({ paths: [file], plan: readPlanLine(file) });
  return notices.map((notice) => `of the baseline: ${notice}`);
}

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
