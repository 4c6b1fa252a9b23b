import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { makeReport } from "../../../lib/reports/report.ts";
import { matrixTables } from "../../../lib/reports/tables/_matrix.ts";
import { tablesOf } from "../../../lib/reports/_views.ts";
import { linksOf } from "../../../lib/reports/tables/table.ts";
import { renderReport, renderTables } from "../../../lib/reports/terminal.ts";
import { renderMarkdown } from "../../../lib/reports/markdown.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { manyRecords, record, type TrialTraits } from "../../support/records.ts";

const sized = (core: number, seed: number): Trial["task"] => ({
  ...{ core, depth: 1, connected: 0, disconnected: 0, seed },
});

/** Trials of models on cells: of each the number of solved ones of four. */
function grid(solved: Readonly<Record<string, readonly number[]>>, traits: TrialTraits = {}) {
  return Object.entries(solved).flatMap(([model, counts]) =>
    counts.flatMap((count, cell) =>
      [1, 2, 3, 4].map((seed) =>
        record({
          ...{ model, task: sized(3 + cell, seed), ...traits },
          outcome: seed <= count ? "solved" : "no_answer",
        })
      )
    )
  );
}

/** Trials of tests: of each the number of passed ones of ten. */
function tests(passed: Readonly<Record<string, number>>, model = "m"): Trial[] {
  return Object.entries(passed).flatMap(([name, count]) =>
    Array.from({ length: 10 }, (_, place) =>
      record({
        ...{ model, task: { case: name, seed: place }, behaviours: ["silent"] },
        ...(place < count ? {} : {
          outcome: "wrong_answer",
          events: [{ kind: "assertion", message: "expected 1", at: "a_test.ts:7:3" }],
        }),
      }))
  );
}

const matrixOf = (trials: readonly Trial[]) => matrixTables(makeReport(trials, { suite: "s" }))[0]!;
const cell = (core: number) => `core ${core}, depth 1, connected 0, disconnected 0`;

Deno.test("matrixTables() has a row a cell and a column a model, the lowest first", () => {
  const table = matrixOf(grid({ a: [4, 2, 0], b: [4, 3, 4] }));
  assertEquals([table.id, table.section, table.title], ["matrix", "matrix", "Success by cell"]);
  assertMatch(
    table.note!,
    /; why: of all trials in the row, of all models, how many were not solved,/,
  );
  assertEquals(table.rows, [
    ["cell", "a", "b", "why"],
    [cell(5), "0.0% of 4", "100.0% of 4", "4 of 8 trials: no answer"],
    [cell(4), "50.0% of 4", "75.0% of 4", "3 of 8 trials: no answer"],
    [cell(3), "100.0% of 4", "100.0% of 4", "-"],
    ["all", "50.0% of 12", "91.7% of 12", "-"],
  ]);
  const name = encodeURIComponent(cell(5));
  assertEquals(linksOf(table.rows[1]!), [
    `?cell=${name}&outcome=failed`,
    `?cell=${name}&subject=a&outcome=failed`,
    `?cell=${name}&subject=b`,
    undefined,
  ]);
  assertEquals(linksOf(table.rows[4]!).slice(0, 3), [
    "?outcome=failed",
    "?subject=a&outcome=failed",
    "?subject=b&outcome=failed",
  ]);
});

Deno.test("matrixTables() keeps names in addresses, whatever is in them", () => {
  const name = "a&cell=b#c +%\ud800 é";
  const [, row] = matrixOf([...tests({ [name]: 9 }), ...tests({ [name]: 10 }, name)]).rows;
  const query = new URLSearchParams(linksOf(row!)[2]!.slice(1));
  assertEquals(query.get("cell"), name.replace("\ud800", "\ufffd"));
  assertEquals([...query.keys()], ["cell", "subject"]);
  assertNotMatch(linksOf(row!).join(" "), /[#+"'<>]/);
});

Deno.test("matrixTables() has unperturbed variants first, and the others in a table of their own", () => {
  const trials = [
    ...grid({ a: [4, 2] }),
    ...grid({ a: [1, 1] }, { perturbation: "RD" }),
    ...grid({ a: [1] }, { perturbation: "WD" }),
    ...grid({ a: [3, 3] }, { strategy: "restate" }),
  ];
  const report = makeReport(trials, { suite: "s" });
  assertEquals(matrixTables(report)[0]!.rows[0], ["cell", "a", "a + restate", "why"]);
  const [, others, ...more] = matrixTables(report);
  assertEquals(more, []);
  assertEquals([others!.id, others!.title], ["cells", "Success by cell, under perturbations"]);
  assertEquals(others!.rows, [
    ["cell", "a + RD", "a + WD"],
    [cell(3), "25.0% of 4", "25.0% of 4"],
    [cell(4), "25.0% of 4", "-"],
    ["all", "25.0% of 8", "25.0% of 4"],
  ]);
  assertEquals(linksOf(others!.rows[2]!).slice(1), [
    `?cell=${encodeURIComponent(cell(4))}&subject=a+%2B+RD&outcome=failed`.replaceAll("+", "%20"),
    undefined,
  ]);
  assertMatch(renderMarkdown(report), /^\| all \| 25\.0% of 8 \| 25\.0% of 4 \|$/m);
  // Where all are perturbed, the matrix has them.
  const perturbed = makeReport(trials.filter((trial) => trial.perturbation === "RD"), {
    suite: "s",
  });
  assertEquals(matrixTables(perturbed)[0]!.title, "Success by cell: a + RD");
  assertEquals(matrixTables(perturbed).length, 1);
});

Deno.test("matrixTables() has a row a model where more than eight models meet fewer cells", () => {
  const models = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, place) => [`m${place}`, [4, place % 5]]));
  assertEquals(matrixOf(grid(models(8))).rows[0]!.length, 1 + 8 + 1);
  const { rows } = matrixOf(grid(models(9)));
  assertEquals(rows[0], ["model", cell(3), cell(4), "why"]);
  assertEquals(rows.slice(1, 4), [
    ["m0", "100.0% of 4", "0.0% of 4", "4 of 8 trials: no answer"],
    ["m5", "100.0% of 4", "0.0% of 4", "4 of 8 trials: no answer"],
    ["m1", "100.0% of 4", "25.0% of 4", "3 of 8 trials: no answer"],
  ]);
  assertEquals(
    linksOf(rows[1]!)[2],
    `?cell=${encodeURIComponent(cell(4))}&subject=m0&outcome=failed`,
  );
  // Below each cell stands its sum.
  assertEquals(rows.at(-1), ["all", "100.0% of 36", "44.4% of 36", "-"]);
});

