import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Failure, FailureType } from "../../../lib/calls/failure_types.ts";
import { makeReport, type ReportOptions } from "../../../lib/reports/report.ts";
import type { Table } from "../../../lib/reports/_view.ts";
import { tablesOf } from "../../../lib/reports/_views.ts";
import { linksOf } from "../../../lib/reports/tables/table.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import type { ExpressionKind } from "../../../lib/calls/expressions.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { generatedFrom } from "../../support/generated.ts";
import { crossed, failureOf, record, records } from "../../support/records.ts";

/** The tables of these trials, by their ids. */
function tables(trials: readonly Trial[], options: Partial<ReportOptions> = {}) {
  const all = tablesOf(makeReport(trials, { suite: "s", ...options }));
  assertEquals(new Set(all.map(({ id }) => id)).size, all.length, "ids must differ");
  for (const { rows, id } of all) {
    assertEquals(new Set(rows.map(({ length }) => length)).size, 1, `${id} has uneven rows`);
  }
  return new Map<string, Table>(all.map((table) => [table.id, table]));
}

/** A task of a size, with or without irrelevant functions. */
function sized(core: number, seed: number, connected = 0): Trial["task"] {
  return { core, depth: 1, connected, disconnected: 0, seed };
}

function failuresOf(counts: Partial<Record<FailureType, number>>, root = true): Failure[] {
  return Object.entries(counts).flatMap(([type, count]) =>
    Array.from({ length: count }, () => ({ ...failureOf(type as FailureType), root }) as Failure)
  );
}

/** The example for Table 2: four graphs of each size; the smaller one has irrelevant functions, too. */
const TRIALS: readonly Trial[] = [
  ...["a", "b"].flatMap((model) =>
    [5, 10].flatMap((core) =>
      [1, 2, 3, 4].map((seed) => {
        const solved = model === "a" && seed <= (core === 5 ? 3 : 1);
        return record({
          model,
          task: sized(core, seed, seed % 2 === 0 ? 10 : 0),
          outcome: solved ? "solved" : "wrong_answer",
          calls: core + (solved ? seed : 2 * seed),
        });
      })
    )
  ),
];

Deno.test("tablesOf() has success and calls by core size, as in Table 2 (FuncBenchGen 4.2)", () => {
  const { rows, source, note } = tables(TRIALS).get("core")!;
  assertEquals(source, "Table 2");
  assertEquals(note, "share solved and 95% interval, of n valid trials");
  assertEquals(rows, [
    ["model", ...[5, 10].flatMap((core) => [`core ${core}: solved`, "calls if solved", "if not"])],
    [
      "a",
      ...["75.0% (30.1% to 95.4%), n 4", "7.0", "13.0"],
      ...["25.0% (4.6% to 69.9%), n 4", "11.0", "16.0"],
    ],
    [
      "b",
      ...["0.0% (0.0% to 49.0%), n 4", "-", "10.0"],
      ...["0.0% (0.0% to 49.0%), n 4", "-", "15.0"],
    ],
  ]);
});

Deno.test("tablesOf() has the same without irrelevant functions, as in Table 5 (FuncBenchGen C.1)", () => {
  const { rows, source } = tables(TRIALS).get("no-extra")!;
  assertEquals(source, "Table 5");
  assertEquals(rows.map((row) => row.slice(0, 4)), [
    ["model", "core 5: solved", "calls if solved", "if not"],
    // Seeds 1 and 3: both solved, with 6 and 8 calls.
    ["a", "100.0% (34.2% to 100.0%), n 2", "7.0", "-"],
    ["b", "0.0% (0.0% to 65.8%), n 2", "-", "9.0"],
  ]);
  const plain = TRIALS.filter(({ task }) => generatedFrom(task).connected === 0);
  assertEquals(tables(plain).has("no-extra"), false, "it would be the same once more");
});

