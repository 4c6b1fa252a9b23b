import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { decideTrials } from "../../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../../lib/gate/gate_report.ts";
import { completePolicy } from "../../../lib/gate/policy.ts";
import type { Breakdown } from "../../../lib/reports/metrics/_breakdown.ts";
import type { Failure } from "../../../lib/calls/failure_types.ts";
import {
  measure,
  type Tally,
  tally,
  type VariantMetrics,
} from "../../../lib/reports/metrics/metrics.ts";
import { breakdownFigure, failureFigure } from "../../../lib/reports/figures/_figures.ts";
import { comparisonFigures } from "../../../lib/reports/figures/_comparisons.ts";
import { headlineFigures } from "../../../lib/reports/figures/_headline.ts";
import { comparisonTables } from "../../../lib/reports/tables/_comparisons.ts";
import { overviewTable } from "../../../lib/reports/tables/_headline.ts";
import { makeReport, type Report } from "../../../lib/reports/report.ts";
import { draw, seriesMark } from "../../../lib/reports/figures/_plotting.ts";
import type { Figure, Table } from "../../../lib/reports/_view.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import {
  crossed,
  failureOf,
  HOSTILE,
  manyRecords,
  planOf,
  record,
  STEERING,
  type TrialTraits,
} from "../../support/records.ts";
import { legendOf } from "../../support/figures.ts";
import { type Element, elementsOf, parseXml } from "../../support/xml.ts";

/** The only one of these figures, drawn. */
async function drawOnly([figure, ...others]: readonly Figure[]): Promise<string> {
  assertEquals(others, []);
  return await draw(figure!.spec);
}

const drawBreakdown = (breakdown: Breakdown) => drawOnly(breakdownFigure(breakdown, []));
const drawHeadline = (trials: readonly Trial[]) =>
  drawOnly(headlineFigures(makeReport(trials, { suite: "s" })));
const drawFailures = (subjects: readonly VariantMetrics[]) => drawOnly(failureFigure({ subjects }));
const drawStrategies = (trials: readonly Trial[]) =>
  drawOnly(comparisonFigures(strategiesOf(trials)));

/** A report that compares strategies alone. */
function strategiesOf(trials: readonly Trial[]): Report {
  const report = makeReport(trials, { suite: "s" });
  return { ...report, comparisons: report.comparisons.filter(({ of }) => of === "strategy") };
}

/** The image, once it is well-formed and nothing was said while it was drawn. */
async function drawn(image: Promise<string>): Promise<Element> {
  const told: unknown[] = [];
  const kept = { ...console };
  for (const way of ["log", "info", "warn", "error", "debug"] as const) {
    console[way] = (...words: unknown[]) => void told.push(...words);
  }
  try {
    const root = parseXml(await image);
    assertEquals(told, []);
    assertEquals(root.name, "svg");
    for (const { name, attributes, text } of elementsOf(root)) {
      for (const shown of [text, ...Object.values(attributes)]) assertNotMatch(shown, STEERING);
      assert(!/script|foreignobject|image|^a$/i.test(name), name);
      assert(!Object.keys(attributes).some((key) => /^on|href$/i.test(key)), name);
    }
    return root;
  } finally {
    Object.assign(console, kept);
  }
}

/** A mark of the data: what it says it is, where it is, and how it looks. */
interface Mark {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly attributes: Element["attributes"];
}

/** The marks of a kind. */
function marksOf(root: Element, kind: "symbol" | "rule" | "rect" | "line"): Mark[] {
  return elementsOf(root)
    .filter(({ attributes }) => attributes["class"]?.startsWith(`mark-${kind} role-mark`))
    .flatMap(({ children }) => children)
    .map(({ attributes }) => {
      const place = /translate\(([-\d.e]+),([-\d.e]+)\)/.exec(attributes["transform"] ?? "");
      const [x, y] = place === null ? [NaN, NaN] : [Number(place[1]), Number(place[2])];
      return { label: attributes["aria-label"] ?? "", x: x!, y: y!, attributes };
    });
}

/** The whiskers, which say what they are of, as the lines of a gate do not. */
function whiskersOf(root: Element): Mark[] {
  return marksOf(root, "rule").filter(({ label }) => label !== "");
}

/** The marks of one series. */
function ofSeries(marks: readonly Mark[], name: string): Mark[] {
  return marks.filter(({ label }) => new RegExp(`series: ${RegExp.escape(name)}(;|$)`).test(label));
}

