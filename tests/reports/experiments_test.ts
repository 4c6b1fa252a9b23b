// The paper's experiments on simulated models whose errors depend on the context: the curves that
// reports show must have the shapes that these models are made to give.
// Runs without counters of lines.

import { assertEquals, assertGreater } from "@std/assert";
import { tableOf } from "../support/documents.ts";
import { experiment } from "../support/experiments.ts";

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
