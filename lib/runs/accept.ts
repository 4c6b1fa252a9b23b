/**
 * Accepting results: makes them the baseline that later ones are compared with.
 * @module
 */

import { InputError } from "../base/errors.ts";
import { writeNewOutput } from "../base/output_file.ts";
import {
  isDecided,
  NO_PLAN,
  type RecordableResults,
  recordOf,
  recordText,
  type RunRecord,
} from "./record.ts";

/**
 * Writes results whose gate has passed as the baseline that their plan names, unless there is one by now. Returns what
 * to say about it.
 *
 * @throws {InputError} If the file cannot be written.
 */
export function recordBaseline(
  results: RecordableResults,
  file: string,
  pathOf = (file: string) => file,
): string {
  const lacking = results.planned.length - results.trials.length;
  let accepted: RunRecord;
  try {
    // Later runs are compared with all of its trials.
    if (lacking > 0) {
      return `the baseline ${file} is not written: ${lacking} of ${results.planned.length} trials were not run`;
    }
    accepted = acceptResults(results, "this run");
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return `the baseline ${file} is not written: ${error.message}`;
  }
  return writeNewOutput(pathOf(file), recordText(accepted), "the baseline")
    ? `these ${results.trials.length} trials are the baseline now: ${file}`
    : `the baseline ${file} is not written: there is one already`;
}

/**
 * Returns the record of results that a verdict can rest on.
 *
 * @throws {InputError} If they are no such results; the message names them by `source`.
 */
export function acceptResults(
  results: RecordableResults,
  source: string,
): RunRecord {
  const why = results.problem ?? rejectionReason(results);
  if (why === undefined) return recordOf(results, source);
  throw new InputError(`Cannot accept ${source}: ${why}`);
}

/** Why results must not replace a baseline; `undefined` if they may. */
function rejectionReason(results: RecordableResults): string | undefined {
  const { plan, trials, planned, stopped, waves } = results;
  if (plan === undefined) return NO_PLAN;
  if (trials.length === 0) return "there are no trials";
  const missing = planned.length - trials.length;
  if (missing > 0 && stopped === undefined && !isDecided(results)) {
    const how = waves === undefined ? "--resume" : "--resume, or with its next wave";
    return `${missing} of ${planned.length} trials were not run; continue the run with ${how}`;
  }
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  if (invalid > (1 - ACCEPTED_COVERAGE) * trials.length) {
    return `${invalid} of ${trials.length} trials are invalid; run them again with --retry-invalid`;
  }
}

/** The default of gates. */
const ACCEPTED_COVERAGE = 0.95;
