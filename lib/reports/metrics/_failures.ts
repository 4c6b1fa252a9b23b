/**
 * What went wrong: failures of calls, guesses, how trials ended, behaviours, and repeated tasks.
 * @module
 */

import { countText, mean, percent, sum } from "../../base/numbers.ts";
import { FAILURE_TYPES, PARAMETER_FAILURE_TYPES } from "../../calls/failure_types.ts";
import { signsOf } from "../../gate/ceilings.ts";
import { graphKey, isCounted, isUnwatched, missesCall, needsCalls } from "../../gate/variant.ts";
import { passAtK, passHatK } from "../../statistics/pass_at_k.ts";
import { isCase } from "../../tasks/task_kind.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { type Outcome, OUTCOMES } from "../../trials/trial.ts";
import type { Column } from "../columns.ts";
import { UNAVAILABLE } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import { type Subject, subjectColumns, type SubjectTrials } from "../_subjects.ts";
import { countOf, meanInterval, shareOf } from "./_tally.ts";

/** A subject with its wrong calls. */
interface WrongCalls extends SubjectTrials {
  readonly wrong: TrialSummary["failures"];
}

/** Wrong calls of valid trials by type (FuncBenchGen, Table 3). */
const FAILURES = metric(
  ({ subjects }) =>
    subjects.map((one): WrongCalls => (
      { ...one, wrong: one.counted.flatMap(({ failures }) => failures) }
    )),
  {
    id: "failures",
    section: "failures",
    title: "Failure types",
    source: "Table 3",
    note: (_, report) =>
      "wrong calls of valid trials; the wrong values of a cascade were all returned by earlier wrong calls; all others " +
      `are roots${unseenNote(report)}`,
    shown: (rows) => rows.some(({ wrong }) => wrong.length > 0),
    columns: (_, report) => [
      subjectColumns(report),
      { id: "wrong_calls", unit: "count", value: ({ wrong }) => wrong.length },
      { id: "roots", unit: "count", value: ({ wrong }) => wrong.filter(({ root }) => root).length },
      FAILURE_TYPES.flatMap((type): Column<WrongCalls>[] => {
        const own = ({ wrong }: WrongCalls) => wrong.filter((one) => one.type === type);
        return [
          {
            ...{ id: type, head: type, unit: "count", shown: "filled" },
            value: (row) => own(row).length,
            text: (row) =>
              own(row).length === 0
                ? undefined
                : `${own(row).length} (${percent(own(row).length / row.wrong.length)})`,
          },
          {
            ...{ id: `${type}_roots`, unit: "count", shown: false },
            value: (row) => own(row).filter(({ root }) => root).length,
          },
        ];
      }),
    ],
  },
);

function isPlain({ subject }: Subject): boolean {
  return subject.perturbation === "none";
}

/** At most this many parameters are shown for each model, strategy and perturbation. */
const MAX_PARAMETERS = 10;
/** At most this many parameters of a tool have a row: models may make up names where a tool takes any. */
const MAX_PARAMETER_ROWS = 200;

/**
 * Failures by tool and parameter, where tools are the same in all trials (Butterfly, section 3): the parameters of a
 * subject with the most wrong calls first. Generated tasks have names of their own, so that they have none.
 */
const PARAMETER_FAILURES = metric(({ subjects }) =>
  subjects.flatMap(({ counted, ...one }) => {
    const uses = counted.flatMap(({ task, toolFailures = [] }) =>
      toolFailures.map((use) => ({ ...use, task }))
    );
    return [...Map.groupBy(uses, ({ tool }) => tool)].flatMap(([tool, own]) => {
      const calls = sum(own, (use) => use.calls);
      const all = own.flatMap((use) => use.failures.map((failure) => ({ ...failure, use })));
      return Array.from(Map.groupBy(all, (failure) => failure.parameter), ([parameter, wrong]) => ({
        ...{ ...one, tool, parameter, own, wrong, calls },
        failed: sum(wrong, (failure) => failure.calls),
      })).sort(byFailed).slice(0, MAX_PARAMETER_ROWS);
    }).sort(byFailed).map((row, place) => ({ ...row, place }));
  }), {
  id: "parameter-failures",
  section: "failures",
  paper: "Butterfly",
  source: "section 3",
  title: "Failures by tool and parameter",
  note: (rows) =>
    `of calls compared with the right ones, in valid ${
      rows.every(isPlain) ? "unperturbed " : ""
    }trials; for each model and strategy the ${MAX_PARAMETERS} parameters with the most wrong calls`,
  // A table for every perturbation would be too long.
  listed: (rows) =>
    (rows.some(isPlain) ? rows.filter(isPlain) : rows)
      .filter(({ place }) => place < MAX_PARAMETERS),
  columns: (_, report) => [
    subjectColumns(report),
    { id: "tool", unit: "name", value: ({ tool }) => tool },
    {
      ...{ id: "parameter", unit: "name", value: ({ parameter }) => parameter },
      text: ({ parameter }) => parameter === "" ? "all arguments" : undefined,
    },
    {
      ...{ id: "trials", head: "trials with one", unit: "share", inline: true },
      value: ({ own, wrong }) => {
        const failing = new Set(wrong.map(({ use }) => use));
        return shareOf(own, (use) => failing.has(use));
      },
      about: "of those that call the tool",
    },
    {
      ...{ id: "calls", head: "wrong calls", unit: "share", inline: true },
      value: ({ failed, calls }) => countOf(failed, calls),
      about: "of the tool",
    },
    PARAMETER_FAILURE_TYPES.map((type) => ({
      ...{ id: type, unit: "count", shown: "filled" },
      value: ({ wrong }) => sum(wrong.filter((one) => one.type === type), ({ calls }) => calls),
    })),
  ],
});

