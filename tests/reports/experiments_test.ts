// The paper's experiments on simulated models whose errors depend on the context: the curves that
// reports show must have the shapes that these models are made to give.
// Runs without counters of lines.

import { assert, assertAlmostEquals, assertEquals, assertGreater } from "@std/assert";
import { QUESTION_SETS } from "../../lib/reports/metrics/_question_sets.ts";
import { tableOf } from "../support/documents.ts";
import { experiment, type Part, reportOn, trialsOf } from "../support/experiments.ts";
import { RECOUNTS } from "../support/recount.ts";
import { having, type MetricRecord, recordsIn } from "../support/reports.ts";

Deno.test("call_set_strategies: functions that another model picked help, as the table of the fixtures says (CallNavi 7.1)", async () => {
  const report = await experiment("call_set_strategies");
  const sharesOf = (id: string, wanted: string, share: string) =>
    new Map(
      QUESTION_SETS.find((metric) => metric.id === id)!.records(report)
        .filter(({ model, mode }) => model === "sim:truth takes wrong functions" && mode === wanted)
        .map((own) => [String(own["strategy"]), Number(own[share])]),
    );
  const routing = sharesOf("call-set-functions", "routing", "routing_all");
  const exact = sharesOf("call-set-calls", "parameters", "exact_all");
  const shown = (share: number) => `${Math.round(100 * share)}%`;
  assertEquals(
    tableOf("What helps with questions").slice(2),
    [...routing].map(([strategy, share]) => [strategy, shown(share), shown(exact.get(strategy)!)]),
  );
  assertGreater(exact.get("routed by another")!, exact.get("plain")! + 0.2);
});

/** Experiments of each source, large enough for mistakes of each kind. */
const RECOUNTED:
  readonly (readonly [source: string, section: string, suite: string, part: Part])[] = [
    ["FuncBenchGen", "4.1, 4.2, 4.6", "no_extra", {}],
    ["Indirection", "Tool aversion, Ignoring function results", "probes", { graphs: 5 }],
    ["Butterfly", "4, 5.2, A.1", "perturbations", { graphs: 2 }],
    ["CallNavi", "5.1, 6.4", "call_sets", {}],
    ["Pipeline", "Tool Call Success Rate by Error Handling Strategy", "error_handling", {
      graphs: 5,
    }],
  ];

for (const [source, section, suite, part] of RECOUNTED) {
  Deno.test(`${suite}: the report has what a program of its own counts in the journal (${source}, ${section})`, async () => {
    const ran = await trialsOf(suite, part);
    const report = reportOn(ran);
    const tables = new Map<string, MetricRecord[]>();
    const seen = new Set<unknown>();
    // As a journal has them.
    for (
      const { table, of, figures } of RECOUNTS[source]!(JSON.parse(JSON.stringify(ran.trials)))
    ) {
      const records = tables.getOrInsertComputed(table, (id) => recordsIn(report, id));
      const [record, ...others] = having(records, of);
      assert(record !== undefined && others.length === 0, JSON.stringify({ table, of }));
      for (const [name, figure] of Object.entries(figures)) {
        const where = JSON.stringify({ table, of, name });
        if (typeof figure !== "number") assertEquals(record[name], figure, where);
        else assertAlmostEquals(Number(record[name]), figure, 1e-12, where);
        seen.add(figure);
      }
    }
    assertGreater(seen.size, 3, "figures must differ, or nothing is compared");
  });
}
