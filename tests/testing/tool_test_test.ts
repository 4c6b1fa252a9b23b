// Tests of one's own tools as users run them: `deno test` on the files of fixtures/tool_tests, and on
// files of other kinds, in child processes. Tests that need no flags share a file and a process.

import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import type { ToolTestOptions } from "../../lib/testing/tool_test_options.ts";
import { deno, type Finished, folder, readLines, ROOT, shell } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { refusalsOf } from "../support/refusals.ts";

const PASSING = ["assistant", "shop", "travel"].map((name) => `fixtures/tool_tests/${name}.ts`);
const FAILING = ["calls", "gate", "outcomes", "unreachable"]
  .map((name) => `fixtures/tool_tests/failing/${name}.ts`);
const [CALLS, GATE] = FAILING as [string, string];

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());
const FILES = [`--allow-read=${place.path}`, `--allow-write=${place.path}`];

/** Trials of the gates of the fixtures. */
const PASSING_TRIALS = 60;
const FAILING_TRIALS = 40;

interface RunOptions {
  /** Flags of `deno test`; those behind `--` are among the arguments after it. */
  readonly flags?: readonly string[];
  readonly own?: readonly string[];
}

/** Runs test files as they are, without any permission that is not given. */
function run(files: string | readonly string[], { flags = [], own = [] }: RunOptions = {}) {
  return deno([
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, ...flags],
    ...[files].flat(),
    ...(own.length === 0 ? [] : ["--", ...own]),
  ]);
}

/** Runs a line as a user would paste it, but for the check of types. */
function paste(line: string): Promise<Finished> {
  return shell(line.replace("deno test ", "deno test --no-check "));
}

/** The journal in a folder that is named after a test file. */
function journalIn(folder: string, file: string): string {
  const found = Array.from(Deno.readDirSync(folder), ({ name }) => name).find((name) =>
    name.includes(file)
  );
  return `${folder}/${found}`;
}

/** The errors of failed tests, by their names. */
function errorsIn({ stdout }: Finished): Map<string, string> {
  const [, errors = ""] = stdout.split("\n ERRORS \n");
  const [told] = errors.split("\n FAILURES \n");
  const parts = told!.split(/^(.+) => \S+$/m).slice(1);
  return new Map(
    parts.flatMap((name, place) => place % 2 === 0 ? [[name, parts[place + 1]!.trim()]] : []),
  );
}

/** How each test ended, in their order; only those of some tool tests, if they are named. */
function endedIn({ stdout }: Finished, ...tests: string[]): [name: string, ended: string][] {
  return [...stdout.matchAll(/^(\S.*?) \.\.\. (ok|FAILED|ignored)\b/gm)]
    .map(([, name, ended]): [string, string] => [name!, ended!])
    .filter(([name]) => tests.length === 0 || tests.includes(name.split(" > ")[0]!));
}

function rerunIn(error: string): string {
  return /^rerun: (.*)$/m.exec(error)![1]!;
}

/** The names and failures of a JUnit report. */
function junit(path: string): { cases: string[]; failed: string[] } {
  const cases = [
    ...Deno.readTextFileSync(path).matchAll(
      /<testcase name="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs,
    ),
  ];
  const plain = (name: string) => name.replaceAll("&gt;", ">").replaceAll("&apos;", "'");
  return {
    cases: cases.map(([, name]) => plain(name!)),
    failed: cases.filter(([, , body]) => body?.includes("<failure")).map(([, name]) =>
      plain(name!)
    ),
  };
}

/** A file with tests of one's own, and what most of them need. */
function fileOf(body: string): string {
  return `// @ts-nocheck: a user may write no types.
import { assertAnswer, assertCalled, scripted, tool, toolTest } from "file://${ROOT}/mod.ts";
import { assertEquals } from "@std/assert";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "number" } },
    required: ["x", "y"],
    additionalProperties: false,
  },
  execute: ({ x, y }) => x + y,
});
const call = { calls: [{ name: "add", arguments: { x: 1, y: 2 } }] };
const adder = (name = "adder") => scripted(name, [call, { text: "It is 3." }]);
// After the tests of the file's suite, which are registered once it has been loaded.
const later = (name, fn) => addEventListener("load", () => Deno.test(name, fn));
const silent = (name = "silent") => scripted(name, [{ text: "I cannot tell." }]);
const rests = { tools: [add], prompt: "What is 1 + 2?", assert: (run) => assertAnswer(run, "3") };
${body}`;
}

/** Writes such a file. */
function write(name: string, body: string): string {
  return place.write(name, fileOf(body));
}

Deno.test("toolTest() runs its fixtures without any permission, and all of them pass", async () => {
  await using place = await folder();
  const report = place.file("junit.xml");
  const finished = await run(PASSING, { flags: [`--junit-path=${report}`] });
  assertEquals(finished.code, 0, finished.all);
  const { cases, failed } = junit(report);
  assertEquals(failed, []);
  const trial = /^is right often enough > trial \d+$/;
  assertEquals(cases.filter((name) => trial.test(name)).length, PASSING_TRIALS);
  const isEnding = (name: string) => name.includes(" > failed: ");
  assertEquals(cases.filter((name) => !trial.test(name) && !isEnding(name)), [
    // What is run by itself is registered at once, the suite of a file when that has been loaded.
    "is right often enough > gate",
    "an agent of one's own multiplies",
    "multiplies by the tool",
    "calls nothing where nothing is to be done",
    "has its arguments repaired",
    "writes a mail that a judge finds polite",
    "refunds an order once",
    "searches, whether it writes defaults or not > brief",
    "searches, whether it writes defaults or not > thorough",
    "fills one cart over several turns",
    "tries again where the till fails",
    "finds articles with few calls that are to spare",
    "books the taxi once it knows when the tour ends",
    "books for two cities, in whatever order",
    "asks for the visa until it is granted",
    "recovers from a document with wrong types > obedient",
    "recovers from a document with wrong types > obedient + WT",
  ]);
  // The gate passes though not all trials do, of which each is told with its assertion.
  assertMatch(finished.stdout, /^nine of ten \(simulated\): PASS: /m);
  assertMatch(
    finished.stdout,
    /^ {2}is right often enough: wrong_answer after 0 calls, an assertion failed: The answer is not .*\n {4}rerun: deno test /m,
  );
  assertEquals(finished.stdout.includes("warning"), false, finished.all);
});

