/**
 * Journals and baselines on disk, made by hand, for the tests of whatever reads them.
 */

import { acceptResults, recordText } from "../../lib/runs/record.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { listTrials, type ResolvedSuite } from "../../lib/runs/resolved_suite.ts";
import { chainedLine } from "../../lib/runs/journal/lines.ts";
import { type Collection, readCollection } from "../../lib/runs/journal/collection.ts";
import { readJournalFile, type RunLine } from "../../lib/runs/journal/journal.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { sha256 } from "../../lib/base/hash.ts";
import { readLines } from "./child.ts";
import type { Folder } from "./folders.ts";
import { finish } from "./records.ts";

/** Puts runs together, each read from one journal or several. */
export function collect(
  runs: readonly (string | readonly string[])[],
  options?: Parameters<typeof readCollection>[1],
): Collection {
  return readCollection(
    runs.map((paths) => [paths].flat().map((path) => readJournalFile(path))),
    options,
  );
}

/** The lines of a journal, each with the checksum that follows from it and the line before, also where it had another. */
export function linesOf(values: readonly unknown[]): string {
  let before = "";
  return values.map((value) => {
    const [line, sum] = chainedLine({ ...value as object, sum: undefined }, before);
    before = sum;
    return line;
  }).join("");
}

/** The text of a journal that was edited, with the checksums of what it says now: anyone can write these, too. */
export function rechained(text: string): string {
  let before = "";
  return text.split(/(?<=\n)/).filter((line) => !/^\{"v":1,"kind":"(?:resume|end)"/.test(line))
    .map((line) => {
      // Other lines are no objects, or torn.
      if (!/^\{.+\}\s*$/.test(line)) return line;
      const head = line.trimEnd().slice(0, -1).replace(/,"sum":"[0-9a-f]{64}"$/, "");
      before = sha256(before + head);
      return `${head},"sum":"${before}"}\n`;
    }).join("");
}

/** The last line of a run of which no trial is left: `trials` are before it. */
export function endLine(trials: number, reason?: string): RunLine {
  return { v: 1, kind: "end", time: "2026-01-01T00:00:00.000Z", trials, reason };
}

/** A plan whose settings no suite may have, such as hostile names. */
export function planWith(resolved: ResolvedSuite, suite = "s"): Plan {
  return { suite, resolved, trials: listTrials(resolved) };
}

/** Writes the journal of a plan: all of its trials solved, by default. */
export function writeJournal(
  folder: Folder,
  plan: Plan,
  trials: readonly (Trial | RunLine)[] = plan.trials.map((planned) => finish(planned)),
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
  const lines = readLines(journal);
  const place = lines.findIndex((line) => line.kind === "trial" && isOne(line));
  lines[place] = { ...lines[place], ...changed(lines[place]) };
  Deno.writeTextFileSync(journal, linesOf(lines));
  return place + 1;
}
