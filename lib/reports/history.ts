/**
 * Reports of histories: what the records of a suite tell over time, as data.
 * @module
 */

import { estimateMean, type MeanEstimate } from "../statistics/clustered_mean.ts";
import { defined } from "../base/json.ts";
import { mean, sum } from "../base/numbers.ts";
import { FAILURE_TYPES, type FailureType } from "../calls/failure_types.ts";
import { byGraph, byVariant, countsAsSuccess, isCounted, variantKey } from "../gate/variant.ts";
import { baselineOf } from "../runs/baseline.ts";
import { countTrials } from "../runs/resolved_suite.ts";
import type { HistoryPart, HistoryRecord, Release } from "../runs/history/history.ts";
import {
  asBaselineFile,
  type RecordedSubject,
  type RecordedTrial,
  variantIn,
} from "../runs/history/record.ts";
import type { WatchedModel } from "../runs/history/watch.ts";
import { ranked } from "./metrics/latency.ts";
import type { Subject } from "./metrics/subjects.ts";
import type { TaskSpec } from "../trials/executors/task_kind.ts";

/** What the records of a suite tell over time. */
export interface HistoryReport {
  readonly v: 1;
  readonly kind: "history";
  /** The name of the suite. */
  readonly suite: string;
  /** What is said above all else, one line each. */
  readonly remarks: readonly string[];
  /** One for each model, strategy, perturbation and variant. */
  readonly streams: readonly HistoryStream[];
  /** Why the releases cannot be told; omitted if they can. */
  readonly fault?: string;
  /** What of the folders was left out and why, one line each. */
  readonly leftOut: readonly string[];
}

/** The records of one model, strategy, perturbation and variant. */
export interface HistoryStream extends Subject {
  /** In the order in which their runs began. */
  readonly points: readonly HistoryPoint[];
  /** What the canary says of its nights since the last release; omitted where it is not watched. */
  readonly canary?: WatchedStream;
}

/** A verdict of the canary. */
export type WatchedStream = Pick<
  WatchedModel,
  "kind" | "text" | "numbers" | "nullRate" | "since" | "alarmed"
>;

/** What one record tells of a stream. */
export interface HistoryPoint {
  /** The record's file. */
  readonly path: string;
  /** When its run began and ended: in ISO 8601, UTC. */
  readonly startedAt: string;
  readonly endedAt: string;
  /** The model that a server said it served. */
  readonly served: string;
  /** The one that it served before, at the last record with a valid trial; omitted if that was the same. */
  readonly servedBefore?: string;
  /** The release that this run is; omitted if it was not accepted. */
  readonly release?: {
    readonly name: string;
    readonly isAnchor: boolean;
    readonly isLast: boolean;
  };
  /** The commit of what was under test; omitted where it is not known. */
  readonly commit?: string;
  /** The version of toolgate that wrote the record. */
  readonly toolgate: string;
  /** Why its run ended before all planned trials; omitted unless it ended itself. */
  readonly stopped?: string;
  /** Numbers of trials: `valid` ones are neither invalid nor left unchanged by their perturbation. */
  readonly planned: number;
  readonly ended: number;
  readonly valid: number;
  readonly solved: number;
  /** Share of the valid trials that were solved. */
  readonly success: HistoryShare;
  /** Share of the valid trials with a failure of each type that occurs in the stream. */
  readonly failures: readonly (HistoryShare & { readonly type: FailureType })[];
  /** Tokens of a trial on average, read and written; `null` where none are known. */
  readonly tokens: { readonly input: number; readonly output: number } | null;
  /** Set if tokens were estimated; else omitted. */
  readonly estimated?: true;
  /** US dollars of a trial on average; `null` where a price was unknown. */
  readonly usd: number | null;
  /** Milliseconds of a valid trial, by rank; `null` without any. */
  readonly duration: { readonly median: number; readonly p95: number } | null;
}

/** A share of valid trials; both are `null` without any. */
export interface HistoryShare {
  /** From 0 to 1. */
  readonly rate: number | null;
  /** Its two-sided 95% interval over tasks; `null` where there is none. */
  readonly interval: MeanEstimate["interval"];
}

/** Options of {@linkcode makeHistoryReport}. */
export interface HistoryReportOptions {
  /** Only this many of the newest records. Default: all. */
  readonly last?: number | undefined;
  /** What the canary says of the nights since the last release. Default: nothing. */
  readonly watched?: readonly WatchedModel[];
  /** Lines to say above all else. Default: none. */
  readonly remarks?: readonly string[];
}

