// Documents of OpenAPI become tools: which, how they are called, and what they ask for.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { type JsonObject, jsonText } from "../../lib/base/json.ts";
import { openApiTools, type OpenApiToolsOptions } from "../../lib/integrations/openapi.ts";
import { describeTool } from "../../lib/tools/tool.ts";
import { folder } from "../support/child.ts";
import { bodyOf, documentOf, OK, PETS, resultOf, single } from "../support/openapi.ts";

async function parametersOf(document: JsonObject, options?: OpenApiToolsOptions) {
  const [tool] = await openApiTools(document, options);
  return tool!.parameters;
}

Deno.test("openApiTools() makes a tool of each operation, named so that providers accept it", async () => {
  const tools = await openApiTools(PETS);
  assertEquals(tools.map(({ name }) => name), ["pets_list", "pets_create", "get_pets_id"]);
  assertEquals(tools.map(({ description }) => description), [
    "Lists pets\n\nAll of them.",
    "POST /pets",
    "GET /pets/{id}",
  ]);
});

Deno.test("openApiTools() takes the operations that are named, in their order, or those of tags", async () => {
  const names = async (operations: NonNullable<OpenApiToolsOptions["operations"]>) =>
    (await openApiTools(PETS, { operations })).map(({ name }) => name);
  assertEquals(await names(["get /pets/{id}", "pets.list", "GET /pets"]), [
    "get_pets_id",
    "pets_list",
  ]);
  assertEquals(await names({ tags: ["write"] }), ["pets_create"]);
  const same = documentOf({ "/a": { get: { operationId: "GET /a", responses: OK } } });
  assertEquals((await openApiTools(same, { operations: ["GET /a"] })).length, 1);
});

Deno.test("openApiTools() gives the parameters of a path to its operations, whose own replace them", async () => {
  assertEquals(await parametersOf(PETS, { operations: ["GET /pets/{id}"] }), {
    type: "object",
    properties: { id: { type: "string" }, lang: { enum: ["en", "de"] } },
    required: ["id"],
    additionalProperties: false,
  });
});

Deno.test("openApiTools() names parameters that clash by their place", async () => {
  const parameters = ["path", "query", "header"].map((place) => ({
    ...{
      name: "id",
      in: place,
      required: place === "path",
      schema: { type: place === "path" ? "string" : "integer" },
    },
  }));
  const body = bodyOf({
    type: "object",
    properties: { id: { type: "boolean" }, "filter[name]": {}, "filter.name": {} },
  });
  const { properties } = await parametersOf(
    documentOf({ "/{id}": { post: { parameters, ...body, responses: OK } } }),
  );
  assertEquals(Object.keys(properties as JsonObject), [
    ...["id", "id_query", "id_header", "id_body", "filter_name_", "filter_name"],
  ]);
});

Deno.test("openApiTools() reads Swagger 2.0 as what it says in OpenAPI 3.0, also behind a byte order mark", async () => {
  const order = { type: "object", required: ["id"], properties: { id: { type: "string" } } };
  const limit = { name: "limit", in: "query" };
  const body = { name: "order", in: "body", schema: { $ref: "#/definitions/Order" } };
  const it = {
    ...{ operationId: "it", parameters: [{ $ref: "#/parameters/Limit" }, body] },
    responses: { 200: { description: "", schema: { $ref: "#/definitions/Order" } } },
  };
  const older = {
    ...{ swagger: "2.0", info: { title: "Test", version: "1" }, produces: ["application/json"] },
    ...{ definitions: { Order: order }, parameters: { Limit: { ...limit, type: "integer" } } },
    paths: { "/it": { post: it } },
  };
  const schema = { $ref: "#/components/schemas/Order" };
  const newer = single(
    {
      parameters: [{ ...limit, schema: { type: "integer" } }],
      ...bodyOf(schema),
      responses: resultOf(schema),
    },
    { components: { schemas: { Order: order } } },
    "post",
  );
  const read = async (document: JsonObject | string) => {
    const [tool] = await openApiTools(document);
    return [describeTool(tool!), await tool!.execute({ limit: 3 })];
  };
  const text = JSON.stringify(older);
  assertEquals(await read(older), await read(newer));
  assertEquals(JSON.stringify(older), text);
  assertEquals(await read(`\ufeff${text}`), await read(newer));
});

Deno.test("openApiTools() reads OpenAPI 3.0 and 3.1 into the same JSON Schemas", async () => {
  const older = { type: "integer", nullable: true, minimum: 0, exclusiveMinimum: true };
  const newer = { type: ["integer", "null"], exclusiveMinimum: 0 };
  const read = (openapi: string, schema: JsonObject) =>
    parametersOf({ ...single({ parameters: [{ name: "n", in: "query", schema }] }), openapi });
  const { properties } = await read("3.0.3", older);
  assertEquals((properties as JsonObject)["n"], newer);
  assertEquals(await read("3.1.0", newer), await read("3.0.3", older));
  // Of draft 2019-09: the root is the component.
  const list = (next: JsonObject) =>
    parametersOf(single(bodyOf({ $ref: "#/components/schemas/A" }), {
      components: { schemas: { A: { properties: { b: { items: next } } } } },
    }, "post"));
  assertEquals(await list({ $recursiveRef: "#" }), await list({ $ref: "#/components/schemas/A" }));
});

