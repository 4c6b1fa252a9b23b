/**
 * What the commands that run trials share: suites changed by flags, interrupts, and the wait for trials.
 * @module
 */

import { parseWith, readJsonc } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { canonicalJson, defined } from "../base/json.ts";
import { PRICES, type Prices } from "../models/prices.ts";
import { flagsAt, readFlags } from "../runs/flags.ts";
import { AUTO, type FlagsOf } from "../runs/options.ts";
import type { Run } from "../runs/run.ts";
import {
  type Printer,
  type RunRequest,
  type Settings,
  settingsOf,
  suiteSettings,
} from "../runs/session.ts";
import { SUITE, type Suite, SUITE_FILE } from "../runs/suite.ts";
import { type ModelEntry, modelName, type Sampling, withApiPrices } from "../models/entry.ts";
import { strategyName } from "../trials/strategies/entry.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import { Arguments, type OptionNames, userPath } from "./arguments.ts";
import { keepForAgent } from "./permissions.ts";
import type { Progress } from "./progress.ts";

/** The commands that ask models. */
type Command = "run" | "selfcheck" | "perturb";

/** Parses the arguments of a command that runs trials: its flags in the table of options, and further ones. */
export function runArguments(
  command: Command,
  arguments_: readonly string[],
  { values = [], switches = [] }: OptionNames = {},
): Arguments {
  const flags = flagsAt(command);
  const named = (isOne: (flag: typeof flags[number]) => boolean) =>
    flags.filter(isOne).map(({ name }) => name);
  return new Arguments(command, arguments_, {
    values: [...named(({ value, several }) => value !== undefined && !several), ...values],
    lists: named(({ several }) => several === true),
    switches: [...named(({ value }) => value === undefined), ...switches],
  });
}

/** Returns the flags given to a command that runs trials; paths of files are the user's. */
export function runFlags<P extends Command>(place: P, options: Arguments): FlagsOf<P> {
  const flags = readFlags(
    place,
    (name) => options.has(name) ? [""] : options.list(name),
    (reason) => options.error(reason),
  );
  const paths = ["journal", "record", "replay", "auto", "prices", "after"];
  const isPath = (name: string, value: unknown) =>
    paths.includes(name) && !(name === "record" && value === AUTO);
  const resolved = (path: unknown): unknown =>
    Array.isArray(path) ? path.map(resolved) : userPath(path as string);
  return Object.fromEntries(
    Object.entries(flags).map(([name, value]) =>
      [name, isPath(name, value) ? resolved(value) : value] as const
    ),
  ) as FlagsOf<P>;
}

/** What a command prints on a run goes to stderr, as its tables go to stdout. */
export const PRINTER: Printer = {
  note: (line) => console.error(line),
  warn: (line) => console.error(`Warning: ${line}`),
};

/** A suite file with the flags that change it. */
export function suiteRequest(
  path: string,
  flags: FlagsOf<"run"> & FlagsOf<"selfcheck">,
): RunRequest {
  const { models, strategies: _, prices: __, ...others } = flags;
  const suite = readSuite(path, models);
  keepForAgent(suite);
  const settings = settingsOf(suite, others, () => userPath("recordings"));
  return { ...fileRequest(path), suite: changedSuite(suite, flags, settings, path), settings };
}

/**
 * Reads a suite file; models named by flags take the place of its own, and those that it has keep their options.
 *
 * @throws {InputError} If it cannot be used, or neither the file nor a flag names a model.
 */
export function readSuite(path: string, names: readonly string[] = []): Suite {
  const suite = readJsonc(path, SUITE_FILE);
  const entries = (suite.models ?? []).map((entry): ModelEntry =>
    typeof entry === "string" ? { model: entry } : entry
  );
  const models = names.length === 0
    ? entries
    : names.map((name) => entries.find((entry) => modelName(entry) === name) ?? { model: name });
  if (models.length > 0) return { ...suite, models };
  throw new InputError(
    `Cannot use ${path}:\n  at models: must name a model, here or with the flag --model`,
  );
}

