/**
 * Results: the journals of a run, its shards, or other tools, read into one set of trials.
 * @module
 */

import { z } from "zod";
import { completePolicy, RATE_POLICY, type RatePolicy } from "./gate.ts";
import { InputError, parseWith } from "./input.ts";
import { canonicalJson, isJsonObject, type JsonValue, printable } from "./json.ts";
import { type JournalContent, readJournal, tornNotice } from "./journal.ts";
import {
  comparisonHash,
  listTrials,
  type Plan,
  planHash,
  type ResolvedSuite,
  type Shard,
} from "./plan.ts";
import { type PlannedTrial, type Trial, TRIAL_LINE, type TrialKey } from "./trial.ts";

/** The first line of a journal: what was planned. */
export interface PlanLine {
  readonly v: 1;
  readonly kind: "plan";
  /** The suite's name. */
  readonly suite: string;
  /** See {@linkcode planHash}. */
  readonly planHash: string;
  /** See {@linkcode comparisonHash}. */
  readonly comparisonHash: string;
  /** The version of the generator. */
  readonly generator: number;
  /** How many trials the whole plan has, all shards together. */
  readonly trials: number;
  /** The seed of all tasks. */
  readonly seed: number;
  /** Which part of it this journal is for; `{index: 1, of: 1}` for all of it. */
  readonly shard: Shard;
  /** The gate with its defaults filled in, or `null`. */
  readonly gate: RatePolicy | null;
  /** Everything that decides which trials there are. */
  readonly resolved: ResolvedSuite;
}

const PLAN_LINE: z.ZodType<PlanLine> = z.looseObject({
  v: z.literal(1),
  kind: z.literal("plan"),
  suite: z.string(),
  planHash: z.string(),
  comparisonHash: z.string(),
  generator: z.int(),
  trials: z.int().min(0),
  seed: z.int().min(0),
  shard: z.object({ index: z.int().min(1), of: z.int().min(1) }),
  gate: RATE_POLICY.nullable(),
  resolved: z.looseObject({
    generator: z.int(),
    seed: z.int().min(0),
    graphs: z.int().min(1),
    cells: z.array(z.looseObject({})),
    models: z.array(z.looseObject({ model: z.string() })),
    strategies: z.array(z.string()),
    perturbations: z.array(z.string()),
    repetitions: z.int().min(1),
    limits: z.looseObject({}),
  }),
}) as unknown as z.ZodType<PlanLine>;

/** The first line of the journal of `plan`. */
export function planLine(plan: Plan, shard: Shard = { index: 1, of: 1 }): PlanLine {
  return {
    v: 1,
    kind: "plan",
    suite: plan.suite,
    planHash: planHash(plan),
    comparisonHash: comparisonHash(plan),
    generator: plan.resolved.generator,
    trials: plan.trials.length,
    seed: plan.resolved.seed,
    shard,
    gate: plan.gate === undefined ? null : completePolicy(plan.gate),
    resolved: plan.resolved,
  };
}

/** One journal, its lines checked. */
export interface JournalFile {
  readonly path: string;
  readonly content: JournalContent;
  /** The plan line; `undefined` in journals that other tools wrote. */
  readonly plan: PlanLine | undefined;
  /** The trials; of several lines with one id the last counts, as invalid trials may be run again. */
  readonly trials: readonly Trial[];
  /** The id of a trial that is there again although it had ended validly. */
  readonly doubled: string | undefined;
}

/**
 * Reads and checks one journal.
 *
 * @throws {InputError} Naming the file, the line, the path in it and the rule.
 */
export function readJournalFile(path: string): JournalFile {
  const content = readJournal(path);
  let plan: PlanLine | undefined;
  const trials = new Map<string, Trial>();
  let doubled: string | undefined;
  for (const [index, { value, line }] of content.lines.entries()) {
    const source = `${path}, line ${line}`;
    if (kindOf(value) === "plan") {
      if (index > 0) {
        throw new InputError(`Cannot use ${source}: only the first line can be a plan`);
      }
      plan = parseWith(PLAN_LINE, value, source);
    } else if (kindOf(value) !== "trial") {
      throw new InputError(
        `Cannot use ${source}: it is no line of a journal, whose kind is "plan" or "trial"`,
      );
    } else {
      const trial = parseWith(TRIAL_LINE, value, source);
      const before = trials.get(trial.id);
      if (before !== undefined && before.outcome !== "invalid") doubled ??= trial.id;
      trials.set(trial.id, trial);
    }
  }
  return { path, content, plan, trials: [...trials.values()], doubled };
}

