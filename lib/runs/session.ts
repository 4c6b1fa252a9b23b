/**
 * Sessions: what the command line and `deno test` have in common before the first trial. They decide which
 * seed, baseline, recordings and shard hold, make the plan, say what matters about it, and begin the run.
 * @module
 */

import defer * as paths from "node:path";
import { leftOutLines, tooFewCases } from "../gate/compared_cases.ts";
import { type CompletePolicy, recordedFile } from "../gate/policy.ts";
import { commandLine, pathForUser, userPath } from "../base/command_line.ts";
import { environmentVariable } from "../base/environment.ts";
import { shellQuote } from "../base/shell_quote.ts";
import {
  type Baseline,
  baselineOfGate,
  gateInForce,
  howToAccept,
  missingBaseline,
} from "./baseline.ts";
import { comparableBaseline } from "./compared_baseline.ts";
import { cannot, InputError } from "../base/errors.ts";
import { defined, printable } from "../base/json.ts";
import { estimateUsage, forecastCost } from "./cost_forecast.ts";
import { forecast, planWarnings } from "./forecast.ts";
import { AUTO, type FlagsOf, optionSchemas } from "./options.ts";
import type { RunSettings, SuiteSettings } from "./option_types.ts";
import { type Plan, planSuite, type TaskSource, usesSeed } from "./plan.ts";
import { questionSource } from "./question_tasks.ts";
import { Run, type RunOptions, seedToResume } from "./run.ts";
import { type PlannedWave, planWave, waveNote } from "./_waves.ts";
import type { Suite } from "./suite.ts";
import { isPublicAddress } from "../models/entry.ts";
import { strategyName } from "../trials/strategies/entry.ts";
import { type Agent, assertAgentStrategies } from "../trials/own_agent.ts";
import { commandAgent } from "../trials/tap/command.ts";
import { Connections } from "../models/connect.ts";
import type { RateLimiters } from "../models/http/rate_limiter.ts";
import {
  assertRecordable,
  type RecordingOptions,
  recordingOptions,
} from "../models/recordings/options.ts";
import defer * as runRecordings from "../models/recordings/recordings.ts";

/** The options of a run, with the flags that replace or complete them. */
export type Settings =
  & RunSettings
  & Pick<
    FlagsOf<"deno test">,
    "resume" | "retryInvalid" | "shard" | "wave" | "only" | "verdict" | "traces" | "serve"
  >
  & {
    /** Set if a flag gives the seed. */
    readonly seedFlag?: true;
    /** The folder of the journal, if those of other test files of the suite are in there too. */
    readonly folder?: string;
    /** Whether it is a suite that may have tests in other test files too; default false. */
    readonly ofFiles?: boolean;
  };

/**
 * Returns the options with the flags in their place.
 *
 * @param ownFolder Returns where `--record=auto` keeps recordings if no option names a folder.
 * @throws {InputError} If flags both record and replay.
 */
export function settingsOf(
  options: RunSettings,
  flags: Omit<
    FlagsOf<"run"> & FlagsOf<"deno test">,
    "models" | "judge" | "router" | "strategies" | "prices"
  >,
  ownFolder: () => string = () => "recordings",
): Settings {
  const { maxTokens, maxUsd, record, replay, auto, ...others } = flags;
  const budget = { ...options.budget, ...defined({ tokens: maxTokens, usd: maxUsd }) };
  const folders = Object.entries(defined({ record, replay, auto }));
  if (folders.length > 1) {
    throw cannot(
      `use ${folders.map(([mode]) => `--${mode}`).join(" and ")} together`,
      "models are either recorded or replayed",
      "give one of them",
    );
  }
  const [recordings] = folders.map(([mode, folder]) =>
    (mode === "record" && folder === AUTO
      ? { mode: "auto", folder: options.recordings?.folder ?? ownFolder() }
      : { mode, folder }) as RecordingOptions
  );
  return {
    ...options,
    ...others,
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...defined({ recordings: recordings ?? options.recordings }),
    ...(flags.seed === undefined ? {} : { seedFlag: true as const }),
  };
}

/** Returns the settings that a suite has as well. */
export function suiteSettings(settings: Settings): SuiteSettings {
  const names = optionSchemas("suite");
  return Object.fromEntries(
    Object.entries(settings).filter(([name, value]) =>
      Object.hasOwn(names, name) && value !== undefined
    ),
  );
}