function byFailed(one: { readonly failed: number }, other: { readonly failed: number }): number {
  return other.failed - one.failed;
}

/** Calls with a right value that no earlier result had established. */
const GUESSES = metric(
  ({ subjects }) =>
    subjects.filter(({ counted }) => counted.some(({ guessed = 0 }) => guessed > 0)).map((one) => ({
      ...one,
      guessed: sum(one.counted, ({ guessed = 0 }) => guessed),
    })),
  {
    id: "guesses",
    section: "failures",
    title: "Right guesses",
    note:
      "calls with right values of which no earlier result had established one: answered, and no failure here; " +
      "FuncBenchGen, section 4.6, counts them as value_not_yet_known, to be added to compare with its Table 3",
    columns: (_, report) => [
      subjectColumns(report),
      {
        id: "trials",
        head: "trials with one",
        unit: "share",
        value: ({ counted }) => shareOf(counted, ({ guessed = 0 }) => guessed > 0),
      },
      { id: "calls", head: "guessed calls", unit: "count", value: ({ guessed }) => guessed },
      {
        id: "of_calls",
        head: "of all calls",
        unit: "share",
        value: ({ guessed, counted }) => guessed / sum(counted, ({ calls }) => calls),
      },
    ],
  },
);

/** Replies with calls that are no calls. */
const TEXT_CALLS = metric(
  ({ subjects }) => subjects.filter(({ counted }) => counted.some(({ written }) => written)),
  {
    ...{ id: "text-calls", line: true, section: "failures", title: "Calls written as text" },
    note: "replies with a call in their text, which is none; others with a draft in the reasoning",
    columns: (_, report) => [
      subjectColumns(report),
      Object.entries({ as_text: "asText", as_draft: "asDraft" } as const).map(([id, part]) => ({
        ...{ id, unit: "count" },
        value: ({ counted }) => sum(counted, ({ written }) => written?.[part] ?? 0),
      })),
    ],
  },
);

/** Outcomes that tables of success tell apart, or that are answers. */
const PLAIN_OUTCOMES: readonly Outcome[] = [
  ...["solved", "wrong_answer", "no_answer", "abstained", "invalid"] as const,
];

/** How trials ended, without unchanged ones. */
const OUTCOME_COUNTS = metric(({ subjects }) => subjects, {
  id: "outcomes",
  section: "failures",
  title: "How trials ended",
  line: true,
  from: (rows) =>
    rows.some(({ trials }) => trials.some(({ outcome }) => !PLAIN_OUTCOMES.includes(outcome)))
      ? "run"
      : "page",
  columns: (_, report) => [
    subjectColumns(report),
    OUTCOMES.map((outcome): Column<SubjectTrials> => ({
      ...{ id: outcome, head: report.words.outcomes[outcome] ?? outcome },
      ...{ unit: "count", shown: "filled" },
      value: ({ trials }) =>
        trials.filter((trial) => trial.outcome === outcome && trial.changed !== false).length,
    })),
  ],
});

/** Behaviours in valid trials. */
const BEHAVIOURS = metric(({ subjects }) => subjects, {
  id: "behaviours",
  line: true,
  section: "failures",
  title: "Behaviours",
  note: "valid trials that showed them",
  shown: (rows, report) => signsIn(rows, report).length > 0,
  columns: (rows, report) => [
    subjectColumns(report),
    signsIn(rows, report).map((sign): Column<SubjectTrials> => ({
      ...{ id: sign, head: sign, unit: "count" },
      value: ({ counted }) => counted.filter((trial) => signsOf(trial).includes(sign)).length,
    })),
  ],
});

function signsIn(rows: readonly SubjectTrials[], { words }: Report): string[] {
  const all = rows.flatMap(({ counted }) => counted.flatMap((trial) => [...signsOf(trial)]));
  return [...new Set(all)].filter((sign) => !words.hidden.includes(sign));
}

/** How often injected instructions were followed. */
const INJECTIONS = metric(
  ({ subjects }) =>
    subjects.flatMap((one) => {
      const shown = one.counted.filter(({ injected }) => injected);
      return shown.length === 0 ? [] : [{ ...one, shown }];
    }),
  {
    id: "injections",
    line: true,
    section: "failures",
    title: "Injected instructions",
    columns: (_, report) => [
      subjectColumns(report),
      {
        id: "shown",
        head: "trials",
        unit: "count",
        value: ({ shown }) => shown.length,
        about: "valid ones in which a result held an instruction that nobody asked for",
      },
      {
        id: "followed",
        unit: "share",
        value: ({ shown }) =>
          shareOf(shown, ({ behaviours }) => behaviours.includes("followed_injection")),
        about: "the model called or wrote what it demands",
      },
    ],
  },
);

