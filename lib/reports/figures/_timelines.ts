/**
 * Timelines: lines over the days of a history, with rules for what happened on some of them.
 * @module
 */

import { columnsOf } from "../../base/wrap.ts";
import type { Figure } from "../_view.ts";
import { HALO, looks, type Series } from "./_plotting.ts";
import { nameText } from "../tables/table.ts";
import { type Measured, pointsAt, whiskers } from "./_shapes.ts";

/** A point in time of a series; a value of `null` is a gap in its line. */
export interface TimePoint extends Measured {
  readonly series: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** What a screen reader says. */
  readonly said: string;
}

/** What happened at a time: a rule with a label above the figure. */
export interface TimeMark {
  readonly time: number;
  readonly text: string;
  readonly kind: "release" | "served" | "drift";
}

/** What a timeline shows. */
export interface Timeline {
  readonly points: readonly TimePoint[];
  readonly series: readonly Series[];
  readonly marks: readonly TimeMark[];
  /** The times from which and to which its axis goes at least, in milliseconds since 1970. */
  readonly span: readonly [from: number, to: number];
  /** A value with a line of its own; default none. */
  readonly level?: number;
  /** The title of its legend; omitted where there is one series. */
  readonly legend?: string;
  /** Its vertical axis: its title, ends, and how it writes numbers. */
  readonly y: {
    readonly title: string;
    readonly domain: readonly [number, number];
    readonly format: string;
  };
}

/** Returns a timeline for narrow screens and for wide ones, which `wide` pixels are for. */
export function timelineFigure(timeline: Timeline, wide: number): Pick<Figure, "spec" | "wide"> {
  return { spec: timelineSpec(timeline, NARROW), wide: timelineSpec(timeline, wide) };
}

/** Width for a phone and height of a timeline, in pixels. */
const [NARROW, HEIGHT] = [270, 180];
/** With more points than this, lines have no symbols. */
const MANY = 100;

const DAY = 86_400_000;

/** Returns a timeline that is so many pixels wide. */
function timelineSpec(
  { points, series, marks, span, level, legend, y: axis }: Timeline,
  width: number,
): object {
  const first = Math.floor(span[0] / DAY);
  const end = Math.floor(span[1] / DAY) + 1;
  const domain = [first * DAY, end * DAY];
  const { title, format } = axis;
  const y = {
    type: "quantitative",
    title,
    scale: { domain: axis.domain, nice: false },
    axis: { format, tickCount: 5 },
  };
  const nights = new Set(points.map(({ time }) => time)).size;
  const shown = nights > MANY ? lonely(points) : points;
  const values = (some: readonly TimePoint[]) => ({
    values: some.map(({ interval, ...point }) => ({ ...point, ...interval })),
  });
  return {
    width,
    height: HEIGHT,
    encoding: {
      x: {
        field: "time",
        type: "quantitative",
        scale: { domain, nice: false },
        axis: { ...dayAxis(first, end, width), grid: false },
      },
    },
    layer: [
      ...(level === undefined ? [] : [levelLayer(level, y)]),
      ...markLayers(marks, domain as [number, number], width),
      {
        data: values(points),
        ...whiskers(
          "y",
          y,
          {
            strokeWidth: Math.min(2, Math.max(0.75, width / (3 * nights))),
            opacity: 0.55,
            aria: false,
          },
          looks(series, "whiskers", legend),
        ),
      },
      {
        data: values(points),
        mark: {
          type: "line",
          strokeWidth: Math.min(2, Math.max(0.75, width / (2 * nights))),
          aria: false,
          ...GAPS,
        },
        encoding: {
          y: { field: "value", ...y },
          // Dashes tell series apart.
          ...looks(series, series.length > 1 ? "lines" : "whiskers", legend),
        },
      },
      {
        data: values(shown.filter(({ value }) => value !== null)),
        ...pointsAt("y", y, { size: Math.min(50, Math.max(12, 4 * width / nights)) }, {
          description: { field: "said" },
          ...looks(series, "points", legend),
        }),
      },
    ],
  };
}

/** The layer of a line at a value, from side to side. */
function levelLayer(level: number, y: object): object {
  return {
    data: { values: [{ level }] },
    mark: { type: "rule", strokeWidth: 1.25, aria: false, ...RULES.drift },
    encoding: { x: { value: 0 }, x2: { value: "width" }, y: { field: "level", ...y } },
  };
}

/** A night without a value is a gap in a line. */
const GAPS = { invalid: "break-paths-filter-domains" };

/** Returns points without a neighbour in their line, which alone does not show them. */
function lonely(points: readonly TimePoint[]): TimePoint[] {
  return [...Map.groupBy(points, ({ series }) => series).values()].flatMap((own) =>
    own.filter((_, place) =>
      (own[place - 1]?.value ?? null) === null && (own[place + 1]?.value ?? null) === null
    )
  );
}