/** Where a bar begins and ends. */
function barOf({ attributes }: Mark) {
  const [, x, y, width, height] = /^M([-\d.e]+),([-\d.e]+)h([-\d.e]+)v([-\d.e]+)h[-\d.e]+Z$/.exec(
    attributes["d"]!,
  )!.map(Number);
  return { x: x!, top: y!, width: width!, height: height! };
}

const HEIGHT = 200;
const WIDTH = 270;
const SHARES = [0, 0.1, 0.5, 0.9, 1];

/** What a share of 20 trials comes to. */
function share(rate: number): Tally {
  return tally(manyRecords(20 * rate, 20));
}

function breakdownOf(
  values: Breakdown["values"],
  series: Record<string, readonly (number | null)[]>,
): Breakdown {
  return {
    id: "depth-10",
    kind: "depth",
    title: "",
    source: "",
    axis: "depth",
    legend: "model",
    shape: values.every((value) => typeof value === "number") ? "lines" : "bars",
    values,
    series: Object.entries(series).map(([name, rates]) => ({
      name,
      tallies: rates.map((rate) => rate === null ? null : share(rate)),
    })),
  };
}

Deno.test("breakdownFigure() puts points and whiskers where the shares are (FuncBenchGen C.2)", async () => {
  const values = [1, 2, 4, 7, 9];
  const root = await drawn(drawBreakdown(breakdownOf(values, {
    up: SHARES,
    down: SHARES.toReversed(),
  })));
  for (const [name, rates] of [["up", SHARES], ["down", SHARES.toReversed()]] as const) {
    const points = ofSeries(marksOf(root, "symbol"), name);
    const whiskers = ofSeries(marksOf(root, "rule"), name);
    assertEquals([points.length, whiskers.length], [5, 5]);
    for (const [place, rate] of rates.entries()) {
      assertAlmostEquals(points[place]!.y, HEIGHT * (1 - rate), 0.01);
      const { lower, upper } = share(rate).interval!;
      const { x, y, attributes } = whiskers[place]!;
      assertAlmostEquals(x, points[place]!.x, 0.01);
      assertAlmostEquals(y, HEIGHT * (1 - lower), 0.01);
      assertAlmostEquals(y + Number(attributes["y2"]), HEIGHT * (1 - upper), 0.01);
    }
    // Distances along the axis are those of the values.
    const steps = points.slice(1).map(({ x }, place) => x - points[place]!.x);
    const wanted = values.slice(1).map((value, place) => value - values[place]!);
    for (const [place, step] of steps.entries()) {
      assertAlmostEquals(step / steps[0]!, wanted[place]! / wanted[0]!, 0.001);
    }
  }
});

Deno.test("breakdownFigure() puts what belongs to one value nearer together than values are", async () => {
  const names = Array.from({ length: 12 }, (_, place) => `model ${place}`);
  const root = await drawn(drawBreakdown(breakdownOf(
    [5, 6, 20],
    Object.fromEntries(names.map((name) => [name, [0.5, 0.5, 0.5]])),
  )));
  const points = marksOf(root, "symbol");
  assertEquals(points.length, 36);
  const xs = [0, 1].map((place) => names.map((name) => ofSeries(points, name)[place]!.x));
  assert(Math.max(...xs[0]!) < Math.min(...xs[1]!));
  assertEquals(new Set(xs[0]!).size, 12, "whiskers must not cover each other");
});

Deno.test("breakdownFigure() leaves out what nobody has tried, and draws what is left", async () => {
  const root = await drawn(drawBreakdown(breakdownOf([1, 2, 3], {
    whole: [1, 0.5, 0],
    gap: [1, null, 0],
    none: [null, null, null],
  })));
  const points = marksOf(root, "symbol");
  assertEquals(
    ["whole", "gap", "none"].map((name) => ofSeries(points, name).length),
    [3, 2, 0],
  );
  const spoiled = record({ outcome: "invalid" });
  const invalid = { ...breakdownOf([1, 2], {}), series: [{ name: "m", tallies: [] as Tally[] }] };
  invalid.series[0]!.tallies = [tally([spoiled]), tally([spoiled])];
  assertEquals(breakdownFigure(invalid, []), [], "nothing to draw");
});

