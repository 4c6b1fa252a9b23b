/**
 * The loop of an agent of the user's own: it works in place of the agent loop, once for each message of the user.
 * @module
 */

import { isErrorOf } from "../../base/errors.ts";
import type { Address } from "../../base/loopback.ts";
import { defined, type JsonObject, jsonText, parseJson, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { kindText } from "../../base/user_code.ts";
import { InfrastructureError, TimeLimitError } from "../../models/model.ts";
import type { Message } from "../../tools/message.ts";
import type { StoppableTool, Tool } from "../../tools/tool.ts";
import type { Loop } from "../agent/loop.ts";
import { isLimited, type Limited } from "../agent/session.ts";
import { argumentsText } from "../executors/executor.ts";
import type { Fixture } from "../executors/fixture.ts";
import type { Agent, AgentOptions, AgentTask } from "../own_agent.ts";
import { NoAnswer } from "../recorded_run.ts";
import { TrialMcpServer } from "./_mcp_server.ts";
import { ASK } from "./_offered_names.ts";
import { OwnTurns } from "./_own_turns.ts";
import { overText, type Tap, type Turn } from "./_tap.ts";
import { toolsHandler } from "./_tools_over_http.ts";

/** Returns the loop that lets an agent work on a task. */
export function agentLoop(agent: Agent, fixture: Fixture, tap: Tap, model: string): Loop {
  return async ({ session, environment, messages, say, heard = () => {} }) => {
    const shown = fixture.present?.(messages, environment.tools) ??
      { messages, tools: environment.tools };
    const tools = shown.tools.map((tool): StoppableTool => ({
      ...tool as Tool,
      execute: (input, options) => tap.execute(tool.name, argumentsText(input), options?.callId),
    }));
    let last: Message | undefined;
    const hear = (message: Message) => heard(last = message);
    const hearSaid = (text: string) => {
      // The text of an agent is mostly that of the model's last reply, but for spaces around it.
      const said = last?.role === "assistant" && last.calls.length === 0 ? last.content : undefined;
      if (said?.trim() !== text.trim()) hear({ role: "assistant", content: text, calls: [] });
    };
    let isOver = false;
    const user: AgentTask["user"] = say && (async (text: unknown) => {
      // He would have nothing to answer, and the conversation would be over without him.
      if (typeof text !== "string" || text.trim() === "") {
        throw new TypeError("What is said to the user must be a text that is not blank");
      }
      return await tap.tell(async () => {
        if (isOver) return undefined;
        hearSaid(text);
        const content = await say(text);
        isOver = content === undefined;
        if (content !== undefined) last = { role: "user", content };
        return content;
      });
    });
    const task = taskOf(shown.messages, tools, fixture, user);
    // A function of the task has its name to itself.
    const asks = !user || tools.some(({ name }) => name === ASK) ? [] : [askTool(user)];
    let submitted: string | undefined;
    await using mcp = new TrialMcpServer({
      tools: [...shown.tools, ...asks],
      execute: (name, written) =>
        asks.find((one) => one.name === name)?.execute(Object(parseJson(written)) as JsonObject) ??
          tap.execute(name, written),
      submit: (answer) => {
        if (tap.over !== undefined) throw new Error(overText(tap.over));
        // What is said after it cannot take it back.
        if (submitted !== undefined) throw new Error("An answer was submitted before, and counts");
        submitted = answer;
      },
    });
    // Where the test has the user, nobody else says yes in his name.
    const own = say === undefined ? new OwnTurns(task.prompt) : undefined;
    tap.begin({ heard: hear, serve: serving(task, asks, mcp), before: textsBefore(task), own });
    // Agents are the user's own code: one that is not type-checked may return anything.
    const working = tap.open().then((address): unknown =>
      agent(task, optionsOf({ tap, address, model, mcp }))
    )
      .then(async (said) => (await tap.waitForCalls(), { said }));
    // No program outlives its trial, and none takes long to end; what a function goes on with cannot be ended.
    const finished = async () => {
      if (agent.isProgram) await working.catch(() => {});
    };
    const end = async (limited: Limited): Promise<Limited> => {
      tap.end(limited);
      await finished();
      // What the model called before counts, whatever became of it.
      await tap.settle();
      return limited;
    };
    let ended;
    try {
      ended = await session.within(Promise.race([working, tap.limited]));
    } catch (error) {
      await finished();
      await tap.settle();
      if (tap.over !== undefined) return await end(tap.over);
      if (isErrorOf(error, TimeLimitError)) {
        return await end({ kind: "time_limit", message: printable(redact(error.message), 500) });
      }
      throw isErrorOf(error, InfrastructureError) ? error : tap.fault ?? error;
    }
    if (isLimited(ended)) return await end(ended);
    await tap.settle({ hasAnswered: true });
    // An agent may answer before its last reply is counted.
    if (tap.over !== undefined) return tap.over;
    // What an agent says of a server that did not answer is no answer of the model.
    if (tap.fault !== undefined) throw tap.fault;
    const said = submitted ?? ended.said;
    if (typeof said !== "string") {
      throw new NoAnswer(`the agent must return a text: it returned ${kindText(said)}`);
    }
    hearSaid(said);
    return { kind: "answer", text: said };
  };
}

/** Answers requests for the functions of a task, by HTTP alone and by MCP. */
function serving(task: AgentTask, own: readonly Tool[], mcp: TrialMcpServer): Turn["serve"] {
  const tools = toolsHandler(task, own);
  return async (request, path, share) => {
    if (path === "/mcp") return await mcp.answer(request, share);
    const [, below] = /^\/tools(|\/.*)$/s.exec(path) ?? [];
    return below === undefined ? undefined : await tools(request, below, share);
  };
}

/** What an agent gets of a task; the fixture, which knows the answer, cannot be reached from it. */
function taskOf(
  messages: Parameters<Loop>[0]["messages"],
  tools: readonly Tool[],
  fixture: Fixture,
  user: AgentTask["user"],
): AgentTask {
  const prompt = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const system = messages.find(({ role }) => role === "system")?.content;
  const history = messages.filter(({ role }, place) =>
    role !== "system" && place < messages.length - 1
  );
  return {
    ...{ prompt, history, tools, callLimit: fixture.calls + fixture.left },
    system,
    toolChoice: fixture.toolChoice,
    ...defined({ user }),
    get calls() {
      return fixture.calls;
    },
    get left() {
      return fixture.left;
    },
    get exhausted() {
      return fixture.exhausted;
    },
    step: () => fixture.step(),
  };
}

/** The function by which an agent in another process says a text to the user. */
function askTool(user: NonNullable<AgentTask["user"]>): Tool {
  return {
    name: ASK,
    description: 'Says a text to the user; returns {"reply": "..."}, at the end {"over": true}',
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    async execute({ text }) {
      const reply = await user(text as string);
      return jsonText(reply === undefined ? { over: true } : { reply });
    },
  };
}

/** The instructions, and what the user last said before; without what is blank. */
function textsBefore({ system = "", history }: AgentTask): Turn["before"] {
  const said = history.findLast(({ role }) => role === "user")?.content ?? "";
  const texts = Object.entries({ system: system.trim(), history: said.trim() });
  return Object.fromEntries(texts.filter(([, text]) => text !== ""));
}

function optionsOf(
  { tap, address: { url, token }, model, mcp }: {
    readonly tap: Tap;
    readonly address: Address;
    readonly model: string;
    readonly mcp: TrialMcpServer;
  },
): AgentOptions {
  return {
    ...{ fetch: tap.fetch, model, signal: tap.signal },
    ...{ baseURL: `${url}/v1`, toolsURL: `${url}/tools`, apiKey: token },
    mcpURL: () => mcp.start(url),
  };
}
