// What openApiTools() refuses: each with one clear error.

import { assertEquals, assertLessOrEqual, assertRejects, assertStringIncludes } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { openApiTools, type OpenApiToolsOptions } from "../../lib/integrations/openapi.ts";
import { folder } from "../support/child.ts";
import { bodyOf, documentOf, OK, PETS, resultOf, single } from "../support/openapi.ts";

async function assertRefused(
  document: unknown,
  text: string,
  options?: OpenApiToolsOptions,
): Promise<void> {
  const { message } = await assertRejects(
    () => openApiTools(document as object, options),
    InputError,
  );
  assertStringIncludes(message, text);
  assertLessOrEqual(message.split("\n").length, 2, message);
}

/** An operation that cannot be used is left out and named beside others, and refused alone or by its name. */
async function assertLeftOut(
  document: JsonObject,
  text: string,
  options: OpenApiToolsOptions = {},
): Promise<void> {
  await assertRefused(document, text, options);
  const paths = { ...document["paths"] as JsonObject, "/good": { get: { responses: OK } } };
  const said: string[] = [];
  const { error } = console;
  console.error = (line) => void said.push(String(line));
  const tools = await openApiTools({ ...document, paths }, options)
    .finally(() => console.error = error);
  assertEquals(tools.map(({ name }) => name), ["get_good"]);
  const [told, reason = ""] = said.join().split("\n  ");
  assertEquals(told, "Left out of the OpenAPI document: 1 operation:");
  assertStringIncludes(reason, text);
  const operations = [reason.split(": ")[0]!];
  await assertRefused({ ...document, paths }, text, { ...options, operations });
}

Deno.test("openApiTools() refuses what is no document of OpenAPI 3.0 or 3.1", async () => {
  const { openapi: _, ...unnamed } = PETS;
  for (
    const [document, text] of [
      [null, "it is null"],
      [[], "it is a list"],
      ["a.yaml", 'it is the text "a.yaml"'],
      ["{", "it must be JSON"],
      ["a: [", "it must be JSON or YAML"],
      [5, "it is number"],
      [unnamed, "it has no field openapi"],
      [{ ...unnamed, swagger: "1.2" }, 'its version is "1.2"'],
      [`swagger: "2.0"\nit: &a { b: *a }`, "convert it, as by npx swagger2openapi"],
      [{ ...PETS, openapi: "4.0.0" }, 'its version is "4.0.0"'],
      [{ ...PETS, openapi: "3.2.0" }, 'its version is "3.2.0"'],
      [{ ...PETS, openapi: 3 }, "its version is 3"],
      [{ ...PETS, paths: undefined }, "its paths must be an object"],
      [documentOf({ "/a": null as unknown as JsonObject }), "/a is none"],
    ] as const
  ) await assertRefused(document, text);
});

/** A text whose reference is an object that holds itself. */
const HOLDS_ITSELF = [
  'openapi: "3.0.0"',
  'info: { title: T, version: "1" }',
  "paths:",
  "  /it: { get: { parameters: [{ $ref: &a { b: *a } }] } }",
].join("\n");

Deno.test("openApiTools() leaves out operations that are not valid or cannot be used, and says where", async () => {
  const query = (fields: JsonObject) =>
    single({ parameters: [{ name: "q", in: "query", ...fields }] });
  const binary = { type: "object", properties: { f: { type: "string", format: "binary" } } };
  for (
    const [document, text] of [
      [
        single({ parameters: [{ in: "query", schema: {} }] }),
        "at paths > /it > get > parameters > 0",
      ],
      [query({ in: "nowhere", schema: {} }), "at paths > /it > get > parameters > 0"],
      [query({}), "at paths > /it > get > parameters > 0"],
      [single({ parameters: {} }), "the parameters of GET /it must be a list"],
      [
        query({ schema: { $ref: "other.yaml#/A" } }),
        'refers to "other.yaml#/A"; bundle its files first',
      ],
      [query({ schema: { $ref: "https://x.example/A" } }), "bundle its files first"],
      [
        query({ schema: { $ref: "#/components/schemas/None" } }),
        "GET /it, parameter 1 (q) refers to",
      ],
      [query({ schema: { $ref: 5 } }), "bundle its files first"],
      [query({ schema: { $ref: "#" } }), "must lead to a part of it"],
      [query({ schema: { $dynamicRef: "#a" } }), "has $dynamicRef"],
      [query({ schema: { type: "strin" } }), "Cannot offer tool it"],
      [query({ schema: { type: "string", pattern: "(a)\\1" } }), "unsafePatterns"],
      [documentOf({ "/{id}": { get: { responses: OK } } }), "id is none"],
      [
        single(bodyOf(binary, {}, "multipart/form-data"), {}, "post"),
        "f of its multipart body is a file",
      ],
      [
        single(bodyOf({}, {}, "application/octet-stream"), {}, "post"),
        "it is application/octet-stream",
      ],
      [
        single({ responses: resultOf({ $ref: "#/components/schemas/A" }) }, {
          components: {
            schemas: { A: { items: { $ref: "#/components/schemas/B" } }, B: { $dynamicRef: "#a" } },
          },
        }),
        "schema B has $dynamicRef",
      ],
    ] as const
  ) await assertLeftOut(document, text);
  await assertRefused(HOLDS_ITSELF, "refers to an object; bundle its files first");
});

