import {
  assert,
  assertEquals,
  AssertionError,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  assertCallCount,
  assertCalled,
  assertNever,
  assertNoCalls,
  assertNoFailedCalls,
  assertNotCalled,
} from "../../../lib/testing/assertions/calls.ts";
import { assertBudget } from "../../../lib/testing/assertions/runs.ts";
import { assertCallScore } from "../../../lib/testing/assertions/trajectories.ts";
import { assertCallOrder, assertTrajectory } from "../../../lib/testing/assertions/trajectories.ts";
import { compareTrajectory, TRAJECTORY_MODES } from "../../../lib/calls/expected/match_calls.ts";
import type { CallRecord } from "../../../lib/calls/record.ts";
import type { CallExpectation, ExpectedCall } from "../../../lib/tools/expected_call.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { FailedAssertion, isNeverError } from "../../../lib/calls/assertion_text.ts";
import { anyOf, matching, matchingText } from "../../../lib/calls/expected/matchers.ts";
import { inSteps, made, recordOf, refused, toolWith } from "../../support/calls.ts";
import fc from "../../support/fast_check.ts";

const TOOLS = [toolWith("locate"), toolWith("weather"), toolWith("send_mail")];

/** What a traveller's assistant did. */
const TRIP = {
  tools: TOOLS,
  calls: [
    made("locate", { name: "Ann" }, { result: "Paris" }),
    made("weather", { city: "London", days: [1, 2] }, { call: 2, step: 2, result: "rain\u0007" }),
    made("weather", { city: "Lyon" }, { call: 3, step: 2, error: "no such city" }),
  ],
};

const TRIP_LINES = [
  "  calls made: 3",
  '    1. step 1 locate(name="Ann") -> Paris',
  '    2. step 2 weather({"city":"London","days":[1,2]}) -> rain\\u0007',
  '    3. step 2 weather(city="Lyon") -> failed: no such city',
];

const weather = (city: string): ExpectedCall => ({ tool: "weather", arguments: { city } });

/** What an assertion says where it fails. */
function messageOf(assertion: () => unknown): string {
  return assertThrows(assertion, AssertionError).message;
}

/** Says that it cannot tell, as a judge that was not asked. */
const judge = matching(() => {
  throw new Error("the judge was not asked");
}, "kind words");

Deno.test("assertCalled() passes where a call is as expected, as often as it should be", () => {
  assertCalled(TRIP, "weather");
  assertCalled(TRIP, "weather", { times: 2 });
  assertCalled(TRIP, weather("Lyon"), { times: 1 });
  assertCalled(TRIP, { ...weather("London"), match: "partial" }, {}, "it should");
  assertCalled({ ...TRIP, tools: [] }, "locate");
});

Deno.test("assertCalled() tells the nearest call, and how it differs", () => {
  assertEquals(
    messageOf(() => assertCalled(TRIP, weather("Paris"))),
    [
      'No call was as expected: weather({"city":"Paris"}).',
      "  nearest is call 3 (step 2) weather",
      '    arguments.city is different: expected "Paris", but it is "Lyon"',
      ...TRIP_LINES,
    ].join("\n"),
  );
  assertEquals(
    messageOf(() => assertCalled(recordOf(), "weather", {}, "the user asked\nfor it")),
    "No call was as expected: weather: the user asked\\nfor it\n  calls made: none",
  );
});

Deno.test("assertCalled() tells how often a call was made", () => {
  assertEquals(
    messageOf(() => assertCalled(TRIP, weather("Lyon"), { times: 2 })),
    [
      'weather({"city":"Lyon"}) was called once, not twice.',
      "  nearest is call 2 (step 2) weather",
      '    arguments.city is different: expected "Lyon", but it is "London"',
      "    arguments.days is unexpected: it is [1,2]",
      ...TRIP_LINES,
    ].join("\n"),
  );
  const often = recordOf(made("f"), made("f"), made("f"));
  assertStringIncludes(
    messageOf(() => assertCalled(often, "f", { times: 1 })),
    "f was called 3 times, not once.\n  call 1 (step 1) f\n  call 2 (step 2) f\n  call 3",
  );
});

Deno.test("assertNotCalled() tells every call that should not be there", () => {
  assertNotCalled(TRIP, "send_mail");
  assertNotCalled(TRIP, weather("Paris"));
  assertEquals(
    messageOf(() => assertNotCalled(TRIP, { ...weather("London"), match: "partial" }, "rainy")),
    [
      'weather({"city":"London"}, and others) was called once, and must not be: rainy',
      "  call 2 (step 2) weather",
      ...TRIP_LINES,
    ].join("\n"),
  );
});

/** A tool that takes no other arguments. */
const CLOSED = {
  ...{ name: "f", description: "" },
  parameters: { type: "object", properties: { id: {} }, additionalProperties: false },
};

