/**
 * What the tests of generated tasks share: specs of every shape, and the plain facts about graphs
 * and tasks, worked out anew and slowly, so that they can be held against the code.
 */

import { CUES, type GraphSpec, LINKINGS, SURFACES } from "../../lib/tasks/graphs/graph.ts";
import type { Cell } from "../../lib/runs/suite.ts";
import type { Task } from "../../lib/tasks/graphs/task.ts";
import { outputsOf, type TaskFunction } from "../../lib/tasks/graphs/wording.ts";
import type { TaskSpec } from "../../lib/tasks/task_kind.ts";
import fc from "./fast_check.ts";

/** What a task is generated from, where no other kind of task can be. */
export function generatedFrom<Spec extends TaskSpec | Cell>(
  spec: Spec,
): Extract<Spec, { readonly core: unknown }> {
  if (!("core" in spec)) throw new TypeError(`${JSON.stringify(spec)} is not generated`);
  return spec as Extract<Spec, { readonly core: unknown }>;
}

/** The seed of a task that has one, whatever its kind. */
export function seedOf(spec: TaskSpec): number {
  if (!("seed" in spec)) throw new TypeError(`${JSON.stringify(spec)} has no seed`);
  return spec.seed;
}

/** Specs over the whole space of parameters, up to `most` core and `most` of either distractor. */
export function specs(most = 60): fc.Arbitrary<GraphSpec> {
  const count = fc.nat({ max: most });
  return fc.integer({ min: 1, max: most }).chain((core) =>
    fc.record({
      core: fc.constant(core),
      depth: core === 1 ? fc.constant(0) : fc.integer({ min: 1, max: core - 1 }),
      connected: count,
      disconnected: count,
      seed: fc.maxSafeNat(),
      types: fc.integer({ min: 1, max: 40 }),
      inputs: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat({ max: 3 }))
        .map(([fewest, more]): [number, number] => [fewest, fewest + more]),
      extraEdges: fc.nat({ max: 200 }),
      linking: fc.constantFrom(...LINKINGS),
    }, { requiredKeys: ["core", "depth", "connected", "disconnected", "seed"] })
  );
}

/** Specs of either surface, with cues or without. */
export function surfacedSpecs(most = 60): fc.Arbitrary<GraphSpec> {
  return fc.tuple(specs(most), fc.constantFrom(...SURFACES), fc.constantFrom(...CUES))
    .map(([spec, surface, cues]) => ({ ...spec, surface, cues }));
}

/** The largest specs that must work. */
export const BIG_SPECS: readonly GraphSpec[] = [1, 20, 199].map((depth) => ({
  core: 200,
  depth,
  connected: 500,
  disconnected: 500,
  seed: 2 ** 53 - 1 - depth,
}));

/** Specs whose functions have several outputs. */
export function severalSpecs(most?: number): fc.Arbitrary<GraphSpec> {
  return fc.tuple(specs(most), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 2 })).map(
    ([spec, fewest, more]) => ({
      ...spec,
      outputs: [fewest, fewest + more + Number(fewest === 1)],
    }),
  );
}

/** Runs `check` on random specs and on a big one; `deno task soak` on all of these. */
export function everySpec(check: (spec: GraphSpec) => void, numRuns = 60): void {
  for (const spec of fc.IS_SOAK ? BIG_SPECS : BIG_SPECS.slice(1, 2)) check(spec);
  fc.assert(fc.property(specs(), check), { numRuns });
}

/** The length of the longest path that ends at each node; throws if there is a cycle. */
export function longestPaths(parents: readonly (readonly number[])[]): number[] {
  const length = new Array<number>(parents.length).fill(0);
  const waiting = parents.map((of) => of.length);
  const children = parents.map((): number[] => []);
  parents.forEach((of, node) => of.forEach((parent) => children[parent]!.push(node)));
  const ready = waiting.flatMap((left, node) => left === 0 ? [node] : []);
  for (const node of ready) {
    for (const child of children[node]!) {
      length[child] = Math.max(length[child]!, length[node]! + 1);
      if (--waiting[child]! === 0) ready.push(child);
    }
  }
  if (ready.length !== parents.length) throw new Error("the graph has a cycle");
  return length;
}

/** Every node from which a path leads to `target`, and `target` itself. */
export function ancestors(parents: readonly (readonly number[])[], target: number): Set<number> {
  const found = new Set([target]);
  for (const node of found) parents[node]!.forEach((parent) => found.add(parent));
  return found;
}

/** The core functions of a task, producers before consumers. */
export function coreInOrder(task: Task): TaskFunction[] {
  const core = task.functions.filter(({ role }) => role === "core");
  const done = new Set<string>();
  const order: TaskFunction[] = [];
  while (order.length < core.length) {
    const ready = core.filter(({ name, dependsOn }) =>
      !done.has(name) && dependsOn.every((other) => done.has(other))
    );
    if (ready.length === 0) throw new Error("the core functions wait for each other");
    for (const made of ready) done.add(made.name);
    order.push(...ready);
  }
  return order;
}

/**
 * What descriptions say, read without the generator: the types and subtypes that each function takes and
 * gives, or the names where they give no types.
 */
function readDescriptions(task: Task): { takes: Set<string>; gives: Set<string> }[] {
  const given = new Map(task.inputs);
  return task.tools.map(({ description }) => {
    const [takes, gives] = description.split(" to produce ").map((half) =>
      new Set(
        Array.from(half.matchAll(/variable (\w+)(?: \(([^)]*)\))?/g), ([, name, types]) =>
          given.has(name!) ? name! : types ?? name!),
      )
    );
    return { takes: takes!, gives: gives! };
  });
}

/** The fewest functions that give the target, over all sets of functions: for a dozen functions at most. */
export function fewestFunctions(task: Task): number {
  const functions = readDescriptions(task);
  const target = task.functions.flatMap(outputsOf)
    .find(({ name }) => name === task.target.variable)!;
  const wanted = task.spec.linking === "names"
    ? target.name
    : `${target.type} with ${target.subtype}`;
  let fewest = Infinity;
  for (let chosen = 0; chosen < 2 ** functions.length; chosen++) {
    const set = functions.filter((_, place) => (chosen >> place) % 2 === 1);
    if (set.length >= fewest) continue;
    const known = new Set(task.inputs.keys());
    for (let before = -1; before < known.size;) {
      before = known.size;
      for (const { takes, gives } of set) {
        if (takes.isSubsetOf(known)) { for (const one of gives) known.add(one); }
      }
    }
    if (known.has(wanted)) fewest = set.length;
  }
  return fewest;
}

/** The right arguments of a function, as far as its variables have values. */
export function rightArguments(task: Task, made: TaskFunction): Record<string, number> {
  return Object.fromEntries(
    made.parameters.map(({ name, variable }) => [name, task.values.get(variable) ?? 999_999]),
  );
}

/** Whole numbers that sum up to at most the third, the number of trials or pairs. */
export function pairs(most: number): fc.Arbitrary<[gained: number, lost: number, pairs: number]> {
  return fc.tuple(fc.integer({ min: 1, max: most }), fc.nat(), fc.nat()).map(
    ([all, one, other]) => {
      const gained = one % (all + 1);
      return [gained, other % (all - gained + 1), all];
    },
  );
}
