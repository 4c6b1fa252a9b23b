/**
 * `run`: runs the trials of a suite file.
 * @module
 */

import { defined } from "../base/json.ts";
import { Connections } from "../models/connect.ts";
import { assertComparable, baselineOfGate, missingBaseline } from "../runs/baseline.ts";
import { readJsonc } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { renderTables } from "../reports/terminal.ts";
import { RECORDING_FLAGS } from "../models/recordings/recordings.ts";
import { planOfJournal, trialToReplay } from "../runs/replay.ts";
import { Run, type RunOptions, seedToResume } from "../runs/run.ts";
import { describeTrial } from "../reports/story.ts";
import { parseShard } from "../runs/shards.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { SUITE } from "../runs/suite.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import { Arguments, userPath } from "./arguments.ts";
import { Progress } from "./progress.ts";
import {
  connectOptions,
  finish,
  Interrupt,
  invalidReasons,
  openRecordings,
  overrideSuite,
  planSuiteFile,
  printForecast,
  RUN_LISTS,
  RUN_VALUES,
} from "./running.ts";

export const RUN_HELP = `toolgate run [SUITE.jsonc]: runs the trials of a suite

Without a file it runs the suite quick, which needs no key and takes seconds.

  --model M            this model in place of the suite's; may be given several times
  --reasoning-effort E how much the models think: none, minimal, low, medium, high, xhigh or max; given
                       several times, each model is run with each, under the name "MODEL E"
  --api A              API or text format of the models: chat, responses, react, xml or hermes; given
                       several times, each model is run in each, under the name "MODEL (A)" unless it is chat
  --base-url U         the server of models other than sim:... (default OpenAI's)
  --strategy S         this strategy in place of the suite's, by its name in the suite or by its id:
                       baseline, restate, indirection, plan_then_call, route_then_fill, backward or
                       repair, or several joined by +; may be given several times
  --perturbation P     this perturbation in place of the suite's: none, one of unrelated, rename,
                       reorder, RD, RE, WD, WT, SD, CO, RP_F, RP_L, CP, AN, FK, AP, CK, UK and CF, or
                       a fault of a function: timeout, rate_limit, not_found, permission_denied,
                       invalid_argument, malformed_return, slow or flaky (timeout:3 hits three calls,
                       flaky:0.35 a share of 0.35 of all calls); or several joined by +; may be given
                       several times
  --seed N             this seed in place of the suite's
  --out F.jsonl        the journal to which finished trials are appended
  --resume             continues the journal: its trials are not run again
  --retry-invalid      with --resume: runs invalid trials again
  --concurrency N      trials at the same time (default 8)
  --shard I/N          only this part of the plan
  --only ID            runs this one trial again and describes it. A journal may take the place of the
                       suite: run F.jsonl --only ID
  --record D           records the replies of models in the folder D, one file for each trial
  --replay D           replays the recordings in D without any model: no key and no network is needed. A
                       request that is not recorded ends the run, and the most similar one is shown; a
                       suite whose seed is fresh needs the --seed that was recorded
  --auto D             replays the recordings in D, and calls models for the rest, which it records there
  --max-tokens N       starts no more trials once N tokens were read and written; a shard counts its own
                       only
  --max-usd X          starts no more trials once X US dollars were spent; a shard counts its own only
  --prices F.jsonc     prices of models: { "MODEL": { "input": 1.25, "output": 10 } } in dollars a
                       million tokens
  --request-timeout S  seconds that one attempt of a request may take (default 600)
  --retries N          further attempts of a failed request (default 3); attempts that a rate limit refuses
                       while other requests are in flight do not count, as the run then slows down
  --requests-per-minute N
                       requests to each model that may begin within any 60 seconds
  --tokens-per-minute N
                       tokens that each model may read and write within any 60 seconds

It runs trials and decides nothing: use gate for that. A sequential gate of the suite stops the run once it
has decided. On a terminal a bar shows the progress.

Interrupted (Ctrl-C, SIGTERM), it starts no more trials, gives up those in flight and shows the finished ones;
the same command with --resume continues. A second interrupt ends it at once.

Exit code 0 when every trial that was needed is valid, 2 for bad input, such as a missing recording, 3 when
some trials are invalid or were not run.`;

