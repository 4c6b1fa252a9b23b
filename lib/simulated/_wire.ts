/**
 * The part of OpenAI's chat completions format that simulated models use.
 *
 * @see https://platform.openai.com/docs/api-reference/chat
 * @module
 */

import { z } from "zod";
import {
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
} from "../base/json.ts";
import { hash64 } from "../base/random.ts";

const content = z.union([z.string(), z.array(z.looseObject({ text: z.string().exactOptional() }))])
  .nullable();

const call = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer", "user"]), content }),
  z.looseObject({
    role: z.literal("assistant"),
    content: content.exactOptional(),
    tool_calls: z.array(call).nullable().exactOptional(),
  }),
  z.looseObject({ role: z.literal("tool"), tool_call_id: z.string(), content }),
]);

const tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    description: z.string().exactOptional(),
    parameters: z.custom<JsonObject>(isJsonObject, "Invalid input: expected object")
      .exactOptional(),
  }),
});

/** Checks the body of a request, and keeps unknown fields. */
export const chatRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  tools: z.array(tool).nullable().exactOptional(),
  // "none" forbids calls, "required" requires them in every reply, and an object those of its function. Other
  // values leave the choice to the model.
  tool_choice: z.unknown().exactOptional(),
  parallel_tool_calls: z.boolean().nullable().exactOptional(),
  // Changes the noise of a noisy model.
  seed: z.int().nullable().exactOptional(),
  stream: z.boolean().nullable().exactOptional(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullable().exactOptional() })
    .nullable().exactOptional(),
  n: z.literal(1, "Simulated models give one answer").nullable().exactOptional(),
});

/** A type without the index signature of objects that may have other fields, and read-only. */
type Known<T> = T extends readonly (infer Item)[] ? readonly Known<Item>[]
  : JsonObject extends T ? T
  : T extends object
    ? { readonly [Key in keyof T as string extends Key ? never : Key]: Known<T[Key]> }
  : T;

/** The content of a message: a text, a list of parts of which those with a `text` are read, or nothing. */
export type ChatContent = Known<z.infer<typeof content>>;

/** A call in an assistant message. */
export type ChatCall = Known<z.infer<typeof call>>;

/** One message of a conversation. */
export type ChatMessage = Known<z.infer<typeof message>>;

/** A function that a model may call (FuncBenchGen, appendix B.3). */
export type ChatTool = Known<z.infer<typeof tool>>;

/** The body of a request. Other fields are accepted and ignored. */
export type ChatRequest = Known<z.infer<typeof chatRequestSchema>>;

/** The body of a reply, with one choice. */
export interface ChatAnswer {
  /** A hash of model and request. */
  readonly id: string;
  /** Always `chat.completion`, as in OpenAI's format. */
  readonly object: "chat.completion";
  /** Always 0, so that equal requests have equal answers. */
  readonly created: number;
  /** The name of the model that answered. */
  readonly model: string;
  /** The answer. */
  readonly choices: readonly [{
    readonly index: 0;
    readonly message: {
      readonly role: "assistant";
      readonly content: string;
      readonly refusal: null;
      readonly tool_calls?: readonly ChatCall[];
    };
    readonly logprobs: null;
    readonly finish_reason: "stop" | "tool_calls" | "length" | "content_filter";
  }];
  /** Estimated at four characters per token, rounded up. */
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
}

/** The reason why a request is refused. */
export interface WireFault {
  /** The error message. */
  readonly message: string;
  /** The field at fault. */
  readonly param?: string | null;
  /** OpenAI's error code. */
  readonly code?: string;
  /** The HTTP status. Default: 400. */
  readonly status?: number;
}

/** A program in place of a model. It says nothing about any language model. */
export interface SimulatedModel {
  /** The requested name, including options. */
  readonly name: string;
  /**
   * Replies to a request. The reply depends on the name and the request alone, as all state is read from the
   * conversation.
   */
  reply(request: ChatRequest): ChatAnswer;
}