Deno.test("matrixTables() of one variant has all that is known of its cells", () => {
  const trials = [...grid({ a: [4, 2] }), record({ model: "a", outcome: "invalid", id: "x" })];
  const { rows, title } = matrixOf(trials);
  assertEquals(title, "Success by cell: a");
  assertEquals(rows[0], [
    ...["cell", "trials", "solved", "95% interval", "calls if solved", "if not", "fewest calls"],
    ...["invalid", "why"],
  ]);
  assertEquals(rows.slice(1).map((row) => [row[0], row[2], row.at(-1)]), [
    // Nothing is known to be solved where no trial is valid.
    ["core 3, depth 2, connected 0, disconnected 0", "-", "1 invalid: unknown"],
    [cell(4), "50.0%", "2 of 4 trials: no answer"],
    [cell(3), "100.0%", "-"],
    ["all", "75.0%", "-"],
  ]);
  assertEquals(
    linksOf(rows[2]!)[0],
    `?cell=${encodeURIComponent(cell(4))}&subject=a&outcome=failed`,
  );
});

Deno.test("reports on own tests speak of tests that pass and fail, and leave out what says nothing of them", () => {
  const trials = [
    ...tests({ "finds a book": 10, "lends a book": 7 }),
    ...tests({ "finds a book": 10, "lends a book": 9 }, "n"),
  ];
  const report = makeReport(trials, { suite: "s" });
  const { rows, title } = matrixTables(report)[0]!;
  assertEquals(title, "Tests");
  assertEquals(rows, [
    ["test", "m", "n", "why"],
    ["lends a book", "7 of 10", "9 of 10", "4 of 20 trials: expected 1 (a_test.ts:7)"],
    ["finds a book", "10 of 10", "10 of 10", "-"],
    ["all", "17 of 20", "19 of 20", "-"],
  ]);
  assertEquals(matrixOf(tests({ "finds a book": 10, "lends a book": 7 })).rows, [
    ["test", "passed", "95% interval", "calls if passed", "if not", "invalid", "why"],
    [
      ...["lends a book", "7 of 10", "39.7% to 89.2%", "3.0", "3.0", "0"],
      "3 of 10 trials: expected 1 (a_test.ts:7)",
    ],
    ["finds a book", "10 of 10", "72.2% to 100.0%", "3.0", "-", "0", "-"],
    ["all", "17 of 20", "64.0% to 94.8%", "3.0", "3.0", "0", "-"],
  ]);
  const { rows: ended } = tablesOf(report).find(({ id }) => id === "outcomes")!;
  assertEquals(ended[0], ["model", "passed", "failed"]);
  for (const text of [renderReport(report), renderTables(trials), renderMarkdown(report)]) {
    assertMatch(text, /\bpassed\b/);
    assertNotMatch(text, /\bcells?\b|\bsolved\b|\bcase |fewest|silent|[Cc]ore size/);
  }
  // Beside other tasks they are tasks.
  const both = renderReport(makeReport([...trials, ...manyRecords(1, 2)], { suite: "s" }));
  assertMatch(both, /^cell +m +n +why$/m);
  assertMatch(both, /^lends a book +70\.0% of 10 +90\.0% of 10 /m);
});

Deno.test("a terminal has the lowest twelve of many tests, and what they come to", () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, place) => [`test ${place}`, place < 20 ? 10 : 9]),
  );
  const text = renderReport(makeReport(tests(many), { suite: "s" }));
  const table = text.slice(text.indexOf("Tests: m (the lowest 12 of 30)")).split("\n\n")[0]!;
  const names = table.split("\n").slice(3).map((line) => line.split(/ {2,}/)[0]!);
  assertEquals(names.length, 13);
  assertEquals(names.slice(0, 2), ["test 20", "test 21"]);
  assertEquals(names.at(-1), "all");
  assert(table.includes("290 of 300"));
});
