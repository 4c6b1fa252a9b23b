/**
 * Reports as one HTML file that needs nothing else: it opens from a disk, without a network.
 *
 * Whatever models, servers and journals wrote is hostile. In the page's own markup it is escaped; in the
 * data it is compressed, and the page's script makes text nodes of it and nothing else. A content
 * security policy allows the two scripts of the page by their hashes, and no other.
 * @module
 */

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { cellName, type Tally } from "../metrics.ts";
import { FAILURE_TYPES } from "../failure.ts";
import { canonicalJson, printable } from "../json.ts";
import { type Breakdown, labelOf } from "../breakdown.ts";
import { subjectOf } from "../contest.ts";
import { Output } from "../output.ts";
import { verdictName } from "../decision.ts";
import { provenance, type Report } from "../report.ts";
import { GENERATOR_VERSION, type Task } from "../task.ts";
import { OUTCOMES, type Trial } from "../trial.ts";
import { drawBreakdown, drawFailures, drawOverview, seriesMark } from "./figures.ts";
import css from "./page.css" with { type: "text" };
import script from "./page.js" with { type: "text" };
import { nameOf, type Table, tablesOf } from "./tables.ts";
import { taskOf, viewTask, viewTrial } from "./trial_view.ts";

/** Options of {@linkcode writeHtml}. */
export interface HtmlOptions {
  /** The line that runs a trial again, where there is one. */
  readonly replay: (trial: Trial) => string | undefined;
  /** The version of the generator that made the tasks; default this one's. */
  readonly generator?: number | undefined;
}

/**
 * Writes the report with all of its `trials` to `path`. Trials are taken one by one, and none is kept:
 * there may be more of them than memory holds.
 *
 * @throws {InputError} If the file cannot be written.
 */
export async function writeHtml(
  path: string,
  report: Report,
  trials: Iterable<Trial>,
  options: HtmlOptions,
): Promise<void> {
  const head = await pageHead(report);
  using output = new Output(path, "the report to");
  const write = (text: string) => output.write(text);
  write(head.html);
  writeTrials(trials, options, write);
  write(dataBlock("graphviz", head.graphviz));
  write("</body>\n</html>\n");
  output.finish();
}

/** Blocks are about as large before they are compressed: small enough to be unpacked at a click. */
const BLOCK_CHARACTERS = 400_000;

/** Writes trials and tasks in compressed blocks, then the index by which the page finds them. */
function writeTrials(
  trials: Iterable<Trial>,
  { replay, generator = GENERATOR_VERSION }: HtmlOptions,
  write: (text: string) => void,
): void {
  const names = { subjects: new Names(), cells: new Names() };
  const rows: { readonly index: number; readonly row: readonly number[] }[] = [];
  const tasks = new Map<string, [number, number]>();
  // Trials on one task mostly come one after another.
  let last: { readonly key: string; readonly task: Task | undefined } | undefined;
  let block: string[] = [];
  let size = 0;
  let blocks = 0;
  const flush = () => {
    if (block.length === 0) return;
    write(dataBlock(`block-${blocks++}`, `[${block.join(",")}]`));
    block = [];
    size = 0;
  };
  const add = (value: unknown): [number, number] => {
    const text = JSON.stringify(value);
    if (size + text.length > BLOCK_CHARACTERS) flush();
    size += text.length;
    return [blocks, block.push(text) - 1];
  };
  for (const trial of trials) {
    const key = canonicalJson(trial.task);
    if (last?.key !== key) last = { key, task: taskOf(trial, generator) };
    const { task } = last;
    const known = tasks.get(key) ?? (task === undefined ? [-1, -1] : add(viewTask(task)));
    tasks.set(key, known);
    const [chunk, place] = add(viewTrial(trial, replay(trial), task));
    const row = [
      names.subjects.placeOf(
        canonicalJson(subjectOf(trial)),
        labelOf(subjectOf(trial), trial.model.simulated),
      ),
      names.cells.placeOf(cellName(trial)),
      trial.block + 1,
      trial.repetition,
      OUTCOMES.indexOf(trial.outcome),
      trial.calls,
      trial.minimumCalls ?? -1,
      typesOf(trial.failures),
      typesOf(trial.failures.filter(({ root }) => root)),
      trial.failures.length,
      chunk,
      place,
      ...known,
    ];
    rows.push({ index: trial.index, row });
  }
  flush();
  write(dataBlock(
    "index",
    JSON.stringify({
      subjects: names.subjects.all,
      cells: names.cells.all,
      outcomes: OUTCOMES,
      types: FAILURE_TYPES,
      // Journals hold trials in the order in which they ended.
      rows: rows.sort((one, other) => one.index - other.index).map(({ row }) => row),
    }),
  ));
}

