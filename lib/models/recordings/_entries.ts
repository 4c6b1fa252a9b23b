/**
 * Entries: the requests of a trial on their way into its recording, where what they share stands once.
 * @module
 */

import type { Message } from "../../tools/message.ts";
import type { RecordedRequest, Recording } from "./_file.ts";
import type { HashedPart, HashedRequest, RecordedModelOptions } from "./_request.ts";
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
  seconds: number | undefined,
  entries: readonly Entry[],
): Omit<Recording, "trial" | "draw" | "origin"> {
  const models = new NumberedValues<RecordedModelOptions>();
  const tools = new NumberedValues<readonly ToolSchema[]>();
  const messages = new NumberedValues<Message>();
  const requests = entries.map(({ hashed, outcome, ...place }): RecordedRequest => ({
    ...place,
    hash: hashed.hash,
    model: models.placeOf(hashed.model),
    tools: hashed.tools.value.length === 0 ? undefined : tools.placeOf(hashed.tools),
    toolChoice: hashed.toolChoice,
    messages: rangesOf(hashed.messages.map((message) => messages.placeOf(message))),
    ...outcome,
  }));
  return {
    ...{ seconds, models: models.values, tools: tools.values },
    ...{ messages: messages.values, requests },
  };
}

/** Returns places as ranges: a request mostly has all messages of the one before, so that its size must not grow. */
function rangesOf(places: readonly number[]): [from: number, to: number][] {
  const ranges: [from: number, to: number][] = [];
  for (const place of places) {
    const last = ranges.at(-1);
    if (last !== undefined && place === last[1] + 1) last[1] = place;
    else ranges.push([place, place]);
  }
  return ranges;
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
