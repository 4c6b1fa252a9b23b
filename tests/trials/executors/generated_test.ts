// Runs without counters of lines.

import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  createExecutor,
  type GeneratedTaskExecutor,
} from "../../../lib/trials/executors/generated.ts";
import { FAILURE_TYPES, FAILURES, type WrongArgument } from "../../../lib/calls/failure_types.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import { generateTask, type Task } from "../../../lib/tasks/graphs/task.ts";
import type { TaskFunction } from "../../../lib/tasks/graphs/wording.ts";
import type { Tool, ToolCall } from "../../../lib/tools/tool.ts";
import { callsOf, failuresOf } from "../../../lib/calls/trace.ts";
import fc from "../../support/fast_check.ts";
import { coreInOrder, specs } from "../../support/generated.ts";
import { call, lastCall, lastValue, OTH, SRC, TASK, TGT } from "../../support/handmade.ts";

function patient(task: Task = TASK): GeneratedTaskExecutor {
  return createExecutor(task, { callLimit: 10_000 });
}

function tool(executor: GeneratedTaskExecutor, name: string): Tool {
  return executor.tools.find((tool) => tool.name === name)!;
}

/** Runs the steps and gives what the last call made of it. */
async function after(...steps: ToolCall[][]) {
  const executor = patient();
  for (const calls of steps) await executor.execute(calls);
  return lastCall(executor);
}

function wrongArguments(failure: unknown): readonly WrongArgument[] {
  return (failure as { detail: { arguments: WrongArgument[] } }).detail.arguments;
}

// What is returned

Deno.test("execute() answers in order, with the calls' ids and names, as JSON (Indirection, How Function Calls Work)", async () => {
  const executor = patient();
  assertEquals(await executor.execute([OTH, SRC]), [
    { callId: "id of func_oth", name: "func_oth", content: '{"beta":222}' },
    { callId: "id of func_src", name: "func_src", content: '{"alpha":111}' },
  ]);
  assertEquals((await executor.execute([TGT]))[0]!.content, '{"omega":444}');
  assertEquals(callsOf(executor.events).map(({ call, step }) => [call, step]), [
    [1, 1],
    [2, 1],
    [3, 2],
  ]);
  assertEquals(failuresOf(executor.events), []);
  assertEquals(executor.calls, 3);
});

Deno.test("execute() records a right call whole", async () => {
  assertEquals(await after([SRC]), {
    kind: "call",
    call: 1,
    step: 1,
    function: "func_src",
    role: "core",
    arguments: '{"given":731}',
    result: '{"alpha":111}',
    returned: { variable: "alpha", value: 111 },
  });
});

Deno.test("execute() lets a connected function that is called rightly return its true value (FuncBenchGen 3.4)", async () => {
  const event = await after([SRC], [call("func_con", { con: 111 })]);
  assertEquals(event.returned, { variable: "gamma", value: 333 });
  assertEquals(event.failure, undefined);
  assertEquals(event.role, "connected");
});

Deno.test("execute() returns an own wrong value for each function and for each argument (FuncBenchGen 3.4)", async () => {
  const values = new Set<number>();
  for (let given = 0; given < 60; given++) {
    values.add((await after([call("func_src", { given })])).returned!.value);
    values.add((await after([call("func_oth", { also: given })])).returned!.value);
  }
  // 120 draws from 892 numbers are all alike in no more than a few cases.
  assert(values.size > 95, String(values.size));
});

Deno.test("execute() returns wrong values that depend on the task", async () => {
  const other: Task = { ...TASK, spec: { ...TASK.spec, seed: 6 } };
  const wrong = call("func_src", { given: 1 });
  const values = await Promise.all([TASK, other].map(async (task) => {
    const executor = patient(task);
    await executor.execute([wrong]);
    return lastValue(executor);
  }));
  assertNotEquals(values[0], values[1]);
});

