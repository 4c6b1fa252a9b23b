/**
 * Strategies in suites, with their options.
 * @module
 */

import { z } from "zod";
import { reasonOf } from "../../base/errors.ts";
import { MODEL, type ModelEntry } from "../../models/entry.ts";
import type { SolvedExample } from "../executors/examples.ts";
import { optionFault, stagesOf, STRATEGIES, strategiesIn, type StrategyId } from "./registry.ts";
import type { StrategyChoice } from "../run_trial.ts";

/** A strategy in a suite, with its options. */
export interface StrategyEntry extends StrategyChoice {
  /** The id of a strategy, or several joined by `+`, the outermost first. */
  readonly strategy: string;
  /** Models asked in place of the trial's, by stage, such as `plan` or `fill`. */
  readonly models?: Readonly<Record<string, string | ModelEntry>>;
  /** Custom prompts, by strategy and name. */
  readonly prompts?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Attempts to repair a call that does not conform to its schema (`repair`); default 2. */
  readonly attempts?: number;
  /** Rounds of asking what is missing (`backward`); default 10. */
  readonly rounds?: number;
  /** Whether the model may look up values (`indirection`); default false. */
  readonly dereference?: boolean;
  /** Solved examples that stand before the task (`few_shot`); default 3. */
  readonly shots?: number;
  /** Solved examples in place of those that generated tasks and question sets have (`few_shot`). */
  readonly examples?: readonly SolvedExample[];
  /** The name in results, if several entries share a strategy; default `strategy`. */
  readonly name?: string;
}

const JOINED = STRATEGIES.filter((id) => id !== "baseline").join("|");

/** The schema of strategy ids. Errors are one sentence; editors get a pattern. */
export const STRATEGY_ID = z.string().check((context) => {
  try {
    strategiesIn(context.value);
  } catch (error) {
    const message = reasonOf(error).replace(/^Cannot use the strategy as it /, "");
    context.issues.push({ code: "custom", message, input: context.value });
  }
}).meta({ anyOf: [{ enum: STRATEGIES }, { pattern: `^(${JOINED})(\\+(${JOINED}))+$` }] });

const JSON_OBJECT = z.record(z.string(), z.json());

/** The schema of a solved example. */
const EXAMPLE = z.strictObject({
  question: z.string().min(1),
  functions: z.array(z.strictObject({ name: z.string().min(1), description: z.string() }))
    .exactOptional(),
  calls: z.array(
    z.strictObject({
      function: z.string().min(1),
      arguments: JSON_OBJECT.exactOptional(),
      result: z.json().exactOptional(),
    }),
  ).exactOptional(),
  answer: z.string(),
});

/** The schema of a strategy's entry. */
export const STRATEGY = z.strictObject({
  strategy: STRATEGY_ID,
  models: z.record(z.string(), z.union([z.string().min(1), MODEL])).exactOptional(),
  prompts: z.record(
    z.string(),
    z.record(z.string(), z.string().min(1), {
      error: 'must hold texts by name, such as { "repair": { "fix": "..." } }',
    }),
  ).exactOptional(),
  attempts: z.int().min(1).max(20).exactOptional(),
  rounds: z.int().min(1).max(100).exactOptional(),
  dereference: z.boolean().exactOptional(),
  shots: z.int().min(1).max(20).exactOptional(),
  examples: z.array(EXAMPLE).min(1).max(20).exactOptional(),
  name: z.string().min(1).exactOptional(),
}).check((context) => {
  // Only the first fault is reported.
  if (context.issues.length > 0) return;
  let ids: StrategyId[];
  try {
    ids = strategiesIn(context.value.strategy);
  } catch {
    return;
  }
  const { name, strategy } = context.value;
  if (name !== undefined && name !== strategy && STRATEGIES.some((id) => id === name)) {
    // Results named "baseline" must be the baseline's.
    context.issues.push({
      code: "custom",
      message: "must not be the id of another strategy",
      path: ["name"],
      input: name,
    });
  }
  const stages = stagesOf(ids);
  const stage = Object.keys(context.value.models ?? {}).find((name) => !stages.includes(name));
  const fault = stage === undefined ? optionFault(ids, context.value) : {
    path: ["models", stage],
    message: stages.length === 0
      ? `${context.value.strategy} asks no other model`
      : `there is no such stage: there are ${stages.join(", ")}`,
  };
  if (fault === undefined) return;
  const { path, message } = fault;
  context.issues.push({ code: "custom", message, path: [...path], input: context.value });
}) as unknown as z.ZodType<StrategyEntry>;

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
