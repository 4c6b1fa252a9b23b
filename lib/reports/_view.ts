/**
 * Views of a report: its tables and figures as data, in one list of which pages, Markdown, terminals and files of
 * figures are made.
 * @module
 */

/** The sections of a report, in their order: what decides stands first. */
export const SECTIONS = [
  "headline",
  "comparisons",
  "matrix",
  "success",
  "call sets",
  "tool use",
  "perturbations",
  "failures",
  "figures",
  "cells",
] as const;

/** What tables and figures have in common. */
interface Caption {
  /** Unique within a report; a breakdown's views have the breakdown's id. */
  readonly id: string;
  /** The section it belongs to; `figures` are breakdowns by size, which a figure and its table both show. */
  readonly section: typeof SECTIONS[number];
  readonly title: string;
  /** The table, figure or section of a paper that shows the same; omitted where none does. */
  readonly source?: string;
  /** The paper; omitted where it is FuncBenchGen. */
  readonly paper?: "Butterfly" | "CallNavi" | "Indirection" | "Pipeline";
  /** Explains what is shown; omitted where it needs no explanation. */
  readonly note?: string;
}

/** A table: the first row names the columns, the first cell of the others names the row. */
export interface Table extends Caption {
  /** How many of the first columns name a row, and are aligned to the left. Default: 1. */
  readonly names?: number;
  /** Set where a page folds it behind its title, as it shows the same elsewhere. */
  readonly folded?: boolean;
  /** Rows of text, as `layOut()` returns them. */
  readonly rows: readonly (readonly string[])[];
}

/** A figure as a specification of Vega-Lite, whose colours are CSS variables of the page. */
export interface Figure extends Caption {
  readonly spec: object;
  /** The same for wide screens and for files; omitted where it would be no other. */
  readonly wide?: object;
}

/** A table or a figure. */
export type View = Table | Figure;

/** Returns a note of the parts that apply; others are `false`. */
export function noteOf(...parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false && part !== "").join("; ");
}
