/**
 * `history show`: what the records of folders tell over time.
 * @module
 */

import { inOneLine, InputError } from "../base/errors.ts";
import { printableJson } from "../base/json.ts";
import { writeOutput } from "../base/output_file.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { type HistoryReportOptions, makeHistoryReport } from "../reports/history.ts";
import { historyPage } from "../reports/history_page.ts";
import { renderHistory } from "../reports/history_text.ts";
import { type HistoryPart, partOf, readHistory } from "../runs/history/history.ts";
import { watchHistory } from "../runs/history/watch.ts";
import { Arguments, userPath } from "./arguments.ts";

/** Prints what records tell, or writes it to a page. */
export async function show(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("history show", arguments_, {
    values: ["suite", "last", "html"],
    switches: ["json"],
  });
  const folders = options.operands;
  if (folders.length === 0) {
    throw options.error("it takes the folders of a history: none is given");
  }
  const last = options.integer("last", 1);
  const page = options.text("html");
  if (page !== undefined && /\.json[cl]?$/.test(page)) {
    throw options.error(
      `--html must not be named like a record, a suite or a journal: it is ${page}`,
    );
  }
  const history = readHistory(folders.map((shown) => ({ path: userPath(shown), shown })));
  const part = partOf(history, options.text("suite"));
  const report = makeHistoryReport(...watched(part, { last }));
  if (page !== undefined) {
    writeOutput(userPath(page), await historyPage(report), "the page to");
    console.error(`Wrote ${page}`);
  }
  if (options.has("json")) console.log(printableJson(report, 2));
  else if (page === undefined) console.log(renderHistory(report, commandWidth()));
  return 0;
}

/** Adds what the canary says of a history that has a release, with the defaults of its options. */
function watched(
  part: HistoryPart,
  options: HistoryReportOptions,
): Parameters<typeof makeHistoryReport> {
  if (part.releases.length === 0) return [part, options];
  try {
    const { leftOut, watched } = watchHistory(part, {});
    return [{ ...part, leftOut }, { ...options, watched }];
  } catch (error) {
    // What cannot be watched can still be shown.
    if (!(error instanceof InputError)) throw error;
    return [part, { ...options, remarks: [inOneLine(error.message)] }];
  }
}