/** What is told of each test that fails on purpose: the whole message, but for its rerun line. */
const MESSAGES: readonly [name: string, message: string, at: string | undefined][] = [
  [
    "wrong argument",
    `AssertionError: No call was as expected: book_hotel({"city":"Rome","nights":3}).
  nearest is call 1 (step 1) book_hotel
    arguments.nights is different: expected 3, but it is 2
  calls made: 1
    1. step 1 book_hotel(city="Rome", nights=2) -> {"city":"Rome","nights":2,"price":160}

hasty (simulated): wrong_answer after 1 call; an assertion failed
  said "Done."`,
    "calls.ts:28:5",
  ],
  [
    "wrong order",
    `AssertionError: The calls were not made in the expected order.
  expected call 2 of 2 was not made after call 2 (step 2) book_tour: book_taxi
    it was made before: call 1 (step 1) book_taxi
  calls made: 2
    1. step 1 book_taxi(at="17:00") -> {"taxi":"X7"}
    2. step 2 book_tour(city="Rome", date="2026-05-03") -> {"tour":"T1","ends":"17:00"}

hasty (simulated): wrong_answer after 2 calls; an assertion failed
  said "Done."`,
    "calls.ts:37:5",
  ],
  [
    "missing call",
    `AssertionError: The calls are not the expected ones (exact).
  expected call 2 of 2 was not made: book_taxi({"at":"17:00"})
  calls made: 1
    1. step 1 book_tour(city="Rome", date="2026-05-03") -> {"tour":"T1","ends":"17:00"}

hasty (simulated): wrong_answer after 1 call; an assertion failed
  said "Done."`,
    "calls.ts:46:5",
  ],
  [
    "called too often",
    `AssertionError: search was called 3 times, not at most twice.
  call 1 (step 1) search
  call 2 (step 2) search
  call 3 (step 3) search
  calls made: 3
    1. step 1 search(text="pen") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]
    2. step 2 search(text="pens") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]
    3. step 3 search(text="pencil") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]

hasty (simulated): wrong_answer after 3 calls; an assertion failed
  said "Done."`,
    "calls.ts:59:5",
  ],
  [
    "invented tool",
    `AssertionError: 1 of 1 call failed.
  call 1 (step 1) book_taxy (refused): There is no function book_taxy
  calls made: 1
    1. step 1 book_taxy(at="17:00") -> refused: There is no function book_taxy

hasty (simulated): wrong_answer after 1 call; an assertion failed; wrong calls: 1 function_not_found
first root failure: call 1 (step 1) book_taxy: function_not_found: there is no such function, the nearest is book_taxi
  said "Done."`,
    "calls.ts:68:5",
  ],
  [
    "refunds twice",
    `AssertionError: The state is not as expected: 1 difference.
  state.refunded is different: expected 30, but it is 60

generous (simulated): wrong_answer after 2 calls; an assertion failed
  1. step 1 refund(order="a7") -> {"refunded":30}
  2. step 2 refund(order="a7") -> {"refunded":30}
  state: orders.a7.status: "paid" → "refunded"
  state: refunded: 0 → 60
  said "You get 30 euros back."`,
    "outcomes.ts:13:5",
  ],
  [
    "answers without the fact",
    `AssertionError: The answer is not a text with "red pen".
  the answer is "We have several pens."
  calls made: 1
    1. step 1 search(text="pen") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]

vague (simulated): wrong_answer after 1 call; an assertion failed
  said "We have several pens."`,
    "outcomes.ts:26:5",
  ],
  [
    "broken assert",
    `AssertionError: assert itself threw TypeError at fixtures/tool_tests/failing/outcomes.ts:36:37: Cannot read properties of undefined (reading 'result') (no AssertionError: look at the test first)

reckoner (simulated): wrong_answer after 0 calls; an assertion failed
  said "It is 42."`,
    "outcomes.ts:36:37",
  ],
  [
    "never comes to an end",
    `AssertionError: The model reached a limit before it answered: call_limit
stubborn (simulated): call_limit after 3 calls
  1. step 1 search(text="pen") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]
  2. step 2 search(text="pen") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]
  3. step 3 search(text="pen") -> [{"article":"red pen","price":2},{"article":"blue pen","price":3}]
  stopped: a call past the limit was made`,
    undefined,
  ],
];

/** The run of all tests that fail on purpose: it is done when a test first asks for it. */
let failing: Promise<Finished> | undefined;
const JUNIT = place.file("junit.xml");

function runFailing(): Promise<Finished> {
  return failing ??= run(FAILING, {
    flags: ["--allow-net=127.0.0.1", ...FILES, `--junit-path=${JUNIT}`],
    own: [`--out=${place.path}/failing/`],
  });
}

