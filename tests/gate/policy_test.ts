import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { parseWith } from "../../lib/base/input.ts";
import { FAILURE_TYPES, SIGNS } from "../../lib/calls/failure_types.ts";
import type { Ceilings } from "../../lib/gate/ceilings.ts";
import {
  type BaselineChoice,
  completePolicy,
  GATE_POLICY,
  type GatePolicy,
  hypothesesOf,
  isUpgrade,
} from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import type { Suite } from "../../lib/runs/suite.ts";

const RATE = { successRate: 0.9 };
const UPGRADE = { baseline: "gpt-5" };

/** The message for an unusable policy. */
function faultOf(policy: unknown): string {
  return assertThrows(() => parseWith(GATE_POLICY, policy, "it"), InputError).message;
}

Deno.test("completePolicy() fills in the defaults of an absolute gate, and keeps what is given", () => {
  assertEquals(completePolicy(RATE), {
    successRate: 0.9,
    margin: 0.05,
    confidence: 0.95,
    power: 0.95,
    coverage: 0.95,
    undecided: "fail",
    sequential: false,
    atMost: {},
  });
  const policy = {
    successRate: 0.9,
    margin: 0,
    confidence: 0.99,
    power: 0.8,
    coverage: 1,
    undecided: "pass",
    sequential: false,
    atMost: { tokens: 9 },
  } as const;
  assertEquals(completePolicy(policy), policy);
});

Deno.test("completePolicy() fills in the defaults of an upgrade gate, and spells out its baseline", () => {
  assertEquals(completePolicy(UPGRADE), {
    baseline: { model: "gpt-5" },
    discordance: 0.2,
    margin: 0.05,
    confidence: 0.95,
    power: 0.95,
    coverage: 0.95,
    undecided: "fail",
    sequential: false,
    atMost: {},
  });
  const baseline = { file: "b.json", strategy: "plain" };
  const complete = completePolicy({ baseline, discordance: 0.3 });
  assert(isUpgrade(complete));
  assertEquals([complete.baseline, complete.discordance], [baseline, 0.3]);
});

Deno.test("completePolicy() takes the confidence for the power, unless that is given", () => {
  assertEquals(completePolicy({ ...RATE, confidence: 0.99 }).power, 0.99);
  assertEquals(completePolicy({ ...UPGRADE, confidence: 0.99, power: 0.8 }).power, 0.8);
});

Deno.test("hypothesesOf() are the rate and the margin below it, or no difference and the margin", () => {
  assertEquals(hypothesesOf(completePolicy({ successRate: 0.75, margin: 0.25 })), {
    ...{ pass: 0.5, fail: 0.75, gap: 0.25 },
  });
  assertEquals(hypothesesOf(completePolicy({ ...UPGRADE, margin: 0.1 })), {
    pass: -0.1,
    fail: 0,
    gap: 0.1,
  });
});

Deno.test("GATE_POLICY accepts every value at the edge of its range", () => {
  const policies: GatePolicy[] = [
    { successRate: 1 },
    { successRate: 0.051 },
    { successRate: 0.01, margin: 0 },
    { successRate: 0.9, margin: 0.89, confidence: 0.501, coverage: 1, undecided: "pass" },
    { successRate: 0.9, confidence: 0.9999, coverage: 0.01, undecided: "fail" },
    { successRate: 0.9, power: 0.501, sequential: true },
    { successRate: 0.9, power: 0.9999, margin: 0, sequential: false },
    { successRate: 0.9, infrastructure: [{ status: 100 }, { status: 599, message: "x" }] },
    { baseline: "gpt-5", infrastructure: [] },
    { baseline: "gpt-5" },
    { baseline: "gpt-5", margin: 0, discordance: 0.001 },
    { baseline: "gpt-5", margin: 0.19 },
    { baseline: { file: "b.json" }, discordance: 1, margin: 0.99 },
    { baseline: { model: "m" }, sequential: true },
    { baseline: { strategy: "restate" } },
    { baseline: { file: "b.json", model: "m", strategy: "s", perturbation: "p" } },
  ];
  for (const policy of policies) assertEquals(parseWith(GATE_POLICY, policy, "it"), policy);
});

