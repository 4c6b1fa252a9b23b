import { completePolicy } from "../../../lib/gate/policy.ts";
import { assertEquals, AssertionError, assertStringIncludes, assertThrows } from "@std/assert";
import { assertSolved, passes } from "../../../lib/testing/assertions/_trials.ts";
import type { Failure } from "../../../lib/calls/failure_types.ts";
import type { Verdict } from "../../../lib/gate/decide.ts";
import { decide } from "../../support/deciding.ts";
import { callEvent, once, record, type TrialTraits } from "../../support/records.ts";

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
