import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { InputError } from "../../lib/base/errors.ts";
import { assertCalled } from "../../lib/testing/assertions/calls.ts";
import { InfrastructureError, type Model, type ModelRequest } from "../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import type { ToolCase, ToolTestRun } from "../../lib/trials/executors/tool_case.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { asksConsent } from "../../lib/calls/questions.ts";
import { faultOf } from "../../lib/trials/users/_replies.ts";
import { type ToolUser, USER_GUIDELINES } from "../../lib/trials/users/user.ts";

interface Shop {
  readonly cancelled: string[];
  airplane: boolean;
}

const SCENARIO = "You are Ada. You want to cancel order A7, and know its number alone.";
const tools = ({ cancelled }: Shop) => [tool({
  ...{
    name: "cancel",
    description: "Cancels an order",
    parameters: z.object({ order: z.string() }),
  },
  execute: ({ order }) => {
    cancelled.push(order);
    return { ok: true };
  },
})];

/** Asks for what it lacks, then for consent, then cancels. */
const SHOP = (said: ModelRequest["messages"]): ScriptedReply => {
  const last = said.at(-1)!;
  if (last.role === "tool") return { text: "It is cancelled." };
  const [order] = /[A-Z]\d+/.exec(textsOf(said, "user")) ?? [];
  if (order === undefined) return { text: "Which order do you mean?" };
  if (!/yes/i.test(last.content)) return { text: `Shall I cancel ${order}?` };
  return { calls: [{ name: "cancel", arguments: { order } }] };
};

function textsOf(messages: ModelRequest["messages"], role: string): string {
  return messages.filter((one) => one.role === role).map(({ content }) => content).join("\n");
}

const DONE: ScriptedReply = {
  calls: [{ name: "end_conversation", arguments: { reason: "done" } }],
};

/** Answers the shop, as a language model would. */
function ada({ messages }: ModelRequest): ScriptedReply {
  const last = messages.at(-1)!.content;
  if (/Which/.test(last)) return { text: "Order A7." };
  if (/Shall/.test(last)) return { text: "Yes." };
  return /is cancelled/.test(last) ? DONE : { text: "Cancel my order, please." };
}

/** Runs one conversation, and returns its trial, what assert got, and what the model under test was sent. */
async function talk(
  user: Partial<ToolUser<Shop>>,
  { assert: judged, model = SHOP, userModel = scripted("ada", ada), seed = 5, ...own }:
    & Partial<ToolCase<Shop>>
    & {
      readonly model?: (said: ModelRequest["messages"]) => ScriptedReply;
      readonly userModel?: Model;
      readonly seed?: number;
    } = {},
) {
  const sent: ModelRequest[] = [];
  let run: ToolTestRun<Shop> | undefined;
  const shop: ToolCase<Shop> = {
    ...{ name: "shop", state: () => ({ cancelled: [], airplane: true }), tools },
    user: { model: userModel, scenario: SCENARIO, ...user },
    assert: (told) => {
      run = told;
      return (judged ??
        ((one) => assertCalled(one, { tool: "cancel", arguments: { order: "A7" } })))(
          told,
        );
    },
    ...own,
  };
  const agent = scripted("agent", (request) => {
    sent.push(request);
    return model(request.messages);
  });
  const spec = { case: "shop", seed };
  const trial = await runTrial(spec, agent, { open: caseOpener(() => shop), userModel });
  assertEquals(TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial))).user, trial.user);
  return { trial, run, sent };
}

/** A user whose replies are those of a list, the last one again and again. */
function replies(...list: readonly ScriptedReply[]): Model {
  let place = 0;
  return scripted("list", () => list[Math.min(place++, list.length - 1)]!);
}

const endOf = ({ outcome, user }: Trial) => [outcome, user?.end ?? null, user?.fault ?? null];

