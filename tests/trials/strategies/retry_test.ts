import { assertEquals } from "@std/assert";
import { runLoop } from "../../../lib/trials/agent/loop.ts";
import { Session } from "../../../lib/trials/agent/session.ts";
import { Toolbox } from "../../../lib/trials/executors/toolbox.ts";
import { retryBy } from "../../../lib/trials/strategies/replacing.ts";
import { recoveryOf } from "../../../lib/calls/recovery.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { rightArguments } from "../../support/generated.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const SPEC = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const [ONLY] = TASK.functions;
const CALL = { name: ONLY!.name, arguments: rightArguments(TASK, ONLY!) };
const ANSWER = { text: `${TASK.target.variable} = ${TASK.target.value}` };

/** A trial of a model that makes one call and then answers, with the results that it saw. */
async function once(perturbation: string, limits = { calls: 9 }) {
  const seen: Message[][] = [];
  const model = scripted("once", ({ messages }) => {
    seen.push([...messages]);
    return seen.length === 1 ? { calls: [CALL] } : ANSWER;
  });
  const trial = await runTrial(SPEC, model, {
    perturbation,
    limits,
    strategy: { strategy: "retry" },
  });
  const results = seen.at(-1)!.flatMap((message) =>
    message.role === "tool" ? [message.content] : []
  );
  const calls = callsOf(trial.events);
  return { trial, results, by: calls.map((call) => call.by ?? "model"), calls };
}

const RESULT = JSON.stringify({ [TASK.target.variable]: TASK.target.value });

Deno.test("retry makes a call again after rate limits and timeouts, three times and without the model (Pipeline, Error Handling and Retry Logic)", async () => {
  for (const fault of ["rate_limit", "timeout"] as const) {
    for (const times of [1, 2, 3]) {
      const { trial, results, by, calls } = await once(`${fault}:${times}`);
      assertEquals(results, [RESULT], "the model sees the result alone");
      assertEquals(by, ["model", ...new Array(times).fill("retry")]);
      assertEquals(calls.map((call) => call.fault), [...new Array(times).fill(fault), undefined]);
      assertEquals(new Set(calls.map(({ step }) => step)), new Set([1]));
      assertEquals([trial.outcome, trial.grounded, trial.calls], ["solved", true, times + 1]);
      assertEquals(recoveryOf(trial.events), [
        { fault, function: CALL.name, end: "recovered", attempts: times },
      ]);
      assertEquals(summarize(trial).work?.retried, times);
    }
    const { results, by } = await once(`${fault}:4`);
    assertEquals(by, ["model", "retry", "retry", "retry"]);
    assertEquals(Object.keys(JSON.parse(results[0]!)), ["error"], "its last error stands");
  }
});

Deno.test("retry leaves all other errors to the model, and stays within the limit of calls", async () => {
  const others = ["not_found", "gone", "permission_denied", "invalid_argument", "malformed_return"];
  for (const fault of [...others, "none", "slow"]) {
    if (fault === "gone") continue;
    assertEquals((await once(fault)).by, ["model"], fault);
  }
  const { by, trial } = await once("timeout:3", { calls: 2 });
  assertEquals([by, trial.calls, trial.outcome], [["model", "retry"], 2, "solved"]);
});

Deno.test("retry makes calls that others of their reply refer to again before those", async () => {
  const spec = { core: 4, depth: 3, connected: 0, disconnected: 0, seed: 3 };
  const task = generateTask(spec);
  const order: typeof task.functions[number][] = [];
  while (order.length < 4) {
    const done = new Set(order.map(({ name }) => name));
    order.push(
      task.functions.find((one) =>
        !done.has(one.name) && one.dependsOn.every((other) => done.has(other))
      )!,
    );
  }
  const calls = order.map(({ name, parameters }) => ({
    name,
    arguments: Object.fromEntries(parameters.map((parameter) => {
      const place = order.findIndex(({ output }) => output.name === parameter.variable);
      const reference = `$${place + 1}.${parameter.variable}`;
      return [parameter.name, place === -1 ? task.values.get(parameter.variable)! : reference];
    })),
  }));
  const answer = { text: `${task.target.variable} = ${task.target.value}` };
  const outcomes = [];
  for (const strategy of ["plain", "retry"]) {
    const trial = await runTrial(spec, scripted("nested", [{ calls }, answer]), {
      perturbation: "timeout:2",
      references: true,
      strategy: { strategy },
    });
    outcomes.push([trial.grounded, trial.events.filter(({ kind }) => kind === "reply").length]);
  }
  assertEquals(outcomes, [[false, 2], [true, 2]]);
});

Deno.test("retry waits for real tools as they ask, doubling a second otherwise, and never past the time left (Pipeline, Robust Tool Execution)", async () => {
  /** How a tool that fails with these errors ends, and the pauses. */
  const end = async (errors: readonly object[], seconds?: number) => {
    using clock = new VirtualClock();
    let calls = 0;
    const tool: Tool = {
      name: "weather",
      description: "Tells the weather",
      parameters: { type: "object", properties: {} },
      execute: () => {
        const error = errors[calls++];
        return error === undefined ? Promise.resolve("Rain") : Promise.reject(error);
      },
    };
    using environment = new Toolbox([tool], { clock });
    const results: string[] = [];
    const model = scripted("caller", ({ messages }) => {
      results.push(...messages.flatMap((one) => one.role === "tool" ? [one.content] : []));
      return messages.length === 1
        ? { calls: [{ name: "weather", arguments: {} }] }
        : { text: "!" };
    });
    const session = new Session({
      model,
      context: { trial: "1", repetition: 1 },
      record: () => {},
      ...(seconds === undefined ? {} : { limits: { seconds } }),
    });
    const messages = [{ role: "user", content: "And?" } as const];
    await retryBy(clock)({ session, environment, messages }, runLoop, {} as never);
    return [results[0], ...clock.pauses];
  };
  const busy = (headers: Record<string, string> = {}) =>
    Object.assign(new Error("Try later"), { status: 429, headers: new Headers(headers) });
  assertEquals(await end([busy(), busy(), busy()]), ["Rain", 1000, 2000, 4000]);
  assertEquals(await end([busy({ "retry-after": "7" })]), ["Rain", 7000]);
  const tooLate = { "retry-after": "61" };
  assertEquals(await end([busy(tooLate)]), ['{"error":"Try later"}'], "for longer than a minute");
  assertEquals(await end([busy({ "retry-after": "7" })], 5), ['{"error":"Try later"}']);
  // It may have had an effect.
  assertEquals(await end([new Error("It broke")]), ['{"error":"It broke"}']);
});
