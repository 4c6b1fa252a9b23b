/**
 * Figures as files: one SVG each, which can be read without a page.
 * @module
 */

import { printable } from "../base/json.ts";
import { pathIn } from "../base/folder.ts";
import { assertBegins, writeOutput } from "../base/output_file.ts";
import { breakLines } from "../base/wrap.ts";
import { draw } from "./figures/_plotting.ts";
import { html } from "./page/_markup.ts";
import pageCss from "./page/page.css" with { type: "text" };
import type { Report } from "./report.ts";
import { captionText, type Figure } from "./_view.ts";
import { figuresOf } from "./_views.ts";

/**
 * Checks that {@linkcode writeSvgs} would overwrite nothing but such figures. Messages name the folder as `shown`.
 *
 * @throws {InputError} If another file is there.
 */
export function assertSvgFolder(folder: string, report: Report, shown: string): void {
  for (const { id } of figuresOf(report)) {
    assertBegins(pathIn(folder, `${id}.svg`), "the figure to", {
      ...{ kind: "another such figure", start: START },
      shown: pathIn(shown, `${id}.svg`),
    });
  }
}

/**
 * Writes each figure of a report to `ID.svg` in a folder, which is created. Returns how many there are.
 *
 * @throws {InputError} If a file cannot be written.
 */
export async function writeSvgs(folder: string, report: Report): Promise<number> {
  const figures = figuresOf(report);
  for (const figure of figures) {
    writeOutput(pathIn(folder, `${figure.id}.svg`), await drawSvg(figure), "the figure to");
  }
  return figures.length;
}

/** Letters in a line of the title and of the caption, at most. */
const MAX_LETTERS = 80;

/** How each of these files begins. */
const START = "<!-- A figure of a toolgate report. -->\n<svg ";

/** Draws a figure with its title and description, in the colours of the page's light theme. */
async function drawSvg(figure: Figure): Promise<string> {
  const { spec, wide = spec, title } = figure;
  const caption = captionText(figure);
  const svg = await draw({
    ...wide,
    background: "var(--paper)",
    title: {
      text: breakLines(printable(title), MAX_LETTERS),
      subtitle: caption === "" ? [] : breakLines(printable(caption, 2_000), MAX_LETTERS),
      ...{ anchor: "start", frame: "bounds", offset: 12, aria: false },
      ...{ color: "var(--ink)", fontSize: 14, fontWeight: 600 },
      ...{ subtitleColor: "var(--faint)", subtitleFontSize: 11, subtitlePadding: 6 },
    },
  });
  const texts = html`
    <title>${title}</title>
    <desc>${caption}</desc>
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
