/**
 * Scores of trials: what tables and gates need of a finished trial, small enough that those of a whole run
 * can be kept.
 * @module
 */

import type { Failure } from "../calls/failure.ts";
import { FAILURE_TYPES, type FailureType } from "../calls/failure_types.ts";
import type { Usage } from "../tools/message.ts";
import { type ParameterScore, scoreOfViews } from "../calls/parameter_views.ts";
import { type ParseCounts, parsesOf } from "../calls/parse_counts.ts";
import { type Recovery, recoveryOf } from "../calls/recovery.ts";
import {
  callsOf,
  type ScoredEvent,
  type StrategyWork,
  type TraceEvent,
  workOf,
} from "../calls/trace.ts";
import type { Trial } from "./trial.ts";
import { dimensionsOf, type TrialDimensions } from "./dimension_scores.ts";

/**
 * A trial without its events and the details of its failures: what tables and gates need of it, small
 * enough that those of a whole run can be kept.
 */
export interface TrialSummary extends Omit<Trial, "events" | "failures"> {
  /** The type of each failure, and whether it was a root. */
  readonly failures: readonly Pick<Failure, "type" | "root">[];
  /** What strategies did beside the loop; left out where they did nothing. */
  readonly work?: StrategyWork;
  /** What its calls are beside the right ones; left out where these are not known. */
  readonly parameters?: ParameterScore;
  /** What became of each function that a fault was in the way of; left out without any. */
  readonly recoveries?: readonly Recovery[];
  /** How its replies could be read; left out where that is not known, or none attempts a call. */
  readonly parses?: ParseCounts;
  /** What it tells of the dimensions of tool use; left out where that is nothing. */
  readonly dimensions?: TrialDimensions;
  /** What its answer is worth, of questions of call sets; left out where it was not scored. */
  readonly scored?: ScoredAnswer;
  /** Tokens of earlier tries at it, which infrastructure had spoiled; left out without any. */
  readonly replaced?: Usage;
}

/** What tables and gates need of a trial: other tools may keep whole transcripts in their lines. */
export function summarize(trial: Trial): TrialSummary {
  const { v, kind, id, suite, index, block, model, strategy, perturbation, task, repetition } =
    trial;
  const { outcome, solved, grounded, calls, minimumCalls, behaviours, usage } = trial;
  const { changed, stages, judging, startedAt, durationMs, reason, replayed, ends } = trial;
  const work = workOf(trial.events);
  const answer = scoredAnswer(trial.events);
  const recoveries = recoveryOf(trial.events);
  const parses = parsesOf(trial.events);
  const dimensions = dimensionsOf(trial);
  return {
    ...{ v, kind, id, suite, index, block, model, strategy, perturbation, task, repetition },
    ...{ outcome, solved, grounded, calls, minimumCalls, behaviours, usage, startedAt, durationMs },
    ...(changed === undefined ? {} : { changed }),
    ...(stages === undefined ? {} : { stages }),
    ...(judging === undefined ? {} : { judging }),
    ...(work === undefined ? {} : { work }),
    ...(hasViews(trial) ? { parameters: scoreOfViews(trial.events) } : {}),
    ...(recoveries.length === 0 ? {} : { recoveries }),
    ...(parses === undefined ? {} : { parses }),
    ...(dimensions === undefined ? {} : { dimensions }),
    ...(answer === undefined ? {} : { scored: answer }),
    ...(reason === undefined ? {} : { reason }),
    ...(replayed === undefined ? {} : { replayed }),
    ...(ends === undefined ? {} : { ends }),
    failures: trial.failures.map(({ type, root }) => KINDS[`${root}`][type]),
  };
}

/** What an answer is worth, and what it was. */
export interface ScoredAnswer
  extends Pick<ScoredEvent, "scores" | "unrepaired" | "errors" | "judged"> {
  /** The answer as it was given: calls that were made as JSON, else its text. */
  readonly output: string;
}

function scoredAnswer(events: readonly TraceEvent[]): ScoredAnswer | undefined {
  const event = events.find((event) => event.kind === "scored");
  if (event === undefined) return undefined;
  const { scores, unrepaired, errors, judged, output } = event;
  return {
    ...{ scores, errors, output },
    ...(unrepaired === undefined ? {} : { unrepaired }),
    ...(judged === undefined ? {} : { judged }),
  };
}

/** Whether calls were held against the right ones, and are all there: other tools may drop events. */
function hasViews({ oracle, calls, events }: Trial): boolean {
  return oracle !== undefined && callsOf(events).length >= calls;
}

/**
 * The score of whatever is one already or has one: whole trials pass for scores wherever scores are taken,
 * and what only their events tell would be missed.
 */
export function asSummary(trial: Trial | TrialSummary): TrialSummary {
  if (!("events" in trial)) return trial;
  const { work, parameters, recoveries, parses, dimensions, scored, replaced }: Partial<
    TrialSummary
  > = trial;
  return {
    ...summarize(trial),
    ...(work === undefined ? {} : { work }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(recoveries === undefined ? {} : { recoveries }),
    ...(parses === undefined ? {} : { parses }),
    ...(dimensions === undefined ? {} : { dimensions }),
    ...(scored === undefined ? {} : { scored }),
    ...(replaced === undefined ? {} : { replaced }),
  };
}

/** Each kind of failure once, as a run may have a hundred thousand of them. */
const KINDS = { true: kindsOf(true), false: kindsOf(false) };

function kindsOf(root: boolean) {
  return Object.fromEntries(FAILURE_TYPES.map((type) => [type, { type, root }])) as Record<
    FailureType,
    Pick<Failure, "type" | "root">
  >;
}
