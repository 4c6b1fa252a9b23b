/**
 * The models of a run: connects each of them once.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { identityOf } from "../models/connect.ts";
import { type ModelEntry, modelName } from "../models/entry.ts";
import { type Judge, judge } from "../models/judge/judge.ts";
import { isModel, type Model } from "../models/model.ts";
import type { Recordings } from "../models/recordings/recordings.ts";
import { isCase, type TaskSpec } from "../tasks/task_kind.ts";
import { stageEntries, type StrategyEntry, strategyName } from "../trials/strategies/entry.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import type { Plan } from "./plan.ts";
import { settingsOfCell } from "./resolved_suite.ts";
import type { Reachability } from "./_reachability.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** How models are made. */
export interface ModelSource {
  /** Makes the model of an entry for trials of a task; called once for each entry used. */
  readonly connect: (entry: ModelEntry, task: TaskSpec) => Model;
  /** Replays or records replies; models may then be connected late or never. */
  readonly recordings?: Recordings;
  /** The identity of a model before it is connected; default: from its entry. */
  readonly identify?: (entry: ModelEntry, task: TaskSpec) => Omit<Model, "reply">;
}

/** What decides which models a trial asks. */
type Asking = Pick<PlannedTrial, "model" | "strategy" | "task">;

/** The models of a run. */
export class RunModels {
  readonly #models = new Map<string, Model>();
  #answerJudge: Judge | undefined;
  readonly #users = new Map<unknown, Model>();

  /** Connects no model yet. */
  constructor(
    private readonly plan: Plan,
    private readonly source: ModelSource,
    private readonly reachability: Reachability,
  ) {}

  /**
   * Connects the models of all trials; tests with settings of their own connect theirs when they are run.
   *
   * @throws {InputError} If a model cannot be connected.
   */
  connect(trials: readonly PlannedTrial[]): void {
    if (this.#hasOwn) return;
    for (const planned of trials) {
      this.of(planned);
      this.stagesOf(planned);
      this.judge(planned);
      this.userOf(planned);
    }
  }

  /** The model of a trial. */
  of(planned: Asking): Model {
    const existing = this.#models.get(modelKey(planned.model, planned.task));
    return existing ?? this.#connect(this.#entry(planned), planned);
  }

  /** The models that the strategy of a trial asks at stages. */
  stagesOf(planned: Asking): ReadonlyMap<string, Model> {
    const stages = stageEntries(this.strategyOf(planned)).entries();
    return new Map(stages.map(([stage, model]) => [stage, this.#connect(model, planned)]));
  }

  /** The strategy of a trial. */
  strategyOf({ strategy, task }: Asking): string | StrategyEntry {
    const { strategies } = settingsOfCell(this.plan.resolved, task);
    return strategies.find((entry) => strategyName(entry) === strategy)!;
  }

  /** The judge of answers, if there is one. */
  judge(planned: Asking): Judge | undefined {
    const { judge: entry } = this.plan.resolved;
    if (entry === undefined || this.#answerJudge !== undefined) return this.#answerJudge;
    const { prompt, ...modelEntry } = entry;
    // It may have the name of a model under test, and other options.
    const model = this.#make(modelEntry, planned);
    return this.#answerJudge = judge({ model, prompt });
  }

  /** The model that plays the user of a trial; `undefined` where none does. */
  userOf(planned: PlannedTrial): Model | undefined {
    const choice = this.plan.userOf?.(planned.task, planned.variant);
    if (choice === undefined) return undefined;
    const key = isModel(choice)
      ? choice
      : canonicalJson([choice, isCase(planned.task) && planned.task.case]);
    return getOrInsertComputed(this.#users, key, () => {
      if (!isModel(choice)) {
        return this.#make(typeof choice === "string" ? { model: choice } : choice, planned);
      }
      return this.source.recordings?.model({ model: choice.name }, choice, () => choice) ?? choice;
    });
  }

  /** Distinguishes the models of trials, as far as some may be reached and others not. */
  reachKey(planned: Asking): string {
    return this.#reachKeyOf(this.#entry(planned));
  }

  #reachKeyOf(entry: ModelEntry): string {
    return this.#hasOwn ? canonicalJson(entry) : modelName(entry);
  }

  /** Whether tests have models of their own, which have nothing to do with those of others. */
  get #hasOwn(): boolean {
    return this.plan.resolved.tests !== undefined;
  }

  #entry({ model, task }: Asking): ModelEntry {
    const { models } = settingsOfCell(this.plan.resolved, task);
    return models.find((entry) => modelName(entry) === model)!;
  }

  #connect(entry: ModelEntry, planned: Asking): Model {
    const key = modelKey(modelName(entry), planned.task);
    return getOrInsertComputed(this.#models, key, () => this.#make(entry, planned));
  }

  #make(entry: ModelEntry, { task }: Asking): Model {
    const { connect, recordings, identify = identityOf } = this.source;
    const model = recordings === undefined
      ? connect(entry, task)
      : recordings.model(entry, identify(entry, task), () => connect(entry, task));
    return this.reachability.watch(model, this.#reachKeyOf(entry));
  }
}

/** Distinguishes models: those of different tests may have one name. */
function modelKey(name: string, task: TaskSpec): string {
  return isCase(task) ? canonicalJson([name, task.case]) : name;
}
