/**
 * `report`: shows tables, figures and trials of journals.
 * @module
 */

import defer * as fileNames from "node:path";
import { countText } from "../base/numbers.ts";
import { type Baseline, readBaseline } from "../runs/baseline.ts";
import { isBaselineRun } from "../runs/trial_keys.ts";
import { isLeftOut } from "../gate/compared_cases.ts";
import {
  type Collection,
  labelledTrial,
  readCollection,
  variantsOfRun,
} from "../runs/journal/collection.ts";
import { readJsonc } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { canonicalJson, defined, listText, printable } from "../base/json.ts";
import { writeOutput } from "../base/output_file.ts";
import { pricesFor } from "../runs/plan.ts";
import { allChoices } from "../runs/resolved_suite.ts";
import { type Price, PRICES, type Prices } from "../models/prices.ts";
import type { GateReport } from "../gate/gate_report.ts";
import { deriveJournals, readAndDerive } from "../runs/derived.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import { isCase } from "../trials/executors/task_kind.ts";
import { rerunLine } from "../runs/rerun.ts";
import { undecidableReason } from "../runs/decide_results.ts";
import { makeReport, missingTrialsNote } from "../reports/report.ts";
import { CSV_FILES, writeCsv } from "../reports/csv.ts";
import { writeHtml } from "../reports/html.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { writeSvgs } from "../reports/svg.ts";
import { renderReport } from "../reports/terminal.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { journalTrials } from "../runs/journal/journal.ts";
import type { Results } from "../runs/journal/results.ts";
import type { Trial } from "../trials/trial.ts";
import { Arguments, userPath } from "./arguments.ts";
import {
  acceptedFor,
  baselineNames,
  decide,
  isBaseline,
  withVariant,
} from "./_compared_results.ts";
import {
  assertNoBaseline,
  assertReplaceableOutputs,
  limitOf,
  OUTPUTS,
  outputsOf,
} from "./_report_outputs.ts";
import { journalsGiven } from "./journals.ts";

export const REPORT_HELP =
  `Several journals are shards of one run, those of the test files of one suite, or runs of different models
or strategies on the same tasks. Two runs of the same model are called after their journals, the old one
first: report old.jsonl new.jsonl. A file of accept is compared with as well: report baseline.json new.jsonl.
A folder stands for the journals in it. Without options the tables are printed, and the first failed trials
of tool tests.

  --html F        writes one self-contained HTML file: verdicts, tables, figures, and every trial with its
                  graph and its calls
  --markdown F    writes the verdicts and tables as Markdown of at most 60000 bytes: whole tables are left out
                  where there is no room, the least important first, and verdicts never
  --limit N       another limit, 2000 or more: GitHub takes 65536 characters in a comment, 1048576 bytes in a
                  step summary
  --json F        writes the data of all tables and figures as JSON
  --csv DIR       writes trials.csv, calls.csv, cells.csv and comparisons.csv into a folder, for spreadsheets and
                  other programs
  --svg DIR       writes each figure as ID.svg into a folder
  --different-tasks
                  the journals may be of different tasks, such as generated ones and cases, if all
                  models and strategies are in each of them: rates are then over all of these
  --prices F.jsonc  prices of models: { "MODEL": { "input": 1.25, "output": 10 } } in dollars a million
                  tokens

Exit code 0 when the report was made; only gate decides.`;

