/**
 * Recordings: a folder with the requests and replies of a run, one file for each trial, to replay it later.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { cannot, cannotFile, fileReason, InputError, reasonOf } from "../../base/errors.ts";
import { defined, isJsonObject, parseJson, printable } from "../../base/json.ts";
import type { Model, ModelReply, ModelRequest } from "../model.ts";
import type { ModelEntry } from "../entry.ts";
import { OPENAI_URL } from "../http/endpoint.ts";
import {
  type ConnectableModel,
  isOfServer,
  recordedModel,
  RECORDING_MODES,
  type RecordingMode,
  requestKey,
  TrialRecording,
} from "./trial_recording.ts";
import {
  drawOf,
  type InvalidMark,
  MARK_ENDING,
  markPath,
  markText,
  parseRecording,
  readMark,
  readRecording,
  type RecordedRequest,
  type Recording,
  recordingPath,
} from "./_file.ts";
import { idWords, type Nearest, nearestTo } from "./_miss.ts";
import { recordedModelOptions, RequestReader, serverHash } from "./_request.ts";
import { countText } from "../../base/numbers.ts";
import { redactRecord } from "../../base/redact.ts";
import { resolvePath } from "../../base/output_file.ts";

/** Options of recording and replaying. */
export interface RecordingOptions {
  /** The folder: one file for each trial, by model. */
  readonly folder: string;
  /**
   * Where replies come from. `live`: from the models, as without recordings. `record`: from the models, and
   * they are recorded. `replay`: from recordings only; a request without one is an error. `auto`: from a
   * recording of the same content if there is one that answers no other trial, whatever the name of its test,
   * otherwise from the model, and recorded.
   */
  readonly mode: RecordingMode;
}

/**
 * Returns what recordings must know of the server of an entry.
 *
 * @param usual The server of entries that name none; default: OpenAI's.
 */
export function serverOf(
  { model, baseURL }: ModelEntry,
  usual = OPENAI_URL,
): Pick<ConnectableModel, "server"> {
  // Each process simulates its own.
  if (isSimulator(model) && baseURL === undefined) return {};
  return defined({ server: serverHash(baseURL ?? usual) });
}

function isSimulator(model: string): boolean {
  return model.startsWith("sim:");
}

/** Schema of these options. */
export const RECORDINGS: z.ZodType<RecordingOptions> = z.strictObject({
  folder: z.string().min(1),
  mode: z.enum(RECORDING_MODES, {
    error: `must be one of ${RECORDING_MODES.join(", ")}`,
  }),
});

/**
 * Checks the options; returns `undefined` if nothing is recorded or replayed.
 *
 * @throws {InputError} If they are invalid.
 */
export function recordingOptions(
  options: RecordingOptions | undefined,
  subject: string,
): RecordingOptions | undefined {
  if (options === undefined) return undefined;
  const checked = parseWith(RECORDINGS, options, `the recordings of ${subject}`);
  return checked.mode === "live" ? undefined : checked;
}

/**
 * Checks that a benchmark can be recorded or replayed.
 *
 * @throws {InputError} If it runs a custom agent, or replays tasks from a fresh seed.
 */
export function assertRecordable(
  subject: string,
  { mode }: RecordingOptions,
  { agent, fresh }: { readonly agent: boolean; readonly fresh: boolean },
): void {
  if (agent) {
    throw cannot(
      `${mode === "record" ? "record" : "replay"} ${subject}`,
      "toolgate does not see the requests of a custom agent",
      `the mode is ${mode}`,
    );
  }
  if (fresh && mode !== "record") {
    throw cannot(
      `replay ${subject}`,
      'recordings are of certain tasks and its seed is "fresh"',
      `add --seed=NUMBER, ${mode === "auto" ? "the same each time" : "the seed that was recorded"}`,
    );
  }
}

