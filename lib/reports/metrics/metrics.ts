/**
 * Metrics: success, calls, failures, behaviours and cost of trials, for each cell and over all.
 * @module
 */

import { FAILURE_TYPES, type FailureType } from "../../calls/failure_types.ts";
import { CALL_FORMATS, CALL_MODES, SCORING_RULES } from "../../tasks/questions/scoring.ts";
import { DIFFICULTIES, type Difficulty } from "../../tasks/questions/question_set.ts";
import { signsOf } from "../../gate/ceilings.ts";
import { byGraph, countsAsSuccess, graphKey, isCounted, isUnwatched } from "../../gate/variant.ts";
import { canonicalJson, defined, type JsonValue } from "../../base/json.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import { costOfAll, type Prices, spentUsage } from "../../models/prices.ts";
import { isCase, isProbe, isQuestion, type QuestionSpec } from "../../tasks/task_kind.ts";
import { clusteredInterval, passAtK, passHatK } from "../../statistics/pass_at_k.ts";
import { estimateMean, type MeanEstimate } from "../../statistics/clustered_mean.ts";
import { type Bounds, wilson } from "../../statistics/proportions.ts";
import { type AgentWork, type StrategyWork, sumAgentWork } from "../../calls/work.ts";
import { type ExpressionKind, EXPRESSIONS } from "../../calls/expressions.ts";
import { type Outcome, OUTCOMES } from "../../trials/trial.ts";
import { asSummary, type TrialSummary, type WrittenCounts } from "../../trials/summary.ts";
import { measureEach, type Subject } from "./_subjects.ts";
import { isDuration, mean, sum } from "../../base/numbers.ts";

/** Counts and means of a set of trials. */
export interface Tally {
  /** Number of trials, invalid ones included. */
  readonly trials: number;
  /** Number of trials that count as solved or not: not invalid, unchanged or unsolvable. */
  readonly valid: number;
  /** Number of trials in whose task the perturbation found nothing to change. */
  readonly unchanged: number;
  /** Number of valid trials in which a return was changed; omitted unless a perturbation is of returns. */
  readonly returnsChanged?: number;
  /** Number of trials on tasks that a perturbation left without an answer; omitted without any. */
  readonly unsolvable?: number;
  readonly solved: number;
  /** Solved share of the valid trials; `null` without any. */
  readonly rate: number | null;
  /**
   * Two-sided 95% interval of the rate: Wilson's, or from the clustered standard error when graphs
   * were repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
  /** Mean number of calls in solved trials that could make calls; `null` without any. */
  readonly callsSolved: number | null;
  /** Mean number of calls in valid unsolved trials that could make calls; `null` without any. */
  readonly callsFailed: number | null;
  /** Mean of the smallest number of calls that solves a task; `null` where unknown. */
  readonly minimumCalls: number | null;
  /** Input and output tokens. */
  readonly tokens: number;
  /** Mean duration of a valid trial in milliseconds; `null` without any that is known. */
  readonly duration: number | null;
}

/** Failures of one type. */
export interface FailureTally {
  readonly type: FailureType;
  readonly roots: number;
  readonly cascades: number;
}

/** Right guesses of a model. */
export interface GuessTally {
  /** Calls of valid trials with a right value that no earlier result had established. */
  readonly calls: number;
  /** Valid trials with such a call. */
  readonly trials: number;
  /** Their share of the valid trials. */
  readonly rate: number;
  /** Its two-sided 95% interval; `null` where there is none. */
  readonly interval: Bounds | null;
}

/** Agreement of repetitions of a graph: means over the graphs that have k valid trials or more. */
export interface Repetition {
  /** The largest number of trials of a graph. */
  readonly k: number;
  /** Number of graphs with k valid trials, and of those with fewer, for which no estimate is available. */
  readonly graphs: number;
  readonly unavailable: number;
  /** pass@k: at least one of k trials is solved; `null` if it is available for no graph. */
  readonly passAtK: number | null;
  /** pass^k: all of k trials are solved; `null` if it is available for no graph. */
  readonly passHatK: number | null;
}

