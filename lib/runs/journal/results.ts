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
import { MAX_TRIALS } from "../plan.ts";
import { unitsPerBlock } from "../resolved_suite.ts";
import { commonOf, joinedPlan, sharedTest, sourcesFromHere, testsOf } from "./_test_files.ts";
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
  const suite = [...new Set(files.map(({ plan, trials }) => plan?.suite ?? trials[0]?.suite))]
    .join(", ");
  const [first] = files;
  if (first?.plan === undefined) {
    const trials = inOrder(files.flatMap((file) => file.trials));
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
  const mixed = mixedProblem(files);
  const parts = mixed === undefined ? partsOf(files) : [];
  const plan = parts.length > 1 ? joinedPlan(parts.map((part) => part.plan)) : first.plan;
  const planned = parts.length === 1 ? parts[0]!.planned : trialsOfLine(plan);
  const missing = mixed === undefined ? missingShards(parts) : undefined;
  const problem = mixed ?? firstOf(parts, hashProblem) ??
    (planned === undefined ? `together they have more than ${MAX_TRIALS} trials` : undefined) ??
    firstOf(parts, shardProblem) ?? doubledProblem(files) ?? firstOf(parts, foreignProblem) ??
    firstOf(parts, misplacedProblem) ?? firstOf(parts, ruleProblem) ?? alteredProblem(files) ??
    missing ?? empty[0];
  const { gate, rule } = splitGate(plan.gate);
  const usable = problem === undefined || problem === missing;
  const short = usable ? parts.flatMap(shortShards) : [];
  if (files.length > 1 || first.plan.shard.of > 1) notices.push(...short.map(shortNotice));
  const trials = files.flatMap((file) => file.trials);
  return {
    paths,
    suite,
    planned: planned ?? [],
    trials: inOrder(parts.length > 1 ? reindexed(trials, planned ?? []) : trials),
    gate,
    rule,
    prices: plan.prices,
    stopped: problem === undefined ? stoppedBy(short) : undefined,
    plan,
    notices,
    problem,
    missing,
  };
}

function inOrder(trials: readonly TrialSummary[]): TrialSummary[] {
  return trials.toSorted((one, other) => one.index - other.index);
}

/** The journals of one plan: those of one test file, if a suite has several. */
interface Part {
  readonly files: readonly JournalFile[];
  readonly plan: PlanLine;
  /** Its trials; `undefined` if it does not agree with its own hash. */
  readonly planned: readonly PlannedTrial[] | undefined;
  /** The shard of each trial, in plan order. */
  readonly shards: Uint32Array;
}

function partsOf(files: readonly JournalFile[]): Part[] {
  return [...Map.groupBy(files, ({ plan }) => plan!.planHash).values()].map((own) => {
    const plan = own[0]!.plan!;
    const planned = trialsOfLine(plan);
    const shards = planned === undefined ? new Uint32Array() : assignShards(plan, plan.shard.of);
    return { files: own, plan, planned, shards };
  });
}

function firstOf(
  parts: readonly Part[],
  problemOf: (part: Part) => string | undefined,
): string | undefined {
  for (const part of parts) {
    const problem = problemOf(part);
    if (problem !== undefined) return problem;
  }
}

/** The trials with their places in the plan of all parts. */
function reindexed(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
): TrialSummary[] {
  const places = new Map(planned.map(({ id, index }) => [id, index]));
  return trials.map((trial) => ({ ...trial, index: places.get(trial.id) ?? trial.index }));
}

