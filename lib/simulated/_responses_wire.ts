/**
 * The part of OpenAI's responses format that simulated models accept.
 *
 * @see https://platform.openai.com/docs/api-reference/responses
 * @module
 */

import { z } from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";

const parts = z.array(z.looseObject({ text: z.string().exactOptional() }));
const content = z.union([z.string(), parts]);

const message = z.looseObject({
  type: z.literal("message").exactOptional(),
  id: z.string().exactOptional(),
  role: z.enum(["system", "developer", "user", "assistant"]),
  content,
});

const call = z.looseObject({
  type: z.literal("function_call"),
  id: z.string().exactOptional(),
  call_id: z.string().min(1),
  name: z.string(),
  arguments: z.string(),
});

const output = z.looseObject({
  type: z.literal("function_call_output"),
  call_id: z.string().min(1).max(64),
  output: content,
});

const reasoning = z.looseObject({
  type: z.literal("reasoning"),
  id: z.string().min(1),
  summary: z.array(z.unknown()),
  encrypted_content: z.string().nullable().exactOptional(),
});

const item = z.discriminatedUnion("type", [
  message.extend({ type: z.literal("message") }),
  call,
  output,
  reasoning,
]);

/** One item of a conversation. */
export type ResponsesItem = z.infer<typeof item>;

const tool = z.looseObject({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable().exactOptional(),
  parameters: z.custom<JsonObject>(isJsonObject, "Invalid input: expected object").nullable()
    .exactOptional(),
  strict: z.boolean().nullable().exactOptional(),
});

/** Checks the body of a request, and keeps unknown fields. */
export const RESPONSES_REQUEST = z.looseObject({
  model: z.string(),
  instructions: z.string().nullable().exactOptional(),
  input: z.preprocess(
    // A text alone is a user message.
    (value) => typeof value === "string" ? [{ role: "user", content: value }] : value,
    z.array(z.preprocess(
      // The type of a message may be left out.
      (value) => isJsonObject(value) && "role" in value ? { type: "message", ...value } : value,
      item,
    )).min(1),
  ),
  tools: z.array(tool).nullable().exactOptional(),
  tool_choice: z.union([
    z.enum(["auto", "none", "required"]),
    z.looseObject({ type: z.literal("function"), name: z.string() }),
  ]).nullable().exactOptional(),
  parallel_tool_calls: z.boolean().nullable().exactOptional(),
  max_output_tokens: z.int().min(16).nullable().exactOptional(),
  reasoning: z.looseObject({ effort: z.string().nullable().exactOptional() }).nullable()
    .exactOptional(),
  include: z.array(z.string()).nullable().exactOptional(),
  store: z.boolean().nullable().exactOptional(),
  // OpenAI has no seed here, but without one all repetitions would be equal.
  seed: z.int().nullable().exactOptional(),
  stream: z.boolean().nullable().exactOptional(),
});

/** The body of a request. */
export type ResponsesRequest = z.infer<typeof RESPONSES_REQUEST>;

/** Whether an item is a call or message of the model, which a reasoning item must precede. */
export function isAssistant(item: ResponsesItem | undefined): boolean {
  return item?.type === "function_call" ||
    (item?.type === "message" && item.role === "assistant");
}