Deno.test("a simulated user opens, answers, consents and ends; the model sees his messages alone", async () => {
  const asked: ModelRequest[] = [];
  const userModel = scripted("ada", (request) => {
    asked.push(request);
    return { ...ada(request), usage: { inputTokens: 10, outputTokens: 2 } };
  });
  const { trial, run, sent } = await talk({}, { userModel, system: "Be brief." });
  assertEquals(endOf(trial), ["solved", "done", null]);
  assertEquals(run!.turns.map(({ prompt, answer }) => [prompt, answer]), [
    ["Cancel my order, please.", "Which order do you mean?"],
    ["Order A7.", "Shall I cancel A7?"],
    ["Yes.", "It is cancelled."],
  ]);
  assertEquals(run!.conversation, { end: "done", messages: 3, isAtLimit: false });
  // One seed for the whole conversation, which is that of functions as well.
  assertEquals(new Set(asked.map(({ seed }) => seed)).size, 1);
  assert(asked[0]!.seed !== undefined);
  const seen = JSON.stringify(sent);
  for (const hidden of ["You are Ada", "Guidelines", "end_conversation"]) {
    assert(!seen.includes(hidden), hidden);
  }
  // He sees neither calls nor results, and his own words as those of the assistant that plays him.
  const last = asked.at(-1)!.messages;
  assertEquals(last.map(({ role }) => role), [
    ...["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"],
  ]);
  assertStringIncludes(last[0]!.content, USER_GUIDELINES);
  assertStringIncludes(last[0]!.content, SCENARIO);
  // His tokens are none of the model's.
  assertEquals(trial.user!.usage, { inputTokens: 40, outputTokens: 8 });
  assertEquals(trial.usage, { inputTokens: 0, outputTokens: 0 });
  assertEquals(trial.user!.model, { requested: "ada", served: ["ada"], simulated: true });
  assertEquals(trial.events.filter(({ kind }) => kind === "user").length, 4);
});

Deno.test("the seed of a user follows from that of the trial, whatever model is under test", async () => {
  const seeds: number[] = [];
  const play = (seed: number, name: string) =>
    talk({
      model: ({ messages }, own) => {
        seeds.push(own);
        return messages.length === 0 ? name : { end: "out_of_scope" };
      },
    }, { seed });
  await play(5, "one");
  await play(5, "another");
  await play(6, "one");
  assertEquals([new Set(seeds.slice(0, 4)).size, new Set(seeds).size], [1, 2]);
});

/** A user whose texts follow from how much was said, with at most so many messages. */
function saying(turns: number, text: (said: number) => string): Partial<ToolUser<Shop>> {
  return { limits: { turns }, model: ({ messages }) => text(messages.length) };
}

/** What a user does, and how the trial ends. */
type Ending = [string, Partial<ToolUser<Shop>>, Parameters<typeof talk>[1], readonly unknown[]];
const ENDS: readonly Ending[] = [
  [
    "out of scope is judged as well",
    {
      model: ({ messages: { length } }) => length === 0 ? "Sing!" : { end: "out_of_scope" },
    },
    { assert: () => {} },
    ["solved", "out_of_scope", null],
  ],
  [
    "transferred, and wrong",
    {
      model: ({ messages: { length } }) => length === 0 ? "Cancel it." : { end: "transferred" },
    },
    {},
    ["wrong_answer", "transferred", null],
  ],
  ["done before a fact", { facts: ["A7"] }, {
    userModel: replies({ text: "Cancel it." }, DONE),
  }, ["invalid", null, "early_end"]],
  ["done before any message", {}, { userModel: replies(DONE) }, ["invalid", null, "early_end"]],
  ["done in place of consent", {}, {
    userModel: replies({ text: "Cancel A7." }, DONE),
  }, ["invalid", null, "early_end"]],
  ["text beside a stop word is answered first", {}, {
    userModel: replies({ text: "Cancel A7." }, { text: "Yes, please. ###STOP###" }),
  }, ["solved", "done", null]],
  ["stop words of the model end nothing", {}, {
    model: (said) => ({ ...SHOP(said), ...(said.length > 1 ? {} : { text: "###STOP### Which?" }) }),
  }, ["solved", "done", null]],
  ["text and call", {}, {
    userModel: replies({ text: "Thanks!", ...DONE }),
  }, ["invalid", null, "text_and_call"]],
  ["empty", {}, { userModel: replies({ text: "" }) }, ["invalid", null, "empty"]],
  ["an empty text of a function", { model: () => " " }, {}, ["invalid", null, "empty"]],
  ["offers help", {}, {
    userModel: replies({ text: "How can I help you today?" }),
  }, ["invalid", null, "swapped_role"]],
  ["writes for both sides", {}, {
    userModel: replies({ text: "User: cancel A7\nAgent: done" }),
  }, ["invalid", null, "swapped_role"]],
  ["says the agent's words", {}, {
    userModel: replies({ text: "Hello." }, { text: "which order  do you mean?" }),
  }, ["invalid", null, "swapped_role"]],
  ["thinks aloud", {}, {
    userModel: replies({ text: "<think>I am Ada.</think>Cancel A7." }),
  }, ["invalid", null, "reasoning"]],
  ["calls for ever", {}, {
    userModel: replies({ calls: [{ name: "no_tool", arguments: {} }] }),
  }, ["invalid", null, "too_many_calls"]],
  ["ends for no known reason", {}, {
    userModel: replies({ calls: [{ name: "end_conversation", arguments: { reason: "bored" } }] }),
  }, ["invalid", null, "too_many_calls"]],
  ["is cut off", {}, {
    userModel: replies({ text: "Cancel", finish: "length" }),
  }, ["invalid", null, "unavailable"]],
  ["is filtered", {}, {
    userModel: replies({ text: "", finish: "filter" }),
  }, ["invalid", null, "unavailable"]],
  ["is down", {}, {
    userModel: scripted("down", () => Promise.reject(new InfrastructureError("no network"))),
  }, ["invalid", null, "unavailable"]],
  ["a function that throws", saying(9, () => JSON.parse("oh")), {}, [
    ...["invalid", null, "unavailable"],
  ]],
  ["a function that says a number", saying(9, () => 3 as never), {}, [
    ...["invalid", null, "unavailable"],
  ]],
  [
    "never ends, with all done",
    saying(4, (said) => said === 0 ? "Cancel A7." : `Yes ${said}`),
    {},
    [
      ...["invalid", null, "never_ends"],
    ],
  ],
  ["repeats himself", saying(5, () => "Any news?"), {
    model: (said) => ({ text: `Answer ${said.length}` }),
  }, ["invalid", null, "repeats"]],
  ["a model that leaves something open", saying(3, (said) => `Cancel, number ${said}`), {}, [
    ...["turn_limit", null, null],
  ]],
  ["answers the same to questions", saying(5, () => "Yes, A7."), {
    model: (said) => ({ text: `Are you sure, ${said.length}?` }),
  }, ["turn_limit", null, null]],
  [
    "a fact is still open at the limit",
    {
      ...saying(2, (said) => said === 0 ? "Cancel A7." : "Yes"),
      facts: ["B9"],
    },
    {},
    ["turn_limit", null, null],
  ],
  ["a model that only thinks", {}, { model: () => ({ text: "<think>Well.</think>\u200b" }) }, [
    ...["no_answer", null, null],
  ]],
];

