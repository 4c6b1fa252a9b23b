// Baselines of the user's own cases: which are compared, which are left out, and what of the settings differs.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { isLeftOut } from "../../lib/gate/compared_cases.ts";
import { comparePairs } from "../../lib/gate/comparison.ts";
import { readBaseline } from "../../lib/runs/baseline.ts";
import { comparableBaseline, comparedParts } from "../../lib/runs/compared_baseline.ts";
import { completePolicy } from "../../lib/gate/policy.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { InputError } from "../../lib/base/errors.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { caseDigest, caseParts, type ToolCase } from "../../lib/trials/executors/tool_case.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { parseTrialId, trialId } from "../../lib/trials/trial_id.ts";
import { summarize } from "../../lib/trials/summary.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import { accept, collect, writeJournal } from "../support/journals.ts";
import { finish } from "../support/records.ts";

const NAMES = ["refund", "cancel", "address", "invoice", "hello", "goodbye"];

/** What differs in a case, or in what is offered with it. */
interface Changes {
  readonly prompt?: boolean;
  readonly system?: boolean;
  readonly tools?: boolean;
}

function caseOf(name: string, { prompt, system, tools }: Changes = {}): ToolCase {
  return {
    name,
    prompt: prompt ? `Please ${name}` : name,
    system: system ? "Be brief." : "Be kind.",
    tools: tools ? () => [] : [],
    assert() {},
  };
}

/** The plan of a suite of cases. */
function planOf(
  cases: readonly ToolCase[],
  {
    name = "shop",
    model = "m",
    graphs = 6,
    sequential = false,
    perturbations = ["none"],
  } = {},
): Plan {
  const byName = <Value>(value: (one: ToolCase) => Value) =>
    Object.fromEntries(cases.map((one) => [one.name, value(one)] as const));
  const gate = { baseline: { file: "b.json" }, margin: 0.4, discordance: 0.9, sequential };
  return planSuite({
    ...{ name, tasks: [], seed: 1, models: [model], perturbations },
    ...(sequential ? { gate } : { graphs }),
  }, {
    tasks: {
      cells: () => cases.map((one) => ({ case: one.name })),
      open: openTask,
      cases: byName(caseDigest),
      parts: byName(caseParts),
    },
  });
}

/** Writes the journal of a plan, all of whose trials are solved. */
function journalOf(folder: Folder, plan: Plan): string {
  const { suite } = plan;
  return writeJournal(folder, plan, plan.trials.map((planned) => finish(planned, { suite })));
}

const KINDS = ["same", "prompt", "system", "tools", "added", "removed"] as const;

Deno.test("a gate compares the cases that both sides have, and names the rest and what differs", () => {
  using folder = new Folder();
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...KINDS), { minLength: NAMES.length, maxLength: NAMES.length }),
      fc.boolean(),
      fc.double({ min: 0.05, max: 1, noNaN: true }),
      fc.array(fc.nat(5).map((one) => one > 0), { minLength: 36, maxLength: 36 }),
      (kinds, asFile, coverage, solved) => {
        const named = (...of: typeof KINDS[number][]) =>
          NAMES.filter((_, at) => of.includes(kinds[at]!));
        const there = NAMES.filter((name) => !named("added").includes(name));
        const here = NAMES.filter((name) => !named("removed").includes(name));
        if (there.length === 0 || here.length === 0) return;
        const before = planOf(there.map((name) => caseOf(name)));
        const plan = planOf(
          here.map((name) => caseOf(name, { [kinds[NAMES.indexOf(name)]!]: true })),
          { model: "n" },
        );
        const journal = journalOf(folder, before);
        const path = asFile ? accept(folder, journal) : journal;
        const baseline = comparableBaseline(readBaseline(path), plan, plan.trials);
        const trials = plan.trials.map((planned, at) =>
          finish(planned, {
            outcome: solved[at] ? "solved" : "wrong_answer",
            startedAt: "2026-02-02T00:00:00.000Z",
          })
        ).map(summarize);
        const policy = completePolicy({
          ...{ baseline: { file: path }, margin: 0.4, discordance: 0.9, coverage },
        });
        const parts = comparedParts(plan, baseline);
        const report = reportVerdicts(
          "shop",
          decideTrials(trials, plan.trials, policy, { baseline, parts }),
          policy,
        );
        const [verdict] = report.verdicts;
        const changed = named("prompt");
        const compared = here.filter((name) => ![...changed, ...named("added")].includes(name));
        const lines = verdict!.numbers
          .filter((line) => /^(left out|only in the baseline|differs)/.test(line)).join("\n");
        for (const name of [...changed, ...named("added", "removed")]) {
          assertStringIncludes(lines, name);
        }
        for (const name of compared) assert(!lines.includes(name), lines);
        if (compared.length < coverage * here.length - 1e-9) {
          seen.add("too few");
          assert(verdict!.kind === "invalid");
          assertStringIncludes(
            verdict!.reason,
            `${compared.length} of ${here.length} case`,
          );
          for (const name of [...changed, ...named("added")]) {
            assertStringIncludes(verdict!.reason, name);
          }
          return;
        }
        const expected = ["system", "tools"].flatMap((part) => {
          const count = compared.filter((name) => kinds[NAMES.indexOf(name)] === part).length;
          if (count === 0) return [];
          return [
            count === compared.length ? part : `${part} of ${count} test${count === 1 ? "" : "s"}`,
          ];
        });
        assertEquals(verdict!.differs, ["model", ...expected]);
        // What is left out decides nothing: the verdict is that over the compared cases alone.
        const isCompared = ({ task }: { readonly task: object }) =>
          "case" in task && compared.includes(String(task.case));
        const [alone] = decideTrials(
          trials.filter(isCompared),
          plan.trials.filter(isCompared),
          { ...policy, coverage: 0.01 },
          { baseline: { file: path, trials: readBaseline(path).trials } },
        );
        if (compared.length === 0) return;
        const { kind, evidence } = verdict!;
        assertEquals([kind, evidence], [alone!.verdict.kind, alone!.verdict.evidence]);
        seen.add(kind);
      },
    ),
    { numRuns: 400 },
  );
  for (const kind of ["too few", "pass", "undecided"]) assert(seen.has(kind), [...seen].join());
});

