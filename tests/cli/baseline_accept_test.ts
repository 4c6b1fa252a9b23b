// What is kept of results when they are accepted, and that it is read back as it was.
// Runs without counters of lines.

import { completePolicy } from "../../lib/gate/policy.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { acceptResults, recordText } from "../../lib/runs/record.ts";
import { readBaseline } from "../../lib/runs/baseline.ts";
import type { ScoredTrial } from "../../lib/gate/variant.ts";
import { FAILURE_TYPES, type FailureType } from "../../lib/calls/failure_types.ts";
import { InputError } from "../../lib/base/errors.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { OUTCOMES, type Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import { REPEATED as SUITE } from "../support/suites.ts";
import { accept, endLine, linesOf, writeJournal } from "../support/journals.ts";
import { failureOf, finish, type TrialTraits } from "../support/records.ts";

const PLAN = planSuite(SUITE);

function invalid(trial: Trial): Trial {
  return { ...trial, outcome: "invalid", solved: false };
}

/** What a baseline keeps of a trial. */
function keptOf(
  { model, strategy, perturbation, task, repetition, outcome, solved, failures }:
    & Pick<ScoredTrial, "model" | "strategy" | "perturbation" | "task" | "repetition" | "outcome">
    & Pick<ScoredTrial, "solved" | "failures">,
) {
  const types = FAILURE_TYPES.filter((type) => failures.some((failure) => failure.type === type));
  return {
    ...{ model, strategy, perturbation, task, repetition, outcome, solved },
    failures: types.map((type) => ({ type })),
  };
}

/** In an order of their own, so that sets of trials can be compared. */
function sorted(trials: readonly ScoredTrial[]): string[] {
  return trials.map((trial) => JSON.stringify(trial)).toSorted();
}

type Ending = { readonly outcome: Trial["outcome"]; readonly types: FailureType[] } | null;

/** How each trial of a plan may have ended: with an outcome and wrong calls, or not at all. */
const ENDINGS: fc.Arbitrary<Ending[]> = fc.array(
  fc.option(
    fc.record({
      outcome: fc.constantFrom(...OUTCOMES.filter((outcome) => outcome !== "invalid")),
      types: fc.array(fc.constantFrom(...FAILURE_TYPES), { maxLength: 4 }),
    }),
    { freq: 8 },
  ),
  { minLength: PLAN.trials.length, maxLength: PLAN.trials.length },
);

/** The trials that ended so; one is invalid. */
function endedBy(endings: readonly Ending[]): Trial[] {
  const trials = PLAN.trials.flatMap((planned, place) => {
    const ending = endings[place]!;
    if (ending === null) return [];
    const { outcome, types } = ending;
    return [finish(planned, { outcome, failures: types.map(failureOf) })];
  });
  // More invalid ones are not accepted.
  if (trials.length >= 20) trials[7] = { ...trials[7]!, outcome: "invalid", solved: false };
  return trials;
}

/** Writes a journal of which a budget has made trials missing. */
function writeEnded(folder: Folder, trials: readonly Trial[]): string {
  return writeJournal(folder, PLAN, [...trials, endLine(trials.length, "the budget was reached")]);
}

Deno.test("readBaseline() reads back what acceptResults() keeps of results, whatever their endings", () => {
  using folder = new Folder();
  let accepted = 0;
  fc.assertAll(
    fc.property(ENDINGS, (endings) => {
      const trials = endedBy(endings);
      const journal = writeEnded(folder, trials);
      if (trials.length === 0) return;
      accepted++;
      const baseline = readBaseline(accept(folder, journal));
      assertEquals(sorted(baseline.trials.map(keptOf)), sorted(trials.map(keptOf)));
      assertEquals(baseline.plan?.resolved.cells, PLAN.resolved.cells);
      assertEquals([baseline.plan?.suite, baseline.plan?.resolved.seed], ["s", 1]);
    }),
    { numRuns: 100 },
  );
  assert(accepted > 90);
});

Deno.test("readBaseline() of an accepted file gives the verdicts that its journal gives", () => {
  using folder = new Folder();
  const gate = completePolicy({
    baseline: { file: "any", model: "b" },
    margin: 0.7,
    discordance: 1,
    coverage: 0.1,
    atMost: { failureShifts: { incorrect_value: 0 } },
  });
  const kinds = new Set<string>();
  fc.assertAll(
    fc.property(ENDINGS, ENDINGS, (before, after) => {
      const old = endedBy(before);
      if (old.length === 0) return;
      const journal = writeEnded(folder, old);
      const verdictsBy = (path: string) =>
        decideTrials(endedBy(after), PLAN.trials, gate, { baseline: readBaseline(path) })
          .map(({ model, verdict }) => ({ model, verdict }));
      const verdicts = verdictsBy(accept(folder, journal));
      assertEquals(verdicts, verdictsBy(journal));
      for (const { verdict } of verdicts) kinds.add(verdict.kind);
    }),
    { numRuns: 60 },
  );
  assert(kinds.size > 1, [...kinds].join());
});

Deno.test("an accepted file keeps which trials were not valid at the first go", () => {
  using folder = new Folder();
  const [first, second] = PLAN.trials.filter(({ model }) => model === "b");
  const unclear = { cause: "unclear", status: 500, message: "the reply broke off" } as const;
  const reply = {
    ...{ kind: "reply", request: 1, text: "?", calls: 0, failed: [unclear] } as const,
    ...{ inputTokens: 1, outputTokens: 1, durationMs: 1 },
  };
  const lines = PLAN.trials.flatMap((planned) =>
    planned === first
      ? [finish(planned, { outcome: "invalid" }), finish(planned)]
      : [finish(planned, planned === second ? { events: [reply] } : {})]
  );
  const path = writeJournal(folder, PLAN, lines);
  const { trials } = readBaseline(accept(folder, path));
  const of = (planned: typeof first) =>
    trials.find(({ model, task, repetition }) =>
      model.requested === "b" && repetition === planned!.repetition &&
      JSON.stringify(task) === JSON.stringify(planned!.task)
    )!;
  assert(of(first).replaced !== undefined);
  assertEquals(of(second).unclear, [{ status: 500, message: "the reply broke off" }]);
  assertEquals(trials.filter(({ replaced, unclear }) => replaced ?? unclear).length, 2);
});

