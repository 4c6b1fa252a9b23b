/**
 * Comparisons: pairs of variants on the same tasks, and the tasks that one of them solved more often.
 * @module
 */

import { printable } from "../../base/json.ts";
import { countText, sum } from "../../base/numbers.ts";
import type { ChangedTask, ComparedPair } from "../../gate/comparison.ts";
import { caseOf } from "../../gate/variant.ts";
import { isRemoving } from "../../perturbations/ids.ts";
import { isCase, isQuestion } from "../../tasks/task_kind.ts";
import { cellName } from "../cells.ts";
import type { Column } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import { subjectColumns } from "../_subjects.ts";
import { noteOf } from "../_view.ts";
import type { ReportWords } from "../_words.ts";
import { againstName, differenceColumns } from "./_differences.ts";
import { decidedPlaces } from "./_headline.ts";

/** Pairs in a table, at most: JSON has all of them. */
const MAX_PAIRS = 40;
/** Tasks that are listed of a change of a pair, and rows, at most: pages have all behind the numbers of a pair. */
const [MOST_TASKS, MOST_ROWS] = [12, 40];
/** Pairs up to this adjusted p-value differ significantly. */
export const SIGNIFICANT = 0.05;

/** A pair of a report, and its place among all of them. */
interface Compared extends ComparedPair {
  readonly place: number;
}

/**
 * Returns the pairs of a report, by what they are compared with: those with a reference before significant ones, and
 * these before others; where not all are shown, significant ones with a reference come before others with one.
 */
function rankedPairs({ comparisons, nameOf }: Report): Compared[] {
  const isSignificant = ({ test }: ComparedPair) => test !== null && test.adjusted <= SIGNIFICANT;
  const rankOf = (pair: ComparedPair) => pair.reference ? 0 : isSignificant(pair) ? 1 : 2;
  const byRank = comparisons.map((pair, place): Compared => ({ ...pair, place })).sort((
    one,
    other,
  ) => rankOf(one) - rankOf(other) || Number(isSignificant(other)) - Number(isSignificant(one)));
  const shown = byRank.slice(0, MAX_PAIRS)
    .sort((one, other) => rankOf(one) - rankOf(other) || one.place - other.place);
  const groups = Map.groupBy(shown, (pair) => againstName(pair, nameOf));
  return [...[...groups.values()].flat(), ...byRank.slice(MAX_PAIRS)];
}

/** Where a number of tasks leads. */
function changeLink({ place }: Compared, change: "gained" | "lost"): string {
  return `#?pair=${place}&change=${change}`;
}

/** Where a task that changed leads. */
const taskLink = (row: ChangedRow) => `${changeLink(row, row.change)}&task=${row.number}`;

/** Returns the number of pairs with a test: Holm's adjustment is for all of these. */
export function testedPairs({ comparisons }: Report): number {
  return comparisons.filter(({ test }) => test !== null).length;
}

/** A heading for what comparisons count. */
export function unitsOf(pairs: readonly ComparedPair[], words: ReportWords): string {
  if (pairs.some(({ cores }) => cores)) return "core graphs";
  return pairs.every(({ changed }) => changed !== undefined) ? "trials" : countedOf(words);
}

/** What shares of success are of: each trial of an own test counts by itself. */
function countedOf({ cell, tasks }: ReportWords): string {
  return cell === "test" ? "trials" : tasks;
}

/** The headings of the shares of a pair. */
function sharesOf({ solved }: ReportWords): [against: string, candidate: string] {
  return [`against ${solved}`, `candidate ${solved}`];
}

/** What names a pair. */
type NamedPair = Omit<ComparedPair, "gained" | "lost">;

/** Returns the columns that name a pair. */
export function pairColumns(report: Report): Column<NamedPair>[] {
  return [
    ...subjectColumns(report, "candidate"),
    {
      ...{ head: "against", unit: "name", variant: ({ against }) => against },
      value: (pair) => againstName(pair, report.nameOf),
    },
    { id: "of", unit: "name", value: ({ of }) => of, shown: false },
    ...(["model", "strategy", "perturbation", "variant"] as const).map((id): Column<NamedPair> => ({
      ...{ id: `against_${id}`, unit: "name", shown: false },
      value: ({ against }) => against[id],
    })),
  ];
}

