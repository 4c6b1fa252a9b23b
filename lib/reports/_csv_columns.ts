/**
 * The columns of CSV reports, which docs/contracts.md explains.
 * @module
 */

import { canonicalJson, cutText, type JsonValue } from "../base/json.ts";
import type { CallEvent } from "../calls/trace.ts";
import { countsAsSuccess, unitKey, type Variant } from "../gate/variant.ts";
import { spentUsage } from "../models/prices.ts";
import { isCase, isGenerated, isProbe } from "../tasks/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { canCall, cellName, isWholeQuestion } from "./cells.ts";
import { describeCause } from "../calls/failure_types.ts";

/** A cell; `undefined`, `null` and numbers that are not finite are empty, lists and objects are JSON. */
export type Cell = JsonValue | undefined;

/** The columns of a file, by name, and their cells. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** Arguments and results are cut to this many characters, the last of which is then an ellipsis. */
const MAX_TEXT = 2_000;

function cut(text: string | undefined): string | undefined {
  return text === undefined || text.length <= MAX_TEXT ? text : `${cutText(text, MAX_TEXT - 1)}…`;
}

/** The columns that name a variant. */
function variantColumns<Row>(of: (row: Row) => Variant, prefix = ""): Columns<Row> {
  return {
    [`${prefix}model`]: (row) => of(row).model,
    [`${prefix}strategy`]: (row) => of(row).strategy,
    [`${prefix}perturbation`]: (row) => of(row).perturbation,
    [`${prefix}variant`]: (row) => of(row).variant,
  };
}

/** A trial, its place in the report from 1, and what it cost. */
interface TrialRow {
  readonly trial: TrialSummary;
  readonly number: number;
  readonly cost: number | null;
}

/** Returns a column with a field of tasks of one kind; it is empty for others. */
function taskColumn<Task extends object>(
  isKind: (task: object) => task is Task,
  field: keyof Task,
): (row: TrialRow) => Cell {
  // Journals of other tools may have any JSON there.
  return ({ trial: { task } }) => isKind(task) ? task[field] as Cell : undefined;
}

function kindOf({ task }: TrialSummary): string {
  if (isGenerated(task)) return "generated";
  if (isWholeQuestion(task)) return "question";
  return isProbe(task) ? "probe" : isCase(task) ? "case" : "other";
}

export const TRIALS: Columns<TrialRow> = {
  id: ({ trial }) => trial.id,
  number: ({ number }) => number,
  suite: ({ trial }) => trial.suite,
  kind: ({ trial }) => kindOf(trial),
  cell: ({ trial }) => cellName(trial),
  unit: ({ trial }) => unitKey(trial.task),
  task: ({ trial }) => canonicalJson(trial.task),
  core: taskColumn(isGenerated, "core"),
  depth: taskColumn(isGenerated, "depth"),
  connected: taskColumn(isGenerated, "connected"),
  disconnected: taskColumn(isGenerated, "disconnected"),
  task_seed: taskColumn((task): task is { readonly seed: number } => "seed" in task, "seed"),
  test: taskColumn(isCase, "case"),
  probe: taskColumn(isProbe, "case"),
  question_set: taskColumn(isWholeQuestion, "set"),
  question: taskColumn(isWholeQuestion, "question"),
  difficulty: taskColumn(isWholeQuestion, "difficulty"),
  mode: taskColumn(isWholeQuestion, "mode"),
  domain: ({ trial }) => trial.domain,
  repetition: ({ trial }) => trial.repetition,
  ...variantColumns(({ trial }) => ({ ...trial, model: trial.model.requested })),
  served: ({ trial }) => trial.model.served,
  simulated: ({ trial }) => trial.model.simulated,
  outcome: ({ trial }) => trial.outcome,
  solved: ({ trial }) => trial.solved,
  valid: ({ trial }) => countsAsSuccess(trial),
  changed: ({ trial }) => trial.perturbation === "none" ? undefined : trial.changed !== false,
  unsolvable: ({ trial }) => trial.unsolvable,
  grounded: ({ trial }) => trial.grounded,
  calls: ({ trial }) => canCall(trial) ? trial.calls : undefined,
  fewest_calls: ({ trial }) => canCall(trial) ? trial.minimumCalls : undefined,
  wrong_calls: ({ trial }) => canCall(trial) ? trial.failures.length : undefined,
  root_failures: ({ trial }) =>
    canCall(trial) ? trial.failures.filter(({ root }) => root).length : undefined,
  behaviours: ({ trial }) => trial.behaviours.join(";"),
  input_tokens: ({ trial }) => spentUsage(trial).inputTokens,
  output_tokens: ({ trial }) => spentUsage(trial).outputTokens,
  tokens_estimated: ({ trial }) => spentUsage(trial).estimated === true,
  cost_usd: ({ cost }) => cost,
  duration_ms: ({ trial }) => trial.durationMs,
  started_at: ({ trial }) => trial.startedAt,
  replayed: ({ trial }) => trial.replayed === true,
  partly_replayed: ({ trial }) => trial.partlyReplayed === true,
  reason: ({ trial }) => cut(trial.reason),
  why: ({ trial }) => trial.why,
  agent: ({ trial }) => trial.agent,
};

interface CallRow {
  readonly trial: string;
  readonly call: CallEvent;
}

export const CALLS: Columns<CallRow> = {
  trial_id: ({ trial }) => trial,
  call: ({ call }) => call.call,
  step: ({ call }) => call.step,
  function: ({ call }) => call.function,
  arguments: ({ call }) => cut(call.arguments),
  result: ({ call }) => cut(call.result),
  // A function may answer a wrong call.
  refused: ({ call }) => call.failure !== undefined && call.returned === undefined,
  failure: ({ call }) => call.failure?.type,
  root: ({ call }) => call.failure?.root,
  cause: ({ call }) => call.failure && cut(describeCause({ ...call, ...call.failure })),
  guessed: ({ call }) => call.guessed === true,
  fault: ({ call }) => call.fault,
  error: ({ call }) => cut(call.error),
  made_by: ({ call }) => call.by ?? "model",
  duration_ms: ({ call }) => call.durationMs,
  agent_did: ({ call }) => call.agentDid,
};
