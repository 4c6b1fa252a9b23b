// The headline: what a report says first, for who decides.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ComparedPair, comparePairs } from "../../lib/gate/comparison.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../../lib/gate/gate_report.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import type { Variant } from "../../lib/gate/variant.ts";
import { headlineText, measuredText, verdictLine } from "../../lib/reports/_answers.ts";
import { Report, type ReportOptions } from "../../lib/reports/report.ts";
import type { Table } from "../../lib/reports/_view.ts";
import { tablesOf } from "../../lib/reports/_views.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { columnsOf, recordsIn, tablesIn, textsOf } from "../support/reports.ts";
import { manyRecords, planOf, record } from "../support/records.ts";

/** The verdicts of a gate over these trials. */
function gateOf(trials: readonly Trial[], policy: GatePolicy) {
  const complete = completePolicy(policy);
  return reportVerdicts("s", decideTrials(trials, planOf(trials), complete), complete);
}

/** The table of these trials. */
function overviewOf(trials: readonly Trial[], options: Partial<ReportOptions> = {}): Table {
  return tableIn(new Report(trials, { suite: "s", ...options }));
}

function tableIn(report: Report): Table {
  return tablesIn(report, "overview")[0]!;
}

/** The cells of the columns with these headings, in each row. */
function columns(table: Table, ...heads: readonly string[]) {
  const all = columnsOf(table);
  return table.rows.map((_, place) => heads.map((head) => all[head]?.[place]));
}

/** A comparison, as a report has it. */
function pair(
  subject: Variant,
  against: Variant,
  of: ComparedPair["of"],
  difference: number,
): ComparedPair {
  const interval = { lower: difference - 0.1, upper: difference + 0.1 };
  const success = { difference, interval, candidate: 0, baseline: 0, gained: 0, lost: 0 };
  const made = { subject, against, of, success: { ...success, mcNemar: null }, simulated: false };
  return made as unknown as ComparedPair;
}

const variant = (model: string, traits: Partial<Variant> = {}): Variant => ({
  ...{ model, strategy: "plain", perturbation: "none", ...traits },
});

/** A report with these comparisons. */
function compared(
  trials: readonly Trial[],
  comparisons: readonly ComparedPair[],
  options: Partial<ReportOptions> = {},
): Report {
  return new Report(trials, { suite: "s", ...options }, new Map([[comparePairs, comparisons]]));
}

Deno.test("the headline has the verdict, the rate and the effort of each variant, and no empty column", () => {
  const [good, bad] = [
    manyRecords(95, 100, { durationMs: 1500 }),
    manyRecords(5, 100, { model: "sim:n", simulated: true, durationMs: 0 }),
  ];
  const trials = [...good, ...bad];
  const table = overviewOf(trials, {
    gates: [gateOf(trials, { successRate: 0.8 })],
    prices: { m: { input: 1000, output: 0 } },
  });
  assertEquals([table.id, table.section, table.title], ["overview", "headline", "Success"]);
  assertEquals(textsOf(table), [
    [
      ...["model", "verdict", "solved", "95.0% bounds, one-sided", "change", "95% interval"],
      ...["cost", "time a trial", "tokens"],
    ],
    // What did not pass stands first.
    [
      ...["sim:n (simulated)", "FAIL", "5.0% of 100", "1.9% to 10.3%", "-90.0"],
      ...["-94.5 to -82.6", "-", "-", "1,200"],
    ],
    ["m", "PASS", "95.0% of 100", "89.7% to 98.1%", "reference", "-", "$1.00", "1.5 s", "1,200"],
  ]);
  assertEquals(table.rows[0]!.map(({ link }) => link).slice(0, 4), [
    "#?subject=sim%3An%20%28simulated%29",
    undefined,
    "#?subject=sim%3An%20%28simulated%29&outcome=failed",
    undefined,
  ]);
  assertEquals(textsOf(overviewOf([record()]))[0], [
    ...["model", "solved", "95% interval", "time a trial", "tokens"],
  ]);
  assertEquals(
    [overviewOf([record({ task: { case: "t", seed: 1 } })])].map((own) => [
      own.title,
      textsOf(own)[0]![1],
    ]),
    [["Results", "passed"]],
  );
});

Deno.test("the headline shows the worst verdict where several gates decided on a variant", () => {
  const trials = manyRecords(85, 100);
  const gates = [0.8, 0.95, 0.85].map((successRate) => gateOf(trials, { successRate }));
  assertEquals(gates.map(({ verdict }) => verdict), ["pass", "fail", "undecided"]);
  assertEquals(columns(overviewOf(trials, { gates }), "verdict"), [["FAIL"]]);
});

