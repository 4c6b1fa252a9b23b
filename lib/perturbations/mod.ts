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
export {
  type Change,
  type Obstacle,
  OBSTACLES,
  type PerturbationMethod,
  PERTURBED,
} from "./methods.ts";
export type { QueryParameter, Span } from "./queries/literals.ts";
export {
  type Fault,
  type FaultId,
  type FaultInjector,
  type FaultKind,
  FAULTS,
} from "../tools/fault.ts";
export type { Injection, InstructionInjector } from "../tools/injection.ts";
