/**
 * Results: the journals of a run, its shards, or other tools, put together into one set of trials.
 * @module
 */

import { canonicalJson, printable } from "./json.ts";
import { tornNotice } from "./journal.ts";
import {
  type JournalFile,
  type PlanLine,
  readJournalFile,
  splitGate,
  trialsOf,
} from "./journal_file.ts";
import { listTrials, shardOf } from "./plan.ts";
import { type CompletePolicy, hypothesesOf, isUpgrade } from "./policy.ts";
import type { Prices } from "./prices.ts";
import type { SequentialRule } from "./sequential.ts";
import type { TrialScore } from "./trial_score.ts";
import type { PlannedTrial } from "./trial_id.ts";

/** The trials of one or more journals that belong together. */
export interface Results {
  /** The names of the suites. */
  readonly suite: string;
  /** What was planned; for journals without a plan, just the trials that are there. */
  readonly planned: readonly PlannedTrial[];
  /** The finished trials, in plan order; {@linkcode journalTrials} has all of each. */
  readonly trials: readonly TrialScore[];
  /** The gate that the plan declares, the rule of a sequential one, and prices. */
  readonly gate: CompletePolicy | undefined;
  readonly rule: SequentialRule | undefined;
  readonly prices: Prices | undefined;
  /** Why the run was ended before all of its plan, such as a budget; `undefined` if it was not. */
  readonly stopped: string | undefined;
  /** The plan line; `undefined` in journals that other tools wrote. */
  readonly plan: PlanLine | undefined;
  /** What a person should know, such as dropped torn lines. */
  readonly notices: readonly string[];
  /** Why no verdict can rest on these results; `undefined` when one can. */
  readonly problem: string | undefined;
  /** Which shards are not there; then this is the `problem`, unless there is a worse one. */
  readonly missing: string | undefined;
}

/**
 * Reads journals and puts them together. Shards that are missing, doubled or of another plan, and
 * trials that the plan does not have, are told as `problem`: a gate over them is invalid.
 *
 * @throws {InputError} If a file cannot be read or a line is malformed.
 */
export function readResults(paths: readonly string[]): Results {
  const files = paths.map(readJournalFile);
  const notices = files.flatMap(({ path, end }) =>
    end.tornBytes === 0 ? [] : [tornNotice(path, end.tornBytes)]
  );
  const trials = files.flatMap((file) => file.trials).sort((one, other) => one.index - other.index);
  const [first] = files;
  const suite = [...new Set(files.map(({ plan, trials }) => plan?.suite ?? trials[0]?.suite))]
    .join(", ");
  if (first?.plan === undefined) {
    const planned = trials.map((trial) => ({ ...trial, model: trial.model.requested }));
    const problem = mixedProblem(files) ?? doubledProblem(files);
    const none = { gate: undefined, rule: undefined, prices: undefined, stopped: undefined };
    const unknown = problem === undefined && trials.length > 0
      ? ["Without a plan line nobody knows whether all trials are there"]
      : [];
    const told = [...notices, ...unknown];
    const lacking = { plan: undefined, missing: undefined };
    return { suite, planned, trials, ...none, ...lacking, notices: told, problem };
  }
  const planned = trialsOf(first.plan);
  const mixed = mixedProblem(files);
  const missing = mixed === undefined ? missingShards(files) : undefined;
  const problem = mixed ??
    (planned === undefined
      ? "the plan line does not agree with its own hash: it was changed, or made by another version"
      : shardProblem(files) ?? doubledProblem(files) ?? foreignProblem(files, planned) ??
        ruleProblem(first.plan) ?? missing);
  const { gate, rule } = splitGate(first.plan.gate);
  const { prices } = first.plan;
  return {
    suite,
    planned: planned ?? [],
    trials,
    gate,
    rule,
    prices,
    stopped: problem === undefined ? stoppedBy(files, first.plan) : undefined,
    plan: first.plan,
    notices,
    problem,
    missing,
  };
}

/** Trials may be missing only where the journal that lacks them says why. */
function stoppedBy(files: readonly JournalFile[], { resolved, suite }: PlanLine) {
  const plan = { suite, resolved, trials: listTrials(resolved) };
  const short = files.filter(({ trials, plan: line }) =>
    trials.length < shardOf(plan, line!.shard).length
  );
  return short.every(({ ends }) => ends !== undefined) ? short[0]?.ends : undefined;
}

/** A rule that was fixed in advance keeps its errors; one that does not fit the policy was not. */
function ruleProblem({ gate: planned, resolved, trials }: PlanLine): string | undefined {
  const { gate, rule } = splitGate(planned);
  if (gate === undefined || rule === undefined) return undefined;
  const { cells, graphs } = resolved;
  const { pass, fail } = hypothesesOf(gate);
  const least = isUpgrade(gate) ? -1 : 0;
  const close = (one: number, other: number) => Math.abs(one - other) < 1e-9;
  const fits = close(rule.alpha, 1 - gate.confidence) && close(rule.beta, 1 - gate.power) &&
    rule.blockSize === cells.length && rule.largestSize === cells.length * graphs &&
    rule.lambda.pass * (pass - least) <= 1 + 1e-9 &&
    (fail === 1 || -rule.lambda.fail * (1 - fail) <= 1 + 1e-9);
  if (fits && trials > 0) return undefined;
  return "the rule of the plan's sequential gate does not fit its policy: it was changed";
}

