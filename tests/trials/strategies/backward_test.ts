import { assert, assertEquals } from "@std/assert";
import { scripted } from "../../../lib/models/scripted.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import { OTH, SRC, TASK, TGT } from "../../support/handmade.ts";
import { eventsOf, filled, listed, said, type Work, work } from "../../support/strategy_runs.ts";

const CARRY_OUT = [{ calls: [SRC, OTH] }, { calls: [TGT] }, { text: "omega = 444" }];
const TEXTS = PROMPTS.backward;
const FINAL = filled(TEXTS.final, { tools: listed(TASK.tools), question: TASK.prompt });
const LAST = '{"API": ["func_tgt"], "parameters": [{"one": "$$$", "two": "$$$"}]}';
const MORE = '{"API": ["func_src", "func_tgt"], "parameters": [{"given": 731}, {"one": "$$$"}]}';
const ALL = '{"API": ["func_src", "func_oth", "func_tgt"], "parameters": [{}, {}, {}]}';

/** The record of the stage, and how often the model was asked in it. */
function told(done: Work): [asked: number, message: string] {
  const asked = done.requests.filter(({ context }) => context.stage === "infer");
  const [event, ...others] = eventsOf(done, "stage");
  assertEquals([event!.stage, others], ["infer", []]);
  return [asked.length, event!.message];
}

Deno.test("backward asks for the last call, then for what is missing, until nothing is (CallNavi 7.2)", async () => {
  const done = await work("backward", [
    { text: LAST },
    { text: MORE },
    { text: `${ALL} <!stop>` },
    ...CARRY_OUT,
  ]);
  const inferring = done.requests.slice(0, 3);
  assertEquals(inferring.map(({ messages }) => said(messages)), [
    [["user", FINAL]],
    [["user", FINAL], ["assistant", LAST], ["user", TEXTS.missing]],
    [
      ["user", FINAL],
      ["assistant", LAST],
      ["user", TEXTS.missing],
      ["assistant", MORE],
      ["user", TEXTS.missing],
    ],
  ]);
  for (const { tools, context } of inferring) {
    assertEquals([tools, context.stage], [[], "infer"]);
  }
  assertEquals(said(done.requests[3]!.messages), [
    ["user", TASK.prompt],
    ["assistant", ALL],
    ["user", TEXTS.call],
  ]);
  for (const { tools, context } of done.requests.slice(3)) {
    assertEquals<unknown>(tools, TASK.tools);
    assertEquals(context.stage, "call");
  }
  assertEquals(told(done), [
    3,
    "the list is complete; rounds of asking what is missing: 2",
  ]);
  assertEquals(done.judgement, { outcome: "solved", grounded: true });
});

Deno.test("backward takes a list that is complete at once", async () => {
  for (const text of [`${ALL}<!stop>`, `<!stop>\n${ALL}`, `${ALL} <!stop> <!stop>`]) {
    const done = await work("backward", [{ text }, ...CARRY_OUT]);
    assertEquals(told(done), [
      1,
      "the list is complete; rounds of asking what is missing: 0",
    ]);
    assertEquals(said(done.requests[1]!.messages)[1], ["assistant", ALL]);
  }
});

Deno.test("backward ends when nothing is added any more", async () => {
  for (const again of [MORE, ` ${MORE}\n`, "", " \n"]) {
    const done = await work("backward", [{ text: LAST }, { text: MORE }, { text: again }, {}]);
    assertEquals(told(done), [
      3,
      "nothing was added any more; rounds of asking what is missing: 2",
    ]);
    // A reply that gives nothing does not undo what earlier ones gave.
    assertEquals(said(done.requests[3]!.messages)[1], ["assistant", MORE]);
  }
});

Deno.test("backward keeps its list when the last reply only says that it is complete", async () => {
  const done = await work("backward", [{ text: ALL }, { text: "<!stop>" }, ...CARRY_OUT]);
  assertEquals(told(done)[1], "the list is complete; rounds of asking what is missing: 1");
  assertEquals(said(done.requests[2]!.messages)[1], ["assistant", ALL]);
});

Deno.test("backward asks no more often than its rounds allow", async () => {
  let asked = 0;
  const never = () =>
    scripted("never", ({ tools }) => ({ text: tools.length > 0 ? "Done." : `${asked++}` }));
  for (const [set, rounds] of [[{}, 10], [{ rounds: 1 }, 1], [{ rounds: 3 }, 3]] as const) {
    asked = 0;
    const done = await work("backward", never(), { set });
    assertEquals(told(done), [
      rounds + 1,
      `${rounds} rounds are over; rounds of asking what is missing: ${rounds}`,
    ]);
    assertEquals(said(done.requests.at(-1)!.messages)[1], ["assistant", `${rounds}`]);
    assertEquals(eventsOf(done, "reply").filter(({ stage }) => stage === "infer").length, asked);
  }
});

Deno.test("backward carries on without a list when there is none", async () => {
  for (const text of ["", "  \n", "<!stop>", " <!stop>\n<!stop>"]) {
    const done = await work("backward", [{ text }, ...CARRY_OUT]);
    assertEquals(told(done), [
      1,
      "there is no list: the question stands for itself; rounds of asking what is missing: 0",
    ]);
    assertEquals(said(done.requests[1]!.messages), [["user", TASK.prompt]]);
    assertEquals(done.requests[1]!.context.stage, "call");
    assertEquals(done.judgement?.outcome, "solved");
  }
});

Deno.test("backward cuts a list of a million letters, and sees behind it that it is complete", async () => {
  const long = "x".repeat(1_000_000);
  const done = await work("backward", [{ text: `${long} <!stop>` }, {}]);
  assertEquals(told(done)[1], "the list is complete; rounds of asking what is missing: 0");
  assertEquals(done.requests[1]!.messages[1]!.content, long.slice(0, 20_000));
  const endless = await work("backward", [{ text: long }, { text: `${long}y` }, {}]);
  assertEquals(told(endless)[0], 2, "what lies behind the cut adds nothing");
  assert(JSON.stringify(endless.requests).length < 100_000);
});

Deno.test("backward uses texts of the user's own", async () => {
  const prompts = { backward: { final: "{question} {tools}", missing: "More?", call: "Go." } };
  const script = [{ text: LAST }, { text: `${ALL}<!stop>` }, {}];
  const { requests } = await work("backward", script, { set: { prompts } });
  assertEquals(said(requests[1]!.messages), [
    ["user", `${TASK.prompt} ${listed(TASK.tools)}`],
    ["assistant", LAST],
    ["user", "More?"],
  ]);
  assertEquals(said(requests[2]!.messages)[2], ["user", "Go."]);
});

Deno.test("backward does not make the calls of a reply that is to be a list", async () => {
  const done = await work("backward", [{ text: `${ALL}<!stop>`, calls: [SRC] }, { text: "Done." }]);
  assertEquals([done.executed, done.calls.length], [0, 0]);
});
