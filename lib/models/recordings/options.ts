/**
 * Options of recordings: the folder, and where replies come from.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";

/**
 * Where replies come from: with `live` the models; with `record` the models, and they are recorded; with
 * `replay` recordings only; with `auto` recordings if there are any, otherwise the models, and recorded.
 */
export const RECORDING_MODES = ["live", "record", "replay", "auto"] as const;

/** Where replies come from. */
export type RecordingMode = typeof RECORDING_MODES[number];

/** Options of recording and replaying. */
export interface RecordingOptions {
  /** The folder: one file for each trial, by model. */
  readonly folder: string;
  /**
   * Where replies come from. `live`: from the models, as without recordings. `record`: from the models, and
   * they are recorded. `replay`: from recordings only; a request without one is an error. `auto`: from a
   * recording of the same content that answers no other trial, also one of a test with another name;
   * otherwise from the model, and recorded.
   */
  readonly mode: RecordingMode;
}

/** Schema of these options. */
export const RECORDINGS: z.ZodType<RecordingOptions> = z.strictObject({
  folder: z.string().min(1),
  mode: z.enum(RECORDING_MODES, {
    error: `must be one of ${RECORDING_MODES.join(", ")}`,
  }),
});

/**
 * Checks the options; returns `undefined` if nothing is recorded or replayed.
 *
 * @throws {InputError} If they are invalid.
 */
export function recordingOptions(
  options: RecordingOptions | undefined,
  subject: string,
): RecordingOptions | undefined {
  if (options === undefined) return undefined;
  const checked = parseWith(RECORDINGS, options, `the recordings of ${subject}`);
  return checked.mode === "live" ? undefined : checked;
}

/**
 * Checks that a benchmark can be recorded or replayed.
 *
 * @throws {InputError} If it has an agent, or replays tasks from a fresh seed.
 */
export function assertRecordable(
  subject: string,
  { mode }: RecordingOptions,
  { agent, fresh }: { readonly agent: boolean; readonly fresh: boolean },
): void {
  if (agent) {
    throw cannot(
      `${mode === "record" ? "record" : "replay"} ${subject}`,
      "replies to an agent are not recorded",
      "leave out its recordings or its agent",
    );
  }
  if (fresh && mode !== "record") {
    throw cannot(
      `replay ${subject}`,
      'recordings are of certain tasks and its seed is "fresh"',
      `add --seed=NUMBER, ${mode === "auto" ? "the same each time" : "the seed that was recorded"}`,
    );
  }
}
