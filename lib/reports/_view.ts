/**
 * Views of a report: its tables and figures as data, of which pages, Markdown, terminals and files of figures are made.
 * @module
 */

import type { Variant } from "../gate/variant.ts";

/** A section of a report. */
export interface Section {
  /** What decides stands above all else: on `top` or `first`. */
  readonly place: "top" | "first" | "below";
  /** Its heading, which links to it have as well; empty where the title of its table says the same. */
  readonly title: string;
  /** Whether a page shows the numbers of its figures; else they are folded beneath these. */
  readonly isOpen?: boolean;
  /** Whether its tables are of cells, the lowest first and all together last. */
  readonly isOfCells?: boolean;
}

const ROWS = {
  headline: { place: "top", title: "" },
  comparisons: { place: "first", title: "Comparisons" },
  matrix: { place: "first", title: "Matrix", isOfCells: true },
  success: { place: "below", title: "Success and effort", isOpen: true },
  "call sets": { place: "below", title: "Call sets" },
  "tool use": { place: "below", title: "Tool use" },
  perturbations: { place: "below", title: "Perturbations" },
  failures: { place: "below", title: "Failures" },
  figures: { place: "below", title: "Figures" },
  cells: { place: "below", title: "Cells", isOfCells: true },
} satisfies Record<string, Section>;

/** The sections of a report, in their order. */
export const SECTIONS: Readonly<Record<keyof typeof ROWS, Section>> = ROWS;

/** What tables and figures have in common. */
export interface Caption {
  /** Unique within a report; a figure and the table with its numbers have the same. */
  readonly id: string;
  /** The section it belongs to; `figures` are breakdowns by size, which a figure and its table both show. */
  readonly section: keyof typeof SECTIONS;
  readonly title: string;
  /** The title without the model, or whatever else, of which this is one of several. Default: the title. */
  readonly kind?: string;
  /** The table, figure or section of a paper that shows the same; omitted where none does. */
  readonly source?: string;
  /** The paper; omitted where it is FuncBenchGen. */
  readonly paper?: "Butterfly" | "CallNavi" | "Indirection" | "Pipeline";
  /** Explains what is shown; omitted where it needs no explanation. */
  readonly note?: string;
}

/** The heading of a column. */
export interface Head {
  readonly text: string;
  /** A heading that neighbouring columns share. */
  readonly group?: string | undefined;
  /** What the column means. */
  readonly about?: string | undefined;
  /** The variant that it names. */
  readonly variant?: Variant | undefined;
  /** Whether it is only understood beside the column before it. */
  readonly isNext: boolean;
  /** Whether its cells are names or sentences, which are aligned to the left. */
  readonly isText: boolean;
}

/** A cell. */
export interface Cell {
  readonly text: string;
  /** What stands behind or below the text, such as an interval. */
  readonly detail?: string | undefined;
  /** The address to which it leads on a page. */
  readonly link?: string | undefined;
  /** The variant that it names. */
  readonly variant?: Variant | undefined;
  /** Its figure, if it is a number. */
  readonly value?: number | undefined;
  /** What a page draws beside the text. */
  readonly drawing?: Drawing | undefined;
}

/** A figure and its interval on a scale. */
export interface Drawing {
  readonly from: number;
  readonly to: number;
  readonly value: number;
  readonly lower?: number;
  readonly upper?: number;
  /** What is asked for. */
  readonly target?: number | undefined;
  /** What is still good enough. */
  readonly least?: number | undefined;
}

/** A table. */
export interface Table extends Caption {
  /** How many of the first columns name a row. */
  readonly names: number;
  /** Set where a page folds it behind its title, as it shows the same elsewhere. */
  readonly folded?: boolean;
  /** Set where a page colours shares: `good` where 1 is what is wished for, `bad` where 0 is. */
  readonly heat?: "good" | "bad";
  /** Set where a terminal shows it as a line, if it has a single row. */
  readonly line?: boolean;
  readonly heads: readonly Head[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A figure as a specification of Vega-Lite, whose colours are CSS variables of the page. */
export interface Figure extends Caption {
  readonly spec: object;
  /** The same for wide screens and for files; omitted where it would be no other. */
  readonly wide?: object;
}

/** A table or a figure. */
export type View = Table | Figure;

/** Returns the title of one of several views of a kind, each of something else, such as a model. */
export function titleOf(kind: string, of: string): Pick<Caption, "title" | "kind"> {
  return { title: `${kind}: ${of}`, kind };
}

/** Whether a view is a figure. */
export function isFigure(view: View): view is Figure {
  return "spec" in view;
}

/** Whether a view is one of those that decide. */
export function decides({ section }: View): boolean {
  return SECTIONS[section].place !== "below";
}

/** Returns a note of the parts that apply; others are `false`. */
export function noteOf(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join("; ");
}

/** What stands behind the names of articles, whose sections have titles and no numbers. */
const ARTICLES: Partial<Readonly<Record<NonNullable<View["paper"]>, string>>> = {
  Indirection: "Meijer's article in ACM Queue",
  Pipeline: 'an article on "the complete tool use pipeline"',
};

/** Sources that are tables or figures: what they show is of the paper's cells, of which a suite may have none. */
const LAID_OUT = /^(Table|Fig)/;

/** Returns the source of a view with the name of its paper; empty without one. */
export function sourceText({ source, paper }: Pick<View, "source" | "paper">): string {
  if (source === undefined) return "";
  const article = paper && ARTICLES[paper];
  return article === undefined
    ? `${LAID_OUT.test(source) ? "laid out " : ""}as in ${paper ?? "FuncBenchGen"}, ${source}`
    : `as in ${paper}, ${article}, under "${source}"`;
}

/** Returns the note of a view, with what the columns of a table mean. */
export function noteText(view: View): string {
  const columns = isFigure(view)
    ? []
    : view.heads.flatMap(({ text, about }) => about === undefined ? [] : [`${text}: ${about}`]);
  return noteOf(view.note, ...columns);
}

/** Returns what is said of a view below its title: its source, then its note. */
export function captionText(view: View): string {
  return noteOf(sourceText(view), noteText(view));
}
