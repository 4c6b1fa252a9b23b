/**
 * HTML reports: one self-contained file that opens from a disk, without a network.
 *
 * Text from models, servers and journals is hostile. The page's markup escapes it; in the data it is
 * compressed, and the page's script turns it into text nodes only. A content security policy allows
 * the two scripts of the page by their hashes, and no other.
 * @module
 */

import process from "node:process";
import { signsOf } from "../gate/ceilings.ts";
import { FAILURE_TYPES } from "../calls/failure_types.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { isDuration } from "../base/numbers.ts";
import { MAX_LISTED } from "../gate/comparison.ts";
import { canCall, cellName, isWholeQuestion } from "./metrics/metrics.ts";
import { missesCall, type Variant, variantOf } from "../gate/variant.ts";
import { distinct } from "./figures/_plotting.ts";
import { addressNames, nameOf } from "./tables/table.ts";
import { viewPairs } from "./page/_pair_view.ts";
import { Output } from "../base/output_file.ts";
import { recoveryOf } from "../calls/recovery.ts";
import { provenance, type Report } from "./report.ts";
import { GENERATOR_VERSION } from "../tasks/graphs/task.ts";
import { isCase } from "../tasks/task_kind.ts";
import { missedCallsOf } from "../trials/missed_calls.ts";
import { OUTCOMES, type Trial } from "../trials/trial.ts";
import { unitNames } from "../gate/unit_names.ts";
import { html } from "./page/_markup.ts";
import { hashOf, oneScript, PAGE_END, pageStart } from "./page/_shell.ts";
import addressScript from "./page/address.js" with { type: "text" };
import besideScript from "./page/beside.js" with { type: "text" };
import listScript from "./page/list.js" with { type: "text" };
import pairScript from "./page/pair.js" with { type: "text" };
import pageCss from "./page/page.css" with { type: "text" };
import pageScript from "./page/page.js" with { type: "text" };
import partsScript from "./page/parts.js" with { type: "text" };
import resultsCss from "./page/results.css" with { type: "text" };
import takeScript from "./page/take.js" with { type: "text" };
import trialCss from "./page/trial.css" with { type: "text" };
import trialScript from "./page/trial.js" with { type: "text" };
import viewsScript from "./page/views.js" with { type: "text" };
import type { ShortNames } from "./tables/_short_names.ts";
import { keyMarkup, pageNames, sectionsOf } from "./page/_sections.ts";
import { type KnownTask, shownKey, taskOf, viewShown, viewTask } from "./page/_task_view.ts";
import { viewTrial } from "./page/_trial_view.ts";
import { wrongAnswerText } from "./_question_story.ts";
import { reportWords } from "./_words.ts";
import { whyUnsolved } from "../trials/why_unsolved.ts";

// Page styles come last: their media queries override the others.
const css = [resultsCss, trialCss, pageCss].join("\n");
/** All scripts of the page in one, as a page opened from a disk cannot import modules. */
const script = oneScript([
  partsScript,
  addressScript,
  trialScript,
  besideScript,
  listScript,
  pairScript,
  takeScript,
  viewsScript,
  pageScript,
]);

/** Options of {@linkcode writeHtml}. */
export interface HtmlOptions {
  /** Returns the command that runs a trial again; `undefined` where there is none. */
  readonly rerun: (trial: Trial) => string | undefined;
  /** The version of the generator that made the tasks. Default: the current one. */
  readonly generator?: number | undefined;
}

/**
 * Writes the report with all of its `trials` to `path`. Reads trials one by one and keeps none, as they
 * may not fit in memory.
 *
 * @throws {InputError} If the file cannot be written.
 */
export async function writeHtml(
  path: string,
  report: Report,
  trials: Iterable<Trial>,
  options: HtmlOptions,
): Promise<void> {
  const names = pageNames(report);
  const head = await pageHead(report, names);
  using output = new Output(path, "the report to");
  const write = (text: string) => output.write(text);
  write(head.html);
  writeTrials(report, trials, { ...options, ...names }, write);
  write(dataBlock("graphviz", head.graphviz));
  write(PAGE_END);
  output.finish();
}

/** Approximate size of a block before compression: small enough to unpack at a click. */
const BLOCK_CHARACTERS = 400_000;

type NamedVariant = Parameters<typeof nameOf>[0];

