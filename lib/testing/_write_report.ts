/**
 * Report files: written by a benchmark when its run is over. The ending of a name decides what is written: a
 * page, Markdown, or the text of a terminal.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { testWidth } from "../base/terminal_width.ts";
import { assertWritable, writeOutput } from "../base/output_file.ts";
import type { FailedTrials } from "../reports/failures.ts";
import type { Plan } from "../runs/plan.ts";
import { allChoices } from "../runs/resolved_suite.ts";
import type { GateReport } from "../gate/gate_report.ts";
import type { Trial } from "../trials/trial.ts";

/** A finished run. */
export interface FinishedRun {
  readonly trials: readonly Trial[];
  /** The trials that failed. */
  readonly failures: FailedTrials;
  /** The part of the plan that was run, in words; omitted for all of it. */
  readonly part?: string | undefined;
  /** The decision of the gate; omitted if there is none. */
  readonly decision?: GateReport | undefined;
  /** Why the run ended early, unless the gate ended it. */
  readonly stopped?: string | undefined;
  /** The command that runs a trial again. */
  readonly rerun: (trial: Trial) => string;
  /** How to see all trials. */
  readonly where: string;
}

const UNFINISHED = "The run has not come to its end.";

/** What stands in the file of each format until the run is over. */
const NOTICES = {
  html: `<!DOCTYPE html><p>${UNFINISHED}</p>\n`,
  md: `${UNFINISHED}\n`,
  txt: `${UNFINISHED}\n`,
} as const;

/** The format of a report, by the ending of its name. */
function formatOf(path: string): keyof typeof NOTICES {
  const ending = /\.([^./\\]*)$/.exec(path)?.[1]?.toLowerCase().replace(/^htm$/, "html");
  if (ending === "html" || ending === "md" || ending === "txt") return ending;
  throw cannot(
    `write the report to ${path}`,
    "its name must end in .html (a page), .md (Markdown) or .txt (the text of a terminal)",
  );
}

/**
 * Checks that reports can be written, before anything is paid for. The content of the files is kept until the
 * returned function is called at the start of the run: a test file may be loaded without running any of its
 * trials.
 *
 * @throws {InputError} If one of them cannot be written.
 */
export function openReports(paths: readonly string[]): () => void {
  const what = "the report to";
  const notices = paths.map((path) => ({ path, notice: NOTICES[formatOf(path)] }));
  for (const path of paths) assertWritable(path, what);
  let isOpen = false;
  return () => {
    if (isOpen) return;
    isOpen = true;
    for (const { path, notice } of notices) writeOutput(path, notice, what);
  };
}

/**
 * Writes the reports of a run.
 *
 * @throws {InputError} If one of them cannot be written.
 */
export async function writeReports(
  paths: readonly string[],
  { suite, resolved, prices, rule, trials: all }: Plan,
  { trials: finished, failures, part, decision, stopped, rerun, where }: FinishedRun,
): Promise<void> {
  const { makeReport, missingTrialsNote, provenance } = await import("../reports/report.ts");
  // Tests may be shuffled.
  const trials = finished.toSorted((one, other) => one.index - other.index);
  const planned = all.length;
  const note = missingTrialsNote({
    lacking: planned - trials.length,
    planned,
    missing: part === undefined ? undefined : `this is ${part}`,
    decision: rule === undefined ? undefined : decision,
    stopped,
  });
  const notes = note === undefined ? [] : [note];
  const report = makeReport(trials, {
    suite,
    seed: resolved.seed,
    references: resolved.references,
    planned,
    models: allChoices(resolved).models,
    prices,
    notes,
    gates: decision === undefined ? [] : [decision],
  });
  for (const path of paths) {
    const format = formatOf(path);
    if (format === "html") {
      const { writeHtml } = await import("../reports/html.ts");
      await writeHtml(path, report, trials, { rerun });
    } else if (format === "md") {
      const { renderMarkdown } = await import("../reports/markdown.ts");
      writeOutput(path, renderMarkdown(report, { failures }), "the report to");
    } else {
      const { renderGate, renderTables } = await import("../reports/terminal.ts");
      const width = testWidth();
      const title = `${printable(suite, 300)}: ${provenance({ ...report, began: null })}`;
      const parts = [
        [title, ...notes, ...failures.lines(decision?.exitCode === 0, where, true)].join("\n"),
        decision === undefined
          ? renderTables(trials, { prices, width })
          : renderGate(trials, decision, width),
      ];
      writeOutput(path, `${parts.join("\n\n")}\n`, "the report to");
    }
  }
}

/** Says how to see all trials. */
export function howToSee(reports: readonly string[], journal: string | undefined): string {
  const page = reports.find((path) => formatOf(path) === "html");
  if (page !== undefined) return `see ${page}`;
  return journal === undefined ? "add  -- --report=F.html  to see all" : `in ${journal}`;
}
