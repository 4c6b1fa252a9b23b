// Reports of histories: what they say of records, as data, on a terminal and on a page, which
// tests/e2e/pages/histories.ts opens in a browser.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { columnsOf } from "../../lib/base/wrap.ts";
import { makeHistoryReport } from "../../lib/reports/history.ts";
import { historyPage } from "../../lib/reports/history_page.ts";
import { renderHistory } from "../../lib/reports/history_text.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { recordOf, type RunRecord } from "../../lib/runs/record.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { wilson } from "../../lib/statistics/proportions.ts";
import { Folder } from "../support/folders.ts";
import { recordFile } from "../support/history.ts";
import { hostileReport, nightly, partWith } from "../support/history_parts.ts";
import { writeJournal } from "../support/journals.ts";
import { variantName } from "../../lib/gate/variant.ts";
import { failureOf, finish, STEERING, type TrialTraits } from "../support/records.ts";

/** The record of a suite, of which trials end in these ways. */
function recordOfSuite(
  suite: Partial<Suite>,
  trialAt: (place: number) => TrialTraits,
): RunRecord {
  using folder = new Folder();
  const plan = planSuite({
    ...{ name: "s", seed: 1, graphs: 10, tasks: [{ core: 3, depth: 2 }], models: ["m"] },
    ...suite,
  });
  const trials = plan.trials.map((planned, place) => finish(planned, trialAt(place)));
  const journal = writeJournal(folder, plan, trials);
  return recordOf(readResults([journal]), journal);
}

/** The only point of a record. */
const pointOf = (file: RunRecord) => makeHistoryReport(partWith([file])).streams[0]!.points[0]!;

Deno.test("makeHistoryReport() counts the trials of each run, oldest first, with Wilson's interval", () => {
  const runs = nightly([{ missing: 3, invalid: 2, rate: 0.5 }, { rate: 1 }]);
  const { streams, ...rest } = makeHistoryReport(partWith(runs.toReversed()), {
    remarks: ["Hear."],
  });
  assertEquals(rest, { v: 1, kind: "history", suite: "nightly", remarks: ["Hear."], leftOut: [] });
  assertEquals(streams.map(({ subject, simulated }) => [variantName(subject), simulated]), [
    ["sim:made-up", true],
  ]);
  const [first, second] = streams[0]!.points;
  const solved = recordFile(runs[0]!).subjects[0]!.trials.filter((one) =>
    one?.outcome === "solved"
  );
  assertEquals(
    [first, second].map((
      one,
    ) => [one!.startedAt.slice(0, 10), one!.planned, one!.ended, one!.valid]),
    [["2026-06-01", 20, 17, 15], ["2026-06-02", 20, 20, 20]],
  );
  assertEquals(first!.solved, solved.length);
  assertEquals(first!.success.value, solved.length / 15);
  const { lower, upper } = wilson(solved.length, 15);
  assertAlmostEquals(first!.success.interval!.lower, lower, 1e-9);
  assertAlmostEquals(first!.success.interval!.upper, upper, 1e-9);
});

Deno.test("makeHistoryReport() takes trials of one task for one unit", () => {
  const file = recordOfSuite(
    { repetitions: 4 },
    (place) => ({ outcome: place < 20 ? "solved" : "wrong_answer" }),
  );
  const { valid, success: { value, interval } } = pointOf(file);
  assertEquals([valid, value], [40, 0.5]);
  // Ten graphs that were solved always or never tell no more than ten trials.
  const { lower, upper } = wilson(5, 10);
  assertLess(interval!.lower, lower + 0.01);
  assertGreater(interval!.upper, upper - 0.01);
});

Deno.test("makeHistoryReport() leaves trials that were not changed out of rates", () => {
  const file = recordOfSuite(
    { perturbations: ["rename"] },
    (place) => place < 4 ? { changed: false } : { outcome: "wrong_answer" },
  );
  const { ended, valid, solved, success } = pointOf(file);
  assertEquals([ended, valid, solved, success.value], [10, 6, 0, 0]);
});

