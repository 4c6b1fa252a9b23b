// Canaries: secrets planted wherever real ones may be, and looked for in every byte that comes out.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { Buffer } from "node:buffer";
import { run } from "../../lib/cli/run.ts";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { MARK } from "../../lib/base/secrets.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import { deno, type Finished, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

/** Secrets that nothing but their place gives away; their characters differ in JSON, URLs and HTML. */
const PLACED = {
  /** `OPENAI_API_KEY`. */
  key: 'wren"key/one+<1>',
  /** Another variable, which a model's `apiKeyVariable` names. */
  variable: 'robin"key/two+&2',
  /** A header of a model in a benchmark. */
  header: "dipper; team=three 3",
  /** A header's token, of which a server may quote the token alone. */
  token: "siskin-token-four-4",
};

/** Secrets that show themselves. */
const SHOWN = {
  sk: "sk-proj-linnet0123456789linnet",
  bearer: "linnetbearer0123456789",
  password: "linnetpassword5",
  label: "linnetlabel0123456789",
  github: "ghp_linnet0123456789linnet0123456789abcd",
};

/** What may be a key, and is taken out of errors alone. */
const LIKELY = "sk-siskin";

/** What a text may hold that quotes other people's secrets. */
const QUOTED = `Incorrect API key provided: ${SHOWN.sk}. Bearer ${SHOWN.bearer}; ` +
  `http://me:${SHOWN.password}@host.test/v1 {"api_key": "${SHOWN.label}"} ${SHOWN.github}`;

/** A server that says back what it is sent. */
function echoing() {
  const sent = new Map<string, number>();
  const begun = new Map<string, number>();
  const seen: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const asked = await request.json();
    const secrets = [request.headers.get("authorization"), request.headers.get("x-team")].join(" ");
    const echo = `${secrets} ${JSON.stringify([...request.headers])} ${QUOTED}`;
    seen.push(`${echo} ${JSON.stringify(asked)}`);
    const served = `parrot ${secrets} ${SHOWN.sk}`;
    const say = (message: JsonObject) =>
      Response.json({
        ...{ id: "x", object: "chat.completion", created: 1, model: served },
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      });
    const call = (name: string, given: JsonObject) => ({
      ...{ id: `call ${name} ${echo}`, type: "function" },
      function: { name, arguments: JSON.stringify(given) },
    });
    const answers: Record<string, () => Response> = {
      "401": () => Response.json({ error: { message: echo } }, { status: 401 }),
      "400": () => Response.json({ detail: echo }, { status: 400 }),
      "500": () =>
        new Response(`<html><body><pre>${escapeHtml(echo)}</pre>${encodeURIComponent(secrets)}`, {
          status: 500,
          headers: { "content-type": "text/html" },
        }),
      "no json": () =>
        new Response(`{"choices": ${echo}`, { headers: { "content-type": "application/json" } }),
      "odd shape": () => Response.json({ choices: echo, [echo]: 1 }),
      text: () =>
        say({
          content: `The headers are ${echo}, in base64 ${btoa(secrets)} and ${
            Buffer.from(`user:${secrets}`).toString("base64url")
          }, for a URL ${percentEncoded(secrets)}`,
        }),
      call: () =>
        say({
          content: `I call with ${echo}`,
          tool_calls: [
            call(asked.tools[0].function.name, { echo, [echo]: [secrets], token: SHOWN.label }),
            call(echo, {}),
          ],
        }),
    };
    // A model whose first reply is refused would not be asked again.
    const kinds = asked.model === "calm"
      ? ["text", "call"]
      : ["text", ...Object.keys(answers).filter((kind) => kind !== "text")];
    const { messages } = asked;
    const first = messages.length < 3;
    // A trial's first message decides, so that every kind has its trials and calls have an end.
    const count = begun.get(asked.model) ?? 0;
    if (first) begun.set(asked.model, count + 1);
    const kind = first ? kinds[count % kinds.length]! : "text";
    sent.set(kind, (sent.get(kind) ?? 0) + 1);
    return answers[kind]!();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    sent,
    seen,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Escapes every character for a URL, also those that need no escape. */
function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Everything that a folder holds, also what is compressed within a page. */
function* filesIn(path: string): Generator<readonly [name: string, text: string]> {
  for (const { name, isDirectory } of Deno.readDirSync(path)) {
    if (isDirectory) yield* filesIn(`${path}/${name}`);
    else {
      const text = new TextDecoder("latin1").decode(Deno.readFileSync(`${path}/${name}`));
      yield [name, new TextDecoder().decode(Deno.readFileSync(`${path}/${name}`))];
      for (const [, packed] of text.matchAll(/>(H4sI[A-Za-z0-9+/=]+)</g)) {
        yield [`${name}, unpacked`, gunzipSync(Buffer.from(packed!, "base64")).toString()];
      }
    }
  }
}

/** The shapes in which a secret may have come out; of base64, what does not depend on neighbours. */
function shapesOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    ...[secret, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(secret)],
    percentEncoded(secret),
    ...[secret, json].flatMap((text) => [
      escapeHtml(text),
      escapeHtml(text).replaceAll('"', "&quot;"),
    ]),
    ...[0, 1, 2].flatMap((before) =>
      (["base64", "base64url"] as const).map((alphabet) =>
        Buffer.from("x".repeat(before) + secret).toString(alphabet).slice(
          4 * Math.ceil(before / 3),
          -4,
        )
      )
    ),
  ];
}

