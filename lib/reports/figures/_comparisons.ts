/**
 * The figure of comparisons: the difference of each pair of variants, with its interval and what is close enough for a
 * gate.
 * @module
 */

import { points } from "../../base/numbers.ts";
import type { Report } from "../report.ts";
import { decidedPairs } from "../tables/_headline.ts";
import { againstName, PAIRS, rankedPairs, signedPoints } from "../tables/_comparisons.ts";
import { type Figure, noteOf } from "../_view.ts";
import { reportWords } from "../_words.ts";
import { whiskerNote } from "./_figures.ts";
import { seriesOf } from "./_plotting.ts";
import { type Row, rowsFigure } from "./_shapes.ts";

/** Returns the figure of the differences of pairs, those of the table in its order; none where nothing is compared. */
export function comparisonFigures(report: Report): Figure[] {
  const words = reportWords(report);
  const decided = decidedPairs(report);
  const gaps = new Set<string>();
  const seriesFor = seriesOf(report.subjects);
  const rows = rankedPairs(report).flatMap(({ success, ...pair }): Row[] => {
    if (success === null) return [];
    const gap = decided(pair);
    if (gap > 0) gaps.add(points(gap));
    return [{
      series: seriesFor(pair),
      group: `against ${againstName(pair)}`,
      value: success.difference,
      interval: success.interval,
      text: signedPoints(success.difference),
      asked: { target: 0, least: gap > 0 ? -gap : undefined },
    }];
  });
  if (rows.length === 0) return [];
  return [{
    ...{ id: "comparisons", section: "comparisons", title: PAIRS },
    note: noteOf(
      `share ${words.solved} less that of the other, on the ${words.tasks} of both`,
      whiskerNote(rows, ", each for a single pair"),
      gaps.size > 0 &&
        `band: ${[...gaps].join(" or ")}, close enough for the gate that decided on a pair`,
    ),
    ...rowsFigure(rows, "difference"),
  }];
}
