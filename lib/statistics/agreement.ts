/**
 * Agreement of two raters beyond chance.
 * @module
 */

import { normalQuantile } from "./distributions.ts";
import { assertConfidence, type Bounds, clopperPearson } from "./proportions.ts";

/** Cohen's kappa and its interval. */
export interface Kappa extends Bounds {
  /** Agreement beyond chance: 1 if both always agree, 0 if they agree as often as by chance. */
  readonly kappa: number;
  /** Its asymptotic standard error (Fleiss, Cohen and Everitt 1969). */
  readonly standardError: number;
}

/**
 * Returns Cohen's kappa of two raters with its two-sided interval; `null` where it is undefined, as both use
 * one and the same category throughout.
 *
 * The interval is the wider, at each end, of two: that of the asymptotic standard error, and that of Clopper
 * and Pearson's exact interval of the observed agreement, carried over to kappa with chance held fixed. The
 * first alone has no width where the raters always agree, however few the items are. With fewer than about 30
 * items either is rough.
 *
 * @param table How many items got each pair of categories: a row for each of the one rater, a column for each
 * of the other, in the same order.
 * @throws {RangeError} If the confidence is not between 0 and 1.
 * @see Cohen, "A Coefficient of Agreement for Nominal Scales", 1960.
 * @see Fleiss, Cohen and Everitt, "Large Sample Standard Errors of Kappa and Weighted Kappa", 1969.
 */
export function cohenKappa(
  table: readonly (readonly number[])[],
  confidence = 0.95,
): Kappa | null {
  assertConfidence("bound kappa", confidence);
  const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  const rowCounts = table.map(sumOf);
  const columnCounts = table.map((_, column) => sumOf(table.map((row) => row[column]!)));
  const total = sumOf(rowCounts);
  const agreed = sumOf(table.map((row, place) => row[place]!));
  // In whole numbers, so that what is undefined is seen as such.
  if (rowCounts.some((count, place) => count === total && columnCounts[place] === total)) {
    return null;
  }
  const rows = rowCounts.map((count) => count / total);
  const columns = columnCounts.map((count) => count / total);
  const observed = agreed / total;
  const byChance = sumOf(rows.map((share, place) => share * columns[place]!));
  const rest = 1 - byChance;
  const kappa = (observed - byChance) / rest;
  let variance = -((observed * byChance - 2 * byChance + observed) ** 2);
  for (const [one, row] of table.entries()) {
    for (const [other, count] of row.entries()) {
      variance += count / total *
        (one === other
          ? (rest - (columns[one]! + rows[one]!) * (1 - observed)) ** 2
          : ((1 - observed) * (columns[one]! + rows[other]!)) ** 2);
    }
  }
  // What is left of zero by rounding is zero.
  const standardError = variance < 1e-12 ? 0 : Math.sqrt(variance / total) / rest ** 2;
  const half = normalQuantile((1 + confidence) / 2) * standardError;
  const exact = clopperPearson(agreed, total, confidence, 2);
  const atAgreement = (share: number) => (share - byChance) / rest;
  return {
    ...{ kappa, standardError },
    lower: Math.max(-1, Math.min(kappa - half, atAgreement(exact.lower))),
    upper: Math.min(1, Math.max(kappa + half, atAgreement(exact.upper))),
  };
}
