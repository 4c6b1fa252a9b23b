/**
 * Failed trials of a run: the first mistake of each and how to run it again, at most ten, and how many more
 * there are.
 * @module
 */

import type { Trial } from "../trials/trial.ts";
import { printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { canCall } from "./metrics/metrics.ts";
import { describeCause, describeInvalid, failedAssertion, firstFailure } from "./story.ts";

/** At most this many failures are told. */
const MAX_FAILURES = 10;
/** At most this many where the gate passed: an example of what it allows. */
const MAX_EXAMPLES = 1;

/** What a few lines tell of a failed trial. */
export interface ToldFailure {
  /** How it ended, and its first mistake: with what was wrong there, unless all is well. */
  readonly ending: string;
  /** The command that runs it again; its id where there is no such command. */
  readonly rerun: string;
}

/** At most this many characters tell of one failure. */
const MAX_ENDING = 160;

/** The failed trials of one run. */
export class FailedTrials {
  /** The first of them, with a shorter ending. */
  readonly #told: (ToldFailure & { readonly brief: string })[] = [];
  readonly #ids = new Set<string>();
  /** Number of those taken over, whose ids may be the same. */
  #others = 0;

  /** Counts a failed trial, once. */
  add(trial: Trial, rerun?: string): void {
    if (this.#ids.has(trial.id)) return;
    this.#ids.add(trial.id);
    if (this.#told.length === MAX_FAILURES) return;
    this.#told.push({
      ending: printable(endingOf(trial, { cause: true }), MAX_ENDING),
      brief: printable(endingOf(trial, { cause: false }), MAX_ENDING),
      rerun: rerun === undefined ? printable(trial.id, 500) : `rerun: ${rerun}`,
    });
  }

  /** Takes over the failures of other trials. */
  takeOver(others: FailedTrials): void {
    this.#others += others.count;
    this.#told.push(...others.#told.slice(0, MAX_FAILURES - this.#told.length));
  }

  /** The number of failed trials. */
  get count(): number {
    return this.#ids.size + this.#others;
  }

  /** Returns the failures to tell: few where all is well, as a gate that passed allows for some. */
  told(isWell: boolean): readonly ToldFailure[] {
    if (!isWell) return this.#told;
    return this.#told.slice(0, MAX_EXAMPLES).map(({ brief, rerun }) => ({ ending: brief, rerun }));
  }

  /**
   * Says how many more there are than are told; `undefined` if there are none.
   *
   * @param where How to see the others, such as `see results/quick.html`.
   */
  more(isWell: boolean, where?: string): string | undefined {
    const more = this.count - this.told(isWell).length;
    return more === 0 ? undefined : `and ${more} more${where === undefined ? "" : `: ${where}`}`;
  }

  /** Returns the failures as lines for a terminal; none if there are none. */
  lines(isWell: boolean, where?: string): string[] {
    if (this.count === 0) return [];
    const more = this.more(isWell, where);
    return [
      `${countText(this.count, "trial")} not solved`,
      ...this.told(isWell).flatMap(({ ending, rerun }) => [`  ${ending}`, `    ${rerun}`]),
      ...(more === undefined ? [] : [`  ${more}`]),
    ];
  }
}

/** Whether a trial is to be counted among the failed ones: to abstain is right where no answer can be had. */
export function isFailed({ solved, outcome }: Pick<Trial, "solved" | "outcome">): boolean {
  return !solved && outcome !== "abstained";
}

/** Tells in one line how a trial ended, and its first mistake; `cause` adds what was wrong there. */
function endingOf(trial: Trial, { cause }: { readonly cause: boolean }): string {
  const { outcome, calls, failures, events, changed, reason } = trial;
  if (outcome === "invalid") return `invalid: ${describeInvalid(trial)}`;
  const root = firstFailure(failures);
  const failed = failedAssertion(trial);
  const answer = events.findLast((event) => event.kind === "answer");
  const said = answer?.text ?? "";
  const mistake = root !== undefined
    ? `first mistake: call ${root.call} ${printable(root.function, 60)} ${root.type}` +
      (cause ? `: ${describeCause(root)}` : "")
    : failed !== undefined
    ? `an assertion failed: ${printable(failed.message.split("\n")[0]!)}`
    : outcome === "agent_error"
    ? printable(reason ?? "the agent threw", 500)
    : changed === false
    ? "the perturbation found nothing to change"
    : outcome === "wrong_answer" && answer?.value !== null && answer?.value !== undefined
    ? `answered ${answer.value}`
    : said.trim() !== ""
    ? `said ${printable(JSON.stringify(said))}`
    : undefined;
  return outcome + (canCall(trial) ? ` after ${countText(calls, "call")}` : "") +
    (mistake === undefined ? "" : `, ${mistake}`);
}

/** At most this many characters of the name of a step. */
const MAX_STEP = 100;
/** What the runner writes beside that name. */
const BESIDE = "   ... ignored (10ms)".length;

/**
 * Names the step of a case that a gate decides over: how its trial ended, on one printable line that fits into
 * `width` columns.
 */
export function stepName(trial: Trial, width: number): string {
  const ending = endingOf(trial, { cause: false });
  const name = trial.outcome === "invalid" ? ending : `not solved: ${ending}`;
  return printable(name, Math.min(MAX_STEP, width - BESIDE));
}
