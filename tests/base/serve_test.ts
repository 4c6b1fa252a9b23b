import { assertEquals } from "@std/assert";
import * as deno from "../../lib/base/runtime/deno.ts";
import * as node from "../../lib/base/runtime/node.ts";

for (const [name, { serve }] of Object.entries({ deno, node })) {
  Deno.test(`a server reads requests, streams answers, and sees a client go (${name})`, async () => {
    const gone = Promise.withResolvers<void>();
    const server = await serve(async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/wait") {
        request.signal.addEventListener("abort", () => gone.resolve());
        await gone.promise;
      }
      const text = `${request.method} ${pathname} ${request.headers.get("x-a")} ${await request
        .text()}`;
      const stream = new Blob([text]).stream();
      return new Response(stream, { status: 201, headers: { "x-b": "c" } });
    }, { hostname: "127.0.0.1", port: 0 });
    const url = `http://127.0.0.1:${server.port}`;
    const answer = await fetch(`${url}/a`, { method: "POST", body: "é", headers: { "x-a": "1" } });
    assertEquals([answer.status, answer.headers.get("x-b")], [201, "c"]);
    assertEquals(await answer.text(), "POST /a 1 é");
    const stopped = new AbortController();
    const waiting = fetch(`${url}/wait`, { signal: stopped.signal }).catch(({ name }) => name);
    setTimeout(() => stopped.abort(), 20);
    assertEquals(await waiting, "AbortError");
    await gone.promise;
    await server.shutdown();
    await server.finished;
  });
}
