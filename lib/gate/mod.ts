/**
 * Decides with known error rates whether success rates are good enough.
 * @module
 */

export {
  type ChangedTask,
  type ComparedPair,
  comparePairs,
  type Effort,
  type PairedSuccess,
  type PairOptions,
  type PairTest,
} from "./comparison.ts";
export {
  type CanaryDay,
  type CanaryPolicy,
  type CanaryVerdict,
  type WatchedDay,
  watchForDrift,
} from "./canary.ts";
export { canaryLines } from "./canary_text.ts";
export type { Ceilings } from "./ceilings.ts";
export type { CaseCheck, ChangedCase, ChangedCases } from "./cases.ts";
export {
  type CeilingCheck,
  type ContinueVerdict,
  decide,
  type DecideOptions,
  decideUpgrade,
  type ForbiddenCall,
  type ForbiddenVerdict,
  type TrialsVerdict,
  type Verdict,
  type VerdictDetails,
} from "./decide.ts";
export type {
  DifferenceEvidence,
  Evidence,
  EvidenceCounts,
  FreshEvidence,
  LaterGoes,
  Method,
  Pair,
  PairedDifference,
  RateEvidence,
  Unit,
} from "./evidence.ts";
export {
  type BaselineChoice,
  type CasesPolicy,
  type CompletePolicy,
  completePolicy,
  type CompleteRatePolicy,
  type CompleteUpgradePolicy,
  type GateOptions,
  type InfrastructureFailure,
} from "./policy.ts";
export { type Check, type Outcomes, selfCheck, type SelfCheckOptions } from "./self_check.ts";
export { type SequentialRule, sequentialRule } from "./sequential.ts";
export { type Sign, SIGNS } from "../calls/failure_types.ts";
export type { UnitNames } from "./unit_names.ts";
export type { Variant } from "./variant.ts";
export type { Wave } from "./waves.ts";
export { describeVerdict, type VerdictNames, verdictNumbers } from "./verdict_text.ts";
