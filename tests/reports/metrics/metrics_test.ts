import { assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import type { Failure } from "../../../lib/calls/failure_types.ts";
import {
  cellName,
  measure,
  shareInterval,
  tally,
  type VariantMetrics,
} from "../../../lib/reports/metrics/metrics.ts";
import { renderTables } from "../../../lib/reports/terminal.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { clusteredInterval } from "../../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import type { TraceEvent } from "../../../lib/calls/trace.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { trialId } from "../../../lib/trials/trial_id.ts";
import { seedOf } from "../../support/generated.ts";
import { record, records } from "../../support/records.ts";

const USED = { inputTokens: 1, outputTokens: 1 };
const CELL = { core: 3, depth: 2, connected: 0, disconnected: 0 };

/** A failure of `type`; a root by default. */
function failure(type: Failure["type"], root = true): Failure {
  return { type, root, call: 1, step: 1, function: "func_abc", detail: {} } as unknown as Failure;
}

Deno.test("tally() has nothing to say of no trials, and of invalid ones alone", () => {
  const nothing = {
    valid: 0,
    unchanged: 0,
    solved: 0,
    rate: null,
    interval: null,
    callsSolved: null,
    callsFailed: null,
    minimumCalls: null,
    duration: null,
  };
  assertEquals(tally([]), { ...nothing, trials: 0, tokens: 0 });
  assertEquals(tally(records(["invalid", "invalid"])), { ...nothing, trials: 2, tokens: 24 });
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
    trials: 6,
    valid: 2,
    unchanged: 3,
    solved: 1,
    rate: 0.5,
    interval: wilson(1, 2),
    callsSolved: 4,
    callsFailed: 6,
    minimumCalls: 3,
    tokens: 72,
    duration: 100,
  });
});

Deno.test("measure() leaves what was not changed out of everything but what it took (Butterfly 5.1)", () => {
  const traits = {
    perturbation: "RD",
    failures: [failure("incorrect_value")],
    behaviours: ["silent"],
  } as const;
  const counted = [1, 2].map((seed) => record({ seed, ...traits }));
  const others = [1, 3].map((seed): TrialSummary => ({
    ...record({ seed, ...traits, changed: false, repetition: 2, outcome: "no_answer" }),
    work: { asked: 1, unusable: 0, sentBack: 0, mended: 0 },
  }));
  const [alone] = measure(counted);
  const [{ usage, total, cells, ...own }] = measure([...counted, ...others]) as [VariantMetrics];
  const { usage: _, total: __, cells: ___, ...expected } = alone!;
  assertEquals(own, expected);
  assertEquals([own.repetition, own.work, own.behaviours["silent"]], [null, null, 2]);
  assertEquals([total.valid, total.unchanged, usage], [
    ...[2, 2],
    { inputTokens: 40, outputTokens: 8 },
  ]);
  assertEquals(cells[0]!.tally.unchanged, 2);
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
});

Deno.test("tally() has the clustered interval when graphs were repeated", () => {
  // Four graphs of two trials: 2, 2, 0 and 1 solved. The mean is 5/8; the excess sums are 3/4, 3/4,
  // -5/4 and -1/4, their squares sum to 44/16; sqrt(4/3 * 44/16) / 8 = 0.239357.
  const solvedOf = [2, 2, 0, 1];
  const trials = solvedOf.flatMap((solved, graph) =>
    [1, 2].map((repetition): Trial =>
      record({ seed: graph, repetition, outcome: repetition <= solved ? "solved" : "no_answer" })
    )
  );
  const { interval, rate } = tally(trials);
  assertEquals(rate, 0.625);
  const half = 3.1824463052837078 * Math.sqrt(4 / 3 * 44 / 16) / 8;
  assertAlmostEquals(interval!.lower, Math.max(0, 0.625 - half), 1e-9);
  assertAlmostEquals(interval!.upper, Math.min(1, 0.625 + half), 1e-9);
});

Deno.test("measure() counts what spoiled tries of a trial took, too", () => {
  const replaced = { inputTokens: 5_000_000, outputTokens: 3 };
  const [metrics] = measure([{ ...record(), replaced }], { m: { input: 1, output: 0 } });
  assertEquals(metrics!.usage, { inputTokens: 5_000_010, outputTokens: 5 });
  assertAlmostEquals(metrics!.cost!, 5.00001, 1e-9);
});

Deno.test("measure() has the tokens of judges that tool tests asked beside those of the model", () => {
  const use = (requested: string, inputTokens: number) => ({
    model: { requested, served: [], simulated: true },
    usage: { inputTokens, outputTokens: 1 },
  });
  const judging = { ...use("judge", 1000), others: [use("other", 200)] };
  const trials = [record(), record({ task: { case: "own", seed: 1 }, judging })];
  const [metrics] = measure(trials);
  assertEquals(metrics!.usage, { inputTokens: 20, outputTokens: 4 });
  assertEquals(metrics!.judging, { inputTokens: 1200, outputTokens: 2 });
  assertMatch(renderTables(trials), /^Effort: tokens read 20, written 4, by judges 1202$/m);
  assertEquals("judging" in measure([record()])[0]!, false);
});

Deno.test("tally() has the mean calls of solved and of failed trials, and the fewest (FuncBenchGen 4.1)", () => {
  const { callsSolved, callsFailed, minimumCalls } = tally([
    record({ seed: 1, calls: 3, minimumCalls: 3 }),
    record({ seed: 2, calls: 6, minimumCalls: 5 }),
    record({ seed: 3, calls: 8, minimumCalls: 4, outcome: "wrong_answer" }),
    record({ seed: 4, calls: 0, minimumCalls: 4, outcome: "no_answer" }),
    record({ seed: 5, calls: 99, minimumCalls: 99, outcome: "invalid" }),
  ]);
  assertEquals({ callsSolved, callsFailed, minimumCalls }, {
    callsSolved: 4.5,
    callsFailed: 4,
    minimumCalls: 4,
  });
});

Deno.test("measure() keeps subjects and cells apart, in the order in which they first occur", () => {
  const large = (seed: number) => ({ ...CELL, core: 8, seed });
  const small = (seed: number) => ({ ...CELL, seed });
  const trials = [
    record({ task: large(1) }),
    record({ task: small(2), outcome: "no_answer" }),
    record({ model: "other", task: small(2) }),
    record({ task: large(3) }),
  ];
  const measured = measure(trials);
  assertEquals(measured.map(({ subject }) => subject.model), ["m", "other"]);
  assertEquals(measured[0]!.cells.map(({ name, tally }) => [name, tally.trials, tally.rate]), [
    ["core 8, depth 2, connected 0, disconnected 0", 2, 1],
    ["core 3, depth 2, connected 0, disconnected 0", 1, 0],
  ]);
  assertEquals(measured[0]!.total.trials, 3);
  assertEquals(measured[1]!.total.trials, 1);
});

Deno.test("cellName() tells everything but the seed", () => {
  const inputs = [1, 3] as const;
  const trial = record({ task: { ...CELL, seed: 7, linking: "names", inputs } });
  assertEquals(
    cellName(trial),
    "core 3, depth 2, connected 0, disconnected 0, linking names, inputs [1,3]",
  );
  assertEquals(
    cellName({ ...trial, task: { case: "refunds" } as unknown as Trial["task"] }),
    "refunds",
  );
});

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