/** The rates of what is drawn, and the seeds that determine it. */
export interface Draws<Rates> {
  /** The rates. Default: 0. */
  readonly rates: Partial<Rates>;
  /** The seed of the model. */
  readonly seed: number;
  /** The `seed` of the request, which is the number of the repetition; 0 if it has none. */
  readonly repetition: number;
}

/** The value of a variable as a model sees it: a number, or a symbol for one such as `@x`. */
export type Value = number | string;

/** A call by a simulated model: the function's name and its arguments by parameter. */
export interface OutgoingCall {
  readonly name: string;
  readonly arguments: ReadonlyMap<string, JsonValue>;
}

/** The text of a message. */
export function contentText(content: ChatContent | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

/**
 * The number of the step, from 0: how many assistant messages contain calls. Plans and other texts do not
 * count, so that a conversation that begins with one has the same noise as one without.
 */
export function stepOf(messages: readonly ChatMessage[]): number {
  return messages.filter((message) =>
    message.role === "assistant" && (message.tool_calls ?? []).length > 0
  ).length;
}

/** A function of these fields, as requests offer it: what has another type is left out. */
export function functionOf(
  name: string,
  { description, strict, parameters }: Readonly<Record<string, unknown>>,
): ChatTool["function"] {
  return {
    name,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
    ...(isJsonObject(parameters) ? { parameters } : {}),
  };
}

/** The reply of the model `name` with `text` and `calls`. */
export function composeAnswer(
  name: string,
  request: ChatRequest,
  text: string,
  calls: readonly OutgoingCall[],
): ChatAnswer {
  const step = stepOf(request.messages);
  const allowed = request.parallel_tool_calls === false ? calls.slice(0, 1) : calls;
  const toolCalls = allowed.map((outgoing, index): ChatCall => ({
    id: `call_${step + 1}_${index + 1}`,
    type: "function",
    function: {
      name: outgoing.name,
      arguments: jsonText(Object.fromEntries(outgoing.arguments)),
    },
  }));
  return answerWith(name, request, text, toolCalls);
}

/**
 * Returns a request with all calls as their model wrote them. Those whose arguments are no JSON object come
 * within one, as servers which parse them refuse them otherwise.
 */
export function asWritten(request: ChatRequest): ChatRequest {
  const restored = (call: ChatCall): ChatCall => {
    // Parsing the arguments of all calls again would take longer than the reply.
    const parsed = call.function.arguments.startsWith('{"unreadable":')
      ? parseJson(call.function.arguments)
      : undefined;
    const written = isJsonObject(parsed) && Object.keys(parsed).length === 1
      ? parsed["unreadable"]
      : undefined;
    if (typeof written !== "string") return call;
    return { ...call, function: { ...call.function, arguments: written } };
  };
  return {
    ...request,
    messages: request.messages.map((message) =>
      message.role === "assistant" && message.tool_calls
        ? { ...message, tool_calls: message.tool_calls.map(restored) }
        : message
    ),
  };
}

/** The reply of the model `name` with `text` and calls that are already in OpenAI's format. */
export function answerWith(
  name: string,
  request: ChatRequest,
  text: string,
  toolCalls: readonly ChatCall[],
): ChatAnswer {
  const requestText = JSON.stringify([request.messages, request.tools ?? []]);
  const promptTokens = tokens(requestText.length);
  const completionTokens = tokens(toolCalls.reduce(
    (sum, { function: { name, arguments: written } }) => sum + name.length + written.length,
    text.length,
  ));
  return {
    id: `chatcmpl-${hash64(`${name}\u0000${requestText}`).toString(16).padStart(16, "0")}`,
    object: "chat.completion",
    created: 0,
    model: name,
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: text,
        refusal: null,
        ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      },
      logprobs: null,
      finish_reason: toolCalls.length === 0 ? "stop" : "tool_calls",
    }],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

function tokens(characters: number): number {
  return Math.ceil(characters / 4);
}
