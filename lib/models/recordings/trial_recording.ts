/**
 * The recording of one trial: what models are asked is answered from it, or asked live and kept.
 * @module
 */

import defer * as hooks from "node:async_hooks";
import { reasonOf } from "../../base/errors.ts";
import { claimedCount, type Message } from "../../tools/message.ts";
import {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../model.ts";
import {
  messageOf,
  type RecordedError,
  type RecordedMessage,
  type RecordedRequest,
  type Recording,
  recordingText,
} from "./file.ts";
import { missOf, type Nearest } from "./miss.ts";
import {
  type AskedOptions,
  type Part,
  partOf,
  type ReadRequest,
  RequestReader,
} from "./request.ts";
import { redact, redactRecord } from "../../base/redact.ts";
import type { ToolSchema } from "../../tools/tool.ts";

/**
 * Who replies: `live` the models; `record` the models, and what they say is kept; `replay` recordings
 * alone; `auto` recordings where there are any, and the models where there are none, which is kept.
 */
export const RECORDING_MODES = ["live", "record", "replay", "auto"] as const;

/** Who replies. */
export type RecordingMode = typeof RECORDING_MODES[number];

/** The stage of what assertions ask: it has no number, and is found by what is asked alone. */
const ASSERTION = "assertion";

/** How one trial is recorded or replayed. */
export interface TrialRecordingOptions {
  /** The trial's id. */
  readonly trial: string;
  /** Who replies. */
  readonly mode: Exclude<RecordingMode, "live">;
  /** How many seconds the trial has; left out where it has no limit. */
  readonly seconds?: number | undefined;
  /** The folder of all recordings, and where the one of this trial is. */
  readonly folder: string;
  readonly path: string;
  /** Reads what was recorded before. */
  readonly read: () => Recording | undefined;
  /** Finds the recording that is most like this trial's, where it has none. */
  readonly nearest: () => Nearest | undefined;
  /** Makes sure that what is about to be paid for can be kept. */
  readonly prepare: () => void;
}

/** How a model is reached. */
export interface Asked {
  /** Its options. */
  readonly options: AskedOptions;
  /** The model itself. */
  readonly connect: () => Model;
}

/** A request of this run, and what came of it. */
interface Entry extends Pick<RecordedRequest, "request" | "stage" | "occurrence"> {
  readonly read: ReadRequest;
  /** Left out until there is something. */
  settled?: Pick<RecordedRequest, "reply" | "redacted" | "error">;
}

/** What models are asked in one trial, answered from its recording or by the models. */
export class TrialRecording {
  readonly #options: TrialRecordingOptions;
  readonly #reader = new RequestReader();
  readonly #entries: Entry[] = [];
  readonly #counts = new Map<string, number>();
  #old:
    | { readonly file: Recording | undefined; readonly byKey: Map<string, RecordedRequest> }
    | undefined;
  #live = 0;
  #fault: Error | undefined;

  /** Nothing is read or asked yet. */
  constructor(options: TrialRecordingOptions) {
    this.#options = options;
  }

  /** The trial's id. */
  get trial(): string {
    return this.#options.trial;
  }

  /** Where its recording is. */
  get path(): string {
    return this.#options.path;
  }

  /**
   * Why the trial cannot be used, whatever came of it: nothing matched in the recording, or that or the
   * model could not be had. Whoever asks may take it for an unreachable model.
   */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** Whether no model was asked. */
  get replayed(): boolean {
    return this.#live === 0 && (this.#options.mode === "replay" || this.#entries.length > 0);
  }

  /** How many replies came from models. */
  get live(): number {
    return this.#live;
  }

  /** Whether some replies came from the recording and some from models. */
  get mixed(): boolean {
    return this.#live > 0 && this.#live < this.#entries.length;
  }

  /** Whether any model has said something. */
  get hasReply(): boolean {
    return this.#entries.some(({ settled }) => settled?.reply !== undefined);
  }

  /** How many replies lost something that looks like a secret. */
  get redacted(): number {
    return this.#entries.filter(({ settled }) => settled?.redacted).length;
  }

  /** Answers a request of the trial itself, which has a number. */
  reply(request: ModelRequest, asked: Asked): Promise<ModelReply> {
    const { stage, request: number } = request.context;
    const read = this.#reader.read(request, asked.options);
    const key = JSON.stringify([stage ?? null, number]);
    return this.#reply(request, asked, {
      ...{ request: number, ...(stage === undefined ? {} : { stage }), read, key },
    });
  }

  /** Answers what an assertion asks: only what is asked tells which request it is. */
  assertionReply(request: ModelRequest, asked: Asked): Promise<ModelReply> {
    // Several may ask at the same time, in any order.
    const read = new RequestReader().read(request, asked.options);
    const key = JSON.stringify([ASSERTION, 1, read.hash]);
    return this.#reply(request, asked, { request: 1, stage: ASSERTION, read, key });
  }

  /** What was recorded, as a file; what has not come to an end is left out. */
  text(): string {
    const { trial, seconds } = this.#options;
    const entries = this.#entries.filter(({ settled }) => settled);
    const plain = written(redactRecord(trial), seconds, entries);
    // What gave itself away late may stand further above.
    const clean = this.#reader.redacted(plain);
    if (clean === plain) return recordingText(plain);
    for (const [index, { reply }] of clean.requests.entries()) {
      if (reply === plain.requests[index]!.reply) continue;
      entries[index]!.settled = { reply: reply!, redacted: true };
    }
    const requests = clean.requests.map((one, index): RecordedRequest => ({
      ...one,
      ...(entries[index]!.settled!.redacted ? { redacted: true } : {}),
    }));
    return recordingText({ ...clean, requests });
  }

  async #reply(
    request: ModelRequest,
    { connect }: Asked,
    { key, ...own }: Omit<Entry, "occurrence"> & { readonly key: string },
  ): Promise<ModelReply> {
    // What comes after a miss rests on nothing.
    if (this.#fault !== undefined) throw this.#fault;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const entry: Entry = { ...own, ...(count === 1 ? {} : { occurrence: count }) };
    if (this.#options.mode !== "record") {
      const found = this.#found(key, count, entry.read.hash);
      if (found !== undefined) return this.#settle(entry, found);
      if (this.#options.mode === "replay") throw this.#missed(key, entry);
    }
    return await this.#ask(request, entry, connect);
  }

  /** What was recorded in this place, if it is of the same request. */
  #found(key: string, count: number, hash: string): RecordedRequest | undefined {
    const found = this.#recorded().byKey.get(`${key}${count}`);
    return found?.hash === hash && !this.#hadLess(found) && !this.#isSpoiled(found)
      ? found
      : undefined;
  }

  /** Whether the model can do better: it could not be reached then, or said what was not recorded whole. */
  #isSpoiled({ error, redacted }: RecordedRequest): boolean {
    return this.#options.mode === "auto" && (error?.kind === "infrastructure" || redacted === true);
  }

  /** Whether the model ran out of a time that is longer now. */
  #hadLess({ error }: RecordedRequest): boolean {
    const before = this.#recorded().file?.seconds ?? Infinity;
    return error?.kind === "time_limit" && (this.#options.seconds ?? Infinity) > before;
  }

  #recorded() {
    if (this.#old !== undefined) return this.#old;
    try {
      const file = this.#options.read();
      this.#old = { file, byKey: new Map(file?.requests.map((one) => [keyOf(one), one])) };
      return this.#old;
    } catch (error) {
      this.#fault = error as Error;
      throw error;
    }
  }

  #settle(entry: Entry, { reply, redacted, error }: RecordedRequest): ModelReply {
    entry.settled = {
      ...(reply === undefined ? {} : { reply }),
      ...(redacted === undefined ? {} : { redacted }),
      ...(error === undefined ? {} : { error }),
    };
    this.#entries.push(entry);
    if (error !== undefined) throw thrown(error);
    return reply!;
  }

  #missed(key: string, { read, request, stage, occurrence }: Entry): Error {
    const { file } = this.#recorded();
    const { trial, folder, path, seconds, nearest } = this.#options;
    this.#fault = missOf({
      ...{ trial, folder, path, file, read, request, seconds },
      ...(stage === undefined ? {} : { stage }),
      found: this.#recorded().byKey.get(`${key}${occurrence ?? 1}`),
      nearest: file === undefined ? nearest() : undefined,
    });
    return this.#fault;
  }

  async #ask(request: ModelRequest, entry: Entry, connect: () => Model): Promise<ModelReply> {
    let model: Model;
    try {
      this.#options.prepare();
      model = connect();
    } catch (error) {
      this.#fault = error as Error;
      throw error;
    }
    this.#entries.push(entry);
    this.#live++;
    try {
      const reply = await model.reply(request);
      const { carried } = reply;
      if (carried !== undefined) this.#reader.carries(carried.by, entry.read.asked.value.model);
      entry.settled = this.#kept(reply);
      return reply;
    } catch (error) {
      entry.settled ??= { error: recordedError(error, request.signal?.aborted) };
      throw error;
    }
  }

  /** What is kept of a reply, whatever else a model of the user's own may give. */
  #kept(reply: ModelReply): NonNullable<Entry["settled"]> {
    const { text, calls, finish, usage, served, duration, repairs } = reply;
    const { parsed, written, carried } = reply;
    const plain: ModelReply = {
      text,
      calls: calls.map(({ id, name, arguments: written }) => ({ id, name, arguments: written })),
      finish,
      // What a journal makes of what it claims.
      usage: {
        inputTokens: claimedCount(usage.inputTokens),
        outputTokens: claimedCount(usage.outputTokens),
      },
      served,
      duration: claimedCount(duration),
      repairs: [...repairs],
      ...(parsed === undefined ? {} : { parsed }),
      ...(written === undefined ? {} : { written }),
      ...(carried === undefined
        ? {}
        : { carried: { by: this.#reader.carrier(carried.by), items: carried.items } }),
    };
    const clean = this.#reader.redacted(plain);
    return { reply: clean, ...(clean === plain ? {} : { redacted: true }) };
  }
}

/** The error that a trial sees again. */
function thrown({ kind, message }: RecordedError): Error {
  if (kind === "time_limit") return new TimeLimitError(message);
  return kind === "infrastructure" ? new InfrastructureError(message) : new Error(message);
}

function recordedError(error: unknown, wasGivenUp = false): RecordedError {
  const kind = error instanceof TimeLimitError
    ? "time_limit"
    : error instanceof InfrastructureError || wasGivenUp
    ? "infrastructure"
    : "other";
  return { kind, message: redact(reasonOf(error).slice(0, LONGEST_REASON)) };
}

/** So much of an error is kept. */
const LONGEST_REASON = 10_000;

/** By what a recorded request is found: its place in the trial, or what was asked. */
function keyOf({ stage, request, occurrence = 1, hash }: RecordedRequest): string {
  const key = stage === ASSERTION ? [ASSERTION, 1, hash] : [stage ?? null, request];
  return `${JSON.stringify(key)}${occurrence}`;
}

/** The file of what was asked: each model, each list of tools and each message once. */
function written(
  trial: string,
  seconds: number | undefined,
  entries: readonly Entry[],
): Recording {
  const models = new Places<AskedOptions>();
  const tools = new Places<readonly ToolSchema[]>();
  const replies = new Map<string, number>();
  const requests: RecordedRequest[] = [];
  for (const [index, { read, settled = {}, ...place }] of entries.entries()) {
    const { asked, toolChoice, messages, hash } = read;
    const continues = longestShared(messages, entries.slice(0, index));
    const own = messages.slice(continues?.messages);
    requests.push({
      ...place,
      hash,
      model: models.placeOf(asked),
      ...(read.tools.value.length === 0 ? {} : { tools: tools.placeOf(read.tools) }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
      ...(continues === undefined ? {} : { continues }),
      messages: own.map((message) => storedMessage(message, replies)),
      ...settled,
    });
    if (settled.reply !== undefined) {
      replies.set(partOf(messageOf(settled.reply)).hash, index + 1);
    }
  }
  return {
    ...{ trial },
    ...(seconds === undefined ? {} : { seconds }),
    ...{ models: models.values, tools: tools.values, requests },
  };
}

/** A message; what is as a reply of the file stands there. */
function storedMessage(
  { value, hash }: Part<Message>,
  replies: ReadonlyMap<string, number>,
): RecordedMessage {
  const reply = replies.get(hash);
  return reply === undefined ? value : { reply };
}

/** The request before that has the most first messages in common, the latest of those. */
function longestShared(
  messages: readonly Part<Message>[],
  before: readonly Entry[],
): RecordedRequest["continues"] {
  let longest: RecordedRequest["continues"];
  for (let index = before.length - 1; index >= 0; index--) {
    const { messages: own } = before[index]!.read;
    const most = longest?.messages ?? 0;
    // A conversation grows: what cannot have more in common, such as all before the last, is not compared.
    if (own.length <= most || messages.length <= most) continue;
    const differs = messages.findIndex(({ hash }, place) => own[place]?.hash !== hash);
    const shared = differs < 0 ? messages.length : differs;
    if (shared > most) longest = { place: index + 1, messages: shared };
  }
  return longest;
}

/** Values that stand in a list once, by their places from 1. */
class Places<Value> {
  readonly values: Value[] = [];
  readonly #places = new Map<string, number>();

  placeOf({ value, hash }: Part<Value>): number {
    const known = this.#places.get(hash) ?? this.values.push(value);
    this.#places.set(hash, known);
    return known;
  }
}

// Made with the first recording, as most runs have none.
let scope: hooks.AsyncLocalStorage<TrialRecording> | undefined;

/** Runs a trial so that whatever it asks on the way, assertions too, finds its recording. */
export function withinRecording<T>(
  recording: TrialRecording | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (recording === undefined) return work();
  scope ??= new hooks.AsyncLocalStorage();
  return scope.run(recording, work);
}

/** The recording of the trial in which this is called, if it has one. */
export function currentRecording(): TrialRecording | undefined {
  return scope?.getStore();
}

/** Models whose requests find their recordings by themselves. */
const recorded = new WeakSet<Model>();

/** A model that is asked through a recording. */
export function recordedModel(
  identity: Omit<Model, "reply">,
  reply: Model["reply"],
): Model {
  const model: Model = { ...identity, reply };
  recorded.add(model);
  return model;
}

/** Whether the requests of a model find their recordings by themselves. */
export function isRecorded(model: object): boolean {
  return recorded.has(model as Model);
}
