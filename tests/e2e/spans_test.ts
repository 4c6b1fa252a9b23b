// Spans for OpenTelemetry: what a collector gets of `deno test` and of `toolgate run`, in child processes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { beginToolgate, countingServer, deno, folder, readLines, ROOT } from "../support/child.ts";
import { envFor, type Span, startCollector } from "../support/collector.ts";

const CONTENT = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };

/** A key, which toolgate has to recognise. */
const SECRET = "sk-live-4f9a8b7c6d5e4f3a2b1c";

/** Words that only the content of the tests below has. */
const SAID = ["refund order A1", "be polite", "is refunded", "reference"];

/** Tests of tools: of each its model is a script. */
const REFUNDS = `
import { assertCalled, scripted, tool, toolTest } from "${ROOT}/mod.ts";
import { InfrastructureError } from "${ROOT}/mod.ts";
import { z } from "zod";

const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters: z.object({ order: z.string(), api_key: z.string() }),
  execute: ({ order }) => ({ order, reference: 7 }),
});
const broken = tool({
  name: "broken",
  description: "Is broken",
  parameters: z.object({}),
  execute: () => { throw new Error("the reference is lost"); },
});
const at = {
  tools: [refund, broken],
  prompt: "Please refund order A1.",
  system: "Always be polite.",
  trials: 2,
};
toolTest("refunds", {
  ...at,
  model: scripted("clerk", [
    {
      calls: [
        { name: "refund", arguments: { order: "A1", api_key: "${SECRET}" } },
        { name: "refnd", arguments: {} },
        { name: "broken", arguments: {} },
      ],
      usage: { inputTokens: 12, outputTokens: 3 },
    },
    { text: "Order A1 is refunded.", usage: { inputTokens: 20, outputTokens: 4 } },
  ]),
  assert: (run) => assertCalled(run, { tool: "refund" }),
});
toolTest("cannot be asked", {
  ...at,
  trials: 1,
  model: scripted("clerk", () => {
    throw new InfrastructureError("It is about order A1: be polite", { status: 503, permanent: "limit" });
  }),
  assert: () => {},
});
`;

const RUN = ["test", "--no-check", "--no-prompt", "--allow-env", "--allow-net=127.0.0.1"];

/** Runs a file of tests as users do, with the sanitizers that the configuration of this project turns on. */
function runTests(path: string, env: Readonly<Record<string, string>>) {
  return deno([...RUN, "--allow-read", `--config=${ROOT}/deno.json`, path], { env });
}

/** The spans below another one, in order. */
function below(spans: readonly Span[], { id }: Span): Span[] {
  return spans.filter(({ parent }) => parent === id);
}

const rootsOf = (spans: readonly Span[]) => spans.filter(({ parent }) => parent === "");
const namesOf = (spans: readonly Span[]) => spans.map(({ name }) => name);

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());
const DESK = place.write("desk_test.ts", REFUNDS);

/** What a run printed, without its durations. */
const printed = (text: string) => text.replaceAll(/\(\d+(ms|s)\)/g, "").replaceAll(/ +$/gm, "");

