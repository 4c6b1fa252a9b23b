/**
 * Recordings as files: what a model was asked in one trial and what it replied, for people to read and to
 * compare, without secrets.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { fileReason, InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { formatJson } from "../../base/json_format.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelReply } from "../model.ts";
import type { AskedOptions } from "./request.ts";
import { redactRecord } from "../../base/redact.ts";
import type { ToolChoice, ToolSchema } from "../../tools/tool.ts";
import { PARSES } from "../../calls/trace.ts";

/** A message; or the one that the reply to a request of the file became, by that request's place from 1. */
export type RecordedMessage = Message | { readonly reply: number };

/** What came of a request in place of a reply. */
export interface RecordedError {
  /** Whose error it is: the clock's, that of the way to the model, or the model's own. */
  readonly kind: "time_limit" | "infrastructure" | "other";
  /** In words. */
  readonly message: string;
}

/** What was asked, and what came of it. */
export interface RecordedRequest {
  /** The number of the request in its trial, from 1. */
  readonly request: number;
  /** The stage of the strategy, `judge`, or `assertion` for what assertions ask; left out of the loop. */
  readonly stage?: string;
  /** The how manieth time that was asked, if not the first. */
  readonly occurrence?: number;
  /** The SHA-256 of what was asked. */
  readonly hash: string;
  /** Which of the models was asked, from 1. */
  readonly model: number;
  /** Which of the lists of tools it had, from 1; left out where it had none. */
  readonly tools?: number;
  /** Whether it had to call; left out where nothing was said. */
  readonly toolChoice?: ToolChoice;
  /** The earlier request, by its place from 1, with which so many first messages are shared. */
  readonly continues?: { readonly place: number; readonly messages: number };
  /** The messages that are new. */
  readonly messages: readonly RecordedMessage[];
  /** The reply; left out where there was none. */
  readonly reply?: ModelReply;
  /** Set where something was taken out of the reply that looks like a secret. */
  readonly redacted?: true;
  /** What came in its place. */
  readonly error?: RecordedError;
}

/** All that models were asked in one trial. */
export interface Recording {
  /** The trial's id. */
  readonly trial: string;
  /** How many seconds the trial had; left out where it had no limit. */
  readonly seconds?: number;
  /** The options of each model that was asked. */
  readonly models: readonly AskedOptions[];
  /** Each list of tools once. */
  readonly tools: readonly (readonly ToolSchema[])[];
  /** Requests in the order in which they were made. */
  readonly requests: readonly RecordedRequest[];
}

/** Far beyond any trial; what is larger is no recording. */
const LARGEST_FILE = 2 ** 27;

/** Lines and columns of a text, each line by itself, so that a change of one shows as that. */
type Lines = string | readonly string[];

function linesOf(text: string): Lines {
  return text.includes("\n") ? text.split("\n") : text;
}

function textOf(lines: Lines): string {
  return typeof lines === "string" ? lines : lines.join("\n");
}

/** The text of the file. */
export function recordingText({ trial, seconds, models, tools, requests }: Recording): string {
  const list = (name: string, items: readonly string[], last = false) =>
    `  "${name}": [${items.length === 0 ? "" : `\n    ${items.join(",\n    ")}\n  `}]${
      last ? "" : ","
    }\n`;
  return "{\n" +
    '  "v": 1,\n' +
    '  "kind": "recording",\n' +
    `  "trial": ${JSON.stringify(trial)},\n` +
    (seconds === undefined ? "" : `  "seconds": ${seconds},\n`) +
    list("models", models.map((model) => JSON.stringify(model))) +
    list("tools", tools.map((own) => `[\n      ${own.map(lineOf).join(",\n      ")}\n    ]`)) +
    list("requests", requests.map((one) => formatJson(written(one), "    ")), true) +
    "}\n";
}

function lineOf(tool: ToolSchema): string {
  return JSON.stringify(tool);
}