Deno.test("breakdownFigure() draws a single point, but no single number, and a share without an interval", async () => {
  assertEquals(breakdownFigure(breakdownOf([5], { m: [0.5] }), []), [], "a single number");
  const root = await drawn(drawBreakdown(breakdownOf([5, 6], { m: [0.5, null] })));
  const [point, ...others] = marksOf(root, "symbol");
  assertEquals(others, []);
  assertAlmostEquals(point!.y, HEIGHT / 2, 0.01);
  assert(point!.x >= 0 && point!.x <= WIDTH);
  const repeated = tally([1, 2].map((repetition) => record({ repetition })));
  assertEquals(repeated.interval, null);
  const breakdown = breakdownOf([5, 6], {});
  const sure = { ...breakdown, series: [{ name: "m", tallies: [repeated, null] }] };
  assertEquals(marksOf(await drawn(drawBreakdown(sure)), "symbol").length, 1);
});

Deno.test("breakdownFigure() draws 40 values along the axis, in their order (FuncBenchGen C.3)", async () => {
  const values = Array.from({ length: 40 }, (_, place) => place + 1);
  const rates = values.map((value) => value % 5 / 5);
  const root = await drawn(drawBreakdown(breakdownOf(values, { m: rates })));
  const points = marksOf(root, "symbol");
  assertEquals(points.length, 40);
  for (const [place, { x, y }] of points.entries()) {
    if (place > 0) assert(x > points[place - 1]!.x);
    assertAlmostEquals(y, HEIGHT * (1 - rates[place]!), 0.01);
  }
  const names = values.map((value) => `name ${value}`);
  const bars = marksOf(await drawn(drawBreakdown(breakdownOf(names, { m: rates }))), "rect");
  assertEquals(bars.length, 40);
});

Deno.test("breakdownFigure() has bars over names, in groups and in the order of the series", async () => {
  const names = ["no extra", "connected", "disconnected"];
  const series = { z: [1, 0.5, 0.1], a: [0.9, null, 0.5] };
  const root = await drawn(drawBreakdown(breakdownOf(names, series)));
  const bars = marksOf(root, "rect");
  assertEquals(bars.length, 5);
  const at = (value: string, name: string) =>
    barOf(ofSeries(bars, name).find(({ label }) => label.includes(`place: ${value};`))!);
  for (const [name, rates] of Object.entries(series)) {
    for (const [place, rate] of rates.entries()) {
      if (rate === null) continue;
      const { top, height } = at(names[place]!, name);
      assertAlmostEquals(height, HEIGHT * rate, 0.01);
      assertAlmostEquals(top + height, HEIGHT, 0.01);
    }
  }
  assert(at("no extra", "z").x < at("no extra", "a").x);
  assert(at("no extra", "a").x < at("connected", "z").x);
  assert(at("connected", "z").x < at("disconnected", "z").x);
});

/** Names that break out of markup, of scripts or of objects, or that are hard to tell apart. */
const NAMES = [
  HOSTILE,
  "<script>alert(1)</script>",
  `"' onload='x`,
  "&amp; &lt; &#60;",
  "]]> <!-- -->",
  '\\" + datum.series + \\u0022',
  "constructor",
  "__proto__",
  "toString",
  "null",
  "undefined",
  "",
  " ",
  "0",
  "NaN",
  "a.b[0]",
  "日本 🜁",
  "x".repeat(500),
  "x".repeat(499) + "y",
  "\ud800",
];

Deno.test("breakdownFigure() shows hostile names as text, each with marks of its own", async () => {
  const rates = Object.fromEntries(NAMES.map((name) => [name, [0.5, 1]]));
  for (const [values, kind] of [[[1, 2], "symbol"], [["one", "two"], "rect"]] as const) {
    const breakdown = breakdownOf(values, rates);
    // An object cannot have this one as a key of a literal.
    const series = NAMES.map((name) => ({ name, tallies: [share(0.5), share(1)] }));
    const marks = marksOf(await drawn(drawBreakdown({ ...breakdown, series })), kind);
    assertEquals(marks.length, 2 * NAMES.length);
    const labels = marks.map(({ label }) => /series: (.*)/.exec(label)![1]);
    assertEquals(new Set(labels).size, NAMES.length, labels.join("\n"));
  }
});

Deno.test("breakdownFigure() shows hostile names along the axis as text, each with a bar", async () => {
  const root = await drawn(drawBreakdown(breakdownOf(NAMES, { m: NAMES.map(() => 0.5) })));
  const bars = marksOf(root, "rect").map(barOf);
  assertEquals(bars.length, NAMES.length);
  assertEquals(new Set(bars.map(({ x }) => x)).size, NAMES.length, "a bar for each name");
});

