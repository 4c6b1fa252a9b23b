/**
 * Prices and budgets: the cost of trials, and how much a run may spend.
 * @module
 */

import { z } from "zod";
import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { sumUsage, type Usage } from "../tools/message.ts";
import { sum } from "../base/numbers.ts";

/** Price of a model, in US dollars for a million tokens. */
export interface Price {
  /** Tokens read. */
  readonly input: number;
  /** Tokens written, hidden reasoning included. */
  readonly output: number;
}

/** Prices by the names of models in results. */
export type Prices = Readonly<Record<string, Price>>;

const dollars = z.number().min(0);

/** Schema of a price table in suites and files. */
export const PRICES: z.ZodType<Prices> = z.record(
  z.string().min(1),
  z.strictObject({ input: dollars, output: dollars }),
);

/**
 * Returns the cost of `usage`, in US dollars.
 *
 * @throws {InputError} If the table has no price for the model: unknown is not free.
 */
export function costOf(usage: Usage, model: string, prices: Prices): number {
  assertPriced([model], prices);
  const { input, output } = prices[model]!;
  return (usage.inputTokens * input + usage.outputTokens * output) / 1_000_000;
}

/** @throws {InputError} If the table lacks one of the models. */
export function assertPriced(models: readonly string[], prices: Prices): void {
  const missing = models.find((model) => !Object.hasOwn(prices, model));
  if (missing === undefined) return;
  const known = Object.keys(prices).map((name) => printable(name, 60)).join(", ") || "empty";
  throw cannot(
    `compute the cost of model ${missing}`,
    "the price table must have it",
    `the table is ${known}`,
  );
}

/** A model, and the tokens that it took. */
export interface ModelUsage {
  /** The model, by the requested name. */
  readonly model: { readonly requested: string };
  /** The tokens. */
  readonly usage: Usage;
}

/** The fields of a trial that determine its cost; its usage is that of all models in it. */
export interface Spender extends ModelUsage {
  /** Tokens of earlier attempts at the trial, which infrastructure errors made invalid. */
  readonly replaced?: Usage | undefined;
  /** The parts of its usage that other models took. */
  readonly stages?: readonly ModelUsage[] | undefined;
  /** Usage of the judge of its answer, and of `others` that `assert` asked, which are not part of its usage. */
  readonly judging?: (ModelUsage & { readonly others?: readonly ModelUsage[] }) | undefined;
  /** Usage of the simulated user, which is not part of its usage either. */
  readonly user?: ModelUsage | undefined;
  /** `unwatched` if an agent may have asked models unseen: its usage is then not known, unless there is some. */
  readonly agent?: "watched" | "unwatched";
}

/** Whether the tokens of a trial are not known, as no reply to its agent was seen. */
export function isUncounted({ agent, usage }: Pick<Spender, "agent" | "usage">): boolean {
  return agent === "unwatched" && usage.inputTokens + usage.outputTokens === 0;
}

/** Returns all tokens that a trial took, including its replaced attempts. */
export function spentUsage({ usage, replaced }: Pick<Spender, "usage" | "replaced">): Usage {
  return replaced === undefined ? usage : sumUsage([usage, replaced]);
}

/**
 * Returns the cost of a trial, in US dollars: each model's tokens at its own price, and replaced attempts at
 * that of the trial's model.
 *
 * @throws {InputError} If the table lacks a price of any model that took part.
 */
export function trialCost(trial: Spender, prices: Prices): number {
  return sum(
    usageByModel(trial),
    ({ model, usage }) => costOf(usage, model.requested, prices),
  );
}

/** Returns the total cost of trials; `null` if the price of a model that took part is unknown, or tokens are. */
export function costOfAll(trials: readonly Spender[], prices: Prices): number | null {
  if (trials.some(isUncounted)) return null;
  const shares = Map.groupBy(trials.flatMap(usageByModel), ({ model }) => model.requested);
  if ([...shares.keys()].some((name) => !Object.hasOwn(prices, name))) return null;
  return sum(
    [...shares],
    ([name, own]) => costOf(sumUsage(own.map(({ usage }) => usage)), name, prices),
  );
}

/** Returns the tokens of a trial by model. */
function usageByModel({ model, usage, replaced, stages = [] }: Spender): ModelUsage[] {
  const others = sumUsage(stages.map((stage) => stage.usage));
  // A journal may say that stages took more than the whole trial: usage must not become negative.
  const own = {
    inputTokens: Math.max(0, usage.inputTokens - others.inputTokens),
    outputTokens: Math.max(0, usage.outputTokens - others.outputTokens),
  };
  return [{ model, usage: spentUsage({ usage: own, replaced }) }, ...stages];
}

/** How much a run may spend. When it is reached, no further trial begins. */
export interface Budget {
  /** Tokens read and written, by all trials together. */
  readonly tokens?: number;
  /** US dollars, by the price table. */
  readonly usd?: number;
}

/** Schema of a budget. */
export const BUDGET: z.ZodType<Budget> = z.strictObject({
  tokens: z.int().min(1).optional(),
  usd: z.number().gt(0).optional(),
});

/** Tracks what a run has spent of its budget. */
export class Spending {
  readonly #budget: Budget;
  readonly #prices: Prices;
  #tokens = 0;
  #usd = 0;
  /** What may be spent in all: less than the budget where other machines have their share of it. */
  #limit: Budget;

  /** Starts with nothing spent. */
  constructor(budget: Budget, prices: Prices = {}) {
    this.#budget = budget;
    this.#limit = budget;
    this.#prices = prices;
  }

  /** Leaves to this run its equal share of what is left of the budget: this is the number of runs that spend the rest of it together. */
  share(runs: number): void {
    if (runs === 1) return;
    const { tokens, usd } = this.#budget;
    const left = (whole: number, spent: number) => Math.max(0, whole - spent);
    this.#limit = {
      // Whole tokens, so that all shares together are no more than what is left.
      tokens: tokens === undefined
        ? undefined
        : this.#tokens + Math.floor(left(tokens, this.#tokens) / runs),
      usd: usd === undefined ? undefined : this.#usd + left(usd, this.#usd) / runs,
    };
  }

  /** Adds a finished trial, even an invalid one. */
  add(trial: Spender): void {
    const { judging, user } = trial;
    const judges = judging === undefined ? [] : [judging, ...judging.others ?? []];
    const beside = [...judges, user ?? []].flat();
    const usages = [spentUsage(trial), ...beside.map(({ usage }) => usage)];
    const { inputTokens, outputTokens } = sumUsage(usages);
    this.#tokens += inputTokens + outputTokens;
    if (this.#budget.usd === undefined) return;
    this.#usd += trialCost(trial, this.#prices);
    for (const { model, usage } of beside) {
      // The judges of a suite, and its users, have prices; of those that an `assert` asks nobody knows before.
      if (!Object.hasOwn(this.#prices, model.requested)) continue;
      this.#usd += costOf(usage, model.requested, this.#prices);
    }
  }

  /** Describes the budget that is reached; `undefined` while none is. */
  get reached(): string | undefined {
    const { tokens, usd } = this.#limit;
    const share = this.#limit === this.#budget ? "" : "a shard's share of ";
    if (tokens !== undefined && this.#tokens >= tokens) {
      return `${share}the budget of ${this.#budget.tokens} tokens was reached`;
    }
    if (usd !== undefined && this.#usd >= usd) {
      return `${share}the budget of $${this.#budget.usd} was reached`;
    }
    return undefined;
  }
}
