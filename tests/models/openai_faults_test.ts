// The faults that asking a model can have: the same in every wire format.

import {
  assert,
  assertEquals,
  assertGreater,
  AssertionError,
  assertLess,
  assertMatch,
  assertNotMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { InfrastructureError, TimeLimitError } from "../../lib/models/model.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import {
  answering,
  asked,
  completion,
  KEY,
  type Raw,
  rawHead,
  refusedBy,
  serversOf,
  status,
  whole,
  WIRES,
} from "../support/wire_servers.ts";

const head = rawHead(1_000);

/**
 * Tries with a time limit in milliseconds: with longer ones where it was over before the request had reached the
 * server, as others may use the machine.
 */
async function onceReceived(attempt: (limit: number) => Promise<boolean>): Promise<void> {
  for (const limit of [60, 600, 6_000]) if (await attempt(limit)) return;
  throw new AssertionError("The server received no request");
}

for (const { api, replyName, hello, calling } of WIRES) {
  const { serving, breaking } = serversOf(api);
  const test = (
    name: string,
    fn: () => Promise<void>,
    permissions: Deno.PermissionOptions = "inherit",
  ) => Deno.test(name.replace("openai()", `openai() by ${api}`), { permissions }, fn);
  const sound = () => Response.json(hello());
  const SOUND = whole(JSON.stringify(hello()));

  // Replies that cannot be used: each is asked for again, and a sound one then counts.

  for (
    const [what, answer, reason] of [
      ["a call with a name that is no text", answering(calling({ name: 7 })), /name: /],
      ["a call with an id that is an object", answering(calling({ id: {} })), /id: /],
      [
        "the error of a router",
        answering({ ...hello(), error: { message: "upstream died" } }),
        /upstream died/,
      ],
      ["an object of something else", answering({ model: "parrot" }), /at (choices|output): /],
      ["an array", answering([1]), /at the top: /],
      ["a bare JSON string", answering("busy"), /busy/],
      ["JSON null", answering(null), /it is empty/],
      ["an error with status 200", answering({ error: { message: "No GPU" } }), /No GPU/],
      ["plain text", () => new Response("Bad gateway"), /text that is no JSON.*Bad gateway/],
      ["malformed JSON", () => new Response('{"model": ['), /text that is no JSON.*model/],
      [
        "HTML",
        () => new Response("<html>Hi", { headers: { "content-type": "text/html" } }),
        /<html>Hi/,
      ],
      [
        "an empty JSON body",
        () => new Response("", { headers: { "content-type": "application/json" } }),
        /it is empty/,
      ],
      ["no content", () => new Response(null, { status: 204 }), /it is empty/],
    ] as const
  ) {
    test(`openai() retries ${what}, and says why when it keeps getting it`, async () => {
      await using server = serving(answer, answer, answer, sound);
      const error = await refusedBy(server, { retries: 1 });
      assertEquals([error.retryable, server.received.length], [true, 2]);
      assertMatch(error.message, reason);
      assertMatch(
        error.message,
        new RegExp(
          `^Cannot use the (reply of parrot at 127.* must be ${replyName}|answer of parrot at 127.*: it is ` +
            "an error): .*\\(2 attempts\\)$",
        ),
      );
      assertEquals((await server.model().reply(asked())).text, "hello");
      assertEquals(server.received.length, 4);
    });
  }

  // All that follows is the same code for every format.
  if (api !== "chat") continue;

  // Faults of the server.

  test("openai() reports a 429 after its retries", async () => {
    await using server = serving(status(429, { error: { message: "Slow down" } }));
    const error = await refusedBy(server);
    assertEquals([server.received.length, error.retryable], [4, true]);
    assertStringIncludes(error.message, "429 Slow down (4 attempts)");
    assertEquals(error.rateLimited, true);
  });

  for (
    const fault of [
      { code: "insufficient_quota" },
      { type: "insufficient_quota", code: null },
      { code: "billing_hard_limit_reached" },
    ]
  ) {
    test(`openai() asks no more of an account that is out of credit: ${JSON.stringify(fault)}`, async () => {
      const error = { message: "You exceeded your current quota", ...fault };
      await using server = serving(status(429, { error }, { "retry-after": "1" }));
      const { message, retryable, rateLimited } = await refusedBy(server);
      assertEquals([server.received.length, retryable, rateLimited], [1, false, false]);
      assertStringIncludes(
        message,
        "its account has no credit left: 429 You",
      );
    });
  }

  test("openai() waits where a quota is one of the next minute", async () => {
    const error = { message: "You exceeded your current quota, check billing", code: 429 };
    await using server = serving(status(429, { error }), sound);
    assertEquals((await server.model().reply(asked())).text, "hello");
  });

  test("openai() reports an HTML 502 on one line, cut", async () => {
    const page = `<html>\n${"<p>Bad gateway</p>\n".repeat(5_000)}`;
    await using server = serving(() => new Response(page, { status: 502 }));
    const { message } = await refusedBy(server, { retries: 0 });
    assertStringIncludes(message, "502 <html>\\n<p>Bad gateway");
    assertNotMatch(message, /\n/);
    assertLess(message.length, 500);
  });

  test("openai() finds the reason where other servers put it", async () => {
    await using server = serving(status(422, { detail: "No field left" }));
    assertStringIncludes((await refusedBy(server)).message, "No field left");
  });

  test("openai() honours x-should-retry", async () => {
    await using never = serving(status(500, {}, { "x-should-retry": "false" }));
    await refusedBy(never);
    assertEquals(never.received.length, 1);
    await using please = serving(status(400, {}, { "x-should-retry": "true" }), sound);
    assertEquals((await please.model().reply(asked())).text, "hello");
  });

  for (
    const [what, error] of [
      ["code", { message: "Too much", code: "context_length_exceeded" }],
      ["message", { message: "This model's maximum context length is 8192 tokens" }],
    ] as const
  ) {
    test(`openai() says that the context length was exceeded, by the ${what}`, async () => {
      await using server = serving(status(400, { error }, { "x-should-retry": "true" }));
      const fault = await refusedBy(server);
      assertEquals([server.received.length, fault.retryable], [1, false]);
      assertMatch(fault.message, /exceeds its context length: 400 /);
    });
  }

  for (const headers of [{ "retry-after-ms": "150" }, { "retry-after": "0.15" }] as HeadersInit[]) {
    test(`openai() waits as long as ${JSON.stringify(headers)} says`, async () => {
      await using server = serving(status(429, {}, headers), sound);
      const startedAt = performance.now();
      await server.model().reply(asked());
      assertLess(140, performance.now() - startedAt);
    });
  }

  for (
    const headers of [
      { "retry-after": "90" },
      { "retry-after-ms": "90000" },
      { "retry-after": new Date(Date.now() + 300_000).toUTCString() },
      { "retry-after-ms": "90000", "retry-after": "0" },
    ]
  ) {
    test(`openai() waits longer than a minute for ${Object.keys(headers).join(" and ")}`, async () => {
      await using server = serving(status(503, {}, headers as Record<string, string>), sound);
      const controller = new AbortController();
      setTimeout(() => controller.abort(new RangeError("enough")), 150);
      const request = asked({ signal: controller.signal });
      await assertRejects(() => server.model().reply(request), RangeError, "enough");
      assertEquals(server.received.length, 1);
    });
  }

  test("openai() reports how long the server asked to wait", async () => {
    const later = new Date(Date.now() + 3_600_000).toUTCString();
    await using server = serving(status(429, {}, { "retry-after": later }));
    const { retryAfter = 0 } = await refusedBy(server, { retries: 0 });
    assert(retryAfter > 3_500_000 && retryAfter <= 3_600_000, `${retryAfter}`);
  });

  test("openai() does not wait for a date in the past or for nonsense", async () => {
    const past = new Date(0).toUTCString();
    await using server = serving(
      status(429, {}, { "retry-after": past }),
      status(429, {}, { "retry-after": "soon", "retry-after-ms": "x" }),
      sound,
    );
    assertEquals((await server.model().reply(asked())).text, "hello");
  });

  // Faults of the connection.

  for (
    const [what, plan] of [
      ["a connection that closes before the headers", { bytes: "" }],
      ["a connection that closes within the headers", { bytes: head.slice(0, 20) }],
      ["a connection that closes within the body", { bytes: head + '{"model":' }],
      ["a server that talks no HTTP", { bytes: "SSH-2.0-OpenSSH_9.2\r\n" }],
    ] as const
  ) {
    test(`openai() retries ${what}, and gives up in the end`, async () => {
      await using server = breaking(plan, plan, plan, SOUND);
      const error = await refusedBy(server, { retries: 1 });
      assertEquals(error.retryable, true);
      assertMatch(
        error.message,
        /^Cannot get a reply of parrot at 127\.0\.0\.1:\d+: .+ \(2 attempts\)$/,
      );
      assertEquals((await server.model().reply(asked())).text, "hello");
    });
  }

  const silences = [
    { bytes: "", stall: true },
    { bytes: head, stall: true },
    { bytes: head + '{"model":', stall: true },
    { bytes: head.replace("200 OK", "500 Oops") + "{", stall: true },
  ];
  // They are all waited for at once: a server is asked for a second whether it is alive.
  const silent = (
    name: string,
    attempt: (plan: Raw, limited: "trial" | "request", limit: number) => Promise<boolean>,
  ) =>
    test(name, async () => {
      const attempts = silences.flatMap((plan) =>
        (["trial", "request"] as const).map((limited) =>
          onceReceived((limit) => attempt(plan, limited, limit))
        )
      );
      await Promise.all(attempts);
    });

  silent(
    "openai() blames no model if a dead server hangs, or stalls anywhere, until time is over",
    async (plan, limited, milliseconds) => {
      await using server = breaking(plan);
      const model = server.model({ requestTimeout: milliseconds, retries: 3 });
      const limit = limited === "trial" ? { timeLimit: milliseconds } : {};
      const error = await assertRejects(() => model.reply(asked(limit)), InfrastructureError);
      if (server.received.length === 0) return false;
      assertMatch(error.message, /is silent: .*nor a small one afterwards .*\(1 attempt\)/);
      assertEquals([error.permanent, server.received.length], ["refused", 1]);
      return true;
    },
  );

  silent(
    "openai() blames the model if a live server hangs, or stalls anywhere, until time is over",
    async (plan, limited, milliseconds) => {
      await using server = breaking({ ...plan, alive: true });
      const model = server.model({ requestTimeout: milliseconds });
      const limit = limited === "trial" ? { timeLimit: milliseconds } : {};
      const error = await assertRejects(() => model.reply(asked(limit)), TimeLimitError);
      if (server.received.length === 0) return false;
      assertEquals([error.ofRequest, server.received.length], [limited === "request", 1]);
      return true;
    },
  );

  test("openai() throws the signal's reason at once when a server hangs, or stalls anywhere", async () => {
    await Promise.all(silences.map(async (plan) => {
      await using server = breaking(plan);
      const controller = new AbortController();
      setTimeout(() => controller.abort(new RangeError("enough")), 60);
      const request = asked({ signal: controller.signal });
      await assertRejects(() => server.model().reply(request), RangeError, "enough");
    }));
  });

  test("openai() gives up on a server that refuses connections", async () => {
    const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const baseURL = `http://127.0.0.1:${listener.addr.port}/v1`;
    listener.close();
    const model = openai({ model: "parrot", api, baseURL, apiKey: KEY, backoff: 1 });
    const error = await assertRejects(() => model.reply(asked()), InfrastructureError);
    assertEquals(error.retryable, true);
    assertMatch(error.message, /nothing listens at .*\(4 attempts\)$/);
  });

  test("openai() names the missing permission at once", async () => {
    const baseURL = "http://127.0.0.1:4321/v1";
    const model = openai({ model: "parrot", api, baseURL, apiKey: KEY, backoff: 8_000 });
    const error = await assertRejects(() => model.reply(asked()), InfrastructureError);
    assertEquals(error.retryable, false);
    assertStringIncludes(error.message, "--allow-net=127.0.0.1:4321 (1 attempt)");
  }, { net: false });

  // Secrets.

  test("openai() shows no secret that a server echoes", async () => {
    const headers = { "x-team-key": "s3cr3t-team", Cookie: "session s3cr3t-session" };
    const echo = `${KEY} ${JSON.stringify(headers)} s3cr3t-session s3cr3t-query sk-s3cr3t ` +
      "Bearer s3cr3t";
    await using server = serving(
      status(401, { error: { message: `Wrong: ${echo}` } }),
      status(400, { detail: echo }),
      () => new Response(echo, { status: 403 }),
      () => new Response(echo),
      answering({ error: { message: echo } }),
      () => new Response(echo, { headers: { "content-type": "application/json" } }),
    );
    const baseURL = `http://${server.host}/v1?token=s3cr3t-query`;
    for (let index = 0; index < 6; index++) {
      const error = await refusedBy(server, { headers, baseURL, retries: 0 });
      const shown = Deno.inspect(error, { depth: 9 }) + error.message;
      assertNotMatch(shown, /s3cr3t|hunter22/);
      if (index < 5) assertStringIncludes(shown, "[redacted]");
    }
    assertEquals(server.received.length, 6);
  });

  test("openai() shows no secret of an address that cannot be reached", async () => {
    const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const baseURL = `http://me:s3cr3t@127.0.0.1:${listener.addr.port}/v1?token=s3cr3t-query`;
    listener.close();
    const model = openai({ model: "parrot", api, baseURL, apiKey: KEY, retries: 0 });
    const error = await assertRejects(() => model.reply(asked()), InfrastructureError);
    assertNotMatch(Deno.inspect(error, { depth: 9 }), /s3cr3t|hunter22/);
  });

  test("openai() shows nothing of a server's text that could steer a terminal", async () => {
    await using server = serving(status(400, { error: { message: "red \u001b[31m\r\n\u202e" } }));
    const { message } = await refusedBy(server);
    assertStringIncludes(message, "400 red \\u001b[31m\\r\\n\\u202e");
  });
}

// Replies that are too long: none is read to its end, however it comes.

const MiB = 2 ** 20;
const LIMIT = 16 * MiB;
const PIECE = new Uint8Array(64 * 1024).fill(" ".charCodeAt(0));

/** A server whose bodies come in pieces, of unknown length; it counts the bytes that were read. */
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

const { serving, breaking } = serversOf("chat");

Deno.test("openai() reads no body that is announced as too long, and asks again", async () => {
  // Nothing follows: a client that waits for it waits for ever.
  await using server = breaking(
    { bytes: rawHead(LIMIT + 1), stall: true },
    whole(JSON.stringify(completion())),
  );
  assertEquals((await server.model().reply(asked())).text, "hello");
});

Deno.test("openai() says that a body is too long", async () => {
  await using server = breaking({ bytes: rawHead(20 * MiB), stall: true });
  assertMatch(
    await refusal(server.model({ retries: 1 }).reply(asked())),
    /^Cannot get a reply of parrot at 127.0.0.1:\d+: a body must not exceed 16777216 bytes: 20971520 bytes are announced \(2 attempts\)$/,
  );
});

Deno.test("openai() takes a packed body by what it holds", async () => {
  const sound = JSON.stringify(completion());
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
