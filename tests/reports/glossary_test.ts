// The glossary of a report: the words that it shows, and no others.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { BEHAVIOURS, PARAMETER_FAILURE_TYPES } from "../../lib/calls/failure_types.ts";
import { PERTURBATIONS } from "../../lib/perturbations/ids.ts";
import { tableOf } from "../../lib/reports/columns.ts";
import { WORDS, wordsOf } from "../../lib/reports/_glossary.ts";
import type { Figure, View } from "../../lib/reports/_view.ts";
import { Report } from "../../lib/reports/report.ts";
import { viewsOf } from "../../lib/reports/_views.ts";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import { stagesOf, STRATEGIES } from "../../lib/trials/strategies/registry.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { crossed, failureOf, record } from "../support/records.ts";

const CAPTION = { id: "t", section: "success" } as const;

/** The words of the glossary of tables with these titles. */
function named(titles: readonly string[]): string[] {
  const views = titles.map((title): View => ({ ...CAPTION, title, names: 0, heads: [], rows: [] }));
  return wordsOf(views).map(([words]) => words);
}

/** The glossary of a report. */
function entriesOf(trials: readonly Trial[]) {
  return wordsOf(viewsOf(new Report(trials, { suite: "s" })).flat());
}

const OWN = ["m", "n"].flatMap((model, place) =>
  [1, 2, 3].map((repetition) =>
    record({
      ...{ model, repetition, id: `${model} ${repetition}` },
      task: { case: "refunds an order", seed: repetition },
      outcome: repetition > 2 - place ? "wrong_answer" : "solved",
      minimumCalls: null,
    })
  )
);

Deno.test("wordsOf() explains a report of own tests, and no generated graphs", () => {
  const entries = entriesOf(OWN);
  const words = entries.map(([word]) => word);
  assert(words.includes("95% interval"), words.join());
  const generated = [
    ...["core", "depth", "connected, disconnected", "graph"],
    ...["function not found, wrong number of inputs, value not yet known, incorrect value"],
    ...["FuncBenchGen", "Butterfly", "CallNavi", "RD", "plain", "format", "stage", "n/a"],
  ];
  assertEquals(words.filter((word) => generated.includes(word)), []);
  for (const [word, meaning] of entries) {
    assert(
      !/\b(?:core|graph|chain|seed|strategy|perturbation)s?\b/.test(meaning),
      `${word}: ${meaning}`,
    );
  }
});

Deno.test("wordsOf() explains the perturbations that a report has, and no others", () => {
  const perturbed = crossed({ both: 4, lost: 2 }).map((trial) => ({
    ...trial,
    perturbation: trial.strategy === "restate" ? "RD" : "none",
    strategy: "plain",
    id: `${trial.id} ${trial.strategy}`,
    failures: [failureOf("incorrect_value")],
  }));
  const words = entriesOf(perturbed).map(([word]) => word);
  for (const word of ["RD", "core", "depth"]) {
    assert(words.includes(word), `${word}: ${words.join()}`);
  }
  const others = ["RE", "AN", "CF", "RP_F", "timeout", "flaky", "restate", "judge"];
  assertEquals(words.filter((word) => others.includes(word)), []);
});

Deno.test("wordsOf() explains each strategy and its stages, each perturbation, failure, behaviour and probe", () => {
  const failures = PARAMETER_FAILURE_TYPES.map((type) => type.replaceAll("_", " "));
  const ids = [
    ...STRATEGIES,
    ...PERTURBATIONS,
    ...failures,
    ...BEHAVIOURS,
    "ungrounded",
    ...PROBES,
  ];
  for (const id of ids) assert(named([id]).includes(id), id);
  const [, stage] = WORDS.find(([word]) => word === "stage")!;
  const staged = ["plan_then_call", "route_then_fill", "backward", "repair"] as const;
  for (const id of stagesOf(staged)) assertStringIncludes(stage, id);
});

Deno.test("wordsOf() finds every word of the glossary, within others none, and ids by their capitals", () => {
  assertEquals(named([]), []);
  for (const [words] of WORDS) {
    const form = words.split(", ")[0]!;
    assert(named(["before", `(${form}).`]).includes(words), words);
    assert(!named([`x${form}x`, `_${form}_`]).includes(words), words);
  }
  assertEquals(named(["an rd function_not_found_"]), []);
  assertEquals(named(["AN RD"]), ["RD", "AN"]);
  assert(named(["2 value_not_yet_known"]).some((words) => words.includes("value not yet known")));
  assertEquals(named(["not_found"]), ["not_found"]);
  assertEquals(named(["function_not_found"]).includes("not_found"), false);
  assertEquals(named(["stages"]), ["stage"]);
});

Deno.test("wordsOf() reads all that tables and figures show", () => {
  const [table] = tableOf(["a cell", "x"], [
    { unit: "name", head: "core", group: "format", about: "of a judge", value: String },
    { unit: "count", head: "own", value: () => 1 },
  ], { ...CAPTION, title: "A graph", source: "Table 2", note: "a stage" });
  const figure: Figure = {
    ...{ id: "f", section: "figures", title: "A figure", paper: "CallNavi", source: "Fig. 1" },
    spec: {
      layer: [{
        mark: "rule",
        encoding: {
          x: { field: "core", title: "depth" },
          color: { field: "series", legend: { title: "baseline" } },
        },
      }],
    },
  };
  const words = wordsOf([table!, figure, table!]);
  assertEquals(words.map(([word]) => word).toSorted(), [
    ...["CallNavi", "FuncBenchGen", "baseline", "cell", "core", "depth", "format", "graph"],
    ...["judge", "stage"],
  ]);
});
