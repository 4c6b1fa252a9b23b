// Tools over HTTP, as a program meets them.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { toOpenAITool } from "../../../lib/tools/tool.ts";
import { echo, serve, toolNamed } from "../../support/served_tools.ts";

const post = async (url: string, body: string): Promise<[number, string]> => {
  const response = await fetch(url, { method: "POST", body });
  return [response.status, await response.text()];
};

Deno.test("toolsHandler() lists the functions in the form of chat completions", async () => {
  const tools = [echo("add"), { ...echo("sub"), strict: true, examples: [{ a: 1 }] }];
  await using server = serve(tools);
  for (const url of [`${server.url}`, `${server.url}/`]) {
    const response = await fetch(url);
    assertEquals(await response.json(), JSON.parse(JSON.stringify(tools.map(toOpenAITool))));
    assertEquals(response.headers.get("access-control-allow-origin"), null);
  }
});

Deno.test("toolsHandler() carries out a call and answers with its text", async () => {
  await using server = serve([echo("add")]);
  const response = await fetch(`${server.url}/add`, { method: "POST", body: '{"a":"é"}' });
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/plain; charset=utf-8");
  assertEquals(await response.text(), '{"a":"é"}');
});

for (const name of ["__proto__", "constructor", "a/b", "a b?c#d", "é%41"]) {
  Deno.test(`toolsHandler() finds the function ${name} by its encoded name, and no other`, async () => {
    await using server = serve([echo(name)]);
    const path = (one: string) => `${server.url}/${encodeURIComponent(one)}`;
    assertEquals(await post(path(name), "{}"), [200, "{}"]);
    const [status, text] = await post(path("toString"), "{}");
    assertEquals(status, 404);
    assertEquals(JSON.parse(text), { error: "there is no function toString" });
  });
}

Deno.test("toolsHandler() refuses what is no call, and carries nothing out", async () => {
  let calls = 0;
  await using server = serve([toolNamed("add", () => Promise.resolve(`${++calls}`))]);
  const url = `${server.url}/add`;
  for (const body of ["", "{", "[1]", "null", '"{}"', "NaN"]) {
    const [status, text] = await post(url, body);
    assertEquals(status, 400);
    assertStringIncludes(JSON.parse(text).error, "must be a JSON object");
  }
  assertEquals((await post(`${server.url}/%ff`, "{}"))[0], 404);
  assertEquals((await post(`${server.url}`, "{}"))[0], 405);
  const get = await fetch(url);
  assertEquals([get.status, get.headers.get("allow")], [405, "POST"]);
  await get.body?.cancel();
  assertEquals(calls, 0);
});

Deno.test("toolsHandler() takes 16 MiB of arguments and no more, whether or not announced", async () => {
  await using server = serve([toolNamed("add", () => Promise.resolve("fine"))]);
  const url = `${server.url}/add`;
  const body = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`;
  assertEquals(await post(url, body(2 ** 24)), [200, "fine"]);
  assertEquals((await post(url, body(2 ** 24 + 1)))[0], 413);
  const chunk = new TextEncoder().encode("x".repeat(2 ** 20));
  const streamed = await fetch(url, {
    method: "POST",
    body: ReadableStream.from(Array.from({ length: 17 }, () => chunk)),
  }).catch(() => undefined);
  // The server answers before it has read everything, which not every client takes well.
  if (streamed !== undefined) assertEquals(streamed.status, 413);
  await streamed?.body?.cancel();
});

Deno.test("toolsHandler() tells with 409 why no more calls are allowed, without secrets", async () => {
  await using server = serve([
    toolNamed("add", () => Promise.reject(new Error("no more: sk-abcdefghijklmnop123456"))),
  ]);
  const [status, text] = await post(`${server.url}/add`, "{}");
  assertEquals([status, JSON.parse(text)], [409, { error: "no more: [redacted]" }]);
});