function hashProblem({ files, planned }: Part): string | undefined {
  if (planned !== undefined) return undefined;
  return "the plan line does not agree with its own hash: " +
    `that of ${files[0]!.path} was changed, or made by another version`;
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

function shortShards({ files, shards }: Part): ShortShard[] {
  const planned = new Map<number, number>();
  for (const shard of shards) planned.set(shard, (planned.get(shard) ?? 0) + 1);
  return files.flatMap((file) => {
    const count = planned.get(file.plan!.shard.index) ?? 0;
    const lacking = count - file.trials.length;
    return lacking > 0 ? [{ file, lacking, planned: count }] : [];
  });
}

function shortNotice({ file: { path, plan, ends }, lacking, planned }: ShortShard): string {
  const which = plan!.shard.of === 1 ? path : `${shardText(plan!.shard)} (${path})`;
  return `${which} lacks ${lacking} of its ${planned} trials: ` +
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
function ruleProblem({ plan: { gate: planned, resolved, trials } }: Part): string | undefined {
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
    const areApart = new Set(suites.values()).size > 1;
    return `trials of several suites are mixed: ${names.join(", ")}` +
      (areApart ? "; give the journals of one" : "");
  }
  const byHash = new Map<string | undefined, JournalFile>([[first?.plan?.planHash, first!]]);
  for (const other of others) {
    if ((other.plan === undefined) !== (first!.plan === undefined)) {
      return `${first!.path} and ${other.path} do not belong together: only one of them has a plan`;
    }
    // Of several test files each is compared with its own shards, and by what a suite has in common.
    const like = byHash.getOrInsert(other.plan?.planHash, other);
    const one = like === other ? first! : like;
    const unlike = one.plan && (unlikePlans(one, other) ?? unlikeSettings(one, other));
    if (unlike !== undefined) return unlike;
    const changed = changedSources(like.plan?.sources, other.plan?.sources);
    if (changed.length > 0) return differentCode(one, other, changed);
  }
  return first?.plan === undefined ? undefined : sharedTest(files) ?? sharedCode(files);
}

/** What keeps journals of different plans from being those of the test files of one suite. */
function unlikePlans(one: JournalFile, other: JournalFile): string | undefined {
  const [plan, next] = [one.plan!, other.plan!];
  if (plan.planHash === next.planHash) return undefined;
  const all = differences(plan, next);
  const areFiles = all.includes("cells") && [plan, next].every((one) => testsOf(one) !== undefined);
  if (areFiles && [plan, next].some(({ gate }) => splitGate(gate).rule !== undefined)) {
    return `${one.path} and ${other.path} are of two test files, each of which its sequential gate ended by ` +
      "its own trials: decide over each by itself, or run them without sequential";
  }
  const fields = areFiles ? differencesOf(commonOf(plan), commonOf(next)).map(ownName) : all;
  if (areFiles && fields.length === 0) return undefined;
  return `${one.path} and ${other.path} are of different plans: they differ in ` +
    (fields.join(", ") || "their hashes") +
    (fields.includes("seed") ? "; all shards of a run take the same --seed" : "");
}

/** What else two journals of a run must declare alike. */
function unlikeSettings(one: JournalFile, other: JournalFile): string | undefined {
  for (
    const [field, what] of [
      ["gate", "gates"],
      ["prices", "prices"],
      ["records", "baselines to write"],
    ] as const
  ) {
    if (canonicalJson(one.plan![field]) === canonicalJson(other.plan![field])) continue;
    return `${one.path} and ${other.path} declare different ${what}`;
  }
  const [server, next] = [one, other].map(({ plan }) => serverText(plan!));
  if (server === next) return undefined;
  return `${one.path} and ${other.path} asked different servers: ${server} and ${next}`;
}

/** Says that test files were run with different versions of what both import. */
function sharedCode(files: readonly JournalFile[]): string | undefined {
  const seen = new Map<string, { readonly file: JournalFile; readonly hash: string }>();
  for (const file of files) {
    for (const [path, hash] of Object.entries(sourcesFromHere(file.plan!))) {
      const before = seen.getOrInsert(path, { file, hash });
      if (before.hash !== hash) {
        return differentCode(before.file, file, [printable(path, 200)]);
      }
    }
  }
}

function differentCode(one: JournalFile, other: JournalFile, paths: readonly string[]): string {
  return `${one.path} and ${other.path} are of different code: ${listText(paths, MAX_NAMED)}`;
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
    // They follow from the cases.
    parts: undefined,
  });
  return differencesOf(fields(one), fields(other));
}

/** Returns the name of a field of plans that tests of the user's tools know: their graphs are trials. */
export function ownName(field: string): string {
  return field === "graphs" ? "trials" : field;
}

function differencesOf(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => canonicalJson(one[name]) !== canonicalJson(other[name]))
    .map((name) => printable(name, 50));
}

function shardProblem({ files }: Part): string | undefined {
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

function missingShards(parts: readonly Part[]): string | undefined {
  const missing = parts.flatMap(({ files, plan }) => {
    const { of } = plan.shard;
    const present = new Set(files.map(({ plan }) => plan!.shard.index));
    const beside = parts.length === 1 ? "" : ` beside ${files[0]!.path}`;
    return Array.from({ length: of }, (_, place) => place + 1)
      .filter((index) => !present.has(index)).map((index) => `${index}/${of}${beside}`);
  });
  return missing.length === 0 ? undefined : `shards are missing: ${listText(missing, MAX_NAMED)}`;
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

function foreignProblem({ files, planned = [] }: Part): string | undefined {
  for (const { path, trials } of files) {
    const foreign = foreignTrial(trials, planned);
    if (foreign !== undefined) {
      return `${path} has a trial that its plan does not have: ${printable(foreign)}`;
    }
  }
}

/** Even if no trial is missing, one may be in the journal of another shard. */
function misplacedProblem({ files, shards }: Part): string | undefined {
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
  { task, strategy, perturbation, variant, repetition, index, block }: Omit<PlannedTrial, "model">,
  model: string,
) {
  return canonicalJson([
    ...[model, task, strategy, perturbation, variant ?? null],
    ...[repetition, index, block],
  ]);
}
