// What errors of servers mean: one reply made by hand for each kind that is known.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { InfrastructureError } from "../../lib/models/model.ts";
import { Connections } from "../../lib/models/connect.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { summarize } from "../../lib/trials/summary.ts";
import { ADD, answering, asked, completion, serving, status } from "../support/wire_servers.ts";

const error = (message: string, more: Record<string, unknown> = {}) => ({
  error: { message, ...more },
});
const written = '{"left": 1, "right": }';

/** Errors that are replies: the server, its answer, and the call in it. */
const UNREADABLE = [
  [
    "Ollama",
    500,
    error(`error parsing tool call: raw='${written}', err=invalid character '}'`),
    "",
    written,
  ],
  [
    "Ollama's own address",
    500,
    { error: `error parsing tool call: raw='${written}', err=` },
    "",
    written,
  ],
  [
    "llama.cpp",
    500,
    error(`Failed to parse input at pos 12: <tool_call>{"name": "add", "arguments": ${written}}`, {
      ...{ code: 500, type: "server_error" },
    }),
    "add",
    written,
  ],
  [
    "Groq",
    400,
    error("Failed to call a function. See 'failed_generation'", {
      ...{ type: "invalid_request_error", code: "tool_use_failed" },
      failed_generation: `<function=add>${written}</function>`,
    }),
    "add",
    written,
  ],
  [
    "Groq, without what was written",
    400,
    error("tool call validation failed: parameters for tool add", { code: "tool_use_failed" }),
    "",
    undefined,
  ],
  [
    "vLLM",
    400,
    error("1 validation error for list[function-wrap[x()]]\n  Invalid JSON: EOF while parsing"),
    "",
    undefined,
  ],
  [
    "a gateway",
    502,
    error("Provider returned error", {
      metadata: {
        raw: '{"error":{"code":"tool_use_failed","failed_generation":"<function=add>"}}',
      },
    }),
    "",
    undefined,
  ],
  ["Bedrock", 424, error("Model produced invalid sequence as part of ToolUse."), "", undefined],
] as const;

for (const [server, code, body, name, text] of UNREADABLE) {
  Deno.test(`an unreadable call that ${server} makes an error of is the model's, and not asked for again`, async () => {
    await using at = serving(status(code, body), answering(completion({ content: "hello" })));
    const reply = await at.model().reply(asked({ tools: [ADD] }));
    assertEquals([at.received.length, reply.parsed, reply.failed], [1, "unreadable", undefined]);
    assertEquals(reply.calls.map((call) => call.name), [name]);
    if (text !== undefined) assertEquals(reply.written?.includes(text), true, reply.written);
    // It is sent back as servers take it, and the trial goes on.
    const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
    await using other = serving(status(code, body), answering(completion({ content: "hello" })));
    const trial = await runTrial(task, other.model());
    assertEquals([trial.outcome, trial.failures.length], ["no_answer", 1]);
    assertEquals(summarize(trial).parses?.unreadable, 1);
    assertEquals(other.received.length, 2);
    const sent = JSON.stringify(other.received[1]!.body["messages"]);
    const [, argumentsSent] = /"arguments":("(?:[^"\\]|\\.)*")/.exec(sent)!;
    assertEquals(typeof JSON.parse(JSON.parse(argumentsSent!)), "object");
  });
}

Deno.test("a question or reply that a content filter stopped is filtered, and not asked for again", async () => {
  const kinds = [
    [400, error("The response was filtered", { code: "content_filter" })],
    [400, error("Rejected by the safety system", { code: "content_policy_violation" })],
    [400, error("Your prompt was flagged", { code: "invalid_prompt" })],
    [403, error("Your input was flagged by moderation")],
    // As Azure may send it: without a message, by its inner code alone, and in an answer of status 200.
    [400, { error: { code: "content_filter" } }],
    [400, { error: { innererror: { code: "ResponsibleAIPolicyViolation" } } }],
    [200, { error: { code: "content_filter" } }],
    [200, error("The response was filtered", { code: "content_filter" })],
  ] as const;
  for (const [code, body] of kinds) {
    await using server = serving(status(code, body));
    const reply = await server.model().reply(asked({ tools: [ADD] }));
    assertEquals([reply.finish, reply.text, reply.calls, server.received.length], [
      "filter",
      "",
      [],
      1,
    ]);
  }
});

