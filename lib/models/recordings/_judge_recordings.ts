/**
 * Recordings of judges: requests outside of trials.
 * @module
 */

import type { ModelReply, ModelRequest } from "../model.ts";
import { JUDGE_ID } from "./_folder_use.ts";
import type { RecordingOptions } from "./options.ts";
import { Recordings } from "./recordings.ts";
import { RequestReader } from "./_request.ts";
import type { ConnectableModel, TrialRecording } from "./_trial_recording.ts";

/**
 * Recordings of requests outside of trials, such as those of a judge in the user's tests: one file for each
 * question, with every occurrence of it.
 */
export class JudgeRecordings {
  readonly #recordings: Recordings;
  readonly #open = new Map<string, TrialRecording>();
  #writing: Promise<void> = Promise.resolve();

  /** Takes the same options as {@linkcode Recordings}. */
  constructor(options: RecordingOptions) {
    this.#recordings = new Recordings(options);
  }

  /** Answers a request; a model's reply is recorded before it is returned. */
  async reply(request: ModelRequest, source: ConnectableModel, name: string): Promise<ModelReply> {
    const { hash } = new RequestReader().read(request, source.options);
    const id = `${JUDGE_ID}${encodeURI(name.toWellFormed())} question=${hash.slice(0, 16)}`;
    const recording = this.#open.get(id) ??
      this.#recordings.begin({ id, model: name }, { alone: true });
    this.#open.set(id, recording);
    const before = recording.live;
    try {
      return await recording.assertionReply(request, source);
    } catch (error) {
      throw recording.fault ?? error;
    } finally {
      if (recording.live > before) {
        // Writes one after another, so that none is lost.
        const writing = this.#writing.then(() =>
          this.#recordings.keep(recording, recording.hasReply)
        );
        this.#writing = writing.catch(() => {});
        await writing;
      }
    }
  }
}