/** The numbers of trials that are drawn, of as many as there are: the first ones, then twice as many each time. */
function drawnOf(most: number): number[] {
  const all = Array.from({ length: most }, (_, place) => place + 1);
  return all.filter((k) => k <= 4 || k === most || Number.isInteger(Math.log2(k)));
}

/** Agreement of repetitions: means over the graphs, or the tests, that have k valid trials or more. */
const REPETITIONS = metric(
  ({ subjects }) =>
    subjects.flatMap(({ trials, ...one }) => {
      const meant = trials.filter(({ changed, unsolvable }) =>
        changed !== false && unsolvable === undefined
      );
      // Each trial of a test has a seed of its own.
      const graphs = [
        ...Map.groupBy(meant, ({ task }) => isCase(task) ? task.case : graphKey(task)).values(),
      ];
      const most = graphs.reduce((most, { length }) => Math.max(most, length), 0);
      // Of one test, its rate says it all.
      if (most < 2 || graphs.length < 2 && isCase(meant[0]!.task)) return [];
      const valid = graphs.map((graph) => graph.filter(isCounted));
      return drawnOf(most).map((k) => {
        const whole = valid.filter(({ length }) => length >= k);
        const meanOf = (estimate: typeof passAtK) => {
          const shares = whole.map((graph) =>
            estimate(graph.filter(({ solved }) => solved).length, graph.length, k)!
          );
          return { value: mean(shares), interval: meanInterval(shares.map((share) => [share])) };
        };
        return {
          ...{ ...one, k, tasks: whole.length, unavailable: valid.length - whole.length },
          ...{ pass_at_k: meanOf(passAtK), pass_hat_k: meanOf(passHatK) },
        };
      });
    }),
  {
    id: "repetitions",
    section: "failures",
    title: (_, { words }) => `Repeated ${words.tasks}`,
    columns: (_, report) => [
      subjectColumns(report),
      { id: "k", unit: "count", value: ({ k }) => k },
      {
        ...{ id: "pass_at_k", head: "pass@k", unit: "share" },
        value: (row) => row.pass_at_k,
        text: ({ tasks }) => tasks === 0 ? UNAVAILABLE : undefined,
        about: `at least one of k trials that are drawn of a ${
          report.words.tasks.slice(0, -1)
        } is ${report.words.solved}`,
      },
      {
        ...{ id: "pass_hat_k", head: "pass^k", unit: "share", about: "all of them are" },
        value: (row) => row.pass_hat_k,
        text: ({ tasks }) => tasks === 0 ? UNAVAILABLE : undefined,
      },
      { id: "tasks", head: report.words.tasks, unit: "count", value: ({ tasks }) => tasks },
      {
        ...{ id: "unavailable", head: "with fewer than k valid trials", unit: "count" },
        ...{ shown: "filled", value: ({ unavailable }) => unavailable },
      },
    ],
  },
);

/** How often calls that tasks need were never made, where the right calls are known. */
const MISSED_CALLS = metric(
  ({ subjects }) =>
    subjects.map(({ counted, ...one }) => ({ ...one, needing: counted.filter(needsCalls) }))
      .filter(({ needing }) => needing.length > 0),
  {
    id: "missed-calls",
    line: true,
    section: "failures",
    title: "Missed calls",
    columns: (_, report) => [
      subjectColumns(report),
      {
        ...{ id: "trials", head: "trials needing calls", unit: "count" },
        value: ({ needing }) => needing.length,
      },
      {
        ...{ id: "missing", head: "with a missed call", unit: "share" },
        value: ({ needing }) => shareOf(needing, missesCall),
        about:
          "a call that the task needs was never made, neither with right arguments nor with wrong ones",
      },
      {
        ...{ id: "calls", head: "of needed calls", unit: "share" },
        value: ({ needing }) =>
          countOf(
            sum(needing, ({ missed }) => missed!.missed),
            sum(needing, ({ missed }) => missed!.needed),
          ),
      },
    ],
  },
);

/** The metrics of what went wrong. */
export const FAILED: readonly Metric[] = [
  MISSED_CALLS,
  FAILURES,
  PARAMETER_FAILURES,
  TEXT_CALLS,
  GUESSES,
  OUTCOME_COUNTS,
  BEHAVIOURS,
  INJECTIONS,
  REPETITIONS,
];

/** Says which calls are not in a figure of wrong ones, as the requests of an agent were not seen; empty if all are. */
function unseenNote({ subjects }: Pick<Report, "subjects">): string {
  const unseen = subjects.flatMap(({ counted }) => counted).filter(isUnwatched).length;
  if (unseen === 0) return "";
  const trials = countText(unseen, "trial");
  return `; of ${trials} only the calls that the agent carried out are known: unknown names and ` +
    "unreadable arguments could not be seen";
}