Deno.test("an error says whether asking again may draw another reply, and what must change", async () => {
  const kinds = [
    [429, error("Slow down"), { retryable: true, fault: "infrastructure", rateLimited: true }],
    [408, {}, { retryable: true }],
    [422, error("no"), { retryable: false, rateLimited: false }],
    [502, {}, { retryable: true, fault: "infrastructure" }],
    [503, {}, { retryable: true, fault: "infrastructure", rateLimited: false }],
    [504, {}, { retryable: true, fault: "infrastructure" }],
    [529, error("Overloaded"), { retryable: true, fault: "infrastructure" }],
    [500, error("The server had an error while processing your request"), {
      ...{ retryable: true, fault: "infrastructure" },
    }],
    [500, error("panic: index out of range"), { retryable: true, fault: "unclear" }],
    // What a model wrote, quoted, makes no known service of a server.
    [
      500,
      error('cannot parse {"note": "overloaded, the server had an error"}', { type: "api_error" }),
      {
        ...{ retryable: true, fault: "unclear" },
      },
    ],
    [502, error("Provider returned error"), { retryable: true, fault: "unclear" }],
    [524, {}, { retryable: true, fault: "unclear" }],
    [403, error("Your API key was flagged"), { retryable: false, permanent: "key" }],
    [400, error("Invalid model output: {}"), { retryable: false, permanent: undefined }],
    [409, error("conflict"), { retryable: true, fault: "unclear" }],
    [429, error("Request too large for m on tokens per min (TPM): Limit 10, Requested 20"), {
      ...{ retryable: false, fault: "unclear" },
    }],
    [401, error("no"), { retryable: false, permanent: "key" }],
    [403, error("no"), { retryable: false, permanent: "key" }],
    [404, error("no", { code: "model_not_found" }), { retryable: false, permanent: "model" }],
    [404, error('model "m" not found, try pulling it first'), {
      ...{ retryable: false, permanent: "model" },
    }],
    [404, { detail: "Not Found" }, { retryable: false, permanent: "address" }],
    [402, error("Insufficient Balance"), { retryable: false, permanent: "credit" }],
    [429, error("no", { code: "insufficient_quota" }), { retryable: false, permanent: "credit" }],
  ] as const;
  for (const [code, body, expected] of kinds) {
    await using server = serving(status(code, body));
    const thrown = await assertRejects(
      () => server.model({ retries: 0 }).reply(asked()),
      InfrastructureError,
    );
    assertEquals(thrown.status, code);
    assertEquals({ ...thrown, ...expected }, { ...thrown }, `${code} ${JSON.stringify(body)}`);
  }
});

Deno.test("a page of a firewall is about no key", async () => {
  await using server = serving(() => new Response("<html>You were blocked", { status: 403 }));
  const thrown = await assertRejects(
    () => server.model({ retries: 0 }).reply(asked()),
    InfrastructureError,
  );
  assertEquals(thrown.permanent, undefined);
});

Deno.test("a request whose connection closes while the model writes is not sent again unseen", async () => {
  const body = JSON.stringify(completion({ content: "hello" }));
  const reply =
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  let requests = 0;
  const connections: Deno.TcpConn[] = [];
  const serve = async (connection: Deno.TcpConn) => {
    connections.push(connection);
    const buffer = new Uint8Array(65_536);
    for (let text = ""; await connection.read(buffer).catch(() => null) !== null;) {
      text += "x";
      requests++;
      // The second request on a connection that was kept gets no answer.
      if (text.length > 1) return connection.close();
      await connection.write(new TextEncoder().encode(reply));
    }
  };
  const serving = (async () => {
    for await (const connection of listener) serve(connection);
  })();
  const model = openai({
    ...{
      model: "m",
      baseURL: `http://127.0.0.1:${listener.addr.port}/v1`,
      apiKey: "any",
      backoff: 1,
    },
  });
  const first = await model.reply(asked());
  const second = await model.reply(asked());
  assertEquals([first.failed, second.failed?.length, requests], [undefined, 1, 3]);
  listener.close();
  connections.at(-1)!.close();
  await serving;
});

Deno.test("a trial tells of attempts that may have drawn another reply, and of no others", async () => {
  const kinds = [
    [status(500, error("panic")), [{ status: 500, message: /panic/ }]],
    [answering("busy"), [{ status: undefined, message: /not marked as JSON|text/ }]],
    [() => new Response("<html>", { headers: { "content-type": "application/json" } }), [
      { status: undefined, message: /no JSON/ },
    ]],
    [status(503), []],
    [status(429, {}, { "retry-after-ms": "1" }), []],
  ] as const;
  for (const [bad, expected] of kinds) {
    await using server = serving(bad, answering(completion({ content: "x = 1" })));
    const connections = new Connections({ backoff: 1 });
    const model = connections.model({ model: "m", baseURL: `http://${server.host}/v1` });
    const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
    const trial = await runTrial(task, model);
    const { unclear = [] } = summarize(trial);
    assertEquals(unclear.length, expected.length);
    for (const [place, { status, message }] of expected.entries()) {
      assertEquals(unclear[place]!.status, status);
      assertMatch(unclear[place]!.message, message);
    }
  }
});
