/**
 * Columns: what a figure of a report is called, how it is measured, and how it is written. Tables, JSON and CSV are
 * made of the same columns.
 * @module
 */

import type { JsonValue } from "../base/json.ts";
import { dollars, grouped, percent, probability } from "../base/numbers.ts";
import type { Variant } from "../gate/variant.ts";
import type { Bounds } from "../statistics/proportions.ts";
import type { Cell, Drawing, Head, Table } from "./_view.ts";

/** The text of an empty cell. */
export const NOTHING = "-";
/** The text in place of a figure that no trial could have. */
export const NOT_APPLICABLE = "n/a";
/** The text in place of a figure that cannot be estimated. */
export const UNAVAILABLE = "not available";

/** A figure with what is known of its error. */
export interface Estimate {
  /** The figure; `null` where there is none. */
  readonly value: number | null;
  /** Its interval, two-sided at 95% unless its column names other bounds; `null` where there is none. */
  readonly interval?: Bounds | null;
  /** The number of items that it is of. */
  readonly of?: number;
  /** Of a share, the number of items counted. */
  readonly count?: number;
}

/** What a column has in a row: lists are for programs alone. */
type Value = Counted | string | number | boolean | null | undefined | readonly JsonValue[];

interface Counted extends Estimate {
  /** Whether it is estimated in part, which `~` says before it. */
  readonly estimated?: boolean | undefined;
}

/** How figures are written, by their unit. Names tell rows apart; they and texts are aligned to the left. */
const UNITS = {
  name: String,
  text: String,
  count: grouped,
  /** From 0 to 1. */
  share: percent,
  /** A difference of shares. */
  points: signedPoints,
  /** From 0 to 1, as papers write it. */
  score: scoreText,
  mean: (value: number) => value.toFixed(1),
  /** Milliseconds. */
  time: timeText,
  /** US dollars. */
  cost: dollars,
  probability,
  /** A difference of counts. */
  more: (value: number) => signed(value, (size) => grouped(Math.round(size))),
  /** A difference of US dollars, which is often less than a cent. */
  moreCost: (value: number) =>
    signed(value, (size) => `$${size.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`),
} satisfies Record<string, (value: never) => string>;

/** A column: its name, what it has in each row, and how that is written. */
export interface Column<Row> {
  /** Its name in JSON and CSV; omitted where other columns have the same for programs. */
  readonly id?: string;
  readonly unit: keyof typeof UNITS;
  readonly value: (row: Row) => Value;
  /** Its heading. Default: its name with spaces. */
  readonly head?: string;
  /** A heading for this column and its neighbours, shown before that of the first. */
  readonly group?: string;
  /** Whether it is only understood beside the column before it, as all but the first of a group are. */
  readonly next?: true;
  /** What it means, for the note of its table; omitted where its heading says so. */
  readonly about?: string;
  /** What stands in a cell in place of its figure; `undefined` where the figure does. */
  readonly text?: (row: Row) => string | undefined;
  /** Whether tables show the interval of a figure. Default: if it has one. */
  readonly isBounded?: (row: Row) => boolean;
  /**
   * The heading of intervals that are the bounds of a gate: they are rounded outwards, so that none looks better than
   * it is, as in texts of verdicts. Default: `95% interval`.
   */
  readonly bounds?: string;
  /** Draws figures and intervals on a page, with what is asked of each row. Default: they are numbers alone. */
  readonly drawn?: (row: Row) => Asked | undefined;
  /** Where a cell leads on a page: its address. Default: nowhere. */
  readonly link?: (row: Row) => string | undefined;
  /** The variant that a cell names, which pages mark as in figures. Default: none. */
  readonly variant?: (row: Row) => Variant | undefined;
  /** The variant that its heading names. */
  readonly headVariant?: Variant | undefined;
  /** When tables show it; `filled`: where any row has more than nothing or 0. Default: always. */
  readonly shown?: boolean | "filled";
  /** The least that has it. Default: all that follows a run. */
  readonly from?: Detail;
  /** Set where the cell of a figure says what it is of, and has its interval. Default: that is a column of its own. */
  readonly inline?: true;
}

