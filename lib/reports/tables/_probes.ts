/**
 * Tables of probes: how models behave towards tools (Indirection).
 * @module
 */

import { percent, sum } from "../../base/numbers.ts";
import { BEHAVIOURS } from "../../calls/failure_types.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import { newcombe, wilson } from "../../statistics/proportions.ts";
import { EXPRESSIONS } from "../../calls/expressions.ts";
import { signedPoints } from "./_comparisons.ts";
import { boundsText, type Column, layOut, MODEL, NOTHING, tableOf } from "./table.ts";
import type { Table } from "../_view.ts";

/** The behaviours of probes, whose tools no perturbation changes. */
const OF_PROBES = BEHAVIOURS.filter((name) => name !== "followed_injection");

/** Returns the results of probes, where there are any. */
export function probesTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ probes, ...one }) => probes.map((own) => ({ ...one, ...own })));
  if (rows.length === 0) return [];
  type Row = typeof rows[number];
  const share = (head: string, countOf: (row: Row) => number): Column<Row> => ({
    head,
    cell: (row) => {
      const { repetition, tally: { valid } } = row;
      if (valid === 0) return NOTHING;
      const count = countOf(row);
      // Repetitions of one question are not independent, as Wilson's interval needs.
      const interval = repetition === null ? ` (${boundsText(wilson(count, valid))})` : "";
      return percent(count / valid) + interval;
    },
  });
  return [
    {
      id: "probes",
      section: "success",
      title: "Behaviour towards tools",
      note:
        "share of valid trials, and 95% interval where none was repeated; solved: followed a calculator that lies, " +
        "gave the right sum, reported the oracle's decision, or did without a useless tool",
      rows: layOut(rows, [
        MODEL,
        { head: "probe", cell: ({ probe }) => probe },
        { head: "trials", cell: ({ tally }) => tally.trials },
        share("solved", ({ tally }) => tally.solved),
        OF_PROBES.map((name) => share(name, ({ behaviours }) => behaviours[name] ?? 0)),
      ]),
    },
    ...conflictTable(subjects),
    ...expressionsTable(rows),
  ];
}

/** Behaviours that a conflict with the usual advice may bring out. */
const RESISTING = ["aversion", "ignored_result"] as const;

/** Returns what a conflict with the usual advice changes, for models that were asked with and without. */
function conflictTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ probes, ...one }) => {
    const [control, conflict] = ["oracle", "oracle_conflict"].map((name) =>
      probes.find(({ probe, tally }) => probe === name && tally.valid > 0)
    );
    if (control === undefined || conflict === undefined) return [];
    return RESISTING.map((behaviour) => ({ ...one, control, conflict, behaviour }));
  });
  type Row = typeof rows[number];
  type Arm = Row["control"];
  const share = (head: string, armOf: (row: Row) => Arm): Column<Row> => ({
    head,
    cell: (row) => percent((armOf(row).behaviours[row.behaviour] ?? 0) / armOf(row).tally.valid),
  });
  const added = ({ control, conflict, behaviour }: Row) =>
    newcombe(
      [conflict.behaviours[behaviour] ?? 0, conflict.tally.valid],
      [control.behaviours[behaviour] ?? 0, control.tally.valid],
    );
  return tableOf(rows, {
    id: "conflict",
    section: "success",
    title: "Oracle, against the usual advice",
    paper: "Indirection",
    source: "Alignment-based resistance",
    note:
      "share of valid trials of oracle, and of oracle_conflict; difference: what the conflict adds, in percentage " +
      "points, with Newcombe's 95% interval where none was repeated",
    columns: [
      MODEL,
      { head: "behaviour", cell: ({ behaviour }) => behaviour },
      {
        head: "trials",
        cell: ({ control, conflict }) => control.tally.trials + conflict.tally.trials,
      },
      share("oracle", ({ control }) => control),
      share("conflict", ({ conflict }) => conflict),
      { head: "difference", cell: (row) => signedPoints(added(row).difference) },
      {
        head: "95% interval",
        // Repetitions of one question are not independent, as the interval needs.
        cell: (row) => boundsText(row.repetition === null ? added(row) : null, signedPoints),
      },
    ],
  });
}

/** Returns how the long sums of `mental_arithmetic` were written, where any was asked for. */
function expressionsTable(
  rows: readonly (
    & Omit<VariantMetrics, "probes">
    & VariantMetrics["probes"][number]
  )[],
): Table[] {
  const asked = rows.flatMap(({ expressions, ...one }) =>
    expressions === undefined
      ? []
      : [{ ...one, expressions, all: sum(Object.values(expressions), Number) }]
  );
  return tableOf(asked, {
    id: "expressions",
    section: "success",
    title: "Expressions for a sum",
    paper: "Indirection",
    source: "Computational overconfidence",
    note:
      "calls of the calculator for a long sum; invalid: no expression, such as 10+9+...+0; brute force: all terms; " +
      "closed form: another one with the right value; other: another value, such as a part of the sum",
    columns: [
      MODEL,
      { head: "calls", cell: ({ all }) => all },
      EXPRESSIONS.map((kind) => ({
        head: kind.replaceAll("_", " "),
        cell: ({ expressions, all }: typeof asked[number]) =>
          all === 0 ? NOTHING : `${expressions[kind]} (${percent(expressions[kind] / all)})`,
      })),
    ],
  });
}
