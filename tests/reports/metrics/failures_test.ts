import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Failure, FailureType } from "../../../lib/calls/failure_types.ts";
import { tablesOf } from "../../../lib/reports/_views.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { failureOf, record, records } from "../../support/records.ts";
import { recordsOf, reportOf, tableOf, textsOf, valuesOf } from "../../support/reports.ts";

function failuresOf(counts: Partial<Record<FailureType, number>>, root = true): Failure[] {
  return Object.entries(counts).flatMap(([type, count]) =>
    Array.from({ length: count }, () => ({ ...failureOf(type as FailureType), root }) as Failure)
  );
}

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
  const table = tableOf("failures", trials);
  assertEquals(table!.source, "Table 3");
  assertEquals(textsOf(table), [
    [
      ...["model", "wrong calls", "roots", "function_not_found", "value_not_yet_known"],
      "incorrect_value",
    ],
    ["m", "10", "9", "2 (20.0%)", "6 (60.0%)", "2 (20.0%)"],
    ["none", "0", "0", "0", "0", "0"],
  ]);
  const ofValues = "incorrect_value incorrect_value_roots wrong_number_of_inputs";
  assertEquals(valuesOf(recordsOf("failures", trials), ofValues), [[2, 1, 0], [0, 0, 0]]);
});

Deno.test("tablesOf() has no table of wrong calls where none was wrong", () => {
  const wrong = record({ failures: [failureOf("incorrect_value")] });
  assert(tableOf("failures", [record({ model: "n" }), wrong]) !== undefined);
  assertEquals(tableOf("failures", [record()]), undefined);
  // What infrastructure spoiled says nothing.
  assertEquals(tableOf("failures", [{ ...wrong, outcome: "invalid", solved: false }]), undefined);
});

Deno.test("tablesOf() says how trials ended, without ways in which none did", () => {
  const trials = [
    ...records(["invalid", "solved", "call_limit", "solved"]),
    ...records(["wrong_answer"], { model: "n" }),
  ];
  assertEquals(textsOf(tableOf("outcomes", trials)), [
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
  assertEquals(textsOf(tableOf("behaviours", trials)), [
    ["model", "silent", "constructor", "ungrounded"],
    ["m", "1", "1", "0"],
    ["n", "0", "0", "1"],
  ]);
  assertEquals(tableOf("behaviours", [record()]), undefined);
});

const [INTERVAL, ANY] = ["95% interval", "0.0% to 100.0%"];

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
  assertEquals(textsOf(tableOf("repetitions", trials)), [
    [
      "model",
      "k",
      "pass@k",
      INTERVAL,
      "pass^k",
      INTERVAL,
      "tasks",
      "with fewer than k valid trials",
    ],
    ["m", "1", "50.0%", ANY, "50.0%", ANY, "3", "0"],
    ["m", "2", "66.7%", ANY, "33.3%", ANY, "3", "0"],
    ["spoiled", "1", "100.0%", "-", "100.0%", "-", "1", "0"],
    ["spoiled", "2", "not available", "-", "not available", "-", "0", "1"],
  ]);
});

