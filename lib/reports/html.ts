/**
 * HTML reports: one self-contained file that opens from a disk, without a network.
 *
 * Text from models, servers and journals is hostile. The page's markup escapes it; in the data it is
 * compressed, and the page's script turns it into text nodes only. A content security policy allows
 * the two scripts of the page by their hashes, and no other.
 * @module
 */

import { Buffer } from "node:buffer";
import process from "node:process";
import { signsOf } from "../gate/ceilings.ts";
import { FAILURE_TYPES } from "../calls/failure_types.ts";
import { canonicalJson, jsonText, printable } from "../base/json.ts";
import { isDuration } from "../base/numbers.ts";
import { MAX_LISTED } from "../gate/comparison.ts";
import { canCall, cellName, isWholeQuestion } from "./cells.ts";
import { missesCall, type Variant, variantOf } from "../gate/variant.ts";
import { distinct } from "./figures/_plotting.ts";
import { addressNames } from "./_links.ts";
import { viewPairs } from "./page/_pair_view.ts";
import { Output } from "../base/output_file.ts";
import { recoveryOf } from "../calls/recovery.ts";
import { provenance, type Report } from "./report.ts";
import { GENERATOR_VERSION } from "../tasks/graphs/task.ts";
import { isCase } from "../tasks/task_kind.ts";
import { missedCallsOf } from "../trials/missed_calls.ts";
import { OUTCOMES, type Trial } from "../trials/trial.ts";
import { unitNames } from "../gate/unit_names.ts";
import { html, type Markup } from "./page/_markup.ts";
import { hashOf, oneScript, PAGE_END, pageStart, policyOf } from "./page/_shell.ts";
import addressScript from "./page/address.js" with { type: "text" };
import besideScript from "./page/beside.js" with { type: "text" };
import listScript from "./page/list.js" with { type: "text" };
import pairScript from "./page/pair.js" with { type: "text" };
import liveScript from "./page/live.js" with { type: "text" };
import pageCss from "./page/page.css" with { type: "text" };
import pageScript from "./page/page.js" with { type: "text" };
import partsScript from "./page/parts.js" with { type: "text" };
import resultsCss from "./page/results.css" with { type: "text" };
import takeScript from "./page/take.js" with { type: "text" };
import trialCss from "./page/trial.css" with { type: "text" };
import trialScript from "./page/trial.js" with { type: "text" };
import viewsScript from "./page/views.js" with { type: "text" };
import type { Subject } from "./_subjects.ts";
import { keyMarkup, pageNames, sectionsOf } from "./page/_sections.ts";
import { type KnownTask, shownKey, taskOf, viewShown, viewTask } from "./page/_task_view.ts";
import { viewTrial } from "./page/_trial_view.ts";
import { HEAT_CSS } from "./page/_view_markup.ts";
import { wrongAnswerText } from "./_question_story.ts";
import { whyUnsolved } from "../trials/why_unsolved.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

// Page styles come last: their media queries override the others.
const css = [resultsCss, HEAT_CSS, trialCss, pageCss].join("\n");
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
  liveScript,
  pageScript,
]);

/** Options of {@linkcode writeHtml}. */
export interface HtmlOptions {
  /** Returns the command that runs a trial again. */
  readonly rerun: (trial: Trial) => string;
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
  const named = report.withNames(pageNames(report));
  const head = await reportHead(named);
  using output = new Output(path, "the report to");
  output.write(head.html);
  const data = new PageData(options, (id, bytes) => output.write(dataBlock(id, bytes)));
  for (const trial of trials) data.add(trial);
  for (const part of pageEnd(data, named, head)) output.write(part);
  output.finish();
}

/** Yields the rest of a page behind its head, and behind the blocks that were passed on before. */
export function* pageEnd(
  data: PageData,
  scope: PageScope,
  { graphviz }: PageHead,
  only?: ReadonlySet<string>,
): Generator<string> {
  data.flush();
  yield dataBlock("index", data.index(scope, only));
  yield dataBlock("graphviz", compressed(graphviz));
  yield PAGE_END;
}

/**
 * Approximate size of a block before compression: small enough to unpack at a click, and that its base64 has less than
 * the 65,536 characters above which a browser takes longer to read the page.
 */
const BLOCK_CHARACTERS = 300_000;

