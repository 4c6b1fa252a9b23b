// What asking a model, and serving one, does to a whole process.

import { assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, ROOT } from "../support/child.ts";
import { completion } from "../support/wire_servers.ts";

/** A program that asks a model once, and prints the reply and the most memory it ever had, in MiB. */
const ASKING = `
const { openai } = await import("file://${ROOT}/mod.ts");
const model = openai({ model: "parrot", baseURL: Deno.args[0], apiKey: "none", retries: 0 });
const context = { trial: "t", repetition: 1, request: 1 };
const { text } = await model.reply({ messages: [], tools: [], context })
  .catch(({ message }) => ({ text: message }));
const [, peak] = /^VmHWM:\\s*(\\d+) kB$/m.exec(Deno.readTextFileSync("/proc/self/status"));
console.log(JSON.stringify({ text, peak: peak / 1024 }));
`;

/** What the program prints when a body begins with this many spaces, each sent as a chunk of its own. */
async function askedInPieces(
  spaces: number,
  body = JSON.stringify(completion()),
  status = "200 OK",
): Promise<{ text: string; peak: number }> {
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
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    for (let sent = 0; sent < spaces; sent++) await send("1\r\n \r\n");
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

Deno.test("openai() takes no memory for what nests without end", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  const flat = await askedInPieces(0, `["${"[".repeat(10_000_000)}"]`);
  // Parsed, it would take 2 GiB.
  for (const status of ["200 OK", "400 Bad Request"]) {
    const deep = await askedInPieces(0, "[".repeat(10_000_000), status);
    assertMatch(deep.text, status === "200 OK" ? /is no JSON object: \[+/ : /: 400 \[+/);
    assertLess(deep.peak, flat.peak + 150);
  }
});

Deno.test("startSimulatedServer() lets a process end unless awaited", async () => {
  const run = async (rest: string) => {
    const code = `
      import { startSimulatedServer } from "file://${ROOT}/lib/simulated/server.ts";
      const server = await startSimulatedServer();
      const timer = setTimeout(() => { console.log("alive"); server.close(); }, 200);
      Deno.unrefTimer(timer);
      ${rest}`;
    const { code: exit, stdout, stderr, all } = await deno([
      ...["eval", "--no-check", "--config=deno.json"],
      code,
    ]);
    assertEquals(exit, 0, all);
    return [stdout, stderr];
  };
  assertEquals(await run(""), ["", ""]);
  assertEquals(await run("await server.finished;"), ["alive\n", ""]);
});

Deno.test("this machine is asked without a proxy, and a proxy that is in the way is named", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      // It came through this server as a proxy.
      if (request.headers.has("proxy-authorization")) return new Response("", { status: 407 });
      if (new URL(request.url).pathname.startsWith("/tool/")) return new Response("found");
      await request.body?.cancel();
      return Response.json(completion());
    },
  );
  const code = `
    const { openai } = await import("file://${ROOT}/mod.ts");
    const { openApiTools } = await import("file://${ROOT}/lib/integrations/openapi.ts");
    const context = { trial: "t", repetition: 1, request: 1 };
    for (const baseURL of Deno.args) {
      const model = openai({ model: "parrot", baseURL, apiKey: "none", retries: 0 });
      const { text } = await model.reply({ messages: [], tools: [], context })
        .catch(({ message }) => ({ text: message }));
      console.log(text);
    }
    const [tool] = await openApiTools({
      openapi: "3.1.0",
      info: { title: "t", version: "1" },
      paths: { "/x": { get: { operationId: "x", responses: { 200: { description: "x", content: { "text/plain": {} } } } } } },
    }, { baseURL: Deno.args[0].replace("/v1", "/tool") });
    console.log(await tool.execute({}));`;
  const port = server.addr.port;
  const url = `http://127.0.0.1:${port}/v1`;
  const args = [url, "http://one.invalid/v1", "https://two.invalid/v1", "http://three.invalid/v1"];
  const env = {
    HTTP_PROXY: `http://ann:s3cret@127.0.0.1:${port}`,
    HTTPS_PROXY: "http://ann:s3cret@127.0.0.1:9",
    NO_PROXY: "three.invalid",
  };
  const run = ["eval", "--no-check", "--config=deno.json", code, ...args];
  const { stdout, all } = await deno(run, { env });
  const way = "cannot be reached or refuses: check it, or add";
  const [own, ...others] = stdout.trimEnd().split("\n");
  assertEquals([own, others.at(-1)], ["hello", "found"], all);
  for (
    const [place, words] of [
      `the proxy 127.0.0.1:${port} (HTTP_PROXY) ${way} one.invalid to NO_PROXY: `,
      `the proxy 127.0.0.1:9 (HTTPS_PROXY) ${way} two.invalid to NO_PROXY: `,
      "there is no host three.invalid: check the address: ",
    ].entries()
  ) assertStringIncludes(others[place]!, words);
  assertEquals(all.includes("s3cret"), false);
  // Node's own variable would have all asked at a proxy, where nothing listens.
  const asNode = { HTTP_PROXY: "http://127.0.0.1:1", NODE_USE_ENV_PROXY: "1" };
  assertEquals((await deno(run.slice(0, 5), { env: asNode })).stdout, "hello\nfound\n");
});

Deno.test("a model is asked over TLS, if Deno was told to trust the certificate of its server", async () => {
  const of = (name: string) => `${ROOT}/tests/support/tls/${name}.pem`;
  await using server = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen: () => {}, onError: () => new Response() },
    cert: Deno.readTextFileSync(of("certificate")),
    key: Deno.readTextFileSync(of("key")),
  }, () => Response.json(completion()));
  const code = `
    const { openai } = await import("file://${ROOT}/mod.ts");
    const options = { model: "parrot", baseURL: Deno.args[0], apiKey: "none", retries: 0 };
    const context = { trial: "t", repetition: 1, request: 1 };
    console.log(await openai(options).reply({ messages: [], tools: [], context })
      .then(({ text }) => text, ({ message }) => message));`;
  const args = [
    "--no-check",
    "--config=deno.json",
    code,
    `https://localhost:${server.addr.port}/v1`,
  ];
  const trusting = await deno(["eval", `--cert=${of("authority")}`, ...args]);
  assertEquals(trusting.stdout, "hello\n", trusting.all);
  const { stdout } = await deno(["eval", ...args]);
  assertMatch(stdout, /^Cannot get a reply of parrot at localhost:\d+: .*UnknownIssuer/);
});
