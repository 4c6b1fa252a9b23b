/**
 * Records: small files, each of what one run came to, without transcripts. A baseline is a record, and a history is
 * folders of them.
 * @module
 */

import { z } from "zod";
import { assertShallow, assertVersion, parseWith } from "../base/input.ts";
import { cannot, InputError, reasonOf } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { canonicalJson, defined, jsonText, parseJson, printable } from "../base/json.ts";
import { isDuration } from "../base/numbers.ts";
import { FAILURE_TYPES } from "../calls/failure_types.ts";
import { COMPLETE_POLICY } from "../gate/policy.ts";
import { decideTrials } from "../gate/decide_trials.ts";
import { chosenText } from "../models/recordings/origin.ts";
import { servedModelChange, unaskedModel } from "../gate/undecidable.ts";
import {
  byVariant,
  isUnwatched,
  type ScoredTrial,
  type Variant,
  variantOf,
} from "../gate/variant.ts";
import { costOfAll, isUncounted, spentUsage } from "../models/prices.ts";
import { OBSTACLES } from "../perturbations/methods.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { OUTCOMES } from "../trials/trial.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { faultOf, type Results } from "./journal/results.ts";
import { MAX_TRIALS } from "./plan.ts";
import { comparedFields, countTrials, listTrials, type ResolvedSuite } from "./resolved_suite.ts";
import { attemptKey, drawKey } from "./trial_keys.ts";
import { writeNewOutput } from "../base/output_file.ts";

const count = z.int().min(0);
/** As `Date` writes it, in UTC. */
const time = z.iso.datetime({ precision: 3 });

/** A field that is not here is omitted where it says nothing. */
const TRIAL = z.strictObject({
  /** See {@linkcode attemptKey}. */
  key: z.string(),
  /** See {@linkcode drawKey}. */
  draw: z.string().exactOptional(),
  outcome: z.enum(OUTCOMES),
  /** The types of its failures, each once. */
  failures: z.array(z.enum(FAILURE_TYPES)).exactOptional(),
  changed: z.literal(false).exactOptional(),
  unsolvable: z.enum(OBSTACLES).exactOptional(),
  agent: z.literal("unwatched").exactOptional(),
  /** Whether it replaces an attempt that a model may have spoiled. */
  replaced: z.literal(true).exactOptional(),
  unclear: z.array(z.strictObject({ status: z.int().exactOptional(), message: z.string() }))
    .exactOptional(),
  calls: count,
  /** Tokens read and written, also by attempts that were replaced; omitted where no reply was seen. */
  tokens: z.tuple([count, count]).exactOptional(),
  /** Milliseconds. */
  ms: z.number().min(0).max(Number.MAX_SAFE_INTEGER),
});

const SUBJECT = z.strictObject({
  model: z.strictObject({ requested: z.string(), served: z.string(), simulated: z.boolean() }),
  strategy: z.string(),
  perturbation: z.string(),
  variant: z.string().exactOptional(),
  /** US dollars of all of its trials; omitted where a price was unknown. */
  usd: z.number().min(0).exactOptional(),
  /** Whether tokens were estimated. */
  estimated: z.literal(true).exactOptional(),
  /** In plan order, up to the last one that was run; `null` for one that was not. */
  trials: z.array(z.nullable(TRIAL)),
});

const RECORD = z.strictObject({
  v: z.literal(1),
  kind: z.literal("record"),
  suite: z.string(),
  /** Set once a person has accepted the run: its name, and when it was accepted and became the anchor. */
  release: z.strictObject({ name: z.string().min(1), at: time, anchor: time.exactOptional() })
    .exactOptional(),
  /** When its first trial began, and its last one ended, as far as is known. */
  startedAt: time,
  endedAt: time,
  /** Why its run ended before all planned trials; omitted unless it ended itself. */
  stopped: z.string().exactOptional(),
  /** A hash of the rest of the file, which reveals accidental edits. */
  checksum: z.string(),
  /** The gate that its plan declares; omitted without one. */
  gate: COMPLETE_POLICY.exactOptional(),
  /** Whether it is here as a gate judged it against the history: its models may be no others' days. */
  candidate: z.literal(true).exactOptional(),
  /** All that determines the trials, except models and strategies. */
  resolved: z.looseObject({ graphs: z.int().min(1), cells: z.array(z.looseObject({})) }),
  subjects: z.array(SUBJECT).min(1, "must not be empty"),
});

