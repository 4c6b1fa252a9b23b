/**
 * The loopback server of agents: one for all trials that are under way, with an address for each of them that
 * nobody can guess.
 * @module
 */

/** Answers a request below the address of a trial; `path` is what follows it. */
export type Handler = (request: Request, path: string) => Promise<Response>;

/** The address of a trial. */
export interface Address extends AsyncDisposable {
  /** The address, without a slash at its end. */
  readonly url: string;
  /** The part of it that nobody can guess. */
  readonly token: string;
}

const HOSTNAME = "127.0.0.1";
/** Where nothing can listen, only what is sent by the agent's `fetch` arrives: no server of that name exists. */
const NOWHERE = "http://toolgate.invalid";

/** Whether an address is one at which nothing can listen. */
export function isNowhere(url: string): boolean {
  return url.startsWith(`${NOWHERE}/`);
}

const handlers = new Map<string, Handler>();
let running: { readonly server: Deno.HttpServer<Deno.NetAddr>; stop(): void } | undefined;

/** Opens an address, with the server if it is the first. */
export function openAddress(handler: Handler): Address {
  const token = crypto.getRandomValues(new Uint8Array(16)).toHex();
  const { state } = Deno.permissions.querySync({ name: "net", host: HOSTNAME });
  if (state !== "granted") return { url: `${NOWHERE}/${token}`, token, ...NOTHING_TO_CLOSE };
  handlers.set(token, handler);
  running ??= start();
  const { server } = running;
  return {
    url: `http://${HOSTNAME}:${server.addr.port}/${token}`,
    token,
    async [Symbol.asyncDispose]() {
      handlers.delete(token);
      if (handlers.size > 0 || running?.server !== server) return;
      running.stop();
      running = undefined;
      // Nothing else may keep the process alive until it has closed.
      server.ref();
      await server.finished;
    },
  };
}

const NOTHING_TO_CLOSE: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };

function start() {
  const controller = new AbortController();
  const server = Deno.serve({
    ...{ hostname: HOSTNAME, port: 0, signal: controller.signal },
    onListen: () => {},
    // What went wrong is no business of the agent's, and may hold secrets.
    onError: () => new Response(null, { status: 500 }),
  }, async (request) => {
    const [, token = "", rest = ""] =
      /^\/([0-9a-f]+)(\/.*)?$/.exec(new URL(request.url).pathname) ??
        [];
    const handler = handlers.get(token);
    return handler === undefined
      ? new Response(null, { status: 404 })
      : await handler(request, rest);
  });
  server.unref();
  return { server, stop: () => controller.abort() };
}
