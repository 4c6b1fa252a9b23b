// Suites of tests of the user's own tools as users run them: files with several tests, in child processes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readResults } from "../../lib/runs/journal/results.ts";
import type { Model } from "../../lib/models/model.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { assertAnswer } from "../../lib/testing/assertions/runs.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { deno, endedIn, folder, readLines, ROOT, unwrapped } from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
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

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

/** What most files need: a tool, models that use it and one that does not. */
const PRELUDE = `// @ts-nocheck: a user may write no types.
import { assertAnswer, assertCalled, scripted, tool, toolSuite, toolTest } from ${MOD};
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
const rests = { ...right, tools: [add], retries: 0 };
`;

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

place.write(
  "tests_in_module.ts",
  `${PRELUDE}
export const test = toolSuite("shared", { model: silent, tools: [add] });`,
);

/** Suites that need no flags: one process runs them all, in an order that mixes them. */
const ALL = `
// Models of one name are different ones, as each test has its own script.
const same = (text) => scripted("same", [{ text }]);
toolTest("three", { ...rests, model: same("3") });
toolTest("four", { ...rests, model: same("4") });
toolTest("twice", { ...rests, model: adder, trials: 2 });
toolTest("crossed", { ...rests, model: [adder, silent], strategy: ["plain", "retry"] });
toolTest("calls little", { ...rests, model: adder, limits: { calls: 1, steps: 1 } });
toolTest("perturbed", { ...rests, model: adder, perturbation: "CO", seed: 7,
  assert: (run) => assertEquals(run.perturbed.length, 1) });
const at = (port) => ({ model: "m", baseURL: \`http://127.0.0.1:\${port}/v1\`, apiKeyVariable: "KEY" });
toolTest("unreachable", { ...rests, model: at(4) });
toolTest("elsewhere", { ...rests, model: at(5) });
toolTest("without a key", { ...rests, model: { model: "m", apiKeyVariable: "NO_SUCH_KEY" } });
toolTest("other retries", { ...rests, model: adder, retries: 1 });

{
  const seen = { shared: [0, 0], own: [0, 0], suites: [0, 0] };
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
  const shared = slow(seen.suites);
  for (const name of ["here", "there"]) {
    const test = toolSuite(name, { model, tools: [shared], trials: 2 });
    for (const each of ["a", "b"]) test(each, right);
  }
  Deno.test.afterAll(() => console.log("SEEN", seen.shared[1], seen.own[1] > 1, seen.suites[1]));
}
{
  const gate = { successRate: 0.5 };
  const test = toolSuite("broken", { model: adder, tools: [add], trials: 5, gate });
  test("adds", right);
  test("asks nothing", { ...right, prompt: "" });
  const free = toolSuite("free", { model: adder, tools: [add] });
  free("adds freely", right);
  free("adds freely", right);
  free("asks naught", { ...right, prompt: "" });

  const rowless = toolSuite("rowless", { model: adder, tools: [add], trials: 5, gate });
  rowless("adds", right);
  rowless.each([])("adds nothing", () => right);

  toolSuite("faulty", { model: adder, tools: [add], gate: {} })("adds", right);
  toolSuite("empty", { model: adder, gate });
  toolSuite("skipped", { model: adder, tools: [add], gate }).skip("adds", right);
  toolSuite("of nothing", { model: adder });

  const rows = toolSuite("rows", { model: adder, tools: [add], trials: 30, gate });
  rows.each([1, 2])("adds %s", (row) => {
    if (row === 2) throw new Error("no row");
    return right;
  });
  const circle = {};
  circle.circle = circle;
  toolTest.each([[circle, Symbol("x"), { get z() { throw new Error("none"); } }]])(
    "names %j and %d", () => ({ ...rests, model: adder }));
  toolTest.each([{ get z() { throw new Error("none"); } }])("$z", () => ({ ...rests, model: adder }));
}
{
  const { test } = await import("./tests_in_module.ts");
  test("first", { ...right, model: adder });
  await new Promise((resolve) => setTimeout(resolve, 50));
  test("second", right);
  toolTest("third", { ...rests, model: silent });
}
{
  const test = toolSuite("punctual", { model: silent, tools: [add] });
  Deno.test("late in a suite", () => test("late", right));
  Deno.test("late in the file", () => toolTest("late", { ...rests, model: silent }));
  Deno.test("a late suite", () => {
    toolSuite("other", { model: silent, tools: [add] })("late", right);
  });
}
{
  const test = toolSuite("support", { model: adder, tools: [add] });
  test("__proto__", right);
  test("constructor", right);
  toolSuite("support", { model: adder, tools: [add] })("constructor", right);
}
`;

