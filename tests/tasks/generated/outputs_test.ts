import { assert, assertEquals, assertGreater, assertThrows } from "@std/assert";
import { generateGraph, type GraphSpec } from "../../../lib/tasks/generated/graph.ts";
import {
  briefSpec,
  generateTask,
  type Task,
  taskToJson,
} from "../../../lib/tasks/generated/task.ts";
import { outputsOf } from "../../../lib/tasks/generated/wording.ts";
import { toDot, toMermaid, toSvg } from "../../../lib/reports/figures/graph_drawing.ts";
import { parseTrialId, trialId } from "../../../lib/trials/trial_id.ts";
import fc from "../../support/fast_check.ts";
import { fewestFunctions, severalSpecs, specs } from "../../support/generated.ts";

const SPEC: GraphSpec = {
  ...{ core: 6, depth: 3, connected: 4, disconnected: 4, seed: 5 },
  outputs: [1, 3],
};

Deno.test("generateTask() gives functions several outputs within their range, each with a type and subtype of its own (FuncBenchGen 3.4)", () => {
  fc.assert(fc.property(severalSpecs(), (spec) => {
    const [fewest, most] = spec.outputs!;
    const { functions, values, inputs } = generateTask(spec);
    const outputs = functions.flatMap(outputsOf);
    for (const fn of functions) {
      const own = outputsOf(fn);
      assert(own.length >= fewest && own.length <= most, fn.name);
      assertEquals(own[0], fn.output);
      assertEquals(fn.outputs === undefined, own.length === 1);
    }
    const names = [...outputs.map(({ name }) => name), ...inputs.keys()];
    assertEquals(new Set(names).size, names.length);
    assertEquals(
      new Set(outputs.map(({ type, subtype }) => `${type} ${subtype}`)).size,
      outputs.length,
    );
    assertEquals(values.size, names.length);
    assertEquals(new Set(values.values()).size, values.size);
  }));
});

Deno.test("generateTask() lets functions consume one output at least of each they depend on, and leaves some unused", () => {
  let [several, unused] = [0, 0];
  fc.assert(fc.property(severalSpecs(), (spec) => {
    const { functions, target } = generateTask(spec);
    const producer = new Map(
      functions.flatMap((fn) =>
        outputsOf(fn).map((output) => [output.name, { fn, output }] as const)
      ),
    );
    const consumed = new Set<string>();
    for (const { name, parameters, dependsOn } of functions) {
      const sources = new Set<string>();
      for (const { variable, type, subtype } of parameters) {
        const source = producer.get(variable);
        if (source === undefined) continue;
        assertEquals([type, subtype], [source.output.type, source.output.subtype]);
        consumed.add(variable);
        if (sources.has(source.fn.name)) several++;
        sources.add(source.fn.name);
      }
      assertEquals([...sources], dependsOn, name);
    }
    assert(producer.has(target.variable));
    const all = functions.flatMap(outputsOf);
    unused += all.filter(({ name }) => !consumed.has(name) && name !== target.variable).length;
    assertEquals(
      functions.map(({ dependsOn }) => dependsOn.length).toSorted(),
      generateGraph(spec).parents.map((of) => of.length).toSorted(),
    );
  }));
  assertGreater(several, 100);
  assertGreater(unused, 100);
});

Deno.test("generateTask() needs each core function and no other, with one output or several (FuncBenchGen 3.2)", () => {
  const small = severalSpecs(5).filter(({ core, connected, disconnected }) =>
    core + connected + disconnected <= 11
  );
  fc.assert(
    fc.property(fc.oneof(small, specs(4).filter((spec) => spec.core > 1)), (spec) => {
      const few = { ...spec, connected: Math.min(3, spec.connected), disconnected: 1 };
      const task = generateTask(few);
      assertEquals(fewestFunctions(task), task.minimumCalls);
      assertEquals(task.minimumCalls, spec.core);
    }),
    { numRuns: 60 },
  );
});

Deno.test("generateTask() asks for any output of the target function", () => {
  const places = Array.from({ length: 60 }, (_, seed) => {
    const { functions, target } = generateTask({ ...SPEC, outputs: [3, 3], seed });
    const own = functions.find((fn) => outputsOf(fn).some(({ name }) => name === target.variable))!;
    assertEquals(own.role, "core");
    return outputsOf(own).findIndex(({ name }) => name === target.variable);
  });
  assertEquals(new Set(places), new Set([0, 1, 2]));
});

Deno.test("generateTask() keeps the core of several outputs when irrelevant functions differ", () => {
  fc.assert(fc.property(severalSpecs(30), fc.nat({ max: 40 }), (spec, more) => {
    const core = (task: Task) => taskToJson(task).functions.filter(({ role }) => role === "core");
    const one = generateTask({ ...spec, connected: 0, disconnected: 0 });
    const other = generateTask({ ...spec, connected: more, disconnected: 3 });
    assertEquals(core(other), core(one));
    assertEquals(other.prompt, one.prompt);
    assertEquals(other.target, one.target);
    for (const [name, value] of one.values) assertEquals(other.values.get(name), value);
  }));
});

Deno.test("generateTask() leaves tasks of one output as they are, and says nothing of it in their spec", () => {
  const { outputs: _, ...plain } = SPEC;
  const one: GraphSpec = { ...SPEC, outputs: [1, 1] };
  assertEquals(taskToJson(generateTask(one)), taskToJson(generateTask(plain)));
  assertEquals(briefSpec(one), plain);
  assertEquals(briefSpec(SPEC), SPEC);
  assert(!JSON.stringify(taskToJson(generateTask(plain))).includes('"outputs"'));
  const json = JSON.parse(JSON.stringify(taskToJson(generateTask(SPEC))));
  assertEquals(json.spec.outputs, [1, 3]);
  const [several] = json.functions.filter((fn: { outputs?: unknown }) => fn.outputs !== undefined);
  assertEquals(several.outputs[0], several.output);
  for (const outputs of [[0, 1], [2, 1], [1, 1.5], [1]] as unknown as [number, number][]) {
    assertThrows(() => generateTask({ ...SPEC, outputs }), RangeError, "outputs");
  }
});

Deno.test("trial ids keep the range of outputs", () => {
  const key = { model: "m", strategy: "baseline", perturbation: "none", task: SPEC, repetition: 1 };
  assert(trialId(key).includes(" outputs=1..3 "));
  assertEquals(parseTrialId(trialId(key)), key);
});

Deno.test("drawings name all outputs of a function, and mark the one that gives the target", async () => {
  const task = generateTask({ ...SPEC, outputs: [2, 3] });
  const goal = task.functions.find((fn) =>
    outputsOf(fn).some(({ name }) => name === task.target.variable)
  )!;
  const lines = toMermaid(task).split("\n");
  for (const fn of task.functions) {
    const names = [fn.name, ...outputsOf(fn).map(({ name }) => name)];
    const style = fn === goal ? "target" : fn.role;
    assert(lines.includes(`  ${fn.name}["${names.join("<br/>")}"]:::${style}`), fn.name);
    assert(toDot(task).includes(`${fn.name} [label="${names.join("\\n")}"`), fn.name);
  }
  assertEquals(toDot(task).match(/penwidth=3/g)?.length, 1);
  const svg = await toSvg(task);
  for (const { name } of task.functions.flatMap(outputsOf)) assert(svg.includes(`>${name}<`), name);
});
