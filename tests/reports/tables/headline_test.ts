import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ComparedPair } from "../../../lib/gate/comparison.ts";
import { decideTrials } from "../../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../../lib/gate/gate_report.ts";
import { completePolicy, type GatePolicy } from "../../../lib/gate/policy.ts";
import type { Variant } from "../../../lib/gate/variant.ts";
import { makeReport } from "../../../lib/reports/report.ts";
import {
  headlineText,
  measuredText,
  overviewTable,
  timeText,
  verdictLine,
} from "../../../lib/reports/tables/_headline.ts";
import { linksOf } from "../../../lib/reports/tables/table.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { manyRecords, planOf, record } from "../../support/records.ts";

/** The verdicts of a gate over these trials. */
function gateOf(trials: readonly Trial[], policy: GatePolicy) {
  const complete = completePolicy(policy);
  return reportVerdicts("s", decideTrials(trials, planOf(trials), complete), complete);
}

/** The cells of the columns with these headings, in each row. */
function columns(rows: readonly (readonly string[])[], ...heads: readonly string[]) {
  const places = heads.map((head) => rows[0]!.indexOf(head));
  return rows.slice(1).map((row) => places.map((place) => row[place]));
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

Deno.test("overviewTable() has the verdict, the rate and the effort of each variant, and no empty column", () => {
  const [good, bad] = [
    manyRecords(95, 100, { durationMs: 1500 }),
    manyRecords(5, 100, { model: "sim:n", simulated: true, durationMs: 0 }),
  ];
  const trials = [...good, ...bad];
  const table = overviewTable(makeReport(trials, {
    suite: "s",
    gates: [gateOf(trials, { successRate: 0.8 })],
    prices: { m: { input: 1000, output: 0 } },
  }));
  assertEquals([table.id, table.section], ["overview", "headline"]);
  assertEquals(table.rows, [
    [
      ...["model", "verdict", "solved", "95% interval", "change", "its interval"],
      ...["cost", "time a trial", "tokens"],
    ],
    // What did not pass stands first.
    [
      ...["sim:n (simulated)", "FAIL", "5.0% of 100", "2.2% to 11.2%", "-90.0"],
      ...["-94.5 to -82.6", "-", "-", "1,200"],
    ],
    ["m", "PASS", "95.0% of 100", "88.8% to 97.8%", "reference", "-", "$1.00", "1.5 s", "1,200"],
  ]);
  assertEquals(linksOf(table.rows[1]!).slice(0, 4), [
    "?subject=sim%3An%20%28simulated%29",
    undefined,
    "?subject=sim%3An%20%28simulated%29&outcome=failed",
    undefined,
  ]);
  const { rows } = overviewTable(makeReport([record()], { suite: "s" }));
  assertEquals(rows[0], ["model", "solved", "95% interval", "time a trial", "tokens"]);
});

Deno.test("overviewTable() shows the worst verdict where several gates decided on a variant", () => {
  const trials = manyRecords(85, 100);
  const gates = [0.8, 0.95, 0.85].map((successRate) => gateOf(trials, { successRate }));
  assertEquals(gates.map(({ verdict }) => verdict), ["pass", "fail", "undecided"]);
  const { rows } = overviewTable(makeReport(trials, { suite: "s", gates }));
  assertEquals(columns(rows, "verdict"), [["FAIL"]]);
});

Deno.test("overviewTable() has what changed by the evidence of a gate that compares", () => {
  const trials = [
    ...manyRecords(90, 100, { model: "sim:old", simulated: true }),
    ...manyRecords(70, 100, { model: "new" }),
  ];
  const gates = [gateOf(trials, { baseline: "sim:old" })];
  const { evidence } = gates[0]!.verdicts.find(({ model }) => model === "new")!;
  assert(evidence?.of === "difference");
  // The comparison of the report is not needed then.
  const comparisons = [pair(variant("new"), variant("sim:old"), "model", 0.5)];
  const report = { ...makeReport(trials, { suite: "s", gates }), comparisons };
  assertEquals(
    gates[0]!.verdicts.map((one) => [one.model, measuredText(one)]),
    [["new", "70.0% of 100, baseline 90.0%"]],
  );
  const { rows, note } = overviewTable(report);
  const [[, interval]] = columns(rows, "change", "its interval") as [[string, string]];
  assertEquals(columns(rows, "verdict", "change"), [["FAIL", "-20.0"], ["-", "reference"]]);
  assertEquals(
    interval,
    // Rounded so that no bound looks better than it is.
    `${(Math.floor(1000 * evidence.lower) / 10).toFixed(1)} to ${
      (Math.ceil(1000 * evidence.upper) / 10).toFixed(1)
    }`,
  );
  assert(!rows[0]!.includes("against"));
  assertMatch(note!, /change: in percentage points, .* the bounds of the verdict/);
  // A baseline from a file has no row.
  const policy = completePolicy({ baseline: { file: "old.json" } });
  const candidate = manyRecords(70, 100, { model: "new" });
  const decided = decideTrials(candidate, planOf(candidate), policy, {
    baseline: { file: "old.json", trials: manyRecords(90, 100, { model: "new" }) },
  });
  const alone = overviewTable(makeReport(candidate, {
    suite: "s",
    gates: [reportVerdicts("s", decided, policy)],
  }));
  assertEquals(columns(alone.rows, "change", "against"), [["-20.0", "new (old.json)"]]);
});

Deno.test("overviewTable() has what changed against the likeliest reference of a variant", () => {
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
  const { rows } = overviewTable({ ...makeReport(trials, { suite: "s" }), comparisons });
  assertEquals(columns(rows, "change", "its interval", "against"), [
    ["-", "-", "-"],
    ["+11.0", "+1.0 to +21.0", "a"],
    ["+22.0", "+12.0 to +32.0", "b"],
    ["-33.0", "-43.0 to -23.0", "b + restate"],
  ]);
  // With one reference its row says so.
  const two = overviewTable({
    ...makeReport(trials.slice(0, 2), { suite: "s" }),
    comparisons: comparisons.slice(0, 1),
  });
  assertEquals(columns(two.rows, "change"), [["reference"], ["+11.0"]]);
});

Deno.test("overviewTable() of many variants begins with the unperturbed ones of the plain strategy", () => {
  const trialsOf = (ids: readonly string[]) =>
    ids.flatMap((perturbation) =>
      ["restate", "plain"].flatMap((strategy) =>
        ["a", "b"].map((model) =>
          record({ model, strategy, perturbation, id: `${model} ${strategy} ${perturbation}` })
        )
      )
    );
  const namesOf = (ids: readonly string[]) =>
    overviewTable(makeReport(trialsOf(ids), { suite: "s" })).rows.slice(1).map(([name]) => name);
  assertEquals(namesOf(["RD", "WD", "none"]).slice(0, 2), ["a + restate + RD", "b + restate + RD"]);
  assertEquals(namesOf(["RD", "WD", "SD", "none"]).slice(0, 6), [
    ...["a", "b", "a + restate", "b + restate", "a + RD", "b + RD"],
  ]);
});

Deno.test("overviewTable() of many variants begins with the lowest, each below what it is compared with if that is shown", () => {
  const trials = ["none", ..."abcdefghijkl"].flatMap((name, place) =>
    manyRecords(name === "none" ? 5 : place, 20, { perturbation: name, id: name })
  );
  const { rows, note } = overviewTable(makeReport(trials, { suite: "s" }));
  assertEquals(rows.slice(1).map(([name]) => name), [
    ...["m", ..."abcdefghijkl"].map((name) => name === "m" ? name : `m + ${name}`),
  ]);
  assertMatch(note!, /; the lowest first/);
  // With the reference above all others it is not among the first.
  const best = trials.map((trial) =>
    trial.perturbation === "none" ? { ...trial, solved: true, outcome: "solved" as const } : trial
  );
  const names = overviewTable(makeReport(best, { suite: "s" })).rows.slice(1).map(([name]) => name);
  assertEquals([names[0], names[11], names[12]], ["m + a", "m + l", "m"]);
});

Deno.test("headlineText() says in a sentence whether the later one is worse", () => {
  const lineOf = (solved: Readonly<Record<string, number>>) =>
    headlineText(makeReport(
      Object.entries(solved).flatMap(([model, count]) => manyRecords(count, 100, { model })),
      { suite: "s" },
    ));
  assertEquals(
    lineOf({ old: 100, new: 56 }),
    "new solved 44.0 points less than old on 100 tasks (34.7 to 53.8 points, p below 0.0001): worse.",
  );
  assertMatch(
    lineOf({ old: 56, new: 100 })!,
    /^new solved 44\.0 points more than old on 100 tasks \(34\.7 to 53\.8 points, p .*\): better\.$/,
  );
  assertMatch(
    lineOf({ old: 90, new: 89 })!,
    /^No difference found between new and old on 100 tasks \(-\d\.\d to \+\d\.\d points, p 1\.0000\)\.$/,
  );
  assertMatch(
    lineOf({ old: 90, one: 60, other: 30, third: 95 })!,
    /^The worst of 3: other solved 60\.0 points less than old .*, adjusted p below 0\.0001\): worse\.$/,
  );
  assertEquals(lineOf({ old: 90 }), undefined);
  const name = `\u202e${"x".repeat(200)}`;
  const long = lineOf({ old: 90, [name]: 10 })!;
  assert(long.length < 180 && !long.includes("\u202e"), long);
});

