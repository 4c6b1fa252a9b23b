/**
 * The page of a run that goes on: the page of a report, whose trials come in while it is open.
 *
 * Until the plan is complete it has neither tables, figures and intervals nor verdicts: an interval that is watched
 * and acted on is wrong more often than it says. What a sequential gate has decided is told, as its bounds hold at any
 * time.
 * @module
 */

import { SYSTEM_CLOCK } from "../base/clock.ts";
import { sha256 } from "../base/hash.ts";
import { countText, dollars, grouped, isDuration, sum } from "../base/numbers.ts";
import { printable } from "../base/json.ts";
import { type PageServer, type Served, servePage } from "../base/page_server.ts";
import { unitNames } from "../gate/unit_names.ts";
import { byVariant, simulatedIn, variantKey, variantLabel, variantOf } from "../gate/variant.ts";
import { costOfAll, type Prices, spentUsage } from "../models/prices.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import { summarize, type TrialSummary } from "../trials/summary.ts";
import { OUTCOMES, type Trial } from "../trials/trial.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { reportWords } from "./_words.ts";
import {
  compressed,
  dataBlock,
  type HtmlOptions,
  PageData,
  pageEnd,
  type PageHead,
  pageHead,
  type PageScope,
  reportHead,
} from "./html.ts";
import { html } from "./page/_markup.ts";
import { pageNames } from "./page/_sections.ts";
import { trialSection } from "./page/_trial_list.ts";
import { duration } from "./progress.ts";
import type { Report } from "./report.ts";

/** Options of {@linkcode LivePage}. */
export interface LiveOptions extends HtmlOptions {
  /** The name of the suite. */
  readonly suite: string;
  /** The trials that are to come. */
  readonly planned: readonly PlannedTrial[];
  readonly prices?: Prices | undefined;
  /** The number of the first block, which no other page at the same address has. */
  readonly first?: number;
}

/** Milliseconds for which a page that has asked counts as open: it asks every second or two. */
const OPEN = 4_000;
/** Milliseconds that open pages have to ask for the report of a run that has ended, at least and at most. */
const [LEAST_LEFT, MOST_LEFT] = [2_500, 8_000];

/** How a run stands, in words. */
interface State {
  readonly text: string;
  readonly notes: readonly string[];
}

/** The page of a run. */
export class LivePage implements AsyncDisposable {
  readonly #options: LiveOptions;
  readonly #blocks = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #data: PageData;
  readonly #trials = new Map<string, TrialSummary>();
  /** Why trials are not needed. */
  readonly #reasons = new Map<string, number>();
  #head: Promise<PageHead> | undefined;
  #report: { readonly report: Report; readonly ids: ReadonlySet<string> } | undefined;
  /** How the run stands, in words; `undefined` once that has changed. */
  #state: State | undefined;
  #server: PageServer | undefined;
  /** When a page has asked last, and how many have learnt of the end and not got the report. */
  readonly #asked = { last: -Infinity, owed: 0 };

  /** Begins without trials. */
  constructor(options: LiveOptions) {
    this.#options = options;
    this.#data = new PageData(options, (id, bytes) => this.#blocks.set(id, bytes), options.first);
  }

  /** The number of the next block. */
  get next(): number {
    return this.#data.next;
  }

  /** Shows a trial that has ended, in place of an earlier run of it, or counts one that is not needed. */
  see(result: Trial | SkippedTrial, summary?: TrialSummary): void {
    this.#state = undefined;
    if (result.kind === "needless") {
      this.#reasons.set(result.reason, 1 + (this.#reasons.get(result.reason) ?? 0));
      return;
    }
    this.#data.add(result);
    this.#trials.set(result.id, summary ?? summarize(result));
  }

  /** Shows the whole report of these trials from now on; `undefined` while more are to come. */
  end(report: Report | undefined, trials: readonly { readonly id: string }[]): void {
    this.#report = report &&
      { report: report.withNames(pageNames(report)), ids: new Set(trials.map(({ id }) => id)) };
    [this.#head, this.#state] = [undefined, undefined];
  }

  /**
   * Serves the page until it is disposed of, and returns its address.
   *
   * @throws {InputError} If nothing can listen.
   */
  async serve(): Promise<string> {
    this.#server = await servePage((name) => this.find(name));
    return this.#server.url;
  }

  /** Ends the server once pages that are open have got the report. */
  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined && this.#report !== undefined) await this.#given();
    await server?.[Symbol.asyncDispose]();
  }

