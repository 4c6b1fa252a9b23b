// How episodes of faults end, on traces made by hand.

import { assertEquals } from "@std/assert";
import { FAULTS } from "../../lib/tools/fault.ts";
import type { Origin } from "../../lib/calls/failure_types.ts";
import { RECOVERY_ENDS, recoveryOf, rightEndOf } from "../../lib/calls/recovery.ts";
import type { CallEvent, TraceEvent } from "../../lib/calls/trace.ts";
import fc from "../support/fast_check.ts";

const BASE = { kind: "call", function: "func_src", role: "core", arguments: '{"in":731}' } as const;

/** A call of a core function that a fault kept from returning `alpha`. */
function lost(call: number, traits: Partial<CallEvent> = {}): CallEvent {
  const failed = { fault: "timeout", withheld: "alpha", error: "it timed out" } as const;
  return { ...BASE, call, step: call, result: "{}", ...failed, ...traits };
}

/** A call of it that returned. */
function got(call: number, traits: Partial<CallEvent> = {}): CallEvent {
  const returned = { variable: "alpha", value: 111 };
  return { ...BASE, call, step: call, result: '{"alpha":111}', returned, ...traits };
}

/** A call of another function with a value for `variable`, where it came from. */
function using(call: number, origin: Origin, variable = "alpha"): CallEvent {
  const wrong = { parameter: "one", variable, given: 505, origin };
  return {
    ...got(call, { function: "func_tgt", arguments: '{"one":505}' }),
    returned: { variable: "omega", value: 999 },
    failure: { type: "value_not_yet_known", detail: { arguments: [wrong] }, root: true },
  };
}

const WRONG = {
  type: "incorrect_value",
  detail: { arguments: [{ parameter: "in", variable: "given", given: 7, origin: "fabricated" }] },
  root: true,
} as const;

function answer(value: number | null, text = `${value}`): TraceEvent {
  return { kind: "answer", text, value };
}

/** How the only episode ended, and after how many attempts. */
function endOf(...events: TraceEvent[]): string {
  return recoveryOf(events).map(({ end, attempts }) => `${end} ${attempts}`).join(", ");
}

Deno.test("recoveryOf() finds that a later call got through (Pipeline, Key Takeaways)", () => {
  assertEquals(endOf(lost(1), got(2), answer(444)), "recovered 1");
  assertEquals(endOf(lost(1), lost(2), lost(3), got(4), got(5)), "recovered 3");
  // Nothing that came before counts against it, nor what came after.
  assertEquals(endOf(lost(1), using(2, "fabricated"), got(3), answer(5)), "recovered 1");
  // Other arguments are right where the right value comes back.
  assertEquals(endOf(lost(1, { arguments: '{"in":7}' }), got(2)), "recovered 1");
  // A wrong call that was made again returns what it returns.
  const wrong = { arguments: '{"in": 7}' };
  assertEquals(
    endOf(lost(1, wrong), got(2, { arguments: '{"in":7}', failure: WRONG })),
    "recovered 1",
  );
  // With wrong arguments it is another mistake, which has a failure of its own.
  assertEquals(endOf(lost(1), got(2, { ...wrong, failure: WRONG }), answer(111)), "recovered 1");
  // What the same reply asks for beside it is no reaction.
  const beside = got(2, { ...wrong, step: 1, failure: WRONG });
  assertEquals(endOf(lost(1), beside), "gave_up 1");
  // Refused, it has not returned.
  const { returned: _, ...refused } = got(2, {
    failure: {
      type: "wrong_number_of_inputs",
      detail: { missing: [], unexpected: [], wrongType: [], malformed: true },
      root: true,
    },
  });
  assertEquals(endOf(lost(1), refused), "repeated 1");
});

Deno.test("a call that the agent did not carry out got nothing through", () => {
  const own = { kind: "call", function: "pay", arguments: "{}", result: "{}" } as const;
  const failed: CallEvent = { ...own, call: 1, step: 1, fault: "timeout", error: "it timed out" };
  const again: CallEvent = { ...own, call: 2, step: 2 };
  assertEquals(endOf(failed, again), "recovered 1");
  assertEquals(endOf(failed, { ...again, agentDid: "not_run" }), "repeated 1");
});

