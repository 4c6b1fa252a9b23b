/** Clients of MCP without a library: they send what no library lets through, as some hosts do. */

import { type JsonObject, type JsonValue, parseJson } from "../../../lib/base/json.ts";
import type { Agent } from "../../../lib/trials/own_agent.ts";
import { saidIn } from "./agent.ts";

/** The result of a call. */
export interface McpResult {
  readonly text: string;
  readonly isError: boolean;
}

/** An MCP server, as its clients use it. */
export interface McpServer {
  readonly ask: (method: string, params?: JsonObject) => Promise<JsonObject>;
  readonly call: (name: string, given?: JsonValue) => Promise<McpResult>;
}

/** Returns the server at an address. */
export function mcpServer(url: string): McpServer {
  let id = 0;
  const ask = async (method: string, params: JsonObject = {}) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
    });
    const text = await response.text();
    const { result, error } = JSON.parse(/^data:(.*)$/m.exec(text)?.[1] ?? text);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  return {
    ask,
    async call(name, given) {
      const params = { name, ...(given === undefined ? {} : { arguments: given }) };
      const { content, isError } = await ask("tools/call", params);
      const [{ text }] = content as unknown as [{ readonly text: string }];
      return { text, isError: isError === true };
    },
  };
}

interface Call {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * Returns an agent that offers its model the functions of the server, with a prefix before their names, and one of its
 * own. Arguments that cannot be read it refuses itself, as hosts do.
 */
export function mcpHost(prefix: string): Agent {
  return async (task, { mcpURL, fetch, baseURL, model }) => {
    const server = mcpServer(await mcpURL());
    const listed = (await server.ask("tools/list"))["tools"] as JsonObject[];
    const tools = [
      ...listed.map(({ name, description, inputSchema }) => ({
        type: "function",
        function: {
          name: `${prefix}${name}`,
          ...{ description: description!, parameters: inputSchema! },
        },
      })),
      { type: "function", function: { name: "bash", parameters: { type: "object" } } },
    ];
    const messages: unknown[] = saidIn(task);
    while (true) {
      const response = await fetch(`${baseURL}/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model, messages, tools }),
      });
      const { choices: [{ message }], error } = await response.json().then((body) => ({
        choices: [{}],
        ...body,
      }));
      if (error !== undefined) throw new Error(error.message);
      messages.push(message);
      if (message.tool_calls === undefined) return message.content;
      for (const { id, function: { name, arguments: written } } of message.tool_calls as Call[]) {
        const given = parseJson(written);
        const content = given === undefined
          ? "The arguments cannot be read"
          : name === "bash"
          ? "done"
          : (await server.call(name.startsWith(prefix) ? name.slice(prefix.length) : name, given))
            .text;
        messages.push({ role: "tool", tool_call_id: id, content });
      }
    }
  };
}
