import { assertEquals } from "@std/assert";
import { type Behaviour, BEHAVIOURS, behavioursOf } from "../lib/behaviour.ts";
import { createExecutor } from "../lib/executor.ts";
import type { ReplyEvent, TraceEvent } from "../lib/trace.ts";
import { test } from "./support/generated.ts";
import { call, OTH, SRC, TASK, TGT } from "./support/handmade.ts";

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
  return behavioursOf(TASK, executor.events);
}

const WELL = [["First the sources.", SRC, OTH], ["Now the target.", TGT]] as const;

test("behavioursOf() finds nothing in a trial that went well", async () => {
  assertEquals(await shown(WELL, "omega = 444"), []);
  assertEquals(behavioursOf(TASK, []), []);
});

test("behavioursOf() finds aversion: an answer without a call that it needs", async () => {
  assertEquals(await shown([], "omega = 444"), ["aversion"]);
  assertEquals(await shown([["I look.", SRC, TGT]], "omega = 444"), ["aversion"]);
  assertEquals(await shown([], "omega is unknown"), []);
  const wrong = call("func_src", { given: 1 });
  assertEquals(await shown([["", OTH], ["I look.", wrong, TGT]], "omega = 444"), []);
});

test("behavioursOf() needs no distractor to be called", async () => {
  const more = call("func_con", { con: 111 });
  assertEquals(await shown([...WELL, ["What else?", more]], "omega = 444"), []);
});

test("behavioursOf() finds ignored results: an answer that the target never returned", async () => {
  assertEquals(await shown(WELL, "omega = 443"), ["ignored_result"]);
  assertEquals(await shown(WELL, "I cannot tell."), []);
  assertEquals(await shown([["Sources.", SRC, OTH]], "omega = 443"), ["aversion"]);
  const wrong = call("func_tgt", { one: 1, two: 2 });
  assertEquals(await shown([...WELL, ["Again.", wrong]], "omega = 444"), []);
  assertEquals(await shown([["", SRC, OTH], ["Go.", wrong]], "omega = 444"), ["ignored_result"]);
});

test("behavioursOf() finds silence: calls without a word in the whole trial", async () => {
  assertEquals(await shown([["", SRC, OTH], [" \n", TGT]], "omega = 444"), ["silent"]);
  assertEquals(await shown([["", SRC, OTH], ["Now.", TGT]], "omega = 444"), []);
  assertEquals(await shown([], "I cannot tell."), []);
});

test("behavioursOf() finds no silence where no reply was recorded", () => {
  const executor = createExecutor(TASK);
  executor.execute([SRC, OTH, TGT]);
  executor.answer("omega = 444");
  assertEquals(behavioursOf(TASK, executor.events), []);
});

test("behavioursOf() finds a forced loop: the limit is reached with calls repeated", async () => {
  assertEquals(await shown([["Go.", SRC, SRC, SRC]], undefined, 2), ["forced_loop"]);
  assertEquals(await shown([["Go.", SRC, OTH, TGT]], undefined, 2), []);
  assertEquals(await shown([["Go.", SRC, SRC, OTH, TGT]], "omega = 444", 4), []);
});

test("behavioursOf() finds a forced loop at each limit of a trial", () => {
  for (const reason of ["step_limit", "time_limit", "token_limit"] as const) {
    const executor = createExecutor(TASK);
    executor.execute([SRC, SRC]);
    const stop: TraceEvent = { kind: "stop", reason, message: "" };
    assertEquals(behavioursOf(TASK, [...executor.events, stop]), ["forced_loop"], reason);
  }
});

test("behavioursOf() finds no forced loop in a trial that was invalid", () => {
  const executor = createExecutor(TASK);
  executor.execute([SRC, SRC]);
  const stop: TraceEvent = { kind: "stop", reason: "invalid", message: "" };
  assertEquals(behavioursOf(TASK, [...executor.events, stop]), []);
});

test("behavioursOf() takes calls for repeated when only their writing differs", async () => {
  const steps = [["Go.", call("func_tgt", '{"one":1,"two":2}')], [
    "Go.",
    call("func_tgt", '{ "two": 2, "one": 1 }'),
    SRC,
  ]] as const;
  assertEquals(await shown(steps, undefined, 2), ["forced_loop"]);
});

test("behavioursOf() lists several in the order of BEHAVIOURS", async () => {
  const steps = [["", TGT, TGT, TGT]] as const;
  assertEquals(await shown(steps, "omega = 443", 2), [...BEHAVIOURS]);
});
