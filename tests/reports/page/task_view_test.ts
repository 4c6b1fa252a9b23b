import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { toDot } from "../../../lib/reports/figures/graph_drawing.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { Change } from "../../../lib/perturbations/methods.ts";
import { perturbTask } from "../../../lib/perturbations/perturbed_task.ts";
import { ProbeExecutor } from "../../../lib/trials/executors/probes.ts";
import { PROBES, type ProbeSpec } from "../../../lib/tasks/task_kind.ts";
import {
  type KnownTask,
  rightAnswer,
  taskOf,
  type TaskView,
  viewTask,
} from "../../../lib/reports/page/_task_view.ts";
import { generateTask, GENERATOR_VERSION } from "../../../lib/tasks/graphs/task.ts";
import { describeTool, toOpenAITool } from "../../../lib/tools/tool.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { HOSTILE, STEERING } from "../../support/records.ts";
import { elementsOf, textsOf } from "../../support/trees.ts";

const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 1, seed: 5 };

/** What the page folds: of each change of a task its title and lines, the prompt, and the tools. */
function offerOf({ offer }: TaskView) {
  const [prompt, tools] = textsOf(offer, "pre");
  const [lists, titles] = [elementsOf(offer, "ul"), textsOf(offer, "change")];
  return {
    prompt,
    tools: JSON.parse(tools!) as JsonObject[],
    changes: titles.map((title, place) => ({ title, lines: textsOf(lists[place], "li") })),
  };
}

/** The task of a spec, which can be made anew. */
function known(task: Trial["task"]) {
  return taskOf({ task }, GENERATOR_VERSION)!;
}

