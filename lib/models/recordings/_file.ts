/**
 * Recording files: the requests and replies of one trial, for people to read and compare, without secrets.
 * @module
 */

import { z } from "zod";
import { assertVersion, isShallow, parseWith, readText } from "../../base/input.ts";
import { sum } from "../../base/numbers.ts";
import { cannot } from "../../base/errors.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  jsonText,
  parseJson,
} from "../../base/json.ts";
import { isMissing } from "../../base/output_file.ts";
import { sha256 } from "../../base/hash.ts";
import type { MediaPart } from "../../tools/media.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelReply } from "../model.ts";
import { TOOL_CHOICE } from "../entry.ts";
import type { RecordedModelOptions } from "./_request.ts";
import { redactRecord } from "../../base/redact.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { PARSES } from "../../calls/trace.ts";
import { TOOL_ERRORS } from "../../tools/error_category.ts";
import { ORIGIN } from "./origin.ts";

/** Whether a request is as it was recorded. */
function isIntact({ checksum, ...request }: z.infer<typeof REQUEST>): boolean {
  return isShallow(request.reply) && checksum === checksumOf(request);
}

/** A hash of what a request came to, and of the request: replies that change places are noticed as well. */
function checksumOf({ hash, reply, redacted, error }: RecordedRequest): string {
  return sha256(canonicalJson({ hash, reply, redacted, error }));
}

/** Bytes of a recording, at most: far more than any trial needs. */
const MAX_FILE_BYTES = 2 ** 27;

/** A text, split into lines so that a diff shows which line changed. */
type Lines = string | readonly string[];

function splitLines(text: string): Lines {
  return text.includes("\n") ? text.split("\n") : text;
}

/** Returns the text of a recording file. */
export function recordingText(recording: Recording): string {
  const { messages, requests, ...others } = recording;
  const file = {
    ...{ v: 1, kind: "recording", ...others },
    messages: messages.map((one) => ({ ...one, content: splitLines(one.content) })),
    requests: requests.map(requestJson),
  };
  return `${jsonText(file, 2)}\n`;
}

function requestJson(request: RecordedRequest) {
  const { reply, redacted, error, ...others } = request;
  return {
    ...others,
    reply: reply && {
      ...reply,
      text: splitLines(reply.text),
      written: reply.written === undefined ? undefined : splitLines(reply.written),
    },
    redacted,
    error: error && { ...error, message: splitLines(error.message) },
    checksum: checksumOf(request),
  };
}

const LINES = z.union([z.string(), z.array(z.string())], {
  error: "must be a text, or a list of its lines",
}).transform((lines) => typeof lines === "string" ? lines : lines.join("\n"));
const COUNT = z.int().min(0);
const PLACE = z.int().min(1);
/** The schema of objects that are not copied: they may have any keys and nest deep. */
const objects = <T extends object>() => z.custom<T>(isJsonObject, "must be an object");

const CALL = z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() });
const CARRIED = z.strictObject({ by: z.string(), items: z.array(objects<JsonObject>()) });

const MESSAGE: z.ZodType<Message> = z.discriminatedUnion("role", [
  z.strictObject({ role: z.enum(["system", "user"]), content: LINES }),
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
    // With the hash of the data in its place.
    media: z.array(objects<MediaPart>()).exactOptional(),
  }),
]);

/** Tokens, in a file. */
export const USAGE = z.strictObject({
  inputTokens: COUNT,
  outputTokens: COUNT,
  estimated: z.literal(true).exactOptional(),
});

const REPLY: z.ZodType<ModelReply> = z.strictObject({
  text: LINES,
  calls: z.array(CALL).default([]),
  finish: z.enum(["stop", "calls", "length", "filter", "other"]),
  usage: USAGE,
  served: z.string(),
  duration: COUNT,
  failed: z.array(z.strictObject({
    cause: z.enum(["infrastructure", "unclear"]),
    status: z.int().exactOptional(),
    message: z.string(),
  })).exactOptional(),
  repairs: z.array(z.string()).default([]),
  parsed: z.enum(PARSES).exactOptional(),
  written: LINES.exactOptional(),
  unknownFinish: z.string().exactOptional(),
  carried: CARRIED.exactOptional(),
});

/** The hash of a request, in a file. */
export const HASH = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal");

/** Messages of a request, at most. */
const MAX_MESSAGES = 100_000;

const REQUEST = z.strictObject({
  // Its number in the trial.
  request: PLACE,
  // The stage of the strategy, `judge`, or `assertion`; omitted in the agent loop.
  stage: z.string().exactOptional(),
  // Omitted for the first of several in one place.
  occurrence: z.int().min(2).exactOptional(),
  hash: HASH,
  // A hash of the address of the server that was asked; omitted without one.
  server: z.string().exactOptional(),
  // Places in the lists of the file, those of messages as ranges, both ends included.
  model: PLACE,
  tools: PLACE.exactOptional(),
  messages: z.array(z.tuple([PLACE, PLACE])),
  toolChoice: TOOL_CHOICE.exactOptional(),
  reply: REPLY.exactOptional(),
  // Set if something that looks like a secret was removed from the reply.
  redacted: z.literal(true).exactOptional(),
  error: z.strictObject({
    // Its cause: the time limit, the infrastructure, or the model itself.
    kind: z.enum(["time_limit", "infrastructure", "other"]),
    message: LINES,
    // Set if the time of one request was up, and not that of the trial.
    ofRequest: z.literal(true).exactOptional(),
  }).exactOptional(),
  checksum: z.string("must be a text"),
}).refine(({ reply, error }) => (reply === undefined) !== (error === undefined), {
  message: "must have either a reply or an error",
});

