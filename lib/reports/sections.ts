/**
 * The sections of a report's page: verdicts, tables, figures, and the room for trials.
 * @module
 */

import type { Breakdown } from "../breakdown.ts";
import { verdictName } from "../decision.ts";
import type { Tally } from "../metrics.ts";
import type { Report } from "../report.ts";
import { drawBreakdown, drawFailures, drawOverview, seriesMark } from "./figures.ts";
import { html, Markup } from "./markup.ts";
import { nameOf, type Table, tablesOf } from "./tables.ts";

/** What the gates decided. */
export function verdictSection({ gates }: Report): Markup {
  const cards = gates.flatMap(({ verdict, verdicts, text }) =>
    text !== undefined
      ? [
        html`<article class="verdict ${verdict}"><span class="badge">${verdict.toUpperCase()}</span>
<p>${text}</p></article>`,
      ]
      : verdicts.map((one) =>
        html`<article class="verdict ${one.kind}"><span class="badge">${one.kind.toUpperCase()}</span>
<strong>${verdictName(one)}</strong>
<p>${sentence(one.text)}</p>
<ul>${one.numbers.map((line) => html`<li>${line}</li>`)}</ul></article>`
      )
  );
  return html`<section id="verdict"><h2>Verdict</h2>${cards}</section>`;
}

