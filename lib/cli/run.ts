/**
 * `run`: runs the trials of a suite file.
 * @module
 */

import { commandLine, userPath } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { listText } from "../base/json.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { assertServable } from "../base/page_server.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { commonKinds } from "../base/text_kind.ts";
import { variantName } from "../gate/variant.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import { hasJobSummary, summarizeJob } from "../reports/job_summary.ts";
import { successToMarkdown } from "../reports/markdown.ts";
import { LivePage } from "../reports/live.ts";
import type { Report } from "../reports/report.ts";
import { reportOfRun } from "../reports/run_report.ts";
import { describeTrial } from "../reports/story.ts";
import { renderTables } from "../reports/terminal.ts";
import { flagsAt, type FlagsOf } from "../runs/options.ts";
import { connectPlanned, planOfJournal, trialToRerun } from "../runs/rerun.ts";
import type { RunFault } from "../runs/run.ts";
import {
  agentOf,
  type PlannedRun,
  planRun,
  planWithSets,
  RunSession,
  settingsOf,
} from "../runs/session.ts";
import type { Trial } from "../trials/trial.ts";
import { collect, givenIn, reportOf } from "./collected.ts";
import { command, keepForAgent, type Rest } from "./command.ts";
import { Interrupt, runPlanned, suiteRequest, withUserPaths } from "./running.ts";

type Flags = FlagsOf<"run">;

const isJournal = (path = ""): boolean => path.endsWith(".jsonl");

/** The options that a journal's plan has. */
const PLANNED: readonly (keyof Flags)[] = [
  ...[
    "models",
    "sets",
    "judge",
    "router",
    "reasoningEffort",
    "temperature",
    "topP",
    "api",
  ] as const,
  ...["strategies", "perturbations", "seed", "pair"] as const,
];

/** Runs a suite, or one trial again, and prints tables to stdout. */
export const run = command({
  usage: "[SUITE.jsonc] [OPTIONS]",
  takes: ["one suite file", 0, 1],
  about: "Without a file it runs the suite quick, which needs no key and takes seconds.",
  flags: flagsAt("run"),
  notes:
    `It runs trials and decides nothing: use gate for that. A sequential gate of the suite stops the run once it
has decided. Interrupted (Ctrl-C, SIGTERM), it starts no more trials, gives up those in flight and shows the
finished ones; the same command with --resume continues. A second interrupt ends it at once.

Exit code 0 when every trial that was needed is valid, 2 for bad input, such as a missing recording, 3 when
some trials are invalid or were not run.`,
  needs: ({ replay, journal, record, auto, serve }) => [
    "read",
    "agent",
    ...replay === undefined || serve ? ["net" as const] : [],
    ...(journal ?? record ?? auto) !== undefined || hasJobSummary() ? ["write" as const] : [],
  ],
  rules: [
    [
      ["only"],
      "goes without",
      ["out", "resume", "retry-invalid", "shard", "wave", "serve"],
      "it runs one trial and does not keep it",
    ],
    [["story"], "goes with", ["only"], "it describes one trial"],
    [({ journal }) => journal?.endsWith("/"), "--out must name a file, and it is a folder"],
    [
      ({ only }, { operands: [file] }) => isJournal(file) && only === undefined,
      "a journal is run with --only ID, and a suite as a whole",
    ],
    [
      (given, { operands: [file] }) =>
        isJournal(file) && PLANNED.some((name) => given[name] !== undefined),
      "a journal cannot be used with --model, --seed and other options of its plan",
    ],
  ],
  run(given, { operands: [file], error }) {
    if (given.serve) assertServable();
    const path = file === undefined ? quickSuite(error) : userPath(file);
    if (given.only !== undefined) return rerun(path, given.only, given);
    if (file === undefined) console.error(`Suite ${path}`);
    return runSuite(path, given, error);
  },
});

/** Returns the report of a journal, with the verdict of its gate. */
function reportOfJournal(journal: string, error: Rest["error"]): Report {
  const given = givenIn([journal], error);
  return reportOf(collect(given, {}), given, { error });
}

/** Returns the path of the suite that is run without a file. */
function quickSuite(error: Rest["error"]): string {
  const { protocol, pathname } = new URL("../../fixtures/suites/quick.jsonc", import.meta.url);
  if (protocol !== "file:") throw error("it takes a suite file: none is given");
  return decodeURIComponent(pathname);
}

