/**
 * Failed trials of a run: the first mistake of each and how to run it again, at most ten, and how many more
 * there are.
 * @module
 */

import type { Trial } from "../trials/trial.ts";
import { printable, printableEnds } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { isCase } from "../tasks/task_kind.ts";
import { canCall } from "./cells.ts";
import { changeLines, describeInvalid, eventLines, firstFailure, shownLines } from "./story.ts";
import { describeCause } from "../calls/failure_types.ts";
import type { ShowText } from "./story_lines.ts";
import { describeAssertion } from "./_transcript_text.ts";
import { failedAssertion } from "../trials/why_unsolved.ts";

/** At most this many failures are shown. */
const MAX_FAILURES = 10;
/** At most this many where the gate passed: an example of what it allows. */
const MAX_EXAMPLES = 1;
/** At most this many of a suite of tests, each of another test. */
const MAX_TEST_EXAMPLES = 3;

/** What a few lines tell of a failed trial. */
export interface ToldFailure {
  /** How it ended, and its first mistake. */
  readonly ending: string;
  /** The command that runs it again; its id where there is no such command. */
  readonly rerun: string;
  /** What its transcript holds; empty without one. */
  readonly about: readonly string[];
}

/** At most this many characters tell of one failure. */
const MAX_ENDING = 240;

/** A failure with what it takes to tell it. */
interface KeptFailure {
  readonly ending: string;
  readonly rerun: string;
  /** What its model was shown, which is the same in many trials. */
  readonly shown: readonly string[];
  /** What happened, from its transcript. */
  readonly own: readonly string[];
  /** Which failure of its test it is, from 1; always 1 for generated tasks. */
  readonly nth: number;
  readonly isTest: boolean;
}

/** The failed trials of one run. */
export class FailedTrials {
  /** The first of each test, then the second ones: a test with many failures hides no other. */
  #kept: readonly KeptFailure[] = [];
  readonly #ids = new Set<string>();
  readonly #ofTest = new Map<string, number>();
  /** Number of those taken over, whose ids may be the same. */
  #others = 0;
  /** Whether all are of own tests. */
  #areTests = true;

  /** Counts a failed trial, once. */
  add(trial: Trial, rerun?: string): void {
    if (this.#ids.has(trial.id)) return;
    this.#ids.add(trial.id);
    const { task } = trial;
    const isTest = isCase(task);
    this.#areTests &&= isTest;
    // A suite has many tests, and each is known by its name.
    const test = isTest ? `${printable(task.case, 60)}: ` : "";
    const nth = isTest ? (this.#ofTest.get(task.case) ?? 0) + 1 : 1;
    if (isTest) this.#ofTest.set(task.case, nth);
    if (!this.#hasPlace(nth)) return;
    this.#keep([{
      ending: test + printable(endingOf(trial, { cause: true }), MAX_ENDING),
      ...aboutTrial(trial),
      rerun: rerun === undefined ? printable(trial.id, 500) : `rerun: ${rerun}`,
      ...{ nth, isTest },
    }]);
  }

  #hasPlace(nth: number): boolean {
    return this.#kept.length < MAX_FAILURES || this.#kept.at(-1)!.nth > nth;
  }

  #keep(failures: readonly KeptFailure[]): void {
    this.#kept = [...this.#kept, ...failures].toSorted((one, other) => one.nth - other.nth)
      .slice(0, MAX_FAILURES);
  }

  /** Takes over the failures of other trials. */
  takeOver(others: FailedTrials): void {
    this.#others += others.count;
    this.#areTests &&= others.#areTests;
    this.#keep(others.#kept);
  }

  /** The number of failed trials. */
  get count(): number {
    return this.#ids.size + this.#others;
  }

  /** Says how many there are. */
  get title(): string {
    return `${countText(this.count, "trial")} ${this.#areTests ? "failed" : "not solved"}`;
  }

  /**
   * Returns the failures to show: few where all is well, as a gate that passed allows for some. What a model was
   * shown is repeated for no other trial that has the same.
   */
  told(isWell: boolean): readonly ToldFailure[] {
    const told = new Set<string>();
    return this.#shown(isWell).map(({ ending, rerun, shown, own }) => {
      if (isWell) return { ending, rerun, about: [] };
      const key = shown.join("\n");
      const about = told.has(key) ? own : [...shown, ...own];
      told.add(key);
      return { ending, rerun, about };
    });
  }

  #shown(isWell: boolean): readonly KeptFailure[] {
    if (!isWell) return this.#kept;
    const examples = this.#kept.filter(({ nth }) => nth === 1);
    return examples.slice(0, examples[0]?.isTest ? MAX_TEST_EXAMPLES : MAX_EXAMPLES);
  }

  /**
   * Says how many more there are than are shown; `undefined` if there are none.
   *
   * @param where How to see the others, such as `see results/quick.html`.
   */
  more(isWell: boolean, where?: string): string | undefined {
    const more = this.count - this.#shown(isWell).length;
    return more === 0 ? undefined : `and ${more} more${where === undefined ? "" : `: ${where}`}`;
  }

  /** Returns the failures as lines for a terminal, with what is known `about` each; none if there are none. */
  lines(isWell: boolean, where?: string, about = false): string[] {
    if (this.count === 0) return [];
    const more = this.more(isWell, where);
    return [
      this.title,
      ...this.told(isWell).flatMap((told) => [
        `  ${told.ending}`,
        ...(about ? told.about.map((line) => `    ${line}`) : []),
        `    ${told.rerun}`,
      ]),
      ...(more === undefined ? [] : [`  ${more}`]),
    ];
  }
}

