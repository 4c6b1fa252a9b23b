// Simulated models stream as OpenAI does: its own client reads the same as from whole answers.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import type { JsonObject } from "../../lib/base/json.ts";
import { wholeBody } from "../../lib/models/openai/_event_stream.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { completionChunks, responseEvents } from "../../lib/simulated/_streaming.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { type SimulatedServer, startSimulatedServer } from "../../lib/simulated/server.ts";
import type { ChatRequest } from "../../lib/simulated/wire.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";

/** Models that make no mistakes, and each kind that shows in a reply. */
const MODELS = [
  "sim:planner",
  "sim:noisy?early=.3&stale=.3&distract=.3&hallucinate=.3&arity=.3&seed=2",
  "sim:noisy?quit=.3&copy=.3&seed=3",
  "sim:noisy?breakFormat=.6&hopeless=1&seed=4",
  "sim:noisy?breakFormat=.6&seed=5",
];

const SPEC = { core: 8, depth: 4, connected: 2, disconnected: 1, seed: 5 };

/** All requests of a trial of a model, without strict tools: of these the client parses the arguments itself. */
async function requestsOf(model: string): Promise<ChatRequest[]> {
  const requests: ChatRequest[] = [];
  await using server = startSimulatedServer({ onRequest: (request) => requests.push(request) });
  await runTrial(SPEC, openai({ model, baseURL: server.url, apiKey: "none" }));
  return requests.map((request) => ({
    ...request,
    tools: (request.tools ?? []).map(({ type, function: tool }) => ({
      type,
      function: { ...tool, strict: false },
    })),
  }));
}

/** The same request in the format of responses. */
function asResponses({ model, messages, tools }: ChatRequest): JsonObject {
  const input = messages.flatMap((message): JsonObject[] => {
    if (message.role === "tool") {
      const { tool_call_id: id, content } = message;
      return [{ type: "function_call_output", call_id: id || "none", output: content as string }];
    }
    const { role, content } = message;
    const said = content ? [{ role, content: content as string }] : [];
    const calls = message.role === "assistant" ? message.tool_calls ?? [] : [];
    return [
      ...said,
      ...calls.map(({ id, function: called }) => ({
        ...{ type: "function_call", call_id: id || "none" },
        ...called,
      })),
    ];
  });
  return {
    ...{ model, input, reasoning: { effort: "none" } },
    tools: (tools ?? []).map(({ type, function: tool }): JsonObject => ({ type, ...tool })),
  };
}

function clientOf({ url }: SimulatedServer): OpenAI {
  return new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
}

async function post(server: SimulatedServer, path: string, body: unknown): Promise<Response> {
  return await fetch(`${server.url}/${path}`, { method: "POST", body: JSON.stringify(body) });
}

/** The events in the text of a stream, as they came. */
function eventsIn(text: string): JsonObject[] {
  return text.trimEnd().split("\n\n").map((event) => {
    const data = event.slice(event.indexOf("data: ") + "data: ".length);
    return data === "[DONE]" ? { type: data } : JSON.parse(data);
  });
}

const CHAT_REQUEST = {
  model: "sim:planner",
  messages: [{ role: "user", content: "The value of variable abc, please.\nVariable abc = 421" }],
} satisfies ChatRequest;

Deno.test("startSimulatedServer() streams chat completions that OpenAI's client reads as whole ones", async () => {
  await using server = startSimulatedServer();
  const client = clientOf(server);
  let [calls, unreadable] = [0, 0];
  for (const model of MODELS) {
    for (const request of await requestsOf(model)) {
      // The types of the project and of the client differ in what may be left out.
      const body = request as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
      const whole = await client.chat.completions.create(body);
      const { message, finish_reason: finish } = whole.choices[0]!;
      const counted = { ...body, stream: true, stream_options: { include_usage: true } } as const;

      const final = await client.chat.completions.stream(counted).finalChatCompletion();
      const [choice] = final.choices;
      assertEquals([choice?.message.content, choice?.finish_reason], [message.content, finish]);
      assertEquals([final.id, final.model, final.usage], [whole.id, whole.model, whole.usage]);

      let text = "";
      const streamed: { name: string; arguments: unknown }[] = [];
      for await (const { choices } of await client.chat.completions.create(counted)) {
        const { content, tool_calls: parts = [] } = choices[0]?.delta ?? {};
        text += content ?? "";
        for (const { index, function: func } of parts) {
          const call = streamed[index];
          if (call === undefined) {
            streamed[index] = { name: func!.name!, arguments: func!.arguments };
          } else call.arguments += func!.arguments!;
        }
      }
      const made = (message.tool_calls ?? []).flatMap((call) =>
        call.type === "function" ? [call.function] : []
      );
      assertEquals([text, streamed], [message.content, made]);
      calls += made.length;
      unreadable += made.filter(({ arguments: given }) =>
        typeof given === "string" && !given.endsWith("}")
      ).length;

      const raw = await (await post(server, "chat/completions", counted)).text();
      // What is null in an answer is not there.
      const { logprobs: _, message: { refusal: __, ...said }, ...chosen } = whole.choices[0]!;
      assertEquals(wholeBody("chat", raw), {
        ...whole as unknown as JsonObject,
        choices: [{ ...chosen, message: { ...said, refusal: null } }],
      });
    }
  }
  assert(calls > 30 && unreadable > 3, `${calls} calls, ${unreadable} unreadable`);
});