/** What one run came to. */
export interface RunRecord extends Omit<z.infer<typeof RECORD>, "resolved"> {
  readonly resolved: Omit<ResolvedSuite, "models" | "strategies">;
}

/** What a record has of one model, strategy, perturbation and variant. */
export type RecordedSubject = z.infer<typeof SUBJECT>;

/** A trial of a record, with its task, which follows from the plan. */
export type RecordedTrial =
  & ScoredTrial
  & Pick<z.infer<typeof TRIAL>, "key" | "draw" | "calls" | "tokens" | "ms">;

/** What of results a record is made of. */
export type RecordableResults =
  & Pick<Results, "plan" | "trials" | "planned" | "problem" | "gate" | "rule" | "stopped" | "waves">
  & Partial<Pick<Results, "missing" | "cut" | "prices">>;

/**
 * Returns the record of a run. Invalid and missing trials are kept as such, and so are missing shards.
 *
 * @throws {InputError} If no record can be made of it; the message names it by `source`.
 */
export function recordOf(results: RecordableResults, source: string): RunRecord {
  const { plan, trials, prices } = results;
  const variants = byVariant(trials, variantOf);
  const own = Object.values(plan.resolved.tests ?? {});
  const isMixed = own.some((test) => test.models ?? test.strategies ?? test.perturbations);
  const fault = faultOf(results) ??
    (trials.length === 0 ? "there are no trials" : undefined) ??
    (isMixed
      ? "all of its tests must have the same models, strategies and perturbations, and some have " +
        "their own: toolSuite() with a gate gives them the same"
      : undefined) ??
    variants.map(({ items }) =>
      chosenText(items) ?? unaskedModel(items) ?? servedModelChange(items, "the served model")
    )
      .find((one) => one !== undefined);
  if (fault !== undefined) throw new InputError(`Cannot record ${source}: ${fault}`);
  const { models: _, strategies: __, ...resolved } = plan.resolved;
  const begun = trials.map(({ startedAt }) => Date.parse(startedAt));
  const ended = trials.map((trial, index) => begun[index]! + msOf(trial));
  return readRecord(
    recordText(sealed({
      ...{ v: 1, kind: "record", suite: plan.suite },
      startedAt: timeText(begun.reduce((one, other) => Math.min(one, other))),
      endedAt: timeText(ended.reduce((one, other) => Math.max(one, other))),
      stopped: results.stopped ?? (isDecided(results) ? DECIDED : undefined),
      gate: plan.gate,
      resolved,
      subjects: variants.map(({ subject: { model: _, ...subject }, items }) => {
        const answered = items.find(({ outcome }) => outcome !== "invalid") ?? items[0]!;
        const { requested, served, simulated } = answered.model;
        const byId = new Map(items.map((trial) => [trial.id, trial]));
        const kept = plannedTrials(resolved, { model: requested, ...subject })
          .map(({ id }) => byId.get(id));
        return {
          ...{ model: { requested, served, simulated }, ...subject },
          usd: prices && (costOfAll(items, prices) ?? undefined),
          estimated: items.some(({ usage }) => usage.estimated) || undefined,
          trials: kept.slice(0, kept.findLastIndex((one) => one !== undefined) + 1)
            .map((trial) => trial === undefined ? null : keptOf(trial)),
        };
      }),
    })),
    `the record of ${source}`,
  );
}

/** What a record keeps of a trial. */
function keptOf(trial: TrialSummary): object {
  const { outcome, changed, unsolvable, replaced, replacedIdle, unclear, calls } = trial;
  const { inputTokens, outputTokens } = spentUsage(trial);
  const failures = FAILURE_TYPES.filter((type) => trial.failures.some((one) => one.type === type));
  return {
    key: attemptKey(trial),
    draw: drawKey(trial) || undefined,
    outcome,
    failures: failures.length === 0 ? undefined : failures,
    ...{ changed, unsolvable },
    agent: isUnwatched(trial) ? "unwatched" : undefined,
    replaced: replaced !== undefined && !replacedIdle || undefined,
    ...{ unclear, calls },
    tokens: isUncounted(trial) ? undefined : [inputTokens, outputTokens],
    ms: msOf(trial),
  };
}

function msOf({ durationMs }: TrialSummary): number {
  return isDuration(durationMs) ? durationMs : 0;
}

