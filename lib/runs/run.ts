/**
 * Runs: carry out the trials of a plan ahead of requests for them, and record them in a journal.
 * @module
 */

import defer * as fs from "node:fs";
import { ownRelease } from "../base/clone.ts";
import { cannot, InputError, orCannot } from "../base/errors.ts";
import { canonicalJson, defined } from "../base/json.ts";
import { isMissing, removeIfThere } from "../base/output_file.ts";
import { type JournalPlace, JournalWriter, tornNotice } from "./journal/lines.ts";
import type { Baseline } from "./baseline.ts";
import { assertOtherRun } from "./trial_keys.ts";
import { LookAhead } from "./prefetch.ts";
import {
  type JournalFile,
  KeptValues,
  readJournalFile,
  readPlanLine,
  type RunLine,
  wholeTrial,
} from "./journal/journal.ts";
import { type PlanLine, planLine } from "./journal/plan_line.ts";
import { keepContext } from "../base/first_context.ts";
import { withinRecording } from "../models/recordings/scope.ts";
import { foreignTrial } from "./journal/_one_run.ts";
import type { Plan } from "./plan.ts";
import { settingsOfCell } from "./resolved_suite.ts";
import { shardOf } from "./_assign_shards.ts";
import { assertSamePart, uncomparedNotice } from "./_resuming.ts";
import type { FlagsOf } from "./options.ts";
import type { Wave } from "../gate/waves.ts";
import { Reachability, type RunFault } from "./_reachability.ts";
import { type ModelSource, RunModels } from "./_run_models.ts";
import { type SkippedTrial, Stopping } from "./early_stopping.ts";
import { strategyChoice } from "../trials/strategies/entry.ts";
import type { Agent } from "../trials/own_agent.ts";
import { runTrial } from "../trials/run_trial.ts";
import type { RecordedRun } from "../trials/recorded_run.ts";
import type { Trial } from "../trials/trial.ts";
import type { RunSettings } from "./option_types.ts";
import {
  type EarlierAttempts,
  hasForbiddenCall,
  inPlaceOf,
  summarize,
  takenOver,
  type TrialSummary,
} from "../trials/summary.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

export type { RunFault } from "./_reachability.ts";

/** Options of {@linkcode Run}. */
export interface RunOptions
  extends
    ModelSource,
    Pick<RunSettings, "concurrency" | "journal" | "transcripts">,
    Pick<FlagsOf<"run">, "shard"> {
  /** Continues the journal: its trials are not run again. */
  readonly resume?: boolean;
  /** When resuming, runs invalid trials again. */
  readonly retryInvalid?: boolean;
  /** Whether some trials may never be requested; see {@linkcode LookAhead}. */
  readonly slowStart?: boolean;
  /** Runs only this wave of the plan, or the shard of it. */
  readonly wave?: Wave;
  /** The trials of earlier waves. */
  readonly earlier?: readonly TrialSummary[];
  /** Runs only these trials. */
  readonly only?: readonly PlannedTrial[];
  /** The baseline of the gate, if it comes from a file. */
  readonly baseline?: Baseline;
  /** Works on tasks instead of the agent loop. */
  readonly agent?: Agent;
  /** Agents that work on the trials of variants, by name of the variant. */
  readonly variantAgents?: ReadonlyMap<string, Agent>;
  /** Returns what was said in a trial before, in place of asking its model; default: nothing was. */
  readonly recorded?: (planned: PlannedTrial) => TrialTrace | undefined;
  /** Whether a trial of the plan is left out, as nothing was said in it; default: none is. */
  readonly leaves?: (planned: PlannedTrial) => boolean;
  /**
   * Receives each trial as soon as it has ended and is stored, in any order. Trials of a resumed journal come
   * first, before anything is run.
   */
  readonly onTrial?: (trial: TrialSummary | SkippedTrial, resumed: boolean) => void;
  /**
   * Receives each result whole as soon as it is there, in any order, with the summary of a trial: those of a resumed
   * journal once they are read again.
   */
  readonly onResult?: (result: Trial | SkippedTrial, summary?: TrialSummary) => void;
  /** Stops the run: trials in flight are abandoned and not recorded. */
  readonly signal?: AbortSignal;
}

