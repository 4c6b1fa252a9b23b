/**
 * The shapes of figures as specifications of Vega-Lite: rows of points with whiskers, lines, bars, and heatmaps.
 * @module
 */

import type { Bounds } from "../../statistics/proportions.ts";
import { printable } from "../../base/json.ts";
import { percent } from "../../base/numbers.ts";
import { breakLines } from "../../base/wrap.ts";
import { signedPoints } from "../tables/_comparisons.ts";
import type { Figure } from "../_view.ts";
import type { ReportWords } from "../_words.ts";
import { HALO, inOrder, looks, type Series } from "./_plotting.ts";

/** Width and height of an axis of numbers, in pixels: with its labels a figure fits a phone. */
const [WIDTH, HEIGHT] = [270, 200];
/** Width of an axis of numbers that has its labels beside it. */
const WIDE = 520;
/** Height of a line of text, and space above a group, in pixels. */
const [LINE, GAP] = [18, 10];
/** Width of a letter at most, in pixels. */
const LETTER = 7;
/** Labels above points are broken into lines of at most this number of letters. */
const LETTERS_A_LINE = 40;

/** A value, and its whisker: `null` where there is none. */
export interface Measured {
  readonly value: number | null;
  readonly interval: Bounds | null;
}

/** A row: a point with its whisker. */
export interface Row extends Measured {
  readonly series: Series;
  /** Stands above the point. Default: the name of the series, unless a legend has it. */
  readonly label?: string;
  /** A heading that neighbouring rows share; omitted where they need none. */
  readonly group?: string;
  /** Stands behind the row; default nothing. */
  readonly text?: string;
  /** What a gate asks for, drawn as a line, and what is still good enough, as a band; default neither. */
  readonly asked?: { readonly target: number; readonly least?: number };
}

/** What rows show. */
type Quantity = ReportWords["rate"] | "score" | "difference";