/** Runs a suite and prints its tables to stdout. */
export async function run(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("run", arguments_, {
    values: [...RUN_VALUES, ...RECORDING_FLAGS, "shard", "only"],
    lists: RUN_LISTS,
    switches: ["resume", "retry-invalid"],
  });
  if (options.operands.length > 1) {
    throw options.error(`it takes one suite file: ${options.operands.length} are given`);
  }
  const path = suitePath(options);
  const only = options.text("only");
  if (only !== undefined) return await replay(path, only, options);
  if (isJournal(path)) throw options.error(`a journal is run with --only ID: ${path} is given`);
  const out = options.text("out") === undefined ? undefined : userPath(options.text("out")!);
  const resume = options.has("resume");
  if (resume && out === undefined) throw options.error("--resume needs --out");
  if (options.has("retry-invalid") && !resume) {
    throw options.error("--retry-invalid needs --resume");
  }
  const connection = connectOptions(options);
  const concurrency = options.integer("concurrency", 1);
  const shardText = options.text("shard");
  const shard = shardText === undefined ? undefined : parseShard(shardText);

  const suite = overrideSuite(readJsonc(path, SUITE), options, path);
  if (options.operands.length === 0) console.error(`Suite ${path}`);
  const resumed = resume ? seedToResume(out!) : undefined;
  const baseline = baselineOfGate(suite.gate, userPath);
  for (const notice of baseline?.notices ?? []) console.error(notice);
  const missing = missingBaseline(suite.gate, baseline);
  if (missing !== undefined) console.error(`No sequential gate can stop this run: ${missing}`);
  const knownSeed = resumed ?? baseline?.plan?.seed;
  const seed = suite.seed === "fresh" ? knownSeed ?? suite.seed : suite.seed;
  if (seed === "fresh" && shard !== undefined) {
    throw options.error('all shards need the same seed and it is "fresh": add --seed N');
  }
  const plan = {
    ...planSuiteFile({ ...suite, seed }, path, { sharded: shard !== undefined }),
    ...defined({ baseURL: connection.baseURL }),
  };
  if (baseline !== undefined) assertComparable(baseline, plan, plan.trials);
  if (plan.skipped > 0) {
    console.error(`Skipped ${plan.skipped} impossible crossings (depth must be below core)`);
  }
  if (seed === "fresh" && plan.resolved.seed !== 0) {
    console.error(`Fresh seed ${plan.resolved.seed}`);
  }
  if (shard !== undefined && plan.gate?.sequential) {
    console.error("A shard cannot stop early: the gate has a fixed size");
  }
  printForecast(plan);

  const progress = new Progress(plan);
  const limiters = new RateLimiters((line) => progress.note(line));
  const sets = plan.callSets ?? [];
  const recordings = openRecordings(options, path, seed);
  await using connections = new Connections({ ...connection, sets, limiters });
  using interrupt = new Interrupt();
  const runOptions: RunOptions = {
    connect: (entry) => connections.model(entry),
    signal: interrupt.signal,
    onTrial: (trial, resumed) => progress.count(trial, resumed),
    resume,
    retryInvalid: options.has("retry-invalid"),
    ...defined({ concurrency, shard, recordings, baseline, journal: out }),
  };
  using running = new Run(plan, runOptions);
  for (const notice of running.notices) console.error(notice);
  running.connect();
  running.open();
  if (out === undefined) console.error("Without --out the trials are not kept");
  if (running.resumed > 0) {
    console.error(`${running.resumed} of ${running.trials.length} trials are in ${out} already`);
  }
  const { finished, spared, beyond } = await finish(running, progress, interrupt.signal);
  const all = running.trials.length;
  const unrun = all - finished.length - spared - beyond;
  const isPartial = interrupt.signal.aborted && unrun > 0;
  if (isPartial) {
    console.log(`Interrupted: figures are of ${finished.length} of ${all} trials\n`);
  }
  if (finished.length > 0) console.log(renderTables(finished, plan.prices));
  limiters.tellWaiting();
  for (const line of recordings?.summary ?? []) console.error(line);
  const invalid = finished.filter(({ outcome }) => outcome === "invalid");
  const { stopped } = running;
  if (spared > 0) console.error(`${spared} trials were not needed: the gate had decided`);
  if (beyond > 0) console.error(`${beyond} trials were not run: the baseline ends before them`);
  if (invalid.length > 0) {
    console.error(`${invalid.length} trials are invalid: infrastructure failed`);
    for (const [reason, count] of invalidReasons(invalid)) console.error(`  ${count} x ${reason}`);
  }
  if (isPartial) {
    console.error(
      out === undefined
        ? "Interrupted: nothing is kept, as it ran without --out"
        : "Interrupted: continue with the same command and --resume",
    );
  }
  if (unrun > 0) {
    console.error(`${unrun} trials were not run${stopped === undefined ? "" : `: ${stopped}`}`);
  }
  if (plan.gate !== undefined && !isPartial) {
    const journal = options.text("out");
    console.error(
      journal === undefined
        ? "The gate of this suite cannot be decided later: keep the trials with --out F.jsonl"
        : shard === undefined
        ? `To decide: deno task toolgate gate ${shellQuote(journal)}`
        : "To decide: deno task toolgate gate, with the journals of all shards",
    );
  }
  if (out !== undefined && finished.length > 0) {
    const journal = options.text("out")!;
    const page = shellQuote(journal.replace(/\.jsonl$/, "") + ".html");
    console.error(
      `To view a report: deno task toolgate report ${shellQuote(journal)} --html ${page}`,
    );
  }
  return invalid.length + unrun > 0 ? 3 : 0;
}

