import { assertEquals } from "@std/assert";
import { FailedTrials } from "../../lib/reports/failures.ts";
import { record } from "../support/records.ts";

Deno.test("FailedTrials counts a trial once, and those of two tests with one name both", () => {
  const all = new FailedTrials();
  for (let test = 0; test < 2; test++) {
    const own = new FailedTrials();
    for (let go = 0; go < 2; go++) own.add(record({ outcome: "no_answer" }), `rerun ${test}`);
    assertEquals(own.count, 1);
    all.takeOver(own);
  }
  assertEquals([all.count, all.told(false).length, all.more(false)], [2, 2, undefined]);
});
