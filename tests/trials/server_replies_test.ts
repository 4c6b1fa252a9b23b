// What servers do with the replies of a model, as a trial comes to see it.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { parsesOf } from "../../lib/calls/work.ts";
import { Connections } from "../../lib/models/connect.ts";
import type { Api } from "../../lib/models/formats/registry.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { sayingServer } from "../support/saying_server.ts";
import { completion, response } from "../support/wire_servers.ts";

/** A message of the planner, as chat completions have it. */
interface Planned {
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string } }[];
}

/** A choice of a chat completion, or an error's status and body. */
type Answer = JsonObject | { readonly status: number; readonly message: string };

/** Serves sim:planner, whose messages `answer` turns into a server's choices. */
function planning(answer: (planned: Planned, request: JsonObject, number: number) => Answer) {
  const planner = parseSimulatedModel("sim:planner");
  const server = sayingServer(({ number, body }) => {
    const { choices: [choice] } = planner.reply(body as unknown as ChatRequest);
    const given = answer(choice!.message, body, number);
    return typeof given["status"] === "number"
      ? Response.json({ error: { message: given["message"] } }, { status: given["status"] })
      : Response.json(completion({}, { choices: [given as JsonObject] }));
  });
  return {
    asked: server.asked,
    async trial(seed = 1, api: Api = "chat"): Promise<Trial> {
      const connections = new Connections({ retries: 3, backoff: 1 });
      const model = connections.model({ model: "planner", baseURL: server.url, api });
      const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed };
      return await runTrial(task, model);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const choice = (message: Planned | JsonObject, more: JsonObject = {}) =>
  ({ finish_reason: "stop", message, ...more }) as JsonObject;

const plain = (message: Planned) => message as unknown as JsonObject;

const THOUGHT = "a thought of its own";
const OTHER = '<tool_call>{"name": "drop", "arguments": {}}</tool_call>';

/** What servers add to a message, and how they know that it is missing from one with calls. */
const EXPECTING: Record<string, {
  add(message: Planned): JsonObject;
  isMissing(message: JsonObject): boolean;
}> = {
  "DeepSeek's reasoning_content": {
    add: (message) => ({ ...plain(message), reasoning_content: THOUGHT }),
    isMissing: (message) => message["reasoning_content"] !== THOUGHT,
  },
  "Gemini's thought signatures": {
    add: (message) => ({
      ...plain(message),
      tool_calls: (message.tool_calls ?? []).map((call) => ({
        ...call as unknown as JsonObject,
        extra_content: { google: { thought_signature: `${THOUGHT} ${call.id}` } },
      })),
    }),
    isMissing: ({ tool_calls }) =>
      (tool_calls as JsonObject[]).some(({ id, extra_content }) =>
        JSON.stringify(extra_content) !==
          JSON.stringify({ google: { thought_signature: `${THOUGHT} ${id}` } })
      ),
  },
  "OpenRouter's reasoning_details": {
    add: (message) => ({
      ...plain(message),
      reasoning: THOUGHT,
      reasoning_details: [{ type: "reasoning.text", text: THOUGHT, signature: "s", index: 0 }],
    }),
    isMissing: ({ reasoning_details }) => !JSON.stringify(reasoning_details ?? 0).includes('"s"'),
  },
  "Mistral's thinking": {
    add: (message) => ({
      ...plain(message),
      content: [
        { type: "thinking", thinking: [{ type: "text", text: THOUGHT }] },
        { type: "text", text: message.content ?? "" },
      ] as JsonObject[],
    }),
    isMissing: ({ content }) => !JSON.stringify(content).includes(THOUGHT),
  },
};

for (const [what, { add, isMissing }] of Object.entries(EXPECTING)) {
  Deno.test(`20 of 20 trials are solved where a server asks for ${what} back`, async () => {
    await using server = planning((planned, { messages }) => {
      const own = (messages as JsonObject[]).filter(({ tool_calls }) => tool_calls !== undefined);
      return own.some(isMissing)
        ? { status: 400, message: `${what} must be passed back to the API.` }
        : choice(add(planned));
    });
    const trials = await Promise.all(Array.from({ length: 20 }, (_, seed) => server.trial(seed)));
    assertEquals(trials.map(({ outcome }) => outcome), Array(20).fill("solved"));
    assert(server.asked.some(({ body }) => (body["messages"] as unknown[]).length > 3));
    assertNotMatch(JSON.stringify(trials), new RegExp(THOUGHT));
  });
}

Deno.test("a call that the server could not read is a wrong call of the model, asked for once", async () => {
  const table: [choice: JsonObject, failure: string][] = [
    [choice({ content: "" }, { finish_reason: "MALFORMED_FUNCTION_CALL" }), "function_not_found"],
    [choice({ content: null }, { finish_reason: "tool_calls" }), "function_not_found"],
  ];
  for (const [unreadable, failure] of table) {
    await using server = planning((planned, _, number) =>
      number === 1 ? unreadable : choice(plain(planned))
    );
    const trial = await server.trial();
    assertEquals(trial.outcome, "solved");
    assertEquals(trial.failures.map(({ type }) => type), [failure]);
    assertEquals(trial.calls, trial.minimumCalls! + 1);
    assertEquals(parsesOf(trial.events)?.unreadable, 1);
    // Servers that parse it take it back.
    const [, sent] = server.asked[1]!.body["messages"] as JsonObject[];
    const [call] = sent!["tool_calls"] as { function: JsonObject }[];
    assertEquals(call!.function, { name: "unreadable_call", arguments: "{}" });
  }
});

Deno.test("a reply of which a content filter left nothing ends a trial as filtered, which counts", async () => {
  const nothing: [api: "chat" | "responses", body: JsonObject][] = [
    [
      "chat",
      completion({}, { choices: [choice({ content: null }, { finish_reason: "content_filter" })] }),
    ],
    [
      "responses",
      response([], {
        status: "incomplete",
        incomplete_details: { reason: "content_filter" },
      }),
    ],
  ];
  const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 1 };
  for (const [api, body] of nothing) {
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () => Response.json(body),
    );
    const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
    const trial = await runTrial(task, openai({ model: "m", api, baseURL, apiKey: "none" }));
    assertEquals([trial.outcome, trial.solved, trial.failures, trial.behaviours], [
      "filtered",
      false,
      [],
      [],
    ]);
    assertStringIncludes(describeTrial(trial), "stopped: a content filter left nothing");
  }
});

