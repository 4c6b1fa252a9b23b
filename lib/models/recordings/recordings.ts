/**
 * Recordings: a folder with the requests and replies of a run, one file for each trial, to replay it later.
 * @module
 */

import { cannot, reasonOf } from "../../base/errors.ts";
import { defined, jsonText, printable } from "../../base/json.ts";
import { isThere } from "../../base/output_file.ts";
import { redactRecord } from "../../base/redact.ts";
import type { Model, ModelReply, ModelRequest } from "../model.ts";
import type { ModelEntry } from "../entry.ts";
import { requestKey } from "./_entries.ts";
import { keptPath, parseRecording, type Recording, recordingPath, recordingText } from "./_file.ts";
import { type InvalidGoes, recordingHash } from "./_manifest.ts";
import {
  assertFolder,
  assertWritable,
  readIfUsable,
  readTrialRecording,
  recordingsIn,
  writeWhole,
} from "./_folder.ts";
import { FolderUse, type UsedRecording } from "./_folder_use.ts";
import { type Nearest, nearestTo } from "./_miss.ts";
import type { RecordingMode, RecordingOptions } from "./options.ts";
import { isSimulator, recordedModelOptions, serverOf } from "./_request.ts";
import { type Doubts, doubtsOf, type RecordingCounts, runsSummary } from "./summary.ts";
import { type ConnectableModel, TrialRecording } from "./_trial_recording.ts";

/** The recordings of a run. */
export class Recordings {
  /** Where replies come from. */
  readonly mode: Exclude<RecordingMode, "live">;
  /** Folder of the recordings. */
  readonly folder: string;