/** A trial to record or replay. */
export interface RecordedTrial {
  /** The trial's id. */
  readonly id: string;
  /** Name of its model. */
  readonly model: string;
}

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
  /** The files of marks that trials took from others, by the id of the taker. */
  readonly #takenMarks = new Map<string, string>();
  #known: readonly Nearest[] | undefined;
  #prepared = false;
  #recorded = 0;
  #replayed = 0;
  #mixed = 0;
  #asked = 0;
  #redacted = 0;
  #invalid = 0;
  #unusableReply: string | undefined;
  #olderKept = 0;

  /**
   * Neither reads nor writes recordings yet.
   *
   * @param baseURL The server of entries that name none; default: OpenAI's.
   * @throws {InputError} If the folder of a replay does not exist or is empty.
   */
  constructor({ folder, mode }: RecordingOptions, baseURL?: string) {
    this.#baseURL = baseURL;
    if (mode === "live") throw new RangeError("Cannot record as the mode must not be live");
    this.mode = mode;
    this.folder = folder;
    this.#use = uses.getOrInsertComputed(resolvePath(folder), () => new FolderUse(folder));
    if (mode === "replay") assertFolder(folder);
  }

  /** Notice for the user before a run. */
  get notice(): string {
    return this.mode === "replay"
      ? `Replays from ${this.folder}: no model is asked`
      : this.mode === "auto"
      ? `Replays what ${this.folder} has, asks models for the rest, and records it there`
      : `Records model replies in ${this.folder}`;
  }

  /** What became of its trials; see {@linkcode autoSummary}. */
  get counts(): RecordingCounts {
    return {
      ...{ replayed: this.#replayed, mixed: this.#mixed, asked: this.#asked },
      recorded: this.#recorded,
    };
  }

  /** The number of recordings in its folder that are of no trial claimed in this process. */
  get others(): number {
    return this.#use.others();
  }

  /** Lines for the user after a run: how many trials were replayed and recorded, and {@linkcode doubts}. */
  get summary(): string[] {
    if (this.mode === "auto") return [...autoSummary([this]), ...this.doubts];
    return [
      ...(this.#replayed === 0 ? [] : [
        `${count(this.#replayed)} replayed from ${this.folder}: no model was asked for ${
          this.#replayed === 1 ? "it" : "these"
        }`,
      ]),
      ...(this.#recorded === 0 ? [] : [`${count(this.#recorded)} recorded in ${this.folder}`]),
      ...this.doubts,
    ];
  }

  /** Lines for the user about recordings that are incomplete or missing. */
  get doubts(): string[] {
    return [
      ...(this.#redacted === 0 ? [] : [
        `${this.#redacted} ${
          this.#redacted === 1 ? "reply has" : "replies have"
        } [redacted] in the recording in place of what looks like a secret: a replay may go another way`,
      ]),
      ...(this.#unusableReply === undefined ? [] : [
        `Trials were not recorded, as a reply cannot be saved: ${this.#unusableReply}`,
      ]),
      ...(this.#invalid === 0 ? [] : [
        `${count(this.#invalid)} not recorded, as infrastructure errors made ${
          this.#invalid === 1 ? "it" : "them"
        } invalid` +
        (this.#olderKept === 0
          ? ""
          : `; ${this.#olderKept} of these have an older recording, which stays`),
      ]),
    ];
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
    return recordedModel(identity, (request: ModelRequest): Promise<ModelReply> => {
      const trial = this.#open.get(request.context.trial);
      if (trial !== undefined) return trial.reply(request, source);
      return Promise.reject(new Error(`no trial is recorded as ${request.context.trial}`));
    });
  }

  /**
   * Checks that recordings can be written.
   *
   * @throws {InputError} If they cannot.
   */
  prepare(): void {
    if (this.#prepared) return;
    try {
      for (const name of ["write", "read"] as const) {
        // A complete file is renamed, which needs both permissions.
        if (Deno.permissions.querySync({ name, path: this.folder }).state === "granted") continue;
        throw new Deno.errors.NotCapable(`it needs --allow-${name}=${this.folder}`);
      }
      Deno.mkdirSync(this.folder, { recursive: true });
      // Only writing a file shows whether the system permits it.
      const file = temporaryPath(`${this.folder}/writable`);
      Deno.writeTextFileSync(file, "", { createNew: true });
      Deno.removeSync(file);
    } catch (error) {
      throw cannot(`record in ${this.folder}`, "a folder must be writable", fileReason(error));
    }
    this.#prepared = true;
  }

  /** Begins a trial, so that its requests find its recording. */
  begin(
    { id, model }: RecordedTrial,
    { seconds, alone = false }: {
      readonly seconds?: number | undefined;
      /** Whether only its own recording may answer it; default false. */
      readonly alone?: boolean;
    } = {},
  ): TrialRecording {
    const { folder, mode } = this;
    const path = recordingPath(folder, id, model);
    this.#use.claimed.add(redactRecord(id));
    const recording = new TrialRecording({
      ...{ trial: id, mode, folder, path },
      ...defined({ seconds }),
      find: (key, hash, server) => {
        const own = readTrialRecording(path, id);
        if (alone || mode === "record") return own;
        const isSame = own?.requests.some((one) =>
          requestKey(one) === key && one.hash === hash &&
          (mode === "replay" || isOfServer(one, server))
        );
        if (isSame && this.#use.take(own!, id)) return own;
        if (mode === "replay") {
          if (isSame) throw sharedDraw(path);
          return own;
        }
        const other = this.#isPart ? undefined : this.#use.find(
          { path, id, model },
          { key, hash, server },
        );
        if (other !== undefined) this.prepare();
        return other ?? (isSame ? undefined : own);
      },
      mark: (hash) => alone ? undefined : this.#markOf({ path, id, model }, hash),
      nearest: () => nearestTo(id, this.#known ??= recordingsIn(folder)),
      prepare: () => this.prepare(),
    });
    this.#open.set(id, recording);
    return recording;
  }

  /**
   * Returns the mark of a trial. A whole plan that is asked anew is another run, and only a part of it would be
   * in place of what was invalid.
   */
  #markOf(
    { path, id }: RecordedTrial & { readonly path: string },
    hash: string,
  ): InvalidMark | undefined {
    if (this.mode === "record" && !this.#isPart) return undefined;
    const mark = readMark(markPath(path));
    if (mark?.trial === redactRecord(id) && mark.hash === hash) return mark;
    // The trial may have had another name.
    if (this.mode !== "auto" || this.#isPart || exists(path)) return undefined;
    const found = this.#use.findMark(path.slice(0, path.lastIndexOf("/")), hash);
    if (found !== undefined) this.#takenMarks.set(id, found.path);
    return found?.mark;
  }

  /**
   * Reserves the files of trials for one benchmark, so that another one in this process does not overwrite
   * them, and what they record for these trials.
   *
   * @param planned All trials of its plan; default: those that are run.
   * @throws {InputError} If another benchmark records one of them there.
   */
  claim(
    trials: Iterable<RecordedTrial>,
    subject: string,
    planned: Iterable<RecordedTrial> = trials,
  ): void {
    const parts = new Set(Array.from(trials, ({ id }) => id));
    for (const { id } of planned) {
      this.#use.claimed.add(redactRecord(id));
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
   * would be invalid too; an older recording then stays. A mark is left of it, so that a later go is known to
   * be none at the first.
   *
   * @param before The invalid goes of the trial, with this one if it is invalid.
   * @throws {InputError} If it cannot be written.
   */
  async keep(
    recording: TrialRecording,
    isValid: boolean,
    before: Pick<Recording, "replaced" | "replacedIdle"> = {},
  ): Promise<void> {
    if (recording.mixed) this.#mixed++;
    else if (recording.live > 0) this.#asked++;
    if (recording.replayed) {
      this.#replayed++;
      this.#redacted += recording.redacted;
    }
    if (recording.live === 0 && !recording.adopted) return;
    if (!isValid) {
      if (recording.live === 0) return;
      this.#invalid++;
      if (exists(recording.path)) this.#olderKept++;
      const { trial, hash } = recording;
      const { replaced, ...others } = before;
      if (hash === undefined || replaced === undefined) return;
      const text = markText({ trial: redactRecord(trial), hash, replaced, ...others });
      await writeWhole(markPath(recording.path), text);
      await this.#removeTakenMark(trial);
      return;
    }
    const text = recording.text(before);
    try {
      parseRecording(text, "what was recorded");
    } catch (error) {
      // A custom model may return an invalid reply; the trial still counts.
      this.#unusableReply ??= reasonOf(error).replaceAll(/\s+/g, " ");
      return;
    }
    await writeWhole(recording.path, text);
    // The recording tells of them now.
    await removeIfThere(markPath(recording.path));
    await this.#removeTakenMark(recording.trial);
    if (recording.live === 0) return;
    this.#recorded++;
    this.#redacted += recording.redacted;
  }

  async #removeTakenMark(trial: string): Promise<void> {
    const path = this.#takenMarks.get(trial);
    if (path !== undefined) await removeIfThere(path);
  }
}

/** How many trials were answered from recordings, in part, and not at all; and how many of these were recorded. */
export interface RecordingCounts {
  readonly replayed: number;
  readonly mixed: number;
  readonly asked: number;
  readonly recorded: number;
}

/**
 * Returns one line on runs that share a folder in mode `auto`: how many trials its recordings answered, and how
 * many of its recordings are of none of their trials; nothing if there was no trial.
 *
 * @param whole What the runs are all of: other files of a `deno test` may use the same folder.
 */
export function autoSummary(
  runs: readonly Pick<Recordings, "counts" | "folder" | "others">[],
  whole: "run" | "file" = "run",
): string[] {
  const sum = (name: keyof RecordingCounts) =>
    runs.reduce((all, { counts }) => all + counts[name], 0);
  const [replayed, mixed, asked] = [sum("replayed"), sum("mixed"), sum("asked")];
  const [{ folder, others } = { folder: "", others: 0 }] = runs;
  const [all, recorded] = [replayed + mixed + asked, sum("recorded")];
  if (all === 0) return [];
  const place = `${folder.replace(/(?<=.)[/\\]+$/, "")}/`;
  const rest = [
    ...(mixed === 0 ? [] : [`${mixed} in part`]),
    ...(asked === 0 ? [] : [`${asked} asked`]),
  ].join(", ");
  const end = replayed === all
    ? ` in ${place}, none asked`
    : `, ${rest}${recorded === mixed + asked ? " and" : `; ${recorded}`} recorded in ${place}`;
  return [
    `${countText(all, "trial")}: ${replayed} from recordings${end}` +
    (others === 0
      ? ""
      : `; ${countText(others, "recording")} there ${
        others === 1 ? "is" : "are"
      } of no trial of this ${whole}`),
  ];
}

/** A recording that may answer another trial than its own. */
interface Candidate {
  readonly path: string;
  readonly trial: string;
  readonly draw: string;
  /** Key and hash of its first request. */
  readonly first: string;
  /** The server of that. */
  readonly origin: Pick<RecordedRequest, "server">;
}

/** A mark, and its file. */
interface MarkFile {
  readonly path: string;
  readonly mark: InvalidMark;
}

/**
 * What the trials of this process take from a folder. Trials of one case are independent draws, so that each
 * recorded conversation answers one of them at most, however many have the same content.
 */
class FolderUse {
  /** The ids of all planned trials, without secrets. */
  readonly claimed = new Set<string>();
  readonly #folder: string;
  /** The trial that each draw answers. */
  readonly #taken = new Map<string, string>();
  /** By the folder of a model. */
  readonly #candidates = new Map<string, readonly Candidate[]>();
  /** By the folder of a model. */
  readonly #marks = new Map<string, MarkFile[]>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes a recording for a trial; returns whether no other trial has it. */
  take(recording: Recording, id: string): boolean {
    const draw = drawOf(recording);
    if (draw === undefined) return true;
    const owner = this.#taken.get(draw) ?? id;
    this.#taken.set(draw, owner);
    return owner === id;
  }

  /** Takes a recording whose first request has this key and hash, of a trial that nobody plans; if there is one. */
  find(
    { path, id, model }: RecordedTrial & { readonly path: string },
    { key, hash, server }: {
      readonly key: string;
      readonly hash: string;
      readonly server: string | undefined;
    },
  ): Recording | undefined {
    const candidates = this.#candidates.getOrInsertComputed(
      path.slice(0, path.lastIndexOf("/")),
      (folder) => candidatesIn(this.#folder, folder, model),
    );
    const kept = new Set(
      candidates.flatMap(({ trial, draw }) => this.claimed.has(trial) ? [draw] : []),
    );
    for (const { path, trial, draw, first, origin } of candidates) {
      if (first !== `${key} ${hash}` || kept.has(draw) || this.#taken.has(draw)) continue;
      if (!isOfServer(origin, server)) continue;
      // It may have been changed since it was listed.
      const recording = readIfUsable(path);
      if (recording?.trial !== trial || drawOf(recording) !== draw) continue;
      this.#taken.set(draw, id);
      return recording;
    }
  }

  /** Takes a mark of a trial that nobody plans, whose first request has this hash; if there is one. */
  findMark(folder: string, hash: string): MarkFile | undefined {
    const marks = this.#marks.getOrInsertComputed(folder, () => marksIn(folder));
    const place = marks.findIndex(({ mark }) =>
      mark.hash === hash && !this.claimed.has(mark.trial)
    );
    return place < 0 ? undefined : marks.splice(place, 1)[0];
  }

  /** The number of recordings of trials that nobody plans. */
  others(): number {
    return recordingsIn(this.#folder)
      .filter(({ trial }) => !this.claimed.has(trial) && !trial.startsWith(JUDGE_ID)).length;
  }
}

/** By the path of the folder. */
const uses = new Map<string, FolderUse>();

/** Returns the recordings in the folder of a model, in the order of their names. */
function candidatesIn(root: string, folder: string, model: string): Candidate[] {
  const found: Candidate[] = [];
  const own = redactRecord(encodeURI(model.toWellFormed()));
  for (const path of jsonFilesIn(folder)) {
    const recording = readIfUsable(path);
    const [first] = recording?.requests ?? [];
    if (recording === undefined || first === undefined) continue;
    const { trial } = recording;
    // A copy under another name is no other draw.
    if (recordingPath(root, trial, model) !== path) continue;
    // Names that differ may share a folder, and each may be of another server.
    if (idWords(trial).get("model") !== own) continue;
    const draw = drawOf(recording)!;
    found.push({
      path,
      trial,
      draw,
      first: `${requestKey(first)} ${first.hash}`,
      origin: defined({ server: first.server }),
    });
    if (found.length >= MAX_FILES) break;
  }
  return found;
}

/** Returns the marks in the folder of a model that can be read, in the order of their names. */
function marksIn(folder: string): MarkFile[] {
  return [...namesIn(folder, MARK_ENDING)].slice(0, MAX_FILES).flatMap((path) => {
    try {
      const mark = readMark(path);
      return mark === undefined ? [] : { path, mark };
    } catch {
      return [];
    }
  });
}

/** Reads a recording of another trial, which may be of any kind; `undefined` if it cannot be used. */
function readIfUsable(path: string): Recording | undefined {
  try {
    return readRecording(path);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

function sharedDraw(path: string): Error {
  return cannot(
    `use the recording ${path}`,
    "each trial of a run needs a conversation of its own",
    "another trial of this run has the same one; record it again with --record=auto",
  );
}

/** The benchmark that records each file, by path. */
const owners = new Map<string, string>();

function count(trials: number): string {
  return `${trials} ${trials === 1 ? "trial was" : "trials were"}`;
}

/** The beginning of the ids of what judges are asked outside of trials. */
const JUDGE_ID = "judge=";

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

function assertFolder(folder: string): void {
  let isEmpty: boolean;
  try {
    if (!Deno.statSync(folder).isDirectory) throw new Deno.errors.NotADirectory();
    isEmpty = Deno.readDirSync(folder)[Symbol.iterator]().next().done === true;
  } catch (error) {
    const reason = error instanceof Deno.errors.NotADirectory ? "it is a file" : fileReason(error);
    throw cannot(`replay from ${folder}`, "it must be a folder of recordings", reason);
  }
  if (!isEmpty) return;
  throw cannot(
    `replay from ${folder}`,
    "it must have recordings",
    "it is empty; record some with --record",
  );
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Reads the recording of a trial, and checks that it is of that trial. */
function readTrialRecording(path: string, id: string) {
  const recording = readRecording(path);
  if (recording === undefined || recording.trial === redactRecord(id)) return recording;
  throw cannot(
    `use the recording ${path}`,
    `it must be of the trial ${printable(id, 500)}`,
    `it is of ${printable(recording.trial, 500)}`,
  );
}

/** Files searched for the nearest recording, at most. */
const MAX_FILES = 20_000;
/** Bytes read of a file: the trial's id is in the first lines. */
const HEAD_BYTES = 8_192;

/** Returns the trials of all recordings in a folder, from their first lines. */
function recordingsIn(folder: string): Nearest[] {
  const found: Nearest[] = [];
  try {
    for (const path of filesIn(folder)) {
      const trial = trialIdIn(path);
      if (trial !== undefined) found.push({ path, trial });
      if (found.length >= MAX_FILES) break;
    }
  } catch {
    // Files that cannot be read are not searched.
  }
  return found;
}

function* filesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of sorted(folder)) {
    if (isDirectory) yield* jsonFilesIn(`${folder}/${name}`);
  }
}

/** Returns the paths of the JSON files in a folder, in the order of their names; none if there is no such folder. */
function jsonFilesIn(folder: string): Generator<string> {
  return namesIn(folder, ".json");
}

function* namesIn(folder: string, ending: string): Generator<string> {
  for (const { name, isFile } of sorted(folder)) {
    if (isFile && name.endsWith(ending)) yield `${folder}/${name}`;
  }
}

function sorted(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)].sort((one, other) => one.name < other.name ? -1 : 1);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function trialIdIn(path: string): string | undefined {
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(HEAD_BYTES);
  const size = file.readSync(bytes) ?? 0;
  const head = new TextDecoder().decode(bytes.subarray(0, size));
  const line = head.split("\n").find((one) => one.startsWith('  "trial": '));
  const value = parseJson(`{${line?.replace(/,$/, "") ?? ""}}`);
  const trial = isJsonObject(value) ? value["trial"] : undefined;
  return typeof trial === "string" ? trial : undefined;
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw cannotFile(`remove ${path}`, error);
  }
}

/** Returns the path of a temporary file next to `path`. */
function temporaryPath(path: string): string {
  return `${path}.${crypto.randomUUID()}.part`;
}

/** Writes a file atomically, by renaming a complete one; several processes may write it. */
async function writeWhole(path: string, text: string): Promise<void> {
  const part = temporaryPath(path);
  try {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(part, text, { createNew: true });
    await Deno.rename(part, path);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    throw cannotFile(`write the recording ${path}`, error);
  }
}
