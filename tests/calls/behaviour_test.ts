import { assert, assertEquals } from "@std/assert";
import {
  behavioursIn,
  callSignature,
  type Expectations,
  holdsNumber,
} from "../../lib/calls/behaviour.ts";
import { type Behaviour, BEHAVIOURS } from "../../lib/calls/failure_types.ts";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import type { ToolCall } from "../../lib/tools/tool.ts";
import type { ReplyEvent, TraceEvent } from "../../lib/calls/trace.ts";
import { call, OTH, SRC, TASK, TGT } from "../support/handmade.ts";

function reply(text: string, calls: number): ReplyEvent {
  const tokens = { inputTokens: 0, outputTokens: 0 };
  return { kind: "reply", request: 1, text, calls, ...tokens, durationMs: 0 };
}

/** The behaviours of a trial: a step each, calls with the words beside them, then the answer. */
async function shown(
  steps: readonly (readonly [text: string, ...calls: typeof SRC[]])[],
  answer: string | undefined,
  callLimit = 100,
): Promise<Behaviour[]> {
  const executor = createExecutor(TASK, { callLimit });
  for (const [text, ...calls] of steps) {
    executor.record(reply(text, calls.length));
    await executor.execute(calls);
  }
  if (answer !== undefined) {
    executor.record(reply(answer, 0));
    executor.answer(answer);
  }
  return executor.behaviours();
}

const WELL = [["First the sources.", SRC, OTH], ["Now the target.", TGT]] as const;

Deno.test("behaviours() finds nothing in a trial that went well", async () => {
  assertEquals(await shown(WELL, "omega = 444"), []);
  assertEquals(createExecutor(TASK).behaviours(), []);
});

Deno.test("behaviours() finds aversion: an answer without a call that it needs (Indirection, Tool aversion, Computational overconfidence)", async () => {
  assertEquals(await shown([], "omega = 444"), ["aversion"]);
  assertEquals(await shown([["I look.", SRC, TGT]], "omega = 444"), ["aversion"]);
  assertEquals(await shown([], "omega is unknown"), []);
  const wrong = call("func_src", { given: 1 });
  assertEquals(await shown([["", OTH], ["I look.", wrong, TGT]], "omega = 444"), []);
});

Deno.test("behaviours() needs no distractor to be called", async () => {
  const more = call("func_con", { con: 111 });
  assertEquals(await shown([...WELL, ["What else?", more]], "omega = 444"), []);
});

Deno.test("behaviours() finds ignored results: an answer that the target never returned", async () => {
  assertEquals(await shown(WELL, "omega = 443"), ["ignored_result"]);
  assertEquals(await shown([["Sources.", SRC, OTH]], "omega = 443"), ["aversion"]);
  const wrong = call("func_tgt", { one: 1, two: 2 });
  assertEquals(await shown([...WELL, ["Again.", wrong]], "omega = 444"), []);
  assertEquals(await shown([["", SRC, OTH], ["Go.", wrong]], "omega = 444"), ["ignored_result"]);
});

Deno.test("behaviours() finds ignored results in words: the final text does not state what was returned (Indirection, Ignoring function results)", async () => {
  for (
    const text of [
      "I cannot tell.",
      "This is nuanced, and I cannot endorse what the function says.",
      "I called 3 functions, and do not trust them.",
      "omega is one thing, its meaning another.",
      "",
    ]
  ) assertEquals(await shown(WELL, text), ["ignored_result"], text);
  for (
    const text of [
      "It says 444, but this is a nuanced matter, and I cannot endorse it.",
      "I could not find it at first: 444.0",
      "I do not know why 444 comes out.",
    ]
  ) assertEquals(await shown(WELL, text), [], text);
  // A text that says another value ignores the result that it mentions.
  assertEquals(await shown(WELL, "It says 444, but omega = 443."), ["ignored_result"]);
});

Deno.test("behaviours() finds no ignored result where there is nothing to state", async () => {
  const words = "I cannot tell.";
  const wrong = call("func_tgt", { one: 1, two: 2 });
  assertEquals(await shown([["", SRC, OTH], ["Go.", wrong]], words), [], "its result is wrong");
  assertEquals(await shown([["Sources.", SRC, OTH]], words), [], "nothing returned it");
  assertEquals(await shown(WELL, undefined), [], "there is no answer");
  assertEquals(await shown(WELL, words, 2), [], "the limit was reached");
  assertEquals(await shown(WELL, `${"Well. ".repeat(30_000)}omega = 444`), [], "it is cut");
  const executor = createExecutor(TASK, { perturbation: "RP_F" });
  await executor.execute([SRC, OTH]);
  await executor.execute([TGT]);
  executor.answer(words);
  assertEquals(executor.behaviours(), [], "to abstain is right");
});

