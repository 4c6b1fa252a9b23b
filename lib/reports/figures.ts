/**
 * Figures of a report as SVG. Colours are variables of the page that shows them, so that they suit
 * light and dark alike; series differ by shape and dash as well, for colour-blind eyes.
 * @module
 */

import type { TopLevelSpec } from "vega-lite";
import type { Breakdown } from "../breakdown.ts";
import { FAILURE_TYPES } from "../failure.ts";
import { printable } from "../json.ts";
import type { SubjectMetrics, Tally } from "../metrics.ts";
import { nameOf } from "./tables.ts";

/** So many series have a colour of their own; further ones repeat them with other shapes. */
const COLOURS = 8;

/** The shapes of points, as paths within a square from -1 to 1. */
const SHAPES = [
  "M0,-0.8A0.8,0.8,0,1,1,0,0.8A0.8,0.8,0,1,1,0,-0.8Z",
  "M-0.7,-0.7H0.7V0.7H-0.7Z",
  "M0,-0.9L0.9,0.7H-0.9Z",
  "M0,-1L0.9,0L0,1L-0.9,0Z",
  "M-0.3,-0.9H0.3V-0.3H0.9V0.3H0.3V0.9H-0.3V0.3H-0.9V-0.3H-0.3Z",
  "M0,0.9L0.9,-0.7H-0.9Z",
  "M-0.9,-0.5L-0.5,-0.9L0,-0.4L0.5,-0.9L0.9,-0.5L0.4,0L0.9,0.5L0.5,0.9L0,0.4L-0.5,0.9L-0.9,0.5L-0.4,0Z",
] as const;
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2, 1, 2],
  [5, 5],
  [1, 4],
] as const;

const WIDTH = 400;
const HEIGHT = 230;

/** How the series at a place looks: for the legends that stand beside figures. */
export function seriesMark(place: number): {
  readonly colour: string;
  /** Of bars, which have neither shape nor dash: those that repeat a colour have an outline. */
  readonly outline: string;
  readonly shape: string;
  readonly dash: string;
} {
  return {
    colour: `var(--series-${place % COLOURS + 1})`,
    outline: ["none", "var(--ink)", "var(--faint)"][Math.floor(place / COLOURS) % 3]!,
    shape: SHAPES[place % SHAPES.length]!,
    dash: DASHES[place % DASHES.length]!.join(" "),
  };
}

