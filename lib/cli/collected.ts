/**
 * Collected journals: the runs that a command line names, the files of accepted results beside them, and the report of
 * both.
 * @module
 */

import { firstClash } from "../base/clash.ts";
import defer * as fileNames from "node:path";
import { userPath } from "../base/command_line.ts";
import { attempt, InputError } from "../base/errors.ts";
import { readText } from "../base/input.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { resolvePath } from "../base/output_file.ts";
import type { AcceptedResults } from "../gate/comparison.ts";
import { isLeftOut } from "../gate/compared_cases.ts";
import { plannedDecisions } from "../gate/decisions.ts";
import { type GateReport, reportProblem } from "../gate/gate_report.ts";
import { isUpgrade } from "../gate/policy.ts";
import type { Prices } from "../models/prices.ts";
import { missingTrialsNote, Report } from "../reports/report.ts";
import { type Baseline, baselineOfGate, missingBaseline, readBaseline } from "../runs/baseline.ts";
import { comparableBaseline } from "../runs/compared_baseline.ts";
import { decideResults, undecidableReason } from "../runs/decide_results.ts";
import {
  type Collection,
  labelled,
  labelledTrial,
  readCollection,
  variantsOfRun,
} from "../runs/journal/collection.ts";
import { type JournalFile, journalTrials } from "../runs/journal/journal.ts";
import type { Results } from "../runs/journal/results.ts";
import { pricesFor } from "../runs/plan.ts";
import { isRecord } from "../runs/record.ts";
import { rerunLine } from "../runs/rerun.ts";
import { allChoices, planHashes } from "../runs/resolved_suite.ts";
import { assertOtherRun, isBaselineRun } from "../runs/trial_keys.ts";
import type { Trial } from "../trials/trial.ts";
import type { Rest } from "./command.ts";
import { journalsBySuite, journalsOf, readJournals } from "./journals.ts";

/** Journals and files of accepted results, as the command line names them. */
export type Given = ReturnType<typeof givenIn>;

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
  { prices: declaredPrices, error }: DeclaredPrices,
): Report {
  const { runs, trials, planned } = collection;
  const prices = pricesOf(collection, { prices: declaredPrices, error });
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
      prices: declaredPrices && prices,
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
  const seeds = [...new Set(runs.map(({ results }) => results.plan.resolved.seed))];
  return new Report(trials, {
    suite: collection.suite,
    seed: seeds.length === 1 ? seeds[0] : undefined,
    origins: runs.flatMap(({ results: { plan, releases } }) =>
      releases.map((one) => ({ ...one, ...planHashes(plan) }))
    ),
    references: runs.every(({ results }) => results.plan.resolved.references) || undefined,
    planned,
    models: runs.flatMap(({ results: { plan } }) => allChoices(plan.resolved).models),
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

/** The prices that a command was given, if any. */
interface DeclaredPrices {
  readonly prices?: Prices | undefined;
  readonly error: Rest["error"];
}

/** Returns the prices that were given, also through other APIs, or those of all plans, which must agree. */
export function pricesOf(
  { runs }: Collection,
  { prices: declared, error }: DeclaredPrices,
): Prices {
  if (declared !== undefined) {
    return runs.reduce<Prices>(
      (prices, { results: { plan } }) => pricesFor(prices, plan.resolved),
      declared,
    );
  }
  const all = runs.flatMap(({ results }) => Object.entries(results.prices ?? {}));
  const [one] = firstClash(all, ([name]) => name, ([, price]) => canonicalJson(price)) ?? [];
  if (one === undefined) return Object.fromEntries(all);
  throw error(
    `the plans must have the same price for ${one[0]}, or --prices must be given: they differ`,
  );
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

/** Reads the complete trials of a collection one by one, and how the last one is run again. */
export function wholeTrials({ runs, trials }: Collection, { operandOf }: Given) {
  // A run that is not finished may have written trials since the tables were made.
  const places = new Map(trials.map(({ id, index }) => [id, index]));
  let rerun = () => "";
  return {
    /** Returns the command that runs again the trial that was read last. */
    rerun: () => rerun(),
    /** Of each journal the trials that `read` yields. */
    *trials(read: (file: JournalFile) => Iterable<Trial> = journalTrials): Generator<Trial> {
      for (const { files, label } of runs) {
        for (const file of files) {
          for (const written of read(file)) {
            const trial = label === undefined ? written : labelledTrial(written, label);
            const index = places.get(trial.id);
            // Of a suite in several test files each journal has its own plan.
            rerun = () => rerunLine(file.plan!, operandOf.get(file.path)!, written.id);
            if (index !== undefined) yield { ...trial, index };
          }
        }
      }
    },
  };
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
