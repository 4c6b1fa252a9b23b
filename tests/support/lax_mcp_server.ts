/**
 * A server of the Model Context Protocol whose lists and results are not as the protocol has them, which asks its client
 * back, tells how far it is, and writes long lines: run as a program.
 */

const EMPTY = { type: "object" };

const TOOLS = [
  { name: "no_type", inputSchema: { properties: { city: { type: "string" } } }, title: null },
  { name: "no_schema" },
  { name: "list", inputSchema: EMPTY, outputSchema: [{ type: "object" }] },
  ...["elicit", "sample", "roots", "slow", "long", "deep"].map((name) => ({
    ...{ name, inputSchema: EMPTY, outputSchema: null, annotations: { readOnlyHint: null } },
  })),
];

/** What it asks its client for when it is called. */
const ASKED: Readonly<Record<string, object>> = {
  elicit: {
    method: "elicitation/create",
    params: {
      message: "Who are you?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    },
  },
  sample: {
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 9 },
  },
  roots: { method: "roots/list" },
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

interface Message {
  readonly id: number;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any -- a client wrote it
  readonly params?: any;
}

function take({ id, method, params, ...answer }: Message): void {
  const name = params?.name;
  if (method === "initialize") {
    const serverInfo = { name: "lax", version: "1.0.0" };
    const { protocolVersion } = params;
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") send({ id, result: { tools: TOOLS, nextCursor: null } });
  // The answer to what it asked has the id of the call.
  else if (method === undefined) said(id, JSON.stringify(answer));
  else if (method !== "tools/call") return;
  else if (name in ASKED) send({ id, ...ASKED[name] });
  else if (name === "slow") progress(id, params._meta?.progressToken, 9);
  else if (name === "long") said(id, "x".repeat(params.arguments.size));
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