/** At most this many texts of one kind tell of a failure. */
const MAX_TEXTS = 3;
/** At most this many characters of a line that does. */
const MAX_LINE = 300;

/** Returns the transcript of a case in a few lines. */
function aboutTrial(trial: Trial): Pick<KeptFailure, "shown" | "own"> {
  if (!isCase(trial.task)) return { shown: [], own: [] };
  const show: ShowText = (text, length = 200) => printable(text, length);
  const events = eventLines(trial.events, "brief", show);
  const of = (wanted: "text" | "judge") =>
    events.flatMap(({ kind, text }) => kind === wanted ? [text] : []);
  const own = [of("text"), of("judge"), changeLines(trial, show)].flatMap((lines) => {
    const more = lines.length - MAX_TEXTS;
    const last = `${lines[MAX_TEXTS - 1]}, and ${more} more`;
    return more > 0 ? [...lines.slice(0, MAX_TEXTS - 1), last] : lines;
  });
  const cut = (lines: readonly string[]) => lines.map((line) => printable(line.trim(), MAX_LINE));
  return { shown: cut(shownLines(trial, "brief", show)), own: cut(own) };
}

/** Whether a trial is to be counted among the failed ones: to abstain is right where no answer can be had. */
export function isFailed({ solved, outcome }: Pick<Trial, "solved" | "outcome">): boolean {
  return !solved && outcome !== "abstained";
}

/** Says in one line how a trial ended, and its first mistake; `cause` adds what was wrong there. */
function endingOf(trial: Trial, { cause }: { readonly cause: boolean }): string {
  const { outcome, calls, failures, events, changed } = trial;
  if (outcome === "invalid") return `invalid: ${describeInvalid(trial)}`;
  const root = firstFailure(failures);
  const failed = failedAssertion(trial);
  const answer = events.findLast((event) => event.kind === "answer");
  const said = answer?.text ?? "";
  const mistake = failed !== undefined
    ? describeAssertion(
      // The name of a step has no room for a place.
      cause ? failed : { ...failed, at: undefined },
      (text, length) => printable(text, length),
    )
    : root !== undefined
    ? `first mistake: call ${root.call} ${printable(root.function, 60)} ${root.type}` +
      (cause ? `: ${describeCause(root)}` : "")
    : changed === false
    ? "the perturbation found nothing to change"
    : outcome === "wrong_answer" && answer?.value !== null && answer?.value !== undefined
    ? `answered ${answer.value}`
    : said.trim() !== ""
    ? `said ${printable(JSON.stringify(said))}`
    : undefined;
  const after = canCall(trial) ? ` after ${countText(calls, "call")}` : "";
  // What follows from an agent that failed comes after it.
  const how = outcome === "agent_error"
    ? `${outcome}: ${agentReason(trial)}${after && `;${after}`}`
    : outcome + after;
  return how + (mistake === undefined ? "" : `, ${mistake}`);
}

/** At most this many characters tell why an agent failed: what a program wrote says it at its end. */
const MAX_REASON = 160;

function agentReason({ reason = "the agent threw" }: Trial): string {
  return printableEnds(reason, MAX_REASON);
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
  const unsolved = isCase(trial.task) ? "failed" : "not solved";
  const name = trial.outcome === "invalid" ? ending : `${unsolved}: ${ending}`;
  return printable(name, Math.min(MAX_STEP, width - BESIDE));
}
