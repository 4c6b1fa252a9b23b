import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import type { Failure } from "../../../lib/calls/failure_types.ts";
import type { RepairEvent, TraceEvent } from "../../../lib/calls/trace.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { cellName } from "../../../lib/reports/cells.ts";
import { mendingOf } from "../../../lib/reports/metrics/_effort.ts";
import { shareInterval, tally } from "../../../lib/reports/metrics/_tally.ts";
import { METRICS } from "../../../lib/reports/metrics/_registry.ts";
import { renderTables } from "../../../lib/reports/terminal.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { trialId } from "../../../lib/trials/trial_id.ts";
import { seedOf } from "../../support/generated.ts";
import { failureOf, record, records } from "../../support/records.ts";
import { recordsOf, reportOf, tableOf, textsOf, valuesOf } from "../../support/reports.ts";

const USED = { inputTokens: 1, outputTokens: 1 };
const CELL = { core: 3, depth: 2, connected: 0, disconnected: 0 };

Deno.test("tally() has nothing to say of no trials, and of invalid ones alone", () => {
  const nothing = {
    ...{ success: { count: 0, of: 0, value: null, interval: null }, unchanged: 0, unsolvable: 0 },
    ...{ returnsChanged: undefined, callsSolved: null, callsFailed: null, fewestSolved: null },
    duration: null,
  };
  assertEquals(tally([]), { ...nothing, trials: 0, invalid: 0, tokens: 0 });
  assertEquals(tally(records(["invalid", "invalid"])), {
    ...{ ...nothing, trials: 2, invalid: 2, tokens: 24 },
  });
});

Deno.test("tally() leaves out what was not changed, and counts it by itself", () => {
  const unchanged = { changed: false } as const;
  const own = tally([
    record({ seed: 1, calls: 4 }),
    record({ seed: 2, outcome: "no_answer", calls: 6 }),
    record({ seed: 3, outcome: "invalid" }),
    record({ seed: 4, ...unchanged, calls: 90, minimumCalls: null, durationMs: 9000 }),
    record({ seed: 5, ...unchanged, outcome: "invalid" }),
    record({ seed: 2, ...unchanged, repetition: 2, outcome: "no_answer", calls: 90 }),
  ]);
  assertEquals(own, {
    ...{ trials: 6, invalid: 1, unchanged: 3, unsolvable: 0, returnsChanged: undefined },
    success: { count: 1, of: 2, value: 0.5, interval: wilson(1, 2) },
    ...{ callsSolved: 4, callsFailed: 6, fewestSolved: 3, tokens: 72, duration: 100 },
  });
});

Deno.test("tally() has the mean calls of solved and of failed trials, and the fewest of the solved ones (FuncBenchGen 4.1)", () => {
  const { callsSolved, callsFailed, fewestSolved } = tally([
    record({ seed: 1, calls: 3, minimumCalls: 3 }),
    record({ seed: 2, calls: 6, minimumCalls: 5 }),
    record({ seed: 3, calls: 8, minimumCalls: 4, outcome: "wrong_answer" }),
    record({ seed: 4, calls: 0, minimumCalls: 4, outcome: "no_answer" }),
    record({ seed: 5, calls: 99, minimumCalls: 99, outcome: "invalid" }),
  ]);
  // Half a call more than was needed.
  assertEquals([callsSolved, callsFailed, fewestSolved], [4.5, 4, 4]);
});

Deno.test("shareInterval() is Wilson's of single tasks, and clustered of repeated ones", () => {
  const tasks = (seeds: readonly number[]) => seeds.map((seed) => record({ seed }));
  const first = ({ task }: Trial) => seedOf(task) === 1;
  assertEquals(shareInterval(tasks([1, 2, 3]), first), wilson(1, 3));
  assertEquals(
    shareInterval(tasks([1, 1, 2, 3]), first),
    clusteredInterval([[1, 1], [0], [0]]),
  );
  assertEquals(shareInterval(tasks([2, 2, 3, 3]), first), wilson(0, 2));
  assertEquals([shareInterval([], first), shareInterval(tasks([1, 1]), first)], [null, null]);
  // Four graphs of two trials: 2, 2, 0 and 1 solved. The mean is 5/8; the excess sums are 3/4, 3/4,
  // -5/4 and -1/4, their squares sum to 44/16; sqrt(4/3 * 44/16) / 8 = 0.239357.
  const trials = [2, 2, 0, 1].flatMap((solved, seed) =>
    [1, 2].map((repetition) => ({ ...record({ seed, repetition }), solved: repetition <= solved }))
  );
  const interval = shareInterval(trials, ({ solved }) => solved);
  const half = 3.1824463052837078 * Math.sqrt(4 / 3 * 44 / 16) / 8;
  assertAlmostEquals(interval!.lower, Math.max(0, 0.625 - half), 1e-9);
  assertAlmostEquals(interval!.upper, Math.min(1, 0.625 + half), 1e-9);
});

