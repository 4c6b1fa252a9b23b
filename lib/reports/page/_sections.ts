/**
 * Sections of a report's page: verdicts, tables, figures, the list of trials, and the glossary.
 * @module
 */

import { verdictName } from "../../gate/gate_report.ts";
import type { Report } from "../report.ts";
import {
  breakdownFigures,
  dimensionFigure,
  distractorFigures,
  failureFigure,
  overviewFigure,
  perturbationFigures,
  sharedLegend,
  strategyFigure,
} from "./_figure_markup.ts";
import { html, type Markup } from "./_markup.ts";
import { sourceText } from "../tables/table.ts";
import type { Table } from "../_view.ts";
import { tablesOf } from "../tables/_tables.ts";
import { WORDS } from "../_glossary.ts";

/** A section, and the id by which links refer to it. */
export interface Section {
  readonly id: string;
  readonly markup: Markup;
}

/** Returns the sections of a report, without empty ones. */
export async function sectionsOf(report: Report): Promise<Section[]> {
  return [
    ...(report.gates.length === 0 ? [] : [{ id: "verdict", markup: verdictSection(report) }]),
    ...await resultSections(report),
    { id: "trials", markup: trialSection(report) },
    { id: "words", markup: wordSection() },
  ];
}

/** Returns the verdicts of all gates. */
function verdictSection({ gates }: Report): Markup {
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

/** Returns the text after `PASS: `, which the badge shows. */
function sentence(text: string): string {
  const words = text.replace(/^[A-Z]+: /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the sections of success, call sets, tool use, figures, perturbations, failures and cells. */
async function resultSections(report: Report): Promise<Section[]> {
  const { subjects } = report;
  if (subjects.length === 0) {
    return [sectionOf("success", "Success", [html`<p>Nothing has been run yet.</p>`])];
  }
  const tables = tablesOf(report);
  const tablesIn = (wanted: Table["section"]) => tables.filter(({ section }) => section === wanted);
  const perturbationTables = tablesIn("perturbations");
  const callSetTables = tablesIn("call sets");
  const toolUseTables = tablesIn("tool use");
  const numbersOf = (id: string) => tables.filter((table) => table.id === id).map(tableMarkup);
  const figures = [
    ...await breakdownFigures(report, numbersOf),
    ...await distractorFigures(report, numbersOf("distractors")),
  ];
  return [
    sectionOf("headline", "Headline", tablesIn("headline").map(tableMarkup)),
    sectionOf("matrix", "Matrix", tablesIn("matrix").map(tableMarkup)),
    sectionOf("success", "Success", [
      await overviewFigure(report),
      ...await strategyFigure(report),
      ...tablesIn("success").map(tableMarkup),
    ]),
    ...(callSetTables.length === 0
      ? []
      : [sectionOf("call-sets", "Call sets", callSetTables.map(tableMarkup))]),
    ...(toolUseTables.length === 0 ? [] : [
      sectionOf("tool-use", "Tool use", [
        ...await dimensionFigure(report),
        ...toolUseTables.map(tableMarkup),
      ]),
    ]),
    // Without figures, the tables above have all breakdowns.
    ...(figures.length === 0 ? [] : [
      sectionOf("figures", "Figures", [
        ...sharedLegend(report),
        html`<div class="figures">${figures}</div>`,
      ]),
    ]),
    ...(perturbationTables.length === 0 ? [] : [
      sectionOf("perturbations", "Perturbations", [
        ...await perturbationFigures(report),
        ...perturbationTables.map(tableMarkup),
      ]),
    ]),
    sectionOf("failures", "Failures", [
      await failureFigure(report),
      ...tablesIn("failures").map(tableMarkup),
    ]),
    ...(tablesIn("cells").length === 0 ? [] : [sectionOf(
      "cells",
      "Cells",
      tablesIn("cells").map((table) =>
        html`<details><summary>${table.title}</summary>${tableMarkup(table)}</details>`
      ),
    )]),
  ];
}

function sectionOf(id: string, title: string, parts: readonly Markup[]): Section {
  return { id, markup: html`<section id="${id}"><h2>${title}</h2>\n${parts}</section>` };
}

/** A table with more columns than this is laid out more tightly. */
const MANY_COLUMNS = 9;

function tableMarkup({ title, source, paper, note, names = 1, rows }: Table): Markup {
  const [head, ...body] = rows;
  const notes = [
    ...(source === undefined ? [] : [sourceText(source, paper)]),
    ...(note ? [note] : []),
  ];
  const nameClass = (index: number) =>
    0 < index && index < names
      ? html`
        class="name"
      `
      : "";
  const about = notes.length === 0 ? "" : html`<small>${notes.join("; ")}</small>`;
  return html`
    <div class="wide">
      <table class="${head!.length > MANY_COLUMNS ? "many" : "few"}">
        <caption>
          <div>${title}${about}</div>
        </caption>
        <thead>
          <tr>${head!.map((cell, index) =>
            html`
              <th scope="col" ${nameClass(index)}>${cell}</th>
            `
          )}</tr>
        </thead>
        <tbody>${body.map((row) =>
          html`<tr>${
            row.map((cell, index) =>
              index === 0
                ? html`<th scope="row">${cell}</th>`
                : html`<td${nameClass(index)}>${cellMarkup(cell)}</td>`
            )
          }</tr>`
        )}</tbody>
      </table>
    </div>
  `;
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

/** Returns the section in which the page's script shows trials. */
function trialSection({ unit }: Report): Markup {
  const choice = (id: string, name: string) =>
    html`<label for="${id}">${name}<select id="${id}"></select></label>`;
  return html`
    <section id="trials">
      <h2>Trials</h2>
      <noscript>Trials need JavaScript, which is disabled.</noscript>
      <form autocomplete="off">
    ${[
      choice("subject", "model"),
      choice("outcome", "outcome"),
      choice("type", "wrong calls"),
      html`<label for="roots">of these only<span><input type="checkbox" id="roots"> roots</span></label>`,
      choice("behaviour", "behaviour"),
      choice("cell", "cell"),
    ]}
      </form>
      <article id="trial" hidden></article>
      <div class="bar"><span id="count" role="status">Unpacking ...</span>
    <button type="button" id="previous">previous</button><button type="button" id="next">next</button></div>
      <div class="wide">
        <table>
          <thead>
            <tr>${[
              "trial",
              "outcome",
              "model",
              "cell",
              unit === "trial" ? "of the case" : unit,
              "calls",
              "what was wrong",
            ]
              .map((name) => html`<th scope="col">${name}</th>`)}</tr>
          </thead>
          <tbody id="list"></tbody>
        </table>
      </div>
    </section>
  `;
}

/** Returns the glossary. */
function wordSection(): Markup {
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
