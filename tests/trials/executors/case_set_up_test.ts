import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { ToolCase } from "../../../lib/trials/executors/tool_case.ts";
import { caseOpener } from "../../../lib/trials/executors/case.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";

const BOOK: Tool = {
  name: "book",
  description: "Books",
  parameters: { type: "object", properties: {} },
  execute: () => Promise.resolve("booked"),
};
const CALLING: ScriptedReply[] = [{ calls: [{ name: "book", arguments: {} }] }, { text: "Done." }];

/** Runs one trial of a case. */
function tryCase<State>(own: Partial<ToolCase<State>>, options: TrialOptions = {}) {
  const whole = { name: "own", tools: [BOOK], prompt: "Book.", assert() {}, ...own };
  return runTrial({ case: "own", seed: 1 }, scripted("m", CALLING), {
    open: caseOpener(() => whole as ToolCase<State>),
    ...options,
  });
}

/** How a function of the user ends. */
const WAYS = ["at once", "later", "throws", "rejects", "hangs"] as const;
/** How what it made is disposed of. */
const ENDS = ["not", "at once", "later", "both", "throws", "rejects", "hangs"] as const;

type Way = typeof WAYS[number];
type End = typeof ENDS[number];

/** A value that writes down when it is disposed of. */
function disposable<Value extends object>(value: Value, name: string, end: End, log: string[]) {
  const fail = () => {
    throw new Error(`${name} stays`);
  };
  const note = (way = "") => void log.push(`-${name}${way}`);
  const later = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
  const ways: Record<End, object> = {
    not: {},
    "at once": { [Symbol.dispose]: () => note() },
    later: { [Symbol.asyncDispose]: () => later().then(() => note()) },
    both: { [Symbol.asyncDispose]: () => later().then(() => note()), [Symbol.dispose]: fail },
    throws: { [Symbol.dispose]: () => (note(), fail()) },
    rejects: { [Symbol.asyncDispose]: () => later().then(() => (note(), fail())) },
    hangs: { [Symbol.asyncDispose]: () => (note(), new Promise(() => {})) },
  };
  log.push(`+${name}`);
  return Object.assign(value, ways[end]);
}

const isBroken = (end: End) => ["throws", "rejects", "hangs"].includes(end);

/** Lets the ten seconds that a clean-up has at least be 20 milliseconds. */
function quickCleanUp(): Disposable {
  const { setTimeout } = globalThis;
  const quick = (wake: () => void, wait = 0) => setTimeout(wake, wait === 10_000 ? 20 : wait);
  globalThis.setTimeout = quick as typeof setTimeout;
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = setTimeout) };
}

