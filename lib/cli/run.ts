/**
 * `run`: runs the trials of a suite file.
 * @module
 */

import { commandLine } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { defined, listText } from "../base/json.ts";
import { commonKinds } from "../base/text_kind.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import { hasJobSummary, summarizeJob } from "../reports/job_summary.ts";
import { successToMarkdown } from "../reports/markdown.ts";
import { makeReport } from "../reports/report.ts";
import { renderTables } from "../reports/terminal.ts";
import { deriveJournals } from "../runs/derived.ts";
import { readPlanLine } from "../runs/journal/journal.ts";
import { flagHelp } from "../runs/flags.ts";
import type { FlagsOf } from "../runs/options.ts";
import { connectPlanned, type JournalServers, planOfJournal, trialToRerun } from "../runs/rerun.ts";
import type { RunFault } from "../runs/run.ts";
import {
  agentOf,
  type PlannedRun,
  planRun,
  planWithSets,
  printForecast,
  RunSession,
  settingsOf,
} from "../runs/session.ts";
import { describeTrial } from "../reports/story.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { variantName } from "../gate/variant.ts";
import type { Trial } from "../trials/trial.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import { type Arguments, userPath } from "./arguments.ts";
import { keepForAgent } from "./permissions.ts";
import { Progress } from "./progress.ts";
import { finish, Interrupt, PRINTER, runArguments, runFlags, suiteRequest } from "./running.ts";

export const RUN_HELP =
  `Without a file it runs the suite quick, which needs no key and takes seconds.

${flagHelp("run")}

It runs trials and decides nothing: use gate for that. A sequential gate of the suite stops the run once it
has decided. On a terminal a bar shows the progress, elsewhere a line every 10 seconds.

Interrupted (Ctrl-C, SIGTERM), it starts no more trials, gives up those in flight and shows the finished ones;
the same command with --resume continues. A second interrupt ends it at once.

A wave (--wave) leaves out what earlier ones have decided, by their journals (--after); gate says after each
wave whether another one is needed.

Exit code 0 when every trial that was needed is valid, 2 for bad input, such as a missing recording, 3 when
some trials are invalid or were not run.`;