function assertHidden(texts: Iterable<readonly [name: string, text: string]>) {
  const secrets = { ...PLACED, ...SHOWN };
  for (const [name, text] of texts) {
    for (const [secret, value] of Object.entries(secrets)) {
      for (const shape of shapesOf(value)) {
        const at = text.indexOf(shape);
        assert(
          at < 0,
          `${name} has ${secret} as ${shape}: ${text.slice(Math.max(0, at - 150), at + 80)}`,
        );
      }
    }
  }
}

function outputsOf(...all: readonly Finished[]): [string, string][] {
  return all.map((one) => [one.all.split("\n")[0]!, `${one.stdout}\n${one.stderr}`]);
}

const ENVIRONMENT = { OPENAI_API_KEY: PLACED.key, TEAM_ACCESS: PLACED.variable };

Deno.test("run, report, gate, accept and export let no secret out that a server says back", async () => {
  await using server = echoing();
  await using place = await folder();
  const suiteOf = (name: string, models: readonly JsonObject[]) =>
    place.write(
      `${name}.json`,
      JSON.stringify({
        ...{ name: "canaries", seed: 1, graphs: 14, repetitions: 1, gate: { successRate: 0.5 } },
        tasks: [{ core: 2, depth: 1, connected: 0, disconnected: 0 }],
        models: models.map((model) => ({ ...model, baseURL: server.url })),
      }),
    );
  const suite = suiteOf("suite", [{ model: "one" }, {
    model: "two",
    apiKeyVariable: "TEAM_ACCESS",
  }]);
  const calm = suiteOf("calm", [{ model: "calm", apiKeyVariable: "TEAM_ACCESS" }]);
  const env = { ...ENVIRONMENT, GITHUB_STEP_SUMMARY: place.file("summary.md") };
  const out = place.file("out.jsonl");
  const told = [
    await toolgate([
      ...["run", suite, "--out", out, "--retries", "0", "--record", place.file("recordings")],
    ], { env }),
    await toolgate(["run", suite, "--only", "nothing", "--retries", "0"], { env }),
    await toolgate(["report", out], { env }),
    await toolgate([
      ...["report", out, "--html", place.file("page.html"), "--markdown", place.file("page.md")],
      ...["--json", place.file("page.json")],
    ], { env }),
    await toolgate(["gate", out], { env }),
    await toolgate(["gate", out, "--json"], { env }),
    await toolgate(["run", calm, "--out", place.file("calm.jsonl"), "--retries", "0"], { env }),
    await toolgate(["accept", place.file("calm.jsonl"), "--out", place.file("baseline.json")], {
      env,
    }),
    await toolgate(
      ["gate", place.file("calm.jsonl"), "--baseline", place.file("baseline.json")],
      { env },
    ),
    ...await Promise.all(
      ["openai-chat", "hermes"].map((format) =>
        toolgate(["export", out, "--format", format, "--out", place.file(`${format}.jsonl`)], {
          env,
        })
      ),
    ),
  ];
  assertHidden([...outputsOf(...told), ...filesIn(place.path)]);

  // Every canary was planted where it could have come out.
  for (const kind of ["401", "400", "500", "no json", "odd shape", "text", "call"]) {
    assert((server.sent.get(kind) ?? 0) >= 2, `${kind}: ${JSON.stringify([...server.sent])}`);
  }
  for (const secret of [PLACED.key, PLACED.variable, ...Object.values(SHOWN)]) {
    assert(server.seen.some((text) => text.includes(secret)), secret);
  }
  const trials = readLines(out).slice(1);
  assertEquals(trials.length, 28, told[0]!.all);
  const has = (what: string, test: (trial: JsonObject & { events: JsonObject[] }) => unknown) =>
    assert(trials.some(test), what);
  has("a reason", ({ reason }) => String(reason).includes(MARK));
  has(
    "a served model",
    ({ model }) => (model as JsonObject)["served"] === `parrot Bearer ${MARK}  ${MARK}`,
  );
  const inEvent = (kind: string, field: string) =>
    has(
      `${field} of a ${kind}`,
      ({ events }) =>
        events.some((event) => event["kind"] === kind && String(event[field]).includes(MARK)),
    );
  inEvent("call", "arguments");
  inEvent("call", "function");
  inEvent("reply", "text");
  inEvent("answer", "text");
  inEvent("stop", "message");
  assertStringIncludes(told[0]!.stderr, MARK);
  for (const name of ["out.jsonl", "page.html, unpacked", "openai-chat.jsonl", "recordings"]) {
    const found = name === "recordings"
      ? [...filesIn(place.file(name))]
      : [...filesIn(place.path)].filter(([file]) => file === name);
    assert(found.some(([, text]) => text.includes(MARK)), `${name} quotes nothing`);
  }
  for (const name of ["summary.md", "baseline.json", "page.json", "page.md"]) {
    assert(Deno.statSync(place.file(name)).size > 0, name);
  }
});