Deno.test("tablesOf() has failures by type, of all and of roots and cascades, as in Table 3 (FuncBenchGen 4.6)", () => {
  const trials = [
    record({
      seed: 1,
      failures: [
        ...failuresOf({ value_not_yet_known: 6, incorrect_value: 1 }),
        ...failuresOf({ incorrect_value: 1 }, false),
      ],
    }),
    record({ seed: 2, failures: failuresOf({ function_not_found: 2 }) }),
    record({ seed: 3, outcome: "invalid", failures: failuresOf({ function_not_found: 9 }) }),
    record({ model: "none" }),
  ];
  const { rows, source } = tables(trials).get("failures")!;
  assertEquals(source, "Table 3");
  assertEquals(rows, [
    [
      ...["model", "", "wrong calls", "function_not_found", "wrong_number_of_inputs"],
      ...["value_not_yet_known", "incorrect_value"],
    ],
    ["m", "all", "10", "2 (20.0%)", "0 (0.0%)", "6 (60.0%)", "2 (20.0%)"],
    ["", "roots", "9", "2 (22.2%)", "0 (0.0%)", "6 (66.7%)", "1 (11.1%)"],
    ["", "cascades", "1", "0 (0.0%)", "0 (0.0%)", "0 (0.0%)", "1 (100.0%)"],
    ["none", "all", "0", "-", "-", "-", "-"],
    ["", "roots", "0", "-", "-", "-", "-"],
    ["", "cascades", "0", "-", "-", "-", "-"],
  ]);
});

Deno.test("tablesOf() begins with all models side by side, and tells what they took", () => {
  const usage = { inputTokens: 1_234_567, outputTokens: 89 };
  const trials = [
    ...records(["solved", "no_answer", "invalid"], { model: "gpt-5", usage }),
    record({ model: "sim:planner", simulated: true }),
  ];
  const found = tables(trials);
  const [first] = found.values();
  assertEquals([first!.id, first!.section, first!.rows], ["overview", "headline", [
    [
      ...["model", "solved", "95% interval", "change", "its interval", "invalid"],
      ...["time a trial", "tokens"],
    ],
    ["gpt-5", "50.0% of 2", "9.5% to 90.5%", "reference", "-", "1", "100 ms", "3,703,968"],
    [
      ...["sim:planner (simulated)", "100.0% of 1", "20.7% to 100.0%", "0.0", "-79.3 to +79.3"],
      ...["0", "100 ms", "12"],
    ],
  ]]);
  assertEquals(found.get("effort")!.rows, [
    ["model", "calls if solved", "if not", "fewest calls", "tokens read", "written"],
    ["gpt-5", "3.0", "3.0", "3.0", "3,703,701", "267"],
    ["sim:planner (simulated)", "3.0", "-", "3.0", "10", "2"],
  ]);
});

Deno.test("tablesOf() has costs where a price is known, also those of invalid trials", () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 100_000 };
  const trials = [
    ...records(["solved", "invalid"], { model: "gpt-5", usage }),
    record({ model: "toString" }),
  ];
  const prices = { "gpt-5": { input: 1.25, output: 10 } };
  const { rows } = tables(trials, { prices }).get("overview")!;
  const place = rows[0]!.indexOf("cost");
  assertEquals(rows.map((row) => row[place]), ["cost", "$4.50", "-"]);
  assert(!tables(trials).get("overview")!.rows[0]!.includes("cost"));
});

