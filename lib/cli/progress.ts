/**
 * Progress: how far a run has come, as a bar on a terminal and as a few plain lines elsewhere.
 * @module
 */

// @ts-types="npm:@types/cli-progress@^3"
import { type Options, SingleBar } from "cli-progress";
import { printable } from "../base/json.ts";
import { modelName } from "../models/entry.ts";
import { costOfAll, spentUsage } from "../models/prices.ts";
import { scoringKey } from "../trials/executors/question.ts";
import { isQuestion } from "../trials/executors/task_kind.ts";
import type { Plan } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import { wilson } from "../statistics/proportions.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { percent } from "../base/numbers.ts";

/** Where a run stands. */
export interface Standing {
  /** Trials that it has, without those that turned out not to be needed. */
  readonly total: number;
  /** Trials that have ended, those of a resumed journal included. */
  readonly done: number;
  /** Trials that the journal had already. */
  readonly resumed: number;
  readonly solved: number;
  /**
   * Whether an interval may stand beside the share that is solved: that of several models is no rate of
   * anything, and trials of one graph are not independent.
   */
  readonly bounded: boolean;
  readonly invalid: number;
  /** Trials that have begun and not ended. */
  readonly inFlight: number;
  /** Tokens read and written. */
  readonly tokens: number;
  /** US dollars; `undefined` where a model has no price. */
  readonly usd: number | undefined;
  /** Since the run began. */
  readonly seconds: number;
}

/** Seconds that a run will still take at the pace so far; `undefined` when nobody can tell. */
export function secondsLeft({ total, done, resumed, seconds }: Standing): number | undefined {
  // What the journal had already says nothing about the pace.
  const ran = done - resumed;
  return ran <= 0 ? undefined : seconds * (total - done) / ran;
}

/** A standing in words. */
export function describeStanding(standing: Standing): string {
  const { total, done, solved, bounded, invalid, inFlight, tokens, usd } = standing;
  const valid = done - invalid;
  const { lower, upper } = wilson(solved, Math.max(1, valid));
  const interval = bounded ? `, 95% interval ${percent(lower)} to ${percent(upper)}` : "";
  const rate = valid === 0 ? "" : ` (${percent(solved / valid)}${interval})`;
  const left = secondsLeft(standing);
  return [
    `${done}/${total} trials`,
    `${solved} solved${rate}`,
    `${invalid} invalid`,
    ...(done < total ? [`${inFlight} in flight`] : []),
    `${tokens} tokens`,
    ...(usd === undefined ? [] : [dollars(usd)]),
    ...(left === undefined || done >= total ? [] : [`${duration(left)} left`]),
  ].join(", ");
}

/** Columns of a bar, on narrow screens and on wide ones: one that varied would flicker. */
const [SHORT_BAR, LONG_BAR, WIDE] = [10, 20, 100];

/** A standing as one line of at most `width` columns: a bar, and what there is room for beside it. */
export function drawStanding(standing: Standing, width: number): string {
  const { total, done, solved, bounded, invalid, inFlight, tokens, usd } = standing;
  const valid = done - invalid;
  const { lower, upper } = wilson(solved, Math.max(1, valid));
  const interval = bounded ? ` (${whole(lower)}-${whole(upper)}%)` : "";
  const left = secondsLeft(standing);
  const share = total === 0 ? 1 : done / total;
  // The last ones go first where room is short.
  const parts = [
    `${Math.floor(100 * share)}% ${done}/${total}`,
    ...(valid === 0 ? [] : [`${whole(solved / valid)}% solved${interval}`]),
    ...(left === undefined || done >= total ? [] : [`${duration(left)} left`]),
    `${invalid} invalid`,
    ...(usd === undefined ? [] : [dollars(usd)]),
    ...(done < total ? [`${inFlight} in flight`] : []),
    `${shortNumber(tokens)} tokens`,
  ];
  const length = width < WIDE ? SHORT_BAR : LONG_BAR;
  const full = Math.floor(share * length);
  const bar = `[${"=".repeat(full)}${"-".repeat(length - full)}] `;
  while (parts.length > 1 && bar.length + parts.join("  ").length > width) parts.pop();
  return (bar + parts.join("  ")).slice(0, width);
}

function whole(share: number): number {
  return Math.round(100 * share);
}

/** Made when it is first needed: the rules of a language take long to load. */
let short: Intl.NumberFormat | undefined;

function shortNumber(number: number): string {
  short ??= new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  return short.format(number);
}

function dollars(usd: number): string {
  return `$${usd.toFixed(2)}`;
}

function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Where progress is shown. */
export interface Screen {
  /** Whether lines can be drawn over. */
  readonly isTerminal: boolean;
  /** Its columns at the moment. */
  width(): number;
  write(text: string): void;
}

/** Plain lines of a run, beside the last one. */
const MOST_LINES = 10;
/** Milliseconds between two drawings of the bar. */
const PAUSE = 100;

