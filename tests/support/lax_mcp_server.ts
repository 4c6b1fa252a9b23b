/**
 * A server of the Model Context Protocol whose lists and results are not as the protocol has them, which asks its client
 * back, tells how far it is, writes long lines, and returns the content in its first argument: run as a program.
 */

const EMPTY = { type: "object" };

const TOOLS = [
  { name: "no_type", inputSchema: { properties: { city: { type: "string" } } }, title: null },
  { name: "no_schema" },
  { name: "list", inputSchema: EMPTY, outputSchema: [{ type: "object" }] },
  ...["elicit", "sample", "roots", "slow", "long", "deep", "media"].map((name) => ({
    ...{ name, inputSchema: EMPTY, outputSchema: null, annotations: { readOnlyHint: null } },
  })),
];

const FORM = { type: "object", properties: { name: { type: "string" } } };
const QUESTION = { role: "user", content: { type: "text", text: "Hi" } };

/** What it asks its client for when it is called: methods and parameters. */
const ASKED: Readonly<Record<string, readonly [string, object]>> = {
  elicit: ["elicitation/create", { message: "Who are you?", requestedSchema: FORM }],
  sample: ["sampling/createMessage", { messages: [QUESTION], maxTokens: 9 }],
  roots: ["roots/list", {}],
};

const send = (message: object) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const said = (id: number, text: string) =>
  send({ id, result: { content: [{ type: "text", text }] } });

/** Sends signs of progress, and after some of them the result. */
function progress(id: number, progressToken: unknown, left: number): void {
  if (left === 0) return said(id, "done");
  send({ method: "notifications/progress", params: { progressToken, progress: -left } });
  setTimeout(() => progress(id, progressToken, left - 1), 300);
}

// deno-lint-ignore no-explicit-any -- a client wrote it
function take({ id, method, params, ...answer }: any): void {
  const name = params?.name;
  if (method === "initialize") {
    const serverInfo = { name: "lax", version: "1.0.0" };
    const { protocolVersion } = params;
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") send({ id, result: { tools: TOOLS, nextCursor: null } });
  // The answer to what it asked has the id of the call.
  else if (method === undefined) said(id, JSON.stringify(answer));
  else if (method !== "tools/call") return;
  else if (name in ASKED) send({ id, method: ASKED[name]![0], params: ASKED[name]![1] });
  else if (name === "slow") progress(id, params._meta?.progressToken, 9);
  else if (name === "long") said(id, "x".repeat(params.arguments.size));
  else if (name === "media") send({ id, result: { content: JSON.parse(Deno.args[0]!) } });
  else if (name === "deep") {
    console.log(`{"jsonrpc":"2.0","id":${id},"result":${"[".repeat(params.arguments.size)}`);
  } else said(id, name);
}

let rest = "";
for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\n");
  rest = lines.pop()!;
  for (const line of lines) take(JSON.parse(line));
}
