/**
 * Metrics: what trials come to, for each cell and over all.
 * @module
 */

import { FAILURE_TYPES, type FailureType } from "../../calls/failure_types.ts";
import { CALL_FORMATS, CALL_MODES, SCORING_RULES } from "../../tasks/questions/scoring.ts";
import { DIFFICULTIES, type Difficulty } from "../../tasks/questions/question_set.ts";
import { signsOf } from "../../gate/ceilings.ts";
import {
  byGraph,
  byVariant,
  graphKey,
  isCounted,
  type Variant,
  variantOf,
} from "../../gate/variant.ts";
import { canonicalJson, type JsonValue } from "../../base/json.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import { costOfAll, type Prices, spentUsage } from "../../models/prices.ts";
import { isProbe, isQuestion, type QuestionSpec } from "../../trials/executors/task_kind.ts";
import { clusteredInterval, passAtK, passHatK } from "../../statistics/pass_at_k.ts";
import { type Bounds, wilson } from "../../statistics/proportions.ts";
import type { StrategyWork } from "../../calls/trace.ts";
import { type Outcome, OUTCOMES } from "../../trials/trial.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** What a set of trials comes to. */
export interface Tally {
  /** Trials, invalid ones too. */
  readonly trials: number;
  /** Trials that count: neither invalid nor unchanged. */
  readonly valid: number;
  /** Trials in whose task the perturbation found nothing to change, so that they tell nothing of it. */
  readonly unchanged: number;
  readonly solved: number;
  /** Solved share of the valid trials; `null` without any. */
  readonly rate: number | null;
  /**
   * Two-sided 95% interval of the rate: Wilson's, or from the clustered standard error when graphs
   * were repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
  /** Mean calls of solved trials in which calls could be made; `null` without any. */
  readonly callsSolved: number | null;
  /** Mean calls of valid trials that were not solved, of those in which calls could be made; `null` without any. */
  readonly callsFailed: number | null;
  /** Mean of the fewest calls that solve the tasks; `null` where unknown. */
  readonly minimumCalls: number | null;
  /** Tokens read and written. */
  readonly tokens: number;
  /** Mean milliseconds of a valid trial; `null` without any. */
  readonly duration: number | null;
}

/** Failures of one type. */
export interface FailureTally {
  readonly type: FailureType;
  readonly roots: number;
  readonly cascades: number;
}

/** How repetitions of a graph agree: means over the graphs that have k valid trials or more. */
export interface Repetition {
  /** Trials that are looked at together: as many as a graph has at most. */
  readonly k: number;
  /** Graphs with k valid trials, and those with fewer, for which neither is available. */
  readonly graphs: number;
  readonly unavailable: number;
  /** pass@k: at least one of k trials is solved; `null` if it is available for no graph. */
  readonly passAtK: number | null;
  /** pass^k: all of k trials are solved; `null` if it is available for no graph. */
  readonly passHatK: number | null;
}

/** What the trials of one model, strategy and perturbation come to. */
export interface VariantMetrics {
  readonly subject: Variant;
  /** Whether the model is a program that stands in for a model. */
  readonly simulated: boolean;
  /** For each cell, in the order in which cells first occur. */
  readonly cells: readonly { readonly name: string; readonly tally: Tally }[];
  /** For each kind of probe: how often it was solved, and how many valid trials showed a behaviour. */
  readonly probes: readonly {
    readonly probe: string;
    readonly tally: Tally;
    readonly behaviours: Readonly<Record<string, number>>;
  }[];
  /** Over all cells. */
  readonly total: Tally;
  /** Of graphs that were repeated; `null` if none was. */
  readonly repetition: Repetition | null;
  /** Calls of all valid trials. */
  readonly calls: number;
  /** Tokens of all trials, invalid ones, unchanged ones and those that were run again too. */
  readonly usage: Usage;
  /** What they cost in US dollars; `null` without a price of each model that took part. */
  readonly cost: number | null;
  /** How many trials, unchanged ones aside, ended in which way, all outcomes in order. */
  readonly outcomes: readonly { readonly outcome: Outcome; readonly trials: number }[];
  /** Failures by type, all types in order. */
  readonly failures: readonly FailureTally[];
  /** How many valid trials showed a behaviour, or were solved without the target's return. */
  readonly behaviours: Readonly<Record<string, number>>;
  /** What strategies did beside the loop in all valid trials; `null` if nothing. */
  readonly work: StrategyWork | null;
}

/** The metrics of `trials`, subject by subject; costs are known where `prices` has the model. */
export function measure(trials: readonly TrialSummary[], prices: Prices = {}): VariantMetrics[] {
  return byVariant(trials.map(asSummary), variantOf).map(({ subject, items }) => {
    const counted = items.filter(isCounted);
    return {
      subject,
      simulated: items.some(({ model }) => model.simulated),
      cells: [...Map.groupBy(items, cellName)].map(([name, own]) => ({ name, tally: tally(own) })),
      probes: [...Map.groupBy(items, ({ task }) => isProbe(task) ? task.case : "")]
        .flatMap(([probe, own]) =>
          probe === ""
            ? []
            : [{ probe, tally: tally(own), behaviours: behaviourCounts(own.filter(isCounted)) }]
        ),
      total: tally(items),
      repetition: repetitionOf(items),
      calls: counted.reduce((sum, { calls }) => sum + calls, 0),
      usage: sumUsage(items.map(spentUsage)),
      cost: costOfAll(items, prices),
      outcomes: OUTCOMES.map((outcome) => ({
        outcome,
        trials: items.filter((trial) =>
          trial.outcome === outcome && trial.changed !== false
        ).length,
      })),
      failures: FAILURE_TYPES.map((type) => {
        const own = counted
          .flatMap(({ failures }) => failures.filter((failure) => failure.type === type));
        const roots = own.filter(({ root }) => root).length;
        return { type, roots, cascades: own.length - roots };
      }),
      behaviours: behaviourCounts(counted),
      work: workOfAll(counted),
    };
  });
}