Deno.test("a report names the variant of its only verdict, and those without one, which stand below what did not pass", () => {
  const good = manyRecords(100, 100);
  const bad = manyRecords(2, 100, { model: "bad" });
  const report = makeReport([...good, ...bad], {
    suite: "s",
    gates: [gateOf(good, { successRate: 0.7 })],
  });
  assertMatch(
    verdictLine(report)!,
    /^m: PASS: the true success rate is .* Measured: 100\.0% of 100\.$/,
  );
  assertMatch(headlineText(report)!, / Without a verdict: bad\.$/);
  assertEquals(columns(overviewTable(report).rows, "model", "verdict"), [["bad", "-"], [
    "m",
    "PASS",
  ]]);
  const alone = makeReport(good, { suite: "s", gates: [gateOf(good, { successRate: 0.7 })] });
  assertMatch(verdictLine(alone)!, /^PASS: /);
  // What a gate compared with needs no verdict of its own.
  const all = [...good, ...manyRecords(90, 100, { model: "new" })];
  const upgrade = gateOf(all, { baseline: "m", margin: 0.02 });
  assertEquals(headlineText(makeReport(all, { suite: "s", gates: [upgrade] })), undefined);
});

Deno.test("timeText() has units that people read", () => {
  for (
    const [duration, text] of [
      [null, "-"],
      [0, "-"],
      [0.2, "below 1 ms"],
      [0.7, "1 ms"],
      [999.4, "999 ms"],
      [999.6, "1.0 s"],
      [59_940, "59.9 s"],
      [59_960, "1 min 0 s"],
      [125_000, "2 min 5 s"],
      [3_599_600, "1 h 0 min"],
      [7_380_000, "2 h 3 min"],
    ] as const
  ) {
    assertEquals(timeText(duration), text);
  }
});