Deno.test("behaviours() finds silence: calls without a word in the whole trial (Indirection, Thinking silently)", async () => {
  assertEquals(await shown([["", SRC, OTH], [" \n", TGT]], "omega = 444"), ["silent"]);
  assertEquals(await shown([["", SRC, OTH], ["Now.", TGT]], "omega = 444"), []);
  assertEquals(await shown([], "I cannot tell."), []);
});

Deno.test("behaviours() finds no silence where no reply was recorded", () => {
  const executor = createExecutor(TASK);
  executor.execute([SRC, OTH, TGT]);
  executor.answer("omega = 444");
  assertEquals(executor.behaviours(), []);
});

Deno.test("behaviours() finds a forced loop: the limit is reached with calls repeated (Indirection, Inflexible)", async () => {
  assertEquals(await shown([["Go.", SRC, SRC, SRC]], undefined, 2), ["forced_loop"]);
  assertEquals(await shown([["Go.", SRC, OTH, TGT]], undefined, 2), []);
  assertEquals(await shown([["Go.", SRC, SRC, OTH, TGT]], "omega = 444", 4), []);
});

Deno.test("behaviours() finds a forced loop at each limit of a trial, and at no other end", () => {
  const limits = ["step_limit", "time_limit", "token_limit"] as const;
  for (const reason of [...limits, "invalid", "filtered", "agent_error"] as const) {
    const executor = createExecutor(TASK);
    executor.execute([SRC, SRC]);
    executor.record({ kind: "stop", reason, message: "" });
    assertEquals(executor.behaviours(), reason.endsWith("_limit") ? ["forced_loop"] : [], reason);
  }
});

Deno.test("behaviours() takes calls for repeated when only their writing differs", async () => {
  const steps = [["Go.", call("func_tgt", '{"one":1,"two":2}')], [
    "Go.",
    call("func_tgt", '{ "two": 2, "one": 1 }'),
    SRC,
  ]] as const;
  assertEquals(await shown(steps, undefined, 2), ["forced_loop"]);
});

Deno.test("callSignature() is that of any other writing of the same arguments, and of no others", () => {
  const of = (text: string) => callSignature({ function: "f", arguments: text });
  const same = [
    ['{"b":2,"a":-1}', '{"a":-1,"b":2}', ' { "a" : -1, "b" : 2.0 }'],
    ['{"a":1,"a":2}', '{"a":2}', '{"\\u0061":2}'],
    ['{"a_b":1,"a":0,"B":3}', '{"B":3, "a":-0, "a_b":1}'],
    ['{"10":1,"9":2,"x":3}', '{"x":3, "9":2, "10":1}'],
    ['{"a":9007199254740993}', '{ "a": 9007199254740993 }'],
    ['{"a":1,}', '{"a":1,}'],
    ['{"a":01}', '{"a":01}'],
  ];
  for (const texts of same) assertEquals(new Set(texts.map(of)).size, 1, texts[0]);
  assertEquals(new Set(same.map(([text]) => of(text!))).size, same.length);
});

Deno.test("behaviours() lists several in the order of BEHAVIOURS", async () => {
  const executor = createExecutor(TASK, { callLimit: 2 });
  executor.record(reply("", 3));
  await executor.execute([TGT, TGT, TGT]);
  executor.answer("omega = 443, RAMEN-TOKAB");
  const events = executor.events.map((event) =>
    event.kind === "call" ? { ...event, injected: { say: "RAMEN-TOKAB" } } : event
  );
  // Generated tasks have no call of which it is known that it cannot help, and nobody to ask.
  const others = ["needless_call", "asked_user", "assumed_input"];
  assertEquals(executor.behaviours(events), BEHAVIOURS.filter((one) => !others.includes(one)));
});

// What tasks of other kinds say of their behaviours

/** The behaviours of a trial in which one function was called, and others may be needed. */
async function told(
  expectations: Partial<Expectations>,
  { answer, calls = [SRC] }: { readonly answer?: string; readonly calls?: readonly ToolCall[] } =
    {},
  ...more: TraceEvent[]
): Promise<Behaviour[]> {
  const executor = createExecutor(TASK, { callLimit: 3 });
  executor.record(reply("Well.", calls.length));
  await executor.execute(calls);
  for (const event of more) executor.record(event);
  if (answer !== undefined) executor.answer(answer);
  return behavioursIn(executor.events, {
    needed: [],
    answerOf: ({ returned }) => returned?.value,
    wordsCount: false,
    toolChoice: undefined,
    ...expectations,
  });
}

