/**
 * Runs: the trials of a plan, carried out ahead of those who await them, and kept in a journal.
 * @module
 */

import { fileReason, InputError } from "./input.ts";
import { canonicalJson } from "./json.ts";
import { JournalWriter, tornNotice } from "./journal.ts";
import type { BaselineScores } from "./judge.ts";
import { LookAhead } from "./lookahead.ts";
import type { Model } from "./model.ts";
import {
  differences,
  foreignTrial,
  type JournalFile,
  type PlanLine,
  planLine,
  readJournalFile,
} from "./results.ts";
import { type Plan, type Shard, shardOf } from "./plan.ts";
import { type Needless, Stopping } from "./stopping.ts";
import { type ModelEntry, modelName } from "./suite.ts";
import { type Agent, type PlannedTrial, runTrial, type Trial } from "./trial.ts";

/** Options of {@linkcode Run}. */
export interface RunOptions {
  /** Makes the model of an entry; called once for each entry that is used. */
  readonly connect: (entry: ModelEntry) => Model;
  /** How many trials run at the same time; default 8. */
  readonly concurrency?: number;
  /** Whether trials may be skipped by whoever awaits them; see {@linkcode LookAhead}. */
  readonly slowStart?: boolean;
  /** Only this part of the plan. */
  readonly shard?: Shard;
  /** Only these trials. */
  readonly only?: readonly PlannedTrial[];
  /** The file to which finished trials are appended. */
  readonly journal?: string;
  /** Continues the journal: what it has is not run again. */
  readonly resume?: boolean;
  /** When resuming, runs invalid trials again. */
  readonly retryInvalid?: boolean;
  /** What a sequential upgrade gate compares with, if it comes from a file. */
  readonly baseline?: BaselineScores;
  /** Works on tasks instead of the agent loop. */
  readonly agent?: Agent;
  /** Stops the run: trials in flight are given up and leave no trace. */
  readonly signal?: AbortSignal;
}

/**
 * The seed of a journal that is to be continued, `undefined` if there is no such file: a suite whose
 * seed is `fresh` goes on with it.
 *
 * @throws {InputError} If the journal cannot be read.
 */
export function seedToResume(path: string): number | undefined {
  return exists(path) ? readJournalFile(path).plan?.seed : undefined;
}

/** Carries out the trials of a plan, each at most once. */
export class Run implements Disposable {
  /** The trials of this run, in plan order. */
  readonly trials: readonly PlannedTrial[];
  /** What a person should know, such as a dropped torn line. */
  readonly notices: readonly string[];

  readonly #plan: Plan;
  readonly #options: RunOptions;
  readonly #models = new Map<string, Model>();
  readonly #finished: ReadonlyMap<string, Trial>;
  readonly #resumed: JournalFile | undefined;
  readonly #ahead: LookAhead<Trial | Needless>;
  readonly #stopping: Stopping;
  #writer: JournalWriter | undefined;
  /** Why nothing more is started: the run was disposed of, or its journal cannot be written. */
  #ended: Error | undefined;

