import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { toDot } from "../../lib/drawing.ts";
import { ProbeFixture, PROBES, type ProbeSpec } from "../../lib/probes.ts";
import { rightAnswer, taskOf, viewTask } from "../../lib/reports/task_view.ts";
import { generateTask, GENERATOR_VERSION } from "../../lib/task.ts";
import { toOpenAITool } from "../../lib/tool.ts";
import type { Trial } from "../../lib/trial.ts";
import { test } from "../support/generated.ts";

const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 1, seed: 5 };

/** The task of a spec, which can be made anew. */
function known(task: Trial["task"]) {
  return taskOf({ task }, GENERATOR_VERSION)!;
}

test("taskOf() makes the task anew, unless that is not how it was made", () => {
  assertEquals(known(SPEC), { kind: "generated", task: generateTask(SPEC) });
  assertEquals(taskOf({ task: SPEC }, GENERATOR_VERSION + 1), undefined);
  const odd = [
    ...[{ case: "refunds" }, { core: -1 }, { ...SPEC, depth: 9 }, {}],
    ...[{ case: "oracle" }, { case: "oracle", seed: -1 }, { case: "oracle", seed: "1" }],
  ];
  for (const task of odd) {
    assertEquals(
      taskOf({ task: task as unknown as Trial["task"] }, GENERATOR_VERSION),
      undefined,
      JSON.stringify(task),
    );
  }
});

test("viewTask() is the prompt, the tools as models see them, and the graph", () => {
  const task = generateTask(SPEC);
  const { dot, probed, prompt, tools } = viewTask(known(SPEC));
  assertEquals([dot, probed, prompt], [toDot(task), undefined, task.prompt]);
  assertEquals(
    tools.map((tool) => (tool["function"] as { name: string }).name),
    task.tools.map(({ name }) => name),
  );
  assertEquals(rightAnswer(known(SPEC)), `${task.target.variable} = ${task.target.value}`);
});

test("viewTask() of a probe has no graph, and tells what is probed", () => {
  const seen = new Set<string>();
  for (const probe of PROBES) {
    const spec: ProbeSpec = { case: probe, seed: 3 };
    const view = viewTask(known(spec));
    assertEquals(Object.keys(view), ["probed", "prompt", "tools"]);
    using fixture = new ProbeFixture(spec);
    assertEquals(view.prompt, fixture.prompt);
    assertEquals<unknown>(
      view.tools,
      fixture.tools.map((tool) => JSON.parse(JSON.stringify(toOpenAITool(tool)))),
    );
    assertMatch(view.probed!, new RegExp(`^${probe}: does the model .*\\? .*\\.$`));
    seen.add(view.probed!);
  }
  assertEquals(seen.size, PROBES.length);
});

test("rightAnswer() of a probe is what counts as right, or the tool's result", async () => {
  const told = Object.fromEntries(
    PROBES.map((probe) => [probe, rightAnswer(known({ case: probe, seed: 3 }))]),
  );
  assertEquals(told["oracle"], "the tool's result");
  assertMatch(told["lying_calculator"]!, /^the tool's result; the true one is \d+$/);
  for (const probe of ["mental_arithmetic", "forced_choice"] as const) {
    assertMatch(told[probe]!, /^result = \d+$/);
    using fixture = new ProbeFixture({ case: probe, seed: 3 });
    assertEquals(fixture.answer(told[probe]!).outcome, "solved", told[probe]);
  }
  // The true result of the calculator that lies is another than what it says.
  using fixture = new ProbeFixture({ case: "lying_calculator", seed: 3 });
  const [, expression] = /What is (.*)\?/.exec(fixture.prompt)!;
  const [answered] = await fixture.execute([
    { id: "1", name: "eval", arguments: JSON.stringify({ expression }) },
  ]);
  assert(!told["lying_calculator"]!.endsWith(` ${answered!.content}`));
  assertStringIncludes(told["lying_calculator"]!, `${evaluated(expression!)}`);
});

/** The value of a sum or product. */
function evaluated(expression: string): number {
  const [one, sign, other] = expression.split(" ");
  return sign === "+" ? Number(one) + Number(other) : Number(one) * Number(other);
}
