/**
 * Models behind OpenAI's chat completions, at OpenAI or at any server that speaks the same format.
 * @module
 */

import type OpenAI from "openai";
import { z } from "zod";
import { clientOf, type Endpoint, endpointOf, type EndpointOptions, faultOf } from "../endpoint.ts";
import { InputError } from "../input.ts";
import { isJsonObject, type JsonObject, printable } from "../json.ts";
import type { Message } from "../message.ts";
import {
  type FinishReason,
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
} from "../model.ts";
import { type Attempt, retrying, type RetryPolicy } from "../retry.ts";
import { type ToolCall, type ToolChoice, toOpenAITool } from "../tool.ts";

/** Which model to ask, where, and how. */
export interface OpenAIOptions extends EndpointOptions, RetryPolicy {
  /** The sampling temperature, 0 to 2. */
  temperature?: number;
  /** The probability mass to sample from, 0 to 1. */
  topP?: number;
  /** Tokens that one reply may take, hidden reasoning included. */
  maxCompletionTokens?: number;
  /** How much to reason before answering. */
  reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Asks the server to sample reproducibly; few do. */
  seed?: number;
  /** Whether one reply may hold several calls; sent only along with tools. */
  parallelToolCalls?: boolean;
  /**
   * Whether a reply calls functions: as the model likes, never, always, or always this one; sent only
   * along with tools. Where it must call, no conversation ends by itself (Indirection, "Inflexible").
   */
  toolChoice?: ToolChoice;
  /** Further fields of the request body; they win over those that the other options make. */
  body?: JsonObject;
  /** The name under which the model appears in results; default `model`. */
  name?: string;
  /** Whether the server is a program that stands in for a model; default false. */
  simulated?: boolean;
  /**
   * Further fields of one request's body; they win over all others. The wiring of simulated models
   * needs them, to tell the loopback server which request of which trial it answers.
   */
  requestFields?: (request: ModelRequest) => JsonObject;
}

/**
 * A model that is asked through OpenAI's chat completions.
 *
 * Its `reply` throws an {@linkcode InfrastructureError} for every fault of network, server, account or
 * reply, after retries where these may help. Such a message holds at most about 300 characters of what
 * the server said, and neither the key nor a header's value.
 *
 * @throws {InputError} If `baseURL` is no http or https address, if OpenAI's own servers are to be
 * asked without a key, or if an option cannot be sent or cannot be retried by.
 *
 * @example Usage
 * ```ts
 * import { openai } from "./openai.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () =>
 *   Response.json({
 *     model: "parrot-2",
 *     choices: [{ finish_reason: "stop", message: { role: "assistant", content: "hello" } }],
 *   }));
 *
 * const parrot = openai({
 *   model: "parrot",
 *   baseURL: `http://127.0.0.1:${server.addr.port}/v1`,
 *   apiKey: "any",
 * });
 * const { text, served } = await parrot.reply({
 *   messages: [{ role: "user", content: "Say hello" }],
 *   tools: [],
 *   context: { trial: "example", repetition: 1, request: 1 },
 * });
 * assertEquals([text, served], ["hello", "parrot-2"]);
 * await server.shutdown();
 * ```
 */
export function openai(options: OpenAIOptions): Model {
  const { model, name = model, simulated = false } = options;
  if (options.body?.["stream"]) {
    throw new InputError(`Cannot ask ${model} as replies are read whole: body.stream is set`);
  }
  const usual = choiceOf(options);
  const endpoint = endpointOf(options);
  const client = clientOf(endpoint);
  const attempt: Attempt = async (request, signal) => {
    const choice = request.toolChoice === undefined ? usual : choiceOf({ model, ...request });
    const body = bodyOf(options, choice, request);
    let answer: unknown;
    try {
      const { data, response } = await client.chat.completions.create(body, { signal })
        .withResponse();
      // The client does not touch a body that is announced as empty, which would stay open.
      if (!response.bodyUsed) await response.body?.cancel();
      answer = data;
    } catch (error) {
      throw faultOf(error, endpoint);
    }
    return readReply(answer, endpoint);
  };
  return { name, simulated, reply: retrying(attempt, options) };
}

// The request.

/** The choice as OpenAI takes it. */
function choiceOf(
  { model, toolChoice }: Pick<OpenAIOptions, "model" | "toolChoice">,
): OpenAI.ChatCompletionToolChoiceOption | undefined {
  // It may come from a file that nothing has checked.
  const given: unknown = toolChoice;
  if (given === undefined || given === "auto" || given === "none" || given === "required") {
    return given;
  }
  const name = isJsonObject(given) && Object.keys(given).length === 1 ? given["function"] : "";
  if (typeof name === "string" && name !== "") return { type: "function", function: { name } };
  throw new InputError(
    `Cannot ask ${model} as toolChoice must be auto, none, required or {"function": NAME}: it is ${
      printable(JSON.stringify(given) ?? String(given))
    }`,
  );
}

