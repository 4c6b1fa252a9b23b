// What gates, budgets and prices ask of a plan.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { type BaselineChoice, completePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import type { Suite } from "../../lib/runs/suite.ts";

const UNSIZED: Suite = {
  name: "small",
  seed: 1,
  tasks: [{ core: [3, 5], depth: 2 }],
  models: ["a", "b"],
};
const SMALL: Suite = { ...UNSIZED, graphs: 3 };

const SEQUENTIAL = { successRate: 0.9, margin: 0.2, sequential: true };

Deno.test("planSuite() lets a sequential gate set the number of graphs: its largest size", () => {
  for (const core of [[3], [3, 5], [3, 4, 5]]) {
    const suite = { ...UNSIZED, tasks: [{ core, depth: 2 }], gate: SEQUENTIAL, repetitions: 2 };
    const { gate, rule, resolved, trials } = planSuite(suite);
    assertEquals(gate, completePolicy(SEQUENTIAL));
    assertEquals(rule, sequentialRule(completePolicy(SEQUENTIAL), core.length));
    const { fixedSize, largestSize, blockSize } = rule!;
    assertEquals(blockSize, core.length);
    assertEquals(resolved.graphs, largestSize / core.length);
    assert(largestSize >= 1.5 * fixedSize && largestSize < 1.5 * fixedSize + core.length);
    assertEquals(trials.length, largestSize * 2 * 2);
  }
});

Deno.test("planSuite() refuses a number of graphs beside a sequential gate", () => {
  const error = assertThrows(() => planSuite({ ...SMALL, gate: SEQUENTIAL }), InputError);
  assertEquals(
    error.message,
    "Cannot plan suite small as a sequential gate sets the number of graphs itself: graphs is 3; " +
      "leave it out",
  );
});

Deno.test("planSuite() plans the fixed size for shards, none of which sees enough to stop", () => {
  for (const core of [[3], [3, 5], [3, 4, 5]]) {
    const suite = { ...UNSIZED, tasks: [{ core, depth: 2 }], gate: SEQUENTIAL };
    const { rule: whole } = planSuite(suite);
    const { gate, rule, resolved } = planSuite(suite, { sharded: true });
    assertEquals([rule, gate], [undefined, completePolicy(SEQUENTIAL)]);
    assertEquals(resolved.graphs, Math.ceil(whole!.fixedSize / core.length));
  }
  // Other plans are the same in shards.
  for (const gate of [undefined, { successRate: 0.9 }]) {
    const suite = { ...SMALL, ...(gate === undefined ? {} : { gate }) };
    assertEquals(planSuite(suite, { sharded: true }), planSuite(suite));
  }
});

Deno.test("planSuite() says why a sequential gate cannot be planned, and of which suite", () => {
  for (const gate of [SEQUENTIAL, { baseline: "a", sequential: true }]) {
    const error = assertThrows(
      () => planSuite({ ...UNSIZED, gate: { ...gate, margin: 0.00001 } }),
      InputError,
    );
    assertStringIncludes(error.message, "Cannot plan suite small: at gate: ");
    assertStringIncludes(error.message, "it must need at most 10000000 trials");
  }
});

Deno.test("planSuite() refuses a plan of more than 300,000 trials", () => {
  const error = assertThrows(
    () => planSuite({ ...SMALL, graphs: 100_000, repetitions: 3 }),
    InputError,
  );
  assertEquals(
    error.message,
    "Cannot plan suite small as it must have at most 300000 trials: it has 1200000",
  );
  const gate = { ...SEQUENTIAL, margin: 0.001 };
  assertThrows(() => planSuite({ ...UNSIZED, gate }), InputError, "at most 300000 trials: it has");
});

Deno.test("planSuite() takes a model of the suite for a baseline, by its name in results", () => {
  const models = ["a", { model: "b", name: "old b" }];
  for (const baseline of ["a", "old b", { model: "old b" }]) {
    const { gate } = planSuite({ ...SMALL, models, gate: { baseline } });
    assertEquals(gate, completePolicy({ baseline }));
  }
  const error = assertThrows(
    () => planSuite({ ...SMALL, models, gate: { baseline: "b" } }, { source: "s.jsonc" }),
    InputError,
  );
  assertEquals(
    error.message,
    "Cannot plan s.jsonc as gate.baseline must be one of its models, or a file, as " +
      '{ file: "baseline.json" }: it is b, and the models are a, old b',
  );
});

