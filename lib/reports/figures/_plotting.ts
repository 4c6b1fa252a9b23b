/**
 * Plotting: the looks of series, and drawing, for all figures. Colours are CSS variables of the page, so that they
 * suit light and dark themes; series differ by shape and dash as well, for colour-blind readers.
 * @module
 */

import type { TopLevelSpec } from "vega-lite";
import { printable } from "../../base/json.ts";
import { columnsOf } from "../../base/wrap.ts";
import { numbered } from "../_short_names.ts";

/** Number of distinct colours; further series repeat them with other shapes. */
const COLOURS = 8;

/** The shapes of points, as paths within a square from -1 to 1. */
const SHAPES = [
  "M0,-0.8A0.8,0.8,0,1,1,0,0.8A0.8,0.8,0,1,1,0,-0.8Z",
  "M-0.7,-0.7H0.7V0.7H-0.7Z",
  "M0,-0.9L0.9,0.7H-0.9Z",
  "M0,-1L0.9,0L0,1L-0.9,0Z",
  "M-0.3,-0.9H0.3V-0.3H0.9V0.3H0.3V0.9H-0.3V0.3H-0.9V-0.3H-0.3Z",
  "M0,0.9L0.9,-0.7H-0.9Z",
  "M-0.9,-0.5L-0.5,-0.9L0,-0.4L0.5,-0.9L0.9,-0.5L0.4,0L0.9,0.5L0.5,0.9L0,0.4L-0.5,0.9L-0.9,0.5L-0.4,0Z",
] as const;
/** Dash patterns of the lines of series. */
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2, 1, 2],
  [5, 5],
  [1, 4],
] as const;

/** Returns the looks of the series at a place; legends and the names in tables use them too. */
export function seriesMark(place: number): {
  readonly colour: string;
  /** Outline of bars that repeat a colour, as bars have neither shape nor dash. */
  readonly outline: string;
  readonly shape: string;
  readonly dash: readonly number[];
} {
  // Variants of several models under 8 or 16 perturbations would have one colour for all models.
  const step = Math.floor(place / COLOURS);
  const at = place + step;
  return {
    colour: `var(--series-${at % COLOURS + 1})`,
    outline: ["none", "var(--ink)", "var(--faint)"][step % 3]!,
    shape: SHAPES[at % SHAPES.length]!,
    dash: DASHES[at % DASHES.length]!,
  };
}

/** A name, and the place that gives it its looks. */
export interface Series {
  readonly name: string;
  readonly place: number;
}

/** Returns the channels that show series as points, as lines or as bars, and the title of their legend, if they have one. */
export function looks(
  series: readonly Series[],
  kind: "points" | "lines" | "bars" | "whiskers",
  legend?: string,
): object {
  const own = [...new Map(series.map((one) => [one.name, one])).values()];
  const channel = (of: (mark: ReturnType<typeof seriesMark>) => string | readonly number[]) => ({
    field: "series",
    // Vega-Lite would sort bars by nominal ones.
    type: kind === "bars" ? "ordinal" : "nominal",
    scale: {
      domain: own.map(({ name }) => name),
      range: own.map(({ place }) => of(seriesMark(place))),
    },
    legend: legend === undefined ? null : { title: legend },
  });
  return {
    color: channel(({ colour }) => colour),
    ...(kind === "bars" ? { stroke: channel(({ outline }) => outline) } : {}),
    ...(kind === "lines" ? { strokeDash: channel(({ dash }) => dash) } : {}),
    ...(kind === "points" ? { shape: channel(({ shape }) => shape) } : {}),
  };
}

/** Returns printable labels for names, numbered where they would be equal, so that no two are merged. */
export function distinct(names: readonly string[]): string[] {
  return numbered(names.map((name) => {
    const shown = printable(name, 120);
    // Vega looks names up in plain objects, which have some of their own, such as `constructor`.
    return shown in {} ? `${shown} ` : shown;
  }));
}

/** Text over lines and bands stays readable: the page shows around it, below its letters. */
export const HALO = { stroke: "var(--paper)", strokeWidth: 3 };

/** Widths of a letter of common fonts, at most on average, plain and bold, as shares of their height. */
const LETTERS = { plain: 0.63, bold: 0.71 };

/** What Vega's types leave out. */
interface TextMetrics {
  width: (
    item: { readonly fontSize?: number; readonly fontWeight?: number | string },
    text: unknown,
  ) => number;
}

const INK = { labelColor: "var(--ink)", titleColor: "var(--ink)" };

/** Draws a specification as SVG. Vega is loaded on first use, as most runs draw nothing. */
export async function draw(spec: object): Promise<string> {
  const [vega, lite] = await Promise.all([import("vega"), import("vega-lite")]);
  const { spec: compiled } = lite.compile({
    background: null,
    ...spec,
    padding: 4,
    config: {
      font: "system-ui, sans-serif",
      view: { stroke: null },
      legend: {
        ...INK,
        orient: "bottom",
        direction: "vertical",
        labelLimit: 0,
        symbolOpacity: 1,
        symbolStrokeWidth: 0.5,
        labelFontSize: 12,
        titleFontSize: 12,
        titleFontWeight: "normal",
      },
      axis: {
        ...INK,
        titleFontWeight: "normal",
        labelFontSize: 12,
        titleFontSize: 12,
        gridColor: "var(--grid)",
        domainColor: "var(--line)",
        tickColor: "var(--line)",
      },
    },
  } as unknown as TopLevelSpec);
  // Without a screen Vega takes texts for nearly twice as wide as they are.
  const { textMetrics } = vega as unknown as { textMetrics: TextMetrics };
  textMetrics.width = ({ fontSize = 11, fontWeight }, text) =>
    LETTERS[fontWeight === 600 ? "bold" : "plain"] * columnsOf(String(text)) * fontSize;
  const view = new vega.View(vega.parse(compiled), { renderer: "none" });
  try {
    // Vega has no word for the order in which letters and their halo are drawn.
    return (await view.toSVG()).replaceAll(
      `stroke="${HALO.stroke}"`,
      `$& paint-order="stroke" stroke-linejoin="round"`,
    );
  } finally {
    view.finalize();
  }
}
