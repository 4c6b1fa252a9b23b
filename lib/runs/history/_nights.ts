/**
 * Nights: what of a history is watched for drift, model by model.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { defined, printable } from "../../base/json.ts";
import { type Night, whyUnused } from "../../gate/canary.ts";
import { type Unit, unitOf } from "../../gate/evidence.ts";
import {
  byGraph,
  goOf,
  graphKey,
  type Variant,
  variantKey,
  variantName,
} from "../../gate/variant.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import { isGenerated, isProbe } from "../../trials/executors/task_kind.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";
import { type LaterGo, plannedTrials } from "../_baseline_file.ts";
import type { HistoryPart, HistoryRecord, Release } from "./history.ts";
import { DECIDED, type RecordedSubject, variantIn } from "./record.ts";

/** One served model, and its nights since it was accepted. */
export interface Watched {
  readonly subject: Variant;
  readonly simulated: boolean;
  /** The served model. */
  readonly served: string;
  /** The release that nights are compared with. */
  readonly release: Release;
  readonly reference: readonly Unit[];
  /** Whether its run ended before its plan did. */
  readonly stopped: boolean;
  /** One for each day in UTC that has a record, in their order. */
  readonly nights: readonly Night[];
  /** Which later records were left out and why, one line each. */
  readonly leftOut: readonly string[];
  /** Why the last record has nothing of it; omitted if it has. */
  readonly lacking?: string;
}

/**
 * Returns what is watched: each variant of the last release whose tasks can be solved. A record that began before that
 * release had ended counts for nothing. One of another served model, of tasks that were used before, or without trials
 * of the variant makes a night without trials, which cannot pass for a quiet one.
 *
 * @throws {InputError} If there is nothing to watch.
 */
export function watchedIn(
  { records }: HistoryPart,
  release: Release,
  coverage: number,
): Watched[] {
  // Before it was accepted nothing was watched; a clock that ran back may say so as well.
  const later = records.filter(({ startedAt }) => startedAt > release.record.endedAt);
  const { record } = release;
  const watched = record.subjects.filter(canBeSolved);
  if (watched.length > 0) return watched.map((own) => watch(own, release, later, coverage));
  throw cannot(
    `watch ${printable(release.name, 100)}`,
    "some of its tasks must be solvable",
    "a perturbation removes what all of them need",
  );
}

/** Whether a perturbation changes any task and leaves it with an answer: that depends on tasks alone. */
function canBeSolved({ perturbation, trials }: RecordedSubject): boolean {
  return !isRemoving(perturbation) &&
    trials.some((trial) => trial !== null && trial.changed !== false && !trial.unsolvable);
}

/** What a run has of a night. */
interface Units {
  readonly path: string;
  readonly units: readonly Unit[];
  /** Why it cannot be used by itself. */
  readonly unused: string | undefined;
}

