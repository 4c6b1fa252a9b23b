import { assertEquals, assertRejects } from "@std/assert";
import { type LoopOptions, type Review, runLoop } from "../../../lib/trials/agent/loop.ts";
import {
  createExecutor,
  type GeneratedTaskExecutor,
} from "../../../lib/trials/executors/generated.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { InfrastructureError, type Model, type ModelReply } from "../../../lib/models/model.ts";
import {
  type Ending,
  type Limits,
  Session,
  type SessionOptions,
} from "../../../lib/trials/agent/session.ts";
import { type ToolCall, wrapEnvironment } from "../../../lib/tools/tool.ts";
import { callsOf, type TraceEvent } from "../../../lib/calls/trace.ts";
import { OTH, SRC, TASK, TGT } from "../../support/handmade.ts";
import { type Parrot, parrot } from "../../support/models.ts";

const PROMPT: Message = { role: "user", content: TASK.prompt };

function replying(...replies: Partial<ModelReply>[]): Parrot {
  return parrot(replies);
}

async function run(
  model: Model,
  limits: Omit<Limits, "calls"> = {},
  { signal, models, ...more }: Partial<LoopOptions> & Partial<SessionOptions> = {},
): Promise<{
  readonly ending: Ending;
  readonly executor: GeneratedTaskExecutor;
  readonly events: readonly TraceEvent[];
  readonly session: Session;
}> {
  const executor = createExecutor(TASK);
  const session = new Session({
    model,
    context: { trial: "a trial", repetition: 2 },
    limits,
    record: (event) => executor.record(event),
    ...(models === undefined ? {} : { models }),
    ...(signal === undefined ? {} : { signal }),
  });
  const ending = await runLoop({ session, environment: executor, messages: [PROMPT], ...more });
  return { ending, executor, events: executor.events, session };
}

const SOURCES = { text: "First the sources.", calls: [OTH, SRC] };
const TARGET = { calls: [TGT] };
const DONE = { text: "omega = 444" };

Deno.test("runLoop() asks with the prompt and the tools, and once if there are no calls", async () => {
  const model = replying(DONE);
  const { ending, executor, events } = await run(model);
  assertEquals(ending, { kind: "answer", text: "omega = 444" });
  assertEquals(model.requests.length, 1);
  assertEquals(model.requests[0]!.messages, [PROMPT]);
  assertEquals(JSON.stringify(model.requests[0]!.tools), JSON.stringify(TASK.tools));
  assertEquals(model.requests[0]!.context, { trial: "a trial", repetition: 2, request: 1 });
  assertEquals(executor.calls, 0);
  assertEquals(events.map(({ kind }) => kind), ["reply"]);
});

Deno.test("runLoop() appends the reply, then the results of its calls in order (FuncBenchGen 3.1, 3.4)", async () => {
  const model = replying(SOURCES, TARGET, DONE);
  const { ending, events } = await run(model);
  assertEquals(ending, { kind: "answer", text: "omega = 444" });
  const first: Message[] = [
    PROMPT,
    { role: "assistant", content: "First the sources.", calls: [OTH, SRC] },
    { role: "tool", callId: OTH.id, name: "func_oth", content: '{"beta":222}' },
    { role: "tool", callId: SRC.id, name: "func_src", content: '{"alpha":111}' },
  ];
  assertEquals(model.requests.map(({ messages }) => messages), [
    [PROMPT],
    first,
    [
      ...first,
      { role: "assistant", content: "", calls: [TGT] },
      { role: "tool", callId: TGT.id, name: "func_tgt", content: '{"omega":444}' },
    ],
  ]);
  assertEquals(model.requests.map(({ context }) => context.request), [1, 2, 3]);
  assertEquals(
    events.map((event) => event.kind === "call" ? `step ${event.step}` : event.kind),
    ["reply", "step 1", "step 1", "reply", "step 2", "reply"],
  );
});

