// The dimensions of one trial: by hand, and of trials that were really run.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { z } from "zod";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { CaseExecutor } from "../../lib/trials/executors/case.ts";
import type { ToolCase } from "../../lib/trials/executors/tool_case.ts";
import { type CallEvent, callsOf, type TraceEvent } from "../../lib/calls/trace.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { dimensionsOf } from "../../lib/trials/summary.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import fc from "../support/fast_check.ts";
import { inProcess } from "../support/in_process.ts";
import { record, type TrialTraits } from "../support/records.ts";

const TASK = { core: 3, depth: 2, connected: 1, disconnected: 0, seed: 1 };

const WRONG = {
  type: "wrong_number_of_inputs",
  detail: { missing: ["x"], unexpected: [], wrongType: [], malformed: false },
  root: true,
} as const;
const UNKNOWN = {
  type: "function_not_found",
  detail: { nearest: null },
  root: true,
} as const;

/** A call by a letter: a, b and c are core, d is connected, x is none; upper case is wrong. */
function callOf(letter: string, place: number): CallEvent {
  const name = letter.toLowerCase();
  const event = { kind: "call", step: 1, arguments: "{}", result: "" } as const;
  const call = { ...event, call: place + 1, function: name };
  if (name === "x") return { ...call, failure: UNKNOWN };
  const role = name === "d" ? "connected" as const : "core" as const;
  return letter === name
    ? { ...call, role, returned: { variable: name, value: 1 } }
    : { ...call, role, failure: WRONG };
}

/** A trial with such calls. */
function trial(letters: string, traits: TrialTraits = {}): Trial {
  const events: TraceEvent[] = [...letters].map(callOf);
  return record({ task: TASK, events, calls: letters.length, ...traits });
}

const ALL_RIGHT = { exact_selection: 1, first_arguments: 1 } as const;

const WRONG_ANSWER = { outcome: "wrong_answer" } as const;

const FIGURES = [
  ...["exact_selection", "first_arguments", "tool_selection", "argument_correctness"] as const,
  ...["result_interpretation", "multi_step_planning"] as const,
];

Deno.test("dimensionsOf() of a generated task looks at calls, their arguments and what came of them (Pipeline, Evaluation Framework)", () => {
  const none = undefined;
  const cases: [letters: string, traits: TrialTraits, told: (number | undefined)[]][] = [
    ["abc", {}, [1, 1, 1, 1, 1, 1]],
    // Anyone who mends a call has selected nothing else.
    ["abBc", {}, [1, 1, 1, 0.75, 1, 1]],
    // Four functions were called, three of them needed.
    ["abdc", {}, [0, 1, 6 / 7, 1, 1, 1]],
    ["abc", WRONG_ANSWER, [1, 1, 1, 1, 0, 0]],
    // The answer was not to be had.
    ["abCx", WRONG_ANSWER, [0, 1, 6 / 7, 2 / 3, none, 0]],
    ["aaa", WRONG_ANSWER, [0, 1, 0.5, 1, none, 0]],
    // The first call decides, and one of a function that is not needed has none of the right arguments.
    ["Abc", {}, [1, 0, 1, 2 / 3, 1, 1]],
    ["dabc", {}, [0, 0, 6 / 7, 1, 1, 1]],
    ["x", WRONG_ANSWER, [0, 0, 0, none, none, 0]],
    ["", { outcome: "no_answer" }, [0, none, 0, none, none, 0]],
    // What was guessed rightly was to be had; a right answer that nothing had returned was not.
    ["c", { grounded: true }, [0, 1, 0.5, 1, 1, 1]],
    ["c", { grounded: false }, [0, 1, 0.5, 1, none, 1]],
    ["abc", { grounded: false }, [1, 1, 1, 1, 0, 1]],
  ];
  for (const [letters, traits, expected] of cases) {
    const told = dimensionsOf(trial(letters, traits))!;
    assertEquals(FIGURES.map((figure) => told[figure]), expected, letters);
  }
});