/** Where a front end says what matters about a run. */
export interface Printer {
  /** Says what holds, such as the seed that was drawn. */
  readonly note: (line: string) => void;
  /** Says what needs attention. */
  readonly warn: (line: string) => void;
  /** What stands before flags on this command line; default: nothing. */
  readonly flagPrefix?: string;
  /** What a user must know who adds a flag to this command line; default: nothing. */
  readonly flagHint?: string;
}

/** What is to be run. */
export interface RunRequest {
  /** How errors refer to it: a benchmark, or the path of a suite. */
  readonly subject: string;
  readonly suite: Suite;
  readonly settings: Settings;
  readonly printer: Printer;
  /** The source of tasks that no suite can name; default none. */
  readonly source?: TaskSource | undefined;
  /** Returns the place of a call set or folder that the suite names; default: its path as it is. */
  readonly setPath?: (path: string) => string;
  /** Returns the place of a baseline that the suite names; default: its path as it is. */
  readonly baselinePath?: (path: string) => string;
  /** Whether an agent of the user's own works on the tasks; default false. */
  readonly agent?: boolean;
  /** Whether only the user's file has the models or tasks; default false. */
  readonly ownCode?: boolean;
  /** See {@linkcode Plan.sources}. */
  readonly sources?: Plan["sources"];
  /** See {@linkcode Plan.file}. */
  readonly file?: string;
  /** Impossible crossings that were left out before; default 0. */
  readonly skipped?: number;
  /** Whether other files may have tests of the same suite, which are not known here; default false. */
  readonly shared?: boolean | undefined;
}

/** A plan with what belongs to it. */
export interface PlannedRun {
  readonly subject: string;
  readonly plan: Plan;
  readonly settings: Settings;
  /** The baseline of the gate, if it comes from a file that exists. */
  readonly baseline?: Baseline | undefined;
  /** The wave of the plan that is run; omitted for all of it, and for a shard without waves. */
  readonly wave?: PlannedWave | undefined;
  /** The program that works on the tasks; omitted without one. */
  readonly agent?: Agent | undefined;
  /** How to make the baseline file that is missing; omitted if none is. */
  readonly missing?: string | undefined;
}

/**
 * Plans a run: reads its baseline and decides its seed, and prints both before anything is spent.
 *
 * @throws {InputError} If settings exclude each other, or the plan cannot be run with them.
 */
