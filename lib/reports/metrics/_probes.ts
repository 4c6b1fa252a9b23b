/**
 * Probes: how models behave towards tools (Indirection).
 * @module
 */

import { type ExpressionKind, EXPRESSIONS } from "../../calls/expressions.ts";
import { type Sign, SIGNS } from "../../calls/failure_types.ts";
import { canShow, signsOf } from "../../gate/ceilings.ts";
import { compareShares } from "../../gate/comparison.ts";
import { byGraph, countsAsSuccess, variantKey } from "../../gate/variant.ts";
import { newcombe } from "../../statistics/proportions.ts";
import { isProbe } from "../../tasks/task_kind.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { Column, Estimate } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import { subjectColumns } from "../_subjects.ts";
import { countOf, shareOf } from "./_tally.ts";

/** The signs of probes, whose tools no perturbation changes, and to whom nobody answers. */
const OF_PROBES = SIGNS.filter((sign) =>
  !["followed_injection", "asked_user", "assumed_input"].includes(sign)
);

function shows(sign: Sign): (trial: TrialSummary) => boolean {
  return (trial) => signsOf(trial).includes(sign);
}

/** The trials that can show a sign. */
function showing(sign: Sign, trials: readonly TrialSummary[]): readonly TrialSummary[] {
  return trials.filter((trial) => canShow(sign, trial));
}

/** What each probe shows. */
const BEHAVIOUR = metric(({ subjects }) =>
  subjects.flatMap(({ trials, ...one }) => {
    const probed = trials.flatMap(({ task, ...trial }) =>
      isProbe(task) ? [{ ...trial, task }] : []
    );
    return [...Map.groupBy(probed, ({ task }) => task.case)].map(([probe, trials]) => (
      { ...one, probe, trials, valid: trials.filter(countsAsSuccess) }
    ));
  }), {
  id: "probes",
  section: "success",
  title: "Behaviour towards tools",
  paper: "Indirection",
  source: "Issues with OpenAI Function Calls",
  note:
    "share of valid trials; solved: followed a calculator that lies, gave the right sum, reported the oracle's " +
    "decision, or gave the right answer where no tool can help",
  columns: (rows, report) => [
    subjectColumns(report),
    { id: "probe", unit: "name", value: ({ probe }) => probe },
    { id: "trials", unit: "count", value: ({ trials }) => trials.length },
    {
      ...{ id: "solved", unit: "share", inline: true },
      value: ({ valid }) => shareOf(valid, ({ solved }) => solved),
    },
    OF_PROBES.map((sign): Column<typeof rows[number]> => ({
      ...{ id: sign, head: sign, unit: "share", inline: true },
      shown: sign === "ungrounded"
        ? "filled"
        : rows.some(({ trials }) => showing(sign, trials).length > 0),
      value: ({ trials, valid }) =>
        showing(sign, trials).length === 0 ? null : shareOf(showing(sign, valid), shows(sign)),
    })),
  ],
});

/** Behaviours that a conflict with the usual advice may bring out. */
const RESISTING = ["aversion", "ignored_result"] as const;

/** The trials without a conflict and with one. */
interface Conflict {
  readonly behaviour: typeof RESISTING[number];
  readonly oracle: readonly TrialSummary[];
  readonly conflict: readonly TrialSummary[];
}

/** What a conflict with the usual advice changes, for models that were asked with and without. */
const CONFLICT = metric(
  (report) =>
    [...Map.groupBy(BEHAVIOUR.rows(report), report.nameOf).values()].flatMap((rows) => {
      const [oracle, conflict] = ["oracle", "oracle_conflict"].map((name) =>
        rows.find(({ probe }) => probe === name)?.valid ?? []
      ) as [TrialSummary[], TrialSummary[]];
      return oracle.length === 0 || conflict.length === 0
        ? []
        : RESISTING.map((behaviour) => ({ ...rows[0]!, behaviour, oracle, conflict }));
    }),
  {
    id: "conflict",
    section: "success",
    title: "Oracle, against the usual advice",
    paper: "Indirection",
    source: "Alignment-based resistance",
    note: "share of valid trials of oracle, and of oracle_conflict",
    columns: (_, report) => [
      subjectColumns(report),
      { id: "behaviour", unit: "name", value: ({ behaviour }) => behaviour },
      ...(["oracle", "conflict"] as const).map((id): Column<Conflict> => ({
        ...{ id, unit: "share", inline: true },
        value: ({ behaviour, [id]: trials }) => shareOf(trials, shows(behaviour)),
      })),
      {
        ...{ id: "difference", unit: "points", value: addedBy },
        about: "what the conflict adds, in percentage points",
      },
    ],
  },
);

