/**
 * Histories: folders of records, of which some are releases. What cannot be used is named and left out.
 * @module
 */

import { cannot, inOneLine, InputError } from "../../base/errors.ts";
import { readText } from "../../base/input.ts";
import { canonicalJson, printable } from "../../base/json.ts";
import { commandLine } from "../../base/command_line.ts";
import { sha256 } from "../../base/hash.ts";
import { countText } from "../../base/numbers.ts";
import { nearestOrAll } from "../../base/nearest_name.ts";
import { writeOutput } from "../../base/output_file.ts";
import { filesIn, pathIn } from "../../base/folder.ts";
import type { Attempts } from "../../gate/attempts.ts";
import { type Variant, variantKey } from "../../gate/variant.ts";
import { differencesOf } from "../journal/_plan_differences.ts";
import {
  distributionOf,
  keysOf,
  readRecord,
  recordText,
  type RunRecord,
  sealed,
  variantIn,
} from "../record.ts";

/** A record, and its file as the user would name it. */
export interface HistoryRecord extends RunRecord {
  readonly path: string;
}

/** A run that a person has accepted. */
export interface Release extends HistoryRecord {
  readonly release: NonNullable<RunRecord["release"]>;
}

/** What folders of records tell. */
export interface History {
  /** The folders, as the user named them. */
  readonly folders: readonly string[];
  /** In the order in which their runs began. */
  readonly records: readonly HistoryRecord[];
  /** Records that are left out as they share a part of their trials with one of these, and have others. */
  readonly repeats: readonly HistoryRecord[];
  /** What was left out and why, one line each. */
  readonly leftOut: readonly string[];
}

/** A folder of a history. */
export interface HistoryFolder {
  readonly path: string;
  /** The folder as the user named it. */
  readonly shown: string;
}

/** Larger than any record; a file of another kind may have any size. */
const MAX_BYTES = 2 ** 26;

/**
 * Reads the records in folders.
 *
 * @throws {InputError} If a folder cannot be read, or the record of a release: another one would be taken for the last
 * release, or for the anchor.
 */
export function readHistory(folders: readonly HistoryFolder[], now = new Date()): History {
  const leftOut: string[] = [];
  const found: HistoryRecord[] = [];
  for (const { path: folder, shown } of folders) {
    for (const name of filesIn(folder, ".json", shown)) {
      const path = pathIn(shown, name);
      let text = "";
      try {
        text = readText(`${folder}/${name}`, MAX_BYTES);
        found.push({ ...readRecord(text, path, now), path });
      } catch (error) {
        if (!(error instanceof InputError) || text.includes('"release":')) throw error;
        leftOut.push(`Left out: ${inOneLine(error.message)}`);
      }
    }
  }
  const repeats: HistoryRecord[] = [];
  const records = withoutRepeats(found, { leftOut, repeats })
    .sort(byTime(({ startedAt }) => startedAt));
  return { folders: folders.map(({ shown }) => shown), records, repeats, leftOut };
}

/** Orders by times in ISO 8601. */
function byTime<Item>(timeOf: (item: Item) => string): (one: Item, other: Item) => number {
  return (one, other) => Date.parse(timeOf(one)) - Date.parse(timeOf(other));
}

/** Leaves out records of trials that another record has as well: releases and those with more trials stay. */
function withoutRepeats(
  found: readonly HistoryRecord[],
  { leftOut, repeats }: { readonly leftOut: string[]; readonly repeats: HistoryRecord[] },
): HistoryRecord[] {
  const seen = new Map<string, HistoryRecord>();
  const rank = (record: HistoryRecord) =>
    record.release === undefined ? keysOf(record).size : Number.MAX_SAFE_INTEGER;
  return found.toSorted((one, other) => rank(other) - rank(one)).filter((record) => {
    const keys = [...keysOf(record)];
    const before = keys.map((key) => seen.get(key)).find((one) => one !== undefined);
    const { release } = record;
    if (before !== undefined && (!release || release.name === before.release?.name)) {
      leftOut.push(`Left out: ${record.path} has trials that ${before.path} has as well`);
      if (!isPartOf(record, before)) repeats.push(record);
      return false;
    }
    for (const key of keys) seen.set(key, record);
    return true;
  });
}

/** The releases of a suite, in the order in which they were accepted. */
export interface Releases {
  readonly releases: readonly Release[];
  /** The one that was last made the anchor, else the first one; `undefined` without any. */
  readonly anchor: Release | undefined;
}

/** Returns the releases of a suite. */
export function releasesOf({ records }: Pick<History, "records">, suite: string): Releases {
  const releases = records.filter((one): one is Release =>
    one.suite === suite && one.release !== undefined
  ).sort(byTime(({ release }) => release.at));
  const marked = releases.filter(({ release }) => release.anchor !== undefined)
    .sort(byTime(({ release }) => release.anchor!));
  return { releases, anchor: marked.at(-1) ?? releases[0] };
}

/**
 * Returns the last of some releases.
 *
 * @throws {InputError} If there is none.
 */
export function lastRelease({ releases }: Pick<Releases, "releases">, action: string): Release {
  const last = releases.at(-1);
  if (last !== undefined) return last;
  throw cannot(
    action,
    "a run must have been accepted",
    `none was: ${commandLine("accept JOURNAL --to DIR --name NAME")}`,
  );
}

/** What of a history is of one suite and one distribution of tasks. */
export interface HistoryPart extends Omit<History, "folders" | "repeats">, Releases {
  /** The name of the suite. */
  readonly suite: string;
  /** Why the newest record of the suite is none of these; `undefined` if it is one. */
  readonly lacking: string | undefined;
}

