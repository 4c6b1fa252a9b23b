/**
 * `report`: tables, figures and trials of journals.
 * @module
 */

import { baselineOfGate, missingBaseline } from "../runs/baseline.ts";
import { type Collection, readCollection } from "../runs/journal/collection.ts";
import { readJsonc } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { placeOf, writeOutput } from "../base/output_file.ts";
import { pricesFor } from "../runs/plan.ts";
import { isUpgrade } from "../gate/policy.ts";
import { type Price, PRICES, type Prices } from "../models/prices.ts";
import { type GateReport, reportProblem } from "../gate/gate_report.ts";
import { decideResults, undecidableReason } from "../runs/decide_results.ts";
import { makeReport, missingTrialsNote } from "../reports/report.ts";
import { writeHtml } from "../reports/html.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { renderReport } from "../reports/terminal.ts";
import { renderVerdicts } from "../reports/verdicts.ts";
import { journalTrials } from "../runs/journal/journal.ts";
import type { Results } from "../runs/journal/results.ts";
import { quoted } from "../base/shell_quote.ts";
import type { Trial } from "../trials/trial.ts";
import { parseTrialId } from "../trials/trial_id.ts";
import { Arguments, userPath } from "./arguments.ts";

export const REPORT_HELP = `toolgate report F.jsonl...: tables, figures and trials of journals

Several journals are shards of one run, or runs of different models or strategies on the same tasks.
Without options the tables are printed.

  --html F        writes one HTML file that needs nothing else: verdicts, tables, figures, and every
                  trial with its graph and its calls
  --markdown F    writes the verdicts and tables as Markdown
  --json F        writes everything that the tables and figures hold as JSON
  --different-tasks
                  the journals may be of different tasks, such as generated ones and cases, if all
                  models and strategies are in each of them: rates are then over all of these
  --prices F.jsonc  what models cost: { "MODEL": { "input": 1.25, "output": 10 } } in dollars a million
                  tokens

Exit code 0 when the report was made, whatever it says; gate decides.`;

/** Prints a report to stdout, or writes it to the files that are named. */
export async function report(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("report", arguments_, {
    values: ["html", "markdown", "json", "prices"],
    switches: ["different-tasks"],
  });
  if (options.operands.length === 0) {
    throw options.error("it takes one journal or more: none is given");
  }
  const outputs = ["html", "markdown", "json"].flatMap((name) => {
    const file = options.text(name);
    return file === undefined ? [] : [{ name, file }];
  });
  const table = options.text("prices");
  assertOutputs(options, outputs, table);
  const written = table === undefined ? undefined : readJsonc(userPath(table), PRICES);
  const named = new Map(options.operands.map((path) => [userPath(path), path]));
  const collection = readCollection(options.operands.map(userPath), {
    differentTasks: options.has("different-tasks"),
  });
  const { runs, trials, planned } = collection;
  const given = written === undefined ? undefined : runs.reduce<Prices>(
    (prices, { results: { plan } }) =>
      plan === undefined ? prices : pricesFor(prices, plan.resolved),
    written,
  );
  const prices = given ?? pricesOf(options, collection);
  assertNoBaseline(options, outputs, collection);
  const decisions = runs.map(({ results }) => decide(results, given));
  const told = makeReport(trials, {
    suite: collection.suite,
    seed: seedOf(collection),
    references: runs.every(({ results }) => results.plan?.resolved.references) || undefined,
    planned,
    models: runs.flatMap(({ results }) => results.plan?.resolved.models ?? []),
    prices,
    notes: runs.flatMap((run, place) => notesOf(run, decisions[place])),
    gates: decisions.filter((decision) => decision !== undefined),
  });
  for (const { name, file } of outputs) {
    const path = userPath(file);
    if (name === "html") {
      const whole = wholeTrials(collection);
      await writeHtml(path, told, whole.trials(), {
        generator: runs[0]!.results.plan?.resolved.generator,
        replay: (trial) => replayLine(trial, whole.plan, named.get(whole.path)!),
      });
    } else {
      const text = name === "json" ? `${JSON.stringify(told, null, 2)}\n` : renderMarkdown(told);
      writeOutput(path, text, "the report to");
    }
    console.error(`Wrote ${file}`);
  }
  if (outputs.length === 0) {
    console.log([renderReport(told), ...told.gates.map(renderVerdicts)].join("\n\n"));
  }
  return 0;
}

/** The seed of all plans; `undefined` where they differ, or none tells it. */
function seedOf({ runs }: Collection): number | undefined {
  const seeds = new Set(runs.map(({ results }) => results.plan?.seed));
  return seeds.size === 1 ? [...seeds][0] : undefined;
}

/**
 * A journal's plan says how its models are asked; without one the trial's id must do. There is none for
 * trials of other tools, whose ids are any text.
 */
