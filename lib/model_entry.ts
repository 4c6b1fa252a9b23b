/**
 * Models as suites name them, with their options.
 * @module
 */

import { z } from "zod";
import type { JsonObject, JsonValue } from "./json.ts";
import type { ToolChoice } from "./tool.ts";

/** How much a model may think before it answers. */
export const REASONING_EFFORTS = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] as const;

/** A model as suites name it, with its options. */
export interface ModelEntry {
  /** The name: a model of the server at `baseURL`, or `sim:...` for a simulated one. */
  readonly model: string;
  /** How it is spoken to; default `chat`. */
  readonly api?: "chat";
  /** The server; default OpenAI's. */
  readonly baseURL?: string;
  /** The environment variable that holds the key; default `OPENAI_API_KEY`. */
  readonly apiKeyVariable?: string;
  /** Sampling temperature. */
  readonly temperature?: number;
  /** Nucleus sampling. */
  readonly topP?: number;
  /** Most tokens of a reply. */
  readonly maxCompletionTokens?: number;
  /** Thinking budget, such as `minimal` or `medium`. */
  readonly reasoningEffort?: typeof REASONING_EFFORTS[number];
  /** Sampling seed. */
  readonly seed?: number;
  /** Whether several calls in one reply are allowed. */
  readonly parallelToolCalls?: boolean;
  /**
   * Whether it may, must or must not call functions, or must call one by its name; default `auto`. Where it
   * must call, no trial ends by an answer.
   */
  readonly toolChoice?: ToolChoice;
  /** Further fields of the request's body. */
  readonly body?: JsonObject;
  /** The name in results, when several entries share a model; default `model`. */
  readonly name?: string;
}

/** Names of fields that hold keys; `max_tokens`, `prompt_cache_key` and the like do not. */
const SECRET_NAME = /(?<!prompt_cache_)key|token$|secret|password|authorization/i;

/** Whether a field of `value`, however deep, is named as one that holds a key. */
function holdsSecret(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsSecret);
  return Object.entries(value).some(([name, inner]) =>
    SECRET_NAME.test(name) || holdsSecret(inner)
  );
}

/** The rules of a model's entry. */
export const MODEL = z.strictObject({
  model: z.string().min(1),
  api: z.literal("chat").exactOptional(),
  baseURL: z.url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .refine((url) => !/[?#@]/.test(url), {
      message: "must hold no name, password or query: plans are kept in journals",
    }).exactOptional(),
  apiKeyVariable: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/).exactOptional(),
  temperature: z.number().min(0).max(2).exactOptional(),
  topP: z.number().min(0).max(1).exactOptional(),
  maxCompletionTokens: z.int().min(1).exactOptional(),
  reasoningEffort: z.enum(REASONING_EFFORTS).exactOptional(),
  seed: z.int().exactOptional(),
  parallelToolCalls: z.boolean().exactOptional(),
  toolChoice: z.union([
    z.enum(["auto", "none", "required"]),
    z.strictObject({ function: z.string().min(1) }),
  ], { error: 'must be auto, none, required or { "function": "name" }' }).exactOptional(),
  body: z.record(z.string(), z.json())
    .refine((body) => !holdsSecret(body), {
      message: "must hold no secret: plans are kept in journals",
    }).exactOptional(),
  name: z.string().min(1).exactOptional(),
});

/** The name of a model entry in results. */
export function modelName(entry: ModelEntry): string {
  return entry.name ?? entry.model;
}
