/**
 * The figures of a report's page, with their captions and legends.
 * @module
 */

import type { Breakdown } from "../metrics/breakdown.ts";
import { type Variant, variantLabel } from "../../gate/variant.ts";
import { canonicalJson } from "../../base/json.ts";
import type { Tally } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { drawDimensions } from "../figures/dimensions.ts";
import { showsDimensions } from "../tables/dimensions.ts";
import {
  drawBreakdown,
  drawComparisons,
  drawFailures,
  drawOverview,
  hasBroadFailures,
  isBroad,
} from "../figures/figures.ts";
import { drawFailureRates, drawTransfer, hasBroadRates, highestRate } from "../figures/heatmap.ts";
import { html, Markup } from "./markup.ts";
import { wholePercent } from "../tables/perturbations.ts";
import { seriesMark } from "../figures/plotting.ts";
import { nameOf, sourceText } from "../tables/table.ts";
import { hasCalls, hasFailures, noFailures } from "../tables/tables.ts";

/** Success of all trials, side by side. */
export async function overviewFigure({ subjects }: Report): Promise<Markup> {
  const lacking = lackOfWhiskers(subjects.map(({ total }) => total));
  return figureMarkup(
    { id: "overview", title: "Success of all trials", notes: [WHISKERS, ...lacking] },
    [
      await drawParts(
        partsOf(subjects),
        (own, label) => drawOverview(own, { subjects, label }),
      ),
    ],
  );
}

/** Strategies against the baseline, where there is something to show. */
export async function strategyFigure({ comparisons, subjects }: Report): Promise<Markup[]> {
  const shown = comparisons.filter(({ success }) => success !== null);
  if (shown.length === 0) return [];
  const notes = [
    "of the same model, on the same tasks",
    `${WHISKERS}, each for one comparison by itself`,
    ...(shown.some(({ success }) => success?.interval === null) ? [NO_WHISKER] : []),
  ];
  const drawn = await drawParts(
    partsOf(shown),
    (own, label) => drawComparisons(own, { subjects, label, comparisons }),
  );
  return [
    figureMarkup({ id: "strategies", title: "Strategies against the baseline", notes }, [drawn]),
  ];
}

/**
 * Wrong calls by type; in words where there are none, or none could be made. Bars of every perturbation could not be told apart: a
 * table has them.
 */
export async function failureFigure({ subjects: all, unit }: Report): Promise<Markup> {
  const none = noFailures(unit);
  if (!hasCalls(all.map(({ total }) => total))) return html`<p>No call could be made.</p>`;
  if (!hasFailures(all)) return html`<p>${none[0]!.toUpperCase() + none.slice(1)}.</p>`;
  const plain = all.filter(({ subject }) => subject.perturbation === "none");
  const subjects = plain.length > 0 ? plain : all;
  if (!hasFailures(subjects)) return html`<p>Without perturbations ${none}.</p>`;
  const notes = [
    ...(subjects.length < all.length ? ["unperturbed trials only"] : []),
    "solid: roots",
    "pale: cascades, which have none but values that an earlier wrong call returned",
    sourceText("Table 3"),
  ];
  const broad = hasBroadFailures(subjects);
  return figureMarkup({ id: "failures", title: "Wrong calls by type", notes, broad }, [
    plot(await drawFailures(subjects)),
    legendMarkup("model", subjects.map(nameOf), "bars"),
  ]);
}

/** The figures of all breakdowns; `numbersOf` gives the table of one. */
export async function breakdownFigures(
  report: Report,
  numbersOf: (id: string) => readonly Markup[],
): Promise<Markup[]> {
  const shared = sharedLegend(report).length > 0;
  const figures: Markup[] = [];
  for (const breakdown of report.breakdowns.filter(isFigure)) {
    const { id, title, source, legend } = breakdown;
    const notes = [WHISKERS, ...countsOf(breakdown), sourceText(source)];
    const parts = [
      plot(await drawBreakdown(breakdown)),
      ...(shared && legend === "model" ? [] : [legendOf(breakdown)]),
      html`<details><summary>numbers</summary>${numbersOf(id)}</details>`,
    ];
    figures.push(figureMarkup({ id, title, notes, broad: isBroad(breakdown) }, parts));
  }
  return figures;
}

