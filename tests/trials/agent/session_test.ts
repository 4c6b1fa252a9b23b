import { assert, assertEquals, assertRejects } from "@std/assert";
import { defined } from "../../../lib/base/json.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { type Model, type ModelReply, TimeLimitError } from "../../../lib/models/model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import {
  isLimited,
  type Limited,
  type Limits,
  type Question,
  Session,
  type SessionOptions,
} from "../../../lib/trials/agent/session.ts";
import type { Tool, ToolChoice } from "../../../lib/tools/tool.ts";
import type { ReplyEvent, TraceEvent } from "../../../lib/calls/trace.ts";
import fc from "../../support/fast_check.ts";
import { SRC } from "../../support/handmade.ts";
import { parrot } from "../../support/models.ts";

const MESSAGES: readonly Message[] = [{ role: "user", content: "Well?" }];

/** The usual question, of a stage or of none. */
function question(stage?: string, traits: Partial<Question> = {}): Question {
  return { messages: MESSAGES, ...(stage === undefined ? {} : { stage }), ...traits };
}

function open(
  model: Model,
  options: Partial<SessionOptions> = {},
): { readonly session: Session; readonly events: readonly TraceEvent[] } {
  const events: TraceEvent[] = [];
  const session = new Session({
    model,
    context: { trial: "a trial", repetition: 2 },
    record: (event) => events.push(defined(event) as TraceEvent),
    ...options,
  });
  return { session, events };
}

/** Asks at stages one after the other; gives what came of each: the text, or the limit. */
async function said(session: Session, ...stages: (string | undefined)[]): Promise<string[]> {
  const texts: string[] = [];
  for (const stage of stages) {
    const one = await session.ask(question(stage));
    texts.push(isLimited(one) ? one.kind : one.text);
  }
  return texts;
}

function repliesIn(events: readonly TraceEvent[]): ReplyEvent[] {
  return events.filter((event) => event.kind === "reply");
}

const USAGE = { inputTokens: 60, outputTokens: 40 };

Deno.test("Session.ask() gives the reply, and records it", async () => {
  const model = parrot([{ text: "Yes.", usage: USAGE, duration: 12, repairs: ["an id"] }]);
  const { session, events } = open(model);
  const reply = await session.ask(question());
  assert(!isLimited(reply));
  assertEquals(reply.text, "Yes.");
  assertEquals(events, [{
    kind: "reply",
    request: 1,
    text: "Yes.",
    calls: 0,
    ...USAGE,
    durationMs: 12,
    repairs: ["an id"],
  }]);
  assertEquals(session.usage, USAGE);
  assertEquals(session.duration, 12);
  assertEquals(session.served, ["parrot-1"]);
  assertEquals(session.stages, []);
});

Deno.test("Session.ask() hands on copies of the messages, and tools without a way to call them", async () => {
  const model = parrot([{}]);
  const { session } = open(model);
  const messages = [...MESSAGES];
  const tool: Tool = {
    name: "echo",
    description: "Echoes",
    strict: true,
    parameters: { type: "object" },
    execute: () => Promise.resolve(""),
  };
  await session.ask({ messages, tools: [tool] });
  messages.push({ role: "user", content: "later" });
  const { execute: _, ...schema } = tool;
  assertEquals(model.requests[0]!.messages, MESSAGES);
  assertEquals(model.requests[0]!.tools, [schema]);
  await session.ask({ messages });
  assertEquals(model.requests[1]!.tools, []);
});

Deno.test("Session.ask() hands on the choice of tools wherever there are tools to choose from", async () => {
  const tools = [{ name: "echo", description: "Echoes", parameters: { type: "object" } }];
  for (const toolChoice of ["required", "none", { function: "echo" }] as ToolChoice[]) {
    const model = parrot([{}]);
    const { session } = open(model, { toolChoice });
    await session.ask({ messages: MESSAGES, tools });
    await session.ask({ messages: MESSAGES });
    assertEquals(model.requests.map((request) => request.toolChoice), [toolChoice, undefined]);
  }
  const free = parrot([{}]);
  await open(free, { toolChoice: undefined }).session.ask({ messages: MESSAGES, tools });
  assert(!("toolChoice" in free.requests[0]!));
});

// Other models

Deno.test("Session.stages tells other models apart, each with its own usage and served names", async () => {
  const own = parrot([{ usage: { inputTokens: 1, outputTokens: 2 } }]);
  const planner: Model = {
    ...parrot([
      { usage: { inputTokens: 10, outputTokens: 20 }, served: "planner-1" },
      { usage: { inputTokens: 30, outputTokens: 40 }, served: "planner-2" },
    ], "planner"),
    simulated: false,
  };
  const mender = parrot([{ usage: { inputTokens: 500, outputTokens: 0 }, served: "" }], "mender");
  const models = new Map([["plan", planner], ["repair", mender], ["fill", planner]]);
  const { session } = open(own, { models });
  await said(session, "plan", "call", "repair", "plan", undefined);
  assertEquals(session.stages, [
    {
      stage: "plan",
      model: { requested: "planner", served: ["planner-1", "planner-2"], simulated: false },
      usage: { inputTokens: 40, outputTokens: 60 },
    },
    {
      stage: "repair",
      model: { requested: "mender", served: [], simulated: true },
      usage: { inputTokens: 500, outputTokens: 0 },
    },
  ]);
  assertEquals(session.served, ["parrot-1"], "those of the trial's own model alone");
  assertEquals(session.usage, { inputTokens: 542, outputTokens: 64 }, "all is charged");
});

