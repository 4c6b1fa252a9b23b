/**
 * Perturbation tables: their effects on calls and on success, which failures occur together, and the effects
 * of changes that should have none.
 * @module
 */

import type {
  Brittleness,
  BrittlenessColumn,
  FailureRate,
  Transfer,
} from "../metrics/_brittleness.ts";
import { PARAMETER_FAILURE_TYPES, type ParameterFailureType } from "../../calls/failure_types.ts";
import { isFault } from "../../tools/fault.ts";
import { PERTURBED } from "../../perturbations/methods.ts";
import { isCheck, isInjecting, isRemoving } from "../../perturbations/ids.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { differenceText } from "./_comparisons.ts";
import {
  boundsText,
  type Column,
  layOut,
  nameOf,
  NOT_APPLICABLE,
  NOTHING,
  rateColumns,
  shareText,
  tableOf,
} from "./table.ts";
import type { Table } from "../_view.ts";

/**
 * Returns all perturbation tables, none where nothing was perturbed. `brief`, for narrow views, has whole
 * percentages and leaves the differences and the ids of trials out.
 */
export function perturbationTables(
  { brittleness }: Pick<Report, "brittleness">,
  brief = false,
): Table[] {
  return [
    ...brittleness.flatMap((one, index) => ratesTable(one, index, brief)),
    ...brittleness.flatMap(transferTable),
    ...ineffectiveTables(brittleness, brief),
    ...checksTable(brittleness),
  ];
}

/**
 * Returns failure rates under each perturbation (Butterfly, Table 1). With differences, each perturbation has a
 * row, as the paper's columns would be too narrow.
 */
function ratesTable(one: Brittleness, place: number, brief: boolean): Table[] {
  const { columns } = one;
  if (columns.every(({ perturbation }) => perturbation === "none")) return [];
  // Without calls there are no failures, and success has its own table.
  if (columns.every(({ known, accepted }) => known === 0 && accepted.of === 0)) return [];
  const share = brief ? wholePercent : percent;
  const rateText = (rate: number | null) => rate === null ? NOTHING : share(rate);
  const failureText = ({ rate, interval, difference }: FailureRate) => {
    const details = difference !== null
      ? differenceText(difference)
      : interval !== null
      ? boundsText(interval)
      : undefined;
    return rateText(rate) + (brief || details === undefined ? "" : ` (${details})`);
  };
  const name: Column<BrittlenessColumn> = {
    head: brief ? "failure" : "perturbation",
    cell: ({ perturbation }) => perturbation,
  };
  const overall: Column<BrittlenessColumn>[] = [
    { head: "any failure", cell: ({ failed }) => failureText(failed) },
    {
      head: "missed call",
      cell: ({ missed, known }) =>
        missed.of === 0 && known > missed.undecided ? NOT_APPLICABLE : failureText(missed),
    },
    { head: "missed call: undecided", cell: ({ missed }) => missed.undecided, shown: "filled" },
    {
      head: "of needed calls",
      cell: ({ missed: { calls, undecided }, known }) =>
        calls.of === 0 && known > undecided ? NOT_APPLICABLE : rateText(calls.rate),
    },
    { head: "either", cell: ({ failedOrMissed }) => failureText(failedOrMissed) },
  ];
  const rows = layOut(columns, [
    name,
    { head: "changed", cell: ({ perturbation }) => sourcesOf(perturbation), shown: !brief },
    {
      head: "task accuracy",
      cell: ({ solved, unsolvable = 0 }) =>
        solved.of === 0 && unsolvable > 0 ? NOT_APPLICABLE : rateText(solved.rate),
    },
    PARAMETER_FAILURE_TYPES.flatMap((type, index): Column<BrittlenessColumn>[] => [
      {
        head: typeName(type),
        cell: ({ failures }) => {
          const own = failures[index]!;
          return own.impossible ? NOT_APPLICABLE : failureText(own);
        },
      },
      {
        head: `${typeName(type)}: undecided`,
        cell: ({ failures }) => failures[index]!.undecided,
        shown: "filled",
      },
    ]),
    brief ? overall : [],
    {
      head: "similar texts",
      cell: ({ similarTexts: { similar, compared } }) =>
        compared === 0 ? NOTHING : share(similar / compared),
    },
    {
      head: "abstained",
      cell: ({ perturbation, unsolvable = 0, abstained: { count, of, rate } }) =>
        unsolvable > 0 && of === 0
          ? NOT_APPLICABLE
          : isRemoving(perturbation) || unsolvable > 0 || count > 0
          ? rateText(rate)
          : NOTHING,
    },
    {
      head: "unsolvable",
      cell: ({ unsolvable = 0 }) => unsolvable,
      // Where all are, there is no accuracy.
      shown: columns.some(({ unsolvable = 0, counted }) => unsolvable > 0 && unsolvable < counted),
    },
    { head: "API-level success", cell: ({ accepted }) => rateText(accepted.rate) },
    { head: "routing errors", cell: ({ routing }) => rateText(routing.rate) },
    { head: "trials", cell: ({ counted }) => counted },
    {
      head: "right calls known",
      cell: ({ known }) => known,
      shown: columns.some(({ counted, known }) => counted > known),
    },
    { head: "unchanged", cell: ({ unchanged }) => unchanged, shown: "filled" },
    { head: "invalid", cell: ({ invalid }) => invalid, shown: "filled" },
  ]);
  const details = brief
    ? ""
    : "; in brackets the 95% interval of none, else the difference to none on the same tasks in percentage points";
  const caption = { section: "perturbations", paper: "Butterfly" } as const;
  return [
    {
      ...caption,
      id: `failure-rates-${place + 1}`,
      title: `Failure rates under perturbations: ${nameOf(one)}`,
      source: "Table 1",
      note: `share of trials with such a failure${details}; under ${
        removingIn(columns)
      } abstained is right`,
      rows: brief ? transpose(rows) : rows,
    },
    ...(brief ? [] : tableOf(columns, {
      ...caption,
      id: `overall-rates-${place + 1}`,
      title: `Failures and missed calls under perturbations: ${nameOf(one)}`,
      source: "Eq. 1",
      note: `share of trials${details}; either: with a failure or a missed call`,
      columns: [name, overall],
    })),
  ];
}