/** The words behind `PASS: `, which stands in the badge. */
function sentence(text: string): string {
  const words = text.replace(/^[A-Z]+: /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Success, figures, failures and cells. */
export async function resultSections(report: Report): Promise<Markup> {
  const { subjects, breakdowns } = report;
  if (subjects.length === 0) {
    return html`
      <section id="success">
        <h2>Success</h2>
        <p>Nothing has been run yet.</p>
      </section>
    `;
  }
  const tables = tablesOf(report);
  const tablesOfSection = (wanted: Table["section"]) =>
    tables.filter(({ section }) => section === wanted).map(tableMarkup);
  const figures: Markup[] = [];
  // A legend of many models would take more room than the figure over it.
  const ofModels = breakdowns.filter(({ legend }) => legend === "model");
  const shared = subjects.length > FEW &&
    ofModels.every(({ series }) => series.length === subjects.length);
  for (const breakdown of breakdowns) {
    // One number is no figure.
    if (breakdown.values.length < 2 && breakdown.shape === "lines") continue;
    const { id, title, source } = breakdown;
    figures.push(html`<figure id="figure-${id}">
<figcaption>${title}<small>whiskers: 95% intervals; ${
      countsOf(breakdown)
    }; as in FuncBenchGen, ${source}</small></figcaption>
${new Markup(await drawBreakdown(breakdown))}
${shared && breakdown.legend === "model" ? "" : legendOf(breakdown)}
<details><summary>numbers</summary>${
      tables.filter((table) => table.id === id).map(tableMarkup)
    }</details>
</figure>`);
  }
  return html`<section id="success"><h2>Success</h2>
<figure id="figure-overview"><figcaption>Success of all trials<small>whiskers: 95% intervals${
    lackOfWhiskers(subjects.map(({ total }) => total))
  }</small></figcaption>
${new Markup(await drawOverview(subjects))}</figure>
${tablesOfSection("success")}</section>
<section id="figures"><h2>Figures</h2>
${figures.length === 0 ? html`<p>All trials are of one size: there is nothing to compare.</p>` : ""}
${
    shared
      ? html`<div class="shared">${legendMarkup("model", subjects.map(nameOf), "lines")}</div>`
      : ""
  }
<div class="figures">${figures}</div></section>
<section id="failures"><h2>Failures</h2>
${await failureFigure(subjects)}
${tablesOfSection("failures")}</section>
<section id="cells"><h2>Cells</h2>
${
    tables.filter(({ section }) => section === "cells").map((table) =>
      html`<details><summary>${table.title}</summary>${tableMarkup(table)}</details>`
    )
  }</section>`;
}

/** So many models have a legend under each figure; with more there is one for all figures. */
const FEW = 3;

function legendOf({ legend, series, shape }: Breakdown): Markup {
  return legendMarkup(legend, series.map(({ name }) => name), shape);
}

async function failureFigure(subjects: Report["subjects"]): Promise<Markup | string> {
  const wrong = subjects.some(({ failures }) =>
    failures.some(({ roots, cascades }) => roots + cascades > 0)
  );
  if (!wrong) return "";
  return html`<figure id="figure-failures">
<figcaption>Wrong calls by type<small>solid: roots; pale: cascades, which have none but values that an
earlier wrong call returned; as in FuncBenchGen, Table 3</small></figcaption>
${new Markup(await drawFailures(subjects))}
${legendMarkup("model", subjects.map(nameOf), "bars")}</figure>`;
}

/** Names are told in full, however long: a figure has no room for that. */
function legendMarkup(title: string, names: readonly string[], shape: "lines" | "bars"): Markup {
  const items = names.map((name, place) => {
    const { colour, outline, shape: point, dash } = seriesMark(place);
    const mark = shape === "bars"
      ? html`
        <path d="M2,2H24V12H2Z" fill="${colour}" stroke="${outline}" stroke-width="2" />
      `
      : html`
        <path d="M0,7H26" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}" />
        <path transform="translate(13,7) scale(5)" d="${point}" fill="${colour}" stroke="${colour}"
          stroke-width="0.2" />
      `;
    return html`<li><svg width="26" height="14" aria-hidden="true">${mark}</svg> ${name}</li>`;
  });
  return html`<ul class="legend"><li>${title}:</li>${items}</ul>`;
}

/** How many valid trials the points of a figure stand for. */
function countsOf({ series }: Report["breakdowns"][number]): string {
  const counts = series.flatMap(({ tallies }) => tallies.flatMap((tally) => tally?.valid ?? []));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return `n = ${least === most ? least : `${least} to ${most}`} valid trials a point` +
    lackOfWhiskers(series.flatMap(({ tallies }) => tallies));
}

/** What a caption says of points without a whisker. */
function lackOfWhiskers(tallies: readonly (Tally | null)[]): string {
  const lacking = tallies.some((tally) =>
    tally !== null && tally.rate !== null && tally.interval === null
  );
  return lacking ? "; points of a single graph have none" : "";
}

function tableMarkup({ title, source, note, rows }: Table): Markup {
  const [head, ...body] = rows;
  const small = [
    ...(source === undefined ? [] : [`as in FuncBenchGen, ${source}`]),
    ...(note ? [note] : []),
  ];
  return html`
    <div class="wide">
      <table>
        <caption>${title}${small.length === 0
          ? ""
          : html`<small>${small.join("; ")}</small>`}</caption>
        <thead>
          <tr>${head!.map((cell) => html`<th scope="col">${cell}</th>`)}</tr>
        </thead>
        <tbody>${body.map((row) =>
          html`<tr>${
            row.map((cell, place) =>
              place === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cellMarkup(cell)}</td>`
            )
          }</tr>`
        )}</tbody>
      </table>
    </div>
  `;
}

/** What bounds a share stands under it: tables of many columns must fit a page. */
function cellMarkup(cell: string): Markup | string {
  const [, share, bounds] = /^(\S+%) (\(.*\), n \d+)$/.exec(cell) ?? [];
  return share === undefined ? cell : html`${share} <small>${bounds!}</small>`;
}

/** The room in which the page's script shows trials. */
export function trialSection(): Markup {
  const choice = (id: string, name: string) =>
    html`<label for="${id}">${name}<select id="${id}"></select></label>`;
  return html`
    <section id="trials">
      <h2>Trials</h2>
      <noscript>The trials need the script of this page, which is switched off.</noscript>
      <form autocomplete="off">
    ${[
      choice("subject", "model"),
      choice("outcome", "outcome"),
      choice("type", "wrong calls"),
      html`<label for="roots">of these only<span><input type="checkbox" id="roots"> roots</span></label>`,
      choice("cell", "cell"),
    ]}
      </form>
      <article id="trial" hidden></article>
      <div class="bar"><span id="count" role="status">Unpacking ...</span>
    <button type="button" id="previous">previous</button><button type="button" id="next">next</button></div>
      <div class="wide">
        <table>
          <thead>
            <tr>${["trial", "outcome", "model", "cell", "graph", "calls", "wrong calls"]
              .map((name) => html`<th scope="col">${name}</th>`)}</tr>
          </thead>
          <tbody id="list"></tbody>
        </table>
      </div>
    </section>
  `;
}

/** What the words of the page mean, for readers who have nothing but the page. */
const WORDS: readonly (readonly [word: string, meaning: string])[] = [
  [
    "task",
    "generated functions and a question: some of the functions must be called, each with what others " +
    "returned, to find the value that is asked for. With a fresh seed no model can have seen them.",
  ],
  ["core", "the functions that must be called, and how many there are"],
  [
    "depth",
    "the longest chain among them, in edges: each link needs what the one before it returned",
  ],
  [
    "connected, disconnected",
    "functions that are on offer and not needed: fed by a core function, or with no relation to them",
  ],
  ["graph", "which functions feed which; each graph of a cell is drawn anew from the seed"],
  ["cell", "one setting of all these sizes"],
  ["calls if solved, if not", "mean calls of trials that were solved, and of the others"],
  ["fewest calls", "the mean of the fewest calls that solve the tasks"],
  [
    "function not found, wrong number of inputs, value not yet known, incorrect value",
    "what was wrong with a call: its name, its arguments' form, a value that no earlier step had " +
    "returned, or another value than the one expected; the first that applies",
  ],
  [
    "root, cascade",
    "a cascade is a wrong call whose every wrong value an earlier wrong call had returned; any other " +
    "is a root, the mistake to look at",
  ],
  [
    "invalid",
    "a trial that network or server spoiled: neither a success nor a failure of the model",
  ],
  [
    "aversion, ignored_result, silent, forced_loop, ungrounded",
    "habits: answered without a call that was needed; answered against what was returned; called " +
    "without a word; went on calling; was right without having got the value",
  ],
  [
    "95% interval",
    "two-sided, for reading: Wilson's, or from the spread between graphs where these were repeated. A " +
    "verdict has bounds of its own, one-sided, each with the gate's confidence",
  ],
  [
    "FuncBenchGen",
    "Maekawa et al., Towards Reliable Benchmarking: A Contamination Free, Controllable Evaluation " +
    "Framework for Multi-step LLM Function Calling, whose experiments tables and figures repeat",
  ],
];

/** What the words mean. */
export function wordSection(): Markup {
  return html`
    <section id="words">
      <h2>Words</h2>
      <dl class="words">${WORDS.map(([word, meaning]) =>
        html`
          <div>
            <dt>${word}</dt>
            <dd>${meaning}</dd>
          </div>
        `
      )}</dl>
    </section>
  `;
}
