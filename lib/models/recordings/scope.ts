/**
 * Scope: the recording that holds for the requests of the running trial.
 * @module
 */

import defer * as hooks from "node:async_hooks";
import type { TrialRecording } from "./_trial_recording.ts";

// Made with the first recording, as most runs have none.
let scope: hooks.AsyncLocalStorage<TrialRecording> | undefined;

/** The context in which trials begin. */
let first: ReturnType<typeof hooks.AsyncLocalStorage.snapshot> | undefined;

/**
 * Keeps the present context, in which all trials begin. A module that is first imported within a context, as by an
 * agent's library, leaves Deno in it, so that later trials would begin in that of an earlier one, with its signal.
 */
export function keepContext(): void {
  first ??= hooks.AsyncLocalStorage.snapshot();
}

/**
 * Runs a trial so that all its requests, including those of assertions, find its recording, and nothing that an
 * earlier trial has left.
 */
export function withinRecording<T>(
  recording: TrialRecording | undefined,
  work: () => Promise<T>,
): Promise<T> {
  keepContext();
  if (recording === undefined) return first!(work);
  const own = scope ??= new hooks.AsyncLocalStorage();
  return first!(() => own.run(recording, work));
}

/** Returns the recording of the trial that is running, if it has one. */
export function currentRecording(): TrialRecording | undefined {
  return scope?.getStore();
}
