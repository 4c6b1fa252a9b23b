/** An agent of the OpenAI Agents SDK. */

import { Agent, assistant, OpenAIProvider, Runner, type Tool, tool, user } from "@openai/agents";
import { OpenAI } from "openai";
import { toOpenAIAgentsTools } from "../../../lib/integrations/openai_agents.ts";
import type { Agent as AgentFunction } from "../../../lib/trials/own_agent.ts";
import { type AgentForm, MAX_REPLIES, saidIn } from "./agent.ts";

/** Returns an agent with the task's tools, or with tools of the SDK in their place. */
export function openaiAgentsAgent({ streamed, api }: AgentForm, own?: Tool[]): AgentFunction {
  return async (task, { baseURL, apiKey, fetch, model, signal }) => {
    const openAIClient = new OpenAI({ baseURL, apiKey, fetch });
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses: api === "responses" });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agent = new Agent({
      name: "assistant",
      model,
      ...(task.system === undefined ? {} : { instructions: task.system }),
      tools: own ?? toOpenAIAgentsTools(task.tools, { tool }),
    });
    const said = saidIn(task).map(({ role, content }) =>
      role === "user" ? user(content) : assistant(content)
    );
    const options = { maxTurns: MAX_REPLIES, signal };
    if (!streamed) return (await runner.run(agent, said, options)).finalOutput ?? "";
    const result = await runner.run(agent, said, { ...options, stream: true });
    await result.completed;
    return result.finalOutput ?? "";
  };
}
