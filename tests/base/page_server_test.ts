// Page servers: who gets an answer, and what it says.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { servePage } from "../../lib/base/page_server.ts";

/** Sends a request as it is written, which no client would, and reads the whole answer. */
async function send(url: string, line: string, headers: Readonly<Record<string, string>>) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const lines = Object.entries({ ...headers, connection: "close" })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  await connection.write(new TextEncoder().encode(`${line} HTTP/1.1\r\n${lines.join("")}\r\n`));
  const answer = await new Response(connection.readable).text();
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const [status = "", ...fields] = head.split("\r\n");
  return {
    status: Number(status.split(" ")[1]),
    headers: new Headers(fields.map((field) => field.split(/: ?/, 2) as [string, string])),
    body,
  };
}

Deno.test("servePage() answers GET and HEAD below its own address alone, and tells others nothing", async () => {
  await using server = await servePage((name) =>
    Promise.resolve(
      name === "" || name === "block-1"
        ? { type: "text/html", body: `<p>${name}`, tag: "7", policy: "script-src 'none'" }
        : undefined,
    )
  );
  const { host, origin, pathname: path } = new URL(server.url);
  assertMatch(path, /^\/[0-9a-f]{32}\/$/);
  const other = path.replace(/[0-9a-f]/, (digit) => digit === "0" ? "1" : "0");
  const asked: [line: string, headers: Record<string, string>, status: number][] = [
    [`GET ${path}`, {}, 200],
    [`GET ${path}block-1`, { origin }, 200],
    [`HEAD ${path}`, {}, 200],
    [`GET ${path}`, { "if-none-match": '"7"' }, 304],
    [`GET ${path}`, { "if-none-match": '"6"' }, 200],
    ...["POST", "PUT", "DELETE", "OPTIONS", "PATCH"].map((method) =>
      [`${method} ${path}`, { "content-length": "0" }, 405] satisfies typeof asked[number]
    ),
    ...["localhost", "evil.example", "127.0.0.2", "[::1]"].map((name) =>
      [`GET ${path}`, { host: host.replace("127.0.0.1", name) }, 404] satisfies typeof asked[number]
    ),
    [`GET ${path}`, { host: "127.0.0.1" }, 404],
    ...["http://evil.example", "null", origin.replace(/\d+$/, "1"), `https://${host}`]
      .map((origin) => [`GET ${path}`, { origin }, 404] satisfies typeof asked[number]),
    ...[
      "/",
      other,
      path.slice(0, -1),
      path.slice(0, -2) + "/",
      `${path}block-2`,
      `${path}..%2fblock-1`,
      `${path}%2e%2e/`,
      `${path}../`,
      `${path}/block-1`,
      `${path}block-1/`,
      `${path}../../etc/passwd`,
      `${path}..%5c..%5cetc`,
      `${path}constructor`,
      `${path}__proto__`,
      `${path}block-1%00`,
    ].map((one) => [`GET ${one}`, {}, 404] satisfies typeof asked[number]),
  ];
  for (const [line, headers, status] of asked) {
    const answer = await send(server.url, line, { host, ...headers });
    const name = `${line} ${JSON.stringify(headers)}`;
    assertEquals(answer.status, status, name);
    const isShown = status === 200 && !line.startsWith("HEAD");
    assertEquals(answer.body !== "", isShown, name);
    if (status !== 200) continue;
    assertEquals(answer.headers.get("content-type"), "text/html");
    assertEquals(answer.headers.get("cache-control"), "no-store");
    assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
    assertEquals(answer.headers.get("referrer-policy"), "no-referrer");
    assertEquals(answer.headers.get("cross-origin-resource-policy"), "same-origin");
    assertStringIncludes(answer.headers.get("content-security-policy")!, "script-src 'none'");
  }
});
