/**
 * A task made by hand, small enough to be read: what the tests of calls, answers and behaviours
 * work on.
 *
 *     given (731) -> func_src -> alpha (111) -+-> func_tgt -> omega (444)
 *     also (205) --> func_oth -> beta (222) --+
 *                                alpha ---------> func_con -> gamma (333)
 *     never -------> func_dis -> delta (555) ---> func_dip -> theta (666)
 */

import { completeSpec, type Role } from "../../lib/tasks/graphs/graph.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import type { Task } from "../../lib/tasks/graphs/task.ts";
import type { TaskFunction } from "../../lib/tasks/graphs/wording.ts";
import type { ToolCall } from "../../lib/tools/tool.ts";
import type { CallEvent } from "../../lib/calls/trace.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import type { GeneratedTaskExecutor } from "../../lib/trials/executors/generated.ts";

function make(
  name: string,
  role: Role,
  output: string,
  parameters: Record<string, string>,
  dependsOn: string[] = [],
): TaskFunction {
  const typed = (name: string, variable: string) => ({
    name,
    type: "type_any",
    subtype: `subtype_${variable}`,
  });
  return {
    name,
    role,
    output: typed(output, output),
    parameters: Object.entries(parameters)
      .map(([name, variable]) => ({ ...typed(name, variable), variable })),
    dependsOn,
  };
}

const FUNCTIONS: readonly TaskFunction[] = [
  make("func_con", "connected", "gamma", { con: "alpha" }, ["func_src"]),
  make("func_tgt", "core", "omega", { one: "alpha", two: "beta" }, ["func_src", "func_oth"]),
  make("func_dip", "disconnected", "theta", { dip: "delta" }, ["func_dis"]),
  make("func_src", "core", "alpha", { given: "given" }),
  make("func_dis", "disconnected", "delta", { never: "never" }),
  make("func_oth", "core", "beta", { also: "also" }),
];

export const TASK: Task = {
  version: 1,
  spec: completeSpec({ core: 3, depth: 1, connected: 1, disconnected: 2, seed: 5 }),
  prompt: "What is omega?\n\nVariable given = 731\nVariable also = 205",
  inputs: new Map([["given", 731], ["also", 205]]),
  target: { variable: "omega", value: 444 },
  minimumCalls: 3,
  values: new Map(Object.entries({
    given: 731,
    also: 205,
    alpha: 111,
    beta: 222,
    omega: 444,
    gamma: 333,
    delta: 555,
    theta: 666,
  })),
  functions: FUNCTIONS,
  tools: FUNCTIONS.map(({ name, parameters }) => ({
    name,
    description: name,
    strict: true,
    parameters: {
      type: "object",
      properties: Object.fromEntries(parameters.map((it) => [it.name, { type: "integer" }])),
      required: parameters.map((it) => it.name),
      additionalProperties: false,
    },
  })),
};

export const SRC = call("func_src", { given: 731 });
export const OTH = call("func_oth", { also: 205 });
export const TGT = call("func_tgt", { one: 111, two: 222 });

/** A call, with arguments as text or as a value to be written as JSON. */
export function call(name: string, written: string | JsonObject): ToolCall {
  const text = typeof written === "string" ? written : JSON.stringify(written);
  return { id: `id of ${name}`, name, arguments: text };
}

/** What the last call to a tool made of it. */
export function lastCall(executor: GeneratedTaskExecutor): CallEvent {
  return callsOf(executor.events).at(-1)!;
}

/** The value that the last call returned. */
export function lastValue(executor: GeneratedTaskExecutor): number {
  return lastCall(executor).returned!.value;
}