function watch(
  own: RecordedSubject,
  release: Release,
  records: readonly HistoryRecord[],
  coverage: number,
): Watched {
  const { served, simulated } = own.model;
  const key = variantKey(variantIn(own));
  const leftOut: string[] = [];
  const used = drawnTasks(release.record, own);
  const first = new Set(used);
  const days = new Map<string, Units[]>();
  let lacking: string | undefined;
  for (const record of records) {
    const night = days.getOrInsertComputed(record.startedAt.slice(0, 10), () => []);
    const subject = record.subjects.find((one) => variantKey(variantIn(one)) === key);
    const tasks = subject === undefined ? new Set<string>() : drawnTasks(record, subject);
    const shared = [...tasks].filter((task) => used.has(task)).length;
    const areFirst = tasks.size === first.size && [...tasks].every((task) => first.has(task));
    lacking = subject === undefined
      ? `it has no trials of ${printable(variantName(variantIn(own)), 100)}`
      : subject.model.served !== served && hasValid(subject)
      ? `another model was served: ${printable(subject.model.served, 100)}`
      // Which blocks are whole then depends on what their trials cost, and that on how they ended.
      : record.stopped !== undefined && record.stopped !== DECIDED
      ? `its run ended early: ${printable(record.stopped, 200)}`
      : undefined;
    // As where a job was run again: the night was seen already.
    const why = lacking ??
      (shared > 0 && !areFirst
        ? `${shared} of its tasks were used before: each night needs a seed of its own`
        : undefined);
    if (why !== undefined) {
      leftOut.push(`Not watched: ${record.path}: ${why}`);
      continue;
    }
    for (const task of tasks) used.add(task);
    const units = unitsOf(record, subject!);
    const unused = whyUnused(units, coverage);
    night.push({ path: record.path, units, unused });
    // Else an earlier run of the day would hide it.
    if (night.length > 1) lacking = unused;
  }
  const nights = [...days].map(([date, runs]): Night => {
    // A run that cannot be used must not spoil another one of the day, and take back its alarm.
    const usable = runs.filter(({ unused }) => unused === undefined);
    const counted = usable.length > 0 ? usable : runs;
    for (const { path, unused } of runs) {
      if (usable.length > 0 && unused !== undefined) {
        leftOut.push(`Not watched: ${path}: ${unused}`);
      }
    }
    return { date, units: counted.flatMap(({ units }) => units) };
  });
  return {
    subject: variantIn(own),
    ...{ simulated, served, release },
    reference: unitsOf(release.record, own),
    stopped: openBlock(release.record, own) !== undefined,
    ...{ nights, leftOut },
    ...defined({ lacking }),
  };
}

function hasValid({ trials }: RecordedSubject): boolean {
  return trials.some((trial) => trial !== null && trial.outcome !== "invalid");
}

/** The tasks that were drawn by a seed: cases and questions are the same ones each night. */
function drawnTasks({ resolved }: HistoryRecord, subject: RecordedSubject): Set<string> {
  const drawn = plannedTrials(resolved, variantIn(subject)).map(({ task }) => task)
    .filter((task) => isGenerated(task) || isProbe(task));
  return new Set(drawn.map(graphKey));
}

/** The first block that lacks a trial where a run ended by itself; `undefined` if none does. */
function openBlock(record: HistoryRecord, subject: RecordedSubject): number | undefined {
  if (record.stopped === undefined) return undefined;
  const planned = plannedTrials(record.resolved, variantIn(subject));
  return planned.find((_, place) => (subject.trials[place] ?? null) === null)?.block;
}

/** The results of a variant graph by graph; of a run that ended by itself those of whole blocks. */
export function unitsOf(record: HistoryRecord, subject: RecordedSubject): Unit[] {
  const places = new Map<string, number>();
  const planned = plannedTrials(record.resolved, variantIn(subject));
  for (const [place, { id }] of planned.entries()) places.set(id, place);
  const trialOf = ({ id }: PlannedTrial) => subject.trials[places.get(id)!] ?? null;
  const open = openBlock(record, subject) ?? Infinity;
  const counted = planned.filter((trial) => {
    const { changed, unsolvable } = trialOf(trial) ?? {};
    return trial.block < open && changed !== false && unsolvable === undefined;
  });
  const { later = {} } = subject;
  return byGraph(counted).map((graph) => {
    const ended = graph.flatMap((trial) => {
      const recorded = trialOf(trial);
      const place = `${places.get(trial.id)!}`;
      return recorded === null ? [] : [{
        outcome: recorded.outcome,
        solved: recorded.outcome === "solved",
        later: Object.hasOwn(later, place) ? later[place]! : {},
      }];
    });
    return unitOf(ended, graph.length, undefined, (trial) => goAfter(trial.later));
  });
}

function goAfter({ replaced, unclear }: LaterGo) {
  return goOf({ ...defined({ unclear }), replaced: replaced && NO_TOKENS });
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0 };
