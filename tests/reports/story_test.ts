import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { describeFailure, type Failure, type FailureCause } from "../../lib/calls/failure_types.ts";
import { defined } from "../../lib/base/json.ts";
import type { Parse, TraceEvent } from "../../lib/calls/trace.ts";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import { describeOutcome, describeTrial } from "../../lib/reports/story.ts";
import { TRIAL_LINE } from "../../lib/trials/trial.ts";
import {
  callEvent,
  callEvents,
  HOSTILE,
  NOT_FOUND,
  record,
  STEERING,
  traced,
  wrongValue,
} from "../support/records.ts";

Deno.test("describeOutcome() says how the trial ended, and what was wrong", () => {
  assertEquals(describeOutcome(record()), "solved after 3 calls (fewest 3)");
  assertEquals(describeOutcome(record({ minimumCalls: null })), "solved after 3 calls");
  const wrong = traced([
    ...callEvents(3, {
      1: { ...NOT_FOUND, root: true },
      2: { ...wrongValue(4), root: true },
      3: { ...wrongValue(4, 2), root: false },
    }),
    { kind: "answer", text: "It is 12.", value: 12 },
  ]);
  assertEquals(
    describeOutcome(wrong),
    "wrong_answer after 3 calls (fewest 3); answered 12; " +
      "wrong calls: 1 function_not_found, 2 incorrect_value",
  );
  const reason = "TypeError: a slip";
  assertEquals(
    describeOutcome({ ...wrong, outcome: "agent_error", reason }),
    "agent_error: TypeError: a slip; after 3 calls (fewest 3); " +
      "wrong calls: 1 function_not_found, 2 incorrect_value",
  );
});

Deno.test("describeOutcome() blames infrastructure for an invalid trial, in printable words", () => {
  const text = describeOutcome(record({ outcome: "invalid", reason: `502 ${HOSTILE}` }));
  assertStringIncludes(text, "invalid after 3 calls (fewest 3); infrastructure: 502 evil");
  assertNotMatch(text, STEERING);
});

Deno.test("describeTrial() names the first root failure, not a cascade before it", () => {
  const story = describeTrial(traced(callEvents(4, {
    2: { ...wrongValue(4, 1), root: false },
    3: { ...NOT_FOUND, root: true },
    4: { ...wrongValue(5), root: true },
  })));
  assertStringIncludes(
    story,
    "first root failure: call 3 (step 3) func_3: function_not_found: " +
      "there is no such function, the nearest is func_abc",
  );
  assertStringIncludes(story, "further wrong calls: 2, cascades among them: 1");
});

Deno.test("describeTrial() lists the calls with arguments, returns and marks", () => {
  const story = describeTrial(traced([
    callEvent(1),
    callEvent(2, { role: "connected" }),
    callEvent(3, { role: "disconnected" }),
    callEvent(4, { guessed: true }),
    callEvent(5, { failure: { ...wrongValue(7), root: true } }),
    callEvent(6, { failure: { ...wrongValue(7, 5), root: false } }),
    { kind: "answer", text: "I say 12.", value: 12 },
  ]));
  assertStringIncludes(story, "  1. step 1 func_1(abc=111) -> xyz = 222\n");
  assertStringIncludes(story, "func_2(abc=111) -> xyz = 222  (irrelevant, connected)\n");
  assertStringIncludes(story, "func_3(abc=111) -> xyz = 222  (irrelevant, disconnected)\n");
  assertStringIncludes(story, "func_4(abc=111) -> xyz = 222  (guessed)\n");
  assertStringIncludes(story, "xyz = 222  <- incorrect_value\n");
  assertStringIncludes(story, "xyz = 222  <- incorrect_value (cascade)\n");
  assertMatch(story, / {2}said "I say 12\."$/);
});

Deno.test("describeTrial() shows the text of a refused call, and arguments that are no object as written", () => {
  const { returned: _, ...refused } = callEvent(1, {
    arguments: "{oops",
    result: '{"error":"malformed"}',
    failure: {
      type: "wrong_number_of_inputs",
      detail: { missing: [], unexpected: [], wrongType: [], malformed: true },
      root: true,
    },
  });
  const story = describeTrial(traced([refused]));
  assertStringIncludes(
    story,
    '1. step 1 func_1({oops) -> {"error":"malformed"}  <- wrong_number_of_inputs',
  );
  assertStringIncludes(story, "the arguments are not a JSON object");
});

Deno.test("describeTrial() quotes what was written where a call could not be read", () => {
  const reply = (request: number, written: string | undefined, parsed: Parse = "unreadable") => ({
    ...{ kind: "reply" as const, request, text: "", calls: 1, durationMs: 1 },
    ...{ inputTokens: 1, outputTokens: 1, parsed },
    ...defined({ written }),
  });
  const told = (events: readonly TraceEvent[]) =>
    describeTrial(traced(events, { outcome: "no_answer" })).split("\n")
      .filter((line) => line.includes("could not be read"));
  const events = [
    reply(1, `{"a": 1`),
    reply(2, "repaired", "repaired"),
    reply(3, undefined),
    reply(4, HOSTILE),
    reply(5, "x".repeat(5_000)),
    reply(6, "one too many"),
  ];
  const [first, second, third] = told(events);
  assertEquals(first, `  reply 1 has a call that could not be read; it was written as {"a": 1`);
  assertNotMatch(second!, STEERING);
  assertLess(third!.length, 300);
});

