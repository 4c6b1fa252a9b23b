// The tap from outside: small agents over plain `fetch`, a server that says what a script has, and what the
// trial records of both.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { AssertionError } from "@std/assert/assertion-error";
import { z } from "zod";
import type { JsonObject } from "../../lib/base/json.ts";
import { callsOf, type ReplyEvent } from "../../lib/calls/trace.ts";
import {
  assertCallCount,
  assertCalled,
  assertHeld,
  assertNever,
  assertNoCalls,
  assertNoFailedCalls,
  assertNotCalled,
} from "../../lib/testing/assertions/calls.ts";
import {
  assertCallOrder,
  assertCallScore,
  assertTrajectory,
} from "../../lib/testing/assertions/trajectories.ts";
import type { OpenAIOptions } from "../../lib/models/openai/openai.ts";
import type { Model } from "../../lib/models/model.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { type StoppableTool, toOpenAITool } from "../../lib/tools/tool.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import type { ToolCase, ToolTestRun } from "../../lib/trials/executors/tool_case.ts";
import type { Agent, AgentOptions, AgentTask } from "../../lib/trials/own_agent.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { UserFunction } from "../../lib/trials/users/user.ts";
import { mcpServer } from "../support/agents/mcp_host.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import {
  type Asked,
  cutShort,
  respond,
  type SaidCall,
  type Saying,
  sayingServer,
  type Script,
} from "../support/saying_server.ts";
import { KEY, rawHead, serversOf } from "../support/wire_servers.ts";

// Agents

interface ChatCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
interface ChatMessage extends JsonObject {
  readonly content: string;
  readonly tool_calls: ChatCall[] & JsonObject[];
}

/** Posts a request; whatever is no success is thrown. */
async function post(
  url: string,
  { fetch, apiKey }: AgentOptions,
  body: JsonObject,
  init: RequestInit = {},
) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
    ...init,
  });
  if (response.ok) return response;
  throw new Error(`${response.status} ${await response.text()}`);
}

/** Asks for a chat completion. */
function send(options: AgentOptions, body: JsonObject, init?: RequestInit): Promise<Response> {
  const { baseURL, model } = options;
  return post(`${baseURL}/chat/completions`, options, { model, ...body }, init);
}

/** Asks for a chat completion; returns its message. */
async function ask(options: AgentOptions, body: JsonObject): Promise<ChatMessage> {
  return (await (await send(options, body)).json()).choices[0].message;
}

const user = (content: string) => ({ role: "user", content });
const offer = ({ tools }: AgentTask) => tools.map(toOpenAITool) as unknown as JsonObject[];

/** Carries out a call as frameworks do: its error goes to the model. */
async function run(
  { tools }: AgentTask,
  { function: { name, arguments: written } }: ChatCall,
): Promise<string> {
  try {
    const found = tools.find((one) => one.name === name);
    return await found?.execute(JSON.parse(written)) ?? `There is no ${name}`;
  } catch (error) {
    return String(error);
  }
}

/** What a framework does with the calls of a reply; returns the messages that it adds. */
type Handling = (message: ChatMessage, task: AgentTask) => Promise<JsonObject[]>;

const carryOut: Handling = async (message, task) => {
  const results: JsonObject[] = [];
  for (const call of message.tool_calls) {
    results.push({ role: "tool", tool_call_id: call.id, content: await run(task, call) });
  }
  return [message, ...results];
};

/** The messages that tell a model one text in answer to all calls of a reply. */
const answered = (message: ChatMessage, content: string): JsonObject[] => [
  message,
  ...message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content })),
];

/** Carries out nothing. */
const skipping: Handling = (message) => Promise.resolve(answered(message, "no"));

/** Carries out this in place of the calls of a reply. */
const replacing = (input: JsonObject): Handling => async (message, task) =>
  answered(message, await task.tools[0]!.execute(input));

/** An agent that asks until a reply makes no calls. */
const looping =
  (handle: Handling = carryOut, more: JsonObject = {}): Agent => async (task, options) => {
    const messages: JsonObject[] = [user(task.prompt)];
    while (true) {
      const message = await ask(options, { messages: [...messages], tools: offer(task), ...more });
      if (message.tool_calls === undefined) return message.content;
      messages.push(...await handle(message, task));
    }
  };

// Trials

const booking = (nights: unknown, city = "Rome"): SaidCall => ({
  name: "book",
  arguments: JSON.stringify({ city, nights }),
});
const DONE: Saying = { text: "Done." };
const NO_SUCH: SaidCall = { name: "no_such", arguments: "{}" };

interface Tried {
  readonly trial: Trial;
  readonly asked: readonly Asked[];
  /** What the tools did. */
  readonly booked: readonly string[];
  readonly said: readonly SaidCall[];
}

interface TryOptions extends TrialOptions {
  readonly own?: Partial<ToolCase>;
  readonly entry?: Partial<OpenAIOptions>;
  readonly model?: Model;
}

/** Runs a trial of an agent whose model says what the script has. */
async function trying(
  script: Script,
  agent: Agent,
  { own, entry, model, ...options }: TryOptions = {},
): Promise<Tried> {
  await using server = sayingServer(script);
  const booked: string[] = [];
  const whole: ToolCase = {
    name: "own",
    prompt: "Book a room.",
    tools: [
      tool({
        name: "book",
        description: "Books a room",
        parameters: z.object({ city: z.string(), nights: z.number() }),
        execute: ({ city, nights }) => `${booked.push(`${city} ${nights}`)}`,
      }),
      tool({
        name: "list",
        description: "Lists",
        parameters: z.object({}),
        execute: () => booked.join(),
      }),
    ],
    assert: () => {},
    ...own,
  };
  const trial = await runTrial(
    { case: "own", seed: 7 },
    model ?? server.model({ retries: 0, ...entry }),
    {
      agent,
      open: caseOpener(() => whole),
      ...options,
    },
  );
  const { asked, said } = server;
  return { trial, asked, said, booked };
}

/** The calls of a trial: step, name, failure, and what the agent did. */
const rows = ({ events }: Trial) =>
  callsOf(events).map((
    { step, function: name, failure, by, agentDid },
  ) => [step, name, failure?.type, by ?? agentDid]);
const repliesIn = ({ events }: Trial): ReplyEvent[] =>
  events.filter((event) => event.kind === "reply");
const outcomeOf = ({ outcome, reason }: Trial) => `${outcome}: ${reason ?? ""}`;

// What frameworks do with calls

interface Handled {
  readonly calls: readonly SaidCall[];
  readonly handle: Handling;
  /** The calls that are recorded. */
  readonly recorded: ReturnType<typeof rows>;
  readonly booked: readonly string[];
}

const HANDLED: Readonly<Record<string, Handled>> = {
  "hidden from the model": {
    calls: [NO_SUCH, booking(1)],
    handle: (message, task) =>
      carryOut({
        ...message,
        tool_calls: message.tool_calls.filter((call) => call.function.name === "book") as never,
      }, task),
    recorded: [[1, "book", undefined, undefined], [1, "no_such", "function_not_found", "hid"]],
    booked: ["Rome 1"],
  },
  "carried out with the defaults that a framework fills in": {
    calls: [booking(3)],
    handle: replacing({ city: "Rome", nights: 3, note: null }),
    recorded: [[1, "book", undefined, undefined]],
    booked: ["Rome 3"],
  },
  "carried out with an integer that it rounds": {
    calls: [{ name: "book", arguments: '{"city":"Rome","nights":7300000000000000123}' }],
    handle: carryOut,
    recorded: [[1, "book", undefined, undefined]],
    booked: ["Rome 7300000000000000123"],
  },
  "repaired": {
    calls: [booking("3")],
    handle: replacing({ city: "Rome", nights: 3 }),
    recorded: [
      [1, "book", "wrong_number_of_inputs", "repaired"],
      [1, "book", undefined, "agent"],
    ],
    booked: ["Rome 3"],
  },
  "corrected in its name": {
    calls: [{ ...booking(3), name: "bok" }],
    handle: replacing({ city: "Rome", nights: 3 }),
    recorded: [
      [1, "bok", "function_not_found", "repaired"],
      [1, "book", undefined, "agent"],
    ],
    booked: ["Rome 3"],
  },
  "not carried out": {
    calls: [booking(1)],
    handle: skipping,
    recorded: [[1, "book", undefined, "not_run"]],
    booked: [],
  },
  "made twice, and carried out once": {
    calls: [booking(1), booking(1)],
    handle: replacing({ city: "Rome", nights: 1 }),
    recorded: [[1, "book", undefined, undefined], [1, "book", undefined, "not_run"]],
    booked: ["Rome 1"],
  },
};

