/**
 * Tools behind HTTP, for tests of those who call them there.
 */

import type { Tool } from "../../lib/tools/tool.ts";
import { toolsHandler } from "../../lib/trials/tap/_tools_over_http.ts";

const TOKEN = "/a-token/tools";

/** A server with the tools below a token. */
export function serve(tools: readonly Tool[]): { readonly url: string } & AsyncDisposable {
  const handle = toolsHandler({ tools });
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    return handle(request, pathname.slice(TOKEN.length));
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}${TOKEN}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export function toolNamed(name: string, execute: Tool["execute"]): Tool {
  return { name, description: "A tool.", parameters: { type: "object" }, execute };
}

/** A tool that gives back its arguments. */
export const echo = (name: string) =>
  toolNamed(name, (input) => Promise.resolve(JSON.stringify(input)));