Deno.test("no assertion takes a call that is written as text for no call", () => {
  const tools = [{ name: "drop", description: "", parameters: {} }];
  const facts = { replies: 1, usage: { inputTokens: 1, outputTokens: 1 }, durationMs: 1 };
  const said = (...texts: string[]) => ({
    ...{ ...recordOf(), ...facts },
    ...{ tools, answer: texts.at(-1)!, texts },
  });
  const written = '<tool_call>\n{"name": "drop", "arguments": {"id": 1}}\n</tool_call>';
  const absent: ((record: ReturnType<typeof said>) => void)[] = [
    assertNoCalls,
    (record) => assertNotCalled(record, "drop"),
    (record) => assertNever(record, "drop"),
    (record) => assertCallCount(record, "drop", 0),
    (record) => assertCallCount(record, undefined, { atMost: 0 }),
    (record) => assertTrajectory(record, []),
    (record) => assertBudget(record, { calls: 0 }),
  ];
  for (const assertion of absent) {
    assertion(said("I dropped nothing.", "Bye!"));
    assertThrows(() => assertion(said(written, "Bye!")), AssertionError, "drop");
    // A record may have the answer alone.
    const answered = { ...said(written), texts: undefined } as never;
    assertThrows(() => assertion(answered), AssertionError, "calls it as text");
  }
  const drop = (id: number) => ({ tool: "drop", arguments: { id } });
  assertNotCalled(said(written), drop(2));
  assertThrows(() => assertNotCalled(said(written), drop(1)), AssertionError, "calls it as text");
  for (const [text, what] of [["<tool_call>", ""], [written.slice(0, 35), " of drop"]] as const) {
    const { message } = assertThrows(() => assertNotCalled(said(text), drop(1)), InputError);
    assertMatch(
      message,
      /^Cannot decide whether drop\(.*\) was called as .*: text 1 of the model has one/,
    );
    assertStringIncludes(message, what);
  }
  assertThrows(
    () => assertNoCalls(said("<tool_call>")),
    InputError,
    "whether a function was called",
  );
});

Deno.test("assertNoCalls() tells the calls", () => {
  assertNoCalls(recordOf());
  assertEquals(
    messageOf(() => assertNoCalls(recordOf(made("locate")))),
    "There should be no calls, but there are 1.\n" +
      "  calls made: 1\n" +
      "    1. step 1 locate() -> ok",
  );
});

Deno.test("assertCallCount() counts calls of one kind, or all", () => {
  assertCallCount(TRIP, "weather", 2);
  assertCallCount(TRIP, "send_mail", 0);
  assertCallCount(TRIP, weather("Lyon"), { atLeast: 1, atMost: 1 });
  assertCallCount(TRIP, undefined, 3);
  assertCallCount(TRIP, undefined, { atLeast: 3 });
  assertCallCount(TRIP, undefined, { atMost: 3 });
  const one = recordOf(made("f"));
  assertEquals(
    messageOf(() => assertCallCount(one, "f", { atMost: 0 })),
    "f was called once, not 0 times.\n" +
      "  call 1 (step 1) f\n" +
      "  calls made: 1\n" +
      "    1. step 1 f() -> ok",
  );
  const heads: [message: () => unknown, head: string][] = [
    [() => assertCallCount(one, "f", 2), "f was called once, not twice."],
    [() => assertCallCount(one, "f", { atLeast: 2 }), "f was called once, not at least twice."],
    [
      () => assertCallCount(one, "f", { atLeast: 2, atMost: 4 }),
      "f was called once, not at least twice and at most 4 times.",
    ],
    [
      () => assertCallCount(TRIP, "weather", { atMost: 1 }, "dear"),
      "weather was called twice, not at most once: dear",
    ],
    [() => assertCallCount(recordOf(), "f", 1), "f was called 0 times, not once."],
    [
      () => assertCallCount(one, undefined, { atLeast: 2 }),
      "The number of calls should be at least 2, but is 1.",
    ],
    [() => assertCallCount(TRIP, undefined, 2), "The number of calls should be 2, but is 3."],
  ];
  for (const [assertion, head] of heads) assertEquals(messageOf(assertion).split("\n")[0], head);
});

Deno.test("assertCallOrder() tells the first call that is not in order", () => {
  const record = recordOf(made("login"), made("pay", { sum: 7 }), made("mail"), made("pay"));
  assertCallOrder(record, ["login", "mail"]);
  assertCallOrder(record, ["login", "pay", "pay"]);
  assertCallOrder(record, ["pay", "mail", { tool: "pay", arguments: {} }]);
  const made_ = [
    "  calls made: 4",
    "    1. step 1 login() -> ok",
    "    2. step 2 pay(sum=7) -> ok",
    "    3. step 3 mail() -> ok",
    "    4. step 4 pay() -> ok",
  ];
  assertEquals(
    messageOf(() => assertCallOrder(record, ["pay", "mail", "login"])),
    [
      "The calls were not made in the expected order.",
      "  expected call 3 of 3 was not made after call 3 (step 3) mail: login",
      "    it was made before: call 1 (step 1) login",
      ...made_,
    ].join("\n"),
  );
  assertEquals(
    messageOf(() => assertCallOrder(record, [{ tool: "pay", arguments: { sum: 8 } }], "in full")),
    [
      "The calls were not made in the expected order: in full",
      '  expected call 1 of 1 was not made: pay({"sum":8})',
      "    nearest is call 2 (step 2) pay",
      "      arguments.sum is different: expected 8, but it is 7",
      ...made_,
    ].join("\n"),
  );
  const sum = { tool: "pay", arguments: { sum: 7 } };
  assertStringIncludes(
    messageOf(() => assertCallOrder(record, ["mail", sum])),
    "made before: call 2",
  );
  assertThrows(() => assertCallOrder(record, ["login", "login"]), AssertionError);
});

