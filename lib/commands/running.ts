/**
 * What the commands that run trials share.
 * @module
 */

import { estimateUsage, forecast, forecastCost } from "../forecast.ts";
import { InputError, parseWith, readJsonc } from "../input.ts";
import { printable } from "../json.ts";
import type { Plan } from "../plan.ts";
import { PRICES } from "../prices.ts";
import type { Run } from "../run.ts";
import type { Needless } from "../stopping.ts";
import { type ModelEntry, modelName, SUITE, type Suite } from "../suite.ts";
import type { Trial } from "../trial.ts";
import { type Arguments, userPath } from "./arguments.ts";

/** Options that all commands take which run trials. */
export const RUN_VALUES: readonly string[] = [
  "api",
  "base-url",
  "seed",
  "out",
  "concurrency",
  "max-tokens",
  "max-usd",
  "prices",
  "request-timeout",
  "retries",
];

/** Options of those commands that may be given several times. */
export const RUN_LISTS: readonly string[] = ["model", "strategy"];

/** Flags override the file; a model of the file that is named keeps its options. */
export function overridden(suite: Suite, options: Arguments, path: string): Suite {
  const names = options.list("model");
  const entries = suite.models.map((entry): ModelEntry =>
    typeof entry === "string" ? { model: entry } : entry
  );
  const baseURL = options.text("base-url");
  const api = options.text("api");
  const chosen = names.length === 0
    ? entries
    : names.map((name) => entries.find((entry) => modelName(entry) === name) ?? { model: name });
  const models = chosen.map((entry) => {
    const { baseURL: own, ...others } = entry;
    return {
      ...others,
      // The flag's server is no part of the plan, so that a run may go on at another address.
      ...(own === undefined || baseURL !== undefined ? {} : { baseURL: own }),
      ...(api === undefined ? {} : { api }),
    };
  });
  const strategies = options.list("strategy");
  const tokens = options.integer("max-tokens", 1);
  const usd = options.number("max-usd");
  const budget = {
    ...suite.budget,
    ...(tokens === undefined ? {} : { tokens }),
    ...(usd === undefined ? {} : { usd }),
  };
  const table = options.text("prices");
  const prices = table === undefined ? suite.prices : readJsonc(userPath(table), PRICES);
  const seed = options.integer("seed");
  return parseWith(SUITE, {
    ...suite,
    models,
    ...(strategies.length === 0 ? {} : { strategies }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(prices === undefined ? {} : { prices }),
    ...(seed === undefined ? {} : { seed }),
  }, `${path} with the options given`);
}

/** What the gate can tell and what the run may cost: before anything is spent. */
export function tellForecast(plan: Plan): void {
  const told = forecast(plan);
  for (const line of [...told?.lines ?? [], ...forecastCost(plan, estimateUsage(plan), told)]) {
    console.error(line);
  }
  for (const warning of told?.warnings ?? []) console.error(`Warning: ${warning}`);
}

/** What all models of a run are asked with. */
export function connectOptions(options: Arguments) {
  const baseURL = options.text("base-url");
  if (baseURL !== undefined && !/^https?:\/\/./.test(baseURL)) {
    throw options.error(`--base-url must be an http or https URL: it is ${baseURL}`);
  }
  const retries = options.integer("retries");
  const timeout = options.number("request-timeout");
  if (timeout !== undefined && timeout <= 0) {
    throw options.error(`--request-timeout must be above 0: it is ${timeout}`);
  }
  return {
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(retries === undefined ? {} : { retries }),
    ...(timeout === undefined ? {} : { requestTimeout: 1000 * timeout }),
  };
}

/** Awaits the trials in order, tells of the progress, and keeps everything but the events. */
export async function finish(
  running: Run,
  signal: AbortSignal,
): Promise<{ finished: Trial[]; spared: number; beyond: number }> {
  const finished: Trial[] = [];
  let spared = 0;
  let beyond = 0;
  const count = running.trials.length;
  const step = Math.max(1, Math.ceil(count / 10));
  let solved = 0;
  for (let place = 0; place < count; place++) {
    let trial: Trial | Needless;
    try {
      trial = await running.trial(place);
    } catch (error) {
      if (signal.aborted && !(error instanceof InputError)) break;
      throw error;
    }
    running.forget(place);
    if (trial.kind === "needless") {
      if (trial.by === "gate") spared++;
      if (trial.by === "baseline") beyond++;
      continue;
    }
    finished.push({ ...trial, events: [] });
    if (trial.solved) solved++;
    const line = `${place + 1}/${count} trials, ${solved} solved`;
    if (Deno.stderr.isTerminal()) {
      Deno.stderr.writeSync(
        new TextEncoder().encode(`\r${line}${place + 1 === count ? "\n" : ""}`),
      );
    } else if ((place + 1) % step === 0 || place + 1 === count) console.error(line);
  }
  if (spared > 0) console.error(`${finished.length} trials were run, ${solved} solved`);
  return { finished, spared, beyond };
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
export function reasonsOf(invalid: readonly Trial[]): [string, number][] {
  const counts = Map.groupBy(invalid, ({ reason }) => printable(reason ?? "unknown", 300));
  return [...counts].map(([reason, own]): [string, number] => [reason, own.length])
    .sort(([, one], [, other]) => other - one).slice(0, MOST_REASONS);
}
