/**
 * `report`: shows tables, figures and trials of journals.
 * @module
 */

import { firstClash } from "../base/clash.ts";
import defer * as fileNames from "node:path";
import { userPath } from "../base/command_line.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { assertReplaceable, resolvePath, writeOutput } from "../base/output_file.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { isLeftOut } from "../gate/compared_cases.ts";
import { type GateReport, reportProblem } from "../gate/gate_report.ts";
import type { Prices } from "../models/prices.ts";
import { assertCsvFolder, writeCsv } from "../reports/csv.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import { writeHtml } from "../reports/html.ts";
import { reportToJson } from "../reports/json.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { missingTrialsNote, Report } from "../reports/report.ts";
import { assertSvgFolder, writeSvgs } from "../reports/svg.ts";
import { renderReport } from "../reports/terminal.ts";
import { type Baseline, baselineOfGate, missingBaseline, readBaseline } from "../runs/baseline.ts";
import {
  type Collection,
  labelled,
  labelledTrial,
  readCollection,
  variantsOfRun,
} from "../runs/journal/collection.ts";
import { type JournalFile, journalTrials } from "../runs/journal/journal.ts";
import type { Results } from "../runs/journal/results.ts";
import { wholeFrom } from "../runs/flags.ts";
import { pricesFor } from "../runs/plan.ts";
import { rerunLine } from "../runs/rerun.ts";
import { allChoices } from "../runs/resolved_suite.ts";
import { assertOtherRun, isBaselineRun } from "../runs/trial_keys.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { Trial } from "../trials/trial.ts";
import { command, type Rest } from "./command.ts";
import {
  journalsBySuite,
  journalsOf,
  PRICES_OPTION,
  readJournals,
  UNCHECKED_OPTION,
} from "./journals.ts";
import { readText } from "../base/input.ts";
import { attempt, InputError } from "../base/errors.ts";
import type { AcceptedResults } from "../gate/comparison.ts";
import { plannedDecisions } from "../gate/decisions.ts";
import { isUpgrade } from "../gate/policy.ts";
import { comparableBaseline } from "../runs/compared_baseline.ts";
import { decideResults, undecidableReason } from "../runs/decide_results.ts";
import { isRecord } from "../runs/record.ts";

/** The options that name a file or a folder to write to, in the order in which these are written. */
const OUTPUTS = {
  html: { value: "F", help: "writes one HTML file: verdicts, tables, figures, every trial" },
  markdown: { value: "F", help: "writes verdicts and tables as Markdown of at most 60000 bytes" },
  json: { value: "F", help: "writes the data of all tables and figures as JSON" },
  csv: { value: "DIR", help: "writes trials, calls and every metric as CSV" },
  svg: { value: "DIR", help: "writes each figure as ID.svg into a folder" },
} as const;

/** Outputs that were asked for, by option, as the user named them. */
type Outputs = readonly (readonly [keyof typeof OUTPUTS, file: string])[];

/** Prints a report to stdout, or writes it to the files named. */
export const report = command({
  usage: "F.jsonl|FOLDER... [OPTIONS]",
  takes: ["one journal or more", 1, Infinity],
  about:
    `Several journals are runs of different models or strategies on the same tasks. Two runs of the same model
are called after their journals, the old one first: report old.jsonl new.jsonl. A file of accept is compared
with as well: report baseline.json new.jsonl. A folder stands for the journals of one run, such as its shards
or those of the test files of one suite. Without options the tables are printed, and the first failed trials
of tool tests.`,
  options: {
    ...OUTPUTS,
    limit: {
      value: "N",
      read: wholeFrom(2_000),
      help: "another limit for Markdown: GitHub takes 65536 characters in a comment, 1048576 " +
        "bytes in a step summary",
    },
    differentTasks: {
      help: "journals may be of different tasks, if all models and strategies are in each of " +
        "them: rates are then over all of these",
    },
    prices: PRICES_OPTION,
    unchecked: UNCHECKED_OPTION,
  },
  notes: "Exit code 0 when the report was made; only gate decides.",
  needs: (given) =>
    Object.keys(OUTPUTS).some((name) => Object.hasOwn(given, name)) ? ["read", "write"] : ["read"],
  rules: [[["limit"], "goes with", ["markdown"]]],
  async run(
    { limit, differentTasks, prices: declaredPrices, unchecked, ...files },
    { operands, error },
  ) {
    const outputs = (Object.keys(OUTPUTS) as (keyof typeof OUTPUTS)[]).flatMap((name) => {
      const file = files[name];
      return file === undefined ? [] : [[name, file] as const];
    });
    const given = givenIn(operands, error);
    const { journals, baselines, operandOf } = given;
    assertOutputs(outputs, [...journals, ...baselines], error);
    const collection = collect(given, { differentTasks, unchecked });
    const content = reportOf(collection, given, { prices: declaredPrices, error });
    const { runs } = collection;
    assertReplaceableOutputs(outputs, content);
    const failures = outputs.length === 0 || files.markdown !== undefined
      ? failedCases(collection, operandOf)
      : undefined;
    if (outputs.length === 0) console.log(renderReport(content, commandWidth(), failures));
    const whole = wholeTrials(collection);
    const what = "the report to";
    for (const [name, file] of outputs) {
      const path = userPath(file);
      let written = "";
      if (name === "html") {
        await writeHtml(path, content, whole.trials(), {
          generator: runs[0]!.results.plan?.resolved.generator,
          rerun: (trial) =>
            rerunLine({ ...trial, id: whole.id }, whole.plan, operandOf.get(whole.path)!),
        });
      } else if (name === "csv") {
        const count = writeCsv(path, content, whole.trials());
        written = `${countText(count, "file")} to `;
      } else if (name === "svg") {
        const count = await writeSvgs(path, content);
        written = count === 0 ? "no figures to " : `${countText(count, "figure")} to `;
      } else if (name === "json") {
        writeOutput(path, `${JSON.stringify(reportToJson(content), null, 2)}\n`, what);
      } else {
        writeOutput(path, renderMarkdown(content, { limit, failures }), what);
      }
      console.error(`Wrote ${written}${file}`);
    }
    return 0;
  },
});

