import { assert, assertEquals } from "@std/assert";
import { Connections } from "../../../lib/models/connect.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import {
  type Permit,
  RateLimiter,
  RateLimiters,
  type Wait,
} from "../../../lib/models/http/rate_limiter.ts";
import { type Asked, retrying } from "../../../lib/models/http/retry.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { asked, completion } from "../../support/wire_servers.ts";

function place(limiter: RateLimiter): Permit {
  return limiter.enter({}) as Permit;
}

Deno.test("RateLimiters.of() gives one limiter for each model of a server", () => {
  const limiters = new RateLimiters();
  const one = limiters.of("http://127.0.0.1:8000/v1", "m", {});
  assert(limiters.of("http://127.0.0.1:8000/other", "m", {}) === one);
  assert(limiters.of("http://127.0.0.1:8000/v1", "n", {}) !== one);
  assert(limiters.of("http://127.0.0.1:8001/v1", "m", {}) !== one);
  assert(limiters.of("http://127.0.0.1:8000/v1", "m", { requestsPerMinute: 1 }) !== one);
  for (const odd of ["__proto__", "no URL"]) {
    assert(limiters.of(odd, odd, {}) === limiters.of(odd, odd, {}));
  }
});

Deno.test("RateLimiters tell once that a model is slowed down, and in the end how often", () => {
  const lines: string[] = [];
  const limiters = new RateLimiters((line) => lines.push(line));
  const limiter = limiters.of("http://127.0.0.1:8000/v1", "m\n", {});
  limiters.of("http://127.0.0.1:8000/v1", "never asked", {});
  limiter.refused(place(limiter), 90_000);
  assertEquals(lines, [
    "m\\n at 127.0.0.1:8000 refuses requests as they are too many (429), and asks to wait 90 seconds: " +
    "slowing down",
  ]);
  const controller = new AbortController();
  for (let count = 0; count < 3; count++) {
    Promise.resolve(limiter.enter(controller)).catch(() => {});
  }
  controller.abort();
  assertEquals(lines.length, 1);
  limiters.tellWaiting();
  assertEquals(lines.slice(1).map((line) => line.replace(/\d+(\.\d)? seconds?/, "S")), [
    "m\\n at 127.0.0.1:8000 refused 1 request; requests waited S in total",
  ]);
});

Deno.test("RateLimiters tell of long waits for a server, but not while one goes on", async () => {
  const lines: string[] = [];
  const limiter = new RateLimiters((line) => lines.push(line)).of("http://h/v1", "m", {});
  for (const wait of [4_000, 120_000, 60_000]) limiter.tellAsked(wait);
  limiter.tellSilent(30_000);
  assertEquals(lines, [
    "m at h asks to wait 120 seconds before a request is sent again",
    // Tests have an option, and no such flag.
    "m at h has not replied yet, after 30 seconds (requestTimeout, or --request-timeout, limits the wait)",
  ]);

  using clock = new VirtualClock();
  const told: [number, Wait][] = [];
  const own = new RateLimiter({ clock, onWait: (wait, what) => told.push([wait, what]) });
  let busy = true;
  const ask = retrying(async (_: Asked, signal) => {
    await clock.pause(40_000, signal);
    if (!busy) return {};
    busy = false;
    throw new InfrastructureError("503", { retryable: true, retryAfter: 90_000 });
  }, { limiter: own });
  await ask({});
  await ask({});
  // It is silent for long only until it has replied for the first time.
  assertEquals(told, [[30_000, "silent"], [90_000, "asked"]]);
});

Deno.test("RateLimiters tell once that the limits given hold requests back", () => {
  for (const limit of [{ requestsPerMinute: 1 }, { tokensPerMinute: 1 }]) {
    const lines: string[] = [];
    const limiter = new RateLimiters((line) => lines.push(line)).of("http://h/v1", "m", limit);
    limiter.succeeded(place(limiter), 1);
    assertEquals(lines, []);
    const controller = new AbortController();
    for (let count = 0; count < 3; count++) {
      Promise.resolve(limiter.enter(controller)).catch(() => {});
    }
    controller.abort();
    assertEquals(lines.map((line) => line.replace(/\d+(\.\d)?/, "N")), [
      "Requests to m at h are delayed by the given rate limits: the next one begins in N seconds",
    ]);
  }
});

Deno.test("Connections ask a model of a server through one limiter, by whatever name and format", async () => {
  let underWay = 0;
  let refused = 0;
  let most = 0;
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { model } = await request.json();
      if (underWay >= 1 && model === "limited") {
        refused++;
        const headers = { "retry-after-ms": "30" };
        return Response.json({ error: { message: "Slow down" } }, { status: 429, headers });
      }
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 10));
      underWay--;
      return Response.json(completion({ content: "hello" }));
    },
  );
  const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
  const lines: string[] = [];
  const limiters = new RateLimiters((line) => lines.push(line));
  await using connections = new Connections({ baseURL, limiters, retries: 1 });
  const models = [
    connections.model({ model: "limited" }),
    connections.model({ model: "limited", name: "other" }),
    connections.model({ model: "limited", api: "hermes" }),
    connections.model({ model: "limited", baseURL: `${baseURL}/`, temperature: 0 }),
  ];
  const replies = await Promise.all(
    Array.from({ length: 24 }, (_, place) => models[place % 4]!.reply(asked())),
  );
  assertEquals(replies.map(({ text }) => text), replies.map(() => "hello"));
  assertEquals(most, 1);
  const limiter = limiters.of(baseURL, "limited", {});
  assertEquals([limiter.refusals, limiter.underWay, limiter.waiting], [refused, 0, 0]);
  assertEquals(lines.length, 1);
});
