/**
 * Figures of a report's page, with their captions and legends.
 * @module
 */

import type { Breakdown } from "../metrics/_breakdown.ts";
import { type Variant, variantLabel } from "../../gate/variant.ts";
import { canonicalJson } from "../../base/json.ts";
import type { Tally } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { type DistractorEffect, settingText } from "../metrics/_distractors.ts";
import { comparisonFigures } from "../figures/_comparisons.ts";
import { drawDimensions } from "../figures/_dimensions.ts";
import { showsDimensions } from "../tables/_dimensions.ts";
import {
  drawBreakdown,
  drawComparisons,
  drawFailures,
  drawOverview,
  hasBroadFailures,
  isBroad,
} from "../figures/_figures.ts";
import { drawFailureRates, drawTransfer, hasBroadRates, highestRate } from "../figures/_heatmap.ts";
import { html, Markup } from "./_markup.ts";
import { wholePercent } from "../tables/_perturbations.ts";
import { draw, seriesMark } from "../figures/_plotting.ts";
import { nameOf, sourceText } from "../tables/table.ts";
import { hasFailures, noFailures } from "../tables/_failures.ts";
import { hasCalls } from "../tables/_success.ts";

/** Returns the figure of success of all trials. */
export async function overviewFigure({ subjects }: Report): Promise<Markup> {
  const missing = missingWhiskerNotes(subjects.map(({ total }) => total));
  return figureMarkup(
    { id: "overview", title: "Success of all trials", notes: [WHISKERS, ...missing] },
    [
      await drawParts(
        figureParts(subjects),
        (own, label) => drawOverview(own, { subjects, label }),
      ),
    ],
  );
}

/** Returns the figure of all pairs, where there are any to compare. */
export async function pairFigure(report: Report): Promise<Markup[]> {
  return await Promise.all(
    comparisonFigures(report).map(async ({ spec, note = "", ...caption }) => {
      const part = { title: "", rows: [spec], label: () => "" };
      const drawing = await drawParts([part], ([one]) => draw(one!));
      return figureMarkup({ ...caption, notes: [note] }, [drawing]);
    }),
  );
}

/**
 * Returns the figure of wrong calls by type; a sentence where there are none, or no call could be made. Shows
 * unperturbed trials only, where there are any: bars for every perturbation would be too many.
 */
export async function failureFigure({ subjects: all, unit }: Report): Promise<Markup> {
  const sentence = noFailures(unit);
  if (!hasCalls(all.map(({ total }) => total))) return html`<p>No call could be made.</p>`;
  if (!hasFailures(all)) return html`<p>${sentence[0]!.toUpperCase() + sentence.slice(1)}.</p>`;
  const plain = all.filter(({ subject }) => subject.perturbation === "none");
  const subjects = plain.length > 0 ? plain : all;
  if (!hasFailures(subjects)) return html`<p>Without perturbations ${sentence}.</p>`;
  const notes = [
    ...(subjects.length < all.length ? ["unperturbed trials only"] : []),
    "solid: roots",
    "pale: cascades, whose wrong values were all returned by earlier wrong calls",
    sourceText("Table 3"),
  ];
  const broad = hasBroadFailures(subjects);
  return figureMarkup({ id: "failures", title: "Wrong calls by type", notes, broad }, [
    plot(await drawFailures(subjects)),
    legendMarkup("model", subjects.map(nameOf), "bars"),
  ]);
}

/** Returns the figures of all breakdowns; `numbersOf` returns the table of one. */
export async function breakdownFigures(
  report: Report,
  numbersOf: (id: string) => readonly Markup[],
): Promise<Markup[]> {
  const shared = sharedLegend(report).length > 0;
  const figures: Markup[] = [];
  for (const breakdown of report.breakdowns.filter(isFigure)) {
    const { id, title, source, legend } = breakdown;
    const notes = [
      WHISKERS,
      ...countNotes(breakdown),
      ...(source === undefined ? [] : [sourceText(source)]),
    ];
    const parts = [
      plot(await drawBreakdown(breakdown)),
      ...(shared && legend === "model" ? [] : [legendOf(breakdown)]),
      html`<details><summary>numbers</summary>${numbersOf(id)}</details>`,
    ];
    figures.push(figureMarkup({ id, title, notes, broad: isBroad(breakdown) }, parts));
  }
  return figures;
}

/**
 * Returns the figures of the effects of irrelevant functions, one for each subject, where cells share core graphs:
 * by kind against the mildest, and by number. The table has the rest.
 */
