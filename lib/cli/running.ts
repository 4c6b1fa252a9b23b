/**
 * What the commands that run trials share: suites changed by flags, interrupts, and the wait for trials.
 * @module
 */

import process from "node:process";
import { isTerminal } from "#runtime";
import { userPath } from "../base/command_line.ts";
import { cannot, InputError } from "../base/errors.ts";
import { parseWith, readJsonc } from "../base/input.ts";
import { canonicalJson, defined, printable } from "../base/json.ts";
import { identityOf } from "../models/connect.ts";
import { type ModelEntry, modelName, withApiPrices } from "../models/entry.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import { PRICES, type Prices } from "../models/prices.ts";
import { AUTO, type FlagsOf } from "../runs/options.ts";
import type { Run, RunOptions } from "../runs/run.ts";
import {
  type PlannedRun,
  printForecast,
  type RunRequest,
  RunSession,
  type Settings,
  settingsOf,
  suiteSettings,
} from "../runs/session.ts";
import { type JudgeEntry, judgeEntry, SUITE, type Suite, SUITE_FILE } from "../runs/suite.ts";
import { stageEntries, strategyName } from "../trials/strategies/entry.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import { keepForAgent } from "./command.ts";
import { type Clock, SYSTEM_CLOCK } from "../base/clock.ts";
import { environmentVariable } from "../base/environment.ts";
import { terminalColumns } from "../base/terminal_width.ts";
import { describeStatus, drawStatus, LINE_PAUSE, RunProgress } from "../reports/progress.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import type { Plan } from "../runs/plan.ts";

/** The flags whose values are paths. */
const PATHS = ["sets", "journal", "record", "replay", "auto", "prices"];

/** Returns flags with the paths in them as this process opens them. */
export function withUserPaths<Flags extends object>(flags: Flags): Flags {
  return Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [
      name,
      !PATHS.includes(name) || name === "record" && value === AUTO
        ? value
        : Array.isArray(value)
        ? value.map(userPath)
        : userPath(value),
    ]),
  ) as Flags;
}

/** Prints on stderr, as tables of a command go to stdout. */
const toStderr = (line: string): void => console.error(line);

/** A suite file with the flags that change it; what is to be said of it goes to `say`. */
export function suiteRequest(
  path: string,
  flags: FlagsOf<"run"> & FlagsOf<"selfcheck">,
  say = toStderr,
): RunRequest {
  const { models, judge: _, router: __, strategies: ___, prices: ____, ...others } = flags;
  const suite = readSuite(path, models);
  keepForAgent(suite);
  const settings = settingsOf(suite, others, () => userPath("recordings"));
  const request = fileRequest(path, say, flags.sets);
  const changed = withOthers(changedSuite(suite, flags, settings, path), flags, request);
  return { ...request, suite: changed, settings };
}

/**
 * Reads a suite file; models named by flags take the place of its own, and those that it has keep their options.
 *
 * @throws {InputError} If it cannot be used, or neither the file nor a flag names a model.
 */
export function readSuite(path: string, names: readonly string[] = []): Suite {
  const suite = readJsonc(path, SUITE_FILE);
  const entries = (suite.models ?? []).map(entryOf);
  const models = names.length === 0
    ? entries
    : names.map((name) => entries.find((entry) => modelName(entry) === name) ?? { model: name });
  if (models.length > 0) return { ...suite, models };
  throw new InputError(
    `Cannot use ${path}:\n  at models: must name a model, here or with the flag --model`,
  );
}

/**
 * Puts what flags name in place of a suite's call sets, its judge and the models of the stage `route`. A simulated judge or
 * model of a stage that no flag names gives way to the first model under test that a flag names and that is not
 * simulated: no program is to rate a model, or to pick its functions, unless somebody says so.
 *
 * @throws {InputError} If the suite has nothing that a flag could replace.
 */
