/**
 * Journals and baselines on disk, made by hand, for the tests of whatever reads them.
 */

import { acceptResults } from "../../lib/runs/accept.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { declaredHash, planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { recordText } from "../../lib/runs/record.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { Folder } from "./folders.ts";
import { finish } from "./records.ts";

/** JSON lines. */
export function linesOf(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value) + "\n").join("");
}

/** A changed plan line, with the hash of what it says now: anyone can write that, too. */
export function declaring<Line extends object>(line: Line): Line & { declared: string } {
  return { ...line, declared: declaredHash(line) };
}

/** Writes the journal of a plan: all of its trials solved, unless told otherwise. */
export function writeJournal(
  folder: Folder,
  plan: Plan,
  trials: readonly Trial[] = plan.trials.map((planned) => finish(planned)),
  name = "a.jsonl",
): string {
  return folder.write(name, linesOf([planLine(plan), ...trials]));
}

/** Accepts a journal, and gives the path of the baseline. */
export function accept(folder: Folder, journal: string, name = "b.json"): string {
  return folder.write(name, recordText(acceptResults(readResults([journal]), journal)));
}

/** Writes a journal with the first trial of a kind changed, and gives the number of its line. */
export function changeTrial(
  journal: string,
  isOne: (trial: Trial) => boolean,
  changed: (trial: Trial) => object,
): number {
  const lines = Deno.readTextFileSync(journal).trimEnd().split("\n")
    .map((line) => JSON.parse(line));
  const place = lines.findIndex((line) => line.kind === "trial" && isOne(line));
  lines[place] = { ...lines[place], ...changed(lines[place]) };
  Deno.writeTextFileSync(journal, linesOf(lines));
  return place + 1;
}
