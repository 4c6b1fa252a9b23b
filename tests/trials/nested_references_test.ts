// Nested references as users have them: in trials of generated tasks, with strategies and perturbations,
// in suites and on the command line, and with tools of the user.

// Imported first, as it takes what is registered once this file is loaded.
import { type CollectedRun, CollectedTests } from "../support/collected.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { shuffle } from "@std/random";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { PERTURBATIONS } from "../../lib/perturbations/ids.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { comparisonHash, planHash } from "../../lib/runs/resolved_suite.ts";
import { fork } from "../../lib/base/random.ts";
import { runTools } from "../../lib/toolkit/run_tools.ts";
import { SUITE, type Suite } from "../../lib/runs/suite.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { assertAnswer } from "../../lib/testing/assertions/runs.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import { folder, readLines } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { SMALL } from "../support/suites.ts";

const SPEC = { core: 5, depth: 4, connected: 2, disconnected: 2, seed: 11 };

/** One reply that calls all that is needed, in a random order, and then the answer. */
function nesting(task: Task, seed = 1): ScriptedReply[] {
  const order = shuffle(coreInOrder(task), fork(seed, "order"));
  const numbers = new Map(order.map(({ output }, place) => [output.name, place + 1]));
  const calls = order.map(({ name, parameters }) => ({
    name,
    arguments: Object.fromEntries(parameters.map(({ name, variable }): [string, JsonValue] => {
      const number = numbers.get(variable);
      return [name, number === undefined ? task.inputs.get(variable)! : `$${number}.${variable}`];
    })),
  }));
  return [{ calls }, { text: `${task.target.variable} = ${task.target.value}` }];
}

function run(options: TrialOptions = {}, spec = SPEC): Promise<Trial> {
  return runTrial(spec, scripted("nester", nesting(generateTask(spec))), {
    references: true,
    ...options,
  });
}

// Trials

Deno.test("runTrial() solves a deep task in one reply of nested calls (Pipeline, Advanced Call Patterns)", async () => {
  const trial = await run();
  assertEquals([trial.outcome, trial.grounded, trial.calls], ["solved", true, 5]);
  assertEquals(trial.failures, []);
  const calls = callsOf(trial.events);
  assertEquals(calls.map(({ call, step }) => [call, step]), [1, 2, 3, 4, 5].map((n) => [n, 1]));
  const task = generateTask(SPEC);
  for (const { function: name, resolved, arguments: written, ...event } of calls) {
    const made = task.functions.find((one) => one.name === name)!;
    assertEquals(JSON.parse(resolved ?? written), rightArguments(task, made));
    assertEquals([event.guessed, event.role, "level" in event], [undefined, "core", false]);
  }
  // It reads back as a journal has it.
  const line = JSON.parse(JSON.stringify(trial));
  assertEquals(parseWith(TRIAL_LINE, line, "a line"), line);
});

Deno.test("runTrial() makes chains no longer than its limit (Pipeline, Advanced Call Patterns)", async () => {
  const trial = await run({ limits: { depth: 3 } });
  // The last two of five calls on a path are too deep.
  assertEquals(trial.failures.map(({ type, root }) => [type, root]), [
    ...new Array(2).fill(["wrong_number_of_inputs", true]),
  ]);
  assertEquals(trial.grounded, false);
  const results = callsOf(trial.events).flatMap(({ failure, result }) => failure ? [result] : []);
  for (const result of results) {
    assertStringIncludes(result, "a chain of calls that refer to each other may have 3");
  }
});

Deno.test("runTrial() works with strategies and perturbations all the same", async () => {
  for (const strategy of ["restate", "plan_then_call", "route_then_fill", "backward", "repair"]) {
    const task = generateTask(SPEC);
    const nested = nesting(task);
    const names = coreInOrder(task).map(({ name }) => name);
    // Anyone who is asked beside the loop says what is needed, as far as anybody can.
    const model = scripted("nester", ({ context, messages }) => {
      if (context.stage === "route") return { text: JSON.stringify(names) };
      if (messages.at(-1)?.role === "tool") return nested[1]!;
      return ["plan", "infer"].includes(context.stage ?? "")
        ? { text: names.join(", ") }
        : nested[0]!;
    });
    const { outcome, failures, events } = await runTrial(SPEC, model, {
      references: true,
      strategy: { strategy },
    });
    assertEquals([strategy, outcome, failures], [strategy, "solved", []]);
    const lists = callsOf(events).map(({ result }) => JSON.parse(result)["known_variables"]);
    const known = Object.fromEntries(
      coreInOrder(task).map(({ output }) => [
        ...[output.name, task.values.get(output.name)!],
      ]),
    );
    for (const list of lists) {
      assertEquals(
        list,
        strategy === "restate" ? { ...Object.fromEntries(task.inputs), ...known } : undefined,
      );
    }
  }
  for (const perturbation of PERTURBATIONS) {
    const { outcome, reason } = await run({ perturbation });
    assertNotEquals([perturbation, outcome], [perturbation, "invalid"], reason);
  }
});