/** Returns the column of a count that is 0 in most reports, which then do not show it. */
export function asideColumn<Key extends string>(
  id: Key,
  about?: string,
  head?: string,
): Column<Readonly<Record<Key, number>>> {
  return { id, unit: "count", value: (row) => row[id], shown: "filled", head, about };
}

/** What is asked of a figure: drawn as a line, and what is still good enough as a band up to it. */
export type Asked = Pick<Drawing, "target" | "least">;

/** Columns, some of them in lists. */
export type Columns<Row> = readonly (Column<Row> | readonly Column<Row>[])[];

/**
 * How much is shown: of what follows a `run` nothing that differs from run to run, such as times; in a `terminal` no
 * intervals within cells, and fewer columns; on a `page` and in Markdown all of it.
 */
export type Detail = typeof DETAILS[number];
const DETAILS = ["run", "terminal", "page"] as const;

/** Whether something is shown where there is so much detail. */
export function isShown(
  { from = "run" }: { readonly from?: Detail | undefined },
  detail: Detail,
): boolean {
  return DETAILS.indexOf(from) <= DETAILS.indexOf(detail);
}

/** Returns a table with a row for each of `rows`; none without any, or with names alone. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: Columns<NoInfer<Row>>,
  caption: Omit<Table, "heads" | "rows" | "names">,
  detail: Detail = "page",
): Table[] {
  if (rows.length === 0) return [];
  const laid = columns.flat().filter((column) => isShown(column, detail))
    .flatMap((column) => laidOut(column, rows, detail === "page"))
    .filter(({ column: { shown = true }, cells }) =>
      shown === "filled" ? cells.some(({ text }) => text !== NOTHING && text !== "0") : shown
    );
  const heads = laid.map((
    { column: { unit, group, next, headVariant: variant }, head, about, isInterval },
    place,
  ): Head => ({
    ...{ text: head, group, about, variant },
    isNext: next === true || isInterval ||
      group !== undefined && laid[place - 1]?.column.group === group,
    isText: unit === "name" || unit === "text",
  }));
  const names = heads.findIndex((_, place) => laid[place]!.column.unit !== "name");
  if (names < 0) return [];
  return [{
    ...caption,
    names,
    heads,
    rows: rows.map((_, row) => laid.map(({ cells }) => cells[row]!)),
  }];
}

/** Returns a column with its cells, and one of its intervals, if it has any. */
function laidOut<Row>(column: Column<Row>, rows: readonly Row[], isPage: boolean) {
  const { unit, inline, text, link, variant, bounds } = column;
  const show = UNITS[unit] as (value: unknown) => string;
  const values = rows.map((row) => {
    const found = estimateOf(column.value(row));
    return column.isBounded?.(row) === false ? { ...found, interval: undefined } : found;
  });
  const boundsOf = ({ interval = null }: Pick<Estimate, "interval">) =>
    boundsText(bounds === undefined || interval === null ? interval : outwards(interval), show);
  const cells = rows.map((row, place): Cell => {
    const { value, ...known } = values[place]!;
    const said = text?.(row);
    return {
      text: said ?? (value === null ? NOTHING : (known.estimated ? "~" : "") + show(value) +
        (inline && known.of !== undefined ? ` of ${known.of}` : "")),
      detail: inline && isPage && said === undefined && known.interval
        ? `(${boundsOf(known)})`
        : undefined,
      link: link?.(row),
      variant: variant?.(row),
      value: typeof value === "number" ? value : undefined,
    };
  });
  const drawings = drawingsOf(column, rows, values);
  const own = { column, head: headOf(column), about: column.about, cells, isInterval: false };
  const hasIntervals = !inline && values.some(({ interval }) => interval !== undefined);
  return hasIntervals
    ? [own, {
      ...{ column, isInterval: true, head: bounds ?? "95% interval", about: undefined },
      cells: values.map((value, place): Cell => (
        { text: boundsOf(value), drawing: drawings[place] }
      )),
    }]
    : [own];
}

