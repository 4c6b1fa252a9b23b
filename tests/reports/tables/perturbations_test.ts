import { assert, assertEquals, assertNotMatch, assertStringIncludes } from "@std/assert";
import { makeReport } from "../../../lib/reports/report.ts";
import { renderMarkdown } from "../../../lib/reports/markdown.ts";
import { comparisonTables } from "../../../lib/reports/tables/_comparisons.ts";
import { perturbationTables, wholePercent } from "../../../lib/reports/tables/_perturbations.ts";
import { sourceText } from "../../../lib/reports/tables/table.ts";
import type { Table } from "../../../lib/reports/_view.ts";
import { renderTables } from "../../../lib/reports/terminal.ts";
import { tango } from "../../../lib/statistics/proportions.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { scored, scoredAll } from "../../support/parameter_scores.ts";
import { failureOf, record, records } from "../../support/records.ts";

function tables(trials: readonly TrialSummary[], brief = false): Map<string, Table> {
  const all = perturbationTables(makeReport(trials, { suite: "s" }), brief);
  assertEquals(new Set(all.map(({ id }) => id)).size, all.length, "ids must differ");
  for (const { rows, id, section } of all) {
    assertEquals(new Set(rows.map(({ length }) => length)).size, 1, `${id} has uneven rows`);
    assertEquals(section, "perturbations");
  }
  return new Map(all.map((table) => [table.id, table]));
}

/** The rows of a table without the first one, by their names. */
function rowsOf({ rows }: Table): Record<string, readonly string[]> {
  return Object.fromEntries(rows.slice(1).map(([name, ...cells]) => [name, cells]));
}

/** The columns of a table without the first one, by their names. */
function columnsOf({ rows: [head, ...rows] }: Table): Record<string, readonly string[]> {
  return Object.fromEntries(
    head!.slice(1).map((name, place) => [name, rows.map((row) => row[place + 1]!)]),
  );
}

/** The interval of this many gained and lost of all tasks, in percentage points. */
function tangoText(gained: number, lost: number, tasks: number): string {
  const { lower, upper } = tango(gained, lost, tasks, 0.975);
  const points = (share: number) => (share > 0 ? "+" : "") + (100 * share).toFixed(1);
  return `${points(lower)} to ${points(upper)}`;
}

/** The example: four tasks unperturbed, under RD, and under RP_F. */
const TRIALS: readonly TrialSummary[] = [
  ...scoredAll(["", "", "R", ""]),
  ...scoredAll(["RD", "R", "", ""], { perturbation: "RD", outcome: "wrong_answer" })
    .map((trial, index): TrialSummary => index === 3 ? { ...trial, changed: false } : trial),
  scored("", { perturbation: "RP_F", outcome: "abstained", calls: 0 }),
  scored("D", {
    perturbation: "RP_F",
    seed: 2,
    outcome: "wrong_answer",
    calls: 4,
    failures: [failureOf("function_not_found")],
  }, { routing: 1, texts: { compared: 4, similar: 1 } }),
];

Deno.test("perturbationTables() has failure rates as in Table 1, briefly (Butterfly 6)", () => {
  const { rows, paper, source, title } = tables(TRIALS, true).get("failure-rates-1")!;
  assertEquals([paper, source], ["Butterfly", "Table 1"]);
  assertEquals(title, "Failure rates under perturbations: m");
  assertEquals(rows, [
    ["failure", "none", "RD", "RP_F"],
    ["task accuracy", "100%", "0%", "0%"],
    ["hallucination name", "0%", "0%", "0%"],
    ["missing information", "0%", "0%", "0%"],
    ["redundant information", "25%", "67%", "0%"],
    ["specification mismatch", "0%", "0%", "0%"],
    ["task deviation", "0%", "33%", "50%"],
    ["any failure", "25%", "67%", "50%"],
    ["missed call", "-", "-", "-"],
    ["missed call: undecided", "4", "3", "2"],
    ["of needed calls", "-", "-", "-"],
    ["either", "-", "-", "-"],
    ["similar texts", "-", "-", "25%"],
    ["abstained", "-", "-", "50%"],
    ["API-level success", "100%", "100%", "75%"],
    ["routing errors", "0%", "0%", "50%"],
    ["trials", "4", "3", "2"],
    ["unchanged", "0", "1", "0"],
  ]);
});

