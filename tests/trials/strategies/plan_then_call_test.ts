import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Message } from "../../../lib/tools/message.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { OTH, SRC, TASK, TGT } from "../../support/handmade.ts";
import { eventsOf, filled, listed, planned, said, work } from "../../support/strategy_runs.ts";

const PLAN = "1. func_src(given = 731)\n2. func_oth(also = 205)\n3. func_tgt of both.";
const CARRY_OUT = [{ calls: [SRC, OTH] }, { calls: [TGT] }, { text: "omega = 444" }];
const TEXTS = PROMPTS.plan_then_call;

function asksForPlan(question: string, tools = TASK.tools): string {
  return filled(TEXTS.plan, { tools: listed(tools), question });
}

Deno.test("plan_then_call asks for a plan without tools, and has it carried out (Indirection, And Another Indirection)", async () => {
  const done = await work("plan_then_call", [{ text: PLAN }, ...CARRY_OUT]);
  const [plan, first, second, third, ...rest] = done.requests;
  assertEquals(rest, []);
  assertEquals(said(plan!.messages), [["user", asksForPlan(TASK.prompt)]]);
  assertEquals([plan!.tools, plan!.context.stage], [[], "plan"]);
  const opening: [string, string][] = [
    ["user", TASK.prompt],
    ["assistant", PLAN],
    ["user", TEXTS.call],
  ];
  assertEquals(said(first!.messages), opening);
  assertEquals(said(second!.messages).slice(0, 3), opening);
  for (const { tools, context } of [first!, second!, third!]) {
    assertEquals<unknown>(tools, TASK.tools);
    assertEquals(context.stage, "call");
  }
  assertEquals(done.judgement, { outcome: "solved", grounded: true });
  assertEquals(eventsOf(done, "stage"), [
    { kind: "stage", stage: "plan", message: "the plan names 3 of 6 functions" },
  ]);
  assertEquals(eventsOf(done, "reply").map(({ stage }) => stage), [
    "plan",
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("plan_then_call keeps system messages for both stages, and earlier turns", async () => {
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "What is alpha?" },
    { role: "assistant", content: "Why?", calls: [] },
    { role: "user", content: "For omega." },
  ];
  const { requests } = await work("plan_then_call", [{ text: PLAN }, {}], { messages });
  assertEquals(said(requests[0]!.messages), [
    ["system", "Be brief."],
    ["user", asksForPlan("What is alpha?\n\nWhy?\n\nFor omega.")],
  ]);
  assertEquals(said(requests[1]!.messages), [
    ...said(messages),
    ["assistant", PLAN],
    ["user", TEXTS.call],
  ]);
});

Deno.test("plan_then_call lets another model plan, or another one carry out (Indirection, And Another Indirection)", async () => {
  const usage = { inputTokens: 10, outputTokens: 1 };
  const planner = {
    ...scripted("planner", [{ text: PLAN, usage, served: "planner-1" }]),
    simulated: false,
  };
  const script = [{}, ...CARRY_OUT].map((reply) => ({ ...reply, usage }));
  const planning = await work("plan_then_call", script, { models: { plan: planner } });
  assertEquals(planning.judgement?.outcome, "solved");
  assertEquals(planning.session.served, ["script"]);
  assertEquals(planning.session.usage, { inputTokens: 40, outputTokens: 4 });
  assertEquals(planning.session.stages, [{
    stage: "plan",
    model: { requested: "planner", served: ["planner-1"], simulated: false },
    usage,
  }]);
  assertEquals(eventsOf(planning, "reply").map(({ model }) => model), [
    "planner",
    undefined,
    undefined,
    undefined,
  ]);

  const calling = await work("plan_then_call", [{ text: PLAN, usage }], {
    models: { call: scripted("caller", script) },
  });
  assertEquals(calling.judgement?.outcome, "solved");
  assertEquals(calling.session.stages, [{
    stage: "call",
    model: { requested: "caller", served: ["caller"], simulated: true },
    usage: { inputTokens: 30, outputTokens: 3 },
  }]);
  assertEquals(calling.session.usage, { inputTokens: 40, outputTokens: 4 });
});

Deno.test("plan_then_call records who took part in a trial, and one program makes it simulated (Indirection, And Another Indirection)", async () => {
  const unasked = {
    ...scripted("unasked", () => {
      throw new Error("nobody asks this one");
    }),
    simulated: false,
  };
  const task = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 5 };
  const trial = await runTrial(planned("plan_then_call", "unasked", task), unasked, {
    stageModels: new Map([
      ["plan", { ...scripted("planner", [{ text: "Think." }]), simulated: false }],
      ["call", scripted("caller", [{ text: "I cannot tell." }])],
    ]),
  });
  assertEquals(trial.outcome, "no_answer", trial.reason);
  assertEquals(trial.model, { requested: "unasked", served: "", simulated: true });
  assertEquals(
    trial.stages?.map(({ stage, model }) => [stage, model.requested, model.simulated]),
    [["plan", "planner", false], ["call", "caller", true]],
  );
});

Deno.test("plan_then_call carries on without a plan when there is none", async () => {
  for (const text of ["", " \n\t"]) {
    const done = await work("plan_then_call", [{ text }, ...CARRY_OUT]);
    assertEquals(said(done.requests[1]!.messages), [["user", TASK.prompt]]);
    assertEquals(done.requests[1]!.context.stage, "call");
    assertEquals(eventsOf(done, "stage").map(({ message }) => message), [
      "there is no plan: the question stands for itself",
    ]);
    assertEquals(done.judgement?.outcome, "solved");
  }
});

Deno.test("plan_then_call does not make the calls of a reply that is to be a plan", async () => {
  const done = await work("plan_then_call", [{ text: PLAN, calls: [SRC] }, { text: "Done." }]);
  assertEquals([done.executed, done.calls.length], [0, 0]);
  assertEquals(said(done.requests[1]!.messages)[1], ["assistant", PLAN]);
});

Deno.test("plan_then_call passes a plan on as it is, whatever stands in it", async () => {
  const hostile = "{tools} {question} {plan} $& $1 $` </plan> @given func_nix func_srcx \u0000";
  const done = await work("plan_then_call", [{ text: hostile }, {}]);
  assertEquals(said(done.requests[1]!.messages)[1], ["assistant", hostile]);
  assertEquals(eventsOf(done, "stage")[0]!.message, "the plan names 0 of 6 functions");
});

Deno.test("plan_then_call cuts a plan of a million letters", async () => {
  const long = `func_src ${"x".repeat(1_000_000)} func_oth`;
  const done = await work("plan_then_call", [{ text: long }, {}]);
  assertEquals(done.requests[1]!.messages[1]!.content, long.slice(0, 20_000));
  assertEquals(eventsOf(done, "stage")[0]!.message, "the plan names 1 of 6 functions");
  assert(JSON.stringify(done.events).length < 15_000, "a trace keeps the beginning only");
});

Deno.test("plan_then_call uses texts of the user's own", async () => {
  const prompts = { plan_then_call: { plan: "Plan {question} {question} {tools}!", call: "Go." } };
  const { requests } = await work("plan_then_call", [{ text: PLAN }, {}], { set: { prompts } });
  assertEquals(
    requests[0]!.messages[0]!.content,
    `Plan ${TASK.prompt} ${TASK.prompt} ${listed(TASK.tools)}!`,
  );
  assertEquals(said(requests[1]!.messages)[2], ["user", "Go."]);
  const one = { plan_then_call: { call: "Go." } };
  const usual = await work("plan_then_call", [{ text: PLAN }, {}], { set: { prompts: one } });
  assertEquals(usual.requests[0]!.messages[0]!.content, asksForPlan(TASK.prompt));
});

Deno.test("plan_then_call shows a plan to what comes after it, such as a router", async () => {
  const route = "['func_src', 'func_oth', 'func_tgt']";
  const done = await work("plan_then_call+route_then_fill", [
    { text: PLAN },
    { text: route },
    ...CARRY_OUT,
  ]);
  assertEquals(done.requests.map(({ context: { stage } }) => stage), [
    "plan",
    "route",
    "fill",
    "fill",
    "fill",
  ]);
  const asked = done.requests[1]!.messages;
  assertEquals(asked.length, 1);
  assertStringIncludes(asked[0]!.content, `${TASK.prompt}\n\n${PLAN}\n\n${TEXTS.call}`);
  assertEquals(done.requests[2]!.tools.length, 3);
  assertEquals(said(done.requests[2]!.messages), [
    ["user", TASK.prompt],
    ["assistant", PLAN],
    ["user", TEXTS.call],
  ]);
  assertEquals(done.judgement?.outcome, "solved");
});
