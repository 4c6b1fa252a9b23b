import { assertEquals } from "@std/assert";
import { type LoopOptions, runLoop } from "../../../lib/trials/agent/loop.ts";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import type { Message } from "../../../lib/tools/message.ts";
import type { Model } from "../../../lib/models/model.ts";
import { type Ending, type Limits, Session } from "../../../lib/trials/agent/session.ts";
import { wrapEnvironment } from "../../../lib/tools/tool.ts";
import type { TraceEvent } from "../../../lib/calls/trace.ts";
import { OTH, SRC, TASK, TGT } from "../../support/handmade.ts";
import { parrot } from "../../support/models.ts";

const PROMPT: Message = { role: "user", content: TASK.prompt };

async function run(
  model: Model,
  limits: Omit<Limits, "calls"> = {},
  more: Partial<LoopOptions> = {},
): Promise<{
  readonly ending: Ending;
  readonly events: readonly TraceEvent[];
  readonly session: Session;
}> {
  const executor = createExecutor(TASK);
  const session = new Session({
    model,
    context: { trial: "a trial", repetition: 2 },
    limits,
    record: (event) => executor.record(event),
  });
  const ending = await runLoop({ session, environment: executor, messages: [PROMPT], ...more });
  return { ending, events: executor.events, session };
}

const SOURCES = { text: "First the sources.", calls: [OTH, SRC] };
const TARGET = { calls: [TGT] };
const DONE = { text: "omega = 444" };

Deno.test("runLoop() appends the reply, then the results of its calls in order (FuncBenchGen 3.1, 3.4)", async () => {
  const model = parrot([SOURCES, TARGET, DONE]);
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
    assertEquals((await run(parrot([{ text }]))).ending, { kind: "answer", text });
  }
  const filtered = await run(parrot([{ text: "I", finish: "filter" }]));
  assertEquals(filtered.ending.kind, "answer");
});

// What strategies change

Deno.test("runLoop() counts the time that calls take, too", async () => {
  const executor = createExecutor(TASK);
  let left: Promise<unknown> | undefined;
  const environment = wrapEnvironment(executor, {
    execute: async (calls) => {
      await (left = new Promise((resolve) => setTimeout(resolve, 40)));
      return await executor.execute(calls);
    },
  });
  const { ending, session } = await run(parrot([SOURCES, DONE]), { seconds: 0.01 }, {
    environment,
  });
  assertEquals([ending.kind, session.duration], ["time_limit", 0]);
  // The loop has not waited for it.
  await left;
});