Deno.test("deno test sends a trace of each trial, without what was said, and goes on where nobody takes it", async () => {
  await using collector = startCollector();
  const ran = await runTests(DESK, collector.env);
  assertMatch(ran.stdout, /2 passed .*\| 1 failed/, ran.all);
  const spans = collector.spans();
  const roots = rootsOf(spans);
  assertEquals(namesOf(roots), ["invoke_agent desk", "invoke_agent desk", "invoke_agent desk"]);
  assertEquals(new Set(roots.map(({ trace }) => trace)).size, 3);
  const conversations = roots.map(({ attributes }) => attributes["gen_ai.conversation.id"]);
  assertEquals(new Set(conversations).size, 3);
  const [first, second] = roots.filter(({ attributes }) => attributes["toolgate.solved"]);
  for (const root of [first!, second!]) {
    const own = spans.filter(({ trace }) => trace === root.trace);
    assertEquals(below(own, root).length, own.length - 1);
    const repetition = root === first ? 1 : 2;
    const id = root.attributes["toolgate.trial"] as string;
    assertMatch(id, new RegExp(`^case=refunds seed=\\d+ model=clerk .* repetition=${repetition}$`));
    const model = {
      "gen_ai.provider.name": "simulated",
      "gen_ai.request.model": "clerk",
      "gen_ai.conversation.id": root.attributes["gen_ai.conversation.id"],
      "toolgate.trial": id,
      "toolgate.model": "clerk",
      "toolgate.simulated": true,
    };
    assertEquals([root.kind, root.isError], [1, false]);
    assertEquals(root.attributes, {
      ...model,
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "desk",
      "gen_ai.usage.input_tokens": 32,
      "gen_ai.usage.output_tokens": 7,
      "toolgate.suite": "desk",
      "toolgate.case": "refunds",
      "toolgate.strategy": "plain",
      "toolgate.perturbation": "none",
      "toolgate.repetition": repetition,
      "toolgate.outcome": "solved",
      "toolgate.solved": true,
      "toolgate.grounded": true,
      "toolgate.calls": 3,
      "toolgate.failures": ["function_not_found"],
    });
    const [asked, refund, unknown, broken, answered, ...rest] = below(own, root);
    assertEquals(rest, []);
    assertEquals(
      namesOf([asked!, refund!, unknown!, broken!, answered!]),
      [
        "chat clerk",
        "execute_tool refund",
        "execute_tool refnd",
        "execute_tool broken",
        "chat clerk",
      ],
    );
    assertEquals([asked!.kind, refund!.kind], [3, 1]);
    assertEquals(asked!.attributes, {
      ...model,
      "gen_ai.operation.name": "chat",
      "gen_ai.response.model": "clerk",
      "gen_ai.response.finish_reasons": ["tool_call"],
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
      "toolgate.request": 1,
    });
    assertEquals(answered!.attributes["gen_ai.response.finish_reasons"], ["stop"]);
    const call = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function" };
    assertEquals([refund!, unknown!, broken!].map(({ attributes }) => attributes), [
      {
        ...call,
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "call_1_1",
        "toolgate.call": 1,
        "toolgate.step": 1,
      },
      {
        ...call,
        "gen_ai.tool.name": "refnd",
        "gen_ai.tool.call.id": "call_1_2",
        "toolgate.call": 2,
        "toolgate.step": 1,
        "toolgate.failure": "function_not_found",
        "error.type": "function_not_found",
      },
      {
        ...call,
        "gen_ai.tool.name": "broken",
        "gen_ai.tool.call.id": "call_1_3",
        "toolgate.call": 3,
        "toolgate.step": 1,
        "error.type": "execution",
      },
    ]);
    assertEquals([refund!, unknown!, broken!].map(({ isError }) => isError), [false, true, true]);
  }
  const invalid = roots.find(({ attributes }) => attributes["toolgate.outcome"] === "invalid")!;
  assertEquals([invalid.isError, invalid.message], [true, ""]);
  assertEquals(invalid.attributes["error.type"], "limit");
  const [failed, ...others] = below(spans, invalid);
  assertEquals([failed!.name, failed!.isError, failed!.message], ["chat clerk", true, ""]);
  assertEquals(failed!.attributes["error.type"], "503");
  assertEquals(others, []);
  const all = collector.bodies.join("\n");
  for (const words of [...SAID, SECRET]) assert(!all.includes(words), words);

  using hanging = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of hanging) connections.push(connection);
  })();
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  closed.close();
  for (const { addr: { port } } of [hanging, closed]) {
    const alone = await runTests(DESK, {
      ...envFor(`http://127.0.0.1:${port}`),
      // How long the runtime itself waits at its end.
      OTEL_EXPORTER_OTLP_TIMEOUT: "200",
    });
    assertEquals([alone.code, printed(alone.stdout)], [ran.code, printed(ran.stdout)], alone.all);
  }
  assert(connections.length > 0);
  hanging.close();
  await accepting;
  for (const connection of connections) connection.close();
});