  readonly #open = new Map<string, TrialRecording>();
  readonly #use: FolderUse;
  readonly #baseURL: string | undefined;
  /** Whether other processes run the rest of the plan, and may take the same recordings of others. */
  #isPart = false;
  /** The trials of other names whose invalid goes were taken, by the id of the taker. */
  readonly #instead = new Map<string, string>();
  /** The planned trials that it has not recorded. */
  readonly #unrecorded = new Set<string>();
  #known: readonly Nearest[] | undefined;
  #prepared = false;
  readonly #counts = { replayed: 0, mixed: 0, asked: 0, recorded: 0 };
  readonly #doubts: Doubts = {
    redacted: 0,
    invalid: 0,
    olderKept: 0,
    replayedResults: 0,
    ranTools: 0,
    drawn: [],
  };

  /**
   * Neither reads nor writes recordings yet.
   *
   * @param baseURL The server of entries that name none; default: OpenAI's.
   * @throws {InputError} If what is at the folder's path cannot be replayed from.
   */
  constructor({ folder, mode }: RecordingOptions, baseURL?: string) {
    this.#baseURL = baseURL;
    if (mode === "live") throw new RangeError("Cannot record as the mode must not be live");
    this.mode = mode;
    this.folder = folder;
    this.#use = FolderUse.of(folder);
    if (mode !== "record") assertFolder(folder, mode === "auto");
  }

  /** Notice for the user before a run. */
  get notice(): string {
    return this.mode === "replay"
      ? `Replays from ${this.folder}: no model is asked`
      : this.mode === "auto"
      ? `Replays what ${this.folder} has, asks models for the rest, and records it there`
      : `Records model replies in ${this.folder}`;
  }

  /** What became of its trials; see {@linkcode runsSummary}. */
  get counts(): RecordingCounts {
    return this.#counts;
  }

  /** The number of recordings in its folder that are of no trial claimed in this process; 0 but in mode `auto`. */
  get others(): number {
    return this.mode === "auto" ? this.#use.others() : 0;
  }

  /** Lines for the user after a run: how many trials were replayed and recorded, and {@linkcode doubts}. */
  get summary(): string[] {
    return [...runsSummary([this]), ...this.doubts];
  }

  /** Lines for the user about recordings that are incomplete or missing. */
  get doubts(): string[] {
    const isAnew = this.mode === "record" &&
      this.#doubts.drawn.some(({ origin }) => origin !== undefined && origin.lost.length > 0);
    const all = isAnew ? recordingsIn(this.folder) : [];
    const left = all.filter(({ trial }) => this.#unrecorded.has(trial)).length;
    return doubtsOf(this.#doubts, left);
  }

  /**
   * Returns a model whose requests go through the recordings. It is connected on the first live request, or
   * at once in mode `record`.
   *
   * @throws {InputError} If it cannot be connected.
   */
  model(entry: ModelEntry, identity: Omit<Model, "reply">, connect: () => Model): Model {
    let model: Model | undefined;
    const options = recordedModelOptions(entry);
    const source: ConnectableModel = {
      options,
      ...serverOf(entry, this.#baseURL),
      isFree: identity.simulated && !isSimulator(entry.model),
      connect: () => model ??= connect(),
    };
    if (this.mode === "record") source.connect();
    const { name, simulated, api, toolChoice, takes } = identity;
    const reply = (request: ModelRequest): Promise<ModelReply> => {
      const trial = this.#open.get(request.context.trial);
      if (trial !== undefined) return trial.reply(request, source);
      return Promise.reject(new Error(`no trial is recorded as ${request.context.trial}`));
    };
    return { name, simulated, api, toolChoice, takes, recorded: jsonText(options), reply };
  }

  /**
   * Checks that recordings can be written.
   *
   * @throws {InputError} If they cannot.
   */
  prepare(): void {
    if (this.#prepared) return;
    assertWritable(this.folder);
    this.#prepared = true;
  }

  /** Begins a trial, so that its requests find its recording. */
  begin(
    { id, model }: UsedRecording,
    { seconds }: { readonly seconds?: number | undefined } = {},
  ): TrialRecording {
    const { folder, mode } = this;
    const path = recordingPath(folder, id, model);
    this.#use.claimed.add(redactRecord(id));
    const recording = new TrialRecording({
      ...{ trial: id, mode, folder, path },
      seconds,
      find: (key, hash, server) => {
        const last = readTrialRecording(path, id);
        const isOther = last !== undefined && last.requests[0]?.hash !== hash;
        const own = (isOther ? readTrialRecording(keptPath(path, hash), id) : undefined) ?? last;
        if (mode === "record") return own;
        const isSame = own?.requests.some((one) =>
          requestKey(one) === key && one.hash === hash &&
          (mode === "replay" || one.server === server)
        );
        if (isSame && this.#use.take(own!, id)) return own;
        if (mode === "replay") {
          if (!isSame) return own;
          throw cannot(
            `use the recording ${path}`,
            "each trial of a run needs a conversation of its own",
            "another trial of this run has the same one; record it again with --record=auto",
          );
        }
        const other = this.#isPart ? undefined : this.#use.find(
          { path, id, model },
          { key, hash, server },
        );
        if (other !== undefined) this.prepare();
        return other ?? (isSame ? undefined : own);
      },
      invalid: (hash) => this.#invalidOf({ path, id, model }, hash),
      origin: (hash, file) => {
        const { runs, lost } = file?.origin ?? { runs: [this.#use.manifests.run], lost: [] };
        return { runs, lost: lost.concat(this.#use.lostRuns(id, hash, file, mode === "record")) };
      },
      nearest: () => nearestTo(id, this.#known ??= recordingsIn(folder)),
      prepare: () => this.prepare(),
    });
    this.#open.set(id, recording);
    return recording;
  }

  /**
   * Returns the invalid goes of a trial. A whole plan that is asked anew is another run, and only a part of it would be
   * in place of what was invalid.
   */
  #invalidOf(
    { path, id }: UsedRecording & { readonly path: string },
    hash: string,
  ): InvalidGoes | undefined {
    if (this.mode === "record" && !this.#isPart) return undefined;
    const own = this.#use.manifests.invalidOf(hash).get(redactRecord(id));
    if (own !== undefined) return own;
    // The trial may have had another name.
    if (this.mode !== "auto" || this.#isPart || isThere(path)) return undefined;
    const found = this.#use.findInvalid(id, hash);
    if (found !== undefined) this.#instead.set(id, found[0]);
    return found?.[1];
  }

  /**
   * Reserves the files of trials for one benchmark, so that another one in this process does not overwrite
   * them, and what they record for these trials.
   *
   * @param planned All trials of its plan; default: those that are run.
   * @throws {InputError} If another benchmark records one of them there.
   */
  claim(
    trials: Iterable<UsedRecording>,
    subject: string,
    planned: Iterable<UsedRecording> = trials,
  ): void {
    const parts = new Set(Array.from(trials, ({ id }) => id));
    for (const { id } of planned) {
      this.#use.claimed.add(redactRecord(id));
      this.#unrecorded.add(redactRecord(id));
      this.#isPart ||= !parts.has(id);
    }
    if (this.mode !== "record") return;
    for (const { id, model } of trials) {
      const path = recordingPath(this.folder, id, model);
      const owner = owners.get(path) ?? subject;
      if (owner !== subject) {
        throw cannot(
          `record ${subject} in ${this.folder}`,
          `${owner} records the same trials there`,
          `give each a folder of its own, or run one file or test at a time: both have ${
            printable(id, 500)
          }`,
        );
      }
      owners.set(path, subject);
    }
  }

  /** Ends a trial, so that requests no longer find its recording. */
  end({ trial }: TrialRecording): void {
    this.#open.delete(trial);
  }

  /**
   * Writes the recording of a trial if any model was asked. An invalid trial is not recorded, as every replay
   * would be invalid too; an older recording then stays. The manifest lists it, so that a later go is known
   * to be none at the first.
   *
   * @param earlier The invalid goes of the trial, with this one if it is invalid.
   * @throws {InputError} If it cannot be written.
   */
  async keep(
    recording: TrialRecording,
    isValid: boolean,
    earlier: Pick<Recording, "replaced" | "replacedIdle"> = {},
  ): Promise<void> {
    if (recording.mixed) this.#counts.mixed++;
    else if (recording.live > 0) this.#counts.asked++;
    if (recording.replayed) {
      this.#counts.replayed++;
      this.#doubts.redacted += recording.redacted;
    }
    this.#doubts.drawn.push({ origin: recording.origin });
    this.#doubts.replayedResults += recording.replayedResults;
    if (this.mode === "replay" && recording.hasRunTools) this.#doubts.ranTools++;
    if (recording.live === 0 && !recording.adopted && !recording.hasNewResults) return;
    const trial = redactRecord(recording.trial);
    const instead = this.#instead.get(recording.trial);
    if (!isValid) {
      if (recording.live === 0) return;
      this.#doubts.invalid++;
      if (isThere(recording.path)) this.#doubts.olderKept++;
      const { hash, origin } = recording;
      const { replaced, replacedIdle } = earlier;
      if (hash === undefined || replaced === undefined) return;
      const invalid = { replaced, ...defined({ replacedIdle }) };
      this.#use.manifests.list({ trial, hash, invalid, instead, runs: origin?.runs ?? [] });
      return;
    }
    const text = recording.text(earlier);
    let written: Recording;
    try {
      written = parseRecording(text, "what was recorded");
    } catch (error) {
      // A custom model may return an invalid reply; the trial still counts.
      this.#doubts.unusableReply ??= reasonOf(error).replaceAll(/\s+/g, " ");
      return;
    }
    const { path } = recording;
    const before = readIfUsable(path);
    const { hash } = before?.requests[0] ?? recording;
    if (hash !== recording.hash) await writeWhole(keptPath(path, hash!), recordingText(before!));
    await writeWhole(path, text, () => {
      const { requests: [first], origin: { runs } } = written;
      // A request that was given up has no reply to keep.
      if (first === undefined) return;
      const said = { trial, hash: first.hash, recording: recordingHash(written), instead, runs };
      this.#use.manifests.list(said);
    });
    this.#unrecorded.delete(trial);
    if (recording.live === 0) return;
    this.#counts.recorded++;
    this.#doubts.redacted += recording.redacted;
  }
}

/** The benchmark that records each file, by path. */
const owners = new Map<string, string>();
