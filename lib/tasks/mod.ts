/**
 * Generated tasks and question sets, as data.
 * @module
 */

export {
  type CompleteGraphSpec,
  CUES,
  type Cues,
  type GraphSpec,
  type Linking,
  LINKINGS,
  NAMES,
  type Names,
  type Role,
  type Surface,
  SURFACES,
} from "./graphs/graph.ts";
export type { Parameter, TaskFunction, Variable } from "./graphs/wording.ts";
export { type CallTruth, DIFFICULTIES, type Difficulty } from "./questions/question_set.ts";
export {
  CALL_FORMATS,
  CALL_MODES,
  type CallFormat,
  type CallMode,
  type QuestionScores,
  SCORING_RULES,
  type ScoringRule,
} from "./questions/scoring.ts";
