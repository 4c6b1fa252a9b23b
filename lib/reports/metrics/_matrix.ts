/**
 * The matrix: the success of each variant on each cell, and why the other trials were not solved.
 * @module
 */

import { countsAsSuccess } from "../../gate/variant.ts";
import { cutText, printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { isCase } from "../../tasks/task_kind.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";
import { cellName } from "./metrics.ts";
import { measureEach, type Subject } from "./_subjects.ts";

/** The trials of one variant on one cell, as in the tally of that cell. */
export interface MatrixCount {
  readonly trials: number;
  readonly valid: number;
  readonly solved: number;
}

/** The success of each variant on each cell. */
export interface Matrix {
  /** The cells in plan order, and why their trials were not solved; empty where all were. */
  readonly cells: readonly { readonly name: string; readonly why: string }[];
  /** The variants: the unperturbed ones if there are any. */
  readonly variants: readonly (Subject & { readonly why: string })[];
  /** A list for each cell, with the count of each variant; `null` where there is no trial. */
  readonly counts: readonly (readonly (MatrixCount | null)[])[];
}

/** Returns the matrix of `trials`. */
export function measureMatrix(all: readonly TrialSummary[]): Matrix {
  const plain = all.filter(({ perturbation }) => perturbation === "none");
  const trials = (plain.length > 0 ? plain : all).map(asSummary);
  const variants = measureEach(trials, (items) => [{ items }]);
  const cells = [...Map.groupBy(trials, cellName)];
  const byCell = variants.map(({ items }) => Map.groupBy(items, cellName));
  return {
    cells: cells.map(([name, own]) => ({ name, why: whyText(own) })),
    variants: variants.map(({ items, ...one }) => ({ ...one, why: whyText(items) })),
    counts: cells.map(([name]) => byCell.map((own) => countOf(own.get(name)))),
  };
}

function countOf(trials: readonly TrialSummary[] | undefined): MatrixCount | null {
  if (trials === undefined) return null;
  const valid = trials.filter(countsAsSuccess);
  const solved = valid.filter((trial) => trial.solved);
  return { trials: trials.length, valid: valid.length, solved: solved.length };
}

/** At most this many characters say why trials were not solved. */
const MAX_WHY = 300;
/** At most this many kinds of mistakes are listed of an outcome. */
const MAX_KINDS = 3;

/** Says in one line why trials were not solved: the commonest reason of tests, of others all outcomes. */
function whyText(trials: readonly TrialSummary[]): string {
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
