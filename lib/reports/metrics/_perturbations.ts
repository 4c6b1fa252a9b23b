/**
 * Perturbations: their effects on the calls of a model (Butterfly, section 6, Table 1 and Fig. 4), and how often changes
 * that should have no effect turn success into failure or the reverse.
 * @module
 */

import { sum } from "../../base/numbers.ts";
import {
  FAILURES,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "../../calls/failure_types.ts";
import type { ParameterScore } from "../../calls/parameter_views.ts";
import { compareShares } from "../../gate/comparison.ts";
import { byGraph, graphKey, missesCall, needsCalls } from "../../gate/variant.ts";
import { isCheck, isRemoving } from "../../perturbations/ids.ts";
import { PERTURBATION_METHODS } from "../../perturbations/methods.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { Outcome } from "../../trials/trial.ts";
import { type Column, type Detail, headOf, NOT_APPLICABLE, NOTHING } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import type { Caption } from "../_view.ts";
import {
  type Subject,
  SUBJECT_PARTS,
  subjectColumns,
  subjectsOf,
  type SubjectTrials,
  unperturbed,
} from "../_subjects.ts";
import { hasGateBounds } from "./_headline.ts";
import { ASIDE, countOf, type Share, shareOf, tally } from "./_tally.ts";

const CAPTION = { section: "perturbations", paper: "Butterfly" } as const;

/** A trial whose right calls are known. */
type KnownTrial = TrialSummary & { readonly parameters: ParameterScore };

function isKnown(trial: TrialSummary): trial is KnownTrial {
  return trial.parameters !== undefined;
}

/** The trials of a model and strategy under one perturbation, or under none. */
interface Arm extends SubjectTrials {
  /** Those of the counted trials whose right calls are known: metrics of parameters are of these. */
  readonly known: readonly KnownTrial[];
  /** The counted trials without a perturbation; empty where these are the arm. */
  readonly plain: readonly TrialSummary[];
}

/** The perturbations as in Table 1; others follow as they first occur. */
const ORDER: readonly string[] = ["none", ...PERTURBATION_METHODS];

/** Returns the trials of each model and strategy that was perturbed. */
function perturbedOf({ trials }: Report): SubjectTrials[] {
  return subjectsOf(trials, unperturbed)
    .filter((one) => one.trials.some(({ perturbation }) => perturbation !== "none"));
}

/** Returns the same by perturbation. */
function armsOf(report: Report): readonly Arm[] {
  return report.once(armsOf, () =>
    perturbedOf(report).flatMap(({ trials, simulated }) => {
      const arms = subjectsOf(trials);
      const plain = arms.find(isPlain)?.counted ?? [];
      const placeOf = ({ subject: { perturbation } }: Subject) =>
        ORDER.includes(perturbation) ? ORDER.indexOf(perturbation) : ORDER.length;
      return arms.toSorted((one, other) => placeOf(one) - placeOf(other)).map((arm): Arm => ({
        ...{ ...arm, simulated },
        // What misleading documents made a model do says nothing about it.
        known: arm.counted.filter(isKnown).filter(isNotMisled),
        plain: isPlain(arm) ? [] : plain,
      }));
    }));
}

function isPlain({ subject }: Subject): boolean {
  return subject.perturbation === "none";
}

function isNotMisled({ unsolvable }: TrialSummary): boolean {
  return unsolvable !== "misleading";
}

/** Names the model and strategy of a row, under whatever perturbation. */
function modelOf(row: Subject, { nameOf }: Report): string {
  return nameOf({ ...row, subject: { ...row.subject, perturbation: "none" } });
}

/** The columns of the subject of a row whose table is of one model and strategy. */
const PERTURBATION: readonly Column<Subject>[] = [
  { head: "perturbation", unit: "name", value: ({ subject }) => subject.perturbation },
  ...SUBJECT_PARTS,
];

/** A way in which a trial can fail. */
interface Way {
  readonly failure: string;
  readonly shows: (trial: KnownTrial) => boolean;
  /** Whether it is known that a trial that does not show it does not have it. */
  readonly isDecided: (trial: KnownTrial) => boolean;
  /** Whether no call could show it, or none is needed. */
  readonly isImpossible: (trial: KnownTrial) => boolean;
  /** The trials that its rate is of. Default: all. */
  readonly isMeant?: (trial: KnownTrial) => boolean;
}

const TYPE_WAYS = PARAMETER_FAILURE_TYPES.map((type): Way => ({
  failure: type,
  shows: ({ parameters }) => parameters.calls.some(has(type)),
  isDecided: ({ parameters }) => !parameters.undecided.includes(type),
  isImpossible: ({ impossible = [] }) => impossible.includes(type),
}));

/** Trials with any of the five failures: those without one pass (Butterfly, Eq. 1). */
const ANY: Way = {
  failure: "any_failure",
  shows: ({ parameters }) => parameters.calls.length > 0,
  isDecided: ({ parameters }) => parameters.undecided.length === 0,
  isImpossible: () => false,
};

const WAYS: readonly Way[] = [
  ...TYPE_WAYS,
  ANY,
  {
    failure: "missed_call",
    shows: missesCall,
    isDecided: ({ missed }) => missed !== undefined,
    isImpossible: (trial) => !mayMiss(trial),
  },
  {
    ...ANY,
    failure: "either",
    shows: (trial) => ANY.shows(trial) || missesCall(trial),
    isMeant: ({ missed }) => missed !== undefined,
  },
];

/** Whether a trial needs calls, or that is not known. */
function mayMiss(trial: KnownTrial): boolean {
  return trial.missed === undefined || needsCalls(trial);
}

/** The failure types of one call. */
type CallTypes = ParameterScore["calls"][number];

function has(type: ParameterFailureType): (types: CallTypes) => boolean {
  return (types) => types.includes(type);
}

/** Whether no trial could show a failure, and none does. */
function isNowhere(way: Way, trials: readonly KnownTrial[]): boolean {
  return trials.length > 0 && !trials.some((trial) => mayShow(way, trial));
}

function mayShow({ isImpossible, shows }: Way, trial: KnownTrial): boolean {
  return !isImpossible(trial) || shows(trial);
}

/** The trials that may show a failure, and those of them that tell whether they do. */
function tellingOf(way: Way, trials: readonly KnownTrial[]) {
  const { isMeant = () => true, shows, isDecided } = way;
  const meant = trials.filter((trial) => isMeant(trial) && mayShow(way, trial));
  return { meant, decided: meant.filter((trial) => shows(trial) || isDecided(trial)) };
}

function rateOf({ subject, simulated, known }: Arm, way: Way) {
  const { meant, decided } = tellingOf(way, known);
  return {
    ...{ subject, simulated, failure: way.failure, impossible: isNowhere(way, known) },
    rate: shareOf(decided, way.shows),
    undecided: meant.length - decided.length,
  };
}

/** The failure of a row of rates, which heads a column. */
const FAILURE: Column<Pick<Way, "failure">> = {
  ...{ id: "failure", unit: "text", value: ({ failure }) => failure, shown: false },
};

/** Makes a table of failure rates of a choice of trials. */
function ratesMetric(
  armsIn: (report: Report) => readonly Arm[],
  own: Pick<Caption, "id" | "title"> & { readonly note: string; readonly from?: Detail },
): Metric {
  const ratesIn = (report: Report) =>
    armsIn(report).filter(({ known }) => known.length > 0)
      .flatMap((arm) => WAYS.map((way) => rateOf(arm, way)));
  return metric(ratesIn, {
    ...{ ...CAPTION, ...own },
    source: "Table 1",
    by: (row, report) => modelOf(row, report),
    across: ({ failure }) => headOf({ id: failure }),
    heat: "bad",
    columns: (_) => [
      PERTURBATION,
      FAILURE,
      {
        ...{ id: "rate", unit: "share", value: ({ rate }) => rate, inline: true },
        text: ({ impossible }) => impossible ? NOT_APPLICABLE : undefined,
      },
      { id: "undecided", unit: "count", value: ({ undecided }) => undecided, shown: false },
      { id: "impossible", unit: "text", value: ({ impossible }) => impossible, shown: false },
    ],
  });
}

/**
 * Failure rates under each perturbation: the share of trials with a failure (Butterfly, 5.2). Missed calls are none of
 * its five types, and have a rate of their own.
 */
const FAILURE_RATES = ratesMetric(armsOf, {
  id: "failure-rates",
  title: "Failure rates under perturbations",
  note:
    "share of trials with a call that has such a failure, of those whose calls could show it; a trial without calls has none; " +
    "any failure: of these five; missed call: a needed call was never made, of trials that need any; either: any failure " +
    "or a missed call",
});

/** The same over what was solved without a perturbation: the paper perturbs right trajectories (Butterfly, 4). */
const RATES_OF_SOLVED = ratesMetric(
  (report) => armsOf(report).filter((arm) => !isPlain(arm)).map(initiallySolved),
  {
    ...{ id: "failure-rates-of-solved", from: "terminal" },
    title: "Failure rates on initially solved tasks",
    note: "of the perturbed trials on tasks that the same model and strategy solved without a " +
      "perturbation, in the same repetition",
  },
);

/** How failure rates differ from those of the unperturbed trials on the same tasks. */
const RATE_CHANGES = metric(
  (report) =>
    armsOf(report).flatMap((arm) =>
      WAYS.flatMap((way) => {
        const [decided, before] = [arm.known, arm.plain.filter(isKnown)]
          .map((trials) => tellingOf(way, trials).decided);
        const shows = (trial: TrialSummary) => way.shows(trial as KnownTrial);
        const change = compareShares(decided!, before!, shows);
        return change === null ? [] : [{ ...arm, failure: way.failure, change }];
      })
    ),
  {
    ...CAPTION,
    id: "failure-rate-changes",
    source: "Table 1",
    by: (row, report) => modelOf(row, report),
    across: ({ failure }) => headOf({ id: failure }),
    from: "page",
    title: "Changes of failure rates",
    note: "rate under the perturbation less that without, on the same tasks, in percentage points",
    columns: (_) => [
      PERTURBATION,
      FAILURE,
      {
        ...{ id: "difference", unit: "points", inline: true },
        value: ({ change: { difference: value, interval } }) => ({ value, interval }),
      },
      { id: "baseline", unit: "share", value: ({ change }) => change.baseline, shown: false },
      { id: "gained", unit: "count", value: ({ change }) => change.gained, shown: false },
      { id: "lost", unit: "count", value: ({ change }) => change.lost, shown: false },
    ],
  },
);

/** What else trials under each perturbation came to. */
const EFFECTS = metric((report) =>
  armsOf(report).map((arm) => {
    const unsolvable = arm.counted.filter((trial) => trial.unsolvable !== undefined);
    return {
      ...{ ...arm, tally: tally(arm.trials) },
      // No model can see that documents mislead.
      abstained: shareOf(
        unsolvable.length === 0 ? arm.counted : unsolvable.filter(isNotMisled),
        ({ outcome }) => outcome === "abstained",
      ),
      accepted: acceptedOf(arm.counted),
      ofSolved: isPlain(arm) ? undefined : tally(initiallySolved(arm).counted),
      failed: arm.known.filter(ANY.shows),
    };
  }), {
  ...CAPTION,
  id: "perturbations",
  source: "Table 1",
  by: (row, report) => modelOf(row, report),
  title: "Effects of perturbations",
  // Without calls there is success alone, which has its own table.
  shown: (rows) => rows.some(({ known, accepted }) => known.length > 0 || accepted.of > 0),
  columns: (rows, report) => [
    PERTURBATION,
    { id: "trials", unit: "count", value: ({ counted }) => counted.length },
    {
      ...{ id: "task_accuracy", unit: "share", value: ({ tally }) => tally.success, inline: true },
      isBounded: () => !hasGateBounds(report),
      text: ({ tally: { success, unsolvable } }) =>
        success.of === 0 && unsolvable > 0 ? NOT_APPLICABLE : undefined,
    },
    {
      ...{ id: "accuracy_of_solved", head: "on initially solved", unit: "share", inline: true },
      value: ({ ofSolved }) => ofSolved?.success,
      text: ({ ofSolved }) =>
        ofSolved?.success.of === 0 && ofSolved.unsolvable > 0 ? NOT_APPLICABLE : undefined,
      about:
        "task accuracy on tasks that the same model and strategy solved without a perturbation, in " +
        "the same repetition",
    },
    {
      ...{ id: "several_failures", unit: "share", inline: true },
      value: ({ failed }) =>
        shareOf(failed, ({ parameters }) => new Set(parameters.calls.flat()).size > 1),
      about: "of the trials with a failure, those with several of the five",
    },
    {
      id: "similar_texts",
      unit: "share",
      value: ({ known }) =>
        countOf(
          sum(known, ({ parameters }) => parameters.texts.similar),
          sum(known, ({ parameters }) => parameters.texts.compared),
        ),
      about: "of the texts that deviate or mismatch, those similar to the right ones by Rouge-L",
    },
    {
      ...{ id: "abstained", unit: "share", value: ({ abstained }) => abstained, inline: true },
      text: ({ subject: { perturbation }, tally, abstained: { count, of } }) => {
        if (tally.unsolvable > 0) return of === 0 ? NOT_APPLICABLE : undefined;
        return count > 0 || isRemoving(perturbation) ? undefined : NOTHING;
      },
      about: "gave no answer and made no value up, which is right where a task is unsolvable",
    },
    {
      ...{ id: "accepted_calls", head: "API-level success", unit: "share" },
      value: ({ accepted }) => accepted,
      about: "calls that were not refused for an unknown name or for their form",
    },
    {
      ...{ id: "routing_errors", unit: "share", inline: true },
      value: ({ known }) => shareOf(known, ({ parameters }) => parameters.routing > 0),
      about: "trials with a call that is not one of the right calls, or repeats one",
    },
    {
      ...{ id: "known", head: "right calls known", unit: "count" },
      value: ({ known }) => known.length,
      shown: rows.some(({ counted, known }) => counted.length > known.length),
    },
    ASIDE,
  ],
});

/** Returns the calls that were not refused. */
function acceptedOf(trials: readonly TrialSummary[]): Share {
  const calls = sum(trials, (trial) => trial.calls);
  const refused = trials.flatMap(({ failures }) =>
    failures.filter(({ type }) => FAILURES[type].isRefused)
  );
  return countOf(calls - refused.length, calls);
}

/** Which failures occur together, over all trials of a model, perturbed or not (Butterfly, A.1). */
const TRANSFER = metric((report) =>
  perturbedOf(report).flatMap(({ counted, ...one }) => {
    const known = counted.filter(isKnown);
    return PARAMETER_FAILURE_TYPES.flatMap((from) => {
      const calls = known.map(({ parameters }) => parameters.calls)
        .filter((own) => own.some(has(from)));
      return PARAMETER_FAILURE_TYPES.map((to, place) => {
        const isTogether = (own: readonly CallTypes[]) =>
          from !== to && own.some((types) => has(from)(types) && has(to)(types));
        const isLater = (own: readonly CallTypes[]) =>
          own.slice(own.findIndex(has(from)) + 1).some(has(to));
        return {
          ...{ ...one, from, to, trials: calls.length },
          impossible: isNowhere(TYPE_WAYS[place]!, known),
          together: calls.filter(isTogether).length,
          later: calls.filter(isLater).length,
          either: calls.filter((own) => isTogether(own) || isLater(own)).length,
        };
      });
    });
  }), {
  ...CAPTION,
  id: "transfer",
  source: "Fig. 4",
  by: (row, report) => modelOf(row, report),
  heat: "bad",
  title: "Failures that occur together",
  note:
    "of the trials with the given failure, those that have the other in the same call or a later one; on the diagonal: " +
    "again in a later call; trials under all perturbations and none together",
  shown: (rows) => rows.some(({ trials }) => trials > 0),
  across: ({ to }) => headOf({ id: to }),
  columns: (_) => [
    {
      ...{ id: "given", unit: "name", value: ({ from }) => from },
      text: ({ from }) => headOf({ id: from }),
    },
    SUBJECT_PARTS,
    { id: "then", unit: "text", value: ({ to }) => to, shown: false },
    { id: "trials", unit: "count", value: ({ trials }) => trials, shown: false },
    { id: "together", unit: "count", value: ({ together }) => together, shown: false },
    { id: "later", unit: "count", value: ({ later }) => later, shown: false },
    {
      ...{ id: "either", unit: "share", value: ({ either, trials }) => countOf(either, trials) },
      text: ({ impossible, either, trials }) => {
        if (impossible) return NOT_APPLICABLE;
        return trials === 0 ? undefined : `${either} of ${trials}`;
      },
    },
  ],
});

/** A perturbed trial, and the unperturbed one on the same task and repetition. */
interface TrialPair {
  readonly task: TrialSummary["task"];
  readonly now: TrialSummary;
  readonly before: TrialSummary;
}

function pairsOf({ counted, plain }: Arm): TrialPair[] {
  const keyOf = ({ task, repetition }: TrialSummary) => `${repetition} ${graphKey(task)}`;
  const plainByKey = new Map(plain.map((trial) => [keyOf(trial), trial]));
  return counted.flatMap((now) => {
    const before = plainByKey.get(keyOf(now));
    return before === undefined ? [] : [{ task: now.task, now, before }];
  });
}

/** The trials of an arm on what the same model and strategy solved without a perturbation. */
function initiallySolved(arm: Arm): Arm {
  const solved = new Set(pairsOf(arm).flatMap(({ now, before }) => before.solved ? now : []));
  return {
    ...arm,
    counted: arm.counted.filter((trial) => solved.has(trial)),
    known: arm.known.filter((trial) => solved.has(trial)),
  };
}

const PAIRS: Column<{ readonly pairs: readonly TrialPair[] }> = {
  ...{ id: "pairs", unit: "count", value: ({ pairs }) => pairs.length },
  about: "a trial under it and one without, on the same task",
};

/** Outcomes without an answer. To give none is `abstained` where that is right. */
const GAVE_NONE: ReadonlySet<Outcome> = new Set(["no_answer", "abstained"]);

/** Whether a perturbed trial has the same calls in the same steps, and the same end, as the unperturbed one. */
function isSame({ now, before }: TrialPair): boolean {
  return now.actions === before.actions && now.solved === before.solved &&
    (now.outcome === before.outcome || GAVE_NONE.has(now.outcome) && GAVE_NONE.has(before.outcome));
}

/** Ids of trials that are listed of one perturbation, at most. */
const MAX_LISTED = 100;

/** Trials in which a perturbation changed the input and nothing else (Butterfly, A.2). */
const INEFFECTIVE = metric(
  (report) =>
    armsOf(report).filter((arm) => !isPlain(arm) && !isCheck(arm.subject.perturbation))
      .flatMap((arm) => {
        const pairs = pairsOf(arm).filter(({ now, before }) =>
          now.actions !== undefined && before.actions !== undefined
        );
        const same = pairs.filter(isSame).map(({ now }) => now);
        return pairs.length === 0 ? [] : [{ ...arm, pairs, same }];
      }),
  {
    ...CAPTION,
    id: "ineffective",
    source: "appendix A.2",
    title: "Perturbations that changed the input and nothing else",
    listed: (rows) => rows.filter(({ same }) => same.length > 0),
    columns: (_, report) => [
      subjectColumns(report, "perturbation"),
      PAIRS,
      {
        ...{ id: "no_effect", unit: "share", value: ({ pairs }) => shareOf(pairs, isSame) },
        about: "the same calls in the same steps, and the same end",
      },
      {
        ...{ id: "solved", unit: "count" },
        value: ({ same }) => same.filter(({ solved }) => solved).length,
        about: "of those without effect",
      },
      {
        ...{ id: "trials", unit: "text", shown: false },
        value: ({ same }) => same.slice(0, MAX_LISTED).map(({ id }) => id),
      },
    ],
  },
);

/** How often changes that should have no effect have one. */
const CHECKS = metric(
  (report) =>
    armsOf(report).filter(({ subject }) => isCheck(subject.perturbation)).map((arm) => {
      const pairs = pairsOf(arm);
      const tasks = new Set(pairs.map(({ task }) => graphKey(task)));
      const repeated = arm.plain.filter(({ task }) => tasks.has(graphKey(task)));
      return { ...arm, pairs, byChance: chanceOf(repeated) };
    }),
  {
    id: "checks",
    section: "perturbations",
    title: "Checks that should change nothing",
    columns: (_, report) => [
      subjectColumns(report, "check"),
      PAIRS,
      {
        ...{
          id: "flipped",
          unit: "share",
          about: "solved with it and not without, or the reverse",
        },
        value: ({ pairs }) => shareOf(pairs, ({ now, before }) => now.solved !== before.solved),
      },
      {
        ...{ id: "gained", unit: "count", about: "solved only under the check" },
        value: ({ pairs }) =>
          pairs.filter(({ now, before }) => now.solved && !before.solved).length,
      },
      {
        ...{ id: "lost", unit: "count" },
        value: ({ pairs }) =>
          pairs.filter(({ now, before }) => before.solved && !now.solved).length,
      },
      {
        ...{ id: "by_chance", unit: "share", value: ({ byChance }) => byChance },
        about:
          "the share that differs among repetitions without it, up to which flips are expected",
      },
    ],
  },
);

/** Returns how often two repetitions of one task differ. */
function chanceOf(trials: readonly TrialSummary[]): Share {
  const graphs = byGraph(trials).map((graph) => ({
    solved: graph.filter(({ solved }) => solved).length,
    trials: graph.length,
  }));
  return countOf(
    sum(graphs, (graph) => graph.solved * (graph.trials - graph.solved)),
    sum(graphs, (graph) => graph.trials * (graph.trials - 1) / 2),
  );
}

/** The metrics of perturbations. */
export const PERTURBATIONS: readonly Metric[] = [
  FAILURE_RATES,
  RATES_OF_SOLVED,
  RATE_CHANGES,
  EFFECTS,
  TRANSFER,
  INEFFECTIVE,
  CHECKS,
];
