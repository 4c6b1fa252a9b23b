/**
 * Watches the models of a history for drift.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import {
  type CanaryDay,
  canaryLines,
  type CanaryPolicy,
  type CanaryVerdict,
  completeCanary,
  watchForDrift,
  whyUnused,
} from "../../gate/canary.ts";
import { isValid } from "../../gate/ceilings.ts";
import { type Unit, unitOf } from "../../gate/evidence.ts";
import {
  attemptOf,
  byGraph,
  graphKey,
  marked,
  type Variant,
  variantKey,
  variantName,
} from "../../gate/variant.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import { isGenerated, isProbe } from "../../tasks/task_kind.ts";
import {
  DECIDED,
  type PlannedResult,
  type RecordedSubject,
  resultsOf,
  type RunRecord,
  variantIn,
} from "../record.ts";
import { type HistoryPart, lastRelease, type Release } from "./history.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** The verdicts of a canary, as `canary --json` prints them. */
export interface CanaryReport {
  /** The version of this format. */
  readonly v: 1;
  /** The name of the suite. */
  readonly suite: string;
  /** The worst of the verdicts: an alarm, then an invalid one. */
  readonly verdict: CanaryVerdict["kind"];
  /** The exit code for it: 0 quiet, 1 alarm, 3 invalid. */
  readonly exitCode: 0 | 1 | 3;
  /** One for each model, strategy, perturbation and variant of the last release. */
  readonly watched: readonly WatchedModel[];
  /** What of the history was left out and why, one line each. */
  readonly leftOut: readonly string[];
}

/** How old the last day of a history may be. */
export interface AgeLimit {
  readonly now: Date;
  /** Days, above 0. */
  readonly maxAge: number;
}

/** The verdict on one served model. */
export interface WatchedModel extends Variant, CanaryVerdict {
  /** Whether a program stands in for the model. */
  readonly simulated: boolean;
  /** The served model. */
  readonly served: string;
  /** The name of the release that its days are compared with. */
  readonly release: string;
  /** The verdict as a paragraph. */
  readonly text: string;
  /** Its numbers, one per line. */
  readonly numbers: readonly string[];
}

const EXIT_CODES = { quiet: 0, alarm: 1, invalid: 3 } as const;

/**
 * Watches each variant of the last release whose tasks can be solved. All of them are one family: false alarms come in
 * at most 5% of years over all of them.
 *
 * @param age From when on the last day is too old to say anything of today. Default: it may be of any age.
 * @throws {InputError} If there is no release, none of its tasks can be solved, or the policy is unusable.
 */
export function watchHistory(
  part: HistoryPart,
  policy: CanaryPolicy,
  age?: AgeLimit,
): CanaryReport {
  const action = `watch the suite ${printable(part.suite, 100)}`;
  const release = lastRelease(part, action);
  const { coverage } = completeCanary(policy);
  // Of tasks that a perturbation left without an answer, or did not change, there is nothing to watch.
  const subjects = release.subjects.filter((own) =>
    !isRemoving(own.perturbation) && unitsOf(release, resultsOf(release, own)).length > 0
  );
  if (subjects.length === 0) {
    throw cannot(
      action,
      "some of the tasks of its last release must be solvable",
      "a perturbation removes what all of them need",
    );
  }
  const leftOut = new Set(part.leftOut);
  const watched = subjects.map((own): WatchedModel => {
    const found = daysOf(own, release, part, { coverage, leftOut });
    const { days } = found;
    const last = age &&
      (days.length === 0
        ? ageOf("the release", release.endedAt.slice(0, 10), age)
        : ageOf("the last day", days.at(-1)!.date, age));
    const lacking = found.lacking ?? part.lacking;
    const fault = lacking === undefined
      ? last?.fault
      : `the last record cannot be used: ${lacking}`;
    const results = resultsOf(release, own);
    const stopped = firstOpen(release, results) < Infinity;
    const complete = { ...policy, models: subjects.length, stopped };
    const seen = watchForDrift(unitsOf(release, results), days, complete);
    // Another run of the same day must not hide it.
    const verdict = fault === undefined || seen.kind === "alarm"
      ? seen
      : { ...seen, kind: "invalid" as const, reason: fault };
    const [text, ...numbers] = canaryLines(verdict, complete);
    const { name } = release.release;
    return {
      ...variantIn(own),
      ...{ simulated: own.model.simulated, served: own.model.served, release: name },
      ...verdict,
      text: text!,
      numbers: [`compared with release ${printable(name, 100)}`, ...numbers, last?.text ?? []]
        .flat(),
    };
  });
  const kinds = watched.map(({ kind }) => kind);
  const verdict = (["alarm", "invalid"] as const).find((kind) => kinds.includes(kind)) ?? "quiet";
  return {
    ...{ v: 1, suite: part.suite, verdict, exitCode: EXIT_CODES[verdict], watched },
    leftOut: [...leftOut],
  };
}

