import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import stringWidth from "string-width";
import { makeReport } from "../../lib/report.ts";
import { renderReport, renderTables } from "../../lib/reports/terminal.ts";
import type { Trial } from "../../lib/trial.ts";
import { test } from "../support/generated.ts";
import {
  callEvents,
  HOSTILE,
  manyRecords,
  NOT_FOUND,
  record,
  records,
  STEERING,
  traced,
  type TrialTraits,
  wrongValue,
} from "../support/records.ts";

test("renderTables() shows each cell's trials, rate, interval, calls and invalid trials", () => {
  const text = renderTables([...manyRecords(8, 10), record({ seed: 99, outcome: "invalid" })]);
  const [title, , header, row] = text.split("\n");
  assertEquals(title, "m");
  assertMatch(
    header!,
    /cell +trials +solved +95% interval +calls if solved +if not +fewest calls +invalid/,
  );
  assertMatch(row!, /^core 3, .* 11 +80\.0% +49\.0% to 94\.3% +3\.0 +3\.0 +3\.0 +1$/);
});

test("renderTables() sums up all cells only when there are several", () => {
  const one = manyRecords(8, 10);
  const other = manyRecords(2, 10).map((trial) => ({
    ...trial,
    task: { ...trial.task, core: 9 },
  }));
  assertNotMatch(renderTables(one), /^all /m);
  assertMatch(renderTables([...one, ...other]), /^all +20 +50\.0%/m);
});

test("renderTables() shows a dash where there is nothing to tell", () => {
  assertMatch(renderTables(records(["invalid"])), / 1 +- +- +- +- +- +1$/m);
});

test("renderTables() aligns columns, whatever the width of the characters", () => {
  const wide = { case: "退款流程" } as unknown as Trial["task"];
  const narrow = { case: "refund" } as unknown as Trial["task"];
  const text = renderTables([record({ task: wide, id: "1" }), record({ task: narrow, id: "2" })]);
  const rows = text.split("\n").slice(2, 6);
  assertEquals(rows.length, 4);
  assertEquals(new Set(rows.map((row) => stringWidth(row))).size, 1, text);
});

test("renderTables() shows the share of each failure type, roots and cascades", () => {
  const root = { ...NOT_FOUND, root: true };
  const text = renderTables([
    traced(callEvents(5, {
      1: root,
      2: { ...wrongValue(1), root: true },
      3: { ...wrongValue(1, 2), root: false },
      4: { ...wrongValue(1, 3), root: false },
    })),
  ]);
  assertMatch(text, /failure type +calls +share +roots +cascades/);
  assertMatch(text, /^function_not_found +1 +25\.0% +1 +0$/m);
  assertMatch(text, /^wrong_number_of_inputs +0 +0\.0% +0 +0$/m);
  assertMatch(text, /^incorrect_value +3 +75\.0% +1 +2$/m);
});

test("renderTables() says when no call was wrong", () => {
  assertStringIncludes(renderTables([record()]), "no call was wrong");
});

test("renderTables() names behaviours, and leaves the line out without any", () => {
  const text = renderTables([record({ behaviours: ["silent"], grounded: false })]);
  assertStringIncludes(text, "behaviours (trials): silent 1, ungrounded 1");
  assertEquals(renderTables([record()]).includes("behaviours"), false);
});

test("renderTables() marks simulated models, and only them", () => {
  const text = renderTables([
    record({ model: "sim:planner", simulated: true }),
    record({ model: "real" }),
  ]);
  assertStringIncludes(text, "sim:planner  (simulated: a program, no language model)");
  assertMatch(text, /^real$/m);
});

test("renderTables() lets no escape sequence of a hostile name through", () => {
  const behaviours = [HOSTILE] as unknown as Trial["behaviours"];
  const task = { case: HOSTILE, [HOSTILE]: 1 } as unknown as Trial["task"];
  const text = renderTables([
    record({ model: HOSTILE, strategy: HOSTILE, perturbation: HOSTILE, behaviours, task, id: "x" }),
  ]);
  assertNotMatch(text, STEERING);
  assertStringIncludes(text, "evil\\u001b[2J");
});

test("renderTables() tells of repeated graphs how often one, and how often all trials solve", () => {
  const trials = [2, 1, 0, 2].flatMap((solved, seed) =>
    [1, 2].map((repetition) =>
      record({ seed, repetition, outcome: repetition <= solved ? "solved" : "no_answer" })
    )
  );
  assertStringIncludes(
    renderTables(trials),
    "of 2 trials of a graph at least one solved (pass@2): 75.0%, all solved (pass^2): 50.0%; 4 graphs",
  );
  assertNotMatch(renderTables(manyRecords(3, 4)), /pass@/);
});

/** The report as a terminal shows it. */
function rendered(trials: readonly Trial[], notes: readonly string[] = []): string {
  return renderReport(makeReport(trials, { suite: "quick", notes }));
}

