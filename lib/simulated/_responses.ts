/**
 * OpenAI's responses for simulated models: converts requests to chat completion requests, and replies to
 * responses.
 *
 * @see https://platform.openai.com/docs/api-reference/responses
 * @module
 */

import { z } from "zod";
import { defined, isJsonObject, type JsonObject } from "../base/json.ts";
import { hash64 } from "../base/random.ts";
import {
  type ChatAnswer,
  type ChatCall,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
  contentText,
  functionOf,
  type WireFault,
} from "./_wire.ts";

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

/** Fields of chat completions, and those that need a server with a memory. */
const UNSUPPORTED = [
  ...["messages", "functions", "function_call", "response_format", "reasoning_effort"],
  ...["max_tokens", "max_completion_tokens", "stop", "n", "logit_bias"],
  ...["previous_response_id", "conversation", "prompt"],
];

/** A parsed request for a response. */
export interface ReadRequest {
  /** The equivalent chat completion request. */
  readonly chat: ChatRequest;
  /** Whether the model reasons before it replies. */
  readonly reasons: boolean;
  /** Whether its reasoning is returned encrypted. */
  readonly encrypted: boolean;
  /** Whether the response comes as a stream of events. */
  readonly streams: boolean;
  /** Whether later requests may refer to the items of the response. */
  readonly stores: boolean;
}

/** Items of earlier replies, by id. */
export type StoredItems = Map<string, JsonObject>;

/** Items that are stored, at most: far more than the trials under way refer to. */
const MAX_STORED = 50_000;

/** Stores the items of a response; the oldest ones go. */
export function storeItems({ output }: JsonObject, stored: StoredItems): void {
  for (const item of output as JsonObject[]) {
    const id = String(item["id"]);
    stored.delete(id);
    stored.set(id, item);
  }
  for (const id of stored.keys().take(Math.max(0, stored.size - MAX_STORED))) stored.delete(id);
}

/** Parses the body of a request, which may refer to stored items, or returns what is wrong with it. */
export function readResponsesRequest(body: unknown, stored: StoredItems): ReadRequest | WireFault {
  const odd = UNSUPPORTED.find((name) => isJsonObject(body) && Object.hasOwn(body, name));
  if (odd !== undefined) return { message: `Unsupported parameter: '${odd}'.`, param: odd };
  const { input } = Object(body);
  const items: unknown = Array.isArray(input)
    ? input.map((item) =>
      item?.type === "item_reference" && typeof item.id === "string" ? stored.get(item.id) : item
    )
    : input;
  const lost = Array.isArray(items) ? items.indexOf(undefined) : -1;
  if (lost >= 0) {
    return { message: `Item with id '${input[lost].id}' not found.`, param: "input", status: 404 };
  }
  const parsed = RESPONSES_REQUEST.safeParse(
    items === undefined ? body : { ...Object(body), input: items },
  );
  if (!parsed.success) {
    const path = z.core.toDotPath(parsed.error.issues[0]?.path ?? []);
    return { message: z.prettifyError(parsed.error), param: path || null };
  }
  const request = parsed.data;
  const reasons = request.reasoning?.effort !== "none";
  const encrypted = request.include?.includes("reasoning.encrypted_content") ?? false;
  if (encrypted && !reasons) {
    return { message: "Encrypted content is not supported with this model.", param: "include" };
  }
  const fault = faultOfTools(request) ?? faultOfItems(request);
  if (fault !== undefined) return fault;
  return {
    ...{ chat: toChat(request), reasons, encrypted },
    ...{ streams: request.stream ?? false, stores: request.store ?? true },
  };
}

/** The request as simulated models read it. */
function toChat(request: ResponsesRequest): ChatRequest {
  const { model, instructions, tools, tool_choice, parallel_tool_calls, seed } = request;
  return {
    model,
    messages: [
      ...(instructions ? [{ role: "system", content: instructions } as const] : []),
      ...toMessages(request.input),
    ],
    ...(tools === undefined || tools === null ? {} : { tools: tools.map(toTool) }),
    ...defined({
      tool_choice: isJsonObject(tool_choice)
        ? { type: "function" as const, function: { name: tool_choice.name } }
        : tool_choice,
      parallel_tool_calls,
      seed,
    }),
  };
}

function toTool(tool: NonNullable<ResponsesRequest["tools"]>[number]): ChatTool {
  // Tools of chat completions are not strict by default.
  const strict = tool.strict === false ? undefined : true;
  return { type: "function", function: functionOf(tool.name, { ...tool, strict }) };
}

/** The parts of one reply: a text, and calls after it. */
interface AssistantReply {
  text: string;
  readonly calls: ChatCall[];
}

