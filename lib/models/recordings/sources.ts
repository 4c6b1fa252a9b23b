/**
 * Sources of tools: what servers say of their tools and operations outside of calls, which a recording run keeps in
 * the folder of its recordings, and a replay reads there in place of asking them.
 * @module
 */

import { z } from "zod";
import { cannot } from "../../base/errors.ts";
import { parseWith } from "../../base/input.ts";
import { redactRecord, redactRecordValue } from "../../base/redact.ts";
import { sha256 } from "../../base/hash.ts";
import { parseText, readIfExists } from "./_file.ts";
import { writeWhole } from "./_folder.ts";
import type { RecordingOptions } from "./options.ts";
import { currentRecording } from "./scope.ts";

const SOURCE = z.strictObject({ v: z.literal(1), of: z.string(), said: z.json() });

let ofFlags: () => RecordingOptions | undefined = () => undefined;

/** Sets what says by which flags tools are recorded or replayed that are made before any trial. */
export function recordSourcesBy(options: () => RecordingOptions | undefined): void {
  ofFlags = options;
}

/**
 * Returns what a server says: in a replay what it said when it was recorded, and then it is not asked.
 *
 * @param of The server, as messages call it.
 * @param key Tells it from others.
 * @throws {InputError} If it is to be replayed and was not recorded.
 */
export async function recordedSource<Said>(
  of: string,
  key: string,
  ask: () => Promise<Said>,
): Promise<Said> {
  const trial = currentRecording();
  const options = trial === undefined ? ofFlags() : trial.place;
  if (options === undefined || options.mode === "live") return await ask();
  const { mode, folder } = options;
  const path = `${folder}/${sha256(redactRecord(key)).slice(0, 16)}.source`;
  const known = readIfExists(path);
  if (mode === "replay" && known !== undefined) {
    const source = `the recording ${path}`;
    return parseWith(SOURCE, parseText(known, source), source).said as Said;
  }
  if (mode === "replay") {
    const error = cannot(
      `replay ${of}`,
      `${folder} must have a recording of it`,
      `there is none; record it with --record=${folder}, or --auto=${folder}`,
    );
    throw trial?.fail(error) ?? error;
  }
  const said = await ask();
  const file = { v: 1, of: redactRecord(key), said: redactRecordValue(said) };
  const text = `${JSON.stringify(file, null, 2)}\n`;
  if (text !== known) await writeWhole(path, text);
  return said;
}
