/**
 * The figures of a report, as data.
 * @module
 */

import type { Breakdown } from "../metrics/_breakdown.ts";
import type { Brittleness } from "../metrics/_brittleness.ts";
import { DIMENSIONS } from "../metrics/_dimensions.ts";
import { settingText } from "../metrics/_distractors.ts";
import type { Tally, VariantMetrics } from "../metrics/metrics.ts";
import { FAILURE_TYPES, PARAMETER_FAILURE_TYPES } from "../../calls/failure_types.ts";
import type { Report } from "../report.ts";
import type { Figure } from "../_view.ts";
import { dimensionName, scoreText, showsDimensions } from "../tables/_dimensions.ts";
import { hasFailures } from "../tables/_failures.ts";
import { wholePercent } from "../tables/_perturbations.ts";
import { nameOf, NOT_APPLICABLE } from "../tables/table.ts";
import { distinct, type Series, seriesOf } from "./_plotting.ts";
import {
  barsSpec,
  type Cell,
  heatmapSpec,
  linesSpec,
  type Measured,
  type Point,
  type Row,
  rowsFigure,
  rowsSpec,
} from "./_shapes.ts";

/** Returns a note on whiskers, and that some points have none, where that is so. */
export function whiskerNote(marks: readonly Measured[], more = ""): string {
  const lacks = marks.some(({ value, interval }) => value !== null && interval === null);
  return `whiskers: 95% intervals${more}${lacks ? "; points of a single task have none" : ""}`;
}

/**
 * Returns the figures of the effects of irrelevant functions, where cells share core graphs: by kind against the
 * mildest, and by number. The table has the rest.
 */
export function distractorFigure(
  { distractors = [], subjects }: Pick<Report, "distractors" | "subjects">,
): Figure[] {
  const drawn = distractors.filter(({ irrelevant: { kind, number }, against }) =>
    kind === null || (number === null && against.kind === "no extra")
  );
  const effects = drawn.length > 0 ? drawn : distractors;
  if (effects.length === 0) return [];
  const seriesFor = seriesOf(subjects);
  const rows = effects.map((one): Row => ({
    series: seriesFor(one),
    group: seriesFor(one).name,
    label: `${settingText(one.irrelevant)}, against ${settingText(one.against)}`,
    value: one.success?.difference ?? null,
    interval: one.success?.interval ?? null,
    asked: { target: 0, least: 0 },
  }));
  return [{
    id: "distractors",
    section: "figures",
    title: "Effect of irrelevant functions on the same core graphs",
    source: "Fig. 4",
    note: "success with these irrelevant functions less that with the others; " +
      whiskerNote(rows, ", each for a single comparison"),
    ...rowsFigure(rows, "difference"),
  }];
}

/**
 * Returns the figure of the five dimensions of tool use, where {@linkcode showsDimensions} is true: points along one
 * axis, so that readers compare lengths and not areas.
 */
export function dimensionFigure(
  { dimensions, subjects }: Pick<Report, "dimensions" | "subjects">,
): Figure[] {
  if (!showsDimensions(dimensions)) return [];
  const series = dimensions.map(seriesOf(subjects));
  const rows = [...DIMENSIONS, "overall" as const].flatMap((dimension) =>
    dimensions.map(({ article }, place): Row => {
      const { mean, interval } = dimension === "overall"
        ? article.overall
        : article.dimensions.find((own) => own.dimension === dimension)!;
      return {
        series: series[place]!,
        group: dimensionName(dimension),
        value: mean,
        interval,
        text: mean === null ? "not measured" : scoreText(mean),
      };
    })
  );
  const overall = dimensions.some(({ article }) => article.missing.length > 0)
    ? "overall: the mean of those measured"
    : "overall: their mean";
  return [{
    id: "dimensions",
    section: "tool use",
    title: "Five dimensions of tool use",
    paper: "Pipeline",
    source: "Benchmarking Tool Use",
    note: `${whiskerNote(rows)}; ${overall}`,
    spec: rowsSpec(rows, "score", { legend: "model" }),
  }];
}

/** Returns the figure of a breakdown: shares solved; none of a single number. */
export function breakdownFigure(
  breakdown: Breakdown,
  subjects: readonly VariantMetrics[],
): Figure[] {
  const { id, kind, title, source, axis, legend, shape, values } = breakdown;
  const isNumeric = shape === "lines";
  if (values.length < 2 && isNumeric) return [];
  const series = placed(breakdown, subjects);
  const names = distinct(values.map(String));
  const numbers = values.map(Number);
  const points = breakdown.series.flatMap(({ tallies }, place) => {
    // Shifted a little, so that whiskers do not cover each other.
    const shifted = (place - (series.length - 1) / 2) * shift(numbers, series.length);
    return tallies.flatMap((tally, at): (Point & Pick<Tally, "valid">)[] =>
      tally === null || tally.rate === null ? [] : [{
        series: series[place]!.name,
        place: isNumeric ? numbers[at]! + shifted : names[at]!,
        value: tally.rate,
        // Repetitions of one graph have none: a whisker without length would claim certainty.
        interval: tally.interval,
        valid: tally.valid,
      }]
    );
  });
  // Axes of nothing would be from NaN to NaN.
  if (points.length === 0) return [];
  const counts = points.map(({ valid }) => valid);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const n = least === most ? least : `${least} to ${most}`;
  const axes = { axis, series, legend };
  return [{
    id,
    section: kind === "core" || kind === "no-extra" ? "success" : "figures",
    title,
    source,
    note: whiskerNote(points, `; n = ${n} valid trials a point`),
    spec: isNumeric
      ? linesSpec(points, { ...axes, values: numbers })
      : barsSpec(points, { ...axes, names }),
  }];
}

