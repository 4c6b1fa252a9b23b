import { assert, assertAlmostEquals, assertEquals, assertNotMatch } from "@std/assert";
import { draw, seriesMark } from "../../../lib/reports/figures/_plotting.ts";
import { wilson } from "../../../lib/statistics/proportions.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { HOSTILE, record, STEERING, type TrialTraits } from "../../support/records.ts";
import { legendOf } from "../../support/figures.ts";
import { figureOf, type Trials } from "../../support/reports.ts";
import { type Element, elementsOf, parseXml } from "../../support/xml.ts";

/** Returns a figure of trials as it is drawn. */
const drawFigure = (id: string, trials: Trials) => draw(figureOf(id, trials)!.spec);

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

/** The shares of a series; `null` where all trials are invalid, `undefined` where nothing was tried. */
type Rates = readonly (number | null | undefined)[];
type Series = readonly (readonly [name: string, rates: Rates])[];

/** 20 trials of each share of each series, on tasks of these sizes. */
function trialsOf(
  series: Series,
  traitsOf: (name: string, place: number) => TrialTraits,
  sizesOf: (place: number) => object = () => ({}),
): Trial[] {
  return series.flatMap(([name, rates]) =>
    rates.flatMap((rate, place) =>
      rate === undefined ? [] : Array.from({ length: 20 }, (_, seed) =>
        record({
          outcome: rate === null ? "invalid" : seed < 20 * rate - 1e-9 ? "solved" : "wrong_answer",
          task: { core: 60, depth: 1, connected: 0, disconnected: 0, seed, ...sizesOf(place) },
          ...traitsOf(name, place),
        }))
    )
  );
}

/** Trials of models at depths, which `depth-60` draws as lines. */
const lines = (depths: readonly number[], series: Series) =>
  trialsOf(series, (model) => ({ model }), (place) => ({ depth: depths[place] }));

/** Trials of models without irrelevant functions and with some, which `connection` draws as bars. */
const bars = (series: Series) =>
  trialsOf(series, (model) => ({ model }), (place) => ({ connected: 4 * place }));

/** Trials of models with strategies, which `strategy-60` draws as groups of bars. */
const groups = (models: readonly string[], series: Series) =>
  trialsOf(series, (strategy, place) => ({ strategy, model: models[place]! }));

/** Series with the same rates. */
const alike = (names: readonly string[], rates: Rates): Series =>
  names.map((name) => [name, rates]);
const numbered = (count: number) => Array.from({ length: count }, (_, place) => `model ${place}`);

