/**
 * `gate`: decides over the trials of journals.
 * @module
 */

import { baselineOfGate, missingBaseline, readBaseline } from "../runs/baseline.ts";
import { recordBaseline, recordOf, type RunRecord, sealed } from "../runs/record.ts";
import { addRecord, attemptsOf, type History, isPartOf } from "../runs/history/history.ts";
import { commandLine, isOwnPath, userPath } from "../base/command_line.ts";
import { attempt, cannot, inOneLine, InputError } from "../base/errors.ts";
import { shellQuote } from "../base/shell_quote.ts";
import {
  type CompletePolicy,
  type CompleteUpgradePolicy,
  isUpgrade,
  readPolicy,
  USUAL_MARGIN,
} from "../gate/policy.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { wrapText } from "../base/wrap.ts";
import { canonicalJson, printable, printableJson } from "../base/json.ts";
import { gateToMarkdown } from "../reports/markdown.ts";
import { renderGate, renderVerdicts } from "../reports/terminal.ts";
import { withoutShifts } from "../gate/ceilings.ts";
import { type GateReport, type Remark, reportProblem, withAttempts } from "../gate/gate_report.ts";
import { playSample } from "../runs/play_again.ts";
import {
  decideByHistory,
  decideResults,
  type DecisionOptions,
  undecidableReason,
} from "../runs/decide_results.ts";
import { type JournalFile, suiteOf } from "../runs/journal/journal.ts";
import { BrokenJournalError } from "../runs/journal/lines.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { annotationLine, summarizeJob } from "../reports/job_summary.ts";
import { Report } from "../reports/report.ts";
import { type FlagValues, number, wholeFrom } from "../runs/flags.ts";
import { historyIn, journalsBySuite, journalsOf, readJournals, RUN } from "./journals.ts";
import { command, type Rest } from "./command.ts";

const OPTIONS = {
  successRate: { value: "R", read: number, help: "the success rate required, above 0, at most 1" },
  baseline: {
    value: "F",
    help:
      "in place of a success rate: no worse than these results on the same graphs; a journal, " +
      "or a file written by accept",
  },
  history: {
    value: "DIR",
    several: true,
    help: "in place of a success rate: no worse than the anchor of a history, nor than its last " +
      "release, on the same graphs or on fresh ones; may be given several times",
  },
  every: { value: "E", read: number, help: "the rate that each case of own tests must reach" },
  margin: {
    value: "M",
    read: number,
    help: `how far below it is still good enough; default ${USUAL_MARGIN}`,
  },
  attempts: {
    value: "K",
    read: wholeFrom(1, 1_000_000),
    help:
      "how many runs of this gate and candidate there were, with this one: the verdict says at most how often " +
      "one of them passes wrongly",
  },
  confidence: { value: "C", read: number, help: "confidence of each bound; default 0.95" },
  coverage: {
    value: "C",
    read: number,
    help: "share of trials valid at the first go; default 0.95",
  },
  requireWhole: {
    help:
      "makes a run invalid that was resumed or has replies of several runs: failed trials may have been cut off",
  },
  unchecked: {
    help:
      "decides over journals without checksums, such as those of other tools: no change in them is found",
  },
  json: { help: "prints verdicts and comparisons as JSON: an object for each suite" },
} as const;

/** The options of the command, and its errors. */
type Options = FlagValues<typeof OPTIONS> & Pick<Rest, "error">;

/** Prints tables and verdicts to stdout. */
export const gate = command({
  usage: "F.jsonl|FOLDER [OPTIONS]",
  takes: RUN,
  about:
    `A folder stands for the journals in it: the shards of one run, those of all waves so far, or those of the
test files of one suite; of several suites each is decided.
Without options the gate is the one that the plan declares; options override it. A sequential gate cannot
be overridden: its run stopped by its rule.`,
  options: OPTIONS,
  notes: `Exit codes:
  0  pass
  1  fail
  2  bad input
  3  undecided or invalid
  4  continue: the run in waves needs its next wave, also where another model has failed already
Of several suites: 4 if one must go on and none ends with 2 or 3; else the first of 1, 2, 3 that one ends with.`,
  // It writes the job summary, where there is one.
  needs: ["read", "write"],
  rules: [
    [["history"], "goes without", ["baseline"], "they are two gates"],
    [["attempts"], "goes without", ["history"], "a history counts its runs itself"],
    [["success-rate"], "goes without", ["baseline", "history"], "they are two gates"],
  ],
  async run(given, { operands, error }) {
    const options = { ...given, error };
    const journals = journalsOf(operands);
    policyOptions(options);
    const suites = journalsBySuite(journals);
    if (suites.length === 1) return await decide(journals, options, operands[0]!);
    const codes: number[] = [];
    for (const { suite, journals } of suites) {
      if (!options.json) console.log(`${codes.length > 0 ? "\n" : ""}suite ${suite}\n`);
      try {
        codes.push(await decide(journals, options, operands[0]!));
      } catch (error) {
        // What keeps one suite from being decided must not hide the verdict of another one.
        if (!(error instanceof InputError)) throw error;
        console.error(`suite ${suite}: ${error.message}`);
        codes.push(2);
      }
    }
    const goesOn = codes.includes(4) && !codes.includes(2) && !codes.includes(3);
    return goesOn ? 4 : WORST_FIRST.find((code) => codes.includes(code)) ?? 3;
  },
});