/** The types that occur, as bits. */
function typesOf(failures: Trial["failures"]): number {
  return failures.reduce((bits, { type }) => bits | (1 << FAILURE_TYPES.indexOf(type)), 0);
}

/** Names that rows refer to by their places. */
class Names {
  readonly #places = new Map<string, number>();
  readonly #names: string[] = [];

  placeOf(key: string, name = key): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, this.#names.length);
    return this.#names.push(name) - 1;
  }

  get all(): string[] {
    return this.#names.map((name) => printable(name, 300));
  }
}

/** Data that the page unpacks when it is needed. Base64 holds nothing that could end the element. */
function dataBlock(id: string, text: string): string {
  const packed = gzipSync(new TextEncoder().encode(text), { level: 6 });
  return `<script type="application/octet-stream" id="${id}">${
    packed.toString("base64")
  }</script>\n`;
}

/** Markup: what stands in it as a value is text and is escaped, unless it is markup itself. */
class Markup {
  constructor(readonly text: string) {}
}

type Part = string | number | Markup | readonly Markup[];

function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const text = strings.map((string, place) => string + markupOf(parts[place] ?? "")).join("");
  return new Markup(text);
}

function markupOf(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("\n");
  return printable(String(part), 5000).replace(
    /[&<>"']/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

/** All of the page that stands before the data, and the text of Graphviz's script. */
async function pageHead(report: Report): Promise<{ html: string; graphviz: string }> {
  const graphviz = await graphvizScript();
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)} ${hashOf(graphviz)} 'wasm-unsafe-eval'`,
    `style-src ${hashOf(css)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const { subjects, notes, gates } = report;
  const suite = report.suite === "" ? "No trials" : report.suite;
  const simulated = subjects.some((one) => one.simulated);
  const page = html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="${policy}">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="generator" content="toolgate">
        <title>${suite}: toolgate report</title>
        <style>${new Markup(css)}</style>
        <script>${new Markup(script)}</script>
      </head>
      <body>
        <header>
        <h1>${suite}</h1>
        <p class="faint">${provenance(report)}${simulated ? ", with simulated models" : ""}</p>
        <nav>${[
          ...(gates.length === 0 ? [] : ["verdict"]),
          ...[
            "success",
            ...(subjects.length === 0 ? [] : ["figures", "failures", "cells"]),
            "trials",
            "words",
          ],
        ].map((id) => html`<a href="#${id}">${id}</a>`)}</nav>
        ${notes.length === 0
          ? ""
          : html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}
            </header>
        <main>
        ${gates.length === 0 ? "" : verdictSection(report)}
        ${await resultSections(report)}
        ${trialSection()}
    ${wordSection()}
            </main>
        <footer>
          <main>Made by toolgate. Graphs are drawn by Graphviz (Eclipse Public License 1.0) through
        Viz.js (MIT), which this file carries along.</main>
        </footer>
  `;
  return { html: page.text, graphviz };
}

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

/** The words behind `PASS: `, which stands in the badge. */
function sentence(text: string): string {
  const words = text.replace(/^[A-Z]+: /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

async function resultSections(report: Report): Promise<Markup> {
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
    }; as in ${source} of FuncBenchGen</small></figcaption>
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
earlier wrong call returned; as in Table 3 of FuncBenchGen</small></figcaption>
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
    ...(source === undefined ? [] : [`as in ${source} of FuncBenchGen`]),
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

function trialSection(): Markup {
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
    "returned, to find the value that is asked for. No model can have seen them.",
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

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/**
 * Graphviz as one script: the module that the package ships, with its exports handed to the page.
 *
 * @throws {Error} If the module no longer ends as it did.
 */
async function graphvizScript(): Promise<string> {
  const { default: source } = await import("@viz-js/viz", { with: { type: "text" } });
  const end = /export\s*\{[^}]*\binstance\b[^}]*\};?\s*$/;
  if (!end.test(source)) throw new Error("Cannot embed Graphviz as its module has another end");
  const hand = 'dispatchEvent(new CustomEvent("graphviz", { detail: instance }));\n';
  return source.replace(end, () => hand);
}