Deno.test("comparableBaseline() takes a baseline of one case for a suite that has it, and no other suite's", () => {
  using folder = new Folder();
  const single = planOf([caseOf("refund")], { name: "refund" });
  const baseline = readBaseline(accept(folder, journalOf(folder, single)));
  const suite = planOf([caseOf("refund"), caseOf("cancel")]);
  const { cases } = comparableBaseline(baseline, suite, suite.trials);
  assertEquals([cases!.added, cases!.changed], [["cancel"], []]);
  // The draws of a case are the same in every suite, so that its trials are pairs.
  const seeds = ({ trials }: Plan) =>
    trials.flatMap(({ task }) => "case" in task && task.case === "refund" ? [task.seed] : []);
  assertEquals(seeds(single), seeds(suite));
  const { message } = assertThrows(
    () => {
      const other = planOf([caseOf("hello")]);
      comparableBaseline(baseline, other, other.trials);
    },
    InputError,
  );
  assertStringIncludes(
    message,
    "as it must be of shop, or have some of its cases: it is of refund, and has refund",
  );
  // Whatever else decides the trials must be the same.
  const longer = planOf([caseOf("refund")], { graphs: 7 });
  assertThrows(
    () => comparableBaseline(baseline, longer, longer.trials),
    InputError,
    "they differ in trials (6 there, 7 here)",
  );
});

Deno.test("comparableBaseline() lets a sequential gate compare nothing but the same cases", () => {
  using folder = new Folder();
  const cases = (prompt = false) => [caseOf("refund"), caseOf("cancel", { prompt })];
  const baseline = readBaseline(
    journalOf(folder, planOf(cases(), { sequential: true })),
  );
  const options = { sequential: true };
  const [same, other] = [false, true].map((prompt) => planOf(cases(prompt), options));
  // So many that one case less takes as many rounds.
  const [many, less] = [60, 59].map((count) =>
    planOf(Array.from({ length: count }, (_, place) => caseOf(`case ${place}`)), options)
  );
  const whole = readBaseline(journalOf(folder, many!));
  assertThrows(
    () => comparableBaseline(whole, less!, less!.trials, options),
    InputError,
    "a sequential gate looks at whole rounds over the same cases: only in the baseline: case 59.",
  );
  assertEquals(comparableBaseline(baseline, same!, same!.trials, options).cases, undefined);
  assertThrows(
    () => comparableBaseline(baseline, other!, other!.trials, options),
    InputError,
    "a sequential gate looks at whole rounds over the same cases: left out, as they changed " +
      "since the baseline: cancel. Leave out sequential",
  );
});

Deno.test("readBaseline() takes an accepted file of perturbed cases, which their own file alone can open", () => {
  using folder = new Folder();
  const plan = planOf([caseOf("refund")], { perturbations: ["none", "reorder"] });
  const { trials } = readBaseline(accept(folder, journalOf(folder, plan)));
  assertEquals(trials.length, plan.trials.length);
  assertEquals(trials.filter(({ changed }) => changed === false), []);
});

