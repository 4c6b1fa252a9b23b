/**
 * Options, plans and interrupts of the commands that run trials.
 * @module
 */

import { estimateUsage, forecast, forecastCost, planWarnings } from "../runs/forecast.ts";
import { parseWith, readJsonc } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { canonicalJson, defined, printable } from "../base/json.ts";
import { APIS } from "../models/model.ts";
import { type Plan, type PlanOptions, planSuite } from "../runs/plan.ts";
import { PRICES, type Prices } from "../models/prices.ts";
import { questionSource } from "../runs/question_tasks.ts";
import {
  assertRecordable,
  Recordings,
  recordingsFromFlags,
} from "../models/recordings/recordings.ts";
import type { Run } from "../runs/run.ts";
import { SUITE, type Suite } from "../runs/suite.ts";
import { type ModelEntry, modelName, REASONING_EFFORTS, withApiPrices } from "../models/entry.ts";
import { strategyName } from "../trials/strategies/entry.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { type Arguments, userPath } from "./arguments.ts";
import type { Progress } from "./progress.ts";

/** Options of all commands that run trials. */
export const RUN_VALUES: readonly string[] = [
  "base-url",
  "seed",
  "out",
  "concurrency",
  "max-tokens",
  "max-usd",
  "prices",
  "request-timeout",
  "retries",
  "requests-per-minute",
  "tokens-per-minute",
];

/** Options of those commands that may be given several times. */
export const RUN_LISTS: readonly string[] = [
  "model",
  "api",
  "strategy",
  "perturbation",
  "reasoning-effort",
];