Deno.test("tablesOf() has all pairs on the same graphs, those with the baseline first, and tasks gained and lost", () => {
  const trials = [
    ...crossed({ both: 20, gained: 10, lost: 2, neither: 8 }),
    ...crossed({ lost: 5 }, { model: "sim:n", simulated: true }),
  ];
  const found = tables(trials);
  const { rows, section, note } = found.get("comparisons")!;
  assertEquals(section, "comparisons");
  assertMatch(note!, /all 4 pairs together, by Holm: .*, and verdicts do not depend on it$/);
  // Only columns that are there are explained.
  assertStringIncludes(note!, "; extra tokens: ");
  const alike = tables(crossed({ both: 3 })).get("comparisons")!;
  assert(!alike.rows[0]!.includes("extra tokens"));
  assert(!alike.note!.includes("extra tokens"));
  assertEquals(rows, [
    [
      ...["candidate", "against", "tasks", "left out", "against solved", "candidate solved"],
      ...[
        "difference",
        "95% interval",
        "gained",
        "lost",
        "McNemar p",
        "adjusted p",
        "extra tokens",
      ],
    ],
    // 40 trials of 12 tokens: 30 are solved with the strategy, and 22 without.
    [
      ...["m + restate", "plain", "40", "0", "55.0%", "75.0%", "+20.0", "+3.5 to +36.6"],
      ...["10", "2", "0.0386", "0.1543", "-6"],
    ],
    [
      ...["sim:n + restate (simulated)", "plain", "5", "0", "100.0%", "0.0%", "-100.0"],
      ...["-100.0 to -13.1", "0", "5", "0.0625", "0.1875", "-"],
    ],
    [
      ...["sim:n + restate (simulated)", "m", "5", "35", "100.0%", "0.0%", "-100.0"],
      ...["-100.0 to -13.1", "0", "5", "0.0625", "0.1875", "-"],
    ],
    [
      ...["sim:n (simulated)", "m", "5", "35", "100.0%", "100.0%", "0.0", "-43.4 to +43.4"],
      ...["0", "0", "1.0000", "1.0000", "0"],
    ],
  ]);
  assertEquals(rows.map((row) => linksOf(row).filter((link) => link !== undefined)), [
    ...[[], ["?pair=0&change=gained", "?pair=0&change=lost"], ["?pair=1&change=lost"]],
    ...[["?pair=2&change=lost"], []],
  ]);
  const changed = found.get("changed-tasks")!;
  const task = (seed: number) => `core 3, depth 2, connected 0, disconnected 0, seed ${seed}`;
  assertEquals(changed.rows.slice(0, 6), [
    [
      ...["task", "candidate", "against", "change", "against solved", "candidate solved"],
      "difference",
    ],
    [task(31), "m + restate", "plain", "lost", "1 of 1", "0 of 1", "-100.0"],
    [task(32), "m + restate", "plain", "lost", "1 of 1", "0 of 1", "-100.0"],
    [task(21), "m + restate", "plain", "gained", "0 of 1", "1 of 1", "+100.0"],
    [task(22), "m + restate", "plain", "gained", "0 of 1", "1 of 1", "+100.0"],
    ["and 8 more", "m + restate", "plain", "gained", "-", "-", "-"],
  ]);
  assertEquals(changed.rows.slice(1, 6).map((row) => linksOf(row)[0]), [
    ...["?pair=0&change=lost&task=1", "?pair=0&change=lost&task=2"],
    ...["?pair=0&change=gained&task=1", "?pair=0&change=gained&task=2", "?pair=0&change=gained"],
  ]);
});

Deno.test("tablesOf() tells of pairs what is left out, and extra costs where they are known", () => {
  const dear = { usage: { inputTokens: 3_000_000, outputTokens: 0 } };
  const trials = [
    ...crossed({ both: 4 }).map((trial) =>
      trial.strategy === "restate" ? { ...trial, ...dear } : trial
    ),
    record({ seed: 99 }),
    ...crossed({ both: 1 }, { model: "n" }),
    record({ model: "o", outcome: "invalid" }),
    record({ model: "o", strategy: "restate" }),
  ];
  const prices = { m: { input: 0.01, output: 0 } };
  const { rows } = tables(trials, { prices }).get("comparisons")!;
  assertEquals(rows.slice(0, 4).map((row) => [...row.slice(0, 5), ...row.slice(-4)]), [
    [
      ...["candidate", "against", "tasks", "left out", "against solved"],
      ...["McNemar p", "adjusted p", "extra tokens", "extra cost"],
    ],
    ["m + restate", "plain", "4", "1", "100.0%", "1.0000", "1.0000", "+2,999,988", "+$0.03"],
    ["n + restate", "plain", "1", "0", "100.0%", "1.0000", "1.0000", "0", "-"],
    ["o + restate", "plain", "0", "1", "-", "-", "-", "-", "-"],
  ]);
});

Deno.test("tablesOf() tests repeated graphs by signs, and rounds no difference to none", () => {
  const repeated = ["plain", "restate"].flatMap((strategy) =>
    [1, 2, 3].flatMap((seed) =>
      [1, 2].map((repetition) =>
        record({
          ...{ strategy, seed, repetition },
          outcome: strategy === "plain" || seed + repetition < 5 ? "solved" : "no_answer",
        })
      )
    )
  );
  const { rows: [heads, row], note } = tables(repeated).get("comparisons")!;
  // Of 0, 0, -0.5 and two more, 1 and -1: -0.1, and 2.776 standard errors of 0.332 to either side.
  assertEquals(row!.slice(5, 10), ["-16.7", "-100.0 to +82.1", "0", "1", "1.0000"]);
  assertEquals(heads![9], "sign flip p");
  assertStringIncludes(note!, "(sign flip: the test where a task ran several times)");
  // Of both kinds of tests each is named.
  const single = ["plain", "restate"].map((strategy) => record({ strategy, model: "n", seed: 8 }));
  const { rows: mixed } = tables([...repeated, ...single]).get("comparisons")!;
  assertEquals(mixed.map((row) => row.slice(9, 12)), [
    ...[["p", "test", "adjusted p"], ["1.0000", "sign flip", "1.0000"]],
    ["1.0000", "McNemar", "1.0000"],
  ]);
  const [, close] = tables(crossed({ both: 3000, lost: 1 })).get("comparisons")!.rows;
  assertEquals(close!.slice(5, 7), ["-0.0", "-0.2 to +0.1"]);
  const [, same] = tables(crossed({ both: 10 })).get("comparisons")!.rows;
  assertEquals(same!.slice(5, 7), ["0.0", "-27.8 to +27.8"]);
});

