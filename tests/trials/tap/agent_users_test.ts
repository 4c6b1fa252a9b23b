// Agents and the user: what they say to him in the middle of their work, and what they say in his name.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { TraceEvent } from "../../../lib/calls/trace.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { caseOpener } from "../../../lib/trials/executors/case.ts";
import type { ToolCase, ToolTestRun } from "../../../lib/trials/executors/tool_case.ts";
import type { Agent, AgentOptions, AgentTask } from "../../../lib/trials/own_agent.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import { OwnTurns } from "../../../lib/trials/tap/_own_turns.ts";
import type { UserFunction } from "../../../lib/trials/users/user.ts";
import { mcpServer } from "../../support/agents/mcp_host.ts";
import { sayingServer } from "../../support/saying_server.ts";

const MUTE = scripted("mute", () => ({ text: "Nobody asks." }));
const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters: { type: "object", properties: { order: { type: "string" } } },
  returns: "refunded",
});

/** Runs a trial of an agent; returns its run as well. */
async function trying(
  agent: Agent,
  own: Partial<ToolCase>,
  more: Partial<TrialOptions> = {},
  model = MUTE,
) {
  let run: ToolTestRun | undefined;
  const whole: ToolCase = {
    ...{ name: "own", prompt: "Refund it.", tools: [refund], assert: (one) => void (run = one) },
    ...own,
  };
  const trial = await runTrial({ case: "own", seed: 7 }, model, {
    agent,
    open: caseOpener(() => whole),
    ...more,
  });
  return { trial, run };
}

const userOf = (model: UserFunction) => ({ user: { model, scenario: "He wants A1 refunded." } });
/** Answers by what was said last; ends at the second message. */
const answering: UserFunction = ({ messages }) =>
  messages.length > 3 ? { end: "done" } : `To ${messages.at(-1)!.text} I say A1.`;
const kinds = (events: readonly TraceEvent[]) =>
  events.flatMap((event) => event.kind === "turn" ? [event.text] : [event.kind]);

/** Says a text to the user; returns his reply. */
type Ask = (task: AgentTask, options: AgentOptions, text: string) => Promise<unknown>;
/** What stands in the answer to a program. */
const read = (text: string): string | undefined => {
  const { reply, error, over = false, ...others } = JSON.parse(text);
  if (error !== undefined) throw new Error(error);
  assertEquals([others, over], [{}, reply === undefined]);
  return reply;
};
const WAYS: Readonly<Record<string, Ask>> = {
  "its task": async ({ user }, _, text) => await user!(text),
  async HTTP(_, { toolsURL }, text) {
    const body = JSON.stringify({ text });
    return read(await (await fetch(`${toolsURL}/ask_user`, { method: "POST", body })).text());
  },
  MCP: async (_, { mcpURL }, text) =>
    read((await mcpServer(await mcpURL()).call("ask_user", { text })).text),
};

for (const [way, ask] of Object.entries(WAYS)) {
  Deno.test(`an agent says texts to the user by ${way}, in the middle of its work`, async () => {
    const replies: unknown[] = [];
    const { trial, run } = await trying(async (task, options) => {
      await ask(task, options, " \n").catch((error) => replies.push(error.message));
      for (const text of ["Which order?", "It is done.", "Hello?"]) {
        replies.push(await ask(task, options, text));
        if (replies.length === 2) await task.tools[0]!.execute({ order: "A1" });
      }
      return "Bye.";
    }, userOf(answering));
    const reply = "To Which order? I say A1.";
    const [blank, ...others] = replies;
    assertStringIncludes(`${blank}`, "What is said to the user must be a text that is not blank");
    assertEquals(others, [reply, undefined, undefined]);
    assertEquals(trial.outcome, "solved");
    assertEquals(kinds(trial.events), ["user", reply, "call", "user", "answer"]);
    assertEquals(
      run!.turns.map(({ prompt, answer, calls }) => [prompt, answer, calls.length]),
      [["Refund it.", "Which order?", 0], [reply, "Bye.", 1]],
    );
    assertEquals(run!.texts, ["Which order?", "It is done.", "Bye."]);
    assertEquals(trial.user?.messages, 2);
  });
}

Deno.test("an agent gets the further turns of a test in the middle of its work, one after another", async () => {
  const { trial, run } = await trying(async ({ user }) => {
    const replies = await Promise.all([user!("One?"), user!("Two?"), user!("Three?")]);
    return JSON.stringify(replies);
  }, { turns: ["1", "2"] });
  assertEquals(trial.outcome, "solved");
  assertEquals(run!.answer, '["1","2",null]');
  assertEquals(run!.turns.map(({ prompt }) => prompt), ["Refund it.", "1", "2"]);
});

