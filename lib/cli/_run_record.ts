/**
 * Histories on the command line, and what `accept` and `history add` share: how the journals of a run are read.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { isMissing } from "../base/output_file.ts";
import type { Prices } from "../models/prices.ts";
import { type History, type HistoryFolder, readHistory } from "../runs/history/history.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { pricesFor } from "../runs/plan.ts";
import { playSample } from "../runs/play_again.ts";
import { readJournals } from "./journals.ts";

/** What commands take that read histories. */
export const FOLDERS = ["the folder of a history, or several", 1, Infinity] as const;

/** Reads the journals of a run, and plays a sample of it again; `prices` take the place of those of its plan. */
export async function readRun(
  journals: readonly string[],
  { prices, unchecked }: { readonly prices?: Prices; readonly unchecked?: boolean },
): Promise<Results> {
  const files = readJournals(journals, unchecked);
  const results = readResults(journals.map(userPath), files);
  for (const notice of results.notices) console.error(notice);
  if (results.problem === undefined || results.problem === results.missing) {
    for (const line of await playSample(files)) console.error(line);
  }
  if (prices === undefined || results.plan === undefined) return results;
  return { ...results, prices: pricesFor(prices, results.plan.resolved) };
}

/** Reads the history in folders. */
export function historyIn(folders: readonly string[]): History {
  return readHistory(folders.map((shown) => ({ path: userPath(shown), shown })));
}

/** Reads the history in a folder that need not be there; says on stderr what was left out. */
export function historyAt(shown: string): { folder: HistoryFolder; history: History } {
  const folder = { path: userPath(shown), shown };
  const history = historyIn(isMissing(folder.path) ? [] : [shown]);
  for (const line of history.leftOut) console.error(line);
  return { folder, history };
}
