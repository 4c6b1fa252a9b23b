// The contract of models, over every way to speak to one: whatever goes over the wire, the loop around it
// sees the same.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import { type Api, APIS, formatOf, isTextFormat } from "../../lib/models/formats/registry.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import type { Message } from "../../lib/tools/message.ts";
import type { Model, ModelRequest } from "../../lib/models/model.ts";
import type { ModelEntry } from "../../lib/models/entry.ts";
import { runTools } from "../../lib/toolkit/run_tools.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { ToolCall, ToolChoice } from "../../lib/tools/tool.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { importPackage, type Native, NATIVES, simulatedNative } from "../support/native_servers.ts";
import {
  ADD,
  answering,
  asked,
  completion,
  type Faulty,
  response,
  said,
  serversOf,
  WIRES,
} from "../support/wire_servers.ts";

type Calls = readonly Omit<ToolCall, "id">[];

/** A way to ask a model: by an API, or by a provider in its own format. */
interface Way {
  readonly name: string;
  readonly api: Api;
  readonly native?: Native;
}

const WAYS: readonly Way[] = [
  ...APIS.map((api) => ({ name: api, api })),
  ...NATIVES.map((native) => ({ name: native.provider, api: "chat" as const, native })),
];

/** How a server says something to a client that asks in this way. */
interface Server {
  /** Whether one reply may hold several calls. */
  readonly parallel: boolean;
  /** A reply with a text and calls. */
  reply(text: string, calls?: Calls): JsonObject;
  /** A reply that ran out of tokens. */
  cut(text: string): JsonObject;
}

function serverOf({ api, native }: Way): Server {
  if (native !== undefined) return { ...native, parallel: true };
  if (isTextFormat(api)) {
    const format = formatOf(api);
    const choice = (finish: string, content: string) =>
      completion({}, { choices: [{ finish_reason: finish, message: { content } }] });
    return {
      parallel: format.parallel,
      reply: (text, calls = []) => choice("stop", format.writeCalls(text, calls)),
      cut: (text) => choice("length", text),
    };
  }
  const wire = WIRES.find((one) => one.api === api)!;
  return {
    parallel: true,
    reply: (text, calls = []) =>
      calls.length === 0
        ? api === "chat" ? completion({ content: text }) : response([said(text)])
        : wire.calling(...calls.map((call, index) => ({ id: `id_${index + 1}`, ...call }))),
    cut: (text) =>
      api === "chat"
        ? completion({}, { choices: [{ finish_reason: "length", message: { content: text } }] })
        : response([said(text)], {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
        }),
  };
}

const SPEC = { core: 6, depth: 3, connected: 3, disconnected: 2, seed: 11 };