export function withOthers(
  suite: Suite,
  { models: named, sets, judge, router }: Pick<
    FlagsOf<"plan">,
    "models" | "sets" | "judge" | "router"
  >,
  { subject, printer }: Pick<RunRequest, "subject" | "printer">,
): Suite {
  const models = suite.models.map(entryOf);
  const real = named && models.find((entry) => !identityOf(entry).simulated);
  const notes = new Set<string>();
  const replaced = <Entry extends string | ModelEntry>(
    entry: Entry,
    what: string,
    given?: string,
    flag?: string,
  ): Entry | ModelEntry => {
    if (given !== undefined) {
      return models.find((one) => modelName(one) === given) ?? { model: given };
    }
    if (real === undefined || !identityOf(entryOf(entry)).simulated) return entry;
    const other = flag === undefined ? "" : `; ${flag} names another`;
    notes.add(`${what}: ${printable(modelName(real))}, as the suite's is simulated${other}`);
    return real;
  };
  const stages = (suite.strategies ?? []).flatMap((entry) => [...stageEntries(entry).keys()]);
  if (router !== undefined && !stages.includes("route")) {
    const rule = "--router needs a strategy that names a model for the stage route";
    throw cannot(`use ${subject}`, rule, "the suite has none");
  }
  const own = new Set(suite.tasks.flatMap((entry) => "set" in entry ? [entry.set] : []));
  if (sets !== undefined && own.size !== 1) {
    const state = own.size === 0 ? "the suite has none" : `the suite has ${own.size}`;
    throw cannot(`use ${subject}`, "--set needs one call set to replace", state);
  }
  if (judge !== undefined && suite.judge === undefined) {
    throw cannot(`use ${subject}`, "--judge needs a judge to replace", "the suite has none");
  }
  const strategies = suite.strategies?.map((entry) =>
    typeof entry === "string" || entry.models === undefined ? entry : {
      ...entry,
      models: Object.fromEntries(
        Object.entries(entry.models).map(([stage, model]) => [
          stage,
          stage === "route"
            ? replaced(model, "stage route", router, "--router")
            : replaced(model, `stage ${stage}`),
        ]),
      ),
    }
  );
  const rater = (own: string | JudgeEntry): JudgeEntry => {
    const { prompt, ...entry } = judgeEntry(own);
    return defined({ ...replaced(entry, "judge", judge, "--judge"), prompt });
  };
  const tasks = suite.tasks.map((entry) =>
    sets !== undefined && "set" in entry ? { ...entry, set: sets } : entry
  );
  const others = defined({ tasks, strategies, judge: suite.judge && rater(suite.judge) });
  for (const note of notes) printer.note(note);
  return { ...suite, ...others };
}

/** A model of a suite as an entry. */
function entryOf(entry: string | ModelEntry): ModelEntry {
  return typeof entry === "string" ? { model: entry } : entry;
}

/** What belongs to the file of a suite: paths of its call sets are relative to it, but for the user's own. */
export function fileRequest(path: string, say = toStderr, own?: string) {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return {
    subject: path,
    printer: {
      note: (line: string) => say(line.charAt(0).toUpperCase() + line.slice(1)),
      warn: (line: string) => say(`Warning: ${line}`),
    },
    setPath: (set: string) =>
      set === own || /^([/\\]|[A-Za-z]:[/\\])/.test(set) ? set : folder + set,
    baselinePath: userPath,
  };
}

/** Changes a suite by flags; a strategy that names one of the suite keeps its options. */
function changedSuite(
  suite: Suite,
  flags: FlagsOf<"run">,
  settings: Settings,
  path: string,
): Suite {
  const chosen = suite.models as readonly ModelEntry[];
  const crossed = crossedModels(chosen, flags);
  const models = crossed.map(({ entry }) => {
    const { temperature = entry.temperature, topP = entry.topP } = flags;
    // The flag's server does not decide which trials there are; resuming compares it by itself.
    const isKept = flags.baseURL === undefined || entry.provider !== undefined;
    const baseURL = isKept ? entry.baseURL : undefined;
    return { ...entry, temperature, topP, baseURL };
  });
  const { temperature = suite.sampling?.temperature, topP = suite.sampling?.topP } = flags;
  const isSampled = flags.temperature !== undefined || flags.topP !== undefined;
  const declared = flags.prices === undefined ? suite.prices : readJsonc(flags.prices, PRICES);
  const changed = {
    ...suite,
    ...suiteSettings(settings),
    models,
    // `null` leaves it out.
    sampling: isSampled
      ? { temperature: temperature ?? undefined, topP: topP ?? undefined }
      : suite.sampling,
    strategies:
      flags.strategies?.map((name) =>
        suite.strategies?.find((entry) => strategyName(entry) === name) ?? name
      ) ?? suite.strategies,
    prices: declared && crossedPrices(declared, chosen, crossed),
  };
  // A suite is JSON, which has nothing that is undefined.
  return parseWith(SUITE, JSON.parse(JSON.stringify(changed)), `${path} with the options given`);
}

