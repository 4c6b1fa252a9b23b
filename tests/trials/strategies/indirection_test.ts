import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Message } from "../../../lib/tools/message.ts";
import type { ScriptedReply } from "../../../lib/models/scripted.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import { explainNames } from "../../../lib/trials/strategies/indirection.ts";
import { generateTask, type Task } from "../../../lib/tasks/graphs/task.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import fc from "../../support/fast_check.ts";
import { specs } from "../../support/generated.ts";
import { call, TASK } from "../../support/handmade.ts";
import { inProcess } from "../../support/in_process.ts";
import {
  eventsOf,
  filled,
  planned,
  resultsSeen,
  said,
  work,
  type WorkOptions,
} from "../../support/strategy_runs.ts";

const HIDDEN = "What is omega?\n\nVariable given = @given\nVariable also = @also";
const SRC = call("func_src", { given: "@given", result: "@a" });
const OTH = call("func_oth", { also: "@also", result: "@b" });
const TGT = call("func_tgt", { one: "@a", two: "@b", result: "@omega" });

function explained(question: string, parameters = "the parameter result"): string {
  return filled(PROMPTS.indirection.use, { parameters, question });
}

/** Carries out the calls of several replies; gives what each came to, without its place. */
async function outcomesOf(replies: ScriptedReply["calls"][], options: WorkOptions = {}) {
  const script = [...replies.map((calls) => ({ calls: calls! })), { text: "Done." }];
  const done = await work("indirection", script, options);
  assertEquals(done.calls.map(({ result }) => result), resultsSeen(done));
  return done.calls.map(({ result, resolved, returned, failure }) => ({
    result: result.startsWith("{") ? JSON.parse(result).error as string : result,
    resolved,
    returned: returned?.value,
    failure: failure?.type,
    detail: failure?.detail,
  }));
}

Deno.test("indirection hides what is given behind names, and explains them (Indirection, The Basics of LLMs and Function Calls)", async () => {
  const { requests } = await work("indirection", [{}]);
  assertEquals(said(requests[0]!.messages), [["user", explained(HIDDEN)]]);
  assertStringIncludes(explained(HIDDEN), "names, which begin with @");
  assertStringIncludes(explained(HIDDEN), "@Order.total for a field");
});

Deno.test("indirection offers every function with a name for its result, and takes names (Indirection, Adding a Level of Indirection)", async () => {
  const { requests } = await work("indirection", [{}]);
  assertEquals(requests[0]!.tools.map(({ name }) => name), TASK.tools.map(({ name }) => name));
  for (const [place, tool] of requests[0]!.tools.entries()) {
    const usual = TASK.tools[place]!;
    const own = Object.keys(usual.parameters["properties"] as JsonObject);
    const { required, additionalProperties } = tool.parameters;
    const properties = tool.parameters["properties"] as JsonObject;
    assertEquals(Object.keys(properties), [...own, "result"]);
    assertEquals([required, additionalProperties], [[...own, "result"], false]);
    for (const name of own) {
      const { anyOf } = properties[name] as { anyOf: JsonObject[] };
      assertEquals(anyOf.map(({ type }) => type), ["integer", "string"]);
    }
    assertEquals([tool.description, tool.strict], [usual.description, true]);
  }
});

Deno.test("indirection carries calls out on values, and gives names back (Indirection, Adding a Level of Indirection)", async () => {
  const done = await work("indirection", [
    { calls: [SRC, OTH] },
    { calls: [TGT] },
    { text: "So omega = @omega." },
  ]);
  assertEquals(
    done.calls.map(({ arguments: written, resolved, result, returned }) => [
      written,
      resolved,
      result,
      returned,
    ]),
    [
      [SRC.arguments, '{"given":731}', "@a", { variable: "alpha", value: 111 }],
      [OTH.arguments, '{"also":205}', "@b", { variable: "beta", value: 222 }],
      [TGT.arguments, '{"one":111,"two":222}', "@omega", { variable: "omega", value: 444 }],
    ],
  );
  assertEquals(done.judgement, { outcome: "solved", grounded: true });
  assertEquals(eventsOf(done, "answer"), [{
    kind: "answer",
    text: "So omega = 444.",
    rendered: "So omega = @omega=444.",
    value: 444,
  }]);
});

