/**
 * Loopback servers, at addresses that nobody can guess: one for the agents of all trials that are under way, with an
 * address for each, and others for what a browser is shown.
 * @module
 */

import { SYSTEM_CLOCK } from "./clock.ts";

/** Answers a request below an address; `path` is what follows it. */
export type Handler = (request: Request, path: string) => Promise<Response>;

/** An address. */
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
let running: ReturnType<typeof start> | undefined;

/** Opens an address, with the server if it is the first. */
export function openAddress(handler: Handler): Address {
  const token = newToken();
  if (!mayListen()) return { url: `${NOWHERE}/${token}`, token, ...NOTHING_TO_CLOSE };
  handlers.set(token, handler);
  running ??= start(handlers);
  const { server, stop } = running;
  return {
    url: `http://${HOSTNAME}:${server.addr.port}/${token}`,
    token,
    async [Symbol.asyncDispose]() {
      handlers.delete(token);
      if (handlers.size > 0 || running?.server !== server) return;
      running = undefined;
      stop();
      // Nothing else may keep the process alive until it has closed.
      server.ref();
      await server.finished;
    },
  };
}

/** An address with a server of its own. */
export interface OwnAddress extends Omit<Address, "token"> {
  /** Settles when the server has closed. Once it is read, the server keeps the process alive. */
  readonly finished: Promise<void>;
}

/** Milliseconds that answers may take once the server is to close, at most. */
const LAST_ANSWERS = 2_000;

/** Opens an address on a server of its own, which ends once its answers have been sent; {@linkcode mayListen} must hold. */
export function openOwnAddress(handler: Handler): OwnAddress {
  const token = newToken();
  const { server, stop } = start(new Map([[token, handler]]));
  return {
    url: `http://${HOSTNAME}:${server.addr.port}/${token}`,
    get finished() {
      server.ref();
      return server.finished;
    },
    async [Symbol.asyncDispose]() {
      const forget = SYSTEM_CLOCK.after(LAST_ANSWERS, stop);
      await server.shutdown();
      forget();
    },
  };
}

/** Whether this process may listen at {@linkcode Address addresses}. */
export function mayListen(): boolean {
  return Deno.permissions.querySync({ name: "net", host: HOSTNAME }).state === "granted";
}

/** Returns 128 bits that nobody can guess. */
function newToken(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex();
}

const NOTHING_TO_CLOSE: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** Starts a server; a lookup by hash tells nothing of how much of a token is right. */
function start(handlers: ReadonlyMap<string, Handler>) {
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
