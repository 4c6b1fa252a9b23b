/**
 * The parts of a report's page in one column: verdicts, sections of views, the list of trials, and the glossary.
 * @module
 */

import { withoutKind } from "../../gate/gate_report.ts";
import type { Report } from "../report.ts";
import type { Subject } from "../_subjects.ts";
import { html, type Markup } from "./_markup.ts";
import { headlineText, measuredText, verdictNameIn, verdictText } from "../_answers.ts";
import { shortNames } from "../_short_names.ts";
import { type Section, SECTIONS } from "../_view.ts";
import { viewsOf } from "../_views.ts";
import { trialSection } from "./_trial_list.ts";
import { wordsOf } from "../_glossary.ts";
import { markOf, placesOf, viewsMarkup } from "./_view_markup.ts";

/** A part of the page, and the id and the text of the link to it; without a text there is none. */
interface Part {
  readonly id: string;
  readonly title: string;
  readonly markup: Markup;
}

/** Returns the parts of a page; `report` has the short names of models. */
export async function sectionsOf(report: Report): Promise<Part[]> {
  const { subjects, unit, words } = report;
  const views = viewsOf(report);
  const places = placesOf(subjects);
  const verdicts = verdictSections(report);
  const about = unit === "question"
    ? "call sets"
    : subjects.some(({ subject }) => subject.perturbation !== "none")
    ? "perturbations"
    : undefined;
  // The headline has no heading but the title of its table, and no link where verdicts stand above it.
  const headline = verdicts.length > 0 ? "" : words.headline;
  const nothing = subjects.length > 0 ? "" : html`<p>Nothing has been run yet.</p>`;
  const items = report.notes.map((note) => html`<li>${note}</li>`);
  const notes = items.length === 0 ? "" : html`<ul class="notes">${items}</ul>`;
  const sectionsAt = async (place: Section["place"]) => {
    const rows = Object.entries(SECTIONS).filter(([, row]) => row.place === place);
    const sections = rows.map(async ([name, { title }]): Promise<Part[]> => {
      const own = views.filter(([first]) => first!.section === name);
      if (own.length === 0) return [];
      const sentence = name === "headline" ? headlineText(report) : undefined;
      const answer = sentence === undefined ? [] : [html`<p class="answer">${sentence}</p>`];
      const parts = [...answer, ...await viewsMarkup(own, places)];
      return [sectionOf(name, { place, title: title || headline }, parts, name === about)];
    });
    return (await Promise.all(sections)).flat();
  };
  return [
    ...verdicts,
    ...await sectionsAt("top"),
    { id: "", title: "", markup: html`${notes}${nothing}` },
    ...await sectionsAt("first"),
    { id: "trials", title: "Trials", markup: trialSection(report) },
    ...await sectionsAt("below"),
    ...wordSections(wordsOf(views.flat())),
  ];
}

/** Returns a section; what stands below the trials is folded unless it is to be open. */
function sectionOf(
  name: string,
  { title, place }: Pick<Section, "title" | "place">,
  parts: readonly Markup[],
  isOpen = false,
): Part {
  const id = name.replace(" ", "-");
  const heading = place === "top" ? "" : html`<h2>${title}</h2>\n`;
  const markup = place === "below"
    ? html`
      <details class="section" id="${id}" ${isOpen ? " open" : ""}><summary>${heading}</summary>
      ${parts}</details>
    `
    : html`<section class="section" id="${id}">${heading}${parts}</section>`;
  return { id, title, markup };
}

/** Models with longer names have short ones on the page, in columns of a terminal. */
const MAX_NAME = 30;

/** Returns the short names of a report's models. */
export function pageNames({ subjects }: { readonly subjects: readonly Subject[] }) {
  return shortNames(subjects.map(({ subject }) => subject.model), MAX_NAME * 5);
}

/** Returns what the short names stand for, with the marks of the variants that have them; nothing without any. */
export function keyMarkup(
  { subjects }: { readonly subjects: readonly Subject[] },
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

/** Of more verdicts than this those that passed are folded. */
const MAX_VERDICTS = 4;

/** Returns the verdicts of all gates, those that did not pass first; nothing without any. */
function verdictSections(report: Report): Part[] {
  const cards = report.gates.flatMap(({ verdict: kind, verdicts, text, gate }) =>
    text !== undefined
      ? [{ kind, markup: cardMarkup(kind, html``, withoutKind({ kind, text }), []) }]
      : verdicts.map((one) => ({
        kind: one.kind,
        markup: cardMarkup(
          one.kind,
          html`<strong>${verdictNameIn(report, one)}</strong> <span class="measured">${
            measuredText(one)
          }</span>`,
          verdictText(one, gate),
          [withoutKind(one), ...one.numbers],
        ),
      }))
  );
  if (cards.length === 0) return [];
  const markups = (some: typeof cards) => some.map(({ markup }) => markup);
  const passed = markups(cards.filter(({ kind }) => kind === "pass"));
  const isFolded = cards.length > MAX_VERDICTS && passed.length > 0;
  return [sectionOf("verdict", { title: "Verdict", place: "top" }, [
    ...markups(cards.filter(({ kind }) => kind !== "pass")),
    ...(isFolded
      ? [html`<details><summary>${passed.length} passed</summary>${passed}</details>`]
      : passed),
  ])];
}

/** Returns a verdict: its kind, what it is on and what it says, and how it was found folded. */
export function cardMarkup(
  kind: string,
  about: Markup,
  text: string,
  numbers: readonly string[],
): Markup {
  const more = numbers.length === 0 ? "" : html`
    <details>
      <summary>why</summary>
      <ul>${numbers.map((line) => html`<li>${line}</li>`)}</ul>
    </details>
  `;
  return html`<article class="verdict ${kind}"><span class="badge">${kind.toUpperCase()}</span>
${about}
<p>${text.charAt(0).toUpperCase()}${text.slice(1)}</p>${more}</article>`;
}

/** Returns the glossary of what the page shows; nothing without any word. */
function wordSections(words: ReturnType<typeof wordsOf>): Part[] {
  if (words.length === 0) return [];
  const items = words.map(([word, meaning]) =>
    html`
      <div>
        <dt>${word}</dt>
        <dd>${meaning}</dd>
      </div>
    `
  );
  const list = html`<dl class="words">${items}</dl>`;
  return [sectionOf("words", { title: "Words", place: "below" }, [list])];
}
