/**
 * Comparison tables: pairs of variants on the same tasks, and the tasks that one of them solved more often.
 * @module
 */

import type { ChangedTask, ComparedPair, PairedSuccess } from "../../gate/comparison.ts";
import { caseOf } from "../../gate/variant.ts";
import { canonicalJson, listText, printable } from "../../base/json.ts";
import { countText, grouped, percent, probability } from "../../base/numbers.ts";
import { cellName } from "../metrics/metrics.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import { isCase, isGenerated, isQuestion } from "../../tasks/task_kind.ts";
import type { Report } from "../report.ts";
import { boundsText, type Column, layOut, nameOf, NOTHING } from "./table.ts";
import { noteOf, type Table } from "../_view.ts";
import { type ReportWords, reportWords } from "../_words.ts";

/** Pairs in a table, at most: JSON has all of them. */
const MAX_PAIRS = 40;
/** Pairs whose tasks are listed, and rows of these, at most; a generated graph has no name. */
const LISTED = { named: { pairs: 6, rows: 40 }, generated: { pairs: 3, rows: 12 } };
/** Tasks listed of a pair, at most and at least. */
const [MOST_TASKS, LEAST_TASKS] = [20, 4];
/** Pairs up to this adjusted p-value differ significantly. */
const SIGNIFICANT = 0.05;

/** The title of the pairs of a report. */
export const PAIRS = "Pairs compared";

/** A pair of a report, and its place in the list of pairs. */
type Compared = ComparedPair & Placed;

/** What has a place in the list of pairs of a report. */
interface Placed {
  readonly place?: number;
  /** Set if what it is compared with is simulated, and it is not. */
  readonly withSimulated?: boolean;
}

/** Returns the tables of all pairs of variants, and of the tasks that changed; none where nothing is compared. */
export function comparisonTables(
  { comparisons, subjects, ...report }: Pick<
    Report,
    "comparisons" | "subjects" | "unit" | "callSets"
  >,
): Table[] {
  const words = reportWords(report);
  const removing = new Set(
    subjects.flatMap(({ subject: { perturbation } }) =>
      isRemoving(perturbation) ? perturbation : []
    ),
  );
  const note = noteOf(
    `each pair differs in one thing, and has the ${words.tasks} of both; difference: share of ${
      countedOf(words)
    } that the candidate ${words.solved}, less that of the other, in percentage points, with its 95% interval`,
    `gained and lost: ${words.tasks} that the candidate ${words.solved} more and less often`,
    removing.size > 0 &&
      `${
        listText([...removing], 10)
      } left out, as no task can be solved under it: failure rates have the share that abstained`,
  );
  return pairTables(rankedPairs({ comparisons, subjects }), note, words, comparisons.length);
}

/**
 * Returns the pairs of a report to show, with their places, by what they are compared with: those with a reference
 * before significant ones, and these before others; where not all fit, significant ones with a reference before others
 * with one.
 */
export function rankedPairs({ comparisons, subjects }: Pick<Report, "comparisons" | "subjects">) {
  const isSignificant = ({ test }: ComparedPair) => test !== null && test.adjusted <= SIGNIFICANT;
  const rankOf = (pair: ComparedPair) => pair.reference ? 0 : isSignificant(pair) ? 1 : 2;
  // A pair is of simulated models if one of its two is: each is named as what it is by itself.
  const simulated = new Map(subjects.map((one) => [canonicalJson(one.subject), one.simulated]));
  const byRank = comparisons.map((pair, place) => {
    const [own, other] = [pair.subject, pair.against].map((one) =>
      simulated.get(canonicalJson(one)) ?? pair.simulated
    );
    return { ...pair, place, simulated: own!, ...(other && !own ? { withSimulated: true } : {}) };
  })
    .sort((one, other) =>
      rankOf(one) - rankOf(other) || Number(isSignificant(other)) - Number(isSignificant(one))
    );
  const shown = byRank.slice(0, MAX_PAIRS)
    .sort((one, other) => rankOf(one) - rankOf(other) || one.place - other.place);
  return [...Map.groupBy(shown, againstName).values()].flat();
}

