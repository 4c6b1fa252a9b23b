/**
 * Journals on the command line: files, and folders that stand for those in them.
 * @module
 */

import * as folders from "../base/folder.ts";
import { userPath } from "../base/command_line.ts";
import { attempt, cannot } from "../base/errors.ts";
import { readJsonc } from "../base/input.ts";
import { PRICES, type Prices } from "../models/prices.ts";
import { printable } from "../base/json.ts";
import { type JournalFile, readJournalFile, suiteOf } from "../runs/journal/journal.ts";
import { isMissing } from "../base/output_file.ts";
import { type History, type HistoryFolder, readHistory } from "../runs/history/history.ts";
import { faultOf, readResults, type Results } from "../runs/journal/results.ts";
import { pricesFor } from "../runs/plan.ts";
import { playSample } from "../runs/play_again.ts";

/** The option of commands that tell costs. */
export const PRICES_OPTION = {
  value: "F.jsonc",
  read: (file: string): Prices => readJsonc(userPath(file), PRICES),
  help:
    'prices of models: { "MODEL": { "input": 1.25, "output": 10 } } in dollars a million tokens',
} as const;

/** The option of commands that take journals without checksums. */
export const UNCHECKED_OPTION = {
  help: "accepts journals without checksums, such as those of other tools",
} as const;

/** The option of commands that take journals of different tasks. */
export const DIFFERENT_TASKS_OPTION = {
  help: "journals may be of different tasks, if all models and strategies are in each of " +
    "them: rates are then over all of these",
} as const;

/** What commands take that read journals. */
export const JOURNALS = ["one journal or more", 1, Infinity] as const;

/** What commands take that read one run. */
export const RUN = ["a journal, or a folder with those of one run", 1, 1] as const;

/**
 * Returns the journals that paths stand for, as the user would name them. A folder stands for the files in it whose
 * names end in `.jsonl`, in the order of their names; what is hidden or in folders of its own is left out.
 *
 * @throws {InputError} If one is a folder that cannot be read, or has none.
 */
export function journalsOf(operands: readonly string[]): string[] {
  return operands.flatMap((operand) => {
    // A name that somebody else has chosen is printed as it is.
    if (printable(operand, Infinity) !== operand) {
      throw cannot(`use ${operand}`, "names of journals must be plain text");
    }
    if (!isFolder(operand)) return [operand];
    const names = folders.filesIn(userPath(operand), ".jsonl", operand);
    if (names.length > 0) return names.map((name) => folders.pathIn(operand, name));
    const what = `the folder ${operand} has no journals, whose names end in .jsonl`;
    throw cannot("read journals", what);
  });
}

/**
 * Reads journals as the user names them.
 *
 * @throws {InputError} Like {@linkcode readJournalFile}; of journals without checksums unless `unchecked`.
 */
export function readJournals(journals: readonly string[], unchecked?: boolean): JournalFile[] {
  return journals.map((journal) => readJournalFile(userPath(journal), { unchecked }));
}

/** Whether an operand is a folder, or a link to one; `false` if that cannot be read: opening it gives the error. */
export function isFolder(operand: string): boolean {
  return folders.isFolder(userPath(operand));
}

/**
 * Returns the journals of each suite, by name: empty ones, and those whose first line was changed, by themselves, unless there is only one suite. The name of those
 * whose run died before they had one is that of the journals.
 */
export function journalsBySuite(journals: readonly string[]) {
  if (journals.length === 1) return [{ suite: "", journals }];
  const suites = Map.groupBy(journals, (journal) => attempt(() => suiteOf(userPath(journal))));
  const empty = suites.get(undefined) ?? [];
  suites.delete(undefined);
  if (suites.size < 2) return [{ suite: "", journals }];
  return [
    ...[...suites].map(([suite, journals]) => ({ suite: printable(suite!, 300), journals }))
      .sort((one, other) => one.suite < other.suite ? -1 : 1),
    ...(empty.length === 0 ? [] : [{ suite: empty.join(", "), journals: empty }]),
  ];
}

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
  if (faultOf(results) === undefined) {
    for (const line of await playSample(files)) console.error(line);
  }
  if (prices === undefined) return results;
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
