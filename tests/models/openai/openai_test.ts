import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { openai } from "../../../lib/models/openai/openai.ts";
import {
  ADD,
  asked,
  completion,
  KEY,
  serversOf,
  serving,
  WIRES,
} from "../../support/wire_servers.ts";

const sound = () => Response.json(completion());

/** Runs `body` while the environment's variables have these values, or are absent. */
async function withEnvironment(
  variables: Record<string, string | undefined>,
  body: () => void | Promise<void>,
) {
  const before = new Map(Object.keys(variables).map((name) => [name, Deno.env.get(name)]));
  const set = (name: string, value: string | undefined) =>
    value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  try {
    for (const [name, value] of Object.entries(variables)) set(name, value);
    await body();
  } finally {
    for (const [name, value] of before) set(name, value);
  }
}

// First, as only the first request could leave something behind.
Deno.test("openai() leaves nothing that a test which is checked for leaks would be blamed for", {
  sanitizeOps: true,
  sanitizeResources: true,
}, async () => {
  await using server = serving(sound);
  assertEquals((await server.model().reply(asked())).text, "hello");
});

// Construction.

Deno.test("openai() names itself after the model unless told otherwise", () => {
  const options = { model: "parrot", baseURL: "http://127.0.0.1:1", apiKey: KEY };
  const { name, simulated } = openai(options);
  assertEquals([name, simulated], ["parrot", false]);
  const other = openai({ ...options, name: "sim:parrot", simulated: true });
  assertEquals([other.name, other.simulated], ["sim:parrot", true]);
});

Deno.test("openai() needs a key for OpenAI's own servers and says how to set it", async () => {
  await withEnvironment({ OPENAI_API_KEY: undefined }, () => {
    for (
      const baseURL of [undefined, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"]
    ) {
      const error = assertThrows(
        () => openai({ model: "gpt-x", ...(baseURL === undefined ? {} : { baseURL }) }),
        InputError,
      );
      assertMatch(
        error.message,
        /gpt-x.*OPENAI_API_KEY is not set; set it, or in code pass apiKey$/,
      );
      assertNotMatch(error.message, /\n/);
    }
  });
});

Deno.test("openai() says which permission the key needs when it may not be read", {
  permissions: { env: false },
}, () => {
  assertThrows(() => openai({ model: "gpt-x" }), InputError, "--allow-env=OPENAI_API_KEY");
});

Deno.test("openai() needs no permission when it is given a key", { permissions: "none" }, () => {
  assertEquals(openai({ model: "gpt-x", apiKey: KEY }).name, "gpt-x");
});

Deno.test("openai() takes a key from the headers", async () => {
  await withEnvironment({ OPENAI_API_KEY: undefined }, () => {
    openai({ model: "gpt-x", headers: { Authorization: `Bearer ${KEY}` } });
  });
});

Deno.test("openai() sends the environment's key, and before it the option", async () => {
  await using server = serving(sound);
  await withEnvironment({ OPENAI_API_KEY: " from-environment \n" }, async () => {
    const options = { model: "parrot", baseURL: `http://${server.host}/v1` };
    await openai(options).reply(asked());
    await openai({ ...options, apiKey: KEY }).reply(asked());
  });
  const sent = server.received.map(({ headers }) => headers.get("authorization"));
  assertEquals(sent, ["Bearer from-environment", `Bearer ${KEY}`]);
});

Deno.test("openai() sends a placeholder to other servers when there is no key", async () => {
  await using server = serving(sound);
  await withEnvironment({ OPENAI_API_KEY: undefined }, async () => {
    await openai({ model: "parrot", baseURL: `http://${server.host}/v1` }).reply(asked());
  });
  assertEquals(server.received[0]?.headers.get("authorization"), "Bearer none");
});

Deno.test("openai() is not redirected or changed by the environment", async () => {
  await using server = serving(sound);
  await using stranger = serving(sound);
  await withEnvironment({
    OPENAI_BASE_URL: `http://${stranger.host}/v1`,
    OPENAI_ORG_ID: "an-organization",
    OPENAI_PROJECT_ID: "a-project",
    OPENAI_CUSTOM_HEADERS: "x-stray: yes",
    OPENAI_LOG: "debug",
  }, async () => {
    const model = server.model();
    assertEquals(Deno.env.get("OPENAI_ORG_ID"), "an-organization");
    await model.reply(asked());
  });
  assertEquals([server.received.length, stranger.received.length], [1, 0]);
  const { headers } = server.received[0]!;
  for (const name of ["openai-organization", "openai-project", "x-stray"]) {
    assertEquals(headers.get(name), null);
  }
});

Deno.test("openai() asks OpenAI by default, whatever OPENAI_BASE_URL says", {
  permissions: { env: true, net: ["127.0.0.1"] },
}, async () => {
  await withEnvironment({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }, async () => {
    const error = await assertRejects(
      () => openai({ model: "gpt-x", apiKey: KEY }).reply(asked()),
      InfrastructureError,
    );
    assertStringIncludes(error.message, "--allow-net=api.openai.com (1 attempt)");
  });
});

Deno.test("openai() refuses a base URL that is no http or https address", () => {
  for (const baseURL of ["", "localhost:8080/v1", "ftp://host/v1", "/v1", "http://"]) {
    const error = assertThrows(() => openai({ model: "p", baseURL, apiKey: KEY }), InputError);
    assertStringIncludes(error.message, `must start with http:// or https://: it is "${baseURL}"`);
  }
});

Deno.test("openai() does not show the password of a base URL it refuses", () => {
  const baseURL = "ftp://me:s3cr3t@host/v1";
  const error = assertThrows(() => openai({ model: "p", baseURL, apiKey: KEY }), InputError);
  assertNotMatch(error.message, /s3cr3t/);
});

Deno.test("openai() refuses a key or a header that cannot be sent, without showing it", () => {
  const baseURL = "http://127.0.0.1:1/v1";
  const key = assertThrows(
    () => openai({ model: "p", baseURL, apiKey: "s3cr3t\nx" }),
    InputError,
    "the API key",
  );
  const header = assertThrows(
    () => openai({ model: "p", baseURL, apiKey: KEY, headers: { "x-a": "s3cr3t\n" + "\u0000" } }),
    InputError,
    'the header "x-a"',
  );
  for (const { message } of [key, header]) assertNotMatch(message, /s3cr3t/);
});

Deno.test("openai() refuses to stream and policies that make no sense", () => {
  const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY };
  for (const field of ["stream", "background"]) {
    assertThrows(
      () => openai({ ...options, body: { [field]: true } }),
      InputError,
      `body.${field}`,
    );
  }
  assertThrows(() => openai({ ...options, retries: -1 }), InputError, "retries");
});