export function planRun(request: RunRequest): PlannedRun {
  const { subject, suite, settings, printer, agent = suite.agent !== undefined } = request;
  const { journal, resume, shard, only, wave: asked } = settings;
  const isPart = shard !== undefined || asked !== undefined;
  assertSettings(subject, settings);
  // Nothing is decided over one trial.
  const declared = only === undefined ? suite.gate : undefined;
  const given = baselineOfGate(declared, request.baselinePath);
  const gate = gateInForce(declared, request.baselinePath);
  const records = given === undefined ? recordedFile(declared) : undefined;
  for (const notice of given?.notices ?? []) printer.warn(notice);
  const resumed = resume ? seedToResume(journal!) : undefined;
  // Only the same graphs can be compared or continued.
  const known = resumed ?? given?.plan.resolved.seed;
  const seed = suite.seed === "fresh" ? known ?? suite.seed : suite.seed;
  const isDrawn = usesSeed(suite, request.source);
  const isFresh = isDrawn && seed === "fresh";
  if (isFresh && isPart) {
    const parts = shard === undefined ? "waves" : "shards";
    throw new InputError(
      `Cannot run ${subject}: all ${parts} need the same seed and it is "fresh": add --seed=N`,
    );
  }
  const recordings = recordingOptions(settings.recordings, subject);
  if (recordings !== undefined) {
    assertRecordable(subject, recordings, { agent, fresh: isFresh && only === undefined });
  }
  const isFixed = shard !== undefined && asked === undefined;
  const planned = planWithSets({ ...suite, seed }, request, isFixed);
  const { baseURL } = settings;
  // Journals keep plans, and no secret may reach a journal.
  const isKept = baseURL === undefined || isPublicAddress(baseURL);
  const { sources, file } = request;
  const plan: Plan = {
    ...planned,
    baseURL: isKept ? baseURL : undefined,
    ownCode: request.ownCode || !isKept || undefined,
    sources,
    file,
    records,
    traces: settings.traces === undefined ? undefined : true,
  };
  if (records !== undefined) tellFirstBaseline(records, request);
  // Paths of commands are the user's already.
  const pathOf = request.baselinePath === undefined ? pathForUser : undefined;
  // One shard or wave has a part of the trials.
  const journals = journal === undefined || isPart ? undefined : [settings.folder ?? journal];
  const whole = given && comparableBaseline(given, plan, plan.trials, {
    ...{ sequential: plan.rule !== undefined, gate, all: settings.ofFiles !== true },
    accept: howToAccept(gate, { pathOf, journals }),
  });
  // What only the baseline has are tests of the suite's other files.
  const baseline = whole?.cases === undefined || settings.folder === undefined
    ? whole
    : { ...whole, cases: { ...whole.cases, removed: [] } };
  tellCases(baseline, plan.gate, printer);
  const skipped = (plan.skipped ?? 0) + (request.skipped ?? 0);
  if (skipped > 0) {
    printer.note(`skipped ${skipped} impossible crossings (depth must be below core)`);
  }
  // The id of one trial has its seed.
  if (isDrawn && only === undefined) {
    const flag = (value: number | "N") => `${printer.flagPrefix ?? ""}--seed=${value}`;
    const own = plan.resolved.seed;
    printer.note(
      isFresh
        ? `fresh seed ${own}; add  ${flag(own)}  to repeat this run`
        : `seed ${own} of ${
          suite.seed !== "fresh"
            ? settings.seedFlag ? "--seed" : "the file"
            : resumed !== undefined
            ? "the journal"
            : "the baseline, as only the same graphs can be compared"
        }; for another add  ${flag("N")}${printer.flagHint ?? ""}`,
    );
  }
  const missing = missingBaseline(gate, baseline, request.baselinePath, pathOf);
  const wave = asked &&
    planWave(plan, { shard, journal: journal!, subject, wave: asked, baseline });
  if (wave !== undefined) printer.note(waveNote(plan, wave, shard));
  return { subject, plan, settings, baseline, missing, wave, agent: agentOf(request) };
}

/**
 * Returns the agent that a suite names; `undefined` if it names none. Its program runs in the folder of the suite's
 * file, or in the one that it names from there.
 *
 * @throws {InputError} If it cannot work with the suite's strategies.
 */
export function agentOf(
  { subject, suite, setPath }: Pick<RunRequest, "subject" | "suite" | "setPath">,
): Agent | undefined {
  const { agent, strategies = [] } = suite;
  if (agent === undefined) return undefined;
  assertAgentStrategies(subject, strategies.map(strategyName));
  const cwd = setPath === undefined ? agent.cwd : setPath(agent.cwd ?? ".");
  return commandAgent({ ...agent, cwd });
}

/** Says that a run which passes becomes the first baseline, and what writes it. */
function tellFirstBaseline(
  file: string,
  { settings, shared, printer, baselinePath = (path) => path }: RunRequest,
): void {
  const folder = settings.folder ?? (shared ? "results/" : undefined);
  const flag = `${printer.flagPrefix ?? ""}--out=${folder}`;
  printer.note(
    `there is no baseline ${
      paths.resolve(baselinePath(file))
    }: successRate decides, and a run that passes is written there` +
      (folder === undefined ? "" : ` by ${gateOfFolder(folder)}`) +
      (folder === settings.folder
        ? ""
        : `, if you add  ${flag}  as other files may have tests of this suite`),
  );
}

/** The command that decides over all test files of a suite, whose journals are in one folder. */
export function gateOfFolder(folder: string): string {
  return commandLine(`gate ${shellQuote(pathForUser(folder))}`);
}

/** Says before anything is spent which cases are not compared, and whether too few are left. */
function tellCases(
  baseline: Baseline | undefined,
  gate: CompletePolicy | undefined,
  { note, warn }: Printer,
): void {
  if (baseline?.cases === undefined || gate === undefined) return;
  const few = tooFewCases(baseline.cases, gate.coverage);
  if (few === undefined) { for (const line of leftOutLines(baseline.cases)) note(line); }
  else warn(`the gate will be invalid: ${few}`);
}

/**
 * Plans a suite with its call sets, and prints warnings of these.
 *
 * @throws {InputError} If it cannot be planned.
 */
