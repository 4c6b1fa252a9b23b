/**
 * toolgate: tests of how well language models call tools.
 *
 * Generated multi-step function-calling tasks that no model has seen become `Deno.test` cases; a
 * recording executor classifies every wrong call; a gate decides with known error rates.
 *
 * @example A benchmark file, to be run by `deno test`
 * ```ts ignore
 * import { benchmark, grid } from "@toolgate/toolgate";
 *
 * benchmark("tool calling", {
 *   model: "sim:planner",
 *   tasks: grid({ core: [3, 5], depth: [1, 2], connected: [0, 5] }),
 *   seed: "fresh",
 *   gate: { successRate: 0.8 },
 * });
 * ```
 * @module
 */

export type { JsonObject, JsonValue } from "./lib/base/json.ts";
export type { EndReason } from "./lib/calls/user_reply.ts";
export {
  absent,
  anyOf,
  anything,
  closeTo,
  inAnyOrder,
  matching,
  matchingText,
  optional,
} from "./lib/calls/expected/matchers.ts";
export type { GatePolicy } from "./lib/gate/policy.ts";
export { type Judge, judge } from "./lib/models/judge/judge.ts";
export {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
} from "./lib/models/model.ts";
export { openai } from "./lib/models/openai/openai.ts";
export type { OpenAIOptions } from "./lib/models/openai/wire_format.ts";
export { type Script, scripted, type ScriptedReply } from "./lib/models/scripted.ts";
export { withFaults } from "./lib/perturbations/inject_faults.ts";
export type { BenchmarkSettings, RunSettings, ToolTestSettings } from "./lib/runs/option_types.ts";
export {
  type Cells,
  type Connection,
  CONNECTIONS,
  type Grid,
  grid,
  type JudgeEntry,
  type ProbeSet,
  type QuestionSet,
  type SeededCell,
} from "./lib/runs/suite.ts";
export { generateTask, type Task } from "./lib/tasks/graphs/task.ts";
export {
  askJudges,
  type AskJudgesOptions,
  type JudgedRecord,
} from "./lib/testing/assertions/ask_judges.ts";
export {
  assertCallCount,
  assertCalled,
  assertHeld,
  assertNever,
  assertNoCalls,
  assertNoFailedCalls,
  assertNotCalled,
  assertNotInjected,
  type CallCount,
  type CalledOptions,
} from "./lib/testing/assertions/calls.ts";
export {
  type AnswerOptions,
  type AnswerRecord,
  type AskedOptions,
  assertAnswer,
  assertAsked,
  assertBudget,
  assertState,
  type RunBudget,
  type StateOptions,
} from "./lib/testing/assertions/runs.ts";
export {
  assertCallOrder,
  assertCallScore,
  assertTrajectory,
  type ScoreThresholds,
} from "./lib/testing/assertions/trajectories.ts";
export { benchmark } from "./lib/testing/benchmark.ts";
export type {
  BenchmarkOptions,
  BenchmarkStrategy,
  ModelChoice,
  TaskChoice,
} from "./lib/testing/options.ts";
export { toolSuite, toolTest } from "./lib/testing/tool_test.ts";
export type {
  ChainTestOptions,
  TestOptions,
  ToolSuiteOptions,
  ToolTest,
  ToolTestOptions,
  ToolTestVariant,
} from "./lib/testing/tool_test_options.ts";
export {
  type McpToolOptions,
  type OwnToolOptions,
  tool,
  type ToolInput,
} from "./lib/tools/define_tool.ts";
export type { ExpectedCall, Matcher } from "./lib/tools/expected_call.ts";
export type { Message } from "./lib/tools/message.ts";
export type {
  ParametersSchema,
  StandardResult,
  StandardSchema,
  ZodSchema,
} from "./lib/tools/own_schema.ts";
export { USER_GUIDELINES } from "./lib/trials/users/user.ts";
export type {
  ConversationRecord,
  SharedMessage,
  ToolUser,
  UserConversation,
  UserFunction,
  UserSays,
} from "./lib/trials/users/user.ts";
export type { Tool, ToolCall, ToolSchema } from "./lib/tools/tool.ts";
export { type CallLog, logCalls, type LogCallsOptions } from "./lib/trials/executors/call_log.ts";
export type { ToolTestTurn } from "./lib/trials/executors/tool_case.ts";
export { createExecutor, type GeneratedTaskExecutor } from "./lib/trials/executors/generated.ts";
export type { ToolCase, ToolReference, ToolTestRun } from "./lib/trials/executors/tool_case.ts";
export type { Agent, AgentOptions, AgentTask } from "./lib/trials/own_agent.ts";
export type { CommandAgent } from "./lib/trials/tap/command.ts";