Deno.test("perturbationTables() has differences to none, what is perturbed, and exact shares at length", () => {
  const table = tables(TRIALS).get("failure-rates-1")!;
  const columns = columnsOf(table);
  assertEquals(columns["changed"], ["-", "document", "query"]);
  // Of tasks 1 to 3 two are gained and one is lost.
  assertEquals(columns["redundant information"], [
    "25.0% (4.6% to 69.9%)",
    `66.7% (+33.3, ${tangoText(2, 1, 3)})`,
    `0.0% (0.0, ${tangoText(0, 0, 2)})`,
  ]);
  assertEquals(columns["task accuracy"], ["100.0%", "0.0%", "0.0%"]);
  assertStringIncludes(table.note!, "the difference to none on the same tasks");
});

Deno.test("perturbationTables() tells of what is unknown, undecided and invalid only where it is there", () => {
  const rd = { perturbation: "RD" };
  const undecided = ["task_deviation"] as const;
  const columns = columnsOf(
    tables([
      scored("", rd, { undecided }),
      scored("D", { ...rd, seed: 2 }),
      record({ ...rd, seed: 3 }),
      record({ ...rd, seed: 4, outcome: "invalid" }),
    ]).get("failure-rates-1")!,
  );
  assertEquals(columns["task deviation: undecided"], ["1"]);
  assertEquals(columns["task deviation"]![0]!.split(" ")[0], "100.0%");
  assertEquals([columns["trials"], columns["right calls known"], columns["invalid"]], [
    ["3"],
    ["2"],
    [
      "1",
    ],
  ]);
  const usual = Object.keys(columnsOf(tables(TRIALS).get("failure-rates-1")!));
  for (const name of ["task deviation: undecided", "right calls known", "invalid"]) {
    assert(!usual.includes(name), name);
  }
});

Deno.test("perturbationTables() has no accuracy of tasks without an answer, and no credit for abstaining that nothing asked for", () => {
  const lacking = (perturbation: string, unsolvable: "unlinked" | "misleading") =>
    ["abstained", "wrong_answer"].map((outcome) =>
      record({ perturbation, unsolvable, outcome: outcome as "abstained" })
    );
  const trials = [
    ...records(["solved", "no_answer"]),
    ...lacking("RD", "unlinked"),
    ...lacking("SD", "misleading"),
    ...records(["solved", "no_answer"], { perturbation: "WD" }),
    ...lacking("WD", "unlinked"),
  ];
  const all = tables(trials, true);
  const { rows, note } = all.get("failure-rates-1")!;
  const row = (name: string) => rows.find(([head]) => head === name)!.slice(1);
  assertEquals(rows[0]!.slice(1), ["none", "RD", "WD", "SD"]);
  assertEquals(row("task accuracy"), ["50%", "n/a", "50%", "n/a"]);
  assertEquals(row("abstained"), ["-", "50%", "50%", "n/a"]);
  assertEquals(row("unsolvable"), ["0", "2", "2", "2"]);
  assertStringIncludes(note!, "under RP_F and RP_L abstained is right");
  // Shares of success say so too, of few subjects and of many, where they leave trials out.
  const others = trials.map((trial) => ({ ...trial, model: { ...trial.model, requested: "b" } }));
  for (const some of [trials, [...trials, ...others]]) {
    assertStringIncludes(renderTables(some), "solved: share of valid trials less unsolvable ones");
  }
  assertNotMatch(renderTables(records(["solved"])), /unsolvable/);
  const [pairs] = comparisonTables(makeReport(trials, { suite: "s" }));
  assertEquals(pairs!.rows.slice(1).map(([name]) => name), ["m + WD"]);
});

Deno.test("perturbationTables() says where none abstained that should have", () => {
  const rows = rowsOf(
    tables([
      record({ perturbation: "RP_L+CF", outcome: "wrong_answer" }),
      record({ perturbation: "CF", outcome: "wrong_answer" }),
    ], true).get("failure-rates-1")!,
  );
  assertEquals(rows["abstained"], ["-", "0%"]);
});

/** The table of pairs. */
function pairsOf(trials: readonly TrialSummary[]): Table | undefined {
  return comparisonTables(makeReport(trials, { suite: "s" })).find(({ id }) =>
    id === "comparisons"
  );
}

