import { completePolicy } from "../../../lib/gate/policy.ts";
import { assertEquals, AssertionError, assertStringIncludes, assertThrows } from "@std/assert";
import {
  assertNoFailures,
  assertSolved,
  assertSuccessRate,
  passes,
} from "../../../lib/testing/assertions/trials.ts";
import type { Failure } from "../../../lib/calls/failure_types.ts";
import { decide, type Verdict } from "../../../lib/gate/decide.ts";
import { InputError } from "../../../lib/base/errors.ts";
import {
  callEvent,
  HOSTILE,
  manyRecords,
  once,
  record,
  STEERING,
  type TrialTraits,
} from "../../support/records.ts";

const FAILURE: Failure = {
  call: 2,
  step: 1,
  function: "func_abc",
  root: true,
  type: "function_not_found",
  detail: { nearest: "func_abd" },
};

Deno.test("assertSolved() passes a solved trial, grounded or not", () => {
  assertSolved(record());
  assertSolved(record({ grounded: false, failures: [FAILURE] }));
});

Deno.test("assertSolved() tells the story of a trial that is not solved", () => {
  const trial = record({
    outcome: "wrong_answer",
    failures: [FAILURE],
    events: [callEvent(1), { kind: "answer", text: "It is 12.", value: 12 }],
  });
  const { message } = assertThrows(() => assertSolved(trial), AssertionError);
  assertStringIncludes(message, "The task is not solved.\nm: wrong_answer after 3 calls");
  assertStringIncludes(message, "first root failure: call 2 (step 1) func_abc: function_not_found");
  assertStringIncludes(message, 'said "It is 12."');
});

Deno.test("assertSolved() blames no limit where a filter or an agent ended the trial", () => {
  const story = "m: filtered after 3 calls (fewest 3)";
  const ended = (traits: TrialTraits) =>
    assertThrows(() => assertSolved(record(traits)), AssertionError).message;
  const filtered = ended({ outcome: "filtered", task: { case: "a test", seed: 1 } });
  assertEquals(filtered, `A content filter left nothing of the model's reply\n${story}`);
  const reason = "the agent threw TypeError at a.ts:1:2: a slip";
  assertEquals(
    ended({ outcome: "agent_error", reason }),
    "The agent threw TypeError at a.ts:1:2: a slip\nm: agent_error after 3 calls (fewest 3)",
  );
});

Deno.test("assertSolved() blames infrastructure for an invalid trial", () => {
  const trial = record({ outcome: "invalid", reason: "502 Bad Gateway" });
  const { message } = assertThrows(() => assertSolved(trial), AssertionError);
  assertStringIncludes(message, "infrastructure: 502 Bad Gateway");
});

Deno.test("assertNoFailures() passes a valid trial without a wrong call, solved or not", () => {
  assertNoFailures(record());
  assertNoFailures(record({ outcome: "no_answer" }));
});

Deno.test("assertNoFailures() describes every wrong call, of solved trials too", () => {
  const failures = [FAILURE, { ...FAILURE, call: 3 }];
  const { message } = assertThrows(() => assertNoFailures(record({ failures })), AssertionError);
  assertStringIncludes(message, "Calls were wrong: 2.");
  assertStringIncludes(message, "  call 2 (step 1) func_abc: function_not_found");
  assertStringIncludes(message, "  call 3 (step 1) func_abc: function_not_found");
});

Deno.test("assertNoFailures() does not pass an invalid trial", () => {
  const trial = record({ outcome: "invalid", reason: "502" });
  assertThrows(() => assertNoFailures(trial), AssertionError, "The trial is invalid.");
});

Deno.test("assertSuccessRate() counts every trial, also those that share an id", () => {
  const failed = manyRecords(0, 100);
  const solved = manyRecords(100, 100);
  assertEquals(failed.map(({ id }) => id), solved.map(({ id }) => id));
  const { message } = assertThrows(
    () => assertSuccessRate([...failed, ...solved], { successRate: 0.9 }),
    AssertionError,
  );
  assertStringIncludes(message, "solved: 100 of 200 valid trials");
});

Deno.test("assertSuccessRate() gives the verdict of trials that pass", () => {
  const verdict = assertSuccessRate(manyRecords(95, 100), { successRate: 0.8 });
  assertEquals(verdict, decide(once(95, 5), { successRate: 0.8 }));
});

Deno.test("assertSuccessRate() fails undecided trials, unless the policy lets them pass", () => {
  const trials = manyRecords(8, 10);
  assertThrows(() => assertSuccessRate(trials, { successRate: 0.8 }), AssertionError, "UNDECIDED");
  const verdict = assertSuccessRate(trials, { successRate: 0.8, undecided: "pass" });
  assertEquals(verdict.kind, "undecided");
});

Deno.test("assertSuccessRate() never passes invalid results", () => {
  const policy = { successRate: 0.1, undecided: "pass" } as const;
  assertThrows(() => assertSuccessRate([], policy), AssertionError, "there are no trials");
  const spoiled = [
    ...manyRecords(90, 90),
    ...Array.from(
      { length: 10 },
      (_, index) => record({ seed: 500 + index, outcome: "invalid" }),
    ),
  ];
  assertThrows(() => assertSuccessRate(spoiled, policy), AssertionError, "90 of 100");
});

Deno.test("assertSuccessRate() does not mix models, strategies or perturbations", () => {
  for (const other of [{ model: "n" }, { strategy: "restate" }, { perturbation: "RD" }]) {
    const trials = [...manyRecords(50, 50), ...manyRecords(50, 50, other)];
    assertThrows(
      () => assertSuccessRate(trials, { successRate: 0.5 }),
      AssertionError,
      "several models, strategies or perturbations are mixed",
    );
  }
});

Deno.test("assertSuccessRate() refuses a policy that is not usable", () => {
  const error = assertThrows(
    () => assertSuccessRate(manyRecords(5, 5), { successRate: 80 }),
    InputError,
  );
  assertStringIncludes(error.message, "Cannot use the policy of assertSuccessRate:");
  assertStringIncludes(error.message, "at successRate: ");
});

Deno.test("assertSuccessRate() lets no escape sequence of a served model's name into its message", () => {
  const trials = [...manyRecords(50, 50), ...manyRecords(5, 5, { served: HOSTILE, repetition: 2 })];
  const { message } = assertThrows(
    () => assertSuccessRate(trials, { successRate: 0.5 }),
    AssertionError,
  );
  assertEquals(STEERING.test(message), false);
});

Deno.test("passes() lets pass pass, undecided where the policy says so, and nothing else", () => {
  const verdicts: Verdict[] = [
    decide(once(100, 0), { successRate: 0.8 }),
    decide(once(8, 2), { successRate: 0.8 }),
    decide(once(10, 90), { successRate: 0.8 }),
    decide([], { successRate: 0.8 }),
  ];
  assertEquals(verdicts.map(({ kind }) => kind), ["pass", "undecided", "fail", "invalid"]);
  const under = (policy: { undecided?: "pass" | "fail" }) =>
    verdicts.map((verdict) => passes(verdict, completePolicy({ successRate: 0.8, ...policy })));
  assertEquals(under({}), [true, false, false, false]);
  assertEquals(under({ undecided: "fail" }), [true, false, false, false]);
  assertEquals(under({ undecided: "pass" }), [true, true, false, false]);
});