const TESTS = { mcnemar: "McNemar", "sign-flip": "sign flip" };

/** All pairs of variants that differ in one thing. */
export const PAIRS = metric(rankedPairs, {
  id: "comparisons",
  section: "comparisons",
  title: "Pairs compared",
  listed: (pairs) => pairs.slice(0, MAX_PAIRS),
  note: (pairs, report) => {
    const { words, comparisons, subjects } = report;
    const removing = new Set(
      subjects.map(({ subject }) => subject.perturbation).filter((id) => isRemoving(id)),
    );
    const more = comparisons.length - pairs.length;
    return noteOf(
      `each pair differs in one thing, and has the ${words.tasks} of both; difference: of the shares ${words.solved}, in ` +
        "percentage points",
      decidedPlaces(report).size > 0 &&
        "without an interval: a gate decided, whose bounds stand in the headline",
      `gained and lost: ${words.tasks} that the candidate ${words.solved} more and less often`,
      pairs.length > 1 &&
        `a difference with an adjusted p of at most ${SIGNIFICANT} is significant`,
      removing.size > 0 && `${[...removing].join(", ")}: left out, as no task can be solved there`,
      more > 0 && `and ${countText(more, "more pair")}, all in the JSON report`,
    );
  },
  columns: (pairs, report) => {
    const { words } = report;
    const decided = decidedPlaces(report);
    const units = unitsOf(pairs, words);
    const [test, ...others] = new Set(pairs.flatMap((pair) => pair.test?.name ?? []));
    const name = others.length > 0 || test === undefined ? "p" : `${TESTS[test]} p`;
    return [
      pairColumns(report),
      differenceColumns<Compared>(units, sharesOf(words), {
        isOwn: units === "trials",
        link: changeLink,
        // Of a single pair the headline has the rates and their difference.
        hasRates: pairs.length > 1,
        isBounded: ({ place }) => !decided.has(place),
      }),
      {
        ...{ id: "p", head: name, unit: "probability", value: ({ test }) => test?.p },
        about: "how often equally good ones would differ at least as much by chance",
      },
      {
        ...{ id: "test", unit: "text", next: true, shown: others.length > 0 },
        value: ({ test }) => test?.name,
        text: ({ test }) => test === null ? undefined : TESTS[test.name],
      },
      {
        ...{ id: "p_adjusted", head: "adjusted p", unit: "probability", next: true },
        ...{ value: ({ test }) => test?.adjusted, shown: pairs.length > 1 },
        about: `the same for all ${testedPairs(report)} pairs together, by Holm`,
      },
      { id: "p_draws", unit: "count", value: ({ test }) => test?.sampled, shown: false },
      {
        ...{ id: "extra_tokens", unit: "more", shown: "filled" },
        value: ({ effort }) => effort.extra.tokens,
        about: `all tokens spent, divided by the ${
          countedOf(words)
        } ${words.solved}, less those of the other`,
      },
      {
        ...{ id: "extra_usd", head: "extra cost", unit: "moreCost", shown: "filled" },
        value: ({ effort }) => effort.extra.usd,
      },
      (["tokens", "calls", "usd"] as const).flatMap((part): Column<Compared>[] => [
        {
          ...{ id: `${part}_per_solved`, unit: "mean", shown: false },
          value: ({ effort }) => effort.candidate[part],
        },
        {
          ...{ id: `against_${part}_per_solved`, unit: "mean", shown: false },
          value: ({ effort }) => effort.baseline[part],
        },
      ]),
    ];
  },
});

/** A task that changed. */
interface ChangedRow extends Compared {
  readonly task: ChangedTask;
  readonly change: "gained" | "lost";
  /** Its place among the changes of its pair, from 1. */
  readonly number: number;
  /** Of the shares solved. */
  readonly difference: number;
  readonly proof: NonNullable<ComparedPair["changed"]>["changed"][number] | undefined;
}

