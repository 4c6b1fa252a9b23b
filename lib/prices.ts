/**
 * Prices and budgets: what trials cost, and how much may be spent.
 * @module
 */

import { z } from "zod";
import { InputError } from "./input.ts";
import { printable } from "./json.ts";
import { sumUsage, type Usage } from "./model.ts";

/** What a model costs, in US dollars for a million tokens. */
export interface Price {
  /** Tokens read. */
  readonly input: number;
  /** Tokens written, hidden reasoning included. */
  readonly output: number;
}

/** Prices by the names that models have in results. */
export type Prices = Readonly<Record<string, Price>>;

const dollars = z.number().min(0);

/** A price table, as suites and files hold it. */
export const PRICES: z.ZodType<Prices> = z.record(
  z.string().min(1),
  z.strictObject({ input: dollars, output: dollars }),
);

/**
 * What `usage` costs, in US dollars.
 *
 * @throws {InputError} If the table has no price for the model: unknown is not free.
 *
 * @example Usage
 * ```ts
 * import { costOf } from "./prices.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * const prices = { "gpt-5": { input: 1.25, output: 10 } };
 * assertAlmostEquals(costOf({ inputTokens: 8000, outputTokens: 1000 }, "gpt-5", prices), 0.02);
 * ```
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
  throw new InputError(
    `Cannot tell the cost of model ${printable(missing, 100)} as the price table must have it: ` +
      `the table is ${known}`,
  );
}

/** How much a run may spend. When it is reached, nothing more is begun. */
export interface Budget {
  /** Tokens read and written, by all trials together. */
  readonly tokens?: number;
  /** US dollars, by the price table. */
  readonly usd?: number;
}

/** The rules of a budget. */
export const BUDGET: z.ZodType<Budget> = z.strictObject({
  tokens: z.int().min(1).exactOptional(),
  usd: z.number().gt(0).exactOptional(),
});

/** What is needed of a trial to know what it spent. */
interface Spender {
  readonly model: { readonly requested: string };
  readonly usage: Usage;
  readonly replaced?: Usage;
}

/** What a run has spent of its budget. */
export class Spending {
  readonly #budget: Budget;
  readonly #prices: Prices;
  #tokens = 0;
  #usd = 0;

  /** Starts with nothing spent. */
  constructor(budget: Budget, prices: Prices = {}) {
    this.#budget = budget;
    this.#prices = prices;
  }

  /** Counts a finished trial, an invalid one too. */
  add({ model, usage: own, replaced }: Spender): void {
    const usage = replaced === undefined ? own : sumUsage([own, replaced]);
    this.#tokens += usage.inputTokens + usage.outputTokens;
    if (this.#budget.usd !== undefined) this.#usd += costOf(usage, model.requested, this.#prices);
  }

  /** Which budget is reached, in words; `undefined` as long as none is. */
  get reached(): string | undefined {
    const { tokens, usd } = this.#budget;
    if (tokens !== undefined && this.#tokens >= tokens) {
      return `the budget of ${tokens} tokens was reached`;
    }
    if (usd !== undefined && this.#usd >= usd) {
      return `the budget of $${usd} was reached`;
    }
    return undefined;
  }
}