/** Trials that were shown injected instructions. */
export interface InjectionTally {
  /** Number of valid trials shown one. */
  readonly shown: number;
  /** Number of those that followed it. */
  readonly followed: number;
  /** The share of these, from 0 to 1. */
  readonly rate: number;
  /** Two-sided 95% interval of the share; `null` where there is none. */
  readonly interval: Bounds | null;
}

/** What an agent of the user's own did in the trials that count. */
export interface AgentTally extends AgentWork {
  /** Number of its trials that count. */
  readonly trials: number;
  /** Number of those in which its requests were not seen. */
  readonly unwatched: number;
}

/** Metrics of the trials of one model, strategy and perturbation. */
export interface VariantMetrics extends Subject {
  /** One for each cell, in the order in which they first occur. */
  readonly cells: readonly { readonly name: string; readonly tally: Tally }[];
  /** One for each kind of probe, with the number of valid trials that showed each behaviour. */
  readonly probes: readonly {
    readonly probe: string;
    readonly tally: Tally;
    readonly behaviours: Readonly<Record<string, number>>;
    /** Number of calls by the kind of their expressions; omitted where no long sum was asked for. */
    readonly expressions?: Readonly<Record<ExpressionKind, number>>;
  }[];
  /** Over all cells. */
  readonly total: Tally;
  /** Agreement of repetitions; `null` if no graph was repeated. */
  readonly repetition: Repetition | null;
  /** Replies of trials that count with calls that are no calls, as they are written as text; omitted without any. */
  readonly written?: WrittenCounts;
  /** Number of calls of all valid trials. */
  readonly calls: number;
  /** Tokens of all trials, including invalid, unchanged and repeated ones. */
  readonly usage: Usage;
  /** Tokens of the judges that assertions of tool tests asked, which are not part of `usage`; omitted without any. */
  readonly judging?: Usage;
  /**
   * Cost of the tokens in `usage` in US dollars; `null` unless every model that took part has a price, and an agent's
   * requests were seen.
   */
  readonly cost: number | null;
  /**
   * Number of trials by outcome, without unchanged ones; all outcomes in order, but `filtered` and
   * `agent_error` only if there are any.
   */
  readonly outcomes: readonly { readonly outcome: Outcome; readonly trials: number }[];
  /** Failures by type, all types in order. */
  readonly failures: readonly FailureTally[];
  /** Calls with a right value that nothing had established, which are no failures; omitted without any. */
  readonly guesses?: GuessTally;
  /** Trials shown an injected instruction, and those of them that followed it; omitted without any. */
  readonly injections?: InjectionTally;
  /** Number of valid trials by behaviour, `ungrounded` included. */
  readonly behaviours: Readonly<Record<string, number>>;
  /** Work of strategies outside the agent loop in all valid trials; `null` without any. */
  readonly work: StrategyWork | null;
  /** The share of the calls sent back for their arguments that were mended; `null` if none was sent back. */
  readonly mending: MeanEstimate | null;
  /** What an agent of the user's own did; omitted for models, and for journals that do not tell. */
  readonly agent?: AgentTally;
}

/** Returns the metrics of `trials` for each subject; costs are known where `prices` has the model. */
export function measure(trials: readonly TrialSummary[], prices: Prices = {}): VariantMetrics[] {
  return measureEach(trials.map(asSummary), (items) => {
    const counted = items.filter(isCounted);
    return [{
      cells: [...Map.groupBy(items, cellName)].map(([name, own]) => ({ name, tally: tally(own) })),
      probes: [...Map.groupBy(items, ({ task }) => isProbe(task) ? task.case : "")]
        .flatMap(([probe, own]) =>
          probe === "" ? [] : [{
            probe,
            tally: tally(own),
            behaviours: behaviourCounts(own.filter(isCounted)),
            ...defined({ expressions: expressionCounts(own.filter(isCounted)) }),
          }]
        ),
      total: tally(items),
      repetition: repetitionOf(items),
      calls: sum(counted, ({ calls }) => calls),
      usage: sumUsage(items.map(spentUsage)),
      ...judgingOf(items),
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
      ...writtenOf(counted),
      ...guessesOf(counted),
      ...injectionsOf(counted),
      behaviours: behaviourCounts(counted),
      work: workOfAll(counted),
      mending: mendingOf(counted),
      ...agentOf(counted),
    }];
  });
}

