/**
 * Plotting: series styles, axes of names, and drawing, for all figures. Colours are CSS variables of the
 * page, so that they suit light and dark themes; series differ by shape and dash as well, for colour-blind
 * readers.
 * @module
 */

import type { TopLevelSpec } from "vega-lite";
import { printable } from "../../base/json.ts";

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
export const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2, 1, 2],
  [5, 5],
  [1, 4],
] as const;

/** Returns the style of the series at an index; legends next to figures use it too. */
export function seriesMark(index: number): {
  readonly colour: string;
  /** Outline of bars that repeat a colour, as bars have neither shape nor dash. */
  readonly outline: string;
  readonly shape: string;
  readonly dash: string;
} {
  return {
    colour: `var(--series-${index % COLOURS + 1})`,
    outline: ["none", "var(--ink)", "var(--faint)"][Math.floor(index / COLOURS) % 3]!,
    shape: SHAPES[index % SHAPES.length]!,
    dash: DASHES[index % DASHES.length]!.join(" "),
  };
}

/**
 * Returns an axis of names in this order. The order is that of the domain: a `sort` list would become an
 * expression, which names like `constructor` break.
 */
export function inOrder(names: readonly string[]) {
  return { type: "nominal" as const, scale: { domain: [...names] } };
}

/** Returns one visual channel of series, without a legend: the page shows legends with whole names. */
export function seriesChannel<T>(names: readonly string[], looks: (place: number) => T) {
  return {
    field: "series",
    type: "nominal" as const,
    scale: { domain: [...names], range: names.map((_, place) => looks(place)) },
    legend: null,
  };
}

/** Returns the colours of series. They are ordinal, as Vega-Lite would sort bars by nominal ones. */
export const colour = (names: readonly string[]) => ({
  ...seriesChannel(names, (place) => seriesMark(place).colour),
  type: "ordinal" as const,
});

/** Returns printable labels for names, numbered where they would be equal, so that no two are merged. */
export function distinct(names: readonly string[]): string[] {
  const labels = new Set<string>();
  for (const name of names) {
    const text = printable(name, 120);
    let label = text;
    for (let count = 2; labels.has(label); count++) label = `${text} #${count}`;
    labels.add(label);
  }
  return [...labels];
}

/** Returns the outlines of bars, for series that repeat a colour. */
export const outline = (names: readonly string[]) => ({
  ...seriesChannel(names, (place) => seriesMark(place).outline),
  type: "ordinal" as const,
});

const INK = { labelColor: "var(--ink)", titleColor: "var(--ink)" };

/** Draws a figure as SVG. Vega is loaded on first use, as most runs draw nothing. */
export async function draw(spec: object): Promise<string> {
  const [vega, lite] = await Promise.all([import("vega"), import("vega-lite")]);
  const { spec: compiled } = lite.compile({
    ...spec,
    background: null,
    padding: 4,
    config: {
      font: "system-ui, sans-serif",
      view: { stroke: null },
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
  const view = new vega.View(vega.parse(compiled), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}