for (const [name, { model, ...user }, own, end] of ENDS) {
  Deno.test(`how a conversation ends: ${name}`, async () => {
    const { trial } = await talk({ ...user, ...(model && { model }) }, own);
    assertEquals(endOf(trial), end);
    if (end[0] === "invalid") assertStringIncludes(trial.reason!, "the simulated user ");
  });
}

Deno.test("a reply that cannot be used is drawn once more, and stays in the record", async () => {
  const userModel = replies({ text: "" }, { text: "Cancel A7." }, { text: "Yes." }, DONE);
  const { trial } = await talk({}, { userModel });
  assertEquals([...endOf(trial), trial.user!.redraws], ["solved", "done", null, 1]);
  assertEquals(
    trial.events.flatMap((event) => event.kind === "user" ? [[event.text, event.fault]] : []),
    [["", "empty"], ["Cancel A7.", undefined], ["Yes.", undefined], ["", undefined]],
  );
});

Deno.test("a user has tools of his own on the state of the trial, which are none of the model's", async () => {
  const own = ({ airplane: _, ...shop }: Shop) => [tool({
    ...{ name: "count", description: "Counts", parameters: z.object({}) },
    execute: () => shop.cancelled.length,
  })];
  const userModel = replies(
    { calls: [{ name: "count", arguments: {} }] },
    { text: "Cancel A7." },
    { text: "Yes." },
    { calls: [{ name: "count", arguments: {} }, ...DONE.calls!] },
  );
  const { trial, run } = await talk({ tools: own }, { userModel });
  assertEquals(endOf(trial), ["solved", "done", null]);
  assertEquals(run!.calls.map((call) => call.tool), ["cancel"]);
  assertEquals(
    trial.events.flatMap((event) => event.kind === "user" ? event.calls ?? [] : []),
    ["0", "1"].map((result) => ({ function: "count", arguments: "{}", result })),
  );
  // A reply of a function whose tools have run is not drawn again.
  let counted = 0;
  const { trial: once } = await talk({
    tools: () => [{
      ...own({ cancelled: [], airplane: true })[0]!,
      execute: () => Promise.resolve(`${++counted}`),
    }],
    model: async ({ call }) => {
      await call("count", {});
      return "";
    },
  });
  assertEquals([once.reason, counted], ["the simulated user wrote nothing", 1]);
  // What he does not wait for is done before the model goes on.
  let done = 0;
  const slow = {
    ...own({ cancelled: [], airplane: true })[0]!,
    execute: () => delay(20).then(() => `${++done}`),
  };
  const { run: late } = await talk({
    tools: () => [slow],
    model: ({ messages: { length }, call }) => {
      if (length > 0) return { end: "out_of_scope" };
      call("count", {});
      return "Cancel it.";
    },
  }, { assert: () => assertEquals(done, 1) });
  assertEquals(late!.conversation!.end, "out_of_scope");
  const named = { ...tools({ cancelled: [], airplane: false })[0]!, name: "end_conversation" };
  await assertRejects(() => talk({ tools: () => [named] }), InputError, "none may be called end_");
});

