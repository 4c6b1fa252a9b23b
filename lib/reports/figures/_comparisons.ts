/**
 * The figure of comparisons: the difference of each pair of variants, with its interval and the margin of a gate.
 * @module
 */

import { isUpgrade } from "../../gate/policy.ts";
import { canonicalJson } from "../../base/json.ts";
import { points } from "../../base/numbers.ts";
import type { Report } from "../report.ts";
import { againstName, rankedPairs } from "../tables/_comparisons.ts";
import { nameOf, nameText } from "../tables/table.ts";
import type { Figure } from "../_view.ts";
import { colour, distinct, inOrder } from "./_plotting.ts";

/** Pairs drawn, at most: the table has more. */
const MAX_ROWS = 20;
const WIDTH = 400;
/** Characters of a line above a row, at most; longer names are shortened in the middle. */
const MAX_LINE = 40;

/** Returns the figure of the differences of pairs; none where nothing is compared. */
export function comparisonFigures(report: Report): Figure[] {
  const { subjects, gates } = report;
  const comparisons = report.comparisons.filter(({ success }) => success !== null);
  if (comparisons.length === 0) return [];
  const pairs = rankedPairs({ comparisons }, MAX_ROWS);
  const names = distinct(subjects.map(nameOf));
  const places = new Map(subjects.map(({ subject }, place) => [canonicalJson(subject), place]));
  const lines = pairs.map((pair) => [nameOf(pair), `against ${againstName(pair)}`] as const);
  // Names of models are long: then each stands on a line of its own.
  const isLong = lines.some((both) => both.join(" ").length > MAX_LINE);
  const labels = distinct(lines.map((both) => both.join(" ")));
  const values = pairs.map(({ subject, success }, row) => ({
    row: labels[row],
    label: isLong ? lines[row]!.map((line) => nameText(line, MAX_LINE)) : labels[row],
    series: names[places.get(canonicalJson(subject)) ?? -1],
    difference: success!.difference,
    lower: success!.interval?.lower ?? null,
    upper: success!.interval?.upper ?? null,
  }));
  const margins = [
    ...new Set(
      gates.flatMap(({ gate }) => gate !== null && isUpgrade(gate) ? gate.margin : []),
    ),
  ].filter((margin) => margin > 0);
  const ends = values.flatMap((
    { difference, lower, upper },
  ) => [difference, lower ?? 0, upper ?? 0]);
  const most = [...ends, ...margins]
    .reduce((most, end) => Math.max(most, Math.ceil(10 * Math.abs(end)) / 10), 0.1);
  const along = {
    type: "quantitative",
    scale: { domain: [-most, most], nice: false },
    axis: {
      title: "difference in percentage points",
      values: [-1, -0.5, 0, 0.5, 1].map((share) => share * most),
      labelExpr: "datum.value === 0 ? '0' : format(100 * datum.value, '+')",
      grid: true,
    },
  };
  const whole = { y: { value: 0 }, y2: { value: { expr: "height" } } };
  const once = { values: [{}] };
  const spec = {
    data: { values },
    width: WIDTH,
    height: { step: isLong ? 54 : 38 },
    encoding: { y: { field: "row", ...inOrder(labels), axis: null } },
    layer: [
      ...margins.flatMap((margin) => [
        {
          data: once,
          mark: { type: "rect", color: "var(--faint)", opacity: 0.15 },
          encoding: { ...whole, x: { datum: -margin, ...along }, x2: { datum: 0 } },
        },
        {
          data: once,
          mark: { type: "text", align: "right", dx: -4, dy: -7, color: "var(--ink)" },
          encoding: {
            y: whole.y,
            x: { datum: 0, ...along },
            text: { value: `margin: ${points(margin)}` },
          },
        },
      ]),
      {
        data: once,
        mark: { type: "rule", color: "var(--ink)", strokeWidth: 1.5 },
        encoding: { ...whole, x: { datum: 0, ...along } },
      },
      {
        transform: [{ filter: { field: "lower", valid: true } }],
        mark: { type: "rule", strokeWidth: 2, yOffset: isLong ? 16 : 8 },
        encoding: {
          x: { field: "lower", ...along },
          x2: { field: "upper" },
          color: colour(names),
        },
      },
      {
        mark: { type: "point", filled: true, size: 90, opacity: 1, yOffset: isLong ? 16 : 8 },
        encoding: { x: { field: "difference", ...along }, color: colour(names) },
      },
      {
        // Above its point, as narrow screens have no space next to it.
        mark: {
          ...{
            type: "text",
            align: "left",
            dx: 4,
            dy: isLong ? -16 : -8,
            fontSize: 12,
            limit: WIDTH - 8,
          },
          color: "var(--ink)",
        },
        encoding: { x: { datum: -most, ...along }, text: { field: "label" } },
      },
    ],
  };
  return [{
    id: "differences",
    section: "comparisons",
    title: "Differences of pairs",
    note: [
      "share of tasks solved less that of the other, on the tasks of both",
      "whiskers: 95% intervals, each for a single pair",
      ...(values.some(({ lower }) => lower === null) ? ["points of a single task have none"] : []),
      ...(margins.length === 0 ? [] : ["grey: how much worse than its baseline the gate accepts"]),
      ...(comparisons.length > pairs.length
        ? [`${pairs.length} of ${comparisons.length} pairs, those with a reference before others`]
        : []),
    ].join("; "),
    spec,
  }];
}
