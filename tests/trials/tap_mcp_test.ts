// Agents that are clients of MCP: their calls are judged as those over the wire, seen or unseen, whatever their host
// makes of the names.

import { assert, assertEquals } from "@std/assert";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { Tool, ToolChoice } from "../../lib/tools/tool.ts";
import { deriveAgain } from "../../lib/trials/derive.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { mcpHost, type McpResult, mcpServer } from "../support/agents/mcp_host.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { type Saying, sayingServer } from "../support/saying_server.ts";

const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const CORE = coreInOrder(TASK).map((made) => ({
  name: made.name,
  input: rightArguments(TASK, made) as JsonObject,
}));
const ANSWER = `${TASK.target.variable} = ${TASK.target.value}`;
const LIMITS = { calls: 100 };
const MUTE = scripted("mute", () => ({ text: "Nobody asks." }));

/** Every mistake that a call can show, and what it is judged as. */
const MISTAKES: readonly (readonly [name: string, given: JsonValue, type: string])[] = (() => {
  const { name, input } = CORE[0]!;
  const last = CORE.at(-1)!;
  const guessed = Object.fromEntries(Object.keys(last.input).map((key) => [key, 5]));
  const [parameter, ...others] = Object.keys(input);
  const wrong = (value: JsonValue) => ({ ...input, [parameter!]: value });
  return [
    [`${name}x`, input, "function_not_found"],
    ["", [], "function_not_found"],
    [name, Object.fromEntries(others.map((key) => [key, input[key]!])), "wrong_number_of_inputs"],
    [name, { ...input, more: 1 }, "wrong_number_of_inputs"],
    [name, wrong("many"), "wrong_number_of_inputs"],
    [name, wrong(null), "wrong_number_of_inputs"],
    ...[[1], [], "x", JSON.stringify(input), 7, null, true].map((given) =>
      [name, given, "wrong_number_of_inputs"] as const
    ),
    [last.name, guessed, "value_not_yet_known"],
    [name, wrong(123_456_789), "incorrect_value"],
  ];
})();
/** The same, and then every right call. */
const CALLS = [
  ...MISTAKES,
  ...CORE.map(({ name, input }) => [name, input] as const),
];

const saying = (prefix = "", calls = CALLS): Saying[] =>
  calls.map(([name, given]) => ({
    calls: [{ name: `${prefix}${name}`, arguments: JSON.stringify(given) }],
  }));

/** What is judged of a trial. */
const judged = ({ events, failures, outcome, calls }: Trial) => ({
  ...{ outcome, calls, failures },
  events: callsOf(events).map((
    { step, call, function: name, arguments: written, result, failure },
  ) => ({ step, call, name, written, result, failure })),
});

/** The trial of the built-in loop, over the wire. */
async function overTheWire(): Promise<Trial> {
  await using server = sayingServer([...saying(), { text: ANSWER }]);
  return await runTrial(SPEC, server.model(), { limits: LIMITS });
}

async function assertDerived(trial: Trial): Promise<void> {
  const line = TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial)));
  const again = await deriveAgain(line, {
    ...{ limits: LIMITS, references: false, open: openTask },
    strategy: { strategy: "plain" },
  });
  assertEquals(again, { kind: "agrees" });
}

Deno.test("the mistakes of an unseen client of MCP are judged as those over the wire", async () => {
  const wire = await overTheWire();
  assertEquals(
    wire.failures.map(({ type }) => type).filter((_, place) => place < MISTAKES.length),
    MISTAKES.map(([, , type]) => type),
  );
  const results: McpResult[] = [];
  const agent: Agent = async (_, { mcpURL }) => {
    const server = mcpServer(await mcpURL());
    for (const [name, given] of CALLS) results.push(await server.call(name, given));
    await server.call("submit_answer", { answer: ANSWER });
    return "something else";
  };
  const trial = await runTrial(SPEC, MUTE, { agent, limits: LIMITS });
  assertEquals(judged(trial), judged(wire));
  assertEquals([trial.outcome, trial.agent], ["solved", "unwatched"]);
  assertEquals(results.map(({ text }) => text), callsOf(trial.events).map(({ result }) => result));
  assertEquals(
    results.map(({ isError }) => isError),
    results.map(({ text }) => text.startsWith('{"error":')),
  );
  assert(results.slice(0, 13).every(({ isError }) => isError));
  await assertDerived(trial);
});

