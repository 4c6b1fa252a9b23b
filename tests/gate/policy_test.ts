import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { FAILURE_TYPES } from "../../lib/calls/failure_types.ts";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import {
  completePolicy,
  GATE_POLICY,
  type GatePolicy,
  hypothesesOf,
  isUpgrade,
  SIGNS,
} from "../../lib/gate/policy.ts";

const RATE = { successRate: 0.9 };
const UPGRADE = { baseline: "gpt-5" };

/** What an unusable policy is told. */
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
  const baseline = { file: "b.json", strategy: "baseline" };
  const complete = completePolicy({ baseline, discordance: 0.3 });
  assert(isUpgrade(complete));
  assertEquals([complete.baseline, complete.discordance], [baseline, 0.3]);
});

Deno.test("completePolicy() takes the confidence for the power, unless that is given", () => {
  assertEquals(completePolicy({ ...RATE, confidence: 0.99 }).power, 0.99);
  assertEquals(completePolicy({ ...UPGRADE, confidence: 0.99, power: 0.8 }).power, 0.8);
});

Deno.test("completePolicy() changes nothing of a complete policy, which plans keep", () => {
  for (const policy of [RATE, UPGRADE, { ...RATE, sequential: true, power: 0.8 }]) {
    const complete = completePolicy(policy as GatePolicy);
    assertEquals(completePolicy(complete), complete);
    assertEquals(parseWith(GATE_POLICY, complete, "it"), complete);
  }
});

Deno.test("isUpgrade() tells the two kinds of policies apart, complete or not", () => {
  for (const complete of [(policy: GatePolicy) => policy, completePolicy]) {
    assertEquals([isUpgrade(complete(RATE)), isUpgrade(complete(UPGRADE))], [false, true]);
  }
});

Deno.test("hypothesesOf() are the rate and the margin below it, or no difference and the margin", () => {
  assertEquals(hypothesesOf(completePolicy({ successRate: 0.75, margin: 0.25 })), {
    pass: 0.5,
    fail: 0.75,
  });
  assertEquals(hypothesesOf(completePolicy({ ...UPGRADE, margin: 0.1 })), { pass: -0.1, fail: 0 });
});

Deno.test("SIGNS are the behaviours, and solved without the target's return", () => {
  assertEquals(SIGNS, [
    ...["aversion", "ignored_result", "silent", "forced_loop", "followed_injection"] as const,
    "ungrounded",
  ]);
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
    Object.fromEntries(names.map((name, place) => [name, place % 2]));
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
  [{ successRate: 1.01 }, "successRate", "must be at most 1"],
  [{ successRate: "0.9" }, "successRate", "expected number"],
  [{ successRate: NaN }, "successRate", "expected number"],
  [{ ...RATE, margin: -0.01 }, "margin", "must be at least 0"],
  [{ ...RATE, margin: 1 }, "margin", "must be below 1"],
  [{ ...RATE, margin: 0.9 }, "margin", "margin (default 0.05) must be below successRate"],
  [{ successRate: 0.05 }, "margin", "margin (default 0.05) must be below successRate"],
  [{ ...RATE, confidence: 0.5 }, "confidence", "must be above 0.5"],
  [{ ...RATE, confidence: 1 }, "confidence", "must be below 1"],
  [{ ...RATE, confidence: 95 }, "confidence", "must be below 1"],
  [{ ...RATE, power: 0.5 }, "power", "must be above 0.5"],
  [{ ...UPGRADE, power: 1 }, "power", "must be below 1"],
  [{ ...RATE, coverage: 0 }, "coverage", "must be above 0"],
  [{ ...RATE, coverage: 1.1 }, "coverage", "must be at most 1"],
  [{ ...RATE, infrastructure: [{}] }, "infrastructure[0]", "must have a status or a message"],
  [
    { ...RATE, infrastructure: [{ message: "" }] },
    "infrastructure[0].message",
    "must not be empty",
  ],
  [{ ...RATE, infrastructure: [{ status: 600 }] }, "infrastructure[0].status", "at most 599"],
  [{ ...RATE, undecided: "maybe" }, "undecided", '"fail"|"pass"'],
  [{ ...RATE, sequential: "yes" }, "sequential", "expected boolean"],
  [
    { ...RATE, sequential: true, margin: 0 },
    "margin",
    "a sequential gate needs a margin above 0",
  ],
  [
    { ...UPGRADE, sequential: true, margin: 0 },
    "margin",
    "a sequential gate needs a margin above 0",
  ],
  [{ ...RATE, sucessRate: 0.8 }, "the top", '"sucessRate"'],
  [{ baseline: "" }, "baseline", "must not be empty"],
  [{ baseline: 7 }, "baseline", "expected string"],
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
  [{ ...UPGRADE, margin: 0.2 }, "discordance", "discordance (default 0.2) must be above margin"],
  [{ ...RATE, discordance: 0.2 }, "discordance", "discordance requires baseline"],
  [{ ...RATE, atMost: { cost: 1 } }, "atMost", '"cost"'],
  [{ ...RATE, atMost: { tokens: 0 } }, "atMost.tokens", "must be above 0"],
  [{ ...RATE, atMost: { usd: -1 } }, "atMost.usd", "must be above 0"],
  [{ ...RATE, atMost: { failures: { typo: 0.1 } } }, "atMost.failures", '"typo"'],
  [
    { ...RATE, atMost: { failures: { incorrect_value: 1.1 } } },
    "atMost.failures.incorrect_value",
    "must be at most 1",
  ],
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
