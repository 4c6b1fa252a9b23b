/**
 * Servers of `node:http` that answer as those of `fetch` do.
 * @module
 */

import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { Handle, Server } from "./_types.ts";

/**
 * Starts a server.
 *
 * @throws If it cannot listen.
 */
export async function serve(
  handle: Handle,
  { hostname, port }: { readonly hostname: string; readonly port: number },
): Promise<Server> {
  const { createServer } = await import("node:http");
  const { Readable } = await import("node:stream");
  const { pipeline } = await import("node:stream/promises");
  let isRef = true;
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) gone.abort();
      if (!server.listening) server.closeIdleConnections();
    });
    const request = requestOf(incoming, gone.signal);
    const { status, headers, body } = request === undefined
      ? new Response(null, { status: 400 })
      : await handle(request);
    outgoing.statusCode = status;
    outgoing.setHeaders(headers);
    if (!server.listening) outgoing.setHeader("connection", "close");
    if (body === null) outgoing.end();
    else {
      outgoing.flushHeaders();
      // Who went away misses nothing; a body that breaks off breaks the connection off.
      await pipeline(Readable.fromWeb(body as WebStream), outgoing).catch(() => {});
    }
    // What nobody reads would keep the next request waiting.
    incoming.resume();
  });
  // Clients keep connections, and would find some closed that they have just chosen.
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => void (isRef || socket.unref()));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, resolve);
  });
  const finished = new Promise<void>((resolve) => server.once("close", resolve));
  return {
    ...{ port: (server.address() as AddressInfo).port, finished },
    ref: () => void (isRef = true, server.ref()),
    unref: () => void (isRef = false, server.unref()),
    async shutdown() {
      server.close();
      server.closeIdleConnections();
      await finished;
    },
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Returns a request as `fetch` has it; `undefined` for one that has no such form. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "", url = "", headersDistinct, headers: { host } } = incoming;
  try {
    const headers = new Headers();
    for (const [name, values = []] of Object.entries(headersDistinct)) {
      for (const value of values) headers.append(name, value);
    }
    if (method === "GET" || method === "HEAD") {
      return new Request(`http://${host}${url}`, { method, headers, signal });
    }
    const chunks = incoming.iterator({ destroyOnReturn: false });
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(new Uint8Array(value));
      },
      async cancel() {
        // Its connection is still needed for the answer.
        await chunks.return?.();
        incoming.resume();
      },
    });
    return new Request(
      `http://${host}${url}`,
      { method, headers, signal, body, duplex: "half" } as RequestInit,
    );
  } catch {
    return undefined;
  }
}
