/**
 * Self-check: how often a gate errs on trials like those at hand, found by re-drawing them.
 *
 * Graphs are drawn with replacement from those that were run, so that in the re-drawn world the truth
 * is known: two arms that are drawn from the trials of one model are equally good, and a model's
 * success rate is the one that was seen.
 * @module
 */

import { type Prng, shuffle } from "@std/random";
import type { Pair, Unit } from "./evidence.ts";
import { decide, type DecideOptions, decideUpgrade, type Verdict } from "./decide.ts";
import { type CompletePolicy, completePolicy, type GatePolicy, isUpgrade } from "./policy.ts";
import { fork } from "../base/random.ts";
import { sequentialRule } from "./sequential.ts";
import { type Bounds, wilson } from "../statistics/proportions.ts";

/** How a gate decided where the truth was known. */
export interface Check {
  /** What was true, in words. */
  readonly truth: string;
  /** The verdict that would be an error. */
  readonly error: "pass" | "fail";
  /** How often the error may happen. */
  readonly allowed: number;
  /** Gates, by what they decided. */
  readonly gates: Readonly<Record<Verdict["kind"], number>>;
  /** The share of gates that erred. */
  readonly rate: number;
  /** Its two-sided 95% interval. */
  readonly interval: Bounds;
}

/** Options of {@linkcode selfCheck}. */
export interface SelfCheckOptions {
  /** Gates that are re-drawn for each truth; default 2,000. */
  readonly gates?: number;
  /** Seed of the draws; default 1. */
  readonly seed?: number;
}

/** The outcomes of one graph's valid trials, all of one model. */
export type Outcomes = readonly boolean[];

/**
 * Re-draws gates from the trials of one model: an upgrade gate decides between two arms of it, an
 * absolute one about a success rate that is moved to where it just holds, and to where it just does not.
 * Each arm of an upgrade gate has half of a graph's trials. A gate has as many graphs of each cell as the
 * largest cell has, a sequential one as many as it needs.
 *
 * @param cells The graphs of each cell; those with fewer valid trials than most are left out.
 * @throws {RangeError} If there is no graph, or, for an upgrade gate, none with two valid trials.
 *
 * @example Usage
 * ```ts
 * import { selfCheck } from "./self_check.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const graphs = Array.from({ length: 100 }, (_, n) => [n % 5 > 0, n % 7 > 0]);
 * const [alike] = selfCheck([graphs], { baseline: "itself" }, { gates: 100 });
 * assertEquals(alike!.error, "fail");
 * assertEquals(alike!.gates.invalid, 0);
 * ```
 */
export function selfCheck(
  cells: readonly (readonly Outcomes[])[],
  policy: GatePolicy,
  { gates = 2_000, seed = 1 }: SelfCheckOptions = {},
): Check[] {
  const complete = completePolicy(policy);
  const arms = isUpgrade(complete) ? 2 : 1;
  const trials = arms *
    Math.floor(Math.max(0, ...cells.flat().map((graph) => graph.length)) / arms);
  const usable = cells.map((graphs) => graphs.filter((graph) => graph.length >= trials))
    .filter((graphs) => graphs.length > 0);
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

/** What gates are drawn from. */
interface Source {
  readonly cells: readonly (readonly Outcomes[])[];
  /** Trials of a graph and arm. */
  readonly trials: number;
}

interface Truth {
  readonly truth: string;
  readonly error: "pass" | "fail";
  /** Draws the graphs of one gate, and decides it. */
  draw(prng: Prng): Verdict;
}

/** The truths under which the gate of `policy` is tried; those that cannot be are left out. */
function truthsOf(source: Source, policy: CompletePolicy): Truth[] {
  const rate = mean(
    source.cells.map((graphs) =>
      mean(graphs.map((graph) => graph.filter(Boolean).length / graph.length))
    ),
  );
  const { margin } = policy;
  const truths: Truth[] = [];
  if (isUpgrade(policy)) {
    const between = (spoiled: number) =>
      drawing(
        policy,
        source,
        (prng, graph) => drawPair(prng, graph, source.trials, spoiled),
        (pairs, options) => decideUpgrade(pairs, { ...policy, baseline: "itself" }, options),
      );
    truths.push({ truth: "the two are alike", error: "fail", draw: between(0) });
    if (margin <= rate) {
      // What the candidate solved is spoiled so often that it loses just the margin.
      const draw = between(margin / rate);
      truths.push({ truth: "the candidate is worse by the margin", error: "pass", draw });
    }
    return truths;
  }
  const against = (successRate: number) => {
    const moved = { ...policy, successRate };
    return drawing(
      moved,
      source,
      (prng, graph) => unitOf(draws(prng, graph, source.trials)),
      (units, options) => decide(units, moved, options),
    );
  };
  if (margin < rate) {
    const truth = "the success rate is just what is asked for";
    truths.push({ truth, error: "fail", draw: against(rate) });
  }
  if (rate > 0 && rate + margin <= 1) {
    const truth = "the success rate is lower by the margin";
    truths.push({ truth, error: "pass", draw: against(rate + margin) });
  }
  return truths;
}

/** Draws the graphs of gates, block by block, as many as a sequential one may need, and decides. */
function drawing<T>(
  policy: CompletePolicy,
  { cells }: Source,
  draw: (prng: Prng, graph: Outcomes) => T,
  conclude: (units: readonly T[], options: DecideOptions) => Verdict,
): Truth["draw"] {
  const rule = policy.sequential ? sequentialRule(policy, cells.length) : undefined;
  const blocks = rule === undefined
    ? Math.max(...cells.map((graphs) => graphs.length))
    : rule.largestSize / cells.length;
  const options = { advise: false, ...(rule === undefined ? {} : { rule }) };
  return (prng) => {
    const block = () => cells.map((graphs) => draw(prng, pick(prng, graphs)));
    return conclude(Array.from({ length: blocks }, block).flat(), options);
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function pick<T>(prng: Prng, items: readonly T[]): T {
  return items[Math.floor(prng() * items.length)]!;
}

/** So many different trials of one graph, in random order. */
function draws(prng: Prng, graph: Outcomes, count: number): boolean[] {
  return shuffle(graph, { prng }).slice(0, count);
}

/** Two arms of different trials of one graph; what the first solved is spoiled with a probability. */
function drawPair(prng: Prng, graph: Outcomes, trials: number, spoiled: number): Pair {
  const drawn = draws(prng, graph, 2 * trials);
  const candidate = drawn.slice(0, trials).map((solved) => solved && !(prng() < spoiled));
  return { candidate: unitOf(candidate), baseline: unitOf(drawn.slice(trials)) };
}

function unitOf(outcomes: Outcomes): Unit {
  const { length } = outcomes;
  return { solved: outcomes.filter(Boolean).length, valid: length, trials: length };
}
