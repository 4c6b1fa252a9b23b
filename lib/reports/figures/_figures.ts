/**
 * Figures of a report as SVG.
 * @module
 */

import type { Breakdown } from "../metrics/_breakdown.ts";
import type { Comparison } from "../../gate/comparison.ts";
import { FAILURE_TYPES } from "../../calls/failure_types.ts";
import { canonicalJson } from "../../base/json.ts";
import type { Tally, VariantMetrics } from "../metrics/metrics.ts";
import {
  colour,
  DASHES,
  distinct,
  draw,
  inOrder,
  outline,
  seriesChannel,
  seriesMark,
} from "./_plotting.ts";
import { nameOf } from "../tables/table.ts";

const WIDTH = 400;
const HEIGHT = 230;
/** Width of a bar where there are many, in pixels. */
const BAR = 10;
/** Width of all bars at most, in pixels. */
const BROADEST = 1150;
/** More lines than this need a wider figure to be readable. */
const MAX_LINES = 8;

/** Returns the width for a number of bars, wide enough to tell them apart. */
function barsWidth(bars: number): number {
  return Math.min(BROADEST, Math.max(WIDTH, BAR * bars));
}

/** Returns the width of a breakdown's figure. */
function widthOf({ shape, values, series }: Breakdown): number {
  if (shape === "bars") return barsWidth(values.length * series.length);
  return series.length > MAX_LINES ? 2.2 * WIDTH : WIDTH;
}

/** A wider figure takes the space of two. */
const BROAD = 1.5 * WIDTH;

/** Whether the figure of a breakdown is broad. */
export function isBroad(breakdown: Breakdown): boolean {
  return widthOf(breakdown) > BROAD;
}

/** Whether the figure of wrong calls is broad. */
export function hasBroadFailures(subjects: readonly VariantMetrics[]): boolean {
  return barsWidth(FAILURE_TYPES.length * subjects.length) > BROAD;
}

