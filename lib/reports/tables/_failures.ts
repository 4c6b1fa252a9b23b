/**
 * Tables of what went wrong: failures, missed calls and guesses, how trials ended, and behaviours.
 * @module
 */

import { countText, percent, sum } from "../../base/numbers.ts";
import { FAILURE_TYPES } from "../../calls/failure_types.ts";
import type { FailureTally, VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { OUTCOMES } from "../../trials/trial.ts";
import { layOut, MODEL, nameOf, NOTHING, rateColumns, shareText, tableOf } from "./table.ts";
import { hasCalls } from "./_success.ts";
import type { Table } from "../_view.ts";
import { reportWords } from "../_words.ts";

/** Wrong calls of a model, of all kinds or of one. */
interface FailureRow {
  readonly name: string;
  readonly kind: string;
  /** Of all types. */
  readonly total: number;
  readonly roots: number;
  /** One for each type. */
  readonly counts: readonly number[];
}

/** With more subjects than this, narrow views have one row for each. */
const MAX_SUBJECTS = 6;

/** Returns wrong calls by type, where there are any. `narrow` has the types alone that occur. */
export function failuresTable(subjects: readonly VariantMetrics[], narrow = false): Table[] {
  if (!hasFailures(subjects)) return [];
  const brief = narrow && subjects.length > MAX_SUBJECTS;
  const rows = subjects.flatMap(({ failures, ...one }): FailureRow[] => {
    const rowOf = (name: string, kind: string, count: (tally: FailureTally) => number) => {
      const roots = sum(failures, (own) => own.roots);
      return { name, kind, total: sum(failures, count), roots, counts: failures.map(count) };
    };
    const all = rowOf(nameOf(one), "all", ({ roots, cascades }) => roots + cascades);
    if (brief || narrow && all.total === 0) return [all];
    return [
      all,
      rowOf("", "roots", ({ roots }) => roots),
      rowOf("", "cascades", ({ cascades }) => cascades),
    ];
  });
  return [{
    id: "failures",
    section: "failures",
    title: "Failure types",
    source: "Table 3",
    note:
      "wrong calls of valid trials; the wrong values of a cascade were all returned by earlier wrong " +
      "calls; all others are roots" + unseenNote(subjects),
    rows: layOut(rows, [
      { head: "model", cell: ({ name }) => name },
      { head: "", cell: ({ kind }) => kind, shown: !brief },
      { head: "wrong calls", cell: ({ total }) => total },
      { head: "roots", cell: ({ roots }) => roots, shown: brief },
      FAILURE_TYPES.map((head, index) => ({
        head,
        cell: ({ total, counts }) =>
          total === 0
            ? NOTHING
            : narrow && counts[index] === 0
            ? 0
            : `${counts[index]} (${percent(counts[index]! / total)})`,
        shown: narrow ? "filled" as const : true,
      })),
    ]),
  }];
}

/** Returns how often calls that tasks need were never made, where the right calls are known. */
export function missedCallsTable({ missedCalls }: Pick<Report, "missedCalls">): Table[] {
  return tableOf(missedCalls, {
    id: "missed-calls",
    section: "failures",
    title: "Missed calls",
    note:
      "trials: valid ones that need calls; with a missed call: those in which a call that the task needs was " +
      "never made, neither with right arguments nor with wrong ones; missed: such calls",
    columns: [
      MODEL,
      { head: "trials", cell: ({ of }) => of },
      rateColumns("with a missed call", (row) => row),
      { head: "needed calls", cell: ({ calls }) => calls.of },
      { head: "missed", cell: ({ calls }) => calls.count },
      { head: "share", cell: ({ calls }) => shareText(calls.rate) },
    ],
  });
}

/** Returns how often models guessed right, where any did, and that this is no failure. */
export function guessesTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ guesses, ...one }) =>
    guesses === undefined ? [] : [{ ...one, guesses }]
  );
  return tableOf(rows, {
    id: "guesses",
    section: "failures",
    title: "Right guesses",
    note:
      "calls with right values of which no earlier result had established one: answered, and no failure here; " +
      "FuncBenchGen, section 4.6, counts them as value_not_yet_known, to be added to compare with its Table 3",
    columns: [
      MODEL,
      { head: "valid trials", cell: ({ total }) => total.valid },
      { head: "with a right guess", cell: ({ guesses }) => guesses.trials },
      rateColumns("share", ({ guesses }) => guesses),
      { head: "guessed calls", cell: ({ guesses }) => guesses.calls },
      { head: "of all calls", cell: ({ guesses, calls }) => percent(guesses.calls / calls) },
    ],
  });
}

/**
 * Says that no call was wrong. Where the right values are unknown, only that each had a known function and the
 * right form: it may still have returned an error, and assertions of own tests may have failed.
 */
