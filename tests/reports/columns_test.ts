// Columns: how figures become cells of tables, and records for programs.

import { assert, assertEquals } from "@std/assert";
import {
  type Columns,
  type Detail,
  type Estimate,
  NOT_APPLICABLE,
  recordOf,
  scoreText,
  tableOf,
  timeText,
} from "../../lib/reports/columns.ts";
import type { Table } from "../../lib/reports/_view.ts";
import { headTexts } from "../../lib/reports/text_table.ts";
import fc from "../support/fast_check.ts";

/** What is told of a model. */
interface Row {
  readonly name: string;
  readonly solved: Estimate;
  readonly tries?: number | null;
}

const ROWS: readonly Row[] = [
  { name: "a", solved: { value: 0.5, interval: { lower: 0.25, upper: 0.75 }, of: 4 }, tries: 0 },
  { name: "b", solved: { value: null, interval: null, of: 0 } },
];

const NAME = { id: "model", unit: "name", value: ({ name }: Row) => name } as const;
const SOLVED = { id: "solved", unit: "share", value: ({ solved }: Row) => solved } as const;
const TRIES = { id: "tries", unit: "count", value: ({ tries }: Row) => tries } as const;

/** The headings and the cells of a table: their texts and details. */
function textsOf<Row>(rows: readonly Row[], columns: Columns<Row>, detail?: Detail) {
  const [table] = tableOf(rows, columns, { id: "t", section: "success", title: "" }, detail);
  const { heads, rows: body } = table as Table;
  return [
    heads.map(({ text }) => text),
    ...body.map((row) => row.map(({ text, detail = "" }) => `${text} ${detail}`.trim())),
  ];
}

Deno.test("tableOf() writes figures by their units, and has a column of their intervals", () => {
  assertEquals(textsOf(ROWS, [NAME, SOLVED, TRIES]), [
    ["model", "solved", "95% interval", "tries"],
    ["a", "50.0%", "25.0% to 75.0%", "0"],
    ["b", "-", "-", "-"],
  ]);
  const units = {
    ...{ text: "x", count: 1234, share: 0.5, points: -0.05, score: 0.5, mean: 2 },
    ...{ time: 1500, cost: 0.5, probability: 1e-9, more: 1234.4, moreCost: -0.00123 },
  } as const;
  const columns = (Object.keys(units) as (keyof typeof units)[])
    .map((unit) => ({ id: unit, unit, value: () => units[unit] }));
  assertEquals(textsOf([0], columns)[1], [
    ...["x", "1,234", "50.0%", "-5.0", "0.50", "2.0"],
    ...["1.5 s", "$0.50", "below 0.0001", "+1,234", "-$0.00123"],
  ]);
  assertEquals(tableOf([], [NAME], { id: "t", section: "success", title: "" }), []);
});

Deno.test("tableOf() has intervals where they are wanted: in the cell, under another name, or of some rows", () => {
  const inline = { ...SOLVED, inline: true } as const;
  assertEquals(textsOf(ROWS, [inline]), [["solved"], ["50.0% of 4 (25.0% to 75.0%)"], ["-"]]);
  assertEquals(textsOf(ROWS, [inline], "terminal"), [["solved"], ["50.0% of 4"], ["-"]]);
  assertEquals(
    textsOf(ROWS, [{ ...SOLVED, bounds: "bounds", isBounded: ({ name }) => name === "b" }]),
    [["solved", "bounds"], ["50.0%", "-"], ["-", "-"]],
  );
  // A text in place of a figure has no details.
  assertEquals(textsOf(ROWS, [{ ...inline, text: () => NOT_APPLICABLE }])[1], ["n/a"]);
});

Deno.test("tableOf() leaves out columns that are not shown, or to be filled and empty in all rows", () => {
  const filled = (head: string, ...values: (number | null)[]) => ({
    ...{ head, unit: "count", shown: "filled" } as const,
    value: (row: number) => values[row],
  });
  assertEquals(
    textsOf([0, 1], [
      [filled("empty", null, null), filled("none", 0, 0), filled("mixed", null, 0)],
      [filled("first", 1, null), filled("last", 0, 1)],
      { ...filled("off", 1, 1), shown: false },
      { ...filled("on", 0, 0), shown: true },
      { ...filled("page", 1, 1), from: "page" },
    ], "terminal")[0],
    ["first", "last", "on"],
  );
});

Deno.test("tableOf() tells how columns belong together, and which of them name a row", () => {
  const [table] = tableOf([0], [
    { head: "model", unit: "name", value: () => "a", link: () => "#?subject=a", about: "who" },
    { id: "of_trials", unit: "count", value: () => 1, group: "g", shown: "filled" },
    { id: "solved", unit: "share", value: () => ({ value: 1, interval: null }), group: "g" },
    { id: "p", unit: "probability", value: () => 1, next: true },
  ], { id: "t", section: "success", title: "" });
  const { heads, names, rows: [[first]] } = table as { rows: [Table["rows"][0]] } & Table;
  assertEquals(names, 1);
  assertEquals([first!.link, heads[0]!.about, heads[0]!.isText], ["#?subject=a", "who", true]);
  assertEquals(heads.map(({ isNext }) => isNext), [false, false, true, true, true]);
  // The heading of a group stands before the first column that is left.
  assertEquals(headTexts(table!), ["model", "g: of trials", "solved", "95% interval", "p"]);
  const empty = { id: "of_trials", unit: "count", value: () => 0, group: "g", shown: "filled" };
  const [left] = tableOf([0], [
    empty as typeof empty & { unit: "count"; shown: "filled" },
    { id: "solved", unit: "share", value: () => 1, group: "g" },
  ], { id: "t", section: "success", title: "" });
  assertEquals(headTexts(left!), ["g: solved"]);
});

Deno.test("recordOf() has what is known of each figure under its name, whether tables show it or not", () => {
  const [first, second] = ROWS.map((row) =>
    recordOf(row, [NAME, [{ ...SOLVED, shown: false }], { head: "no id", ...TRIES, id: undefined }])
  );
  assertEquals(first, {
    ...{ model: "a", solved: 0.5, solved_lower: 0.25, solved_upper: 0.75, solved_of: 4 },
  });
  assertEquals(second, {
    ...{ model: "b", solved: null, solved_lower: null, solved_upper: null, solved_of: 0 },
  });
  assertEquals(
    recordOf({ count: 1, of: 4, value: 0.25 }, [{
      id: "share",
      unit: "share",
      value: (row) => row,
    }]),
    { share: 0.25, share_count: 1, share_of: 4 },
  );
});

Deno.test("timeText() has units that people read", () => {
  const texts = [
    ...[[0.2, "below 1 ms"], [0.7, "1 ms"], [999.4, "999 ms"], [999.6, "1.0 s"]],
    ...[[59_940, "59.9 s"], [59_960, "1 min 0 s"], [125_000, "2 min 5 s"]],
    ...[[3_599_600, "1 h 0 min"], [7_380_000, "2 h 3 min"]],
  ] as const;
  for (const [duration, text] of texts) assertEquals(timeText(Number(duration)), text);
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
