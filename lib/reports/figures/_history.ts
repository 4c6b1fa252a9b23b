/**
 * The figures of a history: success, failure types, cost and latency over time.
 * @module
 */

import { defined } from "../../base/json.ts";
import { grouped, mean, percent } from "../../base/numbers.ts";
import type { HistoryPoint, HistoryStream } from "../history.ts";
import { type Figure, noteOf } from "../_view.ts";
import { timeText } from "../tables/_headline.ts";
import { releaseMarks, usdText } from "../tables/_history.ts";
import { nameOf, nameText } from "../tables/table.ts";
import { distinct, type Series } from "./_plotting.ts";
import { timelineFigure, type TimeMark, type TimePoint } from "./_timelines.ts";

/** Widths of a figure that has a row of the page for itself, and of those of which three share one, in pixels. */
const [WHOLE, THIRD] = [960, 300];
/** Labels of rules are cut to so many characters. */
const MAX_LABEL = 30;

/** A line of a figure: its name, and its values. */
interface Line {
  readonly series: Series;
  readonly points: readonly HistoryPoint[];
  readonly value: (point: HistoryPoint) => number | null;
  readonly interval?: (point: HistoryPoint) => HistoryPoint["success"]["interval"];
}

/** Returns the figure that has the success of all streams; none of a single one. */
export function overviewFigure(streams: readonly HistoryStream[]): Figure[] {
  if (streams.length < 2) return [];
  const names = distinct(streams.map(nameOf));
  const lines = streams.map(({ points }, place): Line => ({
    series: { name: names[place]!, place },
    points,
    value: ({ success }) => success.rate,
  }));
  const isWeekly = lines.some(({ points }) => isMany(points));
  const { points, domain } = sharesOf(lines, isWeekly);
  return figureOf(points, {
    ...{ id: "overview", title: "Success of all" },
    note: noteOf(isWeekly && WEEKLY, "each has its intervals in a figure of its own, below"),
    ...{ series: lines.map(({ series }) => series), legend: "model", marks: [], wide: WHOLE },
    span: spanOf(streams.flatMap((stream) => stream.points)),
    y: { title: "success rate", domain, format: ".0%" },
  });
}

/**
 * Returns the figures of a stream. Its own line has the looks of its place among all of them; others have those
 * of places from `next` on.
 */
export function streamFigures(stream: HistoryStream, place: number, next: number): Figure[] {
  const { points } = stream;
  const own = { name: distinct([nameOf(stream)])[0]!, place };
  const marks = marksOf(stream);
  const span = spanOf(points);
  const said = ruleNote(marks);
  const success: Line = {
    ...{ series: own, points },
    value: ({ success }) => success.rate,
    interval: ({ success }) => success.interval,
  };
  const shares = sharesOf([success]);
  const gaps = points.some((point) => point.success.rate === null);
  const types = points[0]!.failures.map(({ type }, at): Line => ({
    series: { name: type.replaceAll("_", " "), place: next + at },
    points,
    value: ({ failures }) => failures[at]!.rate,
  }));
  const isWeekly = isMany(points);
  const failures = pointsOf(types, percent, isWeekly);
  const times = ([["median", "median"], ["95th percentile", "p95"]] as const).map(
    ([name, rank], at): Line => ({
      series: { name, place: at === 0 ? place : next },
      points,
      value: ({ duration }) => duration === null ? null : duration[rank] / 1000,
    }),
  );
  const durations = pointsOf(times, (seconds) => timeText(1000 * seconds), isWeekly);
  const id = place + 1;
  return [
    ...figureOf(shares.points, {
      ...{ id: `success-${id}`, title: "Success", series: [own], marks, span, wide: WHOLE },
      ...defined({ level: stream.canary?.nullRate }),
      y: { title: "success rate", domain: shares.domain, format: ".0%" },
      note: noteOf(
        "whiskers: 95% intervals",
        said,
        stream.canary !== undefined &&
          `line: a rate of ${percent(stream.canary.nullRate)} or more is no drift`,
        gaps && "a gap: no valid trial",
        shares.domain[0] > 0 && `the axis begins at ${Math.round(100 * shares.domain[0])}%`,
      ),
    }),
    ...figureOf(failures, {
      ...{ id: `failures-${id}`, title: "Failure types", marks, span, wide: THIRD },
      ...{ series: types.map(({ series }) => series), legend: "failure type" },
      y: { title: "share of valid trials", domain: [0, top(failures, 0.1)], format: ".0%" },
      note: noteOf("valid trials with a call that has such a failure", isWeekly && WEEKLY),
    }),
    ...costFigure(stream, own, marks),
    // Simulated models take no time worth a figure.
    ...durations.some(({ value }) => value !== null && value > 0)
      ? figureOf(durations, {
        ...{ id: `latency-${id}`, title: "Time of a trial", marks, span, wide: THIRD },
        ...{ series: times.map(({ series }) => series), legend: "valid trials" },
        y: { title: "seconds", domain: [0, top(durations)], format: "~g" },
        ...(isWeekly ? { note: WEEKLY } : {}),
      })
      : [],
  ];
}

