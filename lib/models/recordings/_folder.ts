/**
 * Folders of recordings: what is in them, and how files get there.
 * @module
 */

import { isGranted } from "#runtime";
import defer * as fs from "node:fs";
import {
  cannot,
  cannotFile,
  errorCode,
  fileReason,
  InputError,
  notCapable,
  orCannot,
} from "../../base/errors.ts";
import { OpenFile } from "../../base/open_file.ts";
import { isMissing } from "../../base/output_file.ts";
import { parseJson, printable } from "../../base/json.ts";
import { redactRecord } from "../../base/redact.ts";
import { readRecording, type Recording } from "./_file.ts";
import type { Nearest } from "./_miss.ts";

/**
 * Checks that a folder can be replayed from: each trial would say on a file of its own what is wrong.
 *
 * @param isToFill Whether it may be empty, or not exist yet.
 * @throws {InputError} If it cannot be read, is no folder, or has no recordings.
 */
export function assertFolder(folder: string, isToFill: boolean): void {
  let isEmpty: boolean;
  try {
    isEmpty = fs.readdirSync(folder).length === 0;
  } catch (error) {
    const code = errorCode(error);
    if (isToFill && code === "ENOENT") return;
    const reason = code === "ENOTDIR" ? "it is a file" : fileReason(error);
    throw cannot(`replay from ${folder}`, "it must be a folder of recordings", reason);
  }
  if (!isEmpty || isToFill) return;
  throw cannot(
    `replay from ${folder}`,
    "it must have recordings",
    "it is empty; record some with --record",
  );
}

/**
 * Checks that recordings can be written to a folder, and makes it.
 *
 * @throws {InputError} If they cannot.
 */
export function assertWritable(folder: string): void {
  try {
    for (const name of ["write", "read"] as const) {
      // A complete file is renamed, which needs both permissions.
      if (!isGranted({ name, path: folder })) throw notCapable(name, folder);
    }
    fs.mkdirSync(folder, { recursive: true });
    // Only writing a file shows whether the system permits it.
    const file = temporaryPath(`${folder}/writable`);
    fs.writeFileSync(file, "", { flag: "wx" });
    fs.unlinkSync(file);
  } catch (error) {
    throw cannot(`record in ${folder}`, "a folder must be writable", fileReason(error));
  }
}

/** Reads the recording of a trial, and checks that it is of that trial. */
export function readTrialRecording(path: string, id: string) {
  const recording = readRecording(path);
  if (recording === undefined || recording.trial === redactRecord(id)) return recording;
  throw cannot(
    `use the recording ${path}`,
    `it must be of the trial ${printable(id, 500)}`,
    `it is of ${printable(recording.trial, 500)}`,
  );
}

/** Reads a recording of another trial, which may be of any kind; `undefined` if it cannot be used. */
export function readIfUsable(path: string): Recording | undefined {
  try {
    return readRecording(path);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** Files searched for the nearest recording, at most. */
export const MAX_FILES = 20_000;
/** Bytes read of a file: the trial's id is in the first lines. */
const HEAD_BYTES = 8_192;

/** Returns the trials of all recordings in a folder, from their first lines. */
export function recordingsIn(folder: string): Nearest[] {
  const found: Nearest[] = [];
  try {
    for (const entry of sorted(folder)) {
      if (!entry.isDirectory()) continue;
      for (const path of namesIn(`${folder}/${entry.name}`, ".json")) {
        const trial = trialIdIn(path);
        if (trial !== undefined) found.push({ path, trial });
        if (found.length >= MAX_FILES) return found;
      }
    }
  } catch {
    // Files that cannot be read are not searched.
  }
  return found;
}

/** Returns the paths of the files in a folder whose names end so, in order; none if there is no such folder. */
export function* namesIn(folder: string, ending: string): Generator<string> {
  for (const entry of sorted(folder)) {
    if (entry.isFile() && entry.name.endsWith(ending)) yield `${folder}/${entry.name}`;
  }
}

function sorted(folder: string): fs.Dirent[] {
  return isMissing(folder) ? [] : fs.readdirSync(folder, { withFileTypes: true })
    .sort((one, other) => one.name < other.name ? -1 : 1);
}

function trialIdIn(path: string): string | undefined {
  using file = new OpenFile(path, "r");
  const head = new TextDecoder().decode(file.read(new Uint8Array(HEAD_BYTES)));
  const [, written] = /^ {2}"trial": ("(?:[^"\\]|\\.)*")/m.exec(head) ?? [];
  const trial = parseJson(written ?? "");
  return typeof trial === "string" ? trial : undefined;
}

/** Returns the path of a temporary file next to `path`. */
function temporaryPath(path: string): string {
  return `${path}.${crypto.randomUUID()}.part`;
}

/**
 * Writes a file atomically, by renaming a complete one; several processes may write it.
 *
 * @param before Is called immediately before the file is there.
 */
export async function writeWhole(path: string, text: string, before = () => {}): Promise<void> {
  const part = temporaryPath(path);
  try {
    await fs.promises.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await fs.promises.writeFile(part, text, { flag: "wx" });
    before();
    fs.renameSync(part, path);
  } catch (error) {
    await fs.promises.unlink(part).catch(() => {});
    if (error instanceof InputError) throw error;
    throw cannotFile(`write the recording ${path}`, error);
  }
}

/** Appends to a file that no other process writes. */
export function appendText(path: string, text: string): void {
  orCannot(`write ${path}`, () => fs.appendFileSync(path, text));
}
