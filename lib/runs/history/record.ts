/**
 * Records: small files, each with the results of one run, that a history is made of. They have no transcripts.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";
import { canonicalJson, defined, printable } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { isDuration } from "../../base/numbers.ts";
import { FAILURE_TYPES, type FailureType } from "../../calls/failure_types.ts";
import { decideTrials } from "../../gate/decide_trials.ts";
import { type Variant, variantKey, variantOf } from "../../gate/variant.ts";
import { costOfAll, isUncounted, type Prices, spentUsage } from "../../models/prices.ts";
import type { TaskSpec } from "../../trials/executors/task_kind.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { type Outcome, OUTCOMES, type Trial } from "../../trials/trial.ts";
import { OBSTACLES } from "../../perturbations/methods.ts";
import {
  type AcceptedSubject,
  type BaselineFile,
  HEAD,
  plannedTrials,
  SUBJECT,
  type TrialEnding,
} from "../_baseline_file.ts";
import {
  type AcceptableResults,
  assertAcceptable,
  failureTypes,
  headOf,
  sealed,
  subjectsOf,
} from "../accept.ts";
import { assertIntact } from "../baseline.ts";
import { comparedFields } from "../resolved_suite.ts";

/** What a record keeps of a trial. */
export interface RecordedTrial {
  /** The seed of its task; omitted for tasks without one. */
  readonly seed?: number;
  readonly outcome: Outcome;
  /** The types of its failures, each once; omitted without any. */
  readonly failures?: readonly FailureType[];
  /** Set if its perturbation found nothing to change; else omitted. */
  readonly changed?: false;
  /** Why its perturbation left its task without an answer; omitted unless it did. */
  readonly unsolvable?: NonNullable<Trial["unsolvable"]>;
  /** The number of its calls. */
  readonly calls: number;
  /** Tokens read and written, also by attempts that were replaced; omitted where no reply was seen. */
  readonly tokens?: readonly [input: number, output: number];
  /** Milliseconds. */
  readonly ms: number;
}

/** What a record keeps of a variant. */
export interface RecordedSubject extends AcceptedSubject<RecordedTrial> {
  /** US dollars of all of its trials; omitted where a price was unknown. */
  readonly usd?: number;
  /** Set if tokens were estimated; else omitted. */
  readonly estimated?: true;
}

/** The file of a record. */
export interface RecordFile extends Omit<BaselineFile, "v" | "kind" | "subjects"> {
  readonly v: 1;
  readonly kind: "record";
  /** The version of toolgate that wrote it. */
  readonly toolgate: string;
  /** The commit of what was under test; omitted where it is not known. */
  readonly commit?: string;
  /** When its first trial began, and its last one ended, as far as is known: in ISO 8601, UTC. */
  readonly startedAt: string;
  readonly endedAt: string;
  /** Why its run ended before all planned trials; omitted unless it ended itself. */
  readonly stopped?: string;
  /** The results, one entry for each model, strategy, perturbation and variant. */
  readonly subjects: readonly RecordedSubject[];
}

const count = z.int().min(0);

/** A time in UTC, as `Date` writes it. */
export const TIME = z.iso.datetime({ precision: 3 });

/** The name of a commit. */
export const COMMIT = /^[0-9a-f]{7,64}$/;

const RECORD_FILE = z.strictObject({
  v: z.literal(1),
  kind: z.literal("record"),
  ...HEAD,
  toolgate: z.string(),
  commit: z.string().regex(COMMIT).exactOptional(),
  startedAt: TIME,
  endedAt: TIME,
  stopped: z.string().exactOptional(),
  subjects: z.array(z.strictObject({
    ...SUBJECT,
    usd: z.number().min(0).exactOptional(),
    estimated: z.literal(true).exactOptional(),
    trials: z.array(z.nullable(z.strictObject({
      seed: count.exactOptional(),
      outcome: z.enum(OUTCOMES),
      failures: z.array(z.enum(FAILURE_TYPES)).exactOptional(),
      changed: z.literal(false).exactOptional(),
      unsolvable: z.enum(OBSTACLES).exactOptional(),
      calls: count,
      tokens: z.tuple([count, count]).exactOptional(),
      ms: z.number().min(0).max(Number.MAX_SAFE_INTEGER),
    }))),
  })).min(1, "must not be empty"),
}) as unknown as z.ZodType<RecordFile>;

/** What a record tells beside results. */
export interface RecordOptions {
  /** The version of toolgate. */
  readonly toolgate: string;
  /** The commit of what is under test. */
  readonly commit?: string | undefined;
  /** Prices of models, by which costs are kept. */
  readonly prices?: Prices | undefined;
}

/**
 * Returns the record of a run. Invalid and missing trials are kept as such.
 *
 * @throws {InputError} If no record can be made of it; the message names it by `source`.
 */
