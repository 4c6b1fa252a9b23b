/**
 * CSV reports: tidy tables of trials, calls and metrics, for other programs.
 *
 * Files follow RFC 4180, but lines end with a line feed alone. Texts of models, tools and journals are hostile: a
 * spreadsheet must not run them, and no reader stumble over them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @module
 */

import { pathIn } from "../base/folder.ts";
import { canonicalJson, cutText, type JsonValue } from "../base/json.ts";
import { assertBegins, Output } from "../base/output_file.ts";
import { describeCause } from "../calls/failure_types.ts";
import { type CallEvent, callsOf } from "../calls/trace.ts";
import { countsAsSuccess, simulatedIn, unitKey } from "../gate/variant.ts";
import { costOfAll, spentUsage } from "../models/prices.ts";
import { isCase, isGenerated, isProbe } from "../tasks/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import { canCall, cellName, isWholeQuestion } from "./cells.ts";
import type { Report } from "./report.ts";
import { recordsOf } from "./_views.ts";

/** A cell; `undefined`, `null` and numbers that are not finite are empty, lists and objects are JSON. */
type Cell = JsonValue | undefined;

/** The columns of a file, by name, and their cells; docs/contracts.md explains them. */
type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** Arguments and results are cut to this many characters, the last of which is then an ellipsis. */
const MAX_TEXT = 2_000;

function cut(text: string | undefined): string | undefined {
  return text === undefined || text.length <= MAX_TEXT ? text : `${cutText(text, MAX_TEXT - 1)}…`;
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

const TRIALS: Columns<TrialRow> = {
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
  model: ({ trial }) => trial.model.requested,
  strategy: ({ trial }) => trial.strategy,
  perturbation: ({ trial }) => trial.perturbation,
  variant: ({ trial }) => trial.variant,
  served: ({ trial }) => trial.model.served,
  simulated: ({ trial }) => simulatedIn([trial]),
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
  user_messages: ({ trial }) => trial.user?.messages,
  user_end: ({ trial }) => trial.user?.end,
  user_fault: ({ trial }) => trial.user?.fault,
  agent: ({ trial }) => trial.agent,
};

const CALLS: Columns<{ readonly trial: string; readonly call: CallEvent }> = {
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
  blocked_by: ({ call }) => call.blockedBy,
  error: ({ call }) => cut(call.error),
  made_by: ({ call }) => call.by ?? "model",
  duration_ms: ({ call }) => call.durationMs,
  agent_did: ({ call }) => call.agentDid,
};

/** Returns a line of CSV. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(",")}\n`;
}

/** What a spreadsheet may run, behind blanks and quotes too; full-width signs are read like the others. */
const FORMULA = /^[\s"']*[=+\-@＝＋－＠]|^['"]*[\t\r\n]/;

/** Where a program that splits lines at semicolons, tabs or line breaks, whatever quotes say, may find another one. */
const INNER_FORMULA = /(?<=[;\t\r\n])(?=(?:[^\S\t\r\n]|["'])*[=+\-@＝＋－＠])/g;

/** What steers a terminal or turns the order of letters; many readers take NUL for the end of a file. */
// deno-lint-ignore no-control-regex
const UNSEEN = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

function cellText(cell: Cell): string {
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  if (cell === undefined || cell === null || typeof cell === "boolean") return String(cell ?? "");
  // Half a character has no form in UTF-8.
  const text = (typeof cell === "string" ? cell : canonicalJson(cell)).toWellFormed()
    .replace(UNSEEN, "\ufffd");
  const begin = FORMULA.test(text) && !NUMBER.test(text) ? "'" : "";
  const shielded = begin + text.replace(INNER_FORMULA, "'");
  return /[",\r\n]/.test(shielded) ? `"${shielded.replaceAll('"', '""')}"` : shielded;
}

/** The files of trials and calls. */
const FILES = { trials: TRIALS, calls: CALLS } as const;

/**
 * Checks that {@linkcode writeCsv} would overwrite nothing but files of its own, which have the same first columns.
 * Messages name the folder as `shown`.
 *
 * @throws {InputError} If another file is there.
 */
export function assertCsvFolder(folder: string, report: Report, shown: string): void {
  const heads = [
    ...Object.entries(FILES).map(([name, columns]) => [name, Object.keys(columns)] as const),
    // Other reports have other columns behind the first ones.
    ...[...recordsOf(report)].map(([name, [first]]) =>
      [name, Object.keys(first!).slice(0, 2)] as const
    ),
  ];
  for (const [name, head] of heads) {
    assertBegins(pathIn(folder, `${name}.csv`), "the report to", {
      kind: "another such report",
      start: head.join(","),
      shown: pathIn(shown, `${name}.csv`),
    });
  }
}

/**
 * Writes `trials.csv`, `calls.csv` and a file for each metric of the report into a folder, which is created. Returns how
 * many files there are.
 *
 * @param trials The trials of the report with their events, in any order; they are read one by one and not kept.
 * @throws {InputError} If a file cannot be written.
 */
export function writeCsv(folder: string, report: Report, trials: Iterable<Trial>): number {
  const { options: { prices = {} } } = report;
  const write = <Row>(name: string, columns: Columns<Row>, rows: Iterable<Row>) => {
    using output = new Output(pathIn(folder, `${name}.csv`), "the report to");
    let lines = csvLine(Object.keys(columns));
    for (const row of rows) {
      lines += csvLine(Object.values(columns).map((cell) => cell(row)));
      if (lines.length < 100_000) continue;
      output.write(lines);
      lines = "";
    }
    output.write(lines);
    output.finish();
  };
  const calls = function* () {
    for (const { id, events } of trials) {
      for (const call of callsOf(events)) yield { trial: id, call };
    }
  };
  write("calls", CALLS, calls());
  write(
    "trials",
    TRIALS,
    report.trials.map((trial, place) => (
      { trial, number: place + 1, cost: costOfAll([trial], prices) }
    )),
  );
  const metrics = recordsOf(report);
  for (const [name, records] of metrics) {
    // A figure that one row has and another lacks is a column of both.
    const names = new Set(records.flatMap((record) => Object.keys(record)));
    const columns = [...names].map((key) => [key, (row: typeof records[number]) => row[key]]);
    write(name, Object.fromEntries(columns), records);
  }
  return metrics.size + Object.keys(FILES).length;
}
