// Tests of the user's own tools as users run them: `deno test` on the files of fixtures/tool_tests, and on
// files of other kinds, in child processes. Tests that need no flags share a file and a process.

import { assert as assertTrue, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { scripted } from "../../lib/models/scripted.ts";
import { assertAnswer } from "../../lib/testing/assertions/runs.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import type { ToolTestOptions } from "../../lib/testing/tool_test_options.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import type { ToolTestRun } from "../../lib/trials/executors/tool_case.ts";
import { deno, type Finished, folder, readLines, ROOT } from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { junit } from "../support/xml.ts";
import { toolgate } from "../support/command_line.ts";

const PASSING = ["assistant", "shop", "travel"].map((name) => `fixtures/tool_tests/${name}.ts`);
const FAILING = ["calls", "gate", "outcomes", "unreachable"]
  .map((name) => `fixtures/tool_tests/failing/${name}.ts`);
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

/** The errors of failed tests, by their names. */
function errorsIn({ stdout }: Finished): Map<string, string> {
  const [, errors = ""] = stdout.split("\n ERRORS \n");
  const [told] = errors.split("\n FAILURES \n");
  const parts = told!.split(/^(.+) => \S+$/m).slice(1);
  return new Map(
    parts.flatMap((name, place) => place % 2 === 0 ? [[name, parts[place + 1]!.trim()]] : []),
  );
}

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

/** A file with tests of the user, and what most of them need. */
function fileOf(body: string): string {
  return `// @ts-nocheck: a user may write no types.
import { assertCalled, scripted, tool, toolTest } from ${MOD};
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
const adder = () => scripted("adder", [call, { text: "It is 3." }]);
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
  // The gate passes though not all trials do, each of which is reported with its assertion.
  assertMatch(finished.stdout, /^nine of ten \(simulated\): PASS: /m);
  assertMatch(
    finished.stdout,
    /^ {2}is right often enough: wrong_answer after 0 calls, an assertion failed at \S+assistant\.ts:66:20: The answer is not .*\n {4}rerun: deno test /m,
  );
  assertEquals(finished.stdout.includes("warning"), false, finished.all);
});

/** The report of tests that fail on purpose: how their messages begin, and where they failed. */
const MESSAGES: readonly [name: string, message: string, at: string | undefined][] = [
  ["wrong order", "The calls were not made in the expected order.", "calls.ts:37:5"],
  ["missing call", "The calls are not the expected ones (exact).", "calls.ts:46:5"],
  ["called too often", "search was called 3 times, not at most twice.", "calls.ts:59:5"],
  ["invented tool", "1 of 1 call failed.", "calls.ts:68:5"],
  ["refunds twice", "The state is not as expected: 1 difference.", "outcomes.ts:13:5"],
  ["answers without the fact", 'The answer is not a text with "red pen".', "outcomes.ts:26:5"],
  [
    "broken assert",
    "assert itself threw TypeError at fixtures/tool_tests/failing/outcomes.ts:36:37: Cannot read",
    "outcomes.ts:36:37",
  ],
  [
    "never comes to an end",
    "The model reached a limit before it answered: call_limit",
    undefined,
  ],
  // One of them in full, but for its rerun line.
  [
    "wrong argument",
    `No call was as expected: book_hotel({"city":"Rome","nights":3}).
  nearest is call 1 (step 1) book_hotel
    arguments.nights is different: expected 3, but it is 2
  calls made: 1
    1. step 1 book_hotel(city="Rome", nights=2) -> {"city":"Rome","nights":2,"price":160}

hasty (simulated): wrong_answer after 1 call; an assertion failed
  said "Done."
rerun: `,
    "calls.ts:28:5",
  ],
];

/** The run of all tests that fail on purpose: it is done when a test first asks for it. */
let failing: Promise<Finished> | undefined;
const JUNIT = place.file("junit.xml");

function runFailing(): Promise<Finished> {
  return failing ??= run(FAILING, {
    // Each test is run once, in whatever order.
    flags: [
      ...["--allow-net=127.0.0.1", ...FILES, `--junit-path=${JUNIT}`],
      ...["--shuffle=3", "--retry=2", "--repeats=2"],
    ],
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
      assertTrue(`${told}\nrerun: `.startsWith(`error: AssertionError: ${message}`), error);
      const [rerun, ...frames] = rest.split("\n");
      const file = at === undefined ? "outcomes.ts" : at.split(":")[0];
      const id = `case=${encodeURIComponent(name)} seed=`;
      assertStringIncludes(
        rerun!,
        `deno test -A --no-check fixtures/tool_tests/failing/${file} -- --only='${id}`,
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
});

