/**
 * Strategy tables: their gains over the baseline, and the work they did for them.
 * @module
 */

import type { Comparison } from "../../gate/comparison.ts";
import { variantLabel } from "../../gate/variant.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import { percent, probability } from "../../base/numbers.ts";
import { grouped, nameOf, type Table } from "./_table.ts";

/** Compares each strategy with the baseline of the same model; no table where there is nothing to compare. */
export function strategiesTable(comparisons: readonly Comparison[]): Table[] {
  if (comparisons.length === 0) return [];
  const hasPrices = comparisons.some(({ effort }) => effort.extra.usd !== null);
  const hasLeftOut = comparisons.some(({ leftOut }) => leftOut > 0);
  return [{
    id: "strategies",
    section: "success",
    title: "Strategies against the baseline",
    note:
      "on the same tasks as the baseline of the same model; difference in percentage points, with " +
      "its 95% interval; McNemar p: probability of gained and lost at least this uneven if the strategy " +
      "changed nothing; extra tokens: all tokens spent, divided by the tasks solved, minus the same of the " +
      "baseline; comparisons are not corrected for their number: of many, some differ by chance, and none " +
      "accounts for a run that a gate stopped early; verdicts do not depend on them",
    rows: [
      [
        ...["strategy", "tasks", ...(hasLeftOut ? ["left out"] : []), "baseline", "with strategy"],
        ...["difference", "95% interval", "gained", "lost", "McNemar p", "extra tokens"],
        ...(hasPrices ? ["extra cost"] : []),
      ],
      ...comparisons.map((one) => [
        variantLabel(one.subject, one.simulated),
        String(one.graphs),
        ...(hasLeftOut ? [String(one.leftOut)] : []),
        ...successColumns(one),
        signed(one.effort.extra.tokens, (tokens) => grouped(Math.round(tokens))),
        ...(hasPrices ? [signed(one.effort.extra.usd, dollars)] : []),
      ]),
    ],
  }];
}

/** Formats both shares, their difference with its interval, gained and lost tasks, and McNemar's p. */
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

/** Formats a difference of shares in percentage points. */
export function signedPoints(share: number): string {
  return signed(share, (size) => (100 * size).toFixed(1));
}

/** Formats a number with its sign, also where it rounds to zero. */
function signed(value: number | null, show: (size: number) => string): string {
  if (value === null) return "-";
  // Sums of shares may differ from zero by a rounding error.
  if (Math.abs(value) < 1e-12) return show(0);
  return (value < 0 ? "-" : "+") + show(Math.abs(value));
}

/** Formats an amount that is often less than a cent. */
function dollars(usd: number): string {
  return `$${usd.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

/** Returns the work of strategies outside the agent loop; no table where there is none. */
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
    title: "Work of strategies",
    note:
      "in valid trials; asked: replies outside the agent loop, for a plan, a choice of functions, a list of " +
      "calls or a repair; without use: stages without a usable result, so that the model had only the " +
      "question; sent back: calls that did not fit their schema; mended: those that then did",
    rows: [
      ["strategy", "valid trials", "asked", "without use", "sent back", "mended"],
      ...rows,
    ],
  }];
}
