// Reports of more trials than a call takes arguments. Takes seconds: deno task soak

import { assertEquals } from "@std/assert";
import { METRICS } from "../../lib/reports/metrics/_registry.ts";
import { record } from "../support/records.ts";
import { recordsIn, reportOf } from "../support/reports.ts";

Deno.test("reports take more graphs than a call takes arguments", () => {
  const trial = record();
  const trials = Array.from({ length: 140_000 }, (_, seed) => ({
    ...trial,
    task: { core: 3, depth: 2, connected: 0, disconnected: 0, seed },
  }));
  const report = reportOf(trials);
  for (const { records } of METRICS) records(report);
  assertEquals(recordsIn(report, "overview")[0]!["solved_count"], 140_000);
});
