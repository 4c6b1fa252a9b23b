/**
 * The matrix: the success of each variant on each cell, and why the other trials were not solved.
 * @module
 */

import { cutText, printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { countsAsSuccess, type Variant } from "../../gate/variant.ts";
import { isCase } from "../../tasks/task_kind.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { cellName, cellParts } from "../cells.ts";
import { type Column, type Columns, type Detail, isShown, tableOf } from "../columns.ts";
import { metric } from "../_metric.ts";
import { hasGateBounds } from "./_headline.ts";
import { linkNames, trialsLink } from "../_links.ts";
import type { Report } from "../report.ts";
import { type Subject, subjectColumns } from "../_subjects.ts";
import { type Table, titleOf } from "../_view.ts";
import type { ReportWords } from "../_words.ts";
import { successText, type Tallied, type Tally, tally, tallyColumns } from "./_tally.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** The trials of one variant on one cell. */
interface CellRow extends Subject, Tallied {
  readonly cell: string;
  readonly parts: readonly string[];
  readonly trials: readonly TrialSummary[];
}

/** Success by variant and cell. */
export const CELLS = metric(
  ({ subjects }) =>
    subjects.flatMap(({ subject, simulated, trials }) =>
      [...Map.groupBy(trials, cellName)].map(([cell, trials]): CellRow => (
        { subject, simulated, cell, parts: cellParts(trials[0]!), trials, tally: tally(trials) }
      ))
    ),
  {
    id: "cells",
    section: "matrix",
    title: "",
    columns: (rows, report) => [
      subjectColumns(report),
      { id: "cell", unit: "name", value: ({ cell }) => cell },
      tallyColumns(rows, report.words),
    ],
    tables: (rows, report, detail) => {
      const { byCell } = report.words;
      const plain = rows.filter(({ subject }) => subject.perturbation === "none");
      const first = plain.length > 0 ? plain : rows;
      const others = rows.filter((row) => !first.includes(row));
      return [
        ...matrixTable(first, report, { id: "matrix", section: "matrix", title: byCell }, detail),
        ...matrixTable(others, report, {
          ...{ id: "cells", section: "cells", title: `${byCell}, under perturbations` },
        }, detail),
      ];
    },
  },
);

/** The least that has the reasons why trials were not solved. */
const WHY = { from: "terminal" } as const;
/** With more variants than this, they are rows where cells are fewer. */
const MAX_COLUMNS = 8;

/** A row or a column: its name, its trials, and what leads to them. */
interface Line extends Tallied {
  readonly name: string;
  readonly variant?: Variant;
  readonly rows: readonly CellRow[];
  readonly chosen: Parameters<typeof trialsLink>[0];
}

/** Returns a table of variants and cells, the lowest first; all that is known of a single variant. */
function matrixTable(
  all: readonly CellRow[],
  report: Report,
  caption: Pick<Table, "id" | "section" | "title">,
  detail: Detail,
): Table[] {
  const { words, nameOf } = report;
  const called = linkNames(report);
  const variants = [...Map.groupBy(all, nameOf)].map(([name, rows]): Line => {
    const { subject: variant } = rows[0]!;
    return { name, variant, rows, tally: tallyOf(rows), chosen: { subject: called.get(variant)! } };
  });
  const [first, ...others] = variants;
  if (first === undefined) return [];
  const byCell = Map.groupBy(all, ({ cell }) => cell);
  const { shared, short } = sharedParts([...byCell.values()].map(([first]) => first!.parts));
  const own = others.length === 0 ? first.chosen : {};
  const cells = [...byCell].map(([cell, rows]): Line => (
    { name: short(rows[0]!.parts), rows, tally: tallyOf(rows), chosen: { ...own, cell } }
  ));
  const isTurned = variants.length > MAX_COLUMNS && cells.length < variants.length;
  const [lines, heads] = isTurned ? [variants, cells] : [cells, variants];
  const rows = lines.toSorted((one, other) => rateOf(one) - rateOf(other));
  const whole: Line[] = lines.length < 2
    ? []
    : [{ name: "all", rows: all, tally: tallyOf(all), chosen: own }];
  const explained = isShown(WHY, detail) && rows.some(({ rows }) => whyText(rows) !== "");
  const isSingle = others.length === 0;
  // Of a variant as a whole the verdict has the bounds.
  const isDecided = isSingle && hasGateBounds(report);
  const columns: Columns<Line> = [
    {
      ...{ unit: "name", head: isTurned ? "model" : words.cell, value: ({ name }) => name },
      variant: ({ variant }) => variant,
      link: ({ chosen, tally }) => trialsLink({ ...chosen, ...failedIn(tally) }),
    },
    isSingle
      ? tallyColumns(all, words, ({ tally }) => !isDecided || tally.trials < first.tally.trials)
      : heads.map(({ name: head, variant: headVariant, rows, chosen }): Column<Line> => {
        const own = new Set(rows);
        const tallies = new Map<Line, Tally>();
        const common = (line: Line) =>
          getOrInsertComputed(
            tallies,
            line,
            () => tallyOf(line.rows.filter((row) => own.has(row))),
          );
        return {
          ...{ unit: "share", head, headVariant, value: (line) => common(line).success.value },
          text: (line) => successText(common(line).success, words.cell === "test"),
          link: (line) =>
            common(line).trials === 0
              ? undefined
              : trialsLink({ ...line.chosen, ...chosen, ...failedIn(common(line)) }),
        };
      }),
    {
      ...{ head: "why", unit: "text", shown: "filled", ...WHY },
      value: ({ name, rows }) => name === "all" ? null : whyText(rows) || null,
    },
  ];
  const share = `${words.cell === "test" ? "passed" : "share solved"}, of the valid trials`;
  const note = [
    ...(shared === "" ? [] : [`all: ${shared}`]),
    ...(isSingle ? [] : [share]),
    ...(isDecided ? ["bounds of all trials: in the verdict"] : []),
    ...(explained ? [`${rows.length > 1 ? "the lowest first; " : ""}${whyNote(words)}`] : []),
  ].join("; ");
  return tableOf([...rows, ...whole], columns, {
    ...caption,
    ...(isSingle ? titleOf(caption.title, first.name) : { heat: "good" as const }),
    note: note || undefined,
  }, detail);
}

function whyNote({ unsolved }: ReportWords): string {
  return unsolved === "failed"
    ? "why: how many failed, for the commonest reason"
    : "why: how many were not solved, how they ended, and their first mistakes";
}

function tallyOf(rows: readonly CellRow[]): Tally {
  return rows.length === 1 ? rows[0]!.tally : tally(rows.flatMap(({ trials }) => trials));
}

/** Returns the rate by which rows are ordered; one without a valid trial is not solved. */
function rateOf({ tally }: Line): number {
  return tally.success.value ?? 0;
}

/** The outcome that a link chooses: the failed trials where there are any. */
function failedIn({ success }: Tally): { outcome?: string } {
  return success.count < success.of ? { outcome: "failed" } : {};
}

/** Returns the parts that all names of cells have, which are said once, and names without them. */
function sharedParts(parts: readonly (readonly string[])[]) {
  const shared = parts.length < 2
    ? []
    : parts[0]!.filter((part) => parts.every((own) => own.includes(part)));
  const isWhole = parts.some(({ length }) => length === shared.length);
  return {
    shared: isWhole ? "" : shared.join(", "),
    short: (own: readonly string[]) =>
      own.filter((part) => isWhole || !shared.includes(part)).join(", "),
  };
}

/** At most this many characters say why trials were not solved. */
const MAX_WHY = 300;
/** At most this many kinds of mistakes are listed of an outcome. */
const MAX_KINDS = 3;

/** Says in one line why trials were not solved: the commonest reason of tests, of others all outcomes. */
function whyText(rows: readonly CellRow[]): string {
  const trials = rows.flatMap((row) => row.trials);
  const valid = trials.filter(countsAsSuccess);
  const unsolved = valid.filter(({ solved }) => !solved);
  const invalid = trials.filter(({ outcome }) => outcome === "invalid");
  const parts = [
    ...(unsolved.length === 0 ? [] : [
      unsolved.every(({ task }) => isCase(task))
        ? commonestReason(unsolved, valid.length)
        : `${unsolved.length} of ${countText(valid.length, "trial")}: ${outcomeCounts(unsolved)}`,
    ]),
    ...(invalid.length === 0 ? [] : [invalidText(invalid)]),
  ];
  return cutText(parts.join("; "), MAX_WHY);
}
function commonestReason(trials: readonly TrialSummary[], valid: number): string {
  const [text, count] = counted(
    trials,
    ({ why, reason, outcome }) =>
      why ?? (reason === undefined ? words(outcome) : printable(reason)),
  )[0]!;
  const others = trials.length - count;
  const rest = others === 0 ? "" : `; ${others} for other reasons`;
  return `${count} of ${countText(valid, "trial")}: ${cutText(text, MAX_WHY - 60)}${rest}`;
}

function invalidText(trials: readonly TrialSummary[]): string {
  const [text] = counted(trials, ({ reason = "unknown" }) => printable(reason, 100))[0]!;
  return `${trials.length} invalid: ${text}`;
}

/** Returns the outcomes of trials, such as `4 wrong answer (3 incorrect value, 1 missed call), 1 call limit`. */
function outcomeCounts(trials: readonly TrialSummary[]): string {
  return counted(trials, ({ outcome }) => outcome).map(([outcome, count]) => {
    const own = trials.filter((trial) => trial.outcome === outcome);
    const kinds = counted(own, mistakeOf).filter(([kind]) => kind !== "").slice(0, MAX_KINDS)
      .map(([kind, some]) => partText(kind, some, count));
    const text = partText(outcome, count, trials.length);
    return kinds.length === 0 ? text : `${text} (${kinds.join(", ")})`;
  }).join(", ");
}

/** Counts a part of a number of trials, unless it is all of them. */
function partText(id: string, count: number, all: number): string {
  return count === all ? words(id) : `${count} ${words(id)}`;
}

/** Returns the first mistake of a trial; empty if none is known. */
function mistakeOf({ failures, missed, scored }: TrialSummary): string {
  const root = failures.find((failure) => failure.root) ?? failures[0];
  if (root !== undefined) return root.type;
  if (missed !== undefined && missed.missed > 0) return "missed call";
  return printable(scored?.errors[0] ?? "", 60);
}

/** Counts items by a text, the commonest first. */
function counted<T>(items: readonly T[], textOf: (item: T) => string): [string, number][] {
  return [...Map.groupBy(items, textOf)]
    .map(([text, own]): [string, number] => [text, own.length])
    .sort(([, one], [, other]) => other - one);
}

function words(id: string): string {
  return id.replaceAll("_", " ");
}
