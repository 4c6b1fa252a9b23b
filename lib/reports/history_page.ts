/**
 * Reports of histories as HTML: one self-contained file that opens from a disk, without a network.
 *
 * Text from records is hostile: the page's markup escapes it, and its content security policy allows no script but
 * its own.
 * @module
 */

import { countText } from "../base/numbers.ts";
import { successFigure } from "./figures/_history.ts";
import type { HistoryReport, HistoryStream } from "./history.ts";
import { html, type Markup } from "./page/_markup.ts";
import { cardMarkup, keyMarkup } from "./page/_sections.ts";
import { oneScript, PAGE_END, pageStart } from "./page/_shell.ts";
import { markOf, placesOf, viewsMarkup } from "./page/_view_markup.ts";
import historyScript from "./page/history.js" with { type: "text" };
import pageCss from "./page/page.css" with { type: "text" };
import partsScript from "./page/parts.js" with { type: "text" };
import resultsCss from "./page/results.css" with { type: "text" };
import takeScript from "./page/take.js" with { type: "text" };
import viewsScript from "./page/views.js" with { type: "text" };
import { shortNames } from "./tables/_short_names.ts";
import { historyTable } from "./tables/_history.ts";
import { nameOf } from "./tables/table.ts";

const css = [resultsCss, pageCss].join("\n");
const script = oneScript([partsScript, takeScript, viewsScript, historyScript]);

/** Longer names of models have short ones. */
const MAX_NAME = 30;

/** Returns the page of a history: remarks, a figure and a table for each stream, and what was left out. */
export async function historyPage(report: HistoryReport): Promise<string> {
  const { suite, remarks, streams: given, leftOut } = report;
  const { forms, shorten } = shortNames(given.map(({ subject }) => subject.model), MAX_NAME * 5);
  const streams = given.map((stream) => ({ ...stream, subject: shorten(stream.subject) }));
  const sections = await Promise.all(
    streams.map((stream, index) => streamSection(stream, index, streams)),
  );
  return pageStart({
    title: `${suite}: toolgate history`,
    ...{ css, script },
    header: html`
      <h1>${suite}</h1>
      <p class="faint">${spanText(streams)}</p>
      ${keyMarkup({ subjects: given }, forms)}
    `,
    main: [
      ...streams.flatMap(canaryMarkup),
      ...remarks.map((remark) => html`<p class="panel">${remark}</p>`),
      ...sections,
      ...leftOut.map((line) => html`<p class="faint">${line}</p>`),
    ],
    footer: html`Made by toolgate.`,
  }) + PAGE_END;
}

/** Returns the section of a stream: its figure, then its table. */
async function streamSection(
  stream: HistoryStream,
  index: number,
  streams: readonly HistoryStream[],
): Promise<Markup> {
  const id = `stream-${index + 1}`;
  const groups = [successFigure(stream, index), historyTable(stream, id)];
  const views = await viewsMarkup(
    groups.filter(({ length }) => length > 0),
    placesOf({ subjects: streams }),
  );
  return html`
    <section class="section" id="${id}">
      <h2>${markOf(index)}${nameOf(stream)}</h2>
      ${views}
    </section>
  `;
}

/** Returns what the canary says of a stream. */
function canaryMarkup(stream: HistoryStream): Markup[] {
  const { canary } = stream;
  if (canary === undefined) return [];
  const { kind, text, numbers } = canary;
  return [cardMarkup(kind, html`<strong>${nameOf(stream)}</strong>`, text, numbers)];
}

/** Says of how many runs a page is, and of which days. */
function spanText(streams: readonly HistoryStream[]): string {
  const runs = new Map(
    streams.flatMap(({ points }) => points).map((point) => [point.path, point.startedAt]),
  );
  const days = [...runs.values()].sort().map((time) => time.slice(0, 10));
  const span = days[0] === days.at(-1) ? `${days[0]}` : `${days[0]} to ${days.at(-1)}`;
  const simulated = streams.some((stream) => stream.simulated) ? ", with simulated models" : "";
  return `${countText(runs.size, "run")}, ${span} (UTC)${simulated}`;
}
