/**
 * What was called, and what is wrong with it.
 * @module
 */

export {
  type CallScore,
  type MadeCalls,
  scoreCalls,
  TRAJECTORY_MODES,
  type TrajectoryMode,
} from "./expected/match_calls.ts";
export { alignCalls } from "./expected/alignment.ts";
export type { CallExpectation, ExpectedCall, ExpectedValue, Held } from "../tools/expected_call.ts";
export { MATCHER } from "../tools/tool.ts";
export {
  type Behaviour,
  BEHAVIOURS,
  type Conforming,
  type Failure,
  FAILURE_TYPES,
  type FailureCause,
  type FailureDetails,
  type FailureType,
  type Origin,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
  type WrongArgument,
  type WrongArguments,
} from "./failure_types.ts";
export type { InjectedDemand } from "../tools/injection.ts";
export { viewCalls } from "./parameter_failure.ts";
export type { ParameterScore } from "./parameter_views.ts";
export {
  type AgentWork,
  type ParseCounts,
  parsesOf,
  type RepairCount,
  type StrategyWork,
} from "./work.ts";
export {
  type CallRecord,
  type RecordedCall,
  recordedCalls,
  type SaidAndMade,
  type WrittenCall,
} from "./record.ts";
export { type Recovery, RECOVERY_ENDS, type RecoveryEnd, recoveryOf } from "./recovery.ts";
export {
  type AnswerEvent,
  type AssertionEvent,
  type CallEvent,
  type FailedAttempt,
  type JudgedAnswer,
  type JudgedEvent,
  type Omission,
  type OverLimitEvent,
  type OwnCall,
  type ParameterFailure,
  type ParameterView,
  type Parse,
  PARSES,
  type RepairEvent,
  type ReplyEvent,
  type ReturnedValue,
  type ScoredEvent,
  type StageEvent,
  type StopEvent,
  type TextCallEvent,
  type TraceEvent,
  type TurnEvent,
  type Undecided,
} from "./trace.ts";