for (const way of WAYS) {
  const { api, native } = way;
  const { parallel, reply, cut } = serverOf(way);
  const provider = native?.provider;
  const { serving } = serversOf(isTextFormat(api) ? "chat" : api);
  const test = (name: string, fn: () => void | Promise<void>) =>
    Deno.test(`${way.name}: ${name}`, fn);

  /** Uses a model at a server made by hand, connected as those of suites are. */
  const ask = async <T>(
    server: Faulty,
    use: (model: Model) => Promise<T>,
    entry: Partial<ModelEntry> = {},
  ): Promise<T> => {
    const connections = new Connections({ retries: 0, importPackage });
    const baseURL = `http://${server.host}/v1`;
    return await use(connections.model({ model: "parrot", provider, api, baseURL, ...entry }));
  };

  /** Uses a simulated model that is asked in this way. */
  const simulate = async <T>(
    entry: Partial<ModelEntry>,
    use: (model: Model) => Promise<T>,
  ): Promise<T> => {
    await using server = native && simulatedNative(native);
    const connections = new Connections({ retries: 0, importPackage });
    const where = { provider, api, baseURL: server?.url };
    return await use(connections.model({ model: "sim:planner", ...where, ...entry }));
  };

  const request = (more: Partial<ModelRequest> = {}) => asked({ tools: [ADD], ...more });

  test("a model says how it is spoken to, and its default name tells", () => {
    const connections = new Connections();
    const model = connections.model({ model: "sim:planner", api });
    const usual = api === "chat";
    assertEquals(model.api, usual ? undefined : api);
    assertEquals(model.name, usual ? "sim:planner" : `sim:planner (${api})`);
    assertEquals(connections.model({ model: "sim:planner", api, name: "mine" }).name, "mine");
    const elsewhere = { model: "m", api, baseURL: "http://127.0.0.1:1/v1" };
    const other = connections.model(elsewhere);
    assertEquals([other.name, other.api], [usual ? "m" : `m (${api})`, usual ? undefined : api]);
  });

  test("a task is solved as by chat", async () => {
    const connections = new Connections({ retries: 0 });
    const usual = await runTrial(SPEC, connections.model({ model: "sim:planner" }));
    const trial = await simulate({}, (model) => runTrial(SPEC, model));
    assertEquals([trial.outcome, trial.grounded, trial.reason], ["solved", true, undefined]);
    assertEquals(trial.model.served, "sim:planner");
    assertEquals([trial.calls, trial.failures], [usual.calls, usual.failures]);
    assert(trial.usage.inputTokens > 0 && trial.usage.outputTokens > 0);
    const replies = trial.events.filter((event) => event.kind === "reply");
    assertEquals(new Set(replies.map((event) => event.parsed)), new Set(["strict", undefined]));
    assertEquals(replies.at(-1)?.parsed, undefined);
    const made = (events: typeof trial.events) =>
      events.flatMap((event) => event.kind === "call" ? [event.arguments] : []).sort();
    assertEquals(made(trial.events), made(usual.events));
  });

  test("repetitions draw the noise of simulated models anew, alike in every run", async () => {
    const connections = new Connections({ retries: 0 });
    const model = connections.model({ model: "sim:noisy?arity=.5&seed=8", api });
    const { prompt, tools } = generateTask(SPEC);
    const callsOf = async (repetition: number) => {
      const context = { trial: "t", repetition, request: 1 };
      const messages = [{ role: "user", content: prompt } as const];
      return JSON.stringify((await model.reply({ messages, tools, context })).calls);
    };
    const all = await Promise.all([1, 2, 3, 4, 1, 5, 6, 7, 8].map(callsOf));
    assertEquals(all[4], all[0]);
    assert(new Set(all).size > 1, all[0]);
  });

  test("functions are told", async () => {
    await using server = serving(answering(reply("hello")));
    await ask(server, (model) => model.reply(request()));
    const { body } = server.received[0]!;
    const texts = JSON.stringify(body);
    for (const word of ["Adds", "left", "integer"]) assertStringIncludes(texts, word);
    assertEquals(body["tools"] === undefined, isTextFormat(api));
  });

  test("calls are read with names and arguments, in order", async () => {
    const written: Calls = [
      { name: "add", arguments: '{"left":1}' },
      // The AI SDK takes no answer with such a key.
      { name: "invented", arguments: native ? '{"left":2}' : '{"left":2,"__proto__":3}' },
    ].slice(0, parallel ? 2 : 1);
    await using server = serving(answering(reply("", written)));
    const { calls, finish, parsed } = await ask(server, (model) => model.reply(request()));
    assertEquals(calls.map(({ id: _, ...call }) => call), [...written]);
    assertEquals(new Set(calls.map(({ id }) => id)).size, written.length);
    assert(calls.every(({ id }) => id !== ""));
    assertEquals(parsed, "strict");
    if (api !== "chat") assertEquals(finish, "calls");
  });

  test("a text is the answer", async () => {
    await using server = serving(answering(reply("It is 3.")));
    const { duration, carried: _, ...rest } = await ask(server, (model) => model.reply(request()));
    assert(duration >= 0);
    assertEquals(rest, {
      text: "It is 3.",
      calls: [],
      finish: "stop",
      usage: { inputTokens: 11, outputTokens: 7 },
      served: "parrot-2",
      repairs: [],
    });
  });

  test("without functions, what looks like a call is a text", async () => {
    const text = formatOf(isTextFormat(api) ? api : "hermes")
      .writeCalls("I call", [{ name: "add", arguments: "{}" }]);
    await using server = serving(
      answering(
        api === "responses"
          ? response([said(text)])
          : native === undefined
          ? completion({ content: text })
          : native.reply(text),
      ),
    );
    const heard = await ask(server, (model) => model.reply(asked()));
    assertEquals([heard.text, heard.calls], [text, []]);
    const { body } = server.received[0]!;
    assertEquals(body["tools"], undefined);
    assert(!JSON.stringify(body).includes("Action"));
  });

  test("running out of tokens is told", async () => {
    await using server = serving(answering(cut("It is")));
    const { finish } = await ask(server, (model) => model.reply(request()));
    assertEquals(finish, "length");
  });

  test("results go back in order, with the calls that they answer, over several steps", async () => {
    const steps: Calls[] = [
      [{ name: "add", arguments: '{"left":1}' }, { name: "add", arguments: '{"left":2}' }],
      [{ name: "add", arguments: '{"left":3}' }],
    ].map((calls) => parallel ? calls : calls.slice(0, 1));
    await using server = serving(
      ...steps.map((calls) => answering(reply("I add", calls))),
      answering(reply("Done: 7.")),
    );
    const inputs: JsonObject[] = [];
    const add = {
      ...ADD,
      execute: (input: JsonObject) => {
        inputs.push(input);
        return Promise.resolve(`result of ${input["left"]}`);
      },
    };
    const { ending, messages, usage } = await ask(
      server,
      (model) => runTools(model, [add], { messages: "Add them." }),
    );
    assertEquals(ending.kind === "answer" && ending.text, "Done: 7.");
    assertEquals(inputs.map(({ left }) => left), parallel ? [1, 2, 3] : [1, 3]);
    assertEquals(usage, { inputTokens: 33, outputTokens: 21 });
    assertEquals(server.received.length, 3);
    assertEquals(
      messages.map(({ role }) => role),
      parallel
        ? ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]
        : ["user", "assistant", "tool", "assistant", "tool", "assistant"],
    );
    const last = JSON.stringify(server.received[2]!.body);
    const mark = native === undefined ? '\\":' : '":';
    const places = inputs.map(({ left }) => last.indexOf(`left${mark}${left}`));
    const results = inputs.map(({ left }) => last.indexOf(`result of ${left}`));
    for (const list of [places, results]) {
      assert(list.every((place) => place > 0), `${list}: ${last}`);
      assertEquals(list, list.toSorted((one, other) => one - other));
    }
    // The first step stands before the second.
    assert(results[parallel ? 1 : 0]! < places.at(-1)!);
  });

  test("a choice is told, by the request before the entry", async () => {
    const choices: ToolChoice[] = ["none", "required", { function: "add" }];
    for (const toolChoice of choices) {
      await using server = serving(answering(reply("hello")));
      await ask(server, (model) => model.reply(request({ toolChoice })));
      await ask(server, (model) => model.reply(request()), { toolChoice });
      await ask(server, (model) => model.reply(request({ toolChoice })), { toolChoice: "auto" });
      await ask(server, (model) => model.reply(request()));
      const [byRequest, byEntry, byBoth, plain] = server.received.map(({ body }) => body);
      assertEquals(byEntry, byRequest);
      assertEquals(byBoth, byRequest);
      assert(JSON.stringify(plain) !== JSON.stringify(byRequest));
      assertEquals(plain!["tool_choice"], undefined);
      if (isTextFormat(api)) {
        assertEquals(byRequest!["tool_choice"], undefined);
        assertStringIncludes(
          JSON.stringify(byRequest),
          toolChoice === "none"
            ? "No function can be called"
            : typeof toolChoice === "string"
            ? "must call a function"
            : "must call the function add",
        );
      }
    }
  });

  test("a choice is obeyed", async () => {
    const trialOf = (toolChoice: ToolChoice) =>
      simulate({ toolChoice }, (model) => runTrial(SPEC, model));
    assertEquals((await trialOf("none")).calls, 0);
    const { outcome, events } = await trialOf("required");
    assertEquals(outcome, "call_limit");
    assert(events.every((event) => event.kind !== "reply" || event.calls > 0));
  });

  test("a conversation that another model has begun goes on", async () => {
    const foreign: Message[] = [
      { role: "system", content: "Be brief" },
      { role: "user", content: "Add" },
      {
        role: "assistant",
        content: "I add",
        calls: [{ id: "f", name: "add", arguments: '{"left":41}' }],
        carried: { by: "other at elsewhere", items: [{ type: "reasoning", id: "rs_secret" }] },
      },
      { role: "tool", callId: "f", name: "add", content: "result of 41" },
      { role: "assistant", content: "It is done", calls: [] },
      { role: "user", content: "Sure?" },
    ];
    await using server = serving(answering(reply("Yes")));
    const { text } = await ask(server, (model) => model.reply(request({ messages: foreign })));
    assertEquals(text, "Yes");
    const body = JSON.stringify(server.received[0]!.body);
    for (const word of ["Be brief", "I add", "result of 41", "It is done", "Sure?"]) {
      assertStringIncludes(body, word);
    }
    assert(!body.includes("rs_secret"));
  });

  test("a server is told where to stop where the format says so", async () => {
    await using server = serving(answering(reply("hello")));
    await ask(server, (model) => model.reply(request()));
    const { stop } = isTextFormat(api) ? formatOf(api) : { stop: [] };
    const sent = server.received[0]!.body["stop"];
    assertEquals(sent, stop.length === 0 ? undefined : [...stop]);
  });
}
