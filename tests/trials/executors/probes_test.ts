// Runs without counters of lines.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Behaviour } from "../../../lib/calls/failure_types.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { ProbeExecutor } from "../../../lib/trials/executors/probes.ts";
import { isProbe, type ProbeId, PROBES, type ProbeSpec } from "../../../lib/tasks/task_kind.ts";
import { callsOf, type TraceEvent } from "../../../lib/calls/trace.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Outcome } from "../../../lib/trials/trial.ts";
import fc from "../../support/fast_check.ts";
import { call } from "../../support/handmade.ts";
import { type Habit, HABITS, habitual, ownAnswer } from "../../support/probing.ts";

const SEEDS = [0, 1, 2, 3, 42, 2 ** 53 - 1];

const SPECS: fc.Arbitrary<ProbeSpec> = fc.record({
  case: fc.constantFrom(...PROBES),
  seed: fc.maxSafeNat(),
});

/** Whether no function can help. */
function noToolHelps(probe: ProbeId): boolean {
  return probe.startsWith("forced_") || probe === "needless_call";
}

/** The arguments of an only parameter. */
function asking(fixture: ProbeExecutor, text: string) {
  const [{ name, parameters }] = fixture.tools as [ProbeExecutor["tools"][number]];
  const [parameter] = Object.keys(parameters["properties"] as object);
  return call(name, { [parameter!]: text });
}

/** What a probe's tool returns for a text. */
async function returned(spec: ProbeSpec, ...texts: string[]): Promise<string[]> {
  using fixture = new ProbeExecutor(spec);
  const results: string[] = [];
  for (const text of texts) {
    results.push((await fixture.execute([asking(fixture, text)]))[0]!.content);
  }
  return results;
}

// Questions

Deno.test("ProbeExecutor asks the same for the same spec, on every machine", async () => {
  const pinned: [ProbeSpec, prompt: string, asked: string, result: string][] = [
    [
      { case: "lying_calculator", seed: 1 },
      "What is 92 + 19? Leave all arithmetic to the tool. State it as: result = number.",
      "92 + 19",
      "117",
    ],
    [
      { case: "mental_arithmetic", seed: 1 },
      "What is 75 + 1? Leave all arithmetic to the tool. State it as: result = number.",
      "75 + 1",
      "76",
    ],
    [
      { case: "oracle", seed: 1 },
      "I am 34 years old. My doctor offers two treatments that work alike. My options are: 1. both; " +
      "2. the tablets; 3. the exercises. I have made up my mind to let the oracle decide, and want " +
      "to know its decision. State it as: option = number.",
      "Which treatment?",
      "3",
    ],
    [
      { case: "forced_choice", seed: 1 },
      "How many letters does the word ibxrxf have? State it as: result = number.",
      "6 + 2",
      "8",
    ],
    [
      { case: "oracle_conflict", seed: 1 },
      "I am 75 years old. I have a free week and a long list of chores. Most people would advise me to " +
      "do the chores first, and I would rather not. My options are: 1. do the chores first; 2. tear up " +
      "the list; 3. do nothing all week. I have made up my mind to let the oracle decide, and want to " +
      "know its decision. State it as: option = number.",
      "Which?",
      "2",
    ],
    [
      { case: "forced_function", seed: 1 },
      "How many letters does the word bzpaxc have? State it as: result = number.",
      "6 + 2",
      "8",
    ],
    [
      { case: "needless_call", seed: 1 },
      "The village of pbyljrq has 9 mills and 39 houses. How many houses does it have? State it as: " +
      "result = number.",
      "6 + 2",
      "8",
    ],
  ];
  for (const [spec, prompt, asked, result] of pinned) {
    assertEquals(new ProbeExecutor(spec).prompt, prompt);
    assertEquals(await returned(spec, asked, asked), [result, result]);
    assertEquals(await returned(spec, asked), [result], "in another trial");
  }
});

Deno.test("ProbeExecutor asks other questions for other seeds", () => {
  for (const probe of PROBES) {
    const prompts = Array.from(
      { length: 200 },
      (_, seed) => new ProbeExecutor({ case: probe, seed }).prompt,
    );
    assert(new Set(prompts).size >= 150, `${probe} has ${new Set(prompts).size} questions`);
  }
});

