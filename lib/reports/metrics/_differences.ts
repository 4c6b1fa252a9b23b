/**
 * Differences: the columns of what was compared on the same tasks.
 * @module
 */

import type { ComparedPair, PairedSuccess } from "../../gate/comparison.ts";
import { type Column, type Estimate, NOTHING } from "../columns.ts";
import type { Report } from "../report.ts";

/** What was compared. */
type Compared =
  & Pick<ComparedPair, "graphs" | "leftOut" | "success" | "missed">
  & Partial<Pick<ComparedPair, "gained" | "lost">>;

/** Names what a candidate is compared with by that in which both differ: the rest is as in the candidate. */
export function againstName(
  { of, against, subject, againstSimulated: simulated }: Pick<
    ComparedPair,
    "of" | "against" | "subject" | "againstSimulated"
  >,
  nameOf: Report["nameOf"],
): string {
  const { variant } = against;
  // The id reads like "nothing".
  if (of === "perturbation" && against[of] === "none") return "no perturbation";
  if (of !== "model" && of !== "variant") return against[of];
  const model = { model: against.model, strategy: "plain", perturbation: "none" };
  const name = nameOf({ subject: model, simulated });
  const settings = of === "variant" || variant !== subject.variant ? variant : undefined;
  return [settings, of === "model" ? name : undefined].filter((part) => part !== undefined)
    .join(": ") || name;
}

/** Returns a difference of shares, with its interval. */
function differenceOf(paired: PairedSuccess | null): Estimate {
  return { value: paired?.difference ?? null, interval: paired?.interval ?? null };
}

/**
 * Returns the columns of a comparison behind those that name it; `units`, `before` and `after` are the headings of what
 * is counted, and of the shares solved; `isOwn` is whether own tests are listed that changed.
 */
export function differenceColumns<Row extends Compared>(
  units: string,
  [before, after]: readonly [string, string],
  { isOwn = false, hasRates = true, isBounded = () => true, link = () => undefined }: {
    readonly isOwn?: boolean;
    /** Whether tables show the shares and their difference. */
    readonly hasRates?: boolean;
    /** Whether tables show the interval of a difference. */
    readonly isBounded?: (row: Row) => boolean;
    /** Where a number of tasks leads. */
    readonly link?: (row: Row, change: "gained" | "lost") => string | undefined;
  } = {},
): Column<Row>[] {
  const changed = (change: "gained" | "lost"): Column<Row>[] => {
    // Of own tests each trial is a graph, and what changes is a test; without a list, graphs are counted.
    const count = (row: Row) => row[change]?.length ?? row.success?.[change] ?? null;
    return [
      {
        ...{ id: change, head: isOwn ? `tests ${change}` : change, unit: "count" },
        value: count,
        text: (row) => row.success === null ? NOTHING : undefined,
        link: (row) => count(row) ? link(row, change) : undefined,
      },
      {
        ...{ id: `units_${change}`, unit: "count", shown: false },
        value: ({ success }) => success?.[change],
      },
    ];
  };
  const columns: (Column<Row> | Column<Row>[])[] = [
    { id: "units", head: units, unit: "count", value: ({ graphs }) => graphs },
    {
      ...{ id: "units_left_out", head: "left out", unit: "count", shown: "filled" },
      value: ({ leftOut }) => leftOut,
    },
    {
      ...{ id: "against_rate", head: before, unit: "share", shown: hasRates },
      value: ({ success }) => success?.baseline,
    },
    {
      ...{ id: "rate", head: after, unit: "share", shown: hasRates },
      value: ({ success }) => success?.candidate,
    },
    {
      ...{ id: "difference", unit: "points", drawn: () => ({ target: 0 }), shown: hasRates },
      ...{ value: ({ success }) => differenceOf(success), isBounded },
    },
    changed("gained"),
    changed("lost"),
    {
      ...{ id: "missed_difference", head: "missed calls", unit: "points", shown: "filled" },
      ...{ inline: true, value: ({ missed }) => differenceOf(missed) },
      text: ({ missed }) =>
        missed !== null && missed.candidate === 0 && missed.baseline === 0 ? "0" : undefined,
    },
    { id: "missed_rate", unit: "share", value: ({ missed }) => missed?.candidate, shown: false },
    {
      ...{ id: "missed_against_rate", unit: "share", shown: false },
      value: ({ missed }) => missed?.baseline,
    },
  ];
  return columns.flat();
}
