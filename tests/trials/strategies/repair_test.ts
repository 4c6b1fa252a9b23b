import { assert, assertEquals } from "@std/assert";
import type { Message } from "../../../lib/tools/message.ts";
import type { ModelRequest } from "../../../lib/models/model.ts";
import type { ScriptedReply } from "../../../lib/models/scripted.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import { call, OTH, SRC, TASK, TGT } from "../../support/handmade.ts";
import {
  eventsOf,
  filled,
  forever,
  resultsSeen,
  said,
  type Work,
  work,
} from "../../support/strategy_runs.ts";

const BAD = call("func_src", {});
const ERROR = "Function func_src takes exactly these arguments, all of them integers: given";
const SCHEMA = JSON.stringify(TASK.tools.find(({ name }) => name === "func_src")!.parameters);

function fix(written: string, errors = ERROR): string {
  return filled(PROMPTS.repair.fix, {
    name: "func_src",
    arguments: written,
    errors,
    schema: SCHEMA,
  });
}

/** Requests of repairs. */
function repairs({ requests }: Work): ModelRequest[] {
  return requests.filter(({ context }) => context.stage === "repair");
}

Deno.test("repair gives a call that does not fit back, before it is carried out", async () => {
  const done = await work("repair", [
    { text: "First this.", calls: [BAD] },
    { calls: [SRC] },
    { calls: [OTH] },
    { calls: [TGT] },
    { text: "omega = 444" },
  ]);
  const [, asked, next] = done.requests;
  assertEquals(said(asked!.messages), [
    ["user", TASK.prompt],
    ["assistant", "func_src({})"],
    ["user", fix("{}")],
  ]);
  assertEquals<unknown>(asked!.tools, TASK.tools);
  assertEquals(done.requests.map(({ context }) => context.stage), [
    undefined,
    "repair",
    undefined,
    undefined,
    undefined,
  ]);
  // The conversation goes on as if the call had been right at once, under the id that it had.
  assertEquals(next!.messages, [
    { role: "user", content: TASK.prompt },
    {
      role: "assistant",
      content: "First this.",
      calls: [{ id: "call_1_1", name: "func_src", arguments: '{"given":731}' }],
    },
    { role: "tool", callId: "call_1_1", name: "func_src", content: '{"alpha":111}' },
  ]);
  assertEquals(done.judgement, { outcome: "solved", grounded: true });
  assertEquals(done.calls.map(({ failure, step }) => [failure, step]), [
    [undefined, 1],
    [undefined, 2],
    [undefined, 3],
  ]);
  assertEquals(eventsOf(done, "repair"), [{
    kind: "repair",
    function: "func_src",
    arguments: "{}",
    error: ERROR,
    attempts: 1,
    repaired: '{"given":731}',
  }]);
  assertEquals(eventsOf(done, "reply").map(({ stage }) => stage), [
    undefined,
    "repair",
    undefined,
    undefined,
    undefined,
  ]);
});

/** What becomes of a bad call when the model says this about it, at the first and only attempt. */
async function mended(reply: ScriptedReply): Promise<string | undefined> {
  const done = await work("repair", [{ calls: [BAD] }, reply, { text: "Done." }], {
    set: { attempts: 1 },
  });
  const [event, ...others] = eventsOf(done, "repair");
  assertEquals([event!.attempts, others], [1, []]);
  const [carried, ...more] = done.calls;
  assertEquals(more, []);
  assertEquals(carried!.arguments, event!.repaired ?? "{}");
  assertEquals(carried!.failure?.type, event!.repaired ? undefined : "wrong_number_of_inputs");
  return event!.repaired;
}

Deno.test("repair takes arguments in whatever form they come", async () => {
  const right = '{"given":731}';
  const table: [string, ScriptedReply, string][] = [
    ["a call", { calls: [SRC] }, right],
    ["a call with words", { text: "Oh, {}.", calls: [SRC] }, right],
    ["a call among others", { calls: [OTH, SRC, BAD] }, right],
    ["JSON", { text: right }, right],
    ["JSON with words around", { text: `Sorry: ${right}.` }, right],
    ["JSON over lines", { text: '{\n  "given": 731\n}' }, '{\n  "given": 731\n}'],
    ["fenced JSON", { text: "```json\n" + right + "\n```" }, right],
    ["the whole call", { text: `{"name": "func_src", "arguments": ${right}}` }, right],
    ["a call as text", { text: `func_src(${right})` }, right],
    ["a number as text", { text: '{"given":"731"}' }, '{"given":"731"}'],
    ["JSON beside a call of another", { text: right, calls: [OTH] }, right],
  ];
  for (const [what, reply, expected] of table) assertEquals(await mended(reply), expected, what);
});

