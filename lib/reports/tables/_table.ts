/**
 * Tables of reports, and how they write names and numbers.
 * @module
 */

import { variantLabel } from "../../gate/variant.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";

/** A table: the first row names the columns, the first cell of the others names the row. */
export interface Table {
  /** Unique within a report; a breakdown's table has the breakdown's id. */
  readonly id: string;
  /** The section of the page it belongs to; `figures` are tables that a figure also shows. */
  readonly section:
    | "success"
    | "figures"
    | "tool use"
    | "perturbations"
    | "call sets"
    | "failures"
    | "cells";
  readonly title: string;
  /** The table, figure or section of a paper that shows the same; omitted where none does. */
  readonly source?: string;
  /** The paper; omitted where it is FuncBenchGen. */
  readonly paper?: "Butterfly" | "CallNavi" | "Pipeline";
  /** Explains the numbers; omitted where they need no explanation. */
  readonly note?: string;
  readonly rows: readonly (readonly string[])[];
}

/** Returns the source of a table with the name of its paper. */
export function sourceText(source: string, paper = "FuncBenchGen"): string {
  return `as in ${paper}, ${source}`;
}

/** Returns the name of a model, strategy and perturbation in reports. */
export function nameOf(
  { subject, simulated }: Pick<VariantMetrics, "subject" | "simulated">,
): string {
  return variantLabel(subject, simulated);
}

/** Formats a whole number with thousands separators. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