Deno.test("toolTest() tells what was wrong, where, and how to run just that again", async (context) => {
  const finished = await runFailing();
  assertEquals(finished.code, 1, finished.all);
  const errors = errorsIn(finished);
  const names = [
    ...MESSAGES.map(([name]) => name),
    "right too rarely > gate",
    "unreachable server",
  ];
  assertEquals([...errors.keys()].sort(), names.toSorted(), finished.all);
  assertEquals(junit(JUNIT).failed.sort(), names.toSorted());
  for (const [name, message, at] of MESSAGES) {
    await context.step(name, () => {
      const error = errors.get(name)!;
      const [told, rest = ""] = error.split("\nrerun: ");
      assertEquals(told, `error: ${message}`);
      const [rerun, ...frames] = rest.split("\n");
      const file = at === undefined ? "outcomes.ts" : at.split(":")[0];
      const id = `case=${encodeURIComponent(name)} seed=`;
      assertStringIncludes(
        rerun!,
        `deno test -A fixtures/tool_tests/failing/${file} -- --only='${id}`,
      );
      assertEquals(frames.length, 1);
      if (at === undefined) return;
      assertEquals(frames[0], `    at file://${ROOT}/fixtures/tool_tests/failing/${at}`);
    });
  }
  await context.step("an unreachable server", () => {
    assertMatch(
      errors.get("unreachable server")!,
      /^error: AssertionError: The trial is invalid: Cannot get a reply of m at 127\.0\.0\.1:4 as nothing listens at .*\nm: invalid after 0 calls\nrerun: /,
    );
  });
  await context.step("a gate", () => {
    assertMatch(
      errors.get("right too rarely > gate")!,
      /^error: AssertionError: coin \(simulated\): FAIL: the true success rate is below 80\.0%.*\n {2}solved: 20 of 40 valid trials /,
    );
  });
  await context.step("no message leads into files of ours", () => {
    for (const error of errors.values()) assertEquals(error.includes("/lib/"), false, error);
  });
  await context.step("rerun lines repeat what was told", async () => {
    const lines = [...errors].filter(([, error]) => error.includes("\nrerun: "));
    assertEquals(lines.length, MESSAGES.length + 1);
    const again = lines.filter(([name]) =>
      ["wrong argument", "never comes to an end", "unreachable server"].includes(name)
    );
    const reruns = await Promise.all(again.map(([, error]) => paste(rerunIn(error))));
    assertEquals(reruns.length, 3);
    for (const [at, [name, error]] of again.entries()) {
      const again = reruns[at]!;
      assertEquals(again.code, 1, again.all);
      assertEquals([...errorsIn(again)], [[name, error]], again.all);
    }
  });
});

Deno.test("toolTest() tells a failure in a dozen lines, and all of it with --story=full", async () => {
  const file = place.write(
    "long_test.ts",
    fileOf(`
const keep = tool({ name: "keep", description: "Keeps", parameters: { type: "object" }, execute: () => "kept" });
const calls = Array.from({ length: 40 }, (_, x) => ({
  calls: [{ name: "keep", arguments: { x, text: "begin" + "z".repeat(5000) + "end" } }],
}));
const options = {
  model: scripted("script", [...calls, { text: "Done." }]),
  tools: [keep],
  prompt: "Keep them.",
};
toolTest("by calls", { ...options, assert: (run) => assertCalled(run, { tool: "keep", arguments: { x: 50 } }) });
toolTest("by its own", { ...options, assert: (run) => assertEquals(run.calls, []) });
Deno.test("without a trial", () => {
  const record = { tools: [keep], calls: Array.from({ length: 40 }, (_, x) => (
    { call: x + 1, step: x + 1, tool: "keep", arguments: { x }, written: "{}", result: "kept" }
  )) };
  assertCalled(record, { tool: "keep", arguments: { x: 50 } });
});
`),
  );
  const callsIn = (text: string) =>
    new Set([...text.matchAll(/^ +(\d+)\. step /gm)].map(([, call]) => call)).size;
  const [brief, full] = await Promise.all([
    run(file, { flags: FILES, own: [`--out=${place.path}/brief/`] }),
    run(file, { own: ["--story=full"] }),
  ]);
  const told = errorsIn(brief!);
  assertEquals(told.size, 3, brief!.all);
  for (const [name, error] of told) {
    const lines = error.split("\n").filter((line) => !/^ {4}at |^ {2,}throw |^ *\^$/.test(line));
    assert(lines.length <= 12, `${name}: ${error}`);
    assertMatch(error, /^ {2}\.\.\. .*\d+ more calls.*: --story=full$/m);
    assert(lines.every((line) => line.length < 600), error);
    if (name === "without a trial") continue;
    assertMatch(error, /\[\.\.\. \d+ characters \.\.\.\]/);
    assertMatch(error, /\nrerun: deno test /);
    assertStringIncludes(error, '\n  said "Done."\n');
  }
  const whole = errorsIn(full!);
  assertEquals([...whole.keys()].sort(), ["by calls", "by its own", "without a trial"]);
  for (const [name, error] of whole) {
    assertEquals(callsIn(error), 40, name);
    if (name !== "without a trial") {
      assertStringIncludes(error, "begin" + "z".repeat(5_000) + "end");
    }
  }
  // What is kept does not depend on what was shown.
  const kept = readLines(journalIn(`${place.path}/brief`, "long_test")).find((line) =>
    line.task?.case === "by calls"
  )!;
  const { message } = kept.events.find(({ kind }: { kind: string }) => kind === "assertion");
  assertEquals(callsIn(message), 12);
  const wrong = await run(file, { own: ["--story=long"] });
  assertStringIncludes(wrong.all, "--story must be one of brief, full: it is long");
});

Deno.test("toolTest() runs what deno test selects, in any order and never again", async (context) => {
  const errors = [...errorsIn(await runFailing())];
  const usual = errors.filter(([, error]) => error.includes("/calls.ts -- "));
  assertEquals(usual.length, 5);
  await context.step("--filter", async () => {
    const finished = await run(CALLS, { flags: ["--filter=wrong order"] });
    assertEquals([...errorsIn(finished).keys()], ["wrong order"], finished.all);
    assertMatch(finished.stdout, /0 passed \| 1 failed \| 4 filtered out/);
  });
  const flags = ["--shuffle=3", "--retry=2", "--repeats=2"];
  await context.step(flags.join(" "), async () => {
    const finished = await run(CALLS, { flags });
    assertEquals(finished.code, 1, finished.all);
    assertEquals([...errorsIn(finished)].sort(), usual.toSorted());
    assertMatch(finished.stdout, /0 passed \| 5 failed/);
  });
  await context.step("--only of a test that there is not", async () => {
    const id = "case=none seed=1 model=hasty strategy=baseline perturbation=none repetition=1";
    const finished = await run(CALLS, { own: [`--only=${id}`] });
    assertEquals(finished.code, 1, finished.all);
    assertStringIncludes(finished.all, "as nothing in this file has its task, model");
  });
  await context.step("--only of a model that the file has not chosen", async () => {
    const id =
      "case=wrong%20order seed=1 model=other strategy=baseline perturbation=none repetition=1";
    const finished = await run(CALLS, { own: [`--only=${id}`] });
    assertEquals(finished.code, 1, finished.all);
    assertStringIncludes(finished.all, "; it has such a task for hasty, not for other");
  });
});

