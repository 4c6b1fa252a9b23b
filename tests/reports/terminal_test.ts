import { completePolicy } from "../../lib/gate/policy.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import stringWidth from "string-width";
import { type GateReport, reportProblem, reportVerdicts } from "../../lib/gate/gate_report.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { Report } from "../../lib/reports/report.ts";
import { renderGate, renderReport, renderTables } from "../../lib/reports/terminal.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import {
  crossed,
  failureOf,
  HOSTILE,
  manyRecords,
  planOf,
  record,
  records,
  STEERING,
  type TrialTraits,
} from "../support/records.ts";
import { reportOf } from "../support/reports.ts";

Deno.test("renderTables() sums up all cells only when there are several", () => {
  const one = manyRecords(8, 10);
  const other = manyRecords(2, 10).map((trial) => ({
    ...trial,
    task: { ...trial.task, core: 9 },
  }));
  assertNotMatch(renderTables(reportOf(one)), /^all /m);
  assertMatch(renderTables(reportOf([...one, ...other])), /^all +20 +50\.0%/m);
});

Deno.test("renderTables() aligns columns, whatever the width of the characters", () => {
  const wide = { case: "退款流程" } as unknown as Trial["task"];
  const narrow = { case: "refund" } as unknown as Trial["task"];
  const text = renderTables(
    reportOf([record({ task: wide, id: "1" }), record({ task: narrow, id: "2" })]),
  );
  const rows = text.split("\n").slice(1, 5);
  assertEquals(rows.length, 4);
  assertEquals(new Set(rows.map((row) => stringWidth(row))).size, 1, text);
});

Deno.test("tables tell how trials ended before an answer, where any did", () => {
  const ended = records([
    "solved",
    "call_limit",
    "filtered",
    "wrong_answer",
    "filtered",
    "invalid",
  ]);
  assertMatch(
    renderTables(reportOf(ended)),
    /^How trials ended: solved 1, wrong_answer 1, call_limit 1, filtered 2, invalid 1$/m,
  );
  assertNotMatch(renderTables(reportOf(records(["solved", "no_answer", "invalid"]))), /ended/);
  // Side by side, each model has a row.
  const others = Array.from({ length: 6 }, (_, place) => record({ model: `model ${place}` }));
  const many = renderTables(reportOf([...ended, ...others]));
  assertMatch(many, /^How trials ended\n.*\bcall_limit +filtered +invalid\nm .* 1 +2 +1\n/m);
  assertNotMatch(renderTables(reportOf([record(), ...others])), /How trials ended/);
});