Deno.test("tablesOf() has no table of pairs that differ in more than one thing", () => {
  const other = records(["solved"], { model: "n", strategy: "restate" });
  assertEquals(tables([...records(["solved"]), ...other]).has("comparisons"), false);
});

Deno.test("tablesOf() counts in its tables what breakdowns leave out", () => {
  const task = { case: "refunds" } as unknown as Trial["task"];
  const found = tables([record({ task, id: "1" }), record({ outcome: "no_answer" })]);
  assertEquals(found.get("overview")!.rows[1]!.slice(0, 2), ["m", "50.0% of 2"]);
  assertMatch(found.get("core")!.rows[1]![1]!, /^0\.0% .*, n 1$/);
  assertEquals(found.get("matrix")!.rows.map(([name, trials]) => [name, trials]), [
    ["cell", "trials"],
    ["core 3, depth 2, connected 0, disconnected 0", "1"],
    ["refunds", "1"],
    ["all", "2"],
  ]);
});

Deno.test("tablesOf() says how trials ended, without ways in which none did", () => {
  const trials = [
    ...records(["invalid", "solved", "call_limit", "solved"]),
    ...records(["wrong_answer"], { model: "n" }),
  ];
  assertEquals(tables(trials).get("outcomes")!.rows, [
    ["model", "solved", "wrong_answer", "call_limit", "invalid"],
    ["m", "2", "0", "1", "1"],
    ["n", "0", "1", "0", "0"],
  ]);
});

Deno.test("tablesOf() has behaviours of all models, whatever they are called", () => {
  const behaviours = ["silent", "constructor"] as unknown as Trial["behaviours"];
  const trials = [
    record({ behaviours }),
    record({ model: "n", grounded: false }),
    // What infrastructure spoiled shows nothing, and no wrong answer is a guess.
    record({ model: "n", behaviours, outcome: "invalid" }),
    record({ model: "n", grounded: false, outcome: "no_answer" }),
  ];
  assertEquals(tables(trials).get("behaviours")!.rows, [
    ["model", "silent", "constructor", "ungrounded"],
    ["m", "1", "1", "0"],
    ["n", "0", "0", "1"],
  ]);
  assertEquals(tables([record()]).has("behaviours"), false);
});

Deno.test("tablesOf() has repetitions of models whose graphs were repeated", () => {
  const trials = [
    ...[2, 1, 0].flatMap((solved, seed) =>
      [1, 2].map((repetition) =>
        record({ seed, repetition, outcome: repetition <= solved ? "solved" : "no_answer" })
      )
    ),
    ...[1, 2].map((repetition) =>
      record({ model: "spoiled", repetition, outcome: repetition === 1 ? "invalid" : "solved" })
    ),
    record({ model: "once" }),
  ];
  assertEquals(tables(trials).get("repetitions")!.rows.slice(1), [
    ["m", "2", "66.7%", "33.3%", "3", "0"],
    ["spoiled", "2", "not available", "not available", "0", "1"],
  ]);
});

Deno.test("tablesOf() has dashes where nothing can be said", () => {
  const trials = [
    record({ model: "a", task: sized(5, 1), outcome: "invalid" }),
    record({ model: "b", task: sized(10, 1), minimumCalls: null }),
  ];
  const found = tables(trials);
  assertEquals(found.get("core")!.rows.slice(1), [
    ["a", "-", "-", "-", "-", "-", "-"],
    ["b", "-", "-", "-", "100.0% (20.7% to 100.0%), n 1", "3.0", "-"],
  ]);
  assertEquals(found.get("overview")!.rows[1], ["a", "-", "-", "1", "-", "12"]);
  assertEquals(found.get("effort")!.rows[1]!.slice(1, 3), ["-", "-"]);
});

