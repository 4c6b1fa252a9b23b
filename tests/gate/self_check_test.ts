// Runs without counters of lines.

import {
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import type { GatePolicy } from "../../lib/gate/policy.ts";
import { fork } from "../../lib/base/random.ts";
import { type Check, selfCheck } from "../../lib/gate/self_check.ts";
import { wilson } from "../../lib/statistics/proportions.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";

const GATES = drawsOf(1_500);

/** The trials of one model that solves so large a share: graphs differ in how hard they are. */
function graphs(count: number, rate: number, trials = 2): boolean[][] {
  const { prng } = fork(1, "graphs", rate);
  return Array.from({ length: count }, (_, place) => {
    const spread = Math.min(rate, 1 - rate) * (place % 2 === 0 ? 0.5 : -0.5);
    return Array.from({ length: trials }, () => prng() < rate + spread);
  });
}

/** Checks a gate over one cell. */
function check(some: readonly boolean[][], policy: GatePolicy, gates = GATES): Check[] {
  return selfCheck([some.map((graph) => [graph])], policy, { gates });
}

/** The most errors that these gates come to. */
function most(allowed: number): number {
  return allowed + noiseOf(allowed, GATES);
}

Deno.test("selfCheck() of an upgrade gate finds it to keep both errors on one model's own trials", () => {
  for (const rate of [0.5, 0.8]) {
    const checks = check(graphs(120, rate), { baseline: "itself", margin: 0.1 });
    assertEquals(checks.map(({ truth, error, allowed }) => [truth, error, allowed.toFixed(2)]), [
      ["the two are alike", "fail", "0.05"],
      ["the candidate is worse by the margin", "pass", "0.05"],
    ]);
    for (const { rate, allowed } of checks) assertLess(rate, most(allowed));
    // They are near what is allowed: a gate that never decided would err never.
    assertGreater(checks[0]!.rate, 0.005);
  }
});

Deno.test("selfCheck() of an absolute gate moves the rate to where it just holds, and just does not", () => {
  const checks = check(graphs(150, 0.7, 1), { successRate: 0.99, margin: 0.1 });
  assertEquals(checks.map(({ truth, error }) => [truth, error]), [
    ["the success rate is just what is asked for", "fail"],
    ["the success rate is lower by the margin", "pass"],
  ]);
  for (const { rate, allowed } of checks) {
    assertLess(rate, most(allowed));
    assertGreater(rate, 0.005);
  }
});

Deno.test("selfCheck() sees a gate that errs too often", () => {
  // A gate at a confidence of 60% stands for a broken one that promised 95%.
  for (
    const [policy, trials] of [[{ baseline: "itself" }, 2], [{ successRate: 0.9 }, 1]] as const
  ) {
    const broken = check(graphs(150, 0.7, trials), { ...policy, confidence: 0.6 });
    for (const { interval, allowed, rate } of broken) {
      assertGreater(interval.lower, 0.05, "it would be seen");
      assertLess(rate, most(allowed));
    }
  }
});

Deno.test("selfCheck() compares two trials of a graph, and never one with itself", () => {
  // One of two is always solved: each pair distinguishes the two.
  const [alike] = check(new Array(50).fill([true, false]), { baseline: "itself", margin: 0 });
  assertGreater(alike!.rate, 0.01);
  assertLess(alike!.rate, most(0.05));
  const [same] = check(new Array(90).fill([true, true, true]), { baseline: "itself" });
  assertEquals(same!.gates, { pass: GATES, fail: 0, undecided: 0, invalid: 0 });
});

Deno.test("selfCheck() takes repetitions of a graph together, half of them in each arm", () => {
  // Graphs that are always or never solved: their trials say no more than one would.
  const extreme = Array.from({ length: 60 }, (_, place) => new Array(8).fill(place % 4 > 0));
  const [alike] = check(extreme, { baseline: "itself", margin: 0.1 });
  assertEquals(alike!.gates.fail, 0);
  const [just, lower] = check(extreme, { successRate: 0.99, margin: 0.1 });
  for (const { rate } of [just!, lower!]) assertLess(rate, most(0.05));
  assertGreater(just!.gates.undecided, 0.5 * GATES, "60 graphs are not 480");
});

Deno.test("selfCheck() draws as many graphs of each cell, however many each has", () => {
  // Of the easy cell a tenth was left; by graphs it would hardly count.
  const cells = [new Array(90).fill([[false]]), new Array(9).fill([[true]])];
  const [just] = selfCheck(cells, { successRate: 0.99, margin: 0.05 }, { gates: 50 });
  // With as many of either the rate is one half, always.
  assertEquals(just!.gates, { pass: 0, fail: 0, undecided: 50, invalid: 0 });
});

Deno.test("selfCheck() counts every gate, and gives the share that erred with its interval", () => {
  for (const { gates, rate, interval, error } of check(graphs(60, 0.8), { successRate: 0.5 })) {
    assertEquals(gates.pass + gates.fail + gates.undecided + gates.invalid, GATES);
    assertEquals(gates.invalid, 0);
    assertAlmostEquals(rate, gates[error] / GATES, 1e-12);
    assertEquals(interval, wilson(gates[error], GATES));
  }
});

Deno.test("selfCheck() of a sequential gate draws as many graphs as that may need", () => {
  const policy = { successRate: 0.9, margin: 0.2, sequential: true, power: 0.8 };
  const [just, lower] = check(graphs(20, 0.7), policy);
  // Twenty graphs at hand would leave most gates open.
  for (const [one, allowed] of [[just, 0.2], [lower, 0.05]] as const) {
    assertAlmostEquals(one!.allowed, allowed, 1e-12);
    assertLess(one!.rate, most(allowed));
    assertEquals(one!.gates.invalid, 0);
    assertLess(one!.gates.undecided, 0.2 * GATES);
  }
  const [alike] = check(graphs(20, 0.8), {
    baseline: "itself",
    margin: 0.2,
    discordance: 0.4,
    sequential: true,
  });
  assertLess(alike!.rate, most(0.05));
  assertGreater(alike!.gates.pass, 0.7 * GATES);
});

Deno.test("selfCheck() draws as many graphs as there are", () => {
  const decided = (count: number) => {
    const [one] = check(graphs(count, 0.8), { successRate: 0.5, margin: 0.2 }, 200);
    return 200 - one!.gates.undecided;
  };
  assertGreater(decided(200), 150);
  assertLess(decided(20), 100);
});

Deno.test("selfCheck() gives the same checks for the same seed, and others for another", () => {
  const of = (seed?: number) =>
    selfCheck([graphs(60, 0.8).map((graph) => [graph])], { baseline: "itself" }, {
      gates: 200,
      ...(seed === undefined ? {} : { seed }),
    });
  assertEquals(of(), of(1));
  assertNotEquals(of(2), of(1));
});

Deno.test("selfCheck() leaves out truths that cannot be", () => {
  const truths = (rate: readonly boolean[][], policy: GatePolicy) =>
    check(rate, policy, 10).map(({ error }) => error);
  const [all, none] = [new Array(20).fill([true, true]), new Array(20).fill([false, false])];
  // Nothing is above a rate of 1, and nothing can be spoiled of what was not solved.
  assertEquals(truths(all, { successRate: 0.5 }), ["fail"]);
  assertEquals(truths(none, { successRate: 0.5 }), []);
  assertEquals(truths(none, { baseline: "itself" }), ["fail"]);
  assertEquals(truths(all, { baseline: "itself" }), ["fail", "pass"]);
  assertEquals(truths(graphs(40, 0.1), { successRate: 0.9, margin: 0.5 }), ["pass"]);
});

Deno.test("selfCheck() needs a valid trial, and two of a graph to compare", () => {
  const once = [[true], [false], []];
  assertThrows(
    () => selfCheck([once.map((graph) => [graph])], { baseline: "itself" }),
    RangeError,
    "Cannot check the gate as it needs graphs with two valid trials or more: there are none",
  );
  assertThrows(
    () => selfCheck([[[[]]]], { successRate: 0.9 }),
    RangeError,
    "Cannot check the gate as it needs graphs with a valid trial: there are none",
  );
  assertThrows(() => selfCheck([], { successRate: 0.9 }), RangeError, "there are none");
  // Graphs with fewer are left out, where others have enough.
  const [alike] = check([...once, [true, true]], { baseline: "itself" }, 10);
  assertEquals(alike!.gates.fail, 0);
});
