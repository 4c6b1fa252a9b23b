/**
 * Statistics of repeated graphs, whose trials are not independent: pass@k, pass^k, and clustered
 * intervals.
 * @module
 */

import { studentQuantile } from "./distributions.ts";
import { assertConfidence, type Bounds, isCount } from "./proportions.ts";

/**
 * pass@k: the probability that at least one of `k` valid trials, drawn without replacement, is solved.
 * Returns `null` for fewer than `k` valid trials.
 *
 * @throws {RangeError} If the counts are not whole numbers with 0 <= solved <= valid, k >= 1.
 * @see Chen et al., "Evaluating Large Language Models Trained on Code", 2021, section 2.1.
 */
export function passAtK(solved: number, valid: number, k: number): number | null {
  assertDraws(solved, valid, k);
  return valid < k ? null : 1 - chanceOfNone(solved, valid, k);
}

/**
 * pass^k: the probability that all of `k` valid trials, drawn without replacement, are solved. Returns
 * `null` for fewer than `k` valid trials.
 *
 * @throws {RangeError} As {@linkcode passAtK}.
 * @see Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains",
 * 2024, section 3.
 */
export function passHatK(solved: number, valid: number, k: number): number | null {
  assertDraws(solved, valid, k);
  return valid < k ? null : chanceOfNone(valid - solved, valid, k);
}

/** C(all - marked, drawn) / C(all, drawn), by the shorter of two equal products. */
function chanceOfNone(marked: number, all: number, drawn: number): number {
  const [factors, larger] = [Math.min(marked, drawn), Math.max(marked, drawn)];
  if (factors + larger > all) return 0;
  let chance = 1;
  for (let factor = 0; factor < factors; factor++) {
    chance *= (all - larger - factor) / (all - factor);
  }
  return chance;
}

function assertDraws(solved: number, valid: number, k: number): void {
  if (isCount(solved) && isCount(valid) && isCount(k) && solved <= valid && k >= 1) return;
  throw new RangeError(
    `Cannot draw trials as it needs whole numbers with 0 <= solved <= valid and k >= 1: ` +
      `${solved} of ${valid} are solved, k is ${k}`,
  );
}

/**
 * Returns the standard error of the mean of clustered values, with the factor G / (G - 1) for G clusters;
 * `null` for fewer than two clusters.
 */
export function clusteredStandardError(clusters: readonly (readonly number[])[]): number | null {
  const filled = clusters.filter((cluster) => cluster.length > 0);
  if (filled.length < 2) return null;
  const count = filled.reduce((sum, cluster) => sum + cluster.length, 0);
  const mean = filled.flat().reduce((sum, value) => sum + value, 0) / count;
  const squares = filled.reduce((sum, cluster) => {
    const excess = cluster.reduce((inner, value) => inner + value - mean, 0);
    return sum + excess * excess;
  }, 0);
  return Math.sqrt(filled.length / (filled.length - 1) * squares) / count;
}

/**
 * Returns an interval for the mean of clustered values in [0, 1] with about that confidence, cut to
 * [0, 1]; `null` for fewer than two clusters. It reaches as many standard errors as Student's t with one
 * degree of freedom less than there are clusters: the source's normal approximation covers 88% instead of
 * 95% with five clusters.
 *
 * @throws {RangeError} If the confidence is not between 0 and 1.
 * @see Miller, "Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations",
 * 2024, section 2.2.
 */
export function clusteredInterval(
  clusters: readonly (readonly number[])[],
  confidence = 0.95,
): Bounds | null {
  assertConfidence("bound a mean", confidence);
  const error = clusteredStandardError(clusters);
  if (error === null) return null;
  const values = clusters.flat();
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const degrees = clusters.filter((cluster) => cluster.length > 0).length - 1;
  const half = studentQuantile((1 + confidence) / 2, degrees) * error;
  return { lower: Math.max(0, mean - half), upper: Math.min(1, mean + half) };
}