/** The endings of the first trials of a record: one with two failures of a type, and one without a reply. */
const ENDINGS: readonly TrialTraits[] = [
  {
    outcome: "wrong_answer",
    failures: [failureOf("incorrect_value"), failureOf("incorrect_value")],
  },
  { outcome: "invalid", reason: "no reply" },
];

Deno.test("makeHistoryReport() tells failures, tokens, dollars and times of a trial", () => {
  const file = recordOfSuite(
    { graphs: 21, prices: { m: { input: 1, output: 10 } } },
    (place) => ({
      ...ENDINGS[place],
      usage: { inputTokens: 1_000 + 100 * place, outputTokens: 50, estimated: true },
      durationMs: place === 1 ? 1e6 : 1_000 * (place + 1),
    }),
  );
  const point = pointOf(file);
  assertEquals(point.failures.map(({ type, value }) => [type, value]), [[
    "incorrect_value",
    1 / 20,
  ]]);
  assert(point.failures[0]!.interval !== null);
  assertEquals(point.tokens, { input: 2_000, output: 50 });
  assertEquals(point.estimated, true);
  assertAlmostEquals(point.usd!, (2_000 + 500) / 1e6);
  // Of the 20 valid trials, which took 1, 3, 4 ... 21 seconds.
  assertEquals(point.duration, { median: 11_000, p95: 20_000 });
  const text = renderHistory(makeHistoryReport(partWith([file])));
  assertMatch(text, /incorrect value 5\.0% +~2,050 +\$0\.0025 +11\.0 s +20\.0 s$/m);
});

Deno.test("makeHistoryReport() tells nothing of a run without a valid trial, nor takes its model for another", () => {
  const part = partWith(nightly([
    { served: "a" },
    { served: "sim:made-up", invalid: 20 },
    { served: "a" },
    { served: "b" },
  ]));
  const { streams: [stream] } = makeHistoryReport(part);
  const { success, failures, duration, valid, ended } = stream!.points[1]!;
  assertEquals({ success, failures: failures.map(({ value }) => value), duration, valid, ended }, {
    success: { value: null, interval: null, of: 0 },
    failures: [null],
    duration: null,
    valid: 0,
    ended: 20,
  });
  assertEquals(stream!.points.map(({ servedBefore }) => servedBefore ?? ""), ["", "", "", "a"]);
  const lines = renderHistory(makeHistoryReport(part)).split("\n");
  assertMatch(lines.find((one) => one.startsWith("2026-06-02"))!, /^\S+ \S+ +- +0 of 20 +- +- /);
  assertMatch(lines.find((one) => one.startsWith("2026-06-03"))!, /^\S+ \S+ +a +20 of 20 /);
  assertMatch(lines.find((one) => one.startsWith("2026-06-04"))!, / b \(changed\) /);
});

Deno.test("makeHistoryReport() has a stream for each model, strategy and variant", () => {
  const subjects = [{ model: "a" }, { model: "b" }, { model: "b", strategy: "restate" }];
  const { streams } = makeHistoryReport(partWith([{ date: "2026-06-01", subjects }]));
  const text = renderHistory(makeHistoryReport(partWith([{ date: "2026-06-01", subjects }])));
  assertEquals(streams.length, 3);
  assertMatch(text, /^nightly\n\na\nrun[^]*\n\nb\nrun[^]*\n\nb \+ restate\nrun/);
});

Deno.test("releases are told with which of them is the anchor, and which the last", async () => {
  const part = partWith(nightly([{}, {}, {}, {}]), [[0, "1.0"], [1, "1.1"], [2, "1.2"]]);
  const report = makeHistoryReport(part);
  assertEquals(report.streams[0]!.points.map(({ release }) => release), [
    { name: "1.0", isAnchor: true, isLast: false },
    { name: "1.1", isAnchor: false, isLast: false },
    { name: "1.2", isAnchor: false, isLast: true },
    undefined,
  ]);
  for (const text of [renderHistory(report), await historyPage(report)]) {
    for (const name of ["1.0 (anchor)", "1.1", "1.2 (last)"]) assertStringIncludes(text, name);
  }
  const only = makeHistoryReport(partWith(nightly([{}]), [[0, "1.0"]]));
  assertStringIncludes(renderHistory(only), "1.0 (anchor, last)");
});