/** Returns what a trial costs over time: in dollars where all prices are known, else in tokens. */
function costFigure(
  { points }: HistoryStream,
  series: Series,
  marks: readonly TimeMark[],
): Figure[] {
  const ended = points.filter((point) => point.ended > 0);
  const isPriced = ended.every(({ usd }) => usd !== null);
  const cost: Line = {
    ...{ series, points },
    value: ({ usd, tokens }) =>
      isPriced ? usd : tokens === null ? null : tokens.input + tokens.output,
  };
  const show = isPriced ? usdText : (tokens: number) => grouped(Math.round(tokens));
  const isWeekly = isMany(points);
  const values = pointsOf([cost], show, isWeekly);
  const isEstimated = points.some(({ estimated }) => estimated);
  return figureOf(values, {
    ...{ id: `cost-${series.place + 1}`, title: "Cost of a trial", series: [series], marks },
    span: spanOf(points),
    wide: THIRD,
    y: {
      title: isPriced ? "US dollars" : "tokens",
      domain: [0, top(values)],
      format: isPriced ? "$~g" : "~s",
    },
    note: noteOf(isEstimated && "tokens were estimated, at least in part", isWeekly && WEEKLY),
  });
}

/** Returns the times of the first and the last of some points. */
function spanOf(points: readonly HistoryPoint[]): [number, number] {
  const times = points.map(({ startedAt }) => startedAt).sort();
  return [Date.parse(times[0]!), Date.parse(times.at(-1)!)];
}

/** Returns a figure of the section of success; none without any value. */
function figureOf(
  points: readonly TimePoint[],
  { id, title, note, wide, ...axes }:
    & Pick<Figure, "id" | "title" | "note">
    & Omit<Parameters<typeof timelineFigure>[0], "points">
    & { readonly wide: number },
): Figure[] {
  if (points.every(({ value }) => value === null)) return [];
  return [{
    ...{ id, title, section: "success" },
    ...(note === undefined || note === "" ? {} : { note }),
    ...timelineFigure({ points, ...axes }, wide),
  }];
}

/** With more records than this, lines beside each other show the means of weeks, as nights would hide each other. */
const MANY = 100;
const WEEKLY = "means of the runs of each week";
const WEEK = 7 * 86_400_000;

const isMany = (points: readonly HistoryPoint[]) => points.length > MANY;

/** Returns the points of lines, or those of their weeks; `show` writes a value. */
function pointsOf(
  lines: readonly Line[],
  show: (value: number) => string,
  isWeekly = false,
): TimePoint[] {
  return lines.flatMap(({ series, points, value: valueOf, interval }) => {
    const nights = points.map((point) => ({
      time: Date.parse(point.startedAt),
      value: valueOf(point),
      interval: interval?.(point) ?? null,
    }));
    return (isWeekly ? weeksOf(nights) : nights).map((one): TimePoint => {
      const day = new Date(one.time).toISOString().slice(0, 10);
      const value = one.value === null ? "-" : show(one.value);
      return { ...one, series: series.name, said: `${day}; ${series.name}: ${value}` };
    });
  });
}

/** A point before it is drawn. */
type Night = Pick<TimePoint, "time" | "value" | "interval">;

/** Returns a point for each week, without an interval. */
function weeksOf(nights: readonly Night[]): Night[] {
  return [...Map.groupBy(nights, ({ time }) => Math.floor(time / WEEK)).values()].map((own) => ({
    time: mean(own.map(({ time }) => time))!,
    value: mean(own.flatMap(({ value }) => value ?? [])),
    interval: null,
  }));
}

/** Returns the points of lines of shares, and the ends of their axis: tenths, between which all of them are. */
function sharesOf(lines: readonly Line[], isWeekly = false): {
  readonly points: readonly TimePoint[];
  readonly domain: readonly [number, number];
} {
  const points = pointsOf(lines, percent, isWeekly);
  const ends = points.flatMap(({ value, interval }) =>
    value === null ? [] : [value, interval?.lower ?? value, interval?.upper ?? value]
  );
  const least = Math.floor(10 * Math.min(0.9, ...ends) + 1e-9) / 10;
  const most = Math.ceil(10 * Math.max(0.1, ...ends) - 1e-9) / 10;
  return { points, domain: [Math.min(least, most - 0.1), most] };
}

/** Returns the upper end of an axis that begins at 0, which has a length also where all values are 0. */
function top(points: readonly TimePoint[], least = 0): number {
  return 1.05 * Math.max(least, ...points.map(({ value }) => value ?? 0)) || 1;
}

/** Returns the releases among the points of a stream, the changes of its served model, and its drift. */
function marksOf({ points, canary }: HistoryStream): TimeMark[] {
  const own = points.flatMap(({ startedAt, release, served, servedBefore }): TimeMark[] => {
    const time = Date.parse(startedAt);
    return [
      ...(release === undefined ? [] : [{
        ...{ time, kind: "release" as const },
        text: nameText(release.name, MAX_LABEL) + releaseMarks(release),
      }]),
      ...(servedBefore === undefined ? [] : [{
        ...{ time, kind: "served" as const },
        text: `served: ${nameText(served, MAX_LABEL)}`,
      }]),
    ];
  });
  const { since, alarmed } = canary ?? {};
  // The first run of a day is its night.
  const nightOf = (day: string) => points.find(({ startedAt }) => startedAt.startsWith(day));
  const days = [
    ...(since === undefined || since === alarmed ? [] : [{ day: since, text: "lower since" }]),
    ...(alarmed === undefined ? [] : [{ day: alarmed, text: "alarm" }]),
  ];
  return [
    ...own,
    ...days.flatMap(({ day, text }): TimeMark[] => {
      const point = nightOf(day);
      return point === undefined
        ? []
        : [{ time: Date.parse(point.startedAt), text, kind: "drift" as const }];
    }),
  ];
}

/** Explains the rules of a figure. */
function ruleNote(marks: readonly TimeMark[]): string {
  const has = (kind: TimeMark["kind"]) => marks.some((mark) => mark.kind === kind);
  return noteOf(
    has("release") && "solid rules: releases",
    has("served") && "dashed rules: another model was served from then on",
    has("drift") &&
      "dotted rules: the drift, since when as an estimate, and the night of the alarm",
  );
}
