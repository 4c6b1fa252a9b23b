import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHAIN } from "../../../lib/calls/trace.ts";
import { decideTrials } from "../../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../../lib/gate/gate_report.ts";
import { completePolicy } from "../../../lib/gate/policy.ts";
import type { ReportOptions } from "../../../lib/reports/report.ts";
import { noteText } from "../../../lib/reports/_view.ts";
import { crossed, manyRecords, planOf, record, records } from "../../support/records.ts";
import { recordsOf, tableOf, textsOf, type Trials, valuesOf } from "../../support/reports.ts";

/** The texts of the table of pairs. */
const pairsOf = (trials: Trials, options: Partial<ReportOptions> = {}) =>
  textsOf(tableOf("comparisons", trials, options));

/** Where the cells of each row lead, of those that lead anywhere. */
const linksOf = (id: string, trials: Trials) =>
  tableOf(id, trials)!.rows.map((row) => row.flatMap(({ link }) => link ?? []));

Deno.test("tablesOf() has all pairs on the same graphs, those with the baseline first, and tasks gained and lost", () => {
  const trials = [
    ...crossed({ both: 20, gained: 10, lost: 2, neither: 8 }),
    ...crossed({ lost: 5 }, { model: "sim:n", simulated: true }),
  ];
  const table = tableOf("comparisons", trials)!;
  assertEquals(table.section, "comparisons");
  assertEquals(
    noteText(table),
    "each pair differs in one thing, and has the tasks of both; difference: of the shares solved, in percentage " +
      "points; gained and lost: tasks that the candidate solved more and less often; a difference with an adjusted p " +
      "of at most 0.05 is significant; McNemar p: how often equally good ones would differ at least as much by " +
      "chance; adjusted p: the same for all 4 pairs together, by Holm; extra tokens: all tokens spent, divided by the " +
      "tasks solved, less those of the other",
  );
  assertEquals(textsOf(table), [
    [
      ...["candidate", "against", "tasks", "left out", "against solved", "candidate solved"],
      ...["difference", "95% interval", "gained", "lost", "McNemar p", "adjusted p"],
      "extra tokens",
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
  assertEquals(linksOf("comparisons", trials), [
    ["#?pair=0&change=gained", "#?pair=0&change=lost"],
    ...[["#?pair=1&change=lost"], ["#?pair=2&change=lost"], []],
  ]);
  // Only columns that are there are explained.
  assert(!noteText(tableOf("comparisons", crossed({ both: 3 }))!).includes("extra tokens"));
  const task = (seed: number) => `core 3, depth 2, connected 0, disconnected 0, seed ${seed}`;
  const changed = textsOf(tableOf("changed-tasks", trials));
  assertEquals(changed.slice(0, 5), [
    [
      ...["task", "candidate", "against", "change", "against solved", "candidate solved"],
      "difference",
    ],
    [task(31), "m + restate", "plain", "lost", "1 of 1", "0 of 1", "-100.0"],
    [task(32), "m + restate", "plain", "lost", "1 of 1", "0 of 1", "-100.0"],
    [task(21), "m + restate", "plain", "gained", "0 of 1", "1 of 1", "+100.0"],
    [task(22), "m + restate", "plain", "gained", "0 of 1", "1 of 1", "+100.0"],
  ]);
  // Up to twelve of a change of a pair.
  assertEquals(changed.length, 1 + 22);
  assertEquals(linksOf("changed-tasks", trials).flat().slice(0, 3), [
    "#?pair=0&change=lost&task=1",
    ...["#?pair=0&change=lost&task=2", "#?pair=0&change=gained&task=1"],
  ]);
});

Deno.test("tasks gained and lost have the seeds of probes", () => {
  const trials = [1, 2].flatMap((seed) => {
    const task = { case: "oracle", seed } as const;
    return [record({ task, strategy: "restate" }), record({ task, outcome: "wrong_answer" })];
  });
  const [, ...rows] = textsOf(tableOf("changed-tasks", trials));
  assertEquals(rows.map(([task]) => task), ["oracle, seed 1", "oracle, seed 2"]);
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
  const rows = pairsOf(trials, { prices: { m: { input: 0.01, output: 0 } } });
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
  // Of a single pair the headline has the rates and their difference.
  assertEquals(pairsOf(repeated), [
    ["candidate", "against", "tasks", "gained", "lost", "sign flip p", "extra tokens"],
    ["m + restate", "plain", "3", "0", "1", "1.0000", "+2"],
  ]);
  const changeOf = (trials: Trials) =>
    textsOf(tableOf("overview", trials)).slice(1).map((row) => row.slice(3, 5));
  // Of 0, 0, -0.5 and two more, 1 and -1: -0.1, and 2.776 standard errors of 0.332 to either side.
  assertEquals(changeOf(repeated), [["reference", "-"], ["-16.7", "-100.0 to +82.1"]]);
  // Of both kinds of tests each is named.
  const single = ["plain", "restate"].map((strategy) => record({ strategy, model: "n", seed: 8 }));
  const mixed = pairsOf([...repeated, ...single]);
  const place = mixed[0]!.indexOf("p");
  assertEquals(mixed.map((row) => row.slice(place, place + 3)), [
    ["p", "test", "adjusted p"],
    ["1.0000", "sign flip", "1.0000"],
    ["1.0000", "McNemar", "1.0000"],
  ]);
  assertEquals(changeOf(crossed({ both: 3000, lost: 1 }))[0], ["-0.0", "-0.2 to +0.1"]);
  assertEquals(changeOf(crossed({ both: 10 }))[0], ["0.0", "-27.8 to +27.8"]);
});

Deno.test("tablesOf() has no table of pairs that differ in more than one thing", () => {
  const other = records(["solved"], { model: "n", strategy: "restate" });
  assertEquals(pairsOf([...records(["solved"]), ...other]), []);
});

Deno.test("comparisons leave out perturbations after which no task can be solved, and shares unsolvable trials", () => {
  const trialsOf = (...ids: readonly string[]) =>
    ["none", ...ids].map((perturbation) => record({ perturbation }));
  const some = trialsOf("RP_F", "CF+RP_L", "CF", "RP_F+RD", "RP_L", "rename");
  assertEquals(pairsOf(some).slice(1).map(([name, against]) => [name, against]), [
    ["m + CF", "no perturbation"],
    ["m + rename", "no perturbation"],
    ["m + rename", "CF"],
  ]);
  assertStringIncludes(
    tableOf("comparisons", some)!.note!,
    "RP_F, CF+RP_L, RP_F+RD, RP_L: left out, as no task can be solved there",
  );
  assert(!tableOf("comparisons", trialsOf("CF"))!.note!.includes("left out"));
  assertEquals(pairsOf(trialsOf("RP_F", "RP_L")), []);
  // Nor do their tasks count as left out of a pair.
  const apart = record({ seed: 99, perturbation: "RP_F" });
  assertEquals(pairsOf([...trialsOf("CF"), apart]), pairsOf(trialsOf("CF")));
  const unsolvable = (["abstained", "wrong_answer"] as const).flatMap((outcome) =>
    ["RD", "WD"].map((perturbation) => record({ perturbation, unsolvable: "unlinked", outcome }))
  );
  const solvable = ["none", "WD"].flatMap((perturbation) =>
    records(["solved", "no_answer"], { perturbation })
  );
  assertEquals(pairsOf([...solvable, ...unsolvable]).slice(1).map(([name]) => name), ["m + WD"]);
  assertStringIncludes(
    tableOf("overview", [...solvable, ...unsolvable])!.note!,
    "solved: share of valid trials",
  );
  assert(!tableOf("overview", solvable)!.note!.includes("unsolvable"));
});

Deno.test("comparisons count tests that were gained and lost, not their trials", () => {
  const trialsOf = (model: string, solved: readonly boolean[]) =>
    solved.map((own, place) =>
      record({
        ...{ model, task: { case: place < 3 ? "a" : "b", seed: place }, repetition: place % 3 + 1 },
        outcome: own ? "solved" : "wrong_answer",
      })
    );
  const trials = [
    ...trialsOf("old", [true, true, true, false, true, true]),
    ...trialsOf("new", [false, false, false, true, true, true]),
  ];
  assertEquals(valuesOf(recordsOf("comparisons", trials), "gained lost test"), [
    [1, 1, "mcnemar"],
  ]);
});

Deno.test("comparisons leave the intervals of pairs that a gate decided on to the headline", () => {
  const trials = ["old", "new", "other"].flatMap((model, place) =>
    manyRecords(90 - place, 100, { model })
  );
  const policy = completePolicy({ baseline: "old", margin: 0.1 });
  const gates = [reportVerdicts("s", decideTrials(trials, planOf(trials), policy), policy)];
  const [heads, ...rows] = pairsOf(trials, { gates });
  const place = heads!.indexOf("95% interval");
  assertEquals(rows.map((row) => [row[0], row[1], row[place] === "-"]), [
    ["new", "old", true],
    ["other", "old", true],
    ["other", "new", false],
  ]);
  assertStringIncludes(
    tableOf("comparisons", trials, { gates })!.note!,
    "without an interval: a gate decided, whose bounds stand in the headline",
  );
});

Deno.test("worse documents and other variants are told by tool, of chains alone", () => {
  const chain = { kind: "stage", stage: CHAIN, message: "" } as const;
  const trials = ["none", "RD", "CK", "timeout"].flatMap((perturbation) =>
    Array.from({ length: 60 }, (_, seed) => {
      const needed = seed < 20 ? ["find", "read"] : ["find"];
      const isLost = perturbation === "RD" && seed < 10;
      const outcome = isLost ? "wrong_answer" : "solved";
      const task = { case: `${seed}`, seed };
      // Other tasks show nothing of the tools of chains.
      const events = seed < 40 ? [chain] : [];
      return record({ ...{ perturbation, needed, task, outcome, events, minimumCalls: 2 } });
    })
  );
  assertEquals(
    valuesOf(
      recordsOf("lost-tools", trials),
      "tool perturbation against_perturbation units difference lost other_ways",
    ),
    [["read", "RD", "none", 20, -0.5, 10, 0], ["find", "RD", "none", 40, -0.25, 10, 0]],
  );
});