Deno.test("tablesOf() has the repetitions of tests, with intervals over tests", () => {
  const ends = { "+": "solved", "-": "wrong_answer", "?": "invalid" } as const;
  const trialsOf = (...tests: string[]) =>
    tests.flatMap((test, name) =>
      Array.from(test, (end, seed) => {
        const task = { case: `${name}`, seed } as Trial["task"];
        return record({ task, outcome: ends[end as keyof typeof ends] });
      })
    );
  const all = Array(4).fill("++++++");
  const rows = textsOf(tableOf("repetitions", trialsOf("++++-?", "++++++", "+++---", ...all)));
  assertEquals(rows.map((row) => row.slice(1).join(" ")), [
    `k pass@k ${INTERVAL} pass^k ${INTERVAL} tests with fewer than k valid trials`,
    "1 90.0% 72.3% to 100.0% 90.0% 72.3% to 100.0% 7 0",
    // Of 4 in 5, 6 in 6 and 3 in 6 trials the pairs of solved ones are 6/10, 1 and 3/15 of all.
    "2 97.1% 90.2% to 100.0% 82.9% 53.8% to 100.0% 7 0",
    "3 99.3% 97.5% to 100.0% 77.9% 41.7% to 100.0% 7 0",
    "4 100.0% 64.6% to 100.0% 74.3% 33.3% to 100.0% 7 0",
    "6 100.0% 61.0% to 100.0% 83.3% 40.5% to 100.0% 6 1",
  ]);
  // One test has no spread, and once is no repetition.
  assertEquals(tableOf("repetitions", trialsOf("++--")), undefined);
  assertEquals(tableOf("repetitions", trialsOf("+", "-")), undefined);
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
  const texts = (id: string) => textsOf(tableOf(id, trials));
  const places = ["solved", "invalid", "unchanged"].map((head) =>
    texts("overview")[0]!.indexOf(head)
  );
  assertEquals(texts("overview").slice(1).map((row) => places.map((place) => row[place])), [
    ["100.0% of 1", "1", "2"],
    ["100.0% of 1", "0", "0"],
  ]);
  assertEquals(texts("outcomes"), [
    ["model", "solved", "invalid"],
    ["m + RD", "1", "1"],
    ["m", "1", "0"],
  ]);
  assertEquals(texts("cells")[1]!.slice(-3), ["1", "2", "1 invalid: unknown"]);
  assertEquals(texts("failures")[1]!.slice(0, 2), ["m + RD", "1"]);
  assertMatch(texts("core")[1]![1]!, /^100\.0% of 1 \(/);
  for (const table of tablesOf(reportOf(trials.filter(({ changed }) => changed !== false)))) {
    assert(!textsOf(table)[0]!.includes("unchanged"), table.id);
  }
});

Deno.test("tablesOf() counts in its tables what breakdowns leave out", () => {
  const task = { case: "refunds" } as unknown as Trial["task"];
  const trials = [record({ task, id: "1" }), record({ outcome: "no_answer" })];
  assertEquals(textsOf(tableOf("overview", trials))[1]!.slice(0, 2), ["m", "50.0% of 2"]);
  assertMatch(textsOf(tableOf("core", trials))[1]![1]!, /^0\.0% of 1 \(/);
  assertEquals(textsOf(tableOf("matrix", trials)).map(([name, trials]) => [name, trials]), [
    ["cell", "trials"],
    ["core 3, depth 2, connected 0, disconnected 0", "1"],
    ["refunds", "1"],
    ["all", "2"],
  ]);
  assertEquals(tablesOf(reportOf([])), []);
});

Deno.test("tablesOf() calls simulated models simulated in every table that names models", () => {
  const trials = ["plain", "restate"].flatMap((strategy) =>
    [5, 10].flatMap((core) =>
      [1, 2].map((repetition) =>
        record({
          ...{ model: "sim:x", simulated: true, strategy, repetition },
          task: { core, depth: 1, connected: core - 5, disconnected: 0, seed: 1 },
          ...{ behaviours: ["silent"], outcome: strategy === "plain" ? "solved" : "no_answer" },
          failures: [failureOf("incorrect_value")],
        })
      )
    )
  );
  const found = tablesOf(reportOf(trials));
  assert(found.length >= 10, found.map(({ id }) => id).join());
  assertEquals(new Set(found.map(({ id }) => id)).size, found.length, "ids must differ");
  for (const table of found) {
    const texts = textsOf(table);
    assertEquals(new Set(texts.map(({ length }) => length)).size, 1, `${table.id} is uneven`);
    for (const text of [table.title, ...texts.flat()].filter((text) => text.includes("sim:x"))) {
      assert(text.endsWith(" (simulated)"), `${table.id}: ${text}`);
    }
  }
});
