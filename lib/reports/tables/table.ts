/**
 * Tables of reports: their columns, how they write names and numbers, and how they are aligned.
 * @module
 */

import type { Bounds } from "../../statistics/proportions.ts";
import { variantLabel } from "../../gate/variant.ts";
import type { Subject } from "../metrics/_subjects.ts";
import { cutText, defined, printable } from "../../base/json.ts";
import { grouped, percent, sum } from "../../base/numbers.ts";
import { breakLines, columnsOf } from "../../base/wrap.ts";
import type { Usage } from "../../tools/message.ts";
import type { Table, View } from "../_view.ts";

/** A column: its heading, and the text of its cell in each row. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string | number;
  /** A heading for this column and its neighbours, shown before that of the first. */
  readonly group?: string;
  /** Whether it is only understood beside the column before it, as all but the first of a group are. */
  readonly next?: true;
  /** Whether its cells are sentences, which are aligned to the left as names are. */
  readonly text?: true;
  /** Where a cell leads on a page: what stands behind `#` in its address, such as `?cell=core%203`. Default: nowhere. */
  readonly link?: (row: Row) => string | undefined;
  /** When to show it; `filled`: where a cell is neither {@linkcode NOTHING} nor the number 0. Default: always. */
  readonly shown?: boolean | "filled";
}

/** The text of an empty cell. */
export const NOTHING = "-";

/** The text in place of a figure that no trial could have. */
export const NOT_APPLICABLE = "n/a";

/** The text in place of a figure that cannot be estimated. */
export const UNAVAILABLE = "not available";

/** Returns the cells of all rows below a row of headings; the first column names the rows. */
export function layOut<Row>(
  rows: readonly Row[],
  columns: readonly (Column<NoInfer<Row>> | readonly Column<NoInfer<Row>>[])[],
): string[][] {
  const filled = columns.flat().map((column) => ({ ...column, cells: rows.map(column.cell) }))
    .filter(({ shown = true, cells }) =>
      shown === "filled" ? cells.some((cell) => cell !== NOTHING && cell !== 0) : shown
    );
  const names = filled.map(({ head, group }) => group === undefined ? head : `${group}: ${head}`);
  const heads = filled.map(({ head, group }, index) =>
    filled[index - 1]?.group === group ? head : names[index]!
  );
  NAMES.set(heads, names);
  const isNext = ({ next, group }: Column<Row>, index: number) =>
    next === true || group !== undefined && filled[index - 1]?.group === group;
  NEXT.set(heads, new Set(filled.flatMap((column, index) => isNext(column, index) ? [index] : [])));
  TEXTS.set(heads, new Set(filled.flatMap(({ text }, index) => text === true ? [index] : [])));
  const body = rows.map((row, index) => {
    const cells = filled.map((column) => String(column.cells[index]!));
    LINKS.set(cells, filled.map(({ link }) => link?.(row)));
    return cells;
  });
  return [heads, ...body];
}

/** Returns a table with a row for each of `rows`; none without any. */
export function tableOf<Row>(
  rows: readonly Row[],
  { columns, ...caption }: Omit<Table, "rows"> & {
    readonly columns: Parameters<typeof layOut<Row>>[1];
  },
): Table[] {
  return rows.length === 0 ? [] : [{ ...caption, rows: layOut(rows, columns) }];
}

/** Returns where the cells of a row lead on a page. */
export function linksOf(row: readonly string[]): readonly (string | undefined)[] {
  return LINKS.get(row) ?? [];
}

/** Returns what addresses call these: their names without half characters, of equal ones all but the first numbered. */
export function addressNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  for (const name of names) {
    const text = name.toWellFormed();
    let key = text;
    for (let count = 2; taken.has(key); count++) key = `${text} #${count}`;
    taken.add(key);
  }
  return [...taken];
}

/** Returns what addresses call the variants of a report. */
export function linkNames(
  subjects: readonly Subject[],
): ReadonlyMap<Subject["subject"], string> {
  const names = addressNames(subjects.map(nameOf));
  return new Map(subjects.map(({ subject }, place) => [subject, names[place]!]));
}

/** Returns the address of the list of trials on a page, with those of a cell, a subject or an outcome alone. */
export function trialsLink(
  { cell, subject, outcome }: {
    readonly cell?: string;
    readonly subject?: string;
    readonly outcome?: string;
  },
): string {
  const chosen = new URLSearchParams(defined({ cell, subject, outcome }));
  return `?${chosen}`.replaceAll("+", "%20");
}

/** Returns the headings of columns with those of their groups, as cells need them that stand alone. */
export function columnNames(heads: readonly string[]): readonly string[] {
  return NAMES.get(heads) ?? heads;
}

/** The headings with those of their groups, by the row of headings. */
const NAMES = new WeakMap<readonly string[], readonly string[]>();

