/**
 * Strategy tables: their gains over the baseline, and the work they did for them.
 * @module
 */

import type { Comparison, PairedSuccess } from "../../gate/comparison.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import { printable } from "../../base/json.ts";
import { percent, probability, sum } from "../../base/numbers.ts";
import { boundsText, type Column, grouped, layOut, nameOf, NOTHING } from "./table.ts";
import type { Table } from "../_view.ts";

/** Compares each strategy with the baseline of the same model; no table where there is nothing to compare. */
export function strategiesTable(comparisons: readonly Comparison[]): Table[] {
  if (comparisons.length === 0) return [];
  return [{
    id: "strategies",
    section: "success",
    title: "Strategies against the baseline",
    note:
      "on the same tasks as the baseline of the same model; difference in percentage points, with " +
      "its 95% interval; McNemar p: probability of gained and lost at least this uneven if the strategy " +
      "changed nothing; extra tokens: all tokens spent, divided by the tasks solved, minus the same of the " +
      "baseline; missed calls, where there are any: how many more tasks have a needed call that was never made, " +
      "in percentage points; comparisons are not corrected for their number: of many, some differ by chance, and none " +
      "accounts for a run that a gate stopped early; verdicts do not depend on them",
    rows: layOut(comparisons, [
      comparisonColumns("strategy", "baseline", "with strategy", unitsOf(comparisons)),
      {
        head: "extra tokens",
        cell: ({ effort }) => signed(effort.extra.tokens, (tokens) => grouped(Math.round(tokens))),
      },
      {
        head: "extra cost",
        cell: ({ effort }) => signed(effort.extra.usd, smallDollars),
        shown: "filled",
      },
    ]),
  }, ...changedCasesTable(comparisons)];
}

/** Cases listed of each comparison, at most. */
const MAX_CASES = 10;

/** The cases of own tests that strategies changed most; no table where none did. */
function changedCasesTable(comparisons: readonly Comparison[]): Table[] {
  const rows = comparisons.flatMap(({ subject, simulated, changed }) =>
    (changed?.changed ?? []).slice(0, MAX_CASES).map((one) => ({ subject, simulated, ...one }))
  );
  if (rows.length === 0) return [];
  const more = sum(
    comparisons,
    ({ changed }) => Math.max(0, (changed?.changed.length ?? 0) - MAX_CASES),
  );
  const few = comparisons.flatMap(({ changed }) => changed?.needed ?? []);
  return [{
    id: "changed-cases",
    section: "success",
    title: "Cases that strategies changed",
    note: `the largest changes first, at most ${MAX_CASES} of each strategy` +
      (more === 0 ? "" : ` (there are ${more} more)`) +
      "; difference in percentage points, with Newcombe's 95% interval; proved: by Fisher's exact test, adjusted " +
      "by Holm for the number of cases, in a run that no result could end" +
      (few.length === 0
        ? ""
        : `; with so few trials not even a complete change can be proved: that takes ${
          Math.max(...few)
        } of each case`),
    names: 2,
    rows: layOut(rows, [
      { head: "strategy", cell: nameOf },
      { head: "case", cell: (row) => printable(row.case, 100) },
      { head: "baseline", cell: ({ baseline }) => percent(baseline) },
      { head: "with strategy", cell: ({ candidate }) => percent(candidate) },
      { head: "difference", cell: ({ difference }) => signedPoints(difference) },
      { head: "95% interval", cell: (row) => boundsText(row, signedPoints) },
      { head: "proved", cell: ({ proved }) => proved ? "yes" : "no" },
    ]),
  }];
}

/** A heading for what comparisons count. */
export function unitsOf(comparisons: readonly Comparison[]): string {
  return comparisons.some(({ cores }) => cores) ? "core graphs" : "tasks";
}

/** What the columns of a comparison show. */
type Compared = Omit<Comparison, "effort">;

/**
 * Returns the columns of a comparison; `name`, `before` and `after` are the headings of its sides, `units` is that
 * of what is counted.
 */
