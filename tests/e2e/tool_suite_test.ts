// Suites of tests of one's own tools as users run them: files with several tests, in child processes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  deno,
  endedIn,
  type Finished,
  folder,
  readLines,
  ROOT,
  unwrapped,
} from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

interface RunOptions {
  readonly flags?: readonly string[];
  readonly own?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs test files in their folder. */
function run(
  files: string | readonly string[],
  { flags = [], own = [], env = {} }: RunOptions = {},
) {
  return deno([
    ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, ...flags],
    ...[files].flat(),
    ...(own.length === 0 ? [] : ["--", ...own]),
  ], { cwd: place.path, env });
}

/** What most files need: a tool, models that use it and one that does not. */
const PRELUDE = `// @ts-nocheck: a user may write no types.
import { assertAnswer, assertCalled, scripted, tool, toolSuite, toolTest } from "file://${ROOT}/mod.ts";
import { assertEquals } from "@std/assert";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: { type: "object", properties: { x: { type: "number" }, y: { type: "number" } } },
  execute: ({ x, y }) => x + y,
});
const call = { calls: [{ name: "add", arguments: { x: 1, y: 2 } }] };
const adder = scripted("adder", [call, { text: "It is 3." }]);
const silent = scripted("silent", [{ text: "I cannot tell." }]);
const right = { prompt: "What is 1 + 2?", assert: (run) => assertAnswer(run, "3") };
const rests = { ...right, tools: [add] };
`;

/** Files that need no flags: one process runs them all. */
const SHARED: string[] = [];
let shared: Promise<Finished> | undefined;

/** Writes a file that is run together with others; gives a function that tells how that ended. */
function withOthers(name: string, body: string) {
  SHARED.push(write(name, body));
  return async () => {
    const { stdout, all } = await (shared ??= run(SHARED, { own: ["--out=shared/"] }));
    const [, own = ""] = stdout.split(new RegExp(`^running \\d+ tests? from ./${name}$`, "m"));
    return { all, ended: endedIn({ stdout: own.split(/^running |^ ERRORS $/m)[0]! }) };
  };
}

function write(name: string, body: string): string {
  place.write(name, `${PRELUDE}${body}`);
  return name;
}

const SUITE = `
const test = toolSuite("support", {
  model: adder,
  tools: [add],
  system: "Be brief.",
  trials: 10,
  gate: { successRate: 0.9, margin: 0.2 },
});
test("adds", { ...right, tags: ["sums", "quick"] });
test("adds by the tool", { ...right, assert: (run) => {
  assertCalled(run, "add");
  assertEquals(run.messages[0].content, "Be brief.");
} });
test.skip("takes roots", right);
test("divides", { ...right, ignore: true });
test.each([{ of: { x: 1 } }, { of: { x: 2 } }])("adds to $of.x", ({ of }) => ({
  ...right,
  assert: (run) => assertEquals(of.x > 0, true),
}));
test.each([[1, 2], [3, 4]])("%# takes %d and %d", (x, y) => ({
  ...right,
  assert: () => assertEquals(y - x, 1),
}));
`;

Deno.test("toolSuite() has one plan, journal, gate, report, verdict and job summary", async (context) => {
  const file = write("support_test.ts", SUITE);
  const finished = await run(file, {
    own: ["--out=s.jsonl", "--report=s.html", "--report=s.txt", "--verdict=s.json"],
    env: { GITHUB_STEP_SUMMARY: place.write("summary.md", "") },
  });
  assertEquals(finished.code, 0, finished.all);
  const ended = endedIn(finished);
  const trials = (name: string) =>
    Array.from({ length: 10 }, (_, trial) => [`support > ${name} > trial ${trial + 1}`, "ok"]);
  const names = [
    ...["adds #sums #quick", "adds by the tool", "adds to 1", "adds to 2"],
    ...["0 takes 1 and 2", "1 takes 3 and 4"],
  ];
  assertEquals(ended, [
    ["support > takes roots", "ignored"],
    ["support > divides", "ignored"],
    ...names.flatMap(trials),
    ["support > gate", "ok"],
  ] as [string, string][]);
  const [plan, ...kept] = readLines(place.file("s.jsonl"));
  assertEquals(kept.length, 60);
  assertEquals(plan.suite, "support");
  assertEquals(plan.resolved.cells.length, 6);
  // All trials of a round come before those of the next.
  assertEquals(plan.resolved.graphs, 10);
  assertMatch(finished.stdout, /^ {2}solved: 60 of 60 valid trials /m);
  assertMatch(
    unwrapped(finished.stdout),
    /2 tests are skipped and not decided on: takes roots, divides/,
  );
  await context.step("the verdict speaks of all tests", async () => {
    const verdict = JSON.parse(Deno.readTextFileSync(place.file("s.json")));
    assertEquals([verdict.verdict, verdict.verdicts?.length ?? 1], ["pass", 1]);
    const decided = await toolgate(["gate", place.file("s.jsonl")]);
    assertEquals(decided.code, 0, decided.all);
    const shown = Deno.readTextFileSync(place.file("s.txt"));
    for (const name of ["adds", "adds to 2", "1 takes 3 and 4"]) {
      assertMatch(shown, new RegExp(`^${name} +\\d+ of `, "m"));
    }
    assertStringIncludes(Deno.readTextFileSync(place.file("s.html")), "adds by the tool");
    assertStringIncludes(Deno.readTextFileSync(place.file("summary.md")), "support");
  });
  await context.step("it goes on where it was cut off", async () => {
    const lines = Deno.readTextFileSync(place.file("s.jsonl")).split("\n");
    place.write("cut.jsonl", lines.slice(0, 31).join("\n") + "\n");
    const resumed = await run(file, { own: ["--out=cut.jsonl", "--resume"] });
    assertEquals(resumed.code, 0, resumed.all);
    const ids = readLines(place.file("cut.jsonl")).slice(1).map(({ id }) => id);
    assertEquals(ids.toSorted(), kept.map(({ id }) => id).toSorted());
  });
});

