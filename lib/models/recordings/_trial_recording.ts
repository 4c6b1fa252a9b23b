/**
 * Recording of one trial: answers its requests from a recorded file, or asks the models and records them.
 * @module
 */

import { canonicalJson, defined } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { reasonOf } from "../../base/errors.ts";
import { claimedCount, claimedUsage, sumUsage } from "../../tools/message.ts";
import {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../model.ts";
import {
  type RecordedError,
  type RecordedRequest,
  type RecordedToolResult,
  type Recording,
  recordingText,
} from "./_file.ts";
import type { MediaPart } from "../../tools/media.ts";
import { ToolError, toToolError } from "../../tools/tool_error.ts";
import type { InvalidGoes } from "./_manifest.ts";
import { ASSERTION, type Entry, requestKey, toRecording } from "./_entries.ts";
import { missError, type Nearest, resultMissError } from "./_miss.ts";
import type { RecordingMode, RecordingOptions } from "./options.ts";
import { type RecordedModelOptions, RequestReader } from "./_request.ts";
import { redact, redactRecord } from "../../base/redact.ts";
import type { Origin } from "./origin.ts";

/** Options of {@linkcode TrialRecording}. */
export interface TrialRecordingOptions {
  /** The trial's id. */
  readonly trial: string;
  /** Where replies come from. */
  readonly mode: Exclude<RecordingMode, "live">;
  /** Time limit of the trial, in seconds; omitted if there is none. */
  readonly seconds?: number | undefined;
  /** The folder of all recordings, and the path of this trial's file. */
  readonly folder: string;
  readonly path: string;
  /**
   * Returns the recording that answers a trial whose first request has this key and hash: its own or, if that
   * is another conversation, one of the same content that answers no other trial.
   */
  readonly find: (key: string, hash: string, server?: string) => Recording | undefined;
  /** Returns the invalid goes of a trial whose first request has this hash; `undefined` without any. */
  readonly invalid: (hash: string) => InvalidGoes | undefined;
  /**
   * Returns where the replies of a recording come from, or those that are drawn now, for a request with this hash that
   * is the first of its kind.
   */
  readonly origin: (hash: string, file?: Recording) => Origin;
  /** Finds the most similar recording of another trial. */
  readonly nearest: () => Nearest | undefined;
  /** Checks that recordings can be written, before a request costs money. */
  readonly prepare: () => void;
}

/** A model that is connected only when needed. */
export interface ConnectableModel {
  /** Its options. */
  readonly options: RecordedModelOptions;
  /** See {@linkcode RecordedRequest.server}. */
  readonly server?: string;
  /** Whether it is code of the user's own that costs nothing, and is asked whenever it may be; default false. */
  readonly isFree?: boolean;
  /** Connects the model, once. */
  readonly connect: () => Model;
}

/** The requests of one trial, answered from its recording or by the models. */
export class TrialRecording {
  readonly #options: TrialRecordingOptions;
  readonly #reader = new RequestReader();
  readonly #entries: Entry[] = [];
  readonly #counts = new Map<string, number>();
  #old:
    | { readonly file: Recording | undefined; readonly byKey: Map<string, RecordedRequest> }
    | undefined;
  /** Number of replies that came from models. */
  live = 0;
  /** That of the recording which answered a request; and its own, if a model was asked first. */
  #draw: string | undefined;
  #ownDraw: string | undefined;
  /** Where its replies come from; `undefined` without any. */
  origin: Origin | undefined;
  /**
   * Why the trial is unusable with any outcome: a request is not in the recording, or the recording
   * cannot be read, or the model cannot be connected. The agent loop may see it as an unreachable model.
   */
  fault: Error | undefined;
  #invalid: InvalidGoes | undefined;
  #isReplaying = false;
  /** The results of its tools; those that are not there yet have no text. */
  readonly #results: Partial<RecordedToolResult>[] = [];
  /** The results of its tools that came from the recording. */
  replayedResults = 0;
  /** Whether its tools run although it is replayed, as they work on a state. */
  runsTools = false;
  /** Whether one that would be replayed has run so. */
  hasRunTools = false;

  /** Reads no file and asks no model yet. */
  constructor(options: TrialRecordingOptions) {
    this.#options = options;
  }

  /** Where replies come from, and the folder of all recordings; `undefined` where tools run in any case. */
  get place(): RecordingOptions | undefined {
    return this.runsTools ? undefined : this.#options;
  }

  /** The trial's id. */
  get trial(): string {
    return this.#options.trial;
  }

  /** Path of its recording. */
  get path(): string {
    return this.#options.path;
  }

  /** Whether all replies came from the recording. */
  get replayed(): boolean {
    return this.live === 0 && (this.#options.mode === "replay" || this.#entries.length > 0);
  }

  /** The invalid goes before this one, of which the manifest and the recording that answered it tell. */
  get before(): Pick<Recording, "replaced" | "replacedIdle"> {
    const told = [this.#invalid, this.#isReplaying ? this.#old?.file : undefined];
    const goes = told.filter((one) => one?.replaced !== undefined);
    if (goes.length === 0) return {};
    return {
      replaced: sumUsage(goes.map((one) => one!.replaced!)),
      ...(goes.every((one) => one!.replacedIdle) ? { replacedIdle: true } : {}),
    };
  }

  /** The hash of its first request; `undefined` before it. */
  get hash(): string | undefined {
    return this.#entries[0]?.hashed.hash;
  }

  /** Whether some replies came from the recording and some from models. */
  get mixed(): boolean {
    return this.live > 0 && this.live < this.#entries.length;
  }

  /** Whether replies came from the recording of another trial. */
  get adopted(): boolean {
    return this.#draw !== undefined && this.#old?.file?.trial !== redactRecord(this.trial);
  }

  /** What distinguishes its replies from any others, also when they are replayed; see {@linkcode Recording.draw}. */
  get draw(): string | undefined {
    if (this.#draw !== undefined || this.live === 0) return this.#draw;
    return this.#ownDraw ??= sha256(canonicalJson([this.trial, crypto.randomUUID()]));
  }

  /** Number of replies from which something that looks like a secret was removed. */
  get redacted(): number {
    return this.#entries.filter(({ outcome }) => outcome?.redacted).length;
  }

  /** Answers a request of the trial itself, which is found by its number. */
  reply(request: ModelRequest, source: ConnectableModel): Promise<ModelReply> {
    const { stage, request: number } = request.context;
    const hashed = this.#reader.read(request, source.options);
    const key = JSON.stringify([stage ?? null, number]);
    return this.#reply(request, source, { request: number, stage, hashed, key });
  }

  /** Answers a request of an assertion, which is found by its hash. */
  assertionReply(request: ModelRequest, source: ConnectableModel): Promise<ModelReply> {
    // Several assertions may ask at the same time, in any order.
    const hashed = new RequestReader().read(request, source.options);
    const key = JSON.stringify([ASSERTION, 1, hashed.hash]);
    return this.#reply(request, source, { request: 1, stage: ASSERTION, hashed, key });
  }

  /**
   * Returns the result of a call of a tool: in a replay the recorded one, else what `run` gives, which is recorded. It
   * is found by the tool and the arguments, both without secrets, and by how often it was called with these.
   *
   * @param media Has its images and audio, once it is there; of recorded ones all but the data.
   * @throws {InputError} If it is to be replayed and was not recorded; the trial is then unusable.
   */
  async result(
    called: Pick<RecordedToolResult, "tool" | "arguments">,
    run: () => Promise<string>,
    media: MediaPart[],
  ): Promise<string> {
    if (this.runsTools) {
      this.hasRunTools = true;
      return await run();
    }
    const call = this.#reader.redacted(called);
    const key = canonicalJson(call);
    const isSame = ({ tool, arguments: input }: Partial<RecordedToolResult>) =>
      canonicalJson({ tool, arguments: input }) === key;
    const before = this.#results.filter(isSame).length;
    const made: Partial<RecordedToolResult> = { ...call };
    this.#results.push(made);
    if (this.#options.mode === "replay") {
      const known = this.#old?.file?.results ?? [];
      const found = known.filter(isSame)[before];
      if (found === undefined) throw this.fail(resultMissError(this.#options, call, known));
      this.replayedResults++;
      media.push(...found.media ?? []);
      if (found.failed === undefined) return found.text;
      throw new ToolError(found.failed, found.text, found);
    }
    try {
      const text = await run();
      Object.assign(made, { text }, media.length === 0 ? {} : { media });
      return text;
    } catch (error) {
      const { category: failed, message: text, retryAfter } = toToolError(error);
      Object.assign(made, defined({ text, failed, retryAfter }));
      throw error;
    }
  }

  /** Whether there are more results than its recording has. */
  get hasNewResults(): boolean {
    return this.#results.length > (this.#old?.file?.results?.length ?? 0);
  }

  /** Makes the trial unusable with any outcome, and returns the error. */
  fail(error: Error): Error {
    return this.fault ??= error;
  }

  /**
   * Returns the text of the recording file; requests without an outcome are omitted.
   *
   * @param before The invalid goes before it.
   */
  text(before: Pick<Recording, "replaced" | "replacedIdle"> = {}): string {
    const { trial, seconds } = this.#options;
    const entries = this.#entries.filter(({ outcome }) => outcome);
    // A call may be under way when the trial ends.
    const results = this.#results.filter(({ text }) => text !== undefined) as RecordedToolResult[];
    const plain = {
      ...{ trial: redactRecord(trial), draw: this.draw!, origin: this.origin! },
      ...before,
      ...toRecording(seconds, entries),
      ...(results.length === 0 ? {} : { results }),
    };
    // A secret recognized late may also be in earlier entries.
    const clean = this.#reader.redacted(plain);
    if (clean === plain) return recordingText(plain);
    for (const [index, { reply }] of clean.requests.entries()) {
      if (reply === plain.requests[index]!.reply) continue;
      entries[index]!.outcome = { reply: reply!, redacted: true };
    }
    const requests = clean.requests.map((one, index): RecordedRequest => ({
      ...one,
      ...(entries[index]!.outcome!.redacted ? { redacted: true } : {}),
    }));
    return recordingText({ ...clean, requests });
  }

  async #reply(
    request: ModelRequest,
    { connect, server, isFree = false }: ConnectableModel,
    { key, ...own }: Omit<Entry, "occurrence"> & { readonly key: string },
  ): Promise<ModelReply> {
    // After a miss, further replies would be meaningless.
    if (this.fault !== undefined) throw this.fault;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const entry: Entry = {
      ...own,
      server,
      ...(count === 1 ? {} : { occurrence: count }),
    };
    if (this.#entries.length === 0) this.#invalid = this.#options.invalid(entry.hashed.hash);
    const { mode } = this.#options;
    if (mode === "replay" || mode === "auto" && !isFree) {
      const found = this.#lookUp(key, count, entry);
      if (found !== undefined) return this.#settle(entry, found);
      if (mode === "replay") throw this.#miss(key, entry);
    }
    return await this.#ask(request, entry, connect);
  }

  /** Returns the recorded request in this place, if it is the same request and still usable. */
  #lookUp(
    key: string,
    count: number,
    { hashed: { hash }, server }: Entry,
  ): RecordedRequest | undefined {
    const { file, byKey } = this.#recorded(`${key}${count}`, hash, server);
    const found = byKey.get(`${key}${count}`);
    if (found?.hash !== hash || this.#hadLessTime(found) || this.#isImprovable(found)) {
      return undefined;
    }
    if (this.#options.mode === "auto" && found.server !== server) {
      // The one of this server comes in its place.
      this.#comesFrom({ runs: [], lost: file!.origin.runs });
      return undefined;
    }
    if (!this.#isReplaying) this.#comesFrom(this.#options.origin(hash, file));
    this.#isReplaying = true;
    this.#draw = file!.draw;
    return found;
  }

  #comesFrom({ runs, lost }: Origin): void {
    const { runs: before, lost: others } = this.origin ?? { runs: [], lost: [] };
    this.origin = { runs: [...new Set([...before, ...runs])], lost: [...others, ...lost] };
  }

  /** Returns whether the model may do better now: it was unreachable then, or its reply was redacted. */
  #isImprovable({ error, redacted }: RecordedRequest): boolean {
    return this.#options.mode === "auto" && (error?.kind === "infrastructure" || redacted === true);
  }

  /** Returns whether the model exceeded a time limit that is longer now. */
  #hadLessTime({ error }: RecordedRequest): boolean {
    const before = this.#old?.file?.seconds ?? Infinity;
    return error?.kind === "time_limit" && !error.ofRequest &&
      (this.#options.seconds ?? Infinity) > before;
  }

  /** The recording, which the first request decides. */
  #recorded(key: string, hash: string, server: string | undefined) {
    if (this.#old !== undefined) return this.#old;
    try {
      const file = this.#options.find(key, hash, server);
      this.#old = { file, byKey: new Map(file?.requests.map((one) => [requestKey(one), one])) };
      return this.#old;
    } catch (error) {
      this.fault = error as Error;
      throw error;
    }
  }

  #settle(entry: Entry, { reply, redacted, error, server }: RecordedRequest): ModelReply {
    entry.server = server;
    entry.outcome = { reply, redacted, error };
    this.#entries.push(entry);
    if (error !== undefined) throw replayedError(error);
    return reply!;
  }

  #miss(key: string, { hashed, request, stage, occurrence }: Entry): Error {
    const { file, byKey } = this.#old!;
    const { trial, folder, path, seconds, nearest } = this.#options;
    this.fault = missError({
      ...{ trial, folder, path, file, hashed, request, seconds },
      stage,
      found: byKey.get(`${key}${occurrence ?? 1}`),
      nearest: file === undefined ? nearest() : undefined,
    });
    return this.fault;
  }

  async #ask(request: ModelRequest, entry: Entry, connect: () => Model): Promise<ModelReply> {
    let model: Model;
    try {
      this.#options.prepare();
      model = connect();
    } catch (error) {
      this.fault = error as Error;
      throw error;
    }
    if (this.live === 0) this.#comesFrom(this.#options.origin(entry.hashed.hash));
    this.#entries.push(entry);
    this.live++;
    try {
      const reply = await model.reply(request);
      const { carried } = reply;
      if (carried !== undefined) this.#reader.carries(carried.by, entry.hashed.model.value.model);
      entry.outcome = this.#storable(reply);
      return reply;
    } catch (error) {
      entry.outcome ??= { error: recordedError(error, request.signal?.aborted) };
      throw error;
    }
  }

  /** Returns the fields of a reply to record: a custom model may return others, too. */
  #storable(reply: ModelReply): NonNullable<Entry["outcome"]> {
    const { text, calls, finish, unknownFinish, usage, served, duration, repairs } = reply;
    const { parsed, written, carried, failed } = reply;
    // What is undefined would count as redacted.
    const plain: ModelReply = defined({
      text,
      calls: calls.map(({ id, name, arguments: written }) => ({ id, name, arguments: written })),
      finish,
      unknownFinish,
      // The same numbers that a journal keeps.
      usage: claimedUsage(usage),
      served,
      duration: claimedCount(duration),
      failed: failed?.length === 0
        ? undefined
        : failed?.map(({ cause, status, message }) => defined({ cause, status, message })),
      repairs: [...repairs],
      parsed,
      written,
      carried: carried && { by: this.#reader.carrier(carried.by), items: carried.items },
    });
    const clean = this.#reader.redacted(plain);
    return { reply: clean, ...(clean === plain ? {} : { redacted: true }) };
  }
}

/** Creates the error that a replayed trial sees. */
function replayedError({ kind, message, ofRequest }: RecordedError): Error {
  if (kind === "time_limit") return new TimeLimitError(message, { ofRequest });
  return kind === "infrastructure" ? new InfrastructureError(message) : new Error(message);
}

function recordedError(error: unknown, wasGivenUp = false): RecordedError {
  const kind = error instanceof TimeLimitError
    ? "time_limit"
    : error instanceof InfrastructureError || wasGivenUp
    ? "infrastructure"
    : "other";
  return {
    kind,
    message: redact(reasonOf(error).slice(0, MAX_REASON_LENGTH)),
    ...(error instanceof TimeLimitError && error.ofRequest ? { ofRequest: true } : {}),
  };
}

/** Characters of an error message, at most. */
const MAX_REASON_LENGTH = 10_000;
