// Tools over HTTP, as a program meets them, and the Python agent that uses them against a simulated model.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { startSimulatedServer } from "../../../lib/simulated/server.ts";
import type { ChatAnswer } from "../../../lib/simulated/wire.ts";
import { generateTask } from "../../../lib/tasks/generated/task.ts";
import { type Tool, toOpenAITool } from "../../../lib/tools/tool.ts";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import { toolsHandler } from "../../../lib/trials/tap/_tools_over_http.ts";
import { commandAgent } from "../../../lib/trials/tap/command.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { agentOptions, agentTask } from "../../support/agent_options.ts";
import { ROOT } from "../../support/child.ts";

const TOKEN = "/a-token";

/** A server with the tools below a token, and `other` for all other paths. */
function serve(
  tools: readonly Tool[],
  other: (request: Request, path: string) => Response | Promise<Response> = () =>
    new Response("no such path", { status: 404 }),
): { readonly url: string } & AsyncDisposable {
  const handle = toolsHandler({ tools });
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    const rest = pathname.slice(TOKEN.length);
    return /^\/tools(\/|$)/.test(rest)
      ? handle(request, rest.slice("/tools".length))
      : other(request, rest);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}${TOKEN}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function toolNamed(name: string, execute: Tool["execute"]): Tool {
  return { name, description: "A tool.", parameters: { type: "object" }, execute };
}

const echo = (name: string) => toolNamed(name, (input) => Promise.resolve(JSON.stringify(input)));

const post = async (url: string, body: string): Promise<[number, string]> => {
  const response = await fetch(url, { method: "POST", body });
  return [response.status, await response.text()];
};

Deno.test("toolsHandler() lists the functions in the form of chat completions", async () => {
  const tools = [echo("add"), { ...echo("sub"), strict: true, examples: [{ a: 1 }] }];
  await using server = serve(tools);
  for (const url of [`${server.url}/tools`, `${server.url}/tools/`]) {
    const response = await fetch(url);
    assertEquals(await response.json(), JSON.parse(JSON.stringify(tools.map(toOpenAITool))));
    assertEquals(response.headers.get("access-control-allow-origin"), null);
  }
});

Deno.test("toolsHandler() carries out a call and answers with its text", async () => {
  await using server = serve([echo("add")]);
  const response = await fetch(`${server.url}/tools/add`, { method: "POST", body: '{"a":"é"}' });
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/plain; charset=utf-8");
  assertEquals(await response.text(), '{"a":"é"}');
});

for (const name of ["__proto__", "constructor", "a/b", "a b?c#d", "é%41"]) {
  Deno.test(`toolsHandler() finds the function ${name} by its encoded name, and no other`, async () => {
    await using server = serve([echo(name)]);
    const path = (one: string) => `${server.url}/tools/${encodeURIComponent(one)}`;
    assertEquals(await post(path(name), "{}"), [200, "{}"]);
    const [status, text] = await post(path("toString"), "{}");
    assertEquals(status, 404);
    assertEquals(JSON.parse(text), { error: "there is no function toString" });
  });
}

Deno.test("toolsHandler() refuses what is no call, and carries nothing out", async () => {
  let calls = 0;
  await using server = serve([toolNamed("add", () => Promise.resolve(`${++calls}`))]);
  const url = `${server.url}/tools/add`;
  for (const body of ["", "{", "[1]", "null", '"{}"', "NaN"]) {
    const [status, text] = await post(url, body);
    assertEquals(status, 400);
    assertStringIncludes(JSON.parse(text).error, "must be a JSON object");
  }
  assertEquals((await post(`${server.url}/tools/%ff`, "{}"))[0], 404);
  assertEquals((await post(`${server.url}/tools`, "{}"))[0], 405);
  const get = await fetch(url);
  assertEquals([get.status, get.headers.get("allow")], [405, "POST"]);
  await get.body?.cancel();
  assertEquals(calls, 0);
});