/** Shows how far a run has come, from {@linkcode Progress.start} to {@linkcode Progress.stop}. */
export class Progress {
  readonly #screen: Screen;
  readonly #plan: Pick<Plan, "prices">;
  readonly #bounded: boolean;
  readonly #counts = { done: 0, resumed: 0, solved: 0, invalid: 0, tokens: 0, needless: 0 };
  /** US dollars so far; `null` once they cannot be told. */
  #usd: number | null;
  #run: Pick<Run, "trials" | "inFlight"> | undefined;
  #bar: SingleBar | undefined;
  /** Whether an invalid trial was told of. */
  #warned = false;
  #began = 0;
  /** How many trials had ended when the last plain line was written, and the step to the next one. */
  #told = 0;
  #step = 1;

  /** For a run of `plan`. */
  constructor(plan: Pick<Plan, "resolved" | "prices">, screen: Screen = standardError()) {
    this.#plan = plan;
    this.#screen = screen;
    const { prices = {}, resolved } = plan;
    const { models, strategies, perturbations, repetitions, cells } = resolved;
    const ways = new Set(cells.flatMap((cell) => isQuestion(cell) ? [scoringKey(cell)] : []));
    this.#bounded = repetitions === 1 && ways.size <= 1 &&
      [models, strategies, perturbations].every(({ length }) => length === 1);
    const priced = resolved.models.every((entry) => Object.hasOwn(prices, modelName(entry)));
    this.#usd = priced ? 0 : null;
  }

  /** Counts a trial that has ended, or turned out not to be needed. */
  count(trial: TrialSummary | SkippedTrial, resumed: boolean): void {
    const counts = this.#counts;
    if (trial.kind === "needless") {
      counts.needless++;
      return;
    }
    const { outcome, solved } = trial;
    const { inputTokens, outputTokens } = spentUsage(trial);
    counts.done++;
    if (resumed) counts.resumed++;
    if (solved) counts.solved++;
    if (outcome === "invalid") counts.invalid++;
    counts.tokens += inputTokens + outputTokens;
    const cost = costOfAll([trial], this.#plan.prices ?? {});
    this.#usd = this.#usd === null || cost === null ? null : this.#usd + cost;
    // Whoever forgot a key or a permission should not have to wait for the end to hear of it.
    if (outcome === "invalid" && !resumed && !this.#warned) {
      this.#warned = true;
      this.note(`A first trial is invalid: ${printable(trial.reason ?? "unknown", 300)}`);
    }
    if (this.#run === undefined || this.#bar !== undefined) return;
    if (counts.done >= this.#told + this.#step) this.#tell();
  }

  /** Begins to show the progress of `run`. */
  start(run: Pick<Run, "trials" | "inFlight">): void {
    this.#run = run;
    this.#began = performance.now();
    this.#told = this.#counts.done;
    this.#step = Math.max(1, Math.ceil((run.trials.length - this.#told) / MOST_LINES));
    const screen = this.#screen;
    if (!screen.isTerminal) return;
    this.#bar = new SingleBar({
      format: () => drawStanding(this.#standing(), screen.width() - 1),
      stream: lineStream(screen),
      fps: 1000 / PAUSE,
      hideCursor: true,
      // The command has its own way to end at an interrupt.
      gracefulExit: false,
    });
    this.#bar.start(run.trials.length, 0);
  }

  /** Writes a line; a bar goes on below it. */
  note(line: string): void {
    const start = this.#bar === undefined ? "" : CLEARED;
    this.#screen.write(`${start}${line}\n`);
  }

  /** Shows the last figures, and gives the terminal back as it was. */
  stop(): void {
    if (this.#run === undefined) return;
    const { done, resumed } = this.#counts;
    if (this.#bar !== undefined) this.#bar.stop();
    else if (this.#told < done || (done > 0 && done === resumed)) this.#tell();
    this.#run = undefined;
    this.#bar = undefined;
  }

  #standing(): Standing {
    const { needless, ...counts } = this.#counts;
    return {
      ...counts,
      total: this.#run!.trials.length - needless,
      bounded: this.#bounded,
      inFlight: this.#run!.inFlight,
      usd: this.#usd ?? undefined,
      seconds: (performance.now() - this.#began) / 1000,
    };
  }

  #tell(): void {
    this.#told = this.#counts.done;
    this.#screen.write(`${describeStanding(this.#standing())}\n`);
  }
}

/** Puts the cursor to the start of an empty line. */
const CLEARED = "\r\x1b[K";

/** Where the cursor is saved and restored as a position, which is another line once the screen scrolls. */
const POSITION = ["\x1b7", "\x1b8"];

/** A screen as the library writes to it. */
function lineStream(screen: Screen): NonNullable<Options["stream"]> {
  const stream = {
    isTTY: true,
    write(text: string) {
      if (!POSITION.includes(text)) screen.write(text);
      return true;
    },
  };
  return stream as unknown as NonNullable<Options["stream"]>;
}

const USUAL_WIDTH = 80;

function standardError(): Screen {
  const { state } = Deno.permissions.querySync({ name: "env", variable: "TERM" });
  const dumb = state === "granted" && Deno.env.get("TERM") === "dumb";
  return {
    isTerminal: Deno.stderr.isTerminal() && !dumb,
    width() {
      try {
        return Deno.consoleSize().columns || USUAL_WIDTH;
      } catch {
        return USUAL_WIDTH;
      }
    },
    write(text) {
      const bytes = new TextEncoder().encode(text);
      for (let written = 0; written < bytes.length;) {
        written += Deno.stderr.writeSync(bytes.subarray(written));
      }
    },
  };
}