Deno.test("toolTest() keeps the trials of each file in a folder, and goes on with them", async (context) => {
  const whole = await runFailing();
  const kept = `${place.path}/failing`;
  const names = [...Deno.readDirSync(kept)].map(({ name }) => name).sort();
  // Nothing is kept of a run that could not begin.
  const folder = "fixtures.tool_tests.failing";
  assertEquals(names, [
    `${folder}.calls.jsonl`,
    `${folder}.outcomes.jsonl`,
    "right_too_rarely.jsonl",
  ]);
  const journal = `${kept}/right_too_rarely.jsonl`;
  const lines = Deno.readTextFileSync(journal).trimEnd().split("\n");
  assertEquals(lines.length, FAILING_TRIALS + 1);

  await context.step("--resume runs what is missing, and writes report and verdict", async () => {
    Deno.writeTextFileSync(journal, lines.slice(0, 11).join("\n") + "\n");
    const shown = `${place.path}/shown`;
    const own = [`--out=${kept}/`, "--resume", `--report=${shown}/`, `--verdict=${shown}/`];
    const resumed = await run(GATE, { flags: FILES, own });
    assertEquals(resumed.code, 1, resumed.all);
    assertEquals(
      errorsIn(resumed),
      new Map([...errorsIn(whole)].filter(([name]) => name.endsWith("gate"))),
    );
    const ids = readLines(journal).slice(1).map(({ id }) => id);
    assertEquals(ids, lines.slice(1).map((line) => JSON.parse(line).id));
    const files = [...Deno.readDirSync(shown)].map(({ name }) => name).sort();
    assertEquals(files, ["right_too_rarely.html", "right_too_rarely.json"]);
    assertStringIncludes(Deno.readTextFileSync(`${shown}/right_too_rarely.json`), '"fail"');
  });
  await context.step("toolgate gate decides over it", async () => {
    const decided = await toolgate(["gate", journal]);
    assertEquals(decided.code, 1, decided.all);
    assertMatch(decided.stdout, /^coin \(simulated\): FAIL: .*\n {2}solved: 20 of 40 /m);
  });
  await context.step("toolgate report shows it", async () => {
    const shown = await toolgate(["report", `${kept}/${folder}.calls.jsonl`]);
    assertEquals(shown.code, 0, shown.all);
    assertMatch(
      shown.stdout,
      /^wrong argument +0 of 1 .* 1 of 1 trial: No call was as expected: .* \(.*calls\.ts:28\)$/m,
    );
    const page = place.file("report.html");
    const drawn = await toolgate(["report", journal, "--html", page]);
    assertEquals(drawn.code, 0, drawn.all);
    assertStringIncludes(Deno.readTextFileSync(page), "right too rarely");
  });
});

Deno.test("toolTest() shares trials among shards, over which toolgate gate decides", async () => {
  const journals = [1, 2].map((index) => place.file(`${index}.jsonl`));
  for (const [index, journal] of journals.entries()) {
    const finished = await run(GATE, {
      flags: FILES,
      own: [`--shard=${index + 1}/2`, `--out=${journal}`],
    });
    assertEquals(finished.code, 0, finished.all);
    assertMatch(finished.stdout, /20 passed \| 0 failed \| 1 ignored/);
    assertMatch(finished.all, /right too rarely: the gate needs all trials/);
  }
  const [one, other] = journals.map((path) => readLines(path).slice(1).map(({ id }) => id));
  assertEquals(new Set([...one!, ...other!]).size, FAILING_TRIALS);
  assertEquals((await toolgate(["gate", ...journals])).code, 1);
  const missing = await toolgate(["gate", journals[0]!]);
  assertEquals(missing.code, 3, missing.all);
});

