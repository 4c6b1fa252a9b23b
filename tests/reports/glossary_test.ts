// The glossary of a report: the words that it shows, and no others.

import { assert, assertEquals } from "@std/assert";
import { textsOf, WORDS, wordsIn } from "../../lib/reports/_glossary.ts";
import type { Figure, View } from "../../lib/reports/_view.ts";
import { makeReport } from "../../lib/reports/report.ts";
import { viewsOf } from "../../lib/reports/_views.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { crossed, failureOf, record } from "../support/records.ts";

/** The words of a glossary. */
function named(texts: Iterable<string>): string[] {
  return wordsIn(texts).map(([words]) => words);
}

function wordsOf(trials: readonly Trial[]): string[] {
  return named(textsOf(viewsOf(makeReport(trials, { suite: "s" }))));
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

Deno.test("wordsIn() explains a report of own tests, and no generated graphs", () => {
  const words = wordsOf(OWN);
  assert(words.includes("test, case") && words.includes("95% interval"), words.join());
  const generated = [
    ...["core", "depth", "connected, disconnected", "graph", "fewest calls", "root, cascade"],
    ...["function not found, wrong number of inputs, value not yet known, incorrect value"],
    ...["FuncBenchGen", "Butterfly", "CallNavi", "perturbation", "RD", "strategy", "plain"],
    ...["probe", "call set", "fault", "format", "stage", "n/a"],
  ];
  assertEquals(words.filter((word) => generated.includes(word)), []);
  const meanings = wordsIn(textsOf(viewsOf(makeReport(OWN, { suite: "s" }))));
  for (const [word, meaning] of meanings) {
    assert(
      !/\b(?:core|graph|chain|seed|strategy|perturbation)s?\b/.test(meaning),
      `${word}: ${meaning}`,
    );
  }
});

Deno.test("wordsIn() explains the perturbations that a report has, and no others", () => {
  const perturbed = crossed({ both: 4, lost: 2 }).map((trial) => ({
    ...trial,
    perturbation: trial.strategy === "restate" ? "RD" : "none",
    strategy: "plain",
    id: `${trial.id} ${trial.strategy}`,
    failures: [failureOf("incorrect_value")],
  }));
  const words = wordsOf(perturbed);
  for (const word of ["perturbation", "RD", "core", "depth", "gained, lost", "root, cascade"]) {
    assert(words.includes(word), `${word}: ${words.join()}`);
  }
  const others = ["RE", "AN", "CF", "timeout", "flaky", "restate", "probe", "test, case", "judge"];
  assertEquals(words.filter((word) => others.includes(word)), []);
});

Deno.test("wordsIn() finds every word of the glossary, within others none, and ids by their capitals", () => {
  assertEquals(named([]), []);
  const forms: Record<string, string> = {
    "given, then also": "Failures that occur together",
    "routing, syntax, structure, exact": "routing: easy",
    "easy, medium, hard": "medium",
    "hallucination, unexpected formatting, logical error": "logical error",
    "strict, repaired, unreadable": "repaired",
    "recovered, hallucinated, repeated, gave up": "gave up",
    "published, strict": "scored as the authors' code does",
  };
  for (const [words] of WORDS) {
    const form = forms[words] ?? words.split(", ")[0]!;
    assert(named(["before", `(${form}).`]).includes(words), words);
    assert(!named([`x${form}x`, `_${form}_`]).includes(words), words);
  }
  assertEquals(named(["an rd function_not_found_"]), []);
  assertEquals(named(["AN RD"]), ["RD", "AN"]);
  assert(named(["2 value_not_yet_known"]).some((words) => words.includes("value not yet known")));
  assertEquals(named(["not_found"]), ["not_found"]);
  assertEquals(named(["function_not_found"]).includes("not_found"), false);
  assertEquals(named(["probes"]), ["probe"]);
});

Deno.test("textsOf() has what a table and a figure show", () => {
  const table: View = {
    ...{ id: "t", section: "success", title: "A table", source: "Table 2", note: "a note" },
    rows: [["head"], ["cell"]],
  };
  const figure: Figure = {
    ...{ id: "f", section: "figures", title: "A figure", paper: "CallNavi", source: "Fig. 1" },
    spec: {
      layer: [{
        mark: "rule",
        encoding: {
          x: { field: "depth", title: "edges" },
          color: { field: "series", legend: { title: "strategy" } },
        },
      }],
    },
  };
  assertEquals([...textsOf([table, figure])].filter((text) => text !== ""), [
    ...["A table", "a note", "as in FuncBenchGen, Table 2", "head", "cell"],
    ...["A figure", "as in CallNavi, Fig. 1", "edges", "strategy"],
  ]);
});
