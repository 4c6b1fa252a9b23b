/**
 * The gate: whether a model is good enough, or as good as the one it replaces, with known error rates,
 * and an honest "undecided" where the trials cannot tell.
 * @module
 */

import {
  bound,
  DIFFERENCES,
  type Evidence,
  type Measure,
  type Pair,
  rateOf,
  RATES,
  sum,
  type Unit,
} from "./evidence.ts";
import { parseWith } from "../base/input.ts";
import {
  type CompletePolicy,
  completePolicy,
  GATE_POLICY,
  hypothesesOf,
  type RatePolicy,
  type UpgradePolicy,
} from "./policy.ts";
import { Bets, type Sample, sequentialBounds, type SequentialRule } from "./sequential.ts";
import type { Bounds } from "../statistics/proportions.ts";
import { GRAPHS, type UnitNames } from "./unit_names.ts";

/** How a ceiling was kept. */
export interface CeilingCheck {
  /** What it is a ceiling of, as a path in the policy, such as `failures.incorrect_value`. */
  readonly ceiling: string;
  /** What the policy allows. */
  readonly limit: number;
  /** What was seen. */
  readonly seen: number;
  /**
   * The lower bound of its true value, at the gate's confidence; `null` for means, of which what was
   * seen counts.
   */
  readonly lower: number | null;
  /** Whether it was exceeded: proved to be, or seen to be where there is no bound. */
  readonly exceeded: boolean;
}

/** What a gate says. Everything but `invalid` comes with its evidence. */
export type Verdict =
  | {
    readonly kind: "pass" | "fail";
    readonly evidence: Evidence;
    /** The policy's ceilings; one that was exceeded makes it fail. */
    readonly ceilings?: readonly CeilingCheck[];
    /** What it would have been, had no ceiling been exceeded. */
    readonly otherwise?: "pass" | "fail" | "undecided";
    /** Why fewer trials than planned were run, if something else than the gate ended them. */
    readonly stopped?: string;
  }
  | {
    readonly kind: "undecided";
    readonly evidence: Evidence;
    /** How many more trials of a model would probably decide; `null` where none would. */
    readonly moreTrials: number | null;
    /** The policy's ceilings. */
    readonly ceilings?: readonly CeilingCheck[];
    /** Why fewer trials than planned were run, if something else than the gate ended them. */
    readonly stopped?: string;
  }
  | { readonly kind: "invalid"; readonly reason: string; readonly evidence?: Evidence };

/** The kinds of verdicts, the worst first. */
export const VERDICT_KINDS = ["fail", "invalid", "undecided", "pass"] as const;

/** How the units came about. */
export interface DecideOptions {
  /** The rule of a sequential gate; units then come in plan order, and in whole blocks. */
  readonly rule?: SequentialRule;
  /**
   * Why trials were ended before all planned ones were run, such as a budget; units are then the
   * graphs that come first in plan order. The bounds are those of bets, which hold wherever one stops.
   */
  readonly stopped?: string;
  /** Whether to work out how many more trials would decide; default true. It takes longest of all. */
  readonly advise?: boolean;
  /** What the units are called; default graphs. */
  readonly unit?: UnitNames;
}

/**
 * Decides an absolute gate: it passes when the lower bound of the success rate reaches
 * `successRate - margin`, fails when the upper bound is below `successRate`, and is undecided
 * otherwise. It is invalid without trials or with too few valid ones.
 *
 * Bounds are Clopper and Pearson's when every graph is run once. Repetitions of a graph are not
 * independent, so then the bounds are those of bets on graph means. What is invalid or missing counts
 * as the worst case of each bound: trials fail to end for reasons that may go with hard tasks, and
 * leaving them out would let a gate pass on what it did not see.
 *
 * @throws {InputError} If the policy is not usable.
 *
 * @example Usage
 * ```ts
 * import { decide } from "./decide.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const units = Array.from({ length: 200 }, (_, n) => ({ solved: n < 190 ? 1 : 0, valid: 1, trials: 1 }));
 * assertEquals(decide(units, { successRate: 0.9 }).kind, "pass");
 * assertEquals(decide(units, { successRate: 0.99, margin: 0 }).kind, "fail");
 * assertEquals(decide([], { successRate: 0.9 }).kind, "invalid");
 * ```
 */
export function decide(
  units: readonly Unit[],
  policy: RatePolicy,
  options: DecideOptions = {},
): Verdict {
  const checked = parseWith(GATE_POLICY, policy, "the policy of decide()") as RatePolicy;
  return conclude(units, RATES, completePolicy(checked), options);
}

