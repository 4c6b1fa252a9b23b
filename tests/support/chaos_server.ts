/**
 * A server of simulated models that does all that servers and networks do to those who ask them: see
 * `chaos_faults.ts`. What becomes of a request is drawn by the seed and the request's number.
 *
 * deno run -A tests/support/chaos_server.ts '{"seed": 7}'    serves until its input ends
 */

import { shuffle } from "@std/random";
import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { readResponsesRequest, toResponse } from "../../lib/simulated/_responses.ts";
import { fork } from "../../lib/base/random.ts";
import { CHAOS_KINDS, type ChaosKind, type Exchange } from "./chaos_faults.ts";

/** Options of {@linkcode startChaosServer}. */
export interface ChaosOptions {
  readonly seed: number;
  /** The share of requests that do not get a plain reply; default 0.25. */
  readonly rate?: number;
  /** Kinds that never happen, by name. */
  readonly without?: readonly string[];
  /** Seconds that a busy server asks to wait; default 1. */
  readonly retryAfter?: string;
}

/** What a server has done so far. */
export interface ChaosCounts {
  /** Requests that came in. */
  readonly requests: number;
  /** Times that each kind has happened, by its name. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Connections that came to the host that nobody may ask. */
  readonly elsewhere: number;
  /** What went wrong in the server itself. */
  readonly errors: readonly string[];
}

/** A running server. */
export interface ChaosServer extends AsyncDisposable {
  /** The base URL for clients; below it, `counts` gives the counts. */
  readonly url: string;
  readonly counts: ChaosCounts;
}

/** Milliseconds for which connections are refused while the server restarts. */
const RESTART = 25;

/** Starts a server on the loopback interface. */
export function startChaosServer(
  { seed, rate = 0.25, without = [], retryAfter = "1" }: ChaosOptions,
): ChaosServer {
  const draw = drawer(seed, rate, CHAOS_KINDS.filter(({ name }) => !without.includes(name)));
  const kinds = new Map(CHAOS_KINDS.map(({ name }) => [name, 0]));
  const errors: string[] = [];
  let requests = 0;
  let elsewhere = 0;
  const trap = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const trapping = accepting(trap, (connection) => {
    elsewhere++;
    connection.close();
  });

  let listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr as Deno.NetAddr;
  const open = new Set<Connection>();
  const underWay = new Set<Promise<void>>();
  let closed = false;

  const restart = async () => {
    listener.close();
    for (const connection of open) connection.close();
    await SYSTEM_CLOCK.pause(RESTART);
    if (!closed) listen(Deno.listen({ port, hostname: "127.0.0.1" }));
  };
  const keep = (work: Promise<void>) => {
    const kept = work.catch((error) => {
      errors.push(String(error.stack ?? error));
    }).finally(() => underWay.delete(kept));
    underWay.add(kept);
  };
  const serve = async (connection: Connection) => {
    open.add(connection);
    try {
      for (let request; (request = await connection.request()) !== undefined;) {
        await respond(connection, request);
      }
    } catch (error) {
      // The client may leave at any time.
      if (!isGone(error)) throw error;
    } finally {
      open.delete(connection);
      connection.close();
    }
  };
  const respond = async (connection: Connection, { path, body }: Asked) => {
    if (path === "/v1/counts") {
      return await connection.send(plain(JSON.stringify(counts())));
    }
    // A client looks whether the server is alive.
    if (body === "") return await connection.send(plain("{}"));
    const asked = JSON.parse(body);
    const api = path === "/v1/responses" ? "responses" : "chat";
    const sound = api === "chat" ? chatReply(asked) : responsesReply(asked);
    const exchange: Exchange = {
      retryAfter,
      reply: () => JSON.parse(sound),
      send: (bytes) => connection.send(bytes),
      left: (milliseconds) => connection.left(milliseconds),
      reset: () => connection.close(),
      close: () => connection.closeInOrder(),
      restart: () => keep(restart()),
      elsewhere: `127.0.0.1:${(trap.addr as Deno.NetAddr).port}`,
    };
    const drawn = draw(requests++);
    if (drawn === undefined) return await connection.send(plain(sound));
    kinds.set(drawn.name, kinds.get(drawn.name)! + 1);
    await drawn.happen(exchange);
  };
  const listen = (next: Deno.TcpListener) => {
    listener = next;
    keep(accepting(next, (connection) => keep(serve(new Connection(connection)))));
  };
  const counts = (): ChaosCounts => ({
    requests,
    kinds: Object.fromEntries(kinds),
    elsewhere,
    errors,
  });
  listen(listener);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get counts() {
      return counts();
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      trap.close();
      try {
        listener.close();
      } catch {
        // It is restarting.
      }
      for (const connection of open) connection.close();
      while (underWay.size > 0) await Promise.all(underWay);
      await trapping;
    },
  };
}

