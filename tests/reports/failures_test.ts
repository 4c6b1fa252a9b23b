import { assertEquals, assertMatch } from "@std/assert";
import { FailedTrials } from "../../lib/reports/failures.ts";
import { callEvents, NOT_FOUND, record, traced } from "../support/records.ts";

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

Deno.test("FailedTrials tells of every test before it tells of one again", () => {
  const failures = new FailedTrials();
  const fail = (test: string, go: number) =>
    failures.add(
      record({ id: `${test} ${go}`, outcome: "no_answer", task: { case: test, seed: 1 } }),
    );
  for (const test of ["a", "b"]) for (let go = 1; go <= 20; go++) fail(test, go);
  for (const test of ["c", "d", "e"]) fail(test, 1);
  const named = (isWell: boolean) => failures.told(isWell).map(({ ending }) => ending[0]).join("");
  assertEquals([named(false), named(true)], ["abcdeababa", "abc"]);
  assertEquals(failures.count, 43);
  // So do those of several runs.
  const all = new FailedTrials();
  all.takeOver(failures);
  all.takeOver(failures);
  assertEquals(all.told(false).map(({ ending }) => ending[0]).join(""), "abcdeabcde");
});

Deno.test("FailedTrials tells why an agent failed first", () => {
  const failures = new FailedTrials();
  const failed = { outcome: "agent_error", reason: "Error: lost" } as const;
  const events = callEvents(1, { 1: { ...NOT_FOUND, root: true } });
  failures.add({ ...traced(events), ...failed });
  assertMatch(
    failures.told(false)[0]!.ending,
    /^agent_error: Error: lost; after 1 call, first mistake: call 1 \S+ function_not_found/,
  );
});
