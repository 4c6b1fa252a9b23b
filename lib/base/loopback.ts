/**
 * Loopback servers, at addresses that nobody can guess: one for the agents of all trials that are under way, with an
 * address for each, and others for what a browser is shown.
 * @module
 */

import { isGranted, serve, type Server } from "#runtime";
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
let running: Promise<Server> | undefined;

/**
 * Opens an address, with the server if it is the first.
 *
 * @throws If the server cannot start.
 */
export async function openAddress(handler: Handler): Promise<Address> {
  const token = newToken();
  if (!mayListen()) return { url: `${NOWHERE}/${token}`, token, ...NOTHING_TO_CLOSE };
  handlers.set(token, handler);
  const starting = running ??= start(handlers);
  const close = async () => {
    handlers.delete(token);
    if (handlers.size > 0 || running !== starting) return;
    running = undefined;
    return await starting;
  };
  const server = await starting.catch(async (error) => {
    await close();
    throw error;
  });
  return {
    url: `http://${HOSTNAME}:${server.port}/${token}`,
    token,
    async [Symbol.asyncDispose]() {
      if (await close() === undefined) return;
      server.stop();
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
export async function openOwnAddress(handler: Handler): Promise<OwnAddress> {
  const token = newToken();
  const server = await start(new Map([[token, handler]]));
  return {
    url: `http://${HOSTNAME}:${server.port}/${token}`,
    get finished() {
      server.ref();
      return server.finished;
    },
    async [Symbol.asyncDispose]() {
      const forget = SYSTEM_CLOCK.after(LAST_ANSWERS, server.stop);
      await server.shutdown();
      forget();
    },
  };
}

/** Whether this process may listen at {@linkcode Address addresses}. */
export function mayListen(): boolean {
  return isGranted({ name: "net", host: HOSTNAME });
}

/** Returns 128 bits that nobody can guess. */
function newToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const NOTHING_TO_CLOSE: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** Starts a server; a lookup by hash tells nothing of how much of a token is right. */
async function start(handlers: ReadonlyMap<string, Handler>): Promise<Server> {
  const server = await serve(async (request) => {
    const [, token = "", rest = ""] =
      /^\/([0-9a-f]+)(\/.*)?$/.exec(new URL(request.url).pathname) ??
        [];
    try {
      return await handlers.get(token)?.(request, rest) ?? new Response(null, { status: 404 });
    } catch {
      // What went wrong is no business of the agent's, and may hold secrets.
      return new Response(null, { status: 500 });
    }
  }, { hostname: HOSTNAME, port: 0 });
  server.unref();
  return server;
}