/** Runs a suite and prints its tables to stdout. */
export async function run(arguments_: readonly string[]): Promise<number> {
  const options = runArguments("run", arguments_);
  if (options.operands.length > 1) {
    throw options.error(`it takes one suite file: ${options.operands.length} are given`);
  }
  const path = suitePath(options);
  const flags = runFlags("run", options);
  if (flags.only !== undefined) return await rerun(path, flags.only, options);
  if (flags.story !== undefined) {
    throw options.error("--story goes with --only: a whole run tells no stories");
  }
  if (isJournal(path)) throw options.error(`a journal is run with --only ID: ${path} is given`);
  const request = suiteRequest(path, flags);
  if (options.operands.length === 0) console.error(`Suite ${path}`);
  // Notes wait until it is clear that the suite can be run: a refusal stands alone.
  const said: (() => void)[] = [];
  const later = (say: (line: string) => void) => (line: string) => void said.push(() => say(line));
  const { note, warn, ...prefixes } = request.printer;
  const printer = { ...prefixes, note: later(note), warn: later(warn) };
  const planned = planRun({ ...request, printer });
  const { plan, missing, wave } = planned;
  const { journal: out, shard } = flags;
  if (wave?.earlier !== undefined) {
    // What they decide must not rest on a wrong line.
    await deriveJournals(wave.earlier);
    const over = wave.over ?? wave.stopped;
    if (over !== undefined) {
      console.error(`Nothing is left to run in wave ${wave.wave.index}/${wave.wave.of}: ${over}`);
      console.error(gateOfWaves());
      return wave.stopped === undefined ? 0 : 3;
    }
  }
  const progress = new Progress(plan);
  const limiters = new RateLimiters((line) => progress.note(line));
  const session = new RunSession(planned, limiters);
  const { recordings } = session;
  using interrupt = new Interrupt();
  using running = session.begin({
    signal: interrupt.signal,
    onTrial: (trial, resumed) => progress.count(trial, resumed),
  });
  for (const say of said) say();
  if (missing !== undefined) {
    const effect = plan.gate?.sequential
      ? "No sequential gate can stop this run"
      : "The gate cannot decide";
    console.error(`${effect}: ${missing}`);
  }
  if (shard !== undefined && wave === undefined && plan.gate?.sequential) {
    console.error(
      "A shard cannot stop early, and the gate has a fixed size: with --wave it stops after a wave",
    );
  }
  printForecast(plan, PRINTER);
  if (recordings !== undefined) console.error(recordings.notice);
  running.open();
  if (out === undefined) console.error("Without --out the trials are not kept");
  if (running.resumed > 0) {
    console.error(`${running.resumed} of ${running.trials.length} trials are in ${out} already`);
    // They may stop a sequential gate, so that a wrong one must not cost anything.
    await deriveJournals({ paths: [flags.journal!], plan: readPlanLine(flags.journal!) });
  }
  const failures = new FailedTrials();
  const journal = options.text("out");
  const again = journal === undefined
    ? "the same command with"
    : plan.resolved.agent === undefined
    ? commandLine(`run ${shellQuote(journal)}`)
    // A journal starts no program.
    : commandLine(["run", shellQuote(options.operands[0]!), ...planFlags(options)].join(" "));
  const see = (trial: Trial) => {
    if (isFailed(trial)) failures.add(trial, `${again} --only ${shellQuote(trial.id)}`);
  };
  const { finished: ended, spared, decided, beyond } = await finish(
    running,
    progress,
    interrupt.signal,
    see,
  );
  const { fault } = running;
  // The trial that showed it is not kept; those of other models are.
  const finished = fault?.atFirst
    ? ended.filter(({ permanent }) => permanent === undefined)
    : ended;
  if (fault?.atFirst && finished.length === 0) {
    console.error(fault.reason);
    return exitCodeOfFault(fault);
  }
  const all = running.trials.length;
  const unrun = all - finished.length - spared - beyond;
  const isPartial = interrupt.signal.aborted && unrun > 0;
  if (isPartial) {
    console.log(`Interrupted: figures are of ${finished.length} of ${all} trials\n`);
  }
  if (finished.length > 0) {
    const told = failures.lines(
      false,
      journal === undefined ? "--out keeps all" : `in ${journal}`,
    );
    if (told.length > 0) console.log(`${told.join("\n")}\n`);
    console.log(renderTables(finished, { prices: plan.prices, width: commandWidth() }));
    if (hasJobSummary()) {
      const { suite, resolved: { seed }, trials: { length: planned } } = plan;
      const report = makeReport(finished, { suite, seed, planned });
      summarizeJob((limit) => successToMarkdown(report, failures, { limit }));
    }
  }
  limiters.tellWaiting();
  for (const line of recordings?.summary ?? []) console.error(line);
  const invalid = finished.filter(({ outcome }) => outcome === "invalid");
  const { stopped } = running;
  if (spared > 0) {
    // One of several may have decided, while the run goes on for the others.
    const areSeveral = new Set(running.trials.map(variantName)).size > 1;
    const which = areSeveral ? listText(decided, MAX_DECIDED) : "the gate had decided";
    console.error(`${spared} trials were not needed: ${which}`);
  }
  if (beyond > 0) console.error(`${beyond} trials were not run: the baseline ends before them`);
  if (invalid.length > 0) {
    console.error(`${invalid.length} trials are invalid: infrastructure failed`);
    const reasons = invalid.map(({ reason }) => reason ?? "unknown");
    for (const { text, count } of commonKinds(reasons)) console.error(`  ${count} x ${text}`);
  }
  if (isPartial) {
    console.error(
      out === undefined
        ? "Interrupted: nothing is kept, as it ran without --out"
        : "Interrupted: continue with the same command and --resume",
    );
  }
  const why = fault?.reason ?? stopped;
  if (unrun > 0) {
    console.error(`${unrun} trials were not run${why === undefined ? "" : `: ${why}`}`);
  }
  if (plan.gate !== undefined && !isPartial) {
    console.error(
      journal === undefined
        ? "The gate of this suite cannot be decided later: keep the trials with --out F.jsonl"
        : wave !== undefined
        ? gateOfWaves()
        : shard === undefined
        ? `To decide: ${commandLine(`gate ${shellQuote(journal)}`)}`
        : `To decide: ${commandLine("gate")}, with the journals of all shards`,
    );
  }
  if (out !== undefined && finished.length > 0) {
    const page = shellQuote(journal!.replace(/\.jsonl$/, "") + ".html");
    const line = commandLine(`report ${shellQuote(journal!)} --html ${page}`);
    console.error(`To view a report: ${line}`);
  }
  if (fault?.atFirst) return exitCodeOfFault(fault);
  return invalid.length + unrun > 0 ? 3 : 0;
}

