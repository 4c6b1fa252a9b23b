/**
 * Marks: the invalid goes of a trial and their tokens, each in a file beside the trial's recording.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { HASH, parseText, readIfExists, USAGE } from "./_file.ts";

const MARK = z.strictObject({
  v: z.literal(1),
  kind: z.literal("invalid"),
  trial: z.string(),
  // That of the first request.
  hash: HASH,
  replaced: USAGE,
  replacedIdle: z.literal(true).exactOptional(),
}).transform(({ v: _, kind: __, ...mark }) => mark);

/** A mark of the invalid goes of a trial, beside its recording if it has one; it has no replies. */
export type InvalidMark = z.infer<typeof MARK>;

/** How the name of a mark ends: no reader takes it for a recording. */
export const MARK_ENDING = ".invalid";

/** Returns the path of the mark of a trial, given that of its recording. */
export function markPath(recording: string): string {
  return recording.replace(/\.json$/, MARK_ENDING);
}

/** Returns the text of a mark. */
export function markText(mark: InvalidMark): string {
  return `${JSON.stringify({ v: 1, kind: "invalid", ...mark }, null, 2)}\n`;
}

/**
 * Reads a mark; `undefined` if there is no such file.
 *
 * @throws {InputError} If it cannot be read, or is none.
 */
export function readMark(path: string): InvalidMark | undefined {
  const content = readIfExists(path);
  if (content === undefined) return undefined;
  const source = `the mark of invalid trials ${path}`;
  return parseWith(MARK, parseText(content, source), source);
}