Deno.test("tablesOf() has the fewest calls where those of any model are known, or all trials are invalid", () => {
  const known = record({ model: "a" });
  const unknown = record({ model: "b", minimumCalls: null });
  const rowsOf = (...trials: Trial[]) =>
    tables(trials).get(trials.length > 1 ? "effort" : "matrix")!.rows;
  const effort = rowsOf(known, unknown);
  const place = effort[0]!.indexOf("fewest calls");
  assertEquals(effort.map((row) => row[place]), ["fewest calls", "3.0", "-"]);
  assert(!rowsOf(unknown)[0]!.includes("fewest calls"));
  // The matrix of a single variant has its calls, and the table of effort tokens alone.
  assertEquals(tables([known]).get("effort")!.rows, [["model", "tokens read", "written"], [
    ...["a", "10", "2"],
  ]]);
  assertEquals(tables([known]).get("effort")!.note, undefined);
  const free = { ...known, usage: { inputTokens: 0, outputTokens: 0 } };
  assertEquals(tables([free]).has("effort"), false);
  assert(rowsOf(record({ outcome: "invalid" }))[0]!.includes("fewest calls"));
});

Deno.test("tablesOf() of nothing has no table", () => {
  assertEquals(tablesOf(makeReport([], { suite: "s" })), []);
});

Deno.test("tablesOf() calls simulated models simulated in every table that names models", () => {
  const trials = TRIALS.flatMap((trial) =>
    ["plain", "restate"].map((strategy) => ({
      ...trial,
      strategy,
      model: { requested: "sim:x", served: "sim:x", simulated: true },
      behaviours: ["silent" as const],
    }))
  ).flatMap((trial) => [trial, { ...trial, repetition: 2 }]);
  const found = [...tables(trials).values()];
  assert(found.length >= 10, found.map(({ id }) => id).join());
  for (const { id, title, rows } of found) {
    for (const text of [title, ...rows.flat()].filter((text) => text.includes("sim:x"))) {
      assert(text.endsWith(" (simulated)"), `${id}: ${text}`);
    }
  }
});

Deno.test("tablesOf() tells what strategies did, of those that did something", () => {
  const work = (asked: number, sentBack = 0, mended = 0, unusable = 0) => ({
    work: { asked, unusable, sentBack, mended },
  });
  const trials: TrialSummary[] = [
    record(),
    { ...record({ strategy: "repair", seed: 1 }), ...work(1200, 3, 2) },
    { ...record({ strategy: "repair", seed: 2 }), ...work(2, 1, 1) },
    record({ strategy: "repair", seed: 3 }),
    { ...record({ strategy: "repair", seed: 4, outcome: "invalid" }), ...work(9, 9, 9, 9) },
    { ...record({ strategy: "plan_then_call" }), ...work(1, 0, 0, 1) },
  ];
  const found = tablesOf(makeReport(trials, { suite: "s" }));
  const ids = found.map(({ id }) => id);
  assertEquals(ids.slice(0, 5), [
    ...["overview", "comparisons", "matrix", "effort", "strategy-work"],
  ]);
  const { rows, title } = found[4]!;
  assertEquals(title, "Work of strategies");
  assertEquals(rows, [
    ["strategy", "valid trials", "asked", "without use", "sent back", "mended", "share mended"],
    ["m + repair", "3", "1,202", "0", "4", "3", "75.0% (3.9% to 99.6%)"],
    ["m + plan_then_call", "1", "1", "1", "0", "0", "-"],
  ]);
  assertEquals(tables([record(), record({ strategy: "restate" })]).has("strategy-work"), false);
});

Deno.test("tablesOf() has no table of wrong calls where none was wrong", () => {
  const wrong = record({ failures: [failureOf("incorrect_value")] });
  assertEquals(tables([record({ model: "n" }), wrong]).has("failures"), true);
  assertEquals(tables([record()]).has("failures"), false);
  // What infrastructure spoiled says nothing.
  assertEquals(tables([{ ...wrong, outcome: "invalid", solved: false }]).has("failures"), false);
});

Deno.test("tablesOf() of probes speaks of tasks, as they have no graphs", () => {
  const trials = ["plain", "indirection"].flatMap((strategy) =>
    [1, 2].flatMap((seed) =>
      [1, 2].map((repetition) =>
        record({ task: { case: "oracle", seed }, strategy, repetition, behaviours: ["silent"] })
      )
    )
  );
  const found = tables(trials);
  assertEquals([...found.keys()], [
    ...["overview", "comparisons", "matrix", "effort", "probes", "outcomes", "behaviours"],
    "repetitions",
  ]);
  assertEquals(/graph/.test(JSON.stringify([...found.values()])), false);
});