/** The exit codes of several suites: a gate that failed is worse than one that could not decide. */
const WORST_FIRST = [1, 2, 3, 0];

/** Decides over the journals of one suite in `given`. */
async function decide(
  journals: readonly string[],
  options: Options,
  given: string,
): Promise<number> {
  const asJson = options.json === true;
  const file = userPath(journals[0]!);
  let files: JournalFile[];
  let results: Results;
  try {
    files = readJournals(journals, options.unchecked);
    results = readResults(journals.map(userPath), files);
  } catch (error) {
    if (!(error instanceof BrokenJournalError)) throw error;
    return printProblem(attempt(() => suiteOf(file)) ?? file, error.message, { asJson, file });
  }
  for (const notice of results.notices) console.error(notice);
  const problem = undecidableReason(results);
  if (problem !== undefined) {
    if (problem === results.missing) {
      console.error(
        "Give the folder with the journals of all shards; a lost shard can be run again with --shard",
      );
    }
    if (options.history) addCandidate(results, historyIn(options.history));
    return printProblem(results.suite, problem, { asJson, file });
  }
  for (const line of await playSample(files)) console.error(line);
  const policy = policyOf(options, results);
  const decision = await decideBy(policy, results, options, {
    ...{ journal: journals[0]!, given },
    remarks: gateRemarks(results, policy),
  });
  if (decision.verdicts.length === 0 && decision.text === undefined) {
    throw options.error("there is nothing to compare with the baseline but the baseline itself");
  }
  const { suite, trials, rule } = results;
  const report = new Report(trials, {
    ...{ suite, gates: [decision], compared: { anytime: rule !== undefined } },
  });
  const text = renderGate(report, commandWidth());
  const exitCode = printDecision(decision, { asJson, text, file });
  record(results, policy, decision, given);
  return exitCode;
}

/** Decides against the baseline of the policy, or against the releases of a history. */
async function decideBy(
  policy: CompletePolicy,
  results: Results,
  options: Options,
  others: Pick<DecisionOptions, "journal" | "remarks"> & { readonly given: string },
): Promise<GateReport> {
  const { history: folders, attempts } = options;
  if (folders) {
    const history = historyIn(folders);
    for (const line of history.leftOut) console.error(line);
    const decision = await decideByHistory(results, policy, history, others);
    const own = addCandidate(results, history);
    return own === undefined
      ? decision
      : withAttempts(decision, policy, (one) => attemptsOf(history, own, one), "in the history");
  }
  const baseline = baselineOf(policy, options, others.given);
  for (const notice of baseline?.notices ?? []) console.error(notice);
  const decision = decideResults(results, policy, { ...others, baseline });
  return attempts === undefined
    ? decision
    : withAttempts(decision, policy, () => ({ run: attempts, of: attempts }), "(--attempts)");
}

/**
 * Adds the record of a run to the first folder of a history, which counts the runs of a gate, and returns it; says so if
 * it cannot be added.
 */
function addCandidate(results: Results, history: History): RunRecord | undefined {
  const shown = history.folders[0]!;
  try {
    const { checksum: _, ...record } = recordOf(results, results.paths.join(", "));
    const candidate = sealed({ ...record, candidate: true as const });
    if (!history.records.some((one) => isPartOf(candidate, one))) {
      const { path } = addRecord({ path: userPath(shown), shown }, candidate, history);
      console.error(`Recorded in ${path}, so that later runs count it`);
    }
    return candidate;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    console.error(`Later runs will not count this one: ${inOneLine(error.message)}`);
  }
}

/** Writes the baseline that a run names which began without one, if its own gate has passed. */
function record(
  results: Results,
  policy: CompletePolicy,
  { verdict }: GateReport,
  given: string,
): void {
  const records = results.plan.records;
  if (records === undefined || verdict !== "pass") return;
  if (canonicalJson(policy) !== canonicalJson(results.gate)) {
    console.error(
      `The baseline ${printable(records)} is not written: the plan declares another gate`,
    );
    return;
  }
  // Anyone may have written the journal, so that it names a file of this folder and nothing else.
  const outcome = isOwnPath(records) && records.endsWith(".json")
    ? recordBaseline(results, records, userPath)
    : `the baseline is not written, as a journal may only name one in this folder: ${
      commandLine(`accept ${shellQuote(given)} --out FILE`)
    }`;
  console.error(outcome.charAt(0).toUpperCase() + outcome.slice(1));
}

/** Remarks on what a verdict does not rest on: the gate that the plan declares. */
function gateRemarks(
  { gate: declared }: Results,
  policy: CompletePolicy,
): Remark[] {
  if (declared === undefined) return [];
  const names = [...new Set([...Object.keys(declared), ...Object.keys(policy)])];
  const value = (gate: CompletePolicy, name: string) => canonicalJson(Reflect.get(gate, name));
  const other = names.filter((name) => value(declared, name) !== value(policy, name));
  const words = other.flatMap((name) => {
    const before = value(declared, name);
    return before === undefined ? [] : [`${name} ${printable(before, 200)}`];
  });
  return words.length === 0 ? [] : [{
    about: "gate",
    text: `The plan declares ${words.join(", ")}, which the options of this command replace`,
  }];
}