function writtenOf(trials: readonly TrialSummary[]): Pick<VariantMetrics, "written"> {
  const all = trials.flatMap(({ written }) => written ?? []);
  return all.length === 0 ? {} : {
    written: {
      asText: sum(all, ({ asText }) => asText),
      asDraft: sum(all, ({ asDraft }) => asDraft),
    },
  };
}

function guessesOf(trials: readonly TrialSummary[]): Pick<VariantMetrics, "guesses"> {
  const isGuessing = ({ guessed = 0 }: TrialSummary) => guessed > 0;
  const guessing = trials.filter(isGuessing);
  return guessing.length === 0 ? {} : {
    guesses: {
      calls: sum(guessing, ({ guessed = 0 }) => guessed),
      trials: guessing.length,
      rate: guessing.length / trials.length,
      interval: shareInterval(trials, isGuessing),
    },
  };
}

function injectionsOf(trials: readonly TrialSummary[]): Pick<VariantMetrics, "injections"> {
  const shown = trials.filter(({ injected }) => injected);
  if (shown.length === 0) return {};
  const follows = ({ behaviours }: TrialSummary) => behaviours.includes("followed_injection");
  const followed = shown.filter(follows).length;
  return {
    injections: {
      shown: shown.length,
      followed,
      rate: followed / shown.length,
      interval: shareInterval(shown, follows),
    },
  };
}

function agentOf(trials: readonly TrialSummary[]): Pick<VariantMetrics, "agent"> {
  const own = trials.filter(({ agent }) => agent !== undefined);
  return own.length === 0 ? {} : {
    agent: {
      trials: own.length,
      unwatched: own.filter(isUnwatched).length,
      ...sumAgentWork(own.flatMap(({ agentWork }) => agentWork ?? [])),
    },
  };
}

function workOfAll(trials: readonly TrialSummary[]): StrategyWork | null {
  const works = trials.flatMap(({ work }) => work ?? []);
  if (works.length === 0) return null;
  const total = (part: keyof StrategyWork) => sum(works, (own) => own[part] ?? 0);
  const [retried, replaced] = [total("retried"), total("replaced")];
  return {
    asked: total("asked"),
    unusable: total("unusable"),
    sentBack: total("sentBack"),
    mended: total("mended"),
    ...(retried === 0 ? {} : { retried }),
    ...(replaced === 0 ? {} : { replaced }),
  };
}

/**
 * Returns the share of the calls sent back for their arguments that were mended, with its two-sided 95% interval
 * over graphs; `null` if none was sent back.
 */
export function mendingOf(trials: readonly TrialSummary[]): MeanEstimate | null {
  const estimate = estimateMean(
    byGraph(trials).map((graph) => ({
      sum: sum(graph, ({ work }) => work?.mended ?? 0),
      count: sum(graph, ({ work }) => work?.sentBack ?? 0),
    })),
  );
  return estimate.mean === null ? null : estimate;
}

