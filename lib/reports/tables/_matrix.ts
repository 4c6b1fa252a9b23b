/**
 * The matrix as a table: a row a test or a cell, a column a variant, and why the row was not solved.
 * @module
 */

import { percent, sum } from "../../base/numbers.ts";
import { canonicalJson } from "../../base/json.ts";
import type { Tally, VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { type ReportWords, reportWords } from "../_words.ts";
import { lessUnsolvable, solvedOf, tallyColumns } from "./_success.ts";
import { type Column, layOut, linkNames, nameOf, NOTHING, trialsLink } from "./table.ts";
import type { Table } from "../_view.ts";

/** With more variants than this, they are rows where cells are fewer. */
const MAX_COLUMNS = 8;

/** A name of a row or a column, and what leads to its trials. */
interface Line {
  readonly name: string;
  readonly why: string;
  readonly chosen: Parameters<typeof trialsLink>[0];
}

/** A row, with the trials of each column; `null` where there is none. */
interface Row extends Line {
  readonly counts: readonly (Pick<Tally, "valid" | "solved"> | null)[];
  /** All that is known of the first of several variants, or of a single one. */
  readonly tally: Tally | undefined;
}

/** The parts of a report that the matrix is made of. */
type MatrixReport = Pick<Report, "subjects" | "matrix" | "unit" | "callSets">;

/**
 * Returns success by cell and variant, the lowest first, and the same of the variants that the matrix does not have,
 * which are perturbed ones.
 */
export function matrixTables(report: MatrixReport): Table[] {
  const { cells, variants } = report.matrix;
  const places = new Map(
    variants.map(({ subject, why }) => [canonicalJson(subject), why]),
  );
  const whyOf = ({ subject }: VariantMetrics) => places.get(canonicalJson(subject));
  const called = linkNames(report.subjects);
  const [shown, others] = [true, false].map((isShown) =>
    report.subjects.filter((one) => whyOf(one) !== undefined === isShown)
      .map((one) => ({ ...one, why: whyOf(one) ?? "", called: called.get(one.subject)! }))
  );
  const names = new Set(others!.flatMap((one) => one.cells.map(({ name }) => name)));
  const words = reportWords(report);
  return [
    ...matrixTable(shown!, cells, words, { id: "matrix", section: "matrix", title: words.byCell }),
    ...matrixTable(
      others!,
      [...names].map((name) => ({ name, why: "" })),
      words,
      { id: "cells", section: "cells", title: `${words.byCell}, under perturbations` },
    ),
  ];
}

/** Returns a table of variants and cells, none without them; all that is known of a single variant. */
function matrixTable(
  variants: readonly (VariantMetrics & { readonly why: string; readonly called: string })[],
  cells: Report["matrix"]["cells"],
  words: ReportWords,
  caption: Pick<Table, "id" | "section" | "title">,
): Table[] {
  const [first, ...others] = variants;
  if (first === undefined) return [];
  const isSingle = others.length === 0;
  const own = isSingle ? { subject: first.called } : {};
  const byCell = cells.map(({ name, why }) => ({ name, why, chosen: { ...own, cell: name } }));
  const byVariant = variants.map((one) => {
    return { name: nameOf(one), why: one.why, chosen: { subject: one.called } };
  });
  const tallies = variants.map((one) => new Map(one.cells.map(({ name, tally }) => [name, tally])));
  const turned = variants.length > MAX_COLUMNS && cells.length < variants.length;
  const [lines, heads] = turned ? [byVariant, byCell] : [byCell, byVariant];
  const rows = lines.map((line, row): Row => {
    const counts = heads.map((_, column) => {
      const [cell, variant] = turned ? [column, row] : [row, column];
      return tallies[variant]!.get(cells[cell]!.name) ?? null;
    });
    return { ...line, counts, tally: counts[0] ?? undefined };
  }).sort((one, other) => rateOf(one) - rateOf(other));
  const all: Row[] = lines.length < 2 ? [] : [{
    ...{ name: "all", why: "", chosen: own, tally: first.total },
    counts: heads.map((_, column) => summed(rows.map(({ counts }) => counts[column]!))),
  }];
  const totals = variants.map(({ total }) => total);
  const share = `${words.cell === "test" ? "passed, of the" : "share solved, of n"} valid trials`;
  const less = lessUnsolvable(totals);
  const explained = [
    ...(isSingle && less === ""
      ? []
      : [(isSingle ? `${words.solved}: share of valid trials` : share) + less]),
    ...notes(lines, words, byCell === lines && !isSingle ? ", of all models" : ""),
  ];
  return [{
    ...caption,
    title: isSingle ? `${words.byCell}: ${nameOf(first)}` : caption.title,
    ...(explained.length === 0 ? {} : { note: explained.join("; ") }),
    rows: layOut([...rows, ...all], [
      {
        head: turned ? "model" : words.cell,
        cell: ({ name }) => name,
        link: ({ chosen, counts }) => trialsLink({ ...chosen, ...failedIn(counts) }),
      },
      isSingle
        ? tallyColumns(({ tally }) => tally!, totals, words)
        : heads.map(({ name: head, chosen }, column): Column<Row> => ({
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

const WHY: Column<{ readonly why: string }> = {
  head: "why",
  text: true,
  cell: ({ why }) => why === "" ? NOTHING : why,
  shown: "filled",
};

/** Explains the order of rows and their last column, where there are any. */
function notes(
  rows: readonly { readonly why: string }[],
  { unsolved }: ReportWords,
  whose: string,
): string[] {
  const how = unsolved === "failed"
    ? "failed for the commonest reason"
    : "were not solved, how they ended, and their first mistakes";
  const isExplained = rows.some(({ why }) => why !== "");
  return [
    ...(rows.length > 1 && isExplained ? ["the lowest first"] : []),
    ...(isExplained ? [`why: of all trials in the row${whose}, how many ${how}`] : []),
  ];
}

/** Returns the rate of a row, by which rows are ordered; one without a valid trial is not solved. */
function rateOf({ counts }: Row): number {
  const { valid, solved } = summed(counts);
  return valid === 0 ? 0 : solved / valid;
}

function summed(counts: Row["counts"]): Pick<Tally, "valid" | "solved"> {
  const add = (key: "valid" | "solved") => sum(counts, (count) => count?.[key] ?? 0);
  return { valid: add("valid"), solved: add("solved") };
}

function countText(count: Row["counts"][number], words: ReportWords): string {
  if (count === null || count.valid === 0) return NOTHING;
  return words.cell === "test"
    ? solvedOf(count)
    : `${percent(count.solved / count.valid)} of ${count.valid}`;
}

/** The outcome that a link chooses: the failed trials where there are any. */
function failedIn(counts: Row["counts"]): { outcome?: string } {
  return counts.some((count) => count !== null && count.solved < count.valid)
    ? { outcome: "failed" }
    : {};
}