async function runSuite(path: string, given: Flags, error: Rest["error"]): Promise<number> {
  const flags = withUserPaths(given);
  // Notes wait until it is clear that the suite can be run: a refusal stands alone.
  const said: string[] = [];
  const planned = planRun(suiteRequest(path, flags, (line) => void said.push(line)));
  const { plan, missing, wave } = planned;
  if (wave?.earlier !== undefined) {
    const over = wave.over ?? wave.stopped;
    if (over !== undefined) {
      console.error(`Nothing is left to run in wave ${wave.wave.index}/${wave.wave.of}: ${over}`);
      console.error(gateOfWaves());
      return wave.stopped === undefined ? 0 : 3;
    }
  }
  if (missing !== undefined) {
    const effect = plan.gate?.sequential
      ? "The sequential gate cannot stop this run"
      : "The gate cannot decide";
    said.push(`${effect}: ${missing}`);
  }
  if (flags.shard !== undefined && wave === undefined && plan.gate?.sequential) {
    said.push(
      "A shard cannot stop early: the gate has a fixed size. With --wave it can stop after each wave",
    );
  }
  const failures = new FailedTrials();
  const { journal } = given;
  const again = journal === undefined
    ? "the same command with"
    // A journal starts no program.
    : plan.resolved.agent !== undefined
    ? "the same command, without --out, with"
    : commandLine(`run ${shellQuote(journal)}`);
  const rerun = ({ id }: Trial) => `${again} --only ${shellQuote(id)}`;
  let live: LivePage | undefined;
  await using _serving = { [Symbol.asyncDispose]: async () => await live?.[Symbol.asyncDispose]() };
  const ended = await runPlanned(planned, {
    begun: () => said.forEach((line) => console.error(line)),
    async opened({ resumed, trials }) {
      if (given.serve) {
        const { suite, prices } = plan;
        live = new LivePage({ suite, prices, planned: trials, rerun });
        console.error(`Live report: ${await live.serve()}`);
      }
      if (journal === undefined) console.error("Without --out the trials are not kept");
      if (resumed === 0) return;
      console.error(`${resumed} of ${trials.length} trials are in ${flags.journal!} already`);
    },
    see(trial) {
      if (isFailed(trial)) failures.add(trial, rerun(trial));
    },
    onResult: (result, summary) => live?.see(result, summary),
  });
  const { fault, all, spared, beyond } = ended;
  // The trial that showed it is not kept; those of other models are.
  const finished = fault?.atFirst
    ? ended.finished.filter(({ permanent }) => permanent === undefined)
    : ended.finished;
  if (fault?.atFirst && finished.length === 0) {
    console.error(fault.reason);
    return exitCodeOfFault(fault);
  }
  const unrun = all - finished.length - spared - beyond;
  const isPartial = ended.isInterrupted && unrun > 0;
  if (isPartial) console.log(`Interrupted: figures are of ${finished.length} of ${all} trials\n`);
  const why = fault?.reason ?? ended.stopped;
  // Who cuts a run short that is watched has seen its counts: its page gets no rates.
  const { report } = reportOfRun(planned, finished, { decided: spared > 0, stopped: why });
  if (live !== undefined && unrun === 0) {
    const isPart = flags.shard !== undefined || wave !== undefined;
    live.end(journal === undefined || isPart ? report : reportOfJournal(journal, error), finished);
  }
  if (finished.length > 0) {
    const told = failures.lines(false, journal === undefined ? "--out keeps all" : `in ${journal}`);
    if (told.length > 0) console.log(`${told.join("\n")}\n`);
    console.log(renderTables(report, commandWidth()));
    summarizeJob((limit) => successToMarkdown(report, failures, { limit }));
  }
  if (spared > 0) {
    // One of several may have decided, while the run goes on for the others.
    const areSeveral = new Set(plan.trials.map(variantName)).size > 1;
    const which = areSeveral ? listText(ended.decided, MAX_DECIDED) : "the gate had decided";
    console.error(`${spared} trials were not needed: ${which}`);
  }
  if (beyond > 0) console.error(`${beyond} trials were not run: the baseline ends before them`);
  const invalid = finished.filter(({ outcome }) => outcome === "invalid");
  if (invalid.length > 0) {
    console.error(`${invalid.length} trials are invalid: infrastructure failed`);
    const reasons = invalid.map(({ reason }) => reason ?? "unknown");
    for (const { text, count } of commonKinds(reasons)) console.error(`  ${count} x ${text}`);
  }
  if (isPartial) {
    console.error(
      journal === undefined
        ? "Interrupted: nothing is kept, as it ran without --out"
        : "Interrupted: continue with the same command and --resume",
    );
  }
  if (unrun > 0) {
    console.error(`${unrun} trials were not run${why === undefined ? "" : `: ${why}`}`);
  }
  if (plan.gate !== undefined && !isPartial) {
    console.error(
      journal === undefined
        ? "The gate of this suite cannot be decided later: keep the trials with --out F.jsonl"
        : wave !== undefined
        ? gateOfWaves()
        : flags.shard === undefined
        ? `To decide: ${commandLine(`gate ${shellQuote(journal)}`)}`
        : `To decide: ${commandLine("gate")}, with the folder of the journals of all shards`,
    );
  }
  if (journal !== undefined && finished.length > 0) {
    const page = shellQuote(journal.replace(/\.jsonl$/, "") + ".html");
    const line = commandLine(`report ${shellQuote(journal)} --html ${page}`);
    console.error(`To view a report: ${line}`);
  }
  if (live !== undefined) {
    console.error("The live report ends here; open pages keep what they show");
  }
  if (fault?.atFirst) return exitCodeOfFault(fault);
  return invalid.length + unrun > 0 ? 3 : 0;
}