Deno.test("indirection judges bare values, and shows people names with values (Indirection, Adding a Level of Indirection)", async () => {
  const table: [
    text: string,
    judged: string,
    rendered: string | undefined,
    value: number | null,
  ][] = [
    ["omega is @omega", "omega is 444", "omega is @omega=444", 444],
    ["`@omega`", "`444`", "`@omega=444`", 444],
    ["@a and @b give @omega", "111 and 222 give 444", "@a=111 and @b=222 give @omega=444", 444],
    ["omega = @a", "omega = 111", "omega = @a=111", 111],
    ["omega = @nix", "omega = @nix", undefined, null],
    ["I do not know.", "I do not know.", undefined, null],
    ["omega = 444", "omega = 444", undefined, 444],
    ["mail me@omega.example", "mail me@omega.example", undefined, null],
  ];
  for (const [text, judged, rendered, value] of table) {
    const done = await work("indirection", [{ calls: [SRC, OTH] }, { calls: [TGT] }, { text }]);
    const expected = { text: judged, ...(rendered === undefined ? {} : { rendered }) };
    assertEquals<unknown>(done.ending, { kind: "answer", ...expected });
    assertEquals<unknown>(eventsOf(done, "answer"), [{ kind: "answer", ...expected, value }]);
  }
});

// No value reaches a model

/** Composites in which names stand between the values and whatever asks a model. */
const HIDING = [
  "indirection",
  "indirection+restate",
  "restate+indirection",
  "repair+indirection",
  "indirection+plan_then_call",
  "indirection+route_then_fill",
  "indirection+backward+repair",
  "indirection+restate+plan_then_call+repair",
];

Deno.test("indirection shows no value of the task, and none that was returned, to any model (Indirection, The Basics of LLMs and Function Calls, Adding a Level of Indirection)", async () => {
  let wrong = 0;
  await fc.assert(
    fc.asyncProperty(specs(8), fc.nat(), async (spec, seed) => {
      const task = generateTask(spec);
      for (const strategy of HIDING) {
        const seen: string[] = [];
        const mistakes = "stale=.2&early=.2&distract=.3&arity=.1&copy=.1";
        const model = inProcess(`sim:noisy?${mistakes}&seed=${seed}`, ({ messages, tools }) => {
          seen.push(JSON.stringify([messages, tools]));
        });
        const trial = await runTrial(planned(strategy, model.name, spec), model);
        const returned = callsOf(trial.events).flatMap((one) => one.returned ?? []);
        wrong += returned.filter((one) => one.value !== task.values.get(one.variable)).length;
        const values = new Set([...task.values.values(), ...returned.map(({ value }) => value)]);
        for (const [number] of seen.join().matchAll(/(?<![\w.])\d+(?![\w.])/g)) {
          assert(!values.has(Number(number)), `${strategy}: ${number} was shown`);
        }
        assert(seen.length > 0);
      }
    }),
    { numRuns: 20 },
  );
  assert(wrong > 50, `only ${wrong} wrong values were hidden`);
});

Deno.test("indirection hides given numbers in every user message, and nothing else", async () => {
  const messages: Message[] = [
    { role: "system", content: "given = 731" },
    {
      role: "user",
      content: "given = 731, also = 205; given = 7310, given = 732, also=205, x = 731",
    },
    { role: "assistant", content: "Fine.", calls: [] },
    { role: "user", content: "forgiven = 731 and **given = 731**" },
  ];
  const { requests } = await work("indirection", [{}], { messages });
  assertEquals(said(requests[0]!.messages), [
    ["system", "given = 731"],
    [
      "user",
      "given = @given, also = @also; given = 7310, given = 732, also=205, x = 731",
    ],
    ["assistant", "Fine."],
    ["user", explained("forgiven = 731 and **given = @given**")],
  ]);
});

// Names

Deno.test("indirection classifies failures by the values that are meant", async () => {
  const [, mixed, early, missing] = await outcomesOf([
    [SRC],
    [call("func_src", { given: "@a", result: "@c" })],
    [call("func_tgt", { one: "@a", two: "@a", result: "@d" })],
    [call("func_tgt", { one: "@a", result: "@e" })],
  ]);
  assertEquals(mixed!.failure, "incorrect_value");
  assertEquals(mixed!.detail, {
    arguments: [{
      parameter: "given",
      variable: "given",
      given: 111,
      origin: "other_variable",
      originVariable: "alpha",
    }],
  });
  assertEquals(mixed!.result, "@c", "a wrong return has a name too");
  assertEquals(early!.failure, "value_not_yet_known");
  assertEquals(missing!.failure, "wrong_number_of_inputs");
  assertEquals(missing!.detail, {
    missing: ["two"],
    unexpected: [],
    wrongType: [],
    malformed: false,
  });
  assertEquals(missing!.resolved, '{"one":111}');
});