/** Returns the table of the first of all pairs, and that of the tasks that changed. */
function pairTables(
  pairs: readonly Compared[],
  note: string | undefined,
  words: ReportWords,
  all: number,
): Table[] {
  if (pairs.length === 0) return [];
  const more = all - pairs.length;
  const counted = countedOf(words);
  const units = unitsOf(pairs, words);
  const isOwn = units === "trials";
  const [test, ...otherTests] = new Set(pairs.flatMap((pair) => pair.test?.name ?? []));
  const name = otherTests.length > 0 || test === undefined ? "p" : `${TESTS[test]} p`;
  return [{
    id: "comparisons",
    section: "comparisons",
    title: PAIRS,
    note: noteOf(
      note ?? false,
      `${name}: how often equally good ones would differ at least as much by chance` +
        (test === "sign-flip" || otherTests.length > 0
          ? " (sign flip: the test where a task ran several times)"
          : "") +
        (isOwn ? ", of all trials, while gained and lost count tests" : ""),
      all > 1 &&
        `adjusted p: the same for all ${all} pairs together, by Holm: a difference with at most ${SIGNIFICANT} is significant`,
      pairs.some(({ effort }) => effort.extra.tokens) &&
        `extra tokens: all tokens spent, divided by the ${counted} ${words.solved}, minus the same of the other`,
      pairs.some(({ missed }) => missed !== null) &&
        `missed calls, where there are any: how many more ${counted} have a needed call that was never made, in ` +
          "percentage points",
      "p does not know what a gate allows, nor that it stopped a run early, and verdicts do not depend on it",
      more > 0 &&
        `and ${
            countText(more, "more pair")
          }, all in the JSON report: these are the first, those with a ` +
          "reference and significant ones before others",
    ),
    names: 2,
    rows: layOut(pairs, [
      NAMES,
      comparisonColumns(units, sharesOf(words), isOwn),
      {
        head: name,
        cell: ({ test }) => test === null ? NOTHING : probability(test.p),
      },
      {
        head: "test",
        next: true,
        cell: ({ test }) => test === null ? NOTHING : TESTS[test.name],
        shown: otherTests.length > 0,
      },
      {
        head: "adjusted p",
        next: true,
        cell: ({ test }) => test === null ? NOTHING : probability(test.adjusted),
        shown: all > 1,
      },
      {
        head: "extra tokens",
        cell: ({ effort: { extra: { tokens } } }) =>
          tokens === 0 ? 0 : signed(tokens, (size) => grouped(Math.round(size))),
        shown: "filled",
      },
      {
        head: "extra cost",
        cell: ({ effort }) => signed(effort.extra.usd, smallDollars),
        shown: "filled",
      },
      MISSED_CALLS,
    ]),
  }, ...changedTable(pairs, words)];
}

/** The columns that name a pair. */
const NAMES: readonly Column<Compared>[] = [
  { head: "candidate", cell: nameOf },
  { head: "against", cell: againstName },
];

const TESTS = { mcnemar: "McNemar", "sign-flip": "sign flip" };

/** Names what a candidate is compared with by that in which both differ: the rest is as in the candidate. */
export function againstName(
  { of, against, subject, withSimulated }: Pick<
    Compared,
    "of" | "against" | "subject" | "withSimulated"
  >,
): string {
  const { model, variant } = against;
  // The id reads like "nothing".
  if (of === "perturbation" && against[of] === "none") return "no perturbation";
  if (of !== "model" && of !== "variant") return against[of];
  const name = of === "model" ? model + (withSimulated ? " (simulated)" : "") : undefined;
  const settings = of === "variant" || variant !== subject.variant ? variant : undefined;
  return [settings, name].filter((part) => part !== undefined).join(": ") || model;
}

/** Where a number of tasks leads. */
function changeLink({ place }: Placed, change: "gained" | "lost"): string | undefined {
  return place === undefined ? undefined : `?pair=${place}&change=${change}`;
}