Deno.test("breakdownFigure() never takes two series of one name for one", async () => {
  const breakdown = breakdownOf([1, 2], {});
  const names = ["same", "same", "same #2", "same"];
  const series = names.map((name, place) => ({
    name,
    tallies: [share(SHARES[place]!), share(SHARES[place]!)],
  }));
  const root = await drawn(drawBreakdown({ ...breakdown, series }));
  const lines = marksOf(root, "line");
  assertEquals(lines.length, 4);
  assertEquals(new Set(lines.map(({ attributes }) => attributes["stroke"])).size, 4);
});

Deno.test("breakdownFigure() gives each of 12 series a look of its own, as seriesMark() says", async () => {
  const names = Array.from({ length: 12 }, (_, place) => `model ${place}`);
  const rates = Object.fromEntries(names.map((name) => [name, [0.2, 0.8]]));
  const root = await drawn(drawBreakdown(breakdownOf([1, 2], rates)));
  const looks = names.map((name, place) => {
    const [line] = ofSeries(marksOf(root, "line"), name);
    const [point] = ofSeries(marksOf(root, "symbol"), name);
    const { colour, dash } = seriesMark(place);
    assertEquals(line!.attributes["stroke"], colour);
    assertEquals(line!.attributes["stroke-dasharray"]!, dash.join());
    assertEquals(point!.attributes["fill"], colour);
    return [colour, point!.attributes["d"]];
  });
  assertEquals(new Set(looks.map(String)).size, 12);
  assertEquals(new Set(looks.map(([colour]) => colour)).size, 8);
  const marks = names.map((_, place) => seriesMark(place)).slice(0, 7);
  for (const way of ["colour", "shape", "dash"] as const) {
    assertEquals(new Set(marks.map((mark) => String(mark[way]))).size, 7, way);
  }
});

/** A tally of one graph that was run twice: nothing shows how far its rate may be off. */
function unsure(traits: TrialTraits = {}): Tally {
  const one = tally([1, 2].map((repetition) => record({ repetition, ...traits })));
  assertEquals([one.rate, one.interval], [1, null]);
  return one;
}

Deno.test("breakdownFigure() has no whisker where there is no interval", async () => {
  for (
    const [values, kind] of [[[1, 2, 3], "symbol"], [["one", "two", "three"], "rect"]] as const
  ) {
    const breakdown = breakdownOf(values, { sure: [0.5, 0.9, 0.1] });
    const series = [
      ...breakdown.series,
      { name: "mixed", tallies: [share(0.5), unsure(), null] },
      { name: "unsure", tallies: [unsure(), unsure(), unsure()] },
    ];
    const root = await drawn(drawBreakdown({ ...breakdown, series }));
    const counts = (of: "symbol" | "rect" | "rule") =>
      ["sure", "mixed", "unsure"].map((name) => ofSeries(marksOf(root, of), name).length);
    assertEquals(counts(kind), [3, 2, 3]);
    assertEquals(counts("rule"), [3, 1, 0]);
  }
});

Deno.test("bars of 20 series have a look each, as seriesMark() says", async () => {
  const names = Array.from({ length: 20 }, (_, place) => `model ${place}`);
  const rates = Object.fromEntries(names.map((name) => [name, [0.2, 0.8]]));
  const wrong = { ...failureOf("incorrect_value"), root: true } as Failure;
  const trials = names.map((model) => record({ model, failures: [wrong] }));
  for (
    const image of [
      drawBreakdown(breakdownOf(["one", "two"], rates)),
      drawFailures(measure(trials)),
    ]
  ) {
    const root = await drawn(image);
    const looks = names.map((name, place) => {
      const own = ofSeries(marksOf(root, "rect"), name)
        .map(({ attributes }) => `${attributes["fill"]} ${attributes["stroke"] ?? "none"}`);
      const { colour, outline } = seriesMark(place);
      assertEquals(new Set(own), new Set([`${colour} ${outline}`]), name);
      return own[0];
    });
    assertEquals(new Set(looks).size, names.length, looks.join("\n"));
  }
});

