/**
 * Generated tasks and question sets, as data.
 * @module
 */

export {
  type CompleteGraphSpec,
  completeSpec,
  CUES,
  type Cues,
  generateGraph,
  type Graph,
  type Linking,
  LINKINGS,
  NAMES,
  type Names,
  type Role,
  type Surface,
  SURFACES,
} from "./generated/graph.ts";
export { generateTask, GENERATOR_VERSION, type TaskJson, taskToJson } from "./generated/task.ts";
export type { Parameter, TaskFunction, Variable } from "./generated/wording.ts";
export { loadCallSet } from "./questions/load.ts";
export {
  type ApiFunction,
  type CallQuestion,
  type CallResult,
  type CallSet,
  type CallTruth,
  DIFFICULTIES,
  type Difficulty,
} from "./questions/question_set.ts";
export { ERROR_CLASSES, type ErrorClass, errorClassesOf } from "./questions/error_classes.ts";
export {
  CALL_FORMATS,
  CALL_MODES,
  type CallFormat,
  type CallMode,
  type QuestionScores,
  scorePrediction,
  SCORING_RULES,
  type ScoringOptions,
  type ScoringRule,
} from "./questions/scoring.ts";
export { electionStability, levenshteinStability, normalizeOutput } from "./questions/stability.ts";