Deno.test("execute() returns the same wrong value at any time and for any order of the keys (FuncBenchGen 3.4)", async () => {
  const wrong = (await after([call("func_tgt", '{"one":1,"two":2}')])).returned;
  for (const text of ['{"two":2,"one":1}', ' { "one" : 1.0, "two" : "2" } ']) {
    assertEquals((await after([SRC, OTH], [TGT], [call("func_tgt", text)])).returned, wrong);
  }
  assertNotEquals((await after([call("func_tgt", '{"one":2,"two":1}')])).returned, wrong);
});

Deno.test("execute() returns wrong values with as many digits as the true one, and none of the core's (FuncBenchGen 3.4)", async () => {
  await fc.assert(fc.asyncProperty(
    specs(20),
    fc.array(fc.maxSafeInteger(), { minLength: 100, maxLength: 100 }),
    async (spec, numbers) => {
      const task = generateTask(spec);
      const executor = patient(task);
      const taken = new Set(task.inputs.values());
      for (const { role, output } of task.functions) {
        if (role === "core") taken.add(task.values.get(output.name)!);
      }
      for (const made of task.functions) {
        const written = made.parameters.map(({ name }, place) => [name, numbers[place % 100]!]);
        await executor.execute([call(made.name, Object.fromEntries(written))]);
        const { failure, returned } = lastCall(executor);
        if (failure === undefined) continue;
        assertEquals(returned!.variable, made.output.name);
        assert(Number.isInteger(returned!.value));
        const truth = task.values.get(made.output.name)!;
        assertEquals(String(returned!.value).length, String(truth).length);
        assertNotEquals(returned!.value, truth);
        assert(!taken.has(returned!.value));
      }
    },
  ));
});

Deno.test("execute() never returns the true value for wrong arguments, were all numbers taken (FuncBenchGen 3.4)", async () => {
  const values = new Map(Array.from({ length: 900 }, (_, index) => [`v${index}`, 100 + index]));
  const full: Task = { ...TASK, values: new Map([...values, ...TASK.values]) };
  const executor = patient(full);
  for (let given = 0; given < 3000; given++) {
    await executor.execute([call("func_src", { given })]);
    if (given === 731) continue;
    assertNotEquals(lastValue(executor), 111);
    assert(lastValue(executor) >= 100 && lastValue(executor) <= 999);
  }
});

// The four predicates, in their order

Deno.test("execute() refuses an unknown function and tells the nearest name (FuncBenchGen 4.6)", async () => {
  const event = await after([call("func_sr", "no JSON, for that matter")]);
  assertEquals(event.failure, {
    type: "function_not_found",
    detail: { nearest: "func_src" },
    root: true,
  });
  assertEquals(event.returned, undefined);
  assertEquals(event.role, undefined);
  assertEquals(typeof JSON.parse(event.result).error, "string");
});

Deno.test("execute() marks whole numbers written as text, and takes them", async () => {
  const event = await after([call("func_src", { given: "731" })]);
  assertEquals(event.coerced, ["given"]);
  assertEquals(event.failure, undefined);
  assertEquals(event.returned!.value, 111);
  assertEquals(event.arguments, '{"given":"731"}');
  const wrong = await after([call("func_src", { given: "1" })]);
  assertEquals(wrong.coerced, ["given"]);
  assertEquals(wrong.failure?.type, "incorrect_value");
});

// Steps

Deno.test("Tool.execute() shares a step among calls that an async agent begins in turns", async () => {
  const executor = patient();
  const later = async (turns: number, name: string, input: JsonObject) => {
    for (let turn = 0; turn < turns; turn++) await null;
    return await tool(executor, name).execute(input);
  };
  await Promise.all([
    later(1, "func_src", { given: 731 }),
    later(40, "func_con", { con: 111 }),
  ]);
  assertEquals(callsOf(executor.events).map(({ step }) => step), [1, 1]);
  assertEquals(lastCall(executor).guessed, true);
});

