import { assert, assertEquals } from "@std/assert";
import type { Message } from "../../../lib/tools/message.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import type { Task } from "../../../lib/tasks/graphs/task.ts";
import { call, OTH, SRC, TASK, TGT } from "../../support/handmade.ts";
import { eventsOf, filled, listed, said, work } from "../../support/strategy_runs.ts";

const FILL = [{ calls: [SRC, OTH] }, { calls: [TGT] }, { text: "omega = 444" }];
const { route: ROUTE } = PROMPTS.route_then_fill;
const NAMES = TASK.tools.map(({ name }) => name);

function asksForRoute(question: string): string {
  return filled(ROUTE, { tools: listed(TASK.tools), question });
}

/** The functions that are offered after an answer of the router, and what is recorded of it. */
async function offered(
  text: string,
  task: Task = TASK,
): Promise<{ names: string[]; message: string }> {
  const done = await work("route_then_fill", [{ text }, {}], { task });
  const [event, ...others] = eventsOf(done, "stage");
  assertEquals([event!.stage, others], ["route", []]);
  const names = done.requests[1]!.tools.map(({ name }) => name);
  assertEquals<unknown>(
    done.requests[1]!.tools,
    task.tools.filter(({ name }) => names.includes(name)),
  );
  return { names, message: event!.message };
}

Deno.test("route_then_fill asks for functions without tools, and offers just those (CallNavi 7.1)", async () => {
  const done = await work("route_then_fill", [
    { text: "['func_tgt', 'func_src', 'func_oth']" },
    ...FILL,
  ]);
  const [route, ...fill] = done.requests;
  assertEquals(said(route!.messages), [["user", asksForRoute(TASK.prompt)]]);
  assertEquals([route!.tools, route!.context.stage], [[], "route"]);
  assertEquals(fill.length, 3);
  for (const { tools, context } of fill) {
    // In their own order, so that the answer's order shows nothing.
    assertEquals(tools.map(({ name }) => name), ["func_tgt", "func_src", "func_oth"]);
    assertEquals(context.stage, "fill");
  }
  assertEquals(said(fill[0]!.messages), [["user", TASK.prompt]]);
  assertEquals(done.judgement, { outcome: "solved", grounded: true });
  assertEquals(eventsOf(done, "stage"), [
    { kind: "stage", stage: "route", message: "3 of 6 functions are offered" },
  ]);
});

Deno.test("route_then_fill finds names however they are written", async () => {
  const table: [string, string[]][] = [
    ["['func_src']", ["func_src"]],
    ['["func_src","func_con"]', ["func_con", "func_src"]],
    ["func_oth, func_src.", ["func_src", "func_oth"]],
    ["1. `func_src`\n2. **func_oth**:", ["func_src", "func_oth"]],
    ["[func_src]", ["func_src"]],
    ["func_src(given=731) -> alpha", ["func_src"]],
    ["func_src func_src 'func_src'", ["func_src"]],
    ['{"API": ["func_src"]}', ["func_src"]],
  ];
  for (const [text, names] of table) {
    const told = await offered(text);
    assertEquals(told.names, names);
    assert(told.message.startsWith(`${names.length} of 6 functions are offered`), told.message);
  }
});

Deno.test("route_then_fill does not take a name for another one that it is a part of", async () => {
  const longer = TASK.tools.map((tool) =>
    tool.name === "func_oth" ? { ...tool, name: "func_src_2" } : tool
  );
  const task = { ...TASK, tools: longer };
  assertEquals((await offered("['func_src']", task)).names, ["func_src"]);
  assertEquals((await offered("['func_src_2']", task)).names, ["func_src_2"]);
  assertEquals((await offered("['func_sr', 'FUNC_SRC', 'func_srcs']", task)).names.length, 6);
});

Deno.test("route_then_fill offers everything where nothing is picked", async () => {
  for (const text of ["", "[]", "I do not know.", "no function", "\u0000", "['func_nix']"]) {
    assertEquals(await offered(text), {
      names: NAMES,
      message: "no function was picked: all 6 are offered",
    });
  }
  assertEquals(await offered(NAMES.join()), {
    names: NAMES,
    message: "6 of 6 functions are offered",
  });
});

Deno.test("route_then_fill carries out a call of a function that is not offered", async () => {
  const done = await work("route_then_fill", [{ text: "['func_tgt']" }, ...FILL]);
  assertEquals(done.requests[1]!.tools.length, 1);
  assertEquals(done.calls.map(({ returned }) => returned?.variable), ["alpha", "beta", "omega"]);
  assertEquals(done.judgement?.outcome, "solved");
});

Deno.test("route_then_fill keeps system messages for both stages", async () => {
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "What is omega? {tools}" },
  ];
  const { requests } = await work("route_then_fill", [{ text: "['func_src']" }, {}], { messages });
  assertEquals(said(requests[0]!.messages), [
    ["system", "Be brief."],
    ["user", asksForRoute("What is omega? {tools}")],
  ]);
  assertEquals(said(requests[1]!.messages), said(messages));
});

Deno.test("route_then_fill uses a text of the user's own", async () => {
  const prompts = { route_then_fill: { route: "{tools} for {question}" } };
  const { requests } = await work("route_then_fill", [{ text: "['func_src']" }, {}], {
    set: { prompts },
  });
  assertEquals(requests[0]!.messages[0]!.content, `${listed(TASK.tools)} for ${TASK.prompt}`);
});

Deno.test("route_then_fill reads a long answer no further than it must, and quickly", async () => {
  const late = "x ".repeat(15_000) + "func_src";
  assertEquals((await offered(late)).names.length, 6);
  for (const text of [`x${".".repeat(1_000_000)}x`, "'".repeat(1_000_000), "-".repeat(1_000_000)]) {
    assertEquals((await offered(text)).names.length, 6);
  }
});

Deno.test("route_then_fill offers mended calls the functions that were picked", async () => {
  const done = await work("route_then_fill+repair", [
    { text: "['func_src']" },
    { calls: [call("func_src", {})] },
    { calls: [SRC] },
    { text: "Done." },
  ]);
  assertEquals(done.requests.map(({ context: { stage }, tools }) => [stage, tools.length]), [
    ["route", 0],
    ["fill", 1],
    ["repair", 1],
    ["fill", 1],
  ]);
  assertEquals(done.calls.map(({ failure }) => failure), [undefined]);
});

Deno.test("route_then_fill forces a call of what it offers, where the function to be called is not among that", async () => {
  const choices: unknown[] = [];
  const model = scripted("m", ({ tools, toolChoice }) => {
    if (tools.length === 0) return { text: "['count_letters']" };
    choices.push(toolChoice);
    return choices.length === 1
      ? { calls: [{ name: "count_letters", arguments: { word: "abc" } }] }
      : { text: "result = 3" };
  });
  const strategy = { strategy: "route_then_fill" };
  await runTrial({ case: "forced_function", seed: 1 }, model, { strategy });
  assertEquals(choices, ["required", "required"]);
});