/** Returns what the records of a suite tell over time. */
export function makeHistoryReport(
  { suite, records, releases, leftOut, fault }: HistoryPart,
  { last = Infinity, watched = [], remarks = [] }: HistoryReportOptions = {},
): HistoryReport {
  const shown = new Set(last === Infinity ? records : records.slice(-last));
  const all = records.flatMap((record) => record.subjects.map((subject) => ({ record, subject })));
  const streams = byVariant(all, ({ subject }) => variantIn(subject)).flatMap(
    ({ subject, items }): HistoryStream[] => {
      // What was served before is known from records that are not shown as well.
      const changes = servedBefore(items.map((one) => one.subject));
      const own = items.map((one, place) => ({ ...one, before: changes[place] }))
        .filter(({ record }) => shown.has(record));
      if (own.length === 0) return [];
      const simulated = own.some((one) => one.subject.model.simulated);
      const types = FAILURE_TYPES.filter((type) =>
        own.some((one) => one.subject.trials.some((trial) => trial?.failures?.includes(type)))
      );
      const points = own.map((one) => pointOf(one, types, releases));
      const one = watched.find((one) => variantKey(one) === variantKey(subject));
      const { kind, text, numbers, nullRate, since, alarmed } = one ?? {};
      const canary = { kind, text, numbers, nullRate, ...defined({ since, alarmed }) };
      return [{
        ...{ subject, simulated, points },
        ...(one === undefined ? {} : { canary: canary as WatchedStream }),
      }];
    },
  );
  return { v: 1, kind: "history", suite, remarks, streams, ...defined({ fault }), leftOut };
}

/** Returns for each record which other model was served before; without a valid trial nobody knows what was. */
function servedBefore(subjects: readonly RecordedSubject[]): (string | undefined)[] {
  let last: string | undefined;
  return subjects.map(({ model: { served }, trials }) => {
    if (!trials.some((trial) => trial !== null && trial.outcome !== "invalid")) return undefined;
    const before = last === served ? undefined : last;
    last = served;
    return before;
  });
}

function pointOf(
  { record, subject, before }: {
    readonly record: HistoryRecord;
    readonly subject: RecordedSubject;
    readonly before: string | undefined;
  },
  types: readonly FailureType[],
  releases: readonly Release[],
): HistoryPoint {
  const { path, startedAt, endedAt, commit, toolgate, stopped } = record;
  const trials = endedTrials(record, subject);
  const valid = trials.filter(isCounted);
  const release = releases.find((one) => one.record.checksum === record.checksum);
  const counted = trials.flatMap(({ tokens }) => tokens === undefined ? [] : [tokens]);
  const durations = valid.map(({ ms }) => ms).sort((one, other) => one - other);
  const { usd, estimated } = subject;
  return {
    path,
    startedAt,
    endedAt,
    served: subject.model.served,
    ...defined({ servedBefore: before, commit, stopped }),
    ...(release === undefined ? {} : {
      release: {
        name: release.name,
        isAnchor: release.isAnchor,
        isLast: release === releases.at(-1),
      },
    }),
    toolgate,
    planned: plannedCount(record),
    ended: trials.length,
    valid: valid.length,
    solved: valid.filter(isSolved).length,
    success: shareOf(valid.filter(countsAsSuccess), isSolved),
    failures: types.map((type) => ({
      type,
      ...shareOf(valid, ({ failures = [] }) => failures.includes(type)),
    })),
    tokens: counted.length === 0 ? null : {
      input: mean(counted.map(([input]) => input))!,
      output: mean(counted.map(([, output]) => output))!,
    },
    ...(estimated ? { estimated } : {}),
    usd: usd === undefined || trials.length === 0 ? null : usd / trials.length,
    duration: durations.length === 0
      ? null
      : { median: ranked(durations, 0.5), p95: ranked(durations, 0.95) },
  };
}

/** A trial that ended, and its task. */
interface EndedTrial extends RecordedTrial {
  readonly task: TaskSpec;
}

const isSolved = ({ outcome }: EndedTrial) => outcome === "solved";

/** Returns the trials of a variant that ended, with their tasks, which follow from the plan. */
function endedTrials(record: HistoryRecord, subject: RecordedSubject): EndedTrial[] {
  const { path } = record;
  const scored = baselineOf(asBaselineFile({ ...record, subjects: [subject] }), path).trials;
  return subject.trials.filter((trial) => trial !== null)
    .map((trial, place) => ({ ...trial, task: scored[place]!.task }));
}

/** The number of trials that a plan has for each variant. */
function plannedCount({ resolved: { variants: _, ...others } }: HistoryRecord): number {
  const one = { models: [{ model: "" }], strategies: [""], perturbations: [""] };
  return countTrials({ ...others, ...one });
}

/** Returns a share of trials. Tasks are independent, trials of one task are not. */
function shareOf(
  trials: readonly EndedTrial[],
  shows: (trial: EndedTrial) => boolean,
): HistoryShare {
  const units = byGraph(trials).map((graph) => ({
    sum: sum(graph, (trial) => Number(shows(trial))),
    count: graph.length,
  }));
  const { mean: rate, interval } = estimateMean(units);
  return { rate, interval };
}