const RATE = { axis: { format: ".0%", tickCount: 5 }, show: percent };
const QUANTITIES: Record<Quantity, { readonly axis: object; show: (value: number) => string }> = {
  "success rate": RATE,
  "pass rate": RATE,
  score: {
    axis: { values: [0, 0.2, 0.4, 0.6, 0.8, 1], format: ".1f" },
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
  /** The title of the legend. Default: labels name the series. */
  readonly legend?: string;
  /** Whether labels stand beside the axis and not above the points, which narrow screens have no space for. */
  readonly isWide?: boolean;
}

/** Returns a figure of rows for narrow screens and for wide ones. */
export function rowsFigure(
  rows: readonly Row[],
  quantity: Quantity,
): Pick<Figure, "spec" | "wide"> {
  return { spec: rowsSpec(rows, quantity), wide: rowsSpec(rows, quantity, { isWide: true }) };
}

/** Returns rows of points with whiskers for their intervals, one below the other. */
export function rowsSpec(
  rows: readonly Row[],
  quantity: Quantity,
  { legend, isWide = false }: RowsOptions = {},
): object {
  const { axis, show } = QUANTITIES[quantity];
  const texts: { readonly y: number; readonly words: string; readonly weight: number }[] = [];
  let height = 0;
  const line = (words = "", weight = 400): number => {
    const parts = isWide ? [printable(words)] : breakLines(printable(words), LETTERS_A_LINE);
    for (const part of parts) {
      height += LINE;
      if (part !== "") texts.push({ y: height - LINE / 2, words: part, weight });
    }
    return height - LINE / 2;
  };
  const points = rows.map(({ group, asked, ...row }, place) => {
    const { series, value, interval, text } = row;
    const top = height;
    if (group !== undefined && group !== rows[place - 1]?.group) {
      height += place === 0 ? 0 : GAP;
      line(group, 600);
    }
    const { label = legend === undefined ? series.name : "" } = row;
    const words = label !== "" && value === null && text === undefined ? `${label}: -` : label;
    if (!isWide && words !== "") line(words);
    const y = line(isWide ? words : "");
    return {
      ...{ y, top, bottom: height, ...asked, ...interval },
      ...{ series: series.name, value, text },
      said: [
        ...(group === undefined ? [] : [group]),
        ...(label === "" || label === series.name ? [] : [label]),
        `series: ${series.name}`,
        `${quantity}: ${value === null ? "-" : show(value)}`,
      ].map((part) => printable(part)).join("; "),
    };
  });
  const ends = rows.flatMap(({ value, interval, asked }) => [
    ...[value, interval?.lower, interval?.upper, asked?.least],
  ]);
  const most = Math.max(0.1, ...ends.map((end) => Math.ceil(10 * Math.abs(end ?? 0) - 1e-9) / 10));
  const isSigned = quantity === "difference";
  const domain = [isSigned ? -most : 0, isSigned ? most : 1];
  const x = {
    type: "quantitative",
    scale: { domain, nice: false },
    axis: {
      ...{ grid: true, title: quantity, ...axis },
      ...(isSigned ? { values: [-1, -0.5, 0, 0.5, 1].map((share) => share * most) } : {}),
    },
  };
  const y = {
    field: "y",
    type: "quantitative",
    scale: { domain: [0, height], nice: false, reverse: true },
    axis: null,
  };
  const said = { description: { field: "said" } };
  const series = rows.map((row) => row.series);
  const written = (field: string, at: number | undefined, mark: object) => ({
    mark: { type: "text", color: "var(--ink)", ...HALO, ...mark },
    encoding: { x: { datum: at, ...x }, text: { field, type: "nominal" } },
  });
  return {
    data: { values: points.filter(({ value }) => value !== null) },
    width: isWide ? WIDE : WIDTH,
    height,
    encoding: { y },
    layer: [
      ...(rows.some(({ asked }) => asked !== undefined) ? requirement(x) : []),
      whiskers("x", x, { strokeWidth: 2 }, { ...said, ...looks(series, "whiskers", legend) }),
      pointsAt("x", x, { size: 80 }, { ...said, ...looks(series, "points", legend) }),
      ...[400, 600].map((fontWeight) => ({
        data: { values: texts.filter(({ weight }) => weight === fontWeight) },
        ...written("words", domain[0], {
          ...(isWide ? { align: "right", dx: -8 } : { align: "left", dx: 2 }),
          ...{ fontSize: 12, fontWeight },
        }),
      })),
      {
        data: { values: points.filter(({ text }) => text !== undefined) },
        ...written("text", domain[1], { align: "left", dx: 8, fontSize: 11, aria: false }),
      },
    ],
  };
}

/** Returns the layers behind rows that show what a gate asks of each. */
function requirement(x: object): object[] {
  const whole = { y: { field: "top", type: "quantitative" }, y2: { field: "bottom" } };
  const band = { type: "rect", color: "var(--band)" };
  const line = { type: "rule", strokeWidth: 1.5, color: "var(--ink)" };
  return ([["least", band, { x2: { field: "target" } }], ["target", line, {}]] as const)
    .map(([field, mark, ends]) => ({
      transform: [{ filter: { field, valid: true } }],
      mark: { ...mark, aria: false },
      encoding: { ...whole, x: { field, ...x }, ...ends },
    }));
}

/** Returns the layer of whiskers along a channel, of what has an interval. */
export function whiskers(
  channel: "x" | "y",
  axis: object,
  mark: object,
  others: object = {},
): object {
  return {
    transform: [{ filter: { field: "lower", valid: true } }],
    mark: { type: "rule", ...mark },
    encoding: {
      ...{ [channel]: { field: "lower", ...axis }, [`${channel}2`]: { field: "upper" } },
      ...others,
    },
  };
}

/** Returns the layer of points along a channel. */
export function pointsAt(
  channel: "x" | "y",
  axis: object,
  mark: object,
  others: object,
): object {
  return {
    mark: { type: "point", filled: true, opacity: 1, ...mark },
    encoding: { [channel]: { field: "value", ...axis }, ...others },
  };
}

/** A point of a line, or a bar. */
export interface Point extends Measured {
  readonly series: string;
  /** Position along the axis. */
  readonly place: number | string;
  /** Of bars on top of each other: `root` or `cascade`. */
  readonly part?: string;
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
const SHARE = {
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
    layer: [
      whiskers("y", SHARE, { opacity: 0.55 }, looks(series, "whiskers", legend)),
      {
        mark: { type: "line", strokeWidth: 2 },
        encoding: { y: { field: "value", ...SHARE }, ...looks(series, "lines", legend) },
      },
      pointsAt("y", SHARE, { size: 60 }, looks(series, "points", legend)),
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
  { axis, series, legend, names, counts }: Axes & {
    readonly names: readonly string[];
    /** The title of the axis beside them, of counts. Default: they are success rates. */
    readonly counts?: string;
  },
): object {
  const step = Math.max(
    Math.min(BAR * series.length / TAKEN, BROADEST / names.length),
    LETTER *
      Math.min(MOST_LETTERS, Math.max(...names.flatMap(wordsIn).map(({ length }) => length))),
  );
  const y = counts === undefined
    ? SHARE
    : { type: "quantitative", title: counts, axis: { tickCount: 5 } };
  const parts = {
    opacity: {
      field: "part",
      type: "ordinal",
      scale: { domain: ["root", "cascade"], range: [1, 0.45] },
      legend: null,
    },
    order: { field: "part", sort: "descending" },
  };
  return {
    data: dataOf(bars),
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
          y: { field: "value", ...y },
          ...looks(series, "bars", legend),
          ...(counts === undefined ? {} : parts),
        },
      },
      whiskers("y", y, { strokeWidth: 1.5, color: "var(--ink)" }),
    ],
  };
}

/** A word of a label is cut off after this number of letters. */
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