Deno.test("Tool.execute() counts steps on after a call that could not be recorded", async () => {
  const executor = patient();
  const bad = { given: 1n } as unknown as JsonObject;
  await tool(executor, "func_src").execute(bad).catch(() => {});
  await tool(executor, "func_src").execute({ given: 731 });
  await tool(executor, "func_oth").execute({ also: 205 });
  await tool(executor, "func_tgt").execute({ one: 111, two: 222 });
  assertEquals(lastCall(executor).guessed, undefined);
});

// Where a wrong value came from, and whether that was the first mistake

Deno.test("execute() tells the variable that a wrong value belongs to", async () => {
  const event = await after([SRC, OTH], [call("func_tgt", { one: 222, two: 731 })]);
  assertEquals(
    wrongArguments(event.failure).map(({ origin, originVariable }) => [origin, originVariable]),
    [["other_variable", "beta"], ["other_variable", "given"]],
  );
  assertEquals(event.failure?.root, true);
});

Deno.test("execute() calls a value that nobody has returned yet fabricated", async () => {
  const swapped = call("func_tgt", { one: 222, two: 111 });
  for (const steps of [[[swapped]], [[SRC, OTH, swapped]]]) {
    const event = await after(...steps);
    assertEquals(wrongArguments(event.failure).map(({ origin }) => origin), [
      "fabricated",
      "fabricated",
    ]);
    assertEquals(event.failure?.root, true);
  }
});

Deno.test("execute() tells the producer's call if two calls returned a wrong value", async () => {
  // Two functions that return the same wrong value, found by trial.
  const seen = new Map<number, number>();
  for (let given = 1000; given < 1300; given++) {
    seen.set((await after([call("func_src", { given })])).returned!.value, given);
  }
  for (let also = 1000; also < 1300; also++) {
    const other = call("func_oth", { also });
    const value = (await after([other])).returned!.value;
    const given = seen.get(value);
    if (given === undefined) continue;
    const both = [other, call("func_src", { given })];
    const con = await after(both, [call("func_con", { con: value })]);
    assertEquals(wrongArguments(con.failure)[0]!.originCall, 2);
    const tgt = await after(both, [call("func_tgt", { one: value, two: value })]);
    assertEquals(wrongArguments(tgt.failure).map(({ originCall }) => originCall), [2, 1]);
    return;
  }
  throw new Error("no two functions returned the same wrong value");
});

// Limits

Deno.test("execute() answers twice as many calls as are needed, and no more (FuncBenchGen 4.1)", async () => {
  const executor = createExecutor(TASK);
  assertEquals(executor.callLimit, 6);
  const calls = [call("nobody", "{}"), call("func_src", "["), SRC, OTH, TGT, SRC];
  for (const each of calls) await executor.execute([each]);
  assertEquals(executor.calls, 6);
  assertEquals(executor.exhausted, false);
  assertEquals(lastCall(executor).result, '{"alpha":111}');

  const [result] = await executor.execute([OTH]);
  assertEquals(Object.keys(JSON.parse(result!.content)), ["error"]);
  assertEquals(executor.exhausted, true);
  assertEquals(executor.calls, 6);
  assertEquals(executor.events.at(-1), { kind: "over_limit", function: "func_oth", limit: 6 });
  assertEquals(executor.answer("omega = 444"), { outcome: "call_limit", grounded: false });
});

// Answers

