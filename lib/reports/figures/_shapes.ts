/**
 * The shapes of figures as specifications of Vega-Lite: rows of points with whiskers, lines, bars, and heatmaps.
 * @module
 */

import type { Bounds } from "../../statistics/proportions.ts";
import { printable } from "../../base/json.ts";
import { percent } from "../../base/numbers.ts";
import { signedPoints } from "../tables/_comparisons.ts";
import { inOrder, looks, type Series } from "./_plotting.ts";

/** Width and height of an axis of numbers, in pixels: with its labels a figure fits a phone. */
const [WIDTH, HEIGHT] = [270, 200];
/** Height of a line of text, and space above a group, in pixels. */
const [LINE, GAP] = [18, 10];
/** Width of a letter at most, in pixels. */
const LETTER = 7;

/** A row: a point with its whisker. */
export interface Row {
  readonly series: Series;
  /** Stands above the point; omitted where a legend names the series. */
  readonly label?: string;
  /** A heading that neighbouring rows share; omitted where they need none. */
  readonly group?: string;
  readonly value: number | null;
  readonly interval: Bounds | null;
  /** Stands behind the row; default nothing. */
  readonly text?: string;
  /** What a gate asks for, drawn as a line, and what is still good enough, as a band; default neither. */
  readonly asked?: { readonly target: number; readonly least: number };
}

/** What rows show. */
type Quantity = "success rate" | "score" | "difference";

const QUANTITIES: Record<Quantity, { readonly axis: object; show: (value: number) => string }> = {
  "success rate": {
    axis: { title: "success rate", format: ".0%", tickCount: 5 },
    show: percent,
  },
  score: {
    axis: { title: "score", values: [0, 0.2, 0.4, 0.6, 0.8, 1], format: ".1f" },
    show: (score) => score.toFixed(2),
  },
  difference: {
    axis: {
      title: "difference in percentage points",
      labelExpr: "datum.value === 0 ? '0' : format(100 * datum.value, '+')",
    },
    show: signedPoints,
  },
};

/** Options of {@linkcode rowsSpec}. */
interface RowsOptions {
  /** Values that each row marks. Default: zero for differences, else none. */
  readonly ticks?: readonly number[];
  /** The title of the legend. Default: labels name the series. */
  readonly legend?: string;
}

/**
 * Returns rows of points with whiskers for their intervals, one below the other. Labels are above the points, as
 * narrow screens have no space next to them.
 */
export function rowsSpec(
  rows: readonly Row[],
  quantity: Quantity,
  { ticks = quantity === "difference" ? [0] : [], legend }: RowsOptions = {},
): object {
  const { axis, show } = QUANTITIES[quantity];
  const texts: { readonly y: number; readonly words: string; readonly weight: number }[] = [];
  let height = 0;
  const line = (words = "", weight = 400): number => {
    height += LINE;
    if (words !== "") texts.push({ y: height - LINE / 2, words: printable(words), weight });
    return height - LINE / 2;
  };
  const points = rows.map(({ series, label, group, value, interval, text, asked }, place) => {
    const top = height;
    if (group !== undefined && group !== rows[place - 1]?.group) {
      height += place === 0 ? 0 : GAP;
      line(group, 600);
    }
    if (label !== undefined) line(value === null && text === undefined ? `${label}: -` : label);
    const y = line();
    return {
      ...{ y, top, bottom: height, ...asked },
      series: series.name,
      value,
      ...(value === null ? {} : interval),
      text,
      said: [
        ...(group === undefined ? [] : [group]),
        ...(label === undefined || label === series.name ? [] : [label]),
        `series: ${series.name}`,
        `${quantity}: ${value === null ? "-" : show(value)}`,
      ].map((part) => printable(part)).join("; "),
    };
  });
  const most = Math.max(
    0.1,
    ...[
      ...rows.flatMap(({ value, interval, asked }) => [
        ...[value, interval?.lower, interval?.upper, asked?.least],
      ]),
      ...ticks,
    ].map((end) => Math.ceil(10 * Math.abs(end ?? 0) - 1e-9) / 10),
  );
  const isSigned = quantity === "difference";
  const x = {
    type: "quantitative" as const,
    scale: { domain: [isSigned ? -most : 0, isSigned ? most : 1], nice: false },
    axis: {
      grid: true,
      ...axis,
      ...(isSigned ? { values: [-1, -0.5, 0, 0.5, 1].map((share) => share * most) } : {}),
    },
  };
  const y = {
    field: "y",
    type: "quantitative" as const,
    scale: { domain: [0, height], nice: false, reverse: true },
    axis: null,
  };
  const description = { field: "said" };
  const series = rows.map((row) => row.series);
  const text = { type: "text", align: "left", color: "var(--ink)" };
  return {
    data: { values: points.filter(({ value }) => value !== null) },
    width: WIDTH,
    height,
    encoding: { y },
    layer: [
      ...(rows.every(({ asked }) => asked === undefined) ? [] : requirement(x)),
      ...ticks.map((at) => ({
        mark: {
          type: "tick",
          orient: "vertical",
          size: LINE - 4,
          thickness: 1.5,
          color: "var(--ink)",
        },
        encoding: { x: { datum: at, ...x } },
      })),
      {
        transform: [BOUNDED],
        mark: { type: "rule", strokeWidth: 2 },
        encoding: {
          ...{ x: { field: "lower", ...x }, x2: { field: "upper" }, description },
          ...looks(series, "whiskers", legend),
        },
      },
      {
        mark: { type: "point", filled: true, size: 80, opacity: 1 },
        encoding: { x: { field: "value", ...x }, description, ...looks(series, "points", legend) },
      },
      ...[400, 600].map((weight) => ({
        data: { values: texts.filter((one) => one.weight === weight) },
        mark: { ...text, dx: 2, fontSize: 12, fontWeight: weight },
        encoding: {
          x: { datum: x.scale.domain[0], ...x },
          text: { field: "words", type: "nominal" },
        },
      })),
      {
        data: { values: points.filter((point) => point.text !== undefined) },
        mark: { ...text, dx: 8, fontSize: 11, aria: false },
        encoding: {
          x: { datum: x.scale.domain[1], ...x },
          text: { field: "text", type: "nominal" },
        },
      },
    ],
  };
}

