// What models say on the wire to agents of real frameworks, against what their trials record: each client with each
// kind of mistake. TOOLGATE_SHOW_TABLE=1 prints the table.

import { assert, assertEquals } from "@std/assert";
import { completePolicy } from "../../lib/gate/policy.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { generateTask, type Task } from "../../lib/tasks/generated/task.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { commandAgent } from "../../lib/trials/tap/command.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { AgentForm } from "../support/agents/agent.ts";
import { aiSdkAgent } from "../support/agents/ai_sdk.ts";
import { langchainAgent } from "../support/agents/langchain.ts";
import { openaiAgentsAgent } from "../support/agents/openai_agents.ts";
import { runToolsAgent } from "../support/agents/run_tools.ts";
import { ROOT } from "../support/child.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { planOf } from "../support/records.ts";
import {
  cutShort,
  respond,
  type SaidCall,
  type Saying,
  sayingServer,
} from "../support/saying_server.ts";

const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const LIMITS = { calls: 50 };

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
  "Python": {
    agent: ({ streamed }) =>
      commandAgent({
        command: ["python3", "fixtures/agents/agent.py", ...(streamed ? ["--stream"] : [])],
        cwd: ROOT,
      }),
    apis: CHAT,
  },
};

const FORMS = Object.entries(CLIENTS).flatMap(([name, { agent, apis }]) =>
  apis.flatMap((api) =>
    [false, true].map((streamed) => ({ name, api, streamed, agent: agent({ api, streamed }) }))
  )
);

const right = (task: Task, place: number): SaidCall => {
  const made = coreInOrder(task).at(place)!;
  return { name: made.name, arguments: JSON.stringify(rightArguments(task, made)) };
};

/** A call with another value for each of its arguments. */
function withOthers(call: SaidCall): SaidCall {
  const given = Object.entries(JSON.parse(call.arguments)).map(([name, value]) =>
    [name, Number(value) + 1] as const
  );
  return { ...call, arguments: JSON.stringify(Object.fromEntries(given)) };
}

/** A wrong call, and the number of right ones that are made before it. */
const MISTAKES: Readonly<Record<string, (task: Task) => readonly [before: number, SaidCall?]>> = {
  "none": () => [0],
  "invented name": () => [0, { name: "look_up_everything", arguments: '{"of": 7}' }],
  "missing argument": (task) => [1, { ...right(task, 0), arguments: "{}" }],
  "unreadable arguments": (task) => [0, { ...right(task, 1), arguments: '{"first": 12, ' }],
  "stale value": (task) => [3, withOthers(right(task, -1))],
  "early call": (task) => [0, withOthers(right(task, -1))],
};

/** The replies of a model that errs twice: beside a right call, and with a call alone. */
function repliesWith(mistake: string, task = TASK): Saying[] {
  const [before, wrong] = MISTAKES[mistake]!(task);
  const replies = coreInOrder(task).map((_, place): Saying => ({ calls: [right(task, place)] }));
  const answer = { text: `${task.target.variable} = ${task.target.value}` };
  if (wrong === undefined) return [...replies, answer];
  const beside = replies[before]!.calls!;
  return [
    ...replies.slice(0, before),
    { calls: before === 3 ? [wrong] : [...beside, wrong] },
    { calls: [wrong] },
    ...replies.slice(before === 3 ? before : before + 1),
    answer,
  ];
}

/** The calls of each reply, in the same order whatever the order in which they were carried out. */
const wordsOf = (calls: readonly SaidCall[]) =>
  calls.map(({ name, arguments: written }) => `${name} ${written}`).toSorted();

function recordedIn({ events }: Trial): string[][] {
  const replies = events.filter((event) => event.kind === "reply");
  return replies.map((_, place) =>
    wordsOf(
      callsOf(events).filter(({ step, by }) => step === place + 1 && by === undefined)
        .map((call) => ({ ...call, name: call.function })),
    )
  );
}

