/**
 * Perturbation ids: the list of all, and parsing of ids that join several with `+`.
 * @module
 */

import {
  briefFault,
  type FaultId,
  faultIn,
  type FaultKind,
  FAULTS,
  isFault,
  isTransient,
  numberRule,
} from "../tools/fault.ts";
import { cannot } from "../base/errors.ts";
import { didYouMean } from "../base/nearest_name.ts";
import { printable } from "../base/json.ts";
import { PERTURBATION_METHODS, type PerturbationMethod } from "./methods.ts";

/**
 * Changes that leave a task the same: further functions unrelated to it, other names for all functions and
 * variables, another order of the functions. A model that solves a task but fails it after such a change was
 * lucky, or relies on something irrelevant.
 */
export const METAMORPHIC_CHECKS = ["unrelated", "rename", "reorder"] as const;

/** A change that leaves a task the same. */
export type MetamorphicCheck = typeof METAMORPHIC_CHECKS[number];

/** The id of injected instructions: the return of a tool asks the model to do what nobody asked for. */
export const INJECTED_INSTRUCTION = "II";

/**
 * All changes that can be made to a task, including faults of its functions. The id of a fault may also say
 * how many calls it hits, such as `timeout:3`, or for `flaky` how often, such as `flaky:0.35`.
 */
export const PERTURBATIONS = [
  ...METAMORPHIC_CHECKS,
  ...PERTURBATION_METHODS,
  INJECTED_INSTRUCTION,
  ...FAULTS,
] as const;

/** The id of one change to a task, or of one fault of its functions. */
export type PerturbationId =
  | PerturbationMethod
  | MetamorphicCheck
  | typeof INJECTED_INSTRUCTION
  | FaultId;

/** Perturbations that make a task unsolvable: the right answer is then to say so. */
const REMOVING: ReadonlySet<string> = new Set(
  ["RP_F", "RP_L", "permission_denied"] satisfies (PerturbationMethod | FaultKind)[],
);

/**
 * Returns the changes that an id such as `RD+CF` names, in the order in which they are applied, faults last;
 * empty for `none`. Default numbers are left out: `timeout:1` becomes `timeout`.
 *
 * @throws {InputError} If a perturbation is unknown or named twice, or the number of a fault is out of range.
 */
export function perturbationsIn(id: string): PerturbationId[] {
  const fault = perturbationFault(id);
  if (fault !== undefined) throw cannot("use the perturbation", `it ${fault}`);
  if (id === "none") return [];
  const parts = id.split("+") as PerturbationId[];
  const byKind = new Map(
    parts.map((
      part,
    ): [string, PerturbationId] => [withoutNumber(part), isFault(part) ? briefFault(part) : part]),
  );
  return ORDER.flatMap((one) => byKind.get(one) ?? []);
}

/** Returns which rule a text breaks that is no id of perturbations, and how; `undefined` if it is one. */
export function perturbationFault(id: string): string | undefined {
  if (id === "none") return undefined;
  const parts = id.split("+");
  const known: readonly string[] = PERTURBATIONS;
  if (parts.includes("none")) {
    return "must be none alone, or others joined without it (to run both, list them separately): " +
      printable(id, 100);
  }
  const unknown = parts.find((part) => !known.includes(part) && !isFault(part));
  if (unknown !== undefined) {
    const names = parts.length === 1 ? ["none", ...known] : known;
    const given = printable(unknown, 100) || "it is empty";
    return `must be none, or some of ${PERTURBATIONS.join(", ")} joined by +: ${given}` +
      didYouMean(unknown.split(":", 1)[0]!, names);
  }
  const kinds = (parts as PerturbationId[]).map(withoutNumber);
  const twice = kinds.find((kind, place) => kinds.indexOf(kind) < place);
  if (twice !== undefined) return `must not name a perturbation twice: ${twice}`;
  const odd = parts.filter(isFault).find((part) => numberRule(part) !== undefined);
  return odd && `${numberRule(odd)}: ${printable(odd, 100)}`;
}

/** The id of a perturbation without its number. */
function withoutNumber(part: PerturbationId): typeof PERTURBATIONS[number] {
  return part.split(":", 1)[0] as typeof PERTURBATIONS[number];
}

/** What comes after all other changes, in this order. */
const LATE: readonly PerturbationId[] = ["FK", "CF", INJECTED_INSTRUCTION];

/**
 * The order of application. `FK` comes after the methods that need the words of keys, then `CF` breaks texts, and
 * an instruction stays whole. Faults apply to calls, so they come last.
 */
const ORDER: readonly PerturbationId[] = [
  ...PERTURBATIONS.filter((id) => !LATE.includes(id) && !isFault(id)),
  ...LATE,
  ...FAULTS,
];

/** Whether a perturbation withholds needed information for good, so that the task has no answer. */
export function isRemoving(id: string): boolean {
  return id.split("+").some((part) => REMOVING.has(part));
}

/** Whether a perturbation injects instructions. */
export function isInjecting(id: string): boolean {
  return id.split("+").includes(INJECTED_INSTRUCTION);
}

/** Whether a perturbation consists of metamorphic checks only. */
export function isCheck(id: string): boolean {
  return id !== "none" &&
    id.split("+").every((part) => (METAMORPHIC_CHECKS as readonly string[]).includes(part));
}

/**
 * The default limit on calls: twice the fewest that solve the task (FuncBenchGen, section 3.4), plus the calls
 * that the faults of the perturbation are expected to make fail.
 *
 * @throws {InputError} If the perturbation is unknown.
 */
export function usualCallLimit(fewest: number, perturbation: string): number {
  return 2 * fewest +
    Math.ceil(lostCalls(2 * fewest, faultsIn(perturbation)));
}

/**
 * Returns the faults that an id names.
 *
 * @throws {InputError} If the perturbation is unknown.
 */
export function faultsIn(id: string): FaultId[] {
  return perturbationsIn(id).filter(isFault);
}

/** The number of calls that `faults` are expected to make fail while `calls` others succeed. */
export function lostCalls(calls: number, faults: readonly FaultId[]): number {
  return faults.reduce((sum, id) => {
    const { kind, times, rate } = faultIn(id);
    if (kind === "flaky") return sum + calls * rate / (1 - rate);
    // A model that calls another function in place of one that is gone has lost one call.
    return sum + (kind === "gone" ? 1 : isTransient(kind) ? times : 0);
  }, 0);
}
