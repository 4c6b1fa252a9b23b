/**
 * Where the tools of `graph` and `init` come from: a document, a list, a module, or a server.
 * @module
 */

import * as paths from "node:path";
import { pathToFileURL } from "node:url";
import { userPath } from "../base/command_line.ts";
import { cannot, isErrorOf, reasonOf } from "../base/errors.ts";
import { readExactly } from "../base/input.ts";
import { isJsonObject, parseJson, printable } from "../base/json.ts";
import type { Tool } from "../tools/tool.ts";

/** What is said of a source on the command line. */
export interface SourceOptions {
  /** Set if the operands are a program with its arguments, which is an MCP server. */
  readonly mcp?: true;
}

/** Tools that were read. */
export interface ToolSource {
  /** What they were read from: `list` is also what a server has listed. */
  readonly kind: "document" | "list" | "module";
  readonly tools: readonly Tool[];
  /** Ends the server, if there is one. */
  readonly close: () => Promise<void>;
}

/**
 * Reads tools from a document of OpenAPI, a list of tools in JSON, a module that exports `tools`, or an MCP server.
 *
 * @throws {InputError} If that cannot be done.
 */
export async function readToolSource(
  operands: readonly string[],
  { mcp }: SourceOptions = {},
): Promise<ToolSource> {
  const close = () => Promise.resolve();
  if (mcp) {
    const { mcpTools } = await import("../integrations/mcp.ts");
    const tools = await mcpTools(operands);
    return { kind: "list", tools, close: async () => await tools[Symbol.asyncDispose]() };
  }
  const [operand = ""] = operands;
  if (/\.[cm]?[jt]sx?$/.test(operand)) {
    return { kind: "module", tools: await toolsOfModule(operand), close };
  }
  const isAddress = /^https?:/.test(operand);
  const text = isAddress ? undefined : readExactly(userPath(operand));
  const value = text === undefined ? undefined : parseJson(text);
  const isList = Array.isArray(value) || isJsonObject(value) && Array.isArray(value["tools"]);
  if (isList) {
    const { listedTools } = await import("../integrations/mcp.ts");
    return { kind: "list", tools: await listedTools(value), close };
  }
  const { openApiTools } = await import("../integrations/openapi.ts");
  // By its address, which messages then name.
  const document = isAddress ? new URL(operand) : pathToFileURL(paths.resolve(userPath(operand)));
  const tools = await openApiTools(document, { operations: "all" });
  return { kind: "document", tools, close };
}

/** Returns what a module of the user's exports as `tools`: a list, or a function that makes it. */
async function toolsOfModule(operand: string): Promise<readonly Tool[]> {
  const refuse = (state: string) =>
    cannot(`use ${printable(operand, 200)}`, "it must export tools, a list or a function", state);
  const exported: { readonly tools?: unknown } = await import(
    pathToFileURL(paths.resolve(userPath(operand))).href
  ).catch((error) => {
    throw isErrorOf(error, TypeError) ? refuse(printable(reasonOf(error), 300)) : error;
  });
  const tools: unknown = typeof exported.tools === "function"
    ? await exported.tools()
    : exported.tools;
  if (!Array.isArray(tools)) throw refuse(`its export tools is ${typeof tools}`);
  return tools;
}
