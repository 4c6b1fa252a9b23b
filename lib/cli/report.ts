/**
 * `report`: shows tables, figures and trials of journals.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { countText } from "../base/numbers.ts";
import { assertNoLink, assertReplaceable, resolvePath, writeOutput } from "../base/output_file.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { assertCsvFolder, writeCsv } from "../reports/csv.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import { writeHtml } from "../reports/html.ts";
import { reportToJson } from "../reports/json.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import type { Report } from "../reports/report.ts";
import { assertSvgFolder, writeSvgs } from "../reports/svg.ts";
import { renderReport } from "../reports/terminal.ts";
import { wholeFrom } from "../runs/flags.ts";
import type { Collection } from "../runs/journal/collection.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { Trial } from "../trials/trial.ts";
import { collect, type Given, givenIn, reportOf, wholeTrials } from "./collected.ts";
import { command, type Rest } from "./command.ts";
import { jsonText } from "../base/json.ts";
import { DIFFERENT_TASKS_OPTION, JOURNALS, PRICES_OPTION, UNCHECKED_OPTION } from "./journals.ts";

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
  takes: JOURNALS,
  about:
    `Several journals are runs of different models or strategies on the same tasks. Two runs of the same model
are named after their journals; give the old one first: report old.jsonl new.jsonl. A baseline may take its
place: report baseline.json new.jsonl. A folder stands for the journals of one run, such as its shards
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
    differentTasks: DIFFERENT_TASKS_OPTION,
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
    const { journals, baselines } = given;
    assertOutputs(outputs, [...journals, ...baselines], error);
    const collection = collect(given, { differentTasks, unchecked });
    const content = reportOf(collection, given, { prices: declaredPrices, error });
    const { runs } = collection;
    assertReplaceableOutputs(outputs, content);
    const failures = outputs.length === 0 || files.markdown !== undefined
      ? failedCases(collection, given)
      : undefined;
    if (outputs.length === 0) console.log(renderReport(content, commandWidth(), failures));
    const whole = wholeTrials(collection, given);
    const what = "the report to";
    for (const [name, file] of outputs) {
      const path = userPath(file);
      let written = "";
      if (name === "html") {
        await writeHtml(path, content, whole.trials(), {
          generator: runs[0]!.results.plan.resolved.generator,
          rerun: whole.rerun,
        });
      } else if (name === "csv") {
        const count = writeCsv(path, content, whole.trials());
        written = `${countText(count, "file")} to `;
      } else if (name === "svg") {
        const count = await writeSvgs(path, content);
        written = count === 0 ? "no figures to " : `${countText(count, "figure")} to `;
      } else if (name === "json") {
        writeOutput(path, `${jsonText(reportToJson(content), 2)}\n`, what);
      } else {
        writeOutput(path, renderMarkdown(content, { limit, failures }), what);
      }
      console.error(`Wrote ${written}${file}`);
    }
    return 0;
  },
});

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
 * Markdown are written to the file that is named, whatever it is; one that a link leads to is not named.
 *
 * @throws {InputError} If one would replace another file.
 */
function assertReplaceableOutputs(outputs: Outputs, report: Report): void {
  for (const [name, file] of outputs) {
    const path = userPath(file);
    if (name === "csv") assertCsvFolder(path, report, file);
    else if (name === "svg") assertSvgFolder(path, report, file);
    else assertNoLink(path, "the report to", file);
    if (name === "json") {
      assertReplaceable(path, "the report to", {
        kind: "another such report",
        shown: file,
        isOwn: ({ kind }) => kind === "report",
      });
    }
  }
}

/** Returns the failed trials of tool tests; tables tell more of generated tasks than single trials do. */
function failedCases(collection: Collection, given: Given): FailedTrials {
  const failures = new FailedTrials();
  const isTold = (trial: Pick<Trial, "task" | "solved" | "outcome">) =>
    isCase(trial.task) && isFailed(trial);
  if (!collection.trials.some(isTold)) return failures;
  const whole = wholeTrials(collection, given);
  for (const trial of whole.trials()) if (isTold(trial)) failures.add(trial, whole.rerun());
  return failures;
}
