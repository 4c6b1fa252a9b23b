// Calls of a service, as a real server gets them: how arguments are written, what cannot leave its place, and what
// becomes of responses.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { hideSecrets } from "../../lib/base/secrets.ts";
import { openApiTools, type OpenApiToolsOptions } from "../../lib/integrations/openapi.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { toToolError } from "../../lib/tools/tool_error.ts";
import type { StoppableTool } from "../../lib/tools/tool.ts";
import { bodyOf } from "../support/openapi.ts";
import fc from "../support/fast_check.ts";

interface Got {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string;
}

/** A server that keeps what it got, and answers each request by `answer`. */
function recordingServer(
  answer: (got: Got) => Response | Promise<Response> = () => Response.json("ok"),
) {
  const got: Got[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const one = {
        method: request.method,
        target: pathname + search,
        headers: request.headers,
        body: await request.text(),
      };
      got.push(one);
      return await answer(one);
    },
  );
  return {
    got,
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const OK: JsonObject = {
  200: { description: "", content: { "application/json": { schema: {} } } },
};

/** The tool of a document with one operation. */
async function toolOf(
  place: string,
  operation: JsonObject,
  options: OpenApiToolsOptions,
): Promise<StoppableTool> {
  const [method, path] = place.split(" ");
  const [tool] = await openApiTools({
    openapi: "3.0.3",
    info: { title: "", version: "" },
    paths: {
      [path!]: { [method!.toLowerCase()]: { operationId: "it", responses: OK, ...operation } },
    },
  }, options);
  return tool!;
}

const LIST = ["a b", "c&d"];
const OBJECT = { k: "v/1", n: 2 };

Deno.test("openApiTools() writes parameters in the styles of OpenAPI", async () => {
  await using server = recordingServer();
  for (
    const [where, style, explode, value, written] of [
      ["query", undefined, undefined, "a b&c=d", "?p=a%20b%26c%3Dd"],
      ["query", undefined, undefined, true, "?p=true"],
      ["query", undefined, undefined, null, ""],
      ["query", "form", true, LIST, "?p=a%20b&p=c%26d"],
      ["query", "form", false, LIST, "?p=a%20b,c%26d"],
      ["query", "form", true, OBJECT, "?k=v%2F1&n=2"],
      ["query", "form", false, OBJECT, "?p=k,v%2F1,n,2"],
      ["query", "form", true, [], ""],
      ["query", "spaceDelimited", false, LIST, "?p=a%20b%20c%26d"],
      ["query", "pipeDelimited", false, LIST, "?p=a%20b|c%26d"],
      ["query", "deepObject", true, OBJECT, "?p%5Bk%5D=v%2F1&p%5Bn%5D=2"],
      [
        "query",
        "deepObject",
        true,
        { a: { b: [1, 2] } },
        "?p%5Ba%5D%5Bb%5D%5B0%5D=1&p%5Ba%5D%5Bb%5D%5B1%5D=2",
      ],
      ["path", undefined, undefined, "a/b", "/a%2Fb"],
      ["path", "simple", false, LIST, "/a%20b,c%26d"],
      ["path", "simple", false, OBJECT, "/k,v%2F1,n,2"],
      ["path", "simple", true, OBJECT, "/k=v%2F1,n=2"],
      ["path", "label", false, LIST, "/.a%20b,c%26d"],
      ["path", "label", true, LIST, "/.a%20b.c%26d"],
      ["path", "label", true, OBJECT, "/.k=v%2F1.n=2"],
      ["path", "matrix", false, 5, "/;p=5"],
      ["path", "matrix", false, LIST, "/;p=a%20b,c%26d"],
      ["path", "matrix", true, LIST, "/;p=a%20b;p=c%26d"],
      ["path", "matrix", true, OBJECT, "/;k=v%2F1;n=2"],
    ] as readonly [string, string | undefined, boolean | undefined, JsonValue, string][]
  ) {
    const parameter = {
      ...{ name: "p", in: where, schema: {}, required: where === "path" },
      ...(style === undefined ? {} : { style }),
      ...(explode === undefined ? {} : { explode }),
    };
    const tool = await toolOf(
      where === "path" ? "GET /{p}" : "GET /",
      { parameters: [parameter] },
      {
        baseURL: `${server.url}/v1/`,
      },
    );
    assertEquals(await tool.execute({ p: value }), '"ok"');
    assertEquals(server.got.at(-1)!.target, `/v1${where === "path" ? "" : "/"}${written}`);
  }
});

Deno.test("openApiTools() writes headers, cookies and parameters of a media type", async () => {
  await using server = recordingServer();
  const tool = await toolOf("GET /", {
    parameters: [
      { name: "X-List", in: "header", schema: { type: "array", items: {} } },
      { name: "X-Object", in: "header", explode: true, schema: { type: "object" } },
      { name: "session", in: "cookie", schema: {} },
      { name: "filter", in: "query", content: { "application/json": { schema: {} } } },
      { name: "ids", in: "query", allowReserved: true, schema: { type: "string" } },
      // OpenAPI says that these are ignored.
      { name: "Authorization", in: "header", required: true, schema: {} },
      { name: "X-Key", in: "header", required: true, schema: {} },
      { name: "key", in: "query", required: true, schema: {} },
    ],
  }, {
    baseURL: `${server.url}?key=in-the-query`,
    headers: { "x-key": "key-of-the-user", cookie: "own=1" },
  });
  assertEquals(Object.keys(tool.parameters["properties"] as JsonObject), [
    ...["X-List", "X-Object", "session", "filter", "ids"],
  ]);
  await tool.execute({
    "X-List": ["a", "b"],
    "X-Object": { a: 1 },
    session: "x;y",
    filter: { a: [1] },
    ids: "a/b:c&d",
  });
  const [{ target, headers }] = server.got as [Got];
  assertEquals(target, "/?key=in-the-query&filter=%7B%22a%22%3A%5B1%5D%7D&ids=a/b:c%26d");
  assertEquals(
    ["x-list", "x-object", "cookie", "x-key", "accept"].map((name) => headers.get(name)),
    ["a,b", "a=1", "own=1; session=x%3By", "key-of-the-user", "application/json, */*;q=0.1"],
  );
  assert(!hideSecrets("It was key-of-the-user and in-the-query").includes("the-"));
  await assertRejects(
    () => tool.execute({ "X-List": ["a\r\nX-Evil: 1"] }),
    Error,
    "a header can hold",
  );
  assertEquals(server.got.length, 1);
});

Deno.test("openApiTools() writes bodies as JSON, forms and texts, and maps names back", async () => {
  await using server = recordingServer();
  const parameters = [{ name: "id", in: "path", required: true, schema: {} }];
  const run = async (type: string, media: JsonObject, input: JsonObject, more: JsonObject = {}) => {
    const tool = await toolOf("POST /{id}", {
      parameters,
      requestBody: { content: { [type]: media }, ...more },
    }, { baseURL: server.url });
    await tool.execute({ id: 7, ...input });
    const { body, headers } = server.got.at(-1)!;
    return [headers.get("content-type"), body];
  };
  const fields = {
    type: "object",
    properties: { id: {}, list: { type: "array", items: {} }, deep: { type: "object" } },
  };
  const json = "application/json";
  assertEquals(await run(json, { schema: fields }, { id_body: "x", list: [null] }), [
    ...[json, '{"id":"x","list":[null]}'],
  ]);
  assertEquals(await run(json, { schema: fields }, {}), [null, ""]);
  assertEquals(await run(json, { schema: fields }, {}, { required: true }), [json, "{}"]);
  assertEquals(await run(json, { schema: {} }, { body: [1] }), [json, "[1]"]);
  assertEquals(await run("application/merge-patch+json", { schema: {} }, { body: 0 }), [
    ...["application/merge-patch+json", "0"],
  ]);
  const form = "application/x-www-form-urlencoded";
  assertEquals(
    await run(form, { schema: fields }, { id_body: "a&b", list: [1, 2], deep: { a: { b: 1 } } }),
    [form, "id=a%26b&list=1&list=2&deep=%7B%22a%22%3A%7B%22b%22%3A1%7D%7D"],
  );
  const encoding = { deep: { style: "deepObject", explode: true } };
  assertEquals(await run(form, { schema: fields, encoding }, { deep: { a: { b: 1 }, c: null } }), [
    ...[form, "deep%5Ba%5D%5Bb%5D=1"],
  ]);
  const typed = { id: { contentType: "text/plain" }, deep: { contentType: "application/json" } };
  assertEquals(
    await run(form, { schema: fields, encoding: typed }, { id_body: "a", deep: { b: "c" } }),
    [form, "id=a&deep=%7B%22b%22%3A%22c%22%7D"],
  );
  assertEquals(await run("text/plain", { schema: { type: "string" } }, { body: "as it is" }), [
    ...["text/plain", "as it is"],
  ]);
  assertEquals(await run("text/plain", { schema: fields }, { body: { list: [1] } }), [
    ...["text/plain", '{"list":[1]}'],
  ]);
  const [type, body] = await run("multipart/form-data", { schema: fields }, {
    id_body: 1,
    deep: { a: 1 },
  });
  assertStringIncludes(type!, "multipart/form-data; boundary=");
  assertStringIncludes(body!, '{"a":1}');
  assertStringIncludes(body!, 'name="id"\r\n\r\n1\r\n');
});

Deno.test("openApiTools() lets no argument leave its part of the path", async () => {
  await using server = recordingServer();
  const tool = await toolOf("DELETE /users/{id}/it", {
    parameters: [{ name: "id", in: "path", required: true, schema: {} }],
  }, { baseURL: `${server.url}/v1` });
  for (
    const id of [
      "..",
      ".",
      "",
      "%2e%2e",
      "../..",
      "a/../../b",
      "?a=b",
      "#a",
      "\\..\\",
      "//x.example",
      "@x",
    ]
  ) {
    const before = server.got.length;
    await tool.execute({ id }).catch((error) =>
      assertEquals(toToolError(error).category, "validation")
    );
    const sent = server.got.slice(before);
    if ([".", "..", ""].includes(id)) assertEquals(sent, []);
    else assertEquals(sent.map(({ target }) => target.split("/").length), [5], id);
  }
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.character(), minLength: 1, maxLength: 20 }),
      async (id) => {
        fc.pre(![".", ".."].includes(id));
        await tool.execute({ id });
        const { target } = server.got.at(-1)!;
        const [, first, second, written, last, ...rest] = target.split("/");
        assertEquals([first, second, last, rest.length], ["v1", "users", "it", 0]);
        assertEquals(decodeURIComponent(written!), id.toWellFormed());
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("openApiTools() turns responses without success into errors that say what they are", async () => {
  await using server = recordingServer(({ target }) => {
    const status = Number(target.slice(1));
    return new Response(status === 204 ? null : '{"reason":"because"}', {
      status,
      headers: { "retry-after": "7" },
    });
  });
  const tool = await toolOf("GET /{status}", {
    parameters: [{ name: "status", in: "path", required: true, schema: {} }],
  }, { baseURL: server.url });
  for (
    const [status, category] of [
      ...[[400, "validation"], [401, "permission"], [404, "not_found"], [429, "rate_limit"]],
      ...[[500, "execution"], [504, "timeout"]],
    ] as const
  ) {
    const error = await assertRejects(() => tool.execute({ status }), Error);
    assertEquals(error.message, `HTTP ${status}: {"reason":"because"}`);
    const classified = toToolError(error);
    assertEquals([classified.category, classified.retryAfter], [category, 7000]);
  }
  assertEquals(await tool.execute({ status: 204 }), "null");
  assertEquals(await tool.execute({ status: 201 }), '{"reason":"because"}');
});

Deno.test("openApiTools() follows redirects within a server, and takes no key to another", async () => {
  await using other = recordingServer();
  await using server = recordingServer(({ target, method }) =>
    target === "/away"
      ? new Response(null, { status: 302, headers: { location: other.url } })
      : target === "/round"
      ? new Response(null, { status: 307, headers: { location: "/round" } })
      : target === "/near"
      ? new Response(null, { status: 302, headers: { location: "/end?x=1" } })
      : Response.json(`${method} ${target}`)
  );
  const options = { baseURL: server.url, headers: { authorization: "Bearer of-the-user" } };
  const run = async (place: string) => await (await toolOf(place, {}, options)).execute({});
  assertEquals(await run("GET /near"), '"GET /end?x=1"');
  assertEquals(server.got.at(-1)!.headers.get("authorization"), "Bearer of-the-user");
  await assertRejects(() => run("GET /away"), Error, "redirects to another one");
  await assertRejects(() => run("GET /round"), Error, "redirects more than 5 times");
  // What changes something is not sent twice.
  await assertRejects(() => run("POST /round"), Error, "HTTP 307");
  assertEquals(other.got, []);
});

Deno.test("openApiTools() ends a trial that cannot reach its server, and calls in time or when told", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const gone = await toolOf("GET /", {}, { baseURL: `http://127.0.0.1:${port}` });
  const error = await assertRejects(() => gone.execute({}), InfrastructureError);
  assertMatch(
    error.message,
    new RegExp(`No response from 127.0.0.1:${port}: .*connection refused`, "i"),
  );

  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using server = recordingServer(async () => {
    begun.resolve();
    await release.promise;
    return new Response("late");
  });
  const slow = await toolOf("GET /", {}, { baseURL: server.url, seconds: 0.05 });
  const late = await assertRejects(
    () => slow.execute({}),
    Error,
    "No response within 0.05 seconds",
  );
  assertEquals(toToolError(late).category, "timeout");
  const patient = await toolOf("GET /", {}, { baseURL: server.url });
  const stop = new AbortController();
  const running = patient.execute({}, { signal: stop.signal });
  await begun.promise;
  stop.abort(new Error("no longer needed"));
  await assertRejects(() => running, Error, "no longer needed");
  release.resolve();
});

Deno.test("openApiTools() reads no response that is too long", async () => {
  await using server = recordingServer(({ target }) =>
    target === "/announced"
      ? new Response("x".repeat(2 ** 20 + 1))
      : new Response(ReadableStream.from((function* () {
        for (let count = 0; count < 2000; count++) yield new TextEncoder().encode("x".repeat(1024));
      })()))
  );
  for (const place of ["GET /announced", "GET /streamed"]) {
    const tool = await toolOf(place, {}, { baseURL: server.url });
    await assertRejects(() => tool.execute({}), Error, "must not exceed 1048576 bytes");
  }
});

Deno.test("openApiTools() takes the length that an answer to HEAD announces for no body", async () => {
  await using server = recordingServer(() =>
    new Response(null, { headers: { "content-length": `${2 ** 20 + 1}` } })
  );
  const tool = await toolOf("HEAD /", {}, { baseURL: server.url });
  assertEquals(await tool.execute({}), "null");
});

Deno.test("openApiTools() sends no call twice that changes something, as where a kept connection closes", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const seen: string[] = [];
  const serve = async (connection: Deno.Conn) => {
    const buffer = new Uint8Array(2 ** 16);
    for (let requests = 0;; requests++) {
      const bytes = await connection.read(buffer);
      if (bytes === null) break;
      seen.push(new TextDecoder().decode(buffer.subarray(0, bytes)).split(" ")[0]!);
      if (requests > 0) break;
      const answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
      await connection.write(new TextEncoder().encode(answer));
    }
    connection.close();
  };
  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) served.push(serve(connection));
  })();
  const { port } = listener.addr as Deno.NetAddr;
  const baseURL = `http://127.0.0.1:${port}`;
  for (const [place, operation] of [["POST /", bodyOf({})], ["DELETE /", {}]] as const) {
    const tool = await toolOf(place, operation, { baseURL });
    const input: JsonObject = place === "POST /" ? { body: 1 } : {};
    assertEquals([await tool.execute(input), await tool.execute(input)], ["ok", "ok"]);
  }
  assertEquals(seen, ["POST", "POST", "DELETE", "DELETE"]);
  listener.close();
  await Promise.all([accepting, ...served]);
});

Deno.test("openApiTools() never calls the servers that a document names", async () => {
  await using server = recordingServer();
  const [tool] = await openApiTools({
    openapi: "3.1.0",
    info: { title: "", version: "" },
    servers: [{ url: server.url }],
    paths: { "/": { get: { responses: OK, servers: [{ url: server.url }] } } },
  });
  await tool!.execute({});
  assertEquals(server.got, []);
});
