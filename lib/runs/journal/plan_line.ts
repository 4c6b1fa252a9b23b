/**
 * Plan lines: the first line of a journal, with its schema, its hashes and the plan that it stands for.
 * @module
 */

import { z } from "zod";
import { assertShallow, parseWith, WITH_INPUT } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";
import { defined, type JsonValue, printable } from "../../base/json.ts";
import { type LeftOut, MAX_TRIALS, type Plan } from "../plan.ts";
import { countTrials, listTrials, type ResolvedSuite } from "../resolved_suite.ts";
import { type CompletePolicy, completePolicy, GATE_POLICY } from "../../gate/policy.ts";
import { redactRecordValue } from "../../base/redact.ts";
import { BUDGET, type Budget, PRICES, type Prices } from "../../models/prices.ts";
import { SEQUENTIAL_RULE, type SequentialRule } from "../../gate/sequential.ts";
import type { Wave } from "../../gate/waves.ts";
import { MAX_SHARDS, type Shard } from "../shard_text.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";

/** The first line of a journal: its plan. */
export interface PlanLine {
  readonly v: 1;
  readonly kind: "plan";
  /** The suite's name. */
  readonly suite: string;
  /** The part of the plan in this journal; `{index: 1, of: 1}` for all of it. */
  readonly shard: Shard;
  /** The wave in this journal, of which it has the shard; omitted where the run has none. */
  readonly wave?: Wave;
  /** The gate with its defaults, and the rule of a sequential one; or `null`. */
  readonly gate: PlannedGate | null;
  /** The budget of the run. */
  readonly budget?: Budget;
  /** The prices of models. */
  readonly prices?: Prices;
  /** The server of models that name none, needed to run a trial again. */
  readonly baseURL?: string;
  /** The paths of its call sets, by name. */
  readonly places?: Readonly<Record<string, string>>;
  /** Set if only the benchmark's own file can run a trial again. */
  readonly ownCode?: true;
  /** The hashes of the files of its test: see {@linkcode Plan.sources}. */
  readonly sources?: Readonly<Record<string, string>>;
  /** See {@linkcode Plan.file}. */
  readonly file?: string;
  /** See {@linkcode Plan.records}. */
  readonly records?: string;
  /** See {@linkcode Plan.traces}. */
  readonly traces?: true;
  /** See {@linkcode Plan.leftOut}. */
  readonly leftOut?: LeftOut;
  /** All that determines the trials. */
  readonly resolved: ResolvedSuite;
}

/** A gate in a plan line. */
export type PlannedGate = CompletePolicy & Partial<SequentialRule>;

const RULE_FIELDS = ["lambda", "alpha", "beta", "blockSize", "fixedSize", "largestSize"];

/** Policy and rule share one object: each is parsed by its own schema. */
const PLANNED_GATE = z.looseObject({}).transform((gate, context): PlannedGate => {
  const [rule, policy] = [true, false].map((ofRule) =>
    Object.fromEntries(
      Object.entries(gate).filter(([name]) => RULE_FIELDS.includes(name) === ofRule),
    )
  );
  const parsedPolicy = GATE_POLICY.safeParse(policy, WITH_INPUT);
  const parsedRule = SEQUENTIAL_RULE.optional().safeParse(
    Object.keys(rule!).length === 0 ? undefined : rule,
    WITH_INPUT,
  );
  for (const { error } of [parsedPolicy, parsedRule]) {
    context.issues.push(...(error?.issues ?? []) as never[]);
  }
  if (!parsedPolicy.success) return z.NEVER;
  return { ...completePolicy(parsedPolicy.data), ...parsedRule.data };
});

/** Separates the policy and the rule of a planned gate. */
export function splitGate(
  gate: PlannedGate | null,
): { gate?: CompletePolicy; rule?: SequentialRule } {
  if (gate === null) return {};
  const { lambda, alpha, beta, blockSize, fixedSize, largestSize, ...policy } = gate;
  if (lambda === undefined) return { gate: policy as CompletePolicy };
  const rule = { lambda, alpha, beta, blockSize, fixedSize, largestSize } as SequentialRule;
  return { gate: policy as CompletePolicy, rule };
}

/** What is crossed with the cells of a plan. */
const CHOICES = {
  models: z.array(z.looseObject({ model: z.string() })),
  strategies: z.array(z.union([z.string(), z.looseObject({ strategy: z.string() })])),
  perturbations: z.array(z.string()),
};

/** The schema of the hashes of what is offered with a case. */
const CASE_PARTS = z.looseObject({ system: z.string().exactOptional(), tools: z.string() });

/** The schema of a part of a plan. */
const PART = z.object({ index: z.int().min(1), of: z.int().min(1).max(MAX_SHARDS) })
  .refine(({ index, of }) => index <= of, { message: "must not be above of", path: ["index"] });

