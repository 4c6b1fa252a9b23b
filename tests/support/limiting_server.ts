/**
 * A server of simulated models that refuses what is too much for it.
 */

import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";

/** What it refuses, with status 429. */
export interface ServerLimits {
  /** Requests beyond this number at the same time. */
  atOnce?: number;
  /** All requests after this number of replies. */
  replies?: number;
  /** Headers of a refusal, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Milliseconds that a reply takes. */
  latency?: number;
}

/** A running server. */
export interface LimitingServer extends AsyncDisposable {
  readonly url: string;
  /** What holds at present. */
  readonly limits: ServerLimits;
  readonly replied: number;
  readonly refused: number;
  readonly mostAtOnce: number;
  /** Requests for the first reply of a trial that were replied to, by its first message. */
  readonly begun: ReadonlyMap<string, number>;
  /** Resolves as soon as a condition holds after a request. */
  until(condition: () => boolean): Promise<void>;
}

/** Serves the simulated planner, whatever a request names. */
export function limitingServer(limits: ServerLimits): LimitingServer {
  const model = parseSimulatedModel("sim:planner");
  const begun = new Map<string, number>();
  const waiting = new Set<{ condition: () => boolean; resolve: () => void }>();
  const counts = { replied: 0, refused: 0, mostAtOnce: 0, atOnce: 0 };
  const tell = () => {
    for (const one of waiting) if (one.condition()) one.resolve();
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const asked: ChatRequest = await request.json();
    const { atOnce = Infinity, replies = Infinity, headers = {}, latency = 0 } = limits;
    if (counts.atOnce >= atOnce || counts.replied + counts.atOnce >= replies) {
      counts.refused++;
      tell();
      return Response.json({ error: { message: "Slow down" } }, { status: 429, headers });
    }
    counts.mostAtOnce = Math.max(counts.mostAtOnce, ++counts.atOnce);
    if (asked.messages.length === 1) {
      const prompt = String(asked.messages[0]!.content);
      begun.set(prompt, (begun.get(prompt) ?? 0) + 1);
    }
    await new Promise((resolve) => setTimeout(resolve, latency));
    counts.atOnce--;
    counts.replied++;
    tell();
    return Response.json({ ...model.reply(asked), model: asked.model });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    limits,
    begun,
    get replied() {
      return counts.replied;
    },
    get refused() {
      return counts.refused;
    },
    get mostAtOnce() {
      return counts.mostAtOnce;
    },
    until(condition) {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (condition()) resolve();
      else waiting.add({ condition, resolve });
      return promise;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
