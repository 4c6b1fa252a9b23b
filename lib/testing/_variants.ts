/**
 * Variants: settings that run side by side on the same cases, such as an old and a new system text.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { canonicalJson, defined, isJsonObject, isObject, printable } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { isModel } from "../models/model.ts";
import { modelName } from "../models/entry.ts";
import type { Prices } from "../models/prices.ts";
import type { Agent } from "../trials/own_agent.ts";
import { type CommandAgent, commandAgent, withoutSecrets } from "../trials/tap/command.ts";
import type { ResolvedSuite } from "../runs/resolved_suite.ts";
import {
  assertAgent,
  type BenchmarkStrategy,
  functionOf,
  listOf,
  type ModelChoice,
  type ToolTestVariant,
} from "./options.ts";
import { caseParts } from "../trials/executors/case_parts.ts";
import type { ToolCase } from "../trials/executors/tool_case.ts";
import { type StrategyEntry, strategyName } from "../trials/strategies/entry.ts";
import { valueText } from "../calls/values/text.ts";

/** The options that variants complete. */
export interface VariedOptions<State> {
  readonly model?: ModelChoice | readonly ModelChoice[];
  readonly strategy?: ToolTestVariant<State>["strategy"];
  readonly system?: string;
  readonly tools?: ToolCase<State>["tools"];
  readonly toolChoice?: ToolCase<State>["toolChoice"];
  readonly prices?: Prices;
  readonly agent?: Agent | CommandAgent;
  readonly variants?: Readonly<Record<string, ToolTestVariant<State>>>;
}

/** What the plan and the opener of tasks need to know of variants. */
export interface Variants<State> {
  /** The models of all variants, each once. */
  readonly models: readonly ModelChoice[];
  /** The strategies of all variants, each once; omitted for the default. */
  readonly strategies?: readonly (string | BenchmarkStrategy)[];
  /** The prices, also of models that a variant gives another name; omitted without any. */
  readonly prices?: Prices;
  /** The agents of variants that have their own, by name; omitted without any. */
  readonly agents?: ReadonlyMap<string, Agent>;
  /** What the plan keeps, given its cases as they are without variants; `undefined` without variants. */
  readonly planned: (cases: readonly ToolCase<State>[]) => ResolvedSuite["variants"];
  /** Returns a case as each variant has it; the case itself without variants. */
  readonly casesOf: (toolCase: ToolCase<State>) => readonly ToolCase<State>[];
  /** Returns a case with the settings of a variant. */
  readonly caseOf: (toolCase: ToolCase<State>, variant: string | undefined) => ToolCase<State>;
}

/** The settings of a variant that cases have as well. */
export const CASE_SETTINGS = ["system", "tools", "toolChoice"] as const;

/** The settings of a variant. */
const SETTINGS: readonly (keyof ToolTestVariant)[] = [
  "model",
  "strategy",
  ...CASE_SETTINGS,
  "reasoningEffort",
  "sampling",
  "agent",
];

/** Names that can stand in ids, titles and shells as they are. */
const NAME = /^[A-Za-z0-9][\w.-]{0,59}$/;

/**
 * Reads the variants of a suite: the models and strategies of all of them, and what each has in place of the others.
 *
 * @throws {InputError} If a variant or a setting of it cannot be used, or would have no effect.
 */
