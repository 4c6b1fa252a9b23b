/**
 * Job summaries: verdicts on the page of a GitHub Actions job.
 * @module
 */

import { fileReason } from "../base/errors.ts";

const VARIABLE = "GITHUB_STEP_SUMMARY";

/** Bytes that GitHub takes of one step: of a longer summary it shows nothing. */
const MAX_BYTES = 1024 * 1024;

/**
 * Appends Markdown to the file that `GITHUB_STEP_SUMMARY` names, if that is set and may be read. If the
 * file cannot be written or is full, prints an error to stderr; verdicts do not change.
 *
 * @param markdown Returns the text in at most so many bytes, as earlier parts of the step may have written, too.
 */
export function summarizeJob(markdown: (limit: number) => string): void {
  const permission = Deno.permissions.querySync({ name: "env", variable: VARIABLE });
  const path = permission.state === "granted" ? Deno.env.get(VARIABLE) : undefined;
  if (path === undefined || path === "") return;
  try {
    using file = Deno.openSync(path, { create: true, append: true });
    const limit = MAX_BYTES - sizeOf(file) - 1;
    const bytes = new TextEncoder().encode(`${markdown(limit)}\n`);
    if (bytes.length > limit + 1) {
      console.error(
        `Cannot add to the job summary in ${VARIABLE} as GitHub takes at most ${MAX_BYTES} bytes of a step: ` +
          `${Math.max(0, limit)} are left`,
      );
      return;
    }
    for (let place = 0; place < bytes.length;) place += file.writeSync(bytes.subarray(place));
  } catch (error) {
    console.error(`Cannot write the job summary to ${VARIABLE}: ${fileReason(error)}`);
  }
}

/** Returns the size of an open file without the permission to read it; 0 of what is no file, such as a pipe. */
function sizeOf(file: Deno.FsFile): number {
  try {
    return file.seekSync(0, Deno.SeekMode.End);
  } catch {
    return 0;
  }
}
