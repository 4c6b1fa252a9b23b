/**
 * Histories of made-up nights: records as `history add` writes them, without running a model.
 */

import { resultsText, sealed } from "../../lib/runs/accept.ts";
import { plannedTrials } from "../../lib/runs/_baseline_file.ts";
import { type RecordedTrial, type RecordFile, recordName } from "../../lib/runs/history/record.ts";
import { comparisonHash, planHash } from "../../lib/runs/resolved_suite.ts";
import { GENERATOR_VERSION } from "../../lib/tasks/generated/task.ts";
import type { FailureType } from "../../lib/calls/failure_types.ts";
import { fork } from "../../lib/base/random.ts";
import { sha256 } from "../../lib/base/hash.ts";

/** One made-up run. What is left out is as in {@linkcode recordFile}. */
export interface MadeRun {
  readonly suite?: string;
  /** When it began; default 03:17 UTC of `date`. */
  readonly startedAt?: string;
  /** Its date, such as `2026-06-01`. */
  readonly date: string;
  /** The seed of its tasks; default one of its own. */
  readonly seed?: number;
  /** Graphs of each cell; default 10. */
  readonly graphs?: number;
  readonly cells?: RecordFile["resolved"]["cells"];
  readonly commit?: string;
  readonly stopped?: string;
  readonly toolgate?: string;
  /** The model that judges its answers. */
  readonly judge?: string;
  readonly subjects?: readonly MadeSubject[];
}

/** The results of one model in a made-up run. */
export interface MadeSubject {
  readonly model?: string;
  readonly served?: string;
  readonly strategy?: string;
  readonly variant?: string;
  /** The share of its trials that are solved, drawn at random. */
  readonly rate?: number;
  /** Types of failures of unsolved trials, in turn. */
  readonly failures?: readonly FailureType[];
  /** How many of its trials, the first ones, are invalid or missing. */
  readonly invalid?: number;
  readonly missing?: number;
  readonly usd?: number;
}

const CELLS = [
  { core: 3, depth: 2, connected: 0, disconnected: 0 },
  { core: 5, depth: 2, connected: 0, disconnected: 0 },
];

/** Returns a record, and the name of its file. The same run is always the same record. */
export function recordFile(run: MadeRun): RecordFile {
  const { suite = "nightly", date, startedAt = `${date}T03:17:00.000Z`, graphs = 10 } = run;
  const { seed = parseInt(sha256(startedAt).slice(0, 8), 16), cells = CELLS } = run;
  const resolved = {
    ...{ generator: GENERATOR_VERSION, seed, graphs, cells },
    ...{ perturbations: ["none"], repetitions: 1, limits: {} },
    ...(run.judge === undefined ? {} : { judge: { model: run.judge } }),
  };
  const whole = { suite, resolved: { ...resolved, models: [], strategies: [] } };
  const subjects = (run.subjects ?? [{}]).map((subject) => {
    const { model = "sim:made-up", served = model, strategy = "baseline", rate = 0.9 } = subject;
    const { failures = ["incorrect_value"], invalid = 0, missing = 0, variant, usd } = subject;
    const own = { strategy, perturbation: "none", ...(variant === undefined ? {} : { variant }) };
    const planned = plannedTrials(resolved, { model, ...own });
    const { prng } = fork("made-up run", startedAt, model, strategy, variant ?? "");
    const trials = planned.map(({ task }, place): RecordedTrial | null => {
      const isSolved = prng() < rate;
      if (place >= invalid && place < invalid + missing) return null;
      const outcome = place < invalid ? "invalid" : isSolved ? "solved" : "wrong_answer";
      const wrong = outcome === "wrong_answer" ? [failures[place % failures.length]!] : [];
      return {
        ...("seed" in task ? { seed: task.seed } : {}),
        outcome,
        ...(wrong.length === 0 ? {} : { failures: wrong }),
        calls: 3 + Math.floor(4 * prng()),
        tokens: [2_000 + Math.floor(500 * prng()), 100 + Math.floor(50 * prng())],
        ms: 1_000 + Math.floor(3_000 * prng()),
      };
    });
    return {
      model: { requested: model, served, simulated: model.startsWith("sim:") },
      ...own,
      keys: planned.map(({ id }) => sha256(`${startedAt} ${id}`).slice(0, 16)).join(","),
      ...(usd === undefined ? {} : { usd }),
      trials,
    };
  });
  const { commit, stopped, toolgate = "0.2.0" } = run;
  return sealed({
    ...{ v: 1, kind: "record", suite } as const,
    planHash: planHash(whole),
    comparisonHash: comparisonHash(whole),
    ...{ generator: GENERATOR_VERSION, seed, resolved, toolgate },
    ...(commit === undefined ? {} : { commit }),
    startedAt,
    endedAt: new Date(Date.parse(startedAt) + 600_000).toISOString(),
    ...(stopped === undefined ? {} : { stopped }),
    subjects,
  });
}

/** Writes records into a folder as `history add` would; returns their paths. */
export function writeRecords(folder: string, runs: readonly (MadeRun | RecordFile)[]): string[] {
  Deno.mkdirSync(folder, { recursive: true });
  return runs.map((run) => {
    const record = "kind" in run ? run : recordFile(run);
    const path = `${folder}/${recordName(record)}`;
    Deno.writeTextFileSync(path, resultsText(record));
    return path;
  });
}

/** The date some days after a first one. */
export function dateAfter(days: number, first = "2026-06-01"): string {
  return new Date(Date.parse(first) + days * 86_400_000).toISOString().slice(0, 10);
}