/** The report as a terminal shows it. */
function rendered(trials: readonly Trial[], notes: readonly string[] = []): string {
  return renderReport(new Report(trials, { suite: "quick", notes }));
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

Deno.test("renderReport() begins with the suite, the headline and what to know, then the tables", () => {
  const text = rendered(manyRecords(3, 4, { model: "sim:a", simulated: true }), ["torn"]);
  const [title, headline, notes, matrix] = text.split("\n\n");
  assertEquals(title, "quick");
  assertMatch(headline!, /^Success\n\(solved: .*\)\nmodel .*\nsim:a \(simulated\) +75\.0% of 4 /);
  assertMatch(notes!, /^\* Simulated models are programs [^\n]*\n\* torn$/);
  assertMatch(
    matrix!,
    /^Success by cell: sim:a \(simulated\)\n.* 4 +75\.0% .* 1 of 4 trials: wrong answer$/s,
  );
});

Deno.test("renderReport() shows up to 24 cells, and their sums where there are more", () => {
  const few = rendered(onCells(24));
  // The lowest stand first, each with why it was not solved.
  const cells = few.match(/^core \d, connected.*$/gm)!;
  assertEquals(
    cells.map((line) => / (0|100)\.0% .* (1 of 1 trial: no answer|-)$/.exec(line)!.slice(1)),
    [
      ...Array(12).fill(["0", "1 of 1 trial: no answer"]),
      ...Array(12).fill(["100", "-"]),
    ],
  );
  assertNotMatch(few, /^Success by core|\(all \d+\)/m);
  const many = rendered(onCells(25));
  assertNotMatch(many, /^core \d, connected/m);
  assertMatch(
    many,
    /\nSuccess by cell: m \(all 25\)\n\(.*\)\ncell +trials .*\nall +25 +52\.0% .*\n\n/,
  );
  assertMatch(
    many,
    /\nSuccess by type of irrelevant functions \(laid out as in FuncBenchGen, Fig\. 4\)\n/,
  );
  // 9, 8 and 8 cells of the three core sizes.
  assertMatch(
    many,
    /\nSuccess by core size \(laid out as in FuncBenchGen, Table 2\)\nmodel +core 3: solved /,
  );
  assertMatch(
    many,
    /^m +55\.6% of 9 +3\.0 +3\.0 +50\.0% of 8 +3\.0 +3\.0 +50\.0% of 8 +3\.0 +3\.0$/m,
  );
});

Deno.test("renderReport() lets no escape sequence through, wherever it stands", () => {
  const behaviours = [HOSTILE] as unknown as Trial["behaviours"];
  const sized = (core: number) => ({ core, depth: 1, connected: 0, disconnected: 0, seed: 1 });
  const trials = [HOSTILE, `${HOSTILE}2`].flatMap((model) =>
    ["plain", HOSTILE].flatMap((strategy) =>
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
  const text = renderReport(new Report(trials, { suite: HOSTILE, notes: [HOSTILE, HOSTILE] }));
  assertNotMatch(text, STEERING);
  assertStringIncludes(text, "evil\\u001b[2J");
});

const PAIRS = /^Pairs compared\n\(each pair .*\)\ncandidate +against +tasks +.*\n/m;

Deno.test("renderGate() has tables, verdicts, and beneath them pairs, each once", () => {
  const trials = [...crossed({ both: 60, gained: 5 }), ...crossed({ lost: 1 }, { model: HOSTILE })];
  const policy = completePolicy({ successRate: 0.8 });
  const judged = decideTrials(trials, planOf(trials), policy);
  const text = renderGate(reportOf(trials, { gates: [reportVerdicts("s", judged, policy)] }));
  const [tables, verdicts, pairs, ...others] = [
    text.indexOf("Success by cell"),
    text.search(/^m \+ restate: PASS: /m),
    text.search(PAIRS),
  ];
  assertEquals(others, []);
  assert(0 < tables! && tables! < verdicts! && verdicts! < pairs!, text);
  assertEquals(text.split("Pairs compared").length, 2);
  assertNotMatch(text, STEERING);
  // Without something to compare, and where nothing can be judged, nothing follows.
  const one = manyRecords(95, 100);
  const alone = decideTrials(one, planOf(one), policy);
  const gated = (gate: GateReport) => renderGate(reportOf(one, { gates: [gate] }));
  assertMatch(gated(reportVerdicts("s", alone, policy)), /Clopper-Pearson\)$/);
  assertMatch(gated(reportProblem("s", "shards are missing")), /are missing\.$/);
});

/** The title of the table of probes. */
const BEHAVIOUR =
  "Behaviour towards tools (as in Indirection, Meijer's article in ACM Queue, under " +
  '"Issues with OpenAI Function Calls")';

Deno.test("models stand side by side, in each of the three that are printed", () => {
  const trials = Array.from({ length: 7 }, (_, place) => `model ${place}`).flatMap((model) => [
    ...[1, 2].map((repetition) =>
      record({
        ...{ model, repetition, behaviours: ["silent"] },
        failures: [failureOf("incorrect_value")],
      })
    ),
    record({ model, repetition: 2, task: { case: "oracle", seed: 1 }, behaviours: ["aversion"] }),
  ]);
  const policy = completePolicy({ successRate: 0.8 });
  const gate = reportVerdicts("s", decideTrials(trials, planOf(trials), policy), policy);
  for (
    const text of [
      renderTables(reportOf(trials)),
      renderGate(reportOf(trials, { gates: [gate] })),
      rendered(trials),
    ]
  ) {
    const rows = new Map(
      text.split("\n\n").map((part) => {
        const [title, ...lines] = part.split("\n");
        return [title!, lines.filter((line) => /^model \d/.test(line)).length];
      }),
    );
    for (
      const title of [
        ...["Success", "Effort", "Behaviours"],
        BEHAVIOUR,
        "Failure types (laid out as in FuncBenchGen, Table 3)",
      ]
    ) assertEquals(rows.get(title), 7, title);
    // One row for each number of trials.
    assertEquals(rows.get("Repeated tasks"), 14);
  }
});

Deno.test("success along a size that is one for all is not told again", () => {
  const sized = (models: number, sizes: readonly (readonly [number, number])[]) =>
    rendered(
      Array.from({ length: models }, (_, place) => `model ${place}`).flatMap((model) =>
        sizes.map(([core, depth]) =>
          record({ model, task: { core, depth, connected: 0, disconnected: 0, seed: 1 } })
        )
      ),
    );
  const [CORE, DEPTH] = ["\nSuccess by core size (", "\nSuccess by dependency depth, 5 "];
  const has = (text: string) => [CORE!, DEPTH!].map((title) => text.includes(title));
  assertEquals(has(sized(2, [[5, 2], [5, 4]])), [false, true]);
  assertEquals(has(sized(2, [[5, 2], [6, 2]])), [true, false]);
  assertEquals(has(sized(2, [[5, 2]])), [false, false]);
});

Deno.test("renderReport() has tables in the order of the sections: sizes behind what compares, and names those that a page has beyond them", () => {
  const work = { asked: 1, unusable: 0, sentBack: 0, mended: 0 };
  const trials = [3, 5].flatMap((core) => {
    const task = { core, depth: 2, connected: 0, disconnected: 0, seed: 1 };
    return [
      record({ task }),
      { ...record({ task, strategy: "plan_then_call" }), work },
    ];
  });
  const probes = ["plain", "plan_then_call"].map((strategy) =>
    record({ strategy, task: { case: "oracle", seed: 1 } })
  );
  const report = new Report([...trials, ...probes], { suite: "s" });
  const titles = renderReport(report).split("\n\n").map((part) => part.split("\n")[0]!);
  assertMatch(titles[1]!, /^m \+ plan_then_call solved as much as m on 3 tasks: /);
  assertEquals(titles.slice(2), [
    ...["Success", "Pairs compared", "Success by cell"],
    "Effort",
    "Work of strategies",
    BEHAVIOUR,
    "Success by core size (laid out as in FuncBenchGen, Table 5)",
    // Along a depth that is one for all, success by strategy would be the same again.
    "Left out here: How trials ended; Success by strategy, 3 core functions; Success by strategy, 5 core functions. " +
    "With all tables: deno task toolgate report F.jsonl --html report.html",
  ]);
});