function mixedProblem(files: readonly JournalFile[]): string | undefined {
  const [first, ...others] = files;
  const suites = new Set(
    files.flatMap((
      { plan, trials },
    ) => [...(plan === undefined ? [] : [plan.suite]), ...trials.map((trial) => trial.suite)]),
  );
  if (suites.size > 1) {
    const names = [...suites].slice(0, 5).map((name) => printable(name, 60)).join(", ");
    return `trials of several suites are mixed: ${names}`;
  }
  for (const other of others) {
    if ((other.plan === undefined) !== (first!.plan === undefined)) {
      return `${first!.path} and ${other.path} do not belong together: only one of them has a plan`;
    }
    if (first!.plan !== undefined && other.plan!.planHash !== first!.plan.planHash) {
      const fields = differences(first!.plan, other.plan!).join(", ") || "their hashes";
      return `${first!.path} and ${other.path} are of different plans: they differ in ${fields}`;
    }
    if (canonicalJson(first!.plan?.gate) !== canonicalJson(other.plan?.gate)) {
      return `${first!.path} and ${other.path} declare different gates`;
    }
  }
}

/** What is looked at to tell plans apart. */
interface Distinct {
  readonly suite?: string;
  readonly resolved: object;
}

/** The fields in which two plans differ. */
export function differences(one: Distinct, other: Distinct): string[] {
  const fields = ({ suite, resolved }: Distinct): Record<string, unknown> => ({
    suite,
    ...resolved,
  });
  const names = new Set([...Object.keys(fields(one)), ...Object.keys(fields(other))]);
  return [...names].filter((name) =>
    canonicalJson(fields(one)[name]) !== canonicalJson(fields(other)[name])
  ).map((name) => printable(name, 50));
}

function shardProblem(files: readonly JournalFile[]): string | undefined {
  const { of } = files[0]!.plan!.shard;
  const odd = files.find(({ plan }) => plan!.shard.of !== of);
  if (odd !== undefined) {
    return `the journals are not shards of one run: ${odd.path} is one of ${odd.plan!.shard.of}, ` +
      `${files[0]!.path} one of ${of}`;
  }
  const present = files.map(({ plan }) => plan!.shard.index);
  const doubled = files.find((_, place) => present.indexOf(present[place]!) !== place);
  if (doubled !== undefined) {
    return `shard ${doubled.plan!.shard.index}/${of} is there twice: ${doubled.path} again`;
  }
}

function missingShards(files: readonly JournalFile[]): string | undefined {
  const { of } = files[0]!.plan!.shard;
  const present = files.map(({ plan }) => plan!.shard.index);
  const missing = Array.from({ length: of }, (_, place) => place + 1)
    .filter((index) => !present.includes(index));
  if (missing.length > 0) {
    return `shards are missing: ${missing.map((index) => `${index}/${of}`).join(", ")}`;
  }
}

function doubledProblem(files: readonly JournalFile[]): string | undefined {
  const seen = new Map<string, string>();
  for (const { path, trials, doubled } of files) {
    if (doubled !== undefined) return `trial ${printable(doubled)} is in ${path} twice`;
    for (const { id } of trials) {
      const before = seen.get(id);
      if (before !== undefined) {
        return `trial ${printable(id)} is both in ${before} and in ${path}`;
      }
    }
    for (const { id } of trials) seen.set(id, path);
  }
}

function foreignProblem(
  files: readonly JournalFile[],
  planned: readonly PlannedTrial[],
): string | undefined {
  for (const { path, trials } of files) {
    const foreign = foreignTrial(trials, planned);
    if (foreign !== undefined) {
      return `${path} has a trial that its plan does not have: ${printable(foreign)}`;
    }
  }
}

/** The id of a trial that is not planned, or whose fields are not those of its id. */
export function foreignTrial(
  trials: readonly TrialScore[],
  planned: readonly PlannedTrial[],
): string | undefined {
  const known = new Map(planned.map((trial) => [trial.id, placeText(trial, trial.model)]));
  return trials.find((trial) => known.get(trial.id) !== placeText(trial, trial.model.requested))
    ?.id;
}

/** A trial with its place in the plan: looks are taken in plan order. */
function placeText(
  { task, strategy, perturbation, repetition, index, block }: Omit<PlannedTrial, "model">,
  model: string,
) {
  return canonicalJson([model, task, strategy, perturbation, repetition, index, block]);
}