Deno.test("describeTrial() tells why a trial was stopped", () => {
  const story = describeTrial(
    traced([...callEvents(1), { kind: "stop", reason: "step_limit", message: "3 replies" }], {
      outcome: "step_limit",
    }),
  );
  assertMatch(story, / {2}stopped: 3 replies$/);
});

Deno.test("describeTrial() cuts a long trace around the first root failure", () => {
  for (
    const [count, root] of [[40, 1], [40, 11], [40, 20], [40, 40], [13, 12], [12, 12]] as const
  ) {
    const trial = traced(callEvents(count, { [root]: { ...NOT_FOUND, root: true } }));
    const callsIn = (story: string) =>
      story.split("\n").flatMap((line) => /^ {2}(\d+)\. step/.exec(line)?.[1] ?? []).map(Number);
    const brief = describeTrial(trial);
    const shown = callsIn(brief);
    assert(shown.includes(root), `${count} calls, root ${root}: ${shown}`);
    assertEquals(brief.split("\n").length, 11);
    const more = Number(/^ {2}\.\.\. (\d+) more calls?: --story=full$/m.exec(brief)?.[1]);
    assertEquals(shown.length + more, count, `${count} calls, root ${root}`);
    // They follow one another, and the call after it shows what the failure led to.
    assertEquals(shown.at(-1)! - shown[0]!, shown.length - 1);
    if (root < count) assert(shown.includes(root + 1));
    assertEquals(callsIn(describeTrial(trial, { story: "full" })).length, count);
  }
});

Deno.test("describeTrial() marks simulated models", () => {
  assertMatch(
    describeTrial(record({ model: "sim:noisy", simulated: true })),
    /^sim:noisy \(simulated\): /,
  );
  assertMatch(describeTrial(record()), /^m: solved/);
});

Deno.test("describeTrial() lets no escape sequence through, wherever a model put it", () => {
  const { returned: _, ...refused } = callEvent(1, {
    function: HOSTILE,
    arguments: HOSTILE,
    result: HOSTILE,
    failure: {
      type: "wrong_number_of_inputs",
      detail: { missing: [], unexpected: [HOSTILE], wrongType: [], malformed: false },
      root: true,
    },
  });
  const story = describeTrial(traced([
    refused,
    callEvent(2, { arguments: JSON.stringify({ [HOSTILE]: HOSTILE }) }),
    { kind: "answer", text: HOSTILE, value: null },
  ], { model: HOSTILE, id: "x", outcome: "no_answer" }));
  assertNotMatch(story, STEERING);
  assertEquals(story.split("\n").length, 5, story);
});

Deno.test("describeTrial() tells also of a trial whose events another tool wrote, but not its failures", () => {
  const line = record({ outcome: "wrong_answer" });
  const parsed = (brief: unknown) =>
    parseWith(TRIAL_LINE, JSON.parse(JSON.stringify(brief)), "the line");
  const trial = parsed({ ...line, events: [{ kind: "call" }] });
  assertEquals(trial.events, []);
  assertStringIncludes(describeTrial(trial), "m: wrong_answer after 3 calls");
  const where = { call: 1, step: 1, function: "f", root: true };
  for (
    const [failure, path] of [[{ type: "theirs" }, "type"], [
      { type: "function_not_found" },
      "detail",
    ]] as const
  ) {
    const failures = [{ ...where, ...failure }];
    assertThrows(() => parsed({ ...line, failures }), InputError, `at failures[0].${path}: `);
  }
});

Deno.test("describeTrial() quotes what the model said as it said it, escaped once", () => {
  const story = describeTrial(traced([{ kind: "answer", text: 'a "b"\nc', value: null }]));
  assertStringIncludes(story, String.raw`said "a \"b\"\nc"`);
});

Deno.test("describeFailure() says where, what and why, for each type", () => {
  const where = { call: 4, step: 2, function: "func_xyz", root: true };
  const wrong = { parameter: "para", variable: "vari", given: 7 };
  const cases: [FailureCause, string][] = [
    [NOT_FOUND, "function_not_found: there is no such function, the nearest is func_abc"],
    [
      { type: "function_not_found", detail: { nearest: null } },
      "function_not_found: there is no such function",
    ],
    [
      {
        type: "wrong_number_of_inputs",
        detail: { missing: ["a"], unexpected: ["b", "c"], wrongType: ["d"], malformed: false },
      },
      "wrong_number_of_inputs: missing a; unexpected b, c; not as the schema requires: d",
    ],
    [
      {
        type: "value_not_yet_known",
        detail: { arguments: [{ ...wrong, origin: "fabricated" }] },
      },
      "value_not_yet_known: before step 2 no call had returned the values it needs: " +
      "para expects the value of vari but got 7, which no call had returned",
    ],
    [
      {
        type: "incorrect_value",
        detail: {
          arguments: [
            { ...wrong, origin: "wrong_return", originCall: 3 },
            { ...wrong, origin: "other_variable", originVariable: "else" },
          ],
        },
      },
      "incorrect_value: para expects the value of vari but got 7, which call 3 had returned " +
      "wrongly; para expects the value of vari but got 7, which is the value of else",
    ],
  ];
  for (const [cause, text] of cases) {
    const failure: Failure = { ...where, ...cause };
    assertEquals(describeFailure(failure), `call 4 (step 2) func_xyz: ${text}`);
  }
});