/** A point of a figure. */
interface Point {
  readonly series: string;
  /** Where it stands along the axis: a little beside, so that whiskers do not cover each other. */
  readonly place: number | string;
  readonly rate: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** The figure of a breakdown: shares solved, with whiskers for their 95% intervals. */
export async function drawBreakdown(breakdown: Breakdown): Promise<string> {
  const { shape, axis, values, series } = breakdown;
  const names = distinct(series.map(({ name }) => name));
  const labels = distinct(values.map(String));
  const numbers = shape === "lines";
  const points = series.flatMap(({ tallies }, place) =>
    tallies.flatMap((tally, at) => {
      const beside = numbers
        ? Number(values[at]) +
          (place - (series.length - 1) / 2) * shift(values as number[], series.length)
        : labels[at]!;
      return pointOf(tally, { series: names[place]!, place: beside });
    })
  );
  const along = numbers
    ? {
      type: "quantitative" as const,
      scale: { zero: false, nice: false, padding: 12 },
      axis: { title: axis, values: values as number[], format: "d", grid: false },
    }
    : {
      ...inOrder(labels),
      scale: { domain: labels, paddingInner: 0.3 },
      axis: {
        title: axis,
        labelAngle: labels.some((label) => label.length > 14) ? -20 : 0,
        labelLimit: 280,
      },
    };
  const x = { field: "place", ...along };
  const beside = numbers ? {} : { xOffset: { field: "series", ...inOrder(names) } };
  const bounds = {
    y: { field: "lower", type: "quantitative" as const, ...SHARE },
    y2: { field: "upper" },
  };
  return await draw({
    data: { values: points },
    width: WIDTH,
    height: HEIGHT,
    encoding: { x, ...beside },
    layer: numbers
      ? [
        {
          transform: [BOUNDED],
          mark: { type: "rule", opacity: 0.55 },
          encoding: { ...bounds, color: colour(names) },
        },
        {
          mark: { type: "line", strokeWidth: 2 },
          encoding: {
            y: RATE,
            color: colour(names),
            strokeDash: told(names, (place) => DASHES[place % DASHES.length]!),
          },
        },
        {
          mark: { type: "point", filled: true, size: 60, opacity: 1 },
          encoding: {
            y: RATE,
            color: colour(names),
            shape: told(names, (place) => seriesMark(place).shape),
          },
        },
      ]
      : [
        {
          mark: { type: "bar", strokeWidth: 2 },
          encoding: { y: RATE, color: colour(names), stroke: outline(names) },
        },
        {
          transform: [BOUNDED],
          mark: { type: "rule", strokeWidth: 1.5, color: "var(--ink)" },
          encoding: bounds,
        },
      ],
  });
}

/**
 * Success of all models side by side, with whiskers for the 95% intervals; each under its own name, for
 * which there is no room beside it on a narrow screen.
 */
export async function drawOverview(subjects: readonly SubjectMetrics[]): Promise<string> {
  const names = distinct(subjects.map(nameOf));
  const points = subjects.flatMap(({ total }, place) =>
    pointOf(total, { series: names[place]!, place: names[place]! })
  );
  const y = { field: "series", ...inOrder(names), axis: null };
  const along = { ...SHARE, axis: { ...SHARE.axis, grid: true } };
  const x = { field: "rate", type: "quantitative" as const, ...along };
  return await draw({
    data: { values: points },
    width: WIDTH,
    height: { step: 38 },
    encoding: { y },
    layer: [
      {
        transform: [BOUNDED],
        mark: { type: "rule", strokeWidth: 2, yOffset: 8 },
        encoding: {
          x: { field: "lower", type: "quantitative", ...along },
          x2: { field: "upper" },
          color: colour(names),
        },
      },
      {
        mark: { type: "point", filled: true, size: 90, opacity: 1, yOffset: 8 },
        encoding: { x, color: colour(names) },
      },
      {
        mark: { type: "text", align: "left", dx: 4, dy: -8, fontSize: 12, color: "var(--ink)" },
        encoding: { x: { datum: 0, type: "quantitative", ...along }, text: { field: "series" } },
      },
    ],
  });
}

/** Wrong calls by type: roots solid, cascades pale. */
export async function drawFailures(subjects: readonly SubjectMetrics[]): Promise<string> {
  const names = distinct(subjects.map(nameOf));
  const bars = subjects.flatMap(({ failures, total }, place) =>
    failures.flatMap(({ type, roots, cascades }) =>
      [["root", roots], ["cascade", cascades]].map(([kind, count]) => ({
        series: names[place]!,
        type: type.replaceAll("_", " "),
        kind,
        calls: total.valid === 0 ? 0 : Number(count) / total.valid,
      }))
    )
  );
  return await draw({
    data: { values: bars },
    width: WIDTH,
    height: HEIGHT,
    mark: { type: "bar", strokeWidth: 2 },
    encoding: {
      x: {
        field: "type",
        type: "nominal",
        sort: FAILURE_TYPES.map((type) => type.replaceAll("_", " ")),
        scale: { paddingInner: 0.3 },
        axis: {
          title: "failure type",
          labelAngle: 0,
          labelLimit: 0,
          labelExpr: "split(datum.label, ' ')",
        },
      },
      xOffset: { field: "series", ...inOrder(names) },
      y: {
        field: "calls",
        type: "quantitative",
        axis: { title: "wrong calls a valid trial", tickCount: 5 },
      },
      color: colour(names),
      stroke: outline(names),
      opacity: {
        field: "kind",
        type: "ordinal",
        scale: { domain: ["root", "cascade"], range: [1, 0.45] },
        legend: null,
      },
      order: { field: "kind", sort: "descending" },
    },
  });
}

const BOUNDED = { filter: { field: "lower", valid: true } };

const SHARE = {
  scale: { domain: [0, 1] },
  axis: { title: "success rate", format: ".0%", tickCount: 5 },
};

const RATE = { field: "rate", type: "quantitative" as const, ...SHARE };

function pointOf(
  tally: Tally | null,
  place: Pick<Point, "series" | "place">,
): Point[] {
  if (tally === null || tally.rate === null) return [];
  const { rate, interval } = tally;
  // Repetitions of one graph have none: a whisker without length would claim certainty.
  const { lower, upper } = interval ?? { lower: null, upper: null };
  return [{ ...place, rate, lower, upper }];
}

/**
 * How far the whiskers of two series stand apart: all of them together take no more than a third of the
 * way to the next value, and two of them no more than they need.
 */
function shift(values: readonly number[], series: number): number {
  const gaps = values.slice(1).map((value, index) => value - values[index]!);
  if (gaps.length === 0) return 0;
  const needed = (values.at(-1)! - values[0]!) / 40;
  return Math.min(needed, Math.min(...gaps) / (3 * series));
}

/**
 * Names along an axis, in this order and with room for each. The order is that of the domain: a list
 * to sort by would become an expression, which names like `constructor` break.
 */
function inOrder(names: readonly string[]) {
  return { type: "nominal" as const, scale: { domain: [...names] } };
}

/** How series are told apart in one way; the legends stand beside the figures, with whole names. */
function told<T>(names: readonly string[], looks: (place: number) => T) {
  return {
    field: "series",
    type: "nominal" as const,
    scale: { domain: [...names], range: names.map((_, place) => looks(place)) },
    legend: null,
  };
}

/** Vega-Lite would sort bars by nominal colours, with a list. */
const colour = (names: readonly string[]) => ({
  ...told(names, (place) => seriesMark(place).colour),
  type: "ordinal" as const,
});

/** Names as labels: what a server or a journal calls itself is shown, and never merged with another. */
function distinct(names: readonly string[]): string[] {
  const labels = new Set<string>();
  for (const name of names) {
    const shown = printable(name, 120);
    let label = shown;
    for (let count = 2; labels.has(label); count++) label = `${shown} #${count}`;
    labels.add(label);
  }
  return [...labels];
}

const outline = (names: readonly string[]) => ({
  ...told(names, (place) => seriesMark(place).outline),
  type: "ordinal" as const,
});

const INK = { labelColor: "var(--ink)", titleColor: "var(--ink)" };

/** Loaded when a figure is drawn: most runs draw none. */
async function draw(spec: object): Promise<string> {
  const [vega, lite] = await Promise.all([import("vega"), import("vega-lite")]);
  const { spec: compiled } = lite.compile({
    ...spec,
    background: null,
    padding: 4,
    config: {
      font: "system-ui, sans-serif",
      view: { stroke: null },
      axis: {
        ...INK,
        titleFontWeight: "normal",
        labelFontSize: 12,
        titleFontSize: 12,
        gridColor: "var(--grid)",
        domainColor: "var(--line)",
        tickColor: "var(--line)",
      },
    },
  } as unknown as TopLevelSpec);
  const view = new vega.View(vega.parse(compiled), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}