Deno.test("indirection refuses calls that do not name their result, or not well", async () => {
  const table: [given: JsonObject | string, missing: string[], wrongType: string[]][] = [
    [{ given: "@given" }, ["result"], []],
    [{ given: "@given", result: "a" }, [], ["result"]],
    [{ given: "@given", result: "@given" }, [], ["result"]],
    [{ given: "@nix", result: "@a" }, [], ["given"]],
    [{ given: "@a", result: "@a" }, [], ["given"]],
    [{ given: "@nix", result: "nix" }, [], ["result", "given"]],
  ];
  for (const [given, missing, wrongType] of table) {
    const [first, second] = await outcomesOf([[call("func_src", given)], [SRC]]);
    const { returned, resolved, failure, detail } = first!;
    assertEquals(returned, undefined);
    // What is known of what was meant is kept, to be compared with the right call.
    const meant = typeof given === "string" ? given : given["given"];
    assertEquals(resolved, JSON.stringify({ given: meant === "@given" ? 731 : meant }));
    assertEquals(failure, "wrong_number_of_inputs");
    assertEquals<unknown>(detail, { missing, unexpected: [], wrongType, malformed: false });
    assertEquals(second!.returned, 111, "what was refused took no name");
  }
  const [broken] = await outcomesOf([[call("func_src", "{")]]);
  assertEquals(broken!.detail, { missing: [], unexpected: [], wrongType: [], malformed: true });
});

Deno.test("indirection does not let calls of one reply use each other's names", async () => {
  const outcomes = await outcomesOf([[SRC, OTH, TGT], [{ ...TGT }]]);
  assertEquals(outcomes.map(({ failure }) => failure), [
    undefined,
    undefined,
    "wrong_number_of_inputs",
    undefined,
  ]);
  assertStringIncludes(outcomes[2]!.result, "There is no value named @a, @b, as in one, two");
  assertEquals(outcomes[3]!.returned, 444);
});

Deno.test("indirection frees a name whose call was refused", async () => {
  const refused = call("func_tgt", { one: "@given", result: "@a" });
  const outcomes = await outcomesOf([[refused], [refused], [SRC], [SRC]]);
  assertEquals(outcomes.map(({ failure }) => failure), [
    "wrong_number_of_inputs",
    "wrong_number_of_inputs",
    undefined,
    "wrong_number_of_inputs",
  ]);
  const [, second] = await outcomesOf([[refused, SRC]]);
  assertEquals(second!.failure, undefined, "in the same reply too");
});

Deno.test("indirection finds another parameter for the result where result is taken", async () => {
  const rename = (one: string) => one === "also" ? "result" : one;
  const task: Task = {
    ...TASK,
    functions: TASK.functions.map((made) => ({
      ...made,
      parameters: made.parameters.map((own) => ({ ...own, name: rename(own.name) })),
    })),
    tools: TASK.tools.map((tool) => ({
      ...tool,
      parameters: JSON.parse(JSON.stringify(tool.parameters).replaceAll('"also"', '"result"')),
    })),
  };
  const done = await work("indirection", [
    { calls: [call("func_oth", { result: "@also", result_name: "@b" })] },
    { calls: [SRC] },
    { text: "Done." },
  ], { task });
  assertEquals(done.calls.map(({ returned }) => returned?.value), [222, 111]);
  assertEquals(
    done.requests[0]!.messages[0]!.content,
    explained(HIDDEN, "the parameter result or result_name"),
  );
});

// Looking at values

const LOOK = (name: unknown) => call("dereference", { name } as JsonObject);

Deno.test("indirection offers no way to look at values unless it is told to", async () => {
  const done = await work("indirection", [{ calls: [LOOK("@given")] }, { text: "Done." }]);
  assertEquals(done.calls.map(({ failure, result }) => [failure?.type, result]), [
    ["function_not_found", '{"error":"There is no function dereference"}'],
  ]);
  assert(!JSON.stringify(done.requests).includes("731"));
});