Deno.test("headlineFigures() has a point and a whisker for each model, in order, simulated ones named", async () => {
  const trials = [
    ...manyRecords(18, 20, { model: "good" }),
    ...manyRecords(2, 20, { model: "sim:bad", simulated: true }),
    record({ model: "spoiled", outcome: "invalid" }),
  ];
  const root = await drawn(drawHeadline(trials));
  const points = marksOf(root, "symbol");
  const whiskers = marksOf(root, "rule");
  assertEquals(points.map(({ label }) => /series: ([^;]*)/.exec(label)![1]), [
    "good",
    "sim:bad (simulated)",
  ]);
  for (const [place, rate] of [0.9, 0.1].entries()) {
    const { lower, upper } = tally(manyRecords(20 * rate, 20)).interval!;
    assertAlmostEquals(points[place]!.x, WIDTH * rate, 0.01);
    assertAlmostEquals(whiskers[place]!.x, WIDTH * lower, 0.01);
    const end = whiskers[place]!.x + Number(whiskers[place]!.attributes["x2"]);
    assertAlmostEquals(end, WIDTH * upper, 0.01);
  }
  assert(points[0]!.y < points[1]!.y);
  // A row without a rate has no point, but its name.
  const labels = elementsOf(root).map(({ text }) => text).filter((text) =>
    /good|bad|spoiled/.test(text)
  );
  assertEquals([...new Set(labels)], ["good", "sim:bad (simulated)", "spoiled: -"]);
});

Deno.test("failureFigure() stacks roots and cascades to wrong calls a valid trial", async () => {
  const of = (type: Failure["type"], root: boolean) => ({ ...failureOf(type), root }) as Failure;
  const trials = [
    record({
      seed: 1,
      failures: [
        of("incorrect_value", true),
        of("incorrect_value", false),
        of("incorrect_value", false),
        of("function_not_found", true),
      ],
    }),
    record({ seed: 2, failures: [of("incorrect_value", true)] }),
    record({ seed: 3, outcome: "invalid" }),
    ...NAMES.map((model) =>
      record({ model, id: model || "none", failures: [of("incorrect_value", true)] })
    ),
  ];
  const root = await drawn(drawFailures(measure(trials)));
  const bars = ofSeries(marksOf(root, "rect"), "m");
  const at = (type: string, kind: string) =>
    barOf(bars.find(({ label }) => label.includes(`${type};`) && label.includes(`: ${kind}`))!);
  const roots = at("incorrect value", "root");
  const cascades = at("incorrect value", "cascade");
  const missed = at("function not found", "root");
  // 2 roots, 2 cascades and 1 other root in 2 valid trials.
  assertAlmostEquals(roots.height, cascades.height, 0.01);
  assertAlmostEquals(missed.height, roots.height / 2, 0.01);
  assertAlmostEquals(roots.top + roots.height, HEIGHT, 0.01);
  assertAlmostEquals(cascades.top + cascades.height, roots.top, 0.01);
  assertEquals(marksOf(root, "rect").length, 8 * (NAMES.length + 1));
});

Deno.test("comparisonFigures() has points and whiskers around zero, in the colours that models have", async () => {
  const trials = [
    ...crossed({ both: 20, gained: 10, lost: 2, neither: 8 }),
    ...crossed({ lost: 6, both: 4 }, { model: "sim:n", simulated: true }),
    record({ model: "spoiled", strategy: "restate", outcome: "invalid" }),
    record({ model: "spoiled" }),
  ];
  const { subjects, comparisons } = strategiesOf(trials);
  assertEquals(comparisons.length, 3);
  const root = await drawn(drawStrategies(trials));
  const [points, whiskers] = [marksOf(root, "symbol"), whiskersOf(root)];
  assertEquals(points.map(({ label }) => /series: ([^;]*)/.exec(label)![1]), [
    "m + restate",
    "sim:n + restate (simulated)",
  ]);
  // The longest whisker ends at -0.83: the axis ends at 0.9, to either side.
  const placeOf = (difference: number) => WIDTH / 2 * (1 + difference / 0.9);
  for (const [place, { success }] of comparisons.slice(0, 2).entries()) {
    const { difference, interval } = success!;
    assertAlmostEquals(points[place]!.x, placeOf(difference), 0.01);
    assertAlmostEquals(whiskers[place]!.x, placeOf(interval!.lower), 0.01);
    const end = whiskers[place]!.x + Number(whiskers[place]!.attributes["x2"]);
    assertAlmostEquals(end, placeOf(interval!.upper), 0.01);
    const named = subjects.findIndex(({ subject }) =>
      subject.model === comparisons[place]!.subject.model && subject.strategy === "restate"
    );
    assertEquals(points[place]!.attributes["fill"], seriesMark(named).colour);
  }
  assert(points[0]!.y < points[1]!.y);
  const labels = elementsOf(root).map(({ text }) => text).filter((text) =>
    /^[-+\u2212\d.]+$/.test(text)
  );
  assertEquals(labels, ["\u221290", "\u221245", "0", "+45", "+90", "+20.0", "-60.0"]);
});

