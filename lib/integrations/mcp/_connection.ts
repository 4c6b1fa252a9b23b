/**
 * Connections to MCP servers, whose failures are told apart from errors of their tools.
 * @module
 */

import type { Client, Transport } from "@modelcontextprotocol/client";
import { cannot, type InputError, reasonOf } from "../../base/errors.ts";
import { parseWith } from "../../base/input.ts";
import { defined, isObject, type JsonObject, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { registerGivenSecrets, registerSecrets, requestSecrets } from "../../base/secrets.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import { InfrastructureError } from "../../models/model.ts";
import { ToolError } from "../../tools/tool_error.ts";
import { returnFault } from "../../tools/schema/validate.ts";
import { type Listed, PAGE, RESULT, resultText } from "./_content.ts";

/** A program that is a server. */
export interface Program {
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A `Client` of version 2 of `npm:@modelcontextprotocol/client` that is connected to a server, and stays so. */
export interface McpClient {
  /** Lists a page of the server's tools. */
  listTools(params?: { readonly cursor?: string }, options?: object): Promise<unknown>;
  /** Calls a tool. */
  callTool(
    params: { readonly name: string; readonly arguments: Record<string, unknown> },
    options?: object,
  ): Promise<unknown>;
  /** Returns what the server says about its use. */
  getInstructions(): string | undefined;
}

/** What servers are told of who asks. */
const OURSELVES = { name: "toolgate", version: "1.0.0" };

/** Pages of tools that are read, at most. */
const MAX_PAGES = 64;
/** Characters of a server's name, and of what it said, in messages. */
const MAX_NAME = 120;
const MAX_QUOTE = 300;
/** Characters of a program's standard error that are kept, its last ones. */
const MAX_KEPT = 2 ** 16;

/** Codes of a client's errors: all others say that the server could not be asked. */
const NO_RESULT: readonly unknown[] = ["INVALID_RESULT", "UNSUPPORTED_RESULT_TYPE"];
const ENDED: readonly unknown[] = ["CONNECTION_CLOSED", "NOT_CONNECTED"];

/** What a connection knows beside its client. */
interface ConnectionOptions {
  /** Seconds that each request may take. */
  readonly seconds: number;
  /** The end of what the server wrote to standard error. */
  readonly errors?: () => string;
  /** Ends the connection, and a server that was started for it. */
  readonly close?: () => Promise<void>;
}

/** A server to which a client is connected. */
export class Connection implements AsyncDisposable {
  /** What messages call the server. */
  readonly name: string;
  readonly #peer: McpClient;
  readonly #options: ConnectionOptions;

  /** Uses a connected client. */
  constructor(name: string, peer: McpClient, options: ConnectionOptions) {
    this.name = name;
    this.#peer = peer;
    this.#options = options;
  }

  /** What the server says about its use. */
  get instructions(): string | undefined {
    return this.#peer.getInstructions();
  }

  /**
   * Returns all tools of the server.
   *
   * @throws {InputError} If it does not list them.
   */
  async list(): Promise<readonly Listed[]> {
    const listed: Listed[] = [];
    const options = { timeout: 1000 * this.#options.seconds };
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const given = await this.#peer.listTools(defined({ cursor }), options).catch((error) => {
        throw this.unusable(error);
      });
      const { tools, nextCursor } = parseWith(PAGE, given, `the tools of ${this.name}`);
      listed.push(...tools);
      cursor = nextCursor;
      if (cursor === undefined) return listed;
    }
    throw this.unusable(new Error(`it lists more than ${MAX_PAGES} pages of tools`));
  }

  /**
   * Calls a tool, and returns the text for the model.
   *
   * @throws {InfrastructureError} If the server ended, or did not answer in time.
   * @throws {ToolError} If its answer is no result.
   * @throws {Error} If it answered with an error.
   * @throws The reason of `signal`, if that aborted.
   */
  async call(tool: Listed, input: JsonObject, signal: AbortSignal | undefined): Promise<string> {
    // The client would say of a result that its schema does not allow that the arguments are wrong.
    const { outputSchema: returns, ...toolDefinition } = tool;
    const { seconds } = this.#options;
    const given = await this.#peer.callTool(
      { name: tool.name, arguments: { ...input } },
      { timeout: 1000 * seconds, toolDefinition, ...defined({ signal }) },
    ).catch((error) => {
      signal?.throwIfAborted();
      const code = codeOf(error);
      // The codes of answers are numbers (JSON-RPC).
      if (typeof code === "number") throw new Error(reasonOf(error));
      if (NO_RESULT.includes(code)) throw noResult(reasonOf(error));
      throw new InfrastructureError(`${this.name} failed: ${this.#why(error)}`, { cause: error });
    });
    const { data, error } = RESULT.safeParse(given);
    if (data === undefined) throw noResult(error.issues[0]!.message);
    const text = resultText(data);
    if (data.isError) throw new Error(text);
    const { structuredContent: structured } = data;
    const fault = returns === undefined
      ? undefined
      : structured === undefined
      ? "The tool returned no structured content, which its schema declares"
      : returnFault({ name: tool.name, returns }, JSON.stringify(structured));
    if (fault !== undefined) throw new ToolError("malformed_return", fault);
    return text;
  }

  /** Returns the error of a server that cannot be used at all. */
  unusable(error: unknown): InputError {
    return cannot("take tools", `${this.name} must start and answer`, this.#why(error));
  }

  /** Ends the connection, and a server that was started for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.close?.();
  }

  #why(error: unknown): string {
    const { seconds, errors = () => "" } = this.#options;
    const code = codeOf(error);
    const reason = code === "REQUEST_TIMEOUT"
      ? `it did not answer within ${seconds} s`
      : ENDED.includes(code)
      ? "it ended"
      : code === "ENOENT"
      ? "there is no such program, or no folder for it to run in"
      : printable(redact(reasonOf(error)), MAX_QUOTE);
    const lines = redact(errors()).trim().split("\n");
    // Runtimes write stacks and their version below what went wrong.
    const line = lines.findLast((one) => /^\s*\w*error\b/i.test(one)) ?? lines.at(-1)!;
    return line === "" ? reason : `${reason}; standard error: ${printable(line, MAX_QUOTE)}`;
  }
}

function codeOf(error: unknown): unknown {
  return isObject(error) ? Reflect.get(error, "code") : undefined;
}

function noResult(reason: string): ToolError {
  return new ToolError("malformed_return", `The server gave no result of a tool: ${reason}`);
}

/**
 * Connects to a server on the web.
 *
 * @throws {InputError} If it cannot be reached, or is no MCP server.
 */
export async function connectTo(
  url: URL,
  headers: Readonly<Record<string, string>>,
  seconds: number,
): Promise<Connection> {
  registerSecrets(requestSecrets(new Headers(headers), url));
  const name = `the MCP server ${printable(redact(`${url.origin}${url.pathname}`), MAX_NAME)}`;
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(OURSELVES, { versionNegotiation: { mode: "auto" } });
  const connection = new Connection(name, client, { seconds, close: () => client.close() });
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  await begin(client, transport, connection, seconds);
  return connection;
}

/**
 * Starts a program that is a server.
 *
 * @throws {InputError} If it cannot be started, or is no MCP server.
 */
export async function start(
  { command: [command, ...args], env, cwd }: Program,
  seconds: number,
): Promise<Connection> {
  registerGivenSecrets(env);
  const words = [command, ...args].map(shellQuote).join(" ");
  const name = `the MCP server ${printable(redact(words), MAX_NAME)}`;
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const connected = async (mode: "legacy" | "auto") => {
    // What it writes to standard error is quoted.
    const options = { command, args, env: { NO_COLOR: "1", ...env }, ...defined({ cwd }) };
    const transport = new StdioClientTransport({ ...options, stderr: "pipe" });
    let errors = "";
    transport.stderr?.on("data", (bytes: Uint8Array) => {
      errors = (errors + new TextDecoder().decode(bytes)).slice(-MAX_KEPT);
    });
    const client = new Client(OURSELVES, { versionNegotiation: { mode } });
    const close = () => client.close();
    const connection = new Connection(name, client, { seconds, errors: () => errors, close });
    await begin(client, transport, connection, seconds);
    return connection;
  };
  try {
    return await connected("legacy");
  } catch (error) {
    // To ask for the version takes a second process, so that it is done only for a server that refuses the usual one.
    if (typeof codeOf((error as Error).cause) !== "number") throw error;
    return await connected("auto");
  }
}

/** Connects a client; what was begun ends if that fails. */
async function begin(
  client: Client,
  transport: Transport,
  connection: Connection,
  seconds: number,
): Promise<void> {
  try {
    await client.connect(transport, { timeout: 1000 * seconds });
  } catch (error) {
    await client.close();
    // A program may have been started that no client knows yet.
    await transport.close();
    throw Object.assign(connection.unusable(error), { cause: error });
  }
}