/** Converts items to messages; consecutive items of the model are one message, up to its next text. */
function toMessages(items: readonly ResponsesItem[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let reply: AssistantReply | undefined;
  const end = () => {
    if (reply !== undefined) messages.push(toAssistant(reply));
    reply = undefined;
  };
  for (const item of items) {
    if (!isAssistant(item)) end();
    if (item.type === "message" && item.role === "assistant") {
      end();
      reply = { text: contentText(item.content), calls: [] };
    } else if (item.type === "message") {
      messages.push({ role: item.role, content: contentText(item.content) } as ChatMessage);
    } else if (item.type === "function_call") {
      reply ??= { text: "", calls: [] };
      reply.calls.push({
        id: item.call_id,
        type: "function",
        function: { name: item.name, arguments: item.arguments },
      });
    } else if (item.type === "function_call_output") {
      const content = contentText(item.output);
      messages.push({ role: "tool", tool_call_id: item.call_id, content });
    }
  }
  end();
  return messages;
}

function toAssistant({ text, calls }: AssistantReply): ChatMessage {
  if (calls.length === 0) return { role: "assistant", content: text };
  return { role: "assistant", content: text === "" ? null : text, tool_calls: calls };
}

/** Converts the reply of a model to a response. */
export function toResponse(
  { id, model, choices: [{ message }], usage }: ChatAnswer,
  { reasons, encrypted }: Pick<ReadRequest, "reasons" | "encrypted">,
): JsonObject {
  // Another seed may draw another reply to the same request: an id is that of one reply.
  const hash = hash64(`${id}\u0000${JSON.stringify(message)}`).toString(16).padStart(16, "0");
  // The "x" marks items without reasoning, which need no reasoning item when sent back.
  const reply = reasons ? hash : `x${hash}`;
  const reasoningId = `rs_${reply}`;
  const status = "completed";
  const output: JsonObject[] = [];
  if (reasons) {
    output.push({
      id: reasoningId,
      type: "reasoning",
      summary: [],
      ...(encrypted ? { encrypted_content: sealFor(model, reasoningId) } : {}),
    });
  }
  const calls = message.tool_calls ?? [];
  if (message.content !== "" || calls.length === 0) {
    output.push({
      id: `msg_${reply}`,
      type: "message",
      status,
      role: "assistant",
      content: [{ type: "output_text", text: message.content, annotations: [] }],
    });
  }
  output.push(...calls.map((call, index) => ({
    id: `fc_${reply}_${index + 1}`,
    type: "function_call",
    status,
    call_id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
  })));
  return {
    id: `resp_${hash}`,
    object: "response",
    created_at: 0,
    status,
    error: null,
    incomplete_details: null,
    model,
    output,
    usage: {
      input_tokens: usage.prompt_tokens,
      output_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
    },
  };
}

/** Checks the tools: functions are strict by default, and their schemas must then be closed. */
function faultOfTools({ tools }: ResponsesRequest): WireFault | undefined {
  for (const { name, parameters, strict } of tools ?? []) {
    if (strict === false) continue;
    const { properties, required, additionalProperties } = parameters ?? {};
    const all = isJsonObject(properties) ? Object.keys(properties) : [];
    const needed = Array.isArray(required) ? required : [];
    const rule = additionalProperties !== false
      ? "'additionalProperties' is required to be supplied and to be false"
      : all.some((one) => !needed.includes(one))
      ? "'required' is required to be supplied and to be an array including every key in properties"
      : undefined;
    if (rule !== undefined) {
      return { message: `Invalid schema for function '${name}': In context=(), ${rule}.` };
    }
  }
}

/** Checks that calls have outputs, outputs have calls, and reasoning and its items belong together. */
function faultOfItems(request: ResponsesRequest): WireFault | undefined {
  const items = request.input;
  const calls = new Set<string>();
  const answered = new Set<string>();
  let lastReasoning: string | undefined;
  for (const [place, one] of items.entries()) {
    const param = `input[${place}]`;
    if (one.type === "reasoning") {
      const fault = faultOfReasoning(one, request);
      if (fault !== undefined) return { ...fault, param };
      lastReasoning = one.id;
      if (isAssistant(items[place + 1])) continue;
      const message = `Item '${one.id}' of type 'reasoning' was provided without its required ` +
        "following item.";
      return { message, param };
    }
    if (!isAssistant(one)) lastReasoning = undefined;
    const needed = requiredReasoning(one);
    if (needed !== undefined && needed !== lastReasoning) {
      const own = (one as { readonly id: string }).id;
      const message = `Item '${own}' of type '${one.type}' was provided without its required ` +
        `'reasoning' item: '${needed}'.`;
      return { message, param };
    }
    if (one.type === "function_call") {
      if (calls.has(one.call_id)) {
        return { message: `Duplicate function call with call_id ${one.call_id}.`, param };
      }
      calls.add(one.call_id);
    }
    if (one.type === "function_call_output") {
      if (!calls.has(one.call_id)) {
        const message = `No tool call found for function call output with call_id ${one.call_id}.`;
        return { message, param };
      }
      answered.add(one.call_id);
    }
  }
  const open = [...calls].find((id) => !answered.has(id));
  if (open === undefined) return undefined;
  return { message: `No tool output found for function call ${open}.`, param: "input" };
}

function faultOfReasoning(
  { id, encrypted_content: sealed }: Extract<ResponsesItem, { type: "reasoning" }>,
  { model, store }: ResponsesRequest,
): WireFault | undefined {
  if (typeof sealed === "string") {
    if (sealed === sealFor(model, id)) return undefined;
    const message = `The encrypted content for item ${id} could not be verified.`;
    return { message, code: "invalid_encrypted_content" };
  }
  // OpenAI would find items that it has made in its store.
  if (store !== false && /^rs_[0-9a-f]{16}$/.test(id)) return undefined;
  const why =
    "Items are not persisted when `store` is set to false. Try again with `store` set to " +
    "true, or remove this item from your input.";
  return { message: `Item with id '${id}' not found. ${why}`, status: 404 };
}

/** The id of the reasoning that led to an item of this server; items without an id need none. */
function requiredReasoning(one: ResponsesItem): string | undefined {
  const id = "id" in one && typeof one.id === "string" ? one.id : "";
  const [, reply] = /^(?:fc|msg)_([0-9a-f]{16})(?:_\d+)?$/.exec(id) ?? [];
  return reply === undefined ? undefined : `rs_${reply}`;
}

/** The encrypted content of a reasoning item: a hash by which the server recognizes it. */
function sealFor(model: string, id: string): string {
  return hash64(`${model}\u0000${id}`).toString(16).padStart(16, "0");
}