Deno.test("suites of a file, with the suite of its tests alone, run side by side and go on", async (context) => {
  const file = write("mixed_test.ts", ALL);
  const options = { flags: ["--shuffle=1"], env: { KEY: "k" } };
  const finished = await run(file, { ...options, own: ["--out=kept/"] });
  const { all } = finished;
  const ended = endedIn(finished);
  const among = (...names: string[]) =>
    Object.fromEntries(ended.filter(([name]) => names.some((one) => name.startsWith(one))));
  await context.step("each toolTest() keeps its own model and settings", () => {
    const names = ["three", "four", "twice", "crossed", "calls little", "perturbed"];
    assertEquals(among(...names), {
      "three": "ok",
      "four": "FAILED",
      "twice > trial 1": "ok",
      "twice > trial 2": "ok",
      "crossed > adder": "ok",
      "crossed > adder + retry": "ok",
      "crossed > silent": "FAILED",
      "crossed > silent + retry": "FAILED",
      "calls little": "FAILED",
      "perturbed": "ok",
    }, all);
    const [plan] = readLines(place.file("kept/mixed_test.jsonl"));
    assertEquals(plan.suite, "mixed");
    for (const name of names) assert(Object.hasOwn(plan.resolved.cases, name), name);
  });
  await context.step("models that cannot be reached are nothing to the others", () => {
    const names = ["unreachable", "elsewhere", "without a key"];
    assertEquals(among(...names), Object.fromEntries(names.map((name) => [name, "FAILED"])), all);
    assertMatch(all, /NO_SUCH_KEY/);
    // Its run is another one, which has a file of its own.
    assertEquals(among("other retries"), { "other retries": "ok" }, all);
    assertEquals(readLines(place.file("kept/other_retries.jsonl")).length, 1 + 1);
  });
  await context.step("tests run side by side, but for those that may share tools", () => {
    const names = ["side >", "here >", "there >"];
    assertEquals(Object.values(among(...names)), Array(16 + 8).fill("ok"), all);
    assertStringIncludes(finished.stdout, "SEEN 1 true 1\n");
  });
  await context.step("nothing of a suite is run with a gate of which a test cannot be used", () => {
    assertEquals(among("adds", "asks", "free >", "broken >", "rows >", "rowless >"), {
      "asks nothing": "FAILED",
      "adds freely": "FAILED",
      "asks naught": "FAILED",
      "free > adds freely": "ok",
      "adds 2": "FAILED",
      "adds nothing": "FAILED",
    }, all);
    const { problem } = readResults([place.file("kept/free.mixed_test.jsonl")]);
    assertMatch(problem!, /could not be used, and are not in it: adds freely, asks naught$/);
    assertMatch(
      all,
      /Cannot use tool test adds freely as the tests of a suite must have different names: the other is at mixed_test\.ts:\d+:\d+$/m,
    );
  });
  await context.step("gates that cannot be used are refused, once for each fault", () => {
    assertMatch(all, /Cannot run tool suite empty as a gate needs tests: there are none/);
    assertMatch(all, /suite skipped as a gate needs tests: all of them are skipped/);
    assert(!all.includes("of nothing"), all);
    assertEquals(all.split("give either successRate or baseline").length, 2, all);
  });
  await context.step("rows may have values of any kind", () => {
    assertEquals(among("names", "$z"), { "names %j and %d": "ok", "$z": "ok" }, all);
    assert(!all.includes(`${ROOT}/lib/`), all);
  });
  await context.step("a file may wait before and between its tests", () => {
    assertEquals(among("shared", "third"), {
      "shared > first": "ok",
      "shared > second": "FAILED",
      "third": "FAILED",
    }, all);
  });
  await context.step(
    "what is added once its suite is registered fails: it would never be run",
    () => {
      const names = ["late in a suite", "late in the file", "a late suite"];
      assertEquals(among(...names), Object.fromEntries(names.map((name) => [name, "FAILED"])), all);
      for (const called of ['test("late")', 'toolTest("late")', 'toolSuite("other")']) {
        assertStringIncludes(
          all,
          `Cannot register ${called} as it must be called while its file is loaded`,
        );
      }
    },
  );
  await context.step(
    "a name that no journal can keep is refused, as is a second suite of a name",
    () => {
      assertEquals(among("__proto__", "support"), {
        ["__proto__"]: "FAILED",
        "support > constructor": "ok",
        "support": "FAILED",
      }, all);
      assertStringIncludes(all, 'and neither __proto__ nor the name of a probe: it is "__proto__"');
      assertStringIncludes(
        all,
        "another one, support, has it, and files are named after them. Give one of them another name",
      );
    },
  );
  await context.step("they go on where they were cut off", async () => {
    const journal = place.file("kept/side.mixed_test.jsonl");
    const ids = () => readLines(journal).slice(1).map(({ id }) => id).toSorted();
    const before = ids();
    const lines = Deno.readTextFileSync(journal).split("\n");
    place.write("kept/side.mixed_test.jsonl", `${lines.slice(0, 8).join("\n")}\n`);
    const resumed = await run(file, { ...options, own: ["--out=kept/", "--resume"] });
    assertEquals(endedIn(resumed).toSorted(), ended.toSorted(), resumed.all);
    assertEquals([before.length, ids()], [16, before]);
  });
});