function written(request: RecordedRequest): JsonObject {
  const { messages, reply, redacted, error, ...others } = request;
  return {
    ...others as unknown as JsonObject,
    messages: messages.map((message): JsonObject =>
      "reply" in message
        ? { reply: message.reply }
        : { ...message as unknown as JsonObject, content: linesOf(message.content) as JsonValue }
    ),
    ...(reply === undefined ? {} : { reply: writtenReply(reply) }),
    ...(redacted === undefined ? {} : { redacted }),
    ...(error === undefined
      ? {}
      : { error: { kind: error.kind, message: linesOf(error.message) as JsonValue } }),
  };
}

function writtenReply({ text, calls, repairs, written, ...others }: ModelReply): JsonObject {
  return {
    text: linesOf(text) as JsonValue,
    ...(calls.length === 0 ? {} : { calls: calls as unknown as JsonValue }),
    ...others as unknown as JsonObject,
    ...(repairs.length === 0 ? {} : { repairs: [...repairs] }),
    ...(written === undefined ? {} : { written: linesOf(written) as JsonValue }),
  };
}

const LINES = z.union([z.string(), z.array(z.string())], {
  error: "must be a text, or a list of its lines",
}).transform(textOf);
const COUNT = z.int().min(0);
const PLACE = z.int().min(1);
// As it was parsed, and not copied: keys may be any, and it may nest deep.
const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object");

const CALL = z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() });
const CARRIED = z.strictObject({ by: z.string(), items: z.array(OBJECT) });

const MESSAGE = z.union([
  z.strictObject({ reply: PLACE }),
  z.discriminatedUnion("role", [
    z.strictObject({ role: z.literal("system"), content: LINES }),
    z.strictObject({ role: z.literal("user"), content: LINES }),
    z.strictObject({
      role: z.literal("assistant"),
      content: LINES,
      calls: z.array(CALL).default([]),
      carried: CARRIED.exactOptional(),
    }),
    z.strictObject({
      role: z.literal("tool"),
      callId: z.string(),
      name: z.string(),
      content: LINES,
    }),
  ]),
]);

const REPLY = z.strictObject({
  text: LINES,
  calls: z.array(CALL).default([]),
  finish: z.enum(["stop", "calls", "length", "filter", "other"]),
  usage: z.strictObject({ inputTokens: COUNT, outputTokens: COUNT }),
  served: z.string(),
  duration: COUNT,
  repairs: z.array(z.string()).default([]),
  parsed: z.enum(PARSES).exactOptional(),
  written: LINES.exactOptional(),
  carried: CARRIED.exactOptional(),
});

const TOOL_CHOICE = z.union([
  z.enum(["auto", "none", "required"]),
  z.strictObject({ function: z.string() }),
]);

const REQUEST = z.strictObject({
  request: PLACE,
  stage: z.string().exactOptional(),
  occurrence: z.int().min(2).exactOptional(),
  hash: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal"),
  model: PLACE,
  tools: PLACE.exactOptional(),
  toolChoice: TOOL_CHOICE.exactOptional(),
  continues: z.strictObject({ place: PLACE, messages: PLACE }).exactOptional(),
  messages: z.array(MESSAGE),
  reply: REPLY.exactOptional(),
  redacted: z.literal(true).exactOptional(),
  error: z.strictObject({
    kind: z.enum(["time_limit", "infrastructure", "other"]),
    message: LINES,
  }).exactOptional(),
}).refine(({ reply, error }) => (reply === undefined) !== (error === undefined), {
  message: "must have either a reply or an error",
});

const VERSION = z.literal(1, {
  error: ({ input }) => `must be 1, the version that this toolgate reads: it is ${shown(input)}`,
});
const KIND = z.literal("recording", {
  error: ({ input }) => `must be "recording": it is ${shown(input)}`,
});

/** What is read first: nothing else can be said of a file of another version. */
const HEAD = z.looseObject({ v: VERSION, kind: KIND });