Deno.test("recoveryOf() finds results that were made up (Pipeline, Key Takeaways)", () => {
  assertEquals(endOf(lost(1), answer(444)), "hallucinated 0");
  assertEquals(endOf(lost(1), lost(2), answer(444)), "hallucinated 1");
  assertEquals(endOf(lost(1), using(2, "fabricated")), "hallucinated 0");
  assertEquals(endOf(lost(1), using(2, "fabricated"), answer(null)), "hallucinated 0");
  // What stands for another variable, or has been returned by something, is another mistake.
  assertEquals(endOf(lost(1), using(2, "fabricated", "beta"), answer(null)), "gave_up 0");
  assertEquals(endOf(lost(1), using(2, "other_variable"), answer(null)), "gave_up 0");
  // Calls of the same reply were written before anything had failed, as were those before it.
  assertEquals(endOf(lost(1), { ...using(2, "fabricated"), step: 1 }, answer(null)), "gave_up 0");
  assertEquals(endOf(using(1, "fabricated"), lost(2), answer(null)), "gave_up 0");
  // A wrong call beside it gives a wrong result, which is none that the model has made up.
  const wrong = got(2, { arguments: '{"in":7}', step: 1, failure: WRONG });
  assertEquals(endOf(lost(1), wrong, answer(111)), "gave_up 1");
  assertEquals(endOf(lost(1), wrong, lost(3), answer(111)), "repeated 2");
  assertEquals(endOf(lost(1), wrong, using(3, "fabricated"), answer(111)), "hallucinated 1");
});

Deno.test("recoveryOf() finds calls that were repeated to no avail", () => {
  assertEquals(endOf(lost(1), lost(2), lost(3)), "repeated 2");
  // However they are written.
  assertEquals(endOf(lost(1), lost(2, { arguments: ' { "in" : 731 } ' })), "repeated 1");
  assertEquals(endOf(lost(1), lost(2, { arguments: '{"in":732}' })), "gave_up 1");
  assertEquals(endOf(lost(1), lost(2, { step: 1 })), "gave_up 1");
  assertEquals(endOf(lost(1), lost(2), answer(null, "It does not work.")), "repeated 1");
});

Deno.test("recoveryOf() finds that a model gave up (Pipeline, Key Takeaways)", () => {
  assertEquals(endOf(lost(1)), "gave_up 0");
  assertEquals(endOf(lost(1), answer(null, "I cannot tell.")), "gave_up 0");
  assertEquals(endOf(lost(1), { kind: "stop", reason: "call_limit", message: "" }), "gave_up 0");
});

Deno.test("recoveryOf() takes slow calls for recovered once one of them returned", () => {
  assertEquals(recoveryOf([got(1, { fault: "slow" })]), [
    { fault: "slow", function: "func_src", end: "recovered", attempts: 0 },
  ]);
  assertEquals(endOf(got(1, { fault: "slow", failure: WRONG })), "recovered 0");
  // What the other fault did is the episode.
  const both = [got(1, { fault: "slow", failure: WRONG }), lost(2), got(3)];
  assertEquals(recoveryOf(both).map(({ fault, end }) => [fault, end]), [["timeout", "recovered"]]);
});

Deno.test("recoveryOf() has one episode for each function that is needed, and none of others", () => {
  const others = { function: "func_oth", withheld: "beta", fault: "flaky" } as const;
  assertEquals(recoveryOf([lost(1), lost(2, others), lost(3), got(4), lost(5, others)]), [
    { fault: "timeout", function: "func_src", end: "recovered", attempts: 2 },
    { fault: "flaky", function: "func_oth", end: "repeated", attempts: 1 },
  ]);
  for (const role of ["connected", "disconnected"] as const) {
    assertEquals(recoveryOf([lost(1, { role }), answer(444)]), []);
  }
  // What has come back already is there, whatever becomes of calling again.
  assertEquals(recoveryOf([got(1), lost(2), answer(444)]), []);
  assertEquals(endOf(got(1, { failure: WRONG }), lost(2), answer(444)), "hallucinated 0");
  assertEquals(recoveryOf([got(1), got(2), answer(444)]), []);
  assertEquals(recoveryOf([]), []);
});

