/** An agent of LangChain. */

import { type StructuredTool, tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { toLangChainTools } from "../../../lib/integrations/langchain.ts";
import type { Agent as AgentFunction } from "../../../lib/trials/own_agent.ts";
import { type AgentForm, MAX_REPLIES, saidIn } from "./agent.ts";

/** Returns an agent with the task's tools, or with tools of LangChain in their place. */
export function langchainAgent(
  { streamed, api }: AgentForm,
  own?: StructuredTool[],
): AgentFunction {
  return async (task, { baseURL, apiKey, fetch, model, signal }) => {
    const agent = createAgent({
      model: new ChatOpenAI({
        ...{ model, apiKey, useResponsesApi: api === "responses" },
        configuration: { baseURL, fetch },
      }),
      tools: own ?? toLangChainTools(task.tools, { tool }),
      ...(task.system === undefined ? {} : { systemPrompt: task.system }),
    });
    const input = { messages: saidIn(task) };
    // A reply and its calls are two steps of its graph.
    const options = { signal, recursionLimit: 2 * MAX_REPLIES };
    if (!streamed) return (await agent.invoke(input, options)).messages.at(-1)?.text ?? "";
    let said = "";
    // With messages it streams every reply; `streaming: true` would load a tokenizer from the network to count tokens.
    const stream = await agent.stream(input, { ...options, streamMode: ["messages", "values"] });
    for await (const [mode, part] of stream) {
      if (mode === "values") said = part.messages.at(-1)?.text ?? "";
    }
    return said;
  };
}
