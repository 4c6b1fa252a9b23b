/**
 * Tables of how tools are used: recovery from faults, success by strategy and fault, latency, and formats of replies.
 * @module
 */

import { grouped, percent } from "../../base/numbers.ts";
import { RECOVERY_ENDS } from "../../calls/recovery.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import type { FormatMetrics } from "../metrics/_formats.ts";
import type { AgentTally } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import type { Table } from "../_view.ts";
import {
  boundsText,
  type Column,
  MODEL,
  MODEL_AND_STRATEGY,
  NOTHING,
  rateColumns,
  tableOf,
} from "./table.ts";

/** Returns how faults ended, a row for each of them; no table where there were none. */
export function recoveryTables({ recovery }: Pick<Report, "recovery">): Table[] {
  // There is no row over all faults, as it would depend on the mix of faults in the suite.
  const rows = recovery.flatMap(({ faults, ...one }) => faults.map((own) => ({ ...one, ...own })));
  return tableOf(rows, {
    id: "recovery",
    section: "tool use",
    title: "Recovery from faults",
    paper: "Pipeline",
    source: "Error Handling and Retry Logic",
    note:
      "episodes: functions that a fault made fail, each once in its trial; right: recovered, or gave up where " +
      "permission is denied; tries: mean calls after the first one that failed",
    columns: [
      MODEL,
      {
        head: "fault",
        // A perturbation has its parameters; joined ones need the kind of fault as well.
        cell: ({ fault, perturbation }) =>
          perturbation.includes("+") ? `${fault} (${perturbation})` : perturbation,
      },
      { head: "trials", cell: ({ trials }) => grouped(trials) },
      { head: "episodes", cell: ({ episodes }) => grouped(episodes) },
      RECOVERY_ENDS.map((end) => ({
        head: end.replaceAll("_", " "),
        cell: ({ ends }) => grouped(ends[end]),
      })),
      rateColumns("right", (row) => row),
      {
        head: "tries",
        cell: ({ attempts }) => attempts === null ? NOTHING : attempts.toFixed(1),
      },
    ],
  });
}

/**
 * Returns success by strategy and fault, a row for each model and strategy; no table where it is not measured.
 * `brief`, for narrow views, leaves the intervals out.
 */
export function errorHandlingTables(
  { errorHandling }: Pick<Report, "errorHandling">,
  brief = false,
): Table[] {
  const shareText = (rate: number | null, interval: Bounds | null, of: number) =>
    rate === null
      ? NOTHING
      : `${percent(rate)}${brief ? "" : ` (${boundsText(interval)})`}, n ${of}`;
  return tableOf(errorHandling, {
    id: "error-handling",
    section: "success",
    title: "Success by error-handling strategy",
    paper: "Pipeline",
    source: "Tool Call Success Rate by Error Handling Strategy",
    note:
      "share solved of n valid trials; arguments mended: of n calls sent back for their arguments; overall: of all " +
      "trials in the row, whatever the faults",
    names: MODEL_AND_STRATEGY.length,
    columns: [
      MODEL_AND_STRATEGY,
      (errorHandling[0]?.faults ?? []).map(({ perturbation }, place) => ({
        head: perturbation === "none" ? "no fault" : perturbation,
        cell: ({ faults }) => {
          const { rate, interval, of } = faults[place]!;
          return shareText(rate, interval, of);
        },
      })),
      {
        head: "arguments mended",
        cell: ({ mending }) =>
          mending === null ? NOTHING : shareText(mending.mean, mending.interval, mending.count),
        shown: "filled",
      },
      {
        head: "overall",
        cell: ({ overall: { rate, interval, of } }) => shareText(rate, interval, of),
      },
    ],
  });
}