/** What the index of a page needs of a report. */
export interface PageScope extends Pick<Report, "comparisons" | "nameOf" | "unit" | "words"> {
  readonly subjects: readonly Subject[];
}

/** The data of a page: trials and their tasks in compressed blocks, and the index that locates them. */
export class PageData {
  readonly #options: HtmlOptions;
  readonly #take: (id: string, bytes: Uint8Array<ArrayBuffer>) => void;
  readonly #variants = new Distinct<Subject>();
  readonly #cells = new Distinct<string>();
  readonly #units = new Distinct<string>();
  readonly #whys = new Distinct<string>();
  readonly #mistakes = new Distinct<string>();
  readonly #shown = new Distinct<readonly string[]>();
  /** The rows of trials by id; a trial that was run again has that of its last run. */
  readonly #rows = new Map<string, { index: number; subject: Variant; row: readonly number[] }>();
  readonly #tasks = new Map<string, [number, number]>();
  /** Consecutive trials mostly share their task and perturbation. */
  #last: { readonly key: string; readonly task: KnownTask | undefined } | undefined;
  #block: string[] = [];
  #size = 0;
  /** The number of the block that is not full. */
  #number: number;

  /**
   * Begins without trials.
   *
   * @param take Receives each block once it is full.
   * @param first The number of the first block.
   */
  constructor(
    options: HtmlOptions,
    take: (id: string, bytes: Uint8Array<ArrayBuffer>) => void,
    first = 0,
  ) {
    this.#options = options;
    this.#take = take;
    this.#number = first;
  }

  /** The number of the block that is not full. */
  get next(): number {
    return this.#number;
  }