const failuresOf = ({ failures }: Trial) =>
  failures.map(({ call: _, ...failure }) => failure)
    .toSorted((one, other) =>
      one.step - other.step || (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
    );

const table: string[] = [];

for (const { name, api, streamed, agent } of FORMS) {
  for (const mistake of Object.keys(MISTAKES)) {
    const cell = `${name} | ${api}, ${streamed ? "streamed" : "whole"} | ${mistake}`;
    Deno.test(`what is said is recorded: ${cell}`, async () => {
      const script = repliesWith(mistake);
      await using server = sayingServer(script);
      const trial = await runTrial(SPEC, server.model({ api }), { agent, limits: LIMITS });
      const said = server.replies.map(({ calls = [] }) => wordsOf(calls));
      const recorded = recordedIn(trial);
      // What the built-in loop makes of the same replies.
      await using again = sayingServer([...server.replies, { text: "that is all" }]);
      const built = await runTrial(SPEC, again.model({ api }), { limits: LIMITS });
      const types = trial.failures.map(({ type }) => type);
      const deeds = callsOf(trial.events).flatMap(({ agentDid }) => agentDid ?? []);
      table.push(
        `| ${cell} | ${said.flat().length} | ${recorded.flat().length} | ${types.join(", ")} | ${
          deeds.join(", ")
        } | ${trial.outcome} |`,
      );
      assertEquals(recorded, said, `${trial.reason}`);
      assertEquals(failuresOf(trial), failuresOf(built));
      assertEquals(trial.agent, "watched");
      const isCounted = server.asked.every(({ body }) =>
        api === "responses" || body["stream"] !== true ||
        Object(body["stream_options"]).include_usage === true
      );
      const replies = trial.events.filter((event) => event.kind === "reply");
      assertEquals(replies.length, server.replies.length);
      assertEquals(
        replies.map(({ estimated }) => estimated === true),
        replies.map(() => !isCounted),
      );
      if (isCounted) assertEquals(trial.usage, server.usage);
      assertEquals(server.asked.every(({ body }) => (body["stream"] ?? false) === streamed), true);
      assertEquals(
        server.asked.every(({ path }) =>
          path.endsWith(api === "chat" ? "/chat/completions" : "/responses")
        ),
        true,
      );
      if (mistake === "none") assertEquals([trial.outcome, types], ["solved", []]);
      else assert(types.length > 0);
    });
  }
}

Deno.test("a gate on invented names fails a bad agent of every client", async () => {
  const policy = completePolicy({
    successRate: 0.5,
    atMost: { failures: { function_not_found: 0 } },
  });
  for (const { name, api, streamed, agent } of FORMS) {
    // One trial more than proves a share above 0.
    const trials: Trial[] = [];
    for (const bad of [true, false]) {
      await using server = sayingServer(repliesWith(bad ? "invented name" : "none"));
      trials.push(await runTrial(SPEC, server.model({ api }), { agent, limits: LIMITS }));
    }
    const verdicts = trials.map((trial) =>
      decideTrials([trial], planOf([trial]), policy)[0]!.verdict
    );
    const cell = `${name}, ${api}, ${streamed}`;
    const exceeded = verdicts.map((verdict) =>
      "ceilings" in verdict ? verdict.ceilings?.map(({ exceeded }) => exceeded) : verdict
    );
    assertEquals(exceeded, [[true], [false]], cell);
    assertEquals(verdicts[0]!.kind, "fail", cell);
  }
});

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

if (Deno.env.get("TOOLGATE_SHOW_TABLE") === "1") {
  Deno.test("table of what is said and recorded", () => {
    const head = [
      "client",
      "form",
      "mistake",
      "said",
      "recorded",
      "failures",
      "the agent",
      "outcome",
    ];
    console.log(
      [`| ${head.join(" | ")} |`, `| ${head.map(() => "---").join(" | ")} |`, ...table].join("\n"),
    );
  });
}