for (const [what, { calls, handle, recorded, booked }] of Object.entries(HANDLED)) {
  Deno.test(`a tap records what was called, and what the agent did with it: ${what}`, async () => {
    const tried = await trying([{ calls }, DONE], looping(handle));
    assertEquals([rows(tried.trial), tried.booked], [recorded, booked]);
    assertEquals(tried.trial.agent, "watched");
  });
}

Deno.test("a tap records the words in which an agent refuses a call, as its model got them", async () => {
  const { trial } = await trying([{ calls: [NO_SUCH] }, DONE], looping());
  assertEquals(callsOf(trial.events).map(({ result, agentDid }) => [result, agentDid]), [
    ["There is no no_such", undefined],
  ]);
});

Deno.test("a tap shows as told what follows instructions that change, and takes no other question for a repetition", async () => {
  const { trial } = await trying(
    [{ text: "{}" }, { calls: [NO_SUCH] }, DONE],
    async (task, options) => {
      await ask(options, {
        messages: [user(task.prompt)],
        response_format: { type: "json_object" },
      });
      const messages: JsonObject[] = [user(task.prompt)];
      for (let clock = 1;; clock++) {
        const now = [{ role: "system", content: `It is ${clock} o'clock.` }, ...messages];
        const message = await ask(options, {
          messages: clock === 1 ? messages : now,
          tools: offer(task),
        });
        if (message.tool_calls === undefined) return message.content;
        messages.push(...await carryOut(message, task));
      }
    },
  );
  assertEquals(rows(trial), [[2, "no_such", "function_not_found", undefined]]);
  assertEquals(repliesIn(trial).map(({ replaces }) => replaces), [undefined, undefined, undefined]);
});

Deno.test("a trial is watched if each call is that of a reply that was seen, whoever else may have been asked", async () => {
  const book = { city: "Rome", nights: 1 };
  const handoff = { type: "function", function: { name: "transfer_to_worker" } };
  /** Carries out its calls, and then this one. */
  const adding = (nights: number) =>
    looping(async (message, task) => {
      const messages = await carryOut(message, task);
      await task.tools[0]!.execute({ city: "Rome", nights });
      return messages;
    });
  const table: Readonly<Record<string, readonly [agent: Agent, watched: boolean, Script?]>> = {
    "asks a planner, and lets another client carry out its plan": [async (task, options) => {
      await ask(options, { messages: [user("Plan.")], tools: offer(task) });
      await task.tools[0]!.execute(book);
      return "Done.";
    }, false],
    "calls before any reply": [async (task, options) => {
      await task.tools[0]!.execute(book);
      return await looping()(task, options);
    }, false],
    "carries out a call again": [adding(3), true, [{ calls: [booking(3)] }, DONE]],
    "adds a call": [adding(4), false, [{ calls: [booking(3)] }, DONE]],
    "calls nothing": [async (task, options) => {
      await ask(options, { messages: [user(task.prompt)], tools: [handoff] });
      return "I cannot help.";
    }, true],
    "asks nobody": [() => Promise.resolve("I cannot help."), false],
  };
  for (const [name, [agent, isWatched, script = [DONE]]] of Object.entries(table)) {
    const { trial } = await trying(script, agent);
    assertEquals(trial.agent, isWatched ? "watched" : "unwatched", name);
    if (agent === table["adds a call"]![0]) {
      assertEquals(rows(trial).at(-1), [1, "book", undefined, "agent"]);
    }
  }
});

Deno.test("a call that the agent did not carry out passes no assertion that it was made, and counts as an attempt", async () => {
  const rome = { tool: "book", arguments: { city: "Rome", nights: 1 } };
  for (const handle of [skipping, replacing({ city: "Oslo", nights: 1 })]) {
    const { trial } = await trying([{ calls: [booking(1)] }, DONE], looping(handle), {
      own: {
        expected: [rome],
        assert: (run) => {
          for (
            const positive of [
              () => assertCalled(run, rome),
              () => assertCallCount(run, rome, 1),
              () => assertCallOrder(run, [rome]),
              () => assertTrajectory(run, [rome], "superset"),
              () => assertCallScore(run, [rome], { recall: 1 }),
            ]
          ) {
            assertStringIncludes(
              assertThrows(positive, AssertionError).message,
              "call 1 (step 1) book (not carried out by the agent)",
            );
          }
          assertThrows(() => assertNever(run, rome), AssertionError, "book (not carried out by");
          assertThrows(() => assertNotCalled(run, rome), AssertionError);
          assertNoFailedCalls(run);
        },
      },
    });
    assertEquals(outcomeOf(trial), "solved: ", JSON.stringify(trial.events.at(-1)));
    // What the agent carried out in its place was a call of the function.
    const missed = handle === skipping ? 1 : 0;
    assertEquals(summarize(trial).missed, { needed: 1, missed });
    // The model's choice was right.
    assertEquals(callsOf(trial.events)[0]?.parameters, undefined);
  }
});

/** An agent that asks and answers, and carries out calls of the first message at the second. */
const holding = (
  second: (
    book: StoppableTool["execute"],
    ask: (...told: JsonObject[]) => Promise<unknown>,
  ) => unknown,
  asks = 1,
): Agent =>
async (task, options) => {
  const asking = (...told: JsonObject[]) =>
    ask(options, { messages: [user(task.prompt), ...told], tools: offer(task) });
  if (task.prompt === "Yes.") await second(task.tools[0]!.execute, asking);
  else for (let place = 0; place < asks; place++) await asking(user(`${place}`));
  return "Well.";
};

Deno.test("an agent passes no call of its own off as one that it held", async () => {
  const rome = { city: "Rome", nights: 1 };
  const as = (id: string, city?: string) => ({ ...booking(1, city), id });
  const [same, oslo] = [booking(1), { city: "Oslo", nights: 1 }];
  const table: [what: string, isWatched: boolean, SaidCall[][], Parameters<typeof holding>[0]][] = [
    ["the call", true, [[same]], (book) => book(rome)],
    ["two, each by its id", true, [[as("x"), as("y")]], async (book) => {
      for (const callId of ["y", "x"]) await book(rome, { callId });
    }],
    ["a call of another id", false, [[same]], (book) => book(rome, { callId: "y" })],
    ["the call, twice", false, [[same]], async (book) => [await book(rome), await book(rome)]],
    ["other arguments", false, [[same]], (book) => book(oslo)],
    ["further arguments", false, [[same]], (book) => book({ ...rome, note: null })],
    ["one of two that are alike", false, [[same, same]], (book) => book(rome)],
    ["one of two with an id", false, [[as("x")], [as("x", "Oslo")]], (book) => book(rome)],
    ["what the user refused", false, [[as("x")]], async (book, asking) => {
      await asking({ role: "tool", tool_call_id: "x", content: "refused" });
      await book(rome);
    }],
  ];
  for (const [what, isWatched, replies, second] of table) {
    const script = [...replies.map((calls) => ({ calls })), DONE];
    const assertOwn = ({ calls }: ToolTestRun) =>
      assertEquals(calls.filter(({ by }) => by === "agent").length, isWatched ? 0 : 1);
    const { trial } = await trying(script, holding(second, replies.length), {
      own: { turns: ["Yes."], assert: assertOwn },
    });
    const ended = ["solved: ", isWatched ? "watched" : "unwatched"];
    assertEquals([outcomeOf(trial), trial.agent], ended, what);
  }
});

Deno.test("a wrong call that a person approves is wrong once", async () => {
  const { trial } = await trying(
    [{ calls: [booking("one")] }, DONE],
    holding((book) => book({ city: "Rome", nights: "one" })),
    {
      own: {
        turns: ["Yes."],
        assert: (run) =>
          assertCallCount(run, "book", { atLeast: 1, atMost: 1, counted: "refused" }),
      },
    },
  );
  assertEquals([outcomeOf(trial), trial.agent, trial.calls], ["solved: ", "watched", 1]);
  assertEquals(trial.failures.length, 1);
});

