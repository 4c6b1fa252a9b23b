import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { Failure, FailureType } from "../../../lib/calls/failure_types.ts";
import { cellName } from "../../../lib/reports/cells.ts";
import { renderMarkdown } from "../../../lib/reports/markdown.ts";
import { renderReport, renderTables } from "../../../lib/reports/terminal.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { OUTCOMES, type Trial } from "../../../lib/trials/trial.ts";
import fc from "../../support/fast_check.ts";
import {
  failureOf,
  HOSTILE,
  manyRecords,
  record,
  STEERING,
  type TrialTraits,
} from "../../support/records.ts";
import { recordsOf, reportOf, tableOf, textsOf, valuesOf } from "../../support/reports.ts";

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

/** Trials of a test, each with the message of its failed assertion, if any. */
function testTrials(name: string, ends: readonly (string | undefined)[], traits: TrialTraits = {}) {
  return ends.map((message, place): Trial =>
    record({
      ...{ task: { case: name, seed: place }, behaviours: ["silent"] },
      ...(message === undefined ? {} : {
        outcome: "wrong_answer",
        events: [{ kind: "assertion", message, at: "desk_test.ts:12:5" }],
      }),
      ...traits,
    })
  );
}

/** Trials of tests: of each the number of passed ones of ten. */
function tests(passed: Readonly<Record<string, number>>, model = "m"): Trial[] {
  return Object.entries(passed).flatMap(([name, count]) =>
    testTrials(
      name,
      Array.from({ length: 10 }, (_, place) => place < count ? undefined : "expected 1"),
      { model },
    )
  );
}

/** The texts of the matrix. */
const matrixOf = (trials: readonly (Trial | TrialSummary)[]) => textsOf(tableOf("matrix", trials));

/** Where the cells of a row lead, of those that lead anywhere. */
const linksOf = (trials: readonly Trial[], id = "matrix") =>
  tableOf(id, trials)!.rows.map((row) => row.flatMap(({ link }) => link ?? []));

/** Why the trials of the first row were not solved. */
function whyOf(trials: readonly (Trial | TrialSummary)[]): string | undefined {
  const [head, row] = matrixOf(trials);
  return head!.at(-1) === "why" ? row!.at(-1) : undefined;
}

