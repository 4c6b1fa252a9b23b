/**
 * The names of simulated models and their options.
 * @module
 */

import { InputError } from "../../input.ts";
import { printable } from "../../json.ts";
import { type MistakeRates, MISTAKES } from "./mistakes.ts";
import { createNoisy } from "./noisy.ts";
import { createPlanner } from "./planner.ts";
import type { SimulatedModel } from "./wire.ts";

/** The simulated models there are, without options. */
export const SIMULATED_MODELS: readonly string[] = ["sim:planner", "sim:noisy"];

const KEYS: readonly string[] = [...MISTAKES, "memory", "seed"];

/**
 * The simulated model of a name: `sim:planner`, or
 * `sim:noisy?early=&stale=&distract=&hallucinate=&arity=&quit=&copy=&averse=&ignore=&memory=&seed=`
 * with rates from 0 to 1 and a whole number as seed, each 0 where it is left out; {@linkcode MistakeRates} says what they
 * mean. `memory` is a whole number from 1 on: values that stand more messages back are misread unless
 * the last result restates them; left out, none is.
 *
 * @throws {InputError} If there is no such model or option, or a value is out of its range.
 *
 * @example Usage
 * ```ts
 * import { parseSimulatedModel } from "./names.ts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const model = parseSimulatedModel("sim:noisy?early=0.25&seed=7");
 * const content = "Give me the value of variable bujxe.\nVariable bujxe = 4";
 * const answer = model.reply({ model: model.name, messages: [{ role: "user", content }] });
 * assertEquals(answer.choices[0].message.content, "bujxe = 4");
 * assertThrows(() => parseSimulatedModel("sim:oracle"), Error, "sim:planner");
 * ```
 */
export function parseSimulatedModel(name: string): SimulatedModel {
  const mark = name.indexOf("?");
  const base = mark === -1 ? name : name.slice(0, mark);
  const options = new URLSearchParams(mark === -1 ? "" : name.slice(mark));
  if (base === "sim:planner") {
    if (mark !== -1) throw refusal("sim:planner takes no options", name);
    return createPlanner(name);
  }
  if (base === "sim:noisy") return parseNoisy(name, options);
  throw refusal(
    `it must be sim:planner or sim:noisy?${KEYS.map((key) => `${key}=`).join("&")}`,
    name,
  );
}

interface Range {
  /** In words. */
  readonly range: string;
  readonly includes: (value: number) => boolean;
}

const RATE: Range = {
  range: "a number from 0 to 1",
  includes: (value) => value >= 0 && value <= 1,
};

/** The ranges of options that are no rates. */
const RANGES: Readonly<Record<string, Range>> = {
  seed: { range: "a whole number", includes: Number.isSafeInteger },
  memory: {
    range: "a whole number from 1 on",
    includes: (value) => Number.isSafeInteger(value) && value >= 1,
  },
};

function parseNoisy(name: string, options: URLSearchParams): SimulatedModel {
  const values = new Map<string, number>();
  for (const [key, text] of options) {
    if (!KEYS.includes(key)) {
      throw refusal(`the options of sim:noisy are ${KEYS.join(", ")}`, name);
    }
    if (values.has(key)) throw refusal(`each option may stand once, not so ${key}`, name);
    const value = /^[-+.\de]+$/i.test(text) ? Number(text) : NaN;
    const { range, includes } = RANGES[key] ?? RATE;
    if (!includes(value)) {
      throw refusal(`${key} must be ${range}; all options are ${KEYS.join(", ")}`, name);
    }
    values.set(key, value);
  }
  const rates = Object.fromEntries(MISTAKES.map((key) => [key, values.get(key) ?? 0]));
  const memory = values.get("memory");
  return createNoisy(name, {
    rates: rates as MistakeRates,
    seed: values.get("seed") ?? 0,
    ...(memory === undefined ? {} : { memory }),
  });
}

function refusal(rule: string, name: string): InputError {
  return new InputError(`Cannot use the simulated model as ${rule}: it is ${printable(name)}`);
}
