/**
 * Runs: the trials of a plan, carried out ahead of those who await them, and kept in a journal.
 * @module
 */

import { fileReason, InputError } from "../base/errors.ts";
import { canonicalJson } from "../base/json.ts";
import { type JournalPlace, JournalWriter, tornNotice } from "./journal/jsonl.ts";
import type { BaselineTrials } from "../gate/decide_trials.ts";
import { LookAhead } from "./prefetch.ts";
import { judge } from "../models/judge/judge.ts";
import { identityOf } from "../models/connect.ts";
import type { Model } from "../models/model.ts";
import {
  type JournalFile,
  type PlanLine,
  planLine,
  readJournalFile,
  readPlanLine,
  wholeTrial,
} from "./journal/journal.ts";
import { withinRecording } from "../models/recordings/trial_recording.ts";
import type { Recordings } from "../models/recordings/recordings.ts";
import { differences, foreignTrial } from "./journal/results.ts";
import type { Plan } from "./plan.ts";
import { type Shard, shardOf, shardText } from "./shards.ts";
import { type Needless, Stopping } from "./early_stopping.ts";
import { type ModelEntry, modelName } from "../models/entry.ts";
import {
  stageEntries,
  strategyChoice,
  type StrategyEntry,
  strategyName,
} from "../trials/strategies/entry.ts";
import { type Agent, type AnswerJudge, runTrial, type Trial } from "../trials/trial.ts";
import { summarize, type TrialSummary } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

/** Options of {@linkcode Run}. */
export interface RunOptions {
  /** Makes the model of an entry; called once for each entry that is used. */
  readonly connect: (entry: ModelEntry) => Model;
  /** Answers in place of models, or keeps what they say; they may then be connected late, or never. */
  readonly recordings?: Recordings;
  /** What a model is called, before it is connected; default what its entry says. */
  readonly identify?: (entry: ModelEntry) => Omit<Model, "reply">;
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
  readonly baseline?: BaselineTrials;
  /** Works on tasks instead of the agent loop. */
  readonly agent?: Agent;
  /**
   * Sees each trial as soon as it has ended and is kept, in whatever order they do; those that a
   * resumed journal has at once, before anything is run.
   */
  readonly onTrial?: (trial: TrialSummary | Needless, resumed: boolean) => void;
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
  return exists(path) ? readPlanLine(path)?.seed : undefined;
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
  /** Where the trials stand that the journal had already. */
  readonly #finished = new Map<string, JournalPlace>();
  readonly #line: PlanLine;
  readonly #resumed: Pick<JournalFile, "plan" | "end"> | undefined;
  readonly #ahead: LookAhead<Trial | Needless>;
  /** What is kept of the trials that have ended, by their places. */
  readonly #scores: TrialSummary[] = [];
  readonly #stopping: Stopping;
  #asked: AnswerJudge | undefined;
  #writer: JournalWriter | undefined;
  #inFlight = 0;
  /** Why nothing more is started: the run was disposed of, or its journal cannot be written. */
  #ended: Error | undefined;