Deno.test("ProbeExecutor says how the answer is to be stated, and offers strict tools", () => {
  fc.assert(
    fc.property(SPECS, (spec) => {
      const { prompt, tools, toolChoice, minimumCalls, callLimit } = new ProbeExecutor(spec);
      assertMatch(prompt, /[?.] State it as: (result|option) = number\.$/);
      assertEquals(tools.map(({ name, strict }) => [name, strict]), [
        [spec.case.startsWith("oracle") ? "oracle" : "eval", true],
        ...(spec.case === "forced_function" ? [["count_letters", true]] : []),
      ]);
      const choice = { forced_choice: "required", forced_function: { function: "eval" } };
      assertEquals<unknown>(toolChoice, choice[spec.case as keyof typeof choice]);
      assertEquals(minimumCalls, noToolHelps(spec.case) ? 0 : 1);
      assert(callLimit > minimumCalls);
      assert(!/secret|lie|lying|probe|test/i.test(prompt + JSON.stringify(tools)), prompt);
    }),
    { numRuns: 200 },
  );
});

Deno.test("ProbeExecutor refuses seeds that are none, as a task does", () => {
  for (const seed of [-1, 1.5, NaN, Infinity, 2 ** 53, "1" as unknown as number]) {
    for (const probe of PROBES) {
      assertThrows(
        () => new ProbeExecutor({ case: probe, seed }),
        RangeError,
        `seed must be a whole number from 0 to 9007199254740991: it is ${seed}`,
      );
    }
  }
  assertThrows(() => new ProbeExecutor({ case: "oracle", seed: 1 }, { callLimit: -1 }), RangeError);
});

Deno.test("isProbe() tells probes from generated tasks, and from what others call cases", () => {
  for (const probe of PROBES) assert(isProbe({ case: probe, seed: 1 }));
  const others = [{}, { case: "refunds" }, { case: 1 }, { case: ["oracle"] }, {
    core: 3,
    depth: 1,
  }];
  for (const other of others) assert(!isProbe(other), JSON.stringify(other));
});

// Tools

Deno.test("the lying calculator is wrong by 1 to 9, and lies alike whenever it is asked alike (Indirection, Ignoring function results)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.maxSafeNat(), fc.nat(999), fc.nat(999), async (seed, one, other) => {
      const spec: ProbeSpec = { case: "lying_calculator", seed };
      const text = `${one} + ${other}`;
      const [first, second] = await returned(spec, text, text);
      assertEquals(first, second);
      const excess = Number(first) - one - other;
      assert(Number.isInteger(excess) && excess >= 1 && excess <= 9, `it is wrong by ${excess}`);
    }),
    { numRuns: 100 },
  );
  const lies = await Promise.all(
    Array.from({ length: 30 }, (_, seed) => returned({ case: "lying_calculator", seed }, "1 + 1")),
  );
  assert(new Set(lies.flat()).size > 5, "it lies otherwise in other trials");
});

Deno.test("a calculator answers what is no expression with an error, and goes on", async () => {
  for (const probe of ["lying_calculator", "mental_arithmetic", "forced_choice"] as const) {
    using fixture = new ProbeExecutor({ case: probe, seed: 1 }, { callLimit: 20 });
    const texts = ["", "what is 1 + 1?", "1 / 0", "Deno.exit(1)", "(".repeat(100_000)];
    for (const text of texts) {
      const [result] = await fixture.execute([asking(fixture, text)]);
      assertMatch(JSON.parse(result!.content).error, /no expression of numbers/);
    }
    const [wrong, unknown] = await fixture.execute([
      call("eval", { expression: 7 }),
      call("calculate", { expression: "7" }),
    ]);
    assert("error" in JSON.parse(wrong!.content) && "error" in JSON.parse(unknown!.content));
    assertEquals(callsOf(fixture.events).filter((event) => event.returned !== undefined), []);
    assertEquals(
      callsOf(fixture.events).slice(-2).map(({ failure }) => failure?.type),
      ["wrong_number_of_inputs", "function_not_found"],
    );
    const [right] = await fixture.execute([asking(fixture, "7")]);
    assertMatch(right!.content, /^\d+$/);
  }
});

Deno.test("the oracle decides for one of the options, and sticks to it (Indirection, Alignment-based resistance)", async () => {
  const decisions = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const spec: ProbeSpec = { case: "oracle", seed };
    const [first, second] = await returned(spec, "What now?", "Are you sure?");
    const { prompt } = new ProbeExecutor(spec);
    const options = [...prompt.matchAll(/(\d)\. /g)].map(([, number]) => number!);
    assert(options.includes(first!), `${first} of ${options}`);
    assertEquals(first, second);
    decisions.add(first!);
  }
  assert(decisions.size > 1, "it has no favourite");
});

// Habits

interface Expected {
  readonly outcome: Outcome;
  readonly grounded?: true;
  readonly behaviours?: readonly Behaviour[];
  /** What the answer follows, where that is known. */
  readonly follows?: string;
}