/** Says how old the last day is, and whether that is too old. */
function ageOf(what: string, date: string, { now, maxAge }: AgeLimit) {
  const days = Math.floor((now.getTime() - Date.parse(date)) / 86_400_000);
  const text = `${what}, ${date}, is ${countText(days, "day")} ago`;
  return { text, fault: days > maxAge ? `${text}, and may be ${maxAge} (--max-age)` : undefined };
}

/**
 * Returns the days of a variant since a release, in UTC, each with the graphs of its runs. Runs that cannot be used are
 * left out: a day without another one has no graphs, and cannot pass for a quiet one. `lacking` says why the last
 * record cannot be used, unless its tasks were used before, as where a job is run again.
 */
function daysOf(
  own: RecordedSubject,
  release: Release,
  { records }: HistoryPart,
  { coverage, leftOut }: { readonly coverage: number; readonly leftOut: Set<string> },
): { readonly days: CanaryDay[]; readonly lacking: string | undefined } {
  const key = variantKey(variantIn(own));
  const first = drawnTasks(resultsOf(release, own));
  const used = new Set(first);
  const days = new Map<string, Unit[]>();
  let lacking: string | undefined;
  for (const record of records) {
    // Before it was accepted nothing was watched.
    if (record.startedAt <= release.endedAt) continue;
    const subject = record.subjects.find((one) => variantKey(variantIn(one)) === key);
    // A gate may have judged another model.
    if (subject === undefined && record.candidate) continue;
    const day = getOrInsertComputed(days, record.startedAt.slice(0, 10), () => []);
    const results = subject === undefined ? [] : resultsOf(record, subject);
    const units = unitsOf(record, results);
    const tasks = drawnTasks(results);
    lacking = subject === undefined
      ? `it has no trials of ${printable(variantName(variantIn(own)), 100)}`
      : subject.model.served !== own.model.served && results.some(({ trial }) => isValid(trial))
      ? `another model was served: ${printable(subject.model.served, 100)}`
      // Which blocks are whole then depends on what their trials cost, and that on how they ended.
      : record.stopped !== undefined && record.stopped !== DECIDED
      ? `its run ended early: ${printable(record.stopped, 200)}`
      : undefined;
    const again = lacking === undefined && !used.isDisjointFrom(tasks) &&
        tasks.symmetricDifference(first).size > 0
      ? `${
        used.intersection(tasks).size
      } of its tasks were used before: each run needs a seed of its own`
      : undefined;
    if (again === undefined) lacking ??= whyUnused(units, coverage);
    const why = lacking ?? again;
    if (why !== undefined) {
      leftOut.add(`Not watched: ${record.path}: ${why}`);
      continue;
    }
    for (const task of tasks) used.add(task);
    day.push(...units);
  }
  return { days: [...days].map(([date, units]) => ({ date, units })), lacking };
}

/** The tasks that were drawn by a seed: cases and questions are the same ones in each run. */
function drawnTasks(results: readonly PlannedResult[]): Set<string> {
  return new Set(
    results.map(({ planned: { task } }) => task)
      .filter((task) => isGenerated(task) || isProbe(task)).map(graphKey),
  );
}

/** The first block that lacks a trial where a run ended by itself; `Infinity` if none does. */
function firstOpen({ stopped }: RunRecord, results: readonly PlannedResult[]): number {
  const missing = results.find(({ trial }) => trial === undefined);
  return stopped === undefined ? Infinity : missing?.planned.block ?? Infinity;
}

/** The results of a variant graph by graph; of a run that ended by itself those of whole blocks. */
function unitsOf(record: RunRecord, results: readonly PlannedResult[]): Unit[] {
  const open = firstOpen(record, results);
  const counted = results.filter(({ planned, trial }) =>
    planned.block < open && trial?.changed !== false && trial?.unsolvable === undefined
  ).map(({ planned: { task }, trial }) => ({ task, trial }));
  return byGraph(counted).map((graph) =>
    unitOf(
      graph.flatMap(({ trial }) => trial ?? []),
      graph.length,
      undefined,
      (trial) => attemptOf(trial),
    )
  );
}

/** Says what a verdict is on. */
export function watchedName({ simulated, served, ...subject }: WatchedModel): string {
  const name = marked(printable(variantName(subject), 200), simulated);
  return `${name}, served as ${printable(served, 100)}`;
}
