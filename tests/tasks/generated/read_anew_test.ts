// Tasks read anew from the texts that a model gets, by few lines that share nothing with the generator: what a
// reader of the FuncBenchGen paper would work out from them.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { GraphSpec } from "../../../lib/tasks/generated/graph.ts";
import { generateTask } from "../../../lib/tasks/generated/task.ts";
import { toOpenAITool } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";

/** A function as its description tells of it; a variable as `type subtype`. */
interface Told {
  readonly name: string;
  readonly inputs: readonly { readonly name: string; readonly kind: string }[];
  readonly output: { readonly name: string; readonly kind: string };
}

/** What prompt and tools say, and the graph that follows from types and subtypes alone. */
function readTask(spec: GraphSpec) {
  const task = generateTask(spec);
  const clauses = /variable (\w+) \((type_\w+ with subtype_\w+)\)/g;
  const functions = task.tools.map((tool): Told => {
    const { function: { name, description } } = toOpenAITool(tool);
    const all = [...description.matchAll(clauses)].map(([, name, kind]) => ({
      name: name!,
      kind: kind!,
    }));
    return { name, inputs: all.slice(0, -1), output: all.at(-1)! };
  });
  const target = /correct value of variable (\w+)\./.exec(task.prompt)![1]!;
  const given = new Map(
    [...task.prompt.matchAll(/^Variable (\w+) = (\d+)$/gm)].map((
      [, name, value],
    ) => [name!, value!]),
  );
  const producers = new Map(functions.map((made) => [made.output.kind, made]));
  const parents = new Map(functions.map((made) => [
    made.name,
    made.inputs.flatMap(({ kind }) => producers.get(kind) ?? []),
  ]));
  const needed = new Set<Told>();
  const need = (made: Told) => {
    if (needed.has(made)) return;
    needed.add(made);
    parents.get(made.name)!.forEach(need);
  };
  need(functions.find(({ output }) => output.name === target)!);
  return { task, functions, given, producers, parents, needed };
}

const specs = fc.integer({ min: 2, max: 24 }).chain((core) =>
  fc.record({
    core: fc.constant(core),
    depth: fc.integer({ min: 1, max: core - 1 }),
    connected: fc.nat({ max: 20 }),
    disconnected: fc.nat({ max: 20 }),
    seed: fc.maxSafeNat(),
  })
);

Deno.test("types and subtypes in the descriptions alone link functions as the graph does (FuncBenchGen 3.2, B.2)", () => {
  fc.assert(fc.property(specs, (spec) => {
    const { task, functions, producers, parents } = readTask(spec);
    assertEquals(producers.size, functions.length, "a subtype is of one variable alone");
    for (const { name, dependsOn } of task.functions) {
      assertEquals(parents.get(name)!.map((one) => one.name), dependsOn);
    }
    // Names link nothing: no parameter is called as what a function returns.
    const returned = new Set(functions.map(({ output }) => output.name));
    for (const { inputs } of functions) {
      assertEquals(inputs.filter(({ name }) => returned.has(name)), []);
    }
  }));
});

Deno.test("inputs of the prompt are linked by their names to what needed functions take and none returns (FuncBenchGen B.2)", () => {
  fc.assert(fc.property(specs, (spec) => {
    const { given, needed, producers } = readTask(spec);
    const open = [...needed].flatMap(({ inputs }) =>
      inputs.flatMap(({ name, kind }) => producers.has(kind) ? [] : [name])
    );
    assertEquals([...given.keys()].sort(), open.sort());
    for (const value of given.values()) assert(/^\d{3}$/.test(value), value);
  }));
});

Deno.test("functions that the target needs are as many as asked for, and the longest path to it is the depth in edges (FuncBenchGen 3.2)", () => {
  fc.assert(fc.property(specs, (spec) => {
    const { functions, parents, needed } = readTask(spec);
    assertEquals(needed.size, spec.core);
    const depths = new Map<Told, number>();
    const depthOf = (made: Told): number => {
      const known = depths.get(made);
      if (known !== undefined) return known;
      const depth = Math.max(0, ...parents.get(made.name)!.map((parent) => 1 + depthOf(parent)));
      depths.set(made, depth);
      return depth;
    };
    assertEquals(Math.max(...[...needed].map(depthOf)), spec.depth);
    // The others take what needed functions return, or have nothing to do with them.
    const others = functions.filter((made) => !needed.has(made));
    const [fed, apart] = [true, false].map((is) =>
      others.filter(({ name }) => parents.get(name)!.some((one) => needed.has(one)) === is)
    );
    assertEquals([fed!.length, apart!.length], [spec.connected, spec.disconnected]);
    const between = apart!.reduce((sum, { name }) => sum + parents.get(name)!.length, 0);
    assert(between <= Math.floor(spec.disconnected / 2), `${between} edges`);
    apart!.forEach(depthOf);
  }));
});

Deno.test("up to twice as many edges as functions are tried between the functions of a core (FuncBenchGen A.1)", () => {
  const size = { core: 20, connected: 0, disconnected: 0 };
  for (const depth of [9, 19]) {
    const further = Array.from({ length: 100 }, (_, seed) => {
      const { parents, needed } = readTask({ ...size, depth, seed });
      return [...needed].reduce((sum, { name }) => sum + parents.get(name)!.length, 0) - 19;
    });
    assert(Math.min(...further) >= 0 && Math.max(...further) <= 40, `${further}`);
    if (depth !== 19) continue;
    // On a path of all functions 171 of 380 ordered pairs are edges that fit and are not there yet: of 40 tries so
    // many find one that no other has found, with a standard deviation of 0.3 over these graphs.
    const expected = 171 * (1 - (1 - 1 / 380) ** 40);
    const mean = further.reduce((sum, count) => sum + count, 0) / further.length;
    assert(Math.abs(mean - expected) < 1.5, `${mean} beside ${expected}`);
  }
});

Deno.test("graphs of the sizes of Figures 11 and 12 are there for every seed, and another one for each (FuncBenchGen A.2)", () => {
  const sizes = [
    { core: 10, depth: 5, connected: 10, disconnected: 0 },
    { core: 20, depth: 3, connected: 5, disconnected: 5 },
    { core: 20, depth: 11, connected: 5, disconnected: 5 },
  ];
  const sources = sizes.map((size) => {
    const [one, other] = [0, 100].map((seed) => readTask({ ...size, seed }));
    const shape = ({ parents }: typeof one & object) =>
      [...parents.values()].map(({ length }) => length).join();
    assertNotEquals(shape(one!), shape(other!));
    return [...one!.needed].filter(({ name }) => one!.parents.get(name)!.length === 0).length;
  });
  // Of as many functions more are in the first layer where the longest path is shorter.
  assert(sources[1]! > sources[2]!, `${sources}`);
});
