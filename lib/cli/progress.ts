/**
 * Progress of a run on a screen: a bar on a terminal, a plain line now and then elsewhere.
 * @module
 */

// Loaded where there is a terminal.
// @ts-types="npm:@types/cli-progress@^3"
import defer * as bars from "cli-progress";
import { type Clock, SYSTEM_CLOCK } from "../base/clock.ts";
import { environmentVariable } from "../base/environment.ts";
import { printable } from "../base/json.ts";
import { terminalColumns } from "../base/terminal_width.ts";
import { describeStatus, drawStatus, LINE_PAUSE, RunProgress } from "../reports/progress.ts";
import type { Plan } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
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

/** Shows the progress of a run, from {@linkcode Progress.start} to {@linkcode Progress.stop}. */
export class Progress {
  readonly #screen: Screen;
  readonly #clock: Clock;
  readonly #progress: RunProgress;
  #run: Pick<Run, "trials" | "inFlight"> | undefined;
  #bar: bars.SingleBar | undefined;
  /** Whether an invalid trial was reported. */
  #warned = false;
  #began = 0;
  /** Stops the wait for the next plain line. */
  #stopLines = () => {};

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
    const screen = this.#screen;
    if (!screen.isTerminal) return this.#waitForLine();
    this.#bar = new bars.SingleBar({
      format: () => drawStatus(this.#progress.status(run, this.#began), screen.width() - 1),
      stream: lineStream(screen),
      fps: 1000 / PAUSE,
      hideCursor: true,
      // The command has its own way to end at an interrupt.
      gracefulExit: false,
    });
    this.#bar.start(run.trials.length, 0);
  }

  /** Writes a line; the bar continues below it. */
  note(line: string): void {
    const start = this.#bar === undefined ? "" : CLEARED;
    this.#screen.write(`${start}${line}\n`);
  }

  /** Shows the last figures, and restores the terminal. */
  stop(): void {
    if (this.#run === undefined) return;
    this.#stopLines();
    if (this.#bar !== undefined) this.#bar.stop();
    else if (this.#progress.done > 0) this.#printLine(this.#run);
    this.#run = undefined;
    this.#bar = undefined;
  }

  #waitForLine(): void {
    this.#stopLines = this.#clock.after(LINE_PAUSE, () => {
      this.#printLine(this.#run!);
      this.#waitForLine();
    });
  }

  #printLine(run: Pick<Run, "trials" | "inFlight">): void {
    this.#screen.write(`${describeStatus(this.#progress.status(run, this.#began))}\n`);
  }
}

/** Clears the line and moves the cursor to its start. */
const CLEARED = "\r\x1b[K";

/** Sequences that save and restore the cursor; after scrolling the saved position is another line. */
const POSITION = ["\x1b7", "\x1b8"];

/** Adapts a screen to the stream that `cli-progress` writes to. */
function lineStream(screen: Screen): NonNullable<bars.Options["stream"]> {
  const stream = {
    isTTY: true,
    write(text: string) {
      if (!POSITION.includes(text)) screen.write(text);
      return true;
    },
  };
  return stream as unknown as NonNullable<bars.Options["stream"]>;
}

const USUAL_WIDTH = 80;

function standardError(): Screen {
  const dumb = environmentVariable("TERM") === "dumb";
  return {
    isTerminal: Deno.stderr.isTerminal() && !dumb,
    width: () => terminalColumns() ?? USUAL_WIDTH,
    write(text) {
      const bytes = new TextEncoder().encode(text);
      for (let written = 0; written < bytes.length;) {
        written += Deno.stderr.writeSync(bytes.subarray(written));
      }
    },
  };
}
