/**
 * Self-check: estimates how often a gate errs on trials like the given ones, by resampling them.
 *
 * Graphs are drawn with replacement from those of the run, so that the truth is known among the resampled
 * trials: two arms drawn from the trials of one model are equally good, and a model's success rate is the
 * observed one.
 */

import { type Prng, sample, shuffle } from "@std/random";
import { mean } from "../base/numbers.ts";
import { DIFFERENCES, type Pair, RATES, type Unit, type UnitMeasure } from "./evidence.ts";
import { conclude, type Verdict } from "./decide.ts";
import {
  type CompletePolicy,
  completePolicy,
  type GatePolicy,
  hypothesesOf,
  isUpgrade,
} from "./policy.ts";
import { fork } from "../base/random.ts";
import { sequentialRule } from "./sequential.ts";
import { type Bounds, wilson } from "../statistics/proportions.ts";

/** The decisions of a gate under a known truth. */
export interface Check {
  /** The truth, as a phrase. */
  readonly truth: string;
  /** The verdict that is an error. */
  readonly error: "pass" | "fail";
  /** The highest error rate that the policy allows. */
  readonly allowed: number;
  /** The number of gates by verdict. */
  readonly gates: Readonly<Record<Verdict["kind"], number>>;
  /** The share of gates that erred. */
  readonly rate: number;
  /** Its two-sided 95% interval. */
  readonly interval: Bounds;
}

/** Options of {@linkcode selfCheck}. */
export interface SelfCheckOptions {
  /** The number of resampled gates for each truth; default 2,000. */
  readonly gates?: number;
  /** The seed of the resampling; default 1. */
  readonly seed?: number;
}

/**
 * The outcomes of one graph's valid trials, all of one model, in each of its cells: mostly one, several where they
 * share a core graph.
 */
export type Outcomes = readonly (readonly boolean[])[];

/**
 * Resamples gates from the trials of one model: an upgrade gate decides between two arms of it, an absolute
 * gate on a success rate that is set so that it just holds, and just does not. Each arm of an upgrade gate
 * has half of a graph's trials in each cell. A gate has as many graphs of each cell as the largest cell has, a
 * sequential one as many as it needs.
 *
 * @param cells The graphs of each cell; graphs with fewer valid trials than the largest are left out. Cells that
 * share core graphs count as one.
 * @throws {RangeError} If there is no graph, or, for an upgrade gate, none with two valid trials.
 */
export function selfCheck(
  cells: readonly (readonly Outcomes[])[],
  policy: GatePolicy,
  { gates = 2_000, seed = 1 }: SelfCheckOptions = {},
): Check[] {
  const complete = completePolicy(policy);
  const arms = isUpgrade(complete) ? 2 : 1;
  const trials = arms *
    Math.floor(Math.max(0, ...cells.flat(2).map((part) => part.length)) / arms);
  const usable = cells.map((graphs) =>
    graphs.filter((parts) => parts.every((part) => part.length >= trials))
  ).filter((graphs) => graphs.length > 0);
  if (trials === 0 || usable.length === 0) {
    throw new RangeError(
      `Cannot check the gate as it needs graphs with ${
        arms === 2 ? "two valid trials or more" : "a valid trial"
      }: there are none`,
    );
  }
  return truthsOf({ cells: usable, trials: trials / arms }, complete)
    .map(({ truth, error, draw }): Check => {
      const { prng } = fork(seed, "selfcheck", truth);
      const counts = { pass: 0, fail: 0, undecided: 0, invalid: 0 };
      for (let gate = 0; gate < gates; gate++) counts[draw(prng).kind]++;
      const { confidence, power, sequential } = complete;
      return {
        truth,
        error,
        allowed: 1 - (error === "fail" && sequential ? power : confidence),
        gates: counts,
        rate: counts[error] / gates,
        interval: wilson(counts[error], gates),
      };
    });
}

/** The trials to draw from. */
interface Source {
  readonly cells: readonly (readonly Outcomes[])[];
  /** The number of trials per graph, or part of it, and arm. */
  readonly trials: number;
}

interface Truth {
  readonly truth: string;
  readonly error: "pass" | "fail";
  /** Draws the graphs of one gate, and decides it. */
  draw(prng: Prng): Verdict;
}

/** Returns the truths under which to test the gate of `policy`; impossible ones are left out. */
function truthsOf(source: Source, policy: CompletePolicy): Truth[] {
  const rate = mean(
    source.cells.map((graphs) =>
      mean(graphs.flat().map((part) => part.filter(Boolean).length / part.length))!
    ),
  )!;
  const { gap } = hypothesesOf(policy);
  const truths: Truth[] = [];
  if (isUpgrade(policy)) {
    const between = (spoiled: number) =>
      drawGates(
        policy,
        source,
        DIFFERENCES,
        (prng, graph) => drawPair(prng, graph, source.trials, spoiled),
      );
    truths.push({ truth: "the two are alike", error: "fail", draw: between(0) });
    if (gap <= rate) {
      // Solved trials of the candidate are spoiled so often that it loses exactly that.
      const draw = between(gap / rate);
      truths.push({ truth: "the candidate is worse by the margin", error: "pass", draw });
    }
    return truths;
  }
  const against = (successRate: number) =>
    drawGates(
      { ...policy, successRate },
      source,
      RATES,
      (prng, graph) => unitOf(graph.flatMap((part) => drawTrials(prng, part, source.trials))),
    );
  if (gap < rate) {
    const truth = "the success rate is just what is asked for";
    truths.push({ truth, error: "fail", draw: against(rate) });
  }
  if (rate > 0 && rate + gap <= 1) {
    const truth = "the success rate is lower by the margin";
    truths.push({ truth, error: "pass", draw: against(rate + gap) });
  }
  return truths;
}

/** Draws the graphs of a gate block by block, as many as a sequential one may need, and decides. */
function drawGates<T>(
  policy: CompletePolicy,
  { cells }: Source,
  measure: UnitMeasure<T>,
  draw: (prng: Prng, graph: Outcomes) => T,
): Truth["draw"] {
  const rule = policy.sequential ? sequentialRule(policy, cells.length) : undefined;
  const blocks = rule === undefined
    ? Math.max(...cells.map((graphs) => graphs.length))
    : rule.largestSize / cells.length;
  return (prng) => {
    const block = () => cells.map((graphs) => draw(prng, sample(graphs, { prng })!));
    const units = Array.from({ length: blocks }, block).flat();
    return conclude(units, measure, policy, { advise: false, rule }) as Verdict;
  };
}

/** Returns `count` different trials of one graph in one cell, in random order. */
function drawTrials(prng: Prng, part: readonly boolean[], count: number): boolean[] {
  return shuffle(part, { prng }).slice(0, count);
}

/** Draws two arms of different trials of one graph, and spoils solved ones of the first at random. */
function drawPair(prng: Prng, graph: Outcomes, trials: number, spoiled: number): Pair {
  const drawn = graph.map((part) => drawTrials(prng, part, 2 * trials));
  const candidate = drawn.flatMap((part) =>
    part.slice(0, trials).map((solved) => solved && !(prng() < spoiled))
  );
  return {
    candidate: unitOf(candidate),
    baseline: unitOf(drawn.flatMap((part) => part.slice(trials))),
  };
}

function unitOf(outcomes: readonly boolean[]): Unit {
  const { length } = outcomes;
  return { solved: outcomes.filter(Boolean).length, valid: length, trials: length };
}
