import { assertEquals } from "@std/assert";
import { z } from "zod";
import { converse, runLoop } from "../../../lib/trials/agent/loop.ts";
import type { Message } from "../../../lib/tools/message.ts";
import type { ModelRequest } from "../../../lib/models/model.ts";
import { type Script, scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { type Limits, Session } from "../../../lib/trials/agent/session.ts";
import { withStrategy } from "../../../lib/trials/strategies/registry.ts";
import { Toolbox } from "../../../lib/trials/executors/toolbox.ts";
import { listened } from "../../support/strategy_runs.ts";

const DOUBLE = tool({
  name: "double",
  description: "Doubles a number",
  parameters: z.object({ x: z.number() }),
  execute: ({ x }) => 2 * x,
});

interface TalkOptions {
  readonly strategy?: string;
  readonly limits?: Limits;
  readonly opening?: readonly Message[];
}

/** Lets a script talk to a user who says this, one message after each answer. */
async function talk(
  script: Script | readonly ScriptedReply[],
  [first, ...turns]: readonly string[],
  { strategy = "plain", limits = {}, opening = [] }: TalkOptions = {},
) {
  const requests: ModelRequest[] = [];
  using toolbox = new Toolbox([DOUBLE], {
    ...(limits.calls === undefined ? {} : { callLimit: limits.calls }),
  });
  const session = new Session({
    model: listened(scripted("script", script), requests),
    context: { trial: "1", repetition: 1 },
    limits,
    record: (event) => toolbox.record(event),
  });
  const further = turns.values();
  const conversation = await converse(withStrategy(strategy, runLoop, {}), {
    session,
    environment: toolbox,
    messages: [...opening, { role: "user", content: first! }],
    next: () => Promise.resolve(further.next().value),
  });
  return { ...conversation, requests, events: [...toolbox.events] };
}

const call = (x: number | string, more: Record<string, string> = {}): ScriptedReply => ({
  calls: [{ name: "double", arguments: { x, ...more } }],
});
const said = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => `${role}: ${content}`);

Deno.test("converse() goes on after each answer, with all that was said", async () => {
  const { ending, messages, requests, events } = await talk(
    [call(1), { text: "2" }, call(2), { text: "4" }, { text: "Bye." }],
    ["Double 1.", "Again.", "Thank you."],
    { opening: [{ role: "system", content: "Be brief." }] },
  );
  assertEquals(ending, { kind: "answer", text: "Bye." });
  const all = [
    "system: Be brief.",
    "user: Double 1.",
    "assistant: ",
    "tool: 2",
    "assistant: 2",
    "user: Again.",
    "assistant: ",
    "tool: 4",
    "assistant: 4",
    "user: Thank you.",
    "assistant: Bye.",
  ];
  assertEquals(said(messages), all);
  // Each request has what was said until then.
  assertEquals(requests.map((request) => request.messages.length), [2, 4, 6, 8, 10]);
  for (const request of requests) {
    assertEquals(said(request.messages), all.slice(0, request.messages.length));
  }
  assertEquals(requests.map(({ context }) => context.request), [1, 2, 3, 4, 5]);
  assertEquals(events.flatMap((event) => event.kind === "turn" ? [event.text] : []), [
    "Again.",
    "Thank you.",
  ]);
  assertEquals(events.map(({ kind }) => kind), [
    ...["reply", "call", "reply", "turn", "reply", "call", "reply", "turn", "reply"],
  ]);
});

Deno.test("converse() ends where a limit is reached, and the user says no more", async () => {
  const calls = await talk([call(1), { text: "2" }, call(2), call(3)], ["One.", "Two.", "Three."], {
    limits: { calls: 2 },
  });
  assertEquals(calls.ending.kind, "call_limit");
  assertEquals(calls.messages.filter(({ role }) => role === "user").length, 2);
  const steps = await talk([{ text: "Yes." }], ["One.", "Two.", "Three."], {
    limits: { steps: 2 },
  });
  assertEquals(steps.ending.kind, "step_limit");
  assertEquals(said(steps.messages), [
    ...["user: One.", "assistant: Yes.", "user: Two.", "assistant: Yes.", "user: Three."],
  ]);
});

Deno.test("converse() keeps the names of values from turn to turn (Indirection, Adding a Level of Indirection)", async () => {
  const { ending, given, messages, requests } = await talk(
    [
      call(21, { result: "@Twice" }),
      { text: "It is @Twice." },
      call("@Twice", { result: "@More" }),
      { text: "Now it is @More, and was @Twice." },
    ],
    ["Double 21.", "And again?"],
    { strategy: "indirection" },
  );
  assertEquals<unknown>(ending, {
    kind: "answer",
    text: "Now it is 84, and was 42.",
    rendered: "Now it is @More=84, and was @Twice=42.",
  });
  assertEquals([...given], [["Twice", 42], ["More", 84]]);
  assertEquals(said(messages).slice(0, 4), [
    ...["user: Double 21.", "assistant: ", "tool: @Twice", "assistant: It is @Twice."],
  ]);
  assertEquals(/42|84/.test(JSON.stringify(requests.map((one) => one.messages))), false);
});

Deno.test("converse() leaves out what a strategy says beside the conversation", async () => {
  const { messages } = await talk(
    ({ context, messages }) => {
      if (context.stage === "plan") return { text: "1. double" };
      return messages.at(-1)!.role === "tool" ? { text: "Done." } : call(1);
    },
    ["Double 1.", "Again."],
    { strategy: "plan_then_call" },
  );
  assertEquals(said(messages), [
    ...["user: Double 1.", "assistant: ", "tool: 2", "assistant: Done."],
    ...["user: Again.", "assistant: ", "tool: 2", "assistant: Done."],
  ]);
});