Deno.test("assertTrajectory() tells which calls are missing, and which are not expected", () => {
  const london = { ...weather("London"), match: "partial" } as const;
  assertTrajectory(TRIP, ["locate", london, weather("Lyon")]);
  assertTrajectory(TRIP, [weather("Lyon"), "weather", "locate"], "unordered");
  assertTrajectory(TRIP, ["weather", "weather", "weather", "locate"], "subset");
  assertTrajectory(TRIP, [weather("Lyon")], "superset");
  assertEquals(
    messageOf(() => assertTrajectory(TRIP, ["locate", london, weather("Paris"), "send_mail"])),
    [
      "The calls are not the expected ones (exact).",
      '  expected call 3 of 4 was not made: weather({"city":"Paris"})',
      "    nearest is call 3 (step 2) weather",
      '      arguments.city is different: expected "Paris", but it is "Lyon"',
      "  expected call 4 of 4 was not made: send_mail",
      "    nearest is call 3 (step 2) weather",
      '      tool is different: expected "send_mail", but it is "weather"',
      "  calls made: 3",
      '    2. step 2 weather({"city":"London","days":[1,2]}) -> rain\\u0007',
      '    3. step 2 weather(city="Lyon") -> failed: no such city',
      "  ... 1 more detail, 1 more call: --story=full",
    ].join("\n"),
  );
  const heads: [message: () => unknown, head: string][] = [
    [
      () => assertTrajectory(TRIP, ["locate", "weather", "send_mail"], "subset", "all"),
      "(subset): all\n  call 3 (step 2) weather is not expected\n  calls made",
    ],
    [
      () => assertTrajectory(TRIP, ["locate", "locate"], "superset"),
      "(superset).\n  expected call 2 of 2 was not made: locate\n    nearest is call 2",
    ],
    [
      () => assertTrajectory(TRIP, [], "unordered"),
      "(unordered).\n  call 1 (step 1) locate is not expected\n  call 2 (step 2)",
    ],
  ];
  for (const [assertion, head] of heads) {
    assertStringIncludes(messageOf(assertion), `The calls are not the expected ones ${head}`);
  }
});

Deno.test("assertTrajectory() passes exactly where the trajectory holds", () => {
  const tools = fc.array(fc.constantFrom("a", "b"), { maxLength: 3 });
  fc.assert(
    fc.property(tools, tools, fc.constantFrom(...TRAJECTORY_MODES), (calls, expected, mode) => {
      const record = recordOf(...calls.map((tool) => made(tool)));
      fc.pre(mode !== "superset" || expected.length > 0);
      const holds = compareTrajectory(record, expected, mode).holds;
      if (holds) assertTrajectory(record, expected, mode);
      else assertThrows(() => assertTrajectory(record, expected, mode), AssertionError);
    }),
  );
});

Deno.test("assertNoFailedCalls() tells the error of every call that failed", () => {
  assertNoFailedCalls(recordOf());
  assertNoFailedCalls(recordOf(made("f", {}, { result: '{"error":"not really"}' })));
  assertEquals(
    messageOf(() => assertNoFailedCalls(TRIP)),
    ["1 of 3 calls failed.", "  call 3 (step 2) weather: no such city", ...TRIP_LINES].join("\n"),
  );
});

Deno.test("assertCallScore() tells each score that is not reached", () => {
  const thresholds = { precision: 1 / 3, recall: 0.5, f1: 0.4 };
  const expected = ["locate", weather("Paris")];
  assertCallScore(TRIP, expected, thresholds);
  assertEquals(
    messageOf(() => assertCallScore(TRIP, expected, { precision: 0.334, recall: 0.5, f1: 0.9 })),
    [
      "The calls do not reach their score: precision is 0.333 and should be 0.334, " +
      "f1 is 0.4 and should be 0.9.",
      "  1 right of 3 calls made and 2 expected",
      '  expected call 2 of 2 was not made: weather({"city":"Paris"})',
      "    nearest is call 3 (step 2) weather",
      '      arguments.city is different: expected "Paris", but it is "Lyon"',
      "  call 2 (step 2) weather is not expected",
      "  call 3 (step 2) weather is not expected",
      ...TRIP_LINES,
    ].join("\n"),
  );
  assertThrows(() => assertCallScore(TRIP, ["send_mail"], { recall: 0.1 }), AssertionError);
  // What is not reached is not rounded up to it.
  const almost = messageOf(() =>
    assertCallScore(TRIP, ["locate", "weather"], { precision: 0.667 })
  );
  assertStringIncludes(almost, "precision is 0.666 and should be 0.667");
});