Deno.test("repair takes nothing from a reply that does not help", async () => {
  const table: [string, ScriptedReply][] = [
    ["silence", {}],
    ["words", { text: "I will not." }],
    ["a call of another function", { calls: [OTH] }],
    ["a call of an unknown function", { calls: [call("func_nix", { given: 731 })] }],
    ["the same again", { calls: [BAD] }],
    ["another mistake", { text: '{"given":"many"}' }],
    ["more than one object", { text: '{"given":731} or {"given":732}' }],
    ["the whole call of another", { text: '{"name": "func_oth", "arguments": {"given": 731}}' }],
    ["braces the wrong way round", { text: "}{" }],
    ["a list", { text: "[731]" }],
    ["deep nesting", { text: '{"a":'.repeat(5000) + "1" + "}".repeat(5000) }],
  ];
  for (const [what, reply] of table) assertEquals(await mended(reply), undefined, what);
});

Deno.test("repair asks again with what is wrong now, and gets better", async () => {
  const done = await work("repair", [
    { calls: [BAD] },
    { text: "Hm?" },
    { text: '{"given":"many"}' },
    { calls: [SRC] },
    { text: "Done." },
  ], { set: { attempts: 3 } });
  assertEquals(said(repairs(done).at(-1)!.messages), [
    ["user", TASK.prompt],
    ["assistant", "func_src({})"],
    ["user", fix("{}")],
    ["assistant", "func_src({})"],
    ["user", fix("{}", "The reply held no arguments")],
    ["assistant", 'func_src({"given":"many"})'],
    ["user", fix('{"given":"many"}')],
  ]);
  assertEquals(eventsOf(done, "repair"), [{
    kind: "repair",
    function: "func_src",
    arguments: "{}",
    error: ERROR,
    attempts: 3,
    repaired: '{"given":731}',
  }]);
  assertEquals(done.calls.map(({ arguments: written }) => written), ['{"given":731}']);
});

Deno.test("repair carries a call out as it was first written when it never gets better", async () => {
  for (const [set, attempts] of [[{}, 2], [{ attempts: 1 }, 1], [{ attempts: 5 }, 5]] as const) {
    const done = await work("repair", (request) => {
      if (request.context.stage === "repair") return { text: '{"given":"many"}' };
      return request.messages.length > 1 ? { text: "Done." } : { calls: [BAD] };
    }, { set });
    assertEquals(repairs(done).length, attempts);
    assertEquals(eventsOf(done, "repair"), [
      { kind: "repair", function: "func_src", arguments: "{}", error: ERROR, attempts },
    ]);
    assertEquals(done.executed, 1);
    const [refused] = done.calls;
    assertEquals(refused!.arguments, "{}");
    assertEquals(refused!.failure, {
      type: "wrong_number_of_inputs",
      detail: { missing: ["given"], unexpected: [], wrongType: [], malformed: false },
      root: true,
    });
    assertEquals(resultsSeen(done), [JSON.stringify({ error: ERROR })]);
  }
});

Deno.test("repair leaves everything else as it is: only schemas can be mended", async () => {
  const done = await work("repair", [
    { calls: [call("func_nix", {}), { ...SRC, arguments: '{"given":732}' }, TGT] },
    { text: "Done." },
  ]);
  assertEquals(repairs(done), []);
  assertEquals(eventsOf(done, "repair"), []);
  assertEquals(done.calls.map(({ failure }) => failure?.type), [
    "function_not_found",
    "incorrect_value",
    undefined,
  ]);
  assertEquals(done.calls[2]!.guessed, true);
});

Deno.test("repair mends several calls of one reply, one after another", async () => {
  const done = await work("repair", [
    { calls: [BAD, OTH, call("func_tgt", '{"one":'), BAD] },
    { calls: [SRC] },
    { text: JSON.stringify({ one: 111, two: 222 }) },
    { text: "no" },
    { text: "no" },
    { text: "Done." },
  ]);
  assertEquals(repairs(done).map(({ messages }) => messages.map(({ role }) => role).join()), [
    "user,assistant,user",
    "user,assistant,user",
    "user,assistant,user",
    "user,assistant,user,assistant,user",
  ]);
  assertEquals(said(repairs(done)[1]!.messages)[1], ["assistant", 'func_tgt({"one":)']);
  assertEquals(done.calls.map((one) => [one.function, one.arguments, one.failure?.type]), [
    ["func_src", '{"given":731}', undefined],
    ["func_oth", '{"also":205}', undefined],
    ["func_tgt", '{"one":111,"two":222}', undefined],
    ["func_src", "{}", "wrong_number_of_inputs"],
  ]);
  assertEquals(new Set(done.calls.map(({ step }) => step)), new Set([1]));
  assertEquals(eventsOf(done, "repair").map(({ attempts, repaired }) => [attempts, repaired]), [
    [1, '{"given":731}'],
    [1, '{"one":111,"two":222}'],
    [2, undefined],
  ]);
});