function workOfAll(trials: readonly TrialSummary[]): StrategyWork | null {
  const works = trials.flatMap(({ work }) => work ?? []);
  if (works.length === 0) return null;
  const sum = (part: keyof StrategyWork) => works.reduce((total, own) => total + own[part], 0);
  return {
    asked: sum("asked"),
    unusable: sum("unusable"),
    sentBack: sum("sentBack"),
    mended: sum("mended"),
  };
}

/**
 * The tally of a set of trials.
 *
 * @example Usage
 * ```ts
 * import { tally } from "./metrics.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(tally([]).rate, null);
 * ```
 */
export function tally(trials: readonly TrialSummary[]): Tally {
  const valid = trials.filter(isCounted);
  const solved = valid.filter((trial) => trial.solved);
  const failed = valid.filter((trial) => !trial.solved);
  const calling = valid.filter(canCall);
  const minima = calling.flatMap(({ minimumCalls }) => minimumCalls ?? []);
  return {
    trials: trials.length,
    valid: valid.length,
    unchanged: trials.filter(({ changed }) => changed === false).length,
    solved: solved.length,
    rate: valid.length === 0 ? null : solved.length / valid.length,
    interval: shareInterval(valid, (trial) => trial.solved),
    callsSolved: mean(solved.filter(canCall).map(({ calls }) => calls)),
    callsFailed: mean(failed.filter(canCall).map(({ calls }) => calls)),
    minimumCalls: minima.length < calling.length ? null : mean(minima),
    tokens: trials.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0),
    duration: mean(valid.map(({ durationMs }) => durationMs)),
  };
}

/**
 * Two-sided 95% interval of the share of `items` that show something: Wilson's, or from the clustered
 * standard error where several are on one graph; `null` where there is none.
 */
export function shareInterval<T extends Pick<TrialSummary, "task">>(
  items: readonly T[],
  shows: (item: T) => boolean,
): Bounds | null {
  if (items.length === 0) return null;
  const graphs = byGraph(items);
  const count = items.filter(shows).length;
  if (graphs.length === items.length) return wilson(count, items.length);
  const interval = clusteredInterval(
    graphs.map((graph) => graph.map((item) => Number(shows(item)))),
  );
  if (interval === null) return null;
  // Graphs that are all alike have no spread, and yet prove no more than so many trials would.
  if (interval.upper - interval.lower > 1e-9) return interval;
  return wilson(Math.round(count / items.length * graphs.length), graphs.length);
}

function repetitionOf(trials: readonly TrialSummary[]): Repetition | null {
  const changed = trials.filter((trial) => trial.changed !== false);
  const graphs = [...Map.groupBy(changed, ({ task }) => graphKey(task)).values()];
  const k = graphs.reduce((most, { length }) => Math.max(most, length), 0);
  if (k < 2) return null;
  const valid = graphs.map((graph) => graph.filter(isCounted));
  const meanOf = (estimate: typeof passAtK) =>
    mean(
      valid.flatMap((graph) =>
        estimate(graph.filter(({ solved }) => solved).length, graph.length, k) ?? []
      ),
    );
  const available = valid.filter((graph) => graph.length >= k).length;
  return {
    k,
    graphs: available,
    unavailable: graphs.length - available,
    passAtK: meanOf(passAtK),
    passHatK: meanOf(passHatK),
  };
}

/** The sizes of a trial's task, in words; other tasks go by their own names, questions by how they are asked. */
export function cellName({ task }: Pick<TrialSummary, "task">): string {
  if (isWholeQuestion(task)) return questionWords(task, task.difficulty);
  const { seed: _, ...sizes } = task as unknown as Record<string, JsonValue>;
  return Object.entries(sizes)
    .map(([name, value]) => `${name} ${typeof value === "object" ? canonicalJson(value) : value}`)
    .join(", ");
}

/** Whether a task is a question that tells how it is asked: other tools may have tasks that only look so. */
export function isWholeQuestion(task: object): task is QuestionSpec {
  if (!isQuestion(task)) return false;
  const { set, question, difficulty, mode, rule, input, output } = task;
  return typeof set === "string" && typeof question === "string" &&
    DIFFICULTIES.includes(difficulty) && CALL_MODES.includes(mode) &&
    (rule === undefined || SCORING_RULES.includes(rule)) &&
    [input, output].every((format) => format === undefined || CALL_FORMATS.includes(format));
}

/** How a question is asked, such as `callnavi parameters, easy, yaml to json`: what is usual is left out. */
export function questionWords(
  { set, mode, rule = "published", input = "json", output = "json" }: Pick<
    QuestionSpec,
    "set" | "mode" | "rule" | "input" | "output"
  >,
  difficulty?: Difficulty,
): string {
  return [
    `${set} ${mode}`,
    ...(difficulty === undefined ? [] : [difficulty]),
    ...(input === "json" && output === "json" ? [] : [`${input} to ${output}`]),
    ...(rule === "published" ? [] : [rule]),
  ].join(", ");
}

/** Whether calls can be made at all: answers to most questions of call sets are only written down. */
export function canCall({ task }: Pick<TrialSummary, "task">): boolean {
  return !isWholeQuestion(task) || task.mode === "tools";
}

function behaviourCounts(trials: readonly TrialSummary[]): Record<string, number> {
  const counts: Record<string, number> = Object.create(null);
  for (const trial of trials) {
    for (const behaviour of signsOf(trial)) {
      counts[behaviour] = (counts[behaviour] ?? 0) + 1;
    }
  }
  return counts;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
