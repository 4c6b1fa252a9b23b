/**
 * The table of perturbations, and how several are joined.
 * @module
 */

import { nameDistance } from "../calls/expected/expected_call.ts";
import {
  briefFault,
  type FaultId,
  faultIn,
  type FaultKind,
  FAULTS,
  isFault,
  isTransient,
} from "../tools/fault.ts";
import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { PERTURBATION_METHODS, type PerturbationMethod } from "./methods.ts";

/**
 * Changes that leave a task what it is: further functions that have nothing to do with it, other names
 * for all functions and variables, another order of the functions. A model that solves a task and fails
 * it after one of them had luck, or looks at what does not matter.
 */
export const METAMORPHIC_CHECKS = ["unrelated", "rename", "reorder"] as const;

/** A change that leaves a task what it is. */
export type MetamorphicCheck = typeof METAMORPHIC_CHECKS[number];

/**
 * All that can be done to a task, faults of its functions included. Of faults, an id may also say how many
 * calls they hit, such as `timeout:3`, or of `flaky` how often, such as `flaky:0.35`.
 */
export const PERTURBATIONS = [...METAMORPHIC_CHECKS, ...PERTURBATION_METHODS, ...FAULTS] as const;

/** One change of a task, or one fault of its functions. */
export type PerturbationId = PerturbationMethod | MetamorphicCheck | FaultId;

/** Perturbations under which a task cannot be solved: what is right then is to say so. */
const REMOVING: ReadonlySet<string> = new Set(
  ["RP_F", "RP_L", "permission_denied"] satisfies (PerturbationMethod | FaultKind)[],
);

/**
 * The changes that an id stands for, such as `RD` or `RD+CF`, in the order in which they are made, faults
 * last; none for `none`. Of numbers, what is usual anyway is left out: `timeout:1` is `timeout`.
 *
 * @throws {InputError} If there is no such perturbation, one is there twice, or the number of a fault is
 * not one that it takes.
 *
 * @example Usage
 * ```ts
 * import { perturbationsIn } from "./ids.ts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(perturbationsIn("none"), []);
 * assertEquals(perturbationsIn("FK+AP+RD"), ["RD", "AP", "FK"]);
 * assertEquals(perturbationsIn("timeout:2+CF"), ["CF", "timeout:2"]);
 * assertThrows(() => perturbationsIn("rd"));
 * ```
 */
export function perturbationsIn(id: string): PerturbationId[] {
  if (id === "none") return [];
  const parts = id.split("+");
  const known: readonly string[] = PERTURBATIONS;
  if (parts.includes("none")) {
    refuse(
      "must be none alone, or others joined without it (to have both, list them apart)",
      printable(id, 100),
    );
  }
  const unknown = parts.find((part) => !known.includes(part) && !isFault(part));
  if (unknown !== undefined) {
    const meant = nearestTo(unknown, parts.length === 1 ? ["none", ...known] : known);
    return refuse(
      `must be none, or some of ${PERTURBATIONS.join(", ")} joined by +`,
      (printable(unknown, 100) || "it is empty") +
        (meant === undefined ? "" : ` (did you mean ${meant}?)`),
    );
  }
  const given = new Map<PerturbationId, PerturbationId>();
  for (const part of parts as PerturbationId[]) {
    const kind = kindOf(part);
    if (given.has(kind)) refuse("must not hold anything twice", kind);
    given.set(kind, isFault(part) ? briefFault(part) : part);
  }
  return ORDER.flatMap((one) => given.get(one) ?? []);
}

/** The id that another is a slip of, whatever stands behind its colon; short ids are too close to each other. */
function nearestTo(unknown: string, known: readonly string[]): string | undefined {
  const lettersOf = (id: string) => id.toLowerCase().replace(/[^a-z0-9]/g, "");
  const written = lettersOf(unknown.slice(0, 100).split(":", 1)[0]!);
  return known.find((id) => lettersOf(id) === written) ??
    known.filter((id) => id.length > 4)
      .find((id) => nameDistance(lettersOf(id), written) <= (id.length > 6 ? 2 : 1));
}

/** A perturbation without its number. */
function kindOf(part: PerturbationId): typeof PERTURBATIONS[number] {
  return part.split(":", 1)[0] as typeof PERTURBATIONS[number];
}

/**
 * Keys that have no words left are no ids any more, so that they lose their words last; then texts break.
 * Faults come to calls, whatever is returned.
 */
const ORDER: readonly PerturbationId[] = [
  ...PERTURBATIONS.filter((id) => id !== "FK" && id !== "CF" && !isFault(id)),
  "FK",
  "CF",
  ...FAULTS,
];

function refuse(rule: string, state: string): never {
  throw new InputError(`Cannot use the perturbation as it ${rule}: ${state}`);
}

/** Whether a perturbation keeps something from the model for good, so that the right answer is none. */
export function isRemoving(id: string): boolean {
  return id.split("+").some((part) => REMOVING.has(part));
}

/** Whether a perturbation leaves a task what it is. */
export function isCheck(id: string): boolean {
  return id !== "none" &&
    id.split("+").every((part) => (METAMORPHIC_CHECKS as readonly string[]).includes(part));
}

/**
 * How many calls may be made unless told otherwise: twice the fewest (FuncBenchGen, section 3.4), and as many
 * more as the faults of the perturbation are expected to take, of which nothing comes.
 *
 * @throws {InputError} If there is no such perturbation.
 *
 * @example Usage
 * ```ts
 * import { usualCallLimit } from "./ids.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(usualCallLimit(3, "none"), 6);
 * assertEquals(usualCallLimit(3, "RD+timeout:4"), 10);
 * assertEquals(usualCallLimit(3, "flaky:0.5"), 12);
 * ```
 */
export function usualCallLimit(fewest: number, perturbation: string): number {
  return 2 * fewest +
    Math.ceil(lostCalls(2 * fewest, faultsIn(perturbation)));
}

/**
 * The faults among the changes that an id stands for.
 *
 * @throws {InputError} If there is no such perturbation.
 */
export function faultsIn(id: string): FaultId[] {
  return perturbationsIn(id).filter(isFault);
}

/** The calls of which nothing is expected to come where so many are made that are not hit by `faults`. */
export function lostCalls(calls: number, faults: readonly FaultId[]): number {
  return faults.reduce((sum, id) => {
    const { kind, times, rate } = faultIn(id);
    if (kind === "flaky") return sum + calls * rate / (1 - rate);
    return sum + (isTransient(kind) ? times : 0);
  }, 0);
}
