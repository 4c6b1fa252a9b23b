/**
 * Annotations: what failed, at its place in the code, where GitHub Actions runs the tests.
 * @module
 */

import defer * as urls from "node:url";
import { reasonOf } from "../base/errors.ts";
import { annotationLine, unannotatedLine } from "../reports/job_summary.ts";

/**
 * Prints an annotation of a test that is about to fail, unless nobody would see it.
 *
 * @param error Its stack may have one place in the user's file.
 * @param origin The test file, as a URL: for errors without such a place.
 */
export function annotate(title: string, error: unknown, origin: string): void {
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const [, url, line] = /\n {4}at (file:.+):(\d+):\d+$/.exec(stack) ?? [];
  const text = annotationLine({
    title,
    message: reasonOf(error),
    file: pathOfUrl(url ?? origin),
    ...(line === undefined ? {} : { line: Number(line) }),
  });
  if (text !== undefined) console.log(text);
}

/** Counts what got no annotation, once all tests of the file are over. */
export function annotateRest(): void {
  const text = unannotatedLine();
  if (text !== undefined) console.log(text);
}

/** Returns the path of a file that is named as in a stack, where a percent sign may stand for itself. */
function pathOfUrl(url: string): string {
  try {
    return urls.fileURLToPath(url);
  } catch {
    return url.replace(/^file:\/\//, "");
  }
}