export function readVariants<State>(
  subject: string,
  options: VariedOptions<State>,
): Variants<State> {
  const { variants } = options;
  const strategies = options.strategy === undefined ? undefined : listOf(options.strategy);
  if (variants === undefined) {
    return {
      models: listOf(options.model),
      ...defined({ strategies, prices: options.prices }),
      planned: () => undefined,
      caseOf: (toolCase) => toolCase,
      casesOf: (toolCase) => [toolCase],
    };
  }
  assertVariants(subject, options, variants);
  const models = new Map<string, ModelChoice>();
  const chosen = new Map<string, string | BenchmarkStrategy>();
  const agents = new Map<string, Agent>();
  const costs: Record<string, Prices[string]> = { ...options.prices };
  const settings = Object.entries(variants).map(([name, variant]) => {
    const own = listOf(variant.model ?? options.model).map((choice) => {
      const varied = variedModel(subject, name, choice, variant);
      const [before, now] = [nameOf(choice), nameOf(varied)];
      const known = options.prices !== undefined && Object.hasOwn(options.prices, before);
      if (known && !Object.hasOwn(costs, now)) costs[now] = options.prices[before]!;
      addDistinct(subject, models, { name: now, choice: varied, what: "model" });
      return now;
    });
    const entries = listOf(variant.strategy ?? options.strategy ?? "baseline");
    const { agent } = variant;
    const place = `variants.${name} of ${subject}`;
    assertAgent(place, agent, entries);
    const program = typeof agent === "function" ? undefined : agent;
    const works = program === undefined ? functionOf(agent) : commandAgent(program, place);
    if (works !== undefined) agents.set(name, works);
    const ids = entries.map((entry) => {
      const id = isObject(entry) ? strategyName(entry as StrategyEntry) : entry;
      addDistinct(subject, chosen, { name: id, choice: entry, what: "strategy" });
      return id;
    });
    const kept = defined({ agent: program && withoutSecrets(program) });
    return [name, { models: own, strategies: ids, ...kept }] as const;
  });
  const caseOf: Variants<State>["caseOf"] = (toolCase, variant) => {
    const own = variant === undefined ? undefined : variants[variant];
    if (own === undefined) return toolCase;
    const { system, tools, toolChoice } = own;
    return { ...toolCase, ...defined({ system, tools, toolChoice }) };
  };
  return {
    models: [...models.values()],
    strategies: [...chosen.values()],
    ...(options.prices === undefined ? {} : { prices: costs }),
    ...(agents.size === 0 ? {} : { agents }),
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

/** Whether every variant has a setting of its own, so that nothing is needed beside them. */
export function everyVariantHas(variants: unknown, setting: keyof ToolTestVariant): boolean {
  if (!isObject(variants)) return false;
  const all = Object.values(variants);
  return all.length > 0 &&
    all.every((one) => isObject(one) && Reflect.get(one, setting) !== undefined);
}

/** Runtime checks for callers without TypeScript, and of settings that would have no effect. */
function assertVariants<State>(
  subject: string,
  options: VariedOptions<State>,
  variants: unknown,
): void {
  const refuse = (rule: string, state?: string) => cannot(`use ${subject}`, rule, state);
  if (!isJsonObject(variants) || Object.keys(variants).length === 0) {
    throw refuse("variants must be settings by name", `it is ${valueText(variants)}`);
  }
  const known: readonly string[] = SETTINGS;
  for (const [name, variant] of Object.entries(variants)) {
    if (!NAME.test(name)) {
      throw refuse(
        "a variant must have a name of letters, digits, _, . and -, 60 at most, as it stands in ids of trials",
        `there is ${valueText(name)}`,
      );
    }
    if (!isObject(variant)) {
      throw refuse(`variants.${name} must be settings`, `it is ${valueText(variant)}`);
    }
    const given = Object.keys(defined({ ...variant }));
    const unknown = given.find((setting) => !known.includes(setting));
    if (unknown !== undefined) {
      throw refuse(
        `variants.${name} has no setting ${printable(unknown, 100)}${nearestOrAll(unknown, known)}`,
      );
    }
    if (given.length === 0) {
      throw refuse(`variants.${name} must have a setting`, `it has none of ${known.join(", ")}`);
    }
    const sampling: unknown = Reflect.get(variant, "sampling");
    if (sampling !== undefined && !isJsonObject(sampling)) {
      throw refuse(
        `variants.${name}.sampling must be options, such as { temperature: 0 }`,
        `it is ${valueText(sampling)}`,
      );
    }
    for (const setting of ["model", "strategy"] as const) {
      const value: unknown = Reflect.get(variant, setting);
      if (Array.isArray(value) && value.length === 0) {
        throw refuse(`variants.${name}.${setting} must not be empty`);
      }
    }
  }
  const beside = SETTINGS.find((setting) =>
    Reflect.get(options, setting) !== undefined && everyVariantHas(variants, setting)
  );
  if (beside !== undefined) {
    throw refuse(
      `${beside} is set in every variant, so that the one beside variants would never be used`,
      "leave it out there, or in one variant",
    );
  }
  if (options.model === undefined && !everyVariantHas(variants, "model")) {
    throw refuse("every variant must have a model, or all of them one beside variants");
  }
}

/** A model with the reasoning effort and the sampling of a variant, under a name that says so. */
function variedModel<State>(
  subject: string,
  name: string,
  choice: ModelChoice,
  { reasoningEffort, sampling }: ToolTestVariant<State>,
): ModelChoice {
  const suffix = [
    ...(reasoningEffort === undefined ? [] : [reasoningEffort]),
    ...Object.entries(defined({ ...sampling })).map(([field, value]) => `${field}=${value}`),
  ].join(" ");
  if (suffix === "") return choice;
  if (isModel(choice)) {
    throw cannot(
      `use ${subject}`,
      `variants.${name} can set the reasoning effort and the sampling of models by name alone`,
      `${printable(choice.name, 100)} is a model of your own: give the variant one with them`,
    );
  }
  const entry = typeof choice === "string" ? { model: choice } : choice;
  return {
    ...entry,
    ...defined({ reasoningEffort, ...sampling }),
    name: `${modelName(entry)} ${suffix}`,
  };
}

function nameOf(choice: ModelChoice): string {
  return typeof choice === "string" ? choice : isModel(choice) ? choice.name : modelName(choice);
}

/** Adds a choice by its name, which must not stand for another one: results would look like those of one. */
function addDistinct<Choice extends ModelChoice | string | BenchmarkStrategy>(
  subject: string,
  known: Map<string, Choice>,
  { name, choice, what }: { readonly name: string; readonly choice: Choice; readonly what: string },
): void {
  const before = known.get(name);
  known.set(name, before ?? choice);
  if (before === undefined || before === choice) return;
  const isAlike = !isModel(before) && !isModel(choice) &&
    canonicalJson(entryOf(before)) === canonicalJson(entryOf(choice));
  if (isAlike) return;
  throw cannot(
    `use ${subject}`,
    `a name must stand for one ${what} in all variants`,
    `${printable(name, 100)} has other options in one of them: give that entry a name of its own`,
  );
}

function entryOf(choice: unknown): unknown {
  return typeof choice === "string" ? { model: choice } : choice;
}
