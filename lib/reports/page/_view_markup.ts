/**
 * Views of a report as markup: figures and tables, with the marks of series before their names.
 * @module
 */

import { draw, seriesMark } from "../figures/_plotting.ts";
import { variantKey } from "../../gate/variant.ts";
import type { Subject } from "../_subjects.ts";
import { headTexts } from "../text_table.ts";
import {
  captionText,
  type Cell,
  type Drawing,
  type Figure,
  type Head,
  isFigure,
  noteOf,
  SECTIONS,
  sourceText,
  type Table,
  type View,
} from "../_view.ts";
import { html, Markup } from "./_markup.ts";

/** The places of variants in the list of series, by their keys. */
type Places = ReadonlyMap<string, number>;

/** Returns the places of a report's variants. */
export function placesOf(subjects: readonly Subject[]): Places {
  return new Map(subjects.map(({ subject }, place) => [variantKey(subject), place]));
}

/** Returns the views of a section, of which those with one id belong together. */
export async function viewsMarkup(
  groups: readonly (readonly View[])[],
  places: Places,
): Promise<Markup[]> {
  const parts = await Promise.all(groups.map(async (group) => {
    const titles = new Set(group.filter(isFigure).map(({ title }) => title));
    const isFolded = !SECTIONS[group[0]!.section].isOpen;
    const tables = group.flatMap((table) => {
      if (isFigure(table)) return [];
      const { title, folded } = table;
      // The figure beside it, or what it is folded behind, has the same title.
      const isTitled = folded || titles.has(title);
      const markup = tableMarkup(isTitled ? { ...table, title: "" } : table, places);
      return folded ? html`<details><summary>${title}</summary>${markup}</details>` : markup;
    });
    const figures = await Promise.all(
      group.filter(isFigure).map((figure) => figureMarkup(figure, isFolded ? tables : [])),
    );
    return isFolded && figures.length > 0 ? figures : [...figures, ...tables];
  }));
  return parts.flat();
}

async function figureMarkup(figure: Figure, numbers: readonly Markup[]): Promise<Markup> {
  const { id, title, spec, wide } = figure;
  const text = captionText(figure);
  // Where there are two, style sheets show the one for the width of the screen.
  const specs = wide === undefined ? [spec] : [wide, spec];
  const images = await Promise.all(specs.map(async (one) => new Markup(await draw(one))));
  return html`
    <figure class="view" id="figure-${id}">
      <figcaption>${title}${text === "" ? "" : html`<small>${text}</small>`}</figcaption>
      <div class="plot">${images}</div>
      <button type="button" class="take" data-take="svg">SVG</button>
      ${numbers.length === 0 ? "" : html`<details><summary>numbers</summary>${numbers}</details>`}
    </figure>
  `;
}

/** Returns the mark that stands before a variant's name: its colour and its shape. */
export function markOf(place: number): Markup {
  const { colour, shape } = seriesMark(place);
  // Without space, which would become part of the name.
  return new Markup(
    '<svg class="mark" width="12" height="12" viewBox="-1.2 -1.2 2.4 2.4" aria-hidden="true">' +
      `<path d="${shape}" fill="${colour}" /></svg>`,
  );
}

/** A table with more rows shows a few before a reader asks for all. */
const MANY_ROWS = 15;

/** Columns of names and texts with more characters than this have a least width. */
const LONG_NAME = 20;

/** Shades of a heat map, from none to that of what is wholly bad. */
const SHADES = 10;

/** The rules of a style sheet for them: each is a class. */
export const HEAT_CSS = Array.from(
  { length: SHADES },
  (_, shade) => `.heat-${shade + 1} { --heat-share: ${5 * (shade + 1)}%; }\n`,
).join("");

function shadeOf(value: number, heat: Table["heat"]): number {
  return Math.round(SHADES * Math.min(1, Math.max(0, heat === "good" ? 1 - value : value)));
}

/** Width and height of the drawing of a figure. */
const [WIDTH, HEIGHT] = [120, 14];