/** Where cells lead, by row. */
const LINKS = new WeakMap<readonly string[], readonly (string | undefined)[]>();

/** The columns that stay beside the one before them, by the row of headings. */
const NEXT = new WeakMap<readonly string[], ReadonlySet<number>>();

/** Whether a column, by its place in the row of headings, is aligned to the left. */
export function isLeft(heads: readonly string[], place: number, names = 1): boolean {
  return place < names || TEXTS.get(heads)?.has(place) === true;
}

/** The columns of sentences, by the row of headings. */
const TEXTS = new WeakMap<readonly string[], ReadonlySet<number>>();

/** The column that names the model, strategy and perturbation of a row. */
export const MODEL: Column<Subject> = {
  head: "model",
  cell: nameOf,
};

/** The columns that name the model and the strategy of a row, for rows without a perturbation. */
export const MODEL_AND_STRATEGY: readonly Column<Subject>[] = [
  {
    head: "model",
    cell: ({ subject, simulated }) => variantLabel({ ...subject, strategy: "plain" }, simulated),
  },
  { head: "strategy", cell: ({ subject }) => subject.strategy },
];

/** Returns a column with a share, and one with its interval. */
export function rateColumns<Row>(
  head: string,
  rateOf: (row: Row) => { readonly rate: number | null; readonly interval: Bounds | null },
): [Column<Row>, Column<Row>] {
  return [
    { head, cell: (row) => shareText(rateOf(row).rate) },
    { head: "95% interval", next: true, cell: (row) => boundsText(rateOf(row).interval) },
  ];
}

/** Returns the name of a model, strategy and perturbation in reports. */
export function nameOf({ subject, simulated }: Subject): string {
  return variantLabel(subject, simulated);
}

/** Formats a share in percent. */
export function shareText(share: number | null, missing = NOTHING): string {
  return share === null ? missing : percent(share);
}

/** Formats the interval of a share. */
export function boundsText(bounds: Bounds | null, show = percent): string {
  return bounds === null ? NOTHING : `${show(bounds.lower)} to ${show(bounds.upper)}`;
}

/** Formats tokens, and marks estimated ones. */
export function tokensText(usage: Usage, of: "inputTokens" | "outputTokens"): string {
  return `${usage.estimated ? "~" : ""}${grouped(usage[of])}`;
}

/** Says behind tokens that they were estimated; empty if they were not. */
export function estimateNote({ estimated }: Usage): string {
  return estimated ? " (estimated, at least in part: a server reported none)" : "";
}

/** What stands behind the names of articles, whose sections have titles and no numbers. */
const ARTICLES: Partial<Readonly<Record<NonNullable<View["paper"]>, string>>> = {
  Indirection: "Meijer's article in ACM Queue",
  Pipeline: 'an article on "the complete tool use pipeline"',
};

/** Returns the source of a table with the name of its paper. */
export function sourceText(source: string, paper?: View["paper"]): string {
  const article = paper && ARTICLES[paper];
  return article === undefined
    ? `as in ${paper ?? "FuncBenchGen"}, ${source}`
    : `as in ${paper}, ${article}, under "${source}"`;
}

/** Returns what is said of a table or figure below its title: its source, then its note. */
export function captionText({ source, paper, note }: View): string {
  return [
    ...(source === undefined ? [] : [sourceText(source, paper)]),
    ...(note === undefined ? [] : [note]),
  ].join("; ");
}

/**
 * Returns rows as aligned columns: the first `names` to the left, the others to the right. Where they take more than
 * `width` columns of a terminal, headings are broken into lines, then names, and in the end columns go on in a
 * further block below, with the names again.
 */
export function alignedTable(rows: Table["rows"], names = 1, width = Infinity): string {
  const cells = rows.map((row) =>
    row.map((text, column) => column < names ? nameText(text) : printable(text, MAX_TEXT_LENGTH))
  );
  return blocksOf(cells, names, width, NEXT.get(rows[0]!))
    .map(({ columns, widths }) => {
      const lines = cells.flatMap((row, place) =>
        rowLines(columns.map((column) => row[column]!), widths, {
          left: columns.map((column) => isLeft(rows[0]!, column, names)),
          isHead: place === 0,
        })
      );
      return lines.join("\n");
    }).join("\n\n");
}

/** Columns of a table that stand side by side, and their widths. */
interface Block {
  readonly columns: readonly number[];
  readonly widths: readonly number[];
}

/** Columns of a terminal between two columns of a table. */
const GAP = 2;
/** Lines of a heading and of a name, at most, before columns go on in a further block. */
const [HEAD_LINES, NAME_LINES] = [4, 2];

