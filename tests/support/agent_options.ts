/**
 * What an agent gets besides its task, where nobody listens.
 */

import type { AgentOptions, AgentTask } from "../../lib/trials/own_agent.ts";

/** Options of an agent that asks no model. */
export function agentOptions(changes: Partial<AgentOptions> = {}): AgentOptions {
  return {
    ...{ model: "a-model", baseURL: "http://127.0.0.1:9/none/v1", apiKey: "no-key" },
    ...{ toolsURL: "http://127.0.0.1:9/none/tools", signal: new AbortController().signal },
    mcpURL: () => Promise.reject(new Error("nothing is served")),
    ...changes,
  } as AgentOptions;
}

/** A task without functions. */
export function agentTask(changes: Partial<AgentTask> = {}): AgentTask {
  return {
    ...{ prompt: "Hello?", history: [], tools: [] },
    ...{ callLimit: 10, calls: 0, left: 10, exhausted: false, step: () => {} },
    ...changes,
  };
}