/** Tests of all kinds, each group of which has names of its own. */
const OWN = [
  `
// However long a call takes, others begin meanwhile if they may.
const waiting = (seen) => async () => {
  seen.now++;
  seen.most = Math.max(seen.most, seen.now);
  await new Promise((resolve) => setTimeout(resolve, 20));
  seen.now--;
  return "3";
};
const slow = (seen) => tool({ ...schema, execute: waiting(seen) });
const schema = { name: "add", description: "Adds", parameters: { type: "object", properties: {} } };
const model = scripted("adder", [{ calls: [{ name: "add", arguments: {} }] }, { text: "3" }]);
const seen = { alone: { now: 0, most: 0 }, apart: { now: 0, most: 0 }, asked: { now: 0, most: 0 } };
const own = { ...rests, model, trials: 6 };
toolTest("alone", { ...own, tools: [slow(seen.alone)] });
toolTest("asked", { ...own, tools: [slow(seen.asked)], concurrency: 3 });
toolTest("apart", {
  ...own,
  state: () => ({ calls: 0 }),
  tools: (state) => [tool({ ...schema, execute: () => (state.calls++, waiting(seen.apart)()) })],
  assert: (run) => assertEquals(run.state, { calls: 1 }),
});
toolTest("faked", {
  ...own,
  tools: [tool({ ...schema, sequence: ["first", "second"] })],
  assert: (run) => assertEquals(run.calls.map(({ result }) => result), ["first"]),
});
later("at the same time", () => {
  assertEquals([seen.alone.most, seen.asked.most, seen.apart.most > 1], [1, 3, true]);
});
`,
  `
const rated = (share) => scripted("rated", ({ context }) =>
  ({ text: (context.repetition * share) % 1 < share ? "3" : "4" }));
const gate = { successRate: 0.8, margin: 0.2 };
const own = { ...rests, trials: 40, gate };
toolTest("sure", { ...own, model: rated(0.95) });
toolTest("weak", { ...own, model: rated(0.5) });
toolTest("torn", { ...own, model: rated(0.75), trials: 20 });
toolTest("lenient", { ...own, model: rated(0.75), trials: 20, gate: { ...gate, undecided: "pass" } });
toolTest("broken", { ...own, model: scripted("rated", () => { throw new TypeError("boo"); }) });
toolTest("planned", { ...rests, model: rated(0.99), gate: { ...gate, sequential: true } });
`,
  `
const gate = { baseline: "old", margin: 0.15 };
const own = { ...rests, trials: 40, gate };
toolTest("better", { ...own, model: [silent("old"), adder("new")] });
toolTest("worse", { ...own, model: [adder("old"), silent("new")] });
`,
  `
toolTest("crossed", {
  ...rests,
  model: [adder("one"), silent("two")],
  strategy: ["baseline", { strategy: "repair", name: "mended" }],
  perturbation: ["none", "CO"],
});
toolTest("seeds", {
  ...rests,
  model: adder(),
  trials: 3,
  perturbation: "CO",
  assert(run) {
    seen.add(run.seed);
    assertEquals(run.perturbed.map(({ id, changed }) => [id, changed]), [["CO", true]]);
    // Calls are checked by the tools as they are, which assertions see.
    assertEquals(Object.keys(run.tools[0].parameters.properties), ["x", "y"]);
  },
});
const seen = new Set();
later("each trial has a seed", () => assertEquals(seen.size, 3));
toolTest("nothing told", {
  ...rests,
  model: silent(),
  expected: [{ tool: "add", arguments: { x: 1, y: 2 } }],
  perturbation: "RP_F",
  assert(run) {
    assertEquals([run.removed, run.messages[0].content.includes("1")], [true, false]);
    assertAnswer(run, "3");
  },
});
`,
  `
const own = { ...rests, model: adder() };
toolTest("state throws", { ...own, state() { throw new TypeError("boo"); } });
toolTest("state throws a text", { ...own, state() { throw "boo"; } });
toolTest("state is rejected", { ...own, state: async () => { throw new Error("late"); } });
toolTest("tools throw", { ...own, tools() { throw new TypeError("boo"); } });
toolTest("prompt throws", { ...own, prompt() { throw new TypeError("boo"); } });
toolTest("tools are none", { ...own, tools: () => undefined });
toolTest("tools share a name", { ...own, tools: () => [add, add] });
toolTest("tools are no tools", { ...own, tools: () => [{ name: "add" }] });
toolTest("calls of others", { ...own, tools: () => [add], expected: [{ tool: "ad", arguments: {} }] });
toolTest("model throws", { ...own, model: scripted("m", () => { throw new TypeError("boo"); }) });
toolTest("assert throws a text", { ...own, assert() { throw "boo"; } });
toolTest("assert throws later", { ...own, assert: async () => { throw new RangeError("boo"); } });
toolTest("assert is misused", { ...own, assert: (run) => assertCalled(run, { tool: "ad" }) });
toolTest("of generated tasks", { ...own, perturbation: "rename" });
toolTest("gated", { ...own, trials: 2, gate: { successRate: 0.5 }, state() { throw new TypeError("boo"); } });
`,
  `
const own = { ...rests, model: adder(), perturbation: "RP_F" };
toolTest("idle", own);
toolTest("told", { ...own, expected: [{ tool: "add", arguments: { x: 1, y: 2 } }] });
`,
  `
toolTest("spoofed", {
  ...rests,
  model: scripted("sly", [{ text: "4\\n    at file:///etc/passwd:1:1\\u001b[31m" }]),
  assert: (run) => assertEquals(run.answer, "3"),
});
toolTest("long", {
  ...rests,
  model: scripted("chatty", [{ text: "4".repeat(50_000) }]),
  assert: (run) => assertEquals(run.answer, "3"),
});
`,
];

/** The run of these tests: it is done when a test first asks for it. */
let owned: Promise<{ file: string; finished: Finished }> | undefined;

function own(): Promise<{ file: string; finished: Finished }> {
  return owned ??= (async () => {
    const file = write("own.ts", OWN.map((body) => `{${body}}`).join("\n"));
    const finished = await run(file);
    assertEquals(finished.code, 1, finished.all);
    return { file, finished };
  })();
}

Deno.test("toolTest() makes state and tools anew for each trial, and lets real ones run alone", async () => {
  const { finished } = await own();
  const ended = endedIn(finished, "alone", "apart", "asked", "faked", "at the same time");
  assertEquals(ended.length, 4 * 6 + 1, finished.all);
  assertEquals(ended.filter(([, one]) => one !== "ok"), [], finished.all);
});

Deno.test("toolTest() decides by a gate: pass, fail, undecided or invalid", async () => {
  const { finished } = await own();
  const tests = ["sure", "weak", "torn", "lenient", "broken", "planned"];
  const gates = endedIn(finished, ...tests).filter(([name]) => name.endsWith(" > gate"));
  assertEquals(gates, [
    ["sure > gate", "ok"],
    ["weak > gate", "FAILED"],
    ["torn > gate", "FAILED"],
    ["lenient > gate", "ok"],
    ["broken > gate", "FAILED"],
    ["planned > gate", "ok"],
  ]);
  const errors = errorsIn(finished);
  assertMatch(errors.get("weak > gate")!, /rated \(simulated\): FAIL: /);
  assertMatch(errors.get("torn > gate")!, /rated \(simulated\): UNDECIDED: /);
  assertMatch(errors.get("broken > gate")!, /rated \(simulated\): INVALID: /);
  assertMatch(
    finished.stdout,
    /^ {2}invalid: the model threw: boo \.\.\. ignored /m,
  );
  // With a gate only the gate can fail, and a sequential one plans its own size.
  const cases = endedIn(finished, ...tests).filter(([name]) => !name.endsWith(" > gate"));
  assertEquals(cases.filter(([, ended]) => ended !== "ok"), []);
  assert(cases.filter(([name]) => name.startsWith("planned > trial ")).length > 40, finished.all);
});

