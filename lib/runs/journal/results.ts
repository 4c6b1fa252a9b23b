/**
 * Results: the journals of a run, its shards, or other tools, put together into one set of trials.
 * @module
 */

import { canonicalJson, printable } from "../../base/json.ts";
import { tornNotice } from "./jsonl.ts";
import {
  type JournalFile,
  type PlanLine,
  readJournalFile,
  splitGate,
  trialsOf,
} from "./journal.ts";
import { type CompletePolicy, hypothesesOf, isUpgrade } from "../../gate/policy.ts";
import type { Prices } from "../../models/prices.ts";
import type { SequentialRule } from "../../gate/sequential.ts";
import { assignShards, shardText } from "../shards.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";

/** The trials of one or more journals that belong together. */
export interface Results {
  /** The names of the suites. */
  readonly suite: string;
  /** What was planned; for journals without a plan, just the trials that are there. */
  readonly planned: readonly PlannedTrial[];
  /** The finished trials, in plan order; {@linkcode journalTrials} has all of each. */
  readonly trials: readonly TrialSummary[];
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
  const given = paths.map(readJournalFile);
  const notices = given.flatMap(({ path, end }) =>
    end.tornBytes === 0 ? [] : [tornNotice(path, end.tornBytes)]
  );
  const begun = given.filter((file) => !isEmpty(file));
  const files = begun.length === 0 ? given : begun;
  const empty = files.length === given.length
    ? []
    : given.filter(isEmpty).map(({ path }) =>
      `${path} is empty: its run died before its first line`
    );
  notices.push(...empty);
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
  const shards = mixed === undefined && planned !== undefined
    ? assignShards(first.plan, first.plan.shard.of)
    : undefined;
  const missing = mixed === undefined ? missingShards(files) : undefined;
  const problem = mixed ??
    (planned === undefined || shards === undefined
      ? "the plan line does not agree with its own hash: " +
        `that of ${first.path} was changed, or made by another version`
      : shardProblem(files) ?? doubledProblem(files) ?? foreignProblem(files, planned) ??
        misplacedProblem(files, shards) ?? ruleProblem(first.plan) ?? missing ?? empty[0]);
  const { gate, rule } = splitGate(first.plan.gate);
  const { prices } = first.plan;
  const usable = problem === undefined || problem === missing;
  const short = usable && shards !== undefined ? shortShards(files, shards) : [];
  if (first.plan.shard.of > 1) notices.push(...short.map(shortNotice));
  return {
    suite,
    planned: planned ?? [],
    trials,
    gate,
    rule,
    prices,
    stopped: problem === undefined ? stoppedBy(short) : undefined,
    plan: first.plan,
    notices,
    problem,
    missing,
  };
}

/** Whether a journal has neither a plan nor a trial. */
function isEmpty({ plan, trials }: JournalFile): boolean {
  return plan === undefined && trials.length === 0;
}

/** A journal that lacks some of its trials. */
interface ShortShard {
  readonly file: JournalFile;
  readonly lacking: number;
  readonly planned: number;
}

function shortShards(files: readonly JournalFile[], shards: Uint32Array): ShortShard[] {
  const planned = new Map<number, number>();
  for (const shard of shards) planned.set(shard, (planned.get(shard) ?? 0) + 1);
  return files.flatMap((file) => {
    const own = planned.get(file.plan!.shard.index) ?? 0;
    const lacking = own - file.trials.length;
    return lacking > 0 ? [{ file, lacking, planned: own }] : [];
  });
}

function shortNotice({ file: { path, plan, ends }, lacking, planned }: ShortShard): string {
  return `${shardText(plan!.shard)} (${path}) lacks ${lacking} of its ${planned} trials: ` +
    (ends ?? "its run was cut short, or goes on; it can be continued with --resume");
}

/** Trials may be missing only where the journal that lacks them says why. */
function stoppedBy(short: readonly ShortShard[]): string | undefined {
  return short.every(({ file }) => file.ends !== undefined) ? short[0]?.file.ends : undefined;
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
  const suites = new Map<string, string>();
  for (const { path, plan, trials } of files) {
    const own = [...(plan === undefined ? [] : [plan]), ...trials];
    for (const { suite } of own) if (!suites.has(suite)) suites.set(suite, path);
  }
  if (suites.size > 1) {
    const names = [...suites].slice(0, 5).map(([name, path]) =>
      `${printable(name, 60)} in ${path}`
    );
    return `trials of several suites are mixed: ${names.join(", ")}`;
  }
  for (const other of others) {
    if ((other.plan === undefined) !== (first!.plan === undefined)) {
      return `${first!.path} and ${other.path} do not belong together: only one of them has a plan`;
    }
    if (first!.plan !== undefined && other.plan!.planHash !== first!.plan.planHash) {
      const fields = differences(first!.plan, other.plan!);
      return `${first!.path} and ${other.path} are of different plans: they differ in ` +
        (fields.join(", ") || "their hashes") +
        (fields.includes("seed") ? "; all shards of a run take the same --seed" : "");
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
  const first = files[0]!;
  const seen = new Map<number, string>();
  for (const { path, plan } of files) {
    const { shard } = plan!;
    if (shard.of !== first.plan!.shard.of) {
      return `the journals are not shards of one run: ${first.path} is ${
        shardText(first.plan!.shard)
      }, ${path} is ${shardText(shard)}`;
    }
    const before = seen.get(shard.index);
    if (before !== undefined) {
      const where = before === path ? `${path} is given twice` : `in ${before} and in ${path}`;
      return `${shardText(shard)} is there twice: ${where}`;
    }
    seen.set(shard.index, path);
  }
}

/** So many missing shards are named. */
const MOST_NAMED = 20;

function missingShards(files: readonly JournalFile[]): string | undefined {
  const { of } = files[0]!.plan!.shard;
  const present = new Set(files.map(({ plan }) => plan!.shard.index));
  const missing = Array.from({ length: of }, (_, place) => place + 1)
    .filter((index) => !present.has(index));
  if (missing.length === 0) return undefined;
  const more = missing.length - MOST_NAMED;
  return `shards are missing: ${
    missing.slice(0, MOST_NAMED).map((index) => `${index}/${of}`).join(", ")
  }` + (more > 0 ? ` and ${more} more` : "");
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

/** All trials may be there and yet one be in a journal where its shard never put it. */
function misplacedProblem(
  files: readonly JournalFile[],
  shards: Uint32Array,
): string | undefined {
  for (const { path, plan, trials } of files) {
    const { index, of } = plan!.shard;
    const odd = trials.find((trial) => shards[trial.index] !== index);
    if (odd === undefined) continue;
    return `${path} is ${shardText({ index, of })} and has a trial of ${
      shardText({ index: shards[odd.index]!, of })
    }: ${printable(odd.id)}`;
  }
}

/** The id of a trial that is not planned, or whose fields are not those of its id. */
export function foreignTrial(
  trials: readonly TrialSummary[],
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