Deno.test("openApiTools() reads text of JSON and YAML, files and addresses", async () => {
  const text = [
    'openapi: "3.1.0"',
    "info: { title: T, version: 2024-01-01 }",
    "paths:",
    "  /it:",
    "    get:",
    "      operationId: it",
    "      responses: { 200: { description: ok } }",
  ].join("\n");
  await using place = await folder();
  await Deno.writeTextFile(place.file("api.yaml"), text);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) => url.includes("/api.yaml") ? new Response(text) : new Response("", { status: 404 }),
  );
  const address = new URL(
    `http://user:secret-word@127.0.0.1:${server.addr.port}/api.yaml?key=secret-word`,
  );
  for (
    const document of [
      text,
      JSON.stringify(single({})),
      new URL(`file://${place.file("api.yaml")}`),
      address,
    ]
  ) {
    assertEquals((await openApiTools(document)).map(({ name }) => name), ["it"]);
  }
  const missing = await assertRejects(() =>
    openApiTools(new URL("/none?key=secret-word", address))
  );
  assertMatch(String(missing), /Cannot read http:\/\/127\.0\.0\.1:\d+\/none .*status 404/);
  assert(!String(missing).includes("secret-word"));
});

Deno.test("openApiTools() offers long integers by every digit, from JSON and YAML", async () => {
  const [id, other] = [7300000000000000123n, -7300000000000000125n];
  const schema = { type: "integer", enum: [id, other], default: id, maximum: 2n ** 63n - 1n };
  const text = jsonText(single({
    parameters: [{ name: "id", in: "query", schema }],
    responses: resultOf({ type: "object", required: ["id"], properties: { id: schema } }),
  }));
  for (const document of [text, `# YAML\n${text}`]) {
    const [tool] = await openApiTools(document);
    assertStringIncludes(JSON.stringify(tool), `"enum":[${id},${other}],"default":${id}`);
    assertStringIncludes(String(await tool!.execute({ id })), `${id}`);
  }
});

Deno.test("openApiTools() puts a body of plain properties beside the parameters, and others under body", async () => {
  const plain = {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name"],
  };
  const names = async (schema: JsonObject, more: JsonObject = {}) => {
    const { properties, required = [] } = await parametersOf(
      single(bodyOf(schema, more), {}, "post"),
    );
    return [Object.keys(properties as JsonObject), required];
  };
  assertEquals(await names(plain, { required: true }), [["name", "age"], ["name"]]);
  // Left out, it needs no name: no schema beside other parameters could say so.
  assertEquals(await names(plain), [["body"], []]);
  for (
    const schema of [
      { ...plain, additionalProperties: true },
      { ...plain, minProperties: 1 },
      { allOf: [plain] },
      { type: "array", items: plain },
      { type: "object" },
      {},
    ]
  ) assertEquals(await names(schema as JsonObject, { required: true }), [["body"], ["body"]]);
});

Deno.test("openApiTools() takes a body's JSON before patches of it", async () => {
  const types = ["application/json-patch+json", "application/json; charset=utf-8"];
  const content = Object.fromEntries(types.map((type) => [type, { schema: { title: type } }]));
  const { properties } = await parametersOf(single({ requestBody: { content } }, {}, "post"));
  assertEquals(properties, { body: { title: types[1]! } });
});

Deno.test("openApiTools() leaves what is read-only out of requests, and keeps the rest", async () => {
  const schema = {
    type: "object",
    required: ["id", "name"],
    properties: {
      id: { type: "string", readOnly: true },
      created: { $ref: "#/components/schemas/Created" },
      name: { type: "string" },
      secret: { type: "string", writeOnly: true },
    },
  };
  const document = single({ ...bodyOf(schema, { required: true }), responses: resultOf(schema) }, {
    components: { schemas: { Created: { type: "string", format: "date", readOnly: true } } },
  }, "post");
  const parameters = await parametersOf(document);
  assertEquals(Object.keys(parameters["properties"] as JsonObject), ["name", "secret"]);
  assertEquals(parameters["required"], ["name"]);
  const [tool] = await openApiTools(document);
  const result = JSON.parse(await tool!.execute({ name: "x" }));
  assert("id" in result && "name" in result && !("secret" in result));
});

