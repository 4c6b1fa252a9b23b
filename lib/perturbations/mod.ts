/**
 * Perturbations: tool documents, questions and returns made imperfect on purpose, and faults of tools.
 * @module
 */

export {
  INJECTED_INSTRUCTION,
  METAMORPHIC_CHECKS,
  type MetamorphicCheck,
  type PerturbationId,
} from "./ids.ts";
export type { Step } from "./perturbed_case.ts";
export type { FaultOptions, ToolFault } from "./inject_faults.ts";
export { type Change, type PerturbationMethod, PERTURBED } from "./methods.ts";
export type { QueryParameter, Span } from "./queries/literals.ts";
export { type FaultId, type FaultKind, FAULTS } from "../tools/fault.ts";
