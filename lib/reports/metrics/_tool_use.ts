/**
 * How tools are used: recovery from faults, success by strategy and fault, latency, formats of replies, and agents.
 * @module
 */

import { isDuration, mean, ranked, sum } from "../../base/numbers.ts";
import {
  type Recovery,
  RECOVERY_ENDS,
  type RecoveryEnd,
  rightEndOf,
} from "../../calls/recovery.ts";
import { type ParseCounts, sumAgentWork, sumRepairs } from "../../calls/work.ts";
import { countsAsSuccess, isUnwatched } from "../../gate/variant.ts";
import { FAULTS, isFault } from "../../tools/fault.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { asideColumn } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import { SUBJECT_PARTS, subjectColumns, subjectsOf, unperturbed } from "../_subjects.ts";
import { ratioOf, shareOf } from "./_tally.ts";

/** An episode, which is one function that a fault made fail in one trial, and its task. */
interface Episode extends Recovery, Pick<TrialSummary, "task"> {}

function episodesOf(trials: readonly TrialSummary[]): Episode[] {
  return trials.flatMap(({ task, recoveries = [] }) => recoveries.map((one) => ({ ...one, task })));
}

const ENDS: Readonly<Record<RecoveryEnd, string>> = {
  recovered: "a later call succeeded",
  hallucinated: "the missing result was made up",
  repeated: "the same call was made again and never succeeded",
  gave_up: "none of these",
};

/** How the faults of trials ended (Pipeline, "Benchmarking Tool Use", error recovery). */
const RECOVERY = metric(
  // There is no row over all faults, as it would depend on the mix of faults in the suite.
  ({ trials }) =>
    subjectsOf(trials.filter(({ outcome }) => outcome !== "invalid"), unperturbed)
      .flatMap(({ trials: own, ...one }) => {
        const rows = [...Map.groupBy(own, ({ perturbation }) => perturbation)]
          .flatMap(([perturbation, trials]) =>
            [...Map.groupBy(episodesOf(trials), ({ fault }) => fault)].map(([fault, episodes]) => ({
              ...{ ...one, fault, perturbation, trials: trials.length, episodes },
            }))
          );
        return FAULTS.flatMap((kind) => rows.filter(({ fault }) => fault === kind));
      }),
  {
    id: "recovery",
    section: "tool use",
    title: "Recovery from faults",
    paper: "Pipeline",
    source: "Error Handling and Retry Logic",
    columns: (_, report) => [
      subjectColumns(report),
      {
        head: "fault",
        unit: "name",
        // A perturbation has its parameters; joined ones need the kind of fault as well.
        value: ({ fault, perturbation }) =>
          perturbation.includes("+") ? `${fault} (${perturbation})` : perturbation,
      },
      { id: "fault", unit: "name", value: ({ fault }) => fault, shown: false },
      { id: "under", unit: "name", value: ({ perturbation }) => perturbation, shown: false },
      { id: "trials", unit: "count", value: ({ trials }) => trials },
      {
        id: "episodes",
        unit: "count",
        value: ({ episodes }) => episodes.length,
        about: "functions that a fault made fail, each once in its trial",
      },
      RECOVERY_ENDS.map((end) => ({
        id: end,
        unit: "count",
        value: ({ episodes }) => episodes.filter((one) => one.end === end).length,
        about: ENDS[end],
      })),
      {
        id: "right",
        unit: "share",
        value: ({ episodes }) => shareOf(episodes, ({ fault, end }) => end === rightEndOf(fault)),
        about: "recovered, or gave up where permission is denied",
      },
      {
        id: "tries",
        unit: "mean",
        value: ({ episodes }) => mean(episodes.map(({ attempts }) => attempts)),
        about: "mean calls after the first one that failed",
      },
    ],
  },
);

function isOfFaults({ perturbation }: TrialSummary): boolean {
  return perturbation === "none" || perturbation.split("+").every(isFault);
}