/** The tasks that one of two solved more often, of each pair those that were lost first. */
const CHANGED = metric(
  (report) =>
    PAIRS.rows(report).flatMap((pair) => {
      const proofs = pair.changed?.changed ?? [];
      const byCase = new Map(proofs.map((proof) => [proof.case, proof]));
      return (["lost", "gained"] as const).flatMap((change) =>
        pair[change].map((task, place): ChangedRow => {
          const { task: spec, candidate, baseline } = task;
          return {
            ...{ ...pair, change, task, number: place + 1 },
            difference: candidate.solved / candidate.valid - baseline.solved / baseline.valid,
            proof: byCase.get(caseOf(spec) ?? ""),
          };
        })
      );
    }),
  {
    id: "changed-tasks",
    section: "comparisons",
    title: (rows, { words }) => `${isOfTests(rows, words) ? "Tests" : "Tasks"} gained and lost`,
    columns: (rows, report) => {
      const shares = sharesOf(report.words);
      const share = (side: "candidate" | "baseline", head: string): Column<ChangedRow>[] =>
        (["solved", "valid"] as const).map((part) => ({
          ...{ id: `${side}_${part}`, head, unit: "count", shown: part === "solved" },
          value: ({ task }) => task[side][part],
          text: ({ task }) => `${task[side].solved} of ${task[side].valid}`,
        }));
      return [
        {
          unit: "name",
          head: isOfTests(rows, report.words) ? "test" : "task",
          value: ({ task }) => taskName(task.task),
          link: taskLink,
        },
        pairColumns(report),
        { id: "change", unit: "text", value: ({ change }) => change },
        share("baseline", shares[0]),
        share("candidate", shares[1]),
        {
          ...{ id: "difference", unit: "points" },
          value: ({ difference: value, proof: interval }) => ({ value, interval }),
          about: "of the valid trials of both, in percentage points",
        },
        {
          ...{ id: "proved", unit: "text", shown: "filled" },
          value: ({ proof }) => proof?.proved,
          text: ({ proof }) => proof === undefined ? undefined : proof.proved ? "yes" : "no",
          about:
            "by Fisher's exact test, adjusted by Holm for the number of tests of the pair, in a run that no " +
            "result could end",
        },
        { id: "task", unit: "text", value: ({ task }) => JSON.stringify(task.task), shown: false },
        { id: "trials", unit: "text", value: ({ task }) => task.trials[0], shown: false },
        { id: "against_trials", unit: "text", value: ({ task }) => task.trials[1], shown: false },
      ];
    },
    listed: (rows) => rows.filter(({ number }) => number <= MOST_TASKS).slice(0, MOST_ROWS),
    // Behind the numbers of a pair, pages list all of its tasks; those of own tests have names.
    folded: (rows, { words }) => !isOfTests(rows, words),
    note: (rows, report) => {
      const few = rows.flatMap(({ changed }) => changed?.needed ?? []);
      const all = sum(report.comparisons, ({ gained, lost }) => gained.length + lost.length);
      return noteOf(
        "of each pair those that were lost, then those gained, the largest change first" +
          (rows.length < all ? `: ${rows.length} of ${all}` : ""),
        rows.some(({ proof }) => proof) && "proved: with all tests of the pair taken together",
        few.length > 0 &&
          `with so few trials not even a complete change can be proved: that takes ${
            Math.max(...few)
          } of each test`,
      );
    },
  },
);

function isOfTests(rows: readonly ChangedRow[], words: ReportWords): boolean {
  return words.cell === "test" || rows.every(({ changed }) => changed !== undefined);
}

/** Names a task on one line. */
function taskName(task: ChangedTask["task"]): string {
  if (isCase(task)) return printable(task.case, 100);
  if (isQuestion(task)) return printable(`${task.question} (${cellName({ task })})`, 100);
  return printable(`${cellName({ task })}, seed ${task.seed}`, 100);
}

/** The metrics of comparisons. */
export const COMPARED: readonly Metric[] = [PAIRS, CHANGED];