const PLAN_LINE: z.ZodType<PlanLine> = z.looseObject({
  v: z.literal(1),
  kind: z.literal("plan"),
  suite: z.string(),
  shard: PART,
  wave: PART.exactOptional(),
  gate: PLANNED_GATE.nullable(),
  budget: BUDGET.exactOptional(),
  prices: PRICES.exactOptional(),
  baseURL: z.string().exactOptional(),
  places: z.record(z.string(), z.string()).exactOptional(),
  ownCode: z.literal(true).exactOptional(),
  sources: z.record(z.string(), z.string()).exactOptional(),
  file: z.string().exactOptional(),
  records: z.string().exactOptional(),
  traces: z.literal(true).exactOptional(),
  leftOut: z.looseObject({
    skipped: z.array(z.string()).exactOptional(),
    refused: z.array(z.string()).exactOptional(),
  }).exactOptional(),
  resolved: z.looseObject({
    generator: z.int(),
    seed: z.int().min(0),
    graphs: z.int().min(1),
    cells: z.array(z.looseObject({})),
    pair: z.literal("distractors").exactOptional(),
    ...CHOICES,
    agent: z.looseObject({ command: z.array(z.string()) }).exactOptional(),
    repetitions: z.int().min(1),
    limits: z.looseObject({}),
    references: z.literal(true).exactOptional(),
    sets: z.record(z.string(), z.string()).exactOptional(),
    judge: z.looseObject({ model: z.string() }).exactOptional(),
    cases: z.record(z.string(), z.string()).exactOptional(),
    tests: z.record(
      z.string(),
      z.looseObject({
        ...CHOICES,
        seed: z.int().min(0),
        graphs: z.int().min(1),
        limits: z.looseObject({}),
        references: z.boolean(),
      }).partial(),
    ).exactOptional(),
    parts: z.record(z.string(), CASE_PARTS.extend({ case: z.string() })).exactOptional(),
    variants: z.record(
      z.string(),
      z.looseObject({
        models: z.array(z.string()).exactOptional(),
        strategies: z.array(z.string()).exactOptional(),
        parts: z.record(z.string(), CASE_PARTS).exactOptional(),
      }),
    ).exactOptional(),
  }),
}) as unknown as z.ZodType<PlanLine>;

/**
 * Returns the first line of the journal of `plan`.
 *
 * @throws {InputError} If it contains a secret: redacted, it would be another plan.
 */
export function planLine(
  plan: Plan,
  shard: Shard = { index: 1, of: 1 },
  wave?: Wave,
): PlanLine {
  const line: PlanLine = {
    v: 1,
    kind: "plan",
    suite: plan.suite,
    shard,
    ...defined({ wave }),
    gate: plan.gate === undefined ? null : { ...plan.gate, ...plan.rule },
    ...defined({
      budget: plan.budget,
      prices: plan.prices,
      baseURL: plan.baseURL,
      places: plan.places,
      ownCode: plan.ownCode,
      sources: plan.sources,
      file: plan.file,
      records: plan.records,
      traces: plan.traces,
      leftOut: plan.leftOut,
    }),
    resolved: plan.resolved,
  };
  const clean = redactRecordValue(line);
  if (clean === line) return line;
  const fields = (one: PlanLine) => ({ ...one, ...one.resolved, resolved: undefined });
  const [before, after]: [object, object] = [fields(line), fields(clean)];
  const places = Object.entries(before).flatMap(([name, value]) => {
    const kept: unknown = Object.getOwnPropertyDescriptor(after, name)?.value;
    return kept === value ? [] : [name + changedPlace(value, kept)];
  });
  throw cannot(
    `run ${plan.suite}`,
    "its plan must hold no key, which journals would store",
    `there is one in ${places.join(", ")}`,
  );
}

/** Where the first difference to a copy is within a value, such as `.command[2]`; empty if it is the value itself. */
function changedPlace(value: unknown, copy: unknown): string {
  if (typeof value !== "object" || typeof copy !== "object") return "";
  for (const [name, inner] of Object.entries(value ?? {})) {
    const kept = Object.getOwnPropertyDescriptor(copy, name)?.value;
    if (kept === inner) continue;
    // A name that is gone is what held the key.
    if (kept === undefined) return "";
    const place = Array.isArray(value) ? `[${name}]` : `.${printable(name, 100)}`;
    return place + changedPlace(inner, kept);
  }
  return "";
}

/**
 * Parses a plan line. Its depth is limited, as hashing visits all of it.
 *
 * @throws {InputError} If it is invalid, or newer; the message has `source`, the path in it and the rule.
 */
export function parsePlanLine(value: JsonValue, source: string): PlanLine {
  assertShallow(value, source);
  return parseWith(PLAN_LINE, value, source);
}

/** The plan of a plan line; `undefined` if its trials cannot be listed. */
export function planOfLine(line: PlanLine): Plan | undefined {
  const trials = trialsOfLine(line);
  if (trials === undefined) return undefined;
  const { suite, resolved, gate, budget, prices, baseURL, places } = line;
  return {
    suite,
    resolved,
    trials,
    ...splitGate(gate),
    ...defined({ budget, prices, baseURL, places }),
  };
}

/** The trials of a plan line; `undefined` if they cannot be listed. */
export function trialsOfLine(line: PlanLine): readonly PlannedTrial[] | undefined {
  if (countTrials(line.resolved) > MAX_TRIALS) return undefined;
  try {
    return listTrials(line.resolved);
  } catch {
    return undefined;
  }
}