Deno.test("a greeting and a history are seen by both sides, and are no turns", async () => {
  const history = [
    { role: "user", content: "Cancel my order, please." },
    { role: "assistant", content: "Hello Ada." },
  ] as const;
  const { trial, run, sent } = await talk({ history, opens: { greeting: "What can I do?" } });
  assertEquals(endOf(trial), ["solved", "done", null]);
  assertEquals(sent[0]!.messages.map(({ role }) => role), [
    ...["user", "assistant", "assistant", "user"],
  ]);
  assertEquals(run!.turns.map(({ prompt }) => prompt), [
    ...["Cancel my order, please.", "Order A7.", "Yes."],
  ]);
  assertEquals(run!.turns[0]!.texts, ["Which order do you mean?"]);
  assertEquals(trial.transcript!.history?.value?.map(({ text }) => text), [
    ...["Cancel my order, please.", "Hello Ada.", "What can I do?"],
  ]);
  assertEquals(trial.transcript!.scenario!.value, SCENARIO);
  assertEquals(trial.transcript!.prompt.value, "Cancel my order, please.");
});

Deno.test("what a greeting says is not said by the model", async () => {
  const told = async (communicate: string) => {
    const greeting = "Returns are free for 30 days.";
    return (await talk({ opens: { greeting } }, { communicate: [communicate] })).trial.outcome;
  };
  assertEquals([await told("30 days"), await told("cancelled")], ["wrong_answer", "solved"]);
});

Deno.test("a prompt is his first message", async () => {
  const { run } = await talk({}, { prompt: "Cancel A7 for me." });
  assertEquals(run!.turns[0]!.prompt, "Cancel A7 for me.");
});

Deno.test("what asks for consent is a question about doing something", () => {
  const asking = [
    ...["Shall I cancel it?", "I will refund $5. Do you want me to proceed?", "Cancel A7 (yes/no)"],
    ...["Please confirm: is that correct? Thank you.", "Would you like me to go on?", "OK？"],
    ...["Do you want to cancel order A7?", "Are you sure?", "Please reply yes to cancel it."],
  ];
  const others = [
    ...["It is done.", "Is there anything else I can help you with?", "Which order do you mean?"],
    ...[
      "I can proceed. What is your name?",
      "OK. Your order was cancelled.",
      "What else can I do?",
    ],
    ...["Can I do anything more for you?", "May I wish you a nice day?", "Is everything okay now?"],
  ];
  assertEquals(asking.filter((text) => !asksConsent(text)), []);
  assertEquals(others.filter(asksConsent), []);
});

Deno.test("what ordinary users write is no fault of theirs", () => {
  const messages = [{ role: "agent" as const, text: "1600 Main Street, 97301 Salem, Oregon" }];
  const ordinary = [
    ...["Is there anything else I can do to get a refund?", "How can I help you find it?", "ok"],
    ...["I'm here to help my mother with her order.", "Customer: Ada\nOrder: A7", "User: Ada"],
    ...["Support: call back on Monday", "1600 Main Street, 97301 Salem, Oregon", "I agree."],
    ...["Reasoning: it came late.", "Thought: I could pay by card?", "Ich möchte stornieren."],
    // Long ones are read at once, too.
    ...["My order did not come. ".repeat(2_000).trim(), `It was${"\n".repeat(40_000)}late.`],
  ];
  assertEquals(ordinary.filter((text) => faultOf({ text }, messages) !== undefined), []);
});
