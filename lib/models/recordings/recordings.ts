/**
 * Recordings of a run: a folder of files, one for each trial, and who replies.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { fileReason, InputError, reasonOf } from "../../base/errors.ts";
import { isJsonObject, parseJson, printable } from "../../base/json.ts";
import type { Model, ModelReply, ModelRequest } from "../model.ts";
import type { ModelEntry } from "../entry.ts";
import {
  type Asked,
  recordedModel,
  RECORDING_MODES,
  type RecordingMode,
  TrialRecording,
} from "./trial_recording.ts";
import { parseRecording, readRecording, recordingPath } from "./file.ts";
import { type Nearest, nearestTo } from "./miss.ts";
import { askedOf, RequestReader } from "./request.ts";
import { redactRecord } from "../../base/redact.ts";

/** Where recordings are, and what is done with them. */
export interface RecordingOptions {
  /** The folder: one file for each trial, by model. */
  readonly folder: string;
  /**
   * Who replies: `live` the models, as without recordings; `record` the models, and what they say is kept;
   * `replay` recordings alone, and what is not there is an error; `auto` recordings where there are any that
   * match, and the models where there are none, which is kept.
   */
  readonly mode: RecordingMode;
}

const OPTIONS = z.strictObject({
  folder: z.string().min(1),
  mode: z.enum(RECORDING_MODES, {
    error: `must be one of ${RECORDING_MODES.join(", ")}`,
  }),
});

/**
 * The options with which something is recorded or replayed; `undefined` if models are asked as ever.
 *
 * @throws {InputError} If they are not usable.
 */
export function recordingOptions(
  options: RecordingOptions | undefined,
  subject: string,
): RecordingOptions | undefined {
  if (options === undefined) return undefined;
  const given = parseWith(OPTIONS, options, `the recordings of ${subject}`);
  return given.mode === "live" ? undefined : given;
}

/** What users write, by the mode: the flags that name the folder of recordings. */
export const RECORDING_FLAGS = ["record", "replay", "auto"] as const;

/**
 * The recordings that flags ask for; `undefined` without any.
 *
 * @param folderOf The value of a flag.
 * @throws {InputError} If there is more than one.
 */
export function recordingsOfFlags(
  folderOf: (flag: typeof RECORDING_FLAGS[number]) => string | undefined,
): RecordingOptions | undefined {
  const given = RECORDING_FLAGS.flatMap((mode): RecordingOptions[] => {
    const folder = folderOf(mode);
    return folder === undefined ? [] : [{ folder, mode }];
  });
  if (given.length < 2) return given[0];
  throw new InputError(
    `Cannot use ${
      given.map(({ mode }) => `--${mode}`).join(" and ")
    } together as models are either ` +
      "recorded or replayed: give one of them",
  );
}

/**
 * Refuses what cannot be recorded or replayed.
 *
 * @throws {InputError} If an agent of one's own works on the tasks, or tasks are drawn that nothing recorded.
 */
export function assertRecordable(
  subject: string,
  { mode }: RecordingOptions,
  { agent, fresh }: { readonly agent: boolean; readonly fresh: boolean },
): void {
  if (agent) {
    throw new InputError(
      `Cannot ${
        mode === "record" ? "record" : "replay"
      } ${subject} as an agent of your own asks models that ` +
        `toolgate does not see: the mode is ${mode}`,
    );
  }
  if (fresh && mode !== "record") {
    throw new InputError(
      `Cannot replay ${subject} as recordings are of certain tasks and its seed is "fresh": ` +
        "add --seed=NUMBER, the seed that was recorded",
    );
  }
}

/** Whose recordings they are. */
export interface RecordedTrial {
  /** The trial's id. */
  readonly id: string;
  /** The name of its model. */
  readonly model: string;
}

/** The recordings of a run. */
export class Recordings {
  /** Who replies. */
  readonly mode: Exclude<RecordingMode, "live">;
  /** Where they are. */
  readonly folder: string;

  readonly #open = new Map<string, TrialRecording>();
  #known: readonly Nearest[] | undefined;
  #prepared = false;
  #recorded = 0;
  #replayed = 0;
  #mixed = 0;
  #redacted = 0;
  #invalid = 0;
  #unusable: string | undefined;
  #kept = 0;

  /**
   * Nothing is read or written yet.
   *
   * @throws {InputError} If the folder of a replay is not there.
   */
  constructor({ folder, mode }: RecordingOptions) {
    if (mode === "live") throw new RangeError("Cannot record as the mode must not be live");
    this.mode = mode;
    this.folder = folder;
    if (mode === "replay") assertFolder(folder);
  }

  /** What a person must know before anything is run. */
  get notice(): string {
    return this.mode === "replay"
      ? `Replays from ${this.folder}: no model is asked`
      : this.mode === "auto"
      ? `Replays what ${this.folder} has, asks models for the rest, and records it there`
      : `Records in ${this.folder} what models say`;
  }

