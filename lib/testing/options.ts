/**
 * Benchmark options: checks the options of `benchmark()` and makes the plan.
 * @module
 */

import defer * as paths from "node:path";
import { z } from "zod";
import { type Connections, identityOf } from "../models/connect.ts";
import { parseWith } from "../base/input.ts";
import { cannot, InputError, isErrorOf } from "../base/errors.ts";
import { defined, isObject, printable } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { InfrastructureError, isModel, type Model } from "../models/model.ts";
import { isUpgrade } from "../gate/policy.ts";
import type { TaskSource } from "../runs/plan.ts";
import { optionSchemas } from "../runs/options.ts";
import type { BenchmarkSettings } from "../runs/option_types.ts";
import {
  type PlannedRun,
  planRun,
  type Printer,
  type Settings,
  suiteSettings,
} from "../runs/session.ts";
import {
  CASE_SUITE,
  type Cells,
  type Grid,
  type JudgeEntry,
  type ProbeSet,
  type QuestionSet,
  SUITE,
  type Suite,
} from "../runs/suite.ts";
import { isKeyName, MODEL, type ModelEntry, NO_KEY_HERE, type Sampling } from "../models/entry.ts";
import type { ToolCase } from "../trials/executors/tool_case.ts";
import type { StrategyEntry } from "../trials/strategies/entry.ts";
import { type Agent, assertAgentStrategies } from "../trials/own_agent.ts";
import type { CommandAgent } from "../trials/tap/command.ts";
import { valueText } from "../calls/values/text.ts";
import { sourcesOfCallers, testFile } from "./_sources.ts";
import { sum } from "../base/numbers.ts";
import { type Place, shownFile } from "../base/user_code.ts";

