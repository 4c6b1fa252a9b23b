/**
 * Decides with known error rates whether success rates are good enough.
 * @module
 */

export type { Sign } from "../calls/failure_types.ts";
export {
  type CanaryDay,
  type CanaryPolicy,
  type CanaryVerdict,
  type WatchedDay,
  watchForDrift,
} from "./canary.ts";
export type { Ceilings } from "./ceilings.ts";
export type { LaterAttempts, Unit } from "./evidence.ts";
export type {
  BaselineChoice,
  CasesPolicy,
  GateOptions,
  InfrastructureFailure,
  RatePolicy,
  UpgradePolicy,
} from "./policy.ts";