Deno.test("comparisonFigures() has the title, the pairs and the order of the table, in both drawings", async () => {
  const trials = [..."abcd"].flatMap((model, place) => manyRecords(4 + 5 * place, 20, { model }));
  const report = makeReport(trials, { suite: "s" });
  const [{ title, rows: [, ...rows] }] = comparisonTables(report) as [Table];
  const [{ spec, wide, ...figure }] = comparisonFigures(report) as [Figure];
  assertEquals(figure.title, title);
  assertEquals(rows.map(([candidate, against]) => `${candidate} - ${against}`), [
    // Significant ones stand before others.
    ...["c - a", "d - a", "b - a", "d - b", "c - b", "d - c"],
  ]);
  const values = rows.map((row) => row[5]!);
  for (const image of [spec, wide!]) {
    const texts = elementsOf(await drawn(draw(image))).filter(({ attributes }) =>
      attributes["transform"] !== undefined
    ).map(({ text, attributes }) => {
      const [, x, y] = /translate\(([-\d.]+),([-\d.]+)\)/.exec(attributes["transform"]!)!;
      return { text, x: Number(x), y: Number(y), attributes };
    }).sort((one, other) => one.y - other.y);
    assertEquals(texts.filter(({ text }) => values.includes(text)).map(({ text }) => text), values);
    const names = texts.filter(({ text }) => /^(against )?[a-d]$/.test(text));
    assertEquals(names.map(({ text }) => text), [
      ...["against a", "c", "d", "b", "against b", "d", "c", "against c", "d"],
    ]);
    // Beside a wide axis labels end before it: nothing is below them.
    assert(
      names.every(({ x, attributes }) =>
        image === spec ? x > 0 : x < 0 && attributes["text-anchor"] === "end"
      ),
    );
    // Where something is, the page shows around the letters, whatever the theme.
    for (const { attributes } of names) {
      assertEquals(
        [attributes["stroke"], attributes["paint-order"], attributes["stroke-width"]],
        ["var(--paper)", "stroke", "3"],
      );
    }
  }
});

Deno.test("comparisonFigures() draws the margin of a gate behind the pairs that it decided on, and no others", async () => {
  const trials = ["old", "new", "other"].flatMap((model, place) =>
    manyRecords(90 - place, 100, { model })
  );
  const bandsOf = async (models: readonly string[], margin: number) => {
    const own = trials.filter(({ model }) => models.includes(model.requested));
    const policy = completePolicy({ baseline: "old", margin });
    const gate = reportVerdicts("s", decideTrials(own, planOf(own), policy), policy);
    const report = makeReport(trials, { suite: "s", gates: [gate] });
    const [{ wide, note }] = comparisonFigures(report) as [Figure];
    const root = await drawn(draw(wide!));
    return [
      elementsOf(root).filter(({ attributes }) => attributes["fill"] === "var(--band)"),
      note,
    ];
  };
  const [bands, note] = await bandsOf(["old", "new"], 0.1);
  assertEquals(bands!.length, 1);
  assertStringIncludes(String(note), "band: 10 points, close enough for the gate");
  const [none, plain] = await bandsOf(["old", "new"], 0);
  assertEquals([none!.length, String(plain).includes("band")], [0, false]);
  assertEquals((await bandsOf(["old", "new", "other"], 0.02))[0]!.length, 2);
});

Deno.test("comparisonFigures() shows hostile names as text, each of them, and what has no interval", async () => {
  const trials = NAMES.flatMap((model) =>
    crossed({ gained: 1 }, { model }).flatMap((trial) => [trial, { ...trial, repetition: 2 }])
  );
  const root = await drawn(drawStrategies(trials));
  const points = marksOf(root, "symbol");
  assertEquals(points.length, NAMES.length);
  assertEquals(new Set(points.map(({ y }) => y)).size, NAMES.length);
  assertEquals(whiskersOf(root), []);
});