Deno.test("dimensionsOf() asks tasks of one call for no planning, and all others (Pipeline, Evaluation Framework)", () => {
  const star = { ...TASK, depth: 1 };
  assertEquals(dimensionsOf(trial("abc", { task: star }))!.multi_step_planning, 1);
  const task = { ...TASK, core: 1, depth: 0 };
  assertEquals(dimensionsOf(trial("a", { task })), {
    ...ALL_RIGHT,
    tool_selection: 1,
    argument_correctness: 1,
    result_interpretation: 1,
  });
});

Deno.test("dimensionsOf() leaves out what is answered without a function", () => {
  const look = { ...callOf("a", 3), function: "dereference" } as CallEvent;
  const { role: _, returned: __, ...event } = look;
  const { events } = trial("abc");
  assertEquals(
    dimensionsOf(trial("abc", { events: [...events, event], calls: 4 })),
    dimensionsOf(trial("abc")),
  );
});

Deno.test("dimensionsOf() is nothing of perturbed trials, other tasks, and where calls were dropped", () => {
  assertEquals(dimensionsOf(trial("abc", { perturbation: "timeout" })), undefined);
  assertEquals(dimensionsOf(trial("abc", { perturbation: "RD" })), undefined);
  assertEquals(dimensionsOf(trial("abc", { calls: 4 })), undefined);
  assertEquals(dimensionsOf(trial("abc", { task: { case: "mine", seed: 1 } })), undefined);
  const probe = { case: "oracle", seed: 1 } as const;
  assertEquals(dimensionsOf(trial("abc", { task: probe, needed: ["a"] })), undefined);
});

const [first, second, spare] = ["first", "second", "spare"].map((name) =>
  tool({
    name,
    description: name,
    parameters: z.object({ x: z.int() }),
    execute: ({ x }) => ({ x: x + 1 }),
  })
);
const EXPECTED = [
  { tool: "first", arguments: { x: 1 } },
  { tool: "second", arguments: { x: 2 } },
];

/** The dimensions of a trial of a case whose model makes these calls, all right if its answer is 3. */
async function caseOf(
  calls: readonly (readonly [name: string, x: unknown])[],
  { answer = "3", expected = EXPECTED }: {
    answer?: string;
    expected?: ToolCase["expected"] | null;
  } = {},
): Promise<ReturnType<typeof dimensionsOf>> {
  const replies: ScriptedReply[] = [
    ...calls.map(([name, x]) => ({
      calls: [{ name, arguments: { x } as Record<string, number> }],
    })),
    { text: answer },
  ];
  const own: ToolCase = {
    name: "mine",
    tools: [first!, second!, spare!],
    prompt: "Add two to 1.",
    ...(expected === null ? {} : { expected }),
    assert: (run) => assertEquals(run.answer, "3"),
  };
  const trial = await runTrial({ case: "mine", seed: 1 }, scripted("m", replies), {
    open: (spec, options) => new CaseExecutor(own, spec as { case: string; seed: number }, options),
  });
  assert(trial.outcome !== "invalid", trial.reason);
  return dimensionsOf(trial);
}

