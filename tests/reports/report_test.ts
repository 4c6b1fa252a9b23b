import { completePolicy } from "../../lib/gate/policy.ts";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import {
  makeReport,
  missingTrialsNote,
  provenance,
  type Report,
} from "../../lib/reports/report.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { renderMarkdown } from "../../lib/reports/markdown.ts";
import { tablesOf } from "../../lib/reports/_views.ts";
import { renderReport } from "../../lib/reports/terminal.ts";
import { OUTCOMES, type Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import {
  callEvent,
  callEvents,
  HOSTILE,
  manyRecords,
  planOf,
  record,
  records,
  traced,
  type TrialTraits,
  wrongValue,
} from "../support/records.ts";

/** Everything in a value that is neither an object nor a list. */
function leavesOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap(leavesOf);
}

Deno.test("makeReport() has exactly the promised fields, in this order", () => {
  const report = makeReport(manyRecords(3, 4), { suite: "s", seed: 7, planned: 5 });
  assertEquals(Object.keys(report), [
    ...["v", "kind", "suite", "seed", "planned", "trials", "unit", "began", "notes", "gates"],
    ...["subjects", "matrix", "missedCalls", "comparisons", "brittleness", "callSets"],
    ...["formats", "recovery", "dimensions", "errorHandling", "latency", "breakdowns"],
  ]);
  const { v, kind, suite, seed, planned, trials } = report;
  assertEquals({ v, kind, suite, seed, planned, trials }, {
    ...{ v: 1, kind: "report", suite: "s", seed: 7, planned: 5, trials: 4 },
  });
  assertEquals(Object.keys(report.subjects[0]!), [
    ...["subject", "simulated", "cells", "probes", "total", "repetition", "calls", "usage", "cost"],
    ...["outcomes", "failures", "behaviours", "work", "mending"],
  ]);
  assertEquals(Object.keys(report.breakdowns[0]!), [
    ...["id", "kind", "title", "source", "axis", "legend", "shape", "values", "series"],
  ]);
});

