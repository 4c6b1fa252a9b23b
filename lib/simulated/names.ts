/**
 * Simulated models by their names.
 * @module
 */

import {
  BREAKS,
  MISTAKES,
  REACTIONS,
  readSimulatedName,
  TRUTH_MISTAKES,
} from "../models/simulated_name.ts";
import type { BreakRates } from "./breaking.ts";
import type { MistakeRates } from "./mistakes.ts";
import { createNoisy } from "./noisy.ts";
import { createPlanner } from "./planner.ts";
import type { ReactionRates } from "./reactions.ts";
import { speaking } from "./speaking.ts";
import { createTruth, type Truths, truthsOf } from "./truth.ts";
import type { TruthRates } from "./truth_mistakes.ts";
import type { SimulatedModel } from "./wire.ts";

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
  const { base, values } = readSimulatedName(name);
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

/** The rates that are given, and 0 for all others. */
function ratesOf<Kind extends string>(
  kinds: readonly Kind[],
  values: ReadonlyMap<string, number>,
): Record<Kind, number> {
  const rates = kinds.map((kind) => [kind, values.get(kind) ?? 0]);
  return Object.fromEntries(rates) as Record<Kind, number>;
}
