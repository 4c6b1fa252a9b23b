/**
 * What all figures share: how series look, how names stand along axes, and how a figure is drawn. Colours
 * are variables of the page that shows it, so that they suit light and dark alike; series differ by
 * shape and dash as well, for colour-blind eyes.
 * @module
 */

import type { TopLevelSpec } from "vega-lite";
import { printable } from "../../base/json.ts";

/** So many series have a colour of their own; further ones repeat them with other shapes. */
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
/** How the lines of series are dashed. */
export const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2, 1, 2],
  [5, 5],
  [1, 4],
] as const;

/** How the series at a place looks: for the legends that stand beside figures. */
export function seriesMark(place: number): {
  readonly colour: string;
  /** Of bars, which have neither shape nor dash: those that repeat a colour have an outline. */
  readonly outline: string;
  readonly shape: string;
  readonly dash: string;
} {
  return {
    colour: `var(--series-${place % COLOURS + 1})`,
    outline: ["none", "var(--ink)", "var(--faint)"][Math.floor(place / COLOURS) % 3]!,
    shape: SHAPES[place % SHAPES.length]!,
    dash: DASHES[place % DASHES.length]!.join(" "),
  };
}

/**
 * Names along an axis, in this order and with room for each. The order is that of the domain: a list
 * to sort by would become an expression, which names like `constructor` break.
 */
export function inOrder(names: readonly string[]) {
  return { type: "nominal" as const, scale: { domain: [...names] } };
}

/** How series are told apart in one way; the legends stand beside the figures, with whole names. */
export function seriesChannel<T>(names: readonly string[], looks: (place: number) => T) {
  return {
    field: "series",
    type: "nominal" as const,
    scale: { domain: [...names], range: names.map((_, place) => looks(place)) },
    legend: null,
  };
}

/** The colours of series. Vega-Lite would sort bars by nominal ones, with a list. */
export const colour = (names: readonly string[]) => ({
  ...seriesChannel(names, (place) => seriesMark(place).colour),
  type: "ordinal" as const,
});

/** Names as labels: what a server or a journal calls itself is shown, and never merged with another. */
export function distinct(names: readonly string[]): string[] {
  const labels = new Set<string>();
  for (const name of names) {
    const shown = printable(name, 120);
    let label = shown;
    for (let count = 2; labels.has(label); count++) label = `${shown} #${count}`;
    labels.add(label);
  }
  return [...labels];
}

/** The outlines of bars, for series that repeat a colour. */
export const outline = (names: readonly string[]) => ({
  ...seriesChannel(names, (place) => seriesMark(place).outline),
  type: "ordinal" as const,
});

const INK = { labelColor: "var(--ink)", titleColor: "var(--ink)" };

/** A figure as SVG. What draws it is loaded for the first one: most runs draw none. */
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
