/**
 * Metrics, tables and the story of a trial.
 * @module
 */

export {
  type Brittleness,
  type BrittlenessColumn,
  type FailureRate,
  type Flips,
  type Ineffective,
  measureBrittleness,
  type ParameterFailureRate,
  type Transfer,
} from "./metrics/brittleness.ts";
export type { Subject } from "./metrics/subjects.ts";
export type { Share } from "./metrics/shares.ts";
export {
  averageScores,
  type DifficultyAverages,
  type DifficultyScore,
} from "./metrics/difficulty.ts";
export {
  type Dimension,
  type DimensionEstimate,
  type DimensionMetrics,
  DIMENSIONS,
  type DimensionScores,
  measureDimensions,
} from "./metrics/dimensions.ts";
export { type ErrorHandling, measureErrorHandling } from "./metrics/error_handling.ts";
export { type LatencyMetrics, measureLatency, type ToolLatency } from "./metrics/latency.ts";
export { type FormatMetrics, measureFormats } from "./metrics/formats.ts";
export {
  measureMissedCalls,
  type MissedCallMetrics,
  type MissedCallRate,
} from "./metrics/missed_calls.ts";
export {
  type CallScoreAverages,
  type CallSetDomain,
  type CallSetJudging,
  type CallSetMetrics,
  type CallSetRow,
  type CallSetStability,
  type JudgeNames,
  measureCallSets,
  type ScoreAverages,
  type StabilityScores,
} from "./metrics/question_sets.ts";
export {
  type FaultRecovery,
  measureRecovery,
  type RecoveryMetrics,
  type RecoveryTally,
} from "./metrics/recovery.ts";
export { describeTrial, type StoryOptions } from "./story.ts";
export { describeFailure } from "../calls/failure_types.ts";
export type { Story } from "./story_lines.ts";
export { renderTables, type TablesOptions } from "./terminal.ts";
