import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { decideTrials } from "../../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../../lib/gate/gate_report.ts";
import { completePolicy, type GatePolicy } from "../../../lib/gate/policy.ts";
import { headlineFigures } from "../../../lib/reports/figures/_headline.ts";
import { draw, seriesMark } from "../../../lib/reports/figures/_plotting.ts";
import { makeReport, type Report } from "../../../lib/reports/report.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { HOSTILE, manyRecords, planOf, record, STEERING } from "../../support/records.ts";
import { elementsOf, parseXml } from "../../support/xml.ts";

function reportOf(trials: readonly Trial[], ...policies: readonly GatePolicy[]): Report {
  const gates = policies.map((policy) => {
    const complete = completePolicy(policy);
    return reportVerdicts("s", decideTrials(trials, planOf(trials), complete), complete);
  });
  return makeReport(trials, { suite: "s", gates });
}

/** A row of a figure. */
interface Row {
  readonly series: string;
  readonly value: number;
  readonly lower: number | null;
  readonly upper: number | null;
  readonly target?: number;
  readonly least?: number;
}

/** The rows of a figure, from top to bottom. */
function rowsOf(figure: { readonly spec: object } | undefined): Row[] {
  return (figure!.spec as { data: { values: Row[] } }).data.values;
}

/** The marks of a drawn figure: their places and colours, by what they are. */
async function marksOf(spec: object) {
  const root = parseXml(await draw(spec));
  const marks = (kind: string) =>
    elementsOf(root).filter(({ attributes }) =>
      attributes["class"]?.startsWith(`mark-${kind} role-mark`)
    ).flatMap(({ children }) => children).map(({ attributes }) => attributes);
  const texts = elementsOf(root).map(({ text }) => text).filter((text) => text !== "");
  return { marks, texts };
}

/** The width of the axis. */
const WIDTH = 270;

/** Where lines of a gate stand: they say nothing, as whiskers do. */
function linesOf(rules: readonly Readonly<Record<string, string>>[]): number[] {
  return rules.filter((attributes) => attributes["aria-label"] === undefined)
    .map(({ transform }) => Number(/translate\(([\d.]+),/.exec(transform!)![1]));
}

const MODELS = [
  ...manyRecords(95, 100, { model: "good" }),
  ...manyRecords(20, 100, { model: "bad" }),
];

Deno.test("headlineFigures() draws rates beside the threshold of the gate and its margin", async () => {
  const [figure, ...others] = headlineFigures(
    reportOf(MODELS, { successRate: 0.8, margin: 0.1 }),
  );
  assertEquals([figure!.section, figure!.title, others], ["headline", "Success", []]);
  assertMatch(figure!.note!, /what the gate asks for, 80\.0% less 10 points;/);
  const rows = rowsOf(figure);
  // What did not pass stands first; a variant has the colour of its place in the report.
  assertEquals(rows.map(({ series, value }) => [series, value]), [["bad", 0.2], ["good", 0.95]]);
  assertEquals(rows.map(({ target, least }) => [target, Number(least).toFixed(3)]), [
    [0.8, "0.700"],
    [0.8, "0.700"],
  ]);
  const { marks, texts } = await marksOf(figure!.spec);
  for (const text of ["good", "bad", "20.0%", "95.0%", "success rate"]) {
    assert(texts.includes(text), text);
  }
  const points = marks("symbol").map(({ transform, fill }) => ({
    x: Number(/translate\(([\d.]+),/.exec(transform!)![1]),
    fill,
  }));
  assertEquals(points.map(({ x }) => x / WIDTH), [0.2, 0.95]);
  assertEquals(points.map(({ fill }) => fill), [1, 0].map((place) => seriesMark(place).colour));
  // Each row has a band from the least that is still good enough to the line of what is asked for.
  const bands = marks("rect").map(({ d }) =>
    /^M([\d.]+),[\d.]+h([\d.]+)/.exec(d!)!.slice(1).map((end) => (Number(end) / WIDTH).toFixed(3))
  );
  assertEquals(bands, [["0.700", "0.100"], ["0.700", "0.100"]]);
  assertEquals(linesOf(marks("rule")), [0.8 * WIDTH, 0.8 * WIDTH]);
});

Deno.test("headlineFigures() shows the bounds by which the gate decided, and 95% intervals else", () => {
  const report = reportOf(MODELS, { successRate: 0.8 });
  const { evidence } = report.gates[0]!.verdicts[1]!;
  const [row] = rowsOf(headlineFigures(report)[0]);
  assertEquals([row!.lower, row!.upper], [evidence!.lower, evidence!.upper]);
  const plain = makeReport(MODELS, { suite: "s" });
  const [figure] = headlineFigures(plain);
  assertEquals(figure!.note, "whiskers: 95% intervals");
  const { interval } = plain.subjects[0]!.total;
  const [good] = rowsOf(figure);
  assertEquals([good!.lower, good!.upper, "target" in good!], [
    ...[interval!.lower, interval!.upper, false],
  ]);
});

Deno.test("headlineFigures() draws a difference around zero with the margin of a gate that compares", async () => {
  const [, change] = headlineFigures(reportOf(MODELS, { baseline: "good", margin: 0.05 }));
  const [row, ...others] = rowsOf(change);
  assertEquals(others, []);
  assertEquals([row!.series, row!.value, row!.target, row!.least], ["bad", -0.75, 0, -0.05]);
  assertMatch(change!.note!, /close enough for the gate, 5 points/);
  const { marks, texts } = await marksOf(change!.spec);
  assert(texts.includes("difference in percentage points") && texts.includes("-75.0"));
  const [point] = marks("symbol");
  const end = 0.9;
  const x = Number(/translate\(([\d.]+),/.exec(point!["transform"]!)![1]);
  assertEquals(x.toFixed(3), (WIDTH * (end - 0.75) / (2 * end)).toFixed(3));
  // The line says where nothing has changed.
  assertEquals(linesOf(marks("rule")), [WIDTH / 2]);
});

Deno.test("headlineFigures() has at most twelve rows, and draws any name", async () => {
  const trials = [
    ...Array.from(
      { length: 20 },
      (_, place) =>
        manyRecords(20, 20, { model: `m${place}`, perturbation: place < 10 ? "RD" : "none" }),
    ).flat(),
    ...manyRecords(1, 20, { model: HOSTILE, perturbation: "RD" }),
    ...manyRecords(20, 20, { model: "constructor" }),
  ];
  const [figure] = headlineFigures(reportOf(trials, { successRate: 0.5 }));
  const rows = rowsOf(figure);
  assertEquals(rows.length, 12);
  assertNotMatch(rows[0]!.series, STEERING);
  assertMatch(rows[0]!.series, /evil/);
  assert(rows.slice(1).every(({ series }) => /^(m1\d|constructor ?)$/.test(series)));
  assertMatch(figure!.note!, /; the first 12 of 22 variants, as in the table$/);
  for (const text of (await marksOf(figure!.spec)).texts) assertNotMatch(text, STEERING);
});

Deno.test("headlineFigures() draws nothing without a valid trial, and speaks of own tests as the table does", () => {
  assertEquals(headlineFigures(makeReport([record({ outcome: "invalid" })], { suite: "s" })), []);
  const own = makeReport([record({ task: { case: "t", seed: 1 } })], { suite: "s" });
  const [figure] = headlineFigures(own);
  assertEquals(figure!.title, "Results");
  assertMatch(JSON.stringify(figure), /"title":"pass rate"/);
  assertNotMatch(JSON.stringify(figure), /solved|success rate|case/);
});
