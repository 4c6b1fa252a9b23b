/**
 * Records of finished trials made by hand, for the tests of whatever reads them: gates, metrics,
 * reports, journals.
 */

import type { Failure, FailureCause, FailureType } from "../../lib/calls/failure_types.ts";
import type { Pair, Unit } from "../../lib/gate/evidence.ts";
import type { StageUse } from "../../lib/models/model.ts";
import type { TaskSpec } from "../../lib/tasks/task_kind.ts";
import { type CallEvent, callsOf, failuresOf, type TraceEvent } from "../../lib/calls/trace.ts";
import type { Outcome, Trial } from "../../lib/trials/trial.ts";
import { type PlannedTrial, trialId } from "../../lib/trials/trial_id.ts";
import { summarize, type TrialDimensions, type TrialSummary } from "../../lib/trials/summary.ts";
import type { RecoveryEnd } from "../../lib/calls/recovery.ts";
import type { FaultKind } from "../../lib/tools/fault.ts";

/** What matters of a trial to the test at hand; the rest is usual. */
export interface TrialTraits
  extends Partial<Omit<Trial, "model" | "task" | "id" | "solved" | "v" | "kind">> {
  readonly model?: string;
  readonly served?: string;
  readonly simulated?: boolean;
  /** Tells graphs apart; default 1. */
  readonly seed?: number;
  readonly task?: TaskSpec;
  readonly id?: string;
}

/** A trial; solved by default. */
export function record(traits: TrialTraits = {}): Trial {
  const {
    model = "m",
    served = model,
    simulated = false,
    seed = 1,
    task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed },
    outcome = "solved",
    ...others
  } = traits;
  const { strategy = "plain", perturbation = "none", repetition = 1 } = others;
  return {
    v: 1,
    kind: "trial",
    id: traits.id ?? trialId({ model, strategy, perturbation, task, repetition }),
    suite: "s",
    index: 0,
    block: 0,
    model: { requested: model, served, simulated },
    strategy,
    perturbation,
    task,
    repetition,
    outcome,
    solved: outcome === "solved",
    grounded: outcome === "solved",
    calls: 3,
    minimumCalls: 3,
    failures: [],
    behaviours: [],
    usage: { inputTokens: 10, outputTokens: 2 },
    startedAt: "2026-01-01T00:00:00.000Z",
    durationMs: 100,
    events: [],
    ...others,
  };
}

/** A value as JSON has it, without what is undefined. */
export function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** One trial an outcome, each on a graph of its own. */
export function records(outcomes: readonly Outcome[], traits: TrialTraits = {}): Trial[] {
  return outcomes.map((outcome, index) => record({ seed: index + 1, index, outcome, ...traits }));
}

/** `solved` solved trials and others up to `trials`, each on a graph of its own. */
export function manyRecords(solved: number, trials: number, traits: TrialTraits = {}): Trial[] {
  return records(
    Array.from({ length: trials }, (_, index) => index < solved ? "solved" : "wrong_answer"),
    traits,
  );
}

/** Trials of `restate` and of the baseline on graphs that were run once, by who solved them. */
export function crossed(
  { both = 0, gained = 0, lost = 0, neither = 0 }: Crossing,
  traits: TrialTraits = {},
): Trial[] {
  const outcomes = (counts: readonly number[]) =>
    counts.flatMap((count, place) =>
      new Array<Outcome>(count).fill(place % 2 === 0 ? "solved" : "wrong_answer")
    );
  return [
    ...records(outcomes([both + gained, lost + neither]), { strategy: "restate", ...traits }),
    ...records(outcomes([both, gained, lost, neither]), traits),
  ];
}

/** How many graphs were solved by both of two, one of them, or neither. */
export interface Crossing {
  readonly both?: number;
  readonly gained?: number;
  readonly lost?: number;
  readonly neither?: number;
}

/** What another model took of a trial: tokens that it read. */
export function stageOf(requested: string, inputTokens: number): StageUse {
  return {
    stage: "plan",
    model: { requested, served: [requested], simulated: false },
    usage: { inputTokens, outputTokens: 0 },
  };
}

/** The summary of a trial without a fault. */
export function plain(dimensions: TrialDimensions, traits: TrialTraits = {}): TrialSummary {
  return { ...summarize(record(traits)), dimensions };
}