// What both wire formats share.

Deno.test("openai() refuses a tool choice that there is not", () => {
  const table = ["", "any", null, {}, { function: "" }, { function: "add", type: "function" }];
  for (const choice of table) {
    const toolChoice = choice as "auto";
    const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY, toolChoice };
    const error = assertThrows(() => openai(options), InputError);
    assertMatch(
      error.message,
      /^Cannot use the options of openai\(\):\n {2}at toolChoice(\.function)?: /,
    );
  }
});

Deno.test("openai() refuses an api that there is not", () => {
  for (const api of ["", "react", "smoke", "__proto__", "constructor", null, 7]) {
    const options = {
      model: "p",
      baseURL: "http://127.0.0.1:1/v1",
      apiKey: KEY,
      api: api as "chat",
    };
    const error = assertThrows(() => openai(options), InputError);
    assertMatch(
      error.message,
      /^Cannot use the options of openai\(\):\n {2}at api: expected .*"responses"/,
    );
  }
});

Deno.test("openai() says how a model is spoken to where that is not the usual way", () => {
  const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY };
  assertEquals([openai(options).api, openai({ ...options, api: "chat" }).api], [
    undefined,
    undefined,
  ]);
  assertEquals(openai({ ...options, api: "responses" }).api, "responses");
});

for (const { api, path, hello } of WIRES) {
  const { serving } = serversOf(api);
  const sound = () => Response.json(hello());

  Deno.test(`openai() by ${api} keeps path and query of the base URL`, async () => {
    await using server = serving(sound);
    await server.model({ baseURL: `http://${server.host}/deep/v2/?api-version=3` }).reply(asked());
    await server.model().reply(asked());
    const below = path.slice("/v1".length);
    assertEquals(server.received.map(({ path }) => path), [
      `/deep/v2${below}?api-version=3`,
      `/v1${below}`,
    ]);
  });

  Deno.test(`openai() by ${api} refuses a base URL that has the path of requests`, () => {
    const baseURL = `http://127.0.0.1:1${path}`;
    const error = assertThrows(() => openai({ model: "m", baseURL, apiKey: "none" }), InputError);
    assertEquals(
      error.message,
      `Cannot ask m as a base URL must end before ${path.slice(3)}: leave that out`,
    );
  });

  Deno.test(`openai() by ${api} merges body, and over it requestFields`, async () => {
    await using server = serving(sound);
    await server.model({
      temperature: 1,
      body: { temperature: 0.5, top_k: 4, user: "me" },
      requestFields: ({ context }) => ({ user: context.trial, request: context.request }),
    }).reply(asked());
    const { temperature, top_k, user, request } = server.received[0]!.body;
    assertEquals([temperature, top_k, user, request], [0.5, 4, "t", 1]);
  });

  Deno.test(`openai() by ${api} leaves out what is about tools when there are none`, async () => {
    await using server = serving(sound);
    await server.model({ parallelToolCalls: true, toolChoice: "required" }).reply(asked());
    const told = api === "chat" ? "messages" : "input";
    assertEquals(Object.keys(server.received[0]!.body), ["model", told]);
  });

  Deno.test(`openai() by ${api} lets a request choose over the options`, async () => {
    await using server = serving(sound);
    const request = asked({ tools: [ADD], toolChoice: "none" });
    await server.model({ toolChoice: "required" }).reply(request);
    assertEquals(server.received[0]!.body["tool_choice"], "none");
    const odd = asked({ tools: [ADD], toolChoice: "any" as "auto" });
    await assertRejects(
      () => server.model().reply(odd),
      InputError,
      "must be auto, none, required",
    );
  });
}