Deno.test("what is made for a trial of a case goes once, the last first, however the trial and its clean-up end", async () => {
  using _ = quickCleanUp();
  // What hangs takes its time, so that it is rare.
  const rarely = <One>(all: readonly One[], one: One) =>
    fc.oneof(
      { arbitrary: fc.constantFrom(...all.filter((other) => other !== one)), weight: 15 },
      { arbitrary: fc.constant(one), weight: 1 },
    );
  const way = rarely<Way>(WAYS, "hangs");
  const end = rarely<End>(ENDS, "hangs");
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        ways: fc.record({ state: way, tools: way, prompt: way }),
        ends: fc.record({ state: end, list: end, tools: fc.array(end, { maxLength: 2 }) }),
        judged: fc.constantFrom("passes", "fails", "throws", "limit"),
      }),
      async ({ ways, ends, judged }) => {
        const log: string[] = [];
        const all = [...Object.values(ways), ends.state, ends.list, ...ends.tools];
        const seconds = all.includes("hangs") ? 0.1 : 50;
        const make = (what: keyof typeof ways, value: () => unknown): () => never => () => {
          const made = (): Record<Way, () => unknown> => ({
            "at once": value,
            later: async () => (await Promise.resolve(), value()),
            throws: () => {
              throw new TypeError(`no ${what}`);
            },
            rejects: () => Promise.reject(`no ${what}`),
            hangs: () => new Promise(() => {}),
          });
          return made()[ways[what]]() as never;
        };
        const trial = await tryCase({
          state: make("state", () => disposable({}, "state", ends.state, log)),
          tools: make("tools", () => {
            const tools = ends.tools.map((one, at) =>
              disposable({ ...BOOK, name: `book${at}` }, `book${at}`, one, log)
            );
            return disposable([BOOK, ...tools], "list", ends.list, log);
          }),
          prompt: make("prompt", () => "Book."),
          assert() {
            log.push("judged");
            if (judged === "passes") return;
            throw judged === "throws" ? new ReferenceError("x") : new Error("no");
          },
        }, { limits: { seconds, ...(judged === "limit" ? { calls: 1, steps: 1 } : {}) } });

        const order = ["state", "tools", "prompt"] as const;
        const failed = order.find((what) => !["at once", "later"].includes(ways[what]));
        if (failed === undefined) {
          const outcome = { passes: "solved", limit: "step_limit" }[judged as string] ??
            "wrong_answer";
          assertEquals([trial.outcome, trial.reason], [outcome, undefined]);
        } else {
          assertEquals([trial.outcome, trial.calls], ["invalid", 0]);
          const told = ways[failed] === "hangs"
            ? `${failed} did not end within 0.1 seconds (limits.seconds)`
            : ways[failed] === "rejects"
            ? `${failed} threw string: no ${failed}`
            : `${failed} threw TypeError at tests/trials/executors/case_set_up_test.ts`;
          assert(trial.reason!.startsWith(`set-up failed: ${told}`), trial.reason);
        }

        const made = log.filter((line) => line.startsWith("+")).map((line) => line.slice(1));
        const hadState = failed !== "state";
        const hadTools = hadState && failed !== "tools";
        assertEquals(made, [
          ...hadState ? ["state"] : [],
          ...hadTools ? [...ends.tools.map((_, at) => `book${at}`), "list"] : [],
        ]);
        const gone = log.filter((line) => line.startsWith("-"));
        const endOf = (name: string) =>
          name === "state" ? ends.state : name === "list" ? ends.list : ends.tools[+name.at(-1)!]!;
        const going = made.filter((name) => endOf(name) !== "not").reverse();
        assertEquals(gone, going.map((name) => `-${name}`));
        assertEquals(log.includes("judged"), failed === undefined && judged !== "limit");
        if (log.includes("judged")) assertEquals(log.slice(log.indexOf("judged") + 1), gone);
        assertEquals(trial.cleanUp !== undefined, going.some((name) => isBroken(endOf(name))));
        for (const name of going.filter((one) => isBroken(endOf(one))).slice(0, 3)) {
          assertMatch(trial.cleanUp!, new RegExp(`\\b${name === "list" ? "tools" : name}\\b`));
        }
      },
    ),
    { numRuns: 120 },
  );
});

Deno.test("a clean-up has ten seconds, however few limits.seconds are", async () => {
  const cleanUpOf = async (goes: () => Promise<void>) => {
    const tools = () => Object.assign([BOOK], { [Symbol.asyncDispose]: goes });
    return (await tryCase({ tools }, { limits: { seconds: 0.1 } })).cleanUp;
  };
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 150));
  assertEquals(await cleanUpOf(slow), undefined);
  using _ = quickCleanUp();
  assertEquals(
    await cleanUpOf(() => new Promise(() => {})),
    "clean-up failed: disposing of tools did not end within 10 seconds",
  );
});

Deno.test("what a set-up makes after its time goes as well", async () => {
  const gone = Promise.withResolvers<string>();
  const late = Promise.withResolvers<Disposable>();
  const trial = await tryCase({ state: () => late.promise }, { limits: { seconds: 0.01 } });
  assertEquals(trial.outcome, "invalid");
  late.resolve({ [Symbol.dispose]: () => gone.resolve("gone") });
  assertEquals(await gone.promise, "gone");
});