Deno.test("indirection lets a model look at values where it is told to, each look a call (Indirection, Adding a Level of Indirection)", async () => {
  const done = await work("indirection", [
    { calls: [SRC, LOOK("@a")] },
    { calls: [LOOK("@a"), LOOK("given")] },
    { text: "alpha is 111" },
  ], { set: { dereference: true } });
  const { tools } = done.requests[0]!;
  assertEquals(tools.length, TASK.tools.length + 1);
  const { name, parameters } = tools.at(-1)!;
  assertEquals([name, parameters["required"]], ["dereference", ["name"]]);
  const [, early, look, bare] = done.calls;
  assertStringIncludes(early!.result, "There is no value named", "@a is not known in this reply");
  assertEquals([look!.result, bare!.result], ["111", "731"]);
  assertEquals(done.calls.map(({ call, step }) => [call, step]), [[1, 1], [2, 1], [3, 2], [4, 2]]);
  assertEquals(look, {
    kind: "call",
    call: 3,
    step: 2,
    function: "dereference",
    arguments: '{"name":"@a"}',
    result: "111",
  });
  assertEquals(done.ending, { kind: "answer", text: "alpha is 111" });
});

Deno.test("indirection refuses to look at what has no name, without a failure of the call", async () => {
  const looks = ["@nix", "", "@", 7, null, "@given @also", "__proto__"].map(LOOK);
  const done = await work("indirection", [
    { calls: [...looks, call("dereference", "{"), call("dereference", {})] },
    { text: "Done." },
  ], { set: { dereference: true } });
  assertEquals(done.calls.length, 9);
  for (const { result, failure } of done.calls) {
    assertEquals(failure, undefined);
    assertMatch(JSON.parse(result).error, /^There is no value named .*Known names: @given, @also$/);
  }
});

Deno.test("indirection looks at values under another name where a function has its name", async () => {
  const task = {
    ...TASK,
    functions: TASK.functions.map((made) =>
      made.name === "func_src" ? { ...made, name: "dereference" } : made
    ),
    tools: TASK.tools.map((tool) =>
      tool.name === "func_src" ? { ...tool, name: "dereference" } : tool
    ),
  };
  const done = await work("indirection", [
    { calls: [{ ...SRC, name: "dereference" }] },
    { calls: [call("dereference_2", { name: "@a" })] },
    { text: "Done." },
  ], { task, set: { dereference: true } });
  assertEquals(done.calls.map(({ result }) => result), ["@a", "111"]);
});

// With other strategies

Deno.test("indirection has restate list names, never values", async () => {
  for (const strategy of ["restate+indirection", "indirection+restate"]) {
    const wrong = call("func_src", { given: "@also", result: "@c" });
    const done = await work(strategy, [
      { calls: [SRC] },
      { calls: [wrong, call("func_nix", {})] },
      { text: "Done." },
    ]);
    const known = (alpha: string) =>
      JSON.stringify({ known_variables: { given: "@given", also: "@also", alpha } });
    assertEquals(done.calls.map(({ result }) => result), [
      `@a\n${known("@a")}`,
      // The last return wins, a wrong one too.
      `@c\n${known("@c")}`,
      JSON.stringify({ error: "There is no function func_nix", ...JSON.parse(known("@c")) }),
    ]);
  }
});

Deno.test("indirection uses a text of the user's own", async () => {
  const prompts = { indirection: { use: "Names! {question}" } };
  const { requests } = await work("indirection", [{}], { set: { prompts } });
  assertEquals(said(requests[0]!.messages), [["user", `Names! ${HIDDEN}`]]);
});

Deno.test("indirection hides what a message gives, whole or not at all", () => {
  const given = new Map<string, JsonValue>([["n", 731], ["x", 1.5], ["city", "Paris (FR)"], [
    "e",
    "",
  ]]);
  const table: [string, string][] = [
    ["n = 731.", "n = @n."],
    ["n = 731.5", "n = 731.5"],
    ["n = 7310, xn = 731", "n = 7310, xn = 731"],
    ["x = 1.5, then", "x = @x, then"],
    ["x = 1.50", "x = @x"],
    ["city = Paris (FR)!", "city = @city!"],
    ['city = "Paris (FR)"', "city = @city"],
    ["city = Paris", "city = Paris"],
    ["e = ", "e = "],
  ];
  for (const [said, hidden] of table) {
    assertEquals(explainNames(said, { tools: [], given }, "{question}"), hidden);
  }
});

Deno.test("indirection gives a name to the first of several calls of one reply", async () => {
  const [first, second, third] = await outcomesOf([
    [SRC, call("func_oth", { also: "@also", result: "@a" })],
    [call("func_con", { con: "@a", result: "@c" })],
  ]);
  assertEquals([first!.returned, third!.returned], [111, 333]);
  assertEquals(
    [second!.failure, (second!.detail as unknown as { wrongType: string[] }).wrongType],
    ["wrong_number_of_inputs", ["result"]],
  );
});
