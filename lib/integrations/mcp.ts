/**
 * Tools of servers of the Model Context Protocol (`npm:@modelcontextprotocol/client`) as toolgate's.
 * @module
 */

import { z } from "zod";
import { cannot, InputError, isErrorOf } from "../base/errors.ts";
import { FUNCTION, parseWith } from "../base/input.ts";
import { defined, isObject, type JsonObject, printable } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { tool } from "../tools/define_tool.ts";
import { providerNames } from "../tools/provider_names.ts";
import { returnCheck } from "../tools/schema/returns.ts";
import { RESULT, SERVED, type StoppableTool, type ToolCallOptions } from "../tools/tool.ts";
import { recordedSource } from "../models/recordings/sources.ts";
import type { McpAnswers } from "./mcp/_client.ts";
import {
  addressName,
  Connection,
  connectTo,
  type McpClient,
  programName,
  type ServerOptions,
  start,
} from "./mcp/_connection.ts";
import { LIST, type Named, readListed } from "./mcp/_content.ts";

export type { McpAnswers, McpClient };

/** A program that is an MCP server on its standard input and output. */
export interface McpCommand {
  /** The program, as hosts' files have it: the program alone, or the program with its arguments. */
  readonly command: string | readonly string[];
  /** Further arguments. */
  readonly args?: readonly string[];
  /** Variables of its environment, besides the few that it inherits. Values whose names say that they are secrets are kept out of all results. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder that it runs in; default: that of the process. */
  readonly cwd?: string;
}

/** An MCP server on the web (Streamable HTTP). */
export interface McpAddress {
  /** Its address. */
  readonly url: string | URL;
  /** Headers of all requests, such as one with a key. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An MCP server: a program with its arguments, an address, an entry of `mcpServers` in the files of hosts, or a
 * client.
 */
export type McpServer = readonly string[] | string | URL | McpCommand | McpAddress | McpClient;

/** Options of {@linkcode mcpTools}. */
export interface McpToolsOptions extends McpAnswers {
  /** The names of the tools to take, as the server has them; default: all. */
  readonly tools?: readonly string[];
  /**
   * Seconds that the server may take to start, and to answer a request; default 50. Each sign of progress begins them
   * anew, up to ten times as long in all. Where a function makes the tools for each trial, they have 60 to start whatever
   * this says.
   */
  readonly seconds?: number;
  /** As in `tool()`: whether patterns are run that no linear engine can express. */
  readonly unsafePatterns?: boolean;
}

/** The tools of an MCP server, which ends when they are disposed of. */
export interface McpTools extends Array<StoppableTool>, AsyncDisposable {
  /** What the server says about their use; omitted if it says nothing. */
  readonly instructions?: string;
}

/**
 * Starts or reaches an MCP server, and returns its tools: for `toolTest()`, perturbations and faults. Each offers the
 * server's name, description and schema; `_` stands for characters of a name that providers refuse, as in `db_query`
 * for `db.query`. Arguments are checked before they are sent. The result is the content as text, with a note in place of
 * images and the like, of which images and audio reach models whose entries have `takes`; structured content where there
 * is no other. `isError` is an error of the tool, and so is structured content that is not what its `outputSchema`
 * declares.
 *
 * With `tools: () => mcpTools(server)` each trial has a server of its own, which ends with it. A server that ends, or
 * does not answer in time, makes the trial `invalid`.
 *
 * @throws {InputError} If the server cannot be started or reached, is none, or lacks one of `tools`.
 *
 * @example Usage
 * ```ts
 * import { mcpTools } from "@toolgate/toolgate/integrations/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * // Usually: toolTest("...", { tools: () => mcpTools(["npx", "-y", "@modelcontextprotocol/server-memory"]), ... })
 * const client = {
 *   listTools: () =>
 *     Promise.resolve({ tools: [{ name: "db.query", inputSchema: { type: "object" } }] }),
 *   callTool: ({ name }: { readonly name: string }) =>
 *     Promise.resolve({ content: [{ type: "text", text: `one row of ${name}` }] }),
 *   getInstructions: () => undefined,
 * };
 * await using tools = await mcpTools(client);
 * assertEquals(tools.map(({ name }) => name), ["db_query"]);
 * assertEquals(await tools[0]!.execute({}), "one row of db.query");
 * ```
 */
export async function mcpTools(
  server: McpServer,
  options: McpToolsOptions = {},
): Promise<McpTools> {
  parseWith(OPTIONS, options, "the options of mcpTools");
  const { tools: wanted, seconds = 50, unsafePatterns, ...answers } = options;
  const { name, key, connect: begin } = reachedBy(server, { seconds, answers: defined(answers) });
  let connecting: Promise<Connection> | undefined;
  // A replay needs none, unless a test has state.
  const connect = () => connecting ??= begin();
  const ask = async () => {
    const connection = await connect();
    return { tools: await connection.list(), instructions: connection.instructions };
  };
  const dispose = async () => {
    const connection = await connecting?.catch(() => {});
    await connection?.[Symbol.asyncDispose]();
  };
  try {
    const what = `the tools of ${name}`;
    const said = await (key === undefined ? ask() : recordedSource(what, key, ask));
    const { tools: listed, instructions } = parseWith(LIST, said, what);
    const known = listed.map(({ name }) => name);
    const absent = wanted?.find((name) => !known.includes(name));
    if (absent !== undefined) {
      throw cannot(
        "take tools",
        `${name} must have them`,
        `it has no ${printable(absent, 80)}${nearestOrAll(absent, known)}`,
      );
    }
    const names = providerNames(known);
    const tools = listed.flatMap((one, place) =>
      wanted?.includes(one.name) ?? true
        ? [ownTool({ name, connect, dispose }, one, names[place]!, { unsafePatterns })]
        : []
    );
    return Object.assign(tools, { [Symbol.asyncDispose]: dispose, instructions });
  } catch (error) {
    await dispose();
    throw error;
  }
}

/**
 * Returns the tools of a server by what it has listed, without the server: for `toolGraph()` and chains, whose worlds
 * answer their calls. A call of one elsewhere fails.
 *
 * @param list What the server answered to `tools/list`: the result, or its list of tools.
 * @throws {InputError} If it is no such list.
 *
 * @example Usage
 * ```ts
 * import { listedTools } from "@toolgate/toolgate/integrations/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * const tools = await listedTools([{ name: "db.query", inputSchema: { type: "object" } }]);
 * assertEquals(tools.map(({ name }) => name), ["db_query"]);
 * ```
 */
export async function listedTools(list: unknown): Promise<McpTools> {
  const said = parseWith(LIST, Array.isArray(list) ? { tools: list } : list, "the list of tools");
  return await mcpTools({
    listTools: () => Promise.resolve(said),
    callTool: ({ name }) => {
      throw new Error(`Tool ${printable(name, 80)} has no server here: only its list was read`);
    },
    getInstructions: () => undefined,
  });
}

/**
 * Returns a tool of a server under a name that providers accept.
 *
 * @throws {InputError} If one of its schemas cannot be used.
 */
function ownTool(
  server: { name: string; connect: () => Promise<Connection>; dispose: () => Promise<void> },
  named: Named,
  name: string,
  options: { readonly unsafePatterns?: boolean },
): StoppableTool {
  try {
    const listed = readListed(named);
    const { title, description, inputSchema, outputSchema, annotations } = listed;
    // What it declares of its result is checked, but no host shows it to a model.
    const check = returnCheck({ name, returns: outputSchema, ...options });
    const own = tool({
      ...{ name, title, description, inputSchema },
      annotations,
      ...options,
      execute: async (input: JsonObject, callOptions: ToolCallOptions) =>
        (await server.connect()).call(listed, input, { ...callOptions, check }),
    });
    // Lists are filtered and joined, so that each tool ends the server that it needs.
    const value = server.dispose;
    return Object.defineProperty(
      Object.assign(
        own,
        { [SERVED]: true as const },
        outputSchema && {
          [RESULT]: () => outputSchema,
        },
      ),
      Symbol.asyncDispose,
      { value, enumerable: false },
    );
  } catch (error) {
    if (!isErrorOf(error, InputError)) throw error;
    throw cannot(
      `take tool ${printable(named.name, 80)} of ${server.name}`,
      `its schemas must be ones that can be checked, or the option tools must leave it out`,
      printable(error.message, 500),
    );
  }
}

const OPTIONS = z.strictObject({
  tools: z.array(z.string()).optional(),
  seconds: z.number().gt(0).max(86_400).optional(),
  unsafePatterns: z.boolean().optional(),
  elicitation: FUNCTION.optional(),
  sampling: FUNCTION.optional(),
  roots: z.array(z.union([z.string(), z.instanceof(URL)])).optional(),
});

const TEXTS = z.record(z.string(), z.string()).default({});
const WORD = z.string().min(1);

/** A server as hosts' files have it, which may name its transport. */
const COMMAND = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.union([WORD.transform((word) => [word]), z.array(z.string()).min(1)]),
  args: z.array(z.string()).default([]),
  env: TEXTS,
  cwd: WORD.optional(),
}).transform(({ command: [program, ...first], args, ...others }) => ({
  ...others,
  command: [program!, ...first, ...args] as const,
}));
const ADDRESS = z.strictObject({
  type: z.enum(["http", "streamable-http"]).optional(),
  url: z.union([z.string(), z.instanceof(URL)]).transform((url) => URL.parse(url))
    .refine(
      (url) => url?.protocol === "http:" || url?.protocol === "https:",
      'must be an address that begins with http; a program is a list, as ["npx", "-y", "server"]',
    ),
  headers: TEXTS,
});