Deno.test("GATE_POLICY accepts a ceiling for every failure type, sign and mean", () => {
  const shares = <K extends string>(names: readonly K[]) =>
    Object.fromEntries(names.map((name, place) => [name, place % 2 / 2]));
  const atMost = {
    failures: shares(FAILURE_TYPES),
    failureShifts: shares(FAILURE_TYPES),
    behaviours: shares(SIGNS),
    tokens: 0.5,
    usd: 0.001,
  };
  const policy = { ...UPGRADE, atMost };
  assertEquals(parseWith(GATE_POLICY, policy, "it") as unknown, policy);
  assertEquals(parseWith(GATE_POLICY, { ...RATE, atMost: {} }, "it"), { ...RATE, atMost: {} });
});

/** Policies with one thing wrong, the path that must be named, and words of the rule. */
const FAULTS: [Record<string, unknown>, path: string, rule: string][] = [
  [{}, "successRate", "give either successRate or baseline"],
  [{ ...RATE, ...UPGRADE }, "successRate", "give either successRate or baseline"],
  [{ successRate: 0 }, "successRate", "must be above 0"],
  [{ successRate: "0.9" }, "successRate", "expected number"],
  [{ ...RATE, margin: -0.01 }, "margin", "must be at least 0"],
  [{ ...RATE, margin: 1 }, "margin", "must be below 1"],
  [{ ...UPGRADE, power: 1 }, "power", "must be below 1"],
  [{ ...RATE, infrastructure: [{ status: 600 }] }, "infrastructure[0].status", "at most 599"],
  [{ successRate: 0.05 }, "margin", "margin (default 0.05) must be below successRate"],
  [{ ...RATE, confidence: 0.5 }, "confidence", "must be above 0.5"],
  [{ ...RATE, confidence: 95 }, "confidence", "must be below 1"],
  [{ ...RATE, power: 0.5 }, "power", "must be above 0.5"],
  [{ ...RATE, coverage: 0 }, "coverage", "must be above 0"],
  [{ ...RATE, coverage: 1.1 }, "coverage", "must be at most 1"],
  [{ ...RATE, infrastructure: [{}] }, "infrastructure[0]", "must have a status or a message"],
  [
    { ...RATE, infrastructure: [{ message: "" }] },
    "infrastructure[0].message",
    "must not be empty",
  ],
  [{ ...RATE, undecided: "maybe" }, "undecided", '"fail"|"pass"'],
  [{ ...RATE, sequential: "yes" }, "sequential", "expected boolean"],
  [
    { ...RATE, sequential: true, margin: 0 },
    "margin",
    "a sequential gate needs a margin above 0",
  ],
  [{ ...RATE, sucessRate: 0.8 }, "the top", '"sucessRate"'],
  [{ baseline: "" }, "baseline", "must not be empty"],
  [{ baseline: {} }, "baseline", "must name a file, a model or a strategy"],
  [{ baseline: { file: "" } }, "baseline.file", "must not be empty"],
  [{ baseline: { modell: "m" } }, "baseline", '"modell"'],
  [{ ...UPGRADE, discordance: 0 }, "discordance", "must be above 0"],
  [{ ...UPGRADE, discordance: 1.1 }, "discordance", "must be at most 1"],
  [
    { ...UPGRADE, discordance: 0.05 },
    "discordance",
    "discordance (default 0.2) must be above margin",
  ],
  [{ ...RATE, discordance: 0.2 }, "discordance", "discordance requires baseline"],
  [{ ...RATE, atMost: { cost: 1 } }, "atMost", '"cost"'],
  [{ ...RATE, atMost: { tokens: 0 } }, "atMost.tokens", "must be above 0"],
  [{ ...RATE, atMost: { failures: { typo: 0.1 } } }, "atMost.failures", '"typo"'],
  [
    { ...RATE, atMost: { failures: { incorrect_value: 1 } } },
    "atMost.failures.incorrect_value",
    "must be below 1: no share is above it",
  ],
  [{ ...RATE, atMost: { tokens: 1e300 } }, "atMost.tokens", "must be below 1e9"],
  [{ ...RATE, atMost: { failures: {} } }, "atMost.failures", "must name a type"],
  [
    { ...RATE, atMost: { behaviours: { ungrounded: -0.1 } } },
    "atMost.behaviours.ungrounded",
    "must be at least 0",
  ],
  [
    { ...RATE, atMost: { failureShifts: { incorrect_value: 0.1 } } },
    "atMost.failureShifts",
    "failureShifts require baseline",
  ],
];

