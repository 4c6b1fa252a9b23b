/**
 * Histories: folders of records and acceptances, read and checked. What cannot be used is named and left out.
 * @module
 */

import { cannot, inOneLine, InputError, reasonOf } from "../../base/errors.ts";
import { assertShallow, assertVersion, readText } from "../../base/input.ts";
import { defined, isJsonObject, listText, parseJson, printable } from "../../base/json.ts";
import { commandLine } from "../../base/command_line.ts";
import { countText } from "../../base/numbers.ts";
import { nearestOrAll } from "../../base/nearest_name.ts";
import { journalsIn, pathIn } from "../journal/jsonl.ts";
import { keysOf } from "../baseline.ts";
import { differencesOf } from "../journal/_plan_differences.ts";
import { type AcceptanceFile, parseAcceptance } from "./_acceptance.ts";
import { distributionHash, distributionOf, parseRecord, type RecordFile } from "./record.ts";

/** A record that can be used. */
export interface HistoryRecord extends RecordFile {
  /** Its file, as the user would name it. */
  readonly path: string;
  /** See {@linkcode distributionHash}. */
  readonly distribution: string;
}

/** A run that a person has accepted. */
export interface Release {
  readonly name: string;
  readonly record: HistoryRecord;
  readonly acceptedAt: string;
  /** Whether later runs are compared with it, however many releases follow. */
  readonly isAnchor: boolean;
}

