import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { completeSpec, generateGraph, type GraphSpec } from "../../../lib/tasks/graphs/graph.ts";
import fc from "../../support/fast_check.ts";
import { everySpec, longestPaths, specs } from "../../support/generated.ts";

const PLAIN: GraphSpec = { core: 5, depth: 2, connected: 0, disconnected: 0, seed: 1 };

function edgesOf(parents: readonly (readonly number[])[]): number {
  return parents.reduce((sum, of) => sum + of.length, 0);
}

Deno.test("generateGraph() makes as many functions of each role as asked for, core first (FuncBenchGen 3.2)", () => {
  everySpec((spec) => {
    const { roles, parents } = generateGraph(spec);
    assertEquals(roles, [
      ...new Array(spec.core).fill("core"),
      ...new Array(spec.connected).fill("connected"),
      ...new Array(spec.disconnected).fill("disconnected"),
    ]);
    assertEquals(parents.length, roles.length);
  });
});

Deno.test("generateGraph() makes no cycle and no edge twice (FuncBenchGen 3.2, A.1)", () => {
  everySpec((spec) => {
    const { parents } = generateGraph(spec);
    longestPaths(parents);
    for (const of of parents) {
      assertEquals(new Set(of).size, of.length);
      for (const parent of of) assert(Number.isInteger(parent) && parent in parents);
    }
  });
});

Deno.test("generateGraph() gives connected functions 1 to 3 core parents and no children (FuncBenchGen 3.2, A.1)", () => {
  everySpec((spec) => {
    const { parents, roles } = generateGraph(spec);
    parents.forEach((of, node) => {
      for (const parent of of) assertNotEquals(roles[parent], "connected");
      if (roles[node] !== "connected") return;
      assert(of.length >= 1 && of.length <= 3, `${of.length} parents`);
      for (const parent of of) assertEquals(roles[parent], "core");
    });
  });
});

Deno.test("generateGraph() keeps disconnected functions among themselves, with half as many edges (FuncBenchGen 3.2, A.1)", () => {
  everySpec((spec) => {
    const { parents, roles } = generateGraph(spec);
    const theirs = parents.filter((_, node) => roles[node] === "disconnected");
    for (const of of theirs) {
      for (const parent of of) assertEquals(roles[parent], "disconnected");
    }
    parents.forEach((of, node) => {
      if (roles[node] === "disconnected") return;
      for (const parent of of) assertNotEquals(roles[parent], "disconnected");
    });
    assert(edgesOf(theirs) <= Math.floor(spec.disconnected / 2));
  });
});

Deno.test("generateGraph() adds at most extraEdges edges, and none when there are to be none", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const { core, extraEdges } = completeSpec(spec);
    const edges = edgesOf(generateGraph(spec).parents.slice(0, core));
    assert(edges >= core - 1 && edges <= core - 1 + extraEdges);
    const bare = generateGraph({ ...spec, extraEdges: 0 });
    assertEquals(edgesOf(bare.parents.slice(0, core)), core - 1);
  }));
});

Deno.test("generateGraph() makes a star of depth 1 and a path of depth core - 1 (FuncBenchGen 3.2, 4.4)", () => {
  fc.assert(fc.property(fc.integer({ min: 2, max: 60 }), fc.maxSafeNat(), (core, seed) => {
    const star = generateGraph({ ...PLAIN, core, depth: 1, seed });
    star.parents.forEach((of, node) =>
      assertEquals(of.length, node === star.target ? core - 1 : 0)
    );
    const path = generateGraph({ ...PLAIN, core, depth: core - 1, seed });
    const places = longestPaths(path.parents);
    assertEquals(new Set(places).size, core);
    path.parents.forEach((of, node) => {
      if (places[node] === 0) return;
      assert(of.some((parent) => places[parent] === places[node]! - 1));
    });
  }));
});

Deno.test("generateGraph() attaches new core functions all over the graph, not just at the target (FuncBenchGen A.1)", () => {
  const grown = new Set<number>();
  for (let seed = 0; seed < 100; seed++) {
    const { parents } = generateGraph({ ...PLAIN, core: 8, depth: 3, extraEdges: 0, seed });
    parents.forEach((of, node) => of.some((parent) => parent > 3) && grown.add(node));
  }
  // Node 0 starts the longest path: a parent of it would make that path longer.
  assertEquals([1, 2, 3, 4, 5, 6].filter((node) => !grown.has(node)), []);
  assert(!grown.has(0));
});

Deno.test("generateGraph() gives connected functions 1, 2 and 3 parents about equally often", () => {
  const { parents } = generateGraph({ ...PLAIN, core: 10, connected: 3000 });
  const counts = [1, 2, 3].map((wanted) =>
    parents.slice(10).filter((of) => of.length === wanted).length
  );
  // A share of a third of 3000 has a standard deviation of 26.
  for (const count of counts) assert(Math.abs(count - 1000) < 5 * 26, String(counts));
  const used = new Set(parents.slice(10).flat());
  assertEquals(used.size, 10);
});