function bodyOf(
  options: OpenAIOptions,
  choice: OpenAI.ChatCompletionToolChoiceOption | undefined,
  request: ModelRequest,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const { model, temperature, topP, maxCompletionTokens, reasoningEffort, seed } = options;
  const { parallelToolCalls } = options;
  const { messages, tools } = request;
  return {
    model,
    messages: messages.map(toOpenAIMessage),
    ...(tools.length === 0 ? {} : { tools: tools.map(toOpenAITool) }),
    // OpenAI refuses the field when there are no tools.
    ...(tools.length === 0 || parallelToolCalls === undefined
      ? {}
      : { parallel_tool_calls: parallelToolCalls }),
    ...(tools.length === 0 || choice === undefined ? {} : { tool_choice: choice }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxCompletionTokens === undefined ? {} : { max_completion_tokens: maxCompletionTokens }),
    ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
    ...(seed === undefined ? {} : { seed }),
    ...options.body,
    ...options.requestFields?.(request),
  };
}

function toOpenAIMessage(message: Message): OpenAI.ChatCompletionMessageParam {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.callId, content: message.content };
  }
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  const { role, content, calls } = message;
  if (calls.length === 0) return { role, content };
  return {
    role,
    content: content === "" ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

// The reply.

const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["tool_calls", "calls"],
  ["function_call", "calls"],
  ["length", "length"],
  ["content_filter", "filter"],
]);

const ReplySchema = z.looseObject({
  model: z.string().nullish(),
  choices: z.array(z.looseObject({
    finish_reason: z.string().nullish(),
    message: z.looseObject({
      content: z.string().nullish(),
      refusal: z.string().nullish(),
      tool_calls: z.array(z.looseObject({
        id: z.string().nullish(),
        type: z.string().nullish(),
        function: z.looseObject({
          name: z.string(),
          // Kept as it is, where a schema of an object would make a copy of it.
          arguments: z.custom<string | JsonObject | null | undefined>(
            (value) => typeof value === "string" || value == null || isJsonObject(value),
            "Invalid input: expected string or object",
          ).optional(),
        }),
      })).nullish(),
    }),
  })).min(1, "Invalid input: expected at least one"),
  usage: z.looseObject({
    prompt_tokens: z.number().nonnegative().nullish(),
    completion_tokens: z.number().nonnegative().nullish(),
  }).nullish(),
});

type WireCall = NonNullable<
  z.infer<typeof ReplySchema>["choices"][number]["message"]["tool_calls"]
>[number];

function readReply(response: unknown, endpoint: Endpoint): Omit<ModelReply, "duration"> {
  const unusable = (state: string) =>
    new InfrastructureError(
      `Cannot use the reply of ${endpoint.who} as it must be a chat completion: ${
        endpoint.quote(state)
      }`,
      { retryable: true },
    );
  const parsed = ReplySchema.safeParse(response);
  if (!parsed.success) throw unusable(whyUnusable(response, parsed.error));
  const { choices: [choice], model, usage } = parsed.data;
  if (choice === undefined) throw unusable("it has no choices");
  const error = parsed.data["error"] ?? choice["error"];
  if ((error !== undefined && error !== null) || choice.finish_reason === "error") {
    throw unusable(`it is an error: ${JSON.stringify(error ?? "no more is said")}`);
  }

  const { content, refusal, tool_calls } = choice.message;
  const wireCalls = tool_calls ?? [];
  if (FINISH.get(choice.finish_reason ?? "") === "calls" && wireCalls.length === 0) {
    throw unusable("it announces calls, and has none");
  }
  const ids = wireCalls.flatMap(({ id }) => id ? [id] : []);
  const seen = new Set<string>();
  const twice = ids.find((id) => seen.size === seen.add(id).size);
  if (twice !== undefined) throw unusable(`two of its calls have the id "${twice}"`);
  const { calls, repairs } = readCalls(wireCalls, new Set(ids));
  return {
    text: endpoint.hide(content || refusal || ""),
    calls,
    finish: FINISH.get(choice.finish_reason ?? "") ?? "other",
    usage: {
      inputTokens: usage?.prompt_tokens ?? 0,
      outputTokens: usage?.completion_tokens ?? 0,
    },
    served: endpoint.hide(model ?? ""),
    repairs,
  };
}

/** What is wrong with a response, in words. */
function whyUnusable(response: unknown, error: z.ZodError): string {
  if (response === undefined || response === null) return "it is empty";
  if (typeof response === "string") return `it is text that is not marked as JSON: ${response}`;
  // Some routers pass on a provider's error with status 200.
  if (isJsonObject(response) && isJsonObject(response["error"])) {
    return `it is an error: ${JSON.stringify(response["error"])}`;
  }
  return error.issues
    .map(({ path, message }) => `at ${z.core.toDotPath(path) || "the top"}: ${message}`)
    .join("; ");
}

/** The calls, with ids and arguments where they had none; `taken` holds the ids that there are. */
function readCalls(wireCalls: readonly WireCall[], taken: Set<string>) {
  const repairs: string[] = [];
  const calls: ToolCall[] = wireCalls.map((call, index) => {
    const position = index + 1;
    let id = call.id || `call_${position}`;
    if (!call.id) {
      for (let suffix = 2; taken.has(id); suffix++) id = `call_${position}_${suffix}`;
      taken.add(id);
      repairs.push(`call ${position} had no id and was given ${id}`);
    }
    const { name, arguments: given } = call.function;
    if (typeof given === "string") return { id, name, arguments: given };
    repairs.push(
      given === undefined || given === null
        ? `call ${position} had no arguments and was given {}`
        : `call ${position} had an object for arguments, which was written as text`,
    );
    return { id, name, arguments: JSON.stringify(given ?? {}) };
  });
  return { calls, repairs };
}