/** A recorded run in place of a trial. */
export interface TrialTrace {
  /** What was said and returned. */
  readonly run: RecordedRun;
  /** See {@linkcode Trial.draw}. */
  readonly draw: string;
}

/**
 * The seed of a journal to continue, for suites whose seed is `fresh`; `undefined` if there is no such file.
 *
 * @throws {InputError} If the journal cannot be read.
 */
export function seedToResume(path: string): number | undefined {
  return exists(path) ? readPlanLine(path)?.resolved.seed : undefined;
}

/** Carries out the trials of a plan, each at most once. */
export class Run implements Disposable, AsyncDisposable {
  /**
   * The trials of this run in plan order, which for a run that cannot end early has the trials of one case together.
   */
  readonly trials: readonly PlannedTrial[];
  /** Messages for the user, such as a dropped torn line. */
  readonly notices: readonly string[];

  readonly #plan: Plan;
  readonly #options: RunOptions;
  readonly #models: RunModels;
  /** The places of the trials that the journal already had. */
  readonly #finished = new Map<string, JournalPlace>();
  /** The parts of transcripts that the journal has. */
  #values: KeptValues | undefined;
  readonly #line: PlanLine;
  readonly #resumed: Pick<JournalFile, "plan" | "end" | "last" | "resumed"> | undefined;
  readonly #ahead: LookAhead<Trial | SkippedTrial>;
  /** The summaries of finished trials, by place. */
  readonly #scores: TrialSummary[] = [];
  /** What trials take over from invalid ones in whose place they are run, by id: a verdict must know of these. */
  readonly #replaced = new Map<string, EarlierAttempts>();
  readonly #stopping: Stopping;
  readonly #reachability = new Reachability();
  /** The end of the last trial that runs alone: the suites of a file may share tools. */
  static #alone: Promise<unknown> = Promise.resolve();
  #writer: JournalWriter | undefined;
  /** Whether trials are left out. */
  readonly #isUneven: boolean;
  /** The number of trials in the journal. */
  #stored = 0;
  /** The number of its trials that are neither in the journal nor known to be needless. */
  #open: number;
  readonly #inFlight = new Set<Promise<Trial>>();
  readonly #abandoning = new AbortController();
  /** Aborts what is in flight: an interruption, or the end of the run. */
  readonly #signal: AbortSignal;
  /** Whether a trial of this run is in its journal. */
  #kept = false;
  /** Why nothing more is started: the run was disposed of, or its journal cannot be written. */
  #ended: Error | undefined;

