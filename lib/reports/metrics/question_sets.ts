/**
 * Metrics of call sets: what answers to their questions are worth, how stable they are, and what a model that
 * judges them says (CallNavi, sections 5 and 6.4, Tables 4, 5, 7 and 8, appendix F).
 * @module
 */

import {
  type CallFormat,
  type CallMode,
  ERROR_CLASSES,
  type ErrorClass,
  type QuestionScores,
  type ScoringRule,
} from "../../tasks/questions/scoring.ts";
import type { Difficulty } from "../../tasks/questions/question_set.ts";
import { byGraph, byVariant, isCounted, type Variant, variantOf } from "../../gate/variant.ts";
import { type Correlation, pearson } from "../../statistics/correlation.ts";
import { averageScores, type DifficultyAverages } from "./difficulty.ts";
import { type JudgingSummary, summarizeJudging } from "../../models/judge/score.ts";
import { canonicalJson } from "../../base/json.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import { isWholeQuestion, questionWords, shareInterval } from "./metrics.ts";
import type { QuestionSpec } from "../../trials/executors/task_kind.ts";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../../tasks/questions/stability.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import { LONGEST_KEPT } from "../../calls/trace.ts";
import type { Outcome } from "../../trials/trial.ts";
import { asSummary, type ScoredAnswer, type TrialSummary } from "../../trials/summary.ts";

