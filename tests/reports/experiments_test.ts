// The paper's experiments on simulated models whose errors depend on the context: the curves that
// reports show must have the shapes that these models are made to give.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { canonicalJson } from "../../lib/base/json.ts";
import type { Parse } from "../../lib/calls/trace.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { APIS } from "../../lib/models/formats/registry.ts";
import { measureFormats } from "../../lib/reports/metrics/formats.ts";
import { drawBreak } from "../../lib/simulated/_breaking.ts";
import type { GraphSpec } from "../../lib/tasks/generated/graph.ts";
import { generateTask } from "../../lib/tasks/generated/task.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { errorHandlingTables } from "../../lib/reports/tables/_tool_use.ts";
import { tableOf } from "../support/documents.ts";
import { breakdownOf, experiment, ratesOf, reportOn, trialsOf } from "../support/experiments.ts";

Deno.test("the main grid: success falls with depth, and with connected functions core by core (FuncBenchGen 4.3)", async () => {
  // One core size tells as much.
  const report = await experiment("main_grid", { core: 10, graphs: 3 });
  assertEquals(report.trials, 270);
  const byDepth = [...ratesOf(breakdownOf(report, "depth-10")).values()];
  assertEquals(byDepth.length, 9);
  // Thirds of the curve, as each depth has few core graphs.
  const thirds = [0, 3, 6].map((at) => byDepth.slice(at, at + 3).reduce((sum, rate) => sum + rate));
  assertGreater(thirds[0]! - thirds[1]!, 0.45);
  assertGreater(thirds[0]! - thirds[2]!, 0.45);
  const byConnection = breakdownOf(report, "connection");
  const rates = ratesOf(byConnection);
  assertLess(rates.get("connected")!, rates.get("disconnected")! - 0.05);
  const counts = byConnection.series[0]!.tallies.map((tally) => tally!.valid);
  assertEquals(byConnection.values, ["no extra", "connected", "half and half", "disconnected"]);
  assertEquals(counts.reduce((sum, count) => sum + count), 270);
  // On the same core graphs connected functions are proved to harm this model, and others are not.
  const effects = report.distractors!.filter(({ irrelevant: { number }, against }) =>
    number === null && against.kind === "no extra"
  );
  assertEquals(effects.map(({ irrelevant }) => irrelevant.kind), [
    "disconnected",
    "half and half",
    "connected",
  ]);
  const [disconnected, , connected] = effects.map(({ success }) => success!);
  assertLess(connected!.interval!.upper, 0);
  assertGreater(disconnected!.interval!.upper, 0);
});

Deno.test("call_set_strategies: functions that another model picked help, as the table of the fixtures says (CallNavi 7.1)", async () => {
  const { callSets } = await experiment("call_set_strategies");
  const rowsOf = (wanted: string) =>
    callSets.find(({ mode }) => mode === wanted)!.rows
      .filter(({ subject }) => subject.model === "sim:truth takes wrong functions");
  const [routing, calls] = [rowsOf("routing"), rowsOf("parameters")];
  const share = (rate: number | null) => `${Math.round(100 * rate!)}%`;
  assertEquals(
    tableOf("What helps with questions").slice(2),
    routing.map(({ subject, scores }, place) => [
      subject.strategy,
      share(scores.routing.all),
      share(calls[place]!.scores.exact.all),
    ]),
  );
  const exact = new Map(calls.map(({ subject, scores }) => [subject.strategy, scores.exact.all!]));
  assertGreater(exact.get("routed by another")!, exact.get("baseline")! + 0.2);
});