/** Returns the tally of a set of trials. */
export function tally(trials: readonly TrialSummary[]): Tally {
  const valid = trials.filter(countsAsSuccess);
  const solved = valid.filter((trial) => trial.solved);
  const unsolvable = trials.filter(isCounted).length - valid.length;
  const failed = valid.filter((trial) => !trial.solved);
  const calling = valid.filter(canCall);
  const perturbed = valid.filter(({ returns }) => returns !== undefined);
  const minima = calling.flatMap(({ minimumCalls }) => minimumCalls ?? []);
  return {
    trials: trials.length,
    valid: valid.length,
    unchanged: trials.filter(({ changed }) => changed === false).length,
    ...(perturbed.length === 0
      ? {}
      : { returnsChanged: perturbed.filter(({ returns }) => returns!.changed.length > 0).length }),
    ...(unsolvable === 0 ? {} : { unsolvable }),
    solved: solved.length,
    rate: valid.length === 0 ? null : solved.length / valid.length,
    interval: shareInterval(valid, (trial) => trial.solved),
    callsSolved: mean(solved.filter(canCall).map(({ calls }) => calls)),
    callsFailed: mean(failed.filter(canCall).map(({ calls }) => calls)),
    minimumCalls: minima.length < calling.length ? null : mean(minima),
    tokens: sum(trials, ({ usage }) => usage.inputTokens + usage.outputTokens),
    duration: mean(valid.map(({ durationMs }) => durationMs).filter(isDuration)),
  };
}

/**
 * Returns the two-sided 95% interval of the share of `items` for which `shows` is true: Wilson's, or from the
 * clustered standard error where several are on one graph; `null` where there is none.
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
  // Without spread between graphs the clustered interval is empty: count each graph as one trial instead.
  if (interval.upper - interval.lower > 1e-9) return interval;
  return wilson(Math.round(count / items.length * graphs.length), graphs.length);
}

function repetitionOf(trials: readonly TrialSummary[]): Repetition | null {
  const changed = trials.filter((trial) =>
    trial.changed !== false && trial.unsolvable === undefined
  );
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

/** Returns the fields of a trial's task without its seed, in words; of a case its name, of a question how it is asked. */
export function cellName({ task }: Pick<TrialSummary, "task">): string {
  if (isWholeQuestion(task)) return questionWords(task, task.difficulty);
  const { seed: _, ...sizes } = task as unknown as Record<string, JsonValue>;
  return Object.entries(sizes)
    .map(([name, value]) => {
      const text = typeof value === "object" ? canonicalJson(value) : String(value);
      return name === "case" ? text : `${name} ${text}`;
    }).join(", ");
}

/** Whether a task is a complete question: journals of other tools may have tasks that look similar. */
export function isWholeQuestion(task: object): task is QuestionSpec {
  if (!isQuestion(task)) return false;
  const { set, question, difficulty, mode, rule, input, output } = task;
  return typeof set === "string" && typeof question === "string" &&
    DIFFICULTIES.includes(difficulty) && CALL_MODES.includes(mode) &&
    (rule === undefined || SCORING_RULES.includes(rule)) &&
    [input, output].every((format) => format === undefined || CALL_FORMATS.includes(format));
}

/** Returns how a question is asked, such as `callnavi parameters, easy, yaml to json`, without defaults. */
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

/** Whether a trial can make calls: in most modes of call sets an answer is only a text. */
export function canCall({ task }: Pick<TrialSummary, "task">): boolean {
  return !isWholeQuestion(task) || task.mode === "tools";
}

function expressionCounts(
  trials: readonly TrialSummary[],
): Record<ExpressionKind, number> | undefined {
  const asked = trials.flatMap(({ expressions }) => expressions === undefined ? [] : [expressions]);
  if (asked.length === 0) return undefined;
  const all = asked.flat();
  const counts = EXPRESSIONS.map((kind) => [kind, all.filter((one) => one === kind).length]);
  return Object.fromEntries(counts) as Record<ExpressionKind, number>;
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

/** The tokens of the judges of tool tests; those of call sets stand in a table of their own. */
function judgingOf(trials: readonly TrialSummary[]): Pick<VariantMetrics, "judging"> {
  const judged = trials.flatMap(({ task, judging }) =>
    isCase(task) && judging !== undefined ? [judging, ...judging.others ?? []] : []
  );
  return judged.length === 0 ? {} : { judging: sumUsage(judged.map(({ usage }) => usage)) };
}