/** Prints a report to stdout, or writes it to the files named. */
export async function report(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("report", arguments_, {
    values: [...OUTPUTS, "limit", "prices"],
    switches: ["different-tasks"],
  });
  const { baselines = [], operands = [] } = Object.groupBy(
    options.operands,
    (operand) => isBaseline(operand) ? "baselines" : "operands",
  );
  if (baselines.length > 0 && operands.length === 0) {
    throw options.error(`it takes a journal to compare with ${baselines[0]}: none is given`);
  }
  const names = baselineNames(options, baselines);
  const journals = journalsGiven(options, operands);
  const limit = limitOf(options);
  const table = options.text("prices");
  const outputs = outputsOf(options, [...journals, ...baselines, ...(table ? [table] : [])]);
  const declaredPrices = table === undefined ? undefined : readJsonc(userPath(table), PRICES);
  const operandOf = new Map(journals.map((path) => [userPath(path), path]));
  const paths = journals.map(userPath);
  const collection = readCollection(paths, {
    journals: await readAndDerive(paths),
    differentTasks: options.has("different-tasks"),
  });
  const { runs, trials, planned } = collection;
  const tablePrices = declaredPrices === undefined ? undefined : runs.reduce<Prices>(
    (prices, { results: { plan } }) =>
      plan === undefined ? prices : pricesFor(prices, plan.resolved),
    declaredPrices,
  );
  const prices = tablePrices ?? pricesOf(options, collection);
  assertNoBaseline(options, outputs, collection);

  const decisions: (GateReport | undefined)[] = [];
  const isOf = ({ keys }: Baseline, { results }: Collection["runs"][number]) =>
    runs.length > 1 && isBaselineRun(keys, results.trials);
  const bases = new Set<Collection["runs"][number]>();
  const accepted = baselines.flatMap((file) => {
    const baseline = readBaseline(userPath(file));
    return runs.flatMap(({ results, label }) =>
      acceptedFor(results, baseline, { name: names.get(file)!, label, gate: results.gate })
    );
  });
  for (const run of runs) {
    const { paths, results, label } = run;
    const operandsOfRun = paths.map((path) => operandOf.get(path)!);
    const { decision, baseline } = await decide(results, {
      ...{
        prices: tablePrices,
        journal: operandsOfRun[0]!,
        isItself: (baseline) => isOf(baseline, run),
      },
    });
    decisions.push(decision && withVariant(decision, label));
    const file = baseline?.file;
    // The run that a baseline was made of has its trials, too: what differs is compared with these, once.
    const base = baseline && runs.find((one) => isOf(baseline, one));
    if (base !== undefined) bases.add(base);
    if (
      file === undefined || base !== undefined || baselines.some((one) => userPath(one) === file)
    ) continue;
    const own = fileNames.basename(file);
    const name = [...names.values()].includes(own) ? `${own} of the gate` : own;
    accepted.push(...acceptedFor(results, baseline!, { name, label, gate: results.gate }));
  }
  const content = makeReport(trials, {
    suite: collection.suite,
    seed: seedOf(collection),
    references: runs.every(({ results }) => results.plan?.resolved.references) || undefined,
    planned,
    models: runs.flatMap(({ results: { plan } }) =>
      plan === undefined ? [] : allChoices(plan.resolved).models
    ),
    prices,
    notes: [
      ...collection.notes,
      ...runs.flatMap((run, index) => notesOf(run, decisions[index])),
      ...await ungatedNotes(runs),
    ],
    gates: decisions.filter((decision) => decision !== undefined),
    compared: {
      accepted,
      order: runs.toSorted((one, other) => Number(bases.has(other)) - Number(bases.has(one)))
        .flatMap(variantsOfRun),
      isLeftOut: ({ task }) => collection.leftOut.some((cases) => isLeftOut(task, cases)),
    },
  });
  assertReplaceableOutputs(outputs, content);
  const needsFailures = outputs.length === 0 || outputs.some(({ name }) => name === "markdown");
  const failures = needsFailures ? failedCases(collection, operandOf) : undefined;
  for (const { name, file } of outputs) {
    const path = userPath(file);
    if (name === "html") {
      const whole = wholeTrials(collection);
      await writeHtml(path, content, whole.trials(), {
        generator: runs[0]!.results.plan?.resolved.generator,
        rerun: (trial) =>
          rerunLine({ ...trial, id: whole.id }, whole.plan, operandOf.get(whole.path)!),
      });
    } else if (name === "csv") {
      writeCsv(path, content, {
        summaries: trials,
        trials: wholeTrials(collection).trials(),
        prices,
      });
    } else if (name === "svg") {
      const count = await writeSvgs(path, content);
      console.error(
        count === 0
          ? `Wrote nothing to ${file}: the report has no figures`
          : `Wrote ${countText(count, "figure")} to ${file}`,
      );
      continue;
    } else {
      const text = name === "json"
        ? `${JSON.stringify(content, null, 2)}\n`
        : renderMarkdown(content, defined({ limit, failures }));
      writeOutput(path, text, "the report to");
    }
    console.error(`Wrote ${name === "csv" ? `${listText(CSV_FILES, 4)} to ` : ""}${file}`);
  }
  if (outputs.length === 0) {
    console.log(renderReport(content, commandWidth(), failures));
  }
  return 0;
}

/** Returns the seed of all plans; `undefined` where they differ, or there is no plan. */
function seedOf({ runs }: Collection): number | undefined {
  const seeds = new Set(runs.map(({ results }) => results.plan?.seed));
  return seeds.size === 1 ? [...seeds][0] : undefined;
}

/** Returns the prices of all plans, which must agree. */
function pricesOf(options: Arguments, { runs }: Collection): Prices {
  const all = new Map<string, Price>();
  for (const { results } of runs) {
    for (const [name, price] of Object.entries(results.prices ?? {})) {
      const before = all.get(name);
      if (before !== undefined && canonicalJson(before) !== canonicalJson(price)) {
        throw options.error(
          `the plans must have the same price for ${
            printable(name)
          }, or --prices must be given: they differ`,
        );
      }
      all.set(name, price);
    }
  }
  return Object.fromEntries(all);
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

/** Derives journals that no gate is decided over, and returns how they disagree with themselves. */
async function ungatedNotes(runs: Collection["runs"]): Promise<string[]> {
  const notes: string[] = [];
  for (const { results } of runs) {
    if (results.gate !== undefined || undecidableReason(results) !== undefined) continue;
    try {
      // What was taken as recorded matters to verdicts alone.
      await deriveJournals(results);
    } catch (error) {
      // Results that nobody can rely on can still be shown.
      if (!(error instanceof InputError)) throw error;
      notes.push(printable(error.message, 1000));
    }
  }
  return notes;
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
function wholeTrials({ runs, trials }: Collection) {
  // A run that is not finished may have written trials since the tables were made.
  const places = new Map(trials.map(({ id, index }) => [id, index]));
  const reading = {
    path: "",
    plan: undefined as Results["plan"],
    /** The id of the last one in its journal, which lacks the label of its run. */
    id: "",
    *trials(): Generator<Trial> {
      for (const { files, label } of runs) {
        for (const file of files) {
          // Of a suite in several test files each journal has its own plan.
          Object.assign(reading, { path: file.path, plan: file.plan });
          for (const written of journalTrials(file)) {
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