  /** What a person must know once everything was run: how many trials came from where, and {@linkcode doubts}. */
  get summary(): string[] {
    return [
      ...(this.#replayed === 0 ? [] : [
        `${count(this.#replayed)} replayed from ${this.folder}: no model was asked for ${
          this.#replayed === 1 ? "it" : "these"
        }`,
      ]),
      ...(this.#mixed === 0 ? [] : [
        `${
          count(this.#mixed)
        } replayed in part from ${this.folder}: models were asked for the rest`,
      ]),
      ...(this.#recorded === 0 ? [] : [`${count(this.#recorded)} recorded in ${this.folder}`]),
      ...this.doubts,
    ];
  }

  /** What a person must know of recordings that are not what they should be. */
  get doubts(): string[] {
    return [
      ...(this.#redacted === 0 ? [] : [
        `${this.#redacted} ${
          this.#redacted === 1 ? "reply has" : "replies have"
        } [redacted] in the recording in place of what looks like a secret: a replay may go another way`,
      ]),
      ...(this.#unusable === undefined ? [] : [
        `Trials were not recorded, as a reply is none that can be kept: ${this.#unusable}`,
      ]),
      ...(this.#invalid === 0 ? [] : [
        `${count(this.#invalid)} not recorded, as infrastructure had spoiled ${
          this.#invalid === 1 ? "it" : "them"
        }` +
        (this.#kept === 0 ? "" : `; ${this.#kept} of these have an older recording, which stays`),
      ]),
    ];
  }

  /**
   * A model that is asked through the recordings: it is connected when it is first asked, but at once where
   * everything is recorded.
   *
   * @throws {InputError} If it cannot be connected.
   */
  model(entry: ModelEntry, identity: Omit<Model, "reply">, connect: () => Model): Model {
    let model: Model | undefined;
    const asked: Asked = { options: askedOf(entry), connect: () => model ??= connect() };
    if (this.mode === "record") asked.connect();
    return recordedModel(identity, (request: ModelRequest): Promise<ModelReply> => {
      const trial = this.#open.get(request.context.trial);
      if (trial !== undefined) return trial.reply(request, asked);
      return Promise.reject(new Error(`no trial is recorded as ${request.context.trial}`));
    });
  }

  /**
   * Makes sure that what is recorded can be written.
   *
   * @throws {InputError} If it cannot.
   */
  prepare(): void {
    if (this.#prepared) return;
    try {
      for (const name of ["write", "read"] as const) {
        // A file is renamed once it is whole, which takes both.
        if (Deno.permissions.querySync({ name, path: this.folder }).state === "granted") continue;
        throw new Deno.errors.NotCapable(`it needs --allow-${name}=${this.folder}`);
      }
      Deno.mkdirSync(this.folder, { recursive: true });
      // Only a file tells whether the system permits one.
      const file = partOf(`${this.folder}/writable`);
      Deno.writeTextFileSync(file, "");
      Deno.removeSync(file);
    } catch (error) {
      throw new InputError(
        `Cannot record in ${this.folder} as a folder must be writable: ${fileReason(error)}`,
      );
    }
    this.#prepared = true;
  }

  /** Begins a trial, whose requests then find it. */
  begin(
    { id, model }: RecordedTrial,
    { seconds }: { readonly seconds?: number | undefined } = {},
  ): TrialRecording {
    const { folder, mode } = this;
    const path = recordingPath(folder, id, model);
    const recording = new TrialRecording({
      ...{ trial: id, mode, folder, path },
      ...(seconds === undefined ? {} : { seconds }),
      read: () => readOf(path, id),
      nearest: () => nearestTo(id, this.#known ??= recordingsIn(folder)),
      prepare: () => this.prepare(),
    });
    this.#open.set(id, recording);
    return recording;
  }

  /**
   * Takes the files of trials for one benchmark: what it records, another of this process must not write
   * over.
   *
   * @throws {InputError} If another one records one of them there.
   */
  claim(trials: Iterable<RecordedTrial>, subject: string): void {
    if (this.mode !== "record") return;
    for (const { id, model } of trials) {
      const path = recordingPath(this.folder, id, model);
      const owner = owners.get(path) ?? subject;
      if (owner !== subject) {
        throw new InputError(
          `Cannot record ${subject} in ${this.folder} as ${owner} records the same trials there: give each ` +
            `a folder of its own, or run one file or test at a time: both have ${
              printable(id, 500)
            }`,
        );
      }
      owners.set(path, subject);
    }
  }

  /** Ends a trial whatever came of it: its requests find it no longer. */
  end({ trial }: TrialRecording): void {
    this.#open.delete(trial);
  }

  /**
   * Keeps what was asked in a trial, if models were: none of it where infrastructure has spoiled it, as that
   * would be spoiled for ever; what was recorded before stays then.
   *
   * @throws {InputError} If it cannot be written.
   */
  async keep(recording: TrialRecording, isValid: boolean): Promise<void> {
    if (recording.mixed) this.#mixed++;
    if (recording.replayed) {
      this.#replayed++;
      this.#redacted += recording.redacted;
    }
    if (recording.live === 0) return;
    if (!isValid) {
      this.#invalid++;
      if (exists(recording.path)) this.#kept++;
      return;
    }
    const text = recording.text();
    try {
      parseRecording(text, "what was recorded");
    } catch (error) {
      // Models of the user's own may say what no model says; the trial stands all the same.
      this.#unusable ??= reasonOf(error).replaceAll(/\s+/g, " ");
      return;
    }
    await writeWhole(recording.path, text);
    this.#recorded++;
    this.#redacted += recording.redacted;
  }
}

/** Who records what, by path. */
const owners = new Map<string, string>();

function count(trials: number): string {
  return `${trials} ${trials === 1 ? "trial was" : "trials were"}`;
}

/**
 * Recordings of what is asked outside of trials, such as by a judge of one's own tests: one file for each
 * question, in which it stands as often as it was asked.
 */
export class LooseRecordings {
  readonly #recordings: Recordings;
  readonly #open = new Map<string, TrialRecording>();
  #writing: Promise<void> = Promise.resolve();

  /** As {@linkcode Recordings}. */
  constructor(options: RecordingOptions) {
    this.#recordings = new Recordings(options);
  }

  /** Answers a request; what a model said is kept before it is told. */
  async reply(request: ModelRequest, asked: Asked, name: string): Promise<ModelReply> {
    const { hash } = new RequestReader().read(request, asked.options);
    const id = `judge=${encodeURI(name.toWellFormed())} question=${hash.slice(0, 16)}`;
    const recording = this.#open.get(id) ??
      this.#recordings.begin({ id, model: name });
    this.#open.set(id, recording);
    const before = recording.live;
    try {
      return await recording.assertionReply(request, asked);
    } catch (error) {
      throw recording.fault ?? error;
    } finally {
      if (recording.live > before) {
        // One after another, so that none is lost.
        const writing = this.#writing.then(() =>
          this.#recordings.keep(recording, recording.hasReply)
        );
        this.#writing = writing.catch(() => {});
        await writing;
      }
    }
  }
}

