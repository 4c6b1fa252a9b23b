/**
 * The table of perturbations, and how several are joined.
 * @module
 */

import { InputError } from "./input.ts";
import { printable } from "./json.ts";
import { PERTURBATION_METHODS, type PerturbationMethod } from "./perturbation.ts";

/**
 * Changes that leave a task what it is: further functions that have nothing to do with it, other names
 * for all functions and variables, another order of the functions. A model that solves a task and fails
 * it after one of them had luck, or looks at what does not matter.
 */
export const METAMORPHIC_CHECKS = ["unrelated", "rename", "reorder"] as const;

/** A change that leaves a task what it is. */
export type MetamorphicCheck = typeof METAMORPHIC_CHECKS[number];

/** All that can be done to a task. */
export const PERTURBATIONS = [...METAMORPHIC_CHECKS, ...PERTURBATION_METHODS] as const;

/** One change of a task. */
export type PerturbationId = PerturbationMethod | MetamorphicCheck;

/** Methods after which a task cannot be solved: what is right then is to say so. */
const REMOVING: ReadonlySet<string> = new Set(["RP_F", "RP_L"] satisfies PerturbationMethod[]);

/**
 * The changes that an id stands for, such as `RD` or `RD+CF`, in the order in which they are made; none
 * for `none`.
 *
 * @throws {InputError} If there is no such perturbation, or one is there twice.
 *
 * @example Usage
 * ```ts
 * import { perturbationsIn } from "./perturbations.ts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(perturbationsIn("none"), []);
 * assertEquals(perturbationsIn("FK+AP+RD"), ["RD", "AP", "FK"]);
 * assertThrows(() => perturbationsIn("rd"));
 * ```
 */
export function perturbationsIn(id: string): PerturbationId[] {
  if (id === "none") return [];
  const parts = id.split("+");
  const unknown = parts.find((part) => !(PERTURBATIONS as readonly string[]).includes(part));
  if (unknown !== undefined) {
    return refuse(
      `must be none, or some of ${PERTURBATIONS.join(", ")} joined by +`,
      printable(unknown, 100) || "it is empty",
    );
  }
  const twice = parts.find((part, place) => parts.indexOf(part) !== place);
  if (twice !== undefined) refuse("must not hold anything twice", twice);
  return ORDER.filter((one) => parts.includes(one));
}

/** Keys that have no words left are no ids any more, so that they lose their words last; then texts break. */
const ORDER: readonly PerturbationId[] = [
  ...PERTURBATIONS.filter((id) => id !== "FK" && id !== "CF"),
  "FK",
  "CF",
];

function refuse(rule: string, state: string): never {
  throw new InputError(`Cannot use the perturbation as it ${rule}: ${state}`);
}

/** Whether a perturbation keeps something from the model, so that the right answer is none. */
export function isRemoving(id: string): boolean {
  return id.split("+").some((part) => REMOVING.has(part));
}

/** Whether a perturbation leaves a task what it is. */
export function isCheck(id: string): boolean {
  return id !== "none" &&
    id.split("+").every((part) => (METAMORPHIC_CHECKS as readonly string[]).includes(part));
}