Deno.test("openApiTools() leaves out schemas without an end, and refuses documents that hold themselves", async () => {
  const within = (schemas: JsonObject) =>
    single({
      parameters: [{ name: "q", in: "query", schema: { $ref: "#/components/schemas/A" } }],
    }, { components: { schemas } });
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  await assertLeftOut(within({ A: ref("B"), B: ref("A") }), "refers to itself");
  const { components } = within({ A: ref("B"), B: ref("A") });
  await assertLeftOut(
    single(bodyOf(ref("A")), { components: components! }, "post"),
    "refers to itself",
  );
  await assertRefused(within({ A: { allOf: [{ anyOf: [ref("A")] }] } }), "refers to itself");
  await assertLeftOut(
    single({ parameters: [{ $ref: "#/components/parameters/P" }] }, {
      components: { parameters: { P: { $ref: "#/components/parameters/P" } } },
    }),
    "must lead to an end",
  );
  const itself: JsonObject = { type: "object", properties: {} };
  (itself["properties"] as JsonObject)["self"] = itself;
  await assertLeftOut(
    single({ parameters: [{ name: "q", in: "query", schema: itself }] }),
    "refer to themselves by $ref",
  );
  let doubled: JsonObject = { type: "string" };
  for (let level = 0; level < 60; level++) {
    doubled = { type: "object", properties: { a: doubled, b: doubled } };
  }
  await assertRefused(
    single({ parameters: [{ name: "q", in: "query", schema: doubled }] }),
    "as it was before its references were replaced",
  );
});

Deno.test("openApiTools() refuses operations that are unknown, named by two or too many", async () => {
  await assertRefused(PETS, 'it has no "pets.lst"; did you mean pets.list?', {
    operations: ["pets.lst"],
  });
  await assertRefused(PETS, 'it has no "GET /pet"', { operations: ["GET /pet"] });
  await assertRefused(PETS, "at operations: must not be empty", { operations: [] });
  await assertRefused(PETS, 'none has "pet"; did you mean pets?', {
    operations: { tags: ["pet"] },
  });
  await assertRefused(PETS, 'at operations: expected array or object or "all", received string', {
    operations: "pets.list" as unknown as string[],
  });
  const many = Object.fromEntries(
    Array.from({ length: 129 }, (_, index) => [
      `/p${index}`,
      { get: { operationId: index < 2 ? "twin" : `op${index}`, responses: OK } },
    ]),
  );
  await assertRefused(documentOf(many), "at most 128 tools: it has 129 operations; choose some");
  await assertRefused(documentOf(many), "GET /p0, GET /p1; choose by method and path", {
    operations: ["twin"],
  });
  const all = Object.keys(many).map((path) => `GET ${path}`);
  assertEquals((await openApiTools(documentOf(many), { operations: all })).length, 129);
});

Deno.test("openApiTools() refuses options that are wrong", async () => {
  for (
    const [options, text] of [
      [{ operation: ["a"] }, 'Unrecognized key: "operation"; did you mean operations?'],
      [{ seed: 0.5 }, "at seed: expected int, received number"],
      [{ seconds: 0 }, "at seconds: must be above 0: it is 0"],
      [
        { headers: { "a b": "c" }, baseURL: "http://x" },
        "at headers: must have names and texts that HTTP allows",
      ],
      [{ headers: { a: "c" } }, "at headers: need a baseURL"],
      [{ baseURL: "ftp://x" }, "begins with http:// or https://"],
      [{ baseURL: "x" }, "begins with http:// or https://"],
      [
        { baseURL: "http://me:pass-word@x" },
        "must have no user or password: give it as the header authorization",
      ],
    ] as const
  ) await assertRefused(PETS, text, options as OpenApiToolsOptions);
});

Deno.test("openApiTools() leaves out what HTTP cannot carry, and blames no model for it", async () => {
  const baseURL = "http://localhost";
  const header = { parameters: [{ name: "a b", in: "header", schema: {} }] };
  for (
    const [document, text] of [
      [single(bodyOf({})), "GET /it of the OpenAPI document as HTTP must be able to carry"],
      [single({}, {}, "trace"), "Method is forbidden"],
      [single(header), "a b must be a text that a header can hold"],
      [single(bodyOf({}, {}, "application/json;\r\na: b"), {}, "post"), "Invalid header value"],
      [documentOf({ "/a/../b": { get: { responses: OK } } }), "a part of the path . or .."],
    ] as const
  ) await assertLeftOut(document, text, { baseURL });
});

Deno.test("openApiTools() refuses addresses that lead to nothing, and documents and references that do", async () => {
  await using place = await folder();
  await assertRefused(new URL(`file://${place.file("none")}`), "there is no such file or folder");
  await assertRefused(new URL("data:text/plain,x"), "must begin with file:, http: or https:");
  await assertRefused(documentOf({}), "it must have an operation");
  await assertRefused(
    single({ parameters: [{ $ref: "#/constructor/prototype" }] }),
    "must lead to a part of it",
  );
});
