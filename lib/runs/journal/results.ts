/**
 * Results: the trials of one or more journals, merged and checked.
 * @module
 */

import { canonicalJson, listText, printable } from "../../base/json.ts";
import { tornNotice } from "./jsonl.ts";
import {
  DECLARED_RULE,
  type JournalFile,
  type PlanLine,
  readJournalFile,
  splitGate,
  trialsOfLine,
} from "./journal.ts";
import { type CompletePolicy, hypothesesOf, isUpgrade } from "../../gate/policy.ts";
import type { Prices } from "../../models/prices.ts";
import type { SequentialRule } from "../../gate/sequential.ts";
import { assignShards } from "../_assign_shards.ts";
import { unitsPerBlock } from "../plan.ts";
import { shardText } from "../shard_text.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";

/** The trials of one or more journals that belong together. */
export interface Results {
  /** The files they were read from. */
  readonly paths: readonly string[];
  /** The names of the suites. */
  readonly suite: string;
  /** The planned trials; for journals without a plan, the trials they have. */
  readonly planned: readonly PlannedTrial[];
  /** Summaries of the finished trials, in plan order; {@linkcode journalTrials} has the whole ones. */
  readonly trials: readonly TrialSummary[];
  /** The plan's gate, the rule of a sequential one, and prices. */
  readonly gate: CompletePolicy | undefined;
  readonly rule: SequentialRule | undefined;
  readonly prices: Prices | undefined;
  /** Why the run ended early, such as a budget; `undefined` if it did not. */
  readonly stopped: string | undefined;
  /** The plan line; `undefined` in journals written by other tools. */
  readonly plan: PlanLine | undefined;
  /** Messages for the user, such as dropped torn lines. */
  readonly notices: readonly string[];
  /** Why no verdict is possible; `undefined` if one is. */
  readonly problem: string | undefined;
  /** The missing shards; this is also the `problem`, unless there is a worse one. */
  readonly missing: string | undefined;
}

/**
 * Reads journals and merges them. Missing or duplicate shards, shards of another plan and unplanned trials
 * are returned as `problem`, which makes a gate over them invalid.
 *
 * @throws {InputError} If a file cannot be read or a line is malformed.
 */
export function readResults(paths: readonly string[]): Results {
  const journals = paths.map(readJournalFile);
  const notices = journals.flatMap(({ path, end }) =>
    end.tornBytes === 0 ? [] : [tornNotice(path, end.tornBytes)]
  );
  const started = journals.filter((file) => !isEmpty(file));
  const files = started.length === 0 ? journals : started;
  const empty = files.length === journals.length
    ? []
    : journals.filter(isEmpty).map(({ path }) =>
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
    const noGate = { gate: undefined, rule: undefined, prices: undefined, stopped: undefined };
    const unknown = problem === undefined && trials.length > 0
      ? ["Without a plan line it is unknown whether trials are missing"]
      : [];
    const allNotices = [...notices, ...unknown];
    const noPlan = { plan: undefined, missing: undefined };
    return { paths, suite, planned, trials, ...noGate, ...noPlan, notices: allNotices, problem };
  }
  const planned = trialsOfLine(first.plan);
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
        misplacedProblem(files, shards) ?? ruleProblem(first.plan) ?? alteredProblem(files) ??
        missing ?? empty[0]);
  const { gate, rule } = splitGate(first.plan.gate);
  const { prices } = first.plan;
  const usable = problem === undefined || problem === missing;
  const short = usable && shards !== undefined ? shortShards(files, shards) : [];
  if (first.plan.shard.of > 1) notices.push(...short.map(shortNotice));
  return {
    paths,
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

/** A journal with missing trials. */
interface ShortShard {
  readonly file: JournalFile;
  readonly lacking: number;
  readonly planned: number;
}

function shortShards(files: readonly JournalFile[], shards: Uint32Array): ShortShard[] {
  const planned = new Map<number, number>();
  for (const shard of shards) planned.set(shard, (planned.get(shard) ?? 0) + 1);
  return files.flatMap((file) => {
    const count = planned.get(file.plan!.shard.index) ?? 0;
    const lacking = count - file.trials.length;
    return lacking > 0 ? [{ file, lacking, planned: count }] : [];
  });
}

function shortNotice({ file: { path, plan, ends }, lacking, planned }: ShortShard): string {
  return `${shardText(plan!.shard)} (${path}) lacks ${lacking} of its ${planned} trials: ` +
    (ends ?? "its run was cut short, or goes on; it can be continued with --resume");
}

/** Trials may be missing only if the journal says why. */
function stoppedBy(short: readonly ShortShard[]): string | undefined {
  return short.every(({ file }) => file.ends !== undefined) ? short[0]?.file.ends : undefined;
}

/** What a run declared before its first trial must not depend on how the trials ended. */
function alteredProblem(files: readonly JournalFile[]): string | undefined {
  const altered = files.find((file) => file.altered);
  return altered && `${DECLARED_RULE}: that of ${altered.path} was changed`;
}

/** Only a rule fixed in advance bounds the errors; one that does not fit the policy was changed later. */
function ruleProblem({ gate: planned, resolved, trials }: PlanLine): string | undefined {
  const { gate, rule } = splitGate(planned);
  if (gate === undefined || rule === undefined) return undefined;
  const units = unitsPerBlock(resolved);
  const { pass, fail } = hypothesesOf(gate);
  const least = isUpgrade(gate) ? -1 : 0;
  const close = (one: number, other: number) => Math.abs(one - other) < 1e-9;
  const fits = close(rule.alpha, 1 - gate.confidence) && close(rule.beta, 1 - gate.power) &&
    rule.blockSize === units && rule.largestSize === units * resolved.graphs &&
    rule.lambda.pass * (pass - least) <= 1 + 1e-9 &&
    (fail === 1 || -rule.lambda.fail * (1 - fail) <= 1 + 1e-9);
  if (fits && trials > 0) return undefined;
  return "the rule of the plan's sequential gate does not fit its policy: it was changed";
}

function mixedProblem(files: readonly JournalFile[]): string | undefined {
  const [first, ...others] = files;
  const suites = new Map<string, string>();
  for (const { path, plan, trials } of files) {
    const records = [...(plan === undefined ? [] : [plan]), ...trials];
    for (const { suite } of records) if (!suites.has(suite)) suites.set(suite, path);
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
    const [server, next] = [first!, other].map(({ plan }) => plan && serverText(plan));
    if (server !== next) {
      return `${first!.path} and ${other.path} asked different servers: ${server} and ${next}`;
    }
    const changed = changedSources(first!.plan?.sources, other.plan?.sources);
    if (changed.length > 0) {
      return `${first!.path} and ${other.path} are of different code: ${
        listText(changed, MAX_NAMED)
      }`;
    }
  }
}

/** The server that a plan names for models that name none: another one may have another model by its name. */
export function serverText({ baseURL, ownCode }: PlanLine): string {
  if (baseURL !== undefined) return printable(baseURL.replace(/\/+$/, ""), 200);
  return ownCode ? "a server that only its own file knows" : "OpenAI's server";
}

/** The files of a test that differ between two runs of it, as far as both know them. */
export function changedSources(
  one: PlanLine["sources"],
  other: PlanLine["sources"],
): string[] {
  if (one === undefined || other === undefined) return [];
  const paths = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...paths].filter((path) => one[path] !== other[path])
    .map((path) => printable(path, 200));
}