/** What belongs to the file of a suite: paths of its call sets are relative to it. */
export function fileRequest(path: string) {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return {
    subject: path,
    printer: {
      ...PRINTER,
      note: (line: string) => PRINTER.note(line.charAt(0).toUpperCase() + line.slice(1)),
    },
    setPath: (set: string) => /^([/\\]|[A-Za-z]:[/\\])/.test(set) ? set : folder + set,
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
  const { strategies = [] } = flags;
  const chosen = suite.models as readonly ModelEntry[];
  const crossed = withEfforts(withApis(chosen, flags), flags);
  const sampled = defined({ temperature: flags.temperature, topP: flags.topP });
  const models = crossed.map(({ entry: { baseURL, ...others } }) => ({
    ...others,
    ...sampled,
    // The flag's server does not decide which trials there are; resuming compares it by itself.
    ...(flags.baseURL === undefined ? defined({ baseURL }) : {}),
  }));
  const declared = flags.prices === undefined ? suite.prices : readJsonc(flags.prices, PRICES);
  return parseWith(SUITE, {
    ...suite,
    ...suiteSettings(settings),
    models,
    ...(Object.keys(sampled).length === 0 ? {} : { sampling: numbersOf(suite.sampling, sampled) }),
    ...(strategies.length === 0 ? {} : {
      strategies: strategies.map((name) =>
        suite.strategies?.find((entry) => strategyName(entry) === name) ?? name
      ),
    }),
    ...(declared === undefined ? {} : { prices: crossedPrices(declared, chosen, crossed) }),
  }, `${path} with the options given`);
}

/** The sampling of a suite, changed by flags; `null` leaves it out. */
function numbersOf(
  own: Sampling | undefined,
  flags: { readonly [Name in keyof Sampling]: number | null },
): Sampling {
  const { temperature, topP } = { ...own, ...flags };
  return defined({ temperature: temperature ?? undefined, topP: topP ?? undefined });
}

/** A model of the suite, changed by flags. */
interface Crossed {
  readonly entry: ModelEntry;
  /** The name that it had before. */
  readonly before: string;
}

/** Returns each model with each API, once; with several APIs, names of entries include the API. */
function withApis(
  entries: readonly ModelEntry[],
  { api: apis = [] }: FlagsOf<"run">,
): Crossed[] {
  if (apis.length === 0) return entries.map((entry) => ({ entry, before: modelName(entry) }));
  const crossed = entries.flatMap((old) =>
    apis.map((api): Crossed => {
      const { api: _, name, ...others } = old;
      const entry: ModelEntry = {
        ...others,
        ...(api === "chat" ? {} : { api }),
        ...(name === undefined ? {} : { name: apis.length === 1 ? name : `${name} (${api})` }),
      };
      return { entry, before: modelName(old) };
    })
  );
  // Entries that differed only in their API are equal now.
  return [...new Map(crossed.map((one) => [canonicalJson(one.entry), one])).values()];
}

/** Returns each model with each thinking budget; with several budgets, names include the budget. */
function withEfforts(
  crossed: readonly Crossed[],
  { reasoningEffort: efforts = [] }: FlagsOf<"run">,
): Crossed[] {
  if (efforts.length === 0) return [...crossed];
  return crossed.flatMap(({ entry, before }) =>
    efforts.map((reasoningEffort): Crossed => {
      const named = efforts.length === 1 ? {} : { name: `${modelName(entry)} ${reasoningEffort}` };
      return { entry: { ...entry, ...named, reasoningEffort }, before };
    })
  );
}

/** Adds prices for models changed by flags, which cost the same unless the table has their own. */
function crossedPrices(
  prices: Prices,
  entries: readonly ModelEntry[],
  crossed: readonly Crossed[],
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
 * Awaits the trials in order, shows the progress, and returns summaries of finished trials. After `signal`
 * aborts, these are all that had ended, in any order: the same that a journal has. `see` is shown each of them whole.
 */
export async function finish(
  running: Run,
  progress: Progress,
  signal: AbortSignal,
  see: (trial: Trial) => void = () => {},
): Promise<{ finished: TrialSummary[]; spared: number; decided: string[]; beyond: number }> {
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
    spared: needless.gate,
    decided: [...decided],
    beyond: needless.baseline,
  };
}

/** Stops a run cleanly at the first interrupt; a second one ends the process at once. */
export class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #stop = (): void => {
    this[Symbol.dispose]();
    this.#controller.abort(new Error("the run was interrupted"));
  };

  constructor() {
    for (const name of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(name, this.#stop);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const name of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(name, this.#stop);
  }
}
