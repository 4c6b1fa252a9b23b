/**
 * Options of tool tests and of their suites.
 * @module
 */

import type { ToolTestSettings } from "../runs/option_types.ts";
import type { Agent } from "../trials/own_agent.ts";
import type { CommandAgent } from "../trials/tap/command.ts";
import type { ToolCase } from "../trials/executors/tool_case.ts";
import type { ModelEntry, Sampling } from "../models/entry.ts";
import type { BenchmarkStrategy, ModelChoice } from "./options.ts";

/** Options of `toolTest()`. */
export interface ToolTestOptions<State = undefined>
  extends Omit<ToolCase<State>, "name" | "tools">, ToolTestSettings {
  /** Whether the test is left out, as by `toolTest.skip()`; default false. */
  readonly ignore?: boolean;
  /** Words that stand as `#word` behind its name, so that `--filter "#word"` selects it. */
  readonly tags?: readonly string[];
  /**
   * One or several models: a name such as `sim:planner` or `gpt-5`, an entry with options, or a model. Omitted where
   * every variant has its own.
   */
  readonly model?: ModelChoice | readonly ModelChoice[];
  /** The tools, or a function that makes them for each trial. Omitted where every variant has its own. */
  readonly tools?: ToolCase<State>["tools"];
  /**
   * Settings that run side by side on the same cases, by name, such as
   * `{ old: { system: OLD }, new: { system: NEW } }`. With `gate: { baseline: { variant: "old" } }` the others are
   * compared with `old`. The tests of a suite have them in common.
   */
  readonly variants?: Readonly<Record<string, ToolTestVariant<State>>>;
  /**
   * Works on the question in place of the agent loop, with the strategy `plain` only: a function, or a program. It
   * is called once for each message of the user, and asks `model` by what it is given; one that asks another server may
   * name its model as it likes.
   */
  readonly agent?: Agent | CommandAgent;
  /** The number of trials; default 1. A sequential gate sets it itself. */
  readonly trials?: number;
  /** The seed of perturbations; default 1. `fresh` draws one at the start. */
  readonly seed?: number | "fresh";
  /** One or several strategies of the model, by id or with options. */
  readonly strategy?: string | BenchmarkStrategy | readonly (string | BenchmarkStrategy)[];
  /**
   * One or several perturbations of what the model sees, such as `RD` or `WT+CF`, or faults such as
   * `timeout`. With `["none", "timeout"]` the same `assert` judges both: assertions ignore calls lost to a
   * fault, unless nothing must be called.
   */
  readonly perturbation?: string | readonly string[];
}

/** Settings that run beside others on the same cases; what is left out is as without variants. */
export interface ToolTestVariant<State = undefined>
  extends Partial<Pick<ToolCase<State>, "system" | "tools" | "toolChoice">> {
  /** One or several models, as beside the variants. */
  readonly model?: ModelChoice | readonly ModelChoice[];
  /** One or several strategies, by id or with options. */
  readonly strategy?: string | BenchmarkStrategy | readonly (string | BenchmarkStrategy)[];
  /** How much its models may reason: in results they are called such as `gpt-5 high`. */
  readonly reasoningEffort?: NonNullable<ModelEntry["reasoningEffort"]>;
  /** How its models sample: in results they are called such as `gpt-5 temperature=0`. */
  readonly sampling?: Sampling;
  /** Works on its trials in place of the agent loop, as beside the variants. */
  readonly agent?: Agent | CommandAgent;
}

/**
 * Registers tests.
 *
 * @typeParam Shared The names of options that need not be given.
 * @typeParam Usual The type of the state, unless a test has its own.
 */
export interface ToolTest<Shared extends keyof ToolTestOptions = never, Usual = undefined> {
  /** Registers a test. */
  <State = Usual>(name: string, options: TestOptions<State, Shared>): void;
  /** Registers a test, and lets the runner run no others of the file. */
  only<State = Usual>(name: string, options: TestOptions<State, Shared>): void;
  /** Registers a test that is not run, as `Deno.test.ignore()` does. */
  skip<State = Usual>(name: string, options: TestOptions<State, Shared>): void;
  /**
   * Registers a test for each row of a table, as `Deno.test.each()` does. In its name `$key` is a property of the row, and
   * `%s`, `%d` or `%j` one of its values; `options` gets the row, the items of a list one by one.
   */
  each<Row>(
    table: readonly Row[],
  ): <State = Usual>(
    name: string,
    options: (
      ...values: Row extends readonly unknown[] ? [...Row] : [Row]
    ) => TestOptions<State, Shared>,
  ) => void;
}

/** The options of a test, of which some may be left out. */
export type TestOptions<State, Shared extends keyof ToolTestOptions> =
  & Omit<ToolTestOptions<State>, Shared>
  & Partial<Pick<ToolTestOptions<State>, Shared>>;

/** Options of `toolSuite()`: those of a run, and what its tests have in common. */
export type ToolSuiteOptions<State = undefined> = Partial<
  Omit<
    ToolTestOptions<State>,
    "prompt" | "turns" | "expected" | "parameters" | "assert" | "ignore" | "tags"
  >
>;
