/**
 * A program that is an MCP server over standard input and output, for hosts that start their servers: it passes each
 * message on to the server of a trial, at the address in `TOOLGATE_MCP_URL`, and writes what that answers.
 *
 * Hosts wait for it, and it runs without an import map, so that it imports nothing but what runtimes have.
 * @module
 */

import { Buffer } from "node:buffer";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** A message, of which the bridge reads only what HTTP needs besides. */
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, unknown>> };
}

/** Where this module is: in a package it lies elsewhere than the one that starts it expects. */
export const BRIDGE = import.meta.url;

/** Passes on the lines of `input`, and returns once all of them are answered; `output` takes one line at a time. */
export async function relay(
  input: AsyncIterable<Uint8Array>,
  output: (line: string) => Promise<void>,
  url: string,
): Promise<void> {
  const write = async (text: string) => {
    // A message is one line, however the server wrote it.
    const line = parsed(text);
    if (line !== undefined) await output(`${JSON.stringify(line)}\n`);
  };
  const pass = async (line: string) => {
    const message = Object(parsed(line)) as Message;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: headersOf(message),
        body: line,
      });
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        // Each message is an event, of one line.
        for await (const part of linesOf(response.body!)) {
          if (part.startsWith(DATA)) await write(part.slice(DATA.length));
        }
        return;
      }
      const text = await response.text();
      const { status, ok } = response;
      if (ok) return await write(text);
      const answer = Object(parsed(text)) as Message & { readonly error?: unknown };
      // The server refuses unread what is too long, and does not know its id.
      const refusal = JSON.stringify({ ...answer, id: message.id ?? null });
      await write(answer.error ? refusal : failure(message, `the server answered ${status}`));
    } catch {
      await write(failure(message, "the trial is over"));
    }
  };
  const passing = new Set<Promise<void>>();
  for await (const line of linesOf(input)) {
    if (line.trim() === "") continue;
    // A host may make several calls at once, and stop reading.
    const one = pass(line).catch(() => {}).finally(() => passing.delete(one));
    passing.add(one);
  }
  await Promise.all(passing);
}

/** The lines of a stream of bytes. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: string[] = [];
  const decoder = new TextDecoder();
  for await (const bytes of input) {
    const [first, ...others] = decoder.decode(bytes, { stream: true }).split("\n");
    parts.push(first!);
    for (const other of others) {
      yield parts.join("");
      parts = [other];
    }
  }
  yield parts.join("");
}

const DATA = "data:";

/** The headers of a message, which from version 2026-07-28 on say again what is in it. */
function headersOf({ method, params }: Message): Record<string, string> {
  const version = Object(Object(params)._meta)["io.modelcontextprotocol/protocolVersion"];
  return {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    ...(typeof version === "string" ? { "mcp-protocol-version": version } : {}),
    ...(typeof version === "string" && typeof method === "string" ? { "mcp-method": method } : {}),
    ...(typeof version === "string" && typeof Object(params).name === "string"
      ? { "mcp-name": inHeader(Object(params).name) }
      : {}),
  };
}

/** A name in a header: what that cannot hold is written in Base64, as the protocol has it. */
function inHeader(name: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name) &&
    !name.startsWith("=?base64?");
  return isPlain ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;
}

/** The answer to a request that got none; nothing to what asks for none. */
function failure({ id }: Message, message: string): string {
  if (id === undefined) return "";
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Not every runtime says whether a module is the program.
if (import.meta.main ?? process.argv[1] === fileURLToPath(BRIDGE)) {
  const write = (text: string) =>
    new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  await relay(process.stdin, write, process.env["TOOLGATE_MCP_URL"]!);
}
