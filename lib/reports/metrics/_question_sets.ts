/**
 * Call set metrics: scores of answers to their questions, how stable answers are, and the ratings of a judge
 * (CallNavi, sections 5 and 6.4, Tables 4, 5, 7 and 8, appendix F).
 * @module
 */

import { ERROR_CLASSES, type ErrorClass } from "../../tasks/questions/error_classes.ts";
import type {
  CallFormat,
  CallMode,
  QuestionScores,
  ScoringRule,
} from "../../tasks/questions/scoring.ts";
import type { Difficulty } from "../../tasks/questions/question_set.ts";
import { byGraph, isCounted, type Variant } from "../../gate/variant.ts";
import { type Correlation, pearson } from "../../statistics/correlation.ts";
import { canonicalJson } from "../../base/json.ts";
import { measureEach, type Subject } from "./_subjects.ts";
import { mean } from "../../base/numbers.ts";
import { averageScores, type DifficultyAverages } from "./difficulty.ts";
import { type JudgingSummary, summarizeJudging } from "../../models/judge/score.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import { isWholeQuestion, questionWords, shareInterval } from "./metrics.ts";
import type { QuestionSpec } from "../../tasks/task_kind.ts";
import {
  electionStability,
  levenshteinStability,
  normalizeOutput,
} from "../../tasks/questions/stability.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import type { Outcome } from "../../trials/trial.ts";
import { asSummary, type ScoredAnswer, type TrialSummary } from "../../trials/summary.ts";