Deno.test("runTrial() mends nested calls before they are carried out", async () => {
  const task = generateTask(SPEC);
  const [{ calls = [] }, answer] = nesting(task) as [ScriptedReply, ScriptedReply];
  const nested = calls.findIndex((call) => JSON.stringify(call.arguments).includes("$"));
  const { name, arguments: right } = calls[nested]!;
  const wrong = { ...right as JsonObject, more: "$1.x" };
  const model = scripted("mender", ({ context, messages }) => {
    if (context.stage === "repair") return { text: JSON.stringify(right) };
    return messages.at(-1)?.role === "tool"
      ? answer
      : { calls: calls.with(nested, { name, arguments: wrong }) };
  });
  const trial = await runTrial(SPEC, model, { references: true, strategy: { strategy: "repair" } });
  assertEquals([trial.outcome, trial.grounded, trial.failures], ["solved", true, []]);
  const repairs = trial.events.filter((event) => event.kind === "repair");
  assertEquals(repairs.map((event) => event.arguments), [JSON.stringify(wrong)]);
});

// Suites

Deno.test("planSuite() tells suites with references from all others, and from none without", () => {
  const [plain, off, on] = [undefined, false, true].map((references) =>
    planSuite({ ...SMALL, ...(references === undefined ? {} : { references }) })
  ) as [ReturnType<typeof planSuite>, ReturnType<typeof planSuite>, ReturnType<typeof planSuite>];
  assertEquals(off, plain);
  assertEquals([planHash(off), comparisonHash(off)], [planHash(plain), comparisonHash(plain)]);
  assertEquals("references" in plain.resolved, false);
  assertEquals(on.resolved, { ...plain.resolved, references: true });
  assertEquals(on.trials, plain.trials);
  assertNotEquals(planHash(on), planHash(plain));
  assertNotEquals(comparisonHash(on), comparisonHash(plain));
});

Deno.test("SUITE takes references and the limits of calls, and nothing odd", () => {
  const suite: Suite = { ...SMALL, references: true, limits: { parallel: 1, depth: 9 } };
  assertEquals(parseWith(SUITE, suite, "it"), suite);
  for (
    const [odd, path] of [
      [{ references: "yes" }, "references"],
      [{ limits: { parallel: 0 } }, "limits.parallel"],
      [{ limits: { depth: 1.5 } }, "limits.depth"],
    ] as [object, string][]
  ) {
    assertThrows(() => parseWith(SUITE, { ...SMALL, ...odd }, "it"), InputError, `at ${path}`);
  }
});

Deno.test("planSuite() refuses references where there is nothing that could refer", () => {
  assertThrows(
    () => planSuite({ ...SMALL, references: true, strategies: ["plain", "restate+indirection"] }),
    InputError,
    "nested references cannot be used with the names of indirection: references is true, and the " +
      "strategy is restate+indirection",
  );
  const { graphs: _, ...unsized } = SMALL;
  const cell = { set: "s", question: "1", difficulty: "easy" as const };
  const planned = (mode: "parameters" | "routing" | "tools") =>
    planSuite({ ...unsized, tasks: [], references: true }, {
      tasks: { cells: () => [{ ...cell, mode }], open: () => assert(false) as never },
    });
  assertThrows(
    () => planned("routing"),
    InputError,
    "in mode routing none are made: take mode tools",
  );
  assertEquals(planned("tools").resolved.references, true);
});

// Tools of the user

