/**
 * What was called, and what is wrong with it.
 * @module
 */

export { type MadeCalls, TRAJECTORY_MODES, type TrajectoryMode } from "./expected/match_calls.ts";
export type {
  Behaviour,
  Conforming,
  Failure,
  FailureCause,
  FailureDetails,
  FailureType,
  Origin,
  ParameterFailureType,
  WrongArgument,
  WrongArguments,
} from "./failure_types.ts";
export type { AgentRecord, CallRecord, RecordedCall, SaidAndMade, WrittenCall } from "./record.ts";
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
export type { CallExpectation, ExpectedValue, Held } from "../tools/expected_call.ts";
export type { InjectedDemand } from "../tools/injection.ts";
export { MATCHER } from "../tools/tool.ts";
export { USER_FAULTS, type UserEvent, type UserFaultKind } from "./user_reply.ts";
