/**
 * Histories as reports tell them: parts of made-up runs and releases.
 */

import { makeHistoryReport } from "../../lib/reports/history.ts";
import {
  addRelease,
  type HistoryPart,
  partOf,
  readHistory,
} from "../../lib/runs/history/history.ts";
import type { RunRecord } from "../../lib/runs/record.ts";
import { Folder } from "./folders.ts";
import { dateAfter, type MadeRun, type MadeSubject, recordFile, writeRecords } from "./history.ts";
import { HOSTILE } from "./records.ts";

/** A release, by the place of its run. */
type MadeRelease = readonly [run: number, name: string, anchor?: boolean];

/** The history of a folder with these runs, some of them accepted. */
export function partWith(
  runs: readonly (MadeRun | RunRecord)[],
  releases: readonly MadeRelease[] = [],
): HistoryPart {
  using folder = new Folder();
  const records = runs.map((run) => "kind" in run ? run : recordFile(run));
  writeRecords(folder.path, records);
  const place = { path: folder.path, shown: "results/history" };
  for (const [run, name, anchor = false] of releases) {
    const record = records[run]!;
    const now = new Date(Date.parse(record.endedAt) + 3_600_000);
    addRelease(place, record, { name, anchor }, readHistory([place]), now);
  }
  return partOf(readHistory([place]));
}

/** Runs on days one after the other, each of one model. */
export function nightly(subjects: readonly MadeSubject[], first?: string): MadeRun[] {
  return subjects.map((subject, day) => ({ date: dateAfter(day, first), subjects: [subject] }));
}

/** Names of everything that a record may hold, as an attacker would have them. */
const EVIL = `${HOSTILE}<script>alert(1)</script><img src=x onerror=alert(1)>"'&]]>##[error]x`;

/** A report in which all texts are hostile. */
export function hostileReport() {
  const runs = nightly([{ model: EVIL, served: EVIL }, {
    model: EVIL,
    served: `${EVIL}2`,
    variant: EVIL,
  }])
    .map(({ date, subjects }, day) => ({
      ...{ date, suite: EVIL, stopped: EVIL },
      subjects: [...subjects!, { model: "constructor", served: `${EVIL}${day}`, strategy: EVIL }],
    }));
  const part = partWith(runs, [[0, EVIL]]);
  return makeHistoryReport(
    { ...part, leftOut: [`Left out: ${EVIL}`] },
    { remarks: [EVIL] },
  );
}

/** A month in which the true rate drops from 0.9 to 0.8, with two releases and another served model. */
export function month(models: readonly string[], days = 30, graphs = 10): HistoryPart {
  const runs = Array.from({ length: days }, (_, day): MadeRun => ({
    ...{ date: dateAfter(day, "2025-11-20"), graphs },
    subjects: models.map((model) => ({
      model,
      served: `${model}-${day < 0.45 * days ? "a" : "b"}`,
      rate: day < days * 2 / 3 ? 0.9 : 0.8,
      failures: ["incorrect_value", "value_not_yet_known", "function_not_found"],
      invalid: day === 10 ? 20 : 0,
    })),
  }));
  return partWith(runs, [[3, "1.0"], [Math.floor(days / 2), "1.1"]]);
}