Deno.test("GATE_POLICY names the path and the rule of every value that is not usable", () => {
  for (const [policy, path, rule] of FAULTS) {
    const message = faultOf(policy);
    const wrong = `${JSON.stringify(policy)}: ${message}`;
    assertStringIncludes(message, "Cannot use it:\n", wrong);
    assertStringIncludes(message, `  at ${path}: `, wrong);
    assertStringIncludes(message, rule, wrong);
  }
});

Deno.test("GATE_POLICY finds all faults at once, of which a message tells two", () => {
  const policy = { successRate: 2, margin: -1, confidence: 0.2, coverage: 0, undecided: "x" };
  assertMatch(faultOf(policy), /^.*\n {2}at margin: .*\n {2}at confidence: .*; and 3 more$/);
});

// What gates, budgets and prices ask of a plan.

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
    [["a", "b"], { strategy: "plain" }],
    [["a", "b"], { perturbation: "none" }],
    [["a"], { model: "a", strategy: "plain" }],
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
    "plain",
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
  const strategies = ["plain", { strategy: "repair", attempts: 1, name: "mend" }];
  const suite = { ...SMALL, strategies };
  for (const strategy of ["plain", "mend"]) {
    const { gate } = planSuite({ ...suite, gate: { baseline: { strategy } } });
    assertEquals(gate, completePolicy({ baseline: { strategy } }));
  }
  assertThrows(
    () => planSuite({ ...suite, gate: { baseline: { strategy: "repair" } } }),
    InputError,
    "it is repair, and the strategies are plain, mend",
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

Deno.test("planSuite() refuses a ceiling without what it is about", () => {
  const rules: readonly [atMost: Ceilings, rule: string, lacking: object[], enough: object][] = [
    [
      { flips: 0.1 },
      "gate.atMost.flips compares checks (unrelated, rename, reorder) with none",
      [["none"], ["rename"], ["none", "RD"]].map((perturbations) => ({ perturbations })),
      { perturbations: ["none", "rename"] },
    ],
    [
      { behaviours: { followed_injection: 0 } },
      "gate.atMost.behaviours.followed_injection needs the perturbation II, which injects instructions",
      [["none"], ["none", "RD+CF"]].map((perturbations) => ({ perturbations })),
      { perturbations: ["none", "CF+II"] },
    ],
    [
      { failures: { function_not_found: 0.1, incorrect_value: 0.1 } },
      "gate.atMost.failures.incorrect_value needs generated tasks",
      [{ tasks: [{ case: "oracle" }] }],
      { tasks: [{ case: "oracle" }, { core: 3, depth: 1 }] },
    ],
    [
      { failures: { wrong_id: 0.1 } },
      "gate.atMost.failures.wrong_id needs tests with chain",
      [{ tasks: [{ core: 3, depth: 1 }] }],
      { tasks: [{ core: 3, depth: 1 }, { case: "own" }] },
    ],
    [
      { behaviours: { needless_call: 0.2 } },
      "gate.atMost.behaviours.needless_call needs the probe of this name",
      [{}, { tasks: [{ case: ["oracle", "forced_choice"] }] }],
      { tasks: [{ case: ["oracle", "needless_call"] }] },
    ],
    [
      { unmended: 0.3 },
      "gate.atMost.unmended needs the strategy repair, which sends calls back",
      [
        {},
        ...[["plain", "retry"], ["restate+alternative"]].map((strategies) => ({ strategies })),
      ],
      { strategies: [{ strategy: "repair+retry", name: "fix and retry" }] },
    ],
  ];
  for (const [atMost, rule, lacking, enough] of rules) {
    const gate = { successRate: 0.5, atMost };
    for (const traits of lacking) {
      const { message } = assertThrows(() => planSuite({ ...SMALL, gate, ...traits }), InputError);
      assertStringIncludes(message, rule);
    }
    planSuite({ ...SMALL, gate, ...enough });
  }
});
