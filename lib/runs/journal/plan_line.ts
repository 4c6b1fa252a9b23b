/**
 * Plan lines: the first line of a journal, with its schema, its hashes and the plan that it stands for.
 * @module
 */

import { z } from "zod";
import { ownRelease, type Release } from "../../base/clone.ts";
import { assertShallow, parseWith } from "../../base/input.ts";
import { attempt, cannot } from "../../base/errors.ts";
import { type JsonValue, printable } from "../../base/json.ts";
import { MAX_TRIALS, type Plan, type PlanData } from "../plan.ts";
import { countTrials, listTrials } from "../resolved_suite.ts";
import { COMPLETE_POLICY } from "../../gate/policy.ts";
import { redactRecordValue } from "../../base/redact.ts";
import { BUDGET, PRICES } from "../../models/prices.ts";
import { SEQUENTIAL_RULE } from "../../gate/sequential.ts";
import type { Wave } from "../../gate/waves.ts";
import { MAX_SHARDS, type Shard } from "../shard_text.ts";
import type { PlannedTrial } from "../../trials/trial_id.ts";

/** The first line of a journal: its plan, and the part of it that is in the journal. */
export interface PlanLine extends PlanData {
  readonly v: 1;
  readonly kind: "plan";
  /** The part of the plan in this journal; `{index: 1, of: 1}` for all of it. */
  readonly shard: Shard;
  /** The wave in this journal, of which it has the shard; omitted where the run has none. */
  readonly wave?: Wave | undefined;
  /** What ran: it decides nothing. */
  readonly toolgate: Release;
}

/** What is crossed with the cells of a plan. */
const CHOICES = {
  models: z.array(z.looseObject({ model: z.string() })),
  strategies: z.array(z.union([z.string(), z.looseObject({ strategy: z.string() })])),
  perturbations: z.array(z.string()),
};

/** The schema of the hashes of what is offered with a case. */
const CASE_PARTS = z.looseObject({
  ...{ system: z.string().exactOptional(), user: z.string().exactOptional() },
  tools: z.string(),
});

/** The schema of a part of a plan. */
const PART = z.object({ index: z.int().min(1), of: z.int().min(1).max(MAX_SHARDS) })
  .refine(({ index, of }) => index <= of, { message: "must not be above of", path: ["index"] });

/** The schema of what made a journal. */
export const RELEASE: z.ZodType<Release> = z.looseObject({
  version: z.string(),
  commit: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/).exactOptional(),
});

const PLAN_LINE: z.ZodType<PlanLine> = z.looseObject({
  v: z.literal(1),
  kind: z.literal("plan"),
  suite: z.string(),
  shard: PART,
  wave: PART.exactOptional(),
  toolgate: RELEASE,
  gate: COMPLETE_POLICY.optional(),
  rule: SEQUENTIAL_RULE.optional(),
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
  const { trials: _, callSets: __, open: ___, isAlone: ____, skipped: _____, ...data } = plan;
  const line: PlanLine = { v: 1, kind: "plan", shard, wave, toolgate: ownRelease(), ...data };
  const clean = redactRecordValue(line);
  if (clean === line) return line;
  const fields = (one: PlanLine) => ({ ...one, ...one.resolved, resolved: undefined });
  const [before, after]: [object, object] = [fields(line), fields(clean)];
  const found = Object.entries(before).flatMap(([name, value]) => {
    const kept: unknown = Object.getOwnPropertyDescriptor(after, name)?.value;
    return kept === value ? [] : [name + changedPlace(value, kept)];
  });
  throw cannot(
    `run ${plan.suite}`,
    "its plan must hold no key, which journals would store",
    `there is one in ${found.join(", ")}`,
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
  const { v: _, kind: __, shard: ___, wave: ____, toolgate: _____, ...plan } = line;
  return { ...plan, trials };
}

/** The trials of a plan line; `undefined` if they cannot be listed. */
export function trialsOfLine(line: PlanLine): readonly PlannedTrial[] | undefined {
  if (countTrials(line.resolved) > MAX_TRIALS) return undefined;
  return attempt(() => listTrials(line.resolved));
}
