/**
 * Requests as recordings know them: their parts without secrets, and a hash of all that a model gets to see.
 * @module
 */

import { canonicalJson } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelRequest } from "../model.ts";
import type { ModelEntry } from "../entry.ts";
import { redactRecordValue } from "../../base/redact.ts";
import { schemaOf, type ToolChoice, type ToolSchema } from "../../tools/tool.ts";

/** What of a model's entry decides its replies: neither where it is asked nor by what name it is shown. */
export type AskedOptions = Omit<ModelEntry, "baseURL" | "apiKeyVariable" | "name">;

/** What of an entry a recording keeps. */
export function askedOf(entry: ModelEntry): AskedOptions {
  const { baseURL: _, apiKeyVariable: __, name: ___, ...asked } = entry;
  return redactRecordValue(asked);
}

/** A part of a request, without secrets, and its hash. */
export interface Part<Value> {
  readonly value: Value;
  readonly hash: string;
}

/** A request without secrets. */
export interface ReadRequest {
  readonly asked: Part<AskedOptions>;
  readonly tools: Part<readonly ToolSchema[]>;
  readonly toolChoice: ToolChoice | undefined;
  readonly messages: readonly Part<Message>[];
  /** The SHA-256 of everything above, in hexadecimal. */
  readonly hash: string;
}

/**
 * Reads the requests of one conversation: what they have in common is read once, as a conversation grows
 * from request to request.
 *
 * What was once found to be a key is none of any request that follows, also where nothing gives it away:
 * for that requests are read in their order. Those of no order need a reader each.
 */
export class RequestReader {
  readonly #keys = new Set<string>();
  readonly #asked = new WeakMap<AskedOptions, Part<AskedOptions>>();
  readonly #tools = new WeakMap<readonly ToolSchema[], Part<readonly ToolSchema[]>>();
  readonly #messages = new WeakMap<Message, Part<Message>>();
  /** By who a provider's own items are said to be of, the model that it was: addresses are kept nowhere. */
  readonly #carriers = new Map<string, string>();

  /** Names whose items a reply carries, before any request has them. */
  carries(by: string, model: string): void {
    if (!this.#carriers.has(by)) this.#carriers.set(by, model);
  }

  /** The name under which the items of a provider are kept. */
  carrier(by: string): string {
    return this.#carriers.get(by) ?? by;
  }

  /** What is asked. */
  read({ messages, tools, toolChoice }: ModelRequest, asked: AskedOptions): ReadRequest {
    const part = <Key extends WeakKey, Value>(
      parts: WeakMap<Key, Part<Value>>,
      key: Key,
      make: () => Value,
    ) => known(parts, key, () => partOf(make(), this.#keys));
    const parts = {
      asked: part(this.#asked, asked, () => asked),
      tools: part(this.#tools, tools, () => tools.map(schemaOf)),
      toolChoice,
      messages: messages.map((message) =>
        part(this.#messages, message, () => this.#plain(message))
      ),
    };
    const hashes = parts.messages.map(({ hash }) => hash);
    const all = [parts.asked.hash, parts.tools.hash, toolChoice ?? null, ...hashes];
    return { ...parts, hash: sha256(canonicalJson(all)) };
  }

  /** A value without secrets, those too that gave themselves away before. */
  redacted<Value>(value: Value): Value {
    return redactRecordValue(value, this.#keys);
  }

  /** Nothing but what a message has by its type. */
  #plain(message: Message): Message {
    const { role, content } = message;
    if (role === "tool") return { role, callId: message.callId, name: message.name, content };
    if (role !== "assistant") return { role, content };
    const { calls, carried } = message;
    return {
      ...{ role, content },
      calls: calls.map(({ id, name, arguments: written }) => ({ id, name, arguments: written })),
      ...(carried === undefined
        ? {}
        : { carried: { by: this.carrier(carried.by), items: carried.items } }),
    };
  }
}

/** The part that comes of a value, made once. */
function known<Key extends WeakKey, Value>(
  parts: WeakMap<Key, Part<Value>>,
  key: Key,
  make: () => Part<Value>,
): Part<Value> {
  const old = parts.get(key);
  if (old !== undefined) return old;
  const part = make();
  parts.set(key, part);
  return part;
}

/** A value without secrets, of which `keys` are some, and its hash. */
export function partOf<Value>(value: Value, keys?: Set<string>): Part<Value> {
  const clean = redactRecordValue(value, keys);
  return { value: clean, hash: sha256(canonicalJson(clean)) };
}