Deno.test("spans have what was said where the variable of the conventions says so, without secrets", async () => {
  await using collector = startCollector();
  const ran = await runTests(DESK, { ...collector.env, ...CONTENT });
  assertMatch(ran.stdout, /2 passed .*\| 1 failed/, ran.all);
  const all = collector.bodies.join("\n");
  for (const words of SAID) assertStringIncludes(all, words);
  assert(!all.includes(SECRET));
  const spans = collector.spans();
  const [root] = rootsOf(spans).filter(({ attributes }) => attributes["toolgate.solved"]);
  const [asked, refund, unknown, broken, answered] = below(spans, root!);
  const json = (span: Span | undefined, name: string) =>
    JSON.parse(span!.attributes[`gen_ai.${name}`] as string);
  const opening = [
    { role: "system", parts: [{ type: "text", content: "Always be polite." }] },
    { role: "user", parts: [{ type: "text", content: "Please refund order A1." }] },
  ];
  const called = [
    {
      ...{ type: "tool_call", id: "call_1_1", name: "refund" },
      arguments: { order: "A1", api_key: "[redacted]" },
    },
    { type: "tool_call", id: "call_1_2", name: "refnd", arguments: {} },
    { type: "tool_call", id: "call_1_3", name: "broken", arguments: {} },
  ];
  assertEquals(json(asked, "input.messages"), opening);
  assertEquals(json(asked, "output.messages"), [
    { role: "assistant", parts: called, finish_reason: "tool_call" },
  ]);
  assertEquals(json(asked, "tool.definitions").map((tool: object) => Object.keys(tool)), [
    ["type", "name", "description", "parameters"],
    ["type", "name", "description", "parameters"],
  ]);
  const results = [
    JSON.stringify({ order: "A1", reference: 7 }),
    JSON.stringify({ error: "There is no function refnd" }),
    JSON.stringify({ error: "the reference is lost" }),
  ];
  assertEquals(json(answered, "input.messages"), [
    ...opening,
    { role: "assistant", parts: called },
    ...results.map((response, place) => ({
      role: "tool",
      parts: [{ type: "tool_call_response", id: `call_1_${place + 1}`, response }],
    })),
  ]);
  const answer = { role: "assistant", parts: [{ type: "text", content: "Order A1 is refunded." }] };
  assertEquals(json(answered, "output.messages"), [{ ...answer, finish_reason: "stop" }]);
  assertEquals(
    [refund, unknown, broken].map((span) => span!.attributes["gen_ai.tool.call.result"]),
    results,
  );
  assertEquals(json(refund, "tool.call.arguments"), { order: "A1", api_key: "[redacted]" });
  assertEquals(broken!.message, "the reference is lost");
  // A trace is shown with what went in and came out.
  assertEquals(json(root, "input.messages"), opening);
  assertEquals(json(root, "output.messages"), [answer]);
  assertEquals(json(root, "tool.definitions"), json(asked, "tool.definitions"));
});

Deno.test("no content is sent where its variable may not be read, and nobody is asked for it", async () => {
  await using collector = startCollector();
  const line = ["test", "--no-check", "--allow-read", `--config=${ROOT}/deno.json`, DESK];
  const ran = await deno(line, { env: { ...collector.env, ...CONTENT } });
  assertMatch(ran.stdout, /2 passed .*\| 1 failed/, ran.all);
  assertEquals(rootsOf(collector.spans()).length, 3);
  const all = collector.bodies.join("\n");
  for (const words of SAID) assert(!all.includes(words), words);
});

/** An agent that reaches its model over the loopback server of all trials, and a second one with its own fetch. */
const AGENTS = (url: string, models: string) => `
import { type Agent, benchmark, grid, openai, toolTest, tool } from "${ROOT}/mod.ts";
import { z } from "zod";

const ask = (own: boolean): Agent => async ({ prompt, tools }, { baseURL, fetch: watched, apiKey, model }) => {
  const messages: object[] = [{ role: "user", content: prompt }];
  while (true) {
    const response = await (own ? watched : fetch)(\`\${baseURL}/chat/completions\`, {
      method: "POST",
      headers: { authorization: \`Bearer \${apiKey}\`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages, tools: tools.map(({ name, description, parameters }) =>
        ({ type: "function", function: { name, description, parameters } })) }),
    });
    const { choices: [{ message }] } = await response.json();
    messages.push(message);
    if (!message.tool_calls) return message.content;
    for (const { id, function: called } of message.tool_calls) {
      const content = await tools.find(({ name }) => name === called.name)!.execute(JSON.parse(called.arguments));
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
};
const model = { model: "sim:planner", baseURL: "${models}" };
const settings = { model, tasks: grid({ core: 3, depth: 2 }), seed: 1, graphs: 3 };
benchmark("by address", { ...settings, agent: ask(false) });
benchmark("by fetch", { ...settings, agent: ask(true) });

toolTest("asks", {
  model: openai({ model: "busy", name: "my model", baseURL: "${url}/v1", apiKey: "any" }),
  tools: [tool({
    name: "look",
    description: "Looks",
    parameters: z.object({}),
    execute: async () => await (await fetch("${url}/looked")).text(),
  })],
  prompt: "Look.",
  assert: () => {},
});
`;