Deno.test("a trial that is told to stop while it is set up, or while its model works, disposes of what was made", async () => {
  const stopping = [
    ["tools that hang", (stop: () => void) => ({ tools: () => (stop(), hanging()) }), []],
    [
      "tools that come later",
      (stop: () => void, log: string[]) => ({
        tools: async () => {
          stop();
          await new Promise((resolve) => setTimeout(resolve, 5));
          return disposable([BOOK], "list", "later", log);
        },
      }),
      ["+list", "-list"],
    ],
    [
      "a call",
      (stop: () => void) => ({ tools: [{ ...BOOK, execute: () => (stop(), hanging()) }] }),
      [],
    ],
  ] as const;
  const hanging = () => new Promise<never>(() => {});
  for (const [name, own, more] of stopping) {
    const interruption = new AbortController();
    const log: string[] = [];
    const stop = () => interruption.abort(new Error("stop"));
    const state = () => disposable({}, "state", "later", log);
    const { signal } = interruption;
    const running = tryCase({ state, ...own(stop, log) }, { signal, limits: { seconds: 0.1 } });
    await assertRejects(() => running, Error, "stop");
    assertEquals(log, ["+state", ...more, "-state"], name);
  }
});

Deno.test("a case knows the type of a state that is made later", () => {
  const typed = <State>(_: ToolCase<State>): State | undefined => undefined;
  const state: { readonly order: string } | undefined = typed({
    name: "own",
    state: async () => await Promise.resolve({ order: "A1" }),
    tools: async ({ order }) => await Promise.resolve([{ ...BOOK, description: order }]),
    prompt: async (state) => await Promise.resolve(`Refund ${state.order.toLowerCase()}.`),
    assert: ({ state }) => assertEquals(state.order.length, 2),
  });
  // @ts-expect-error: the state of assert is no promise.
  const none: Promise<unknown> | undefined = typed({
    name: "own",
    state: () => Promise.resolve(1),
    tools: [BOOK],
    prompt: "Refund.",
    assert() {},
  });
  assertEquals([state, none], [undefined, undefined]);
});

Deno.test("the time of set-up and clean-up is none of the trial's", async () => {
  const { now } = performance;
  let passed = 0;
  performance.now = () => now.call(performance) + passed;
  try {
    let spent = Infinity;
    const trial = await tryCase({
      state: () => (passed += 15_000, { [Symbol.dispose]: () => void (passed += 15_000) }),
      tools: () => (passed += 4_000, [BOOK]),
      assert: ({ durationMs }) => void (spent = durationMs),
    }, { limits: { seconds: 20 } });
    assertEquals([trial.outcome, trial.cleanUp], ["solved", undefined]);
    assertEquals([spent < 4_000, trial.durationMs < 4_000], [true, true]);
  } finally {
    performance.now = now;
  }
});

Deno.test("what a set-up throws may be anything, and keeps nothing from going", async () => {
  const hostile = new Proxy(new Error("x"), {
    get() {
      throw new Error("no property");
    },
    getPrototypeOf() {
      throw new Error("no class");
    },
  });
  const log: string[] = [];
  const trial = await tryCase({
    state: () => disposable({}, "state", "at once", log),
    tools: () => {
      throw hostile;
    },
  });
  assertEquals(trial.outcome, "invalid");
  assertMatch(trial.reason!, /^set-up failed: tools threw /);
  // Its model was shown nothing, so that nothing of it is missing either.
  assertEquals([trial.transcript, summarize(trial).untold], [undefined, undefined]);
  const unclean = await tryCase({
    state: () => disposable({}, "state", "at once", log),
    tools: () => {
      const goes = () => {
        throw hostile;
      };
      return Object.assign([BOOK], { [Symbol.dispose]: goes });
    },
  });
  assertMatch(unclean.cleanUp!, /^clean-up failed: disposing of tools threw /);
  assertEquals(log, ["+state", "-state", "+state", "-state"]);
});