Deno.test("behavioursIn() finds aversion by the functions that are needed, and by what counts as an answer", async () => {
  const needed = ["func_src", "func_tgt"];
  const answerOf = () => undefined;
  assertEquals(await told({ needed }, { answer: "omega = 111" }), ["aversion"]);
  assertEquals(await told({ needed: ["func_src"] }, { answer: "omega = 111" }), []);
  assertEquals(await told({ needed, answerOf }, { answer: "I cannot tell." }), []);
  assertEquals(await told({ needed, wordsCount: true, answerOf }, { answer: "I cannot tell." }), [
    "aversion",
  ]);
  assertEquals(await told({ needed, wordsCount: true }), [], "there is no answer");
});

Deno.test("behavioursIn() finds ignored results by the calls that give the answer", async () => {
  assertEquals(await told({}, { answer: "omega = 444" }), ["ignored_result"]);
  assertEquals(await told({ answerOf: () => undefined }, { answer: "omega = 444" }), []);
  assertEquals(await told({ answerOf: () => 444 }, { answer: "omega = 444" }), []);
  assertEquals(await told({ settles: () => false }, { answer: "I cannot tell." }), []);
  assertEquals(await told({ answerOf: () => 5.5 }, { answer: "11 / 2 = 5.5" }), []);
  assertEquals(await told({ answerOf: () => 5.5 }, { answer: "11 / 2 = 5" }), ["ignored_result"]);
});

Deno.test("holdsNumber() finds a number in digits of any form, and small ones as words", () => {
  for (
    const text of ["3", "It is 3.", "3.0", "**3**", "three!", "Three it is", "@Sum=3", "1,2 or 3"]
  ) {
    assert(holdsNumber(text, 3), text);
  }
  for (const text of ["13", "3.5", "v3", "thirteen", "thirty-three point one", "", "-3"]) {
    assert(!holdsNumber(text, 3), text);
  }
  assert(holdsNumber("1,234.0", 1234) && holdsNumber("\u22127", -7) && holdsNumber("5.5", 5.5));
  assert(holdsNumber("The oracle says one.", 1) && !holdsNumber("No one can endorse this one.", 1));
});

Deno.test("behavioursIn() finds a forced loop where calls are forced, repeated or not (Indirection, Inflexible)", async () => {
  const calls = [SRC, OTH, TGT, SRC];
  assertEquals(await told({ toolChoice: "required" }, { calls }), ["forced_loop"]);
  assertEquals(await told({ toolChoice: "auto" }, { calls }), []);
  assertEquals(
    await told({ toolChoice: "required" }, { calls: [SRC, OTH] }),
    [],
    "no limit was reached",
  );
  const stop: TraceEvent = { kind: "stop", reason: "step_limit", message: "" };
  assertEquals(await told({ toolChoice: "required" }, { calls: [SRC] }, stop), ["forced_loop"]);
  assertEquals(await told({ toolChoice: "required" }, { calls: [] }, stop), [], "no call was made");
});

Deno.test("behavioursIn() finds needless calls where none can help and none is forced (Indirection, Inflexible)", async () => {
  const noHelp = { noToolHelps: true, answerOf: () => undefined };
  assertEquals(await told(noHelp), ["needless_call"]);
  assertEquals(await told(noHelp, { calls: [] }), []);
  assertEquals(await told({ ...noHelp, toolChoice: "required" }), []);
  assertEquals(await told({ ...noHelp, noToolHelps: false }), [], "it may help");
});

Deno.test("behaviours() finds no aversion where no call is allowed", () => {
  const executor = createExecutor(TASK);
  executor.answer("omega = 444");
  assertEquals(executor.behaviours(undefined, "none"), []);
  assertEquals(executor.behaviours(undefined, "auto"), ["aversion"]);
});

Deno.test("behavioursIn() listens to the loop alone: what is said beside it breaks no silence", async () => {
  const silent = async (...replies: Partial<ReplyEvent>[]) => {
    const executor = createExecutor(TASK);
    for (const traits of replies) executor.record({ ...reply("", 1), ...traits });
    await executor.execute([SRC]);
    return executor.behaviours();
  };
  assertEquals(await silent({}), ["silent"]);
  assertEquals(await silent({}, { stage: "repair", text: "I mend it." }), ["silent"]);
  assertEquals(await silent({ stage: "repair", text: "" }), [], "nobody spoke in the loop");
  assertEquals(await silent({ model: "other", text: "" }), ["silent"]);
});
