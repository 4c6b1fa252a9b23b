/**
 * Tables of strategies: what they gain over the baseline, and what they did for it.
 * @module
 */

import type { Comparison } from "../../gate/comparison.ts";
import { variantLabel } from "../../gate/variant.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import { percent, probability } from "../../base/numbers.ts";
import { grouped, nameOf, type Table } from "./table.ts";

/** Each strategy against the baseline of the same model; no table where there is nothing to compare. */
export function strategiesTable(comparisons: readonly Comparison[]): Table[] {
  if (comparisons.length === 0) return [];
  const priced = comparisons.some(({ effort }) => effort.extra.usd !== null);
  const left = comparisons.some(({ leftOut }) => leftOut > 0);
  return [{
    id: "strategies",
    section: "success",
    title: "Strategies against the baseline",
    note:
      "on the same tasks as the baseline of the same model; difference in percentage points, with " +
      "its 95% interval; McNemar p: how often chance alone would part gained from lost so unevenly, if " +
      "the strategy changed nothing; extra tokens: all tokens spent, divided by the tasks solved, less " +
      "the same of the baseline; each comparison stands by itself: of many, some differ by chance, and " +
      "none allows for a run that a gate stopped early; this decides nothing",
    rows: [
      [
        ...["strategy", "tasks", ...(left ? ["left out"] : []), "baseline", "with strategy"],
        ...["difference", "95% interval", "gained", "lost", "McNemar p", "extra tokens"],
        ...(priced ? ["extra cost"] : []),
      ],
      ...comparisons.map((one) => [
        variantLabel(one.subject, one.simulated),
        String(one.graphs),
        ...(left ? [String(one.leftOut)] : []),
        ...successColumns(one),
        signed(one.effort.extra.tokens, (tokens) => grouped(Math.round(tokens))),
        ...(priced ? [signed(one.effort.extra.usd, dollars)] : []),
      ]),
    ],
  }];
}

/** Both shares, their difference with its interval, and what parted them. */
export function successColumns({ success }: Comparison): string[] {
  if (success === null) return ["-", "-", "-", "-", "-", "-", "-"];
  const { candidate, baseline, difference, interval, gained, lost, mcNemar } = success;
  return [
    percent(baseline),
    percent(candidate),
    signedPoints(difference),
    interval === null ? "-" : `${signedPoints(interval.lower)} to ${signedPoints(interval.upper)}`,
    String(gained),
    String(lost),
    mcNemar === null ? "-" : probability(mcNemar.exact),
  ];
}

/** A difference of shares in percentage points. */
export function signedPoints(share: number): string {
  return signed(share, (size) => (100 * size).toFixed(1));
}

/** A number with its sign, which stands also before what is rounded to nothing. */
function signed(value: number | null, show: (size: number) => string): string {
  if (value === null) return "-";
  // Sums of shares may miss zero by a rounding.
  if (Math.abs(value) < 1e-12) return show(0);
  return (value < 0 ? "-" : "+") + show(Math.abs(value));
}

/** What is often less than a cent. */
function dollars(usd: number): string {
  return `$${usd.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

/** What strategies did beside the loop; no table where none did anything. */
export function workTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ work, ...one }) =>
    work === null ? [] : [[
      nameOf(one),
      String(one.total.valid),
      ...[work.asked, work.unusable, work.sentBack, work.mended].map(grouped),
    ]]
  );
  if (rows.length === 0) return [];
  return [{
    id: "strategy-work",
    section: "success",
    title: "What strategies did",
    note:
      "in valid trials; asked: replies beside the loop, for a plan, a choice of functions, a list of " +
      "calls or a repair; without use: stages that gave nothing to work with, so that the question stood " +
      "for itself; sent back: calls that did not fit their schema; mended: those that then did",
    rows: [
      ["strategy", "valid trials", "asked", "without use", "sent back", "mended"],
      ...rows,
    ],
  }];
}