export async function distractorFigures(
  { distractors = [], subjects }: Report,
  numbers: readonly Markup[],
): Promise<Markup[]> {
  const drawn = distractors.filter(({ irrelevant: { kind, number }, against }) =>
    kind === null || (number === null && against.kind === "no extra")
  );
  const rows = drawn.length > 0 ? drawn : distractors;
  if (rows.length === 0) return [];
  const parts = [...Map.groupBy(rows, nameOf)].map(([title, own]): Part<DistractorEffect> => ({
    title,
    rows: own,
    label: ({ irrelevant, against }) =>
      `${settingText(irrelevant)}, against ${settingText(against)}`,
  }));
  const notes = [
    "success with these irrelevant functions less that on the same core graphs with the others",
    `${WHISKERS}, each for a single comparison`,
    ...(rows.some(({ success }) => success?.interval === null) ? [NO_WHISKER] : []),
    sourceText("Fig. 4"),
  ];
  const drawing = await drawParts(
    parts,
    (own, label) => drawComparisons(own, { subjects, label, comparisons: rows }),
  );
  const title = "Effect of irrelevant functions";
  return [
    figureMarkup({ id: "distractors", title, notes, broad: parts.length > 1 }, [
      drawing,
      html`<details><summary>numbers</summary>${numbers}</details>`,
    ]),
  ];
}

/** Returns the figure of the five dimensions of tool use, where {@linkcode showsDimensions} is true. */
export async function dimensionFigure({ dimensions }: Report): Promise<Markup[]> {
  if (!showsDimensions(dimensions)) return [];
  const names = dimensions.map(nameOf);
  const overall = dimensions.some(({ article }) => article.missing.length > 0)
    ? "overall: the mean of those measured"
    : "overall: their mean";
  const lacksWhisker = dimensions.some(({ article }) =>
    [...article.dimensions, article.overall].some(({ mean, interval }) =>
      mean !== null && interval === null
    )
  );
  const notes = [
    WHISKERS,
    overall,
    ...(lacksWhisker ? [NO_WHISKER] : []),
    sourceText("Benchmarking Tool Use", "Pipeline"),
  ];
  const title = "Five dimensions of tool use";
  return [
    figureMarkup({ id: "dimensions", title, notes }, [
      plot(await drawDimensions(dimensions)),
      legendMarkup("model", names, "points"),
    ]),
  ];
}

/** Returns heatmaps of failure rates, and of failures that occur together, where they are known. */
export async function perturbationFigures({ brittleness }: Report): Promise<Markup[]> {
  const top = highestRate(brittleness);
  const figures: Markup[] = [];
  for (const [index, one] of brittleness.entries()) {
    const known = one.columns.filter((column) => column.known > 0);
    if (known.some(({ perturbation }) => perturbation !== "none")) {
      const id = `failure-rates-${index + 1}`;
      const title = `Failure rates under perturbations: ${nameOf(one)}`;
      const notes = [
        "share of trials with a call that has such a failure; a trial without calls has none",
        `no colour: none; full colour: ${wholePercent(top)} of trials`,
        sourceText("Table 1", "Butterfly"),
      ];
      const drawing = plot(await drawFailureRates({ columns: known }, top));
      figures.push(
        figureMarkup({ id, title, notes, broad: hasBroadRates({ columns: known }) }, [drawing]),
      );
    }
    if (one.transfer.some(({ of }) => of > 0)) {
      const id = `transfer-${index + 1}`;
      const title = `Failures that occur together: ${nameOf(one)}`;
      const notes = [
        "of the trials with a failure, those that have the other in the same call or a later one; on the " +
        "diagonal: again in a later call",
        "full colour: all of them; blank: no trial has the given failure",
        sourceText("Fig. 4", "Butterfly"),
      ];
      figures.push(
        figureMarkup({ id, title, notes, broad: true }, [plot(await drawTransfer(one))]),
      );
    }
  }
  return figures.length === 0 ? [] : [html`<div class="figures heatmaps">${figures}</div>`];
}

const WHISKERS = "whiskers: 95% intervals";
const NO_WHISKER = "points of a single task have none";

/** The caption of a figure, and its id and width. */
interface Caption {
  readonly id: string;
  readonly title: string;
  readonly notes: readonly string[];
  /** Whether it takes the space of two. */
  readonly broad?: boolean;
}

function figureMarkup(
  { id, title, notes, broad = false }: Caption,
  parts: readonly Markup[],
): Markup {
  return html`
    <figure id="figure-${id}" class="${broad ? "broad" : "one"}">
      <figcaption>${title}<small>${notes.join("; ")}</small></figcaption>
      ${parts}
    </figure>
  `;
}

/** Whether a breakdown is drawn: a single number needs no figure. */
function isFigure({ values, shape }: Breakdown): boolean {
  return values.length > 1 || shape !== "lines";
}

/** With more models than this, one legend is shared by all figures. */
const MAX_LEGENDS = 3;

