/**
 * Dimensions figure: the five dimensions of tool use as SVG, as dots with whiskers along one axis, so that
 * readers compare lengths and not areas.
 * @module
 */

import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import { type DimensionMetrics, DIMENSIONS } from "../metrics/dimensions.ts";
import { dimensionName, scoreText } from "../tables/_dimensions.ts";
import { colour, distinct, draw, inOrder, seriesChannel, seriesMark } from "./_plotting.ts";
import { nameOf } from "../tables/table.ts";

/** Width of the axis, in pixels. */
const WIDTH = 360;
/** Height of a dimension's name and of each model below it, in pixels. */
const LINE = 17;
/** Space between dimensions, in pixels. */
const GAP = 10;

const OVERALL = dimensionName("overall");
const ROWS = [...DIMENSIONS.map(dimensionName), OVERALL];

/** A line within a dimension: 0 is the dimension's name, then follow the models. */
interface Line {
  readonly row: string;
  readonly line: number;
}

/** One model in one dimension. */
interface Score extends Line {
  readonly series: string;
  /** The label next to it. */
  readonly text: string;
  readonly mean?: number;
  readonly lower?: number;
  readonly upper?: number;
}

/** Draws the dimensions by the article's definitions below each other, each with every model, and highlights the overall score. */
export async function drawDimensions(dimensions: readonly DimensionMetrics[]): Promise<string> {
  const names = distinct(dimensions.map(nameOf));
  const scores = dimensions.flatMap((one, index) => {
    const series = { series: names[index]!, line: index + 1 };
    return [
      ...one.article.dimensions.map((own) =>
        scoreOf(own, { ...series, row: dimensionName(own.dimension) })
      ),
      scoreOf(one.article.overall, { ...series, row: OVERALL }),
    ];
  });
  const lines = Array.from({ length: names.length + 1 }, (_, line) => line);
  const y = { field: "row", ...inOrder(ROWS), axis: null };
  const position = {
    y,
    yOffset: { field: "line", type: "nominal" as const, scale: { domain: lines, padding: 0.3 } },
  };
  const along = {
    type: "quantitative" as const,
    scale: { domain: [0, 1], nice: false },
    axis: {
      title: "score",
      values: [0, 0.2, 0.4, 0.6, 0.8, 1],
      format: ".1f",
      grid: true,
      labelFlush: false,
    },
  };
  const textMark = { type: "text", align: "left", color: "var(--ink)" };
  return await draw({
    data: { values: scores },
    width: WIDTH,
    height: { step: LINE * lines.length + GAP, for: "position" },
    layer: [
      {
        data: { values: [{ row: OVERALL }] },
        mark: { type: "rect", fill: "var(--ink)", fillOpacity: 0.06, aria: false },
        encoding: { y, x: { datum: 0, ...along }, x2: { datum: 1 } },
      },
      {
        data: { values: ROWS.map((row): Line => ({ row, line: 0 })) },
        mark: { ...textMark, dx: 4, fontSize: 12 },
        encoding: {
          ...position,
          x: { datum: 0, ...along },
          text: { field: "row" },
        },
      },
      {
        mark: { type: "rule", strokeWidth: 2 },
        encoding: {
          ...position,
          x: { field: "lower", ...along },
          x2: { field: "upper" },
          color: colour(names),
        },
      },
      {
        mark: { type: "point", filled: true, size: 80, opacity: 1 },
        encoding: {
          ...position,
          x: { field: "mean", ...along },
          color: colour(names),
          shape: seriesChannel(names, (place) => seriesMark(place).shape),
        },
      },
      {
        mark: { ...textMark, dx: 10, fontSize: 11, aria: false },
        encoding: {
          ...position,
          x: { datum: 1, ...along },
          text: { field: "text", type: "nominal" },
        },
      },
    ],
  });
}

function scoreOf(
  { mean, interval }: Pick<MeanEstimate, "mean" | "interval">,
  position: Line & Pick<Score, "series">,
): Score {
  if (mean === null) return { ...position, text: "not measured" };
  return { ...position, text: scoreText(mean), mean, ...(interval ?? {}) };
}