/** Returns the layers behind rows that show what a gate asks of each. */
function requirement(x: object): object[] {
  const isAsked = { filter: { field: "target", valid: true } };
  const whole = { y: { field: "top", type: "quantitative" }, y2: { field: "bottom" } };
  return [
    {
      transform: [isAsked],
      mark: { type: "rect", color: "var(--band)", aria: false },
      encoding: { ...whole, x: { field: "least", ...x }, x2: { field: "target" } },
    },
    {
      transform: [isAsked],
      mark: { type: "rule", strokeWidth: 1.5, color: "var(--ink)", aria: false },
      encoding: { ...whole, x: { field: "target", ...x } },
    },
  ];
}

/** A point of a line, or a bar. */
export interface Point {
  readonly series: string;
  /** Position along the axis. */
  readonly place: number | string;
  readonly rate: number;
  /** The whisker; `null` for none. */
  readonly lower?: number | null;
  readonly upper?: number | null;
  /** Of bars on top of each other: `root` or `cascade`. */
  readonly part?: string;
}

/** What lines and bars have in common. */
interface Axes {
  /** The title of the axis below. */
  readonly axis: string;
  /** The title of the axis beside it. */
  readonly title: string;
  readonly series: readonly Series[];
  /** The title of the legend. */
  readonly legend: string;
}

const BOUNDED = { filter: { field: "lower", valid: true } };

/** The axis of success rates. */
const SHARE = { scale: { domain: [0, 1] }, axis: { format: ".0%", tickCount: 5 } };

/** Returns lines of success rates along a number, with whiskers. */
export function linesSpec(
  points: readonly Point[],
  { axis, title, series, legend, values }: Axes & { readonly values: readonly number[] },
): object {
  const y = { type: "quantitative" as const, title, ...SHARE };
  return {
    data: { values: points },
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
    layer: [
      {
        transform: [BOUNDED],
        mark: { type: "rule", opacity: 0.55 },
        encoding: {
          ...{ y: { field: "lower", ...y }, y2: { field: "upper" } },
          ...looks(series, "whiskers", legend),
        },
      },
      {
        mark: { type: "line", strokeWidth: 2 },
        encoding: { y: { field: "rate", ...y }, ...looks(series, "lines", legend) },
      },
      {
        mark: { type: "point", filled: true, size: 60, opacity: 1 },
        encoding: { y: { field: "rate", ...y }, ...looks(series, "points", legend) },
      },
    ],
  };
}

/** Width of a bar, and of all of them at most, in pixels. */
const [BAR, BROADEST] = [12, 1100];
/** Share of the space of a name that bars take. */
const TAKEN = 0.7;

