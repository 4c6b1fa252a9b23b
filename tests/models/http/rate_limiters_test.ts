import { assert, assertEquals } from "@std/assert";
import { Connections } from "../../../lib/models/connect.ts";
import { type Place, type Throttle, Throttles } from "../../../lib/models/http/rate_limiter.ts";
import { asked, completion } from "../../support/wire_servers.ts";

function place(throttle: Throttle): Place {
  return throttle.enter({}) as Place;
}

Deno.test("Throttles.of() gives one throttle for each model of a server", () => {
  const throttles = new Throttles();
  const one = throttles.of("http://127.0.0.1:8000/v1", "m", {});
  assert(throttles.of("http://127.0.0.1:8000/other", "m", {}) === one);
  assert(throttles.of("http://127.0.0.1:8000/v1", "n", {}) !== one);
  assert(throttles.of("http://127.0.0.1:8001/v1", "m", {}) !== one);
  assert(throttles.of("http://127.0.0.1:8000/v1", "m", { requestsPerMinute: 1 }) !== one);
  for (const odd of ["__proto__", "no URL"]) {
    assert(throttles.of(odd, odd, {}) === throttles.of(odd, odd, {}));
  }
});

Deno.test("Throttles tell once that a model is slowed down, and in the end how often", () => {
  const lines: string[] = [];
  const throttles = new Throttles((line) => lines.push(line));
  const throttle = throttles.of("http://127.0.0.1:8000/v1", "m\n", {});
  throttles.of("http://127.0.0.1:8000/v1", "never asked", {});
  throttle.refused(place(throttle), 90_000);
  assertEquals(lines, [
    "m\\n at 127.0.0.1:8000 refuses requests as they are too many (429), and asks to wait 90 seconds: " +
    "slowing down",
  ]);
  const controller = new AbortController();
  for (let count = 0; count < 3; count++) {
    Promise.resolve(throttle.enter(controller)).catch(() => {});
  }
  controller.abort();
  assertEquals(lines.length, 1);
  throttles.tellWaiting();
  assertEquals(lines.slice(1).map((line) => line.replace(/\d+(\.\d)? seconds?,/, "S,")), [
    "m\\n at 127.0.0.1:8000 refused 1 request; requests waited S, all together",
  ]);
});

Deno.test("Throttles tell once that the limits given hold requests back", () => {
  for (const limit of [{ requestsPerMinute: 1 }, { tokensPerMinute: 1 }]) {
    const lines: string[] = [];
    const throttle = new Throttles((line) => lines.push(line)).of("http://h/v1", "m", limit);
    throttle.succeeded(place(throttle), 1);
    assertEquals(lines, []);
    const controller = new AbortController();
    for (let count = 0; count < 3; count++) {
      Promise.resolve(throttle.enter(controller)).catch(() => {});
    }
    controller.abort();
    assertEquals(lines.map((line) => line.replace(/\d+(\.\d)?/, "N")), [
      "m at h is asked no faster than the limits given allow: the next request begins in N seconds",
    ]);
  }
});

Deno.test("Connections ask a model of a server through one throttle, by whatever name and format", async () => {
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
  const throttles = new Throttles((line) => lines.push(line));
  await using connections = new Connections({ baseURL, throttles, retries: 1 });
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
  const throttle = throttles.of(baseURL, "limited", {});
  assertEquals([throttle.refusals, throttle.underWay, throttle.waiting], [refused, 0, 0]);
  assertEquals(lines.length, 1);
});