for (const prefix of ["mcp__toolgate__", "toolgate.", ""]) {
  Deno.test(`the mistakes of a host that offers ${prefix || "no prefix"} are judged as those over the wire`, async () => {
    const wire = await overTheWire();
    const submitted = { name: `${prefix}submit_answer`, arguments: '{"answer":"not this"}' };
    await using server = sayingServer([
      ...saying(prefix),
      { calls: [{ name: "bash", arguments: "{}" }, submitted] },
      { calls: [{ ...submitted, arguments: '{"answer":"nor this"}' }] },
      { text: ANSWER },
    ]);
    const trial = await runTrial(SPEC, server.model(), { agent: mcpHost(prefix), limits: LIMITS });
    assertEquals(trial.agent, "watched", trial.reason);
    const { outcome, ...others } = judged(trial);
    assertEquals({ ...others, outcome: "solved" }, { ...judged(wire) });
    // The first answer that was submitted counts, and no text in its place.
    assertEquals(outcome, "no_answer");
    const answer = trial.events.find((event) => event.kind === "answer");
    assertEquals(answer?.text, "not this");
    assertEquals(
      trial.events.flatMap((event) => event.kind === "reply" ? event.ownCalls ?? [] : [])
        .map((call) => call.function),
      ["bash", submitted.name, submitted.name],
    );
    assertEquals(callsOf(trial.events).filter(({ by, agentDid }) => by ?? agentDid), []);
    await assertDerived(trial);
  });
}

Deno.test("arguments that a host cannot read are judged, though it sends no call", async () => {
  const prefix = "mcp__toolgate__";
  const [{ name }] = CORE as [typeof CORE[0]];
  await using server = sayingServer([
    { calls: [{ name: `${prefix}${name}`, arguments: "{" }] },
    { text: ANSWER },
  ]);
  const trial = await runTrial(SPEC, server.model(), { agent: mcpHost(prefix) });
  assertEquals(trial.agent, "watched");
  const [failure] = trial.failures;
  assertEquals([failure?.type, failure?.function], ["wrong_number_of_inputs", name]);
});

Deno.test("a function that only its plain name was called by was not offered", async () => {
  const prefix = "mcp__toolgate__";
  const [{ name, input }] = CORE as [typeof CORE[0]];
  await using server = sayingServer([
    { calls: [{ name, arguments: JSON.stringify(input) }] },
    { text: ANSWER },
  ]);
  const trial = await runTrial(SPEC, server.model(), { agent: mcpHost(prefix) });
  assertEquals(trial.agent, "watched");
  assertEquals(trial.failures.map(({ type, detail }) => [type, detail]), [
    ["function_not_found", { nearest: `${prefix}${name}` }],
  ]);
  await assertDerived(trial);
});

Deno.test("what a host makes of a call besides is its own, and shown as such", async () => {
  const [one, other] = CORE as [typeof CORE[0], typeof CORE[0]];
  await using server = sayingServer([
    { calls: [{ name: `toolgate_${one.name}`, arguments: JSON.stringify(one.input) }] },
    { text: ANSWER },
  ]);
  const host = mcpHost("toolgate_");
  const agent: Agent = async (task, options) => {
    const text = await host(task, options);
    await mcpServer(await options.mcpURL()).call(other.name, other.input);
    await mcpServer(await options.mcpURL()).call("invented", [1]);
    return text;
  };
  const trial = await runTrial(SPEC, server.model(), { agent });
  assertEquals(trial.agent, "unwatched");
  assertEquals(callsOf(trial.events).map((call) => [call.function, call.by, call.failure?.type]), [
    [one.name, undefined, undefined],
    [other.name, "agent", undefined],
    ["invented", "agent", "function_not_found"],
  ]);
});

/** A tool that returns its name. */
const named = (name: string, execute = () => Promise.resolve(name)): Tool => ({
  ...{ name, description: "", parameters: { type: "object" }, execute },
});

const ownTools = (tools: readonly Tool[], more: object = {}) =>
  caseOpener(() => ({ name: "own", prompt: "Go.", tools, assert: () => {}, ...more }));
const OWN = { case: "own", seed: 7 };

