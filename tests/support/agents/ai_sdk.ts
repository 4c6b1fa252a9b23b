/** An agent of the AI SDK. */

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, streamText, type ToolSet } from "ai";
import { toAiSdkTools } from "../../../lib/integrations/ai_sdk.ts";
import type { Agent as AgentFunction } from "../../../lib/trials/own_agent.ts";
import { type AgentForm, MAX_REPLIES, saidIn } from "./agent.ts";

/** Returns an agent with the task's tools, or with tools of the AI SDK in their place. */
export function aiSdkAgent({ streamed, api, stored }: AgentForm, own?: ToolSet): AgentFunction {
  return async (task, { baseURL, apiKey, fetch, model, signal }) => {
    const openai = createOpenAI({ baseURL, apiKey, fetch });
    const options = {
      model: api === "chat" ? openai.chat(model) : openai.responses(model),
      ...(task.system === undefined ? {} : { instructions: task.system }),
      messages: saidIn(task),
      tools: own ?? toAiSdkTools(task.tools, { jsonSchema }),
      stopWhen: isStepCount(MAX_REPLIES),
      abortSignal: signal,
      // Reasoning goes back as it came.
      ...(stored ? {} : {
        providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
      }),
    };
    if (!streamed) return (await generateText(options)).text;
    let failure: { readonly error: unknown } | undefined;
    const result = streamText({ ...options, onError: ({ error }) => void (failure = { error }) });
    await result.consumeStream();
    if (failure !== undefined) throw failure.error;
    return await result.text;
  };
}