Deno.test("the headline has the bounds of a gate only where it decided on all variants", () => {
  const good = manyRecords(95, 100, { model: "good" });
  const trials = [...good, ...manyRecords(20, 100, { model: "bad" })];
  const gates = [gateOf(trials, { successRate: 0.8 })];
  const { evidence } = gates[0]!.verdicts[1]!;
  const [record] = recordsIn(new Report(trials, { suite: "s", gates }), "overview");
  assertEquals([record!["solved_lower"], record!["solved_upper"]], [
    evidence!.lower,
    evidence!.upper,
  ]);
  const some = overviewOf(trials, { gates: [gateOf(good, { successRate: 0.8 })] });
  assertEquals(columns(some, "model", "verdict", "95% interval")[0]!.slice(0, 2), ["bad", "-"]);
  assertEquals(some.heads.map(({ text }) => text).includes("95.0% bounds, one-sided"), false);
});

Deno.test("a rate on which a gate decided has the bounds of its verdict, and no other interval in any table", () => {
  // 95 of 100, of a single variant and of two.
  const plain = manyRecords(95, 100);
  const both = [...plain, ...manyRecords(95, 100, { perturbation: "WT" })];
  const tablesWith = (trials: readonly Trial[], gates?: readonly GateReport[]) =>
    tablesOf(new Report(trials, { suite: "s", ...(gates && { gates }) }))
      .filter((table) => textsOf(table).flat().some((text) => text.includes("88.8% to 97.8%")))
      .map(({ id }) => id);
  assertEquals(tablesWith(plain), ["overview", "matrix", "core"]);
  assertEquals(tablesWith(both), ["overview", "matrix", "core", "perturbations-1", "cells"]);
  for (const trials of [plain, both]) {
    assertEquals(tablesWith(trials, [gateOf(trials, { successRate: 0.8 })]), []);
  }
});

Deno.test("the headline has the trials on which a sequential gate decided, beside its bounds", () => {
  const trials = manyRecords(300, 300);
  const policy = completePolicy({ successRate: 0.7, sequential: true });
  const gates = [
    reportVerdicts(
      "s",
      decideTrials(trials, planOf(trials), policy, { rule: sequentialRule(policy, 1) }),
      policy,
    ),
  ];
  const { evidence } = gates[0]!.verdicts[0]!;
  assert(evidence !== undefined && evidence.valid < 300, "it decided early");
  const report = new Report(trials, { suite: "s", gates });
  assertEquals(columns(tableIn(report), "solved"), [[`100.0% of ${evidence.valid}`]]);
  const [row] = recordsIn(report, "overview");
  assertEquals([row!["solved_of"], row!["solved_lower"]], [evidence.valid, evidence.lower]);
});

Deno.test("the headline has differences of one kind where a gate decided on some variants alone", () => {
  const trials = [
    ...manyRecords(90, 100, { model: "old" }),
    ...manyRecords(70, 100, { model: "new" }),
  ];
  const others = manyRecords(60, 100, { model: "old", perturbation: "RD" });
  const gates = [gateOf(trials, { baseline: "old" })];
  const report = new Report([...trials, ...others], { suite: "s", gates });
  const changes = columns(tableIn(report), "change", "95% interval").filter(([change]) =>
    change !== "reference"
  );
  assertEquals(changes.map(([change]) => change), ["-20.0", "-30.0"]);
  const [pairs] = tablesIn(report, "comparisons");
  assertEquals(columns(pairs!, "difference", "95% interval"), changes);
});

Deno.test("the headline draws rates beside what the gate asks for, and differences around zero with its margin", () => {
  const trials = [
    ...manyRecords(95, 100, { model: "good" }),
    ...manyRecords(20, 100, { model: "bad" }),
  ];
  const drawn = (policy?: GatePolicy) => {
    const gates = policy === undefined ? [] : [gateOf(trials, policy)];
    return overviewOf(trials, { gates }).rows
      .map((row) => row.flatMap(({ drawing }) => drawing ?? []));
  };
  const [bad, good] = drawn({ successRate: 0.8, margin: 0.1 }).map(([rate]) => rate);
  assertEquals([bad!.from, bad!.to, bad!.value, good!.value], [0, 1, 0.2, 0.95]);
  for (const { target, least } of [bad!, good!]) {
    assertEquals([target, least!.toFixed(3)], [0.8, "0.700"]);
  }
  const [plain] = drawn().map(([rate]) => rate);
  assertEquals([plain!.value, plain!.target, plain!.least], [0.95, undefined, undefined]);
  const upgrade = drawn({ baseline: "good", margin: 0.05 })[0]![1]!;
  assertEquals([upgrade.from, upgrade.to, upgrade.value], [-0.9, 0.9, -0.75]);
  assertEquals([upgrade.target, upgrade.least], [0, -0.05]);
  assertEquals(
    overviewOf([record({ outcome: "invalid" })]).rows[0]!.filter(({ drawing }) => drawing),
    [],
  );
});

