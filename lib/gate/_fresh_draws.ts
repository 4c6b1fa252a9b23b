/**
 * Fresh draws: comparing two runs on different graphs of the same cells, cell by cell.
 * @module
 */

import { sum } from "../base/numbers.ts";
import { stratifiedDifference, type Stratum } from "../statistics/two_samples.ts";
import type { DecisionGraph } from "./decisions.ts";
import {
  DIFFERENCES,
  laterAttempts,
  type Measure,
  type Pair,
  RATES,
  sumUnits,
  type Unit,
  unitSample,
} from "./evidence.ts";

/** The graphs of one cell, or of cells that share core graphs, that either side ran on: different ones. */
export interface CellDraws {
  /** Those of the model under test. */
  readonly candidate: readonly Unit[];
  /** Those of the model it is compared with. */
  readonly baseline: readonly Unit[];
}

/**
 * Differences of success rates between different graphs of the same cells, the mean over cells: by
 * {@linkcode stratifiedDifference} if every graph has one trial and neither side ended early, else by bets on pairs of
 * graphs. To pass, unknown trials of the candidate count as failed and those of the baseline as solved; to fail, the
 * other way round. Copies are of the candidate alone, as no more trials of the baseline can be had.
 */
export const FRESH_DRAWS: Measure<CellDraws> = {
  trials: ({ candidate, baseline }) => {
    const [own, other] = [sumUnits(candidate), sumUnits(baseline)];
    return { planned: own.trials + other.trials, valid: own.valid + other.valid, each: own.trials };
  },
  parts: ({ candidate, baseline }) => [...candidate, ...baseline],
  single: (cell) => FRESH_DRAWS.parts(cell).every(RATES.single),
  exact(cells, confidence, copies) {
    const strata = (own: "worst" | "best", other: "worst" | "best") =>
      cells.map(({ candidate, baseline }): Stratum => {
        const trials = Math.round(copies * candidate.length);
        const solved = Math.round(copies * solvedOf(candidate, own));
        return { one: [solved, trials], other: [solvedOf(baseline, other), baseline.length] };
      });
    return {
      lower: stratifiedDifference(strata("worst", "best"), confidence).lower,
      upper: stratifiedDifference(strata("best", "worst"), confidence).upper,
    };
  },
  exactly: "miettinen-nurminen",
  bets(cells, policy, copies) {
    const { candidate, baseline } = blocksOf(cells);
    const blocks = Math.min(candidate, baseline);
    const all = Math.min(copies * candidate, baseline);
    return DIFFERENCES.bets(pairsOf(cells, blocks), policy, all / blocks);
  },
  describe(cells, bounds, method) {
    const trials = cells.map(FRESH_DRAWS.trials);
    const valid = sum(trials, (cell) => cell.valid);
    const seen = cells.map(({ candidate, baseline }) => ({
      candidate: sumUnits(candidate),
      baseline: sumUnits(baseline),
    })).filter(({ candidate, baseline }) => candidate.valid > 0 && baseline.valid > 0);
    const rate = (side: "candidate" | "baseline") =>
      sum(seen, (cell) => cell[side].solved / cell[side].valid) / seen.length;
    const [candidate, baseline] = [rate("candidate"), rate("baseline")];
    return {
      ...{ of: "difference", fresh: true },
      graphs: sum(cells, (cell) => cell.candidate.length),
      baselineGraphs: sum(cells, (cell) => cell.baseline.length),
      cells: cells.length,
      ...{ candidate, baseline, difference: candidate - baseline, valid },
      unknown: sum(trials, (cell) => cell.planned) - valid,
      ...bounds,
      method,
      ...laterAttempts(cells.flatMap(FRESH_DRAWS.parts)),
    };
  },
};

/** How many graphs that ran once are solved if all unknown trials failed, or if all were solved. */
function solvedOf(units: readonly Unit[], end: "worst" | "best"): number {
  return sum(units, (unit) => unitSample(unit)[end]);
}

/** The number of graphs of each cell on either side: of unequal cells those of the smallest. */
function blocksOf(cells: readonly CellDraws[]): Record<keyof CellDraws, number> {
  const least = (side: keyof CellDraws) => Math.min(...cells.map((cell) => cell[side].length));
  return { candidate: least("candidate"), baseline: least("baseline") };
}

/**
 * Pairs of graphs of one cell, in the order of both plans, as many of each cell. Each has the true difference of its
 * cell as its mean, and all are independent: bets on them hold whenever either side ended, after whole blocks.
 */
function pairsOf(cells: readonly CellDraws[], blocks: number): Pair[] {
  return cells.flatMap(({ candidate, baseline }) =>
    candidate.slice(0, blocks).map((own, place) => ({ candidate: own, baseline: baseline[place]! }))
  );
}

/** Groups the graphs of both sides by cell, in the candidate's order; `unitFor` counts the trials of a graph. */
export function cellDraws(
  graphs: readonly DecisionGraph[],
  others: readonly DecisionGraph[],
  unitFor: (names: readonly string[]) => Unit,
): CellDraws[] {
  const unitsIn = (own: readonly DecisionGraph[]) => own.map(({ candidate }) => unitFor(candidate));
  const byCell = Map.groupBy(others, ({ cell }) => cell);
  return [...Map.groupBy(graphs, ({ cell }) => cell)].map(([cell, own]) => ({
    candidate: unitsIn(own),
    baseline: unitsIn(byCell.get(cell) ?? []),
  }));
}

/** Why graphs of two sides cannot be compared by cell: some cells have graphs of one side alone. */
export function unmatchedCells(
  graphs: readonly DecisionGraph[],
  others: readonly DecisionGraph[],
): string | undefined {
  const cellsOf = (own: readonly DecisionGraph[]) => new Set(own.map(({ cell }) => cell));
  const [own, other] = [cellsOf(graphs), cellsOf(others)];
  const { size } = own.symmetricDifference(other);
  return size === 0
    ? undefined
    : `${size} of ${own.union(other).size} cells have graphs of one of the two runs alone`;
}
