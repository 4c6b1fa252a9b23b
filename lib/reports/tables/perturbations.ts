/**
 * Tables of perturbations: what they do to calls and to success, which failure goes with which, and what
 * changes did that should do nothing.
 * @module
 */

import type { Brittleness, BrittlenessColumn, Transfer } from "../metrics/brittleness.ts";
import type { Comparison } from "../../gate/comparison.ts";
import { variantLabel } from "../../gate/variant.ts";
import { PARAMETER_FAILURE_TYPES, type ParameterFailureType } from "../../calls/failure_types.ts";
import { isFault } from "../../tools/fault.ts";
import { PERTURBED } from "../../perturbations/methods.ts";
import { isCheck, isRemoving } from "../../perturbations/ids.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { signedPoints, successColumns } from "./strategies.ts";
import { nameOf, type Table } from "./table.ts";

/**
 * All tables of perturbations, none where nothing was perturbed. Where columns are dear, `brief` has whole
 * percentages and leaves the differences out.
 */
export function perturbationTables(
  { perturbations, brittleness }: Pick<Report, "perturbations" | "brittleness">,
  brief = false,
): Table[] {
  return [
    ...brittleness.flatMap((one, place) => ratesTable(one, place, brief)),
    ...againstNone(perturbations),
    ...brittleness.flatMap(transferTable),
    ...checksTable(brittleness),
  ];
}

/**
 * Failure rates under each perturbation (Butterfly, Table 1). Where there is room for differences, each
 * perturbation has a row: the paper's columns would be too narrow.
 */
function ratesTable(one: Brittleness, place: number, brief: boolean): Table[] {
  const { columns } = one;
  if (columns.every(({ perturbation }) => perturbation === "none")) return [];
  // Where nothing was called there is nothing to fail: success stands in a table of its own.
  if (columns.every(({ known, accepted }) => known === 0 && accepted.of === 0)) return [];
  const share = brief ? wholePercent : percent;
  const shown = (rate: number | null) => rate === null ? "-" : share(rate);
  const row = (name: string, show: (column: BrittlenessColumn) => string) => [
    name,
    ...columns.map(show),
  ];
  const some = (count: (column: BrittlenessColumn) => number) =>
    columns.some((column) => count(column) > 0);
  const rows = [
    ["failure", ...columns.map(({ perturbation }) => perturbation)],
    ...(brief ? [] : [row("changed", ({ perturbation }) => sourcesOf(perturbation))]),
    ...PARAMETER_FAILURE_TYPES.flatMap((type, index) => [
      row(named(type), ({ failures }) => {
        const { rate, interval, difference } = failures[index]!;
        const beneath = difference !== null
          ? differenceText(difference)
          : interval !== null
          ? `${percent(interval.lower)} to ${percent(interval.upper)}`
          : undefined;
        return shown(rate) + (brief || beneath === undefined ? "" : ` (${beneath})`);
      }),
      ...(some(({ failures }) => failures[index]!.undecided)
        ? [row(`${named(type)}: undecided`, ({ failures }) => String(failures[index]!.undecided))]
        : []),
    ]),
    row(
      "similar texts",
      ({ similarTexts: { similar, compared } }) => compared === 0 ? "-" : share(similar / compared),
    ),
    row("task accuracy", ({ solved }) => shown(solved.rate)),
    row(
      "abstained",
      ({ perturbation, abstained: { count, rate } }) =>
        isRemoving(perturbation) || count > 0 ? shown(rate) : "-",
    ),
    row("API-level success", ({ accepted }) => shown(accepted.rate)),
    row("routing errors", ({ routing }) => shown(routing.rate)),
    row("trials", ({ counted }) => String(counted)),
    ...(some(({ counted, known }) => counted - known)
      ? [row("right calls known", ({ known }) => String(known))]
      : []),
    ...(some((column) => column.unchanged)
      ? [row("unchanged", (column) => String(column.unchanged))]
      : []),
    ...(some(({ invalid }) => invalid) ? [row("invalid", ({ invalid }) => String(invalid))] : []),
  ];
  return [{
    id: `failure-rates-${place + 1}`,
    section: "perturbations",
    title: `Failure rates under perturbations: ${nameOf(one)}`,
    paper: "Butterfly",
    source: "Table 1",
    note: "share of trials with a call that has such a failure beside the right calls" +
      (brief
        ? ""
        : "; in brackets under none its 95% interval, else the percentage points that it is " +
          "above none on the same tasks, with their 95% interval") +
      "; similar texts: wrong texts with Rouge-L above 0.8 to the right ones; API-level success: calls " +
      "that were not refused; routing errors: trials with a call that is none of the right ones, or one of " +
      "them once more; a trial without calls has no failures; " +
      `after ${removingIn(columns)} no task can be solved, and right is abstained`,
    rows: brief ? rows : transposed(rows),
  }];
}

function named(type: ParameterFailureType): string {
  return type.replaceAll("_", " ");
}

/** A table with its rows as columns. */
function transposed([head, ...rows]: readonly string[][]): string[][] {
  return head!.map((name, place) => [
    place === 0 ? "perturbation" : name,
    ...rows.map((row) => row[place]!),
  ]);
}

