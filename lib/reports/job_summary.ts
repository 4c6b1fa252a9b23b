/**
 * Job summaries: verdicts on the page of a GitHub Actions job.
 * @module
 */

import { fileReason } from "../base/errors.ts";

const VARIABLE = "GITHUB_STEP_SUMMARY";

/**
 * Appends Markdown to the file that `GITHUB_STEP_SUMMARY` names, if that is set and may be read. If the
 * file cannot be written, prints an error to stderr; verdicts do not change.
 */
export function summarizeJob(markdown: string): void {
  const permission = Deno.permissions.querySync({ name: "env", variable: VARIABLE });
  const path = permission.state === "granted" ? Deno.env.get(VARIABLE) : undefined;
  if (path === undefined || path === "") return;
  try {
    Deno.writeTextFileSync(path, `${markdown}\n`, { append: true });
  } catch (error) {
    console.error(`Cannot write the job summary to ${VARIABLE}: ${fileReason(error)}`);
  }
}