/** How a server is reached, however it is given; a client of the user's own has no key, and is always asked. */
function reachedBy(server: McpServer, options: ServerOptions): {
  readonly name: string;
  readonly key?: string;
  readonly connect: () => Promise<Connection>;
} {
  if (isObject(server) && "callTool" in server && "listTools" in server) {
    if ("setRequestHandler" in server && !("setVersionNegotiation" in server)) {
      throw cannot(
        "take tools",
        "a client must be one of npm:@modelcontextprotocol/client from version 2 on",
        "this one is older",
      );
    }
    const [answer] = Object.keys(options.answers);
    if (answer !== undefined) {
      throw cannot(
        "take tools",
        "a client answers its server by itself",
        `the option ${printable(answer, 80)} is given`,
      );
    }
    const name = "the MCP server of the client";
    return { name, connect: () => Promise.resolve(new Connection(name, server, options)) };
  }
  const given = typeof server === "string" || server instanceof URL
    ? { url: server }
    : Array.isArray(server)
    ? { command: server }
    : server;
  const source = "the MCP server";
  if (!isObject(given) || !("url" in given)) {
    const program = parseWith(COMMAND, given, source);
    // Another machine has the same program elsewhere.
    const words = program.command.map((word) =>
      word.replace(/^(?:file:|[A-Z]:)?[/\\].*[/\\]/i, "")
    );
    return {
      name: programName(program),
      key: JSON.stringify(words),
      connect: () => start(program, options),
    };
  }
  const { url, headers } = parseWith(ADDRESS, given, source);
  return {
    name: addressName(url!, headers),
    key: url!.origin + url!.pathname,
    connect: () => connectTo(url!, headers, options),
  };
}