Deno.test("Session.stages tells a model that serves two stages once for each", async () => {
  const other = parrot([{ usage: USAGE }], "other");
  const { session } = open(parrot([{}]), {
    models: new Map([["plan", other], ["repair", other]]),
  });
  await said(session, "repair", "plan", "plan");
  assertEquals(session.stages.map(({ stage, usage }) => [stage, usage.inputTokens]), [
    ["repair", 60],
    ["plan", 120],
  ]);
});

// Limits

/** Asks for ever, at stages in turn, of two models, until a limit ends it. */
async function exhaust(
  limits: Omit<Limits, "calls">,
  reply: Partial<ModelReply> = {},
  spent = 0,
): Promise<{ readonly limited: Limited; readonly replies: number; readonly asked: number }> {
  const [own, other] = [parrot([reply]), parrot([reply], "other")];
  const { session, events } = open(own, { limits, models: new Map([["plan", other]]) });
  for (let place = 0;; place++) {
    assert(place < 1000, "no limit ends it");
    const aside = place % 2 === 0;
    const one = await session.ask(question(aside ? "plan" : undefined, { aside }));
    if (isLimited(one)) {
      const asked = own.requests.length + other.requests.length;
      assertEquals(await session.ask(question()), one, "nothing more can be asked");
      assertEquals(own.requests.length + other.requests.length, asked, "nobody is asked again");
      return { limited: one, replies: repliesIn(events).length, asked };
    }
    session.spend(spent);
  }
}

Deno.test("Session.ask() counts every reply as a step, whichever model gave it", async () => {
  for (const steps of [1, 2, 7]) {
    const { limited, replies, asked } = await exhaust({ steps });
    assertEquals([limited.kind, replies, asked], ["step_limit", steps, steps]);
    assertEquals(limited.message, `${steps} replies, and no answer among them`);
  }
});

Deno.test("Session.ask() counts every reply's tokens, whichever model gave it", async () => {
  const { limited, replies } = await exhaust({ tokens: 499 }, { usage: USAGE });
  assertEquals([limited.kind, replies], ["token_limit", 5]);
  assertEquals(limited.message, "500 tokens, 499 are allowed");
  assertEquals((await exhaust({ tokens: 500 }, { usage: USAGE })).replies, 6);
});

Deno.test("Session.ask() counts every reply's time, whichever model gave it", async () => {
  const { limited, replies } = await exhaust({ seconds: 2 }, { duration: 600 });
  assertEquals([limited.kind, replies], ["time_limit", 4]);
  assertEquals(limited.message, "2 seconds are over");
  assertEquals((await exhaust({ seconds: 2.4 }, { duration: 600 })).replies, 5);
});

Deno.test("Session.spend() takes time that is no reply's", async () => {
  const { limited, replies } = await exhaust({ seconds: 2 }, { duration: 300 }, 300);
  assertEquals([limited.kind, replies], ["time_limit", 4]);
  const { session } = open(parrot([{ duration: 300 }]));
  await session.ask(question());
  session.spend(1000);
  assertEquals(session.duration, 300);
});

Deno.test("Session.ask() tells the model how much time is left, if it is limited", async () => {
  const model = parrot([{ duration: 400 }]);
  const { session } = open(model, { limits: { seconds: 60 } });
  await session.ask(question());
  session.spend(100);
  await session.ask(question("plan"));
  assertEquals(model.requests.map(({ timeLimit }) => timeLimit), [60_000, 59_500]);
  const late = parrot([{}]);
  const { session: over } = open(late, { limits: { seconds: 1 } });
  over.spend(5000);
  await over.ask(question());
  assert(late.requests[0]!.timeLimit! > 0, "a limit of nothing would be none");
});

Deno.test("Session.ask() takes a reply that was cut off for the end, and charges it", async () => {
  const { session, events } = open(parrot([{ text: "omeg", finish: "length", usage: USAGE }]));
  const limited = await session.ask(question());
  assertEquals(limited, {
    kind: "token_limit",
    message: "the model ran out of tokens in mid-reply",
  });
  assertEquals([session.usage, repliesIn(events).length], [USAGE, 1]);
});