Deno.test("planSuite() refuses a baseline that nothing is compared with: such a gate would pass", () => {
  const alone: [models: string[], baseline: string | BaselineChoice][] = [
    [["a"], "a"],
    [["a", "b"], { strategy: "baseline" }],
    [["a", "b"], { perturbation: "none" }],
    [["a"], { model: "a", strategy: "baseline" }],
  ];
  for (const [models, baseline] of alone) {
    assertThrows(
      () => planSuite({ ...SMALL, models, gate: { baseline } }),
      InputError,
      "Cannot plan suite small as gate.baseline must leave something to compare with it: all " +
        "trials are the baseline's",
    );
  }
});

Deno.test("planSuite() takes a file for a baseline whatever the models", () => {
  for (const baseline of [{ file: "b.json" }, { file: "b.json", model: "gone" }]) {
    const { gate } = planSuite({ ...SMALL, models: ["a"], gate: { baseline } });
    assertEquals(gate, completePolicy({ baseline }));
  }
});

Deno.test("planSuite() needs a price of every model for budgets and ceilings in dollars", () => {
  const prices = { a: { input: 1, output: 2 }, "old b": { input: 1, output: 2 } };
  const models = ["a", { model: "b", name: "old b" }];
  const dollars = [
    { budget: { usd: 5 } },
    { gate: { successRate: 0.9, atMost: { usd: 0.1 } } },
  ];
  for (const traits of dollars) {
    const suite = { ...SMALL, ...traits };
    assertThrows(() => planSuite(suite), InputError, "the cost of model a");
    assertThrows(() => planSuite({ ...suite, prices }), InputError, "the cost of model b");
    assertEquals(planSuite({ ...suite, models, prices }).prices, prices);
  }
  planSuite({ ...SMALL, budget: { tokens: 5 }, gate: { successRate: 0.9, atMost: { tokens: 9 } } });
});

Deno.test("planSuite() needs a price of models that strategies ask aside, too", () => {
  const prices = { a: { input: 1, output: 2 }, b: { input: 1, output: 2 } };
  const strategies = [
    "baseline",
    {
      strategy: "plan_then_call",
      models: { plan: "large", call: { model: "c", name: "small" } },
    },
  ];
  const suite = { ...SMALL, strategies };
  const small = { ...prices, small: { input: 1, output: 1 } };
  for (
    const traits of [
      { budget: { usd: 5 } },
      { gate: { successRate: 0.9, atMost: { usd: 0.1 } } },
    ]
  ) {
    assertThrows(
      () => planSuite({ ...suite, ...traits, prices }),
      InputError,
      "the cost of model large",
    );
    assertThrows(
      () => planSuite({ ...suite, ...traits, prices: { ...prices, large: small.a } }),
      InputError,
      "the cost of model small",
    );
    planSuite({ ...suite, ...traits, prices: { ...small, large: small.a } });
  }
  planSuite({ ...suite, prices });
});

Deno.test("planSuite() takes a strategy of the suite for a baseline, by its name in results", () => {
  const strategies = ["baseline", { strategy: "repair", attempts: 1, name: "mend" }];
  const suite = { ...SMALL, strategies };
  for (const strategy of ["baseline", "mend"]) {
    const { gate } = planSuite({ ...suite, gate: { baseline: { strategy } } });
    assertEquals(gate, completePolicy({ baseline: { strategy } }));
  }
  assertThrows(
    () => planSuite({ ...suite, gate: { baseline: { strategy: "repair" } } }),
    InputError,
    "it is repair, and the strategies are baseline, mend",
  );
});

Deno.test("planSuite() hands on budget and prices, where there are any", () => {
  const given: Partial<Suite> = {
    budget: { tokens: 5 },
    prices: { a: { input: 1, output: 2 } },
  };
  const { budget, prices } = planSuite({ ...SMALL, ...given });
  assertEquals({ budget, prices } as unknown, given);
  const none = planSuite(SMALL);
  assertEquals(["gate", "rule", "budget", "prices"].filter((name) => name in none), []);
});

Deno.test("planSuite() asks a ceiling of calls that are not mended for a strategy that sends them back", () => {
  const gate = { successRate: 0.5, atMost: { unmended: 0.3 } };
  for (const strategies of [undefined, ["baseline", "retry"], ["restate+alternative"]]) {
    const suite = { ...SMALL, gate, ...(strategies === undefined ? {} : { strategies }) };
    assertStringIncludes(
      assertThrows(() => planSuite(suite), InputError).message,
      "gate.atMost.unmended is about calls that the strategy repair sends back",
    );
  }
  const named = { strategy: "repair+retry", name: "fix and retry" };
  assertEquals(planSuite({ ...SMALL, gate, strategies: ["baseline", named] }).trials.length, 24);
});