function replayLine(
  { id, model, strategy, perturbation }: Trial,
  plan: Results["plan"],
  journal: string,
): string | undefined {
  if (parseTrialId(id) === undefined) return undefined;
  if (plan?.ownCode) return `deno test -A YOUR_BENCHMARK.ts -- --only=${quoted(id)}`;
  const run = "deno task toolgate run";
  if (plan !== undefined) return `${run} ${quoted(journal)} --only ${quoted(id)}`;
  // Only simulated models are sure to be found again where they were.
  if (!model.simulated || !model.requested.startsWith("sim:")) return undefined;
  return `${run} --model ${quoted(model.requested)} --strategy ${quoted(strategy)} ` +
    (perturbation === "none" ? "" : `--perturbation ${quoted(perturbation)} `) +
    `--only ${quoted(id)}`;
}

/** Prices by the name of a model hold for all runs, or for none. */
function pricesOf(options: Arguments, { runs }: Collection): Prices {
  const all = new Map<string, Price>();
  for (const { results } of runs) {
    for (const [name, price] of Object.entries(results.prices ?? {})) {
      const before = all.get(name);
      if (before !== undefined && canonicalJson(before) !== canonicalJson(price)) {
        throw options.error(
          `the plans must agree on what ${
            printable(name)
          } costs, or --prices be given: they differ`,
        );
      }
      all.set(name, price);
    }
  }
  return Object.fromEntries(all);
}

/** Nothing that was paid for may be written over. */
function assertOutputs(
  options: Arguments,
  outputs: readonly { readonly name: string; readonly file: string }[],
  prices: string | undefined,
): void {
  const inputs = [...options.operands, ...(prices === undefined ? [] : [prices])].map((file) =>
    placeOf(userPath(file))
  );
  for (const [place, { name, file }] of outputs.entries()) {
    if (file.endsWith(".jsonl")) {
      throw options.error(`--${name} must be no journal, whose names end in .jsonl: it is ${file}`);
    }
    const path = placeOf(userPath(file));
    if (inputs.includes(path)) {
      throw options.error(`--${name} must be none of the files that are read: it is ${file}`);
    }
    if (outputs.findIndex((other) => placeOf(userPath(other.file)) === path) < place) {
      throw options.error(`each file can be written once only: ${file} is named twice`);
    }
  }
}

/** What plans compare with must not be written over either. */
function assertNoBaseline(
  options: Arguments,
  outputs: readonly { readonly name: string; readonly file: string }[],
  { runs }: Collection,
): void {
  const baselines = runs.flatMap(({ results: { gate } }) =>
    gate !== undefined && isUpgrade(gate) && gate.baseline.file !== undefined
      ? [placeOf(userPath(gate.baseline.file))]
      : []
  );
  for (const { name, file } of outputs) {
    if (!baselines.includes(placeOf(userPath(file)))) continue;
    throw options.error(`--${name} must not be the baseline of the gate: it is ${file}`);
  }
}

/** The verdict of the gate that the plan declares; `undefined` without one. */
function decide(results: Results, prices: Prices | undefined): GateReport | undefined {
  const { gate, suite } = results;
  if (gate === undefined) return undefined;
  try {
    const baseline = baselineOfGate(gate, userPath);
    const missing = missingBaseline(gate, baseline);
    const fault = undecidableReason(results) ?? missing;
    return fault === undefined
      ? decideResults(results, gate, { baseline, prices })
      : reportProblem(suite, printable(fault, 1000));
  } catch (error) {
    // What cannot be judged can be shown all the same.
    if (!(error instanceof InputError)) throw error;
    return reportProblem(suite, printable(error.message, 1000));
  }
}

/** What is not there of a run, and why. */
function notesOf(
  { paths, results }: Collection["runs"][number],
  decision: GateReport | undefined,
): string[] {
  const { notices, missing, planned, trials, stopped, rule } = results;
  const there = new Set(trials.map(({ id }) => id));
  const note = missingTrialsNote({
    lacking: planned.filter(({ id }) => !there.has(id)).length,
    planned: planned.length,
    where: paths.map((path) => path.replace(/^.*[/\\]/, "")).join(", "),
    decision: rule === undefined ? undefined : decision,
    stopped,
    missing,
  });
  return [...notices, ...(note === undefined ? [] : [note])].map((one) => printable(one, 1000));
}

/** The whole trials of a collection, one after another, and which journal the last one was of. */
function wholeTrials({ runs, trials }: Collection) {
  // A run that goes on has by now written trials that no table has.
  const known = new Set(trials.map(({ id }) => id));
  const reading = {
    path: "",
    plan: undefined as Results["plan"],
    *trials(): Generator<Trial> {
      for (const { paths, results } of runs) {
        for (const path of paths) {
          Object.assign(reading, { path, plan: results.plan });
          for (const trial of journalTrials(path)) if (known.has(trial.id)) yield trial;
        }
      }
    },
  };
  return reading;
}