Deno.test("the choice of tools that a task demands goes by the names that a host offers", async () => {
  const choices: [ToolChoice, unknown][] = [
    [{ function: "book" }, { type: "function", function: { name: "mcp__toolgate__book" } }],
    ["required", "required"],
  ];
  for (const [toolChoice, sent] of choices) {
    await using server = sayingServer([{ text: "Done." }]);
    const trial = await runTrial(OWN, server.model(), {
      agent: mcpHost("mcp__toolgate__"),
      open: ownTools([named("book")], { toolChoice }),
    });
    assertEquals(trial.outcome, "solved", trial.reason);
    assertEquals(server.asked.map(({ body }) => body["tool_choice"]), [sent]);
  }
});

Deno.test("a call past the limit ends the trial of an unseen client too, whatever it makes of that", async () => {
  const over = Promise.withResolvers<void>();
  const agent: Agent = async (_, { mcpURL }) => {
    const server = mcpServer(await mcpURL());
    try {
      while (true) await server.call("one", {});
    } finally {
      over.resolve();
    }
  };
  const open = ownTools([named("one")]);
  const trial = await runTrial(OWN, MUTE, { agent, open, limits: { calls: 2, seconds: 3 } });
  assertEquals([trial.outcome, trial.calls], ["call_limit", 2]);
  await over.promise;
});

Deno.test("a call that a host did not wait for counts", async () => {
  const begun = Promise.withResolvers<void>();
  const slow = named("slow", async () => {
    begun.resolve();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return "done";
  });
  let calling: Promise<unknown>;
  const agent: Agent = async (_, { mcpURL }) => {
    const server = mcpServer(await mcpURL());
    calling = server.call("slow");
    await begun.promise;
    await server.call("submit_answer", { answer: "I did nothing." });
    return "";
  };
  const trial = await runTrial(OWN, MUTE, { agent, open: ownTools([slow]) });
  assertEquals(callsOf(trial.events).map(({ result }) => result), ["done"]);
  // Its result may come too late for the host.
  await Promise.allSettled([calling!]);
});

Deno.test("each message of the user has an answer of its own", async () => {
  const answers = ["first", "second"];
  const heard: string[] = [];
  const agent: Agent = async ({ prompt, history }, { mcpURL }) => {
    const server = mcpServer(await mcpURL());
    heard.push(`${prompt} ${history.length}`);
    await server.call("submit_answer", { answer: answers[heard.length - 1]! });
    return undefined as unknown as string;
  };
  const trial = await runTrial(OWN, MUTE, {
    agent,
    open: ownTools([named("one")], { turns: ["And now?"] }),
  });
  assertEquals(trial.outcome, "solved", trial.reason);
  assertEquals(heard, ["Go. 0", "And now? 2"]);
  assertEquals(trial.events.findLast((event) => event.kind === "answer")?.text, "second");
});

Deno.test("50 trials at once: each client gets the functions and results of its own task", async () => {
  const trials = await Promise.all(Array.from({ length: 50 }, async (_, seed) => {
    const spec = { core: 3, depth: 2, connected: 1, disconnected: 0, seed };
    const task = generateTask(spec);
    const agent: Agent = async (_, { mcpURL }) => {
      const client = new Client({ name: "tests", version: "1" });
      const url = new URL(await mcpURL());
      await client.connect(new StreamableHTTPClientTransport(url) as never);
      const { tools } = await client.listTools();
      assertEquals(tools.map(({ name }) => name), [
        ...task.tools.map(({ name }) => name),
        "submit_answer",
      ]);
      for (const made of coreInOrder(task)) {
        await client.callTool({ name: made.name, arguments: rightArguments(task, made) });
      }
      // Names of other tasks are invented here.
      await client.callTool({ name: `other_${seed}`, arguments: {} });
      const answer = `${task.target.variable} = ${task.target.value}`;
      await client.callTool({ name: "submit_answer", arguments: { answer } });
      await client.close();
      return "";
    };
    return await runTrial(spec, MUTE, { agent, limits: LIMITS });
  }));
  assertEquals(
    trials.map(({ outcome, calls, failures, reason }) => [
      ...[outcome, calls, reason],
      ...failures.map((failure) => failure.function),
    ]),
    trials.map((_, seed) => ["solved", 4, undefined, `other_${seed}`]),
  );
});