Deno.test("makeReport() is JSON and nothing else, whatever the trials, and reads back as it was", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          outcome: fc.constantFrom(...OUTCOMES),
          model: fc.constantFrom("a", HOSTILE, "__proto__"),
          strategy: fc.constantFrom("plain", HOSTILE, "__proto__"),
          perturbation: fc.constantFrom("none", "RD", "rename", HOSTILE, "__proto__"),
          unchanged: fc.boolean(),
          seed: fc.nat({ max: 3 }),
          repetition: fc.integer({ min: 1, max: 2 }),
          calls: fc.nat({ max: 20 }),
          minimumCalls: fc.option(fc.nat({ max: 20 })),
          startedAt: fc.constantFrom("", "2026-01-01T00:00:00.000Z", HOSTILE),
          durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
        }),
        { maxLength: 12 },
      ),
      (traits) => {
        const trials = traits.map(({ unchanged, ...one }, index) => {
          const { perturbation } = one;
          const changed = unchanged && perturbation !== "none" ? { changed: false } as const : {};
          return record({ ...one, ...changed, index, id: `${index}` });
        });
        const gate = completePolicy({ successRate: 0.8 });
        const report = makeReport(trials, {
          suite: HOSTILE,
          gates: trials.length === 0
            ? []
            : [reportVerdicts("s", decideTrials(trials, planOf(trials), gate), gate)],
        });
        const read = JSON.parse(JSON.stringify(report));
        assertEquals(JSON.stringify(read), JSON.stringify(report));
        for (const leaf of leavesOf(report)) {
          assert(typeof leaf !== "number" || Number.isFinite(leaf));
        }
        // Anyone who reads the file gets the same tables as anyone who made it.
        assertEquals(tablesOf(read as Report), tablesOf(report));
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("makeReport() says first that figures of simulated models say nothing about any LLM", () => {
  const { notes } = makeReport([record(), record({ model: "sim:a", simulated: true })], {
    suite: "s",
    notes: ["another"],
  });
  assertMatch(notes[0]!, /^Simulated models are programs .* nothing about any language model\.$/);
  assertEquals(notes.slice(1), ["another"]);
  assertEquals(makeReport([record()], { suite: "s" }).notes, []);
});

Deno.test("makeReport() says how many trials are invalid", () => {
  const { notes } = makeReport(records(["solved", "invalid", "invalid"]), { suite: "s" });
  assertEquals(notes.length, 1);
  assertMatch(notes[0]!, /^2 of 3 trials are invalid: infrastructure failed\./);
});

Deno.test("makeReport() tells that figures mix several served models, and which", () => {
  const notesOf = (served: readonly string[], traits: TrialTraits = {}) =>
    makeReport(served.map((name, seed) => record({ seed, served: name, ...traits })), {
      suite: "s",
    }).notes;
  assertEquals(notesOf(["m-1", "m-2", "m-1"]), [
    "m was served as m-1 and as m-2: its figures mix them.",
  ]);
  // It changed in the middle of a trial.
  assertEquals(notesOf(["m-1, m-2"]), ["m was served as m-1 and as m-2: its figures mix them."]);
  // Another name than the one that was asked for is no change.
  for (const served of [["m-1", "m-1"], ["m-1", ""], ["", ""]]) assertEquals(notesOf(served), []);
  // Invalid trials are in no figure.
  const spoiled = record({ served: "m-2", outcome: "invalid" });
  const { notes } = makeReport([record({ served: "m-1" }), spoiled], { suite: "s" });
  assertEquals(notes.filter((note) => note.includes("served")), []);
});

Deno.test("makeReport() tells how many trials are on tasks of other tools", () => {
  const task = { set: "refunds", question: "1" } as unknown as Trial["task"];
  const partial = { core: 3, depth: 2 } as unknown as Trial["task"];
  const trials = [record(), record({ task, id: "1" }), record({ task: partial, id: "2" })];
  assertEquals(makeReport(trials, { suite: "s" }).notes, [
    "2 of 3 trials are on tasks that were not generated: breakdowns by size leave them out.",
  ]);
});

Deno.test("makeReport() has no note on probes, which nobody looks for among sizes", () => {
  const probe = record({ task: { case: "oracle", seed: 1 } });
  assertEquals(makeReport([probe, record()], { suite: "s" }).notes, []);
  const task = { set: "refunds", question: "1" } as unknown as Trial["task"];
  const other = record({ task, id: "1" });
  assertEquals(makeReport([probe, other, record()], { suite: "s" }).notes, [
    "1 of 3 trials are on tasks that were not generated: breakdowns by size leave them out.",
  ]);
  // Where nothing has a size nobody looks for any.
  assertEquals(makeReport([probe, other], { suite: "s" }).notes, []);
});

Deno.test("makeReport() of nothing says so, and has no figure", () => {
  const report = makeReport([], { suite: "s", planned: 4, notes: ["torn"] });
  assertEquals(report.notes, ["No trial has ended yet: there is nothing to report.", "torn"]);
  assertEquals([report.subjects, report.breakdowns, report.began, report.trials], [
    [],
    [],
    null,
    0,
  ]);
});

Deno.test("makeReport() tells when the first and the last trial began, whatever their order", () => {
  const starts = ["2026-01-02T00:00:00.000Z", "", "2026-01-01T00:00:00.000Z"];
  const trials = starts.map((startedAt, seed) => record({ seed, startedAt }));
  assertEquals(makeReport(trials, { suite: "s" }).began, [starts[2]!, starts[0]!]);
  assertEquals(makeReport([trials[1]!], { suite: "s" }).began, null);
});

Deno.test("provenance() is what is known of where the trials come from", () => {
  const trials = [record({ startedAt: "2026-01-01T12:30:59.123Z" })];
  assertEquals(
    provenance(makeReport(trials, { suite: "s", seed: 0, planned: 3 })),
    "1 of 3 planned trials, seed 0, started at 2026-01-01 12:30:59 UTC",
  );
  assertEquals(
    provenance(makeReport([record({ startedAt: "yesterday" })], { suite: "s" })),
    "1 trial, started at yesterday",
  );
  assertEquals(provenance(makeReport([], { suite: "s" })), "0 trials");
});

Deno.test("missingTrialsNote() says why trials are not there", () => {
  const verdicts = (kinds: readonly [number, number][]) =>
    reportVerdicts(
      "s",
      kinds.flatMap(([solved, count], place) =>
        decideTrials(
          manyRecords(solved, count, { model: `m${place}` }),
          planOf(manyRecords(solved, count, { model: `m${place}` })),
          completePolicy({ successRate: 0.8 }),
        )
      ),
      completePolicy({ successRate: 0.8 }),
    );
  const decided = verdicts([[95, 100], [5, 100]]);
  assertEquals(decided.verdicts.map(({ kind }) => kind), ["pass", "fail"]);
  const open = verdicts([[95, 100], [8, 10]]);
  assertEquals(open.verdicts.map(({ kind }) => kind), ["pass", "undecided"]);
  const lack = { lacking: 3, planned: 12 };
  const part = "All figures are of the other trials.";
  assertEquals(missingTrialsNote({ ...lack, lacking: 0, stopped: "budget" }), undefined);
  assertEquals(missingTrialsNote(lack), `3 of 12 planned trials have no result. ${part}`);
  assertEquals(
    missingTrialsNote({ ...lack, where: "a.jsonl", missing: "shards are missing: 2/2" }),
    `3 of 12 planned trials of a.jsonl have no result: shards are missing: 2/2. ${part}`,
  );
  assertEquals(
    missingTrialsNote({ ...lack, decision: decided }),
    "3 of 12 planned trials were not needed: the gate had decided. Tables and figures include the " +
      "trials in flight at that time, and their intervals do not account for the early stop: the verdict does.",
  );
  assertEquals(
    missingTrialsNote({ ...lack, stopped: "the budget was spent", decision: decided }),
    "3 of 12 planned trials were not run: the budget was spent. All figures are of the other trials.",
  );
  for (const decision of [open, reportVerdicts("s", [], completePolicy({ successRate: 0.8 }))]) {
    assertEquals(missingTrialsNote({ ...lack, decision }), missingTrialsNote(lack));
  }
});

Deno.test("makeReport() tells how many trials were not changed, apart from invalid ones", () => {
  const traits = { perturbation: "RD", changed: false } as const;
  const { notes } = makeReport([
    record(),
    record({ perturbation: "RD", outcome: "invalid" }),
    record({ ...traits, seed: 2 }),
    record({ ...traits, seed: 3, outcome: "invalid" }),
  ], { suite: "s" });
  assertMatch(notes[0]!, /^1 of 4 trials are invalid: /);
  assertMatch(
    notes[1]!,
    /^2 of 4 trials are unchanged: their perturbation found nothing to change /,
  );
  assertEquals(notes.length, 2);
});

Deno.test("makeReport() tells of tasks without an answer, and has no rate of success for them", () => {
  const traits = { perturbation: "SD", unsolvable: "misleading", outcome: "wrong_answer" } as const;
  const { notes, subjects: [none, swapped], comparisons } = makeReport([
    record(),
    record({ ...traits, seed: 2 }),
    record({ ...traits, seed: 3, outcome: "abstained" }),
    record({ ...traits, seed: 4, outcome: "invalid" }),
  ], { suite: "s" });
  assertMatch(
    notes[1]!,
    /^2 of 4 trials are unsolvable: SD left nothing that leads to the answer, /,
  );
  assertMatch(notes[1]!, /In 2 of them documents mislead, which no model can see: /);
  assertEquals([none!.total.rate, none!.total.unsolvable], [1, undefined]);
  const { valid, rate, interval, unsolvable } = swapped!.total;
  assertEquals([valid, rate, interval, unsolvable], [0, null, null, 2]);
  assertEquals(comparisons, []);
});

Deno.test("reports count right guesses apart from failures, and say that they are none (FuncBenchGen 4.6)", () => {
  const guess = { guessed: true as const };
  const trials = [
    traced([callEvent(1), callEvent(2, guess), callEvent(3, guess)], { seed: 1 }),
    traced([callEvent(1), callEvent(2, guess), callEvent(3)], { seed: 2 }),
    traced(callEvents(3, { 3: { ...wrongValue(9), root: true } }), { seed: 3 }),
    traced(callEvents(3), { seed: 4 }),
    // What infrastructure has spoiled counts nowhere.
    traced([callEvent(1, guess)], { seed: 5, outcome: "invalid" }),
  ];
  const report = makeReport(trials, { suite: "s" });
  const { guesses, failures } = report.subjects[0]!;
  assertEquals([guesses!.calls, guesses!.trials, guesses!.rate], [3, 2, 0.5]);
  // Wilson's interval of 2 of 4, by hand: (0.5 + z^2/8 -+ z sqrt(0.0625 + z^2/64)) / (1 + z^2/4).
  assertAlmostEquals(guesses!.interval!.lower, 0.150036, 1e-5);
  assertAlmostEquals(guesses!.interval!.upper, 0.849964, 1e-5);
  assertEquals(failures.map(({ roots, cascades }) => roots + cascades), [0, 0, 0, 1]);
  const terminal = renderReport(report);
  assertMatch(terminal, /^Right guesses\n\(.*: answered, and no failure here/m);
  assertMatch(terminal, /^m +4 +2 +50\.0% +15\.0% to 85\.0% +3 +25\.0%$/m);
  const markdown = renderMarkdown(report);
  assertStringIncludes(markdown, "| m | 4 | 2 | 50.0% | 15.0% to 85.0% | 3 | 25.0% |");
  assertStringIncludes(markdown, "answered, and no failure here");
  const [none] = makeReport(trials.slice(2, 4), { suite: "s" }).subjects;
  assertEquals("guesses" in none!, false);
});

Deno.test("reports call a model simulated in a pair only if it is", () => {
  const trials = [["a", true], ["b", false], ["c", true]].map(([model, simulated]) =>
    record({ model: String(model), simulated: simulated === true })
  );
  const tables = tablesOf(makeReport(trials, { suite: "s" }));
  const { rows: [, ...rows] } = tables.find(({ id }) => id === "comparisons")!;
  assertEquals(rows.map(([candidate, against]) => [candidate, against]), [
    ["b", "a (simulated)"],
    ["c (simulated)", "a"],
    ["c (simulated)", "b"],
  ]);
});