/** Writes trials and tasks in compressed blocks, then the index that locates them. */
function writeTrials(
  report: Report,
  trials: Iterable<Trial>,
  { rerun, generator = GENERATOR_VERSION, shorten }: HtmlOptions & ShortNames,
  write: (text: string) => void,
): void {
  const [variants, cells, units, whys, mistakes] = Array.from(
    { length: 5 },
    () => new Distinct<string>(),
  );
  const shown = new Distinct<readonly string[]>();
  const { subjects, comparisons } = report;
  const words = reportWords(report);
  const labelOf = ({ subject, simulated }: NamedVariant) =>
    nameOf({ subject: shorten(subject), simulated });
  // One variant has one colour throughout a page.
  for (const one of subjects) variants!.placeOf(labelOf(one), canonicalJson(one.subject));
  const rows: { index: number; id: string; subject: Variant; row: readonly number[] }[] = [];
  const tasks = new Map<string, [number, number]>();
  // Consecutive trials mostly share their task and perturbation.
  let last: { readonly key: string; readonly task: KnownTask | undefined } | undefined;
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
    const key = canonicalJson([trial.task, trial.perturbation]);
    if (last?.key !== key) last = { key, task: taskOf(trial, generator) };
    const { task } = last;
    // What a model was shown does not follow from the specification of a case or a question.
    const shared = shownKey(trial) ?? key;
    const [taskView] = tasks.has(shared) ? [] : [task ? viewTask(task) : viewShown(trial)];
    const taskPosition = tasks.get(shared) ?? (taskView ? add(taskView) : [-1, -1]);
    tasks.set(shared, taskPosition);
    const [chunk, position] = add(viewTrial(trial, rerun(trial), task));
    const { index, id } = trial;
    const subject = variantOf(trial);
    const name = labelOf({ subject, simulated: trial.model.simulated });
    const row = [
      variants!.placeOf(name, canonicalJson(subject)),
      cells!.placeOf(shorten(cellName(trial))),
      ...taskNumbers(trial),
      OUTCOMES.indexOf(trial.outcome),
      ...(canCall(trial) ? [trial.calls, trial.minimumCalls ?? -1] : [-1, -1]),
      typeBits(trial.failures),
      typeBits(trial.failures.filter(({ root }) => root)),
      trial.failures.length,
      shown.placeOf(signsShown(trial)),
      units!.placeOf(unitName(trial)),
      chunk,
      position,
      ...taskPosition,
      whys!.placeOf(whyUnsolved(trial) || wrongAnswerText(trial)),
      isDuration(trial.durationMs) ? trial.durationMs : 0,
      mistakes!.placeOf(typeCounts(trial.failures)),
    ];
    rows.push({ index, id, subject, row });
  }
  flush();
  // Journals list trials in the order in which they ended.
  rows.sort((one, other) => one.index - other.index);
  const places = new Map(
    rows.map(({ subject, id }, place) => [canonicalJson([subject, id]), place]),
  );
  const labels = new Map(subjects.map((one) => [canonicalJson(one.subject), labelOf(one)]));
  const printed = (names?: Distinct<string>) => names!.all.map((name) => printable(name, 300));
  write(dataBlock(
    "index",
    JSON.stringify({
      subjects: distinct(printed(variants)),
      keys: { subjects: addressNames(variants!.all), cells: addressNames(cells!.all) },
      cells: printed(cells),
      units: printed(units),
      outcomes: OUTCOMES,
      words: OUTCOMES.map((outcome) => words.outcomes[outcome] ?? outcome.replaceAll("_", " ")),
      unsolved: words.unsolved,
      shown: shown.all.map((signs) => signs.map((sign) => printable(sign, 300))),
      types: FAILURE_TYPES,
      whys: printed(whys),
      mistakes: printed(mistakes),
      unit: words.tasks.slice(0, -1),
      listed: MAX_LISTED,
      pairs: viewPairs(
        comparisons,
        places,
        // Accepted results have no row of their own.
        (subject, simulated) =>
          printable(
            labels.get(canonicalJson(subject)) ?? labelOf({ subject, simulated }),
            300,
          ),
      ),
      rows: rows.map(({ row }) => row),
    }),
  ));
}

/** Returns the unit name to show before a task's number; a question has a name instead of a number. */
function unitName({ task }: Trial): string {
  if (isCase(task)) return "repetition";
  return isWholeQuestion(task) ? `question ${task.question}` : unitNames([task]).one;
}