/** A point of a figure. */
interface Point {
  readonly series: string;
  /** Position along the axis, shifted slightly so that whiskers do not overlap. */
  readonly place: number | string;
  readonly rate: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** Draws a breakdown: shares solved, with whiskers for their 95% intervals. */
export async function drawBreakdown(breakdown: Breakdown): Promise<string> {
  const { shape, axis, values, series } = breakdown;
  const names = distinct(series.map(({ name }) => name));
  const labels = distinct(values.map(String));
  const isNumeric = shape === "lines";
  const points = series.flatMap(({ tallies }, place) =>
    tallies.flatMap((tally, at) => {
      const position = isNumeric
        ? Number(values[at]) +
          (place - (series.length - 1) / 2) * shift(values as number[], series.length)
        : labels[at]!;
      return pointOf(tally, { series: names[place]!, place: position });
    })
  );
  const along = isNumeric
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
  const offset = isNumeric ? {} : { xOffset: { field: "series", ...inOrder(names) } };
  const bounds = {
    y: { field: "lower", type: "quantitative" as const, ...SHARE },
    y2: { field: "upper" },
  };
  return await draw({
    data: { values: points },
    width: widthOf(breakdown),
    height: HEIGHT,
    encoding: { x, ...offset },
    layer: isNumeric
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
            strokeDash: seriesChannel(names, (place) => DASHES[place % DASHES.length]!),
          },
        },
        {
          mark: { type: "point", filled: true, size: 60, opacity: 1 },
          encoding: {
            y: RATE,
            color: colour(names),
            shape: seriesChannel(names, (place) => seriesMark(place).shape),
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

/** Options of figures with a row for each subject. */
export interface RowOptions<T> {
  /** All subjects; a series has the colour of its index in them. Default: those that have a row. */
  readonly subjects?: readonly VariantMetrics[];
  /** Returns the label above a row. Default: the subject's name. */
  readonly label?: (row: T) => string;
}

/** Draws the success of each subject in a row, with whiskers for the 95% intervals. */
export async function drawOverview(
  own: readonly VariantMetrics[],
  { subjects = own, label = nameOf }: RowOptions<VariantMetrics> = {},
): Promise<string> {
  const { names, nameOfRow } = namesOf(subjects);
  const labels = distinct(own.map(label));
  const points = own.flatMap((one, place) =>
    pointOf(one.total, { series: nameOfRow(one), place: labels[place]! })
  );
  return await drawRows(points, { names, rows: labels, ...SHARE.scale, axis: SHARE.axis });
}

/** A row of {@linkcode drawComparisons}. */
export type ComparedRow = Pick<Comparison, "subject" | "simulated" | "success">;

/** Options of {@linkcode drawComparisons}. */
export interface ComparisonOptions<T extends ComparedRow> extends RowOptions<T> {
  readonly subjects: readonly VariantMetrics[];
  /** All comparisons, whose figures share one axis. Default: those that have a row. */
  readonly comparisons?: readonly ComparedRow[];
}

/**
 * Draws differences, such as those of strategies to the baseline, around a line at zero, with whiskers for the
 * 95% intervals; each has its colour among all `subjects`.
 */
export async function drawComparisons<T extends ComparedRow>(
  own: readonly T[],
  { subjects, label = nameOf, comparisons = own }: ComparisonOptions<T>,
): Promise<string> {
  const { names, nameOfRow } = namesOf(subjects);
  const labels = distinct(own.map(label));
  const points = own.flatMap((one, place): Point[] => {
    if (one.success === null) return [];
    const { lower, upper } = one.success.interval ?? { lower: null, upper: null };
    const { difference: rate } = one.success;
    return [{ series: nameOfRow(one), place: labels[place]!, rate, lower, upper }];
  });
  const ends = comparisons.flatMap(({ success }) =>
    success === null
      ? []
      : [success.difference, success.interval?.lower ?? 0, success.interval?.upper ?? 0]
  );
  const most = ends.reduce((most, end) => Math.max(most, Math.ceil(10 * Math.abs(end)) / 10), 0.1);
  const axis = {
    title: "difference in percentage points",
    values: [-1, -0.5, 0, 0.5, 1].map((share) => share * most),
    labelExpr: "datum.value === 0 ? '0' : format(100 * datum.value, '+')",
  };
  const zero = {
    mark: { type: "tick", size: 14, thickness: 1.5, yOffset: 8, color: "var(--ink)" },
    encoding: { x: { datum: 0, type: "quantitative" } },
  };
  const rows = points.map(({ place }) => String(place));
  return await drawRows(points, { names, rows, domain: [-most, most], axis, behind: [zero] });
}

/** Returns the names of all subjects, and a function that finds the name of a row's subject. */
function namesOf(subjects: readonly VariantMetrics[]) {
  const names = distinct(subjects.map(nameOf));
  const places = new Map(subjects.map(({ subject }, place) => [canonicalJson(subject), place]));
  const nameOfRow = ({ subject }: Pick<VariantMetrics, "subject">) =>
    names[places.get(canonicalJson(subject))!]!;
  return { names, nameOfRow };
}

/** Options of {@linkcode drawRows}. */
interface Rows {
  /** All series; each has the colour of its index. */
  readonly names: readonly string[];
  /** Labels of the rows, from top to bottom; those without a point are marked. */
  readonly rows: readonly string[];
  readonly domain: readonly number[];
  readonly axis: object;
  /** Layers drawn behind the points. */
  readonly behind?: readonly object[];
}

/**
 * Draws points with whiskers, one a row. Labels are above the points, as narrow screens have no space next to
 * them.
 */
async function drawRows(
  points: readonly Point[],
  { names, rows, domain, axis, behind = [] }: Rows,
): Promise<string> {
  const placed = new Set(points.map(({ place }) => place));
  const along = {
    type: "quantitative" as const,
    scale: { domain, nice: false },
    axis: { ...axis, grid: true },
  };
  return await draw({
    data: { values: points },
    width: WIDTH,
    height: { step: 38 },
    encoding: { y: { field: "place", ...inOrder(rows), axis: null } },
    layer: [
      ...behind,
      {
        transform: [BOUNDED],
        mark: { type: "rule", strokeWidth: 2, yOffset: 8 },
        encoding: {
          x: { field: "lower", ...along },
          x2: { field: "upper" },
          color: colour(names),
        },
      },
      {
        mark: { type: "point", filled: true, size: 90, opacity: 1, yOffset: 8 },
        encoding: { x: { field: "rate", ...along }, color: colour(names) },
      },
      {
        data: {
          values: rows.map((place) => ({
            place,
            label: placed.has(place) ? place : `${place}: -`,
          })),
        },
        mark: { type: "text", align: "left", dx: 4, dy: -8, fontSize: 12, color: "var(--ink)" },
        encoding: { x: { datum: domain[0], ...along }, text: { field: "label" } },
      },
    ],
  });
}

/** Draws wrong calls by type: roots solid, cascades pale. */
export async function drawFailures(subjects: readonly VariantMetrics[]): Promise<string> {
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
    width: barsWidth(FAILURE_TYPES.length * names.length),
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
  // Repetitions of one graph have no interval: a whisker without length would claim certainty.
  const { lower, upper } = interval ?? { lower: null, upper: null };
  return [{ ...place, rate, lower, upper }];
}

/**
 * Returns the distance between the whiskers of two series: all together take at most a third of the
 * distance to the next value, and two at most as much as they need.
 */
function shift(values: readonly number[], series: number): number {
  const gaps = values.slice(1).map((value, index) => value - values[index]!);
  if (gaps.length === 0) return 0;
  const needed = (values.at(-1)! - values[0]!) / 40;
  return Math.min(needed, Math.min(...gaps) / (3 * series));
}
