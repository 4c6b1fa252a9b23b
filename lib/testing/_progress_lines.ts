/**
 * Progress under `deno test`: a line now and then. What is printed belongs to whichever test is running, so that the
 * test prints it that waits for its trial.
 * @module
 */

import { SYSTEM_CLOCK } from "../base/clock.ts";
import { terminalColumns } from "../base/terminal_width.ts";
import {
  describeStatus,
  drawStatus,
  FIRST_PAUSE,
  LINE_PAUSE,
  RunProgress,
} from "../reports/progress.ts";
import type { Plan } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";

/** Tells how the run of a benchmark stands. */
export class ProgressLines extends RunProgress {
  readonly #name: string;
  #run: Pick<Run, "trials" | "inFlight"> | undefined;
  #began = 0;
  /** When the next line is due. */
  #due = 0;

  /** For a run of `plan`. */
  constructor(name: string, plan: Plan) {
    super(plan);
    this.#name = name;
  }

  /** Begins to count the time of a run, unless it has begun. */
  begin(run: Pick<Run, "trials" | "inFlight">): void {
    if (this.#run !== undefined) return;
    this.#run = run;
    this.#began = performance.now();
    this.#due = SYSTEM_CLOCK.now() + FIRST_PAUSE;
  }

  /** Awaits the work of a test, and prints the lines that come due. */
  async during<T>(work: Promise<T>): Promise<T> {
    let stop = () => {};
    const wait = () => {
      stop = SYSTEM_CLOCK.after(Math.max(0, this.#due - SYSTEM_CLOCK.now()), () => {
        this.#tell();
        wait();
      });
    };
    wait();
    try {
      return await work;
    } finally {
      stop();
      // Trials that are never waited for long leave no time to a timer.
      if (SYSTEM_CLOCK.now() >= this.#due) this.#tell();
    }
  }

  #tell(): void {
    this.#due = SYSTEM_CLOCK.now() + LINE_PAUSE;
    console.log(this.#line());
  }

  #line(): string {
    const status = this.status(this.#run!, this.#began);
    const width = terminalColumns();
    return width === undefined
      ? `${this.#name}: ${describeStatus(status)}`
      : drawStatus(status, width - 1);
  }
}