/** The five dimensions of tool use, where they are told. */
export async function dimensionFigure({ dimensions }: Report): Promise<Markup[]> {
  if (!showsDimensions(dimensions)) return [];
  const names = dimensions.map(nameOf);
  const overall = dimensions.some(({ missing }) => missing.length > 0)
    ? "overall: the mean of those that were measured"
    : "overall: their mean";
  const lacking = dimensions.some((one) =>
    [...one.dimensions, one.overall].some(({ mean, interval }) =>
      mean !== null && interval === null
    )
  );
  const notes = [
    WHISKERS,
    overall,
    ...(lacking ? [NO_WHISKER] : []),
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

/** Failure rates, and which failure goes with which, as heatmaps: where they are known. */
export async function perturbationFigures({ brittleness }: Report): Promise<Markup[]> {
  const top = highestRate(brittleness);
  const figures: Markup[] = [];
  for (const [place, one] of brittleness.entries()) {
    const known = one.columns.filter((column) => column.known > 0);
    if (known.some(({ perturbation }) => perturbation !== "none")) {
      const id = `failure-rates-${place + 1}`;
      const title = `Failure rates under perturbations: ${nameOf(one)}`;
      const notes = [
        "share of trials with a call that has such a failure: one without calls has none",
        `no colour: none; full colour: ${wholePercent(top)} of trials`,
        sourceText("Table 1", "Butterfly"),
      ];
      const drawn = plot(await drawFailureRates({ columns: known }, top));
      figures.push(
        figureMarkup({ id, title, notes, broad: hasBroadRates({ columns: known }) }, [drawn]),
      );
    }
    if (one.transfer.some(({ of }) => of > 0)) {
      const id = `transfer-${place + 1}`;
      const title = `Which failure goes with which: ${nameOf(one)}`;
      const notes = [
        "of the trials with a failure, those that have the other in the same call or a later one; on the " +
        "diagonal: again in a later call",
        "full colour: all of them; blank: no trial has the failure that is given",
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

/** What a figure is, and what a reader should know of it. */
interface Caption {
  readonly id: string;
  readonly title: string;
  readonly notes: readonly string[];
  /** Whether it takes the room of two. */
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

/** One number is no figure. */
function isFigure({ values, shape }: Breakdown): boolean {
  return values.length > 1 || shape !== "lines";
}

/** So many models have a legend under each figure; with more there is one for all figures. */
const FEW = 3;

/** The legend that all figures of models share: that of many takes more room than a figure. */
export function sharedLegend({ subjects, breakdowns }: Report): Markup[] {
  const ofModels = breakdowns.filter(({ legend }) => legend === "model");
  const shared = subjects.length > FEW && ofModels.some(isFigure) &&
    ofModels.every(({ series }) => series.length === subjects.length);
  if (!shared) return [];
  return [html`<div class="shared">${legendMarkup("model", subjects.map(nameOf), "lines")}</div>`];
}

function legendOf({ legend, series, shape }: Breakdown): Markup {
  return legendMarkup(legend, series.map(({ name }) => name), shape);
}

/** Names are told in full, however long: a figure has no room for that. */
function legendMarkup(
  title: string,
  names: readonly string[],
  shape: "lines" | "points" | "bars",
): Markup {
  const items = names.map((name, place) => {
    const { colour, outline, shape: point, dash } = seriesMark(place);
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

/** How many valid trials the points of a figure stand for. */
function countsOf({ series }: Breakdown): string[] {
  const counts = series.flatMap(({ tallies }) => tallies.flatMap((tally) => tally?.valid ?? []));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return [
    `n = ${least === most ? least : `${least} to ${most}`} valid trials a point`,
    ...lackOfWhiskers(series.flatMap(({ tallies }) => tallies)),
  ];
}

/** What a caption says of points without a whisker. */
function lackOfWhiskers(tallies: readonly (Tally | null)[]): string[] {
  const lacking = tallies.some((tally) =>
    tally !== null && tally.rate !== null && tally.interval === null
  );
  return lacking ? [NO_WHISKER] : [];
}

/** What has a row in a figure. */
interface Row {
  readonly subject: Variant;
  readonly simulated: boolean;
}

/** Rows that are drawn together, and what tells one of them from the others. */
interface Part<T> {
  readonly title: string;
  readonly rows: readonly T[];
  readonly label: (row: T) => string;
}

/** So many rows stand beneath each other; more stand side by side, in parts. */
const MOST_ROWS = 8;

/** Rows in parts: one a model where models have several, whose names then stand over them once. */
function partsOf<T extends Row>(rows: readonly T[]): Part<T>[] {
  if (rows.length <= MOST_ROWS) return [{ title: "", rows, label: nameOf }];
  const models = Map.groupBy(
    rows,
    ({ subject, simulated }) => canonicalJson([subject.model, simulated]),
  );
  if (models.size < rows.length) {
    return [...models.values()].map((own) => {
      const { subject, simulated } = own[0]!;
      const alone = { ...subject, strategy: "baseline", perturbation: "none" };
      return {
        title: variantLabel(alone, simulated),
        rows: own,
        label: ({ subject: { strategy, perturbation } }) =>
          strategy + (perturbation === "none" ? "" : ` + ${perturbation}`),
      };
    });
  }
  return Array.from({ length: Math.ceil(rows.length / MOST_ROWS) }, (_, place) => ({
    title: "",
    rows: rows.slice(MOST_ROWS * place, MOST_ROWS * (place + 1)),
    label: nameOf,
  }));
}

async function drawParts<T>(
  parts: readonly Part<T>[],
  drawRows: (rows: readonly T[], label: (row: T) => string) => Promise<string>,
): Promise<Markup> {
  const drawn = await Promise.all(
    parts.map(async ({ title, rows, label }) => {
      const heading = title === "" ? "" : html`<h3>${title}</h3>`;
      return html`<div>${heading}${plot(await drawRows(rows, label))}</div>`;
    }),
  );
  const titled = parts.some(({ title }) => title !== "");
  const kind = titled ? "parts short" : drawn.length > 1 ? "parts" : "part";
  return html`<div class="${kind}">${drawn}</div>`;
}

/** A drawing keeps a size at which it can be read: on a narrow screen it is moved to and fro. */
function plot(svg: string): Markup {
  return html`<div class="plot">${new Markup(svg)}</div>`;
}