/** Journals and files of accepted results, as the command line names them. */
type Given = ReturnType<typeof givenIn>;

/** Tells journals from files of accepted results. */
export function givenIn(operands: readonly string[], error: Rest["error"]) {
  const [baselines, others] = [true, false].map((wanted) =>
    operands.filter((operand) => isBaseline(operand) === wanted)
  ) as [string[], string[]];
  if (others.length === 0) {
    throw error(`it takes a journal to compare with ${baselines[0]}: none is given`);
  }
  const names = baselineNames(baselines);
  const journals = journalsOf(others);
  const operandOf = new Map(journals.map((path) => [userPath(path), path]));
  return { baselines, others, names, journals, operandOf };
}

/** Reads the runs of the journals. */
export function collect(
  { others }: Given,
  { differentTasks, unchecked }: {
    readonly differentTasks?: boolean | undefined;
    readonly unchecked?: boolean | undefined;
  },
): Collection {
  const given = others.flatMap((operand) => journalsBySuite(journalsOf([operand])));
  return readCollection(
    given.map(({ journals }) => readJournals(journals, unchecked)),
    { differentTasks },
  );
}

/** Returns the report of runs. */
export function reportOf(
  collection: Collection,
  { names, operandOf }: Given,
  { prices: declaredPrices, error }: {
    readonly prices?: Prices | undefined;
    readonly error: Rest["error"];
  },
): Report {
  const { runs, trials, planned } = collection;
  const tablePrices = declaredPrices && runs.reduce<Prices>(
    (prices, { results: { plan } }) =>
      plan === undefined ? prices : pricesFor(prices, plan.resolved),
    declaredPrices,
  );
  const prices = tablePrices ?? pricesOf(collection, error);

  const decisions: (GateReport | undefined)[] = [];
  const isOf = ({ keys }: Baseline, { results }: Collection["runs"][number]) =>
    runs.length > 1 && isBaselineRun(keys, results.trials);
  const bases = new Set<Collection["runs"][number]>();
  const accepted = [...names].flatMap(([file, name]) => {
    const baseline = readBaseline(file);
    return runs.map(({ results, label }) => acceptedFor(results, baseline, { name, label }));
  });
  for (const run of runs) {
    const { results, label } = run;
    const { decision, baseline } = decide(results, {
      prices: tablePrices,
      journal: operandOf.get(run.paths[0]!)!,
      isItself: (baseline) => isOf(baseline, run),
    });
    decisions.push(decision && withVariant(decision, label));
    if (baseline === undefined) continue;
    const { file } = baseline;
    // The run that a baseline was made of has its trials, too: what differs is compared with these, once.
    const base = runs.find((one) => isOf(baseline, one));
    if (base !== undefined) bases.add(base);
    if (base !== undefined || names.has(resolvePath(file))) continue;
    const own = fileNames.basename(file);
    const name = [...names.values()].includes(own) ? `${own} of the gate` : own;
    accepted.push(acceptedFor(results, baseline, { name, label }));
  }
  const seeds = [...new Set(runs.map(({ results }) => results.plan?.resolved.seed))];
  return new Report(trials, {
    suite: collection.suite,
    seed: seeds.length === 1 ? seeds[0] : undefined,
    references: runs.every(({ results }) => results.plan?.resolved.references) || undefined,
    planned,
    models: runs.flatMap(({ results: { plan } }) =>
      plan === undefined ? [] : allChoices(plan.resolved).models
    ),
    prices,
    notes: [
      ...collection.notes,
      ...runs.flatMap((run, index) => notesOf(run, decisions[index])),
    ],
    gates: decisions.filter((decision) => decision !== undefined),
    compared: {
      accepted,
      anytime: runs.some(({ results: { rule } }) => rule !== undefined),
      order: runs.toSorted((one, other) => Number(bases.has(other)) - Number(bases.has(one)))
        .flatMap(variantsOfRun),
      isLeftOut: ({ task }) => collection.leftOut.some((cases) => isLeftOut(task, cases)),
    },
  });
}

