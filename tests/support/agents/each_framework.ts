// Tests of an agent of each framework, run by a child: 40 trials each, in one process, as its users write them.

import { assertCalled, scripted, tool, toolTest } from "../../../mod.ts";
import { aiSdkAgent } from "./ai_sdk.ts";
import { langchainAgent } from "./langchain.ts";
import { openaiAgentsAgent } from "./openai_agents.ts";
import { runToolsAgent } from "./run_tools.ts";

const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  returns: { refunded: true },
});

for (const make of [langchainAgent, aiSdkAgent, openaiAgentsAgent, runToolsAgent]) {
  toolTest(make.name, {
    agent: make({ streamed: false, api: "chat" }),
    model: scripted("script", [
      { calls: [{ name: "refund", arguments: { order: "A1" } }] },
      { text: "Order A1 is refunded." },
    ]),
    tools: [refund],
    prompt: "Please refund order A1.",
    trials: 40,
    gate: { successRate: 0.9, margin: 0.1 },
    assert: (run) => assertCalled(run, "refund"),
  });
}
