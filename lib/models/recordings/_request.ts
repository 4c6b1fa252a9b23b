/**
 * Recorded requests: their parts without secrets, and a hash of everything that a model sees.
 * @module
 */

import { canonicalJson } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { mediaIn } from "../../tools/media.ts";
import type { Message } from "../../tools/message.ts";
import type { ModelRequest } from "../model.ts";
import type { ModelEntry } from "../entry.ts";
import { OPENAI_URL } from "../http/endpoint.ts";
import { redactRecord, redactRecordValue } from "../../base/redact.ts";
import { schemaOf, type ToolChoice, type ToolSchema } from "../../tools/tool.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** The options of a model's entry that affect its replies: not its address, nor its name in results. */
export type RecordedModelOptions = Omit<ModelEntry, "baseURL" | "apiKeyVariable" | "name">;

/** Returns the options of an entry that a recording keeps, without secrets. */
export function recordedModelOptions(entry: ModelEntry): RecordedModelOptions {
  const { baseURL: _, apiKeyVariable: __, name: ___, ...options } = entry;
  return redactRecordValue(options);
}

/** A part of a request, without secrets, and its hash (SHA-256 in hexadecimal). */
export interface HashedPart<Value> {
  readonly value: Value;
  readonly hash: string;
}

/** Returns a short hash of where a server is, of no part of its address that may be a secret. */
export function serverHash(baseURL: string): string | undefined {
  if (!URL.canParse(baseURL)) return undefined;
  const { origin, pathname } = new URL(baseURL);
  return sha256(origin + redactRecord(pathname.replace(/\/+$/, ""))).slice(0, 16);
}

/**
 * Returns what recordings must know of the server of an entry.
 *
 * @param usual The server of entries that name none; default: OpenAI's.
 */
export function serverOf(
  { model, provider, baseURL }: ModelEntry,
  usual = OPENAI_URL,
): { readonly server?: string } {
  // Each process simulates its own.
  if (isSimulator(model) && baseURL === undefined) return {};
  // A provider has its own, whose address its package knows.
  if (provider !== undefined && baseURL === undefined) {
    return { server: sha256(provider).slice(0, 16) };
  }
  return { server: serverHash(baseURL ?? usual) };
}

/** Whether a model is simulated by a server of this process. */
export function isSimulator(model: string): boolean {
  return model.startsWith("sim:");
}

/** A request without secrets, and its hashes. */
export interface HashedRequest {
  readonly model: HashedPart<RecordedModelOptions>;
  readonly tools: HashedPart<readonly ToolSchema[]>;
  readonly toolChoice: ToolChoice | undefined;
  readonly messages: readonly HashedPart<Message>[];
  /** The SHA-256 of everything above, in hexadecimal. */
  readonly hash: string;
}

/**
 * Redacts and hashes the requests of one conversation. Parts that they have in common are processed once.
 *
 * A text once recognized as a key is also removed from all later requests, even where its context does not
 * show that it is one; so requests must be read in order. Requests without an order need a reader each.
 */
export class RequestReader {
  readonly #keys = new Set<string>();
  readonly #models = new WeakMap<RecordedModelOptions, HashedPart<RecordedModelOptions>>();
  readonly #tools = new WeakMap<readonly ToolSchema[], HashedPart<readonly ToolSchema[]>>();
  readonly #messages = new WeakMap<Message, HashedPart<Message>>();
  /** By the name of a provider's items, the model they came from: recordings contain no addresses. */
  readonly #carriers = new Map<string, string>();

  /** Registers the model whose items a reply carries, before any request contains them. */
  carries(by: string, model: string): void {
    if (!this.#carriers.has(by)) this.#carriers.set(by, model);
  }

  /** Returns the name under which a provider's items are recorded. */
  carrier(by: string): string {
    return this.#carriers.get(by) ?? by;
  }

  /** Redacts and hashes a request. */
  read(
    { messages, tools, toolChoice, context: { of } }: ModelRequest,
    options: RecordedModelOptions,
  ): HashedRequest {
    const part = <Key extends WeakKey, Value>(
      parts: WeakMap<Key, HashedPart<Value>>,
      key: Key,
      make: () => Value,
    ) => getOrInsertComputed(parts, key, () => hashedPart(make(), this.#keys));
    const parts = {
      model: part(this.#models, options, () => options),
      tools: part(this.#tools, tools, () => tools.map(schemaOf)),
      toolChoice,
      messages: messages.map((message) =>
        part(this.#messages, message, () => this.#plain(message))
      ),
    };
    const hashes = parts.messages.map(({ hash }) => hash);
    const all = [parts.model.hash, parts.tools.hash, toolChoice ?? null, ...hashes];
    // He may open two conversations with the same words.
    if (of !== undefined) all.push(hashedPart(of, this.#keys).hash);
    return { ...parts, hash: sha256(canonicalJson(all)) };
  }

  /** Returns a value without secrets, including those recognized in earlier values. */
  redacted<Value>(value: Value): Value {
    return redactRecordValue(value, this.#keys);
  }

  /** Returns a message with only the fields of its type. */
  #plain(message: Message): Message {
    const { role, content } = message;
    if (role === "tool") {
      const { callId, name } = message;
      return { role, callId, name, content, ...mediaIn(content, message.media) };
    }
    if (role !== "assistant") return { role, content };
    const { calls, carried } = message;
    return {
      ...{ role, content },
      calls: calls.map(({ id, name, arguments: written }) => ({ id, name, arguments: written })),
      carried: carried && { by: this.carrier(carried.by), items: carried.items },
    };
  }
}

/** Returns a value without secrets, including `keys`, and its hash. */
function hashedPart<Value>(value: Value, keys: Set<string>): HashedPart<Value> {
  const clean = redactRecordValue(value, keys);
  return { value: clean, hash: sha256(canonicalJson(clean)) };
}