export function planWithSets(
  suite: Suite,
  { subject, printer, source, setPath, baselinePath }: Omit<RunRequest, "suite" | "settings">,
  sharded = false,
): Plan {
  const sets = source === undefined
    ? questionSource(suite.tasks, (set) => variablePath(set) ?? setPath?.(set) ?? set)
    : undefined;
  const warnings = sets?.warnings ?? [];
  for (const warning of warnings.slice(0, MAX_WARNINGS)) printer.warn(printable(warning, 2_000));
  if (warnings.length > MAX_WARNINGS) {
    printer.warn(`${warnings.length - MAX_WARNINGS} more warnings of the call sets`);
  }
  const judged = { ...suite, gate: gateInForce(suite.gate, baselinePath) };
  return planSuite(judged, { source: subject, sharded, tasks: source ?? sets });
}

/**
 * Returns the path in the environment variable that a suite names in place of a call set, as published data lie
 * elsewhere on each machine; `undefined` if it names none. The prefix keeps suites from reading keys.
 *
 * @throws {InputError} If the variable is not set.
 */
function variablePath(set: string): string | undefined {
  const [, name] = /^\$(TOOLGATE_\w+)$/.exec(set) ?? [];
  if (name === undefined) return undefined;
  const path = environmentVariable(name);
  if (path !== undefined) return userPath(path);
  throw cannot(
    `use the call set ${set}`,
    `the environment variable ${name} must hold its path`,
    "it is not set; --set=PATH names a call set as well",
  );
}

/** At most this many warnings of call sets are shown. */
const MAX_WARNINGS = 5;

/** Refuses settings that would have no effect. */
function assertSettings(
  subject: string,
  { journal, resume, retryInvalid, wave }: Settings,
): void {
  const fault = resume && journal === undefined
    ? "--resume needs --out=FILE"
    : retryInvalid && !resume
    ? "--retry-invalid needs --resume"
    : wave !== undefined && journal === undefined
    ? "--wave needs --out=FILE, in the folder that has the journals of all waves"
    : undefined;
  if (fault !== undefined) throw new InputError(`Cannot run ${subject}: ${fault}`);
}

/** Prints what the gate can decide and what the run may cost, before anything is spent. */
export function printForecast(plan: Plan, { note, warn }: Printer): void {
  const gateForecast = forecast(plan);
  for (const line of gateForecast?.lines ?? []) note(line);
  if (plan.prices !== undefined) {
    for (const line of forecastCost(plan, estimateUsage(plan), gateForecast)) note(line);
  }
  for (const warning of planWarnings(plan, gateForecast)) warn(warning);
}

/** The connections, the recordings and the trials of a planned run. */
export class RunSession {
  /** The models of the run. */
  readonly connections: Connections;
  /** The recordings; `undefined` if nothing is recorded or replayed. */
  readonly recordings: runRecordings.Recordings | undefined;

  /** Opens the recordings; no model is connected yet. */
  constructor(private readonly planned: PlannedRun, limiters: RateLimiters) {
    const { plan, settings, subject } = planned;
    const { retries, requestTimeout, requestsPerMinute, tokensPerMinute } = settings;
    this.connections = new Connections({
      sets: plan.callSets ?? [],
      limiters,
      retries,
      requestTimeout,
      requestsPerMinute,
      tokensPerMinute,
      baseURL: settings.baseURL,
    });
    const options = recordingOptions(settings.recordings, subject);
    this.recordings = options === undefined
      ? undefined
      : new runRecordings.Recordings(options, settings.baseURL);
  }

  /**
   * Begins the run and connects its models. Nothing is asked before a trial is requested.
   *
   * @throws {InputError} If a journal is in the way or of another plan, or a model cannot be connected.
   */
  begin(options: Partial<RunOptions>): Run {
    const { plan, settings, baseline, subject, agent, wave } = this.planned;
    const { recordings } = this;
    const run = new Run(plan, {
      ...settings,
      connect: (entry) => this.connections.model(entry),
      wave: wave?.wave,
      earlier: wave?.earlier?.trials,
      recordings,
      baseline,
      agent,
      only: undefined,
      // One trial alone belongs to no run.
      journal: options.only === undefined ? settings.journal : undefined,
      ...options,
    });
    recordings?.claim(run.trials, subject, plan.trials);
    run.connect();
    for (const notice of run.notices) console.error(notice);
    return run;
  }
}