Deno.test("repair shows the conversation so far, and leaves no trace in it", async () => {
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: TASK.prompt },
  ];
  const done = await work("repair", [
    { calls: [OTH] },
    { text: "Now this.", calls: [BAD] },
    { calls: [SRC] },
    { text: "Done." },
  ], { messages });
  const before = done.requests[1]!.messages;
  assertEquals(before.length, 4);
  assertEquals(repairs(done)[0]!.messages.slice(0, 4), before);
  assertEquals(repairs(done)[0]!.messages.length, 6);
  const after = done.requests[3]!.messages;
  assertEquals(after.slice(0, 4), before);
  assertEquals(after.length, 6);
  assert(after.every(({ content }) => !content.includes("invalid arguments")));
});

Deno.test("repair uses a text of the user's own", async () => {
  const prompts = { repair: { fix: "No: {arguments}" } };
  const done = await work("repair", [{ calls: [BAD] }, { calls: [SRC] }, {}], { set: { prompts } });
  assertEquals(said(repairs(done)[0]!.messages)[2], ["user", "No: {}"]);
});

Deno.test("repair passes long arguments on cut", async () => {
  const long = `{"given":"${"x".repeat(1_000_000)}"}`;
  const cut = await work("repair", [
    { calls: [call("func_src", long)] },
    { text: long },
    { text: long },
    { text: "Done." },
  ]);
  for (const { messages } of repairs(cut)) assert(JSON.stringify(messages).length < 100_000);
  assertEquals(eventsOf(cut, "repair")[0]!.arguments, long.slice(0, 10_000));
  assertEquals(cut.calls[0]!.failure?.type, "wrong_number_of_inputs");
});

Deno.test("repair ends in mid-repair when a limit is reached: nothing is carried out then", async () => {
  const script = [{ calls: [BAD, BAD] }, { calls: [SRC] }, { calls: [SRC] }, { text: "Done." }];
  for (const [steps, calls] of [[1, 0], [2, 0], [3, 2]] as const) {
    const done = await work("repair", script, { limits: { steps } });
    assertEquals([done.ending.kind, done.requests.length], ["step_limit", steps]);
    assertEquals([done.executed, done.calls.length], [calls, calls]);
  }
  const late = await work("repair", [{ calls: [BAD] }, { calls: [SRC], finish: "length" }]);
  assertEquals([late.ending.kind, late.executed], ["token_limit", 0]);
});

Deno.test("repair mends calls of whatever else reviews them", async () => {
  // Under names a call must name its result, and what it gives must be known.
  const named = (given: Record<string, string>) => call("func_src", given);
  const done = await work("indirection+repair", [
    { calls: [named({ given: "@nix", result: "@a" })] },
    { calls: [named({ given: "@given" })] },
    { calls: [named({ given: "@given", result: "@given" })] },
    { calls: [named({ given: "@given", result: "@a" })] },
    { text: "It is @a." },
  ], { set: { attempts: 3 } });
  const errors = repairs(done).map(({ messages }) =>
    /^Errors: (.*)$/m.exec(messages.at(-1)!.content)![1]!
  );
  assertEquals(errors.map((error) => error.split(/[:,.]/)[0]), [
    "There is no value named @nix",
    "Parameter result must name the result",
    "Parameter result must be a new name",
  ]);
  assertEquals(done.calls.map(({ resolved, failure }) => [resolved, failure]), [
    ['{"given":731}', undefined],
  ]);
  assertEquals(done.ending, { kind: "answer", text: "It is 111.", rendered: "It is @a=111." });
});

Deno.test("repair mends what another review leaves, and ends where that reaches a limit", async () => {
  const script = [{ calls: [OTH] }, { calls: [SRC] }, { text: "Done." }];
  const mended = await work("repair", script, {
    around: {
      review: ({ calls }) => Promise.resolve(calls.map((one) => ({ ...BAD, id: one.id }))),
    },
  });
  assertEquals(mended.calls.map(({ arguments: written }) => written), ['{"given":731}']);
  const limited = { kind: "time_limit", message: "it took too long" } as const;
  const ended = await work("repair", script, {
    around: { review: () => Promise.resolve(limited) },
  });
  assertEquals([ended.ending, ended.executed], [limited, 0]);
});

Deno.test("repair mends no more calls of a reply than may still be made", async () => {
  const bad = Array.from({ length: 200 }, () => call("func_src", {}));
  const done = await work("repair", forever({ calls: bad }), { limits: { calls: 3 } });
  // One reply, and both attempts for each of three calls.
  assertEquals(done.requests.length, 1 + 2 * 3);
  assertEquals(done.calls.length, 3);
});