Deno.test("startSimulatedServer() streams responses that OpenAI's client reads as whole ones", async () => {
  await using server = startSimulatedServer();
  const client = clientOf(server);
  let calls = 0;
  for (const model of MODELS) {
    for (const request of await requestsOf(model)) {
      const body = asResponses(
        request,
      ) as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const whole = await client.responses.create(body);
      const final = await client.responses.stream({ ...body, stream: true }).finalResponse();
      // Its parser adds fields of its own.
      const plain = final.output.map((item) => {
        const { parsed_arguments: _, ...rest } = item as typeof item & JsonObject;
        return rest.type !== "message" ? rest : {
          ...rest,
          content: rest.content.map((part) => {
            const { parsed: _, ...others } = part as typeof part & JsonObject;
            return others;
          }),
        };
      });
      assertEquals(plain as unknown, whole.output);
      assertEquals([final.id, final.status, final.usage, final.output_text], [
        whole.id,
        whole.status,
        whole.usage,
        whole.output_text,
      ]);

      const written = new Map<number, unknown>();
      for await (const event of await client.responses.create({ ...body, stream: true })) {
        if (event.type === "response.output_text.delta") {
          const { output_index: index, delta } = event;
          written.set(index, `${written.get(index) ?? ""}${delta}`);
        } else if (event.type === "response.function_call_arguments.delta") {
          const { output_index: index, delta } = event;
          written.set(index, `${written.get(index) ?? ""}${delta}`);
        } else if (event.type === "response.function_call_arguments.done") {
          if (typeof event.arguments !== "string") written.set(event.output_index, event.arguments);
        }
      }
      for (const [index, item] of whole.output.entries()) {
        if (item.type === "function_call") {
          calls++;
          assertEquals(written.get(index) ?? "", item.arguments);
        } else assertEquals(written.get(index) ?? "", whole.output_text);
      }

      const raw = await (await post(server, "responses", { ...body, stream: true })).text();
      const { output_text: _, ...sent } = whole;
      assertEquals(wholeBody("responses", raw), sent as unknown as JsonObject);
    }
  }
  assert(calls > 30, `${calls} calls`);
});

Deno.test("startSimulatedServer() sends the chunks of a chat completion that OpenAI sends", async () => {
  await using server = startSimulatedServer();
  const [request] = await requestsOf("sim:planner");
  const response = await post(server, "chat/completions", { ...request, stream: true });
  assertStringIncludes(response.headers.get("content-type")!, "text/event-stream");
  const events = eventsIn(await response.text());
  assertEquals(events.pop(), { type: "[DONE]" });
  assert(events.every(({ object }) => object === "chat.completion.chunk"));
  // Nobody asked for the usage.
  assert(events.every((event) => !Object.hasOwn(event, "usage")));
  const choices = (events as unknown as OpenAI.ChatCompletionChunk[])
    .map((chunk) => chunk.choices[0]!);
  assertEquals(choices[0]?.delta, { role: "assistant", content: "", refusal: null });
  assertEquals(choices.at(-1), {
    index: 0,
    delta: {},
    logprobs: null,
    finish_reason: "tool_calls",
  } as unknown);
  assert(choices.slice(0, -1).every((choice) => choice.finish_reason === null));
  assert(choices.filter(({ delta }) => delta.content).length > 2, "the text comes in pieces");
  const parts = choices.flatMap(({ delta }) => delta.tool_calls ?? []);
  const first = parts.findIndex((part) => part.id !== undefined);
  assertEquals([first, parts[0]?.function?.arguments], [0, ""]);
  assert(parts.slice(1).some((part) => part.id === undefined && !("name" in part.function!)));

  const counted = { ...request, stream: true, stream_options: { include_usage: true } };
  const chunks = eventsIn(await (await post(server, "chat/completions", counted)).text());
  const last = chunks.at(-2)!;
  assertEquals(last["choices"], []);
  const { usage } = await (await post(server, "chat/completions", request)).json();
  assertEquals(last["usage"], usage);
  assert(chunks.slice(0, -2).every((chunk) => chunk["usage"] === null));
});