Deno.test("the matrix has counts of each variant on each cell, and a reason where something was not solved", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          outcome: fc.constantFrom(...OUTCOMES),
          model: fc.constantFrom("a", "b", "__proto__"),
          strategy: fc.constantFrom("plain", "restate"),
          perturbation: fc.constantFrom("none", "none", "RD"),
          task: fc.constantFrom<Trial["task"]>(
            sized(3, 1),
            sized(5, 1),
            { case: "refunds", seed: 1 },
            { case: "__proto__", seed: 2 },
          ),
          unchanged: fc.boolean(),
        }),
        { minLength: 1, maxLength: 40 },
      ),
      (traits) => {
        const trials = traits.map(({ unchanged, ...one }, index) =>
          record({
            ...{ ...one, index, id: `${index}` },
            ...(unchanged && one.perturbation === "RD" ? { changed: false as const } : {}),
          })
        );
        const isValid = ({ outcome, changed }: Trial) => outcome !== "invalid" && changed !== false;
        const records = recordsOf("cells", trials);
        let counted = 0;
        for (const one of records) {
          const own = trials.filter((trial) =>
            trial.model.requested === one["model"] && trial.strategy === one["strategy"] &&
            trial.perturbation === one["perturbation"] && cellName(trial) === one["cell"]
          );
          const valid = own.filter(isValid);
          assertEquals(valuesOf([one], "trials solved_of solved_count")[0], [
            ...[own.length, valid.length, valid.filter(({ solved }) => solved).length],
          ]);
          counted += own.length;
        }
        assertEquals(counted, trials.length);
        const plain = trials.filter(({ perturbation }) => perturbation === "none");
        const { heads, rows } = tableOf("matrix", trials)!;
        for (const row of rows) {
          const cell = new URLSearchParams(row[0]!.link!.slice(2)).get("cell");
          if (cell === null) continue;
          const own = (plain.length > 0 ? plain : trials).filter((one) => cellName(one) === cell)
            .filter(isValid);
          const unsolved = own.filter(({ solved }) => !solved).length;
          const why = heads.at(-1)!.text === "why" ? row.at(-1)!.text : "-";
          if (unsolved === 0) assertMatch(why, /^(?:\d+ invalid: unknown|-)$/);
          else {
            assert(
              why.startsWith(`${unsolved} of `) || / of \d+ trials: .*other reasons/.test(why),
              why,
            );
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("the matrix says of tests why most trials failed, and where", () => {
  assertEquals(whyOf(testTrials("t", [undefined, undefined])), undefined);
  assertEquals(
    whyOf(testTrials("t", ["expected 1.\n  but 2", undefined, "expected 1.", undefined])),
    "2 of 4 trials: expected 1 (desk_test.ts:12)",
  );
  assertEquals(
    whyOf(testTrials("t", ["a", "b", "b", "c"])),
    "2 of 4 trials: b (desk_test.ts:12); 2 for other reasons",
  );
  const only = (traits: TrialTraits) => whyOf(testTrials("t", ["a"], traits));
  assertEquals(
    only({ outcome: "agent_error", events: [], reason: "Error: x" }),
    "1 of 1 trial: Error: x",
  );
  const message = "more than 3 calls";
  assertEquals(
    only({ outcome: "call_limit", events: [{ kind: "stop", reason: "call_limit", message }] }),
    "1 of 1 trial: more than 3 calls",
  );
  assertEquals(only({ outcome: "no_answer", events: [] }), "1 of 1 trial: no answer");
  const invalid = { outcome: "invalid", events: [], reason: "HTTP 500" } as const;
  const spoiled = testTrials("t", ["a", "a"], invalid);
  assertEquals(whyOf(spoiled), "2 invalid: HTTP 500");
  assertEquals(
    whyOf([...testTrials("t", ["a", undefined]), ...spoiled]),
    "1 of 2 trials: a (desk_test.ts:12); 2 invalid: HTTP 500",
  );
});

Deno.test("the matrix counts how other trials ended, and their first mistakes", () => {
  const wrong = (type: FailureType | undefined, outcome: Trial["outcome"] = "wrong_answer") =>
    summarize(record({
      outcome,
      failures: type === undefined
        ? []
        // The cascade before it is no first mistake.
        : [{ ...failureOf("incorrect_value"), root: false } as Failure, failureOf(type)],
    }));
  const missed = { ...wrong(undefined), missed: { needed: 3, missed: 1 } };
  const trials = [
    ...[wrong("incorrect_value"), wrong("incorrect_value"), wrong("value_not_yet_known")],
    ...[wrong(undefined, "call_limit"), record(), record()],
  ];
  assertEquals(
    whyOf([...trials, missed]),
    "5 of 7 trials: 4 wrong answer (2 incorrect value, 1 value not yet known, 1 missed call), 1 call limit",
  );
  // What all have in common is not counted again.
  assertEquals(
    whyOf([wrong("incorrect_value"), record()]),
    "1 of 2 trials: wrong answer (incorrect value)",
  );
});

Deno.test("the matrix keeps no steering and no long text in its reasons, and neither do summaries", () => {
  const long = `${HOSTILE}${"x".repeat(5000)}`;
  const summaries = [
    ...testTrials("t", [long, long]),
    ...testTrials("u", [undefined], { outcome: "invalid", events: [], reason: long }),
    ...testTrials("v", [undefined], { outcome: "agent_error", events: [], reason: long }),
  ].map(summarize);
  const whys = matrixOf(summaries).slice(1, -1).map((row) => row.at(-1)!);
  for (const why of whys) {
    assertNotMatch(why, STEERING);
    assert(why.length > 20 && why.length <= 300, `${why.length}`);
  }
  assert(whys.some((why) => why.endsWith("(desk_test.ts:12)")));
  for (const { why } of summaries) assert((why ?? "").length <= 160);
});

Deno.test("the matrix has a row a cell and a column a model, the lowest first, and says once what cells share", () => {
  const trials = grid({ a: [4, 2, 0], b: [4, 3, 4] });
  const { section, title, note, heat } = tableOf("matrix", trials)!;
  assertEquals({ section, title, note, heat }, {
    ...{ section: "matrix", title: "Success by cell", heat: "good" },
    note:
      "all: depth 1, connected 0, disconnected 0; share solved, of the valid trials; the lowest first; " +
      "why: how many were not solved, how they ended, and their first mistakes",
  });
  assertEquals(matrixOf(trials), [
    ["cell", "a", "b", "why"],
    ["core 5", "0.0% of 4", "100.0% of 4", "4 of 8 trials: no answer"],
    ["core 4", "50.0% of 4", "75.0% of 4", "3 of 8 trials: no answer"],
    ["core 3", "100.0% of 4", "100.0% of 4", "-"],
    ["all", "50.0% of 12", "91.7% of 12", "-"],
  ]);
  const cell = encodeURIComponent("core 5, depth 1, connected 0, disconnected 0");
  const links = linksOf(trials);
  assertEquals([links[0], links.at(-1)], [
    [
      `#?cell=${cell}&outcome=failed`,
      `#?cell=${cell}&subject=a&outcome=failed`,
      `#?cell=${cell}&subject=b`,
    ],
    ["#?outcome=failed", "#?subject=a&outcome=failed", "#?subject=b&outcome=failed"],
  ]);
});

Deno.test("the matrix keeps names in addresses, whatever is in them", () => {
  const name = "a&cell=b#c +%\ud800 é";
  const [links] = linksOf([...tests({ [name]: 9 }), ...tests({ [name]: 10 }, name)]);
  const query = new URLSearchParams(links![2]!.slice(2));
  assertEquals(query.get("cell"), name.replace("\ud800", "\ufffd"));
  assertEquals([...query.keys()], ["cell", "subject"]);
  assertNotMatch(links!.map((link) => link.slice(1)).join(" "), /[#+"'<>]/);
});

Deno.test("the matrix has unperturbed variants first, and the others in a table of their own", () => {
  const trials = [
    ...grid({ a: [4, 2] }),
    ...grid({ a: [1, 1] }, { perturbation: "RD" }),
    ...grid({ a: [1] }, { perturbation: "WD" }),
    ...grid({ a: [3, 3] }, { strategy: "restate" }),
  ];
  assertEquals(matrixOf(trials)[0], ["cell", "a", "a + restate", "why"]);
  const others = tableOf("cells", trials);
  assertEquals(others!.title, "Success by cell, under perturbations");
  assertEquals(textsOf(others).map((row) => row.slice(0, 3)), [
    ["cell", "a + RD", "a + WD"],
    ["core 3", "25.0% of 4", "25.0% of 4"],
    ["core 4", "25.0% of 4", "-"],
    ["all", "25.0% of 8", "25.0% of 4"],
  ]);
  const cell = encodeURIComponent("core 4, depth 1, connected 0, disconnected 0");
  assertEquals(linksOf(trials, "cells")[1], [
    `#?cell=${cell}&outcome=failed`,
    `#?cell=${cell}&subject=a%20%2B%20RD&outcome=failed`,
  ]);
  // Where all are perturbed, the matrix has them.
  const perturbed = trials.filter((trial) => trial.perturbation === "RD");
  assertEquals(tableOf("matrix", perturbed)!.title, "Success by cell: a + RD");
  assertEquals(tableOf("cells", perturbed), undefined);
});

Deno.test("the matrix has a row a model where more than eight models meet fewer cells", () => {
  const models = (count: number) =>
    grid(Object.fromEntries(
      Array.from({ length: count }, (_, place) => [`m${place}`, [4, place % 5]]),
    ));
  assertEquals(matrixOf(models(8))[0]!.length, 1 + 8 + 1);
  const texts = matrixOf(models(9));
  assertEquals(texts.slice(0, 4), [
    ["model", "core 3", "core 4", "why"],
    ["m0", "100.0% of 4", "0.0% of 4", "4 of 8 trials: no answer"],
    ["m5", "100.0% of 4", "0.0% of 4", "4 of 8 trials: no answer"],
    ["m1", "100.0% of 4", "25.0% of 4", "3 of 8 trials: no answer"],
  ]);
  const cell = encodeURIComponent("core 4, depth 1, connected 0, disconnected 0");
  assertEquals(linksOf(models(9))[0]![2], `#?subject=m0&cell=${cell}&outcome=failed`);
  // Below each cell stands its sum.
  assertEquals(texts.at(-1), ["all", "100.0% of 36", "44.4% of 36", "-"]);
});

Deno.test("the matrix of one variant has all that is known of its cells", () => {
  const trials = [...grid({ a: [4, 2] }), record({ model: "a", outcome: "invalid", id: "x" })];
  assertEquals(tableOf("matrix", trials)!.title, "Success by cell: a");
  const [head, ...rows] = matrixOf(trials);
  assertEquals(head, [
    ...[
      "cell",
      "trials",
      "solved",
      "95% interval",
      "calls if solved",
      "if not",
      "fewest if solved",
    ],
    ...["invalid", "why"],
  ]);
  assertEquals(rows.map((row) => [row[0], row[2], row.at(-1)]), [
    // Nothing is known to be solved where no trial is valid.
    ["core 3, depth 2", "-", "1 invalid: unknown"],
    ["core 4, depth 1", "50.0%", "2 of 4 trials: no answer"],
    ["core 3, depth 1", "100.0%", "-"],
    ["all", "75.0%", "-"],
  ]);
  const cell = encodeURIComponent("core 4, depth 1, connected 0, disconnected 0");
  assertEquals(linksOf(trials)[1], [`#?subject=a&cell=${cell}&outcome=failed`]);
});

Deno.test("reports on own tests speak of tests that pass and fail, and leave out what says nothing of them", () => {
  const trials = [
    ...tests({ "finds a book": 10, "lends a book": 7 }),
    ...tests({ "finds a book": 10, "lends a book": 9 }, "n"),
  ];
  assertEquals(tableOf("matrix", trials)!.title, "Tests");
  assertEquals(matrixOf(trials), [
    ["test", "m", "n", "why"],
    ["lends a book", "7 of 10", "9 of 10", "4 of 20 trials: expected 1 (desk_test.ts:12)"],
    ["finds a book", "10 of 10", "10 of 10", "-"],
    ["all", "17 of 20", "19 of 20", "-"],
  ]);
  assertEquals(matrixOf(tests({ "finds a book": 10, "lends a book": 7 })), [
    ["test", "passed", "95% interval", "calls if passed", "if not", "why"],
    [
      ...["lends a book", "7 of 10", "39.7% to 89.2%", "3.0", "3.0"],
      "3 of 10 trials: expected 1 (desk_test.ts:12)",
    ],
    ["finds a book", "10 of 10", "72.2% to 100.0%", "3.0", "-", "-"],
    ["all", "17 of 20", "64.0% to 94.8%", "3.0", "3.0", "-"],
  ]);
  const named = matrixOf(tests({ "book a room, then pay": 10, "book a room, then cancel": 7 }));
  assertEquals(named.map(([name]) => name).slice(1, 3), [
    ...["book a room, then cancel", "book a room, then pay"],
  ]);
  assertEquals(textsOf(tableOf("outcomes", trials))[0], ["model", "passed", "failed"]);
  const report = reportOf(trials);
  for (const text of [renderReport(report), renderTables(report), renderMarkdown(report)]) {
    assertMatch(text, /\bpassed\b/);
    assertNotMatch(text, /\bcells?\b|\bsolved\b|\bcase |fewest|silent|[Cc]ore size/);
  }
  // Beside other tasks they are tasks.
  const both = renderReport(reportOf([...trials, ...manyRecords(1, 2)]));
  assertMatch(both, /^cell +m +n +why$/m);
  assertMatch(both, /^lends a book +70\.0% of 10 +90\.0% of 10 /m);
});

Deno.test("a terminal has the lowest twelve of many tests, and what they come to", () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, place) => [`test ${place}`, place < 20 ? 10 : 9]),
  );
  const text = renderReport(reportOf(tests(many)));
  const table = text.slice(text.indexOf("Tests: m (the lowest 12 of 30)")).split("\n\n")[0]!;
  const names = table.trimEnd().split("\n").slice(3).map((line) => line.split(/ {2,}/)[0]!);
  assertEquals(names.length, 13);
  assertEquals(names.slice(0, 2), ["test 20", "test 21"]);
  assertEquals(names.at(-1), "all");
  assert(table.includes("290 of 300"));
});
