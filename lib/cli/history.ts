/**
 * `history add` and `history show`: keep what runs came to, and tell it over time.
 * @module
 */

import { isGranted } from "#runtime";
import * as fs from "node:fs";
import * as paths from "node:path";
import { userPath } from "../base/command_line.ts";
import { attempt, inOneLine, InputError } from "../base/errors.ts";
import { printableJson } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { assertNoLink, writeOutput } from "../base/output_file.ts";
import { commandWidth } from "../base/terminal_width.ts";
import {
  type HistoryPoint,
  type HistoryReportOptions,
  makeHistoryReport,
} from "../reports/history.ts";
import { historyPage } from "../reports/history_page.ts";
import { renderHistory } from "../reports/history_text.ts";
import { addRecord, type HistoryPart, partOf } from "../runs/history/history.ts";
import { watchHistory } from "../runs/history/watch.ts";
import { recordOf } from "../runs/record.ts";
import {
  FOLDERS,
  historyAt,
  historyIn,
  journalsBySuite,
  journalsOf,
  PRICES_OPTION,
  readRun,
  RUN,
  UNCHECKED_OPTION,
} from "./journals.ts";
import { command } from "./command.ts";

/** Writes the record of a run, of each suite one, into the folder of a history, and says so on stderr. */
export const addToHistory = command({
  usage: "F.jsonl|FOLDER --to DIR [OPTIONS]",
  takes: RUN,
  about:
    `Writes a record of a run, without transcripts, unless it was recorded before. A folder stands for the
journals in it, such as the shards of one run; of several suites each has a record. A history is folders of
such files, which also say which runs are releases. They may be kept in a repository, in a cache of CI or in
a bucket.`,
  options: {
    to: { value: "DIR", help: "the folder of the history" },
    prices: PRICES_OPTION,
    unchecked: UNCHECKED_OPTION,
  },
  notes: "Exit code 0 when it was written.",
  needs: ["read", "write"],
  rules: [[({ to }) => to === undefined, "--to is needed: the folder of the history"]],
  async run({ to, prices, unchecked }, { operands }) {
    const { folder, history } = historyAt(to!);
    for (const { journals } of journalsBySuite(journalsOf(operands))) {
      const results = await readRun(journals, { prices, unchecked });
      const record = recordOf(results, journals.join(", "));
      const { path, isNew } = addRecord(folder, record, history);
      const { trials, planned } = results;
      const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
      const missing = record.stopped === undefined ? planned.length - trials.length : 0;
      console.error(
        `${isNew ? "Recorded" : "Recorded before:"} ${
          countText(trials.length, "trial")
        } in ${path}` +
          (invalid === 0 ? "" : `; ${invalid} of them invalid`) +
          (missing === 0 ? "" : `; ${missing} of ${planned.length} planned ones are missing`),
      );
    }
    return 0;
  },
});

/** Prints what records tell, or writes it to a page. */
export const showHistory = command({
  usage: "DIR... [OPTIONS]",
  takes: FOLDERS,
  about:
    `Shows the folders of a history: a table for each model, strategy and perturbation, with a row
for each run, and the verdict of the canary since the last release. On a page a run links to its report, if
that is NAME.html beside its record NAME.json, or beside the page.`,
  options: {
    suite: {
      value: "S",
      help: "the suite; default that of the last release, else of the newest record",
    },
    html: {
      value: "F",
      help: "writes one self-contained HTML file instead: figures over time, and the tables",
    },
    json: { help: "prints all of it as JSON" },
  },
  notes: "Exit code 0 when it was shown.",
  needs: ({ html }) => html === undefined ? ["read"] : ["read", "write"],
  async run({ suite, html, json }, { operands }) {
    const report = makeHistoryReport(...watched(partOf(historyIn(operands), suite)));
    if (html !== undefined) {
      const page = userPath(html);
      const pageOf = ({ path }: HistoryPoint) => reportBeside(userPath(path), page);
      assertNoLink(page, "the page to", html);
      writeOutput(page, await historyPage(report, pageOf), "the page to");
      console.error(`Wrote ${html}`);
    }
    if (json) console.log(printableJson(report, 2));
    else if (html === undefined) console.log(renderHistory(report, commandWidth()));
    return 0;
  },
});

/**
 * Returns the address of a run's report from the page of its history: the report is named like the record, and stands
 * beside the record or the page. Omitted where there is none, or it may not be read.
 */
function reportBeside(record: string, page: string): string | undefined {
  const name = `${paths.basename(record, ".json")}.html`;
  const folder = paths.dirname(page);
  const report = [paths.dirname(record), folder].map((one) => paths.join(one, name))
    .find((path) => path !== paths.normalize(page) && isReadable(path));
  return report &&
    paths.relative(folder, report).split(paths.sep).map(encodeURIComponent).join("/");
}

/** Whether a file is there that may be read, without asking for the permission. */
function isReadable(path: string): boolean {
  return isGranted({ name: "read", path }) &&
    attempt(() => fs.statSync(path).isFile()) === true;
}

/** Adds what the canary says of a history that has a release, with the defaults of its options. */
function watched(part: HistoryPart): [HistoryPart, HistoryReportOptions] {
  if (part.releases.length === 0) return [part, {}];
  try {
    const { leftOut, watched } = watchHistory(part, {});
    return [{ ...part, leftOut }, { watched }];
  } catch (error) {
    // What cannot be watched can still be shown.
    if (!(error instanceof InputError)) throw error;
    return [part, { remarks: [inOneLine(error.message)] }];
  }
}
