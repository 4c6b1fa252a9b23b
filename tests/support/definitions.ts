/**
 * What the tests of definitions share.
 */

import type { JsonObject } from "../../lib/base/json.ts";
import type { DefineOptions, SymbolicStep } from "../../lib/toolkit/definitions/from_trace.ts";
import type { Tool } from "../../lib/tools/tool.ts";

/** The article's example, as a model would do it. */
export const MEAN: SymbolicStep[] = [
  { tool: "eval", arguments: { expression: "@X+@Y" }, result: "SumXY" },
  { tool: "eval", arguments: { expression: "@SumXY/2" }, result: "Mean" },
];

/** What makes a definition of it. */
export const OPTIONS: DefineOptions = {
  name: "mean",
  inputs: { X: "number", Y: "number" },
  output: { name: "Mean", type: "number" },
};

/** A tool that takes anything and returns its arguments. */
export function echoTool(result = (input: JsonObject) => JSON.stringify(input)): Tool {
  return {
    name: "echo",
    description: "Gives back what it gets",
    parameters: { type: "object" },
    execute: (input) => Promise.resolve(result(input)),
  };
}
