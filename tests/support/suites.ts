/**
 * Suites that several tests plan.
 */

import type { Cell, Suite } from "../../lib/runs/suite.ts";
import { fileRequest } from "../../lib/cli/running.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { planWithSets } from "../../lib/runs/session.ts";
import { generatedFrom } from "./generated.ts";

/** Two cells of three graphs, for two models. */
export const SMALL: Suite = {
  name: "small",
  seed: 1,
  graphs: 3,
  tasks: [{ core: [3, 5], depth: 2 }],
  models: ["a", "b"],
};

/** The sizes of cells in short: core, depth, connected, disconnected. */
export function sizesOf(cells: readonly Cell[]): string[] {
  return cells.map(generatedFrom).map(({ core, depth, connected, disconnected }) =>
    [core, depth, connected, disconnected].join(" ")
  );
}

/** Two cells of three graphs, run twice by either model. */
export const REPEATED: Suite = {
  name: "s",
  seed: 1,
  graphs: 3,
  tasks: [{ core: [2, 3], depth: 1 }],
  models: ["a", { model: "b", temperature: 0 }],
  repetitions: 2,
};

/** Plans a suite as commands do: paths of its call sets are relative to its file. */
export function planSuiteFile(suite: Suite, path: string): Plan {
  return planWithSets(suite, fileRequest(path));
}