/** Trials on `cells` cells, some of them solved. */
function onCells(cells: number, traits: TrialTraits = {}): Trial[] {
  return Array.from({ length: cells }, (_, place) =>
    record({
      task: { core: 3 + place % 3, depth: 2, connected: place, disconnected: 0, seed: 1 },
      outcome: place % 2 === 0 ? "solved" : "no_answer",
      ...traits,
    }));
}

test("renderReport() begins with the suite and what to know, then the tables", () => {
  const text = rendered(manyRecords(3, 4, { model: "sim:a", simulated: true }), ["torn"]);
  const [title, notes, subject] = text.split("\n\n");
  assertEquals(title, "quick");
  assertMatch(notes!, /^\* Simulated models are programs [^\n]*\n\* torn$/);
  assertEquals(subject, "sim:a  (simulated: a program, no language model)");
});

test("renderReport() of nothing says so", () => {
  assertEquals(rendered([]), "quick\n\n* No trial has ended yet: there is nothing to tell.");
});

test("renderReport() shows up to 24 cells, and their sums where there are more", () => {
  const few = rendered(onCells(24));
  assertEquals(few.match(/^core \d, depth/gm)!.length, 24);
  assertNotMatch(few, /Success by|over \d+ cells/);
  const many = rendered(onCells(25));
  assertNotMatch(many, /^core \d, depth/m);
  assertMatch(many, /\n\ncell +trials .*\nall +25 +52\.0% .*\n\nover 25 cells\n/);
  assertMatch(
    many,
    /\nSuccess by core size \(as in Table 2\)\n\(share solved, of n valid trials\)\n/,
  );
  assertMatch(many, /\nSuccess by type of irrelevant functions \(as in Fig\. 4\)\n/);
  // 9, 8 and 8 cells of the three core sizes.
  assertMatch(
    many,
    /^m +55\.6%, n 9 +3\.0 +3\.0 +50\.0%, n 8 +3\.0 +3\.0 +50\.0%, n 8 +3\.0 +3\.0$/m,
  );
});

test("renderReport() has several models side by side, each in a row", () => {
  const trials = ["a", "sim:b"].flatMap((model) =>
    onCells(4, { model, simulated: model === "sim:b" })
  );
  const text = rendered(trials);
  const [, side] = text.split("Success by core size (as in Table 2)\n");
  const [head, ...rows] = side!.split("\n\n")[0]!.split("\n").slice(1);
  assertMatch(head!, /^model +core 3: solved +calls if solved +if not +core 4: solved /);
  assertEquals(rows.map((row) => row.split(/ {2,}/)[0]), ["a", "sim:b (simulated)"]);
  assertEquals(
    new Set([head!, ...rows].map((row) => stringWidth(row))).size,
    1,
    "columns are aligned",
  );
  // One figure for each model: those are for pages.
  assertNotMatch(text, /as in Fig\. 6/);
});

test("renderReport() is about as wide as terminals are, and no longer than a few screens", () => {
  const trials = ["gpt-5", "gpt-5-mini"].flatMap((model) =>
    [5, 10, 20].flatMap((core) =>
      Array.from({ length: core - 1 }, (_, depth) => depth + 1).flatMap((depth) =>
        [[0, 0], [10, 0], [0, 10], [5, 5]].map(([connected, disconnected]) =>
          record({
            model,
            task: { core, depth, connected: connected!, disconnected: disconnected!, seed: 1 },
          })
        )
      )
    )
  );
  const lines = rendered(trials).split("\n");
  assert(lines.length < 80, `${lines.length} lines`);
  const [tables, depths] = [lines.slice(0, 50), lines.filter((line) => / \d+ +19$/.test(line))];
  assertEquals(depths.length, 1);
  for (const line of tables) {
    if (!/as in Fig|^gpt-5|^model/.test(line)) assert(stringWidth(line) <= 130, line);
  }
});

test("renderReport() lets no escape sequence through, wherever it stands", () => {
  const behaviours = [HOSTILE] as unknown as Trial["behaviours"];
  const sized = (core: number) => ({ core, depth: 1, connected: 0, disconnected: 0, seed: 1 });
  const trials = [HOSTILE, `${HOSTILE}2`].flatMap((model) =>
    ["baseline", HOSTILE].flatMap((strategy) =>
      [3, 4].map((core) => {
        const task = {
          ...sized(core),
          linking: HOSTILE,
          [HOSTILE]: HOSTILE,
        } as unknown as Trial["task"];
        return record({ model, strategy, behaviours, task, suite: HOSTILE, id: HOSTILE });
      })
    )
  );
  const text = renderReport(makeReport(trials, { suite: HOSTILE, notes: [HOSTILE, HOSTILE] }));
  assertNotMatch(text, STEERING);
  assertStringIncludes(text, "evil\\u001b[2J");
});