/** At most this many decisions are named as the reasons why trials were not needed. */
const MAX_DECIDED = 5;

/** Says what decides over a run in waves. */
function gateOfWaves(): string {
  return `To decide: ${
    commandLine("gate")
  }, with the folder of the journals of all shards and waves so far`;
}

/** Returns 3 if the server may only be down, or the account at its limit; 2 if something named is wrong. */
function exitCodeOfFault({ permanent }: RunFault): 2 | 3 {
  return permanent === "refused" || permanent === "credit" || permanent === "limit" ? 3 : 2;
}

/** Runs one trial again and describes it on stdout. */
async function rerun(path: string, id: string, given: Flags): Promise<number> {
  const flags = withUserPaths(given);
  const planned = isJournal(path) ? journalRun(path, flags) : suiteRun(path, flags);
  const { plan } = planned;
  // A journal must have the trial; for a suite the id may be of another seed.
  const trial = trialToRerun(plan, id, { strict: isJournal(path) });
  const note = (line: string) => console.error(line);
  const session = new RunSession(planned, new RateLimiters(note));
  const { recordings } = session;
  if (recordings !== undefined) note(recordings.notice);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const servers = { path, planned: plan.baseURL, named: flags.baseURL, note };
  using running = session.begin({
    signal,
    only: [trial],
    ...isJournal(path)
      ? { connect: (entry) => connectPlanned(entry, session.connections, servers) }
      : {},
  });
  try {
    const trial = await running.trial(0);
    if (trial.kind === "needless") throw new Error(`the trial was not run as ${trial.reason}`);
    console.log(describeTrial(trial, { story: flags.story }));
    for (const line of recordings?.summary ?? []) note(line);
    return trial.outcome === "invalid" ? 3 : 0;
  } catch (error) {
    if (!signal.aborted || error instanceof InputError) throw error;
    note("Interrupted: the trial did not finish");
    return 3;
  }
}

/** The plan of a suite, to run one trial of it: nothing is decided, so that no baseline is read. */
function suiteRun(path: string, flags: Flags): PlannedRun {
  const request = suiteRequest(path, flags);
  const { settings } = request;
  return {
    subject: path,
    plan: planWithSets(request.suite, request),
    settings,
    agent: agentOf(request),
  };
}

/** The plan of a journal, to run one of its trials again. */
function journalRun(path: string, { prices: _, ...flags }: Flags): PlannedRun {
  // No program that a journal names is run.
  keepForAgent({});
  return {
    subject: path,
    plan: planOfJournal(path),
    settings: settingsOf({}, flags, () => userPath("recordings")),
  };
}
