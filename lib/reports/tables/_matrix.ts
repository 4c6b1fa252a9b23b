/**
 * The matrix as a table: a row a test or a cell, a column a variant, and why the row was not solved.
 * @module
 */

import { percent, sum } from "../../base/numbers.ts";
import { canonicalJson } from "../../base/json.ts";
import type { MatrixCount } from "../metrics/_matrix.ts";
import type { Report } from "../report.ts";
import { type ReportWords, reportWords } from "../_words.ts";
import { allCells, cellsNote, cellsTable, solvedOf, tallyColumns } from "./_success.ts";
import { type Column, layOut, nameOf, NOTHING, trialsLink } from "./table.ts";
import type { Table } from "../_view.ts";

/** With more variants than this, they are rows where cells are fewer. */
const MAX_COLUMNS = 8;

/** A name of a row or a column, and what leads to its trials. */
interface Line {
  readonly name: string;
  readonly why: string;
  readonly chosen: Parameters<typeof trialsLink>[0];
}

/** A row, with a count for each column. */
interface Row extends Line {
  readonly counts: readonly (MatrixCount | null)[];
}

/** The parts of a report that the matrix is made of. */
type MatrixReport = Pick<Report, "subjects" | "matrix" | "unit" | "callSets">;

/** Returns success by cell and variant, the lowest first, with all that is known of a single variant. */
export function matrixTables(report: MatrixReport): Table[] {
  const { cells, variants, counts } = report.matrix;
  const words = reportWords(report);
  if (variants.length === 0) return [];
  if (variants.length === 1) return [singleTable(report, words)];
  const byCell = cells.map(({ name, why }): Line => ({ name, why, chosen: { cell: name } }));
  const byVariant = variants.map(({ why, ...one }): Line => ({
    name: nameOf(one),
    why,
    chosen: { subject: nameOf(one) },
  }));
  const turned = variants.length > MAX_COLUMNS && cells.length < variants.length;
  const [lines, heads] = turned ? [byVariant, byCell] : [byCell, byVariant];
  const rows = lines.map((line, row): Row => ({
    ...line,
    counts: heads.map((_, column) => turned ? counts[column]![row]! : counts[row]![column]!),
  })).sort(byRate);
  const all: Row[] = lines.length < 2 ? [] : [{
    ...{ name: "all", why: "", chosen: {} },
    counts: heads.map((_, column) => total(rows.flatMap((row) => row.counts[column] ?? []))),
  }];
  return [{
    id: "matrix",
    section: "matrix",
    title: words.byCell,
    note: [
      `${words.cell === "test" ? "passed, of the" : "share solved, of n"} valid trials`,
      ...notes(lines, words),
    ].join("; "),
    rows: layOut([...rows, ...all], [
      {
        head: turned ? "model" : words.cell,
        cell: ({ name }) => name,
        link: ({ chosen, counts }) =>
          trialsLink({ ...chosen, ...failedIn(counts.flatMap((count) => count ?? [])) }),
      },
      heads.map(({ name: head, chosen }, column): Column<Row> => ({
        head,
        cell: ({ counts }) => countText(counts[column]!, words),
        link: ({ counts, chosen: own }) => {
          const count = counts[column]!;
          return count === null
            ? undefined
            : trialsLink({ ...own, ...chosen, ...failedIn([count]) });
        },
      })),
      WHY,
    ]),
  }];
}

/** Returns success by cell of the one variant that the matrix has. */
function singleTable({ subjects, matrix }: MatrixReport, words: ReportWords): Table {
  const place = placesInMatrix({ subjects, matrix })[0]!;
  const one = subjects[place]!;
  const { total } = one;
  const rows = one.cells.map((own, index) => ({ ...own, why: matrix.cells[index]!.why }))
    .sort(({ tally: one }, { tally: other }) => byRate({ counts: [one] }, { counts: [other] }));
  type Row = typeof rows[number];
  const subject = nameOf(one);
  const explained = [cellsNote(total, words).note ?? [], notes(rows, words)].flat();
  return {
    id: "matrix",
    section: "matrix",
    title: `${words.byCell}: ${subject}`,
    ...(explained.length === 0 ? {} : { note: explained.join("; ") }),
    rows: layOut<Row>([...rows, ...allCells(one).map((own) => ({ ...own, why: "" }))], [
      {
        head: words.cell,
        cell: ({ name }) => name,
        link: ({ name, tally }) =>
          trialsLink({ ...(tally === total ? {} : { cell: name }), subject, ...failedIn([tally]) }),
      },
      tallyColumns(({ tally }) => tally, [total], words),
      WHY,
    ]),
  };
}

const WHY: Column<{ readonly why: string }> = {
  head: "why",
  text: true,
  cell: ({ why }) => why === "" ? NOTHING : why,
  shown: "filled",
};

/** Explains the order of rows and their last column, where there are any. */
function notes(rows: readonly { readonly why: string }[], { unsolved }: ReportWords): string[] {
  const how = unsolved === "failed"
    ? "failed for the commonest reason"
    : "were not solved, how they ended, and their first mistakes";
  return [
    ...(rows.length > 1 ? ["the lowest first"] : []),
    ...(rows.some(({ why }) => why !== "") ? [`why: how many ${how}`] : []),
  ];
}

/** Returns the tables by cell of the subjects that the matrix does not have, which are perturbed ones. */
export function otherCellsTables(report: MatrixReport): Table[] {
  const shown = new Set(placesInMatrix(report));
  const words = reportWords(report);
  return report.subjects.flatMap((one, place) =>
    shown.has(place) ? [] : [cellsTable(one, place, words)]
  );
}

/** Returns the places of the matrix' variants in the list of subjects. */
export function placesInMatrix(
  { subjects, matrix }: Pick<Report, "subjects" | "matrix">,
): number[] {
  const places = new Map(subjects.map(({ subject }, place) => [canonicalJson(subject), place]));
  return matrix.variants.map(({ subject }) => places.get(canonicalJson(subject))!);
}

/** Orders rows by their rate, the lowest first; one without a valid trial is not solved. */
function byRate(
  one: { readonly counts: Row["counts"] },
  other: { readonly counts: Row["counts"] },
): number {
  const rate = ({ counts }: { readonly counts: Row["counts"] }) => {
    const { solved, valid } = total(counts.flatMap((count) => count ?? []));
    return valid === 0 ? 0 : solved / valid;
  };
  return rate(one) - rate(other);
}

function total(counts: readonly MatrixCount[]): MatrixCount {
  const add = (key: keyof MatrixCount) => sum(counts, (count) => count[key]);
  return { trials: add("trials"), valid: add("valid"), solved: add("solved") };
}

function countText(count: MatrixCount | null, words: ReportWords): string {
  if (count === null || count.valid === 0) return NOTHING;
  return words.cell === "test"
    ? solvedOf(count)
    : `${percent(count.solved / count.valid)} of ${count.valid}`;
}

/** The outcome that a link chooses: the failed trials where there are any. */
function failedIn(counts: readonly MatrixCount[]): { outcome?: string } {
  return counts.some(({ valid, solved }) => solved < valid) ? { outcome: "failed" } : {};
}