Deno.test("deno test lets no secret out, of tools and assertions neither", async () => {
  await using server = echoing();
  await using place = await folder();
  const shared =
    `import { benchmark, grid, openai, scripted, tool, toolTest } from "${ROOT}/mod.ts";
const environment = Deno.env.get("OPENAI_API_KEY")!;
const quoted = ${JSON.stringify(QUOTED)};
const model = (name: string) => openai({
  model: name,
  baseURL: "${server.url}",
  retries: 0,
  headers: { "x-team": ${JSON.stringify(PLACED.header)}, "x-flag": "true", "x-auth": ${
      JSON.stringify(`Bearer ${PLACED.token}`)
    } },
});
`;
  const file = place.write(
    "tools.ts",
    shared + `benchmark("canary benchmark", {
  model: model("three"),
  tasks: grid({ core: 2, depth: 1 }),
  seed: 1,
  graphs: 14,
  gate: { successRate: 0.5 },
});
const tools = [
  tool({ name: "read", description: "Reads", parameters: { type: "object", properties: {} },
    execute: () => ({ environment, quoted, token: ${JSON.stringify(SHOWN.label)} }) }),
  tool({ name: "fail", description: "Fails", parameters: { type: "object", properties: {} },
    execute: () => { throw new Error(environment + " ${LIKELY} " + quoted); } }),
];
const caller = () => scripted("caller", (request) => {
  const results = request.messages.filter(({ role }) => role === "tool");
  if (results.length > 0) return { text: results.map(({ content }) => content).join(" ") };
  const asked = JSON.stringify(request.messages);
  if (!asked.includes(environment.slice(0, 4)) || !asked.includes("Authorization")) throw new Error("no prompt");
  return { calls: ["read", "fail"].map((name) => ({ name, arguments: {} })) };
});
const prompt = environment + " " + quoted;
const system = "Authorization: Bearer ${SHOWN.bearer}, " + environment;
for (const [name, assert] of Object.entries({
  equals: (run: any) => { if (!run.answer.includes(JSON.stringify(environment).slice(1, -1))) throw new Error("changed too early");
    throw Object.assign(new Error("${LIKELY} " + run.answer + quoted), { name: "AssertionError" }); },
  odd: (run: any) => { throw new TypeError(run.answer.slice(0, 20) + " ${LIKELY}"); },
  text: (run: any) => { throw environment + quoted; },
})) toolTest("canary " + name, { model: caller(), tools, prompt, system, turns: [prompt], assert });
toolTest("canary model", { tools, prompt, system, assert() {},
  model: scripted("thrower", () => { throw new Error("${LIKELY} " + prompt); }) });
toolTest("canary over the wire", { tools, prompt, system, model: model("four"), trials: 7,
  assert(run: any) { throw new Error(run.answer); } });
`,
  );
  const env = { ...ENVIRONMENT, GITHUB_STEP_SUMMARY: place.file("summary.md") };
  const told = await deno([
    ...["test", "--no-prompt", "--no-check", "--allow-net=127.0.0.1", "--allow-env"],
    ...["--allow-read", `--allow-write=${place.path}`, "--config", `${ROOT}/deno.json`],
    ...[file, "--", `--out=${place.path}/out/`, `--report=${place.path}/report/`],
  ], { env });
  const made = [...filesIn(place.path)].filter(([name]) => !name.endsWith(".ts"));
  assertHidden([...outputsOf(told), ...made]);
  const { code, stdout, all } = told;
  for (const [name, text] of made) assert(!text.includes(LIKELY), name);
  assert(!all.includes(LIKELY), all);

  for (const secret of [...Object.values(PLACED).filter((one) => one !== PLACED.variable)]) {
    assert(
      server.seen.some((text) => text.includes(JSON.stringify(secret).slice(1, -1))),
      secret,
    );
  }
  assertEquals(code, 1, all);
  assertStringIncludes(stdout, MARK);
  assert(!all.includes("changed too early") && !all.includes("no prompt"), all);
  const journals = made.filter(([name]) => name.endsWith(".jsonl"));
  assertEquals(journals.length, 2, made.map(([name]) => name).join());
  const lines = journals.flatMap(([, text]) =>
    text.trim().split("\n").map((line) => JSON.parse(line))
  );
  const events = lines.flatMap(({ events = [] }): JsonObject[] => events);
  const marked = (kind: string, field: string) =>
    assert(
      events.some((event) => event["kind"] === kind && String(event[field]).includes(MARK)),
      `${kind} ${field}`,
    );
  marked("call", "result");
  marked("call", "error");
  marked("call", "arguments");
  marked("answer", "text");
  marked("turn", "text");
  marked("assertion", "message");
  marked("stop", "message");
  // A header of four letters is no secret.
  assert(journals.some(([, text]) => /x-flag[^a-z]*true/.test(text)));
  assert(made.some(([name]) => name.endsWith(".html, unpacked")));
});

