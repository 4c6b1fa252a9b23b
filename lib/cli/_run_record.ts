/**
 * Histories on the command line, and what `accept` and `history add` share: how the journals of a run are read.
 * @module
 */

import { readJsonc } from "../base/input.ts";
import { isMissing } from "../base/output_file.ts";
import { PRICES } from "../models/prices.ts";
import { deriveJournals, readAndDerive } from "../runs/derived.ts";
import { type History, type HistoryFolder, readHistory } from "../runs/history/history.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { pricesFor } from "../runs/plan.ts";
import { type Arguments, userPath } from "./arguments.ts";

/** Reads the journals of a run, and derives them again. Its prices are those of the option `--prices`, if that is given. */
export async function readRun(options: Arguments, journals: readonly string[]): Promise<Results> {
  const files = journals.map(userPath);
  const results = readResults(files, await readAndDerive(files));
  for (const notice of results.notices) console.error(notice);
  if (results.problem === undefined || results.problem === results.missing) {
    for (const note of await deriveJournals(results)) console.error(note);
  }
  const table = options.text("prices");
  if (table === undefined || results.plan === undefined) return results;
  const prices = readJsonc(userPath(table), PRICES);
  return { ...results, prices: pricesFor(prices, results.plan.resolved) };
}

/** Reads the history in folders. */
export function historyIn(folders: readonly string[]): History {
  return readHistory(folders.map((shown) => ({ path: userPath(shown), shown })));
}

/** Returns the folder of the option `--to`, and the history in it, if any; says on stderr what was left out. */
export function historyGiven(options: Arguments): { folder: HistoryFolder; history: History } {
  const shown = options.text("to");
  if (shown === undefined) throw options.error("--to is needed: the folder of the history");
  const folder = { path: userPath(shown), shown };
  const history = historyIn(isMissing(folder.path) ? [] : [shown]);
  for (const line of history.leftOut) console.error(line);
  return { folder, history };
}