Deno.test("a fault of the user is his, whatever the agent makes of it", async () => {
  for (const isAwaited of [true, false]) {
    const { trial } = await trying(
      async ({ user, tools }) => {
        const asking = user!("Which order?").catch(() => {});
        if (!isAwaited) return "All is well.";
        await asking;
        await tools[0]!.execute({ order: "B2" }).catch(() => {});
        return "All is well.";
      },
      userOf(() => {
        throw new Error("no such user");
      }),
    );
    assertEquals([trial.outcome, trial.user?.fault], ["invalid", "unavailable"]);
    assertStringIncludes(trial.reason!, "no such user");
    assertEquals(trial.events.at(-1)?.kind, "stop");
  }
});

Deno.test("the time that the user takes is not that of the agent", async () => {
  const { trial } = await trying(
    async ({ user }) => `${await user!("Which order?")}`,
    userOf(async ({ messages }) => {
      if (messages.length > 3) return { end: "done" };
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return "A1.";
    }),
    { limits: { seconds: 1 } },
  );
  assertEquals(trial.outcome, "solved");
});

Deno.test("messages of the user that an agent adds by itself are turns, where the test has no user", async () => {
  for (const path of ["chat/completions", "responses"]) {
    await using server = sayingServer([{ text: "Which?" }, { text: "Sure?" }, { text: "Done." }]);
    const agent: Agent = async ({ prompt, tools, user }, { baseURL, model }) => {
      const offered = tools.map(({ name, parameters }) => {
        const plain = { name, parameters };
        return { type: "function", ...plain, function: plain };
      });
      const said: unknown[] = [];
      for (const [content, answer] of [[prompt, "Which?"], ["A1.", "Sure?"], ["Yes.", "Done."]]) {
        said.push({ role: "user", content: [{ type: "text", text: content }] });
        await (await fetch(`${baseURL}/${path}`, {
          method: "POST",
          body: JSON.stringify({ model, tools: offered, messages: said, input: said }),
        })).body?.cancel();
        said.push({ role: "assistant", content: answer });
      }
      await user?.("Goodbye.");
      return "Done.";
    };
    const { run } = await trying(agent, {}, {}, server.model());
    const told = run!.turns.map(({ prompt, by, answer }) => [prompt, by, answer]);
    assertEquals(told, [
      ["Refund it.", undefined, "Which?"],
      ["A1.", "agent", "Sure?"],
      ["Yes.", "agent", "Done."],
    ]);
    assertEquals((await trying(agent, userOf(answering), {}, server.model())).run!.turns.length, 2);
  }
});

const user = (content: string): Message => ({ role: "user", content });
const model = (content: string, ...names: string[]): Message => ({
  ...{ role: "assistant", content },
  calls: names.map((name) => ({ id: name, name, arguments: "{}" })),
});
const result: Message = { role: "tool", callId: "a", name: "a", content: "1" };
const P = user("P");
const A = model("A");

/** Requests of one turn, each with what it tells. */
const REQUESTS: Readonly<Record<string, readonly (readonly [Message[], string[], string?])[]>> = {
  "what is sent again": [
    [[P, A, user("1")], ["1"]],
    [[P, A, user("1")], []],
    [[P, A, user("1"), A, user("2")], ["2"]],
    [[A, user("2")], []],
  ],
  "the same answer to two questions": [
    [[P, A, user("Yes.")], ["Yes."]],
    [[P, A, user("Yes."), A, user("Yes.")], ["Yes."]],
  ],
  "one message twice": [[[P, A, user("1"), user("1 "), user("2")], ["1", "2"]]],
  "the prompt again": [[[P, A, user(" P")], []]],
  "examples before the prompt": [[[user("x"), model("y"), user("z"), P], []]],
  "what stands beside results": [[[P, model("A", "a"), result, user("Go on.")], []]],
  "what is empty": [[[P, A, user(" ")], []]],
  "what a server keeps": [
    [[user("Yes.")], ["Yes."], "r1"],
    [[user("Yes.")], [], "r1"],
    [[result, user("Go on.")], [], "r1"],
    [[user("Yes.")], [], "of another"],
    [[model(""), user("Now.")], ["Now."]],
  ],
};

for (const [what, requests] of Object.entries(REQUESTS)) {
  Deno.test(`OwnTurns finds each message of the user once: ${what}`, () => {
    const own = new OwnTurns("P");
    assertEquals(own.find({ messages: [P, A, user("early")] }), []);
    own.answered({ text: "A" }, "r1");
    for (const [messages, found, previous] of requests) {
      assertEquals(own.find({ messages, ...(previous && { previous }) }), found);
    }
  });
}