  /**
   * Prepares a run; nothing is started or written yet.
   *
   * @throws {InputError} If the journal exists and is not to be resumed, or is of another plan, or if the
   * plan holds a key.
   */
  constructor(plan: Plan, options: RunOptions) {
    const { journal, resume = false, retryInvalid = false, shard } = options;
    this.#plan = plan;
    this.#options = options;
    this.#line = planLine(plan, shard);
    this.trials = options.only ?? (shard === undefined ? plan.trials : shardOf(plan, shard));
    let kept: readonly TrialSummary[] = [];
    let places: ReadonlyMap<string, JournalPlace> = new Map();
    if (journal !== undefined && exists(journal)) {
      if (!resume) throw JournalWriter.existing(journal);
      const file = readJournalFile(journal);
      assertSamePlan(file, this.#line);
      // The trials themselves are read again when their turn comes: a run may have more than fit.
      this.#resumed = { plan: file.plan, end: file.end };
      ({ trials: kept, places } = file);
    }
    const foreign = foreignTrial(kept, this.trials);
    if (foreign !== undefined) {
      throw new InputError(
        `Cannot resume ${journal} as it has a trial that is none of its plan: ${foreign}`,
      );
    }
    // A replay or a part of the plan cannot tell what the whole needs; a budget holds for it all the same.
    const watched = options.only !== undefined || shard !== undefined ? unruled(plan) : plan;
    this.#stopping = new Stopping(watched, options.baseline);
    for (const trial of kept) {
      if (retryInvalid && trial.outcome === "invalid") {
        // It will be run again, and has cost what it cost.
        this.#stopping.charge(trial);
      } else {
        this.#stopping.record(trial);
        this.#finished.set(trial.id, places.get(trial.id)!);
        options.onTrial?.(trial, true);
      }
    }
    const torn = this.#resumed?.end.tornBytes ?? 0;
    this.notices = torn === 0 ? [] : [tornNotice(journal!, torn)];
    this.#ahead = new LookAhead(this.trials.length, (place) => this.#scored(place), {
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
    for (const { model, strategy } of this.trials) {
      this.#model(model);
      this.#stageModels(this.#strategy(strategy));
    }
    this.#judge();
    if (this.#options.recordings?.mode === "record") this.#options.recordings.prepare();
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

  /** All trials that were needed and not let go of, in plan order, once all of them are finished. */
  async all(): Promise<Trial[]> {
    return (await this.#ahead.all()).filter((trial): trial is Trial => trial.kind === "trial");
  }

  /** What is kept of all trials that were needed, in plan order, once all of them are finished. */
  async scores(): Promise<TrialSummary[]> {
    await this.#ahead.all();
    return this.#scores.filter((score) => score !== undefined);
  }

  /** What is kept of a trial; `undefined` as long as it has not ended, and if it was not needed. */
  score(place: number): TrialSummary | undefined {
    return this.#scores[place];
  }

  /** Which budget ended the run before its gate could; `undefined` if none did. */
  get stopped(): string | undefined {
    return this.#stopping.stopped;
  }

  /** How many trials have begun and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Lets go of a finished trial, of which its score is kept. */
  forget(place: number): void {
    this.#ahead.forget(place);
  }

  /** Closes the journal; trials that have not started never will. */
  [Symbol.dispose](): void {
    this.#ended ??= new Error("Cannot run a trial as the run is over: it was disposed of");
    this.#writer?.[Symbol.dispose]();
    this.#writer = undefined;
  }

  async #scored(place: number): Promise<Trial | Needless> {
    const ended = await this.#run(this.trials[place]!);
    if (ended.kind === "trial") this.#scores[place] = summarize(ended);
    return ended;
  }

  async #run(planned: PlannedTrial): Promise<Trial | Needless> {
    const known = this.#finished.get(planned.id);
    if (known !== undefined) return wholeTrial(this.#options.journal!, known);
    const needless = this.#stopping.needless(planned);
    const { agent, signal, onTrial } = this.#options;
    if (needless !== undefined) {
      onTrial?.(needless, false);
      return needless;
    }
    signal?.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended;
    const model = this.#model(planned.model);
    const entry = this.#strategy(planned.strategy);
    const stageModels = this.#stageModels(entry);
    const judging = this.#judge();
    const journal = this.#journal();
    const { recordings } = this.#options;
    const { seconds } = this.#plan.resolved.limits;
    const recording = recordings?.begin(planned, { seconds });
    this.#inFlight++;
    const running = withinRecording(recording, () =>
      runTrial(planned, model, {
        suite: this.#plan.suite,
        limits: this.#plan.resolved.limits,
        references: this.#plan.resolved.references ?? false,
        strategy: strategyChoice(entry),
        ...(stageModels.size === 0 ? {} : { stageModels }),
        ...(agent === undefined ? {} : { agent }),
        ...(this.#plan.open === undefined ? {} : { open: this.#plan.open }),
        ...(judging === undefined ? {} : { judge: judging }),
        ...(signal === undefined ? {} : { signal }),
      }));
    const ended = await running.finally(() => {
      this.#inFlight--;
      if (recording !== undefined) recordings?.end(recording);
    });
    // Whatever was made of it on the way, what rests on no reply is no trial.
    if (recording?.fault !== undefined) throw recording.fault;
    this.#stopping.record(ended);
    // Whoever reads the journal must know a run that was ended from one that was cut short.
    const ends = this.#stopping.spent;
    const trial: Trial = {
      ...ended,
      ...(recording?.replayed ? { replayed: true as const } : {}),
      ...(ends === undefined ? {} : { ends }),
    };
    try {
      // A trial that the journal has must have its recording.
      if (recording !== undefined) await recordings?.keep(recording, ended.outcome !== "invalid");
      journal?.write(trial);
    } catch (error) {
      // Trials that cannot be kept are not paid for.
      this.#ended ??= error as Error;
      throw error;
    }
    onTrial?.(trial, false);
    return trial;
  }

  #model(name: string): Model {
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    const entry = this.#plan.resolved.models.find((entry) => modelName(entry) === name)!;
    return this.#connect(entry);
  }

  #connect(entry: ModelEntry): Model {
    const name = modelName(entry);
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    const { connect, recordings, identify = identityOf } = this.#options;
    const model = recordings === undefined
      ? connect(entry)
      : recordings.model(entry, identify(entry), () => connect(entry));
    this.#models.set(name, model);
    return model;
  }

  #judge(): AnswerJudge | undefined {
    const { judge: entry } = this.#plan.resolved;
    if (entry === undefined || this.#asked !== undefined) return this.#asked;
    const { prompt, ...own } = entry;
    const model = this.#connect(own);
    const judging = judge({ model, ...(prompt === undefined ? {} : { prompt }) });
    this.#asked = {
      ...{ name: model.name, simulated: model.simulated },
      score: (predicted, truth, options) => judging.score(predicted, truth, options),
    };
    return this.#asked;
  }

  #strategy(name: string): string | StrategyEntry {
    return this.#plan.resolved.strategies.find((entry) => strategyName(entry) === name)!;
  }

  #stageModels(entry: string | StrategyEntry): ReadonlyMap<string, Model> {
    return new Map(
      stageEntries(entry).entries().map(([stage, model]) => [stage, this.#connect(model)]),
    );
  }

  #journal(): JournalWriter | undefined {
    const { journal } = this.#options;
    if (journal === undefined || this.#writer !== undefined) return this.#writer;
    const resumed = this.#resumed;
    this.#writer = resumed === undefined
      ? JournalWriter.create(journal)
      : JournalWriter.append(journal, resumed.end);
    if (resumed?.plan === undefined) this.#writer.write(this.#line);
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
function assertSamePlan({ path, plan, end }: JournalFile, wanted: PlanLine): void {
  if (end.count === 0 && PLAN_START.startsWith(end.torn.slice(0, PLAN_START.length))) return;
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
  const [one, other] = [plan.shard, wanted.shard].map(shardText);
  if (one !== other) {
    throw new InputError(`Cannot resume ${path} as it is of ${one}: this is ${other}`);
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
