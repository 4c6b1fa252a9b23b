/**
 * Breakdowns: success by one size or option of generated tasks, each a table or a figure of FuncBenchGen (sections 4
 * and C).
 * @module
 */

import { canonicalJson } from "../../base/json.ts";
import { sum } from "../../base/numbers.ts";
import { variantKey, variantLabel, variantOf } from "../../gate/variant.ts";
import { type ModelEntry, modelName, REASONING_EFFORTS } from "../../models/entry.ts";
import type { GraphSpec } from "../../tasks/graphs/graph.ts";
import { type GeneratedSummary, isSized } from "../cells.ts";
import type { Detail } from "../columns.ts";
import { distinct, type Series } from "../figures/_plotting.ts";
import { barsSpec, linesSpec } from "../figures/_shapes.ts";
import { crossed, metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import { type Caption, type Figure, noteOf, type Table, titleOf } from "../_view.ts";
import { hasGateBounds } from "./_headline.ts";
import { CELLS } from "./_matrix.ts";
import { type Tallied, tally, tallyColumns } from "./_tally.ts";

/** The kinds of irrelevant functions of a task (FuncBenchGen, section 4.1). */
export const CONNECTION_NAMES = [
  "no extra",
  "connected",
  "half and half",
  "disconnected",
  "mixed",
] as const;

/**
 * Names the kind of a task's irrelevant functions. Halves may differ by one; any other mixture is
 * `mixed`.
 */
export function connectionName(
  { connected, disconnected }: Pick<GraphSpec, "connected" | "disconnected">,
): typeof CONNECTION_NAMES[number] {
  if (connected === 0) return disconnected === 0 ? "no extra" : "disconnected";
  if (disconnected === 0) return "connected";
  return Math.abs(connected - disconnected) <= 1 ? "half and half" : "mixed";
}

/** Returns the value by which trials are grouped; `undefined` where it does not apply to a trial. */
type Key = (trial: GeneratedSummary) => number | string | undefined;

/** What a breakdown is by, and its words. */
interface Crossing extends Pick<Caption, "title" | "kind"> {
  /** Unique within a report, such as `depth-10`. */
  readonly id: string;
  /** The table or figure of FuncBenchGen that shows the same; omitted where none does. */
  readonly source?: string;
  /** The title of the axis, with its unit. */
  readonly axis: string;
  readonly along: Key;
  /** Order of names along the axis. Default: numbers sorted, names as they first occur. */
  readonly valueOrder?: readonly string[];
  /** The title of the legend. Default: series are models. */
  readonly legend?: string;
  readonly series?: Key;
  /** Order of the series. Default: as they first occur. */
  readonly seriesOrder?: readonly string[];
  /** Set where calls are shown as well. */
  readonly withCalls?: true;
  /** Set where terminals have no table of it: there is one for each model, meant as a figure. */
  readonly forPages?: true;
}

/** A breakdown. */
interface Breakdown extends Omit<Crossing, "series"> {
  /** The values along the axis, in order. */
  readonly values: readonly (number | string)[];
  readonly series: readonly Series[];
  readonly points: readonly BreakdownPoint[];
}

/** The trials of a series that have one value. */
interface BreakdownPoint extends Tallied {
  readonly series: string;
  readonly value: number | string;
}

const CORE: Pick<Crossing, "axis" | "along"> = {
  axis: "core size (functions needed)",
  along: ({ task }) => task.core,
};

const CONNECTION: Pick<Crossing, "axis" | "along" | "valueOrder"> = {
  axis: "irrelevant functions",
  along: ({ task }) => connectionName(task),
  valueOrder: CONNECTION_NAMES,
};

/** Marks a figure that the paper shows for another core size. */
const forOtherSize = (figure: string): string => `${figure}, for another size`;

/**
 * Returns the breakdowns that trials on generated tasks allow: those by core size always, others where their axis has
 * two values or more.
 */
function breakDown(report: Report): Breakdown[] {
  const { trials, subjects, nameOf, options: { models = [] } } = report;
  const generated = trials.filter(isSized);
  if (generated.length === 0) return [];
  const cross = (own: readonly GeneratedSummary[], crossing: Crossing) =>
    crossTrials(own, crossing, report);
  const plain = generated.filter(({ task }) => connectionName(task) === "no extra");
  const cores = [...Map.groupBy(generated, ({ task }) => task.core)]
    .toSorted(([one], [other]) => one - other);
  const hasSeveralValues = ({ values }: Breakdown) => values.length > 1;
  const hasSeveralSeries = ({ series }: Breakdown) => series.length > 1;
  return [
    cross(generated, {
      ...{ id: "core", title: "Success by core size", withCalls: true, ...CORE },
      source: plain.length === generated.length ? "Table 5" : "Table 2",
    }),
    ...(plain.length === generated.length || plain.length === 0 ? [] : [cross(plain, {
      id: "no-extra",
      title: "Success by core size, without irrelevant functions",
      source: "Table 5",
      withCalls: true,
      ...CORE,
    })]),
    ...[cross(generated, {
      id: "connection",
      title: "Success by type of irrelevant functions",
      source: "Fig. 4",
      ...CONNECTION,
    })].filter(hasSeveralValues),
    ...cores.map(([size, own]) =>
      cross(own, {
        id: `depth-${size}`,
        title: `Success by dependency depth, ${size} core functions`,
        source: { 10: "Figs. 5 and 13", 20: "Fig. 14", 40: "Fig. 15" }[size] ??
          forOtherSize("Fig. 5"),
        axis: "dependency depth (edges)",
        along: ({ task }) => task.depth,
      })
    ).filter(hasSeveralValues),
    ...subjects.map((one, place) =>
      cross(one.trials.filter(isSized), {
        id: `sets-${place + 1}`,
        ...titleOf("Success by core size and type of irrelevant functions", nameOf(one)),
        source: "Fig. 6",
        ...CORE,
        legend: CONNECTION.axis,
        series: CONNECTION.along,
        seriesOrder: CONNECTION_NAMES,
        forPages: true,
      })
    ).filter((breakdown) => hasSeveralValues(breakdown) && hasSeveralSeries(breakdown)),
    ...thinkingBudgets(generated, models, report).filter(hasSeveralSeries),
    ...cores.map(([size, own]) =>
      cross(own, {
        id: `strategy-${size}`,
        title: `Success by strategy, ${size} core functions`,
        source: { 5: "Fig. 8", 10: "Fig. 16" }[size] ?? forOtherSize("Fig. 8"),
        axis: "model",
        along: (trial) =>
          nameOf({
            subject: { ...variantOf(trial), strategy: "plain" },
            simulated: trial.model.simulated,
          }),
        legend: "strategy",
        series: ({ strategy }) => strategy,
      })
    ).filter(hasSeveralSeries),
    ...[cross(generated, {
      id: "linking",
      title: "Success by how parameters are linked to outputs",
      source: "appendix B.2",
      axis: "linking",
      along: ({ task }) => task.linking ?? "types",
    })].filter(hasSeveralValues),
  ];
}

/** Returns one breakdown for each model that ran at several thinking budgets (Fig. 7). */
function thinkingBudgets(
  trials: readonly GeneratedSummary[],
  models: readonly ModelEntry[],
  report: Report,
): Breakdown[] {
  const entries = new Map(models.map((entry) => [modelName(entry), entry]));
  const withEntry = trials.filter(({ model }) => entries.has(model.requested));
  const efforts = Map.groupBy(withEntry, ({ model, strategy, perturbation, task }) => {
    const { name: _, reasoningEffort: __, ...base } = entries.get(model.requested)!;
    return canonicalJson({ base, strategy, perturbation, core: task.core });
  });
  return [...efforts.values()].map((own, index) => {
    const { model, strategy, perturbation, task } = own[0]!;
    const base = { model: entries.get(model.requested)!.model, strategy, perturbation };
    return crossTrials(own, {
      id: `effort-${index + 1}`,
      ...titleOf(
        `Success by thinking budget, ${task.core} core functions`,
        variantLabel(base, model.simulated),
      ),
      source: { 5: "Fig. 7" }[task.core] ?? forOtherSize("Fig. 7"),
      ...CONNECTION,
      legend: "thinking budget",
      series: (trial) => entries.get(trial.model.requested)!.reasoningEffort ?? "default",
      seriesOrder: [...REASONING_EFFORTS, "default"],
    }, report);
  });
}

/** Returns the tallies of trials by both keys; without a key of series these are the variants of the report. */
function crossTrials(
  trials: readonly GeneratedSummary[],
  { series, seriesOrder, ...crossing }: Crossing,
  { subjects, nameOf }: Report,
): Breakdown {
  const { along, valueOrder } = crossing;
  const present = [...new Set(trials.flatMap((trial) => along(trial) ?? []))];
  const values = valueOrder?.filter((value) => present.includes(value)) ??
    (isNumeric(present) ? present.toSorted((one, other) => Number(one) - Number(other)) : present);
  const lines = Map.groupBy(
    trials,
    (trial) => series === undefined ? variantKey(variantOf(trial)) : String(series(trial)),
  );
  const names = new Map(subjects.map((one) => [variantKey(one.subject), nameOf(one)]));
  const order = series === undefined ? [...names.keys()] : seriesOrder ?? [...lines.keys()];
  const keys = order.filter((key) => lines.has(key));
  const shown = distinct(keys.map((key) => series === undefined ? names.get(key)! : key));
  let points: BreakdownPoint[] | undefined;
  return {
    ...crossing,
    values,
    series: keys.map((key, index) => ({
      name: shown[index]!,
      // A model has the same colour in every figure; other series have colours of their own.
      place: series === undefined ? order.indexOf(key) : subjects.length + index,
    })),
    // Many breakdowns have nothing to tell, and are left out before these are counted.
    get points() {
      return points ??= keys.flatMap((key, index) => {
        const byValue = Map.groupBy(lines.get(key)!, along);
        return values.flatMap((value) => {
          const own = byValue.get(value);
          return own === undefined ? [] : [{ series: shown[index]!, value, tally: tally(own) }];
        });
      });
    },
  };
}

function isNumeric(values: readonly (number | string)[]): values is readonly number[] {
  return values.every((value) => typeof value === "number");
}

/** Success by the sizes and options of generated tasks. */
export const BREAKDOWNS = metric(
  (report) =>
    breakDown(report).flatMap((breakdown) =>
      breakdown.points.map((point) => ({ ...point, breakdown }))
    ),
  {
    id: "breakdowns",
    section: "figures",
    title: "",
    columns: (rows, { words }) => [
      { id: "breakdown", unit: "name", value: ({ breakdown }) => breakdown.id },
      { id: "series", unit: "name", value: ({ series }) => series },
      { id: "value", unit: "name", value: ({ value }) => value },
      tallyColumns(rows, words),
    ],
    tables: (rows, report, detail) => {
      // Where everything fits one table of cells, terminals need no others.
      const isNeeded = detail === "page" || report.subjects.length > 1 ||
        CELLS.rows(report).length > MAX_CELLS;
      // A single value repeats the headline.
      const isMeant = ({ values, forPages }: Breakdown) =>
        detail === "page" || !forPages && values.length > 1;
      return [...new Set(rows.map(({ breakdown }) => breakdown))]
        .filter((breakdown) => isNeeded && isMeant(breakdown))
        .flatMap((breakdown) => breakdownTable(breakdown, report, detail));
    },
    figures: (rows) =>
      [...new Set(rows.map(({ breakdown }) => breakdown))].flatMap(breakdownFigure),
  },
);

/** Up to this many cells of a single variant, terminals show these alone; of more their sum. */
export const MAX_CELLS = 24;

function captionOf({ id, title, kind, source, withCalls }: Breakdown) {
  const section = withCalls ? "success" as const : "figures" as const;
  return { id, section, title, kind, source };
}

/** Returns the table of a breakdown: one row a series; by core size with calls, as in the paper. */
function breakdownTable(breakdown: Breakdown, report: Report, detail: Detail): Table[] {
  const { legend, axis, withCalls, points, values, series: all } = breakdown;
  const isOfAll = legend === undefined && values.length === 1 &&
    sum(points, ({ tally: { trials } }) => trials) === report.trials.length;
  return crossed<BreakdownPoint>(
    points,
    [
      {
        ...{ head: legend ?? "model", unit: "name", value: ({ series }) => series },
        // Series of anything else have places of their own.
        variant: ({ series }) =>
          report.subjects[all.find(({ name }) => name === series)!.place]?.subject,
      },
      {
        ...{ id: "solved", unit: "share", inline: true },
        value: ({ tally: { success: { value, interval, of } } }) => ({ value, interval, of }),
        isBounded: () => !(isOfAll && hasGateBounds(report)),
      },
      ...(["callsSolved", "callsFailed"] as const).map((key) => ({
        head: key === "callsSolved" ? "calls if solved" : "if not",
        unit: "mean" as const,
        value: ({ tally }: BreakdownPoint) => tally[key],
        shown: withCalls ?? false,
      })),
    ],
    ({ value }) => withCalls ? `core ${value}` : String(value),
    { ...captionOf(breakdown), note: withCalls ? undefined : `columns: ${axis}` },
    detail,
  );
}

/** Returns the figure of a breakdown: shares solved; none of a single number. */
function breakdownFigure(breakdown: Breakdown): Figure[] {
  const { axis, legend = "model", values, series } = breakdown;
  if (values.length < 2 && isNumeric(values)) return [];
  const names = distinct(values.map(String));
  const order = series.map(({ name }) => name);
  const points = breakdown.points.flatMap(({ series: own, value: at, tally: { success } }) => {
    const { value, interval, of: valid } = success;
    // Shifted a little, so that whiskers do not cover each other.
    const place = isNumeric(values)
      ? Number(at) + (order.indexOf(own) - (order.length - 1) / 2) * shift(values, order.length)
      : names[values.indexOf(at)]!;
    return value === null ? [] : [{ series: own, place, value, interval, valid }];
  });
  // Axes of nothing would be from NaN to NaN.
  if (points.length === 0) return [];
  const counts = points.map(({ valid }) => valid);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const n = least === most ? least : `${least} to ${most}`;
  const axes = { axis, series, legend };
  return [{
    ...captionOf(breakdown),
    note: noteOf(
      "whiskers: 95% intervals",
      `n = ${n} valid trials a point`,
      points.some(({ interval }) => interval === null) && "points of a single task have none",
    ),
    spec: isNumeric(values)
      ? linesSpec(points, { ...axes, values })
      : barsSpec(points, { ...axes, names }),
  }];
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
