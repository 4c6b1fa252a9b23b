/**
 * The gate: decides with known error rates whether a model is good enough, or as good as the one it
 * replaces, or "undecided" if the trials do not suffice.
 * @module
 */

import { sum } from "../base/numbers.ts";
import {
  bound,
  type Evidence,
  lackOfCoverage,
  type Measure,
  type Pair,
  rateBounds,
  rateOf,
  RATES,
  sumUnits,
  type Unit,
  type UnitMeasure,
} from "./evidence.ts";
import { type CompletePolicy, completePolicy, decidesByCases, hypothesesOf } from "./policy.ts";
import { Bets, type Sample, sequentialBounds, type SequentialRule } from "./sequential.ts";
import { binomialUpperTail, bisectWhole } from "../statistics/distributions.ts";
import {
  type Bounds,
  clopperPearson,
  fisherExact,
  holm,
  newcombe,
} from "../statistics/proportions.ts";
import { GRAPHS, type UnitNames } from "./unit_names.ts";
import type { Wave, WaveEnd } from "./waves.ts";

/** The check of a ceiling. */
export interface CeilingCheck {
  /** The path of the ceiling in the policy, such as `failures.incorrect_value`. */
  readonly ceiling: string;
  /** The limit in the policy. */
  readonly limit: number;
  /** The observed value; `null` for `usdPerSolved` if no trial was solved. */
  readonly seen: number | null;
  /**
   * The lower bound of the true value, at the gate's confidence; `null` for means, which are compared by the
   * observed value.
   */
  readonly lower: number | null;
  /** Whether the limit is exceeded: proved, or observed if there is no bound. */
  readonly exceeded: boolean;
  /**
   * The ids of the first trials that show it, at most 3; omitted unless it is exceeded, and for tokens, costs and
   * times, which no single trial shows.
   */
  readonly trials?: readonly string[];
}

/** A call that was made although it must not happen in any trial. */
export interface ForbiddenCall {
  /** The id of the trial. */
  readonly id: string;
  /** Its case; omitted if it is of none. */
  readonly case?: string;
  /** Its number among the trials of the case. */
  readonly trial: number;
}

/** What a verdict may have beside its kind. */
export interface VerdictDetails {
  /** The checks of the policy's ceilings; an exceeded one makes the gate fail. */
  readonly ceilings?: readonly CeilingCheck[];
  /** The check of each case against the policy's `every`. */
  readonly cases?: readonly CaseCheck[];
  /** The cases of own tests that changed; omitted without a baseline. */
  readonly changed?: ChangedCases;
  /** Why fewer trials than planned ran, unless the gate itself ended them. */
  readonly stopped?: string;
}

/** The result of a gate on rates. All but some `invalid` ones come with their evidence. */
export type Verdict =
  | VerdictDetails & {
    /** The verdict. */
    readonly kind: "pass" | "fail";
    /** The numbers under it; omitted if there are none. */
    readonly evidence: Evidence;
    /** The verdict without the exceeded ceiling, or without calls that must not happen. */
    readonly otherwise?: "pass" | "fail" | "undecided";
  }
  | VerdictDetails & {
    readonly kind: "undecided";
    readonly evidence: Evidence;
    /** How many more trials of a model would probably decide; `null` if none would. */
    readonly moreTrials: number | null;
  }
  | { readonly kind: "invalid"; readonly reason: string; readonly evidence?: Evidence };

/** A gate that fails at any success rate, as calls were made that must not happen in any trial. */
export interface ForbiddenVerdict extends VerdictDetails {
  /** It never passes. */
  readonly kind: "fail";
  /** The calls that must not happen in any trial, and were made. */
  readonly never: readonly ForbiddenCall[];
  /** The verdict without them. */
  readonly otherwise: Verdict["kind"] | "continue";
  /** The wave to run next; of a gate that failed by calls, the one that would be next without them. */
  readonly next?: Wave;
  /** Why it is invalid, or would be without these calls. */
  readonly reason?: string;
  /** Its evidence; omitted if there is none, as when not one round of trials was complete. */
  readonly evidence?: Evidence;
}

