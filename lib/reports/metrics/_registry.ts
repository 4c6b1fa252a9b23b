/**
 * The registry of metrics, in the order in which a section of a report has them.
 * @module
 */

import type { Metric } from "../_metric.ts";
import { BREAKDOWNS } from "./_breakdowns.ts";
import { COMPARED } from "./_comparisons.ts";
import { CONVERSATIONS } from "./_conversations.ts";
import { DIMENSIONS_OF_USE } from "./_dimensions.ts";
import { DISTRACTORS } from "./_distractors.ts";
import { SPENT } from "./_effort.ts";
import { FAILED } from "./_failures.ts";
import { OVERVIEW } from "./_headline.ts";
import { LOST_TOOLS } from "./_lost_tools.ts";
import { CELLS } from "./_matrix.ts";
import { PERTURBATIONS } from "./_perturbations.ts";
import { PROBES } from "./_probes.ts";
import { QUESTION_SETS } from "./_question_sets.ts";
import { TOOL_USE } from "./_tool_use.ts";

export const METRICS: readonly Metric[] = [
  OVERVIEW,
  ...COMPARED,
  LOST_TOOLS,
  CELLS,
  ...DIMENSIONS_OF_USE,
  ...TOOL_USE,
  ...SPENT,
  CONVERSATIONS,
  ...PROBES,
  ...QUESTION_SETS,
  BREAKDOWNS,
  DISTRACTORS,
  ...PERTURBATIONS,
  ...FAILED,
];