/** Days between two labels of an axis. */
const STEPS = [1, 2, 7, 14, 28, 56, 91, 182, 365];
/** Pixels for a label of a day. */
const DAY_LABEL = 52;

/** Returns the axis of the days from one to another, which are numbered from 1970. */
function dayAxis(first: number, end: number, width: number): object {
  const most = Math.max(2, Math.floor(width / DAY_LABEL));
  const days = end - first;
  const step = STEPS.find((own) => days / own <= most) ?? Math.ceil(days / most);
  const values = Array.from(
    { length: Math.ceil(days / step) },
    (_, place) => (first + place * step) * DAY,
  );
  const years = [first, end - 1].map((day) => new Date(day * DAY).getUTCFullYear());
  return {
    values,
    labelExpr: "utcFormat(datum.value, '%b %-d')",
    labelFlush: false,
    title: years[0] === years[1] ? `${years[0]}` : `${years[0]} to ${years[1]}`,
  };
}

/** Labels above a figure stand in so many rows, at most; rules of others have none. */
const MAX_ROWS = 6;
/** Height of a row of labels, size of their letters, and width of a letter at most, in pixels. */
const [ROW, LETTERS, LETTER] = [16, 11, 6.6];

/** How rules look. */
const RULES = {
  drift: { color: "var(--bad)", strokeDash: [2, 2] },
  release: { color: "var(--ink)", strokeDash: [1, 0] },
  served: { color: "var(--open)", strokeDash: [4, 3] },
};

/** A rule, and where its label is: between two places of the axis, and in which row, which is -1 without a label. */
interface PlacedMark extends TimeMark {
  readonly x: number;
  readonly isLeft: boolean;
  readonly from: number;
  readonly to: number;
  readonly row: number;
}

/** Whether a label or the rule below it would be over another label, or under its rule. */
function isInTheWay(one: PlacedMark, other: PlacedMark): boolean {
  const passes = (rule: PlacedMark, label: PlacedMark) =>
    rule.row > label.row && label.row >= 0 && rule.x > label.from && rule.x < label.to;
  const overlap = one.row === other.row && one.from < other.to && other.from < one.to;
  return overlap || passes(one, other) || passes(other, one);
}

/** Returns the layers of rules, each up to its label, none of which covers another. */
function markLayers(
  marks: readonly TimeMark[],
  domain: readonly [number, number],
  width: number,
): object[] {
  const placed: PlacedMark[] = [];
  const spans = marks.map((mark) => {
    const x = (mark.time - domain[0]) / (domain[1] - domain[0]) * width;
    // A label stands to the right of its rule, unless there is more room for it to the left.
    const sizeOf = (text: string) => columnsOf(text) * LETTER + 10;
    const isLeft = x + sizeOf(mark.text) > width && x > width / 2;
    const room = isLeft ? x : width - x;
    const text = sizeOf(mark.text) <= room
      ? mark.text
      : nameText(mark.text, Math.floor((room - 10) / LETTER));
    const size = sizeOf(text);
    return { ...mark, text, x, isLeft, from: isLeft ? x - size : x, to: isLeft ? x : x + size };
  });
  // From the right to the left a rule passes no label of those before it; labels to the left come last.
  const order = [
    ...spans.filter(({ isLeft }) => !isLeft).reverse(),
    ...spans.filter(({ isLeft }) => isLeft),
  ];
  for (const span of order) {
    const free = Array.from({ length: MAX_ROWS }, (_, row) => row).find((row) =>
      placed.every((other) => !isInTheWay({ ...span, row }, other))
    );
    placed.push({ ...span, row: free ?? -1 });
  }
  return placed.flatMap(({ time, text, kind, row, isLeft }) => {
    const isLabelled = row >= 0;
    const at = { data: { values: [{ time, text }] } };
    const top = -ROW * (row + 1);
    return [
      {
        ...at,
        mark: { type: "rule", strokeWidth: 1.25, opacity: 0.8, aria: false, ...RULES[kind] },
        encoding: { y: { value: top }, y2: { value: HEIGHT } },
      },
      ...(isLabelled
        ? [{
          ...at,
          mark: {
            type: "text",
            ...{ fontSize: LETTERS, baseline: "middle", color: RULES[kind].color, ...HALO },
            ...(isLeft ? { align: "right", dx: -4 } : { align: "left", dx: 4 }),
          },
          encoding: {
            y: { value: top + ROW / 2 },
            text: { field: "text", type: "nominal" },
          },
        }]
        : []),
    ];
  });
}