Deno.test("answer() tells whether the target function had returned the answer", async () => {
  const wrong = call("func_tgt", { one: 111, two: 1 });
  const value = (await after([wrong])).returned!.value;
  const table: [ToolCall[], string, string, boolean][] = [
    [[], "omega = 444", "solved", false],
    [[SRC, OTH], "omega = 444", "solved", false],
    [[TGT], "omega = 444", "solved", true],
    [[TGT, wrong], "omega = 444", "solved", true],
    [[wrong], "omega = 444", "solved", false],
    [[wrong], `omega = ${value}`, "wrong_answer", true],
    [[TGT], "omega = 445", "wrong_answer", false],
    [[SRC], "omega = 111", "wrong_answer", false],
    [[TGT], "I cannot tell.", "no_answer", false],
    [[TGT], "", "no_answer", false],
  ];
  for (const [calls, text, outcome, grounded] of table) {
    const executor = patient();
    await executor.execute(calls);
    assertEquals<unknown>(executor.answer(text), { outcome, grounded }, text);
    const shown = /\d+/.exec(text);
    assertEquals(executor.events.at(-1), {
      kind: "answer",
      text,
      value: shown === null ? null : Number(shown[0]),
    });
  }
});

Deno.test("answer() ends the trial", async () => {
  const executor = patient();
  executor.answer("omega = 444");
  const rule = "the trial is over";
  assertThrows(() => executor.answer("omega = 444"), Error, rule);
  assertThrows(
    () => executor.record({ kind: "stop", reason: "invalid", message: "" }),
    Error,
    rule,
  );
  // A call that an agent left behind must not become a rejection that nobody awaits.
  assertStringIncludes(await tool(executor, "func_src").execute({ given: 731 }), "error");
  assertEquals(executor.events.length, 1);
  assertEquals(executor.calls, 0);
});

Deno.test("execute() rejects, and does not throw, when the trial is over", async () => {
  const executor = patient();
  executor.answer("omega = 444");
  await assertRejects(() => executor.execute([SRC]), Error, "the trial is over");
});

// Hostile calls

Deno.test("execute() survives huge names and arguments, and does not keep them", async () => {
  const huge = "x".repeat(1_000_000);
  const calls = [
    call(huge, "{}"),
    call("func_src", huge),
    call("func_src", { [huge]: 1 }),
    call("func_src", `{"given":"${huge}"}`),
    call("func_src", `{"given":${"9".repeat(100_000)}}`),
    call("func_src", "[".repeat(1_000_000)),
    call("func_src", '{"given":'.repeat(100_000)),
  ];
  for (const hostile of calls) {
    const event = await after([hostile]);
    assert(JSON.stringify(event).length < 50_000);
    assert(FAILURE_TYPES.indexOf(event.failure!.type) < 2);
  }
});

Deno.test("execute() shows no control characters of a name", async () => {
  const event = await after([call("func\u001b[31m\n\u202e", "{}")]);
  const { error } = JSON.parse(event.result);
  for (const control of ["\u001b", "\n", "\u202e"]) assert(!error.includes(control));
});

// Properties over generated tasks

Deno.test("execute() lets a perfect caller solve every task in as many calls as it has core (FuncBenchGen 3.1, 4.1)", async () => {
  await fc.assert(fc.asyncProperty(specs(30), fc.boolean(), async (spec, throughTools) => {
    const task = generateTask(spec);
    using executor = createExecutor(task);
    const known = new Map(task.inputs);
    for (const made of coreInOrder(task)) {
      const written = Object.fromEntries(
        made.parameters.map(({ name, variable }) => [name, known.get(variable)!]),
      );
      const content = throughTools && spec.core < 5
        ? await tool(executor, made.name).execute(written)
        : (await executor.execute([call(made.name, written)]))[0]!.content;
      for (const [name, value] of Object.entries(JSON.parse(content))) {
        known.set(name, value as number);
      }
    }
    assertEquals(executor.calls, spec.core);
    assertEquals(failuresOf(executor.events), []);
    assertEquals(callsOf(executor.events).filter(({ guessed }) => guessed), []);
    const answer = `${task.target.variable} = ${known.get(task.target.variable)}`;
    assertEquals(executor.answer(answer), { outcome: "solved", grounded: true });
  }));
});