/** Shares of trials that are right by one score. */
export interface ScoreAverages extends DifficultyAverages {
  /**
   * Two-sided 95% interval of `all`: Wilson's, or from the clustered standard error where questions were
   * repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
}

/** Shares for all scores; a score that a mode does not have is over no trials. */
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

/** Similarity of the outputs to one question, as a mean over questions; from 0 to 1. */
export interface StabilityScores {
  /** How clearly one output wins a vote. */
  readonly election: number;
  /** How similar the later outputs are to the first. */
  readonly levenshtein: number;
}

/** How stable the answers to repeated questions are (CallNavi, section 5.3). */
export interface CallSetStability {
  /** Number of questions with two outputs or more: the means are over these. */
  readonly questions: number;
  /** Number of questions with fewer outputs. */
  readonly leftOut: number;
  /** The smallest and largest number of outputs of these questions; `null` without any. */
  readonly repetitions: { readonly least: number; readonly most: number } | null;
  /** Number of outputs that may be cut: journals keep 10,000 characters, and only these are compared. */
  readonly cut: number;
  /** Scores of the unchanged outputs; `null` without questions. */
  readonly text: StabilityScores | null;
  /** Scores of outputs after {@linkcode normalizeOutput}, as in the paper; `null` without questions. */
  readonly normalized: StabilityScores | null;
}

/** The names of a judge. */
export interface JudgeNames {
  /** The model requested. */
  readonly requested: string;
  /** The models that served it, each once. */
  readonly served: readonly string[];
  /** Whether it is a program that stands in for a model. */
  readonly simulated: boolean;
}

/** Ratings of a judge. */
export interface CallSetJudging extends JudgingSummary {
  /**
   * The share of the rated answers that are exact or, in mode `routing`, have the right functions; `null`
   * where there are none.
   */
  readonly right: number | null;
  /**
   * The judge's score against whether an answer is right, over trials: the point-biserial correlation, whose
   * p-value assumes independent trials. `null` where it is undefined, as when all scores are the same.
   */
  readonly correlation: Correlation | null;
  /** The judges, in the order in which they first occur; empty where journals name none. */
  readonly judges: readonly JudgeNames[];
  /** Tokens of the judges, apart from the model's, over all trials of the row. */
  readonly usage: Usage;
}

/** Scores of the answers to the questions of one domain (CallNavi, Table 2). */
export interface CallSetDomain {
  /** The domain; `null` where journals do not name it. */
  readonly domain: string | null;
  /** Number of different questions in the shares. */
  readonly questions: number;
  /** Scores of the answers, as those of the whole row. */
  readonly scores: CallScoreAverages;
}

/** Scores of the answers of one model, strategy and perturbation. */
export interface CallSetRow extends Subject {
  /** Number of all trials. */
  readonly trials: number;
  /** Number of trials in which the infrastructure failed. */
  readonly invalid: number;
  /** Number of trials in whose question the perturbation found nothing to change. */
  readonly unchanged: number;
  /** Number of valid trials that reached a limit without an answer: they are wrong by every score. */
  readonly limited: number;
  /** Number of valid trials without scores: no share includes them. */
  readonly unscored: number;
  /** Number of different questions in the shares. */
  readonly questions: number;
  /** Scores of the answers, after repair where there was one. */
  readonly scores: CallScoreAverages;
  /** Scores by domain, in the order in which they first occur. */
  readonly domains: readonly CallSetDomain[];
  /**
   * The model that picked the functions before they were called (`route_then_fill`); `null` where none did.
   */
  readonly router: string | null;
  /** Whether the calls were inferred backward from the last one (`backward`). */
  readonly inferred: boolean;
  /** Scores before a model repaired answers, and the number of repaired answers; `null` without any. */
  readonly unrepaired: (CallScoreAverages & { readonly repaired: number }) | null;
  /** Number of answers by class of error, all classes in order; an answer may have several. */
  readonly errors: readonly { readonly type: ErrorClass; readonly trials: number }[];
  /** Number of answers checked for errors: all but those of trials that reached a limit. */
  readonly answers: number;
  /** Ratings of a judge; `null` without a judge. */
  readonly judging: CallSetJudging | null;
  /** `null` where no question was repeated. */
  readonly stability: CallSetStability | null;
}

/** Scores of the answers to the questions of a call set that were asked in one way. */
export interface CallSetMetrics {
  /** The name of the set. */
  readonly set: string;
  /** The kind of answer that is asked for. */
  readonly mode: CallMode;
  /** The rule by which answers are scored. */
  readonly rule: ScoringRule;
  /** The format in which functions are listed. */
  readonly input: CallFormat;
  /** The format that answers must have. */
  readonly output: CallFormat;
  /** The name in reports, such as `callnavi parameters, yaml to json`. */
  readonly name: string;
  /** One for each model, strategy and perturbation, in the order in which they first occur. */
  readonly rows: readonly CallSetRow[];
  /**
   * The correlation over rows of the judge's mean score and the share of right answers among the rated ones,
   * as in the paper over models; `null` with fewer than three rows, or where one of both is constant.
   */
  readonly correlation: Correlation | null;
}

/** A trial on a complete question. */
type QuestionSummary = TrialSummary & { readonly task: QuestionSpec };

/** A trial on a question whose answer was scored. */
type AnsweredQuestion = QuestionSummary & { readonly scored: ScoredAnswer };

/**
 * Measures the answers in `trials`, for each call set and each way in which its questions were asked. Trials
 * on other tasks are left out. Invalid and unchanged trials are counted, but in no share. A valid trial that
 * reached a limit without an answer is wrong by every score.
 */
export function measureCallSets(trials: readonly TrialSummary[]): CallSetMetrics[] {
  const questions = trials.map(asSummary).filter(isQuestionSummary);
  const ways = Map.groupBy(questions, ({ task }) => canonicalJson(askedAs(task)));
  return [...ways.values()].map((own) => {
    const { task } = own[0]!;
    const rows = measureEach(own, (items, subject) => [rowOf(subject, items)]);
    return { ...askedAs(task), name: questionWords(task), rows, correlation: correlationOf(rows) };
  });
}

function isQuestionSummary(trial: TrialSummary): trial is QuestionSummary {
  return isWholeQuestion(trial.task);
}

function askedAs({ set, mode, rule = "published", input = "json", output = "json" }: QuestionSpec) {
  return { set, mode, rule, input, output };
}

function rowOf(
  subject: Variant,
  trials: readonly QuestionSummary[],
): Omit<CallSetRow, keyof Subject> {
  const counted = trials.filter(isCounted);
  const answered = counted.filter(isAnswered);
  const limited = counted.filter((trial) =>
    !isAnswered(trial) && LIMIT_OUTCOMES.includes(trial.outcome)
  );
  const results: QuestionResult[] = [
    ...answered.map(({ task, domain, scored: { scores } }) => ({ task, domain, scores })),
    ...limited.map(({ task, domain }) => ({ task, domain, scores: WRONG_SCORES[task.mode] })),
  ];
  const asked = trials.flatMap(({ askedStages }) => askedStages ?? []);
  const unchanged = trials.filter(({ changed }) => changed === false).length;
  return {
    trials: trials.length,
    invalid: trials.length - counted.length - unchanged,
    unchanged,
    limited: limited.length,
    unscored: counted.length - results.length,
    questions: byGraph(results).length,
    scores: averagesOf(results),
    domains: domainsOf(results),
    router: asked.includes("route") ? routerOf(trials) ?? subject.model : null,
    inferred: asked.includes("infer"),
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

/** Returns the scores of each domain. */
function domainsOf(results: readonly QuestionResult[]): CallSetDomain[] {
  return [...Map.groupBy(results, ({ domain }) => domain ?? null)].map(([domain, own]) => ({
    domain,
    questions: byGraph(own).length,
    scores: averagesOf(own),
  }));
}

/** Returns the model that picked functions in place of the trials' own; `undefined` if it did so itself. */
function routerOf(trials: readonly QuestionSummary[]): string | undefined {
  return trials.flatMap(({ stages }) => stages ?? [])
    .find(({ stage }) => stage === "route")?.model.requested;
}

function isAnswered(trial: QuestionSummary): trial is AnsweredQuestion {
  return trial.scored !== undefined;
}

/** Outcomes without an answer for which the model is responsible. */
const LIMIT_OUTCOMES: readonly Outcome[] = [
  "call_limit",
  "step_limit",
  "time_limit",
  "token_limit",
  "filtered",
];

/** The scores of a missing answer in each mode. */
const WRONG_SCORES: Readonly<Record<CallMode, QuestionScores>> = {
  parameters: { syntaxValid: false, structural: false, exact: false, routingExact: false },
  routing: { syntaxValid: null, structural: null, exact: null, routingExact: false },
  tools: { syntaxValid: false, structural: false, exact: false, routingExact: false },
};

/** A question and the scores of an answer to it. */
interface QuestionResult {
  readonly task: QuestionSpec;
  readonly domain?: string | undefined;
  readonly scores: QuestionScores;
}

function averagesOf(results: readonly QuestionResult[]): CallScoreAverages {
  const of = (score: keyof QuestionScores): ScoreAverages => {
    const scored = results.filter(({ scores }) => scores[score] !== null);
    const values = scored.map(({ task, scores }): { difficulty: Difficulty; value: boolean } => ({
      difficulty: task.difficulty,
      value: scores[score] === true,
    }));
    return {
      ...averageScores(values),
      interval: shareInterval(scored, ({ scores }) => scores[score] === true),
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
  answered: readonly AnsweredQuestion[],
  limited: readonly QuestionSummary[],
): CallSetRow["unrepaired"] {
  const repaired = answered.filter(({ scored: { unrepaired } }) => unrepaired !== undefined).length;
  if (repaired === 0) return null;
  const before = averagesOf([
    ...answered.map(({ task, scored: { unrepaired, scores } }) => ({
      task,
      scores: unrepaired ?? scores,
    })),
    ...limited.map(({ task }) => ({ task, scores: WRONG_SCORES[task.mode] })),
  ]);
  return { ...before, repaired };
}

function judgingOf(
  answered: readonly AnsweredQuestion[],
  trials: readonly QuestionSummary[],
): CallSetJudging | null {
  const judgements = answered.flatMap(({ scored: { judged } }) => judged ?? []);
  if (judgements.length === 0) return null;
  const pairs = answered.flatMap(({ scored: { judged, scores } }): [number, number][] => {
    const score = judged?.score ?? null;
    return score === null ? [] : [[score, Number(scores.exact ?? scores.routingExact)]];
  });
  const judgings = trials.flatMap(({ judging }) => judging ?? []);
  return {
    ...summarizeJudging(judgements),
    right: mean(pairs.map(([, right]) => right)),
    correlation: pearsonOf(pairs),
    judges: judgesOf(judgings.map(({ model }) => model)),
    usage: sumUsage(judgings.map(({ usage }) => usage)),
  };
}

/** Returns each judge once, with all models that served it. */
function judgesOf(judges: readonly JudgeNames[]): JudgeNames[] {
  const byJudge = Map.groupBy(
    judges,
    ({ requested, simulated }) => JSON.stringify([requested, simulated]),
  );
  return [...byJudge.values()].map((own) => ({
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

/** Returns the stability of repeated questions; `null` without any. Trials without an answer have no output. */
function stabilityOf(trials: readonly QuestionSummary[]): CallSetStability | null {
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
    cut: repeated.flat().filter(({ length }) => length >= MAX_KEPT_LENGTH).length,
    text: stabilityScores(repeated),
    normalized: stabilityScores(repeated.map((own) => own.map(normalizeOutput))),
  };
}

function stabilityScores(outputs: readonly (readonly string[])[]): StabilityScores | null {
  if (outputs.length === 0) return null;
  const meanOf = (score: (own: readonly string[]) => number | null) =>
    mean(outputs.map((own) => score(own) ?? 0))!;
  return { election: meanOf(electionStability), levenshtein: meanOf(levenshteinStability) };
}