Deno.test("toolSuite() runs what deno test selects, and tells what began ahead of it", async (context) => {
  const file = write("selected_test.ts", SUITE);
  await context.step("one trial starts nothing else", async () => {
    const finished = await run(file, {
      flags: ["--filter=adds to 1 > trial 3"],
      own: ["--out=one.jsonl"],
    });
    assertEquals(finished.code, 0, finished.all);
    assertEquals(readLines(place.file("one.jsonl")).length, 1 + 1);
    assertMatch(finished.stderr + finished.stdout, /support: the gate did not run/);
    assertEquals(finished.all.includes("had begun ahead"), false, finished.all);
  });
  await context.step("several start at most what is looked ahead", async () => {
    const finished = await run(file, { flags: ["--filter=#quick"] });
    assertEquals(endedIn(finished).length, 10);
    assertMatch(
      finished.all,
      /support: \d+ trials had begun ahead of tests that were then not run/,
    );
  });
  await context.step("only", async () => {
    const only = write("only_test.ts", `${SUITE}\ntest.only("alone", right);\n`);
    const finished = await run(only);
    assertEquals(endedIn(finished).map(([name]) => name).slice(0, 2), [
      "support > alone > trial 1",
      "support > alone > trial 2",
    ]);
    // The runner itself fails such a file.
    assertEquals(finished.code, 1, finished.all);
    assertMatch(finished.all, /"only" option was used/);
  });
});

Deno.test("toolTest()s of a file make one suite, in which each keeps its own model and settings", async () => {
  // Models of one name are different ones, as each test has its own script.
  const file = write(
    "mixed_test.ts",
    `
const same = (text) => scripted("same", [{ text }]);
toolTest("three", { ...rests, model: same("3") });
toolTest("four", { ...rests, model: same("4") });
toolTest("twice", { ...rests, model: adder, trials: 2 });
toolTest("crossed", { ...rests, model: [adder, silent], strategy: ["baseline", "retry"] });
toolTest("calls little", { ...rests, model: adder, limits: { calls: 1, steps: 1 } });
toolTest("perturbed", { ...rests, model: adder, perturbation: "CO", seed: 7,
  assert: (run) => assertEquals(run.perturbed.length, 1) });
`,
  );
  const finished = await run(file, { own: ["--out=mixed.jsonl", "--report=mixed.html"] });
  assertEquals(endedIn(finished), [
    ["three", "ok"],
    ["four", "FAILED"],
    ["twice > trial 1", "ok"],
    ["twice > trial 2", "ok"],
    ["crossed > adder", "ok"],
    ["crossed > adder + retry", "ok"],
    ["crossed > silent", "FAILED"],
    ["crossed > silent + retry", "FAILED"],
    ["calls little", "FAILED"],
    ["perturbed", "ok"],
  ], finished.all);
  const [plan, ...trials] = readLines(place.file("mixed.jsonl"));
  assertEquals([plan.suite, plan.trials, trials.length], ["mixed", 10, 10]);
  assertEquals(Object.keys(plan.resolved.tests).length, 5);
  const shown = await toolgate(["report", place.file("mixed.jsonl")]);
  assertEquals(shown.code, 0, shown.all);
  // What a journal says of its trials is read again as it was planned.
  const resumed = await run(file, { own: ["--out=mixed.jsonl", "--resume"] });
  assertEquals(endedIn(resumed), endedIn(finished));
});