/** A second opinion on every call: slow, plain, and from the design alone. */
function assertJudged(task: Task, executor: GeneratedTaskExecutor): void {
  const calls = callsOf(executor.events);
  for (const event of calls) {
    const made = task.functions.find(({ name }) => name === event.function);
    const type = event.failure?.type;
    assertEquals(
      event.returned === undefined,
      type === FAILURE_TYPES[0] || type === FAILURE_TYPES[1],
    );
    if (made === undefined) {
      assertEquals(type, "function_not_found");
      continue;
    }
    let written: unknown;
    try {
      written = JSON.parse(event.arguments);
    } catch {
      written = undefined;
    }
    const keys = Object.keys(written ?? {}).toSorted();
    const names = made.parameters.map(({ name }) => name).toSorted();
    const plain = typeof written === "object" && written !== null && !Array.isArray(written);
    const whole = (value: unknown) =>
      Number.isSafeInteger(value) ||
      typeof value === "string" && String(Number(value)) === value &&
        Number.isSafeInteger(Number(value));
    const given = (written ?? {}) as Record<string, unknown>;
    if (!plain || keys.join() !== names.join() || !names.every((name) => whole(given[name]))) {
      assertEquals(type, "wrong_number_of_inputs");
      assertEquals(event.failure!.root, true);
      continue;
    }
    const before = calls.filter(({ step }) => step < event.step);
    const established = (variable: string) =>
      task.inputs.has(variable) || before.some((it) => it.returned?.variable === variable);
    const wrong = made.parameters.filter(({ name, variable }) =>
      Number(given[name]) !== task.values.get(variable)
    );
    if (wrong.length === 0) {
      assertEquals(type, undefined);
      assertEquals(event.returned!.value, task.values.get(made.output.name));
      assertEquals(
        event.guessed === true,
        made.parameters.some(({ variable }) => !established(variable)),
      );
      continue;
    }
    assertEquals(
      type,
      made.parameters.every(({ variable }) => established(variable))
        ? "incorrect_value"
        : "value_not_yet_known",
    );
    assertNotEquals(event.returned!.value, task.values.get(made.output.name));
    const spoiled = (value: number) =>
      before.some((it) => it.failure !== undefined && it.returned?.value === value);
    assertEquals(
      wrongArguments(event.failure).map(({ parameter, origin }) => [
        parameter,
        origin === "wrong_return",
      ]),
      wrong.map(({ name }) => [name, spoiled(Number(given[name]))]),
    );
    assertEquals(event.failure!.root, !wrong.every(({ name }) => spoiled(Number(given[name]))));
  }
}

Deno.test("execute() classifies every call by exactly one type, and as a second opinion does (FuncBenchGen 4.6)", async () => {
  /** What a caller does: which function, which way to fill in the arguments, a new step or not. */
  const deed = fc.record({
    place: fc.nat(),
    manner: fc.constantFrom("right", "seen", "seen", "random", "text", "partial", "junk", "name"),
    numbers: fc.array(fc.oneof(fc.integer(), fc.nat()), { minLength: 8, maxLength: 8 }),
    junk: fc.oneof(fc.json(), fc.string(), fc.constantFrom("", "null", "[]", "{}", "731", '"x"')),
    name: fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString", "func_")),
    joins: fc.boolean(),
  });
  let cascades = 0;
  let guesses = 0;
  const types = new Set<string>();
  await fc.assert(
    fc.asyncProperty(specs(8), fc.array(deed, { maxLength: 40 }), async (spec, deeds) => {
      const task = generateTask(spec);
      const executor = patient(task);
      let calls: ToolCall[] = [];
      const flush = async () => {
        const results = await executor.execute(calls);
        assertEquals(results.length, calls.length);
        for (const { content } of results) assertEquals(typeof JSON.parse(content), "object");
        calls = [];
      };
      for (const { place, manner, numbers, junk, name, joins } of deeds) {
        if (!joins) await flush();
        const made = task.functions[place % task.functions.length]!;
        const seen = [
          ...task.inputs.values(),
          ...callsOf(executor.events).flatMap(({ returned }) => returned ? [returned.value] : []),
        ];
        const filled = Object.fromEntries(made.parameters.map((parameter, index) => {
          const number = numbers[index]!;
          const right = task.values.get(parameter.variable) ?? number;
          const value = manner === "right"
            ? right
            : manner === "seen"
            ? seen[Math.abs(number) % seen.length]!
            : manner === "text"
            ? String(number % 2 === 0 ? right : number)
            : number;
          return [parameter.name, value];
        }));
        if (manner === "partial") delete filled[made.parameters[0]!.name];
        const text = manner === "junk" ? junk : JSON.stringify(filled);
        calls.push(call(manner === "name" ? name : made.name, text));
      }
      await flush();
      assertEquals(callsOf(executor.events).map((event) => event.call), deeds.map((_, i) => i + 1));
      assertJudged(task, executor);
      for (const { type, root } of failuresOf(executor.events)) {
        types.add(type);
        if (!root) cascades++;
      }
      guesses += callsOf(executor.events).filter(({ guessed }) => guessed).length;
    }),
    { numRuns: 80 },
  );
  // The property says something only if all of this has happened.
  assertEquals(types.size, FAILURE_TYPES.filter((type) => FAILURES[type].of !== "chain").length);
  assert(cascades > 0 && guesses > 0);
});

