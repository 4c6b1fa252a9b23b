/**
 * Programs that are clients of MCP, as toolgate starts them: they find their server in the configuration, make the
 * calls that their input lists, and write what came of them to a file.
 *
 *     mcp_client.ts 2    with the official client; 1 with the package before it
 */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JsonObject } from "../../../lib/base/json.ts";

/** A call to make; those that begin together are listed together. */
export interface ScriptedCall {
  readonly name: string;
  readonly arguments?: JsonObject;
}

/** What a client does, as the variable SCRIPT has it. */
export interface McpScript {
  readonly calls: readonly ScriptedCall[];
  /** What it submits, one after another. */
  readonly answers?: readonly unknown[];
  /** Where it writes what came of it. */
  readonly out?: string;
}

/** What came of it. */
export interface McpOutcome {
  readonly tools: readonly { readonly name: string; readonly inputSchema: JsonObject }[];
  readonly results: readonly { readonly text: string; readonly isError?: boolean }[];
}

interface Result {
  readonly content: readonly { readonly text: string }[];
  readonly isError?: boolean;
}

/** What of both clients is used. */
interface AnyClient {
  listTools(): Promise<{ tools: McpOutcome["tools"] }>;
  callTool(call: { name: string; arguments?: JsonObject }): Promise<Result>;
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

async function connected(sdk: string): Promise<AnyClient> {
  const { mcpServers: { toolgate: { url, ...stdio } } } = JSON.parse(
    Deno.readTextFileSync(Deno.env.get("TOOLGATE_MCP_CONFIG")!),
  );
  const self = { name: "tests", version: "1" };
  if (sdk === "1") {
    const client = new Client1(self);
    // deno-lint-ignore no-explicit-any
    const transport: any = url === undefined ? new Stdio1(stdio) : new Http1(new URL(url));
    await client.connect(transport);
    return client as unknown as AnyClient;
  }
  const client = new Client(self);
  await client.connect(
    url === undefined
      ? new StdioClientTransport(stdio)
      : new StreamableHTTPClientTransport(new URL(url)),
  );
  return client as unknown as AnyClient;
}

if (import.meta.main) {
  const { calls, answers = [], out }: McpScript = JSON.parse(Deno.env.get("SCRIPT")!);
  const client = await connected(Deno.args[0]!);
  await client.ping();
  const { tools } = await client.listTools();
  const results: McpOutcome["results"][number][] = [];
  const submissions = answers.map((answer) => ({
    name: "submit_answer",
    arguments: { answer } as JsonObject,
  }));
  for (const call of [...calls, ...submissions]) {
    const { content, isError } = await client.callTool({ ...call });
    const text = content.map((part) => part.text).join("");
    results.push({ text, ...(isError === undefined ? {} : { isError }) });
  }
  await client.close();
  if (out !== undefined) Deno.writeTextFileSync(out, JSON.stringify({ tools, results }));
  console.log("what it printed");
}
