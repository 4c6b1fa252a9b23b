/**
 * The figure of comparisons: the difference of each pair of variants, with its interval and the margin of a gate.
 * @module
 */

import { isUpgrade } from "../../gate/policy.ts";
import { points } from "../../base/numbers.ts";
import type { Report } from "../report.ts";
import { againstName, rankedPairs } from "../tables/_comparisons.ts";
import { nameOf } from "../tables/table.ts";
import type { Figure } from "../_view.ts";
import { reportWords } from "../_words.ts";
import { whiskerNote } from "./_figures.ts";
import { seriesOf } from "./_plotting.ts";
import { type Row, rowsSpec } from "./_shapes.ts";

/** Pairs drawn, at most: the table has more. */
const MAX_ROWS = 20;

/** Returns the figure of the differences of pairs; none where nothing is compared. */
export function comparisonFigures(report: Report): Figure[] {
  const { subjects, gates } = report;
  const words = reportWords(report);
  const comparisons = report.comparisons.filter(({ success }) => success !== null);
  if (comparisons.length === 0) return [];
  const pairs = [...Map.groupBy(rankedPairs({ comparisons, subjects }, MAX_ROWS), againstName)];
  const margins = new Set(
    gates.flatMap(({ gate }) => gate !== null && isUpgrade(gate) ? gate.margin : []),
  );
  const margin = Math.max(0, ...margins);
  const seriesFor = seriesOf(subjects);
  const rows = pairs.flatMap(([against, own]) =>
    own.map((pair): Row => ({
      series: seriesFor(pair),
      group: `against ${against}`,
      label: nameOf(pair),
      value: pair.success!.difference,
      interval: pair.success!.interval,
      asked: { target: 0, least: -margin },
    }))
  );
  const drawn = rows.length < comparisons.length
    ? `${rows.length} of ${comparisons.length} pairs, those with a reference before others`
    : "";
  return [{
    id: "comparisons",
    section: "comparisons",
    title: "Differences of pairs",
    note: [
      `share ${words.solved} less that of the other, on the ${words.tasks} of both`,
      whiskerNote(rows, ", each for a single pair"),
      ...(margin === 0 ? [] : [`band: ${points(margin)}, the margin of the gate`]),
      ...(drawn === "" ? [] : [drawn]),
    ].join("; "),
    spec: rowsSpec(rows, "difference", { ticks: [] }),
  }];
}
