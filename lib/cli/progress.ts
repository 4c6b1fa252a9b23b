/**
 * Progress of a run on a screen: a bar on a terminal, a plain line now and then elsewhere.
 * @module
 */

import { type Clock, SYSTEM_CLOCK } from "../base/clock.ts";
import { environmentVariable } from "../base/environment.ts";
import { printable } from "../base/json.ts";
import { writeAll } from "../base/output_file.ts";
import { terminalColumns } from "../base/terminal_width.ts";
import { describeStatus, drawStatus, LINE_PAUSE, RunProgress } from "../reports/progress.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import type { Plan } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** The output that progress is written to. */
export interface Screen {
  /** Whether lines can be overwritten. */
  readonly isTerminal: boolean;
  /** Returns the current number of columns. */
  width(): number;
  write(text: string): void;
}

/** Milliseconds between two drawings of the bar. */
const PAUSE = 100;

/** Hide the cursor and break no line, and take both back. */
const [BEGIN, END] = ["\x1b[?25l\x1b[?7l", "\x1b[?25h\x1b[?7h"];
/** Moves the cursor to the start of its line, and clears it. */
const CLEARED = "\r\x1b[K";

/** Shows the progress of a run, from {@linkcode Progress.start} to {@linkcode Progress.stop}. */
export class Progress {
  readonly #screen: Screen;
  readonly #clock: Clock;
  readonly #progress: RunProgress;
  #run: Pick<Run, "trials" | "inFlight"> | undefined;
  /** Whether an invalid trial was reported. */
  #warned = false;
  #began = 0;
  /** Stops the wait for the next line or drawing. */
  #stopWaiting = () => {};

  /** For a run of `plan`. */
  constructor(
    plan: Pick<Plan, "resolved" | "prices" | "budget">,
    screen: Screen = standardError(),
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#progress = new RunProgress(plan);
    this.#screen = screen;
    this.#clock = clock;
  }

  /** Counts a trial that has ended, or turned out not to be needed. */
  count(trial: TrialSummary | SkippedTrial, resumed: boolean): void {
    const note = this.#progress.count(trial, resumed);
    if (note !== undefined) this.note(note);
    if (trial.kind === "needless" || trial.outcome !== "invalid") return;
    // Reported at once, as a forgotten key or permission would spoil the whole run.
    if (resumed || this.#warned) return;
    this.#warned = true;
    this.note(`A first trial is invalid: ${printable(trial.reason ?? "unknown", 300)}`);
  }

  /** Begins to show the progress of `run`. */
  start(run: Pick<Run, "trials" | "inFlight">): void {
    this.#run = run;
    this.#began = performance.now();
    if (this.#screen.isTerminal) {
      this.#screen.write(BEGIN);
      this.#show();
    }
    this.#wait();
  }

  /** Writes a line; the bar continues below it. */
  note(line: string): void {
    const isDrawn = this.#run !== undefined && this.#screen.isTerminal;
    this.#screen.write(`${isDrawn ? CLEARED : ""}${line}\n`);
  }

  /** Shows the last figures, and restores the terminal. */
  stop(): void {
    if (this.#run === undefined) return;
    this.#stopWaiting();
    const { isTerminal } = this.#screen;
    if (isTerminal || this.#progress.done > 0) this.#show();
    if (isTerminal) this.#screen.write(`${END}\n`);
    this.#run = undefined;
  }

  #wait(): void {
    this.#stopWaiting = this.#clock.after(this.#screen.isTerminal ? PAUSE : LINE_PAUSE, () => {
      this.#show();
      this.#wait();
    });
  }

  #show(): void {
    const screen = this.#screen;
    const status = this.#progress.status(this.#run!, this.#began);
    screen.write(
      screen.isTerminal
        ? CLEARED + drawStatus(status, screen.width() - 1)
        : `${describeStatus(status)}\n`,
    );
  }
}

const USUAL_WIDTH = 80;

function standardError(): Screen {
  const isDumb = environmentVariable("TERM") === "dumb";
  return {
    isTerminal: Deno.stderr.isTerminal() && !isDumb,
    width: () => terminalColumns() ?? USUAL_WIDTH,
    write: (text) => writeAll(Deno.stderr, text),
  };
}