export function recordOf(
  results: AcceptableResults & { readonly missing: string | undefined },
  source: string,
  { toolgate, commit, prices }: RecordOptions,
): RecordFile {
  const { trials, problem, missing } = results;
  // A night with a lost shard is told as such; nobody may take it for a whole one.
  const fault = problem === missing ? undefined : problem;
  const none = trials.length === 0 ? "there are no trials" : undefined;
  const plan = assertAcceptable(results, fault ?? none, source, "record");
  const times = trials.map(({ startedAt, durationMs }) => {
    const start = Date.parse(startedAt);
    return [start, start + (isDuration(durationMs) ? durationMs : 0)] as const;
  });
  if (times.some(([start, end]) => !(start >= 0 && end <= LATEST))) {
    throw cannot(`record ${source}`, "each trial must say when it began and for how long it took");
  }
  const startedAt = times.reduce((first, [start]) => Math.min(first, start), Infinity);
  const endedAt = times.reduce((last, [, end]) => Math.max(last, end), 0);
  const subjects = subjectsOf(results, plan, source, recordedTrial, "record").map((subject) => {
    const key = variantKey(variantIn(subject));
    const own = trials.filter((trial) => variantKey(variantOf(trial)) === key);
    const usd = prices === undefined ? null : costOfAll(own, prices);
    return {
      ...subject,
      ...(usd === null ? {} : { usd }),
      ...(own.some(({ usage }) => usage.estimated) ? { estimated: true as const } : {}),
    };
  });
  const stopped = results.stopped ?? (isDecided(results) ? DECIDED : undefined);
  return sealed({
    ...{ v: 1, kind: "record", ...headOf(plan), toolgate } as const,
    ...defined({ commit }),
    startedAt: new Date(startedAt).toISOString(),
    endedAt: new Date(endedAt).toISOString(),
    ...defined({ stopped }),
    subjects,
  });
}

/** The end of the year 9999: later times have longer names. */
const LATEST = Date.UTC(9999, 11, 31);

/** Why a run ended whose sequential gate had decided. */
export const DECIDED = "its gate had decided";

/** Whether a sequential gate ended a run. */
function isDecided({ trials, planned, gate, rule, waves }: AcceptableResults): boolean {
  if (gate === undefined || rule === undefined || trials.length === planned.length) return false;
  return decideTrials(trials, planned, gate, { rule, waves })
    .every(({ verdict }) => verdict.kind !== "invalid" && !("next" in verdict));
}

/** Returns the variant of results in a file. */
export function variantIn(
  { model, strategy, perturbation, variant }: Omit<AcceptedSubject<unknown>, "trials">,
): Variant {
  return { model: model.requested, strategy, perturbation, ...defined({ variant }) };
}

function seedOf(task: TaskSpec): number | undefined {
  return "seed" in task ? task.seed : undefined;
}

function recordedTrial(trial: TrialSummary): RecordedTrial {
  const { task, outcome, changed, unsolvable, calls, durationMs } = trial;
  const failures = failureTypes(trial);
  const { inputTokens, outputTokens } = spentUsage(trial);
  return {
    ...defined({ seed: seedOf(task) }),
    outcome,
    ...(failures.length === 0 ? {} : { failures }),
    ...defined({ changed, unsolvable }),
    calls,
    ...(isUncounted(trial) ? {} : { tokens: [inputTokens, outputTokens] as const }),
    ms: isDuration(durationMs) ? durationMs : 0,
  };
}

/**
 * Checks a value that was read from a file.
 *
 * @throws {InputError} If it is no record, was edited, or is of another generator.
 */
export function parseRecord(value: unknown, path: string): RecordFile {
  const record = parseWith(RECORD_FILE, value, path);
  assertIntact(record, path, "use");
  if (record.endedAt < record.startedAt) {
    throw cannot(
      `use ${path}`,
      "a run must end after it began",
      `it began at ${record.startedAt} and ended at ${record.endedAt}: its clock ran back`,
    );
  }
  for (const subject of record.subjects) {
    const own = variantIn(subject);
    const planned = plannedTrials(record.resolved, own);
    const isPlanned = subject.trials.every((trial, place) => {
      const { task } = planned[place] ?? {};
      return task !== undefined && (trial === null || trial.seed === seedOf(task));
    });
    if (isPlanned) continue;
    throw cannot(
      `use ${path}`,
      "its trials must be those of its plan",
      `those of ${printable(own.model, 100)} are others`,
    );
  }
  return record;
}

/** Returns a record as the file of a baseline: what can be compared with. */
export function asBaselineFile(record: RecordFile): BaselineFile {
  const { toolgate: _, commit: __, startedAt: ___, endedAt: ____, stopped: _____, ...rest } =
    record;
  const subjects = record.subjects.map(({ usd: _, estimated: __, trials, ...subject }) => ({
    ...subject,
    trials: trials.map((trial): TrialEnding => {
      if (trial === null) return null;
      const { outcome, failures = [] } = trial;
      return failures.length === 0 ? outcome : [outcome, ...failures];
    }),
  }));
  return { ...rest, v: 1, kind: "baseline", subjects };
}

/** Returns all that determines which tasks may be drawn, and by whom answers are judged. */
export function distributionOf({ resolved }: Pick<RecordFile, "resolved">) {
  const { seed: _, graphs: __, repetitions: ___, ...others } = comparedFields(resolved);
  return { ...others, ...defined({ judge: resolved.judge }) };
}

/** A hash of that: runs that share it are of one distribution. */
export function distributionHash(record: Pick<RecordFile, "resolved">): string {
  return sha256(canonicalJson(distributionOf(record)));
}

/** The name of the file of a record: that of two runs differs, so that branches merge without a conflict. */
export function recordName({ startedAt, checksum }: RecordFile): string {
  return `${startedAt.slice(0, 10)}-${checksum.slice(0, 12)}.record.json`;
}