  /** Adds a trial, of which only what the page shows is kept. */
  add(trial: Trial): void {
    const { rerun, generator = GENERATOR_VERSION } = this.#options;
    const key = canonicalJson([trial.task, trial.perturbation]);
    if (this.#last?.key !== key) this.#last = { key, task: taskOf(trial, generator) };
    const { task } = this.#last;
    // What a model was shown does not follow from the specification of a case or a question.
    const shared = shownKey(trial) ?? key;
    const known = this.#tasks.get(shared);
    const taskView = known === undefined ? task ? viewTask(task) : viewShown(trial) : undefined;
    const taskPosition = known ?? (taskView ? this.#put(taskView) : [-1, -1]);
    this.#tasks.set(shared, taskPosition);
    const position = this.#put(viewTrial(trial, rerun(trial), task));
    const subject = variantOf(trial);
    const row = [
      this.#variants.placeOf(
        { subject, simulated: trial.model.simulated },
        canonicalJson(subject),
      ),
      this.#cells.placeOf(cellName(trial)),
      ...taskNumbers(trial),
      OUTCOMES.indexOf(trial.outcome),
      ...(canCall(trial) ? [trial.calls, trial.minimumCalls ?? -1] : [-1, -1]),
      typeBits(trial.failures),
      trial.failures.length,
      this.#shown.placeOf(signsShown(trial)),
      this.#units.placeOf(unitName(trial)),
      ...position,
      ...taskPosition,
      this.#whys.placeOf(whyUnsolved(trial) || wrongAnswerText(trial)),
      isDuration(trial.durationMs) ? trial.durationMs : 0,
      this.#mistakes.placeOf(typeCounts(trial.failures)),
    ];
    this.#rows.set(trial.id, { index: trial.index, subject, row });
  }

  /** Passes on the block that is not full, if it has anything. */
  flush(): void {
    if (this.#block.length === 0) return;
    this.#take(`block-${this.#number++}`, compressed(`[${this.#block.join(",")}]`));
    this.#block = [];
    this.#size = 0;
  }

  /** Puts a value into a block, and returns the number of the block and its place there. */
  #put(value: unknown): [number, number] {
    const text = jsonText(value);
    if (this.#size + text.length > BLOCK_CHARACTERS) this.flush();
    this.#size += text.length;
    return [this.#number, this.#block.push(text) - 1];
  }

  /** Returns the compressed index of all trials, or of those with the ids `only`, in plan order. */
  index(scope: PageScope, only?: ReadonlySet<string>): Uint8Array<ArrayBuffer> {
    const { subjects, comparisons, words, nameOf } = scope;
    const printed = (names: readonly string[]) => names.map((name) => printable(name, 300));
    // One variant has one colour throughout a page.
    const variants = new Distinct<Subject>();
    const placeOf = (one: Subject) => variants.placeOf(one, canonicalJson(one.subject));
    for (const { subject, simulated } of subjects) placeOf({ subject, simulated });
    const ofVariant = this.#variants.all.map(placeOf);
    const names = variants.all.map(nameOf);
    const cells = this.#cells.all;
    // Journals list trials in the order in which they ended.
    const rows = [...this.#rows].filter(([id]) => only?.has(id) ?? true)
      .sort(([, one], [, other]) => one.index - other.index);
    const places = new Map(
      rows.map(([id, { subject }], place) => [canonicalJson([subject, id]), place]),
    );
    const labels = new Map(subjects.map((one) => [canonicalJson(one.subject), nameOf(one)]));
    return compressed(jsonText({
      subjects: distinct(printed(names)),
      keys: { subjects: addressNames(names), cells: addressNames(cells) },
      cells: printed(cells),
      units: printed(this.#units.all),
      outcomes: OUTCOMES,
      words: OUTCOMES.map((outcome) => words.outcomes[outcome] ?? outcome.replaceAll("_", " ")),
      unsolved: words.unsolved,
      shown: this.#shown.all.map(printed),
      types: FAILURE_TYPES,
      whys: printed(this.#whys.all),
      mistakes: printed(this.#mistakes.all),
      unit: words.tasks.slice(0, -1),
      listed: MAX_LISTED,
      pairs: viewPairs(
        comparisons,
        places,
        // Accepted results have no row of their own.
        (subject, simulated) =>
          printable(labels.get(canonicalJson(subject)) ?? nameOf({ subject, simulated }), 300),
      ),
      rows: rows.map(([, { row: [variant, ...others] }]) => [ofVariant[variant!], ...others]),
    }));
  }
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
    return getOrInsertComputed(this.#places, key, () => this.all.push(value) - 1);
  }
}

/** Returns a text as pages keep it, compressed. */
export function compressed(text: string): Uint8Array<ArrayBuffer> {
  // Loaded on first use: most runs write no page.
  const { gzipSync } = process.getBuiltinModule("node:zlib");
  return gzipSync(new TextEncoder().encode(text), { level: 5 }) as Uint8Array<ArrayBuffer>;
}

/** Returns an element with compressed data that the page unpacks on demand. Base64 cannot end the element. */
export function dataBlock(id: string, bytes: Uint8Array): string {
  return `<script type="application/octet-stream" id="${id}">${
    Buffer.from(bytes).toString("base64")
  }</script>\n`;
}

/** The part of a page before its data, and what goes with it. */
export interface PageHead {
  readonly html: string;
  /** Its content security policy. */
  readonly policy: string;
  /** The script that draws graphs, which its policy allows. */
  readonly graphviz: string;
}

/** Returns the head of a report's page. */
export async function reportHead(report: Report): Promise<PageHead> {
  const { subjects } = report;
  const sections = await sectionsOf(report);
  return await pageHead({
    suite: report.suite === "" ? "No trials" : report.suite,
    about: provenance(report),
    links: sections.filter(({ title }) => title !== ""),
    subjects,
    main: sections.map(({ markup }) => markup),
  });
}

/** Returns the head of a page; one that is `served` fetches its data from where it came from. */
export async function pageHead(
  { suite, about, links = [], subjects, main, served }: {
    readonly suite: string;
    readonly about: string;
    readonly links?: readonly { readonly id: string; readonly title: string }[];
    readonly subjects: readonly Subject[];
    readonly main: readonly Markup[];
    readonly served?: boolean;
  },
): Promise<PageHead> {
  const graphviz = await graphvizScript();
  const { forms } = pageNames({ subjects });
  const shell = {
    title: `${suite}: toolgate report`,
    css,
    script,
    scriptSources: [hashOf(graphviz), "'wasm-unsafe-eval'"],
    served,
    header: html`
      <h1>${suite}</h1>
      <p class="faint">${about}</p>
      <nav>${links.map(({ id, title }) => html`<a href="#${id}">${title}</a>`)}</nav>
      ${keyMarkup({ subjects }, forms)}
    `,
    main,
    footer: html`Made by toolgate. Graphs are drawn by Graphviz (Eclipse Public License 1.0) through
    Viz.js (MIT), which this file carries along.`,
  };
  return { html: pageStart(shell), policy: policyOf(shell), graphviz };
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