/** The parts of plans that are compared. */
interface ComparablePlan {
  readonly suite?: string;
  readonly resolved: object;
}

/** The names of the fields in which two plans differ. */
export function differences(one: ComparablePlan, other: ComparablePlan): string[] {
  const fields = ({ suite, resolved }: ComparablePlan): Record<string, unknown> => ({
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

/** At most this many missing shards are listed. */
const MAX_NAMED = 20;

function missingShards(files: readonly JournalFile[]): string | undefined {
  const { of } = files[0]!.plan!.shard;
  const present = new Set(files.map(({ plan }) => plan!.shard.index));
  const missing = Array.from({ length: of }, (_, place) => place + 1)
    .filter((index) => !present.has(index));
  if (missing.length === 0) return undefined;
  return `shards are missing: ${listText(missing.map((index) => `${index}/${of}`), MAX_NAMED)}`;
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
  return drawnProblem(files);
}

/** Shards that replay in processes of their own may take the same recording for different trials. */
function drawnProblem(files: readonly JournalFile[]): string | undefined {
  const seen = new Map<string, string>();
  for (const { id, draw } of files.flatMap(({ trials }) => trials)) {
    if (draw === undefined) continue;
    const before = seen.get(draw);
    if (before !== undefined) {
      return `trials ${printable(before)} and ${printable(id)} have the same recorded replies`;
    }
    seen.set(draw, id);
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

/** Even if no trial is missing, one may be in the journal of another shard. */
function misplacedProblem(
  files: readonly JournalFile[],
  shards: Uint32Array,
): string | undefined {
  for (const { path, plan, trials } of files) {
    const { index, of } = plan!.shard;
    const misplaced = trials.find((trial) => shards[trial.index] !== index);
    if (misplaced === undefined) continue;
    return `${path} is ${shardText({ index, of })} and has a trial of ${
      shardText({ index: shards[misplaced.index]!, of })
    }: ${printable(misplaced.id)}`;
  }
}

/** The id of a trial that is not planned, or whose fields do not match its id. */
export function foreignTrial(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
): string | undefined {
  const known = new Map(planned.map((trial) => [trial.id, placeText(trial, trial.model)]));
  return trials.find((trial) => known.get(trial.id) !== placeText(trial, trial.model.requested))
    ?.id;
}

/** A trial and its place in the plan, as gates look in plan order. */
function placeText(
  { task, strategy, perturbation, repetition, index, block }: Omit<PlannedTrial, "model">,
  model: string,
) {
  return canonicalJson([model, task, strategy, perturbation, repetition, index, block]);
}