Deno.test("toolTest() lets a gate compare models on the same case", async () => {
  const { finished } = await own();
  const failed = endedIn(finished, "better", "worse").filter(([, ended]) => ended !== "ok");
  assertEquals(failed, [["worse > gate", "FAILED"]], finished.all);
  assertMatch(errorsIn(finished).get("worse > gate")!, /new \(simulated\): FAIL: /);
  assertMatch(finished.stdout, /^new \(simulated\): PASS: /m);
});

Deno.test("toolTest() crosses models, strategies and perturbations, and judges each", async () => {
  const { finished } = await own();
  const subjects = ["", " + mended", " + CO", " + mended + CO"];
  assertEquals(
    endedIn(finished, "crossed").sort(),
    subjects.flatMap((subject): [string, string][] => [
      [`crossed > one${subject}`, "ok"],
      [`crossed > two${subject}`, "FAILED"],
    ]).sort(),
    finished.all,
  );
  const others = endedIn(finished, "seeds", "each trial has a seed", "nothing told");
  assertEquals(others.map(([, ended]) => ended), ["ok", "ok", "ok", "FAILED", "ok"], finished.all);
  // What is right without what the question tells, only the user's own assertions can say.
  assertMatch(
    errorsIn(finished).get("nothing told")!,
    /^error: AssertionError: The answer is not /,
  );
});

Deno.test("toolTest() tells what is wrong with what is made for a trial, without a stack", async (context) => {
  const { file, finished } = await own();
  const errors = errorsIn(finished);
  const table: [name: string, message: RegExp][] = [
    [
      "state throws",
      /^error: AssertionError: The trial is invalid: set-up failed: state threw TypeError at \S+\/own\.ts:\d+:\d+: boo$/m,
    ],
    ["state throws a text", /The trial is invalid: set-up failed: state threw string: boo$/m],
    [
      "state is rejected",
      /The trial is invalid: set-up failed: state threw Error at \S+own\.ts:\d+:\d+: late$/m,
    ],
    ["tools throw", /: set-up failed: tools threw TypeError at \S+own\.ts:\d+:\d+: boo$/m],
    ["prompt throws", /: set-up failed: prompt threw TypeError at \S+own\.ts:\d+:\d+: boo$/m],
    [
      "tools are none",
      /^error: InputError: Cannot offer tools as they must be a list: .* undefined/,
    ],
    [
      "tools share a name",
      /^error: InputError: Cannot offer tools as their names must be distinct/,
    ],
    [
      "tools are no tools",
      /^error: InputError: Cannot offer tools as each must have a description/,
    ],
    ["calls of others", /^error: InputError: Cannot use expected as .* no tool ad, but add$/m],
    ["model throws", /^error: AssertionError: The trial is invalid: the model threw: boo$/m],
    [
      "assert throws a text",
      /^error: AssertionError: assert itself threw string: boo \(no AssertionError: look at the test first\)$/m,
    ],
    [
      "assert throws later",
      /^error: AssertionError: assert itself threw RangeError at \S+own\.ts:\d+:\d+: boo/,
    ],
    [
      "assert is misused",
      /^error: AssertionError: The trial is invalid: Cannot judge the run at \S+own\.ts:\d+:\d+: Cannot expect a call of ad as /,
    ],
    ["of generated tasks", /^error: InputError: Cannot perturb .*rename/],
    ["gated > gate", /: INVALID: /],
    ["gate alone", /: INVALID: /],
  ];
  // Nothing has been run before it, whose error it could pass on.
  const alone = await run(file, { flags: ["--filter=gated > gate"] });
  errors.set("gate alone", errorsIn(alone).get("gated > gate") ?? alone.all);
  for (const [name, message] of table) {
    await context.step(name, () => {
      const error = errors.get(name) ?? "";
      assertMatch(error, message, finished.all);
      assertEquals(error.includes("/lib/"), false, error);
    });
  }
});

Deno.test("toolTest() fails where a perturbation found nothing to change", async () => {
  const { finished } = await own();
  const ended = endedIn(finished, "idle", "told");
  assertEquals(ended, [["idle", "FAILED"], ["told", "ok"]], finished.all);
  assertMatch(
    errorsIn(finished).get("idle")!,
    /AssertionError: The perturbation RP_F found nothing to/,
  );
});

Deno.test("toolTest() does not go on with the trials of a case that has changed", async () => {
  const test = (change: string, name = "one") =>
    `toolTest("${name}", { ...rests, model: adder(), budget: { tokens: 1000 }, ${change} })`;
  const out = `--out=${place.file("one.jsonl")}`;
  const file = write("one.ts", `${test("")};\n`);
  const first = await run(file, { flags: FILES, own: [out] });
  assertEquals(first.code, 0, first.all);
  // A test file gives each of its journals to one test.
  const journal = Deno.readTextFileSync(place.file("one.jsonl"));
  const copy = (name: string) => `--out=${place.write(`${name}.jsonl`, journal)}`;
  const changed = ['prompt: "What is 2 + 1?"', "assert() {}", "tools: () => [add]"];
  const existing = copy("existing");
  const told = await refusalsOf(
    [
      { call: test(""), flags: [out, "--resume"] },
      ...changed.map((one, at) => ({ call: test(one), flags: [copy(`${at}`), "--resume"] })),
      { call: test("", "two"), flags: [out, "--resume"] },
      { call: test(""), flags: [existing] },
    ],
    FILES,
    fileOf(""),
  );
  const messages = [
    /^$/,
    ...changed.map((_, at) => new RegExp(`Cannot resume .*${at}\\.jsonl as .* of the same plan`)),
    /Cannot keep the trials of tool test two in .*one\.jsonl .*: one has it/,
    /Cannot begin the journal .*existing\.jsonl .*--resume/,
  ];
  for (const [at, message] of messages.entries()) assertMatch(told[at]!, message);
});