Deno.test("runTools() carries out nested calls, each once and in their order", async () => {
  const asked: JsonValue[] = [];
  const parameters = { type: "object" };
  const tools = [
    tool({ name: "contact", description: "", parameters, returns: { mail: "j@x.org" } }),
    tool({
      ...{ name: "send", description: "", parameters },
      execute: (input) => {
        asked.push(input);
        return "sent";
      },
    }),
  ];
  const model = scripted("assistant", [{
    calls: [
      { name: "send", arguments: { to: "$2.mail", text: "To $call_1_2.mail, for $5" } },
      { name: "contact", arguments: { name: "John" } },
    ],
  }, { text: "Done." }]);
  const messages = "Tell John the weather";
  const { ending, messages: said, events } = await runTools(model, tools, {
    messages,
    references: true,
  });
  assertEquals(ending, { kind: "answer", text: "Done." });
  assertEquals(asked, [{ to: "j@x.org", text: "To j@x.org, for $5" }]);
  assertEquals(said.flatMap((one) => one.role === "tool" ? [[one.name, one.content]] : []), [
    ["send", "sent"],
    ["contact", '{"mail":"j@x.org"}'],
  ]);
  assertEquals(callsOf(events).length, 2);

  for (const options of [{ strategy: "indirection" }, { limits: { parallel: 0 } }]) {
    await assertRejects(
      () => runTools(model, tools, { messages, references: true, ...options }),
      Error,
      "Cannot ",
    );
  }
});

const JOURNALS = `${Deno.makeTempDirSync()}/`;

const marking = CollectedTests.ofFile(() => {
  const model = scripted("nester", [{
    calls: [
      { name: "mark", arguments: { x: "$2.x" } },
      { name: "mark", arguments: { x: 1 } },
      { name: "mark", arguments: { x: 2 } },
    ],
  }, { text: "Done." }]);
  for (const [parallel, order] of [[1, "+1 -1 +2 -2 +1 -1"], [10, "+1 +2 -1 -2 +1 -1"]] as const) {
    toolTest<string[]>(`marks in ${parallel}`, {
      model,
      references: true,
      limits: { parallel },
      journal: JOURNALS,
      state: () => [],
      tools: (marks) => [tool({
        name: "mark",
        description: "Marks",
        parameters: { type: "object", properties: { x: { type: "integer" } } },
        execute: async ({ x }) => {
          marks.push(`+${x}`);
          await new Promise((resolve) => setTimeout(resolve, 5));
          marks.push(`-${x}`);
          return { x };
        },
      })],
      prompt: "Mark!",
      assert(run) {
        assertAnswer(run, "Done");
        assertEquals(run.state.join(" "), order);
        assertEquals(run.calls.map((call) => Object(call.arguments).x), [1, 1, 2]);
      },
    });
  }
});

let marked: CollectedRun;
Deno.test.beforeAll(async () => void (marked = await marking.run()));
Deno.test.afterAll(() => Deno.removeSync(JOURNALS, { recursive: true }));

Deno.test("toolTest() runs tools one after another if it is told so, and nests calls", () => {
  assertEquals(marked.tests.map(({ ended, error }) => [ended, error]), [["ok", ""], ["ok", ""]]);
  const lines = [...Deno.readDirSync(JOURNALS)].map(({ name }) => readLines(JOURNALS + name));
  assertEquals(lines.map(([, trial]) => trial.solved), [true, true]);
});

// The command line

Deno.test("toolgate run, plan, report and reruns tell of nested references and have them", async () => {
  await using place = await folder();
  const suite = place.write(
    "nested.jsonc",
    JSON.stringify({
      ...{
        name: "nested",
        seed: 3,
        graphs: 2,
        references: true,
        limits: { depth: 4, parallel: 2 },
      },
      ...{ tasks: [{ core: 5, depth: 3 }], models: ["sim:planner"] },
    }),
  );
  const out = place.file("nested.jsonl");
  const planned = await toolgate(["plan", suite]);
  assertStringIncludes(planned.stdout, "repetitions 1, nested references)", planned.all);
  const ran = await toolgate(["run", suite, "--out", out]);
  assertEquals(ran.code, 0, ran.all);
  const [plan, ...trials] = readLines(out);
  assertEquals(plan.resolved.references, true);
  assertEquals(plan.resolved.limits, { depth: 4, parallel: 2 });
  assertEquals(trials.map(({ solved }) => solved), [true, true]);
  const markdown = place.file("nested.md");
  const reported = await toolgate(["report", out, "--markdown", markdown]);
  assertStringIncludes(Deno.readTextFileSync(markdown), "seed 3, nested references", reported.all);
  const calls = (events: { kind: string; resolved?: string }[]) =>
    events.filter(({ kind, resolved }) => kind === "call" && resolved !== undefined).length;
  assert(calls(trials[0].events) > 0, "the planner nests its calls");
  const again = await toolgate(["run", out, "--only", trials[0].id]);
  assertEquals(again.code, 0, again.all);
  assertMatch(again.stdout, /\$\d+\.\w+/);
});