Deno.test("generateGraph() does not let distractors move the core, nor one kind the other (FuncBenchGen 4.3)", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const all = generateGraph(spec);
    const bare = generateGraph({ ...spec, connected: 0, disconnected: 0 });
    assertEquals(all.parents.slice(0, spec.core), bare.parents);
    assertEquals(all.target, bare.target);
    const connected = generateGraph({ ...spec, disconnected: 0 });
    assertEquals(all.parents.slice(0, spec.core + spec.connected), connected.parents);
    const disconnected = generateGraph({ ...spec, connected: 0 });
    assertEquals(
      all.parents.slice(spec.core + spec.connected)
        .map((of) => of.map((parent) => parent - spec.connected)),
      disconnected.parents.slice(spec.core),
    );
  }));
});

Deno.test("generateGraph() copes with a long path", () => {
  const { parents } = generateGraph({ ...PLAIN, core: 3000, depth: 2999, extraEdges: 0 });
  assertEquals(Math.max(...longestPaths(parents)), 2999);
});

Deno.test("completeSpec() fills in the defaults", () => {
  assertEquals(completeSpec(PLAIN), {
    ...PLAIN,
    types: 3,
    inputs: [1, 2],
    extraEdges: 10,
    linking: "types",
  });
  const least = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 0 };
  assertEquals(completeSpec(least), {
    ...least,
    types: 1,
    inputs: [1, 2],
    extraEdges: 2,
    linking: "types",
  });
});

Deno.test("completeSpec() keeps what is given and leaves a complete spec as it is", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const complete = completeSpec(spec);
    assertEquals({ ...complete, ...spec }, complete);
    assertEquals(completeSpec(complete), complete);
  }));
});

/** What a caller without types may hand in; JSON cannot carry all of it. */
const NO_WHOLE_NUMBERS: readonly unknown[] = [-1, 1.5, NaN, Infinity, 2 ** 53, "5", true, [5], {}];

function assertRefused(changed: Record<string, unknown>, ...mentions: string[]): void {
  for (const act of [completeSpec, generateGraph]) {
    const error = assertThrows(
      () => act({ ...PLAIN, ...changed } as unknown as GraphSpec),
      RangeError,
    );
    assert(
      /^Cannot generate a graph as .+: .+/.test(error.message),
      `no action, rule and state: ${error.message}`,
    );
    for (const mention of mentions) assert(error.message.includes(mention), error.message);
  }
}

for (const field of ["core", "depth", "connected", "disconnected", "seed"]) {
  Deno.test(`completeSpec() refuses a ${field} that is no whole number in range`, () => {
    for (const value of [...NO_WHOLE_NUMBERS, null, undefined]) {
      assertRefused({ [field]: value }, field);
    }
  });
}

for (const field of ["types", "extraEdges"]) {
  Deno.test(`completeSpec() refuses ${field} that are no whole number in range`, () => {
    for (const value of NO_WHOLE_NUMBERS) assertRefused({ [field]: value }, field);
  });
}

Deno.test("completeSpec() refuses counts below their least and depths that cannot be", () => {
  assertRefused({ core: 0 }, "core must be a whole number from 1 to 100000: it is 0");
  assertRefused({ types: 0 }, "types must be a whole number from 1 to 100000: it is 0");
  assertRefused({ depth: 5 }, "depth must be below core: depth is 5, core is 5");
  assertRefused({ depth: 9 }, "depth must be below core: depth is 9, core is 5");
  assertRefused({ depth: 0 }, "depth must be at least 1", "depth is 0, core is 5");
  assertRefused({ seed: 2 ** 53 }, "from 0 to 9007199254740991");
  // It blames the field that was given, not a default that follows from it.
  assertRefused({ core: 2 ** 52 }, "core");
  assertRefused({ core: 1, depth: 1 }, "depth must be 0 when core is 1: depth is 1");
});

Deno.test("completeSpec() refuses inputs that are no range of counts", () => {
  for (
    const inputs of [
      [],
      [1],
      [1, 2, 3],
      [0, 1],
      [2, 1],
      [1.5, 2],
      [1, NaN],
      ["1", "2"],
      "12",
      5,
      {},
    ]
  ) {
    assertRefused({ inputs }, "inputs");
  }
  assertRefused({ inputs: [3, 2] }, "inputs are 3..2");
});

Deno.test("completeSpec() refuses an unknown linking", () => {
  for (const linking of ["type", "", "Types", 1, {}, ["types"]]) {
    assertRefused({ linking }, "linking must be one of types, names");
  }
});
