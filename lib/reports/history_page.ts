/**
 * Reports of histories as HTML: one self-contained file that opens from a disk, without a network.
 *
 * Text from records is hostile: the page's markup escapes it, and its content security policy allows no script but
 * its own.
 * @module
 */

import { countText } from "../base/numbers.ts";
import { successFigure } from "./figures/_history.ts";
import {
  type HistoryPoint,
  type HistoryReport,
  type HistoryStream,
  historyTable,
} from "./history.ts";
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
import { withoutKind } from "../gate/gate_report.ts";
import { variantLabel } from "../gate/variant.ts";
import { shortNames } from "./_short_names.ts";
import type { Subject } from "./_subjects.ts";

const css = [resultsCss, pageCss].join("\n");
const script = oneScript([partsScript, takeScript, viewsScript, historyScript]);

/** Longer names of models have short ones. */
const MAX_NAME = 30;

/**
 * Returns the page of a history: remarks, a figure and a table for each stream, and what was left out. `pageOf` returns
 * the address of the page with the trials of a run, from where this page is; `undefined` without one.
 */
export async function historyPage(
  { suite, remarks, streams, leftOut }: HistoryReport,
  pageOf?: (run: HistoryPoint) => string | undefined,
): Promise<string> {
  const models = streams.map(({ subject }) => subject.model);
  const { forms, shorten } = shortNames(models, MAX_NAME * 5);
  const nameOf = ({ subject, simulated }: Subject) =>
    variantLabel({ ...subject, model: shorten(subject.model) }, simulated);
  const places = placesOf(streams);
  const sections = await Promise.all(streams.map(async (stream, index) => {
    const [id, name] = [`stream-${index + 1}`, nameOf(stream)];
    const views = [
      successFigure(stream, { index, name }),
      // The heading of the section has the name of the model.
      historyTable(stream, { id, title: "Runs" }, pageOf),
    ];
    return html`
      <section class="section" id="${id}">
        <h2>${markOf(index)}${name}</h2>
        ${await viewsMarkup(views.filter(({ length }) => length > 0), places)}
      </section>
    `;
  }));
  return pageStart({
    title: `${suite}: toolgate history`,
    ...{ css, script },
    header: html`
      <h1>${suite}</h1>
      <p class="faint">${spanText(streams)}</p>
      ${keyMarkup({ subjects: streams }, forms)}
    `,
    main: [
      ...streams.flatMap((stream) => canaryMarkup(stream, nameOf(stream))),
      ...remarks.map((remark) => html`<p class="panel">${remark}</p>`),
      ...sections,
      ...leftOut.map((line) => html`<p class="faint">${line}</p>`),
    ],
    footer: html`Made by toolgate.`,
  }) + PAGE_END;
}

/** Returns what the canary says of a stream. */
function canaryMarkup({ canary }: HistoryStream, name: string): Markup[] {
  if (canary === undefined) return [];
  const about = html`<strong>${name}</strong>`;
  return [cardMarkup(canary.kind, about, withoutKind(canary), canary.numbers)];
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