/** Success by strategy and fault (Pipeline, "Tool Call Success Rate by Error Handling Strategy"). */
const ERROR_HANDLING = metric(({ trials }) => {
  const measured = trials.filter(isOfFaults);
  const faulty = measured.filter(({ perturbation }) => perturbation !== "none");
  if (new Set(faulty.map(({ strategy }) => strategy)).size < 2) return [];
  const faults = [...new Set(measured.map(({ perturbation }) => perturbation))];
  return subjectsOf(measured, unperturbed).flatMap(({ trials: own, ...one }) =>
    [...faults, undefined].map((fault) => ({
      ...one,
      fault,
      solved: shareOf(
        own.filter(countsAsSuccess)
          .filter(({ perturbation }) => fault === undefined || perturbation === fault),
        ({ solved }) => solved,
      ),
    }))
  );
}, {
  id: "error-handling",
  section: "success",
  title: "Success by error-handling strategy",
  paper: "Pipeline",
  source: "Tool Call Success Rate by Error Handling Strategy",
  note: "share solved of the valid trials; overall: of all trials in the row, whatever the faults",
  across: ({ fault = "overall" }) => fault === "none" ? "no fault" : fault,
  columns: (_, { nameOf }) => [
    {
      head: "model",
      unit: "name",
      value: ({ subject, simulated }) =>
        nameOf({ subject: { ...subject, strategy: "plain" }, simulated }),
    },
    SUBJECT_PARTS,
    { head: "strategy", unit: "name", value: ({ subject }) => subject.strategy },
    { id: "fault", unit: "text", value: ({ fault }) => fault, shown: false },
    { id: "solved", unit: "share", value: ({ solved }) => solved, inline: true },
  ],
});

/** For how long tools ran. Functions of generated tasks take no time of their own, so that they have none. */
const LATENCY = metric(({ subjects }) =>
  subjects.flatMap(({ counted, ...one }) => {
    const all = counted.flatMap(({ latencies = [] }) => latencies)
      .filter(({ durationMs }) => isDuration(durationMs));
    return [...Map.groupBy(all, ({ tool }) => tool)]
      .toSorted(([first], [second]) => first < second ? -1 : 1)
      .map(([tool, calls]) => ({
        ...{ ...one, tool },
        times: calls.map(({ durationMs }) => durationMs).sort((first, second) => first - second),
      }));
  }), {
  id: "latency",
  section: "tool use",
  from: "terminal",
  title: "Latency of tools",
  paper: "Pipeline",
  source: "Function Calling Architecture",
  note: "for how long a tool itself ran in a call of a valid trial",
  columns: (_, report) => [
    subjectColumns(report),
    { id: "tool", unit: "name", value: ({ tool }) => tool },
    { id: "calls", unit: "count", value: ({ times }) => times.length },
    { id: "median", unit: "time", value: ({ times }) => ranked(times, 0.5) },
    {
      id: "p95",
      head: "95th percentile",
      unit: "time",
      value: ({ times }) => ranked(times, 0.95),
      about: "95% of the calls took no longer",
    },
    { id: "longest", unit: "time", value: ({ times }) => times.at(-1)! },
  ],
});

/** The replies of a subject in one format, of trials with counts of how they could be parsed. */
const FORMATTED = metric(({ subjects }) =>
  subjects.flatMap(({ counted, ...one }) => {
    const parsed = counted.flatMap((trial) =>
      trial.parses === undefined ? [] : [{ ...trial, parses: trial.parses }]
    );
    // Models that name no format, as scripted ones, count as `chat`.
    return [...Map.groupBy(parsed, ({ model }) => model.api ?? "chat")].map(([format, own]) => {
      const count = (of: (parses: ParseCounts) => number) => sum(own, ({ parses }) => of(parses));
      // Replies of one graph are not independent.
      const rate = (of: (parses: ParseCounts) => number) =>
        ratioOf(own, ({ parses }) => ({ sum: of(parses), count: attempts(parses) }));
      return {
        ...{ ...one, format, repairs: sumRepairs(own.flatMap(({ parses }) => parses.repairs)) },
        replies: count(attempts),
        strict: rate(({ strict }) => strict),
        usable: rate(({ strict, repaired }) => strict + repaired),
        repaired: count(({ repaired }) => repaired),
        unreadable: count(({ unreadable }) => unreadable),
      };
    });
  }), {
  id: "formats",
  section: "tool use",
  title: "Formats",
  paper: "Pipeline",
  source: "Key Takeaways",
  note: "replies of valid trials that attempt a call",
  shown: (rows) =>
    new Set(rows.map(({ format }) => format)).size > 1 ||
    rows.some(({ repaired, unreadable }) => repaired + unreadable > 0),
  columns: (_, report) => [
    subjectColumns(report),
    { id: "format", unit: "name", value: ({ format }) => format },
    { id: "replies", unit: "count", value: ({ replies }) => replies },
    { id: "strict", unit: "share", value: ({ strict }) => strict, about: "as the format requires" },
    { id: "usable", unit: "share", value: ({ usable }) => usable, about: "strict or repaired" },
    { id: "repaired", unit: "count", value: ({ repaired }) => repaired },
    { id: "unreadable", unit: "count", value: ({ unreadable }) => unreadable },
  ],
});

