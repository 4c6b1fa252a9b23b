// The paper's experiments on simulated models whose errors depend on the context: the curves that
// reports show must have the shapes that these models are made to give.
// Runs without counters of lines.

import { assert, assertEquals, assertGreater } from "@std/assert";
import { canonicalJson } from "../../lib/base/json.ts";
import type { Parse } from "../../lib/calls/trace.ts";
import { APIS } from "../../lib/models/formats/registry.ts";
import { measureFormats } from "../../lib/reports/metrics/_formats.ts";
import { drawBreak } from "../../lib/simulated/_breaking.ts";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { tableOf } from "../support/documents.ts";
import { experiment, trialsOf } from "../support/experiments.ts";

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
  assertGreater(exact.get("routed by another")!, exact.get("plain")! + 0.2);
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
