/**
 * Options of executors, checked and with their defaults.
 * @module
 */

import { assertDepth, MAX_DEPTH } from "../../tools/references/call_order.ts";
import type { FaultInjector } from "../../tools/fault.ts";
import type { InstructionInjector } from "../../tools/injection.ts";

/** Options of an {@linkcode Executor}. */
export interface ExecutorOptions {
  /** The number of calls that may be made: a whole number from 0, or `Infinity`. */
  readonly callLimit: number;
  /** At most this many UTF-16 code units of a result are shown to the model; default: unlimited. */
  readonly longestResult?: number | undefined;
  /** Changes a function's result on its way to the model; refusals and errors stay unchanged. */
  readonly perturbReturn?: ((text: string) => string) | undefined;
  /** Injects instructions into results as `perturbReturn` leaves them; default none. */
  readonly injectInstruction?: InstructionInjector | undefined;
  /** Injects faults into calls that conform to their schemas; default none. */
  readonly injectFault?: FaultInjector | undefined;
  /**
   * Whether arguments may refer to results of other calls of the same reply, such as `$1.field`; default
   * `false`. If so, all tools accept references, and calls are carried out in their order.
   */
  readonly references?: boolean | undefined;
  /** Calls of a reply that may run at the same time; default 10. */
  readonly parallel?: number | undefined;
  /** Calls in a chain of references; default 5. */
  readonly depth?: number | undefined;
  /** Whether calls that a fault makes slow take their time; default `true`. */
  readonly waits?: boolean | undefined;
}

/** The options of an {@linkcode Executor} with their defaults. */
export type ExecutorSettings = Readonly<ReturnType<typeof executorSettings>>;

/** Calls of a reply that run at the same time by default (Pipeline's `max_parallel`). */
export const MAX_PARALLEL = 10;

/**
 * Returns the options with their defaults.
 *
 * @throws {RangeError} If a limit is out of its range.
 */
export function executorSettings(options: ExecutorOptions) {
  const { callLimit, longestResult = Infinity } = options;
  const { references = false, parallel = MAX_PARALLEL, depth = MAX_DEPTH, waits = true } = options;
  const refuse = (what: string, rule: string, limit: number): never => {
    throw new RangeError(`Cannot limit ${what} as the limit must be ${rule}: it is ${limit}`);
  };
  if (!(Number.isSafeInteger(callLimit) || callLimit === Infinity) || callLimit < 0) {
    refuse("calls", "a whole number from 0 on", callLimit);
  }
  if (!(longestResult >= 1)) refuse("results", "1 or more", longestResult);
  if (!Number.isSafeInteger(parallel) || parallel < 1) {
    refuse("calls at the same time", "a whole number from 1 on", parallel);
  }
  assertDepth(depth);
  return { ...options, longestResult, references, parallel, depth, waits };
}