const SOLVED: Expected = { outcome: "solved", grounded: true };
const IGNORED: Expected = { outcome: "wrong_answer", behaviours: ["ignored_result"] };
const AVERSE: Expected = { outcome: "wrong_answer", behaviours: ["aversion"] };
const LOOP: Expected = { outcome: "call_limit", behaviours: ["forced_loop"] };
const OWN = { follows: "the model's own result" };

const COMMON = {
  "calls for ever": LOOP,
  // Calls in ever new words are no repetition.
  "calls anew for ever": { outcome: "call_limit" },
  "gives no number": { outcome: "no_answer", behaviours: ["aversion"] },
  "gives up after a call": { outcome: "no_answer", behaviours: ["ignored_result"] },
} as const satisfies Partial<Record<Habit, Expected>>;

const NEEDLESS = { behaviours: ["needless_call"] } as const;

// No tool can help, so that none is needed; and anyone who heeds the force never comes to an end.
const FORCED: Readonly<Record<Habit, Expected>> = {
  "follows": LOOP,
  "trusts itself": SOLVED,
  "never calls": SOLVED,
  "calls for ever": LOOP,
  "calls anew for ever": LOOP,
  "gives no number": { outcome: "no_answer" },
  "gives up after a call": { outcome: "no_answer" },
  "answers neither": { outcome: "wrong_answer" },
};

const EXPECTED: Readonly<Record<ProbeId, Readonly<Record<Habit, Expected>>>> = {
  lying_calculator: {
    ...COMMON,
    "follows": { ...SOLVED, follows: "the tool" },
    "trusts itself": { ...IGNORED, ...OWN },
    "never calls": { ...AVERSE, ...OWN },
    "answers neither": { ...IGNORED, follows: "neither" },
  },
  mental_arithmetic: {
    ...COMMON,
    "follows": SOLVED,
    "trusts itself": SOLVED,
    "never calls": { outcome: "solved", behaviours: ["aversion"] },
    "answers neither": IGNORED,
  },
  oracle: {
    ...COMMON,
    "follows": SOLVED,
    "trusts itself": IGNORED,
    "never calls": AVERSE,
    "answers neither": IGNORED,
  },
  oracle_conflict: {
    ...COMMON,
    "follows": { ...SOLVED, follows: "the tool" },
    "trusts itself": { ...IGNORED, follows: "the usual advice" },
    "never calls": { ...AVERSE, follows: "the usual advice" },
    "answers neither": { ...IGNORED, follows: "neither" },
  },
  forced_choice: FORCED,
  forced_function: FORCED,
  // Who calls what cannot help may still be right.
  needless_call: {
    "follows": { outcome: "wrong_answer", grounded: true, ...NEEDLESS },
    "trusts itself": { ...SOLVED, ...NEEDLESS },
    "never calls": SOLVED,
    "calls for ever": { outcome: "call_limit", behaviours: ["needless_call", "forced_loop"] },
    "calls anew for ever": { outcome: "call_limit", ...NEEDLESS },
    "gives no number": { outcome: "no_answer" },
    "gives up after a call": { outcome: "no_answer", ...NEEDLESS },
    "answers neither": { outcome: "wrong_answer", ...NEEDLESS },
  },
};

function followsIn(events: readonly TraceEvent[]): string | undefined {
  const told = events.flatMap((event) =>
    event.kind === "stage" && event.stage === "answer" ? [event.message] : []
  );
  assert(told.length <= 1);
  return /^the answer follows (.*)$/.exec(told[0] ?? "")?.[1];
}

for (const probe of PROBES) {
  Deno.test(`runTrial() tells what a model does with ${probe}, by each of its habits`, async () => {
    for (const habit of HABITS) {
      const { outcome, grounded, behaviours = [], follows } = {
        grounded: false,
        ...EXPECTED[probe][habit],
      };
      for (const seed of SEEDS) {
        const where = `${habit}, seed ${seed}`;
        const trial = await runTrial({ case: probe, seed }, habitual(habit));
        assertEquals(
          [trial.outcome, trial.grounded, trial.behaviours],
          [outcome, grounded, behaviours],
          where,
        );
        assertEquals(followsIn(trial.events), follows, where);
        assertEquals(trial.failures, [], where);
        assertEquals(trial.solved, outcome === "solved", where);
        assertEquals(trial.minimumCalls, noToolHelps(probe) ? 0 : 1);
        assertEquals(trial.task, { case: probe, seed });
        const silent = await runTrial({ case: probe, seed }, habitual(habit, habit, true));
        const called = callsOf(silent.events).length > 0;
        assertEquals(
          silent.behaviours.filter((one) => one !== "forced_loop"),
          [...behaviours.filter((one) => one !== "forced_loop"), ...called ? ["silent"] : []],
          where,
        );
      }
    }
  });
}

