// What models say on the wire to agents of real frameworks, against what their trials record: each client with each
// kind of mistake. tests/e2e/agent_programs_test.ts does so with a program.

import { assertEquals } from "@std/assert";
import { callsOf } from "../../lib/calls/trace.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { AgentForm } from "../support/agents/agent.ts";
import { aiSdkAgent } from "../support/agents/ai_sdk.ts";
import { langchainAgent } from "../support/agents/langchain.ts";
import { openaiAgentsAgent } from "../support/agents/openai_agents.ts";
import { runToolsAgent } from "../support/agents/run_tools.ts";
import {
  assertSaidIsRecorded,
  LIMITS,
  MISTAKES,
  repliesWith,
  right,
  SPEC,
  TASK,
} from "../support/said_and_recorded.ts";
import { cutShort, respond, sayingServer } from "../support/saying_server.ts";

interface Client {
  readonly agent: (form: AgentForm) => Agent;
  readonly apis: readonly AgentForm["api"][];
}

const BOTH = ["chat", "responses"] as const;
const CHAT = ["chat"] as const;

const CLIENTS: Readonly<Record<string, Client>> = {
  "AI SDK": { agent: aiSdkAgent, apis: BOTH },
  "OpenAI Agents": { agent: openaiAgentsAgent, apis: BOTH },
  "LangChain": { agent: langchainAgent, apis: BOTH },
  "runTools": { agent: runToolsAgent, apis: CHAT },
};

const FORMS = Object.entries(CLIENTS).flatMap(([name, { agent, apis }]) =>
  apis.flatMap((api) =>
    [false, true].map((streamed) => ({ name, api, streamed, agent: agent({ api, streamed }) }))
  )
);

for (const form of FORMS) {
  for (const mistake of Object.keys(MISTAKES)) {
    const { name, api, streamed } = form;
    const cell = `${name} | ${api}, ${streamed ? "streamed" : "whole"} | ${mistake}`;
    Deno.test(`what is said is recorded: ${cell}`, () => assertSaidIsRecorded(form, mistake));
  }
}

Deno.test("no call of a stream that is cut short is lost: its trial is invalid, or not watched", async () => {
  const invented = { name: "look_up_everything", arguments: '{"of": 7}' };
  const ways = new Set<string>();
  for (const { name, api, streamed, agent } of FORMS) {
    if (!streamed) continue;
    for (const call of [invented, right(TASK, 0)]) {
      const rest = repliesWith("none");
      await using server = sayingServer((asked) =>
        asked.number === 1
          ? cutShort(respond({ calls: [call] }, asked))
          : rest[Math.min(asked.number - 2, rest.length - 1)]!
      );
      const trial = await runTrial(SPEC, server.model({ api, retries: 0 }), {
        ...{ agent, limits: LIMITS },
      });
      const cell = `${name}, ${api}, ${call.name}: ${trial.outcome} ${trial.reason}`;
      const isOver = server.asked.length === 1;
      assertEquals([trial.outcome === "invalid", trial.failures], [isOver, []], cell);
      ways.add(isOver ? "gives up" : `goes on with ${call === invented ? "none" : "its call"}`);
      if (isOver) continue;
      // The agent took what it had got for a reply.
      assertEquals(trial.agent, "unwatched", cell);
      assertEquals(trial.events.find((event) => event.kind === "reply")?.failed?.length, 1, cell);
      const made = callsOf(trial.events).filter(({ by }) => by === "agent").map((one) =>
        one.function
      );
      assertEquals(made, call === invented ? [] : [call.name], cell);
    }
  }
  assertEquals(ways, new Set(["gives up", "goes on with none", "goes on with its call"]));
});