Deno.test("what was left out, and remarks stand on both", async () => {
  const part = {
    ...partWith(nightly([{}])),
    leftOut: ["Left out: Cannot use x.json", "Left out: 2 records of other tasks"],
  };
  const report = makeHistoryReport(part, { remarks: ["FAIL: the canary is lower"] });
  const text = renderHistory(report);
  assertMatch(text, /^nightly\n\nFAIL: the canary is lower\n\n/);
  assertMatch(
    text,
    /\n\nLeft out: Cannot use x\.json\nLeft out: 2 records of other tasks$/,
  );
  const page = await historyPage(report);
  for (const part of ["FAIL: the canary is lower", "Cannot use x.json"]) {
    assertStringIncludes(page, part);
  }
  const plain = await historyPage(makeHistoryReport(partWith(nightly([{}]))));
  assert(!plain.includes("Left out"));
});

Deno.test("renderHistory() keeps to the width of a terminal", () => {
  const model = `vendor/${"long-".repeat(20)}model`;
  const part = partWith(nightly([{ model }, { model, served: "x".repeat(200) }]), [[
    0,
    "r".repeat(90),
  ]]);
  for (const width of [40, 80, 120]) {
    const lines = renderHistory(makeHistoryReport(part), width).split("\n");
    assertEquals(lines.filter((line) => columnsOf(line) > width), [], `${width}`);
  }
});

Deno.test("renderHistory() shows no hostile text as it is", () => {
  const text = renderHistory(hostileReport());
  assertNotMatch(text, STEERING);
  assertNotMatch(text, /##\[/);
});

Deno.test("historyPage() escapes hostile texts", async () => {
  const page = await historyPage(hostileReport());
  const markup = page.replace(/<script>[^]*?<\/script>/, "");
  assertNotMatch(markup, STEERING);
  assertNotMatch(markup, /<script|<img/);
  assertGreater(markup.split("&#60;script&#62;").length, 9);
});

Deno.test("historyPage() draws a run of a single day, and one without any rate", async () => {
  const page = await historyPage(makeHistoryReport(partWith(nightly([{}]))));
  assertStringIncludes(page, "figure-success-1");
  assertNotMatch(page, /\bNaN\b(?!=)/);
  // Its runs stand at their times.
  assertMatch(page, />\d\d:\d\d:\d\d</);
  const none = await historyPage(makeHistoryReport(partWith(nightly([{ invalid: 20 }]))));
  assert(!none.includes("figure-success-1"));
});

Deno.test("historyPage() leads from a run to its page if there is one, and stands at its day", async () => {
  const report = makeHistoryReport(partWith(nightly([{}, {}, { rate: 0.5 }])));
  const [, second] = report.streams[0]!.points;
  const page = await historyPage(report, (run) => run === second ? "2.html" : undefined);
  assertEquals(page.match(/<a href="[^"]*">[^<]*/g), ['<a href="2.html">2026-06-02 03:17']);
  for (const day of ["Jun 01", "Jun 02", "Jun 03"]) assertStringIncludes(page, `>${day}<`);
});

Deno.test("renderHistory() leaves out costs of nothing", () => {
  const rendered = (input: number) =>
    renderHistory(makeHistoryReport(partWith([
      recordOfSuite({ prices: { m: { input, output: 0 } } }, () => ({ durationMs: 100 })),
    ])));
  assertNotMatch(rendered(0), /cost/);
  assertMatch(rendered(1), /tokens a trial +cost a trial +time: median +95th percentile\n/);
});