Deno.test("a held call is no call for any assertion, and their messages say that the agent holds it", async () => {
  const { trial } = await trying([{ calls: [booking(1)] }], holding(() => {}), {
    own: {
      never: ["book"],
      assert(run) {
        assertNotCalled(run, "book");
        for (const which of ["book", undefined]) assertCallCount(run, which, 0);
        assertCalled(run, "book", { times: 0 });
        assertNoCalls(run);
        assertTrajectory(run, []);
        const holds = "but the agent holds one.";
        const table: [assertion: () => void, says: string][] = [
          [() => assertCalled(run, "book"), `No call was as expected: book, ${holds}`],
          [() => assertCallCount(run, "book", 1), `book was called 0 times, not once, ${holds}`],
          [() => assertCallOrder(run, ["book"]), "expected call 1 of 1 was not made: book"],
          [() => assertTrajectory(run, ["book"]), "expected call 1 of 1 was not made: book"],
          [() => assertHeld(run, "book", { times: 2 }), "book was held once, not twice."],
          [() => assertHeld(run, "list"), "No held call was as expected: list."],
        ];
        for (const [assertion, says] of table) {
          const { message } = assertThrows(assertion, AssertionError);
          assertStringIncludes(message, says);
          const listed = '1. step 1 book(city="Rome", nights=1) -> held by the agent';
          assertStringIncludes(message, `calls held: 1\n    ${listed}`);
        }
      },
    },
  });
  assertEquals(outcomeOf(trial), "solved: ", JSON.stringify(trial.events.at(-2)));
});

Deno.test("a tap counts a reply that the agent throws away to ask again, and judges it", async () => {
  const { trial } = await trying([
    { calls: [booking("one")] },
    { calls: [{ name: "book", arguments: "{" }] },
    { calls: [booking(1)] },
    DONE,
  ], async (task, options) => {
    for (let again = 0; again < 2; again++) {
      await ask(options, { messages: [user(task.prompt)], tools: offer(task) });
    }
    return await looping()(task, options);
  });
  assertEquals(repliesIn(trial).map(({ replaces }) => replaces), [undefined, 1, 2, undefined]);
  assertEquals(rows(trial), [
    [1, "book", "wrong_number_of_inputs", "hid"],
    [2, "book", "wrong_number_of_inputs", "hid"],
    [3, "book", undefined, undefined],
  ]);
});

Deno.test("a tap takes built-in tools of responses for the server's own, and assertions take them and handoffs", async () => {
  const search = { type: "web_search_call", id: "ws_1", status: "completed" };
  const handoff = { name: "transfer_to_desk", arguments: "{}" };
  const { trial } = await trying(
    [{ items: [search], calls: [handoff] }, { text: "It rains." }],
    async (task, options) => {
      const { baseURL, model } = options;
      const tools: JsonObject[] = [{ type: "web_search" }, {
        type: "function",
        name: handoff.name,
      }];
      const body = { model, input: task.prompt, tools };
      await (await post(`${baseURL}/responses`, options, body)).text();
      return "It rains.";
    },
    {
      own: {
        turns: ["And now?"],
        assert(run) {
          const own = { calls: run.ownCalls, tools: [] };
          assertCallOrder(own, ["web_search_call", { tool: handoff.name, arguments: {} }]);
          assertNotCalled(own, "transfer_to_sales");
          assertEquals(run.turns.map(({ ownCalls }) => ownCalls.length), [2, 0]);
          assertNoCalls(run);
        },
      },
    },
  );
  assertEquals([outcomeOf(trial), rows(trial)], ["solved: ", []]);
  const [searched, handed] = repliesIn(trial)[0]!.ownCalls!;
  assertEquals(searched, { function: "web_search_call", arguments: JSON.stringify(search) });
  assertEquals(handed, { function: handoff.name, arguments: "{}" });
});

Deno.test("a tap takes custom calls for the agent's own, unless they name a function of the task", async () => {
  const custom = (name: string) => ({ id: name, type: "custom", custom: { name, input: "hm" } });
  for (const isStreamed of [false, true]) {
    const { trial } = await trying([
      () => {
        const message: JsonObject = { tool_calls: [custom("note"), custom("book")] };
        const choice = { index: 0, finish_reason: "tool_calls" };
        return isStreamed
          ? new Response(
            `data: ${JSON.stringify({ choices: [{ ...choice, delta: message }] })}\n\n`,
          )
          : Response.json({ choices: [{ ...choice, message }] });
      },
      DONE,
    ], async (task, options) => {
      const tools: JsonObject[] = [{ type: "custom", custom: { name: "note" } }, ...offer(task)];
      await (await send(options, { messages: [user(task.prompt)], tools, stream: isStreamed }))
        .text();
      return "booked";
    });
    assertEquals(repliesIn(trial)[0]!.ownCalls, [{ function: "note", arguments: "hm" }]);
    assertEquals(rows(trial).map(([, name]) => name), ["book"]);
    assertEquals(trial.agent, "watched");
  }
});

Deno.test("a tap takes a function that the request did not offer as invented, though the task has it", async () => {
  const tools = [{ type: "function", function: { name: "list" } }];
  const { trial, booked } = await trying(
    [{ calls: [booking(1)] }, DONE],
    looping(carryOut, { tools }),
  );
  assertEquals(rows(trial), [[1, "book", "function_not_found", undefined]]);
  assertEquals(booked, []);
});

Deno.test("a tap counts what another model used apart", async () => {
  const { trial, asked } = await trying([{ text: "a plan" }, DONE], async (task, options) => {
    const messages = [user(task.prompt)];
    await ask({ ...options, model: "planner-9" }, { messages });
    return (await ask(options, { messages: [...messages, user("now do it")] })).content;
  });
  assertEquals(asked.map(({ body }) => body["model"]), ["planner-9", "parrot"]);
  assertEquals(repliesIn(trial).map(({ model }) => model), ["planner-9", undefined]);
  assertEquals(trial.stages, [{
    stage: "agent",
    model: { requested: "planner-9", served: ["parrot-2"], simulated: false },
    usage: { inputTokens: 101, outputTokens: 10 },
  }]);
  assertEquals(trial.usage, { inputTokens: 203, outputTokens: 20 });
});

Deno.test("a tap tells the calls of sub-agents apart whose replies come in between each other", async () => {
  const both = Promise.withResolvers<void>();
  let came = 0;
  const script = async (asked: Asked) => {
    if (++came === 2) both.resolve();
    if (came <= 2) await both.promise;
    const messages = asked.body["messages"] as { role: string; content: string }[];
    const city = messages[0]!.content;
    const saying = messages.length === 1
      ? { calls: [booking(1, city), { name: "no_such", arguments: `{"of":"${city}"}` }] }
      : { text: city };
    return respond(saying, asked);
  };
  const { trial, booked } = await trying(script, async (task, options) => {
    const sub = (city: string) => looping()({ ...task, prompt: city } as AgentTask, options);
    return (await Promise.all([sub("Rome"), sub("Oslo")])).join();
  });
  assertEquals(booked.toSorted(), ["Oslo 1", "Rome 1"]);
  assertEquals(
    rows(trial).toSorted(),
    [1, 2].flatMap((step) => [
      [step, "book", undefined, undefined],
      [step, "no_such", "function_not_found", undefined],
    ]),
  );
  for (const step of [1, 2]) {
    const cities = callsOf(trial.events).filter((call) => call.step === step)
      .map((call) => /Rome|Oslo/.exec(call.arguments)![0]);
    assertEquals(new Set(cities).size, 1);
  }
  assertEquals(repliesIn(trial).map(({ replaces }) => replaces), Array(4).fill(undefined));
});

// Streams

/** A response whose stream stops before its last events until it may go on. */
function held(response: Response, until: Promise<void>): Response {
  let kept: Uint8Array[] = [];
  const body = response.body!.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        kept.push(chunk);
        if (kept.length > 2) controller.enqueue(kept.shift());
      },
      async flush(controller) {
        await until;
        for (const chunk of kept) controller.enqueue(chunk);
        kept = [];
      },
    }),
  );
  return new Response(body, response);
}

