import { legendOf } from "../../support/figures.ts";
import { assert, assertAlmostEquals, assertEquals, assertNotMatch } from "@std/assert";
import { type DimensionMetrics, DIMENSIONS } from "../../../lib/reports/metrics/_dimensions.ts";
import { makeReport, type Report } from "../../../lib/reports/report.ts";
import { dimensionFigure } from "../../../lib/reports/figures/_figures.ts";
import { draw, seriesMark } from "../../../lib/reports/figures/_plotting.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { HOSTILE, record, STEERING } from "../../support/records.ts";
import { type Element, elementsOf, parseXml } from "../../support/xml.ts";

/** A model with these scores, each with an interval of a tenth on either side. */
function metrics(model: string, means: readonly (number | null)[]): DimensionMetrics {
  const estimate = (mean: number | null) => ({
    mean,
    interval: mean === null
      ? null
      : { lower: Math.max(0, mean - 0.1), upper: Math.min(1, mean + 0.1) },
  });
  const article = {
    dimensions: DIMENSIONS.map((dimension, place) => ({
      dimension,
      ...estimate(means[place]!),
      count: 9,
      units: 9,
    })),
    overall: estimate(means[DIMENSIONS.length]!),
    missing: DIMENSIONS.filter((_, place) => means[place] === null),
  };
  // The finer scores are in the table alone.
  const finer = {
    dimensions: article.dimensions.map((own) => ({ ...own, mean: null, interval: null })),
    overall: estimate(null),
    missing: DIMENSIONS,
  };
  return {
    subject: { model, strategy: "plain", perturbation: "none" },
    simulated: model.startsWith("sim:"),
    ...finer,
    article,
  };
}

/** The marks of a kind, with where they stand. */
function marksOf(root: Element, kind: "symbol" | "rule" | "text") {
  return elementsOf(root)
    .filter(({ attributes }) => attributes["class"]?.startsWith(`mark-${kind} role-mark`))
    .flatMap(({ children }) => children)
    .map(({ attributes, text }) => {
      const [, x, y] = /translate\((-?[\d.]+),(-?[\d.]+)\)/.exec(attributes["transform"] ?? "")!;
      return { x: Number(x), y: Number(y), text, attributes };
    });
}

const WIDTH = 270;

/** Draws the dimensions of models that are all there is. */
async function drawDimensions(dimensions: readonly DimensionMetrics[]): Promise<string> {
  const subjects = dimensions as readonly unknown[] as Report["subjects"];
  const met = dimensions.map((one) => ({ ...one, missing: [] }));
  return await draw(dimensionFigure({ dimensions: met, subjects })[0]!.spec);
}

Deno.test("dimensionFigure() has a dot for each model in each dimension, and the score beside it", async () => {
  const [one, two] = [[1, 0.9, 0.8, 0.7, 0.25, 0.73], [0.5, 0.4, null, 0.2, null, 0.3667]];
  const root = parseXml(await drawDimensions([metrics("sim:a", one!), metrics("b", two!)]));
  const dots = marksOf(root, "symbol");
  const expected = one!.flatMap((mean, place) =>
    [mean, two![place]].filter((mean) => typeof mean === "number")
  );
  assertEquals(dots.length, expected.length);
  const byPlace = dots.toSorted((left, right) => left.y - right.y);
  for (const [place, { x }] of byPlace.entries()) {
    assertAlmostEquals(x / WIDTH, expected[place]!, 1e-3);
  }
  const colours = dots.map(({ attributes }) => attributes["fill"]);
  assertEquals(new Set(colours), new Set([seriesMark(0).colour, seriesMark(1).colour]));
  assertEquals(new Set(dots.map(({ attributes }) => attributes["d"])).size, 2, "shapes differ");
  const texts = marksOf(root, "text");
  const names = texts.filter(({ x }) => x < 10).map(({ text }) => text);
  assertEquals(names, [
    ...["tool selection", "argument correctness", "result interpretation"],
    ...["multi-step planning", "error recovery", "overall"],
  ]);
  const beside = texts.filter(({ x }) => x > WIDTH).toSorted((left, right) => left.y - right.y);
  assertEquals(beside.map(({ text }) => text), [
    ...["1.00", "0.50", "0.90", "0.40", "0.80", "not measured"],
    ...["0.70", "0.20", "0.25", "not measured", "0.73", "0.37"],
  ]);
  // The name of a dimension stands above its dots, and no two lines cover each other.
  const heights = texts.map(({ y }) => y).sort((left, right) => left - right);
  for (const [place, y] of heights.slice(1).entries()) {
    assert(y === heights[place] || y - heights[place]! > 11, `${y} after ${heights[place]}`);
  }
});

Deno.test("dimensionFigure() draws whiskers where there are intervals, and none else", async () => {
  const bare = metrics("b", [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
  const all = [
    metrics("a", [0.5, null, 0.5, 0.5, 0.5, 0.5]),
    { ...bare, article: { ...bare.article, overall: { mean: 0.5, interval: null } } },
  ];
  const whiskers = marksOf(parseXml(await drawDimensions(all)), "rule");
  assertEquals(whiskers.length, 5 + 5);
});

Deno.test("dimensionFigure() is at peace with many models, and with hostile names", async () => {
  const means = [1, 0.9, 0.8, 0.7, 0.6, 0.8];
  const names = [HOSTILE, HOSTILE, "__proto__", "", "constructor", ...new Array(7).fill("m")];
  const text = await drawDimensions(names.map((name) => metrics(name, means)));
  assertNotMatch(text, STEERING);
  const root = parseXml(text);
  assertEquals(marksOf(root, "symbol").length, names.length * 6);
  for (const { name } of elementsOf(root)) assert(!/script|foreignobject|^a$/i.test(name), name);
});

Deno.test("dimensionFigure() is there where faults were met, and calls simulated models so", () => {
  const model = { requested: "sim:planner", served: "", simulated: true };
  const trial = { ...summarize(record()), model, dimensions: { tool_selection: 1 } };
  assertEquals(dimensionFigure(makeReport([trial], { suite: "s" })), []);
  const recovery = { fault: "timeout", function: "f", end: "recovered", attempts: 1 } as const;
  const faulted = { ...trial, perturbation: "timeout", recoveries: [recovery] };
  const [figure] = dimensionFigure(makeReport([trial, faulted], { suite: "s" }));
  const { title, note } = figure!;
  assertEquals(title, "Five dimensions of tool use");
  assertEquals(note, "whiskers: 95% intervals; overall: the mean of those measured");
  assertEquals(legendOf(figure!), {
    ...{ title: "model", names: ["sim:planner (simulated)"], colours: [seriesMark(0).colour] },
  });
});
