import { assertEquals, AssertionError, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import {
  absent,
  anyOf,
  closeTo,
  matching,
  matchingText,
} from "../../../lib/calls/expected/matchers.ts";
import {
  assertAnswer,
  assertAsked,
  assertBudget,
  assertState,
} from "../../../lib/testing/assertions/runs.ts";
import { made, recordOf, toolWith } from "../../support/calls.ts";
import type { RecordedCall } from "../../../lib/calls/record.ts";

/** What an assertion says where it fails. */
function messageOf(assertion: () => unknown): string {
  return assertThrows(assertion, AssertionError).message;
}

const answering = (answer: string | null) => ({ ...recordOf(made("locate")), answer });

const judge = matching(() => {
  throw new Error("the judge\nwas not asked");
}, "kind words");

Deno.test("assertAnswer() takes a text, a regular expression or a matcher", () => {
  const record = answering("It rains in Paris.");
  assertAnswer(record, "rains in");
  assertAnswer(record, /^it .* paris\.$/i);
  assertAnswer(record, anyOf("no", matchingText("Paris")));
  assertAnswer(answering(null), absent());
  const often = /Paris/g;
  for (let time = 0; time < 3; time++) assertAnswer(record, often);
  assertEquals(often.lastIndex, 0);
});

Deno.test("assertAnswer() shows the answer, and says where there is none", () => {
  const calls = ["  calls made: 1", "    1. step 1 locate() -> ok"];
  assertEquals(
    messageOf(() => assertAnswer(answering("It\u001b[31m rains."), "Paris")),
    [
      'The answer is not a text with "Paris".',
      '  the answer is "It\\u001b[31m rains."',
      ...calls,
    ].join("\n"),
  );
  assertEquals(
    messageOf(() => assertAnswer(answering(null), /Paris/g, "at last")),
    ["There is no answer, and it should be a text that matches /Paris/g: at last", ...calls]
      .join("\n"),
  );
  assertEquals(
    messageOf(() => assertAnswer(answering("Hi"), judge)),
    [
      "The answer is not kind words.",
      '  the answer is "Hi"',
      "    that cannot be decided, as the matcher threw: the judge\\nwas not asked",
      ...calls,
    ].join("\n"),
  );
  assertThrows(() => assertAnswer(answering(null), judge), AssertionError, "There is no answer");
  assertThrows(() => assertAnswer(answering("No"), absent()), AssertionError, "is not left out");
  assertThrows(() => assertAnswer(answering(""), "a"), AssertionError, 'the answer is ""');
});

Deno.test("assertAnswer() refuses what any answer would meet, and what is no expectation", () => {
  for (const expected of ["", new RegExp("")]) {
    assertThrows(() => assertAnswer(answering("Hi"), expected), InputError, "must not be empty");
  }
  for (const expected of [undefined, null, 7, () => true, { text: "Hi" }]) {
    assertThrows(() => assertAnswer(answering("Hi"), expected as never), InputError);
  }
  assertThrows(() => assertAnswer({ answer: "Hi" } as never, "Hi"), InputError, "list of calls");
  assertThrows(() => assertAnswer(answering("Hi"), "Hi", 7 as never), InputError, "the options");
  assertThrows(() => assertAnswer(answering("Hi"), "Hi", {}, 7 as never), InputError, "message");
});

class Account {
  #balance: number;
  constructor(readonly owner: string, balance: number) {
    this.#balance = balance;
  }
  get balance() {
    return this.#balance;
  }
}

Deno.test("assertState() compares objects of one's own, and tells the path of all that differs", () => {
  const state = {
    orders: [{ id: 7, lines: new Set(["pen", "ink"]), placed: new Date(0) }],
    accounts: new Map([["ann", new Account("Ann", 30)]]),
    rate: 1.0501,
  };
  assertState(state, {
    orders: [{ id: 7, lines: new Set(["ink", "pen"]), placed: new Date(0) }],
    accounts: new Map([["ann", new Account("Ann", 30)]]),
    rate: closeTo(1.05, 0.001),
  });
  assertState(state, { orders: [{ id: 7 }] }, { match: "partial" });
  assertState(
    state,
    { orders: [{ lines: state.orders[0]!.lines }], accounts: new Map(), rate: 0 },
    { ignore: ["orders[*].id", "orders[0].placed", "accounts.ann", "rate"] },
  );
  assertEquals(
    messageOf(() =>
      assertState(
        state,
        {
          orders: [{ id: 8, lines: new Set(["pen"]) }],
          accounts: new Map([["ann", new Account("Ann", 40)], ["bob", new Account("Bob", 0)]]),
          rate: judge,
        },
        {},
        "after the order",
      )
    ),
    [
      "The state is not as expected: 6 differences: after the order",
      "  state.orders[0].id is different: expected 8, but it is 7",
      '  state.orders[0].lines is unexpected: it is "ink"',
      "  state.orders[0].placed is unexpected: it is Date 1970-01-01T00:00:00.000Z",
      "  state.accounts.ann.balance is different: expected 40, but it is 30",
      '  state.accounts.bob is missing: expected Account {"owner":"Bob","balance":0}',
      "  state.rate could not be compared with kind words: the judge\\nwas not asked; it is 1.0501",
    ].join("\n"),
  );
  assertEquals(
    messageOf(() => assertState([1], [2])),
    "The state is not as expected: 1 difference.\n" +
      "  state[0] is different: expected 2, but it is 1",
  );
});

Deno.test("assertState() refuses what any state would meet, and options that there are not", () => {
  const nothing = "Cannot use assertState as something must be expected";
  for (const expected of [{}, new Map(), new Set()]) {
    assertThrows(
      () => assertState({ a: 1 }, expected, { match: "partial" }),
      InputError,
      nothing,
    );
    assertState(expected, expected);
  }
  const partial = { match: "partial", ignore: ["a"] } as const;
  assertThrows(() => assertState({ b: 2 }, { a: 1 }, partial), InputError, nothing);
  assertThrows(() => assertState({ b: 2 }, anyOf({ a: 1 }), partial), InputError, nothing);
  assertThrows(() => assertState([1], [2], { ignore: ["[*]"] }), InputError, nothing);
  // What is left, or that there must be no more, is asserted.
  assertState({ b: 2, c: 3 }, { a: 1, b: 2 }, partial);
  assertThrows(() => assertState({ b: 3 }, { a: 1, b: 2 }, partial), AssertionError);
  assertState({ a: 2 }, { a: 1 }, { ignore: ["a"] });
  assertThrows(() => assertState({ b: 2 }, { a: 1 }, { ignore: ["a"] }), AssertionError);
  const table: [options: object, message: string][] = [
    [{ matches: "partial" }, 'Unrecognized key: "matches"'],
    [{ match: "loose" }, "at match: "],
    [{ ignore: "a" }, "at ignore: "],
    [{ ignore: ["a..b"] }, 'Cannot use path "a..b"'],
    [{ ignore: ["b", "a.id"] }, "Cannot ignore a.id as a path must not end in a matcher"],
  ];
  for (const [options, message] of table) {
    assertThrows(() => assertState({}, { a: judge }, options), InputError, message);
  }
  assertThrows(() => assertState({}, {}, {}, {} as never), InputError, "the message");
});

const TAKEN = {
  ...recordOf(made("f"), made("g")),
  replies: 3,
  usage: { inputTokens: 900, outputTokens: 101 },
  durationMs: 2_500,
};

Deno.test("assertBudget() passes up to its limits, and tells each that is exceeded", () => {
  const limits = { calls: 2, replies: 3, inputTokens: 900, outputTokens: 101, tokens: 1_001 };
  assertBudget(TAKEN, { ...limits, seconds: 2.5 });
  for (const [key, limit] of Object.entries({ ...limits, seconds: 2.5 })) {
    assertBudget(TAKEN, { [key]: limit });
    const less = limit - (key === "seconds" ? 0.1 : 1);
    assertThrows(() => assertBudget(TAKEN, { [key]: less }), AssertionError, "is exceeded");
  }
  assertEquals(
    messageOf(() =>
      assertBudget(TAKEN, {
        ...{ calls: 1, replies: 2, inputTokens: 1, outputTokens: 2, tokens: 3 },
        seconds: 2.4,
      }, "cheap")
    ),
    [
      "The budget is exceeded: cheap",
      "  calls: at most 1, but it took 2",
      "  replies: at most 2, but it took 3",
      "  tokens read: at most 1, but it took 900",
      "  tokens written: at most 2, but it took 101",
      "  tokens: at most 3, but it took 1001",
      "  seconds: at most 2.4, but it took 2.5",
      "  calls made: 2",
      "    1. step 1 f() -> ok",
      "    2. step 2 g() -> ok",
    ].join("\n"),
  );
});

Deno.test("assertBudget() refuses limits that cannot be used, and those on what nobody counted", () => {
  const table: [budget: object, message: string][] = [
    [{}, "must have a limit, as any run would do"],
    [{ token: 1 }, 'Unrecognized key: "token"'],
    [{ calls: -1 }, "at calls: must be at least 0: it is -1"],
    [{ calls: 1.5 }, "at calls: "],
    [{ seconds: -0.1 }, "at seconds: must be at least 0: it is -0.1"],
    [{ seconds: Infinity }, "at seconds: "],
  ];
  for (const [budget, message] of table) {
    assertThrows(() => assertBudget(TAKEN, budget), InputError, message);
  }
  const own = { ...TAKEN, replies: 0, usage: { inputTokens: 0, outputTokens: 0 } };
  for (const key of ["replies", "inputTokens", "outputTokens", "tokens"]) {
    // It fails, as an agent must not be able to leave a trial out.
    assertThrows(
      () => assertBudget(own, { [key]: 5 }),
      AssertionError,
      "no reply of its model was",
    );
  }
  assertBudget(own, { calls: 2, seconds: 3 });
  assertBudget({ ...own, usage: TAKEN.usage }, { tokens: 2_000 });
  // A server may tell no tokens, or those of one kind only.
  const untold = { ...own, replies: 3 };
  for (const key of ["inputTokens", "outputTokens", "tokens"]) {
    assertThrows(() => assertBudget(untold, { replies: 3, [key]: 5 }), InputError, "tokens");
    assertBudget({ ...untold, usage: { inputTokens: 0, outputTokens: 5 } }, { [key]: 5 });
    assertBudget({ ...untold, usage: { inputTokens: 5, outputTokens: 0 } }, { [key]: 5 });
  }
  assertBudget(untold, { replies: 3 });
});

Deno.test("assertState() compares within matchers as it compares elsewhere", () => {
  const state = { user: new Account("Ann", 30), day: new Date(5), more: 1 };
  const expected = (user: object, day: Date) => ({
    user: anyOf(user as never, "nobody"),
    day: anyOf(day as never, new Date(7) as never),
  });
  const ann = { owner: "Ann" };
  assertState(state, expected(ann, new Date(5)), { match: "partial" });
  assertState(state, expected(new Account("Ann", 31), new Date(5)), {
    ignore: ["user.balance", "more"],
  });
  const wrong = [
    () => assertState(state, expected(ann, new Date(5)), { ignore: ["more"] }),
    () => assertState(state, expected(ann, new Date(6)), { match: "partial" }),
    () => assertState(state, expected({ owner: "Bob" }, new Date(5)), { match: "partial" }),
  ];
  for (const assertion of wrong) assertThrows(assertion, AssertionError, "1 difference");
});

Deno.test("assertAnswer() looks at any or every reply where it is told to", () => {
  const talk = { ...answering("Bye."), texts: ["Let me see.", "It rains in Paris.", "Bye."] };
  assertAnswer(talk, "Paris", { replies: "any" });
  assertAnswer(talk, /[.]$/, { replies: "every" });
  assertAnswer(talk, "Bye", {});
  assertAnswer(talk, "Bye", { replies: "last" }, "it said so");
  assertThrows(() => assertAnswer(talk, "Paris"), AssertionError, "The answer is not");
  assertEquals(
    assertThrows(() => assertAnswer(talk, "Rome", { replies: "any" }, "where?"), AssertionError)
      .message.split("\n").slice(0, 4),
    [
      'No reply is a text with "Rome": where?',
      '  reply 1 of 3 is "Let me see."',
      '  reply 2 of 3 is "It rains in Paris."',
      '  reply 3 of 3 is "Bye."',
    ],
  );
  assertEquals(
    assertThrows(() => assertAnswer(talk, /s/, { replies: "every" }), AssertionError)
      .message.split("\n").slice(0, 2),
    ["1 of 3 replies is not a text that matches /s/.", '  reply 3 of 3 is "Bye."'],
  );
  for (const replies of ["any", "every"] as const) {
    const silent = { ...talk, texts: [] };
    assertThrows(
      () => assertAnswer(silent, "x", { replies }),
      AssertionError,
      "No reply has a text",
    );
    assertThrows(
      () => assertAnswer(answering("x"), "x", { replies }),
      InputError,
      "must have texts",
    );
    // What throws about a text does not take it.
    assertThrows(() => assertAnswer(talk, judge, { replies }), AssertionError, "the matcher threw");
  }
  assertThrows(
    () => assertAnswer(talk, "x", { replies: "all" } as never),
    InputError,
    "the options of assertAnswer",
  );
});

Deno.test("assertAnswer() shows a text of several lines beside the one that should be in it", () => {
  const { message } = assertThrows(
    () => assertAnswer(answering("Dear Ann,\npay 5\nBye"), "Dear Ann,\npay 6\nBye"),
    AssertionError,
  );
  assertEquals(message.split("\n").slice(2, 7), [
    "  [Diff] Actual / Expected",
    "      Dear Ann,",
    "  -   pay 5",
    "  +   pay 6",
    "      Bye",
  ]);
});

Deno.test("assertAsked() wants a question that the user could answer, before a tool", () => {
  const turn = (answer: string | null, ...calls: RecordedCall[]) => ({
    ...{ answer, calls, tools: [toolWith("cancel")] },
  });
  const turns = [
    turn("Order A1 or B2\uff1f"),
    turn("Shall I\u001b[31m cancel?", made("cancel", { order: "A1" })),
    turn("Was it order A1?"),
  ];
  assertAsked({ turns }, /order/i, { before: "cancel" });
  assertAsked({ turns }, "Shall I", "at any time");
  assertAsked({ turns: [turn("Which?"), turn("Never mind.")] }, "Which", { before: "cancel" });
  const wrong = (one: string | RegExp, ...more: [{ before: string }?, string?]) =>
    messageOf(() => assertAsked({ turns }, one, ...more));
  assertEquals(
    wrong("Shall I", { before: "cancel" }, "money is at stake"),
    [
      'The model did not ask the user a text with "Shall I" before it called cancel: money is at stake',
      '  turn 1 asked "Order A1 or B2？"',
      '  turn 2 asked "Shall I\\u001b[31m cancel?", too late',
      '  turn 3 asked "Was it order A1?", too late, and ended there',
      "  calls made: 1",
      '    1. step 1 cancel(order="A1") -> ok',
    ].join("\n"),
  );
  assertStringIncludes(wrong("Was it"), 'turn 3 asked "Was it order A1?", and ended there');
  const silent = [turn("I see https://a.example/?order."), turn(null), turn("order")];
  assertStringIncludes(
    messageOf(() => assertAsked({ turns: silent }, "order")),
    "it asked nothing",
  );
  assertThrows(() => assertAsked({ turns }, "A1", { before: "pay" }), InputError, "no tool pay");
  assertThrows(() => assertAsked({ turns }, ""), InputError, "must not be empty");
});