Deno.test("rows of many strategies have the names and the order of the table, and the colours of the whole", async () => {
  const strategies = ["plain", "restate", "repair"];
  const trials = ["a", "sim:b", "a + b"].flatMap((model) =>
    strategies.flatMap((strategy) =>
      manyRecords(5, 10, { model, strategy, simulated: model === "sim:b" })
    )
  );
  const root = await drawn(drawHeadline(trials));
  const [, ...rows] = overviewTable(makeReport(trials, { suite: "s" })).rows;
  const names = rows.map(([name]) => name!);
  const texts = elementsOf(root).filter(({ text }) => names.includes(text))
    .map(({ text, attributes }) => ({
      text,
      y: Number(/,([\d.]+)\)/.exec(attributes["transform"]!)![1]),
    })).sort((one, other) => one.y - other.y);
  assertEquals(texts.map(({ text }) => text), names);
  assertEquals(
    marksOf(root, "symbol").map(({ attributes }) => attributes["fill"]),
    Array.from({ length: 9 }, (_, place) => seriesMark(place).colour),
  );
  // Each label stands above its point, and no two lines cover each other.
  const ys = [...texts, ...marksOf(root, "symbol")].map(({ y }) => y).sort((one, other) =>
    one - other
  );
  for (const [place, y] of ys.slice(1).entries()) assert(y - ys[place]! > 11, `${y}`);
});

Deno.test("seriesMark() tells models apart whose variants are 8 or 16 places from each other", () => {
  for (const distance of [8, 16]) {
    const colours = [0, 1, 2, 3].map((place) => seriesMark(distance * place).colour);
    assertEquals(new Set(colours).size, 4);
  }
  const looks = Array.from({ length: 48 }, (_, place) => {
    const { colour, shape } = seriesMark(place);
    return colour + shape;
  });
  assertEquals(new Set(looks).size, 48);
});

Deno.test("breakdownFigure() gives models the places of their variants, and all else places behind these", () => {
  const subjects = measure(["a", "b", "c"].map((model) => record({ model })));
  const coloursOf = (breakdown: Breakdown) =>
    legendOf(breakdownFigure(breakdown, subjects)[0]!).colours;
  const coloursAt = (...places: number[]) => places.map((place) => seriesMark(place).colour);
  assertEquals(coloursOf(breakdownOf([1, 2], { a: [1, 1], c: [0, 0] })), coloursAt(0, 2));
  const others = { ...breakdownOf([1, 2], { a: [1, 1], c: [0, 0] }), legend: "strategy" };
  assertEquals(coloursOf(others), coloursAt(3, 4));
});

Deno.test("figures are as wide as their content", async () => {
  const widthOf = async (image: Promise<string>) =>
    Number((await drawn(image)).attributes["width"]);
  const barsOf = (count: number, series: number) =>
    breakdownOf(
      Array.from({ length: count }, (_, place) => `x ${place}`),
      Object.fromEntries(Array.from({ length: series }, (_, place) => [
        `model ${place}`,
        new Array(count).fill(0.5),
      ])),
    );
  const [few, more, many] = await Promise.all(
    ([[2, 2], [8, 3], [3, 60]] as const).map(([count, series]) =>
      widthOf(drawBreakdown(barsOf(count, series)))
    ),
  );
  assert(few! < 150 && more! > 3 * few! && more! < 600, `${few}, ${more}`);
  // Bars of many models have room, but no figure is broader than a screen.
  assert(many! > 1000 && many! < 1200, `${many}`);
  // What stands in every report fits a phone.
  const lines = breakdownOf([1, 2, 3], { m: [0.1, 0.5, 1] });
  const rows = ["a", "b"].map((model) => record({ model }));
  for (const image of [drawBreakdown(lines), drawHeadline(rows)]) {
    assert(await widthOf(image) < 334);
  }
  // Long names are broken into lines, and stand on one beside a wide axis. Vega takes letters for twice as wide, which
  // would leave half of a figure empty.
  const [figure] = headlineFigures(makeReport([record({ model: "m".repeat(60) })], { suite: "s" }));
  assert(await widthOf(draw(figure!.spec)) < 334);
  const width = await widthOf(draw(figure!.wide!));
  assert(width > 520 + 60 * 12 * 0.6 && width < 520 + 60 * 12 * 0.7 + 60, `${width}`);
});