Deno.test("taskOf() makes the task anew, unless that is not how it was made", () => {
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

Deno.test("viewTask() is the prompt, the tools as models see them, and the graph", () => {
  const task = generateTask(SPEC);
  const view = viewTask(known(SPEC));
  const { prompt, tools } = offerOf(view);
  assertEquals([view.dot, view.side, prompt], [toDot(task), undefined, task.prompt]);
  assertEquals(
    tools.map((tool) => (tool["function"] as { name: string }).name),
    task.tools.map(({ name }) => name),
  );
  assertEquals(rightAnswer(known(SPEC)), `${task.target.variable} = ${task.target.value}`);
});

Deno.test("viewTask() of a probe has no graph, and tells what is probed", () => {
  const seen = new Set<string>();
  for (const probe of PROBES) {
    const spec: ProbeSpec = { case: probe, seed: 3 };
    const view = viewTask(known(spec));
    assertEquals(view.dot, undefined);
    using fixture = new ProbeExecutor(spec);
    assertEquals([offerOf(view).prompt, ...textsOf(view.side, "pre")], [
      fixture.prompt,
      fixture.prompt,
    ]);
    assertEquals<unknown>(
      offerOf(view).tools,
      fixture.tools.map((tool) => JSON.parse(JSON.stringify(toOpenAITool(tool)))),
    );
    const [probed] = textsOf(view.side, "p");
    assertMatch(probed!, new RegExp(`^${probe}: does the model .*\\? .*\\.$`));
    seen.add(probed!);
  }
  assertEquals(seen.size, PROBES.length);
});

Deno.test("rightAnswer() of a probe is what counts as right, or the tool's result", async () => {
  const told = Object.fromEntries(
    PROBES.map((probe) => [probe, rightAnswer(known({ case: probe, seed: 3 }))]),
  );
  assertEquals(told["oracle"], "the tool's result");
  assertMatch(told["lying_calculator"]!, /^the tool's result; the true one is \d+$/);
  for (const probe of ["mental_arithmetic", "forced_choice"] as const) {
    assertMatch(told[probe]!, /^result = \d+$/);
    using fixture = new ProbeExecutor({ case: probe, seed: 3 });
    assertEquals(fixture.answer(told[probe]!).outcome, "solved", told[probe]);
  }
  // The true result of the calculator that lies is another than what it says.
  using fixture = new ProbeExecutor({ case: "lying_calculator", seed: 3 });
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

/** The task of the spec under a perturbation. */
function perturbedBy(perturbation: string) {
  return taskOf({ task: SPEC, perturbation }, GENERATOR_VERSION)!;
}

Deno.test("viewTask() of a perturbed task is what the model got, and what was changed of it", () => {
  const task = generateTask(SPEC);
  const view = viewTask(perturbedBy("RP_F+RD+AP"));
  const { prompt, tools, changes } = offerOf(view);
  const seen = perturbTask(task, "RD+RP_F+AP");
  assert(prompt === seen.prompt && prompt !== task.prompt);
  const descriptionOf = ({ function: own }: JsonObject) => (own as JsonObject)["description"];
  assertEquals(tools.map(descriptionOf), seen.tools.map(describeTool));
  assert(tools.some((tool, place) => descriptionOf(tool) !== task.tools[place]!.description));
  assertEquals(view.dot, toDot(task));
  assertEquals(changes.map(({ title }) => title.replace(/, .*: /, ": ")), [
    ...["RD: changed", "RP_F: changed", "AP: found nothing to change"],
  ]);
  const [documents, query, returns] = changes;
  assertEquals(documents!.lines.length, seen.steps[0]!.changes.length);
  for (const line of documents!.lines) {
    const [, name, place] = /^(\w+), \/(\d+)\/description: ".*" \u2192 ".*"$/.exec(line)!;
    assertEquals(name, seen.tools[Number(place)]!.name);
  }
  assert(documents!.lines[0]!.includes(JSON.stringify(task.tools[0]!.description)));
  assert(query!.lines.some((line) => line.startsWith('"') && line.endsWith('\u2192 ""')));
  assertEquals(returns!.lines, []);
});

Deno.test("viewTask() of an unperturbed task tells of no changes, and so it is of unknown perturbations", () => {
  for (const perturbation of ["none", "WTX", HOSTILE, "__proto__", "RD+RD", ""]) {
    const known = perturbedBy(perturbation);
    assertEquals(known, { kind: "generated", task: generateTask(SPEC) });
    assertEquals(offerOf(viewTask(known)).changes, []);
  }
});

Deno.test("taskOf() has the graph and the answer by which a check is judged", () => {
  const known = perturbedBy("rename");
  const seen = perturbTask(generateTask(SPEC), "rename");
  assertEquals(viewTask(known).dot, toDot(seen.task));
  assertEquals(rightAnswer(known), `${seen.task.target.variable} = ${seen.task.target.value}`);
  assert(seen.task.target.variable !== generateTask(SPEC).target.variable);
});

Deno.test("rightAnswer() is none where what it needs was removed", () => {
  assertEquals(
    rightAnswer(perturbedBy("RP_L")),
    "none: the question lacks a value that it needs",
  );
  assertMatch(rightAnswer(perturbedBy("CF")), /^\w+ = \d+$/);
});

Deno.test("viewTask() names the function of a change as the model got it, whatever came before", () => {
  for (const perturbation of ["rename+WT", "reorder+RE+SD", "unrelated+rename+reorder+RD"]) {
    const { tools, changes } = offerOf(viewTask(perturbedBy(perturbation)));
    const lines = changes.flatMap((own) => own.lines).filter((line) => /, \/\d/.test(line));
    assert(lines.length > 0, perturbation);
    for (const line of lines) {
      const [, name, place] = /^(\w+), \/(\d+)\//.exec(line)!;
      assertEquals((tools[Number(place)]!["function"] as { name: string }).name, name);
    }
  }
});

Deno.test("viewTask() names no function of changes that are of none", () => {
  const task = generateTask(SPEC);
  const linesOf = (id: "WT" | "CP" | "reorder", path: string) => {
    const change: Change = { kind: "value", path, before: 1 };
    const steps = [{ id, changed: true, changes: [change] }];
    const perturbed = { ...perturbTask(task, "none"), steps };
    return offerOf(viewTask({ kind: "generated", task, perturbed })).changes[0]!.lines;
  };
  const last = task.tools.length - 1;
  assertEquals(linesOf("WT", `/${last}`), [
    `${task.tools[last]!.name}, /${last}: 1 \u2192 nothing`,
  ]);
  for (const path of [`/${last + 1}`, "/x/0", "/0x", "/__proto__", "/-1", "/1e0", ""]) {
    assertEquals(linesOf("WT", path), [`${path || "all of it"}: 1 \u2192 nothing`]);
  }
  // Of a question, numbers are something else.
  assertEquals(linesOf("CP", "/0"), ["/0: 1 \u2192 nothing"]);
  assertEquals(linesOf("reorder", "/0"), ["/0: 1 \u2192 nothing"]);
});

Deno.test("viewTask() tells every kind of change, and the first hundred of very many", () => {
  const known = (changes: readonly Change[]): KnownTask => ({
    kind: "generated",
    task: generateTask(SPEC),
    perturbed: {
      ...perturbTask(generateTask(SPEC), "none"),
      steps: [{ id: "WT", changed: true, changes }],
    },
  });
  const linesOf = (...changes: Change[]) => offerOf(viewTask(known(changes))).changes[0]!.lines;
  assertEquals(
    linesOf(
      { kind: "value", path: "/0/type", before: "integer", after: { type: ["array"] } },
      { kind: "value", path: "", before: HOSTILE },
      { kind: "key", path: "/a", before: "x y", after: "Object_1" },
      { kind: "order", path: "", before: ["a", "b"], after: ["b", "a"] },
      { kind: "text", start: 3, end: 5, before: "17", after: "10 + 7" },
    ).map((line) => line.replace(/evil.*(?=" )/, "EVIL")),
    [
      `${generateTask(SPEC).tools[0]!.name}, /0/type: "integer" \u2192 {"type":["array"]}`,
      'all of it: "EVIL" \u2192 nothing',
      '/a: the key "x y" \u2192 "Object_1"',
      "all of it: the order a, b \u2192 b, a",
      '"17" \u2192 "10 + 7"',
    ],
  );
  for (const line of linesOf({ kind: "order", path: "", before: [HOSTILE], after: [] })) {
    assertNotMatch(line, STEERING);
  }
  const many = linesOf(...new Array(103).fill({ kind: "key", path: "", before: "a", after: "b" }));
  assertEquals([many.length, many.at(-1)], [101, "and 3 more"]);
});
