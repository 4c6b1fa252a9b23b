/**
 * Clients of MCP servers, which take what a server sends as it is, and answer what it asks.
 * @module
 */

import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { Client } from "@modelcontextprotocol/client";
import { defined, type JsonObject, printable } from "../../base/json.ts";
import { loadOptional } from "../../base/optional_package.ts";
import { PAGE } from "./_content.ts";

/** What a server may ask its client for, and what it gets. What has no answer here is declined. */
export interface McpAnswers {
  /**
   * Fills in the form that a server asks the user for (`elicitation/create`): gets its `message` and `requestedSchema`,
   * and returns the content; `undefined` declines.
   */
  readonly elicitation?: (
    asked: JsonObject,
  ) => JsonObject | undefined | Promise<JsonObject | undefined>;
  /** Returns the text that a model would write (`sampling/createMessage`): gets `messages`, `systemPrompt` and the like. */
  readonly sampling?: (asked: JsonObject) => string | Promise<string>;
  /** The folders and files that it may work in (`roots/list`): paths, or addresses that begin with `file:`. */
  readonly roots?: readonly (string | URL)[];
}

/** The package of the client. */
export type Library = typeof import("@modelcontextprotocol/client");

/** Loads the client, which only servers need. */
export async function loadClient(name: string): Promise<Library> {
  const packages = ["@modelcontextprotocol/client"];
  const load = () => import("@modelcontextprotocol/client");
  return await loadOptional(`take tools of ${name}`, packages, load);
}

/** The name and version that servers get. */
const OURSELVES = { name: "toolgate", version: "1.0.0" };

/**
 * Results that are checked here, tool by tool and part by part: for one that it does not know, the package refuses
 * them all.
 */
const LENIENT = new Map<string, z.ZodType>(
  Object.entries({ "tools/list": PAGE, "tools/call": z.looseObject({}) }),
);

/** Makes a client that is not connected yet; `mode` says which versions of the protocol it speaks. */
export function clientOf(
  { Client, ProtocolError, ProtocolErrorCode }: Library,
  mode: "legacy" | "auto",
  { elicitation, sampling, roots }: McpAnswers,
): Client {
  const client = new Client(OURSELVES, {
    versionNegotiation: { mode },
    capabilities: defined({
      elicitation: elicitation && {},
      sampling: sampling && {},
      roots: roots && {},
    }),
  });
  const strict: unknown = client.request.bind(client);
  client.request = (request: { readonly method: string }, ...options: unknown[]) => {
    const schema = LENIENT.get(request.method);
    const ask = strict as (...given: unknown[]) => Promise<never>;
    return ask(request, ...(schema === undefined ? [] : [schema]), ...options);
  };
  if (elicitation !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const content = await elicitation(params as unknown as JsonObject);
      return content === undefined
        ? { action: "decline" }
        : { action: "accept", content: content as Record<string, string> };
    });
  }
  if (sampling !== undefined) {
    client.setRequestHandler("sampling/createMessage", async ({ params }) => {
      const text = await sampling(params as unknown as JsonObject);
      return { role: "assistant", model: OURSELVES.name, content: { type: "text", text } };
    });
  }
  if (roots !== undefined) {
    client.setRequestHandler("roots/list", () => ({ roots: roots.map(rootOf) }));
  }
  // Its server passes this on, so that the reader of a trial learns what to do.
  client.fallbackRequestHandler = ({ method }) =>
    Promise.reject(
      new ProtocolError(
        ProtocolErrorCode.MethodNotFound,
        `Declined: no option given to mcpTools() answers ${printable(method, 80)}`,
      ),
    );
  return client;
}

function rootOf(place: string | URL): { readonly uri: string } {
  const uri = place instanceof URL || /^file:/i.test(place) ? place : pathToFileURL(place);
  return { uri: String(uri) };
}