/** Writes a time; an unknown one as a text that no record may have. */
function timeText(time: number): string {
  return Math.abs(time) <= 8.64e15 ? new Date(time).toISOString() : "unknown";
}

/** Why a run ended whose sequential gate had decided. */
export const DECIDED = "its gate had decided";

/** Whether a sequential gate ended a run before all of its trials. */
export function isDecided({ trials, planned, gate, rule, waves }: RecordableResults): boolean {
  if (gate === undefined || rule === undefined || trials.length === planned.length) return false;
  const variants = decideTrials(trials, planned, gate, { rule, waves });
  return variants.length > 0 &&
    variants.every(({ verdict }) => verdict.kind !== "invalid" && !("next" in verdict));
}

/** Returns a record with the checksum of its content. */
export function sealed<Content extends object>(content: Content): Content & { checksum: string } {
  return { ...content, checksum: sha256(canonicalJson(content)) };
}

/** The text of a record: one trial a line, so that a review shows which changed. */
export function recordText(
  record: { readonly subjects: readonly { readonly trials: readonly unknown[] }[] },
): string {
  const { subjects, ...head } = record;
  const entries = subjects.map(({ trials, ...subject }) => {
    const lines = trials.map((trial) => `      ${jsonText(trial)}`).join(",\n");
    const fields = jsonText(subject).slice(1, -1);
    return `    {\n      ${fields},\n      "trials": [\n${lines}\n      ]\n    }`;
  });
  const fields = Object.entries(head).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${jsonText(name)}: ${jsonText(value)},\n`).join("");
  return `{\n${fields}  "subjects": [\n${entries.join(",\n")}\n  ]\n}\n`;
}

/** Clocks of two machines differ by less. */
export const MAX_SKEW_MS = 3_600_000;

/** Whether a text, as far as it can be read, is that of a record. */
export function isRecord(text: string): boolean {
  return Object(parseJson(text)).kind === "record";
}

/**
 * Reads the text of a record.
 *
 * @throws {InputError} If it is none, was edited, is of the future, or its trials are not those of its plan.
 */
export function readRecord(text: string, path: string, now = new Date()): RunRecord {
  const action = `use ${path}`;
  const value = parseJson(text);
  if (Object(value).kind !== "record") {
    throw cannot(action, "it must be the record of a run", "it is none");
  }
  assertShallow(value, path);
  assertVersion(value, path);
  const record = parseWith(RECORD, value, path) as unknown as RunRecord;
  const { checksum, ...content } = record;
  const { resolved, subjects, endedAt } = record;
  if (checksum !== sealed(content).checksum) {
    throw cannot(action, "its checksum must be that of its content", "it was changed");
  }
  if (Date.parse(endedAt) > now.getTime() + MAX_SKEW_MS) {
    throw cannot(
      action,
      "its run must have ended",
      `it ends at ${endedAt}, and it is ${now.toISOString()}: one of two clocks is wrong`,
    );
  }
  try {
    const planned = plannedCount(record);
    const size = subjects.length * planned;
    if (!(size <= MAX_TRIALS)) {
      throw cannot(action, `a run has at most ${MAX_TRIALS} trials`, `it has ${size}`);
    }
    const longest = Math.max(...subjects.map(({ trials }) => trials.length));
    if (longest > planned) {
      throw cannot(action, `a subject has at most ${planned} trials`, `one has ${longest}`);
    }
    for (const subject of subjects) plannedTrials(resolved, variantIn(subject));
  } catch (error) {
    if (error instanceof InputError) throw error;
    // A hostile plan may make no sense in ways of its own.
    throw cannot(action, "its plan must make sense", printable(reasonOf(error), 200));
  }
  return record;
}

/** The number of trials that a plan has for each variant. */
export function plannedCount({ resolved }: Pick<RunRecord, "resolved">): number {
  const one = { models: [{ model: "" }], strategies: [""], perturbations: [""] };
  return countTrials({ ...resolved, ...one, variants: { "": {} } });
}

/** The trials of one variant, in plan order. */
export function plannedTrials(
  { variants: _, ...resolved }: RunRecord["resolved"],
  { model, strategy, perturbation, variant }: Variant,
): PlannedTrial[] {
  return listTrials({
    ...resolved,
    ...(variant === undefined ? {} : { variants: { [variant]: {} } }),
    ...{ models: [{ model }], strategies: [strategy], perturbations: [perturbation] },
  });
}

/** Returns the variant that a record has results of. */
export function variantIn({ model, strategy, perturbation, variant }: RecordedSubject): Variant {
  return { model: model.requested, strategy, perturbation, ...defined({ variant }) };
}

/** What became of a planned trial: `undefined` if it was not run. */
export interface PlannedResult {
  readonly planned: PlannedTrial;
  readonly trial: RecordedTrial | undefined;
}

/** Returns the planned trials of a variant, in plan order, and what became of each. */
export function resultsOf(
  { resolved }: Pick<RunRecord, "resolved">,
  subject: RecordedSubject,
): PlannedResult[] {
  const variant = variantIn(subject);
  return plannedTrials(resolved, variant).map((planned, index) => {
    const kept = subject.trials[index] ?? undefined;
    if (kept === undefined) return { planned, trial: undefined };
    const { task, repetition } = planned;
    const { replaced, failures = [], ...rest } = kept;
    const trial = {
      ...{ ...rest, ...variant, model: subject.model, task, repetition },
      solved: kept.outcome === "solved",
      failures: failures.map((type) => ({ type })),
      replaced: replaced && { inputTokens: 0, outputTokens: 0 },
    };
    return { planned, trial };
  });
}

/** Returns the trials of a record that ended. */
export function trialsOf(record: Pick<RunRecord, "resolved" | "subjects">): RecordedTrial[] {
  return record.subjects.flatMap((subject) =>
    resultsOf(record, subject).flatMap(({ trial }) => trial ?? [])
  );
}

/** The keys of the trials of a record, and of the replies that they replay. */
export function keysOf({ subjects }: Pick<RunRecord, "subjects">): Set<string> {
  const trials = subjects.flatMap((subject) => subject.trials.filter((one) => one !== null));
  return new Set(trials.flatMap(({ key, draw = "" }) => [key, draw]).filter(Boolean));
}

/** Returns all that determines which tasks may be drawn, and by whom answers are judged. */
export function distributionOf({ resolved }: Pick<RunRecord, "resolved">) {
  const { seed: _, graphs: __, repetitions: ___, ...others } = comparedFields(resolved);
  return { ...others, judge: resolved.judge };
}

/**
 * Writes results whose gate has passed as the baseline that their plan names, unless there is one by now. Returns what
 * to say about it.
 *
 * @throws {InputError} If the file cannot be written.
 */
export function recordBaseline(
  results: RecordableResults,
  file: string,
  pathOf = (file: string) => file,
): string {
  const lacking = results.planned.length - results.trials.length;
  let accepted: RunRecord;
  try {
    // Later runs are compared with all of its trials.
    if (lacking > 0) {
      return `the baseline ${file} is not written: ${lacking} of ${results.planned.length} trials were not run`;
    }
    accepted = acceptResults(results, "this run");
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return `the baseline ${file} is not written: ${error.message}`;
  }
  return writeNewOutput(pathOf(file), recordText(accepted), "the baseline")
    ? `these ${results.trials.length} trials are the baseline now: ${file}`
    : `the baseline ${file} is not written: there is one already`;
}

/**
 * Returns the record of results that a verdict can rest on.
 *
 * @throws {InputError} If they are no such results; the message names them by `source`.
 */
export function acceptResults(
  results: RecordableResults,
  source: string,
): RunRecord {
  const why = results.problem ?? rejectionReason(results);
  if (why === undefined) return recordOf(results, source);
  throw new InputError(`Cannot accept ${source}: ${why}`);
}

/** Why results must not replace a baseline; `undefined` if they may. */
function rejectionReason(results: RecordableResults): string | undefined {
  const { trials, planned, stopped, waves } = results;
  if (trials.length === 0) return "there are no trials";
  const missing = planned.length - trials.length;
  if (missing > 0 && stopped === undefined && !isDecided(results)) {
    const how = waves === undefined ? "--resume" : "--resume, or with its next wave";
    return `${missing} of ${planned.length} trials were not run; continue the run with ${how}`;
  }
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  if (invalid > (1 - ACCEPTED_COVERAGE) * trials.length) {
    return `${invalid} of ${trials.length} trials are invalid; run them again with --retry-invalid`;
  }
}

/** The default of gates. */
const ACCEPTED_COVERAGE = 0.95;