function assertFolder(folder: string): void {
  let isEmpty: boolean;
  try {
    if (!Deno.statSync(folder).isDirectory) throw new Deno.errors.NotADirectory();
    isEmpty = Deno.readDirSync(folder)[Symbol.iterator]().next().done === true;
  } catch (error) {
    const reason = error instanceof Deno.errors.NotADirectory ? "it is a file" : fileReason(error);
    throw new InputError(
      `Cannot replay from ${folder} as it must be a folder of recordings: ${reason}`,
    );
  }
  if (!isEmpty) return;
  throw new InputError(
    `Cannot replay from ${folder} as it must have recordings: it is empty; record some with --record`,
  );
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** The recording of a trial, which must be of that trial. */
function readOf(path: string, id: string) {
  const recording = readRecording(path);
  if (recording === undefined || recording.trial === redactRecord(id)) return recording;
  throw new InputError(
    `Cannot use the recording ${path} as it must be of the trial ${printable(id, 500)}: ` +
      `it is of ${printable(recording.trial, 500)}`,
  );
}

/** So many files are looked at for what is nearest. */
const MOST_FILES = 20_000;
/** The id of a trial stands in the first lines. */
const HEAD_BYTES = 8_192;

/** The trials of all recordings in a folder, as their first lines tell. */
function recordingsIn(folder: string): Nearest[] {
  const found: Nearest[] = [];
  try {
    for (const path of filesIn(folder)) {
      const trial = trialIn(path);
      if (trial !== undefined) found.push({ path, trial });
      if (found.length >= MOST_FILES) break;
    }
  } catch {
    // What cannot be read is near to nothing.
  }
  return found;
}

function* filesIn(folder: string): Generator<string> {
  const inside = (path: string) =>
    [...Deno.readDirSync(path)].sort((one, other) => one.name < other.name ? -1 : 1);
  for (const { name, isDirectory } of inside(folder)) {
    if (!isDirectory) continue;
    for (const file of inside(`${folder}/${name}`)) {
      if (file.isFile && file.name.endsWith(".json")) yield `${folder}/${name}/${file.name}`;
    }
  }
}

function trialIn(path: string): string | undefined {
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(HEAD_BYTES);
  const size = file.readSync(bytes) ?? 0;
  const head = new TextDecoder().decode(bytes.subarray(0, size));
  const line = head.split("\n").find((one) => one.startsWith('  "trial": '));
  const value = parseJson(`{${line?.replace(/,$/, "") ?? ""}}`);
  const trial = isJsonObject(value) ? value["trial"] : undefined;
  return typeof trial === "string" ? trial : undefined;
}

/** The name of a file that is not whole. */
function partOf(path: string): string {
  return `${path}.${crypto.randomUUID()}.part`;
}

/** Writes a file that takes the place of what was there once it is whole; others may write it as well. */
async function writeWhole(path: string, text: string): Promise<void> {
  const part = partOf(path);
  try {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(part, text);
    await Deno.rename(part, path);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    throw new InputError(`Cannot write the recording ${path}: ${fileReason(error)}`);
  }
}
