/**
 * Entries: the requests of a trial on their way into its recording, where what they share stands once.
 * @module
 */

import type { Message } from "../../tools/message.ts";
import { messageOf, type RecordedMessage, type RecordedRequest, type Recording } from "./_file.ts";
import {
  type HashedPart,
  hashedPart,
  type HashedRequest,
  type RecordedModelOptions,
} from "./_request.ts";
import type { ToolSchema } from "../../tools/tool.ts";

/** Stage of the requests of assertions: they have no number, and are found by their hash alone. */
export const ASSERTION = "assertion";

/** A request of this run, and its outcome. */
export interface Entry extends Pick<RecordedRequest, "request" | "stage" | "occurrence"> {
  /** See {@linkcode RecordedRequest.server}. */
  server?: string;
  readonly hashed: HashedRequest;
  /** Omitted until there is one. */
  outcome?: Pick<RecordedRequest, "reply" | "redacted" | "error">;
}

/** Returns the key that finds a recorded request: its place in the trial, or its hash. */
export function requestKey({ stage, request, occurrence = 1, hash }: RecordedRequest): string {
  const key = stage === ASSERTION ? [ASSERTION, 1, hash] : [stage ?? null, request];
  return `${JSON.stringify(key)}${occurrence}`;
}

/** Builds the recording: each model, each list of tools and each message once. */
export function toRecording(
  trial: string,
  seconds: number | undefined,
  entries: readonly Entry[],
): Omit<Recording, "draw"> {
  const models = new NumberedValues<RecordedModelOptions>();
  const tools = new NumberedValues<readonly ToolSchema[]>();
  const replies = new Map<string, number>();
  const requests: RecordedRequest[] = [];
  for (const [index, { hashed, outcome = {}, ...place }] of entries.entries()) {
    const { model, toolChoice, messages, hash } = hashed;
    const continues = longestShared(messages, entries.slice(0, index));
    const own = messages.slice(continues?.messages);
    requests.push({
      ...place,
      hash,
      model: models.placeOf(model),
      ...(hashed.tools.value.length === 0 ? {} : { tools: tools.placeOf(hashed.tools) }),
      toolChoice,
      continues,
      messages: own.map((message) => storedMessage(message, replies)),
      ...outcome,
    });
    if (outcome.reply !== undefined) {
      replies.set(hashedPart(messageOf(outcome.reply)).hash, index + 1);
    }
  }
  return { ...{ trial }, seconds, ...{ models: models.values, tools: tools.values, requests } };
}

/** Returns a message, or the number of the request whose reply it repeats. */
function storedMessage(
  { value, hash }: HashedPart<Message>,
  replies: ReadonlyMap<string, number>,
): RecordedMessage {
  const reply = replies.get(hash);
  return reply === undefined ? value : { reply };
}

/** Returns the earlier request that shares the most first messages; the latest of those. */
function longestShared(
  messages: readonly HashedPart<Message>[],
  before: readonly Entry[],
): RecordedRequest["continues"] {
  let longest: RecordedRequest["continues"];
  for (let index = before.length - 1; index >= 0; index--) {
    const { messages: own } = before[index]!.hashed;
    const most = longest?.messages ?? 0;
    // As a conversation grows, most earlier requests are too short to share more, and are skipped.
    if (own.length <= most || messages.length <= most) continue;
    const differs = messages.findIndex(({ hash }, place) => own[place]?.hash !== hash);
    const shared = differs < 0 ? messages.length : differs;
    if (shared > most) longest = { place: index + 1, messages: shared };
  }
  return longest;
}

/** A list of distinct values, numbered from 1. */
class NumberedValues<Value> {
  readonly values: Value[] = [];
  readonly #places = new Map<string, number>();

  placeOf({ value, hash }: HashedPart<Value>): number {
    const known = this.#places.get(hash) ?? this.values.push(value);
    this.#places.set(hash, known);
    return known;
  }
}