/**
 * Returns what of a history is of one suite and one distribution: those of the last release, or of the newest record
 * where there is none. How many other records there are stands in `leftOut`.
 *
 * @throws {InputError} If there is no record, or none of the suite.
 */
export function partOf(history: History, suite?: string): HistoryPart {
  const { records, folders } = history;
  const accepted = records.filter(({ release }) => release !== undefined)
    .sort(byTime(({ release }) => release!.at));
  const newest = [...records, ...accepted].findLast((one) =>
    suite === undefined || one.suite === suite
  );
  if (newest === undefined) {
    const known = [...new Set(records.map((record) => record.suite))];
    throw cannot(
      `use the history ${folders.join(", ")}`,
      "it must have a record" + (known.length === 0 ? "" : " of the suite"),
      known.length === 0
        ? ["there is none", ...history.leftOut].join("; ")
        : `there is none of ${printable(suite!, 100)}${nearestOrAll(suite!, known)}`,
    );
  }
  const isOwn = (record: HistoryRecord) => whyOther(record, newest) === undefined;
  const others = Map.groupBy(records, (record) => whyOther(record, newest));
  const own = others.get(undefined) ?? [];
  others.delete(undefined);
  const { releases, anchor } = releasesOf(history, newest.suite);
  const why = whyOther(records.findLast((one) => one.suite === newest.suite)!, newest);
  return {
    ...{ suite: newest.suite, records: own, releases: releases.filter(isOwn), anchor },
    lacking: why && `it is ${why}`,
    leftOut: [
      ...history.leftOut,
      ...[...others].map(([why, [first, ...more]]) =>
        `Left out: ${countText(1 + more.length, "record")} ${why}, such as ${first!.path}`
      ),
    ],
  };
}

/** Says what distinguishes a record from others; `undefined` if nothing does. */
function whyOther(record: RunRecord, own: RunRecord): string | undefined {
  if (record.suite !== own.suite) {
    return `of the suite ${printable(record.suite, 100)} (--suite chooses one)`;
  }
  const names = differencesOf({ ...distributionOf(record) }, { ...distributionOf(own) });
  return names.length === 0 ? undefined : `of other tasks, which differ in ${names.join(", ")}`;
}

/**
 * Returns which run of its gate and of one candidate a record is: it and those of a history that are not a part of it,
 * nor it of them, but for releases, which runs are compared with.
 */
export function attemptsOf(
  { records, repeats }: Pick<History, "records" | "repeats">,
  own: RunRecord,
  candidate: Variant,
): Attempts {
  const others = [...records, ...repeats].filter((record) =>
    record.release === undefined && whyOther(record, own) === undefined &&
    canonicalJson(record.gate) === canonicalJson(own.gate) &&
    record.subjects.some((one) => variantKey(variantIn(one)) === variantKey(candidate)) &&
    !isPartOf(record, own) && !isPartOf(own, record)
  );
  const earlier = others.filter(({ endedAt }) => endedAt < own.endedAt);
  return { run: earlier.length + 1, of: others.length + 1 };
}

/** Whether all trials of a record are among those of another one, as of the same journal before it was resumed. */
export function isPartOf(record: RunRecord, whole: RunRecord): boolean {
  return keysOf(record).isSubsetOf(keysOf(whole));
}

/** The file of a record: that of two runs differs, so that branches merge without a conflict. */
export function recordName(record: RunRecord): string {
  const hash = sha256([...keysOf(record)].join()).slice(0, 12);
  return `${record.startedAt.slice(0, 10)}-${hash}.json`;
}

/**
 * Writes a record into a folder, unless it is there and can be used. Returns its path, and whether it was written.
 *
 * @throws {InputError} If it cannot be written.
 */
export function addRecord(
  folder: HistoryFolder,
  record: RunRecord,
  { records }: Pick<History, "records">,
): { readonly path: string; readonly isNew: boolean } {
  const path = pathIn(folder.shown, recordName(record));
  const isNew = !records.some((one) => one.path === path);
  if (isNew) write(folder, record);
  return { path, isNew };
}

function write({ path: folder }: HistoryFolder, record: RunRecord): void {
  const file = pathIn(folder, recordName(record));
  writeOutput(file, recordText(record), "the record", { links: false });
}

/**
 * Writes the record of a run anew, as that of a release. Returns its path, and whether it is the anchor.
 *
 * @param anchor Whether it is the anchor from now on; else only the first release is.
 * @throws {InputError} If another release of its suite has this name, or it cannot be written.
 */
export function addRelease(
  folder: HistoryFolder,
  record: RunRecord | HistoryRecord,
  { name, anchor }: { readonly name: string; readonly anchor: boolean },
  history: Pick<History, "records">,
  now = new Date(),
): { readonly path: string; readonly isAnchor: boolean } {
  const path = pathIn(folder.shown, recordName(record));
  const known = releasesOf(history, record.suite);
  const namesake = known.releases.find((one) => one.release.name === name && one.path !== path);
  if (namesake !== undefined) {
    throw cannot(
      `accept ${printable(name, 100)} in ${folder.shown}`,
      "each release has a name of its own",
      `${namesake.path} has this one`,
    );
  }
  const before = known.releases.find((one) => one.path === path)?.release;
  const time = now.toISOString();
  const { checksum: _, path: __, ...content } = { ...record, path };
  const release = { ...before, name, at: before?.at ?? time, ...(anchor ? { anchor: time } : {}) };
  write(folder, sealed({ ...content, release }));
  return { path, isAnchor: anchor || (known.anchor ?? { path }).path === path };
}
