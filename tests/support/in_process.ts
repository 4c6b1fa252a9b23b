/**
 * Simulated models without their server, for tests that need many trials of them.
 */

import type { Model, ModelRequest } from "../../lib/models/model.ts";
import type { ChatMessage } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import type { Truths } from "../../lib/simulated/_truth.ts";
import { toOpenAITool } from "../../lib/tools/tool.ts";

/** The simulated model of a name, which knows `truths`; `seen` gets every request that it answers. */
export function inProcess(
  name: string,
  seen?: (request: ModelRequest) => void,
  truths?: Truths,
): Model {
  const model = parseSimulatedModel(name, truths);
  return {
    name,
    simulated: true,
    reply(request) {
      seen?.(request);
      const { choices: [{ message }], usage } = model.reply({
        model: name,
        // As with a connection, each repetition has noise of its own.
        seed: request.context.repetition,
        messages: request.messages.map(toChatMessage),
        tools: request.tools.map(toOpenAITool),
        ...(request.tools.length === 0 || request.toolChoice === undefined
          ? {}
          : { tool_choice: choiceOf(request.toolChoice) }),
      });
      const calls = message.tool_calls ?? [];
      return Promise.resolve({
        text: message.content,
        calls: calls.map(({ id, function: called }) => ({ id, ...called })),
        finish: calls.length === 0 ? "stop" : "calls",
        usage: { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens },
        served: name,
        duration: 0,
        repairs: [],
      });
    },
  };
}

/** A tool choice as chat requests have it. */
function choiceOf(choice: NonNullable<ModelRequest["toolChoice"]>) {
  return typeof choice === "string"
    ? choice
    : { type: "function", function: { name: choice.function } };
}

function toChatMessage(message: ModelRequest["messages"][number]): ChatMessage {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.callId, content: message.content };
  }
  if (message.role !== "assistant") return message;
  const calls = message.calls.map(({ id, ...called }) => ({
    id,
    type: "function" as const,
    function: called,
  }));
  return { role: "assistant", content: message.content, tool_calls: calls };
}