Deno.test("the headline has what changed by the evidence of a gate that compares", () => {
  const trials = [
    ...manyRecords(90, 100, { model: "sim:old", simulated: true }),
    ...manyRecords(70, 100, { model: "new" }),
  ];
  const gates = [gateOf(trials, { baseline: "sim:old" })];
  const { evidence } = gates[0]!.verdicts.find(({ model }) => model === "new")!;
  assert(evidence?.of === "difference");
  // The comparison of the report is not needed then.
  const report = compared(trials, [pair(variant("new"), variant("sim:old"), "model", 0.5)], {
    gates,
  });
  assertEquals(
    gates[0]!.verdicts.map((one) => [one.model, measuredText(one)]),
    [["new", "70.0%, baseline 90.0%"]],
  );
  const table = tableIn(report);
  assertEquals(columns(table, "verdict", "change", "95.0% bounds, one-sided", "against"), [
    [
      ...["FAIL", "-20.0"],
      `${(Math.floor(1000 * evidence.lower) / 10).toFixed(1)} to ${
        (Math.ceil(1000 * evidence.upper) / 10).toFixed(1)
      }`,
      undefined,
    ],
    ["-", "reference", "-", undefined],
  ]);
  assertMatch(table.note!, /change: in percentage points, on the same tasks/);
  // A baseline from a file has no row.
  const policy = completePolicy({ baseline: { file: "old.json" } });
  const candidate = manyRecords(70, 100, { model: "new" });
  const decided = decideTrials(candidate, planOf(candidate), policy, {
    baseline: { file: "old.json", trials: manyRecords(90, 100, { model: "new" }) },
  });
  const alone = overviewOf(candidate, { gates: [reportVerdicts("s", decided, policy)] });
  assertEquals(columns(alone, "change", "against"), [["-20.0", "new (old.json)"]]);
});

Deno.test("the headline has what changed against the likeliest reference of a variant", () => {
  const all = [
    variant("a"),
    variant("b"),
    variant("b", { strategy: "restate" }),
    variant("b", { strategy: "restate", perturbation: "RD" }),
  ];
  const trials = all.map(({ model, strategy, perturbation }, index) =>
    record({ model, strategy, perturbation, index, id: `${index}` })
  );
  const [a, b, restated, perturbed] = all as [Variant, Variant, Variant, Variant];
  const comparisons = [
    pair(b, a, "model", 0.11),
    pair(restated, b, "strategy", 0.22),
    pair(perturbed, b, "model", 0.44),
    pair(perturbed, restated, "perturbation", -0.33),
  ];
  const table = tableIn(compared(trials, comparisons));
  assertEquals(table.rows.map((row) => row.slice(3, 6).map(({ text }) => text)), [
    ["-", "-", "-"],
    ["+11.0", "+1.0 to +21.0", "a"],
    ["+22.0", "+12.0 to +32.0", "b"],
    ["-33.0", "-43.0 to -23.0", "b + restate"],
  ]);
  // With one reference its row says so.
  const two = tableIn(compared(trials.slice(0, 2), comparisons.slice(0, 1)));
  assertEquals(columns(two, "change"), [["reference"], ["+11.0"]]);
});

Deno.test("the headline of many variants begins with the lowest", () => {
  const trials = ["none", ..."abcdefghijkl"].flatMap((name, place) =>
    manyRecords(name === "none" ? 15 : place, 20, { perturbation: name, id: name })
  );
  const { rows, note } = overviewOf(trials);
  assertEquals(rows.map(([name]) => name!.text), [
    ...[..."abcdefghijkl"].map((name) => `m + ${name}`),
    "m",
  ]);
  assertMatch(note!, /; the lowest first/);
});

