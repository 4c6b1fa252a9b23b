/**
 * Job summaries: verdicts where whoever looks at a job of GitHub Actions sees them first.
 * @module
 */

import { fileReason } from "../base/errors.ts";

const VARIABLE = "GITHUB_STEP_SUMMARY";

/**
 * Appends Markdown to the file that `GITHUB_STEP_SUMMARY` names, if that is set and may be read. A
 * summary that cannot be written is told on stderr, and changes no verdict.
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