const RECORDING = z.strictObject({
  v: VERSION,
  kind: KIND,
  trial: z.string(),
  seconds: z.number().min(0).exactOptional(),
  models: z.array(OBJECT),
  tools: z.array(z.array(OBJECT)),
  requests: z.array(REQUEST),
}).check(({ value, issues }) => {
  for (const [index, one] of value.requests.entries()) {
    // What a request refers to stands before it.
    const wrong = one.model > value.models.length
      ? ["model"]
      : (one.tools ?? 0) > value.tools.length
      ? ["tools"]
      : (one.continues?.place ?? 0) > index
      ? ["continues", "place"]
      : undefined;
    const reply = one.messages.findIndex((message) =>
      "reply" in message &&
      (message.reply > index || value.requests[message.reply - 1]!.reply === undefined)
    );
    const path = wrong ?? (reply < 0 ? undefined : ["messages", reply, "reply"]);
    if (path === undefined) continue;
    const message = "must be the place of something in this file, above it";
    issues.push({ code: "custom", message, path: ["requests", index, ...path], input: one });
  }
}) as unknown as z.ZodType<Recording & { v: 1; kind: "recording" }>;

function shown(value: unknown): string {
  return value === undefined ? "left out" : JSON.stringify(value)?.slice(0, 100) ?? "nothing";
}

/**
 * Reads a recording; `undefined` if there is no such file.
 *
 * @throws {InputError} If it cannot be read, or is no recording of this version; the message names file,
 * path and rule.
 */
export function readRecording(path: string): Recording | undefined {
  const content = readIfThere(path);
  return content === undefined ? undefined : parseRecording(content, path);
}

/**
 * A recording from its text, which stands at `path`.
 *
 * @throws {InputError} As {@linkcode readRecording} does.
 */
export function parseRecording(content: string, path: string): Recording {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new InputError(
      `Cannot use the recording ${path} as it must be JSON: it is none, or was cut short`,
    );
  }
  parseWith(HEAD, value, `the recording ${path}`);
  return parseWith(RECORDING, value, `the recording ${path}`);
}

function readIfThere(path: string): string | undefined {
  try {
    const { size } = Deno.statSync(path);
    if (size > LARGEST_FILE) {
      throw new InputError(
        `Cannot use the recording ${path} as it must have at most ${LARGEST_FILE} bytes: it has ${size}`,
      );
    }
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof InputError) throw error;
    throw new InputError(`Cannot read the recording ${path}: ${fileReason(error)}`);
  }
}

/** The messages of a request of a recording, all of them. */
export function messagesOf({ requests }: Recording, request: RecordedRequest): Message[] {
  const parts: Message[][] = [];
  let kept = Infinity;
  for (let one: RecordedRequest | undefined = request; one !== undefined;) {
    const { continues, messages }: RecordedRequest = one;
    const before = continues?.messages ?? 0;
    parts.push(
      messages.slice(0, Math.max(0, kept - before)).map((message) =>
        "reply" in message ? messageOf(requests[message.reply - 1]!.reply!) : message
      ),
    );
    kept = Math.min(kept, before);
    one = continues === undefined ? undefined : requests[continues.place - 1]!;
  }
  return parts.reverse().flat();
}

/** The message that a reply becomes in the conversation. */
export function messageOf({ text, calls, carried }: ModelReply): Message {
  return {
    role: "assistant",
    content: text,
    calls,
    ...(carried === undefined ? {} : { carried }),
  };
}

/** Where the recording of a trial stands in its folder: names that every file system takes. */
export function recordingPath(folder: string, trial: string, model: string): string {
  const words = redactRecord(trial).split(" ").filter((word) => !word.startsWith("model="));
  const name = slug(words.join(" "), 120) || "trial";
  const place = slug(redactRecord(model), 60) || "model";
  const own = RESERVED.test(place) ? `${place}-model` : place;
  return `${folder.replace(/(?<=.)[/\\]+$/, "")}/${own}/${name}-${sha256(trial).slice(0, 16)}.json`;
}

/** Names that Windows takes for devices. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)$/;

function slug(text: string, longest: number): string {
  return text.replaceAll(/%[0-9A-Fa-f]{2}/g, " ").toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-").slice(0, longest).replaceAll(/^-|-$/g, "");
}