Deno.test("dimensionsOf() of a case holds calls against the right ones (Pipeline, Evaluation Framework)", async () => {
  const [one, two] = [["first", 1], ["second", 2]] as const;
  const all = {
    ...ALL_RIGHT,
    tool_selection: 1,
    argument_correctness: 1,
    multi_step_planning: 1,
  };
  assertEquals(await caseOf([one, two]), { ...all, result_interpretation: 1 });
  assertEquals(await caseOf([one, two], { answer: "4" }), {
    ...all,
    result_interpretation: 0,
    multi_step_planning: 0,
  });
  // A wrong argument, not mended.
  assertEquals(await caseOf([one, ["second", 5]], { answer: "6" }), {
    ...ALL_RIGHT,
    tool_selection: 1,
    argument_correctness: 0.5,
    multi_step_planning: 0,
  });
  // RepairedArguments: the wrong call does not pass for one that was to spare.
  const mended = await caseOf([one, ["second", 5], two]);
  assertAlmostEquals(mended!.argument_correctness!, 2 / 3);
  assertEquals(mended!.result_interpretation, 1);
  // Made again, which is no wrong argument.
  assertEquals(await caseOf([one, one, two]), { ...all, result_interpretation: 1 });
  // Refused by its schema, and by its name.
  const refused = await caseOf([["first", "one"], one, two]);
  assertEquals([refused!.argument_correctness, refused!.first_arguments], [2 / 3, 0]);
  const invented = await caseOf([["third", 1], one, two]);
  assertEquals([invented!.tool_selection, invented!.argument_correctness], [0.8, 1]);
  // A tool that is not needed.
  const spared = await caseOf([["spare", 9], one, two]);
  assertEquals([spared!.tool_selection, spared!.argument_correctness], [0.8, 1]);
  assertEquals([spared!.exact_selection, spared!.first_arguments], [0, 0]);
  // In another order the same tools are called, and with other arguments.
  assertEquals((await caseOf([two, one]))!.tool_selection, 1);
  assertEquals(await caseOf([one], { answer: "2" }), {
    exact_selection: 0,
    first_arguments: 1,
    tool_selection: 2 / 3,
    argument_correctness: 1,
    multi_step_planning: 0,
  });
  assertEquals(await caseOf([], { answer: "2" }), {
    exact_selection: 0,
    tool_selection: 0,
    multi_step_planning: 0,
  });
});

Deno.test("dimensionsOf() of a case that needs no tool or one, and of one whose right calls are not known", async () => {
  assertEquals(await caseOf([], { expected: [] }), { exact_selection: 1, tool_selection: 1 });
  assertEquals(await caseOf([["spare", 1]], { expected: [] }), {
    exact_selection: 0,
    tool_selection: 0,
    argument_correctness: 1,
  });
  assertEquals(await caseOf([["first", 1]], { expected: EXPECTED.slice(0, 1) }), {
    ...ALL_RIGHT,
    tool_selection: 1,
    argument_correctness: 1,
    result_interpretation: 1,
  });
  assertEquals(await caseOf([["first", 1]], { expected: null }), undefined);
});

Deno.test("dimensionsOf() of a case knows what arguments stand for, and what no schema decides", () => {
  const event = { kind: "call", step: 1, function: "f", result: "" } as const;
  const right = { ...event, call: 1, arguments: '{"x":"@a"}', resolved: '{"x":1,"y":2}' } as const;
  const spare = { ...event, call: 2, parameters: { oracle: null, failures: [] } } as const;
  const told = (second: CallEvent) =>
    dimensionsOf(record({
      task: { case: "mine", seed: 1 },
      calls: 2,
      minimumCalls: 1,
      needed: ["f"],
      events: [right, second],
    }))!.argument_correctness;
  assertEquals(told({ ...spare, arguments: '{"y":2,"x":1}' }), 1);
  assertEquals(told({ ...spare, arguments: '{"y":2,"x":"@b"}', resolved: '{"y":2,"x":1}' }), 1);
  assertEquals(told({ ...spare, arguments: '{"x":"@a"}', resolved: '{"x":3,"y":2}' }), 0.5);
  const undecided = [{ types: ["task_deviation" as const], parameter: "/x" }];
  const parameters = { oracle: null, failures: [], undecided };
  assertEquals(told({ ...spare, arguments: '{"x":3}', parameters }), 1);
});

Deno.test("dimensionsOf() of a case has no answer to be had where a tool failed by itself", () => {
  const event = { kind: "call", step: 1, function: "f", arguments: "{}", result: "" } as const;
  const told = (...events: CallEvent[]) =>
    dimensionsOf(record({
      task: { case: "mine", seed: 1 },
      outcome: "wrong_answer",
      calls: events.length,
      minimumCalls: 1,
      needed: ["f"],
      events,
    }))!;
  assertEquals(told({ ...event, call: 1 }).result_interpretation, 0);
  assertEquals(told({ ...event, call: 1, error: "out of order" }), {
    ...ALL_RIGHT,
    tool_selection: 1,
    argument_correctness: 1,
  });
});

