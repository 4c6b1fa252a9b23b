import { completePolicy } from "../../lib/gate/policy.ts";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { missingTrialsNote, provenance, Report } from "../../lib/reports/report.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportToJson } from "../../lib/reports/json.ts";
import { renderMarkdown } from "../../lib/reports/markdown.ts";
import { noteText } from "../../lib/reports/_view.ts";
import { tablesOf } from "../../lib/reports/_views.ts";
import { renderReport } from "../../lib/reports/terminal.ts";
import { type Outcome, OUTCOMES, type Trial } from "../../lib/trials/trial.ts";
import type { ProbeId } from "../../lib/tasks/task_kind.ts";
import { shortNames } from "../../lib/reports/_short_names.ts";
import fc from "../support/fast_check.ts";
import { columnsOf, recordsIn, tablesIn, textsOf } from "../support/reports.ts";
import {
  callEvent,
  callEvents,
  HOSTILE,
  manyRecords,
  planOf,
  record,
  traced,
  wrongValue,
} from "../support/records.ts";

/** Everything in a value that is neither an object nor a list. */
function leavesOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap(leavesOf);
}

/** The notes that follow from these trials. */
const notesOf = (...trials: readonly Trial[]) => new Report(trials, { suite: "s" }).notes;

/** A report as it is read back from JSON. */
const readBack = (report: Report) => JSON.parse(JSON.stringify(reportToJson(report)));