Deno.test("toolsHandler() takes 16 MiB of arguments and no more, whether or not announced", async () => {
  await using server = serve([toolNamed("add", () => Promise.resolve("fine"))]);
  const url = `${server.url}/tools/add`;
  const body = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`;
  assertEquals(await post(url, body(2 ** 24)), [200, "fine"]);
  assertEquals((await post(url, body(2 ** 24 + 1)))[0], 413);
  const chunk = new TextEncoder().encode("x".repeat(2 ** 20));
  const streamed = await fetch(url, {
    method: "POST",
    body: ReadableStream.from(Array.from({ length: 17 }, () => chunk)),
  }).catch(() => undefined);
  // The server answers before it has read everything, which not every client takes well.
  if (streamed !== undefined) assertEquals(streamed.status, 413);
  await streamed?.body?.cancel();
});

Deno.test("toolsHandler() tells with 409 why no more calls are allowed, without secrets", async () => {
  await using server = serve([
    toolNamed("add", () => Promise.reject(new Error("no more: sk-abcdefghijklmnop123456"))),
  ]);
  const [status, text] = await post(`${server.url}/tools/add`, "{}");
  assertEquals([status, JSON.parse(text)], [409, { error: "no more: [redacted]" }]);
});

/** Answers a chat request of a stand-in model, in pieces of few characters where it asks for a stream. */
async function answerChat(
  request: Request,
  reply: (body: string) => Promise<ChatAnswer>,
): Promise<Response> {
  const { stream, stream_options: _, ...body } = await request.json();
  const answer = await reply(JSON.stringify(body));
  if (stream !== true) return Response.json(answer);
  const { content, tool_calls: calls = [] } = answer.choices[0]!.message;
  const deltas: object[] = [
    { role: "assistant", content: "" },
    ...(content?.match(/.{1,3}/gs) ?? []).map((part) => ({ content: part })),
    ...calls.flatMap(({ id, function: { name, arguments: given } }, index) => [
      { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
      ...(given.match(/.{1,3}/gs) ?? []).map((part) => ({
        tool_calls: [{ index, function: { arguments: part } }],
      })),
    ]),
  ];
  const lines = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);
  return new Response([...lines, "data: [DONE]\n\n"].join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

const PYTHON = ["python3", `${ROOT}/fixtures/agents/agent.py`];

for (const flags of [[], ["--stream"]]) {
  const title = ["agent.py", ...flags].join(" ");

  Deno.test(`${title} solves generated tasks over HTTP`, async () => {
    await using simulated = startSimulatedServer();
    const task = generateTask({ core: 4, depth: 2, connected: 2, disconnected: 0, seed: 11 });
    using executor = createExecutor(task);
    await using server = serve(
      executor.tools,
      (request) =>
        answerChat(
          request,
          async (body) =>
            await (await fetch(`${simulated.url}/chat/completions`, { method: "POST", body }))
              .json(),
        ),
    );
    const agent = commandAgent({ command: [...PYTHON, ...flags] });
    const text = await agent(
      agentTask({ prompt: executor.prompt, tools: executor.tools }),
      agentOptions({
        model: "sim:planner",
        baseURL: `${server.url}/v1`,
        toolsURL: `${server.url}/tools`,
      }),
    );
    assertEquals(executor.answer(text).outcome, "solved");
    assertEquals(callsOf(executor.events).filter(({ failure }) => failure !== undefined), []);
  });

  Deno.test(`${title} tells the model what was wrong with its calls, and goes on`, async () => {
    const asked: { messages: { role: string; content: string }[]; tool_choice?: unknown }[] = [];
    const call = (id: string, name: string, given: string) => ({
      ...{ id, type: "function" as const, function: { name, arguments: given } },
    });
    const replies = [
      { content: null, tool_calls: [call("1", "invented/name", "{}"), call("2", "add", "{")] },
      { content: null, tool_calls: [call("3", "add", "[1]"), call("4", "add", '{"a":1}')] },
      { content: "It is é." },
    ];
    const reply = (body: string) => {
      asked.push(JSON.parse(body));
      const message = { role: "assistant", ...replies[asked.length - 1] };
      return Promise.resolve({ choices: [{ message }] } as unknown as ChatAnswer);
    };
    await using server = serve([echo("add")], (request) => answerChat(request, reply));
    const agent = commandAgent({ command: [...PYTHON, ...flags] });
    const text = await agent(
      agentTask({ system: "Be brief.", tools: [echo("add")], toolChoice: "required" }),
      agentOptions({ baseURL: `${server.url}/v1`, toolsURL: `${server.url}/tools` }),
    );
    assertEquals(text, "It is é.");
    assertEquals(asked.map((one) => one.tool_choice), ["required", undefined, undefined]);
    const { messages } = asked.at(-1)!;
    assertEquals(messages[0], { role: "system", content: "Be brief." });
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    assertEquals(results.length, 4);
    assertStringIncludes(results[0]!, "there is no function invented/name");
    assertStringIncludes(results[1]!, "The arguments are not JSON");
    assertStringIncludes(results[2]!, "must be a JSON object");
    assertEquals(results[3], '{"a":1}');
  });
}

Deno.test("agent.py fails with what its server said", async () => {
  await using server = serve([], () => Response.json({ error: "no" }, { status: 400 }));
  const error = await commandAgent({ command: PYTHON })(
    agentTask(),
    agentOptions({ baseURL: `${server.url}/v1` }),
  ).catch((error) => error);
  assertStringIncludes(error.message, "exit code 1");
  assertStringIncludes(error.message, "HTTP Error 400");
});