Deno.test("variants of settings are in the ids of trials, in shards and in accepted files, and only these", () => {
  using folder = new Folder();
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.stringMatching(/^[A-Za-z0-9][\w.-]{0,9}$/),
        fc.record({
          models: fc.subarray(["a", "b"], { minLength: 1 }),
          strategies: fc.subarray(["plain", "restate"], { minLength: 1 }),
        }, { requiredKeys: [] }),
        { minKeys: 1, maxKeys: 3 },
      ),
      fc.integer({ min: 1, max: 5 }),
      (variants, shards) => {
        const plan = planSuite({
          ...{ name: "s", tasks: [], seed: 1, models: ["a", "b"], graphs: 3 },
          strategies: ["plain", "restate"],
        }, {
          tasks: {
            cells: () => [{ case: "one" }, { case: "two" }],
            open: openTask,
            cases: { one: "1", two: "2" },
            variants,
          },
        });
        const each = Object.values(variants).map(({ models, strategies }) =>
          (models?.length ?? 2) * (strategies?.length ?? 2)
        );
        assertEquals(plan.trials.length, 6 * each.reduce((one, other) => one + other));
        for (const { id, index: _, block: __, ...key } of plan.trials) {
          assertEquals([parseTrialId(id), trialId(key)], [key, id]);
        }
        const parts = Array.from(
          { length: shards },
          (_, at) => shardOf(plan, { index: at + 1, of: shards }).map(({ id }) => id),
        );
        assertEquals(parts.flat().toSorted(), plan.trials.map(({ id }) => id).toSorted());
        const sizes = parts.map(({ length }) => length);
        assert(Math.max(...sizes) - Math.min(...sizes) <= each.length * 4, `${sizes}`);
        const journal = writeJournal(folder, plan);
        assertEquals(readResults([journal]).problem, undefined);
        const of = ({ variant, model, strategy, task, repetition }: {
          variant?: string;
          model: { requested: string };
          strategy: string;
          task: object;
          repetition: number;
        }) => JSON.stringify([variant, model.requested, strategy, task, repetition]);
        assertEquals(
          readBaseline(accept(folder, journal)).trials.map(of).toSorted(),
          plan.trials.map((planned) => of(finish(planned))).toSorted(),
        );
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("readCollection() compares two runs of own cases, but for those that changed, and names these", () => {
  using folder = new Folder();
  const before = planOf(NAMES.slice(0, 5).map((name) => caseOf(name)));
  const after = planOf([
    caseOf("refund", { system: true, tools: true }),
    caseOf("cancel", { prompt: true }),
    ...["address", "invoice", "goodbye"].map((name) => caseOf(name, { system: true })),
  ]);
  const old = journalOf(folder, before);
  folder.write("old.jsonl", folder.read("a.jsonl"));
  const trials = after.trials.map((planned) =>
    finish(planned, {
      suite: after.suite,
      startedAt: "2026-03-03T00:00:00.000Z",
      outcome: JSON.stringify(planned.task).includes("invoice") ? "wrong_answer" : "solved",
    })
  );
  const next = writeJournal(folder, after, trials, "new.jsonl");
  assert(old.endsWith("a.jsonl"));
  const collection = collect([folder.file("old.jsonl"), next]);
  assertEquals(collection.runs.map(({ label }) => label), ["old", "new"]);
  assertEquals(collection.notes, [
    "new.jsonl: left out, as they changed since old.jsonl: cancel",
    "new.jsonl: left out, as old.jsonl does not have them: goodbye",
    "new.jsonl: only in old.jsonl: hello",
  ]);
  const { leftOut } = collection;
  const [pair, ...others] = comparePairs(collection.trials, {
    isLeftOut: ({ task }) => leftOut.some((cases) => isLeftOut(task, cases)),
  });
  assertEquals(others, []);
  // Three cases of six trials are the same but for what is offered with them.
  assertEquals([pair!.graphs, pair!.success!.lost, pair!.gained], [18, 6, []]);
  assertEquals(pair!.lost.map(({ task }) => "case" in task && task.case), ["invoice"]);
  // Where no case is the same, nothing can be compared.
  const other = planOf([caseOf("dial")], { name: "other" });
  assertStringIncludes(
    assertThrows(
      () => collect([folder.file("old.jsonl"), journalOf(folder, other)]),
      InputError,
    ).message,
    "their tasks must be the same",
  );
});