Deno.test("reportToJson() has exactly the promised fields, in this order, and records of each metric", () => {
  const report = new Report(manyRecords(3, 4), { suite: "s", seed: 7, planned: 5 });
  const { notes, began, metrics, ...others } = readBack(report);
  assertEquals(
    Object.keys(readBack(report)).join(" "),
    "v kind suite seed origins models planned trials unit began notes gates metrics",
  );
  assertEquals(others, {
    ...{ v: 1, kind: "report", suite: "s", seed: 7, planned: 5, trials: 4, unit: "graph" },
    ...{ origins: [], models: [{ name: "m", served: ["m"] }], gates: [] },
  });
  assertEquals([notes, began], [[], ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"]]);
  assertEquals(Object.keys(metrics), [
    ...["overview", "cells", "effort", "breakdowns", "failures", "outcomes", "behaviours"],
  ]);
  const { name, solved, solved_count, solved_of } = metrics.overview[0];
  assertEquals([name, solved, solved_count, solved_of], ["m", 0.75, 3, 4]);
});

Deno.test("Report has names in short where they are shown, and whole ones as JSON, whatever is asked first", () => {
  const models = ["a", "b"].map((end) => `${"x".repeat(40)}/${end}`);
  const trials = models.flatMap((model) =>
    [3, 4].flatMap((core) =>
      ["plain", "restate"].map((strategy) =>
        record({
          model,
          strategy,
          task: { core, depth: 2, connected: 0, disconnected: 0, seed: 1 },
        })
      )
    )
  );
  const [shown, json] = [true, false].map((isShownFirst) => {
    const report = new Report(trials, { suite: "s" });
    const shows = () =>
      tablesOf(report.withNames(shortNames(models, 0))).map((table) => [
        ...[table.title, noteText(table), ...textsOf(table).flat()],
      ]);
    const first = isShownFirst ? shows() : [];
    const read = JSON.stringify(reportToJson(report));
    return [JSON.stringify(isShownFirst ? first : shows()), read];
  });
  assertEquals(shown, json);
  assert(!shown![0]!.includes(models[0]!));
  assert(!/"[ab]"/.test(shown![1]!));
  const whole = new Report(trials, { suite: "s" });
  assertEquals(whole.withNames(shortNames(["a"], 0)), whole);
});

Deno.test("reportToJson() is JSON and nothing else, whatever the trials, and reads back as it was", () => {
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
        const report = new Report(trials, {
          suite: HOSTILE,
          gates: trials.length === 0
            ? []
            : [reportVerdicts("s", decideTrials(trials, planOf(trials), gate), gate)],
        });
        // What JSON does not know would be null, or would not be there.
        for (const leaf of leavesOf(reportToJson(report))) {
          assert(typeof leaf !== "number" || Number.isFinite(leaf));
          assert(
            ["number", "string", "boolean", "undefined"].includes(typeof leaf) || leaf === null,
          );
        }
        assertEquals(JSON.stringify(readBack(report)), JSON.stringify(reportToJson(report)));
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("Report says first that figures of simulated models say nothing about any LLM", () => {
  const { notes } = new Report([record(), record({ model: "sim:a", simulated: true })], {
    suite: "s",
    notes: ["another"],
  });
  assertMatch(notes[0]!, /^Simulated models are programs .* nothing about any language model\.$/);
  assertEquals(notes.slice(1), ["another"]);
  assertEquals(new Report([record()], { suite: "s" }).notes, []);
});

Deno.test("Report tells how many trials no model can solve, as their calls are forced", () => {
  const asked = (probe: ProbeId, outcome: Outcome) =>
    record({ task: { case: probe, seed: 1 }, outcome });
  const trials = [
    ...[asked("forced_choice", "call_limit"), asked("forced_function", "call_limit")],
    ...[asked("forced_choice", "solved"), asked("oracle", "wrong_answer"), record()],
  ];
  assertEquals(notesOf(...trials), [
    "2 of 5 trials are of probes that force calls that cannot help (forced_choice, forced_function): no model can " +
    "solve these where calls are really forced, and rates of success count them as not solved.",
  ]);
});

Deno.test("Report tells that figures mix several served models, and which", () => {
  const served = (...names: readonly string[]) =>
    notesOf(...names.map((name, seed) => record({ seed, served: name })));
  const note = "m was served as m-1 and as m-2: its figures mix them.";
  assertEquals(served("m-1", "m-2", "m-1"), [note]);
  // It changed in the middle of a trial.
  assertEquals(served("m-1, m-2"), [note]);
  // Another name than the one that was asked for is no change.
  for (const names of [["m-1", "m-1"], ["m-1", ""], ["", ""]]) assertEquals(served(...names), []);
  // Invalid trials are in no figure.
  const spoiled = record({ served: "m-2", outcome: "invalid" });
  assertEquals(notesOf(record({ served: "m-1" }), spoiled).filter((one) => /served/.test(one)), []);
});

Deno.test("Report of nothing says so, and has no figure", () => {
  const report = new Report([], { suite: "s", planned: 4, notes: ["torn"] });
  assertEquals(report.notes, ["No trial has ended yet: there is nothing to report.", "torn"]);
  assertEquals([report.subjects, report.began, report.trials], [[], null, []]);
  assertEquals(readBack(report).metrics, {});
});

Deno.test("Report tells when the first and the last trial began, whatever their order", () => {
  const starts = ["2026-01-02T00:00:00.000Z", "", "2026-01-01T00:00:00.000Z"];
  const trials = starts.map((startedAt, seed) => record({ seed, startedAt }));
  assertEquals(new Report(trials, { suite: "s" }).began, [starts[2]!, starts[0]!]);
  assertEquals(new Report([trials[1]!], { suite: "s" }).began, null);
});

Deno.test("provenance() is what is known of where the trials come from", () => {
  const trials = [record({ startedAt: "2026-01-01T12:30:59.123Z" })];
  assertEquals(
    provenance(new Report(trials, { suite: "s", seed: 0, planned: 3 })),
    "1 of 3 planned trials, seed 0, started at 2026-01-01 12:30:59 UTC",
  );
  assertEquals(
    provenance(new Report([record({ startedAt: "yesterday" })], { suite: "s" })),
    "1 trial, started at yesterday",
  );
  assertEquals(provenance(new Report([], { suite: "s" })), "0 trials");
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
      "trials in flight at that time, and their two-sided intervals do not account for the early stop: the verdict does.",
  );
  assertEquals(
    missingTrialsNote({ ...lack, stopped: "the budget was spent", decision: decided }),
    "3 of 12 planned trials were not run: the budget was spent. All figures are of the other trials.",
  );
  for (const decision of [open, reportVerdicts("s", [], completePolicy({ successRate: 0.8 }))]) {
    assertEquals(missingTrialsNote({ ...lack, decision }), missingTrialsNote(lack));
  }
});

Deno.test("Report tells how many trials are invalid, and how many were not changed", () => {
  const traits = { perturbation: "RD", changed: false } as const;
  const [invalid, unchanged, ...others] = notesOf(
    record(),
    record({ perturbation: "RD", outcome: "invalid" }),
    record({ ...traits, seed: 2 }),
    record({ ...traits, seed: 3, outcome: "invalid" }),
  );
  assertMatch(invalid!, /^1 of 4 trials are invalid: infrastructure failed\. /);
  assertMatch(
    unchanged!,
    /^2 of 4 trials are unchanged: their perturbation found nothing to change /,
  );
  assertEquals(others, []);
});

Deno.test("Report tells of tasks without an answer, and has no rate of success for them", () => {
  const traits = { perturbation: "SD", unsolvable: "misleading", outcome: "wrong_answer" } as const;
  const report = new Report([
    record(),
    record({ ...traits, seed: 2 }),
    record({ ...traits, seed: 3, outcome: "abstained" }),
    record({ ...traits, seed: 4, outcome: "invalid" }),
  ], { suite: "s" });
  const { notes } = report;
  assertMatch(
    notes[1]!,
    /^2 of 4 trials are unsolvable: SD left nothing that leads to the answer, /,
  );
  assertMatch(notes[1]!, /In 2 of them documents mislead, which no model can see: /);
  const [none, swapped] = recordsIn(report, "overview");
  assertEquals([none!["solved"], none!["unsolvable"]], [1, 0]);
  const { solved, solved_of, solved_lower, unsolvable } = swapped!;
  assertEquals([solved, solved_of, solved_lower, unsolvable], [null, 0, null, 2]);
  assertEquals(report.comparisons, []);
});

Deno.test("reports count replies with calls as text and in the reasoning alone, by model", () => {
  const counts = [["a", 2, 1], ["a", 1, 0], ["b", 0, 1], ["c"]] as const;
  const trials = counts.map(([served, asText, asDraft = 0], seed) => ({
    ...traced([], { seed }),
    model: { requested: served, served, simulated: false },
    ...(asText === undefined ? {} : { written: { asText, asDraft } }),
  }));
  const report = new Report(trials, { suite: "s" });
  const records = recordsIn(report, "text-calls");
  const found = records.map((one) => [one["model"], one["as_text"], one["as_draft"]]);
  assertEquals(found, [["a", 3, 1], ["b", 0, 1]]);
  assertMatch(renderReport(report), /^Calls written as text\n\(.*\n.*\na +3 +1\nb +0 +1$/m);
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
  const report = new Report(trials, { suite: "s" });
  const [guesses] = recordsIn(report, "guesses");
  assertEquals([guesses!["calls"], guesses!["trials_count"], guesses!["trials"]], [3, 2, 0.5]);
  assertEquals(guesses!["of_calls"], 0.25);
  // Wilson's interval of 2 of 4, by hand: (0.5 + z^2/8 -+ z sqrt(0.0625 + z^2/64)) / (1 + z^2/4).
  assertAlmostEquals(Number(guesses!["trials_lower"]), 0.150036, 1e-5);
  assertAlmostEquals(Number(guesses!["trials_upper"]), 0.849964, 1e-5);
  const [failures] = recordsIn(report, "failures");
  assertEquals([failures!["wrong_calls"], failures!["incorrect_value"]], [1, 1]);
  const terminal = renderReport(report);
  assertMatch(terminal, /^Right guesses\n\(.*: answered, and no failure here/m);
  assertMatch(terminal, /^m +50\.0% +15\.0% to 85\.0% +3 +25\.0%$/m);
  const markdown = renderMarkdown(report);
  assertStringIncludes(markdown, "| m | 50.0% | 15.0% to 85.0% | 3 | 25.0% |");
  assertStringIncludes(markdown, "answered, and no failure here");
  assertEquals(recordsIn(new Report(trials.slice(2, 4), { suite: "s" }), "guesses"), []);
});

Deno.test("reports call a model simulated in a pair only if it is", () => {
  const trials = [["a", true], ["b", false], ["c", true]].map(([model, simulated]) =>
    record({ model: String(model), simulated: simulated === true })
  );
  const [table] = tablesIn(new Report(trials, { suite: "s" }), "comparisons");
  const { candidate, against } = columnsOf(table!);
  assertEquals([candidate, against], [
    ["b", "c (simulated)", "c (simulated)"],
    ["a (simulated)", "a (simulated)", "b"],
  ]);
});
