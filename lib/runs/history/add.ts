/**
 * Adding to histories: a record, or that a person accepts one.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { readText } from "../../base/input.ts";
import { defined, parseJson, printable } from "../../base/json.ts";
import { writeNewOutput, writeOutput } from "../../base/output_file.ts";
import { resultsText } from "../accept.ts";
import { keysOf } from "../baseline.ts";
import { pathIn } from "../journal/jsonl.ts";
import {
  type AcceptanceFile,
  acceptanceName,
  acceptanceOf,
  type AcceptanceOptions,
} from "./_acceptance.ts";
import { type History, type HistoryFolder, type HistoryRecord, usableRecord } from "./history.ts";
import { type RecordFile, recordName } from "./record.ts";

/**
 * Writes a record into a folder, unless it is there. Returns whether it was written, and its path. A damaged file of its
 * name is replaced: half of a record is there where a run was killed.
 *
 * @throws {InputError} If other records have some of its trials, it could not be used, such as one of the future, or it
 * cannot be written.
 */
export function addRecord(
  { path: folder, shown }: HistoryFolder,
  record: RecordFile,
  { records }: Pick<History, "records">,
  now = new Date(),
): { readonly path: string; readonly isNew: boolean } {
  const same = sameRun(record, { records });
  if (same !== undefined) return { path: same.path, isNew: false };
  const keys = keysOf(record);
  const other = records.find((one) => !keysOf(one).isDisjointFrom(keys));
  if (other !== undefined) {
    throw cannot(
      `add a record to ${shown}`,
      "its trials must be in no other record",
      `${other.path} has some of them`,
    );
  }
  const name = recordName(record);
  const [path, file] = [pathIn(shown, name), `${folder}/${name}`];
  const text = resultsText(record);
  // What nobody can use must not pass for a night that was recorded.
  usableRecord(parseJson(text), "a record of this run", now);
  let isNew = writeNewOutput(file, text, "the record");
  if (!isNew && readText(file) !== text) {
    writeOutput(file, text, "the record", { links: false });
    isNew = true;
  }
  return { path, isNew };
}

/**
 * Writes into a folder that a recorded run is a release. The first one of a suite is its anchor.
 *
 * @throws {InputError} If it cannot be accepted under this name, the releases so far cannot be relied on, or the
 * clock is behind the last one.
 */
export function addRelease(
  { path: folder, shown }: HistoryFolder,
  record: Pick<RecordFile, "checksum" | "suite">,
  { name, anchor }: Pick<AcceptanceOptions, "name" | "anchor">,
  history: History,
  now = new Date(),
): AcceptanceFile {
  const { last, fault } = history;
  const releases = history.releases.filter((one) => one.record.suite === record.suite);
  const action = `accept ${printable(name, 100)} in ${shown}`;
  if (fault !== undefined) {
    throw cannot(action, "the releases so far must be known", fault);
  }
  const known = releases.find((one) => one.record.checksum === record.checksum);
  const namesake = releases.find((one) => one.name === name);
  if (namesake !== undefined && namesake !== known) {
    throw cannot(action, "each release has a name of its own", "there is one of this name");
  }
  if (known !== undefined && known.name !== name) {
    throw cannot(action, "a run is accepted once", `it is ${printable(known.name, 100)} already`);
  }
  if (known !== undefined && (!anchor || known.isAnchor)) {
    throw cannot(
      action,
      "a run is accepted once",
      known.isAnchor
        ? "it was accepted, and is the anchor already"
        : "it was accepted before; --anchor makes it the anchor",
    );
  }
  if (last !== undefined && last.acceptedAt > now.toISOString()) {
    throw cannot(
      action,
      "releases follow each other",
      `the last one was accepted at ${last.acceptedAt}, and it is ${now.toISOString()}: a clock is wrong`,
    );
  }
  const acceptance = acceptanceOf(record, {
    ...{ name, anchor: anchor || releases.length === 0 },
    ...defined({ after: last?.checksum }),
  }, now);
  writeNewOutput(
    `${folder}/${acceptanceName(acceptance)}`,
    `${JSON.stringify(acceptance, null, 2)}\n`,
    "the acceptance",
  );
  return acceptance;
}

/** Returns the record of the very same trials, whatever else it tells; `undefined` if there is none. */
export function sameRun(
  record: RecordFile,
  { records }: Pick<History, "records">,
): HistoryRecord | undefined {
  const keys = keysOf(record);
  return records.find((one) => keysOf(one).symmetricDifference(keys).size === 0);
}
