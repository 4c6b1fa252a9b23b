// The tables of formats, of recovery and of the five dimensions: when they are there, and what stands in them.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Api } from "../../lib/models/formats/registry.ts";
import type { ParseCounts } from "../../lib/calls/work.ts";
import { makeReport } from "../../lib/reports/report.ts";
import { dimensionTables, scoreText } from "../../lib/reports/tables/_dimensions.ts";
import { renderMarkdown } from "../../lib/reports/markdown.ts";
import { formatTables, recoveryTables } from "../../lib/reports/tables/_tool_use.ts";
import { textsOf, wordsIn } from "../../lib/reports/_glossary.ts";
import { viewsOf } from "../../lib/reports/_views.ts";
import { renderReport, renderTables } from "../../lib/reports/terminal.ts";
import { summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import fc from "../support/fast_check.ts";
import { faulted, plain, record, type TrialTraits } from "../support/records.ts";

const STRICT: ParseCounts = { strict: 4, repaired: 0, unreadable: 0, repairs: [] };
const BROKEN: ParseCounts = {
  strict: 1,
  repaired: 2,
  unreadable: 1,
  repairs: [{ repair: "call N had no end", replies: 2 }],
};

function parsed(parses: ParseCounts, traits: TrialTraits = {}, api?: Api): TrialSummary {
  const score = summarize(record(traits));
  return { ...score, parses, model: { ...score.model, ...(api === undefined ? {} : { api }) } };
}

const told = (trials: readonly TrialSummary[]) => makeReport(trials, { suite: "s" });

Deno.test("formatTables() is nothing where every reply of one format could be read as it stood", () => {
  assertEquals(formatTables(told([parsed(STRICT), parsed(STRICT, { model: "b" })])), []);
  assertEquals(formatTables(told([record()])), []);
  const ids = (trials: readonly TrialSummary[]) => formatTables(told(trials)).map(({ id }) => id);
  assertEquals(ids([parsed(BROKEN)]), ["formats", "repairs"]);
  assertEquals(ids([parsed({ ...STRICT, unreadable: 1 })]), ["formats"]);
  assertEquals(ids([parsed(STRICT), parsed(STRICT, { model: "b" }, "react")]), ["formats"]);
});

Deno.test("formatTables() has a row for each model and format, and the commonest repairs", () => {
  const repairs = ["a", "b", "c", "d"].map((repair) => ({ repair, replies: 1 }));
  const [formats, commonest, ...others] = formatTables(told([
    parsed(BROKEN, { model: "sim:a", simulated: true, seed: 1 }, "react"),
    parsed(BROKEN, { model: "sim:a", simulated: true, seed: 2 }, "react"),
    parsed({ ...BROKEN, repairs }, { model: "b" }, "xml"),
  ]));
  assertEquals(others, []);
  assertEquals(formats!.rows, [
    [
      ...["model", "format", "replies", "strict", "95% interval", "usable", "95% interval"],
      ...["repaired", "unreadable"],
    ],
    [
      ...["sim:a (simulated)", "react", "8", "25.0%", "2.7% to 80.2%", "75.0%"],
      ...["19.8% to 97.3%", "4", "2"],
    ],
    ["b", "xml", "4", "25.0%", "-", "75.0%", "-", "2", "1"],
  ]);
  assertEquals(commonest!.rows, [
    ["repair", "model", "format", "replies"],
    ["call N had no end", "sim:a (simulated)", "react", "4"],
    ...["a", "b", "c"].map((repair) => [repair, "b", "xml", "1"]),
  ]);
});

Deno.test("recoveryTables() has a row for each fault, and one for all of them but slow ones", () => {
  assertEquals(recoveryTables(told([record()])), []);
  const [table, ...others] = recoveryTables(told([
    faulted(["recovered"], { seed: 1 }),
    faulted(["gave_up"], { seed: 2 }),
    faulted(["gave_up"], { seed: 1 }, "permission_denied"),
    faulted(["recovered"], { seed: 1 }, "slow"),
    faulted(["hallucinated"], { seed: 1, model: "b", perturbation: "RD+timeout" }),
  ]));
  assertEquals(others, []);
  assertEquals(table!.rows.map((row) => row.slice(0, 9)), [
    [
      ...["model", "fault", "trials", "episodes", "recovered", "hallucinated", "repeated"],
      ...["gave up", "right"],
    ],
    ["m", "timeout", "2", "2", "1", "0", "0", "1", "50.0%"],
    ["m", "permission_denied", "1", "1", "0", "0", "0", "1", "100.0%"],
    ["m", "slow", "1", "1", "1", "0", "0", "0", "100.0%"],
    ["b", "timeout (RD+timeout)", "1", "1", "0", "1", "0", "0", "0.0%"],
  ]);
});

const MEASURED = [
  plain({
    exact_selection: 1,
    first_arguments: 1,
    tool_selection: 1,
    argument_correctness: 0.5,
  }, { seed: 1 }),
  plain({
    exact_selection: 0,
    first_arguments: 1,
    tool_selection: 0.5,
    argument_correctness: 1,
  }, { seed: 2 }),
  faulted(["recovered"], { seed: 1 }),
  faulted(["recovered", "recovered"], { seed: 2 }),
];

Deno.test("dimensionTables() is there where faults were met, and says what was not measured (Pipeline, Tool Use Benchmark Results)", () => {
  assertEquals(dimensionTables(told(MEASURED.slice(0, 2))), []);
  const [tall] = dimensionTables(told(MEASURED));
  assertEquals(tall!.rows, [
    ["model", "dimension", "score", "95% interval", "n"],
    ["m", "tool selection", "0.50", "0.09 to 0.91", "2"],
    ["m", "argument correctness", "1.00", "0.34 to 1.00", "2"],
    ["m", "result interpretation", "not measured", "-", "-"],
    ["m", "multi-step planning", "not measured", "-", "-"],
    ["m", "error recovery", "1.00", "0.34 to 1.00", "3"],
    ["m", "overall, of 3", "0.83", "0.50 to 0.97", ""],
    ["m", "selection F1", "0.75", "0.01 to 0.999", "2"],
    ["m", "calls with right arguments", "0.75", "0.01 to 0.999", "2"],
    ["m", "overall with these, of 3", "0.83", "0.42 to 0.95", ""],
  ]);
  const explained = wordsIn(textsOf(viewsOf(told(MEASURED)))).flat().join("\n");
  for (const word of ["exactly those needed", "F1", "first call", "permission", "their mean"]) {
    assertStringIncludes(explained, word);
  }
});

Deno.test("scoreText() has two digits, and never rounds to nothing or to all", () => {
  const scores = [0, 1, 0.5, 0.994, 0.9951, 0.99999, 0.004, 0.0049, 1e-5];
  assertEquals(scores.map(scoreText), [
    ...["0.00", "1.00", "0.50", "0.99", "0.995", "0.99999", "0.004", "0.005", "0.00001"],
  ]);
  fc.assert(fc.property(fc.double({ min: 1e-7, max: 1 - 1e-7, noNaN: true }), (score) => {
    const shown = Number(scoreText(score));
    assert(shown > 0 && shown < 1);
    assert(Math.abs(shown - score) <= 0.005 + 1e-12);
  }));
});

Deno.test("the terminal, Markdown and the tables of a run tell all of it; ordinary reports nothing", () => {
  const trials = [...MEASURED, parsed(BROKEN, { seed: 1, repetition: 2 }, "react")];
  const titles = ["Five dimensions of tool use", "Recovery from faults", "Formats"];
  for (
    const text of [
      renderReport(told(trials)),
      renderTables(trials),
      renderMarkdown(told(trials)),
    ]
  ) {
    for (const title of titles) assertStringIncludes(text, title);
  }
  const ordinary = [parsed(STRICT), plain({ tool_selection: 1 }, { seed: 2 })];
  for (const text of [renderReport(told(ordinary)), renderMarkdown(told(ordinary))]) {
    for (const title of titles) assert(!text.includes(title), title);
  }
});
