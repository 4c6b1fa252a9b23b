import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import fc from "../../support/fast_check.ts";
import { makeReport } from "../../../lib/reports/report.ts";
import { measureMatrix } from "../../../lib/reports/metrics/_matrix.ts";
import type { Failure, FailureType } from "../../../lib/calls/failure_types.ts";
import { OUTCOMES, type Trial } from "../../../lib/trials/trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { failureOf, HOSTILE, record, STEERING, type TrialTraits } from "../../support/records.ts";
import { sum } from "../../../lib/base/numbers.ts";

/** Trials of a test, each with its outcome and the message of its failed assertion, if any. */
function testTrials(name: string, ends: readonly (string | undefined)[], traits: TrialTraits = {}) {
  return ends.map((message, place): Trial =>
    record({
      task: { case: name, seed: place },
      outcome: message === undefined ? "solved" : "wrong_answer",
      events: message === undefined
        ? []
        : [{ kind: "assertion", message, at: "desk_test.ts:12:5" }],
      ...traits,
    })
  );
}

/** Why the trials of the first cell were not solved. */
function whyOf(trials: readonly Trial[]): string {
  return measureMatrix(trials.map(summarize)).cells[0]!.why;
}

Deno.test("measureMatrix() has counts that add up to the tallies of each variant and each cell", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          outcome: fc.constantFrom(...OUTCOMES),
          model: fc.constantFrom("a", "b", "__proto__"),
          strategy: fc.constantFrom("plain", "restate"),
          perturbation: fc.constantFrom("none", "none", "RD"),
          task: fc.constantFrom<Trial["task"]>(
            { core: 3, depth: 1, connected: 0, disconnected: 0, seed: 1 },
            { core: 5, depth: 1, connected: 0, disconnected: 0, seed: 1 },
            { case: "refunds", seed: 1 },
            { case: "__proto__", seed: 2 },
          ),
          unchanged: fc.boolean(),
        }),
        { minLength: 1, maxLength: 40 },
      ),
      (traits) => {
        const trials = traits.map(({ unchanged, ...one }, index) =>
          record({
            ...{ ...one, index, id: `${index}` },
            ...(unchanged && one.perturbation === "RD" ? { changed: false as const } : {}),
          })
        );
        const { subjects, matrix } = makeReport(trials, { suite: "s" });
        const hasPlain = subjects.some(({ subject }) => subject.perturbation === "none");
        const shown = subjects.filter(({ subject }) =>
          !hasPlain || subject.perturbation === "none"
        );
        assertEquals(
          matrix.variants.map(({ subject }) => subject),
          shown.map((one) => one.subject),
        );
        for (const [column, { cells, total }] of shown.entries()) {
          for (const key of ["trials", "valid", "solved"] as const) {
            const counts = matrix.counts.map((row) => row[column]?.[key] ?? 0);
            assertEquals(sum(counts, Number), total[key]);
            const own = matrix.cells.map(({ name }) =>
              cells.find((cell) => cell.name === name)?.tally[key] ?? 0
            );
            assertEquals(counts, own);
          }
        }
        // A reason is given exactly where something was not solved.
        for (const [row, { why }] of matrix.cells.entries()) {
          const counts = matrix.counts[row]!.flatMap((count) => count ?? []);
          const isSolved = counts.every(({ valid, solved }) => solved === valid);
          const unsolved = sum(counts, ({ valid, solved }) => valid - solved);
          if (isSolved) assertMatch(why, /^(?:\d+ invalid: unknown)?$/);
          else {assert(
              why.startsWith(`${unsolved} of `) || / of \d+ trials: .*other reasons/.test(why),
              why,
            );}
        }
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("measureMatrix() says of tests why most trials failed, and where", () => {
  assertEquals(whyOf(testTrials("t", [undefined, undefined])), "");
  assertEquals(
    whyOf(testTrials("t", ["expected 1.\n  but 2", undefined, "expected 1.", undefined])),
    "2 of 4 trials: expected 1 (desk_test.ts:12)",
  );
  assertEquals(
    whyOf(testTrials("t", ["a", "b", "b", "c"])),
    "2 of 4 trials: b (desk_test.ts:12); 2 for other reasons",
  );
  const [broken] = testTrials("t", ["a"], {
    outcome: "agent_error",
    events: [],
    reason: "Error: x",
  });
  assertEquals(whyOf([broken!]), "1 of 1 trial: Error: x");
  const [stopped] = testTrials("t", ["a"], {
    outcome: "call_limit",
    events: [{ kind: "stop", reason: "call_limit", message: "more than 3 calls" }],
  });
  assertEquals(whyOf([stopped!]), "1 of 1 trial: more than 3 calls");
  const [silent] = testTrials("t", ["a"], { outcome: "no_answer", events: [] });
  assertEquals(whyOf([silent!]), "1 of 1 trial: no answer");
  const spoiled = testTrials("t", ["a", "a"], {
    outcome: "invalid",
    events: [],
    reason: "HTTP 500",
  });
  assertEquals(whyOf(spoiled), "2 invalid: HTTP 500");
  assertEquals(
    whyOf([...testTrials("t", ["a", undefined]), ...spoiled]),
    "1 of 2 trials: a (desk_test.ts:12); 2 invalid: HTTP 500",
  );
});

Deno.test("measureMatrix() counts how other trials ended, and their first mistakes", () => {
  const wrong = (type: FailureType | undefined, outcome: Trial["outcome"] = "wrong_answer") =>
    record({
      outcome,
      failures: type === undefined
        ? []
        // The cascade before it is no first mistake.
        : [{ ...failureOf("incorrect_value"), root: false } as Failure, failureOf(type)],
    });
  const missed = { ...summarize(wrong(undefined)), missed: { needed: 3, missed: 1 } };
  const trials = [
    ...[wrong("incorrect_value"), wrong("incorrect_value"), wrong("value_not_yet_known")],
    ...[wrong(undefined, "call_limit"), record(), record()],
  ].map(summarize);
  assertEquals(
    measureMatrix([...trials, missed]).cells[0]!.why,
    "5 of 7 trials: 4 wrong answer (2 incorrect value, 1 value not yet known, 1 missed call), 1 call limit",
  );
  // What all have in common is not counted again.
  assertEquals(
    whyOf([wrong("incorrect_value"), record()]),
    "1 of 2 trials: wrong answer (incorrect value)",
  );
});

Deno.test("measureMatrix() keeps no steering and no long text, and shares texts among trials", () => {
  const long = `${HOSTILE}${"x".repeat(5000)}`;
  const reason = `${HOSTILE}${"y".repeat(5000)}`;
  const trials = [
    ...testTrials("t", [long, long]),
    ...testTrials("u", [undefined], { outcome: "invalid", events: [], reason }),
    ...testTrials("v", [undefined], { outcome: "agent_error", events: [], reason }),
  ];
  const summaries = trials.map(summarize);
  const { cells, variants } = measureMatrix(summaries);
  for (const { why } of [...cells, ...variants]) {
    assertNotMatch(why, STEERING);
    assert(why.length > 20 && why.length <= 300, `${why.length}`);
  }
  assert(cells[0]!.why.endsWith("(desk_test.ts:12)"));
  for (const { why } of summaries) assert((why ?? "").length <= 160);
});
