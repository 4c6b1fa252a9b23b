import {
  assertAlmostEquals,
  assertEquals,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import {
  assertPriced,
  BUDGET,
  costOf,
  costOfAll,
  PRICES,
  type Prices,
  type Spender,
  Spending,
  trialCost,
} from "../../lib/models/prices.ts";
import { HOSTILE, record, STEERING } from "../support/records.ts";

const TABLE: Prices = { m: { input: 1.25, output: 10 }, free: { input: 0, output: 0 } };

/** The message for an unusable value. */
function faultOf(schema: typeof PRICES | typeof BUDGET, value: unknown): string {
  return assertThrows(() => parseWith<unknown>(schema, value, "it"), InputError).message;
}

/** A trial that took these tokens. */
function spender(
  inputTokens: number,
  outputTokens: number,
  outcome: "solved" | "invalid" = "solved",
) {
  return record({ usage: { inputTokens, outputTokens }, outcome });
}

Deno.test("costOf() is by the million tokens, read and written each at its price", () => {
  assertAlmostEquals(costOf({ inputTokens: 1_000_000, outputTokens: 0 }, "m", TABLE), 1.25, 1e-12);
  assertAlmostEquals(costOf({ inputTokens: 0, outputTokens: 1_000_000 }, "m", TABLE), 10, 1e-12);
  assertAlmostEquals(costOf({ inputTokens: 8000, outputTokens: 1000 }, "m", TABLE), 0.02, 1e-12);
  assertEquals(costOf({ inputTokens: 8000, outputTokens: 1000 }, "free", TABLE), 0);
});

Deno.test("costOf() of a model without a price is an error, not zero", () => {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const error = assertThrows(() => costOf(usage, "other", TABLE), InputError);
  assertEquals(
    error.message,
    "Cannot compute the cost of model other as the price table must have it: the table is m, free",
  );
  // Names of what every object has are no prices.
  for (const name of ["constructor", "__proto__", "toString"]) {
    assertThrows(() => costOf(usage, name, TABLE), InputError, `model ${name} as the price table`);
  }
  assertThrows(() => costOf(usage, "m", {}), InputError, "the table is empty");
});

/** Dollars a token: one read and two written of `small`, ten times as many of `large`. */
const DOLLARS: Prices = {
  small: { input: 1e6, output: 2e6 },
  large: { input: 1e7, output: 2e7 },
};

function usageOf(inputTokens: number, outputTokens: number) {
  return { inputTokens, outputTokens };
}

/** What `large` took of a trial. */
function stage(inputTokens: number, outputTokens: number) {
  return { model: { requested: "large" }, usage: usageOf(inputTokens, outputTokens) };
}

const STAGED: Spender = {
  model: { requested: "small" },
  usage: usageOf(100, 10),
  stages: [stage(30, 3), stage(20, 2)],
};

Deno.test("trialCost() prices other models that took part by their own names, and the rest by its own", () => {
  assertAlmostEquals(trialCost(STAGED, DOLLARS), 60 + 600, 1e-9);
  assertAlmostEquals(trialCost({ ...STAGED, stages: [] }, DOLLARS), 120, 1e-9);
  assertEquals(trialCost(record(), { m: { input: 1e6, output: 0 } }), 10);
});

Deno.test("trialCost() gives nothing back where stages took more than there was", () => {
  const odd = { ...STAGED, stages: [stage(200, 0)], replaced: usageOf(1, 0) };
  assertAlmostEquals(trialCost(odd, DOLLARS), 20 + 2000 + 1, 1e-9);
});

Deno.test("trialCost() needs the price of every model that took part", () => {
  for (const name of ["small", "large"]) {
    const { [name]: _, ...partial } = DOLLARS;
    assertThrows(() => trialCost(STAGED, partial), InputError, `the cost of model ${name} as`);
  }
});

Deno.test("costOfAll() is the sum of what each trial costs, or not known at all", () => {
  const own = { ...STAGED, stages: [] };
  assertAlmostEquals(costOfAll([STAGED, own, own], DOLLARS)!, 660 + 2 * 120, 1e-9);
  assertEquals(costOfAll([], {}), 0);
  const { large: _, ...partial } = DOLLARS;
  assertEquals(costOfAll([own, STAGED], partial), null);
  assertEquals(costOfAll([own], partial), 120);
  const named = { ...own, model: { requested: "constructor" } };
  assertEquals(costOfAll([named], DOLLARS), null);
});

Deno.test("assertPriced() names the first model that the table lacks, in printable words", () => {
  assertPriced([], {});
  assertPriced(["free", "m"], TABLE);
  assertThrows(() => assertPriced(["m", "x", "y"], TABLE), InputError, "the cost of model x as");
  const hostile = { [HOSTILE]: { input: 1, output: 1 } };
  const { message } = assertThrows(() => assertPriced([`${HOSTILE}!`], hostile), InputError);
  assertNotMatch(message, STEERING);
});

Deno.test("PRICES accepts tables, and names the path and the rule of what is none", () => {
  assertEquals(parseWith(PRICES, TABLE, "it"), TABLE);
  assertEquals(parseWith(PRICES, {}, "it"), {});
  const faults: [unknown, path: string, rule: string][] = [
    [{ m: 1.25 }, "m", "expected object"],
    [{ m: { input: 1 } }, "m.output", "expected number"],
    [{ m: { input: -1, output: 1 } }, "m.input", "must be at least 0"],
    [{ m: { input: "1", output: 1 } }, "m.input", "expected number"],
    [{ m: { input: 1, output: Infinity } }, "m.output", "expected number"],
    [{ m: { input: 1, output: 1, cached: 1 } }, "m", '"cached"'],
    [{ "": { input: 1, output: 1 } }, "the top", "a key must not be empty"],
    [[], "the top", "expected record"],
  ];
  for (const [table, path, rule] of faults) {
    const message = faultOf(PRICES, table);
    assertStringIncludes(message, `  at ${path}: `, JSON.stringify(table));
    assertStringIncludes(message, rule, JSON.stringify(table));
  }
});

Deno.test("BUDGET accepts budgets, and names the path and the rule of what is none", () => {
  for (const budget of [{}, { tokens: 1 }, { usd: 0.01 }, { tokens: 10, usd: 2 }]) {
    assertEquals(parseWith(BUDGET, budget, "it"), budget);
  }
  const faults: [unknown, path: string, rule: string][] = [
    [{ tokens: 0 }, "tokens", "must be at least 1"],
    [{ tokens: 1.5 }, "tokens", "int"],
    [{ usd: 0 }, "usd", "must be above 0"],
    [{ usd: "5" }, "usd", "expected number"],
    [{ dollars: 5 }, "the top", '"dollars"'],
  ];
  for (const [budget, path, rule] of faults) {
    const message = faultOf(BUDGET, budget);
    assertStringIncludes(message, `  at ${path}: `, JSON.stringify(budget));
    assertStringIncludes(message, rule, JSON.stringify(budget));
  }
});

Deno.test("Spending.reached is told from the trial on that reaches a budget of tokens", () => {
  const spending = new Spending({ tokens: 100 });
  assertEquals(spending.reached, undefined);
  spending.add(spender(60, 39));
  assertEquals(spending.reached, undefined);
  spending.add(spender(1, 0));
  assertEquals(spending.reached, "the budget of 100 tokens was reached");
  spending.add(spender(7, 0));
  assertEquals(spending.reached, "the budget of 100 tokens was reached");
});

Deno.test("Spending.reached is told from the trial on that reaches a budget of dollars", () => {
  const spending = new Spending({ usd: 0.02 }, TABLE);
  spending.add(spender(8000, 999));
  assertEquals(spending.reached, undefined);
  spending.add(spender(0, 101));
  assertEquals(spending.reached, "the budget of $0.02 was reached");
});

Deno.test("Spending.add() counts tokens of stages once, at their own price, and spoiled tries", () => {
  const cases: [Partial<Spender>, tokens: number, usd: number][] = [
    [{}, 110, 660],
    [{ replaced: usageOf(7, 1) }, 118, 669],
  ];
  for (const [more, tokens, usd] of cases) {
    for (const over of [0, 1e-6]) {
      for (const budget of [{ tokens: tokens + Math.ceil(over) }, { usd: usd + over }]) {
        const spending = new Spending(budget, DOLLARS);
        spending.add({ ...STAGED, ...more });
        assertEquals(spending.reached === undefined, over > 0, JSON.stringify(budget));
      }
    }
  }
});

Deno.test("Spending.add() counts what a judge or a simulated user took, at its own price", () => {
  const beside = { model: { requested: "large" }, usage: usageOf(3, 2) };
  for (const over of [0, 1e-6]) {
    const [small, large] = [DOLLARS["small"]!, DOLLARS["large"]!];
    const usd = (10 * small.input + small.output + 3 * large.input + 2 * large.output) / 1e6;
    for (const budget of [{ tokens: 16 + Math.ceil(over) }, { usd: usd + over }]) {
      for (const role of ["judging", "user"]) {
        const spending = new Spending(budget, DOLLARS);
        spending.add({ model: { requested: "small" }, usage: usageOf(10, 1), [role]: beside });
        assertEquals(spending.reached === undefined, over > 0, `${role} ${JSON.stringify(budget)}`);
      }
    }
  }
});

Deno.test("Spending.add() needs prices for a budget of dollars only", () => {
  new Spending({ tokens: 100 }).add(spender(1, 1));
  new Spending({}).add(spender(1, 1));
  assertThrows(
    () => new Spending({ usd: 1 }).add(spender(1, 1)),
    InputError,
    "the cost of model m",
  );
});

Deno.test("Spending.reached without a budget is never told", () => {
  const spending = new Spending({}, TABLE);
  spending.add(spender(Number.MAX_SAFE_INTEGER, 1));
  assertEquals(spending.reached, undefined);
});

Deno.test("Spending.share() leaves a run its share of what is left, in whole tokens", () => {
  const spending = new Spending({ tokens: 110 });
  const spend = (inputTokens: number) =>
    spending.add({ model: { requested: "m" }, usage: { inputTokens, outputTokens: 0 } });
  spend(10);
  spending.share(3);
  spend(32);
  assertEquals(spending.reached, undefined);
  spend(1);
  assertEquals(spending.reached, "a shard's share of the budget of 110 tokens was reached");
  const empty = new Spending({ tokens: 2 });
  empty.share(3);
  assertEquals(empty.reached, "a shard's share of the budget of 2 tokens was reached");
});
