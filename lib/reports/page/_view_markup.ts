/**
 * Views of a report as markup: figures and tables, with the marks of series before their names.
 * @module
 */

import { draw, seriesMark } from "../figures/_plotting.ts";
import type { Subject } from "../metrics/_subjects.ts";
import { captionText, columnNames, isLeft, linksOf, nameOf, sourceText } from "../tables/table.ts";
import type { Figure, Table, View } from "../_view.ts";
import { isFigure } from "../_views.ts";
import { html, Markup } from "./_markup.ts";

/** The places of variants in the list of series, by their labels. */
export type Places = ReadonlyMap<string, number>;

/** Returns the places of a report's variants. */
export function placesOf({ subjects }: { readonly subjects: readonly Subject[] }): Places {
  return new Map(subjects.map((one, place) => [nameOf(one), place] as const).toReversed());
}

/** Sections whose tables stand open; in others those with the numbers of a figure are folded below it. */
const OPEN: readonly View["section"][] = ["headline", "comparisons", "success"];

/** Returns the views of a section, of which those with one id belong together. */
export async function viewsMarkup(
  groups: readonly (readonly View[])[],
  places: Places,
): Promise<Markup[]> {
  const parts = await Promise.all(groups.map(async (group) => {
    const isFolded = !OPEN.includes(group[0]!.section);
    const tables = group.flatMap((table) => {
      if (isFigure(table)) return [];
      const markup = tableMarkup(table, places);
      return table.folded
        ? html`<details><summary>${table.title}</summary>${markup}</details>`
        : markup;
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

/** A number, the interval of one, or a time. */
const NUMBER = /^(?:[-+~$]?[\d.,]+%?(?: (?:to|of) [-+]?[\d.,]+%?| m?s)?|below \S+)$/;

function tableMarkup(table: Table, places: Places): Markup {
  const { id, title, source, paper, note, names = 1, rows } = table;
  const [head, ...body] = rows;
  // Where strategies have a column, a name before it is that of several variants.
  const isMarked = !(names > 1 && head![1] === "strategy");
  const classOf = (index: number, cell = "") => {
    const isName = isLeft(head!, index, names);
    const classes = [
      ...(index === 0 ? [] : isName ? ["name"] : NUMBER.test(cell) ? ["number"] : []),
      ...(isName && cell.length > LONG_NAME ? ["long"] : []),
    ];
    return classes.length === 0 ? "" : html`
      class="${classes.join(" ")}"
    `;
  };
  // Where rows are blocks, names that rows share stand above the first of them.
  const groupOf = ([, own, other]: readonly string[] = []) => `${own} ${head![2]} ${other}`;
  const groupMark = (row: readonly string[], place: number) =>
    names < 3 || groupOf(row) === groupOf(body[place - 1]) ? "" : html`
      data-group="${groupOf(row)}"
    `;
  const marked = (cell: string, text: Markup | string): Markup | string => {
    const place = isMarked ? places.get(cell) : undefined;
    return place === undefined ? text : html`${markOf(place)}${text}`;
  };
  const cells = (row: readonly string[]) => {
    const links = linksOf(row);
    return row.map((cell, index) => {
      const text = index < names ? cell : cellMarkup(cell);
      const link = links[index];
      const shown = link === undefined ? text : html`<a href="#${link}">${text}</a>`;
      const content = index < names ? marked(cell, shown) : shown;
      return index === 0
        ? html`
          <th scope="row" ${classOf(index, cell)}>${content}</th>
        `
        : html`<td${classOf(index, cell)} data-name="${columnNames(
          head!,
        )[index]!}">${content}</td>`;
    });
  };
  return html`
    <div class="view" id="table-${id}">
        <table>
          <caption>
            <div>${title}${source === undefined
              ? ""
              : html`<small>${sourceText(source, paper)}</small>`}${aboutMarkup(note)}</div>
          </caption>
          <thead>
            <tr>${head!.map((cell, index) =>
              html`
                <th scope="col" ${classOf(index)}>${index < names ? cell : marked(cell, cell)}</th>
              `
            )}</tr>
          </thead>
          <tbody>${body.map((row, at) => html`<tr${groupMark(row, at)}>${cells(row)}</tr>`)}</tbody>
        </table>
      ${body.length > MANY_ROWS
        ? html`<button type="button" class="all">all ${body.length} rows</button>`
        : ""}
      <button type="button" class="take" data-take="csv">CSV</button>
    </div>
  `;
}

/** A note of more characters is folded behind its first part. */
const MAX_NOTE = 180;

/** Returns an explanation; a long one is folded behind its first part. */
function aboutMarkup(note: string | undefined): Markup | string {
  if (note === undefined) return "";
  const end = note.indexOf("; ");
  if (note.length <= MAX_NOTE || end < 0) return html`<small>${note}</small>`;
  return html`<details class="about"><summary>${note.slice(0, end)}; ...</summary>
<small>${note.slice(end + 2)}</small></details>`;
}

/** Shows the interval of a share below it, so that tables of many columns fit a page. */
function cellMarkup(cell: string): Markup | string {
  const [, share, bounds] = /^(\S+%|[01]\.\d+) (\(.*\)(?:, (?:n|of) \d+)?)$/.exec(cell) ?? [];
  if (share === undefined) return cell;
  // A difference and its interval have a line each.
  const [, difference, interval] = /^(\([^,()]+,) (.*)$/.exec(bounds!) ?? [];
  if (difference === undefined) return html`${share} <small>${bounds!}</small>`;
  return html`${share} <small>${difference}<br>${interval!}</small>`;
}