/** Returns for how long each tool ran, a row for each tool of each model; no table where none was timed. */
export function latencyTables({ latency }: Pick<Report, "latency">): Table[] {
  const rows = latency.flatMap(({ tools, ...one }) => tools.map((own) => ({ ...one, ...own })));
  const time = (head: string, of: (row: typeof rows[number]) => number) => ({
    head,
    cell: (row: typeof rows[number]) => `${grouped(of(row))} ms`,
  });
  return tableOf(rows, {
    id: "latency",
    section: "tool use",
    title: "Latency of tools",
    paper: "Pipeline",
    source: "Function Calling Architecture",
    note:
      "for how long a tool itself ran in a call of a valid trial; 95th percentile: 95% of the calls took no longer",
    columns: [
      MODEL,
      { head: "tool", cell: ({ tool }) => tool },
      { head: "calls", cell: ({ calls }) => grouped(calls) },
      time("median", ({ median }) => median),
      time("95th percentile", ({ p95 }) => p95),
      time("longest", ({ longest }) => longest),
    ],
  });
}

/**
 * Returns what agents of the user's own did with what their models said, a row for each model; no table where all calls
 * were carried out as they were written, and seen.
 */
export function agentTables({ subjects }: Pick<Report, "subjects">): Table[] {
  const rows = subjects.flatMap(({ agent, ...one }) =>
    agent === undefined ? [] : [{ ...one, agent }]
  );
  const count = (head: string, of: keyof AgentTally) => ({
    head,
    cell: ({ agent }: typeof rows[number]) => agent[of] ?? 0,
    shown: "filled" as const,
  });
  const isTold = rows.some(({ agent: { trials: _, unwatched, ...work } }) =>
    unwatched > 0 || Object.keys(work).length > 0
  );
  return tableOf(isTold ? rows : [], {
    id: "agent",
    section: "tool use",
    title: "What the agent did",
    note:
      "with the calls and replies of its model, in trials that count; wrong calls count as the " +
      "model's whatever the agent did with them" +
      (rows.some(({ agent: { unwatched } }) => unwatched > 0)
        ? "; of trials not watched only the calls that it carried out are known"
        : ""),
    columns: [
      MODEL,
      { head: "trials", cell: ({ agent: { trials } }) => grouped(trials) },
      count("not watched", "unwatched"),
      count("hidden from the model", "hid"),
      count("another call carried out", "repaired"),
      count("not carried out", "notRun"),
      count("made by the agent", "made"),
      count("replies asked for again", "resampled"),
      count("calls of its own tools", "ownCalls"),
    ],
  });
}

/** At most this many kinds of repairs are shown for each model and format. */
const MAX_REPAIRS = 3;

/**
 * Returns how well replies could be parsed, and which repairs they needed; no table where there is a single format
 * and every reply was strict.
 */
export function formatTables({ formats }: Pick<Report, "formats">): Table[] {
  const apis = new Set(formats.map(({ api }) => api));
  if (apis.size < 2 && formats.every(({ attempts, strict }) => strict === attempts)) return [];
  const format: Column<Pick<FormatMetrics, "api">> = { head: "format", cell: ({ api }) => api };
  const repairs = formats.flatMap(({ repairs, ...one }) =>
    repairs.slice(0, MAX_REPAIRS).map((own) => ({ ...one, ...own }))
  );
  return [
    ...tableOf(formats, {
      id: "formats",
      section: "tool use",
      title: "Formats",
      paper: "Pipeline",
      source: "Key Takeaways",
      note: "replies of valid trials that attempt a call; usable: strict or repaired",
      columns: [
        MODEL,
        format,
        { head: "replies", cell: ({ attempts }) => grouped(attempts) },
        rateColumns("strict", ({ strictRate: { mean, interval } }) => ({ rate: mean, interval })),
        rateColumns("usable", ({ usableRate: { mean, interval } }) => ({ rate: mean, interval })),
        { head: "repaired", cell: ({ repaired }) => grouped(repaired) },
        { head: "unreadable", cell: ({ unreadable }) => grouped(unreadable) },
      ],
    }),
    ...tableOf(repairs, {
      id: "repairs",
      section: "tool use",
      title: "Commonest repairs",
      note:
        "the most frequent repairs of replies, for each model and format; N stands for a number",
      columns: [
        { head: "repair", cell: ({ repair }) => repair },
        MODEL,
        format,
        { head: "replies", cell: ({ replies }) => grouped(replies) },
      ],
    }),
  ];
}