Deno.test("Session.ask() takes a reply of which a filter left nothing for the end, and charges it", async () => {
  const nothing = open(parrot([{ text: "", finish: "filter", usage: USAGE }]));
  const limited = await nothing.session.ask(question());
  assertEquals(limited, {
    kind: "filtered",
    message: "a content filter left nothing of the reply",
  });
  assertEquals([nothing.session.usage, repliesIn(nothing.events).length], [USAGE, 1]);
  const call = { id: "a", name: "func", arguments: "{}" };
  for (const rest of [{ text: "omeg", calls: [] }, { text: "", calls: [call] }]) {
    const { session } = open(parrot([{ ...rest, finish: "filter" }]));
    assertEquals(isLimited(await session.ask(question())), false);
  }
});

Deno.test("Session.ask() takes a model's TimeLimitError for the end of the time", async () => {
  const late: Model = {
    name: "late",
    simulated: true,
    reply: () => Promise.reject(new TimeLimitError("over")),
  };
  const models = new Map([["plan", late]]);
  const { session, events } = open(parrot([{}]), { models, limits: { seconds: 3 } });
  assertEquals(await session.ask(question("plan")), {
    kind: "time_limit",
    message: "3 seconds are over",
  });
  assertEquals([events, session.stages], [[], []]);
});

Deno.test("Session.ask() takes a reply with fields of its own for a reply", async () => {
  const odd = { text: "Yes.", kind: "chat.completion" };
  const reply = await open(parrot([odd])).session.ask(question());
  assert(!isLimited(reply));
  assertEquals(reply.text, "Yes.");
});

// What goes wrong

Deno.test("Session.ask() asks nobody when it is aborted, whichever model it would be", async () => {
  const [own, other] = [parrot([{}]), parrot([{}], "other")];
  const signal = AbortSignal.abort(new RangeError("enough"));
  const { session } = open(own, { signal, models: new Map([["plan", other]]) });
  for (const stage of [undefined, "plan"]) {
    await assertRejects(() => session.ask(question(stage)), RangeError, "enough");
  }
  assertEquals([own.requests, other.requests], [[], []]);
});

Deno.test("Session.ask() rejects once it is aborted, though the model takes no notice", async () => {
  const controller = new AbortController();
  const seen: (AbortSignal | undefined)[] = [];
  const deaf = scripted("deaf", async ({ signal }) => {
    seen.push(signal);
    controller.abort(new RangeError("enough"));
    await Promise.resolve();
    return { text: "too late" };
  });
  const { session, events } = open(parrot([{}]), {
    signal: controller.signal,
    models: new Map([["plan", deaf]]),
  });
  await assertRejects(() => session.ask(question("plan")), RangeError, "enough");
  assertEquals([seen, events], [[controller.signal], []]);
});

Deno.test("Session counts whole numbers from 0 on, whatever is claimed", async () => {
  const odd = fc.oneof(
    fc.double(),
    fc.constantFrom(NaN, Infinity, -Infinity, -1, 1e300, 1e9 + 1, 2 ** 53, 0.4, 0.6),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(odd, odd, odd), { maxLength: 5 }), async (claims) => {
      const replies = claims.map(([inputTokens, outputTokens, duration]) => ({
        usage: { inputTokens, outputTokens },
        duration,
      }));
      const { session, events } = open(parrot([...replies, {}]));
      for (const _ of claims) await session.ask(question());
      const told = repliesIn(events);
      const numbers = told.flatMap((one) => [one.inputTokens, one.outputTokens, one.durationMs]);
      for (const number of numbers) assert(Number.isSafeInteger(number) && number >= 0);
      for (const [place, claim] of claims.flat().entries()) {
        if (claim >= 0 && claim <= 1e9) assertEquals(numbers[place], Math.round(claim));
        else assertEquals(numbers[place], 0);
      }
      const sum = (part: "inputTokens" | "outputTokens" | "durationMs") =>
        told.reduce((all, one) => all + one[part], 0);
      assertEquals(session.usage, {
        inputTokens: sum("inputTokens"),
        outputTokens: sum("outputTokens"),
      });
      assertEquals(session.duration, sum("durationMs"));
    }),
    { numRuns: 200 },
  );
});

Deno.test("Session keeps no more of a reply than a journal can hold", async () => {
  const long = "x".repeat(3_000_000);
  const hostile: Partial<ModelReply> = {
    text: long,
    served: long,
    repairs: new Array(500).fill("a repair"),
    calls: new Array(3).fill(SRC),
  };
  const { session, events } = open(parrot([hostile]), {
    models: new Map([["plan", { ...parrot([hostile]), name: long }]]),
  });
  const own = await session.ask(question());
  await session.ask(question("plan"));
  assertEquals(isLimited(own) ? 0 : own.text.length, long.length, "the loop gets all of it");
  for (const { text, repairs, model = "", calls } of repliesIn(events)) {
    assert(text.length <= 10_000, `a text of ${text.length}`);
    assert(model.length <= 200, `a model's name of ${model.length}`);
    assertEquals([repairs!.length, calls], [20, 3]);
  }
  for (const name of [...session.served, ...session.stages.flatMap(({ model }) => model.served)]) {
    assertEquals(name.length, 200);
  }
});
