// The bridge between standard input and output and the MCP server of a trial: messages in, whatever the pieces in
// which they come, and one line for each answer.

import { assert, assertEquals } from "@std/assert";
import { relay } from "../../../lib/trials/tap/_mcp_bridge.ts";
import fc from "../../support/fast_check.ts";

type Answer = (body: string, request: Request) => Response | Promise<Response>;

function serve(answer: Answer): { readonly url: string } & AsyncDisposable {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await answer(await request.text(), request),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** What the bridge writes for some input, which comes in pieces of at most this many bytes. */
async function relayed(input: string, url: string, most = Infinity): Promise<string[]> {
  const bytes = new TextEncoder().encode(input);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += most) pieces.push(bytes.slice(at, at + most));
  let text = "";
  await relay(ReadableStream.from(pieces), (line) => Promise.resolve(void (text += line)), url);
  return text.split("\n").slice(0, -1);
}

/** Answers with the message itself, spread over lines as no line may be. */
const echo: Answer = (body) => new Response(JSON.stringify(JSON.parse(body), null, 2));

Deno.test("relay() passes on each line whole, and writes each answer as one line", async () => {
  await using server = serve(echo);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 5 }),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom("\n", "\r\n", "\n\n"),
      fc.boolean(),
      async (values, most, end, isOpen) => {
        const lines = values.map((value) => JSON.stringify(value));
        const input = lines.join(end) + (isOpen ? "" : end);
        const written = await relayed(input, server.url, most);
        assertEquals(written.toSorted(), lines.toSorted());
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("relay() writes the messages of a stream, and nothing for what has no answer", async () => {
  await using server = serve((body) =>
    body === "1"
      ? new Response(': ping\n\nevent: message\ndata: {"a":\ndata:{"b":"\\n"}\n\ndata: 2\n\n', {
        headers: { "content-type": "text/event-stream; charset=utf-8" },
      })
      : new Response(null, { status: 202 })
  );
  assertEquals(await relayed("1\n2\n", server.url), ['{"b":"\\n"}', "2"]);
});

Deno.test("relay() sends what HTTP needs, of the version that a message names", async () => {
  const seen: (string | null)[][] = [];
  await using server = serve((_, { headers }) => {
    seen.push(
      ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"]
        .map((name) => headers.get(name)),
    );
    return new Response(null, { status: 202 });
  });
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  for (
    const message of [
      { method: "ping" },
      { method: "tools/list", params: { _meta } },
      { method: "tools/call", params: { _meta, name: "a b" } },
      { method: "tools/call", params: { _meta, name: " é" } },
      { method: 1, params: null },
    ]
  ) await relayed(JSON.stringify(message), server.url);
  const [accept, type] = ["application/json, text/event-stream", "application/json"];
  assertEquals(seen, [
    [accept, type, null, null, null],
    [accept, type, "2026-07-28", "tools/list", null],
    [accept, type, "2026-07-28", "tools/call", "a b"],
    [accept, type, "2026-07-28", "tools/call", "=?base64?IMOp?="],
    [accept, type, null, null, null],
  ]);
});

Deno.test("relay() answers requests itself where the trial is over, and each by its id", async () => {
  const lines = '{"id":1,"method":"ping"}\n{"method":"notifications/a"}\n{\n{"id":"x"}\n';
  const errorsOf = (written: string[]) =>
    written.map((line) => JSON.parse(line)).map(({ id, error }) => [id, error.message]).toSorted();
  await using server = serve(() => new Response(null, { status: 404 }));
  assertEquals(errorsOf(await relayed(lines, server.url)), [
    [1, "the server answered 404"],
    ["x", "the server answered 404"],
  ]);
  await server[Symbol.asyncDispose]();
  assertEquals(errorsOf(await relayed(lines, server.url)), [
    [1, "the trial is over"],
    ["x", "the trial is over"],
  ]);
  const unread = { jsonrpc: "2.0", id: null, error: { code: -32000, message: "too long" } };
  await using refusing = serve(() => Response.json(unread, { status: 413 }));
  assertEquals(errorsOf(await relayed('{"id":1,"method":"ping"}\n{\n', refusing.url)), [
    [null, "too long"],
    [1, "too long"],
  ]);
});

Deno.test("relay() passes on calls that are made at once without waiting for each other", async () => {
  const all = Promise.withResolvers<void>();
  let begun = 0;
  await using server = serve(async (body) => {
    if (++begun === 3) all.resolve();
    await all.promise;
    return new Response(body);
  });
  assertEquals((await relayed("1\n2\n3\n", server.url)).toSorted(), ["1", "2", "3"]);
});

Deno.test("the bridge imports nothing but what runtimes have, as hosts wait for it", () => {
  const path = new URL("../../../lib/trials/tap/_mcp_bridge.ts", import.meta.url);
  const code = Deno.readTextFileSync(path).replaceAll(/\/\*\*.*?\*\//gs, "");
  assert(!/\bimport\b(?!\.meta| .* from "node:)/.test(code));
});
