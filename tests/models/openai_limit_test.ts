// Replies that are too long: none is read to its end, however it comes.

import { assertEquals, assertGreater, assertLess, assertMatch } from "@std/assert";
import { openai } from "../../lib/models/openai/openai.ts";
import { deno, ROOT } from "../support/child.ts";
import {
  asked,
  completion,
  KEY,
  rawHead,
  serversOf,
  whole,
  WIRES,
} from "../support/wire_servers.ts";

const MiB = 2 ** 20;
const LIMIT = 16 * MiB;
const PIECE = new Uint8Array(64 * 1024).fill(" ".charCodeAt(0));

/** A server whose bodies come in pieces, of unknown length; it tells how many bytes it got rid of. */
function pouring(bytes: number, begin = "", more: ResponseInit = {}) {
  const poured: number[] = [];
  const cancelled = Promise.withResolvers<void>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    await request.body?.cancel();
    const place = poured.push(0) - 1;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        if (begin !== "") controller.enqueue(new TextEncoder().encode(begin));
      },
      pull(controller) {
        if (poured[place]! >= bytes) return controller.close();
        poured[place]! += PIECE.length;
        controller.enqueue(PIECE);
      },
      cancel: () => cancelled.resolve(),
    });
    return new Response(body, { headers: { "content-type": "application/json" }, ...more });
  });
  const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
  return {
    poured,
    cancelled: cancelled.promise,
    model: () => openai({ model: "parrot", baseURL, apiKey: KEY, retries: 0 }),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function refusal(reply: Promise<unknown>) {
  const error = await reply.then(() => undefined, (error) => error);
  assertEquals([error?.name, error?.retryable], ["InfrastructureError", true]);
  return String(error.message);
}

/** A text, packed. */
async function packed(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

for (const { api, hello } of WIRES) {
  const { serving, breaking } = serversOf(api);

  Deno.test(`openai() by ${api} reads no body that is announced as too long, and asks again`, async () => {
    // Nothing follows: whoever waited for it would wait for ever.
    await using server = breaking(
      { bytes: rawHead(LIMIT + 1), stall: true },
      whole(JSON.stringify(hello())),
    );
    assertEquals((await server.model().reply(asked())).text, "hello");
  });

  Deno.test(`openai() by ${api} says that a body is too long`, async () => {
    await using server = breaking({ bytes: rawHead(20 * MiB), stall: true });
    assertMatch(
      await refusal(server.model({ retries: 1 }).reply(asked())),
      /^Cannot get a reply of parrot at 127.0.0.1:\d+: a body must not exceed 16777216 bytes: 20971520 bytes are announced \(2 attempts\)$/,
    );
  });

  Deno.test(`openai() by ${api} takes a packed body by what it holds`, async () => {
    const sound = JSON.stringify(hello());
    const bodies = await Promise.all(
      [sound + " ".repeat(20 * MiB), sound, sound + " ".repeat(LIMIT - sound.length)].map(packed),
    );
    assertLess(bodies[0]!.length, 100_000);
    await using server = serving(...bodies.map((body) => () =>
      new Response(body, {
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      })
    ));
    assertMatch(
      await refusal(server.model({ retries: 0 }).reply(asked())),
      /must not exceed 16777216 bytes: more than that came/,
    );
    for (const _ of [1, 2]) {
      assertEquals((await server.model({ retries: 0 }).reply(asked())).text, "hello");
    }
  });
}

Deno.test("openai() stops reading a body without a length as soon as too much has come", async () => {
  await using server = pouring(Infinity, JSON.stringify(completion()));
  assertMatch(await refusal(server.model().reply(asked())), /more than that came/);
  await server.cancelled;
  // What the sockets hold is on top of what was read.
  assertLess(server.poured[0]!, LIMIT + 16 * MiB);
});

Deno.test("openai() stops reading the body of an error as soon as too much has come", async () => {
  await using server = pouring(Infinity, '{"error":', { status: 503 });
  assertMatch(await refusal(server.model().reply(asked())), /more than that came/);
  await server.cancelled;
});

Deno.test("openai() reads bodies without a length up to the limit", async () => {
  const sound = JSON.stringify(completion());
  await using server = pouring(8 * MiB, sound);
  assertEquals((await server.model().reply(asked())).text, "hello");
  assertGreater(server.poured[0]!, 8 * MiB - 1);
  // The piece that goes over it is the one that is too much.
  await using over = pouring(LIMIT, sound);
  assertMatch(await refusal(over.model().reply(asked())), /more than that came/);
});

// Bodies in very small pieces: what they take is bounded by what they hold.

/** A program that asks a model once, and prints the reply and the most memory it ever had, in MiB. */
const ASKING = `
const { openai } = await import("file://${ROOT}/mod.ts");
const model = openai({ model: "parrot", baseURL: Deno.args[0], apiKey: "none", retries: 0 });
const context = { trial: "t", repetition: 1, request: 1 };
const { text } = await model.reply({ messages: [], tools: [], context });
const [, peak] = /^VmHWM:\\s*(\\d+) kB$/m.exec(Deno.readTextFileSync("/proc/self/status"));
console.log(JSON.stringify({ text, peak: peak / 1024 }));
`;

/** What the program prints when the body begins with so many spaces, each sent as a chunk of its own. */
async function askedInPieces(spaces: number): Promise<{ text: string; peak: number }> {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const answering = async () => {
    using connection = await listener.accept();
    connection.setNoDelay(true);
    await connection.read(new Uint8Array(65_536));
    const send = async (text: string) => {
      for (let bytes = new TextEncoder().encode(text); bytes.length > 0;) {
        bytes = bytes.subarray(await connection.write(bytes));
      }
    };
    await send(
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    for (let sent = 0; sent < spaces; sent++) await send("1\r\n \r\n");
    const body = JSON.stringify(completion());
    await send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  };
  const url = `http://127.0.0.1:${listener.addr.port}/v1`;
  const [{ stdout, all }] = await Promise.all([
    deno(["eval", "--no-check", "--config=deno.json", ASKING, url]),
    answering(),
  ]);
  assertMatch(stdout, /^\{"text":/, all);
  return JSON.parse(stdout);
}

Deno.test("openai() takes memory for what it receives, and none for the number of pieces", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  const whole = await askedInPieces(0);
  // A buffer for each piece would be above 1 GiB.
  const pieces = await askedInPieces(20_000);
  assertEquals([whole.text, pieces.text], ["hello", "hello"]);
  assertLess(pieces.peak, whole.peak + 150);
});