/**
 * Draws what becomes of each request: kinds are dealt from a shuffled pack that holds each as often as it
 * weighs, so that none is missing for long.
 */
function drawer(seed: number, rate: number, kinds: readonly ChaosKind[]) {
  const stream = fork(seed, "chaos", "pack");
  const pack: ChaosKind[] = [];
  return (request: number): ChaosKind | undefined => {
    if (kinds.length === 0 || fork(seed, "chaos", request).prng() >= rate) return undefined;
    if (pack.length === 0) {
      const fresh = kinds.flatMap((one) => Array<ChaosKind>(one.weight).fill(one));
      pack.push(...shuffle(fresh, stream));
    }
    return pack.shift();
  };
}

function plain(body: string): string {
  const { length } = new TextEncoder().encode(body);
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

// What is asked was made by toolgate, which this server does not check.
// deno-lint-ignore no-explicit-any
function chatReply(asked: any): string {
  return JSON.stringify(parseSimulatedModel(asked.model).reply(asked));
}

function responsesReply(asked: unknown): string {
  const read = readResponsesRequest(asked, new Map());
  if ("message" in read) throw new Error(`The request was refused: ${read.message}`);
  return JSON.stringify(toResponse(parseSimulatedModel(read.chat.model).reply(read.chat), read));
}

interface Asked {
  readonly path: string;
  readonly body: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A connection that leaves the last byte of each request unread, so that closing it resets it. */
class Connection {
  readonly #tcp: Deno.TcpConn;
  #unread = false;
  #closed = false;

  constructor(tcp: Deno.TcpConn) {
    this.#tcp = tcp;
    tcp.setNoDelay(true);
  }

  /** The next request, `undefined` when there is none. */
  async request(): Promise<Asked | undefined> {
    if (this.#closed || !await this.#readLast()) return undefined;
    // Heads are read in small pieces, so that no body is read to its end with them.
    let bytes = await this.#read(16);
    if (bytes === undefined) return undefined;
    let end = -1;
    while ((end = decoder.decode(bytes).indexOf("\r\n\r\n")) < 0) {
      const more = await this.#read(16);
      if (more === undefined) return undefined;
      bytes = joined(bytes, more);
    }
    const head = decoder.decode(bytes.subarray(0, end));
    const path = head.split(" ")[1]!;
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    if (length === 0) return { path, body: "" };
    let body = bytes.subarray(end + 4);
    if (body.length >= length) throw new Error(`A body of ${length} bytes is too short`);
    const rest = new Uint8Array(length - 1);
    rest.set(body);
    for (let size = body.length; size < rest.length;) {
      const count = await this.#tcp.read(rest.subarray(size));
      if (count === null) return undefined;
      size += count;
    }
    body = rest;
    this.#unread = true;
    // Bodies are JSON objects, whose last byte goes without saying.
    return { path, body: decoder.decode(body) + "}" };
  }

  async send(bytes: Uint8Array | string): Promise<void> {
    const all = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
    for (let sent = 0; sent < all.length;) sent += await this.#tcp.write(all.subarray(sent));
  }

  /** Waits until the client has hung up, at most for this number of milliseconds. */
  async left(milliseconds?: number): Promise<boolean> {
    if (milliseconds !== undefined) {
      await SYSTEM_CLOCK.pause(milliseconds);
      return this.#closed;
    }
    // Clients say nothing more before they are answered.
    if (await this.#readLast()) await this.#read(1);
    return true;
  }

  /** Closes it; with a byte unread this is a reset. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#tcp.close();
  }

  async closeInOrder(): Promise<void> {
    if (this.#closed) return;
    await this.#readLast();
    this.close();
  }

  async #readLast(): Promise<boolean> {
    if (!this.#unread) return true;
    this.#unread = false;
    return await this.#read(1) !== undefined;
  }

  async #read(most: number): Promise<Uint8Array | undefined> {
    const buffer = new Uint8Array(most);
    const count = await this.#tcp.read(buffer);
    return count === null ? undefined : buffer.subarray(0, count);
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/** Takes connections until the listener is closed. */
async function accepting(
  listener: Deno.TcpListener,
  take: (connection: Deno.TcpConn) => void,
): Promise<void> {
  try {
    for await (const connection of listener) take(connection);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function isGone(error: unknown): boolean {
  return [
    Deno.errors.BadResource,
    Deno.errors.BrokenPipe,
    Deno.errors.ConnectionReset,
    Deno.errors.ConnectionAborted,
    Deno.errors.Interrupted,
    Deno.errors.NotConnected,
  ].some((gone) => error instanceof gone);
}

if (import.meta.main) {
  await using server = startChaosServer(JSON.parse(Deno.args[0]!));
  console.log(server.url);
  // Anyone who started it ends it by closing its input, also by dying.
  for await (const _ of Deno.stdin.readable);
}
