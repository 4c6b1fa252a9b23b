/**
 * Text tables: tables as aligned columns for terminals.
 * @module
 */

import { printable } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { breakLines, columnsOf } from "../base/wrap.ts";
import type { Cell, Table } from "./_view.ts";

/** Returns the text of a cell on one line. */
export function cellText({ text, detail }: Pick<Cell, "text" | "detail">): string {
  return detail === undefined ? text : `${text} ${detail}`;
}

/** Returns the headings of a table: that of a group stands before the first of its columns. */
export function headTexts({ heads }: Pick<Table, "heads">): string[] {
  return heads.map(({ text, group }, place) =>
    group === undefined || heads[place - 1]?.group === group ? text : `${group}: ${text}`
  );
}

/**
 * Returns a table as aligned columns: names and sentences to the left, the others to the right. Where they take more than
 * `width` columns of a terminal, headings are broken into lines, then names, and in the end columns go on in a
 * further block below, with the names again.
 */
export function alignedTable(
  table: Pick<Table, "heads" | "rows" | "names">,
  width = Infinity,
): string {
  const { heads, rows, names } = table;
  const cells = [headTexts(table), ...rows.map((row) => row.map(cellText))].map((row) =>
    row.map((text, column) => column < names ? nameText(text) : printable(text, MAX_TEXT_LENGTH))
  );
  const next = new Set(heads.flatMap(({ isNext }, column) => isNext ? [column] : []));
  return blocksOf(cells, names, width, next)
    .map(({ columns, widths }) => {
      const left = columns.map((column) => heads[column]!.isText);
      const lines = cells.flatMap((row, place) =>
        rowLines(columns.map((column) => row[column]!), widths, { left, isHead: place === 0 })
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
  cells: readonly (readonly string[])[],
  names: number,
  width: number,
  next: ReadonlySet<number>,
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

/** Shortens names of more columns in the middle, as they may differ at either end. */
export function nameText(text: string, most = MAX_NAME_LENGTH): string {
  const name = printable(text, Infinity);
  if (columnsOf(name) <= most) return name;
  const half = (most - 1) >> 1;
  return `${endOf([...name], half)}…${endOf([...name].reverse(), half, true)}`;
}

/** Returns as many characters as fit. */
function endOf(characters: readonly string[], columns: number, isReversed = false): string {
  let end = "";
  for (const character of characters) {
    const next = isReversed ? character + end : end + character;
    if (columnsOf(next) > columns) break;
    end = next;
  }
  return end;
}