const RESULT = z.strictObject({
  tool: z.string(),
  arguments: objects<JsonObject>(),
  // For the model; of a call that failed, its error.
  text: LINES,
  failed: z.enum(TOOL_ERRORS).exactOptional(),
  // Milliseconds.
  retryAfter: z.number().min(0).exactOptional(),
  media: z.array(objects<MediaPart>()).exactOptional(),
});

/** What a call of a recorded tool came to. */
export type RecordedToolResult = z.infer<typeof RESULT>;

/** A request, and its reply or error. */
export type RecordedRequest = Omit<z.infer<typeof REQUEST>, "checksum">;

/** The error of a request without a reply. */
export type RecordedError = NonNullable<RecordedRequest["error"]>;

/** Checked first: the other rules do not apply to a file of another kind. */
const HEAD = z.looseObject({ v: z.literal(1), kind: z.literal("recording") });

const RECORDING = z.strictObject({
  ...HEAD.shape,
  trial: z.string(),
  // What distinguishes its replies from those that were drawn for other trials or at other times, although all may be
  // the same; recordings that share a reply have it in common.
  draw: HASH,
  origin: ORIGIN,
  // Tokens of the invalid goes before it, and whether those failed for nothing that a model can cause.
  replaced: USAGE.exactOptional(),
  replacedIdle: z.literal(true).exactOptional(),
  // The time limit of the trial; omitted if there was none.
  seconds: z.number().min(0).exactOptional(),
  // Each of these once.
  models: z.array(objects<RecordedModelOptions>()),
  tools: z.array(z.array(objects<ToolSchema>()).readonly()),
  messages: z.array(MESSAGE),
  requests: z.array(REQUEST),
  // Of tools of servers, and of those that say so; in the order in which they were called.
  results: z.array(RESULT).exactOptional(),
}).check(({ value, issues }) => {
  const { models, tools, messages } = value;
  for (const [index, one] of value.requests.entries()) {
    const wrong = one.model > models.length
      ? "model"
      : (one.tools ?? 0) > tools.length
      ? "tools"
      : one.messages.some(([from, to]) => from > to || to > messages.length) ||
          sum(one.messages, ([from, to]) => to - from) > MAX_MESSAGES
      ? "messages"
      : undefined;
    if (wrong === undefined) continue;
    const message = "must be of what the file has";
    issues.push({ code: "custom", message, path: ["requests", index, wrong], input: one });
  }
  for (const [index, one] of value.requests.entries()) {
    if (isIntact(one)) continue;
    const message =
      "must be as it was recorded: it was changed, as its checksum is that of another one; record it again";
    const place = one.reply === undefined ? "error" : "reply";
    issues.push({ code: "custom", message, path: ["requests", index, place], input: one });
  }
}).transform(({ requests, ...recording }) => ({
  ...recording,
  requests: requests.map(({ checksum: _, ...request }): RecordedRequest => request),
}));

/** All requests to models in one trial, in the order in which they were made. */
export type Recording = Omit<z.infer<typeof RECORDING>, "v" | "kind">;

/**
 * Reads a recording; `undefined` if there is no such file.
 *
 * @throws {InputError} If it cannot be read, or is not a recording of this version; the message names file,
 * path and rule.
 */
export function readRecording(path: string): Recording | undefined {
  const content = readIfExists(path);
  return content === undefined ? undefined : parseRecording(content, path);
}

/**
 * Parses the text of a recording, which was read from `path`.
 *
 * @throws {InputError} If it is not a recording of this version.
 */
export function parseRecording(content: string, path: string): Recording {
  const source = `the recording ${path}`;
  const value = parseText(content, source);
  parseWith(HEAD, value, source);
  return parseWith(RECORDING, value, source);
}

/** Parses the text of a file, which must be of this version. */
export function parseText(content: string, source: string): unknown {
  const value = parseJson(content);
  if (value === undefined) {
    throw cannot(`use ${source}`, "it must be JSON", "it is none, or was cut short");
  }
  assertVersion(value, source);
  return value;
}

/**
 * Reads a file of recordings; `undefined` if there is no such file.
 *
 * @throws {InputError} If it cannot be read, or is too long.
 */
export function readIfExists(path: string): string | undefined {
  return isMissing(path) ? undefined : readText(path, MAX_FILE_BYTES);
}

/** Returns the path of a trial's recording in its folder, of names that every file system accepts. */
export function recordingPath(folder: string, trial: string, model: string): string {
  const words = redactRecord(trial).split(" ").filter((word) => !word.startsWith("model="));
  const name = slug(words.join(" "), 120) || "trial";
  const place = slug(redactRecord(model), 60) || "model";
  const own = RESERVED.test(place) ? `${place}-model` : place;
  return `${folder.replace(/(?<=.)[/\\]+$/, "")}/${own}/${name}-${sha256(trial).slice(0, 16)}.json`;
}

/**
 * Returns where a recording stays whose file is that of another conversation now, as its test was edited: it answers
 * its trial again once the test is as it was.
 *
 * @param hash That of its first request.
 */
export function keptPath(path: string, hash: string): string {
  return path.replace(/\.json$/, `-${hash.slice(0, 16)}.json`);
}

/** Device names of Windows. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)$/;

function slug(text: string, longest: number): string {
  return text.replaceAll(/%[0-9A-Fa-f]{2}/g, " ").toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-").slice(0, longest).replaceAll(/^-|-$/g, "");
}