// What stands around an executor

Deno.test("views hold each core function against its best call, in whatever order calls were made", async () => {
  const task = generateTask({ core: 3, depth: 1, connected: 1, disconnected: 0, seed: 4 });
  const [one, other] = task.functions.filter(({ role, dependsOn }) =>
    role === "core" && dependsOn.length === 0
  ) as [TaskFunction, TaskFunction];
  const right = (made: TaskFunction) =>
    Object.fromEntries(
      made.parameters.map(({ name, variable }) => [name, task.values.get(variable)!]),
    );
  const [first] = one.parameters;
  const views = async (...calls: readonly (readonly [TaskFunction, Record<string, unknown>])[]) => {
    using executor = createExecutor(task, { callLimit: 20 });
    for (const [{ name }, given] of calls) {
      await executor.execute([{ id: "", name, arguments: JSON.stringify(given) }]);
    }
    return callsOf(await executor.viewed()).map(({ parameters }) =>
      [
        parameters?.oracle === null ? "routing" : "",
        ...(parameters?.failures ?? []).map(({ type }) => type),
      ].join(" ").trim()
    );
  };
  const wrong = { ...right(one), [first!.name]: 1 };
  assertEquals(await views([one, right(one)], [other, right(other)]), ["", ""]);
  assertEquals(await views([other, right(other)], [one, right(one)]), ["", ""]);
  assertEquals(await views([one, wrong], [other, right(other)]), ["task_deviation", ""]);
  // The wrong one is one too many, and nothing says what it deviates from.
  assertEquals(await views([one, wrong], [other, right(other)], [one, right(one)]), [
    "routing",
    "",
    "",
  ]);
  assertEquals(await views([one, right(one)], [one, right(one)]), ["", "routing"]);
  assertEquals(await views([one, { ...right(one), more: 1 }]), ["hallucination_name"]);
  assertEquals(await views([one, {}]), ["missing_information"]);
  // The executor takes a whole number that is written as text; the schema does not.
  const text = { ...right(one), [first!.name]: String(right(one)[first!.name]) };
  assertEquals(await views([one, text]), ["specification_mismatch"]);
  const distractor = task.functions.find(({ role }) => role === "connected")!;
  assertEquals(await views([distractor, right(distractor)]), ["routing"]);
});

Deno.test("createExecutor() refuses to show nothing of a result", () => {
  const task = generateTask({ core: 1, depth: 0, connected: 0, disconnected: 0, seed: 1 });
  for (const longestResult of [0, -1, NaN]) {
    assertThrows(
      () => createExecutor(task, { longestResult }),
      RangeError,
      `it is ${longestResult}`,
    );
  }
});