Deno.test("reports leave what was not changed out of everything but what it took (Butterfly 5.1)", () => {
  const traits = {
    perturbation: "RD",
    failures: [failureOf("incorrect_value")] as readonly Failure[],
    behaviours: ["silent"],
  } as const;
  const counted = [1, 2].map((seed) => record({ seed, ...traits }));
  const others = [1, 3].map((seed): TrialSummary => ({
    ...record({ seed, ...traits, changed: false, repetition: 2, outcome: "no_answer" }),
    work: { asked: 1, unusable: 0, sentBack: 0, mended: 0 },
  }));
  const all = [...counted, ...others];
  const figuresOf = (trials: readonly (Trial | TrialSummary)[]) =>
    METRICS.map(({ id, records }) => [
      id,
      records(reportOf(trials)).map((one) =>
        Object.entries(one).filter(([name]) => !/tokens$|^unchanged$/.test(name)).filter(([name]) =>
          name !== "trials" || !/^(cells|breakdowns)$/.test(id)
        )
      ),
    ]);
  assertEquals(figuresOf(all), figuresOf(counted));
  assertEquals(valuesOf(recordsOf("effort", all), "input_tokens output_tokens"), [[40, 8]]);
  assertEquals(valuesOf(recordsOf("cells", all), "trials unchanged"), [[4, 2]]);
});

Deno.test("effort has calls and tokens of each model, also of spoiled tries, and costs where a price is known", () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 100_000 };
  const trials = [
    ...records(["solved", "no_answer", "invalid"], { model: "gpt-5", usage }),
    { ...record({ model: "m" }), replaced: { inputTokens: 5_000_000, outputTokens: 3 } },
    record({ model: "toString", minimumCalls: null }),
  ];
  assertEquals(textsOf(tableOf("effort", trials)), [
    ["model", "calls if solved", "if not", "fewest if solved", "tokens read", "written"],
    ["gpt-5", "3.0", "3.0", "3.0", "3,000,000", "300,000"],
    ["m", "3.0", "-", "3.0", "5,000,010", "5"],
    ["toString", "3.0", "-", "-", "10", "2"],
  ]);
  const prices = { "gpt-5": { input: 1.25, output: 10 }, m: { input: 1, output: 0 } };
  const costs = recordsOf("overview", trials, { prices }).map(({ cost }) => cost);
  assertEquals([costs[0], costs[2]], [6.75, null]);
  assertAlmostEquals(Number(costs[1]), 5.00001, 1e-9);
  const heads = (options = {}) => textsOf(tableOf("overview", trials, options))[0]!;
  assert(heads({ prices }).includes("cost") && !heads().includes("cost"));
});

Deno.test("effort has tokens alone where the matrix has the calls, and nothing where none were used", () => {
  const known = record();
  assertEquals(textsOf(tableOf("effort", [known])), [
    ["model", "tokens read", "written"],
    ["m", "10", "2"],
  ]);
  assertEquals(tableOf("effort", [known])!.note, undefined);
  const free = { ...known, usage: { inputTokens: 0, outputTokens: 0 } };
  assertEquals(tableOf("effort", [free]), undefined);
  const heads = (trial: Trial) => textsOf(tableOf("matrix", [trial]))[0]!;
  assert(heads(known).includes("fewest if solved"));
  assert(!heads(record({ minimumCalls: null })).includes("fewest if solved"));
});

Deno.test("effort has the tokens of judges and users beside those of the model", () => {
  const use = (requested: string, inputTokens: number) => ({
    model: { requested, served: [], simulated: true },
    usage: { inputTokens, outputTokens: 1 },
  });
  const judging = { ...use("judge", 1000), others: [use("other", 200)] };
  const user = { ...use("user", 50), messages: 2 };
  const trials = [record(), record({ task: { case: "own", seed: 1 }, judging, user })];
  const kinds = "input_tokens output_tokens judge_tokens user_tokens";
  assertEquals(valuesOf(recordsOf("effort", trials), kinds), [[20, 4, 1202, 51]]);
  assertMatch(
    renderTables(reportOf(trials)),
    /^Effort: tokens read 20, written 4, by judges \(simulated\) 1,202, by users \(simulated\) 51$/m,
  );
  assertEquals(valuesOf(recordsOf("effort", [record()]), "judge_tokens"), [[null]]);
});

Deno.test("cellName() tells everything but the seed", () => {
  const inputs = [1, 3] as const;
  const trial = record({ task: { ...CELL, seed: 7, linking: "names", inputs } });
  assertEquals(
    cellName(trial),
    "core 3, depth 2, connected 0, disconnected 0, linking names, inputs [1,3]",
  );
  assertEquals(cellName({ task: { case: "refunds" } as unknown as Trial["task"] }), "refunds");
});

// The work of strategies

