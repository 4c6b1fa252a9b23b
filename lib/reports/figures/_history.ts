/**
 * The figure of a history: the success of a model over time, with rules for what happened on some of its days.
 * @module
 */

import { percent } from "../../base/numbers.ts";
import { type Figure, noteOf } from "../_view.ts";
import { type HistoryStream, releaseMarks } from "../history.ts";
import { nameText } from "../text_table.ts";
import { distinct, HALO } from "./_plotting.ts";
import { lineLayers, SHARE } from "./_shapes.ts";

/** Widths for a phone and for other screens, and height, in pixels. */
const [NARROW, WIDE, HEIGHT] = [270, 960, 180];
/** Pixels for a label of a day. */
const DAY_LABEL = 52;
const DAY_MS = 86_400_000;
/** Milliseconds of a span that has room for seconds. */
const SHORT_MS = 600_000;

/** What happened at a time: a rule with a label above the figure. */
interface TimeMark {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly text: string;
  readonly kind: keyof typeof RULES;
}

/** How rules look. */
const RULES = {
  drift: { color: "var(--bad)", strokeDash: [2, 2] },
  release: { color: "var(--ink)", strokeDash: [1, 0] },
  served: { color: "var(--open)", strokeDash: [4, 3] },
};

/** Returns the figure of a stream, which has the looks of its index among all of them; none without any rate. */
export function successFigure(
  stream: HistoryStream,
  { index, name }: { readonly index: number; readonly name: string },
): Figure[] {
  const { points, canary } = stream;
  if (points.every(({ success }) => success.value === null)) return [];
  const marks = marksOf(stream);
  const ends = points.flatMap(({ success: { value, interval } }) =>
    value === null ? [] : [value, interval?.lower ?? value, interval?.upper ?? value]
  );
  // The axis ends at tenths, between which all of them are.
  const most = Math.ceil(10 * Math.max(0.1, ...ends) - 1e-9) / 10;
  const least = Math.min(Math.floor(10 * Math.min(...ends) + 1e-9) / 10, most - 0.1);
  const has = (kind: TimeMark["kind"]) => marks.some((mark) => mark.kind === kind);
  const series = { name: distinct([name])[0]!, place: index };
  const values = points.map(({ startedAt, success: { value, interval } }) => ({
    ...{ time: Date.parse(startedAt), value, series: series.name, ...interval },
    said: `${startedAt.slice(0, 10)}; ${series.name}: ${value === null ? "-" : percent(value)}`,
  }));
  const times = values.map(({ time }) => time);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const dayOf = (time: number) => Math.floor(time / DAY_MS);
  // Runs of a single day stand at their times.
  const isOneDay = dayOf(first) === dayOf(last);
  const margin = Math.max(1_000, (last - first) / 20);
  const span: [number, number] = isOneDay
    ? [first - margin, last + margin]
    : [dayOf(first) * DAY_MS, (dayOf(last) + 1) * DAY_MS];
  const y = { ...SHARE, scale: { domain: [least, most], nice: false } };
  const level = canary?.nullRate;
  const spec = (width: number) => {
    const room = width / points.length;
    return {
      ...{ width, height: HEIGHT, data: { values } },
      encoding: {
        x: {
          ...{ field: "time", type: "temporal", title: null },
          scale: { type: "utc", domain: span, nice: false },
          // The label of a day stands below its middle, as a run of the evening is none of the next day.
          axis: {
            ...{ grid: false, ticks: isOneDay, labelOverlap: true },
            ...(isOneDay
              ? { format: last - first < SHORT_MS ? "%H:%M:%S" : "%H:%M", tickCount: 4 }
              : { format: "%b %d", values: noons(span, Math.floor(width / DAY_LABEL)) }),
          },
        },
      },
      layer: [
        ...(level === undefined ? [] : [{
          data: { values: [{ level }] },
          mark: { type: "rule", strokeWidth: 1.25, aria: false, ...RULES.drift },
          encoding: { x: { value: 0 }, x2: { value: "width" }, y: { field: "level", ...y } },
        }]),
        ...markLayers(marks, span, width),
        ...lineLayers(y, [series], {
          stroke: { strokeWidth: Math.min(2, Math.max(0.75, room / 2)), aria: false },
          line: "whiskers",
          size: Math.min(50, Math.max(4, 4 * room)),
          said: { description: { field: "said" } },
        }),
      ],
    };
  };
  return [{
    ...{ id: `success-${index + 1}`, title: "Success", section: "success" },
    note: noteOf(
      "whiskers: 95% intervals",
      has("release") && "solid rules: releases",
      has("served") && "dashed rules: another model was served from then on",
      has("drift") &&
        "dotted rules: the drift, since when as an estimate, and the day of the alarm",
      canary !== undefined && `line: a rate of ${percent(canary.nullRate)} or more is no drift`,
      points.some(({ success }) => success.value === null) && "a gap: no valid trial",
      least > 0 && `the axis begins at ${Math.round(100 * least)}%`,
    ),
    ...{ spec: spec(NARROW), wide: spec(WIDE) },
  }];
}

