/**
 * Connections to MCP servers, whose failures are distinguished from errors of their tools.
 * @module
 */

import type { Client, JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { inTime } from "../../base/deadline.ts";
import { cannot, causesOf, type InputError, networkReason, reasonOf } from "../../base/errors.ts";
import { concatBytes, parseWith } from "../../base/input.ts";
import {
  cutText,
  isJsonObject,
  isObject,
  isShallowText,
  type JsonObject,
  jsonText,
  parseJson,
  printable,
  writesDigits,
} from "../../base/json.ts";
import {
  errorsText,
  GRACE,
  type Launch,
  MAX_ERRORS,
  type ProcessGroup,
  readVariables,
  startGroup,
  within,
} from "../../base/process_group.ts";
import { redact } from "../../base/redact.ts";
import { registerGivenSecrets, registerSecrets, requestSecrets } from "../../base/secrets.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import { InfrastructureError } from "../../models/model.ts";
import { TAKE_MEDIA, type ToolCallOptions } from "../../tools/tool.ts";
import { ToolError } from "../../tools/tool_error.ts";
import type { ReturnCheck } from "../../tools/schema/returns.ts";
import { clientOf, loadClient, type McpAnswers } from "./_client.ts";
import { httpClient } from "../../base/proxy.ts";
import { type Listed, type Named, PAGE, readResult, RESULT } from "./_content.ts";

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

/** Pages and tools that are read, at most. */
const MAX_PAGES = 64;
const MAX_TOOLS = 1_000;
/** Each sign of progress begins the time of a request anew, up to this many times as long in all. */
const MAX_PROGRESS = 10;
/** Bytes of one message of a program, at most. */
const MAX_MESSAGE = 64 * 2 ** 20;
const LINE_BREAK = 10;
/** Statuses that say of a request that it is wrong: nothing else is asked of a tool but its arguments. */
const REFUSED: readonly unknown[] = [400, 413, 422];
/** Characters of a server's name, and of what it said, in messages. */
const MAX_NAME = 120;
const MAX_QUOTE = 300;

/** Milliseconds that a server may take to end a session. */
const END_SESSION = 2_000;

/** Codes of a client's errors: all others say that the server could not be asked. */
const NO_RESULT: readonly unknown[] = ["INVALID_RESULT", "UNSUPPORTED_RESULT_TYPE"];
const ENDED: readonly unknown[] = ["CONNECTION_CLOSED", "NOT_CONNECTED"];

/** What a connection knows beside its client. */
interface ConnectionOptions {
  /** Seconds that each request may take. */
  readonly seconds: number;
  /** The program that the server is; omitted for one on the web. */
  readonly program?: Pick<ProgramTransport, "errors" | "end">;
  /** The last message of the server that could not be read. */
  readonly dropped?: () => unknown;
  /** Ends the connection, and a server that was started for it. */
  readonly close?: () => Promise<void>;
}

/** How a server is asked, and what it gets where it asks. */
export interface ServerOptions extends Pick<ConnectionOptions, "seconds"> {
  readonly answers: McpAnswers;
}

/** A server to which a client is connected. */
export class Connection implements AsyncDisposable {
  #closing: Promise<void> | undefined;

  /** Uses a connected client; `name` is what messages call the server. */
  constructor(
    readonly name: string,
    private readonly peer: McpClient,
    private readonly options: ConnectionOptions,
  ) {}

  /** What the server says about its use. */
  get instructions(): string | undefined {
    return this.peer.getInstructions();
  }

  /**
   * Returns all tools of the server.
   *
   * @throws {InputError} If it does not list them.
   */
  async list(): Promise<readonly Named[]> {
    const listed: Named[] = [];
    const options = this.#timing;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const given = await this.peer.listTools({ cursor }, options).catch((error) => {
        throw this.unusable(error);
      });
      const { tools, nextCursor } = parseWith(PAGE, given, `the tools of ${this.name}`);
      listed.push(...tools);
      cursor = nextCursor;
      if (listed.length > MAX_TOOLS) break;
      if (cursor === undefined) return listed;
    }
    throw this.unusable(new Error(`it lists more than ${MAX_TOOLS} tools, or ${MAX_PAGES} pages`));
  }

  /** How long requests may take. */
  get #timing() {
    const timeout = 1000 * this.options.seconds;
    const maxTotalTimeout = MAX_PROGRESS * timeout;
    return { timeout, maxTotalTimeout, resetTimeoutOnProgress: true, onprogress: () => {} };
  }

  /**
   * Calls a tool, and returns the text for the model.
   *
   * @throws {InfrastructureError} If the server ended, or did not answer in time.
   * @throws {ToolError} If its answer is no result.
   * @throws {Error} If it answered with an error.
   * @throws The reason of `signal`, if that aborted.
   */
  async call(
    tool: Listed,
    input: JsonObject,
    { signal, check, [TAKE_MEDIA]: takeMedia }: ToolCallOptions & {
      /** Checks the structured content, as JSON. */
      readonly check?: ReturnCheck | undefined;
    },
  ): Promise<string> {
    // The client would say of a result that its schema does not allow that the arguments are wrong.
    const { outputSchema: _, ...toolDefinition } = tool;
    const copy = { ...input };
    writesDigits(copy);
    const given = await this.peer.callTool(
      { name: tool.name, arguments: copy },
      { ...this.#timing, toolDefinition, signal },
    ).catch((error) => {
      signal?.throwIfAborted();
      const code = codeOf(error);
      const answered = answerIn(error);
      if (answered !== undefined) throw new Error(answered);
      if (NO_RESULT.includes(code)) throw noResult(reasonOf(error));
      throw new InfrastructureError(`${this.name} failed: ${this.#why(error)}`, { cause: error });
    });
    const { data, error } = RESULT.safeParse(given);
    if (data === undefined) throw noResult(error.issues[0]!.message);
    const { text, media } = readResult(data);
    if (data.isError) throw new Error(text || "The tool failed, and did not say why");
    const { structuredContent: structured } = data;
    const fault = check === undefined
      ? undefined
      : structured === undefined
      ? "The tool returned no structured content, which its schema declares"
      : check(JSON.stringify(structured));
    if (fault !== undefined) throw new ToolError("malformed_return", fault);
    takeMedia?.(media);
    return text;
  }

  /** Returns the error of a server that cannot be used at all. */
  unusable(error: unknown): InputError {
    return cannot("take tools", `${this.name} must start and answer`, this.#why(error));
  }

  /** Ends the connection, and a server that was started for it; once, however often it is asked to. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#closing ??= this.options.close?.() ?? Promise.resolve());
  }

  #why(error: unknown): string {
    const { seconds, program, dropped = () => undefined } = this.options;
    const code = codeOf(error);
    const last = dropped();
    const but = last === undefined
      ? ""
      : `, but for what could not be read: ${printable(redact(reasonOf(last)), MAX_QUOTE)}`;
    const reason = code === "REQUEST_TIMEOUT"
      ? `it did not answer within ${secondsIn(error) ?? seconds} s${but}`
      : ENDED.includes(code) || reasonOf(error) === "Not connected"
      ? `it ended${program?.end ? ` (${program.end})` : ""}${but}`
      : code === "ENOENT"
      ? "there is no such program, or no folder for it to run in"
      : printable(redact(whyAsked(error)), MAX_QUOTE);
    return reason + errorsText(program?.errors ?? "");
  }
}

/** Returns why a request failed: what the network said, else the status of the answer, else the client's own words. */
function whyAsked(error: unknown): string {
  const { status }: { status?: unknown } = Object(Object(error).data);
  if (typeof status === "number") return `HTTP status ${status}: ${reasonOf(error)}`;
  return causesOf(error).length > 1 ? networkReason(error) : reasonOf(error);
}

/** The seconds that were too many for all of a request. */
function secondsIn(error: unknown): number | undefined {
  const { maxTotalTimeout }: { maxTotalTimeout?: unknown } = Object(Object(error).data);
  return typeof maxTotalTimeout === "number" ? maxTotalTimeout / 1000 : undefined;
}

function codeOf(error: unknown): unknown {
  return isObject(error) ? Reflect.get(error, "code") : undefined;
}

/** Returns what a server answered in place of a result; `undefined` if there was no answer. */
function answerIn(error: unknown): string | undefined {
  // The codes of answers are numbers (JSON-RPC).
  if (typeof codeOf(error) === "number") return reasonOf(error);
  const { status, text }: { status?: unknown; text?: unknown } = Object(Object(error).data);
  const body = typeof text === "string" ? parseJson(text) : undefined;
  const { error: answered } = isJsonObject(body) ? body : {};
  if (isJsonObject(answered) && typeof answered["message"] === "string") return answered["message"];
  return REFUSED.includes(status)
    ? `HTTP status ${status}: ${cutText(String(text), 1_000)}`
    : undefined;
}

function noResult(reason: string): ToolError {
  return new ToolError("malformed_return", `The server gave no result of a tool: ${reason}`);
}

/** The connections to servers on the web: created with this module, as a test that is checked for leaks would be blamed. */
const CONNECTIONS = httpClient();

/**
 * Connects to a server on the web.
 *
 * @throws {InputError} If it cannot be reached, or is no MCP server.
 */
export async function connectTo(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { seconds, answers }: ServerOptions,
): Promise<Connection> {
  const name = addressName(url, headers);
  const library = await loadClient(name);
  const transport = new library.StreamableHTTPClientTransport(url, {
    requestInit: { headers },
    fetch: (input, init) => fetch(input, { ...init, ...CONNECTIONS }),
  });
  const client = clientOf(library, "auto", answers);
  let dropped: unknown;
  client.onerror = (error) => dropped = error;
  const close = async () => {
    const ending = transport.terminateSession().catch(() => {});
    await inTime(() => ending, { timeout: END_SESSION, outOfTime: () => undefined }).catch(
      () => {},
    );
    await client.close();
  };
  const connection = new Connection(name, client, { seconds, dropped: () => dropped, close });
  await begin(client, transport, connection, seconds);
  return connection;
}

/** Returns what messages call a server on the web, once its secrets are known. */
export function addressName(url: URL, headers: Readonly<Record<string, string>>): string {
  registerSecrets(requestSecrets(new Headers(headers), url));
  // Some servers have keys in their paths.
  const end = url.pathname.split("/").filter(Boolean).at(-1) ?? "";
  const where = `${url.origin}/${url.pathname.split("/").length > 2 ? ".../" : ""}${end}`;
  return `the MCP server ${printable(redact(where), MAX_NAME)}`;
}

/** Returns what messages call a program that is a server, once its secrets are known. */
export function programName({ env, command }: Pick<Launch, "env" | "command">): string {
  registerGivenSecrets(env);
  return `the MCP server ${printable(redact(command.map(shellQuote).join(" ")), MAX_NAME)}`;
}

/**
 * Starts a program that is a server.
 *
 * @throws {InputError} If it cannot be started, or is no MCP server.
 */
export async function start(
  program: Launch,
  { seconds, answers }: ServerOptions,
): Promise<Connection> {
  const name = programName(program);
  if ((program.env["PATH"] ?? readVariables(["PATH"])["PATH"]) === undefined) {
    throw cannot(
      "take tools",
      `${name} must get PATH, which needs --allow-env=PATH,HOME`,
      "it is not known",
    );
  }
  const library = await loadClient(name);
  const connected = async (mode: "legacy" | "auto") => {
    // What it writes to standard error is quoted.
    const env = { NO_COLOR: "1", ...program.env };
    const transport = new ProgramTransport({ ...program, env }, library.deserializeMessage);
    const client = clientOf(library, mode, answers);
    let dropped: unknown;
    client.onerror = (error) => dropped = error;
    const connection = new Connection(name, client, {
      ...{ seconds, program: transport, dropped: () => dropped },
      // A client closes no transport whose program has ended.
      close: () => client.close().then(() => transport.close()),
    });
    await begin(client, transport, connection, seconds);
    return connection;
  };
  try {
    return await connected("legacy");
  } catch (error) {
    const [word = ""] = program.command;
    if (codeOf((error as Error).cause) === "ENOENT" && /\s/.test(word.trim())) {
      throw cannot("take tools", `${name} is not there, and arguments go into args`);
    }
    // A server of before may end when it is asked for its versions: only one that refuses the usual one is.
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

/** Variables of this process that a program gets, as hosts of MCP have it. */
const INHERITED = [
  ...["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"],
  ...["APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "USERNAME"],
  ...["PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432"],
  ...["SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERPROFILE", "WINDIR"],
];

/** The connection to a program. */
class ProgramTransport implements Transport {
  /** Is called once the program's output has ended. */
  onclose?: () => void;
  /** Is called with what could not be read. */
  onerror?: (error: Error) => void;
  /** Is called with each message. */
  onmessage?: (message: JSONRPCMessage) => void;
  /** The end of what the program wrote to standard error. */
  errors = "";
  /** How the program ended, such as `exit code 1`; empty while it runs. */
  end = "";

  /** The beginning of a line, and its bytes. */
  #pieces: Uint8Array[] = [];
  #size = 0;
  #group: ProcessGroup | undefined;
  /** Resolves once its output has been read to the end. */
  #closed: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;

  /** Starts nothing yet; `readMessage` reads a line. */
  constructor(
    readonly program: Launch,
    readonly readMessage: (line: string) => JSONRPCMessage,
  ) {}

  /** Starts the program. */
  async start(): Promise<void> {
    const { env, ...program } = this.program;
    const group = await startGroup({ ...program, env: { ...readVariables(INHERITED), ...env } });
    this.#group = group;
    const { stdin, stdout, stderr } = group.child;
    this.#writer = stdin.getWriter();
    const [output, errors] = [stdout.getReader(), stderr.getReader()];
    const decoder = new TextDecoder();
    const answering = each(output, (bytes) => this.#read(bytes));
    const reading = each(errors, (bytes) => {
      this.errors = (this.errors + decoder.decode(bytes, { stream: true })).slice(-MAX_ERRORS);
    });
    group.ended.then(({ code, signal }) => this.end = signal ?? `exit code ${code}`);
    this.#closed = (async () => {
      // A program that left the group may hold both open.
      await Promise.race([answering, group.ended.then(() => within(GRACE, answering))]);
      // What it wrote last, and how it ended, say why.
      await within(GRACE, Promise.all([reading, group.ended]));
      await Promise.all([output.cancel(), errors.cancel()]);
      this.onclose?.();
    })();
  }

  /** Sends a message. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closing !== undefined) throw new Error("Not connected");
    const bytes = new TextEncoder().encode(`${jsonText(message)}\n`);
    // The end of its output shows that it has ended.
    await this.#writer!.write(bytes).catch(() => {});
  }

  /** Ends the input of the program, by which it should end, and then all that it started. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const group = this.#group;
    if (group === undefined) return;
    this.#writer!.close().catch(() => {});
    await within(GRACE, group.ended);
    await group.end();
    await this.#closed;
  }

  /** Takes a piece of the output; a line is put together once it is whole, as it may come in very many. */
  #read(bytes: Uint8Array): void {
    let from = 0;
    for (let end; (end = bytes.indexOf(LINE_BREAK, from)) !== -1; from = end + 1) {
      this.#readLine(concatBytes([...this.#pieces, bytes.subarray(from, end)]));
      this.#pieces = [];
      this.#size = 0;
    }
    this.#pieces.push(bytes.subarray(from));
    this.#size += bytes.length - from;
    if (this.#size <= MAX_MESSAGE) return;
    this.#pieces = [];
    this.onerror?.(new Error(`a message of more than ${MAX_MESSAGE} bytes`));
    this.close();
  }

  /** Takes a message. */
  #readLine(bytes: Uint8Array): void {
    const line = new TextDecoder().decode(bytes);
    try {
      if (!isShallowText(line)) throw new Error("a message that nests too deep");
      this.onmessage?.(this.readMessage(line));
    } catch (error) {
      // Servers print other things, too.
      if (!(error instanceof SyntaxError)) this.onerror?.(error as Error);
    }
  }
}

/** Calls a function with each piece of a stream. */
async function each(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  for (let read = await reader.read(); !read.done; read = await reader.read()) take(read.value);
}