/** Returns each model with each API and each thinking budget, of several with these in its name, and its name before. */
function crossedModels(
  entries: readonly ModelEntry[],
  { api: apis = [], reasoningEffort: efforts = [] }: FlagsOf<"run">,
) {
  const orNone = <T>(list: readonly T[]) => list.length === 0 ? [undefined] : list;
  const crossed = entries.flatMap((old) =>
    orNone(apis).flatMap((api) =>
      orNone(efforts).map((reasoningEffort) => {
        let entry = old;
        if (api !== undefined) {
          const name = old.name && apis.length > 1 ? `${old.name} (${api})` : old.name;
          entry = { ...old, name, api: api === "chat" ? undefined : api };
        }
        if (reasoningEffort !== undefined) {
          const name = efforts.length > 1 ? `${modelName(entry)} ${reasoningEffort}` : entry.name;
          entry = { ...entry, name, reasoningEffort };
        }
        return { entry, before: modelName(old) };
      })
    )
  );
  if (apis.length === 0) return crossed;
  // Entries that differed only in their API are equal now.
  return [...new Map(crossed.map((one) => [canonicalJson(one.entry), one])).values()];
}

/** Adds prices for models changed by flags, which cost the same unless the table has their own. */
function crossedPrices(
  prices: Prices,
  entries: readonly ModelEntry[],
  crossed: ReturnType<typeof crossedModels>,
): Prices {
  const base = withApiPrices(prices, entries);
  const more = crossed.map(({ entry, before }) => [modelName(entry), before] as const)
    .filter(([now, before]) => now !== before && Object.hasOwn(base, before));
  return {
    ...Object.fromEntries(more.map(([now, before]) => [now, base[before]!])),
    ...prices,
  };
}

/**
 * Runs a plan, and shows the forecast and the progress.
 *
 * @param begun Says what it has to say once it is clear that the plan can be run.
 * @param opened Is called before the first trial. `see` is shown each trial whole, `onResult` as it ends.
 */
export async function runPlanned(
  planned: PlannedRun,
  { begun, opened, see, onResult }: Pick<RunOptions, "onResult"> & {
    readonly begun?: () => void;
    readonly opened?: (running: Run) => void | Promise<void>;
    readonly see?: (trial: Trial) => void;
  } = {},
) {
  const { plan } = planned;
  const progress = new Progress(plan);
  const limiters = new RateLimiters((line) => progress.note(line));
  const session = new RunSession(planned, limiters);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  using running = session.begin({
    signal,
    onTrial: (trial, resumed) => progress.count(trial, resumed),
    onResult,
  });
  begun?.();
  printForecast(plan, { note: toStderr, warn: (line) => toStderr(`Warning: ${line}`) });
  if (session.recordings !== undefined) console.error(session.recordings.notice);
  running.open();
  await opened?.(running);
  const ended = await finish(running, progress, signal, see);
  limiters.tellWaiting();
  for (const line of session.recordings?.summary ?? []) console.error(line);
  const { fault, stopped, trials: { length: all } } = running;
  return { ...ended, fault, stopped, all, isInterrupted: signal.aborted };
}

/**
 * Awaits the trials in order, shows the progress, and returns summaries of finished trials. After `signal`
 * aborts, these are all that had ended, in any order: the same that a journal has. `see` is shown each of them whole.
 */
export async function finish(
  running: Run,
  progress: Progress,
  signal: AbortSignal,
  see: (trial: Trial) => void = () => {},
) {
  const finished: TrialSummary[] = [];
  const decided = new Set<string>();
  const needless = { gate: 0, baseline: 0, budget: 0, fault: 0 };
  // A second interrupt ends the process at once, so the terminal must be restored before.
  const stop = () => progress.stop();
  signal.addEventListener("abort", stop);
  progress.start(running);
  try {
    for (const place of running.trials.keys()) {
      const trial = await running.trial(place).catch((error) => {
        if (!signal.aborted || error instanceof InputError) throw error;
        // It was given up or never begun; later trials may have ended.
        return undefined;
      });
      if (trial === undefined) continue;
      running.forget(place);
      if (trial.kind === "needless") {
        needless[trial.by]++;
        if (trial.by === "gate") decided.add(trial.reason);
      } else {
        finished.push(running.score(place)!);
        see(trial);
      }
    }
  } finally {
    stop();
    signal.removeEventListener("abort", stop);
  }
  return {
    finished,
    /** How many a gate has made unnecessary, and what it decided. */
    spared: needless.gate,
    decided: [...decided],
    /** How many a baseline does not reach. */
    beyond: needless.baseline,
  };
}