/**
 * Decides an upgrade gate: with d the candidate's success rate less the baseline's, it passes when the
 * lower bound of d reaches `-margin`, fails when the upper bound is below 0, and is undecided otherwise.
 *
 * Bounds are Tango's score bounds for paired proportions when every graph is run once by either model,
 * else those of bets on the differences of graph means. What is invalid or missing on either side
 * counts as the worst case of each bound.
 *
 * @throws {InputError} If the policy is not usable.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", 1998.
 *
 * @example Usage
 * ```ts
 * import { decideUpgrade } from "./decide.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const solved = { solved: 1, valid: 1, trials: 1 };
 * const failed = { solved: 0, valid: 1, trials: 1 };
 * const pairs = Array.from({ length: 400 }, (_, n) => ({
 *   candidate: n % 5 > 0 ? solved : failed,
 *   baseline: n % 5 > 0 ? solved : failed,
 * }));
 * assertEquals(decideUpgrade(pairs, { baseline: "gpt-5" }).kind, "pass");
 * const worse = pairs.map(({ baseline }) => ({ candidate: failed, baseline }));
 * assertEquals(decideUpgrade(worse, { baseline: "gpt-5" }).kind, "fail");
 * ```
 */
export function decideUpgrade(
  pairs: readonly Pair[],
  policy: UpgradePolicy,
  options: DecideOptions = {},
): Verdict {
  const checked = parseWith(GATE_POLICY, policy, "the policy of decideUpgrade()");
  return conclude(pairs, DIFFERENCES, completePolicy(checked), options);
}

function conclude<T>(
  units: readonly T[],
  measure: Measure<T>,
  policy: CompletePolicy,
  { rule, stopped, advise = true, unit = GRAPHS }: DecideOptions,
): Verdict {
  const planned = sum(units, (unit) => measure.trials(unit).planned);
  if (planned === 0) return { kind: "invalid", reason: "there are no trials" };
  const looked = rule === undefined ? undefined : bet(units, measure, policy, rule);
  const used = looked === undefined ? units : units.slice(0, looked.units);
  const counted = used.map(measure.trials);
  const needed = sum(counted, (unit) => unit.planned);
  const valid = sum(counted, (unit) => unit.valid);
  if (valid === 0) return { kind: "invalid", reason: `none of ${needed} planned trials is valid` };
  const { bounds, method } = looked ?? bound(used, measure, policy, stopped !== undefined);
  const evidence = measure.describe(used, bounds, method);
  if (Number.isNaN(rateOf(evidence))) {
    const reason = `none of ${used.length} ${unit.many} has a valid trial of both`;
    return { kind: "invalid", reason };
  }
  const { coverage } = policy;
  // The smallest part of a trial is no reason, where the product is not exact.
  if (valid < coverage * needed - 1e-9) {
    return {
      kind: "invalid",
      reason: `${valid} of ${needed} planned trials are valid, ` +
        `fewer than the coverage of ${Number((100 * coverage).toPrecision(12))}% asks for`,
      evidence,
    };
  }
  if (looked?.decision !== undefined) return { kind: looked.decision, evidence };
  const told = stopped === undefined ? {} : { stopped };
  const kind = looked === undefined ? kindOf(bounds, policy) : undefined;
  if (kind !== undefined) return { kind, evidence, ...told };
  if (looked !== undefined && stopped === undefined && looked.units < rule!.largestSize) {
    return {
      kind: "invalid",
      reason:
        `the run was interrupted: ${looked.units} of ${rule!.largestSize} ${unit.many} were ` +
        "run, and the gate has not decided; continue it with --resume",
      evidence,
    };
  }
  const more = looked === undefined && advise
    ? moreTrials(used, measure, policy, stopped !== undefined)
    : null;
  return { kind: "undecided", evidence, moreTrials: more, ...told };
}

function kindOf({ lower, upper }: Bounds, policy: CompletePolicy): "pass" | "fail" | undefined {
  const { pass, fail } = hypothesesOf(policy);
  return lower >= pass ? "pass" : upper < fail ? "fail" : undefined;
}

/** Follows the bets of a sequential gate up to its decision. */
function bet<T>(
  units: readonly T[],
  measure: Measure<T>,
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

/** The largest number of trials that is thought about. */
const MOST_TRIALS = 1_000_000;

/** If all went on as so far, how many more trials of a model until the bounds decide. */
function moreTrials<T>(
  units: readonly T[],
  measure: Measure<T>,
  policy: CompletePolicy,
  stopped: boolean,
): number | null {
  const planned = sum(units, (unit) => measure.trials(unit).each);
  const decides = (trials: number) =>
    kindOf(bound(units, measure, policy, stopped, trials / planned).bounds, policy) !== undefined;
  let [below, above] = [planned, 2 * planned];
  while (!decides(above)) {
    if (above > MOST_TRIALS) return null;
    [below, above] = [above, 2 * above];
  }
  while (above - below > 1) {
    const middle = Math.floor((above + below) / 2);
    if (decides(middle)) above = middle;
    else below = middle;
  }
  return above - planned;
}

/** A verdict with the policy's ceilings: one that was exceeded is enough to fail. */
export function withCeilings(verdict: Verdict, ceilings: readonly CeilingCheck[]): Verdict {
  if (ceilings.length === 0 || verdict.kind === "invalid") return verdict;
  if (!ceilings.some(({ exceeded }) => exceeded)) return { ...verdict, ceilings };
  const { kind: otherwise, evidence, stopped } = verdict;
  const told = stopped === undefined ? {} : { stopped };
  return { kind: "fail", evidence, ceilings, otherwise, ...told };
}