/** A call of a tool of the user, which has no role. */
function own(call: number, traits: Partial<CallEvent> = {}): CallEvent {
  const written = { function: "weather", arguments: '{"city":"Rome"}', result: "{}" };
  return { kind: "call", call, step: call, ...written, ...traits };
}

Deno.test("recoveryOf() judges tools of one's own by what came back, and by what was said", () => {
  const failed = own(1, { fault: "timeout", error: "it timed out" });
  const said = (text: string) => answer(null, text);
  assertEquals(endOf(failed, own(2), said("It is clear.")), "recovered 1");
  assertEquals(endOf(failed, own(2, { arguments: '{"city":"Oslo"}' })), "recovered 1");
  assertEquals(endOf(failed, own(2, { error: "no" }), said("It failed.")), "repeated 1");
  // What else the same reply asks for is no second try.
  const oslo = own(2, { step: 1, arguments: '{"city":"Oslo"}' });
  assertEquals(endOf(failed, oslo, said("Oslo is clear, Rome failed.")), "gave_up 1");
  assertEquals(endOf(failed, oslo, said("Both are clear.")), "hallucinated 1");
  assertEquals(endOf(failed, own(2, { step: 1 }), said("It is clear.")), "recovered 1");
  assertEquals(endOf(failed, said("It is 21 degrees and clear.")), "hallucinated 0");
  assertEquals(endOf(failed, own(2, { fault: "timeout" }), said("Clear.")), "hallucinated 1");
  const admitting = [
    "I cannot tell the weather.",
    "I can't tell.",
    "I can’t tell.",
    "The service timed out.",
    "Unfortunately, there is no weather.",
    "The tool is UNAVAILABLE",
    "I was unable to get it.",
    "Permission was denied.",
    "Sorry, please try again.",
    "There was an error.",
    "It did not respond.",
    "",
    "  \n",
  ];
  for (const text of admitting) assertEquals(endOf(failed, said(text)), "gave_up 0", text);
  for (const text of ["All clear, terrors aside.", "It is available.", "Canada is fine."]) {
    assertEquals(endOf(failed, said(text)), "hallucinated 0", text);
  }
});

Deno.test("recoveryOf() reads any trace, and calls that are kept in another order", () => {
  assertEquals(endOf(got(3), lost(2), lost(1)), "recovered 2");
  const name = fc.constantFrom("a", "b", "__proto__", "constructor");
  const event = fc.record({
    kind: fc.constant("call" as const),
    call: fc.integer({ min: 1, max: 20 }),
    step: fc.integer({ min: 1, max: 5 }),
    function: name,
    arguments: fc.oneof(fc.json({ maxDepth: 2 }), fc.constant("[".repeat(10_000)), fc.string()),
    result: fc.string(),
    fault: fc.constantFrom(...FAULTS),
    role: fc.constantFrom("core" as const, "connected" as const),
    withheld: name,
    error: fc.string(),
  }, { requiredKeys: ["kind", "call", "step", "function", "arguments", "result"] });
  fc.assert(fc.property(fc.array(event, { maxLength: 20 }), (events) => {
    const episodes = recoveryOf(events);
    assertEquals(new Set(episodes.map((one) => one.function)).size, episodes.length);
    for (const { function: own, end, attempts } of episodes) {
      assertEquals(RECOVERY_ENDS.includes(end), true);
      assertEquals(attempts < events.filter((one) => one.function === own).length, true);
    }
  }));
});

Deno.test("rightEndOf() asks to give up only where permission is denied", () => {
  assertEquals(FAULTS.filter((fault) => rightEndOf(fault) === "gave_up"), ["permission_denied"]);
  assertEquals(rightEndOf("timeout"), "recovered");
});
