/**
 * `history`: keeps what runs came to, and tells it over time.
 * @module
 */

import { commandLine } from "../base/command_line.ts";
import { inOneLine, InputError } from "../base/errors.ts";
import { printable, printableJson } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { countText } from "../base/numbers.ts";
import { writeOutput } from "../base/output_file.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { type HistoryReportOptions, makeHistoryReport } from "../reports/history.ts";
import { historyPage } from "../reports/history_page.ts";
import { renderHistory } from "../reports/history_text.ts";
import { addRecord, type HistoryPart, partOf } from "../runs/history/history.ts";
import { watchHistory } from "../runs/history/watch.ts";
import { recordOf } from "../runs/record.ts";
import { historyGiven, historyIn, readRun } from "./_run_record.ts";
import { Arguments, userPath } from "./arguments.ts";
import { journalsBySuite, journalsGiven } from "./journals.ts";

export const HISTORY_HELP =
  `A history is folders of small files: a record of each run, which also says whether it is a release. They may
be kept in a repository, in a cache of CI or in a bucket.

  add F.jsonl...   writes a record of a run, without transcripts, unless it was recorded before. Several
                   journals are the shards of one run; of several suites each has a record; a folder stands
                   for the journals in it

    --to DIR       the folder of the history
    --prices F     prices of models, by which it keeps costs (default: those of the plan)

  show DIR...      tells what is in folders: a table for each model, strategy and perturbation, with a row
                   for each run, and what the canary says of the days since the last release

    --suite S      the suite (default: that of the last release, else of the newest record)
    --html F       writes one self-contained HTML file instead: figures over time, and the tables
    --json         prints all of it as JSON

Exit code 0 when it was written or told.`;

/** What `history` does, by its first operand. */
const ACTIONS: Readonly<Record<string, (arguments_: readonly string[]) => Promise<number>>> = {
  add,
  show,
};

/** Does what the first operand says. */
export async function history(arguments_: readonly string[]): Promise<number> {
  const [action = "", ...rest] = arguments_;
  if (Object.hasOwn(ACTIONS, action)) return await ACTIONS[action]!(rest);
  const why = action === ""
    ? "it needs to be told what to do: add or show"
    : `there is no ${printable(action, 100)}${nearestOrAll(action, Object.keys(ACTIONS))}`;
  throw new InputError(
    `Cannot run toolgate history: ${why} (see ${commandLine("history --help")})`,
  );
}

/** Writes the record of a run, of each suite one, into the folder of a history, and says so on stderr. */
async function add(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("history add", arguments_, { values: ["to", "prices"] });
  const journals = journalsGiven(options);
  const { folder, history } = historyGiven(options);
  for (const { journals: own } of journalsBySuite(journals)) {
    const results = await readRun(options, own);
    const record = recordOf(results, own.join(", "));
    const { path, isNew } = addRecord(folder, record, history);
    const { trials, planned } = results;
    const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
    const missing = record.stopped === undefined ? planned.length - trials.length : 0;
    console.error(
      `${isNew ? "Recorded" : "Recorded before:"} ${countText(trials.length, "trial")} in ${path}` +
        (invalid === 0 ? "" : `; ${invalid} of them invalid`) +
        (missing === 0 ? "" : `; ${missing} of ${planned.length} planned ones are missing`),
    );
  }
  return 0;
}

/** Prints what records tell, or writes it to a page. */
async function show(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("history show", arguments_, {
    values: ["suite", "html"],
    switches: ["json"],
  });
  const folders = options.operands;
  if (folders.length === 0) {
    throw options.error("it takes the folders of a history: none is given");
  }
  const page = options.text("html");
  const part = partOf(historyIn(folders), options.text("suite"));
  const report = makeHistoryReport(...watched(part));
  if (page !== undefined) {
    writeOutput(userPath(page), await historyPage(report), "the page to");
    console.error(`Wrote ${page}`);
  }
  if (options.has("json")) console.log(printableJson(report, 2));
  else if (page === undefined) console.log(renderHistory(report, commandWidth()));
  return 0;
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