Deno.test("toolTest() does not go on with trials that other code has judged", async (context) => {
  const helper = (answer: string) => `export const right = (text) => text.includes("${answer}");\n`;
  // The assertion itself never changes, nor does anything else that a case holds.
  const body = (limit: number) => `
import { right } from "./closures/helper.ts";
const limit = ${limit};
toolTest("sums", { ...rests, model: adder(), trials: 2, assert: (run) => {
  assertEquals([right(run.answer), run.calls.length <= limit], [true, true]);
} });
`;
  Deno.mkdirSync(place.file("closures"));
  place.write("closures/helper.ts", `import "./other.ts";\n${helper("3")}`);
  place.write("closures/other.ts", "// Nothing yet.\n");
  const file = write("my closures %41.ts", body(5));
  const own = [`--out=${place.file("closures.jsonl")}`];
  const first = await run(file, { flags: FILES, own });
  assertEquals(first.code, 0, first.all);
  const [plan, ...lines] = readLines(place.file("closures.jsonl"));
  assertEquals(Object.keys(plan.sources), [
    "closures/helper.ts",
    "closures/other.ts",
    "my closures %41.ts",
  ]);
  assertEquals(lines.length, 2);
  const resume = (flags = FILES) => run(file, { flags, own: [...own, "--resume"] });
  await context.step("the same files go on", async () => {
    write("my closures %41.ts", body(5).replaceAll("\n", "\r\n"));
    const again = await resume();
    assertEquals(again.code, 0, again.all);
    assert(!again.all.includes("without comparing"), again.all);
    write("my closures %41.ts", body(5));
  });
  const changes: [name: string, change: () => void, undo: () => void][] = [
    [
      "my closures %41.ts",
      () => write("my closures %41.ts", body(6)),
      () => write("my closures %41.ts", body(5)),
    ],
    [
      "closures/helper.ts",
      () => place.write("closures/helper.ts", `import "./other.ts";\n${helper("It")}`),
      () => place.write("closures/helper.ts", `import "./other.ts";\n${helper("3")}`),
    ],
    [
      "closures/other.ts",
      () => place.write("closures/other.ts", "// Something.\n"),
      () => place.write("closures/other.ts", "// Nothing yet.\n"),
    ],
  ];
  for (const [name, change, undo] of changes) {
    await context.step(`${name} has changed`, async () => {
      change();
      const refused = await resume();
      undo();
      assertEquals(refused.code, 1, refused.all);
      assertMatch(
        refused.all,
        new RegExp(
          "Cannot resume \\S+closures\\.jsonl as all of its trials must be judged by the same code: " +
            `${name} changed since it began`,
        ),
      );
    });
  }
  await context.step("files that may not be read are told", async () => {
    const journal = place.file("closures.jsonl");
    const flags = [`--allow-read=${journal}`, `--allow-write=${place.path}`];
    const told = await resume(flags);
    assertEquals(told.code, 0, told.all);
    assertStringIncludes(
      told.all,
      `Continues ${journal} without comparing the code of the test with that of the trials before: ` +
        "its file may not be read (--allow-read)",
    );
  });
});

Deno.test("toolTest() shows nothing that a message makes look like a place", async () => {
  const { finished } = await own();
  assertEquals(finished.code, 1, finished.all);
  const errors = errorsIn(finished);
  for (const name of ["spoofed", "long"]) {
    assertMatch(errors.get(name)!, /\n {4}at file:\S+\/own\.ts:\d+:\d+$/, finished.all);
  }
  assertEquals(finished.stdout.includes("\u001b"), false);
});

const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: { type: "object", properties: { x: { type: "number" } } },
  returns: 3,
});
const MODEL = scripted("adder", [{ text: "It is 3." }]);