/** Options of `benchmark()`. */
export interface BenchmarkOptions extends BenchmarkSettings {
  /** One or several models: a name such as `sim:planner` or `gpt-5`, an entry with options, or a model. */
  readonly model: ModelChoice | readonly ModelChoice[];
  /** The sizes of generated tasks, probes, or call sets. */
  readonly tasks: TaskChoice | readonly TaskChoice[];
  /** The seed of all tasks; `fresh` draws one at the start, for contamination-free runs. */
  readonly seed: number | "fresh";
  /** The strategies of each model, by id or with options; default `baseline`. */
  readonly strategies?: readonly (string | BenchmarkStrategy)[];
  /** A model that judges how similar answers and truth are, for call sets. */
  readonly judge?: ModelChoice | JudgeEntry;
  /**
   * Works on the tasks in place of the agent loop, with the strategy `baseline` only: a function, or a program. It
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

/** A model or judge of a suite: custom models are referred to by name. */
function inSuite<Entry extends ModelEntry>(choice: string | Entry | Model): string | Entry {
  return isModel(choice) ? choice.name : choice;
}

/** All models of a benchmark, including those of stages and judges. */
export function modelChoices({ model, judge, strategies }: BenchmarkOptions): ModelChoice[] {
  const stages = listOf(strategies).flatMap((entry) =>
    typeof entry === "string" ? [] : Object.values(entry.models ?? {})
  );
  const judges = judge === undefined ? [] : [judge];
  return [...listOf(model), ...stages, ...judges];
}

/** The names of options. */
export interface OptionWords {
  /** Where they are used. */
  readonly place: "benchmark" | "toolTest";
  /** The names in use there, besides those of the table of options. */
  readonly names: readonly string[];
  /** The names used elsewhere, with the name there. */
  readonly elsewhere: ReadonlyMap<string, string>;
}

const BENCHMARK_WORDS: OptionWords = {
  place: "benchmark",
  names: ["model", "tasks", "strategies", "judge", "agent"] satisfies (keyof BenchmarkOptions)[],
  elsewhere: new Map([
    ["models", "model, which takes one or a list"],
    ["strategy", "strategies, which takes a list"],
    ["perturbation", "perturbations, which takes a list"],
  ]),
};

/**
 * Checks the names of options, and the values of those that no suite has.
 *
 * @throws {InputError} If there is no such option, or its value cannot be used.
 */
export function assertOptions(
  subject: string,
  options: object,
  { place, names, elsewhere }: OptionWords = BENCHMARK_WORDS,
): void {
  if (!isObject(options)) {
    throw cannot(`use ${subject}`, "it must have options", `they are ${options}`);
  }
  const schemas = optionSchemas(place);
  const known = [...names, ...Object.keys(schemas)];
  const unknown = Object.keys(options).find((option) => !known.includes(option));
  if (unknown !== undefined) {
    const advice = adviceOn(unknown, { ...options }, elsewhere);
    throw cannot(
      `use ${subject}`,
      `there is no option ${printable(unknown, 100)}` +
        (advice === undefined ? nearestOrAll(unknown, known) : ""),
      advice,
    );
  }
  const ofSuites = optionSchemas("suite");
  const own = Object.entries(schemas).filter(([name]) => !(name in ofSuites));
  parseWith(z.object(Object.fromEntries(own)), defined(options), subject);
}

/**
 * Checks that there is a model.
 *
 * @throws {InputError} If there is none.
 */
export function assertModel(
  subject: string,
  { model, variants, agent }: {
    readonly model?: unknown;
    readonly variants?: unknown;
    readonly agent?: unknown;
  },
): void {
  // Variants may have models of their own.
  if (model !== undefined || variants !== undefined) return;
  throw agent === undefined
    ? cannot(`use ${subject}`, "it must have a model", "sim:planner needs no key")
    : cannot(
      `use ${subject}`,
      "it must have a model, whose name results have",
      "an agent that asks another server may give any name",
    );
}

/** What to use in place of an option that belongs elsewhere; `undefined` for others. */
function adviceOn(
  unknown: string,
  options: Readonly<Partial<Record<string, unknown>>>,
  elsewhere: ReadonlyMap<string, string>,
): string | undefined {
  if (isKeyName(unknown)) return NO_KEY_HERE;
  const name = elsewhere.get(unknown);
  if (name !== undefined) return `here it is called ${name}`;
  // A `name` is more likely meant for the test than for the model.
  if (unknown === "name" || !Object.hasOwn(MODEL.shape, unknown)) return undefined;
  const { model } = options;
  const modelText = typeof model === "string" ? valueText(model, 100) : "...";
  const value = valueText(options[unknown], 100);
  return `it belongs to the model, as in model: { model: ${modelText}, ${unknown}: ${value} }`;
}

/** The registration of a benchmark besides its options. */
export interface Registration {
  /** The benchmark's name. */
  readonly name: string;
  /** How errors refer to it. */
  readonly subject: string;
  /** The source of tasks that no option names. */
  readonly source?: TaskSource;
  /** The places in the user's files that lead to it, innermost first. */
  readonly callers: readonly Place[];
  /** Whether other test files may have tests of it, as they share the module that makes it; default false. */
  readonly shared?: boolean;
  /** The agents of variants that have their own, by name; default none. */
  readonly variantAgents?: ReadonlyMap<string, Agent>;
}

/**
 * Plans a benchmark; prints its seed and the number of skipped crossings.
 *
 * @throws {InputError} If an option or flag cannot be used.
 */
export function planBenchmark(
  options: BenchmarkOptions,
  settings: Settings,
  { name, subject, source, callers, shared, variantAgents }: Registration,
): PlannedRun {
  const agent = options.agent !== undefined || variantAgents !== undefined;
  const suite = besideFile(
    readSuite(options, settings, { name, subject, ...defined({ source }) }),
    callers[0]?.url ?? Deno.mainModule,
  );
  const ownCode = agent || source !== undefined ||
    modelChoices(options).some(isModel);
  const planned = planRun({
    subject,
    suite,
    settings,
    source,
    agent,
    ownCode,
    ...(ownCode && settings.journal !== undefined
      ? defined({ sources: sourcesOfCallers(callers), file: testFile() })
      : {}),
    skipped: sum(listOf(options.tasks), (one) => "cells" in one ? one.skipped : 0),
    printer: printerOf(name),
    shared,
  });
  return planned;
}

/** Returns a suite whose baseline has its path from the working folder: in a test file it is from there, as imports are. */
function besideFile({ gate, ...suite }: Suite, url: string): Suite {
  if (gate === undefined) return suite;
  if (!isUpgrade(gate) || typeof gate.baseline === "string") return { ...suite, gate };
  const { file } = gate.baseline;
  if (file === undefined || paths.isAbsolute(file)) return { ...suite, gate };
  const baseline = { ...gate.baseline, file: paths.join(paths.dirname(shownFile(url)), file) };
  return { ...suite, gate: { ...gate, baseline } };
}

/**
 * Returns the suite that the options of a benchmark make.
 *
 * @throws {InputError} If an option cannot be used.
 */
export function readSuite(
  options: BenchmarkOptions,
  settings: Settings,
  { name, subject, source }: Omit<Registration, "callers">,
): Suite {
  const { strategies, judge, agent } = options;
  assertAgent(subject, agent, listOf(strategies));
  const suite = withOptionNames(
    options,
    BENCHMARK_NAMES,
    () =>
      parseWith(source === undefined ? SUITE : CASE_SUITE, {
        ...suiteSettings(settings),
        name,
        tasks: listOf(options.tasks).flatMap((one): Suite["tasks"] =>
          isCells(one) ? one.cells : [one]
        ),
        models: listOf(options.model).map((choice) => inSuite<ModelEntry>(choice)),
        ...defined({
          strategies: Array.isArray(strategies) ? strategies.map(suiteStrategy) : strategies,
          judge: judge && inSuite<JudgeEntry>(judge),
          agent: functionOf(agent) === undefined ? agent : undefined,
        }),
      }, subject),
  );
  const mute = modelChoices(options).filter(isModel)
    .find(({ reply }) => typeof reply !== "function");
  if (mute === undefined) return suite;
  throw cannot(
    `use ${subject}`,
    "reply of a model must be a function",
    `it is ${valueText(mute.reply)}`,
  );
}

/** Returns the items of an option that takes one or a list; callers without types may give none. */
export function listOf<Item>(value: Item | readonly Item[] | undefined): readonly Item[] {
  return value === undefined ? [] : [value].flat() as readonly Item[];
}

/** Whether a choice of tasks is what `grid()` returns; callers without types may give anything. */
function isCells(choice: TaskChoice): choice is Cells {
  return isObject(choice) && "cells" in choice;
}

/** Options of benchmarks that have other names in suites. */
const BENCHMARK_NAMES = new Map([["models", "model"]]);

/** Replaces the names of options in suites by those in code, in errors. */
export function withOptionNames<Result>(
  options: object,
  names: ReadonlyMap<string, string>,
  use: () => Result,
): Result {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const message = error.message.replace(/^ {2}at (\w+)(\[\d+\])?/gm, (path, word, index = "") => {
      const option = names.get(word);
      if (option === undefined) return path;
      const isList = Array.isArray((options as Partial<Record<string, unknown>>)[option]);
      return `  at ${option}${isList ? index : ""}`;
    });
    throw new InputError(message);
  }
}

