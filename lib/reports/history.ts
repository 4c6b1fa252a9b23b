/**
 * Reports of histories: what the records of a suite tell over time, as data.
 * @module
 */

import { mean, percent, ranked } from "../base/numbers.ts";
import { FAILURE_TYPES, type FailureType } from "../calls/failure_types.ts";
import { byVariant, countsAsSuccess, isCounted, variantKey } from "../gate/variant.ts";
import {
  plannedCount,
  type RecordedSubject,
  type RecordedTrial,
  trialsOf,
  variantIn,
} from "../runs/record.ts";
import type { HistoryPart, HistoryRecord } from "../runs/history/history.ts";
import type { WatchedModel } from "../runs/history/watch.ts";
import { type Column, NOTHING, tableOf } from "./columns.ts";
import { ESTIMATED, type Measured, ratioOf } from "./metrics/_tally.ts";
import type { Subject } from "./_subjects.ts";
import { nameText } from "./text_table.ts";
import type { Table } from "./_view.ts";

/** The records of a suite over time. */
export interface HistoryReport {
  readonly v: 1;
  readonly kind: "history";
  /** The name of the suite. */
  readonly suite: string;
  /** Remarks on all of it, one line each. */
  readonly remarks: readonly string[];
  /** One for each model, strategy, perturbation and variant. */
  readonly streams: readonly HistoryStream[];
  /** What of the folders was left out and why, one line each. */
  readonly leftOut: readonly string[];
}

/** The records of one model, strategy, perturbation and variant. */
export interface HistoryStream extends Subject {
  /** In the order in which their runs began. */
  readonly points: readonly HistoryPoint[];
  /** What the canary says of it; `undefined` where it is not watched. */
  readonly canary: WatchedModel | undefined;
}

/** What one record has of a stream. */
export interface HistoryPoint {
  /** The record's file. */
  readonly path: string;
  /** When its run began, in ISO 8601, UTC. */
  readonly startedAt: string;
  /** When its run ended. */
  readonly endedAt: string;
  /** The model that a server said it served. */
  readonly served: string;
  /** The one that it served before, at the last record with a valid trial; omitted if that was the same. */
  readonly servedBefore: string | undefined;
  /** The release that this run is; omitted if it was not accepted. */
  readonly release:
    | { readonly name: string; readonly isAnchor: boolean; readonly isLast: boolean }
    | undefined;
  /** Why its run ended itself before all planned trials; omitted if it did not. */
  readonly stopped: string | undefined;
  /** The number of planned trials. */
  readonly planned: number;
  /** The number of trials that ended. */
  readonly ended: number;
  /** The number of trials that are neither invalid nor left unchanged by their perturbation. */
  readonly valid: number;
  /** The number of valid trials that were solved. */
  readonly solved: number;
  /** Share of the valid trials that were solved. */
  readonly success: Measured;
  /** Share of the valid trials with a failure of each type that occurs in the stream. */
  readonly failures: readonly (Measured & { readonly type: FailureType })[];
  /** Tokens of a trial on average, read and written; `null` where none are known. */
  readonly tokens: { readonly input: number; readonly output: number } | null;
  /** Set if tokens were estimated. */
  readonly estimated: true | undefined;
  /** US dollars of a trial on average; `null` where a price was unknown. */
  readonly usd: number | null;
  /** Milliseconds of a valid trial, by rank; `null` without any. */
  readonly duration: { readonly median: number; readonly p95: number } | null;
}

/** Options of {@linkcode makeHistoryReport}. */
export interface HistoryReportOptions {
  /** What the canary says of the models of the last release. Default: nothing. */
  readonly watched?: readonly WatchedModel[];
  /** Lines to say above all else. Default: none. */
  readonly remarks?: readonly string[];
}

/** Returns what the records of a suite tell over time. */
export function makeHistoryReport(
  part: HistoryPart,
  { watched = [], remarks = [] }: HistoryReportOptions = {},
): HistoryReport {
  const { suite, records, leftOut } = part;
  const all = records.flatMap((record) =>
    record.subjects.map((subject) => {
      return { record, subject, trials: trialsOf({ ...record, subjects: [subject] }) };
    })
  );
  const streams = byVariant(all, ({ subject }) => variantIn(subject)).map(
    ({ subject, items }): HistoryStream => {
      const types = FAILURE_TYPES.filter((type) =>
        items.some(({ trials }) => trials.some((trial) => hasFailure(trial, type)))
      );
      let last: string | undefined;
      const points = items.map((one): HistoryPoint => {
        const { served } = one.subject.model;
        // Without a valid trial nobody knows what was served.
        const isKnown = one.trials.some(({ outcome }) => outcome !== "invalid");
        const before = isKnown && last !== served ? last : undefined;
        if (isKnown) last = served;
        return pointOf(one, types, part, before);
      });
      return {
        subject,
        simulated: items.some((one) => one.subject.model.simulated),
        points,
        canary: watched.find((one) => variantKey(one) === variantKey(subject)),
      };
    },
  );
  return { v: 1, kind: "history", suite, remarks, streams, leftOut };
}

function hasFailure({ failures }: RecordedTrial, type: FailureType): boolean {
  return failures.some((failure) => failure.type === type);
}