Deno.test("openApiTools() keeps references that lead back as $defs of the tool", async () => {
  const node = {
    type: "object",
    properties: { next: { $ref: "#/components/schemas/Node" }, name: { type: "string" } },
  };
  const document = single(
    bodyOf({ type: "array", items: { $ref: "#/components/schemas/Node" } }),
    { components: { schemas: { Node: node, Other: { type: "string" } } } },
    "post",
  );
  const { properties, $defs } = await parametersOf(document);
  assertEquals((properties as JsonObject)["body"], {
    type: "array",
    items: { $ref: "#/$defs/Node" },
  });
  assertEquals($defs, {
    Node: { ...node, properties: { ...node.properties, next: { $ref: "#/$defs/Node" } } },
  });
  const [tool] = await openApiTools(document);
  await tool!.execute({ body: [{ name: "a", next: { name: "b" } }] });
  await assertRejects(
    () => tool!.execute({ body: [{ next: { name: 1 } }] }),
    Error,
    "/body/0/next/name",
  );
});

Deno.test("openApiTools() follows references to any part of the document, and through aliases", async () => {
  const document = documentOf({
    "/a~b": {
      get: {
        operationId: "a",
        parameters: [{ $ref: "#/components/parameters/Alias" }],
        responses: OK,
      },
    },
    "/c": { $ref: "#/x-items/c" },
  }, {
    components: {
      parameters: {
        Alias: { $ref: "#/components/parameters/Real" },
        Real: {
          name: "q",
          in: "query",
          schema: { $ref: "#/paths/~1c~0d/x-schemas/it%20self" },
        },
      },
    },
    "x-items": { c: { get: { operationId: "c", responses: OK } } },
  });
  (document["paths"] as JsonObject)["/c~d"] = { "x-schemas": { "it self": { type: "boolean" } } };
  const [a, c] = await openApiTools(document);
  assertEquals(a!.parameters["properties"], { q: { $ref: "#/$defs/it_self" } });
  assertEquals(a!.parameters["$defs"], { it_self: { type: "boolean" } });
  assertEquals(c!.name, "c");
});

Deno.test("openApiTools() reads nothing but what its operations need", async () => {
  const poisoned = (what: string): JsonObject =>
    new Proxy({}, {
      get: (_, key) => {
        throw new Error(`${what} was read: ${String(key)}`);
      },
      ownKeys: () => {
        throw new Error(`${what} was listed`);
      },
    }) as JsonObject;
  const names = Array.from({ length: 1000 }, (_, index) => `S${index}`);
  const document = documentOf({
    "/it": {
      get: {
        operationId: "it",
        parameters: [{ name: "q", in: "query", schema: { $ref: "#/components/schemas/Used" } }],
        responses: {
          ...resultOf({ $ref: "#/components/schemas/Used" }),
          default: poisoned("an error's response"),
        },
        callbacks: poisoned("a callback"),
      },
    },
    "/other": {
      get: {
        operationId: "other",
        parameters: poisoned("another's parameters") as unknown as JsonObject[],
        responses: poisoned("another's responses"),
      },
    },
  }, {
    components: {
      schemas: {
        Used: { type: "string" },
        ...Object.fromEntries(names.map((name) => [name, poisoned(name)])),
      },
      securitySchemes: poisoned("a security scheme"),
    },
  });
  const [tool] = await openApiTools(document, { operations: ["it"] });
  assertEquals(tool!.parameters["$defs"], { Used: { type: "string" } });
  await tool!.execute({ q: "x" });
});

Deno.test("openApiTools() does not show the schema of results to a model", async () => {
  const [tool] = await openApiTools(
    single({ responses: resultOf({ type: "string", title: "Hidden" }) }),
  );
  assert(!describeTool(tool!).includes("Hidden"));
});

Deno.test("openApiTools() cuts long descriptions", async () => {
  const [tool] = await openApiTools(single({ description: "word ".repeat(1000) }));
  assertEquals(tool!.description.length, 1024);
});

Deno.test("openApiTools() handles names that objects inherit, and __proto__", async () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"type":"string"}}}',
  );
  const document = JSON.parse(
    JSON.stringify(documentOf({
      "/{toString}": {
        post: {
          operationId: "__proto__",
          parameters: [{
            name: "toString",
            in: "path",
            required: true,
            schema: { type: "string" },
          }],
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/__proto__" } } },
          },
          responses: resultOf({ $ref: "#/components/schemas/__proto__" }),
        },
      },
    })).replace(/\}$/, `,"components":{"schemas":{"__proto__":${JSON.stringify(schema)}}}}`),
  );
  const [tool] = await openApiTools(document);
  assertEquals(tool!.name, "__proto__");
  assertEquals(Object.keys(tool!.parameters["properties"] as JsonObject), [
    ...["toString", "proto", "constructor"],
  ]);
  const input = { toString: "a", proto: 1, constructor: "b" } as unknown as JsonObject;
  const result = JSON.parse(await tool!.execute(input));
  assert(Object.keys(result).every((key) => ["__proto__", "constructor"].includes(key)));
  assertEquals(({} as JsonObject)["polluted"], undefined);
});