function blocksOf(
  cells: Table["rows"],
  names: number,
  width: number,
  next: ReadonlySet<number> = new Set(),
): Block[] {
  const columns = cells[0]!.map((_, column) => column);
  const bodies = columns.map((column) =>
    Math.max(0, ...cells.slice(1).map((row) => columnsOf(row[column]!)))
  );
  const widthIn = (lines: number) => (column: number) =>
    Math.max(bodies[column]!, narrowest(cells[0]![column]!, lines));
  const total = (widths: readonly number[]) =>
    sum(widths, (own) => own) + GAP * (widths.length - 1);
  for (let lines = 1; lines <= HEAD_LINES; lines++) {
    const widths = columns.map(widthIn(lines));
    if (total(widths) <= width) return [{ columns, widths }];
  }
  const named = columns.slice(0, names);
  const others = columns.slice(names);
  const narrow = named.map((column) =>
    Math.max(...cells.map((row) => narrowest(row[column]!, NAME_LINES)))
  );
  for (let lines = 2; lines <= HEAD_LINES; lines++) {
    const rest = others.map(widthIn(lines));
    const spare = width - total([...narrow, ...rest]);
    if (spare < 0) continue;
    // What is left over goes to the last of the names, which is mostly the only one.
    const widest = widthIn(lines)(names - 1);
    const wider = narrow.map((own, place) =>
      place === names - 1 ? Math.max(own, Math.min(own + spare, widest)) : own
    );
    return [{ columns, widths: [...wider, ...rest] }];
  }
  return splitBlocks();

  /** Blocks with as many columns as fit beside the names. */
  function splitBlocks(): Block[] {
    const units: number[][] = [];
    for (const column of others) {
      if (next.has(column) && units.length > 0) units.at(-1)!.push(column);
      else units.push([column]);
    }
    const whole = named.map(widthIn(NAME_LINES));
    const most = Math.max(...units.map((unit) => total(unit.map(widthIn(2)))));
    const shown = total([...whole, most]) <= width && total(whole) <= 0.6 * width
      ? whole
      : fitted(narrow, Math.floor(width / 2));
    const space = Math.max(1, width - total(shown) - GAP);
    const widthOf = (column: number) => Math.min(space, widthIn(2)(column));
    const fits = (own: readonly number[]) => total(own.map(widthOf)) <= space;
    const blocks: number[][] = [];
    // A unit that is too wide by itself is taken apart.
    for (const unit of units.flatMap((own) => fits(own) ? [own] : own.map((column) => [column]))) {
      const block = blocks.at(-1);
      if (block !== undefined && fits([...block, ...unit])) block.push(...unit);
      else blocks.push([...unit]);
    }
    return blocks.map((own) => ({
      columns: [...named, ...own],
      widths: [...shown, ...own.map(widthOf)],
    }));
  }
}

/** Returns widths that are less in all, each in its proportion. */
function fitted(widths: readonly number[], most: number): number[] {
  const space = most - GAP * (widths.length - 1);
  const all = sum(widths, (own) => own);
  if (all <= space) return [...widths];
  return widths.map((own) => Math.max(1, Math.floor(own * space / all)));
}

/** Returns the least width in which a text takes at most `lines` lines, without breaking a word if possible. */
function narrowest(text: string, lines: number): number {
  const whole = columnsOf(text);
  if (lines === 1) return whole;
  const words = text.split(/ +|(?<=[_/])/).map(columnsOf);
  for (let width = Math.max(1, ...words, Math.floor(whole / lines)); width < whole; width++) {
    if (breakLines(text, width).length <= lines) return width;
  }
  return whole;
}

/** Returns the lines of a row: one, unless a cell has to be broken. Headings stand above their columns. */
function rowLines(
  row: readonly string[],
  widths: readonly number[],
  { left, isHead }: { readonly left: readonly boolean[]; readonly isHead: boolean },
): string[] {
  const broken = row.map((text, place) => breakLines(text, widths[place]!));
  const height = Math.max(...broken.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    broken.map((lines, place) => {
      const text = lines[isHead ? line - height + lines.length : line] ?? "";
      const space = " ".repeat(Math.max(0, widths[place]! - columnsOf(text)));
      return left[place] ? text + space : space + text;
    }).join(" ".repeat(GAP)).trimEnd());
}

/** Longer texts beside names are cut; most are numbers. */
const MAX_TEXT_LENGTH = 300;
/** Longer names are shortened. */
const MAX_NAME_LENGTH = 100;

/** Shortens long names in the middle, as they may differ at either end. */
export function nameText(text: string, most = MAX_NAME_LENGTH): string {
  const name = printable(text, Infinity);
  if (name.length <= most) return name;
  const half = Math.floor(most / 2);
  const end = name.slice(-half + 1);
  return `${cutText(name, half)}…${end.replace(/^\p{Cs}/u, "")}`;
}
