/**
 * The list of trials on a report's page, the trial that is open beside it or below its row, and what keys do there.
 * The page's script fills them.
 * @module
 */

import type { Report } from "../report.ts";
import { html, type Markup } from "./_markup.ts";
import { markOf } from "./_view_markup.ts";

/** What keys do; the page's script does it. */
const KEYS = [
  ["j", "next trial; also the arrow down"],
  ["k", "previous trial; also the arrow up"],
  ["Enter", "open the trial; also o"],
  ["Esc", "close the trial"],
  ["f", "failed trials only, or all"],
  ["/", "search"],
  ["?", "these keys"],
] as const;

/** Returns the section in which the page's script shows trials. */
export function trialSection(
  report: Pick<Report, "unit" | "words"> & { readonly subjects: readonly unknown[] },
): Markup {
  const { words: { cell } } = report;
  const ofTests = cell === "test";
  const choice = (id: string, name: string) =>
    html`<label>${name}<select id="${id}"></select></label>`;
  // The columns, and their headings.
  const heads = [
    ["trial", "trial"],
    ["outcome", ofTests ? "result" : "outcome"],
    ["model", "model"],
    ["cell", cell],
    ["task", ofTests ? "of the test" : report.unit],
    ["calls", "calls"],
    ["time", "time"],
    ["wrong", "what was wrong"],
  ] as const;
  return html`
    <section class="section" id="trials">
      <h2>Trials</h2>
      <noscript>Trials need JavaScript, which is disabled.</noscript>
      <form id="filters" autocomplete="off">
        <label>search<input type="search" id="q" maxlength="200" placeholder="names, reasons, wrong calls"></label>
        ${[
          choice("subject", "model"),
          choice("cell", cell),
          choice("type", "wrong calls"),
          choice("behaviour", "behaviour"),
        ]}
      </form>
      <div class="bar chips" id="outcomes" role="group" aria-label="outcome"></div>
      <div id="choice">
        <article id="pair" class="panel view" hidden></article>
        <div class="view" id="table-trials">
          <div class="bar"><span id="count" role="status">Unpacking ...</span>
            <button type="button" name="page" id="previous">previous</button>
            <button type="button" name="page" id="next">next</button>
            <button type="button" class="take" data-take="csv">CSV</button></div>
          <table>
            <thead id="heads">
              <tr>${heads.map(([name, head]) =>
                html`<th scope="col" class="${name}" data-name="${name}">${head}</th>`
              )}</tr>
            </thead>
            <tbody id="list"></tbody>
          </table>
          <button type="button" class="faint" id="hint"
            aria-haspopup="dialog">keys: <kbd>?</kbd></button>
          <template id="marks">${report.subjects.map((_, place) => markOf(place))}</template>
        </div>
      </div>
      <article id="trial" class="panel" aria-labelledby="title" hidden>
        <div class="bar" id="bar"></div>
        <div id="opened"></div>
      </article>
      <dialog id="keys" class="panel" aria-labelledby="keys-title">
        <h3 id="keys-title">Keys</h3>
        <dl>${KEYS.map(([key, does]) =>
          html`
            <div>
              <dt><kbd>${key}</kbd></dt>
              <dd>${does}</dd>
            </div>
          `
        )}</dl>
        <button type="button">close</button>
      </dialog>
    </section>
  `;
}
