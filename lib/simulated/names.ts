/**
 * Simulated models by their names.
 * @module
 */

import {
  BREAKS,
  MISTAKES,
  REACTIONS,
  type Reading,
  readSimulatedName,
  TRUTH_MISTAKES,
} from "../models/simulated_name.ts";
import type { BreakRates } from "./_breaking.ts";
import type { MistakeRates } from "./_mistakes.ts";
import { withInjections } from "./_injections.ts";
import { createNoisy } from "./_noisy.ts";
import { createPlanner } from "./_planner.ts";
import type { ReactionRates } from "./_reactions.ts";
import { withTextFormats } from "./_speaking.ts";
import { createTruth, type Truths, truthsOf } from "./truth.ts";
import type { TruthRates } from "./truth_mistakes.ts";
import type { SimulatedModel } from "./wire.ts";

/**
 * Returns the simulated model with a name, one of
 *
 * - `sim:planner?reads=`,
 * - `sim:noisy?early=&stale=&distract=&hallucinate=&arity=&quit=&copy=&averse=&ignore=&resist=&dots=&brute=`,
 *   `&inject=`, `&giveup=&invent=` and `&breakFormat=&hopeless=&memory=&seed=`, and
 * - `sim:truth?syntax=&fence=&route=&key=&value=&extra=&judge=&seed=`,
 *
 * with rates from 0 to 1 and a whole number as seed, all 0 by default; {@linkcode MistakeRates},
 * {@linkcode ReactionRates}, {@linkcode BreakRates} and {@linkcode TruthRates} describe them. `giveup` and
 * `invent` must sum to at most 1. `memory` is a whole number of at least 1: values given more messages ago are
 * misread unless the last result restates them; if omitted, none are. `reads` is what a planner leans on alone:
 * `descriptions` and no names, `names` and no descriptions, or the `types` that schemas show and no other sign
 * of a type.
 *
 * @param truths The questions that `sim:truth` knows. Default: none.
 *
 * @throws {InputError} If the model or an option is unknown, or a value is out of range.
 *
 * @example Usage
 * ```ts
 * import { parseSimulatedModel } from "@toolgate/toolgate/simulated";
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
  const { base, values, reads } = readSimulatedName(name);
  const seed = values.get("seed") ?? 0;
  const model = create(name, base, { values, seed, truths, reads });
  const rates: BreakRates = ratesOf(BREAKS, values);
  return withTextFormats(model, { rates, seed });
}

/** Creates the model without text formats and broken calls. */
function create(
  name: string,
  base: string,
  { values, seed, truths, reads }: {
    readonly values: ReadonlyMap<string, number>;
    readonly seed: number;
    readonly truths: Truths;
    readonly reads?: Reading;
  },
): SimulatedModel {
  switch (base) {
    case "sim:noisy": {
      const rates: MistakeRates = ratesOf(MISTAKES, values);
      const reactions: ReactionRates = ratesOf(REACTIONS, values);
      const memory = values.get("memory");
      const noisy = createNoisy(name, { rates, reactions, seed, memory });
      return rates.inject === 0 ? noisy : withInjections(noisy, { rate: rates.inject, seed });
    }
    case "sim:truth": {
      const rates: TruthRates = ratesOf(TRUTH_MISTAKES, values);
      return createTruth(name, truths, { rates, seed });
    }
    default:
      return createPlanner(name, reads);
  }
}

/** The rates of all kinds, 0 if not given. */
function ratesOf<Kind extends string>(
  kinds: readonly Kind[],
  values: ReadonlyMap<string, number>,
): Record<Kind, number> {
  const rates = kinds.map((kind) => [kind, values.get(kind) ?? 0]);
  return Object.fromEntries(rates) as Record<Kind, number>;
}