/** Returns the legend that all figures of models share: with many models it is larger than a figure. */
export function sharedLegend({ subjects, breakdowns }: Report): Markup[] {
  const ofModels = breakdowns.filter(({ legend }) => legend === "model");
  const shared = subjects.length > MAX_LEGENDS && ofModels.some(isFigure) &&
    ofModels.every(({ series }) => series.length === subjects.length);
  if (!shared) return [];
  return [html`<div class="shared">${legendMarkup("model", subjects.map(nameOf), "lines")}</div>`];
}

function legendOf({ legend, series, shape }: Breakdown): Markup {
  return legendMarkup(legend, series.map(({ name }) => name), shape);
}

/** Returns a legend with whole names, for which a figure has no space. */
function legendMarkup(
  title: string,
  names: readonly string[],
  shape: "lines" | "points" | "bars",
): Markup {
  const items = names.map((name, index) => {
    const { colour, outline, shape: point, dash } = seriesMark(index);
    const mark = shape === "bars"
      ? html`
        <path d="M2,2H24V12H2Z" fill="${colour}" stroke="${outline}" stroke-width="2" />
      `
      : html`
        <path d="M0,7H26" stroke="${colour}" stroke-width="2" stroke-dasharray="${shape === "lines"
          ? dash
          : "none"}" />
        <path transform="translate(13,7) scale(5)" d="${point}" fill="${colour}" stroke="${colour}"
          stroke-width="0.2" />
      `;
    return html`<li><svg width="26" height="14" aria-hidden="true">${mark}</svg> ${name}</li>`;
  });
  return html`<ul class="legend"><li>${title}:</li>${items}</ul>`;
}

/** Returns notes on the number of valid trials a point, and on missing whiskers. */
function countNotes({ series }: Breakdown): string[] {
  const counts = series.flatMap(({ tallies }) => tallies.flatMap((tally) => tally?.valid ?? []));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return [
    `n = ${least === most ? least : `${least} to ${most}`} valid trials a point`,
    ...missingWhiskerNotes(series.flatMap(({ tallies }) => tallies)),
  ];
}

/** Returns a note where points have no whisker. */
function missingWhiskerNotes(tallies: readonly (Tally | null)[]): string[] {
  const lacksWhisker = tallies.some((tally) =>
    tally !== null && tally.rate !== null && tally.interval === null
  );
  return lacksWhisker ? [NO_WHISKER] : [];
}

/** A row in a figure. */
interface Row {
  readonly subject: Variant;
  readonly simulated: boolean;
}

/** Rows drawn together, and the label of each. */
interface Part<T> {
  readonly title: string;
  readonly rows: readonly T[];
  readonly label: (row: T) => string;
}

/** At most this many rows are in one part; further parts are side by side. */
const MAX_ROWS = 8;

/** Splits rows into parts: one a model where models have several rows, with the model's name as its title. */
function figureParts<T extends Row>(rows: readonly T[]): Part<T>[] {
  if (rows.length <= MAX_ROWS) return [{ title: "", rows, label: nameOf }];
  const models = Map.groupBy(
    rows,
    ({ subject, simulated }) => canonicalJson([subject.model, simulated]),
  );
  if (models.size < rows.length) {
    return [...models.values()].map((own) => {
      const { subject, simulated } = own[0]!;
      const modelOnly = { ...subject, strategy: "baseline", perturbation: "none" };
      return {
        title: variantLabel(modelOnly, simulated),
        rows: own,
        label: ({ subject: { strategy, perturbation } }) =>
          strategy + (perturbation === "none" ? "" : ` + ${perturbation}`),
      };
    });
  }
  return Array.from({ length: Math.ceil(rows.length / MAX_ROWS) }, (_, index) => ({
    title: "",
    rows: rows.slice(MAX_ROWS * index, MAX_ROWS * (index + 1)),
    label: nameOf,
  }));
}

async function drawParts<T>(
  parts: readonly Part<T>[],
  drawRows: (rows: readonly T[], label: (row: T) => string) => Promise<string>,
): Promise<Markup> {
  const drawings = await Promise.all(
    parts.map(async ({ title, rows, label }) => {
      const heading = title === "" ? "" : html`<h3>${title}</h3>`;
      return html`<div>${heading}${plot(await drawRows(rows, label))}</div>`;
    }),
  );
  const hasTitles = parts.some(({ title }) => title !== "");
  const kind = hasTitles ? "parts short" : drawings.length > 1 ? "parts" : "part";
  return html`<div class="${kind}">${drawings}</div>`;
}

/** Wraps a drawing, which keeps a readable size and scrolls on narrow screens. */
function plot(svg: string): Markup {
  return html`<div class="plot">${new Markup(svg)}</div>`;
}
