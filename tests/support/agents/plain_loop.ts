/** An agent without a framework: a loop over `fetch`, as users write it who need no more than that. */

import { isJsonObject, type JsonObject, parseJson } from "../../../lib/base/json.ts";
import type { Agent, AgentOptions, AgentTask } from "../../../lib/trials/own_agent.ts";
import { toOpenAIMessage } from "../../../lib/tools/message.ts";
import { toOpenAITool } from "../../../lib/tools/tool.ts";
import type { AgentForm } from "./agent.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

/** A call of a reply. */
interface Said {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What a format needs. */
interface Format {
  readonly path: string;
  readonly begin: (task: AgentTask) => JsonObject;
  /** Where the conversation stands in a request. */
  readonly list: "messages" | "input";
  readonly whole: (events: Json[]) => Json;
  readonly read: (body: Json) => { text: string; calls: Said[]; items: Json[] };
  readonly result: (call: Said, text: string) => Json;
}

const opening = ({ system, history, prompt }: AgentTask) => [
  ...(system === undefined ? [] : [{ role: "system", content: system }]),
  ...history.map(toOpenAIMessage),
  { role: "user", content: prompt },
];

const CHAT: Format = {
  path: "/chat/completions",
  list: "messages",
  begin: (task) => ({
    messages: opening(task) as Json,
    ...(task.tools.length === 0 ? {} : { tools: task.tools.map(toOpenAITool) as Json }),
  }),
  whole(events) {
    const message: Json = { role: "assistant", content: "", tool_calls: [] };
    for (const { choices: [choice] } of events) {
      if (choice === undefined) continue;
      message.content += choice.delta.content ?? "";
      for (const { index, id, function: part } of choice.delta.tool_calls ?? []) {
        const call = message.tool_calls[index] ??= {
          ...{ id, type: "function", function: { name: part.name, arguments: "" } },
        };
        call.function.arguments += part.arguments ?? "";
      }
    }
    if (message.tool_calls.length === 0) delete message.tool_calls;
    return { choices: [{ message }] };
  },
  read({ choices: [{ message }] }) {
    const calls = (message.tool_calls ?? []).map((call: Json) => ({
      ...{ id: call.id, name: call.function.name, arguments: call.function.arguments },
    }));
    const text = message.content ?? "";
    return { text, calls, items: [toOpenAIMessage({ role: "assistant", content: text, calls })] };
  },
  result: ({ id }, content) => ({ role: "tool", tool_call_id: id, content }),
};

/** A message of chat completions as items. */
function items(message: Json): Json[] {
  if (message.role === "tool") {
    return [{
      type: "function_call_output",
      call_id: message.tool_call_id,
      output: message.content,
    }];
  }
  const calls = (message.tool_calls ?? []).map((call: Json) => ({
    ...{ type: "function_call", call_id: call.id, ...call.function },
  }));
  return [...(message.content ? [{ role: message.role, content: message.content }] : []), ...calls];
}

const RESPONSES: Format = {
  path: "/responses",
  list: "input",
  begin: (task) => ({
    input: opening(task).flatMap(items),
    ...(task.tools.length === 0 ? {} : {
      tools: task.tools.map((tool) => ({
        type: "function",
        strict: false,
        ...toOpenAITool(tool).function as Json,
      })),
    }),
  }),
  whole: (events) => events.at(-1).response,
  read({ output }) {
    const text = output.flatMap((item: Json) => item.type === "message" ? item.content : [])
      .map((part: Json) => part.text).join("");
    const calls = output.filter(({ type }: Json) => type === "function_call")
      .map((call: Json) => ({ id: call.call_id, name: call.name, arguments: call.arguments }));
    return { text, calls, items: output };
  },
  result: ({ id }, output) => ({ type: "function_call_output", call_id: id, output }),
};

/** The events of a stream. */
async function eventsOf(response: Response): Promise<Json[]> {
  return (await response.text()).split("\n").flatMap((line) =>
    line.startsWith("data: ") && line !== "data: [DONE]" ? [JSON.parse(line.slice(6))] : []
  );
}

/** Returns an agent that asks with the given options besides its own, until a reply makes no calls. */
export function plainLoop(
  { api, streamed }: AgentForm,
  more: JsonObject = {},
  ask: (url: string, init: RequestInit, options: AgentOptions) => Promise<Response> = (
    url,
    init,
    options,
  ) => options.fetch(url, init),
): Agent {
  const format = api === "chat" ? CHAT : RESPONSES;
  return async (task, options) => {
    const { baseURL, model, signal } = options;
    // Chat completions tell the tokens of a stream only when asked to.
    const counted = streamed && api === "chat" ? { stream_options: { include_usage: true } } : {};
    const body: Json = { model, stream: streamed, ...counted, ...format.begin(task), ...more };
    const carryOut = async ({ name, arguments: written }: Said) => {
      const tool = task.tools.find((one) => one.name === name);
      const input = parseJson(written);
      if (tool === undefined) return JSON.stringify({ error: `There is no function ${name}` });
      return isJsonObject(input)
        ? await tool.execute(input)
        : "error: the arguments are no JSON object";
    };
    while (true) {
      const response = await ask(baseURL + format.path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal,
      }, options);
      if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
      const said = streamed ? format.whole(await eventsOf(response)) : await response.json();
      const { text, calls, items } = format.read(said);
      if (calls.length === 0) return text;
      const results = await Promise.all(calls.map(carryOut));
      const told = calls.map((call, place) => format.result(call, results[place]!));
      body[format.list] = [...body[format.list], ...items, ...told];
    }
  };
}