Deno.test("a call that must never happen fails the gate also if its trial was invalid and is run again", async () => {
  const add = tool({
    name: "add",
    description: "Adds",
    parameters: { type: "object" },
    returns: 3,
  });
  const calling = scripted("adder", [{ calls: [{ name: "add", arguments: {} }] }]);
  const run = (journal: string, isBroken: boolean, flags: readonly string[]) => {
    const reply: Model["reply"] = (request) => {
      const isBad = isBroken && request.context.repetition === 1;
      if (isBad && request.messages.at(-1)!.role === "tool") throw new Error("the line is dead");
      return (isBad ? calling : scripted("adder", [{ text: "It is 3." }])).reply(request);
    };
    const own = [`--out=${place.file(journal)}`, ...flags];
    return CollectedTests.of(() =>
      toolTest("never", {
        ...{ model: { ...calling, reply }, tools: [add], trials: 40, never: ["add"] },
        ...{ prompt: "What is 1 + 2?", assert: (run) => assertAnswer(run, "3") },
        gate: { successRate: 0.9, margin: 0.2 },
      }), own).run();
  };
  const told = "FAIL: a call that must not happen in any trial was made in trial 1 of the case";
  assertStringIncludes((await run("never.jsonl", true, [])).stdout, told);
  // A process gives a file to one test.
  Deno.copyFileSync(place.file("never.jsonl"), place.file("again.jsonl"));
  const again = await run("again.jsonl", false, ["--resume", "--retry-invalid"]);
  assertStringIncludes(again.stdout, told);
  assertStringIncludes((await toolgate(["gate", place.file("again.jsonl")])).stdout, told);
});