/** @throws {InputError} If an output would overwrite a file that is read, or looks like one that others read. */
function assertOutputs(outputs: Outputs, read: readonly string[], error: Rest["error"]): void {
  const placeOf = (file: string) => resolvePath(userPath(file));
  const inputs = read.map(placeOf);
  for (const [name, file] of outputs) {
    if ((name === "json" ? /\.jsonl$/ : /\.json[cl]?$/).test(file)) {
      const what = name === "json" ? "a journal" : "a journal, a suite or a baseline";
      throw error(`--${name} must not be named like ${what}: it is ${file}`);
    }
    if (inputs.includes(placeOf(file))) {
      throw error(`--${name} must not be a file that is read: it is ${file}`);
    }
  }
}

/**
 * Checks that folders, and JSON that programs read, replace nothing but what the command wrote before. A page and
 * Markdown are written to the file that is named, whatever it is.
 *
 * @throws {InputError} If one would replace another file.
 */
function assertReplaceableOutputs(outputs: Outputs, report: Report): void {
  for (const [name, file] of outputs) {
    const path = userPath(file);
    if (name === "csv") assertCsvFolder(path, report, file);
    if (name === "svg") assertSvgFolder(path, report, file);
    if (name === "json") {
      assertReplaceable(path, "the report to", {
        kind: "another such report",
        shown: file,
        isOwn: ({ kind }) => kind === "report",
      });
    }
  }
}

/** Returns the prices of all plans, which must agree. */
function pricesOf({ runs }: Collection, error: Rest["error"]): Prices {
  const all = runs.flatMap(({ results }) => Object.entries(results.prices ?? {}));
  const [one] = firstClash(all, ([name]) => name, ([, price]) => canonicalJson(price)) ?? [];
  if (one === undefined) return Object.fromEntries(all);
  throw error(
    `the plans must have the same price for ${one[0]}, or --prices must be given: they differ`,
  );
}

/** Returns the failed trials of tool tests; tables tell more of generated tasks than single trials do. */
function failedCases(collection: Collection, operandOf: ReadonlyMap<string, string>): FailedTrials {
  const failures = new FailedTrials();
  const isTold = (trial: Pick<Trial, "task" | "solved" | "outcome">) =>
    isCase(trial.task) && isFailed(trial);
  if (!collection.trials.some(isTold)) return failures;
  const whole = wholeTrials(collection);
  for (const trial of whole.trials()) {
    if (isTold(trial)) {
      const rerun = rerunLine({ ...trial, id: whole.id }, whole.plan, operandOf.get(whole.path)!);
      failures.add(trial, rerun);
    }
  }
  return failures;
}

/** Returns the notices of a run, and a note on missing trials. */
function notesOf(
  { paths, results }: Collection["runs"][number],
  decision: GateReport | undefined,
): string[] {
  const { notices, missing, planned, trials, stopped, rule } = results;
  const present = new Set(trials.map(({ id }) => id));
  const note = missingTrialsNote({
    lacking: planned.filter(({ id }) => !present.has(id)).length,
    planned: planned.length,
    where: paths.map((path) => path.replace(/^.*[/\\]/, "")).join(", "),
    decision: rule === undefined ? undefined : decision,
    stopped,
    missing,
  });
  return [...notices, ...(note === undefined ? [] : [note])].map((one) => printable(one, 1000));
}

