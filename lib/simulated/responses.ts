/**
 * OpenAI's responses, as simulated models answer them: requests become the chat completion requests that
 * all of them read, and their answers become responses.
 *
 * @see https://platform.openai.com/docs/api-reference/responses
 * @module
 */

import { z } from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { faultOfItems, faultOfTools, sealOf } from "./responses_rules.ts";
import {
  isAssistant,
  RESPONSES_REQUEST,
  type ResponsesItem,
  type ResponsesRequest,
} from "./responses_wire.ts";
import {
  type ChatAnswer,
  type ChatCall,
  type ChatMessage,
  type ChatRequest,
  type ChatTool,
  textOf,
  type WireFault,
} from "./wire.ts";

/** Fields of chat completions, and those that take a server that remembers. */
const UNSUPPORTED = [
  ...["messages", "functions", "function_call", "response_format", "reasoning_effort"],
  ...["max_tokens", "max_completion_tokens", "stop", "n", "logit_bias"],
  ...["previous_response_id", "conversation", "prompt"],
];

/** A request for a response, read. */
export interface ReadRequest {
  /** What the model is asked, as it reads it. */
  readonly chat: ChatRequest;
  /** Whether the model reasons before it replies. */
  readonly reasons: boolean;
  /** Whether it is told encrypted what it reasoned. */
  readonly encrypted: boolean;
}

/** Reads the body of a request, or tells what is wrong with it. */
export function readResponsesRequest(body: unknown): ReadRequest | WireFault {
  const odd = UNSUPPORTED.find((name) => isJsonObject(body) && Object.hasOwn(body, name));
  if (odd !== undefined) return { message: `Unsupported parameter: '${odd}'.`, param: odd };
  const parsed = RESPONSES_REQUEST.safeParse(body);
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
  return { chat: toChat(request), reasons, encrypted };
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
    ...(tool_choice === undefined ? {} : {
      tool_choice: isJsonObject(tool_choice)
        ? { type: "function", function: { name: tool_choice.name } }
        : tool_choice,
    }),
    ...(parallel_tool_calls === undefined ? {} : { parallel_tool_calls }),
    ...(seed === undefined ? {} : { seed }),
  };
}

function toTool({ name, description, parameters, strict }: Tool): ChatTool {
  return {
    type: "function",
    function: {
      name,
      ...(typeof description === "string" ? { description } : {}),
      // Tools of chat completions are not strict unless they are said to be.
      ...(strict === false ? {} : { strict: true }),
      ...(isJsonObject(parameters) ? { parameters } : {}),
    },
  };
}

type Tool = NonNullable<ResponsesRequest["tools"]>[number];

/** What one reply is made of: a text, and calls after it. */
interface Said {
  text: string;
  readonly calls: ChatCall[];
}

/** The messages that items come to; a model's items in a row are one message, up to its next text. */
function toMessages(items: readonly ResponsesItem[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let said: Said | undefined;
  const end = () => {
    if (said !== undefined) messages.push(toAssistant(said));
    said = undefined;
  };
  for (const item of items) {
    if (!isAssistant(item)) end();
    if (item.type === "message" && item.role === "assistant") {
      end();
      said = { text: textOf(item.content), calls: [] };
    } else if (item.type === "message") {
      messages.push({ role: item.role, content: textOf(item.content) } as ChatMessage);
    } else if (item.type === "function_call") {
      said ??= { text: "", calls: [] };
      said.calls.push({
        id: item.call_id,
        type: "function",
        function: { name: item.name, arguments: item.arguments },
      });
    } else if (item.type === "function_call_output") {
      messages.push({ role: "tool", tool_call_id: item.call_id, content: textOf(item.output) });
    }
  }
  end();
  return messages;
}

function toAssistant({ text, calls }: Said): ChatMessage {
  if (calls.length === 0) return { role: "assistant", content: text };
  return { role: "assistant", content: text === "" ? null : text, tool_calls: calls };
}

/** The answer of a model as a response. */
export function toResponse(
  { id, model, choices: [{ message }], usage }: ChatAnswer,
  { reasons, encrypted }: ReadRequest,
): JsonObject {
  const hash = id.slice(id.indexOf("-") + 1);
  // What was not reasoned asks for no reasoning when it goes back.
  const reply = reasons ? hash : `x${hash}`;
  const reasoned = `rs_${reply}`;
  const status = "completed";
  const output: JsonObject[] = [];
  if (reasons) {
    output.push({
      id: reasoned,
      type: "reasoning",
      summary: [],
      ...(encrypted ? { encrypted_content: sealOf(model, reasoned) } : {}),
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