Deno.test("the story of a trial hints at the server where the model wrote its calls as text", async () => {
  const written = ({ tool_calls = [], content }: Planned) =>
    tool_calls.length === 0
      ? content
      : tool_calls.map(({ function: called }) =>
        `<tool_call>\n${
          JSON.stringify(called).replace(
            /"arguments":"(.*)"/,
            (_, text) => `"arguments":${JSON.parse(`"${text}"`)}`,
          )
        }\n</tool_call>`
      ).join("\n");
  await using server = planning((planned) => choice({ content: written(planned) }));
  const trial = await server.trial();
  assertEquals([trial.solved, trial.calls], [false, 0]);
  const story = describeTrial(trial);
  assertStringIncludes(
    story,
    " as text in reply 1, which is no call: does the server have a parser",
  );
  assertStringIncludes(story, "set api to the text format that it writes, such as hermes");
  const thought = (planned: Planned) => `I call it.\n${written(planned)}`;
  const drafted = /wrote a call of \w+ in the reasoning of reply 1, and made none/;
  const alone =
    /made none\n {2}reply 1 has nothing but reasoning: does the server's reasoning parser/;
  const part = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
  // Servers have one reasoning in several fields.
  const fields = (text: string) => ({
    ...{ content: null, reasoning_content: text, reasoning: text },
    reasoning_details: [{ type: "reasoning.text", text }],
  });
  const isCall = ({ content }: Planned) => content!.includes("<tool_call>");
  /** What comes of it: the story, and the replies whose calls within the reasoning were not made. */
  const table: [Api, (planned: Planned) => JsonObject, RegExp, drafts: number][] = [
    ["chat", (planned) => ({ content: "Well.", reasoning_content: thought(planned) }), drafted, 1],
    ["chat", (planned) => ({ content: null, reasoning: thought(planned) }), alone, 1],
    ["chat", (planned) => ({ content: [part(thought(planned))] }), alone, 1],
    ["chat", (planned) => ({ content: `<think>${thought(planned)}` }), alone, 1],
    ["chat", () => ({ content: "", reasoning: "It is 3." }), /reply 1 has nothing but reason/, 0],
    ["hermes", (planned) => ({ content: `<think>${thought(planned)}</think>Well.` }), drafted, 1],
    ["hermes", (planned) => ({ content: "Well.", reasoning: thought(planned) }), drafted, 1],
    ["hermes", (planned) => ({ content: "", reasoning: `${thought(planned)}? No.` }), alone, 1],
    ["hermes", (one) => isCall(one) ? fields(thought(one)) : plain(one), /^solved/, 0],
    ["hermes", (one) => ({ content: `<think>${OTHER}</think>${one.content}` }), /^solved/, 4],
  ];
  for (const [api, message, right, drafts] of table) {
    await using thinker = planning((planned) => choice(message(planned)));
    const trial = await thinker.trial(1, api);
    assertMatch(`${trial.outcome} ${describeTrial(trial)}`, right);
    assertEquals(trial.calls, /^solved/.test(trial.outcome) ? trial.minimumCalls : 0);
    assertEquals(summarize(trial).written?.asDraft ?? 0, drafts);
  }
});