/** A row of changed tasks. */
interface ChangedRow extends Compared {
  readonly task: string;
  /** Its place among the changes of its pair, from 1; omitted where a page does not list it. */
  readonly number?: number;
  readonly change: "gained" | "lost";
  /** How much of it was solved, and the difference. */
  readonly solved: readonly [against: string, candidate: string, difference: string];
  readonly proof?: NonNullable<ComparedPair["changed"]>["changed"][number] | undefined;
}

/** Lists the tasks that changed, those of each pair that were lost first; no table without any. */
function changedTable(pairs: readonly Compared[], words: ReportWords): Table[] {
  const changed = pairs.filter((pair) => changesOf(pair).length > 0);
  if (changed.length === 0) return [];
  const isGraph = changed.some(({ gained, lost }) =>
    [...gained, ...lost].some(({ task }) => isGenerated(task))
  );
  const limit = isGraph ? LISTED.generated : LISTED.named;
  const listed = changed.slice(0, limit.pairs);
  const each = Math.min(
    MOST_TASKS,
    Math.max(LEAST_TASKS, Math.floor(limit.rows / listed.length)),
  );
  const rows = listed.flatMap((pair) => {
    const changes = changesOf(pair);
    const more = changes.length - each;
    const rest = { ...pair, solved: [NOTHING, NOTHING, NOTHING] } as const;
    return [
      ...changes.slice(0, each),
      ...(more > 0 ? [{ ...rest, task: `and ${more} more`, change: changes[each]!.change }] : []),
    ];
  });
  const few = listed.flatMap(({ changed }) => changed?.needed ?? []);
  const isProved = rows.some(({ proof }) => proof !== undefined);
  const isOwn = words.cell === "test" || listed.every(({ changed }) => changed !== undefined);
  return [{
    id: "changed-tasks",
    section: "comparisons",
    title: `${isOwn ? "Tests" : "Tasks"} gained and lost`,
    // Behind the numbers of a pair, pages list all of its tasks; those of own tests have names.
    folded: !isOwn,
    note: noteOf(
      `of each pair those that were lost, then those gained, the largest change first, at most ${each}`,
      changed.length > listed.length &&
        `of the first ${listed.length} of ${countText(changed.length, "pair")} alone`,
      `${words.solved}: of the valid trials of both; difference in percentage points`,
      isProved &&
        "of own tests with Newcombe's 95% interval; proved: by Fisher's exact test, adjusted by Holm for the " +
          "number of tests of the pair, in a run that no result could end",
      isProved && few.length > 0 &&
        `with so few trials not even a complete change can be proved: that takes ${
          Math.max(...few)
        } of each test`,
    ),
    names: 3,
    rows: layOut<ChangedRow>(rows, [
      {
        head: isOwn ? "test" : "task",
        cell: ({ task }) => task,
        link: (row) => {
          const link = changeLink(row, row.change);
          return link !== undefined && row.number !== undefined
            ? `${link}&task=${row.number}`
            : link;
        },
      },
      ...NAMES,
      { head: "change", cell: ({ change }) => change },
      ...[...sharesOf(words), "difference"].map((head, place): Column<ChangedRow> => ({
        head,
        cell: ({ solved }) => solved[place]!,
      })),
      {
        head: "95% interval",
        next: true,
        cell: ({ proof }) => boundsText(proof ?? null, signedPoints),
        shown: "filled",
      },
      {
        head: "proved",
        cell: ({ proof }) => proof === undefined ? NOTHING : proof.proved ? "yes" : "no",
        shown: "filled",
      },
    ]),
  }];
}

/** The tasks of a pair that changed. */
function changesOf(pair: Compared): ChangedRow[] {
  const proofs = pair.changed?.changed ?? [];
  const byCase = new Map(proofs.map((proof) => [proof.case, proof]));
  const share = ({ solved, valid }: ChangedTask["candidate"]) => solved / valid;
  const shareText = ({ solved, valid }: ChangedTask["candidate"]) => `${solved} of ${valid}`;
  return (["lost", "gained"] as const).flatMap((change): ChangedRow[] =>
    pair[change].map(({ task, candidate, baseline }, place) => ({
      ...pair,
      change,
      task: taskName(task),
      proof: byCase.get(caseOf(task) ?? ""),
      number: place + 1,
      solved: [
        shareText(baseline),
        shareText(candidate),
        signedPoints(share(candidate) - share(baseline)),
      ],
    }))
  );
}

