/**
 * The server of a model without one of OpenAI's formats, such as `scripted()` or a model of the AI SDK: answers the
 * requests of agents in these formats.
 * @module
 */

import { defined, fieldOf, isJsonObject, type JsonValue, printable } from "../base/json.ts";
import { redact } from "../base/redact.ts";
import { hideSecrets } from "../base/secrets.ts";
import {
  type FinishReason,
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelServer,
} from "../models/model.ts";
import type { Carried, Message } from "../tools/message.ts";
import type { ToolChoice } from "../tools/tool.ts";
import { readChosen } from "./_reading.ts";
import { apiOfPath, readAgentRequest } from "../models/openai/agent_request.ts";
import { toResponse } from "./_responses.ts";
import { completionChunks, eventStream, responseEvents } from "./_streaming.ts";
import type { ChatAnswer } from "./_wire.ts";

/** Why models stop, in the words of chat completions. */
const FINISH: Readonly<Record<FinishReason, ChatAnswer["choices"][0]["finish_reason"]>> = {
  stop: "stop",
  calls: "tool_calls",
  length: "length",
  filter: "content_filter",
  other: "stop",
};

/**
 * Returns the server of a model that has none, for one trial: its replies are those of the model's `reply`. What the
 * model wants back with its calls does not go through the agent.
 */
export function serverOf(model: Model): ModelServer {
  const { name } = model;
  const kept = new Map<string, Carried>();
  return {
    ...{ model: name, who: printable(name), hide: hideSecrets },
    quote: (text) => printable(redact(text), 300),
    async forward({ path, body, ...asked }) {
      const api = apiOfPath(path);
      const request = api && readAgentRequest(api, JSON.stringify(body));
      if (request === undefined) {
        throw new InfrastructureError(`${printable(name)} answers requests for replies alone`, {
          status: 404,
          fault: "unclear",
        });
      }
      const { tools } = request;
      const toolChoice = choiceIn(body["tool_choice"]);
      const messages = withCarried(request.messages, kept);
      const reply = await model.reply({ messages, tools, ...defined({ toolChoice }), ...asked });
      const { duration, failed = [], carried } = reply;
      if (carried !== undefined) { for (const { id } of reply.calls) kept.set(id, carried); }
      const answer = answerOf(reply, asked.context.request);
      const isStream = body["stream"] === true;
      if (request.api === "chat") {
        const { stream_options: options } = body;
        const counted = isJsonObject(options) && options["include_usage"] === true;
        const response = isStream
          ? eventStream(completionChunks(answer, { include_usage: counted }))
          : Response.json(answer);
        return { response, duration, failed };
      }
      const whole = {
        ...toResponse(answer, { reasons: false, encrypted: false }),
        ...(reply.finish === "length" || reply.finish === "filter" ? incomplete(reply.finish) : {}),
      };
      const response = isStream ? eventStream(responseEvents(whole)) : Response.json(whole);
      return { response, duration, failed };
    },
  };
}

/** Adds what replies carry; a format may spread one reply over several messages, which are joined. */
function withCarried(
  messages: readonly Message[],
  kept: ReadonlyMap<string, Carried>,
): readonly Message[] {
  if (kept.size === 0) return messages;
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role !== "assistant" || last?.role !== "assistant") joined.push(message);
    else {
      const calls = [...last.calls, ...message.calls];
      joined.splice(-1, 1, { ...last, content: last.content + message.content, calls });
    }
  }
  return joined.map((message) => {
    if (message.role !== "assistant") return message;
    const carried = message.calls.map(({ id }) => kept.get(id)).find((one) => one !== undefined);
    return { ...message, ...defined({ carried }) };
  });
}

/** Reads what an agent says of calls, in either format. */
function choiceIn(said: JsonValue | undefined): ToolChoice | undefined {
  if (said === "auto" || said === "none" || said === "required") return said;
  const name = readChosen(said) ?? fieldOf(said, "name");
  return typeof name === "string" ? { function: name } : undefined;
}

function incomplete(finish: "length" | "filter") {
  const reason = finish === "length" ? "max_output_tokens" : "content_filter";
  return { status: "incomplete", incomplete_details: { reason } };
}

function answerOf(
  { text, calls, finish, usage, served }: ModelReply,
  request: number,
): ChatAnswer {
  const { inputTokens, outputTokens } = usage;
  return {
    ...{ id: `reply-${request}`, object: "chat.completion", created: 0, model: served },
    choices: [{
      index: 0,
      message: {
        ...{ role: "assistant", content: text, refusal: null },
        ...(calls.length === 0 ? {} : {
          tool_calls: calls.map(({ id, name, arguments: written }) => ({
            ...{ id, type: "function" as const },
            function: { name, arguments: written },
          })),
        }),
      },
      logprobs: null,
      finish_reason: FINISH[finish],
    }],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
  };
}