/**
 * Returns a task's number within its cell, from 1 (0 for a named question), and the repetition. Trials of a
 * case are numbered by repetition.
 */
function taskNumbers({ task, block, repetition }: Trial): [number, number] {
  if (isCase(task)) return [repetition, 1];
  return [isWholeQuestion(task) ? 0 : block + 1, repetition];
}

/** Returns how often each type occurs, in words. */
function typeCounts(failures: Trial["failures"]): string {
  return FAILURE_TYPES.flatMap((type) => {
    const own = failures.filter((failure) => failure.type === type);
    return own.length === 0 ? [] : [`${own.length} \u00d7 ${type.replaceAll("_", " ")}`];
  }).join(", ");
}

/** Returns the types that occur as a bit mask. */
function typeBits(failures: Trial["failures"]): number {
  return failures.reduce((bits, { type }) => bits | (1 << FAILURE_TYPES.indexOf(type)), 0);
}

/** Returns the names by which the page filters: behaviours, missed calls, and how faults ended. */
function signsShown(trial: Trial): string[] {
  return [
    ...signsOf(trial),
    ...(missesCall({ missed: missedCallsOf(trial) }) ? ["missed_call"] : []),
    ...[...new Set(recoveryOf(trial.events).map(({ end }) => `fault_${end}`))].toSorted(),
  ];
}

/** Values that rows refer to by their places. */
class Distinct<Value> {
  readonly #places = new Map<string, number>();
  readonly all: Value[] = [];

  placeOf(value: Value, key = String(value)): number {
    return this.#places.getOrInsertComputed(key, () => this.all.push(value) - 1);
  }
}

/** Returns an element with compressed data that the page unpacks on demand. Base64 cannot end the element. */
function dataBlock(id: string, text: string): string {
  // Loaded on first use: most runs write no page.
  const { gzipSync } = process.getBuiltinModule("node:zlib");
  const compressed = gzipSync(new TextEncoder().encode(text), { level: 6 });
  return `<script type="application/octet-stream" id="${id}">${
    compressed.toString("base64")
  }</script>\n`;
}

/** Returns the part of the page before the data, and Graphviz's script. */
async function pageHead(
  report: Report,
  { forms, shorten }: ShortNames,
): Promise<{ html: string; graphviz: string }> {
  const graphviz = await graphvizScript();
  const { subjects } = report;
  const sections = await sectionsOf(shorten(report));
  const suite = report.suite === "" ? "No trials" : report.suite;
  const simulated = subjects.some((subject) => subject.simulated);
  const ids = sections.map(({ id }) => id).filter((id) => id !== "");
  // The headline has no heading but the title of its table, and is not linked where verdicts stand above it.
  const title = ids.includes("verdict") ? "" : reportWords(report).headline.toLowerCase();
  const links = ids.map((id) => [id, id === "headline" ? title : id.replace("-", " ")] as const)
    // Nor where another section has the same name.
    .filter(([id, text]) => text !== "" && (id === text || !ids.includes(text)));
  const start = pageStart({
    title: `${suite}: toolgate report`,
    css,
    script,
    scriptSources: [hashOf(graphviz), "'wasm-unsafe-eval'"],
    header: html`
      <h1>${suite}</h1>
      <p class="faint">${provenance(report)}${simulated ? ", with simulated models" : ""}</p>
      <nav>${links.map(([id, text]) => html`<a href="#${id}">${text}</a>`)}</nav>
      ${keyMarkup(report, forms)}
    `,
    main: sections.map(({ markup }) => markup),
    footer: html`Made by toolgate. Graphs are drawn by Graphviz (Eclipse Public License 1.0) through
    Viz.js (MIT), which this file carries along.`,
  });
  return { html: start, graphviz };
}

/**
 * Returns Graphviz as one script: the package's module, which passes its export to the page in an event.
 *
 * @throws {Error} If the module does not end with an export of `instance`.
 */
async function graphvizScript(): Promise<string> {
  const { default: source } = await import("@viz-js/viz", { with: { type: "text" } });
  const end = /export\s*\{[^}]*\binstance\b[^}]*\};?\s*$/;
  if (!end.test(source)) {
    throw new Error("Cannot embed Graphviz as its module must end with an export of instance");
  }
  const dispatch = 'dispatchEvent(new CustomEvent("graphviz", { detail: instance }));\n';
  return source.replace(end, () => dispatch);
}