Deno.test("comparisonTables() compares nothing with none after which no task can be solved", () => {
  const against = (...ids: readonly string[]) =>
    pairsOf(["none", ...ids].map((perturbation) => record({ perturbation })));
  const namesOf = (table: Table | undefined) =>
    table?.rows.slice(1).map(([name, against]) => `${name} against ${against}`);
  const some = against("RP_F", "CF+RP_L", "CF", "RP_F+RD", "RP_L", "rename");
  assertEquals(namesOf(some), [
    ...[
      "m + CF against no perturbation",
      "m + rename against no perturbation",
      "m + rename against CF",
    ],
  ]);
  assertStringIncludes(
    some!.note!,
    "RP_F, CF+RP_L, RP_F+RD, RP_L left out, as no task can be solved under it: failure rates have the share " +
      "that abstained",
  );
  const plain = against("CF");
  assertEquals(namesOf(plain), ["m + CF against no perturbation"]);
  assert(!plain!.note!.includes("RP_F"), "nothing is left out");
  assertEquals(against("RP_F", "RP_L"), undefined);
  const apart = record({ seed: 99, perturbation: "RP_F" });
  const heads = pairsOf([record(), record({ perturbation: "CF" }), apart])!.rows[0]!;
  assert(!heads.includes("left out"), "no row leaves a task out");
  // What was left out counts in no row.
  const { rows } = pairsOf(TRIALS)!;
  const without = TRIALS.filter(({ perturbation }) => perturbation !== "RP_F");
  assertEquals(rows, pairsOf(without)!.rows);
});

Deno.test("perturbationTables() has checks among the failure rates, behind the methods", () => {
  const trials = [
    ...scoredAll(["R"], { perturbation: "rename" }),
    ...scoredAll(["R"], { perturbation: "RD+rename" }),
    ...scoredAll([""]),
    ...scoredAll([""], { perturbation: "RD" }),
  ];
  const table = tables(trials).get("failure-rates-1")!;
  assertEquals(table.rows.map(([name]) => name), [
    ...["perturbation", "none", "RD", "rename", "RD+rename"],
  ]);
  assertEquals(columnsOf(table)["changed"], ["-", "document", "check", "document"]);
  assertEquals(columnsOf(table)["redundant information"]!.map((cell) => cell.split(" ")[0]), [
    ...["0.0%", "0.0%", "100.0%", "100.0%"],
  ]);
});

Deno.test("perturbationTables() counts which failure goes with which, as in Fig. 4 (Butterfly A.1)", () => {
  const table = tables(TRIALS).get("transfer-1")!;
  assertEquals([table.paper, table.source], ["Butterfly", "Fig. 4"]);
  assertEquals(table.rows[0]!.slice(0, 3), ["given", "trials", "hallucination name"]);
  const rows = rowsOf(table);
  assertEquals(rows["redundant information"], ["3", "0", "0", "0", "0", "1 (1, 0)"]);
  assertEquals(rows["hallucination name"], ["0", "-", "-", "-", "-", "-"]);
});

Deno.test("perturbationTables() lists trials in which only the input was changed, and counts the rest (Butterfly, A.2)", () => {
  const trials = Array.from({ length: 13 }, (_, place) => place + 1).flatMap((seed) =>
    ["none", "CF", "FK"].map((perturbation): TrialSummary => ({
      ...summarize(record({ seed, perturbation, id: `${perturbation} ${seed}` })),
      actions: perturbation === "FK" && seed > 2 ? "other" : "same",
    }))
  );
  const all = tables(trials);
  assertEquals(all.get("ineffective")!.rows.slice(1).map((row) => row.slice(0, 3)), [
    ["m + FK", "13", "2"],
    ["m + CF", "13", "13"],
  ]);
  assertEquals(all.get("ineffective-trials")!.rows.flat(), [
    ...["perturbation", "trial", "m + FK", "FK 1", "", "FK 2", "m + CF", "CF 1"],
    ...Array.from({ length: 9 }, (_, place) => ["", `CF ${place + 2}`]).flat(),
    ...["", "and 3 more"],
  ]);
  const report = makeReport(trials, { suite: "s" });
  assertEquals(report.brittleness[0]!.ineffective[1]!.trials.length, 13);
  // An id is useless unless it is whole.
  const id = `CF ${"long".repeat(50)} 10`;
  const renamed = trials.map((trial) => trial.id === "CF 10" ? { ...trial, id } : trial);
  const markdown = renderMarkdown(makeReport(renamed, { suite: "s" }));
  assertStringIncludes(markdown, `|  | ${id} |`);
  assertStringIncludes(markdown, "| --- | --- |\n");
  // The terminal has no space for ids, and says who has them.
  const text = renderTables(renamed);
  assertStringIncludes(text, "Perturbations that changed the input and nothing else");
  assertStringIncludes(text, "HTML and Markdown reports list these trials");
  assertNotMatch(text, /longlong|and 3 more/);
});