Deno.test("error handling: each strategy gains what its own remedy is for, as the table of the fixtures says (Pipeline, Tool Call Success Rate by Error Handling Strategy)", async () => {
  const ran = await trialsOf("error_handling");
  const report = reportOn(ran);
  const [table] = errorHandlingTables(report);
  const [head, ...rows] = table!.rows;
  const short = (cell: string) => cell.replace(/, n \d+$/, "");
  assertEquals(
    tableOf("What error handling gains").slice(2),
    rows.map(([, strategy, ...cells]) => [
      strategy === "baseline" ? "none" : strategy!,
      ...cells.map(short),
    ]),
  );
  assertEquals(head!.slice(2), [
    ...["no fault", "rate_limit", "timeout", "gone", "arguments mended", "overall"],
  ]);
  const [none, retry, fix, all] = report.errorHandling.map(({ faults }) =>
    new Map(faults.map((own) => [own.perturbation, own.interval!]))
  );
  const isBetter = (one: typeof none, other: typeof none, fault: string) =>
    one!.get(fault)!.lower > other!.get(fault)!.upper;
  assertEquals(
    [
      isBetter(retry, none, "timeout"),
      isBetter(fix, retry, "timeout"),
      isBetter(fix, none, "none"),
      isBetter(all, fix, "gone"),
    ],
    [true, true, true, true],
  );
  const { plan: { trials, gate }, scores } = ran;
  const verdicts = reportVerdicts("error_handling", decideTrials(scores, trials, gate!), gate!);
  assertEquals([verdicts.exitCode, verdicts.verdicts.length], [0, 12]);
});

/** The trials of the suite whose models begin so, by format. */
function byApi(trials: readonly Trial[], name: string): Map<string, Trial[]> {
  const own = trials.filter(({ model }) => model.requested.startsWith(name));
  const groups = Map.groupBy(own, ({ model }) => model.api ?? "chat");
  assertEquals([...groups.keys()].sort(), [...APIS].sort());
  return groups;
}

/** The replies of a trial that attempt calls, each as it could be read. */
function parsesIn({ events }: Trial): (Parse | undefined)[] {
  return events.flatMap((event) => event.kind === "reply" && event.calls > 0 ? [event.parsed] : []);
}

/** What comes of calls that are broken in a way, or not at all. */
const READ_AS = { mendable: "repaired", hopeless: "unreadable", undefined: "strict" } as const;

Deno.test("suites/formats.jsonc is solved in every format, and read as it was written (Pipeline, Function Calling Format Comparison)", async () => {
  const { trials } = await trialsOf("formats", { graphs: 3, connected: true });
  const tasks = new Set(trials.map(({ task }) => canonicalJson(task)));
  // 4 cells of three graphs.
  assertEquals(tasks.size, 12);

  for (const [api, own] of byApi(trials, "sim:planner")) {
    assertEquals(own.length, 12, api);
    assertEquals(own.filter(({ solved, grounded }) => solved && grounded).length, 12, api);
    assertEquals(new Set(own.map(({ task }) => canonicalJson(task))), tasks, api);
    assertEquals(own.flatMap(({ failures }) => failures), [], api);
    const parses = own.flatMap(parsesIn);
    assert(parses.length >= 12, api);
    assertEquals(parses.filter((parsed) => parsed !== "strict"), [], api);
    const replies = own.flatMap(({ events }) => events.filter((event) => event.kind === "reply"));
    assertEquals(replies.filter(({ repairs }) => repairs !== undefined), [], api);
  }

  const metrics = measureFormats(trials);
  for (const [api, own] of byApi(trials, "sim:noisy")) {
    assertEquals(own.filter(({ outcome }) => outcome === "invalid"), [], api);
    const drawn = own.flatMap((trial) => {
      const { prompt } = generateTask(trial.task as GraphSpec);
      return parsesIn(trial).map((_, step): Parse =>
        READ_AS[
          `${
            drawBreak(prompt, step, {
              rates: { breakFormat: 0.3, hopeless: 0.3 },
              seed: 1,
              repetition: trial.repetition,
            })
          }`
        ]
      );
    });
    assertEquals(own.flatMap(parsesIn), drawn, api);
    const count = (parse: Parse) => drawn.filter((one) => one === parse).length;
    const { attempts, strictRate, usableRate } = metrics.find((one) =>
      one.api === api && one.subject.model.startsWith("sim:noisy")
    )!;
    assertEquals(attempts, drawn.length, api);
    assertEquals(strictRate.mean, count("strict") / drawn.length, api);
    assertEquals(usableRate.mean, (drawn.length - count("unreadable")) / drawn.length, api);
    assert(count("repaired") > 5 && count("unreadable") > 2, api);
  }
});
