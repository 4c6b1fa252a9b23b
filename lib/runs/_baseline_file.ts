/**
 * The file of a baseline: its fields, and how it names its trials.
 * @module
 */

import { z } from "zod";
import { FAILURE_TYPES, type FailureType } from "../calls/failure_types.ts";
import { canonicalJson } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import type { ScoredTrial, Variant } from "../gate/variant.ts";
import { comparisonHash, listTrials, type ResolvedSuite } from "./resolved_suite.ts";
import { type Outcome, OUTCOMES } from "../trials/trial.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** The ending of one trial: its outcome and the types of its failures; `null` if it was not run. */
export type TrialEnding = Outcome | readonly [Outcome, ...FailureType[]] | null;

/** The file that `toolgate accept` writes. */
export interface BaselineFile {
  readonly v: 1;
  readonly kind: "baseline";
  /** The suite's name. */
  readonly suite: string;
  /** See {@linkcode planHash}. */
  readonly planHash: string;
  /** See {@linkcode comparisonHash}. */
  readonly comparisonHash: string;
  /** A hash of the rest of the file, which reveals accidental edits. */
  readonly checksum: string;
  /** The version of the generator. */
  readonly generator: number;
  /** The seed of all tasks. */
  readonly seed: number;
  /** All that determines the trials, except models and strategies. */
  readonly resolved: Omit<ResolvedSuite, "models" | "strategies">;
  /** The accepted results, one entry per model, strategy and perturbation. */
  readonly subjects: readonly AcceptedSubject<NonNullable<TrialEnding>>[];
}

/** The results of one variant in a file. */
export interface AcceptedSubject<Ending> {
  readonly model: ScoredTrial["model"];
  readonly strategy: string;
  readonly perturbation: string;
  /** The name of its settings; omitted where there are no others. */
  readonly variant?: string;
  /** The {@linkcode trialKey} of each trial, with commas between; empty for one that was not run. */
  readonly keys: string;
  /** The {@linkcode drawKey} of each, in the same way; omitted if none was recorded or replayed. */
  readonly draws?: string;
  /** Set if the requests of its agent were not seen in any of the trials; else omitted. */
  readonly agent?: "unwatched";
  /** In plan order, up to the last trial that was run; `null` for one that was not. */
  readonly trials: readonly (Ending | null)[];
  /** What of the trials was not valid at the first go, by their places; omitted if all were. */
  readonly later?: Readonly<Record<string, LaterGo>>;
}

/** Why a trial was not valid at the first go: see {@linkcode TrialSummary}. */
export interface LaterGo {
  readonly replaced?: true;
  readonly unclear?: TrialSummary["unclear"];
}

const LATER_GO = z.strictObject({
  replaced: z.literal(true).exactOptional(),
  unclear: z.array(z.strictObject({ status: z.int().exactOptional(), message: z.string() }))
    .exactOptional(),
});

const outcome = z.enum(OUTCOMES);

/** The fields of files of results that come from their plan. */
export const HEAD = {
  suite: z.string(),
  planHash: z.string(),
  comparisonHash: z.string(),
  checksum: z.string(),
  generator: z.int(),
  seed: z.int().min(0),
  resolved: z.looseObject({ graphs: z.int().min(1), cells: z.array(z.looseObject({})) }),
};

/** The fields of the results of a variant, but for its trials. */
export const SUBJECT = {
  model: z.strictObject({ requested: z.string(), served: z.string(), simulated: z.boolean() }),
  strategy: z.string(),
  perturbation: z.string(),
  variant: z.string().exactOptional(),
  keys: z.string(),
  draws: z.string().exactOptional(),
  agent: z.literal("unwatched").exactOptional(),
  later: z.record(z.string(), LATER_GO).exactOptional(),
};

export const BASELINE_FILE = z.strictObject({
  v: z.literal(1),
  kind: z.literal("baseline"),
  ...HEAD,
  subjects: z.array(z.strictObject({
    ...SUBJECT,
    trials: z.array(z.union([outcome, z.tuple([outcome], z.enum(FAILURE_TYPES)), z.null()])),
  })).min(1, "must not be empty"),
}) as unknown as z.ZodType<BaselineFile>;

/** The trials of one variant, in plan order. */
export function plannedTrials(
  resolved: BaselineFile["resolved"],
  { model, strategy, perturbation, variant }: Variant,
): PlannedTrial[] {
  const { variants: _, ...others } = resolved;
  return listTrials({
    ...others,
    ...(variant === undefined ? {} : { variants: { [variant]: {} } }),
    models: [{ model }],
    strategies: [strategy],
    perturbations: [perturbation],
  });
}

export function checksumOf(content: object): string {
  return sha256(canonicalJson(content));
}

export function resolvedHash(resolved: BaselineFile["resolved"]): string {
  return comparisonHash({ resolved: { ...resolved, models: [], strategies: [] } });
}