/** At most this many decisions are named as the reasons why trials were not needed. */
const MAX_DECIDED = 5;

/** Says what decides over a run in waves. */
function gateOfWaves(): string {
  return `To decide: ${commandLine("gate")}, with the journals of all shards and waves so far`;
}

/** Returns 3 if the server may only be down, or the account at its limit; 2 if something named is wrong. */
function exitCodeOfFault({ permanent }: RunFault): 2 | 3 {
  return permanent === "refused" || permanent === "credit" || permanent === "limit" ? 3 : 2;
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
const NOT_WITH_ONLY = ["out", "resume", "retry-invalid", "shard", "wave", "after"];
/** Options that a journal's plan has. */
const NOT_WITH_JOURNAL = [
  ...["model", "reasoning-effort", "temperature", "top-p", "api", "strategy", "perturbation"],
  "seed",
];

/** The flags that a command line was given for its plan, which a trial of the suite needs to be run again. */
function planFlags(options: Arguments): string[] {
  // A trial's id has its seed.
  return [...NOT_WITH_JOURNAL, "base-url"].filter((name) => name !== "seed").flatMap((name) =>
    options.list(name).map((value) => `--${name}=${shellQuote(value)}`)
  );
}

/** Runs one trial again and describes it on stdout. */
async function rerun(path: string, id: string, options: Arguments): Promise<number> {
  const isGiven = (name: string) => options.has(name) || options.list(name).length > 0;
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
  const flags = runFlags("run", options);
  const planned = isJournal(path) ? journalRun(path, flags) : suiteRun(path, flags);
  const { plan } = planned;
  // A journal must have the trial; for a suite the id may be of another seed.
  const trial = trialToRerun(plan, id, { strict: isJournal(path) });
  const session = new RunSession(
    planned,
    new RateLimiters((line) => console.error(line)),
  );
  const { recordings } = session;
  if (recordings !== undefined) console.error(recordings.notice);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const servers: JournalServers = {
    ...{ path, planned: plan.baseURL, named: flags.baseURL },
    note: (line) => console.error(line),
  };
  using running = session.begin({
    signal,
    only: [trial],
    ...(isJournal(path)
      ? { connect: (entry) => connectPlanned(entry, session.connections, servers) }
      : {}),
  });
  try {
    const trial = await running.trial(0);
    if (trial.kind === "needless") throw new Error(`the trial was not run as ${trial.reason}`);
    console.log(describeTrial(trial, defined({ story: flags.story })));
    for (const line of recordings?.summary ?? []) console.error(line);
    return trial.outcome === "invalid" ? 3 : 0;
  } catch (error) {
    if (!signal.aborted || error instanceof InputError) throw error;
    console.error("Interrupted: the trial did not finish");
    return 3;
  }
}

/** The plan of a suite, to run one trial of it: nothing is decided, so that no baseline is read. */
function suiteRun(path: string, flags: FlagsOf<"run">): PlannedRun {
  const request = suiteRequest(path, flags);
  const { settings } = request;
  const plan = planWithSets(request.suite, request);
  return { subject: path, plan, settings, agent: agentOf(request) };
}

/** The plan of a journal, to run one of its trials again. */
function journalRun(path: string, { prices: _, ...flags }: FlagsOf<"run">): PlannedRun {
  // No program that a journal names is run.
  keepForAgent({});
  return {
    subject: path,
    plan: planOfJournal(path),
    settings: settingsOf({}, flags, () => userPath("recordings")),
  };
}