  /**
   * Prepares a run; nothing is started or written yet.
   *
   * @throws {InputError} If the journal exists and is not to be resumed, or is of another plan.
   */
  constructor(plan: Plan, options: RunOptions) {
    const { journal, resume = false, retryInvalid = false, shard } = options;
    this.#plan = plan;
    this.#options = options;
    this.trials = options.only ?? (shard === undefined ? plan.trials : shardOf(plan, shard));
    if (journal !== undefined && exists(journal)) {
      if (!resume) throw JournalWriter.existing(journal);
      this.#resumed = readJournalFile(journal);
      assertSamePlan(this.#resumed, planLine(plan, shard));
    }
    const kept = this.#resumed?.trials ?? [];
    const foreign = foreignTrial(kept, this.trials);
    if (foreign !== undefined) {
      throw new InputError(
        `Cannot resume ${journal} as it has a trial that is none of its plan: ${foreign}`,
      );
    }
    this.#finished = new Map(
      kept.filter(({ outcome }) => !(retryInvalid && outcome === "invalid"))
        .map((trial) => [trial.id, trial]),
    );
    // A replay or a part of the plan cannot tell what the whole needs; a budget holds for it all the same.
    const watched = options.only !== undefined || shard !== undefined ? unruled(plan) : plan;
    this.#stopping = new Stopping(watched, options.baseline);
    // Invalid trials that are run again have cost what they cost.
    for (const trial of kept) {
      if (this.#finished.has(trial.id)) this.#stopping.record(trial);
      else this.#stopping.charge(trial);
    }
    const torn = this.#resumed?.content.tornBytes ?? 0;
    this.notices = torn === 0 ? [] : [tornNotice(journal!, torn)];
    this.#ahead = new LookAhead(this.trials.length, (place) => this.#run(this.trials[place]!), {
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      ...(options.slowStart === undefined ? {} : { slowStart: options.slowStart }),
      // A run that may end early is of use only up to the first trial that is missing.
      inOrder: watched.rule !== undefined || watched.budget !== undefined,
    });
  }

  /**
   * Makes all models before anything is run, so that what cannot work is known early.
   *
   * @throws {InputError} If a model cannot be had.
   */
  connect(): void {
    for (const { model } of this.trials) this.#model(model);
  }

  /**
   * Opens the journal before anything is run, so that no trial is paid for and then lost.
   *
   * @throws {InputError} If the journal cannot be written.
   */
  open(): void {
    this.#journal();
  }

  /** How many trials of this run the journal had already. */
  get resumed(): number {
    return this.trials.filter(({ id }) => this.#finished.has(id)).length;
  }

  /**
   * The finished trial at a place of {@linkcode Run.trials}; it is carried out once. One that a
   * sequential gate or a budget has made needless is not carried out.
   */
  trial(place: number): Promise<Trial | Needless> {
    return this.#ahead.get(place);
  }

  /** All trials that were needed, in plan order, once all of them are finished. */
  async all(): Promise<Trial[]> {
    return (await this.#ahead.all()).filter((trial): trial is Trial => trial.kind === "trial");
  }

  /** Which budget ended the run before its gate could; `undefined` if none did. */
  get stopped(): string | undefined {
    return this.#stopping.stopped;
  }

  /** Lets go of a finished trial, whose record the journal has. */
  forget(place: number): void {
    this.#ahead.forget(place);
  }

  /** Closes the journal; trials that have not started never will. */
  [Symbol.dispose](): void {
    this.#ended ??= new Error("Cannot run a trial as the run is over: it was disposed of");
    this.#writer?.[Symbol.dispose]();
    this.#writer = undefined;
  }

  async #run(planned: PlannedTrial): Promise<Trial | Needless> {
    const known = this.#finished.get(planned.id);
    if (known !== undefined) return known;
    const needless = this.#stopping.needless(planned);
    if (needless !== undefined) return needless;
    const { agent, signal } = this.#options;
    signal?.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended;
    const model = this.#model(planned.model);
    const journal = this.#journal();
    const ended = await runTrial(planned, model, {
      suite: this.#plan.suite,
      limits: this.#plan.resolved.limits,
      ...(agent === undefined ? {} : { agent }),
      ...(signal === undefined ? {} : { signal }),
    });
    this.#stopping.record(ended);
    // Whoever reads the journal must know a run that was ended from one that was cut short.
    const ends = this.#stopping.spent;
    const trial = ends === undefined ? ended : { ...ended, ends };
    try {
      journal?.write(trial);
    } catch (error) {
      // Trials that cannot be kept are not paid for.
      this.#ended ??= error as Error;
      throw error;
    }
    return trial;
  }

  #model(name: string): Model {
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    const entry = this.#plan.resolved.models.find((entry) => modelName(entry) === name)!;
    const model = this.#options.connect(entry);
    this.#models.set(name, model);
    return model;
  }

  #journal(): JournalWriter | undefined {
    const { journal, shard } = this.#options;
    if (journal === undefined || this.#writer !== undefined) return this.#writer;
    const resumed = this.#resumed;
    this.#writer = resumed === undefined
      ? JournalWriter.create(journal)
      : JournalWriter.append(journal, resumed.content);
    if (resumed?.plan === undefined) this.#writer.write(planLine(this.#plan, shard));
    return this.#writer;
  }
}

/** A plan that is run to its end. */
function unruled({ rule: _, ...plan }: Plan): Plan {
  return plan;
}

/** What every journal of ours begins with. */
const PLAN_START = '{"v":1,"kind":"plan",';

/** An empty journal, or a torn plan, is of any plan: its run died before it wrote a line. */
function assertSamePlan({ path, plan, content }: JournalFile, wanted: PlanLine): void {
  if (
    content.lines.length === 0 && PLAN_START.startsWith(content.torn.slice(0, PLAN_START.length))
  ) {
    return;
  }
  if (plan === undefined) {
    throw new InputError(`Cannot resume ${path} as its first line must be a plan: it is none`);
  }
  if (plan.planHash !== wanted.planHash) {
    throw new InputError(
      `Cannot resume ${path} as it must be of the same plan: it differs in ` +
        (differences(plan, wanted).join(", ") || "its hash"),
    );
  }
  if (canonicalJson(plan.gate) !== canonicalJson(wanted.gate)) {
    throw new InputError(
      `Cannot resume ${path} as it must declare the same gate: its gate differs`,
    );
  }
  const [one, other] = [plan.shard, wanted.shard].map(({ index, of }) => `${index}/${of}`);
  if (one !== other) {
    throw new InputError(`Cannot resume ${path} as it is of shard ${one}: this is shard ${other}`);
  }
}

function exists(path: string): boolean {
  try {
    const { isDirectory } = Deno.statSync(path);
    if (isDirectory) throw new Deno.errors.IsADirectory();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw new InputError(`Cannot use the journal ${path}: ${fileReason(error)}`);
  }
}
