// The paper's experiments on simulated models whose errors depend on the context: the curves that
// reports show must have the shapes that these models are made to give.
// Runs without counters of lines.

import { assertEquals, assertGreater } from "@std/assert";
import { QUESTION_SETS } from "../../lib/reports/metrics/_question_sets.ts";
import { tableOf } from "../support/documents.ts";
import { experiment } from "../support/experiments.ts";

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
