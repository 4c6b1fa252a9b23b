/**
 * Results: the journals of a run, its shards, or other tools, read into one set of trials.
 * @module
 */

import { z } from "zod";
import { InputError, parseWith, WITH_INPUT } from "./input.ts";
import { canonicalJson, isJsonObject, type JsonValue, printable } from "./json.ts";
import {
  type JournalEnd,
  journalLines,
  type JournalPlace,
  readJournal,
  readLineAgain,
  tornNotice,
} from "./journal.ts";
import {
  comparisonHash,
  countTrials,
  listTrials,
  MOST_TRIALS,
  type Plan,
  planHash,
  type ResolvedSuite,
  type Shard,
  shardOf,
} from "./plan.ts";
import {
  type CompletePolicy,
  completePolicy,
  GATE_POLICY,
  hypothesesOf,
  isUpgrade,
} from "./policy.ts";
import { sumUsage } from "./model.ts";
import { BUDGET, type Budget, PRICES, type Prices } from "./prices.ts";
import { SEQUENTIAL_RULE, type SequentialRule } from "./sequential.ts";
import { type PlannedTrial, scoreOf, type Trial, TRIAL_LINE, type TrialScore } from "./trial.ts";

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
  /** The gate with its defaults filled in, and the rule of a sequential one; or `null`. */
  readonly gate: PlannedGate | null;
  /** What the run might spend. */
  readonly budget?: Budget;
  /** What models cost. */
  readonly prices?: Prices;
  /** The server of models that name none: whoever runs a trial again must ask there. */
  readonly baseURL?: string;
  /** Set where only the benchmark's own file can run a trial again. */
  readonly ownCode?: true;
  /** Everything that decides which trials there are. */
  readonly resolved: ResolvedSuite;
}

/** A gate as plan lines hold it. */
export type PlannedGate = CompletePolicy & Partial<SequentialRule>;

const RULE_FIELDS = ["lambda", "alpha", "beta", "blockSize", "fixedSize", "largestSize"];

/** The policy and the rule stand side by side in one object: each is read by its own schema. */
const PLANNED_GATE = z.looseObject({}).transform((gate, context): PlannedGate => {
  const [rule, policy] = [true, false].map((ofRule) =>
    Object.fromEntries(
      Object.entries(gate).filter(([name]) => RULE_FIELDS.includes(name) === ofRule),
    )
  );
  const read = GATE_POLICY.safeParse(policy, WITH_INPUT);
  const readRule = SEQUENTIAL_RULE.optional().safeParse(
    Object.keys(rule!).length === 0 ? undefined : rule,
    WITH_INPUT,
  );
  for (const { error } of [read, readRule]) {
    context.issues.push(...(error?.issues ?? []) as never[]);
  }
  if (!read.success) return z.NEVER;
  return { ...completePolicy(read.data), ...readRule.data };
});

/** The policy and the rule of a planned gate, apart. */
export function splitGate(
  gate: PlannedGate | null,
): { gate?: CompletePolicy; rule?: SequentialRule } {
  if (gate === null) return {};
  const { lambda, alpha, beta, blockSize, fixedSize, largestSize, ...policy } = gate;
  if (lambda === undefined) return { gate: policy as CompletePolicy };
  const rule = { lambda, alpha, beta, blockSize, fixedSize, largestSize } as SequentialRule;
  return { gate: policy as CompletePolicy, rule };
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
  gate: PLANNED_GATE.nullable(),
  budget: BUDGET.exactOptional(),
  prices: PRICES.exactOptional(),
  baseURL: z.string().exactOptional(),
  ownCode: z.literal(true).exactOptional(),
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
    gate: plan.gate === undefined ? null : { ...plan.gate, ...plan.rule },
    ...(plan.budget === undefined ? {} : { budget: plan.budget }),
    ...(plan.prices === undefined ? {} : { prices: plan.prices }),
    ...(plan.baseURL === undefined ? {} : { baseURL: plan.baseURL }),
    ...(plan.ownCode === undefined ? {} : { ownCode: plan.ownCode }),
    resolved: plan.resolved,
  };
}

