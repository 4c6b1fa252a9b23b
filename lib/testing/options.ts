/**
 * Options of benchmarks: their types, and the one schema by which they are checked.
 * @module
 */

import { z } from "zod";
import { FUNCTION, must } from "../base/input.ts";
import { sum } from "../base/numbers.ts";
import { valueText } from "../calls/values/text.ts";
import { misplaced, MODEL, type ModelEntry } from "../models/entry.ts";
import { isModel, type Model } from "../models/model.ts";
import type { BenchmarkSettings, RunSettings } from "../runs/option_types.ts";
import { OPTIONS, optionSchemas } from "../runs/options.ts";
import {
  type Cells,
  type Grid,
  JUDGE,
  type JudgeEntry,
  listOf,
  MAX_NAME_LENGTH,
  nonEmpty,
  oneOrMore,
  type ProbeSet,
  type QuestionSet,
  type Suite,
  TASK,
} from "../runs/suite.ts";
import { type Agent, assertAgentStrategies } from "../trials/own_agent.ts";
import {
  STRATEGY_ID,
  type StrategyEntry,
  strategyId,
  strategySchema,
} from "../trials/strategies/entry.ts";
import { COMMAND_AGENT, type CommandAgent } from "../trials/tap/command.ts";

/** Options of `benchmark()`. */
export interface BenchmarkOptions extends BenchmarkSettings {
  /** One or several models: a name such as `sim:planner` or `gpt-5`, an entry with options, or a model. */
  readonly model: ModelChoice | readonly ModelChoice[];
  /** The sizes of generated tasks, probes, or call sets. */
  readonly tasks: TaskChoice | readonly TaskChoice[];
  /** The seed of all tasks; `fresh` draws one at the start, for contamination-free runs. */
  readonly seed: number | "fresh";
  /** The strategies of each model, by id or with options; default `plain`. */
  readonly strategies?: readonly (string | BenchmarkStrategy)[];
  /** A model that judges how similar answers and truth are, for call sets. */
  readonly judge?: ModelChoice | JudgeEntry;
  /**
   * Works on the tasks in place of the agent loop, with the strategy `plain` only: a function, or a program. It
   * asks `model` by what it is given; one that asks another server may name its model as it likes.
   */
  readonly agent?: Agent | CommandAgent;
}

/** The sizes of tasks, probes, or questions of a call set. */
export type TaskChoice = Grid | Cells | ProbeSet | QuestionSet;

/** A strategy with its options; its stages may use custom models. */
export interface BenchmarkStrategy extends Omit<StrategyEntry, "models"> {
  /** Models asked in place of the trial's, by stage. */
  readonly models?: Readonly<Record<string, ModelChoice>>;
}

/** A model, or how to connect one. */
export type ModelChoice = string | ModelEntry | Model;

/** Whether a value is a text that says something. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** The schema of the name of a benchmark or a suite. */
export const NAME: z.ZodType<string> = must(
  `be a text of 1 to ${MAX_NAME_LENGTH} characters`,
  (name) => isText(name) && name.length <= MAX_NAME_LENGTH,
);

/** The schema of models that are one already. */
const OWN_MODEL = z.any().check(({ value, issues }) => {
  if (!isModel(value)) {
    issues.push({ code: "invalid_type", expected: "object", input: value });
  } else if (typeof value.reply !== "function") {
    const message = `must be a function: it is ${valueText(value.reply)}`;
    issues.push({ code: "custom", path: ["reply"], message, input: value });
  }
});

/** The schema of a model, or of how to connect one. */
export const MODEL_CHOICE: z.ZodType<ModelChoice> = z.union([z.string().min(1), MODEL, OWN_MODEL]);

/** The schema of one or several models. */
export const MODELS: z.ZodType = z.union([MODEL_CHOICE, nonEmpty(MODEL_CHOICE)], {
  error: ({ input }) => input === undefined ? NO_MODEL : undefined,
});

/** What is said where there is no model. */
export const NO_MODEL = "it is missing: results have its name, and sim:planner needs no key";

