// The suite that runs the same tasks in every format: a simulated model that keeps to its format must solve
// them all, and of one that breaks it the rates must be those that were drawn.

import { assert, assertEquals } from "@std/assert";
import { planSuiteFile } from "../lib/commands/running.ts";
import { Connections } from "../lib/connect.ts";
import { measureFormats } from "../lib/format_metrics.ts";
import type { GraphSpec } from "../lib/graph.ts";
import { readJsonc } from "../lib/input.ts";
import { canonicalJson } from "../lib/json.ts";
import { APIS } from "../lib/model.ts";
import { drawBreak } from "../lib/models/simulated.ts";
import { Run } from "../lib/run.ts";
import { SUITE } from "../lib/suite.ts";
import { generateTask } from "../lib/task.ts";
import type { Parse } from "../lib/trace.ts";
import type { Trial } from "../lib/trial.ts";
import { ROOT } from "./support/child.ts";
import { test } from "./support/generated.ts";

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

test("suites/formats.jsonc is solved in every format, and read as it was written", async () => {
  const path = `${ROOT}/fixtures/suites/formats.jsonc`;
  const plan = planSuiteFile(readJsonc(path, SUITE), path);
  await using connections = new Connections();
  using run = new Run(plan, { connect: (entry) => connections.model(entry) });
  const trials = await run.all();
  const tasks = new Set(trials.map(({ task }) => canonicalJson(task)));
  assertEquals(tasks.size, 100);

  for (const [api, own] of byApi(trials, "sim:planner")) {
    assertEquals(own.length, 100, api);
    assertEquals(own.filter(({ solved, grounded }) => solved && grounded).length, 100, api);
    assertEquals(new Set(own.map(({ task }) => canonicalJson(task))), tasks, api);
    assertEquals(own.flatMap(({ failures }) => failures), [], api);
    const parses = own.flatMap(parsesIn);
    assert(parses.length >= 100, api);
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
    assert(count("repaired") > 20 && count("unreadable") > 10, api);
  }
});