  async #given(): Promise<void> {
    const began = SYSTEM_CLOCK.now();
    if (began - this.#asked.last > OPEN) return;
    for (let left = 0; left < MOST_LEFT; left = SYSTEM_CLOCK.now() - began) {
      if (left >= LEAST_LEFT && this.#asked.owed <= 0) return;
      await SYSTEM_CLOCK.pause(50);
    }
  }

  /** Returns what is served under a name; `undefined` if nothing is. */
  async find(name: string): Promise<Served | undefined> {
    const binary = { type: "text/plain; charset=utf-8", gzip: true };
    if (name === "") return await this.#page();
    if (name === "state") return this.#stand();
    if (name === "graphviz") return { ...binary, body: compressed((await this.#start()).graphviz) };
    if (name === "index") {
      // A block that was sent must not grow.
      this.#data.flush();
      return { ...binary, body: this.#data.index(this.#scope(), this.#report?.ids) };
    }
    const body = this.#blocks.get(name);
    return body && { ...binary, body };
  }

  async #page(): Promise<Served> {
    const ended = this.#report;
    const head = await this.#start();
    const parts = [head.html];
    if (ended !== undefined) {
      const { report, ids } = ended;
      this.#data.flush();
      for (const [id, bytes] of this.#blocks) parts.push(dataBlock(id, bytes));
      parts.push(...pageEnd(this.#data, report, head, ids));
      this.#asked.owed--;
    }
    return { type: "text/html; charset=utf-8", body: parts.join(""), policy: head.policy };
  }

  #start(): Promise<PageHead> {
    if (this.#report !== undefined) return this.#head ??= reportHead(this.#report.report);
    const { suite, planned } = this.#options;
    const scope = this.#scope();
    const live = html`
      <section class="section" id="live">
        <div id="state" role="status"></div>
        <p class="faint">
          This page grows while trials come in, and shows the whole report once all of them have ended. Until then it
          has no rates and no verdict: who stops a run by these is wrong more often than they say. Of a run that was
          cut short the command report shows what there is.
        </p>
      </section>
    `;
    return this.#head ??= pageHead({
      suite,
      about: countText(planned.length, "planned trial"),
      subjects: scope.subjects,
      main: [live, trialSection(scope)],
      served: true,
    });
  }

  /** What the index needs: the report, or as much of it as the plan says. */
  #scope(): PageScope {
    if (this.#report !== undefined) return this.#report.report;
    const { planned } = this.#options;
    const simulated = new Set(
      [...this.#trials.values()].filter(({ model }) => model.simulated)
        .map((trial) => variantKey(variantOf(trial))),
    );
    const subjects = byVariant(planned, (one) => one)
      .map(({ subject }) => ({ subject, simulated: simulated.has(variantKey(subject)) }));
    const { shorten } = pageNames({ subjects });
    const { one: unit } = unitNames(planned.map(({ task }) => task));
    return {
      ...{ subjects, unit, comparisons: [], words: reportWords({ unit, trials: planned }) },
      nameOf: ({ subject, simulated }) =>
        variantLabel({ ...subject, model: shorten(subject.model) }, simulated),
    };
  }

  #stand(): Served {
    this.#asked.last = SYSTEM_CLOCK.now();
    const ended = this.#report !== undefined;
    if (ended) this.#asked.owed++;
    const body = JSON.stringify({ ...this.#state ??= this.#told(), ended });
    return { type: "application/json", body, tag: sha256(body) };
  }

  /** How the run stands, in words. */
  #told(): State {
    const { planned, prices = {} } = this.#options;
    const trials = [...this.#trials.values()];
    const { solved, unsolved } = this.#scope().words;
    const good = trials.filter(({ outcome }) => outcome === OUTCOMES[0]).length;
    const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
    const tokens = sum(
      trials.map(spentUsage),
      ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    );
    const usd = costOfAll(trials, prices);
    let [first, last] = [Infinity, -Infinity];
    for (const { startedAt, durationMs } of trials) {
      const start = Date.parse(startedAt);
      if (Number.isNaN(start) || !isDuration(durationMs)) continue;
      [first, last] = [Math.min(first, start), Math.max(last, start + durationMs)];
    }
    const needless = sum([...this.#reasons.values()], (count) => count);
    return {
      text: [
        `${grouped(trials.length)} of ${grouped(planned.length)} trials have ended: ` +
        `${grouped(good)} ${solved}, ${grouped(trials.length - good - invalid)} ${unsolved}, ` +
        `${grouped(invalid)} invalid`,
        ...(needless === 0 ? [] : [`${grouped(needless)} not run`]),
        ...(first > last ? [] : [duration((last - first) / 1000)]),
        `${grouped(tokens)} tokens`,
        ...(usd === null || trials.length === 0 ? [] : [dollars(usd)]),
      ].join("; "),
      notes: [
        ...(simulatedIn(trials) ? ["With simulated models."] : []),
        ...[...this.#reasons].map(([reason, count]) =>
          printable(`${countText(count, "trial")} not run: ${reason}`, 1_000)
        ),
      ],
    };
  }
}
