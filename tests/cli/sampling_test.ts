// How models sample: what suites and flags say reaches the server, and a server that refuses it is named.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { type Asked, sayingServer } from "../support/saying_server.ts";

type Sent = ChatRequest & Readonly<Record<string, unknown>>;

/** What a server answers in place of a reply. */
type Refusal = (sent: Sent) => object | undefined;

/** A server of a model without mistakes, which refuses some requests with 400. */
function pickyServer(refuse: Refusal = () => undefined) {
  const planner = parseSimulatedModel("sim:planner");
  return sayingServer(({ body }) => {
    const sent = body as unknown as Sent;
    const error = refuse(sent);
    return error === undefined
      ? Response.json({ ...planner.reply(sent), model: sent.model })
      : Response.json({ error }, { status: 400 });
  });
}

/** As OpenAI's reasoning models answer. */
const reasoning: Refusal = (sent) =>
  sent["temperature"] !== undefined
    ? {
      message:
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) " +
        "value is supported.",
      type: "invalid_request_error",
      param: "temperature",
      code: "unsupported_value",
    }
    : sent["top_p"] !== undefined
    ? {
      message: "Unsupported parameter: 'top_p' is not supported with this model.",
      type: "invalid_request_error",
      param: "top_p",
      code: "unsupported_parameter",
    }
    : undefined;

const SAMPLING = ["temperature", "top_p"] as const;

/** What was sent of each model's sampling, once each. */
function sampled(requests: readonly Asked[]): Map<string, string> {
  return new Map(
    requests.map((
      { body },
    ) => [`${body["model"]}`, SAMPLING.map((field) => `${body[field]}`).join(" ")]),
  );
}

/** A suite of ten tasks with the sampling of the paper. */
const suiteOf = (models: readonly unknown[], more: object = {}) =>
  JSON.stringify({
    ...{ name: "s", seed: 1, graphs: 10, tasks: [{ core: 2, depth: 1 }], models },
    ...{ sampling: { temperature: 0, topP: 1 } },
    ...more,
  });

Deno.test("the paper's suites sample with temperature 0 and top-p 1 (FuncBenchGen B.1)", async () => {
  const { main_grid: first, ...others } = Object.fromEntries(
    ["main_grid", "distractors", "no_extra", "larger_sets", "mitigation", "depth_40"].map(
      (name) => {
        const text = Deno.readTextFileSync(`${ROOT}/fixtures/suites/${name}.jsonc`);
        return [name, /"sampling": (\{.*?\})/.exec(text)?.[1]];
      },
    ),
  );
  assertEquals(first, '{ "temperature": 0, "topP": 1 }');
  for (const other of Object.values(others)) assertEquals(other, first);
  await using place = await folder();
  await using server = pickyServer();
  const suite = place.write("suite.jsonc", suiteOf(["from-the-suite"]));
  const run = (...flags: string[]) =>
    toolgate(["run", suite, "--base-url", server.url, "--concurrency", "1", ...flags]);
  assertEquals((await run("--model", "from-a-flag")).code, 0);
  assertEquals(sampled(server.asked), new Map([["from-a-flag", "0 1"]]));
});