Deno.test("toolTest() tells all of a failure with --story=full, and keeps the short of it", async () => {
  const file = write(
    "long_test.ts",
    `
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
`,
  );
  const callsIn = (text: string) =>
    new Set([...text.matchAll(/^ +(\d+)\. step /gm)].map(([, call]) => call)).size;
  const journal = place.file("long.jsonl");
  const whole = errorsIn(
    await run(file, { flags: FILES, own: ["--story=full", `--out=${journal}`] }),
  );
  assertEquals([...whole.keys()].sort(), ["by calls", "by its own", "without a trial"]);
  for (const [name, error] of whole) {
    assertEquals(callsIn(error), 40, name);
    if (name !== "without a trial") {
      assertStringIncludes(error, "begin" + "z".repeat(5_000) + "end");
    }
  }
  const kept = readLines(journal).find((line) => line.task?.case === "by calls")!;
  const { message } = kept.events.find(({ kind }: { kind: string }) => kind === "assertion");
  assertEquals(callsIn(message), 12);
});

Deno.test("toolTest() keeps the trials of each file in a folder", async (context) => {
  await runFailing();
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
  assertEquals(readLines(journal).length, FAILING_TRIALS + 1);

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
  });
});

Deno.test("toolTest() does not go on with the trials of a case that has changed", async () => {
  const add = tool({
    ...{ name: "add", description: "Adds two numbers", parameters: { type: "object" }, returns: 3 },
  });
  const model = scripted("adder", [{ calls: [{ name: "add", arguments: {} }] }, {
    text: "It is 3.",
  }]);
  const assert = (run: ToolTestRun) => assertAnswer(run, "3");
  const test = (change: Partial<ToolTestOptions>, ...own: string[]) =>
    CollectedTests.of(() =>
      toolTest("one", {
        // With it the test is registered at once.
        ...{ model, tools: [add], prompt: "What is 1 + 2?", assert, budget: { tokens: 1000 } },
        ...change,
      } as ToolTestOptions), own);
  const out = place.file("one.jsonl");
  const first = await test({}, `--out=${out}`).run();
  assertEquals(first.code, 0, first.all);
  const changes = [{ prompt: "What is 2 + 1?" }, { assert() {} }, { tools: () => [add] }];
  for (const [at, change] of changes.entries()) {
    // A process gives each of its journals to one test.
    const journal = place.write(`${at}.jsonl`, Deno.readTextFileSync(out));
    const refused = await test(change, `--out=${journal}`, "--resume").refusal();
    assertMatch(refused, new RegExp(`Cannot resume .*${at}\\.jsonl as .* of the same plan`));
  }
});

Deno.test("toolTest() does not go on with trials that other code has judged", async (context) => {
  const helper = (answer: string) => `export const right = (text) => text.includes("${answer}");\n`;
  // The assertion itself never changes, nor does anything else that a case holds.
  const body = `
import { right } from "./closures/helper.ts";
toolTest("sums", { tools: [add], prompt: "What is 1 + 2?", model: adder(), trials: 2, assert: (run) => {
  assertEquals([right(run.answer), run.calls.length <= 5], [true, true]);
} });
`;
  Deno.mkdirSync(place.file("closures"));
  place.write("closures/helper.ts", `import "./other.ts";\n${helper("3")}`);
  // What only looks like an import leads nowhere.
  place.write("closures/other.ts", 'const text = `from "file://${name}/mod.ts"`;\n');
  const file = write("my closures %41.ts", body);
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
  await context.step("a helper has changed, and of a file the line breaks alone", async () => {
    write("my closures %41.ts", body.replaceAll("\n", "\r\n"));
    place.write("closures/other.ts", "// Something.\n");
    const refused = await resume();
    assertEquals(refused.code, 1, refused.all);
    assertMatch(
      refused.all,
      /Cannot resume \S+closures\.jsonl as all of its trials must be judged by the same code: closures\/other\.ts changed since it began/,
    );
  });
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
