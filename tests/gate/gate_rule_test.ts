// The absolute gate that stops by a rule: what decide() says of it, looked at from outside.

import { assert, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import type { Unit } from "../../lib/gate/evidence.ts";
import { decide } from "../../lib/gate/decide.ts";
import { completePolicy, type RatePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import { once } from "../support/records.ts";

/** A sequential gate and its rule, with so many cells. */
function sequential(cells: number, traits: Partial<RatePolicy> = {}) {
  const policy = { successRate: 0.8, sequential: true, ...traits };
  return { policy, rule: sequentialRule(completePolicy(policy), cells) };
}

/** Graphs of a model that solves all but every nth. */
function allBut(every: number, count: number): Unit[] {
  const [solved, failed] = once(1, 1) as [Unit, Unit];
  return Array.from({ length: count }, (_, place) => place % every === 0 ? failed : solved);
}

Deno.test("decide() by a rule stops at the look that decides, and looks at no graph after it", () => {
  const { policy, rule } = sequential(6);
  for (const [units, kind] of [[allBut(20, 900), "pass"], [allBut(2, 900), "fail"]] as const) {
    const verdict = decide(units, policy, { rule });
    const { graphs, method, lower, upper } = verdict.evidence!;
    assertEquals([verdict.kind, method, graphs % 6], [kind, "sequential", 0]);
    assertLess(graphs, rule.fixedSize);
    assert(kind === "pass" ? lower >= 0.75 : upper < 0.8);
    // Whatever comes after, and be it nothing, changes nothing.
    const first = units.slice(0, graphs);
    for (const rest of [[], once(0, 300), once(300, 0), once(0, 0, 300)]) {
      assertEquals(decide([...first, ...rest], policy, { rule }), verdict);
    }
    // At the look before, it had not been decided.
    assertEquals(decide(first.slice(0, graphs - 6), policy, { rule }).kind, "invalid");
  }
});

Deno.test("decide() by a rule leaves out an incomplete last block", () => {
  const { policy, rule } = sequential(6);
  const whole = decide(allBut(5, 24), policy, { rule });
  assertEquals(whole.evidence?.graphs, 24);
  for (const part of [once(5, 0), once(0, 5), once(0, 0, 5)]) {
    assertEquals(decide([...allBut(5, 24), ...part], policy, { rule }), whole);
  }
});

Deno.test("decide() by a rule is invalid where the run was interrupted", () => {
  const { policy, rule } = sequential(6);
  const verdict = decide(allBut(5, 24), policy, { rule });
  assert(verdict.kind === "invalid");
  assertStringIncludes(
    verdict.reason,
    `the run was interrupted: 24 of ${rule.largestSize} graphs were run, and the gate has not decided`,
  );
  assertEquals(decide(once(5, 0), policy, { rule }).kind, "invalid");
});

Deno.test("decide() by a rule is undecided at its largest size, and never looks beyond", () => {
  const { policy, rule } = sequential(6);
  // Seven in nine lie between the two rates.
  const open = Array.from({ length: rule.largestSize }, (_, place) =>
    once(1, 1)[
      place % 9 < 7 ? 0 : 1
    ]!);
  const verdict = decide(open, policy, { rule });
  assert(verdict.kind === "undecided", verdict.kind);
  assertEquals(verdict.evidence.graphs, rule.largestSize);
  assertEquals([verdict.moreTrials, verdict.stopped], [null, undefined]);
  for (const more of [once(600, 0), once(0, 600)]) {
    assertEquals(decide([...open, ...more], policy, { rule }), verdict);
  }
});

Deno.test("decide() by a rule is undecided where a budget ended the run before it had decided", () => {
  const { policy, rule } = sequential(6);
  const stopped = "the budget of 9 tokens was reached";
  const open = decide(allBut(5, 24), policy, { rule, stopped });
  assert(open.kind === "undecided");
  assertEquals([open.stopped, open.moreTrials, open.evidence.graphs], [stopped, null, 24]);
  // What ended the run after it had decided does not matter.
  const good = allBut(20, 900);
  assertEquals(decide(good, policy, { rule, stopped }), decide(good, policy, { rule }));
});

Deno.test("decide() by a rule takes what is unknown for the worst case of each bet", () => {
  const { policy, rule } = sequential(1, { successRate: 0.9, coverage: 0.5 });
  const hidden = Array.from(
    { length: rule.largestSize },
    (_, place) => once(1, 0, 1)[place % 4 === 0 ? 1 : 0]!,
  );
  const as = (solved: number) =>
    hidden.map((unit) => unit.valid === 0 ? { solved, valid: 1, trials: 1 } : unit);
  assertEquals(
    [hidden, as(1), as(0)].map((units) => decide(units, policy, { rule }).kind),
    ["undecided", "pass", "fail"],
  );
});

Deno.test("decide() by a rule asks for coverage of the graphs that it looked at, and of no others", () => {
  const { policy, rule } = sequential(1);
  const decided = decide(once(400, 0), policy, { rule }).evidence!.graphs;
  const after = [...once(decided, 0), ...once(0, 0, 400)];
  assertEquals(decide(after, policy, { rule }).kind, "pass");
  const before = [...once(0, 0, 4), ...once(400, 0)];
  const verdict = decide(before, policy, { rule });
  assert(verdict.kind === "invalid");
  assertStringIncludes(verdict.reason, "fewer than the coverage of 95% requires");
});
