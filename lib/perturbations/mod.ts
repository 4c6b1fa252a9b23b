/**
 * Perturbations: tool documents, questions and returns made imperfect on purpose, and faults of tools.
 * @module
 */

export type { Stream } from "../base/random.ts";
export type { Prng } from "../base/std/random.ts";
export { perturbTools } from "./documents/perturb.ts";
export {
  INJECTED_INSTRUCTION,
  METAMORPHIC_CHECKS,
  type MetamorphicCheck,
  type PerturbationId,
  PERTURBATIONS,
  perturbationsIn,
} from "./ids.ts";
export { type FaultOptions, type ToolFault, withFaults } from "./inject_faults.ts";
export {
  type Change,
  type DocumentMethod,
  type MethodOn,
  type Obstacle,
  OBSTACLES,
  PERTURBATION_METHODS,
  type PerturbationMethod,
  PERTURBED,
  type Perturbed,
  type QueryMethod,
  type ReturnMethod,
} from "./methods.ts";
export { type CaseOptions, perturbCase, type PerturbedCase, type Step } from "./perturbed_case.ts";
export { type PerturbedTask, perturbTask, type Twins } from "./perturbed_task.ts";
export { parseQuery } from "./queries/file.ts";
export type { QueryParameter, Span } from "./queries/literals.ts";
export {
  type Fallback,
  type ModelWriter,
  modelWriter,
  type ModelWriterOptions,
  type WrittenMethod,
} from "./queries/model_writer.ts";
export { findParameters, type Query } from "./queries/parameters.ts";
export { perturbQuery, type QueryPerturbationOptions } from "./queries/perturb.ts";
export type { QueryWriter } from "./queries/write.ts";
export { perturbReturn } from "./returns.ts";
export { parseToolDocuments } from "../tools/documents.ts";
export {
  type Fault,
  type FaultId,
  type FaultInjector,
  type FaultKind,
  FAULTS,
} from "../tools/fault.ts";
export type { InjectedDemand, Injection, InstructionInjector } from "../tools/injection.ts";