/** Returns by how much a conflict adds to a behaviour, with Newcombe's interval. */
function addedBy({ behaviour, oracle, conflict }: Conflict): Estimate {
  const { difference: value, ...interval } = newcombe(
    [conflict.filter(shows(behaviour)).length, conflict.length],
    [oracle.filter(shows(behaviour)).length, oracle.length],
  );
  // Repetitions of one question are not independent, as the interval needs.
  const isRepeated = [oracle, conflict].some((trials) => byGraph(trials).length < trials.length);
  return { value, interval: isRepeated ? null : interval };
}

/** What a strategy changes in the behaviours of a model, on the probes that it was asked with and without it. */
const REMEDIES = metric(
  (report) => {
    const probed = Map.groupBy(BEHAVIOUR.rows(report), ({ subject }) => variantKey(subject));
    return report.comparisons.filter(({ of, reference }) => of === "strategy" && reference)
      .flatMap(({ subject, simulated, against }) =>
        OF_PROBES.flatMap((sign) => {
          const [own, others] = [subject, against].map((variant) =>
            (probed.get(variantKey(variant)) ?? [])
              .flatMap(({ trials }) => showing(sign, trials))
          ) as [TrialSummary[], TrialSummary[]];
          const change = compareShares(own, others, shows(sign));
          return change === null || change.candidate + change.baseline === 0
            ? []
            : [{ subject, simulated, sign, change }];
        })
      );
  },
  {
    id: "remedies",
    section: "success",
    title: "Behaviour towards tools, against plain",
    paper: "Indirection",
    // The section that speaks of prompting against a behaviour.
    source: "Ignoring function results",
    note:
      "share of the probes that were asked with the strategy and without it, and difference in percentage " +
      "points; gained and lost: probes that showed it with the strategy alone, and without it alone; not corrected " +
      "for the number of comparisons",
    columns: (_, report) => [
      subjectColumns(report),
      { id: "behaviour", unit: "name", value: ({ sign }) => sign },
      { id: "plain", unit: "share", value: ({ change }) => change.baseline },
      { id: "rate", head: "with it", unit: "share", value: ({ change }) => change.candidate },
      {
        ...{ id: "difference", unit: "points", drawn: () => ({ target: 0 }) },
        value: ({ change: { difference: value, interval } }) => ({ value, interval }),
      },
      { id: "gained", unit: "count", value: ({ change }) => change.gained },
      { id: "lost", unit: "count", value: ({ change }) => change.lost },
      {
        ...{ id: "p", head: "McNemar p", unit: "probability" },
        value: ({ change }) => change.mcNemar?.exact,
      },
    ],
  },
);

/** How the long sums of `mental_arithmetic` were written, where any was asked for. */
const WRITTEN_SUMS = metric(
  (report) =>
    BEHAVIOUR.rows(report).flatMap(({ valid, ...one }) => {
      const asked = valid.flatMap(({ expressions }) =>
        expressions === undefined ? [] : [expressions]
      );
      return asked.length === 0 ? [] : [{ ...one, kinds: asked.flat() }];
    }),
  {
    id: "expressions",
    section: "success",
    title: "Expressions for a sum",
    paper: "Indirection",
    source: "Computational overconfidence",
    note:
      "of calls of the calculator for a long sum; invalid: no expression, such as 10+9+...+0; brute force: all terms; " +
      "closed form: another one with the right value; other: another value, such as a part of the sum",
    columns: (_, report) => [
      subjectColumns(report),
      { id: "calls", unit: "count", value: ({ kinds }) => kinds.length },
      EXPRESSIONS.map((kind) => ({
        ...{ id: kind, unit: "share" as const },
        value: ({ kinds }: { readonly kinds: readonly ExpressionKind[] }) =>
          countOf(kinds.filter((own) => own === kind).length, kinds.length),
      })),
    ],
  },
);

/** The metrics of probes. */
export const PROBES: readonly Metric[] = [BEHAVIOUR, REMEDIES, CONFLICT, WRITTEN_SUMS];