function differenceText({ difference, interval }: NonNullable<Comparison["success"]>): string {
  return signedPoints(difference) +
    (interval === null
      ? ""
      : `, ${signedPoints(interval.lower)} to ${signedPoints(interval.upper)}`);
}

/** What a perturbation changes, such as `document+return`; `check` where that is meant to be of no account. */
function sourcesOf(perturbation: string): string {
  if (isCheck(perturbation)) return "check";
  const sources: ReadonlyMap<string, string> = new Map(Object.entries(PERTURBED));
  const found = perturbation.split("+")
    .flatMap((part) => isFault(part) ? "fault" : sources.get(part) ?? []);
  return [...new Set(found)].join("+") || "-";
}

/** The perturbations after which no task can be solved: of those by faults, the ones that are there. */
function removingIn(columns: readonly { readonly perturbation: string }[]): string {
  const isDenied = columns.some(({ perturbation }) => perturbation.includes("permission_denied"));
  return isDenied ? "RP_F, RP_L and permission_denied" : "RP_F and RP_L";
}

/** A share as a whole percentage, never rounded to nothing or to all. */
export function wholePercent(share: number): string {
  const whole = Math.round(100 * share);
  if (whole === 0 && share > 0) return "<1%";
  return whole === 100 && share < 1 ? ">99%" : `${whole}%`;
}

/**
 * How much less often tasks are solved under each perturbation; without those after which no task can be,
 * as they would stand there as failures of whoever rightly abstained.
 */
function againstNone(perturbations: readonly Comparison[]): Table[] {
  const shown = perturbations.filter(({ subject }) => !isRemoving(subject.perturbation));
  if (shown.length === 0) return [];
  const left = shown.some(({ leftOut }) => leftOut > 0);
  return [{
    id: "perturbations",
    section: "perturbations",
    title: "Perturbations against none",
    note:
      "share of tasks solved, on the same tasks and by the same model and strategy without the " +
      "perturbation; difference in percentage points, with its 95% interval; gained: tasks that were " +
      "solved more often under the perturbation; McNemar p as for strategies; each comparison stands by " +
      "itself: of many, some differ by chance" +
      (shown.length === perturbations.length
        ? ""
        : `; ${
          removingIn(perturbations.map(({ subject }) => subject))
        } are left out, as no task can be ` +
          "solved after them: the failure rates have the share that abstained"),
    rows: [
      [
        ...["perturbation", "tasks", ...(left ? ["left out"] : []), "unperturbed", "perturbed"],
        ...["difference", "95% interval", "gained", "lost", "McNemar p"],
      ],
      ...shown.map((one) => [
        variantLabel(one.subject, one.simulated),
        String(one.graphs),
        ...(left ? [String(one.leftOut)] : []),
        ...successColumns(one),
      ]),
    ],
  }];
}

/** Which failures come together or one after another (Butterfly, Fig. 4). */
function transferTable(one: Brittleness, place: number): Table[] {
  const { transfer } = one;
  if (transfer.every((cell) => cell.of === 0)) return [];
  const counts = ({ either, together, later }: Transfer) =>
    either === 0 ? "0" : `${either} (${together}, ${later})`;
  const rows = Map.groupBy(transfer, ({ from }) => from);
  return [{
    id: `transfer-${place + 1}`,
    section: "perturbations",
    title: `Which failure goes with which: ${nameOf(one)}`,
    paper: "Butterfly",
    source: "Fig. 4",
    note:
      "along the row: trials, perturbed or not, that have the other failure as well; in brackets those " +
      "with both in one call, and those with the other in a later call, of which a trial may be both; on " +
      "the diagonal: again in a later call",
    rows: [
      ["given", "trials", ...PARAMETER_FAILURE_TYPES.map(named)],
      ...[...rows].map(([from, cells]) => [
        from.replaceAll("_", " "),
        String(cells[0]!.of),
        ...cells.map((cell) => cell.of === 0 ? "-" : counts(cell)),
      ]),
    ],
  }];
}

/** What changes did that leave a task what it is. */
function checksTable(brittleness: readonly Brittleness[]): Table[] {
  const checks = brittleness.flatMap(({ flips, ...one }) =>
    flips.map((own) => ({ ...one, ...own }))
  );
  if (checks.length === 0) return [];
  return [{
    id: "checks",
    section: "perturbations",
    title: "Checks that should change nothing",
    note:
      "pairs: a trial under the check and one without, on the same task; flipped: one of them was solved " +
      "and the other was not; gained: only under the check; by chance: the same share among repetitions " +
      "of these tasks without the check, so much of which is no fault of it",
    rows: [
      ["check", "pairs", "flipped", "share", "95% interval", "gained", "lost", "by chance"],
      ...checks.map((
        { subject, simulated, perturbation, pairs, flipped, gained, lost, byChance },
      ) => [
        variantLabel({ ...subject, perturbation }, simulated),
        String(pairs),
        String(flipped.count),
        flipped.rate === null ? "-" : percent(flipped.rate),
        flipped.interval === null
          ? "-"
          : `${percent(flipped.interval.lower)} to ${percent(flipped.interval.upper)}`,
        String(gained),
        String(lost),
        byChance === null || byChance.rate === null ? "-" : percent(byChance.rate),
      ]),
    ],
  }];
}
