/**
 * Cases of tool tests: what is checked of them while their file is loaded.
 * @module
 */

import { cannot, InputError } from "../base/errors.ts";
import { isJsonObject, isObject } from "../base/json.ts";
import { checkExpectedCalls } from "../calls/expected/match_calls.ts";
import { leniencyOf } from "../calls/expected/alignment.ts";
import { valueText } from "../calls/values/text.ts";
import { assertCaseTools, type ToolCase } from "../trials/executors/tool_case.ts";
import { isProbe } from "../trials/executors/task_kind.ts";
import { Toolbox } from "../trials/executors/toolbox.ts";

/**
 * Checks a case at run time, for callers without TypeScript.
 *
 * @param subject How errors refer to it.
 * @throws {InputError} If it cannot be used.
 */
export function assertCase<State>(subject: string, toolCase: ToolCase<State>): void {
  const fault = caseFault(toolCase);
  if (fault !== undefined) throw cannot(`use ${subject}`, fault);
  try {
    const { expected = [], never = [] } = toolCase;
    checkExpectedCalls(expected, []);
    checkExpectedCalls(never, []);
    for (const call of expected) leniencyOf(call);
    // Tools made by a function are checked when a trial begins.
    if (typeof toolCase.tools === "function") return;
    assertCaseTools(toolCase, toolCase.tools);
    new Toolbox(toolCase.tools)[Symbol.dispose]();
  } catch (error) {
    // A file has many tests, so that the error must name this one.
    if (error instanceof InputError) {
      throw new InputError(`Cannot use ${subject}: ${error.message}`);
    }
    throw error;
  }
}

/** The first broken rule of a case. */
function caseFault<State>(toolCase: ToolCase<State>): string | undefined {
  const { name, state, tools, system, prompt, turns = [], assert } = toolCase;
  const { expected = [], never = [], parameters = [], toolChoice = "auto" } = toolCase;
  const rules: [holds: boolean, rule: string, value: unknown][] = [
    [isText(name), "its name must be a text that is not empty", name],
    [!isProbe({ case: name }), "its name must not be that of a probe", name],
    [name !== "__proto__", "its name must be one that readers of journals accept as a key", name],
    [
      isText(prompt) || typeof prompt === "function",
      "prompt must be a text that is not empty, or a function that makes it",
      prompt,
    ],
    [system === undefined || typeof system === "string", "system must be a text", system],
    [
      isListOf(turns, isText),
      "turns must be a list of texts that are not empty",
      turns,
    ],
    [typeof assert === "function", "assert must be a function of the run", assert],
    [state === undefined || typeof state === "function", "state must be a function", state],
    [
      Array.isArray(tools) || typeof tools === "function",
      "tools must be a list of tools, or a function that makes it, as in tools: () => mcpTools(...) (those of " +
      "another library are converted: docs/agents.md)",
      tools,
    ],
    [
      isListOf(expected, isJsonObject),
      "expected must be a list of calls: tool and arguments",
      expected,
    ],
    [
      isListOf(never, (one) => isText(one) || isJsonObject(one)),
      "never must be a list of calls: names of tools, or tool and arguments",
      never,
    ],
    [
      isListOf(parameters, isParameter),
      "parameters must be a list of names, values and spans",
      parameters,
    ],
    [
      isToolChoice(toolChoice),
      "toolChoice must be auto, none, required or { function: name }",
      toolChoice,
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  return broken === undefined ? undefined : `${broken[1]}: it is ${valueText(broken[2])}`;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function isListOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isParameter(value: unknown): boolean {
  return isJsonObject(value) && isText(value["name"]) && "value" in value &&
    isListOf(value["spans"], isObject);
}

function isToolChoice(value: unknown): boolean {
  if (typeof value === "string") return ["auto", "none", "required"].includes(value);
  return isJsonObject(value) && isText(value["function"]);
}