/** A gate over a run in waves, of which all trials so far are known and do not decide. */
export interface ContinueVerdict extends VerdictDetails {
  /** The run goes on. */
  readonly kind: "continue";
  /** The wave to run next. */
  readonly next: Wave;
  /** Its evidence so far; omitted without a valid trial. */
  readonly evidence?: Evidence;
}

/** The result of a gate over trials. */
export type TrialsVerdict = Verdict | ForbiddenVerdict | ContinueVerdict;

/** The kinds of verdicts, worst first. */
export const VERDICT_KINDS = ["fail", "invalid", "continue", "undecided", "pass"] as const;

/** How the units were obtained. */
export interface DecideOptions {
  /** The rule of a sequential gate; units must then be in plan order, and in whole blocks. */
  readonly rule?: SequentialRule;
  /**
   * Why the run ended before all planned trials, such as a budget; units are then the first graphs in plan
   * order, and the bounds are betting bounds, which hold at any stopping time.
   */
  readonly stopped?: string;
  /** Whether to estimate how many more trials would decide, the slowest part; default true. */
  readonly advise?: boolean;
  /** The names of units in messages; default graphs. */
  readonly unit?: UnitNames;
}

/**
 * Decides over the units of any measure, also over a run in waves that may go on: a gate passes if the lower bound
 * reaches the requirement less the margin, fails if the upper bound is below the requirement, and is undecided
 * otherwise. It is invalid without trials or with too few valid ones.
 *
 * Bounds are exact, or score bounds of pairs, if every graph ran once. Repetitions of a graph are not independent, so
 * then they are betting bounds on graph means. Invalid and missing trials count as the worst case of each bound: trials
 * may fail to end more often on hard tasks, and leaving them out would let a gate pass on unobserved results.
 */
export function conclude<T>(
  units: readonly T[],
  measure: Measure<T> | UnitMeasure<T>,
  policy: CompletePolicy,
  { rule, stopped, next, lacking, advise = true, unit = GRAPHS }: DecideOptions & WaveEnd,
): Verdict | ContinueVerdict {
  const planned = sum(units, (unit) => measure.trials(unit).planned);
  if (planned === 0) return { kind: "invalid", reason: "there are no trials" };
  const bets = rule === undefined || !("sample" in measure)
    ? undefined
    : followBets(units, measure, policy, rule);
  const used = units.slice(0, bets?.units);
  const trials = used.map(measure.trials);
  const needed = sum(trials, (unit) => unit.planned);
  const valid = sum(trials, (unit) => unit.valid);
  const isOpen = bets !== undefined && bets.decision === undefined && stopped === undefined;
  if (isOpen && lacking !== undefined) return { kind: "invalid", reason: lacking };
  const goesOn = isOpen && next !== undefined ? { kind: "continue" as const, next } : undefined;
  if (valid === 0) {
    return goesOn ?? { kind: "invalid", reason: `none of ${needed} planned trials is valid` };
  }
  const { bounds, method } = bets ?? bound(used, measure, policy, stopped !== undefined);
  const evidence = measure.describe(used, bounds, method);
  const isSeen = !Number.isNaN(rateOf(evidence));
  // Later waves may mend the coverage as well, for which one machine would not stop either.
  if (goesOn !== undefined) return isSeen ? { ...goesOn, evidence } : goesOn;
  if (!isSeen) {
    const none = "fresh" in evidence ? "no cell" : `none of ${used.length} ${unit.many}`;
    return { kind: "invalid", reason: `${none} has a valid trial of both` };
  }
  const lack = lackOfCoverage(evidence, policy);
  if (lack !== undefined) return { kind: "invalid", reason: lack, evidence };
  if (bets?.decision !== undefined) return { kind: bets.decision, evidence };
  const kind = bets === undefined ? boundsVerdict(bounds, policy) : undefined;
  if (kind !== undefined) return { kind, evidence, stopped };
  if (isOpen && bets.units < rule!.largestSize) {
    return {
      kind: "invalid",
      reason: `the run was interrupted: ${bets.units} of ${rule!.largestSize} ${unit.many} were ` +
        "run, and the gate has not decided; continue it with --resume",
      evidence,
    };
  }
  const more = bets === undefined && advise
    ? moreTrials(used, measure, policy, stopped !== undefined)
    : null;
  return { kind: "undecided", evidence, moreTrials: more, stopped };
}