Deno.test("runLoop() ends with the text whatever it is when there are no calls (FuncBenchGen 3.1, 3.4)", async () => {
  for (const text of ["", " ", "I give up."]) {
    assertEquals((await run(replying({ text }))).ending, { kind: "answer", text });
  }
  const filtered = await run(replying({ text: "I", finish: "filter" }));
  assertEquals(filtered.ending.kind, "answer");
});

Deno.test("runLoop() ends at the first call past the limit", async () => {
  const model = replying({ calls: [SRC, SRC] });
  const { ending, executor, events } = await run(model);
  assertEquals(ending.kind, "call_limit");
  assertEquals(executor.calls, 6);
  assertEquals(model.requests.length, 4);
  assertEquals(events.at(-1)!.kind, "over_limit");
});

Deno.test("runLoop() passes on what a model or an environment throws", async () => {
  for (const error of [new InfrastructureError("no network"), new TypeError("a slip")]) {
    const throwing: Model = {
      name: "broken",
      simulated: true,
      reply: () => Promise.reject(error),
    };
    await assertRejects(() => run(throwing), error.constructor as ErrorConstructor, error.message);
    const environment = wrapEnvironment(createExecutor(TASK), {
      execute: (_calls: readonly ToolCall[]) => Promise.reject(error),
    });
    await assertRejects(
      () => run(replying(SOURCES), {}, { environment }),
      error.constructor as ErrorConstructor,
      error.message,
    );
  }
});

// What strategies change

Deno.test("runLoop() sends back what is written for calls, and keeps it in the trace", async () => {
  const model = replying(SOURCES, DONE);
  const { executor } = await run(model, {}, {
    write: (answered) => answered.map(({ call, value }) => `${call.name} gave ${value}`),
  });
  const sent = model.requests[1]!.messages.filter(({ role }) => role === "tool");
  assertEquals(sent.map(({ content }) => content), ["func_oth gave 222", "func_src gave 111"]);
  assertEquals(callsOf(executor.events).map(({ result }) => result), [
    "func_oth gave 222",
    "func_src gave 111",
  ]);
});

Deno.test("runLoop() has calls reviewed, and carries out what comes back in their place", async () => {
  const wrong = { ...TGT, arguments: "{}" };
  const seen: Review[] = [];
  const model = replying({ text: "Sources.", calls: [SRC, OTH] }, { calls: [wrong] }, DONE);
  const { ending, executor } = await run(model, {}, {
    review: (review) => {
      seen.push({ ...review, messages: [...review.messages] });
      return Promise.resolve(review.calls.map((call) => call.id === wrong.id ? TGT : call));
    },
  });
  assertEquals(ending.kind, "answer");
  assertEquals(seen.map(({ calls }) => calls), [[SRC, OTH], [wrong]]);
  assertEquals(seen.map(({ messages }) => messages.length), [1, 4], "before each reply");
  assertEquals(
    callsOf(executor.events).map(({ failure }) => failure),
    new Array(3).fill(undefined),
  );
  const [, , , , reply] = model.requests[2]!.messages;
  assertEquals(reply, { role: "assistant", content: "", calls: [TGT] });
});

Deno.test("runLoop() ends with the limit that a review reaches, and carries out nothing more", async () => {
  const limited = { kind: "token_limit", message: "no more" } as const;
  const { ending, executor } = await run(replying(SOURCES, DONE), {}, {
    review: () => Promise.resolve(limited),
  });
  assertEquals(ending, limited);
  assertEquals(executor.calls, 0);
});

Deno.test("runLoop() counts the time that calls take, too", async () => {
  const executor = createExecutor(TASK);
  let left: Promise<unknown> | undefined;
  const environment = wrapEnvironment(executor, {
    execute: async (calls) => {
      await (left = new Promise((resolve) => setTimeout(resolve, 40)));
      return await executor.execute(calls);
    },
  });
  const { ending, session } = await run(replying(SOURCES, DONE), { seconds: 0.01 }, {
    environment,
  });
  assertEquals([ending.kind, session.duration], ["time_limit", 0]);
  // The loop has not waited for it.
  await left;
});