/** The first call of a stream whose arguments are whole, read as it comes. */
async function firstCall(reader: ReadableStreamDefaultReader<string>): Promise<ChatCall> {
  let [text, id, name, written] = ["", "", "", ""];
  while (true) {
    const { done, value = "" } = await reader.read();
    assert(!done);
    text += value;
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const [call] = JSON.parse(line.slice(6)).choices[0].delta.tool_calls ?? [];
      id = call?.id ?? id;
      name = call?.function.name ?? name;
      written += call?.function.arguments ?? "";
    }
    if (written.endsWith("}")) return { id, function: { name, arguments: written } };
  }
}

Deno.test("a tap lets a call wait that is carried out before its stream ends", async () => {
  const go = Promise.withResolvers<void>();
  const { trial, booked } = await trying([
    (asked) => held(respond({ calls: [booking(1)] }, asked), go.promise),
    DONE,
  ], async (task, options) => {
    const body = { messages: [user(task.prompt)], tools: offer(task), stream: true };
    const reader = (await send(options, body)).body!.pipeThrough(new TextDecoderStream())
      .getReader();
    const call = await firstCall(reader);
    // The agent waits for its call before it reads on.
    const result = run(task, call);
    go.resolve();
    const content = await result;
    while (!(await reader.read()).done);
    const assistant = { role: "assistant", tool_calls: [{ ...call, type: "function" }] };
    const messages = [...body.messages, assistant, {
      role: "tool",
      tool_call_id: call.id,
      content,
    }];
    return (await ask(options, { messages, tools: body.tools } as JsonObject)).content;
  });
  assertEquals([outcomeOf(trial), rows(trial), booked], ["solved: ", [[
    1,
    "book",
    undefined,
    undefined,
  ]], ["Rome 1"]]);
});

const WAYS: Readonly<Record<string, (task: AgentTask, options: AgentOptions) => Promise<unknown>>> =
  {
    "a stream that it cancels": async (task, options) => {
      const body = { messages: [user(task.prompt)], tools: offer(task), stream: true };
      await (await send(options, body)).body!.cancel();
    },
    "a stream that it never reads": (task, options) =>
      send(options, { messages: [user(task.prompt)], tools: offer(task), stream: true }),
    "a Request": async (task, { fetch, baseURL, model }) => {
      const body = JSON.stringify({ model, messages: [user(task.prompt)], tools: offer(task) });
      const url = `${baseURL}/chat/completions?x=1`;
      await (await fetch(new Request(url, { method: "POST", body }))).text();
    },
    "a response, without any input": async (_, options) => {
      const { baseURL, model } = options;
      await (await post(`${baseURL}/responses`, options, { model, prompt: { id: "pmpt_1" } }))
        .text();
    },
  };

for (const [what, asking] of Object.entries(WAYS)) {
  Deno.test(`a tap reads to its end what an agent asks for by ${what}`, async () => {
    const said = { text: "long ".repeat(200), calls: [NO_SUCH] };
    const { trial } = await trying([said, DONE], async (task, options) => {
      await asking(task, options);
      return "I know it.";
    });
    assertEquals([trial.outcome, rows(trial)], [
      "solved",
      [[1, "no_such", "function_not_found", "hid"]],
    ]);
  });
}

for (const through of ["fetch", "the address"] as const) {
  for (const begun of [false, true]) {
    const what = begun
      ? "keeps a reply that the agent breaks off"
      : "gives up what the agent gives up";
    Deno.test(`a tap ${what}, through ${through}`, async () => {
      const aborted = Promise.withResolvers<void>();
      const saying = { calls: [NO_SUCH] };
      const { trial } = await trying([
        async (asked) => {
          if (!begun) await aborted.promise;
          const response = respond(saying, asked);
          if (!begun) return response;
          const text = await response.text();
          const pieces = async function* () {
            yield text.slice(0, text.indexOf("\n\n") + 2);
            await aborted.promise;
            yield text.slice(text.indexOf("\n\n") + 2);
          };
          const encode = new TextEncoderStream();
          return new Response(ReadableStream.from(pieces()).pipeThrough(encode), response);
        },
        DONE,
      ], async (task, options) => {
        const controller = new AbortController();
        const asking = send(
          through === "fetch" ? options : { ...options, fetch },
          { messages: [user(task.prompt)], tools: offer(task), stream: begun },
          { signal: controller.signal },
        );
        if (begun) await (await asking).body!.getReader().read();
        setTimeout(() => controller.abort(), 50);
        const name = begun
          ? await new Promise<string>((resolve) =>
            controller.signal.addEventListener("abort", () => resolve("AbortError"))
          )
          : await asking.then(() => "", (error) => error.name);
        aborted.resolve();
        return name;
      });
      assertEquals(rows(trial), begun ? [[1, "no_such", "function_not_found", "hid"]] : []);
      const answer = trial.events.find((event) => event.kind === "answer");
      assertEquals(answer?.text, "AbortError");
    });
  }
}

// Responses

for (const streamed of [false, true]) {
  Deno.test(`a tap follows responses that go on from an earlier one, ${streamed ? "streamed" : "whole"}`, async () => {
    const { trial, asked, booked } = await trying([
      { calls: [booking(1), booking("two"), NO_SUCH] },
      DONE,
    ], async (task, options) => {
      const { baseURL, model } = options;
      const tools = task.tools.map((one) => ({ type: "function", ...toOpenAITool(one).function }));
      const send = async (more: JsonObject) => {
        const response = await post(
          `${baseURL}/responses`,
          options,
          { model, tools, stream: streamed, ...more } as JsonObject,
        );
        if (!streamed) return await response.json();
        const last = (await response.text()).split("data: ").at(-1)!;
        return JSON.parse(last).response;
      };
      const first = await send({ input: task.prompt });
      const output = await run(task, { id: "", function: first.output[0] });
      const input = [{ type: "function_call_output", call_id: first.output[0].call_id, output }, {
        ...{ type: "function_call_output", call_id: first.output[1].call_id, output: "wrong" },
      }];
      return (await send({ input, previous_response_id: first.id })).output[0].content[0].text;
    }, { entry: { api: "responses", reasoningEffort: "low" } });
    assertEquals(rows(trial), [
      [1, "book", undefined, undefined],
      [1, "book", "wrong_number_of_inputs", undefined],
      [1, "no_such", "function_not_found", "hid"],
    ]);
    assertEquals([trial.outcome, booked], ["solved", ["Rome 1"]]);
    // The server must keep what is gone on from.
    assertEquals(asked.map(({ body }) => body["store"]), [undefined, undefined]);
    assertEquals(asked.map(({ body }) => body["reasoning"]), [{ effort: "low" }, {
      effort: "low",
    }]);
  });
}

// Addresses, keys and options

Deno.test("a tap watches what goes to other addresses, with the agent's own key", async () => {
  await using other = sayingServer([
    { calls: [booking(1), NO_SUCH] },
    DONE,
  ]);
  const { trial, asked, booked } = await trying(
    [DONE],
    (task, options) =>
      looping()(task, { ...options, baseURL: other.url, apiKey: "own-key-of-the-agent" }),
    { entry: { temperature: 0 } },
  );
  assertEquals(asked, []);
  assertEquals(rows(trial), [
    [1, "book", undefined, undefined],
    [1, "no_such", "function_not_found", undefined],
  ]);
  assertEquals(booked, ["Rome 1"]);
  for (const { headers, body } of other.asked) {
    assertEquals(headers.get("authorization"), "Bearer own-key-of-the-agent");
    assertEquals(body["temperature"], undefined);
  }
});