Deno.test("what a matcher cannot tell passes no assertion", () => {
  const record = recordOf(made("mail", { text: "Dear Ann" }), made("mail", { text: "Hi" }));
  const kind = { tool: "mail", arguments: { text: judge } };
  assertEquals(
    messageOf(() => assertNotCalled(record, kind)),
    [
      'Whether mail({"text":kind words}) was called as it should be cannot be decided.',
      "  call 1 (step 1) mail",
      "    arguments.text could not be compared with kind words: the judge was not asked; " +
      'it is "Dear Ann"',
      "  call 2 (step 2) mail",
      "    arguments.text could not be compared with kind words: the judge was not asked; " +
      'it is "Hi"',
      "  calls made: 2",
      '    1. step 1 mail(text="Dear Ann") -> ok',
      '    2. step 2 mail(text="Hi") -> ok',
    ].join("\n"),
  );
  const assertions = [
    () => assertCalled(record, kind),
    () => assertCalled(record, kind, { times: 2 }),
    () => assertCallCount(record, kind, { atMost: 1 }),
    () => assertCallCount(record, kind, 0),
    () => assertCallCount(record, kind, { atLeast: 1 }),
    () => assertCallOrder(record, [kind]),
    ...TRAJECTORY_MODES.map((mode) => () => assertTrajectory(record, [kind, kind], mode)),
    () => assertCallScore(record, [kind], { recall: 0.1 }),
  ];
  for (const assertion of assertions) assertThrows(assertion, AssertionError);
  // Where it does not matter what the matcher would say, it is not asked.
  assertCallCount(record, kind, { atMost: 2 });
  assertNotCalled(record, { tool: "mail", arguments: { text: judge, to: "ann" } });
  const definite = messageOf(() =>
    assertCallCount(record, { tool: "mail", arguments: { text: anyOf("Hi", judge) } }, 3)
  );
  assertStringIncludes(definite, "was called once, not 3 times");
});

Deno.test("assertions that could not fail, or are used wrongly, are refused", () => {
  const call = { tool: "weather", arguements: {} } as CallExpectation;
  const noTool = "there is no tool of this name, and the nearest is weather";
  const table: [assertion: () => unknown, message: string][] = [
    [() => assertCalled(TRIP, "wether"), noTool],
    [() => assertCallCount(TRIP, "wether", 0), noTool],
    [() => assertCallOrder(TRIP, ["locate", "wether"]), noTool],
    [() => assertTrajectory(TRIP, ["wether"], "subset"), noTool],
    [() => assertCallScore(TRIP, ["wether"], { recall: 1 }), noTool],
    [
      () => assertNotCalled({ calls: [], tools: [CLOSED] }, { tool: "f", arguments: { idd: 1 } }),
      "Cannot expect a call of f as its arguments must be those of the tool: there is no idd, but id",
    ],
    [() => assertNotCalled(TRIP, call), 'Unrecognized key: "arguements"'],
    [
      () => assertNotCalled(TRIP, { tool: "weather", arguments: { a: undefined as never } }),
      "arguments.a is undefined",
    ],
    [() => assertCalled(TRIP, "weather", { time: 2 } as never), 'Unrecognized key: "time"'],
    [() => assertCalled(TRIP, "weather", { times: -1 }), "at times: must be at least 0"],
    [
      () => assertCalled(TRIP, "weather", { times: 0, after: "locate" }),
      "with times 0, as no call",
    ],
    [() => assertCalled(TRIP, "weather", "twice" as never), "the options of assertCalled"],
    [() => assertNotCalled(TRIP, "send_mail", {} as never), "the message, the last argument"],
    [() => assertCallCount(TRIP, "weather", -1), "must be at least 0: it is -1"],
    [() => assertCallCount(TRIP, undefined, {}), "as any number of calls would do"],
    [() => assertCallCount(TRIP, undefined, { atLeast: 0 }), "as any number of calls would do"],
    [
      () => assertCallCount(TRIP, undefined, { atLeast: 3, atMost: 2 }),
      "atLeast must not be above atMost",
    ],
    [
      () => assertCallCount(TRIP, undefined, { atleast: 3 } as never),
      'Unrecognized key: "atleast"',
    ],
    [() => assertCallOrder(TRIP, []), "Cannot use assertCallOrder as at least one call"],
    [() => assertCallOrder(TRIP, "locate" as never), "must be a list"],
    [() => assertTrajectory(TRIP, ["locate"], "loose" as never), "the mode must be one of exact"],
    [() => assertTrajectory(TRIP, [], "superset"), "Cannot use assertTrajectory as at least one"],
    [() => assertCallScore(TRIP, [], { recall: 1 }), "Cannot use assertCallScore as at least one"],
    [() => assertCallScore(TRIP, ["locate"], {}), "as any score would do"],
    [() => assertCallScore(TRIP, ["locate"], { recall: 0 }), "must be above 0: it is 0"],
    [() => assertCallScore(TRIP, ["locate"], { recall: 80 }), "must be at most 1: it is 80"],
    [() => assertCallScore(TRIP, ["locate"], { F1: 1 } as never), 'Unrecognized key: "F1"'],
    [
      () => assertNoCalls(Promise.resolve(recordOf()) as unknown as CallRecord),
      "must be a record with a list of calls: it is Promise",
    ],
    [() => assertNoFailedCalls(null as never), "a list of calls: it is null"],
  ];
  for (const [assertion, message] of table) assertThrows(assertion, InputError, message);
});

