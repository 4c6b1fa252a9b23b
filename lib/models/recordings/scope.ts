/**
 * Scope: the recording that holds for the requests of the running trial.
 * @module
 */

import defer * as hooks from "node:async_hooks";
import { inFirstContext } from "../../base/first_context.ts";
import type { TrialRecording } from "./_trial_recording.ts";

// Made with the first recording, as most runs have none.
let scope: hooks.AsyncLocalStorage<TrialRecording> | undefined;

/**
 * Runs a trial so that all its requests, including those of assertions, find its recording, and nothing that an
 * earlier trial has left.
 */
export function withinRecording<T>(
  recording: TrialRecording | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (recording === undefined) return inFirstContext(work);
  const own = scope ??= new hooks.AsyncLocalStorage();
  return inFirstContext(() => own.run(recording, work));
}

/** Returns the recording of the trial that is running, if it has one. */
export function currentRecording(): TrialRecording | undefined {
  return scope?.getStore();
}
