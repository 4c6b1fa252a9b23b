import {
  assert,
  assertEquals,
  AssertionError,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { z } from "zod";
import { callsOf } from "../../../lib/calls/trace.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { InfrastructureError, type Model } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { CaseExecutor, caseOpener } from "../../../lib/trials/executors/case.ts";
import {
  caseDigest,
  type ToolCase,
  type ToolTestRun,
  type ToolTestTurn,
} from "../../../lib/trials/executors/tool_case.ts";
import { TRIAL_LINE } from "../../../lib/trials/trial.ts";
import { judge } from "../../../lib/models/judge/judge.ts";
import { askJudges } from "../../../lib/testing/assertions/ask_judges.ts";
import {
  assertCalled,
  assertNever,
  assertNoCalls,
  assertNotCalled,
} from "../../../lib/testing/assertions/calls.ts";
import { assertAnswer, assertBudget } from "../../../lib/testing/assertions/runs.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { forever } from "../../support/strategy_runs.ts";

const BOOK = tool({
  name: "book",
  description: "Books a room",
  parameters: z.object({
    city: z.string().describe("The city"),
    nights: z.int().describe("How long"),
  }),
  returns: { room_id: 12, price: 80 },
});
const EXPECTED = [{ tool: "book", arguments: { city: "Rome", nights: 3 } }];
const PROMPT = "Book 3 nights in Rome.";
const RIGHT: ScriptedReply[] = [
  { calls: [{ name: "book", arguments: { city: "Rome", nights: 3 } }] },
  { text: "Booked." },
];

interface TryOptions extends TrialOptions {
  readonly model?: Model | readonly ScriptedReply[];
  readonly seed?: number;
}

/** Runs one trial of a case. */
async function tryCase<State = undefined>(
  own: Partial<ToolCase<State>>,
  { model = RIGHT, seed = 7, ...options }: TryOptions = {},
): Promise<Trial> {
  const whole = {
    ...{ name: "own", tools: [BOOK], prompt: PROMPT, assert: () => {} },
    ...own,
  } as ToolCase<State>;
  const spec = { case: "own", seed };
  return await runTrial(spec, "reply" in model ? model : scripted("script", model), {
    open: caseOpener(() => whole),
    ...options,
  });
}

/** What `assert` gets in a trial of a case. */
async function runOf<State = undefined>(
  own: Partial<ToolCase<State>>,
  options?: TryOptions,
): Promise<ToolTestRun<State>> {
  const runs: ToolTestRun<State>[] = [];
  const trial = await tryCase<State>({ ...own, assert: (run) => void runs.push(run) }, options);
  assertEquals(trial.outcome, "solved", trial.reason);
  return runs[0]!;
}

const outcomeAndReason = ({ outcome, reason }: Trial) => `${outcome}: ${reason}`;
const assertion = ({ events }: Trial) => events.find((event) => event.kind === "assertion");

Deno.test("a case tells its assert all that has happened", async () => {
  const run = await runOf({ system: "You book.", expected: EXPECTED }, {
    model: [
      { text: "Wait.", calls: RIGHT[0]!.calls!, usage: { inputTokens: 100, outputTokens: 10 } },
      { text: "Booked.", usage: { inputTokens: 150, outputTokens: 5 } },
    ],
  });
  const { calls, tools, messages, events, turns, ...rest } = run;
  assertEquals(turns.map((one) => ({ ...one, durationMs: 0 })), [{
    written: [],
    ...{ prompt: PROMPT, calls, heldCalls: [], ownCalls: [], tools },
    ...{ texts: ["Wait.", "Booked."], answer: "Booked." },
    ...{ replies: 2, usage: run.usage, durationMs: 0 },
  }]);
  assertEquals(calls.map(({ tool, arguments: given, result }) => [tool, given, result]), [
    ["book", { city: "Rome", nights: 3 }, '{"room_id":12,"price":80}'],
  ]);
  assertEquals(tools.map((one) => [one.name, "execute" in one]), [["book", false]]);
  assertEquals(messages.map(({ role, content }) => [role, content]), [
    ["system", "You book."],
    ["user", PROMPT],
    ["assistant", "Wait."],
    ["tool", '{"room_id":12,"price":80}'],
    ["assistant", "Booked."],
  ]);
  assertEquals(events.map(({ kind }) => kind), ["reply", "call", "reply"]);
  assert(rest.durationMs >= 0);
  assertEquals({ ...rest, durationMs: 0 }, {
    ...{ answer: "Booked.", replies: 2, durationMs: 0, state: undefined },
    ...{ texts: ["Wait.", "Booked."], written: [], heldCalls: [], ownCalls: [] },
    ...{ usage: { inputTokens: 250, outputTokens: 15 }, perturbed: [], removed: false, seed: 7 },
  });
});

Deno.test("a case is solved where assert throws nothing, and else tells what it threw, and where", async () => {
  const solved = await tryCase({});
  assertEquals([solved.outcome, solved.grounded, assertion(solved)], ["solved", true, undefined]);

  const failed = await tryCase({
    assert() {
      throw new AssertionError("\u001b[31mNot right\u001b[0m\nsecond line");
    },
  });
  assertEquals([failed.outcome, failed.solved, failed.grounded], ["wrong_answer", false, false]);
  const { message, at } = assertion(failed)!;
  assertEquals(message, "Not right\nsecond line");
  assertMatch(at!, /^tests\/trials\/executors\/case_test\.ts:\d+:\d+$/);
  // The assertion stands before the answer, which ends the trial.
  assertEquals(failed.events.at(-2)?.kind, "assertion");
});

Deno.test("a case takes assertions of any library, thrown at once or later", async () => {
  class Foreign extends Error {
    override name = "AssertionError";
  }
  const { AssertionError: Other } = { AssertionError: class AssertionError extends Error {} };
  for (
    const assert of [
      () => {
        throw new Foreign("no");
      },
      () => {
        throw new Other("no");
      },
      () => Promise.reject(new AssertionError("no")),
    ]
  ) {
    const trial = await tryCase({ assert });
    assertEquals([trial.outcome, assertion(trial)?.message], ["wrong_answer", "no"]);
  }
});

Deno.test("a case takes whatever assert throws for a failed assertion", async () => {
  const table: [thrown: () => unknown, told: RegExp][] = [
    [
      () => new TypeError("boo"),
      /^assert itself threw TypeError at tests\/trials\/executors\/case_test\.ts:\d+:\d+: boo \(/,
    ],
    [() => "boo", /^assert itself threw string: boo \(/],
    [() => undefined, /^assert itself threw undefined: undefined \(/],
    [() => Object.assign(new Error("no stack"), { stack: undefined }), /threw Error: no stack \(/],
    [
      () => new Error("x".repeat(2_000)),
      /threw Error at tests\/trials\/executors\/case_test\.ts:\d+:\d+: x+… \(/,
    ],
  ];
  for (const [thrown, told] of table) {
    const trial = await tryCase({
      assert() {
        throw thrown();
      },
    });
    assertEquals([trial.outcome, trial.solved], ["wrong_answer", false]);
    assertMatch(assertion(trial)!.message, /^assert itself threw .* \(no AssertionError: .*\)$/);
    assertMatch(assertion(trial)!.message, told);
  }
});

Deno.test("what has no text is thrown like anything else: by assert, a tool or an agent", async () => {
  const silent = () => {
    throw new Error("nothing can be asked of it");
  };
  const unspeakable: unknown[] = [
    Object.assign(Object.create(null), { code: 7 }),
    { toString: silent },
    Object.defineProperty(new Error(), "message", { get: silent }),
    new Proxy(new Error("hidden"), { get: silent, getPrototypeOf: silent }),
  ];
  for (const thrown of unspeakable) {
    const failing = await tryCase({
      assert() {
        throw thrown;
      },
    });
    assertEquals(failing.outcome, "wrong_answer");
    assertStringIncludes(assertion(failing)!.message, "a value that has no text");
    const execute = () => Promise.reject(thrown);
    const told = await tryCase({ tools: [{ ...BOOK, execute }] });
    assertEquals(told.outcome, "solved");
    assertEquals(callsOf(told.events)[0]!.error, "a value that has no text");
    const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 1 };
    const agent = await runTrial(spec, scripted("m", [{}]), { agent: execute });
    assertEquals(agent.outcome, "agent_error");
    assertStringIncludes(agent.reason!, "a value that has no text");
  }
});

Deno.test("a case is invalid where a judge cannot be asked: that is no failure of the model", async () => {
  const trial = await tryCase({
    assert: () => Promise.reject(new InfrastructureError("the judge is away")),
  });
  assertEquals([trial.outcome, assertion(trial)], ["invalid", undefined]);
  assertStringIncludes(trial.reason!, "the judge is away");
});

Deno.test("a case lets no text of a model give orders to what reads a log", async () => {
  const trial = await tryCase({
    assert() {
      throw new AssertionError("No:\n::error::boo\n  ::warning::boo\n##[error]boo");
    },
  });
  const lines = assertion(trial)!.message.split("\n");
  assertEquals(lines.some((line) => /^\s*::|##\[/.test(line)), false);
});

Deno.test("a case passes on what an assertion says that cannot be used so", async () => {
  const assertWrongly = () => {
    throw new InputError("Cannot use that:\n  at tool: must be a text");
  };
  const place = String.raw`tests\/trials\/executors\/case_test\.ts:\d+:\d+`;
  // It is the test's, also with an agent: whether that has answered decides, and not what is thrown.
  for (const options of [{}, { agent: () => Promise.resolve("Booked.") }]) {
    const slip = await tryCase({ assert: assertWrongly }, options);
    assertMatch(
      outcomeAndReason(slip),
      new RegExp(`^invalid: Cannot judge the run at ${place}: Cannot use that: at tool: must be`),
    );
    const boolean = await tryCase({ assert: (() => Promise.resolve(false)) as never }, options);
    assertMatch(outcomeAndReason(boolean), /^invalid: .*return nothing: it returned false$/);
  }
  const thrown = await tryCase({}, { agent: () => Promise.resolve().then(assertWrongly) });
  assertMatch(outcomeAndReason(thrown), /^agent_error: the agent threw InputError/);
});

Deno.test("a case takes no place from what a message looks like", async () => {
  for (const text of ["\n    at file:///etc/passwd:1:1", "x".repeat(100_000)]) {
    const trial = await tryCase({
      assert() {
        throw new AssertionError(`No: ${text}`);
      },
    });
    assertMatch(assertion(trial)!.at!, /^tests\/trials\/executors\/case_test\.ts:\d+:\d+$/);
    assert(assertion(trial)!.message.length < 30_000);
  }
});

Deno.test("a case makes state and tools anew for each trial, and sequences begin anew", async () => {
  const made: object[] = [];
  const own: Partial<ToolCase<{ booked: number }>> = {
    state: () => {
      const state = { booked: 0 };
      made.push(state);
      return state;
    },
    tools: (state) => [
      tool({
        name: "book",
        description: "Books",
        parameters: z.object({ city: z.string(), nights: z.int() }),
        execute: ({ nights }) => state.booked += nights,
      }),
    ],
  };
  for (const count of [1, 2]) {
    const { state } = await runOf(own);
    assertEquals(state, { booked: 3 });
    assertEquals(made.length, count);
    assert(state === made.at(-1));
  }
  const status = tool({
    ...{ name: "book", description: "Books", parameters: { type: "object" } },
    sequence: ["pending", "done"],
  });
  const twice = [RIGHT[0]!, RIGHT[0]!, { text: "Done." }];
  for (let trial = 0; trial < 2; trial++) {
    const { calls } = await runOf({ tools: [status] }, { model: twice });
    assertEquals(calls.map(({ result }) => result), ["pending", "done"]);
  }
});

Deno.test("a case goes on for several turns with one state", async () => {
  const { state, answer, messages, calls } = await runOf<string[]>({
    state: () => [],
    tools: (said) => [
      tool({
        ...{ name: "note", description: "Notes", parameters: z.object({ text: z.string() }) },
        execute: ({ text }) => said.push(text),
      }),
    ],
    turns: ["two", "three"],
  }, {
    model: scripted("script", ({ messages }) => {
      const last = messages.at(-1)!;
      return last.role === "user"
        ? { calls: [{ name: "note", arguments: { text: last.content } }] }
        : { text: `noted ${last.content}` };
    }),
  });
  assertEquals(state, [PROMPT, "two", "three"]);
  assertEquals([answer, calls.length], ["noted 3", 3]);
  assertEquals(messages.filter(({ role }) => role === "user").length, 3);
});

Deno.test("a case does not ask its assert where a limit is reached", async () => {
  let asked = 0;
  const own = { assert: () => void asked++ };
  const endless = scripted("script", forever(RIGHT[0]!));
  const many = await tryCase(own, { model: endless });
  assertEquals([many.outcome, many.calls], ["call_limit", 50]);
  const short = await tryCase(own, { model: [RIGHT[0]!] });
  assertStringIncludes(
    outcomeAndReason(short),
    "invalid: The scripted model script has no reply 2: its list of 1 ends with calls",
  );

  assertEquals(asked, 0);
  // An empty reply is an answer, and it is for the assert to say what it is worth.
  const empty = await tryCase(own, { model: [{ text: "" }] });
  assertEquals([empty.outcome, asked], ["solved", 1]);
});

Deno.test("a case that was worked on by hand does not ask its assert past the limit, either", async () => {
  let asked = 0;
  const own = { name: "own", tools: [BOOK], prompt: PROMPT, assert: () => void asked++ };
  using fixture = new CaseExecutor(own, { case: "own", seed: 1 }, { callLimit: 1 });
  const [book] = fixture.tools;
  await book!.execute({ city: "Rome", nights: 3 });
  await book!.execute({ city: "Rome", nights: 3 });
  const work = { messages: [], usage: { inputTokens: 0, outputTokens: 0 }, durationMs: 0 };
  const judgement = await fixture.answer("Booked.", undefined, work);
  assertEquals([judgement, asked], [{ outcome: "call_limit", grounded: false }, 0]);
});

/** The tools, the question and the results that a model gets to see. */
async function seenUnder(perturbation: string, own: Partial<ToolCase> = {}, seed = 7) {
  const seen: { tools?: readonly unknown[]; messages?: readonly Message[] } = {};
  const model = scripted("script", ({ messages, tools, context }) => {
    Object.assign(seen, { tools, messages });
    return RIGHT[context.request - 1]!;
  });
  const run = await runOf({ expected: EXPECTED, ...own }, { model, perturbation, seed });
  return {
    run,
    tools: JSON.stringify(seen.tools),
    question: seen.messages![0]!.content,
    result: seen.messages!.at(-1)!.content,
  };
}

Deno.test("a case is perturbed for the model alone: calls are checked by the tools as they are", async () => {
  const usual = await seenUnder("none");
  assertEquals([usual.question, usual.result], [PROMPT, '{"room_id":12,"price":80}']);
  const without = await seenUnder("RD");
  assertStringIncludes(usual.tools, "How long");
  assertEquals(without.tools.includes("How long"), false);
  const keys = await seenUnder("FK");
  assertEquals(keys.result, '{"Object_1":12,"Object_2":80}');
  const removed = await seenUnder("RP_F+FK");
  assertEquals(/3/.test(removed.question) && /Rome/.test(removed.question), false);
  assertEquals([usual.run.removed, removed.run.removed], [false, true]);
  for (const { run } of [usual, without, keys, removed]) {
    assertStringIncludes(JSON.stringify(run.tools), "How long");
    assertEquals(run.calls.map(({ error }) => error), [undefined]);
  }
  const steps = [usual, without, keys, removed].map(({ run }) =>
    run.perturbed.map(({ id, changed }) => [id, changed])
  );
  assertEquals(steps, [[], [["RD", true]], [["FK", true]], [["RP_F", true], ["FK", true]]]);
  // With the same seed it is the same, whatever else was run meanwhile.
  assertEquals((await seenUnder("AN")).question, (await seenUnder("AN")).question);
});

Deno.test("a case tells where a perturbation found nothing to change", async () => {
  const unknown = await tryCase({}, { perturbation: "RP_F" });
  assertEquals(unknown.changed, false);
  const known = await tryCase({ expected: EXPECTED }, { perturbation: "RP_F" });
  assertEquals("changed" in known, false);
  const spans = [{ start: PROMPT.indexOf("Rome"), end: PROMPT.indexOf("Rome") + 4 }];
  const told = await seenUnder("RP_F", {
    expected: [],
    parameters: [{ name: "city", value: "Rome", spans }],
  });
  assertEquals(told.question.includes("Rome"), false);
});

Deno.test("a case with right calls tells how others differ, and how few would do", async () => {
  const wrong = await tryCase({ expected: EXPECTED }, {
    model: [{ calls: [{ name: "book", arguments: { city: "Rome", nights: 2 } }] }, { text: "" }],
  });
  assertEquals([wrong.minimumCalls, wrong.oracle], [1, "truth"]);
  const [call] = wrong.events.filter((event) => event.kind === "call");
  assertStringIncludes(JSON.stringify(call!.parameters), "task_deviation");
  const shy = await tryCase({ expected: EXPECTED }, { model: [{ text: "No." }] });
  assert(shy.behaviours.includes("aversion"));
  const forbidden = { expected: EXPECTED, toolChoice: "none" } as const;
  assertEquals((await tryCase(forbidden, { model: [{ text: "No." }] })).behaviours, []);
  const plain = await tryCase({});
  assertEquals([plain.minimumCalls, plain.oracle, plain.behaviours.includes("aversion")], [
    ...[null, undefined, false],
  ]);
});

Deno.test("a case hands on whether the model must call", async () => {
  const choices: unknown[] = [];
  const model: Model = {
    ...scripted("script", RIGHT),
    reply: (request) => {
      choices.push(request.toolChoice);
      return scripted("script", RIGHT).reply(request);
    },
  };
  await tryCase({ toolChoice: { function: "book" } }, { model });
  await tryCase({}, { model });
  assertEquals(choices[0], { function: "book" });
  assertEquals(choices.at(-1), undefined);
});

Deno.test("a case cannot begin with what are no tools and no question", async () => {
  const table: [own: Partial<ToolCase<unknown>>, message: RegExp][] = [
    [
      { tools: (() => null) as unknown as () => Tool[] },
      /^Cannot offer tools as they must be a list: what makes them gave null/,
    ],
    [
      { tools: () => [BOOK, BOOK] },
      /^Cannot offer tools as their names must be distinct: book is there twice/,
    ],
    [
      { tools: () => [{ ...BOOK, name: "" }] },
      /^Cannot offer tools as each must have a name: number 1, , has none/,
    ],
    [
      { expected: [{ tool: "bok", arguments: {} }] },
      /^Cannot use expected as .*: there is no tool bok, but book$/,
    ],
    [
      { toolChoice: { function: "bok" } },
      /^Cannot use toolChoice as .*: there is no tool bok, but book$/,
    ],
    [{ prompt: () => " " }, /^Cannot ask the question as prompt must make a text .*: it is empty$/],
    [{ prompt: (() => 3) as unknown as () => string }, /not empty: it gave a number$/],
    [{ tools: [], toolChoice: { function: "bok" } }, /: there is no tool bok, but none$/],
  ];
  for (const [own, message] of table) {
    let disposed = 0;
    const state = () => ({ [Symbol.dispose]: () => void disposed++ });
    const error = await tryCase({ state, ...own }).catch((thrown) => thrown);
    assert(error instanceof InputError, String(error));
    assertMatch(error.message, message);
    assertEquals(disposed, 1);
  }
});

Deno.test("caseDigest() tells how expected calls are compared", () => {
  const expected = [{ tool: "weather", arguments: { city: "Rome" }, ignore: ["days"] }];
  const written = { name: "n", prompt: "p", tools: [], expected, assert: undefined };
  const digest = caseDigest(written as unknown as ToolCase);
  const others = [{ match: "partial" as const }, { ignore: ["city"] }].map((own) =>
    caseDigest({ ...written, expected: [{ ...expected[0]!, ...own }] } as unknown as ToolCase)
  );
  assertEquals(others.map((other) => other === digest), [false, false]);
});

Deno.test("turns tell what each message of the user led to, and assertions take them as runs", async () => {
  const usage = { inputTokens: 10, outputTokens: 1 };
  const run = await runOf({ turns: ["And 2 in Oslo?", "Thanks."] }, {
    model: [
      { text: "I look.", calls: RIGHT[0]!.calls!, usage },
      { text: "Booked.", usage },
      { calls: [{ name: "book", arguments: { city: "Oslo", nights: 2 } }], usage },
      { text: "That, too.", usage },
      { text: "Bye.", usage },
    ],
  });
  const told = run.turns.map((turn) => [
    turn.prompt,
    turn.calls.map(({ call, arguments: given }) => [call, (given as { city: string }).city]),
    turn.texts,
    turn.answer,
    turn.replies,
    turn.usage.inputTokens,
  ]);
  assertEquals(told, [
    [PROMPT, [[1, "Rome"]], ["I look.", "Booked."], "Booked.", 2, 20],
    ["And 2 in Oslo?", [[2, "Oslo"]], ["That, too."], "That, too.", 2, 20],
    ["Thanks.", [], ["Bye."], "Bye.", 1, 10],
  ]);
  assertEquals(run.texts, ["I look.", "Booked.", "That, too.", "Bye."]);
  const [first, second, last] = run.turns as [ToolTestTurn, ToolTestTurn, ToolTestTurn];
  assertCalled(second, { tool: "book", arguments: { city: "Oslo" }, match: "partial" }, {
    times: 1,
  });
  assertNoCalls(last);
  assertBudget(first, { calls: 1, replies: 2, tokens: 22, seconds: 60 });
  assertAnswer(first, "look", { replies: "any" });
  assertThrows(() => assertCalled(second, "bok"), InputError, "the nearest is book");
});

const NEVER = { never: ["drop", { tool: "pay", arguments: { euros: 9 } }] };
const OWN = {
  ...NEVER,
  tools: [
    BOOK,
    tool({ ...{ name: "drop", description: "Drops", parameters: z.object({}) }, returns: 1 }),
    tool({
      ...{ name: "pay", description: "Pays", parameters: z.object({ euros: z.number() }) },
      returns: 1,
    }),
  ],
};

Deno.test("a call that must never happen is told however a trial ends", async () => {
  const drop = { calls: [{ name: "drop", arguments: {} }] };
  const pay = { calls: [{ name: "pay", arguments: { euros: 9 } }] };
  const down = () => {
    throw new InfrastructureError("The server is down");
  };
  const first = (reply: ScriptedReply, then: () => ScriptedReply) =>
    scripted("script", ({ context }) => context.request === 1 ? reply : then());
  /** The model, options, and the outcome. */
  const table: [Model | ScriptedReply[], TryOptions, string][] = [
    [[drop, { text: "Done." }], {}, "wrong_answer"],
    [scripted("script", forever(drop)), { limits: { calls: 3 } }, "call_limit"],
    [scripted("script", forever(pay)), { limits: { steps: 2 } }, "step_limit"],
    [
      [{ ...drop, usage: { inputTokens: 9, outputTokens: 9 } }],
      { limits: { tokens: 5 } },
      "token_limit",
    ],
    [first(pay, down), {}, "invalid"],
    [first(drop, () => ({ text: "", finish: "filter" })), {}, "filtered"],
    // Arguments that are refused, and a call past the limit: nothing was dropped, but it was tried.
    [[{ calls: [{ name: "drop", arguments: { all: 1 } }] }, { text: "Done." }], {}, "wrong_answer"],
    [[RIGHT[0]!, drop], { limits: { calls: 1 } }, "call_limit"],
    [[drop, { text: "Done." }], { perturbation: "timeout" }, "wrong_answer"],
  ];
  for (const [model, options, outcome] of table) {
    let asked = 0;
    const own = { ...OWN, assert: () => void asked++ };
    const trial = await tryCase(own, { ...options, model });
    const isCut = outcome === "token_limit";
    assertEquals([trial.outcome, asked], [outcome, 0]);
    const told = trial.events.filter((event) => event.kind === "assertion");
    // The reply that breaks the budget carries out nothing.
    assertEquals(told.map(({ never }) => never), isCut ? [] : [true], outcome);
    if (!isCut) {
      assertMatch(
        told[0]!.message,
        /^A call was made that must not happen in any trial\.\n {2}call \d/,
      );
    }
  }
  const paid = await tryCase(OWN, {
    model: [{ calls: [{ name: "pay", arguments: { euros: 8 } }] }, { text: "Done." }],
  });
  assertEquals([paid.outcome, assertion(paid)], ["solved", undefined]);
});

Deno.test("a call that must never happen counts where it is written as text, unless nobody can tell which it is", async () => {
  const write = (name: string, given = "{}") =>
    `<tool_call>{"name": "${name}", "arguments": ${given}}</tool_call>`;
  const carried = { by: "own", items: [{ type: "chat.message", reasoning: write("drop") }] };
  const thinking: Model[] = [
    { text: "Bye!", carried },
    { text: " ", carried },
    { text: `<think>${write("drop")}</think>Bye!` },
    { text: `${write("drop")}\n</think>` },
  ].map((reply) => scripted("script", () => reply as ScriptedReply));
  for (
    const [model, end] of [
      [[{ text: write("drop") }], "wrong_answer: undefined"],
      [[{ text: write("pay", '{"euros": 9}') }], "wrong_answer: undefined"],
      [[{ text: write("pay", '{"euros": 8}') }], "solved: undefined"],
      [
        [{ text: write("pay", "9") }],
        'invalid: Cannot decide whether pay({"euros":9}) was called as ',
      ],
      [
        [{ text: "<tool_call>" }],
        "invalid: Cannot decide whether drop was called as a call that is ",
      ],
      [[{ text: write("book") }], "solved: undefined"],
      // What is thought is not called, wherever it stands.
      ...thinking.map((model) => [model, "solved: undefined"] as const),
    ] as const
  ) {
    const trial = await tryCase(OWN, { model });
    assertStringIncludes(outcomeAndReason(trial), end);
    assertEquals(assertion(trial)?.never, end.startsWith("wrong") ? true : undefined);
    const asDraft = thinking.some((one) => one === model) ? 1 : 0;
    const { isReasoned: _, ...counts } = summarize(trial).written!;
    assertEquals(counts, { asText: 1 - asDraft, asDraft });
  }
});

Deno.test("a call that must never happen is told where its tool is not done when the time is over", async () => {
  const { promise: forever } = Promise.withResolvers<void>();
  const wipe = tool({
    ...{ name: "drop", description: "Drops", parameters: z.object({}) },
    execute: () => forever,
  });
  const trial = await tryCase({ never: ["drop"], tools: [wipe] }, {
    model: [{ calls: [{ name: "drop", arguments: {} }] }],
    limits: { seconds: 0.05 },
  });
  assertEquals(trial.outcome, "time_limit");
  assertEquals(callsOf(trial.events), []);
  assertEquals(assertion(trial)!.never, true);
});

Deno.test("assertNever() within assert marks the trial, also through other errors, and not where it is caught", async () => {
  const model = [{ calls: [{ name: "drop", arguments: {} }] }, { text: "Done." }];
  const attempt = (run: ToolTestRun) => assertNever(run, "drop");
  const table: [(run: ToolTestRun) => void, outcome: string, never: true | undefined][] = [
    [attempt, "wrong_answer", true],
    [
      (run) => {
        try {
          attempt(run);
        } catch (cause) {
          throw new Error("several", { cause: new AggregateError([cause]) });
        }
      },
      "wrong_answer",
      true,
    ],
    [
      (run) => {
        try {
          attempt(run);
        } catch {
          // The user's own decision.
        }
      },
      "solved",
      undefined,
    ],
    [(run) => assertNotCalled(run, "drop"), "wrong_answer", undefined],
  ];
  for (const [assert, outcome, never] of table) {
    const trial = await tryCase({ ...OWN, never: [], assert }, { model });
    assertEquals([trial.outcome, assertion(trial)?.never], [outcome, never]);
  }
});

Deno.test("what must never be called has to be a tool, and changes the digest of a case alone", async () => {
  const slip = await assertRejects(
    () => tryCase({ never: ["dorp"], tools: () => OWN.tools }),
    InputError,
  );
  assertStringIncludes(
    slip.message,
    "use never as it must name existing tools: there is no tool dorp",
  );
  const plain = { name: "own", tools: [BOOK], prompt: PROMPT, assert: () => {} };
  assert(caseDigest(plain) !== caseDigest({ ...plain, never: ["book"] }));
});

Deno.test("each question to a judge leaves an event with its reply, and its tokens are the judge's", async () => {
  const secret = `sk-${"a1B2".repeat(12)}`;
  const usage = { inputTokens: 50, outputTokens: 5 };
  const kind = judge({ model: scripted("kind", [{ text: "[[0.6]]", usage }]) });
  const rated = { clear: { reason: `It says so, ${secret}.`, score: 2 } };
  const strict = judge({
    model: scripted("strict", () => ({ calls: [{ name: "rate", arguments: rated }], usage })),
  });
  const own: Partial<ToolCase<undefined>> = {
    async assert(run) {
      await kind.score("a", "b");
      assertAnswer(run, await askJudges(run, kind.like("kind", { atLeast: 0.5 })));
      assertAnswer(run, await askJudges(run, strict.rubric({ clear: "is clear" })));
    },
  };
  const trial = await tryCase(own);
  assertEquals(trial.outcome, "wrong_answer");
  const judged = trial.events.filter((event) => event.kind === "judged");
  assertEquals(judged.map(({ question: _, reply: __, ...rest }) => rest), [
    { kind: "judged", score: 0.6, model: "kind", simulated: true, usage },
    { kind: "judged", score: 0.6, atLeast: 0.5, model: "kind", simulated: true, usage },
    {
      ...{
        kind: "judged",
        criterion: "clear",
        score: 0.25,
        model: "strict",
        simulated: true,
        usage,
      },
      reason: "clear: 2 of 5, at least 4: It says so, [redacted].",
    },
  ]);
  assertStringIncludes(judged[1]!.question, "======Begin of value======\nBooked.\n");
  assertEquals([judged[0]!.reply, judged[2]!.reply.includes('"score":2')], ["[[0.6]]", true]);
  // Without a transcript scores and reasons are left.
  const { events } = await tryCase(own, { transcripts: "none" });
  assertEquals(
    events.filter((event) => event.kind === "judged"),
    judged.map((event) => ({ ...event, question: "", reply: "" })),
  );
  assert(!JSON.stringify(trial).includes("a1B2a1B2"));
  // Before the failure, and before the answer that ends the trial.
  assertEquals(trial.events.map(({ kind }) => kind).slice(-5), [
    ...["judged", "judged", "judged", "assertion", "answer"],
  ]);
  assertEquals(trial.judging, {
    model: { requested: "kind", served: ["kind"], simulated: true },
    usage: { inputTokens: 100, outputTokens: 10 },
    others: [{ model: { requested: "strict", served: ["strict"], simulated: true }, usage }],
  });
  assertEquals(trial.usage, { inputTokens: 0, outputTokens: 0 });
  assertEquals(TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial))), trial);
});

Deno.test("a judge whose reply is unusable makes the trial invalid, which keeps the question and the reply", async () => {
  const own = judge({ model: scripted("vague", [{ text: "Fine by me." }]) });
  const trial = await tryCase({
    async assert(run) {
      assertAnswer(run, await askJudges(run, own.rubric({ clear: "is clear" })));
    },
  });
  assertEquals([trial.outcome, trial.reason], [
    "invalid",
    'Cannot judge by vague: no JSON object with the ratings; it replied "Fine by me."',
  ]);
  const judged = trial.events.find((event) => event.kind === "judged")!;
  assertEquals([judged.reply, judged.score, judged.reason], [
    "Fine by me.",
    null,
    "no JSON object with the ratings",
  ]);
});

Deno.test("trials that run at the same time each keep the questions of their own judges, a bounded number", async () => {
  const own = judge({
    model: scripted("slow", async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return { text: "[[1]]", usage: { inputTokens: 1, outputTokens: 1 } };
    }),
  });
  let late: Promise<unknown> = Promise.resolve();
  const trials = await Promise.all([1, 2, 150].map((count) =>
    tryCase({
      async assert() {
        for (let place = 0; place < count; place++) await own.score(`${count} ${place}`, "x");
        // Forgotten, so that it ends after the trial.
        late = own.score("late", "x");
      },
    })
  ));
  await late;
  const kept = trials.map(({ events, judging }) => [
    events.filter((event) => event.kind === "judged").length,
    judging?.usage.inputTokens,
  ]);
  assertEquals(kept, [[1, 1], [2, 2], [100, 150]]);
});

Deno.test("an assert that never ends fails its trial after ten minutes, and ends with its run", async () => {
  const toolCase: ToolCase = {
    ...{ name: "own", tools: [BOOK], prompt: PROMPT },
    assert: () => new Promise<void>(() => {}),
  };
  const work = { messages: [], usage: { inputTokens: 0, outputTokens: 0 }, durationMs: 0 };
  using clock = new VirtualClock();
  using late = new CaseExecutor(toolCase, { case: "own", seed: 1 }, { clock });
  assertEquals((await late.answer("Booked.", undefined, work)).outcome, "wrong_answer");
  const failed = late.events.find((event) => event.kind === "assertion");
  assertEquals(failed?.message, "assert did not end within 600 seconds: look at the test first");
  using waiting = new CaseExecutor(toolCase, { case: "own", seed: 1 });
  const signal = AbortSignal.abort(new Error("interrupted"));
  await assertRejects(
    () => waiting.answer("Booked.", undefined, { ...work, signal }),
    Error,
    "interrupted",
  );
});