Deno.test("the command line shows no secret when it crashes, or refuses what it is given", async () => {
  await using place = await folder();
  const crash = (code: string) =>
    place.write(
      "crash.ts",
      `const key = Deno.env.get("OPENAI_API_KEY")! + " ${SHOWN.sk}";\n${code}`,
    );
  const run = (file: string, ...arguments_: string[]) =>
    deno(
      [
        "run",
        "--no-check",
        "--no-prompt",
        "-A",
        "--preload",
        file,
        `${ROOT}/lib/cli/main.ts`,
        ...arguments_,
      ],
      { env: { ...ENVIRONMENT, SHOP_TOKEN: PLACED.token } },
    );
  // Long enough to be known by the name of its variable.
  for (
    const code of [
      `Deno.permissions.revokeSync = () => { throw { crashed: { with: [key] } }; };`,
      `Deno.permissions.revokeSync = () => void Promise.reject(new Error("crashed with " + key));`,
      `Deno.permissions.revokeSync = () => void setTimeout(() => { throw new Error("crashed with " + key); });`,
    ]
  ) {
    const told = await run(crash(code), "simulate", "--port", "0");
    assertHidden(outputsOf(told));
    assertEquals(told.code, 3, told.all);
    assertStringIncludes(told.stderr, "crashed");
    assertStringIncludes(told.stderr, MARK);
  }
});