/** What strategies did in a trial of `strategy`, of a model that says `texts` when it is asked beside the loop. */
async function workIn(strategy: string, texts: readonly string[]) {
  let asked = 0;
  const model = scripted("m", () => ({ text: texts[asked++] ?? "I cannot tell." }));
  const task = { ...CELL, seed: 1 };
  const key = { model: "m", strategy, perturbation: "none", task, repetition: 1 };
  const trial = await runTrial({ ...key, id: trialId(key), index: 0, block: 0 }, model);
  return summarize(trial).work;
}

Deno.test("summarize() counts what was asked beside the loop, and what came to nothing", async () => {
  const usable = { asked: 1, unusable: 0, sentBack: 0, mended: 0 };
  const { functions: [some] } = generateTask({ ...CELL, seed: 1 });
  assertEquals(await workIn("plan_then_call", ["1. Call it."]), usable);
  assertEquals(await workIn("route_then_fill", [`['${some!.name}']`]), usable);
  assertEquals(await workIn("backward", [`${some!.name} <!stop>`]), usable);
  for (const strategy of ["plan_then_call", "route_then_fill", "backward"]) {
    assertEquals(await workIn(strategy, [""]), { ...usable, unusable: 1 }, strategy);
  }
  for (const strategy of ["plain", "restate", "indirection", "repair"]) {
    assertEquals(await workIn(strategy, ["x"]), undefined, strategy);
  }
});

Deno.test("summarize() counts calls that went back, and those that were mended", () => {
  const repair = {
    ...{ kind: "repair" as const, function: "f", arguments: "{", error: "no JSON", attempts: 2 },
  };
  const reply = { kind: "reply" as const, text: "", calls: 0, ...USED, durationMs: 1 };
  const events: TraceEvent[] = [
    { ...reply, request: 1 },
    { ...reply, request: 2, stage: "repair" },
    { ...repair, repaired: "{}" },
    repair,
    // Whom an answer follows is nothing that a strategy did.
    { kind: "stage", stage: "answer", message: "the answer follows the tool" },
  ];
  assertEquals(summarize(record({ events })).work, {
    ...{ asked: 1, unusable: 0, sentBack: 2, mended: 1 },
  });
  assertEquals(summarize(record({ events: events.slice(0, 1) })).work, undefined);
});

/** The summary of a trial whose calls were sent back; true where they were mended. */
function sentBack(seed: number, ...mended: boolean[]): TrialSummary {
  const events = mended.map((isMended): RepairEvent => ({
    ...{ kind: "repair", function: "f", arguments: "{}", error: "x is missing", attempts: 2 },
    ...(isMended ? { repaired: '{"x":1}' } : {}),
  }));
  return summarize(record({ seed, events, strategy: "repair" }));
}

Deno.test("mendingOf() is the share of the calls sent back that were mended, over tasks (Pipeline, Key Takeaways)", () => {
  assertEquals(mendingOf([summarize(record())]), { value: null, interval: null, of: 0 });
  const single = [true, true, true, false].map((isMended, place) => sentBack(place + 1, isMended));
  assertEquals(mendingOf(single), { value: 0.75, interval: wilson(3, 4), of: 4 });
  // Calls of one task are not independent: the interval is wider than of as many tasks.
  const { value, interval, of } = mendingOf([
    ...[1, 2, 3].map((seed) => sentBack(seed, true, true, true, true)),
    ...[4, 5, 6].map((seed) => sentBack(seed, false, false, false, false)),
  ]);
  assertEquals([value, of], [0.5, 24]);
  const { lower, upper } = wilson(12, 24);
  assert(interval!.upper - interval!.lower > upper - lower);
});

Deno.test("tablesOf() tells what strategies did, of those that did something", () => {
  const work = (asked: number, sentBack = 0, mended = 0, unusable = 0) => ({
    work: { asked, unusable, sentBack, mended },
  });
  const trials: (Trial | TrialSummary)[] = [
    record(),
    { ...record({ strategy: "repair", seed: 1 }), ...work(1200, 3, 2) },
    { ...record({ strategy: "repair", seed: 2 }), ...work(2, 1, 1) },
    record({ strategy: "repair", seed: 3 }),
    { ...record({ strategy: "repair", seed: 4, outcome: "invalid" }), ...work(9, 9, 9, 9) },
    { ...record({ strategy: "plan_then_call" }), ...work(1, 0, 0, 1) },
  ];
  assertEquals(textsOf(tableOf("strategy-work", trials)), [
    [
      ...["strategy", "asked", "without use", "sent back", "mended", "share mended"],
      "95% interval",
    ],
    ["m + repair", "1,202", "0", "4", "3", "75.0%", "3.9% to 99.6%"],
    ["m + plan_then_call", "1", "1", "0", "0", "-", "-"],
  ]);
  assertEquals(tableOf("strategy-work", [record(), record({ strategy: "restate" })]), undefined);
});
