/**
 * `history add`, and what `accept --to` shares with it: a record of a run.
 * @module
 */

import * as paths from "node:path";
import config from "../../deno.json" with { type: "json" };
import { callerFolder } from "../base/command_line.ts";
import { environmentVariable } from "../base/environment.ts";
import { countText } from "../base/numbers.ts";
import { readJsonc } from "../base/input.ts";
import { isMissing } from "../base/output_file.ts";
import { PRICES } from "../models/prices.ts";
import { deriveJournals, readAndDerive } from "../runs/derived.ts";
import { addRecord } from "../runs/history/add.ts";
import { type History, type HistoryFolder, readHistory } from "../runs/history/history.ts";
import { COMMIT, type RecordFile, recordOf } from "../runs/history/record.ts";
import { readResults, type Results } from "../runs/journal/results.ts";
import { pricesFor } from "../runs/plan.ts";
import { Arguments, userPath } from "./arguments.ts";
import { journalsBySuite, journalsGiven } from "./journals.ts";
import { readClone } from "./origin.ts";

/** Options that say what a record tells beside results. */
export const RECORD_OPTIONS = ["to", "commit", "prices"] as const;

/** Writes the record of a run, of each suite one, into the folder of a history, and says so on stderr. */
export async function addToHistory(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("history add", arguments_, { values: RECORD_OPTIONS });
  const journals = journalsGiven(options);
  const folder = historyFolder(options);
  for (const { journals: own } of journalsBySuite(journals)) {
    const results = await readRun(own);
    const record = recordOfRun(options, results, own);
    const { path, isNew } = addRecord(folder, record, historyAt(folder));
    const { length: ended } = results.trials;
    const invalid = results.trials.filter(({ outcome }) => outcome === "invalid").length;
    const missing = record.stopped === undefined ? results.planned.length - ended : 0;
    console.error(
      `${isNew ? "Recorded" : "Recorded before:"} ${countText(ended, "trial")} in ${path}` +
        (invalid === 0 ? "" : `; ${invalid} of them invalid`) +
        (missing === 0 ? "" : `; ${missing} of ${results.planned.length} planned ones are missing`),
    );
  }
  return 0;
}

/** Reads the journals of a run, and derives them again. */
export async function readRun(journals: readonly string[]): Promise<Results> {
  const files = journals.map(userPath);
  const results = readResults(files, await readAndDerive(files));
  for (const notice of results.notices) console.error(notice);
  if (results.problem === undefined || results.problem === results.missing) {
    for (const note of await deriveJournals(results)) console.error(note);
  }
  return results;
}

/** Returns the record of a run, with the commit and the prices that are given. */
export function recordOfRun(
  options: Arguments,
  results: Results,
  journals: readonly string[],
): RecordFile {
  const table = options.text("prices");
  const declared = table === undefined ? undefined : readJsonc(userPath(table), PRICES);
  const prices = declared && results.plan
    ? pricesFor(declared, results.plan.resolved)
    : results.prices;
  return recordOf(results, journals.join(", "), {
    toolgate: config.version,
    commit: commitOf(options),
    prices,
  });
}

/** Returns the folder of the option `--to`. */
export function historyFolder(options: Arguments): HistoryFolder {
  const shown = options.text("to");
  if (shown === undefined) throw options.error("--to is needed: the folder of the history");
  return { path: userPath(shown), shown };
}

/** Reads the history in a folder, which may not exist yet; says what was left out on stderr. */
export function historyAt(folder: HistoryFolder): History {
  const history = readHistory(isMissing(folder.path) ? [] : [folder]);
  for (const line of history.leftOut) console.error(line);
  return history;
}

/** Returns the commit of what is under test: as given, as the CI service says, or as checked out. */
function commitOf(options: Arguments): string | undefined {
  const given = options.text("commit");
  if (given !== undefined) {
    if (COMMIT.test(given)) return given;
    throw options.error(`--commit must be the hash of a commit: it is ${given}`);
  }
  const told = environmentVariable("GITHUB_SHA") ?? environmentVariable("CI_COMMIT_SHA") ??
    checkedOut();
  return told !== undefined && COMMIT.test(told) ? told : undefined;
}

/** Returns the commit that is checked out where the user stands, as far as that can be read. */
function checkedOut(): string | undefined {
  let folder: string;
  try {
    folder = callerFolder() ?? Deno.cwd();
  } catch {
    return undefined;
  }
  for (;;) {
    const { commit, isHidden } = readClone(folder);
    const above = paths.dirname(folder);
    if (commit !== undefined || isHidden || above === folder) return commit;
    folder = above;
  }
}