/** The schema of a strategy, by id or with options. */
export const STRATEGY_CHOICE: z.ZodType = z.union([
  STRATEGY_ID,
  strategySchema(MODEL_CHOICE as z.ZodType<string | ModelEntry>),
]);

/** The schema of what works in place of the agent loop. */
export const AGENT: z.ZodType = z.union([FUNCTION, COMMAND_AGENT], {
  error: ({ input }) =>
    typeof input === "object" && input !== null
      ? undefined
      : 'must be a function or a program such as { command: ["python3", "agent.py"] }: it is ' +
        valueText(input),
});

/** What to do with options that belong to models. A `name` is more likely meant for the test. */
export const OF_MODELS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(MODEL.shape).filter((name) => name !== "model" && name !== "name")
    .map((name) => [
      name,
      `it belongs to the model, as in model: { model: "gpt-5", ${name}: ... }`,
    ]),
);

const CELLS = z.strictObject({ cells: nonEmpty(TASK), skipped: z.int().min(0) });

/** The schema of {@linkcode BenchmarkOptions}. */
export const BENCHMARK = z.strictObject({
  ...optionSchemas("benchmark"),
  ...{
    model: MODELS,
    tasks: oneOrMore(z.union([TASK, CELLS])),
    strategies: nonEmpty(STRATEGY_CHOICE).optional(),
    judge: z.union([z.string().min(1), JUDGE, OWN_MODEL]).optional(),
    agent: AGENT.optional(),
  } satisfies Record<Exclude<keyof BenchmarkOptions, keyof BenchmarkSettings>, z.ZodType>,
  seed: OPTIONS.seed.schema,
}, {
  error: misplaced({
    ...OF_MODELS,
    models: "here it is called model, which takes one or a list",
    strategy: "here it is called strategies, which takes a list",
    perturbation: "here it is called perturbations, which takes a list",
  }),
}) as unknown as z.ZodType<BenchmarkOptions>;

/** A benchmark, or tool tests, as a plan knows them: of the user's own models it has the names. */
export interface Declared {
  readonly settings: RunSettings;
  readonly suite: Pick<Suite, "tasks" | "models" | "strategies" | "judge" | "agent" | "seed">;
  /** The user's own models, by name. */
  readonly own: ReadonlyMap<string, Model>;
  /** An agent that is a function; a program is in the suite. */
  readonly agent: Agent | undefined;
  /** Impossible crossings that `grid()` left out. */
  readonly skipped: number;
}

/**
 * Returns what a plan knows of a benchmark.
 *
 * @throws {InputError} If its agent cannot work with its strategies.
 */
export function declare(
  subject: string,
  { model, tasks, strategies, judge, agent, ...settings }: BenchmarkOptions,
): Declared {
  const [models, all] = [listOf(model), listOf(tasks)];
  const stages = listOf(strategies).flatMap((entry) =>
    typeof entry === "string" ? [] : Object.values(entry.models ?? {})
  );
  if (agent !== undefined) assertAgentStrategies(subject, listOf(strategies).map(strategyId));
  return {
    settings,
    suite: {
      tasks: all.flatMap((one): Suite["tasks"] => "cells" in one ? one.cells : [one]),
      models: models.map((choice) => byName<ModelEntry>(choice)),
      strategies: strategies?.map((entry) =>
        typeof entry === "string" || entry.models === undefined ? entry as StrategyEntry : {
          ...entry,
          models: Object.fromEntries(
            Object.entries(entry.models).map(([stage, one]) => [stage, byName<ModelEntry>(one)]),
          ),
        }
      ),
      judge: judge && byName<JudgeEntry>(judge),
      agent: typeof agent === "function" ? undefined : agent,
      seed: settings.seed,
    },
    // Of several with one name the first counts.
    own: new Map(
      [...models, ...stages, ...listOf(judge)].filter(isModel).reverse()
        .map((one) => [one.name, one]),
    ),
    agent: typeof agent === "function" ? agent : undefined,
    skipped: sum(all, (one) => "cells" in one ? one.skipped : 0),
  };
}

/** A model as suites have it: one of the user's own is referred to by name. */
function byName<Entry extends ModelEntry>(choice: string | Entry | Model): string | Entry {
  return isModel(choice) ? choice.name : choice;
}
