/**
 * What every table of a report is, and how all of them write names and numbers.
 * @module
 */

import { variantLabel } from "../../gate/variant.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";

/** A table: the first row names the columns, the first cell of the others names the row. */
export interface Table {
  /** Tells tables of a report apart; a breakdown's table has the breakdown's id. */
  readonly id: string;
  /** Where it belongs: cells are many, and figures show what stands in theirs. */
  readonly section:
    | "success"
    | "figures"
    | "tool use"
    | "perturbations"
    | "call sets"
    | "failures"
    | "cells";
  readonly title: string;
  /** Where a paper shows the same; left out where none does. */
  readonly source?: string;
  /** The paper; left out where it is FuncBenchGen. */
  readonly paper?: "Butterfly" | "CallNavi" | "Pipeline";
  /** What a reader should know about its numbers; left out where nothing. */
  readonly note?: string;
  readonly rows: readonly (readonly string[])[];
}

/** Where the same is shown, for whoever knows nothing of the paper yet. */
export function sourceText(source: string, paper = "FuncBenchGen"): string {
  return `as in ${paper}, ${source}`;
}

/** A model, strategy and perturbation as reports call it. */
export function nameOf(
  { subject, simulated }: Pick<VariantMetrics, "subject" | "simulated">,
): string {
  return variantLabel(subject, simulated);
}

/** A whole number with its thousands apart. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