Deno.test("requests of replies, tools and agents are below the spans of their own trials", async () => {
  let requests = 0;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (new URL(request.url).pathname === "/looked") return new Response("seen");
      await request.body?.cancel();
      if (++requests === 1) {
        return Response.json({ error: { message: "busy" } }, {
          status: 500,
          headers: { "retry-after-ms": "1" },
        });
      }
      const calls = [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }];
      const message = requests === 2 ? { tool_calls: calls } : { content: "Seen." };
      return Response.json({
        model: "busy-2",
        choices: [{ message: { role: "assistant", ...message }, finish_reason: "stop" }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      });
    },
  );
  await using models = countingServer(null);
  await using collector = startCollector();
  const url = `http://127.0.0.1:${server.addr.port}`;
  // Without its header, requests over the loopback server are as those of an agent in another process.
  const env = { ...collector.env, OTEL_PROPAGATORS: "none" };
  const ran = await runTests(place.write("agents_test.ts", AGENTS(url, models.url)), env);
  assertEquals(ran.code, 0, ran.all);
  const spans = collector.spans();
  const all = [...spans, ...collector.denoSpans()];
  const byId = new Map(all.map((span) => [span.id, span]));
  /** The spans of toolgate that a span is within. */
  const within = (span: Span): string[] => {
    const above = byId.get(span.parent);
    return above === undefined ? [] : [...within(above), above.name];
  };
  for (const suite of ["by address", "by fetch"]) {
    const roots = rootsOf(spans).filter(({ name }) => name === `invoke_agent ${suite}`);
    assertEquals(roots.length, 3, ran.all);
    for (const root of roots) {
      assertEquals(root.attributes["toolgate.agent"], "watched");
      assertMatch(root.attributes["toolgate.task"] as string, /^core=3 depth=2 .* seed=\d+$/);
      const own = spans.filter(({ trace }) => trace === root.trace);
      const chats = own.filter(({ name }) => name === "chat sim:planner");
      const calls = own.filter(({ name }) => name.startsWith("execute_tool "));
      assertEquals([chats.length > 1, calls.length], [true, root.attributes["toolgate.calls"]]);
      assertEquals(own.length, 1 + chats.length + calls.length);
      for (const span of [...chats, ...calls]) assertEquals(within(span)[0], root.name);
      // Anyone who sent it, each reply took one request to the model.
      for (const chat of chats) {
        assertEquals(namesOf(below(all, chat)), ["POST"]);
      }
    }
  }
  const [root] = rootsOf(spans).filter(({ name }) => name === "invoke_agent agents");
  const [first, look, second] = below(spans, root!);
  assertEquals(namesOf([first!, look!, second!]), ["chat busy", "execute_tool look", "chat busy"]);
  assertEquals(first!.attributes["toolgate.failed_attempts"], ["500"]);
  assertEquals(second!.attributes["toolgate.failed_attempts"], undefined);
  const { attributes } = first!;
  const { port } = server.addr;
  assertEquals(
    ["gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model", "toolgate.model"]
      .map((name) => attributes[name]),
    ["openai", "busy", "busy-2", "my model"],
  );
  assertEquals([attributes["server.address"], attributes["server.port"]], ["127.0.0.1", port]);
  assertEquals(attributes["toolgate.simulated"], false);
  const sent = (span: Span | undefined) =>
    below(all, span!).map(({ attributes }) => attributes["url.path"]);
  assertEquals(sent(first), ["/v1/chat/completions", "/v1/chat/completions"]);
  assertEquals(sent(look), ["/looked"]);
});

const SUITE = JSON.stringify({
  ...{ name: "small", seed: 7, graphs: 2, models: ["sim:planner"] },
  tasks: [{ core: 2, depth: 1 }],
});

Deno.test("toolgate run sends a trace of each trial, and a gate over its journal none", async () => {
  await using collector = startCollector();
  const suite = place.write("suite.json", SUITE);
  const journal = place.file("run.jsonl");
  const command = (...line: string[]) => beginToolgate(line, { env: collector.env }).finished;
  const ran = await command("run", suite, "--out", journal);
  assertEquals(ran.code, 0, ran.all);
  const [, ...trials] = readLines(journal);
  const roots = rootsOf(collector.spans());
  assertEquals(namesOf(roots), ["invoke_agent small", "invoke_agent small"]);
  assertEquals(
    roots.map(({ attributes }) => attributes["toolgate.trial"]).sort(),
    trials.map(({ id }) => id).sort(),
  );
  const count = collector.spans().length;
  const decided = await command("gate", journal, "--success-rate=0.5");
  assert(decided.code <= 3, decided.all);
  assertEquals(collector.spans().length, count);
});
