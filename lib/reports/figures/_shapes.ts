/**
 * The shapes of figures as specifications of Vega-Lite: points with whiskers along lines, and bars.
 * @module
 */

import type { Bounds } from "../../statistics/proportions.ts";
import { looks, type Series } from "./_plotting.ts";

/** Width and height of an axis of numbers, in pixels: with its labels a figure fits a phone. */
const [WIDTH, HEIGHT] = [270, 200];
/** Width of a letter at most, in pixels. */
const LETTER = 7;

/** Returns the layer of whiskers along an axis, of what has an interval. */
function whiskers(axis: object, mark: object, others: object = {}): object {
  return {
    transform: [{ filter: { field: "lower", valid: true } }],
    mark: { type: "rule", ...mark },
    encoding: { y: { field: "lower", ...axis }, y2: { field: "upper" }, ...others },
  };
}

/** Returns the layers of lines: whiskers, lines with a gap where there is no value, and points. */
export function lineLayers(
  axis: object,
  series: readonly Series[],
  { legend, stroke, line = "lines", size = 60, said = {} }: {
    readonly legend?: string;
    /** How whiskers and lines look. */
    readonly stroke: object;
    /** Whether lines have dashes of their own. */
    readonly line?: "lines" | "whiskers";
    /** Size of the points. */
    readonly size?: number;
    /** What points tell who cannot see them. Default: their values. */
    readonly said?: object;
  },
): object[] {
  const y = { field: "value", ...axis };
  return [
    whiskers(axis, { ...stroke, opacity: 0.55 }, looks(series, "whiskers", legend)),
    {
      mark: { type: "line", invalid: "break-paths-filter-domains", ...stroke },
      encoding: { y, ...looks(series, line, legend) },
    },
    {
      mark: { type: "point", filled: true, opacity: 1, size },
      encoding: { y, ...said, ...looks(series, "points", legend) },
    },
  ];
}

/** A point of a line, or a bar. */
export interface Point {
  readonly series: string;
  readonly value: number;
  /** Its whisker; `null` where there is none. */
  readonly interval: Bounds | null;
  /** Position along the axis. */
  readonly place: number | string;
}

/** What lines and bars have in common. */
interface Axes {
  /** The title of the axis below. */
  readonly axis: string;
  readonly series: readonly Series[];
  /** The title of the legend. */
  readonly legend: string;
}

/** The axis of success rates. */
export const SHARE = {
  ...{ type: "quantitative", title: "success rate" },
  ...{ scale: { domain: [0, 1] }, axis: { format: ".0%", tickCount: 5 } },
};

/** Returns what lines and bars are drawn of. */
function dataOf(points: readonly Point[]) {
  return { values: points.map(({ interval, ...point }) => ({ ...point, ...interval })) };
}

/** Returns lines of success rates along a number, with whiskers. */
export function linesSpec(
  points: readonly Point[],
  { axis, series, legend, values }: Axes & { readonly values: readonly number[] },
): object {
  return {
    data: dataOf(points),
    width: WIDTH,
    height: HEIGHT,
    encoding: {
      x: {
        field: "place",
        type: "quantitative",
        scale: { zero: false, nice: false, padding: 12 },
        axis: { title: axis, values, format: "d", grid: false },
      },
    },
    layer: lineLayers(SHARE, series, { legend, stroke: { strokeWidth: 2 } }),
  };
}

/** Width of a bar, and of all of them at most, in pixels. */
const [BAR, BROADEST] = [12, 1100];
/** Share of the space of a name that bars take. */
const TAKEN = 0.7;

/** Returns bars over names, those of one name beside each other. */
export function barsSpec(
  bars: readonly Point[],
  { axis, series, legend, names }: Axes & { readonly names: readonly string[] },
): object {
  const step = Math.max(
    Math.min(BAR * series.length / TAKEN, BROADEST / names.length),
    LETTER *
      Math.min(MOST_LETTERS, Math.max(...names.flatMap(wordsIn).map(({ length }) => length))),
  );
  return {
    data: dataOf(bars),
    width: { step, for: "position" },
    height: HEIGHT,
    encoding: {
      x: {
        field: "place",
        type: "nominal",
        // The order is that of the domain: a `sort` list would become an expression, which names like `constructor` break.
        scale: { domain: names, paddingInner: 1 - TAKEN, paddingOuter: (1 - TAKEN) / 2 },
        axis: { title: axis, ...wordAxis(step) },
      },
      xOffset: {
        field: "series",
        type: "nominal",
        scale: { domain: series.map(({ name }) => name) },
      },
    },
    layer: [
      {
        mark: { type: "bar", strokeWidth: 2 },
        encoding: {
          y: { field: "value", ...SHARE },
          ...looks(series, "bars", legend),
        },
      },
      whiskers(SHARE, { strokeWidth: 1.5, color: "var(--ink)" }),
    ],
  };
}

/** A word of a label is cut off after this number of letters, which short names of models have at most. */
const MOST_LETTERS = 30;

/** Splits joined names and names of several words into lines; ids such as `RP_F` stay in one. */
const LABEL_LINES = "split(replace(replace(datum.label, regexp('[+]', 'g'), '+ '), " +
  "regexp('_([a-z])', 'g'), '_ $1'), ' ')";

function wordsIn(name: string): string[] {
  return name.split(/(?<=\+)|(?<=_)(?=[a-z])| /);
}

/** Returns how an axis shows names, each word on a line. */
const wordAxis = (step: number) => ({
  labelAngle: 0,
  labelFontSize: 11,
  labelLimit: step,
  labelExpr: LABEL_LINES,
});