Deno.test("models keep the sampling that they name, null leaves it out, and flags win", async () => {
  await using place = await folder();
  await using server = pickyServer();
  const stages = { plan: "planner", call: { model: "caller", temperature: null, topP: null } };
  const suite = place.write(
    "suite.jsonc",
    suiteOf([
      "usual",
      { model: "warm", temperature: 0.7 },
      { model: "left out", temperature: null, topP: null },
    ], { graphs: 1, strategies: ["plain", { strategy: "plan_then_call", models: stages }] }),
  );
  const out = place.file("out.jsonl");
  const run = (...flags: string[]) => toolgate(["run", suite, "--base-url", server.url, ...flags]);
  const usual = await run("--out", out);
  assertEquals(usual.code, 0, usual.all);
  const defaults = "undefined undefined";
  assertEquals(
    sampled(server.asked),
    new Map([
      ["usual", "0 1"],
      ["warm", "0.7 1"],
      ["left out", defaults],
      ["planner", "0 1"],
      ["caller", defaults],
    ]),
  );
  // The plan has what was sent, and resumes.
  const [{ resolved }] = readLines(out);
  assertEquals(resolved.models, [
    { model: "usual", temperature: 0, topP: 1 },
    { model: "warm", temperature: 0.7, topP: 1 },
    { model: "left out" },
  ]);
  assertEquals((await run("--out", out, "--resume")).code, 0);
  const other = await run("--out", out, "--resume", "--temperature", "0.2");
  assertEquals(other.code, 2, other.all);
  assertMatch(other.stderr, /it differs in models, strategies/);
  const before = server.asked.length;
  await run("--temperature", "0.2", "--top-p", "default");
  assertEquals([...sampled(server.asked.slice(before)).values()], [
    "0.2 undefined",
    "0.2 undefined",
    "0.2 undefined",
    "0.2 undefined",
    defaults,
  ]);
  for (const [flag, value] of [["--temperature", "3"], ["--top-p", "1.5"], ["--top-p", "no"]]) {
    const refused = await run(flag!, value!);
    assertEquals(refused.code, 2, refused.all);
    assertMatch(refused.stderr, /must be a number from 0 to [12], or default/);
  }
});

Deno.test("a model that refuses a temperature ends the run with what to leave out (FuncBenchGen B.1)", async () => {
  await using place = await folder();
  await using server = pickyServer(reasoning);
  const suite = place.write("suite.jsonc", suiteOf(["thinker"]));
  const out = place.file("out.jsonl");
  const run = (...flags: string[]) =>
    toolgate(["run", suite, "--base-url", server.url, "--out", out, ...flags]);
  const refused = await run();
  assertEquals(refused.code, 2, refused.all);
  const host = new URL(server.url).host;
  assertStringIncludes(
    refused.stderr,
    `Cannot get a reply of thinker at ${host} as it refuses temperature: leave it out with temperature: null ` +
      "in its entry, or with --temperature default: 400 Unsupported value: 'temperature' does not support 0",
  );
  // One request was refused, and the next run can begin.
  assertEquals([server.asked.length, refused.stdout], [1, ""]);
  const next = await run("--temperature", "default");
  assertEquals(next.code, 2, next.all);
  assertMatch(
    next.stderr,
    /refuses topP: leave it out with topP: null in its entry, or with --top-p default/,
  );
  const last = await run("--temperature", "default", "--top-p", "default");
  assertEquals(last.code, 0, last.all);
  const entry = place.write(
    "entry.jsonc",
    suiteOf([{ model: "thinker", temperature: null, topP: null }]),
  );
  const own = await toolgate(["run", entry, "--base-url", server.url]);
  assertEquals(own.code, 0, own.all);
});

Deno.test("only an option that was sent and refused by name is told of as one", async (context) => {
  const asked = async (message: string) => {
    await using place = await folder();
    await using server = pickyServer(() => ({ message, type: "invalid_request_error" }));
    const suite = place.write("suite.jsonc", suiteOf(["thinker"], { graphs: 1 }));
    return (await toolgate(["run", suite, "--base-url", server.url])).all;
  };
  const named: readonly (readonly [message: string, options: string | undefined])[] = [
    ["`temperature` and `top_p` cannot both be specified for this model.", "temperature, topP"],
    ["temperature: Extra inputs are not permitted", "temperature"],
    ["`top_p` is deprecated for this model.", "topP"],
    // Not sent, or of something else.
    ["Unsupported parameter: 'seed' is not supported with this model.", undefined],
    ["Invalid schema for function 'heat': 'temperature' is not permitted", undefined],
    ["the temperature of the room is high", undefined],
  ];
  for (const [message, options] of named) {
    await context.step(message, async () => {
      const found = /as it refuses ([^:]*): leave/.exec(await asked(message))?.[1];
      assertEquals(found, options);
    });
  }
});