/** Overrides a suite by flags; a model or strategy that names one of the suite keeps its options. */
export function overrideSuite(suite: Suite, options: Arguments, path: string): Suite {
  const names = options.list("model");
  const entries = suite.models.map((entry): ModelEntry =>
    typeof entry === "string" ? { model: entry } : entry
  );
  const baseURL = options.text("base-url");
  const chosen = names.length === 0
    ? entries
    : names.map((name) => entries.find((entry) => modelName(entry) === name) ?? { model: name });
  const crossed = withEfforts(withApis(chosen, options), options);
  const models = crossed.map(({ entry }) => {
    const { baseURL: own, ...others } = entry;
    return {
      ...others,
      // The flag's server is not part of the plan, so that a run can be resumed with another address.
      ...(own === undefined || baseURL !== undefined ? {} : { baseURL: own }),
    };
  });
  const strategies = options.list("strategy").map((name) =>
    suite.strategies?.find((entry) => strategyName(entry) === name) ?? name
  );
  const perturbations = options.list("perturbation");
  const tokens = options.integer("max-tokens", 1);
  const usd = options.number("max-usd");
  const budget = {
    ...suite.budget,
    ...defined({ tokens, usd }),
  };
  const table = options.text("prices");
  const declared = table === undefined ? suite.prices : readJsonc(userPath(table), PRICES);
  const prices = declared === undefined ? undefined : crossedPrices(declared, chosen, crossed);
  const seed = options.integer("seed");
  return parseWith(SUITE, {
    ...suite,
    models,
    ...(strategies.length === 0 ? {} : { strategies }),
    ...(perturbations.length === 0 ? {} : { perturbations }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...defined({ prices, seed }),
  }, `${path} with the options given`);
}

/** A model of the suite, changed by flags. */
interface Crossed {
  readonly entry: ModelEntry;
  /** The name that it had before. */
  readonly before: string;
}

/** Returns each model with each API, once; with several APIs, names of entries include the API. */
function withApis(entries: readonly ModelEntry[], options: Arguments): Crossed[] {
  const apis = options.list("api").map((api) => {
    const known = APIS.find((one) => one === api);
    if (known !== undefined) return known;
    throw options.error(`--api must be one of ${APIS.join(", ")}: it is ${api}`);
  });
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
function withEfforts(crossed: readonly Crossed[], options: Arguments): Crossed[] {
  const efforts = options.list("reasoning-effort").map((effort) => {
    const known = REASONING_EFFORTS.find((one) => one === effort);
    if (known !== undefined) return known;
    throw options.error(
      `--reasoning-effort must be one of ${REASONING_EFFORTS.join(", ")}: it is ${effort}`,
    );
  });
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

/** At most this many warnings of call sets are shown. */
const MOST_WARNINGS = 5;

/** Plans a suite file; paths of its call sets are relative to the file. */
export function planSuiteFile(
  suite: Suite,
  path: string,
  options: Pick<PlanOptions, "sharded"> = {},
): ReturnType<typeof planSuite> {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const source = questionSource(
    suite.tasks,
    (set) => /^([/\\]|[A-Za-z]:[/\\])/.test(set) ? set : folder + set,
  );
  const warnings = source?.warnings ?? [];
  for (const warning of warnings.slice(0, MOST_WARNINGS)) {
    console.error(`Warning: ${printable(warning, 2_000)}`);
  }
  if (warnings.length > MOST_WARNINGS) {
    console.error(`Warning: ${warnings.length - MOST_WARNINGS} more warnings of the call sets`);
  }
  return planSuite(suite, {
    source: path,
    ...options,
    ...defined({ tasks: source }),
  });
}

/** Prints what the gate can decide and what the run may cost, before anything is spent. */
export function printForecast(plan: Plan): void {
  const gateForecast = forecast(plan);
  for (
    const line of [
      ...gateForecast?.lines ?? [],
      ...forecastCost(plan, estimateUsage(plan), gateForecast),
    ]
  ) {
    console.error(line);
  }
  for (const warning of planWarnings(plan, gateForecast)) console.error(`Warning: ${warning}`);
}

/**
 * Opens the recordings to record to or replay from, and prints a notice; `undefined` without such flags.
 *
 * @throws {InputError} If the suite cannot be recorded, as with a fresh seed.
 */
export function openRecordings(
  options: Arguments,
  path: string,
  seed: Suite["seed"],
): Recordings | undefined {
  const recordingOptions = recordingsFromFlags((flag) => {
    const folder = options.text(flag);
    return folder === undefined ? undefined : userPath(folder);
  });
  if (recordingOptions === undefined) return undefined;
  assertRecordable(path, recordingOptions, { agent: false, fresh: seed === "fresh" });
  const recordings = new Recordings(recordingOptions);
  console.error(recordings.notice);
  return recordings;
}

/** Returns the connection options of all models of a run. */
export function connectOptions(options: Arguments) {
  const baseURL = options.text("base-url");
  if (baseURL !== undefined && /[?#@]/.test(baseURL)) {
    throw options.error(
      "--base-url must have no user name, password or query, as journals keep plans: it has one",
    );
  }
  if (baseURL !== undefined && !/^https?:\/\/./.test(baseURL)) {
    throw options.error(`--base-url must be an http or https URL: it is ${baseURL}`);
  }
  const retries = options.integer("retries");
  const timeout = options.number("request-timeout");
  if (timeout !== undefined && timeout <= 0) {
    throw options.error(`--request-timeout must be above 0: it is ${timeout}`);
  }
  const requestsPerMinute = options.integer("requests-per-minute", 1);
  const tokensPerMinute = options.integer("tokens-per-minute", 1);
  return {
    ...defined({ baseURL, retries, requestsPerMinute, tokensPerMinute }),
    ...(timeout === undefined ? {} : { requestTimeout: 1000 * timeout }),
  };
}

/**
 * Awaits the trials in order, shows the progress, and returns summaries of finished trials. After `signal`
 * aborts, these are all that had ended, in any order: the same that a journal has.
 */
export async function finish(
  running: Run,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ finished: TrialSummary[]; spared: number; beyond: number }> {
  const finished: TrialSummary[] = [];
  const needless = { gate: 0, baseline: 0, budget: 0 };
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
      if (trial.kind === "needless") needless[trial.by]++;
      else finished.push(running.score(place)!);
    }
  } finally {
    stop();
    signal.removeEventListener("abort", stop);
  }
  return { finished, spared: needless.gate, beyond: needless.baseline };
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

/** At most this many reasons are shown. */
const MOST_REASONS = 3;

/** Returns why trials are invalid, the most frequent reasons first. */
export function invalidReasons(invalid: readonly TrialSummary[]): [string, number][] {
  const counts = Map.groupBy(invalid, ({ reason }) => printable(reason ?? "unknown", 300));
  return [...counts].map(([reason, own]): [string, number] => [reason, own.length])
    .sort(([, one], [, other]) => other - one).slice(0, MOST_REASONS);
}
