/**
 * The parts of a report's page in one column: verdicts, sections of views, the list of trials, and the glossary.
 * @module
 */

import { type GateReport, verdictName } from "../../gate/gate_report.ts";
import type { Report } from "../report.ts";
import { html, type Markup } from "./_markup.ts";
import { failuresText } from "../tables/_failures.ts";
import { measuredText } from "../tables/_headline.ts";
import { shortNames } from "../tables/_short_names.ts";
import { SECTIONS } from "../_view.ts";
import { viewsOf } from "../_views.ts";
import { trialSection } from "./_trial_list.ts";
import { textsOf, wordsIn } from "../_glossary.ts";
import { markOf, placesOf, viewsMarkup } from "./_view_markup.ts";

/** A part of the page, and the id by which links refer to it. */
export interface Section {
  readonly id: string;
  readonly markup: Markup;
}

/** What stands above the list of trials; other sections are folded below it. */
const FIRST: readonly string[] = [
  "headline",
  "comparisons",
  "matrix",
] satisfies (typeof SECTIONS[number])[];

/** Returns the parts of a page; `report` has the short names of models. */
export async function sectionsOf(report: Report): Promise<Section[]> {
  const { gates, subjects, callSets } = report;
  const views = [...Map.groupBy(viewsOf(report), ({ id }) => id).values()];
  const places = placesOf(report);
  const about = callSets.length > 0
    ? "call sets"
    : subjects.some(({ subject }) => subject.perturbation !== "none")
    ? "perturbations"
    : undefined;
  const sections = await Promise.all(SECTIONS.map(async (name): Promise<Section[]> => {
    const own = views.filter(([first]) => first!.section === name);
    const sentence = name === "failures" ? failuresText(report) : undefined;
    if (own.length === 0) return [];
    const parts = [
      ...(sentence === undefined ? [] : [html`<p>${sentence}</p>`]),
      ...await viewsMarkup(own, places),
    ];
    const id = name.replace(" ", "-");
    return [{ id, markup: sectionMarkup(id, name, parts, { isOpen: name === about }) }];
  }));
  const all = sections.flat();
  const isFirst = ({ id }: Section) => FIRST.includes(id);
  return [
    ...(gates.length === 0 ? [] : [{ id: "verdict", markup: verdictSection(gates) }]),
    ...all.filter(({ id }) => id === "headline"),
    { id: "", markup: notesMarkup(report.notes) },
    ...(subjects.length > 0 ? [] : [{ id: "", markup: html`<p>Nothing has been run yet.</p>` }]),
    ...all.filter((one) => isFirst(one) && one.id !== "headline"),
    { id: "trials", markup: trialSection(report) },
    ...all.filter((one) => !isFirst(one)),
    ...wordSections(wordsIn(textsOf(views.flat()))),
  ];
}

function sectionMarkup(
  id: string,
  name: string,
  parts: readonly Markup[],
  { isOpen }: { readonly isOpen: boolean },
): Markup {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  if (FIRST.includes(id)) {
    // The headline needs none: its table has a title.
    const heading = id === "headline" ? "" : html`<h2>${title}</h2>\n`;
    return html`<section class="section" id="${id}">${heading}${parts}</section>`;
  }
  const open = isOpen ? " open" : "";
  return html`
    <details class="section" id="${id}" ${open}><summary><h2>${title}</h2></summary>
    ${parts}</details>
  `;
}

/** More notes are folded. */
const MAX_NOTES = 2;

function notesMarkup(notes: readonly string[]): Markup {
  const list = html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>`;
  if (notes.length === 0) return html``;
  if (notes.length <= MAX_NOTES) return list;
  return html`<details class="more-notes"><summary>${notes.length} notes</summary>${list}</details>`;
}

/** Models with longer names have short ones on the page, in columns of a terminal. */
const MAX_NAME = 30;

/** Returns the short names of a report's models. */
export function pageNames({ subjects }: Report) {
  return shortNames(subjects.map(({ subject }) => subject.model), MAX_NAME * 5);
}

/** Returns what the short names stand for, with the marks of the variants that have them; nothing without any. */
export function keyMarkup(
  { subjects }: Report,
  forms: ReadonlyMap<string, string>,
): Markup[] {
  if (forms.size === 0) return [];
  const items = [...forms].map(([name, form]) => {
    const marks = subjects.flatMap(({ subject }, place) =>
      subject.model === name ? [markOf(place)] : []
    );
    return html`<li>${marks}<span><b>${form}</b> ${name}</span></li>`;
  });
  return [html`<ul class="key">${items}</ul>`];
}

/** More verdicts than this begin with those that did not pass, and the others are folded. */
const MAX_VERDICTS = 4;

/** Returns the verdicts of all gates. */
function verdictSection(gates: readonly GateReport[]): Markup {
  // The badge of a card has the kind already.
  const wordsOf = (text: string) => text.replace(/^[A-Z]+: /, "");
  const cards = gates.flatMap(({ verdict, verdicts, text }) =>
    text !== undefined
      ? [{ kind: verdict, markup: cardMarkup(verdict, html``, wordsOf(text), []) }]
      : verdicts.map((one) => ({
        kind: one.kind,
        markup: cardMarkup(
          one.kind,
          html`<strong>${verdictName(one)}</strong> <span class="measured">${
            measuredText(one)
          }</span>`,
          wordsOf(one.text),
          one.numbers,
        ),
      }))
  );
  const passed = cards.filter(({ kind }) => kind === "pass");
  const folds = cards.length > MAX_VERDICTS && passed.length > 0;
  const shown = (folds ? cards.filter(({ kind }) => kind !== "pass") : cards)
    .map(({ markup }) => markup);
  const rest = folds
    ? html`<details><summary>${passed.length} passed</summary>${
      passed.map(({ markup }) => markup)
    }</details>`
    : "";
  return html`<section class="section" id="verdict"><h2>Verdict</h2>${shown}${rest}</section>`;
}

/** Returns a verdict: what it is on, its first sentence, and the rest and the numbers folded. */
function cardMarkup(kind: string, about: Markup, text: string, numbers: readonly string[]): Markup {
  const words = text.charAt(0).toUpperCase() + text.slice(1);
  const [first = "", ...rest] = words.split(/(?<=\.) (?=[A-Z])/);
  const lines = [...rest, ...numbers].map((line) => html`<li>${line}</li>`);
  return html`<article class="verdict ${kind}"><span class="badge">${kind.toUpperCase()}</span>
${about}
<p>${first}</p>${
    lines.length === 0 ? "" : html`
      <details>
        <summary>numbers</summary>
        <ul>${lines}</ul>
      </details>
    `
  }</article>`;
}

/** Returns the glossary of what the page shows; nothing without any word. */
function wordSections(words: ReturnType<typeof wordsIn>): Section[] {
  if (words.length === 0) return [];
  const list = html`<dl class="words">${
    words.map(([word, meaning]) =>
      html`
        <div>
          <dt>${word}</dt>
          <dd>${meaning}</dd>
        </div>
      `
    )
  }</dl>`;
  const markup = sectionMarkup("words", "words", [list], { isOpen: false });
  return [{ id: "words", markup }];
}
