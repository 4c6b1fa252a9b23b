/**
 * What figures say in their specification.
 * @module
 */

import type { Figure } from "../../lib/reports/_view.ts";

/** The legend of a figure, from its layer of points: its title, and the names and colours of series. */
export function legendOf({ spec }: Figure) {
  interface Layer {
    readonly encoding: {
      readonly shape?: object;
      readonly color?: {
        readonly scale: { readonly domain: readonly string[]; readonly range: readonly string[] };
        readonly legend: { readonly title: string } | null;
      };
    };
  }
  const { layer } = spec as { readonly layer: readonly Layer[] };
  const { scale, legend } = layer.find(({ encoding }) => encoding.shape !== undefined)!.encoding
    .color!;
  return { title: legend?.title, names: scale.domain, colours: scale.range };
}
