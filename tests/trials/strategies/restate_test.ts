import { assert, assertEquals } from "@std/assert";
import type { JsonValue } from "../../../lib/base/json.ts";
import { withKnownVariables } from "../../../lib/trials/strategies/restate.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import type { ToolCall } from "../../../lib/tools/tool.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import fc from "../../support/fast_check.ts";
import { specs } from "../../support/generated.ts";
import { call, OTH, SRC, TGT } from "../../support/handmade.ts";
import { inProcess } from "../../support/in_process.ts";
import { eventsOf, planned, resultsSeen, work } from "../../support/strategy_runs.ts";

const INPUTS = { given: 731, also: 205 };

type Result = Readonly<Record<string, JsonValue>>;

/** Lets a script work on the task made by hand; gives the results that went back, step by step. */
async function resultsOf(...replies: ToolCall[][]): Promise<Result[][]> {
  const done = await work("restate", [...replies.map((calls) => ({ calls })), {}]);
  const { calls } = done;
  assertEquals(
    calls.map(({ result }) => result),
    resultsSeen(done),
    "the trace keeps what went back",
  );
  return replies.map((_, place) =>
    calls.filter(({ step }) => step === place + 1).map(({ result }) => JSON.parse(result))
  );
}

Deno.test("restate lists inputs and returns beside what the function itself returned (FuncBenchGen 4.6.1)", async () => {
  assertEquals(await resultsOf([SRC], [OTH], [TGT]), [
    [{ alpha: 111, known_variables: { ...INPUTS, alpha: 111 } }],
    [{ beta: 222, known_variables: { ...INPUTS, alpha: 111, beta: 222 } }],
    [{ omega: 444, known_variables: { ...INPUTS, alpha: 111, beta: 222, omega: 444 } }],
  ]);
});

Deno.test("restated() keeps names of Object.prototype apart, and texts that are no object", () => {
  const known = new Map([["__proto__", 1], ["toString", 2]]);
  const list = '"known_variables":{"__proto__":1,"toString":2}';
  assertEquals(withKnownVariables('{"__proto__":1}', known), `{"__proto__":1,${list}}`);
  for (const text of ["", "fine", "[1]", "null", "7", '{"a":1']) {
    assertEquals(withKnownVariables(text, known), `${text}\n{${list}}`);
  }
});

Deno.test("restate lists each known variable exactly, on tasks of every shape (FuncBenchGen 4.6.1)", async () => {
  const name = "sim:noisy?hallucinate=.1&arity=.1&stale=.2&early=.2&distract=.4&seed=";
  let wrong = 0;
  let parallel = 0;
  await fc.assertAll(
    fc.asyncProperty(specs(12), fc.nat(), async (task, seed) => {
      const sent: string[] = [];
      const model = inProcess(`${name}${seed}`, ({ messages }) => {
        const results = messages.filter((message) => message.role === "tool");
        sent.push(...results.slice(sent.length).map(({ content }) => content));
      });
      const { events } = await runTrial(planned("restate", model.name, task), model);
      const calls = callsOf(events);
      assertEquals(sent, calls.slice(0, sent.length).map(({ result }) => result));
      const known = new Map(generateTask(task).inputs);
      for (const step of Map.groupBy(calls, (call) => call.step).values()) {
        for (const { returned } of step) {
          if (returned !== undefined) known.set(returned.variable, returned.value);
        }
        if (step.length > 1) parallel++;
        for (const { result, returned, failure } of step) {
          const { known_variables, ...own } = JSON.parse(result);
          assertEquals(known_variables, Object.fromEntries(known));
          if (returned === undefined) assertEquals(Object.keys(own), ["error"]);
          else assertEquals(own, { [returned.variable]: returned.value });
          if (returned !== undefined && failure !== undefined) wrong++;
        }
      }
    }),
    { numRuns: 40 },
  );
  assert(wrong > 50 && parallel > 50, `${wrong} wrong returns, ${parallel} steps of several calls`);
});

Deno.test("restate changes nothing that a model sees but the contents of results", async () => {
  const clumsy = [
    { calls: [call("func_nix", {}), SRC, { ...SRC, arguments: "{" }] },
    { text: "Hm.", calls: [TGT] },
    { text: "It is 7." },
  ];
  const asked = async (strategy: string) => {
    const { requests } = await work(strategy, clumsy);
    return requests.map(({ messages, ...rest }) => ({
      ...rest,
      messages: messages.map((message) =>
        message.role === "tool" ? { ...message, content: "" } : message
      ),
    }));
  };
  assertEquals(await asked("restate"), await asked("plain"));
});

Deno.test("restate says nothing to calls past the limit", async () => {
  const done = await work("restate", [{ calls: [SRC, OTH] }], { limits: { calls: 1 } });
  assertEquals(done.calls.length, 1);
  assertEquals(eventsOf(done, "over_limit"), [
    { kind: "over_limit", function: "func_oth", limit: 1 },
  ]);
  assertEquals(done.ending.kind, "call_limit");
});

Deno.test("restate lists what is known behind whatever else is written", async () => {
  const done = await work("restate", [{ calls: [SRC, OTH] }, {}], {
    around: { write: (answered) => answered.map(({ call: { name } }) => `by ${name}`) },
  });
  const list = JSON.stringify({ known_variables: { ...INPUTS, alpha: 111, beta: 222 } });
  assertEquals(resultsSeen(done), [`by func_src\n${list}`, `by func_oth\n${list}`]);
});

Deno.test("restated() keeps every digit and every key of what was returned", () => {
  const known = new Map([["a", 1]]);
  const list = '"known_variables":{"a":1}';
  const table: [string, string][] = [
    ['{"id":1234567890123456789}', `{"id":1234567890123456789,${list}}`],
    ['{ "x": 1.50 } ', `{ "x": 1.50,${list}}`],
    ["{}", `{${list}}`],
    ['{"known_variables":"own"}', `{"known_variables":"own"}\n{${list}}`],
    ["[1]", `[1]\n{${list}}`],
  ];
  for (const [content, expected] of table) {
    assertEquals(withKnownVariables(content, known), expected);
  }
});