/** Returns the releases of a stream, the changes of its served model, and its drift. */
function marksOf({ points, canary }: HistoryStream): TimeMark[] {
  const { since, alarmed } = canary ?? {};
  const days = new Map([[since, "lower since"], [alarmed, "alarm"]]);
  return points.flatMap(({ startedAt, release, served, servedBefore }): TimeMark[] => {
    const time = Date.parse(startedAt);
    const day = startedAt.slice(0, 10);
    const drift = days.get(day);
    days.delete(day);
    const texts = {
      release: release && nameText(release.name, MAX_LABEL) + releaseMarks(release),
      served: servedBefore && `served: ${nameText(served, MAX_LABEL)}`,
      drift,
    };
    return (["release", "served", "drift"] as const).flatMap((kind) =>
      texts[kind] === undefined ? [] : [{ time, kind, text: texts[kind] }]
    );
  });
}

/** Labels of rules are cut to this number of characters. */
const MAX_LABEL = 30;

/** Returns the middles of days in a span, at most as many as this, equally far apart. */
function noons([from, to]: readonly [number, number], most: number): number[] {
  const days = (to - from) / DAY_MS;
  const step = Math.ceil(days / most);
  return Array.from(
    { length: Math.ceil(days / step) },
    (_, place) => from + (place * step + 0.5) * DAY_MS,
  );
}

/** The number of rows of labels above a figure. */
const ROWS = 6;
/** Height of a row of labels, size of their letters, and width of a letter at most, in pixels. */
const [ROW, LETTERS, LETTER] = [16, 11, 6.6];

/** Returns the layers of rules, each up to its label. */
function markLayers(
  marks: readonly TimeMark[],
  [from, to]: readonly [number, number],
  width: number,
): object[] {
  const placed = marks.map((mark) => {
    const x = (mark.time - from) / (to - from) * width;
    // A label stands where there is more room for it.
    return { ...mark, x, isLeft: x > width / 2 };
  });
  // Each is a row above the one before it, so that rules pass no labels.
  const order = [
    ...placed.filter(({ isLeft }) => !isLeft).reverse(),
    ...placed.filter(({ isLeft }) => isLeft),
  ];
  return order.flatMap(({ x, isLeft, time, kind, text }, index) => {
    const shown = nameText(text, Math.floor(((isLeft ? x : width - x) - 10) / LETTER));
    const data = { values: [{ time, text: shown }] };
    const top = -ROW * (index % ROWS + 1);
    return [
      {
        data,
        mark: { type: "rule", strokeWidth: 1.25, opacity: 0.8, aria: false, ...RULES[kind] },
        encoding: { y: { value: top }, y2: { value: HEIGHT } },
      },
      {
        data,
        mark: {
          ...{ type: "text", fontSize: LETTERS, baseline: "middle", color: RULES[kind].color },
          ...(isLeft ? { align: "right", dx: -4 } : { align: "left", dx: 4 }),
          ...HALO,
        },
        encoding: { y: { value: top + ROW / 2 }, text: { field: "text", type: "nominal" } },
      },
    ];
  });
}