  /**
   * Prepares a run; nothing is started or written yet.
   *
   * @throws {InputError} If the journal exists and must not be resumed, or is of another plan, or if the plan
   * contains a secret.
   */
  constructor(plan: Plan, options: RunOptions) {
    const { journal, resume = false, retryInvalid = false, shard, wave, earlier = [] } = options;
    // While a test file is loaded.
    keepContext();
    this.#plan = plan;
    this.#options = options;
    this.#models = new RunModels(plan, options, this.#reachability);
    this.#signal = AbortSignal.any([options.signal ?? [], this.#abandoning.signal].flat());
    this.#line = planLine(plan, shard, wave);
    const all = options.only ?? shardOf(plan, this.#line.shard, wave);
    const own = all.filter((planned) => !options.leaves?.(planned));
    this.#isUneven = own.length < all.length;
    // A run that may end early needs whole blocks; else one test after the other is what its reader expects.
    this.trials = plan.rule === undefined && plan.budget === undefined ? byCase(own) : own;
    let finished: readonly TrialSummary[] = [];
    let places: ReadonlyMap<string, JournalPlace> = new Map();
    if (journal !== undefined && exists(journal)) {
      if (!resume) throw JournalWriter.existing(journal);
      const file = readJournalFile(journal);
      assertSamePart(file, this.#line);
      // The trials are read again when needed: a run may have more than fit in memory.
      this.#resumed = file;
      ({ trials: finished, places, values: this.#values } = file);
      this.#stored = finished.length;
    }
    const foreign = foreignTrial(finished, this.trials);
    if (foreign !== undefined) {
      throw cannot(`resume ${journal}`, "it has a trial that is not in its plan", foreign);
    }
    // Refused at once, as a comparison of trials with themselves proves nothing.
    if (options.baseline !== undefined) {
      assertOtherRun(options.baseline, [...earlier, ...finished]);
    }
    // A part of the plan cannot decide what the whole needs, unless it is a wave; its budget applies all the same.
    const isPart = options.only !== undefined || shard !== undefined && wave === undefined;
    const watched = isPart ? { ...plan, rule: undefined } : plan;
    this.#stopping = new Stopping(watched, options.baseline, {
      earlier,
      shards: shard?.of,
    });
    for (const trial of finished) {
      const { id, replaced, replacedIdle, never } = trial;
      if (retryInvalid && trial.outcome === "invalid") {
        // It will be run again, and its cost counts.
        this.#stopping.charge(trial);
        this.#replaced.set(id, takenOver(trial));
      } else {
        if (replaced !== undefined) {
          this.#replaced.set(id, defined({ replaced, replacedIdle, never }));
        }
        this.#stopping.record(trial);
        this.#finished.set(trial.id, places.get(trial.id)!);
        options.onTrial?.(trial, true);
      }
    }
    this.#open = this.trials.length - this.resumed;
    const torn = this.#resumed?.end.tornBytes ?? 0;
    this.notices = [
      ...(torn === 0 ? [] : [tornNotice(journal!, torn)]),
      ...uncomparedNotice(journal, this.#resumed?.plan, this.#line),
    ];
    this.#ahead = new LookAhead(this.trials.length, (place) => this.#runAt(place), {
      concurrency: options.concurrency,
      slowStart: options.slowStart,
      // A run that may end early is useful only up to its first missing trial.
      inOrder: watched.rule !== undefined || watched.budget !== undefined,
    });
  }

  /**
   * Connects all models before anything is run, so that errors show early.
   *
   * @throws {InputError} If a model cannot be connected.
   */
  connect(): void {
    this.#models.connect(this.trials);
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

  /** The number of trials that the journal already had. */
  get resumed(): number {
    return this.trials.filter(({ id }) => this.#finished.has(id)).length;
  }

  /** How often its journal was continued, also by this run if that has added a trial. */
  get resumes(): number {
    const { plan, resumed = 0 } = this.#resumed ?? {};
    return resumed + Number(this.#kept && plan !== undefined);
  }

  /**
   * The finished trial at a place of {@linkcode Run.trials}; it is run at most once. Trials that a sequential
   * gate or a budget has made unnecessary are skipped.
   */
  trial(place: number): Promise<Trial | SkippedTrial> {
    return this.#ahead.get(place);
  }

  /** All trials that were not skipped or forgotten, in plan order, once all have ended. */
  async all(): Promise<Trial[]> {
    return (await this.#ahead.all()).filter((trial): trial is Trial => trial.kind === "trial");
  }

  /** The summaries of all trials that were not skipped, in plan order, once all have ended. */
  async scores(): Promise<TrialSummary[]> {
    await this.#ahead.all();
    return this.#scores.filter((score) => score !== undefined);
  }

  /** The summary of a trial; `undefined` until it has ended, and if it was skipped. */
  score(place: number): TrialSummary | undefined {
    return this.#scores[place];
  }

  /** The budget that ended the run before its gate could; `undefined` if none did. */
  get stopped(): string | undefined {
    return this.#stopping.stopped;
  }

  /** Why the run ended as a model cannot be asked; `undefined` if it did not. */
  get fault(): RunFault | undefined {
    return this.#reachability.fault;
  }

  /** The number of trials that have begun and not ended. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** The number of trials that have begun, also ahead of requests, and of those that the journal already had. */
  get begun(): number {
    return this.#ahead.started;
  }

  /** Releases a finished trial; its summary is kept. */
  forget(place: number): void {
    this.#ahead.forget(place);
  }

  /** Closes the journal; trials that have not started never will. */
  [Symbol.dispose](): void {
    this.#ended ??= new Error("Cannot run a trial as the run is over: it was disposed of");
    this.#writer?.[Symbol.dispose]();
    this.#writer = undefined;
    // Nothing was lost: the same command must not meet a journal without trials.
    const { journal } = this.#options;
    if (
      this.fault?.atFirst && journal !== undefined && this.#resumed === undefined && !this.#kept
    ) {
      removeIfThere(journal);
    }
  }

  /** Ends the run, abandons trials in flight, and waits until all that was made for these is disposed of. */
  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
    this.#abandoning.abort(this.#ended);
    await Promise.allSettled(this.#inFlight);
  }

  async #runAt(place: number): Promise<Trial | SkippedTrial> {
    const result = await this.#run(this.trials[place]!);
    if (result.kind === "trial") {
      // The same as a reader of the journal sees.
      this.#scores[place] = inPlaceOf(summarize(result), this.#replaced.get(result.id));
    }
    this.#options.onResult?.(result, this.#scores[place]);
    return result;
  }

  async #run(planned: PlannedTrial): Promise<Trial | SkippedTrial> {
    const place = this.#finished.get(planned.id);
    if (place !== undefined) {
      return this.#values!.complete(wholeTrial(this.#options.journal!, place));
    }
    if (!this.#judgesReachability) return await this.#inTurn(planned);
    const key = this.#reachKey(planned);
    await this.#reachability.enter(key);
    return await this.#inTurn(planned).finally(() => this.#reachability.leave(key));
  }

  /** Carries out a trial; one of a task that runs alone waits until all earlier ones of such tasks have ended. */
  async #inTurn(planned: PlannedTrial): Promise<Trial | SkippedTrial> {
    if (!this.#plan.isAlone?.(planned.task)) return await this.#carryOut(planned);
    const running = Run.#alone.then(() => this.#carryOut(planned));
    Run.#alone = running.catch(() => {});
    return await running;
  }

  /** A trial that is run alone shows its own error. */
  get #judgesReachability(): boolean {
    return this.#options.only === undefined;
  }

  #agentOf({ variant = "" }: PlannedTrial): Agent | undefined {
    const { agent, variantAgents } = this.#options;
    return variantAgents?.get(variant) ?? agent;
  }

  /** Distinguishes what may be reached or not: models, and agents that only a variant has. */
  #reachKey(planned: PlannedTrial): string {
    const key = this.#models.reachKey(planned);
    const { variant = "" } = planned;
    return this.#options.variantAgents?.has(variant) ? canonicalJson([key, variant]) : key;
  }

  async #carryOut(planned: PlannedTrial): Promise<Trial | SkippedTrial> {
    const { onTrial, only, transcripts } = this.#options;
    const agent = this.#agentOf(planned);
    const signal = this.#signal;
    const skipped = this.#stopping.skipReason(planned) ?? this.#unreachable(planned);
    if (skipped !== undefined) {
      if (skipped.by !== "fault") this.#settle();
      onTrial?.(skipped, false);
      return skipped;
    }
    signal.throwIfAborted();
    if (this.#ended !== undefined) throw this.#ended;
    const model = this.#models.of(planned);
    const entry = this.#models.strategyOf(planned);
    const stageModels = this.#models.stagesOf(planned);
    const answerJudge = this.#models.judge(planned);
    const userModel = this.#models.userOf(planned);
    const journal = this.#journal();
    const { recordings } = this.#options;
    const { limits, references = false } = settingsOfCell(this.#plan.resolved, planned.task);
    const recorded = this.#options.recorded?.(planned);
    const recording = recordings?.begin(planned, { seconds: limits.seconds });
    const running = withinRecording(recording, () =>
      runTrial(planned, model, {
        suite: this.#plan.suite,
        limits,
        references,
        strategy: strategyChoice(entry),
        stageModels,
        agent,
        open: this.#plan.open,
        judge: answerJudge,
        userModel,
        signal,
        transcripts: only === undefined ? transcripts : undefined,
        recorded: recorded?.run,
      }));
    this.#inFlight.add(running);
    const result = await running.finally(() => {
      this.#inFlight.delete(running);
      if (recording !== undefined) recordings?.end(recording);
    });
    // Without a recorded reply there is no trial, however it ended.
    if (recording?.fault !== undefined) throw recording.fault;
    const reachKey = this.#reachKey(planned);
    if (this.#judgesReachability) this.#reachability.judge(reachKey, result);
    // Nothing is kept of a run that could not begin, so that the same command can be given again.
    const fault = this.#reachability.faultOf(reachKey);
    if (fault?.atFirst && result.permanent !== undefined) return result;
    this.#stopping.record(result);
    const trial: Trial = {
      ...result,
      ...(recording?.replayed || this.#options.recorded !== undefined
        ? { replayed: true as const }
        : {}),
      ...(recording?.mixed ? { partlyReplayed: true as const } : {}),
      ...recording?.before,
      ...defined({ draw: recorded?.draw ?? recording?.draw, origin: recording?.origin }),
      ...(recording?.replayedResults ? { replayedResults: recording.replayedResults } : {}),
    };
    try {
      // A trial in the journal must have its recording.
      const isUsable = result.outcome !== "invalid" || result.misjudged === true;
      const attempts = inPlaceOf<Trial & EarlierAttempts>(trial, this.#replaced.get(trial.id));
      const { replaced, replacedIdle } = isUsable ? attempts : takenOver(attempts);
      // A mark says nothing of forbidden calls: an attempt with one may be the model's fault.
      const isIdle = replacedIdle && !attempts.never && !hasForbiddenCall(trial);
      const told = defined({ replaced, replacedIdle: isIdle || undefined });
      if (recording !== undefined) await recordings?.keep(recording, isUsable, told);
      if (!this.#kept && this.#resumed?.plan !== undefined) this.#tell("resume");
      journal?.write(this.#values!.shorten(trial));
      this.#kept = true;
      if (!this.#replaced.has(trial.id)) this.#stored++;
      this.#settle();
    } catch (error) {
      // No more trials are paid for if they cannot be stored.
      this.#ended ??= error as Error;
      throw error;
    }
    onTrial?.(trial, false);
    return trial;
  }

  /** Why trials are skipped once a model cannot be asked. */
  #unreachable(planned: PlannedTrial): SkippedTrial | undefined {
    // Tests with models of their own have nothing to do with those of others.
    const fault = this.#plan.resolved.tests === undefined
      ? this.fault
      : this.#reachability.faultOf(this.#reachKey(planned));
    return fault && { kind: "needless", by: "fault", reason: fault.reason };
  }

  #journal(): JournalWriter | undefined {
    const { journal } = this.#options;
    if (journal === undefined || this.#writer !== undefined) return this.#writer;
    const resumed = this.#resumed;
    this.#values ??= new KeptValues(journal);
    this.#writer = resumed === undefined
      ? JournalWriter.create(journal)
      : JournalWriter.append(journal, resumed.end);
    if (resumed?.plan === undefined) this.#writer.write(this.#line);
    return this.#writer;
  }

  /** Counts a trial that needs nothing more. Readers of the journal must distinguish a whole run from an interrupted one. */
  #settle(): void {
    if (this.#ended === undefined) this.#journal();
    if (--this.#open > 0 || !this.#kept && this.#resumed?.last?.kind === "end") return;
    const left = this.#isUneven ? "it has fewer traces of some models than of others" : undefined;
    this.#tell("end", this.#stopping.spent ?? left);
  }

  #tell(kind: RunLine["kind"], reason?: string): void {
    const time = new Date().toISOString();
    const toolgate = kind === "resume" ? ownRelease() : undefined;
    const line: RunLine = { v: 1, kind, time, trials: this.#stored, toolgate, reason };
    this.#writer?.write(line);
  }
}

/** The trials of a case one after the other, cases in plan order; others stay where they are. */
function byCase(trials: readonly PlannedTrial[]): readonly PlannedTrial[] {
  const groups = Map.groupBy(trials, ({ task, index }) => isCase(task) ? task.case : index);
  return [...groups.values()].flat();
}

function exists(path: string): boolean {
  if (isMissing(path)) return false;
  const isFolder = orCannot(`use the journal ${path}`, () => fs.statSync(path).isDirectory());
  if (isFolder) throw new InputError(`Cannot use the journal ${path}: it is a folder`);
  return true;
}
