/**
 * GitHub Actions: verdicts and successes on the page of a job, and annotations of what failed.
 * @module
 */

import defer * as paths from "node:path";
import { environmentVariable } from "../base/environment.ts";
import { fileReason } from "../base/errors.ts";
import { printable, printableLines } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { OpenFile } from "../base/open_file.ts";

const SUMMARY = "GITHUB_STEP_SUMMARY";

/** Whether the job has a summary. */
export function hasJobSummary(): boolean {
  return environmentVariable(SUMMARY) !== undefined;
}

/** Bytes that GitHub takes of one step: of a longer summary it shows nothing. */
const MAX_BYTES = 1024 * 1024;

/**
 * Appends Markdown to the file that `GITHUB_STEP_SUMMARY` names, if that is set and may be read. If the
 * file cannot be written or is full, prints an error to stderr; verdicts do not change.
 *
 * @param markdown Returns the text in at most `limit` bytes: what earlier parts of the step have left.
 */
export function summarizeJob(markdown: (limit: number) => string): void {
  const path = environmentVariable(SUMMARY);
  if (path === undefined) return;
  try {
    using file = new OpenFile(path, "a");
    const limit = MAX_BYTES - file.size - 1;
    const text = `${markdown(limit)}\n`;
    if (new TextEncoder().encode(text).length > limit + 1) {
      console.error(
        `Cannot add to the job summary in ${SUMMARY} as GitHub takes at most ${MAX_BYTES} bytes of a step: ` +
          `${Math.max(0, limit)} are left`,
      );
      return;
    }
    file.write(text);
  } catch (error) {
    console.error(`Cannot write the job summary to ${SUMMARY}: ${fileReason(error)}`);
  }
}

/** What failed, and where. */
export interface Annotation {
  /** The name of the test or gate. */
  readonly title: string;
  /** What is wrong with it; it may have several lines. */
  readonly message: string;
  /** A path from the current folder, or an absolute one. */
  readonly file: string;
  /** The line in that file, from 1 on. */
  readonly line?: number;
}

/** GitHub shows this many errors of a step. */
const MAX_ANNOTATIONS = 10;
/** Characters of a message that are shown. */
const MAX_MESSAGE = 4_000;

let annotated = 0;

/**
 * Returns the line that makes GitHub Actions show what failed at its place in the code; `undefined` outside of
 * GitHub Actions, and from the eleventh on, which GitHub would not show.
 */
export function annotationLine({ title, message, file, line }: Annotation): string | undefined {
  if (environmentVariable("GITHUB_ACTIONS") !== "true" || ++annotated > MAX_ANNOTATIONS) {
    return undefined;
  }
  const properties = {
    file: pathInWorkspace(file),
    ...(line === undefined ? {} : { line: `${line}` }),
    title: printable(title),
  };
  const list = Object.entries(properties).map(([name, value]) => `${name}=${inProperty(value)}`);
  return `::error ${list.join(",")}::${inMessage(printableLines(message, MAX_MESSAGE))}`;
}

/** Returns the line that counts what got no annotation, once; `undefined` if there is nothing to count. */
export function unannotatedLine(): string | undefined {
  const more = annotated - MAX_ANNOTATIONS;
  annotated = Math.min(annotated, MAX_ANNOTATIONS);
  if (more <= 0) return undefined;
  // It is a notice, as it would be an error that is not shown.
  return `::notice title=toolgate::${inMessage(`and ${countText(more, "more failure")}`)}`;
}

/** Returns the path of a file in the repository, which GitHub knows; any other path as it is. */
function pathInWorkspace(file: string): string {
  const path = paths.resolve(file);
  const root = environmentVariable("GITHUB_WORKSPACE") ?? ".";
  const inside = paths.relative(root, path);
  const isOutside = inside.startsWith("..") || paths.isAbsolute(inside);
  return (isOutside ? path : inside).replaceAll("\\", "/");
}

/** Escapes the message of a workflow command. */
function inMessage(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** Escapes a property of a workflow command. */
function inProperty(text: string): string {
  return inMessage(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