function typeName(type: ParameterFailureType): string {
  return type.replaceAll("_", " ");
}

/** Returns a table with its columns as rows. */
function transpose(rows: Table["rows"]): Table["rows"] {
  return rows[0]!.map((_, index) => rows.map((row) => row[index]!));
}

/** Returns what a perturbation changes, such as `document+return`; `check` where it should have no effect. */
function sourcesOf(perturbation: string): string {
  if (isCheck(perturbation)) return "check";
  const sources: ReadonlyMap<string, string> = new Map(Object.entries(PERTURBED));
  const changed = perturbation.split("+")
    .flatMap((part) =>
      isFault(part) ? "fault" : isInjecting(part) ? "return" : sources.get(part) ?? []
    );
  return [...new Set(changed)].join("+") || NOTHING;
}

/** Names the perturbations under which no task can be solved; faults only where they occur. */
function removingIn(columns: readonly { readonly perturbation: string }[]): string {
  const isDenied = columns.some(({ perturbation }) => perturbation.includes("permission_denied"));
  return isDenied ? "RP_F, RP_L and permission_denied" : "RP_F and RP_L";
}

/** Formats a share as a whole percentage, never rounded to 0% or 100%. */
export function wholePercent(share: number): string {
  // 100 * 0.575 is 57.49999999999999.
  const whole = Math.round(Number((100 * share).toPrecision(12)));
  if (whole === 0 && share > 0) return "<1%";
  return whole === 100 && share < 1 ? ">99%" : `${whole}%`;
}

