// What a model made in code says reaches an agent as it would be said by a server, in either format and streamed.

import { assertEquals } from "@std/assert";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { readAgentRequest } from "../../lib/models/openai/agent_request.ts";
import { readWatched } from "../../lib/models/openai/watched_reply.ts";
import { serverOf } from "../../lib/simulated/model_server.ts";

interface Form {
  readonly api: "chat" | "responses";
  readonly streamed: boolean;
}

const FORMS: readonly Form[] = [false, true].flatMap((streamed) => [
  { api: "chat", streamed },
  { api: "responses", streamed },
]);

const REPLIES: Readonly<Record<string, ScriptedReply>> = {
  "a text": { text: "It is 21 degrees." },
  "calls beside a text": {
    text: "I look.",
    calls: [{ name: "weather", arguments: { city: "Rome" } }, { name: "nope", arguments: {} }],
  },
  "arguments that are no JSON": { calls: [{ name: "weather", arguments: '{"city": "Ro' }] },
  "no more tokens": { text: "It is", finish: "length" },
  "a content filter": { text: "", finish: "filter" },
};
const usage = { inputTokens: 12, outputTokens: 3 };
const tools = [{ name: "weather", description: "", parameters: { type: "object" } }];
const context = { trial: "1", repetition: 1, request: 1 };

for (const [title, said] of Object.entries(REPLIES)) {
  for (const form of FORMS) {
    Deno.test(`serverOf() says ${title}: ${form.api}, ${form.streamed ? "streamed" : "whole"}`, async () => {
      const model = scripted("script", [{ ...said, usage }]);
      const server = serverOf(model);
      const { path, body } = requestIn(form);
      const { response } = await server.forward({ path, body, context });
      const request = readAgentRequest(form.api, JSON.stringify(body))!;
      const text = await response.text();
      const { reply } = readWatched(request, text, { isStream: form.streamed, server });
      const { duration: _, ...own } = await model.reply({ messages: [], tools, context });
      assertEquals(
        [reply.text, reply.calls, reply.usage, reply.served, reply.finish],
        [own.text, own.calls, own.usage, own.served, own.finish],
      );
    });
  }
}

function requestIn({ api, streamed }: Form) {
  const [tool] = tools;
  const function_ = { ...tool!, strict: false };
  const stream = streamed ? { stream: true } : {};
  return api === "chat"
    ? {
      path: "/chat/completions",
      body: {
        ...{ model: "script", messages: [{ role: "user", content: "?" }] },
        tools: [{ type: "function", function: function_ }],
        ...(streamed ? { ...stream, stream_options: { include_usage: true } } : {}),
      },
    }
    : {
      path: "/responses",
      body: { model: "script", input: "?", tools: [{ type: "function", ...function_ }], ...stream },
    };
}