/** Names a task on one line. */
function taskName(task: ChangedTask["task"]): string {
  if (isCase(task)) return printable(task.case, 100);
  if (isQuestion(task)) return printable(`${task.question} (${cellName({ task })})`, 100);
  const seed = isGenerated(task) ? `, seed ${task.seed}` : "";
  return printable(cellName({ task }) + seed, 100);
}

/** A heading for what comparisons count. */
export function unitsOf(comparisons: readonly ComparedPair[], words: ReportWords): string {
  if (comparisons.some(({ cores }) => cores)) return "core graphs";
  return comparisons.every(({ changed }) => changed !== undefined) ? "trials" : countedOf(words);
}

/** What shares of success are of: each trial of an own test counts by itself. */
function countedOf({ cell, tasks }: ReportWords): string {
  return cell === "test" ? "trials" : tasks;
}

/** The headings of the shares of a pair. */
function sharesOf({ solved }: ReportWords): [against: string, candidate: string] {
  return [`against ${solved}`, `candidate ${solved}`];
}

/** What the columns of a comparison show. */
type Counted =
  & Pick<ComparedPair, "subject" | "simulated" | "graphs" | "leftOut" | "success">
  & Partial<Pick<ComparedPair, "gained" | "lost">>
  & Placed;

/**
 * Returns the columns of a comparison behind those that name it; `units`, `before` and `after` are the headings of what
 * is counted, and of the shares solved; `isOwn` is whether own tests are listed that changed.
 */
export function comparisonColumns(
  units: string,
  [before, after]: readonly [string, string],
  isOwn = false,
): Column<Counted>[] {
  const column = (head: string, cell: Column<PairedSuccess>["cell"]): Column<Counted> => ({
    head,
    cell: ({ success }) => success === null ? NOTHING : cell(success),
  });
  const linked = (change: "gained" | "lost"): Column<Counted> => {
    // Of own tests each trial is a graph, and what changes is a test; without a list, trials are counted.
    const count = (row: Counted) => row[change]?.length ?? row.success?.[change] ?? NOTHING;
    return {
      head: isOwn ? `tests ${change}` : change,
      cell: count,
      link: (row) => Number(count(row)) > 0 ? changeLink(row, change) : undefined,
    };
  };
  return [
    { head: units, cell: ({ graphs }) => graphs },
    { head: "left out", cell: ({ leftOut }) => leftOut, shown: "filled" },
    column(before, ({ baseline }) => percent(baseline)),
    column(after, ({ candidate }) => percent(candidate)),
    column("difference", ({ difference }) => signedPoints(difference)),
    {
      ...column("95% interval", ({ interval }) => boundsText(interval, signedPoints)),
      next: true,
    },
    linked("gained"),
    linked("lost"),
  ];
}

/** How many more tasks have a needed call that was never made. */
export const MISSED_CALLS: Column<Pick<ComparedPair, "missed">> = {
  head: "missed calls",
  cell: ({ missed }) =>
    missed === null
      ? NOTHING
      : missed.candidate === 0 && missed.baseline === 0
      ? 0
      : differenceText(missed),
  shown: "filled",
};

/** Formats a difference of shares in percentage points, with its interval. */
export function differenceText({ difference, interval }: PairedSuccess): string {
  return signedPoints(difference) +
    (interval === null ? "" : `, ${boundsText(interval, signedPoints)}`);
}

/** Formats a difference of shares in percentage points. */
export function signedPoints(share: number): string {
  return signed(share, (size) => (100 * size).toFixed(1));
}

/** Formats a number with its sign, also where it rounds to zero. */
function signed(value: number | null, show: (size: number) => string): string {
  if (value === null) return NOTHING;
  // Sums of shares may differ from zero by a rounding error.
  if (Math.abs(value) < 1e-12) return show(0);
  return (value < 0 ? "-" : "+") + show(Math.abs(value));
}

/** Formats an amount that is often less than a cent. */
function smallDollars(usd: number): string {
  return `$${usd.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}
