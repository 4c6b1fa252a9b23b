/**
 * Annotations: what failed, at its place in the code, where GitHub Actions runs the tests.
 * @module
 */

import { reasonOf } from "../base/errors.ts";
import { lineOf, placesOf, shownFile } from "../base/user_code.ts";
import { annotationLine, unannotatedLine } from "../reports/job_summary.ts";

/**
 * Prints an annotation of a test that is about to fail, unless nobody would see it.
 *
 * @param error Its stack may have places in the user's files; without one the test file is named.
 */
export function annotate(title: string, error: unknown): void {
  const [place] = error instanceof Error ? placesOf(error) : [];
  const at = place === undefined ? { file: shownFile(Deno.mainModule) } : lineOf(place);
  const text = annotationLine({ title, message: reasonOf(error), ...at });
  if (text !== undefined) console.log(text);
}

/** Counts what got no annotation, once all tests of the file are over. */
export function annotateRest(): void {
  const text = unannotatedLine();
  if (text !== undefined) console.log(text);
}