/** Reads the complete trials of a collection one by one, and keeps the path and plan of the last one's journal. */
export function wholeTrials({ runs, trials }: Collection) {
  // A run that is not finished may have written trials since the tables were made.
  const places = new Map(trials.map(({ id, index }) => [id, index]));
  const reading = {
    path: "",
    plan: undefined as Results["plan"],
    /** The id of the last one in its journal, which lacks the label of its run. */
    id: "",
    /** Of each journal the trials that `read` yields. */
    *trials(read: (file: JournalFile) => Iterable<Trial> = journalTrials): Generator<Trial> {
      for (const { files, label } of runs) {
        for (const file of files) {
          // Of a suite in several test files each journal has its own plan.
          Object.assign(reading, { path: file.path, plan: file.plan });
          for (const written of read(file)) {
            const trial = label === undefined ? written : labelledTrial(written, label);
            const index = places.get(trial.id);
            reading.id = written.id;
            if (index !== undefined) yield { ...trial, index };
          }
        }
      }
    },
  };
  return reading;
}

/** Names files of accepted results, by path, with as many of their folders as distinguish them. */
function baselineNames(files: readonly string[]): ReadonlyMap<string, string> {
  const paths = [...new Set(files.map((file) => resolvePath(userPath(file))))];
  const namesOf = (taken: number) =>
    paths.map((path) => path.split(/[/\\]/).slice(-taken).join("/"));
  let taken = 1;
  while (new Set(namesOf(taken)).size < paths.length) taken++;
  const names = namesOf(taken);
  return new Map(paths.map((path, place) => [path, names[place]!]));
}

/** Whether an operand is a file of accepted results, and no journal. */
function isBaseline(operand: string): boolean {
  // Reading as a journal what cannot be read gives the error.
  return /\.jsonc?$/.test(operand) &&
    (attempt(() => isRecord(readText(userPath(operand)))) ?? false);
}

/**
 * Returns what of a run is compared with accepted results: as its gate does, where that names a file, else whatever
 * these have of the same model, or their only one.
 *
 * @throws {InputError} If they are the trials of the run itself, or of other tasks.
 */
function acceptedFor(
  { plan, planned, trials, gate }: Results,
  given: Baseline,
  { name, label }: { readonly name: string; readonly label: string | undefined },
): AcceptedResults {
  const baseline = comparableBaseline(given, plan, planned);
  assertOtherRun(baseline, trials);
  const ofFile = gate !== undefined && isUpgrade(gate) && gate.baseline.file !== undefined;
  const policy = ofFile ? gate : { baseline: {} };
  const decisions = plannedDecisions(planned, policy, baseline).map((decision) => ({
    ...decision,
    subject: label === undefined ? decision.subject : labelled(decision.subject, label),
  }));
  return { cases: baseline.cases, name, trials: baseline.trials, decisions };
}

/** Names the run of a verdict, if there are several of its model. */
function withVariant(decision: GateReport, label: string | undefined): GateReport {
  if (label === undefined) return decision;
  const { gate } = decision;
  const policy = gate !== null && isUpgrade(gate) ? gate.baseline : undefined;
  return {
    ...decision,
    verdicts: decision.verdicts.map((one) => {
      const { baseline, variant = policy?.variant } = one;
      // A baseline of the same run has its label, too; one in a file has none.
      return {
        ...labelled(one, label),
        baseline: baseline === undefined || policy?.file !== undefined
          ? baseline
          : `${label}${variant === undefined ? ":" : ""} ${baseline}`,
      };
    }),
  };
}

/** Returns the verdict of the plan's gate, and the baseline file that it compared with; nothing without a gate. */
function decide(
  results: Results,
  { prices, journal, isItself }: {
    readonly prices: Prices | undefined;
    /** One of them, by which its trials can be run again. */
    readonly journal: string;
    /** Whether a baseline is of these results, so that there is nothing to decide. */
    readonly isItself: (baseline: Baseline) => boolean;
  },
): { readonly decision?: GateReport; readonly baseline?: Baseline } {
  const { gate, suite } = results;
  if (gate === undefined) return {};
  try {
    const baseline = baselineOfGate(gate, userPath);
    if (baseline !== undefined && isItself(baseline)) return { baseline };
    const missing = missingBaseline(gate, baseline, userPath);
    const problem = undecidableReason(results) ?? missing;
    if (problem !== undefined) return { decision: reportProblem(suite, printable(problem, 1000)) };
    const decision = decideResults(results, gate, { baseline, prices, journal });
    return { decision, baseline };
  } catch (error) {
    // Results without a verdict can still be shown.
    if (!(error instanceof InputError)) throw error;
    return { decision: reportProblem(suite, printable(error.message, 1000)) };
  }
}