Deno.test("acceptResults() keeps each subject with the model that answered, in plan order", () => {
  using folder = new Folder();
  const trials = PLAN.trials.map((planned, index) =>
    finish(planned, {
      served: index === 0 ? "" : `${planned.model}-2026`,
      simulated: planned.model === "a",
      // Nobody answered the first one.
      ...(index === 0 ? { outcome: "invalid" } : {}),
    })
  );
  const file = acceptResults(readResults([writeJournal(folder, PLAN, trials)]), "a");
  assertEquals([file.suite, file.resolved.seed], ["s", 1]);
  assertEquals(file.subjects.map(({ model, trials }) => [model, trials.length]), [
    [{ requested: "a", served: "a-2026", simulated: true }, 12],
    [{ requested: "b", served: "b-2026", simulated: false }, 12],
  ]);
  const keys = file.subjects.flatMap(({ trials }) => trials.map((trial) => trial!.key));
  assertEquals([keys.length, new Set(keys).size], [24, 24]);
  assertEquals(Object.keys(file.resolved).toSorted(), [
    "cells",
    "generator",
    "graphs",
    "limits",
    "perturbations",
    "repetitions",
    "seed",
  ]);
});

Deno.test("acceptResults() keeps a place for what was not run, up to the last trial that was", () => {
  using folder = new Folder();
  const own = PLAN.trials.filter(({ model }) => model === "a");
  const trials = [0, 3].map((place) => finish(own[place]!));
  const { subjects } = acceptResults(readResults([writeEnded(folder, trials)]), "a");
  assertEquals(
    subjects.map((subject) => subject.trials.map((trial) => trial && trial.outcome)),
    [["solved", null, null, "solved"]],
  );
});

Deno.test("acceptResults() takes shards together", () => {
  using folder = new Folder();
  const paths = [1, 2].map((index) => {
    const shard = { index, of: 2 };
    const trials = shardOf(PLAN, shard).map((planned) => finish(planned));
    return folder.write(`${index}.jsonl`, linesOf([planLine(PLAN, shard), ...trials]));
  });
  const whole = acceptResults(readResults([writeJournal(folder, PLAN)]), "a");
  assertEquals(acceptResults(readResults(paths), "b"), whole);
  assertThrows(
    () => acceptResults(readResults(paths.slice(1)), "2.jsonl"),
    InputError,
    "Cannot accept 2.jsonl: shards are missing: 1/2",
  );
});

Deno.test("acceptResults() refuses results on which no verdict can rest", () => {
  using folder = new Folder();
  const refused = (path: string, reason: string, action = "accept") =>
    assertEquals(
      assertThrows(() => acceptResults(readResults([path]), "them"), InputError).message,
      `Cannot ${action} them: ${reason}`,
    );
  refused(writeJournal(folder, PLAN, []), "there are no trials");
  const all = PLAN.trials.map((planned) => finish(planned));
  refused(
    writeJournal(folder, PLAN, all.slice(1)),
    `${
      folder.file("a.jsonl")
    } lacks 1 of its 24 trials: its run was cut short, or goes on; it can be ` +
      "continued with --resume",
  );
  refused(
    writeJournal(folder, PLAN, all.map((trial, place) => place > 1 ? trial : invalid(trial))),
    "2 of 24 trials are invalid; run them again with --retry-invalid",
  );
  acceptResults(
    readResults([writeJournal(folder, PLAN, [invalid(all[0]!), ...all.slice(1)])]),
    "them",
  );
  const changed = PLAN.trials.map((planned, index) =>
    finish(planned, { served: index < 10 ? "one" : "two" })
  );
  refused(
    writeJournal(folder, PLAN, changed),
    "the served model changed during the run: one, two",
    "record",
  );
});

Deno.test("acceptResults() takes a run that its sequential gate ended for a whole one", () => {
  using folder = new Folder();
  const { graphs: _, ...unsized } = SUITE;
  const plan = planSuite({ ...unsized, gate: { successRate: 0.9, margin: 0.3, sequential: true } });
  const trials = plan.trials.slice(0, 40).map((planned) => finish(planned));
  const { subjects } = acceptResults(readResults([writeJournal(folder, plan, trials)]), "a");
  assertEquals(subjects.map((subject) => subject.trials.length), [20, 20]);
});

Deno.test("recordText() has a line for each trial, and is the file itself", () => {
  using folder = new Folder();
  const traits: TrialTraits[] = [
    {},
    { outcome: "no_answer" },
    {
      failures: ["value_not_yet_known", "incorrect_value"].map((type) =>
        failureOf(type as FailureType)
      ),
    },
  ];
  const own = PLAN.trials.filter(({ model }) => model === "a");
  const trials = traits.map((some, place) => finish(own[place]!, some));
  const file = acceptResults(readResults([writeEnded(folder, trials)]), "a");
  const text = recordText(file);
  assertEquals(JSON.parse(text), file);
  assertMatch(text, /^\{\n {2}"v": 1,\n {2}"kind": "record",\n {2}"suite": "s",\n/);
  assertEquals(text.split("\n").filter((line) => line.startsWith('      {"key":')).length, 3);
  assert(text.endsWith("\n      ]\n    }\n  ]\n}\n"), text);
});