function boundsVerdict(
  { lower, upper }: Bounds,
  policy: CompletePolicy,
): "pass" | "fail" | undefined {
  const { pass, fail } = hypothesesOf(policy);
  return lower >= pass ? "pass" : upper < fail ? "fail" : undefined;
}

/** Follows the bets of a sequential gate until it decides. */
function followBets<T>(
  units: readonly T[],
  measure: UnitMeasure<T>,
  policy: CompletePolicy,
  rule: SequentialRule,
) {
  const bets = new Bets(rule, hypothesesOf(policy));
  const blocks: Sample[][] = [];
  const { blockSize, largestSize } = rule;
  const end = Math.min(units.length, largestSize);
  for (let start = 0; start + blockSize <= end && bets.decision === undefined; start += blockSize) {
    const block = units.slice(start, start + blockSize).map(measure.sample);
    blocks.push(block);
    bets.look(block);
  }
  const bounds = sequentialBounds(blocks, rule, measure.least);
  return { decision: bets.decision, units: bets.units, bounds, method: "sequential" as const };
}

/** The largest number of trials considered. */
const MAX_TRIALS = 1_000_000;

/** Returns how many more trials of a model would decide if results went on as observed; `null` if none. */
function moreTrials<T>(
  units: readonly T[],
  measure: Measure<T>,
  policy: CompletePolicy,
  stopped: boolean,
): number | null {
  const planned = sum(units, (unit) => measure.trials(unit).each);
  const decides = (trials: number) =>
    boundsVerdict(bound(units, measure, policy, stopped, trials / planned).bounds, policy) !==
      undefined;
  let enough = 2 * planned;
  while (!decides(enough)) {
    if (enough > MAX_TRIALS) return null;
    enough *= 2;
  }
  return bisectWhole(enough / 2 + 1, enough - 1, decides) - planned;
}

/** Adds the ceilings to a verdict: an exceeded one makes it fail. */
export function withCeilings(verdict: Verdict, ceilings: readonly CeilingCheck[]): Verdict {
  if (ceilings.length === 0 || verdict.kind === "invalid") return verdict;
  if (!ceilings.some(({ exceeded }) => exceeded)) return { ...verdict, ceilings };
  const { kind: otherwise } = verdict;
  return { ...settled(verdict), kind: "fail", ceilings, otherwise };
}

/**
 * Adds what `every` asks of each case to a verdict on their mean: to pass, both must, and either can fail, unless
 * the cases decide alone.
 *
 * @param anytime Whether results could end the run early, so that bounds must hold at any time.
 */
export function withCases(
  verdict: Verdict,
  units: readonly CaseUnits[],
  policy: CompletePolicy,
  anytime: boolean,
): Verdict {
  const { every } = policy;
  if (every === undefined || verdict.kind === "invalid") return verdict;
  const cases = checkCases(units, every, policy, anytime);
  const own = casesKind(cases);
  const mean = decidesByCases(policy) && verdict.kind === "fail" ? "undecided" : verdict.kind;
  if (own === "fail" || mean === "fail") return { ...settled(verdict), kind: "fail", cases };
  if (own === "pass" && mean === "pass") return { ...verdict, cases };
  const alone = completePolicy({ every, confidence: policy.confidence });
  const open = units.filter((_, place) => cases[place]!.kind === "undecided")
    .map((one) => moreTrials(one.units, RATES, alone, anytime));
  const needs = [
    ...(verdict.kind === "undecided" ? [verdict.moreTrials] : []),
    // A further round takes one trial of each case.
    ...open.map((more) => more === null ? null : more * units.length),
  ];
  const more = needs.includes(null) ? 0 : Math.max(0, ...needs as number[]);
  return { ...settled(verdict), kind: "undecided", moreTrials: more || null, cases };
}