Deno.test("a tap leaves all else that the agent fetches as it is", async () => {
  const seen: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const type = request.headers.get("content-type")?.replace(/;? ?boundary.*/, "");
    seen.push(
      `${request.method} ${new URL(request.url).pathname} ${type} ${
        (await request.text()).length > 0
      }`,
    );
    return new Response("x".repeat(10));
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const form = new FormData();
  form.set("a", "1");
  const { trial } = await trying([DONE], async (_, { fetch }) => {
    for (
      const answer of [
        await fetch(`${url}/page`),
        await fetch(new URL(`${url}/chat/completions`), { method: "POST" }),
        await fetch(new Request(`${url}/v1/responses`, { method: "POST", body: form })),
        await fetch(`${url}/v1/responses`, { method: "POST", body: form }),
        await fetch(`${url}/chat/completions`, { method: "POST", body: "[]" }),
        await fetch(`${url}/chat/completions`),
      ]
    ) assertEquals(await answer.text(), "x".repeat(10));
    return "Done.";
  });
  await server.shutdown();
  assertEquals([outcomeOf(trial), trial.agent], ["solved: ", "unwatched"]);
  assertEquals(seen, [
    "GET /page undefined false",
    "POST /chat/completions undefined false",
    "POST /v1/responses multipart/form-data true",
    "POST /v1/responses multipart/form-data true",
    "POST /chat/completions text/plain;charset=UTF-8 true",
    "GET /chat/completions undefined false",
  ]);
});

Deno.test("a tap shows the agent the key of the model nowhere", async () => {
  const seen: unknown[] = [];
  const refused = () => Response.json({ error: { message: `Bad key ${KEY}` } }, { status: 401 });
  const { trial } = await trying([DONE, refused], async (task, options) => {
    const { fetch: _, signal: __, ...texts } = options;
    seen.push({ ...texts, ...task });
    for (const own of [options, { ...options, fetch }]) {
      await send(own, { messages: [user("hi")] }).then(
        async (response) => seen.push([...response.headers], await response.text()),
        (error) => seen.push(String(error)),
      );
    }
    await ask(options, { messages: [user("hi")] }).catch((error) =>
      seen.push(error.message, error.stack)
    );
    return "Done.";
  });
  assertEquals(trial.outcome, "invalid");
  assertEquals(trial.permanent, "key");
  const texts = JSON.stringify(seen);
  assertMatch(texts, /Done\./);
  assertMatch(texts, /Bad key \[redacted\]/);
  assertNotMatch(texts + JSON.stringify(trial), new RegExp(KEY));
});

Deno.test("a tap hides the key of the model in errors and headers that it passes on, and in nothing else", async () => {
  const seen: string[] = [];
  const headers = { "x-asked-with": `Bearer ${KEY}` };
  // This server is the agent's own: all that it says goes past toolgate's client.
  const other = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const asked = { number: 1, path: "", headers: request.headers, body: await request.json() };
    return request.url.endsWith("/good/chat/completions")
      ? respond({ text: `It is ${KEY}.` }, asked)
      : Response.json({ error: { message: `Bad ${KEY}` } }, { status: 400, headers });
  });
  const { trial } = await trying([
    () => Response.json({ data: [], key: KEY }, { headers }),
    DONE,
  ], async (task, options) => {
    const body = { model: "other", messages: [user(task.prompt)] };
    const url = `http://127.0.0.1:${other.addr.port}`;
    for (
      const to of [
        `${options.baseURL}/embeddings`,
        ...["bad", "good"].map((name) => `${url}/${name}/chat/completions`),
      ]
    ) {
      const response = await options.fetch(to, { method: "POST", body: JSON.stringify(body) });
      seen.push(`${response.headers.get("x-asked-with")} ${await response.text()}`);
    }
    return (await ask(options, { messages: [user("hi")] })).content;
  });
  await other.shutdown();
  assertEquals(outcomeOf(trial), "solved: ");
  assertStringIncludes(seen[0]!, "Bearer [redacted] ");
  assertEquals(seen[1], 'Bearer [redacted] {"error":{"message":"Bad [redacted]"}}');
  // What a model says is passed on as it was said.
  assertStringIncludes(seen[2]!, `It is ${KEY}.`);
});

Deno.test("a tap sends the key and the sampling of the model's entry, where the agent sets no other", async () => {
  const entry: Partial<OpenAIOptions> = {
    ...{ temperature: 0.25, seed: 5, topP: 0.5, maxCompletionTokens: 100, reasoningEffort: "low" },
    ...{ headers: { "x-team": "gate-keepers" }, body: { service_tier: "flex", user: "entry" } },
  };
  const { asked } = await trying([DONE], async (task, options) => {
    const messages = [user(task.prompt)];
    await ask(options, { messages });
    return (await ask(options, {
      messages,
      temperature: 1,
      seed: 6,
      reasoning_effort: "high",
      user: "agent",
    })).content;
  }, { entry });
  const sent = asked.map(({ headers, body: { messages: _, ...body } }): JsonObject => ({
    ...body,
    key: headers.get("authorization"),
    team: headers.get("x-team"),
  }));
  const common = {
    ...{ model: "parrot", top_p: 0.5, max_completion_tokens: 100, service_tier: "flex" },
    ...{ key: `Bearer ${KEY}`, team: "gate-keepers" },
  };
  assertEquals(sent, [
    { ...common, temperature: 0.25, seed: 5, reasoning_effort: "low", user: "entry" },
    { ...common, temperature: 1, seed: 6, reasoning_effort: "high", user: "agent" },
  ]);
});

Deno.test("a tap forces the tool choice of the task, as far as a request offers tools", async () => {
  const agent: Agent = async (task, options) => {
    const messages = [user(task.prompt)];
    await ask(options, { messages, tools: offer(task), tool_choice: "auto" });
    await ask(options, { messages });
    const { baseURL, model } = options;
    const tools = task.tools.map((one) => ({
      type: "function",
      ...toOpenAITool(one).function,
    })) as unknown as JsonObject[];
    await (await post(`${baseURL}/responses`, options, { model, input: "x", tools })).body!
      .cancel();
    return (await ask(options, { messages, tools: offer(task).slice(1) })).content;
  };
  const { asked } = await trying([DONE], agent, { own: { toolChoice: { function: "book" } } });
  assertEquals(asked.map(({ body }) => body["tool_choice"]), [
    { type: "function", function: { name: "book" } },
    undefined,
    { type: "function", name: "book" },
    "required",
  ]);
});

Deno.test("a tap tells the name of the model, and refuses other paths, methods and bodies", async () => {
  const statuses: unknown[] = [];
  const { trial } = await trying([DONE], async (_, options) => {
    const { baseURL, toolsURL } = options;
    for (const own of [options.fetch, fetch]) {
      const models = await (await own(`${baseURL}/models`)).json();
      assertEquals(models.data[0].id, "parrot");
      const base = baseURL.slice(0, -"/v1".length);
      for (
        const [method, url, body] of [
          ["GET", `${base}/`],
          ["POST", `${base}/other`, "{}"],
          ["GET", `${baseURL}/chat/completions`],
          ["POST", `${baseURL}/chat/completions`, "no JSON"],
          ["POST", `${baseURL}/chat/completions`, "[1]"],
          ["POST", `${toolsURL}/nothing`, "{}"],
        ] as const
      ) {
        const response = await own(url, { method, ...(body === undefined ? {} : { body }) });
        statuses.push(response.status);
        assertEquals(
          typeof (await response.json()).error,
          url.startsWith(toolsURL) ? "string" : "object",
        );
      }
    }
    return "Done.";
  });
  assertEquals(statuses, Array(2).fill([404, 404, 405, 400, 400, 404]).flat());
  assertEquals([trial.outcome, trial.agent], ["solved", "unwatched"]);
});

Deno.test("a tap answers at its own address alone: not at a guess, nor at that of a trial that is over", async () => {
  const addresses: string[] = [];
  const agent: Agent = async (task, options) => {
    addresses.push(options.baseURL);
    const [first] = addresses;
    const { origin } = new URL(options.baseURL);
    for (const url of [first!, `${origin}/0123456789abcdef/v1`, `${origin}/v1`, `${origin}//v1`]) {
      if (url === options.baseURL) continue;
      const response = await fetch(`${url}/chat/completions`, {
        method: "POST",
        body: '{"messages":[]}',
      })
        .catch(() => undefined);
      if (response === undefined) continue;
      await response.body?.cancel();
      assertEquals(response.status, 404, url);
    }
    return await looping()(task, options);
  };
  for (let trials = 0; trials < 2; trials++) {
    const { trial, asked } = await trying([DONE], agent);
    assertEquals([trial.outcome, asked.length], ["solved", 1]);
  }
  assert(addresses[0] !== addresses[1]);
  for (const address of addresses) {
    assertMatch(address, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32,}\/v1$/);
  }
});