/** The summary of a trial in which functions failed by a fault, and ended so. */
export function faulted(
  ends: readonly RecoveryEnd[],
  traits: TrialTraits = {},
  fault: FaultKind = "timeout",
): TrialSummary {
  const recoveries = ends.map((end, place) => ({ fault, function: `f${place}`, end, attempts: 1 }));
  return { ...summarize(record({ perturbation: fault, ...traits })), recoveries };
}

/** The plan of which `trials` are all. */
export function planOf(trials: readonly Trial[]): PlannedTrial[] {
  return trials.map((trial) => ({ ...trial, model: trial.model.requested }));
}

/** The record of a planned trial that has ended. */
export function finish(planned: PlannedTrial, traits: TrialTraits = {}): Trial {
  return record({ ...planned, ...traits });
}

/** A wrong call of a type, as journals hold it. */
export function failureOf(type: FailureType): Failure {
  const details: Partial<Record<FailureType, object>> = {
    function_not_found: { nearest: null },
    wrong_number_of_inputs: { missing: [], unexpected: [], wrongType: [], malformed: true },
  };
  const detail = details[type] ?? { arguments: [] };
  return { type, detail, root: true, call: 1, step: 1, function: "func_abc" } as Failure;
}

/** Graphs that were run once: solved ones, failed ones, invalid ones. */
export function once(solved: number, failed: number, invalid = 0): Unit[] {
  return [
    ...new Array(solved).fill({ solved: 1, valid: 1, trials: 1 }),
    ...new Array(failed).fill({ solved: 0, valid: 1, trials: 1 }),
    ...new Array(invalid).fill({ solved: 0, valid: 0, trials: 1 }),
  ];
}

/** Graphs on which two models worked once, by the one or ones that solved them. */
export function pairsOf(
  { both = 0, gained = 0, lost = 0, neither = 0 }: Crossing,
): Pair[] {
  const [solved, failed] = [...once(1, 0), ...once(0, 1)] as [Unit, Unit];
  return [
    ...new Array<Pair>(both).fill({ candidate: solved, baseline: solved }),
    ...new Array<Pair>(gained).fill({ candidate: solved, baseline: failed }),
    ...new Array<Pair>(lost).fill({ candidate: failed, baseline: solved }),
    ...new Array<Pair>(neither).fill({ candidate: failed, baseline: failed }),
  ];
}

/** A call event; right and answered by default. */
export function callEvent(call: number, traits: Partial<CallEvent> = {}): CallEvent {
  return {
    kind: "call",
    call,
    step: call,
    function: `func_${call}`,
    role: "core",
    arguments: '{"abc":111}',
    result: '{"xyz":222}',
    returned: { variable: "xyz", value: 222 },
    ...traits,
  };
}

/** A call of a function that does not exist. */
export const NOT_FOUND: FailureCause = {
  type: "function_not_found",
  detail: { nearest: "func_abc" },
};

/** A call with a wrong value, made up or returned by another call. */
export function wrongValue(given: number, originCall?: number): FailureCause {
  const origin = originCall === undefined
    ? { origin: "fabricated" as const }
    : { origin: "wrong_return" as const, originCall };
  return {
    type: "incorrect_value",
    detail: { arguments: [{ parameter: "para", variable: "vari", given, ...origin }] },
  };
}

/** A trial with these events, and the failures that are in them. */
export function traced(events: readonly TraceEvent[], traits: TrialTraits = {}): Trial {
  return record({
    outcome: "wrong_answer",
    calls: callsOf(events).length,
    failures: failuresOf(events),
    events,
    ...traits,
  });
}

/** `count` calls, of which the numbered ones fail. */
export function callEvents(
  count: number,
  failing: Record<number, FailureCause & { root: boolean }> = {},
) {
  return Array.from({ length: count }, (_, index) => {
    const failure = failing[index + 1];
    return callEvent(index + 1, failure === undefined ? {} : { failure });
  });
}

/** Escape sequences, other control characters and invisible ones, as a hostile server sends them. */
export const HOSTILE = "evil\u001b[2J\u001b]0;owned\u0007\r\n\u202egnp\u0000\u009b31m\u2066x";

/** Characters that must not reach a terminal; a line break may. */
// deno-lint-ignore no-control-regex
export const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
