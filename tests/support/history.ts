/**
 * Histories of made-up runs: records as `history add` writes them, without running a model.
 */

import {
  plannedTrials,
  type RecordedSubject,
  recordText,
  type RunRecord,
  sealed,
} from "../../lib/runs/record.ts";
import { recordName } from "../../lib/runs/history/history.ts";
import { GENERATOR_VERSION } from "../../lib/tasks/graphs/task.ts";
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
  readonly cells?: RunRecord["resolved"]["cells"];
  readonly stopped?: string;
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

/** Returns the record of a made-up run. The same run is always the same record. */
export function recordFile(run: MadeRun): RunRecord {
  const { suite = "nightly", date, startedAt = `${date}T03:17:00.000Z`, graphs = 10 } = run;
  const { seed = parseInt(sha256(startedAt).slice(0, 8), 16), cells = CELLS } = run;
  const resolved = {
    ...{ generator: GENERATOR_VERSION, seed, graphs, cells },
    ...{ perturbations: ["none"], repetitions: 1, limits: {} },
    ...(run.judge === undefined ? {} : { judge: { model: run.judge } }),
  };
  const subjects = (run.subjects ?? [{}]).map((subject) => {
    const { model = "sim:made-up", served = model, strategy = "plain", rate = 0.9 } = subject;
    const { failures = ["incorrect_value"], invalid = 0, missing = 0, variant, usd } = subject;
    const own = { strategy, perturbation: "none", ...(variant === undefined ? {} : { variant }) };
    const { prng } = fork("made-up run", startedAt, model, strategy, variant ?? "");
    const trials = plannedTrials(resolved, { model, ...own }).map(
      ({ id }, place): RecordedSubject["trials"][number] => {
        const isSolved = prng() < rate;
        if (place >= invalid && place < invalid + missing) return null;
        const outcome = place < invalid ? "invalid" : isSolved ? "solved" : "wrong_answer";
        const wrong = outcome === "wrong_answer" ? [failures[place % failures.length]!] : [];
        return {
          key: sha256(`${startedAt} ${id}`).slice(0, 16),
          outcome,
          ...(wrong.length === 0 ? {} : { failures: wrong }),
          calls: 3 + Math.floor(4 * prng()),
          tokens: [2_000 + Math.floor(500 * prng()), 100 + Math.floor(50 * prng())],
          ms: 1_000 + Math.floor(3_000 * prng()),
        };
      },
    );
    return {
      model: { requested: model, served, simulated: model.startsWith("sim:") },
      ...own,
      ...(usd === undefined ? {} : { usd }),
      trials,
    };
  });
  const { stopped } = run;
  return sealed({
    ...{ v: 1, kind: "record", suite, startedAt } as const,
    endedAt: new Date(Date.parse(startedAt) + 600_000).toISOString(),
    ...(stopped === undefined ? {} : { stopped }),
    ...{ resolved, subjects },
  });
}

/** Returns a record with other content and the checksum of that. */
export function changed(record: RunRecord, change: Partial<RunRecord>): RunRecord {
  const { checksum: _, ...content } = { ...record, ...change };
  return sealed(content);
}

/** Writes records into a folder as `history add` would; returns their paths. */
export function writeRecords(folder: string, runs: readonly (MadeRun | RunRecord)[]): string[] {
  Deno.mkdirSync(folder, { recursive: true });
  return runs.map((run) => {
    const record = "kind" in run ? run : recordFile(run);
    const path = `${folder}/${recordName(record)}`;
    Deno.writeTextFileSync(path, recordText(record));
    return path;
  });
}

/** The date some days after a first one. */
export function dateAfter(days: number, first = "2026-06-01"): string {
  return new Date(Date.parse(first) + days * 86_400_000).toISOString().slice(0, 10);
}