/** What a user of plain JavaScript may hand in, and what is said of it. */
const WRONG: readonly [options: unknown, message: RegExp, name?: unknown][] = [
  [undefined, /as it must have options: they are undefined/],
  [null, /as it must have options: they are null/],
  [{ modle: "x" }, /as there is no option modle; did you mean model\?$/],
  [
    { strategies: ["restate"] },
    /as there is no option strategies: here it is called strategy, which takes one or a list$/,
  ],
  [{ perturbations: ["RD"] }, /here it is called perturbation, which takes one or a list$/],
  [{ models: [MODEL] }, /as there is no option models: here it is called model, which takes/],
  [
    { model: "sim:planner", api: "hermes" },
    /no option api: it belongs to the model, as in model: { model: "sim:planner", api: "hermes" }$/,
  ],
  [
    { temperature: 0.5 },
    /no option temperature: it belongs to the model, as in model: { model: \.\.\., temperature: 0\.5 }$/,
  ],
  [{ name: "x" }, /as there is no option name/],
  [{}, /as its name must be a text that is not empty: it is undefined/, undefined],
  [{}, /as its name must be a text that is not empty: it is " "/, " "],
  [{}, /as its name must not be that of a probe: it is "oracle"/, "oracle"],
  [{ assert: undefined }, /as assert must be a function of the run: it is undefined/],
  [
    { prompt: " " },
    /as prompt must be a text that is not empty, or a function that makes it: it is " "/,
  ],
  [
    { prompt: 7 },
    /as prompt must be a text that is not empty, or a function that makes it: it is 7/,
  ],
  [{ system: 7 }, /as system must be a text: it is 7/],
  [{ turns: "again" }, /as turns must be a list of .*: it is "again"/],
  [{ turns: [""] }, /as turns must be a list of .*: it is \[""\]/],
  [{ state: {} }, /as state must be a function: it is \{\}/],
  [{ tools: undefined }, /as tools must be a list of tools, or .*: it is undefined/],
  [{ tools: { add } }, /as tools must be a list of tools, or /],
  [{ tools: [null] }, /: Cannot offer tools as each must have a name: number 1 has none/],
  [{ tools: [add, { name: "b" }] }, /each must have a description: number 2, b, has none/],
  [{ tools: [{ name: "b", description: "" }] }, /must have parameters, the JSON Schema of an obj/],
  [{ tools: [{ ...add, execute: 1 }] }, /must have a function execute: number 1, add, has none/],
  [{ tools: [add, add] }, /adds: Cannot offer tools as their names must be distinct: add /],
  [
    { tools: [{ ...add, parameters: { type: "objekt" } }] },
    /adds: Cannot offer tool add as its par/,
  ],
  [
    { oracle: [{ tool: "add", arguments: {}, allowed: ["x"] }] },
    /as there is no option oracle: here it is called expected, whose calls have ignore in place of/,
  ],
  [
    { expected: [{ tool: "add", arguments: {}, allowed: ["x"] }] },
    /adds: Cannot use an expected call:\n {2}at the top: Unrecognized key: "allowed"/,
  ],
  [
    { expected: [{ tool: "add", ignore: ["x["] }] },
    /adds: Cannot use path "x\[" as it must be keys/,
  ],
  [
    { expected: [{ tool: "add", defaults: "refused" }] },
    /adds: Cannot expect a call of add as only assertions take defaults: .*; here it is refused/,
  ],
  [{ expected: "add" }, /as expected must be a list of calls: tool and arguments: it is "add"/],
  [
    { expected: ["add"] },
    /as expected must be a list of calls: .*: it is \["add"\]/,
  ],
  [
    { expected: [{ tool: "ad", arguments: {} }] },
    /adds: Cannot use expected as .*: there is no tool ad, but add/,
  ],
  [{ parameters: [{ name: "x" }] }, /as parameters must be a list of names, values and spans/],
  [
    { toolChoice: "sometimes" },
    /as toolChoice must be auto, none, required or .*: it is "sometimes"/,
  ],
  [{ toolChoice: { function: "ad" } }, /adds: Cannot use toolChoice as .*: there is no tool ad/],
  [{ trials: 0 }, /as trials must be a whole number from 1 on: it is 0/],
  [{ trials: "3" }, /as trials must be a whole number from 1 on: it is "3"/],
  [{ trials: 1.5 }, /as trials must be a whole number from 1 on: it is 1\.5/],
  [
    { trials: 5, gate: { successRate: 0.8, sequential: true } },
    /as a sequential gate sets the number of trials itself, .*: it is 5/,
  ],
  [{ concurrency: 0 }, /at concurrency: must be at least 1: it is 0/],
  [{ seed: "x" }, /adds:\n {2}at seed: must be a whole number from 0 on, or "fresh"/],
  [{ model: undefined }, /adds as it must have a model: sim:planner needs no key/],
  [{ model: [] }, /adds:\n {2}at model: must not be empty/],
  [{ model: [MODEL, MODEL] }, /as models must have distinct names: adder is there twice/],
  [{ strategy: "restat" }, /adds:\n {2}at strategy: must be one of baseline, restate/],
  [{ strategy: ["baseline", "restat"] }, /adds:\n {2}at strategy\[1\]: must be one of baseline/],
  [{ strategy: [] }, /adds:\n {2}at strategy: must not be empty/],
  [{ perturbation: "XX" }, /adds:\n {2}at perturbation: must be none, or some of .*: XX/],
  [{ perturbation: "RP_F", gate: { successRate: 0.8 } }, /under RP_F none can be/],
  [{ limits: { call: 3 } }, /adds:\n {2}at limits: Unrecognized key: "call"/],
  [{ gate: { succesRate: 0.8 } }, /tool test adds:\n.*at gate: Unrecognized key: "succesRate"/],
  [{ gate: { baseline: "other" } }, /gate\.baseline must be one of its models, .* it is other/],
  [
    { budget: { usd: 1 } },
    /Cannot compute the cost of model adder as the price table must have it/,
  ],
];

Deno.test("toolTest() tells a wrong option in one message, and no frame of its own", async (context) => {
  const good = { model: MODEL, tools: [add], prompt: "What is 1 + 2?", assert() {} };
  for (const [options, message, ...names] of WRONG) {
    const name = names.length === 0 ? "adds" : names[0];
    await context.step(Deno.inspect([name, options]).slice(0, 100), () => {
      const given = typeof options === "object" && options !== null
        ? { ...good, ...options }
        : options;
      const error = assertThrows(
        () => toolTest(name as string, given as ToolTestOptions),
        InputError,
      );
      assertMatch(error.message, message);
      // The first frame is the one above, which calls it.
      const first = error.stack!.split("\n").find((line) => line.startsWith("    at "));
      assertMatch(first ?? "", /^ {4}at file:.*\/tool_test_test\.ts:\d+:\d+$/);
    });
  }
});

Deno.test("toolTest() fails as one test for a wrong option, and the others of the file run", async () => {
  const finished = await run(write(
    "wrong.ts",
    `
toolTest("good", { ...rests, model: adder() });
toolTest("bad", { ...rests, model: adder(), prompt: "" });
`,
  ));
  assertEquals(finished.code, 1, finished.all);
  assertStringIncludes(
    finished.all,
    'InputError: Cannot use tool test bad as prompt must be a text that is not empty, or a function that makes it: it is ""',
  );
  assertEquals(endedIn(finished), [["bad", "FAILED"], ["good", "ok"]]);
  assertEquals(finished.all.includes("/lib/"), false, finished.all);
});
