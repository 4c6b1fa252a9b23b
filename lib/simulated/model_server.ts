/**
 * The server of a model made in code, such as `scripted()`: answers the requests of agents in OpenAI's formats, so
 * that an agent can be tried without a key.
 * @module
 */

import { isJsonObject, printable } from "../base/json.ts";
import { redact } from "../base/redact.ts";
import { hideSecrets } from "../base/secrets.ts";
import {
  type FinishReason,
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelServer,
} from "../models/model.ts";
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

/** Returns the server of a model that has none: its replies are those of the model's `reply`. */
export function serverOf(model: Model): ModelServer {
  const { name } = model;
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
      const { messages, tools } = request;
      const reply = await model.reply({ messages, tools, ...asked });
      const { duration, failed = [] } = reply;
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