function pointOf(
  { record, subject, trials }: {
    readonly record: HistoryRecord;
    readonly subject: RecordedSubject;
    readonly trials: readonly RecordedTrial[];
  },
  types: readonly FailureType[],
  { releases, anchor }: HistoryPart,
  servedBefore: string | undefined,
): HistoryPoint {
  const { path, startedAt, endedAt, release, stopped } = record;
  const valid = trials.filter(isCounted);
  const tokens = trials.flatMap((trial) => trial.tokens === undefined ? [] : [trial.tokens]);
  const durations = valid.map(({ ms }) => ms).sort((one, other) => one - other);
  const { usd, estimated, model: { served } } = subject;
  return {
    ...{ path, startedAt, endedAt, served, servedBefore, stopped },
    release: release && {
      name: release.name,
      isAnchor: record === anchor,
      isLast: record === releases.at(-1),
    },
    planned: plannedCount(record),
    ended: trials.length,
    valid: valid.length,
    solved: valid.filter(({ solved }) => solved).length,
    success: shareOf(valid.filter(countsAsSuccess), ({ solved }) => solved),
    failures: types.map((type) => ({
      type,
      ...shareOf(valid, (trial) => hasFailure(trial, type)),
    })),
    tokens: tokens.length === 0 ? null : {
      input: mean(tokens.map(([input]) => input))!,
      output: mean(tokens.map(([, output]) => output))!,
    },
    estimated,
    usd: usd === undefined || trials.length === 0 ? null : usd / trials.length,
    duration: durations.length === 0
      ? null
      : { median: ranked(durations, 0.5), p95: ranked(durations, 0.95) },
  };
}

/** Returns a share of trials. Tasks are independent, trials of one task are not. */
function shareOf(
  trials: readonly RecordedTrial[],
  shows: (trial: RecordedTrial) => boolean,
): Measured {
  return ratioOf(trials, (trial) => ({ sum: Number(shows(trial)), count: 1 }));
}

/** Failure types that a row names, at most. */
const MAX_TYPES = 2;
/** Longer names of served models and releases are shortened. */
const MAX_NAME = 40;

/** Returns the table of a stream, the newest record last; `pageOf` finds the page with the trials of a record. */
export function historyTable(
  { points }: HistoryStream,
  caption: Pick<Table, "id" | "title">,
  pageOf: (point: HistoryPoint) => string | undefined = () => undefined,
): Table[] {
  const minutes = new Set(points.map(({ startedAt }) => startedAt.slice(0, 16)));
  const isClose = minutes.size < points.length;
  const time = (id: "median" | "p95", head: string): Column<HistoryPoint> => ({
    ...{ id, head, group: "time", unit: "time", shown: "filled" },
    value: ({ duration }) => duration?.[id],
  });
  return tableOf(points, [
    {
      ...{ id: "run", head: "run (UTC)", unit: "name", link: pageOf },
      value: ({ startedAt }) => startedAt.slice(0, isClose ? 19 : 16).replace("T", " "),
    },
    { id: "release", unit: "text", shown: "filled", value: releaseText },
    { id: "served", head: "served model", unit: "text", value: servedText },
    {
      ...{ id: "valid", head: "valid trials", unit: "count", value: ({ valid }) => valid },
      text: ({ valid, planned }) => `${valid} of ${planned}`,
    },
    { id: "success", unit: "share", value: ({ success }) => success },
    {
      ...{ id: "failures", head: "commonest failures", unit: "text", shown: "filled" },
      value: failuresText,
    },
    {
      ...{ id: "tokens", head: "tokens a trial", unit: "count", shown: "filled" },
      value: ({ tokens, estimated }) =>
        tokens && { value: Math.round(tokens.input + tokens.output), estimated },
    },
    {
      ...{ id: "usd", head: "cost a trial", unit: "cost", value: ({ usd }) => usd },
      // A trial mostly costs less than a cent.
      text: ({ usd }) =>
        usd !== null && usd > 0 && usd < 0.1 ? `$${Number(usd.toPrecision(2))}` : undefined,
      shown: points.some(({ usd }) => usd !== null && usd > 0),
    },
    time("median", "median"),
    time("p95", "95th percentile"),
    {
      id: "stopped",
      head: "ended early",
      unit: "text",
      value: ({ stopped }) => stopped,
      shown: "filled",
    },
  ], {
    ...{ ...caption, section: "success" },
    note: points.some(({ estimated }) => estimated) ? ESTIMATED : undefined,
  });
}

/** Says what was served, and marks a change; without a valid trial nobody knows. */
function servedText({ served, servedBefore, valid }: HistoryPoint): string {
  if (valid === 0) return NOTHING;
  return nameText(served, MAX_NAME) + (servedBefore === undefined ? "" : " (changed)");
}

function releaseText({ release }: HistoryPoint): string {
  return release === undefined
    ? NOTHING
    : `${nameText(release.name, MAX_NAME)}${releaseMarks(release)}`;
}

/** Says of a release whether it is the anchor, or the last one. */
export function releaseMarks({ isAnchor, isLast }: NonNullable<HistoryPoint["release"]>): string {
  const marks = [...(isAnchor ? ["anchor"] : []), ...(isLast ? ["last"] : [])];
  return marks.length === 0 ? "" : ` (${marks.join(", ")})`;
}

function failuresText({ failures }: HistoryPoint): string {
  const some = failures.filter(({ value }) => value !== null && value > 0)
    .toSorted((one, other) => other.value! - one.value!).slice(0, MAX_TYPES);
  return some.map(({ type, value }) => `${type.replaceAll("_", " ")} ${percent(value!)}`)
    .join(", ") || NOTHING;
}