/** Returns which failures occur together or one after another (Butterfly, Fig. 4). */
function transferTable(one: Brittleness, place: number): Table[] {
  const { transfer, columns } = one;
  if (transfer.every((cell) => cell.of === 0)) return [];
  const isImpossible = (place: number) =>
    columns.every(({ failures, known }) => known === 0 || failures[place]!.impossible);
  return tableOf([...Map.groupBy(transfer, ({ from }) => from).values()], {
    id: `transfer-${place + 1}`,
    section: "perturbations",
    title: `Failures that occur together: ${nameOf(one)}`,
    paper: "Butterfly",
    source: "Fig. 4",
    note:
      "columns: trials that also have that failure; in brackets those with both in one call, and those with the " +
      "other in a later call, which may be the same; on the diagonal: again in a later call",
    columns: [
      { head: "given", cell: ([first]) => typeName(first!.from) },
      { head: "trials", cell: ([first]) => first!.of },
      PARAMETER_FAILURE_TYPES.map((type, index) => ({
        head: typeName(type),
        cell: (cells) => isImpossible(index) ? NOT_APPLICABLE : transferText(cells[index]!),
      })),
    ],
  });
}

function transferText({ of, either, together, later }: Transfer): string {
  if (of === 0) return NOTHING;
  return either === 0 ? "0" : `${either} (${together}, ${later})`;
}

/** Trials that are listed of one perturbation, at most; a report as JSON has more. */
const MAX_LISTED = 10;

/** Returns how often perturbations changed the input and nothing else, and in which trials (Butterfly, A.2). */
function ineffectiveTables(brittleness: readonly Brittleness[], brief: boolean): Table[] {
  const all = perturbed(brittleness, ({ ineffective }) => ineffective)
    .filter(({ count }) => count > 0);
  const listed = all.flatMap(({ trials, count, ...one }) => {
    const shown = trials.slice(0, MAX_LISTED);
    const more = count > shown.length ? [`and ${count - shown.length} more`] : [];
    return [...shown, ...more].map((id, place) => ({ name: place === 0 ? nameOf(one) : "", id }));
  });
  const title = "changed the input and nothing else";
  return [
    ...tableOf(all, {
      id: "ineffective",
      section: "perturbations",
      title: `Perturbations that ${title}`,
      paper: "Butterfly",
      source: "appendix A.2",
      note:
        "pairs: a trial under the perturbation and one without, on the same task; solved: of those without " +
        // An id has the space of two lines.
        `effect${brief ? "; HTML and Markdown reports list these trials" : ""}`,
      columns: [
        { head: "perturbation", cell: nameOf },
        { head: "pairs", cell: ({ of }) => of },
        { head: "no effect", cell: ({ count }) => count },
        rateColumns("share", (row) => row),
        { head: "solved", cell: ({ solved }) => solved },
      ],
    }),
    ...tableOf(brief ? [] : listed, {
      id: "ineffective-trials",
      section: "perturbations",
      title: `Trials whose perturbation ${title}`,
      names: 2,
      columns: [
        { head: "perturbation", cell: ({ name }) => name },
        { head: "trial", cell: ({ id }) => id },
      ],
    }),
  ];
}

/** Returns the effects of changes that should have none. */
function checksTable(brittleness: readonly Brittleness[]): Table[] {
  return tableOf(perturbed(brittleness, ({ flips }) => flips), {
    id: "checks",
    section: "perturbations",
    title: "Checks that should change nothing",
    note:
      "pairs: a trial under the check and one without, on the same task; gained: solved only under the check; by " +
      "chance: the share that differs among repetitions without it, up to which flips are expected",
    columns: [
      { head: "check", cell: nameOf },
      { head: "pairs", cell: ({ pairs }) => pairs },
      { head: "flipped", cell: ({ flipped }) => flipped.count },
      rateColumns("share", ({ flipped }) => flipped),
      { head: "gained", cell: ({ gained }) => gained },
      { head: "lost", cell: ({ lost }) => lost },
      { head: "by chance", cell: ({ byChance }) => shareText(byChance?.rate ?? null) },
    ],
  });
}

/** Returns what is known of each perturbation of each model, with its name. */
function perturbed<Own extends { readonly perturbation: string }>(
  brittleness: readonly Brittleness[],
  of: (one: Brittleness) => readonly Own[],
): (Own & Pick<Brittleness, "subject" | "simulated">)[] {
  return brittleness.flatMap((one) =>
    of(one).map((own) => ({
      ...own,
      subject: { ...one.subject, perturbation: own.perturbation },
      simulated: one.simulated,
    }))
  );
}