function kindOf(value: JsonValue): unknown {
  return isJsonObject(value) ? value["kind"] : undefined;
}

/** The trials of one or more journals that belong together. */
export interface Results {
  /** The names of the suites. */
  readonly suite: string;
  /** What was planned; for journals without a plan, just the trials that are there. */
  readonly planned: readonly PlannedTrial[];
  /** The finished trials, in plan order. */
  readonly trials: readonly Trial[];
  /** The gate that the plan declares. */
  readonly gate: RatePolicy | undefined;
  /** What a person should know, such as dropped torn lines. */
  readonly notices: readonly string[];
  /** Why no verdict can rest on these results; `undefined` when one can. */
  readonly problem: string | undefined;
}

/**
 * Reads journals and puts them together. Shards that are missing, doubled or of another plan, and
 * trials that the plan does not have, are told as `problem`: a gate over them is invalid.
 *
 * @throws {InputError} If a file cannot be read or a line is malformed.
 */
export function readResults(paths: readonly string[]): Results {
  const files = paths.map(readJournalFile);
  const notices = files.flatMap(({ path, content }) =>
    content.tornBytes === 0 ? [] : [tornNotice(path, content.tornBytes)]
  );
  const trials = files.flatMap((file) => file.trials).sort((one, other) => one.index - other.index);
  const [first] = files;
  const suite = [...new Set(files.map(({ plan, trials }) => plan?.suite ?? trials[0]?.suite))]
    .join(", ");
  if (first?.plan === undefined) {
    const planned = trials.map((trial) => ({ ...trial, model: trial.model.requested }));
    const problem = mixedProblem(files) ?? doubledProblem(files);
    return { suite, planned, trials, gate: undefined, notices, problem };
  }
  const planned = trialsOf(first.plan);
  const problem = mixedProblem(files) ??
    (planned === undefined
      ? "the plan line does not agree with its own hash: it was changed, or made by another version"
      : shardProblem(files) ?? doubledProblem(files) ?? foreignProblem(files, planned));
  const gate = first.plan.gate ?? undefined;
  return { suite, planned: planned ?? [], trials, gate, notices, problem };
}

function mixedProblem(files: readonly JournalFile[]): string | undefined {
  const [first, ...others] = files;
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

/** The fields in which two plans differ. */
export function differences(one: PlanLine, other: PlanLine): string[] {
  const fields = (plan: PlanLine): Record<string, unknown> => ({
    suite: plan.suite,
    ...plan.resolved,
  });
  const names = new Set([...Object.keys(fields(one)), ...Object.keys(fields(other))]);
  return [...names].filter((name) =>
    canonicalJson(fields(one)[name]) !== canonicalJson(fields(other)[name])
  ).map((name) => printable(name, 50));
}

/** The trials that a plan line stands for; `undefined` if it does not agree with its own hash. */
function trialsOf(line: PlanLine): readonly PlannedTrial[] | undefined {
  if (planHash(line) !== line.planHash) return undefined;
  try {
    const planned = listTrials(line.resolved);
    return planned.length === line.trials ? planned : undefined;
  } catch {
    return undefined;
  }
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
  const missing = Array.from({ length: of }, (_, place) => place + 1)
    .filter((index) => !present.includes(index));
  if (missing.length > 0) {
    return `shards are missing: ${missing.map((index) => `${index}/${of}`).join(", ")}`;
  }
}

function doubledProblem(files: readonly JournalFile[]): string | undefined {
  const seen = new Map<string, string>();
  for (const { path, trials, doubled } of files) {
    if (doubled !== undefined) return `trial ${doubled} is in ${path} twice`;
    for (const { id } of trials) {
      const before = seen.get(id);
      if (before !== undefined) return `trial ${id} is both in ${before} and in ${path}`;
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
    if (foreign !== undefined) return `${path} has a trial that its plan does not have: ${foreign}`;
  }
}

/** The id of a trial that is not planned, or whose fields are not those of its id. */
export function foreignTrial(
  trials: readonly Trial[],
  planned: readonly PlannedTrial[],
): string | undefined {
  const known = new Map(planned.map((trial) => [trial.id, keyText(trial, trial.model)]));
  return trials.find((trial) => known.get(trial.id) !== keyText(trial, trial.model.requested))?.id;
}

function keyText(
  { task, strategy, perturbation, repetition }: Omit<TrialKey, "model">,
  model: string,
) {
  return canonicalJson([model, task, strategy, perturbation, repetition]);
}