/** One journal, its lines checked. */
export interface JournalFile {
  readonly path: string;
  /** How it ends. */
  readonly end: JournalEnd;
  /** The plan line; `undefined` in journals that other tools wrote. */
  readonly plan: PlanLine | undefined;
  /**
   * The trials, without what whole runs have no room for; of several lines with one id the last
   * counts, as invalid trials may be run again.
   */
  readonly trials: readonly TrialScore[];
  /** Where each of them stands, by its id: see {@linkcode wholeTrial}. */
  readonly places: ReadonlyMap<string, JournalPlace>;
  /** The id of a trial that is there again although it had ended validly. */
  readonly doubled: string | undefined;
  /** Why its run began nothing more, as the last line says. */
  readonly ends: string | undefined;
}

/**
 * Reads and checks one journal.
 *
 * @throws {InputError} Naming the file, the line, the path in it and the rule.
 */
export function readJournalFile(path: string): JournalFile {
  let plan: PlanLine | undefined;
  const trials = new Map<string, TrialScore>();
  const places = new Map<string, JournalPlace>();
  let doubled: string | undefined;
  let ends: string | undefined;
  let first = true;
  const end = readJournal(path, ({ value, ...place }) => {
    const source = `${path}, line ${place.line}`;
    if (kindOf(value) === "plan") {
      if (!first) throw new InputError(`Cannot use ${source}: only the first line can be a plan`);
      plan = parseWith(PLAN_LINE, value, source);
    } else if (kindOf(value) !== "trial") {
      throw new InputError(
        `Cannot use ${source}: it is no line of a journal, whose kind is "plan" or "trial"`,
      );
    } else {
      const trial = scoreOf(parseWith(TRIAL_LINE, value, source));
      const before = trials.get(trial.id);
      if (before !== undefined && before.outcome !== "invalid") doubled ??= trial.id;
      trials.set(trial.id, before === undefined ? trial : replacing(trial, before));
      places.set(trial.id, place);
      ends = trial.ends;
    }
    first = false;
  });
  return { path, end, plan, trials: [...trials.values()], places, doubled, ends };
}

/** A trial that was run again: what the earlier try took was taken all the same. */
function replacing(trial: TrialScore, { usage, replaced }: TrialScore): TrialScore {
  return { ...trial, replaced: replaced === undefined ? usage : sumUsage([usage, replaced]) };
}

/**
 * The plan of a journal, of which nothing else is read; `undefined` if its first line is none.
 *
 * @throws {InputError} Naming the file, the line, the path in it and the rule.
 */
export function readPlanLine(path: string): PlanLine | undefined {
  for (const { value, line } of journalLines(path)) {
    if (kindOf(value) !== "plan") return undefined;
    return parseWith(PLAN_LINE, value, `${path}, line ${line}`);
  }
}

/** The plan that a plan line stands for; `undefined` if it does not agree with its own hash. */
export function planOfLine(line: PlanLine): Plan | undefined {
  const trials = trialsOf(line);
  if (trials === undefined) return undefined;
  const { suite, resolved, gate, budget, prices, baseURL } = line;
  return {
    suite,
    resolved,
    trials,
    ...splitGate(gate),
    ...(budget === undefined ? {} : { budget }),
    ...(prices === undefined ? {} : { prices }),
    ...(baseURL === undefined ? {} : { baseURL }),
  };
}

/**
 * The whole trials of a journal, one at a time in the order of their lines: those that
 * {@linkcode readJournalFile} lets count.
 *
 * @throws {InputError} As {@linkcode readJournalFile} does, for each line when it is its turn.
 */
export function* journalTrials(path: string): Generator<Trial, void, void> {
  const counting = new Map<string, number>();
  for (const { value, line } of journalLines(path)) {
    const { kind, id } = isJsonObject(value) ? value : {};
    if (kind === "trial" && typeof id === "string") counting.set(id, line);
  }
  for (const { value, line } of journalLines(path)) {
    if (kindOf(value) !== "trial") continue;
    const trial = parseWith(TRIAL_LINE, value, `${path}, line ${line}`);
    if (counting.get(trial.id) === line) yield trial;
  }
}

/**
 * A trial of a journal with everything that its line has.
 *
 * @throws {InputError} If the journal is not what it was when it was read.
 */
export function wholeTrial(path: string, place: JournalPlace): Trial {
  return parseWith(TRIAL_LINE, readLineAgain(path, place), `${path}, line ${place.line}`);
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

/** The trials that a plan line stands for; `undefined` if it does not agree with its own hash. */
function trialsOf(line: PlanLine): readonly PlannedTrial[] | undefined {
  if (planHash(line) !== line.planHash) return undefined;
  const count = countTrials(line.resolved);
  if (count !== line.trials || count > MOST_TRIALS) return undefined;
  try {
    return listTrials(line.resolved);
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