Deno.test("dimensionsOf() of a case is at peace with arguments that nest deep", () => {
  const deep = "[".repeat(50_000) + "]".repeat(50_000);
  const call = {
    kind: "call",
    call: 1,
    step: 1,
    function: "f",
    arguments: deep,
    result: "",
  } as const;
  const again = { ...call, call: 2, parameters: { oracle: null, failures: [] } };
  const told = dimensionsOf(record({
    task: { case: "mine", seed: 1 },
    calls: 2,
    minimumCalls: 1,
    needed: ["f"],
    events: [call, again],
  }));
  assertEquals(told?.argument_correctness, 1);
});

Deno.test("dimensionsOf() stays from 0 to 1, whatever was called, and knows no order of calls", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(..."abcdABCDx"), { maxLength: 8 }),
      fc.constantFrom("solved", "wrong_answer", "no_answer", "call_limit" as const),
      (letters, outcome) => {
        const told = dimensionsOf(trial(letters.join(""), { outcome }))!;
        for (const value of Object.values(told)) assert(value >= 0 && value <= 1);
        const called = new Set(letters.map((letter) => letter.toLowerCase()));
        const isSame = [..."abc"].every((name) => called.has(name)) && called.size === 3;
        assertEquals([told.tool_selection === 1, told.exact_selection === 1], [isSame, isSame]);
        const turned = dimensionsOf(trial(letters.toReversed().join(""), { outcome }))!;
        const withoutFirst = ({ first_arguments: _, ...rest }: typeof told) => rest;
        assertEquals(withoutFirst(turned), withoutFirst(told));
      },
    ),
  );
});

Deno.test("dimensionsOf() compares the set of tools, and the arguments of the first call, as the article's code does (Pipeline, Benchmarking Tool Use)", async () => {
  const model = inProcess("sim:noisy?stale=0.2&distract=0.3&arity=0.15&hallucinate=0.1&seed=3");
  const seen = { exact: new Set<number>(), first: new Set<number>() };
  for (let seed = 1; seed <= 40; seed++) {
    const spec = { core: 3, depth: 2, connected: 3, disconnected: 0, seed };
    const recorded = await runTrial(spec, model, { limits: { calls: 12 } });
    const { functions, values } = generateTask(spec);
    const core = functions.filter(({ role }) => role === "core");
    const calls = callsOf(recorded.events);
    // set(actual_tools) == set(expected_tools)
    const actual = [...new Set(calls.map((call) => call.function))].sort();
    const exact = Number(actual.join() === core.map(({ name }) => name).sort().join());
    // for key, value in expected.items(): key in actual and actual[key] == value
    const given = JSON.parse(calls[0]!.arguments);
    const called = core.find(({ name }) => name === calls[0]!.function);
    const first = Number(
      called !== undefined &&
        called.parameters.every(({ name, variable }) => given[name] === values.get(variable)),
    );
    const told = dimensionsOf(recorded)!;
    assertEquals([told.exact_selection, told.first_arguments], [exact, first], `seed ${seed}`);
    seen.exact.add(exact);
    seen.first.add(first);
  }
  assertEquals([seen.exact.size, seen.first.size], [2, 2], "both are seen");
});

Deno.test("dimensionsOf() does not count arguments beyond those of the right call (Pipeline, Benchmarking Tool Use)", async () => {
  const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
  const { functions: [only], inputs } = generateTask(spec);
  const told = async (given: Record<string, number>) => {
    const model = scripted("m", [{ calls: [{ name: only!.name, arguments: given }] }, {
      text: "?",
    }]);
    return dimensionsOf(await runTrial(spec, model))!.first_arguments;
  };
  const right = Object.fromEntries(inputs);
  const [name] = Object.keys(right);
  assertEquals(await told(right), 1);
  assertEquals(await told({ ...right, extra: 1 }), 1);
  assertEquals(await told({ ...right, [name!]: right[name!]! + 1 }), 0);
  const { [name!]: _, ...lacking } = right;
  assertEquals(await told({ ...lacking, extra: 1 }), 0);
});