/** Makes a verdict fail for calls that must not happen in any trial. */
export function withForbidden(
  verdict: Verdict | ContinueVerdict,
  never: readonly ForbiddenCall[],
): TrialsVerdict {
  if (never.length === 0) return verdict;
  return { ...settled(verdict), kind: "fail", never, otherwise: verdict.kind };
}

/** A verdict without the fields of undecided ones. */
function settled<T extends Verdict | ContinueVerdict>(verdict: T) {
  const { moreTrials: _, ...others } = verdict as T & { readonly moreTrials?: number | null };
  return others;
}

/** One case of a variant, with the trials of it. */
export interface CaseUnits {
  /** Its name. */
  readonly case: string;
  /** Its trials, each a unit. */
  readonly units: readonly Unit[];
}

/**
 * The check of one case against `every`. Invalid trials count as failed in the lower bound of its rate, at the gate's
 * confidence, and as solved in the upper one, adjusted for the number of cases (Holm).
 */
export interface CaseCheck extends Bounds, Pick<Unit, "solved" | "valid" | "trials"> {
  /** The name of the case. */
  readonly case: string;
  /** Whether its rate is proved to reach the floor, or to be below it. */
  readonly kind: "pass" | "fail" | "undecided";
}

/**
 * Checks that each case reaches a floor. All cases must be proved to, so that their lower bounds need no adjustment: a
 * suite with a case below the floor passes no more often than that case alone would (intersection-union test). One
 * case below it is enough to fail, so that upper bounds are adjusted.
 *
 * @param anytime Whether results could end the run early, so that bounds must hold at any time.
 * @see Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", 1982.
 * @see Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
 */
export function checkCases(
  cases: readonly CaseUnits[],
  floor: number,
  policy: CompletePolicy,
  anytime: boolean,
): CaseCheck[] {
  const boundsAt = (units: readonly Unit[], confidence: number) =>
    rateBounds(units, { ...policy, confidence }, anytime);
  const error = 1 - policy.confidence;
  const uppers = cases.map(({ units }) => boundsAt(units, 1 - error / cases.length).upper);
  const order = uppers.map((_, place) => place).sort((one, other) => uppers[one]! - uppers[other]!);
  // Each case that is proved to be below the floor leaves fewer to adjust for; the others cannot come before it.
  let [proved, largest] = [0, 0];
  for (const place of order) {
    const { upper } = boundsAt(cases[place]!.units, 1 - error / (cases.length - proved));
    largest = Math.max(largest, upper);
    uppers[place] = largest;
    if (largest < floor) proved++;
  }
  return cases.map(({ case: name, units }, place): CaseCheck => {
    const { lower } = boundsAt(units, policy.confidence);
    return {
      case: name,
      kind: uppers[place]! < floor ? "fail" : lower >= floor ? "pass" : "undecided",
      ...sumUnits(units),
      lower,
      upper: uppers[place]!,
    };
  });
}

/** Returns what the checks say together. */
export function casesKind(checks: readonly CaseCheck[]): CaseCheck["kind"] {
  if (checks.some(({ kind }) => kind === "fail")) return "fail";
  return checks.every(({ kind }) => kind === "pass") ? "pass" : "undecided";
}

/** Returns the fewest trials of a case that prove it to reach a floor if all of them are solved. */
export function fewestClean(floor: number, confidence: number): number {
  // As a product of chances it is floor^n; the bound itself decides, so that the two never disagree.
  let trials = Math.max(1, Math.floor(Math.log(1 - confidence) / Math.log(floor)) - 1);
  while (clopperPearson(trials, trials, confidence).lower < floor) trials++;
  return trials;
}

/** Returns how many failed trials a case may have and still be proved to reach a floor; -1 if it never is. */
export function mostFailed(trials: number, floor: number, confidence: number): number {
  // Failures are as rare as the floor is high: few steps.
  let failed = -1;
  while (binomialUpperTail(trials - failed - 1, trials, floor) <= 1 - confidence) failed++;
  return failed;
}

/** The trials of two variants on one case. */
export interface ComparedCase extends Pair {
  /** Its name. */
  readonly case: string;
}

