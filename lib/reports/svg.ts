/**
 * Figures as files: one SVG each, which can be read without a page.
 * @module
 */

import { assertReplaceable, writeOutput } from "../base/output_file.ts";
import { draw } from "./figures/_plotting.ts";
import { html } from "./page/_markup.ts";
import pageCss from "./page/page.css" with { type: "text" };
import type { Report } from "./report.ts";
import { captionText } from "./tables/table.ts";
import type { Figure } from "./_view.ts";
import { isFigure, viewsOf } from "./_views.ts";

/**
 * Writes each figure of a report to `ID.svg` in a folder, which is created. Returns how many there are.
 *
 * @throws {InputError} If a file cannot be written, or would replace one that is no such figure; then none is.
 */
export async function writeSvgs(folder: string, report: Report): Promise<number> {
  const files: [path: string, svg: string][] = [];
  for (const figure of viewsOf(report).filter(isFigure)) {
    const path = `${folder.replace(/[/\\]$/, "")}/${figure.id}.svg`;
    assertReplaceable(path, "the figure to", {
      kind: "another such figure",
      isOwn: (_, text) => text.startsWith(START),
    });
    files.push([path, await drawSvg(figure)]);
  }
  for (const [path, svg] of files) writeOutput(path, svg, "the figure to");
  return files.length;
}

/** How each of these files begins. */
const START = "<!-- A figure of a toolgate report. -->\n<svg ";

/** Draws a figure with its title and description, in the colours of the page's light theme. */
export async function drawSvg(figure: Figure): Promise<string> {
  const { spec, title } = figure;
  const svg = await draw({ ...spec, background: "var(--paper)" });
  const texts = html`
    <title>${title}</title>
    <desc>${captionText(figure)}</desc>
  `;
  return START + svg.replace(/^<svg ([^>]*>)/, (_, start) => start + texts.text)
    // In texts there are no quotes that could end an attribute.
    .replace(/(?<==")var\(--([\w-]+)\)(?=")/g, (_, name) => LIGHT.get(name)!) +
    "\n";
}

/** The colours of the page, without those of its dark theme. */
const LIGHT: ReadonlyMap<string, string> = new Map(
  [...pageCss.matchAll(/--([\w-]+): (?:light-dark\()?(#\w+)/g)]
    .map(([, name, colour]) => [name!, colour!]),
);
