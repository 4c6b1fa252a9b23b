/**
 * Strategies in suites, with their options.
 * @module
 */

import { z } from "zod";
import { printable } from "../../base/json.ts";
import { MODEL, type ModelEntry } from "../../models/entry.ts";
import { optionFault, stagesOf, STRATEGIES, strategiesIn, strategyFault } from "./registry.ts";
import type { StrategyChoice } from "../run_trial.ts";

/** A strategy in a suite, with its options. */
export interface StrategyEntry extends StrategyChoice {
  /** Models asked in place of the trial's, by stage, such as `plan` or `fill`. */
  readonly models?: Readonly<Record<string, string | ModelEntry>>;
  /** The name in results, if several entries share a strategy; default `strategy`. */
  readonly name?: string;
}

const JOINED = STRATEGIES.filter((id) => id !== "plain").join("|");

/** The schema of strategy ids. Errors are one sentence; editors get a pattern. */
export const STRATEGY_ID = z.string().check(({ value, issues }) => {
  const fault = strategyFault(value);
  if (fault === undefined) return;
  issues.push({
    code: "custom",
    message: `${fault}: it is ${printable(value, 200)}`,
    input: value,
  });
}).meta({ anyOf: [{ enum: STRATEGIES }, { pattern: `^(${JOINED})(\\+(${JOINED}))+$` }] });

const JSON_OBJECT = z.record(z.string(), z.json());

/** The schema of a solved example. */
const EXAMPLE = z.strictObject({
  question: z.string().min(1),
  functions: z.array(z.strictObject({ name: z.string().min(1), description: z.string() }))
    .optional(),
  calls: z.array(
    z.strictObject({
      function: z.string().min(1),
      arguments: JSON_OBJECT.optional(),
      result: z.json().optional(),
    }),
  ).optional(),
  answer: z.string(),
});

/** The schema of a strategy's entry. */
export const STRATEGY = strategySchema(z.union([z.string().min(1), MODEL]));

/** Returns the schema of a strategy with its options, with models of a schema and further options. */
export function strategySchema(
  model: z.ZodType<string | ModelEntry>,
  further: z.ZodRawShape = { name: z.string().min(1).optional() },
): z.ZodType<StrategyEntry> {
  return z.strictObject({
    strategy: STRATEGY_ID,
    models: z.record(z.string(), model).optional(),
    prompts: z.record(
      z.string(),
      z.record(z.string(), z.string().min(1), {
        error: 'must hold texts by name, such as { "repair": { "fix": "..." } }',
      }),
    ).optional(),
    attempts: z.int().min(1).max(20).optional(),
    rounds: z.int().min(1).max(100).optional(),
    dereference: z.boolean().optional(),
    shots: z.int().min(1).max(20).optional(),
    examples: z.array(EXAMPLE).min(1).max(20).optional(),
    ...further,
  }).check(({ value, issues }) => {
    // Only the first fault is reported.
    const fault = issues.length === 0 ? entryFault(value as StrategyEntry) : undefined;
    if (fault === undefined) return;
    issues.push({ code: "custom", message: fault.message, path: [...fault.path], input: value });
  }) as unknown as z.ZodType<StrategyEntry>;
}

/** Returns what is wrong between the options of an entry. */
function entryFault(
  entry: StrategyEntry,
): { readonly path: readonly string[]; readonly message: string } | undefined {
  const { name, strategy, models = {} } = entry;
  if (strategyFault(strategy) !== undefined) return undefined;
  if (name !== undefined && name !== strategy && STRATEGIES.some((id) => id === name)) {
    // Results named "plain" must be those of the plain loop.
    return { path: ["name"], message: "must not be the id of another strategy" };
  }
  const ids = strategiesIn(strategy);
  const stages = stagesOf(ids);
  const stage = Object.keys(models).find((name) => !stages.includes(name));
  if (stage === undefined) return optionFault(ids, entry);
  return {
    path: ["models", stage],
    message: stages.length === 0
      ? `${strategy} asks no other model`
      : `there is no such stage: there are ${stages.join(", ")}`,
  };
}

/** The name of a strategy in results. */
export function strategyName(entry: string | StrategyEntry): string {
  return typeof entry === "string" ? entry : entry.name ?? entry.strategy;
}

/** The id of a strategy, regardless of its name. */
export function strategyId(entry: string | Pick<StrategyEntry, "strategy">): string {
  return typeof entry === "string" ? entry : entry.strategy;
}

/** Returns the strategy and its options. */
export function strategyChoice(entry: string | StrategyEntry): StrategyChoice {
  if (typeof entry === "string") return { strategy: entry };
  const { name: _, models: __, ...choice } = entry;
  return choice;
}

/** The models that an entry asks at stages, by stage. */
export function stageEntries(entry: string | StrategyEntry): Map<string, ModelEntry> {
  const models = typeof entry === "string" ? {} : entry.models ?? {};
  return new Map(
    Object.entries(models).map(([stage, model]) => [
      stage,
      typeof model === "string" ? { model } : model,
    ]),
  );
}