Deno.test("toolTest()s of a file have nothing to do with models of others that cannot be reached", async () => {
  const file = write(
    "unreachable_test.ts",
    `
const at = (port) => ({ model: "m", baseURL: \`http://127.0.0.1:\${port}/v1\`, apiKeyVariable: "KEY" });
toolTest("unreachable", { ...rests, model: at(4), retries: 0 });
toolTest("elsewhere", { ...rests, model: at(5), retries: 0 });
toolTest("without a key", { ...rests, model: { model: "m", apiKeyVariable: "NO_SUCH_KEY" }, retries: 0 });
toolTest("other retries", { ...rests, model: adder, retries: 1 });
toolTest("reachable", { ...rests, model: adder, retries: 0, trials: 3 });
`,
  );
  const finished = await run(file, { env: { KEY: "k" }, own: ["--out=reached.jsonl"] });
  const ended = new Map(endedIn(finished));
  assertEquals(ended.get("unreachable"), "FAILED", finished.all);
  assertEquals(ended.get("without a key"), "FAILED", finished.all);
  assertMatch(finished.all, /NO_SUCH_KEY/);
  // Its run is another one, which needs a file of its own.
  assertMatch(finished.all, /Cannot keep the trials of tool test other retries in reached\.jsonl/);
  assertEquals(ended.get("reachable > trial 3"), "ok", finished.all);
  assertEquals(readLines(place.file("reached.jsonl")).length, 1 + 3);
});

const sideBySide = withOthers(
  "side_test.ts",
  `
const seen = { shared: [0, 0], own: [0, 0] };
const slow = (counts) => tool({
  name: "add", description: "Adds", parameters: { type: "object", properties: {} },
  execute: async () => {
    counts[1] = Math.max(counts[1], ++counts[0]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    counts[0]--;
    return 3;
  },
});
const model = scripted("m", [{ calls: [{ name: "add", arguments: {} }] }, { text: "3" }]);
const test = toolSuite("side", { model, trials: 4 });
for (const name of ["a", "b"]) test(name, { ...right, tools: [slow(seen.shared)] });
for (const name of ["c", "d"]) test(name, { ...right, tools: () => [slow(seen.own)] });
addEventListener("load", () => Deno.test("seen", () => {
  assertEquals([seen.shared[1], seen.own[1] > 1], [1, true]);
}));
`,
);

Deno.test("tests of a suite run side by side, but for those whose tools they may share", async () => {
  const { ended, all } = await sideBySide();
  assertEquals(ended.filter(([, one]) => one === "ok").length, 17, all);
});

const broken = withOthers(
  "broken_test.ts",
  `
const test = toolSuite("support", { model: adder, tools: [add], trials: 5, gate: { successRate: 0.5 } });
test("adds", right);
test("asks nothing", { ...right, prompt: "" });
const free = toolSuite("free", { model: adder, tools: [add] });
free("adds", right);
free("adds", right);
free("asks nothing", { ...right, prompt: "" });
`,
);

Deno.test("toolSuite() runs nothing of a suite with a gate of which a test cannot be used", async () => {
  const { ended, all } = await broken();
  assertEquals(ended, [
    ["asks nothing", "FAILED"],
    ["adds", "FAILED"],
    ["asks nothing", "FAILED"],
    ["free > adds", "ok"],
  ], all);
  assertMatch(
    all,
    /Cannot use tool test adds as the tests of a suite must have different names: the other is at broken_test\.ts:\d+:\d+$/m,
  );
});

const faulty = withOthers(
  "gate_test.ts",
  'toolSuite("s", { model: adder, tools: [add], gate: {} })("adds", right);',
);
const empty = withOthers(
  "empty_test.ts",
  `
toolSuite("empty", { model: adder, gate: { successRate: 0.5 } });
const test = toolSuite("skipped", { model: adder, tools: [add], gate: { successRate: 0.5 } });
test.skip("adds", right);
toolSuite("of nothing", { model: adder });
`,
);

const row = withOthers(
  "row_test.ts",
  `
const gate = { successRate: 0.5 };
const test = toolSuite("rows", { model: adder, tools: [add], trials: 30, gate });
test.each([1, 2])("adds %s", (row) => {
  if (row === 2) throw new Error("no row");
  return right;
});
const circle = {};
circle.circle = circle;
toolTest.each([[circle, Symbol("x"), { get z() { throw new Error("none"); } }]])(
  "names %j and %d", () => ({ ...rests, model: adder }));
toolTest.each([{ get z() { throw new Error("none"); } }])("$z", () => ({ ...rests, model: adder }));
`,
);

Deno.test("toolSuite() refuses gates and rows that cannot be used", async (context) => {
  await context.step("a gate without tests", async () => {
    const { all } = await empty();
    assertMatch(all, /Cannot run tool suite empty as a gate needs tests: there are none/);
    assertMatch(all, /suite skipped as a gate needs tests: all of them are skipped/);
    assert(!all.includes("of nothing"), all);
  });
  await context.step("a row without options, where the gate then decides nothing", async () => {
    const { ended, all } = await row();
    assertEquals(ended, [
      ["adds 2", "FAILED"],
      ["names %j and %d", "ok"],
      ["$z", "ok"],
    ], all);
    assert(!all.includes(`${ROOT}/lib/`), all);
  });
  await context.step("a gate that cannot be used, once for each fault", async () => {
    const { all } = await faulty();
    assertEquals(all.split("give either successRate or baseline").length, 2, all);
  });
});