Deno.test("a tap refuses requests for several replies at once, of which it would judge one", async () => {
  const { trial, asked } = await trying([DONE], looping(carryOut, { n: 2 }));
  assertMatch(outcomeOf(trial), /^agent_error: .*400 .*n must be 1: of several replies/);
  assertEquals(asked, []);
});

// What fails

const status = (code: number, message: string, headers: HeadersInit = {}) => () =>
  Response.json({ error: { message } }, { status: code, headers });

const asText = (body: string) => () =>
  new Response(body, { headers: { "content-type": "application/json" } });

/** Answers whatever happens. */
const calm: Agent = (task, options) => looping()(task, options).catch(() => "Done.");

interface Failing {
  readonly script: Script;
  /** Default: one that fails where a request does. */
  readonly agent?: Agent;
  readonly retries?: number;
  readonly outcome: RegExp;
  /** Requests that reach the server. Default: 1. */
  readonly asked?: number;
  /** The attempts before the first reply. */
  readonly failed?: string[];
  readonly permanent?: Trial["permanent"];
}

const NO_MODEL = () =>
  Response.json({ error: { message: "no such model", code: "model_not_found" } }, { status: 404 });
const GONE = {
  ...{ script: [status(500, "oops")], retries: 1, asked: 2 },
  outcome: /^invalid: Cannot get a reply of parrot at .*: 500 oops \(2 attempts\)$/,
};

const FAILING: Readonly<Record<string, Failing>> = {
  "is at its limit for a while": {
    script: [status(429, "slow down", { "retry-after-ms": "1" }), DONE],
    ...{ retries: 3, asked: 2, outcome: /^solved: $/, failed: ["infrastructure 429"] },
  },
  "fails an agent that asks again by itself": {
    script: [status(503, "overloaded"), DONE],
    agent: (task, options) => looping()(task, options).catch(() => looping()(task, options)),
    ...{ asked: 2, outcome: /^solved: $/, failed: ["infrastructure 503"] },
  },
  "always fails": GONE,
  "always fails an agent that answers": { ...GONE, agent: calm },
  "fails later on an agent that answers": {
    script: [{ calls: [booking(1)] }, status(503, "overloaded")],
    ...{ agent: calm, asked: 2, outcome: /^invalid: .*overloaded/ },
  },
  "refuses a request": {
    ...{ script: [status(400, "messages: too few")], outcome: /^agent_error: .*400 .*too few/ },
  },
  // No other agent can do better where it is the model under test.
  "has not the model under test": {
    ...{ script: [NO_MODEL], outcome: /^invalid: /, permanent: "model" },
  },
  "has not the model that an agent asks for": {
    script: [NO_MODEL],
    agent: (task, options) => looping()(task, { ...options, model: "parot" }),
    outcome: /^agent_error: .*there is no such model/,
  },
  "sends no JSON": { script: [asText("hello")], agent: calm, outcome: /^invalid: .*it is text/ },
  "sends a page": {
    ...{ script: [asText("<!doctype html>")], agent: calm, outcome: /^invalid: .*it is a page/ },
    permanent: "address",
  },
};

for (const [what, given] of Object.entries(FAILING)) {
  Deno.test(`a tap tells whose failure it is if a server ${what}`, async () => {
    const { script, agent = looping(), retries = 0, outcome, failed, permanent } = given;
    const { trial, asked } = await trying(script, agent, { entry: { retries } });
    assertMatch(outcomeOf(trial), outcome);
    assertEquals([asked.length, trial.permanent], [given.asked ?? 1, permanent]);
    const attempts = repliesIn(trial)[0]?.failed;
    assertEquals(attempts?.map(({ cause, status }) => `${cause} ${status}`), failed);
  });
}

Deno.test("a stream that breaks off makes no reply", async () => {
  const text = 'data: {"choices":[{"index":0,"delta":{"content":"Do"}}]}\n\n';
  await using server = serversOf("chat").breaking({
    bytes: rawHead(1000, "text/event-stream") + text,
  });
  for (const swallows of [false, true]) {
    const agent: Agent = async (task, options) => {
      const response = await send(options, { messages: [user(task.prompt)], stream: true });
      return swallows ? await response.text().catch(() => "Done.") : await response.text();
    };
    const { trial } = await trying([DONE], agent, { model: server.model({ retries: 0 }) });
    assertMatch(outcomeOf(trial), /^invalid: Cannot get a reply of parrot/);
    assertEquals(repliesIn(trial), []);
  }
});

for (
  const [way, watched] of [
    ["asks again", "watched"],
    ["asks in other words", "watched"],
    ["goes on from what it got", "unwatched"],
  ] as const
) {
  Deno.test(`a trial whose agent ${way} after a stream was cut short is ${watched}`, async () => {
    const script: Script = [
      (asked) => cutShort(respond({ calls: [{ name: "no_such", arguments: "{}" }] }, asked)),
      { calls: [booking(1)] },
      DONE,
    ];
    const { trial, booked } = await trying(script, async (task, options) => {
      const { baseURL, model } = options;
      const messages: JsonObject[] = [user(task.prompt)];
      const body = { model, messages, tools: offer(task), stream: true };
      const response = await post(`${baseURL}/chat/completions`, options, body);
      const call = await firstCall(response.body!.pipeThrough(new TextDecoderStream()).getReader());
      assertEquals(call.function.name, "no_such");
      const assistant = { role: "assistant", tool_calls: [{ ...call, type: "function" }] };
      if (way === "goes on from what it got") {
        const tool_call_id = call.id;
        messages.push(assistant, { role: "tool", tool_call_id, content: "There is no no_such" });
      } else if (way === "asks in other words") messages.push(user("Go on."));
      while (true) {
        const message = await ask(options, { messages: [...messages], tools: offer(task) });
        if (message.tool_calls === undefined) return message.content;
        messages.push(...await carryOut(message, task));
      }
    });
    assertEquals([outcomeOf(trial), booked], ["solved: ", ["Rome 1"]]);
    assertEquals(trial.agent, watched);
    assertEquals(repliesIn(trial).map(({ failed }) => failed?.length), [1, undefined]);
  });
}

Deno.test("another request's body that breaks off ends nothing else", async () => {
  await using server = serversOf("chat").breaking({ bytes: rawHead(1000) + '{"data":[' });
  const { trial } = await trying([DONE], async (_, options) => {
    const response = await post(`${options.baseURL}/embeddings`, options, { input: "x" });
    return await response.text().then(() => "whole", () => "broken");
  }, { model: server.model({ retries: 0 }) });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(trial.events.map((event) => event.kind === "answer" ? event.text : event.kind), [
    "broken",
  ]);
});

Deno.test("a reply without end is neither kept nor passed on", async () => {
  const big = new Uint8Array(1 << 20).fill(97);
  const flood = () => {
    let left = 17;
    return new Response(
      new ReadableStream({ pull: (to) => left-- > 0 ? to.enqueue(big) : to.close() }),
      { headers: { "content-type": "text/event-stream" } },
    );
  };
  let bytes = 0;
  const { trial } = await trying([flood], async (task, options) => {
    const response = await send(options, { messages: [user(task.prompt)], stream: true });
    for await (const chunk of response.body!) bytes += chunk.length;
    return "Done.";
  });
  assert(bytes <= 16 * 2 ** 20);
  // The agent failed on it; what cannot be read is no valid reply either.
  assert(trial.outcome !== "solved" && repliesIn(trial).length === 0, outcomeOf(trial));
});

Deno.test("bodies of an agent that are under way have a limit together", async () => {
  const statuses: number[] = [];
  await trying([DONE], async (_, { fetch, toolsURL }) => {
    const gate = Promise.withResolvers<void>();
    const bodyOf = async function* (read: () => void) {
      yield new Uint8Array(15 * 2 ** 20).fill(32);
      read();
      await gate.promise;
      yield new TextEncoder().encode("{}");
    };
    /** Sends a body whose end waits for the gate; resolves once the rest of it was read, or refused. */
    const begin = async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const body = ReadableStream.from(bodyOf(resolve));
      const response = fetch(`${toolsURL}/book`, { method: "POST", body });
      await Promise.race([promise, response]);
      return [response.then(({ status }) => statuses.push(status))];
    };
    const begun: Promise<unknown>[] = [];
    for (let count = 0; count < 9; count++) begun.push(...await begin());
    gate.resolve();
    await Promise.all(begun);
    await Promise.all(await begin());
    return "Done.";
  });
  assertEquals(statuses, [413, ...Array(9).fill(200)]);
});

