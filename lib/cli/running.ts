/**
 * What the commands that run trials share.
 * @module
 */

import { estimateUsage, forecast, forecastCost, planWarnings } from "../runs/forecast.ts";
import { parseWith, readJsonc } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { canonicalJson, printable } from "../base/json.ts";
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

/** Options that all commands take which run trials. */
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

/** Flags override the file; a model or strategy of the file that is named keeps its options. */
export function overridden(suite: Suite, options: Arguments, path: string): Suite {
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
      // The flag's server is no part of the plan, so that a run may go on at another address.
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
    ...(tokens === undefined ? {} : { tokens }),
    ...(usd === undefined ? {} : { usd }),
  };
  const table = options.text("prices");
  const told = table === undefined ? suite.prices : readJsonc(userPath(table), PRICES);
  const prices = told === undefined ? undefined : crossedPrices(told, chosen, crossed);
  const seed = options.integer("seed");
  return parseWith(SUITE, {
    ...suite,
    models,
    ...(strategies.length === 0 ? {} : { strategies }),
    ...(perturbations.length === 0 ? {} : { perturbations }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(prices === undefined ? {} : { prices }),
    ...(seed === undefined ? {} : { seed }),
  }, `${path} with the options given`);
}

/** A model as flags make it of another one. */
interface Crossed {
  readonly entry: ModelEntry;
  /** The name that it had before. */
  readonly before: string;
}

/** Each model in each way to speak to it, once; with several, the name of an entry tells which. */
function withApis(entries: readonly ModelEntry[], options: Arguments): Crossed[] {
  const apis = options.list("api").map((api) => {
    const known = APIS.find((one) => one === api);
    if (known !== undefined) return known;
    throw options.error(`--api must be one of ${APIS.join(", ")}: it is ${api}`);
  });
  if (apis.length === 0) return entries.map((entry) => ({ entry, before: modelName(entry) }));
  const spoken = entries.flatMap((old) =>
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
  // Entries that differed in nothing else are one and the same now.
  return [...new Map(spoken.map((one) => [canonicalJson(one.entry), one])).values()];
}

/** Each model with each thinking budget; with several, its name tells which. */
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

/** A model costs the same however it is asked, unless the table says otherwise. */
function crossedPrices(
  prices: Prices,
  entries: readonly ModelEntry[],
  crossed: readonly Crossed[],
): Prices {
  const known = withApiPrices(prices, entries);
  const more = crossed.map(({ entry, before }) => [modelName(entry), before] as const)
    .filter(([now, before]) => now !== before && Object.hasOwn(known, before));
  return {
    ...Object.fromEntries(more.map(([now, before]) => [now, known[before]!])),
    ...prices,
  };
}

/** The most warnings of call sets that are told one by one. */
const MOST_WARNINGS = 5;

/** The plan of a suite file; the call sets that it names lie where it says, seen from the file. */
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
    console.error(`Warning: ${warnings.length - MOST_WARNINGS} more oddities of the call sets`);
  }
  return planSuite(suite, {
    source: path,
    ...options,
    ...(source === undefined ? {} : { tasks: source }),
  });
}

/** What the gate can tell and what the run may cost: before anything is spent. */
export function tellForecast(plan: Plan): void {
  const told = forecast(plan);
  for (const line of [...told?.lines ?? [], ...forecastCost(plan, estimateUsage(plan), told)]) {
    console.error(line);
  }
  for (const warning of planWarnings(plan, told)) console.error(`Warning: ${warning}`);
}

/**
 * Where models are recorded or replayed from, which is told; `undefined` if they are asked as ever.
 *
 * @throws {InputError} If that cannot be, as where tasks are drawn anew.
 */
export function openRecordings(
  options: Arguments,
  path: string,
  seed: Suite["seed"],
): Recordings | undefined {
  const wanted = recordingsFromFlags((flag) => {
    const folder = options.text(flag);
    return folder === undefined ? undefined : userPath(folder);
  });
  if (wanted === undefined) return undefined;
  assertRecordable(path, wanted, { agent: false, fresh: seed === "fresh" });
  const recordings = new Recordings(wanted);
  console.error(recordings.notice);
  return recordings;
}

/** What all models of a run are asked with. */
export function connectOptions(options: Arguments) {
  const baseURL = options.text("base-url");
  if (baseURL !== undefined && /[?#@]/.test(baseURL)) {
    throw options.error(
      "--base-url must hold no name, password or query, as plans are kept in journals: it has one",
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
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(retries === undefined ? {} : { retries }),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(timeout === undefined ? {} : { requestTimeout: 1000 * timeout }),
  };
}

/**
 * Awaits the trials in order, shows the progress, and keeps what tables need of them. Once `signal` aborts,
 * these are the ones that have ended, in whatever order they did: all that a journal has.
 */
export async function finish(
  running: Run,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ finished: TrialSummary[]; spared: number; beyond: number }> {
  const finished: TrialSummary[] = [];
  const ended = { gate: 0, baseline: 0, budget: 0 };
  // A second interrupt ends the process at once: the terminal must be as it was by then.
  const stop = () => progress.stop();
  signal.addEventListener("abort", stop);
  progress.start(running);
  try {
    for (const place of running.trials.keys()) {
      const trial = await running.trial(place).catch((error) => {
        if (!signal.aborted || error instanceof InputError) throw error;
        // It was given up or never begun; others behind it may have ended.
        return undefined;
      });
      if (trial === undefined) continue;
      running.forget(place);
      if (trial.kind === "needless") ended[trial.by]++;
      else finished.push(running.score(place)!);
    }
  } finally {
    stop();
    signal.removeEventListener("abort", stop);
  }
  return { finished, spared: ended.gate, beyond: ended.baseline };
}

/** A first interrupt stops the run cleanly; a second one, as ever, at once. */
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

/** The most reasons that are told apart. */
const MOST_REASONS = 3;

/** Why trials are invalid, the most frequent reasons first. */
export function reasonsOf(invalid: readonly TrialSummary[]): [string, number][] {
  const counts = Map.groupBy(invalid, ({ reason }) => printable(reason ?? "unknown", 300));
  return [...counts].map(([reason, own]): [string, number] => [reason, own.length])
    .sort(([, one], [, other]) => other - one).slice(0, MOST_REASONS);
}