Deno.test("headlineText() says in a sentence whether the later one is worse", () => {
  const lineOf = (solved: Readonly<Record<string, number>>) =>
    headlineText(
      new Report(
        Object.entries(solved).flatMap(([model, count]) => manyRecords(count, 100, { model })),
        { suite: "s" },
      ),
    );
  const lines = [
    [
      { old: 100, new: 56 },
      "new solved 44.0 points less than old on 100 tasks (p below 0.0001): worse.",
    ],
    [
      { old: 56, new: 100 },
      "new solved 44.0 points more than old on 100 tasks (p below 0.0001): better.",
    ],
    [
      { old: 90, new: 89 },
      "new solved 1.0 points less than old on 100 tasks (p 1.0000), which may be chance; a fall of 9 points " +
      "would have been found in 80% of such runs.",
    ],
    [
      { old: 90, new: 90 },
      "new solved as much as old on 100 tasks: no difference found; a fall of 8 points would have been " +
      "found in 80% of such runs.",
    ],
    [
      { old: 90, one: 90, other: 90 },
      "The worst of 2: one solved as much as old on 100 tasks: no difference found; a fall of 9 points would have " +
      "been found in 80% of such runs.",
    ],
    [
      { old: 90, one: 60, other: 30, third: 95 },
      "The worst of 3: other solved 60.0 points less than old on 100 tasks (adjusted p below 0.0001): worse.",
    ],
  ] as const;
  for (const [solved, line] of lines) assertEquals(lineOf(solved), line);
  assertEquals(lineOf({ old: 90 }), undefined);
  const early = [...manyRecords(90, 100, { model: "old" }), ...manyRecords(10, 100)];
  assertEquals(
    headlineText(new Report(early, { suite: "s", compared: { anytime: true } })),
    "m solved 80.0 points less than old on 100 tasks: results could end the run, so only its gate decides.",
  );
  const name = `\u202e${"x".repeat(200)}`;
  const long = lineOf({ old: 90, [name]: 10 })!;
  assert(long.length < 180 && !long.includes("\u202e"), long);
});

Deno.test("a report names the variant of its only verdict, and those without one stand below what did not pass", () => {
  const good = manyRecords(100, 100);
  const bad = manyRecords(2, 100, { model: "bad" });
  const report = new Report([...good, ...bad], {
    suite: "s",
    gates: [gateOf(good, { successRate: 0.7 })],
  });
  const line = "PASS: needs 70% (65% with tolerance): proved. Measured: 100.0% of 100.";
  assertEquals(verdictLine(report.gates, report), `m: ${line}`);
  assertEquals(verdictLine(report.gates), line);
  assertEquals(columns(tableIn(report), "model", "verdict"), [["bad", "-"], ["m", "PASS"]]);
  // What a gate compared with needs no verdict of its own.
  const all = [...good, ...manyRecords(90, 100, { model: "new" })];
  const upgrade = gateOf(all, { baseline: "m", margin: 0.02 });
  assertEquals(headlineText(new Report(all, { suite: "s", gates: [upgrade] })), undefined);
});

Deno.test("verdictLine() says what the gate asks for, and whether it is proved", () => {
  const trials = [
    ...manyRecords(90, 100, { model: "old" }),
    ...manyRecords(70, 100, { model: "new" }),
  ];
  const lineOf = (policy: GatePolicy) => {
    const all = "baseline" in policy ? trials : trials.slice(100);
    return verdictLine([gateOf(all, policy)]);
  };
  const rate = "Measured: 70.0% of 100.";
  const upgrade = "Measured: 70.0%, baseline 90.0%.";
  const lines: [GatePolicy, string][] = [
    [{ successRate: 0.6, margin: 0 }, `PASS: needs 60%: proved. ${rate}`],
    [{ successRate: 0.9 }, `FAIL: needs 90% (85% with tolerance): it is below, proved. ${rate}`],
    [
      { successRate: 0.7, margin: 0.025 },
      `UNDECIDED: needs 70% (67.5% with tolerance): these trials cannot tell; a run with about 865 more trials would. ${rate}`,
    ],
    [{ baseline: "old" }, `FAIL: may fall 5 points below old: it fell, proved. ${upgrade}`],
    [{ baseline: "old", margin: 0 }, `FAIL: must not fall below old: it fell, proved. ${upgrade}`],
  ];
  for (const [policy, line] of lines) assertEquals(lineOf(policy), line);
  const gates = [0.6, 0.9].map((successRate) => gateOf(trials.slice(100), { successRate }));
  assertEquals(verdictLine(gates), "FAIL: of 2 verdicts 1 fail, 1 pass");
  assertEquals(verdictLine([gates[1]!, gates[1]!]), "FAIL: all 2 verdicts");
  const problem = reportProblem("s", "shards are missing");
  assertEquals(verdictLine([problem]), "INVALID: shards are missing.");
  assertEquals(
    verdictLine([problem, gates[0]!]),
    "INVALID: of 2 verdicts 1 invalid, 1 pass",
  );
  assertEquals(verdictLine([]), undefined);
});
