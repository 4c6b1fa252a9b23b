/** An agent of OpenAI's own client, by `runTools()`, which has chat completions alone. */

import { OpenAI } from "openai";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { Agent as AgentFunction } from "../../../lib/trials/own_agent.ts";
import { type AgentForm, MAX_REPLIES, saidIn } from "./agent.ts";

export function runToolsAgent({ streamed }: Pick<AgentForm, "streamed">): AgentFunction {
  return async (task, { baseURL, apiKey, fetch, model, signal }) => {
    const client = new OpenAI({ baseURL, apiKey, fetch });
    const system = task.system === undefined ? [] : [{ role: "system", content: task.system }];
    const body = {
      model,
      messages: [...system as [], ...saidIn(task)],
      tools: task.tools.map(({ name, description, parameters, execute }) => ({
        type: "function" as const,
        function: {
          ...{ name, description, parameters },
          parse: (text: string): JsonObject => JSON.parse(text),
          function: (input: JsonObject) => execute(input),
        },
      })),
    };
    const options = { signal, maxChatCompletions: MAX_REPLIES };
    const runner = streamed
      ? client.chat.completions.runTools({ ...body, stream: true }, options)
      : client.chat.completions.runTools(body, options);
    return await runner.finalContent() ?? "";
  };
}
