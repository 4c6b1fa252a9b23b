// Agents of real frameworks that hold a call until a person approves it; the AI SDK's is in docs/agents.md.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Command, MemorySaver } from "@langchain/langgraph";
import { tool as langchainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import * as agents from "@openai/agents";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { OpenAI } from "openai";
import {
  type Agent,
  assertCallCount,
  assertHeld,
  assertNoCalls,
  tool,
  type ToolCase,
} from "../../mod.ts";
import { toLangChainTools } from "../../lib/integrations/langchain.ts";
import { toOpenAIAgentsTools } from "../../lib/integrations/openai_agents.ts";
import { readTraces } from "../../lib/integrations/traces.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { sayingServer } from "../support/saying_server.ts";

const DEL = { name: "del", arguments: '{"path":"/a"}' };
const parameters = { type: "object", properties: { path: { type: "string" } } };
const del = tool({ name: "del", description: "Deletes a file", parameters, returns: "deleted" });

// Agents that ask the user before they carry out a call; each is for one trial.

function openaiAgents(): Agent {
  let state: agents.RunState<unknown, agents.Agent> | undefined;
  return async ({ prompt, tools }, { baseURL, fetch, apiKey, model }) => {
    const openAIClient = new OpenAI({ baseURL, fetch, apiKey });
    const modelProvider = new agents.OpenAIProvider({ openAIClient, useResponses: false });
    const runner = new agents.Runner({ modelProvider, tracingDisabled: true });
    const make = (own: never) => agents.tool({ ...own as object, needsApproval: true } as never);
    const agent = new agents.Agent({
      ...{ name: "asking", model },
      tools: toOpenAIAgentsTools(tools, { tool: make }) as agents.Tool[],
    });
    for (const item of state?.getInterruptions() ?? []) {
      if (prompt === "Yes.") state!.approve(item);
      else state!.reject(item);
    }
    const result = await runner.run(agent, state ?? prompt);
    state = result.state as typeof state;
    return result.interruptions.length > 0 ? "May I?" : result.finalOutput ?? "";
  };
}

function langchain(): Agent {
  const checkpointer = new MemorySaver();
  let isAsking = false;
  return async ({ prompt, tools }, { baseURL, fetch, apiKey, model }) => {
    const agent = createAgent({
      model: new ChatOpenAI({ model, apiKey, configuration: { baseURL, fetch } }),
      tools: toLangChainTools(tools, { tool: langchainTool }) as never,
      middleware: [humanInTheLoopMiddleware({ interruptOn: { del: true } })],
      checkpointer,
    });
    const type = prompt === "Yes." ? "approve" : "reject";
    const input = isAsking
      ? new Command({ resume: { decisions: [{ type }] } })
      : { messages: [{ role: "user", content: prompt }] };
    const result = await agent.invoke(input as never, { configurable: { thread_id: "1" } });
    isAsking = "__interrupt__" in result;
    return isAsking ? "May I?" : result.messages.at(-1)!.text;
  };
}

for (const make of [openaiAgents, langchain]) {
  Deno.test(`a call that waits for approval is made in the turn that carries it out, and not before: ${make.name}`, async () => {
    for (const said of ["Yes.", "No."]) {
      await using server = sayingServer([{ calls: [DEL] }, { text: "Well." }]);
      const isGone = said === "Yes.";
      const whole: ToolCase = {
        ...{
          name: "own",
          prompt: "Delete /a.",
          turns: [said],
          tools: [del],
          never: isGone ? [] : ["del"],
        },
        assert(run) {
          const [question, answer] = run.turns;
          assertNoCalls(question!);
          assertHeld(question!, { tool: "del", arguments: { path: "/a" } }, { times: 1 });
          for (const record of [answer!, run]) assertCallCount(record, "del", isGone ? 1 : 0);
          assertHeld(run, "del", { times: isGone ? 0 : 1 });
        },
      };
      const open = caseOpener(() => whole);
      const trial = await runTrial({ case: "own", seed: 7 }, server.model(), {
        agent: make(),
        open,
      });
      const { outcome, reason, agent, calls } = trial;
      assertEquals([outcome, reason, agent], ["solved", undefined, "watched"]);
      assertEquals(calls, isGone ? 1 : 0);
      if (!isGone) continue;
      const story = describeTrial(trial, { story: "full" });
      assertStringIncludes(story, "(held by the agent)");
      assertStringIncludes(story, "(held before as call 1)");
      // It is one call also where the journal of the trial is read as a trace.
      const [trace] = await readTraces(JSON.stringify(trial));
      assertEquals(trace!.calls.map(({ tool, result }) => [tool, result]), [["del", "deleted"]]);
      const roles = trace!.messages.map(({ role }) => role);
      assertEquals(roles, ["user", "assistant", "tool", "user", "assistant"]);
    }
  });
}

Deno.test("a handoff of the OpenAI Agents SDK is a call of the agent's own, and a guardrail that it catches leaves none", async () => {
  const polite: agents.InputGuardrail = {
    name: "polite",
    execute: ({ input }) =>
      Promise.resolve({ outputInfo: "", tripwireTriggered: input === "Damn!" }),
  };
  const agent: Agent = async ({ prompt, tools }, { baseURL, fetch, apiKey, model, signal }) => {
    const openAIClient = new OpenAI({ baseURL, fetch, apiKey });
    const modelProvider = new agents.OpenAIProvider({ openAIClient, useResponses: false });
    const runner = new agents.Runner({ modelProvider, tracingDisabled: true });
    const own = toOpenAIAgentsTools(tools, { tool: agents.tool });
    const handoffs = [new agents.Agent({ name: "cleaner", model, tools: own })];
    const triage = new agents.Agent({ name: "triage", model, handoffs, inputGuardrails: [polite] });
    try {
      return (await runner.run(triage, prompt, { signal })).finalOutput ?? "";
    } catch (error) {
      if (error instanceof agents.InputGuardrailTripwireTriggered) return "Please be polite.";
      throw error;
    }
  };
  const handoff = { name: "transfer_to_cleaner", arguments: "{}" };
  await using server = sayingServer([{ calls: [handoff] }, { calls: [DEL] }, { text: "Well." }]);
  const whole: ToolCase = {
    ...{ name: "own", prompt: "Delete /a.", turns: ["Damn!"], tools: [del] },
    assert({ turns: [first, rude] }) {
      assertEquals(first!.ownCalls.map(({ tool }) => tool), [handoff.name]);
      assertCallCount(first!, "del", 1);
      assertNoCalls(rude!);
      assertEquals(rude!.answer, "Please be polite.");
    },
  };
  const open = caseOpener(() => whole);
  const trial = await runTrial({ case: "own", seed: 7 }, server.model(), { agent, open });
  assertEquals([trial.outcome, trial.reason, trial.agent], ["solved", undefined, "watched"]);
});
