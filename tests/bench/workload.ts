/**
 * The work that speed is measured with: trials of six requests, five calls and then the answer, and what
 * a server says to each of them.
 */

import { planSuite } from "../../lib/runs/plan.ts";
import { returnText } from "../../lib/tasks/graphs/wording.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { GeneratedTaskExecutor } from "../../lib/trials/executors/generated.ts";
import { type OpenAITool, toOpenAITool } from "../../lib/tools/tool.ts";
import type { Suite } from "../../lib/runs/suite.ts";

/** The sizes of every task: as many calls are needed as there are core functions. */
const SIZES = { core: 5, depth: 3, connected: 3, disconnected: 2 } as const;
/** Requests of a trial. */
export const REQUESTS = SIZES.core + 1;
/** Different tasks, which are repeated. */
export const TASKS = 40;
/** The name of the model that the server plays. */
const MODEL = "mock-1";

/** One conversation: what is asked, and what is answered. */
export interface Conversation {
  /** The user message. */
  readonly prompt: string;
  /** The functions on offer, as they are sent. */
  readonly tools: readonly OpenAITool[];
  /** What each function returns, by its name. */
  readonly results: Readonly<Record<string, string>>;
  /** The bodies that the server answers with, in order. */
  readonly answers: readonly string[];
}

/** What a bare loop and the server are given: which model, and all that is said to it and by it. */
export interface Work {
  readonly model: string;
  readonly conversations: readonly Conversation[];
}

/** A suite of this many trials, at least, of a model at an address. */
export function suiteOf(trials: number, baseURL: string): Suite {
  const graphs = Math.min(trials, TASKS);
  return {
    name: "speed",
    seed: 1,
    graphs,
    repetitions: Math.ceil(trials / graphs),
    tasks: [SIZES],
    models: [{ model: MODEL, baseURL }],
  };
}

/** What is said in the trials of such a suite. */
export function workOf(trials: number): Work {
  const { trials: planned } = planSuite({ ...suiteOf(trials, "http://none"), repetitions: 1 });
  return { model: MODEL, conversations: planned.map(({ task }) => conversationOf(openTask(task))) };
}

/** The conversation of a task in which every call is right. */
function conversationOf(fixture: ReturnType<typeof openTask>): Conversation {
  if (!(fixture instanceof GeneratedTaskExecutor)) {
    throw new Error("the task is none that was generated");
  }
  const { prompt, tools, task } = fixture;
  const core = task.functions.filter(({ role }) => role === "core");
  const order: typeof core = [];
  while (order.length < core.length) {
    const done = new Set(order.map(({ name }) => name));
    order.push(
      ...core.filter(({ name, dependsOn }) =>
        !done.has(name) && dependsOn.every((earlier) => done.has(earlier))
      ),
    );
  }
  const calls = order.map(({ name, parameters }, place) => ({
    role: "assistant",
    content: null,
    tool_calls: [{
      id: `call_${place + 1}_${name}`,
      type: "function",
      function: {
        name,
        arguments: JSON.stringify(
          Object.fromEntries(
            parameters.map((parameter) => [parameter.name, task.values.get(parameter.variable)]),
          ),
        ),
      },
    }],
  }));
  const { variable, value } = task.target;
  const answer = { role: "assistant", content: `${variable} = ${value}` };
  return {
    prompt,
    tools: tools.map(toOpenAITool),
    results: Object.fromEntries(
      order.map(({ name, output }) => [
        name,
        returnText([[output.name, task.values.get(output.name)!]]),
      ]),
    ),
    answers: [...calls, answer].map((message, place) =>
      JSON.stringify({
        id: `chatcmpl-${place + 1}`,
        object: "chat.completion",
        created: 1,
        model: MODEL,
        choices: [{
          index: 0,
          message,
          logprobs: null,
          finish_reason: place < calls.length ? "tool_calls" : "stop",
        }],
        usage: { prompt_tokens: 500, completion_tokens: 30, total_tokens: 530 },
      })
    ),
  };
}
