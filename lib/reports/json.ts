/**
 * JSON reports: all figures of a report, for other programs.
 * @module
 */

import { defined, type JsonValue } from "../base/json.ts";
import type { GateReport } from "../gate/gate_report.ts";
import type { Report } from "./report.ts";
import { recordsOf } from "./_views.ts";

/** Returns a report as data: its metrics by name, with a record for each of their rows. */
export function reportToJson(
  report: Report,
): Readonly<Record<string, JsonValue | undefined | readonly GateReport[]>> {
  const { suite, trials, unit, began, notes, gates, options } = report;
  const { seed, references, planned, origins = [] } = options;
  return {
    v: 1,
    kind: "report",
    suite,
    seed: seed ?? null,
    references,
    origins: origins.map(({ version, commit = null, plan, tasks }) => ({
      ...{ version, commit, plan, tasks },
    })),
    models: report.models.map(({ name, served, temperature, topP, reasoningEffort }) => ({
      ...{ name, served: [...served] },
      ...defined({ temperature, topP, reasoningEffort }),
    })),
    planned: planned ?? null,
    trials: trials.length,
    replayed: trials.filter((trial) => trial.replayed).length || undefined,
    partlyReplayed: trials.filter((trial) => trial.partlyReplayed).length || undefined,
    unit,
    began: began && [...began],
    notes: [...notes],
    gates,
    metrics: Object.fromEntries(recordsOf(report)),
  };
}