place.write(
  "tests_in_module.ts",
  `${PRELUDE}
export const test = toolSuite("shared", { model: silent, tools: [add] });`,
);
const waiting = withOthers(
  "waiting_test.ts",
  `
const { test } = await import("./tests_in_module.ts");
test("first", { ...right, model: adder });
await new Promise((resolve) => setTimeout(resolve, 50));
test("second", right);
toolTest("third", { ...rests, model: silent });`,
);

Deno.test("toolSuite() has the tests of a file that waits before and between them", async () => {
  const { ended, all } = await waiting();
  assertEquals(ended, [
    ["shared > first", "ok"],
    ["shared > second", "FAILED"],
    ["third", "FAILED"],
  ], all);
});

const late = withOthers(
  "late_test.ts",
  `
const test = toolSuite("support", { model: silent, tools: [add] });
test("first", { ...right, model: adder });
toolTest("of the file", { ...rests, model: adder });
Deno.test("late in a suite", () => test("late", right));
Deno.test("late in the file", () => toolTest("late", { ...rests, model: silent }));
Deno.test("a late suite", () => {
  toolSuite("other", { model: silent, tools: [add] })("late", right);
});`,
);

Deno.test("a test that is added once its suite is registered fails, as it would never be run", async () => {
  const { ended, all } = await late();
  assertEquals(ended, [
    ["late in a suite", "FAILED"],
    ["late in the file", "FAILED"],
    ["a late suite", "FAILED"],
    ["support > first", "ok"],
    ["of the file", "ok"],
  ]);
  for (const called of ['test("late")', 'toolTest("late")', 'toolSuite("other")']) {
    assertStringIncludes(
      all,
      `Cannot register ${called} as it must be called while its file is loaded`,
    );
  }
});

Deno.test("suites that share tools run their trials one at a time, however tests are selected", async () => {
  const file = write(
    "sharing_test.ts",
    `
let inside = 0;
let most = 0;
const slow = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: { type: "object" },
  execute: async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
    return 3;
  },
});
for (const name of ["one", "two"]) {
  const test = toolSuite(name, { model: adder, tools: [slow], trials: 4 });
  for (const each of ["a", "b", "c"]) test(each, right);
}
Deno.test.afterAll(() => console.log("at the same time:", most));`,
  );
  const finished = await run(file, { flags: ["--shuffle=1"] });
  assertStringIncludes(finished.stdout, "24 passed");
  assertStringIncludes(finished.stdout, "at the same time: 1\n");
});

const names = withOthers(
  "names_test.ts",
  `
const test = toolSuite("support", { model: adder, tools: [add] });
test("__proto__", right);
test("constructor", right);
toolSuite("support", { model: adder, tools: [add] })("constructor", right);`,
);

Deno.test("a test whose name no journal can keep is refused, as are two suites of one name in a folder", async () => {
  const { ended, all } = await names();
  assertEquals(ended, [
    ["__proto__", "FAILED"],
    ["support > constructor", "ok"],
    ["support", "FAILED"],
  ]);
  assertStringIncludes(
    all,
    "its name must be one that readers of journals accept as a key",
  );
  assertStringIncludes(
    all,
    "another one, support, has it, and files are named after them. Give one of them another name",
  );
});

Deno.test("a call that must never happen fails the gate also if its trial was invalid and is run again", async () => {
  const file = write(
    "never_again_test.ts",
    `
const broken = Deno.env.get("BROKEN") !== undefined;
const model = { ...adder, async reply(request) {
  const isBad = broken && request.context.repetition === 1;
  if (isBad && request.messages.at(-1).role === "tool") throw new Error("the line is dead");
  return await (isBad ? adder : scripted("adder", [{ text: "It is 3." }])).reply(request);
} };
const test = toolSuite("never", {
  model, tools: [add], trials: 40, never: ["add"], gate: { successRate: 0.9, margin: 0.2 },
});
test("adds", right);
`,
  );
  const own = ["--out=never.jsonl"];
  const first = await run(file, { own, env: { BROKEN: "1" } });
  const told = "FAIL: a call that must not happen in any trial was made in trial 1 of the case";
  assertStringIncludes(first.stdout, told);
  const again = await run(file, { own: [...own, "--resume", "--retry-invalid"] });
  assertStringIncludes(again.stdout, told);
  assertStringIncludes((await toolgate(["gate", place.file("never.jsonl")])).stdout, told);
});