Deno.test("tablesOf() sets the oracle beside the oracle against the usual advice (Indirection, Alignment-based resistance)", () => {
  // 3 of 40 and 15 of 40 answer without asking; 0 and 4 ignore the decision.
  const arm = (probe: "oracle" | "oracle_conflict", averse: number, ignored: number) =>
    Array.from({ length: 40 }, (_, seed) =>
      record({
        task: { case: probe, seed },
        behaviours: seed < averse
          ? ["aversion"]
          : seed < averse + ignored
          ? ["ignored_result"]
          : [],
      }));
  const trials = [...arm("oracle", 3, 0), ...arm("oracle_conflict", 15, 4)];
  const { rows } = tables(trials).get("conflict")!;
  // Newcombe's interval from the two Wilson intervals, worked out apart.
  const wilson = (count: number) => {
    const [z2, n, p] = [1.959963984540054 ** 2, 40, count / 40];
    const half = Math.sqrt(z2) * Math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    const middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    return [Math.max(0, middle - half), middle + half, p] as const;
  };
  const between = (one: number, other: number) => {
    const [[l1, u1, p1], [l2, u2, p2]] = [wilson(one), wilson(other)];
    return [p1 - p2 - Math.hypot(p1 - l1, u2 - p2), p1 - p2 + Math.hypot(u1 - p1, p2 - l2)]
      .map((bound) => `${bound < 0 ? "-" : "+"}${Math.abs(100 * bound).toFixed(1)}`).join(" to ");
  };
  assertEquals(rows, [
    ["model", "behaviour", "trials", "oracle", "conflict", "difference", "95% interval"],
    ["m", "aversion", "80", "7.5%", "37.5%", "+30.0", between(15, 3)],
    ["m", "ignored_result", "80", "0.0%", "10.0%", "+10.0", between(4, 0)],
  ]);
  assertEquals(tables(arm("oracle", 3, 0)).has("conflict"), false, "there is nothing to compare");
});

Deno.test("tablesOf() counts how long sums were written (Indirection, Computational overconfidence)", () => {
  const asked = (kinds: readonly ExpressionKind[], seed: number): TrialSummary => ({
    ...summarize(record({ task: { case: "mental_arithmetic", seed } })),
    expressions: kinds,
  });
  const trials = [
    asked(["invalid", "closed_form"], 1),
    asked(["brute_force"], 2),
    asked(["other", "other", "brute_force", "closed_form", "closed_form"], 3),
    summarize(record({ task: { case: "mental_arithmetic", seed: 4 } })),
  ];
  const all = tablesOf(makeReport(trials, { suite: "s" }));
  assertEquals(all.find(({ id }) => id === "expressions")!.rows, [
    ["model", "calls", "invalid", "brute force", "closed form", "other"],
    ["m", "8", "1 (12.5%)", "2 (25.0%)", "3 (37.5%)", "2 (25.0%)"],
  ]);
  assertEquals(tables([record({ task: { case: "oracle", seed: 1 } })]).has("expressions"), false);
});

Deno.test("tablesOf() has a column of unchanged trials where there are any, and nowhere else", () => {
  const rd = { perturbation: "RD" } as const;
  const trials = [
    record({ seed: 1, ...rd, failures: failuresOf({ incorrect_value: 1 }) }),
    record({ seed: 2, ...rd, outcome: "invalid" }),
    record({ seed: 3, ...rd, changed: false, failures: failuresOf({ incorrect_value: 5 }) }),
    record({ seed: 4, ...rd, changed: false, outcome: "no_answer" }),
    record(),
  ];
  const all = tables(trials);
  const overview = all.get("overview")!.rows;
  const place = overview[0]!.indexOf("unchanged");
  assertEquals(overview.map((row) => [row[1], ...row.slice(place - 1, place + 1)]), [
    ["solved", "invalid", "unchanged"],
    ["100.0% of 1", "1", "2"],
    ["100.0% of 1", "0", "0"],
  ]);
  assertEquals(all.get("outcomes")!.rows, [
    ["model", "solved", "invalid", "unchanged"],
    ["m + RD", "1", "1", "2"],
    ["m", "1", "0", "0"],
  ]);
  assertEquals(all.get("cells")!.rows[1]!.slice(-2), ["1", "2"]);
  assertEquals(all.get("failures")!.rows[1]!.slice(0, 3), ["m + RD", "all", "1"]);
  assertEquals(all.get("core")!.rows[1]![1], "100.0% (20.7% to 100.0%), n 1");
  for (const [id, { rows }] of tables(trials.filter(({ changed }) => changed !== false))) {
    assert(!rows[0]!.includes("unchanged"), id);
  }
});