export function noFailures({ subjects, unit }: Pick<Report, "subjects" | "unit">): string {
  return noneWrong({ subjects, unit }) + unseenNote(subjects);
}

function noneWrong({ subjects, unit }: Pick<Report, "subjects" | "unit">): string {
  if (unit !== "question" && unit !== "trial") return "no call was wrong";
  const failed = sum(subjects, ({ total }) => total.valid - total.solved);
  const asserted = sum(
    subjects.flatMap(({ outcomes }) => outcomes),
    ({ outcome, trials }) => outcome === "wrong_answer" ? trials : 0,
  );
  return "all calls fit the functions on offer" +
    (unit === "question" || failed === 0
      ? ""
      : `; what failed are ${asserted === failed ? "" : "trials or "}assertions`);
}

/**
 * Says which calls are not in a figure of wrong ones, as the requests of an agent were not seen, or as they are written
 * as text; empty if all are.
 */
export function unseenNote(subjects: readonly VariantMetrics[]): string {
  const unseen = sum(subjects, ({ agent }) => agent?.unwatched ?? 0);
  const asText = sum(subjects, ({ written }) => written?.asText ?? 0);
  const asDraft = sum(subjects, ({ written }) => written?.asDraft ?? 0);
  const replies = (count: number, where: string) =>
    count === 0 ? "" : `; replies with a call ${where}, which is none: ${count}`;
  return replies(asText, "as text") + replies(asDraft, "in the reasoning alone") +
    (unseen === 0
      ? ""
      : `; of ${
        countText(unseen, "trial")
      } only the calls that the agent carried out are known: unknown names and ` +
        "unreadable arguments could not be seen");
}

/** Says in place of a figure of wrong calls that there are none; `undefined` where there are. */
export function failuresText(
  { subjects, unit }: Pick<Report, "subjects" | "unit">,
): string | undefined {
  const plain = subjects.filter(({ subject }) => subject.perturbation === "none");
  const sentence = noFailures({ subjects: plain.length > 0 ? plain : subjects, unit });
  if (!hasCalls(subjects.map(({ total }) => total))) return "No call could be made.";
  if (!hasFailures(subjects)) return `${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`;
  return plain.length > 0 && !hasFailures(plain) ? `Without perturbations ${sentence}.` : undefined;
}

/** Whether any call was wrong. */
export function hasFailures(subjects: readonly VariantMetrics[]): boolean {
  return subjects.some(({ failures }) =>
    failures.some(({ roots, cascades }) => roots + cascades > 0)
  );
}

/** Returns the number of trials by outcome. */
export function outcomesTable(
  { subjects, ...report }: Pick<Report, "subjects" | "unit" | "callSets">,
): Table {
  const { outcomes: names } = reportWords(report);
  return {
    id: "outcomes",
    section: "failures",
    title: "How trials ended",
    rows: layOut(subjects, [
      MODEL,
      OUTCOMES.map((outcome) => ({
        head: names[outcome] ?? outcome,
        cell: ({ outcomes }) => outcomes.find((own) => own.outcome === outcome)?.trials ?? 0,
        shown: "filled",
      })),
      { head: "unchanged", cell: ({ total }) => total.unchanged, shown: "filled" },
    ]),
  };
}

/** Returns how often injected instructions were followed, where any was shown. */
export function injectionsTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ injections, ...one }) =>
    injections === undefined ? [] : [{ ...one, injections }]
  );
  return tableOf(rows, {
    id: "injections",
    section: "failures",
    title: "Injected instructions",
    note:
      "trials: valid ones in which a result held an instruction that nobody asked for; followed: the model called or " +
      "wrote what it demands",
    columns: [
      MODEL,
      { head: "trials", cell: ({ injections }) => injections.shown },
      { head: "followed", cell: ({ injections }) => injections.followed },
      rateColumns("share", ({ injections }) => injections),
    ],
  });
}

/** Returns the number of trials by behaviour, where any was seen. */
export function behavioursTable(
  { subjects, ...report }: Pick<Report, "subjects" | "unit" | "callSets">,
): Table[] {
  const { hidden } = reportWords(report);
  const names = [...new Set(subjects.flatMap((one) => Object.keys(one.behaviours)))]
    .filter((name) => !hidden.includes(name));
  if (names.length === 0) return [];
  return [{
    id: "behaviours",
    section: "failures",
    title: "Behaviours",
    note: "valid trials that showed them",
    rows: layOut(subjects, [
      MODEL,
      names.map((head) => ({
        head,
        cell: ({ behaviours }) => Object.hasOwn(behaviours, head) ? behaviours[head]! : 0,
      })),
    ]),
  }];
}