/** Draws a figure and its interval on the scale of its column, in the colour of its variant. */
function drawingMarkup(drawing: Drawing, place: number | undefined): Markup {
  const { from, to, value, lower = value, upper = value, target, least } = drawing;
  const x = (at: number) => Math.round(10 * WIDTH * (at - from) / (to - from)) / 10;
  const { colour, shape } = seriesMark(place ?? 0);
  const line = (at: number, stroke: string) =>
    `<path stroke="var(--${stroke})" d="M${x(at)},0V${HEIGHT}" />`;
  return new Markup([
    `<svg class="drawn" width="${WIDTH}" height="${HEIGHT}" viewBox="-4 0 ${
      WIDTH + 8
    } ${HEIGHT}" aria-hidden="true">`,
    ...(least !== undefined && target !== undefined
      ? [
        `<rect fill="var(--band)" x="${x(least)}" width="${
          x(target) - x(least)
        }" height="${HEIGHT}" />`,
      ]
      : []),
    ...[from, (from + to) / 2, to].map((at) => line(at, "grid")),
    ...(target === undefined ? [] : [line(target, "ink")]),
    `<path stroke="${colour}" stroke-width="2" d="M${x(lower)},${HEIGHT / 2}H${x(upper)}" />`,
    `<path transform="translate(${x(value)} ${
      HEIGHT / 2
    }) scale(4)" d="${shape}" fill="${colour}" /></svg>`,
  ].join(""));
}

function tableMarkup(table: Table, places: Places): Markup {
  const { id, title, note, heat, heads, rows } = table;
  const source = sourceText(table);
  const columns = headTexts(table);
  // A cell that stands alone needs the group of its column, which only the first of a group has above it.
  const full = heads.map(({ text, group }) => group === undefined ? text : `${group}: ${text}`);
  const classOf = (index: number, cell?: Cell) => {
    const { isText } = heads[index]!;
    const text = cell?.text ?? "";
    const classes = [
      ...(index === 0 ? [] : isText ? ["name"] : cell ? ["number"] : []),
      ...(isText && text.length > LONG_NAME ? ["long"] : []),
      ...(heat !== undefined && cell?.value !== undefined && !isText
        ? [`heat heat-${shadeOf(cell.value, heat)}`]
        : []),
    ];
    return classes.length === 0 ? "" : html`
      class="${classes.join(" ")}"
    `;
  };
  // Other drawings have a line at 0, which needs no words.
  const isAsked = rows.some((row) =>
    row.some(({ drawing: { target = 0, least } = {} }) => target !== 0 || least !== undefined)
  );
  const about = noteOf(note, isAsked && "line and band: what the gate asks for, and its tolerance");
  const titleOf = ({ about }: Head) =>
    about === undefined ? "" : html`
      title="${about}"
    `;
  const placeOf = ({ variant }: Head | Cell) => variant && places.get(variantKey(variant));
  const marked = (one: Head | Cell, shown: Markup | string): Markup | string => {
    const place = placeOf(one);
    return place === undefined ? shown : html`${markOf(place)}${shown}`;
  };
  const cellMarkup = (cell: Cell, index: number, row: readonly Cell[]) => {
    const { text, detail, link, drawing } = cell;
    const shown = drawing !== undefined
      ? html`<div class="ranged">${drawingMarkup(drawing, placeOf(row[0]!))}${text}</div>`
      : detail !== undefined
      ? html`${text} <small>${detail}</small>`
      : text;
    const linked = link === undefined ? shown : html`<a href="${link}">${shown}</a>`;
    const content = marked(cell, linked);
    return index === 0
      ? html`
        <th scope="row" ${classOf(index, cell)}>${content}</th>
      `
      : html`<td${classOf(index, cell)} data-name="${full[index]!}">${content}</td>`;
  };
  return html`
    <div class="view" id="table-${id}">
        <table>
          <caption>
            <div>${title}${[source, about].map((text) =>
              text === "" ? html`` : html`<small>${text}</small>`
            )}</div>
          </caption>
          <thead>
            <tr>${columns.map((text, index) =>
              html`
                <th scope="col" ${classOf(index)}${titleOf(heads[index]!)}>${marked(
                  heads[index]!,
                  text,
                )}</th>
              `
            )}</tr>
          </thead>
          <tbody>${rows.map((row) => html`<tr>${row.map(cellMarkup)}</tr>`)}</tbody>
        </table>
      ${rows.length > MANY_ROWS
        ? html`<button type="button" class="all">all ${rows.length} rows</button>`
        : ""}
      <button type="button" class="take" data-take="csv">CSV</button>
    </div>
  `;
}
