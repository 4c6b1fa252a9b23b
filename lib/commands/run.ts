/**
 * `run`: the trials of a suite file.
 * @module
 */

import { Connections } from "../connect.ts";
import { InputError, parseWith, readJsonc } from "../input.ts";
import { renderTables } from "../report.ts";
import { Run, type RunOptions, seedToResume } from "../run.ts";
import { parseShard, planSuite } from "../plan.ts";
import { type ModelEntry, modelName, SUITE, type Suite } from "../suite.ts";
import type { Trial } from "../trial.ts";
import { Arguments, userPath } from "./arguments.ts";

export const RUN_HELP = `toolgate run SUITE.jsonc: runs the trials of a suite

  --model M            this model in place of the suite's; may be given several times
  --api A              how models are spoken to: chat
  --base-url U         the server of models other than sim:... (default OpenAI's)
  --strategy S         this strategy in place of the suite's; may be given several times
  --seed N             this seed in place of the suite's
  --out F.jsonl        the journal to which finished trials are appended
  --resume             continues the journal: what it has is not run again
  --retry-invalid      with --resume: runs invalid trials again
  --concurrency N      trials at the same time (default 8)
  --shard I/N          only this part of the plan
  --request-timeout S  seconds that one attempt of a request may take (default 600)
  --retries N          further attempts of a failed request (default 3)

Exit code 0 when every planned trial ended validly, 3 when some are invalid or were not run.`;

/** Runs a suite and prints its tables to stdout. */
export async function run(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("run", arguments_, {
    values: [
      "api",
      "base-url",
      "seed",
      "out",
      "concurrency",
      "shard",
      "request-timeout",
      "retries",
    ],
    lists: ["model", "strategy"],
    switches: ["resume", "retry-invalid"],
  });
  const [file, ...rest] = options.operands;
  if (file === undefined || rest.length > 0) {
    throw options.error(`it takes one suite file: ${options.operands.length} are given`);
  }
  const out = options.text("out") === undefined ? undefined : userPath(options.text("out")!);
  const resume = options.has("resume");
  if (resume && out === undefined) throw options.error("--resume needs --out");
  if (options.has("retry-invalid") && !resume) {
    throw options.error("--retry-invalid needs --resume");
  }
  const connecting = connectOptions(options);
  const concurrency = options.integer("concurrency", 1);
  const shardText = options.text("shard");
  const shard = shardText === undefined ? undefined : parseShard(shardText);

  const path = userPath(file);
  const suite = overridden(readJsonc(path, SUITE), options, path);
  const resumed = resume ? seedToResume(out!) : undefined;
  const seed = suite.seed === "fresh" ? resumed ?? suite.seed : suite.seed;
  if (seed === "fresh" && shard !== undefined) {
    throw options.error('all shards need the same seed and it is "fresh": add --seed N');
  }
  const plan = planSuite({ ...suite, seed }, path);
  if (plan.skipped > 0) {
    console.error(`Skipped ${plan.skipped} impossible crossings (depth must be below core)`);
  }
  if (seed === "fresh") console.error(`Fresh seed ${plan.resolved.seed}`);

  await using connections = new Connections(connecting);
  using interrupt = new Interrupt();
  const runOptions: RunOptions = {
    connect: (entry) => connections.model(entry),
    signal: interrupt.signal,
    resume,
    retryInvalid: options.has("retry-invalid"),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(shard === undefined ? {} : { shard }),
    ...(out === undefined ? {} : { journal: out }),
  };
  using running = new Run(plan, runOptions);
  for (const notice of running.notices) console.error(notice);
  running.connect();
  running.open();
  if (out === undefined) console.error("Without --out the trials are not kept");
  if (running.resumed > 0) {
    console.error(`${running.resumed} of ${running.trials.length} trials are in ${out} already`);
  }
  const finished = await finish(running, interrupt.signal);
  if (finished.length > 0) console.log(renderTables(finished));
  const invalid = finished.filter(({ outcome }) => outcome === "invalid").length;
  const missing = running.trials.length - finished.length;
  if (invalid > 0) console.error(`${invalid} trials are invalid: infrastructure spoiled them`);
  if (missing > 0) console.error(`${missing} trials were not run`);
  if (out !== undefined && plan.gate !== undefined) {
    console.error(`To decide: deno task toolgate gate ${options.text("out")}`);
  }
  return invalid + missing > 0 ? 3 : 0;
}

/** Flags override the file; a model of the file that is named keeps its options. */
function overridden(suite: Suite, options: Arguments, path: string): Suite {
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
  const seed = options.integer("seed");
  return parseWith(SUITE, {
    ...suite,
    models,
    ...(strategies.length === 0 ? {} : { strategies }),
    ...(seed === undefined ? {} : { seed }),
  }, `${path} with the options given`);
}

function connectOptions(options: Arguments) {
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
async function finish(running: Run, signal: AbortSignal): Promise<Trial[]> {
  const finished: Trial[] = [];
  const count = running.trials.length;
  const step = Math.max(1, Math.ceil(count / 10));
  let solved = 0;
  for (let place = 0; place < count; place++) {
    let trial: Trial;
    try {
      trial = await running.trial(place);
    } catch (error) {
      if (signal.aborted && !(error instanceof InputError)) break;
      throw error;
    }
    running.forget(place);
    finished.push({ ...trial, events: [] });
    if (trial.solved) solved++;
    const line = `${place + 1}/${count} trials, ${solved} solved`;
    if (Deno.stderr.isTerminal()) {
      Deno.stderr.writeSync(
        new TextEncoder().encode(`\r${line}${place + 1 === count ? "\n" : ""}`),
      );
    } else if ((place + 1) % step === 0 || place + 1 === count) console.error(line);
  }
  return finished;
}

/** A first interrupt stops the run cleanly; a second one, as ever, at once. */
class Interrupt implements Disposable {
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
