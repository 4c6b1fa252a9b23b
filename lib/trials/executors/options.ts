/**
 * What can be set of recorders, and what cannot.
 * @module
 */

import { assertDepth, MOST_DEPTH } from "../../tools/references/call_order.ts";
import type { FaultInjector } from "../../tools/fault.ts";

/** What is set of a recorder. */
export interface RecorderOptions {
  /** How many calls may be made: a whole number from 0 on, or infinite. */
  readonly callLimit: number;
  /** How much of a result a model gets to see, in UTF-16 code units; default all of it. */
  readonly longestResult?: number | undefined;
  /** Changes what a function returned on its way to the model; what is refused or fails stays as it is. */
  readonly perturbReturn?: ((text: string) => string) | undefined;
  /** Puts faults in the way of calls that conform to their schemas; default none. */
  readonly injectFault?: FaultInjector | undefined;
  /**
   * Whether arguments may refer to what other calls of the same reply return, such as `$1.field`; default
   * `false`. Then all tools on offer take references, and calls are carried out in the order of these.
   */
  readonly references?: boolean | undefined;
  /** How many calls of a reply may be under way at the same time; default 10. */
  readonly parallel?: number | undefined;
  /** How many calls a chain of references may have; default 5. */
  readonly depth?: number | undefined;
}

/** What is set of a recorder, with what is usual where nothing is. */
export interface RecorderSettings extends RecorderOptions {
  readonly longestResult: number;
  readonly references: boolean;
  readonly parallel: number;
  readonly depth: number;
}

/** So many calls of a reply run at the same time, unless told otherwise (Pipeline's `max_parallel`). */
export const MOST_PARALLEL = 10;

/**
 * What is set of a recorder, checked.
 *
 * @throws {RangeError} If a limit is none.
 */
export function recorderSettings(options: RecorderOptions): RecorderSettings {
  const { callLimit, longestResult = Infinity } = options;
  const { references = false, parallel = MOST_PARALLEL, depth = MOST_DEPTH } = options;
  if (!(Number.isSafeInteger(callLimit) || callLimit === Infinity) || callLimit < 0) {
    throw new RangeError(
      `Cannot limit calls as the limit must be a whole number from 0 on: it is ${callLimit}`,
    );
  }
  if (!(longestResult >= 1)) {
    throw new RangeError(
      `Cannot limit results as the limit must be 1 or more: it is ${longestResult}`,
    );
  }
  if (!Number.isSafeInteger(parallel) || parallel < 1) {
    throw new RangeError(
      `Cannot limit calls at the same time as the limit must be a whole number from 1 on: ` +
        `it is ${parallel}`,
    );
  }
  assertDepth(depth);
  return { ...options, longestResult, references, parallel, depth };
}