Deno.test("a call whose arguments nest deep is judged", async () => {
  const deep = (levels: number) => `${'{"city":'.repeat(levels)}1${"}".repeat(levels)}`;
  const { trial } = await trying([{
    calls: [{ name: "book", arguments: deep(100_000) }, booking(1)],
  }, DONE], looping());
  assertEquals(rows(trial).map(([, name, failure]) => [name, failure]).toSorted(), [
    ["book", undefined],
    ["book", "wrong_number_of_inputs"],
  ]);
});

Deno.test("an agent's request that nests deep goes on as it came", async () => {
  const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  const { trial, asked } = await trying([DONE], async (_, { fetch, baseURL }) => {
    const body = `{"model":"parrot","messages":[{"role":"user","content":${deep}}]}`;
    const response = await fetch(`${baseURL}/chat/completions`, { method: "POST", body });
    return (await response.json()).choices[0].message.content;
  });
  assertEquals([outcomeOf(trial), asked.length], ["solved: ", 1]);
});

Deno.test("a reply with 10,000 calls ends by the limit of calls", async () => {
  const calls = Array.from({ length: 10_000 }, (_, place) => booking(place));
  const hidden = await trying([{ calls }, DONE], looping((message) => Promise.resolve([message])), {
    limits: { calls: 20 },
  });
  assertEquals([hidden.trial.outcome, hidden.trial.calls, hidden.booked.length], [
    "call_limit",
    20,
    0,
  ]);
});

Deno.test("names such as __proto__ are names like any other", async () => {
  const names = ["__proto__", "constructor", "toString", ""];
  const calls = names.map((name) => ({ name, arguments: '{"__proto__":{"nights":1}}' }));
  const { trial } = await trying([{ calls }, DONE], looping());
  assertEquals(rows(trial), names.map((name) => [1, name, "function_not_found", undefined]));
});

const TOOL_USE_FAILED = {
  error: {
    ...{ message: "Failed to call a function", type: "invalid_request_error" },
    ...{ code: "tool_use_failed", failed_generation: '<function=book>{"city": Rome}</function>' },
  },
};

Deno.test("calls that the server could not read are the model's, whole and streamed", async () => {
  const stream = () =>
    new Response(`data: ${JSON.stringify(TOOL_USE_FAILED)}\n\ndata: [DONE]\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  for (const answer of [() => Response.json(TOOL_USE_FAILED, { status: 400 }), stream]) {
    const { trial } = await trying([answer], async (task, options) => {
      const body = { messages: [user(task.prompt)], tools: offer(task), stream: true };
      return await send(options, body).then(
        (response) => response.text(),
        () => "Sorry.",
      );
    });
    assertEquals(rows(trial), [[1, "book", "wrong_number_of_inputs", "hid"]], outcomeOf(trial));
    assert(trial.outcome !== "invalid");
  }
});

Deno.test("attempts that failed are told with the reply that comes at last, whatever form it has", async () => {
  const busy = status(500, "oops");
  for (
    const script of [
      // The server could not read the call of the reply.
      [busy, busy, () => Response.json(TOOL_USE_FAILED, { status: 400 }), DONE],
      // The agent asks again where toolgate has given up.
      [busy, busy, busy, busy, DONE],
    ]
  ) {
    const { trial } = await trying(
      script,
      async (task, options) => {
        const body = { messages: [user(task.prompt)], tools: offer(task) };
        return (await ask(options, body).catch(() => ask(options, body))).content;
      },
      { entry: { retries: 2 } },
    );
    const failed = repliesIn(trial)[0]!.failed ?? [];
    assertEquals(
      failed.map(({ status }) => status),
      script.slice(0, -1).flatMap((one) => one === busy ? [500] : []),
    );
    assert(trial.outcome !== "invalid", outcomeOf(trial));
  }
});

Deno.test("what a model called counts if a limit ends the trial before the agent did anything with it", async () => {
  for (const limits of [{ steps: 1 }, { seconds: 1 }]) {
    const { trial } = await trying([{ calls: [NO_SUCH] }, DONE], async (task, options) => {
      await ask(options, { messages: [user(task.prompt)], tools: offer(task) });
      if (limits.steps === undefined) await new Promise(() => {});
      return (await ask(options, { messages: [user("And now?")], tools: offer(task) })).content;
    }, { limits });
    assertEquals(types(trial), [[1, "function_not_found"]], outcomeOf(trial));
    assertEquals(trial.outcome, limits.steps === undefined ? "time_limit" : "step_limit");
  }
});

Deno.test("a reply beside the task that is cut off or filtered ends no trial", async () => {
  for (const finish of ["length", "content_filter"]) {
    const script = [{ text: "", finish }, { calls: [booking(1)] }, DONE];
    const { trial } = await trying(script, async (task, options) => {
      await ask(options, { messages: [user("Is that safe?")], max_tokens: 1 });
      return await looping()(task, options);
    });
    assertEquals([trial.outcome, trial.agent], ["solved", "watched"], outcomeOf(trial));
  }
});

Deno.test("a stream that hangs is waited for no longer than a moment once the agent has given it up", async () => {
  const hung = new AbortController();
  let isFirst = true;
  const script: Script = ({ body }) => {
    if (body["stream"] !== true) return isFirst ? (isFirst = false, { calls: [booking(1)] }) : DONE;
    const first = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "I" } }] })}`;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(`${first}\n\n`)),
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
  const { trial } = await trying(script, async (task, options) => {
    const body = { messages: [user(task.prompt)], tools: offer(task), stream: true };
    const response = await send(options, body, { signal: hung.signal });
    const reader = response.body!.getReader();
    await reader.read();
    hung.abort();
    await reader.read().catch(() => {});
    return await looping()(task, options);
  });
  assertEquals([trial.outcome, trial.agent], ["solved", "watched"], outcomeOf(trial));
  const failed = repliesIn(trial).flatMap(({ failed = [] }) => failed);
  assertEquals(failed.map(({ cause }) => cause), ["infrastructure"]);
  assertStringIncludes(failed[0]!.message, "Nothing came for 5 seconds");
});

Deno.test("filtered, cut and dear replies end a trial as they do without an agent", async () => {
  const agents: Agent[] = [
    looping(),
    // It has its answer before the reply has been read.
    async (task, options) => {
      await send(options, { messages: [user(task.prompt)], tools: offer(task), stream: true });
      return "Done.";
    },
    async (task, options) => {
      await looping()(task, options);
      return await ask(options, { messages: [user("again")] }).then(() => "Done.", () => "Done.");
    },
  ];
  const table: [Saying, TrialOptions["limits"] & object, string][] = [
    [{ text: "", finish: "content_filter" }, {}, "filtered"],
    [{ text: "Once", finish: "length" }, {}, "token_limit"],
    [DONE, { tokens: 1 }, "token_limit"],
  ];
  for (const [saying, limits, outcome] of table) {
    for (const agent of agents) {
      const { trial, asked } = await trying([saying, DONE], agent, { limits });
      assertEquals([trial.outcome, asked.length], [outcome, 1]);
    }
  }
});

for (const where of ["its server", "another address"] as const) {
  Deno.test(`a tap waits no longer than the trial may for ${where}`, async () => {
    const over = Promise.withResolvers<void>();
    await using silent = sayingServer(async () => {
      await over.promise;
      return new Response(null);
    });
    const { trial } = await trying(
      [DONE],
      (task, options) =>
        looping()(task, where === "its server" ? options : { ...options, baseURL: silent.url }),
      {
        limits: { seconds: 0.1 },
        ...(where === "its server" ? { model: silent.model({ retries: 0 }) } : {}),
      },
    );
    over.resolve();
    assertEquals(trial.outcome, "time_limit");
  });
}

