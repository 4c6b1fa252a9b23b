/**
 * Page servers: show what this process makes to a browser on this machine, and to nobody else.
 *
 * Any web page may send requests to a loopback server, and any name may be made to lead to it. An address that nobody
 * can guess, the host and the origin of each request are checked; names of what is served are looked up, and never
 * become paths.
 * @module
 */

import { cannot, cannotFile } from "./errors.ts";
import { mayListen, openOwnAddress, type OwnAddress } from "./loopback.ts";

/** What is served under a name. */
export interface Served {
  /** The media type. */
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Whether the body is compressed by gzip; default false. */
  readonly gzip?: boolean;
  /** Changes with the body, which is not sent again to a client that has it; default: it is always sent. */
  readonly tag?: string;
  /** The content security policy; default: nothing may be loaded. */
  readonly policy?: string;
}

/** A running server; its address ends in a slash. */
export type PageServer = OwnAddress;

const ACTION = "serve a page";

/** What every answer says. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Checks that this process may serve pages.
 *
 * @throws {InputError} If it lacks the permission to listen.
 */
export function assertServable(): void {
  if (mayListen()) return;
  throw cannot(ACTION, "Deno was not given the permission to listen: add --allow-net=127.0.0.1");
}

/**
 * Serves what `find` returns for a name, the empty one for the page itself, until it is disposed of.
 *
 * @throws {InputError} If nothing can listen.
 */
export async function servePage(
  find: (name: string) => Promise<Served | undefined>,
): Promise<PageServer> {
  assertServable();
  const address = await openOwnAddress(answer).catch((error) => {
    throw cannotFile(ACTION, error);
  });
  const { origin, host } = new URL(address.url);
  return {
    url: `${address.url}/`,
    get finished() {
      return address.finished;
    },
    [Symbol.asyncDispose]: () => address[Symbol.asyncDispose](),
  };

  async function answer({ method, headers }: Request, path: string): Promise<Response> {
    const isOurs = headers.get("host") === host && (headers.get("origin") ?? origin) === origin;
    if (!isOurs) return refuse(404);
    if (method !== "GET" && method !== "HEAD") return refuse(405, { allow: "GET, HEAD" });
    const served = /^\/[a-z0-9-]*$/.test(path) ? await find(path.slice(1)) : undefined;
    if (served === undefined) return refuse(404);
    const { type, body, gzip, tag, policy } = served;
    const etag: Record<string, string> = tag === undefined ? {} : { etag: `"${tag}"` };
    if (tag !== undefined && headers.get("if-none-match") === etag["etag"]) {
      return refuse(304, etag);
    }
    return new Response(method === "HEAD" ? null : body, {
      headers: {
        ...HEADERS,
        ...etag,
        "content-type": type,
        ...(gzip ? { "content-encoding": "gzip" } : {}),
        ...(policy === undefined
          ? {}
          : { "content-security-policy": `${policy}; frame-ancestors 'none'` }),
      },
    });
  }
}

function refuse(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers: { ...HEADERS, ...headers } });
}