/** What folders of records tell. */
export interface History {
  /** The folders, as the user named them. */
  readonly folders: readonly string[];
  /** In the order in which their runs began. */
  readonly records: readonly HistoryRecord[];
  /** In the order in which they were accepted; none if there is a `fault`. */
  readonly releases: readonly Release[];
  /** The last acceptance. */
  readonly last?: Pick<AcceptanceFile, "checksum" | "acceptedAt">;
  /** Why its releases cannot be relied on: then nothing is decided by them. */
  readonly fault?: string;
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
/** Clocks of two machines differ by less. */
const MAX_SKEW_MS = 3_600_000;

/**
 * Reads the records and acceptances in folders.
 *
 * @throws {InputError} If a folder cannot be read.
 */
export function readHistory(folders: readonly HistoryFolder[], now = new Date()): History {
  const leftOut: string[] = [];
  const found: HistoryRecord[] = [];
  const accepted = new Map<string, AcceptanceFile>();
  let fault: string | undefined;
  for (const { path: folder, shown } of folders) {
    for (const name of journalsIn(folder, shown, ".json")) {
      const path = pathIn(shown, name);
      let isAcceptance = name.endsWith(".accepted.json");
      try {
        const value = parseJson(readText(`${folder}/${name}`, MAX_BYTES));
        const kind = value !== undefined && isJsonObject(value) ? value["kind"] : undefined;
        if (value !== undefined) assertShallow(value, path);
        if (kind === "record" || kind === "acceptance") assertVersion(value!, path);
        isAcceptance ||= kind === "acceptance";
        if (kind === "acceptance") {
          const acceptance = parseAcceptance(value, path);
          accepted.set(acceptance.checksum, acceptance);
        } else if (kind === "record") {
          const record = usableRecord(value, path, now);
          found.push({ ...record, path, distribution: distributionHash(record) });
        } else {
          throw cannot(`use ${path}`, "it must be a record or an acceptance", "it is neither");
        }
      } catch (error) {
        // A hostile plan may make no sense in ways of its own.
        const why = error instanceof InputError
          ? inOneLine(error.message)
          : `Cannot use ${path} as its plan must make sense: ${printable(reasonOf(error), 200)}`;
        leftOut.push(`Left out: ${why}`);
        // Without it another release might be taken for the last one, or for the anchor.
        if (isAcceptance) fault ??= why;
      }
    }
  }
  const acceptances = [...accepted.values()].sort(byTime);
  const isAccepted = new Set(acceptances.map(({ record }) => record));
  const records = withoutRepeats(found, isAccepted, leftOut);
  fault ??= acceptanceFault(acceptances, records);
  return {
    folders: folders.map(({ shown }) => shown),
    records,
    releases: fault === undefined ? releasesOf(acceptances, records) : [],
    ...defined({ last: acceptances.at(-1), fault }),
    leftOut,
  };
}

/**
 * Checks a value that was read from a file.
 *
 * @throws {InputError} If it is no record that can be used, or its run has not ended yet.
 */
export function usableRecord(value: unknown, path: string, now: Date): RecordFile {
  const record = parseRecord(value, path);
  const { endedAt } = record;
  if (Date.parse(endedAt) <= now.getTime() + MAX_SKEW_MS) return record;
  throw cannot(
    `use ${path}`,
    "its run must have ended",
    `it ends at ${endedAt}, and it is ${now.toISOString()}: one of two clocks is wrong`,
  );
}

function byTime(one: AcceptanceFile, other: AcceptanceFile): number {
  return one.acceptedAt < other.acceptedAt
    ? -1
    : one.acceptedAt > other.acceptedAt
    ? 1
    : one.checksum < other.checksum
    ? -1
    : 1;
}

/** Leaves out records of trials that another record has as well: accepted ones and those with more trials stay. */
function withoutRepeats(
  found: readonly HistoryRecord[],
  isAccepted: ReadonlySet<string>,
  leftOut: string[],
): HistoryRecord[] {
  const rank = (record: HistoryRecord) => [isAccepted.has(record.checksum) ? 0 : 1, -ended(record)];
  const order = found.map((record) => ({ record, rank: rank(record) })).sort((one, other) =>
    one.rank[0]! - other.rank[0]! || one.rank[1]! - other.rank[1]! ||
    (one.record.path < other.record.path ? -1 : 1)
  );
  const seen = new Map<string, HistoryRecord>();
  const kept = order.flatMap(({ record }) => {
    const keys = [...keysOf(record)];
    const repeated = keys.filter((key) => seen.has(key));
    if (repeated.length > 0) {
      const before = seen.get(repeated[0]!)!;
      leftOut.push(
        `Left out: ${record.path} has trials that ${before.path} has as well` +
          (before.checksum === record.checksum ? ": it is the same record" : ""),
      );
      return [];
    }
    for (const key of keys) seen.set(key, record);
    return [record];
  });
  return kept.sort((one, other) =>
    one.startedAt < other.startedAt ? -1 : one.startedAt > other.startedAt ? 1 : 0
  );
}

/** The number of trials of a record that ended. */
function ended({ subjects }: RecordFile): number {
  return subjects.reduce((all, { trials }) => all + trials.filter((one) => one !== null).length, 0);
}

/** Why acceptances, in the order of their times, do not tell which run is the anchor and which the last release. */
function acceptanceFault(
  acceptances: readonly AcceptanceFile[],
  records: readonly HistoryRecord[],
): string | undefined {
  const known = new Map(acceptances.map((one) => [one.checksum, one]));
  const byChecksum = new Map(records.map((record) => [record.checksum, record]));
  const named = new Map<string, string>();
  const anchored = new Set<string>();
  for (const { name, record: checksum, acceptedAt, after, anchor } of acceptances) {
    const label = `the release ${printable(name, 100)}`;
    const record = byChecksum.get(checksum);
    if (record === undefined) {
      return `${label} has no usable record: ${printable(checksum, 12)} is missing`;
    }
    if (Date.parse(acceptedAt) + MAX_SKEW_MS < Date.parse(record.endedAt)) {
      return `${label} was accepted at ${acceptedAt}, before its run had ended: a clock ran back`;
    }
    const before = after === undefined ? undefined : known.get(after);
    if (after !== undefined && before === undefined) {
      return `the acceptance before that of ${label} is missing: ${printable(after, 12)}`;
    }
    if (before !== undefined && before.acceptedAt > acceptedAt) {
      return `${label} was accepted at ${acceptedAt}, before ${
        printable(before.name, 100)
      }, which it follows: a clock ran back`;
    }
    const { suite } = record;
    if (named.getOrInsert(JSON.stringify([suite, name]), checksum) !== checksum) {
      return `${label} is two different runs`;
    }
    if (anchor) anchored.add(suite);
    // Acceptances are in their order, and the first of a suite is its anchor.
    if (!anchored.has(suite)) {
      return `no release of ${
        printable(suite, 100)
      } is the anchor: its first acceptance is missing`;
    }
  }
  return undefined;
}

/** The releases of all suites; each suite has one anchor. */
function releasesOf(
  acceptances: readonly AcceptanceFile[],
  records: readonly HistoryRecord[],
): Release[] {
  const byChecksum = new Map(records.map((record) => [record.checksum, record]));
  const recordOf = ({ record }: AcceptanceFile) => byChecksum.get(record)!;
  const known = new Map(acceptances.map((one) => [one.checksum, one]));
  const before = ({ after }: AcceptanceFile) => after === undefined ? undefined : known.get(after);
  const follows = (one: AcceptanceFile, suite: string) => {
    let earlier = before(one);
    while (earlier !== undefined && recordOf(earlier).suite !== suite) earlier = before(earlier);
    return earlier !== undefined;
  };
  const anchors = new Map<string, string>();
  for (const one of acceptances.filter(({ anchor }) => anchor)) {
    const { suite } = recordOf(one);
    // One that was the first of its branch or folder moves nothing where these are put together.
    if (!anchors.has(suite) || follows(one, suite)) anchors.set(suite, one.record);
  }
  const seen = new Set<string>();
  return acceptances.flatMap((one) => {
    // A release that became the anchor later is not a new one.
    if (seen.has(one.record)) return [];
    seen.add(one.record);
    const [record, { name, acceptedAt }] = [recordOf(one), one];
    return [{ name, record, acceptedAt, isAnchor: anchors.get(record.suite) === one.record }];
  });
}

/** What of a history is of one suite and one distribution of tasks. */
export interface HistoryPart extends Omit<History, "folders" | "last"> {
  /** The name of the suite. */
  readonly suite: string;
  /** Why the newest record of the suite is none of these; omitted if it is one. */
  readonly lacking?: string;
}

/**
 * Returns what of a history is of one suite and one distribution: those of the last release, or of the newest record
 * where there is none. Other records are named in `leftOut`.
 *
 * @throws {InputError} If there is no record, or none of the suite.
 */
export function partOf(history: History, suite?: string): HistoryPart {
  const { records, releases, folders } = history;
  const isOfSuite = (record: HistoryRecord) => suite === undefined || record.suite === suite;
  const where = folders.join(", ");
  if (records.length === 0) {
    throw cannot(
      `use the history ${where}`,
      "it must have a record",
      ["there is none", ...history.leftOut].join("\n"),
    );
  }
  const newest = releases.findLast(({ record }) => isOfSuite(record))?.record ??
    records.findLast(isOfSuite);
  if (newest === undefined) {
    const known = [...new Set(records.map((record) => record.suite))];
    throw cannot(
      `use the history ${where}`,
      "it must have a record of the suite",
      `there is none of ${printable(suite!, 100)}${nearestOrAll(suite!, known)}`,
    );
  }
  const isOwn = ({ suite, distribution }: HistoryRecord) =>
    suite === newest.suite && distribution === newest.distribution;
  const others = Map.groupBy(
    records.filter((record) => !isOwn(record)),
    (record) => whyOther(record, newest),
  );
  const latest = records.findLast(({ suite }) => suite === newest.suite)!;
  const lacking = isOwn(latest) ? undefined : `it is ${whyOther(latest, newest)}`;
  return {
    suite: newest.suite,
    records: records.filter(isOwn),
    releases: releases.filter(({ record }) => isOwn(record)),
    ...defined({ fault: history.fault, lacking }),
    leftOut: [
      ...history.leftOut,
      ...[...others].map(([why, own]) =>
        `Left out: ${countText(own.length, "record")} ${why}: ${
          listText(own.map(({ path }) => path), MAX_NAMED)
        }`
      ),
    ],
  };
}

/** Files that are named of many. */
const MAX_NAMED = 5;

/** Says what tells a record from others. */
function whyOther(record: HistoryRecord, own: HistoryRecord): string {
  if (record.suite !== own.suite) {
    return `of the suite ${printable(record.suite, 100)} (--suite chooses one)`;
  }
  const names = differencesOf({ ...distributionOf(record) }, { ...distributionOf(own) });
  return `of other tasks, which differ in ${names.join(", ")}`;
}

/**
 * Returns the last release.
 *
 * @throws {InputError} If there is none, or the releases cannot be relied on.
 */
export function lastRelease(
  { releases, fault }: Pick<History, "releases" | "fault">,
  action: string,
): Release {
  const last = releases.at(-1);
  if (fault === undefined && last !== undefined) return last;
  throw cannot(
    action,
    "its releases must tell what was accepted",
    fault ?? `no run was accepted yet: ${commandLine("accept JOURNAL --to DIR --name NAME")}`,
  );
}
