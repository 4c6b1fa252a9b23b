/**
 * Journal files: a plan line followed by trials.
 * @module
 */

import { assertShallow, assertVersion, parseWith } from "../../base/input.ts";
import { cannot, InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonValue } from "../../base/json.ts";
import { type JournalEnd, journalLines, type JournalPlace, readLineAgain } from "./jsonl.ts";
import { DECLARED_RULE, isAltered, parsePlanLine, type PlanLine } from "./plan_line.ts";
import { type Trial, TRIAL_LINE } from "../../trials/trial.ts";
import { inPlaceOf, replacing, summarize, type TrialSummary } from "../../trials/summary.ts";
import { KeptValues } from "./_kept_values.ts";

/** A journal with its lines checked. */
export interface JournalFile {
  readonly path: string;
  /** The end of the file. */
  readonly end: JournalEnd;
  /** The plan line; `undefined` in journals written by other tools. */
  readonly plan: PlanLine | undefined;
  /** Whether its plan line was changed after it was written, so that it declares something else now. */
  readonly altered: boolean;
  /**
   * Summaries of the trials. Of several lines with one id the last counts, as invalid trials may be run
   * again.
   */
  readonly trials: readonly TrialSummary[];
  /** The place of each trial, by its id: see {@linkcode wholeTrial}. */
  readonly places: ReadonlyMap<string, JournalPlace>;
  /** The parts of transcripts that its lines share. */
  readonly values: KeptValues;
  /** The id of a trial that was run again although its first run was valid. */
  readonly doubled: string | undefined;
  /** Why the run ended early, according to the last line. */
  readonly ends: string | undefined;
  /** What deriving its trials again came to; omitted where they were not derived while it was read. */
  readonly derived?: DerivedTrials;
}

/**
 * What deriving the trials of a journal again came to, all of which agree with their events: the number of those
 * that stand as recorded although their truth is data, by the reason.
 */
export type DerivedTrials = ReadonlyMap<string, number>;

/** A trial of a journal, with the number of its line and the plan before it. */
export interface TrialLine {
  readonly trial: Trial;
  readonly line: number;
  readonly plan: PlanLine | undefined;
}

/**
 * Reads and checks one journal.
 *
 * @throws {InputError} If it is invalid; the message has the file, the line, the path in it and the rule.
 */
export function readJournalFile(path: string): JournalFile {
  const lines = readTrialLines(path);
  for (;;) {
    const { done, value } = lines.next();
    if (done) return value;
  }
}

/**
 * Reads and checks one journal; yields each trial line on the way, also of trials that were run again.
 *
 * @throws {InputError} Like {@linkcode readJournalFile}.
 */
export function* readTrialLines(path: string): Generator<TrialLine, JournalFile, void> {
  let plan: PlanLine | undefined;
  let altered = false;
  const trials = new Map<string, TrialSummary>();
  const places = new Map<string, JournalPlace>();
  const values = new KeptValues(path);
  let doubled: string | undefined;
  let ends: string | undefined;
  let first = true;
  using lines = journalLines(path);
  let next = lines.next();
  for (; !next.done; next = lines.next()) {
    const { value, ...place } = next.value;
    const source = `${path}, line ${place.line}`;
    if (lineKind(value) === "plan") {
      if (!first) throw new InputError(`Cannot use ${source}: only the first line can be a plan`);
      plan = parsePlanLine(value, source);
      altered = isAltered(value);
    } else if (lineKind(value) !== "trial") {
      throw new InputError(
        `Cannot use ${source}: it is no line of a journal, whose kind is "plan" or "trial"`,
      );
    } else {
      const whole = parseTrial(value, source);
      const trial = summarize(whole);
      const before = trials.get(trial.id);
      if (before !== undefined && before.outcome !== "invalid") doubled ??= trial.id;
      trials.set(trial.id, before === undefined ? trial : inPlaceOf(trial, replacing(before)));
      places.set(trial.id, place);
      values.note(value, place);
      ends = trial.ends;
      yield { trial: whole, line: place.line, plan };
    }
    first = false;
  }
  const end = next.value;
  return { path, end, plan, altered, trials: [...trials.values()], places, values, doubled, ends };
}

/**
 * Reads only the plan of a journal; returns `undefined` if its first line is none.
 *
 * @throws {InputError} If it is invalid, or was changed after it was written; the message has the file, the
 * line, the path in it and the rule.
 */
export function readPlanLine(path: string): PlanLine | undefined {
  for (const { value, line } of journalLines(path)) {
    if (lineKind(value) !== "plan") return undefined;
    const plan = parsePlanLine(value, `${path}, line ${line}`);
    if (!isAltered(value)) return plan;
    throw cannot(`use ${path}, line ${line}`, DECLARED_RULE, "it was changed");
  }
}

/** Returns the name of the suite in the first line of a journal, unchecked; `undefined` if that has none. */
export function suiteOf(path: string): string | undefined {
  for (const { value } of journalLines(path)) {
    const { suite } = isJsonObject(value) ? value : {};
    return typeof suite === "string" ? suite : undefined;
  }
}

/**
 * Yields the whole trials of a journal in the order of their lines, those that were there when it was read and count.
 *
 * @throws {InputError} If the journal has changed since it was read.
 */
export function* journalTrials(
  { path, places, values }: Pick<JournalFile, "path" | "places" | "values">,
): Generator<Trial, void, void> {
  for (const { value, line } of journalLines(path)) {
    if (lineKind(value) !== "trial") continue;
    const trial = parseTrial(value, `${path}, line ${line}`);
    if (places.get(trial.id)?.line === line) yield values.complete(trial);
  }
}

/**
 * Reads one trial of a journal again, with all of its fields.
 *
 * @throws {InputError} If the journal has changed since it was read.
 */
export function wholeTrial(path: string, place: JournalPlace): Trial {
  return parseTrial(readLineAgain(path, place), `${path}, line ${place.line}`);
}

/** Parses a trial line. Only its events are traversed; fields of other tools are not. */
function parseTrial(value: JsonValue, source: string): Trial {
  assertShallow(value, source);
  assertVersion(value, source);
  return parseWith(TRIAL_LINE, value, source);
}

function lineKind(value: JsonValue): unknown {
  return isJsonObject(value) ? value["kind"] : undefined;
}