/** Returns the series of a breakdown: those of models have the places of these, all others come after them. */
function placed({ legend, series }: Breakdown, subjects: readonly VariantMetrics[]): Series[] {
  const models = legend === "model" ? distinct(subjects.map(nameOf)) : [];
  return distinct(series.map(({ name }) => name)).map((name, index) => {
    const place = models.indexOf(name);
    return { name, place: place < 0 ? subjects.length + index : place };
  });
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

/**
 * Returns the figure of wrong calls by type: roots solid, cascades pale. Shows unperturbed trials only, where there
 * are any: bars for every perturbation would be too many.
 */
export function failureFigure({ subjects: all }: Pick<Report, "subjects">): Figure[] {
  const plain = all.filter(({ subject }) => subject.perturbation === "none");
  const subjects = plain.length > 0 ? plain : all;
  if (!hasFailures(subjects)) return [];
  const series = subjects.map(seriesOf(all));
  const bars = subjects.flatMap(({ failures, total }, place) =>
    failures.flatMap(({ type, roots, cascades }) =>
      ([["root", roots], ["cascade", cascades]] as const).map(([part, count]): Point => ({
        series: series[place]!.name,
        place: wordsOf(type),
        part,
        value: total.valid === 0 ? 0 : count / total.valid,
        interval: null,
      }))
    )
  );
  return [{
    id: "failures",
    section: "failures",
    title: "Failure types",
    source: "Table 3",
    note: (subjects.length < all.length ? "unperturbed trials only; " : "") +
      "solid: roots; pale: cascades, whose wrong values were all returned by earlier wrong calls",
    spec: barsSpec(bars, {
      axis: "failure type",
      counts: "wrong calls a valid trial",
      ...{ series, legend: "model" },
      names: FAILURE_TYPES.map(wordsOf),
    }),
  }];
}

const wordsOf = (type: string) => type.replaceAll("_", " ");
const TYPE_NAMES = PARAMETER_FAILURE_TYPES.map(wordsOf);

/** Returns heatmaps of success and failure rates under each perturbation, where these are known. */
export function failureRateFigures({ brittleness }: Pick<Report, "brittleness">): Figure[] {
  const top = highestRate(brittleness);
  return brittleness.flatMap((one, place): Figure[] => {
    const columns = one.columns.filter(({ known }) => known > 0);
    if (columns.every(({ perturbation }) => perturbation === "none")) return [];
    const names = distinct(columns.map(({ perturbation }) => perturbation));
    const cells = columns.flatMap(({ solved, unsolvable = 0, failures, failed, missed }, at) => {
      const cell = (row: string, rate: number | null, isPossible: boolean): Cell[] =>
        rate === null && isPossible ? [] : [{
          ...{ row, column: names[at]!, share: (rate ?? 0) / top },
          text: rate === null ? NOT_APPLICABLE : wholePercent(rate),
        }];
      return [
        ...cell("solved", solved.rate, unsolvable === 0)
          .map((own) => ({ ...own, share: solved.rate ?? 0, isGood: true as const })),
        ...failures.flatMap(({ rate, impossible }, index) =>
          cell(TYPE_NAMES[index]!, rate, impossible === undefined)
        ),
        ...cell("any failure", failed.rate, true),
        ...cell("missed call", missed.rate, true),
      ];
    });
    return [{
      id: `failure-rates-${place + 1}`,
      section: "matrix",
      title: `Failure rates under perturbations: ${nameOf(one)}`,
      paper: "Butterfly",
      source: "Table 1",
      note:
        "solved: task accuracy, full colour: all; below: share of trials with a call that has such a failure; " +
        `a trial without calls has none; full colour: ${wholePercent(top)} of trials`,
      spec: heatmapSpec(cells, {
        ...{ rowTitle: "measure", rows: ["solved", ...TYPE_NAMES, "any failure", "missed call"] },
        ...{ columnTitle: "perturbation", columns: names, step: 50 },
      }),
    }];
  });
}

/** Returns the highest failure rate, rounded up to a tenth, so that heatmaps of several models share a scale. */
export function highestRate(brittleness: readonly Pick<Brittleness, "columns">[]): number {
  const rates = brittleness.flatMap(({ columns }) =>
    columns.flatMap(({ failures, failed, missed }) =>
      [...failures, failed, missed].map(({ rate }) => rate ?? 0)
    )
  );
  return Math.max(0.1, Math.ceil(10 * Math.max(0, ...rates)) / 10);
}

/** Returns heatmaps of failures that occur together: given that of the row, also that of the column. */
export function transferFigures({ brittleness }: Pick<Report, "brittleness">): Figure[] {
  return brittleness.flatMap(({ transfer, ...one }, place): Figure[] => {
    const known = transfer.filter(({ of }) => of > 0);
    if (known.length === 0) return [];
    const cells = known.map(({ from, to, either, of }): Cell => ({
      row: wordsOf(from),
      column: wordsOf(to),
      share: either / of,
      text: `${either} of ${of}`,
    }));
    return [{
      id: `transfer-${place + 1}`,
      section: "perturbations",
      title: `Failures that occur together: ${nameOf(one)}`,
      paper: "Butterfly",
      source: "Fig. 4",
      note:
        "of the trials with a failure, those that have the other in the same call or a later one; on the " +
        "diagonal: again in a later call; full colour: all of them; blank: no trial has the given failure",
      spec: heatmapSpec(cells, {
        ...{ rowTitle: "given", rows: TYPE_NAMES },
        ...{ columnTitle: "then also", columns: TYPE_NAMES, step: 80 },
      }),
    }];
  });
}