/** Returns bars over names, those of one name beside each other and parts of one on top of each other. */
export function barsSpec(
  bars: readonly Point[],
  { axis, title, series, legend, names, isShare }: Axes & {
    readonly names: readonly string[];
    readonly isShare: boolean;
  },
): object {
  const step = Math.max(
    Math.min(BAR * series.length / TAKEN, BROADEST / names.length),
    LETTER *
      Math.min(MOST_LETTERS, Math.max(...names.flatMap(wordsIn).map(({ length }) => length))),
  );
  const y = {
    type: "quantitative" as const,
    title,
    ...(isShare ? SHARE : { axis: { tickCount: 5 } }),
  };
  return {
    data: { values: bars },
    width: { step, for: "position" },
    height: HEIGHT,
    encoding: {
      x: {
        field: "place",
        ...inOrder(names),
        scale: { domain: names, paddingInner: 1 - TAKEN, paddingOuter: (1 - TAKEN) / 2 },
        axis: { title: axis, ...wordAxis(step) },
      },
      xOffset: { field: "series", ...inOrder(series.map(({ name }) => name)) },
    },
    layer: [
      {
        mark: { type: "bar", strokeWidth: 2 },
        encoding: {
          y: { field: "rate", ...y },
          ...looks(series, "bars", legend),
          ...(bars.some(({ part }) => part !== undefined)
            ? {
              opacity: {
                field: "part",
                type: "ordinal",
                scale: { domain: ["root", "cascade"], range: [1, 0.45] },
                legend: null,
              },
              order: { field: "part", sort: "descending" },
            }
            : {}),
        },
      },
      {
        transform: [BOUNDED],
        mark: { type: "rule", strokeWidth: 1.5, color: "var(--ink)" },
        encoding: { y: { field: "lower", ...y }, y2: { field: "upper" } },
      },
    ],
  };
}

/** A word of a label is cut off behind so many letters. */
const MOST_LETTERS = 24;

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

/** One cell of a heatmap that has data. */
export interface Cell {
  readonly row: string;
  readonly column: string;
  /** How much of the full colour it has, from 0 to 1. */
  readonly share: number;
  /** The label in it. */
  readonly text: string;
  /** Set where much is good. */
  readonly isGood?: true;
}

/** Shares by row and column; cells without data are left out. */
interface Heatmap {
  readonly rowTitle: string;
  readonly rows: readonly string[];
  readonly columnTitle: string;
  readonly columns: readonly string[];
  /** Width of a cell at least, in pixels. */
  readonly step: number;
}

/** Opacity of the full colours: text in a cell stays readable on light and dark pages. */
const [FULL_BAD, FULL_GOOD] = [0.7, 0.42];

/** Returns a heatmap: shares as colours and as text. */
export function heatmapSpec(
  cells: readonly Cell[],
  { rowTitle, rows, columnTitle, columns, step: least }: Heatmap,
): object {
  const step = Math.max(least, ...columns.flatMap(wordsIn).map(({ length }) => LETTER * length));
  const plain = { labelPadding: 6, ticks: false, domain: false, grid: false, labelLimit: 0 };
  const axis = { ...plain, titlePadding: 10, titleColor: "var(--faint)" };
  return {
    data: {
      values: cells.map(({ row, column, text, share, isGood = false }) => ({
        ...{ row, column, text },
        fill: `var(--${isGood ? "good" : "heat"})`,
        opacity: Math.min(1, share) * (isGood ? FULL_GOOD : FULL_BAD),
        said: `${columnTitle}: ${column}; ${rowTitle}: ${row}; ${text}`,
      })),
    },
    width: { step },
    height: { step: 32 },
    encoding: {
      x: {
        field: "column",
        ...inOrder(columns),
        title: columnTitle,
        axis: { ...axis, ...wordAxis(step) },
      },
      y: { field: "row", ...inOrder(rows), title: rowTitle, axis },
    },
    layer: [
      {
        mark: { type: "rect", stroke: "var(--line)", strokeWidth: 1 },
        encoding: {
          fill: { field: "fill", type: "nominal", scale: null },
          fillOpacity: { field: "opacity", type: "quantitative", scale: null },
          description: { field: "said" },
        },
      },
      {
        mark: { type: "text", fontSize: 12, color: "var(--ink)", aria: false },
        encoding: { text: { field: "text", type: "nominal" } },
      },
    ],
  };
}
