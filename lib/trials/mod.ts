/**
 * One trial: a task, a model, the loop between them, and what it records.
 * @module
 */

export type { Carried } from "../tools/message.ts";
export type { Substituted } from "../tools/references/substitute.ts";
export type { Symbols } from "../tools/references/symbol_table.ts";
export {
  AGENT_DEEDS,
  type AgentDeed,
  type Answered,
  type CallReplacer,
  type Environment,
  type FailedCall,
  FRESH,
  type OpenAITool,
  type PreparedCall,
  type RecordedResult,
  type Refusal,
  type Replacement,
  type ResultWriter,
  type SchemaFault,
  SHARED,
  type StoppableTool,
  type ToolResult,
} from "../tools/tool.ts";
export { type Conversation, type ConversationOptions, converse } from "./agent/conversation.ts";
export {
  type Failing,
  type Loop,
  type LoopOptions,
  type Replacer,
  type Review,
  type Reviewer,
  runLoop,
} from "./agent/loop.ts";
export {
  type Ending,
  type Limited,
  type Limits,
  type Question,
  Session,
  type SessionOptions,
  type Watched,
  type WatchedRequest,
} from "./agent/session.ts";
export type { TrialDimensions } from "./dimension_scores.ts";
export type { MissedCalls } from "./missed_calls.ts";
export { parseAnswer, type ParseAnswerOptions } from "./executors/answer.ts";
export type { ExampleCall, ExampleFunction, SolvedExample } from "./executors/examples.ts";
export type { RunFacts } from "./executors/call_log.ts";
export type { ExpressionKind } from "./executors/expressions.ts";
export type { ExecutorOptions } from "./executors/executor_options.ts";
export type { CallOutcome, CallPlace } from "./executors/made_call.ts";
export type { Executor } from "./executors/executor.ts";
export type { AnswerCheck, Fixture, Presented, Work } from "./executors/fixture.ts";
export type { GeneratedTaskExecutorOptions } from "./executors/generated.ts";
export {
  type CaseSpec,
  type ProbeId,
  PROBES,
  type ProbeSpec,
  type QuestionSpec,
  type TaskSpec,
} from "./executors/task_kind.ts";
export {
  openTask,
  type SetUpOptions,
  type TaskOpener,
  type TaskOptions,
} from "./executors/tasks.ts";
export { Toolbox, type ToolboxOptions } from "./executors/toolbox.ts";
export type { StrategyEntry } from "./strategies/entry.ts";
export { STRATEGIES, type StrategyOptions, withStrategy } from "./strategies/registry.ts";
export type {
  RecordedReply,
  RecordedReplyCall,
  RecordedRun,
  RecordedTurn,
} from "./recorded_run.ts";
export type { StateChange, StateDifference } from "./state_difference.ts";
export type {
  CallLatency,
  ReturnCounts,
  ScoredAnswer,
  TrialSummary,
  WrittenCounts,
} from "./summary.ts";
export { type AnswerJudge, runTrial, type StrategyChoice, type TrialOptions } from "./run_trial.ts";
export { type Judging, type Outcome, OUTCOMES } from "./trial.ts";
export type { Kept, OfferedTool, Transcript, Transcripts } from "./transcript.ts";
export type { PlannedTrial, TrialKey } from "./trial_id.ts";
