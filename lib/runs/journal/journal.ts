/**
 * Journal files: the plan line that begins a journal, and the trials behind it, checked.
 * @module
 */

import { z } from "zod";
import { assertShallow, parseWith, WITH_INPUT } from "../../base/input.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonValue } from "../../base/json.ts";
import {
  type JournalEnd,
  journalLines,
  type JournalPlace,
  readJournal,
  readLineAgain,
} from "./jsonl.ts";
import {
  comparisonHash,
  countTrials,
  listTrials,
  MOST_TRIALS,
  type Plan,
  planHash,
  type ResolvedSuite,
} from "../plan.ts";
import { type CompletePolicy, completePolicy, GATE_POLICY } from "../../gate/policy.ts";
import { redactRecordValue } from "../../base/redact.ts";
import { sumUsage } from "../../tools/message.ts";
import { BUDGET, type Budget, PRICES, type Prices } from "../../models/prices.ts";
import { SEQUENTIAL_RULE, type SequentialRule } from "../../gate/sequential.ts";
import { MOST_SHARDS, type Shard } from "../shards.ts";
import { type Trial, TRIAL_LINE } from "../../trials/trial.ts";
import { summarize, type TrialSummary } from "../../trials/summary.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";

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
  /** Where its call sets lie, by name. */
  readonly places?: Readonly<Record<string, string>>;
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
  shard: z.object({ index: z.int().min(1), of: z.int().min(1).max(MOST_SHARDS) })
    .refine(({ index, of }) => index <= of, { message: "must not be above of", path: ["index"] }),
  gate: PLANNED_GATE.nullable(),
  budget: BUDGET.exactOptional(),
  prices: PRICES.exactOptional(),
  baseURL: z.string().exactOptional(),
  places: z.record(z.string(), z.string()).exactOptional(),
  ownCode: z.literal(true).exactOptional(),
  resolved: z.looseObject({
    generator: z.int(),
    seed: z.int().min(0),
    graphs: z.int().min(1),
    cells: z.array(z.looseObject({})),
    models: z.array(z.looseObject({ model: z.string() })),
    strategies: z.array(z.union([z.string(), z.looseObject({ strategy: z.string() })])),
    perturbations: z.array(z.string()),
    repetitions: z.int().min(1),
    limits: z.looseObject({}),
    references: z.literal(true).exactOptional(),
    sets: z.record(z.string(), z.string()).exactOptional(),
    judge: z.looseObject({ model: z.string() }).exactOptional(),
    cases: z.record(z.string(), z.string()).exactOptional(),
  }),
}) as unknown as z.ZodType<PlanLine>;

/**
 * The first line of the journal of `plan`.
 *
 * @throws {InputError} If something in it is a key: it could not be left out, as the plan would be another.
 */
export function planLine(plan: Plan, shard: Shard = { index: 1, of: 1 }): PlanLine {
  const line: PlanLine = {
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
    ...(plan.places === undefined ? {} : { places: plan.places }),
    ...(plan.ownCode === undefined ? {} : { ownCode: plan.ownCode }),
    resolved: plan.resolved,
  };
  const clean = redactRecordValue(line);
  if (clean === line) return line;
  const fields = (one: PlanLine) =>
    Object.entries({ ...one, ...one.resolved, resolved: undefined });
  const places = fields(line).filter(([name, value]) =>
    !fields(clean).some(([other, kept]) => other === name && kept === value)
  ).map(([name]) => name);
  throw new InputError(
    `Cannot run ${plan.suite} as its plan must hold no key, for journals keep it: ` +
      `there is one in ${places.join(", ")}`,
  );
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
  readonly trials: readonly TrialSummary[];
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
  const trials = new Map<string, TrialSummary>();
  const places = new Map<string, JournalPlace>();
  let doubled: string | undefined;
  let ends: string | undefined;
  let first = true;
  const end = readJournal(path, ({ value, ...place }) => {
    const source = `${path}, line ${place.line}`;
    if (kindOf(value) === "plan") {
      if (!first) throw new InputError(`Cannot use ${source}: only the first line can be a plan`);
      plan = planIn(value, source);
    } else if (kindOf(value) !== "trial") {
      throw new InputError(
        `Cannot use ${source}: it is no line of a journal, whose kind is "plan" or "trial"`,
      );
    } else {
      const trial = summarize(trialIn(value, source));
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
function replacing(trial: TrialSummary, { usage, replaced }: TrialSummary): TrialSummary {
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
    return planIn(value, `${path}, line ${line}`);
  }
}

/** The plan that a plan line stands for; `undefined` if it does not agree with its own hash. */
export function planOfLine(line: PlanLine): Plan | undefined {
  const trials = trialsOf(line);
  if (trials === undefined) return undefined;
  const { suite, resolved, gate, budget, prices, baseURL, places } = line;
  return {
    suite,
    resolved,
    trials,
    ...splitGate(gate),
    ...(budget === undefined ? {} : { budget }),
    ...(prices === undefined ? {} : { prices }),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(places === undefined ? {} : { places }),
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
    const trial = trialIn(value, `${path}, line ${line}`);
    if (counting.get(trial.id) === line) yield trial;
  }
}

/**
 * A trial of a journal with everything that its line has.
 *
 * @throws {InputError} If the journal is not what it was when it was read.
 */
export function wholeTrial(path: string, place: JournalPlace): Trial {
  return trialIn(readLineAgain(path, place), `${path}, line ${place.line}`);
}

/** The plan of a line: its parts are gone through to their ends, wherever it is hashed. */
function planIn(value: JsonValue, source: string): PlanLine {
  assertShallow(value, source);
  return parseWith(PLAN_LINE, value, source);
}

/** The trial of a line; what other tools keep in it is gone through nowhere but in its events. */
function trialIn(value: JsonValue, source: string): Trial {
  assertShallow(value, source);
  return parseWith(TRIAL_LINE, value, source);
}

function kindOf(value: JsonValue): unknown {
  return isJsonObject(value) ? value["kind"] : undefined;
}

/** The trials that a plan line stands for; `undefined` if it does not agree with its own hash. */
export function trialsOf(line: PlanLine): readonly PlannedTrial[] | undefined {
  if (planHash(line) !== line.planHash) return undefined;
  const count = countTrials(line.resolved);
  if (count !== line.trials || count > MOST_TRIALS) return undefined;
  try {
    return listTrials(line.resolved);
  } catch {
    return undefined;
  }
}