Deno.test("messages are a dozen lines around the call that matters; trials keep the whole ones", () => {
  const many = Array.from({ length: 40 }, (_, x) => made("f", { x }));
  const errorOf = (assertion: () => void) => {
    const { message, whole } = assertThrows(assertion, FailedAssertion);
    assert(message.split("\n").length < 12, message);
    return { brief: message, whole };
  };
  const one = errorOf(() =>
    assertNotCalled(recordOf(...many), { tool: "f", arguments: { x: 30 } })
  );
  assertEquals(one.brief.split("\n").slice(2), [
    "  calls made: 40",
    ...[26, 27, 28, 29, 30, 31, 32].map((call) =>
      `    ${call}. step ${call} f(x=${call - 1}) -> ok`
    ),
    "  ... 33 more calls: --story=full",
  ]);
  const lines = one.whole.split("\n");
  assertEquals(lines.slice(2, 5), [
    "  calls made: 40",
    "    ... 20 before",
    "    21. step 21 f(x=20) -> ok",
  ]);
  assertEquals(lines.slice(-2), ["    32. step 32 f(x=31) -> ok", "    ... 8 after"]);
  const all = errorOf(() => assertNotCalled(recordOf(...many), "f")).whole;
  assertStringIncludes(all, "  call 10 (step 10) f\n  ... 30 more calls\n  calls made: 40\n");
  const missing = many.map((call) => ({ tool: "g", arguments: { x: call.call } }));
  const trajectory = errorOf(() => assertTrajectory(recordOf(...many), missing)).whole;
  assertStringIncludes(trajectory, "  ... 35 more expected calls not made\n");
  assert(trajectory.split("\n").length < 60);
  const wide = Object.fromEntries(many.map((_, x) => [`k${x}`, x]));
  const differences = errorOf(() =>
    assertCalled(recordOf(made("f", wide)), { tool: "f", arguments: {} })
  );
  assertStringIncludes(differences.whole, "    ... 30 more differences\n");
  assertStringIncludes(
    differences.brief,
    " ... 34 more details, the rest of long texts: --story=full",
  );
});