Deno.test("read() of a command refuses keys on a command line, and does not repeat them", () => {
  for (
    const arguments_ of [
      ["--api-key", PLACED.token],
      [`--api-key=${PLACED.token}`],
      ["--openai-api-key", PLACED.token],
      [`--token=${PLACED.token}`],
      ["--header", `Authorization: Bearer ${PLACED.token}`],
      ["--base-url", `https://me:${PLACED.token}@host.test/v1`],
      ["--base-url", `me:${PLACED.token}@host.test`],
      ["--base-url", `https://host.test/v1?key=${PLACED.token}`],
      ["--base-url", SHOWN.sk],
      ["--max-tokens", SHOWN.github],
    ]
  ) {
    const error = assertThrows(() => {
      run.read("run", arguments_);
    }, InputError);
    assertHidden([[arguments_[0]!, error.message]]);
    assertStringIncludes(error.message, "Cannot run toolgate run: ");
    const isKey = /key|token=|header/.test(arguments_[0]!);
    assertEquals(error.message.includes("set OPENAI_API_KEY"), isKey, error.message);
  }
});

Deno.test("InfrastructureError() and InputError() hold no key, whoever makes them", () => {
  for (const kind of [InfrastructureError, InputError]) {
    const error = new kind(`Cannot go on: ${QUOTED}`);
    assertHidden([[error.name, Deno.inspect(error)]]);
    assertStringIncludes(error.message, MARK);
  }
});

Deno.test("planLine() refuses a suite that holds a key, and does not repeat it", () => {
  const base = {
    ...{ name: "keys", seed: 1, graphs: 1, models: ["sim:planner"] },
    tasks: [{ core: 2, depth: 1 }],
  };
  const baseURL = "http://127.0.0.1:9/v1";
  const planned = (part: JsonObject) =>
    planLine(
      planSuite(parseWith(SUITE, { ...base, ...part }, "suite.json"), { source: "suite.json" }),
    );
  assertEquals(planned({}).resolved.graphs, 1);
  for (
    const part of [
      { models: [{ model: "m", baseURL, body: { note: SHOWN.sk } }] },
      { models: [{ model: "m", baseURL, body: { extra_headers: { "x-team": PLACED.token } } }] },
      { models: [{ model: "m", baseURL, body: { nested: [{ api_key: PLACED.token }] } }] },
      { models: [{ model: "m", baseURL, headers: { authorization: PLACED.token } }] },
      { models: [{ model: "m", baseURL: `http://me:${SHOWN.password}@127.0.0.1:9/v1` }] },
      { models: [{ model: "m", baseURL: `${baseURL}/${SHOWN.github}` }] },
      { models: [{ model: "m", apiKey: PLACED.token }] },
      { models: [{ model: "sim:planner", name: SHOWN.sk }] },
      { name: `keys ${SHOWN.github}` },
    ] as JsonObject[]
  ) {
    const error = assertThrows(() => planned(part), InputError);
    assertHidden([[JSON.stringify(part), error.message]]);
    if (JSON.stringify(part).includes("body")) {
      assertStringIncludes(error.message, "models[0].body");
    }
  }
});
