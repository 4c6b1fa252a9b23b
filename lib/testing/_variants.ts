/**
 * Variants: settings that run side by side on the same cases, such as an old and a new system text.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { canonicalJson, defined, printable } from "../base/json.ts";
import { modelName } from "../models/entry.ts";
import { isModel } from "../models/model.ts";
import type { Prices } from "../models/prices.ts";
import type { ResolvedSuite } from "../runs/resolved_suite.ts";
import { listOf } from "../runs/suite.ts";
import { caseParts, type ToolCase } from "../trials/executors/tool_case.ts";
import { type Agent, assertAgentStrategies } from "../trials/own_agent.ts";
import { strategyId, strategyName } from "../trials/strategies/entry.ts";
import { commandAgent, withoutSecrets } from "../trials/tap/command.ts";
import type { BenchmarkStrategy, ModelChoice } from "./options.ts";
import type { ToolSuiteOptions, ToolTestVariant } from "./tool_test_options.ts";
import { getOrInsert } from "../base/get_or_insert.ts";

/** What the plan and the opener of tasks need to know of variants. */
export interface Variants {
  /** The models of all variants, each once. */
  readonly model: readonly ModelChoice[];
  /** The strategies of all variants, each once. */
  readonly strategy: readonly (string | BenchmarkStrategy)[];
  /** The prices, also of models that a variant gives another name; omitted without any. */
  readonly prices?: Prices | undefined;
  /** The agents of variants that have their own, by name; omitted without any. */
  readonly agents?: ReadonlyMap<string, Agent> | undefined;
  /** Returns what the plan keeps, given its cases as they are without variants. */
  readonly planned: (cases: readonly ToolCase<unknown>[]) => ResolvedSuite["variants"];
  /** Returns a case as each variant has it. */
  readonly casesOf: (toolCase: ToolCase<unknown>) => readonly ToolCase<unknown>[];
  /** Returns a case with the settings of a variant. */
  readonly caseOf: (toolCase: ToolCase<unknown>, variant: string | undefined) => ToolCase<unknown>;
}

/**
 * Reads the variants of a suite: the models and strategies of all of them, and what each has in place of the others.
 *
 * @throws {InputError} If a variant cannot be used beside the others; `undefined` without variants.
 */
export function readVariants(
  subject: string,
  { variants, prices, ...beside }: ToolSuiteOptions<unknown>,
): Variants | undefined {
  if (variants === undefined) return undefined;
  const models = new Map<string, ModelChoice>();
  const strategies = new Map<string, string | BenchmarkStrategy>();
  const agents = new Map<string, Agent>();
  const costs = new Map(Object.entries(prices ?? {}));
  const settings = Object.entries(variants).map(([name, variant]) => {
    const place = `variants.${name} of ${subject}`;
    const choices = listOf(variant.model ?? beside.model);
    const varied = choices.map((choice) => variedModel(place, choice, variant));
    for (const [index, choice] of choices.entries()) {
      const price = costs.get(nameOf(choice));
      if (price !== undefined) getOrInsert(costs, nameOf(varied[index]!), price);
    }
    for (const choice of varied) addDistinct(subject, "model", models, nameOf(choice), choice);
    const entries = listOf(variant.strategy ?? beside.strategy ?? "plain");
    for (const entry of entries) {
      addDistinct(subject, "strategy", strategies, strategyName(entry as string), entry);
    }
    const { agent } = variant;
    if (agent !== undefined) {
      assertAgentStrategies(place, entries.map(strategyId));
      agents.set(name, typeof agent === "function" ? agent : commandAgent(agent, place));
    }
    return [name, {
      models: varied.map(nameOf),
      strategies: entries.map((entry) => strategyName(entry as string)),
      agent: typeof agent === "object" ? withoutSecrets(agent) : undefined,
    }] as const;
  });
  const caseOf: Variants["caseOf"] = (toolCase, variant = "") => {
    const own = Object.hasOwn(variants, variant) ? variants[variant] : undefined;
    const { system = toolCase.system, tools = toolCase.tools, toolChoice = toolCase.toolChoice } =
      own ?? {};
    const user = toolCase.user && { ...toolCase.user, ...own?.user };
    const chain = toolCase.chain?.versions?.get(variant) ?? toolCase.chain;
    return { ...toolCase, ...defined({ system, tools, toolChoice, user, chain }) };
  };
  return {
    model: [...models.values()],
    strategy: [...strategies.values()],
    prices: prices && Object.fromEntries(costs),
    agents: agents.size === 0 ? undefined : agents,
    caseOf,
    casesOf: (toolCase) => settings.map(([name]) => caseOf(toolCase, name)),
    planned: (cases) =>
      Object.fromEntries(settings.map(([variant, lists]) => {
        const parts = cases.map((toolCase) => {
          const { case: _, ...offered } = caseParts(caseOf(toolCase, variant));
          return [toolCase.name, offered] as const;
        });
        return [variant, { ...lists, parts: Object.fromEntries(parts) }] as const;
      })),
  };
}

/** A model with the reasoning effort and the sampling of a variant, under a name that says so. */
function variedModel(
  place: string,
  choice: ModelChoice,
  { reasoningEffort, sampling = {} }: ToolTestVariant<unknown>,
): ModelChoice {
  const set = Object.entries(sampling).filter(([, value]) => value !== undefined);
  const words = [
    ...(reasoningEffort === undefined ? [] : [reasoningEffort]),
    ...set.map(([field, value]) => `${field}=${value}`),
  ];
  if (words.length === 0) return choice;
  if (isModel(choice)) {
    throw cannot(
      `use ${place}`,
      "it can set the reasoning effort and the sampling of models by name alone",
      `${printable(choice.name, 100)} is a model of your own: give the variant one with them`,
    );
  }
  const entry = typeof choice === "string" ? { model: choice } : choice;
  return {
    ...entry,
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...Object.fromEntries(set),
    name: [modelName(entry), ...words].join(" "),
  };
}

/** The name of a choice in results. */
export function nameOf(choice: ModelChoice): string {
  return typeof choice === "string" ? choice : isModel(choice) ? choice.name : modelName(choice);
}

/** Adds a choice by its name, which must not stand for another one: results would look like those of one. */
function addDistinct<Choice extends ModelChoice | string | BenchmarkStrategy>(
  subject: string,
  what: string,
  known: Map<string, Choice>,
  name: string,
  choice: Choice,
): void {
  const before = getOrInsert(known, name, choice);
  const isAlike = !isModel(before) && !isModel(choice) &&
    canonicalJson(entryOf(before)) === canonicalJson(entryOf(choice));
  if (before === choice || isAlike) return;
  throw cannot(
    `use ${subject}`,
    `a name must stand for one ${what} in all variants`,
    `${printable(name, 100)} has other options in one of them: give that entry a name of its own`,
  );
}

function entryOf(choice: unknown): unknown {
  return typeof choice === "string" ? { model: choice } : choice;
}
