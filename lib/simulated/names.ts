/**
 * The names of simulated models and their options.
 * @module
 */

import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { type BreakRates, BREAKS } from "./breaking.ts";
import { type MistakeRates, MISTAKES } from "./mistakes.ts";
import { createNoisy } from "./noisy.ts";
import { createPlanner } from "./planner.ts";
import { type ReactionRates, REACTIONS } from "./reactions.ts";
import { speaking } from "./speaking.ts";
import { createTruth, type Truths, truthsOf } from "./truth.ts";
import { TRUTH_MISTAKES, type TruthRates } from "./truth_mistakes.ts";
import type { SimulatedModel } from "./wire.ts";

/** The simulated models there are, without options. */
export const SIMULATED_MODELS: readonly string[] = ["sim:planner", "sim:noisy", "sim:truth"];

/** The options of each model. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ["sim:planner", []],
  ["sim:noisy", [...MISTAKES, ...REACTIONS, ...BREAKS, "memory", "seed"]],
  ["sim:truth", [...TRUTH_MISTAKES, "seed"]],
]);

/**
 * The simulated model of a name, one of
 *
 * - `sim:planner`,
 * - `sim:noisy?early=&stale=&distract=&hallucinate=&arity=&quit=&copy=&averse=&ignore=&giveup=&invent=` and
 *   `&breakFormat=&hopeless=&memory=&seed=`, and
 * - `sim:truth?syntax=&fence=&route=&key=&value=&extra=&judge=&seed=`,
 *
 * with rates from 0 to 1 and a whole number as seed, each 0 where it is left out; {@linkcode MistakeRates},
 * {@linkcode ReactionRates}, {@linkcode BreakRates} and {@linkcode TruthRates} say what they mean. `giveup`
 * and `invent` are at most 1 together. `memory` is a whole number from 1 on: values that stand more messages
 * back are misread unless the last result restates them; left out, none is.
 *
 * @param truths What `sim:truth` knows; default nothing.
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
export function parseSimulatedModel(
  name: string,
  truths: Truths = truthsOf([]),
): SimulatedModel {
  const mark = name.indexOf("?");
  const base = mark === -1 ? name : name.slice(0, mark);
  const keys = OPTIONS.get(base);
  if (keys === undefined) {
    const known = Array.from(OPTIONS, ([model, keys]) => model + inAddress(keys));
    throw refusal(`it must be ${known.slice(0, -1).join(", ")} or ${known.at(-1)}`, name);
  }
  if (mark !== -1 && keys.length === 0) throw refusal(`${base} takes no options`, name);
  const values = readOptions(name, base, keys, mark === -1 ? "" : name.slice(mark));
  const seed = values.get("seed") ?? 0;
  const model = create(name, base, { values, seed, truths });
  const rates: BreakRates = ratesOf(BREAKS, values);
  return speaking(model, { rates, seed });
}

/** The model of a name as it is when nobody is between. */
function create(
  name: string,
  base: string,
  { values, seed, truths }: {
    readonly values: ReadonlyMap<string, number>;
    readonly seed: number;
    readonly truths: Truths;
  },
): SimulatedModel {
  switch (base) {
    case "sim:noisy": {
      const rates: MistakeRates = ratesOf(MISTAKES, values);
      const reactions: ReactionRates = ratesOf(REACTIONS, values);
      if (reactions.giveup + reactions.invent > 1) {
        throw refusal("giveup and invent must be at most 1 together", name);
      }
      const memory = values.get("memory");
      return createNoisy(name, {
        rates,
        reactions,
        seed,
        ...(memory === undefined ? {} : { memory }),
      });
    }
    case "sim:truth": {
      const rates: TruthRates = ratesOf(TRUTH_MISTAKES, values);
      return createTruth(name, truths, { rates, seed });
    }
    default:
      return createPlanner(name);
  }
}

/** Options as they stand behind a name. */
function inAddress(keys: readonly string[]): string {
  return keys.map((key, place) => `${place === 0 ? "?" : "&"}${key}=`).join("");
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

function readOptions(
  name: string,
  base: string,
  keys: readonly string[],
  written: string,
): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const [key, text] of new URLSearchParams(written)) {
    if (!keys.includes(key)) {
      throw refusal(`the options of ${base} are ${keys.join(", ")}`, name);
    }
    if (values.has(key)) throw refusal(`each option may stand once, not so ${key}`, name);
    const value = /^[-+.\de]+$/i.test(text) ? Number(text) : NaN;
    const { range, includes } = RANGES[key] ?? RATE;
    if (!includes(value)) {
      throw refusal(`${key} must be ${range}; all options are ${keys.join(", ")}`, name);
    }
    values.set(key, value);
  }
  return values;
}

/** The rates that are given, and 0 for all others. */
function ratesOf<Kind extends string>(
  kinds: readonly Kind[],
  values: ReadonlyMap<string, number>,
): Record<Kind, number> {
  const rates = kinds.map((kind) => [kind, values.get(kind) ?? 0]);
  return Object.fromEntries(rates) as Record<Kind, number>;
}

function refusal(rule: string, name: string): InputError {
  return new InputError(`Cannot use the simulated model as ${rule}: it is ${printable(name)}`);
}