export function comparisonColumns(
  name: string,
  before: string,
  after: string,
  units: string,
): Column<Compared>[] {
  const column = (
    head: string,
    cell: Column<NonNullable<Compared["success"]>>["cell"],
  ): Column<Compared> => ({
    head,
    cell: ({ success }) => success === null ? NOTHING : cell(success),
  });
  return [
    { head: name, cell: nameOf },
    { head: units, cell: ({ graphs }) => graphs },
    { head: "left out", cell: ({ leftOut }) => leftOut, shown: "filled" },
    column(before, ({ baseline }) => percent(baseline)),
    column(after, ({ candidate }) => percent(candidate)),
    column("difference", ({ difference }) => signedPoints(difference)),
    column("95% interval", ({ interval }) => boundsText(interval, signedPoints)),
    column("gained", ({ gained }) => gained),
    column("lost", ({ lost }) => lost),
    column("McNemar p", ({ mcNemar }) => mcNemar === null ? NOTHING : probability(mcNemar.exact)),
    {
      head: "missed calls",
      cell: ({ missed }) =>
        missed === null
          ? NOTHING
          : missed.candidate === 0 && missed.baseline === 0
          ? 0
          : differenceText(missed),
      shown: "filled",
    },
  ];
}

/** Formats a difference of shares in percentage points, with its interval. */
export function differenceText({ difference, interval }: PairedSuccess): string {
  return signedPoints(difference) +
    (interval === null ? "" : `, ${boundsText(interval, signedPoints)}`);
}

/** Formats a difference of shares in percentage points. */
export function signedPoints(share: number): string {
  return signed(share, (size) => (100 * size).toFixed(1));
}

/** Formats a number with its sign, also where it rounds to zero. */
function signed(value: number | null, show: (size: number) => string): string {
  if (value === null) return NOTHING;
  // Sums of shares may differ from zero by a rounding error.
  if (Math.abs(value) < 1e-12) return show(0);
  return (value < 0 ? "-" : "+") + show(Math.abs(value));
}

/** Formats an amount that is often less than a cent. */
function smallDollars(usd: number): string {
  return `$${usd.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

/** Returns the work of strategies outside the agent loop; no table where there is none. */
export function workTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ work, ...one }) => work === null ? [] : [{ ...one, work }]);
  if (rows.length === 0) return [];
  const isUsed = (part: "retried" | "replaced") =>
    rows.some(({ work }) => work[part] !== undefined);
  return [{
    id: "strategy-work",
    section: "success",
    title: "Work of strategies",
    note:
      "in valid trials; asked: replies outside the agent loop, for a plan, a choice of functions, a list of " +
      "calls or a repair; without use: stages without a usable result, so that the model had only the " +
      "question; sent back: calls that did not fit their schema; mended: those that then did, and their share " +
      "with its 95% interval; made again: calls after an error that may pass; replaced: by calls of another " +
      "function",
    rows: layOut(rows, [
      { head: "strategy", cell: nameOf },
      { head: "valid trials", cell: ({ total }) => total.valid },
      { head: "asked", cell: ({ work }) => grouped(work.asked) },
      { head: "without use", cell: ({ work }) => grouped(work.unusable) },
      { head: "sent back", cell: ({ work }) => grouped(work.sentBack) },
      { head: "mended", cell: ({ work }) => grouped(work.mended) },
      {
        head: "share mended",
        cell: ({ mending }) =>
          mending === null
            ? NOTHING
            : `${percent(mending.mean!)} (${boundsText(mending.interval)})`,
        shown: "filled",
      },
      {
        head: "made again",
        cell: ({ work }) => grouped(work.retried ?? 0),
        shown: isUsed("retried"),
      },
      {
        head: "replaced",
        cell: ({ work }) => grouped(work.replaced ?? 0),
        shown: isUsed("replaced"),
      },
    ]),
  }];
}