Deno.test("hostile calls steer no terminal and overflow nothing", () => {
  const deep = `{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
  const calls = inSteps(
    made("\u001b[2J\u202ename", JSON.parse('{"__proto__":"\\u001b[31m","constructor":"\\n"}'), {
      result: "\r\u001b[0m",
    }),
    { ...made("f"), arguments: JSON.parse(deep), written: deep },
    { ...made("x".repeat(100_000)), arguments: undefined, written: "\u0000".repeat(100_000) },
    made("f", {}, { error: "\u001b]0;title\u0007" }),
  );
  const record = { calls, tools: [] };
  const expected = { tool: "f", arguments: { x: [[1]], text: matchingText("a") } };
  const messages = [
    messageOf(() => assertCalled(record, expected)),
    messageOf(() => assertNoCalls(record)),
    messageOf(() => assertNoFailedCalls(record)),
    messageOf(() => assertTrajectory(record, [expected, "\u001b[1mf"])),
    messageOf(() => assertNotCalled(record, calls[0]!.tool)),
  ];
  for (const message of messages) {
    // deno-lint-ignore no-control-regex
    assert(!/[\u0000-\u0009\u000b-\u001f\u202e]/.test(message), JSON.stringify(message));
    assert(message.length < 5_000);
  }
  assertStringIncludes(
    messages[1]!,
    '1. step 1 \\u001b[2J\\u202ename(__proto__="\\u001b[31m", constructor="\\n") -> \\r\\u001b[0m',
  );
});

/** A model that paid once, after a fault was in its way, and was late. */
const FAULTED = recordOf(
  made("pay", { sum: 7 }, { error: "timed out", result: "timed out", fault: "timeout" }),
  made("login", {}, { fault: "slow" }),
  made("pay", { sum: 7 }),
);
/** The same without faults. */
const PLAIN = recordOf(made("login"), made("pay", { sum: 7 }));
/** One that never got through. */
const LOST = recordOf(
  made("login"),
  made("pay", { sum: 7 }, { result: "<html>", fault: "malformed_return" }),
);

Deno.test("a call that met a fault does not count, so that what holds without faults holds with them", () => {
  const holding: [name: string, assertion: (record: typeof PLAIN) => unknown][] = [
    ["called", (record) => assertCalled(record, "pay", { times: 1 })],
    ["count", (record) => assertCallCount(record, "pay", 1)],
    ["count of all", (record) => assertCallCount(record, undefined, 2)],
    ["most of all", (record) => assertCallCount(record, undefined, { atMost: 2 })],
    ["order", (record) => assertCallOrder(record, ["login", "pay"])],
    ...TRAJECTORY_MODES.map((mode): [string, (record: typeof PLAIN) => unknown] => [
      mode,
      (record) => assertTrajectory(record, ["login", "pay"], mode),
    ]),
    ["no failures", (record) => assertNoFailedCalls(record)],
    ["score", (record) => assertCallScore(record, ["login", "pay"], { precision: 1, recall: 1 })],
  ];
  const failing: typeof holding = [
    ["called twice", (record) => assertCalled(record, "pay", { times: 2 })],
    ["not called", (record) => assertNotCalled(record, "pay")],
    ["no calls", (record) => assertNoCalls(record)],
    ["count", (record) => assertCallCount(record, "pay", { atLeast: 2 })],
    ["count of all", (record) => assertCallCount(record, undefined, 3)],
    ["order", (record) => assertCallOrder(record, ["pay", "login"])],
    ["order twice", (record) => assertCallOrder(record, ["pay", "pay"])],
    ...TRAJECTORY_MODES.map((mode): typeof holding[number] => {
      const expected = mode === "subset" ? ["pay"] : ["login", "pay", "pay"];
      return [mode, (record) => assertTrajectory(record, expected, mode)];
    }),
    ["score", (record) => assertCallScore(record, ["login", "pay", "pay"], { recall: 0.7 })],
  ];
  for (const record of [PLAIN, FAULTED]) {
    for (const [, assertion] of holding) assertion(record);
    for (const [name, assertion] of failing) assertThrows(() => assertion(record), Error, "", name);
  }
});

Deno.test("a call that met a fault counts where there should be none: it was asked for", () => {
  const fault = made("pay", { sum: 7 }, { error: "no", fault: "permission_denied" });
  const record = recordOf(fault);
  assertEquals(
    messageOf(() => assertNotCalled(record, pay(7))),
    [
      'pay({"sum":7}) was called once, and must not be.',
      "  call 1 (step 1) pay (fault permission_denied)",
      "  calls made: 1, 1 of them met a fault",
      "    1. step 1 pay(sum=7) -> fault permission_denied: no",
    ].join("\n"),
  );
  const assertions = [
    () => assertNoCalls(record),
    () => assertCallCount(record, "pay", 0),
    () => assertCallCount(record, undefined, 0),
    () => assertCallCount(record, undefined, { atMost: 0 }),
  ];
  for (const assertion of assertions) assertThrows(assertion, AssertionError);
});

Deno.test("assertions say that a call would be as expected, but met a fault", () => {
  const nearest = [
    "nearest is call 2 (step 2) pay (fault malformed_return)",
    "  call 2 does not count: fault malformed_return",
  ];
  const made = [
    "calls made: 2, 1 of them met a fault",
    "  1. step 1 login() -> ok",
    "  2. step 2 pay(sum=7) -> fault malformed_return: <html>",
  ];
  const told = (assertion: () => unknown) =>
    messageOf(assertion).split("\n").slice(1).map((line) => line.slice(2));
  assertEquals(told(() => assertCalled(LOST, pay(7))), [...nearest, ...made]);

  assertEquals(told(() => assertCalled(LOST, pay(8))), [
    ...nearest,
    "  arguments.sum is different: expected 8, but it is 7",
    ...made,
  ]);
  assertEquals(told(() => assertTrajectory(LOST, ["login", pay(7)])), [
    'expected call 2 of 2 was not made: pay({"sum":7})',
    ...nearest.map((line) => `  ${line}`),
    ...made,
  ]);
  assertEquals(told(() => assertCallCount(LOST, undefined, 2)), [
    "call 2 does not count: fault malformed_return",
    ...made,
  ]);
  // A slow call is like any other.
  const slow = recordOf({ ...PLAIN.calls[0]!, error: "no", fault: "slow" });
  assertStringIncludes(messageOf(() => assertNoFailedCalls(slow)), "1 of 1 call failed.\n");
  const both = recordOf(...LOST.calls, { ...PLAIN.calls[0]!, error: "no" });
  assertStringIncludes(messageOf(() => assertNoFailedCalls(both)), "1 of 2 calls failed.\n");
});

/** A model that paid once, and tried to before. */
const PAID = recordOf(
  refused("pay", { sum: "7" }, "sum must be\u0007 integer"),
  made("pay", { sum: 7 }, { error: "the bank threw" }),
  refused("refund", { sum: 7 }),
);
const PAID_LINES = [
  "  calls made: 3",
  '    1. step 1 pay(sum="7") -> refused: sum must be\\u0007 integer',
  "    2. step 2 pay(sum=7) -> failed: the bank threw",
  "    3. step 3 refund(sum=7) -> refused: no",
];

const pay = (sum: number | string): ExpectedCall => ({ tool: "pay", arguments: { sum } });

Deno.test("a call that was refused is none of the expected ones; one that threw may be", () => {
  assertCalled(PAID, pay(7), { times: 1 });
  assertCallCount(PAID, undefined, 3);
  assertCallCount(PAID, "pay", { atMost: 1, atLeast: 1, counted: "accepted" });
  assertCallCount(PAID, "pay", { atMost: 1, atLeast: 1, counted: "refused" });
  assertEquals(
    messageOf(() => assertCallCount(PAID, "pay", 1)),
    [
      "pay was called twice, not once.",
      "  call 1 (step 1) pay (refused)",
      "  call 2 (step 2) pay",
      ...PAID_LINES,
    ].join("\n"),
  );
  assertThrows(() => assertCallScore(PAID, ["pay"], { precision: 0.5 }), AssertionError);
  assertEquals(
    messageOf(() => assertCalled(PAID, "refund")),
    [
      "No call was as expected: refund.",
      "  nearest is call 3 (step 3) refund (refused)",
      "    it was refused: no",
      ...PAID_LINES,
    ].join("\n"),
  );

  // What was tried before is not what was made before.
  assert(!messageOf(() => assertCallOrder(PAID, ["pay", pay("7")])).includes("made before"));
  assertStringIncludes(
    messageOf(() => assertTrajectory(PAID, [pay("7"), pay(7)])),
    "      it was refused: sum must be\\u0007 integer\n  call 1 (step 1) pay (refused) is not expected",
  );
});

Deno.test("a call that was refused was tried, where none should be", () => {
  const tried = recordOf(refused("refund", { sum: 7 }));
  assertNotCalled(PAID, pay("8"));
  assertCallCount(PAID, pay("8"), 0);
  assertStringIncludes(
    messageOf(() => assertNotCalled(PAID, "refund")),
    "refund was called once, and must not be.\n  call 3 (step 3) refund (refused)\n",
  );
  assertStringIncludes(
    messageOf(() => assertNoFailedCalls(tried)),
    "1 of 1 call failed.\n  call 1 (step 1) refund (refused): no\n",
  );
  const assertions = [
    () => assertNoCalls(tried),
    () => assertCallCount(PAID, "refund", 0),
    () => assertCallCount(PAID, "refund", { atMost: 0 }),
    () => assertCallCount(tried, undefined, 0),
    () => assertNotCalled(tried, { tool: "refund", arguments: { sum: judge } }),
  ];
  for (const assertion of assertions) assertThrows(assertion, AssertionError);
  // Whether it would have been as expected is not asked where it does not count.
  assertCallCount(tried, { tool: "refund", arguments: { sum: judge } }, { atMost: 1 });
  // A record may say no more than that it was refused.
  const silent = { ...made("f"), refused: true } as const;
  assertStringIncludes(messageOf(() => assertNoCalls(recordOf(silent))), "f() -> refused: ok");
  assertStringIncludes(messageOf(() => assertCalled(recordOf(silent), "f")), "was refused: ok");
});

Deno.test("refused calls never make an assertion of calls that should be there pass", () => {
  const call = fc.tuple(fc.constantFrom("a", "b"), fc.boolean()).map(([tool, isRefused]) =>
    isRefused ? refused(tool) : made(tool)
  );
  const passes = (assertion: () => unknown) => {
    try {
      assertion();
      return true;
    } catch (error) {
      assert(error instanceof AssertionError);
      return false;
    }
  };
  let differing = 0;
  fc.assert(
    fc.property(
      fc.array(call, { maxLength: 5 }),
      fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 3 }),
      (calls, expected, times) => {
        const all = recordOf(...calls);
        const done = { ...all, calls: all.calls.filter((call) => !call.refused) };
        const areAllDone = done.calls.length === calls.length;
        const [first] = expected;
        const both = (assertion: (record: typeof all) => unknown) =>
          [passes(() => assertion(all)), passes(() => assertion(done))] as const;
        for (
          const [given, own] of [
            both((record) => assertCalled(record, first!, { times })),
            both((record) => assertCallCount(record, first, { atLeast: times })),
            both((record) =>
              assertCallCount(record, first, { atMost: times, counted: "accepted" })
            ),
            both((record) => assertCallOrder(record, expected)),
            both((record) => assertTrajectory(record, expected, "superset")),
          ]
        ) assertEquals(given, own);
        for (const mode of ["exact", "unordered", "subset"] as const) {
          const [given, own] = both((record) => assertTrajectory(record, expected, mode));
          assertEquals(given, own && areAllDone);
          if (given !== own) differing++;
        }
        const attempts = calls.filter(({ tool }) => tool === first).length;
        const few = passes(() => assertCallCount(all, first, { atMost: times }));
        assertEquals(few, attempts <= times);
        const [none, noneDone] = both((record) => assertNotCalled(record, first!));
        assertEquals(none, calls.every(({ tool }) => tool !== first));
        if (none !== noneDone) differing++;
      },
    ),
    { numRuns: 150 },
  );
  assert(differing > 15, `${differing} differing`);
});

Deno.test("after and before compare by replies, for every attempt", () => {
  const at = (tool: string, step: number, rest = {}) => made(tool, {}, { step, ...rest });
  const lost = { fault: "timeout" as const, error: "lost" };
  /** Calls, and whether each payment came after a login. */
  const table: [ReturnType<typeof at>[], boolean | string][] = [
    [
      [at("login", 1), at("pay", 1)],
      "call 2 (step 1) pay is of the same reply as call 1 (step 1) login",
    ],
    [
      [at("pay", 1), at("login", 2), at("pay", 3)],
      "call 1 (step 1) pay came before call 2 (step 2) login",
    ],
    [
      [at("look", 1), at("pay", 2)],
      "call 2 (step 2) pay came too early, as there was no call of login",
    ],
    // An attempt is made too early, whatever it comes to; a login whose result is lost is none.
    [
      [at("pay", 1, { refused: true, error: "no" }), at("login", 2), at("pay", 3)],
      "(refused) came before",
    ],
    [[at("pay", 1, lost), at("login", 2), at("pay", 3)], "(fault timeout) came before"],
    [[at("login", 1, lost), at("pay", 2)], "no call of login"],
    [[at("login", 1, lost), at("login", 2), at("pay", 3), at("pay", 4, lost)], true],
  ];
  for (const [calls, verdict] of table) {
    const record = { calls: calls.map((one, place) => ({ ...one, call: place + 1 })), tools: [] };
    const both = [
      () => assertCalled(record, "pay", { after: "login" }),
      () => assertCalled(record, "login", { before: "pay" }),
    ];
    if (verdict === true) both.forEach((assertion) => assertion());
    else {
      assertStringIncludes(messageOf(both[0]!), `pay was not called after login.\n  `);
      assertStringIncludes(messageOf(both[0]!), verdict as string);
      // Without any login the expected call itself is missing.
      messageOf(both[1]!);
    }
  }
  const alone = recordOf(made("login"));
  assertEquals(
    messageOf(() => assertCalled(alone, "login", { before: "pay" })).split("\n")[0],
    "pay was not called, and login should be called before it.",
  );
  assertThrows(
    () => assertCalled(TRIP, "weather", { after: "locat" }),
    InputError,
    "the nearest is locate",
  );
  // With arguments, and together with times.
  assertCalled(TRIP, weather("Lyon"), {
    times: 1,
    after: { tool: "locate", arguments: { name: "Ann" } },
  });
  messageOf(() => assertCalled(TRIP, weather("Lyon"), { after: weather("London") }));
});

Deno.test("after holds exactly where each attempt follows a reply with a good call of the other", () => {
  const calls = fc.array(
    fc.record({
      tool: fc.constantFrom("a", "b", "c"),
      gap: fc.integer({ min: 0, max: 1 }),
      end: fc.constantFrom("good", "refused", "lost"),
    }),
    { maxLength: 8 },
  );
  fc.assert(fc.property(calls, (drawn) => {
    let step = 1;
    const made_ = drawn.map(({ tool, gap, end }, place) => {
      step += gap;
      return made(tool, {}, {
        ...{ step, call: place + 1 },
        ...(end === "refused" ? { refused: true as const, error: "no" } : {}),
        ...(end === "lost" ? { fault: "timeout" as const, error: "lost" } : {}),
      });
    });
    const good = (tool: string) =>
      made_.filter((one) => one.tool === tool && !one.refused && one.fault === undefined);
    const holds = good("b").length > 0 &&
      made_.filter(({ tool }) => tool === "b")
        .every((one) => good("a").some((other) => other.step < one.step));
    const assertion = () => assertCalled({ calls: made_, tools: [] }, "b", { after: "a" });
    if (holds) assertion();
    else assertThrows(assertion, AssertionError);
  }));
});

Deno.test("assertNever() counts attempts, and marks its failure alone", () => {
  assertNever(TRIP, "send_mail");
  assertNever(TRIP, weather("Paris"));
  const record = recordOf(refused("drop", { table: "users" }));
  const error = assertThrows(() => assertNever(record, "drop", "not ours"), AssertionError);
  assertEquals(error.message.split("\n").slice(0, 2), [
    "drop was called once, and must not be in any trial: not ours",
    "  call 1 (step 1) drop (refused)",
  ]);
  assert(isNeverError(error));
  assert(!isNeverError(assertThrows(() => assertNotCalled(record, "drop"))));
  // Errors made from it keep the mark, and circular ones end.
  const group = new AggregateError([new Error("x"), new Error("y", { cause: error })]);
  assert(isNeverError(group));
  const circular = new Error("x");
  circular.cause = circular;
  for (const other of [circular, null, "drop"]) assert(!isNeverError(other));
  // What a matcher cannot decide may be such a call.
  const undecided = { tool: "weather", arguments: { city: judge }, match: "partial" as const };
  const error_ = assertThrows(
    () => assertNever(TRIP, undecided),
    AssertionError,
    "cannot be decided",
  );
  assert(isNeverError(error_));
  assertThrows(() => assertNever(TRIP, "drop_all"), InputError, "it must be one of the tools");
});

Deno.test("nested arguments and long texts are shown as a block, bounded and printable", () => {
  const given = {
    to: { name: "Ann", tags: ["a", "b"] },
    text: "Dear Ann,\n::error::pay\n##[error]now\u001b[31m\nBye",
  };
  const expected = {
    tool: "send",
    arguments: {
      to: { name: matchingText("A"), tags: ["a", matchingText("c")] },
      text: "Dear Ann,\npay\nBye",
    },
  };
  const { whole } = assertThrows(
    () => assertCalled(recordOf(made("send", given)), expected),
    FailedAssertion,
  );
  assertStringIncludes(whole, "    [Diff] Actual / Expected\n");
  assertStringIncludes(whole, '\n    -         "b"\n    +         "(a text with \\"c\\")"\n');
  // What a matcher takes is right as it is.
  assert(!/[-+] +"name"/.test(whole), whole);
  assert(!/^[-+ ]*(::|##\[)/m.test(whole) && !whole.includes("\u001b"), whole);
  const long = {
    tool: "send",
    arguments: { rows: Array.from({ length: 500 }, (_, row) => `${row}!`) },
  };
  const many = recordOf(made("send", { rows: Array.from({ length: 500 }, (_, row) => `${row}?`) }));
  const bounded = assertThrows(() => assertCalled(many, long), FailedAssertion).whole;
  assert(bounded.split("\n").length < 60, bounded);
  // A part of the arguments is named by its path.
  const plain = assertThrows(() => assertCalled(TRIP, weather("Paris")), FailedAssertion);
  assert(!plain.whole.includes("[Diff]"));
});
