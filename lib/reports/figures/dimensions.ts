/**
 * The figure of the five dimensions of tool use as SVG: dots with whiskers along one axis, so that lengths
 * are compared, and not areas.
 * @module
 */

import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import { type DimensionMetrics, DIMENSIONS } from "../metrics/dimensions.ts";
import { dimensionName, scoreText } from "../tables/dimensions.ts";
import { colour, distinct, draw, inOrder, seriesChannel, seriesMark } from "./plotting.ts";
import { nameOf } from "../tables/table.ts";

/** How wide the axis is, in pixels. */
const WIDTH = 360;
/** What the name of a dimension takes, and each model beneath it; and what keeps dimensions apart. */
const LINE = 17;
const GAP = 10;

const OVERALL = dimensionName("overall");
const ROWS = [...DIMENSIONS.map(dimensionName), OVERALL];

/** What stands in one line of a dimension: its name in the first one, then the models. */
interface Line {
  readonly row: string;
  readonly line: number;
}

/** One model in one dimension. */
interface Score extends Line {
  readonly series: string;
  /** What is written beside it. */
  readonly text: string;
  readonly mean?: number;
  readonly lower?: number;
  readonly upper?: number;
}

/** The dimensions beneath each other, in each of them every model, and their mean set apart. */
export async function drawDimensions(dimensions: readonly DimensionMetrics[]): Promise<string> {
  const names = distinct(dimensions.map(nameOf));
  const scores = dimensions.flatMap((one, place) => {
    const series = { series: names[place]!, line: place + 1 };
    return [
      ...one.dimensions.map((own) =>
        scoreOf(own, { ...series, row: dimensionName(own.dimension) })
      ),
      scoreOf(one.overall, { ...series, row: OVERALL }),
    ];
  });
  const lines = Array.from({ length: names.length + 1 }, (_, line) => line);
  const y = { field: "row", ...inOrder(ROWS), axis: null };
  const place = {
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
  const written = { type: "text", align: "left", color: "var(--ink)" };
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
        mark: { ...written, dx: 4, fontSize: 12 },
        encoding: {
          ...place,
          x: { datum: 0, ...along },
          text: { field: "row" },
        },
      },
      {
        mark: { type: "rule", strokeWidth: 2 },
        encoding: {
          ...place,
          x: { field: "lower", ...along },
          x2: { field: "upper" },
          color: colour(names),
        },
      },
      {
        mark: { type: "point", filled: true, size: 80, opacity: 1 },
        encoding: {
          ...place,
          x: { field: "mean", ...along },
          color: colour(names),
          shape: seriesChannel(names, (place) => seriesMark(place).shape),
        },
      },
      {
        mark: { ...written, dx: 10, fontSize: 11, aria: false },
        encoding: { ...place, x: { datum: 1, ...along }, text: { field: "text", type: "nominal" } },
      },
    ],
  });
}

function scoreOf(
  { mean, interval }: Pick<MeanEstimate, "mean" | "interval">,
  place: Line & Pick<Score, "series">,
): Score {
  if (mean === null) return { ...place, text: "not measured" };
  return { ...place, text: scoreText(mean), mean, ...(interval ?? {}) };
}