/** Returns the heading of a column without its group. */
export function headOf({ id = "", head }: Pick<Column<never>, "id" | "head">): string {
  return head ?? id.replaceAll("_", " ");
}

/** Returns the drawings of a column, which have one scale: shares from 0 to 1, differences around 0. */
function drawingsOf<Row>(
  { unit, drawn }: Column<Row>,
  rows: readonly Row[],
  values: readonly ReturnType<typeof estimateOf>[],
): (Drawing | undefined)[] {
  if (drawn === undefined) return [];
  const all = rows.map((row, place) => ({ ...values[place]!, ...drawn(row) }));
  const ends = all.flatMap(({ value, interval, target, least }) => [
    ...[value, interval?.lower, interval?.upper, target, least],
  ]).filter((end) => typeof end === "number");
  // The scale ends at tenths, between which all of them are.
  const most = Math.max(0.1, ...ends.map((end) => Math.ceil(10 * Math.abs(end) - 1e-9) / 10));
  const [from, to] = unit === "points" ? [-most, most] : [0, 1];
  return all.map(({ value, interval, target, least }) =>
    typeof value === "number" ? { from, to, value, ...interval, target, least } : undefined
  );
}

function estimateOf(value: Value): Omit<Counted, "value"> & { readonly value: unknown } {
  return typeof value === "object" && value !== null && "value" in value
    ? value
    : { value: value ?? null };
}

/**
 * Returns the figures of a row by name, for JSON and CSV; what is known of one has its name with `_lower`, `_upper`,
 * `_count` and `_of` behind it.
 */
export function recordOf<Row>(row: Row, columns: Columns<NoInfer<Row>>): Record<string, JsonValue> {
  return Object.fromEntries(
    columns.flat().flatMap(({ id, value: measure }) => {
      if (id === undefined) return [];
      const { value, interval, of, count } = estimateOf(measure(row));
      return [
        [id, value as JsonValue],
        ...(interval === undefined
          ? []
          : [[`${id}_lower`, interval?.lower ?? null], [`${id}_upper`, interval?.upper ?? null]]),
        ...(count === undefined ? [] : [[`${id}_count`, count]]),
        ...(of === undefined ? [] : [[`${id}_of`, of]]),
      ];
    }),
  );
}

/** Rounds bounds to tenths of a point. */
function outwards({ lower, upper }: Bounds): Bounds {
  return {
    lower: Math.floor(1000 * lower + 1e-6) / 1000,
    upper: Math.ceil(1000 * upper - 1e-6) / 1000,
  };
}

/** Formats the interval of a figure. */
export function boundsText(bounds: Bounds | null, show: (value: number) => string = percent) {
  return bounds === null ? NOTHING : `${show(bounds.lower)} to ${show(bounds.upper)}`;
}

/** Formats a share in percent. */
export function shareText(share: number | null): string {
  return share === null ? NOTHING : percent(share);
}

/** Formats a difference of shares in percentage points. */
function signedPoints(share: number): string {
  return signed(share, (size) => (100 * size).toFixed(1));
}

/** Formats a number with its sign, also where it rounds to zero. */
function signed(value: number, show: (size: number) => string): string {
  // Sums of shares may differ from zero by a rounding error.
  if (Math.abs(value) < 1e-12) return show(0);
  return (value < 0 ? "-" : "+") + show(Math.abs(value));
}

/** Formats a score with two digits, or more where it would round to 0 or 1. */
export function scoreText(score: number): string {
  let decimals = 2;
  const rounded = () => Number(score.toFixed(decimals));
  while (decimals < 8 && ((rounded() === 1 && score < 1) || (rounded() === 0 && score > 0))) {
    decimals++;
  }
  return score.toFixed(decimals);
}

/** Formats a time in milliseconds. */
export function timeText(duration: number): string {
  if (duration > 0 && duration < 0.5) return "below 1 ms";
  if (duration < 999.5) return `${Math.round(duration)} ms`;
  const seconds = duration / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