Deno.test("breakdownFigure() puts points and whiskers where the shares are (FuncBenchGen C.2)", async () => {
  const values = [1, 2, 4, 7, 9];
  const series = [["up", SHARES], ["down", SHARES.toReversed()]] as const;
  const root = await drawn(drawFigure("depth-60", lines(values, series)));
  for (const [name, rates] of series) {
    const points = ofSeries(marksOf(root, "symbol"), name);
    const whiskers = ofSeries(marksOf(root, "rule"), name);
    assertEquals([points.length, whiskers.length], [5, 5]);
    for (const [place, rate] of rates.entries()) {
      assertAlmostEquals(points[place]!.y, HEIGHT * (1 - rate), 0.01);
      const { lower, upper } = wilson(20 * rate, 20);
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

Deno.test("breakdownFigure() puts what belongs to one value nearer together than values are, each with a look of its own", async () => {
  const names = numbered(12);
  const trials = lines([5, 6, 20], alike(names, [0.5, 0.5, 0.5]));
  const root = await drawn(drawFigure("depth-60", trials));
  const points = marksOf(root, "symbol");
  assertEquals(points.length, 36);
  const xs = [0, 1].map((place) => names.map((name) => ofSeries(points, name)[place]!.x));
  assert(Math.max(...xs[0]!) < Math.min(...xs[1]!));
  assertEquals(new Set(xs[0]!).size, 12, "whiskers must not cover each other");
  const looks = names.map((name, place) => {
    const [line] = ofSeries(marksOf(root, "line"), name);
    const [point] = ofSeries(points, name);
    const { colour, dash } = seriesMark(place);
    assertEquals(line!.attributes["stroke"], colour);
    assertEquals(line!.attributes["stroke-dasharray"]!, dash.join());
    assertEquals(point!.attributes["fill"], colour);
    return [colour, point!.attributes["d"]];
  });
  assertEquals(new Set(looks.map(String)).size, 12);
  assertEquals(new Set(looks.map(([colour]) => colour)).size, 8);
});

Deno.test("breakdownFigure() leaves out what nobody has tried, and draws what is left", async () => {
  const series: Series = [["whole", [1, 0.5, 0]], ["gap", [1, undefined, 0]], ["none", [
    null,
    null,
    null,
  ]]];
  const root = await drawn(drawFigure("depth-60", lines([1, 2, 3], series)));
  const points = marksOf(root, "symbol");
  assertEquals(["whole", "gap", "none"].map((name) => ofSeries(points, name).length), [3, 2, 0]);
  assertEquals(figureOf("depth-60", lines([1, 2], [["m", [null, null]]])), undefined);
});

Deno.test("breakdownFigure() draws a single point, but no single number, and a share without an interval", async () => {
  assertEquals(figureOf("core", lines([5], [["m", [0.5]]])), undefined, "a single number");
  const root = await drawn(drawFigure("depth-60", lines([5, 6], [["m", [0.5, null]]])));
  const [point, ...others] = marksOf(root, "symbol");
  assertEquals(others, []);
  assertAlmostEquals(point!.y, HEIGHT / 2, 0.01);
  assert(point!.x >= 0 && point!.x <= WIDTH);
  // Of one graph that was run twice nothing shows how far its rate may be off.
  for (const [id, kind] of [["depth-60", "symbol"], ["connection", "rect"]] as const) {
    const unsure = [0, 4].flatMap((connected, place) =>
      [1, 2].map((repetition) =>
        record({
          ...{ model: "unsure", repetition },
          task: { core: 60, depth: place + 1, connected, disconnected: 0, seed: 1 },
        })
      )
    );
    const series = alike(["sure"], [0.5, 0.9]);
    const sure = id === "connection" ? bars(series) : lines([1, 2], series);
    const mixed = await drawn(drawFigure(id, [...sure, ...unsure]));
    const counts = (of: "symbol" | "rect" | "rule") =>
      ["sure", "unsure"].map((name) => ofSeries(marksOf(mixed, of), name).length);
    assertEquals([counts(kind), counts("rule")], [[2, 2], [2, 0]]);
  }
});

Deno.test("breakdownFigure() draws 40 values along the axis, in their order (FuncBenchGen C.3)", async () => {
  const values = Array.from({ length: 40 }, (_, place) => place + 1);
  const rates = values.map((value) => value % 5 / 5);
  const points = marksOf(
    await drawn(drawFigure("depth-60", lines(values, [["m", rates]]))),
    "symbol",
  );
  assertEquals(points.length, 40);
  for (const [place, { x, y }] of points.entries()) {
    if (place > 0) assert(x > points[place - 1]!.x);
    assertAlmostEquals(y, HEIGHT * (1 - rates[place]!), 0.01);
  }
});

Deno.test("breakdownFigure() has bars over names, in groups and in the order of the series", async () => {
  const names = ["one", "two", "three"];
  const series = [["z", [1, 0.5, 0.1]], ["a", [0.9, undefined, 0.5]]] as const;
  const root = await drawn(drawFigure("strategy-60", groups(names, series)));
  const all = marksOf(root, "rect");
  assertEquals(all.length, 5);
  const at = (value: string, name: string) =>
    barOf(ofSeries(all, name).find(({ label }) => label.includes(`place: ${value};`))!);
  for (const [name, rates] of series) {
    for (const [place, rate] of rates.entries()) {
      if (rate === undefined) continue;
      const { top, height } = at(names[place]!, name);
      assertAlmostEquals(height, HEIGHT * rate, 0.01);
      assertAlmostEquals(top + height, HEIGHT, 0.01);
    }
  }
  assert(at("one", "z").x < at("one", "a").x);
  assert(at("one", "a").x < at("two", "z").x);
  assert(at("two", "z").x < at("three", "z").x);
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
  for (
    const [id, kind, trials] of [
      ["depth-60", "symbol", lines([1, 2], alike(NAMES, [0.5, 1]))],
      ["connection", "rect", bars(alike(NAMES, [0.5, 1]))],
    ] as const
  ) {
    const marks = marksOf(await drawn(drawFigure(id, trials)), kind);
    assertEquals(marks.length, 2 * NAMES.length);
    const labels = marks.map(({ label }) => /series: (.*)/.exec(label)![1]);
    assertEquals(new Set(labels).size, NAMES.length, labels.join("\n"));
  }
  // So it does along the axis, where each has a bar of each of two strategies.
  const rates = NAMES.map(() => 0.5);
  const root = await drawn(drawFigure("strategy-60", groups(NAMES, alike(["a", "b"], rates))));
  assertEquals(new Set(marksOf(root, "rect").map(barOf).map(({ x }) => x)).size, 2 * NAMES.length);
});

Deno.test("bars of 20 series have a look each, as seriesMark() says", async () => {
  const names = numbered(20);
  const root = await drawn(drawFigure("connection", bars(alike(names, [0.2, 0.8]))));
  const looks = names.map((name, place) => {
    const own = ofSeries(marksOf(root, "rect"), name)
      .map(({ attributes }) => `${attributes["fill"]} ${attributes["stroke"] ?? "none"}`);
    const { colour, outline } = seriesMark(place);
    assertEquals(new Set(own), new Set([`${colour} ${outline}`]), name);
    return own[0];
  });
  assertEquals(new Set(looks).size, names.length, looks.join("\n"));
});

Deno.test("seriesMark() tells models apart whose variants are 8 or 16 places from each other", () => {
  for (const distance of [8, 16]) {
    const colours = [0, 1, 2, 3].map((place) => seriesMark(distance * place).colour);
    assertEquals(new Set(colours).size, 4);
  }
  const marks = Array.from({ length: 48 }, (_, place) => seriesMark(place));
  assertEquals(new Set(marks.map(({ colour, shape }) => colour + shape)).size, 48);
  for (const way of ["colour", "shape", "dash"] as const) {
    assertEquals(new Set(marks.slice(0, 7).map((mark) => String(mark[way]))).size, 7, way);
  }
});

Deno.test("breakdownFigure() gives models the places of their variants, and all else places behind these", () => {
  const coloursOf = (id: string, trials: Trials) => legendOf(figureOf(id, trials)!).colours;
  const coloursAt = (...places: number[]) => places.map((place) => seriesMark(place).colour);
  const trials = [
    ...lines([1, 2], [["a", [1, 1]]]),
    record({ model: "b", task: { case: "own", seed: 1 } }),
    ...lines([1, 2], [["c", [0, 0]]]),
  ];
  assertEquals(coloursOf("depth-60", trials), coloursAt(0, 2));
  const sets = [3, 4].flatMap((core) =>
    [0, 4].map((connected) =>
      record({ task: { core, depth: 1, connected, disconnected: 0, seed: 1 } })
    )
  );
  assertEquals(coloursOf("sets-4", [...trials, ...sets]), coloursAt(4, 5));
});

Deno.test("figures are as wide as their content", async () => {
  const widthOf = async (image: Promise<string>) =>
    Number((await drawn(image)).attributes["width"]);
  const groupsOf = (count: number, series: number) => {
    const rates = new Array<number>(count).fill(0.5);
    const names = Array.from({ length: count }, (_, place) => `x ${place}`);
    return drawFigure("strategy-60", groups(names, alike(numbered(series), rates)));
  };
  const [few, more, many] = await Promise.all(
    ([[2, 2], [8, 3], [3, 60]] as const).map(([count, series]) => widthOf(groupsOf(count, series))),
  );
  assert(few! < 150 && more! > 3 * few! && more! < 600, `${few}, ${more}`);
  // Bars of many models have room, but no figure is broader than a screen.
  assert(many! > 1000 && many! < 1200, `${many}`);
  // What stands in every report fits a phone.
  const trials = lines([1, 2, 3], [["m", [0.1, 0.5, 1]]]);
  assert(await widthOf(drawFigure("depth-60", trials)) < 334);
});