function attempts({ strict, repaired, unreadable }: ParseCounts): number {
  return strict + repaired + unreadable;
}

/** At most this many kinds of repairs are shown for each model and format. */
const MAX_REPAIRS = 3;

/** The repairs that replies needed, the most frequent first. */
const REPAIRS = metric(
  (report) =>
    FORMATTED.rows(report).flatMap(({ repairs, ...one }) =>
      repairs.map((own, place) => ({ ...one, ...own, place }))
    ),
  {
    id: "repairs",
    section: "tool use",
    title: "Commonest repairs",
    note: "of replies, for each model and format; N stands for a number",
    listed: (rows) => rows.filter(({ place }) => place < MAX_REPAIRS),
    columns: (_, report) => [
      { id: "repair", unit: "name", value: ({ repair }) => repair },
      subjectColumns(report),
      { id: "format", unit: "name", value: ({ format }) => format },
      { id: "replies", unit: "count", value: ({ replies }) => replies },
    ],
  },
);

/** What agents of the user's own did with what their models said. */
const AGENT = metric(({ subjects }) =>
  subjects.flatMap(({ counted, ...one }) => {
    const own = counted.filter(({ agent }) => agent !== undefined);
    const work = sumAgentWork(own.flatMap(({ agentWork }) => agentWork ?? []));
    const { hid = 0, repaired = 0, made = 0, resampled = 0, notRun = 0, held = 0, ownCalls = 0 } =
      work ?? {};
    return own.length === 0 ? [] : [{
      ...{ ...one, own: own.length, unwatched: own.filter(isUnwatched).length, work },
      ...{ hid, repaired, not_run: notRun, held, made, resampled, own_calls: ownCalls },
    }];
  }), {
  id: "agent",
  section: "tool use",
  title: "What the agent did",
  note: (rows) =>
    "with the calls and replies of its model, in trials that count; wrong calls count as the model's whatever the " +
    "agent did with them" +
    (rows.some(({ unwatched }) => unwatched > 0)
      ? "; of trials not watched only the calls that it carried out are known"
      : ""),
  // Where all calls were carried out as they were written, and seen, there is nothing to tell.
  shown: (rows) => rows.some(({ unwatched, work }) => unwatched > 0 || work !== undefined),
  columns: (_, report) => [
    subjectColumns(report),
    { id: "trials", unit: "count", value: ({ own }) => own },
    asideColumn("unwatched", undefined, "not watched"),
    asideColumn("hid", "no later request shows a wrong call", "hidden from the model"),
    asideColumn("repaired", "in place of what the model wrote", "another call carried out"),
    asideColumn("not_run", "a right call", "not carried out"),
    asideColumn("held", "a right call without a result when the agent answered", "held"),
    asideColumn("made", "by its own code", "made by the agent"),
    asideColumn(
      "resampled",
      "and thrown away; their calls count all the same",
      "replies asked for again",
    ),
    asideColumn("own_calls", "offered beside the task's, and not judged", "calls of its own tools"),
  ],
});

/** The metrics of how tools are used. */
export const TOOL_USE: readonly Metric[] = [
  ERROR_HANDLING,
  RECOVERY,
  LATENCY,
  FORMATTED,
  REPAIRS,
  AGENT,
];