/** A case that two variants solve differently often; bounds are of the difference, two-sided. */
export interface ChangedCase extends Bounds {
  /** The name of the case. */
  readonly case: string;
  /** The share of the candidate's valid trials that were solved. */
  readonly candidate: number;
  /** The baseline's. */
  readonly baseline: number;
  /** The candidate's less the baseline's. */
  readonly difference: number;
  /**
   * The p-value of "nothing has changed", adjusted for the number of cases; `null` if none holds: see
   * {@linkcode ChangedCases.unproved}.
   */
  readonly p: number | null;
  /** Whether the change is proved, together with all others that are. */
  readonly proved: boolean;
}

/** The cases on which two variants differ. */
export interface ChangedCases {
  /** The number of cases with a valid trial of both. */
  readonly cases: number;
  /** Those whose observed rates differ, by size of change. */
  readonly changed: readonly ChangedCase[];
  /**
   * Why no results can prove a change: too few trials of a case, or a run that its results could end.
   */
  readonly unproved?: "few" | "stopped";
  /** If there are too few, the trials of a case with which a case that changed completely is proved to have. */
  readonly needed?: number;
}

/**
 * Compares two variants case by case. Trials of a case are independent draws, also of two variants, so that Fisher's
 * exact test fits each case and Newcombe's interval shows the size of its change; Holm's adjustment makes all marks
 * true together with `confidence`. An invalid trial counts as solved or as failed, whichever speaks against a change.
 *
 * @param anytime Whether results could end the run early: then no change is proved, as the tests are for a fixed size.
 */
export function changedCases(
  cases: readonly ComparedCase[],
  confidence: number,
  anytime: boolean,
): ChangedCases {
  // Also of cases without a valid trial: which trials are valid may depend on how they went.
  const values = holm(cases.map(changeValue));
  const error = 1 - confidence;
  const compared = cases.flatMap(({ case: name, candidate, baseline }, place): ChangedCase[] =>
    candidate.valid === 0 || baseline.valid === 0 ? [] : [{
      case: name,
      candidate: candidate.solved / candidate.valid,
      baseline: baseline.solved / baseline.valid,
      ...newcombe(
        [candidate.solved, candidate.valid],
        [baseline.solved, baseline.valid],
        confidence,
      ),
      p: anytime ? null : values[place]!,
      proved: !anytime && values[place]! <= error,
    }]
  );
  const least = Math.min(...cases.map(leastValue));
  const isFew = compared.length > 0 && least * cases.length > error;
  return {
    cases: compared.length,
    changed: compared.filter(({ difference }) => difference !== 0)
      .sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference)),
    ...(anytime
      ? { unproved: "stopped" as const }
      : isFew
      ? { unproved: "few" as const, needed: trialsToProve(cases.length, confidence) }
      : {}),
  };
}

/** The p-value of a case in which unknown trials ended as it speaks against a change. */
function changeValue({ candidate, baseline }: ComparedCase): number {
  const isWorse = candidate.solved * baseline.valid < baseline.solved * candidate.valid;
  const filled = ({ solved, valid, trials }: Unit, isSolved: boolean): [number, number] => [
    solved + (isSolved ? trials - valid : 0),
    trials,
  ];
  const [own, other] = [filled(candidate, isWorse), filled(baseline, !isWorse)];
  // What is unknown may turn the change around, which is then none.
  const isTurned = isWorse
    ? own[0] * other[1] >= other[0] * own[1]
    : own[0] * other[1] <= other[0] * own[1];
  return isTurned ? 1 : fisherExact(own, other);
}

/** The p-value of a case that changed completely. */
function leastValue({ candidate, baseline }: ComparedCase): number {
  return fisherExact([0, candidate.trials], [baseline.trials, baseline.trials]);
}

/** Returns how many trials a case needs, of each variant, for a complete change of one of `cases` to be proved. */
export function trialsToProve(cases: number, confidence: number): number {
  let trials = 1;
  while (cases * fisherExact([0, trials], [trials, trials]) > 1 - confidence) trials++;
  return trials;
}