/** Returns the path of the suite or journal given, or of the default suite. */
function suitePath(options: Arguments): string {
  const [file] = options.operands;
  if (file !== undefined) return userPath(file);
  const { protocol, pathname } = new URL("../../fixtures/suites/quick.jsonc", import.meta.url);
  if (protocol !== "file:") throw options.error("it takes a suite file: none is given");
  return decodeURIComponent(pathname);
}

function isJournal(path: string): boolean {
  return path.endsWith(".jsonl");
}

/** Options of whole runs. */
const NOT_WITH_ONLY = ["out", "resume", "retry-invalid", "shard"];
/** Options that a journal's plan has. */
const NOT_WITH_JOURNAL = ["model", "reasoning-effort", "api", "strategy", "perturbation", "seed"];

/** Runs one trial again and describes it on stdout. */
async function replay(path: string, id: string, options: Arguments): Promise<number> {
  const isGiven = (name: string) => options.has(name) || (options.list(name) ?? []).length > 0;
  const conflicting = NOT_WITH_ONLY.find(isGiven);
  if (conflicting !== undefined) {
    throw options.error(
      `--only goes without --${conflicting}: it runs one trial and does not keep it`,
    );
  }
  const inPlan = isJournal(path) ? NOT_WITH_JOURNAL.find(isGiven) : undefined;
  if (inPlan !== undefined) {
    throw options.error(`a journal goes without --${inPlan}: its plan has this setting`);
  }
  const connection = connectOptions(options);
  const plan = isJournal(path)
    ? planOfJournal(path)
    : planSuiteFile(overrideSuite(readJsonc(path, SUITE), options, path), path);
  // A journal must have the trial; for a suite the id may be of another seed.
  const planned = trialToReplay(plan, id, { strict: isJournal(path) });
  // The plan's server is used again, as a local model's prompts and key must not go to another one.
  const baseURL = connection.baseURL ?? plan.baseURL;
  await using connections = new Connections({
    ...connection,
    sets: plan.callSets ?? [],
    limiters: new RateLimiters((line) => console.error(line)),
    ...defined({ baseURL }),
  });
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  // The flag's server replaces the plan's, as in whole runs.
  const hasBaseURL = options.text("base-url") !== undefined;
  const connect: RunOptions["connect"] = ({ baseURL, ...entry }) =>
    connections.model(baseURL === undefined || hasBaseURL ? entry : { ...entry, baseURL });
  const recordings = openRecordings(options, path, plan.resolved.seed);
  const recordingOptions = recordings === undefined ? {} : { recordings };
  using running = new Run(plan, { connect, signal, only: [planned], ...recordingOptions });
  running.connect();
  try {
    const trial = await running.trial(0);
    if (trial.kind === "needless") throw new Error(`the trial was not run as ${trial.reason}`);
    console.log(describeTrial(trial, { calls: Infinity }));
    for (const line of recordings?.summary ?? []) console.error(line);
    return trial.outcome === "invalid" ? 3 : 0;
  } catch (error) {
    if (!signal.aborted || error instanceof InputError) throw error;
    console.error("Interrupted: the trial did not finish");
    return 3;
  }
}