Deno.test("perturbationTables() has n/a for what no trial can show, in all reports", () => {
  const impossible = ["redundant_information"] as const;
  const missed = { needed: 3, missed: 0 };
  const trials = [
    { ...scored("D", { impossible }), missed },
    { ...scored("D", { perturbation: "RD", impossible }), missed },
    { ...scored("", { perturbation: "RP_F", impossible }), missed: { needed: 0, missed: 0 } },
  ];
  const all = tables(trials);
  const rates = columnsOf(all.get("failure-rates-1")!);
  assertEquals(rates["redundant information"], ["n/a", "n/a", "n/a"]);
  const overall = columnsOf(all.get("overall-rates-1")!);
  assertEquals(overall["missed call"]!.map((cell) => cell.split(" ")[0]), ["0.0%", "0.0%", "n/a"]);
  assertEquals(overall["of needed calls"], ["0.0%", "0.0%", "n/a"]);
  assertEquals(columnsOf(all.get("transfer-1")!)["redundant information"]!.at(-1), "n/a");
  assertStringIncludes(renderTables(trials), "redundant information    n/a");
  const report = JSON.parse(JSON.stringify(makeReport(trials, { suite: "s" })));
  assertEquals(report.brittleness[0].columns[1].failures[2].rate, null);
  assertEquals(report.brittleness[0].columns[2].missed.rate, null);
});

Deno.test("perturbationTables() has checks apart, with what chance does", () => {
  const check = { perturbation: "rename", model: "sim:a", simulated: true };
  const { perturbation: _, ...plain } = check;
  const all = tables([
    ...records(["solved", "solved", "no_answer"], check),
    ...records(["solved", "no_answer", "no_answer"], plain),
  ]);
  assertEquals(all.get("checks")!.rows, [
    ["check", "pairs", "flipped", "share", "95% interval", "gained", "lost", "by chance"],
    ["sim:a + rename (simulated)", "3", "1", "33.3%", "6.1% to 79.2%", "1", "0", "-"],
  ]);
  const alone = tables(records(["solved"], check));
  assertEquals([...alone.keys()], ["failure-rates-1", "overall-rates-1", "checks"]);
  assertEquals(alone.get("checks")!.rows[1]!.slice(1, 4), ["0", "0", "-"]);
  const repeated = tables([
    record({ perturbation: "rename" }),
    ...(["solved", "no_answer"] as const).map((outcome, at) =>
      record({ outcome, repetition: at + 1 })
    ),
  ]);
  assertEquals(repeated.get("checks")!.rows[1]!.at(-1), "100.0%");
});

Deno.test("sourceText() names the paper, FuncBenchGen unless told otherwise", () => {
  assertEquals(sourceText("Table 2"), "as in FuncBenchGen, Table 2");
  assertEquals(
    sourceText("Function Calling Architecture", "Pipeline"),
    'as in Pipeline, an article on "the complete tool use pipeline", under "Function Calling Architecture"',
  );
});

Deno.test("wholePercent() rounds halves up, however they are stored", () => {
  assertEquals([23 / 40, 29 / 200, 57 / 200].map(wholePercent), ["58%", "15%", "29%"]);
});

Deno.test("wholePercent() never rounds something to nothing, nor a part to all", () => {
  assertEquals(
    [0, 0.001, 0.0051, 0.5, 0.994, 0.999, 1].map(wholePercent),
    ["0%", "<1%", "1%", "50%", "99%", ">99%", "100%"],
  );
});