Deno.test("startSimulatedServer() sends the events of a response that OpenAI sends", async () => {
  await using server = startSimulatedServer();
  const [request] = await requestsOf("sim:planner");
  const { reasoning: _, ...body } = asResponses(request!);
  const response = await post(server, "responses", { ...body, stream: true });
  assertStringIncludes(response.headers.get("content-type")!, "text/event-stream");
  const text = await response.text();
  const events = eventsIn(text);
  assertEquals(events.map((event) => event["sequence_number"]), [...events.keys()]);
  const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  assertEquals(events.map(({ type }) => type as string), names);
  // Deltas come in any number.
  const kinds = names.filter((name, place) => name !== names[place - 1])
    .map((name) => name!.replace("response.", ""));
  const call = [
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
  ];
  const message = ["content_part.added", "output_text.delta", "output_text.done"];
  const head = [
    ...["created", "in_progress", "output_item.added", "output_item.done", "output_item.added"],
    ...[...message, "content_part.done", "output_item.done", ...call],
  ];
  assertEquals(kinds.slice(0, head.length), head);
  assertEquals(kinds.at(-1), "completed");
  const { response: begun } = events[0] as unknown as { response: JsonObject };
  assertEquals([begun["status"], begun["output"], begun["usage"]], ["in_progress", [], null]);
});

Deno.test("completionChunks() and responseEvents() cut no character in two", () => {
  const text = "a" + "\u{1F600}".repeat(50);
  const chat = parseSimulatedModel("sim:planner").reply(CHAT_REQUEST);
  const [choice] = chat.choices;
  const message = { ...choice.message, content: text };
  const item = { id: "m", type: "message", content: [{ type: "output_text", text }] };
  const events = [
    ...completionChunks({ ...chat, choices: [{ ...choice, message }] }, {}),
    ...responseEvents({ output: [item] }),
  ];
  assert(events.length > 15);
  for (const event of events) assert(!JSON.stringify(event).includes("\\ud83d"));
});

Deno.test("startSimulatedServer() refuses what it refuses of whole answers, and options of a stream without one", async () => {
  await using server = startSimulatedServer();
  const bad: readonly [JsonObject, number, string][] = [
    [{ stream: "yes" }, 400, "stream"],
    [{ stream_options: { include_usage: true } }, 400, "stream_options"],
    [{ stream: true, stream_options: { include_usage: 1 } }, 400, "stream_options.include_usage"],
    [{ stream: true, model: "sim:no" }, 404, "model"],
  ];
  for (const [more, status, param] of bad) {
    const response = await post(server, "chat/completions", { ...CHAT_REQUEST, ...more });
    const { error } = await response.json();
    assertEquals([response.status, error.param], [status, param]);
  }
});

Deno.test("startSimulatedServer() goes on serving when a client leaves a stream", async () => {
  await using server = startSimulatedServer();
  const request = (await requestsOf("sim:planner")).at(-1)!;
  for (let left = 20; left > 0; left--) {
    const response = await post(server, "chat/completions", { ...request, stream: true });
    await response.body?.cancel();
  }
  const response = await post(server, "chat/completions", CHAT_REQUEST);
  assertEquals((await response.json()).choices[0].message.content, "abc = 421");
});

Deno.test("startSimulatedServer() streams what is under way when it closes, without its latency", async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const server = startSimulatedServer({ latency: 60_000, onRequest: () => resolve() });
  const pending = post(server, "chat/completions", { ...CHAT_REQUEST, stream: true });
  await arrived;
  // It waits for its latency, so that no event can have come.
  assertEquals(await Promise.race([pending, Promise.resolve("nothing")]), "nothing");
  const closed = server.close();
  const text = await (await pending).text();
  assertStringIncludes(text, "[DONE]");
  await closed;
});