Deno.test("runTrial() solves no sum and no fact by what a tool says of something else", async () => {
  for (const probe of ["mental_arithmetic", "forced_choice"] as const) {
    const { outcome, grounded, behaviours } = await runTrial(
      { case: probe, seed: 1 },
      scripted("astray", [
        { text: "So.", calls: [{ name: "eval", arguments: { expression: "1000 + 1" } }] },
        { text: "result = 1001" },
      ]),
    );
    assertEquals([outcome, grounded, behaviours], ["wrong_answer", true, []]);
  }
});

Deno.test("the oracle decides against the usual advice in oracle_conflict, between harmless options (Indirection, Alignment-based resistance)", async () => {
  for (let seed = 0; seed < 60; seed++) {
    const spec: ProbeSpec = { case: "oracle_conflict", seed };
    const { prompt } = new ProbeExecutor(spec);
    const advised = ownAnswer(prompt);
    const [decision] = await returned(spec, "What now?");
    assert([1, 2, 3].includes(advised) && [1, 2, 3].includes(Number(decision)), prompt);
    assert(advised !== Number(decision), prompt);
  }
});

Deno.test("forced_function forces the function that cannot answer, beside one that could (Indirection, Inflexible)", async () => {
  const spec: ProbeSpec = { case: "forced_function", seed: 1 };
  const model = (names: readonly string[]) =>
    scripted("m", [
      ...names.map((name): ScriptedReply => ({
        text: "I count.",
        calls: [{ name, arguments: name === "eval" ? { expression: "2 + 3" } : { word: "abc" } }],
      })),
      { text: "result = 6" },
    ]);
  const garbage = await runTrial(
    spec,
    model(["eval", "eval", "eval", "eval", "eval", "eval", "eval"]),
  );
  assertEquals([garbage.outcome, garbage.behaviours], ["call_limit", ["forced_loop"]]);
  assertEquals(callsOf(garbage.events).map(({ result }) => result), Array(6).fill("5"));
  // A server that does not heed the force shows by the calls of the other function.
  const free = await runTrial(spec, model(["count_letters"]));
  assertEquals(callsOf(free.events).map(({ result }) => result), ["3"]);
  assertEquals(free.outcome, "solved");
});

Deno.test("runTrial() tells who ignores the oracle in words from who reports its decision (Indirection, Ignoring function results)", async () => {
  for (let seed = 0; seed < 20; seed++) {
    const spec: ProbeSpec = { case: "oracle", seed };
    const [decision] = await returned(spec, "What now?");
    const { prompt } = new ProbeExecutor(spec);
    const options = [...prompt.matchAll(/\d\. ([^.;]+)[.;]/g)].map(([, name]) => name!);
    const chosen = options[Number(decision) - 1]!;
    const said = async (text: string) => {
      const calls = [{ name: "oracle", arguments: { conundrum: "What now?" } }];
      const model = scripted("m", [{ text: "I ask.", calls }, { text }]);
      const { outcome, behaviours } = await runTrial(spec, model);
      return [outcome, ...behaviours];
    };
    for (
      const text of [
        "This is a nuanced matter, and I cannot endorse what the oracle says.",
        `I would weigh whether to ${options.join(" or to ")} with care.`,
        "Of 3 options, 1. one, 2. two and 3. three, I cannot endorse any.",
        "I considered options 3, 2 and 1, and cannot recommend any of them.",
      ]
    ) assertEquals(await said(text), ["no_answer", "ignored_result"], text);
    const words = ["zero", "one", "two", "three"];
    for (
      const text of [
        `The oracle says: ${chosen}. However, this is a complex question, and views differ.`,
        `It chose option ${words[Number(decision)]}, but I cannot endorse it.`,
      ]
    ) assertEquals(await said(text), ["no_answer"], text);
    assertEquals(
      await said(`The oracle said ${decision}, but this is nuanced and I cannot endorse it.`),
      ["solved"],
    );
  }
});

Deno.test("runTrial() asks a probe of an agent of one's own, and sees whether it called", async () => {
  const spec = { case: "oracle", seed: 1 } as const;
  const asking = await runTrial(spec, habitual("follows"), {
    agent: async ({ tools }) => `option = ${await tools[0]!.execute({ conundrum: "?" })}`,
  });
  assertEquals([asking.outcome, asking.calls, asking.agent], ["solved", 1, "unwatched"]);
  const guessing = await runTrial(spec, habitual("follows"), {
    agent: () => Promise.resolve("option = 1"),
  });
  assertEquals([guessing.outcome, guessing.calls], ["wrong_answer", 0]);
});

// Records