/** Returns where a benchmark says what matters about its run. */
export function printerOf(benchmark: string): Printer {
  const name = printable(benchmark, Infinity);
  return {
    note: (line) => console.log(`${name}: ${line}`),
    // By the same stream as notes: of two, the runner shows lines in any order.
    warn: (line) => console.log(`${name}: warning: ${line}`),
    flagPrefix: "-- ",
    flagHint: "  (without -- Deno takes it)",
  };
}

/** Returns an agent that is a function; `undefined` for one that is a program, which the suite has. */
export function functionOf(agent: Agent | CommandAgent | undefined): Agent | undefined {
  return typeof agent === "function" ? agent : undefined;
}

/**
 * Checks that an agent of the user's own, if there is one, can work with strategies.
 *
 * @throws {InputError} If it is no agent, or there is a strategy other than `baseline`.
 */
export function assertAgent(
  subject: string,
  agent: unknown,
  strategies: readonly (string | BenchmarkStrategy)[],
): void {
  if (agent === undefined) return;
  if (typeof agent !== "function" && !isObject(agent)) {
    throw cannot(
      `use ${subject}`,
      'agent must be a function or a program such as { command: ["python3", "agent.py"] }',
      `it is ${valueText(agent)}`,
    );
  }
  const ids = strategies.map((entry) => isObject(entry) ? entry.strategy : entry);
  assertAgentStrategies(subject, ids.filter((id) => typeof id === "string"));
}

/** The strategy of a suite, with models by name. */
function suiteStrategy(entry: string | BenchmarkStrategy): string | StrategyEntry {
  // Callers without types may give anything.
  if (!isObject(entry)) return entry;
  const { models, ...others } = entry;
  if (!isObject(models)) return { ...others, ...defined({ models }) };
  const entries = Object.entries(models).map(([stage, choice]) =>
    [stage, inSuite(choice)] as const
  );
  return { ...others, models: Object.fromEntries(entries) };
}

/** The identity of an entry's model before it is connected. */
export function identityOfChoice(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
): Omit<Model, "reply"> {
  const model = customModel(entry, choices);
  if (model === undefined) return identityOf(entry);
  const { name, simulated, api } = model;
  return { name, simulated, ...defined({ api }) };
}

/** A custom model is found by its name. */
export function customModel(entry: ModelEntry, choices: readonly ModelChoice[]): Model | undefined {
  return choices.filter(isModel).find(({ name }) => name === entry.model);
}

/** The model of an entry: a custom one, or one of a server; an agent (`isAgent`) need not ask it. */
export function connectChoice(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
  connections: Connections,
  isAgent: boolean,
): Model {
  const model = customModel(entry, choices);
  if (model !== undefined) return model;
  try {
    return connections.model(entry);
  } catch (error) {
    if (!isAgent || !isErrorOf(error, InputError) || entry.model.startsWith("sim:")) {
      throw error;
    }
    return nameOnly(entry, error.message);
  }
}

/** A model that has no more than a name: an agent may ask other servers, or none. */
function nameOnly(entry: ModelEntry, why: string): Model {
  const fail = () => Promise.reject(new InfrastructureError(why, { permanent: "key" }));
  const { model } = entry;
  const who = printable(model);
  return {
    ...{ ...identityOf(entry), reply: fail },
    server: { model, who, hide: (text) => text, quote: (text) => text, forward: fail },
  };
}
