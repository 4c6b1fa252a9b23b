import { assertEquals, assertRejects } from "@std/assert";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { boundedFetch } from "../../lib/base/bounded_fetch.ts";

Deno.test("boundedFetch() unpacks what a server packs unasked, sends nothing once its signal has aborted, and takes small chunks", async () => {
  const text = new TextEncoder().encode("hello");
  const packed = new Map<string, Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>>([
    ["br", new Uint8Array(brotliCompressSync(text))],
    ["deflate", new Uint8Array(deflateSync(text))],
    ["GZIP", new Uint8Array(gzipSync(text))],
    ["IDENTITY", text],
    ["", ReadableStream.from([...text].map((byte) => Uint8Array.of(byte)))],
    ["constructor", text],
  ]);
  const names: string[] = [];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const name = await request.text();
      names.push(name);
      return new Response(packed.get(name), { headers: { "content-encoding": name } });
    },
  );
  const ask = async (body: string, signal?: AbortSignal) => {
    const url = `http://127.0.0.1:${server.addr.port}/`;
    const answer = await boundedFetch()(url, { method: "POST", body, signal: signal ?? null });
    return await answer.text();
  };
  const all = await Promise.all([...packed.keys()].map((name) => ask(name).catch(String)));
  assertEquals(all, [
    ...Array(5).fill("hello"),
    "TypeError: it is packed as constructor, which nobody asked for",
  ]);
  const reason = new Error("over");
  assertEquals(await assertRejects(() => ask("br", AbortSignal.abort(reason))), reason);
  assertEquals(names.length, packed.size);
});