Deno.test("a tap breaks off what is still being sent when a limit ends the trial", async () => {
  let timer: ReturnType<typeof setInterval>;
  const cancelled = Promise.withResolvers<void>();
  const endless = () =>
    new Response(
      new ReadableStream({
        start: (to) => {
          timer = setInterval(() => to.enqueue(new TextEncoder().encode(": waiting\n\n")), 5);
        },
        cancel: () => {
          clearInterval(timer);
          cancelled.resolve();
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  const { trial } = await trying([endless], async (task, options) => {
    const response = await send(options, { messages: [user(task.prompt)], stream: true });
    return await response.text();
  }, { limits: { seconds: 0.1 } });
  assertEquals(trial.outcome, "time_limit");
  await cancelled.promise;
});

Deno.test("nothing is sent or recorded once the trial is over", async () => {
  const over = Promise.withResolvers<void>();
  const left: Promise<unknown>[] = [];
  const { trial, asked, booked } = await trying([DONE], async (task, options) => {
    const text = await looping()(task, options);
    const { baseURL } = options;
    left.push(over.promise.then(() =>
      Promise.all([
        ask(options, { messages: [user("more")] }).catch(String),
        post(`${baseURL}/embeddings`, options, { input: "x" }).catch(String),
        send({ ...options, fetch }, { messages: [] }).catch(String),
        task.tools[0]!.execute({ city: "Rome", nights: 1 }).catch(String),
      ])
    ));
    return text;
  });
  const before = JSON.stringify(trial);
  over.resolve();
  const [[asking, embedding, outside, calling]] = await Promise.all(left) as [string[]];
  assertMatch(asking!, /400 .*The trial is over/);
  assertMatch(embedding!, /400 .*The trial is over/);
  assertMatch(outside!, /404|TypeError/);
  assertMatch(calling!, /over/);
  assertEquals([asked.length, booked, JSON.stringify(trial)], [1, [], before]);
});

// Generated tasks

const SPEC = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const RIGHT = coreInOrder(TASK).map((made): SaidCall => ({
  name: made.name,
  arguments: JSON.stringify(rightArguments(TASK, made)),
}));
const types = ({ failures }: Trial) => failures.map(({ step, type }) => [step, type]).toSorted();

Deno.test("a tap judges a call by what was known when the model made it, however late the agent shows it", async () => {
  const last = RIGHT.at(-1)!;
  const early = { ...last, arguments: last.arguments.replaceAll(/\d+/g, "7") };
  const script = [{ calls: [early] }, ...RIGHT.map((call) => ({ calls: [call] })), DONE];
  await using server = sayingServer(script);
  // Each request has a conversation of its own, so that only the end shows what was not carried out.
  const trial = await runTrial(SPEC, server.model(), {
    agent: async (task, options) => {
      for (let asked = 1;; asked++) {
        const message = await ask(options, { messages: [user(`${asked}`)], tools: offer(task) });
        if (message.tool_calls === undefined) return message.content;
        if (asked > 1) await carryOut(message, task);
      }
    },
  });
  await using again = sayingServer(script);
  const built = await runTrial(SPEC, again.model(), { limits: { calls: 20 } });
  assertEquals(types(trial), [[1, "value_not_yet_known"]]);
  assertEquals(types(trial), types(built));
});

Deno.test("a tap knows what the agent found out before it asked", async () => {
  const [first, ...others] = RIGHT;
  await using server = sayingServer([
    { calls: others.slice(0, 1) },
    { calls: others.slice(1) },
    DONE,
  ]);
  const trial = await runTrial(SPEC, server.model(), {
    agent: async (task, options) => {
      await run(task, { id: "", function: first! });
      return await looping()(task, options);
    },
  });
  assertEquals(types(trial), []);
  assertEquals(
    callsOf(trial.events).map(({ step, by, guessed }) => [step, by, guessed]),
    [[1, "agent", undefined], [2, undefined, undefined], [3, undefined, undefined]],
  );
});

// The user

/** A simulated user. */
const userOf = (model: UserFunction) => ({ user: { model, scenario: "He wants a room." } });
const kinds = ({ events }: Trial) =>
  events.map((event) => event.kind === "turn" ? event.text : event.kind);

Deno.test("an agent says texts to the user in the middle of its work, by its task, HTTP and MCP", async () => {
  const told: unknown[] = [];
  const agent: Agent = async ({ user }, { toolsURL, mcpURL }) => {
    const { call } = mcpServer(await mcpURL());
    const ways: ((text: string) => Promise<unknown>)[] = [
      (text) => user!(text).then((reply) => reply ?? "over", ({ message }) => message),
      async (text) => {
        const body = JSON.stringify({ text });
        return await (await fetch(`${toolsURL}/ask_user`, { method: "POST", body })).json();
      },
      async (text) => JSON.parse((await call("ask_user", { text })).text),
    ];
    for (const text of [" \n", "Where?", "Done.", "Hello?"]) {
      for (const way of ways) told.push(await way(text));
    }
    return "Bye.";
  };
  const user = userOf(({ messages }) =>
    messages.length > 7 ? { end: "done" } : `${messages.at(-1)!.text} Rome.`
  );
  const assert = ({ turns }: ToolTestRun) =>
    assertEquals(turns.map(({ texts }) => texts.join()), [
      ...["Where?", "Where?", "Where?", "Done.,Bye."],
    ]);
  const { trial } = await trying([DONE], agent, { own: { ...user, assert } });
  const error = "What is said to the user must be a text that is not blank";
  const [reply, over] = ["Where? Rome.", ["over", { over: true }, { over: true }]];
  assertEquals(told, [
    ...[error, { error }, { error }, reply, { reply }, { reply }],
    ...[...over, ...over],
  ]);
  assertEquals(outcomeOf(trial), "solved: ");
});

Deno.test("an agent gets a further turn for each text, one after another", async () => {
  const agent: Agent = async ({ user }) =>
    JSON.stringify(await Promise.all(["a", "b", "c"].map((text) => user!(text))));
  const user: UserFunction = async ({ messages }) =>
    await Promise.resolve(messages.length > 5 ? { end: "done" } : `${messages.at(-1)!.text}!`);
  for (const own of [{ turns: ["a!", "b!"] }, userOf(user)]) {
    const { trial } = await trying([DONE], agent, { own });
    assertEquals(kinds(trial).filter((one) => one !== "user"), ["a!", "b!", "answer"]);
    assertEquals(trial.events.at(-1), { kind: "answer", text: '["a!","b!",null]', value: null });
  }
});

Deno.test("a fault of the user is his, whatever the agent makes of it", async () => {
  for (const isAwaited of [true, false]) {
    const { trial, booked } = await trying([DONE], async ({ user, tools }) => {
      const telling = user!("Where?").catch(() => {});
      if (isAwaited) await telling.then(() => tools[0]!.execute({ city: "Rome", nights: 1 }));
      return "All is well.";
    }, { own: userOf(() => Promise.reject(new Error("no such user"))) });
    assertEquals([trial.outcome, trial.user?.fault, booked], ["invalid", "unavailable", []]);
  }
});

Deno.test("the time that the user takes is not that of the agent", async () => {
  const slow: UserFunction = () =>
    new Promise((resolve) => setTimeout(() => resolve({ end: "done" }), 1_200));
  const agent: Agent = async ({ user }) => `${await user!("Where?")}`;
  const { trial } = await trying([DONE], agent, { own: userOf(slow), limits: { seconds: 1 } });
  assertEquals(outcomeOf(trial), "solved: ");
});

Deno.test("what an agent says in the name of its user is a turn, where the test has nobody to say it", async () => {
  const agent: Agent = async (task, options) => {
    const messages: JsonObject[] = [];
    for (const text of [task.prompt, "Rome.", "Yes."]) {
      messages.push({ role: "user", content: [{ type: "text", text }] });
      messages.push(await ask(options, { messages: [...messages], tools: offer(task) }));
    }
    return "Done.";
  };
  const assert = ({ turns }: ToolTestRun) =>
    assertEquals(turns.map(({ prompt, by, answer }) => `${by} ${prompt} ${answer}`), [
      ...["undefined Book a room. Where?", "agent Rome. Sure?", "agent Yes. Done."],
    ]);
  const script = [{ text: "Where?" }, { text: "Sure?" }, DONE];
  assertEquals(outcomeOf((await trying(script, agent, { own: { assert } })).trial), "solved: ");
  const { trial } = await trying(script, agent, { own: userOf(() => ({ end: "done" })) });
  assertEquals(kinds(trial), ["reply", "reply", "reply", "user", "answer"]);
});