/** Prints that no decision is possible, and returns the exit code. */
function printProblem(
  suite: string,
  problem: string,
  where: { readonly asJson: boolean; readonly file: string },
): number {
  const decision = reportProblem(suite, problem);
  return printDecision(decision, {
    ...where,
    text: wrapText(renderVerdicts(decision), commandWidth()),
  });
}

/** Prints a decision, and returns its exit code. */
function printDecision(
  decision: GateReport,
  { asJson, text, file }: {
    readonly asJson: boolean;
    readonly text: string;
    /** The first journal. */
    readonly file: string;
  },
): number {
  console.log(asJson ? printableJson(decision, 2) : text);
  // A run that goes on has done nothing wrong.
  if (decision.exitCode !== 0 && decision.verdict !== "continue") {
    const title = `${decision.suite}: ${decision.verdict.toUpperCase()}`;
    const line = annotationLine({ title, message: renderVerdicts(decision), file });
    // JSON on stdout stays JSON; GitHub reads both.
    if (line !== undefined) console.error(line);
  }
  summarizeJob((limit) => gateToMarkdown(decision, { limit }));
  return decision.exitCode;
}

/** Reads the baseline; its path is resolved in the user's folder, also that of the plan. */
function baselineOf(
  policy: CompletePolicy,
  { baseline: file, unchecked }: Options,
  given: string,
) {
  if (file !== undefined) return readBaseline(userPath(file), { unchecked });
  const baseline = baselineOfGate(policy, userPath);
  const missing = missingBaseline(policy, baseline, userPath);
  if (missing !== undefined) throw cannot(`decide over ${given}`, missing);
  return baseline;
}

/** Returns the policy of the options. They are checked first, so that an error in them is not a verdict. */
function policyOptions(
  { successRate, every, margin, confidence, coverage, requireWhole }: Options,
): Partial<CompletePolicy> {
  // JSON leaves out what is undefined.
  const set = JSON.parse(
    JSON.stringify({ successRate, every, margin, confidence, coverage, requireWhole }),
  );
  if (successRate !== undefined) readPolicy(set, OPTIONS_SOURCE);
  return set;
}

/** What of a gate may be chosen once a sequential run has stopped. */
const AFTERWARDS = ["baseline", "requireWhole"];

const OPTIONS_SOURCE = "the gate with the options given";

function policyOf(options: Options, { gate: declared, rule }: Results): CompletePolicy {
  const { successRate, every, history: [history] = [] } = options;
  const baseline = options.baseline ?? history;
  // Other settings of the plan's baseline, such as the model, hold for this file as well.
  const choice = history === undefined && declared !== undefined && isUpgrade(declared)
    ? declared.baseline
    : {};
  const overrides = {
    ...policyOptions(options),
    ...(baseline === undefined ? {} : { baseline: { ...choice, file: baseline } }),
  };
  if ([declared, successRate, baseline, every].every((one) => one === undefined)) {
    throw options.error(
      "the plan declares no gate, so --success-rate, --baseline or --history is needed, or --every for " +
        "cases of own tests",
    );
  }
  if (rule !== undefined && Object.keys(overrides).some((name) => !AFTERWARDS.includes(name))) {
    throw options.error(
      "the plan's gate is sequential: its run stopped by its rule, which holds for no other gate",
    );
  }
  if (rule !== undefined && baseline !== undefined && !isUpgrade(declared!)) {
    throw options.error(
      "the plan's gate is sequential and against a success rate: its run stopped too early for " +
        (history === undefined ? "--baseline" : "--history"),
    );
  }
  const base = declared === undefined ? {} : withoutOtherKind(declared, successRate, baseline);
  return readPolicy(
    rule === undefined ? withoutSize({ ...base, ...overrides }) : { ...base, ...overrides },
    OPTIONS_SOURCE,
  );
}

/**
 * The expected discordance says how many graphs a run needs, and must be above the margin. Over results of a fixed
 * size it decides nothing, so that it must not keep them from a wide margin either.
 */
function withoutSize(gate: Partial<CompleteUpgradePolicy>): object {
  const { baseline, margin = 0, discordance = 0.2 } = gate;
  return baseline === undefined || discordance > margin ? gate : { ...gate, discordance: 1 };
}

/** Returns the gate of the plan, without settings of the other kind of gate. */
function withoutOtherKind(
  declared: CompletePolicy,
  successRate: number | undefined,
  baseline: string | undefined,
): object {
  if (isUpgrade(declared) && successRate !== undefined) {
    const { baseline: _, discordance: __, ...kept } = declared;
    return { ...kept, atMost: withoutShifts(declared.atMost) };
  }
  if (!isUpgrade(declared) && baseline !== undefined) {
    const { successRate: _, ...kept } = declared;
    return kept;
  }
  return declared;
}