/** The share of trials that are right by one score. */
export interface ScoreAverages extends DifficultyAverages {
  /**
   * Two-sided 95% interval of `all`: Wilson's, or from the clustered standard error where questions were
   * repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
}

/** The shares of all scores; those that a mode does not give are of no trials. */
export interface CallScoreAverages {
  /** The right functions, in order ("API calling routing"). */
  readonly routing: ScoreAverages;
  /** Texts that parse ("syntax validity"). */
  readonly syntax: ScoreAverages;
  /** The right functions, and arguments with the right names ("structural accuracy"). */
  readonly structure: ScoreAverages;
  /** The right values, too ("AST match"). */
  readonly exact: ScoreAverages;
}

/** How alike the outputs to one question are, a mean over questions; from 0 to 1. */
export interface StabilityScores {
  /** How clearly one output wins a vote. */
  readonly election: number;
  /** How alike the later outputs are to the first. */
  readonly levenshtein: number;
}

/** How stable the answers to repeated questions are (CallNavi, section 5.3). */
export interface CallSetStability {
  /** Questions with two outputs or more: the means are over these. */
  readonly questions: number;
  /** Questions with fewer. */
  readonly leftOut: number;
  /** How many outputs these questions have at least and at most; `null` without any. */
  readonly repetitions: { readonly least: number; readonly most: number } | null;
  /** Outputs that may have been longer: journals keep 10,000 characters, and only these are compared. */
  readonly cut: number;
  /** Of outputs as they are; `null` without questions. */
  readonly text: StabilityScores | null;
  /** Of what {@linkcode normalizeOutput} leaves of them, as in the paper; `null` without questions. */
  readonly normalized: StabilityScores | null;
}

/** A model that judges, by the name it was asked for. */
export interface JudgeNames {
  /** The name. */
  readonly requested: string;
  /** Those that say to have answered, each once. */
  readonly served: readonly string[];
  /** Whether it is a program. */
  readonly simulated: boolean;
}

/** What a model that judges answers makes of them. */
export interface CallSetJudging extends JudgingSummary {
  /**
   * The share of the answers with a score that are exact or, in mode `routing`, have the right functions;
   * `null` where there are none.
   */
  readonly right: number | null;
  /**
   * Its score against whether an answer is right, over trials: the point-biserial correlation, whose p-value
   * takes trials for independent. `null` where there is none, as when all scores are the same.
   */
  readonly correlation: Correlation | null;
  /** Who judged, in the order in which they first occur; none where journals do not say. */
  readonly judges: readonly JudgeNames[];
  /** The tokens that this took, which are none of the model's, over all trials of the row. */
  readonly usage: Usage;
}

/** What the answers of one model, strategy and perturbation are worth. */
export interface CallSetRow {
  /** The model, strategy and perturbation. */
  readonly subject: Variant;
  /** Whether the model, or one that took part, is a program that stands in for a model. */
  readonly simulated: boolean;
  /** All trials. */
  readonly trials: number;
  /** Those that infrastructure spoiled. */
  readonly invalid: number;
  /** Those in whose question the perturbation found nothing to change. */
  readonly unchanged: number;
  /** Valid trials that reached a limit without an answer: they are wrong by every score. */
  readonly limited: number;
  /** Valid trials of which no score is kept: they are in no share. */
  readonly unscored: number;
  /** How many different questions the shares are of. */
  readonly questions: number;
  /** What answers are worth, repaired ones as they are then. */
  readonly scores: CallScoreAverages;
  /** The same before any was repaired by a model, and how many were; `null` where none was. */
  readonly unrepaired: (CallScoreAverages & { readonly repaired: number }) | null;
  /** Answers with an error of each class, all classes in order; an answer may have several. */
  readonly errors: readonly { readonly type: ErrorClass; readonly trials: number }[];
  /** Answers that have been looked at for errors: all but those of trials that reached a limit. */
  readonly answers: number;
  /** What a judge says; `null` where none was asked. */
  readonly judging: CallSetJudging | null;
  /** `null` where no question was repeated. */
  readonly stability: CallSetStability | null;
}

/** What the answers to the questions of a call set, asked in one way, are worth. */
export interface CallSetMetrics {
  /** The name of the set. */
  readonly set: string;
  /** What is predicted. */
  readonly mode: CallMode;
  /** What counts as right. */
  readonly rule: ScoringRule;
  /** What the functions are told in. */
  readonly input: CallFormat;
  /** What the answer is to be in. */
  readonly output: CallFormat;
  /** The way as reports call it, such as `callnavi parameters, yaml to json`. */
  readonly name: string;
  /** One for each model, strategy and perturbation, in the order in which they first occur. */
  readonly rows: readonly CallSetRow[];
  /**
   * The judge's mean score against the share of right answers among those with a score, over rows, as the
   * paper has it over models; `null` with fewer than three, or where all of one are the same.
   */
  readonly correlation: Correlation | null;
}

/** A trial on a question that tells how it is asked. */
type QuestionScore = TrialSummary & { readonly task: QuestionSpec };

/** A question, and what the answer to it is worth. */
type Answered = QuestionScore & { readonly scored: ScoredAnswer };

/**
 * What the answers in `trials` are worth, for each call set and each way in which its questions were asked.
 * Trials on other tasks are left out. Invalid and unchanged trials are counted, and in no share. A valid trial
 * that reached a limit without an answer is wrong by every score.
 *
 * @example Usage
 * ```ts
 * import { measureCallSets } from "./question_sets.ts";
 * import { runTrial } from "../../trials/trial.ts";
 * import { scoreOf } from "../../trials/summary.ts";
 * import { loadCallSet } from "../../tasks/questions/load.ts";
 * import { QuestionExecutor } from "../../trials/executors/question.ts";
 * import { type QuestionSpec } from "../../trials/executors/task_kind.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const set = loadCallSet("fixtures/call_sets/city.jsonc");
 * const task: QuestionSpec = { set: "city", question: "lib02", difficulty: "easy", mode: "routing" };
 * const model = scripted("librarian", [{ text: "['getOpeningHours']" }]);
 * const trial = await runTrial(task, model, {
 *   open: (_, options) => new QuestionExecutor(set, task, options),
 * });
 * const [metrics] = measureCallSets([scoreOf(trial)]);
 * assertEquals(metrics!.name, "city routing");
 * assertEquals(metrics!.rows[0]!.scores.routing.easy, 1);
 * ```
 */
export function measureCallSets(trials: readonly TrialSummary[]): CallSetMetrics[] {
  const questions = trials.map(asSummary).filter(isQuestionScore);
  const ways = Map.groupBy(questions, ({ task }) => canonicalJson(wayOf(task)));
  return [...ways.values()].map((own) => {
    const { task } = own[0]!;
    const rows = byVariant(own, variantOf).map(({ subject, items }) => rowOf(subject, items));
    return { ...wayOf(task), name: questionWords(task), rows, correlation: correlationOf(rows) };
  });
}

function isQuestionScore(trial: TrialSummary): trial is QuestionScore {
  return isWholeQuestion(trial.task);
}

function wayOf({ set, mode, rule = "published", input = "json", output = "json" }: QuestionSpec) {
  return { set, mode, rule, input, output };
}

function rowOf(subject: Variant, trials: readonly QuestionScore[]): CallSetRow {
  const counted = trials.filter(isCounted);
  const answered = counted.filter(isAnswered);
  const limited = counted.filter((trial) => !isAnswered(trial) && LIMITS.includes(trial.outcome));
  const valued: ValuedQuestion[] = [
    ...answered.map(({ task, scored: { scores } }) => ({ task, scores })),
    ...limited.map(({ task }) => ({ task, scores: WRONG[task.mode] })),
  ];
  const unchanged = trials.filter(({ changed }) => changed === false).length;
  return {
    subject,
    simulated: trials.some(({ model }) => model.simulated),
    trials: trials.length,
    invalid: trials.length - counted.length - unchanged,
    unchanged,
    limited: limited.length,
    unscored: counted.length - valued.length,
    questions: byGraph(valued).length,
    scores: averagesOf(valued),
    unrepaired: unrepairedOf(answered, limited),
    errors: ERROR_CLASSES.map((type) => ({
      type,
      trials: answered.filter((trial) => trial.scored.errors.includes(type)).length,
    })),
    answers: answered.length,
    judging: judgingOf(answered, trials),
    stability: stabilityOf(trials.filter(({ changed }) => changed !== false)),
  };
}

function isAnswered(trial: QuestionScore): trial is Answered {
  return trial.scored !== undefined;
}

/** Ways to end without an answer that are the model's own. */
const LIMITS: readonly Outcome[] = ["call_limit", "step_limit", "time_limit", "token_limit"];

/** What no answer is worth, by the scores that a mode gives. */
const WRONG: Readonly<Record<CallMode, QuestionScores>> = {
  parameters: { syntaxValid: false, structural: false, exact: false, routingExact: false },
  routing: { syntaxValid: null, structural: null, exact: null, routingExact: false },
  tools: { syntaxValid: false, structural: false, exact: false, routingExact: false },
};

/** A question, and what an answer to it is worth. */
interface ValuedQuestion {
  readonly task: QuestionSpec;
  readonly scores: QuestionScores;
}

function averagesOf(valued: readonly ValuedQuestion[]): CallScoreAverages {
  const of = (score: keyof QuestionScores): ScoreAverages => {
    const known = valued.filter(({ scores }) => scores[score] !== null);
    const values = known.map(({ task, scores }): { difficulty: Difficulty; value: boolean } => ({
      difficulty: task.difficulty,
      value: scores[score] === true,
    }));
    return {
      ...averageScores(values),
      interval: shareInterval(known, ({ scores }) => scores[score] === true),
    };
  };
  return {
    routing: of("routingExact"),
    syntax: of("syntaxValid"),
    structure: of("structural"),
    exact: of("exact"),
  };
}

function unrepairedOf(
  answered: readonly Answered[],
  limited: readonly QuestionScore[],
): CallSetRow["unrepaired"] {
  const repaired = answered.filter(({ scored: { unrepaired } }) => unrepaired !== undefined).length;
  if (repaired === 0) return null;
  const before = averagesOf([
    ...answered.map(({ task, scored: { unrepaired, scores } }) => ({
      task,
      scores: unrepaired ?? scores,
    })),
    ...limited.map(({ task }) => ({ task, scores: WRONG[task.mode] })),
  ]);
  return { ...before, repaired };
}

function judgingOf(
  answered: readonly Answered[],
  trials: readonly QuestionScore[],
): CallSetJudging | null {
  const judged = answered.flatMap(({ scored: { judged } }) => judged ?? []);
  if (judged.length === 0) return null;
  const pairs = answered.flatMap(({ scored: { judged, scores } }): [number, number][] => {
    const score = judged?.score ?? null;
    return score === null ? [] : [[score, Number(scores.exact ?? scores.routingExact)]];
  });
  const asked = trials.flatMap(({ judging }) => judging ?? []);
  return {
    ...summarizeJudging(judged),
    right: pairs.length === 0
      ? null
      : pairs.reduce((sum, [, right]) => sum + right, 0) / pairs.length,
    correlation: pearsonOf(pairs),
    judges: judgesOf(asked.map(({ model }) => model)),
    usage: sumUsage(asked.map(({ usage }) => usage)),
  };
}

/** Each judge once, with all names under which it answered. */
function judgesOf(asked: readonly JudgeNames[]): JudgeNames[] {
  const judges = Map.groupBy(
    asked,
    ({ requested, simulated }) => JSON.stringify([requested, simulated]),
  );
  return [...judges.values()].map((own) => ({
    ...own[0]!,
    served: [...new Set(own.flatMap(({ served }) => served))],
  }));
}

function correlationOf(rows: readonly CallSetRow[]): Correlation | null {
  return pearsonOf(
    rows.flatMap(({ judging }): [number, number][] =>
      judging === null || judging.mean === null ? [] : [[judging.mean, judging.right!]]
    ),
  );
}

function pearsonOf(pairs: readonly (readonly [number, number])[]): Correlation | null {
  return pearson(pairs.map(([one]) => one), pairs.map(([, other]) => other));
}

/** Stability over the questions that were to be asked several times; trials that failed leave no output. */
function stabilityOf(trials: readonly QuestionScore[]): CallSetStability | null {
  const groups = byGraph(trials);
  if (groups.every(({ length }) => length < 2)) return null;
  const outputs = groups.map((group) =>
    group.filter(isCounted).filter(isAnswered)
      .sort((one, other) => one.repetition - other.repetition)
      .map((trial) => trial.scored.output)
  );
  const repeated = outputs.filter(({ length }) => length > 1);
  const counts = repeated.map(({ length }) => length).sort((one, other) => one - other);
  return {
    questions: repeated.length,
    leftOut: outputs.length - repeated.length,
    repetitions: counts.length === 0 ? null : { least: counts[0]!, most: counts.at(-1)! },
    cut: repeated.flat().filter(({ length }) => length >= LONGEST_KEPT).length,
    text: stabilityScores(repeated),
    normalized: stabilityScores(repeated.map((own) => own.map(normalizeOutput))),
  };
}

function stabilityScores(outputs: readonly (readonly string[])[]): StabilityScores | null {
  if (outputs.length === 0) return null;
  const mean = (score: (own: readonly string[]) => number | null) =>
    outputs.reduce((sum, own) => sum + (score(own) ?? 0), 0) / outputs.length;
  return { election: mean(electionStability), levenshtein: mean(levenshteinStability) };
}
