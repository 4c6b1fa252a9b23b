/**
 * The list of trials on a report's page, which the page's script fills, and what is open above it.
 * @module
 */

import type { Report } from "../report.ts";
import { reportWords } from "../_words.ts";
import { html, type Markup } from "./_markup.ts";
import { markOf } from "./_view_markup.ts";

/** Returns the section in which the page's script shows trials. */
export function trialSection(report: Report): Markup {
  const { cell } = reportWords(report);
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
      <article id="trial" class="panel" hidden>
        <div class="bar" id="bar"></div>
        <div id="opened"></div>
      </article>
      <article id="pair" class="panel view" hidden></article>
      <form id="filters" autocomplete="off">
        <label>search<input type="search" id="q" maxlength="200" placeholder="names, reasons, wrong calls"></label>
        ${[
          choice("subject", "model"),
          choice("cell", cell),
          choice("type", "wrong calls"),
          html`<label>of these only<span><input type="checkbox" id="roots"> roots</span></label>`,
          choice("behaviour", "behaviour"),
        ]}
      </form>
      <div class="bar chips" id="outcomes" role="group" aria-label="outcome"></div>
      <div class="view" id="table-trials">
        <div class="bar"><span id="count" role="status">Unpacking ...</span>
          <button type="button" name="page" id="previous">previous</button>
          <button type="button" name="page" id="next">next</button>
          <button type="button" class="take" data-take="csv">CSV</button></div>
        <table>
          <thead id="heads">
            <tr>${heads.map(([name, head]) =>
              html`<th scope="col" data-name="${name}">${
                name === "task"
                  ? head
                  : html`<button type="button" name="sort" value="${name}">${head}</button>`
              }</th>`
            )}</tr>
          </thead>
          <tbody id="list"></tbody>
        </table>
        <template id="marks">${report.subjects.map((_, place) => markOf(place))}</template>
      </div>
    </section>
  `;
}