/** Stops a run cleanly at the first interrupt; a second one ends the process at once. */
export class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly #stop = (): void => {
    this[Symbol.dispose]();
    this.#controller.abort(new Error("the run was interrupted"));
  };

  constructor() {
    for (const name of ["SIGINT", "SIGTERM"]) process.on(name, this.#stop);
  }

  [Symbol.dispose](): void {
    for (const name of ["SIGINT", "SIGTERM"]) process.off(name, this.#stop);
  }
}

/** The output that progress is written to. */
export interface Screen {
  /** Whether lines can be overwritten. */
  readonly isTerminal: boolean;
  /** Returns the current number of columns. */
  width(): number;
  write(text: string): void;
}

/** Milliseconds between two drawings of the bar. */
const PAUSE = 100;

/** Hide the cursor and break no line, and take both back. */
const [BEGIN, END] = ["\x1b[?25l\x1b[?7l", "\x1b[?25h\x1b[?7h"];
/** Moves the cursor to the start of its line, and clears it. */
const CLEARED = "\r\x1b[K";

/** Shows the progress of a run, from {@linkcode Progress.start} to {@linkcode Progress.stop}. */
export class Progress {
  readonly #progress: RunProgress;
  #run: Pick<Run, "trials" | "inFlight"> | undefined;
  /** Whether an invalid trial was reported. */
  #warned = false;
  #began = 0;
  /** Stops the wait for the next line or drawing. */
  #stopWaiting = () => {};

  /** For a run of `plan`. */
  constructor(
    plan: Pick<Plan, "resolved" | "prices" | "budget">,
    private readonly screen: Screen = standardError(),
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#progress = new RunProgress(plan);
  }

  /** Counts a trial that has ended, or turned out not to be needed. */
  count(trial: TrialSummary | SkippedTrial, resumed: boolean): void {
    const note = this.#progress.count(trial, resumed);
    if (note !== undefined) this.note(note);
    if (trial.kind === "needless" || trial.outcome !== "invalid") return;
    // Reported at once, as a forgotten key or permission would spoil the whole run.
    if (resumed || this.#warned) return;
    this.#warned = true;
    this.note(`A first trial is invalid: ${printable(trial.reason ?? "unknown", 300)}`);
  }

  /** Begins to show the progress of `run`. */
  start(run: Pick<Run, "trials" | "inFlight">): void {
    this.#run = run;
    this.#began = performance.now();
    if (this.screen.isTerminal) {
      this.screen.write(BEGIN);
      this.#show();
    }
    this.#wait();
  }

  /** Writes a line; the bar continues below it. */
  note(line: string): void {
    const isDrawn = this.#run !== undefined && this.screen.isTerminal;
    this.screen.write(`${isDrawn ? CLEARED : ""}${line}\n`);
  }

  /** Shows the last figures, and restores the terminal. */
  stop(): void {
    if (this.#run === undefined) return;
    this.#stopWaiting();
    const { isTerminal } = this.screen;
    if (isTerminal || this.#progress.done > 0) this.#show();
    if (isTerminal) this.screen.write(`${END}\n`);
    this.#run = undefined;
  }

  #wait(): void {
    this.#stopWaiting = this.clock.after(this.screen.isTerminal ? PAUSE : LINE_PAUSE, () => {
      this.#show();
      this.#wait();
    });
  }

  #show(): void {
    const screen = this.screen;
    const status = this.#progress.status(this.#run!, this.#began);
    screen.write(
      screen.isTerminal
        ? CLEARED + drawStatus(status, screen.width() - 1)
        : `${describeStatus(status)}\n`,
    );
  }
}

const USUAL_WIDTH = 80;

function standardError(): Screen {
  const isDumb = environmentVariable("TERM") === "dumb";
  return {
    isTerminal: isTerminal("stderr") && !isDumb,
    width: () => terminalColumns() ?? USUAL_WIDTH,
    write: (text) => void process.stderr.write(text),
  };
}
